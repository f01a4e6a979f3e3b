"""A real game: superko, undo, handicap, the result. Start reading at `CASES`."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from board_data import from_diagram
from oracles.naive import NaiveBoard, Point, from_core, to_core
from stand_ins import TWO_STONES_SENT

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, is_eye
from rlgo.go.coords import from_vertex, point_of, to_vertex
from rlgo.go.game import Game


def play(game: Game, moves: str) -> None:
    for name in moves.split():
        game.play(from_vertex(name, game.size))


def names(game: Game, points: list[int]) -> str:
    return " ".join(to_vertex(p, game.size) for p in points)


def state(game: Game) -> tuple:
    """All that a game knows. (Of the board, what does not depend on the order of its inner lists.)"""
    b = game.board
    scalars = (int(b.hash), int(b.to_play), int(b.ko), int(b.n_moves), int(b.n_passes))
    return (
        (game.size, game.komi, tuple(game.setup), tuple(game.moves), game.resigned),
        (*scalars, b.color.tolist(), b.n_stones.tolist()),
        (game.legal_moves(), game.sensible_moves(), game.score(), frozenset(game._seen)),
    )


def test_a_game_is_drawn_and_is_an_array() -> None:
    """White's D1 is at the right of the lowest row, which comes first in the array and last in the drawing."""
    game = Game(5, komi=0.5)
    play(game, "B2 D1")
    assert str(game).splitlines() == [
        "   A B C D E", " 5 . . . . . 5", " 4 . . . . . 4", " 3 . . . . . 3", " 2 . X . . . 2", " 1 . . .(O). 1",
        "   A B C D E", "5x5, komi 0.5, 2 moves, Black to play",
    ]  # fmt: skip
    stones = game.array()
    assert stones.dtype == np.int8
    assert stones.tolist() == [[0, 0, 0, WHITE, 0], [0, BLACK, 0, 0, 0], *[[0] * 5] * 3]
    stones[0, 0] = BLACK  # a copy
    assert game.is_legal((0, 0))


# ---------------------------------------------------------------------------------------------
# Superko
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """After `moves`, the colour to play may not play at `vertex`, for the reason `why`."""

    name: str
    before: str
    to_play: int
    moves: str
    vertex: str
    why: str | None


EMPTY_5X5 = ". . . . .\n" * 5
KO = """
    . . . . .
    . X O . .
    X . X O .
    . X O . .
    . . . . .
"""
# Black holds the middle ko, White the others. Each takes one in turn.
TRIPLE_KO = """
    . X O . . . . . .
    X O . O . . . . .
    . X O . . . . . .
    . X O . . . . . .
    X . X O . . . . .
    . X O . . . . . .
    . X O . . . . . .
    X O . O . . . . .
    . X O . . . . . .
"""
TRIPLE_KO_CYCLE = "C8 B5 C2 B8 C5"

