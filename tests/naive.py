"""Slow oracles: what the fast kernels answer, worked out from the definitions in plain Python.

One section per subject. Nothing here is compiled, incremental or shared with the code under test, except
for the names of the colours. Each section says how its points are named.
"""

from __future__ import annotations

from functools import cache

from rlgo.board import BLACK, EMPTY, WHITE

# ---------------------------------------------------------------------------------------------
# The board: a dictionary of stones and flood fill. A point is (row, col), both from 0 at A1.
# ---------------------------------------------------------------------------------------------

Point = tuple[int, int]
Stones = dict[Point, int]

COLUMNS = "ABCDEFGHJKLMNOPQRST"


@cache
def on_board(size: int, p: Point, diagonal: bool = False) -> tuple[Point, ...]:
    """The neighbours of p that lie on the board: along the lines, or along the diagonals."""
    steps = ((-1, -1), (-1, 1), (1, -1), (1, 1)) if diagonal else ((-1, 0), (0, -1), (0, 1), (1, 0))
    near = ((p[0] + row, p[1] + col) for row, col in steps)
    return tuple(q for q in near if 0 <= q[0] < size and 0 <= q[1] < size)


@cache
def to_core(size: int, p: Point | None) -> int:
    """The index that `rlgo.board` gives to p (its header: "Layout"); None is a pass."""
    return 0 if p is None else (p[0] + 1) * (size + 1) + p[1] + 1


def from_core(size: int, index: int) -> Point | None:
    """The point of an index of `rlgo.board`; None for its pass."""
    row, col = divmod(int(index), size + 1)
    return (row - 1, col - 1) if index else None


def vertex(p: Point | None) -> str:
    """The GTP vertex of p; None is a pass."""
    return "pass" if p is None else f"{COLUMNS[p[1]]}{p[0] + 1}"


def from_vertex(text: str) -> Point | None:
    """The point of a GTP vertex; None for a pass."""
    return None if text.lower() == "pass" else (int(text[1:]) - 1, COLUMNS.index(text[0].upper()))


def flood(size: int, stones: Stones, start: Point) -> tuple[set[Point], set[Point]]:
    """The connected points of one colour (or empty) around `start`, and all points that border on them."""
    color = stones.get(start, EMPTY)
    region, border, todo = {start}, set(), [start]
    while todo:
        for q in on_board(size, todo.pop()):
            if stones.get(q, EMPTY) != color:
                border.add(q)
            elif q not in region:
                region.add(q)
                todo.append(q)
    return region, border


def diagram(size: int, stones: Stones) -> str:
    """The board as text, one line a row, the highest row first."""
    rows = range(size - 1, -1, -1)
    return "\n".join(" ".join(".XO"[stones.get((row, col), EMPTY)] for col in range(size)) for row in rows)


class NaiveBoard:
    """A board by the rules in the header of `rlgo.board`, without any of its tricks.

    `captures[color]` counts the stones that `color` has taken; `ko` is a point or None.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.stones: Stones = {}
        self.to_play = BLACK
        self.ko: Point | None = None
        self.n_moves = 0
        self.n_passes = 0
        self.captures = {BLACK: 0, WHITE: 0}
        self.points = [(row, col) for row in range(size) for col in range(size)]

    def empties(self) -> list[Point]:
        return [p for p in self.points if p not in self.stones]

    def chain(self, p: Point) -> tuple[set[Point], set[Point]]:
        """The stones and the liberties of the chain at p."""
        stones, border = flood(self.size, self.stones, p)
        return stones, {q for q in border if q not in self.stones}

    def chains(self) -> list[tuple[set[Point], set[Point]]]:
        """Stones and liberties of every chain."""
        found, seen = [], set()
        for p in self.stones:
            if p not in seen:
                found.append(self.chain(p))
                seen |= found[-1][0]
        return found

    def result_of(self, p: Point) -> tuple[Stones, set[Point]]:
        """All stones after a stone of the colour to play at p has captured, and the captured points.

        Whether the new stone breathes is not asked here.
        """
        stones = {**self.stones, p: self.to_play}
        dead: set[Point] = set()
        for q in on_board(self.size, p):
            if stones.get(q) == 3 - self.to_play and q not in dead:
                chain, border = flood(self.size, stones, q)
                if all(r in stones for r in border):
                    dead |= chain
        return {q: color for q, color in stones.items() if q not in dead}, dead

    def is_legal(self, p: Point) -> bool:
        if p in self.stones or p == self.ko:
            return False
        if any(q not in self.stones for q in on_board(self.size, p)):
            return True  # only a shortcut: the new stone keeps this liberty
        stones, _ = self.result_of(p)
        return any(q not in stones for q in flood(self.size, stones, p)[1])

    def legal_points(self) -> set[Point]:
        return {p for p in self.points if self.is_legal(p)}

    def play(self, p: Point | None) -> None:
        """Play a legal move, or pass (None)."""
        self.ko = None
        if p is not None:
            self.stones, dead = self.result_of(p)
            self.captures[self.to_play] += len(dead)
            stones, liberties = self.chain(p)
            assert liberties, "suicide"
            if len(dead) == len(stones) == len(liberties) == 1:
                (self.ko,) = dead
        self.n_passes = self.n_passes + 1 if p is None else 0
        self.n_moves += 1
        self.to_play = 3 - self.to_play

    def is_eye(self, p: Point, color: int) -> bool:
        """Single-point eye: own neighbours all round, and at most one enemy diagonal (at the edge, none)."""
        if p in self.stones or any(self.stones.get(q) != color for q in on_board(self.size, p)):
            return False
        diagonals = on_board(self.size, p, diagonal=True)
        enemies = sum(self.stones.get(q) == 3 - color for q in diagonals)
        return enemies <= (1 if len(diagonals) == 4 else 0)

    def area_score(self) -> int:
        """Black's area minus White's."""
        score = {BLACK: 0, WHITE: 0}
        for color in self.stones.values():
            score[color] += 1
        seen: set[Point] = set()
        for p in self.empties():
            if p not in seen:
                region, border = flood(self.size, self.stones, p)
                seen |= region
                colors = {self.stones[q] for q in border}
                if len(colors) == 1:
                    score[colors.pop()] += len(region)
        return score[BLACK] - score[WHITE]

    def hash(self, keys: list[list[int]]) -> int:
        """Zobrist hash, summed up from the stones (`keys`: `rlgo.board.zobrist(size).tolist()`)."""
        total = 0
        for p, color in self.stones.items():
            total ^= keys[color][to_core(self.size, p)]
        return total

    def __str__(self) -> str:
        return diagram(self.size, self.stones)
