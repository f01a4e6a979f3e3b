"""Boards, shapes and maps of values as text, as SVG and as pixels.

Start reading at `board_text`, `board_svg` and `board_image`.

*Colours* are uint8[rows, cols] of EMPTY, BLACK and WHITE, with the lowest row first, as everywhere in rlgo. `colors_of`
extracts them from a board; a shape already is such an array. Pictures are uint8[height, width, 3], RGB with the highest
row first, ready for TensorBoard; `png` makes a file of one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, shown
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, board_of
from rlgo.go.coords import COLUMNS, Place, point_of, star_points, to_row_col, to_vertex

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


def board_narrow(board: np.record, last: int | None = None, unicode: bool = False) -> str:
    """Draw a board as text with one character for each point, for narrow terminals; parameters as in `board_text`.

    The last move is named below the board.
    """
    marks, stars = _UNICODE if unicode else _ASCII, star_points(int(board.board_size))
    points = [[marks[c] for c in row] for row in colors_of(board)]
    for row, col in (to_row_col(p, len(points)) for p in stars):
        points[row][col] = "+" if points[row][col] == marks[EMPTY] else points[row][col]
    named = [] if last is None else [f"last move: {to_vertex(last, len(points))}"]
    return "\n".join([_narrow(["".join(row) for row in points]), *named])


def values_narrow(board: np.record, values: np.ndarray, unicode: bool = False) -> str:
    """Draw a map of values with one character for each point: stones, or tenths from 0 to 9; see `values_text`.

    A linear V may lie outside 0 and 1; it is shown as if it did not.
    """
    marks = _UNICODE if unicode else _ASCII
    rows = [
        "".join(marks[c] if c or np.isnan(v) else str(max(0, min(9, int(10 * v)))) for c, v in zip(*row, strict=True))
        for row in zip(colors_of(board), values, strict=True)
    ]
    return _narrow(rows)


def _narrow(rows: Sequence[str]) -> str:
    """Put coordinates around rows of one character for each point, the lowest row first."""
    header = "   " + COLUMNS[: len(rows)]
    lines = [f"{number:2} {row} {number}" for number, row in enumerate(rows, 1)]
    return "\n".join([header, *reversed(lines), header])


# Numbers of the 256 colours of terminals.
_ANSI_WOOD, _ANSI_INK, _ANSI_GRID = 179, 52, 94
_ANSI_PAINT = {"●": ("●", 16), "○": ("●", 231), "+": ("╋", _ANSI_GRID), "(": ("(", 160), ")": (")", 160)}


def board_ansi(board: np.record, last: int | None = None) -> str:
    """Draw a board in colours for terminals with ANSI escapes and Unicode: solid stones on a wooden board.

    last : the point of the last move, put into red parentheses; PASS or None marks nothing
    """
    header, *rows, footer = board_text(board, last, unicode=True).split("\n")
    size = len(rows)
    width = 2 * size + 5
    lines = [header.ljust(width)]
    for i, row in enumerate(rows):
        first, inner, end = "┌┬┐" if i == 0 else "└┴┘" if i == size - 1 else "├┼┤"
        grid = f" {'─'.join([first, *[inner] * (size - 2), end])} "
        cells = zip(row[2 : width - 2], grid, strict=True)
        body = "".join(_ansi(*_ANSI_PAINT.get(c, (line, _ANSI_GRID))) for c, line in cells)
        lines.append(row[:2] + body + _ansi(row[width - 2 :].rjust(2), _ANSI_INK))
    start = f"\033[48;5;{_ANSI_WOOD};38;5;{_ANSI_INK}m"
    return "\n".join(f"{start} {line} \033[0m" for line in [*lines, footer.ljust(width)])


def _ansi(text: str, color: int) -> str:
    return f"\033[38;5;{color}m{text}"


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


# ---------------------------------------------------------------------------------------------
# Pictures
# ---------------------------------------------------------------------------------------------

_WOOD = np.array([222, 184, 120], np.float64)
_INK = np.array([60, 45, 25], np.float64)
_HIGH, _LOW = np.array([205, 50, 45], np.float64), np.array([40, 90, 200], np.float64)  # red: good for Black
_MARK = np.array([230, 60, 50], np.float64)
_STONE = {BLACK: np.array([20, 20, 20], np.float64), WHITE: np.array([245, 245, 245], np.float64)}


def board_image(
    board: np.record, last: int | None = None, values: np.ndarray | None = None, cell: int = 24
) -> np.ndarray:
    """Draw a board as a picture, uint8[size * cell, size * cell, 3].

    Parameters
    ----------
    board : a board record
    last : the point of the last move, marked by a dot; PASS or None marks nothing
    values : float[size, size], a map under the stones; see `picture`
    cell : pixels from point to point
    """
    colors = colors_of(board)
    mark = None if last is None or last == PASS else to_row_col(last, len(colors))
    stars = [to_row_col(p, len(colors)) for p in star_points(len(colors))]
    return picture(colors, values, mark, stars, cell)


def values_image(values: np.ndarray, cell: int = 36, scale: tuple[float, float] | None = None) -> np.ndarray:
    """Draw a map of values in per cent as a picture, uint8[height, size * cell, 3].

    Parameters
    ----------
    values : float[size, size], P(Black wins); NaN for no value
    cell : pixels from point to point
    scale : the values that are blue and red, with a legend below the board, so that pictures can be compared; None:
        the lowest and the highest one, so that small differences show, without a legend. Height is size * cell, and
        two cells more for the legend
    """
    size = len(values)
    low, high = (np.nanmin(values), np.nanmax(values)) if scale is None else scale
    spread = ((values - low) / (high - low)).clip(0, 1) if high > low else np.full(values.shape, 0.5)
    stars = [to_row_col(p, size) for p in star_points(size)]
    image = picture(np.zeros(values.shape, np.uint8), spread, None, stars, cell, numbers=_in_percent(values))
    if scale is None:
        return image
    steps = np.linspace(low, high, min(size, 5))
    ground = np.full((1, size), np.nan)
    ground[0, : len(steps)] = np.linspace(0, 1, len(steps))
    numbers = np.full((1, size), -1)
    numbers[0, : len(steps)] = _in_percent(steps)
    legend = picture(np.zeros((1, size), np.uint8), ground, None, (), cell, whole=False, numbers=numbers)
    gap = np.full((cell, image.shape[1], 3), 255, np.uint8)
    return np.concatenate([image, gap, legend])


def _in_percent(values: np.ndarray) -> np.ndarray:
    """Return values as whole per cent of two digits; -1 for NaN."""
    return np.rint(np.nan_to_num(100 * values, nan=-1)).clip(-1, 99).astype(int)


def shapes_image(
    shapes: Sequence[np.ndarray], values: Sequence[float] = (), columns: int = 10, cell: int = 24
) -> np.ndarray:
    """Draw small shapes as a picture, each on its own piece of wood.

    Parameters
    ----------
    shapes : colours (see above), of any sizes
    values : a number in [-1, 1] for each shape that tints its wood: red is good for Black, blue for White
    columns : shapes in a row
    cell : pixels from point to point
    """
    if not shapes:
        return np.full((cell, cell, 3), 255, np.uint8)
    side = max(max(shape.shape) for shape in shapes) * cell + cell // 2
    columns = min(columns, len(shapes))
    rows = -(-len(shapes) // columns)
    image = np.full((rows * side, columns * side, 3), 255, np.uint8)
    for i, shape in enumerate(shapes):
        ground = np.full(shape.shape, values[i] / 2 + 0.5) if len(values) else None
        part = picture(shape, ground, cell=cell, whole=False)
        y, x = i // columns * side + cell // 4, i % columns * side + cell // 4
        image[y : y + part.shape[0], x : x + part.shape[1]] = part
    return image


def picture(
    colors: np.ndarray,
    values: np.ndarray | None = None,
    mark: tuple[int, int] | None = None,
    stars: Sequence[tuple[int, int]] = (),
    cell: int = 24,
    whole: bool = True,
    numbers: np.ndarray | None = None,
) -> np.ndarray:
    """Draw stones on wood: from the bottom, a map of values, the grid, numbers, the stones and a mark.

    Parameters
    ----------
    colors : uint8[rows, cols]
    values : float[rows, cols], P(Black wins): red towards 1, blue towards 0, plain wood for 0.5 and for NaN
    mark : (row, col) of a dot on top, or of a ring if there is a number
    stars : (row, col) of the star points
    cell : pixels from point to point
    whole : the picture is a whole board, so lines end at the outer points; otherwise they run to the edge
    numbers : int[rows, cols], 0 to 99, written at points without a stone; -1 writes nothing

    Returns
    -------
    uint8[rows * cell, cols * cell, 3]
    """
    n_rows, n_cols = colors.shape
    image = np.empty((n_rows * cell, n_cols * cell, 3))
    image[:] = _WOOD
    if values is not None:
        tint = np.clip(np.nan_to_num(np.flipud(values), nan=0.5) * 2 - 1, -1, 1)
        tint = np.kron(tint, np.ones((cell, cell)))[..., None]
        image += np.abs(tint) * (np.where(tint > 0, _HIGH, _LOW) - image)

    ground = image.copy()

    # A point is the middle of its cell.
    thickness = max(1.0, cell / 24)
    beyond = thickness if whole else cell
    y, x = np.ogrid[0.5 : n_rows * cell, 0.5 : n_cols * cell]
    inside_y = (y > cell / 2 - beyond) & (y < (n_rows - 0.5) * cell + beyond)
    inside_x = (x > cell / 2 - beyond) & (x < (n_cols - 0.5) * cell + beyond)
    horizontal = np.clip(thickness / 2 - np.abs(y % cell - cell / 2) + 0.5, 0, 1) * inside_x
    vertical = np.clip(thickness / 2 - np.abs(x % cell - cell / 2) + 0.5, 0, 1) * inside_y
    _blend(image, np.maximum(horizontal, vertical), _INK)

    for row, col in stars:
        _disc(image, row, col, 0.1 * cell, _INK, cell)
    if numbers is not None:
        for row, col in np.argwhere((numbers >= 0) & (colors == EMPTY)):
            _number(image, ground, row, col, int(numbers[row, col]), cell)
    for row, col in np.argwhere((colors == BLACK) | (colors == WHITE)):
        color = int(colors[row, col])
        _disc(image, row, col, 0.47 * cell, _INK, cell)
        _disc(image, row, col, 0.47 * cell - thickness, _STONE[color], cell)
    if mark is not None and numbers is not None:
        _ring(image, *mark, 0.46 * cell, 2 * thickness, _INK, cell)  # the number stays legible
    elif mark is not None:
        _disc(image, *mark, 0.16 * cell, _MARK, cell)
    return np.rint(image).astype(np.uint8)


def _blend(image: np.ndarray, cover: np.ndarray, color: np.ndarray) -> None:
    image += cover[..., None] * (color - image)


# 3 x 5 pixels each, one bit a pixel; the top left pixel is the highest bit.
_DIGITS = (0o75557, 0o26227, 0o71747, 0o71717, 0o55711, 0o74717, 0o74757, 0o71111, 0o75757, 0o75717)


def _number(image: np.ndarray, ground: np.ndarray, row: int, col: int, number: int, cell: int) -> None:
    """Draw two digits at a point, on bare ground."""
    glyphs = np.zeros((7, 9))
    for i, digit in enumerate(divmod(number, 10)):
        bits = [_DIGITS[digit] >> k & 1 for k in range(14, -1, -1)]
        glyphs[1:6, 1 + 4 * i : 4 + 4 * i] = np.reshape(bits, (5, 3))
    pixels = np.kron(glyphs, np.ones((cell // 12, cell // 12)))
    height, width = pixels.shape
    top = image.shape[0] - (row + 1) * cell + (cell - height) // 2
    left = col * cell + (cell - width) // 2
    here = np.s_[top : top + height, left : left + width]
    image[here] = ground[here]
    _blend(image[here], pixels, _INK)


def _disc(image: np.ndarray, row: int, col: int, radius: float, color: np.ndarray, cell: int) -> None:
    """Draw an anti-aliased disc around a point: a pixel is covered as far as its centre lies inside."""
    _ring(image, row, col, radius, radius, color, cell)


def _ring(image: np.ndarray, row: int, col: int, radius: float, width: float, color: np.ndarray, cell: int) -> None:
    top = image.shape[0] - (row + 1) * cell
    part = image[top : top + cell, col * cell : (col + 1) * cell]
    y, x = np.ogrid[0.5:cell, 0.5:cell]
    distance = np.hypot(y - cell / 2, x - cell / 2)
    _blend(part, np.clip(radius - distance + 0.5, 0, 1) * np.clip(distance - radius + width + 0.5, 0, 1), color)


def png(image: np.ndarray) -> bytes:
    """Encode a picture, uint8[height, width, 3], as the bytes of a PNG file."""
    height, width, _ = image.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    # Every line begins with its filter type; 0 is none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
