"""Patterns learned from games, and how well they predict moves of games that were held out.

Start reading at `train_patterns` and `compare`. Measured beside the patterns are uniform choice, Q_rlgo and the
handcrafted heuristic. Their scores are not probabilities: softmax turns each into one, with the factor that makes
the moves of training games most probable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mcts.handcrafted import judge
from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.features.weights import Weights, load_weights, shipped_weights
from rlgo.go.board import BLACK, new_board, play
from rlgo.go.mogo_patterns import mogo_patterns
from rlgo.go.rules import zobrist
from rlgo.learning.collection import Collection, is_held_out, learned_moves, take_games
from rlgo.learning.value import ValueFunction
from rlgo.moves import softmax
from rlgo.moves.decisions import Decisions, GameTable, begin_game, decisions_of, grow_tree, turn
from rlgo.moves.nested_shapes import known_shapes, make_tree
from rlgo.moves.patterns import Patterns
from train.console import table
from train.knowledge.methods import PatternSettings

_MOST_COUNTED = 6_000_000  # shapes that are counted, known or not
_SCALE_GAMES = 200  # to fit the factor of a score that is not a probability
_PHASES = {"moves 1-20": (0, 20), "moves 21-40": (20, 40), "moves 41-": (40, 10**9), "all": (0, 10**9)}
_TOPS = (1, 5, 10)
RANKS = 20  # ranks of which the cumulative probability is kept


def game_table(games: Collection, *, held_out: bool, most: int | None = None) -> GameTable:
    """Return the games to learn from, or those held out, for compiled code; the first `most` of them.

    The moves to learn are those that a search chose; in a game without any search, all moves.
    """
    chosen = np.flatnonzero(is_held_out(games.arrays["id"]) == held_out)[:most]
    if not len(chosen):
        raise RlgoError(f"games = {len(games):,}: expected about 30 or more: a tenth is held out to measure by")
    a = take_games(games.arrays, chosen)
    return GameTable(
        np.concatenate([[0], np.cumsum(a["n_setup"])]), np.concatenate([[0], np.cumsum(a["n_moves"])]),
        a["setup_color"], a["setup_point"], a["color"], a["move"], learned_moves(a).astype(np.uint8),
    )  # fmt: skip


def train_patterns(
    games: GameTable, size: int, settings: PatternSettings, report: Callable[[float], None] = lambda _: None
) -> Patterns:
    """Learn patterns from games.

    report : called after each iteration with the mean log-likelihood
    """
    settings = validated(settings)
    growing = grow_tree(games, size, settings.seen, settings.rings, _MOST_COUNTED)
    parents, codes, seen = known_shapes(growing, settings.seen)
    decisions = decisions_of(games, size, make_tree(parents, codes))
    features, shapes = softmax.fit(decisions, parents, settings.l2, settings.iterations, report)
    made = {**settings._asdict(), "method": "softmax", "games": len(games.first_move) - 1, "decisions": len(decisions)}
    return Patterns(parents, codes, seen, shapes, features, size, made)


# ---------------------------------------------------------------------------------------------
# How well moves are predicted
# ---------------------------------------------------------------------------------------------


class Accuracy(NamedTuple):
    """How well some decisions are predicted."""

    name: str  # of the predictor
    phase: str
    decisions: int
    log_likelihood: float  # mean of log P(the move played)
    top: tuple[float, ...]  # how often the move played is among the best 1, 5 and 10; ties count in part
    by_rank: tuple[float, ...]  # the same for 1 to RANKS


def accuracies(name: str, decisions: Decisions, x: np.ndarray) -> list[Accuracy]:
    """Measure the prediction P = softmax(x), phase by phase; x is float[N], one for each candidate."""
    starts, sizes = decisions.starts[:-1], np.diff(decisions.starts)
    played = x[starts + decisions.chosen]
    highest = np.maximum.reduceat(x, starts)
    scale = np.add.reduceat(np.exp(x - np.repeat(highest, sizes)), starts)
    log_p = played - highest - np.log(scale)
    others = np.repeat(played, sizes)
    better, ties = np.add.reduceat(x > others, starts), np.add.reduceat(x == others, starts)
    found = []
    for phase, (low, high) in _PHASES.items():
        here = (decisions.ply >= low) & (decisions.ply < high)
        if here.any():
            hits = [np.clip((k - better[here]) / ties[here], 0, 1).mean() for k in range(1, RANKS + 1)]
            by_rank = tuple(map(float, hits))
            top = tuple(by_rank[k - 1] for k in _TOPS)
            found.append(Accuracy(name, phase, int(here.sum()), float(log_p[here].mean()), top, by_rank))
    return found


def pattern_scores(patterns: Patterns, games: GameTable, size: int) -> tuple[Decisions, np.ndarray]:
    """Return the decisions of some games, and x of all their candidates."""
    decisions = decisions_of(games, size, make_tree(patterns.parents, patterns.codes))
    x = patterns.shape_weights[decisions.shape].astype(np.float64)
    for group in range(decisions.features.shape[1]):
        x += patterns.feature_weights[decisions.features[:, group]]
    return decisions, x


def compare(games: Collection, patterns: dict[str, Patterns]) -> list[Accuracy]:
    """Measure patterns, by their names, on the games held out, beside uniform choice, Q_rlgo and handcrafted rules."""
    size = games.size
    held_out = game_table(games, held_out=True)
    decisions = decisions_of(held_out, size, _no_shapes())
    found = accuracies("uniform", decisions, np.zeros(len(decisions.move)))
    sample = game_table(games, held_out=False, most=_SCALE_GAMES)
    sampled = decisions_of(sample, size, _no_shapes())
    for name, score in _scorers(size).items():
        scale = _best_scale(sampled, _scores(sampled, sample, size, score))
        found += accuracies(name, decisions, scale * _scores(decisions, held_out, size, score))
    return found + measure(games, patterns)


def measure(games: Collection, patterns: dict[str, Patterns]) -> list[Accuracy]:
    """Measure patterns, by their names, on the games held out."""
    held_out = game_table(games, held_out=True)
    return [
        row
        for name, learned in patterns.items()
        for row in accuracies(name, *pattern_scores(learned, held_out, games.size))
    ]


def _no_shapes() -> Any:
    return make_tree(np.zeros(0, np.int32), np.zeros(0, np.uint32))


_Score = Callable[[np.record, np.ndarray], np.ndarray]


def _scorers(size: int) -> dict[str, _Score]:
    """Return the predictors beside patterns by name, as functions of a board; Q_rlgo only with shipped weights."""
    patterns = mogo_patterns()

    def handcrafted(board: np.record, moves: np.ndarray) -> np.ndarray:
        return np.array([judge(board, int(p), patterns) for p in moves])

    if not list(checkpoints_dir().glob(f"{size}x{size}-*.npz")):
        return {"handcrafted": handcrafted}
    rlgo = _rlgo_scorer(load_weights(shipped_weights(size)))
    return {
        "handcrafted": handcrafted,
        "Q_rlgo": rlgo,
        "both": lambda board, moves: handcrafted(board, moves) + rlgo(board, moves),
    }


def _rlgo_scorer(weights: Weights) -> _Score:
    value, size = ValueFunction(weights), weights.features.size

    def score(board: np.record, moves: np.ndarray) -> np.ndarray:
        rows, columns = np.divmod(moves.astype(np.int64), size + 1)
        places = np.where(moves == 0, size * size, (rows - 1) * size + columns - 1)
        v = np.clip(value.afterstates(board)[places], 1e-6, 1 - 1e-6)
        x = np.log(v / (1 - v))
        return x if board.to_play == BLACK else -x

    return score


def _scores(decisions: Decisions, games: GameTable, size: int, score: _Score) -> np.ndarray:
    x = np.zeros(len(decisions.move))
    for d, board in _positions(decisions, games, size):
        here = slice(int(decisions.starts[d]), int(decisions.starts[d + 1]))
        x[here] = score(board, decisions.move[here])
    return x


def _positions(decisions: Decisions, games: GameTable, size: int) -> Iterator[tuple[int, np.record]]:
    """Yield the number and the position of each decision."""
    d, board = 0, new_board(size)
    while d < len(decisions):
        g = int(decisions.game[d])
        begin_game(board, games, g, zobrist(size))
        for ply, t in enumerate(range(int(games.first_move[g]), int(games.first_move[g + 1]))):
            turn(board, games.color[t])
            if d < len(decisions) and decisions.game[d] == g and decisions.ply[d] == ply:
                yield d, board
                d += 1
            play(board, int(games.move[t]), zobrist(size))


def _best_scale(decisions: Decisions, x: np.ndarray) -> float:
    """Return the factor of x that makes the moves played most probable."""
    from scipy.optimize import minimize_scalar  # slow to load

    def loss(log_scale: float) -> float:
        return -accuracies("", decisions, np.exp(log_scale) * x)[-1].log_likelihood

    return float(np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded").x))


# ---------------------------------------------------------------------------------------------
# The learning curve
# ---------------------------------------------------------------------------------------------


class CurvePoint(NamedTuple):
    """What was learned from some number of games."""

    games: int
    shapes: int
    log_likelihood: float
    top: tuple[float, ...]


def learning_curve(
    games: Collection, settings: PatternSettings, report: Callable[[CurvePoint], None] = lambda _: None
) -> list[CurvePoint]:
    """Learn from more and more games, each time twice as many, up to all, and measure on the games held out."""
    held_out = game_table(games, held_out=True)
    most = len(game_table(games, held_out=False).first_move) - 1
    numbers = [most >> k for k in range(most.bit_length()) if most >> k >= min(50, most)][::-1]
    points = []
    for n in numbers:
        patterns = train_patterns(game_table(games, held_out=False, most=n), games.size, settings)
        whole = accuracies("", *pattern_scores(patterns, held_out, games.size))[-1]
        points.append(CurvePoint(n, len(patterns.parents), whole.log_likelihood, whole.top))
        report(points[-1])
    return points


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


def accuracy_table(found: Sequence[Accuracy]) -> str:
    """Lay out measurements as a table, one row for each predictor and phase."""
    header = ["predictor", "phase", "moves", "log-likelihood", *(f"top {k}" for k in _TOPS)]
    rows = [
        [a.name, a.phase, f"{a.decisions:,}", f"{a.log_likelihood:.3f}", *(f"{share:.1%}" for share in a.top)]
        for a in found
    ]
    return table(header, rows, align="llrrrrr")


def curve_table(points: Sequence[CurvePoint]) -> str:
    """Lay out a learning curve as a table."""
    header = ["games", "shapes", "log-likelihood", *(f"top {k}" for k in _TOPS)]
    rows = [
        [f"{p.games:,}", f"{p.shapes:,}", f"{p.log_likelihood:.3f}", *(f"{share:.1%}" for share in p.top)]
        for p in points
    ]
    return table(header, rows, align="rrrrrr")
