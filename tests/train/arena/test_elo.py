"""Ratings against cases worked by hand, choix and simulated tournaments; and invariances."""

from __future__ import annotations

import json
import math
import random
from itertools import combinations, pairwise

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from rlgo.base.errors import RlgoError
from train.arena.elo import (
    PairResult,
    Rating,
    Ratings,
    expected_score,
    pair_scatter,
    rate,
    rate_new,
    table,
)

ELO = 400 / math.log(10)  # per unit of log odds
Z = 1.959963984540054


def elo_of(p: float) -> float:
    """The difference of ratings at which the mean score is p."""
    return 400 * math.log10(p / (1 - p))


def half_width(rating: Rating) -> float:
    low, high = rating.ci95
    assert rating.elo - low == pytest.approx(high - rating.elo)
    return (high - low) / 2


def assert_same(one: Ratings, other: Ratings, shift: float = 0.0) -> None:
    """The same ratings, intervals, likelihoods and columns; those of `other` higher by `shift`."""
    assert sorted(one.elo) == sorted(other.elo)
    order = [[p.name for p in other.players].index(p.name) for p in one.players]
    for p, q in zip(one.players, (other.players[k] for k in order), strict=True):
        assert (p.name, p.games, p.anchor) == (q.name, q.games, q.anchor)
        assert (p.score, p.draws) == pytest.approx((q.score, q.draws))
        assert [p.elo + shift, *(end + shift for end in p.ci95), p.opponent + shift] == pytest.approx(
            [q.elo, *q.ci95, q.opponent], abs=1e-6
        )
    square = np.ix_(order, order)
    np.testing.assert_allclose(one.covariance, other.covariance[square], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.los, other.los[square], atol=1e-6)


# ---------------------------------------------------------------------------------------------
# By hand
# ---------------------------------------------------------------------------------------------


def test_two_players() -> None:
    """75 of 100: odds of 3, and 1 / (n p (1 - p)) is the variance of their logarithm."""
    result = PairResult("a", "b", 75, 100)
    difference, deviation = 400 * math.log10(3), ELO / math.sqrt(100 * 0.75 * 0.25)

    anchored = rate([result], anchors={"b": 1000}, prior=0)
    assert anchored["a"].elo == pytest.approx(1000 + difference, abs=1e-9)
    assert half_width(anchored["a"]) == pytest.approx(Z * deviation)
    assert (anchored["b"].elo, anchored["b"].ci95) == (1000, (1000, 1000))
    assert anchored["b"].anchor
    assert not anchored["a"].anchor

    free = rate([result], prior=0)
    assert [p.name for p in free.players] == ["a", "b"]
    assert list(free.elo.values()) == pytest.approx([difference / 2, -difference / 2], abs=1e-9)
    assert half_width(free["a"]) == half_width(free["b"]) == pytest.approx(Z * deviation / 2)
    for ratings in (anchored, free):
        sure = norm.cdf(difference / deviation)
        np.testing.assert_allclose(ratings.los, [[0.5, sure], [1 - sure, 0.5]], rtol=1e-9)
        assert (ratings["a"].games, ratings["a"].score, ratings["b"].score) == (100, 0.75, 0.25)
        assert [p.opponent for p in ratings.players] == pytest.approx([p.elo for p in reversed(ratings.players)])


def test_the_default_prior_is_laplaces_for_two_players() -> None:
    ratings = rate([PairResult("a", "b", 75, 100)], anchors={"b": 0})
    assert ratings["a"].elo == pytest.approx(elo_of(76 / 102), abs=1e-9)
    assert half_width(ratings["a"]) == pytest.approx(Z * ELO / math.sqrt(102 * 76 / 102 * 26 / 102))


@pytest.mark.parametrize("games", [1, 20, 1000, 10**6])
def test_perfect_scores_have_finite_ratings(games: int) -> None:
    ratings = rate([PairResult("best", "random", games, games)], anchors={"random": 0})
    assert ratings["best"].elo == pytest.approx(400 * math.log10(games + 1), abs=1e-6)
    assert 0 < half_width(ratings["best"]) < 500
    assert 0.7 < ratings.los[0, 1] <= 1


