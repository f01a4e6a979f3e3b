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
from typing import Any

from rlgo.base.errors import RlgoError, shown
from rlgo.go.board import BLACK
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.play.gtp.analyze import AnalysisOptions, least_value, legal_line, report_choice, report_until_over
from rlgo.play.gtp.arguments import take
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
_OTHER_NAMES = {"score": "scoring", "multiStoneSuicideLegal": "suicide"}  # of KataGo, too
_QUIET = (("ko", "SIMPLE"), ("suicide", True), ("friendlyPassOk", True))  # decides no game here, and is not told
_LINES = 6  # after which positions are played out


def read_rules(rules: str | dict[str, Any], bonus: Any = None) -> tuple[str, str]:
    """Read rules, a name or KataGo's JSON; return White's compensation for a handicap, and what is played otherwise.

    bonus : the compensation, if it is stated beside the rules
    """
    from pydantic_core import from_json  # imported here, since it takes 0.2 s; it refuses deep nesting

    named = {name.replace("-", ""): found for names, found in _BY_NAMES.items() for name in names.split()}
    try:
        rules = from_json(rules) if isinstance(rules, str) and rules.lstrip().startswith("{") else rules
        found = dict(named[re.sub("[-_ ]", "", rules.lower())] if isinstance(rules, str) else rules)
    except (KeyError, ValueError, TypeError):
        known = ", ".join(" ".join(_BY_NAMES).split())
        raise RlgoError(f"rules {shown(rules)}: expected JSON or one of {known}") from None
    found = {_OTHER_NAMES.get(key, key): value for key, value in found.items()}
    if unknown := found.keys() - RULES:
        raise RlgoError(f"rules, {shown(min(unknown))}: expected one of {', '.join(RULES)}")
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


@command("kata-set-rule")
def set_rule(session: GameSession, args: list[str]) -> None:
    """Change one rule, as `kata-set-rules` does: its name, and its value."""
    name, value = take(args, "RULE VALUE", str, str)
    values: dict[str, Any] = {"true": True, "false": False}
    rules = {"whiteHandicapBonus": session.game.white_bonus, name: values.get(value, value)}
    set_rules(session, [json.dumps(rules)])


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


def scores_of(found: Sequence[Candidate], game: Game, player: Player) -> tuple[float, dict[int, float]]:
    """Return Black's points in a position, and after each candidate.

    For a player without scores, all are those of the position by playouts.
    """
    score, known = player.scores(game)
    if score is None:
        score = ownership_of(found, game).score
    return score, {c.move: known.get(c.move, score) for c in found}


def describe(found: Sequence[Candidate], game: Game, player: Player, options: AnalysisOptions) -> dict[str, Any]:
    """Describe candidates in KataGo's words, for `options.color`: ``moveInfos``, ``rootInfo`` and ``ownership``."""
    color, (score, scores), infos = options.color, scores_of(found, game, player), list[dict[str, Any]]()
    for order, c in enumerate(found[: options.most]):
        line, least = legal_line(c, game), won_by(color, player.chance(least_value(c, game), game))
        info = {
            "move": to_vertex(c.move, game.size), "visits": c.visits, "edgeVisits": c.visits,
            **_estimates(player.chance(c.value, game), scores[c.move], color),
            "prior": 0.0 if math.isnan(c.prior) else c.prior, "lcb": least, "utilityLcb": 2 * least - 1,
            "weight": c.visits, "order": order, "pv": [to_vertex(p, game.size) for p in line],
        }  # fmt: skip
        if options.pv_visits and (c.line_visits or len(line) == 1):  # unknown to some players beyond the first
            info["pvVisits"] = list(c.line_visits[: len(line)] or [c.visits])
        if options.moves_ownership and order < _LINES:
            info["ownership"] = _numbers(Ownership.after(game, [(line, 1.0)]), color)
        infos.append(info)
    ownership: Any = ownership_of(found, game) if options.ownership or not found else None
    now = (player.chance(found[0].value, game), score) if found else (ownership.wins, ownership.score)
    to_play = "B" if game.to_play == BLACK else "W"
    root = {"visits": sum(c.visits for c in found), **_estimates(now[0], now[1], color), "currentPlayer": to_play}
    owned = {"ownership": _numbers(ownership, color)} if options.ownership else {}
    return {"moveInfos": infos, "rootInfo": root, **owned}


def _estimates(chance: float, score: float, color: int) -> dict[str, float]:
    """Name Black's chance and points as those of a colour."""
    chance, score = won_by(color, chance), score if color == BLACK else -score
    said = {"utility": 2 * chance - 1, "winrate": chance, "scoreMean": score, "scoreStdev": 0}
    return {**said, "scoreLead": score, "scoreSelfplay": score}


def ownership_of(found: Sequence[Candidate], game: Game) -> Ownership:
    """Estimate who will own which point, as a search sees it."""
    return Ownership.after(game, [(c.line, float(c.visits)) for c in found[:_LINES]])


def _numbers(ownership: Ownership, color: int) -> list[float]:
    """Return who owns each point, from the top left: 1 for a colour, -1 for the other."""
    return [round(float(x if color == BLACK else -x), 3) for x in ownership.map[::-1].ravel()]


def _line(found: Sequence[Candidate], game: Game, player: Player, options: AnalysisOptions) -> str:
    """Format candidates as KataGo does, for the side to play."""
    said = describe(found, game, player, options)
    parts = [f"info {_text(info)}".replace(" ownership ", " movesOwnership ") for info in said["moveInfos"]]
    parts += [f"rootInfo {_text(said['rootInfo'])}"] if options.root and found else []
    return " ".join(parts + ([f"ownership {_text(said['ownership'])}"] if options.ownership else []))


def _text(value: Any) -> str:
    """Format a value: of an object, its names and values."""
    if isinstance(value, dict):
        return " ".join(f"{name} {_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return " ".join(map(_text, value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)
