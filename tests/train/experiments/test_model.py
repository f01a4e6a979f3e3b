"""Experiments: their games at a scale, their command, and whether they have a picture."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from train.experiments.model import Contestant, Experiment
from train.experiments.reading import read_experiment


@given(st.integers(0, 10**6), st.floats(0.001, 1000))
def test_scaled_games_are_even(games, scale):
    e = replace(read_experiment("shape_counts"), scale=scale)
    n = e.scaled(games)
    assert n % 2 == 0
    assert (n == 0) == (games == 0)
    assert n == 2 or abs(n - games * scale) <= 1


@pytest.mark.parametrize(
    ("argument", "scale", "command"),
    [
        ("plies", 1, "rlgo experiment run plies"),
        ("plies", 0.5, "rlgo experiment run plies --scale 0.5"),
        ("my own.toml", 1, "rlgo experiment run 'my own.toml'"),
    ],
)
def test_the_command_is_what_a_shell_takes(argument, scale, command):
    assert replace(read_experiment("plies"), argument=argument, scale=scale).command == command


@pytest.mark.parametrize(
    ("kind", "x", "has_picture"),
    [
        ("curves", None, True), ("frequency", None, True), ("counts", None, False), ("games", None, False),
        ("games", 3.0, True),
    ],
)  # fmt: skip
def test_players_without_a_number_make_no_picture(kind, x, has_picture):
    e: Experiment = read_experiment("plies")
    e = replace(e, settings=replace(e.settings, kind=kind), contestants=(Contestant("a", "random", "random", x=x),))
    assert e.has_picture is has_picture
