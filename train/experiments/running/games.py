"""Play the games of an experiment, and collect their results.

Start reading at `run`. Games go to files as they are played, from which an interrupted experiment continues; `collect`
turns the files into raw results. Games that earlier raw results count are not played again, wherever they were played.
`matches` decides who plays whom.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError, shown
from rlgo.base.files import make_folder
from train.arena.match import play_match
from train.arena.openings import find_openings, with_openings
from train.arena.results import PlayedGame, read_header, read_results
from train.arena.tournament import RESULTS, TournamentPlan, run_tournament
from train.config import TournamentConfig
from train.console import message
from train.experiments.declaration.experiment import Experiment
from train.experiments.declaration.matches import PlannedMatch, matches, swiss_games
from train.experiments.results.files import RawResults, games_of, pair_line, sum_of_lines, turned
from train.experiments.running.training import labelled_runs, train_runs
from train.players.spec import parse_spec

# Lines of earlier raw results, by `PlannedMatch.key`. The games after those that they count are added to them.
_Counted = dict[tuple[str, str, int], dict[str, Any]]
# Games of two players, each with whether the first was Black, and the versions of external engines.
_Played = tuple[list[tuple[PlayedGame, bool]], dict[str, str]]

_ELSEWHERE = "use another --results folder"
# Games of a pair before the next pair plays, or a tenth of all if that is more: so all pairs have about equally many
# if the games are stopped.
_PORTION = 20


def games_left(e: Experiment, before: RawResults | None = None) -> tuple[int, int]:
    """Return how many of the games of `run` have not been played yet, and how many there are."""
    counted = check(e, before)
    left = total = 0
    if _goes_on(e, counted):
        total = swiss_games(e)
        left = total - len(_swiss_games(e)[0])
    for match in matches(e):
        skipped = 2 * _openings_in(counted, match)
        played = sum(game.number > skipped for game in _games_of(e, match)[0])
        left += max(0, match.games - skipped - played)
        total += match.games
    return left, total


def check(e: Experiment, before: RawResults | None) -> _Counted:
    """Return the lines of earlier raw results that count games of this experiment.

    In a Swiss tournament all lines count: its pairings depend on every game, so no further games can be added.
    Games of claims stay even if no claim asks for them any more.
    Raises RlgoError for results of other players or openings.
    """
    if before is None:
        return {}
    s, there = e.settings, with_openings(before.header)
    openings = find_openings(s.openings, s.size, s.komi).name
    for key, now in (("size", s.size), ("komi", s.komi), ("seed", s.seed), ("openings", openings)):
        if (then := there.get(key, now)) != now:  # size and komi were not kept at first
            raise RlgoError(f"{e.name}: {key} is {shown(now)}, but {shown(then)} in its results; {_ELSEWHERE}")
    sizes = {match.key: match.size for match in matches(e)}
    specs = {c.name: c.written for c in e.contestants}
    counted: _Counted = {}
    for pair, line in _lines_of(e, before).items():
        if pair not in sizes and pair[2] == s.seed and not swiss_games(e):
            continue
        players, size = [specs.get(name) for name in pair[:2]], line.get("size", s.size)
        if line["specs"] != players or size != sizes.get(pair, size):
            raise RlgoError(
                f"{e.name}: the results of {pair[0]} against {pair[1]} are those of other players; {_ELSEWHERE}"
            )
        counted[pair] = line
    return counted


def run(
    e: Experiment, jobs: int, progress: bool, before: RawResults | None = None
) -> tuple[list[dict[str, Any]], bool]:
    """Finish the training and the games of an experiment of kind "games".

    See `run.run_experiment` for the parameters; `before` are the raw results that games are added to.

    Returns
    -------
    its raw results, and whether it has all its games: after Ctrl-C, they are those of the games so far
    """
    counted = check(e, before)
    lines = train_runs(e, labelled_runs(e), jobs, progress)[1] if e.runs else []
    _check_weights(e, lines, before)
    make_folder(games_folder(e))
    try:
        is_finished = not _goes_on(e, counted) or run_tournament(_plan(e), jobs, progress=progress).finished
        is_finished = is_finished and _play_matches(e, counted, jobs, progress)
    except KeyboardInterrupt:
        is_finished = False
    return lines + collect(e, counted), is_finished


def _play_matches(e: Experiment, counted: _Counted, jobs: int, progress: bool) -> bool:
    """Play the remaining games of all matches, a portion of each in turn; return False after Ctrl-C."""
    planned, s = matches(e), e.settings
    most = max((match.games for match in planned), default=0)
    step = max(_PORTION, most // 20 * 2)
    for portion in range(step, most + step, step):
        for match in planned:
            skip, games = _openings_in(counted, match), min(portion, match.games)
            if 2 * skip < games > portion - step:
                if progress:
                    message(f"{match.a.name} against {match.b.name}: up to game {games:,} of {match.games:,}")
                played = play_match(
                    match.a.spec, match.b.spec, games, size=match.size, komi=s.komi, seed=match.seed,
                    openings=s.openings, skip=skip, progress=progress, jobs=jobs, results=games_file(e, match),
                )  # fmt: skip
                if played.interrupted:
                    return False
    return True


def _goes_on(e: Experiment, counted: _Counted) -> bool:
    """Return whether a Swiss tournament can go on: all games that the results count are here."""
    of_tournament = sum(games_of(line) for (_, _, seed), line in counted.items() if seed == e.settings.seed)
    return swiss_games(e) > 0 and len(_swiss_games(e)[0]) >= of_tournament


def _check_weights(e: Experiment, lines: list[dict[str, Any]], before: RawResults | None) -> None:
    """Raise an RlgoError if training runs ended with other weights than those that played the earlier games."""
    known = {} if before is None else {(run["run"], run["seed"]): run["crc32"] for run in before.of("run")}
    for run in lines:
        if known.get((run["run"], run["seed"]), run["crc32"]) != run["crc32"]:
            raise RlgoError(
                f"{e.name}: the weights of {run['run']} are not those of the games before: expected the same type of "
                "CPU, or another --results folder"
            )


def _lines_of(e: Experiment, raw: RawResults) -> _Counted:
    """Return the lines of all pairs in raw results; those of claims have the players in the order of the file."""
    place = {c.name: i for i, c in enumerate(e.contestants)}
    lines = [
        turned(line) if "seed" in line and place.get(line["pair"][0], 0) > place.get(line["pair"][1], 0) else line
        for line in raw.of("pair")
    ]
    return {(*line["pair"], line.get("seed", e.settings.seed)): line for line in lines}


def _openings_in(counted: _Counted, match: PlannedMatch) -> int:
    """Return the number of openings of a match that earlier results count: its first ones."""
    return games_of(counted[match.key]) // 2 if match.key in counted else 0


def games_folder(e: Experiment) -> Path:
    """Return the folder that keeps an experiment's games."""
    return e.folder / "games" / e.name


