"""Learning curves on one scale: training runs, and games between all their checkpoints.

Start reading at `run`; who meets whom is `meetings`. As in the TD paper, Section 3.3: weights are saved at
logarithmically spaced numbers of games, and all of them play a tournament, greedily.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from rlgo.errors import RlgoError
from rlgo.fast_games import play_fast
from rlgo.jit import compiling
from rlgo.weights import Weights, load_weights
from train.arena.match import on_common_features, play_match
from train.experiments.findings import GNUGO_0, pair_line, run_point
from train.runs.fleet import FAILED, Member, Training, check_folders, say, train_all
from train.runs.status import FINISHED
from train.runs.strength import GNUGO, has_gnugo

if TYPE_CHECKING:
    from train.experiments.running import Experiment

RANDOM, REFERENCE = "random", "reference"
OTHER_FOLDER = "name another folder by --out"  # where runs of other settings stand
# Settings that make no run another one: [run] in the file of an experiment may hold them.
SHARED = tuple(f"run.{key}" for key in ("log_every", "eval_every", "eval_games", "gnugo_every", "gnugo_games"))
_NEIGHBOURS = 2  # checkpoints before it that each one meets
_RING = 3  # other runs that each run meets at equal numbers of games


@dataclass(frozen=True)
class Point:
    """A set of weights in the tournament."""

    name: str
    run: int  # 0 is the reference run
    games: int  # of self-play
    weights: Weights | None = None  # None plays at random
    path: Path | None = None


def run(e: Experiment, jobs: int, progress: bool) -> list[dict[str, Any]]:
    """Train, play, and return the raw results; see `experiment.run_experiment`."""
    assert e.reference is not None
    reference = e.reference.name
    labelled = [(label, member) for label, members in e.members.items() for member in members]
    if reference not in {member.name for _, member in labelled}:
        labelled.append((REFERENCE, e.reference))
    labelled.sort(key=lambda labelled: labelled[1].name != reference)  # it comes first
    runs, points, lines = _train(e, labelled, jobs, progress)
    lines += _meet(e, [Point(RANDOM, -1, 0), *points], jobs, progress)
    if e.settings.gnugo_games and not has_gnugo():
        say("GNU Go is not installed: no games against it")
    elif e.settings.gnugo_games:
        lines += _meet_gnugo(e, runs, points, jobs, progress)
    return lines


def train_runs(e: Experiment, jobs: int, progress: bool) -> list[dict[str, Any]]:
    """Train the runs of an experiment, and return what they tell."""
    return _train(e, [(label, member) for label, members in e.members.items() for member in members], jobs, progress)[2]


def _train(
    e: Experiment, labelled: Sequence[tuple[str, Member]], jobs: int, progress: bool
) -> tuple[list[tuple[str, Training]], list[Point], list[dict[str, Any]]]:
    """Train, and return the runs, all their checkpoints, and a line of raw results for each run."""
    # Two labels may name one run: it is trained once, and appears under both.
    trainings = {member.name: Training(member) for _, member in labelled}
    check_folders([training.member for training in trainings.values()], OTHER_FOLDER, SHARED)
    train_all(list(trainings.values()), e.folder / "runs", jobs, progress)
    runs = [(label, trainings[member.name]) for label, member in labelled]
    points = [point for i, (label, training) in enumerate(runs) for point in _points(i, label, training)]
    reference = e.reference.name if e.reference is not None else ""
    return runs, points, [_run_line(label, training, points, i, reference) for i, (label, training) in enumerate(runs)]


def _points(number: int, label: str, training: Training) -> Iterator[Point]:
    """The checkpoints of a run whose weights are numbers, ascending."""
    wanted, folder = training.member.config.run, training.member.folder
    files = {games: path for games, path in folder.saved().items() if games <= wanted.games}
    if training.state == FINISHED:
        files.setdefault(wanted.games, folder.weights)
    for games, path in files.items():
        weights = load_weights(path)
        if np.isfinite(weights.theta).all():
            yield Point(run_point(label, wanted.seed, games), number, games, weights, path)


def _run_line(label: str, training: Training, points: Sequence[Point], number: int, reference: str) -> dict[str, Any]:
    """What a training run tells; `reference` is the name of the one that all experiments have."""
    member = training.member
    own = [point for point in points if point.run == number]
    diverged = training.state == FAILED and training.reason.startswith("diverged")
    if training.state == FAILED and not diverged:
        raise RlgoError(f"{member.folder.path}: {training.reason}")
    try:
        seconds = member.folder.load()[1]["seconds"]
    except RlgoError:
        seconds = 0.0
    return {
        "run": label,
        "seed": member.config.run.seed,
        "base": member.base,
        "changed": member.values,
        "reference": member.name == reference,
        "state": "diverged" if diverged else training.state,
        "reason": training.reason,
        # Of a run that diverged: to its last checkpoint, which is the same on every machine.
        "games": training.games if not diverged else own[-1].games if own else 0,
        "seconds": round(seconds, 1),
        "checkpoints": [point.games for point in own],
        # What anyone who trains it again can compare.
        "crc32": "".join(f"{zlib.crc32(point.weights.theta.tobytes()):08x}" for point in own[-1:] if point.weights),
    }


def meetings(points: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Who meets whom.

    Each checkpoint meets those just before it of its own run, and those of the same age of the first run, which all
    experiments have, and of the next ones. Random play meets the youngest, who alone lose to it now and then.
    """
    pairs: dict[tuple[str, str], tuple[Point, Point]] = {}

    def meet(a: Point, b: Point) -> None:
        if a is not b:
            first, second = sorted((a, b), key=lambda point: point.name)  # whoever the others are
            pairs.setdefault((first.name, second.name), (first, second))

    by_run: dict[int, list[Point]] = {}
    for point in points:
        by_run.setdefault(point.run, []).append(point)
    (chance,) = by_run.pop(-1)
    numbers = sorted(by_run)
    for place, number in enumerate(numbers):
        own = by_run[number]
        for i, point in enumerate(own):
            for earlier in own[max(0, i - _NEIGHBOURS) : i] or [chance]:
                meet(point, earlier)
            ring = [numbers[(place + k) % len(numbers)] for k in range(1, _RING + 1)]
            for other in {numbers[0], *ring}:
                for rival in by_run[other]:
                    if rival.games == point.games:
                        meet(point, rival)
        meet(own[-1], by_run[numbers[0]][-1])  # which may be of another age
    return list(pairs.values())


