"""The board against cases worked out by hand, against the slow oracle, and against its own symmetries.

Start reading at `compare`: all invariants of a board.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from board_data import CASES, Case, on_both_boards, parse, turn
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.naive import NaiveBoard, Point, Stones, diagram, from_core, from_vertex, on_board, to_core, vertex

from rlgo.base.errors import RlgoError
from rlgo.base.settings import MAX_SIZE, MIN_SIZE
from rlgo.compiler.jit import make_rng, njit
from rlgo.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    PASS,
    WHITE,
    area_score,
    board_dtype,
    in_atari,
    is_eye,
    is_legal,
    is_sensible,
    last_liberty,
    new_board,
    new_boards,
    outcome,
    play,
    random_move,
)
from rlgo.go.rules import n_points, zobrist

LEGAL, SENSIBLE, BLACK_EYE, WHITE_EYE, ATARI, LAST_LIBERTY = range(6)


@njit
def ask_all(b, answers):
    """Every question at every point of the padded board; answers[6, P]."""
    answers[:] = 0
    for p in range(b.color.shape[0]):
        answers[LEGAL, p] = is_legal(b, p)
        if b.color[p] == EMPTY:
            answers[SENSIBLE, p] = is_sensible(b, p)
            answers[BLACK_EYE, p] = is_eye(b, p, BLACK)
            answers[WHITE_EYE, p] = is_eye(b, p, WHITE)
        elif b.color[p] != BORDER:
            answers[ATARI, p] = in_atari(b, p)
            answers[LAST_LIBERTY, p] = last_liberty(b, b.chain[p])


@njit
def count_random_moves(boards, n, fresh, rng, counts):
    """How often `random_move` chooses each point of boards[0]; `fresh`: always from the same list."""
    boards[1] = boards[0]
    for _ in range(n):
        if fresh:
            boards[1] = boards[0]
        counts[random_move(boards[1], rng)] += 1


@cache
def places(size: int) -> dict[Point, int]:
    """The index of every point of the board."""
    return {(row, col): to_core(size, (row, col)) for row in range(size) for col in range(size)}


@cache
def keys(size: int) -> list[list[int]]:
    return zobrist(size).tolist()


# ---------------------------------------------------------------------------------------------
# The core against the slow oracle
# ---------------------------------------------------------------------------------------------


def compare(b: np.record, naive: NaiveBoard, before: Stones, move: Point | None) -> set[Point]:
    """Check all that a board knows; `before` holds the stones before `move`. Returns the legal points."""
    size, stones, at = naive.size, naive.stones, places(naive.size)
    answers = np.empty((6, n_points(size)), np.int64)
    ask_all(b, answers)
    legal, sensible, black_eye, white_eye, atari, last = answers.tolist()
    color, nbr, chain = b.color.tolist(), b.nbr.tolist(), b.chain.tolist()

    # Stones. The border is as it was.
    assert {p: color[i] for p, i in at.items() if color[i] != EMPTY} == stones
    assert color.count(BORDER) == n_points(size) - size * size
    colors = list(stones.values())
    assert b.n_stones.tolist()[1:] == [colors.count(BLACK), colors.count(WHITE)]
    assert int(b.hash) == naive.hash(keys(size))
    assert (b.to_play, b.n_moves, b.n_passes) == (naive.to_play, naive.n_moves, naive.n_passes)

    # Legality, ko and eyes.
    legal_points = naive.legal_points()
    assert {i for i, answer in enumerate(legal) if answer} == {PASS} | {at[p] for p in legal_points}
    assert b.ko == (0 if naive.ko is None else at[naive.ko])
    own_eye = black_eye if b.to_play == BLACK else white_eye
    empties = naive.empties()
    for p in empties:
        i = at[p]
        assert black_eye[i] == naive.is_eye(p, BLACK), vertex(p)
        assert white_eye[i] == naive.is_eye(p, WHITE), vertex(p)
        assert sensible[i] == (legal[i] and not own_eye[i]), vertex(p)

    # Neighbours. The border counts as both colours.
    for p, i in at.items():
        near = [stones.get(q, EMPTY) for q in on_board(size, p)]
        border = 4 - len(near)
        blacks, whites = near.count(BLACK) + border, near.count(WHITE) + border
        assert nbr[i] == blacks + 16 * whites + 256 * near.count(EMPTY), vertex(p)

    # Chains: one name for all stones, a ring through them, pseudo-liberties.
    ring, n_chain, libs = b.next.tolist(), b.n_chain.tolist(), b.libs.tolist()
    for members, liberties in naive.chains():
        points = {at[p] for p in members}
        (name,) = {chain[i] for i in points}
        assert name in points
        assert n_chain[name] == len(points)
        seen, i = set(), name
        while i not in seen:
            seen.add(i)
            i = ring[i]
        assert seen == points
        assert i == name
        assert liberties
        pseudo = [at[q] for p in members for q in on_board(size, p) if q in liberties]
        assert libs[name] == len(pseudo) + (sum(pseudo) << 12) + (sum(i * i for i in pseudo) << 32)
        alone = len(liberties) == 1
        assert {atari[i] for i in points} == {alone}
        assert {last[i] for i in points} == {at[next(iter(liberties))] if alone else 0}

    # The list of empty points: each once, and each knows its place.
    listed = b.empties[: b.n_empty].tolist()
    assert len(listed) == len(empties)
    assert set(listed) == {at[p] for p in empties}
    assert b.empty_at[listed].tolist() == list(range(len(listed)))

    # What the last move changed, its stone first.
    changed = b.changed[: b.n_changed].tolist()
    moved = {i for p, i in at.items() if before.get(p) != stones.get(p)}
    assert len(changed) == len(moved)
    assert set(changed) == moved
    assert changed[:1] == ([] if move is None else [at[move]])

    assert area_score(b) == naive.area_score()
    return legal_points


def choose(
    naive: NaiveBoard, b: np.record, style: str, legal: set[Point], draw: random.Random, rng: np.ndarray
) -> Point | None:
    """A move of a random game: `random_move`'s, or any legal one, eyes and now and then a pass included."""
    if style == "wild":
        return None if not legal or draw.random() < 0.02 else draw.choice(sorted(legal))
    sensible = {p for p in legal if not naive.is_eye(p, naive.to_play)}
    move = from_core(naive.size, random_move(b, rng))
    assert move in sensible or (move is None and not sensible)
    return move


