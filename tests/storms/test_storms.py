"""A few trials of every storm."""

from __future__ import annotations

import importlib
from pathlib import Path

import storm
import pytest

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if "\nSTORM = " in path.read_text("utf-8"))
TRIALS: dict[str, int] = {"flipped_bits": 700, "full_disk": 20}  # more than one where a single trial says little


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_a_few_trials(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(name)
    monkeypatch.setattr(module, "MINUTE", 1.0, raising=False)
    found = module.STORM
    assert found.name == name
    assert storm.run(found, TRIALS.get(name, 1), seed=1, progress=False).failures == []
