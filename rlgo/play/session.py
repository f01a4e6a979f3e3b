"""A game session: a player, a game, a clock and the rules in force.

GTP, the terminal, the CGOS client and the web page are front ends to a session. Your own program can use one, too:

    session = GameSession(make_player("greedy", 9), size=9, komi=7.5)
    session.play(from_vertex("E5", 9))
    point = session.genmove()
    print(to_vertex(point, 9), session.result())

Start reading at `GameSession.genmove`. A session works with points and colours; front ends convert them to text.
"""

from __future__ import annotations

import contextlib
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from rlgo.base.budget import never
from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, Komi
from rlgo.base.threads import in_background
from rlgo.go.board import BLACK, PASS
from rlgo.go.clock import Clock, TimeSettings
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.go.sgf import load_sgf, record_note, write_sgf
from rlgo.play.ownership import CERTAIN, Ownership
from rlgo.play.player import RESIGN, Candidate, Player, check_player, known_sizes, moves_to_try, won_by

REPORT_SECONDS = 0.5  # between two reports of an analysis, by default

Report = Callable[[list[Candidate], Game], None]
MakePlayer = Callable[[int], Player]


class LastSearch(NamedTuple):
    """The result of the last search for a move."""

    game: Game  # the position searched
    candidates: list[Candidate]  # the player's opinion of its moves, best first


