"""The speed table: which numbers it contains, not how large they are."""

from __future__ import annotations

import os

import pytest

from rlgo.base.errors import RlgoError
from train.bench.table import KEYS, main, markdown_table
from train.cli.main import main as rlgo


@pytest.mark.thorough  # compiles for 9x9 what the other tests use on small boards
@pytest.mark.process
def test_keys(monkeypatch):
    monkeypatch.setattr("train.bench.timing.RUNS", 1)
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    scaling = [key for key in KEYS if "_scaling_2_" in key]
    result = main(scale=0.001, player="random")  # any other takes half a minute to compile
    machine = result.pop("machine")
    measurable = before is not None and len(before) > 1  # scaling needs two cores
    assert list(result) == [key for key in KEYS if measurable or key not in scaling]
    assert all(isinstance(value, float) and value > 0 for value in result.values())
    assert result["selfplay_evals_per_s"] > 1000 * result["selfplay_games_per_s"]
    assert {"cpu", "python", "numba", "rlgo"} <= set(machine)
    if before is not None:
        assert os.sched_getaffinity(0) == before


def test_some_parts(monkeypatch, capsys):
    monkeypatch.setattr("train.bench.timing.RUNS", 1)
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    result = main(scale=0.001, parts=["playouts"])
    assert list(result) == [*(expected := [key for key in KEYS if "playouts" in key]), "machine"]
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [*expected, "cpu"]
    if before is not None:
        assert os.sched_getaffinity(0) == before


def test_a_part_that_there_is_none_of(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("train.bench.measures.rates", lambda _: pytest.fail("measured all the same"))
    assert rlgo(["bench", "playouts", "nothing", "--json", str(tmp_path / "b.json")]) == 2
    assert "rlgo: error: nothing: expected one of playouts, selfplay," in capsys.readouterr().err
    assert not (tmp_path / "b.json").exists()


def test_a_part_that_cannot_be_measured_here(monkeypatch):
    monkeypatch.setattr(
        "train.bench.table.parts_of", lambda *_: {"playouts": iter([("playouts_9x9_per_s", 1.0)]), "scaling": iter(())}
    )
    assert "playouts_9x9_per_s" in main()  # among all parts, it is left out
    with pytest.raises(RlgoError, match="scaling: expected two cores or more"):
        main(parts=["scaling"])


def test_markdown_table():
    result = {**dict.fromkeys(KEYS, 12.345), "train_games_per_s": 11_122.7, "machine": {"cpu": "C", "cores": "2"}}
    lines = markdown_table(result).splitlines()
    assert "| `train_games_per_s` | the same, learning | 11,123 | original RLGO 335 |" in lines
    assert "| `warm_start_s` | from process start to the first episode, cache filled | 12.35 |  |" in lines
    assert lines[-1] == "Machine: cpu C, cores 2."
