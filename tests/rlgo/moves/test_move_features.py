"""Features of moves, against definitions in plain Python."""

from __future__ import annotations

import numpy as np
from oracles import moves as naive_moves
from oracles.naive import Point, from_core, to_core, vertex
from slow_and_fast import SIZE, Position

from rlgo.go.board import PASS
from rlgo.moves.move_features import FEATURES, GROUPS, features_of, list_candidates, new_study, study


def named(position: Position, p: Point | None, s) -> set[str]:
    features_of(position.fast, to_core(SIZE, p), to_core(SIZE, position.last_but_one), s)
    return {FEATURES[i - 1] for i in s.features.tolist() if i}


def test_features_are_those_of_the_definitions():
    s, moves = new_study(SIZE), np.zeros(SIZE * SIZE + 1, np.int64)
    checked, unread, met = 0, 0, set()
    for seed in range(60):
        position = Position(seed)
        while len(position.moves) < 45 and position.play_at_random():
            if position.draw.random() < 0.6:
                continue
            study(position.fast, s)
            n = list_candidates(position.fast, moves)
            assert moves[n - 1] == PASS
            for p in (from_core(SIZE, i) for i in moves[: n - 1].tolist()):
                try:
                    expected = naive_moves.features(position.slow, p, position.last, position.last_but_one)
                except naive_moves.Unread:
                    unread += 1
                    continue
                found = named(position, p, s)
                assert found == expected, f"{vertex(p)} on\n{position.slow}"
                checked += 1
                met |= found
    assert checked > 3000
    assert unread < 50
    near = {name for name in FEATURES if not name.startswith(("distance", "line", "pass"))}
    assert near - met <= {"atari while a ko may not be retaken"}


def test_passes():
    position, s = Position(1), new_study(SIZE)
    study(position.fast, s)
    assert named(position, None, s) == {"pass"}
    position.play(None)
    assert named(position, None, s) == {"pass after a pass"}


def test_each_feature_has_one_group():
    assert sum(map(len, GROUPS.values())) == len(FEATURES) == len(set(FEATURES)) < 256


def test_candidates_are_the_sensible_moves():
    moves = np.zeros(SIZE * SIZE + 1, np.int64)
    position = Position(3)
    for _ in range(30):
        position.play_at_random()
        n = list_candidates(position.fast, moves)
        color = position.slow.to_play
        sensible = {p for p in position.slow.legal_points() if not position.slow.is_eye(p, color)}
        assert {from_core(SIZE, i) for i in moves[: n - 1].tolist()} == sensible
