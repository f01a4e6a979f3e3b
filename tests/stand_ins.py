"""Players and engines that stand in for real ones in tests."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.go.board import PASS
from rlgo.go.coords import from_row_col, from_vertex, to_row_col
from rlgo.go.game import Game
from rlgo.play.player import RESIGN, Player

TWO_STONES_SENT = "B1 A2 C2 B2 D1 E5 A1 C1"  # Black may not play B1: superko


def game_after(moves: str, size: int = 5, komi: float = 7.5) -> Game:
    game = Game(size, komi)
    for name in moves.split():
        game.play(from_vertex(name, size))
    return game


# ---------------------------------------------------------------------------------------------
# Players
# ---------------------------------------------------------------------------------------------


class FakeValues:
    """V = 0.5 after every move but those named; NaN where the board's rules forbid the move."""

    def __init__(self, size: int, **values: float) -> None:
        self.size = size
        self.values = values

    def afterstates(self, board: np.record) -> np.ndarray:
        values = np.full(self.size**2 + 1, 0.5)
        for name, value in self.values.items():
            row, col = to_row_col(from_vertex(name, self.size), self.size)
            values[row * self.size + col] = value
        values[:-1][board.color[[from_row_col(*divmod(i, self.size), self.size) for i in range(self.size**2)]] > 0] = (
            np.nan
        )
        return values


class Scripted(Player):
    """Plays what a function of the game says."""

    def __init__(self, name: str, choose: Callable[[Game], int]) -> None:
        self.name = name
        self.choose = choose
        self.games: list[list[int]] = []

    def genmove(self, game: Game) -> int:
        if not self.games[-1]:
            self.games[-1] = [p for _, p in game.moves]
        return self.choose(game)

    def new_game(self) -> None:
        self.games.append([])


def passer(name: str = "passer") -> Scripted:
    return Scripted(name, lambda _: PASS)


def resigner() -> Scripted:
    return Scripted("resigner", lambda _: RESIGN)


def first_legal() -> Scripted:
    return Scripted("first", lambda game: (game.sensible_moves() or [PASS])[0])


# ---------------------------------------------------------------------------------------------
# Engines
# ---------------------------------------------------------------------------------------------

# A GTP engine that knows no rules. It plays the vertices given to it in turn, then passes, and notes every
# command in a file. Of the vertices, a word in capitals is a way to fail.
ENGINE = textwrap.dedent("""
    import sys, time
    log, *answers = sys.argv[1:]
    for line in sys.stdin:
        command = line.split()
        print(line.strip(), file=open(log, "a"))
        answer = "= " + {"name": "Fake", "version": "0.1"}.get(command[0], "")
        if command[0] == "genmove":
            move = answers.pop(0) if answers else "pass"
            if move == "DIE":
                sys.exit("killed by a test")
            if move == "HANG":
                time.sleep(60)
            answer = {"FAIL": "? do not want", "RUBBISH": "hello", "NOVERTEX": "= Z99"}.get(move, "= " + move)
        if command[0] == "boardsize" and command[1] == "19":
            answer = "? unacceptable size"
        print(answer, end="\\n\\n", flush=True)
        if command[0] == "quit":
            break
""")


def write_engine(folder: Path) -> str:
    """Write `ENGINE` to a folder; returns its spec, to be followed by vertices. It notes commands in "log" there."""
    path = folder / "engine.py"
    path.write_text(ENGINE)
    return f"gtp:'{sys.executable}' -S -E '{path}' '{folder / 'log'}' "


# As little as an engine can be: it starts quickly, and plays the first empty point, by a fast look at its own board.
SMALL_ENGINE = textwrap.dedent("""
    import sys
    free = []
    for line in sys.stdin:
        command, *args = line.split() or [""]
        answer = {"name": "Small", "version": "1", "known_command": "false"}.get(command, "")
        if command == "clear_board":
            free = [a + str(b) for b in range(1, 6) for a in "ABCDE"]
        elif command == "play" and args[1].upper() in free:
            free.remove(args[1].upper())
        elif command == "genmove":
            answer = free.pop(0) if len(free) > 12 else "pass"
        print("= " + answer, end="\\n\\n", flush=True)
        if command == "quit":
            break
""")


# An engine that stops playing once a results file has four games, until another file is there.
GATED_ENGINE = textwrap.dedent("""
    import os, sys, time
    results, gate = sys.argv[1:]
    for line in sys.stdin:
        command = line.split()[0]
        if command == "genmove":
            while not os.path.exists(gate) and open(results, "rb").read().count(b"\\n") > 4:
                time.sleep(0.01)
        answer = {"name": "Gated", "version": "1", "known_command": "false", "genmove": "pass"}.get(command, "")
        print("= " + answer, end="\\n\\n", flush=True)
        if command == "quit":
            break
""")


def write_gated_engine(folder: Path, results: Path, gate: Path) -> str:
    """Write `GATED_ENGINE` to a folder; returns its spec."""
    path = folder / "gated.py"
    path.write_text(GATED_ENGINE)
    return f"gtp:'{sys.executable}' -S -E '{path}' '{results}' '{gate}'"


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def games_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a results file, without its header."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]
