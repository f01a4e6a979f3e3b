"""The softmax policy against its definition: weights that follow the board, draws, and its file.

Start reading at `test_probabilities_follow_the_board`.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from oracles.naive import NaiveBoard, Point, from_core, to_core, vertex
from oracles.softmax import N_WEIGHTS, OTHER, POLICY, SHAPE_OF, policy, random_theta, sensible

from rlgo.base.archive import read_archive, write_archive
from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.compiler.jit import make_rng, njit
from rlgo.go.board import PASS, new_board, new_boards, play
from rlgo.go.rules import make_rules, zobrist
from rlgo.moves.rollout import MOGO, SOFTMAX_POLICY, DefaultPolicy, check_default, new_rollout, playouts
from rlgo.moves.softmax_policy import (
    FORMAT,
    LEAST_SELF_ATARI,
    OTHERS,
    SoftmaxPolicy,
    begin_softmax,
    describe,
    draw_softmax,
    follow_softmax,
    forget_specials,
    is_self_atari,
    load_softmax_policy,
    make_tables,
    save_softmax_policy,
    weigh_specials,
)

SIZE = 5


def policy_of(theta: np.ndarray, provenance: dict[str, str] | None = None) -> SoftmaxPolicy:
    return SoftmaxPolicy(POLICY.codes, theta.astype(np.float32), provenance or {})


@njit
def weigh(b, tables, r, weights):
    """exp(x) of all points, and whether the sums agree with the weights."""
    weights[:] = 0.0
    weigh_specials(b, tables, r)
    color = b.to_play - 1
    for i in range(b.n_empty):
        p = np.int64(b.empties[i])
        weights[p] = r.weight[color, p]
        if weights[p] > 0 and is_self_atari(b, p):
            weights[p] *= tables.self_atari[0]
    agree = True
    for c in range(2):
        for block in range(r.block.shape[1]):
            agree &= r.block[c, block] == r.weight[c, 16 * block : 16 * block + 16].sum()
    forget_specials(b, r)
    return agree and r.flags.sum() == 0


def test_probabilities_follow_the_board():
    """Games of uniformly random moves, with captures, kos and passes; each position against the definition."""
    theta = random_theta()
    tables, r, seen = policy_of(theta).tables(), new_rollout(SIZE), Counter()
    theta = policy_of(theta).theta.tolist()  # as they are rounded
    for seed in range(12):
        b, naive, random_ = new_board(SIZE), NaiveBoard(SIZE), random.Random(seed)
        last: Point | None = None
        before: Point | None = None
        begin_softmax(b, tables, r)
        while naive.n_passes < 2 and naive.n_moves < 60:
            expected, weights = policy(naive, last, before, theta), np.zeros(len(b.color))
            assert weigh(b, tables, r, weights)
            found = {from_core(SIZE, p): weights[p] / weights.sum() for p in np.flatnonzero(weights)}
            assert set(found) == set(expected), f"{naive}\n{vertex(last)}"
            for p, (pi, phi) in expected.items():
                assert found[p] == pytest.approx(pi, rel=1e-3, abs=1e-6), f"{naive}\n{vertex(last)} {vertex(p)}"
                seen.update(OTHERS[k - OTHER] for k in phi if k >= OTHER)
            seen["ko"] += naive.ko is not None
            before, last = last, random_.choice([*expected] or [None]) if random_.random() > 0.03 else None
            seen["captures"] += last is not None and bool(naive.result_of(last)[1])
            play(b, to_core(SIZE, last), zobrist(SIZE))
            naive.play(last)
            follow_softmax(b, tables, r)
    assert set(seen) == {*OTHERS, "ko", "captures"}
    assert min(seen.values()) > 2, seen


def test_each_move_is_drawn_as_often_as_its_probability():
    """In a position with a self-atari; and the other way round, no move is drawn that is not sensible."""
    b, naive, r, rng = new_board(SIZE), NaiveBoard(SIZE), new_rollout(SIZE), make_rng(1)
    theta, moves = random_theta(2), [(0, 1), (1, 1), (3, 3), (2, 2), (4, 3), (1, 3)]
    theta[-1] = -0.7
    tables = policy_of(theta).tables()
    begin_softmax(b, tables, r)
    for p in moves:
        play(b, to_core(SIZE, p), zobrist(SIZE))
        naive.play(p)
        follow_softmax(b, tables, r)
    expected = policy(naive, moves[-1], moves[-2], theta.tolist())
    assert any(OTHER + 4 in phi for _, phi in expected.values())
    n = 20_000
    counts = Counter(from_core(SIZE, draw_softmax(b, tables, r, rng)) for _ in range(n))
    assert set(counts) <= set(expected)
    for p, (pi, _) in expected.items():
        assert abs(counts[p] - n * pi) < 5 * (n * pi) ** 0.5 + 1, vertex(p)


def test_weights_of_zero_choose_uniformly():
    b, r, rng = new_board(SIZE), new_rollout(SIZE), make_rng(1)
    tables = policy_of(np.zeros(N_WEIGHTS)).tables()
    begin_softmax(b, tables, r)
    counts = Counter(draw_softmax(b, tables, r, rng) for _ in range(10_000))
    assert {from_core(SIZE, p) for p in counts} == set(sensible(NaiveBoard(SIZE)))
    assert all(abs(count - 400) < 5 * 400**0.5 for count in counts.values())


def test_a_pass_where_no_move_is_sensible():
    b, r = new_board(SIZE), new_rollout(SIZE)
    tables = policy_of(np.zeros(N_WEIGHTS)).tables()
    for row in range(5):
        for col in range(5):
            if (row, col) not in ((0, 0), (0, 2)):
                b.to_play = 1
                play(b, to_core(SIZE, (row, col)), zobrist(SIZE))
    b.to_play = 1
    begin_softmax(b, tables, r)
    assert draw_softmax(b, tables, r, make_rng(1)) == PASS


def test_the_same_seed_gives_the_same_playouts():
    softmax = DefaultPolicy(SOFTMAX_POLICY, softmax=policy_of(random_theta()).tables())
    args = new_boards(2, SIZE), softmax, new_rollout(SIZE), make_rules(SIZE, 0.5), 100
    first, again, other = (playouts(*args, make_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_kind_and_the_tables_go_together():
    tables = policy_of(np.zeros(N_WEIGHTS)).tables()
    for kind, softmax in ((SOFTMAX_POLICY, None), (MOGO, tables)):
        with pytest.raises(RlgoError, match="expected softmax tables for the kind softmax, and for no other"):
            check_default(DefaultPolicy(kind, softmax=softmax))
    with pytest.raises(RlgoError, match="softmax = 7: expected a Tables, or None"):
        validated(DefaultPolicy(SOFTMAX_POLICY, softmax=7))


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def test_a_policy_is_read_as_it_was_written(tmp_path: Path):
    written = policy_of(random_theta(), {"method": "games", "command": "rlgo playouts train"})
    save_softmax_policy(tmp_path / "a.npz", written)
    read = load_softmax_policy(tmp_path / "a.npz")
    assert np.array_equal(read.theta, written.theta)
    assert read.provenance == written.provenance
    assert "learned by method games\ncommand rlgo playouts train" in describe(read)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": np.zeros(3)}, "damaged: not the arrays of a softmax policy"),
        ({"answer": np.full(len(POLICY.codes), np.nan)}, "damaged: not the arrays of a softmax policy"),
        ({"codes": POLICY.codes[::-1]}, "damaged: not the arrays of a softmax policy"),
        ({"codes": POLICY.codes + np.uint32(1 << 20)}, "damaged: not the arrays of a softmax policy"),
        ({"weights_of_others": np.zeros(2)}, "of other features than this rlgo's; train it anew"),
    ],
)
def test_bad_files(tmp_path: Path, change: dict[str, np.ndarray], message: str):
    path = tmp_path / "a.npz"
    save_softmax_policy(path, policy_of(np.zeros(N_WEIGHTS)))
    meta, arrays = read_archive(path, "file of a softmax policy", FORMAT, 1)
    write_archive(path, meta, {**arrays, **change})
    with pytest.raises(RlgoError, match=message):
        load_softmax_policy(path)


def test_the_shipped_policy_says_how_it_was_made():
    made = POLICY.provenance
    assert made["command"].startswith("rlgo playouts train ")
    assert made["commit"]
    assert made["collection"]


def test_the_weight_of_self_atari_is_bounded():
    theta = np.zeros(N_WEIGHTS)
    theta[-1] = -50
    assert make_tables(theta, SHAPE_OF).self_atari[0] == pytest.approx(np.exp(LEAST_SELF_ATARI))
