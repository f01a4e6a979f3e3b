"""What raw results say: ratings, measures and verdicts against hand formulas; the report and the pictures of them."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import foldnorm

from rlgo.errors import RlgoError
from train.arena.elo import PairResult, rate
from train.experiments import curves
from train.experiments.curves import Point
from train.experiments.findings import (
    ANCHOR,
    GNUGO_0,
    GNUGO_10,
    HELD,
    NOT_HELD,
    NOT_MEASURED,
    NOT_RUN,
    OPEN,
    Findings,
    Measured,
    Raw,
    Repeats,
    find,
    pair_line,
    read_raw,
    repeats_of,
    run_point,
    scores_of,
    write_raw,
)
from train.experiments.pictures import experiment_picture
from train.experiments.report import markdown, overview, plot, report, section, show, write_report
from train.experiments.running import Claim, Experiment, list_experiments, read_experiment, run_experiment
from train.stats import clustered_interval

ROOT = Path(__file__).resolve().parents[2]
Z = 1.959963984540054
PNG = b"\x89PNG\r\n\x1a\n"


# ---------------------------------------------------------------------------------------------
# Results made by hand
# ---------------------------------------------------------------------------------------------


def header(name: str, kind: str, **more) -> dict:
    """The first line of a file of raw results."""
    return {
        "experiment": name, "kind": kind, "scale": 1.0, "command": f"rlgo experiment run {name}",
        "finished": "2026-11-22", "machine": "2 x Some Processor", "seconds": 90.0, "seed": 1,
        "versions": {"rlgo": "0.1.0"}, **more,
    }  # fmt: skip


def run_line(label: str, seed: int, ages: list[int], state: str = "finished", reference: bool = False) -> dict:
    return {
        "run": label, "seed": seed, "base": "paper", "changed": {}, "reference": reference, "state": state,
        "games": max(ages, default=0), "checkpoints": ages, "crc32": "01234567",
    }  # fmt: skip


def score(rng: np.random.Generator, difference: float, openings: int) -> list[tuple[float, float]]:
    """Games between players so many Elo apart."""
    p = 1 / (1 + 10 ** (-difference / 400))
    return [tuple(map(float, rng.random(2) < p)) for _ in range(openings)]


def curves_of(e: Experiment, ages: tuple[int, ...] = (100, 200, 1000), openings: int = 10) -> Raw:
    """Results of an experiment whose runs learn 150 Elo with every checkpoint, those of later labels a little more."""
    rng, runs, points, elo = np.random.default_rng(3), [], [Point("random", -1, 0, None)], {"random": 0.0}
    labelled = [(label, m) for label, members in e.members.items() for m in members]
    for i, (label, member) in enumerate(labelled):
        seed = member.config.run.seed
        runs.append(run_line(label, seed, list(ages), reference=member.name == e.reference.name))
        for k, games in enumerate(ages, 1):
            points.append(Point(run_point(label, seed, games), i, games, None))
            elo[points[-1].name] = (150 + 10 * i) * k
    pairs = [
        pair_line(a.name, b.name, score(rng, elo[a.name] - elo[b.name], openings)) for a, b in curves.meetings(points)
    ]
    if e.settings.gnugo_games:
        last = [run_point(label, member.config.run.seed, ages[-1]) for label, member in labelled]
        pairs += [pair_line(name, GNUGO_0, score(rng, elo[name] - 700, openings)) for name in last]
    return Raw(header(e.name, "curves"), [*runs, *pairs])


def games_of(e: Experiment, openings: int = 20, step: float = 80) -> Raw:
    """Results of an experiment in which everybody meets everybody, each `step` Elo better than the one before."""
    rng, lines = np.random.default_rng(4), []
    for i, a in enumerate(e.contestants):
        for k, b in enumerate(e.contestants[:i]):
            scores = score(rng, step * (i - k), openings)
            lines.append(pair_line(a.name, b.name, scores, seconds_of=[4.0, 2.0], seconds=6.0))
    return Raw(header(e.name, "games"), lines)


def two_labels(deviation: float = 0.0, **more) -> Findings:
    """a with two seeds, b with three, each against everybody else at their end; and two outside players."""
    rng = np.random.default_rng(5)
    names = [run_point("a", s, 200) for s in (1, 2)] + [run_point("b", s, 200) for s in (1, 2, 3)] + ["random", "x"]
    elo = dict(zip(names, (300, 260, 210, 150, 170, 0, 120), strict=True))
    lines = [run_line("a", s, [200]) for s in (1, 2)] + [run_line("b", s, [200]) for s in (1, 2, 3)]
    for i, a in enumerate(names):
        lines += [pair_line(a, b, score(rng, elo[a] - elo[b], 12)) for b in names[:i]]
    return Findings(Raw(header("two", "curves"), lines), repeats=three(deviation), anchors={"x": 120.0}, **more)


def three(deviation: float) -> Repeats:
    """Three seeds that differ by so much at 200 games."""
    return Repeats({200: [-deviation, 0.0, deviation]})


T2 = 4.302652729749464  # Student's quantile of 97.5 % with two degrees of freedom


def rated(found: Findings) -> list[PairResult]:
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
# Raw results
# ---------------------------------------------------------------------------------------------


def test_a_pair_line_by_hand():
    line = pair_line("A", "B", [(1, 0), (0.5, 1.0), (1, 0), (0, 0)], forfeits=2)
    assert line == {"pair": ["A", "B"], "openings": {"DW": 1, "LL": 1, "WL": 2}, "forfeits": 2}
    assert scores_of(line) == [(0.5, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 0.0)]


RESULT = st.sampled_from([0.0, 0.5, 1.0])
OPENINGS = st.lists(st.lists(RESULT, min_size=1, max_size=2).map(tuple), min_size=1, max_size=30)


@given(OPENINGS)
def test_scores_come_back(openings):
    line = json.loads(json.dumps(pair_line("A", "B", openings)))
    assert Counter(scores_of(line)) == Counter(openings)
    assert list(line["openings"]) == sorted(line["openings"])


def test_raw_results_come_back(tmp_path):
    path = tmp_path / "new" / "x.jsonl"
    assert read_raw(path) is None
    raw = Raw({"kind": "games"}, [{"number": "größe", "value": 3}, {"pair": ["a", "b"], "openings": {"W": 1}}])
    write_raw(path, raw)
    assert read_raw(path) == raw
    assert raw.of("number") == raw.lines[:1] and raw.of("run") == []
    first, *rest = path.read_text("utf-8").splitlines()
    assert json.loads(first) == {"format": "rlgo-experiment-1", "kind": "games"} and len(rest) == 2


@pytest.mark.parametrize("text", ["", "no JSON\n", '{"format": "rlgo-results-1"}\n', "{}\n", "3\n", '{"a": \n', "\xff"])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "x.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RlgoError, match=rf"^{path}: expected raw results of an experiment, this is none$"):
        read_raw(path)


def test_a_list_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("[1]\n")
    with pytest.raises(RlgoError, match="expected raw results"):
        read_raw(path)


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
    assert anchored.elo == rate(rated(found), {"x": 1000.0}).elo and anchored["x"].elo == 1000


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
    assert found.placed("c") is None and found.placed("a@100") is None


def test_what_has_not_run_is_none():
    found = two_labels()
    for point in ("c", "a@100", "b@201", "GNU Go level 0"):
        assert found.players(point) == [] and found.seeds(point) == []
        for m in (found.elo(point), found.elo("a", point), found.elo(point, "a"), found.placed(point)):
            assert m is None
        assert found.spread(point) is None
    assert found.won("a", "b") is None and found.checkpoints("c") == []
    for of in ("elo", "won", "spread", "diverged", "number"):
        assert found.measure(Claim("so", "c", "a" if of in ("elo", "won") else "", of, 0)) is None


def test_the_checkpoints_of_a_label_are_those_of_all_its_seeds():
    lines = [run_line("a", 1, [100, 200, 500]), run_line("a", 2, [100, 200, 1000]), run_line("b", 1, [])]
    chain = [run_point("a", s, g) for s, of in ((1, (100, 200, 500)), (2, (1000, 200))) for g in of]
    lines += [pair_line(a, b, [(1, 0), (1, 1)]) for a, b in pairwise(chain)]
    found = Findings(Raw(header("x", "curves"), lines))
    assert found.checkpoints("a") == [200]  # nobody met the second one at 100 games
    assert found.players("a") == found.players("a@200") and len(found.players("a")) == 2
    assert found.checkpoints("b") == [] and found.elo("b") is None
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
    found = Findings(Raw(header("x", "games"), lines))
    m = found.won("A", "B")
    assert m.value == 4.5 / 8
    assert (m.low, m.high) == pytest.approx(clustered_interval([(1, 1), (1, 0.5), (0, 0), (0, 1)]))
    back = found.won("B", "A")
    assert [back.value, back.low, back.high] == pytest.approx([1 - m.value, 1 - m.high, 1 - m.low])
    assert found.won("C", "A").value == 0 and found.won("B", "C") is None
    assert found.measure(Claim("so", "A", "B", "won", 0.5)) == m


def test_speeds_by_hand():
    """Own moves, half of those after the opening, times the simulations of each, over the seconds thought."""
    line = pair_line("a", "b", [(1.0, 0.0)] * 3, specs=["td_search,sims=100", "greedy"], moves=64.0, seconds_of=[2, 1])
    more = pair_line("c", "a", [(1.0,)], specs=["uct,sims=50", "td_search,sims=100"], moves=24.0, seconds_of=[1, 1])
    found = Findings(Raw(header("x", "games", opening_plies=4), [line, more]))
    assert found.speeds == {"a": pytest.approx((100 * 6 * 30 + 100 * 10) / 3), "c": 50 * 10}
    assert found.speed("a", "c").value == pytest.approx(19_000 / 3 / 500)
    assert found.speed("a", "b") is None and found.speed("b", "a") is None
    claim = Claim("so", "a", "c", of="speed", low=2)
    assert found.measure(claim) == found.speed("a", "c")
    assert Findings(Raw(header("x", "curves"), [pair_line("a", "b", [(1.0, 0.0)])])).speeds == {}


def test_a_rating_among_all_by_hand():
    """Of two players each is half their difference from the mean, and so is the interval; links do not count."""
    raw = Raw(header("x", "games"), [pair_line("a", GNUGO_0, [(1.0, 1.0), (1.0, 0.0)] * 20)])
    link = PairResult.of_openings(GNUGO_0, GNUGO_10, [(0.0, 0.0), (1.0, 0.0)] * 5)
    found = Findings(raw, [link], anchors=ANCHOR)
    a, difference = found.rating_among("a"), found.elo("a", GNUGO_0)
    assert a.value == found.elo("a").value
    assert a.high - a.low == pytest.approx((difference.high - difference.low) / 2)
    assert a.high - a.low < found.elo("a").high - found.elo("a").low
    assert found.rating_among(GNUGO_10) is None and found.rating_among("nobody") is None


def test_the_spread_of_two_seeds_is_a_folded_normal():
    found = two_labels()
    lines = [line for line in found.raw.lines if line.get("run") != "b" or line["seed"] < 3]
    found = replace(found, raw=Raw(found.raw.header, lines))
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
    assert m.value == pytest.approx(max(b) - min(b)) and m.low <= m.value <= m.high
    # Of equal seeds it is 0, though chance alone would make it larger: the interval holds it even so.
    names = [run_point("a", s, 100) for s in (1, 2, 3)]
    even = [(1, 0), (0, 1)] * 5
    lines = [run_line("a", s, [100]) for s in (1, 2, 3)]
    lines += [pair_line(names[i], names[k], even) for i, k in ((0, 1), (0, 2), (1, 2))]
    level = Findings(Raw(header("x", "curves"), lines)).spread("a")
    assert level.value == pytest.approx(0, abs=1e-6) and level.low <= level.value and level.high > 50
    one = Findings(Raw(header("x", "curves"), [lines[0], pair_line(names[0], "random", even)]))
    assert one.spread("a") is None and one.elo("a", "random") is not None


def test_diverged_and_numbers_are_counted():
    lines = [
        run_line("a", 1, [100], "diverged"),
        run_line("a", 2, [100, 200]),
        run_line("a", 3, [], "diverged"),
        {"number": "x", "value": 7},
    ]
    found = Findings(Raw(header("x", "curves"), lines))
    assert found.measure(Claim("so", "a", of="diverged", low=1)) == Measured(2, 2, 2)
    assert found.measure(Claim("so", "x", of="number", low=7, high=7)) == Measured(7, 7, 7)
    assert found.measure(Claim("so", "y", of="number", low=7, high=7)) is None


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0, 10, HELD), (1, 3, HELD), (-math.inf, math.inf, HELD), (1, math.inf, HELD), (-math.inf, 3, HELD),
        (1.01, 3, OPEN), (1, 2.99, OPEN), (1.5, 2.5, OPEN), (3, 5, OPEN), (-5, 1, OPEN), (2, math.inf, OPEN),
        (3.01, 5, NOT_HELD), (-5, 0.99, NOT_HELD), (3.01, math.inf, NOT_HELD), (-math.inf, 0.99, NOT_HELD),
    ],
)  # fmt: skip
def test_verdicts_at_all_borders(low, high, verdict):
    assert Measured(2, 1, 3).verdict(low, high) == verdict


@given(*[st.floats(-100, 100)] * 4)
def test_a_verdict_says_where_all_of_the_interval_lies(a, b, c, d):
    (low, high), (below, above) = sorted((a, b)), sorted((c, d))
    inside = [below <= x <= above for x in (low, high)]
    apart = high < below or low > above
    verdict = Measured(low, low, high).verdict(below, above)
    assert verdict == (HELD if all(inside) else NOT_HELD if apart else OPEN)
    exact = Measured(low, low, low).verdict(below, above)
    assert exact == (HELD if below <= low <= above else NOT_HELD)


def test_an_interval_of_rounding_alone_has_no_width():
    m = Measured.normal(3, -1e-12)
    assert (m.value, m.low, m.high) == (3, 3, 3)
    m = Measured.normal(3, 4)
    assert (m.value, m.low, m.high) == pytest.approx((3, 3 - 2 * Z, 3 + 2 * Z))


# ---------------------------------------------------------------------------------------------
# One scale
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Raw results of every kind, of some of the shipped experiments."""
    folder = tmp_path_factory.mktemp("docs") / "experiments"
    run_experiment(read_experiment("shape_counts", out=folder.parent / "out"), folder, progress=False)
    e = read_experiment("gnugo")
    wins = [(1, 0)] * 100 + [(0, 0)] * 80 + [(1, 1)] * 20
    line = pair_line(GNUGO_0, GNUGO_10, wins, seconds_of=[40.0, 400.0], seconds=440.0)
    write_raw(folder / "gnugo.jsonl", Raw(header(e.name, "games"), [line]))
    for name in ("plies", "learning_runs"):
        write_raw(folder / f"{name}.jsonl", curves_of(read_experiment(name)))
    write_raw(folder / "alphabeta_depth.jsonl", games_of(read_experiment("alphabeta_depth")))
    numbers = [{"number": "games", "value": 1000, "seconds": 3.0}]
    for block in ("1x1 LI", "3x3 LD"):
        numbers.append({"histogram": block, "classes": [0, 3, 0, 2000, 40_000]})
        for key in ("weights", "occurrences", "most often", "seen 1,000 to 10,000 times", "never seen"):
            numbers.append({"number": f"{block} {key}", "value": 12_345})
    write_raw(folder / "shape_frequency.jsonl", Raw(header("shape_frequency", "frequency"), numbers))
    return folder


