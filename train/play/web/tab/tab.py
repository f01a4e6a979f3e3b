"""A browser tab: it answers the page's requests, and sends it every change.

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
from rlgo.go.clock import parse_time
from rlgo.go.game import Game
from rlgo.go.sgf import read_sgf_records, record_note
from rlgo.play.ending import Endings, count
from rlgo.play.ownership import Ownership
from rlgo.play.player import RESIGN, Player
from train.play.curve import Opinion
from train.play.record import Record
from train.play.web.access.files import Records
from train.play.web.messages import requests as ask
from train.play.web.messages.positions import COLORS, NAMES, describe_end, game_of, points_of
from train.play.web.messages.requests import HUMAN
from train.play.web.options import Options
from train.play.web.searching.searcher import Job, Shared
from train.play.web.tab.game import TabGame
from train.play.web.tab.review import Review, describe_review
from train.play.web.tab.searches import Searches, Send
from train.players.networks import make_judge
from train.players.spec import strongest

Answer = dict[str, Any]
_OWNERSHIP_LINES = 8  # of a running search: after these, points are played out
_TITLE = ("PB", "PW", "RE", "DT", "EV", "GN")  # by which people tell games of a file apart
_PACE_SECONDS = 0.2  # between two moves of engines that play each other, so that you can follow


class Tab:
    """One browser tab.

    Parameters
    ----------
    options : those of the server
    shared : by all tabs
    records : the game records that it may use
    send : called with a message as JSON, and a key: a later message of the same key may replace it. From any thread
    has_runs : whether the server has training runs to show
    """

    game: TabGame  # from `open` on

    def __init__(
        self, options: Options, shared: Shared, records: Records, send: Send, *, has_runs: bool = False
    ) -> None:
        self._options, self._shared, self._records, self._send = options, shared, records, send
        self._has_runs = has_runs
        self._lock = threading.RLock()
        self._searches = Searches(shared, send, self._searched, self._searched_so_far, self._reviewed)
        self._end = Endings(make_judge)
        self._komi = options.komi  # of records that state none
        self._shows_ownership = False
        self._review: Review | None = None
        self._reviews: dict[tuple[tuple[int, int], ...], Review] = {}  # the last one of each line of the game
        self._games = 0  # how many there have been
        self._moved = 0.0  # when the game last changed
        self._handlers: dict[str, Callable[[Any], Answer | None]] = {
            "new": self._new,
            "seats": self._seat,
            "play": lambda request: self._edit(lambda: self.game.play(request.move)),
            "genmove": self._genmove,
            "pause": lambda _: self._pause(True),
            "resume": lambda _: self._pause(False),
            "undo": lambda request: self._edit(lambda: self.game.undo(request.moves)),
            "goto": self._goto,
            "resign": self._resign,
            "score": self._score,
            "load": self._load,
            "save": self._save,
            "branch": lambda request: self._edit(lambda: self.game.branch(request.index)),
            "show": lambda request: self._edit(lambda: self.game.show(request.index)),
            "remove": lambda request: self._edit(lambda: self.game.remove(request.index)),
            "name": self._name,
            "comment": self._comment,
            "marks": lambda request: self._edit(lambda: self.game.record.set_marks(self.game.at, request.marks)),
            "review": self._begin_review,
            "ownership": self._show_ownership,
            "search": self._search,
            "stop": self._stop,
            "frames": lambda request: self._searches.curve(request.role),
            "frame": lambda request: self._searches.frame(request.role, request.index),
        }

    def open(self) -> None:
        """Greet the tab, and begin its first game."""
        options = self._options
        hello = {
            "type": "hello",
            "version": version(),
            "size": options.size,
            "komi": options.komi,
            "player": options.player,
            "sizes": [MIN_SIZE, MAX_SIZE],
            "limits": options.limits._asdict(),
            "has_runs": self._has_runs,
            "has_sgf": bool(self._records.folders),
        }
        self._send(json.dumps(hello), None)
        self._send(json.dumps({"type": "state", "role": "game", "doing": "preparing"}), None)  # the rules may compile
        with self._lock:
            self._begin(Record.of(Game(options.size, options.komi), is_own=True), {BLACK: HUMAN, WHITE: options.player})
        self._send(json.dumps({"type": "state", "role": "game", "doing": "idle"}), None)

    def handle(self, request: ask.AnyRequest) -> Answer:
        """Answer a request. RlgoError if that is impossible; then nothing has changed."""
        with self._lock:
            answer = self._handlers[request.type](request) or {"type": "ok"}
        return {"type": answer["type"], "id": request.id, **answer}

    def close(self) -> None:
        """End all searches."""
        with self._lock:
            if self._games:
                self.game.stop_clocks()
            self._searches.close()

    # --- the game ---

    def _begin(self, record: Record, seats: dict[int, str], **settings: Any) -> None:
        """Begin a game; `TabGame` explains the settings."""
        self._end_review()
        if self._games:
            self.game.stop_clocks()
        self._games += 1
        self._reviews = {}
        self.game = TabGame(record, seats, self._end_review, self._lose_on_time, self._end, **settings)
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
            record = Record.read(_as_utf8(request.sgf), game.komi, request.game)
            if request.node is not None:
                record.show(request.node)
            record.go_along(game.moves)
            names_players = bool(record.info().keys() & {"PB", "PW"})
            record.is_own = not names_players if request.is_own is None else request.is_own
        seats = {BLACK: black, WHITE: white}
        self._begin(record, seats, time_settings=settings, timed=request.timed, paused=request.paused)
        self._prepare()

    def _load(self, request: ask.Load) -> Answer | None:
        if (request.sgf is None) == (request.file is None):
            raise RlgoError("load: expected either sgf or file")
        if request.sgf is not None:
            data = _as_utf8(request.sgf)
        else:
            data = self._records.read(str(request.file), self._options.limits.message_bytes)
        if request.game is None and len(games := list(read_sgf_records(data))) > 1:
            return {"type": "games", "games": [[game.text(name) or "" for name in _TITLE] for game in games]}
        record = Record.read(data, self._komi, request.game or 0)
        seats = {c: spec if self._plays(spec, record.game) else HUMAN for c, spec in self.game.seats.items()}
        self._begin(record, seats, paused=True)
        lost = f"only the moves will be saved, since the file has {record.lost}" if record.lost else ""
        if notes := "; ".join(filter(None, [record_note(record.game), lost])):
            self._send(json.dumps({"type": "error", "message": notes}), None)
        return None

    def _save(self, request: ask.Save) -> Answer:
        record = self.game.save()
        if request.file is not None:
            self._records.write(request.file, record)
        return {"type": "sgf", "sgf": record.decode(), "file": request.file}

    def _seat(self, request: ask.Seats) -> None:
        given = {BLACK: request.black, WHITE: request.white}
        seats = {color: spec or self.game.seats[color] for color, spec in given.items()}
        self._check_seats(self.game.game, *seats.values())
        self.game.seats = seats
        self._changed()
        self._prepare()

    def _prepare(self) -> None:
        """Make engines that move later in advance, so that their first moves need not wait for a compiler."""
        game = self.game
        settings: dict[str, Any] = {"game_number": self._games, "time_settings": game.time_settings}
        for color, seat in game.seats.items():
            if seat != HUMAN and not (game.is_engine_turn() and color == game.game.to_play):
                self._searches.prepare(NAMES[color], seat, game.game, **settings)

    def _check_seats(self, game: Game, *specs: str) -> None:
        for spec in specs:
            if spec != HUMAN:
                self._shared.specs.check(spec, game.size)

    def _plays(self, spec: str, game: Game) -> bool:
        """Return whether a seat's player plays on the board of a game."""
        try:
            self._check_seats(game, spec)
        except RlgoError:
            return False
        return True

    def _genmove(self, _: ask.Command) -> None:
        self.game.check_goes_on()
        self._start_move()

    def _resign(self, _: ask.Command) -> None:
        self.game.check_goes_on()
        self._edit(lambda: self.game.put(RESIGN))

    def _pause(self, paused: bool) -> None:
        self.game.paused = paused
        self._changed()

    def _goto(self, request: ask.Goto) -> None:
        self.game.go_to(request.at)
        self._changed()

    def _name(self, request: ask.Name) -> None:
        self._edit(lambda: self.game.record.name_variation(self.game.at, request.index, request.name))

    def _comment(self, request: ask.Comment) -> None:
        self._edit(lambda: self.game.record.set_comment(self.game.at, request.text))

    def _lose_on_time(self, color: int) -> None:
        """End the game for a human whose time is up. Called from a thread of its own."""
        with self._lock:
            if self.game.end_on_time(color):
                self._edited()

    # --- after a change ---

    def _edit(self, change: Callable[[], None]) -> None:
        """Change the game or its record."""
        change()
        self._edited()

    def _edited(self) -> None:
        """Send the record and what is known of its positions, and what `_changed` does."""
        self._changed()
        self._send(json.dumps({"type": "record", "sgf": self.game.record.write().decode()}), "record")
        self._send(json.dumps(self.game.record.describe_tree()), "tree")
        self._send_review()

    def _changed(self) -> None:
        """Send the current game to the tab, and let the next engine move."""
        game = self.game
        self._searches.cancel(*COLORS)
        self._moved = time.monotonic()
        game.run_clocks()
        self._send(json.dumps(game.describe(partial(self._searches.clock_left, self._games))), None)
        if self._shows_ownership:
            self._send_ownership_of(game.shown())
        is_short = len(game.game.moves) < self._options.limits.moves_factor * game.game.size**2
        if game.is_engine_turn() and is_short:
            self._start_move()

    # --- searches ---

    def _start_move(self) -> None:
        """Let the engine of the side to play move in the position shown; on a human's seat, the strongest player."""
        shown = self.game.shown()
        seat = self.game.seats[shown.to_play]
        self._searches.start(
            NAMES[shown.to_play],
            strongest(self._options.player) if seat == HUMAN else seat,
            shown,
            plays=True,
            resigns=seat != HUMAN and HUMAN in self.game.seats.values(),
            game_number=self._games,
            time_settings=self.game.time_settings,
        )

    def _searched(self, job: Job, move: int) -> None:
        """Play what an engine has chosen, unless the game has changed meanwhile. Called from the search."""
        while HUMAN not in self.game.seats.values() and time.monotonic() < self._moved + _PACE_SECONDS:
            time.sleep(0.01)
        with self._lock:
            if job.plays and not job.is_cancelled:
                self.game.is_helped |= self.game.seats[job.game.to_play] == HUMAN
                self._edit(lambda: self.game.put(move))

    def _search(self, request: ask.Search) -> None:
        spec, shown = request.player or self._options.player, self.game.shown()
        self._shared.specs.check(spec, shown.size)
        spec = strongest(spec, request.seconds) if request.role == "analysis" else spec
        # What is compared begins anew each time: no side has simulations of an earlier search.
        number = self._games if request.role == "analysis" else -self._searches.n
        self._searches.start(request.role, spec, shown, seconds=request.seconds, game_number=number)

    def _stop(self, request: ask.Stop) -> None:
        if request.role in (None, "review") and self._review is not None and self._review.is_running:
            self._edit(self._end_review)
        self._searches.end(request.role)

    # --- reviews ---

    def _begin_review(self, request: ask.Review) -> None:
        spec = request.player or self._options.player
        self._shared.specs.check(spec, self.game.game.size)
        spec = strongest(spec, request.seconds)
        self._end_review()
        settings: dict[str, Any] = {"seconds": request.seconds, "game_number": self._games}
        search = partial(self._searches.start, "review", spec, **settings)
        self._review = Review(self.game.record, spec, search, request.first)
        self._reviews[tuple(self._review.moves)] = self._review
        self._review.go_on()
        self._send_review()

    def _reviewed(self, text: str, key: str | None) -> None:
        """Take a message of the review's searcher: the result of a search, or an error. Called from its thread."""
        message = json.loads(text)
        with self._lock:
            review = self._review
            if message["type"] == "error":
                self._send(text, key)
                self._edit(self._end_review)
            elif message["type"] == "search" and message["final"] and review is not None:
                if message["at"] == len(review.opinions):
                    review.take(Opinion(**message["opinion"]))
                if review.is_running:
                    self._send_review()
                else:
                    self._edited()

    def _end_review(self) -> None:
        """End a review that runs, and keep what it has found."""
        if self._review is not None and self._review.is_running:
            self._searches.cancel("review")
            self._review.end()

    def _send_review(self) -> None:
        record, main = self.game.record, self.game.record.main()
        told = describe_review(main, self._reviews.get(tuple(main.game.moves)))
        if record.game.moves != main.game.moves:
            told["variation"] = describe_review(record, self._review)
        self._send(json.dumps(told), "review")

    # --- the end ---

    def _score(self, request: ask.Score) -> Answer:
        """Score the position shown: by search, or with the chains that somebody has marked as dead."""
        game = self.game.shown()
        if request.dead is None:
            return describe_end(self._end(game))
        return describe_end(count(game, points_of(request.dead, game.size)))

    # --- ownership ---

    def _show_ownership(self, request: ask.ShowOwnership) -> None:
        self._shows_ownership = request.on
        if request.on:
            self._send_ownership_of(self.game.shown())

    def _send_ownership_of(self, game: Game) -> None:
        self._send_ownership(game, Ownership.of(game).map)

    def _send_ownership(
        self, game: Game, ownership: np.ndarray, source: str = "playouts", score: float | None = None
    ) -> None:
        """Send who will own which point of a position, from 1, Black, to -1, and the score by a search, if known."""
        message = {"type": "ownership", "at": len(game.moves), "ownership": ownership.round(2).tolist()}
        rounded = None if score is None else round(score, 1)
        self._send(json.dumps({**message, "source": source, "score": rounded}), "ownership")

    def _searched_so_far(self, game: Game, player: Player) -> None:
        """Send who will own which point, by the player's network or its search. Called from the search."""
        if not self._shows_ownership or game.moves != self.game.game.moves[: self.game.at]:
            return
        ownership, found = player.analyses().get("ownership"), player.candidates(game)
        score, _ = player.scores(game)
        if ownership is not None:
            self._send_ownership(game, 2 * ownership - 1, "network", score)
            return
        best = [(c.line, float(c.visits)) for c in found[:_OWNERSHIP_LINES]]
        self._send_ownership(game, Ownership.after(game, best).map, score=score)


def _as_utf8(text: str) -> bytes:
    """Encode a record with a byte order mark, which overrides the encoding that its text states."""
    return codecs.BOM_UTF8 + text.encode()
