"""Colour-swapped games between two players, inside or over GTP, and what they tell about who is stronger.

Start reading at `play_match`; the confidence interval is `clustered_interval`.

Every opening, a few random moves, is played twice with the colours swapped, so that neither the openings nor
the first move favour anyone. `Game` is the referee: it knows superko, and who breaks the rules forfeits the
game. Games are scored by area as they stand at the end; all stones count as alive.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import platform
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from rlgo.board import BLACK, PASS, WHITE
from rlgo.errors import RlgoError
from rlgo.game import COLOR_NAMES, Game
from rlgo.jit import compiling
from rlgo.player import RESIGN, Player
from rlgo.resources import version
from rlgo.selfplay import Meeting, hold_meeting
from rlgo.shapes import SIZES, FeatureSet, make_features, unshare
from rlgo.weights import Weights
from train.engines import EngineError, GtpClient
from train.players import make_player, parse_spec


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
    forfeits: int  # games lost by an illegal move, a crash or silence
    forfeit_reasons: list[str]
    size: int
    komi: float
    seed: int
    opening_plies: int
    max_moves: int
    interrupted: bool  # whether Ctrl-C ended the match before its last game
    versions: dict[str, str]  # of rlgo and what it runs on, and of outside engines by name

    def to_json(self) -> dict[str, Any]:
        """All fields, as what `json` can write."""
        return {**dataclasses.asdict(self), "ci95": list(self.ci95)}

    def __str__(self) -> str:
        low, high = self.ci95
        lines = [
            f"{self.a} against {self.b}, {self.size}x{self.size}, komi {self.komi:g}",
            f"{self.a} won {self.wins:g} of {self.games}: {self.win_rate:.1%} (95 % interval {low:.1%} to {high:.1%})",
            f"{self.distinct} distinct games of {self.mean_length:.0f} moves; Black won {self.black_wins:g}",
        ]
        for count, what in (
            (self.draws, "drawn (counted as half a win each)"),
            (self.capped, f"stopped after {self.max_moves} moves and scored as they stood"),
            (self.forfeits, "forfeited"),
        ):
            if count:
                lines.append(f"{count} of the games {what}")
        if self.interrupted:
            lines.append("interrupted before the last game")
        return "\n".join(lines)


@dataclass(frozen=True)
class _GameRecord:
    z: float  # 1 Black won, 0 White won, 0.5 a draw
    moves: tuple[int, ...]
    capped: bool = False
    forfeit: str = ""  # why the loser forfeited


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
) -> MatchResult:
    """Play a match.

    Parameters
    ----------
    a, b : player specs (see `train.players`), or players. Players made from specs are closed again.
    games : an even number, since every opening is played with both colours
    seed : of the openings, and of players whose specs name none. The openings of a shorter match are the
        first ones of a longer match.
    opening_plies : uniformly random sensible moves at the start of each game
    max_moves : plies, the opening included, after which a game is scored as it stands (None: 3 * size * size)
    fast : play inside compiled code, thousands of games a second: for greedy and random players only, by the
        rules of simulations (simple ko in place of superko, nobody passes early), with openings of its own
    progress : show a progress bar on stderr

    Returns
    -------
    the result; after Ctrl-C, that of the games completed so far, marked `interrupted`.

    Raises
    ------
    RlgoError : for bad arguments or specs, and for an engine that cannot be started, or not a second time.
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
        return _play_fast(a, b, games, size, komi, seed, opening_plies, max_moves)
    Game(size, komi)  # checks the size, and compiles before the clock of any engine runs

    openings_seed, *player_seeds = np.random.SeedSequence(seed).spawn(3)
    rng = np.random.default_rng(openings_seed)
    records: list[_GameRecord] = []
    interrupted = False
    with contextlib.ExitStack() as stack:
        players: list[Player] = []
        for given, player_seed in zip((a, b), player_seeds, strict=True):
            player = make_player(given, size, player_seed) if isinstance(given, str) else given
            if isinstance(player, GtpClient) and player is not given:
                stack.callback(player.close)
            if player.sizes is not None and size not in player.sizes:
                raise RlgoError(f"player {player.name}: does not play on {size}x{size}")
            player.warm_up()
            players.append(player)
        bar = stack.enter_context(
            tqdm(total=games, unit="game", file=sys.stderr, dynamic_ncols=True, disable=not progress)
        )
        try:
            for i in range(games):
                if i % 2 == 0:
                    opening = random_opening(size, min(opening_plies, max_moves), rng)
                black, white = players if i % 2 == 0 else reversed(players)
                record = _play_game(black, white, opening, size, komi, max_moves)
                if record.forfeit:
                    bar.write(f"game {i + 1}: {record.forfeit}", file=sys.stderr)
                records.append(record)
                bar.set_postfix_str(f"{np.mean(_scores(records)):.1%} won", refresh=False)
                bar.update()
        except KeyboardInterrupt:
            if not records:
                raise
            interrupted = True

    scores = _scores(records)
    by_opening = [scores[i : i + 2] for i in range(0, len(scores), 2)]
    reasons = [f"game {i}: {record.forfeit}" for i, record in enumerate(records, 1) if record.forfeit]
    names = [given if isinstance(given, str) else given.name for given in (a, b)]
    return MatchResult(
        a=names[0],
        b=names[1],
        games=len(records),
        wins=sum(scores),
        win_rate=sum(scores) / len(records),
        ci95=clustered_interval(by_opening),
        scores=by_opening,
        draws=sum(record.z == 0.5 for record in records),
        black_wins=sum(record.z for record in records),
        distinct=len({record.moves for record in records}),
        mean_length=sum(len(record.moves) for record in records) / len(records),
        capped=sum(record.capped for record in records),
        forfeits=len(reasons),
        forfeit_reasons=reasons,
        size=size,
        komi=komi,
        seed=seed,
        opening_plies=opening_plies,
        max_moves=max_moves,
        interrupted=interrupted,
        versions=_versions(players),
    )


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
        versions=_versions([]),
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
) -> Meeting:
    """`selfplay.hold_meeting` between the greedy players of any weights for one board size; None plays at random."""
    features, (theta_a, theta_b) = on_common_features([a, b], size)
    with compiling(f"matches, {size}x{size}"):
        return hold_meeting(features, theta_a, theta_b, games, seed, komi, opening, max_moves)


