"""A network from a file, for Python: it evaluates batches of positions, and tree searches compile it into themselves.

Start reading at `ConvNetwork`. What it computes is in `inference.py`, its file in `architecture.py`.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.resources import SHIPPED_NETWORKS
from rlgo.base.settings import SeedNumber
from rlgo.compiler.jit import compiling
from rlgo.features.planes import planes
from rlgo.go.board import BLACK
from rlgo.go.positions import Positions
from rlgo.network.architecture import (
    HISTORY,
    KINDS,
    N_PLANES,
    Parameters,
    Shape,
    load_parameters,
    new_parameters,
    save_parameters,
    shape_of,
)
from rlgo.network.inference import Layers, evaluate_planes, layers_of, new_layer_scratch
from rlgo.network.policy_network import PolicyNetwork


class Outputs(NamedTuple):
    """The outputs of a network for n positions, each from the view of the side to play; N = size * size.

    Attributes
    ----------
    logits : float32[n, N + 1], the policy before a softmax, row by row from A1, the pass last
    value : float32[n], P(the side to play wins)
    score : float32[n], its expected score in points, komi included
    ownership : float32[n, size, size]: 1 for its own points, -1 for those of its opponent
    """

    logits: np.ndarray
    value: np.ndarray
    score: np.ndarray
    ownership: np.ndarray


@dataclass(frozen=True, eq=False)  # by identity: arrays are not equal or unequal as wholes
class ConvNetwork(PolicyNetwork):
    """A convolutional network with a policy, a value, a score and ownership, for boards of any size.

    Called like a function, it is an evaluator; see `mcts.Evaluator`. A tree search compiles it into its simulations.

    Attributes
    ----------
    parameters : its weights, `rlgo.network.architecture.Parameters`
    provenance : how it was trained: settings, games, versions (JSON)

    >>> import rlgo
    >>> network = rlgo.ConvNetwork.new(seed=1)
    >>> network
    <ConvNetwork: 3 blocks of 32 channels, 72,547 weights>
    >>> answer = network(rlgo.Positions.of(rlgo.Game(9)))
    >>> answer["logits"].shape, float(answer["value"][0])
    ((1, 82), 0.5)
    """

    parameters: Parameters
    provenance: dict[str, Any] = field(default_factory=dict)
    history = HISTORY

    @classmethod
    def new(cls, shape: Shape = Shape(), seed: int | None = None) -> ConvNetwork:
        """Make an untrained network; its policy is uniform and its value 1/2."""
        shape = check("shape", shape, Shape)
        chosen = check("seed", seed, SeedNumber | None)
        return cls(new_parameters(shape, secrets.randbits(63) if chosen is None else chosen))

    def __repr__(self) -> str:
        s, n = self.shape, sum(a.size for a in self.parameters)
        return f"<ConvNetwork: {s.blocks} block{'s' * (s.blocks > 1)} of {s.channels} channels, {n:,} weights>"

    @cached_property
    def shape(self) -> Shape:
        """How large it is."""
        return shape_of(self.parameters)

    @cached_property
    def layers(self) -> Layers:
        """Its parameters as compiled code computes with them."""
        return layers_of(self.parameters)

    def outputs(self, x: np.ndarray) -> Outputs:
        """Evaluate planes, float32[n, K, size, size], of the kinds `architecture.KINDS`."""
        n, size = len(x), x.shape[-1]
        if x.shape != (n, N_PLANES, size, size):
            raise RlgoError(f"planes of shape {list(x.shape)}: expected [n, {N_PLANES}, size, size]")
        logits, ownership, result = (np.empty((n, m), np.float32) for m in (size * size + 1, size * size, 2))
        scratch = new_layer_scratch(size, self.layers)
        with compiling("network"):
            evaluate_planes(np.ascontiguousarray(x, np.float32), self.layers, scratch, (logits, ownership, result))
        value = 1.0 / (1.0 + np.exp(-result[:, 0]))
        return Outputs(logits, value, result[:, 1].copy(), ownership.reshape(n, size, size))

    def __call__(self, positions: Positions) -> dict[str, np.ndarray]:
        """Evaluate positions: ``logits``; ``value``, ``ownership``, from -1 to 1, and ``score`` as Black's."""
        out = self.outputs(planes(positions, KINDS))
        is_black = positions.to_play == BLACK
        sign = np.where(is_black, 1.0, -1.0)
        return {
            "logits": out.logits,
            "value": np.where(is_black, out.value, 1.0 - out.value),
            "ownership": out.ownership * sign[:, None, None],
            "score": out.score * sign,
        }

    def save(self, path: str | Path) -> None:
        """Write a network file, atomically. RlgoError if it cannot be written."""
        save_parameters(path, self.parameters, self.provenance)


def load_network(path: str | Path) -> ConvNetwork:
    """Read a network file, as `rlgo network train` writes it, or a shipped one by its name, such as ``9x9``.

    RlgoError if it is missing, damaged, no network file, or takes other planes.

    >>> import rlgo
    >>> try:
    ...     rlgo.load_network("missing.npz")
    ... except rlgo.RlgoError as error:
    ...     print(error)
    missing.npz: no such network file; shipped networks: 13x13, 19x19, 9x9
    """
    return ConvNetwork(*load_parameters(SHIPPED_NETWORKS.find(path)))