def test_games_against_gnugo_lead_to_its_scale(results, tmp_path):
    link = Findings(read_raw(results / "gnugo.jsonl")).pairs
    for name in ("gnugo", "learning_runs", "alphabeta_depth"):
        found = find(results, name)
        assert found.is_anchored and found.elo(GNUGO_10) == Measured(1800, 1800, 1800)
        # 140 of 400: how far level 0 is below, but for a virtual draw or two and the others' games.
        assert found.elo(GNUGO_0).value == pytest.approx(1800 + 400 * math.log10(140 / 260), abs=12)
        expected = rate([*rated(found), *(link if name != "gnugo" else [])], {GNUGO_10: 1800.0})
        assert found.ratings.elo == pytest.approx(expected.elo)
    # Without the link, games against level 0 lead nowhere: the mean is 0.
    write_raw(tmp_path / "alphabeta_depth.jsonl", read_raw(results / "alphabeta_depth.jsonl"))
    alone, whole = find(tmp_path, "alphabeta_depth"), find(results, "alphabeta_depth")
    assert not alone.is_anchored and sum(alone.ratings.elo.values()) == pytest.approx(0, abs=1e-6)
    assert alone.elo("depth 4") is None and alone.rating("depth 4").value == alone.ratings["depth 4"].elo
    difference = [found.elo("depth 4", "depth 2").value for found in (alone, whole)]
    assert difference[0] == pytest.approx(difference[1], abs=15)
    assert whole.elo("depth 4").value > alone.rating("depth 4").value + 500