def on_common_features(weights: Sequence[Weights | None], size: int) -> tuple[FeatureSet, list[np.ndarray]]:
    """Value functions of one board size in the form in which any two can meet (`selfplay.hold_meeting`).

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
    from rlgo.weights import load_weights, shipped_weights

    spec = parse_spec(player) if isinstance(player, str) else None
    if spec is not None and spec.name == "random":
        return None
    if spec is None or spec.name != "greedy" or spec.values.get("epsilon"):
        raise RlgoError(f"player {player}: a fast match takes greedy (without epsilon) and random players only")
    return load_weights(spec.values.get("weights") or shipped_weights(size), size)


def random_opening(size: int, plies: int, rng: np.random.Generator) -> list[int]:
    """Uniformly random sensible moves from the empty board; a pass where there is none."""
    game = Game(size)
    for _ in range(plies):
        moves = game.sensible_moves()
        game.play(moves[rng.integers(len(moves))] if moves else PASS)
    return [p for _, p in game.moves]


def _play_game(
    black: Player, white: Player, opening: Sequence[int], size: int, komi: float, max_moves: int
) -> _GameRecord:
    game = Game(size, komi)
    for p in opening:
        game.play(p)
    players = {BLACK: black, WHITE: white}
    for player in players.values():
        player.new_game()

    while not game.is_over():
        if len(game.moves) >= max_moves:
            return _record(game, capped=True)
        color = game.to_play
        player = players[color]
        try:
            p = int(player.genmove(game))
        except EngineError as error:
            return _record(game, loser=color, why=str(error))
        except Exception as error:
            # A bug in a player loses its game, like a crash, but must not be overlooked.
            traceback.print_exc(file=sys.stderr)
            return _record(game, loser=color, why=f"{player.name}: {type(error).__name__}: {error}")
        if p == RESIGN:
            game.resign()
            break
        try:
            game.play(p)
        except RlgoError as error:
            return _record(game, loser=color, why=f"{player.name}: {error}")
    for player in players.values():
        try:
            player.end_game(game)
        except RlgoError as error:
            print(f"rlgo: {player.name}: {error}", file=sys.stderr)
    return _record(game)


def _record(game: Game, capped: bool = False, loser: int = 0, why: str = "") -> _GameRecord:
    moves = tuple(p for _, p in game.moves)
    if loser:
        return _GameRecord(float(loser == WHITE), moves, False, f"{COLOR_NAMES[loser]} forfeits: {why}")
    return _GameRecord(game.outcome, moves, capped)


def _scores(records: Sequence[_GameRecord]) -> list[float]:
    """A's score in each game: it is Black in the first game of every opening."""
    return [record.z if i % 2 == 0 else 1 - record.z for i, record in enumerate(records)]


