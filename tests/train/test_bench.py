"""The speed table: which numbers it holds, not how large they are."""

from __future__ import annotations

import json
import os

import pytest

from train.bench import main
from train.cli.main import main as rlgo


@pytest.mark.slow
@pytest.mark.process
def test_keys(monkeypatch):
    monkeypatch.setattr("train.bench.RUNS", 1)
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    scaling = ["train_scaling_2_workers", "tdsearch_scaling_2_threads", "mcts_scaling_2_threads"]
    result = main(scale=0.001)
    machine = result.pop("machine")
    assert list(result) == [
        "playouts_9x9_per_s",
        "playouts_19x19_per_s",
        "mogo_playouts_9x9_per_s",
        "selfplay_games_per_s",
        "selfplay_evals_per_s",
        "train_games_per_s",
        "tdsearch_T6_uniform_3x3_sims_per_s",
        "tdsearch_T6_uniform_2x2_sims_per_s",
        "tdsearch_T6_mogo_2x2_sims_per_s",
        "tdsearch_T6_mogo_2x2_first6_sims_per_s",
        "tdsearch_throughout_3x3_sims_per_s",
        "dyna2_T6_mogo_3x3_sims_per_s",
        "dyna2_T6_mogo_3x3_first6_sims_per_s",
        "alphabeta_nodes_per_s",
        "uct_uniform_sims_per_s",
        "uct_mogo_sims_per_s",
        "mcrave_mogo_sims_per_s",
        "heuristic_mcrave_mogo_sims_per_s",
        "mcts_bytes_per_stored_move",
        "uct_uniform_19x19_sims_per_s",
        "uct_mogo_19x19_sims_per_s",
        "mcrave_mogo_19x19_sims_per_s",
        "heuristic_mcrave_mogo_19x19_sims_per_s",
        "warm_start_s",
        "train_memory_mb",
        *(scaling if before is not None and len(before) > 1 else []),
    ]
    assert all(isinstance(value, float) and value > 0 for value in result.values())
    assert result["selfplay_evals_per_s"] > 1000 * result["selfplay_games_per_s"]
    assert {"cpu", "python", "numba", "rlgo"} <= set(machine)
    if before is not None:
        assert os.sched_getaffinity(0) == before


def test_json_file(tmp_path, monkeypatch):
    monkeypatch.setattr("train.bench.main", lambda: {"a": 1.5, "machine": {}})
    assert rlgo(["bench", "--json", str(tmp_path / "b.json")]) == 0
    assert json.loads((tmp_path / "b.json").read_text()) == {"a": 1.5, "machine": {}}


@pytest.mark.parametrize("path", ["nowhere/b.json", "."])
def test_unwritable_json_is_noticed_first(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("train.bench.main", lambda: pytest.fail("measured all the same"))
    assert rlgo(["bench", "--json", path]) == 2
    assert path in capsys.readouterr().err
