"""Ratings of many players from their results: the Bradley-Terry model, its confidence intervals and its table.

Start reading at `rate`; `expected_score` is the model, `_log_likelihood` what is maximised, `_virtual_draws` the
prior, `stats.design_effect` what games of one opening tell less than independent ones.

A player with Elo r_i scores against one with r_j, on average, what `expected_score` says (Bradley & Terry 1952);
a draw counts half. Their likelihood is log-concave, so there is one maximum (Hunter 2004). Newton's method finds it
in a few steps; the MM algorithm of Hunter and of bayeselo has the same fixed point.

    results = [PairResult.of_openings("new", "old", scores), PairResult("old", "gnugo", score=212, games=400)]
    ratings = rate(results, anchors={"gnugo": 1800})
    print(table(ratings, los=True))

R. Bradley, M. Terry: Rank analysis of incomplete block designs I, Biometrika 39, 1952. D. Hunter: MM algorithms
for generalized Bradley-Terry models, Annals of Statistics 32, 2004. R. Coulom: Bayesian Elo rating (bayeselo),
https://www.remi-coulom.fr/Bayesian-Elo/, 2005.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlgo.errors import RlgoError
from train.stats import NORMAL_975, design_effect

# Elo per unit of the natural logarithm of the odds, in which all sums are done.
_ELO = 400 / math.log(10)

# ---------------------------------------------------------------------------------------------
# Results and ratings
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairResult:
    """What player `a` scored against player `b`; of one pair there may be many.

    Where openings are played twice with colours swapped, `of_openings` is the way to make one: only the scores
    of every opening tell how far its games depend on each other.

    Raises
    ------
    RlgoError : for scores or numbers that cannot be.
    """

    a: str
    b: str
    score: float  # points of A: a win 1, a draw 0.5
    games: float  # a whole number, unless games are weighted
    draws: float = 0  # among them, for the table
    # For totals without openings: the variance of the score over that of independent games without draws. 1 if
    # the games were independent (less with draws), 2 at most if every opening was played twice.
    design: float = 1.0
    # For each opening, A's scores. They take the place of `design`.
    openings: tuple[tuple[float, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        where = f"result of {self.a} against {self.b}"
        if self.a == self.b:
            raise RlgoError(f"{where}: expected two players of different names")
        if not (0 < self.games < math.inf):
            raise RlgoError(f"{where}: games = {self.games:g}, expected a positive number")
        if not (0 <= self.draws <= self.games):
            raise RlgoError(f"{where}: draws = {self.draws:g}, expected 0 to {self.games:g}, the number of games")
        low, high = self.draws / 2, self.games - self.draws / 2
        if not (low <= self.score <= high):
            raise RlgoError(f"{where}: score = {self.score:g}, expected {low:g} to {high:g}")
        if not (0 < self.design < math.inf):
            raise RlgoError(f"{where}: design = {self.design:g}, expected a positive number")
        if self.openings:
            if not all(0 <= y <= 1 for opening in self.openings for y in opening):
                raise RlgoError(f"{where}: the score of a game is not between 0 and 1")
            games, score = sum(map(len, self.openings)), math.fsum(map(sum, self.openings))
            if games != self.games or not math.isclose(score, self.score, abs_tol=1e-9):
                raise RlgoError(
                    f"{where}: its openings tell {score:g} of {games}, not {self.score:g} of {self.games:g}"
                )

    @classmethod
    def of_openings(cls, a: str, b: str, scores: Sequence[Sequence[float]] | np.ndarray) -> PairResult:
        """From the scores of A in every game, by openings: the scores of `fast_games.play_fast`, float64[openings, 2]."""
        openings = tuple(tuple(float(y) for y in opening) for opening in scores if len(opening))
        games = [y for opening in openings for y in opening]
        return cls(a, b, math.fsum(games), len(games), sum(y == 0.5 for y in games), openings=openings)


def from_matrices(names: Sequence[str], wins: np.ndarray, draws: np.ndarray | None = None) -> list[PairResult]:
    """Results from a cross table.

    Parameters
    ----------
    names : of n players
    wins : [n, n], wins[i, j] is how often player i won against player j
    draws : [n, n], symmetric, draws[i, j] is how often the two drew (None: never)

    Raises
    ------
    RlgoError : for matrices that are no such tables.
    """
    n = len(names)
    if len(set(names)) < n:
        raise RlgoError("names of a cross table: expected all different")
    tables = {"wins": np.asarray(wins, np.float64)}
    tables["draws"] = np.zeros((n, n)) if draws is None else np.asarray(draws, np.float64)
    for what, values in tables.items():
        if values.shape != (n, n):
            raise RlgoError(f"{what} of a cross table: shape {values.shape}, expected {(n, n)}, one row per name")
        if not (values >= 0).all() or not np.isfinite(values).all():
            raise RlgoError(f"{what} of a cross table: expected finite numbers of at least 0")
        if values.diagonal().any():
            raise RlgoError(f"{what} of a cross table: expected zeros on the diagonal")
    won, drawn = tables.values()
    if (drawn != drawn.T).any():
        raise RlgoError("draws of a cross table: expected a symmetric matrix")
    games = won + won.T + drawn
    return [
        PairResult(names[i], names[j], float(won[i, j] + drawn[i, j] / 2), float(games[i, j]), float(drawn[i, j]))
        for i, j in zip(*np.nonzero(np.triu(games)), strict=True)
    ]


@dataclass(frozen=True)
class Rating:
    """One player's line of the table."""

    name: str
    elo: float
    ci95: tuple[float, float]  # of `elo`; see `rate`
    games: float
    score: float  # the mean of its games, 0 to 1; a draw counts 0.5
    opponent: float  # the mean Elo of its opponents, over its games
    draws: float  # drawn games, 0 to 1 of all
    anchor: bool  # whether the rating was given, not found


