"""Analysis commands: report the candidates of a search while it runs.

Start reading at `report_until_over`, which also serves `kata`. ``lz-analyze`` and related commands, for Sabaki and
Lizzie, report in Leela Zero's format.
"""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS
from rlgo.go.coords import COLORS, from_vertex, to_vertex, vertices
from rlgo.go.game import Game
from rlgo.play.gtp.arguments import parse_color, parse_count, take
from rlgo.play.gtp.commands import move_text
from rlgo.play.gtp.protocol import Stream, command
from rlgo.play.notes import print_note
from rlgo.play.player import Candidate, Player, won_by
from rlgo.play.searching import REPORT_SECONDS, Report
from rlgo.play.session import GameSession

LINE_MOVES = 12  # length of a reported principal variation
_POLL_SECONDS = 0.01


class AnalysisOptions(NamedTuple):
    """What an analysis reports, how often, and of which moves."""

    color: int
    every: float = REPORT_SECONDS  # seconds
    most: int = 1_000  # moves
    ownership: bool = False
    moves_ownership: bool = False
    root: bool = False
    pv_visits: bool = False
    allow: frozenset[int] = frozenset()  # the only moves to be searched, if there are any
    avoid: frozenset[int] = frozenset()


# Formats candidates, best first, in the position of a game.
Format = Callable[[Sequence[Candidate], Game, Player, AnalysisOptions], str]

_SWITCHES = {"ownership": "ownership", "movesownership": "moves_ownership", "rootinfo": "root", "pvvisits": "pv_visits"}
_UNKNOWN = {"pvedgevisits", "ownershipstdev", "movesownershipstdev", "noresultvalue"}  # may be false
_NUMBER = "[0-9]{1,6}"


def parse_options(args: Sequence[str], game: Game, switches: Mapping[str, str] = _SWITCHES) -> AnalysisOptions:
    """Parse ``[COLOR] [[interval] CENTISECONDS] [KEY VALUE]...``, as KataGo takes it; switches are true or false."""
    rest = [text.lower() for text in args]
    found: dict[str, Any] = {"color": COLORS[rest.pop(0)] if rest and rest[0] in COLORS else game.to_play}
    while rest:
        word = rest.pop(0)
        value = word if re.fullmatch(_NUMBER, word) else rest.pop(0) if rest else ""
        if word in ("allow", "avoid"):
            color, points, depth = take([value, *rest], f"{word} COLOR VERTEX,... DEPTH", parse_color, str, parse_count)
            del rest[:2]
            if color == found["color"]:
                known = found.get(word, frozenset())
                found[word] = known.union(from_vertex(vertex, game.size) for vertex in points.split(","))
            if depth > 1:
                print_note(f"{word}: obeyed for the next move, not to depth {depth}")
        elif word in (value, "interval") and re.fullmatch(_NUMBER, value):
            found["every"] = max(_POLL_SECONDS, int(value) / 100)
        elif word == "maxmoves" and re.fullmatch(_NUMBER, value):
            found["most"] = int(value)
        elif word in switches and value in ("true", "false"):
            found[switches[word]] = value == "true"
        elif (word, value) not in [(name, "false") for name in _UNKNOWN if switches] and (
            word != "minmoves" or not re.fullmatch(_NUMBER, value)  # which lists no more: moves without visits are none
        ):
            raise RlgoError("syntax error: expected [COLOR] [CENTISECONDS] [KEY VALUE]...")
    return AnalysisOptions(**found)


def allowed_moves(game: Game, allow: Set[int], avoid: Set[int]) -> frozenset[int] | None:
    """Return the moves that a client leaves to the side to play, for `Game.allowed`; RlgoError if it leaves none.

    allow : the only ones to be left, or none if there is no such rule. A pass alone is not searched
    """
    if not allow and not avoid:
        return game.allowed
    left = frozenset(allow or {*game.legal_moves(), PASS}) - avoid
    if left.isdisjoint(game.sensible_moves()):
        raise RlgoError("no sensible move is left")
    return left


