"""Slow oracles: what the fast kernels answer, worked out from the definitions in plain Python.

One section per subject. Nothing here is compiled, incremental or shared with the code under test, except
for the names of the colours. Each section says how its points are named.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from rlgo.board import BLACK, EMPTY, WHITE

# ---------------------------------------------------------------------------------------------
# The board: a dictionary of stones and flood fill. A point is (row, col), both from 0 at A1.
# ---------------------------------------------------------------------------------------------

Point = tuple[int, int]
Stones = dict[Point, int]

COLUMNS = "ABCDEFGHJKLMNOPQRST"


@cache
def on_board(size: int, p: Point, diagonal: bool = False) -> tuple[Point, ...]:
    """The neighbours of p that lie on the board: along the lines, or along the diagonals."""
    steps = ((-1, -1), (-1, 1), (1, -1), (1, 1)) if diagonal else ((-1, 0), (0, -1), (0, 1), (1, 0))
    near = ((p[0] + row, p[1] + col) for row, col in steps)
    return tuple(q for q in near if 0 <= q[0] < size and 0 <= q[1] < size)


@cache
def to_core(size: int, p: Point | None) -> int:
    """The index that `rlgo.board` gives to p (its header: "Layout"); None is a pass."""
    return 0 if p is None else (p[0] + 1) * (size + 1) + p[1] + 1


def from_core(size: int, index: int) -> Point | None:
    """The point of an index of `rlgo.board`; None for its pass."""
    row, col = divmod(int(index), size + 1)
    return (row - 1, col - 1) if index else None


def vertex(p: Point | None) -> str:
    """The GTP vertex of p; None is a pass."""
    return "pass" if p is None else f"{COLUMNS[p[1]]}{p[0] + 1}"


def from_vertex(text: str) -> Point | None:
    """The point of a GTP vertex; None for a pass."""
    return None if text.lower() == "pass" else (int(text[1:]) - 1, COLUMNS.index(text[0].upper()))


def flood(size: int, stones: Stones, start: Point) -> tuple[set[Point], set[Point]]:
    """The connected points of one colour (or empty) around `start`, and all points that border on them."""
    color = stones.get(start, EMPTY)
    region, border, todo = {start}, set(), [start]
    while todo:
        for q in on_board(size, todo.pop()):
            if stones.get(q, EMPTY) != color:
                border.add(q)
            elif q not in region:
                region.add(q)
                todo.append(q)
    return region, border


def diagram(size: int, stones: Stones) -> str:
    """The board as text, one line a row, the highest row first."""
    rows = range(size - 1, -1, -1)
    return "\n".join(" ".join(".XO"[stones.get((row, col), EMPTY)] for col in range(size)) for row in rows)


class NaiveBoard:
    """A board by the rules in the header of `rlgo.board`, without any of its tricks.

    `captures[color]` counts the stones that `color` has taken; `ko` is a point or None.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.stones: Stones = {}
        self.to_play = BLACK
        self.ko: Point | None = None
        self.n_moves = 0
        self.n_passes = 0
        self.captures = {BLACK: 0, WHITE: 0}
        self.points = [(row, col) for row in range(size) for col in range(size)]

    def empties(self) -> list[Point]:
        return [p for p in self.points if p not in self.stones]

    def chain(self, p: Point) -> tuple[set[Point], set[Point]]:
        """The stones and the liberties of the chain at p."""
        stones, border = flood(self.size, self.stones, p)
        return stones, {q for q in border if q not in self.stones}

    def chains(self) -> list[tuple[set[Point], set[Point]]]:
        """Stones and liberties of every chain."""
        found, seen = [], set()
        for p in self.stones:
            if p not in seen:
                found.append(self.chain(p))
                seen |= found[-1][0]
        return found

    def result_of(self, p: Point) -> tuple[Stones, set[Point]]:
        """All stones after a stone of the colour to play at p has captured, and the captured points.

        Whether the new stone breathes is not asked here.
        """
        stones = {**self.stones, p: self.to_play}
        dead: set[Point] = set()
        for q in on_board(self.size, p):
            if stones.get(q) == 3 - self.to_play and q not in dead:
                chain, border = flood(self.size, stones, q)
                if all(r in stones for r in border):
                    dead |= chain
        return {q: color for q, color in stones.items() if q not in dead}, dead

    def is_legal(self, p: Point) -> bool:
        if p in self.stones or p == self.ko:
            return False
        if any(q not in self.stones for q in on_board(self.size, p)):
            return True  # only a shortcut: the new stone keeps this liberty
        stones, _ = self.result_of(p)
        return any(q not in stones for q in flood(self.size, stones, p)[1])

    def legal_points(self) -> set[Point]:
        return {p for p in self.points if self.is_legal(p)}

    def play(self, p: Point | None) -> None:
        """Play a legal move, or pass (None)."""
        self.ko = None
        if p is not None:
            self.stones, dead = self.result_of(p)
            self.captures[self.to_play] += len(dead)
            stones, liberties = self.chain(p)
            assert liberties, "suicide"
            if len(dead) == len(stones) == len(liberties) == 1:
                (self.ko,) = dead
        self.n_passes = self.n_passes + 1 if p is None else 0
        self.n_moves += 1
        self.to_play = 3 - self.to_play

    def is_eye(self, p: Point, color: int) -> bool:
        """Single-point eye: own neighbours all round, and at most one enemy diagonal (at the edge, none)."""
        if p in self.stones or any(self.stones.get(q) != color for q in on_board(self.size, p)):
            return False
        diagonals = on_board(self.size, p, diagonal=True)
        enemies = sum(self.stones.get(q) == 3 - color for q in diagonals)
        return enemies <= (1 if len(diagonals) == 4 else 0)

    def area_score(self) -> int:
        """Black's area minus White's."""
        score = {BLACK: 0, WHITE: 0}
        for color in self.stones.values():
            score[color] += 1
        seen: set[Point] = set()
        for p in self.empties():
            if p not in seen:
                region, border = flood(self.size, self.stones, p)
                seen |= region
                colors = {self.stones[q] for q in border}
                if len(colors) == 1:
                    score[colors.pop()] += len(region)
        return score[BLACK] - score[WHITE]

    def hash(self, keys: list[list[int]]) -> int:
        """Zobrist hash, summed up from the stones (`keys`: `rlgo.board.zobrist(size).tolist()`)."""
        total = 0
        for p, color in self.stones.items():
            total ^= keys[color][to_core(self.size, p)]
        return total

    def __str__(self) -> str:
        return diagram(self.size, self.stones)


