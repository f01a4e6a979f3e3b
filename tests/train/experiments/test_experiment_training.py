"""Training runs of experiments: what is recorded, what is trained again, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib

import pytest
from experiment_files import BASE, CURVES, ages, on_the_same_runs, write

from rlgo.base.errors import RlgoError
from rlgo.features.weights import load_weights
from train.experiments.declaration.reading import read_experiment
from train.experiments.running.run import run_experiment

pytestmark = [pytest.mark.usefixtures("sources"), pytest.mark.slow]


def test_every_run_is_recorded_with_its_weights(ran):
    folder, e, raw = ran
    recorded = [(run["run"], run["seed"], run["state"], run["games"], run["checkpoints"]) for run in raw.of("run")]
    # The base config with seed 1, which all experiments have, comes first.
    assert recorded == [
        ("a", 1, "finished", 250, [100, 200, 250]),
        ("b", 1, "finished", 250, [100, 200, 250]),
        ("b", 2, "finished", 250, [100, 200, 250]),
        ("a", 2, "finished", 250, [100, 200, 250]),
        ("wild", 3, "diverged", 0, []),
    ]
    for run in raw.of("run")[:4]:
        spec = e.runs[run["run"]][run["seed"] - 1]
        assert run["changed"] == spec.values
        assert run["base"] == str(folder / "base.toml")
        assert list(spec.folder.saved()) == [100, 200]
        theta = load_weights(spec.folder.weights).theta
        assert run["crc32"] == f"{zlib.crc32(theta.tobytes()):08x}"
        assert run["seconds"] == round(spec.folder.load()[1]["seconds"], 1)
    assert len({run["crc32"] for run in raw.of("run")}) == 5  # "" of the one without weights


def test_diverged_runs_are_recorded_and_stop_nothing(ran):
    *_, raw = ran
    (wild,) = (run for run in raw.of("run") if run["run"] == "wild")
    assert (wild["state"], wild["crc32"], wild["seconds"]) == ("diverged", "", 0)
    assert wild["reason"] == (
        "diverged: weights grow without bound after 100 games; expected a smaller learning.alpha than 1000"
    )
    assert not any("wild" in name for line in raw.of("pair") for name in line["pair"])


def test_what_is_missing_is_trained_and_comes_out_the_same(ran, tmp_path):
    folder, _, raw = ran
    e = on_the_same_runs(ran, tmp_path, CURVES.partition("[runs.wild]")[0])
    (gone,) = (tmp_path / "out").rglob("base_alpha-0.02_seed-2")
    shutil.rmtree(gone)
    lines = run_experiment(e, tmp_path / "results", jobs=2, progress=False).lines

    def recorded(lines: list[dict]) -> list[dict]:
        return [{k: v for k, v in line.items() if k != "seconds"} for line in lines if line.get("run") != "wild"]

    assert recorded(lines) == recorded(raw.lines)
    assert (folder / "out" / "runs" / gone.name / "config.toml").is_file()  # the original is left alone


def test_a_run_that_is_no_label_is_the_reference(ran, tmp_path):
    """It is trained, and plays, so that experiments have something in common; so do its games."""
    _, _, raw = ran
    e = on_the_same_runs(
        ran, tmp_path, '[experiment]\nbase = "BASE"\ngames = 4\nseeds = [2]\n[runs.b]\nlearning.alpha = 0.02\n'
    )
    found = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    assert [(run["run"], run["seed"]) for run in found.of("run")] == [("reference", 1), ("b", 2)]
    assert found.of("run")[0]["crc32"] == raw.of("run")[0]["crc32"]
    before = {tuple(line["pair"]): line for line in raw.of("pair")}
    kept = [line for line in found.of("pair") if tuple(line["pair"]) in before]
    assert len(kept) == 4
    assert all(line == before[tuple(line["pair"])] for line in kept)


def test_two_labels_may_mean_one_run(ran, tmp_path, capsys):
    e = on_the_same_runs(ran, tmp_path, '[experiment]\nbase = "BASE"\ngames = 4\n[runs.x]\n[runs.y]\n')
    found = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    assert "1 runs in" in capsys.readouterr().err
    x, y = found.of("run")
    assert (x["run"], y["run"]) == ("x", "y")
    assert x["crc32"] == y["crc32"]
    assert {"x #1 @250", "y #1 @250"} in [set(line["pair"]) for line in found.of("pair")]


def test_runs_of_other_settings_and_damaged_runs_are_refused(ran, tmp_path):
    text = CURVES.partition("[runs.wild]")[0]
    e = on_the_same_runs(ran, tmp_path, text)
    config = e.reference.folder.config
    whole = config.read_text("utf-8")
    edited = whole.replace("epsilon = 0.2", "epsilon = 0.3").splitlines()[:-1]  # without the checksum
    config.write_text("\n".join(edited), "utf-8")
    with pytest.raises(RlgoError, match=r"base_seed-1: already contains a run with policy.epsilon = 0.3, expected 0.2"):
        run_experiment(e, tmp_path / "results", progress=False)
    config.write_text(whole, "utf-8")
    state = e.runs["b"][1].folder.state
    state.write_bytes(state.read_bytes()[:-9])
    with pytest.raises(RlgoError, match=rf"{re.escape(str(e.runs['b'][1].folder.path))}: .*state.npz"):
        run_experiment(e, tmp_path / "results", progress=False)
    assert not (tmp_path / "results").exists()


def test_interrupted_training_goes_on(tmp_path):
    """Ctrl-C in the middle of a run; the same command again ends where one without would have."""
    path, results = write(tmp_path, '[experiment]\nbase = "BASE"\ngames = 4\n'), tmp_path / "results"
    (tmp_path / "base.toml").write_text(BASE.replace("games = 250", "games = 50_000"), "utf-8")
    e = read_experiment(path, out=tmp_path / "out")
    folder = e.reference.folder
    command = [sys.executable, "-m", "rlgo", "experiment", "run", str(path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*command, "--results", str(results)], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (folder.metrics.exists() and folder.metrics.read_bytes().count(b"\n") > 1):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGINT, err
    assert "Traceback" not in err
    assert not results.exists()
    assert not folder.in_use()
    saved = folder.load()[1]["games"]
    assert 0 < saved < 50_000

    (run,) = run_experiment(e, results, jobs=1, progress=False).of("run")
    assert (run["state"], run["games"], run["checkpoints"]) == ("finished", 50_000, ages(50_000))
    metrics = [json.loads(line)["games"] for line in folder.metrics.read_text("utf-8").splitlines()]
    assert metrics == sorted(metrics)
    assert metrics[-1] == 50_000
    assert set(range(100, 50_001, 100)) <= set(metrics)
