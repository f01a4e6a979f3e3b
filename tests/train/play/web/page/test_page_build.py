"""The build of the page: up to date, small, and complete in itself."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import train

FOLDER = Path(train.__file__).parent / "play" / "web"


def digest_of_sources(page: Path) -> str:
    """SHA-256 of all names and contents, as `build.mjs` records it."""
    files = [path for folder in (page, page / "src") for path in folder.iterdir() if path.is_file()]
    content = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.relative_to(page).as_posix()):
        content.update(f"{path.relative_to(page).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return content.hexdigest()


def test_build_is_not_stale():
    recorded = (FOLDER / "static" / "sources.sha256").read_text().strip()
    assert recorded == digest_of_sources(FOLDER / "page"), "the page's sources have changed: run `make web`"


def test_page_is_small_and_needs_nothing_from_elsewhere():
    files = list((FOLDER / "static").iterdir())
    assert sum(path.stat().st_size for path in files) < 200_000
    index = (FOLDER / "static" / "index.html").read_text()
    assert "http" not in index
    assert not re.search(r"<style| style=|<script>", index)  # a strict Content-Security-Policy would refuse them