CASES = [
    Case("the empty board", EMPTY_5X5, BLACK, "", "C3", None),
    Case("occupied by the enemy", EMPTY_5X5, BLACK, "C3", "C3", "occupied"),
    Case("occupied by an own stone", EMPTY_5X5, BLACK, "C3 pass", "C3", "occupied"),
    Case("simple ko", KO, WHITE, "B3", "C3", "ko"),
    Case("ko after a threat and its answer", KO, WHITE, "B3 E5 E1", "C3", None),
    Case("after two passes, simple ko is over, superko is not", KO, WHITE, "B3 pass pass", "C3", "superko"),
    Case("suicide", ". X . . .\nX . . . .\n" + ". . . . .\n" * 3, WHITE, "", "A5", "suicide"),
    Case("send two, return one", EMPTY_5X5, BLACK, TWO_STONES_SENT, "B1", "superko"),
    Case("send two, return one, on a changed board", EMPTY_5X5, BLACK, TWO_STONES_SENT + " E1 D5", "B1", None),
    Case("send two, return one, after passes", EMPTY_5X5, BLACK, TWO_STONES_SENT + " pass pass", "B1", "superko"),
    Case("triple ko: the cycle is open before its last move", TRIPLE_KO, BLACK, "C8 B5 C2 B8", "C5", None),
    Case("triple ko: the last move would close it", TRIPLE_KO, BLACK, TRIPLE_KO_CYCLE, "B2", "superko"),
    Case("triple ko: a threat opens it", TRIPLE_KO, BLACK, TRIPLE_KO_CYCLE + " J9 J1", "B2", None),
]


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_why_a_move_is_illegal(case: Case) -> None:
    game = from_diagram(case.before, case.to_play)
    play(game, case.moves)
    p = from_vertex(case.vertex, game.size)
    assert game.why_illegal(p) == case.why
    assert game.is_legal(p) == (case.why is None)
    assert (p in game.legal_moves()) == (case.why is None)
    before = state(game)
    if case.why is None:
        game.play(p)
        assert game.last_move == p
    else:
        with pytest.raises(RlgoError, match=f"{case.vertex}: {case.why}$"):
            game.play(p)
        assert state(game) == before


def test_outside() -> None:
    game = Game(9)
    for p in (-1, 1, 10, 20, 111, 10_000):
        assert game.why_illegal(p) == "outside"
        with pytest.raises(RlgoError, match="outside"):
            game.play(p)


def test_a_pass_is_always_legal() -> None:
    game = from_diagram(TRIPLE_KO)
    play(game, TRIPLE_KO_CYCLE)
    for color in (BLACK, WHITE):
        assert game.why_illegal(PASS, color) is None
    assert PASS not in game.legal_moves()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "games", "max_moves"), [(5, 60, 120), (9, 3, 250)])
def test_random_games_against_the_slow_oracle(size: int, games: int, max_moves: int) -> None:
    """Legality with superko kept as a set of whole positions; both colours at times play twice."""
    refused = 0
    for seed in range(games):
        draw, game, naive = random.Random(seed), Game(size), NaiveBoard(size)
        positions: set[frozenset[tuple[Point, int]]] = {frozenset()}
        while len(game.moves) < max_moves and not game.is_over():
            if draw.random() < 0.05:
                game.to_play = naive.to_play = 3 - naive.to_play
                naive.ko = None
            simple = naive.legal_points()
            legal = {p for p in simple if frozenset(naive.result_of(p)[0].items()) not in positions}
            refused += len(simple - legal)
            listed = game.legal_moves()
            assert listed == sorted(to_core(size, p) for p in legal)
            eyes = {p for p in listed if is_eye(game.board, p, game.to_play)}
            assert game.sensible_moves() == [p for p in listed if p not in eyes]
            for p in naive.points:
                assert game.is_legal(to_core(size, p)) == (p in legal)
            p = draw.choice(listed) if listed and draw.random() > 0.03 else PASS
            game.play(p)
            naive.play(from_core(size, p))
            positions.add(frozenset(naive.stones.items()))
            assert game.score() == naive.area_score() - 7.5
    assert refused or size > 5


# ---------------------------------------------------------------------------------------------
# Undo
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", ["", "handicap", "ko"])
def test_undo_is_the_game_without_its_last_move(setup: str) -> None:
    for seed in range(5):
        draw = random.Random(seed)
        game = from_diagram(KO, WHITE) if setup == "ko" else Game(5)
        if setup == "handicap":
            game.place_free_handicap(3)
        states = []
        for _ in range(40):
            states.append(state(game.copy()))
            legal = game.legal_moves()
            game.play(draw.choice(legal) if legal and draw.random() > 0.1 else PASS)
        while states:
            game.undo()
            assert state(game) == states.pop()
        with pytest.raises(RlgoError, match="no move to undo"):
            game.undo()


