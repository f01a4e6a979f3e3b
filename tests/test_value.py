"""The incremental value function against recounts: configurations, values, gains, masks, captures."""

from __future__ import annotations

import numpy as np
import pytest

from rlgo.board import BLACK, PASS, WHITE, board_dtype, is_legal, is_sensible, new_boards, play, random_move, zobrist
from rlgo.jit import copy_record, make_rng, njit, random_unit
from rlgo.shapes import make_features
from rlgo.value import best_afterstate, gain_of, new_shapes, observe, rebuild, x_of

FEATURES = [
    (5, (1, 2, 3), "LI+LD"),
    (5, (2, 3), "LI"),
    (5, (3,), "LD"),
    (6, (1, 3), "inversion"),
    (7, (1, 2), "none"),
    (9, (1, 2, 3), "LI+LD"),
]


def random_bars(features, seed, n=1):
    rng = np.random.default_rng(seed)
    bars = []
    for _ in range(n):
        theta = rng.normal(size=features.n_weights + 1).astype(np.float32)
        theta[0] = 0
        bars.append(features.expand(theta))
    return bars


@njit
def count_mistakes(boards, shapes, g, black, white, games, zobrist, rng, mistakes):
    """Random games; after each move compare the record with a fresh `rebuild` and with the board's own answers."""
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
                p = best_afterstate(b, sh, g, black, white, rng)[0]
            play(b, p, zobrist)
            observe(b, sh, g, black, white)
            rebuild(b, fresh, g, black, white)
            for w in range(g.n_windows):
                mistakes[0] += sh.configuration[w] != fresh.configuration[w]
            for c in range(2):
                bar = black if c == 0 else white
                mistakes[1] += abs(sh.x[c] - x_of(fresh.configuration, g, bar)) > 1e-3
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
                    rebuild(after, fresh, g, black, white)
                    bar = black if c == 0 else white
                    gain = x_of(fresh.configuration, g, bar) - sh.x[c]
                    gain = gain if c == 0 else -gain
                    mistakes[8] += abs(gain - gain_of(b, sh, g, bar, q)) > 1e-3
                    if sh.is_capture[c, q] == 1 and sh.is_fresh[c, q] == 1:
                        mistakes[9] += abs(gain - sh.gain_capture[c, q]) > 1e-3


@pytest.mark.parametrize(("size", "sizes", "sharing"), FEATURES)
def test_incremental_equals_recount(size, sizes, sharing):
    features = make_features(size, sizes, sharing)
    black, white = random_bars(features, 1, 2)
    boards, shapes = new_boards(3, size), new_shapes(3, size)
    rebuild(boards[0], shapes[0], features.geometry, black, white)
    mistakes = np.zeros(10, np.int64)
    count_mistakes(boards, shapes, features.geometry, black, white, 200, zobrist(size), make_rng(size), mistakes)
    assert mistakes.tolist() == [0] * 10
