"""The board against programs by other people: GNU Go and OpenSpiel."""

from __future__ import annotations

import contextlib
import random

import pytest
from oracles.programs import GnuGo, OpenSpiel, compare
from stand_ins import TWO_STONES_SENT


def check(oracle: GnuGo | OpenSpiel, size: int, games: int, moves: int) -> None:
    """Random games; in the first, a move that superko forbids comes after the opening."""
    for seed in range(games):
        positions = compare(oracle, size, random.Random(seed), moves, "" if seed else TWO_STONES_SENT)
        assert [where for where in positions if where[0]] == [], f"{size}x{size}, seed {seed}"


@pytest.mark.parametrize(("size", "games"), [(5, 20), (9, 4)])
def test_gnugo_agrees(gnugo: str, size: int, games: int) -> None:
    oracle = GnuGo(gnugo)
    with contextlib.closing(oracle.process):
        check(oracle, size, games, moves=200)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "games"), [(5, 40), (9, 10), (19, 1)])
def test_open_spiel_agrees(size: int, games: int) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    check(OpenSpiel(pyspiel), size, games, moves=300)
