"""How a run measures strength: win rates, Elo on the rating scale, games against GNU Go."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_runs
from tiny_runs import metrics

from rlgo.base.errors import RlgoError
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights
from train.arena.rating_scale import load_rating_scale
from train.config import Config
from train.runs import run as running
from train.runs import strength
from train.runs.folder import RunFolder
from train.runs.monitor import METRICS
from train.runs.run import Result, resume
from train.runs.run import run as train
from train.runs.strength import Strength, elo

GNUGO_RATE = "strength/win_rate_gnugo"


def tiny(out: Path, **run: Any) -> Config:
    return tiny_runs.tiny(out, run={"log_every": 100, **run})


def curve(folder: Path, key: str) -> list[tuple[float, float]]:
    """A number of the logs, by games."""
    return [(point["games"], point[key]) for point in metrics(folder) if key in point]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Config, Result]:
    config = tiny(tmp_path_factory.mktemp("runs"))
    return config, train(config, progress=False)


# ---------------------------------------------------------------------------------------------
# Elo
# ---------------------------------------------------------------------------------------------


def test_a_run_logs_its_elo(finished):
    config, result = finished
    ratings = curve(result.folder, "strength/elo")
    assert [games for games, _ in ratings] == [100, 200, 300]
    assert ratings[0][1] > load_rating_scale(5).elo["random"]
    assert ratings[-1][1] == result.elo
    run_json = json.loads((result.folder / "run.json").read_text("utf-8"))
    assert run_json["elo"] == result.elo
    assert f"300 games: Elo {result.elo:,.0f} (" in (result.folder / "log.txt").read_text("utf-8")
    # It depends on config and weights alone, not on the run's history.
    assert elo(config, load_weights(result.folder / "weights.npz")).elo == result.elo


def test_damaged_shipped_weights_are_an_error_and_not_the_same_as_none(tmp_path, monkeypatch):
    monkeypatch.setattr("rlgo.base.resources._folder", lambda _: tmp_path)
    features = make_features(5, (1, 2))
    weights = Weights(features, np.zeros(features.n_weights + 1, np.float32), 7.5, "logistic", 100, {})
    arguments = tiny(tmp_path), RunFolder(tmp_path / "tiny"), weights
    assert "shipped" not in strength.win_rates(*arguments)
    (tmp_path / "5x5-1M.npz").write_bytes(b"damaged")
    with pytest.raises(RlgoError, match=r"5x5-1M.npz"):
        strength.win_rates(*arguments)


# ---------------------------------------------------------------------------------------------
# GNU Go
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def fake_gnugo(monkeypatch) -> list[int]:
    """GNU Go, installed and beaten in half of the games; and when it was met."""
    met: list[int] = []

    def against_gnugo(config, weights, _progress):
        met.append(weights.games)
        return Strength("GNU Go level 0", config.run.gnugo_games, 0.5, (0.4, 0.6))

    monkeypatch.setattr(running, "has_gnugo", lambda: True)
    monkeypatch.setattr(running, "against_gnugo", against_gnugo)
    return met


def test_gnugo_is_met_when_it_is_due(tmp_path, fake_gnugo):
    for name, every, due in (("end", 0, [300]), ("often", 120, [120, 240, 300])):
        fake_gnugo.clear()
        result = train(tiny(tmp_path, name=name, gnugo_games=4, gnugo_every=every), progress=False)
        assert fake_gnugo == due
        assert curve(result.folder, GNUGO_RATE) == [(games, 0.5) for games in due]
        assert result.strength["gnugo"].games == 4
        assert GNUGO_RATE in METRICS


def test_without_gnugo_a_run_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "has_gnugo", lambda: False)
    result = train(tiny(tmp_path, gnugo_games=4, gnugo_every=100), progress=False)
    assert (result.folder / "log.txt").read_text("utf-8").count("GNU Go is not installed") == 1
    assert curve(result.folder, GNUGO_RATE) == []
    assert "gnugo" not in result.strength


def test_an_engine_that_fails_ends_no_run(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "has_gnugo", lambda: True)
    monkeypatch.setattr(strength, "GNUGO", "no-such-gnugo")
    result = train(tiny(tmp_path, gnugo_games=4), progress=False)
    assert "no games against GNU Go: engine 'no-such-gnugo' not found" in (result.folder / "log.txt").read_text()
    assert "gnugo" not in result.strength


def test_one_ctrl_c_ends_a_match_against_gnugo(tmp_path, monkeypatch, fake_gnugo):
    """The match is abandoned at once, and played whole when the run continues."""
    meet = running.against_gnugo

    def press(*_):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1_000_000):  # never comes to its end
            pass
        raise AssertionError("the match went on")

    config = tiny(tmp_path, gnugo_games=4, gnugo_every=150)
    monkeypatch.setattr(running, "against_gnugo", press)
    with pytest.raises(KeyboardInterrupt):
        train(config, progress=False)
    assert load_weights(tmp_path / "tiny" / "weights.npz").games == 150
    assert curve(tmp_path / "tiny", GNUGO_RATE) == []
    monkeypatch.setattr(running, "against_gnugo", meet)
    result = resume(tmp_path / "tiny", progress=False)
    assert "after 150 games" in (result.folder / "log.txt").read_text("utf-8").partition("resumed")[2]
    assert fake_gnugo == [150, 300]
    assert curve(result.folder, GNUGO_RATE) == [(150, 0.5), (300, 0.5)]


@pytest.mark.usefixtures("gnugo")
def test_gnugo_itself(finished, capfd):
    config = tiny(Path("nowhere"), gnugo_games=4)
    weights = finished[1].weights
    found = strength.against_gnugo(config, weights, progress=False)
    assert (found.games, found.opponent) == (4, "GNU Go level 0")
    assert 0 <= found.ci95[0] <= found.win_rate <= found.ci95[1] <= 1
    first, again = (strength.play_gnugo(weights, 4, 0.5, seed=1, progress=False) for _ in range(2))
    assert first == again
    assert (first.games, first.forfeits, len(first.scores)) == (4, 0, 2)
    assert capfd.readouterr() == ("", "")
