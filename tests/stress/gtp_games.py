"""Games over GTP against GNU Go, on running clocks.

The referee is independent of rlgo's: its own client, clocks and board (`tests/oracles/naive.py`). It behaves like
GoGui's twogtp, which never sends the time left, or like servers, which send it before each move.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from harness import Outcome, StressTest, main
from gnugo_program import find_gnugo
from gtp_process import GtpProcess
from oracles.naive import NaiveBoard, Point, from_vertex, vertex

from rlgo.go.board import BLACK, WHITE
from train import console

SIZES = {9: 90, 13: 8, 19: 2}  # each with its weight
NAMES = {BLACK: "black", WHITE: "white"}
# The first takes what the clock gives it; the others hardly think, so that long clocks cost nothing.
SPECS = ("mc_rave,seconds=60", "mc_rave,sims=50", "greedy")
# GNU Go raises its level when it has time: it gets no clock, and stays where it is.
GNUGO = ("--mode", "gtp", "--level", "0", "--chinese-rules", "--positional-superko", "--capture-all-dead")


class Clock(NamedTuple):
    """The time of one side: main time, then periods of so many moves; `stones` = 0: absolute time."""

    main: float
    period: float = 0.0
    stones: int = 0
    periods: int = 0  # byo-yomi: how many; 0: Canadian, without end

    def command(self) -> str:
        main, period = f"{self.main:g}", f"{self.period:g}"
        if self.periods:
            return f"kgs-time_settings byoyomi {main} {period} {self.periods}"
        return f"time_settings {main} {period} {self.stones}"


SHORT = (Clock(1), Clock(2), Clock(3), Clock(1, 1, 1, 3), Clock(0, 1, 1, 5), Clock(1, 2, 10), Clock(0, 3, 15))
LONG = (Clock(10), Clock(30), Clock(60), Clock(30, 5, 1, 3), Clock(20, 10, 5))


@dataclass
class Hand:
    """A running clock."""

    clock: Clock
    left: float = 0.0
    stones: int = 0  # in this period; 0: main time
    periods: int = 0

    def __post_init__(self) -> None:
        self.left, self.periods = self.clock.main, self.clock.periods
        self._begin_overtime()

    def spend(self, seconds: float) -> bool:
        """Take the time of a move; False if the flag fell."""
        self.left -= seconds
        while self.left < 0:
            if not self.stones and self.clock.stones:
                self.left += self.clock.period
                self.stones = self.clock.stones
            elif self.periods > 1:
                self.left += self.clock.period
                self.periods -= 1
            else:
                return False
        if self.stones:
            self.stones -= 1
            if not self.stones:
                self.left, self.stones = self.clock.period, self.clock.stones
        return True

    def _begin_overtime(self) -> None:
        if not self.clock.main:
            self.left, self.stones = self.clock.period, self.clock.stones

    def told(self) -> str:
        """The arguments of ``time_left``."""
        return f"{max(0, int(self.left))} {self.periods if self.stones and self.periods else self.stones}"


class Table:
    """Two programs, the board between them, and our clock."""

    def __init__(self, ours: GtpProcess, gnugo: GtpProcess, color: int, size: int, clock: Clock, tells: bool) -> None:
        self.players = {color: ours, 3 - color: gnugo}
        self.color, self.size, self.tells = color, size, tells
        self.hand, self.board = Hand(clock), NaiveBoard(size)
        self.seen = {frozenset[tuple[Point, int]]()}
        self.moves: list[str] = []
        self.thought = self.cpu = 0.0  # of ours: seconds on the wall, and of the processor
        for player in (ours, gnugo):
            for line in (f"boardsize {size}", "clear_board", "komi 7.5"):
                player.ask(line)
        ours.ask(clock.command())

    def play(self) -> str:
        """Play to the end; how the promise was broken, or ""."""
        while self.board.n_passes < 2 and len(self.moves) < 3 * self.size * self.size:
            color = self.board.to_play
            answer, why = self.move(color)
            if why or answer.lower() == "resign":
                return why
            p = from_vertex(answer.upper()) if answer.lower() != "pass" else None
            if p is not None and (p in self.board.stones or not self.board.is_legal(p)):
                return f"illegal move {answer}" if color == self.color else ""
            self.moves.append(answer)
            self.board.play(p)
            position = frozenset(self.board.stones.items())
            if p is not None and position in self.seen:
                return f"{answer} repeats a position" if color == self.color else ""
            self.seen.add(position)
            self.players[3 - color].ask(f"play {NAMES[color]} {answer}")
        return self.differs()

    def move(self, color: int) -> tuple[str, str]:
        """The answer to genmove; if it is ours and too late, why."""
        player = self.players[color]
        if color != self.color:
            return player.ask(f"genmove {NAMES[color]}"), ""
        if self.tells:
            player.ask(f"time_left {NAMES[color]} {self.hand.told()}")
        cpu = player.cpu_seconds()
        answer = player.ask(f"genmove {NAMES[color]}")
        self.thought += player.seconds
        self.cpu += player.cpu_seconds() - cpu
        if self.hand.spend(player.seconds):
            return answer, ""
        return answer, f"out of time at move {len(self.moves)}: {player.seconds:.2f} s"

    def differs(self) -> str:
        """Where the engine's board, or its captures, are not the referee's."""
        for color, name in NAMES.items():
            ours = {vertex(p) for p, c in self.board.stones.items() if c == color}
            theirs = set(self.players[self.color].ask(f"list_stones {name}").split())
            if ours != theirs:
                return f"stones of {name}: {sorted(ours ^ theirs)}"
            if int(self.players[self.color].ask(f"captures {name}")) != self.board.captures[color]:
                return f"captures by {name}"
        return ""


def trials(draw: random.Random) -> Iterator[Outcome]:
    path = find_gnugo()
    if path is None:
        console.message("GNU Go (Debian package gnugo) is not installed")
        return
    gnugo = GtpProcess([path, *GNUGO])
    engines: dict[str, GtpProcess] = {}
    try:
        while True:
            spec = draw.choice(SPECS)
            if spec not in engines:
                command = [sys.executable, "-m", "rlgo", "gtp", "--all-alive", "--player", spec]
                engines[spec] = GtpProcess(command)
            size = draw.choices(list(SIZES), list(SIZES.values()))[0]
            clock = draw.choice(SHORT if spec == SPECS[0] or draw.random() < 0.5 else LONG)
            color, tells = draw.choice([BLACK, WHITE]), draw.random() < 0.5
            began = time.monotonic()
            try:
                table = Table(engines[spec], gnugo, color, size, clock, tells)
                why = table.play()
                outcome = f"{size}x{size}"
            except (EOFError, OSError, ValueError) as error:
                outcome, why, table = f"{size}x{size}", f"{spec}: {error}", None
                if gnugo.crashed():  # GNU Go 3.8 does, now and then
                    gnugo.close()
                    gnugo = GtpProcess([path, *GNUGO])
                    outcome, why = "stopped: GNU Go crashed", ""
                else:
                    engines.pop(spec).close()
            if table is not None:
                # An engine that was given less than half of a processor cannot keep a clock of a second.
                if why.startswith("out of time") and table.cpu < 0.5 * table.thought:
                    outcome, why = "stopped: the machine gave the engine less than half of a processor", ""
                why = (
                    why
                    and f"{spec}, {NAMES[color]}, {size}x{size}, {clock}, told {tells}: {why}: {' '.join(table.moves)}"
                )
            yield Outcome(outcome, why, figures={"longest game, s": round(time.monotonic() - began)})
    finally:
        for engine in (gnugo, *engines.values()):
            engine.close()


STRESS_TEST = StressTest(
    "gtp_games", "games over GTP against GNU Go, 1 s to 60 s per side, byo-yomi, an independent referee",
    "no illegal move, no loss on time, no disagreement on the board", unit="games", count=2_000, trials=trials,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
