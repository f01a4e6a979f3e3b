"""Boards, shapes and maps of values as text and as SVG.

Start reading at `board_text` and `board_svg`; `train.board_pictures` draws them with matplotlib.

*Colours* are uint8[rows, cols] of EMPTY, BLACK and WHITE, with the lowest row first, as everywhere in rlgo. `colors_of`
extracts them from a board; a shape already is such an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, shown
from rlgo.go.board import BLACK, EMPTY, PASS, board_of
from rlgo.go.coords import COLUMNS, Place, point_of, star_points, to_row_col

HIDDEN, MOVE = 4, 5  # more codes, for text: outside the shape, and a move (BORDER: off the board)
_ASCII, _UNICODE = ".XO# *", ".●○# *"


def colors_of(board: np.record) -> np.ndarray:
    """Return the stones of a board record, uint8[size, size]; row 0 is the board's row 1."""
    size, stride = int(board.board_size), int(board.stride)
    return board.color[stride : stride * (size + 1)].reshape(size, stride)[:, 1:].copy()


# ---------------------------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------------------------


def board_text(board: np.record, last: int | None = None, unicode: bool = False) -> str:
    """Draw a board with its coordinates as text, as GTP's showboard prints it.

    Parameters
    ----------
    board : a board record
    last : the point of the last move, put into parentheses; PASS or None marks nothing
    unicode : draw stones as ● ○ instead of X O (X and ● are Black)
    """
    colors = colors_of(board)
    size = len(colors)
    marks = _UNICODE if unicode else _ASCII
    stars = {to_row_col(p, size) for p in star_points(size)}
    header = "   " + " ".join(COLUMNS[:size])
    lines = [header]
    for row in range(size - 1, -1, -1):
        # One character between the cells of a row, and one at either end.
        gaps = [" "] * (size + 1)
        if last is not None and last != PASS and to_row_col(last, size)[0] == row:
            col = to_row_col(last, size)[1]
            gaps[col : col + 2] = "()"
        cells = [marks[c] if c or (row, col) not in stars else "+" for col, c in enumerate(colors[row])]
        body = "".join(gap + cell for gap, cell in zip(gaps, cells, strict=False)) + gaps[-1]
        lines.append(f"{row + 1:2}{body}{row + 1}")
    return "\n".join([*lines, header])


def values_text(board: np.record, values: np.ndarray, best: int | None = None, unicode: bool = False) -> str:
    """Draw a map of values in per cent on a board with its coordinates; stones as in `board_text`.

    Parameters
    ----------
    board : a board record
    values : float[size, size], P(Black wins); NaN for no value
    best : a point to put into parentheses; PASS or None marks nothing
    unicode : see `board_text`
    """
    colors = colors_of(board)
    size = len(colors)
    marks = _UNICODE if unicode else _ASCII
    header = "   " + "".join(f"{letter:>3} " for letter in COLUMNS[:size])
    lines = [header.rstrip()]
    at = None if best is None or best == PASS else to_row_col(best, size)
    for row in range(size - 1, -1, -1):
        cells = []
        for col, c in enumerate(colors[row]):
            value = values[row, col]
            text = marks[c] if c or np.isnan(value) else f"{max(0, min(99, round(100 * value))):2d}"
            cells.append(f"({text:>2})" if (row, col) == at else f" {text:>2} ")
        lines.append(f"{row + 1:2} " + "".join(cells) + f"{row + 1}")
    return "\n".join([*lines, header.rstrip()])


def shapes_text(
    shapes: Sequence[np.ndarray],
    captions: Sequence[str] = (),
    unicode: bool = True,
    width: int = 100,
) -> str:
    """Draw small shapes side by side as text, each with its caption below.

    Parameters
    ----------
    shapes : colours (see above), of any sizes; the bottom rows of a line are level
    captions : one for each shape, or none
    unicode : see `board_text`
    width : line width in characters
    """
    marks = _UNICODE if unicode else _ASCII
    named = [*captions, *[""] * (len(shapes) - len(captions))]
    blocks = []
    for shape, caption in zip(shapes, named, strict=True):
        rows = [" ".join(marks[c] for c in row) for row in reversed(shape)]
        columns = max(len(text) for text in [*rows, caption])
        blocks.append([text.ljust(columns) for text in [*rows, *([caption] if captions else [])]])

    lines: list[list[list[str]]] = [[]]
    used = 0
    for block in blocks:
        needed = len(block[0]) + 3
        if lines[-1] and used + needed - 3 > width:
            lines.append([])
            used = 0
        lines[-1].append(block)
        used += needed
    texts = []
    for line in lines:
        height = max((len(block) for block in line), default=0)
        padded = [[" " * len(block[0])] * (height - len(block)) + block for block in line]
        texts.append("\n".join("   ".join(parts).rstrip() for parts in zip(*padded, strict=True)))
    return "\n\n".join(texts)


