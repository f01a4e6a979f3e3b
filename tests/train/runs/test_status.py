"""`rlgo runs`: the state of every run in a folder, damaged or not, without changing anything."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from tiny_runs import edit, interrupt, interrupt_before_the_first_game, metrics, tiny

from train.cli import main as cli
from train.config import Config
from train.runs.folder import RunFolder
from train.runs.run import run as train
from train.runs.status import find_runs, inspect, table

GAMES = 120


def short(out: Path, name: str) -> Config:
    """A run that measures strength only at its end."""
    return tiny(out, run={"name": name, "games": GAMES, "log_every": 60, "eval_every": 0, "eval_games": 10})


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder of runs: `done`, a sweep's folder with a run in it, and one cut short before its first game."""
    out = tmp_path_factory.mktemp("runs")
    train(short(out, "done"), progress=False)
    shutil.copytree(out / "done", out / "sweep" / "member")
    with pytest.MonkeyPatch.context() as patch:
        interrupt_before_the_first_game(patch)
        with pytest.raises(KeyboardInterrupt):
            train(short(out, "begun"), progress=False)
    (out / "notes").mkdir()
    (out / "notes" / "a.txt").write_text("no run")
    (out / ".done.x1").mkdir()
    (out / ".done.x1" / "config.toml").write_text("")
    return out


@pytest.fixture
def runs(made, tmp_path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def states(folder: Path) -> dict[str, str]:
    return {str(run.path.relative_to(folder)): run.state for run in find_runs(folder)}


def test_states(made):
    def kept():  # filelock 3.12 touches its file when it tries to lock it
        return {path: content for path, content in contents(made).items() if not path.endswith(".lock")}

    before = kept()
    assert states(made) == {"begun": "interrupted", "done": "finished", "sweep/member": "finished"}
    with RunFolder(made / "begun").lock(), RunFolder(made / "sweep" / "member").lock():
        assert states(made) == {"begun": "running", "done": "finished", "sweep/member": "running"}
    assert kept() == before


def test_what_is_reported(made):
    begun, done, _ = find_runs(made)
    assert done.config == short(made, "done")
    assert (done.games, begun.games, done.reason, done.resume_command) == (GAMES, 0, "", "")
    assert done.games_per_s == GAMES / done.seconds
    assert begun.games_per_s == 0
    provenance = json.loads((made / "done" / "run.json").read_text("utf-8"))
    assert (done.started, done.strength, done.elo) == tuple(provenance[k] for k in ("started", "strength", "elo"))
    assert begun.resume_command.endswith(f"rlgo train --resume {made / 'begun'}")


def test_elo_is_what_the_run_reported_last(tmp_path, monkeypatch):
    """Not a rating that was only logged: the one that `rlgo train` prints with the win rates."""
    interrupt(monkeypatch, at=250)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path, run={"eval_every": 150}), progress=False)
    logged = {p["games"]: p["strength/elo"] for p in metrics(tmp_path / "tiny") if "strength/elo" in p}
    log = (tmp_path / "tiny" / "log.txt").read_text("utf-8")
    reported = [int(games) for games in re.findall(r"(\d+) games: Elo ", log)]
    assert [*logged] == [100, 150, 200]  # 100 and 200 are checkpoints
    assert reported == [150]
    assert logged[200] != logged[150]
    info = inspect(tmp_path / "tiny")
    assert info.elo == logged[150]
    assert f"{info.elo:,.0f}" in table([info], tmp_path)
    assert f"150 games: Elo {info.elo:,.0f} (" in log


def test_more_games_asked_for(runs):
    """As after `rlgo train --resume DIR --set run.games=N` and Ctrl-C."""
    edit(runs / "done" / "config.toml", f"games = {GAMES}\n", f"games = {2 * GAMES}\n")
    assert inspect(runs / "done").state == "interrupted"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda run: (run / "state.npz").write_bytes(b"x" * 300), "state.npz: not a run state"),
        (lambda run: os.truncate(run / "state.npz", 500), "state.npz: not a run state"),
        (lambda run: (run / "state.npz").unlink(), "state.npz: cannot be read: No such file"),
        (lambda run: (run / "config.toml").unlink(), "config.toml: missing"),
        (lambda run: (run / "config.toml").write_text("[run]\ngamse = 1"), "unknown key run.gamse"),
        (lambda run: (run / "config.toml").write_bytes(b"\xff"), "UTF-8"),
        (lambda run: (run / "run.json").unlink(), "run.json: cannot be read: No such file"),
        (lambda run: (run / "run.json").write_text("[]"), "run.json: damaged"),
        (lambda run: (run / "run.json").write_text("{"), "run.json: damaged"),
    ],
)
def test_a_damaged_run_is_a_line(runs, spoil, reason):
    spoil(runs / "done")
    found = inspect(runs / "done")
    assert found.state == "damaged"
    assert reason in found.reason
    assert states(runs) == {"begun": "interrupted", "done": "damaged", "sweep/member": "finished"}


def test_the_command(made, capsys, monkeypatch):
    monkeypatch.chdir(made.parent)
    assert cli.main(["runs", str(made.name)]) == 0
    header, begun, done, member, empty, resume = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["run", "state", "games"]
    assert begun.split()[:6] == ["begun", "interrupted", "0", "of", "120", "(0%)"]
    assert empty == ""
    assert resume.startswith("begun: ")
    assert resume.endswith(f"rlgo train --resume {made.name}/begun")
    assert done.split()[:6] == ["done", "finished", "120", "of", "120", "(100%)"]
    assert "5x5" in done
    assert "1+2 LI+LD" in done
    assert "random" in done
    assert member.startswith("sweep/member ")

    assert cli.main(["runs", str(made.name), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["state"] for run in found] == ["interrupted", "finished", "finished"]
    assert found[1]["config"]["board"]["size"] == 5
    assert [run["resume_command"] for run in found] == [resume.removeprefix("begun: "), "", ""]

    assert cli.main(["runs", str(made / "done")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("nowhere", "nowhere: expected a folder of training runs"),
        ("file", "file: expected a folder of training runs, found a file"),
        ("empty", "empty: no training runs here"),
    ],
)
def test_no_runs_is_one_line(tmp_path, monkeypatch, capsys, folder, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "empty" / "notes").mkdir(parents=True)
    assert cli.main(["runs", folder]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rlgo: error: {message}")
    assert err.count("\n") == 1
