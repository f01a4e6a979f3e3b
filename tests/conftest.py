"""Fixtures that several test files share."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from gnugo_program import find_gnugo
from hypothesis import settings

from rlgo.go.game import Game

# Shells start what runs in the background with Ctrl-C ignored, and that is inherited: tests of Ctrl-C need it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# There is a process of tests for each core already.
os.environ.setdefault("RLGO_COMPILE_AHEAD", "0")

# JAX takes ten times as long to optimise a network as the tests take to train it, and each plan compiles its own step.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".cache" / "jax-of-tests"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# The same examples in each run, and no limit to the time that a busy machine takes for one.
settings.register_profile("rlgo", deadline=None, derandomize=True)
settings.load_profile("rlgo")


TESTS = Path(__file__).parent
# What `make test` leaves to `make test-more`: these files and folders, most of which compile kernels that no other test
# uses, and besides, whatever needs another program; and outside of rlgo and mcts, what is slow or starts processes.
MORE = {
    "mcts/outside/test_evaluator.py": "a search for each kind of answer",
    "mcts/policies/test_gumbel.py": "JAX, and mctx",
    "mcts/priors/test_pattern_prior.py": "searches with patterns",
    "mcts/test_judge.py::test_all_positions": "searches to the end of games",
    "rlgo/learning/test_fast_games.py": "games in compiled code, by two players",
    "rlgo/features/test_other_windows.py": "kernels of irregular windows, each used once",
    "rlgo/features/test_windows.py::test_classes_of_other_windows": "the same",
    "rlgo/search/test_other_windows_in_search.py": "the same, in each search",
    "test_docs.py::test_notebook_runs": "a kernel of Jupyter for each",
    "test_examples.py": "each in a folder of its own",
    "train/arena/test_make_openings.py": "games, and their judges",
    "train/bench": "one of everything",
    "train/experiments/test_games.py": "matches",
    "train/experiments/test_report.py": "all shipped results, again and again",
    "train/experiments/test_experiment_run.py": "whole experiments",
    "train/network": "JAX, which takes long to compile each network",
    "train/play/test_gtp_players.py": "each player on boards of several sizes",
    "train/play/test_terminal.py": "games in a terminal, with players of their own",
    "train/players/test_levels.py::test_every_level_plays": "the kernels of all levels",
    "train/players/test_tree_keys.py::test_the_engine": "a search with a network",
    "train/runs/test_evaluate.py": "matches",
    "train/runs/test_history.py": "runs and their checkpoints",
    "train/runs/test_monitor.py": "runs with all pictures",
    "train/runs/test_run.py": "whole runs",
    "train/runs/test_strength.py": "a match after each training run",
}
PROGRAMS = {"gnugo", "ray", "browser"}


def is_for_more(item: pytest.Item) -> bool:
    """Whether `make test` leaves a test to `make test-more`."""
    name = item.nodeid.removeprefix("tests/")
    marks = {mark.name for mark in item.iter_markers()}
    is_core = name.startswith(("rlgo/", "mcts/"))
    return bool(marks & PROGRAMS or (not is_core and marks & {"slow", "process"})) or name.startswith(tuple(MORE))


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the programs that they need and by the command that runs them, and order them.

    Tests that fork this process come first, while it has no other threads, and Ray's, which leave some, last.

    The documents, which take as long as Ray, are tested beside it: no process is left without work.
    """
    for item in items:
        for program in PROGRAMS & set(getattr(item, "fixturenames", ())):
            item.add_marker(program)
        if is_for_more(item):
            item.add_marker("more")
    order = {"test_resume.py": 0, "test_stress.py": 0, "test_docs.py": 2, "test_workers.py": 2}
    # JAX starts threads, and Ray's processes are forked.
    order |= {"test_network_training.py": 3, "test_network_rounds.py": 3}
    items.sort(key=lambda item: order.get(item.path.name, 1))


def not_installed(what: str) -> NoReturn:
    """Skip a test that needs a program; with RLGO_TESTS=all, as in .ci/run, it fails."""
    end = pytest.fail if os.environ.get("RLGO_TESTS") == "all" else pytest.skip
    end(f"{what} is not installed")


@pytest.fixture(scope="session", autouse=True)
def rules() -> None:
    """Compile the rules of the usual boards before any test looks at what is written to stderr."""
    for size in (5, 9):
        Game(size)


class _Blank:
    """Stands in for a figure of matplotlib."""

    dpi = 100

    def get_size_inches(self) -> tuple[int, int]:
        return 1, 1

    def savefig(self, file: Any, **_: str) -> None:
        file.write(b"a picture")


@pytest.fixture(scope="module", autouse=True)
def blank_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs log blank pictures, and none in the processes of a fleet: drawing takes nine tenths of a short run."""
    if "train.runs.monitor" not in sys.modules or request.path.name == "test_monitor.py":
        yield  # nobody trains here, or with real pictures
        return
    from train.runs import fleet, monitor

    no_pictures = "import train.runs.monitor as monitor; monitor._can_draw = lambda: False; "
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(monitor, "values_figure", lambda *_: _Blank())
        patch.setattr(monitor, "shapes_figure", lambda *_: _Blank())
        patch.setattr(fleet, "_START", fleet._START.replace("runpy.run_module", f"{no_pictures}runpy.run_module"))
        yield


@pytest.fixture(scope="session")
def gnugo() -> str:
    """The path of GNU Go."""
    return find_gnugo() or not_installed("GNU Go (Debian package gnugo)")


@pytest.fixture(scope="module")
def sources():
    """For tests that train in their own processes: these find the sources too, installed or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parent.parent))
        yield


@pytest.fixture(scope="module")
def browser():
    """Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        not_installed("Chromium (Debian package chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
