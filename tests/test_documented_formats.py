"""The formats that the documents describe: the numpy reader of docs/weights.md, and the files of a run's folder."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rlgo
from train.runs.folder import RunFolder

DOCS = Path(__file__).resolve().parents[1] / "docs"


def reader() -> str:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "weights.md").read_text("utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if "def read_weights" in block)
    return code


def test_the_reader_is_short_and_needs_only_numpy():
    lines = [line for line in reader().splitlines() if line.strip()]
    assert len(lines) <= 40
    assert {line for line in lines if re.match(r"\s*(import|from) ", line)} == {"import json", "import numpy as np"}


@pytest.mark.parametrize("name", ["9x9-1M", "13x13-1M"])
def test_the_reader_gives_the_values_of_rlgo(name):
    names: dict = {}
    exec(compile(reader(), "docs/weights.md", "exec"), names)
    path = Path(rlgo.shipped_weights(9)).with_name(f"{name}.npz")
    weights = rlgo.load_weights(path)
    header, blocks = names["read_weights"](path)
    assert (header["size"], header["games"]) == (weights.features.size, weights.games)
    v, rng = rlgo.ValueFunction(weights), np.random.default_rng(5)
    game = rlgo.Game(weights.features.size)
    for ply in range(40):
        legal = np.flatnonzero([game.is_legal((r, c)) for r in range(game.size) for c in range(game.size)])
        game.play(tuple(map(int, divmod(int(rng.choice(legal)), game.size))))
        if ply % 5 == 0:
            board = game.array()
            assert names["value"](header, blocks, board) == pytest.approx(v.value(game), abs=1e-7), ply


@pytest.mark.parametrize("what", [("LI+LD", ("plus",)), ("LI+LD", ("atari 2x2",)), ("none",)])
def test_the_reader_refuses_what_it_cannot_read(what, tmp_path):
    features = rlgo.make_features(5, (1, 2), *what)
    theta = np.zeros(features.n_weights + 1, np.float32)
    rlgo.save_weights(tmp_path / "own.npz", rlgo.Weights(features, theta))
    names: dict = {}
    exec(compile(reader(), "docs/weights.md", "exec"), names)
    with pytest.raises(ValueError, match="expected square windows with LI or LD sharing"):
        names["read_weights"](tmp_path / "own.npz")


def test_the_files_of_a_run_are_documented():
    """Every file that a run's folder may have is in the table of docs/training.md."""
    text = (DOCS / "training.md").read_text("utf-8").partition("### The run folder")[2].partition("\n## ")[0]
    folder = RunFolder("x")
    named = {path.name for path in vars(folder).values() if isinstance(path, Path)} - {"x"}
    assert len(named) >= 8
    for name in named:
        assert f"`{name}" in text, name
