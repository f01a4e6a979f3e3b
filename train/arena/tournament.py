"""Tournaments: many players, games between them, and one table of ratings.

Start reading at `read_tournament`, then `run_tournament`; `rounds` decides who plays whom. A tournament's file has a
table [tournament] (keys: `config.TournamentConfig`), the players by name, and anchors, whose ratings are given:

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

The tournament's folder contains the results, one line per game, from which an interrupted tournament continues, and
the ratings as text and JSON.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.checks import allows, check
from rlgo.base.errors import RlgoError
from rlgo.base.files import ELSEWHERE, check_folder, make_folder, read_file, write_atomically
from rlgo.base.resources import config_path
from rlgo.base.settings import Workers
from rlgo.go.clock import parse_time
from rlgo.go.rules import most_moves
from train import console
from train.arena.elo import PairResult, Ratings, rate, table
from train.arena.openings import Openings, find_openings
from train.arena.pool import GamePool, GameTask, make_pool
from train.arena.prepare import try_players
from train.arena.referee import GameRules
from train.arena.results import PlayedGame, Results, open_results, play_into, read_header, read_results
from train.config import TournamentConfig, read_toml
from train.players.spec import parse_spec
from train.plots import FIRST, light_frame, make_figure, save_figure
from train.provenance import versions
from train.settings import section_from

RESULTS, RATINGS_TEXT, RATINGS_JSON, RATINGS_PNG = "results.jsonl", "ratings.txt", "ratings.json", "ratings.png"


@dataclass(frozen=True)
class TournamentPlan:
    """A tournament as described by its file."""

    settings: TournamentConfig
    players: dict[str, str]  # specs by name
    anchors: dict[str, float]  # Elo by name
    folder: Path  # for everything the tournament writes
    path: Path  # of the file
    out: str | None = None  # the folder that contains the tournament's, if not as in the file

    @property
    def command(self) -> str:
        """The command that plays the tournament, or the rest of it."""
        out = [] if self.out is None else ["--out", self.out]
        return console.command("rlgo", "tournament", self.path, *out)

    @property
    def rules(self) -> GameRules:
        """The rules of every game."""
        s = self.settings
        time = parse_time(s.time) if s.time else None
        return GameRules(s.size, s.komi, s.max_moves or most_moves(s.size), time, sgf=s.sgf)

    @property
    def openings(self) -> Openings:
        """The openings of all pairs."""
        s = self.settings
        return find_openings(s.openings, s.size, s.komi, s.max_moves or None)

    @property
    def total_games(self) -> int:
        """The number of games of the whole tournament."""
        if self.settings.kind == "swiss":
            return len(self.players) // 2 * self.settings.games
        return len(_fixed_pairs(self)) * self.settings.games

    @property
    def header(self) -> dict[str, Any]:
        """The tournament's part of the header of its results, which also names the programs that played."""
        s = self.settings
        keys = ("kind", "bias", "size", "komi", "max_moves", "time", "seed")
        settings = {**{key: getattr(s, key) for key in keys}, "openings": self.openings.name}
        if s.kind != "swiss":  # the first rounds of a longer tournament are those of a shorter one
            settings["challengers"] = list(s.challengers)
        players = [list(player) for player in self.players.items()]  # a list, because the schedule depends on the order
        return {"tournament": s.name, **settings, "players": players}


@dataclass(frozen=True)
class Standing:
    """The state of a tournament: `str` for people, `to_json` for files."""

    plan: TournamentPlan
    ratings: Ratings | None  # None if there are none yet; see `unrated`
    pairs: tuple[PairResult, ...]
    games: int  # finished games
    forfeits: tuple[str, ...]  # which games were forfeited, and why
    versions: dict[str, str]  # of rlgo, what it runs on, and external engines
    unrated: str = ""  # why there are no ratings

    @property
    def finished(self) -> bool:
        """Whether all games have been played."""
        return self.games >= self.plan.total_games

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        pairs = [{"a": r.a, "b": r.b, "score": r.score, "games": r.games, "draws": r.draws} for r in self.pairs]
        return {
            "tournament": self.plan.settings.values(),
            "specs": self.plan.players,
            "anchors": self.plan.anchors,
            "games": self.games,
            "forfeits": list(self.forfeits),
            "finished": self.finished,
            "versions": self.versions,
            "pairs": pairs,
            "unrated": self.unrated,
            **({} if self.ratings is None else self.ratings.to_json()),
        }

    def __str__(self) -> str:
        s = self.plan.settings
        played = {name for pair in self.pairs for name in (pair.a, pair.b)}
        anchors = ", ".join(f"{name} = {elo:g}" for name, elo in self.plan.anchors.items() if name in played)
        time = f", {s.time} s a side" if s.time else ""
        total = self.plan.total_games
        games = f"{self.games:,} games" if self.finished else f"{self.games:,} of {total:,} games"
        lines = [
            f"{s.name}: {s.kind}, {s.size}x{s.size}, komi {s.komi:g}{time}, seed {s.seed}, {games}",
            f"Elo, {anchors or 'mean 0'}; + and - lead to the ends of the 95 % interval",
        ]
        if self.forfeits:
            lines.append(f"{len(self.forfeits)} of the games forfeited")
        if not self.finished:
            lines.append(f"unfinished; continue with: {self.plan.command}")
        if self.ratings is None:
            names = list(self.plan.players)
            return "\n".join([*lines, f"no ratings yet: {self.unrated}", "", cross_table(names, self.pairs)])
        names = [player.name for player in self.ratings.players]
        return "\n".join([*lines, "", table(self.ratings, los=True), "", cross_table(names, self.pairs)])


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def read_tournament(path: str | Path, out: str | None = None) -> TournamentPlan:
    """Read a tournament's file, and check the specs of its players.

    Parameters
    ----------
    path : a TOML file, or the name of a shipped one (see `resources.config_path`)
    out : where to make the tournament's folder; None: as the file says

    Raises
    ------
    RlgoError : naming the file, the key and what was expected.
    """
    file = config_path(path, "tournaments")
    try:
        return _read_plan(file, out)
    except RlgoError as error:
        text = str(error)
        raise RlgoError(text if text.startswith(str(file)) else f"{file}: {text}") from None


