"""The slow oracles of features and learning: raw shapes from the definition, dense TD in float64.

Nothing here uses the tables of `rlgo.shapes`. A position is a dict (row, col) -> 1 or 2, stones only.
"""

from __future__ import annotations

import math
from functools import cache

Stones = dict[tuple[int, int], int]


def images(row: int, col: int, size: int) -> list[tuple[int, int]]:
    """Where the eight symmetries of the board take a point, always in the same order."""
    out = []
    for r, c in ((row, col), (col, row)):
        for rr in (r, size - 1 - r):
            for cc in (c, size - 1 - c):
                out.append((rr, cc))
    return out


@cache
def canonical(k: int, anchor: tuple[int, int], cells: tuple[int, ...], size: int, kind: str) -> tuple[int, int]:
    """(sign, smallest raw index) of a shape's class; sign 0 for neutral and all-empty shapes.

    cells : row by row from the anchor; raw index = anchor * 3^(k*k) + configuration.
    """
    if not any(cells):
        return 0, 0
    points = [(anchor[0] + j, anchor[1] + i) for j in range(k) for i in range(k)]
    found = {1: [], -1: []}
    for g in range(8 if kind in ("LI", "LD") else 1):
        moved = {images(*p, size)[g]: c for p, c in zip(points, cells, strict=True)}
        row, col = min(p[0] for p in moved), min(p[1] for p in moved)
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


def active_shapes(stones: Stones, size: int, sizes: tuple[int, ...], sharing: str):
    """For each window the list of its weights: ((k, kind, smallest raw index), sign), neutral ones left out."""
    kinds = {"LI+LD": ("LI", "LD")}.get(sharing, (sharing,))
    out = []
    for k in sizes:
        for row in range(size - k + 1):
            for col in range(size - k + 1):
                cells = tuple(stones.get((row + j, col + i), 0) for j in range(k) for i in range(k))
                weights = []
                for kind in kinds:
                    sign, raw = canonical(k, (row, col), cells, size, kind)
                    if sign:
                        weights.append(((k, kind, raw), sign))
                out.append(weights)
    return out


def phi(stones: Stones, size: int, sizes: tuple[int, ...], sharing: str) -> dict:
    """Signed counts by weight."""
    counts: dict = {}
    for weights in active_shapes(stones, size, sizes, sharing):
        for name, sign in weights:
            counts[name] = counts.get(name, 0) + sign
    return {name: n for name, n in counts.items() if n}


def squared_norm(stones: Stones, size: int, sizes: tuple[int, ...], sharing: str, normalise: str) -> int:
    shapes = active_shapes(stones, size, sizes, sharing)
    if normalise == "active":
        return sum(bool(weights) for weights in shapes)
    if normalise == "slots":
        return sum(len(weights) for weights in shapes)
    return sum(n * n for n in phi(stones, size, sizes, sharing).values())


def value(theta: dict, features: dict, kind: str) -> float:
    x = sum(n * theta.get(name, 0.0) for name, n in features.items())
    return 1 / (1 + math.exp(-x)) if kind == "logistic" else 0.5 + x


def learn(
    theta: dict, states: list[Stones], z: float, alpha: float, lambda_: float, plies: int, kind: str,
    update: str, normalise: str, size: int, sizes: tuple[int, ...], sharing: str,
) -> None:  # fmt: skip
    """TD(lambda) over one game s_0 ... s_T, term by term from the paper; theta is updated in place."""
    last = len(states) - 1
    features = [phi(s, size, sizes, sharing) for s in states]
    norms = [
        1 if normalise == "none" else squared_norm(s, size, sizes, sharing, normalise) for s in states
    ]
    if update == "game":  # the forward view, with the values from before the game
        v = [value(theta, f, kind) for f in features]
        change: dict = {}
        for t in range(last):
            # G = (1 - lambda) sum_n lambda^(n-1) V(s_t+n*plies) + lambda^(N-1) z, n-step returns up to z
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
        return
    traces: list[dict] = [{} for _ in range(plies)]  # the backward view, state by state
    for t in range(last):
        trace = traces[t % plies]
        for name in trace:
            trace[name] *= lambda_
        if norms[t]:
            for name, n in features[t].items():
                trace[name] = trace.get(name, 0.0) + n / norms[t]
        target = z if t + plies >= last else value(theta, features[t + plies], kind)
        delta = target - value(theta, features[t], kind)
        for name, e in trace.items():
            theta[name] = theta.get(name, 0.0) + alpha * delta * e
