"""Differences between two sets of weights."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np
import pytest
import weight_files

from rlgo.base.errors import RlgoError
from rlgo.features.conversion import convert
from rlgo.features.diff import describe_difference, diff
from rlgo.features.weights import Weights

PROVENANCE = {"seed": 1, "config": '[run]\nname = "a"\ngames = 3\n'}


some_weights = partial(weight_files.some_weights, seed=7, scale=0.2, provenance=PROVENANCE)


def changed(weights: Weights, change: dict[int, float], **other: Any) -> Weights:
    theta = weights.theta.copy()
    for i, x in change.items():
        theta[i] += np.float32(x)
    recorded = {"komi": weights.komi, "value": weights.value, "games": weights.games, "provenance": weights.provenance}
    return Weights(weights.features, theta, **{**recorded, **other})


def test_equal_weights():
    a = some_weights()
    found = diff(a, changed(a, {}))
    assert found.is_same
    assert not found.is_unshared
    assert found.facts == []
    assert [b.name for b in found.blocks] == ["1x1-LI", "1x1-LD", "2x2-LI", "2x2-LD", "all"]
    for b in found.blocks:
        assert (b.n_differ, b.largest, b.norm) == (0, 0, 0)
        assert b.norm_a == b.norm_b > 0
        assert b.cosine == pytest.approx(1)
    assert "The weights are equal." in describe_difference(found, ("a", "b"), 3)


def test_the_numbers_of_a_difference():
    a = some_weights()
    a.theta[:] = 0
    a.theta[[1, 2, 3]] = 1, 3, 4  # 1x1-LI, and two of 1x1-LD
    b = changed(a, {2: 1, 3: -8, 50: 2})  # 4 and -4; one of 2x2-LD
    found = diff(a, b)
    assert not found.is_same
    one, two, three, four, everything = found.blocks
    assert one[:5] == ("1x1-LI", 1, 0, 0, 0)
    assert two[:7] == ("1x1-LD", 6, 2, 8, pytest.approx(65**0.5), 5, pytest.approx(32**0.5))
    assert two.cosine == pytest.approx((12 - 16) / 5 / 32**0.5)
    assert three.n_differ == 0
    assert math.isnan(three.cosine)
    assert four[:4] == ("2x2-LD", 92, 1, 2)
    assert everything[:5] == ("all", 107, 3, 8, pytest.approx(69**0.5))
    assert diff(a, changed(a, {5: -0.0})).is_same


def test_facts_that_differ():
    a = some_weights()
    b = changed(a, {}, komi=7.5, games=5, provenance={"seed": 2, "machine": "x", "config": PROVENANCE["config"]})
    assert diff(a, b).facts == [("komi", 6.5, 7.5), ("games", 123, 5), ("seed", 1, 2), ("machine", None, "x")]
    assert diff(a, b).is_same
    b = changed(a, {}, provenance={"seed": 1, "config": '[run]\nname = "b"\ngames = 3\n[policy]\nkind = "x"\n'})
    assert diff(a, b).facts == [("run.name", "a", "b"), ("policy.kind", None, "x")]
    for config in (
        "no TOML",
        "x = 1",
        5,
        None,
    ):  # by hands other than ours; and settings that only one tells are no news
        assert diff(a, changed(a, {}, provenance={"seed": 1, "config": config})).facts == []
    assert diff(a, changed(a, {}, provenance={**PROVENANCE, "games": "many"})).facts == []
    text = describe_difference(diff(a, changed(a, {}, games=10**6, provenance={"sha256": "0" * 64})), ("one", "two"))
    assert re.search(r"^file +one +two$", text, re.M)
    assert re.search(r"^games +123 +1,000,000$", text, re.M)
    assert re.search(r"^seed +1 +-$", text, re.M)
    assert re.search(r"^sha256 +- +0{41}\.\.\.$", text, re.M)


def test_another_kind_of_value_is_another_value_function():
    a = some_weights()
    found = diff(a, changed(a, {}, value="linear"))
    assert not found.is_same
    assert found.facts == [("value", "logistic", "linear")]
    assert "The weights are equal; the kind of value is not." in describe_difference(found, ("a", "b"))


def test_another_sharing_is_compared_shape_by_shape():
    a = some_weights(5, (1, 2), "LI+LD")
    b = convert(some_weights(5, (1, 2), "LI+LD"), sharing="LD")
    assert diff(a, b).is_same
    assert diff(a, b).is_unshared
    assert diff(a, b).facts[0] == ("features", "5x5 1x1+2x2 LI+LD", "5x5 1x1+2x2 LD")
    # One LD weight of 1x1, of the corners: 4 places, each with a stone of either colour.
    found = diff(a, changed(b, {1: 0.5}))
    assert [(b.name, b.n_weights, b.n_differ) for b in found.blocks] == [
        ("1x1-none", 50, 8),
        ("2x2-none", 1_280, 0),
        ("all", 1_330, 8),
    ]
    assert found.blocks[0].largest == pytest.approx(0.5)
    assert found.blocks[0].norm == pytest.approx(0.5 * 8**0.5)
    text = describe_difference(found, ("a", "b"), 5, unicode=False)
    assert "Compared without weight sharing" in text
    # Drawn once, not eight times.
    assert text.endswith("1x1-LD\n\nO\n+0.500 A1\n\n\n2x2-LD\n\nall 0")


def test_other_window_sizes_are_compared_shape_by_shape():
    a = some_weights(5, (1,), "LI")
    b = some_weights(5, (2,), "inversion")
    found = diff(a, b)
    assert [(x.name, x.norm_a > 0, x.norm_b > 0) for x in found.blocks] == [
        ("1x1-none", True, False),
        ("2x2-none", False, True),
        ("all", True, True),
    ]
    assert "2x2-inversion" in describe_difference(found, ("a", "b"), 1)  # only these can express both


def test_other_windows_are_compared_shape_by_shape():
    a, b = some_weights(others=("2x3",)), some_weights(others=("atari plus",))
    found = diff(a, b)
    assert found.is_unshared
    assert [block.name for block in found.blocks] == ["1x1-none", "2x2-none", "2x3-none", "atari plus-none", "all"]
    assert [block.norm_a > 0 for block in found.blocks] == [True, True, True, False, True]
    assert [block.norm_b > 0 for block in found.blocks] == [True, True, False, True, True]
    assert diff(a, a).is_same
    assert "2x3-LD" in describe_difference(diff(a, changed(a, {200: 1})), ("a", "b"), 3)


def test_other_board_sizes_cannot_be_compared():
    with pytest.raises(RlgoError, match="board sizes 5 and 9, expected one size"):
        diff(some_weights(5), some_weights(9))


def test_the_shapes_that_differ_most():
    a = some_weights(5, (1, 2))
    a.theta[:] = 0
    li, ld = (next(b for b in a.features.blocks if b.name == name) for name in ("2x2-LI", "2x2-LD"))
    b = changed(a, {li.start: 0.25, li.start + 1: -0.75, ld.stop - 1: 0.5})
    text = describe_difference(diff(a, b), ("a", "b"), 1, unicode=False)
    cells = a.features.shape_of(li.start + 1)[3]
    rows = [" ".join(".XO"[c] for c in row) for row in cells[::-1]]
    drawn = text[text.index("A - B where it is largest") :]
    assert "2x2-LI\n\n" + "\n".join(rows) + "\n+0.750\n" in drawn
    assert "+0.250" not in drawn
    assert re.search(r"^\+0\.500 [A-D][1-4]$", drawn, re.M)
    assert drawn.count("all 0") == 2
    assert "A - B where it is largest" not in describe_difference(diff(a, b), ("a", "b"))


def test_shapes_without_sharing_keep_their_colours():
    weights = some_weights(5, (1,), "none")
    weights.theta[:] = 0
    weights.theta[[1, 2]] = -0.75, 0.5  # a black stone at A1, and a white one
    assert weights.show(5, unicode=False) == "1x1-none\n\nX           O\n-0.750 A1   +0.500 A1"
