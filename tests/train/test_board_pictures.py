"""Pictures of boards, maps of values and shapes, by what is where in them."""

from __future__ import annotations

import numpy as np
import pytest
from weight_files import some_weights

pytest.importorskip("matplotlib")

import itertools

from matplotlib.colors import to_rgb

from rlgo.features.weights import strongest
from rlgo.go.board import BLACK, WHITE
from rlgo.go.coords import from_vertex
from train.board_pictures import board_image, draw_board, draw_shapes, png_of, shapes_figure, values_figure
from train.plots import make_figure

CELL = 20


def middle(image: np.ndarray, row: int, col: int) -> np.ndarray:
    """The colour in the middle of a point; row 0 is the lowest."""
    return image[image.shape[0] - row * CELL - CELL // 2, col * CELL + CELL // 2].astype(int)


def test_stones_and_the_last_move_stand_where_they_should() -> None:
    colors = np.zeros((7, 7), np.uint8)
    colors[0, 0] = colors[2, 2] = BLACK
    colors[6, 6] = colors[3, 3] = WHITE
    image = board_image(colors, cell=CELL)
    assert image.shape == (7 * CELL, 7 * CELL, 3)
    assert image.dtype == np.uint8
    for row, col in ((0, 0), (2, 2)):
        assert middle(image, row, col).max() < 40
    for row, col in ((6, 6), (3, 3)):
        assert middle(image, row, col).min() > 230
    marked = board_image(colors, from_vertex("D4", 7), cell=CELL)
    changed = np.argwhere((image != marked).any(axis=2))
    assert (changed // CELL == [3, 3]).all()
    red, green, blue = middle(marked, 3, 3)
    assert red > 150 > max(green, blue)
    assert (board_image(colors, 0, cell=CELL) == image).all()  # a pass


def paint_of(ax) -> np.ndarray:
    """Colour and opacity of a map, float[rows, cols, 4]."""
    return np.asarray(ax.images[0].get_array())


def test_maps_are_red_for_black_and_blue_for_white() -> None:
    values = np.full((5, 5), 0.5)
    values[0, 4], values[4, 0], values[1, 1] = 1.0, 0.25, np.nan
    _, axes = make_figure(1, 1, 2, 2)
    draw_board(axes[0, 0], np.zeros((5, 5), np.uint8), values)
    paint = paint_of(axes[0, 0])
    assert np.argwhere(paint[..., 3] > 0).tolist() == [[0, 4], [4, 0]]
    assert paint[0, 4, 3] == 1 > paint[4, 0, 3] == 0.5
    assert paint[0, 4, 0] > paint[0, 4, 2] + 0.3
    assert paint[4, 0, 2] > paint[4, 0, 0] + 0.3


def test_a_value_has_the_same_colour_in_every_picture() -> None:
    even, mixed = np.full((5, 5), 0.5), np.linspace(0.2, 0.8, 25).reshape(5, 5)
    mixed[0, 0] = 0.5
    boards = [values_figure(values, 0.3, 0.7).axes[0] for values in (even, mixed)]
    assert (paint_of(boards[0])[0, 0] == paint_of(boards[1])[0, 0]).all()
    # Below and above the scale, the colours stay those of its ends.
    ends = values_figure(np.where(mixed < 0.5, 0.3, 0.7), 0.3, 0.7).axes[0]
    assert (paint_of(boards[1])[4, 4] == paint_of(ends)[4, 4]).all()
    assert [text.get_text() for text in boards[1].texts][:2] == ["50", "22"]


def test_shapes_are_drawn_block_by_block() -> None:
    weights = some_weights(5, (1, 2))
    figure = shapes_figure(weights, 3)
    blocks = weights.features.blocks
    assert [ax.get_title(loc="left") for ax in figure.axes] == [block.name for block in blocks]
    assert [len(ax.child_axes) for ax in figure.axes] == [min(3, block.stop - block.start) for block in blocks]
    assert png_of(figure).startswith(b"\x89PNG")


def test_shapes_without_sharing_keep_their_colours() -> None:
    weights = some_weights(5, (1,), "none")
    weights.theta[:] = 0
    weights.theta[[1, 2]] = -0.75, 0.5  # a black stone at A1, and a white one
    _, axes = make_figure(1, 1, 2, 2)
    places = draw_shapes(axes[0, 0], strongest(weights, weights.features.blocks[0], 5))
    black, white = (paint_of(ax)[0, 0] for ax in axes[0, 0].child_axes)
    assert len(places) == 2
    assert black[2] > black[0]
    assert white[0] > white[2]
    assert black[3] == 1 > white[3]
    stones = [ax.collections[-2:] for ax in axes[0, 0].child_axes]  # black, then white
    assert [[len(c.get_paths()) for c in pair] for pair in stones] == [[1, 0], [0, 1]]
    assert to_rgb(stones[0][0].get_facecolor()[0])[0] < 0.2


@pytest.mark.parametrize("size", [5, 9, 19])
def test_the_digits_of_a_map_do_not_overlap(size: int) -> None:
    figure = values_figure(np.full((size, size), 0.55), 0.3, 0.7)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text() == "55"]
    assert len(boxes) == size * size
    for left, right in itertools.pairwise(boxes):
        assert left.x1 + 2 < right.x0 or right.x1 < left.x0
