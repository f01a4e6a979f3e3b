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
from unittest.mock import patch

import numpy as np
import pytest
from tiny_runs import interrupt, metrics, tiny

from rlgo.base.errors import RlgoError
from rlgo.base.settings import Learning, Policy
from rlgo.compiler.jit import make_rng
from rlgo.features.shapes import make_features
from rlgo.learning.learner import Learner, LearnWorker, merged
from train import ray_cluster
from train.arena import pool as arena_pool
from train.arena.match import play_match
from train.arena.pool import GameTask, GameWorker, RayPool
from train.arena.referee import GameRules
from train.config import to_toml
from train.ray_cluster import connect
from train.runs import workers as cluster
from train.runs.run import resume, train
from train.runs.workers import RayLearner, RayWorkers

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
        ray, _ = connect(started.address, 4, FEATURES.n_weights)
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
    until_all_work(learner.pool)
    learner.restore(state)
    return learner


@pytest.fixture(scope="module")
def single(nodes) -> Iterator[RayLearner]:
    learner = ray_learner(nodes, 1)
    yield learner
    learner.close()


def pid(learner: Learner, number: int) -> int:
    return learner.pool.slots[number - 1].who.pid


def until_all_work(workers: RayWorkers) -> None:
    """Wait until the place of every worker who died is taken."""
    end = time.monotonic() + SECONDS
    while not all(slot.is_ready for slot in workers.slots):
        assert time.monotonic() < end
        workers.ready()
        time.sleep(0.1)


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    assert {*a} - {"replaced"} == {*b} - {"replaced"}  # which only a cluster counts
    return all(np.array_equal(a[name], b[name]) for name in {*a} & {*b})


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
        connect("auto", 1)


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


def test_actors_of_a_match_that_die_are_replaced(nodes, monkeypatch, capsys):
    pool = RayPool(nodes.address, 2)
    tasks = [GameTask(n, "random", "random", (), 1, GameRules(5, 2.5, 75)) for n in range(1, 13)]
    start, killed = pool.start, []

    def start_and_kill(place, task):
        if task.number != 4 or killed:
            return start(place, task)
        killed.append(place)
        endless = dataclasses.replace(task, black="open_spiel,sims=1000000000")
        handle = start(place, endless)  # it cannot be over before the actor dies
        pool._ray.kill(pool.actors[place])
        return handle

    monkeypatch.setattr(pool, "start", start_and_kill)
    records = {task.number: record.moves for task, record in pool.run(tasks)}
    with pytest.raises(RlgoError, match="unknown player nobody"):
        list(pool.run([dataclasses.replace(tasks[0], black="nobody")]))
    pool.close()
    assert killed
    assert sorted(records) == list(range(1, 13))
    assert capsys.readouterr().err.count("game 4: its process died; playing the game again") == 1
    own = GameWorker()
    assert {task.number: own.play(task).moves for task in tasks} == records


@contextlib.contextmanager
def ray_pool(nodes: Any, n: int | None = None, free: int | None = None) -> Iterator[RayPool]:
    """A pool of n places, or of one for each free CPU, of which Ray says that there are so many."""
    import ray

    before = ray.available_resources().get("CPU", 0)
    with patch.object(ray, "available_resources", lambda: {"CPU": free or before}):
        pool = RayPool(nodes.address, n)
    try:
        yield pool
    finally:
        pool.close()
        while ray.available_resources().get("CPU", 0) < before:
            time.sleep(0.1)  # until Ray has taken the CPUs back, which other tests want


def play_random_games(pool: RayPool, n: int) -> Iterator[int]:
    """Play n games, and yield their numbers."""
    tasks = [GameTask(number, "random", "random", (), 1, GameRules(5, 2.5, 75)) for number in range(1, n + 1)]
    for task, _ in pool.run(tasks):
        yield task.number


def nowhere(pool: RayPool) -> Any:
    """A kind of actors for which no machine has room."""
    return pool._ray.remote(arena_pool._Actor).options(resources={"nowhere": 1.0})


