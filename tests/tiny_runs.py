"""Training runs of a few hundred games on 5x5, which tests start, interrupt and read."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from rlgo.learning.learner import Learner
from train.checksums import verify_text
from train.config import Config, config_from_dict

TINY: dict[str, dict[str, Any]] = {
    "run": {"name": "tiny", "games": 300, "log_every": 50, "eval_every": 100, "eval_games": 40},
    "board": {"size": 5, "komi": 0.5},
    "features": {"sizes": [1, 2]},
}
BLOCKS = ["1x1-LI", "1x1-LD", "2x2-LI", "2x2-LD"]


def tiny(out: Path, **sections: Any) -> Config:
    """A config with run folders in `out`; each section is added to `TINY`."""
    data = {name: {**TINY.get(name, {}), **sections.get(name, {})} for name in {*TINY, *sections}}
    data["run"]["out"] = str(out)
    return config_from_dict(data)


def metrics(folder: Path) -> list[dict[str, float]]:
    """The lines of metrics.jsonl."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]


def interrupt(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Press Ctrl-C, once, in the slice that reaches this many games."""
    learn, left = Learner.learn, [at]

    def learn_and_press(self: Learner, games: int) -> Any:
        tally = learn(self, games)
        if left and self.games - games < at <= self.games:
            left.clear()
            os.kill(os.getpid(), signal.SIGINT)
        return tally

    monkeypatch.setattr(Learner, "learn", learn_and_press)


def interrupt_before_the_first_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C twice as soon as the run folder is there."""

    def press(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Learner, "learn", press)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file in a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def edit(config: Path, old: str, new: str) -> None:
    """Edit a run's config as a person would, who also has to remove the checksum."""
    text = verify_text(config.read_text("utf-8"))
    assert old in text
    config.write_text(text.replace(old, new), "utf-8")