def test_other_curves_stand_where_the_reference_run_stands(results, tmp_path):
    scale, found = find(results, "learning_runs"), find(results, "plies")
    known = scale.ratings[run_point("paper's settings", 1, 1000)]
    name = run_point("two-ply", 1, 1000)
    expected = rate(rated(found), {name: known.elo})
    assert found.ratings.elo == pytest.approx(expected.elo) and found.ratings[name].elo == known.elo
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
        alone = find(tmp_path, "plies")
        assert not alone.is_anchored and alone.levels == {}
        assert sum(alone.ratings.elo.values()) == pytest.approx(0, abs=1e-6)
        other = curves_of(read_experiment("learning_runs"), openings=2)
        other.lines[0]["crc32"] = "other"
        assert other.lines[0]["reference"]
        write_raw(tmp_path / "learning_runs.jsonl", other)
        write_raw(tmp_path / "gnugo.jsonl", read_raw(results / "gnugo.jsonl"))


def test_how_much_runs_differ_is_told_by_eight_of_them(results, tmp_path):
    repeated = find(results, "learning_runs")
    for games in (100, 1000):
        elo = [repeated.ratings[run_point("paper's settings", seed, games)].elo for seed in range(1, 9)]
        assert repeated.repeats.elo[games] == pytest.approx(elo)
        assert repeated.repeats.deviation(games) == pytest.approx(statistics.stdev(elo))
    assert find(results, "plies").repeats == repeated.repeats
    # Where they have not run, or a single run tells nothing, it is what the paper says.
    assert repeats_of(find(results, "alphabeta_depth")) == Repeats()
    write_raw(tmp_path / "plies.jsonl", curves_of(read_experiment("plies")))
    assert find(tmp_path, "plies").repeats == Repeats() and Repeats().deviation(7) == 35
    assert find(tmp_path, "learning_runs") is None


