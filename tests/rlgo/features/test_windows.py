"""Which configurations of windows are alike, against trying every symmetry."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from oracles import naive
from oracles import windows as naive_windows
from oracles.windows import ALL, ATARI, MIXED, STONES, WIDE
from random_play import random_board

from rlgo.base.settings import SHARINGS
from rlgo.features.shapes import FeatureSet, make_features

# ---------------------------------------------------------------------------------------------
# Squares
# ---------------------------------------------------------------------------------------------


def some_shapes(features: FeatureSet, k: int, n: int) -> list[tuple[int, tuple[int, ...]]]:
    """(window, cells) of all shapes of a size, or of n random ones; and of n with cells of one kind missing."""
    windows = [w for w, window in enumerate(features.windows) if window[0] == f"{k}x{k}"]
    if k < 3:
        return [(w, digits(c, k)) for w in windows for c in range(3 ** (k * k))]
    rng = np.random.default_rng(features.size)
    dense, sparse = (rng.choice(3, (n, 9), p=p) for p in ([1 / 3, 1 / 3, 1 / 3], [0.7, 0.15, 0.15]))
    # Sparse ones are more often symmetric and neutral.
    return [(int(rng.choice(windows)), tuple(row.tolist())) for row in np.concatenate([dense, sparse])]


@cache
def digits(configuration: int, k: int) -> tuple[int, ...]:
    return tuple(configuration // 3**d % 3 for d in range(k * k))


def check_classes(features: FeatureSet, n: int) -> None:
    theta = np.arange(features.n_weights + 1, dtype=np.float32)
    table = features.expand(theta)
    assert table.dtype == np.float32
    for block in features.blocks:
        k, index_of = int(block.window[0]), {}
        for window, cells in some_shapes(features, k, n):
            anchor = features.windows[window][1:]
            sign, raw = naive.canonical(k, anchor, cells, features.size, block.kind)
            place = naive.entry(features, block.kind, window, cells)
            found = int(features.class_of[place])
            assert np.sign(found) == sign, (block.name, anchor, cells)
            assert table[place] == sign * theta[abs(found)]
            if sign:
                assert block.start <= abs(found) < block.stop
                assert index_of.setdefault(raw, abs(found)) == abs(found)
        # One number for each class, ascending with the smallest raw index; all of them where all were asked.
        numbers = [index_of[raw] for raw in sorted(index_of)]
        assert numbers == sorted(set(numbers))
        if k < 3:
            assert numbers == list(range(block.start, block.stop))
        else:
            assert len(numbers) > 20


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("size", [5, 9])
def test_classes_equal_trying_every_symmetry(size, sharing):
    check_classes(make_features(size, (1, 2, 3), sharing), 400)


@pytest.mark.interpreted
def test_classes_of_small_windows():
    check_classes(make_features(5, (1, 2)), 0)


@pytest.mark.parametrize("sharing", ["LI+LD", "inversion", "none"])
@pytest.mark.parametrize("sizes", [(2,), (1, 3)])
def test_classes_of_subsets_of_sizes(sizes, sharing):
    check_classes(make_features(5, sizes, sharing), 200)


# ---------------------------------------------------------------------------------------------
# Other windows
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "sharing"),
    [
        (ATARI, "LI"),
        (ALL, "LI+LD"),
        (("atari 2x3",), "LI+LD"),
        pytest.param(("atari 2x2", "atari 2x3", "atari plus"), "LD", marks=pytest.mark.thorough),
        (ATARI, "inversion"),
        (("liberties plus",), "none"),
        pytest.param(STONES, "LI+LD", marks=pytest.mark.thorough),
        pytest.param((".x./xxx/.x.", "xox", "x.x/.x."), "LI+LD", marks=pytest.mark.thorough),
        (("2x3",), "LD"),
        (("plus", "ox"), "none"),
        (MIXED, "LI+LD"),
        (WIDE, "LI"),
        pytest.param(("atari 3x3",), "LI", marks=pytest.mark.thorough),
    ],
)
def test_classes_of_other_windows_equal_trying_every_symmetry(others, sharing):
    features = make_features(5, (1,), sharing, others, sharing)
    name_of, index_of = {}, {}
    for seed in range(60):
        _, board = random_board(5, seed % 30 + 1, seed)
        for _, weights in naive_windows.places(board.stones, features):
            for kind, own, shape, index in weights:
                sign, name = naive_windows.canonical(shape, 5, own)
                assert (sign == 0) == (index == 0)
                if sign:  # always the same name for an index and the same index for a name, with the same signs
                    known = name_of.setdefault(abs(index), (kind, own, name, sign * index > 0))
                    assert known == (kind, own, name, sign * index > 0)
                    assert index_of.setdefault((kind, own, name), abs(index)) == abs(index)
    assert len(index_of) > 150