def games_file(e: Experiment, match: PlannedMatch) -> Path:
    """Return the file that keeps the games of a match."""
    names = " ".join([*match.names, *(["claim"] if match.is_for_claim else [])])
    return games_folder(e) / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', names)}-{zlib.crc32(names.encode()):08x}.jsonl"


def _plan(e: Experiment) -> TournamentPlan:
    """Return the experiment as a Swiss tournament."""
    s, folder = e.settings, games_folder(e)
    name = re.sub(r"[^\w.-]", "-", e.name)  # of a folder
    settings = TournamentConfig(
        name=name, out=str(folder.parent), kind="swiss", games=e.scaled(s.games), size=s.size, komi=s.komi,
        openings=s.openings, seed=s.seed,
    )  # fmt: skip
    return TournamentPlan(settings, {c.name: c.spec for c in e.contestants}, {}, folder, e.path)


def collect(e: Experiment, counted: _Counted) -> list[dict[str, Any]]:
    """Return the games that have been played so far as raw results, a line for each pair."""
    planned = {match.key: match for match in matches(e)}
    goes_on = _goes_on(e, counted)
    lines = [_pair_line(e, match, *played) for match, played in _tournament(e)] if goes_on else []
    lines += [
        line for key, line in counted.items() if key not in planned and not (goes_on and key[2] == e.settings.seed)
    ]
    for key, match in planned.items():
        games, engines = _games_of(e, match)
        games = _finished_openings(games, _openings_in(counted, match) + 1)
        parts = [counted[key]] if key in counted else []
        if games:
            parts.append(_pair_line(e, match, [(game, game.number % 2 == 1) for game in games], engines))
        if parts:
            lines.append(sum_of_lines(parts))
    return lines


def _pair_line(
    e: Experiment, match: PlannedMatch, games: list[tuple[PlayedGame, bool]], engines: dict[str, str]
) -> dict[str, Any]:
    """Return the line of a match; `games` and `engines` are as in `_Played`."""
    a, b, s = match.a, match.b, e.settings
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
        specs=[a.written, b.written],
        **({} if match.size == s.size else {"size": match.size}),
        **({} if match.seed == s.seed else {"seed": match.seed}),
        distinct=len({record.moves for record in records}),
        moves=round(sum(len(record.moves) for record in records) / len(records), 1),
        forfeits=sum(bool(record.forfeit) for record in records),
        seconds_of=[round(spent, 3) for spent in seconds],
        seconds=round(sum(seconds), 3),
        engines={} if all(parse_spec(c.spec).name != "gtp" for c in (a, b)) else engines,
    )


def _tournament(e: Experiment) -> Iterator[tuple[PlannedMatch, _Played]]:
    """Yield each pair that has played in the Swiss tournament, with its games so far."""
    s, (games, versions) = e.settings, _swiss_games(e)
    place = {c.name: i for i, c in enumerate(e.contestants)}
    met: dict[tuple[int, int], list[tuple[PlayedGame, bool]]] = {}
    for game in games:
        black, white = place[game.black], place[game.white]
        met.setdefault((min(black, white), max(black, white)), []).append((game, black < white))
    for i, j in sorted(met):
        yield PlannedMatch(e.contestants[i], e.contestants[j], len(met[i, j]), s.size, s.seed), (met[i, j], versions)


def _swiss_games(e: Experiment) -> tuple[list[PlayedGame], dict[str, str]]:
    """Return the games of a Swiss tournament so far, and the versions of external engines."""
    s, players = e.settings, [[c.name, c.spec] for c in e.contestants]
    about = {"players": players, "size": s.size, "seed": s.seed}
    return _read(e, games_folder(e) / RESULTS, about, s.size, swiss_games(e))


def _games_of(e: Experiment, match: PlannedMatch) -> tuple[list[PlayedGame], dict[str, str]]:
    """Return the games of a match so far, and the versions of external engines."""
    about = {"a": match.a.spec, "b": match.b.spec, "size": match.size, "seed": match.seed}
    return _read(e, games_file(e, match), about, match.size, match.games)


def _finished_openings(games: list[PlayedGame], first: int) -> list[PlayedGame]:
    """Return the games of all openings before the first unfinished one.

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
    openings = find_openings(e.settings.openings, size, e.settings.komi).name
    about = {"komi": e.settings.komi, "openings": openings, **about}
    games = [game for game in read_results(path, about, size) if game.number <= most]
    return sorted(games, key=lambda game: game.number), read_header(path)["versions"]