@dataclass(frozen=True, eq=False)
class Ratings:
    """All players, best first; `table` prints them."""

    players: tuple[Rating, ...]
    covariance: np.ndarray  # float64[players, players] of the ratings, Elo squared; see `rate`
    los: np.ndarray  # float64[players, players], likelihood of superiority: P(elo_i > elo_j); 0.5 on the diagonal
    prior: float

    def __getitem__(self, name: str) -> Rating:
        """The rating of a player; RlgoError where it is not among them."""
        for player in self.players:
            if player.name == name:
                return player
        raise RlgoError(f"player {name}: not among the rated ones: {_list([p.name for p in self.players])}")

    @property
    def elo(self) -> dict[str, float]:
        """The ratings by name: what `rate` takes as anchors."""
        return {player.name: player.elo for player in self.players}

    def to_json(self) -> dict[str, Any]:
        """All fields, as what `json` can write."""
        players = [{**dataclasses.asdict(player), "ci95": list(player.ci95)} for player in self.players]
        return {
            "players": players,
            "covariance": self.covariance.tolist(),
            "los": self.los.tolist(),
            "prior": self.prior,
        }


# ---------------------------------------------------------------------------------------------
# Rating
# ---------------------------------------------------------------------------------------------


def rate(results: Iterable[PairResult], anchors: Mapping[str, float] | None = None, prior: float = 2.0) -> Ratings:
    """Rate all players of some results.

    Parameters
    ----------
    results : in any order; those of one pair are added up
    anchors : players whose ratings are given, in Elo, and taken as exact. Without any, the mean rating of all
        players is 0. One anchor only moves the zero point; several also weigh in.
    prior : virtual draws, see `_virtual_draws`. They keep ratings finite where all games were won or lost, and
        are soon outweighed by games: of two players who met only each other, 2 make the score Laplace's
        (wins + 1) / (games + 2). 0: the most likely ratings as they are.

    Returns
    -------
    ratings in Elo with, as bayeselo's and ordo's, the 95 % intervals

        elo_i -+ 1.96 sqrt(V_ii),   V = H^-1 M H^-1

    H is the observed Fisher information, minus the second derivatives of the log-likelihood and the prior, over
    the players without an anchor; M is the variance of its first derivatives, where each pair's part is
    multiplied by its `design_effect` (the cluster-robust "sandwich", Cameron & Miller 2015). For independent games
    M = H, and V = H^-1 is what bayeselo calls covariance. V is

    * with anchors, of the differences to them: an anchor's own interval has no width;
    * without, of the differences to the mean of all players.

    So an interval tells how well a player is placed among the others. Whether one of two is stronger is told by
    `los`, with the variance of their difference: Phi((elo_i - elo_j) / sqrt(V_ii + V_jj - 2 V_ij)). Where a
    player won or lost all games, the prior alone holds the outer end of the interval.

    Raises
    ------
    RlgoError : for no results, impossible arguments, and for players whom nothing connects with the others (or
        with an anchor), or, with prior = 0, only games that all went one way.
    """
    anchors = dict(anchors or {})
    if not (0 <= prior < math.inf):
        raise RlgoError(f"prior = {prior:g}: expected a number of virtual draws, at least 0")
    pairs = _Pairs.of(results)
    names = pairs.names
    for name, known in anchors.items():
        if name not in names:
            raise RlgoError(f"anchor {name}: not among the players: {_list(names)}")
        if not math.isfinite(known):
            raise RlgoError(f"anchor {name}: {known:g}, expected a rating in Elo")
    anchored = np.array([name in anchors for name in names])

    draws = _virtual_draws(pairs, anchored, prior)
    _check_connected(pairs, anchored, prior)
    # Without anchors, anyone serves as one until all are moved to mean 0.
    fixed = anchored if anchors else np.arange(len(names)) == 0
    given = np.array([anchors.get(name, 0.0) for name in names]) / _ELO
    start = np.where(fixed, given, given[fixed].mean())
    won, lost = pairs.score + draws / 2, pairs.games - pairs.score + draws / 2
    theta = _most_likely(pairs, won, lost, start, np.flatnonzero(~fixed))

    d = (theta[pairs.i] - theta[pairs.j]) * _ELO
    variance = expected_score(d) * expected_score(-d)  # of a game without draws
    free = np.ix_(~fixed, ~fixed)
    inverse = np.linalg.inv(pairs.laplacian((pairs.games + draws) * variance)[free])
    scores = pairs.laplacian((pairs.games * pairs.design + draws) * variance)[free]
    v = np.zeros((len(names), len(names)))
    v[free] = inverse @ scores @ inverse
    if not anchors:
        theta -= theta.mean()
        centre = np.eye(len(names)) - 1 / len(names)
        v = centre @ v @ centre

    elo = np.where(anchored, [anchors.get(name, 0.0) for name in names], theta * _ELO)
    return _describe(pairs, elo, v * _ELO**2, anchored, prior)


