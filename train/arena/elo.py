"""Ratings of many players from their results: the Bradley-Terry model with confidence intervals, and its table.

Start reading at `rate`. `expected_score` is the model, `_log_likelihood` what is maximised, `_virtual_draws` the prior.
`stats.design_effect` accounts for games that share an opening, which carry less information than independent games.

A player with Elo r_i scores, on average, `expected_score(r_i - r_j)` against one with r_j (Bradley & Terry 1952); a
draw counts half. The likelihood is log-concave, so it has one maximum (Hunter 2004). Newton's method finds it in a few
steps; the MM algorithm of Hunter and of bayeselo has the same fixed point.

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

from rlgo.base.errors import RlgoError
from train import console
from train.stats import NORMAL_975, design_effect

# Elo per unit of log odds (natural logarithm), the unit of all sums below.
_ELO = 400 / math.log(10)

# ---------------------------------------------------------------------------------------------
# Results and ratings
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairResult:
    """The score of player `a` against player `b`. A pair may have several results.

    Use `of_openings` where each opening was played twice with colours swapped: only the scores of each opening show how
    strongly its two games are correlated.

    Raises
    ------
    RlgoError : for impossible scores or numbers.
    """

    a: str
    b: str
    score: float  # A's points: 1 for a win, 0.5 for a draw
    games: float  # a whole number, unless games are weighted
    draws: float = 0  # number of drawn games, for the table
    # For totals without openings: the variance of the score relative to that of independent games without draws. 1 if
    # the games were independent (less with draws), about 2 at most if each opening was played twice.
    design: float = 1.0
    # A's scores in each opening. If given, `design` is not used.
    openings: tuple[tuple[float, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        where = f"result of {self.a} against {self.b}"
        if self.a == self.b:
            raise RlgoError(f"{where}: expected two players of different names")
        if not (0 < self.games < math.inf):
            raise RlgoError(f"{where}: games = {self.games:g}, expected a positive number")
        if not (0 <= self.score <= self.games):
            raise RlgoError(f"{where}: score = {self.score:g}, expected 0 to {self.games:g}")

    @classmethod
    def of_openings(cls, a: str, b: str, scores: Sequence[Sequence[float]] | np.ndarray) -> PairResult:
        """Make a result from A's score in every game, by opening: float64[openings, 2], or shorter rows."""
        openings = tuple(tuple(float(y) for y in opening) for opening in scores if len(opening))
        games = [y for opening in openings for y in opening]
        return cls(a, b, math.fsum(games), len(games), sum(y == 0.5 for y in games), openings=openings)

    @property
    def effect(self) -> float:
        """The design effect: that of its openings, see `stats.design_effect`; without any, `design`."""
        return design_effect(self.openings) if self.openings else self.design


def widened(result: PairResult, scatter: float) -> PairResult:
    """Return a result with the variance that a pair's own scatter adds to its score.

    If the log odds of a pair scatter around what its ratings predict, by sigma = `scatter` / (400 / ln 10), then n
    games with score p have the variance n p (1 - p) d + (n p (1 - p) sigma)^2 (delta method), which is a design effect
    of d + n p (1 - p) sigma^2. More games against the same opponent do not make it small; more opponents do.

    scatter : standard deviation in Elo
    """
    p = (result.score + 1) / (result.games + 2)  # Laplace's estimate: winning all games is no certainty
    design = result.effect + result.games * p * (1 - p) * (scatter / _ELO) ** 2
    return dataclasses.replace(result, design=design, openings=())


