"""Matches: colour-swapped games between two players, and a confidence interval of the score.

Start reading at `play_match`. A single game is `referee.play_game`; the interval is `stats.clustered_interval`.

Every opening (`openings.py`) is played twice with the colours swapped. So neither the openings nor the first move
favour either side.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.checks import check, validated
from rlgo.base.errors import RlgoError
from rlgo.base.files import make_folder
from rlgo.base.resources import version
from rlgo.base.settings import (
    DEFAULT_KOMI,
    DEFAULT_SIZE,
    BoardSize,
    Count,
    CountOr0,
    Komi,
    PairedGames,
    SeedNumber,
    Workers,
)
from rlgo.go.clock import TimeSettings
from rlgo.go.rules import most_moves
from rlgo.learning.fast_games import joined
from rlgo.play.player import Player, check_player
from train import console
from train.arena.equal_time import FIRST, EqualTime, check_equal_time, find_equal_time
from train.arena.fast import fast_weights, play_weights
from train.arena.openings import Openings, find_openings
from train.arena.pool import GamePool, GameTask, make_pool
from train.arena.prepare import try_players
from train.arena.referee import GameRules
from train.arena.results import PlayedGame, Results, check_records, open_results, play_into, read_header
from train.arena.sprt import Sprt, Verdict, judge
from train.provenance import versions
from train.stats import clustered_interval, in_percent

_UNEQUAL = 1.1  # ratio of the times of two sides from which they are not equal

# ---------------------------------------------------------------------------------------------
# Settings and results
# ---------------------------------------------------------------------------------------------


class MatchSettings(NamedTuple):
    """Everything that determines the games of a match, apart from the players.

    `play_match` checks them.
    """

    games: PairedGames  # the maximum if there is an SPRT
    size: BoardSize = DEFAULT_SIZE
    komi: Komi = DEFAULT_KOMI
    seed: SeedNumber = 1  # seed of the openings, and of players whose specs set none
    openings: str = ""  # see `openings.find_openings`
    max_moves: Count | None = None  # plies, with the opening, before a game is scored as is
    time: TimeSettings | None = None  # for each side; None: no clock
    sprt: Sprt | None = None  # a test that ends the match once it is decided
    equal_time: bool = False  # find the simulations of B with which it thinks as long as A
    skip: CountOr0 = 0  # openings at the beginning to leave out, as they are played elsewhere

    def combine(self) -> None:
        """Reject openings that leave too little of a game, or none to play."""
        _ = self.found
        if self.skip >= self.games // 2:
            raise RlgoError(f"skip = {self.skip}: expected fewer than the {self.games // 2} openings of the match")

    @property
    def found(self) -> Openings:
        """The openings."""
        return find_openings(self.openings, self.size, self.komi, self.max_moves)

    @property
    def longest(self) -> int:
        """`max_moves`, by default 3 * size * size."""
        return most_moves(self.size) if self.max_moves is None else self.max_moves


@dataclass(frozen=True)
class MatchResult:
    """The result of a match: `str` for people, `to_json` for files."""

    a: str  # the players: their specs, or the names of player objects
    b: str
    games: int  # finished games
    wins: float  # of A; a draw counts 0.5
    win_rate: float  # wins / games
    ci95: tuple[float, float]  # of the win rate; see `stats.clustered_interval`
    scores: list[list[float]]  # of A, by opening, in each of its games
    draws: int
    black_wins: float  # by colour; a draw counts 0.5
    distinct: int  # different games, by their sequence of moves
    mean_length: float  # moves, including passes and the opening
    capped: int  # games stopped after `max_moves` and scored as they stood
    forfeits: int  # games lost by an illegal move, a crash, silence, or on time
    forfeit_reasons: list[str]
    size: int
    komi: float
    seed: int
    openings: str  # their name, see `openings.find_openings`
    max_moves: int
    interrupted: bool  # whether Ctrl-C ended the match before its last game
    versions: dict[str, str]  # of rlgo and what it runs on, and of external engines by name
    # Total time of A and of B; none in a fast match. Not compared, because it varies from run to run.
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)
    time: str = ""  # for each side, as `clock.parse_time` reads it; "": no clock
    sprt: Sprt | None = None
    verdict: Verdict | None = None  # of the SPRT
    # Of the mean search of A and of B; 0: none.
    simulations: tuple[float, float] = field(default=(0.0, 0.0), compare=False)
    equal_time: dict[str, Any] | None = None  # how the simulations of B were found; see `equal_time.EqualTime`
    same_limit: bool = False  # whether both sides have the same limit in seconds

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain data for JSON."""
        return {**dataclasses.asdict(self), "ci95": list(self.ci95)}

    @property
    def pairs(self) -> tuple[int, int, int]:
        """The number of openings from which A won both games, each side one (or both were drawn), and B both.

        In a pair of the second kind, the openings or the colours decided, and not the players.
        """
        sums = [sum(scores) for scores in self.scores if len(scores) == 2]
        return sum(s > 1 for s in sums), sums.count(1), sum(s < 1 for s in sums)

    @property
    def ratio(self) -> float:
        """A's time divided by B's; NaN if it was not measured."""
        a, b = self.seconds
        return a / b if b else math.nan

    def _thinking(self) -> list[str]:
        """Describe the simulations and the time of both sides."""
        lines = []
        a, b = self.simulations
        if a or b:
            lines.append(
                f"simulations a move: A {a:,.0f}, B {b:,.0f}" if a and b else f"simulations a move: {a or b:,.0f}"
            )
        if any(self.seconds):
            ratio = "" if math.isnan(self.ratio) else f", ratio {self.ratio:.2f}"
            lines.append("thinking time: A {:.1f} s, B {:.1f} s".format(*self.seconds) + ratio)
        if self.is_unequal:
            lines.append("WARNING: the sides were to have equal time, but did not")
        return lines

    @property
    def is_unequal(self) -> bool:
        """Whether the sides were to have equal time, and one took over 10 % more."""
        return (self.same_limit or self.equal_time is not None) and not 1 / _UNEQUAL <= self.ratio <= _UNEQUAL

    def __str__(self) -> str:
        share, low, high = (100 * x for x in (self.win_rate, *self.ci95))
        time = f", {self.time} s a side" if self.time else ""
        lines = [
            f"{self.a} against {self.b}, {self.size}x{self.size}, komi {self.komi:g}{time}",
            f"{self.a} won {self.wins:g} of {self.games}: {share:.1f} % (95 % interval {low:.1f} to {high:.1f})",
            f"{self.distinct} distinct games of {self.mean_length:.0f} moves; Black won {self.black_wins:g}",
            "pairs of games: A won both in {}, each side one in {}, B both in {}".format(*self.pairs)
            + f"; openings: {self.openings}",
            *self._thinking(),
        ]
        for count, what in (
            (self.draws, "drawn (counted as half a win each)"),
            (self.capped, f"stopped after {self.max_moves} moves and scored as they stood"),
            (self.forfeits, "forfeited"),
        ):
            if count:
                lines.append(f"{count} of the games {what}")
        if self.sprt is not None and self.verdict is not None:
            lines.append(self.verdict.describe(self.sprt))
        if self.interrupted:
            lines.append("interrupted before the last game")
        return "\n".join(lines)


