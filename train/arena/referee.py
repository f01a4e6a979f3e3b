"""One game between two players, judged by rlgo's referee: legality, superko, time and area.

Start reading at `play_game`, then `_Referee.play`. A player forfeits the game if it breaks the rules, crashes, stops
answering, or exceeds its time, or if its own board differs from the referee's at the end. Games are scored by area as
they stand: all stones count as alive.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.clock import Clock, TimeSettings
from rlgo.go.coords import to_vertex
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.go.sgf import write_sgf
from rlgo.play.player import RESIGN, Player
from train import console, process
from train.players.engines import EngineError, GtpClient


@dataclass(frozen=True)
class GameRules:
    """The rules of a game, and what is recorded of it."""

    size: int
    komi: float
    max_moves: int  # plies, including the opening, after which a game is scored as it stands
    time: TimeSettings | None = None  # for each side; None: no clock
    sgf: bool = False  # write an SGF record
    opinions: bool = False  # keep the opinions of the players on each position


class Opinion(NamedTuple):
    """A player's evaluation of a position in which it moved."""

    value: float  # P(Black wins) by its best move
    moves: tuple[int, ...]  # points or passes, best first
    visits: tuple[int, ...]  # of each, by `Player.policy_target`

    @property
    def has_search(self) -> bool:
        """Whether the visits tell moves apart. Players that only rank moves by value give all the same number."""
        return len(set(self.visits)) > 1


@dataclass(frozen=True)
class GameRecord:
    """A finished game."""

    moves: tuple[int, ...]  # points and passes, including the opening
    z: float  # 1: Black won, 0: White won, 0.5: a draw
    result: str  # as in SGF: B+3.5, W+R, B+T, W+F ...
    capped: bool = False  # stopped after max_moves
    forfeit: str = ""  # why the loser forfeited, in words; "": no forfeit
    seconds: tuple[float, float] = (0.0, 0.0)  # total time of Black and of White
    simulations: tuple[int, int] = (0, 0)  # of all searches of Black and of White
    searches: tuple[int, int] = (0, 0)  # moves of Black and of White that simulations preceded
    sgf: bytes = b""
    opinions: dict[int, Opinion] = field(default_factory=dict)  # by the number of moves before; see `GameRules`


def play_game(
    black: Player,
    white: Player,
    opening: Sequence[int],
    rules: GameRules,
    *,
    comment: str = "",
    names: Sequence[str] = (),
) -> GameRecord:
    """Play one game to its end and judge it.

    Parameters
    ----------
    black, white : the players; `new_game` is called on each
    opening : legal moves that are played before the players take over
    rules : board, komi, length and clock
    comment : added to the SGF record
    names : of Black and White in the SGF record; by default the players' own

    Raises
    ------
    EngineError : if an engine cannot be started for the game.
    """
    referee = _Referee({BLACK: black, WHITE: white}, opening, rules)
    for player in (black, white):
        player.start_clock(rules.time)
        player.new_game()
    try:
        capped = referee.play()
        if not capped:
            referee.check_boards()
            referee.end_game()
        return referee.record(None, comment, names, capped=capped)
    except _Forfeit as forfeit:
        return referee.record(forfeit, comment, names)


class _Forfeit(Exception):
    """Ends a game that `color` loses regardless of the position."""

    def __init__(self, color: int, reason: str, mark: str = "F") -> None:
        super().__init__(reason)
        self.color = color
        self.mark = mark  # in the result: "F", or "T" for a loss on time


