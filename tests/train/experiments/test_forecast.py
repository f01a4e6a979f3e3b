"""What a part of an experiment can decide: against the shipped results, and intervals against hand formulas."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from experiment_files import write

from rlgo.base.errors import RlgoError
from train.cli import main as cli
from train.experiments.declaration.experiment import Experiment
from train.experiments.declaration.reading import read_experiment
from train.experiments.results.analysis import HELD, NOT_MEASURED, OPEN, shipped_analysis
from train.experiments.results.files import games_of
from train.experiments.running.forecast import ClaimForecast, forecast, minutes_of, plan_experiment, scale_within


def forecasts(e: Experiment) -> list[ClaimForecast]:
    recorded = shipped_analysis(e)
    return [forecast(e, claim, recorded) for claim in e.claims]


def test_at_its_recorded_number_of_games_an_experiment_decides_what_was_decided():
    for name in ("tdsearch_alpha", "plies", "board_sizes"):
        e = read_experiment(name)
        recorded = shipped_analysis(e)
        for f in forecasts(e):
            m = recorded.measure(f.claim)
            assert f.recorded == m
            assert f.verdict == m.verdict(f.claim.low, f.claim.high), f.claim
            if f.claim.of == "elo":
                assert f.half == pytest.approx((m.high - m.low) / 2, rel=0.05)


def test_intervals_widen_with_the_square_root_of_the_games():
    e = read_experiment("tdsearch_alpha")
    for a, b in zip(forecasts(e), forecasts(replace(e, scale=1 / 25)), strict=True):
        assert b.half == pytest.approx(5 * a.half, rel=0.01)
        assert b.games == a.games / 25
    # At a fiftieth of the games nothing is decided, and the plan says what scale would do.
    few = forecasts(replace(e, scale=0.02))
    assert {f.verdict for f in few} == {OPEN}
    for f in few:
        scale = float(f.needed.removeprefix("--scale "))
        for factor, decides in ((1, True), (0.9, False)):
            (again,) = (g for g in forecasts(replace(e, scale=factor * scale)) if g.claim == f.claim)
            assert again.is_decided == decides


def test_runs_that_are_too_short_measure_nothing():
    found = {f.claim.text: f for f in forecasts(read_experiment("shape_sets", scale=0.01))}
    short = found["3x3 shapes are still behind 2x2 shapes at 50,000 games"]
    assert (short.verdict, short.needed) == (NOT_MEASURED, "--scale 0.05: its runs are too short")
    assert found["2x2 shapes learn faster than 3x3 shapes: at 1,000 games they are ahead"].verdict == HELD


def test_training_runs_are_shortened_to_fit():
    e = read_experiment("plies")
    recorded = shipped_analysis(e)
    starts = minutes_of(replace(e, scale=0.0), recorded, 2)
    assert starts == pytest.approx(4 * sum(map(len, e.runs.values())) / 2 / 60)
    assert minutes_of(e, recorded, 2) == pytest.approx(recorded.raw.header["seconds"] / 120 + starts)
    scale = scale_within(e, recorded, 2.0, 2)
    assert minutes_of(replace(e, scale=scale), recorded, 2) <= 2.0
    assert scale_within(e, recorded, 1e5, 2) == 1
    with pytest.raises(RlgoError, match=r"plies: cannot run within 0.1 minutes: expected --minutes \d"):
        scale_within(e, recorded, 0.1, 2)
    part, _ = plan_experiment(e, 2.0, jobs=2)
    assert part.scale == scale < 1
    assert part.runs["one-ply"][0].config.run.games == part.scaled(1_000_000)
    assert str(part.folder) == f"experiments/scale-{scale:g}"


def test_games_that_were_not_played_yet_take_time_too():
    """The results of some tournaments are those of their first games."""
    e = read_experiment("heuristics")
    recorded = shipped_analysis(e)
    played = sum(map(games_of, recorded.raw.of("pair")))
    planned = len(e.contestants) // 2 * e.settings.games + 800 + 3200  # for two claims
    assert played < planned
    assert minutes_of(e, recorded, 1) == pytest.approx(recorded.raw.header["seconds"] * planned / played / 60)


def test_experiments_without_records(tmp_path):
    text = '[experiment]\nkind = "games"\ngames = 40\n[players]\na = "random"\n[[series]]\nlabel = "s"\n'
    text += 'player = "random,seed={x}"\nx = [1, 2]\n[[claims]]\ntext = "so"\na = "s 1"\nb = "s 2"\nlow = 0\n'
    e = read_experiment(write(tmp_path, text), out=tmp_path)
    (f,) = forecasts(e)
    assert (f.recorded, f.games, f.verdict) == (None, 0, OPEN)
    assert f.needed == "unknown: its games were not recorded"
    assert math.isnan(f.half)
    assert "no records say what it can decide of its 1 claims" in plan_experiment(e)[1]
    with pytest.raises(RlgoError, match="how long it takes is not known"):
        plan_experiment(e, 5)


def test_the_plan_in_words(capsys):
    assert cli.main(["experiment", "plan", "tdsearch_alpha", "--scale", "0.02", "--jobs", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("tdsearch_alpha, scale 0.02 in about 0.1 min on the recorded machine (")
    assert "): cannot decide any of its 5 claims." in out
    assert cli.main(["experiment", "plan", "tdsearch_alpha", "--minutes", "10", "--jobs", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("tdsearch_alpha, scale 0.9 in about 6.5 min on the recorded machine (")
    assert "): will probably decide 5 of its 5 claims." in out
    assert "alpha = 0.1 is better than 0.01 at 100 simulations" in out
    for argv, message in (
        (["--minutes", "1", "--scale", "0.5"], "--minutes cannot be combined with --scale"),
        (["--minutes", "-1"], "--minutes -1.0: expected a positive number"),
    ):
        assert cli.main(["experiment", "run", "tdsearch_alpha", *argv]) == 2
        assert message in capsys.readouterr().err


def test_a_long_run_takes_as_long_on_any_number_of_processors():
    e = read_experiment("longer")
    recorded = shipped_analysis(e)
    assert minutes_of(e, recorded, 1_000) == pytest.approx(max(run["seconds"] for run in recorded.raw.of("run")) / 60)