def test_draws_count_half() -> None:
    drawn = rate([PairResult("a", "b", 50, 100, draws=100)])
    assert list(drawn.elo.values()) == pytest.approx([0, 0])
    assert [p.draws for p in drawn.players] == [1, 1]
    some, none = (rate([PairResult("a", "b", 60, 100, draws=draws)]) for draws in (40, 0))
    assert some.elo == none.elo
    assert (some["a"].draws, some["b"].draws, none["a"].draws) == (0.4, 0.4, 0)
    openings = PairResult.of_openings("a", "b", np.array([[0.5, 1], [0.5, 0.5], [0, 1]]))
    assert (openings.score, openings.games, openings.draws) == (3.5, 6, 3)


# ---------------------------------------------------------------------------------------------
# Against choix
# ---------------------------------------------------------------------------------------------


def simulate(truth: np.ndarray, games: int, rng: np.random.Generator, step: int = 1) -> list[PairResult]:
    """Every pair whose distance is at most `step` around the circle (or all, with step = 0) plays."""
    n = len(truth)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if not step or min(j - i, n - j + i) <= step]
    return [
        PairResult(f"p{i}", f"p{j}", float(rng.binomial(games, expected_score(truth[i] - truth[j]))), games)
        for i, j in pairs
    ]


def wins_of(results: list[PairResult]) -> list[tuple[int, int]]:
    """For choix, which knows no draws: each result as (winner, loser), twice, so that a draw is one of each."""
    out = []
    for r in results:
        i, j = int(r.a[1:]), int(r.b[1:])
        out += [(i, j)] * round(2 * r.score) + [(j, i)] * round(2 * (r.games - r.score))
    return out


def in_order(ratings: Ratings) -> tuple[np.ndarray, np.ndarray]:
    """Elo and covariance by the numbers in the names."""
    order = np.argsort([int(p.name[1:]) for p in ratings.players])
    return np.array([p.elo for p in ratings.players])[order], ratings.covariance[np.ix_(order, order)]


@pytest.mark.parametrize("step", [0, 1, 2])
@pytest.mark.parametrize("oracle", [choix.ilsr_pairwise, choix.opt_pairwise])
def test_ratings_are_those_of_choix(oracle, step: int) -> None:
    rng = np.random.default_rng(step)
    results = simulate(rng.normal(0, 200, 7), 30, rng, step)
    results.append(PairResult("p0", "p1", 3.5, 8, 3))  # draws, and a second result of one pair
    elo, _ = in_order(rate(results, prior=0))
    expected = oracle(7, wins_of(results), alpha=0, tol=1e-10) * ELO
    np.testing.assert_allclose(elo, expected - expected.mean(), atol=1e-3)
    assert abs(elo.mean()) < 1e-9


def test_the_covariance_is_that_of_choixs_likelihood() -> None:
    """Minus the inverse of its second differences, of ratings whose mean is 0."""
    rng = np.random.default_rng(7)
    results = simulate(rng.normal(0, 150, 5), 40, rng, 0)[:-2]
    elo, covariance = in_order(rate(results, prior=0))
    wins, h = wins_of(results), 1e-3
    information = np.empty((5, 5))
    for i in range(5):
        for j in range(5):
            e, f = np.eye(5)[i] * h, np.eye(5)[j] * h
            corners = [(1, e + f), (-1, e - f), (-1, f - e), (1, -e - f)]
            second = sum(sign * choix.log_likelihood_pairwise(wins, elo / ELO + d) for sign, d in corners)
            information[i, j] = -second / (4 * h * h) / 2  # every game stands there twice
    np.testing.assert_allclose(covariance, np.linalg.pinv(information, rcond=1e-6) * ELO**2, rtol=1e-3, atol=0.1)


def test_intervals_and_los_come_from_the_covariance() -> None:
    rng = np.random.default_rng(8)
    ratings = rate(simulate(rng.normal(0, 100, 6), 10, rng, 2))
    v = ratings.covariance
    for i, p in enumerate(ratings.players):
        assert half_width(p) == pytest.approx(Z * math.sqrt(v[i, i]))
        for j, q in enumerate(ratings.players[:i]):
            assert ratings.los[i, j] == pytest.approx(
                norm.cdf((p.elo - q.elo) / math.sqrt(v[i, i] + v[j, j] - 2 * v[i, j]))
            )
    np.testing.assert_allclose(ratings.los + ratings.los.T, 1)
    assert ratings.players == tuple(sorted(ratings.players, key=lambda p: -p.elo))


# ---------------------------------------------------------------------------------------------
# What intervals promise
# ---------------------------------------------------------------------------------------------