def _read_plan(file: Path, out: str | None) -> TournamentPlan:
    """Read a tournament's file; errors do not name it."""
    data = read_toml(file)
    for key in data:
        if key not in ("tournament", "players", "anchors"):
            raise RlgoError(f"unknown table [{key}]: expected [tournament], [players] and [anchors]")
        if not isinstance(data[key], dict):
            raise RlgoError(f"{key}: expected a table [{key}]")
    settings: TournamentConfig = section_from(TournamentConfig, data.get("tournament", {}), str(file))
    players, anchors = data.get("players", {}), data.get("anchors", {})
    _check_players(players)
    _check_settings(settings, players)
    for name, elo in anchors.items():
        if name not in players:
            raise RlgoError(f"anchors.{name}: not among the players: {', '.join(players)}")
        if not allows(float, elo):
            raise RlgoError(f"anchors.{name} = {elo!r}: expected a rating in Elo")
    folder = Path(settings.out if out is None else out) / settings.name
    return TournamentPlan(settings, players, {name: float(elo) for name, elo in anchors.items()}, folder, file, out)


def _check_players(players: Mapping[str, Any]) -> None:
    """Raise an RlgoError unless there are at least two players, with proper names and specs."""
    if len(players) < 2:
        raise RlgoError("[players]: expected at least two, NAME = SPEC each")
    for name, spec in players.items():
        if not isinstance(spec, str):
            raise RlgoError(f"players.{name}: expected a player spec in quotes")
        if not name.isprintable() or not name.strip():
            raise RlgoError(f"players.{name!r}: expected a printable name")
        try:
            parse_spec(spec)
        except RlgoError as error:
            raise RlgoError(f"players.{name}: {error}") from None


def _check_settings(settings: TournamentConfig, players: Mapping[str, Any]) -> None:
    """Raise an RlgoError for settings that contradict each other or the players."""
    challengers = settings.challengers
    for name in challengers:
        if name not in players:
            raise RlgoError(f"tournament.challengers: {name}: not among the players: {', '.join(players)}")
    if len(set(challengers)) < len(challengers):
        raise RlgoError("tournament.challengers: expected different names")
    if (settings.kind == "gauntlet") != bool(challengers) or len(challengers) == len(players):
        raise RlgoError("tournament.challengers: expected some players, but not all, for a gauntlet only")
    if not settings.games:
        raise RlgoError("tournament.games = 0: expected at least 2")
    try:
        find_openings(settings.openings, settings.size, settings.komi, settings.max_moves or None)
    except RlgoError as error:
        raise RlgoError(f"tournament.{error}") from None
    try:
        settings.time and parse_time(settings.time)
    except RlgoError as error:
        raise RlgoError(f"tournament.time: {error}") from None


# ---------------------------------------------------------------------------------------------
# Playing
# ---------------------------------------------------------------------------------------------