@contextlib.contextmanager
def _begin(session: GameSession, args: Sequence[str], stream: Stream, format_: Format) -> Iterator[AnalysisOptions]:
    """Parse the options, begin the answer, and restrict the moves of the position for one analysis."""
    game, options = session.game, parse_options(args, session.game, {} if format_ is info_line else _SWITCHES)
    position, before = game.copy(), game.allowed
    position.to_play = options.color
    game.allowed = allowed_moves(position, options.allow, options.avoid)
    try:
        stream.write()
        yield options
    finally:
        game.allowed = before


def report_until_over(session: GameSession, args: Sequence[str], stream: Stream, format_: Format) -> None:
    """Search without playing, and report the candidates until another command arrives."""
    session = session.analyst
    with _begin(session, args, stream, format_) as options:
        session.analyze(_writer(session, stream, options, format_), options.every, options.color, stream.is_over)
    while not stream.is_over():  # the search is complete
        time.sleep(_POLL_SECONDS)


def report_choice(
    session: GameSession, args: Sequence[str], stream: Stream, format_: Format, choose: Callable[..., int]
) -> None:
    """Choose a move, reporting the candidates during the search.

    choose : `GameSession.genmove`, which plays it, or `GameSession.suggest`
    """
    with _begin(session, args, stream, format_) as options:
        p = choose(options.color, _writer(session, stream, options, format_), options.every)
    stream.write(f"play {move_text(p, session.game.size)}")


def _writer(session: GameSession, stream: Stream, options: AnalysisOptions, format_: Format) -> Report:
    return lambda found, game: stream.write(format_(found, game, session.player, options))


# ---------------------------------------------------------------------------------------------
# Leela Zero's format
# ---------------------------------------------------------------------------------------------


@command("analyze", "lz-analyze", streams=True)
def analyze(session: GameSession, args: list[str], stream: Stream) -> None:
    """Search without playing, and report the candidates until another command arrives."""
    report_until_over(session, args, stream, info_line)


@command("genmove_analyze", "lz-genmove_analyze", streams=True)
def genmove_analyze(session: GameSession, args: list[str], stream: Stream) -> None:
    """Choose a move and play it, reporting candidates during the search."""
    report_choice(session, args, stream, info_line, session.genmove)


def info_line(candidates: Sequence[Candidate], game: Game, player: Player, options: AnalysisOptions) -> str:
    """Format candidates: ``info move D4 visits 321 winrate 5312 prior 900 lcb 4766 order 0 pv D4 E5 info move ...``.

    winrate, prior and lcb are in 1/10,000, for the side to play. winrate and lcb are chances of winning, see
    `Player.chance`. The prior is the probability of playing the move, as in Leela Zero, for a search with a policy, and
    else H, a value. lcb belongs to the lower end of the 95 % interval if the value is a mean of `visits` games, as in a
    tree search; for other players it means little.
    """
    return " ".join(_info(c, order, game, player) for order, c in enumerate(candidates[: options.most]))


def _info(candidate: Candidate, order: int, game: Game, player: Player) -> str:
    chances = (player.chance(v, game) for v in (candidate.value, least_value(candidate, game)))
    mine, low = (won_by(game.to_play, chance) for chance in chances)
    name = to_vertex(candidate.move, game.size)
    parts = [f"info move {name} visits {candidate.visits} winrate {_per_10_000(mine)}"]
    if not math.isnan(candidate.prior):
        parts.append(f"prior {_per_10_000(candidate.prior)}")
    line = vertices(legal_line(candidate, game), game.size)
    return " ".join([*parts, f"lcb {_per_10_000(low)} order {order} pv {line}"])


def legal_line(candidate: Candidate, game: Game) -> list[int]:
    """Return the first moves of a candidate's line, up to one that superko forbids: a search checks only its root."""
    position = game.copy()
    for p in candidate.line[:LINE_MOVES]:
        if not position.is_legal(p):
            break
        position.play(p)
    return [p for _, p in position.moves[len(game.moves) :]] or [candidate.move]


def least_value(candidate: Candidate, game: Game) -> float:
    """Return the value at that end of the 95 % interval which is worse for the side to play, within 0 and 1."""
    value = min(1.0, max(0.0, candidate.value))
    sign = 1 if game.to_play == BLACK else -1
    least = value - sign * 1.96 * math.sqrt(value * (1 - value) / max(1, candidate.visits))
    return min(1.0, max(0.0, least))


def _per_10_000(p: float) -> int:
    return round(10_000 * p)