def test_undo_remembers_who_played() -> None:
    game = Game(9)
    for name, color in (("C3", BLACK), ("G7", BLACK), ("E5", BLACK), ("C7", WHITE)):
        game.play(from_vertex(name, 9), color)
    game.undo()
    assert game.to_play == WHITE
    assert int(game.board.n_stones[BLACK]) == 3
    game.undo()
    assert [color for color, _ in game.moves] == [BLACK, BLACK]


@pytest.mark.parametrize("copied", [Game.copy, copy.copy, copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_a_copy_goes_its_own_way(copied: Callable[[Game], Game]) -> None:
    game = from_diagram(TRIPLE_KO)
    play(game, TRIPLE_KO_CYCLE)
    before = state(game)
    other = copied(game)
    assert state(other) == before
    play(other, "J9 J1 B2")
    assert state(game) == before
    other.undo()
    assert other.is_legal(from_vertex("B2", 9))
    assert not game.is_legal(from_vertex("B2", 9))


# ---------------------------------------------------------------------------------------------
# Colours out of turn
# ---------------------------------------------------------------------------------------------


def test_a_colour_may_play_twice_and_a_ko_binds_only_the_other() -> None:
    game = from_diagram(KO, WHITE)
    play(game, "B3")
    ko = from_vertex("C3", 5)
    assert game.why_illegal(ko, BLACK) == "ko"
    assert game.why_illegal(ko, WHITE) is None
    game.play(ko, WHITE)
    assert game.to_play == BLACK
    assert game.moves[-1] == (WHITE, ko)


def test_asking_for_the_other_colour_changes_nothing() -> None:
    game = from_diagram(KO, WHITE)
    play(game, "B3")
    before = state(game)
    for p in range(len(game.board.color)):
        game.why_illegal(p, WHITE)
    assert state(game) == before


# ---------------------------------------------------------------------------------------------
# The end
# ---------------------------------------------------------------------------------------------

BLACK_OWNS_15 = """
    . X X O .
    X X X O O
    . X X O .
    X X X O O
    . X X O .
"""


@pytest.mark.parametrize(
    ("komi", "result", "z"),
    [(1.5, "B+3.5", 1), (5.5, "W+0.5", 0), (5, "0", 0.5), (-2.3, "B+7.3", 1), (100, "W+95", 0)],
)
def test_results(komi: float, result: str, z: float) -> None:
    game = from_diagram(BLACK_OWNS_15)
    game.komi = komi
    assert (game.result, game.outcome) == (result, z)
    assert game.score() == 5 - komi


def test_two_passes_end_a_game() -> None:
    game = Game(9)
    ends = []
    for name in ("C3", "pass", "G7", "pass", "pass"):
        play(game, name)
        ends.append(game.is_over())
    assert ends == [False] * 4 + [True]
    game.undo()
    assert not game.is_over()


@pytest.mark.parametrize(("color", "result", "z"), [(BLACK, "W+R", 0), (WHITE, "B+R", 1)])
def test_resigning(color: int, result: str, z: float) -> None:
    game = Game(9)
    play(game, "C3")
    game.resign(color)
    assert (game.is_over(), game.result, game.outcome) == (True, result, z)
    game.undo()
    assert (game.is_over(), game.resigned) == (False, EMPTY)


# ---------------------------------------------------------------------------------------------
# Stones set up at the start
# ---------------------------------------------------------------------------------------------


def test_fixed_handicap() -> None:
    game = Game(19)
    assert names(game, game.fixed_handicap(4)) == "D4 Q16 D16 Q4"
    assert game.to_play == WHITE
    assert game.moves == []
    assert int(game.board.n_moves) == 0
    start = state(game)
    play(game, "K10 C3")
    game.undo()
    game.undo()
    assert state(game) == start
    with pytest.raises(RlgoError, match="board not empty"):
        game.fixed_handicap(2)
    assert state(game) == start


@pytest.mark.parametrize(("size", "n"), [(9, 1), (9, 10), (8, 5), (7, 5), (6, 2), (5, 2), (9, -1)])
def test_impossible_fixed_handicaps(size: int, n: int) -> None:
    game = Game(size)
    with pytest.raises(RlgoError, match=f"fixed handicap {n} on {size}x{size}"):
        game.fixed_handicap(n)
    assert game.setup == []


@pytest.mark.parametrize(("size", "n", "placed"), [(9, 5, 5), (9, 50, 9), (8, 9, 4), (5, 3, 3), (6, 7, 4), (19, 9, 9)])
def test_free_handicap_placed_by_us(size: int, n: int, placed: int) -> None:
    game = Game(size)
    points = game.place_free_handicap(n)
    assert len(set(points)) == placed == int(game.board.n_stones[BLACK])
    assert game.to_play == WHITE


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        ("", "0 stones"),
        ("C3", "1 stones"),
        ("C3 C3", "C3: occupied"),
        ("C3 pass", "outside"),
        ("A2 B1 A1 B2", None),
        ("C3 G7", None),
    ],
)
def test_free_handicap_placed_by_others(vertices: str, message: str | None) -> None:
    game = Game(9)
    before = state(game)
    points = [from_vertex(name, 9) for name in vertices.split()]
    if message is None:
        assert game.set_free_handicap(points) == points
        assert set((game.board.color == BLACK).nonzero()[0].tolist()) == set(points)
        assert game.to_play == WHITE
    else:
        with pytest.raises(RlgoError, match=message):
            game.set_free_handicap(points)
        assert state(game) == before