def random_game(size: int, style: str, seed: int, max_moves: int) -> None:
    """One random game on both boards, compared after every move."""
    b, naive = new_board(size), NaiveBoard(size)
    draw, rng = random.Random(seed), make_rng(seed)
    moves: list[Point | None] = []
    try:
        legal = compare(b, naive, {}, None)
        while len(moves) < max_moves and naive.n_passes < 2:
            move = choose(naive, b, style, legal, draw, rng)
            moves.append(move)
            before = naive.stones
            naive.play(move)
            play(b, to_core(size, move), zobrist(size))
            legal = compare(b, naive, before, move)
        for komi in (float(naive.area_score()), 7.5):
            assert outcome(b, komi) == (1 + np.sign(naive.area_score() - komi)) / 2
    except AssertionError as error:
        error.add_note(f"{size}x{size} {style}, seed {seed}: {' '.join(map(vertex, moves))}\n{naive}")
        raise


@pytest.mark.parametrize(
    ("size", "style", "games", "max_moves"),
    [
        pytest.param(5, "sensible", 200, 100, marks=pytest.mark.thorough),
        pytest.param(5, "wild", 60, 150, marks=pytest.mark.thorough),
        pytest.param(7, "sensible", 50, 200, marks=pytest.mark.thorough),
        pytest.param(7, "wild", 10, 300, marks=pytest.mark.thorough),
        pytest.param(9, "sensible", 15, 300, marks=pytest.mark.thorough),
        (5, "sensible", 50, 100),
        (5, "wild", 20, 150),
        (9, "sensible", 6, 300),
        (9, "wild", 6, 600),
        (14, "sensible", 1, 100),  # the largest board whose points fit a byte,
        (15, "sensible", 1, 100),  # and the smallest whose points do not
        (19, "sensible", 1, 450),
    ],
)
def test_random_games(size, style, games, max_moves):
    for seed in range(games):
        random_game(size, style, seed, max_moves)


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize(("size", "style", "games"), [(5, "sensible", 20), (5, "wild", 5), (7, "wild", 2)])
def test_some_random_games(size, style, games):
    for seed in range(1000, 1000 + games):
        random_game(size, style, seed, max_moves=150)