def test_what_another_seed_changes_by_hand():
    repeats = Repeats({100: [0.0, 30.0, 60.0], 1000: [100.0, 100.0, 160.0]})
    factor = (T2 / Z) ** 2
    assert repeats.variance(100) == pytest.approx(900 * factor)
    assert repeats.variance(1000) == pytest.approx(1200 * factor)
    # The nearest age counts, on a log scale.
    assert repeats.variance(300) == repeats.variance(100) and repeats.variance(400) == repeats.variance(1000)
    assert repeats.variance(9_000_000) == repeats.variance(1000)
    # What the same seeds gained: 100, 70 and 100.
    assert repeats.variance(1000, 100) == pytest.approx(300 * factor)
    assert Repeats().variance(5) == 35**2 and Repeats().variance(500, 5) == 2 * 35**2


def test_gains_of_the_same_runs_are_less_uncertain_than_differences_of_runs():
    ages = (100, 1000)
    lines = [run_line(label, 1, list(ages)) for label in "ab"]
    points = [run_point(label, 1, age) for label in "ab" for age in ages]
    lines += [pair_line(x, y, [(1, 0), (1, 1), (0, 0)] * 9) for x, y in combinations(points, 2)]
    repeats = Repeats({100: [0.0, 30.0, 60.0], 1000: [100.0, 100.0, 160.0]})
    found = Findings(Raw(header("x", "curves"), lines), repeats=repeats)
    certain = replace(found, repeats=Repeats({100: [0.0, 0.0]}))

    def added(a: str, b: str) -> float:
        return found.elo(a, b).variance - certain.elo(a, b).variance

    assert added("a", "a@100") == pytest.approx(repeats.variance(1000, 100))
    assert added("a", "b@100") == pytest.approx(repeats.variance(1000) + repeats.variance(100))
    assert added("a", "a@1000") == 0


