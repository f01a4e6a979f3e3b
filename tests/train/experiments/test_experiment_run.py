"""Running experiments: how results describe themselves, where they go, and what the command line shows."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from experiment_files import CURVES, on_the_same_runs

from rlgo.base.errors import RlgoError
from rlgo.base.resources import config_path
from train.cli import main as cli
from train.experiments.declaration.experiment import GNUGO_0
from train.experiments.declaration.reading import list_experiments, read_experiment
from train.experiments.results.files import RawResults, pair_line, read_raw, write_raw
from train.experiments.running.run import run_experiment

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.usefixtures("sources")


@pytest.mark.slow
def test_results_describe_themselves(ran):
    folder, e, raw = ran
    header = raw.header
    assert (header["experiment"], header["kind"], header["scale"], header["seed"]) == ("tiny", "curves", 1, 1)
    assert header["command"] == e.command
    assert header["versions"]["numpy"] == np.__version__
    assert header["seconds"] == pytest.approx(sum(run["seconds"] for run in raw.of("run")), abs=0.05)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", header["finished"])
    assert re.match(r"\d+ x .", header["machine"])
    assert read_raw(folder / "results" / "tiny.jsonl") == raw
    # Nothing is left beside the results.
    assert [path.name for path in (folder / "results").iterdir()] == ["tiny.jsonl"]


def without_date(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    return re.sub(r'"finished": "[^"]*"', '"finished": ""', text).splitlines()


def test_running_again_trains_nothing_and_finds_the_same(ran, capsys):
    folder, e, _ = ran
    results = folder / "results" / "tiny.jsonl"
    before = without_date(results)
    finished = [m.folder.state for label in "ab" for m in e.runs[label]]
    states = [path.stat().st_mtime_ns for path in finished]
    results.unlink()
    run_experiment(e, folder / "results", jobs=2, progress=False)
    assert "5 runs in" in (err := capsys.readouterr().err)
    assert "4 finished" in err
    assert without_date(results) == before
    assert [path.stat().st_mtime_ns for path in finished] == states


def test_results_of_another_scale_stay(tmp_path):
    run_experiment(read_experiment("shape_counts", out=tmp_path), tmp_path / "results", progress=False)
    before = (tmp_path / "results" / "shape_counts.jsonl").read_bytes()
    quick = read_experiment("shape_counts", scale=0.5, out=tmp_path)
    with pytest.raises(RlgoError, match=r"shape_counts.jsonl: has results at scale 1; use another --results folder"):
        run_experiment(quick, tmp_path / "results", progress=False)
    assert (tmp_path / "results" / "shape_counts.jsonl").read_bytes() == before


def test_results_of_another_experiment_of_the_same_name_stay(tmp_path):
    files = [tmp_path / folder / "mine.toml" for folder in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        shutil.copy(config_path("shape_counts", "experiments"), file)
    first, second = (read_experiment(str(file), out=tmp_path) for file in files)
    run_experiment(first, tmp_path / "results", progress=False)
    with pytest.raises(RlgoError, match=r"mine.jsonl: has the results of .*a/mine.toml; use another name"):
        run_experiment(second, tmp_path / "results", progress=False)
    run_experiment(first, tmp_path / "results", progress=False)
    files[0].unlink()  # it was moved
    run_experiment(second, tmp_path / "results", progress=False)


def test_games_against_gnu_go_stay(ran, tmp_path, monkeypatch):
    """Where it is not installed, repeating an experiment would drop them."""
    _, e, raw = ran
    met = RawResults(raw.header, [*raw.lines, pair_line("a #1 @250", GNUGO_0, [(0.0, 1.0)])])
    write_raw(tmp_path / "tiny.jsonl", met)
    monkeypatch.setattr("train.experiments.running.curves.has_gnugo", lambda: False)
    with pytest.raises(RlgoError, match="tiny: its results count games against GNU Go, which is not installed"):
        run_experiment(e, tmp_path, progress=False)
    assert read_raw(tmp_path / "tiny.jsonl") == met


# ---------------------------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------------------------


def test_list_says_what_has_run(tmp_path, capsys):
    shutil.copy(ROOT / "results" / "experiments" / "shape_counts.jsonl", tmp_path)
    assert cli.main(["experiment", "list", "--results", str(tmp_path)]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert re.split("  +", header.strip()) == ["experiment", "shipped results", "your results", "about"]
    assert {line.split()[0] for line in lines} == set(list_experiments())
    assert len(lines) == len(list_experiments())
    for line in lines:
        name = line.split()[0]
        shipped = re.search(r" (20\d\d-\d\d-\d\d|none) ", line)[1]
        assert (shipped == "none") == (not (ROOT / "results" / "experiments" / f"{name}.jsonl").is_file())
        assert (f"{shipped}, full" if name == "shape_counts" else "has not run") in line
        assert read_experiment(name).settings.title in line


def test_experiments_of_ones_own_are_listed_and_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(config_path("shape_counts", "experiments"), "mine.toml")
    assert cli.main(["experiment", "run", "mine.toml", "--results", "some"]) == 0
    assert cli.main(["experiment", "list", "--results", "some"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert re.match(r"mine +none +20\d\d-\d\d-\d\d, full ", last)
    assert last.endswith("your own: mine.toml")
    report = (tmp_path / "results.md").read_text("utf-8")
    assert re.search(r"^\d+ claims; holds: \d+\.$", report, re.MULTILINE)
    assert "\n## mine\n" in report
    assert "has not run" not in report.replace("learning_runs has not run", "")
    (tmp_path / "mine.toml").unlink()
    assert cli.main(["experiment", "report", "--results", "some"]) == 0
    assert "\n## mine\n" not in (tmp_path / "results.md").read_text("utf-8")


def test_all_experiments_are_checked_first(tmp_path, monkeypatch, capsys):
    """Before any of them takes its time, and also the file of the report."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("train.experiments.running.run.run_experiment", lambda *_, **__: pytest.fail("it ran"))
    Path("experiments/results").mkdir(parents=True)
    Path("experiments/results/shape_counts.jsonl").write_text("other", "utf-8")
    assert cli.main(["experiment", "run", "gnugo", "shape_counts"]) == 2
    assert "shape_counts.jsonl: not the raw results of an experiment" in capsys.readouterr().err
    Path("experiments/results/shape_counts.jsonl").unlink()
    assert cli.main(["experiment", "run", "shape_frequency", "--set", "experiment.openings=nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err
    Path("experiments/results.md").write_text("mine", "utf-8")
    assert cli.main(["experiment", "run", "shape_counts"]) == 2
    assert "results.md: not a report on experiments; name another file" in capsys.readouterr().err


def test_where_results_go(tmp_path, monkeypatch, capsys):
    """Next to the experiment's runs, even in a source tree, whose published results stay as they are."""
    monkeypatch.chdir(tmp_path)
    Path("results/experiments").mkdir(parents=True)
    Path("docs/lab").mkdir(parents=True)
    name = "shape_counts"
    for argv, path in (
        ([], "experiments/results"),
        (["--scale", "0.5"], "experiments/scale-0.5/results"),
        (["--scale", "0.5", "--out", "x"], "x/scale-0.5/results"),
        (["--results", "y"], "y"),
    ):
        assert cli.main(["experiment", "run", name, *argv]) == 0
        assert Path(path, f"{name}.jsonl").is_file()
        Path(path, f"{name}.jsonl").unlink()
    assert not any(Path("results/experiments").iterdir())
    assert cli.main(["experiment", "run", name, "--results", "results/experiments"]) == 0
    capsys.readouterr()
    assert cli.main(["experiment", "report", "--results", "results/experiments"]) == 0
    assert capsys.readouterr().out == "docs/lab/results.md\n"
    assert Path("docs/lab/results.md").read_text("utf-8").startswith("# The papers, reproduced\n")


def test_run_shows_what_was_found(ran, tmp_path, capsys):
    """Through the command line, picture included; `plot` draws it again."""
    strong = '[[claims]]\ntext = "b is strong"\na = "b"\nb = "a"\nlow = -9000\n'
    never = '[[claims]]\ntext = "never"\na = "b@500"\nlow = 0\n'
    e = on_the_same_runs(ran, tmp_path, CURVES.partition("[runs.wild]")[0] + strong + never)
    argv = ["--results", str(tmp_path / "results")]
    assert cli.main(["experiment", "run", str(e.path), "--out", str(tmp_path / "out"), *argv]) == 0
    out = capsys.readouterr().out
    assert "## tiny" in out
    assert re.search(r"^\| b \| 2 \|", out, re.MULTILINE)
    assert re.search(r"^\| b is strong \| at least -9,000 \| [+-]?\d+ \(.*\) Elo \| holds \|$", out, re.MULTILINE)
    assert "| never | above 0 |  | not measured |" in out
    assert "1 of 2 claims are decided." in out
    picture = tmp_path / "results" / "tiny.png"
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    picture.unlink()
    assert cli.main(["experiment", "plot", str(e.path), *argv]) == 0
    assert capsys.readouterr().out == f"{picture}\n"
    assert picture.is_file()


def test_results_at_any_scale_are_found(tmp_path, monkeypatch, capsys):
    """By every command, without telling it the scale; the latest first."""
    monkeypatch.chdir(tmp_path)
    for scale in ("1", "0.5", "0.25"):
        assert cli.main(["experiment", "run", "shape_counts", "--scale", scale]) == 0
    os.utime("experiments/scale-0.5/results/shape_counts.jsonl")
    capsys.readouterr()
    assert cli.main(["experiment", "list"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("shape_counts"))
    assert re.findall("scale [0-9.]+|full", line) == ["scale 0.5", "scale 0.25", "full"]
    assert cli.main(["experiment", "list", "--scale", "0.25"]) == 0
    assert re.findall("scale [0-9.]+|full", capsys.readouterr().out) == ["scale 0.25"]
    assert cli.main(["experiment", "plot", "shape_counts"]) == 2
    assert "experiments/scale-0.5/results/shape_counts.jsonl: 20" in (err := capsys.readouterr().err)
    assert "shape_counts: has no picture" in err
    assert cli.main(["experiment", "report"]) == 0
    written = [f"experiments/{part}results.md" for part in ("", "scale-0.25/", "scale-0.5/")]
    assert capsys.readouterr().out.split() == written
    assert all(Path(path).is_file() for path in written)
    assert cli.main(["experiment", "report", "-o", "x.md"]) == 2
    assert "--file x.md: there are results at 3 scales" in capsys.readouterr().err
    assert cli.main(["experiment", "plot", "plies"]) == 2
    assert "plies: has not run: no results of it below experiments" in capsys.readouterr().err


def test_results_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    argv = ["experiment", "run", "shape_counts", "--out", str(tmp_path / "out"), "--results", str(tmp_path / "file")]
    assert cli.main(argv) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"rlgo: error: {tmp_path}/file")
    assert err.count("\n") == 1
    assert cli.main(["experiment", "report", "--results", str(tmp_path), "-o", str(tmp_path / "no" / "x.md")]) == 2
    err = capsys.readouterr().err
    assert re.fullmatch(rf"rlgo: error: {tmp_path}/no/x.md: cannot be written: .*No such file or directory.*\n", err)
    mine = tmp_path / "mine.md"
    mine.write_text("# My notes\n")
    assert cli.main(["experiment", "report", "--results", str(tmp_path), "-o", str(mine)]) == 2
    assert "mine.md: not a report on experiments" in capsys.readouterr().err
    assert mine.read_text() == "# My notes\n"
