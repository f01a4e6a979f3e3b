"""Sweeps: what their files may contain, what they train, and that they continue after any interruption."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from rlgo.base.errors import RlgoError
from rlgo.base.resources import config_path, list_configs
from rlgo.features.weights import load_weights
from train.arena.rating_scale import load_rating_scale
from train.cli import main as cli
from train.config import flat, load_config
from train.runs import fleet
from train.runs.evaluate import CurvePoint, rate_runs, weights_of_run
from train.runs.fleet import FAILED, RunSpec
from train.runs.folder import RunFolder
from train.runs.run import run as train
from train.runs.run_pictures import parameters_picture, sweep_picture
from train.runs.status import find_runs
from train.runs.sweep import Outcome, Sweep, ranked, read_sweep, run_sweep, settings_of, table

BASE = """
[run]
log_every = 50
eval_every = 0
eval_games = 10
[board]
size = 5
komi = 0.5
[features]
sizes = [1, 2]
"""


pytestmark = [pytest.mark.usefixtures("sources"), pytest.mark.process]


def write(folder: Path, text: str, games: int = 150) -> Path:
    """A sweep's file, its base next to it, and all folders below."""
    (folder / "base.toml").write_text(BASE, "utf-8")
    path = folder / "some.toml"
    head = '[sweep]\nname = "some"\nbase = "base.toml"\ngames = 60\n'
    tail = f'\n[run]\ngames = {games}\nout = "{folder}"\n'
    path.write_text(head + text + tail, "utf-8")
    return path


def names(sweep: Sweep) -> list[str]:
    return [spec.name for spec in sweep.runs]


# ---------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------


VARIANTS = """
[variants.plain]
[variants.small]
features.sizes = [1]
learning.alpha = 0.5
"""


def test_variants_change_several_settings_at_once(tmp_path):
    sweep = read_sweep(write(tmp_path, f"seeds = [1, 4]{VARIANTS}"))
    assert sweep.keys == ("sweep.variant",)
    assert names(sweep) == [f"variant-{v}_seed-{n}" for v in ("plain", "small") for n in (1, 4)]
    base = flat(load_config(tmp_path / "base.toml"))
    changed = {"features.sizes": (1,), "learning.alpha": 0.5}
    for spec, values in zip(sweep.runs, ({}, {}, changed, changed), strict=True):
        own = {"run.name": spec.name, "run.out": str(tmp_path / "some"), "run.games": 150}
        own["run.seed"] = spec.config.run.seed
        assert flat(spec.config) == base | own | values


def test_every_variant_has_every_combination(tmp_path):
    text = f"[sweep.parameters]\nlearning.lambda = [0, 0.5]{VARIANTS}"
    sweep = read_sweep(write(tmp_path, text))
    assert sweep.keys == ("sweep.variant", "learning.lambda_")
    assert [list(spec.values.values()) for spec in sweep.runs] == [
        ["plain", 0.0], ["plain", 0.5], ["small", 0.0], ["small", 0.5],
    ]  # fmt: skip
    outcomes = [
        Outcome(spec, "finished", curve=[CurvePoint(150, i, i - 1, i + 1)]) for i, spec in enumerate(sweep.runs)
    ]
    assert '| "small" | 0.5 | 1 | 3 (2 to 4) |' in table(sweep, outcomes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[variants.a]\nrun.seed = 3\n[variants.b]", "variants.a: run.seed: list seeds in sweep.seeds"),
        ("[variants.a]\nlearning.alhpa = 3\n[variants.b]", "variants.a: unknown key learning.alhpa"),
        ("[variants]\na = 1", "variants: expected tables"),
        ("[variants.a]", "1 runs by variants"),
        (
            "[sweep.parameters]\nlearning.alpha = [1, 2]\n[variants.a]\nlearning.alpha = 3",
            "learning.alpha cannot be combined with learning.alpha in sweep.parameters",
        ),
    ],
)
def test_wrong_variants_are_named(tmp_path, text, message):
    with pytest.raises(RlgoError, match=re.escape(message)):
        read_sweep(write(tmp_path, text))


