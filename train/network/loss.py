"""The network in JAX, and the loss that it minimises. JAX and Optax come with `pip install 'rlgo[network]'`.

Start reading at `loss`. `forward` mirrors the equations of `rlgo/network/inference.py`, and JAX differentiates it; a
test compares the two.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlgo.learning.batches import Batch
from rlgo.network.architecture import MEAN_SIZE, SCORE_UNIT, SIZE_UNIT, Parameters
from train.network.settings import NetworkSettings

_POINTS_AHEAD = 1.0  # in units of `SCORE_UNIT`: errors of the score beyond it count linearly


class Targets(NamedTuple):
    """The targets of a batch of n positions, from the view of the side to play; N = size * size.

    Attributes
    ----------
    policy : float32[n, N + 1], the share of visits of each move
    value : float32[n], the probability of a win
    score : float32[n], points ahead at the end, in units of `SCORE_UNIT`
    ownership : float32[n, size, size], at the end: 1, -1 or 0
    has_value, has_end : float32[n], 1 if the value is known, and if score and ownership are
    """

    policy: np.ndarray
    value: np.ndarray
    score: np.ndarray
    ownership: np.ndarray
    has_value: np.ndarray
    has_end: np.ndarray


def targets_of(batch: Batch) -> Targets:
    """Return the targets of a batch; the value is the lambda-return."""
    value = batch.lambda_return
    has_value, has_end = ~np.isnan(value), ~np.isnan(batch.score)
    return Targets(
        batch.policy, np.nan_to_num(value), np.nan_to_num(batch.score) / np.float32(SCORE_UNIT),
        batch.ownership.astype(np.float32), has_value.astype(np.float32), has_end.astype(np.float32),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# The network
# ---------------------------------------------------------------------------------------------


def convolve(x: jax.Array, kernel: jax.Array | np.ndarray) -> jax.Array:
    """Return a convolution with 3x3 points. x : [n, size, size, C]; kernel : [3, 3 C, C'], as in `Parameters`."""
    squares = jnp.asarray(kernel).reshape(3, 3, -1, kernel.shape[-1])
    return jax.lax.conv_general_dilated(x, squares, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pooled(y: jax.Array) -> jax.Array:
    """Return the numbers of `inference.pool` for each channel: [n, 3 C]."""
    mean = y.mean(axis=(1, 2))
    return jnp.concatenate([mean, mean * (y.shape[1] - MEAN_SIZE) / SIZE_UNIT, maximum(y)], axis=-1)


@jax.custom_vjp
def maximum(y: jax.Array) -> jax.Array:
    """Return the maximum of each channel, [n, C]; its gradient goes to every point that has it.

    JAX's own gradient is divided among them, which takes a sixth of a step longer. Several points share a maximum where
    it is 0, after `relu`, whose gradient is 0 anyway, and in empty regions, which look the same everywhere.
    """
    return y.max(axis=(1, 2))


def _maximum_forward(y: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    highest = maximum(y)
    return highest, (y, highest)


def _maximum_backward(saved: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array]:
    y, highest = saved
    return (jnp.where(y == highest[:, None, None], gradient[:, None, None], 0.0),)


maximum.defvjp(_maximum_forward, _maximum_backward)


def forward(w: Parameters, planes: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Return the logits of moves [n, N + 1] and of a win [n], the score in units [n], and ownership [n, size, size].

    planes : float32[n, K, size, size]; the ownership is before a tanh
    """
    relu = jax.nn.relu
    x = relu(convolve(planes.transpose(0, 2, 3, 1), w.stem) + w.stem_bias)
    for k in range(len(w.pool)):
        h = relu(convolve(x, w.conv[2 * k]) + w.conv_bias[2 * k])
        h = relu(h + (pooled(h) @ w.pool[k])[:, None, None])
        x = relu(x + convolve(h, w.conv[2 * k + 1]) + w.conv_bias[2 * k + 1])
    p, g, v = jnp.split(x @ w.head + w.head_bias, 3, axis=-1)
    everywhere = pooled(relu(g))
    points = relu(p + (everywhere @ w.policy_pool)[:, None, None]) @ w.policy
    passing = everywhere @ w.pass_move + w.pass_bias
    logits = jnp.concatenate([points.reshape(len(points), -1), passing[:, None]], axis=-1)
    result = relu(pooled(relu(v)) @ w.hidden + w.hidden_bias) @ w.result + w.result_bias
    return logits, result[:, 0], result[:, 1], relu(v) @ w.ownership


# ---------------------------------------------------------------------------------------------
# The loss
# ---------------------------------------------------------------------------------------------


def loss(
    w: Parameters, planes: jax.Array, targets: Targets, settings: NetworkSettings
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return the loss of a batch, and its parts by name.

    It is the sum of the cross-entropies of policy, value and ownership and of a Huber loss of the score, each with a
    weight (Wu 2019, Section 4.1 and Appendix A, of which this is the simplest form). A point
    is owned with probability (1 + tanh x) / 2 = sigma(2 x).
    """
    logits, win, score, ownership = forward(w, planes)
    t = targets
    entropy = optax.sigmoid_binary_cross_entropy
    by_point = entropy(2.0 * ownership, (1.0 + t.ownership) / 2.0).mean(axis=(1, 2))
    parts = {
        "policy": optax.softmax_cross_entropy(logits, t.policy).mean(),
        "value": (t.has_value * entropy(win, t.value)).mean(),
        "score": (t.has_end * optax.huber_loss(score, t.score, delta=_POINTS_AHEAD)).mean(),
        "ownership": (t.has_end * by_point).mean(),
    }
    total = parts["policy"] + settings.value_weight * parts["value"]
    total += settings.score_weight * parts["score"] + settings.ownership_weight * parts["ownership"]
    return total, parts | {"total": total}


class State(NamedTuple):
    """The state of training, as a tree of arrays.

    Attributes
    ----------
    parameters : the weights
    averaged : their exponential moving average
    moments : of the optimiser
    """

    parameters: Parameters
    averaged: Parameters
    moments: Any


def schedule_of(settings: NetworkSettings) -> optax.Schedule:
    """Return the step size by the number of steps made before."""
    s = settings
    after = optax.constant_schedule(s.alpha)
    if s.schedule == "cosine":
        span = (s.schedule_steps or s.steps) - s.warm_up
        after = optax.cosine_decay_schedule(s.alpha, max(1, span), s.alpha_final / s.alpha)
    elif s.schedule == "steps":
        after = optax.piecewise_constant_schedule(s.alpha, {n - s.warm_up: s.fall for n in s.falls})
    if not s.warm_up:
        return after
    rising = optax.linear_schedule(s.alpha / s.warm_up, s.alpha, s.warm_up - 1)
    return optax.join_schedules([rising, after], [s.warm_up])


def kept_of(averaging: float, t: jax.Array | int) -> jax.Array:
    """Return the part of the averaged weights that is kept after t steps.

    It grows, so that little of the first weights is left, however few steps there are.
    """
    return jnp.minimum(averaging, (1 + t) / (10 + t))


def optimiser(settings: NetworkSettings) -> optax.GradientTransformation:
    """Return AdamW (Loshchilov & Hutter 2019), for gradients that are not too long."""
    return optax.chain(
        optax.clip_by_global_norm(settings.clip),
        optax.adamw(schedule_of(settings), weight_decay=settings.weight_decay),
    )


def first_state(parameters: Parameters, settings: NetworkSettings) -> State:
    """Return the state before the first step."""
    w = jax.tree.map(jnp.asarray, parameters)
    return State(w, w, optimiser(settings).init(w))


def compiled_for(settings: NetworkSettings) -> NetworkSettings:
    """Return the settings without the number of steps if none depends on it: rounds need not compile again."""
    return settings if settings.schedule == "cosine" and not settings.schedule_steps else settings._replace(steps=1)


def _length(gradients: Parameters) -> jax.Array:
    return jnp.sqrt(sum(jnp.vdot(g, g) for g in gradients))


@functools.cache
def make_step(settings: NetworkSettings) -> Callable[..., tuple[State, dict[str, jax.Array]]]:
    """Return the function that makes a step.

    It takes the state, the number of steps before, planes and targets, and returns the next state, and numbers to log:
    the loss and its parts, and the length of the gradient.
    """
    rule = optimiser(settings)

    @jax.jit
    def step(state: State, t: jax.Array, planes: jax.Array, targets: Targets) -> tuple[State, dict[str, jax.Array]]:
        gradients, parts = jax.grad(loss, has_aux=True)(state.parameters, planes, targets, settings)
        changes, moments = rule.update(gradients, state.moments, state.parameters)
        parameters = optax.apply_updates(state.parameters, changes)
        averaged = optax.incremental_update(parameters, state.averaged, 1 - kept_of(settings.averaging, t))
        numbers = {f"loss/{name}": part for name, part in parts.items()}
        return State(parameters, averaged, moments), numbers | {"learning/gradient": _length(gradients)}

    return step


@functools.cache
def make_losses(settings: NetworkSettings) -> Callable[..., dict[str, jax.Array]]:
    """Return the function of weights, planes and targets that computes the loss and its parts."""
    return jax.jit(lambda w, planes, targets: loss(w, planes, targets, settings)[1])


def arrays_of(state: State) -> dict[str, np.ndarray]:
    """Return the arrays of a state by number, to be stored."""
    return {f"{i:03d}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}


def state_of(arrays: dict[str, np.ndarray], like: State) -> State:
    """Return the state with these arrays; `like` is one of the same network. ValueError if they do not fit."""
    leaves, structure = jax.tree.flatten(like)
    found = [arrays[name] for name in sorted(arrays)]
    if [a.shape for a in found] != [leaf.shape for leaf in leaves]:
        raise ValueError
    return jax.tree.unflatten(structure, [jnp.asarray(a) for a in found])
