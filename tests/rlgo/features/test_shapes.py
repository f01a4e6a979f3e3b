"""Local shape features: how many there are, which share a weight, and the index of each weight."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import naive

from rlgo.base.errors import RlgoError
from rlgo.base.settings import SHARINGS
from rlgo.features.shapes import GROUP, count_weights, make_features

# ---------------------------------------------------------------------------------------------
# Counts
# ---------------------------------------------------------------------------------------------

COUNTS_9X9 = {
    "LI+LD": {"LI": (1, 8, 1_418), "LD": (15, 344, 61_517)},
    "LI": {"LI": (1, 8, 1_418)},
    "LD": {"LD": (15, 344, 61_517)},
    # Half of all configurations but the empty one, at every window; and all of them.
    "inversion": {"inversion": (81 * 1, 64 * 40, 49 * 9_841)},
    "none": {"none": (81 * 2, 64 * 80, 49 * 19_682)},
}


@pytest.mark.parametrize("sharing", COUNTS_9X9)
def test_counts_on_9x9(sharing):
    features = make_features(9, (1, 2, 3), sharing)
    expected = {f"{k}x{k}-{kind}": n[k - 1] for kind, n in COUNTS_9X9[sharing].items() for k in (1, 2, 3)}
    assert {b.name: b.stop - b.start for b in features.blocks} == expected
    assert features.n_weights == sum(expected.values())
    assert features.n_features == 969_894
    assert len(features.windows) == features.geometry.n_windows == 194


def test_counts_of_each_size_on_9x9():
    windows, shapes, weights = {1: 81, 2: 64, 3: 49}, {1: 243, 2: 5_184, 3: 964_467}, {1: 16, 2: 352, 3: 62_935}
    for k in (1, 2, 3):
        features = make_features(9, (k,))
        assert (len(features.windows), features.n_features) == (windows[k], shapes[k])
        assert features.n_weights == weights[k]
    assert sum(weights.values()) == make_features(9).n_weights == 63_303


def test_counts_on_19x19():
    # LI does not depend on the board. The orbits of the windows, and the weights of each, are those of 9x9:
    # 1x1: 10 * 11 / 2 = 55 orbits of one weight.
    # 2x2: 18x18 anchors, 9 orbits on the diagonals and 36 elsewhere (9x9: 4 and 6). Without symmetry a window
    #      has (3^4 - 1) / 2 = 40 weights; on a diagonal (344 - 6 * 40) / 4 = 26.
    # 3x3: 17x17 anchors, the centre, 8 orbits on the diagonals, 8 on the middle lines, 28 elsewhere (9x9: 1, 3,
    #      3, 3). Elsewhere (3^9 - 1) / 2 = 9,841; the centre, with all symmetries, 1,418 like LI; the other two,
    #      where a reflection moves six of the nine cells, (61,517 - 3 * 9,841 - 1,418) / 6 = 5,096.
    features = make_features(19)
    expected = [1, 55, 8, 36 * 40 + 9 * 26, 1_418, 28 * 9_841 + 16 * 5_096 + 1_418]
    assert [b.stop - b.start for b in features.blocks] == expected
    assert (features.n_weights, len(features.windows)) == (361_658, 361 + 324 + 289)
    assert features.n_features == 361 * 3 + 324 * 81 + 289 * 19_683


@pytest.mark.parametrize("sharing", SHARINGS)
def test_weights_are_counted_without_making_the_features(sharing):
    # Boards of either parity: middle lines go through points, or between them.
    for size in (5, 6, 8, 9):
        for sizes in ((1,), (2,), (3,), (1, 3), (1, 2, 3)):
            assert count_weights(size, sizes, sharing) == make_features(size, sizes, sharing).n_weights
    assert count_weights(19, (1, 2, 3), "LI+LD") == 361_658


def test_the_first_number_of_theta_is_unused():
    features = make_features(5)
    theta = np.zeros(features.n_weights + 1, np.float32)
    theta[0] = 1.0
    assert not features.expand(theta).any()
    assert theta[0] == 1.0


def test_blocks_follow_each_other():
    for sharing in SHARINGS:
        features = make_features(5, (1, 3), sharing)
        kinds = SHARINGS[sharing]
        assert [(b.window, b.kind) for b in features.blocks] == [(f"{k}x{k}", kind) for k in (1, 3) for kind in kinds]
        starts, stops = [b.start for b in features.blocks], [b.stop for b in features.blocks]
        assert starts == [1, *stops[:-1]]
        assert stops[-1] == features.n_weights + 1


def test_name():
    assert make_features(9).name == "9x9 1x1+2x2+3x3 LI+LD"
    assert make_features(5, (2,), "none").name == "5x5 2x2 none"


# ---------------------------------------------------------------------------------------------
# Places in the table
# ---------------------------------------------------------------------------------------------


def test_absent_blocks_read_zeros():
    # What a window reads as its other weight, and behind the end, is nobody's whatever the configuration.
    for sharing, absent in (("LD", "LI"), ("LI", "LD"), ("none", "LI")):
        features = make_features(5, (1, 2, 3), sharing)
        for w, (name, _, _) in enumerate(features.windows):
            start = int((features.geometry.li_base if absent == "LI" else features.geometry.ld_base)[w])
            assert not features.class_of[start : start + 3 ** int(name[0]) ** 2].any()
        # A cell that holds a stone is looked up as if another were put there: up to 2 * 3^8 further on.
        assert not features.class_of[-2 * 3**9 :].any()


@pytest.mark.parametrize(("size", "sharing"), [(5, sharing) for sharing in SHARINGS] + [(9, "LI+LD")])
def test_members_are_all_places_of_each_weight(size, sharing):
    features = make_features(size, (1, 2, 3), sharing)
    classes, start, members = features.classes
    counts = np.diff(start)
    assert start[0] == 0
    assert start[-1] == members.size
    assert len(counts) == features.n_weights + 1
    assert counts[0] == 0  # nobody's
    assert (counts[1:] > 0).all()
    assert (counts % GROUP == 0).all()
    owner = np.repeat(np.arange(counts.size), counts)
    place, sign = np.where(members >= 0, members, ~members), np.where(members >= 0, 1, -1)
    assert (classes[place] == sign * owner).all()
    assert np.array_equal(np.unique(place), np.flatnonzero(classes))


# ---------------------------------------------------------------------------------------------
# shape_of
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "sharing"), [(5, sharing) for sharing in SHARINGS] + [(9, "LI+LD")])
def test_shape_of_a_weight_is_its_canonical_shape(size, sharing):
    features = make_features(size, (1, 2, 3), sharing)
    rng = np.random.default_rng(1)
    for block in features.blocks:
        numbers = range(block.start, block.stop)
        if len(numbers) > 400:
            numbers = [block.start, block.stop - 1, *rng.integers(block.start, block.stop, 100).tolist()]
        for weight in numbers:
            found, row, col, cells = features.shape_of(weight)
            k = int(block.window[0])
            assert found == block
            assert (cells.shape, cells.dtype) == ((k, k), np.uint8)
            flat = tuple(cells.ravel().tolist())
            raw = sum(c * 3**n for n, c in enumerate(flat))
            raw += (row * (size - k + 1) + col) * 3 ** (k * k)
            assert naive.canonical(k, (row, col), flat, size, block.kind) == (1, raw)
            window = features.windows.index((block.window, row, col))
            assert features.class_of[naive.entry(features, block.kind, window, flat)] == weight
            assert naive.to_index(features, (k, block.kind, raw)) == weight


# ---------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(), (0,), (4,), (1, 2, 3, 4), (2, 1), (1, 1), (1, 3, 2)])
def test_sizes_that_are_none(sizes):
    with pytest.raises(RlgoError, match=r"^sizes = \(.*expected an ascending subset of \[1, 2, 3\]"):
        make_features(5, sizes)


@pytest.mark.parametrize("sharing", ["", "li", "LI,LD", "all"])
def test_sharings_that_are_none(sharing):
    with pytest.raises(RlgoError, match=r"sharing = .*expected one of LI\+LD, LI, LD, inversion, none"):
        make_features(5, (1, 2), sharing)