class _Referee:
    """A game in progress."""

    def __init__(self, players: dict[int, Player], opening: Sequence[int], rules: GameRules) -> None:
        self.players, self.rules = players, rules
        self.game = Game(rules.size, rules.komi)
        self.clock = Clock(rules.time)
        self.seconds = {BLACK: 0.0, WHITE: 0.0}
        self.simulations, self.searches = {BLACK: 0, WHITE: 0}, {BLACK: 0, WHITE: 0}
        self.comments: dict[int, str] = {}  # by number of moves: what the player reported about the last one
        self.opinions: dict[int, Opinion] = {}  # by number of moves before
        for p in opening:
            self.game.play(p)

    def play(self) -> bool:
        """Play to the end; return whether the game was stopped after `max_moves`. Raises _Forfeit."""
        game = self.game
        while not game.is_over():
            if len(game.moves) >= self.rules.max_moves:
                return True
            player = self.players[game.to_play]
            p = self._next_move(player, game.to_play)
            if p == RESIGN:
                game.resign()
        return False

    def _next_move(self, player: Player, color: int) -> int:
        """Ask for a move and, unless it is RESIGN, play it. Raises _Forfeit."""
        start = time.monotonic()
        try:
            budget = player.read_clock(self.clock, color, self.game.size)
            start = time.monotonic()
            p = int(player.genmove(self.game))
            self._spend(player, color, time.monotonic() - start, None if budget is None else player.limit)
            if simulations := player.searched():
                self.simulations[color] += simulations
                self.searches[color] += 1
            if self.rules.opinions:
                self._ask_opinion(player)
            if p != RESIGN:
                self.game.play(p)
                if self.rules.sgf:
                    self.comments[len(self.game.moves)] = "\n".join(player.report())
        except EngineError as error:
            late = self.rules.time is not None and time.monotonic() - start > (self.clock.allows(color) or 0.0)
            raise _Forfeit(color, str(error), "T" if late else "F") from None
        except RlgoError as error:
            raise _Forfeit(color, f"{_label(player)}: {error}") from None
        except _Forfeit:
            raise
        except Exception as error:
            process.repeat_lost_interrupt()
            # A bug in a player loses its game, like a crash of an engine, but must not go unnoticed.
            traceback.print_exc(file=sys.stderr)
            raise _Forfeit(color, f"{player.name}: {type(error).__name__}: {error}") from None
        finally:
            player.limit = None
        return p

    def _ask_opinion(self, player: Player) -> None:
        """Keep a player's opinion of the position in which it has just chosen a move, if it has one."""
        candidates = player.candidates(self.game)
        if candidates:
            visits = player.policy_target(self.game)
            self.opinions[len(self.game.moves)] = Opinion(candidates[0].value, tuple(visits), tuple(visits.values()))

    def _spend(self, player: Player, color: int, seconds: float, budget: float | None) -> None:
        """Count the time of a move. Raises _Forfeit if it was too long."""
        self.clock.spend(color, seconds, budget)
        self.seconds[color] += seconds
        if self.clock.has_lost(color):
            raise _Forfeit(color, f"{player.name}: out of time ({self.rules.time})", "T")

    def check_boards(self) -> None:
        """Compare the stones that engines see with the referee's. Raises _Forfeit for the first difference."""
        differences = {color: _board_difference(player, self.game) for color, player in self.players.items()}
        for color, difference in differences.items():
            if difference:
                other = differences[3 - color]
                raise _Forfeit(color, f"{difference} ({COLOR_NAMES[3 - color]}, too: {other})" if other else difference)

    def end_game(self) -> None:
        """Notify the players that the game is over."""
        for player in self.players.values():
            try:
                player.end_game(self.game, self.game.outcome)
            except RlgoError as error:
                console.message(f"rlgo: {player.name}: {error}")

    def record(
        self, forfeit: _Forfeit | None, comment: str, names: Sequence[str], *, capped: bool = False
    ) -> GameRecord:
        """Return the record of the game as it stands."""
        z, result, reason = self.game.outcome, self.game.result, ""
        if forfeit is not None:
            z, result = float(forfeit.color == WHITE), f"{COLOR_NAMES[3 - forfeit.color][0]}+{forfeit.mark}"
            reason = f"{COLOR_NAMES[forfeit.color]} forfeits at move {len(self.game.moves) + 1}: {forfeit}"
        sgf = b""
        if self.rules.sgf:
            black, white = names or (self.players[BLACK].name, self.players[WHITE].name)
            text = "\n".join(filter(None, [comment, reason]))
            sgf = write_sgf(self.game, black, white, result, text, self.comments)
        return GameRecord(
            moves=tuple(p for _, p in self.game.moves),
            z=z,
            result=result,
            capped=capped,
            forfeit=reason,
            seconds=(self.seconds[BLACK], self.seconds[WHITE]),
            simulations=(self.simulations[BLACK], self.simulations[WHITE]),
            searches=(self.searches[BLACK], self.searches[WHITE]),
            sgf=sgf,
            opinions=self.opinions,
        )


def _label(player: Player) -> str:
    """Return what tells a player apart from its opponent: of an engine, its command."""
    return player.label if isinstance(player, GtpClient) else player.name


def _board_difference(player: Player, game: Game) -> str:
    """Describe how an engine's board differs from the game's; "" if it does not, or if the player has no board."""
    try:
        for color in COLOR_NAMES:
            theirs = player.stones(game, color)
            if theirs is None:
                return ""
            ours = {p for p, c in enumerate(game.board.color.tolist()) if c == color}
            if theirs != ours:
                vertex = to_vertex(min(theirs ^ ours), game.size)
                return f"{_label(player)}: its board differs from the referee's, for example at {vertex}"
    except RlgoError as error:
        return str(error)
    return ""