def pair_scatter(ratings: Ratings, results: Iterable[PairResult]) -> float:
    """Return the standard deviation, in Elo, of pairs of players around what their ratings predict.

    The method of moments: the mean square of the residuals of all pairs' log odds, less what their numbers of games
    explain. The ratings were fitted to the same pairs, so each player but one takes a degree of freedom. Pairs in which
    one side won more than 97 % say little about log odds, and are left out. `widened` uses the number.
    """
    residuals, noise, players = [], [], set()
    for r in results:
        p = (r.score + 1) / (r.games + 2)
        if 0.03 < p < 0.97:
            residual = math.log(p / (1 - p)) - (ratings[r.a].elo - ratings[r.b].elo) / _ELO
            residuals.append(residual**2)
            noise.append(r.effect / (r.games * p * (1 - p)))
            players |= {r.a, r.b}
    free = len(residuals) - (len(players) - 1)
    return _ELO * math.sqrt(max(0.0, sum(residuals) / free - float(np.mean(noise)))) if free > 0 else 0.0


@dataclass(frozen=True)
class Rating:
    """One player's row of the rating table."""

    name: str
    elo: float
    ci95: tuple[float, float]  # of `elo`; see `rate`
    games: float
    score: float  # mean of all games, 0 to 1; a draw counts 0.5
    opponent: float  # mean Elo of the opponents, over all games
    draws: float  # share of drawn games, 0 to 1
    anchor: bool  # whether the rating was given


@dataclass(frozen=True, eq=False)
class Ratings:
    """The ratings of all players, best first; see `rate` and `table`."""

    players: tuple[Rating, ...]
    covariance: np.ndarray  # float64[players, players] of the ratings, Elo squared; see `rate`
    los: np.ndarray  # float64[players, players], likelihood of superiority: P(elo_i > elo_j); 0.5 on the diagonal
    prior: float

    def __getitem__(self, name: str) -> Rating:
        """Return the rating of a player. RlgoError if it has none."""
        for player in self.players:
            if player.name == name:
                return player
        raise RlgoError(f"player {name}: not among the rated players: {_list([p.name for p in self.players])}")

    @property
    def elo(self) -> dict[str, float]:
        """Elo by name, as `rate` takes anchors."""
        return {player.name: player.elo for player in self.players}

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain data for JSON."""
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
    results : in any order; results of the same pair are added up
    anchors : players whose ratings are given, in Elo, and taken as exact. Without any, the mean of all ratings is 0.
        One anchor only moves the zero point; several also add information.
    prior : number of virtual draws, see `_virtual_draws`. They keep ratings finite where all games were won or lost,
        and games soon outweigh them: for two players who only played each other, 2 give Laplace's score,
        (wins + 1) / (games + 2). 0 gives plain maximum likelihood.

    Returns
    -------
    ratings in Elo, with 95 % intervals and a covariance as `_covariance` describes. An interval shows how precisely a
    player is placed among the others. To compare two players, use `los`, from the variance of their difference:
    Phi((elo_i - elo_j) / sqrt(V_ii + V_jj - 2 V_ij)). If a player won or lost all games, the prior alone limits the
    outer end of its interval.

    Raises
    ------
    RlgoError : without results, for impossible arguments, if players are not connected to the others (or to an anchor)
        by games, and, with prior = 0, if only games that all went one way connect them.
    """
    anchors = dict(anchors or {})
    pairs = _Pairs.of(results)
    _check_arguments(pairs.names, anchors, prior)
    anchored = np.array([name in anchors for name in pairs.names])
    given = np.array([anchors.get(name, 0.0) for name in pairs.names])
    draws = _virtual_draws(pairs, anchored, prior)
    _check_connected(pairs, anchored, prior)

    # Without anchors the first player serves as one, until all ratings are moved to mean 0.
    fixed = anchored if anchors else np.arange(len(pairs.names)) == 0
    start = np.where(fixed, given / _ELO, (given / _ELO)[fixed].mean())
    won, lost = pairs.score + draws / 2, pairs.games - pairs.score + draws / 2
    theta = _most_likely(pairs, won, lost, start, np.flatnonzero(~fixed))
    covariance = _covariance(pairs, theta, draws, fixed)
    if not anchors:
        theta -= theta.mean()
        centre = np.eye(len(theta)) - 1 / len(theta)
        covariance = centre @ covariance @ centre
    elo = np.where(anchored, given, theta * _ELO)
    return _describe(pairs, elo, covariance * _ELO**2, anchored, prior)


