"""The logs of a folder of runs: names, growing curves, and weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tiny_runs import tiny

from rlgo.base.errors import RlgoError
from rlgo.features.weights import load_weights
from train.runs import history
from train.runs.folder import RunFolder
from train.runs.history import RunHistory
from train.runs.run import run as train
from train.runs.status import run_folders


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    train(
        tiny(out, run={"name": "done", "games": 120, "log_every": 40, "eval_every": 0, "eval_games": 10}),
        progress=False,
    )
    shutil.copytree(out / "done", out / "sweep" / "member")
    (out / "notes").mkdir()
    return out


@pytest.fixture
def runs(made, tmp_path) -> RunHistory:
    return RunHistory(Path(shutil.copytree(made, tmp_path / "runs")))


def test_runs_by_name(runs):
    assert list(run_folders(runs.folder)) == ["done", "sweep/member"]
    told = runs.describe()
    assert [run["name"] for run in told["runs"]] == ["done", "sweep/member"]
    assert told["runs"][0]["state"] == "finished"
    assert (told["runs"][0]["games"], told["runs"][0]["of"]) == (120, 120)
    json.dumps(told)
    alone = RunHistory(runs.folder / "done")
    assert list(run_folders(alone.folder)) == ["done"]
    with pytest.raises(RlgoError, match="expected a folder of training runs"):
        RunHistory(runs.folder / "nothing")


def test_a_run_is_read_again_only_when_it_has_changed(runs, monkeypatch):
    read = []
    inspect = history.inspect
    monkeypatch.setattr(history, "inspect", lambda path: read.append(path.name) or inspect(path))
    runs.runs()
    runs.runs()
    assert sorted(read) == ["done", "member"]
    (runs.folder / "done" / "state.npz").write_bytes(b"damaged")
    assert runs.runs()["done"].state == "damaged"
    assert sorted(read) == ["done", "done", "member"]


@pytest.mark.parametrize("name", ["nothing", "../runs/done", "/etc", "", "done/", "notes", "sweep"])
def test_names_that_are_no_runs(runs, name):
    for ask in (runs.curves, runs.learned):
        with pytest.raises(RlgoError, match="no such run"):
            ask(name)


def test_curves_grow(runs):
    lines = [json.loads(line) for line in (runs.folder / "done" / "metrics.jsonl").read_text().splitlines()]
    told = runs.curves("done")
    assert told["curves"]["learning/mean_abs_delta"] == [
        [line["games"], line["learning/mean_abs_delta"]] for line in lines if "learning/mean_abs_delta" in line
    ]
    end = told["next"]
    assert runs.curves("done", end) == {"after": end, "next": end, "curves": {}}
    with (runs.folder / "done" / "metrics.jsonl").open("a") as log:
        log.write('{"games": 160, "x": 1.5, "y": NaN}\nno json\n[1]\n{"games": 200, "x"')
    more = runs.curves("done", end)
    assert more["curves"] == {"x": [[160, 1.5]], "y": [[160, None]]}
    with (runs.folder / "done" / "metrics.jsonl").open("a") as log:
        log.write(": 2.5}\n")
    assert runs.curves("done", more["next"])["curves"] == {"x": [[200, 2.5]]}


def test_a_log_that_was_cut_off_is_told_from_its_start(runs):
    told = runs.curves("done", 10**9)
    assert told == runs.curves("done")
    (runs.folder / "done" / "metrics.jsonl").unlink()
    assert runs.curves("done") == {"after": 0, "next": 0, "curves": {}}


def test_what_a_run_has_learned(tmp_path):
    """What it would export: the mean over rounds, of all of its features."""
    config = tiny(
        tmp_path,
        run={"name": "lib", "games": 120, "eval_every": 0, "eval_games": 10, "merge_every": 10},
        features={"sizes": [1], "liberties": ["atari plus"]},
    )
    train(config, progress=False)
    weights, occurrences = RunHistory(tmp_path).learned("lib")
    saved = load_weights(tmp_path / "lib" / "weights.npz")
    np.testing.assert_array_equal(weights.theta, saved.theta)
    assert (weights.theta != RunFolder(tmp_path / "lib").load()[0]["theta"]).any()
    assert (weights.features.name, weights.games, weights.value) == (saved.features.name, 120, saved.value)
    assert occurrences.shape == weights.theta.shape
    assert occurrences.sum() > 0


def test_networks_that_learn_are_listed_beside_runs(runs):
    folder = runs.folder / "rounds"
    (folder / "learning").mkdir(parents=True)
    (folder / "plan.json").write_text('{"size": 5, "match_games": 4, "blocks": 3, "channels": 32}')
    (folder / "learning" / "metrics.jsonl").write_text(
        '{"step": 10, "loss/total": 4.5}\n{"step": 20, "loss_held_out_5x5/total": 4.2}\n{"ste'
    )
    (folder / "learning" / "network.npz").touch()
    for k, results in ((1, "1110"), (2, "1111"), (3, "10")):
        round_ = folder / f"round-{k}"
        round_.mkdir()
        (round_ / "network.npz").touch()
        (round_ / "learned.json").write_text('{"games": 6, "measures": {"value_loss": 0.6, "policy_loss": 2.5}}')
        lines = [{"a": f"n{k}", "b": f"n{k - 1}"}, *({"black": f"n{k}", "z": int(z)} for z in results)]
        (round_ / "sims.jsonl").write_text("\n".join(map(json.dumps, lines)))
    told = {run["name"]: run for run in runs.describe()["runs"]}
    assert list(told) == ["done", "sweep/member", "rounds"]
    network = json.loads(json.dumps(told["rounds"], allow_nan=False))
    assert (network["state"], network["games"], network["size"]) == ("not running", 18, 5)
    assert network["features"] == "network 3 x 32"
    assert [(k, round(elo)) for k, elo in network["rounds"]["elo"]] == [
        (1, 191)
    ]  # 3 of 4; then all of 4; then unfinished
    assert network["rounds"]["value_loss"] == [[1, 0.6], [2, 0.6], [3, 0.6]]
    told = runs.curves("rounds")
    assert told["curves"] == {"loss/total": [[10, 4.5]], "loss_held_out_5x5/total": [[20, 4.2]]}
    with (folder / "learning" / "metrics.jsonl").open("a") as file:
        file.write('p": 30, "loss/total": 4.0}\n')
    assert runs.curves("rounds", told["next"])["curves"] == {"loss/total": [[30, 4.0]]}
