"""The review of a game: a player's evaluation of each position, and what each move lost: `rlgo analyze --game`.

Start reading at `curve_of`, then `opinion_of`. A loss compares two moves of one search: the values of two searches with
different sides to move differ by themselves.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, WHITE
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.play.player import Player, name_of_move, won_by
from train.console import Progress, table
from train.play.record import Record, text_of
from train.process import StopRequest

NO_MOVE = -2  # in place of a player's choice that is not known

WORST = 5  # moves of each side that are listed, by default
TURN = 0.1  # a move that loses at least this much of its side's chances is a turning point
BLUNDER = 0.2  # a turning point that loses this much is a bad move (BM), and otherwise a doubtful one (DO)
PHASES = ("opening", "middle game", "endgame")
_PHASE_ENDS = (0.15, 0.45)  # moves of both sides, as shares of the board's points
LINE_MOVES = 8  # of the player's choice and what follows it
_ENOUGH = 0.5  # of the best move's visits, for a value to be compared
_SAID = re.compile(
    r"rlgo: Black [0-9.]+%(?:, (?P<color>[BW])\+(?P<score>[0-9.]+))?"
    r"(?:; lost (?P<loss>-?[0-9.]+)%(?:, (?P<points>-?[0-9.]+) points)?)?"
)
BETTER = "better"  # the name of a variation that it adds
_CURVE = "SBKV"  # Sabaki's property for P(Black wins), in per cent, which it draws as a curve
_ROWS, _COLUMNS = 10, 72  # of the curve in a terminal


class Opinion(NamedTuple):
    """A player's evaluation of a position, by one search. A loss below 0 is a gain on the player's own choice.

    NaN stands for what is unknown: a loss after the last move, or of a move that the player has not searched enough;
    points, if the player has no score.
    """

    value: float  # P(Black wins): the chance by its best move
    best: int  # that move: a point, PASS or NO_MOVE
    line: tuple[int, ...] = ()  # that move, and the moves that it expects after it
    score: float = math.nan  # Black's points by that move
    loss: float = math.nan  # of the move played here, in chances of winning
    points: float = math.nan  # the same in points


class Step(NamedTuple):
    """One move of the game, with what the player thinks before and after it."""

    color: int
    point: int
    before: Opinion
    after: Opinion


class Losses(NamedTuple):
    """What the moves of one colour in one phase of the game have lost."""

    color: int
    phase: str  # one of PHASES
    moves: int  # those whose loss is known
    mean: float  # loss of a move, in chances of winning
    points: float  # the same in points; NaN without scores
    turns: int  # moves that lost `TURN` or more


@dataclass(frozen=True)
class Curve:
    """The result of `curve_of`.

    Attributes
    ----------
    game : the whole game
    player : the name of the player that evaluated it
    opinions : of the positions from the start on, up to the last one before the end of the game
    steps : the moves, up to the last one before the end of the game
    """

    game: Game
    player: str
    opinions: list[Opinion]

    @property
    def steps(self) -> list[Step]:
        """The moves with a position searched before and after them."""
        pairs = zip(self.game.moves, self.opinions, self.opinions[1:], strict=False)
        return [Step(color, p, before, after) for (color, p), before, after in pairs]

    @property
    def values(self) -> list[float]:
        """P(Black wins) at the start and after each move."""
        return [opinion.value for opinion in self.opinions]

    def worst(self, most: int = WORST) -> list[int]:
        """Return the numbers of the `most` moves of each side that lost most, in the order of the game."""
        found = [i for i, step in enumerate(self.steps, 1) if step.before.loss > 0]
        found.sort(key=lambda i: -self.opinions[i - 1].loss)
        return sorted(i for c in (BLACK, WHITE) for i in [j for j in found if self.game.moves[j - 1][0] == c][:most])

    def phase_of(self, number: int) -> str:
        """Return the phase of the game that a move belongs to, by its number from 1."""
        return PHASES[sum(number > share * self.game.size**2 for share in _PHASE_ENDS)]

    def by_phase(self) -> list[Losses]:
        """Sum the losses up by colour and phase, and leave out phases without moves."""
        found: dict[tuple[int, int], list[Opinion]] = {}
        for i, step in enumerate(self.steps, 1):
            if not math.isnan(step.before.loss):
                found.setdefault((step.color, PHASES.index(self.phase_of(i))), []).append(step.before)
        rows = []
        for (color, phase), all_ in sorted(found.items()):
            mean, points = (sum(getattr(o, name) for o in all_) / len(all_) for name in ("loss", "points"))
            rows.append(Losses(color, PHASES[phase], len(all_), mean, points, sum(o.loss >= TURN for o in all_)))
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON; None is what is unknown."""
        return {
            "player": self.player,
            "start": known(self.opinions[0].value) if self.opinions else None,
            "moves": [
                {
                    "move": number,
                    "color": COLOR_NAMES[step.color],
                    "vertex": self.name_of(step.point),
                    "value": known(step.after.value),
                    "score": known(step.after.score),
                    "best": self.name_of(step.before.best),
                    "line": [self.name_of(p) for p in step.before.line],
                    "loss": known(step.before.loss),
                    "points": known(step.before.points),
                    "is_turn": step.before.loss >= TURN,
                }
                for number, step in enumerate(self.steps, 1)
            ],
            "phases": [
                {**row._asdict(), "color": COLOR_NAMES[row.color], "points": known(row.points)}
                for row in self.by_phase()
            ],
            "worst": self.worst(),
        }

    def text(self, top: int = WORST, unicode: bool = True) -> str:
        """Format for a terminal: the curve, what was lost by phase, and the `top` worst moves of each side."""
        head = f"{len(self.steps)} moves, as {self.player} sees them: P(Black wins) after each"
        drawn = _drawn(self.values, {i for i, step in enumerate(self.steps, 1) if step.before.loss >= TURN}, unicode)
        phases = [
            [COLOR_NAMES[color], phase, str(moves), f"{mean:.1%}", f"{points:.1f}".replace("nan", ""), str(turns)]
            for color, phase, moves, mean, points, turns in self.by_phase()
        ]
        worst = []
        for number in self.worst(top):
            color, point, before, _ = self.steps[number - 1]
            played = f"{COLOR_NAMES[color]} {self.name_of(point)}"
            lost = [f"{before.loss:.1%}", f"{before.points:.1f}".replace("nan", "")]
            line = " ".join(self.name_of(p) for p in before.line)
            worst.append([self.phase_of(number), f"{number}", played, *lost, line])
        parts = [head, "", drawn]
        if phases:
            titles = ["colour", "phase", "moves", "mean loss", "in points", f"lost {TURN:.0%} or more"]
            parts += ["", "What the moves lost", "", table(titles, phases, align="llrrrr")]
        if worst:
            titles = ["phase", "move", "played", "lost", "in points", "better"]
            parts += ["", "The worst moves of each side", "", table(titles, worst, align="lrlrrl")]
        return "\n".join(parts)

    def name_of(self, point: int) -> str:
        """Return the name of a move: a vertex, ``pass`` or ``resign``."""
        return name_of_move(point, self.game.size)


