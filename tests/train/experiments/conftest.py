"""Results that several of these tests share: from training, and made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiment_files import CURVES, curves_of, games_of, header, write

from train.experiments.declaration.experiment import GNUGO_0, GNUGO_10, Experiment
from train.experiments.declaration.reading import read_experiment
from train.experiments.results.files import RawResults, pair_line, write_raw
from train.experiments.running.run import run_experiment

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def ran(tmp_path_factory) -> tuple[Path, Experiment, RawResults]:
    """An experiment of two labels with two seeds, and one that diverges."""
    folder = tmp_path_factory.mktemp("experiment")
    e = read_experiment(write(folder, CURVES), out=folder / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        return folder, e, run_experiment(e, folder / "results", jobs=2, progress=False)


@pytest.fixture(scope="session")
def results(tmp_path_factory) -> Path:
    """Raw results of every kind, of some of the shipped experiments."""
    folder = tmp_path_factory.mktemp("docs") / "experiments"
    run_experiment(read_experiment("shape_counts", out=folder.parent / "out"), folder, progress=False)
    e = read_experiment("gnugo")
    wins = [(1, 0)] * 100 + [(0, 0)] * 80 + [(1, 1)] * 20
    line = pair_line(GNUGO_0, GNUGO_10, wins, seconds_of=[40.0, 400.0], seconds=440.0)
    write_raw(folder / "gnugo.jsonl", RawResults(header(e.name, "games"), [line]))
    for name in ("plies", "learning_runs"):
        write_raw(folder / f"{name}.jsonl", curves_of(read_experiment(name)))
    write_raw(folder / "alphabeta_depth.jsonl", games_of(read_experiment("alphabeta_depth")))
    numbers = [{"number": "games", "value": 1000, "seconds": 3.0}]
    for block in ("1x1 LI", "3x3 LD"):
        numbers.append({"histogram": block, "classes": [0, 3, 0, 2000, 40_000]})
        keys = ("weights", "occurrences", "most often", "seen 1,000 to 10,000 times", "never seen")
        numbers += [{"number": f"{block} {key}", "value": 12_345} for key in keys]
    write_raw(folder / "shape_frequency.jsonl", RawResults(header("shape_frequency", "frequency"), numbers))
    return folder
