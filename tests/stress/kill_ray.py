"""`kill -9` of workers, nodes and the driver of a Ray cluster, in a training run, a tournament, and network rounds."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import ROOT, Outcome, StressTest, main
from kills import Broken, processes_of

from rlgo.features.weights import load_weights
from rlgo.learning.collection import read_collection
from rlgo.network.conv_network import load_network
from train.runs.folder import RunFolder

GAMES = 60_000
RUN = f"""
[run]
name = "tiny"
games = {GAMES}
workers = 3
merge_every = 500
log_every = 3_000
eval_every = 0
eval_games = 2
[board]
size = 5
komi = 0.5
[features]
sizes = [1, 2]
"""
TOURNAMENT = """
[tournament]
name = "small"
kind = "swiss"
size = 5
games = 60
sgf = true
[players]
one = "random"
two = "mc_rave,sims=50"
three = "mc_rave,sims=100"
four = "mc_rave,sims=150"
"""
ROUNDS = [
    "network", "rounds", "mc_rave,sims=20,memory_mb=1", "--matched", "mc_rave,sims=10,memory_mb=1", "--size", "5",
    "--games", "150", "--opening-plies", "2", "--blocks", "1", "--channels", "8", "--steps", "100",
    "--rounds", "2", "--match-games", "4", "--json", "rounds.json",
]  # fmt: skip
_NODE = {"num_cpus": 2, "object_store_memory": 80 * 2**20, "include_dashboard": False}
_GAVE_UP = re.compile(r"rlgo: error: .*died [34] times.*\n\Z")
_PATIENCE = 600  # seconds for what takes a few on a machine that has nothing else to do


def trials(draw: random.Random) -> Iterator[Outcome]:
    """Train and play in turn, on a cluster of two nodes besides the one of its head."""
    with tempfile.TemporaryDirectory() as place:
        token = Path(place, "token")
        token.write_text("open sesame " * 4)
        os.environ |= {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_worker_register_timeout_seconds": str(_PATIENCE),
            "PYTHONPATH": str(ROOT),
        }
        from ray.cluster_utils import Cluster  # reads those variables

        cluster = Cluster(initialize_head=True, head_node_args={**_NODE, "num_cpus": 0})
        nodes = [cluster.add_node(**_NODE) for _ in range(2)]
        try:
            while True:
                for name, trial in (("training", _Training), ("tournament", _Tournament), ("rounds", _Rounds)):
                    home = Path(tempfile.mkdtemp(dir=place))
                    outcomes: list[Outcome] = []  # which count once the last check has been made
                    try:
                        outcomes.extend(trial(home, cluster.address).run(draw, cluster, nodes))
                    except Broken as broken:
                        outcomes.append(Outcome(name, f"{name}: {broken}"))
                    yield from outcomes
        finally:
            cluster.shutdown()


class _Trial:
    """A command whose driver, workers and nodes are killed until it ends."""

    name = ""
    worker = ""  # the name of its tasks

    def __init__(self, home: Path, address: str) -> None:
        self.home, self.address = home, address

    def command(self) -> list[str]:
        """Return the command that starts, or goes on; []: all is done."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise Broken unless everything is accounted for."""
        raise NotImplementedError

    def run(self, draw: random.Random, cluster: Any, nodes: list[Any]) -> Iterator[Outcome]:
        """Run the command to its end, and yield each kill."""
        most = 12
        while argv := self.command():
            with (self.home / "printed").open("a") as printed:
                process = subprocess.Popen(
                    [sys.executable, "-m", "rlgo", *argv], cwd=self.home, stdout=printed, stderr=printed
                )
            begun = time.monotonic()
            while process.poll() is None:
                if time.monotonic() > begun + _PATIENCE:
                    process.kill()
                    raise Broken(f"no end after {_PATIENCE} s: {self.tail()}")
                time.sleep(draw.uniform(0.5, 4))
                what = draw.choice(("worker", "worker", "worker", "node", "driver"))
                if most and self.is_at_work() and process.poll() is None and self.kill(what, process, cluster, nodes):
                    most -= 1
                    yield Outcome(f"{self.name}: {what}")
            if process.returncode == 2 and _GAVE_UP.search(self.tail()):  # after three kills in a row
                yield Outcome(f"{self.name}: gave up, then went on", n=0)
            elif process.returncode not in (0, -signal.SIGKILL):
                raise Broken(f"status {process.returncode}: {self.tail()}")
        self.check()

    def is_at_work(self) -> bool:
        """Whether the command has begun its work."""
        raise NotImplementedError

    def kill(self, what: str, process: subprocess.Popen[bytes], cluster: Any, nodes: list[Any]) -> bool:
        """Kill something; return whether it was there."""
        if what == "driver":
            process.kill()
            process.wait()
        elif what == "node":
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
            nodes.append(cluster.add_node(**_NODE))
        else:
            workers = processes_of(f"ray::{self.worker}")
            if not workers:
                return False
            with contextlib.suppress(ProcessLookupError):
                os.kill(workers[0], signal.SIGKILL)
        return True

    def tail(self) -> str:
        """Return the last of what was printed."""
        return (self.home / "printed").read_text("utf-8")[-800:]


