"""What a player thinks, in the words of GoGui, Sabaki and Lizzie. Plain functions, each a text.

Start reading at `info_line` and `sboard`. GoGui's forms: its documentation, "Analyze commands". The others follow Leela
Zero's ``lz-analyze``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rlgo.coords import from_row_col, to_vertex
from rlgo.draw import shapes_text
from rlgo.game import COLOR_NAMES, Game
from rlgo.player import Candidate, won_by
from rlgo.weights import Weights, on_board

_LINE = 12  # moves of a principal variation that are told
_SHAPES = 10  # of the strongest ones


def info_line(candidates: Sequence[Candidate], game: Game) -> str:
    """``info move D4 visits 321 winrate 5312 prior 900 lcb 4766 order 0 pv D4 E5 info move ...``, the best first.

    winrate, prior and lcb (the lower end of the 95 % interval) are in 1/10,000, for the colour to play. The prior is H,
    a win rate, not a probability of being played as Leela Zero's.
    """
    return " ".join(_info(c, order, game) for order, c in enumerate(candidates))


def _info(candidate: Candidate, order: int, game: Game) -> str:
    mine = min(1.0, max(0.0, won_by(game.to_play, candidate.value)))  # a linear V has no bounds
    low = max(0.0, mine - 1.96 * math.sqrt(mine * (1 - mine) / candidate.visits))
    parts = [f"info move {_name(candidate.move, game)} visits {candidate.visits} winrate {_per_10_000(mine)}"]
    if not math.isnan(candidate.prior):
        parts.append(f"prior {_per_10_000(won_by(game.to_play, candidate.prior))}")
    line = " ".join(_name(p, game) for p in candidate.line[:_LINE])
    return " ".join([*parts, f"lcb {_per_10_000(low)} order {order} pv {line}"])


def _name(p: int, game: Game) -> str:
    return to_vertex(p, game.size)


def _per_10_000(p: float) -> int:
    return round(10_000 * p)


def sboard(values: np.ndarray) -> str:
    """A map as GoGui's ``sboard``: a text for each point, the highest row first; nothing where it is NaN."""
    rows = np.flipud(values).tolist()
    return "\n" + "\n".join(" ".join('""' if math.isnan(v) else f"{v:.2f}" for v in row) for row in rows)


def dboard(values: np.ndarray) -> str:
    """A map of -1 (White) to 1 (Black) as GoGui's ``dboard``: numbers, which it draws as squares."""
    return "\n" + "\n".join(" ".join(f"{v:.2f}" for v in row) for row in np.flipud(values).tolist())


def variation(candidates: Sequence[Candidate], searched: Game, game: Game) -> str:
    """The best candidate's principal variation as GoGui's ``gfx``: numbered stones, and a line of text.

    searched : the position that it begins in. Moves of it that have been played since, in `game`, are left out.
    """
    n = len(searched.moves)
    since = [p for _, p in game.moves[n:]]
    if not candidates or game.moves[:n] != searched.moves or candidates[0].line[: len(since)] != since:
        return "TEXT nothing has been searched here"
    best, color, stones = candidates[0], game.to_play, list[str]()
    for p in best.line[len(since) : _LINE]:
        stones.append(f"{COLOR_NAMES[color][0].lower()} {_name(p, game)}")
        color = 3 - color
    drawn = [f"VAR {' '.join(stones)}"] if stones else []
    return "\n".join([*drawn, f"TEXT P(Black wins) {best.value:.3f}, {best.visits:,} simulations"])


def shapes_on_board(weights: Weights, game: Game) -> str:
    """The position's strongest shapes, drawn, each with its weight (above 0: good for Black) and its lowest vertex."""
    found = on_board(weights, game.board, _SHAPES)
    if not found:
        return "no shape of this position has a weight"
    captions = [
        f"{weight:+.3f} {to_vertex(from_row_col(row, col, game.size), game.size)}" for weight, _, row, col in found
    ]
    return "\n" + shapes_text([cells for _, cells, _, _ in found], captions, unicode=False, width=80)
