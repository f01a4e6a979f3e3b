"""Preparations: trial runs of players, digests of their files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from stand_ins import FakeValues, write_engine

from rlgo.base.errors import RlgoError
from rlgo.base.resources import SHIPPED_NETWORKS, SHIPPED_PATTERNS, checkpoints_dir, shipped_calibration
from rlgo.compiler.sources import sources_digest
from rlgo.features.weights import shipped_weights
from rlgo.play.player import GreedyPlayer
from train.arena.prepare import try_players
from train.players import make_player
from train.players.loading import files_loaded


def test_players_are_tried_out(tmp_path: Path) -> None:
    assert try_players(["random", write_engine(tmp_path)], 5, 7.5).engines == {"Fake": "0.1"}
    assert (tmp_path / "log").read_text().endswith("quit\n")
    other = tmp_path / "other"
    other.mkdir()
    spec = write_engine(other)
    (other / "engine.py").write_text((other / "engine.py").read_text().replace('"0.1"', '"0.2"'))
    assert try_players([write_engine(tmp_path), spec], 5, 7.5).engines == {"Fake": "0.1, 0.2"}
    assert try_players([GreedyPlayer(FakeValues(5), 1)], 5, 7.5).engines == {}
    with pytest.raises(RlgoError, match="player greedy: does not play on 9x9"):
        try_players([GreedyPlayer(FakeValues(5), 1)], 9, 7.5)
    with pytest.raises(RlgoError, match="board size 4"):
        try_players(["random"], 4, 7.5)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def test_programs_are_the_sources_and_the_files_that_players_load(tmp_path: Path) -> None:
    assert try_players(["random"], 5, 7.5).programs == {"sources": sources_digest()}
    shipped = checkpoints_dir() / "9x9-1M.npz"
    own = tmp_path / "own.toml"
    own.write_text('player = "greedy"\nweights = "9x9-1M"\n')
    for specs, expected in (
        (["random", "greedy,weights=9x9-1M"], {"checkpoints/9x9-1M.npz": digest_of(shipped)}),
        ([str(own)], {"checkpoints/9x9-1M.npz": digest_of(shipped), str(own): digest_of(own)}),
    ):
        assert try_players(specs, 9, 7.5).programs["files"] == expected


def test_files_that_players_load_unasked_are_among_their_programs() -> None:
    best, patterns = shipped_weights(9), SHIPPED_PATTERNS.find("9x9")
    assert try_players(["greedy"], 9, 7.5).programs["files"] == {f"checkpoints/{best.name}": digest_of(best)}
    for name, own in (
        ("mc_rave_patterns", {checkpoints_dir() / "9x9-liberties-5M.npz", patterns}),
        ("rlgo", {SHIPPED_NETWORKS.files()["9x9"]}),
    ):
        with files_loaded() as files:
            make_player(f"{name},sims=2,memory_mb=1", 9)
        assert files == {*own, shipped_calibration(name, 9)}
