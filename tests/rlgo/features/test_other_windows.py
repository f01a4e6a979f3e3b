"""Windows of any form: their weights against every symmetry tried, and the value function against recounts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from oracles import naive
from oracles import windows as naive_windows
from oracles.naive import NaiveBoard, from_core
from oracles.windows import ALL, ATARI, MIXED, STONES, WIDE
from random_play import random_board, random_theta

from rlgo.base.errors import RlgoError
from rlgo.base.settings import ACTIVE, Learning, Policy
from rlgo.compiler.jit import copy_record, make_rng, njit, random_unit
from rlgo.features.incremental import new_shapes, reset, update, x_of
from rlgo.features.kinds import kind_of
from rlgo.features.other_windows import has_others, renew_gains
from rlgo.features.shapes import FeatureSet, Table, make_features
from rlgo.features.weights import Weights
from rlgo.go.board import PASS, is_legal, new_boards, play, random_move
from rlgo.go.rules import zobrist
from rlgo.learning.learner import LearnWorker, WorkerArguments
from rlgo.learning.value import ValueFunction, best_afterstate, gain_of

# ---------------------------------------------------------------------------------------------
# Weights
# ---------------------------------------------------------------------------------------------


def test_counts():
    # Without an edge, 2x2: 5^4 = 625 shapes; by Burnside's lemma over the 16 symmetries, half of those that are not
    # neutral. They must not depend on the board, nor on the sharing of the other windows.
    for size, sharing in product((5, 9), ("LI+LD", "none")):
        features = make_features(size, (1,), sharing, ("atari 2x2", "atari 2x3", "atari plus"))
        assert [b.stop - b.start for b in features.blocks[-3:]] == [54, 2028, 516]
    assert make_features(9, others=ALL).n_weights == 63_303 + 192 + 2190
    assert make_features(9, others=()) is make_features(9)


def test_counts_of_pairs_by_hand():
    # Of the 9 shapes of two neighbours, LI knows two: a stone beside an empty point, and two of one colour. Two of
    # different colours are their own inversion, turned. On 5x5 there are 4 * 5 * 2 pairs, in 6 orbits under symmetries
    # of the board, none of which exchanges the points of a pair: (9 - 1) / 2 weights at each.
    counts = {"LI": 2, "LD": 6 * 4, "LI+LD": 2 + 6 * 4, "inversion": 40 * 4, "none": 40 * 8}
    for sharing, n in counts.items():
        features = make_features(5, (), sharing, ("stones 1x2",))
        assert (len(features.windows), features.n_features, features.n_weights) == (40, 40 * 9, n)
        assert features.name == f"5x5 1x2 {sharing}"
    # Diagonal pairs have 6 orbits too. In two, across a diagonal of the board, a reflection exchanges the points.
    assert [b.stop - b.start for b in make_features(5, (), "LI+LD", ("x./.x",)).blocks] == [2, 4 * 4 + 2 * 2]


def test_squares_are_what_sizes_are_short_for():
    assert make_features(5, (), others=("stones 2x2", "1x1")) is make_features(5, (1, 2))
    mixed = make_features(5, (1,), others=["liberties 2x3", "plus", "stones 3x2", "2x2", "atari 1x2"])
    assert mixed.names == ("1x1", "2x2", "2x3", "plus", "atari 1x2", "liberties 2x3")
    assert (mixed.sizes, mixed.others) == ((1, 2), mixed.names[2:])
    assert make_features(*mixed.arguments) is mixed


def test_shape_of_a_weight():
    features = make_features(5, (1,), "LI+LD", (*ATARI, "2x3"), "LI+LD")
    for block in features.blocks[-6:]:
        for weight in range(block.start, block.stop, 97):
            found, row, col, states = features.shape_of(weight)
            assert found == block
            cells = [(row + j, col + i, int(s)) for (j, i), s in np.ndenumerate(states) if s != 255]
            n_stones = sum(s > 0 for *_, s in cells)
            assert 0 < n_stones <= len(cells) <= len(kind_of(block.window).form.cells)
            assert block.kind == "LI" or all(0 <= r < 5 and 0 <= c < 5 for r, c, _ in cells)


@pytest.mark.parametrize("others", [("atari",), ("liberties 3x3",), (1, 2), "atari plus", ("2x2", "4x4")])
def test_windows_that_are_none(others):
    with pytest.raises(RlgoError, match=r"^windows? .*: expected names such as \"2x3\", \"atari plus\""):
        make_features(5, others=others)


def test_feature_sets_too_large_for_their_numbers():
    with pytest.raises(RlgoError, match=r"none: 2,46.,...,... shapes to tell apart, expected at most 2,143,289,344$"):
        make_features(19, (), "none", ("atari 3x3", "liberties xxxx/xxx."), "none")


# ---------------------------------------------------------------------------------------------
# The value function
# ---------------------------------------------------------------------------------------------


@njit
def count_mistakes(boards, shapes, table, games, zobrist, rng, mistakes):
    """Random games; after each move compare the record with a fresh `reset`, and every move with playing it."""
    b, sh, fresh, after = boards[1], shapes[1], shapes[2], boards[2]
    for _ in range(games):
        copy_record(boards[0], b)
        copy_record(shapes[0], sh)
        for _move in range(3 * b.board_size * b.board_size):
            if b.n_passes >= 2:
                break
            p = random_move(b, rng)
            if random_unit(rng) < 0.02:
                p = PASS
            elif random_unit(rng) < 0.5:
                p = best_afterstate(b, sh, table, rng)[0]
            play(b, p, zobrist)
            update(b, sh, table)
            reset(b, fresh, table)
            c = b.to_play - 1
            own = table if c == 0 else Table(table.g, table.white, table.black)
            for w in range(table.g.n_windows):
                mistakes[0] += sh.configuration[w] != fresh.configuration[w]
            for q in range(sh.count.shape[0]):
                mistakes[1] += sh.count[q] != fresh.count[q] or sh.state[q] != fresh.state[q]
            mistakes[2] += abs(sh.x[c] - x_of(fresh.configuration, own)) > 1e-3
            if random_unit(rng) < 0.7:  # gains may be stale for several moves
                renew_gains(b, sh, table, has_others(table.g))
                renew_gains(b, fresh, table, has_others(table.g))
                for i in range(b.n_empty):
                    q = np.int64(b.empties[i])
                    if sh.mask[c, q] == 0:
                        mistakes[3] += abs(sh.total[c, q] - fresh.total[c, q]) > 1e-5
            for i in range(b.n_empty):
                q = np.int64(b.empties[i])
                if is_legal(b, q):
                    copy_record(b, after)
                    play(after, q, zobrist)
                    reset(after, fresh, table)
                    gain = x_of(fresh.configuration, own) - sh.x[c]
                    gain = gain if c == 0 else -gain
                    mistakes[4] += abs(gain - gain_of(b, sh, table, q)) > 1e-3
                    mistakes[5] -= after.n_changed > 1  # not a mistake: captures, as a check of the test


def check_incremental(others: tuple[str, ...], liberty_sharing: str, games: int, size: int = 5) -> None:
    features = make_features(size, (1, 2), "LI+LD", others, liberty_sharing)
    table = Table(features.geometry, *(features.expand(random_theta(features, seed)) for seed in (1, 2)))
    boards, shapes = new_boards(3, size), new_shapes(3, size, features.capacity)
    reset(boards[0], shapes[0], table)
    mistakes = np.zeros(6, np.int64)
    count_mistakes(boards, shapes, table, games, zobrist(size), make_rng(size), mistakes)
    assert mistakes[:5].tolist() == [0] * 5
    assert mistakes[5] < -games


@pytest.mark.parametrize(
    ("others", "liberty_sharing"),
    [
        (ATARI, "LI"),
        (MIXED, "LI"),
        (WIDE, "LI+LD"),
        *(
            pytest.param(others, sharing, marks=pytest.mark.thorough)
            for others, sharing in (
                (ALL, "LI+LD"),
                (("atari plus",), "LD"),
                (("atari 2x2", "atari 2x3"), "LI"),
                (STONES, "LI"),
                (("plus", "xox"), "LI"),
            )
        ),
    ],
)
def test_incremental_equals_recount(others, liberty_sharing):
    check_incremental(others, liberty_sharing, 100)


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_one_game_equals_recount():
    check_incremental(("1x2", "atari plus"), "LI", 1)


@pytest.mark.parametrize(
    ("sizes", "others", "sharing"),
    [
        ((1, 2), ATARI, "LI"),
        pytest.param((1, 2), ALL, "LI+LD", marks=pytest.mark.thorough),
        pytest.param((1, 2), STONES, "LI", marks=pytest.mark.thorough),
        pytest.param((), ("1x2", ".x./xxx/.x."), "LI", marks=pytest.mark.thorough),
        ((1, 2), MIXED, "LI+LD"),
        ((1, 2), WIDE, "LI"),
        pytest.param((), ("atari 3x3",), "LI", marks=pytest.mark.thorough),
    ],
)
def test_values_equal_dense_phi_theta(sizes, others, sharing):
    features = make_features(5, sizes, "LI+LD", others, sharing)
    weights = Weights(features, random_theta(features, 3, 0.2))
    v = ValueFunction(weights)

    def dense(stones: naive.Stones) -> float:
        plain = naive.phi(naive.active_shapes(stones, 5, features.sizes, features.sharing))
        x = sum(n * float(weights.theta[naive.to_index(features, name)]) for name, n in plain.items())
        for _, found in naive_windows.places(stones, features):
            x += sum(np.sign(index) * float(weights.theta[abs(index)]) for *_, index in found)
        return 1 / (1 + np.exp(-x))

    n_captures = 0
    for seed in range(12):
        b, board = random_board(5, 5 + 5 * seed, seed)
        assert v.value(b) == pytest.approx(dense(board.stones), abs=2e-6)
        values = v.afterstates(b)
        for p in board.legal_points():
            stones, dead = board.result_of(p)
            n_captures += bool(dead)
            assert values[p[0] * 5 + p[1]] == pytest.approx(dense(stones), abs=2e-6)
    assert n_captures > 0


def test_squares_are_a_special_case_without_other_windows():
    # With weights of 0 for the others the value, and every choice, is that of the squares.
    plain, larger = make_features(5), make_features(5, others=(*ATARI, "2x3"))
    theta = random_theta(plain, 1)
    own = np.zeros(larger.n_weights + 1, np.float32)
    own[: len(theta)] = theta
    a, b = ValueFunction(Weights(plain, theta)), ValueFunction(Weights(larger, own))
    for seed in range(5):
        board, _ = random_board(5, 4 * seed, seed)
        np.testing.assert_array_equal(a.afterstates(board), b.afterstates(board))


# ---------------------------------------------------------------------------------------------
# Learning
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("update", "others"),
    [
        (0, ATARI),
        (1, ATARI),
        pytest.param(0, WIDE, marks=pytest.mark.thorough),
        pytest.param(1, WIDE, marks=pytest.mark.thorough),
        pytest.param(0, ("2x3", ".x/x."), marks=pytest.mark.thorough),
        pytest.param(1, ("2x3", ".x/x."), marks=pytest.mark.thorough),
    ],
)
def test_learning_equals_the_paper_term_by_term(update, others):
    features = make_features(5, (1, 2), "LI+LD", others, "LI+LD")
    learning = Learning(alpha=0.5, update=update, normalise=ACTIVE, games=10)
    worker = LearnWorker(WorkerArguments(features, learning, Policy(), 0.5, 0, 7, random_theta(features, 1, 0.1)))
    index_of: dict = {}
    for game in range(3):
        before = worker.theta.copy()
        worker.learn(1, game)
        episode, board = worker.episode, NaiveBoard(5)
        states, theta = [naive_windows.active_shapes(board.stones, features)], {}
        _name(board, features, index_of)
        for t in range(episode.n):
            board.play(from_core(5, int(episode.moves[t])))
            states.append(naive_windows.active_shapes(board.stones, features))
            _name(board, features, index_of)
        for name, index in index_of.items():
            theta[name] = float(before[abs(index)]) * np.sign(index)
        z = float(board.area_score() > 0.5)
        settings = {"alpha": 0.5, "lambda_": 0.0, "plies": 2, "value_kind": "logistic", "normalise": "active"}
        naive.learn(theta, states, z, update=["game", "step"][update], **settings)
        for name, index in index_of.items():
            assert worker.theta[abs(index)] * np.sign(index) == pytest.approx(theta[name], abs=2e-5)
    assert any(isinstance(name[0], str) for name in index_of)


def _name(board: NaiveBoard, features: FeatureSet, index_of: dict) -> None:
    """Learn the index, with its sign, of each weight that is active."""
    for weights in naive.active_shapes(board.stones, 5, features.sizes, features.sharing):
        for name in weights:
            index_of[name] = naive.to_index(features, name)
    for _, found in naive_windows.places(board.stones, features):
        for kind, sharing, shape, index in found:
            sign, name = naive_windows.canonical(shape, 5, sharing)
            if sign:
                index_of[kind, sharing, name] = sign * index
