"""The board against three rules oracles: a flood fill (`tests/oracles/naive.py`), OpenSpiel and GNU Go.

They share no code with the board, or with each other. After each move of a random game: the stones, the legal points,
the colour to play, the captured stones; with GNU Go, superko too.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Outcome, StressTest, main
from gnugo_program import find_gnugo
from gtp_process import GtpProcess
from oracles.naive import NaiveBoard, from_core, to_core

from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, is_eye, is_legal
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game

SIZES = {5: 3, 9: 4, 13: 1, 19: 1}  # each with its weight
NAMES = {BLACK: "black", WHITE: "white"}


class Flood:
    """The slow board of the tests."""

    kind = "flood fill"

    def begin(self, size: int) -> None:
        self.size, self.board = size, NaiveBoard(size)

    def play(self, p: int) -> None:
        self.board.play(None if p == PASS else from_core(self.size, p))

    def differs(self, game: Game) -> str:
        stones = {to_core(self.size, p): color for p, color in self.board.stones.items()}
        if stones != {p: color for color in NAMES for p in game.stones(color)}:
            return "stones"
        if self.board.captures != {color: game.captures(color) for color in NAMES}:
            return "captures"
        legal = {to_core(self.size, p) for p in self.board.legal_points()}
        return "" if legal == simple_ko(game) else "legal moves"


class OpenSpiel:
    """OpenSpiel's Go. Its games end at a repetition."""

    kind = "OpenSpiel"

    def __init__(self, module: Any) -> None:
        self._module = module
        self._games: dict[int, Any] = {}

    def begin(self, size: int) -> None:
        if size not in self._games:
            options = {"board_size": size, "komi": 7.5, "max_game_length": 1000}
            self._games[size] = self._module.load_game("go", options)
        self.size, self.state = size, self._games[size].new_initial_state()
        self.points = [to_core(size, (row, col)) for row in range(size) for col in range(size)]
        self.action = {p: i for i, p in enumerate(self.points)} | {PASS: size * size}

    def play(self, p: int) -> None:
        self.state.apply_action(self.action[p])

    def differs(self, game: Game) -> str:
        if self.state.is_terminal():
            return ""
        planes = np.array(self.state.observation_tensor(0)).reshape(4, -1)
        colors = game.board.color[self.points]
        if not (np.array_equal(planes[0] > 0, colors == BLACK) and np.array_equal(planes[1] > 0, colors == WHITE)):
            return "stones"
        if self.state.current_player() != game.to_play - 1:
            return "the colour to play"
        legal = {*self.state.legal_actions()} - {self.size * self.size}
        return "" if legal == {self.action[p] for p in simple_ko(game)} else "legal moves"


class GnuGo:
    """GNU Go, with positional superko."""

    kind = "GNU Go"

    def __init__(self, path: str) -> None:
        self.process = GtpProcess([path, "--mode", "gtp", "--positional-superko"])

    def begin(self, size: int) -> None:
        self.color = BLACK
        for line in (f"boardsize {size}", "clear_board"):
            self.process.ask(line)

    def play(self, p: int) -> None:
        self.process.ask(f"play {NAMES[self.color]} {to_vertex(p, self.size)}")
        self.color = 3 - self.color

    def differs(self, game: Game) -> str:
        self.size = game.size
        for color, name in NAMES.items():
            if self._points(f"list_stones {name}") != {to_vertex(p, game.size) for p in game.stones(color)}:
                return f"stones of {name}"
            if int(self.process.ask(f"captures {name}")) != game.captures(color):
                return f"captures by {name}"
        legal = {to_vertex(p, game.size) for p in game.legal_moves()}
        return "" if self._points(f"all_legal {NAMES[game.to_play]}") == legal else "legal moves"

    def _points(self, line: str) -> set[str]:
        return set(self.process.ask(line).split())


def simple_ko(game: Game) -> set[int]:
    """The points that are legal without superko."""
    return {p for p in np.flatnonzero(game.board.color == EMPTY).tolist() if is_legal(game.board, p)}


def choose(game: Game, draw: random.Random) -> int:
    """Any legal move, but a point in one's own eye or a pass only now and then: captures and ko fights go on."""
    legal = game.legal_moves()
    draw.shuffle(legal)
    careless = draw.random() < 0.1
    return next((p for p in legal if careless or not is_eye(game.board, p, game.to_play)), PASS)


def play(oracle: Any, draw: random.Random) -> Iterator[Outcome]:
    """Compare one random game, position by position."""
    size = draw.choices(list(SIZES), list(SIZES.values()))[0]
    game = Game(size)
    oracle.size = size
    oracle.begin(size)
    for n in range(draw.randrange(20, 3 * size * size)):
        differs = oracle.differs(game)
        record = " ".join(to_vertex(p, size) for _, p in game.moves)
        yield Outcome(oracle.kind, failure=differs and f"{oracle.kind}, {size}x{size}, move {n}: {differs}: {record}")
        if differs or game.is_over():
            return
        p = choose(game, draw)
        game.play(p)
        oracle.play(p)


def trials(draw: random.Random) -> Iterator[Outcome]:
    oracles: list[Any] = [Flood()]
    weights = [1]
    gnugo = find_gnugo()
    if gnugo is not None:
        oracles.append(GnuGo(gnugo))
        weights.append(2)
    try:
        import pyspiel

        oracles.append(OpenSpiel(pyspiel))
        weights.append(6)
    except ImportError:
        pass
    try:
        while True:
            yield from play(draw.choices(oracles, weights)[0], draw)
    finally:
        for oracle in oracles:
            if isinstance(oracle, GnuGo):
                oracle.process.close()


STRESS_TEST = StressTest(
    "rules_oracles", "random games, position by position, against a flood fill, OpenSpiel and GNU Go",
    "the same stones, captures and legal moves", unit="positions", count=1_000_000, trials=trials,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
