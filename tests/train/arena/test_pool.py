"""Many games at a time: all pools give the same results, and replace what dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlgo.base.errors import RlgoError
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, save_weights
from rlgo.play.player import RandomPlayer
from train.arena.match import play_match
from train.arena.pool import GamePool, GameTask, GameWorker, ProcessPool, WorkerDied
from train.arena.referee import GameRecord, GameRules

ROOT = Path(__file__).resolve().parents[3]
FIVE: dict[str, Any] = {"size": 5, "komi": 2.5, "progress": False}


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.process
@pytest.mark.slow
def test_a_script_runs_once(tmp_path: Path) -> None:
    """Processes leave it alone, whether it asks if it is the main module or not."""
    script = tmp_path / "script.py"
    script.write_text(
        """from train import play_match
print("begins", flush=True)
print("played", play_match("random", "random", 4, size=5, jobs=2, progress=False).games)
"""
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert ran.stdout.splitlines() == ["begins", "played 4"], ran.stderr
    assert ran.stderr == ""


@pytest.mark.process
@pytest.mark.slow
def test_the_result_does_not_depend_on_who_plays_the_games() -> None:
    one = play_match("random", "open_spiel,sims=8", 12, seed=4, **FIVE)
    assert play_match("random", "open_spiel,sims=8", 12, seed=4, jobs=3, **FIVE) == one
    assert play_match("random", "open_spiel,sims=8", 12, seed=5, **FIVE) != one
    # The same for players with a seed of their own, who play a different game each time.
    one = play_match("random,seed=7", "random,seed=7", 8, openings="empty", **FIVE)
    assert one.distinct == 8
    assert play_match("random,seed=7", "random,seed=7", 8, openings="empty", jobs=2, **FIVE) == one


def test_players_that_are_objects_play_in_this_process() -> None:
    with pytest.raises(RlgoError, match="expected player specs with jobs or a cluster"):
        play_match(RandomPlayer(1), "random", 2, jobs=2, **FIVE)
    result = play_match(RandomPlayer(1), RandomPlayer(2), 2, **FIVE)
    assert (result.a, result.b) == ("random", "random")


@pytest.mark.process
def test_a_player_meets_itself() -> None:
    spec = "".join(["open_spiel", ",sims=4"])
    again = "".join(["open_spiel", ",sims=4"])
    assert spec is not again
    result = play_match(spec, again, 4, **FIVE)
    assert (result.a, result.b, result.forfeits) == (spec, spec, 0)
    assert play_match(spec, again, 4, jobs=2, **FIVE) == result
    mixed = play_match(RandomPlayer(1), "random", 2, **FIVE)
    assert (mixed.a, mixed.b, mixed.forfeits) == ("random", "random", 0)


def test_a_file_that_changes_ends_the_match(tmp_path: Path) -> None:
    """Or the games of two players would stand under one name."""
    weights = tmp_path / "w.npz"
    features = make_features(5, (1,))
    save_weights(weights, Weights(features, np.zeros(features.n_weights + 1, np.float32)))
    worker = GameWorker()
    spec = f"greedy,weights={weights}"
    assert worker.play(task(1, spec)).moves
    assert worker.play(task(2, spec)).moves
    os.utime(weights, (1, 1))
    assert worker.play(task(3, spec)).moves  # as git and rsync may do
    save_weights(weights, Weights(features, np.ones(features.n_weights + 1, np.float32)))
    with pytest.raises(RlgoError, match=r"w\.npz: was changed after the first game; play with a copy"):
        worker.play(task(4, spec))


def task(number: int, black: str = "random", white: str = "random") -> GameTask:
    return GameTask(number, black, white, (), 1, GameRules(5, 2.5, 75))


@pytest.mark.process
def test_a_process_that_dies_is_replaced_and_its_game_played_again(capfd: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(ProcessPool(2)) as pool:
        first = dict(moves_of(pool, 4))
        os.kill(pool._workers[0][0].pid, signal.SIGKILL)
        again = dict(moves_of(pool, 12))
    assert sorted(again) == list(range(1, 13))
    assert {n: again[n] for n in first} == first  # what depends on nothing but the task
    assert "its process died; playing the game again" in capfd.readouterr().err


def moves_of(pool: GamePool, n: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    for done, record in pool.run(task(i) for i in range(1, n + 1)):
        yield done.number, record.moves


@pytest.mark.process
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs signals that can be held back")
def test_ctrl_c_does_not_reach_processes_that_are_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """This process handles it. Here, each of them gets one before it has run a line of ours."""
    early = (
        "import os, signal, sys\nif '--multiprocessing-fork' in sys.orig_argv: os.kill(os.getpid(), signal.SIGINT)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(early)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    with contextlib.closing(ProcessPool(2)) as pool:
        assert sorted(dict(moves_of(pool, 4))) == [1, 2, 3, 4]
    assert capfd.readouterr().err == ""
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


class Dying(GamePool):
    """Nobody survives game 2."""

    places = 1

    def start(self, place: int, task: GameTask) -> GameTask:
        assert place == 0
        return task

    def result(self, handle: GameTask) -> GameRecord:
        if handle.number == 2:
            raise WorkerDied("too little memory")
        return GameRecord((), 1.0, "B+R")

    def replace(self, place: int) -> None:
        assert place == 0


def test_a_game_that_nobody_survives_ends_the_match() -> None:
    games = Dying().run(task(i) for i in (1, 2, 3))
    assert next(games)[0].number == 1
    with pytest.raises(RlgoError, match=r"^game 2: its process died 3 times: too little memory$"):
        next(games)


@pytest.mark.process
def test_errors_of_processes_are_reported() -> None:
    with contextlib.closing(ProcessPool(2)) as pool, pytest.raises(RlgoError, match="unknown player nobody"):
        list(pool.run(task(i, "nobody") for i in (1, 2)))
