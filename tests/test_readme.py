"""The README's Python runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)


def test_there_are_examples():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("code", BLOCKS, ids=[f"block{i}" for i in range(len(BLOCKS))])
def test_example(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    if "V" in names:
        assert 0 < names["V"].value(names["game"].board) < 1
        assert names["game"].is_over()
    else:
        assert names["scores"].mean() > 0.9
        assert (tmp_path / "weights.npz").exists()


def test_every_file_named_exists():
    text = (ROOT / "README.md").read_text("utf-8")
    for name in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (ROOT / name).exists(), name
