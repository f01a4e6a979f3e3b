"""Options that commands share: how counts are written, and where results go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from rlgo.base.errors import RlgoError
from train.cli import options


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("1000", 1000), ("1_000", 1000), ("20_000", 20_000), ("1e6", 1_000_000), ("2.5e3", 2500), (12, 12)],
)
def test_counts_are_read_in_every_spelling(text: Any, expected: int) -> None:
    value = options.parser_of(options.whole(0))(text)
    assert value == expected
    assert type(value) is int


@pytest.mark.parametrize("text", ["", "x", "1.5", "-1", "0", "1__0", "1e-3", "inf", "nan", "1e400", "0x10"])
def test_other_text_is_no_count(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="expected an integer of at least 1"):
        options.parser_of(options.whole(1))(text)


def test_json_is_written_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    options.check_writable(path)
    options.write_json(path, {"playouts_9x9_per_s": 1})
    assert json.loads(path.read_text("utf-8")) == {"playouts_9x9_per_s": 1}
    options.check_writable(path)
    options.check_writable(None)
    options.write_json(None, {})
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("name", [".", "nowhere/x.json"])
def test_files_that_cannot_be_written_are_noticed_first(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RlgoError, match=f"--results {name}: expected a file that can be written"):
        options.check_writable(Path(name), "--results")


def test_a_strength_is_that_of_the_default_player() -> None:
    assert options.chosen_player("greedy", None) == "greedy"
    assert options.chosen_player("rlgo", 3) == "rlgo,strength=3"
    with pytest.raises(RlgoError, match="--strength cannot be combined with --player greedy"):
        options.chosen_player("greedy", 3)
