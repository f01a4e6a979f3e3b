"""Many players, games between them, and one table of ratings.

Start reading at `read_tournament`, then `run_tournament`; who meets whom is `_rounds`. A tournament's file has a table
[tournament] (`config.Tournament` names its keys), the players by name, and anchors, whose ratings are given:

    [tournament]
    name = "first"
    kind = "swiss"
    games = 200

    [players]
    greedy = "greedy"
    uct = "uct,sims=1000"
    gnugo = "gtp:gnugo --mode gtp --level 10 --chinese-rules --positional-superko --capture-all-dead"

    [anchors]
    gnugo = 1800

Its folder holds the results, a line for each game, from which a tournament that was interrupted goes on, and the
ratings as text, JSON and a picture. A meeting is an opening, played with both colours.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rlgo.archive import write_atomically
from rlgo.clock import parse_time
from rlgo.errors import RlgoError
from rlgo.resources import config_path
from train.arena.elo import PairResult, Ratings, rate, table
from train.arena.match import openings_of, programs_of, try_out
from train.arena.pool import GameTask, make_farm
from train.arena.referee import Rules
from train.arena.results import Played, open_results, play_into, read_results, read_versions
from train.config import Tournament, read_toml, section_from
from train.players.spec import parse_spec
from train.provenance import versions

RESULTS, RATINGS_TEXT, RATINGS_JSON, RATINGS_PNG = "results.jsonl", "ratings.txt", "ratings.json", "ratings.png"


@dataclass(frozen=True)
class Plan:
    """A tournament as its file describes it."""

    settings: Tournament
    players: dict[str, str]  # specs by name
    anchors: dict[str, float]  # Elo by name
    folder: Path
    path: Path  # of the file


@dataclass(frozen=True)
class Standing:
    """What a tournament says so far."""

    plan: Plan
    ratings: Ratings | None  # None where `unrated` tells why not
    pairs: tuple[PairResult, ...]
    games: int
    forfeits: tuple[str, ...]
    interrupted: bool
    versions: dict[str, str]
    unrated: str = ""

    def to_json(self) -> dict[str, Any]:
        """As what `json` can write."""
        pairs = [{"a": r.a, "b": r.b, "score": r.score, "games": r.games, "draws": r.draws} for r in self.pairs]
        return {
            "tournament": dataclasses.asdict(self.plan.settings),
            "specs": self.plan.players,
            "anchors": self.plan.anchors,
            "games": self.games,
            "forfeits": list(self.forfeits),
            "interrupted": self.interrupted,
            "versions": self.versions,
            "pairs": pairs,
            "unrated": self.unrated,
            **({} if self.ratings is None else self.ratings.to_json()),
        }

    def __str__(self) -> str:
        s = self.plan.settings
        anchors = ", ".join(f"{name} = {elo:g}" for name, elo in self.plan.anchors.items())
        time = f", {s.time} s a side" if s.time else ""
        lines = [
            f"{s.name}: {s.kind}, {s.size}x{s.size}, komi {s.komi:g}{time}, seed {s.seed}, {self.games:,} games",
            f"Elo, {anchors or 'mean 0'}; + and - lead to the ends of the 95 % interval",
        ]
        if self.forfeits:
            lines.append(f"{len(self.forfeits)} of the games forfeited")
        if self.interrupted:
            lines.append("interrupted; the same command goes on")
        if self.ratings is None:
            names = list(self.plan.players)
            return "\n".join([*lines, f"no ratings yet: {self.unrated}", "", cross_table(names, self.pairs)])
        names = [player.name for player in self.ratings.players]
        return "\n".join([*lines, "", table(self.ratings, los=True), "", cross_table(names, self.pairs)])


def read_tournament(path: str | Path, out: str | None = None) -> Plan:
    """Read a tournament's file, and check its players' specs.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped one (see `resources.config_path`)
    out : the folder for the tournament's folder; None: `out` of the file

    Raises
    ------
    RlgoError : naming the file, the key and what was expected.
    """
    file = config_path(str(path), "tournaments")
    data = read_toml(file)
    for key in data:
        if key not in ("tournament", "players", "anchors"):
            raise RlgoError(f"{file}: unknown table [{key}]: expected [tournament], [players] and [anchors]")
        if not isinstance(data[key], dict):
            raise RlgoError(f"{file}: {key}: expected a table [{key}]")
    settings: Tournament = section_from(Tournament, data.get("tournament", {}), str(file))
    players, anchors = data.get("players", {}), data.get("anchors", {})
    if len(players) < 2:
        raise RlgoError(f"{file}: [players]: expected at least two, NAME = SPEC each")
    for name, spec in players.items():
        if not isinstance(spec, str):
            raise RlgoError(f"{file}: players.{name}: expected a player spec in quotes")
        if not name.isprintable() or not name.strip():
            raise RlgoError(f"{file}: players.{name!r}: expected a printable name")
        try:
            parse_spec(spec)
        except RlgoError as error:
            raise RlgoError(f"{file}: players.{name}: {error}") from None
    for name, elo in anchors.items():
        if name not in players:
            raise RlgoError(f"{file}: anchors.{name}: not among the players: {', '.join(players)}")
        if type(elo) not in (int, float) or not math.isfinite(elo):
            raise RlgoError(f"{file}: anchors.{name} = {elo!r}: expected a rating in Elo")
    for name in settings.challengers:
        if name not in players:
            raise RlgoError(f"{file}: tournament.challengers: {name}: not among the players: {', '.join(players)}")
    if len(set(settings.challengers)) < len(settings.challengers):
        raise RlgoError(f"{file}: tournament.challengers: expected different names")
    if (settings.kind == "gauntlet") != bool(settings.challengers) or len(settings.challengers) == len(players):
        raise RlgoError(f"{file}: tournament.challengers: expected some players, but not all, for a gauntlet alone")
    if not settings.games:
        raise RlgoError(f"{file}: tournament.games = 0: expected at least 2")
    try:
        settings.time and parse_time(settings.time)
    except RlgoError as error:
        raise RlgoError(f"{file}: tournament.time: {error}") from None
    folder = Path(settings.out if out is None else out) / settings.name
    return Plan(settings, players, {name: float(elo) for name, elo in anchors.items()}, folder, file)


def run_tournament(plan: Plan, jobs: int | None = None, progress: bool = True) -> Standing:
    """Play what is left of a tournament, write its ratings, and return them.

    Parameters
    ----------
    jobs : games at a time; None: as the file says
    progress : show a progress bar on stderr

    Returns
    -------
    the standing; after Ctrl-C, that of the games so far, marked `interrupted`.

    Raises
    ------
    RlgoError : for players that cannot play, for an engine that cannot be started, for a folder of another tournament.
    KeyboardInterrupt : before the first game is over.
    """
    s = plan.settings
    versions = try_out(list(plan.players.values()), s.size, s.komi)
    time = parse_time(s.time) if s.time else None
    rules = Rules(s.size, s.komi, s.max_moves or 3 * s.size * s.size, time, sgf=s.sgf)
    plan.folder.mkdir(parents=True, exist_ok=True)
    interrupted = False
    with open_results(plan.folder / RESULTS, _about(plan, versions), s.size) as kept:
        write_atomically(plan.folder / "tournament.toml", plan.path.read_bytes())
        openings = openings_of(s.size, s.games // 2, min(s.opening_plies, rules.max_moves), s.seed)
        total = _n_games(plan)
        done = len(_first(kept.games, total))
        farm = make_farm(jobs or s.jobs, s.cluster, total - done)
        folder = plan.folder / "sgf" if s.sgf else None
        if folder is not None:
            folder.mkdir(exist_ok=True)
        bar = tqdm(total=total, initial=done, unit="game", file=sys.stderr, dynamic_ncols=True, disable=not progress)
        try:
            rounds = _rounds(plan, kept.games)
            # A round begins when the one before is over: Swiss pairings depend on nobody's speed. Others need not wait.
            for meetings in rounds if s.kind == "swiss" else [list(itertools.chain.from_iterable(rounds))]:
                tasks = [task for task in _tasks(plan, meetings, openings, rules) if task.number not in kept.numbers]
                for _ in play_into(kept, farm, tasks, folder, "game-{:06}.sgf", bar):
                    pass
        except KeyboardInterrupt:
            if not kept.games:
                raise
            interrupted = True
        finally:
            bar.close()
            farm.close()
        standing = _stand(plan, _first(kept.games, total), interrupted, versions)
    _write(standing)
    return standing


def standing_of(plan: Plan) -> Standing:
    """The standing of a tournament that has begun, without playing. RlgoError where it has not."""
    path = plan.folder / RESULTS
    if not path.is_file():
        raise RlgoError(f"{path}: no such file: this tournament has not begun")
    versions = read_versions(path)
    # Without a lock: somebody may be playing it.
    total = _n_games(plan)
    games = _first(read_results(path, _about(plan, versions), plan.settings.size), total)
    return _stand(plan, games, len(games) < total, versions)


def _first(games: Sequence[Played], n: int) -> list[Played]:
    """Those among the first n: the file may hold more, of a longer tournament."""
    return [game for game in games if game.number <= n]


def _about(plan: Plan, versions: dict[str, str]) -> dict[str, Any]:
    """What must be the same for results to belong to a tournament."""
    kept = ("kind", "bias", "size", "komi", "opening_plies", "max_moves", "time", "seed")
    settings = {key: getattr(plan.settings, key) for key in kept}
    if plan.settings.kind != "swiss":  # of a longer round robin, the first rounds are those of a shorter one
        settings["challengers"] = list(plan.settings.challengers)
    players = [list(player) for player in plan.players.items()]  # whose order the schedule depends on
    programs = programs_of(list(plan.players.values()))
    return {"tournament": plan.settings.name, **settings, "players": players, "versions": versions, **programs}


# ---------------------------------------------------------------------------------------------
# Who meets whom
# ---------------------------------------------------------------------------------------------

Meeting = tuple[int, int, str, str]  # number from 1, opening from 1, and two players; the first is Black first


def _n_games(plan: Plan) -> int:
    s, n = plan.settings, len(plan.players)
    if s.kind == "swiss":
        return n // 2 * s.games
    return len(_pairs(plan)) * s.games


def _pairs(plan: Plan) -> list[tuple[str, str]]:
    """Who meets whom in every round of a round robin or a gauntlet."""
    names, first = list(plan.players), plan.settings.challengers
    if first:
        return [(a, b) for a in first for b in names if b not in first]
    return list(itertools.combinations(names, 2))


def _rounds(plan: Plan, games: Sequence[Played]) -> Iterator[list[Meeting]]:
    """The meetings of each round; `games` must hold those of all rounds before when the next one is asked for."""
    s = plan.settings
    number = 0
    for opening in range(1, s.games // 2 + 1):
        pairs = _swiss_pairs(plan, games, opening) if s.kind == "swiss" else _pairs(plan)
        yield [(number + i, opening, a, b) for i, (a, b) in enumerate(pairs, 1)]
        number += len(pairs)


def _swiss_pairs(plan: Plan, games: Sequence[Played], opening: int) -> list[tuple[str, str]]:
    """Everybody in random order draws an opponent among the rest, with a bias towards a similar number of wins.

    The probability falls by exp(-difference / bias). Of an odd number, one of those who have played most is left out.
    """
    rng = np.random.default_rng(
        np.random.SeedSequence(plan.settings.seed, spawn_key=(opening,))
    )  # not two: games have those
    wins, played = dict.fromkeys(plan.players, 0.0), dict.fromkeys(plan.players, 0)
    # In the order of their numbers: nobody's speed must decide in what order floats are added.
    for game in sorted(games, key=lambda game: game.number):
        if game.opening < opening:
            wins[game.black] += game.record.z
            wins[game.white] += 1 - game.record.z
            played[game.black] += 1
            played[game.white] += 1
    names = [str(name) for name in rng.permutation(list(plan.players))]
    if len(names) % 2:
        names.remove(max(names, key=lambda name: played[name]))
    pairs = []
    while names:
        first = names.pop(0)
        difference = np.abs([wins[name] - wins[first] for name in names])
        weights = np.exp(-(difference - difference.min()) / plan.settings.bias)
        pairs.append((first, names.pop(int(rng.choice(len(names), p=weights / weights.sum())))))
    return pairs


def _tasks(
    plan: Plan, meetings: Sequence[Meeting], openings: Sequence[tuple[int, ...]], rules: Rules
) -> list[GameTask]:
    """The two games of each meeting."""
    s, specs = plan.settings, plan.players
    tasks = []
    for number, opening, a, b in meetings:
        for game, (black, white) in ((2 * number - 1, (a, b)), (2 * number, (b, a))):
            comment = f"{s.name}: game {game}, {black} ({specs[black]}) against {white} ({specs[white]}), seed {s.seed}"
            moves, names = openings[opening - 1], (black, white)
            tasks.append(GameTask(game, specs[black], specs[white], moves, s.seed, rules, comment, names, opening))
    return tasks


# ---------------------------------------------------------------------------------------------
# What came of it
# ---------------------------------------------------------------------------------------------


def pair_results(games: Sequence[Played]) -> list[PairResult]:
    """The results of each pair, by openings."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for game in sorted(games, key=lambda game: game.number):
        a, b = sorted((game.black, game.white))
        score = game.record.z if game.black == a else 1 - game.record.z
        found.setdefault((a, b), {}).setdefault(game.opening, []).append(score)
    return [PairResult.of_openings(a, b, list(scores.values())) for (a, b), scores in found.items()]


