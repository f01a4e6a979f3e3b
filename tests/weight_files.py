"""Weights to write into files, and the errors for unreadable files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from random_play import random_theta

from rlgo.base.errors import RlgoError
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights

PROVENANCE = {"seed": 12345678901234, "command": "rlgo train x --set run.name='ä'", "nested": {"a": [1, 2.5, None]}}


def some_weights(size=5, sizes=(1, 2), sharing="LI+LD", others=(), *, seed=1, scale=1.0, **facts) -> Weights:
    features = make_features(size, sizes, sharing, others)
    facts = {"komi": 6.5, "games": 123, "provenance": PROVENANCE, **facts}
    return Weights(features, random_theta(features, seed, scale), **facts)


def refused(path: Path, *words: str, read: Callable[..., Weights] = load_weights, size: int | None = None) -> None:
    """Check that a file is refused in one line that names it and contains all of `words`."""
    with pytest.raises(RlgoError) as error:
        read(path, size)
    line = str(error.value)
    assert line.startswith(f"{path}: ")
    assert "\n" not in line
    for word in words:
        assert word in line