# ---------------------------------------------------------------------------------------------
# Local shape features: every window looked at by itself, every symmetry tried. A position is its Stones. A
# weight is named (k, kind, raw): the size of its window, "LI", "LD", "inversion" or "none", and the smallest
# raw index of its shapes, anchor * 3^(k*k) + configuration (header of `rlgo.shapes`).
# ---------------------------------------------------------------------------------------------

Weight = tuple[int, str, int]
KINDS = {"LI+LD": ("LI", "LD")}  # of weights, under each sharing; under the others, the one of that name


def images(size: int, p: Point) -> list[Point]:
    """Where the eight symmetries of the board take a point, always in the same order."""
    out = []
    for row, col in (p, p[::-1]):
        for r in (row, size - 1 - row):
            for c in (col, size - 1 - col):
                out.append((r, c))
    return out


@cache
def canonical(k: int, anchor: Point, cells: tuple[int, ...], size: int, kind: str) -> tuple[int, int]:
    """(sign, smallest raw index) of a shape's class; sign 0 for neutral and all-empty shapes.

    cells : the colours in the window, row by row from the anchor, its lowest point.
    """
    if not any(cells):
        return 0, 0
    points = [(anchor[0] + j, anchor[1] + i) for j in range(k) for i in range(k)]
    found: dict[int, list[int]] = {1: [], -1: []}
    for g in range(8 if kind in ("LI", "LD") else 1):
        moved = {images(size, p)[g]: c for p, c in zip(points, cells, strict=True)}
        row, col = min(moved)
        for sign in (1, -1) if kind != "none" else (1,):
            configuration = 0
            for n, (r, c) in enumerate((row + j, col + i) for j in range(k) for i in range(k)):
                color = moved[r, c]
                configuration += 3**n * (color if sign == 1 or color == 0 else 3 - color)
            start = 0 if kind == "LI" else row * (size - k + 1) + col
            found[sign].append(start * 3 ** (k * k) + configuration)
    best = min(found[1] + found[-1])
    if best in found[1] and best in found[-1]:
        return 0, 0
    return (1 if best in found[1] else -1), best


def active_shapes(stones: Stones, size: int, sizes: tuple[int, ...], sharing: str) -> list[dict[Weight, int]]:
    """For each window the weights of the shape in it, with their signs; neutral ones left out."""
    out = []
    for k in sizes:
        for row in range(size - k + 1):
            for col in range(size - k + 1):
                cells = tuple(stones.get((row + j, col + i), EMPTY) for j in range(k) for i in range(k))
                weights = {}
                for kind in KINDS.get(sharing, (sharing,)):
                    anywhere = kind == "LI"  # then in a corner of the smallest board, to ask less often
                    sign, raw = canonical(k, (0, 0) if anywhere else (row, col), cells, k if anywhere else size, kind)
                    if sign:
                        weights[k, kind, raw] = sign
                out.append(weights)
    return out


def phi(shapes: list[dict[Weight, int]]) -> dict[Weight, int]:
    """phi(s): signed counts of the active shapes, by weight."""
    counts: dict[Weight, int] = {}
    for weights in shapes:
        for name, sign in weights.items():
            counts[name] = counts.get(name, 0) + sign
    return {name: n for name, n in counts.items() if n}


def squared_norm(shapes: list[dict[Weight, int]], normalise: str) -> int:
    """||phi(s)||^2 as each normalisation understands it."""
    if normalise == "none":
        return 1
    if normalise == "active":
        return sum(bool(weights) for weights in shapes)
    if normalise == "slots":
        return sum(len(weights) for weights in shapes)
    return sum(n * n for n in phi(shapes).values())