def _stand(plan: Plan, games: Sequence[Played], interrupted: bool, engines: dict[str, str]) -> Standing:
    pairs = pair_results(games)
    present = {name for pair in pairs for name in (pair.a, pair.b)}
    anchors = {name: elo for name, elo in plan.anchors.items() if name in present}
    ratings, unrated = None, ""
    try:
        ratings = rate(pairs, anchors, plan.settings.prior)
    except RlgoError as error:  # too few games to connect all players
        unrated = str(error)
    forfeits = tuple(f"game {game.number}: {game.record.forfeit}" for game in games if game.record.forfeit)
    return Standing(plan, ratings, tuple(pairs), len(games), forfeits, interrupted, versions(engines), unrated)


def cross_table(names: Sequence[str], pairs: Sequence[PairResult]) -> str:
    """Who scored what against whom, in per cent, and the games; rows and columns in the order of the names."""
    scores: dict[tuple[str, str], tuple[float, float]] = {}
    for r in pairs:
        scores[r.a, r.b], scores[r.b, r.a] = (r.score, r.games), (r.games - r.score, r.games)
    width = max(4, *map(len, names))
    lines = [f"Score {'in % / games':{width}} " + " ".join(f"{rank:>9}" for rank in range(1, len(names) + 1))]
    for rank, a in enumerate(names, 1):
        cells = []
        for b in names:
            score, n = scores.get((a, b), (0.0, 0.0))
            cells.append(f"{f'{100 * score / n:.1f}/{n:.0f}' if n else '':>9}")
        lines.append(f"{rank:5} {a:{width}} {' '.join(cells)}".rstrip())
    return "\n".join(lines)


def _write(standing: Standing) -> None:
    folder = standing.plan.folder
    write_atomically(folder / RATINGS_TEXT, f"{standing}\n".encode())
    write_atomically(folder / RATINGS_JSON, (json.dumps(standing.to_json(), indent=2) + "\n").encode())
    if standing.ratings is None:
        return
    from train.arena.pictures import tournament_picture

    try:
        tournament_picture(folder / RATINGS_PNG, standing)
    except RlgoError as error:
        print(f"rlgo: no picture: {error}", file=sys.stderr)