def run_tournament(plan: TournamentPlan, jobs: int | None = None, *, progress: bool = True) -> Standing:
    """Play the rest of a tournament, write its ratings, and return its standing.

    Parameters
    ----------
    plan : see `read_tournament`
    jobs : games at a time; None: as the file says
    progress : show progress on standard error

    Returns
    -------
    the standing. After Ctrl-C it is that of the games so far, and not `finished`.

    Raises
    ------
    RlgoError : for players that cannot play, an engine that cannot be started, and the folder of another tournament.
    KeyboardInterrupt : if Ctrl-C comes before the first game is finished.
    """
    s = check("plan", plan, TournamentPlan).settings
    jobs = check("jobs", jobs, Workers | None)
    check_folder(plan.folder, hint=f"; {ELSEWHERE}")
    path = plan.openings.path
    engines, programs, _ = try_players(list(plan.players.values()), s.size, s.komi, [] if path is None else [path])
    header = {**plan.header, "versions": engines, **programs}
    make_folder(plan.folder)
    with open_results(plan.folder / RESULTS, header, s.size) as kept:
        write_atomically(plan.folder / "tournament.toml", read_file(plan.path))
        left = plan.total_games - len(kept.first(plan.total_games))
        try:
            with contextlib.closing(make_pool(jobs or s.jobs, s.cluster, left)) as pool:
                _play_rounds(plan, pool, kept, progress=progress)
        except KeyboardInterrupt:  # also while the pool is being closed
            if not kept.games:
                raise
        standing = _make_standing(plan, kept.first(plan.total_games), engines)
    write_atomically(plan.folder / RATINGS_TEXT, f"{standing}\n".encode())
    write_atomically(plan.folder / RATINGS_JSON, (json.dumps(standing.to_json(), indent=2) + "\n").encode())
    return standing