def test_how_much_runs_differ_needs_no_gnugo(results, tmp_path):
    for name in ("plies", "learning_runs"):
        write_raw(tmp_path / f"{name}.jsonl", read_raw(results / f"{name}.jsonl"))
    expected = find(results, "learning_runs").repeats.deviation(1000)
    assert find(tmp_path, "learning_runs").repeats.deviation(1000) == pytest.approx(expected, abs=10)
    assert find(tmp_path, "plies").repeats.deviation(1000) == pytest.approx(expected, abs=10)


def test_the_yardstick_is_one_run(results, tmp_path):
    for name in ("gnugo", "learning_runs"):
        write_raw(tmp_path / f"{name}.jsonl", read_raw(results / f"{name}.jsonl"))
    raw = curves_of(read_experiment("plies"))
    write_raw(tmp_path / "plies.jsonl", raw)
    assert find(tmp_path, "plies").is_anchored
    raw.lines[0] |= {"crc32": "76543210", "base": "other.toml"}
    write_raw(tmp_path / "plies.jsonl", raw)
    assert not find(tmp_path, "plies").is_anchored


# ---------------------------------------------------------------------------------------------
# The report
# ---------------------------------------------------------------------------------------------


def cells(line: str) -> list[str]:
    assert line.startswith("| ") and line.endswith(" |"), line
    return [cell.strip() for cell in line[1:-1].split("|")]


