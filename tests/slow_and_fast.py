"""The same random game on the fast and the slow board."""

from __future__ import annotations

import random

from oracles.naive import NaiveBoard, Point, to_core

from rlgo.go.board import new_board, play
from rlgo.go.rules import zobrist

SIZE = 5
KEYS = zobrist(SIZE)


class Position:
    """The same random game on the fast board and on the slow one."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.fast, self.slow = new_board(SIZE), NaiveBoard(SIZE)
        self.moves: list[Point | None] = []

    def play(self, p: Point | None) -> None:
        play(self.fast, to_core(SIZE, p), KEYS)
        self.slow.play(p)
        self.moves.append(p)

    def play_at_random(self) -> bool:
        """Play a random move that fills no eye, now and then a pass; False where there is none."""
        moves = [p for p in sorted(self.slow.legal_points()) if not self.slow.is_eye(p, self.slow.to_play)]
        if not moves:
            return False
        self.play(None if self.draw.random() < 0.03 else self.draw.choice(moves))
        return True

    @property
    def last(self) -> Point | None:
        return self.moves[-1] if self.moves else None

    @property
    def last_but_one(self) -> Point | None:
        return self.moves[-2] if len(self.moves) > 1 else None