# ---------------------------------------------------------------------------------------------
# Cases worked out by hand. The oracle has to pass them too.
# ---------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("swapped", [False, True], ids=["", "colours swapped"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Case, swapped: bool):
    size, stones = parse(case.before)
    _, expected = parse(case.after or case.before)
    for symmetry in range(8):

        def turned(old: Stones, symmetry=symmetry) -> Stones:
            return {turn(size, symmetry, p): 3 - color if swapped else color for p, color in old.items()}

        def points(text: str, symmetry=symmetry) -> list[Point | None]:
            found = [from_vertex(name) for name in text.split()]
            return [p and turn(size, symmetry, p) for p in found]

        b, naive = on_both_boards(size, turned(stones), 3 - case.to_play if swapped else case.to_play)
        before, move = naive.stones, None
        for move in points(case.moves):
            before = naive.stones
            assert naive.is_legal(move) if move else True
            naive.play(move)
            play(b, to_core(size, move), zobrist(size))

        score = -case.score if swapped else case.score
        eyes = (case.white_eyes, case.black_eyes) if swapped else (case.black_eyes, case.white_eyes)
        assert str(naive) == diagram(size, turned(expected))
        assert [naive.ko] == (points(case.ko) or [None])
        assert set(naive.empties()) - naive.legal_points() == set(points(case.illegal))
        for color, text in zip((BLACK, WHITE), eyes, strict=True):
            assert {p for p in naive.points if naive.is_eye(p, color)} == set(points(text))
        assert naive.area_score() == score
        compare(b, naive, before, move)
        assert [outcome(b, score + komi) for komi in (-0.5, 0.0, 0.5)] == [1.0, 0.5, 0.0]


# ---------------------------------------------------------------------------------------------
# Properties
# ---------------------------------------------------------------------------------------------

# Each number picks one of the legal moves, in the order of the board.
CHOICES = st.lists(st.integers(0, 10_000), max_size=80)


def play_choices(size: int, choices: list[int]) -> tuple[np.record, NaiveBoard, list[Point | None]]:
    b, naive, moves = new_board(size), NaiveBoard(size), []
    for choice in choices:
        legal = [p for p in naive.points if is_legal(b, to_core(size, p))]
        moves.append(legal[choice % len(legal)] if legal else None)
        play(b, to_core(size, moves[-1]), zobrist(size))
        naive.play(moves[-1])
    return b, naive, moves


@settings(max_examples=150)
@given(CHOICES, st.randoms(use_true_random=False))
def test_a_position_is_the_same_in_whatever_order_its_stones_came(choices, order):
    b, naive, _ = play_choices(5, choices)
    stones = list(naive.stones.items())
    order.shuffle(stones)
    other, again = on_both_boards(5, dict(stones), naive.to_play)
    compare(other, again, again.stones, None)
    assert other.hash == b.hash
    assert (other.nbr[b.color != BORDER] == b.nbr[b.color != BORDER]).all()


@settings(max_examples=100)
@given(CHOICES, st.integers(0, 7), st.booleans())
def test_the_rules_know_no_direction_and_no_colour(choices, symmetry, swapped):
    size = 5
    b, _, moves = play_choices(size, choices)
    other = new_board(size)
    other.to_play = WHITE if swapped else BLACK
    for p in moves:
        play(other, to_core(size, p and turn(size, symmetry, p)), zobrist(size))
    answers, others = np.empty((2, 6, n_points(size)), np.int64)
    ask_all(b, answers)
    ask_all(other, others)
    if swapped:
        others[[BLACK_EYE, WHITE_EYE]] = others[[WHITE_EYE, BLACK_EYE]]
    rows = [LEGAL, SENSIBLE, BLACK_EYE, WHITE_EYE, ATARI]
    for p, i in places(size).items():
        j = to_core(size, turn(size, symmetry, p))
        assert other.color[j] == (3 - b.color[i] if swapped and b.color[i] else b.color[i])
        assert (other.ko == j) == (b.ko == i)
        assert others[rows, j].tolist() == answers[rows, i].tolist()
    assert area_score(other) == (-area_score(b) if swapped else area_score(b))


