"""Games between players: a gauntlet, a round robin, or a Swiss tournament (TD paper, Section 4.5).

Start reading at `run`. Games go to files as they are played, from which an interrupted experiment continues; `collect`
turns the files into raw results.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlgo.errors import RlgoError
from rlgo.files import make_folder
from train.arena.match import play_match
from train.arena.results import PlayedGame, read_results, read_versions
from train.arena.tournament import RESULTS, Plan, run_tournament
from train.config import TournamentConfig
from train.experiments.model import Contestant, Experiment
from train.experiments.raw import RawResults, games_of, pair_line, sum_of_lines, whole_openings
from train.experiments.training import labelled_runs, train_runs
from train.players.spec import parse_spec

# Lines of earlier raw results, by pair of players. The games after those that they count are added to them.
_Counted = dict[tuple[str, str], dict[str, Any]]

_PORTION = 20  # games of a pair before the next pair plays; so all pairs have about as many if the games are stopped


def pairs(e: Experiment) -> list[tuple[Contestant, Contestant]]:
    """Return who plays whom in a round robin or a gauntlet."""
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


def planned_games(e: Experiment, a: Contestant, b: Contestant) -> int:
    """Return the number of games that the experiment calls for between two players that meet."""
    return e.scaled(max(a.games, b.games) or e.settings.games)


def total_games(e: Experiment) -> int:
    """Return the number of games that the experiment calls for."""
    if e.settings.pairing == "swiss":
        return len(e.contestants) // 2 * e.scaled(e.settings.games)
    return sum(planned_games(e, a, b) for a, b in pairs(e))


def games_left(e: Experiment, before: RawResults | None = None, only: str = "") -> tuple[int, int]:
    """Return how many of the games of `run` have not been played yet, and how many there are."""
    if e.settings.pairing == "swiss":
        total = total_games(e)
        return total - len(_swiss_games(e)[0]), total
    counted = {} if before is None else _counted(e, before)
    left = total = 0
    for a, b in _chosen(e, only):
        planned, skipped = planned_games(e, a, b), 2 * _openings_in(counted, a, b)
        played = sum(game.number > skipped for game in _games_of(e, a, b)[0])
        left += max(0, planned - skipped - played)
        total += planned
    return left, total


def check(e: Experiment, before: RawResults | None, play: bool, add: bool, only: str) -> None:
    """Check the parameters of `run` and of `running.run_experiment`.

    Raises RlgoError for a name that no player has, and where the new results would count fewer games than those before:
    games that were played elsewhere are kept by `add` alone.
    """
    swiss = e.settings.pairing == "swiss"
    if swiss and only:
        raise RlgoError(f"{e.name}: in a Swiss tournament, all players have to play")
    chosen = [] if swiss else _chosen(e, only)
    if before is None:
        return
    if add:
        _counted(e, before)
        return
    counted = {tuple(line["pair"]): games_of(line) for line in before.of("pair")}
    if swiss:
        kept = [("", sum(counted.values()), total_games(e) if play else len(_swiss_games(e)[0]))]
    else:
        kept = [
            (f" of {a.name} against {b.name}", counted.get((a.name, b.name), 0), _will_count(e, a, b, play, chosen))
            for a, b in pairs(e)
        ]
    for whom, now, then in kept:
        if then < now:
            way = "another --results folder" if swiss else "--add, or another --results folder"
            raise RlgoError(
                f"{e.name}: its results count {now:,} games{whom}, and would count {then:,}: expected {way}"
            )


def _will_count(
    e: Experiment, a: Contestant, b: Contestant, play: bool, chosen: list[tuple[Contestant, Contestant]]
) -> int:
    """Return how many games of a pair `run` will count without earlier results."""
    if play and (a, b) in chosen:
        return planned_games(e, a, b)
    return len(_finished_openings(_games_of(e, a, b)[0], 1))


def run(
    e: Experiment, jobs: int, progress: bool, play: bool = True, before: RawResults | None = None, only: str = ""
) -> list[dict[str, Any]]:
    """Finish the training and the games of an experiment of kind "games", and return its raw results.

    See `running.run_experiment` for the parameters; `before` are the raw results that games are added to.
    """
    counted = {} if before is None else _counted(e, before)
    lines = train_runs(e, labelled_runs(e), jobs, progress)[1] if e.runs else []
    if play:
        make_folder(games_folder(e))
        if e.settings.pairing != "swiss":
            _play_pairs(e, _chosen(e, only), counted, jobs, progress)
        elif not run_tournament(_plan(e), jobs, progress=progress).finished:
            raise KeyboardInterrupt
    return lines + collect(e, counted)


def _play_pairs(
    e: Experiment, chosen: list[tuple[Contestant, Contestant]], counted: _Counted, jobs: int, progress: bool
) -> None:
    """Play the games of some pairs that are left, a portion of each in turn."""
    planned = [planned_games(e, a, b) for a, b in chosen]
    for portion in range(_PORTION, max(planned) + _PORTION, _PORTION):
        for (a, b), games in zip(chosen, planned, strict=True):
            skip = _openings_in(counted, a, b)
            if 2 * skip < min(portion, games):
                _play(e, a, b, min(portion, games), skip, jobs, progress)


def _chosen(e: Experiment, only: str) -> list[tuple[Contestant, Contestant]]:
    """Return the pairs with a player whose name contains a text. Raises RlgoError if there are none."""
    chosen = [(a, b) for a, b in pairs(e) if only in a.name or only in b.name]
    if not chosen:
        names = ", ".join(c.name for c in e.contestants)
        raise RlgoError(f"{e.name}: no player's name contains {only!r}: expected a part of one of {names}")
    return chosen


def _counted(e: Experiment, before: RawResults) -> _Counted:
    """Return the lines of raw results that count games of this experiment.

    Raises RlgoError for results of other players or openings, and for a Swiss tournament, whose pairs depend on every
    single game.
    """
    s = e.settings
    if s.pairing == "swiss":
        raise RlgoError(f"{e.name}: no games can be added to a Swiss tournament from counts alone")
    for key in ("size", "komi", "seed", "opening_plies"):
        now = getattr(s, key)
        if (then := before.header.get(key, now)) != now:  # size and komi were not kept at first
            raise RlgoError(f"{e.name}: {key} is {now:g}, but {then:g} in its results")
    lines = {tuple(line["pair"]): line for line in before.of("pair")}
    counted = {}
    for a, b in pairs(e):
        if line := lines.get((a.name, b.name)):
            if line["specs"] != [a.spec, b.spec] or line.get("size", s.size) != (a.size or s.size):
                raise RlgoError(f"{e.name}: the results of {a.name} against {b.name} are those of other players")
            if games_of(whole := whole_openings(line)):
                counted[a.name, b.name] = whole
    return counted


def _openings_in(counted: _Counted, a: Contestant, b: Contestant) -> int:
    """Return the number of openings of a pair that earlier results count: its first ones."""
    return games_of(counted[a.name, b.name]) // 2 if (a.name, b.name) in counted else 0


def _play(e: Experiment, a: Contestant, b: Contestant, games: int, skip: int, jobs: int, progress: bool) -> None:
    """Play a pair up to a number of games, without some openings at the beginning."""
    s = e.settings
    match = play_match(
        a.spec, b.spec, games, size=a.size or s.size, komi=s.komi, seed=s.seed, opening_plies=s.opening_plies,
        skip=skip, progress=progress, jobs=jobs, results=games_file(e, a, b),
    )  # fmt: skip
    if match.interrupted:
        raise KeyboardInterrupt


def games_folder(e: Experiment) -> Path:
    """Return the folder that keeps an experiment's games."""
    return e.folder / "games" / e.name


