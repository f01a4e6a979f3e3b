"""A browser tab: a game, its players, and the searches that run for it.

Start reading at `Tab.handle`, which answers one request. It runs in the tab's own thread; searches have their own, and
report back through `_searched`. One lock guards the game.
"""

from __future__ import annotations

import codecs
import json
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.resources import version
from rlgo.base.settings import MAX_SIZE, MIN_SIZE
from rlgo.go.board import BLACK, WHITE
from rlgo.go.clock import TimeSettings, parse_time
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.play.ownership import Ownership, areas
from rlgo.play.player import RESIGN, Player
from train.play.record import Record
from train.play.web import requests as ask
from train.play.web.files import Records
from train.play.web.options import Options
from train.play.web.positions import COLORS, NAMES, describe_game, game_of, vertices_of
from train.play.web.requests import HUMAN
from train.play.web.review import Review, describe_review
from train.play.web.searcher import DOINGS, Commons, Job, Listener, Searcher
from train.play.web.times import HumanTimes
from train.play.web.watch import describe, describe_curve

Answer = dict[str, Any]
_OWNERSHIP_LINES = 8  # of a running search: after these, points are played out
_PACE_SECONDS = 0.2  # between two moves of engines that play each other, so that you can follow


class Tab:
    """One browser tab.

    Parameters
    ----------
    options : those of the server
    commons : shared by all tabs
    records : the game records that it may use
    send : called with a message as JSON, and a key: a later message of the same key may replace it. From any thread
    has_runs : whether the server has training runs to show
    """

    def __init__(
        self,
        options: Options,
        commons: Commons,
        records: Records,
        send: Callable[[str, str | None], None],
        *,
        has_runs: bool = False,
    ) -> None:
        self._options, self._commons, self._records, self._send = options, commons, records, send
        self._has_runs = has_runs
        self._lock = threading.RLock()
        self._searchers: dict[str, Searcher] = {}
        self._doing: dict[str, tuple[str, str]] = {}  # role and state of each of them
        self._times = HumanTimes(None, self._lose_on_time)
        self._shows_ownership = False
        self._review: Review | None = None
        self._searches = self._games = 0  # how many there have been
        self._moved = 0.0  # when the game last changed
        self._handlers: dict[type, Callable[[Any], Answer | None]] = {
            ask.New: self._new,
            ask.Seats: self._seat,
            ask.Play: self._play,
            ask.Genmove: self._genmove,
            ask.Pause: lambda _: self._pause(True),
            ask.Resume: lambda _: self._pause(False),
            ask.Undo: self._undo,
            ask.Goto: self._goto,
            ask.Resign: self._resign,
            ask.Score: self._score,
            ask.Load: self._load,
            ask.Save: self._save,
            ask.Branch: self._branch,
            ask.Remove: self._remove,
            ask.Name: self._name,
            ask.Comment: self._comment,
            ask.Review: self._begin_review,
            ask.ShowOwnership: self._show_ownership,
            ask.Search: self._search,
            ask.Stop: self._stop,
            ask.Frames: self._frames,
            ask.Frame: self._frame,
        }

    def open(self) -> None:
        """Greet the tab, begin its first game, and make the engine in advance."""
        options, limits = self._options, self._options.limits
        self._komi = options.komi  # of records that state none
        hello = {
            "type": "hello",
            "version": version(),
            "size": options.size,
            "komi": options.komi,
            "player": options.player,
            "sizes": [MIN_SIZE, MAX_SIZE],
            "limits": limits._asdict(),
            "has_runs": self._has_runs,
            "has_sgf": bool(self._records.folders),
            "tensorboard": options.tensorboard,
        }
        self._send(json.dumps(hello), None)
        self._send(json.dumps({"type": "state", "role": "game", "doing": "preparing"}), None)  # the rules may compile
        with self._lock:
            self._begin(Record.of(Game(options.size, options.komi), is_own=True), {BLACK: HUMAN, WHITE: options.player})
            self._searcher("white").prepare(self._job(options.player, self.game))

    def handle(self, request: ask.AnyRequest) -> Answer:
        """Answer a request. RlgoError if that is impossible; then nothing has changed."""
        with self._lock:
            answer = self._handlers[type(request)](request) or {"type": "ok"}
        return {"type": answer["type"], "id": request.id, **answer}

    def close(self) -> None:
        """End all searches."""
        with self._lock:
            self._times.stop()
            for searcher in self._searchers.values():
                searcher.close()
            self._searchers = {}

    # --- the game ---

    def _begin(
        self,
        record: Record,
        seats: dict[int, str],
        time_settings: TimeSettings | None = None,
        paused: bool = False,
        timed: str = "engines",
    ) -> None:
        self._end_review()
        self.record, self.game, self.at = record, record.game, len(record.game.moves)
        self.seats, self.paused = seats, paused
        self._time_settings, self._timed = time_settings, timed
        self._times.stop()
        self._times = HumanTimes(time_settings if timed == "both" else None, self._lose_on_time)
        self._games += 1
        self._edited()

    def _new(self, request: ask.New) -> None:
        black, white = request.black, request.white or self._options.player
        settings = None if request.time is None else parse_time(request.time)
        game = game_of(request, request.handicap)
        self._check_seats(game, black, white)
        self._komi = game.komi
        if request.sgf is None:
            record = Record.of(game, is_own=True)
        else:
            record = Record.read(_as_utf8(request.sgf), game.komi)
            record.go_along(game.moves)
            names_players = bool(record.info().keys() & {"PB", "PW"})
            record.is_own = not names_players if request.is_own is None else request.is_own
        self._begin(record, {BLACK: black, WHITE: white}, settings, request.paused, request.timed)

    def _seat(self, request: ask.Seats) -> None:
        given = {BLACK: request.black, WHITE: request.white}
        seats = {color: spec or self.seats[color] for color, spec in given.items()}
        self._check_seats(self.game, *seats.values())
        self.seats = seats
        self._changed()

    def _check_seats(self, game: Game, *specs: str) -> None:
        for spec in specs:
            if spec != HUMAN:
                self._commons.specs.check(spec, game.size)

    def _play(self, request: ask.Play) -> None:
        game = self._shown()
        if game.resigned:
            raise RlgoError("the game is over")
        p = from_vertex(request.move, game.size)
        why = game.why_illegal(p)
        if why is not None:
            raise RlgoError(f"illegal move: {why}")
        self._times.end_turn(game.to_play)
        self._put(game, p)

    def _put(self, game: Game, p: int) -> None:
        """Play a legal move, or resign, in the position of `game`, from which the game then goes on.

        The moves that followed stay in the record, as a variation.
        """
        self._end_review()
        color = game.to_play
        if p == RESIGN:
            game.resign()
            if len(game.moves) < len(self.game.moves):
                self.record.go_along(game.moves)
        else:
            game.play(p)
            self.record.add(len(game.moves) - 1, color, p, game)
        self.game, self.at = game, len(game.moves)
        self._edited()

    def _genmove(self, _: ask.Genmove) -> None:
        if self._is_over():
            raise RlgoError("the game is over")
        self._start_move()

    def _pause(self, paused: bool) -> None:
        self.paused = paused
        self._changed()

    def _undo(self, request: ask.Undo) -> None:
        n = request.moves
        if n is None:
            shown = self.game.moves[: self.at][::-1]
            of_human = (i for i, (color, _) in enumerate(shown, 1) if self.seats[color] == HUMAN)
            n = 0 if self.game.resigned else next(of_human, 1)
        if n > self.at:
            raise RlgoError("cannot undo")
        self._end_review()
        self._times.forgive()
        if self.at < len(self.game.moves):  # what follows stays as a variation
            self.record.go_along(self.game.moves[: self.at])
        self.game = self.game.after(self.at - n)
        self.record.take_back(n, self.game)
        self.at = len(self.game.moves)
        # Otherwise the engine would play the same move again.
        self.paused = self.paused or self.seats[self.game.to_play] != HUMAN
        self._edited()

    def _goto(self, request: ask.Goto) -> None:
        if request.at > len(self.game.moves):
            raise RlgoError(f"at = {request.at}: expected at most {len(self.game.moves)}, the number of moves")
        self.at = request.at
        self._changed()

    def _resign(self, _: ask.Resign) -> None:
        if self._is_over():
            raise RlgoError("the game is over")
        self._put(self._shown(), RESIGN)

    def _shown(self) -> Game:
        """Return a copy of the game up to the position shown."""
        return self.game.copy() if self.at == len(self.game.moves) else self.game.after(self.at)

    def _is_over(self) -> bool:
        return self.at == len(self.game.moves) and self.game.is_over()

    def _edited(self) -> None:
        """Send the record and what is known of its positions, and what `_changed` does."""
        self._changed()
        self._send(json.dumps({"type": "record", "sgf": self.record.write().decode()}), "record")
        self._tell_review()

    def _changed(self) -> None:
        """Send the current game to the tab, and let the next engine move."""
        for name in COLORS:
            if name in self._searchers:
                self._searchers[name].cancel()
        self._moved = time.monotonic()
        is_turn = self.seats[self.game.to_play] == HUMAN
        self._times.go_on(self.game.to_play if is_turn and not self.paused and not self.game.is_over() else None)
        self._tell()
        if self._shows_ownership:
            self._send_ownership(shown := self._shown(), Ownership.of(shown).map)
        may_move = not self.paused and self.seats[self.game.to_play] != HUMAN and not self.game.is_over()
        is_short = len(self.game.moves) < self._options.limits.moves_factor * self.game.size**2
        if may_move and is_short and self.at == len(self.game.moves):
            self._start_move()

    def _tell(self) -> None:
        game = self.game
        message = {
            "type": "game",
            **describe_game(game, self._shown()),
            "result": self._result(),
            "seats": {NAMES[color]: spec for color, spec in self.seats.items()},
            "clocks": {NAMES[color]: self._clock(color) for color in (BLACK, WHITE)},
            "time": None if self._time_settings is None else str(self._time_settings),
            "timed": self._timed,
            "paused": self.paused,
            "is_own": self.record.is_own,
            "info": {} if self.record.is_own else self.record.info(),
            "comment": self.record.comment(self.at),
            "variations": [
                {
                    "move": None if v.move is None else [NAMES[v.move[0]], to_vertex(v.move[1], game.size)],
                    "name": v.name,
                    "moves": v.moves,
                    "is_current": v.is_current,
                }
                for v in self.record.variations(self.at)
            ],
            "branches": self.record.branches(),
            "is_main": self.record.is_main(),
        }
        self._send(json.dumps(message), None)

    def _result(self) -> str | None:
        """Return the result of the game, without its dead stones; None before its end."""
        game = self.game
        if not game.is_over():
            return None
        if game.resigned:
            return f"{game.result[:2]}T" if self._times.has_lost(game.resigned) else game.result
        return Ownership.of(game).without_dead().result

    def _clock(self, color: int) -> Answer | None:
        settings, is_human = self._time_settings, self.seats[color] == HUMAN
        if settings is None or (is_human and self._timed == "engines"):
            return None
        left = self._times.left(color) if is_human else self._searcher(NAMES[color]).clock_left(color, self._games)
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

    def _lose_on_time(self, color: int) -> None:
        """End the game for a human whose time is up. Called from a thread of its own."""
        with self._lock:
            if self._times.has_lost(color) and not self.game.is_over():
                self._end_review()
                self.game = self.game.copy()
                self.game.resign(color)
                self._edited()

    # --- searches ---

    def _searcher(self, key: str) -> Searcher:
        """Return the searcher of a colour, or of another role; those of both colours have the role "game"."""
        if key not in self._searchers:
            role = "game" if key in COLORS else key
            send = self._reviewed if role == "review" else self._send
            so_far = self._searched_so_far if role in ("game", "analysis") else None
            listener = Listener(send, partial(self._say, key, role), self._searched, so_far)
            searcher = Searcher(role, self._commons, listener)
            self._searchers[key] = searcher
        return self._searchers[key]

    def _say(self, key: str, role: str, doing: str) -> None:
        """Send what a role is doing. Called from the searchers' threads."""
        self._doing[key] = role, doing
        doings = [known for other, known in list(self._doing.values()) if other == role]
        message = {"type": "state", "role": role, "doing": max(doings, key=DOINGS.index)}
        self._send(json.dumps(message), f"state {role}")

    def _of_role(self, role: str | None) -> list[Searcher]:
        """Return the searchers of a role, or all, the one with the last search first."""
        found = [searcher for searcher in self._searchers.values() if role in (None, searcher.role)]
        return sorted(found, key=lambda searcher: -searcher.number)

    def _job(self, spec: str, game: Game, **settings: Any) -> Job:
        self._searches += 1
        return Job(spec, game, self._searches, game_number=self._games, **settings)

    def _start_move(self) -> None:
        """Let the engine of the side to play move in the position shown; on a human's seat, the server's own player."""
        game = self._shown()
        seat = self.seats[game.to_play]
        spec = self._options.player if seat == HUMAN else seat
        self._searcher(NAMES[game.to_play]).start(self._job(spec, game, plays=True, time_settings=self._time_settings))

    def _searched(self, job: Job, move: int) -> None:
        """Play what an engine has chosen, unless the game has changed meanwhile."""
        while HUMAN not in self.seats.values() and time.monotonic() < self._moved + _PACE_SECONDS:
            time.sleep(0.01)
        with self._lock:
            if not job.plays or job.is_cancelled:
                return
            self._put(self._shown(), move)

    def _begin_review(self, request: ask.Review) -> None:
        spec = request.player or self._options.player
        self._commons.specs.check(spec, self.game.size)
        self._end_review()
        self._review = review = Review(
            self.record,
            spec,
            lambda game: self._searcher("review").start(self._job(spec, game, seconds=request.seconds)),
        )
        review.go_on()
        self._tell_review()

    def _reviewed(self, text: str, key: str | None) -> None:
        """Take a message of the review's searcher: the result of a search, or an error. Called from its thread."""
        message = json.loads(text)
        with self._lock:
            review = self._review
            if message["type"] == "error":
                self._send(text, key)
                self._end_review()
                self._edited()
            elif message["type"] == "search" and message["final"] and review is not None:
                if message["at"] == len(review.opinions):
                    review.take(message)
                if review.is_running:
                    self._tell_review()
                else:
                    self._edited()

    def _end_review(self) -> None:
        """End a review that runs, and keep what it has found."""
        if self._review is not None and self._review.is_running:
            self._searcher("review").cancel()
            self._review.end()

    def _tell_review(self) -> None:
        self._send(json.dumps(describe_review(self.record, self._review)), "review")

    def _show_ownership(self, request: ask.ShowOwnership) -> None:
        self._shows_ownership = request.on
        if request.on:
            self._send_ownership(shown := self._shown(), Ownership.of(shown).map)

    def _send_ownership(
        self, game: Game, owners: np.ndarray, source: str = "playouts", score: float | None = None
    ) -> None:
        """Send who will own which point of a position, from 1, Black, to -1, and the score: theirs, unless given."""
        score = float(owners.sum()) - game.komi if score is None else score
        message = {"type": "ownership", "at": len(game.moves), "ownership": owners.round(2).tolist(), "source": source}
        self._send(json.dumps({**message, "score": round(score, 1)}), "ownership")

    def _searched_so_far(self, game: Game, player: Player) -> None:
        """Send who will own which point, by the player's network or its search. Called from the search."""
        if not self._shows_ownership or game.moves != self.game.moves[: self.at]:
            return
        owners = player.analyses().get("owner")
        if owners is not None:
            self._send_ownership(game, 2 * owners - 1, "network", float(player.evaluation["score"]))
            return
        best = [(c.line, float(c.visits)) for c in player.candidates(game)[:_OWNERSHIP_LINES]]
        self._send_ownership(game, Ownership.after(game, best).map)

    def _search(self, request: ask.Search) -> None:
        spec = request.player or self._options.player
        game = self._shown()
        self._commons.specs.check(spec, game.size)
        self._searcher(request.role).start(self._job(spec, game, seconds=request.seconds))

    def _stop(self, request: ask.Stop) -> None:
        if request.role in (None, "review") and self._review is not None and self._review.is_running:
            self._end_review()
            self._edited()
        for searcher in self._of_role(request.role):
            searcher.end()

    def _frames(self, request: ask.Frames) -> Answer:
        searcher = next(iter(self._of_role(request.role)), None)
        subject = None if searcher is None else searcher.subject()
        if searcher is None or subject is None:
            raise RlgoError(f"role {request.role}: nothing has been searched")
        curve = describe_curve(searcher.frames(), subject.game.size)
        return {"type": "frames", "role": request.role, "number": subject.number, "frames": curve}

    def _frame(self, request: ask.Frame) -> Answer:
        searcher = next(iter(self._of_role(request.role)), None)
        subject = None if searcher is None else searcher.subject()
        frames = [] if searcher is None else searcher.frames()
        if subject is None or request.index >= len(frames):
            raise RlgoError(f"index = {request.index}: expected less than {len(frames)}, the number of frames")
        return describe(subject, frames[request.index])

    # --- the end, and records ---

    def _score(self, _: ask.Score) -> Answer:
        return {"type": "score", **score(self._shown())}

    def _load(self, request: ask.Load) -> None:
        if (request.sgf is None) == (request.file is None):
            raise RlgoError("load: expected either sgf or file")
        if request.sgf is not None:
            record = _as_utf8(request.sgf)
        else:
            record = self._records.read(str(request.file), self._options.limits.message_bytes)
        loaded = Record.read(record, self._komi)
        seats = {color: spec if self._plays(spec, loaded.game) else HUMAN for color, spec in self.seats.items()}
        self._begin(loaded, seats, None, paused=True)

    def _branch(self, request: ask.Branch) -> None:
        before, moves = self.record.game.moves, self.game.moves[: self.at]
        self._end_review()
        self.record.choose(self.at, request.index)
        self._follow_record(before)
        common = next((i for i, (a, b) in enumerate(zip(moves, self.game.moves, strict=False)) if a != b), len(moves))
        self.at = min(self.at + 1 if request.index is not None else common, len(self.game.moves))
        self._edited()

    def _remove(self, request: ask.Remove) -> None:
        self._end_review()
        self.record.remove(self.at, request.index)
        self._follow_record(self.game.moves)
        self.at = min(self.at, len(self.game.moves))
        self._edited()

    def _follow_record(self, before: list[tuple[int, int]]) -> None:
        """Let the game be that of the record's line; engines wait if it is another one."""
        if self.record.game.moves != before or self.game.resigned:
            self.game, self.paused = self.record.game, True

    def _name(self, request: ask.Name) -> None:
        self.record.name_variation(self.at, request.index, request.name)
        self._edited()

    def _comment(self, request: ask.Comment) -> None:
        self.record.set_comment(self.at, request.text)
        self._edited()

    def _plays(self, spec: str, game: Game) -> bool:
        """Return whether a seat's player plays on the board of a game."""
        try:
            self._check_seats(game, spec)
        except RlgoError:
            return False
        return True

    def _save(self, request: ask.Save) -> Answer:
        if self.record.is_own:
            result = self._result()
            self.record.set_info(PB=self.seats[BLACK], PW=self.seats[WHITE], RE=result)
        record = self.record.write()
        if request.file is not None:
            self._records.write(request.file, record)
        return {"type": "sgf", "sgf": record.decode(), "file": request.file}


def _as_utf8(text: str) -> bytes:
    """Return the text of a record as bytes that say their encoding themselves, whatever it says of its file's."""
    return codecs.BOM_UTF8 + text.encode()


def score(game: Game) -> Answer:
    """Score a position: its dead stones by playouts, the owners of all points, and the result without the dead."""
    ownership = Ownership.of(game)
    rest = ownership.without_dead()
    return {
        "result": game.result if game.resigned else rest.result,
        "score": rest.score(),
        "area": {NAMES[color]: points for color, points in areas(rest).items()},
        "estimate": round(ownership.score, 1),
        "dead": [vertices_of(chain, game.size) for chain in ownership.dead()],
        "ownership": ownership.map.round(3).tolist(),
        "wins": round(ownership.wins, 4),
    }
