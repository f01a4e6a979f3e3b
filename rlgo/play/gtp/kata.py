"""KataGo's commands, for Sabaki, LizzieYzy and others: ``kata-analyze`` and related commands, and the rules.

rlgo plays by one set of rules: area, positional superko, no suicide. Winning chances are `Player.chance`, and scores
`Player.scores`. Ownership comes from playouts after the lines of the search, see `Ownership.after`, and so does the
score for a player that has none: they are rougher than KataGo's.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError, shown
from rlgo.go.board import BLACK
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.play.gtp.analyze import LINE_MOVES, AnalysisOptions, least_value, report_choice, report_until_over
from rlgo.play.gtp.arguments import vertices
from rlgo.play.gtp.protocol import Stream, command
from rlgo.play.notes import print_note
from rlgo.play.ownership import Ownership
from rlgo.play.player import Candidate, Player, won_by
from rlgo.play.session import GameSession

RULES: dict[str, Any] = {
    "friendlyPassOk": False, "hasButton": False, "ko": "POSITIONAL", "scoring": "AREA", "suicide": False,
    "tax": "NONE", "whiteHandicapBonus": "0",
}  # fmt: skip
_BY_NAMES: dict[str, dict[str, Any]] = {  # what differs, by names, after KataGo's documentation
    "tromp-taylor cgos goe ing": {},
    "chinese chinese-ogs chinese-kgs": {"whiteHandicapBonus": "N"},
    "aga bga french": {"ko": "SITUATIONAL", "whiteHandicapBonus": "N-1"},
    "aga-button": {"ko": "SITUATIONAL", "hasButton": True, "whiteHandicapBonus": "N-1"},
    "new-zealand nz": {"ko": "SITUATIONAL", "suicide": True},
    "stone-scoring ancient-area": {"tax": "ALL"},
    "japanese korean ancient-territory": {"scoring": "TERRITORY"},
}
_QUIET = (("ko", "SIMPLE"), ("suicide", True), ("friendlyPassOk", True))  # decides no game here, and is not told
_LINES = 6  # after which positions are played out


def read_rules(rules: str | dict[str, Any], bonus: Any = None) -> tuple[str, str]:
    """Read rules, a name or KataGo's JSON; return White's compensation for a handicap, and what is played otherwise.

    bonus : the compensation, if it is stated beside the rules
    """
    named = {name.replace("-", ""): found for names, found in _BY_NAMES.items() for name in names.split()}
    try:
        rules = json.loads(rules) if isinstance(rules, str) and rules.lstrip().startswith("{") else rules
        found = dict(named[re.sub("[-_ ]", "", rules.lower())] if isinstance(rules, str) else rules)
    except (KeyError, ValueError, TypeError):
        known = ", ".join(" ".join(_BY_NAMES).split())
        raise RlgoError(f"rules {shown(rules)}: expected JSON or one of {known}") from None
    stated = found.pop("whiteHandicapBonus", "0")
    bonus = str(stated if bonus is None else bonus)
    if bonus not in ("0", "N-1", "N"):
        raise RlgoError(f"whiteHandicapBonus = {shown(bonus)}: expected 0, N-1 or N")
    other = [(key, value) for key, value in found.items() if value != RULES.get(key, value)]
    is_told = any(pair not in _QUIET for pair in other)
    return bonus, ", ".join(f"{key} {RULES[key]} in place of {value}" for key, value in other) if is_told else ""


@command("kata-get-rules")
def get_rules(session: GameSession, _args: list[str]) -> str:
    """Return the rules as JSON."""
    return json.dumps({**RULES, "whiteHandicapBonus": session.game.white_bonus})


@command("kata-set-rules", "kgs-rules")
def set_rules(session: GameSession, args: list[str]) -> None:
    """Play by rules that score by area, or what is nearest to them, which is told; refuse others."""
    bonus, other = read_rules(" ".join(args))
    if "scoring" in other:
        raise RlgoError(f"rules {' '.join(args)}: expected others, since games are scored by area")
    session.game.white_bonus = bonus
    if other:
        print_note(f"rules {' '.join(args)}: played with {other}")


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


def scores_of(found: Sequence[Candidate], game: Game, player: Player) -> dict[int, float]:
    """Return Black's points after each candidate; the first one's are those of the position, as its chance is.

    For a player without scores, they are those of the position, by playouts.
    """
    known = player.scores(game)
    if not found or found[0].move not in known:
        return dict.fromkeys([c.move for c in found], owners_of(found, game).score)
    return {c.move: known.get(c.move, known[found[0].move]) for c in found}


def move_infos(found: Sequence[Candidate], game: Game, player: Player, color: int) -> list[MoveInfo]:
    """Describe candidates, for a colour."""
    sign, scores = 1 if color == BLACK else -1, scores_of(found, game, player)
    infos = []
    for order, c in enumerate(found):
        chance, least = (won_by(color, player.chance(v, game)) for v in (c.value, least_value(c, game)))
        prior = 0.0 if math.isnan(c.prior) else c.prior
        pv = vertices(c.line[:LINE_MOVES] or [c.move], game.size).split()
        score = sign * scores[c.move]
        infos.append(MoveInfo(to_vertex(c.move, game.size), c.visits, chance, least, prior, score, order, pv))
    return infos


def owners_of(found: Sequence[Candidate], game: Game) -> Ownership:
    """Estimate who will own which point, as a search sees it."""
    return Ownership.after(game, [(c.line, float(c.visits)) for c in found[:_LINES]])


def _line(found: Sequence[Candidate], game: Game, player: Player, options: AnalysisOptions) -> str:
    """Format candidates as KataGo does, for the side to play."""
    color = game.to_play
    parts = []
    infos = move_infos(found, game, player, color)
    for info in infos[: options.most]:
        text = (
            f"info move {info.move} visits {info.visits} edgeVisits {info.visits} utility {2 * info.winrate - 1:.6f} "
            f"winrate {info.winrate:.6f} scoreMean {info.score:.3f} scoreStdev 0 scoreLead {info.score:.3f} "
            f"scoreSelfplay {info.score:.3f} prior {info.prior:.6f} lcb {info.lcb:.6f} "
            f"utilityLcb {2 * info.lcb - 1:.6f} weight {info.visits} order {info.order} pv {' '.join(info.pv)}"
        )
        parts.append(text + (f" pvVisits {' '.join([str(info.visits)] * len(info.pv))}" if options.pv_visits else ""))
    if options.root and infos:
        best, visits = infos[0], sum(c.visits for c in found)
        parts.append(
            f"rootInfo visits {visits} utility {2 * best.winrate - 1:.6f} winrate {best.winrate:.6f} "
            f"scoreLead {best.score:.3f}"
        )
    if options.ownership:
        sign, owners = 1 if color == BLACK else -1, owners_of(found, game)
        parts.append("ownership " + " ".join(f"{sign * x:.3f}" for x in owners.map[::-1].ravel()))
    return " ".join(parts)