# ---------------------------------------------------------------------------------------------
# A match
# ---------------------------------------------------------------------------------------------


def play_match(
    a: str | Player, b: str | Player, games: int, *, fast: bool = False, jobs: int = 1, cluster: str = "",
    results: str | Path | None = None, sgf: str | Path | None = None, progress: bool = True, **settings: Any,
) -> MatchResult:  # fmt: skip
    """Play a match between two players.

    Parameters
    ----------
    a, b : player specs (`train.players.spec`), or players. A spec gets a new player for each game, whose random numbers
        depend on the seed and the game; engines are closed at the end.
    games : an even number. The openings of a shorter match are the first ones of a longer match.
    fast : play in compiled code, thousands of games a second. Only for greedy and random players, by the rules of
        simulations (simple ko instead of superko, no early passes), and with other random openings.
    jobs : number of games at a time, each in its own process. Player objects play in this process, one at a time.
    cluster : play on this Ray cluster instead, at most `jobs` games at a time, or as many as it has CPUs if jobs = 1
    results : a JSONL file to which each game is appended. If it contains part of the same match, the match continues.
    sgf : a folder for a record of every game, with the players' comments on their moves
    progress : show progress on standard error
    settings : size, komi, seed, openings and all others of `MatchSettings`

    Returns
    -------
    the result. After Ctrl-C, it covers the games finished so far and is marked `interrupted`.

    Raises
    ------
    RlgoError : for bad arguments or specs, for an engine that cannot be started (again), and for a results file of
        another match.
    KeyboardInterrupt : if Ctrl-C comes before the first game is finished.

    >>> from train import play_match
    >>> play_match("greedy", "random", games=2, progress=False).wins
    2.0
    """
    s = validated(MatchSettings(games, **settings))
    for name, player in {"a": a, "b": b}.items():
        _ = isinstance(player, str) or check_player(name, player)
    fast, jobs, cluster = check("fast", fast, bool), check("jobs", jobs, Workers), check("cluster", cluster, str)
    path, records = check("results", results, Path | None), check("sgf", sgf, Path | None)
    if fast:
        others = {
            "time": s.time, "jobs": jobs > 1, "cluster": cluster, "results": results, "sgf": sgf, "sprt": s.sprt,
            "equal_time": s.equal_time, "skip": s.skip,
        }  # fmt: skip
        if given := [name for name, value in others.items() if value]:
            raise RlgoError(f"fast cannot be combined with {' or '.join(given)}")
        return _play_fast(a, b, s, progress=progress)
    if jobs > 1 or cluster:
        _check_elsewhere(a, b, s)
    _check_sgf_folder(records, path)
    own = "a" if isinstance(b, str) and b.startswith("gtp:") else "b"  # whose simulations follow the other's time
    found = _equal_time(a, b, own, s, path, progress=progress) if s.equal_time else None
    sides = (a, b) if found is None else (found.spec, b) if own == "a" else (a, found.spec)
    match = _Match(sides, s, records, found)
    match.prepare()
    with open_results(path, match.header, s.size) as kept:
        interrupted = match.play(kept, jobs, cluster, progress=progress)
        return match.result(kept, interrupted=interrupted)