def tables(text: str) -> list[list[list[str]]]:
    """All tables; every row has as many cells as the head."""
    found = []
    for part in re.split(r"\n(?!\|)", text):
        lines = [line for line in part.splitlines() if line.startswith("|")]
        if lines:
            head, rule, *rows = lines
            assert re.fullmatch(r"\|(---\|)+", rule) and rule.count("---") == len(cells(head)), part
            assert all(len(cells(row)) == len(cells(head)) for row in rows), part
            found.append([cells(head), *map(cells, rows)])
    return found


def test_a_table_by_hand():
    assert markdown([("a", "b"), ("1", ""), ("2", "x")]) == "| a | b |\n|---|---|\n| 1 |  |\n| 2 | x |\n"


RUN = ("shape_counts", "gnugo", "plies", "learning_runs", "alphabeta_depth", "shape_frequency")


@pytest.fixture(scope="module")
def text(results) -> str:
    for name in RUN:
        if read_experiment(name).has_picture:
            (results / f"{name}.png").write_bytes(PNG)
    return report(results, results.parent / "results.md")


def test_the_report_tells_which_experiments_have_run(text):
    summary, status, *_ = tables(text)
    experiments = [read_experiment(name) for name in list_experiments()]
    assert summary[0] == ["claim", "expected", "found", "verdict", "experiment"]
    assert status[0][:4] == ["experiment", "source", "games", "run"]
    assert {row[0] for row in status[1:]} == {f"[{e.name}](#{e.name})" for e in experiments}
    for e in experiments:
        (row,) = (row for row in status if row[0] == f"[{e.name}](#{e.name})")
        assert row[1] == e.settings.source
        assert ("**has not run**" in row) == (e.name not in RUN)
        part = text.partition(f"\n## {e.name}\n")[2].partition("\n## ")[0]
        assert f"**Paper.** {e.settings.paper}" in part
        assert (f"**Not run.** `rlgo experiment run {e.name}`" in part) == (e.name not in RUN)
        assert (f"[{e.name}.jsonl](experiments/{e.name}.jsonl)" in part) == (e.name in RUN)
        assert (e.settings.remarks in part) and ("**Remarks.**" in part) == bool(e.settings.remarks)


def test_every_claim_has_a_verdict_and_they_add_up(text, results):
    summary = tables(text)[0][1:]
    claims = {(claim.text, e.name): claim for e in map(read_experiment, list_experiments()) for claim in e.claims}
    assert Counter((row[0], re.sub(r"\[(.*)\].*", r"\1", row[4])) for row in summary) == Counter(claims.keys())
    total, told = re.search(r"^(\d+) claims; (.*)\.$", text, re.MULTILINE).groups()
    by_name = {name: int(n) for name, n in (part.split(": ") for part in told.split(", "))}
    assert int(total) == len(claims) == sum(by_name.values())
    assert by_name == Counter(row[3].strip("*") for row in summary)
    assert set(by_name) <= {HELD, NOT_HELD, OPEN, NOT_MEASURED, NOT_RUN} and by_name[HELD] >= 2
    for row in summary:
        name = re.sub(r"\[(.*)\].*", r"\1", row[4])
        found = find(results, name)
        m = None if found is None else found.measure(claims[row[0], name])
        claim = claims[row[0], name]
        absent = NOT_RUN if found is None else NOT_MEASURED
        verdict = absent if m is None else m.verdict(claim.low, claim.high)
        assert row[3] == (f"**{verdict}**" if verdict == NOT_HELD else verdict), row
        assert bool(row[2]) == (m is not None)
    assert ["969,894 features in all", "969,894", "969,894", HELD, "[shape_counts](#shape_counts)"] in summary


def test_pictures_are_linked_where_there_are_some(text, results):
    linked = set(re.findall(r"!\[.*\]\((.*)\)", text))
    assert linked == {f"experiments/{name}.png" for name in RUN if read_experiment(name).has_picture}
    assert all((results.parent / link).is_file() for link in linked)
    for link in re.findall(r"[^!]\[[^]]*\]\(([^#)]+)\)", text):
        assert (results.parent / link).exists(), link
    headings = set(re.findall(r"^## (.*)$", text, re.MULTILINE))
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= headings


