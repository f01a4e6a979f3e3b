"""Training on a Ray cluster: a real one, of two nodes on this machine, with token authentication."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_runs import interrupt, metrics, tiny

from rlgo.base.errors import RlgoError
from rlgo.base.settings import Learning, Policy
from rlgo.features.shapes import make_features
from rlgo.learning.learner import Learner
from train import ray_cluster
from train.arena.match import play_match
from train.arena.pool import GameTask, GameWorker, RayPool
from train.arena.referee import GameRules
from train.config import to_toml
from train.ray_cluster import Cluster, connect
from train.runs.run import resume, train
from train.runs.workers import RayLearner

pytestmark = [
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(
        sys.platform != "linux" or importlib.util.find_spec("ray") is None,
        reason="Ray is not installed, or this is no Linux: elsewhere it has no clusters of several nodes",
    ),
]
FEATURES = make_features(5, (1, 2))
TERMS = FEATURES, Learning(), Policy(), 0.5
SECONDS = 300  # for what takes two on a machine that has nothing else to do


@pytest.fixture(scope="module", autouse=True)
def settings(tmp_path_factory) -> Iterator[None]:
    """The settings of the cluster and of all who join it; Ray reads them when it is imported."""
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text("open sesame " * 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
        # A busy machine is no reason to give up.
        patch.setenv("RAY_worker_register_timeout_seconds", str(SECONDS))
        patch.delenv("RAY_ADDRESS", raising=False)
        yield


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """The cluster, with three CPUs on each node, and this process in it."""
    from ray.cluster_utils import Cluster

    thread_learner(2).learn(200)  # compiles, while nobody waits for an answer
    terms = {"num_cpus": 3, "object_store_memory": 80 * 2**20, "wait": False}
    started = Cluster()
    try:
        # One after the other: this process then belongs to the first, and the second can be removed.
        for _ in range(2):
            started.add_node(**terms, include_dashboard=False)
            started.wait_for_nodes(SECONDS)
        ray, _ = connect(started.address, 4, FEATURES.n_weights, "the cluster")
        yield started
        ray.shutdown()
    finally:
        started.shutdown()


def ray_learner(nodes, workers: int) -> RayLearner:
    """Its equal on threads: `thread_learner`."""
    return RayLearner(*TERMS, seed=7, workers=workers, merge_every=50, cluster=nodes.address, timeout=SECONDS)


def thread_learner(workers: int) -> Learner:
    return Learner(*TERMS, seed=7, workers=workers, merge_every=50)


@pytest.fixture(scope="module")
def hired(nodes) -> Iterator[tuple[RayLearner, dict[str, np.ndarray]]]:
    learner = ray_learner(nodes, 4)
    yield learner, {name: array.copy() for name, array in learner.state().items()}
    learner.close()


@pytest.fixture
def four(hired) -> RayLearner:
    """Four workers, as if new."""
    learner, state = hired
    learner.restore(state)
    return learner


@pytest.fixture(scope="module")
def single(nodes) -> Iterator[RayLearner]:
    learner = ray_learner(nodes, 1)
    yield learner
    learner.close()


def processes_of(name: str) -> list[int]:
    """Return the processes of Ray that run a function."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "cmdline").read_bytes().startswith(name.encode()):
                found.append(int(path.name))
    return found


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return {*a} == {*b} and all(np.array_equal(a[name], b[name]) for name in a)


# ---------------------------------------------------------------------------------------------
# What goes wrong at the start. First in this file, while the process is in no cluster.
# ---------------------------------------------------------------------------------------------


def test_without_ray(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RlgoError, match=r'^run.cluster = "local": Ray is not installed: pip install \'rlgo\[ray\]\'$'):
        train(tiny(tmp_path, run={"cluster": "local"}), progress=False)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nowhere.invalid:6379"])
def test_nobody_at_the_address(tmp_path, address):
    with pytest.raises(RlgoError, match=rf'^run.cluster = "{address}": no answer from {address} '):
        train(tiny(tmp_path, run={"cluster": address}), progress=False)
    assert not any(tmp_path.iterdir())


