"""A slow softmax policy, from the definition of its features, on `naive.NaiveBoard`. A point is (row, col)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oracles.naive import NaiveBoard, Point, liberties_after, on_board
from rlgo.go.board import EMPTY
from rlgo.moves.softmax_policy import load_softmax_policy, shapes_by_code

STEPS = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
ADJACENT = [(-1, 0), (0, -1), (0, 1), (1, 0)]  # in the order of their ataris
# The shipped policy, the numbers of its shapes by their codes, and the number of the first weight of no shape.
POLICY = load_softmax_policy("9x9")
SHAPE_OF, N_WEIGHTS = shapes_by_code(POLICY.codes), len(POLICY.theta)
SHAPES = {code: number for number, code in enumerate(POLICY.codes.tolist(), 1)}
OTHER = 2 * (len(SHAPES) + 1)


def random_theta(seed: int = 1) -> np.ndarray:
    theta = np.random.default_rng(seed).normal(0, 1, N_WEIGHTS)
    theta[[0, OTHER // 2]] = 0
    theta[OTHER:] = 0.5, -0.7, 1.5, 2.0, -1.2
    return theta


def sensible(board: NaiveBoard) -> list[Point]:
    return [p for p in board.empties() if board.is_legal(p) and not board.is_eye(p, board.to_play)]


def shape_code(board: NaiveBoard, p: Point) -> int:
    """The smallest code of the 3x3 square around p under rotation and reflection, as the player sees it."""
    cells: dict[Point, tuple[int, int]] = {}
    for dy, dx in STEPS:
        q = p[0] + dy, p[1] + dx
        inside = 0 <= q[0] < board.size and 0 <= q[1] < board.size
        color = board.stones.get(q, EMPTY) if inside else 3
        atari = color in (1, 2) and len(board.chain(q)[1]) == 1 and (dy, dx) in ADJACENT
        if color in (1, 2):
            color = 1 if color == board.to_play else 2
        cells[dy, dx] = color, int(atari)
    codes = []
    for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        for swap in (False, True):
            image = {(b * dx, a * dy) if swap else (a * dy, b * dx): cell for (dy, dx), cell in cells.items()}
            code = sum(image[step][0] << 2 * i for i, step in enumerate(STEPS))
            codes.append(code + sum(image[step][1] << 16 + i for i, step in enumerate(ADJACENT)))
    return min(codes)


def features(board: NaiveBoard, p: Point, last: Point | None, before: Point | None) -> dict[int, float]:
    """phi(s, p) by the number of the weight."""
    n, shape = OTHER // 2, SHAPES[shape_code(board, p)]
    phi = {shape: 1.0}

    def near(q: Point | None) -> int:
        return 0 if q is None or p == q else max(abs(p[0] - q[0]), abs(p[1] - q[1]))

    if near(last) == 1:
        assert last is not None
        phi[n + shape] = 1.0
        if abs(p[0] - last[0]) + abs(p[1] - last[1]) == 2:
            phi[2 * n] = 1.0
    if near(before) == 1:
        phi[2 * n + 1] = 1.0
    if last is not None:
        for q in on_board(board.size, last):
            if board.stones.get(q) == board.to_play and board.chain(q)[1] == {p}:
                phi[2 * n + 2] = 1.0
        if board.chain(last)[1] == {p}:
            phi[2 * n + 3] = 1.0
    if liberties_after(board.size, board.stones, p, board.to_play) == 1:
        phi[2 * n + 4] = 1.0
    return phi


def policy(
    board: NaiveBoard, last: Point | None, before: Point | None, theta: Sequence[float]
) -> dict[Point, tuple[float, dict[int, float]]]:
    """pi(s, p) and phi(s, p) of all sensible moves."""
    phi = {p: features(board, p, last, before) for p in sensible(board)}
    gamma = {p: math.exp(sum(theta[k] * v for k, v in phi[p].items())) for p in phi}
    total = sum(gamma.values())
    return {p: (gamma[p] / total, phi[p]) for p in phi}
