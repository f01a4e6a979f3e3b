"""Commands for GoGui: move sequences, and drawings of a search.

For the formats of the drawings (``sboard``, ``dboard``, ``gfx``) see GoGui's documentation, "Analyze commands".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.gtp.analyze import LINE_MOVES
from rlgo.play.gtp.arguments import parse_color, take
from rlgo.play.gtp.protocol import command
from rlgo.play.player import Candidate, Player
from rlgo.play.session import GameSession


@command("gogui-title")
def title(session: GameSession, _args: list[str]) -> str:
    """Return the title for GoGui's window."""
    return f"rlgo {session.player.name}"


@command("gogui-interrupt")
def interrupt(_session: GameSession, _args: list[str]) -> None:
    """Announce support for ``# interrupt``."""


@command("gogui-play_sequence")
def play_sequence(session: GameSession, args: list[str]) -> None:
    """Play several moves, or none if one of them is illegal."""
    session.play_all(_moves(session, args))


@command("gogui-setup")
def setup(session: GameSession, args: list[str]) -> None:
    """Set up stones before the first move."""
    session.set_up(_moves(session, args), session.game.to_play)


@command("gogui-setup_player")
def setup_player(session: GameSession, args: list[str]) -> None:
    """Set the colour that plays first."""
    (color,) = take(args, "COLOR", parse_color)
    session.set_up([], color)


def _moves(session: GameSession, args: list[str]) -> list[tuple[int, int]]:
    """Parse pairs of a colour and a vertex."""
    if len(args) % 2:
        raise RlgoError("syntax error: expected COLOR VERTEX ...")
    pairs = [take(args[i : i + 2], "COLOR VERTEX ...", parse_color, str) for i in range(0, len(args), 2)]
    return [(color, from_vertex(vertex, session.game.size)) for color, vertex in pairs]


@command("gogui-analyze_commands")
def analyze_commands(session: GameSession, _args: list[str]) -> str:
    """List the drawings that GoGui can request for this player."""
    maps = [f"sboard/{name[:1].upper()}{name[1:]}/rlgo-map {name}" for name in session.player.analyses()]
    rest = ["gfx/Principal variation/rlgo-variation", "dboard/Ownership/rlgo-ownership"]
    return "\n".join([*maps, *rest, "string/Last search/rlgo-report"])


@command("rlgo-map")
def player_map(session: GameSession, args: list[str]) -> str:
    """Return one of the player's maps."""
    name = " ".join(args)
    maps = session.player.analyses()
    if name not in maps:
        raise RlgoError(f"map {name!r}: expected one of {', '.join(maps) or 'none'}")
    return sboard(maps[name])


@command("rlgo-variation")
def principal_variation(session: GameSession, _args: list[str]) -> str:
    """Return the principal variation of the last search."""
    if session.last_search is None:
        return "TEXT nothing has been searched"
    return variation(session.last_search.candidates, session.last_search.game, session.game, session.player)


@command("rlgo-ownership")
def ownership(session: GameSession, _args: list[str]) -> str:
    """Return the expected owner of each point, by playouts."""
    return dboard(session.ownership().map)


@command("rlgo-report")
def report(session: GameSession, _args: list[str]) -> str:
    """Return the player's report of its last search."""
    return "\n".join(session.player.report()) or "nothing has been searched"


# --- drawings ---


def sboard(values: np.ndarray) -> str:
    """Format a map as GoGui's ``sboard``: one text per point, top row first, empty where the value is NaN."""
    rows = np.flipud(values).tolist()
    return "\n" + "\n".join(" ".join('""' if math.isnan(v) else f"{v:.2f}" for v in row) for row in rows)


def dboard(values: np.ndarray) -> str:
    """Format a map from -1 (White) to 1 (Black) as GoGui's ``dboard``: numbers that it draws as squares."""
    return "\n" + "\n".join(" ".join(f"{v:.2f}" for v in row) for row in np.flipud(values).tolist())


def variation(candidates: Sequence[Candidate], searched: Game, game: Game, player: Player) -> str:
    """Format the best candidate's principal variation as GoGui's ``gfx``: numbered stones, and a line of text.

    Parameters
    ----------
    candidates : best first
    searched : the position they belong to
    game : the position now; moves of the variation played since then are left out
    """
    n = len(searched.moves)
    since = [p for _, p in game.moves[n:]]
    follows = game.setup == searched.setup and game.moves[:n] == searched.moves
    if not candidates or not follows or candidates[0].line[: len(since)] != since:
        return "TEXT nothing has been searched here"
    best, stones = candidates[0], list[str]()
    color = game.to_play if since else searched.to_play
    for p in best.line[len(since) : LINE_MOVES]:
        stones.append(f"{COLOR_NAMES[color][0].lower()} {to_vertex(p, game.size)}")
        color = 3 - color
    drawn = [f"VAR {' '.join(stones)}"] if stones else []
    return "\n".join([*drawn, f"TEXT P(Black wins) {player.chance(best.value, searched):.3f}, {best.visits:,} visits"])