def test_actors_that_die_before_the_first_game_are_replaced(nodes, monkeypatch):
    readiness, left = RayPool.readiness, [0]

    def kill_first(self, place):
        handle = readiness(self, place)
        if place in left:
            left.clear()
            self._ray.kill(self.actors[place])
        return handle

    monkeypatch.setattr(RayPool, "readiness", kill_first)
    with ray_pool(nodes, 2) as pool:
        assert sorted(play_random_games(pool, 2)) == [1, 2]
    assert not left


def test_cpus_of_a_machine_that_has_just_died(nodes):
    """Ray still counts them, but no process will start there."""
    with ray_pool(nodes, free=9) as pool:
        assert pool.places == 9
        assert sorted(play_random_games(pool, 30)) == list(range(1, 31))


def test_others_play_the_game_of_an_actor_that_cannot_be_replaced(nodes):
    numbers = []
    with ray_pool(nodes, 2) as pool:
        for number in play_random_games(pool, 12):
            numbers.append(number)
            if len(numbers) == 3:
                pool._kind = nowhere(pool)
                pool._ray.kill(pool.actors[0])
    assert sorted(numbers) == list(range(1, 13))


def test_a_cluster_where_no_process_starts(nodes, monkeypatch, capsys):
    monkeypatch.setattr(arena_pool, "_START_SECONDS", 2.0)
    monkeypatch.setattr(arena_pool, "_NOTICE_SECONDS", 0.5)
    with ray_pool(nodes, 2) as pool:
        pool._kind = nowhere(pool)
        for place in range(2):
            pool._ray.kill(pool.actors[place])
            pool.replace(place)
        with pytest.raises(
            RlgoError, match=r"^--cluster [\d.:]+: no process could start for 2 s: are its CPUs free\?$"
        ):
            list(play_random_games(pool, 2))
    assert "waiting for a free CPU" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# Workers on a cluster, and on threads
# ---------------------------------------------------------------------------------------------


def test_the_same_weights_as_on_threads(four):
    threads = thread_learner(4)
    for games in (200, 130, 3, 267):
        assert four.learn(games) == threads.learn(games)
    assert same(four.state(), threads.state())
    assert np.count_nonzero(four.theta)
    assert (four.games, four.lost) == (600, 0)


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


def test_more_workers_than_cpus(nodes, monkeypatch):
    monkeypatch.setattr(cluster, "JOIN_SECONDS", 1.0)
    with pytest.raises(RlgoError, match=r"\d of 7 workers \(run\.workers\) found no CPU within 1 s: the cluster has 6"):
        ray_learner(nodes, 7)


# ---------------------------------------------------------------------------------------------
# Workers who die
# ---------------------------------------------------------------------------------------------


def messages_of(learner: Learner) -> list[str]:
    """What the workers log from now on."""
    lines: list[str] = []
    learner.pool.log = lines.append
    return lines


def killing(monkeypatch, at: int) -> None:
    """kill -9 of the second worker, once, in the round that starts at this many games."""
    learn, left = RayWorkers.learn, [at]

    def learn_and_kill(self, games, first):
        if [first] == left:
            left.clear()
            victim = self.slots[1].who.pid
            # Stopped, so that it has its games when it dies, but cannot have finished them.
            os.kill(victim, signal.SIGSTOP)
            threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        return learn(self, games, first)

    monkeypatch.setattr(RayWorkers, "learn", learn_and_kill)


