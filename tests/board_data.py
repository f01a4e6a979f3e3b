"""Board cases as data; `test_board.py` runs each in all 8 orientations and with the colours swapped.

Diagrams: X Black, O White, `.` empty, the highest row first. A1 is the lower left corner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from oracles.naive import NaiveBoard, Point, Stones, to_core

from rlgo.go.board import BLACK, WHITE, new_board, play
from rlgo.go.game import Game
from rlgo.go.rules import zobrist


@dataclass(frozen=True)
class Case:
    """From a position, through some moves, to what must then be known about the board.

    The lists of vertices are complete: an empty point that is not in `illegal` is legal, one that is not in
    `black_eyes` is no eye of Black's.
    """

    name: str
    before: str
    after: str = ""  # empty: the same as `before`
    to_play: int = BLACK  # in `before`; afterwards it follows from the moves
    moves: str = ""
    ko: str = ""
    illegal: str = ""  # empty points where the colour then to play may not play, the ko point among them
    black_eyes: str = ""
    white_eyes: str = ""
    score: int = 0  # Black's area minus White's


def parse(diagram: str) -> tuple[int, Stones]:
    """The size of the board and the stones of a diagram."""
    rows = [line.split() for line in diagram.strip().splitlines()]
    size = len(rows)
    assert all(len(row) == size for row in rows)
    found = {}
    for i, row in enumerate(rows):
        for col, mark in enumerate(row):
            if mark != ".":
                found[size - 1 - i, col] = {"X": BLACK, "O": WHITE}[mark]
    return size, found


# Black lives in the left half, White in the right one, and one stone of each is lost in the other's.
TWO_HALVES = """
. X . X O . O . .
X . X X O O . O .
. X . X O . . . .
X X X X O O O O O
. . . X O . . . .
. O . X O . X . .
. . . X O . . . .
. . . X O . . . .
. . . X O . . . .
"""


def from_diagram(diagram: str, to_play: int = BLACK, komi: float = 7.5) -> Game:
    """A game that begins with the stones of a diagram."""
    return from_stones(*parse(diagram), to_play, komi)


def from_stones(size: int, stones: Stones, to_play: int = BLACK, komi: float = 7.5) -> Game:
    """A game that begins with these stones."""
    game = Game(size, komi)
    game.set_up([(color, to_core(size, p)) for p, color in stones.items()], to_play)
    return game


def on_both_boards(size: int, stones: Stones, to_play: int) -> tuple[np.record, NaiveBoard]:
    """A position on both boards. Stones that end up with liberties never lack one on the way there."""
    b, naive = new_board(size), NaiveBoard(size)
    for p, color in stones.items():
        b.to_play = naive.to_play = color
        play(b, to_core(size, p), zobrist(size))
        naive.play(p)
    b.to_play = naive.to_play = to_play
    b.n_changed = 0
    return b, naive


def turn(size: int, symmetry: int, p: Point) -> Point:
    """The point that p is mapped onto by one of the 8 symmetries of the board (0: none)."""
    row, col = p
    if symmetry & 1:
        row = size - 1 - row
    if symmetry & 2:
        col = size - 1 - col
    return (col, row) if symmetry & 4 else (row, col)


KO = """
    . . . . .
    . X O . .
    X . X O .
    . X O . .
    . . . . .
"""
KO_TAKEN = """
    . . . . .
    . X O . .
    X O . O .
    . X O . .
    . . . . .
"""
SNAPBACK = """
    . . . . .
    . . . . .
    . X X X .
    X O O O X
    X O . . X
"""
TWO_STONES_IN_THE_CORNER = """
    . . . . .
    . . . . .
    O . . . .
    X O . . .
    . X O . .
