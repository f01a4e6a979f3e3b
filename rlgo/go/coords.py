"""Points and their names.

Compiled code knows points as indices into a padded board (see "Layout" in `board.py`). People and files write them in
one of three ways. On a 9x9 board:

==================  ===========  =====  =====
point               (row, col)   GTP    SGF
==================  ===========  =====  =====
lower left corner   (0, 0)       A1     ai
lower right         (0, 8)       J1     ii
upper left          (8, 0)       A9     aa
centre              (4, 4)       E5     ee
pass                             pass   empty
==================  ===========  =====  =====

Rows count upwards in (row, col) and GTP, and downwards in SGF. GTP names columns without the letter I and ignores case.
SGF files up to 19x19 may also write a pass as tt, or as the point beyond the lower right corner (jj).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Integral
from typing import Any

from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import board_size
from rlgo.go.board import BLACK, PASS, WHITE

Place = int | str | tuple[int, int]  # a point in any form that `point_of` accepts

COLORS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
COLUMNS = "ABCDEFGHJKLMNOPQRST"
_SGF = "abcdefghijklmnopqrs"
_VERTEX = re.compile("([A-HJ-T])([1-9][0-9]?)")


def to_row_col(point: int, size: int) -> tuple[int, int]:
    """Return (row, col) of a point, both counted from 0 at A1.

    Raises `RlgoError` for PASS.

    >>> import rlgo
    >>> rlgo.to_row_col(rlgo.from_vertex("C5", 9), 9)
    (4, 2)
    """
    size = board_size(size)
    row, col = divmod(int(point), size + 1) if _is_integer(point) else (0, 0)
    if not (1 <= row <= size and 1 <= col <= size):
        raise RlgoError(f"point {shown(point)}: not on the {size}x{size} board")
    return row - 1, col - 1


def from_row_col(row: int, col: int, size: int) -> int:
    """Return the point at (row, col), both counted from 0 at A1.

    Raises `RlgoError` off the board.

    >>> import rlgo
    >>> rlgo.to_vertex(rlgo.from_row_col(4, 2, 9), 9)
    'C5'
    """
    size = board_size(size)
    if not (_is_integer(row) and _is_integer(col) and 0 <= row < size and 0 <= col < size):
        raise RlgoError(f"(row, col) = {shown((row, col))}: not on the {size}x{size} board")
    return (row + 1) * (size + 1) + col + 1


def point_of(place: Place, size: int) -> int:
    """Return the point, or PASS, of a vertex or a (row, col) pair.

    Parameters
    ----------
    place : a GTP vertex ("E5", "pass"), a pair (row, col), both counted from 0 at A1, or a point, returned unchanged
    size : board size

    Raises
    ------
    RlgoError : for anything else, and for a vertex or a pair off the board. Points are not checked.

    >>> import rlgo
    >>> rlgo.point_of("C5", 9) == rlgo.point_of((4, 2), 9)
    True
    """
    if isinstance(place, str):
        return from_vertex(place, size)
    if _is_integer(place):
        return int(place)  # type: ignore[arg-type]
    if isinstance(place, tuple | list) and len(place) == 2 and all(map(_is_integer, place)):
        return from_row_col(int(place[0]), int(place[1]), size)
    raise RlgoError(f'point {shown(place)}: expected a vertex such as "E5", a pair (row, col), or a point')


def color_of(color: Any) -> int:
    """Return BLACK or WHITE, given as such or as ``b``, ``black``, ``w``, ``white`` in any case; else `RlgoError`."""
    found = COLORS.get(color.lower()) if isinstance(color, str) else color
    if not _is_integer(found) or found not in (BLACK, WHITE):
        raise RlgoError(f'colour {shown(color)}: expected BLACK or WHITE, "black" or "white"')
    return int(found)


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def to_vertex(point: int, size: int) -> str:
    """Return the GTP vertex of a point, or ``pass``.

    >>> import rlgo
    >>> rlgo.to_vertex(rlgo.PASS, 9)
    'pass'
    >>> rlgo.to_vertex(rlgo.from_row_col(0, 8, 9), 9)  # there is no column I
    'J1'
    """
    if _is_integer(point) and point == PASS:
        return "pass"
    row, col = to_row_col(point, size)
    return f"{COLUMNS[col]}{row + 1}"


def vertices(points: Iterable[int], size: int) -> str:
    """Return the GTP vertices of points, separated by spaces."""
    return " ".join(to_vertex(p, size) for p in points)


def from_vertex(text: str, size: int) -> int:
    """Return the point of a GTP vertex, or PASS.

    Raises `RlgoError` for a vertex that is malformed or off the board.

    >>> import rlgo
    >>> rlgo.from_vertex("pass", 9) == rlgo.PASS
    True
    >>> rlgo.from_vertex("E5", 9) == rlgo.from_row_col(4, 4, 9)
    True
    """
    if isinstance(text, str) and text.lower() == "pass":
        return PASS
    # Some non-ASCII letters have an ASCII capital.
    match = _VERTEX.fullmatch(text.upper()) if isinstance(text, str) and text.isascii() else None
    if match is None:
        raise RlgoError(f"vertex {shown(text)}: expected a letter (no I) and a number, such as D4, or pass")
    size, row, col = board_size(size), int(match[2]) - 1, COLUMNS.index(match[1])
    if row >= size or col >= size:
        raise RlgoError(f"vertex {text!r}: not on the {size}x{size} board (A1 to {COLUMNS[size - 1]}{size})")
    return from_row_col(row, col, size)


def to_sgf(point: int, size: int) -> str:
    """Return the SGF coordinates of a point; a pass is the empty string."""
    if point == PASS:
        return ""
    row, col = to_row_col(point, size)
    return _SGF[col] + _SGF[size - 1 - row]


def from_sgf(text: str, size: int) -> int:
    """Return the point of SGF coordinates, or PASS. RlgoError if they are malformed or off the board."""
    if text in ("", "tt", 2 * _SGF[size : size + 1]):
        return PASS
    letters = _SGF[:size]
    if len(text) != 2 or text[0] not in letters or text[1] not in letters:
        raise RlgoError(f"SGF point {text!r}: expected two letters from a to {letters[-1]}, or nothing for a pass")
    return from_row_col(size - 1 - letters.index(text[1]), letters.index(text[0]), size)


# ---------------------------------------------------------------------------------------------
# Star points
# ---------------------------------------------------------------------------------------------


def max_fixed_handicap(size: int) -> int:
    """Return the largest fixed handicap (GTP 2, Section 4.1.1): 0 below 7x7, the corners on 7x7 and even sizes."""
    if size < 7:
        return 0
    return 9 if size % 2 and size > 7 else 4


def handicap_points(size: int, n: int) -> list[int]:
    """Return the traditional points of 2 to 9 handicap stones (GTP 2, Section 4.1.1), the centre last.

    They are on the fourth line from 13x13 up, on the third line of smaller boards, and on the second line of 5x5 and
    6x6, which have no fixed handicap.
    """
    low = 3 if size >= 13 else 2 if size >= 7 else 1
    middle, high = size // 2, size - 1 - low
    corners = [(low, low), (high, high), (high, low), (low, high)]
    sides = [(middle, low), (middle, high), (low, middle), (high, middle)]
    # After the corners, sides come in pairs, and an odd stone takes the centre.
    points = corners[:n] + sides[: max(0, n - 4) // 2 * 2]
    if n > 4 and n % 2:
        points.append((middle, middle))
    return [from_row_col(row, col, size) for row, col in points]


def star_points(size: int) -> list[int]:
    """Return the points that are marked with dots on a drawn board."""
    if size < 7:
        return []
    return handicap_points(size, 4 if max_fixed_handicap(size) == 4 else 9 if size >= 15 else 5)
