"""Slow oracles: the results of the fast kernels, computed from the definitions in plain Python.

One section per subject. Nothing here is compiled, incremental or shared with the code under test, except
for the names of the colours, and for minimax, at the end. Each section states how its points are named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rlgo.compiler.jit import copy_record, njit
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, is_sensible, outcome, play
from rlgo.go.rules import zobrist

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
    """The index that `rlgo.go.board` gives to p (its header: "Layout"); None is a pass."""
    return 0 if p is None else (p[0] + 1) * (size + 1) + p[1] + 1


def from_core(size: int, index: int) -> Point | None:
    """The point of an index of `rlgo.go.board`; None for its pass."""
    row, col = divmod(int(index), size + 1)
    return (row - 1, col - 1) if index else None


def row_major(size: int, index: int) -> int:
    """The place of the core's point in arrays of all points, row by row from A1."""
    row, col = from_core(size, index)  # type: ignore[misc]
    return row * size + col


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
    """A board by the rules in the header of `rlgo.go.board`, without any of its tricks.

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

    def owners(self) -> Stones:
        """The colour of each point of both areas: that of its stone, or of all stones around its empty region."""
        owners, seen = dict(self.stones), set[Point]()
        for p in self.empties():
            if p not in seen:
                region, border = flood(self.size, self.stones, p)
                seen |= region
                colors = {self.stones[q] for q in border}
                if len(colors) == 1:
                    owners |= dict.fromkeys(region, colors.pop())
        return owners

    def area_score(self) -> int:
        """Black's area minus White's."""
        owners = list(self.owners().values())
        return owners.count(BLACK) - owners.count(WHITE)

    def hash(self, keys: list[list[int]]) -> int:
        """Zobrist hash, summed up from the stones (`keys`: `rlgo.go.board.zobrist(size).tolist()`)."""
        total = 0
        for p, color in self.stones.items():
            total ^= keys[color][to_core(self.size, p)]
        return total

    def __str__(self) -> str:
        return diagram(self.size, self.stones)


# ---------------------------------------------------------------------------------------------
# Local shape features: every window looked at by itself, every symmetry tried. A position is its Stones. A
# weight is named (k, kind, raw): the size of its window, "LI", "LD", "inversion" or "none", and the smallest
# raw index of its shapes, anchor * 3^(k*k) + configuration (header of `rlgo.features.shapes`).
# ---------------------------------------------------------------------------------------------

Weight = tuple[int, str, int]
KINDS = {"LI+LD": ("LI", "LD")}  # of weights, under each sharing; under the others, the one of that name


def images(size: int, p: Point) -> list[Point]:
    """Where the eight symmetries of the board take a point, always in the same order."""
    return [(r, c) for row, col in (p, p[::-1]) for r in (row, size - 1 - row) for c in (col, size - 1 - col)]


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
    """Where a shape's location-dependent weight stands behind `ld_base`, by `rlgo.features.shapes`; LI: `li_base`.

    cells : the colours in the window, row by row from the anchor. The window says in which order they count.
    """
    g, size = features.geometry, features.size
    name, row, col = features.windows[window]
    k = int(name[0])
    colors = {to_core(size, (row + n // k, col + n % k)): c for n, c in enumerate(cells)}
    return sum(3**d * colors[int(p)] for d, p in enumerate(g.cell_point[window, : k * k]))


def entry(features: Any, kind: str, window: int, cells: tuple[int, ...]) -> int:
    """Where in the table the weight of a shape is."""
    g = features.geometry
    return int((g.li_base if kind == "LI" else g.ld_base)[window]) + to_place(features, window, cells)


def to_index(features: Any, weight: Weight) -> int:
    """The index into theta that `rlgo.features.shapes` gives to a weight."""
    k, kind, raw = weight
    anchor, configuration = divmod(raw, 3 ** (k * k))
    window = features.windows.index((f"{k}x{k}", *divmod(anchor, features.size - k + 1)))
    base = (features.geometry.li_base if kind == "LI" else features.geometry.ld_base)[window]
    cells = tuple(configuration // 3**d % 3 for d in range(k * k))
    return abs(int(features.class_of[base + to_place(features, window, cells)]))


def states_after(size: int, moves: Any, first: int, sizes: tuple[int, ...], sharing: str) -> tuple[list, NaiveBoard]:
    """The `active_shapes` of the positions after `first` moves (points of the core) and after each later one.

    Returns the board after the last move as well.
    """
    board, states = NaiveBoard(size), []
    for n, p in enumerate([*moves, None]):
        if n >= first:
            states.append(active_shapes(board.stones, size, sizes, sharing))
        if n < len(moves):
            board.play(from_core(size, int(p)))
    return states, board


def by_index(theta: dict[Weight, float], features: Any) -> np.ndarray:
    """Weights by name as an array, float64[n_weights + 1]."""
    out = np.zeros(features.n_weights + 1)
    for name, weight in theta.items():
        out[to_index(features, name)] = weight
    return out


def by_name(theta: np.ndarray, features: Any, states: list[list[dict[Weight, int]]]) -> dict[Weight, float]:
    """The weights of all shapes in some states, by name."""
    names = {name for shapes in states for weights in shapes for name in weights}
    return {name: float(theta[to_index(features, name)]) for name in names}


def logit(theta: dict[Weight, float], shapes: list[dict[Weight, int]]) -> float:
    """phi(s) . theta."""
    return sum(n * theta.get(name, 0.0) for name, n in phi(shapes).items())


def value(theta: dict[Weight, float], features: dict[Weight, int], kind: str = "logistic", long: float = 0.0) -> float:
    """V(s), logistic or linear, of phi(s); long : phi(s) . theta of another memory, which is added (Dyna-2)."""
    x = long + sum(n * theta.get(name, 0.0) for name, n in features.items())
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
    rule: Callable[[Weight, float, float], float] | None = None,
    long: list[float] | None = None,
) -> float:
    """TD(lambda) over one game, term by term from the paper; theta is updated in place.

    states : the `active_shapes` of s_0 ... s_T; z : the outcome. Returns the sum of |delta V_t|.
    rule : the change of a weight, from its gradient and its curvature, in place of alpha times the gradient
    long : for ``update="game"``: phi . theta of each state by a long-term memory, which does not learn
    """
    rule = rule or (lambda _, gradient, __: alpha * gradient)
    last, error = len(states) - 1, 0.0
    features = [phi(s) for s in states]
    norms = [squared_norm(s, normalise) for s in states]
    if update == "game":  # the forward view, with the values from before the game
        v = [value(theta, f, value_kind, x) for f, x in zip(features, long or [0.0] * len(states), strict=True)]
        gradient: dict[Weight, float] = {}
        curvature: dict[Weight, float] = {}
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
                    gradient[name] = gradient.get(name, 0.0) + (target - v[t]) * n / norms[t]
                for name in (name for window in states[t] for name in window):
                    curvature[name] = curvature.get(name, 0.0) + 1 / norms[t]
        for name, c in curvature.items():
            theta[name] = theta.get(name, 0.0) + rule(name, gradient.get(name, 0.0), c)
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
            theta[name] = theta.get(name, 0.0) + rule(name, delta * e, abs(e))
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


# ---------------------------------------------------------------------------------------------
# MoGo's default policy, rule by rule. Neighbourhoods are nine characters, row by row from the top: X Black, O
# White, `.` empty, # off the board.
# ---------------------------------------------------------------------------------------------

# X and O here are one colour and the other; ? anything, x all but X, o all but O; the candidate stands in the centre.
FOR_BOTH = [
    *("XOX...???", "XO....?.?", "XO?X..x.?", "XO?O.o?o?", "XO?O.X???", "?X?O.Oooo"),
    *("X.?O.?###", "OX?X.O###", "?X?x.O###", "?XOx.x###", "?OXX.O###"),
]
FOR_X = ["XOO...?.?"]


@cache
def _mogo_regex(color: int) -> re.Pattern[str]:
    """All that MoGo would play `color` in the centre of: every pattern, turned, reflected, and its colours swapped."""
    swap = str.maketrans("XOxo", "OXox")
    patterns = FOR_BOTH + [p.translate(swap) for p in FOR_BOTH]
    patterns += FOR_X if color == BLACK else [p.translate(swap) for p in FOR_X]
    turned = set()
    for p in patterns:
        for _ in range(4):
            p = "".join(p[i] for i in (6, 3, 0, 7, 4, 1, 8, 5, 2))  # a quarter turn
            turned |= {p, p[6:] + p[3:6] + p[:3]}
    means = {".": "[.]", "?": ".", "x": "[^X]", "o": "[^O]"}
    return re.compile("|".join("".join(means.get(c, c) for c in p) for p in sorted(turned)))


def is_mogo_pattern(seen: str, color: int) -> bool:
    """Whether MoGo would play `color` in the centre of a neighbourhood."""
    return _mogo_regex(color).fullmatch(seen) is not None


def neighbourhood(size: int, stones: Stones, p: Point) -> str:
    """The colours around p, as `is_mogo_pattern` reads them."""
    around = [(p[0] + row, p[1] + col) for row in (1, 0, -1) for col in (-1, 0, 1)]
    inside = [0 <= row < size and 0 <= col < size for row, col in around]
    return "".join(".XO"[stones.get(q, EMPTY)] if i else "#" for q, i in zip(around, inside, strict=True))


def liberties_after(size: int, stones: Stones, p: Point, color: int) -> int:
    """Of the chain that a stone of `color` at p joins: 0, 1, or 2 for more, and for a stone that captures."""
    stones = {**stones, p: color}
    for q in on_board(size, p):
        if stones.get(q) == 3 - color and all(r in stones for r in flood(size, stones, q)[1]):
            return 2
    return min(2, sum(r not in stones for r in flood(size, stones, p)[1]))


def mogo_rules(board: NaiveBoard, last: Point | None) -> dict[str, set[Point]]:
    """The candidates of every rule of MoGo's after the stone `last`; None: a pass, or nothing, came last.

    "pattern" is without moves into self-atari, "any pattern" with them.
    """
    color, legal = board.to_play, board.legal_points()
    liberties = {p: liberties_after(board.size, board.stones, p, color) for p in legal}
    rules: dict[str, set[Point]] = {"save": set(), "pattern": set(), "any pattern": set(), "capture": set()}
    for stones, only in board.chains():
        if len(only) == 1 and board.stones[min(stones)] != color:
            rules["capture"] |= only & legal
    if last is None:
        return rules
    for q in on_board(board.size, last):
        if board.stones.get(q) != color:
            continue
        stones, own = board.chain(q)
        if len(own) == 1:
            rules["save"] |= {p for p in own & legal if liberties[p] == 2}
            for r in flood(board.size, board.stones, q)[1]:
                if r in board.stones and len(board.chain(r)[1]) == 1:
                    rules["save"] |= board.chain(r)[1] & legal
    for p in on_board(board.size, last) + on_board(board.size, last, diagonal=True):
        seen = neighbourhood(board.size, board.stones, p)
        if p in legal and not board.is_eye(p, color) and is_mogo_pattern(seen, color):
            rules["any pattern"].add(p)
            if liberties[p] == 2:
                rules["pattern"].add(p)
    return rules


# ---------------------------------------------------------------------------------------------
# Minimax: no pruning, no table, and every leaf valued anew. Compiled, and on `rlgo.go.board`, which has its own
# oracle: a search of three plies has thousands of leaves.
# ---------------------------------------------------------------------------------------------


def minimax(boards: Any, depth: int, features: Any, table: Any, komi: float) -> float:
    """The value of boards[0] for Black, `depth` plies deep; the other boards are scratch.

    Both play sensible moves, and pass where there are none. Two passes are worth +-1e6, or 0 for a draw; every
    other leaf phi . theta, by the table of features that share no weights.
    """
    g = features.geometry
    n = g.n_windows
    return float(
        _minimax(boards, depth, g.cell_point[:n], g.n_cells[:n], g.ld_base[:n], table, komi, zobrist(features.size))
    )


def reduced_minimax(
    game: Any, depth: int, value: Callable[[Any], float], moves: list[int], early: int, alpha: float, beta: float
) -> float:
    """Alpha-beta with null windows and late move reductions, as its definition says, for the colour to play.

    Moves are those of `moves`, in this order, and later the sensible ones by their value one ply deep. From the one
    with number `early` on, each is searched two plies less deeply first, where there are as many.

    value : the value of a game for Black
    """
    sign = 1 if game.to_play == BLACK else -1
    best = -math.inf
    for i, p in enumerate(moves):
        child = after(game, p)

        def searched(depth: int, high: float, child: Any = child, alpha: float = alpha) -> float:
            if child.board.n_passes >= 2:
                return sign * (2 * child.outcome - 1) * 1e6
            if depth == 0:
                return sign * value(child)
            gains = {q: value(after(child, q)) for q in child.sensible_moves()}
            if depth == 1 and gains:
                return sign * (min if sign > 0 else max)(gains.values())
            order = sorted(gains, key=lambda q: sign * gains[q]) or [PASS]
            return -reduced_minimax(child, depth, value, order, early, -high, -alpha)

        high = alpha + 1e-9 if i else beta
        reduction = 2 if i >= early and depth > 2 else 0
        x = searched(depth - 1 - reduction, high)
        if reduction and x > alpha:
            x = searched(depth - 1, high)
        if alpha < x < beta and high != beta:
            x = searched(depth - 1, beta)
        best, alpha = max(best, x), max(alpha, x)
        if alpha >= beta:
            break
    return best


def after(game: Any, p: int) -> Any:
    """The game after a move; the game itself stays as it is."""
    child = game.copy()
    child.play(p)
    return child


@njit(allocates=True)
def _minimax(boards, depth, cell_point, n_cells, base, table, komi, zobrist):
    best = np.zeros(depth + 1)
    tried = np.zeros(depth + 1, np.int64)  # at each ply, the points up to this one have been tried
    n_moves = np.zeros(depth + 1, np.int64)
    ply, value = 0, 0.0
    while True:
        b = boards[ply]
        p = -1
        if b.n_passes >= 2:
            value = (2 * outcome(b, komi) - 1) * 1e6
        elif ply == depth:
            value = 0.0
            for w in range(len(base)):
                at = base[w]
                for i in range(n_cells[w]):
                    at += 3**i * b.color[cell_point[w, i]]
                value += table[at]
        else:
            for q in range(tried[ply] + 1, b.color.shape[0]):
                if b.color[q] == EMPTY and is_sensible(b, q):
                    p = q
                    break
            if p < 0 and n_moves[ply] == 0:
                p = PASS
            value = best[ply]
        if p >= 0:
            tried[ply] = p if p != PASS else b.color.shape[0]
            n_moves[ply] += 1
            copy_record(b, boards[ply + 1])
            play(boards[ply + 1], p, zobrist)
            ply += 1
            tried[ply] = n_moves[ply] = 0
            continue
        if ply == 0:
            return value
        ply -= 1
        if n_moves[ply] == 1 or (value > best[ply]) == (boards[ply].to_play == BLACK):
            best[ply] = value
