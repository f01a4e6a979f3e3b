"""How well a network predicts the moves, the outcomes and the ends of games that were held out.

Start reading at `measure`. It needs no JAX: the network is the compiled one, or any evaluator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK
from rlgo.learning.batches import GameData
from rlgo.network.policy_network import PolicyNetwork
from train.console import table

_BATCH = 512
_LEAST = 1e-6  # a probability, in place of 0
_LEAST_LOG = -100.0  # its logarithm in a policy, in place of minus infinity


class Measures(NamedTuple):
    """How well some positions are predicted; NaN where nothing is known to compare with.

    Attributes
    ----------
    positions : how many there are
    policy_loss : cross-entropy of the policy with the shares of visits, in nats
    policy_entropy : that of the shares with themselves, the least that is possible
    top : how often the most visited move is the network's first, and among its first five
    value_loss, value_right : log-loss of the outcome, and how often its winner is the likelier one
    score_error : mean distance of the score from that at the end, in points
    owner_right : share of the points whose owner at the end is the likelier one
    """

    positions: int
    policy_loss: float
    policy_entropy: float
    top: tuple[float, float]
    value_loss: float
    value_right: float
    score_error: float
    owner_right: float

    def numbers(self) -> dict[str, float | None]:
        """Return all numbers by name; None, as JSON has no NaN, where nothing is known."""
        numbers = {name: float(x) for name, x in self._asdict().items() if name != "top"}
        numbers |= {"top_1": self.top[0], "top_5": self.top[1]}
        return {name: x if math.isfinite(x) else None for name, x in numbers.items()}


def measure(network: PolicyNetwork, data: GameData, most: int | None = None) -> Measures:
    """Measure a network on positions of games, evenly spread ones if there are more than `most`."""
    n = len(data) if most is None else min(most, len(data))
    chosen = np.linspace(0, len(data) - 1, n).astype(np.int64)
    columns: list[list[np.ndarray]] = []
    for first in range(0, n, _BATCH):
        which = chosen[first : first + _BATCH]
        batch, answer = data.take(which), network(data.positions(which, network.history))
        unknown = np.full(len(which), np.nan)
        sign = np.where(batch.to_play == BLACK, 1, -1)
        x = answer.get("logits", np.full(batch.policy.shape, np.nan))
        x = x - x.max(axis=1, keepdims=True)
        log_p = np.maximum(x - np.log(np.exp(x).sum(axis=1, keepdims=True)), _LEAST_LOG)
        best = log_p[np.arange(len(x)), batch.policy.argmax(axis=1)]
        rank = np.where(np.isnan(best), np.nan, (log_p > best[:, None]).sum(axis=1))
        black = np.clip(answer.get("value", unknown), _LEAST, 1 - _LEAST)
        p = np.where(sign > 0, black, 1 - black)
        is_owned = batch.ownership != 0
        ownership = answer.get("ownership", np.zeros(batch.ownership.shape)) * sign[:, None, None]
        owned = ((ownership * batch.ownership) > 0).sum(axis=(1, 2)) / np.maximum(is_owned.sum(axis=(1, 2)), 1)
        columns.append([
            -(batch.policy * log_p).sum(axis=1),
            -(batch.policy * np.log(np.maximum(batch.policy, _LEAST))).sum(axis=1),
            _where_known(rank, rank < 1), _where_known(rank, rank < 5),
            -(batch.z * np.log(p) + (1 - batch.z) * np.log(1 - p)),
            _where_known(batch.z * p, (p > 0.5) == (batch.z > 0.5)),
            np.abs(answer.get("score", unknown) * sign - batch.score),
            np.where(is_owned.any(axis=(1, 2)) & ("ownership" in answer), owned, np.nan),
        ])  # fmt: skip
    means = [_mean(np.concatenate(parts)) for parts in zip(*columns, strict=True)]
    return Measures(n, means[0], means[1], (means[2], means[3]), *means[4:])


def _where_known(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values, NaN where x is."""
    return np.where(np.isnan(x), np.nan, values)


def _mean(x: np.ndarray) -> float:
    """Return the mean of what is known, NaN if nothing is."""
    known = x[~np.isnan(x.astype(np.float64))]
    return float(known.mean()) if len(known) else float("nan")


def measures_table(found: Sequence[tuple[str, Measures]]) -> str:
    """Lay out measurements as a table, a row for each, with its name."""
    if not found:
        raise RlgoError("games: expected some that are held out")
    header = [
        "games", "positions", "policy", "least", "top 1", "top 5", "value", "right", "score", "ownership",
    ]  # fmt: skip
    rows = [
        [
            name, f"{m.positions:,}",
            *("-" if math.isnan(x) else format(x, form) for x, form in [
                (m.policy_loss, ".3f"), (m.policy_entropy, ".3f"), (m.top[0], ".1%"), (m.top[1], ".1%"),
                (m.value_loss, ".3f"), (m.value_right, ".1%"), (m.score_error, ".1f"), (m.owner_right, ".1%"),
            ]),
        ]
        for name, m in found
    ]  # fmt: skip
    return table(header, rows, align="l" + "r" * 9)
