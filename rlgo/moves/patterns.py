"""Patterns: weights of move features and shapes, learned from games; and the pattern file.

Start reading at `Patterns`, then `score_moves`. The probability that a player chooses a move is

    P(a) = exp(x_a) / sum over all candidates b of exp(x_b),

where x_a is the sum of the weights of a's features and of its shape. A weight is the logarithm of a strength (gamma) in
Coulom 2007, "Computing Elo ratings of move patterns in the game of Go". `softmax.py` learns the weights.

A pattern file is an archive (see `archive.py`): ``parents``, ``codes``, ``seen`` and ``shape_weights`` for the known
shapes (`nested_shapes.py`), ``feature_weights`` in the order of `move_features.FEATURES`, and the names of these.
Nothing in it depends on the board size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.archive import intact, read_archive, write_archive
from rlgo.base.errors import RlgoError
from rlgo.base.resources import SHIPPED_PATTERNS
from rlgo.base.settings import DEFAULT_SIZE
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import njit
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, WHITE
from rlgo.go.draw import HIDDEN, MOVE, shapes_text
from rlgo.moves.move_features import FEATURES, N_GROUPS, features_of, list_candidates, new_study, study
from rlgo.moves.nested_shapes import ENEMY_NEAR, OWN_NEAR, ShapeTree, cells_of, find_shapes, make_tree, rings_of

FORMAT, VERSION = "rlgo-patterns", 1


class Strengths(NamedTuple):
    """The weights by which compiled code scores moves.

    Attributes
    ----------
    tree : `ShapeTree` with the weights of shapes
    feature_weights : float32[n + 1]; [0] is 0
    """

    tree: ShapeTree
    feature_weights: np.ndarray


@njit
def score_moves(b, last_but_one, strengths, s, moves, x):
    """Compute x for all sensible moves and a pass.

    b, last_but_one : the position, and the move before the last one (PASS if there is none)
    strengths, s : `Strengths` and `move_features.Study`
    moves, x : int64[N + 1] and float64[N + 1], the candidates and their x

    Returns the number of candidates.
    """
    study(b, s)
    n = list_candidates(b, moves)
    score_studied(b, moves, (0, n), last_but_one, strengths, s, x)
    return n


@njit
def score_studied(b, moves, candidates, last_but_one, strengths, s, x):
    """Compute x of sensible moves, or a pass, after `move_features.study` of the position.

    moves, candidates : the moves are moves[first : first + n], where candidates = (first, n)
    """
    first, n = candidates
    find_shapes(moves, first, n, s.around, strengths.tree)
    for i in range(n):
        features_of(b, np.int64(moves[first + i]), last_but_one, s)
        sum_of_weights = 0.0
        for group in range(N_GROUPS):
            sum_of_weights += strengths.feature_weights[s.features[group]]
        x[i] = sum_of_weights + strengths.tree.entries[s.around.entry[i]].weight


@dataclass(frozen=True)
class Patterns:
    """Learned strengths of patterns.

    Attributes
    ----------
    parents, codes : int32[n], uint32[n], the known shapes 1 to n (`nested_shapes.make_tree`)
    seen : int64[n], how often each surrounded a candidate while shapes were counted
    shape_weights : float32[n + 1]; [0] is 0
    feature_weights : float32[len(FEATURES) + 1]; [0] is 0
    size : board size of the games
    provenance : how they were learned: method, settings, games, versions (JSON)
    """

    parents: np.ndarray
    codes: np.ndarray
    seen: np.ndarray
    shape_weights: np.ndarray
    feature_weights: np.ndarray
    size: int = DEFAULT_SIZE
    provenance: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Patterns: {len(FEATURES)} features, {len(self.parents):,} shapes>"

    def strengths(self) -> Strengths:
        """Return the weights for compiled code."""
        return Strengths(make_tree(self.parents, self.codes, self.shape_weights), self.feature_weights)

    def probabilities(self, boards: Sequence[np.record], last_but_one: int = PASS) -> list[dict[int, float]]:
        """Return P(a) of all sensible moves and of a pass, by point, for each of some boards of one size."""
        if not len(boards):
            return []
        found, size = [], int(boards[0].board_size)
        strengths, scratch = self.strengths(), new_study(size)
        moves, x = np.zeros(size * size + 1, np.int64), np.zeros(size * size + 1)
        for board in boards:
            n = score_moves(board, last_but_one, strengths, scratch, moves, x)
            found.append(dict(zip(moves[:n].tolist(), softmax(x[:n]).tolist(), strict=True)))
        return found


def save_patterns(path: str | Path, patterns: Patterns) -> None:
    """Write a pattern file, atomically. Raises RlgoError if it cannot be written."""
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "size": patterns.size,
        "features": list(FEATURES),
        "provenance": patterns.provenance,
    }
    arrays = {
        "parents": patterns.parents.astype(np.int32),
        "codes": patterns.codes.astype(np.uint32),
        "seen": patterns.seen.astype(np.uint32),
        "shape_weights": patterns.shape_weights[1:].astype(np.float32),
        "feature_weights": patterns.feature_weights[1:].astype(np.float32),
    }
    write_archive(path, meta, arrays)


def load_patterns(name: str | Path, size: int | None = None) -> Patterns:
    """Read patterns: a file, or shipped patterns by name, such as ``9x9``; see `resources.Shipped.find`.

    size : if there is one, an empty name stands for the shipped patterns of this board size, or of the nearest one

    RlgoError if it is missing, damaged, not a pattern file, or has other features.
    """
    path = SHIPPED_PATTERNS.find(name, size)
    meta, arrays = read_archive(path, "pattern file", FORMAT, VERSION)
    with intact(path, "a pattern file"):
        parents, codes, seen = arrays["parents"], arrays["codes"], arrays["seen"].astype(np.int64)
        shapes, features = arrays["shape_weights"], arrays["feature_weights"]
        numbers = np.arange(1, len(parents) + 1)
        is_whole = len(parents) == len(codes) == len(seen) == len(shapes) and bool((parents < numbers).all())
        if not is_whole or (parents < 0).any() or not (np.isfinite(shapes).all() and np.isfinite(features).all()):
            raise ValueError
        size, provenance = int(meta["size"]), dict(meta["provenance"])
    if meta["features"] != list(FEATURES) or len(features) != len(FEATURES):
        raise RlgoError(f"{path}: patterns of other features than this rlgo's; train them anew")
    return Patterns(parents, codes, seen, _with_zero(shapes), _with_zero(features), size, provenance)


def _with_zero(weights: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.float32), weights.astype(np.float32)])


# ---------------------------------------------------------------------------------------------
# Display
# ---------------------------------------------------------------------------------------------


def describe(patterns: Patterns) -> str:
    """Describe patterns in a few lines."""
    rings = np.bincount(rings_of(patterns.parents)[1:])
    made = patterns.provenance
    lines = [f"{len(FEATURES)} features, {len(patterns.parents):,} shapes"]
    lines.append("shapes up to distance " + ", ".join(f"{k + 1}: {n:,}" for k, n in enumerate(rings) if n))
    if made:
        lines.append(f"learned by {made['method']} from {made['decisions']:,} moves of {made['games']:,} games")
        lines += [f"{key} {value}" for key, value in made.items() if key in ("command", "commit")]
    return "\n".join(lines)


def show(patterns: Patterns, top: int = 10, unicode: bool = True) -> str:
    """Draw the strongest and the weakest shapes, and list the features by weight.

    Own stones are Black's; * is the move, # is off the board. Captions show the weight, how often the shape was seen,
    and the liberties of stones next to the move if they are few: below, left, right, above.
    """
    order = np.argsort(-patterns.shape_weights[1:], kind="stable") + 1
    parts = []
    for name, shapes in (("Strongest", order[:top]), ("Weakest", order[::-1][:top])):
        captions = [_caption(patterns, int(shape)) for shape in shapes]
        cells = [_drawn(patterns, int(shape)) for shape in shapes]
        parts.append(f"{name} shapes\n\n{shapes_text(cells, captions, unicode)}")
    weights = patterns.feature_weights[1:]
    lines = [f"{weights[i]:+6.2f}  {FEATURES[i]}" for i in np.argsort(-weights, kind="stable")]
    return "\n\n".join([*parts, "Features\n\n" + "\n".join(lines)])


_BELOW_LEFT_RIGHT_ABOVE = ((0, -1), (-1, 0), (1, 0), (0, 1))


def _caption(patterns: Patterns, shape: int) -> str:
    cells = cells_of(shape, patterns.parents, patterns.codes)
    near = [cells[at] for at in _BELOW_LEFT_RIGHT_ABOVE]
    few = ["-" if code <= OWN_NEAR else str((code - 1 - OWN_NEAR) % 3 + 1) for code in near]
    liberties = f" [{''.join(few)}]" if set(few) - {"-", "3"} else ""
    return f"{patterns.shape_weights[shape]:+.2f} {patterns.seen[shape - 1]:,}x{liberties}"


def _drawn(patterns: Patterns, shape: int) -> np.ndarray:
    """Return a shape as colours for `draw.shapes_text`."""
    cells = cells_of(shape, patterns.parents, patterns.codes)
    reach = max(max(abs(dx), abs(dy)) for dx, dy in cells)
    drawn = np.full((2 * reach + 1, 2 * reach + 1), HIDDEN, np.uint8)
    drawn[reach, reach] = MOVE
    for (dx, dy), code in cells.items():
        if abs(dx) + abs(dy) == 1:
            color = EMPTY if code == 0 else BORDER if code == 1 else BLACK if code <= ENEMY_NEAR else WHITE
        else:
            color = (EMPTY, BLACK, WHITE, BORDER)[code]
        drawn[reach + dy, reach + dx] = color
    return drawn