def _versions(players: Sequence[Player]) -> dict[str, str]:
    import numba

    engines = {player.name: player.version for player in players if isinstance(player, GtpClient)}
    return {
        "rlgo": version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        **engines,
    }


def in_percent(win_rate: float, ci95: tuple[float, float]) -> str:
    """A win rate with its interval, for people: ``57.3% (54.3%-60.2%)``."""
    return f"{win_rate:.1%} ({ci95[0]:.1%}-{ci95[1]:.1%})"


def clustered_interval(clusters: Sequence[Sequence[float]], level: float = 0.95) -> tuple[float, float]:
    """A confidence interval of the mean score, where the games of one opening depend on each other.

    Parameters
    ----------
    clusters : for each opening, the scores (0 to 1) of its games

    Returns
    -------
    (low, high), 0 <= low <= mean <= high <= 1 and low < high.

    Notes
    -----
    Wilson's interval with an effective number of games. With scores y_ij of m openings i, S_i their sum,
    n_i their number, n = sum n_i and p = sum S_i / n:

        variance of p, robust to clusters   v = m / (m - 1) * sum_i (S_i - n_i p)^2 / n^2
        design effect                       d = v / (p (1 - p) / n)
        effective number of games           n_eff = n / d
        interval                            (p + t^2 / 2 n_eff -+ t sqrt(p (1 - p) / n_eff + t^2 / 4 n_eff^2))
                                            / (1 + t^2 / n_eff)

    t is Student's quantile with m + 1 degrees of freedom. d alone is computed with two further openings, one
    with both games won and one with both lost (hence m + 2 in place of m): so d exists for one opening too,
    and tends to 2, the worst for pairs, where all games are won or lost and the data say nothing about it.
    The interval has a width even then. Wilson 1927; cluster-robust variance: Cameron & Miller 2015, Sec. II.
    """
    from scipy.special import stdtrit

    sums = np.array([sum(scores) for scores in clusters], np.float64)
    counts = np.array([len(scores) for scores in clusters], np.float64)
    n, p = counts.sum(), sums.sum() / counts.sum()

    padded_sums, padded_counts = np.append(sums, [2.0, 0.0]), np.append(counts, [2.0, 2.0])
    padded_n, m = padded_counts.sum(), len(padded_counts)
    q = padded_sums.sum() / padded_n
    v = m / (m - 1) * float(((padded_sums - padded_counts * q) ** 2).sum()) / padded_n**2
    n_eff = n / (v / (q * (1 - q) / padded_n))

    t = float(stdtrit(m - 1, (1 + level) / 2))
    centre = p + t * t / (2 * n_eff)
    half = t * math.sqrt(p * (1 - p) / n_eff + (t / (2 * n_eff)) ** 2)
    scale = 1 + t * t / n_eff
    # At the ends, rounding alone keeps the interval off 0 and 1, or puts it beyond.
    low = 0.0 if p == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if p == 1 else min(1.0, (centre + half) / scale)
    return float(low), float(high)
