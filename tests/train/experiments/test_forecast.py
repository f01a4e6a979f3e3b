"""What a part of an experiment can decide: against the shipped results, and intervals against hand formulas."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from experiment_files import write

from rlgo.base.errors import RlgoError
from train.cli import main as cli
from train.experiments.declaration.reading import read_experiment
from train.experiments.results.analysis import HELD, NOT_HELD, NOT_MEASURED, OPEN, shipped_analysis
from train.experiments.results.files import games_of
from train.experiments.running import forecast
from train.experiments.running.forecast import (
    at_scale,
    minutes_of,
    plan_experiment,
    plan_text,
    scale_within,
    within_minutes,
)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine that is twice as slow as the recorded one, without trying."""
    monkeypatch.setattr(forecast, "slowness_of_games", lambda *_: 2.0)
    monkeypatch.setattr(forecast, "slowness_of_learning", lambda *_: 2.0)


def test_at_its_recorded_number_of_games_an_experiment_decides_what_was_decided():
    for name in ("tdsearch_alpha", "plies", "board_sizes"):
        e = read_experiment(name)
        recorded = shipped_analysis(e)
        for f in at_scale(e, recorded):
            m = recorded.measure(f.claim)
            assert f.recorded == m
            assert f.verdict == m.verdict(f.claim.low, f.claim.high), f.claim
            if f.claim.of == "elo":
                assert f.half == pytest.approx((m.high - m.low) / 2, rel=0.05)


def test_intervals_widen_with_the_square_root_of_the_games():
    e = read_experiment("tdsearch_alpha")
    recorded = shipped_analysis(e)
    whole, part = (at_scale(replace(e, scale=scale), recorded) for scale in (1, 1 / 25))
    for a, b in zip(whole, part, strict=True):
        assert b.half == pytest.approx(5 * a.half, rel=0.01)
        assert b.games == a.games / 25
    # At a fiftieth of the games nothing is decided, and the plan says what scale would do.
    few = at_scale(replace(e, scale=0.02), recorded)
    assert {f.verdict for f in few} == {OPEN}
    for f in few:
        scale = float(f.needed.removeprefix("--scale "))
        (again,) = (g for g in at_scale(replace(e, scale=scale), recorded) if g.claim == f.claim)
        assert again.is_decided
        (less,) = (g for g in at_scale(replace(e, scale=0.9 * scale), recorded) if g.claim == f.claim)
        assert not less.is_decided


def test_runs_that_are_too_short_measure_nothing():
    e = read_experiment("shape_sets", scale=0.01)
    found = {f.claim.text: f for f in at_scale(e, shipped_analysis(e))}
    short = found["3x3 shapes are still behind 2x2 shapes at 50,000 games"]
    assert (short.verdict, short.needed) == (NOT_MEASURED, "--scale 0.05: its runs are too short")
    assert found["2x2 shapes learn faster than 3x3 shapes: at 1,000 games they are ahead"].verdict == HELD


def test_minutes_are_spent_on_the_cheapest_claims():
    e = read_experiment("tdsearch_alpha", minutes=10)
    recorded = shipped_analysis(e)
    found = within_minutes(e, recorded, 2, 1.0)
    assert [f.claim for f in found] == list(e.claims)
    assert [f.verdict for f in found] == [HELD, HELD, HELD, HELD, NOT_HELD]
    line = next(x for x in recorded.raw.of("pair") if x["pair"] == ["vanilla UCT", "GNU Go level 0"])
    assert games_of(line) == 2
    each = forecast.seconds_by_player(recorded)
    f = found[0]
    assert f.minutes == pytest.approx(f.games * (each[f.claim.a] + each[f.claim.b]) / 2 / 60)
    # With less time, those that take longest stay open, and the plan says how much time would do.
    order = sorted(found, key=lambda f: f.minutes)
    enough = sum(f.minutes for f in order[:3])
    few = within_minutes(replace(e, minutes=1.001 * enough), recorded, 2, 1.0)
    assert {f.claim for f in few if f.is_decided} == {f.claim for f in order[:3]}
    assert all(float(f.needed.removeprefix("--minutes ")) > enough for f in few if not f.is_decided)
    # Twice as slow: half of the games.
    assert within_minutes(e, recorded, 2, 2.0)[0].minutes == pytest.approx(2 * f.minutes)


def test_training_runs_are_shortened_to_fit():
    e = read_experiment("plies")
    recorded = shipped_analysis(e)
    whole = minutes_of(e, recorded, 2, 1.0)
    starts = minutes_of(replace(e, scale=0.0), recorded, 2, 1.0)
    assert starts == pytest.approx(4 * sum(map(len, e.runs.values())) / 2 / 60)
    assert whole == pytest.approx(recorded.raw.header["seconds"] / 120 + starts)
    scale = scale_within(e, recorded, 2.0, 2, 1.0)
    assert minutes_of(replace(e, scale=scale), recorded, 2, 1.0) <= 2.0
    assert scale_within(e, recorded, 1e5, 2, 1.0) == 1
    with pytest.raises(RlgoError, match=r"plies: cannot run within 0.1 minutes on this machine: expected --minutes \d"):
        scale_within(e, recorded, 0.1, 2, 1.0)
    found = plan_experiment(e, 4.0, jobs=2)
    assert 0 < found.experiment.scale < 1
    assert found.experiment.runs["one-ply"][0].config.run.games == found.experiment.scaled(1_000_000)
    assert str(found.experiment.folder) == f"experiments/scale-{found.experiment.scale:g}"


def test_experiments_without_records(tmp_path):
    text = '[experiment]\nkind = "games"\ngames = 40\n[players]\na = "random"\n[[series]]\nlabel = "s"\n'
    text += 'player = "random,seed={x}"\nx = [1, 2]\n[[claims]]\ntext = "so"\na = "s 1"\nb = "s 2"\nlow = 0\n'
    e = read_experiment(write(tmp_path, text), out=tmp_path)
    for found in (plan_experiment(e), plan_experiment(e, 5)):
        (f,) = found.claims
        assert (f.recorded, f.games, f.verdict) == (None, 0, OPEN)
        assert f.needed == "unknown: its games were not recorded"
        assert math.isnan(f.half)
        assert math.isnan(f.minutes)
        assert "no records say what it can decide of its 1 claims" in plan_text(found)
    with pytest.raises(RlgoError, match="how long its runs take is not known"):
        scale_within(e, None, 5, 1, 1.0)


def test_the_plan_in_words(capsys):
    text = plan_text(plan_experiment(read_experiment("tdsearch_alpha", scale=0.02)))
    assert text.startswith("tdsearch_alpha, scale 0.02 in about ")
    assert "(this machine takes 2.0 times the recorded time): cannot decide any of its 5 claims." in text
    assert cli.main(["experiment", "plan", "tdsearch_alpha", "--minutes", "10"]) == 0
    out = capsys.readouterr().out
    assert "tdsearch_alpha, 10 minutes (this machine takes 2.0 times the recorded time): will probably decide" in out
    assert "alpha = 0.1 is better than 0.01 at 100 simulations" in out


def test_a_long_run_takes_as_long_on_any_number_of_processors():
    e = read_experiment("longer")
    recorded = shipped_analysis(e)
    longest = max(run["seconds"] for run in recorded.raw.of("run"))
    assert minutes_of(e, recorded, 1_000, 1.0) == pytest.approx(longest / 60)
    assert plan_experiment(e).minutes >= longest / 60
