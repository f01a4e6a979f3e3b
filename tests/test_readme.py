"""The README's Python and its tour run as printed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from train.cli.main import main
from train.experiments.findings import read_raw, scores_of

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_there_are_examples():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("code", BLOCKS, ids=[f"block{i}" for i in range(len(BLOCKS))])
def test_example(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    if "found" in names:
        assert names["found"].visits.sum() == names["found"].simulations
    elif "player" in names and "V" not in names:
        assert len(names["game"].moves) == 4 and names["learned"].theta.any()
    elif "V" in names:
        assert 0 < names["V"].value(names["game"].board) < 1
        assert names["game"].is_over()
    else:
        assert names["scores"].mean() > 0.9
        assert (tmp_path / "weights.npz").exists()


def test_the_tour(tmp_path, monkeypatch, capsys):
    """Train, export, import, and play: the player with the weights beats the one without."""
    tour = TEXT.partition("## A tour")[2].partition("\n## ")[0]
    commands = re.findall(r"^\$ rlgo (.*)$", tour, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["train", "weights", "weights", "match"]
    monkeypatch.chdir(tmp_path)
    for command in commands:
        assert main(shlex.split(command)) == 0, command
    low = float(re.search(r"interval ([\d.]+)%", capsys.readouterr().out)[1])
    assert low > 50


def test_every_file_named_exists():
    for name in re.findall(r"\]\(([\w./-]+)\)", TEXT):
        assert (ROOT / name).exists(), name


def _won(path: Path) -> set[tuple[float, int]]:
    """What anybody won of how many games, in a file of raw results."""
    if path.suffix == ".json":
        portions = json.loads(path.read_text("utf-8"))
        portions = portions if isinstance(portions, list) else [portions]
        return {(sum(p["wins"] for p in portions), sum(p["games"] for p in portions))}
    raw = read_raw(path)
    scores = [[y for opening in scores_of(line) for y in opening] for line in raw.of("pair")]
    return {score for ys in scores for score in ((sum(ys), len(ys)), (len(ys) - sum(ys), len(ys)))}


def test_the_games_of_the_headline_are_those_of_the_raw_results():
    """Every `won of games` before a link to raw results."""
    found = re.findall(r"(\d+) of (\d+)[^|\]]*\[raw\]\((docs/[\w./]+)\)", TEXT)
    assert len(found) >= 8
    for won, games, path in found:
        assert (float(won), int(games)) in _won(ROOT / path), (won, games, path)
