"""Contributions to the value of a position, against the definitions: window by window, and as a sum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles import naive
from oracles.windows import places
from random_play import SIZE, random_game, random_theta, random_weights

from rlgo.base.errors import RlgoError
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.learning.contributions import changes, contributions, logit_of, strongest, value_of
from rlgo.learning.value import ValueFunction

FEATURES = [((1, 2, 3), "LI+LD"), ((2, 3), "LI"), ((3,), "LD"), ((1, 3), "inversion"), ((1, 2), "none")]


def stones_of(game: Game) -> naive.Stones:
    points = {naive.from_core(SIZE, p): int(c) for p, c in enumerate(game.board.color) if c in (BLACK, WHITE)}
    return {p: c for p, c in points.items() if p is not None}


@pytest.mark.parametrize(("sizes", "sharing"), FEATURES)
def test_every_window_by_the_definition(sizes, sharing):
    weights = random_weights(sizes, sharing)
    for seed in range(3):
        game = random_game(8 + seed, seed)
        found = contributions(weights, game.board)
        shapes = naive.active_shapes(stones_of(game), SIZE, sizes, sharing)
        kinds = len(found) // len(shapes)
        for i, active in enumerate(shapes):
            here = found[i * kinds : (i + 1) * kinds]
            by_kind = {
                name[1]: sign * float(weights.theta[naive.to_index(weights.features, name)])
                for name, sign in active.items()
            }
            assert {w.kind: w.weight for w in here if w.weight} == pytest.approx(by_kind)
            name, row, col = weights.features.windows[i]
            k = int(name[0])
            assert {(w.name, w.row, w.col, w.block[:3]) for w in here} == {(name, row, col, name)}
            cells = [[stones_of(game).get((row + y, col + x), EMPTY) for x in range(k)] for y in range(k)]
            assert all(w.cells.tolist() == cells for w in here)


def test_other_windows_by_the_definition():
    features = make_features(SIZE, (), "LI", ("2x3", "plus", "liberties .x/xx"), "LI+LD")
    weights = Weights(features, random_theta(features, 1))
    for seed in range(3):
        game = random_game(8 + seed, seed)
        found = iter(contributions(weights, game.board))
        for w, expected in places(stones_of(game), features):
            for name, kind, shape, index in expected:
                here = next(found)
                assert (here.name, here.block) == (features.windows[w][0], f"{name}-{kind}")
                assert here.weight == np.sign(index) * float(weights.theta[abs(index)])
                colors = [0 if state == EMPTY else state[0] for _, state in shape if state != "edge"]
                assert sorted(here.cells[here.cells != BORDER]) == sorted(colors)
        assert next(found, None) is None
        assert logit_of(contributions(weights, game.board)) == pytest.approx(
            math.log(1 / (1 / ValueFunction(weights).value(game) - 1)), abs=1e-4
        )


@pytest.mark.parametrize("value", ["logistic", "linear"])
@pytest.mark.parametrize(("sizes", "sharing"), FEATURES)
def test_the_sum_is_the_value(sizes, sharing, value):
    weights = random_weights(sizes, sharing, value=value)
    game = random_game(11, 5)
    x = logit_of(contributions(weights, game.board))
    assert value_of(weights, x) == pytest.approx(ValueFunction(weights).value(game.board), abs=1e-6)


@pytest.mark.parametrize(("sizes", "sharing"), FEATURES)
def test_the_differences_of_a_move_add_up_to_that_of_the_logits(sizes, sharing):
    weights = random_weights(sizes, sharing)
    V = ValueFunction(weights)
    for game in (random_game(9, 3), random_game(20, 4)):
        for p in game.legal_moves():
            after = game.copy()
            after.play(p)
            found = changes(weights, game.board, after.board)
            logits = [math.log(v / (1 - v)) for v in (V.value(game.board), V.value(after.board))]
            assert sum(c.difference for c in found) == pytest.approx(logits[1] - logits[0], abs=1e-4)
            windows = {(c.after.name, c.after.row, c.after.col) for c in found}
            assert len(windows) >= len(sizes)  # at least one of each size lies over the point


def test_a_capture_changes_the_windows_over_the_stones_taken():
    weights = random_weights((1,), "none")
    game = Game(SIZE)
    for name in ("A2", "A1"):
        game.play(from_vertex(name, SIZE))
    after = game.copy()
    after.play(from_vertex("B1", SIZE))
    assert {(c.after.row, c.after.col) for c in changes(weights, game.board, after.board)} == {(0, 0), (0, 1)}
    unchanged = game.copy()
    unchanged.play(PASS)
    assert changes(weights, game.board, unchanged.board) == []


def test_the_strongest_windows():
    windows = contributions(random_weights((1, 2, 3), "LI+LD"), random_game(10, 2).board)
    top = strongest(windows, 5)
    assert [abs(w.weight) for w in top] == sorted((abs(w.weight) for w in windows), reverse=True)[:5]
    assert strongest([w for w in windows if not w.weight], 5) == []


def test_another_board_size_is_refused():
    with pytest.raises(RlgoError, match="weights for board size 5: expected a board of that size"):
        contributions(random_weights((1,), "LI"), Game(7).board)
