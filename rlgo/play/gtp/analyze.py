"""``lz-analyze`` and related commands, for Sabaki and Lizzie: report the candidates of a search while it runs.

The format is Leela Zero's.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK
from rlgo.go.coords import COLORS, to_vertex
from rlgo.go.game import Game
from rlgo.play.gtp.arguments import vertices
from rlgo.play.gtp.commands import move_text
from rlgo.play.gtp.protocol import Stream, command
from rlgo.play.player import Candidate, Player, won_by
from rlgo.play.searching import REPORT_SECONDS, Report
from rlgo.play.session import GameSession

LINE_MOVES = 12  # length of a reported principal variation

POLL_SECONDS = 0.01


@command("analyze", "lz-analyze", streams=True)
def analyze(session: GameSession, args: list[str], stream: Stream) -> None:
    """Search without playing, and report the candidates until another command arrives."""
    color, every = parse_arguments(args, session.game.to_play)
    stream.write()
    session.analyze(_info_writer(session, stream), every, color, stream.is_over)
    while not stream.is_over():  # the search is complete
        time.sleep(POLL_SECONDS)


@command("genmove_analyze", "lz-genmove_analyze", streams=True)
def genmove_analyze(session: GameSession, args: list[str], stream: Stream) -> None:
    """Choose a move and play it, reporting candidates during the search."""
    color, every = parse_arguments(args, session.game.to_play)
    stream.write()
    p = session.genmove(color, _info_writer(session, stream), every)
    stream.write(f"play {move_text(p, session.game.size)}")


def _info_writer(session: GameSession, stream: Stream) -> Report:
    return lambda candidates, game: stream.write(info_line(candidates, game, session.player))


def parse_arguments(args: list[str], to_play: int) -> tuple[int, float]:
    """Parse ``[COLOR] [[interval] CENTISECONDS] [minmoves N] ...``: the colour, and the seconds between two reports."""
    rest = [text.lower() for text in args]
    color = COLORS[rest.pop(0)] if rest and rest[0] in COLORS else to_play
    every = REPORT_SECONDS
    while rest:
        word = rest.pop(0)
        if word in ("minmoves", "maxmoves") and rest:  # all moves are reported anyway
            rest.pop(0)
            continue
        if word == "interval" and rest:
            word = rest.pop(0)
        if not re.fullmatch("[0-9]{1,6}", word):
            raise RlgoError("syntax error: expected [COLOR] [CENTISECONDS]")
        every = int(word) / 100
    return color, max(every, POLL_SECONDS)


def info_line(candidates: Sequence[Candidate], game: Game, player: Player) -> str:
    """Format candidates: ``info move D4 visits 321 winrate 5312 prior 900 lcb 4766 order 0 pv D4 E5 info move ...``.

    winrate, prior and lcb are in 1/10,000, for the side to play. winrate and lcb are chances of winning, see
    `Player.chance`. The prior is the probability of playing the move, as in Leela Zero, for a search with a policy, and
    else H, a value. lcb belongs to the lower end of the 95 % interval if the value is a mean of `visits` games, as in a
    tree search; for other players it means little.
    """
    return " ".join(_info(c, order, game, player) for order, c in enumerate(candidates))


def _info(candidate: Candidate, order: int, game: Game, player: Player) -> str:
    value = min(1.0, max(0.0, candidate.value))  # a linear value is unbounded
    mine, low = (won_by(game.to_play, player.chance(v, game)) for v in (value, least_value(candidate, game)))
    name = to_vertex(candidate.move, game.size)
    parts = [f"info move {name} visits {candidate.visits} winrate {_per_10_000(mine)}"]
    if not math.isnan(candidate.prior):
        parts.append(f"prior {_per_10_000(candidate.prior)}")
    line = vertices(candidate.line[:LINE_MOVES], game.size)
    return " ".join([*parts, f"lcb {_per_10_000(low)} order {order} pv {line}"])


def least_value(candidate: Candidate, game: Game) -> float:
    """Return the value at that end of the 95 % interval which is worse for the side to play, within 0 and 1."""
    value = min(1.0, max(0.0, candidate.value))
    sign = 1 if game.to_play == BLACK else -1
    least = value - sign * 1.96 * math.sqrt(value * (1 - value) / max(1, candidate.visits))
    return min(1.0, max(0.0, least))


def _per_10_000(p: float) -> int:
    return round(10_000 * p)
