"""The curve of a game: a player's evaluation after each move, and the turning points: `rlgo analyze --game`.

Start reading at `curve_of`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.player import Player, name_of_move, won_by
from train.console import Progress, StopRequest, table

TURN = 0.1  # a move that loses at least this much of its side's chances is a turning point
_ROWS, _COLUMNS = 10, 72  # of the curve in a terminal


class Step(NamedTuple):
    """One move of the game."""

    color: int
    point: int
    value: float  # P(Black wins) after it
    best: int  # the player's choice in its place: a point, PASS or RESIGN


class Turn(NamedTuple):
    """A turning point."""

    number: int  # of the move, from 1
    step: Step
    loss: float  # of the mover's chances of winning


@dataclass(frozen=True)
class Curve:
    """The result of `curve_of`.

    Attributes
    ----------
    game : the whole game
    player : the name of the player that evaluated it
    start : P(Black wins) before the first move
    steps : the moves, up to the last one before the end of the game
    """

    game: Game
    player: str
    start: float
    steps: list[Step]

    @property
    def values(self) -> list[float]:
        """P(Black wins) at the start and after each move."""
        return [self.start, *(step.value for step in self.steps)]

    def turns(self, most: int) -> list[Turn]:
        """List the turning points in the order of the game: the `most` moves that lost most, `TURN` or more each."""
        values = self.values
        found = [
            Turn(i + 1, step, won_by(step.color, values[i]) - won_by(step.color, values[i + 1]))
            for i, step in enumerate(self.steps)
        ]
        worst = sorted((turn for turn in found if turn.loss >= TURN), key=lambda turn: -turn.loss)[:most]
        return sorted(worst)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        turns = {turn.number for turn in self.turns(len(self.steps))}
        return {
            "player": self.player,
            "start": self.start,
            "moves": [
                {
                    "move": number,
                    "color": COLOR_NAMES[step.color],
                    "vertex": self.name_of(step.point),
                    "value": step.value,
                    "best": self.name_of(step.best),
                    "is_turn": number in turns,
                }
                for number, step in enumerate(self.steps, 1)
            ],
        }

    def text(self, top: int = 10, unicode: bool = True) -> str:
        """Format for a terminal: the curve, and at most `top` turning points."""
        head = f"{len(self.steps)} moves, as {self.player} sees them: P(Black wins) after each"
        turns = self.turns(top)
        rows = [
            [
                f"{turn.number}",
                f"{COLOR_NAMES[turn.step.color]} {self.name_of(turn.step.point)}",
                f"{self.values[turn.number - 1]:.0%}",
                f"{turn.step.value:.0%}",
                self.name_of(turn.step.best),
            ]
            for turn in turns
        ]
        all_of_them = len(self.turns(len(self.steps)))
        below = [] if all_of_them else [f"no move lost {TURN:.0%} or more"]
        if rows:
            below.append(table(["move", "played", "before", "after", f"{self.player} plays"], rows, align="rlrrl"))
        if all_of_them > len(turns):
            below.append(f"{all_of_them - len(turns)} more, which lost less: --top {all_of_them}")
        drawn = _drawn(self.values, {turn.number for turn in turns}, unicode)
        return "\n".join([head, "", drawn, "", "Turning points", "", *below])

    def name_of(self, point: int) -> str:
        """Return the name of a move: a vertex, ``pass`` or ``resign``."""
        return name_of_move(point, self.game.size)


def _drawn(values: list[float], turns: set[int], unicode: bool) -> str:
    """Draw a curve of probabilities; positions after a turning point stand out."""
    plain, turn, middle = ("·", "●", "─") if unicode else (".", "*", "-")
    every = math.ceil(len(values) / _COLUMNS)  # moves in a column
    columns = [range(i, min(i + every, len(values))) for i in range(0, len(values), every)]
    lines = [[middle if row == _ROWS // 2 else " "] * len(columns) for row in range(_ROWS + 1)]
    for x, moves in enumerate(columns):
        for i in moves:
            row = _ROWS - round(_ROWS * min(1.0, max(0.0, values[i])))
            if lines[row][x] != turn:
                lines[row][x] = turn if i in turns else plain
    labels = {0: "100 %", _ROWS // 2: "50 %", _ROWS: "0 %"}
    drawn = [f"{labels.get(row, ''):>6} {''.join(line)}".rstrip() for row, line in enumerate(lines)]
    ticks = [" "] * (len(columns) + 4)
    for x in range(0, len(columns), 10):
        ticks[x : x + len(str(x * every))] = str(x * every)
    return "\n".join([*drawn, f"{'move':>6} {''.join(ticks)}".rstrip()])


def curve_of(game: Game, player: Player, request: StopRequest | None = None) -> Curve:
    """Let a player search every position of a game, and collect its values.

    The value of a position is the chance (`Player.chance`) of the player's best move there. Positions after the end of
    the game are left out.

    request : a request to stop: the curve then ends early

    Raises
    ------
    RlgoError : if the player has no opinion of positions.
    """
    player.new_game()
    found: list[tuple[float, int]] = []  # the value of each position, and the player's move there
    with Progress(len(game.moves) + 1, "positions") as progress:
        for n in range(len(game.moves) + 1):
            position = game.after(n)
            if position.is_over() or (found and request):
                break
            found.append(_opinion(position, player))
            progress.update()
    start = found[0][0] if found else math.nan
    pairs = zip(game.moves, found, found[1:], strict=False)
    steps = [Step(color, p, value, best) for (color, p), (_, best), (value, _) in pairs]
    return Curve(game, player.name, start, steps)


def _opinion(position: Game, player: Player) -> tuple[float, int]:
    """Return Black's chance in a position, and the player's move there."""
    move = player.genmove(position)
    candidates = player.candidates(position)
    if not candidates:
        raise RlgoError(f"{player.name} does not evaluate positions: expected a player that searches or evaluates")
    return player.chance(candidates[0].value, position), move
