"""Colour-swapped games between two players, inside or over GTP, and what they tell about who is stronger.

Start reading at `play_match`; the confidence interval is `clustered_interval`. A single game is `referee.play_game`.

Every opening, a few random moves, is played twice with the colours swapped, so that neither the openings nor
the first move favour anyone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rlgo.board import PASS
from rlgo.clock import TimeSettings
from rlgo.errors import RlgoError
from rlgo.fast_games import FastGames, play_fast
from rlgo.game import Game
from rlgo.jit import compiling
from rlgo.player import Player
from rlgo.resources import version
from rlgo.settings import SIZES
from rlgo.shapes import FeatureSet, make_features, unshare
from rlgo.weights import Weights
from train.arena.pool import Farm, GameTask, make_farm
from train.arena.referee import GameRecord, Rules
from train.arena.results import Played, Results, open_results, play_into
from train.arena.sprt import Sprt, Verdict, judge
from train.players.spec import make_player, nested_spec, parse_spec, weights_file
from train.provenance import programs, versions
from train.stats import clustered_interval, in_percent


@dataclass(frozen=True)
class MatchResult:
    """What a match says; `str` for people, `to_json` for files."""

    a: str  # the players: their specs, or their names where objects were given
    b: str
    games: int  # games completed
    wins: float  # of A; a draw counts 0.5
    win_rate: float  # wins / games
    ci95: tuple[float, float]  # of the win rate; see `clustered_interval`
    scores: list[list[float]]  # of A, by opening, in each of its games
    draws: int
    black_wins: float  # by colour; a draw counts 0.5
    distinct: int  # different games, by their sequence of moves
    mean_length: float  # moves, passes and the opening included
    capped: int  # games stopped at `max_moves` and scored as they stood
    forfeits: int  # games lost by an illegal move, a crash, silence, or time
    forfeit_reasons: list[str]
    size: int
    komi: float
    seed: int
    opening_plies: int
    max_moves: int
    interrupted: bool  # whether Ctrl-C ended the match before its last game
    versions: dict[str, str]  # of rlgo and what it runs on, and of outside engines by name
    # That A and B thought, in all games; a fast match has none. The same games again take another time.
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)
    time: str = ""  # of each side, as `clock.parse_time` reads it; "": no limit
    sprt: Sprt | None = None
    verdict: Verdict | None = None  # of the test
    disputed: int = 0  # games whose final score an engine told otherwise than the referee, where asked

    def to_json(self) -> dict[str, Any]:
        """All fields, as what `json` can write."""
        return {**dataclasses.asdict(self), "ci95": list(self.ci95)}

    def __str__(self) -> str:
        low, high = self.ci95
        time = f", {self.time} s a side" if self.time else ""
        lines = [
            f"{self.a} against {self.b}, {self.size}x{self.size}, komi {self.komi:g}{time}",
            f"{self.a} won {self.wins:g} of {self.games}: {self.win_rate:.1%} (95 % interval {low:.1%} to {high:.1%})",
            f"{self.distinct} distinct games of {self.mean_length:.0f} moves; Black won {self.black_wins:g}",
        ]
        for count, what in (
            (self.draws, "drawn (counted as half a win each)"),
            (self.capped, f"stopped after {self.max_moves} moves and scored as they stood"),
            (self.forfeits, "forfeited"),
            (self.disputed, "scored otherwise by an engine"),
        ):
            if count:
                lines.append(f"{count} of the games {what}")
        if self.sprt is not None and self.verdict is not None:
            told = {
                "H0": f"not {self.sprt.elo1:g} Elo stronger",
                "H1": f"more than {self.sprt.elo0:g} Elo stronger",
                "": "undecided",
            }[self.verdict.accepted]
            bounds = ", ".join(f"{bound:.2f}" for bound in self.sprt.bounds)
            lines.append(
                f"SPRT elo0={self.sprt.elo0:g}, elo1={self.sprt.elo1:g}: {told} after {self.verdict.openings} openings "
                f"(log-likelihood ratio {self.verdict.llr:.2f}, bounds {bounds})"
            )
        if self.interrupted:
            lines.append("interrupted before the last game")
        return "\n".join(lines)


def play_match(
    a: str | Player,
    b: str | Player,
    games: int,
    size: int = 9,
    komi: float = 7.5,
    seed: int = 1,
    opening_plies: int = 4,
    max_moves: int | None = None,
    fast: bool = False,
    progress: bool = True,
    time: TimeSettings | None = None,
    jobs: int = 1,
    cluster: str = "",
    results: str | Path | None = None,
    sgf: str | Path | None = None,
    sprt: Sprt | None = None,
    check_scores: bool = False,
) -> MatchResult:
    """Play a match.

    Parameters
    ----------
    a, b : player specs (`train.players.spec`), or players. Of a spec each game has a player of its own, whose random
        numbers depend on the seed and the game; engines are closed at the end.
    games : an even number, since every opening is played with both colours; with `sprt`, at most
    seed : of the openings, and of players whose specs name none. The openings of a shorter match are the
        first ones of a longer match.
    opening_plies : uniformly random sensible moves at the start of each game
    max_moves : plies, the opening included, after which a game is scored as it stands (None: 3 * size * size)
    fast : play inside compiled code, thousands of games a second: for greedy and random players only, by the
        rules of simulations (simple ko in place of superko, nobody passes early), with openings of its own
    progress : show a progress bar on stderr
    time : what each side may use for a game; who oversteps it has lost
    jobs : games at a time, in processes of their own; players that are objects play in this one, a game at a time
    cluster : play on a Ray cluster instead, `jobs` games at a time at most, or as many as it has CPUs (jobs = 1)
    results : a JSONL file that each game is appended to; a match that has begun in it goes on
    sgf : a folder for a record of every game, with what players told of their moves
    sprt : stop as soon as this test is decided
    check_scores : ask engines for their final_score, too, and count where it is not the referee's

    Returns
    -------
    the result; after Ctrl-C, that of the games completed so far, marked `interrupted`.

    Raises
    ------
    RlgoError : for bad arguments or specs, for an engine that cannot be started, or not a second time, and for a
        results file of another match.
    KeyboardInterrupt : before the first game is completed.
    """
    if games < 2 or games % 2:
        raise RlgoError(f"games = {games}: expected an even number, for every opening is played twice")
    if opening_plies < 0:
        raise RlgoError(f"opening_plies = {opening_plies}: expected at least 0")
    max_moves = 3 * size * size if max_moves is None else max_moves
    if max_moves < 1:
        raise RlgoError(f"max_moves = {max_moves}: expected at least 1")
    if fast:
        if time or jobs > 1 or cluster or results or sgf or sprt or check_scores:
            raise RlgoError("a fast match has no clocks, processes, records and tests")
        return _play_fast(a, b, games, size, komi, seed, opening_plies, max_moves)
    names = [player if isinstance(player, str) else player.name for player in (a, b)]
    # What stands for a player in the tasks: its spec; or for an object, a name that is no spec.
    specs = [player if isinstance(player, str) else f"{player.name}@{id(player)}" for player in (a, b)]
    given = {key: player for key, player in zip(specs, (a, b), strict=True) if not isinstance(player, str)}
    if given and (jobs > 1 or cluster):
        raise RlgoError("players that are objects play in this process: expected specs for jobs, or a cluster")
    engines = try_out((a, b), size, komi)
    rules = Rules(size, komi, max_moves, time, check_scores, sgf is not None)
    limits = "" if time is None else str(time)
    about = {
        "a": names[0], "b": names[1], "size": size, "komi": komi, "seed": seed, "opening_plies": opening_plies,
        "max_moves": max_moves, "time": limits, "versions": engines, **programs_of(specs),
    }  # fmt: skip
    openings = openings_of(size, games // 2, min(opening_plies, max_moves), seed)
    interrupted = False
    with open_results(None if results is None else Path(results), about, size) as kept:
        tasks = [
            _task(n, specs, names, openings[(n - 1) // 2], seed, rules, _comment(about, n))
            for n in range(1, games + 1)
            if n not in kept.numbers
        ]
        with contextlib.closing(make_farm(jobs, cluster, len(tasks), given)) as farm:
            try:
                _play(farm, tasks, kept, names, games, sgf, sprt, progress)
            except KeyboardInterrupt:
                if not kept.games:
                    raise
                interrupted = True
        played = sorted((game for game in kept.games if game.number <= games), key=lambda game: game.number)

    scores = list(_by_opening(played).values())
    records = [game.record for game in played]
    forfeits = [f"game {game.number}: {game.record.forfeit}" for game in played if game.record.forfeit]
    flat = [y for opening in scores for y in opening]
    return MatchResult(
        a=names[0],
        b=names[1],
        games=len(played),
        wins=sum(flat),
        win_rate=sum(flat) / len(flat),
        ci95=clustered_interval(scores),
        scores=scores,
        draws=sum(record.z == 0.5 for record in records),
        black_wins=sum(record.z for record in records),
        distinct=len({record.moves for record in records}),
        mean_length=sum(len(record.moves) for record in records) / len(records),
        capped=sum(record.capped for record in records),
        forfeits=len(forfeits),
        forfeit_reasons=forfeits,
        size=size,
        komi=komi,
        seed=seed,
        opening_plies=opening_plies,
        max_moves=max_moves,
        interrupted=interrupted,
        versions=versions(engines),
        seconds=_seconds(played),
        time=limits,
        sprt=sprt,
        verdict=None if sprt is None else judge(_means(played), sprt),
        disputed=sum(is_disputed(record) for record in records),
    )


def _task(
    n: int, specs: Sequence[str], names: Sequence[str], opening: tuple[int, ...], seed: int, rules: Rules, comment: str
) -> GameTask:
    """Game n: A is Black in the odd ones."""
    black, white = (0, 1) if n % 2 else (1, 0)
    return GameTask(
        n, specs[black], specs[white], opening, seed, rules, comment, (names[black], names[white]), (n + 1) // 2
    )


def is_disputed(record: GameRecord) -> bool:
    """Whether an engine told another score than the referee. One that told none says nothing."""
    return any(_points(score) not in (None, _points(record.result)) for score in record.scores.values())


def _points(result: str) -> float | None:
    """Black's lead in a result: 3.5 for ``B+3.5``, 0 for a draw; None where it tells no points."""
    match = re.fullmatch(r"([BW])\+(\d+\.?\d*)|0(?:\.0)?|draw", result.strip(), re.IGNORECASE)
    if match is None:
        return None
    return float(match[2]) * (1 if match[1].upper() == "B" else -1) if match[1] else 0.0


