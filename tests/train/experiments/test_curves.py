"""Learning curves: which checkpoints play each other, and that their games do not depend on other players."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from experiment_files import ages
from hypothesis import given
from hypothesis import strategies as st
from random_play import random_theta

from rlgo.base.settings import SHARINGS
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights
from rlgo.learning.fast_games import play_fast
from train.experiments.declaration.experiment import Experiment
from train.experiments.results.files import scores_of
from train.experiments.running import curves
from train.experiments.running.curves import pairings
from train.experiments.running.training import Point

# ---------------------------------------------------------------------------------------------
# Who plays whom
# ---------------------------------------------------------------------------------------------


def points_of(*runs: list[int]) -> list[Point]:
    """Random play, and runs with checkpoints at these numbers of games."""
    own = [Point(f"run {i} #1 @{games}", i, games, None) for i, run in enumerate(runs) for games in run]
    return [Point("random", -1, 0, None), *own]


def expected_pairings(points: list[Point]) -> set[frozenset[str]]:
    """By asking of every pair of points whether they should meet."""
    runs = sorted({p.run for p in points if p.run >= 0})
    own = {run: sorted((p for p in points if p.run == run), key=lambda p: p.games) for run in runs}

    def should(a: Point, b: Point) -> bool:
        if -1 in (a.run, b.run):
            return a.run == -1 and b is own[b.run][0]
        if a.run == b.run:
            return 1 <= own[a.run].index(b) - own[a.run].index(a) <= 2
        ahead = (runs.index(b.run) - runs.index(a.run)) % len(runs)
        if a.games == b.games and (a.run == runs[0] or ahead <= 3):
            return True
        return a is own[runs[0]][-1] and b is own[b.run][-1]

    return {frozenset((a.name, b.name)) for a in points for b in points if a is not b and should(a, b)}


RUNS = st.lists(st.lists(st.sampled_from(ages(20_000)), unique=True).map(sorted), min_size=1, max_size=9)


@given(RUNS)
def test_checkpoints_meet_those_before_and_beside_them(runs):
    points = points_of(*runs)
    met = pairings(points)
    pairs = [frozenset((a.name, b.name)) for a, b in met]
    assert len(set(pairs)) == len(pairs)
    assert all(len(pair) == 2 for pair in pairs)
    assert set(pairs) == expected_pairings(points)
    # One scale: whoever has checkpoints is connected with all others.
    reached, left = {"random"}, {p.name for p in points[1:]}
    while near := {name for pair in pairs if pair & reached for name in pair} & left:
        reached |= near
        left -= near
    assert not left


# ---------------------------------------------------------------------------------------------
# Games between checkpoints
# ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_checkpoints_meet_at_equal_conditions(ran):
    """Every game of the raw results is one that `meet` plays again from the checkpoints' files."""
    _, e, raw = ran
    labels = ["a #1", "b #1", "b #2", "a #2"]
    points = [Point(f"{x} @{g}", i, g, None) for i, x in enumerate(labels) for g in (100, 200, 250)]
    lines = {frozenset(line["pair"]): line for line in raw.of("pair")}
    assert set(lines) == expected_pairings([Point("random", -1, 0, None), *points])
    assert len(lines) == len(raw.of("pair")) == len(raw.lines) - 5
    for line in lines.values():
        weights = [load(e, name) for name in line["pair"]]
        features = next(w.features for w in weights if w is not None)
        thetas = [np.zeros(features.n_weights + 1, np.float32) if w is None else w.theta for w in weights]
        seed = np.random.SeedSequence([1, *(zlib.crc32(name.encode()) for name in line["pair"])])
        again = play_fast(features, *thetas, 4, seed, 0.5).scores
        assert Counter(map(tuple, again.tolist())) == Counter(scores_of(line)), line


def load(e: Experiment, name: str) -> Weights | None:
    match = re.fullmatch(r"(\w+) #(\d) @(\d+)", name)
    if match is None:
        return None
    folder = e.runs[match[1]][int(match[2]) - 1].folder
    return load_weights(folder.saved().get(int(match[3]), folder.weights))


def crowd(n: int, sharing: str = "LI+LD") -> list[Point]:
    """Random play, and random weights: a run each."""
    features = make_features(5, (1, 2), sharing)
    weights = [Weights(features, random_theta(features, i)) for i in range(n)]
    return [Point("random", -1, 0, None), *(Point(f"run {i} #1 @100", i, 100, w) for i, w in enumerate(weights))]


def played(ran, points: list[Point], jobs: int = 1) -> dict[tuple[str, ...], dict[str, int]]:
    _, e, _ = ran
    e = replace(e, settings=replace(e.settings, games=20))
    return {tuple(line["pair"]): line["openings"] for line in curves.play(e, points, jobs, False)}


@pytest.mark.slow
def test_a_meeting_is_the_same_whoever_else_takes_part(ran):
    few, many = played(ran, crowd(3)), played(ran, crowd(9), jobs=2)
    assert len(few) == 6
    assert few.items() <= many.items()
    assert len({json.dumps(openings) for openings in few.values()}) > 3
    # So it is where others have other shapes, and all are rated on shapes without sharing.
    assert "none" in SHARINGS
    other = replace(crowd(4, "LD")[-1], name="other #1 @100")
    assert few.items() <= played(ran, [*crowd(3), other]).items()


@pytest.mark.slow
def test_a_meeting_is_the_same_in_whatever_order(ran):
    forth = played(ran, crowd(5))
    back = played(ran, [replace(p, run=p.run if p.run < 0 else 4 - p.run) for p in crowd(5)])
    assert {frozenset(pair): openings for pair, openings in forth.items()} == {
        frozenset(pair): openings for pair, openings in back.items()
    }


@pytest.mark.slow
def test_equal_players_meet_as_equals(ran):
    """The same weights under two names: in every opening, colours alone decide."""
    points = crowd(1)
    twin = replace(points[1], name="twin #1 @100", run=1)
    openings = played(ran, [*points, twin])["run 0 #1 @100", "twin #1 @100"]
    assert sum(openings.values()) == 10
    assert {"".join(sorted(text)) for text in openings} <= {"LW", "DD"}
