"""Learning curves on one scale: training runs, and games between all their checkpoints.

Start reading at `run`; `pairings` decides who plays whom. As in the TD paper, Section 3.3: weights are saved at
logarithmically spaced numbers of games, and all of them play a tournament, greedily.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.files import make_folder
from rlgo.learning.fast_games import FastGames, compile_matches, play_slices
from train.arena.fast import on_common_features, side_by_side
from train.arena.match import play_match
from train.arena.openings import find_openings
from train.console import Progress, message
from train.experiments.declaration.experiment import GNUGO_0, RANDOM, REFERENCE, Experiment
from train.experiments.results.files import RawResults, pair_line
from train.experiments.running.training import Point, TrainedRun, labelled_runs, train_runs
from train.runs.strength import GNUGO, has_gnugo
from train.settings import spec_value

_NEIGHBOURS = 2  # number of earlier checkpoints of its own run that each one plays
_RING = 3  # number of other runs that each run plays at equal numbers of games


def run(e: Experiment, jobs: int, progress: bool) -> list[dict[str, Any]]:
    """Finish the training and the games of an experiment of kind "curves", and return its raw results.

    See `run.run_experiment` for the parameters.
    """
    assert e.reference is not None
    reference = e.reference.name
    labelled = labelled_runs(e)
    if reference not in {spec.name for _, spec in labelled}:
        labelled.append((REFERENCE, e.reference))
    labelled.sort(key=lambda labelled: labelled[1].name != reference)  # the reference run comes first
    runs, lines = train_runs(e, labelled, jobs, progress)
    points = [point for trained in runs for point in trained.points]
    lines += play(e, [Point(RANDOM, -1, 0), *points], jobs, progress)
    if e.settings.gnugo_games and not has_gnugo():
        message("GNU Go is not installed: no games against it")
    elif e.settings.gnugo_games:
        lines += _play_gnugo(e, runs, jobs, progress)
    return lines


def check(e: Experiment, before: RawResults | None) -> None:
    """Raise an RlgoError if results would lose their games against GNU Go, because it is not installed."""
    met = before is not None and any(GNUGO_0 in line["pair"] for line in before.of("pair"))
    if met and not has_gnugo():
        raise RlgoError(f"{e.name}: its results count games against GNU Go, which is not installed")


def pairings(points: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Return who plays whom.

    Each checkpoint plays the ones just before it in its own run, and those of the same age in the first run, which all
    experiments share, and in the next few runs. Random play meets the youngest checkpoint of each run: the others never
    lose to it.
    """
    pairs: dict[tuple[str, str], tuple[Point, Point]] = {}

    def pair(a: Point, b: Point) -> None:
        if a is not b:
            # An order that does not depend on the other players.
            first, second = sorted((a, b), key=lambda point: point.name)
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
                pair(point, earlier)
            ring = [numbers[(place + k) % len(numbers)] for k in range(1, _RING + 1)]
            for other in {numbers[0], *ring}:
                for rival in by_run[other]:
                    if rival.games == point.games:
                        pair(point, rival)
        pair(own[-1], by_run[numbers[0]][-1])  # even if their ages differ
    return list(pairs.values())


def play(e: Experiment, points: Sequence[Point], jobs: int, progress: bool) -> list[dict[str, Any]]:
    """Play the tournament between checkpoints inside compiled code, and return a line for each pair.

    The games of a pair depend only on its two names, not on the other players.

    Parameters
    ----------
    points : the players; exactly one of them plays at random (run -1)
    jobs : pairs at a time
    """
    assert e.reference is not None
    size, komi = e.reference.config.board.size, e.reference.config.board.komi
    features, thetas = on_common_features([point.weights for point in points], size)
    theta_of = {point.name: theta for point, theta in zip(points, thetas, strict=True)}
    games, found = e.scaled(e.settings.games), find_openings(e.settings.openings, size, komi)
    compile_matches(features)

    def play_pair(pair: tuple[Point, Point]) -> Iterator[FastGames]:
        a, b = pair
        seed = np.random.SeedSequence([e.settings.seed, *(zlib.crc32(point.name.encode()) for point in pair)])
        first = found.array(games // 2, seed)
        return play_slices(features, theta_of[a.name], theta_of[b.name], games, seed, komi, first)

    pairs = pairings(points)
    with (
        Progress(len(pairs), "pairs", "games between checkpoints", enabled=progress) as bar,
        contextlib.closing(side_by_side(play_pair, pairs, jobs)) as met,
    ):
        return [pair_line(a.name, b.name, two.scores) for (a, b), two in zip(pairs, bar.track(met), strict=True)]


def _play_gnugo(e: Experiment, runs: Sequence[TrainedRun], jobs: int, progress: bool) -> list[dict[str, Any]]:
    """Play the last weights of each run against GNU Go level 0; finished games are kept."""
    folder = e.folder / "games" / e.name
    make_folder(folder)
    lines, games = [], e.scaled(e.settings.gnugo_games)
    for trained in runs:
        if not trained.points:
            continue
        spec, last = trained.status.spec, trained.points[-1]
        match = play_match(
            f"greedy,weights={spec_value(last.path)}",
            f"gtp:{GNUGO}",
            games,
            size=spec.config.board.size,
            komi=spec.config.board.komi,
            seed=zlib.crc32(f"{e.settings.seed} {spec.name}".encode()),  # its own openings
            openings=e.settings.openings,
            progress=progress,
            jobs=jobs,
            results=folder / f"{spec.name}.jsonl",
        )
        if match.interrupted:
            raise KeyboardInterrupt
        seconds = round(sum(match.seconds), 1)
        lines.append(pair_line(last.name, GNUGO_0, match.scores, forfeits=match.forfeits, seconds=seconds))
    return lines
