"""Points and their names: against the slow oracle's, sgfmill's and GNU Go's."""

from __future__ import annotations

import subprocess

import pytest
from oracles.naive import to_core, vertex
from sgfmill.sgf_properties import interpret_go_point

from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import MAX_SIZE, MIN_SIZE
from rlgo.go.board import PASS
from rlgo.go.coords import (
    from_row_col,
    from_sgf,
    from_vertex,
    handicap_points,
    max_fixed_handicap,
    star_points,
    to_row_col,
    to_sgf,
    to_vertex,
)

SIZES = range(MIN_SIZE, MAX_SIZE + 1)

# (size, (row, col), GTP, SGF)
NAMES = [
    (9, (0, 0), "A1", "ai"),
    (9, (0, 8), "J1", "ii"),
    (9, (8, 0), "A9", "aa"),
    (9, (8, 8), "J9", "ia"),
    (9, (4, 4), "E5", "ee"),
    (9, (2, 7), "H3", "hg"),
    (5, (0, 0), "A1", "ae"),
    (19, (15, 15), "Q16", "pd"),
    (19, (18, 18), "T19", "sa"),
    (19, (0, 8), "J1", "is"),
]


@pytest.mark.parametrize(("size", "at", "gtp", "sgf"), NAMES)
def test_names(size: int, at: tuple[int, int], gtp: str, sgf: str) -> None:
    p = from_row_col(*at, size)
    assert p == to_core(size, at)
    assert to_row_col(p, size) == at
    assert (to_vertex(p, size), to_sgf(p, size)) == (gtp, sgf)
    assert from_vertex(gtp, size) == from_vertex(gtp.lower(), size) == from_sgf(sgf, size) == p


@pytest.mark.parametrize("size", SIZES)
def test_every_point_has_its_own_names(size: int) -> None:
    for row in range(size):
        for col in range(size):
            p = from_row_col(row, col, size)
            assert to_vertex(p, size) == vertex((row, col))
            assert from_vertex(to_vertex(p, size), size) == p
            assert interpret_go_point(to_sgf(p, size).encode(), size) == (row, col)
            assert from_sgf(to_sgf(p, size), size) == p


@pytest.mark.parametrize("size", SIZES)
def test_passes(size: int) -> None:
    assert to_vertex(PASS, size) == "pass"
    assert {from_vertex(text, size) for text in ("pass", "PASS", "Pass")} == {PASS}
    assert to_sgf(PASS, size) == ""
    assert from_sgf("", size) == from_sgf("tt", size) == PASS


# Off the board by one; the letter I; not a vertex at all; letters and digits of other scripts: a wide A, an
# Arabic 5, the Kelvin sign, which is a k in lower case, and the dotless i, which is an I in upper case.
BAD_VERTICES = ["A0", "A10", "K1", "J10", "I5", "i5", "", "A", "5", "5A", "A5 ", " A5", "A+5", "A05", "AA5"]
BAD_VERTICES += ["A5\n", "pas", "\uff215", "A\u0665", "\u212a5", "\u01315", "ß5", "\0", "D4" * 50]


@pytest.mark.parametrize("text", BAD_VERTICES)
def test_bad_vertices_are_named(text: str) -> None:
    with pytest.raises(RlgoError) as error:
        from_vertex(text, 9)
    assert shown(text) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["a", "aj", "ja", "abc", "AA", "a1", "t", "ttt", "\na", "\u0430a"])
def test_bad_sgf_points_are_named(text: str) -> None:
    with pytest.raises(RlgoError) as error:
        from_sgf(text, 9)
    assert repr(text) in str(error.value)


def test_points_off_the_board_have_no_names() -> None:
    for at in [(-1, 0), (0, -1), (9, 0), (0, 9)]:
        with pytest.raises(RlgoError, match="not on the 9x9 board"):
            from_row_col(*at, 9)
    on_board = {to_core(9, (row, col)) for row in range(9) for col in range(9)}
    for p in set(range(-1, 120)) - on_board - {PASS}:
        with pytest.raises(RlgoError, match="not on the 9x9 board"):
            to_vertex(p, 9)


def test_handicap_points() -> None:
    def names(size: int, n: int) -> str:
        return " ".join(to_vertex(p, size) for p in handicap_points(size, n))

    assert names(19, 2) == "D4 Q16"
    assert names(19, 3) == "D4 Q16 D16"
    assert names(19, 5) == "D4 Q16 D16 Q4 K10"
    assert names(19, 6) == "D4 Q16 D16 Q4 D10 Q10"
    assert names(9, 8) == "C3 G7 C7 G3 C5 G5 E3 E7"
    assert names(9, 9) == "C3 G7 C7 G3 C5 G5 E3 E7 E5"
    assert (names(12, 2), names(13, 2)) == ("C3 K10", "D4 K10")
    assert names(5, 4) == "B2 D4 B4 D2"
    assert [len(star_points(size)) for size in (5, 7, 8, 9, 13, 19)] == [0, 4, 4, 5, 5, 9]


def test_gnugo_places_fixed_handicap_alike(gnugo: str) -> None:
    # On 12x12, GNU Go leaves the standard for the fourth line.
    asked = [(size, n) for size in range(7, 20) if size != 12 for n in range(1, 11)]
    lines = [f"boardsize {size}\nfixed_handicap {n}\n" for size, n in asked]
    done = subprocess.run([gnugo, "--mode", "gtp"], input="".join(lines), capture_output=True, text=True, timeout=60)
    answers = done.stdout.split("\n\n")[1::2]
    for (size, n), answer in zip(asked, answers, strict=True):
        if 2 <= n <= max_fixed_handicap(size):
            points = {to_vertex(p, size) for p in handicap_points(size, n)}
            assert len(points) == n
            assert answer.startswith("="), (size, n)
            assert set(answer[1:].split()) == points, (size, n)
        else:
            assert answer.startswith("?"), (size, n)
