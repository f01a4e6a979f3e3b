"""Preparations: openings, players that are tried out, digests of the files they use."""

from __future__ import annotations

import hashlib
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from stand_ins import FakeValues, write_engine

from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import sources_digest
from rlgo.player import GreedyPlayer
from rlgo.resources import checkpoints_dir
from train.arena.prepare import make_openings, programs_of, random_opening, try_players


def test_openings_are_uniform_and_sensible() -> None:
    rng = np.random.default_rng(0)
    seen = {random_opening(5, 1, rng)[0] for _ in range(400)}
    assert seen == set(Game(5).sensible_moves())
    assert random_opening(5, 0, rng) == []
    assert len(random_opening(5, 40, rng)) == 40


def test_openings_depend_on_the_seed_alone() -> None:
    first, again, others = (list(islice(make_openings(5, 4, seed), 4)) for seed in (1, 1, 2))
    assert first == again != others


def test_players_are_tried_out(tmp_path: Path) -> None:
    assert try_players(["random", write_engine(tmp_path)], 5, 7.5) == {"Fake": "0.1"}
    assert (tmp_path / "log").read_text().endswith("quit\n")
    assert try_players([GreedyPlayer(FakeValues(5), 1)], 5, 7.5) == {}
    with pytest.raises(RlgoError, match="player greedy: does not play on 9x9"):
        try_players([GreedyPlayer(FakeValues(5), 1)], 9, 7.5)
    with pytest.raises(RlgoError, match="board size 4"):
        try_players(["random"], 4, 7.5)


def test_programs_are_the_sources_and_the_weights_of_specs() -> None:
    assert programs_of(["random", "player@123"]) == {"sources": sources_digest()}
    digest = hashlib.sha256((checkpoints_dir() / "9x9-1M.npz").read_bytes()).hexdigest()[:16]
    assert programs_of(["greedy,weights=9x9-1M", "random"])["files"] == {"9x9-1M": digest}