# ---------------------------------------------------------------------------------------------
# SVG, for notebooks and web pages
# ---------------------------------------------------------------------------------------------


def board_svg(position: Any, last: Place | None = None, values: np.ndarray | None = None, cell: int = 28) -> str:
    """Draw a board with its coordinates as a self-contained SVG image.

    It needs no external fonts, scripts or style sheets.

    Parameters
    ----------
    position : a `Game`, or a board record
    last : the point of the last move, marked by a dot; PASS or None marks nothing
    values : float[size, size], P(Black wins): a map under the stones, red towards 1, blue towards 0; NaN for no value
    cell : pixels from point to point

    Raises
    ------
    RlgoError : for anything else

    >>> import rlgo
    >>> game = rlgo.Game(5)
    >>> game.play("C3")
    >>> rlgo.board_svg(game, last="C3").startswith("<svg ")
    True
    """
    colors = colors_of(board_of(position))
    size, cell = len(colors), check("cell", cell, Annotated[int, Ge(1), Le(1_000)])
    last = None if last is None else point_of(last, size)
    if values is not None and (not isinstance(values, np.ndarray) or values.shape != (size, size)):
        raise RlgoError(f"values = {shown(values)}: expected an array of {size} x {size} numbers")
    side = (size + 1) * cell
    x = [(col + 1) * cell for col in range(size)]
    y = [(size - row) * cell for row in range(size)]  # the lowest row at the bottom
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}" viewBox="0 0 {side} {side}">',
        f'<rect width="{side}" height="{side}" fill="#deb878"/>',
    ]
    if values is not None:
        for row, col in np.argwhere(np.isfinite(values)):
            value = float(values[row, col])
            parts.append(
                f'<rect x="{x[col] - cell / 2:g}" y="{y[row] - cell / 2:g}" width="{cell}" height="{cell}" '
                f'fill="{"#cd322d" if value > 0.5 else "#285ac8"}" fill-opacity="{min(1, abs(2 * value - 1)):.3f}"/>'
            )
    lines = "".join(f"M{x[0]} {at}H{x[-1]}" for at in y) + "".join(f"M{at} {y[-1]}V{y[0]}" for at in x)
    parts.append(f'<path d="{lines}" stroke="#3c2d19" fill="none"/>')
    for star in star_points(size):
        row, col = to_row_col(star, size)
        parts.append(f'<circle cx="{x[col]}" cy="{y[row]}" r="{0.1 * cell:g}" fill="#3c2d19"/>')
    for row, col in np.argwhere(colors != EMPTY):
        fill = "#141414" if colors[row, col] == BLACK else "#f5f5f5"
        parts.append(f'<circle cx="{x[col]}" cy="{y[row]}" r="{0.46 * cell:g}" fill="{fill}" stroke="#3c2d19"/>')
    if last is not None and last != PASS:
        row, col = to_row_col(last, size)
        parts.append(f'<circle cx="{x[col]}" cy="{y[row]}" r="{0.16 * cell:g}" fill="#e63c32"/>')
    labels = [(float(x[col]), side - cell / 8, COLUMNS[col]) for col in range(size)]
    labels += [(cell / 4, y[row] + 0.12 * cell, str(row + 1)) for row in range(size)]
    style = f'font-family="sans-serif" font-size="{0.36 * cell:g}" text-anchor="middle" fill="#3c2d19"'
    parts += [f'<text x="{left:g}" y="{top:g}" {style}>{label}</text>' for left, top, label in labels]
    return "\n".join([*parts, "</svg>"])
