"""The games of an experiment: a round robin, a gauntlet, or a Swiss tournament, as in the TD paper, Section 4.5.

Start reading at `run`. Games are kept in files as they are played, with which an interrupted experiment goes on;
`collect` makes raw results of them.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlgo.errors import RlgoError
from train.arena.match import play_match
from train.arena.results import PlayedGame, read_results, read_versions
from train.arena.tournament import RESULTS, Plan, run_tournament
from train.config import Tournament
from train.experiments.curves import train_runs
from train.experiments.findings import pair_line
from train.players.spec import parse_spec

if TYPE_CHECKING:
    from train.experiments.running import Contestant, Experiment

_PORTION = 20  # games of a pair, before the next one plays: so that all have about as many whenever it is stopped


def pairs(e: Experiment) -> list[tuple[Contestant, Contestant]]:
    """Who meets whom in a round robin or a gauntlet."""
    if e.settings.pairing == "round_robin":
        return list(itertools.combinations(e.contestants, 2))
    fixed = [c for c in e.contestants if c.x is None]
    met = {c.against for c in e.contestants}
    by_place = {(c.series, c.x): c for c in e.contestants}
    found = []
    for c in e.contestants:
        if c.x is not None and c.series not in met:
            found += [(c, other) for other in fixed]
        if c.against:
            found.append((c, by_place[c.against, c.x]))
    return found


def total_games(e: Experiment) -> int:
    """How many games the experiment asks for."""
    games = e.scaled(e.settings.games)
    return len(e.contestants) // 2 * games if e.settings.pairing == "swiss" else len(pairs(e)) * games


def run(e: Experiment, jobs: int, progress: bool, play: bool = True) -> list[dict[str, Any]]:
    """Train and play what is left, and return the raw results; see `experiment.run_experiment`."""
    lines = train_runs(e, jobs, progress) if e.members else []
    if play:
        folder = _folder(e)
        folder.mkdir(parents=True, exist_ok=True)
        if e.settings.pairing == "swiss":
            if run_tournament(_plan(e), jobs, progress=progress).interrupted:
                raise KeyboardInterrupt
        else:
            games = e.scaled(e.settings.games)
            for portion in range(_PORTION, games + _PORTION, _PORTION):
                for a, b in pairs(e):
                    _play(e, a, b, min(portion, games), jobs, progress)
    return lines + collect(e)


def _play(e: Experiment, a: Contestant, b: Contestant, games: int, jobs: int, progress: bool) -> None:
    s = e.settings
    found = play_match(
        a.spec, b.spec, games, size=a.size or s.size, komi=s.komi, seed=s.seed, opening_plies=s.opening_plies,
        progress=progress, jobs=jobs, results=_file(e, a, b),
    )  # fmt: skip
    if found.interrupted:
        raise KeyboardInterrupt


def _folder(e: Experiment) -> Path:
    return e.folder / "games" / e.name


def _file(e: Experiment, a: Contestant, b: Contestant) -> Path:
    """Where the games of a pair are kept."""
    names = f"{a.name} {b.name}"
    return _folder(e) / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', names)}-{zlib.crc32(names.encode()):08x}.jsonl"


def _plan(e: Experiment) -> Plan:
    """The experiment as a Swiss tournament."""
    s, folder = e.settings, _folder(e)
    settings = Tournament(
        name=e.name, out=str(folder.parent), kind="swiss", games=e.scaled(s.games), size=s.size, komi=s.komi,
        opening_plies=s.opening_plies, seed=s.seed,
    )  # fmt: skip
    return Plan(settings, {c.name: c.spec for c in e.contestants}, {}, folder, e.path)


def collect(e: Experiment) -> list[dict[str, Any]]:
    """The raw results of the games that have been played, a line for each pair. RlgoError where there are none."""
    lines = []
    for a, b, games, engines in _kept(e):
        size = a.size or e.settings.size
        scores: dict[int, list[float]] = {}
        seconds = [0.0, 0.0]
        for game, black in games:  # whether A was Black
            scores.setdefault(game.opening, []).append(game.record.z if black else 1 - game.record.z)
            for i, spent in enumerate(game.record.seconds if black else game.record.seconds[::-1]):
                seconds[i] += spent
        records = [game.record for game, _ in games]
        lines.append(
            pair_line(
                a.name,
                b.name,
                scores.values(),
                specs=[a.spec, b.spec],
                **({} if size == e.settings.size else {"size": size}),
                distinct=len({record.moves for record in records}),
                moves=round(sum(len(record.moves) for record in records) / len(records), 1),
                forfeits=sum(bool(record.forfeit) for record in records),
                seconds_of=[round(spent, 3) for spent in seconds],
                seconds=round(sum(seconds), 3),
                engines={} if all(parse_spec(c.spec).name != "gtp" for c in (a, b)) else engines,
            )
        )
    if not lines:
        raise RlgoError(f"{_folder(e)}: no games have been played ({e.command})")
    return lines


def _kept(e: Experiment) -> Iterator[tuple[Contestant, Contestant, list[tuple[PlayedGame, bool]], dict[str, str]]]:
    """The games of each pair that has met, whether A was Black in them, and the versions of outside engines."""
    s = e.settings
    if s.pairing == "swiss":
        players = [[c.name, c.spec] for c in e.contestants]
        games, versions = _read(e, _folder(e) / RESULTS, {"players": players}, s.size, total_games(e))
        place = {c.name: i for i, c in enumerate(e.contestants)}
        met: dict[tuple[int, int], list[tuple[PlayedGame, bool]]] = {}
        for game in games:
            black, white = place[game.black], place[game.white]
            met.setdefault((min(black, white), max(black, white)), []).append((game, black < white))
        for i, j in sorted(met):
            yield e.contestants[i], e.contestants[j], met[i, j], versions
    else:
        for a, b in pairs(e):
            about = {"a": a.spec, "b": b.spec}
            games, versions = _read(e, _file(e, a, b), about, a.size or s.size, e.scaled(s.games))
            if games:
                yield a, b, [(game, game.number % 2 == 1) for game in games], versions


def _read(
    e: Experiment, path: Path, about: dict[str, Any], size: int, most: int
) -> tuple[list[PlayedGame], dict[str, str]]:
    """The games of a results file up to a number, in their order, and the versions of engines; none without a file."""
    if not path.is_file():
        return [], {}
    s = e.settings
    about = {"size": size, "komi": s.komi, "seed": s.seed, "opening_plies": s.opening_plies, **about}
    games = [game for game in read_results(path, about, size) if game.number <= most]
    return sorted(games, key=lambda game: game.number), read_versions(path)