def known(x: float) -> float | None:
    """Return a number for JSON: None in place of NaN."""
    return None if math.isnan(x) else x


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
    """Let a player search every position of a game, and compare each move with its best one.

    Positions after the end of the game are left out.

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
            found.append(opinion_of(position, player, game.moves[n][1] if n < len(game.moves) else None))
            progress.update()
    return Curve(game, player.name, found)


def opinion_of(position: Game, player: Player, move: int | None = None) -> Opinion:
    """Let a player search a position, and compare the move that was played there with its best one.

    Raises RlgoError if the player has no opinion of positions.
    """
    if move is None:
        player.genmove(position)
    candidates = player.candidates(position) if move is None else player.compare(position, move)
    if not candidates:
        raise RlgoError(f"{player.name} does not evaluate positions: expected a player that searches or evaluates")
    color, (_, scores), best = position.to_play, player.scores(position), candidates[0]
    played = next((c for c in candidates if c.move == move and c.visits >= _ENOUGH * best.visits), None)
    value, score = player.chance(best.value, position), scores.get(best.move, math.nan)
    loss = points = math.nan
    if played is not None:
        loss = won_by(color, value) - won_by(color, player.chance(played.value, position))
        points = (score - scores.get(played.move, math.nan)) * (1 if color == BLACK else -1)
    return Opinion(value, best.move, tuple(best.line[:LINE_MOVES]), score, loss, points)


def annotate(record: Record, curve: Curve) -> None:
    """Write a curve into the line of a record, in properties that Sabaki, KaTrain and others read.

    Each position gets Black's chance and the score as a line of its comment, and the chance as Sabaki's SBKV. A move
    that lost much is marked as bad (BM) or doubtful (DO), unless it is judged already. The player's own line stands
    beside it, and beside the worst moves, as a variation. What an earlier call has written is replaced; variations, and
    what others have written, stay.
    """
    shown = curve.worst()
    for at, opinion in enumerate(curve.opinions):
        value = opinion.value
        if math.isnan(value):
            continue
        step = curve.steps[at - 1] if at else None
        loss = 0.0 if step is None or math.isnan(step.before.loss) else step.before.loss
        text = f"rlgo: Black {value:.1%}"
        if not math.isnan(opinion.score):
            text += f", {'B' if opinion.score > 0 else 'W'}+{abs(opinion.score):.1f}"
        if step is not None and not math.isnan(step.before.loss):
            text += f"; lost {loss:.1%}"
            text += "" if math.isnan(step.before.points) else f", {step.before.points:.1f} points"
        if step is not None and step.before.line and (loss >= TURN or at in shown):
            text += f"; better {' '.join(curve.name_of(p) for p in step.before.line)}"
            colors = (step.color, 3 - step.color) * len(step.before.line)
            record.add_line(at - 1, list(zip(colors, step.before.line, strict=False)), BETTER)
        judgement = {"BM": "1"} if loss >= BLUNDER else {"DO": ""} if loss >= TURN else {}
        record.set_own(at, {"C": text, _CURVE: f"{100 * value:.2f}", **judgement})


def curve_in(record: Record) -> list[Opinion | None]:
    """Return what `annotate`, or Sabaki, has written into the line of a record; None where there is nothing."""
    found: list[Opinion | None] = []
    for at in range(len(record.game.moves) + 1):
        text = text_of(record.node(at), _CURVE)
        said = next((s for s in map(_SAID.match, record.comment(at).splitlines()) if s), None)
        if said and found and (before := found[-1]) is not None and said["loss"]:
            found[-1] = before._replace(loss=float(said["loss"]) / 100, points=float(said["points"] or "nan"))
        value = float(text) / 100 if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?", text) else math.nan
        better = next((v for v in record.variations(at) if v.name == BETTER), None) if value == value else None
        line = record.points_of(better.node) if better is not None else ()
        score = float(said["score"]) * (1 if said["color"] == "B" else -1) if said and said["score"] else math.nan
        found.append(Opinion(min(1.0, value), line[0] if line else NO_MOVE, line, score) if value == value else None)
    return found
