"""Positions and points as the page writes them, and back.

Start reading at `game_of`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, EMPTY, WHITE
from rlgo.go.coords import from_row_col, from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.play.ending import Ending
from train.play.web.messages.requests import Position

COLORS = {"black": BLACK, "white": WHITE}
NAMES = {color: name for name, color in COLORS.items()}


def game_of(position: Position, handicap: int = 0) -> Game:
    """Make the game of a position, with handicap stones if it has no stones of its own.

    Raises RlgoError for stones that cannot stand there, and for an illegal move.
    """
    game = Game(position.size, position.komi)
    setup = position.setup
    stones = [(COLORS[name], p) for name in COLORS for p in points_of(getattr(setup, name, []), game.size)]
    if handicap and stones:
        raise RlgoError("handicap cannot be combined with setup")
    if handicap and position.to_play == "black":
        raise RlgoError("handicap cannot be combined with to_play = black")
    if handicap:
        placed = len(game.place_free_handicap(handicap))
        if placed < handicap:
            raise RlgoError(f"handicap of {handicap} stones: expected at most {placed} on {game.size}x{game.size}")
    elif stones or position.to_play is not None:
        handicap_stones = bool(stones) and all(color == BLACK for color, _ in stones)
        first = COLORS[position.to_play] if position.to_play else WHITE if handicap_stones else BLACK
        game.set_up(stones, first)
    for number, (name, vertex) in enumerate(position.moves, 1):
        color, p = COLORS[name], from_vertex(vertex, game.size)
        why = game.why_illegal(p, color)
        if why is not None:
            raise RlgoError(f"move {number}, {vertex}: illegal: {why}")
        game.play(p, color)
    return game


def points_of(vertices: Iterable[str], size: int) -> list[int]:
    """Return the points of vertices."""
    return [from_vertex(vertex, size) for vertex in vertices]


def vertices_of(points: Iterable[int], size: int) -> list[str]:
    """Return the vertices of points."""
    return [to_vertex(int(p), size) for p in points]


def setup_of(game: Game) -> dict[str, list[str]]:
    """Return the vertices of the stones that a game began with by colour."""
    return {name: vertices_of((p for c, p in game.setup if c == color), game.size) for name, color in COLORS.items()}


def describe_end(ending: Ending) -> dict[str, Any]:
    """Return the ``score`` message."""
    game = ending.game
    sign = {BLACK: 1, WHITE: -1}
    return {
        "type": "score",
        "result": ending.result,
        "score": ending.rest.score(),
        "area": {name: ending.owners.count(color) for name, color in COLORS.items()},
        "dead": [vertices_of(chain, game.size) for chain in ending.dead],
        "seki": [vertices_of(chain, game.size) for chain in ending.seki],
        "unfinished": vertices_of(ending.unfinished, game.size),
        "ownership": [
            [sign.get(ending.owners[from_row_col(row, col, game.size)], 0) for col in range(game.size)]
            for row in range(game.size)
        ],
    }


def describe_game(game: Game, shown: Game) -> dict[str, Any]:
    """Return the fields of a ``game`` message for a game and the position shown."""
    size, ko = game.size, int(shown.board.ko)
    return {
        "size": size,
        "komi": game.komi,
        "setup": setup_of(game),
        "first": NAMES[game.first_to_play],
        "moves": [[NAMES[color], to_vertex(p, size)] for color, p in game.moves],
        "at": len(shown.moves),
        "to_play": NAMES[shown.to_play],
        "last_move": None if shown.last_move is None else to_vertex(shown.last_move, size),
        "ko": to_vertex(ko, size) if ko else None,
        "stones": {name: vertices_of(shown.stones(name), size) for name in COLORS},
        "captures": {name: shown.captures(name) for name in COLORS},
        "legal": vertices_of(shown.legal_moves(), size),
        "is_over": game.is_over(),
        "resigned": NAMES[game.resigned] if game.resigned != EMPTY else None,
    }