class GameSession:
    """A game that a player takes part in, with its clock, pondering and scoring.

    A method that fails raises an `RlgoError` and leaves the game as it was. If the player raises another exception,
    which is a bug, its traceback is printed on standard error, and it becomes an `RlgoError`, too.

    Attributes
    ----------
    player : the player that thinks in this session; replaced when the board size changes and it plays on one size
        only. Waits until it is ready
    game : the game so far; another object after `new_game`, `load` and other methods that begin anew
    clock : the time of both sides
    ponders : whether `ponder` thinks in the opponent's time
    all_alive : whether every stone on the board counts as alive in the end, as on CGOS; otherwise playouts decide
    early_pass : whether to answer a pass with a pass once the game is won without playing out the opponent's dead
        stones. If the other side counts them as alive after all, that may lose the game.
    last_search : the last search for a move, or None
    stop : polled during a search, like `Player.stop`; for a front end with its own way of interrupting

    >>> import rlgo
    >>> session = rlgo.GameSession(rlgo.RandomPlayer(seed=1), size=5)
    >>> session.play(rlgo.from_vertex("C3", 5))
    >>> move = session.genmove()
    >>> session.game
    <Game 5x5, komi 7.5, 2 moves, Black to play>
    """

    def __init__(
        self,
        player: Player,
        size: int = DEFAULT_SIZE,
        komi: float = DEFAULT_KOMI,
        *,
        ponders: bool = False,
        all_alive: bool = False,
        early_pass: bool = False,
        time_settings: TimeSettings | None = None,
        make: MakePlayer | None = None,
        log: Callable[[str], None] | None = None,
        ready: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        """Begin with an empty board, and warm the player up.

        Parameters
        ----------
        player : becomes part of this session; its `stop` is overwritten
        size, komi : board size, and points for White
        ponders, all_alive, early_pass : see the attributes of the same names
        time_settings : time settings of both sides; None means no clock
        make : makes the same player for another board size, or raises an RlgoError; None: `player` is the only one
        log : called with a line of text for each event, such as a search and its result
        ready : if given, the player is warmed up in another thread, and whatever needs it waits: see `wait`. Called
            from there at the end, with the error if it has failed

        Raises
        ------
        RlgoError : if the player does not support the board size, and for all_alive with early_pass.
        """
        self._player = check_player("player", player)
        self.ponders, self.all_alive = check("ponders", ponders, bool), check("all_alive", all_alive, bool)
        self.early_pass = check("early_pass", early_pass, bool)
        if all_alive and early_pass:
            raise RlgoError("early_pass cannot be combined with all_alive")
        self.clock = Clock(check("time_settings", time_settings, TimeSettings | None))
        self.last_search: LastSearch | None = None
        self.stop: Callable[[], bool] = never
        self._log = log
        self._is_interrupted = self._passes_early = False
        self._announced_end = False
        self._own_move_last = False  # whether the last change to the game was a move by the player
        self._make = make
        self._made: dict[int, Player] = {}  # by board size, so that learned weights survive changes of size
        self.game = Game(size, komi)
        self._komi = self.game.komi  # of games that state none
        self._made[size] = self._player_for(size)
        self._start: Future[None] | None = None  # until the first use of a player that is warmed up in a thread
        if ready is None:
            self._start_player()
        else:
            self._start = in_background(lambda: self._start_in_thread(ready))

    def __repr__(self) -> str:
        return f"<GameSession of {self._player!r}: {self.game!r}>"

    def _repr_svg_(self) -> str:
        """Show the position in a notebook."""
        return self.game._repr_svg_()

    @property
    def player(self) -> Player:
        """The player, once it is ready."""
        self.wait()
        return self._player

    @player.setter
    def player(self, player: Player) -> None:
        self._player = player

    @property
    def name(self) -> str:
        """The player's name."""
        return self._player.name

    @property
    def is_ready(self) -> bool:
        """Whether the player can move at once."""
        return self._start is None or self._start.done()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the player is ready, or for some seconds. Raises what its `warm_up` raised in its thread."""
        if self._start is not None:
            with contextlib.suppress(TimeoutError):
                self._start.result(seconds)
                self._start = None

    def log(self, text: str) -> None:
        """Write a line to the session's log, if it has one. A full disk does not end the game."""
        if self._log is not None:
            with contextlib.suppress(OSError, ValueError):
                self._log(text)

    # --- beginning ---

    def new_game(self, size: int | None = None, komi: float | None = None) -> None:
        """Begin a new game; size and komi default to those set last. RlgoError for a bad size."""
        size = self.game.size if size is None else size
        player = self._player_for(size)
        self._begin(Game(size, self._komi if komi is None else komi), player)
        self._komi = self.game.komi

    def set_komi(self, komi: float) -> None:
        """Set the komi of this game, and of later ones that do not state their own. RlgoError for a bad value."""
        self.game.komi = self._komi = check("komi", komi, Komi)

    def set_up(self, stones: Iterable[tuple[int, int]], to_play: int) -> None:
        """Add stones, (colour, point) each, to those that the game begins with. RlgoError after the first move."""
        if self.game.n_played:
            raise RlgoError("stones are set up before the first move")
        game = Game(self.game.size, self.game.komi)
        game.set_up([*self.game.setup, *stones], to_play)
        self.game = game
        self._own_move_last = False

    def load(self, name: str | Path, n_moves: int | None = None) -> None:
        """Continue from an SGF file. A note on standard error tells how the game differs from the record.

        Parameters
        ----------
        name : file name
        n_moves : stop after this many moves; None: play them all

        Raises
        ------
        RlgoError : for a file that is not a game record, and for a board size that the player does not support.
        """
        game = load_sgf(name, self._komi, n_moves)
        self._begin(game, self._player_for(game.size))
        note = record_note(game)
        if note:
            print_note(f"{name}: {note}")
            self.log(note)

    def follow(self, game: Game) -> None:
        """Continue from the position of a game that is kept elsewhere; the session goes on in a copy of it.

        The player keeps what it has learned. RlgoError for a board size that the player does not support.
        """
        player = self._player_for(game.size)
        if player is not self._player:
            self.player = player
            self.player.start_clock(self.clock.settings)
        n = min(len(game.moves), len(self.game.moves))
        if n == 0 or game.moves[:n] != self.game.moves[:n]:  # not the same game with moves added or taken back
            self._announced_end = False
        self.game = game.copy()
        self._own_move_last = False
        self._announce_end()

    def to_sgf(
        self, opponent: str, color: int, result: str | None = None, comments: Mapping[int, str] | None = None
    ) -> bytes:
        """Write the game as an SGF record.

        Parameters
        ----------
        opponent, color : the name of the player's opponent, and the opponent's colour
        result : as in SGF; None: `final_result`
        comments : on the moves, by their numbers from 1
        """
        black, white = (opponent, self.name) if color == BLACK else (self.name, opponent)
        return write_sgf(self.game, black, white, result or self.final_result(), comments=comments)

    def close(self) -> None:
        """Close the player, and those that were made for other board sizes."""
        for player in self._made.values():
            player.close()

    def _begin(self, game: Game, player: Player) -> None:
        if self._start is None or player is not self._player:  # otherwise it is new, and used by another thread
            with self._player_at_work():
                player.start_clock(self.clock.settings)
                player.new_game()
        self.game, self._player = game, player
        self._announced_end = self._own_move_last = False
        self.last_search = None
        self.clock.restart()

    def _player_for(self, size: int) -> Player:
        """Return the player for a board size, made now if need be. RlgoError if there is none."""
        try:
            Game(size)
            if self._player.sizes is None or size in self._player.sizes:
                return self._player
            if size not in self._made:
                if self._make is None or not self._made:
                    raise RlgoError(f"{self.name} plays on {known_sizes(self._player.sizes)}")
                player = self._make(size)
                self._prepare(player, size)
                self._made[size] = player
            return self._made[size]
        except RlgoError as error:
            raise RlgoError(f"unacceptable size: {error}") from None

    def _prepare(self, player: Player, size: int) -> None:
        """Connect a player with this session, and compile now what it may need while a clock runs."""
        player.stop = self._stops
        player.warm_up()
        if not self.all_alive:
            Ownership.prepare(size)

    def _start_player(self) -> None:
        """Make the player ready for its first game."""
        player = self._player
        self._prepare(player, self.game.size)
        player.start_clock(self.clock.settings)
        player.new_game()

    def _start_in_thread(self, ready: Callable[[BaseException | None], None]) -> None:
        try:
            self._start_player()
        except BaseException as error:
            ready(error)
            raise
        ready(None)

    def set_time(self, settings: TimeSettings | None) -> None:
        """Set the clock by these settings, or remove it (None). No clock starts before the player is ready."""
        settings = check("time_settings", settings, TimeSettings | None)
        self.wait()
        self.clock.set(settings)
        self.player.start_clock(settings)

    def set_left(self, color: int, seconds: float, stones: int = 0) -> None:
        """Set the time a side has left; see `Clock.set_left`."""
        self.wait()
        self.clock.set_left(color, seconds, stones)

    # --- moves ---

    def play(self, point: int, color: int | None = None) -> None:
        """Play a move for the side to play, or for `color`. RlgoError if it is illegal."""
        self._play_in(self.game, point, color)
        self._own_move_last = False
        self._announce_end()

    def play_all(self, moves: Iterable[tuple[int, int]]) -> None:
        """Play several moves, (colour, point) each: all of them, or, if one is illegal, none."""
        trial = self.game.copy()
        for color, point in moves:
            self._play_in(trial, point, color)
        self.game = trial
        self._own_move_last = False
        self._announce_end()

    def genmove(self, color: int | None = None, report: Report | None = None, every: float = REPORT_SECONDS) -> int:
        """Let the player choose a move, and play it.

        Parameters
        ----------
        color : the side that moves; None: the side to play
        report : called with the candidates so far and the position, at intervals and at the end
        every : seconds between two reports

        Returns
        -------
        the point, PASS or RESIGN. A resignation is not played: see `Game.resign`.
        """
        color = self.game.to_play if color is None else color
        p = self._make_move(self._search(color, self._choose, timed=True, report=report, every=every), color)
        self._report_end(report)
        return p

    def clean_up(self, color: int | None = None) -> int:
        """Play like `genmove`, but keep playing while the opponent has dead stones on the board."""
        color = self.game.to_play if color is None else color
        return self._make_move(self._search(color, self._choose_cleaning_up, timed=True), color)

    def suggest(self, color: int | None = None, report: Report | None = None, every: float = REPORT_SECONDS) -> int:
        """Let the player choose a move without playing it, see `genmove`. The clock does not run."""
        color = self.game.to_play if color is None else color
        p = self._search(color, self._choose, report=report, every=every)
        self._report_end(report)
        return p

    def _report_end(self, report: Report | None) -> None:
        if report is not None and self.last_search is not None and self.last_search.candidates:
            report(self.last_search.candidates, self.last_search.game)

    def suggest_among(self, points: Iterable[int], color: int | None = None) -> int:
        """Let the player choose among some points without playing there. PASS if none of them is sensible."""
        color = self.game.to_play if color is None else color
        game = self._position(color).copy()
        game.allowed = frozenset(points)
        p = self._search(color, lambda _: self.player.genmove(game))
        if p in game.allowed:
            return p
        with self._player_at_work():
            ranked = [c.move for c in self.player.candidates(game)]  # a player that wants to pass may rank nothing else
        return next((q for q in (*ranked, *game.sensible_moves()) if q in game.allowed), PASS)

    def undo(self, n: int = 1) -> None:
        """Take n moves back. RlgoError if there are fewer."""
        if not 0 <= n <= self.game.n_played:
            raise RlgoError("cannot undo")
        if n:
            self.game.undo(n)
        self._own_move_last = False

    def _play_in(self, game: Game, point: int, color: int | None) -> None:
        why = game.why_illegal(point, color)
        if why is not None:
            raise RlgoError(f"illegal move: {why}")
        game.play(point, color)

    def resign(self, color: int | None = None) -> None:
        """Resign for the side to play, or for `color`. This ends the game."""
        self.game.resign(color)
        self._announce_end()

    def _make_move(self, point: int, color: int) -> int:
        if point == RESIGN:
            resigned = self.game.copy()
            resigned.resign(color)
            self._announce(resigned)
        else:
            self.game.play(point, color)
            self._own_move_last = True
            self._announce_end()
        return point

    # --- searches ---

    def interrupt(self) -> None:
        """End the search in progress with the best move so far. May be called from any thread."""
        self._is_interrupted = True

    def analyze(
        self,
        report: Report,
        every: float = REPORT_SECONDS,
        color: int | None = None,
        stop: Callable[[], bool] = never,
    ) -> None:
        """Think about the position without playing, until `stop` returns True or the search is complete.

        Parameters
        ----------
        report : called with the candidates so far and the position, at intervals and at the end
        every : seconds between two reports
        color : the side to move; None: the side to play
        """
        self._is_interrupted = False
        game = self._position(self.game.to_play if color is None else color)
        reporter = _Reporter(lambda: self._report(report, game), every, lambda: stop() or self._stops())
        with self._player_at_work():
            self.player.ponder(game, reporter.stop)
            self._report(report, game)

    def ponder(self, stop: Callable[[], bool]) -> None:
        """Think in the opponent's time until `stop` returns True.

        Returns at once if it is not the opponent's turn, or `ponders` is off. A failing player does not raise here:
        its traceback is printed, and it does not ponder on this position again.
        """
        if not self.ponders or not self._own_move_last or self.game.is_over():
            return
        try:
            self.player.ponder(self.game, stop)
        except Exception as error:
            self._own_move_last = False
            print_bug()
            self.log(f"pondering: {error}")

    def _stops(self) -> bool:
        """Whether the search in progress should end."""
        return self._is_interrupted or self.stop()

    def _report(self, report: Report, game: Game) -> None:
        candidates = self.player.candidates(game)
        if candidates:
            report(candidates, game)

    def _search(
        self,
        color: int,
        choose: Callable[[Game], int],
        timed: bool = False,
        report: Report | None = None,
        every: float = REPORT_SECONDS,
    ) -> int:
        """Find a legal move for a side without changing the game. If `timed`, the side's clock runs."""
        self.wait()
        start = time.monotonic()
        game = self._position(color)
        self.player.read_clock(self.clock, color, game.size)
        self.last_search = None
        self._is_interrupted = self._passes_early = False
        try:
            with self._player_at_work(), self._reporting(report, game, every):
                p = int(choose(game))
            why = None if p == RESIGN else game.why_illegal(p)
            if why is not None:
                raise RlgoError(f"{self.name} chose an illegal move: {why}")
        finally:
            seconds, budget = time.monotonic() - start, self.player.limit
            if timed:
                self.clock.spend(color, seconds, budget)
        if self._passes_early:
            self.log(f"{COLOR_NAMES[color]} passes: the game is won")
            return p
        with self._player_at_work():
            self.last_search = LastSearch(game.copy(), self.player.candidates(game))
            self.log(f"{COLOR_NAMES[color]} {seconds:.3f} s" + ("" if budget is None else f" of {budget:.3f} s"))
            for line in self.player.report():
                self.log(line)
        return p

    @contextlib.contextmanager
    def _reporting(self, report: Report | None, game: Game, every: float) -> Iterator[None]:
        """Report the candidates during a search."""
        if report is None:
            yield
            return
        self.player.stop = _Reporter(lambda: self._report(report, game), every, self._stops).stop
        try:
            yield
        finally:
            self.player.stop = self._stops

    @contextlib.contextmanager
    def _player_at_work(self) -> Iterator[None]:
        """Turn a bug in the player into an RlgoError, and print the traceback."""
        try:
            yield
        except (RlgoError, BrokenPipeError):  # the reader of the reports is gone
            raise
        except Exception as error:
            print_bug()
            raise RlgoError(f"internal error: {type(error).__name__}: {error}") from error

    def _position(self, color: int) -> Game:
        """Return the game with a side to play: the session's own if it is that side's turn, otherwise a copy."""
        if color == self.game.to_play:
            return self.game
        game = self.game.copy()
        game.to_play = color
        return game

    # --- the end ---

    def ownership(self) -> Ownership:
        """Estimate by playouts who will own which point."""
        return Ownership.of(self.game)

    def dead(self, ownership: Ownership | None = None) -> list[list[int]]:
        """List the dead chains, by points; none if all stones count as alive.

        ownership : what `ownership` returned, if it is known
        """
        return [] if self.all_alive else (ownership or self.ownership()).dead()

    def result(self) -> str:
        """Score the game as it stands, without its dead stones unless all count as alive: ``B+3.5``, ``W+R``, ``0``."""
        return self._settled(self.game).result

    def final_result(self) -> str | None:
        """Return `result` if the game is over, and None otherwise."""
        return self.result() if self.game.is_over() else None

    def _settled(self, game: Game) -> Game:
        """Return a game without its dead stones, unless all count as alive or a side has resigned."""
        return game if self.all_alive or game.resigned else Ownership.of(game).without_dead()

    def _may_end(self, game: Game) -> bool:
        """Whether the opponent has passed, and the game is certainly won without the opponent's dead stones."""
        if not game.moves or game.moves[-1] != (3 - game.to_play, PASS) or not moves_to_try(game):
            return False
        ownership = Ownership.of(game)
        rest = ownership.without_dead()
        return won_by(game.to_play, rest.outcome) == 1 and won_by(game.to_play, ownership.wins) >= CERTAIN

    def _choose(self, game: Game) -> int:
        """Choose a move; with `early_pass`, end a game that is won, without a search."""
        self._passes_early = self.early_pass and self._may_end(game)
        return PASS if self._passes_early else self.player.genmove(game)

    def _choose_cleaning_up(self, game: Game) -> int:
        """Choose a move, but do not end the game by a pass while the opponent has dead stones on the board."""
        if all(game.board.color[chain[0]] == game.to_play for chain in Ownership.of(game).dead()):
            return self.player.genmove(game)
        while game.moves and game.moves[-1][1] == PASS:
            game = game.copy()  # hide the pass, which might be answered with a pass
            game.moves.pop()
        p = self.player.genmove(game)
        if p in (PASS, RESIGN):
            others = [c.move for c in self.player.candidates(game) if c.move != PASS and game.is_legal(c.move)]
            p = next(iter([*others, *game.sensible_moves()]), PASS)
        return p

    def _announce_end(self) -> None:
        """Notify the player if the game is over: once per game, even if the end is undone and reached again."""
        if self.game.is_over():
            self._announce(self.game)

    def _announce(self, game: Game) -> None:
        if self._announced_end:
            return
        self._announced_end = True
        try:
            self.player.end_game(game, self._settled(game).outcome)
        except RlgoError as error:  # the move has been played and must not fail
            print_note(str(error))
        except Exception:
            print_bug()


class _Reporter:
    """A `stop` function that also calls `report` at intervals."""

    def __init__(self, report: Callable[[], None], every: float, stop: Callable[[], bool]):
        self._report, self._every, self._stop = report, every, stop
        self._last = time.monotonic()

    def stop(self) -> bool:
        now = time.monotonic()
        if now - self._last >= self._every:
            self._last = now
            self._report()
        return self._stop()


def print_note(text: str) -> None:
    """Print a line on standard error, if it is still writable."""
    with contextlib.suppress(OSError, ValueError):
        print(f"rlgo: {text}", file=sys.stderr)


def print_bug() -> None:
    """Print the traceback of the current exception on standard error, if it is still writable."""
    with contextlib.suppress(OSError, ValueError):
        traceback.print_exc(file=sys.stderr)