def test_no_cluster_here(monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", "/nonexistent")
    with pytest.raises(
        RlgoError, match=r'^run.cluster = "auto": Ray is not running on this machine: expected `ray start`'
    ):
        connect("auto", 1, 0, 'run.cluster = "auto"')


# ---------------------------------------------------------------------------------------------
# Games of a match. Before the workers of the other tests take up the CPUs.
# ---------------------------------------------------------------------------------------------


def test_a_match_without_ray_or_cluster(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ray", None)
        with pytest.raises(RlgoError, match=r"^--cluster auto: Ray is not installed"):
            play_match("random", "random", 2, size=5, cluster="auto", progress=False)


def test_a_match_on_a_cluster(nodes, tmp_path):
    """The same games, wherever they are played; and each of them once, though an actor dies."""
    arguments: dict[str, Any] = {"size": 5, "komi": 2.5, "seed": 3, "progress": False}
    path = tmp_path / "results.jsonl"
    result = play_match("random", "open_spiel,sims=4", 8, cluster=nodes.address, jobs=2, results=path, **arguments)
    assert result == play_match("random", "open_spiel,sims=4", 8, **arguments)
    assert sorted(json.loads(line)["game"] for line in path.read_text().splitlines()[1:]) == list(range(1, 9))
    pool = RayPool(nodes.address, 2)
    with pytest.raises(RlgoError, match="unknown player nobody"):
        list(pool.run([GameTask(1, "nobody", "random", (), 1, GameRules(5, 2.5, 75))]))
    pool.close()


def test_games_of_a_match_whose_process_dies_are_played_again(nodes, monkeypatch, capsys):
    pool = RayPool(nodes.address, 2)
    tasks = [GameTask(n, "random", "random", (), 1, GameRules(5, 2.5, 75)) for n in range(1, 13)]
    start, killed = pool.start, []

    def start_and_kill(place, task):
        if task.number != 4 or killed:
            return start(place, task)
        handle = start(place, dataclasses.replace(task, black="open_spiel,sims=1000000000"))  # it cannot be over before
        while not (victims := processes_of("ray::run_task")):
            time.sleep(0.05)
        killed.extend(victims)
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        return handle

    monkeypatch.setattr(pool, "start", start_and_kill)
    records = {task.number: record.moves for task, record in pool.run(tasks)}
    pool.close()
    assert killed
    assert sorted(records) == list(range(1, 13))
    assert "game 4: its process died; playing the game again" in capsys.readouterr().err
    own = GameWorker()
    assert {task.number: own.play(task).moves for task in tasks} == records


# ---------------------------------------------------------------------------------------------
# Workers on a cluster, and on threads
# ---------------------------------------------------------------------------------------------


def test_the_same_weights_as_on_threads(four):
    threads = thread_learner(4)
    for games in (200, 130, 3, 267):
        assert four.learn(games) == threads.learn(games)
    assert same(four.state(), threads.state())
    assert np.count_nonzero(four.theta)


def test_one_worker_gives_the_weights_of_one_thread(single):
    thread = thread_learner(1)
    assert single.learn(170) == thread.learn(170)
    assert same(single.state(), thread.state())


def test_states_go_over_to_threads_and_back(four):
    expected, threads = thread_learner(4), thread_learner(4)
    expected.learn(600)
    threads.learn(200)
    four.restore(threads.state())
    four.learn(200)
    threads.restore(four.state())
    threads.learn(200)
    assert same(threads.state(), expected.state())


def test_playing_changes_no_weights(four):
    four.learn(200)
    before, threads = four.theta.copy(), thread_learner(4)
    threads.learn(200)
    assert four.play(20) == threads.play(20)
    assert (four.theta == before).all()


def test_another_rlgo(nodes, monkeypatch):
    ours = ray_cluster.fingerprint()
    monkeypatch.setattr(ray_cluster, "fingerprint", lambda: "rlgo 9.9")
    with pytest.raises(RlgoError, match=r" has rlgo .*: expected rlgo 9\.9, as here") as caught:
        ray_learner(nodes, 1)
    assert ours in str(caught.value)


def test_more_workers_than_cpus_take_turns(nodes):
    learner, threads = ray_learner(nodes, 7), thread_learner(7)
    assert learner.learn(140) == threads.learn(140)
    assert same(learner.state(), threads.state())
    learner.close()


# ---------------------------------------------------------------------------------------------
# Processes that die
# ---------------------------------------------------------------------------------------------


def killing(monkeypatch, at: int) -> None:
    """kill -9 of all processes that learn, once, in the round that starts at this many games."""
    submit, left = Cluster.submit, [at]

    def submit_and_kill(self, function, *arguments):
        call = submit(self, function, *arguments)
        if function.endswith(":learn") and [arguments[-1]] == left:
            left.clear()
            while not (victims := processes_of("ray::run_task")):
                time.sleep(0.01)
            for victim in victims:
                # Stopped, so that it has its games when it dies, but cannot have finished them.
                os.kill(victim, signal.SIGSTOP)
                threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        return call

    monkeypatch.setattr(Cluster, "submit", submit_and_kill)


def test_games_of_a_process_that_dies_are_played_again(four, monkeypatch):
    threads = thread_learner(4)
    killing(monkeypatch, at=200)
    assert four.learn(40_000) == threads.learn(40_000)
    assert same(four.state(), threads.state())


def test_a_cluster_that_does_not_answer(four, monkeypatch):
    monkeypatch.setattr(four.pool, "timeout", 0.01)
    with pytest.raises(RlgoError, match=r"[1-4] of 4 workers did not answer within 0\.01 s \(run\.cluster_timeout\)"):
        four.pool.learn(1_000_000, 0)


def test_a_run_in_which_processes_die(nodes, tmp_path, monkeypatch):
    run = {"workers": 2, "merge_every": 50, "log_every": 100, "eval_every": 0, "games": 600}
    config = tiny(tmp_path, run={**run, "cluster": nodes.address})
    killing(monkeypatch, at=200)
    interrupt(monkeypatch, at=400)
    with pytest.raises(KeyboardInterrupt):
        train(config, progress=False)
    result = resume(tmp_path / "tiny", progress=False)
    undisturbed = train(tiny(tmp_path / "threads", run=run), progress=False)
    assert (result.weights.theta == undisturbed.weights.theta).all()
    assert [p["games"] for p in metrics(result.folder)] == [p["games"] for p in metrics(undisturbed.folder)]


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def rlgo_train(tmp_path: Path, address: str, **environment: str) -> Iterator[subprocess.Popen]:
    """The command, which nobody outlives: neither it nor a process that it started."""
    path = tmp_path / "config.toml"
    path.write_text(to_toml(tiny(tmp_path, run={"cluster": address, "games": 10**9, "eval_every": 0})))
    with subprocess.Popen(
        [sys.executable, "-m", "rlgo", "train", str(path)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_the_wrong_token(nodes, tmp_path):
    with rlgo_train(tmp_path, nodes.address, RAY_AUTH_TOKEN="open barley") as process:
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 2
    assert "connection refused: expected a port of Ray's, and RAY_AUTH_MODE=token with the" in lines[1]
    assert not (tmp_path / "tiny").exists()


def test_ctrl_c(nodes, tmp_path):
    with rlgo_train(tmp_path, nodes.address) as process:
        assert process.stderr is not None
        timer = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "run folder" in line:
                os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate()
        timer.cancel()
    assert process.returncode == 130
    assert out == ""
    err = "".join(lines)
    assert "Traceback" not in err
    assert lines[-1].startswith("resume with: ")


# ---------------------------------------------------------------------------------------------
# Last, since it takes half of the cluster away
# ---------------------------------------------------------------------------------------------


def test_a_node_goes_down(four, nodes):
    """The workers share the CPUs that are left."""
    threads = thread_learner(4)
    assert four.learn(200) == threads.learn(200)
    nodes.remove_node(next(iter(nodes.worker_nodes)))
    assert four.learn(400) == threads.learn(400)
    assert same(four.state(), threads.state())