def _check_sgf_folder(records: Path | None, results: Path | None) -> None:
    """Raise RlgoError if a new match finds records in its folder.

    A match with a results file has begun. It may have records before it has games, because they are written first.
    """
    if records is not None:
        check_records(records, is_new=results is None or not results.exists() or results.stat().st_size == 0)


def _check_elsewhere(a: str | Player, b: str | Player, settings: MatchSettings) -> None:
    """Raise RlgoError for games that only this process can play, one at a time."""
    if settings.equal_time:
        raise RlgoError("equal_time cannot be combined with jobs or a cluster: it needs one core")
    if not (isinstance(a, str) and isinstance(b, str)):
        raise RlgoError("player objects play in this process: expected player specs with jobs or a cluster")


class _Match:
    """A match of games judged by rlgo's referee. Call `prepare` first."""

    def __init__(
        self,
        players: tuple[str | Player, str | Player],
        settings: MatchSettings,
        sgf: Path | None,
        equal_time: EqualTime | None = None,
    ) -> None:
        self.equal_time = None if equal_time is None else equal_time.to_json()
        self.same_limit = False
        self.given, self.settings, self.sgf = players, settings, sgf
        self.names = [player if isinstance(player, str) else player.name for player in players]
        # How tasks refer to a player: by its spec or, for an object, by a name that cannot be a spec.
        self.specs = [player if isinstance(player, str) else f"{player.name}@{id(player)}" for player in players]
        self.players = {
            spec: player for spec, player in zip(self.specs, players, strict=True) if not isinstance(player, str)
        }
        self.time = "" if settings.time is None else str(settings.time)
        self.engines: dict[str, str] = {}  # versions by name
        self.header: dict[str, Any] = {}  # of the results file

    def prepare(self) -> None:
        """Check that both players can play. RlgoError as in `play_match`."""
        s = self.settings
        path = s.found.path
        self.engines, programs, seconds = try_players(self.given, s.size, s.komi, [] if path is None else [path])
        self.same_limit = s.time is not None or (seconds[0] is not None and len(set(seconds)) == 1)
        self.header = {
            "a": self.names[0],
            "b": self.names[1],
            "size": s.size,
            "komi": s.komi,
            "seed": s.seed,
            "openings": s.found.name,
            "max_moves": s.longest,
            "time": self.time,
            "versions": self.engines,
            **programs,
            **({} if self.equal_time is None else {"equal_time": self.equal_time}),
        }

    def own(self, kept: Results) -> list[PlayedGame]:
        """Return the finished games of this match, in order. The file of a longer match contains others, too."""
        return [game for game in kept.first(self.settings.games) if game.opening > self.settings.skip]

    def tasks(self, finished: set[int]) -> Iterator[GameTask]:
        """Yield the games that are left to play. A is Black in the odd ones."""
        s = self.settings
        rules = GameRules(s.size, s.komi, s.longest, s.time, self.sgf is not None)
        openings = itertools.islice(s.found.sequence(s.seed), s.games // 2)
        for number, opening in itertools.islice(enumerate(openings, 1), s.skip, None):
            for n, black, white in ((2 * number - 1, 0, 1), (2 * number, 1, 0)):
                if n not in finished:
                    yield GameTask(
                        number=n,
                        black=self.specs[black],
                        white=self.specs[white],
                        opening=opening,
                        seed=s.seed,
                        rules=rules,
                        comment=self._comment(n),
                        names=(self.names[black], self.names[white]),
                        opening_number=number,
                    )

    def _comment(self, number: int) -> str:
        """Return the comment of a game's SGF record."""
        hidden = ("a", "b", "versions", "files")
        settings = [f"{key} {value}" for key, value in self.header.items() if key not in hidden and value != ""]
        first = f"rlgo {version()}: game {number} of {self.names[0]} against {self.names[1]}"
        engines = [f"{name} {number}" for name, number in self.engines.items()]
        return "\n".join([first, ", ".join(settings), *engines])

    def play(self, kept: Results, jobs: int, cluster: str, *, progress: bool) -> bool:
        """Play the rest of the match; return whether Ctrl-C ended it.

        KeyboardInterrupt if no game of this match is finished.
        """
        left = self.settings.games - 2 * self.settings.skip - len(self.own(kept))
        interrupted = True
        try:
            with contextlib.closing(make_pool(jobs, cluster, left, self.players)) as pool:
                self._play_in(pool, kept, progress=progress)
                interrupted = False
        except KeyboardInterrupt:  # also while the pool is being closed
            if not self.own(kept):
                raise
        return interrupted

    def _play_in(self, pool: GamePool, kept: Results, *, progress: bool) -> None:
        """Play the rest of the match in a pool, or until its test is decided."""
        games, tasks = self.settings.games - 2 * self.settings.skip, self.tasks(kept.numbers)
        if self.sgf is not None:
            make_folder(self.sgf)
        sgf = None if self.sgf is None else self.sgf / "game-{:05}.sgf"
        with console.Progress(games, "games", initial=len(self.own(kept)), enabled=progress) as bar:
            played = play_into(kept, pool, tasks, bar, sgf)
            while not self.is_decided(kept) and next(played, None) is not None:
                bar.set_postfix(lambda: _won(self.own(kept)))

    def verdict(self, kept: Results) -> Verdict | None:
        """Return the state of the match's test; None without one.

        Openings count in order, up to one that is not finished. So it does not depend on how long single games take.
        """
        if self.settings.sprt is None:
            return None
        scores = scores_by_opening(self.own(kept))
        openings = itertools.count(self.settings.skip + 1)
        complete = itertools.takewhile(lambda opening: len(scores.get(opening, [])) == 2, openings)
        return judge([sum(scores[opening]) / 2 for opening in complete], self.settings.sprt)

    def is_decided(self, kept: Results) -> bool:
        """Return whether the match has a test that is decided."""
        verdict = self.verdict(kept)
        return verdict is not None and verdict.accepted != ""

    def result(self, kept: Results, *, interrupted: bool) -> MatchResult:
        """Return the result of the finished games. Those after the end of a test do not count."""
        games, verdict = self.own(kept), self.verdict(kept)
        if verdict is not None and verdict.accepted:
            games = [game for game in games if game.opening <= self.settings.skip + verdict.openings]
        records = [game.record for game in games]
        forfeits = [f"game {game.number}: {game.record.forfeit}" for game in games if game.record.forfeit]
        return _make_result(
            self.names,
            self.settings,
            list(scores_by_opening(games).values()),
            black_wins=sum(record.z for record in records),
            distinct=len({record.moves for record in records}),
            mean_length=sum(len(record.moves) for record in records) / len(records),
            capped=sum(record.capped for record in records),
            forfeits=len(forfeits),
            forfeit_reasons=forfeits,
            interrupted=interrupted,
            versions=versions(self.engines),
            seconds=_seconds(games),
            simulations=_simulations(games),
            equal_time=self.equal_time,
            same_limit=self.same_limit,
            time=self.time,
            sprt=self.settings.sprt,
            verdict=verdict,
        )


def _make_result(names: Sequence[str], s: MatchSettings, scores: list[list[float]], **others: Any) -> MatchResult:
    """Make a result from A's scores by opening; `others` are the remaining fields."""
    flat = [y for opening in scores for y in opening]
    return MatchResult(
        a=names[0],
        b=names[1],
        games=len(flat),
        wins=sum(flat),
        win_rate=sum(flat) / len(flat),
        ci95=clustered_interval(scores),
        scores=scores,
        draws=flat.count(0.5),
        size=s.size,
        komi=s.komi,
        seed=s.seed,
        openings=s.found.name,
        max_moves=s.longest,
        **others,
    )


def scores_by_opening(games: Sequence[PlayedGame]) -> dict[int, list[float]]:
    """Return A's scores in the games of each opening, in their order."""
    scores: dict[int, list[float]] = {}
    for game in sorted(games, key=lambda game: game.number):
        scores.setdefault(game.opening, []).append(_score(game))
    return scores


def _score(game: PlayedGame) -> float:
    """Return A's score in a game. A is Black in the odd ones."""
    return game.record.z if game.number % 2 else 1 - game.record.z


def _won(games: Sequence[PlayedGame]) -> str:
    """Return A's share of the points, with its interval."""
    scores = list(scores_by_opening(games).values())
    return f"won {in_percent(sum(map(sum, scores)) / sum(map(len, scores)), clustered_interval(scores))}"


def _seconds(games: Sequence[PlayedGame]) -> tuple[float, float]:
    """Return the total time of A and of B, from times rounded as in results files."""
    sides = [[round(s, 3) for s in game.record.seconds][:: 1 if game.number % 2 else -1] for game in games]
    a, b = (math.fsum(side) for side in zip(*sides, strict=True))
    return a, b


def _simulations(games: Sequence[PlayedGame]) -> tuple[float, float]:
    """Return the mean number of simulations of the searches of A and of B; 0 for a side without any."""
    sides = np.zeros((2, 2))  # simulations and searches, of A and B
    for game in games:
        sides += np.array([game.record.simulations, game.record.searches])[:, :: 1 if game.number % 2 else -1]
    a, b = (float(n / max(1, searches)) for n, searches in sides.T)
    return a, b


def _equal_time(
    a: str | Player, b: str | Player, own: str, s: MatchSettings, results: Path | None, *, progress: bool
) -> EqualTime:
    """Find the simulations of player `own`, "a" or "b", or read those that a match has begun with."""
    a, b = check_equal_time(*((b, a) if own == "a" else (a, b)))
    if results is not None and results.is_file() and results.stat().st_size:
        known = read_header(results)
        calibration = known.get("equal_time")
        if calibration is None or not known[own].startswith(f"{b},simulations="):
            raise RlgoError(f"{results}: results of other games: expected some at equal time; move the file away")
        return EqualTime(known[own], **calibration)
    try_players([a, f"{b},simulations={FIRST}"], s.size, s.komi)
    rules = GameRules(s.size, s.komi, s.longest, s.time)
    return find_equal_time(a, b, s.found, rules, s.seed, progress=progress)


def _play_fast(a: str | Player, b: str | Player, s: MatchSettings, *, progress: bool) -> MatchResult:
    """Play a match in compiled code. KeyboardInterrupt if Ctrl-C comes before the first games are finished."""
    slices = play_weights(
        fast_weights(a, s.size),
        fast_weights(b, s.size),
        s.size,
        s.games,
        seed=s.seed,
        komi=s.komi,
        openings=s.found.array(s.games // 2, s.seed),
        max_moves=s.longest,
    )
    parts, interrupted = [], False
    with console.Progress(s.games, "games", enabled=progress) as bar:
        try:
            for part in slices:
                parts.append(part)
                bar.update(part.scores.size)
        except KeyboardInterrupt:
            if not parts:
                raise
            interrupted = True
    games = joined(parts)
    scores = games.scores
    return _make_result(
        (str(a), str(b)),
        s,
        scores.tolist(),
        black_wins=float(scores[:, 0].sum() + (1 - scores[:, 1]).sum()),
        distinct=len(np.unique(games.digests)),
        mean_length=float(np.abs(games.lengths).mean()),
        capped=int((games.lengths < 0).sum()),
        forfeits=0,
        forfeit_reasons=[],
        interrupted=interrupted,
        versions=versions(),
    )
