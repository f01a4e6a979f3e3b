"""A player's analysis of a position: `rlgo analyze`.

Start reading at `analyze`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK
from rlgo.go.coords import from_row_col, to_vertex
from rlgo.go.draw import board_text, values_text
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.player import RESIGN, Player, check_player, name_of_move

_MEANINGS = {  # of maps that show something else than P(Black wins)
    "visits": "share of the simulations that took each move",
    "policy": "probability of each move by the network",
    "ownership": "P(Black owns each point in the end) by the network",
}
_OF_MOVES = ("visits", "policy")  # maps whose highest values are the best moves, whoever is to play


@dataclass(frozen=True)
class Analysis:
    """The result of `analyze`.

    Attributes
    ----------
    game : the position
    player : the player's name
    move : the player's choice: a point, PASS or RESIGN
    report : the player's description of its search, one line each
    maps : by name, float64[size, size]: P(Black wins) after each move, NaN where there is no value
    memory : what the search has learned, if the player learns while it plays
    chance : Black's chance of winning by the player's best move (`Player.chance`); None without a calibration
    score : Black's points in the position (`Player.scores`); None for a player that has none
    """

    game: Game
    player: str
    move: int
    report: list[str]
    maps: dict[str, np.ndarray]
    memory: Weights | None
    chance: float | None = None
    score: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON; each map by vertex, best move for the side to play first."""
        return {
            "player": self.player,
            "to_play": COLOR_NAMES[self.game.to_play],
            "move": self.name_of(self.move),
            "chance": self.chance,
            "score": self.score,
            "report": self.report,
            "maps": {name: dict(self.ranked(name)) for name in self.maps},
        }

    def ranked(self, name: str) -> list[tuple[str, float]]:
        """List (vertex, value) of the moves on a map, best for the side to play first."""
        values = self.maps[name]
        moves = [(float(values[row, col]), int(row), int(col)) for row, col in np.argwhere(~np.isnan(values))]
        moves.sort(reverse=self.game.to_play == BLACK or name in _OF_MOVES)
        size = self.game.size
        return [(to_vertex(from_row_col(row, col, size), size), value) for value, row, col in moves]

    def known_maps(self) -> dict[str, np.ndarray]:
        """Return the maps that have any value."""
        return {name: values for name, values in self.maps.items() if not np.isnan(values).all()}

    def text(self, top: int = 10, unicode: bool = True) -> str:
        """Format for a terminal: the board, the search, each map, and what was learned.

        Parameters
        ----------
        top : number of shapes of each block, the most changed ones first; 0 for none
        unicode : draw stones as Unicode characters
        """
        game = self.game
        chance = [] if self.chance is None else [f"Black's chance of winning: {self.chance:.0%}"]
        chance += [] if self.score is None else [f"score: {'BW'[self.score < 0]}+{abs(self.score):.1f}"]
        parts = [
            board_text(game.board, game.last_move, unicode),
            "\n".join(
                [
                    f"{COLOR_NAMES[game.to_play]} to play; {self.player} plays {self.name_of(self.move)}",
                    *chance,
                    *self.report,
                ]
            ),
        ]
        for name, values in self.known_maps().items():
            best = ", ".join(f"{vertex} {value:.1%}" for vertex, value in self.ranked(name)[:5])
            here = f"{name}: {describe_map(name)}, in per cent" + f"; best: {best}" * (name != "ownership")
            mark = self.move if self.move != RESIGN else None
            parts.append(f"{here}\n\n{values_text(game.board, values, mark, unicode)}")
        if self.memory is not None and top:
            parts.append(f"What the search has learned, strongest shapes first\n\n{self.memory.show(top, unicode)}")
        return "\n\n".join(parts)

    def name_of(self, move: int) -> str:
        """Return the name of a move: a vertex, ``pass`` or ``resign``."""
        return name_of_move(move, self.game.size)


def describe_map(name: str) -> str:
    """Describe what a map of `Player.analyses` shows."""
    return _MEANINGS.get(name, "P(Black wins) after each move")


def analyze(game: Game, player: Player) -> Analysis:
    """Let a player choose a move in the position of `game`, and collect its analysis.

    Raises
    ------
    RlgoError : if the game is over, or the player does not support its board size.
    """
    check("game", game, Game)
    check_player("player", player)
    if game.is_over():
        raise RlgoError("the game is over: expected a position before its end; choose one with --move N")
    player.new_game()
    move = player.genmove(game)
    maps = {name: values.copy() for name, values in player.analyses().items()}
    best = next(iter(player.candidates(game)), None)
    chance = None if best is None or player.calibration is None else player.chance(best.value, game)
    return Analysis(game, player.name, move, player.report(), maps, player.memory(), chance, player.scores(game)[0])
