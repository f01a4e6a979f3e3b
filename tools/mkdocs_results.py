"""A MkDocs hook: the pages link to raw results and pictures, which are in `results`, not under `docs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]


def on_files(files: Files, config: Any) -> Files:
    """Add the raw results to the files of the site."""
    for path in sorted((ROOT / "results").rglob("*")):
        if path.is_file():
            files.append(File(path.relative_to(ROOT).as_posix(), str(ROOT), config.site_dir, use_directory_urls=False))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point the links of a page to the site's copies."""
    up = "../" * page.file.src_uri.count("/")
    return markdown.replace(f"](../{up}results/", f"]({up}results/")