def programs_of(specs: Sequence[str]) -> dict[str, Any]:
    """What plays, beside the specs: the sources of rlgo, and the files that specs name."""
    paths = {text: weights_file(text, 0) for text in itertools.chain.from_iterable(map(_named_files, specs))}
    return programs({text: path for text, path in paths.items() if path.is_file()})


def _named_files(spec: str) -> list[str]:
    """What may be files in a player's spec, and in that of the player who searches first for it."""
    named = {} if "@" in spec else parse_spec(spec).values
    found = [text for key in ("weights", "long", "first") if (text := str(named.get(key, "")))]
    return found + (_named_files(nested_spec(named["first"])) if named.get("first") else [])


def try_out(players: Sequence[str | Player], size: int, komi: float) -> dict[str, str]:
    """See that all can play, and have compiled what they need; returns the versions of outside engines by name."""
    Game(size, komi)  # checks the size, and compiles before the clock of any engine runs
    engines = {}
    for given in players:
        player = make_player(given, size, 0) if isinstance(given, str) else given
        try:
            if player.sizes is not None and size not in player.sizes:
                raise RlgoError(f"player {player.name}: does not play on {size}x{size}")
            player.warm_up()
            if player.version is not None:
                engines[player.name] = player.version
        finally:
            if player is not given:
                player.close()
    return engines