"""

CASES = [
    # --- ko ---
    Case("ko", KO, KO_TAKEN, WHITE, "B3", ko="C3", illegal="C3", score=-2),
    Case("ko is over after two passes", KO, KO_TAKEN, WHITE, "B3 pass pass", score=-2),
    Case("a pass ends the ko for the other side too", KO, KO_TAKEN, WHITE, "B3 pass", score=-2),
    Case(
        "ko retaken after a threat: the ko point moves",
        KO,
        """
        . . . . X
        . X O . .
        X . X O .
        . X O . .
        . . . . O
        """,
        WHITE,
        "B3 E5 E1 C3",
        ko="B3",
        illegal="B3",
        score=2,
    ),
    Case(
        "ko in the corner",
        """
        . . . . .
        . . . . .
        . . . . .
        O X . . .
        . O X . .
        """,
        """
        . . . . .
        . . . . .
        . . . . .
        O X . . .
        X . X . .
        """,
        BLACK,
        "A1",
        ko="B1",
        illegal="B1",
        score=4 - 1,
    ),
    # --- captures of one stone, or by a stone with one liberty, that are no ko ---
    Case(
        "no ko: two stones are captured apart",
        """
        . . . . .
        . O X O .
        O X . X O
        . O X O .
        . . . . .
        """,
        """
        . . . . .
        . O X O .
        O . O . O
        . O X O .
        . . . . .
        """,
        WHITE,
        "C3",
        illegal="B3 D3",
        score=2 - 9,
    ),
    Case(
        "no ko: the capturing stone keeps two liberties when it is taken back",
        """
        . . . . .
        O O X . .
        X X . X .
        O O X . .
        . . . . .
        """,
        """
        . . . . .
        O O X . .
        . X . X .
        O O X . .
        . . . . .
        """,
        WHITE,
        "C3 B3",
        illegal="C3",
        score=5 - 4,
    ),
    Case(
        "no ko: the capturing stone is part of a chain",
        """
        . . . . .
        . X O . .
        . . X O .
        X O O . .
        . X . . .
        """,
        """
        . . . . .
        . X O . .
        . O . O .
        X O O . .
        . X . . .
        """,
        WHITE,
        "B3",
        illegal="C3",
        white_eyes="C3",
        score=4 - 6,
    ),
    Case(
        "no ko: ponnuki, the capturing stone breathes elsewhere",
        """
        . . . . .
        . . X . .
        . X O X .
        . . . . .
        . . . . .
        """,
        """
        . . . . .
        . . X . .
        . X . X .
        . . X . .
        . . . . .
        """,
        BLACK,
        "C2",
        black_eyes="C3",
        illegal="C3",
        score=25,
    ),
    # --- snapback ---
    Case(
        "snapback: five stones are taken back",
        SNAPBACK,
        """
        . . . . .
        . . . . .
        . X X X .
        X . . . X
        X . X . X
        """,
        BLACK,
        "C1 D1 C1",
        score=25,
    ),
    # --- suicide ---
    Case(
        "suicide of one stone is illegal",
        """
        . O . . .
        O . O . .
        . O . . .
        . . . . O
        . . . O .
        """,
        to_play=BLACK,
        illegal="A5 B4 E1",
        white_eyes="A5 B4 E1",
        score=-25,
    ),
    Case(
        "suicide of three stones is illegal",
        TWO_STONES_IN_THE_CORNER,
        to_play=BLACK,
        illegal="A1",
        score=3 - 22,
    ),
    Case(
        "suicide for one side, capture for the other",
        TWO_STONES_IN_THE_CORNER,
        """
        . . . . .
        . . . . .
        O . . . .
        . O . . .
        O . O . .
        """,
        WHITE,
        "A1",
        illegal="B1 A2",
        white_eyes="B1 A2",
        score=-25,
    ),
    Case(
        "suicide that joins chains all round is illegal",
        """
        . O O O .
        O X X X O
        O X . X O
        O X X X O
        . O O O .
        """,
        to_play=BLACK,
        illegal="C3 A1 A5 E1 E5",
        black_eyes="C3",
        score=9 - 16,
    ),
    Case(
        "capture instead of suicide: the last point inside",
        """
        . O O O .
        O X X X O
        O X . X O
        O X X X O
        . O O O .
        """,
        """
        . O O O .
        O . . . O
        O . O . O
        O . . . O
        . O O O .
        """,
        WHITE,
        "C3",
        illegal="A1 A5 E1 E5",
        white_eyes="A1 A5 E1 E5",
        score=-25,
    ),
    Case(
        "filling one's own last liberty but one is legal",
        """
        . X O . .
        X X O . .
        O O O . .
        . . . . .
        . . . . .
        """,
        to_play=WHITE,
        black_eyes="A5",
        score=4 - 21,
    ),
    # --- eyes ---
    Case(
        "eyes: centre, no diagonal",
        """
        . . . . .
        . . X . .
        . X . X .
        . . X . .
        . . . . .
        """,
        to_play=BLACK,
        black_eyes="C3",
        score=25,
    ),
    Case(
        "eyes: centre, one enemy diagonal",
        """
        . . . . .
        . O X . .
        . X . X .
        . . X . .
        . . . . .
        """,
        to_play=WHITE,
        illegal="C3",
        black_eyes="C3",
        score=4 - 1 + 1,
    ),
    Case(
        "eyes: centre, two enemy diagonals on one side make it false",
        """
        . . . . .
        . O X O .
        . X . X .
        . . X . .
        . . . . .
        """,
        to_play=WHITE,
        illegal="C3",
        score=4 - 2 + 1,
    ),
    Case(
        "eyes: one neighbour missing, or the enemy's, is none",
        """
        . . X . X
        . X . O .
        . . X . X
        O X . . .
        . O X . .
        """,
        to_play=BLACK,
        score=7 - 4,
    ),
    Case(
        "eyes: edge and corner, no enemy diagonal",
        """
        . X . . .
        X . . . .
        . . . . .
        . . X . .
        . X . X .
        """,
        to_play=BLACK,
        black_eyes="A5 C1",
        score=25,
    ),
    Case(
        "eyes: edge and corner, one enemy diagonal makes them false",
        """
        . X . . .
        X O . . .
        . . . . .
        . O X . .
        . X . X .
        """,
        to_play=WHITE,
        illegal="A5 C1",
        score=5 - 2 + 2,
    ),
    Case(
        "eyes: one column in from the edge counts as the centre",
        """
        . . . . .
        . X . . .
        X . X . .
        O X . . .
        . . . . .
        """,
        to_play=BLACK,
        black_eyes="B3",
        score=4 - 1 + 1,
    ),
    # --- large captures, and mergers ---
    Case(
        "capture of all other stones on the board",
        """
        O O O O O
        O O O O O
        O O . O O
        O O O O O
        O O O O O
        """,
        """
        . . . . .
        . . . . .
        . . X . .
        . . . . .
        . . . . .
        """,
        BLACK,
        "C3",
        score=25,
    ),
    Case(
        "capture of four chains by one stone",
        """
        . . X X . . .
        . X O O X . .
        X X X O X X .
        X O O . O O X
        . X X O X X .
        . . X O X . .
        . . . X . . .
        """,
        """
        . . X X . . .
        . X . . X . .
        X X X . X X .
        X . . X . . X
        . X X . X X .
        . . X . X . .
        . . . X . . .
        """,
        BLACK,
        "D4",
        score=49,
    ),
    Case(
        "merger of four chains",
        """
        . . . . .
        . . X . .
        . X . X .
        . . X . .
        . . . . .
        """,
        """
        . . . . .
        . . X . .
        . X X X .
        . . X . .
        . . . . .
        """,
        BLACK,
        "C3",
        score=25,
    ),
    Case(
        "merger of a ring: one chain is met on two sides",
        """
        . . . . . . .
        . X X X X . .
        . X . . X . .
        . X . . . . .
        . X X X X . .
        . . O . . . .
        . . . . . . .
        """,
        """
        . . . . . . .
        . X X X X . .
        . X . . X . .
        . X . . X . .
        . X X X X . .
        . . O . . . .
        . . . . . . .
        """,
        BLACK,
        "E4",
        score=12 - 1 + 4,
    ),
    Case(
        "merger and capture at once",
        """
        . . . . .
        . X O X .
        X O . O X
        . X X X .
        . . O . .
        """,
        """
        . . . . .
        . X O X .
        X . X . X
        . X X X .
        . . O . .
        """,
        BLACK,
        "C3",
        illegal="B3 D3",
        black_eyes="B3 D3",
        score=8 - 2 + 2,
    ),
    # --- the score ---
    Case(
        "score: one stone owns the board",
        """
        . . . . .
        . . . . .
        . . O . .
        . . . . .
        . . . . .
        """,
        score=-25,
    ),
    Case(
        "score: a wall with an empty line between is neutral",
        """
        . X . O .
        . X . O .
        . X . O .
        . X . O .
        . X . O .
        """,
        score=0,
    ),
    Case(
        "score: single points only, one of them neutral",
        """
        . X O O .
        X X X O O
        O X O . O
        O O X O O
        . O . O .
        """,
        to_play=BLACK,
        illegal="A1 C1 E1 A5 E5",
        black_eyes="A5",
        white_eyes="A1 E1 E5",
        score=7 - 17,
    ),
    Case(
        "score of a seki: the two shared liberties are nobody's",
        """
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        X X X X X X X
        O O O O O O O
        . X X X X . O
        """,
        to_play=BLACK,
        score=39 - 8,
    ),
]

# White lives on the right, Black on the left; one White stone is lost.
SETTLED = """
. X . X O O . O .
X . X X O . O O O
. X X . X O O . O
X . X X X O . O .
. X . X O O O O O
X X X X X O . O .
. . . . X O O O O
. O . . X O . O .
. . . . X O O . O
"""
