"""Kinds of windows by name."""

from __future__ import annotations

import pytest

from rlgo.base.errors import RlgoError
from rlgo.features.kinds import Form, check_windows, kind_of


@pytest.mark.parametrize(
    ("name", "canonical", "cells", "n_states"),
    [
        ("2x2", "2x2", 4, 3),
        ("stones 3x2", "2x3", 6, 3),
        ("atari 3x3", "atari 3x3", 9, 5),
        ("liberties 2x3", "liberties 2x3", 6, 7),
        ("plus", "plus", 5, 3),
        ("atari .x./xox/.x.", "atari plus", 5, 5),
        ("stones .x./xxx/.x.", ".x./xxx/.x.", 5, 3),
        ("x./.x", ".x/x.", 2, 3),
        ("liberties x./xx", "liberties .x/xx", 3, 7),
        ("x/x/x/x", "1x4", 4, 3),
        ("x/o", "ox", 2, 3),
        ("x", "1x1", 1, 3),
    ],
)
def test_names(name, canonical, cells, n_states):
    kind = kind_of(name)
    assert (kind.name, len(kind.form.cells), kind.n_states) == (canonical, cells, n_states)
    assert kind_of(canonical) == kind
    assert kind.is_square == (canonical in ("1x1", "2x2", "3x3"))


def test_cells_of_a_picture():
    # The upper row of a picture is the upper row on the board, whose rows count from below.
    kind = kind_of(".xx/o..")
    assert kind.name == "..o/xx."
    assert (kind.form, kind.centre) == (Form(2, 3, ((0, 0), (0, 1), (1, 2))), (1, 2))


WRONG = ["", "stones", "atari", "ladders 2x2", "atari  2x2", "Atari 2x2", "4x3", "1x6", "0x1", "2x2x2", "liberties 2x4"]
WRONG_PICTURES = [".x", "x.", "./x", "xx/x", "oxo", "x,x", "xxxxxx", "x/", "."]


@pytest.mark.parametrize("name", [*WRONG, *WRONG_PICTURES])
def test_names_that_are_none(name):
    with pytest.raises(RlgoError, match=r'^window .*: expected names such as "2x3", "atari plus" or "liberties'):
        kind_of(name)


def test_the_order_of_a_feature_set():
    names = ["atari plus", "3x2", "stones 2x3", "liberties 2x2", "3x3", "plus", "1x1"]
    assert check_windows(names) == ("1x1", "3x3", "2x3", "plus", "atari plus", "liberties 2x2")
    for wrong in ("2x3", None, [2], {"2x3"}):
        with pytest.raises(RlgoError, match=r"^windows = .*: expected names such as"):
            check_windows(wrong)