def openings_of(size: int, n: int, plies: int, seed: int) -> list[tuple[int, ...]]:
    """n openings; the first ones of any more of the same seed."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    return [tuple(random_opening(size, plies, rng)) for _ in range(n)]


def _comment(about: dict[str, Any], number: int) -> str:
    """What a game's SGF record says of it."""
    told = [
        f"{key} {value}" for key, value in about.items() if key not in ("a", "b", "versions", "files") and value != ""
    ]
    engines = [f"{name} {version}" for name, version in about["versions"].items()]
    first = f"rlgo {version()}: game {number} of {about['a']} against {about['b']}"
    return "\n".join([first, ", ".join(told), *engines])


def _play(
    farm: Farm, tasks: Sequence[GameTask], kept: Results, names: Sequence[str], games: int, sgf: str | Path | None,
    sprt: Sprt | None, progress: bool,
) -> None:  # fmt: skip
    """Play what is left of a match, until the test is decided."""
    if sgf is not None:
        Path(sgf).mkdir(parents=True, exist_ok=True)
        if not kept.games and any(Path(sgf).glob("game-*.sgf")):
            raise RlgoError(f"{sgf}: holds the records of another match: expected a new or an empty folder")

    def is_decided() -> bool:
        # The openings in their order, up to the first that is not over: so the end depends on nobody's speed.
        return sprt is not None and bool(judge(_means(kept.games)[: games // 2], sprt).accepted)

    done = len([game for game in kept.games if game.number <= games])
    with tqdm(total=games, initial=done, unit="game", file=sys.stderr, dynamic_ncols=True, disable=not progress) as bar:
        if is_decided():
            return
        for _ in play_into(kept, farm, tasks, None if sgf is None else Path(sgf), "game-{:05}.sgf", bar):
            scores = list(_by_opening(kept.games).values())
            rate = sum(map(sum, scores)) / sum(map(len, scores))
            bar.set_postfix_str(f"won {in_percent(rate, clustered_interval(scores))}", refresh=False)
            if is_decided():
                return


def _by_opening(games: Sequence[Played]) -> dict[int, list[float]]:
    """A's scores, in the order of the games. It is Black in the first game of every opening."""
    found: dict[int, list[float]] = {}
    for game in sorted(games, key=lambda game: game.number):
        found.setdefault(game.opening, []).append(game.record.z if game.number % 2 else 1 - game.record.z)
    return found


def _seconds(games: Sequence[Played]) -> tuple[float, float]:
    """That A and B thought; A is Black in the odd games."""
    sides = [[round(s, 3) for s in game.record.seconds][:: 1 if game.number % 2 else -1] for game in games]
    a, b = (math.fsum(side) for side in zip(*sides, strict=True))  # rounded as results files have them
    return a, b


def _means(games: Sequence[Played]) -> list[float]:
    """A's mean score in each opening, in their order, up to the first that is not over."""
    by_opening = _by_opening(games)
    n = next(i for i in itertools.count(1) if len(by_opening.get(i, [])) < 2)
    return [sum(by_opening[i]) / 2 for i in range(1, n)]


def _play_fast(
    a: str | Player, b: str | Player, games: int, size: int, komi: float, seed: int, opening_plies: int, max_moves: int
) -> MatchResult:
    """`play_match` by `meet_fast`."""
    weights = [_fast_weights(player, size) for player in (a, b)]
    meeting = meet_fast(weights[0], weights[1], size, games, seed, komi, min(opening_plies, max_moves), max_moves)
    scores = meeting.scores
    return MatchResult(
        a=str(a),
        b=str(b),
        games=scores.size,
        wins=float(scores.sum()),
        win_rate=float(scores.mean()),
        ci95=clustered_interval(scores.tolist()),
        scores=scores.tolist(),
        draws=int((scores == 0.5).sum()),
        black_wins=float(scores[:, 0].sum() + (1 - scores[:, 1]).sum()),
        distinct=len(np.unique(meeting.digests)),
        mean_length=float(np.abs(meeting.lengths).mean()),
        capped=int((meeting.lengths < 0).sum()),
        forfeits=0,
        forfeit_reasons=[],
        size=size,
        komi=komi,
        seed=seed,
        opening_plies=opening_plies,
        max_moves=max_moves,
        interrupted=False,
        versions=versions(),
    )


def meet_fast(
    a: Weights | None,
    b: Weights | None,
    size: int,
    games: int,
    seed: int | np.random.SeedSequence,
    komi: float,
    opening: int = 4,
    max_moves: int = 0,
) -> FastGames:
    """`fast_games.play_fast` between the greedy players of any weights for one board size; None plays at random."""
    features, (theta_a, theta_b) = on_common_features([a, b], size)
    with compiling(f"matches, {size}x{size}"):
        return play_fast(features, theta_a, theta_b, games, seed, komi, opening, max_moves)


def on_common_features(weights: Sequence[Weights | None], size: int) -> tuple[FeatureSet, list[np.ndarray]]:
    """Value functions of one board size in the form in which any two can meet (`fast_games.play_fast`).

    Parameters
    ----------
    weights : of players; None stands for the random player
    size : the board size of all of them

    Returns
    -------
    (a feature set, theta of each player on it): their own where they share one, else all shapes without sharing.
    """
    sets = {w.features.name: w.features for w in weights if w is not None}
    if len(sets) > 1:
        features = make_features(size, SIZES, "none")
        thetas = [None if w is None else unshare(w.features, w.theta)[1] for w in weights]
    else:
        features = next(iter(sets.values()), None) or make_features(size)
        thetas = [None if w is None else w.theta for w in weights]
    return features, [np.zeros(features.n_weights + 1, np.float32) if theta is None else theta for theta in thetas]


def _fast_weights(player: str | Player, size: int) -> Weights | None:
    """The weights of a greedy player's spec; None for the random player."""
    from rlgo.weights import load_weights

    spec = parse_spec(player) if isinstance(player, str) else None
    if spec is not None and spec.name == "random":
        return None
    if spec is None or spec.name != "greedy" or spec.values.get("epsilon"):
        raise RlgoError(f"player {player}: a fast match takes greedy (without epsilon) and random players only")
    return load_weights(weights_file(spec.values.get("weights", ""), size), size)


def random_opening(size: int, plies: int, rng: np.random.Generator) -> list[int]:
    """Uniformly random sensible moves from the empty board; a pass where there is none."""
    game = Game(size)
    for _ in range(plies):
        moves = game.sensible_moves()
        game.play(moves[rng.integers(len(moves))] if moves else PASS)
    return [p for _, p in game.moves]