def rate_new(known: Mapping[str, float], results: Iterable[PairResult], prior: float = 2.0) -> Rating:
    """Rate one new player against opponents whose ratings are known, such as a point of a learning curve.

    This is `rate` with the opponents as anchors: each brings virtual draws, so that few games against many opponents
    pull an extreme player towards them (on the scale of 9x9, by 3 Elo at 1,330 with 200 games against every one, and
    by 30 with 20). The interval covers the uncertainty of the new player's own games. It does not cover the uncertainty
    of its opponents, which is the same for all points of a curve.

    Parameters
    ----------
    known : Elo of the opponents, and possibly of others, by name
    results : results of exactly one player who is not in `known`
    prior : see `rate`

    Raises
    ------
    RlgoError : as in `rate`, and if none or several of the players are new.
    """
    results = list(results)
    names = {name for result in results for name in (result.a, result.b)}
    new = sorted(names - set(known))
    if len(new) != 1:
        raise RlgoError(f"results of one new player: expected exactly one without a rating, not {_list(new) or 'none'}")
    return rate(results, {name: known[name] for name in names & set(known)}, prior)[new[0]]


def table(ratings: Ratings, los: bool = False) -> str:
    """Format ratings as text, in bayeselo's columns (Coulom 2005).

    `+` and `-` lead to the ends of the 95 % interval; `oppo.` is the mean Elo of the opponents. With `los`, a second
    table shows the likelihood of superiority in percent: how likely the player of the row is to be the stronger one.
    """
    players = ratings.players
    rows = []
    for rank, p in enumerate(players, 1):
        low, high = p.ci95
        interval = [f"{round(p.elo)}", f"{high - p.elo:.0f}", f"{p.elo - low:.0f}"]
        rows.append(
            [f"{rank}", p.name, *interval, f"{p.games:.0f}", f"{p.score:.0%}", f"{round(p.opponent)}", f"{p.draws:.0%}"]
        )
    header = ["Rank", "Name", "Elo", "+", "-", "games", "score", "oppo.", "draws"]
    text = console.table(header, rows, align="rlrrrrrrr")
    if not los:
        return text
    ranks = range(len(players))
    rows = [
        [f"{i + 1}", p.name, *("" if i == j else f"{100 * ratings.los[i, j]:.0f}" for j in ranks)]
        for i, p in enumerate(players)
    ]
    header = ["LOS", "in %", *(f"{i + 1}" for i in ranks)]
    return f"{text}\n\n{console.table(header, rows, align='rl' + 'r' * len(players))}"


# ---------------------------------------------------------------------------------------------
# The model
# ---------------------------------------------------------------------------------------------


def expected_score(difference: Any) -> Any:
    """Return the mean score of a player who is `difference` Elo stronger, 1 / (1 + 10^(-difference / 400)).

    difference : a number or an array
    """
    from scipy.special import expit  # imported late: scipy is slow to load

    return expit(np.asarray(difference) / _ELO)


def elo_from_share(won: float) -> float:
    """Return the difference in Elo at which a player wins this share of its games: the inverse of `expected_score`.

    It is infinite for 0 and 1.
    """
    return math.copysign(math.inf, won - 0.5) if won in (0, 1) else 400 * math.log10(won / (1 - won))


def _log_likelihood(d: np.ndarray, won: np.ndarray, lost: np.ndarray) -> float:
    """Return sum_pairs won log p + lost log(1 - p) with p = 1 / (1 + e^-d) (Hunter 2004); a draw is half of each."""
    from scipy.special import log_expit  # imported late: scipy is slow to load

    return float((won * log_expit(d) + lost * log_expit(-d)).sum())