def test_intervals_cover_the_truth_95_times_in_100() -> None:
    """300 tournaments. One player's number of hits has a deviation of 1.3 %, and that of all together no more."""
    rng = np.random.default_rng(9)
    truth = rng.normal(0, 150, 6)
    truth -= truth.mean()
    hits = np.zeros((300, 6))
    for k in range(300):
        for p in rate(simulate(truth, 20, rng, 2)).players:
            hits[k, int(p.name[1:])] = p.ci95[0] <= truth[int(p.name[1:])] <= p.ci95[1]
    assert np.abs(hits.mean(0) - 0.95).max() < 0.04
    assert abs(hits.mean() - 0.95) < 0.02


def play_openings(difference: float, openings: int, same: float, rng: np.random.Generator) -> np.ndarray:
    """Scores [openings, 2]; with probability `same`, the second game ends as the first."""
    first, second = rng.random((2, openings)) < expected_score(difference)
    return np.stack([first, np.where(rng.random(openings) < same, first, second)], 1).astype(float)


@pytest.mark.parametrize("same", [0.0, 0.5, 1.0])
def test_intervals_are_honest_where_games_of_an_opening_depend_on_each_other(same: float) -> None:
    """500 tournaments with an anchor."""
    rng = np.random.default_rng(10)
    truth = np.array([0.0, 80.0, 250.0])
    hits = []
    for _ in range(500):
        results = []
        for i, j in combinations(range(3), 2):
            scores = play_openings(truth[i] - truth[j], 60, same, rng)
            results.append(PairResult.of_openings(f"p{i}", f"p{j}", scores))
        ratings = rate(results, anchors={"p0": 0})
        hits += [ratings[f"p{i}"].ci95[0] <= truth[i] <= ratings[f"p{i}"].ci95[1] for i in (1, 2)]
    assert abs(np.mean(hits) - 0.95) < 0.025


# ---------------------------------------------------------------------------------------------
# New players
# ---------------------------------------------------------------------------------------------


def test_a_new_player_is_rated_as_in_a_full_fit_with_all_others_fixed() -> None:
    rng = np.random.default_rng(12)
    earlier = simulate(rng.normal(0, 150, 5), 30, rng, 0)
    ratings = rate(earlier)
    results = [
        PairResult.of_openings("new", "p0", play_openings(100, 20, 0.5, rng)),
        PairResult("p3", "new", 3.5, 10, 1),
        PairResult("new", "p1", 6, 6),
    ]
    new = rate_new(ratings.elo, results)
    full = rate(earlier + results, anchors=ratings.elo)["new"]
    assert [new.elo, *new.ci95, new.opponent] == pytest.approx([full.elo, *full.ci95, full.opponent], abs=1e-9)
    assert (new.name, new.games, new.score) == ("new", 56, full.score)
    assert rate(earlier + results, anchors={"p0": ratings["p0"].elo})["new"].elo != pytest.approx(full.elo, abs=0.1)


# ---------------------------------------------------------------------------------------------
# What cannot be rated
# ---------------------------------------------------------------------------------------------


def test_groups_that_never_met_are_named() -> None:
    results = [PairResult("a", "b", 1, 2), PairResult("b", "c", 1, 2), PairResult("x", "y", 1, 2)]
    for prior in (0, 2):
        for anchors in ({}, {"a": 0}, {"a": 0, "c": 100}):
            with pytest.raises(RlgoError, match=r"connect .*: a, b, c \| x, y$"):
                rate(results, anchors, prior)
        assert rate(results, {"a": 0, "y": 300}, prior)["x"].elo == pytest.approx(300)


