"""Patterns: what is learned from games, by both methods, and the pattern file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from random_play import SIZE, random_game

from rlgo.base.archive import write_archive
from rlgo.base.errors import RlgoError
from rlgo.go.board import PASS, play
from rlgo.go.game import Game
from rlgo.go.rules import zobrist
from rlgo.moves import mm, softmax
from rlgo.moves.decisions import Decisions, GameTable, decisions_of, grow_tree
from rlgo.moves.move_features import FEATURES
from rlgo.moves.nested_shapes import known_shapes, make_tree
from rlgo.moves.patterns import FORMAT, VERSION, Patterns, describe, load_patterns, save_patterns, show


@cache
def games_played() -> list[Game]:
    return [random_game(30, seed) for seed in range(20)]


def table_of(games: list[Game]) -> GameTable:
    """Games as a table, the first of them with two of its moves set up instead."""
    setups = [games[0].moves[:2], *([] for _ in games[1:])]
    moves = [game.moves[len(setup) :] for game, setup in zip(games, setups, strict=True)]

    def starts(parts: list) -> np.ndarray:
        return np.cumsum([0, *map(len, parts)])

    def column(parts: list, i: int) -> np.ndarray:
        return np.array([stone[i] for part in parts for stone in part], np.int64)

    learned = np.ones(sum(map(len, moves)), np.uint8)
    learned[5::7] = 0
    return GameTable(
        starts(setups), starts(moves), column(setups, 0), column(setups, 1), column(moves, 0), column(moves, 1), learned
    )


@pytest.fixture(scope="module")
def learned() -> tuple[GameTable, Decisions, Patterns]:
    games = table_of(games_played())
    parents, codes, seen = known_shapes(grow_tree(games, SIZE, 20, 9, 50_000), 20)
    decisions = decisions_of(games, SIZE, make_tree(SIZE, parents, codes))
    features, shapes = softmax.fit(decisions, parents, 1.0, 20)
    return games, decisions, Patterns(parents, codes, seen, shapes, features, SIZE, {})


def test_decisions_are_the_moves_to_be_learned(learned: tuple) -> None:
    games, decisions, _ = learned
    assert len(decisions) == games.is_learned.sum()
    d = 0
    for g, game in enumerate(games_played()):
        replayed = Game(SIZE)
        for ply, (color, p) in enumerate(game.moves, -2 if g == 0 else 0):
            if ply >= 0 and games.is_learned[games.first_move[g] + ply]:
                moves = decisions.move[decisions.starts[d] : decisions.starts[d + 1]]
                # Games know superko besides, which is rare.
                assert set(replayed.sensible_moves()) <= set(moves[:-1].tolist())
                assert moves[-1] == PASS
                assert (moves[decisions.chosen[d]], decisions.game[d], decisions.ply[d]) == (p, g, ply)
                d += 1
            replayed.play(p, color)
    assert d == len(decisions)


def x_of(patterns: Patterns, decisions: Decisions) -> np.ndarray:
    return patterns.shape_weights[decisions.shape] + patterns.feature_weights[decisions.features].sum(1)


def log_likelihood(decisions: Decisions, x: np.ndarray) -> float:
    """From the definition, without any of the kernels' ways."""
    total = 0.0
    for d in range(len(decisions)):
        here = x[decisions.starts[d] : decisions.starts[d + 1]].astype(np.float64)
        total += here[decisions.chosen[d]] - np.log(np.exp(here).sum())
    return total


def test_the_likelihood_and_its_gradient(learned: tuple) -> None:
    _, decisions, patterns = learned
    rng = np.random.default_rng(1)
    features, shapes = rng.normal(size=len(FEATURES) + 1), rng.normal(size=len(patterns.parents) + 1)
    features[0] = shapes[0] = 0
    gradients = np.zeros_like(features), np.zeros_like(shapes)
    found = softmax.likelihood(decisions, features, shapes, *gradients)
    x = features[decisions.features].sum(1) + shapes[decisions.shape]
    assert found == pytest.approx(log_likelihood(decisions, x))
    none = np.zeros_like(features), np.zeros_like(shapes)
    used_features = np.unique(decisions.features)[1:]
    used_shapes = np.unique(decisions.shape)[1:]
    for weights, gradient, used in ((features, gradients[0], used_features), (shapes, gradients[1], used_shapes)):
        for i in rng.choice(used, 8, replace=False):
            values = []
            for step in (1e-4, -1e-4):
                weights[i] += step
                values.append(softmax.likelihood(decisions, features, shapes, *none))
                weights[i] -= step
            assert gradient[i] == pytest.approx((values[0] - values[1]) / 2e-4, rel=1e-4, abs=1e-5)


def test_parts_of_shapes_add_up() -> None:
    parents, parts = np.array([0, 1, 1, 3], np.int32), np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    softmax.add_parents(parts, parents)
    assert parts.tolist() == [0, 1, 3, 5, 13]
    gradient = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    softmax.add_children(gradient, parents)
    assert gradient.tolist() == [15, 15, 2, 12, 8]


