"""Files of small experiments, on 5x5, and raw results made by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from train.experiments.declaration.experiment import GNUGO_0, Experiment
from train.experiments.declaration.reading import read_experiment
from train.experiments.results.files import RawResults, pair_line, run_point
from train.experiments.running.curves import pairings
from train.experiments.running.training import Point

PNG = b"\x89PNG\r\n\x1a\n"

BASE = """
[run]
games = 250
log_every = 100
eval_every = 0
eval_games = 2
[board]
size = 5
komi = 0.5
[features]
sizes = [1, 2]
"""
CURVES = """
[experiment]
base = "BASE"
seeds = 2
games = 4
[runs.b]
learning.alpha = 0.02
[runs.a]
[runs.wild]
seeds = [3]
learning = {alpha = 1000.0, value = "linear"}
"""
GAMES = """
[experiment]
kind = "games"
pairing = "round_robin"
games = 4
size = 5
komi = 0.5
[players]
chance = "random"
[[series]]
label = "greedy"
player = "greedy,weights=nosuch.npz,epsilon={x}"
x = [0, 0.5]
"""

RIVALS = """
[experiment]
kind = "games"
pairing = "gauntlet"
games = 2
komi = 0.5
[[series]]
label = "left"
player = "random,seed={x}"
x = [5, 7]
against = "right"
size = "{x}"
[[series]]
label = "right"
player = "random"
x = [7, 5, 6]
size = "{x}"
"""
CLAIM = '[[claims]]\ntext = "so"\na = "b"\nlow = 0\n'


def write(folder: Path, text: str, name: str = "tiny") -> Path:
    """An experiment's file, its base next to it."""
    (folder / "base.toml").write_text(BASE, "utf-8")
    path = folder / f"{name}.toml"
    path.write_text(text.replace("BASE", str(folder / "base.toml")), "utf-8")
    return path


def ages(games: int) -> list[int]:
    """The numbers of games after which weights are saved."""
    return [f * 10**k for k in range(2, 10) for f in (1, 2, 5) if f * 10**k <= games]


def on_the_same_runs(ran, folder: Path, text: str, name: str = "tiny") -> Experiment:
    """Another experiment in this folder, on a copy of the runs of the fixture `ran`."""
    source, *_ = ran
    shutil.copytree(source / "out", folder / "out", dirs_exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text.replace("BASE", str(source / "base.toml")), "utf-8")
    return read_experiment(path, out=folder / "out")


# ---------------------------------------------------------------------------------------------
# Results made by hand
# ---------------------------------------------------------------------------------------------


def header(name: str, kind: str, **more) -> dict:
    """The first line of a file of raw results."""
    return {
        "experiment": name, "kind": kind, "scale": 1.0, "command": f"rlgo experiment run {name}",
        "finished": "2026-11-22", "machine": "2 x Some Processor", "seconds": 90.0, "seed": 1,
        "versions": {"rlgo": "0.1.0"}, **more,
    }  # fmt: skip


def run_line(label: str, seed: int, ages: list[int], state: str = "finished", reference: bool = False) -> dict:
    return {
        "run": label, "seed": seed, "base": "paper", "changed": {}, "reference": reference, "state": state,
        "games": max(ages, default=0), "checkpoints": ages, "crc32": "01234567",
    }  # fmt: skip


def score(rng: np.random.Generator, difference: float, openings: int) -> list[tuple[float, float]]:
    """Games between players this many Elo apart."""
    p = 1 / (1 + 10 ** (-difference / 400))
    return [tuple(map(float, rng.random(2) < p)) for _ in range(openings)]


def curves_of(e: Experiment, ages: tuple[int, ...] = (100, 200, 1000), openings: int = 10) -> RawResults:
    """Results of an experiment whose runs learn 150 Elo with every checkpoint, those of later labels a little more."""
    rng, runs, points, elo = np.random.default_rng(3), [], [Point("random", -1, 0, None)], {"random": 0.0}
    labelled = [(label, m) for label, specs in e.runs.items() for m in specs]
    for i, (label, spec) in enumerate(labelled):
        seed = spec.config.run.seed
        runs.append(run_line(label, seed, list(ages), reference=spec.name == e.reference.name))
        for k, games in enumerate(ages, 1):
            points.append(Point(run_point(label, seed, games), i, games, None))
            elo[points[-1].name] = (150 + 10 * i) * k
    pairs = [pair_line(a.name, b.name, score(rng, elo[a.name] - elo[b.name], openings)) for a, b in pairings(points)]
    if e.settings.gnugo_games:
        last = [run_point(label, spec.config.run.seed, ages[-1]) for label, spec in labelled]
        pairs += [pair_line(name, GNUGO_0, score(rng, elo[name] - 700, openings)) for name in last]
    return RawResults(header(e.name, "curves"), [*runs, *pairs])


def games_of(e: Experiment, openings: int = 20, step: float = 80) -> RawResults:
    """Results of an experiment in which everyone plays everyone, each `step` Elo better than the one before."""
    rng, lines = np.random.default_rng(4), []
    for i, a in enumerate(e.contestants):
        for k, b in enumerate(e.contestants[:i]):
            scores = score(rng, step * (i - k), openings)
            lines.append(pair_line(a.name, b.name, scores, seconds_of=[4.0, 2.0], seconds=6.0))
    return RawResults(header(e.name, "games"), lines)