def test_without_a_prior_games_must_go_both_ways() -> None:
    results = [
        PairResult("a", "b", 1, 2),
        PairResult("c", "d", 1, 2),
        PairResult("a", "c", 4, 4),
        PairResult("d", "b", 0, 3),
        PairResult("e", "a", 0, 1),
    ]
    with pytest.raises(RlgoError, match=r"without a prior.*: a, b \| c, d \| e$"):
        rate(results, prior=0)
    with pytest.raises(RlgoError, match=r"without a prior.*: a, b, c, d \| e$"):
        rate(results, {"a": 0, "c": 0}, prior=0)
    ratings = rate(results)
    assert ratings.players[0].name == "a"
    assert all(math.isfinite(end) for p in ratings.players for end in p.ci95)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PairResult("a", "a", 1, 2), "a against a: expected two players"),
        (lambda: PairResult("a", "b", 0, 0), "games = 0"),
        (lambda: PairResult("a", "b", 3, 2), "score = 3, expected 0 to 2"),
        (lambda: PairResult("a", "b", math.nan, 2), "score = nan"),
        (lambda: PairResult.of_openings("a", "b", []), "games = 0"),
        (lambda: rate([]), "at least one result"),
        (lambda: rate([PairResult("a", "b", 1, 2)], {"c": 0}), "anchor c: not among the players: a, b"),
        (lambda: rate([PairResult("a", "b", 1, 2)], {"a": math.inf}), "anchor a: inf"),
        (lambda: rate([PairResult("a", "b", 1, 2)], prior=-1), "prior = -1"),
        (lambda: rate([PairResult("a", "b", 1, 2)])["c"], "player c: not among the rated players: a, b"),
        (
            lambda: rate([PairResult("a", "b", 1, 2), PairResult("a", "c", 1, 2)], {"b": 0, "c": 1e6}),
            "not determined by the results",
        ),
    ],
)
def test_what_cannot_be_is_one_clear_line(make, message: str) -> None:
    with pytest.raises(RlgoError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("results", "anchors"),
    [
        ([PairResult("x", "a", 1, 2), PairResult("x", "b", 1, 2)], {"a": 0, "b": 6000}),
        ([PairResult("x", "a", 10**9, 10**9), PairResult("x", "b", 1, 2)], {"a": 0, "b": 3000}),
        ([PairResult(f"p{k}", f"p{k + 1}", 100, 100) for k in range(30)], {"p0": 0}),
        ([PairResult("x", "a", 10**12 - 1, 10**12)], {}),
        # Newton's method alone does not find these, from between the anchors, nor with steps halved.
        ([PairResult("x", "a", 0, 1000), PairResult("y", "b", 6, 12)], {"a": 0, "b": 6000}),
        # Nor these, where 1 - p stands for the chance of the other player.
        ([PairResult("x", "y", 10**12, 10**12), PairResult("y", "a", 5 * 10**8 + 7, 10**9)], {"a": 0}),
    ],
)
def test_ratings_far_from_each_other_are_found(results: list[PairResult], anchors: dict[str, float]) -> None:
    """The likelihood equations hold: every player without an anchor scores what its rating lets expect."""
    ratings = rate(results, anchors)
    for name in set(ratings.elo) - set(anchors):
        got, expected, games = points(name, results, ratings.elo, set(anchors), 2.0)
        assert got == pytest.approx(expected, abs=1e-12 * games + 1e-6)


# ---------------------------------------------------------------------------------------------
# What must not matter
# ---------------------------------------------------------------------------------------------


def points(
    name: str, results: list[PairResult], elo: dict[str, float], anchors: set[str], prior: float
) -> tuple[float, float, float]:
    """A player's points, virtual draws included, those its rating lets expect, and its games; one by one.

    The virtual draws as bayeselo adds them: every player brings prior / 2, spread over opponents by games.
    """
    fit = [r for r in results if not {r.a, r.b} <= anchors]
    total = {n: sum(r.games for r in fit if n in (r.a, r.b)) for n in elo}
    got = expected = games = 0.0
    for r in fit:
        if name in (r.a, r.b):
            other = r.b if r.a == name else r.a
            draws = prior / 2 * r.games / total[name] + prior / 2 * r.games / total[other]
            got += (r.score if r.a == name else r.games - r.score) + draws / 2
            expected += (r.games + draws) * expected_score(elo[name] - elo[other])
            games += r.games + draws
    return got, expected, games


@st.composite
def tournaments(draw: st.DrawFn) -> list[PairResult]:
    """2 to 6 players, connected, with totals and openings."""
    n = draw(st.integers(2, 6))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda ends: ends[0] != ends[1])
    results = []
    for i, j in [*pairwise(range(n)), *draw(st.lists(pair, max_size=8))]:
        if draw(st.booleans()):
            score = st.sampled_from([0.0, 0.5, 1.0])
            openings = draw(st.lists(st.tuples(score, score), min_size=1, max_size=6))
            results.append(PairResult.of_openings(f"p{i}", f"p{j}", openings))
        else:
            games = draw(st.integers(1, 50))
            wins = draw(st.integers(0, games))
            draws = draw(st.integers(0, games - wins))
            results.append(PairResult(f"p{i}", f"p{j}", wins + draws / 2, games, draws))
    return results


