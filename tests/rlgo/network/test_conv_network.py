"""The compiled network against its equations, and its file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from network_files import SMALL, random_network
from oracles import network as oracle
from random_play import random_game

import rlgo
from rlgo.base.archive import write_archive
from rlgo.base.errors import RlgoError
from rlgo.features.planes import planes
from rlgo.go.positions import Positions
from rlgo.network.architecture import FORMAT, KINDS, N_PLANES, Shape
from rlgo.network.conv_network import ConvNetwork, load_network
from rlgo.network.inference import evaluate_board, new_network_scratch


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("size", [5, 9])
def test_it_computes_its_equations(size: int) -> None:
    network = random_network()
    game = random_game(20, 3, size=size)
    x = planes(Positions.along(game), KINDS)[::7]
    found = network.outputs(x)
    for i, one in enumerate(x):
        expected = oracle.evaluate(one, network.parameters)
        np.testing.assert_allclose(found.logits[i], expected.logits, atol=1e-4)
        np.testing.assert_allclose(found.value[i], expected.value, atol=1e-4)
        np.testing.assert_allclose(found.score[i], expected.score, atol=1e-3)
        np.testing.assert_allclose(found.ownership[i], expected.ownership, atol=1e-4)
    assert np.ptp(found.logits, axis=0).mean() > 0.05  # outputs depend on the position
    assert np.ptp(found.value) > 1e-3


def test_a_larger_one_computes_its_equations_on_19x19() -> None:
    network = random_network(Shape(blocks=3, channels=36, head_channels=12))
    x = planes(random_game(60, 4, size=19), KINDS)
    found, expected = network.outputs(x), oracle.evaluate(x[0], network.parameters)
    np.testing.assert_allclose(found.logits[0], expected.logits, atol=1e-4)
    np.testing.assert_allclose(found.value[0], expected.value, atol=1e-4)
    np.testing.assert_allclose(found.ownership[0], expected.ownership, atol=1e-4)


def test_nothing_is_left_of_the_position_before() -> None:
    network, x = random_network(), planes(Positions.along(random_game(20, 5)), KINDS)
    forwards, backwards = network.outputs(x), network.outputs(x[::-1])
    for a, b in zip(forwards, backwards, strict=True):
        np.testing.assert_array_equal(a, b[::-1])


def test_a_board_gives_the_planes_of_its_game() -> None:
    """In a search, planes are made of a board and two moves; superko is the only difference."""
    network = random_network()
    s = new_network_scratch(5, network.layers)
    for seed in range(3):
        game = random_game(15 + seed, seed)
        last, before = (game.moves[-1][1], game.moves[-2][1])
        evaluate_board(game.board, last, before, game.komi, network.layers, s)
        expected = planes(game, KINDS)
        if not planes(game, "ko").any() or game.board.ko:
            np.testing.assert_array_equal(s.layers.planes, expected)
        np.testing.assert_array_equal(s.layers.logits, network.outputs(s.layers.planes).logits[0])


def test_it_answers_for_black() -> None:
    network, game = random_network(), random_game(11, 2)
    answer, out = network(Positions.of(game)), network.outputs(planes(game, KINDS))
    assert game.to_play == rlgo.WHITE
    assert answer["value"][0] == 1 - out.value[0]
    np.testing.assert_array_equal(answer["ownership"], -out.ownership)
    np.testing.assert_array_equal(answer["score"], -out.score)


def test_a_new_network_knows_nothing() -> None:
    out = ConvNetwork.new(SMALL, seed=1).outputs(planes(random_game(8, 1), KINDS))
    assert not out.logits.any()
    assert out.value.tolist() == [0.5]
    assert not out.ownership.any()


# ---------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------


def test_a_file_is_read_as_it_was_written(tmp_path) -> None:
    network = ConvNetwork(random_network().parameters, {"games": 3})
    network.save(tmp_path / "n.npz")
    read = load_network(tmp_path / "n.npz")
    assert read.provenance == {"games": 3}
    for a, b in zip(read.parameters, network.parameters, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bad_files_are_refused_in_one_line(tmp_path) -> None:
    file = tmp_path / "n.npz"
    random_network().save(file)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "flipped.npz").write_bytes(data)
    arrays = random_network().parameters._asdict()
    meta = {"format": FORMAT, "version": 1, "planes": "+".join(KINDS), "provenance": {}}
    nan = arrays | {"policy": np.full(8, np.nan, np.float32)}
    for name, its_meta, its_arrays in [
        ("newer", meta | {"version": 2}, arrays),
        ("planes", meta | {"planes": "stones"}, arrays),
        ("short", meta, arrays | {"policy": np.zeros(7, np.float32)}),
        ("lacking", meta, {k: a for k, a in arrays.items() if k != "pool"}),
        ("nan", meta, nan),
        ("other", meta | {"format": "rlgo-patterns"}, arrays),
    ]:
        write_archive(tmp_path / f"{name}.npz", its_meta, its_arrays)
    for name, message in [
        ("flipped", "damaged: its checksum does not match its content"),
        ("newer", "network file version 2: this rlgo reads up to 1"),
        ("planes", "planes = stones: expected stones+ones"),
        ("short", "damaged: not the arrays of a network"),
        ("lacking", "damaged: not the arrays of a network"),
        ("nan", "damaged: not the arrays of a network"),
        ("other", "expected a network file of rlgo"),
    ]:
        with pytest.raises(RlgoError, match=re.escape(f"{name}.npz: {message}")):
            load_network(tmp_path / f"{name}.npz")


def test_weights_that_are_not_finite_are_not_written(tmp_path: Path) -> None:
    network, file = random_network(), tmp_path / "n.npz"
    network.save(file)
    before = file.read_bytes()
    network.parameters.stem[0, 0, 0] = np.inf
    with pytest.raises(RlgoError, match=r"n.npz: weights that are not finite numbers: not written"):
        network.save(file)
    assert file.read_bytes() == before


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(RlgoError, match="channels = 4: expected an integer from 8 to 128"):
        ConvNetwork.new(Shape(channels=4))
    with pytest.raises(RlgoError, match=rf"planes of shape \[1, 3, 5, 5\]: expected \[n, {N_PLANES}, size, size\]"):
        random_network().outputs(np.zeros((1, 3, 5, 5), np.float32))
