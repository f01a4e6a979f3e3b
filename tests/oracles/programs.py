"""Go by other people, GNU Go and OpenSpiel, beside the slow board of the tests: three oracles of the rules.

They share no code with the board, or with each other. After each move of a random game: the stones, the legal points,
the colour to play, the captured stones; with GNU Go, superko too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from gtp_process import GtpProcess

from oracles.naive import NaiveBoard, from_core, to_core
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, is_eye, is_legal
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game

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
            expected = [2 * game.outcome - 1, 1 - 2 * game.outcome]
            return "the winner" if game.is_over() and self.state.returns() != expected else ""
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


def compare(oracle: Any, size: int, draw: random.Random, moves: int, opening: str = "") -> Iterator[tuple[str, str]]:
    """Play a random game after an opening; yield, at each position, what the oracle sees otherwise, and the moves."""
    game, first = Game(size), [from_vertex(vertex, size) for vertex in opening.split()]
    oracle.size = size
    oracle.begin(size)
    for _ in range(moves):
        differs = oracle.differs(game)
        yield differs, " ".join(to_vertex(p, size) for _, p in game.moves)
        if differs or game.is_over():
            return
        p = first.pop(0) if first else choose(game, draw)
        game.play(p)
        oracle.play(p)
