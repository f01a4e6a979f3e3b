"""Experiments: their games at a scale, and whether there is anything to draw."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from train.experiments.reading import read_experiment


@given(st.integers(0, 10**6), st.floats(0.001, 1000))
def test_scaled_games_are_even(games, scale):
    e = replace(read_experiment("shape_counts"), scale=scale)
    n = e.scaled(games)
    assert n % 2 == 0
    assert (n == 0) == (games == 0)
    assert n == 2 or abs(n - games * scale) <= 1