def test_a_position_without_liberties_is_refused() -> None:
    dead_corner = [(BLACK, "A2"), (BLACK, "B1"), (WHITE, "A1")]
    for order in (dead_corner, dead_corner[::-1]):
        game = Game(9)
        with pytest.raises(RlgoError, match="setup"):
            game.set_up([(color, from_vertex(name, 9)) for color, name in order])
        assert game.setup == []
        assert not game.board.n_stones.any()


def test_a_position_set_up_may_not_be_repeated() -> None:
    """The position that a game starts from counts as an earlier one; those on the way there do not."""
    game = from_diagram(KO.replace("X . X", "X O ."), BLACK)
    play(game, "C3 pass pass")
    assert game.why_illegal(from_vertex("B3", 5), WHITE) == "superko"
    game = Game(5)
    game.set_up([(BLACK, from_vertex("C3", 5)), (WHITE, from_vertex("D4", 5))])
    assert len(game._seen) == 1


# ---------------------------------------------------------------------------------------------
# Points and colours as people write them
# ---------------------------------------------------------------------------------------------


def test_moves_by_vertex_by_row_and_column_and_by_point() -> None:
    games = [Game(9) for _ in range(4)]
    for game, moves in zip(
        games,
        (["E5", "pass", "a1"], [(4, 4), "PASS", (0, 0)], [[4, 4], 0, (0, np.int64(0))], [55, np.int32(0), 11]),
        strict=True,
    ):
        for p in moves:
            assert game.is_legal(p)
            game.play(p)
    assert all(game.moves == games[0].moves for game in games)
    assert games[0].moves == [(BLACK, from_vertex("E5", 9)), (WHITE, PASS), (BLACK, from_vertex("A1", 9))]
    game = Game(9)
    game.play("C3", "white")
    game.play("D3", "W")
    assert game.moves[0][0] == game.moves[1][0] == WHITE
    assert game.stones("white") == [33, 34]
    assert game.liberties("C3") == game.liberties((2, 3)) == [23, 24, 32, 35, 43, 44]
    assert game.captures("black") == 0
    game.resign("b")
    assert game.result == "W+R"
    game = Game(9)
    game.set_up([("black", "C3"), (WHITE, (4, 4))], "white")
    assert (game.setup, game.to_play) == ([(BLACK, 33), (WHITE, 55)], WHITE)
    assert Game(9).set_free_handicap(["C3", (6, 6)]) == [33, 77]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda game: game.play("Z9"), "vertex 'Z9': expected a letter"),
        (lambda game: game.play((9, 0)), "(row, col) = (9, 0): not on the 9x9 board"),
        (lambda game: game.play((1.0, 2)), "point (1.0, 2): expected a vertex"),
        (lambda game: game.play(None), "point None: expected a vertex"),
        (lambda game: game.play(999), "point 999: outside"),
        (lambda game: game.play("C3", 3), "colour 3: expected BLACK or WHITE"),
        (lambda game: game.is_legal("C3", 0), "colour 0: expected BLACK or WHITE"),
        (lambda game: game.resign(7), "colour 7: expected"),
        (lambda game: game.stones(9), "colour 9: expected BLACK or WHITE"),
        (lambda game: game.liberties("C3"), "point 33: expected a point with a stone"),
        (lambda game: game.liberties(999), "point 999: expected a point with a stone"),
        (lambda game: setattr(game, "to_play", "x"), "colour 'x': expected"),
        (lambda game: game.set_up("C3"), "stones = 'C3': expected pairs (colour, point)"),
        (lambda game: game.fixed_handicap("x"), "fixed handicap 'x' on 9x9: expected 2 to 9"),
        (lambda game: game.place_free_handicap(math.nan), "handicap = nan: expected an integer of at least 2"),
        (lambda _: Game(9, math.nan), "komi = nan: expected a number from -10,000 to 10,000"),
        (lambda _: Game("9"), "board size '9': expected 5 to 19"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(ask, message: str) -> None:
    game = Game(9)
    with pytest.raises(RlgoError) as error:
        ask(game)
    assert message in str(error.value)
    assert (game.moves, game.setup, game.to_play) == ([], [], BLACK)


def test_an_edit_that_leaves_a_chain_without_liberties_changes_nothing() -> None:
    game = Game(5)
    for move in ("A4", "E1", "B5"):
        game.play(move)
    with pytest.raises(RlgoError, match="setup White A5: suicide"):
        game.edit({point_of("A5", 5): WHITE})
    assert len(game.moves) == 3
    assert game.stones(WHITE) == [point_of("E1", 5)]


def test_who_is_to_play_after_all_moves_stays_so() -> None:
    game = Game(5)
    game.play("C3")
    game.to_play = BLACK
    assert (game.after(1).to_play, game.after(0).to_play) == (BLACK, BLACK)
    game.edit({point_of("C3", 5): EMPTY})
    game.to_play = WHITE
    assert game.after(0).to_play == WHITE


def test_undo_past_an_edit_keeps_what_belongs_to_the_whole_game() -> None:
    game = Game(5)
    game.play("C3")
    game.edit({point_of("C3", 5): EMPTY})
    game.komi, game.notes, game.allowed = 0.5, ("a note",), frozenset({point_of("A1", 5)})
    game.play("D4")
    game.undo(2)
    assert (game.moves, game.komi, game.notes, game.allowed) == ([], 0.5, ("a note",), {point_of("A1", 5)})


def test_many_edits_are_undone_one_after_another() -> None:
    game, n = Game(5), 1_200  # deeper than Python nests calls
    for _ in range(n):
        game.play("A1", BLACK, may_repeat=True)
        game.edit({point_of("A1", 5): EMPTY})
    assert game.n_played == n
    with pytest.raises(RlgoError, match="no move to undo"):
        game.undo(n + 1)
    game.undo(n - 1)
    assert (game.n_played, game.stones(BLACK)) == (1, [])  # the first edit has taken the stone off
    game.undo()
    assert game.n_played == 0


@pytest.mark.parametrize("n", [1.5, "2", 0])
def test_undo_of_anything_but_a_number_leaves_the_game(n: object) -> None:
    game = Game(5)
    game.play("C3")
    with pytest.raises(RlgoError, match=r"n = .*: expected an integer of at least 1"):
        game.undo(n)  # type: ignore[arg-type]
    assert len(game.moves) == 1
