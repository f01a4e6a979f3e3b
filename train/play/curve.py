"""The curve of a game: a player's evaluation after each move, and the turning points: `rlgo analyze --game`.

Start reading at `curve_of`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.player import Player, name_of_move, won_by
from train.console import Progress, table
from train.play.record import Record, text_of
from train.process import StopRequest

NO_MOVE = -2  # in place of a player's choice that is not known

TURN = 0.1  # a move that loses at least this much of its side's chances is a turning point
BLUNDER = 0.2  # a turning point that loses this much is a bad move (BM), and otherwise a doubtful one (DO)
PHASES = ("opening", "middle game", "endgame")
_PHASE_ENDS = (0.15, 0.45)  # moves of both sides, as shares of the board's points
LINE_MOVES = 8  # of the player's choice and what follows it
BETTER = "better"  # the name of a variation that it adds
_CURVE = "SBKV"  # Sabaki's property for P(Black wins), in per cent, which it draws as a curve
_ROWS, _COLUMNS = 10, 72  # of the curve in a terminal


class Step(NamedTuple):
    """One move of the game."""

    color: int
    point: int
    value: float  # P(Black wins) after it
    best: int  # the player's choice in its place: a point, PASS or RESIGN
    line: tuple[int, ...] = ()  # that choice, and the moves that the player expects after it


class Opinion(NamedTuple):
    """A player's evaluation of a position."""

    value: float  # P(Black wins): the chance by its best move
    best: int  # its move: a point, PASS or RESIGN
    line: tuple[int, ...] = ()  # that move, and the moves that it expects after it


class Losses(NamedTuple):
    """What the moves of one colour in one phase of the game have lost."""

    color: int
    phase: str  # one of PHASES
    moves: int
    mean: float  # loss of a move, in chances of winning; a move that gains counts as 0
    turns: int  # moves that lost `TURN` or more


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
        found = [Turn(i, step, loss) for i, (step, loss) in enumerate(zip(self.steps, self.losses, strict=True), 1)]
        worst = sorted((turn for turn in found if turn.loss >= TURN), key=lambda turn: -turn.loss)[:most]
        return sorted(worst)

    @property
    def losses(self) -> list[float]:
        """What each move has lost of its side's chances of winning; below 0 if it gained."""
        values = self.values
        return [won_by(step.color, values[i]) - won_by(step.color, values[i + 1]) for i, step in enumerate(self.steps)]

    def by_phase(self) -> list[Losses]:
        """Sum the losses up by colour and phase, and leave out phases without moves."""
        ends = [share * self.game.size**2 for share in _PHASE_ENDS]
        found: dict[tuple[int, int], list[float]] = {}
        for i, (step, loss) in enumerate(zip(self.steps, self.losses, strict=True)):
            found.setdefault((step.color, sum(i >= end for end in ends)), []).append(max(0.0, loss))
        return [
            Losses(color, PHASES[phase], len(all_), sum(all_) / len(all_), sum(loss >= TURN for loss in all_))
            for (color, phase), all_ in sorted(found.items())
        ]

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
                    "line": [self.name_of(p) for p in step.line],
                    "loss": loss,
                    "is_turn": number in turns,
                }
                for number, (step, loss) in enumerate(zip(self.steps, self.losses, strict=True), 1)
            ],
            "phases": [{**row._asdict(), "color": COLOR_NAMES[row.color]} for row in self.by_phase()],
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
        phases = [
            [COLOR_NAMES[row.color], row.phase, str(row.moves), f"{row.mean:.1%}", str(row.turns)]
            for row in self.by_phase()
        ]
        titles = ["colour", "phase", "moves", "mean loss", "turning points"]
        lost = (
            ["What the moves lost, in chances of winning", "", table(titles, phases, align="llrrr"), ""]
            if phases
            else []
        )
        return "\n".join([head, "", drawn, "", *lost, "Turning points", "", *below])

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
    found: list[Opinion] = []
    with Progress(len(game.moves) + 1, "positions") as progress:
        for n in range(len(game.moves) + 1):
            position = game.after(n)
            if position.is_over() or (found and request):
                break
            found.append(_opinion(position, player))
            progress.update()
    return curve_from(game, player.name, found)


def curve_from(game: Game, player: str, opinions: Sequence[Opinion]) -> Curve:
    """Make the curve of a player's evaluations of the first positions of a game, from the empty board on."""
    start = opinions[0].value if opinions else math.nan
    pairs = zip(game.moves, opinions, opinions[1:], strict=False)
    steps = [Step(color, p, now.value, before.best, before.line) for (color, p), before, now in pairs]
    return Curve(game, player, start, steps)


def _opinion(position: Game, player: Player) -> Opinion:
    """Let the player evaluate a position."""
    move = player.genmove(position)
    candidates = player.candidates(position)
    if not candidates:
        raise RlgoError(f"{player.name} does not evaluate positions: expected a player that searches or evaluates")
    line = next((c.line for c in candidates if c.move == move), [move])
    return Opinion(player.chance(candidates[0].value, position), move, tuple(line[:LINE_MOVES]) if move >= 0 else ())


def annotate(record: Record, curve: Curve) -> None:
    """Write a curve into the line of a record, in properties that Sabaki, KaTrain and others read.

    Each position gets Black's chance as a line of its comment and as Sabaki's SBKV. A move that lost much is marked as
    bad (BM) or doubtful (DO), unless it is judged already, and the player's own line stands beside it as a variation.
    What an earlier call has written is replaced; variations stay, and so does what others have written.
    """
    losses = [0.0, *curve.losses]
    for at, value in enumerate(curve.values):
        if math.isnan(value):
            continue
        step = curve.steps[at - 1] if at else None
        text = f"rlgo: Black {value:.1%}"
        is_turn = step is not None and losses[at] >= TURN and step.best != step.point
        if step is not None and abs(losses[at]) >= 0.0005:
            text += f", {'lost' if losses[at] > 0 else 'gained'} {abs(losses[at]):.1%}"
        if is_turn and step is not None and step.line:
            text += f"; better {' '.join(curve.name_of(p) for p in step.line)}"
            colors = (step.color, 3 - step.color) * len(step.line)
            record.add_line(at - 1, list(zip(colors, step.line, strict=False)), BETTER)
        judgement = {"BM": "1"} if losses[at] >= BLUNDER else {"DO": ""}
        record.set_own(at, {"C": text, _CURVE: f"{100 * value:.2f}", **(judgement if is_turn else {})})


def curve_in(record: Record) -> list[Opinion | None]:
    """Return the values that `annotate` or Sabaki has written into the line of a record; None where there is none."""
    found: list[Opinion | None] = []
    for at in range(len(record.game.moves) + 1):
        text = text_of(record.node(at), _CURVE)
        value = float(text) / 100 if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?", text) else math.nan
        better = next((v for v in record.variations(at) if v.name == BETTER), None) if value == value else None
        line = record.points_of(better.node) if better is not None else ()
        found.append(Opinion(min(1.0, value), line[0] if line else NO_MOVE, line) if value == value else None)
    return found
