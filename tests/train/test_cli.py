"""The `rlgo` command: what it imports, and how it meets bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rlgo.errors import RlgoError
from train.cli import main as cli

ROOT = Path(__file__).resolve().parents[2]


def python(*args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """Run this Python on the sources, whether or not they are installed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *args], env=env, capture_output=True, text=True, timeout=120, **kwargs)


# ---------------------------------------------------------------------------------------------
# Fast answers
# ---------------------------------------------------------------------------------------------

HEAVY = ("numba", "scipy", "matplotlib", "tensorboard", "tensorboardX")
LOADED = f"import sys; print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"


@pytest.mark.parametrize(
    "code",
    [
        "import rlgo",
        "import train.cli.main",
        "import train.config; train.config.load_config('quick')",
        "import train.runs.status",
        "from train.cli.main import main; main(['--version'])",
        "from train.cli.main import main; main(['--help'])",
        "from train.cli.main import main; main(['match', '--help'])",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str) -> None:
    done = python("-c", f"try:\n    {code}\nexcept SystemExit: pass\n{LOADED}")
    assert done.returncode == 0
    assert done.stderr == "[]\n"


def test_python_m_rlgo_is_the_command(tmp_path: Path) -> None:
    done = python("-m", "rlgo", "--version", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.split()[0] == "rlgo" and len(done.stdout.split()) == 2
    for command in ("train", "weights", "gtp", "match", "bench"):
        assert f"    {command} " in python("-m", "rlgo", "--help", cwd=tmp_path).stdout


# ---------------------------------------------------------------------------------------------
# Bad input: one line, status 2
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv, message",
    [
        ([], "the following arguments are required: COMMAND (see rlgo --help)"),
        (["trian"], "invalid choice: 'trian'"),
        (["--verson"], "COMMAND"),
        (["train"], "train: expected either a CONFIG or --resume DIR (see rlgo train --help)"),
        (["train", "nosuch"], "nosuch: no such config file; shipped configs: "),
        (
            ["train", "quick", "--set", "run.gamse=1"],
            "unknown key run.gamse; did you mean run.games",
        ),
        (["train", "quick", "--set", "run.games=x"], 'run.games = "x": expected an integer of at least 1'),
        (
            ["train", "quick", "--set", "run.games=1", "board.size=4"],
            "board.size = 4: expected an integer from 5",
        ),
        (["train", "quick", "--set", "run.games=1", "--set", "x"], "--set x: expected section.key=value"),
        (["train", "quick", "--out", ""], 'run.out = "": expected the path of a folder'),
        (["weights"], "the following arguments are required: COMMAND (see rlgo weights --help)"),
        (["weights", "show", "f", "--top", "0"], "--top: '0': expected an integer of at least 1"),
        (["gtp", "--all-alive", "--early-pass"], "--early-pass: expected dead stones not to count"),
        (["gtp", "--player", "random", "--size", "20"], "board.size = 20: expected an integer from 5 to 19"),
        (["gtp", "--player", "random", "--komi", "inf"], "board.komi = inf: expected a number"),
        (["match", "random", "random"], "the following arguments are required: --games"),
        (["match", "random", "random", "--games", "0"], "--games: '0': expected an integer of at least 1"),
        (["match", "random", "random", "--games", "x"], "--games: 'x': expected an integer of at least 1"),
        (["match", "random", "random", "--games", "2", "--seed", "-1"], "--seed: '-1': expected an integer"),
        (["match", "random", "random", "--games", "2", "--size", "4"], "board.size = 4: expected an integer"),
        (
            ["match", "random", "random", "--games", "2", "--json", "no/such/f"],
            "--json no/such/f: expected a file",
        ),
        (["bench", "--json", "."], "--json .: expected a file that can be written"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_status_2(
    argv: list[str], message: str, capsys: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rlgo: error: ") and message in err
    assert err.count("\n") == 1 and err.endswith("\n")
    assert list(tmp_path.iterdir()) == []


def test_bad_input_through_a_real_process(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[learning]\nalhpa = 0.1\n", "utf-8")
    done = python("-m", "rlgo", "train", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"rlgo: error: {path}: unknown key learning.alhpa; did you mean learning.alpha?\n")


# ---------------------------------------------------------------------------------------------
# What handlers may raise
# ---------------------------------------------------------------------------------------------


def run_raising(error: BaseException, monkeypatch: Any) -> int:
    def handler(_: Any) -> None:
        raise error

    monkeypatch.setattr(cli, "_bench", handler)
    return cli.main(["bench"])


@pytest.mark.parametrize(
    "error, status, err",
    [
        (RlgoError("weights.npz: truncated"), 2, "rlgo: error: weights.npz: truncated\n"),
        (RlgoError("two\nlines"), 2, "rlgo: error: two lines\n"),
        (PermissionError(13, "Permission denied", "runs"), 2, "rlgo: error: runs: Permission denied\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_become_statuses(error: BaseException, status: int, err: str, monkeypatch: Any, capsys: Any) -> None:
    assert run_raising(error, monkeypatch) == status
    assert capsys.readouterr() == ("", err)


def test_a_bug_keeps_its_traceback(monkeypatch: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        run_raising(ZeroDivisionError(), monkeypatch)


@pytest.mark.skipif(os.name != "posix", reason="closes a pipe as POSIX does")
def test_a_closed_pipe_is_quiet() -> None:
    code = (
        "import sys; from train.cli import main as cli\n"
        "cli._bench = lambda args: print('x\\n' * 100_000)\n"
        "sys.exit(cli.main(['bench']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_json_is_written_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    cli._check_writable(path)
    cli._write_json(path, {"playouts_9x9_per_s": 1})
    assert json.loads(path.read_text("utf-8")) == {"playouts_9x9_per_s": 1}
    cli._check_writable(path)
    cli._write_json(None, {})