def _play_rounds(plan: TournamentPlan, pool: GamePool, kept: Results, *, progress: bool) -> None:
    """Play all games that are not in `kept` yet."""
    s, total = plan.settings, plan.total_games
    openings = plan.openings.first(s.games // 2, s.seed)
    sgf = plan.folder / "sgf" / "game-{:06}.sgf" if s.sgf else None
    if sgf is not None:
        make_folder(sgf.parent)
    # A Swiss round begins when the one before is over, so that pairings do not depend on how long games take.
    # The rounds of other tournaments need not wait for each other.
    batches: Iterator[list[Pairing]] = rounds(plan, kept.games)
    if s.kind != "swiss":
        batches = iter([list(itertools.chain.from_iterable(batches))])
    with console.Progress(total, "games", initial=len(kept.first(total)), enabled=progress) as bar:
        for batch in batches:
            finished = kept.numbers
            tasks = [task for task in _tasks(plan, batch, openings) if task.number not in finished]
            for _ in play_into(kept, pool, tasks, bar, sgf):
                pass


def standing_of(plan: TournamentPlan) -> Standing:
    """Return the standing of a tournament without playing. RlgoError if it has not begun.

    Another process may be playing it at the same time, and another version of rlgo may have played it.
    """
    path = plan.folder / RESULTS
    if not path.is_file():
        raise RlgoError(f"{path}: no such file: this tournament has not begun")
    engines = read_header(path)["versions"]
    total = plan.total_games
    games = Results(plan.settings.size, games=read_results(path, plan.header, plan.settings.size)).first(total)
    return _make_standing(plan, games, engines)


# ---------------------------------------------------------------------------------------------
# Who plays whom
# ---------------------------------------------------------------------------------------------


class Pairing(NamedTuple):
    """A pair of players: two games from the same opening, with the colours swapped."""

    number: int  # from 1; its games are 2 * number - 1 and 2 * number
    opening: int  # from 1
    a: str  # Black in the first game
    b: str


def rounds(plan: TournamentPlan, games: Sequence[PlayedGame]) -> Iterator[list[Pairing]]:
    """Yield the pairings of each round.

    games : the finished games. When a Swiss round is requested, it must include all games of earlier rounds. Games of
        later rounds have no effect.
    """
    s = plan.settings
    number = 0
    for opening in range(1, s.games // 2 + 1):
        pairs = _swiss_pairs(plan, games, opening) if s.kind == "swiss" else _fixed_pairs(plan)
        yield [Pairing(number + i, opening, a, b) for i, (a, b) in enumerate(pairs, 1)]
        number += len(pairs)


def _fixed_pairs(plan: TournamentPlan) -> list[tuple[str, str]]:
    """Return the pairs of every round of a round robin or a gauntlet."""
    names, challengers = list(plan.players), plan.settings.challengers
    if challengers:
        return [(a, b) for a in challengers for b in names if b not in challengers]
    return list(itertools.combinations(names, 2))


def _swiss_pairs(plan: TournamentPlan, games: Sequence[PlayedGame], opening: int) -> list[tuple[str, str]]:
    """Draw the pairs of a Swiss round, with a bias towards a similar number of wins (TD paper, Section 4.5).

    In random order, each player draws an opponent among the rest, with probabilities proportional to
    exp(-difference / bias). With an odd number of players, one of those who have played most sits out.
    """
    # The key of the sequence has one number; those of games have two.
    rng = np.random.default_rng(np.random.SeedSequence(plan.settings.seed, spawn_key=(opening,)))
    wins, played = dict.fromkeys(plan.players, 0.0), dict.fromkeys(plan.players, 0)
    for game in sorted(games, key=lambda game: game.number):  # a fixed order, because sums of floats depend on it
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
    plan: TournamentPlan, pairings: Sequence[Pairing], openings: Sequence[tuple[int, ...]]
) -> Iterator[GameTask]:
    """Yield the two games of each pairing."""
    s, specs, rules = plan.settings, plan.players, plan.rules
    for number, opening, a, b in pairings:
        for n, (black, white) in ((2 * number - 1, (a, b)), (2 * number, (b, a))):
            yield GameTask(
                number=n,
                black=specs[black],
                white=specs[white],
                opening=openings[opening - 1],
                seed=s.seed,
                rules=rules,
                comment=f"{s.name}: game {n}, {black} ({specs[black]}) against {white} ({specs[white]}), seed {s.seed}",
                names=(black, white),
                opening_number=opening,
            )


# ---------------------------------------------------------------------------------------------
# Results
# ---------------------------------------------------------------------------------------------


def pair_results(games: Sequence[PlayedGame]) -> list[PairResult]:
    """Return the result of each pair of players, by openings."""
    scores: dict[tuple[str, str], dict[int, list[float]]] = {}
    for game in sorted(games, key=lambda game: game.number):
        a, b = sorted((game.black, game.white))
        score = game.record.z if game.black == a else 1 - game.record.z
        scores.setdefault((a, b), {}).setdefault(game.opening, []).append(score)
    return [PairResult.of_openings(a, b, list(openings.values())) for (a, b), openings in scores.items()]


def _make_standing(plan: TournamentPlan, games: Sequence[PlayedGame], engines: dict[str, str]) -> Standing:
    """Rate the players by some games; engines : versions of external engines by name."""
    pairs = pair_results(games)
    names = {name for pair in pairs for name in (pair.a, pair.b)}
    anchors = {name: elo for name, elo in plan.anchors.items() if name in names}
    ratings, unrated = None, ""
    try:
        ratings = rate(pairs, anchors, plan.settings.prior)
    except RlgoError as error:  # too few games to connect all players
        unrated = str(error)
    forfeits = tuple(f"game {game.number}: {game.record.forfeit}" for game in games if game.record.forfeit)
    return Standing(plan, ratings, tuple(pairs), len(games), forfeits, versions(engines), unrated)


def cross_table(names: Sequence[str], pairs: Sequence[PairResult]) -> str:
    """Format the cross table: percent / games, with rows and columns in the order of the names."""
    scores: dict[tuple[str, str], tuple[float, float]] = {}
    for r in pairs:
        scores[r.a, r.b], scores[r.b, r.a] = (r.score, r.games), (r.games - r.score, r.games)
    rows = []
    for rank, a in enumerate(names, 1):
        met = [scores.get((a, b), (0.0, 0.0)) for b in names]
        rows.append([f"{rank}", a, *(f"{100 * score / n:.1f}/{n:.0f}" if n else "" for score, n in met)])
    header = ["Score", "in % / games", *(f"{rank}" for rank in range(1, len(names) + 1))]
    return console.table(header, rows, align="rl" + "r" * len(names))


def tournament_picture(path: str | Path, standing: Standing) -> None:
    """Write a PNG of a tournament's ratings, best on top, with their 95 % intervals.

    Parameters
    ----------
    path : of the PNG file
    standing : the tournament's standing, with ratings

    Raises
    ------
    RlgoError : without ratings, and without matplotlib.
    """
    if standing.ratings is None:
        raise RlgoError(f"no ratings yet: {standing.unrated}")
    players = standing.ratings.players[::-1]
    figure, axes = make_figure(1, 1, 8, max(2.0, 0.9 + 0.3 * len(players)))
    ax = axes[0, 0]
    for y, player in enumerate(players):
        error = [[player.elo - player.ci95[0]], [player.ci95[1] - player.elo]]
        ax.errorbar([player.elo], [y], xerr=error, fmt="D" if player.anchor else "o", capsize=3, color=FIRST)
        ax.annotate(f"{player.elo:.0f}", (player.elo, y), (0, 5), textcoords="offset points", ha="center", fontsize=8)
    ax.set_yticks(range(len(players)), [player.name for player in players], fontsize=9)
    ax.set_ylim(-0.7, len(players) - 0.3)
    anchors = ", ".join(player.name for player in players if player.anchor)
    ax.set_xlabel(f"Elo ({f'given: {anchors}' if anchors else 'mean 0'}), with 95 % intervals")
    s = standing.plan.settings
    ax.set_title(f"{s.name}: {s.kind}, {s.size}x{s.size}, {standing.games:,} games", fontsize=10, loc="left")
    light_frame(ax, "x")
    save_figure(figure, path)
