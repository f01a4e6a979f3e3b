"""The softmax of logits, outside of compiled code."""

from __future__ import annotations

import numpy as np


def softmax(x: np.ndarray) -> np.ndarray:
    """Return e^x / sum e^x over the last axis; -inf, but not for all, is a probability of 0.

    >>> softmax(np.log([1.0, 3.0])).round(2).tolist()
    [0.25, 0.75]
    """
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))
