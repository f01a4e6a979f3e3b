"""Weights for another board size, or with other sharing: the same values, or none at all."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import weight_files
from oracles import naive
from oracles.naive import Point, Stones
from oracles.original import named, phi_theta
from random_play import random_board

from rlgo.base.errors import RlgoError
from rlgo.features.conversion import convert, without_sharing
from rlgo.features.diff import diff
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from rlgo.learning.value import ValueFunction

PROVENANCE = {"seed": 1, "config": '[run]\nname = "a"\ngames = 3\n'}
some_weights = partial(weight_files.some_weights, seed=7, scale=0.2, provenance=PROVENANCE)


def lookup(weights: Weights, stones: Stones) -> float:
    """phi . theta, window by window in Python: for board sizes that need not be compiled here."""
    features, g = weights.features, weights.features.geometry
    total = 0.0
    for w, (name, row, col) in enumerate(features.windows):
        k = int(name[0])
        cells = tuple(stones.get((row + j, col + i), 0) for j in range(k) for i in range(k))
        place = naive.to_place(features, w, cells)
        total += float(weights.table().black[g.ld_base[w] + place]) + float(weights.table().black[g.li_base[w] + place])
    return total


# ---------------------------------------------------------------------------------------------
# Another sharing: the same values
# ---------------------------------------------------------------------------------------------

WEAKER = {
    "LI": ["LI+LD", "LD", "inversion", "none"],
    "LI+LD": ["LD", "inversion", "none"],
    "LD": ["LI+LD", "inversion", "none"],
    "inversion": ["none"],
}


@pytest.mark.parametrize(
    "old",
    WEAKER,
)
def test_another_sharing_has_the_same_value_for_every_position(old):
    weights = some_weights(5, (1, 2, 3), old)
    positions = [random_board(5, moves, seed)[0] for seed in (1, 2) for moves in range(1, 45, 5)]
    values = [ValueFunction(weights).value(b) for b in positions]
    assert max(values) - min(values) > 0.3
    for sharing in WEAKER[old]:
        new = convert(weights, sharing=sharing)
        assert new.features.name == f"5x5 1x1+2x2+3x3 {sharing}"
        assert (new.komi, new.games, new.value) == (6.5, 123, "logistic")
        assert new.provenance == {**PROVENANCE, "converted": f"{weights.features.name} -> {new.features.name}"}
        assert [ValueFunction(new).value(b) for b in positions] == pytest.approx(values, abs=1e-5)
        assert diff(weights, new).is_same


@pytest.mark.parametrize("old", WEAKER)
@pytest.mark.parametrize("sizes", [(2,), (1, 3)])
def test_another_sharing_has_the_same_weight_for_every_shape(old, sizes):
    weights = some_weights(5, sizes, old)
    unshared = without_sharing(weights)
    assert unshared.features.sizes == sizes
    for sharing in WEAKER[old]:
        new = convert(weights, sharing=sharing)
        assert new.theta[0] == 0
        assert without_sharing(new).theta.tobytes() == unshared.theta.tobytes()
        # And all the way back, since nothing was lost.
        assert diff(convert(new, sharing=old), weights).is_same or old == "LI+LD"
        assert without_sharing(convert(new, sharing=old)).theta.tobytes() == unshared.theta.tobytes()


def test_without_sharing_adds_window_sizes_and_drops_them():
    weights = some_weights(5, (1, 2))
    more, less = without_sharing(weights, ("1x1", "2x2", "3x3")), without_sharing(weights, ("2x2",))
    same = without_sharing(weights)
    assert (more.features.sizes, less.features.sizes) == ((1, 2, 3), (2,))
    assert more.theta[1:].tolist() == [*same.theta[1:], *[0] * (9 * 19_682)]
    assert less.theta[1:].tobytes() == same.block(same.features.blocks[1]).tobytes()


def test_unshared_zeros_have_no_sign():
    # As in the original's own unshared files.
    weights = some_weights()
    weights.theta[:] = 0
    assert not without_sharing(weights).theta.view(np.uint32).any()


def test_location_independent_weights_stay_so_beside_new_ones():
    old = some_weights(sharing="LI")
    new = convert(old, sharing="LI+LD")
    for block in new.features.blocks:
        if block.kind == "LI":
            assert (
                new.block(block).tobytes() == old.theta[1:][[0] if block.window == "1x1" else slice(1, None)].tobytes()
            )
        else:
            assert not new.block(block).any()


def test_weights_that_are_location_independent_after_all():
    weights = some_weights(5, (1, 2), "LI+LD")
    for block in weights.features.blocks:
        if block.kind == "LD":
            weights.block(block)[:] = 0
    assert diff(convert(weights, sharing="LI"), weights).is_same


@pytest.mark.parametrize(
    ("old", "sharing", "words"),
    [
        ("LI+LD", "LI", "5x5 1x1+2x2 LI+LD: LI cannot express these weights: the values of 1,"),
        ("LD", "LI", "LI cannot express"),
        ("inversion", "LD", "LD cannot express"),
        ("inversion", "LI+LD", "LD cannot express"),
        ("none", "inversion", "inversion cannot express these weights: the values of 6"),
        ("none", "LD", "LD cannot express"),
        ("LI+LD", "all", "expected one of LI+LD, LI, LD, inversion, none"),
    ],
)
def test_a_sharing_that_would_lose_something_is_refused(old, sharing, words):
    with pytest.raises(RlgoError) as error:
        convert(some_weights(sharing=old), sharing=sharing)
    assert words in str(error.value)


# ---------------------------------------------------------------------------------------------
# Another board size
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", ["LI", "LI+LD"])
@pytest.mark.parametrize("size", [5, 19])
def test_location_independent_weights_carry_over(sharing, size):
    old = some_weights(9, (1, 2, 3), sharing)
    new = convert(old, size)
    assert new.features.name == f"{size}x{size} 1x1+2x2+3x3 {sharing}"
    assert new.provenance["converted"] == f"{old.features.name} -> {new.features.name}"
    for before, after in zip(old.features.blocks, new.features.blocks, strict=True):
        if after.kind == "LI":
            assert new.block(after).tobytes() == old.block(before).tobytes()
        else:
            assert not new.block(after).any()
    # What a position is worth, by the location-independent weights of the old board.
    rng = np.random.default_rng(size)
    li = [float(x) for b in old.features.blocks if b.kind == "LI" for x in old.block(b)]
    for p in (0.2, 0.6):
        stones: Stones = {}
        for row in range(size):
            for col in range(size):
                if rng.random() < p:
                    point: Point = (row, col)
                    stones[point] = int(rng.integers(1, 3))
        expected = phi_theta(named((1, 2, 3), "LI"), li, size, stones)
        assert abs(expected) > 0.1
        assert lookup(new, stones) == pytest.approx(expected, abs=1e-4)


def test_the_size_comes_before_the_sharing():
    old = some_weights(9, (1, 2))
    new = convert(old, 5, "LI")
    assert new.features.name == "5x5 1x1+2x2 LI"
    assert diff(new, convert(old, 5)).is_same
    assert new.provenance["converted"] == "9x9 1x1+2x2 LI+LD -> 5x5 1x1+2x2 LI"
    again = convert(new, 9)
    assert again.provenance["converted"] == "9x9 1x1+2x2 LI+LD -> 5x5 1x1+2x2 LI -> 9x9 1x1+2x2 LI"


def test_nothing_to_convert():
    weights = some_weights()
    assert convert(weights) is weights
    assert convert(weights, 5, "LI+LD") is weights


@pytest.mark.parametrize("sharing", ["LD", "inversion", "none"])
def test_weights_of_places_do_not_carry_over(sharing):
    with pytest.raises(RlgoError, match="tied to positions of their board; only LI weights carry over"):
        convert(some_weights(sharing=sharing), 9)


@pytest.mark.parametrize("size", [4, 20, -1])
def test_sizes_that_are_none(size):
    with pytest.raises(RlgoError, match=f"board size {size}: expected 5 to 19"):
        convert(some_weights(), size)


def test_other_windows_keep_their_weights():
    """LI weights carry over to other boards, and writing them out without sharing keeps them."""
    features = make_features(5, (1,), "LI", ("atari plus",))
    weights = Weights(features, np.append(np.float32(0), np.ones(features.n_weights, np.float32)))
    larger = convert(weights, size=7)
    assert larger.features.arguments == (7, (1,), "LI", ("atari plus",), "LI")
    np.testing.assert_array_equal(larger.theta, weights.theta)
    assert convert(weights, sharing="none").features.arguments == (5, (1,), "none", ("atari plus",), "none")
    with pytest.raises(RlgoError, match="can only be converted to sharing none"):
        convert(weights, sharing="LI+LD")