def _virtual_draws(pairs: _Pairs, anchored: np.ndarray, prior: float) -> np.ndarray:
    """Return bayeselo's prior: virtual draws, float64[pairs], prior / 2 (n_ij / n_i + n_ij / n_j).

    Every player, anchors included, brings prior / 2 of them, no matter how much it plays, and spreads them over its
    opponents in proportion to its games. n leaves out games between two anchors, which carry no information about the
    others. (In bayeselo's model a draw weighs as much as a win and a loss; here half as much.)
    """
    n_ij = np.where(anchored[pairs.i] & anchored[pairs.j], 0, pairs.games)
    n = np.bincount(pairs.i, n_ij, len(pairs.names)) + np.bincount(pairs.j, n_ij, len(pairs.names))
    n = np.where(n > 0, n, 1)
    return prior / 2 * (n_ij / n[pairs.i] + n_ij / n[pairs.j])


def _covariance(pairs: _Pairs, theta: np.ndarray, draws: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Return the covariance of the ratings, float64[players, players], in units of _ELO squared.

    The 95 % intervals are, like bayeselo's and ordo's, elo_i -+ 1.96 sqrt(V_ii) with

        V = H^-1 M H^-1

    H is the observed Fisher information: minus the second derivatives of the log-likelihood and the prior, over the
    players that are not fixed. M is the variance of the first derivatives, where each pair's part is multiplied by its
    `stats.design_effect` (the cluster-robust "sandwich", Cameron & Miller 2015). For independent games M = H, and
    V = H^-1 is what bayeselo calls covariance. V belongs to the differences from the fixed players: an anchor's
    interval has no width. Without anchors, `rate` turns it into that of the differences from the mean of all players.
    """
    d = (theta[pairs.i] - theta[pairs.j]) * _ELO
    variance = expected_score(d) * expected_score(-d)  # of a game without draws
    free = np.ix_(~fixed, ~fixed)
    inverse = np.linalg.inv(pairs.laplacian((pairs.games + draws) * variance)[free])
    scores = pairs.laplacian((pairs.games * pairs.design + draws) * variance)[free]
    v = np.zeros((len(theta), len(theta)))
    v[free] = inverse @ scores @ inverse
    return v


# ---------------------------------------------------------------------------------------------
# Fitting
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pairs:
    """Results added up by pair; players and pairs in the order of their names."""

    names: list[str]
    i: np.ndarray  # int64[pairs], numbers of players; i < j
    j: np.ndarray
    games: np.ndarray  # float64[pairs]
    score: np.ndarray  # float64[pairs], of i
    draws: np.ndarray  # float64[pairs]
    design: np.ndarray  # float64[pairs], mean design effect of the games

    @staticmethod
    def of(results: Iterable[PairResult]) -> _Pairs:
        """Add up results. RlgoError if there are none."""
        by_pair: dict[tuple[str, str], list[PairResult]] = {}
        for result in results:
            by_pair.setdefault((min(result.a, result.b), max(result.a, result.b)), []).append(result)
        if not by_pair:
            raise RlgoError("ratings: expected at least one result")
        names = sorted({name for pair in by_pair for name in pair})
        number = {name: k for k, name in enumerate(names)}
        rows = []
        for (a, b), met in sorted(by_pair.items()):
            # Openings are pooled first: the more there are, the better their design effect is known.
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
        """Return sum_pairs weight (e_i - e_j) (e_i - e_j)^T, float64[players, players]."""
        out = np.zeros((len(self.names), len(self.names)))
        out[self.i, self.j] = out[self.j, self.i] = -weight
        np.fill_diagonal(out, -out.sum(1))
        return out

    def totals(self, elo: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return each player's games, points and drawn games, and the sum of its opponents' Elo over all games."""

        def both(of_i: np.ndarray, of_j: np.ndarray) -> np.ndarray:
            return np.bincount(self.i, of_i, len(self.names)) + np.bincount(self.j, of_j, len(self.names))

        return (
            both(self.games, self.games),
            both(self.score, self.games - self.score),
            both(self.draws, self.draws),
            both(self.games * elo[self.j], self.games * elo[self.i]),
        )


def _describe(pairs: _Pairs, elo: np.ndarray, v: np.ndarray, anchored: np.ndarray, prior: float) -> Ratings:
    """Turn ratings and their covariance, in the order of `pairs.names`, into what `rate` returns."""
    from scipy.special import ndtr  # imported late: scipy is slow to load

    # Rounding errors must not decide the order of equal players.
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
    los = ndtr(difference / np.maximum(deviation, 1e-9))  # 0 between two anchors
    return Ratings(players, v, los, prior)


def _seen_by(name: str, result: PairResult) -> Iterable[tuple[float, ...]]:
    """Return the openings of a result with the scores of the player `name`."""
    if result.a == name:
        return result.openings
    return (tuple(1 - y for y in opening) for opening in result.openings)


def _most_likely(pairs: _Pairs, won: np.ndarray, lost: np.ndarray, start: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the ratings / _ELO of greatest likelihood, float64[players]; only the players in `free` vary.

    Newton's method, with bounded steps that are halved until the likelihood does not fall. In the end steps shrink
    quadratically, so that after one below 1e-7 only rounding remains.
    """
    theta, n = start.copy(), len(pairs.names)
    if not len(free):
        return theta
    for _ in range(200):
        d = theta[pairs.i] - theta[pairs.j]
        p, q = expected_score(d * _ELO), expected_score(-d * _ELO)  # 1 - p would lose all digits for p near 1
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
        step *= min(1, 3 / size)  # far from the maximum, the quadratic model is useless
        before = _log_likelihood(d, won, lost)
        while _log_likelihood(d + step[pairs.i] - step[pairs.j], won, lost) < before * (1 + 1e-14):
            step /= 2
        theta += step
    raise RlgoError("ratings: not determined by the results: are anchors too far apart, or is the prior near 0?")


def _check_arguments(names: Sequence[str], anchors: Mapping[str, float], prior: float) -> None:
    """Raise an RlgoError for an invalid prior or invalid anchors."""
    if not (0 <= prior < math.inf):
        raise RlgoError(f"prior = {prior:g}: expected a number of virtual draws, at least 0")
    for name, elo in anchors.items():
        if name not in names:
            raise RlgoError(f"anchor {name}: not among the players: {_list(names)}")
        if not math.isfinite(elo):
            raise RlgoError(f"anchor {name}: {elo:g}, expected a rating in Elo")


def _check_connected(pairs: _Pairs, anchored: np.ndarray, prior: float) -> None:
    """Raise an RlgoError unless finite, unique ratings maximise the likelihood (Hunter 2004, Assumption 1)."""
    from scipy.sparse import coo_array  # imported late: scipy is slow to load
    from scipy.sparse.csgraph import connected_components

    names, n = pairs.names, len(pairs.names)
    known = np.flatnonzero(anchored)

    def groups(edges: Iterable[tuple[np.ndarray, np.ndarray]], connection: str) -> list[list[str]]:
        # Anchors count as connected, because their ratings are given.
        loops = known, np.roll(known, 1)
        # int32, because SciPy 1.11 finds no components in a graph of int64
        heads, tails = (np.concatenate(ends).astype(np.int32) for ends in zip(*edges, loops, strict=True))
        graph = coo_array((np.ones(len(heads)), (heads, tails)), (n, n))
        count, label = connected_components(graph, connection=connection)
        return [[names[k] for k in np.flatnonzero(label == c)] for c in range(count)]

    def listed(groups: list[list[str]]) -> str:
        return " | ".join(map(_list, sorted(groups, key=lambda group: (-len(group), group))))

    met = groups([(pairs.i, pairs.j)], "weak")
    if len(met) > 1:
        raise RlgoError(f"ratings: no games (and no anchors) connect these groups of players: {listed(met)}")
    won, lost = pairs.score > 0, pairs.score < pairs.games
    scored = groups([(pairs.i[won], pairs.j[won]), (pairs.j[lost], pairs.i[lost])], "strong")
    if prior == 0 and len(scored) > 1:
        raise RlgoError(
            f"ratings: infinite without a prior: all games between these groups went one way: {listed(scored)}"
        )


def _list(names: Sequence[str]) -> str:
    """Join names for an error message; long lists are cut off."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