def test_settings_change_the_file(tmp_path):
    path = write(tmp_path, VARIANTS)
    sweep = read_sweep(path, overrides=["run.games=20", "sweep.seeds=3", "sweep.name=other"])
    assert (len(sweep.runs), sweep.runs[0].config.run.games, sweep.folder.name) == (6, 20, "other")
    assert sweep.resume_command == f"rlgo sweep {path} --set run.games=20 sweep.seeds=3 sweep.name=other"
    with pytest.raises(RlgoError, match=r"unknown key sweep\.seed"):
        read_sweep(path, overrides=["sweep.seedz=3"])
    with pytest.raises(RlgoError, match=r"--set games=3: expected table\.key=value"):
        read_sweep(path, overrides=["games=3"])


def test_a_grid_has_every_combination_with_every_seed(tmp_path):
    path = write(
        tmp_path, 'seeds = [3, 5]\n[sweep.parameters]\nlearning.lambda = [0, 0.5]\n"features.sharing" = ["LI+LD", "LI"]'
    )
    sweep = read_sweep(path)
    assert sweep.keys == ("learning.lambda_", "features.sharing")
    assert names(sweep) == [
        f"lambda-{x}_sharing-{s}_seed-{n}" for x in ("0.0", "0.5") for s in ("LI-LD", "LI") for n in (3, 5)
    ]
    base = flat(load_config(tmp_path / "base.toml"))
    for spec in sweep.runs:
        own = {"run.name": spec.name, "run.out": str(tmp_path / "some"), "run.games": 150}
        seed = {"run.seed": int(spec.name[-1])}
        assert flat(spec.config) == base | spec.values | own | seed
    assert read_sweep(path, out="elsewhere").runs[0].folder.path == Path("elsewhere/some") / names(sweep)[0]


RANDOM = """
kind = "random"
samples = {samples}
seed = {seed}
[sweep.parameters]
learning.alpha = {{low = 0.001, high = 1, log = true}}
policy.epsilon = {{low = 0.2, high = 0.4}}
policy.max_moves = {{low = 40, high = 41}}
features.sizes = [[1], [1, 2]]
"""


def test_random_choices(tmp_path):
    def drawn(samples: int, seed: int = 1) -> list[dict]:
        sweep = read_sweep(write(tmp_path, RANDOM.format(samples=samples, seed=seed)))
        return [spec.values for spec in sweep.runs]

    values = drawn(400)
    assert len({json.dumps(v) for v in values}) == 400
    # A sweep may be made longer, and keeps its runs.
    assert drawn(7) == values[:7]
    assert drawn(7, seed=2) != values[:7]
    alpha, epsilon = (np.array([v[key] for v in values]) for key in ("learning.alpha", "policy.epsilon"))
    assert 0.001 <= alpha.min() < 0.0013
    assert 0.75 < alpha.max() <= 1
    assert np.histogram(np.log10(alpha), [-3, -2, -1, 0])[0] == pytest.approx([133] * 3, abs=35)
    assert epsilon.min() >= 0.2
    assert epsilon.max() <= 0.4
    assert np.histogram(epsilon, [0.2, 0.3, 0.4])[0] == pytest.approx([200] * 2, abs=40)
    assert {v["policy.max_moves"] for v in values} == {40, 41}
    assert {v["features.sizes"] for v in values} == {(1,), (1, 2)}
    assert all(len(str(x)) <= 8 for x in alpha)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sedes = 2", r"unknown key sweep.sedes; did you mean sweep.seeds"),
        ("seeds = 0", r"sweep.seeds = 0: expected a number of seeds up to 10,000, or a list"),
        ("seeds = [1, 1]", r"sweep.seeds = \[1, 1\]: expected a number of seeds up to 10,000, or a list of different"),
        ("seeds = 1", r"1 runs by sweep.parameters and sweep.seeds: expected 2 to 10,000"),
        ("seeds = 2\nmetric = 'members'", r"unknown key sweep.metric"),
        ("seeds = 2\nkind = 'all'", r'sweep.kind = "all": expected one of "grid", "random"'),
        ("seeds = 2\nkind = 'random'", r'sweep.kind = "random": expected at least one parameter'),
        (
            "[sweep.parameters]\nlearning.alhpa = [1]",
            r"unknown key learning.alhpa; did you mean learning.alp",
        ),
        (
            "[sweep.parameters]\nlearning.alpha = [0.1, 0]",
            r"sweep.parameters: learning.alpha = 0: expected a positive number",
        ),
        ("[sweep.parameters]\nlearning.alpha = [0.1, '0']", r'learning.alpha = "0": expected .*'),
        ("[sweep.parameters]\nlearning.alpha = [0.1, 0.10]", r"two runs would be called alpha-0.1_seed-1"),
        ("[sweep.parameters]\nlearning.alpha = []", r"learning.alpha = \[\]: expected at least one value"),
        ("[sweep.parameters]\nlearning.alpha = 0.1", r"learning.alpha: expected a list of values, or {low = "),
        ("[sweep.parameters]\nlearning.alpha = {low = 1}", r"learning.alpha: expected a list of values, or {low = "),
        (
            "[sweep.parameters]\nlearning.alpha = {low = 1, high = 2}",
            r'list of values .a range needs sweep.kind = "random"',
        ),
        (
            "[sweep.parameters]\nboard.size = [5, 6]",
            r"board.size: weights for different board sizes cannot play",
        ),
        ("[sweep.parameters]\nboard.komi = [6.5, 7.5]", r"board.komi: weights for different komi are rated with one"),
        ("[sweep.parameters]\nrun.seed = [1, 2]", r"run.seed: list seeds in sweep.seeds"),
        ("[sweep]", r"not valid TOML"),
        ("parameters = 3", r"expected a table \[sweep.parameters\]"),
    ],
)
def test_a_bad_file_is_one_line_and_runs_nothing(tmp_path, capsys, text, message):
    path = write(tmp_path, text)
    before = sorted(tmp_path.rglob("*"))
    assert cli.main(["sweep", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"rlgo: error: {path}: ")
    assert re.search(message, err), err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("learning.alpha", "{low = 0, high = 1}", r"learning.alpha = 0: expected a positive number"),
        ("learning.alpha", "{low = 2, high = 1}", r"low = 2, high = 1: expected low < high"),
        ("policy.epsilon", "{low = 0, high = 1, log = true}", r"low = 0: expected a positive number for log"),
        ("policy.epsilon", "{low = 0.1, high = 1, log = 1}", r"log = 1: expected true or false"),
        ("policy.epsilon", "{low = 0.1, high = 1.5}", r"policy.epsilon = 1.5: expected a number from 0 to 1"),
        ("run.games", "{low = 1.5, high = 3}", r"run.games = 1.5: expected an integer of at least 1"),
        ("policy.kind", "{low = 'a', high = 'b'}", r'policy.kind = "a": expected one of'),
        ("policy.kind", "{low = 'greedy', high = 'softmax'}", r"policy.kind: not a number; expected a list"),
        ("learning.plies", "[1, 2]", r"only 2 distinct combinations, expected sweep.samples = 20"),
    ],
)
def test_bad_ranges(tmp_path, key, value, message):
    path = write(tmp_path, f"kind = 'random'\n[sweep.parameters]\n{key} = {value}")
    with pytest.raises(RlgoError, match=message):
        read_sweep(path)


