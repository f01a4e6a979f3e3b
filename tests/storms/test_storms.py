"""A few trials of every storm."""

from __future__ import annotations

import importlib
from pathlib import Path

import storm
import pytest

NAMES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem != "storm" and not path.stem.startswith("test_")
)
TRIALS: dict[str, int] = {"flipped_bits": 700, "full_disk": 20}  # more than one where a single trial says little


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_a_few_trials(name: str) -> None:
    found = importlib.import_module(name).STORM
    assert found.name == name
    assert storm.run(found, TRIALS.get(name, 1), seed=1, progress=False).failures == []