def test_a_picture_that_was_not_drawn_is_not_linked(tmp_path):
    write_raw(tmp_path / "plies.jsonl", curves_of(read_experiment("plies"), openings=2))
    assert "plies.png" not in report(tmp_path, tmp_path / "results.md")


def test_what_the_sections_tell(text, results):
    """Some numbers of each kind, computed anew."""

    def part(name: str) -> str:
        return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]

    assert "All as in the paper." in part("shape_counts")
    found = find(results, "plies")
    (table,) = tables(part("plies"))
    assert table[0][2:5] == [f"Elo at {n} games" for n in ("1,000", "10,000", "100,000")]
    by_label = {row[0]: row for row in table[1:]}
    m = found.elo("one-ply")
    shown = f"{m.value:,.0f} ({m.low:,.0f} to {m.high:,.0f}) after 1,000"
    assert by_label["one-ply"][1:] == ["1", f"{m.value:,.0f}", "", "", shown, ""]
    eight = find(results, "learning_runs")
    met = [p for p in eight.pairs if p.b == GNUGO_0 and p.a.startswith("paper's settings")]
    (table,) = tables(part("learning_runs"))
    assert table[1][-1] == f"{sum(p.score for p in met) / 160:.1%} of 160"
    assert [row[1] for row in table[1:]] == ["8", "4"]
    assert f"is {found.repeats.deviation(1000):.0f} Elo after a thousand games" in text.replace("\n", " ")

    (table,) = tables(part("alphabeta_depth"))
    depth = find(results, "alphabeta_depth")
    by_name = {row[0]: row for row in table[1:]}
    assert table[0] == ["player", "Elo", "games", "won against GNU Go level 0", "seconds a game"]
    assert len(by_name) == 7 and by_name[GNUGO_0][3] == ""
    m = depth.won("depth 3", GNUGO_0)
    assert by_name["depth 3"][2:4] == ["240", f"{m.value:.1%} ({m.low:.1%} to {m.high:.1%})"]
    # Each has met those after it, 2 s for 40 games, and those before it, 4 s: depth 3 three of each.
    assert float(by_name["depth 3"][4]) == pytest.approx((3 * 2 + 3 * 4) / 240, rel=0.05)
    assert "1,000 games" in part("shape_frequency") and part("shape_frequency").count("12,345") == 10


def test_a_report_of_nothing(tmp_path):
    text = report(tmp_path, tmp_path / "results.md")
    total = sum(len(read_experiment(name).claims) for name in list_experiments())
    assert f"{total} claims; not run: {total}.\n" in text
    assert "35 Elo, as in the paper, for learning_runs has not run here" in text.replace("\n", " ")
    assert text.count("**has not run**") == text.count("**Not run.**") == len(list_experiments())
    assert "![" not in text and len(tables(text)) == 2
    assert all("has not run" in line for line in overview(tmp_path).splitlines())


def test_the_report_is_written_and_written_again(tmp_path):
    path = tmp_path / "results.md"
    write_report(tmp_path, path)
    assert path.read_text("utf-8") == report(tmp_path, path)
    write_report(tmp_path, path)
    (tmp_path / "plies.jsonl").write_text("other\n")
    with pytest.raises(RlgoError, match=r"plies.jsonl: expected raw results of an experiment, this is none"):
        write_report(tmp_path, path)


def test_counts_that_differ_are_told():
    e = read_experiment("shape_counts")
    lines = [{"number": name, "value": int(n) + (name == "all weights")} for name, n in e.expected.items()]
    text = section(e, Findings(Raw(header(e.name, "counts"), lines)), Path("nowhere"), Path("x"))
    assert "Other numbers: all weights." in text and "| all weights | 63,303 | 63,304 |" in text
    assert tables(text)[0][1:] == [[name, f"{n:,.0f}", f"{v['value']:,}"] for (name, n), v in
                                   zip(e.expected.items(), lines, strict=True)]  # fmt: skip