class _Training(_Trial):
    name, worker = "training", "_learn"

    def command(self) -> list[str]:
        folder = RunFolder(self.home / "tiny")
        if not folder.exists():
            (self.home / "tiny.toml").write_text(RUN, "utf-8")
            sets = ["--set", f"run.cluster={self.address}", f"run.cluster_timeout={_PATIENCE}"]
            return ["train", "tiny.toml", "--out", ".", *sets]
        return [] if folder.load()[1]["finished"] else ["train", "--resume", "tiny"]

    def is_at_work(self) -> bool:
        return (self.home / "tiny" / "metrics.jsonl").exists()

    def check(self) -> None:
        folder = RunFolder(self.home / "tiny")
        state, done = folder.load()
        if (done["games"], int(state["games"]), load_weights(folder.weights).games) != (GAMES, GAMES, GAMES):
            raise Broken(f"{done['games']} games in the log, {int(state['games'])} in the state")
        points = [json.loads(line) for line in folder.metrics.read_text("utf-8").splitlines()]
        games = [point["games"] for point in points if "learning/alpha" in point]
        if games != sorted(set(games)):
            raise Broken(f"the logs jump: {games}")


class _Tournament(_Trial):
    name, worker = "tournament", "_play"

    def command(self) -> list[str]:
        (self.home / "small.toml").write_text(
            TOURNAMENT.replace("[players]", f'cluster = "{self.address}"\n[players]'), "utf-8"
        )
        return (
            []
            if (self.home / "out" / "small" / "ratings.json").exists()
            else ["tournament", "small.toml", "--out", "out"]
        )

    def is_at_work(self) -> bool:
        path = self.home / "out" / "small" / "results.jsonl"
        return path.exists() and path.read_bytes().count(b"\n") > 1

    def check(self) -> None:
        path = self.home / "out" / "small" / "results.jsonl"
        numbers = sorted(json.loads(line)["game"] for line in path.read_text("utf-8").splitlines()[1:])
        if numbers != list(range(1, 121)):
            raise Broken(f"games {numbers}")
        if len(list((path.parent / "sgf").glob("*.sgf"))) != 120:
            raise Broken("records are missing")


class _Rounds(_Trial):
    """Rounds of games and learning: they must leave what the same rounds leave on this machine, undisturbed."""

    name, worker = "rounds", "_play"

    def command(self) -> list[str]:
        done = (self.home / "rounds.json").exists()
        return [] if done else [*ROUNDS, "--out", "out", "--cluster", self.address]

    def is_at_work(self) -> bool:
        return (self.home / "out" / "round-1" / "games").exists()

    def check(self) -> None:
        found = left(self.home / "out")
        differing = [name for name, expected in undisturbed().items() if found.get(name) != expected]
        if differing:
            raise Broken(f"other {', '.join(differing)}")


@functools.cache
def undisturbed() -> dict[str, Any]:
    """Return what rounds leave that are played on one core of this machine."""
    with tempfile.TemporaryDirectory() as home:
        subprocess.run([sys.executable, "-m", "rlgo", *ROUNDS, "--out", "out"], cwd=home, check=True)
        return left(Path(home, "out"))


def left(out: Path) -> dict[str, Any]:
    """Return the games, the network and the match at equal simulations of each round."""
    found: dict[str, Any] = {}
    for here in sorted(out.glob("round-*")):
        games = read_collection([here / "games"])
        arrays = {name: values.tolist() for name, values in games.arrays.items()}
        # Not the digest of the network's file, which has the command that learned it.
        found[f"games of {here.name}"] = [recipe["player"] for recipe in games.recipes], str(arrays)
        found[f"network of {here.name}"] = [
            array.tobytes() for array in load_network(str(here / "network/network.npz")).parameters
        ]
        lines = (here / "sims.jsonl").read_text("utf-8").splitlines()[1:]
        found[f"match of {here.name}"] = [(game["game"], game["moves"]) for game in map(json.loads, lines)]
    return found


STRESS_TEST = StressTest(
    "kill_ray",
    "kill -9 of workers, nodes and the driver of a Ray cluster, in training, tournaments and network rounds",
    "it carries on, or can be resumed; every game and merge accounted for, networks as without kills",
    unit="kills",
    count=100,
    trials=trials,
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