PROPERTY = settings(max_examples=60)


@PROPERTY
@given(tournaments(), st.sampled_from([0.5, 2.0, 6.0]), st.integers(0, 3))
def test_the_likelihood_equations_hold(results: list[PairResult], prior: float, fixed: int) -> None:
    names = sorted({name for r in results for name in (r.a, r.b)})
    anchors = {name: 150.0 * k for k, name in enumerate(names[:fixed])}
    ratings = rate(results, anchors, prior)
    for name in names[fixed:]:
        got, expected, games = points(name, results, ratings.elo, set(anchors), prior)
        assert got == pytest.approx(expected, abs=1e-9 * games)
    assert all(ratings[name].elo == elo for name, elo in anchors.items())
    if not anchors:
        assert sum(ratings.elo.values()) == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(ratings.covariance.sum(0), 0, atol=1e-4)


@PROPERTY
@given(tournaments(), st.data())
def test_one_anchor_only_moves_the_zero_point(results: list[PairResult], data: st.DataObject) -> None:
    free = rate(results)
    name = data.draw(st.sampled_from(sorted(free.elo)))
    anchored = rate(results, {name: 1800})
    shift = 1800 - free[name].elo
    assert {n: elo + shift for n, elo in free.elo.items()} == pytest.approx(anchored.elo, abs=1e-6)
    rows = [[[p.name for p in r.players].index(n) for n in sorted(r.elo)] for r in (free, anchored)]
    np.testing.assert_allclose(free.los[np.ix_(rows[0], rows[0])], anchored.los[np.ix_(rows[1], rows[1])], atol=1e-6)


@PROPERTY
@given(tournaments(), st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_results_and_players_does_not_matter(
    results: list[PairResult], rng: random.Random, anchored: bool
) -> None:
    def turned(r: PairResult) -> PairResult:
        openings = tuple(tuple(1 - y for y in opening) for opening in r.openings)
        return PairResult(r.b, r.a, r.games - r.score, r.games, r.draws, r.design, openings)

    others = [turned(r) if rng.random() < 0.5 else r for r in results]
    rng.shuffle(others)
    anchors = {"p1": 500.0} if anchored else {}
    assert_same(rate(results, anchors), rate(others, anchors))


# ---------------------------------------------------------------------------------------------
# For people and files
# ---------------------------------------------------------------------------------------------


def test_the_table_has_bayeselos_columns() -> None:
    results = [
        PairResult("gnugo", "random", 300, 300),
        PairResult("TD search", "gnugo", 55, 100, draws=6),
        PairResult("learner", "gnugo", 75, 1000),
        PairResult("learner", "random", 1000, 1000),
    ]
    ratings = rate(results, anchors={"gnugo": 1800})
    expected = """
Rank  Name        Elo    +    -  games  score  oppo.  draws
   1  TD search  1834   68   68    100    55%   1800     6%
   2  gnugo      1800    0    0   1400    91%   1135     0%
   3  learner    1365   41   41   2000    54%    967     0%
   4  random      134  370  370   1300     0%   1466     0%

LOS  in %        1   2    3    4
  1  TD search      84  100  100
  2  gnugo      16      100  100
  3  learner     0   0       100
  4  random      0   0    0
"""
    assert table(ratings, los=True) == expected.strip("\n")
    assert table(ratings) == table(ratings, los=True).partition("\n\n")[0]
    data = json.loads(json.dumps(ratings.to_json()))
    assert [(p["name"], p["elo"], p["ci95"]) for p in data["players"]] == [
        (p.name, p.elo, list(p.ci95)) for p in ratings.players
    ]
    np.testing.assert_array_equal(data["los"], ratings.los)
    np.testing.assert_array_equal(data["covariance"], ratings.covariance)


def test_lopsided_pairs_do_not_count_for_the_scatter() -> None:
    elo = {f"p{i}": 60.0 * i for i in range(12)}
    rng = np.random.default_rng(2)
    results = []
    for a, b in combinations(elo, 2):
        p = expected_score(elo[a] - elo[b] + rng.normal(0, 50))
        results.append(PairResult(a, b, score=float(rng.binomial(2_000, p)), games=2_000))
    ratings = rate(results)
    lopsided = PairResult("p11", "p0", 1_990.0, 2_000)
    assert pair_scatter(ratings, [*results, lopsided]) == pair_scatter(ratings, results)