def rate_new(ratings: Ratings | Mapping[str, float], results: Iterable[PairResult], prior: float = 2.0) -> Rating:
    """Rate one new player against opponents whose ratings are known: a point of a learning curve.

    `rate` with the opponents as anchors. So the interval tells what the new player's own games leave open, not
    what is unknown about its opponents: that is the same for all points of a curve.

    Parameters
    ----------
    ratings : of the opponents, or of more players, or their Elo by name
    results : of exactly one player who is not among `ratings`
    prior : as in `rate`

    Raises
    ------
    RlgoError : as `rate`, and where none, or more than one, of the players is new.
    """
    known = ratings.elo if isinstance(ratings, Ratings) else ratings
    results = list(results)
    names = {name for result in results for name in (result.a, result.b)}
    new = sorted(names - set(known))
    if len(new) != 1:
        raise RlgoError(f"results of one new player: expected exactly one without a rating, not {_list(new) or 'none'}")
    return rate(results, {name: known[name] for name in names & set(known)}, prior)[new[0]]


def table(ratings: Ratings, los: bool = False) -> str:
    """Ratings as text, with bayeselo's columns (Coulom 2005); `los`: and who is stronger, in per cent.

    `+` and `-` lead to the ends of the 95 % interval; `oppo.` is the mean Elo of the opponents.
    """
    players = ratings.players
    width = max(4, *(len(player.name) for player in players))
    lines = [f"Rank {'Name':{width}}   Elo    +    - games score oppo. draws"]
    for rank, p in enumerate(players, 1):
        low, high = p.ci95
        lines.append(
            f"{rank:4} {p.name:{width}} {round(p.elo):5} {high - p.elo:4.0f} {p.elo - low:4.0f} {p.games:5.0f} "
            f"{p.score:5.0%} {round(p.opponent):5} {p.draws:5.0%}"
        )
    if los:
        ranks = range(1, len(players) + 1)
        lines += ["", f"LOS  {'in %':{width}} " + " ".join(f"{rank:3}" for rank in ranks)]
        for rank, p in enumerate(players, 1):
            row = " ".join(
                "   " if other == rank else f"{100 * ratings.los[rank - 1, other - 1]:3.0f}" for other in ranks
            )
            lines.append(f"{rank:4} {p.name:{width}} {row}".rstrip())
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------
# The model
# ---------------------------------------------------------------------------------------------


