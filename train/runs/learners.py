"""The learner that the config of a training run describes.

Start reading at `make_learner`. A run gets its learner from `learner_of`, with workers on threads or on a Ray cluster.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator

import numpy as np

from rlgo.base.settings import EPSILON_GREEDY
from rlgo.compiler.jit import compiling
from rlgo.features.shapes import FeatureSet, make_features
from rlgo.learning.learner import Learner
from train.config import Config


def seeds(config: Config) -> list[np.random.SeedSequence]:
    """Return the two seeds of a run: for self-play and for measurements."""
    return np.random.SeedSequence(config.run.seed).spawn(2)


def features_of(config: Config) -> FeatureSet:
    """Make the feature set that a config describes."""
    f = config.features
    return make_features(config.board.size, f.sizes, f.sharing, f.windows, f.liberty_sharing)


def make_learner(
    config: Config,
    seed: int | np.random.SeedSequence,
    theta: np.ndarray | None = None,
    kind: Callable[..., Learner] = Learner,
) -> Learner:
    """Make the learner that a config describes.

    Parameters
    ----------
    config : see `config.Config`; `run.cluster` is ignored here
    seed : seed of self-play
    theta : initial weights, float32[n_weights + 1]; None: zeros
    kind : the class of the learner, or a function with the same arguments; by default, its workers are threads
    """
    learning, policy = config.learning.rule._replace(games=config.run.games), config.policy.rule
    if policy.kind != EPSILON_GREEDY:
        policy = policy._replace(epsilon=0.0)
    arguments = features_of(config), learning, policy, config.board.komi, config.policy.max_moves, seed
    return kind(
        *arguments,
        theta=theta,
        optimiser=config.learning.optimiser,
        workers=config.run.workers,
        merge_every=config.run.merge_every,
    )


@contextlib.contextmanager
def learner_of(config: Config, theta: np.ndarray | None = None) -> Iterator[Learner]:
    """Make the learner of a run, with workers on threads or on a cluster, and stop its workers at the end."""
    size, seed = config.board.size, seeds(config)[0]
    if config.run.cluster:
        from train.runs.workers import RayLearner  # only runs on a cluster pay for loading it

        kind = functools.partial(RayLearner, cluster=config.run.cluster, timeout=config.run.cluster_timeout)
        learner = make_learner(config, seed, theta, kind)
    else:
        with compiling(f"board and value function, {size}x{size}"):
            learner = make_learner(config, seed, theta)
    with contextlib.closing(learner):
        yield learner
