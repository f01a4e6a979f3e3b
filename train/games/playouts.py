"""Learning a softmax policy for simulations from positions of games and the values of searches.

Start reading at `learn_policy`. `rlgo/moves/softmax_policy.py` describes the policy, and why it stays a trial.
"""

from __future__ import annotations

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.compiler.jit import compiling, make_rng
from rlgo.go.board import new_boards
from rlgo.go.positions import Positions, replayed
from rlgo.go.rules import make_rules
from rlgo.learning.balancing import add_simulations, new_score
from rlgo.learning.collection import Collection, is_held_out, move_lists_of, take_games
from rlgo.learning.learner import averaging_rate
from rlgo.moves.rollout import SOFTMAX_POLICY, DefaultPolicy, new_rollout, playouts
from rlgo.moves.softmax_policy import ADJACENT, LEAST_SELF_ATARI, SoftmaxPolicy, Tables, make_tables, split_weights
from train import console
from train.games.collect import origin_of
from train.games.methods import BALANCE, PlayoutSettings


def searched_positions(games: Collection, most: int, seed: int) -> tuple[Positions, np.ndarray]:
    """Choose at most so many positions with a search at random, of games that are not held out.

    Returns them with V*, float64[n], P(Black wins) according to the search. Raises `RlgoError` if there is none.
    """
    a = take_games(games.arrays, np.flatnonzero(~is_held_out(games.arrays["id"])))
    lists, value = move_lists_of(a), a["value"].astype(np.float64)
    is_searched = ~np.isnan(value) & ~np.isnan(np.repeat(lists.komi, a["n_moves"]))
    chosen = np.random.default_rng(seed).permutation(np.flatnonzero(is_searched))[:most]
    if not len(chosen):
        raise RlgoError(f"games = {len(games):,}: expected more, with the values of a search")
    game = np.searchsorted(lists.first_move, chosen, side="right") - 1
    return replayed(lists, game, chosen - lists.first_move[game], games.size, 1, superko=False), value[chosen]


def learn_policy(
    games: Collection, settings: PlayoutSettings, start: SoftmaxPolicy, progress: bool = True
) -> SoftmaxPolicy:
    """Learn a policy from positions of games, by simulation balancing or by REINFORCE.

    The result is the mean of the weights after all steps, with weight t (t + 1) for step t, which removes most of the
    noise (Polyak & Juditsky 1992).

    Parameters
    ----------
    games : searched by a player; the policy learns from those that are not held out
    settings : how to learn
    start : the policy to start from
    progress : show progress on standard error
    """
    positions, values = searched_positions(games, settings.positions, settings.seed)
    theta, kinds, score = start.theta.astype(np.float64), kinds_of_shapes(start.codes), new_score(games.size, start)
    boards, r, rng = new_boards(2, games.size), new_rollout(games.size), make_rng(settings.seed)

    def add(tables: Tables, i: int) -> float:
        """Add the gradient at position i to that of `score`, and return V* - V."""
        policy, rules = DefaultPolicy(SOFTMAX_POLICY, softmax=tables), make_rules(games.size, float(positions.komi[i]))
        boards[0], n = positions.arrays.boards[i], settings.simulations
        # Two sets of simulations, so that the error of the mean and the gradient are independent.
        v = playouts(boards, policy, r, rules, n, rng)[0] / n
        error = float(values[i]) - v
        sides = (error, error) if settings.method == BALANCE else (1.0, -1.0)
        add_simulations(boards, policy, r, rules, n, (v, *sides), score, rng)
        return error

    with compiling(f"softmax policy, {games.size}x{games.size}"):
        add(make_tables(theta, score.shape_of), 0)
    draw, mean, steps, n = np.random.default_rng(settings.seed), theta.copy(), 0, len(values)
    with console.Progress(settings.epochs * n, "positions", enabled=progress) as bar:
        for _ in range(settings.epochs):
            for batch in np.split(draw.permutation(n), range(settings.batch, n, settings.batch)):
                tables = make_tables(theta, score.shape_of)
                score.gradient[:] = 0
                errors = [add(tables, i) for i in batch]
                theta += settings.alpha / len(batch) * shared(score.gradient, kinds)
                theta[[0, len(kinds)]] = 0.0  # belong to no shape
                theta[-1] = np.clip(theta[-1], LEAST_SELF_ATARI, 0.0)
                steps += 1
                mean += averaging_rate(steps, 2) * (theta - mean)
                bar.update(len(batch))
                bar.set_postfix(f"error {np.sqrt(np.mean(np.square(errors))):.3f}")
    made = settings._asdict() | {"method": settings.method_name, "positions": n, "start": start.provenance}
    return SoftmaxPolicy(start.codes, mean.astype(np.float32), made | origin_of(games))


def kinds_of_shapes(codes: np.ndarray) -> np.ndarray:
    """Return the kind of no shape, 0, and of each: shapes with the same adjacent points, in any order, share one."""
    states = [(codes >> 2 * i & 3) + 4 * (codes >> 16 + k & 1) for k, i in enumerate(ADJACENT)]
    return np.append(0, np.unique(np.sort(states, axis=0), axis=1, return_inverse=True)[1] + 1)


def shared(gradient: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Add to each shape's gradient the sum over all shapes of its kind.

    This is the gradient for weights that are the sum of a shape's own and its kind's. The weights of kinds do most of
    the learning, because most shapes are too rare in the few positions.
    """
    shapes, answers, others = split_weights(gradient)
    return np.concatenate([*(own + np.bincount(kinds, own)[kinds] for own in (shapes, answers)), others])
