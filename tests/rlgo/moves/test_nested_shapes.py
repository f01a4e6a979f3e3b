"""Nested shapes: only symmetric surroundings share a shape, and the largest known one wins."""

from __future__ import annotations

import numpy as np
from oracles import moves as naive_moves
from oracles.naive import to_core
from slow_and_fast import SIZE, Position

from rlgo.base.settings import MOST_RINGS
from rlgo.moves.move_features import new_study, study
from rlgo.moves.nested_shapes import (
    RINGS,
    cells_of,
    distance,
    find_shapes,
    known_shapes,
    make_tree,
    new_growing_tree,
    rings_of,
    see_shape,
)

REACH = 6  # five rings: distances 2 to 6
FAR = {"empty": 0, "own": 1, "enemy": 2, "off": 3}
NEAR = {"empty": 0, "off": 1, "own1": 2, "own2": 3, "own3": 4, "enemy1": 5, "enemy2": 6, "enemy3": 7}


def shape_at(p, s, tree):
    moves = np.array([to_core(SIZE, p)])
    find_shapes(moves, 0, 1, s.around, tree)
    return int(tree.entries[s.around.entry[0]].number)


def positions():
    s = new_study(SIZE)
    for seed in range(12):
        position = Position(seed)
        for _ in range(12):
            position.play_at_random()
            study(position.fast, s)
            yield position, s


def canonical(images):
    return min(tuple(sorted(image.items())) for image in images)


def test_rings_have_one_distance_each():
    assert [distance(*at) for ring in RINGS for at in ring] == [d for d, ring in enumerate(RINGS, 2) for _ in ring]
    assert len(RINGS) == MOST_RINGS
    assert sorted(RINGS[0] + RINGS[1]) == sorted((x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0))


def test_shapes_are_equal_where_the_surroundings_are():
    growing = new_growing_tree(100_000)
    for position, s in positions():
        for p in sorted(position.slow.legal_points()):
            see_shape(to_core(SIZE, p), s.around, growing, 1, REACH - 1)
    tree = make_tree(*known_shapes(growing, 1)[:2])
    shapes, names = {}, {}
    for position, s in positions():
        for p in sorted(position.slow.legal_points()):
            shape = shape_at(p, s, tree)
            images = naive_moves.surroundings(position.slow, p, REACH)
            name = canonical(images)
            assert shapes.setdefault(name, shape) == shape
            assert names.setdefault(shape, name) == name
            # The drawn shape is one of the images.
            cells = cells_of(shape, growing.parents[1:], growing.codes[1:])
            drawn = [
                {at: (NEAR if abs(at[0]) + abs(at[1]) == 1 else FAR)[what] for at, what in image.items()}
                for image in images
            ]
            assert cells in drawn
    assert len(shapes) > 500


def test_only_shapes_seen_often_are_known():
    often, growing, counts = 4, new_growing_tree(100_000), {}
    for position, s in positions():
        for p in sorted(position.slow.legal_points()):
            see_shape(to_core(SIZE, p), s.around, growing, often, 3)
            # A shape counts once its parent was seen often enough, this time included.
            for reach in (2, 3, 4):
                name = canonical(naive_moves.surroundings(position.slow, p, reach))
                counts[name] = counts.get(name, 0) + 1
                if counts[name] < often:
                    break
    parents, codes, seen = known_shapes(growing, often)
    assert sorted(seen) == sorted(n for n in counts.values() if n >= often)
    assert (parents < np.arange(1, len(parents) + 1)).all()
    tree, rings = make_tree(parents, codes), rings_of(parents)
    for position, s in positions():
        for p in sorted(position.slow.legal_points()):
            names = [canonical(naive_moves.surroundings(position.slow, p, reach)) for reach in (2, 3, 4)]
            known = [counts.get(name, 0) >= often for name in names]
            expected = known.index(False) if False in known else 3
            assert rings[shape_at(p, s, tree)] == expected


def test_a_full_tree_stops_growing():
    growing = new_growing_tree(10)
    for position, s in positions():
        for p in position.slow.legal_points():
            see_shape(to_core(SIZE, p), s.around, growing, 1, MOST_RINGS)
    assert growing.used[0] == 10
