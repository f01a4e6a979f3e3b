"""`rlgo train` on the command line: what --set takes, and what it leaves alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rlgo.base.resources import config_path
from train.cli.main import main
from train.config import Config


@pytest.fixture
def loaded(monkeypatch: Any) -> list[tuple[str, list[str]]]:
    """Configs and settings that `rlgo train` asked for; none of them is trained."""
    asked: list[tuple[str, list[str]]] = []

    def load_config(name: str, settings: Iterable[str]) -> Config:
        asked.append((name, list(settings)))
        return Config()

    monkeypatch.setattr("train.config.load_config", load_config)
    monkeypatch.setattr("train.runs.run.run", lambda config: None)  # noqa: ARG005, called with a keyword or without
    return asked


A, B, C = "run.games=1_000", "board.size=5", "learning.alpha=0.2"


@pytest.mark.parametrize(
    ("argv", "settings"),
    [
        (["quick"], []),
        (["quick", "--set", A], [A]),
        (["quick", "--set", A, B, C], [A, B, C]),
        (["quick", "--set", A, "--set", B, C], [A, B, C]),
        (["quick", f"--set={A}", B], [A, B]),
        (["--set", A, "quick"], [A]),
        (["--set", A, B, "quick", "--set", C], [A, B, C]),
        (["--set", A, "--", "quick"], [A]),
        (["--set", "features.sizes = [1, 2]", "quick"], ["features.sizes = [1, 2]"]),
        (["quick", "--set", A, "features.sizes = [1, 2]"], [A, "features.sizes = [1, 2]"]),
    ],
    ids=" ".join,
)
def test_set_takes_settings_and_leaves_the_config(
    argv: list[str], settings: list[str], loaded: list[tuple[str, list[str]]]
) -> None:
    assert main(["train", *argv]) == 0
    assert loaded == [("quick", settings)]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["quick", A], "got unexpected extra argument(s) (run.games=1_000); settings follow --set"),
        (["step.toml"], "step.toml: expected a training run, found a table [sweep] (see rlgo sweep --help)"),
    ],
    ids=str,
)
def test_likely_mistakes_get_a_hint(
    argv: list[str], message: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    shutil.copy(config_path("step_size", "sweeps"), tmp_path / "step.toml")
    monkeypatch.chdir(tmp_path)
    assert main(["train", *argv]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"rlgo: error: {message}")
    assert err.count("\n") == 1


def test_a_path_with_an_equals_sign_is_a_config(loaded: list[tuple[str, list[str]]]) -> None:
    assert main(["train", "--set", A, "sweeps/alpha=0.2/config.toml"]) == 0
    assert loaded == [("sweeps/alpha=0.2/config.toml", [A])]
