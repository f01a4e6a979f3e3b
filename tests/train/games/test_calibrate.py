"""Learning a calibration from games."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlgo.go.game import Game
from rlgo.learning.collection import read_collection
from rlgo.play.calibration import Calibration, read_calibration
from rlgo.play.player import RESIGN
from train.cli.main import main
from train.games.calibrate import positions_of
from train.players import make_player


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games of a player on 5x5."""
    out = tmp_path_factory.mktemp("games") / "own"
    assert (
        main(["games", "mc_rave,sims=30", "--games", "24", "--size", "5", "--opening-plies", "3", "--out", str(out)])
        == 0
    )
    return out


def test_a_calibration_is_learned_and_used(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.npz"
    assert main(["games", "calibrate", str(folder), "-o", str(path)]) == 0
    out = capsys.readouterr().out
    assert "24 games; in games not learned from:\nlog-loss: values 0." in out
    assert "\nexpected calibration error: values 0." in out
    assert "upper half" in out
    found = read_calibration(path)
    player = make_player(f"rlgo,sims=2,memory_mb=1,calibration={path}", 9, 1)
    assert player.calibration == found
    assert make_player("rlgo,sims=2,memory_mb=1,calibration=none", 9, 1).calibration is None
    assert make_player("rlgo,sims=2,memory_mb=1", 9, 1).calibration is not None
    assert make_player("mc_rave,sims=2,memory_mb=1", 9, 1).calibration is None
    assert main(["games", "calibrate", str(folder), "-o", str(path)]) == 2
    assert "already exists" in capsys.readouterr().err


def test_points_are_given_and_must_be_numbers(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.npz"
    assert main(["games", "calibrate", str(folder), "-o", str(path), "--scale", "0.7", "--lean", "0.35"]) == 0
    assert read_calibration(path).points(10, 0.5, 0, 5) == pytest.approx(7)
    assert read_calibration(path).points(0, 1, 9, 5) == pytest.approx(0.35)
    assert main(["games", "calibrate", str(folder), "--force", "-o", str(path), "--lean", "nan"]) == 2
    assert "expected" in capsys.readouterr().err
    assert read_calibration(path).lean[0] == 0.35


def test_a_game_counts_once_however_many_of_its_moves_were_searched(folder: Path) -> None:
    found = positions_of(read_collection([folder]))
    assert found.moves.min() == 3  # openings were not
    assert found.weights.sum() == pytest.approx(24)


def test_games_that_cannot_be_learned_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "random"
    assert main(["games", "random", "--games", "2", "--size", "5", "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["games", "calibrate", str(out), "-o", str(tmp_path / "own.npz")]) == 2
    assert "too few games with searches and results to calibrate with" in capsys.readouterr().err
    assert not (tmp_path / "own.npz").exists()


def test_a_player_resigns_by_its_chance() -> None:
    """By its value, Black would play on; a calibration that expects White to win lets it resign."""
    game, player = Game(5, 7.5), make_player("mc_rave,sims=200,resign=0.1", 5, 1)
    assert player.genmove(game) != RESIGN
    assert player.candidates(game)[0].value > 0.2
    player.calibration = Calibration((-9.0,) * 8, (1.0,) * 8, (1.0,) * 8)
    assert player.genmove(game) == RESIGN