def to_place(features: Any, window: int, cells: tuple[int, ...]) -> int:
    """Where a shape's location-dependent weight stands behind `ld_base`, by `rlgo.shapes`; LI: `li_base`.

    cells : the colours in the window, row by row from the anchor. The window says in which order they count.
    """
    g, size = features.geometry, features.size
    k, row, col = features.windows[window]
    colors = {to_core(size, (row + n // k, col + n % k)): c for n, c in enumerate(cells)}
    return sum(3**d * colors[int(p)] for d, p in enumerate(g.cell_point[window, : k * k]))


def to_index(features: Any, weight: Weight) -> int:
    """The index into theta that `rlgo.shapes` gives to a weight."""
    k, kind, raw = weight
    anchor, configuration = divmod(raw, 3 ** (k * k))
    window = features.windows.index((k, *divmod(anchor, features.size - k + 1)))
    base = (features.geometry.li_base if kind == "LI" else features.geometry.ld_base)[window]
    cells = tuple(configuration // 3**d % 3 for d in range(k * k))
    return abs(int(features.classes.classes[base + to_place(features, window, cells)]))


def value(theta: dict[Weight, float], features: dict[Weight, int], kind: str = "logistic") -> float:
    """V(s), logistic or linear, of phi(s)."""
    x = sum(n * theta.get(name, 0.0) for name, n in features.items())
    return 1 / (1 + math.exp(-x)) if kind == "logistic" else 0.5 + x


# ---------------------------------------------------------------------------------------------
# TD learning: dense, one state after the other, in double precision.
# ---------------------------------------------------------------------------------------------


def learn(
    theta: dict[Weight, float],
    states: list[list[dict[Weight, int]]],
    z: float,
    *,
    alpha: float,
    lambda_: float,
    plies: int,
    value_kind: str,
    update: str,
    normalise: str,
) -> float:
    """TD(lambda) over one game, term by term from the paper; theta is updated in place.

    states : the `active_shapes` of s_0 ... s_T; z : the outcome. Returns the sum of |delta V_t|.
    """
    last, error = len(states) - 1, 0.0
    features = [phi(s) for s in states]
    norms = [squared_norm(s, normalise) for s in states]
    if update == "game":  # the forward view, with the values from before the game
        v = [value(theta, f, value_kind) for f in features]
        change: dict[Weight, float] = {}
        for t in range(last):
            error += abs((v[t + plies] if t + plies < last else z) - v[t])
            # G_t = (1 - lambda) sum_n lambda^(n-1) V(s_t+n*plies), what is left of the weight on z
            target, weight, u = 0.0, 1.0, t + plies
            while u < last:
                target += weight * (1 - lambda_) * v[u]
                weight *= lambda_
                u += plies
            target += weight * z
            if norms[t]:
                for name, n in features[t].items():
                    change[name] = change.get(name, 0.0) + alpha * (target - v[t]) * n / norms[t]
        for name, d in change.items():
            theta[name] = theta.get(name, 0.0) + d
        return error
    traces: list[dict[Weight, float]] = [{} for _ in range(plies)]  # the backward view, state by state
    for t in range(last):
        trace = traces[t % plies]
        for name in list(trace):
            trace[name] *= lambda_
            if not trace[name]:
                del trace[name]
        if norms[t]:
            for name, n in features[t].items():
                trace[name] = trace.get(name, 0.0) + n / norms[t]
        target = z if t + plies >= last else value(theta, features[t + plies], value_kind)
        delta = target - value(theta, features[t], value_kind)
        error += abs(delta)
        for name, e in trace.items():
            theta[name] = theta.get(name, 0.0) + alpha * delta * e
    return error


# ---------------------------------------------------------------------------------------------
# What comes of many games: how often weights occurred, what several workers learned, and the mean over time.
# ---------------------------------------------------------------------------------------------


def occurrences(states: list[list[dict[Weight, int]]]) -> dict[Weight, int]:
    """How often each weight's shapes stood in the states of one game that are learned from, all but the last."""
    counts: dict[Weight, int] = {}
    for state in states[:-1]:
        for weights in state:
            for name in weights:
                counts[name] = counts.get(name, 0) + 1
    return counts


def merged(theta: list[float], thetas: list[list[float]]) -> list[float]:
    """Each weight, moved by the mean change of those workers that changed it."""
    out = []
    for i, before in enumerate(theta):
        changes = [own[i] - before for own in thetas if own[i] != before]
        out.append(before + sum(changes) / len(changes) if changes else before)
    return out


def weighted_mean(thetas: list[list[float]], averaging: float) -> list[float]:
    """The mean of weights, the j-th of which (from 1) counts Gamma(j + averaging) / Gamma(j), about j^averaging."""
    counts = [math.exp(math.lgamma(j + averaging) - math.lgamma(j)) for j in range(1, len(thetas) + 1)]
    return [
        math.fsum(c * w for c, w in zip(counts, column, strict=True)) / math.fsum(counts)
        for column in zip(*thetas, strict=True)
    ]
