"""A GTP controller for tests, and scripted players. Start reading at `Controller`."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

from rlgo.go.board import PASS
from rlgo.go.coords import from_vertex
from rlgo.go.draw import board_text
from rlgo.go.game import Game
from rlgo.play.gtp import GtpEngine
from rlgo.play.player import RESIGN, Candidate, Player


class Scripted(Player):
    """Answers what it was given, then passes; counts the games."""

    def __init__(self, answers: str = "", sizes: tuple[int, ...] | None = None) -> None:
        self.name = "scripted"
        self.sizes = sizes
        self.answers = answers.split()
        self.asked: list[int] = []
        self.games = 0
        self.maps: dict[str, np.ndarray] = {}

    def genmove(self, game: Game) -> int:
        self.asked.append(game.to_play)
        answer = self.answers.pop(0) if self.answers else "pass"
        if answer == "print":
            print("chatter")
            return PASS
        if answer == "crash":
            raise ZeroDivisionError("two\nlines")
        return RESIGN if answer == "resign" else from_vertex(answer, game.size)

    def new_game(self) -> None:
        self.games += 1

    def analyses(self) -> dict[str, np.ndarray]:
        return self.maps


class Taker(Player):
    """A judge that takes the stones at some vertices, for their opponent, and passes otherwise."""

    name = "taker"

    def __init__(self, *vertices: str) -> None:
        self.vertices = vertices

    def genmove(self, game: Game) -> int:
        lost = [from_vertex(vertex, game.size) for vertex in self.vertices]
        liberties = [q for p in lost if game.board.color[p] == 3 - game.to_play for q in game.liberties(p)]
        return next((q for q in liberties if game.is_legal(q)), PASS)


class Thinker(Player):
    """Has one candidate more after every step of its thinking; moves to the best, the first empty point."""

    sizes = None
    name = "thinker"

    def __init__(self) -> None:
        self.steps = 0
        self.pondered: list[tuple[int, int]] = []

    def new_game(self) -> None:
        self.steps = 0

    def genmove(self, game: Game) -> int:
        self.think(self.stop)
        return game.legal_moves()[0]

    def ponder(self, game: Game, stop: Any) -> None:
        self.pondered.append((len(game.moves), game.to_play))
        self.think(stop)

    def think(self, stop: Any) -> None:
        for _ in range(10_000):
            self.steps += 1
            if stop():
                break

    def candidates(self, game: Game) -> list[Candidate]:
        first, second = game.legal_moves()[:2]
        return [
            Candidate(first, 0.625, 40, [first, second], 0.25),
            Candidate(second, 0.5, 4, [second]),
            Candidate(PASS, 0.0, 1, [PASS]),
        ]


class Controller:
    """An engine, and what it answers: `ok` and `fail` return the text and check the form."""

    def __init__(self, player: Player | None = None, **kwargs: Any) -> None:
        self.engine = GtpEngine(player or Scripted(), **kwargs)

    def ok(self, line: str) -> str:
        return self._text(line, "=")

    def fail(self, line: str) -> str:
        before = board_text(self.game.board), self.game.moves.copy(), self.game.komi, self.game.to_play
        text = self._text(line, "?")
        after = board_text(self.game.board), self.game.moves, self.game.komi, self.game.to_play
        assert after == before
        assert text
        assert "\n" not in text
        return text

    def _text(self, line: str, mark: str) -> str:
        answer = self.engine.handle(line)
        assert answer is not None
        assert answer[0] == mark, f"{line}: {answer}"
        assert answer.endswith("\n\n")
        assert "\n\n" not in answer[:-2]
        return answer[1:-2].removeprefix(" ")

    @property
    def game(self) -> Game:
        return self.engine.session.game


CORE = """protocol_version name version known_command list_commands quit boardsize clear_board komi play
genmove undo set_free_handicap fixed_handicap place_free_handicap time_settings time_left final_score
showboard loadsgf reg_genmove"""


ARGUMENTS = """b w black white D4 a1 J9 K10 i5 pass resign 0 1 2 3 5 7 9 19 -1 6.5 nan 1e9 99999999999 # é
final_status_list gogui-analyze_commands rlgo-map value alive dead / . .. /dev/null ~"""

WORDS = [*CORE.split(), *ARGUMENTS.split(), "\t", "\x00", "\x1b[2J"]

ANSWER = re.compile(rb"[=?][0-9]*( [^\n]+)?\n([^\n]+\n)*\n")


def random_line(draw: random.Random) -> bytes:
    kind = draw.random()
    if kind < 0.2:
        return draw.randbytes(draw.randrange(30)).replace(b"\n", b"")
    words = draw.choices(WORDS, k=draw.randrange(6))
    if kind < 0.5:
        words.insert(0, str(draw.randrange(10**6)))
    if kind < 0.7:
        words.insert(0, f"play {draw.choice('bw')} {draw.choice('ABCDEFGHJ')}{draw.randrange(1, 10)}")
    line = bytearray(" ".join(words).encode())
    if line and kind > 0.9:
        line[draw.randrange(len(line))] = draw.choice([c for c in range(256) if c != 10])
    return bytes(line)