# ---------------------------------------------------------------------------------------------
# Random moves
# ---------------------------------------------------------------------------------------------

# After White B3, Black must not choose the ko at C3, the suicides F6 and G7, or the eyes A7 and G1.
LOPSIDED = """
    . X . . . O .
    X . . . O . O
    . . . . . O .
    . X O . . . .
    X . X O . . .
    . X O . . X X
    . . . . . X .
"""


@pytest.mark.parametrize("fresh", [True, False], ids=["from the same list", "from the list as it was left"])
def test_random_moves_are_uniform(fresh):
    size, stones = parse(LOPSIDED)
    b, naive = on_both_boards(size, stones, WHITE)
    play(b, to_core(size, from_vertex("B3")), zobrist(size))
    naive.play(from_vertex("B3"))
    excluded = {from_vertex(name) for name in ("A7", "G1", "C3", "F6", "G7")}
    expected = {to_core(size, p) for p in naive.empties() if p not in excluded}
    n = 200_000
    boards, counts = new_boards(2, size), np.zeros(n_points(size), np.int64)
    boards[0] = b
    count_random_moves(boards, n, fresh, make_rng(7), counts)
    assert set(np.flatnonzero(counts).tolist()) == expected
    mean, degrees = n / len(expected), len(expected) - 1
    chi2 = float(((counts[sorted(expected)] - mean) ** 2 / mean).sum())
    assert chi2 < degrees + 4 * (2 * degrees) ** 0.5  # mean and standard deviation of chi-square


# ---------------------------------------------------------------------------------------------
# The record
# ---------------------------------------------------------------------------------------------


@pytest.mark.interpreted
def test_a_copy_goes_its_own_way():
    boards = new_boards(3, 5)
    empty = boards[2].tobytes()
    rng, keys = make_rng(11), zobrist(5)
    for _ in range(12):
        play(boards[0], random_move(boards[0], rng), keys)
    source = boards[0].tobytes()
    boards[1] = boards[0]
    moves = []
    for _ in range(30):
        moves.append(random_move(boards[1], rng))
        play(boards[1], moves[-1], keys)
    assert boards[0].tobytes() == source
    assert boards[2].tobytes() == empty
    for move in moves:
        assert is_legal(boards[0], move)
        play(boards[0], move, keys)
    assert boards[0].hash == boards[1].hash


@pytest.mark.interpreted
@pytest.mark.parametrize("size", range(MIN_SIZE, MAX_SIZE + 1))
def test_empty_boards_of_every_size(size):
    b, at = new_board(size), places(size)
    assert b.to_play == BLACK
    assert b.stride == size + 1
    assert b.empties.tolist() == list(at.values())
    assert [(row, col) for (row, col), p in at.items() if p != (row + 1) * (size + 1) + col + 1] == []
    assert np.flatnonzero(b.color == EMPTY).tolist() == sorted(at.values())
    for p, i in at.items():
        border = 4 - len(on_board(size, p))
        assert b.nbr[i] == border * 17 + 256 * (4 - border)
    assert max(at.values()) + size + 2 < n_points(size)  # the diagonals of the last point are inside


@pytest.mark.parametrize("size", [-1, 0, 4, 20])
@pytest.mark.parametrize("make", [board_dtype, new_board, lambda size: new_boards(2, size)])
def test_sizes_that_are_none(make, size):
    with pytest.raises(RlgoError, match=f"board size {size}"):
        make(size)


def test_zobrist_keys_are_those_of_stored_hashes():
    keys = zobrist(9)
    assert int(np.bitwise_xor.reduce(keys, axis=None)) == 0x6A450E3A9811969
    assert len(np.unique(keys[BLACK:])) == keys[BLACK:].size
    assert not keys[EMPTY].any()


@pytest.mark.interpreted
def test_every_field_can_be_read_by_its_name():
    # numpy's own attributes win over fields: a field that shares a name with one reads as something else.
    b = new_board(5)
    for name in b.dtype.names:
        assert np.array_equal(getattr(b, name), b[name]), name
