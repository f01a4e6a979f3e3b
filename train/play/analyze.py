"""What a player thinks of a position: `rlgo analyze`.

Start reading at `analyze`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rlgo.board import BLACK
from rlgo.coords import from_row_col, to_vertex
from rlgo.draw import board_text, values_text
from rlgo.errors import RlgoError
from rlgo.game import COLOR_NAMES, Game
from rlgo.player import RESIGN, Player
from rlgo.weights import Weights, show

_SHARES = {"visits": "share of the simulations that took each move"}  # maps that are no P(Black wins)


@dataclass(frozen=True)
class Analysis:
    """What `analyze` finds.

    Attributes
    ----------
    game : the position
    player, move : who was asked, and the answer: a point, PASS or RESIGN
    report : the search in words
    maps : by name, float64[size, size] of P(Black wins) after each move, NaN where there is none
    memory : what the search has learned, for players that learn while they play
    """

    game: Game
    player: str
    move: int
    report: list[str]
    maps: dict[str, np.ndarray]
    memory: Weights | None

    def to_json(self) -> dict[str, Any]:
        """As JSON: each map by vertex, the moves that are best for the colour to play first."""
        return {
            "player": self.player,
            "to_play": COLOR_NAMES[self.game.to_play],
            "move": self.name_of(self.move),
            "report": self.report,
            "maps": {name: dict(self.ranked(name)) for name in self.maps},
        }

    def ranked(self, name: str) -> list[tuple[str, float]]:
        """(vertex, value) of each move on a map, the best for the colour to play first."""
        values = self.maps[name]
        found = [(float(values[row, col]), int(row), int(col)) for row, col in np.argwhere(~np.isnan(values))]
        found.sort(reverse=self.game.to_play == BLACK or name in _SHARES)
        size = self.game.size
        return [(to_vertex(from_row_col(row, col, size), size), value) for value, row, col in found]

    def shown(self) -> dict[str, np.ndarray]:
        """The maps that say something."""
        return {name: values for name, values in self.maps.items() if not np.isnan(values).all()}

    def text(self, top: int = 10, unicode: bool = True) -> str:
        """For a terminal: the board, the search, each map, and the `top` shapes of each block that moved most."""
        game = self.game
        parts = [
            board_text(game.board, game.last_move, unicode),
            "\n".join(
                [f"{COLOR_NAMES[game.to_play]} to play; {self.player} plays {self.name_of(self.move)}", *self.report]
            ),
        ]
        for name, values in self.shown().items():
            best = ", ".join(f"{vertex} {value:.1%}" for vertex, value in self.ranked(name)[:5])
            here = f"{name}: {describe_map(name)}, in per cent; best: {best}"
            mark = self.move if self.move != RESIGN else None
            parts.append(f"{here}\n\n{values_text(game.board, values, mark, unicode)}")
        if self.memory is not None and top:
            parts.append(
                f"What the search has learned, the strongest shapes first\n\n{show(self.memory, top, unicode)}"
            )
        return "\n\n".join(parts)

    def name_of(self, move: int) -> str:
        """A move as people write it."""
        return "resign" if move == RESIGN else to_vertex(move, self.game.size)


def describe_map(name: str) -> str:
    """What a map of `Player.analyses` shows."""
    return _SHARES.get(name, "P(Black wins) after each move")


def analyze(game: Game, player: Player) -> Analysis:
    """Let the player choose a move in the position of `game`, and ask what it thought.

    Raises
    ------
    RlgoError : if the game is over, or the player cannot play on its board.
    """
    if game.is_over():
        raise RlgoError("the game is over: expected a position with a move to choose; --move N takes an earlier one")
    player.new_game()
    move = player.genmove(game)
    maps = {name: values.copy() for name, values in player.analyses().items()}
    return Analysis(game, player.name, move, player.report(), maps, player.memory())