def games_file(e: Experiment, a: Contestant, b: Contestant) -> Path:
    """Return the file that keeps the games of a pair, in a round robin or a gauntlet."""
    names = f"{a.name} {b.name}"
    return games_folder(e) / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', names)}-{zlib.crc32(names.encode()):08x}.jsonl"


def _plan(e: Experiment) -> Plan:
    """Return the experiment as a Swiss tournament."""
    s, folder = e.settings, games_folder(e)
    settings = TournamentConfig(
        name=e.name, out=str(folder.parent), kind="swiss", games=e.scaled(s.games), size=s.size, komi=s.komi,
        opening_plies=s.opening_plies, seed=s.seed,
    )  # fmt: skip
    return Plan(settings, {c.name: c.spec for c in e.contestants}, {}, folder, e.path)


def collect(e: Experiment, counted: _Counted) -> list[dict[str, Any]]:
    """Return the games that have been played so far as raw results, a line for each pair.

    Raises RlgoError if there are none.
    """
    lines = []
    for a, b, games, engines in _kept(e, counted):
        parts = [_pair_line(e, a, b, games, engines)] if games else []
        if (a.name, b.name) in counted:
            parts.insert(0, counted[a.name, b.name])
        lines.append(sum_of_lines(parts))
    if not lines:
        raise RlgoError(f"{games_folder(e)}: no games have been played ({e.command})")
    return lines