def test_diverged_runs_are_told(tmp_path):
    e = read_experiment("plies")
    raw = curves_of(e, openings=4)
    assert raw.lines[8]["run"] == "one-ply"
    raw.lines[8] |= {"state": "diverged"}
    rows = {row[0]: row for row in tables(section(e, Findings(raw), Path("nowhere"), Path("x")))[0]}
    assert rows["one-ply"][1] == "1, 1 diverged" and rows["two-ply"][1] == "8"
    # It has no end to compare with, but what it was until then can be compared.
    found = Findings(raw)
    assert found.elo("two-ply", "one-ply") is None and found.elo("two-ply", "one-ply@1000") is not None
    # Before it has a checkpoint, there is nothing to rate.
    gone = [line for line in raw.lines if not any("one-ply" in name for name in line.get("pair", []))]
    gone[8] = run_line("one-ply", 1, [], "diverged")
    rows = {row[0]: row for row in tables(section(e, Findings(Raw(raw.header, gone)), Path("nowhere"), Path("x")))[0]}
    assert rows["one-ply"] == ["one-ply", "1, 1 diverged", *[""] * 5]


def test_labels_that_came_later_are_told():
    """Results that are older than a label of their experiment's file."""
    e = read_experiment("plies")
    raw = curves_of(replace(e, members={"two-ply": e.members["two-ply"]}), openings=4)
    text = section(e, Findings(raw), Path("nowhere"), Path("x"))
    rows = {row[0]: row for row in tables(text)[0]}
    assert rows["one-ply"] == ["one-ply", "not run", *[""] * 5] and rows["two-ply"][1] == "8"
    assert Findings(raw).measure(e.claims[0]) is None


@pytest.mark.skipif(not list((ROOT / "docs" / "experiments").glob("*.jsonl")), reason="no raw results here")
def test_the_shipped_report_is_that_of_the_shipped_results(monkeypatch):
    """Whoever adds raw results makes it anew: `rlgo experiment report`."""
    monkeypatch.chdir(ROOT)
    text = report(Path("docs/experiments"), Path("docs/results.md"))
    assert Path("docs/results.md").read_text("utf-8") == text
    assert tables(text)
    for link in re.findall(r"\]\(([^#)]+)\)", text):
        assert Path("docs", link).exists(), link


# ---------------------------------------------------------------------------------------------
# Pictures
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plies", "shape_frequency", "alphabeta_depth"])
def test_pictures_of_each_kind(results, tmp_path, name):
    path = tmp_path / "x.png"
    experiment_picture(path, read_experiment(name), find(results, name))
    data = path.read_bytes()
    assert data.startswith(PNG) and len(data) > 5000


def test_a_picture_of_many_panels_seeds_and_a_diverged_run(tmp_path):
    e = read_experiment("step_size")
    raw = curves_of(e, ages=(100, 1000), openings=2)
    raw.lines[-1:] = []
    for line in raw.lines[: len(e.members)]:
        line["state"] = "diverged" if line["run"].startswith("linear") else "finished"
    experiment_picture(tmp_path / "x.png", e, Findings(raw))
    assert (tmp_path / "x.png").read_bytes().startswith(PNG)
    e = read_experiment("learning_runs")
    experiment_picture(tmp_path / "y.png", e, Findings(curves_of(e, openings=2)))
    assert (tmp_path / "y.png").read_bytes() != (tmp_path / "x.png").read_bytes()


def test_a_panel_in_which_nobody_was_rated(tmp_path):
    e = replace(read_experiment("plies"), panels={"(a)": ("one-ply",), "(b)": ("two-ply",)})
    raw = curves_of(e, openings=2)
    lines = [line for line in raw.lines if not any("one-ply" in name for name in line.get("pair", []))]
    lines[1] = run_line("one-ply", 1, [], "diverged")
    experiment_picture(tmp_path / "x.png", e, Findings(Raw(raw.header, lines)))


def test_plot_draws_beside_the_results(results, capsys):
    e = read_experiment("alphabeta_depth")
    (results / "alphabeta_depth.png").unlink(missing_ok=True)
    assert plot(e, results) == results / "alphabeta_depth.png"
    assert (results / "alphabeta_depth.png").read_bytes().startswith(PNG)
    with pytest.raises(RlgoError, match=r"updates.jsonl: no such file: updates has not run \(rlgo experiment run upd"):
        plot(read_experiment("updates"), results)
    with pytest.raises(RlgoError, match="gnugo: has no picture"):
        plot(read_experiment("gnugo"), results)


def test_without_matplotlib_there_is_all_but_the_picture(results, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    text = show(read_experiment("shape_frequency"), results)
    assert capsys.readouterr().err == "rlgo: no picture: pictures need matplotlib: pip install 'rlgo[plot]'\n"
    assert "**Found.** After 1,000 games" in text
