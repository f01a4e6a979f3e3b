"""Calibration: the fit, files, and the players that use it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rlgo.base.archive import write_archive
from rlgo.base.errors import RlgoError
from rlgo.base.resources import shipped_calibration
from rlgo.go.board import BLACK
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.calibration import (
    STAGES,
    Calibration,
    calibration_error,
    fit_calibration,
    log_loss,
    read_calibration,
    write_calibration,
)
from rlgo.play.player import RandomPlayer

EIGHT = (1.0,) * len(STAGES)


def test_a_chance_by_hand() -> None:
    """logit(0.6) = 0.405465; bias and slopes are interpolated half-way between the first two stages."""
    bias, black, white = (np.zeros(len(STAGES)) for _ in range(3))
    bias[0], black[:2], white[:2] = 0.2, (3.0, 1.0), (4.0, 6.0)
    c = Calibration(*(tuple(x) for x in (bias, black, white)))
    moves = 0.0625 * 100  # of 10x10 points
    assert c.chance(0.6, int(moves), 10) == pytest.approx(
        1 / (1 + np.exp(-np.interp(0.06, STAGES, bias) - np.interp(0.06, STAGES, black) * 0.405465)), rel=1e-5
    )
    assert c.chance(0.6, 0, 9) == pytest.approx(1 / (1 + np.exp(-0.2 - 3 * 0.405465)), rel=1e-5)
    assert c.chance(0.4, 0, 9) == pytest.approx(1 / (1 + np.exp(-0.2 + 4 * 0.405465)), rel=1e-5)
    assert 0 < c.chance(0.0, 0, 9) < c.chance(1.0, 500, 9) < 1


def test_a_calibration_error_by_hand() -> None:
    """Two of 0.65 and one won: 0.15 each; 0.05 lost; a certain win, which stays in the last tenth."""
    chances, outcomes = np.array([0.62, 0.05, 0.68, 1.0]), np.array([1.0, 0.0, 0.0, 1.0])
    assert calibration_error(chances, outcomes) == pytest.approx((2 * 0.15 + 0.05 + 0) / 4)
    assert calibration_error(np.array([0.3, 0.7]), np.array([1.0, 0.0])) == pytest.approx(0.7)  # nothing cancels


def test_the_fit_finds_the_map_that_made_the_outcomes() -> None:
    rng = np.random.default_rng(1)
    values, stages = rng.uniform(0.3, 0.7, 60_000), rng.uniform(0, 1, 60_000)
    x = np.log(values / (1 - values))
    logits = -0.3 + np.where(x > 0, 3.0, 2.0) * x
    outcomes = (rng.random(len(x)) < 1 / (1 + np.exp(-logits))).astype(float)
    c = fit_calibration(values, stages, outcomes)
    assert np.mean(c.bias) == pytest.approx(-0.3, abs=0.06)
    assert np.mean(c.black) == pytest.approx(3, abs=0.2)
    assert np.mean(c.white) == pytest.approx(2, abs=0.2)
    chances = np.array(
        [c.chance(v, int(1000 * t), 100) for v, t in zip(values[:2000], stages[:2000] * 10, strict=True)]
    )
    assert log_loss(chances, outcomes[:2000]) < log_loss(values[:2000], outcomes[:2000])


def test_points_by_hand() -> None:
    """logit(0.6) = 0.405465, tanh(0.81093) = 0.670103 = (e^1.62186 - 1) / (e^1.62186 + 1); without a fit, the score."""
    fitted = Calibration(EIGHT, EIGHT, EIGHT, scale=(0.5,) * len(STAGES), lean=(2.0,) * len(STAGES))
    assert fitted.points(4.0, 0.6, 10, 9) == pytest.approx(0.5 * 4 + 2 * 0.670103, rel=1e-5)
    assert fitted.points(4.0, 0.4, 10, 9) == pytest.approx(0.5 * 4 - 2 * 0.670103, rel=1e-5)
    assert Calibration(EIGHT, EIGHT, EIGHT).points(4.0, 0.6, 10, 9) == 4.0
    assert fitted.points(0.0, 1.0, 10, 9) == pytest.approx(2)  # whoever has won, by how much is the score's to say


def test_without_positions() -> None:
    with pytest.raises(RlgoError, match="no positions with a search and a result"):
        fit_calibration([], [], [])


def test_files(tmp_path: Path) -> None:
    c, path = Calibration(EIGHT, EIGHT, EIGHT), tmp_path / "c.npz"
    write_calibration(path, c, {"size": 9})
    assert read_calibration(path) == c
    old = {"bias": np.zeros(8), "black": np.ones(8), "white": np.ones(8), "lean": np.ones(8)}
    write_archive(path, {"format": "rlgo-calibration", "version": 1}, old)
    assert read_calibration(path).lean == (0.0,) * 8  # it had another formula
    write_calibration(path, Calibration(EIGHT, EIGHT, (1.0,)), {"size": 9})
    with pytest.raises(RlgoError, match="expected 8 finite numbers a coefficient"):
        read_calibration(path)
    path.write_bytes(b"no archive")
    with pytest.raises(RlgoError, match=r"c\.npz"):
        read_calibration(path)


@pytest.mark.parametrize(("player", "sizes"), [("mc_rave_patterns", (9, 13, 19)), ("rlgo", (9, 19))])
def test_shipped_calibrations_spread_values_of_the_opening(player: str, sizes: tuple[int, ...]) -> None:
    for size in sizes:
        file = shipped_calibration(player, size)
        assert (file.parent.name, file.stem) == (player, f"{size}x{size}")
        c = read_calibration(file)
        spread = c.chance(0.6, 6, size) - c.chance(0.45, 6, size)
        assert spread > 0.16 > 0.6 - 0.45


def test_the_calibration_of_the_nearest_size_is_found() -> None:
    assert shipped_calibration("mc_rave_patterns", 6).stem == "9x9"
    assert shipped_calibration("mc_rave_patterns", 17).stem == "19x19"
    with pytest.raises(RlgoError, match="no shipped calibration of random: expected calibration = FILE or none"):
        shipped_calibration("random", 9)


def test_a_player_without_a_calibration_shows_its_value() -> None:
    player, game = RandomPlayer(), Game(5)
    assert [player.chance(value, game) for value in (-0.5, 0.25, 1.5)] == [0.0, 0.25, 1.0]
    player.calibration = Calibration((0.0,) * 8, EIGHT, EIGHT)
    assert player.chance(0.25, game) == pytest.approx(0.25)


def test_a_chance_goes_by_all_moves_those_before_an_edit_included() -> None:
    player, game, edited = RandomPlayer(), Game(5), Game(5)
    player.calibration = Calibration(tuple(i / 4 for i in range(8)), EIGHT, EIGHT)
    for vertex in ("A1", "B5", "C3", "D4"):
        game.play(vertex)
        edited.play(vertex)
    edited.edit({from_vertex("E5", 5): BLACK})
    assert not edited.moves
    assert player.chance(0.3, edited) == player.chance(0.3, game) != player.chance(0.3, Game(5))
