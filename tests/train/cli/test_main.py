"""The `rlgo` command: what it imports, and how it handles bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from rlgo.base.resources import version
from train.cli.main import _app_for, app, main

ROOT = Path(__file__).resolve().parents[3]


def python(*args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """Run this Python on the sources, whether or not they are installed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *args], env=env, capture_output=True, text=True, timeout=120, **kwargs)


# ---------------------------------------------------------------------------------------------
# Fast answers
# ---------------------------------------------------------------------------------------------

HEAVY = ("numba", "numpy", "scipy", "matplotlib", "tensorboard", "tensorboardX", "tqdm", "rich", "ray")
LOADED = f"import sys; print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"


@pytest.mark.process
@pytest.mark.parametrize(
    "code",
    [
        "import train.cli.main",
        "from train.cli.main import main; main(['--version'])",
        "from train.cli.main import main; main(['--help'])",
        "from train.cli.main import main; main(['match', '--help'])",
        "from train.cli.main import main; main(['match', 'random'])",
        "from train.cli.main import main; main(['trian'])",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str) -> None:
    done = python("-c", f"{code}\n{LOADED}")
    assert done.returncode == 0
    assert done.stderr.endswith("[]\n")


@pytest.mark.process
def test_the_list_of_commands_needs_no_pydantic() -> None:
    code = "from train.cli.main import main; main(['--help']); import sys; print('pydantic' in sys.modules)"
    assert python("-c", code).stdout.endswith("False\n")


@pytest.mark.process
@pytest.mark.parametrize(
    "code", ["import rlgo", "import train.config; train.config.load_config('quick')", "import train.runs.status"]
)
def test_configs_and_runs_are_read_without_numba(code: str) -> None:
    done = python("-c", f"{code}\nimport sys; print([m for m in ('numba', 'scipy', 'rich') if m in sys.modules])")
    assert done.stdout == "[]\n"


@pytest.mark.process
def test_python_m_rlgo_is_the_command(tmp_path: Path) -> None:
    done = python("-m", "rlgo", "--version", cwd=tmp_path)
    assert done.returncode == 0
    assert re.fullmatch(r"rlgo \S+\n", done.stdout)
    for command in ("train", "weights", "gtp", "match", "bench"):
        assert f"\n  {command} " in python("-m", "rlgo", "--help", cwd=tmp_path).stdout


# ---------------------------------------------------------------------------------------------
# Bad input: one line, status 2
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "missing command (see rlgo --help)"),
        (["trian"], "no such command 'trian'; did you mean 'train'? (see rlgo --help)"),
        (["games", "inf", "x"], "no such command 'inf'; did you mean 'info'? (see rlgo games --help)"),
        (["configs", "exmaple"], "exmaple: no such config file; did you mean example?"),
        (["weights", "export", "."], ".: expected a weight file, found a folder"),
        (["gtp", "--queries", "--size", "13"], "--size has no effect with --queries"),
        (["gtp", "--queries", "--player", "dyna3"], "unknown player dyna3; "),
        (["experiment", "report", "--results", "x", "--out", "y"], "--out has no effect with --results"),
        (["experiment", "list", "--results", "x", "--scale", "2"], "--scale has no effect with --results"),
        (["experiment", "list", "--results", "x", "--out", "y"], "--out has no effect with --results"),
        (["experiment", "plot", "plies", "--results", "x", "--out", "y"], "--out has no effect with --results"),
        (["openings", "judge", "empty"], "openings judge is gone: `rlgo openings make` keeps"),
        (["match", "random", "random", "--games=2", "--check-scores"], "match --check-scores is gone: the referee"),
        (["sweep", "plot", "x"], "sweep plot is gone: run again, a sweep rates its runs anew and draws itself"),
        (["analyze", "x.sgf", "--game", "--sgf", "a", "--json", "a"], "--json a: expected another file than --sgf"),
        (["analyze", "x.json", "--json", "x.json"], "--json x.json: expected another file than POSITION.sgf"),
        (["compile", "random", "rndom"], "unknown player rndom; "),
        (["play", "--size", "9", "--quiet"], "play --quiet is gone: "),
        (["cgos", "--config", "x"], "cgos is gone: the server's own client runs `rlgo gtp --all-alive`"),
        (["experiment", "run", "x", "--openings", "y"], "experiment run --openings is gone: --set experiment.openings"),
        (["experiment", "run", "x", "--add"], "experiment run --add is gone: games that the results count are always"),
        (["--verson"], "no such option: --verson"),
        (["train", "--sett", "a.b=1"], "no such option: --sett"),
        (["train"], "train: expected either a CONFIG or --resume DIR (see rlgo train --help)"),
        (["train", "nosuch"], "nosuch: no such config file; shipped configs: "),
        (
            ["train", "quick", "--set", "run.gamse=1"],
            "unknown key run.gamse; did you mean run.games?",
        ),
        (["train", "quick", "--set", "run.games=x"], 'run.games = "x": expected an integer of at least 1'),
        (
            ["train", "quick", "--set", "run.games=1", "board.size=4"],
            "board.size = 4: expected an integer from 5",
        ),
        (["train", "quick", "--set", "run.games=1", "--set", "x"], "--set x: expected section.key=value"),
        (["train", "--set", "a=b", "quick"], "unknown key a"),
        (["train", "--resume", "r", "--out", "o"], "--out cannot be combined with --resume"),
        (["train", "quick", "paper"], "got unexpected extra argument(s) (paper)"),
        (["train", "quick", "--out", ""], '--out "": expected the path of a folder'),
        (["train", "quick", "--set", "board.komi=inf"], "board.komi = inf: expected a number"),
        (["weights"], "missing command (see rlgo weights --help)"),
        (["weights", "show", "f", "--top", "0"], "--top 0: expected an integer from 1 to 1,000"),
        (["gtp", "--all-alive", "--early-pass"], "--early-pass cannot be combined with --all-alive"),
        (["gtp", "--strength", "3", "--player", "greedy"], "--strength cannot be combined with --player greedy"),
        (["play", "--strength", "3", "--player", "rlgo,sims=9"], "cannot be combined with --player rlgo,sims=9"),
        (["gtp", "--strength", "11"], "player rlgo: strength = 11: expected an integer from 1 to 10"),
        (["web", "--strength", "x"], "--strength x: expected an integer (see rlgo web --help)"),
        (["gtp", "--player", "random", "--size", "20"], "--size 20: expected an integer from 5 to 19"),
        (["gtp", "--player", "random", "--komi", "inf"], "--komi inf: expected a number"),
        (["match", "random", "random"], "missing --games (see rlgo match --help)"),
        (["match", "random", "random", "--games", "0"], "--games 0: expected an even number from 2 to"),
        (["match", "random", "random", "--games", "x"], "--games x: expected an even number from 2 to"),
        (["match", "random", "random", "--games", "1.5"], "--games 1.5: expected an even number from 2 to"),
        (["match", "random", "random", "--games", "1e400"], "--games 1e400: expected an even number from 2 to"),
        (["match", "random", "random", "--games", "2", "--komi", "x"], "--komi x: expected a number"),
        (["match", "random", "random", "--games"], "--games' requires an argument"),
        (["play", "--color", "red"], '--color red: expected one of "black", "white" (see rlgo play --help)'),
        (["gtp", "--size", "9.5"], "--size 9.5: expected an integer from 5 to 19 (see rlgo gtp --help)"),
        (["match", "random", "random", "--games", "2", "--seed", "-1"], "--seed -1: expected an integer"),
        (["match", "random", "random", "--games", "2", "--size", "4"], "--size 4: expected an integer"),
        (["match", "random", "random", "--games=3"], "--games 3: expected an even number"),
        (
            ["match", "random", "random", "--games", "2", "--openings", "random:1000"],
            "--openings random:1000: expected at most 40 moves on 9x9, half its points",
        ),
        (
            ["match", "random", "random", "--games", "2", "--max-moves", "4"],
            "--max-moves 4: expected more than the 4 moves of the opening",
        ),
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
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"rlgo: error: .*\n", err)
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_what_is_read_is_checked_before_where_it_is_written(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """Else the advice would be to overwrite a file that may be the wrong argument itself."""
    monkeypatch.chdir(tmp_path)
    for name, argv in (("tour.w", ["weights", "export", "tour"]), ("tour.npz", ["weights", "import", "tour.npz"])):
        (tmp_path / name).write_bytes(b"?")
        assert main(argv) == 2
        assert "--force" not in capsys.readouterr().err


@pytest.mark.process
def test_bad_input_through_a_real_process(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[learning]\nalhpa = 0.1\n", "utf-8")
    done = python("-m", "rlgo", "train", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"rlgo: error: {path}: unknown key learning.alhpa; did you mean learning.alpha?\n")


# ---------------------------------------------------------------------------------------------
# What handlers may raise
# ---------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="closes a pipe as POSIX does")
def test_a_closed_pipe_is_quiet() -> None:
    code = (
        "import sys, train.bench.table\n"
        "from train.cli.main import main\n"
        "train.bench.table.main = lambda **_: print('x\\n' * 100_000)\n"
        "sys.exit(main(['bench']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="closes a pipe as POSIX does")
@pytest.mark.parametrize("player", ["random", "mc,sims=10"])
def test_a_client_of_queries_that_is_gone_is_no_bug(player: str) -> None:
    """Whether a thread that reads or one that searches notices it; a query that cannot be read is answered, too."""
    query = {"id": "a", "boardXSize": 5, "maxVisits": 10**9, "reportDuringSearchEvery": 0.01}
    line = b"\xff\n" if player == "random" else json.dumps(query).encode() + b"\n"
    with subprocess.Popen(
        [sys.executable, "-m", "rlgo", "gtp", "--queries", "--player", player],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(line)
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        if player == "random":
            process.stdin.write(line)
            process.stdin.flush()
        assert b"Traceback" not in process.stderr.read()  # until it ends, with its input still open
        assert process.wait() == 141


# ---------------------------------------------------------------------------------------------
# Help and completion
# ---------------------------------------------------------------------------------------------

PINNED = json.loads(Path(__file__).with_name("command_line.json").read_text("utf-8"))
GROUPS = sorted({"rlgo", *(command.rpartition(" ")[0] for command in PINNED)})


def parameters(command: str) -> dict[str, Any]:
    """What a command takes, in the form of command_line.json."""
    parser: Any = typer.main.get_command(app)
    for name in command.split()[1:]:
        parser = parser.commands[name]
    found = {}
    for p in parser.params:
        name = p.metavar if p.param_type_name == "argument" else " ".join(sorted(p.opts, key=len))
        if p.nargs == -1 or p.multiple:
            found[name] = "many"
        elif p.param_type_name == "option" and p.is_flag:
            found[name] = "flag"
        else:
            found[name] = "required" if p.required else str(p.default) if isinstance(p.default, Path) else p.default
    return found


def test_one_command_is_made_without_the_others() -> None:
    whole: Any = typer.main.get_command(app)
    for name, command in whole.commands.items():
        alone: Any = typer.main.get_command(_app_for([name, "--help"]))
        assert name in alone.commands
        assert len(alone.commands) < 10
        texts = [c.get_help(typer.Context(c, info_name=name)) for c in (command, alone.commands[name])]
        assert texts[0] == texts[1]
        assert [p.opts for p in alone.commands[name].params] == [p.opts for p in command.params]
    for argv in ([], ["--help"], ["nonsense"]):
        assert _app_for(argv) is app


@pytest.mark.parametrize("command", PINNED)
def test_commands_and_options_stay(command: str) -> None:
    """What command_line.json lists worked once, and people have scripts: it goes on working, with the same defaults."""
    found = parameters(command)
    assert {name: found.get(name, "missing") for name in PINNED[command]} == PINNED[command]


@pytest.mark.parametrize("command", [*PINNED, *GROUPS])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_fits_80_columns(command: str, option: str, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([*command.split()[1:], option]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"Usage: {command} ")
    assert err == ""
    assert max(map(len, out.splitlines())) <= 80
    assert not re.search(r"\w\.\.\.$", out, re.MULTILINE), "the summary of a command is too long for the list"


def test_version(capsys: Any) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"rlgo {version()}\n", "")


def complete(line: str, monkeypatch: Any, capsys: Any) -> list[str]:
    """What bash is offered behind a command line."""
    words = line.split(" ")
    monkeypatch.setenv("_RLGO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    assert main([]) == 0
    return capsys.readouterr().out.split()


def test_completion_offers_commands_options_and_choices(monkeypatch: Any, capsys: Any) -> None:
    assert complete("rlgo tr", monkeypatch, capsys) == ["train"]
    assert complete("rlgo weights ", monkeypatch, capsys) == ["info", "show", "import", "export", "convert", "diff"]
    assert "--openings" in complete("rlgo match a b --o", monkeypatch, capsys)
    assert complete("rlgo play --color w", monkeypatch, capsys) == ["white"]
    assert complete("rlgo match dy", monkeypatch, capsys) == ["dyna2"]
    assert complete("rlgo gtp --player ran", monkeypatch, capsys) == ["random"]
    assert complete("rlgo train qu", monkeypatch, capsys) == ["quick"]
    assert complete("rlgo sweep s", monkeypatch, capsys) == ["step_size"]
    assert complete("rlgo experiment run al", monkeypatch, capsys) == ["alphabeta_depth", "all"]


def test_completion_can_be_shown(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    monkeypatch.setenv("SHELL", "/bin/bash")
    status = main(["--show-completion", "bash"])
    assert (status, "_RLGO_COMPLETE=complete_bash" in capsys.readouterr().out) == (0, True)
