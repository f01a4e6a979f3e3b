"""Slow oracle of windows that see liberties: each window on its own, trying every symmetry.

A point is (row, col), both from 0 at A1, as in `naive.py`. A shape is a set of (point, state): EMPTY, "edge" for a
point off the board, or (colour, liberty class).
"""

from __future__ import annotations

from typing import Any

from oracles import naive
from oracles.naive import Point, Stones, flood, images, on_board
from rlgo.go.board import BLACK, EMPTY, WHITE

CLASSES = {"atari": 2, "liberties": 3}
SQUARE, PLUS = [(0, 0), (0, 1), (1, 0), (1, 1)], [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]
OBLONG = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
CELLS = {"2x2": [SQUARE], "plus": [PLUS], "2x3": [OBLONG, [(col, row) for row, col in OBLONG]]}
Shape = frozenset


def windows(name: str, size: int) -> list[list[Point]]:
    """All windows of a kind, as points; of a plus, the centre is on the board, and of others all points are."""
    out = []
    for cells in CELLS[name.split()[1]]:
        for row in range(size):
            for col in range(size):
                window = [(row + r, col + c) for r, c in cells]
                inside = [0 <= r < size and 0 <= c < size for r, c in window]
                if all(inside) or cells is PLUS:
                    out.append(window)
    return out


def states(stones: Stones, size: int, n_classes: int) -> dict[Point, Any]:
    """The state of every point with a stone."""
    out = {}
    for p, color in stones.items():
        chain, border = flood(size, stones, p)
        liberties = sum(q not in stones for q in border)
        assert liberties == len({q for stone in chain for q in on_board(size, stone) if q not in stones})
        out[p] = (color, min(n_classes, liberties))
    return out


def shape_at(window: list[Point], state: dict[Point, Any], size: int) -> Shape:
    """The shape in a window."""
    inside = {p: 0 <= p[0] < size and 0 <= p[1] < size for p in window}
    return frozenset((p, state.get(p, EMPTY) if inside[p] else "edge") for p in window)


def canonical(shape: Shape, size: int, kind: str) -> tuple[int, Any]:
    """(sign, name) of a shape's class; sign 0 for neutral shapes and those without stones."""

    def name(of: Any) -> Any:
        row, col = (min(p[i] for p, _ in of) for i in range(2)) if kind == "LI" else (0, 0)
        return tuple(sorted(((r - row, c - col), str(state)) for (r, c), state in of))

    swap = {BLACK: WHITE, WHITE: BLACK}
    inverted = [(p, (swap[s[0]], s[1]) if isinstance(s, tuple) else s) for p, s in shape]
    turns = range(8) if kind in ("LI", "LD") else (0,)
    same, other = (min(name([(images(size, p)[g], s) for p, s in of]) for g in turns) for of in (shape, inverted))
    if not any(isinstance(s, tuple) for _, s in shape):
        return 0, None
    if kind == "none":
        return 1, same
    return (0, None) if same == other else (1, same) if same < other else (-1, other)


def active_shapes(stones: Stones, features: Any) -> list[dict[Any, int]]:
    """For each window the weights of the shape in it, with their signs, as `naive.active_shapes` does."""
    size = features.size
    out = naive.active_shapes(stones, size, features.sizes, features.sharing)
    for kind in features.liberties:
        state = states(stones, size, CLASSES[kind.split()[0]])
        for window in windows(kind, size):
            weights = {}
            for sharing in naive.KINDS.get(features.liberty_sharing, (features.liberty_sharing,)):
                sign, name = canonical(shape_at(window, state, size), size, sharing)
                if sign:
                    weights[kind, sharing, name] = sign
            out.append(weights)
    return out


def places(stones: Stones, features: Any) -> list[tuple[int, list[tuple[str, str, Shape, int]]]]:
    """For each window that sees liberties: (window, its weights), each as (kind, sharing, shape, signed index).

    The window says in which order its cells count.
    """
    g, size, out = features.geometry, features.size, []
    wanted = {}
    for kind in features.liberties:
        for window in windows(kind, size):
            inside = frozenset(naive.to_core(size, p) for p in window if 0 <= p[0] < size and 0 <= p[1] < size)
            wanted[kind, inside] = window
    for w, (kind, _, _) in enumerate(features.windows):
        if kind not in features.liberties:
            continue
        n_classes = CLASSES[kind.split()[0]]
        state = states(stones, size, n_classes)
        points = [int(p) for p in g.cell_point[w, : g.n_cells[w]]]
        window = wanted.pop((kind, frozenset(points)))
        configuration = 0
        for d, p in enumerate(points):
            found = state.get(naive.from_core(size, p))
            digit = 0 if found is None else found[1] + (n_classes if found[0] == WHITE else 0)
            configuration += digit * (1 + 2 * n_classes) ** d
        kinds = naive.KINDS.get(features.liberty_sharing, (features.liberty_sharing,))
        shape, weights = shape_at(window, state, size), []
        for sharing in kinds:
            base = g.li_base if sharing == "LI" and len(kinds) == 2 else g.ld_base
            weights.append((kind, sharing, shape, int(features.class_of[base[w] + configuration])))
        out.append((w, weights))
    assert not wanted
    return out