def test_a_sweep_does_not_start_in_a_run(tmp_path):
    sweep = read_sweep(write(tmp_path, "seeds = 2"))
    sweep.folder.mkdir()
    RunFolder(sweep.folder).write_config(load_config(tmp_path / "base.toml"))
    with pytest.raises(RlgoError, match="some: contains a training run; give the sweep another name"):
        run_sweep(sweep, progress=False)
    assert [path.name for path in sweep.folder.iterdir()] == ["config.toml"]


def test_bad_places(tmp_path, capsys):
    path = write(tmp_path, "seeds = 2")
    for find, put, message in (
        ('name = "some"', 'name = "../x"', 'sweep.name = "../x": expected a folder name'),
        ("base.toml", "bsae", "bsae: no such config file"),
        ("games = 150", 'games = 150\nname = "x"', "run.name: a sweep names its runs after their parameters"),
        ("games = 150", "games = 150\nseed = 1", "run.seed: list seeds in sweep.seeds"),
        ("games = 150", "gamse = 150", "unknown key run.gamse"),
        ("games = 60", "games = 61", "sweep.games = 61: expected an even number"),
        ("[sweep]", "[sweeep]", "expected a table [sweep]"),
    ):
        changed = tmp_path / "changed.toml"
        changed.write_text(path.read_text("utf-8").replace(find, put, 1), "utf-8")
        assert cli.main(["sweep", str(changed)]) == 2
        assert message in capsys.readouterr().err
    assert cli.main(["sweep", "nosuch"]) == 2
    assert "nosuch: no such config file; shipped configs: step_size" in capsys.readouterr().err


