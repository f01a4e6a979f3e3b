"""Networks with random weights, none of them zero."""

from __future__ import annotations

import numpy as np

from rlgo.network.architecture import Parameters, Shape, new_parameters
from rlgo.network.conv_network import ConvNetwork

SMALL = Shape(blocks=2, channels=16, head_channels=8, value_hidden=8)


def random_network(shape: Shape = SMALL, seed: int = 1) -> ConvNetwork:
    rng = np.random.default_rng(seed)
    arrays = {
        name: (a + rng.normal(0, 0.2 if a.ndim < 2 else 0.3 / np.sqrt(a.shape[-2]), a.shape)).astype(np.float32)
        for name, a in new_parameters(shape, seed)._asdict().items()
    }
    return ConvNetwork(Parameters(**arrays))
