"""Slow oracle of windows of any form: every window looked at by itself, every symmetry tried.

A point is (row, col), both from 0 at A1, as in `naive.py`. A shape is a set of (point, state): EMPTY, "edge" for a
point off the board, or (colour, liberty class).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from oracles import naive
from oracles.naive import Point, Stones, flood, images, on_board
from rlgo.go.board import BLACK, EMPTY, WHITE

CLASSES = {"atari": 2, "liberties": 3}
Shape = frozenset

# Kinds of windows to test with.
ATARI = ("atari 2x2", "atari plus")
ALL = ("liberties 2x2", "liberties plus")
STONES = ("2x3", "plus", ".x/x.", "1x4")
MIXED = ("1x2", "atari plus", "liberties .x/xx")
WIDE = ("liberties 2x3",)  # 7^6 = 117,649 configurations, more than 16 bits hold


def classes_of(name: str) -> int:
    """The liberty classes that a kind of window tells apart."""
    return CLASSES.get(name.split()[0], 1)


@cache
def windows(name: str, size: int) -> dict[tuple[int, ...], list[Point]]:
    """All windows of a kind, as points, by (lowest row, leftmost column, height, width, points on the board)."""
    form = name.split()[-1].replace("plus", ".x./xox/.x.")
    if form[0].isdigit():
        form = "/".join(["x" * int(form[2])] * int(form[0]))
    picture = {(row, col): c for row, line in enumerate(form.split("/")) for col, c in enumerate(line) if c != "."}
    out = {}
    for turn in range(8):
        for row in range(-4, size + 4):
            for col in range(-4, size + 4):
                turned = zip(_turned(picture, turn), picture.values(), strict=True)
                window = {(row + r, col + c): cell for (r, c), cell in turned}
                inside = {p for p in window if 0 <= p[0] < size and 0 <= p[1] < size}
                low, high = ([of(p[i] for p in window) for i in (0, 1)] for of in (min, max))
                if len(inside) == len(window) or any(window[p] == "o" for p in inside):
                    out[*low, high[0] - low[0] + 1, high[1] - low[1] + 1, *sorted(inside)] = list(window)
    return out


def _turned(points: Any, turn: int) -> list[Point]:
    """Where one of the eight symmetries takes points, each of them."""
    signs = (1, -1)
    turned = [(row * signs[turn & 1], col * signs[turn >> 1 & 1]) for row, col in points]
    return [(col, row) for row, col in turned] if turn & 4 else turned


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
    for kind in features.others:
        state = states(stones, size, classes_of(kind))
        for window in windows(kind, size).values():
            weights = {}
            for sharing in sharings(features, kind):
                sign, name = canonical(shape_at(window, state, size), size, sharing)
                if sign:
                    weights[kind, sharing, name] = sign
            out.append(weights)
    return out


def sharings(features: Any, kind: str) -> tuple[str, ...]:
    """The kinds of sharing of a kind of window."""
    sharing = features.sharing if classes_of(kind) == 1 else features.liberty_sharing
    return naive.KINDS.get(sharing, (sharing,))


def places(stones: Stones, features: Any) -> list[tuple[int, list[tuple[str, str, Shape, int]]]]:
    """For each window that is no square: (window, its weights), each as (kind, sharing, shape, signed index).

    The window says in which order its cells count.
    """
    g, size, out = features.geometry, features.size, []
    wanted = {(kind, *key): window for kind in features.others for key, window in windows(kind, size).items()}
    for w, (kind, row, col) in enumerate(features.windows):
        if kind not in features.others:
            continue
        n_classes, form = classes_of(kind), features.forms[w]
        state = states(stones, size, n_classes)
        points = [naive.from_core(size, int(p)) for p in g.cell_point[w, : g.n_cells[w]]]
        window = wanted.pop((kind, row, col, form.height, form.width, *sorted(points)))
        configuration = 0
        for d, p in enumerate(points):
            found = state.get(p)
            digit = 0 if found is None else found[1] + (n_classes if found[0] == WHITE else 0)
            configuration += digit * (1 + 2 * n_classes) ** d
        shape, weights = shape_at(window, state, size), []
        for sharing in sharings(features, kind):
            base = features.base(kind, sharing)
            weights.append((kind, sharing, shape, int(features.class_of[base[w] + configuration])))
        out.append((w, weights))
    assert not wanted
    return out
