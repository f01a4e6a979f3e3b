"""Speeds of games: playouts, self-play, and self-play that learns."""

from __future__ import annotations

from rlgo.base.settings import DEFAULT_KOMI
from train.bench.material import trained_learner
from train.bench.timing import Numbers, rates

_PLAYOUTS = 2_000  # per call of compiled code, so that Ctrl-C is noticed


def playouts(size: int, n: int, mogo: bool = False) -> Numbers:
    """Measure playouts per second from the empty board."""
    from rlgo.compiler.jit import make_rng
    from rlgo.go.board import new_boards
    from rlgo.go.rules import make_rules
    from rlgo.moves import rollout

    boards, rng, scratch = new_boards(2, size), make_rng(1), rollout.new_rollout(size)
    # Uniform playouts run to the end; MoGo's stop by the mercy rule, as in a search.
    policy = rollout.DefaultPolicy(rollout.MOGO) if mogo else rollout.DefaultPolicy(rollout.UNIFORM, mercy=False)

    def run() -> tuple[float, ...]:
        for first in range(0, n, _PLAYOUTS):
            count = min(_PLAYOUTS, n - first)
            rollout.playouts(boards, policy, scratch, make_rules(size, DEFAULT_KOMI), count, rng)
        return (n,)

    yield f"{'mogo_' if mogo else ''}playouts_{size}x{size}_per_s", rates(run)[0]


def selfplay(n: int) -> Numbers:
    """Measure games per second with fixed weights, and the afterstates that they consider."""
    learner = trained_learner()

    def run() -> tuple[float, ...]:
        tally = learner.play(n)
        return n, float(tally.evaluations)

    games, evaluations = rates(run)
    yield "selfplay_games_per_s", games
    yield "selfplay_evals_per_s", evaluations


def training(n: int) -> Numbers:
    """Measure games per second that are learned from."""
    learner = trained_learner()

    def run() -> tuple[float, ...]:
        learner.learn(n)
        return (n,)

    yield "train_games_per_s", rates(run)[0]