def expected_score(difference: Any) -> Any:
    """The mean score of a player who is `difference` Elo stronger: 1 / (1 + 10^(-difference / 400)); any shape."""
    from scipy.special import expit

    return expit(np.asarray(difference) / _ELO)


def _log_likelihood(d: np.ndarray, won: np.ndarray, lost: np.ndarray) -> float:
    """sum_pairs won log p + lost log(1 - p) with p = 1 / (1 + e^-d) (Hunter 2004); a draw is half of each."""
    from scipy.special import log_expit

    return float((won * log_expit(d) + lost * log_expit(-d)).sum())


def _virtual_draws(pairs: _Pairs, anchored: np.ndarray, prior: float) -> np.ndarray:
    """The prior of bayeselo: virtual draws, float64[pairs], prior / 2 (n_ij / n_i + n_ij / n_j).

    Every player, anchors too, brings prior / 2 of them, however much it plays, and spreads them over its opponents
    like its games. n counts no games between two anchors, which say nothing about anyone else. (In bayeselo's
    model, a draw weighs as much as a win and a loss; here half of that.)
    """
    n_ij = np.where(anchored[pairs.i] & anchored[pairs.j], 0, pairs.games)
    n = np.bincount(pairs.i, n_ij, len(pairs.names)) + np.bincount(pairs.j, n_ij, len(pairs.names))
    n = np.where(n > 0, n, 1)
    return prior / 2 * (n_ij / n[pairs.i] + n_ij / n[pairs.j])


