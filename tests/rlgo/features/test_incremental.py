"""Shapes kept up to date move by move: configurations, values, gains, masks and captures against recounts."""

from __future__ import annotations

import numpy as np
import pytest
from random_play import random_theta

from rlgo.compiler.jit import copy_record, make_rng, njit, random_unit
from rlgo.features.incremental import new_shapes, reset, update, x_of
from rlgo.features.shapes import Table, make_features
from rlgo.go.board import PASS, is_legal, is_sensible, new_boards, play, random_move
from rlgo.go.rules import zobrist
from rlgo.learning.value import best_afterstate, gain_of

FEATURES = [
    (5, (1, 2, 3), "LI+LD"),
    (5, (2, 3), "LI"),
    pytest.param(5, (3,), "LD", marks=pytest.mark.thorough),
    (5, (1, 3), "inversion"),
    (5, (1, 2), "none"),
    (9, (1, 2, 3), "LI+LD"),
]


@njit
def count_mistakes(boards, shapes, table, games, zobrist, rng, mistakes):
    """Random games; after each move compare the record with a fresh `reset` and with the board's own answers."""
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
            elif random_unit(rng) < 0.3:
                p = best_afterstate(b, sh, table, rng)[0]
            play(b, p, zobrist)
            update(b, sh, table)
            reset(b, fresh, table)
            for w in range(table.g.n_windows):
                mistakes[0] += sh.configuration[w] != fresh.configuration[w]
            for c in range(2):
                own = table if c == 0 else Table(table.g, table.white, table.black)
                mistakes[1] += abs(sh.x[c] - x_of(fresh.configuration, own)) > 1e-3
                mistakes[2] += sh.n_captures[c] != fresh.n_captures[c]
                for i in range(b.n_empty):
                    q = np.int64(b.empties[i])
                    mistakes[3] += sh.mask[c, q] != fresh.mask[c, q]
                    mistakes[4] += sh.is_capture[c, q] != fresh.is_capture[c, q]
                    mistakes[5] += sh.gain[c, q] != fresh.gain[c, q]
            c = b.to_play - 1
            for i in range(b.n_empty):
                q = np.int64(b.empties[i])
                may = sh.mask[c, q] == 0 or sh.is_capture[c, q] == 1
                mistakes[6] += may != is_sensible(b, q)
                if is_legal(b, q):
                    copy_record(b, after)
                    play(after, q, zobrist)
                    mistakes[7] += (after.n_changed > 1) and may and sh.is_capture[c, q] == 0
                    reset(after, fresh, table)
                    own = table if c == 0 else Table(table.g, table.white, table.black)
                    gain = x_of(fresh.configuration, own) - sh.x[c]
                    gain = gain if c == 0 else -gain
                    mistakes[8] += abs(gain - gain_of(b, sh, table, q)) > 1e-3
                    if sh.is_capture[c, q] == 1 and sh.is_fresh[c, q] == 1:
                        mistakes[9] += abs(gain - sh.gain_capture[c, q]) > 1e-3


def check_incremental(size: int, sizes: tuple[int, ...], sharing: str, games: int) -> None:
    features = make_features(size, sizes, sharing)
    table = Table(features.geometry, *(features.expand(random_theta(features, seed)) for seed in (1, 2)))
    boards, shapes = new_boards(3, size), new_shapes(3, size)
    reset(boards[0], shapes[0], table)
    mistakes = np.zeros(10, np.int64)
    count_mistakes(boards, shapes, table, games, zobrist(size), make_rng(size), mistakes)
    assert mistakes.tolist() == [0] * 10


@pytest.mark.parametrize(("size", "sizes", "sharing"), FEATURES)
def test_incremental_equals_recount(size, sizes, sharing):
    check_incremental(size, sizes, sharing, 100 if size == 5 else 20)


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_one_game_equals_recount():
    check_incremental(5, (1, 2), "LI+LD", 1)
