"""The game of a tab: its record, the position shown, its players and its clocks.

Start reading at `TabGame.put`. Nothing here searches or sends: `tab` does, after each change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.clock import TimeSettings
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.play.ending import Endings
from rlgo.play.player import RESIGN
from train.play.record import Record
from train.play.web.messages.positions import NAMES, describe_game
from train.play.web.messages.requests import HUMAN
from train.play.web.tab.times import HumanTimes


class TabGame:
    """A game that goes along the line of a record.

    Parameters
    ----------
    record : with the line to begin with; its last position is shown
    seats : by colour, "human" or a player's spec
    changing : called before the line changes
    lost_on_time : called with the colour of a human whose time is up, from a thread of its own
    end : decides the end of the game
    time_settings : of each side; None: no clock
    timed : ``engines`` or ``both``: whose clocks run
    paused : whether engines wait

    Attributes
    ----------
    game : the game along the record's line
    at : moves of the position shown
    is_helped : whether an engine has moved for a human: the result says nothing about a level of strength
    """

    def __init__(
        self,
        record: Record,
        seats: Mapping[int, str],
        changing: Callable[[], None],
        lost_on_time: Callable[[int], None],
        end: Endings,
        *,
        time_settings: TimeSettings | None = None,
        timed: str = "engines",
        paused: bool = False,
    ) -> None:
        self.record, self.game, self.at = record, record.game, len(record.game.moves)
        self.seats, self.paused, self.is_helped = dict(seats), paused, False
        self.time_settings, self._timed = time_settings, timed
        self._changing, self._end = changing, end
        self._times = HumanTimes(time_settings if timed == "both" else None, lost_on_time)

    def shown(self) -> Game:
        """Return a copy of the game up to the position shown."""
        return self.game.copy() if self.is_at_end() else self.game.after(self.at)

    def is_at_end(self) -> bool:
        """Return whether the last position is shown."""
        return self.at == len(self.game.moves)

    def check_goes_on(self) -> None:
        """Raise an RlgoError if the end of a finished game is shown."""
        if self.is_at_end() and self.game.is_over():
            raise RlgoError("the game is over")

    def is_engine_turn(self) -> bool:
        """Return whether an engine moves now by itself."""
        return self._goes_on() and self.seats[self.game.to_play] != HUMAN and self.is_at_end()

    def _goes_on(self) -> bool:
        return not self.paused and not self.game.is_over()

    # --- moves ---

    def play(self, vertex: str) -> None:
        """Play a human's move in the position shown. RlgoError if it is illegal."""
        game = self.shown()
        if game.resigned:
            raise RlgoError("the game is over")
        p = from_vertex(vertex, game.size)
        why = game.why_illegal(p)
        if why is not None:
            raise RlgoError(f"illegal move: {why}")
        self._times.end_turn(game.to_play)
        self.put(p)

    def put(self, p: int) -> None:
        """Play a legal move, or resign, in the position shown; the moves that followed stay as a variation.

        The next move of the line itself shows the next position, unless an engine is to answer it.
        """
        game = self.shown()
        color = game.to_play
        no_engine = self.paused or set(self.seats.values()) == {HUMAN}
        if no_engine and self.game.moves[self.at : self.at + 1] == [(color, p)]:
            self.at += 1
            return
        self._changing()
        if p == RESIGN:
            game.resign()
            if len(game.moves) < len(self.game.moves):
                self.record.go_along(game.moves)
        else:
            game.play(p)
            self.record.add(len(game.moves) - 1, color, p, game)
        self.game, self.at = game, len(game.moves)

    def undo(self, n: int | None) -> None:
        """Take n moves of the position shown back; None: up to the human's last move, or a resignation alone."""
        if n is None:
            shown = self.game.moves[: self.at][::-1]
            of_human = (i for i, (color, _) in enumerate(shown, 1) if self.seats[color] == HUMAN)
            n = 0 if self.game.resigned else next(of_human, 1)
        if n > self.at:
            raise RlgoError("cannot undo")
        self._changing()
        self._times.forgive()
        if not self.is_at_end():  # what follows stays as a variation
            self.record.go_along(self.game.moves[: self.at])
        self.game = self.game.after(self.at - n)
        self.record.take_back(n, self.game)
        self.at = len(self.game.moves)
        # Otherwise the engine would play the same move again.
        self.paused = self.paused or self.seats[self.game.to_play] != HUMAN

    def go_to(self, at: int) -> None:
        """Show the position after some moves."""
        if at > len(self.game.moves):
            raise RlgoError(f"at = {at}: expected at most {len(self.game.moves)}, the number of moves")
        self.at = at

    # --- the record ---

    def branch(self, index: int | None) -> None:
        """Go along one of the moves that follow the position shown; None: back to the main line."""
        moves = self.game.moves[: self.at]
        self._change_line(lambda: self.record.choose(self.at, index))
        if index is None:
            pairs = enumerate(zip(moves, self.game.moves, strict=False))
            self.at = next((i for i, (a, b) in pairs if a != b), min(len(moves), len(self.game.moves)))

    def show(self, index: int) -> None:
        """Show the position of one of the record's nodes."""
        self._change_line(lambda: self.record.show(index))

    def remove(self, index: int) -> None:
        """Remove one of the moves that follow the position shown, with all that follows it."""
        self._change_line(lambda: self.record.remove(self.at, index))

    def _change_line(self, change: Callable[[], int | None]) -> None:
        """Change the record's line, and go along it; engines wait if its game is another one.

        change : returns the moves of the position to show; None: as many as now, if there are
        """
        before = self.record.game
        self._changing()
        at = change()
        game = self.record.game
        if (game.setup, game.moves) != (before.setup, before.moves) or self.game.resigned:
            self.game, self.paused = game, True
        self.at = min(self.at if at is None else at, len(self.game.moves))

    def save(self) -> bytes:
        """Return the record; that of a game played here names its players and its result."""
        if self.record.is_own:
            self.record.set_info(PB=self.seats[BLACK], PW=self.seats[WHITE], RE=self.result())
        return self.record.write()

    # --- clocks and the end ---

    def run_clocks(self) -> None:
        """Let the clock of the human to play run, and no other."""
        is_turn = self._goes_on() and self.seats[self.game.to_play] == HUMAN
        self._times.go_on(self.game.to_play if is_turn else None)

    def stop_clocks(self) -> None:
        """Stop all clocks."""
        self._times.stop()

    def end_on_time(self, color: int) -> bool:
        """End the game for a human whose time is up; returns False if that is no longer so."""
        if not self._times.has_lost(color) or self.game.is_over():
            return False
        self._changing()
        self.game = self.game.copy()
        self.game.resign(color)
        return True

    def result(self) -> str | None:
        """Return the result of the game, without its dead stones; None before its end."""
        game = self.game
        if not game.is_over():
            return None
        if game.resigned:
            return f"{game.result[:2]}T" if self._times.has_lost(game.resigned) else game.result
        return self._end(game).result

    # --- the message ---

    def describe(self, engine_left: Callable[[int], tuple[float, int] | None]) -> dict[str, Any]:
        """Return the ``game`` message.

        engine_left : returns what an engine of a colour has left on its clock, as `Clock.left`; None before its first
            move
        """
        game, record = self.game, self.record
        return {
            "type": "game",
            **describe_game(game, self.shown()),
            "result": self.result(),
            "seats": {NAMES[color]: spec for color, spec in self.seats.items()},
            "clocks": {NAMES[color]: self._describe_clock(color, engine_left) for color in (BLACK, WHITE)},
            "time": None if self.time_settings is None else str(self.time_settings),
            "timed": self._timed,
            "paused": self.paused,
            "is_helped": self.is_helped,
            "is_own": record.is_own,
            "lost": record.lost,
            "info": {} if record.is_own else record.info(),
            "comment": record.comment(self.at),
            "marks": record.marks(self.at),
            "variations": [
                {
                    "move": None if v.move is None else [NAMES[v.move[0]], to_vertex(v.move[1], game.size)],
                    "name": v.name,
                    "moves": v.moves,
                    "is_current": v.is_current,
                }
                for v in record.variations(self.at)
            ],
            "is_main": record.is_main(),
        }

    def _describe_clock(
        self, color: int, engine_left: Callable[[int], tuple[float, int] | None]
    ) -> dict[str, Any] | None:
        settings, is_human = self.time_settings, self.seats[color] == HUMAN
        if settings is None or (is_human and self._timed == "engines"):
            return None
        left = self._times.left(color) if is_human else engine_left(color)
        if is_human and left is None:  # a loss on time was taken back
            return None
        seconds, stones = left or (settings.main or settings.period, 0)
        return {
            "seconds": round(seconds, 1),
            "stones": stones,
            "period": settings.period,
            "periods": settings.periods,
            "period_stones": settings.stones,
            "runs": is_human and self._times.runs_for == color,
        }
