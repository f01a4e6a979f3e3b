"""A game session: a player, a game, a clock and the rules in force.

GTP, the terminal and the web page are front ends to a session. Your own program can use one, too:

    session = GameSession(make_player("greedy", 9), size=9, komi=7.5)
    session.play(from_vertex("E5", 9))
    point = session.genmove()
    print(to_vertex(point, 9), session.result())

Start reading at `GameSession.genmove`. A session works with points and colours; front ends convert them to text. Its
player is in `sized_players`, its searches in `searching`, and the end of a game in `ending`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from rlgo.base.budget import never
from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, Komi
from rlgo.go.board import BLACK, PASS
from rlgo.go.clock import Clock, TimeSettings
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.go.sgf import load_sgf, record_note, write_sgf
from rlgo.play.ending import Ending, Endings, MakeJudge, Resignation, clean_up, count, is_won_by_pass
from rlgo.play.notes import print_bug, print_note
from rlgo.play.ownership import Ownership
from rlgo.play.player import RESIGN, Player, won_by
from rlgo.play.searching import REPORT_SECONDS, LastSearch, Report, Searching
from rlgo.play.sized_players import MakePlayer, Ready, SizedPlayers


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
    all_alive : whether every stone on the board counts as alive in the end, as on CGOS; otherwise a search decides
    early_pass : whether to answer a pass with a pass once the game is won without playing out the opponent's dead
        stones. If the other side counts them as alive after all, that may lose the game.
    resigns : whether the player gives up a lost game, as against people, see `ending.Resignation`

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
        resigns: bool = False,
        time_settings: TimeSettings | None = None,
        make: MakePlayer | None = None,
        judge: MakeJudge | None = None,
        make_analyst: MakePlayer | None = None,
        log: Callable[[str], None] | None = None,
        ready: Ready | None = None,
    ) -> None:
        """Begin with an empty board, and warm the player up.

        Parameters
        ----------
        player : becomes part of this session; its `stop` is overwritten
        size, komi : board size, and points for White
        ponders, all_alive, early_pass, resigns : see the attributes of the same names
        time_settings : time settings of both sides; None means no clock
        make : makes the same player for another board size, or raises an RlgoError; None: `player` is the only one
        judge : makes the player that decides the end of games on a board, see `ending.decide`; None: only stones that
            are dead whatever anybody plays are dead
        make_analyst : makes the player of `analyst`, for a board size; None: `player` analyses
        log : called with a line of text for each event, such as a search and its result
        ready : if given, the player is warmed up in another thread, and whatever needs it waits: see `wait`. Called
            from there at the end, with the error if it has failed

        Raises
        ------
        RlgoError : if the player does not support the board size, and for all_alive with early_pass.
        """
        self.ponders, self.all_alive = check("ponders", ponders, bool), check("all_alive", all_alive, bool)
        self.early_pass, self.resigns = check("early_pass", early_pass, bool), check("resigns", resigns, bool)
        if all_alive and early_pass:
            raise RlgoError("early_pass cannot be combined with all_alive")
        self.clock = Clock(check("time_settings", time_settings, TimeSettings | None))
        self._log = log
        self._announced_end = False
        self._own_move_last = False  # whether the last change to the game was a move by the player
        self._players = SizedPlayers(player, size, make, self._prepare)
        self._make_analyst = make_analyst
        self._analyst: GameSession | None = None  # until it is needed
        self._searching = Searching(self._players, self.clock, self.log)
        self._endings = Endings(judge)
        self._resignation = Resignation()
        self.game = Game(size, komi)
        self._komi = self.game.komi  # of games that state none
        self._players.start(size, self.clock.settings, ready)

    def __repr__(self) -> str:
        return f"<GameSession of {self._players!r}: {self.game!r}>"

    def _repr_svg_(self) -> str:
        """Show the position in a notebook."""
        return self.game._repr_svg_()

    @property
    def player(self) -> Player:
        """The player, once it is ready."""
        return self._players.current

    @player.setter
    def player(self, player: Player) -> None:
        self._players.current = player

    @property
    def analyst(self) -> GameSession:
        """The session that analyses this game: itself or, where the player is a weak level, one of the strongest."""
        if self._make_analyst is None:
            return self
        size = self.game.size
        self._analyst = self._analyst or GameSession(self._make_analyst(size), size, make=self._make_analyst)
        self._analyst.follow(self.game)
        return self._analyst

    @property
    def name(self) -> str:
        """The player's name."""
        return self._players.name

    @property
    def is_ready(self) -> bool:
        """Whether the player can move at once."""
        return self._players.is_ready

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the player is ready, or for some seconds. Raises what its `warm_up` raised in its thread."""
        self._players.wait(seconds)

    @property
    def last_search(self) -> LastSearch | None:
        """The last search for a move in this game, or None."""
        return self._searching.last

    @property
    def stop(self) -> Callable[[], bool]:
        """Polled during a search, like `Player.stop`; for a front end with its own way of interrupting."""
        return self._searching.stop

    @stop.setter
    def stop(self, stop: Callable[[], bool]) -> None:
        self._searching.stop = stop

    def log(self, text: str) -> None:
        """Write a line to the session's log, if it has one. A full disk does not end the game."""
        if self._log is not None:
            with contextlib.suppress(OSError, ValueError):
                self._log(text)

    # --- beginning ---

    def new_game(self, size: int | None = None, komi: float | None = None) -> None:
        """Begin a new game; size and komi default to those set last. RlgoError for a bad size."""
        size = self.game.size if size is None else size
        player = self._players.for_size(size)
        self._begin(Game(size, self._komi if komi is None else komi), player)
        self._komi = self.game.komi

    def set_komi(self, komi: float) -> None:
        """Set the komi of this game, and of later ones that do not state their own. RlgoError for a bad value."""
        self.game.komi = self._komi = check("komi", komi, Komi)

    def set_up(self, stones: Iterable[tuple[int, int]], to_play: int) -> None:
        """Add stones, (colour, point) each, to those that the game begins with. RlgoError after the first move."""
        if self.game.n_played:
            raise RlgoError("stones are set up before the first move")
        game = Game(self.game.size, self.game.stated_komi)
        game.white_bonus = self.game.white_bonus
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
        self._begin(game, self._players.for_size(game.size))
        note = record_note(game)
        if note:
            print_note(f"{name}: {note}")
            self.log(note)

    def follow(self, game: Game) -> None:
        """Continue from the position of a game that is kept elsewhere; the session goes on in a copy of it.

        The player keeps what it has learned. RlgoError for a board size that the player does not support.
        """
        player = self._players.for_size(game.size)
        if player is not self.player:
            self.player = player
            player.start_clock(self.clock.settings)
        n = min(len(game.moves), len(self.game.moves))
        if n == 0 or game.moves[:n] != self.game.moves[:n]:  # not the same game with moves added or taken back
            self._announced_end = False
        self.game = game.copy()
        self._own_move_last = False
        self._announce_end()

    def to_sgf(self, opponent: str, color: int, result: str | None = None) -> bytes:
        """Write the game as an SGF record.

        Parameters
        ----------
        opponent, color : the name of the player's opponent, and the opponent's colour
        result : as in SGF; None: `final_result`
        """
        black, white = (opponent, self.name) if color == BLACK else (self.name, opponent)
        return write_sgf(self.game, black, white, result or self.final_result())

    def close(self) -> None:
        """Close the player, those that were made for other board sizes, and those that analyse."""
        self._players.close()
        if self._analyst is not None:
            self._analyst.close()

    def _begin(self, game: Game, player: Player) -> None:
        self._players.begin_game(player, self.clock.settings)
        game.white_bonus = self.game.white_bonus
        self.game = game
        self._announced_end = self._own_move_last = False
        self._searching.last = None
        self.clock.restart()

    def _prepare(self, player: Player, size: int) -> None:
        """Connect a player with this session, and compile now what it may need while a clock runs."""
        player.stop = self._searching.is_stopped
        player.warm_up()
        if self.early_pass and (judge := self._endings.judge(size)) is not None:
            judge.warm_up()

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
        position = self._position(color)
        p = self._choose(position, timed=True, report=report, every=every)
        if self.resigns and self.last_search is not None and self.last_search.candidates:
            chance = self.player.chance(self.last_search.candidates[0].value, position)
            p = RESIGN if self._resignation.is_due(position, won_by(position.to_play, chance)) else p
        self._make_move(p, position.to_play)
        self._report_end(report)
        return p

    def clean_up(self, color: int | None = None) -> int:
        """Play like `genmove`, but keep playing while the opponent has dead stones on the board."""
        position = self._position(color)
        p = self._searching.choose(position, partial(clean_up, self.player, self._endings), timed=True)
        return self._make_move(p, position.to_play)

    def suggest(self, color: int | None = None, report: Report | None = None, every: float = REPORT_SECONDS) -> int:
        """Let the player choose a move without playing it, see `genmove`. The clock does not run."""
        p = self._choose(self._position(color), timed=False, report=report, every=every)
        self._report_end(report)
        return p

    def _choose(self, position: Game, *, timed: bool, report: Report | None, every: float) -> int:
        """Choose a move; with `early_pass`, end a game that is won, without a search."""
        self.wait()
        if self.early_pass and is_won_by_pass(position, self._endings):
            self._searching.last = None
            self.log(f"{COLOR_NAMES[position.to_play]} passes: the game is won")
            return PASS
        return self._searching.choose(position, timed=timed, report=report, every=every)

    def _report_end(self, report: Report | None) -> None:
        if report is not None and self.last_search is not None and self.last_search.candidates:
            report(self.last_search.candidates, self.last_search.game)

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
        self._searching.interrupt()

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
        self._searching.analyze(self._position(color), report, every, stop)

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

    def _position(self, color: int | None) -> Game:
        """Return the game with a side to play: the session's own if it is that side's turn, otherwise a copy."""
        if color in (None, self.game.to_play):
            return self.game
        game = self.game.copy()
        game.to_play = color
        return game

    # --- the end ---

    def ownership(self) -> Ownership:
        """Estimate by playouts who will own which point."""
        return Ownership.of(self.game)

    def ending(self, game: Game | None = None) -> Ending:
        """Decide which stones of the game, or of another one, are dead; none if all count as alive.

        It may take seconds, once for each position.
        """
        game = game or self.game
        return count(game) if self.all_alive else self._endings(game)

    def result(self) -> str:
        """Score the game without its dead stones: ``B+3.5``, ``W+R``, ``0``; ``?`` if it is unfinished."""
        return self.ending().result

    def final_result(self) -> str | None:
        """Return `result` if the game is over, and None otherwise."""
        return self.result() if self.game.is_over() else None

    def _announce_end(self) -> None:
        """Notify the player if the game is over: once per game, even if the end is undone and reached again."""
        if self.game.is_over():
            self._announce(self.game)

    def _announce(self, game: Game) -> None:
        if self._announced_end:
            return
        self._announced_end = True
        try:
            if getattr(self.player.end_game, "__func__", None) is not Player.end_game:  # the outcome may need a search
                self.player.end_game(game, self.ending(game).rest.outcome)
        except RlgoError as error:  # the move has been played and must not fail
            print_note(str(error))
        except Exception:
            print_bug()