def test_every_shipped_sweep_can_be_read_and_says_its_purpose_and_budget(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "step_size" in list_configs("sweeps")
    for name in list_configs("sweeps"):
        assert read_sweep(name).runs
        assert read_sweep(f"configs/sweeps/{name}.toml").path == config_path(name, "sweeps")
        head = config_path(name, "sweeps").read_text("utf-8").partition("\n[")[0]
        assert head.startswith("# "), name
        assert "# Budget: " in head, name
        assert f"rlgo sweep {name}\n" in head
        # Training takes them for what they are not.
        assert name not in list_configs()


# ---------------------------------------------------------------------------------------------
# A sweep from end to end
# ---------------------------------------------------------------------------------------------

ALPHAS = 'seeds = 2\n[sweep.parameters]\nlearning.alpha = [0.02, 1000.0]\n[learning]\nvalue = "linear"\n'


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> tuple[Path, Sweep, list[Outcome]]:
    """A sweep of four runs, of which those with a step size of 1000 diverge."""
    path = write(tmp_path_factory.mktemp("sweep"), ALPHAS)
    sweep = read_sweep(path)
    return path, sweep, run_sweep(sweep, jobs=2, progress=False)


def test_its_runs_are_ordinary_runs(swept, tmp_path):
    _, sweep, _ = swept
    states = {run.path.name: run.state for run in find_runs(sweep.folder)}
    expected = {name: "interrupted" if "1000" in name else "finished" for name in names(sweep)}
    assert states == expected
    for spec in sweep.runs[:2]:
        assert spec.values == {"learning.alpha": 0.02}
        assert load_config(spec.folder.config) == spec.config
        again = train(_elsewhere(spec, tmp_path), progress=False)
        assert again.weights.theta.tobytes() == load_weights(spec.folder.weights).theta.tobytes()
    command = json.loads(sweep.runs[1].folder.run_json.read_text("utf-8"))["command"]
    assert command.startswith("rlgo train ")
    assert "learning.alpha=0.02" in command
    assert "run.seed=2" in command


def _elsewhere(spec: RunSpec, out: Path):
    path = out / "again.toml"
    path.write_bytes(spec.folder.config.read_bytes())
    return load_config(path, [f'run.out="{out}"'])


def test_who_diverges_is_recorded_and_stops_nobody(swept):
    _, _, outcomes = swept
    assert [outcome.state for outcome in outcomes] == ["finished", "finished", "failed", "failed"]
    for outcome in outcomes[2:]:
        assert outcome.spec.values == {"learning.alpha": 1000.0}
        assert re.fullmatch(
            "diverged: weights grow without bound after [0-9]+ games; expected a smaller learning.alpha than 1000",
            outcome.reason,
        )
        assert outcome.curve == []


def test_runs_are_rated_on_the_scale_at_every_checkpoint(swept):
    """By games against the reference players, as any weights are, and between runs."""
    _, sweep, (first, second, *_) = swept
    scale = load_rating_scale(5)
    for outcome in (first, second):
        assert [point.games for point in outcome.curve] == [100, 150]
        for point in outcome.curve:
            assert point.low < point.elo < point.high
        weights = load_weights(outcome.spec.folder.weights)
        alone = scale.rate(weights, 1_000, seed=3, komi=0.5)
        noise = np.hypot(outcome.elo.high - outcome.elo.low, alone.ci95[1] - alone.ci95[0]) / 2
        assert abs(outcome.elo.elo - alone.elo) < 1.5 * noise
    # The same weights have the same ratings when the sweep is run again, and no others.
    found = rate_runs({o.spec.name: weights_of_run(o.spec.folder) for o in (second, first)}, 60, 1, sweep.openings)
    assert set(found.curves) == {first.spec.name, second.spec.name}


def rated(sweep: Sweep, alpha: float, seed: int, elo: float | None) -> Outcome:
    spec = sweep.runs[seed - 1]
    config = dataclasses.replace(spec.config, run=dataclasses.replace(spec.config.run, name=f"{alpha}-{seed}"))
    spec = dataclasses.replace(spec, values={"learning.alpha": alpha}, config=config)
    curve = (
        [] if elo is None else [CurvePoint(100, elo - 50, elo - 60, elo - 40), CurvePoint(150, elo, elo - 9, elo + 9)]
    )
    return Outcome(spec, FAILED if elo is None else "finished", curve=curve)


def test_settings_are_ranked_by_one_number_with_intervals_over_seeds(swept):
    """Three settings: the pooled scatter by hand, and its quantile with as many degrees of freedom as seeds allow."""
    _, sweep, _ = swept
    played = [
        rated(sweep, 1.0, 1, 500),
        rated(sweep, 1.0, 2, None),
        rated(sweep, 2.0, 1, 300),
        rated(sweep, 2.0, 2, 340),
    ]
    played += [rated(sweep, 3.0, 1, 400), rated(sweep, 3.0, 2, 380)]
    order = [(o.spec.values["learning.alpha"], o.seed) for o in ranked(played)]
    assert order == [(1, 1), (3, 1), (3, 2), (2, 1), (2, 2), (1, 2)]
    best, second, third = settings_of(played)
    assert [(s.elo, len(s.runs)) for s in (best, second, third)] == [(500, 1), (390, 2), (320, 2)]
    s = ((20**2 + 20**2 + 10**2 + 10**2) / 2) ** 0.5
    assert second.half == third.half == pytest.approx(4.3027 * s / 2**0.5, rel=1e-4)
    assert best.half == pytest.approx(4.3027 * s, rel=1e-4)
    assert (second.behind, third.behind) == (110, 180)
    assert second.behind_half == pytest.approx(4.3027 * s * 1.5**0.5, rel=1e-4)
    # One seed of each: only the games are covered, and the table says so.
    alone = [rated(sweep, 1.0, 1, 500), rated(sweep, 2.0, 1, 300)]
    assert [s.half for s in settings_of(alone)] == [9, 9]
    assert "cover only the games: with one seed" in table(sweep, alone)
    assert "cover seeds and games" in table(sweep, played)


def test_the_tables_and_the_pictures(swept, tmp_path):
    _, sweep, outcomes = swept
    text = (sweep.folder / "table.md").read_text("utf-8")
    assert text == table(sweep, outcomes) + "\n"
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert lines[0] == ["learning.alpha", "seeds", "Elo", "behind the best"]
    best, _ = settings_of(outcomes)
    shown = f"{best.elo:,.0f} ({best.elo - best.half:,.0f} to {best.elo + best.half:,.0f})"
    assert lines[2] == ["0.02", "2", shown, ""]
    assert lines[3] == ["1000.0", "0", "", ""]
    assert "* alpha-1000.0_seed-1 failed: diverged" in text

    def rows(name: str) -> list[dict[str, str]]:
        with (sweep.folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    assert [(r["learning.alpha"], r["seeds"]) for r in rows("settings.csv")] == [("0.02", "2"), ("1000.0", "0")]
    assert float(rows("settings.csv")[0]["elo"]) == best.elo
    runs = rows("runs.csv")
    assert [r["run"] for r in runs] == [o.spec.name for o in outcomes]
    assert [r["state"] for r in runs] == ["finished", "finished", "failed", "failed"]
    assert float(runs[0]["elo_low"]) == outcomes[0].elo.low
    assert runs[2]["elo"] == ""
    assert [(r["run"], int(r["games"])) for r in rows("curves.csv")] == [
        (o.spec.name, point.games) for o in outcomes for point in o.curve
    ]
    assert not list(sweep.folder.glob("*.png"))  # which the command draws
    pictures = [tmp_path / "plot.png", tmp_path / "parameters.png"]
    sweep_picture(pictures[0], sweep, outcomes)
    parameters_picture(pictures[1], sweep, outcomes)
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert tomllib.loads((sweep.folder / "sweep.toml").read_text("utf-8"))["sweep"]["seeds"] == 2


def test_again_trains_only_what_is_not_finished(swept, capsys, monkeypatch):
    path, sweep, _ = swept
    kept = {f: f.read_bytes() for name in ("table.md", "sweep.jsonl") for f in [sweep.folder / name]}
    states = {spec.folder.state: spec.folder.state.stat().st_mtime_ns for spec in sweep.runs[:2]}
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.main(["sweep", str(path), "--jobs", "2"]) == 0
    out, err = capsys.readouterr()
    assert out == (sweep.folder / "table.md").read_text("utf-8")
    assert "4 runs in" in err
    assert "2 finished" in err
    assert "[4/4] alpha-1000" in err
    assert {f: f.read_bytes() for f in kept} == kept
    assert {state: state.stat().st_mtime_ns for state in states} == states
    # Without matplotlib there is no picture, and all the rest.
    assert "rlgo: no picture: pictures need matplotlib: pip install 'rlgo[plot]'" in err
    assert not (sweep.folder / "plot.png").exists()


def test_runs_of_other_configs_are_refused(swept):
    path, *_ = swept
    other = path.with_name("other.toml")
    other.write_text(path.read_text("utf-8").replace('"linear"', '"logistic"'), "utf-8")
    message = r"alpha-0.02_seed-1: already contains a run with learning.value = 'linear', expected 'logistic'; give"
    with pytest.raises(RlgoError, match=message):
        run_sweep(read_sweep(other), progress=False)


def test_one_sweep_at_a_time(swept):
    _, sweep, _ = swept
    with RunFolder(sweep.folder).lock(), pytest.raises(RlgoError, match="some: in use by another process"):
        run_sweep(sweep, progress=False)


def test_one_run_fails(tmp_path, capsys):
    """The others are ranked all the same."""
    path = write(tmp_path, "seeds = 3")
    sweep = read_sweep(path)
    damaged = sweep.runs[1].folder
    damaged.path.mkdir(parents=True)
    damaged.run_json.write_text("{}")
    assert cli.main(["sweep", str(path)]) == 2
    out, err = capsys.readouterr()
    assert "* seed-2 failed: " in out
    assert out == (sweep.folder / "table.md").read_text("utf-8")
    assert err.endswith(f"rlgo: error: {sweep.folder}: 1 of 3 runs failed\n")
    lines = [json.loads(line) for line in (sweep.folder / "sweep.jsonl").read_text("utf-8").splitlines()]
    assert (lines[-1]["name"], lines[-1]["state"]) == ("seed-2", FAILED)


def test_runs_that_could_not_start_are_refused_before_any_begins(tmp_path, capsys):
    path = write(tmp_path, "[sweep.parameters]\nlearning.optimiser = ['normalised', 'idbbd']")
    assert cli.main(["sweep", str(path)]) == 2
    assert "rlgo: error: optimiser-idbbd_seed-1: " in capsys.readouterr().err
    assert not list((tmp_path / "some").glob("optimiser-*"))


# ---------------------------------------------------------------------------------------------
# Interruptions
# ---------------------------------------------------------------------------------------------


def begin(path: Path) -> subprocess.Popen[str]:
    """Start the command, whose runs draw no pictures either (see tests/conftest.py)."""
    code = f"import sys; from train.cli.main import main; from train.runs import fleet; fleet._START = {fleet._START!r}"
    command = [sys.executable, "-c", f"{code}; sys.exit(main())", "sweep", str(path), "--jobs", "1"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for_games(process: subprocess.Popen[str], spec: RunSpec, more_than: int) -> None:
    """Until the log of a run shows it at work."""
    metrics = spec.folder.metrics
    while process.poll() is None:
        if metrics.exists() and any(p["games"] > more_than for p in points(metrics)):
            return
        time.sleep(0.02)
    raise AssertionError(process.communicate()[1])


def points(metrics: Path) -> list[dict]:
    return [json.loads(line) for line in metrics.read_text("utf-8").splitlines() if line.endswith("}")]


@pytest.mark.slow
def test_a_sweep_goes_on_after_ctrl_c_and_after_kill_9(tmp_path):
    path = write(tmp_path, "[sweep.parameters]\nrun.games = [200, 30_000]")
    sweep = read_sweep(path)
    short, long = sweep.runs

    process = begin(path)
    wait_for_games(process, long, 0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in err
    assert "[1/2] games-200_seed-1: 200 games" in err
    assert f"interrupted: 1 of 2 runs are finished; resume with: {sweep.resume_command}" in err
    # The run saved its state, and is no longer at work.
    assert not long.folder.in_use()
    saved = long.folder.load()[1]["games"]
    assert 0 < saved < 30_000
    assert load_weights(long.folder.weights).games == saved
    finished = short.folder.state.stat().st_mtime_ns

    process = begin(path)
    wait_for_games(process, long, saved)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL

    # At once: runs of the killed sweep may still be saving their states.
    process = begin(path)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "2 runs in" in err
    assert "1 finished" in err
    assert out.startswith("| run.games |")
    assert short.folder.state.stat().st_mtime_ns == finished
    whole = train(_elsewhere(long, tmp_path), progress=False)
    assert load_weights(long.folder.weights).theta.tobytes() == whole.weights.theta.tobytes()
    metrics = [[(p["games"], p.get("learning/alpha")) for p in points(f / "metrics.jsonl")]
               for f in (long.folder.path, whole.folder)]  # fmt: skip
    assert metrics[0] == metrics[1]
