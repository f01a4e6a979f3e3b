"""One game between two players, and who has won it, by our own referee: legality, superko, time and area.

Start reading at `play_game`. Whoever breaks the rules, crashes, falls silent, oversteps its time, or knows another
board than the referee's at the end, forfeits the game. Games are scored by area as they stand; all stones are alive.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

from rlgo.board import BLACK, WHITE
from rlgo.clock import Clock, TimeSettings
from rlgo.coords import to_vertex
from rlgo.errors import RlgoError
from rlgo.game import COLOR_NAMES, Game
from rlgo.player import RESIGN, Player
from rlgo.sgf import write_sgf
from train.players.engines import EngineError


@dataclass(frozen=True)
class Rules:
    """What the players of a game agree on."""

    size: int
    komi: float
    max_moves: int  # plies, the opening included, after which a game is scored as it stands
    time: TimeSettings | None = None  # of each side
    check_scores: bool = False  # ask engines for their final_score, too
    sgf: bool = False  # make a record of it


@dataclass(frozen=True)
class GameRecord:
    """A game that is over."""

    moves: tuple[int, ...]  # the opening included
    z: float  # 1 Black won, 0 White won, 0.5 a draw
    result: str  # as SGF has it: B+3.5, W+R, B+T, W+F ...
    capped: bool = False  # stopped at max_moves
    forfeit: str = ""  # why the loser forfeited, in words
    seconds: tuple[float, float] = (0.0, 0.0)  # Black's and White's, of all its moves
    longest: tuple[float, float] = (0.0, 0.0)  # of one move
    scores: dict[str, str] = field(default_factory=dict)  # what engines say of the final position, by colour
    sgf: bytes = b""


def play_game(
    black: Player, white: Player, opening: Sequence[int], rules: Rules, comment: str = "", names: Sequence[str] = ()
) -> GameRecord:
    """Play one game.

    Parameters
    ----------
    opening : moves that are played already
    comment : on the game, for its SGF record; names : of the players there, Black's first

    Raises
    ------
    EngineError : for an engine that cannot be started for the game.
    """
    game = Game(rules.size, rules.komi)
    for p in opening:
        game.play(p)
    players = {BLACK: black, WHITE: white}
    clock = Clock(rules.time)
    seconds, longest = {BLACK: 0.0, WHITE: 0.0}, {BLACK: 0.0, WHITE: 0.0}
    scores: dict[str, str] = {}
    comments: dict[int, str] = {}
    black_name, white_name = names or (black.name, white.name)

    def record(loser: int = 0, why: str = "", mark: str = "F", capped: bool = False) -> GameRecord:
        z, result = game.outcome, game.result
        if loser:
            z, result = float(loser == WHITE), f"{COLOR_NAMES[3 - loser][0]}+{mark}"
            why = f"{COLOR_NAMES[loser]} forfeits: {why}"
        about = "\n".join(filter(None, [comment, why]))
        return GameRecord(
            moves=tuple(p for _, p in game.moves),
            z=z,
            result=result,
            capped=capped,
            forfeit=why,
            seconds=(seconds[BLACK], seconds[WHITE]),
            longest=(longest[BLACK], longest[WHITE]),
            scores=scores,
            sgf=write_sgf(game, black_name, white_name, result, about, comments) if rules.sgf else b"",
        )

    for player in players.values():
        player.start_clock(rules.time)
        player.new_game()
    while not game.is_over():
        if len(game.moves) >= rules.max_moves:
            return record(capped=True)
        color = game.to_play
        player = players[color]
        budget = player.read_clock(clock, color, game.size)
        start = time.monotonic()
        try:
            p = _ask(player, game)
            took = time.monotonic() - start
            clock.spend(color, took, budget)
            seconds[color] += took
            longest[color] = max(longest[color], took)
            if clock.has_lost(color):
                return record(color, f"{player.name}: out of time ({rules.time})", "T")
            if p != RESIGN:
                game.play(p)
        except EngineError as error:
            late = rules.time is not None and time.monotonic() - start > (clock.allows(color) or 0.0)
            return record(color, str(error), "T" if late else "F")
        except RlgoError as error:
            return record(color, f"{player.name}: {error}")
        except Exception as error:
            # A bug in a player loses its game, like a crash, but must not be overlooked.
            traceback.print_exc(file=sys.stderr)
            return record(color, f"{player.name}: {type(error).__name__}: {error}")
        if p == RESIGN:
            game.resign()
        elif rules.sgf:
            comments[len(game.moves)] = "\n".join(player.report())
    for color, player in players.items():
        wrong = _other_board(player, game)
        if wrong:
            return record(color, wrong)
    for color, player in players.items():
        try:
            player.end_game(game)
        except RlgoError as error:
            print(f"rlgo: {player.name}: {error}", file=sys.stderr)
        if rules.check_scores and not game.resigned:
            try:
                score = player.final_score()
                if score is not None:
                    scores[COLOR_NAMES[color]] = score
            except EngineError as error:
                scores[COLOR_NAMES[color]] = f"? {error}"
    return record()


def _ask(player: Player, game: Game) -> int:
    """A player's move, within its limit."""
    try:
        return int(player.genmove(game))
    finally:
        player.limit = None


def _other_board(player: Player, game: Game) -> str:
    """What is wrong with the stones that an engine sees at the end, in words; "" if nothing, or if it cannot tell."""
    try:
        for color in COLOR_NAMES:
            listed = player.stones(game, color)
            if listed is None:
                return ""
            here = {p for p, c in enumerate(game.board.color.tolist()) if c == color}
            if listed != here:
                vertex = to_vertex(min(listed ^ here), game.size)
                return f"{player.name} sees other stones than the referee, at {vertex} for one"
    except RlgoError as error:
        return str(error)
    return ""
