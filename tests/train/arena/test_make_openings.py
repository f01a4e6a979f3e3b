"""Making openings: the band, and resuming."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from train.arena.make_openings import OpeningsPlan, make_openings
from train.arena.openings import position_key, read_openings
from train.cli.main import main

PLAN = OpeningsPlan("mc_rave,sims=40", 6, size=5, komi=7.5, plies=2, low=0.2, high=0.8, seed=3)


def test_openings_are_in_the_band_and_different(tmp_path: Path) -> None:
    out = tmp_path / "own.jsonl"
    assert make_openings(PLAN, out, progress=False) == 6
    found = read_openings(out, 5)
    assert all(0.2 <= opening.chance <= 0.8 for opening in found)
    assert all(opening.value == opening.chance for opening in found)  # this judge has no calibration
    assert len({position_key(opening.moves, 5) for opening in found}) == 6
    assert all(len(opening.moves) == 2 for opening in found)
    numbers = [opening.number for opening in found]
    assert numbers == sorted(set(numbers))


def test_a_file_is_continued(tmp_path: Path) -> None:
    """Also after its last line was cut off: as if it had been made at once."""
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    make_openings(PLAN, whole, progress=False)
    assert make_openings(PLAN._replace(total=3), parts, progress=False) == 3
    parts.write_bytes(parts.read_bytes()[:-9])
    assert make_openings(PLAN, parts, progress=False) == 4
    assert parts.read_bytes() == whole.read_bytes()
    with pytest.raises(RlgoError, match="other openings: seed is 3, not 4; move the file away"):
        make_openings(PLAN._replace(seed=4), parts, progress=False)


def test_openings_of_other_files_do_not_come_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    make_openings(PLAN, first, progress=False)
    make_openings(PLAN, second, [first], progress=False)
    keys = [position_key(opening.moves, 5) for path in (first, second) for opening in read_openings(path, 5)]
    assert len(set(keys)) == 12


def test_moves_stay_off_the_edge(tmp_path: Path) -> None:
    out = tmp_path / "own.jsonl"
    make_openings(PLAN, out, progress=False)
    for opening in read_openings(out, 5):
        assert all(2 <= p // 6 <= 4 and 2 <= p % 6 <= 4 for p in opening.moves)  # points of the padded 5x5 board


def test_a_player_without_values_cannot_judge(tmp_path: Path) -> None:
    with pytest.raises(RlgoError, match="player random: has no values: expected one that can judge"):
        make_openings(PLAN._replace(judge="random"), tmp_path / "own.jsonl", progress=False)


def test_a_band_that_nothing_falls_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.arena.make_openings._MOST_REJECTED", 20)
    with pytest.raises(RlgoError, match="none of 20 candidates in a row was kept: expected a wider band"):
        make_openings(PLAN._replace(judge="mc_rave,sims=2", low=0.4, high=0.41), tmp_path / "own.jsonl", progress=False)


def test_bad_plans() -> None:
    with pytest.raises(RlgoError, match=r"band = 0\.8-0\.8: expected a lower and a higher chance"):
        validated(PLAN._replace(low=0.8))
    with pytest.raises(RlgoError, match="plies = 7: expected at most 6 on 5x5"):
        validated(PLAN._replace(plies=7))
    with pytest.raises(RlgoError, match="line = 3: expected at most 2 on 5x5"):
        validated(PLAN._replace(line=3))


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "own.jsonl")
    argv = ["openings", "make", "-o", out, "--count", "2", "--size", "5", "--plies", "2", "--judge", "mc_rave,sims=40"]
    assert main([*argv, "--band", "0.1-0.9"]) == 0
    assert "2 new openings, 2 in all" in capsys.readouterr().out
    assert main(["match", "random", "random", "--games", "4", "--size", "5", "--openings", out]) == 0
    assert f"openings: {out}" in capsys.readouterr().out
    missing = str(tmp_path / "missing")
    assert main([*argv[:3], str(tmp_path / "new"), *argv[4:], "--exclude", missing]) == 2
    err = capsys.readouterr().err
    assert f"{missing}: cannot be read: No such file" in err
    assert main([*argv, "--band", "0.9-0.1"]) == 2
    assert "expected two chances with a hyphen between them: 0.3-0.7" in capsys.readouterr().err
