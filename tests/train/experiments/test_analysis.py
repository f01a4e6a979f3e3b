"""Analysis of raw results: ratings, measures and verdicts against hand formulas; the common scale."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from experiment_files import curves_of, header, run_line, score
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import foldnorm

from train.arena.elo import PairResult, rate
from train.experiments.declaration.experiment import GNUGO_0, GNUGO_10
from train.experiments.declaration.reading import read_experiment
from train.experiments.declaration.settings import Claim
from train.experiments.results.analysis import (
    ANCHOR,
    HELD,
    NOT_HELD,
    OPEN,
    SCALE_EXPERIMENT,
    Analysis,
    Measured,
    Repeats,
    analyze,
    repeats_of,
)
from train.experiments.results.files import RawResults, pair_line, read_raw, run_point, write_raw
from train.stats import clustered_interval

Z = 1.959963984540054


def two_labels(deviation: float = 0.0, **more) -> Analysis:
    """a with two seeds, b with three, each against everybody else at their end; and two outside players."""
    rng = np.random.default_rng(5)
    names = [run_point("a", s, 200) for s in (1, 2)] + [run_point("b", s, 200) for s in (1, 2, 3)] + ["random", "x"]
    elo = dict(zip(names, (300, 260, 210, 150, 170, 0, 120), strict=True))
    lines = [run_line("a", s, [200]) for s in (1, 2)] + [run_line("b", s, [200]) for s in (1, 2, 3)]
    for i, a in enumerate(names):
        lines += [pair_line(a, b, score(rng, elo[a] - elo[b], 12)) for b in names[:i]]
    return Analysis(RawResults(header("two", "curves"), lines), repeats=three(deviation), anchors={"x": 120.0}, **more)


def three(deviation: float) -> Repeats:
    """Three seeds that differ by so much at 200 games."""
    return Repeats({200: [-deviation, 0.0, deviation]})


T2 = 4.302652729749464  # Student's quantile of 97.5 % with two degrees of freedom


def rated(found: Analysis) -> list[PairResult]:
    """The results, read off the raw lines anew."""
    value = {"W": 1.0, "D": 0.5, "L": 0.0}
    return [
        PairResult.of_openings(
            *line["pair"], [[value[c] for c in text] for text, n in line["openings"].items() for _ in range(n)]
        )
        for line in found.raw.lines
        if "pair" in line
    ]


# ---------------------------------------------------------------------------------------------
# Ratings
# ---------------------------------------------------------------------------------------------


def test_ratings_are_those_of_all_pairs():
    found = replace(two_labels(), anchors={})
    expected = rate(rated(found))
    assert found.ratings.elo == expected.elo
    assert np.array_equal(found.ratings.covariance, expected.covariance)
    assert sum(found.ratings.elo.values()) == pytest.approx(0, abs=1e-6)
    # An anchor that nobody met moves nothing.
    assert replace(found, anchors=ANCHOR).ratings.elo == expected.elo
    anchored = replace(found, anchors={"x": 1000.0}).ratings
    assert anchored.elo == rate(rated(found), {"x": 1000.0}).elo
    assert anchored["x"].elo == 1000


def test_a_difference_and_its_interval_by_hand():
    """Means of the seeds; the variance of the difference, and of each mean what another seed would change."""
    found = two_labels(deviation=70.0)
    ratings = rate(rated(found), {"x": 120.0})
    other_seed = (70 * T2 / Z) ** 2  # known from three
    at = {player.name: i for i, player in enumerate(ratings.players)}
    a = [at[run_point("a", s, 200)] for s in (1, 2)]
    b = [at[run_point("b", s, 200)] for s in (1, 2, 3)]
    elo = [player.elo for player in ratings.players]
    mean_a, mean_b = statistics.fmean(elo[i] for i in a), statistics.fmean(elo[i] for i in b)
    v = ratings.covariance
    within_a = sum(v[i, k] for i in a for k in a) / 4
    within_b = sum(v[i, k] for i in b for k in b) / 9
    between = sum(v[i, k] for i in a for k in b) / 6
    games = within_a + within_b - 2 * between

    def check(m: Measured | None, value: float, variance: float) -> None:
        half = Z * math.sqrt(variance)
        assert [m.value, m.low, m.high] == pytest.approx([value, value - half, value + half], abs=1e-6)

    check(found.elo("a", "b"), mean_a - mean_b, games + other_seed / 2 + other_seed / 3)
    check(replace(found, repeats=three(0)).elo("a", "b"), mean_a - mean_b, games)
    check(found.elo("a@200", "b@200"), mean_a - mean_b, games + other_seed / 2 + other_seed / 3)
    check(found.elo("a"), mean_a, within_a + other_seed / 2)
    # A player that was not trained has no other seed.
    x = at["x"]
    check(found.elo("x"), elo[x], v[x, x])
    check(found.elo("a", "x"), mean_a - elo[x], within_a + v[x, x] - 2 * sum(v[i, x] for i in a) / 2 + other_seed / 2)
    back = found.elo("b", "a")
    check(back, mean_b - mean_a, games + other_seed / 2 + other_seed / 3)
    assert found.seeds("b") == [elo[i] for i in b]


def test_a_point_stands_by_the_mean_of_all_checkpoints():
    """What is left out is where the whole scale lies: the same ratings on another one have the same intervals."""
    found = two_labels(deviation=500.0)
    ratings = found.ratings
    at = [i for i, player in enumerate(ratings.players) if "@" in player.name]
    (x,) = (i for i, player in enumerate(ratings.players) if player.name == run_point("a", 1, 200))
    (y,) = (i for i, player in enumerate(ratings.players) if player.name == run_point("a", 2, 200))
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(7), ratings.covariance, 200_000)
    deviation = ((draws[:, x] + draws[:, y]) / 2 - draws[:, at].mean(1)).std()
    placed = found.placed("a")
    assert placed.value == pytest.approx((ratings.players[x].elo + ratings.players[y].elo) / 2)
    assert (placed.high - placed.low) / 2 == pytest.approx(Z * deviation, rel=0.02)
    moved = replace(found, anchors={"x": 1120.0}).placed("a")
    assert moved.high - moved.low == pytest.approx(placed.high - placed.low, rel=0.02)
    assert moved.value == pytest.approx(placed.value + 1000)
    assert found.placed("c") is None
    assert found.placed("a@100") is None


def test_what_has_not_run_is_none():
    found = two_labels()
    for point in ("c", "a@100", "b@201", "GNU Go level 0"):
        assert found.players(point) == []
        assert found.seeds(point) == []
        for m in (found.elo(point), found.elo("a", point), found.elo(point, "a"), found.placed(point)):
            assert m is None
        assert found.spread(point) is None
    assert found.won("a", "b") is None
    assert found.checkpoints("c") == []
    for of in ("elo", "won", "spread", "diverged", "number"):
        assert found.measure(Claim("so", "c", "a" if of in ("elo", "won") else "", of, 0)) is None


def test_the_checkpoints_of_a_label_are_those_of_all_its_seeds():
    lines = [run_line("a", 1, [100, 200, 500]), run_line("a", 2, [100, 200, 1000]), run_line("b", 1, [])]
    chain = [run_point("a", s, g) for s, of in ((1, (100, 200, 500)), (2, (1000, 200))) for g in of]
    lines += [pair_line(a, b, [(1, 0), (1, 1)]) for a, b in pairwise(chain)]
    found = Analysis(RawResults(header("x", "curves"), lines))
    assert found.checkpoints("a") == [200]  # nobody met the second one at 100 games
    assert found.players("a") == found.players("a@200")
    assert len(found.players("a")) == 2
    assert found.checkpoints("b") == []
    assert found.elo("b") is None
    assert found.measure(Claim("so", "b", of="diverged")) == Measured(0, 0, 0)


# ---------------------------------------------------------------------------------------------
# Other measures
# ---------------------------------------------------------------------------------------------


def test_won_by_hand():
    """Seen from both sides, all meetings of the two and no others."""
    lines = [
        pair_line("A", "B", [(1, 1), (1, 0.5), (0, 0)]),
        pair_line("B", "A", [(1, 0)]),
        pair_line("A", "C", [(1, 1)] * 9),
    ]
    found = Analysis(RawResults(header("x", "games"), lines))
    m = found.won("A", "B")
    assert m.value == 4.5 / 8
    assert (m.low, m.high) == pytest.approx(clustered_interval([(1, 1), (1, 0.5), (0, 0), (0, 1)]))
    back = found.won("B", "A")
    assert [back.value, back.low, back.high] == pytest.approx([1 - m.value, 1 - m.high, 1 - m.low])
    assert found.won("C", "A").value == 0
    assert found.won("B", "C") is None
    assert found.measure(Claim("so", "A", "B", "won", 0.5)) == m


def test_speeds_by_hand():
    """Own moves, half of those after the opening, times the simulations of each, over the seconds thought."""
    line = pair_line("a", "b", [(1.0, 0.0)] * 3, specs=["td_search,sims=100", "greedy"], moves=64.0, seconds_of=[2, 1])
    more = pair_line("c", "a", [(1.0,)], specs=["uct,sims=50", "td_search,sims=100"], moves=24.0, seconds_of=[1, 1])
    found = Analysis(RawResults(header("x", "games", opening_plies=4), [line, more]))
    assert found.speeds == {"a": pytest.approx((100 * 6 * 30 + 100 * 10) / 3), "c": 50 * 10}
    assert found.speed("a", "c").value == pytest.approx(19_000 / 3 / 500)
    assert found.speed("a", "b") is None
    assert found.speed("b", "a") is None
    claim = Claim("so", "a", "c", of="speed", low=2)
    assert found.measure(claim) == found.speed("a", "c")
    assert Analysis(RawResults(header("x", "curves"), [pair_line("a", "b", [(1.0, 0.0)])])).speeds == {}


def test_a_rating_among_all_by_hand():
    """Of two players each is half their difference from the mean, and so is the interval; links do not count."""
    raw = RawResults(header("x", "games"), [pair_line("a", GNUGO_0, [(1.0, 1.0), (1.0, 0.0)] * 20)])
    link = PairResult.of_openings(GNUGO_0, GNUGO_10, [(0.0, 0.0), (1.0, 0.0)] * 5)
    found = Analysis(raw, [link], anchors=ANCHOR)
    a, difference = found.rating_among("a"), found.elo("a", GNUGO_0)
    assert a.value == found.elo("a").value
    assert a.high - a.low == pytest.approx((difference.high - difference.low) / 2)
    assert a.high - a.low < found.elo("a").high - found.elo("a").low
    assert found.rating_among(GNUGO_10) is None
    assert found.rating_among("nobody") is None


def test_the_spread_of_two_seeds_is_a_folded_normal():
    found = two_labels()
    lines = [line for line in found.raw.lines if line.get("run") != "b" or line["seed"] < 3]
    found = replace(found, raw=RawResults(found.raw.header, lines))
    i, k = found.players("a")
    elo, v = [p.elo for p in found.ratings.players], found.ratings.covariance
    d, s = abs(elo[i] - elo[k]), math.sqrt(v[i, i] + v[k, k] - 2 * v[i, k])
    m = found.spread("a")
    assert m.value == pytest.approx(d)
    high = foldnorm(d / s, scale=s).ppf(0.975)
    assert (m.low, m.high) == pytest.approx((max(0, 2 * d - high), high), abs=0.05 * s)
    assert found.measure(Claim("so", "a", of="spread", high=50)) == m


def test_the_spread_is_the_best_less_the_worst():
    found = two_labels()
    b = found.seeds("b")
    m = found.spread("b")
    assert m.value == pytest.approx(max(b) - min(b))
    assert m.low <= m.value <= m.high
    # Of equal seeds it is 0, though chance alone would make it larger: the interval holds it even so.
    names = [run_point("a", s, 100) for s in (1, 2, 3)]
    even = [(1, 0), (0, 1)] * 5
    lines = [run_line("a", s, [100]) for s in (1, 2, 3)]
    lines += [pair_line(names[i], names[k], even) for i, k in ((0, 1), (0, 2), (1, 2))]
    level = Analysis(RawResults(header("x", "curves"), lines)).spread("a")
    assert level.value == pytest.approx(0, abs=1e-6)
    assert level.low <= level.value
    assert level.high > 50
    one = Analysis(RawResults(header("x", "curves"), [lines[0], pair_line(names[0], "random", even)]))
    assert one.spread("a") is None
    assert one.elo("a", "random") is not None


def test_diverged_and_numbers_are_counted():
    lines = [
        run_line("a", 1, [100], "diverged"),
        run_line("a", 2, [100, 200]),
        run_line("a", 3, [], "diverged"),
        {"number": "x", "value": 7},
    ]
    found = Analysis(RawResults(header("x", "curves"), lines))
    assert found.measure(Claim("so", "a", of="diverged", low=1)) == Measured(2, 2, 2)
    assert found.measure(Claim("so", "x", of="number", low=7, high=7)) == Measured(7, 7, 7)
    assert found.measure(Claim("so", "y", of="number", low=7, high=7)) is None


@given(*[st.floats(-100, 100)] * 4)
def test_a_verdict_says_where_all_of_the_interval_lies(a, b, c, d):
    (low, high), (below, above) = sorted((a, b)), sorted((c, d))
    inside = [below <= x <= above for x in (low, high)]
    apart = high < below or low > above
    verdict = Measured(low, low, high).verdict(below, above)
    assert verdict == (HELD if all(inside) else NOT_HELD if apart else OPEN)
    exact = Measured(low, low, low).verdict(below, above)
    assert exact == (HELD if below <= low <= above else NOT_HELD)


def test_what_decides_a_claim_by_hand():
    assert Measured(2, 1, 3).times_to_decide(1.5, math.inf) == 4  # half as wide, so four times as many
    assert Measured(2, 1, 3).times_to_decide(1.5, 2.8) == 4  # the nearer bound is what matters
    assert Measured(2, 1, 6).times_to_decide(-math.inf, 3) == 16  # the half that reaches the bound
    assert Measured(2, 1, 3).times_to_decide(0, 10) == 1  # holds already
    assert Measured(2, 1, 3).times_to_decide(2, math.inf) == math.inf
    assert Measured.normal(30, 25 * 25, fixed=225).times_to_decide(0, math.inf) == pytest.approx(
        400 / ((30 / Z) ** 2 - 225)
    )
    assert Measured.normal(30, 25 * 25, fixed=225).times_to_decide(1, math.inf) == math.inf  # 29 < 1.96 * 15


@given(st.integers(-50, 50), st.integers(1, 50), st.integers(-60, 60), st.integers(0, 60))
def test_as_many_games_as_decide_a_claim_decide_it(value, half, low, width):
    high = low + width
    now = Measured(value, value - half, value + half)
    times = now.times_to_decide(low, high)
    touches = {now.low, now.high} & {low, high}
    assert touches or (times > 1) == (now.verdict(low, high) == OPEN)
    for factor, decides in ((0.99, False), (1.01, True)):
        if 1 < times * factor < 1e6:
            then = half / math.sqrt(times * factor)
            assert (Measured(value, value - then, value + then).verdict(low, high) != OPEN) == decides


# ---------------------------------------------------------------------------------------------
# One scale
# ---------------------------------------------------------------------------------------------


def test_games_against_gnugo_lead_to_its_scale(results, tmp_path):
    link = Analysis(read_raw(results / "gnugo.jsonl")).pairs
    for name in ("gnugo", "learning_runs", "alphabeta_depth"):
        found = analyze(results, name)
        assert found.is_anchored
        assert found.elo(GNUGO_10) == Measured(1800, 1800, 1800)
        # 140 of 400: how far level 0 is below, but for a virtual draw or two and the others' games.
        assert found.elo(GNUGO_0).value == pytest.approx(1800 + 400 * math.log10(140 / 260), abs=12)
        expected = rate([*rated(found), *(link if name != "gnugo" else [])], {GNUGO_10: 1800.0})
        assert found.ratings.elo == pytest.approx(expected.elo)
    # Without the link, games against level 0 lead nowhere: the mean is 0.
    write_raw(tmp_path / "alphabeta_depth.jsonl", read_raw(results / "alphabeta_depth.jsonl"))
    alone, whole = analyze(tmp_path, "alphabeta_depth"), analyze(results, "alphabeta_depth")
    assert not alone.is_anchored
    assert sum(alone.ratings.elo.values()) == pytest.approx(0, abs=1e-6)
    assert alone.elo("depth 4") is None
    assert alone.rating("depth 4").value == alone.ratings["depth 4"].elo
    difference = [found.elo("depth 4", "depth 2").value for found in (alone, whole)]
    assert difference[0] == pytest.approx(difference[1], abs=15)
    assert whole.elo("depth 4").value > alone.rating("depth 4").value + 500


def test_other_curves_stand_where_the_reference_run_stands(results, tmp_path):
    scale, found = analyze(results, "learning_runs"), analyze(results, "plies")
    known = scale.ratings[run_point("paper's settings", 1, 1000)]
    name = run_point("two-ply", 1, 1000)
    expected = rate(rated(found), {name: known.elo})
    assert found.ratings.elo == pytest.approx(expected.elo)
    assert found.ratings[name].elo == known.elo
    assert found.levels == {level: scale.ratings[level].elo for level in (GNUGO_0, GNUGO_10)}
    # What is unknown about the yardstick is in ratings, but not in their differences.
    at = {player.name: i for i, player in enumerate(expected.players)}
    one = at[run_point("one-ply", 1, 1000)]
    yardstick = ((known.ci95[1] - known.elo) / Z) ** 2
    games = expected.covariance[one, one]
    other_seed = scale.repeats.variance(1000)
    half = Z * math.sqrt(games + yardstick + other_seed)
    m = found.elo("one-ply")
    assert (m.high - m.value, m.value - m.low) == pytest.approx((half, half))
    m = found.elo("two-ply@1000", "one-ply")
    names = [player.name for player in expected.players]
    eight = [name.startswith("two-ply") and name.endswith("@1000") for name in names]
    w = np.array(eight) / 8 - np.eye(len(at))[one]
    assert sum(eight) == 8
    assert m.high - m.value == pytest.approx(Z * math.sqrt(w @ expected.covariance @ w + other_seed * (1 + 1 / 8)))
    # Where the eight runs have not run, or the reference run is another one, the mean is 0.
    write_raw(tmp_path / "plies.jsonl", found.raw)
    for _ in range(2):
        alone = analyze(tmp_path, "plies")
        assert not alone.is_anchored
        assert alone.levels == {}
        assert sum(alone.ratings.elo.values()) == pytest.approx(0, abs=1e-6)
        other = curves_of(read_experiment("learning_runs"), openings=2)
        other.lines[0]["crc32"] = "other"
        assert other.lines[0]["reference"]
        write_raw(tmp_path / "learning_runs.jsonl", other)
        write_raw(tmp_path / "gnugo.jsonl", read_raw(results / "gnugo.jsonl"))


def test_how_much_runs_differ_is_measured_by_eight_of_them(results, tmp_path):
    repeated = analyze(results, "learning_runs")
    for games in (100, 1000):
        elo = [repeated.ratings[run_point("paper's settings", seed, games)].elo for seed in range(1, 9)]
        assert repeated.repeats.elo[games] == pytest.approx(elo)
        assert repeated.repeats.deviation(games) == pytest.approx(statistics.stdev(elo))
    assert analyze(results, "plies").repeats == repeated.repeats
    # Where they have not run, or a single run tells nothing, it is what the paper says.
    assert repeats_of(analyze(results, "alphabeta_depth")) == Repeats()
    write_raw(tmp_path / "plies.jsonl", curves_of(read_experiment("plies")))
    assert analyze(tmp_path, "plies").repeats == Repeats()
    assert Repeats().deviation(7) == 35
    assert analyze(tmp_path, "learning_runs") is None


def test_what_another_seed_changes_by_hand():
    repeats = Repeats({100: [0.0, 30.0, 60.0], 1000: [100.0, 100.0, 160.0]})
    factor = (T2 / Z) ** 2
    assert repeats.variance(100) == pytest.approx(900 * factor)
    assert repeats.variance(1000) == pytest.approx(1200 * factor)
    # The nearest age counts, on a log scale.
    assert repeats.variance(300) == repeats.variance(100)
    assert repeats.variance(400) == repeats.variance(1000)
    assert repeats.variance(9_000_000) == repeats.variance(1000)
    # What the same seeds gained: 100, 70 and 100.
    assert repeats.variance(1000, 100) == pytest.approx(300 * factor)
    # No seed was rated at two ages near these: they may differ as two runs do.
    assert repeats.variance(9_000_000, 1000) == pytest.approx(2 * 1200 * factor)
    assert repeats.variance(1000, 1000) == 0
    assert Repeats().variance(5) == 35**2
    assert Repeats().variance(500, 5) == 2 * 35**2


def test_gains_of_the_same_runs_are_less_uncertain_than_differences_of_runs():
    ages = (100, 1000)
    lines = [run_line(label, 1, list(ages)) for label in "ab"]
    points = [run_point(label, 1, age) for label in "ab" for age in ages]
    lines += [pair_line(x, y, [(1, 0), (1, 1), (0, 0)] * 9) for x, y in combinations(points, 2)]
    repeats = Repeats({100: [0.0, 30.0, 60.0], 1000: [100.0, 100.0, 160.0]})
    found = Analysis(RawResults(header("x", "curves"), lines), repeats=repeats)
    certain = replace(found, repeats=Repeats({100: [0.0, 0.0]}))

    def added(a: str, b: str) -> float:
        return found.elo(a, b).variance - certain.elo(a, b).variance

    assert added("a", "a@100") == pytest.approx(repeats.variance(1000, 100))
    assert added("a", "b@100") == pytest.approx(repeats.variance(1000) + repeats.variance(100))
    assert added("a", "a@1000") == 0


def test_how_much_runs_differ_needs_no_gnugo(results, tmp_path):
    for name in ("plies", "learning_runs"):
        write_raw(tmp_path / f"{name}.jsonl", read_raw(results / f"{name}.jsonl"))
    expected = analyze(results, "learning_runs").repeats.deviation(1000)
    assert analyze(tmp_path, "learning_runs").repeats.deviation(1000) == pytest.approx(expected, abs=10)
    assert analyze(tmp_path, "plies").repeats.deviation(1000) == pytest.approx(expected, abs=10)


def test_the_scale_is_analyzed_again_once_its_results_change(tmp_path):
    e, file = read_experiment(SCALE_EXPERIMENT), tmp_path / f"{SCALE_EXPERIMENT}.jsonl"
    write_raw(file, curves_of(e, openings=2))
    before = analyze(tmp_path, SCALE_EXPERIMENT)
    assert analyze(tmp_path, SCALE_EXPERIMENT) is before
    write_raw(file, curves_of(e, openings=4))
    after = analyze(tmp_path, SCALE_EXPERIMENT)
    assert after.checksum == replace(after, raw=read_raw(file)).checksum != before.checksum
    file.unlink()
    assert analyze(tmp_path, SCALE_EXPERIMENT) is None
