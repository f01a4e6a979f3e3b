"""The board against programs by other people: GNU Go, OpenSpiel, sgfmill.

They share no code with the board or with `naive.py`. Each handles repetition differently: GNU Go forbids any
(positional superko), OpenSpiel ends the game as a draw, and the board knows simple ko only.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator

import numpy as np
import pytest
from oracles.naive import Point, from_vertex, to_core, vertex
from sgfmill.boards import Board as SgfmillBoard
from stand_ins import TWO_STONES_SENT

from rlgo.go.board import BLACK, EMPTY, WHITE, area_score, is_eye, is_legal, new_board, outcome, play
from rlgo.go.rules import zobrist

NAMES = {EMPTY: None, BLACK: "b", WHITE: "w"}

# Black sends two stones at A1 and B1, White takes them from C1. Simple ko lets Black take back at B1, which


class Game:
    """A random game on the board, with what its oracles want to know besides."""

    def __init__(self, size: int, seed: int, opening: str = "") -> None:
        self.size = size
        self.opening = [from_vertex(name) for name in opening.split()]
        self.board = new_board(size)
        self.points = [(row, col) for row in range(size) for col in range(size)]
        self.draw = random.Random(seed)
        self.seen = {0}  # the hashes of all positions so far, the empty board's included
        self.captures = {BLACK: 0, WHITE: 0}
        self.ko: Point | None = None

    @property
    def to_play(self) -> int:
        return int(self.board.to_play)

    def stones(self, color: int) -> set[Point]:
        colors = self.board.color.tolist()
        return {p for p in self.points if colors[to_core(self.size, p)] == color}

    def legal(self) -> set[Point]:
        """By simple ko."""
        return {p for p in self.points if is_legal(self.board, to_core(self.size, p))}

    def hash_after(self, p: Point) -> int:
        copy = self.board.copy()
        play(copy, to_core(self.size, p), zobrist(self.size))
        return int(copy.hash)

    def without_superko(self, legal: set[Point]) -> set[Point]:
        return {p for p in legal if self.hash_after(p) not in self.seen}

    def choose(self, legal: set[Point]) -> Point | None:
        """The opening's next move, then any legal one; one's own eye's only now and then."""
        if self.opening:
            return self.opening.pop(0)
        color, eyes_too = self.to_play, self.draw.random() < 0.1
        moves = [p for p in sorted(legal) if eyes_too or not is_eye(self.board, to_core(self.size, p), color)]
        return self.draw.choice(moves) if moves else None

    def play(self, p: Point | None) -> None:
        color = self.to_play
        play(self.board, to_core(self.size, p), zobrist(self.size))
        self.captures[color] += max(0, int(self.board.n_changed) - 1)
        self.seen.add(int(self.board.hash))

    def over(self) -> bool:
        return self.board.n_passes >= 2


# ---------------------------------------------------------------------------------------------
# GNU Go
# ---------------------------------------------------------------------------------------------


class GnuGo:
    """GNU Go over GTP, with positional superko."""

    def __init__(self, path: str) -> None:
        self.process = subprocess.Popen(
            [path, "--mode", "gtp", "--positional-superko"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def send(self, command: str) -> str:
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = ""
        while not answer.endswith("\n\n"):
            line = self.process.stdout.readline()
            assert line, f"GNU Go died of {command!r}"
            answer += line
        assert answer.startswith("="), f"{command}: {answer}"
        return answer[1:].strip()

    def points(self, command: str) -> set[Point | None]:
        return {from_vertex(name) for name in self.send(command).split()}

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def gnugo_gtp(gnugo: str) -> Iterator[GnuGo]:
    engine = GnuGo(gnugo)
    yield engine
    engine.close()


@pytest.mark.parametrize(("size", "games", "max_moves"), [(5, 20, 200), (9, 4, 200)])
def test_gnugo_agrees(gnugo_gtp: GnuGo, size: int, games: int, max_moves: int):
    excluded = set()
    for seed in range(games):
        game, color_name = Game(size, seed, "" if seed else TWO_STONES_SENT), {BLACK: "black", WHITE: "white"}
        gnugo_gtp.send(f"boardsize {size}")
        gnugo_gtp.send("clear_board")
        moves = []
        while not game.over() and len(moves) < max_moves:
            simple = game.legal()
            legal = game.without_superko(simple)
            excluded |= {vertex(p) for p in simple - legal}
            where = f"{size}x{size}, seed {seed}: {' '.join(moves)}"
            assert legal == gnugo_gtp.points(f"all_legal {color_name[game.to_play]}"), where
            for color, name in color_name.items():
                assert game.stones(color) == gnugo_gtp.points(f"list_stones {name}"), where
                assert game.captures[color] == int(gnugo_gtp.send(f"captures {name}")), where
            p = game.choose(legal)
            moves.append(vertex(p))
            gnugo_gtp.send(f"play {color_name[game.to_play]} {moves[-1]}")
            game.play(p)
    assert "B1" in excluded


# ---------------------------------------------------------------------------------------------
# OpenSpiel, and sgfmill next to it
# ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("size", "games"), [(5, 40), (9, 10), (19, 3)])
def test_open_spiel_and_sgfmill_agree(size: int, games: int):
    """Legality by simple ko, stones, the ko point, and the score where the game ends."""
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    komi = 7.5 if size > 5 else 3.5
    spiel = pyspiel.load_game("go", {"board_size": size, "komi": komi, "max_game_length": 1000})
    scored = repetitions = 0
    for seed in range(games):
        game = Game(size, seed, "" if seed else TWO_STONES_SENT + " B1")
        state, sgfmill = spiel.new_initial_state(), SgfmillBoard(size)
        ko, moves = None, []
        while not state.is_terminal():
            where = f"{size}x{size}, seed {seed}: {' '.join(moves)}"
            legal = game.legal()
            n_pass = size * size
            assert {row * size + col for row, col in legal} == set(state.legal_actions()) - {n_pass}, where
            assert game.to_play - 1 == state.current_player(), where
            assert spiel_stones(state, size) == colors(game), where
            assert sgfmill_stones(sgfmill, size) == colors(game), where
            assert game.board.ko == (to_core(size, ko) if ko else 0), where
            p = game.choose(legal)
            moves.append(vertex(p))
            state.apply_action(n_pass if p is None else p[0] * size + p[1])
            ko = None if p is None else sgfmill.play(*p, NAMES[game.to_play])
            seen = set(game.seen)
            game.play(p)
            if len(moves) % 25 == 0:
                assert area_score(game.board) == sgfmill.area_score(), where
        assert area_score(game.board) == sgfmill.area_score()
        if game.over():
            scored += 1
            z = outcome(game.board, komi)
            assert state.returns() == [2 * z - 1, 1 - 2 * z]
        else:
            repetitions += 1
            assert int(game.board.hash) in seen
            assert state.returns() == [0, 0]
    assert scored
    assert repetitions


def colors(game: Game) -> list[str | None]:
    color = game.board.color.tolist()
    return [NAMES[color[to_core(game.size, p)]] for p in game.points]


def sgfmill_stones(board: SgfmillBoard, size: int) -> list[str | None]:
    return [board.get(row, col) for row in range(size) for col in range(size)]


def spiel_stones(state, size: int) -> list[str | None]:
    """From the observation: four planes of black stones, white stones, empty points, colour to play."""
    planes = np.array(state.observation_tensor(0)).reshape(4, size * size)
    return ["b" if planes[0, i] else "w" if planes[1, i] else None for i in range(size * size)]
