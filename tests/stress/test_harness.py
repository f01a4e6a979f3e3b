"""The framework of all stress tests."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import ROOT, Outcome, StressTest, main


def dice(draw: random.Random) -> Iterator[Outcome]:
    while True:
        eyes = draw.randrange(6)
        yield Outcome("high" if eyes > 2 else "low", figures={"eyes": eyes})


def stress_test(trials: object = dice) -> StressTest:
    return StressTest("dice", "throwing dice", "a number", unit="throws", count=10, trials=trials)  # type: ignore[arg-type]


def test_a_stress_test_leaves_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dice.json"
    assert main(stress_test(), ["--count", "6", "--seed", "3", "--json", str(path)]) == 0
    record = json.loads(path.read_text("utf-8"))
    assert (record["count"], record["wanted"], record["failures"], record["seeds"]) == (6, 10, 0, [3])
    assert sum(record["outcomes"].values()) == 6
    assert set(record["figures"]) == {"eyes"}
    assert "dice: 6 throws, 0 failures" in capsys.readouterr().out


def test_more_trials_are_added_to_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dice.json"
    for seed in ("3", "4"):
        assert main(stress_test(), ["--count", "6", "--seed", seed, "--json", str(path)]) == 0
    record = json.loads(path.read_text("utf-8"))
    assert (record["count"], record["seeds"], sum(record["outcomes"].values())) == (12, [3, 4], 12)
    assert main(stress_test(), ["--count", "6", "--seed", "3", "--json", str(path)]) == 2
    assert "seed 3 is counted there" in capsys.readouterr().err


def test_a_broken_promise_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def trials(draw: random.Random) -> Iterator[Outcome]:
        yield Outcome("fell off the table", failure="throw 1", n=2)
        yield from dice(draw)

    path = tmp_path / "dice.json"
    assert main(stress_test(trials), ["--json", str(path)]) == 1
    record = json.loads(path.read_text("utf-8"))
    assert (record["count"], record["failures"], record["described"]) == (10, 1, ["throw 1"])
    assert "fell off the table: throw 1" in capsys.readouterr().err


def test_records_are_those_of_todays_stress_tests() -> None:
    """A record that says what it tried, and nothing else, belongs to each stress test."""
    here = Path(__file__).parent
    names = [path.stem for path in here.glob("*.py") if "\nSTRESS_TEST = " in path.read_text("utf-8")]
    tests = {name: importlib.import_module(name).STRESS_TEST for name in names}
    records = {path.stem: json.loads(path.read_text("utf-8")) for path in (ROOT / "results" / "stress").glob("*.json")}
    assert {*tests} == {*records}
    for name, record in records.items():
        assert (record["subject"], record["promise"]) == (tests[name].subject, tests[name].promise), name
