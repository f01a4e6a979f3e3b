"""KataGo's commands, for Sabaki, LizzieYzy and others: ``kata-analyze`` and related commands, and the rules.

rlgo plays by one set of rules: area, positional superko, no suicide. Winning chances are `Player.chance`. Scores and
ownership come from playouts after the lines of the search, see `Ownership.after`: they are rougher than KataGo's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.play.gtp.analyze import LINE_MOVES, AnalysisOptions, least_value, report_choice, report_until_over
from rlgo.play.gtp.arguments import vertices
from rlgo.play.gtp.protocol import Stream, command
from rlgo.play.ownership import Ownership
from rlgo.play.player import Candidate, Player, won_by
from rlgo.play.session import GameSession

RULES: dict[str, Any] = {
    "friendlyPassOk": False, "hasButton": False, "ko": "POSITIONAL", "scoring": "AREA", "suicide": False,
    "tax": "NONE", "whiteHandicapBonus": "0",
}  # fmt: skip
# Names of equivalent rules: the differences, such as simple ko, decide no game here.
RULES_NAMES = (
    "chinese", "chinese-ogs", "chinese-kgs", "chineseogs", "chinesekgs", "tromp-taylor", "tromptaylor", "cgos",
)  # fmt: skip
_FREE = ("friendlyPassOk", "whiteHandicapBonus", "suicide", "ko")  # a client may set others, without effect
_SCORED = 6  # moves whose scores are played out; other moves get the score of the position
_PLAYOUTS = 200  # for the score of a move


def check_rules(text: str | dict[str, Any]) -> None:
    """Raise an RlgoError unless rules, a name or KataGo's JSON, are equivalent to those of rlgo."""
    try:
        rules = json.loads(text) if isinstance(text, str) and text.lstrip().startswith("{") else text
    except ValueError:
        raise RlgoError("syntax error: expected the name of rules, or JSON") from None
    if isinstance(rules, str):
        if rules.lower() not in RULES_NAMES:
            raise RlgoError(f"rules {rules!r}: expected area scoring, such as chinese or tromp-taylor")
        return
    for key, value in rules.items():
        if key in RULES and key not in _FREE and value != RULES[key]:
            raise RlgoError(f"rules: {key} = {value!r}: expected {RULES[key]!r}")


@command("kata-get-rules")
def get_rules(_session: GameSession, _args: list[str]) -> str:
    """Return the rules as JSON."""
    return json.dumps(RULES)


@command("kata-set-rules")
def set_rules(_session: GameSession, args: list[str]) -> None:
    """Accept rules that are equivalent to those of rlgo, and refuse others."""
    check_rules(" ".join(args))


@command("kata-analyze", streams=True)
def analyze(session: GameSession, args: list[str], stream: Stream) -> None:
    """Search without playing, and report as KataGo does until another command arrives."""
    report_until_over(session, args, stream, _line)


@command("kata-genmove_analyze", streams=True)
def genmove_analyze(session: GameSession, args: list[str], stream: Stream) -> None:
    """Choose a move and play it, reporting as KataGo does during the search."""
    report_choice(session, args, stream, _line, session.genmove)


@command("kata-search_analyze", streams=True)
def search_analyze(session: GameSession, args: list[str], stream: Stream) -> None:
    """Choose a move, and report it like `kata-genmove_analyze`, without playing it."""
    report_choice(session, args, stream, _line, session.suggest)


class MoveInfo(NamedTuple):
    """The data of a move in KataGo's protocols; chances and scores are those of one colour."""

    move: str
    visits: int
    winrate: float
    lcb: float
    prior: float
    score: float
    order: int
    pv: list[str]


def move_infos(found: Sequence[Candidate], game: Game, player: Player, color: int, score: float) -> list[MoveInfo]:
    """Describe candidates, for a colour.

    score : of the position for Black, which moves that are not played out get
    """
    sign = 1 if color == BLACK else -1
    infos = []
    for order, c in enumerate(found):
        chance, least = (won_by(color, player.chance(v, game)) for v in (c.value, least_value(c, game)))
        mean = Ownership.after(game, [(c.line or [c.move], 1.0)], _PLAYOUTS).score if order < _SCORED else score
        prior = 0.0 if math.isnan(c.prior) else c.prior
        pv = vertices(c.line[:LINE_MOVES] or [c.move], game.size).split()
        infos.append(MoveInfo(to_vertex(c.move, game.size), c.visits, chance, least, prior, sign * mean, order, pv))
    return infos


def owners_of(found: Sequence[Candidate], game: Game) -> Ownership:
    """Estimate who will own which point, as a search sees it."""
    return Ownership.after(game, [(c.line, float(c.visits)) for c in found[:_SCORED]])


def _line(found: Sequence[Candidate], game: Game, player: Player, options: AnalysisOptions) -> str:
    """Format candidates as KataGo does, for the side to play."""
    color = game.to_play
    owners = owners_of(found, game)
    parts = []
    for info in move_infos(found[: options.most], game, player, color, owners.score):
        text = (
            f"info move {info.move} visits {info.visits} edgeVisits {info.visits} utility {2 * info.winrate - 1:.6f} "
            f"winrate {info.winrate:.6f} scoreMean {info.score:.3f} scoreStdev 0 scoreLead {info.score:.3f} "
            f"scoreSelfplay {info.score:.3f} prior {info.prior:.6f} lcb {info.lcb:.6f} "
            f"utilityLcb {2 * info.lcb - 1:.6f} weight {info.visits} order {info.order} pv {' '.join(info.pv)}"
        )
        parts.append(text + (f" pvVisits {' '.join([str(info.visits)] * len(info.pv))}" if options.pv_visits else ""))
    sign = 1 if color == BLACK else -1
    if options.root and found:
        chance = won_by(color, player.chance(found[0].value, game))
        visits = sum(c.visits for c in found)
        parts.append(
            f"rootInfo visits {visits} utility {2 * chance - 1:.6f} winrate {chance:.6f} "
            f"scoreLead {sign * owners.score:.3f}"
        )
    if options.ownership:
        parts.append("ownership " + " ".join(f"{sign * x:.3f}" for x in owners.map[::-1].ravel()))
    return " ".join(parts)