def _pair_line(
    e: Experiment, a: Contestant, b: Contestant, games: list[tuple[PlayedGame, bool]], engines: dict[str, str]
) -> dict[str, Any]:
    """Return the line of a pair; `games` and `engines` are those of `_kept`."""
    size = a.size or e.settings.size
    scores: dict[int, list[float]] = {}
    seconds = [0.0, 0.0]
    for game, a_is_black in games:
        scores.setdefault(game.opening, []).append(game.record.z if a_is_black else 1 - game.record.z)
        for i, spent in enumerate(game.record.seconds if a_is_black else game.record.seconds[::-1]):
            seconds[i] += spent
    records = [game.record for game, _ in games]
    return pair_line(
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


def _kept(
    e: Experiment, counted: _Counted
) -> Iterator[tuple[Contestant, Contestant, list[tuple[PlayedGame, bool]], dict[str, str]]]:
    """Yield each pair that has met, its games with whether A was Black, and the versions of external engines."""
    if e.settings.pairing == "swiss":
        games, versions = _swiss_games(e)
        place = {c.name: i for i, c in enumerate(e.contestants)}
        met: dict[tuple[int, int], list[tuple[PlayedGame, bool]]] = {}
        for game in games:
            black, white = place[game.black], place[game.white]
            met.setdefault((min(black, white), max(black, white)), []).append((game, black < white))
        for i, j in sorted(met):
            yield e.contestants[i], e.contestants[j], met[i, j], versions
    else:
        for a, b in pairs(e):
            games, versions = _games_of(e, a, b)
            games = _finished_openings(games, _openings_in(counted, a, b) + 1)
            if games or (a.name, b.name) in counted:
                yield a, b, [(game, game.number % 2 == 1) for game in games], versions


def _swiss_games(e: Experiment) -> tuple[list[PlayedGame], dict[str, str]]:
    """Return the games of a Swiss tournament so far, and the versions of external engines."""
    players = [[c.name, c.spec] for c in e.contestants]
    return _read(e, games_folder(e) / RESULTS, {"players": players}, e.settings.size, total_games(e))


def _games_of(e: Experiment, a: Contestant, b: Contestant) -> tuple[list[PlayedGame], dict[str, str]]:
    """Return the games of a pair so far, and the versions of external engines."""
    about = {"a": a.spec, "b": b.spec}
    return _read(e, games_file(e, a, b), about, a.size or e.settings.size, planned_games(e, a, b))


def _finished_openings(games: list[PlayedGame], first: int) -> list[PlayedGame]:
    """Return the games of the openings from the first on, up to one that is not finished.

    So the openings that are counted are always the first ones.
    """
    numbers = {game.number for game in games}
    last = next(n for n in itertools.count(first) if not {2 * n - 1, 2 * n} <= numbers)
    return [game for game in games if first <= game.opening < last]


def _read(
    e: Experiment, path: Path, about: dict[str, Any], size: int, most: int
) -> tuple[list[PlayedGame], dict[str, str]]:
    """Return the first `most` games of a results file in their order, and the versions of external engines.

    about : what the file's header must contain in addition to the rules; RlgoError if it differs
    """
    if not path.is_file():
        return [], {}
    s = e.settings
    about = {"size": size, "komi": s.komi, "seed": s.seed, "opening_plies": s.opening_plies, **about}
    games = [game for game in read_results(path, about, size) if game.number <= most]
    return sorted(games, key=lambda game: game.number), read_versions(path)
