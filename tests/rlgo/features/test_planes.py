"""Planes against their definitions, and against boards of other programs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from oracles.moves import Unread
from oracles.naive import Point, from_core, to_core
from oracles.planes import NaivePosition
from stand_ins import TWO_STONES_SENT

from rlgo.base.errors import RlgoError
from rlgo.features.planes import PLANE_KINDS, SETS, apply_symmetry, plane_names, planes
from rlgo.go.game import Game
from rlgo.go.positions import Positions

SIZE, KOMI = 5, 6.5


def random_game(seed: int, plies: int = 40, size: int = SIZE) -> Game:
    """A game of legal moves, eyes filled too, with passes and now and then a colour out of turn."""
    game, draw = Game(size, KOMI), random.Random(seed)
    for _ in range(plies):
        if draw.random() < 0.05:
            game.to_play = 3 - game.to_play
        legal = game.legal_moves()
        game.play(draw.choice(legal) if legal and draw.random() > 0.05 else 0)
    return game


def naive(game: Game, ply: int) -> NaivePosition:
    moves = [(color, from_core(game.size, p)) for color, p in game.moves]
    position = NaivePosition(game.size, moves[:ply], game.komi)
    to_play = moves[ply][0] if ply < len(moves) else game.to_play
    if position.board.to_play != to_play:
        position.board.to_play, position.board.ko = to_play, None
    return position


GAMES = [random_game(seed) for seed in range(4)]


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("kind", PLANE_KINDS)
def test_planes_are_what_they_are_defined_to_be(kind: str) -> None:
    compared = marked = 0
    for game in GAMES:
        found = planes(Positions.along(game), kind)
        assert found.shape == (len(game.moves) + 1, len(PLANE_KINDS[kind].names), SIZE, SIZE)
        for ply, given in enumerate(found):
            try:
                expected = naive(game, ply).planes(kind)
            except Unread:
                continue
            np.testing.assert_array_equal(given, np.array(expected, np.float32), err_msg=f"ply {ply}")
            compared += 1
            marked += bool(given.any())
    assert compared > 100
    assert marked > 1


def test_planes_of_a_superko() -> None:
    game = Game(SIZE)
    for vertex in TWO_STONES_SENT.split():
        game.play(vertex)
    position = naive(game, len(game.moves))
    for kind in ("ko", "legal"):
        np.testing.assert_array_equal(planes(game, kind)[0], position.planes(kind))
    assert planes(game, "ko").sum() == 1
    assert game.board.ko == 0


def test_alphago_zero_has_seventeen_planes() -> None:
    """Silver et al. 2017, Methods: X_t, Y_t, X_t-1, Y_t-1, ..., X_t-7, Y_t-7, C."""
    game = Game(9)
    for vertex in ("E5", "D5", "pass", "C3"):
        game.play(vertex)
    x = planes(game, "alphago_zero")[0]  # Black to play
    assert len(x) == len(plane_names("alphago_zero")) == 17
    where = {i: sorted(map(tuple, np.argwhere(plane).tolist())) for i, plane in enumerate(x[:16]) if plane.any()}
    e5, d5, c3 = (4, 4), (4, 3), (2, 2)
    assert where == {0: [e5], 1: [c3, d5], 2: [e5], 3: [d5], 4: [e5], 5: [d5], 6: [e5]}
    assert (x[16] == 1).all()


def test_kinds_come_in_the_order_asked_for() -> None:
    position = Positions.along(GAMES[0])
    kinds = ["komi", "alphago_zero", "legal"]
    x = planes(position, kinds)
    assert len(plane_names(kinds)) == x.shape[1] == 19
    parts = [planes(position, kind) for kind in ("komi", *SETS["alphago_zero"], "legal")]
    np.testing.assert_array_equal(x, np.concatenate(parts, axis=1))
    np.testing.assert_array_equal(planes(position, kinds[1:], dtype="uint8"), x[:, 1:].astype(np.uint8))


def test_planes_are_written_where_one_wants_them() -> None:
    out = np.full((1, 17, SIZE, SIZE), np.nan, np.float32)
    assert planes(GAMES[0], out=out) is out
    np.testing.assert_array_equal(out, planes(GAMES[0]))


def test_a_board_has_no_history() -> None:
    x = planes(GAMES[1].board, ["stones", "history", "last_moves"])[0]
    np.testing.assert_array_equal(x[:2], planes(GAMES[1], "stones")[0])
    assert not x[2:].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": "stone"}, "kinds = 'stone': expected one of alphago_zero, stones, history"),
        ({"kinds": []}, "expected a kind of planes"),
        ({"kinds": 3}, "expected a kind of planes"),
        ({"dtype": "float64"}, "dtype = float64: expected float32 or uint8"),
        ({"kinds": "komi", "dtype": "uint8"}, "kinds = komi cannot be combined with dtype = uint8"),
        ({"out": np.zeros((1, 3, 5, 5), np.float32)}, r"out = float32\[1, 3, 5, 5\]: expected float32\[1, 17, 5, 5\]"),
        ({"positions": Positions.of(GAMES[0], history=4)}, "positions with a history of 4: expected 8"),
        ({"positions": "E5"}, "expected a Game, or a board"),
        ({"positions": []}, "expected at least one Game"),
        ({"positions": [Game(5), Game(6)]}, "positions on boards of size 5 and 6: expected one size"),
    ],
)
def test_what_cannot_be_encoded(arguments: dict, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        planes(**{"positions": GAMES[0], **arguments})


# ---------------------------------------------------------------------------------------------
# Symmetries
# ---------------------------------------------------------------------------------------------


def moved(p: Point, g: int) -> Point:
    """As the documentation says: flip the rows, flip the columns, then transpose."""
    row, col = (SIZE - 1 - p[0] if g & 1 else p[0]), (SIZE - 1 - p[1] if g & 2 else p[1])
    return (col, row) if g & 4 else (row, col)


def test_planes_of_a_turned_game_are_turned_planes() -> None:
    game, kinds = GAMES[2], list(PLANE_KINDS)
    x = planes(Positions.along(game), kinds)
    for g in range(8):
        turned = Game(SIZE, KOMI)
        for color, p in game.moves:
            turned.play(to_core(SIZE, moved(from_core(SIZE, p), g)) if p else p, color)
        np.testing.assert_array_equal(apply_symmetry(x, g), planes(Positions.along(turned), kinds))


def test_each_position_has_its_own_symmetry_and_an_inverse() -> None:
    x = np.random.default_rng(1).random((8, 3, SIZE, SIZE))
    turned = apply_symmetry(x, np.arange(8))
    for g in range(8):
        np.testing.assert_array_equal(turned[g], apply_symmetry(x[g : g + 1], g)[0])
        assert g == 0 or (turned[g] != x[g]).any()
    np.testing.assert_array_equal(apply_symmetry(turned, np.arange(8), inverse=True), x)
    np.testing.assert_array_equal(apply_symmetry(x[:, 0], np.arange(8)), turned[:, 0])
    policy = np.random.default_rng(2).random((8, SIZE * SIZE + 1))
    points = policy[:, :-1].reshape(8, SIZE, SIZE)
    at = apply_symmetry(policy, np.arange(8))
    np.testing.assert_array_equal(at[:, :-1].reshape(8, SIZE, SIZE), apply_symmetry(points, np.arange(8)))
    np.testing.assert_array_equal(at[:, -1], policy[:, -1])


@pytest.mark.parametrize(
    ("values", "symmetry"),
    [((2, 5, 6), 0), ((2, 25), 0), ((26,), 0), ((2, 26), 8), ((2, 26), -1), ((2, 26), [1, 2, 3]), ((2, 26), 0.5)],
)
def test_wrong_symmetries(values: tuple[int, ...], symmetry: object) -> None:
    with pytest.raises(RlgoError, match="expected"):
        apply_symmetry(np.zeros(values), symmetry)
