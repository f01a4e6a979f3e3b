"""A slow oracle of planes: each one from its definition, on `naive.NaiveBoard`. A point is (row, col)."""

from __future__ import annotations

import copy

import numpy as np

from oracles.moves import caught, escapes
from oracles.naive import NaiveBoard, Point
from rlgo.go.board import BLACK

HISTORY = 8
Move = tuple[int, Point | None]  # a colour, and a point or a pass


class NaivePosition:
    """A position with everything that went before: boards and moves, the latest last."""

    def __init__(self, size: int, moves: list[Move], komi: float) -> None:
        self.size, self.komi = size, komi
        board = NaiveBoard(size)
        self.boards, self.moves = [copy.copy(board)], [p for _, p in moves]
        for color, p in moves:
            turn(board, color)
            board.play(p)
            self.boards.append(copy.copy(board))
        self.board = board

    def repeats(self, p: Point) -> bool:
        """Whether a stone at p would make an earlier position again."""
        stones, _ = self.board.result_of(p)
        return any(stones == earlier.stones for earlier in self.boards)

    def may_play(self, p: Point) -> bool:
        return self.board.is_legal(p) and not self.repeats(p)

    def forbidden_by_ko(self, p: Point) -> bool:
        """Whether p is empty, and no suicide, and still may not be played."""
        if p in self.board.stones:
            return False
        free = copy.copy(self.board)
        free.ko = None
        return free.is_legal(p) and not self.may_play(p)

    def plane(self, points: set[Point]) -> np.ndarray:
        plane = np.zeros((self.size, self.size))
        for p in points:
            plane[p] = 1
        return plane

    def stones(self, ago: int, color: int) -> np.ndarray:
        if ago >= len(self.boards):
            return self.plane(set())
        stones = self.boards[-1 - ago].stones
        return self.plane({p for p, c in stones.items() if c == color})

    def planes(self, kind: str) -> list[np.ndarray]:
        """All planes of a kind. `moves.Unread` for a ladder that is too long to read."""
        board, own = self.board, self.board.to_play
        whole = np.ones((self.size, self.size))
        last = self.moves[::-1][:HISTORY]
        if kind == "stones":
            return [self.stones(0, own), self.stones(0, 3 - own)]
        if kind == "history":
            return [self.stones(ago, color) for ago in range(1, HISTORY) for color in (own, 3 - own)]
        if kind == "color":
            return [whole * (own == BLACK)]
        if kind == "ones":
            return [whole]
        if kind == "liberties":
            chains = board.chains()
            at_least = [{p for stones, free in chains if len(free) >= n for p in stones} for n in (1, 2, 3, 4)]
            return [self.plane(points - more) for points, more in zip(at_least, [*at_least[1:], set()], strict=True)]
        if kind == "ko":
            return [self.plane({p for p in board.points if self.forbidden_by_ko(p)})]
        if kind == "legal":
            return [self.plane({p for p in board.points if self.may_play(p)})]
        if kind == "last_moves":
            return [self.plane({p} if p is not None else set()) for p in [*last, *[None] * (HISTORY - len(last))]]
        if kind == "recent_moves":
            return self.planes("last_moves")[:2]
        if kind == "ladders":
            return self.ladders()
        assert kind == "komi"
        return [whole * (self.komi if own != BLACK else -self.komi) / 20]

    def ladders(self) -> list[np.ndarray]:
        catching, saving = set(), set()
        for stones, free in self.board.chains():
            p = min(stones)
            if self.board.stones[p] != self.board.to_play:
                if len(free) == 2:
                    catching |= {q for q in free if self.may_play(q) and caught(self.board, p, q)}
            elif len(free) == 1:
                saving |= {q for q in self.board.points if self.may_play(q) and escapes(self.board, p, q)}
        return [self.plane(catching), self.plane(saving)]


def turn(board: NaiveBoard, color: int) -> None:
    if board.to_play != color:
        board.to_play, board.ko = color, None
