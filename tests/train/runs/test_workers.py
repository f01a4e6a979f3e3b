"""Training on a Ray cluster: a real one, of two nodes on this machine, with token authentication."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from stand_ins import write_engine
from tiny_runs import interrupt, tiny

from rlgo.base.errors import RlgoError
from rlgo.base.settings import Learning, Policy
from rlgo.features.shapes import make_features
from rlgo.learning.learner import Learner
from rlgo.learning.optimisers import find_rule
from train import ray_cluster
from train.arena.match import play_match
from train.arena.pool import GameTask, GameWorker, RayPool
from train.arena.referee import GameRules
from train.config import to_toml
from train.ray_cluster import connect
from train.runs import workers as cluster
from train.runs.run import resume
from train.runs.run import run as train
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
    learner.restore(state)
    return learner


@pytest.fixture(scope="module")
def single(nodes) -> Iterator[RayLearner]:
    learner = ray_learner(nodes, 1)
    yield learner
    learner.close()


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


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


def test_ray_does_not_take_sigterm() -> None:
    import ray

    before = signal.getsignal(signal.SIGTERM)
    with ray_cluster._own_sigterm(ray):
        ray._private.utils.set_sigterm_handler(lambda *_: sys.exit(15))
        assert signal.getsignal(signal.SIGTERM) is before


def test_a_process_of_the_cluster_that_is_gone(monkeypatch) -> None:
    import ray

    node = SimpleNamespace(dead_processes=lambda: [("gcs_server", None)])
    monkeypatch.setattr(ray._private.worker, "_global_node", None)
    ray_cluster.check_alive(ray, "--cluster local")
    monkeypatch.setattr(ray._private.worker, "_global_node", node)
    with pytest.raises(RlgoError, match=r"^--cluster local: Ray's process gcs_server is gone: expected it to run"):
        ray_cluster.check_alive(ray, "--cluster local")


def test_a_token_is_made_where_none_can_be_kept(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "to be restored")
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setenv("HOME", str(tmp_path))
    ray_cluster._ensure_token()
    assert "RAY_AUTH_TOKEN" not in os.environ  # Ray keeps it at home
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    ray_cluster._ensure_token()
    assert len(os.environ["RAY_AUTH_TOKEN"]) == 64


def test_under_uv_and_without_a_home(tmp_path: Path) -> None:
    """As `uv run` starts it, which makes Ray prepare an environment for each process, and never get ready."""
    command = f"{sys.executable} -m rlgo match random random --games 2 --size 5 --komi 0.5 --cluster local"
    (tmp_path / "run").write_text(f"{command}\nexit $?\n")
    environment = {
        **os.environ,
        "HOME": str(tmp_path / "run"),
        "PYTHONPATH": str(Path(ray_cluster.__file__).parents[1]),
    }
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        environment.pop(name, None)
    done = subprocess.run(
        ["bash", "-c", "exec -a uv bash run"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "random against random, 5x5, komi 0.5"), done.stderr


def test_too_little_memory_for_a_worker(tmp_path):
    """Ray ends it, and would try again for ever."""
    memory = {"RAY_memory_usage_threshold": "0.001", "RAY_memory_monitor_refresh_ms": "100"}
    with rlgo_train(tmp_path, "local", **memory) as process:
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert re.search(r'error: run.cluster = "local": a worker died 4 times: .*low on memory', err.splitlines()[-1]), err


def test_a_match_on_a_cluster(nodes, tmp_path):
    """The same games, wherever they are played; and each of them once, though an actor dies."""
    arguments: dict[str, Any] = {"size": 5, "komi": 2.5, "seed": 3, "progress": False}
    path = tmp_path / "results.jsonl"
    result = play_match("random", "open_spiel,sims=4", 8, cluster=nodes.address, jobs=2, results=path, **arguments)
    assert result == play_match("random", "open_spiel,sims=4", 8, **arguments)
    assert sorted(json.loads(line)["game"] for line in path.read_text().splitlines()[1:]) == list(range(1, 9))
    with contextlib.closing(RayPool(nodes.address, 2)) as pool, pytest.raises(RlgoError, match="unknown player nobody"):
        list(pool.run([GameTask(1, "nobody", "random", (), 1, GameRules(5, 2.5, 75))]))


def test_a_game_whose_process_dies_is_played_again(nodes, tmp_path, monkeypatch, capsys):
    dying = tmp_path / "dying.py"
    dying.write_text(
        "import os, rlgo\nclass Dying(rlgo.Player):\n    def genmove(self, game):\n        os.kill(os.getpid(), 9)\n"
    )
    tasks = [GameTask(n, "random", "random", (), 1, GameRules(5, 2.5, 75)) for n in range(1, 13)]
    own = GameWorker()
    with contextlib.closing(RayPool(nodes.address, 2)) as pool:
        start, killed = pool.start, []

        def start_and_kill(place, task):
            if task.number != 4 or killed:
                return start(place, task)
            killed.append(place)
            return start(place, dataclasses.replace(task, black=f"{dying}:Dying"))

        monkeypatch.setattr(pool, "start", start_and_kill)
        assert {task.number: record.moves for task, record in pool.run(tasks)} == {
            task.number: own.play(task).moves for task in tasks
        }
    assert killed
    assert capsys.readouterr().err.count("game 4: its process died; playing the game again") == 1


def test_games_end_with_their_pool(nodes, tmp_path):
    """And their engines, on a cluster that stays."""
    task = GameTask(1, write_engine(tmp_path) + "C3", "mc_rave,sims=1e9", (), 1, GameRules(5, 2.5, 75))  # endless
    log = tmp_path / "log"
    with contextlib.closing(RayPool(nodes.address, 1)) as pool:
        game = pool.start(0, task)
        while not log.exists() or "genmove" not in log.read_text():
            assert not pool.wait([game])
        time.sleep(0.5)  # now the other side thinks
    begun = time.monotonic()
    with pytest.raises(pool._ray.exceptions.TaskCancelledError):
        pool._ray.get(game, timeout=SECONDS)
    while not log.read_text().endswith("quit\n"):
        assert time.monotonic() - begun < SECONDS


# ---------------------------------------------------------------------------------------------
# Workers on a cluster, and on threads
# ---------------------------------------------------------------------------------------------


def test_the_same_weights_as_on_threads(four):
    threads = thread_learner(4)
    for games in (200, 130, 3, 267):
        assert four.learn(games) == threads.learn(games)
    assert same(four.state(), threads.state())
    assert np.count_nonzero(four.theta)
    assert four.games == 600


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
    monkeypatch.setattr(cluster, "fingerprint", lambda: "rlgo 9.9")
    with pytest.raises(RlgoError, match=r" has rlgo .*: expected rlgo 9\.9, as here") as caught:
        ray_learner(nodes, 1)
    assert ours in str(caught.value)


def test_more_workers_than_cpus_wait_for_each_other(nodes, capsys):
    with contextlib.closing(ray_learner(nodes, 7)) as learner:
        assert "starting 7 workers" in capsys.readouterr().err
        threads = thread_learner(7)
        assert learner.learn(350) == threads.learn(350)
        assert same(learner.state(), threads.state())


# ---------------------------------------------------------------------------------------------
# Workers who die
# ---------------------------------------------------------------------------------------------


def kill_one_at_work(nodes) -> threading.Thread:
    """Kill -9 of a process as soon as one is learning; Ray names each after its task."""
    raylets = [info.process.pid for node in nodes.list_all_nodes() for info in node.all_processes["raylet"]]
    pgrep = ["pgrep", "-P", ",".join(map(str, raylets)), "-f", "^ray::_learn"]

    def kill() -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if found := subprocess.run(pgrep, capture_output=True, text=True).stdout.split():
                os.kill(int(found[0]), signal.SIGKILL)
                return

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_a_death_changes_nothing(four, nodes):
    """The games of the worker are played again, with the same random numbers."""
    threads = thread_learner(4)
    killer = kill_one_at_work(nodes)
    assert four.learn(20_000) == threads.learn(20_000)
    killer.join()
    assert same(four.state(), threads.state())


def test_a_learning_rule_may_be_an_object(nodes):
    """As well as a name, which tasks can be told apart by."""
    arguments = {"seed": 7, "workers": 2, "merge_every": 50, "optimiser": find_rule("idbd")}
    threads, tasks = Learner(*TERMS, **arguments), RayLearner(*TERMS, cluster=nodes.address, **arguments)
    try:
        for _ in range(2):
            assert tasks.learn(100) == threads.learn(100)
        assert same(tasks.state(), threads.state())
    finally:
        tasks.close()


def test_who_does_not_answer_ends_the_round(four, monkeypatch):
    monkeypatch.setattr(four.pool, "_timeout", 0.1)
    with pytest.raises(RlgoError, match=r"[1-4] of 4 workers did not answer within 0.1 s \(run.cluster_timeout\)"):
        four.pool.learn(10**9, 0)
    begun = time.monotonic()
    while len(set(four.pool._cpus())) > 1:  # until all CPUs are free again
        assert time.monotonic() - begun < 60


def test_a_worker_that_always_dies(single, monkeypatch):
    def dies(*_: Any) -> None:
        os._exit(1)

    monkeypatch.setattr(single.pool, "_task", single.pool._ray.remote(dies).options(num_cpus=1, max_retries=1))
    with pytest.raises(RlgoError, match=r'^run.cluster = "[0-9.:]+": a worker died 4 times: '):
        single.pool.learn(40, 0)


def test_a_run_in_which_a_worker_dies(nodes, tmp_path, monkeypatch):
    """And which is interrupted: its weights are those of a run on threads."""
    run = {"workers": 2, "merge_every": 50, "log_every": 100, "eval_every": 0, "games": 6_000}
    (tmp_path / "threads").mkdir()
    expected = train(tiny(tmp_path / "threads", run=run), progress=False).weights
    config = tiny(tmp_path, run={**run, "cluster": nodes.address})
    interrupt(monkeypatch, at=400)
    killer = kill_one_at_work(nodes)
    with pytest.raises(KeyboardInterrupt):
        train(config, progress=False)
    killer.join()
    result = resume(tmp_path / "tiny", progress=False)
    assert result.weights.games == 6_000
    assert result.weights.theta.tobytes() == expected.theta.tobytes()
    assert "6,000 games in" in (result.folder / "log.txt").read_text("utf-8")


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
    threads = thread_learner(4)
    node = threading.Timer(1.0, nodes.remove_node, (next(iter(nodes.worker_nodes)),))
    node.start()
    assert four.learn(20_000) == threads.learn(20_000)
    node.join()
    assert same(four.state(), threads.state())