def test_both_methods_learn(learned: tuple) -> None:
    _, decisions, patterns = learned
    uniform = -np.log(np.diff(decisions.starts)).sum()
    by_softmax = log_likelihood(decisions, x_of(patterns, decisions))
    reports: list[float] = []
    features, shapes = mm.fit(decisions, len(patterns.parents), 0.1, 25, reports.append)
    by_mm = log_likelihood(
        decisions, x_of(replace(patterns, feature_weights=features, shape_weights=shapes), decisions)
    )
    assert min(by_mm, by_softmax) > uniform
    assert reports[-1] == pytest.approx(by_mm / len(decisions), abs=1e-4)
    assert reports[0] > uniform / len(decisions)


def test_minorization_maximization_finds_the_strengths_of_a_game_with_an_answer() -> None:
    """Two kinds of moves, one of each kind in every decision: a win rate of 3 in 4 is a strength of 3."""
    n = 400
    features = np.zeros((2 * n, 12), np.uint8)
    features[::2, 0] = 1
    chosen = (np.arange(n) % 4 == 0).astype(np.int64)
    zeros = np.zeros(n, np.int64)
    decisions = Decisions(
        np.arange(0, 2 * n + 1, 2),
        chosen,
        zeros,
        zeros,
        np.zeros(2 * n, np.uint16),
        features,
        np.zeros(2 * n, np.int32),
    )
    weights, _ = mm.fit(decisions, 0, 1e-9, 60)
    assert np.exp(weights[1]) == pytest.approx(3.0, rel=1e-3)
    weights, _ = softmax.fit(decisions, np.zeros(0, np.int32), 1e-6, 60)
    assert np.exp(weights[1]) == pytest.approx(3.0, rel=1e-3)


def test_probabilities_are_those_of_the_decisions(learned: tuple) -> None:
    _, decisions, patterns = learned
    x, game = x_of(patterns, decisions), games_played()[1]
    first = int(np.flatnonzero((decisions.game == 1) & (decisions.ply == 3))[0])
    board = Game(SIZE).board.copy()
    for _, p in game.moves[:3]:
        play(board, p, zobrist(SIZE))
    (found,) = patterns.probabilities([board], game.moves[1][1])
    here = slice(int(decisions.starts[first]), int(decisions.starts[first + 1]))
    e = np.exp(x[here].astype(np.float64))
    assert list(found) == decisions.move[here].tolist()
    assert list(found.values()) == pytest.approx((e / e.sum()).tolist(), rel=1e-5)


def test_probabilities_do_not_depend_on_colours_and_symmetry(learned: tuple) -> None:
    patterns = learned[2]
    for game in games_played()[:4]:
        plain, turned = Game(SIZE), Game(SIZE)
        turned.play(PASS)  # White begins
        for _, p in game.moves[:13]:
            plain.play(p)
            turned.play(PASS if p == PASS else p // 6 + p % 6 * 6)
        a, b = (patterns.probabilities([g.board], g.moves[-2][1])[0] for g in (plain, turned))
        assert a == pytest.approx({p // 6 + p % 6 * 6: value for p, value in b.items()}, rel=1e-6)


# ---------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------


def test_patterns_come_back_from_their_file(learned: tuple, tmp_path: Path) -> None:
    patterns = replace(learned[2], provenance={"method": "softmax", "games": 20, "decisions": 500})
    save_patterns(tmp_path / "p.npz", patterns)
    found = load_patterns(tmp_path / "p.npz")
    for name in ("parents", "codes", "seen", "shape_weights", "feature_weights"):
        np.testing.assert_array_equal(getattr(found, name), getattr(patterns, name))
    assert (found.size, found.provenance) == (SIZE, patterns.provenance)
    text = describe(found)
    assert f"{len(FEATURES)} features, {len(patterns.parents):,} shapes" in text
    assert "learned by softmax from 500 moves of 20 games" in text


def test_bad_files_are_refused(learned: tuple, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    save_patterns(path, learned[2])
    whole = path.read_bytes()
    for data in (whole[:-1], whole[:200], whole[:100] + b"x" + whole[101:], b"hello"):
        path.write_bytes(data)
        with pytest.raises(RlgoError, match=r"p\.npz"):
            load_patterns(path)
    save_patterns(path, replace(learned[2], parents=np.arange(1, len(learned[2].parents) + 1)))
    with pytest.raises(RlgoError, match="not the arrays of a pattern file"):
        load_patterns(path)
    write_archive(path, {"format": FORMAT, "version": VERSION + 1}, {})
    with pytest.raises(RlgoError, match="this rlgo reads up to"):
        load_patterns(path)


def test_shapes_are_drawn(learned: tuple) -> None:
    text = show(learned[2], 3, unicode=False)
    strongest, weakest, features = text.split("\n\n")[1], text.split("\n\n")[3], text.split("\n\n")[-1]
    assert strongest.count("*") == weakest.count("*") == 3
    assert len(features.splitlines()) == len(FEATURES)
    assert max(learned[2].shape_weights[1:]) == pytest.approx(float(strongest.split("\n")[-1].split()[0]), abs=0.01)


def test_players_are_black_in_drawings() -> None:
    """A shape of one own stone above the move, whose code is 2: one liberty. It is drawn twice: it is all there is."""
    patterns = Patterns(
        np.zeros(1, np.int32), np.array([2], np.uint32), np.ones(1, np.int64), np.ones(2, np.float32),
        np.zeros(len(FEATURES) + 1, np.float32),
    )  # fmt: skip
    drawn = show(patterns, 1, unicode=False)
    assert drawn.count("X") == 2
    assert "O" not in drawn.split("Features")[0]
    assert "[---1]" in drawn