def _meet(e: Experiment, points: Sequence[Point], jobs: int, progress: bool) -> list[dict[str, Any]]:
    """Play the tournament inside compiled code, a line for each pair."""
    size = e.reference.config.board.size  # type: ignore[union-attr]
    komi = e.reference.config.board.komi  # type: ignore[union-attr]
    features, thetas = on_common_features([point.weights for point in points], size)
    theta_of = {point.name: theta for point, theta in zip(points, thetas, strict=True)}
    games = e.scaled(e.settings.games)
    with compiling(f"matches, {size}x{size}"):
        play_fast(features, thetas[0], thetas[0], 2, 0, komi)

    def play(pair: tuple[Point, Point]) -> dict[str, Any]:
        a, b = pair
        seed = np.random.SeedSequence([e.settings.seed, *(zlib.crc32(point.name.encode()) for point in pair)])
        met = play_fast(features, theta_of[a.name], theta_of[b.name], games, seed, komi, e.settings.opening_plies)
        return pair_line(a.name, b.name, met.scores)

    pairs = meetings(points)
    pool = ThreadPoolExecutor(jobs)
    try:
        bar = tqdm(pool.map(play, pairs), "games between checkpoints", len(pairs), disable=not progress, unit=" pairs")
        return list(bar)
    finally:
        pool.shutdown(cancel_futures=True)


def _meet_gnugo(
    e: Experiment, runs: Sequence[tuple[str, Training]], points: Sequence[Point], jobs: int, progress: bool
) -> list[dict[str, Any]]:
    """The last weights of each run against GNU Go level 0; games that were played are kept."""
    folder = e.folder / "games" / e.name
    folder.mkdir(parents=True, exist_ok=True)
    lines, games = [], e.scaled(e.settings.gnugo_games)
    for number, (_, training) in enumerate(runs):
        own = [point for point in points if point.run == number]
        if not own:
            continue
        member, last = training.member, own[-1]
        found = play_match(
            f"greedy,weights={last.path}",
            f"gtp:{GNUGO}",
            games,
            member.config.board.size,
            member.config.board.komi,
            zlib.crc32(f"{e.settings.seed} {member.name}".encode()),  # openings of its own
            e.settings.opening_plies,
            progress=progress,
            jobs=jobs,
            results=folder / f"{member.name}.jsonl",
        )
        if found.interrupted:
            raise KeyboardInterrupt
        seconds = round(sum(found.seconds), 1)
        lines.append(pair_line(last.name, GNUGO_0, found.scores, forfeits=found.forfeits, seconds=seconds))
    return lines