# ---------------------------------------------------------------------------------------------
# Fitting
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pairs:
    """Results added up by pairs that met; players and pairs in the order of their names."""

    names: list[str]
    i: np.ndarray  # int64[pairs], players; i < j
    j: np.ndarray
    games: np.ndarray  # float64[pairs]
    score: np.ndarray  # of i
    draws: np.ndarray
    design: np.ndarray  # the games' mean design effect

    @staticmethod
    def of(results: Iterable[PairResult]) -> _Pairs:
        by_pair: dict[tuple[str, str], list[PairResult]] = {}
        for result in results:
            by_pair.setdefault((min(result.a, result.b), max(result.a, result.b)), []).append(result)
        if not by_pair:
            raise RlgoError("ratings: expected at least one result")
        names = sorted({name for pair in by_pair for name in pair})
        number = {name: k for k, name in enumerate(names)}
        rows = []
        for (a, b), met in sorted(by_pair.items()):
            # Openings pooled first: their design effect is the better known the more there are.
            pooled = [opening for result in met for opening in _seen_by(a, result)]
            weighed = [(result.games, result.design) for result in met if not result.openings]
            if pooled:
                weighed.append((sum(map(len, pooled)), design_effect(pooled)))
            games = math.fsum(n for n, _ in weighed)
            score = math.fsum(r.score if r.a == a else r.games - r.score for r in met)
            design = math.fsum(n * d for n, d in weighed) / games
            rows.append((number[a], number[b], games, score, math.fsum(r.draws for r in met), design))
        i, j, *columns = (np.array(column) for column in zip(*rows, strict=True))
        return _Pairs(names, i, j, *columns)

    def laplacian(self, weight: np.ndarray) -> np.ndarray:
        """sum_pairs weight (e_i - e_j) (e_i - e_j)^T, float64[players, players]."""
        out = np.zeros((len(self.names), len(self.names)))
        out[self.i, self.j] = out[self.j, self.i] = -weight
        np.fill_diagonal(out, -out.sum(1))
        return out

    def totals(self, elo: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Each player's games, points, drawn games, and the sum of its opponents' Elo over games."""

        def both(of_i: np.ndarray, of_j: np.ndarray) -> np.ndarray:
            return np.bincount(self.i, of_i, len(self.names)) + np.bincount(self.j, of_j, len(self.names))

        return (
            both(self.games, self.games),
            both(self.score, self.games - self.score),
            both(self.draws, self.draws),
            both(self.games * elo[self.j], self.games * elo[self.i]),
        )


def _describe(pairs: _Pairs, elo: np.ndarray, v: np.ndarray, anchored: np.ndarray, prior: float) -> Ratings:
    """The ratings of players in the order of `pairs.names`, with their covariance, as `rate` returns them."""
    from scipy.special import ndtr

    # Rounding must not decide the order of equal players.
    order = np.array(sorted(range(len(elo)), key=lambda k: (-round(float(elo[k]), 6), pairs.names[k])))
    half = NORMAL_975 * np.sqrt(v.diagonal().clip(0))
    games, score, drawn, opponent = pairs.totals(elo)
    players = tuple(
        Rating(
            name=pairs.names[k],
            elo=float(elo[k]),
            ci95=(float(elo[k] - half[k]), float(elo[k] + half[k])),
            games=float(games[k]),
            score=float(score[k] / games[k]),
            opponent=float(opponent[k] / games[k]),
            draws=float(drawn[k] / games[k]),
            anchor=bool(anchored[k]),
        )
        for k in order
    )
    elo, v = elo[order], v[np.ix_(order, order)]
    difference = elo[:, None] - elo
    deviation = np.sqrt((v.diagonal()[:, None] + v.diagonal() - 2 * v).clip(0))
    los = ndtr(difference / np.maximum(deviation, 1e-9))  # between two anchors nothing is uncertain
    return Ratings(players, v, los, prior)


def _seen_by(name: str, result: PairResult) -> Iterable[tuple[float, ...]]:
    """The openings of a result with the scores of one of its two players."""
    if result.a == name:
        return result.openings
    return (tuple(1 - y for y in opening) for opening in result.openings)


def _most_likely(pairs: _Pairs, won: np.ndarray, lost: np.ndarray, start: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The ratings / _ELO of greatest likelihood, float64[players]: those of players in `free` vary.

    Newton's method; steps are bounded, and halved until the likelihood does not fall. As they end up shrinking
    quadratically, what remains after one below 1e-7 is rounding.
    """
    theta, n = start.copy(), len(pairs.names)
    if not len(free):
        return theta
    for _ in range(200):
        d = theta[pairs.i] - theta[pairs.j]
        p, q = expected_score(d * _ELO), expected_score(-d * _ELO)  # not 1 - p, which has no digits where p is near 1
        residual = won * q - lost * p
        gradient = np.bincount(pairs.i, residual, n) - np.bincount(pairs.j, residual, n)
        step = np.zeros(n)
        try:
            information = pairs.laplacian((won + lost) * p * q)[np.ix_(free, free)]
            step[free] = np.linalg.solve(information, gradient[free])
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(step).all():
            break
        size = np.abs(step).max()
        if size < 1e-7:
            return theta + step
        step *= min(1, 3 / size)  # far from the maximum, the quadratic model promises anything
        before = _log_likelihood(d, won, lost)
        while _log_likelihood(d + step[pairs.i] - step[pairs.j], won, lost) < before * (1 + 1e-14):
            step /= 2
        theta += step
    raise RlgoError("ratings: the results do not determine them; anchors too far from each other, or a prior near 0?")


def _check_connected(pairs: _Pairs, anchored: np.ndarray, prior: float) -> None:
    """Whether the greatest likelihood is at finite, unique ratings (Hunter 2004, Assumption 1); else an RlgoError."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names, n = pairs.names, len(pairs.names)
    known = np.flatnonzero(anchored)

    def groups(edges: Iterable[tuple[np.ndarray, np.ndarray]], connection: str) -> list[list[str]]:
        # Given ratings connect anchors like games would.
        heads, tails = (np.concatenate(ends) for ends in zip(*edges, (known, np.roll(known, 1)), strict=True))
        graph = coo_array((np.ones(len(heads)), (heads, tails)), (n, n))
        count, label = connected_components(graph, connection=connection)
        return [[names[k] for k in np.flatnonzero(label == c)] for c in range(count)]

    def told(found: list[list[str]]) -> str:
        return " | ".join(map(_list, sorted(found, key=lambda group: (-len(group), group))))

    met = groups([(pairs.i, pairs.j)], "weak")
    if len(met) > 1:
        raise RlgoError(f"ratings: no games (and no anchors) connect these groups of players: {told(met)}")
    won, lost = pairs.score > 0, pairs.score < pairs.games
    scored = groups([(pairs.i[won], pairs.j[won]), (pairs.j[lost], pairs.i[lost])], "strong")
    if prior == 0 and len(scored) > 1:
        raise RlgoError(
            f"ratings: infinite without a prior: these groups won or lost all games between them: {told(scored)}"
        )


def _list(names: Sequence[str]) -> str:
    """Names for an error message; the end of long lists is left out."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