def test_a_death_costs_the_games_of_one_round(four, monkeypatch):
    lines, seeds = messages_of(four), np.random.SeedSequence(7).spawn(4)
    killing(monkeypatch, at=0)
    tally = four.pool.learn(200, 0)
    assert tally.games + tally.discarded == 150
    assert "its 50 games are lost; another takes its place" in lines[0]
    # What the others learned counts as if there were only three; and the new worker has numbers of its own.
    others = [LearnWorker(*TERMS, 0, seeds[i]) for i in (0, 2, 3)]
    for worker, first in zip(others, (0, 100, 150), strict=True):
        worker.learn(50, first)
    assert (four.theta == merged(np.zeros_like(four.theta), [worker.theta for worker in others])).all()
    assert (four.pool.occurrences() == sum(worker.occurrences for worker in others)).all()
    state = four.pool.state()
    assert state["replaced"].tolist() == [0, 1, 0, 0]
    assert state["rng"][1] == make_rng(seeds[1].spawn(1)[0])
    until_all_work(four.pool)
    assert "is working" in lines[1]
    tally = four.pool.learn(200, 200)
    assert tally.games + tally.discarded == 200


def test_who_does_not_answer_is_replaced(four, monkeypatch):
    lines, victim = messages_of(four), pid(four, 3)
    os.kill(victim, signal.SIGSTOP)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(four.pool, "timeout", 10.0)  # which the others must not take, on any machine
            tally = four.pool.learn(200, 0)
        assert tally.games + tally.discarded == 150
        assert f"worker 3 (process {victim} on " in lines[0]
        assert ") did not answer for 10 s (run.cluster_timeout); its 50 games are lost" in lines[0]
    finally:
        os.kill(victim, signal.SIGKILL)


def test_a_place_where_everyone_dies(single, monkeypatch):
    monkeypatch.setattr(cluster, "MAX_DEATHS", 1)
    os.kill(pid(single, 1), signal.SIGKILL)
    with pytest.raises(RlgoError, match=r"worker 1 .* died; its 40 games are lost; that makes 1 in a row"):
        single.pool.learn(40, 0)


def test_who_dies_before_its_first_game_is_replaced(nodes, monkeypatch):
    start, left = RayWorkers._start, [1]

    def start_and_kill(self, slot):
        start(self, slot)
        if slot.number in left:
            left.clear()
            self._ray.kill(slot.actor)

    monkeypatch.setattr(RayWorkers, "_start", start_and_kill)
    learner = ray_learner(nodes, 1)
    assert [slot.replaced for slot in learner.pool.slots] == [1]
    assert learner.learn(20).games == 20
    learner.close()


def test_a_run_in_which_a_worker_dies(nodes, tmp_path, monkeypatch):
    run = {"workers": 2, "merge_every": 50, "log_every": 100, "eval_every": 0, "games": 600, "cluster": nodes.address}
    config = tiny(tmp_path, run=run)
    killing(monkeypatch, at=200)
    interrupt(monkeypatch, at=400)
    monkeypatch.setattr("train.runs.run.SAVE_SECONDS", 0.0)  # or the interrupted run may go back to before the death
    with pytest.raises(KeyboardInterrupt):
        train(config, progress=False)
    result = resume(tmp_path / "tiny", progress=False)
    assert result.weights.games == 600
    assert json.loads((result.folder / "run.json").read_text("utf-8"))["lost"] == 50
    points = [p for p in metrics(result.folder) if "cluster/lost_games" in p]
    assert [p["games"] for p in points] == [100, 200, 300, 400, 500, 600]
    assert [p["cluster/lost_games"] for p in points] == [0, 0, 50, 50, 50, 50]
    log = (result.folder / "log.txt").read_text("utf-8")
    assert log.count("died; its 50 games are lost; another takes its place") == 1
    assert "600 games in" in log
    assert ", and 50 lost with workers that died" in log


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
    lines = messages_of(four)
    nodes.remove_node(next(iter(nodes.worker_nodes)))
    tally = four.pool.learn(200, 0)
    # With three CPUs on either node, neither had all four.
    assert lines
    assert all(") went down with its machine; its 50 games are lost" in line for line in lines)
    assert tally.games + tally.discarded == 200 - 50 * len(lines) > 0
    # The others go on, and with them as many new ones as there are CPUs.
    tally = four.pool.learn(200, 100)
    assert tally.games + tally.discarded == 200
