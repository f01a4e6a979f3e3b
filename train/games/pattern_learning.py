"""Patterns learned from games, and how well they predict moves of games that were held out.

Start reading at `train_patterns` and `compare`. Measured beside the patterns are uniform choice, Q_rlgo and the
handcrafted heuristic. Their scores are not probabilities: softmax turns each into one, with the factor that makes
the moves of training games most probable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mcts.priors.handcrafted import judge
from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.features.weights import Weights, load_weights, shipped_weights
from rlgo.go.board import BLACK
from rlgo.go.mogo_patterns import mogo_patterns
from rlgo.go.positions import places_of, replayed
from rlgo.learning.collection import Collection, is_held_out, learned_moves, move_lists_of, take_games
from rlgo.learning.value import ValueFunction
from rlgo.moves import softmax
from rlgo.moves.decisions import Decisions, TrainingGames, decisions_of, grow_tree
from rlgo.moves.nested_shapes import known_shapes, make_tree
from rlgo.moves.patterns import Patterns
from train.console import table
from train.games.pattern_settings import PatternSettings
from train.plots import light_frame, make_figure, percent, save_figure

_MOST_COUNTED = 6_000_000  # shapes that are counted, known or not
_SCALE_GAMES = 200  # to fit the factor of a score that is not a probability
_PHASES = {"moves 1-20": (0, 20), "moves 21-40": (20, 40), "moves 41-": (40, 10**9), "all": (0, 10**9)}
_TOPS = (1, 5, 10)
_RANKS = 20  # ranks of which the cumulative probability is kept


def training_games(games: Collection, *, held_out: bool, most: int | None = None) -> TrainingGames:
    """Return the training games, or those held out, for compiled code; the first `most` of them.

    The moves to learn are those that a search chose; in a game without any search, all moves.
    """
    chosen = np.flatnonzero(is_held_out(games.arrays["id"]) == held_out)[:most]
    if not len(chosen):
        raise RlgoError(f"games = {len(games):,}: expected about 30 or more: a tenth is held out to measure by")
    a = take_games(games.arrays, chosen)
    return TrainingGames(move_lists_of(a), learned_moves(a).astype(np.uint8))


def train_patterns(
    games: TrainingGames, size: int, settings: PatternSettings, report: Callable[[float], None] = lambda _: None
) -> Patterns:
    """Learn patterns from games.

    report : called after each iteration with the mean log-likelihood
    """
    settings = validated(settings)
    growing = grow_tree(games, size, settings.seen, settings.rings, _MOST_COUNTED)
    parents, codes, seen = known_shapes(growing, settings.seen)
    decisions = decisions_of(games, size, make_tree(parents, codes))
    features, shapes = softmax.fit(decisions, parents, settings.l2, settings.iterations, report)
    made = {
        **settings._asdict(),
        "method": "softmax",
        "games": len(games.lists.first_move) - 1,
        "decisions": len(decisions),
    }
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
    by_rank: tuple[float, ...]  # the same for 1 to _RANKS


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
            hits = [np.clip((k - better[here]) / ties[here], 0, 1).mean() for k in range(1, _RANKS + 1)]
            by_rank = tuple(map(float, hits))
            top = tuple(by_rank[k - 1] for k in _TOPS)
            found.append(Accuracy(name, phase, int(here.sum()), float(log_p[here].mean()), top, by_rank))
    return found


def pattern_scores(patterns: Patterns, games: TrainingGames, size: int) -> tuple[Decisions, np.ndarray]:
    """Return the decisions of some games, and x of all their candidates."""
    decisions = decisions_of(games, size, make_tree(patterns.parents, patterns.codes))
    x = patterns.shape_weights[decisions.shape].astype(np.float64)
    for group in range(decisions.features.shape[1]):
        x += patterns.feature_weights[decisions.features[:, group]]
    return decisions, x


def compare(games: Collection, patterns: dict[str, Patterns]) -> list[Accuracy]:
    """Measure patterns, by their names, on the games held out, beside uniform choice, Q_rlgo and handcrafted rules."""
    size = games.size
    held_out = training_games(games, held_out=True)
    decisions = decisions_of(held_out, size, _no_shapes())
    found = accuracies("uniform", decisions, np.zeros(len(decisions.move)))
    sample = training_games(games, held_out=False, most=_SCALE_GAMES)
    sampled = decisions_of(sample, size, _no_shapes())
    for name, score in _scorers(size).items():
        scale = _best_scale(sampled, _scores(sampled, sample, size, score))
        found += accuracies(name, decisions, scale * _scores(decisions, held_out, size, score))
    return found + measure(games, patterns)


def measure(games: Collection, patterns: dict[str, Patterns]) -> list[Accuracy]:
    """Measure patterns, by their names, on the games held out."""
    held_out = training_games(games, held_out=True)
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
        v = np.clip(value.afterstates(board)[places_of(moves, size)], 1e-6, 1 - 1e-6)
        x = np.log(v / (1 - v))
        return x if board.to_play == BLACK else -x

    return score


def _scores(decisions: Decisions, games: TrainingGames, size: int, score: _Score) -> np.ndarray:
    boards = replayed(games.lists, decisions.game, decisions.ply, size, 1, superko=False).arrays.boards
    parts = np.split(decisions.move, decisions.starts[1:-1])
    return np.concatenate([score(board, moves) for board, moves in zip(boards, parts, strict=True)])


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
    held_out = training_games(games, held_out=True)
    most = len(training_games(games, held_out=False).lists.first_move) - 1
    numbers = [most >> k for k in range(most.bit_length()) if most >> k >= min(50, most)][::-1]
    points = []
    for n in numbers:
        patterns = train_patterns(training_games(games, held_out=False, most=n), games.size, settings)
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


# ---------------------------------------------------------------------------------------------
# Pictures
# ---------------------------------------------------------------------------------------------


def accuracy_picture(path: str | Path, found: Sequence[Accuracy]) -> None:
    """Write a PNG: how often the move played is among the best k, and the log-likelihood by phase."""
    figure, axes = make_figure(1, 2, 11, 4.5)
    left, right = axes[0]
    names = list(dict.fromkeys(a.name for a in found))
    phases = [phase for phase in dict.fromkeys(a.phase for a in found) if phase != "all"]
    for i, name in enumerate(names):
        rows = {a.phase: a for a in found if a.name == name}
        left.plot(range(1, _RANKS + 1), rows["all"].by_rank, marker=".", color=f"C{i}", label=name)
        values = [rows[phase].log_likelihood for phase in phases]
        right.plot(range(len(phases)), values, marker="o", color=f"C{i}", label=name)
    percent(left.yaxis)
    left.set_ylim(0, 1)
    left.set_xticks([1, *range(5, _RANKS + 1, 5)])
    left.set_xlabel("rank k")
    left.set_title("Move played among the best k", fontsize=10, loc="left")
    left.legend(frameon=False, fontsize=9)
    right.set_xticks(range(len(phases)), [phase.removeprefix("moves ") for phase in phases])
    right.set_xlabel("move of the game")
    right.set_title("Mean log-likelihood of the move played", fontsize=10, loc="left")
    for ax in (left, right):
        light_frame(ax)
    save_figure(figure, path)


def curve_picture(path: str | Path, points: Sequence[CurvePoint]) -> None:
    """Write a PNG of a learning curve: log-likelihood and top-1 accuracy over the number of games."""
    figure, axes = make_figure(1, 2, 11, 4)
    left, right = axes[0]
    games = [p.games for p in points]
    left.plot(games, [p.log_likelihood for p in points], marker="o")
    right.plot(games, [p.top[0] for p in points], marker="o")
    percent(right.yaxis)
    for ax, title in ((left, "Mean log-likelihood, games held out"), (right, "Move played is the most probable one")):
        ax.set_xscale("log")
        ax.set_xlabel("games learned from")
        ax.set_title(title, fontsize=10, loc="left")
        light_frame(ax)
    save_figure(figure, path)
