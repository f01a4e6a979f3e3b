"""Equal time: the search for a number of simulations, its record, and what a match says of time."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rlgo.base.errors import RlgoError
from train.arena import equal_time, match
from train.arena.equal_time import FIRST, EqualTime, check_equal_time, find_equal_time
from train.arena.match import MatchResult, play_match
from train.arena.openings import find_openings
from train.arena.pool import GameTask
from train.arena.referee import GameRecord, GameRules
from train.cli.main import main

RULES = GameRules(5, 7.5, 75)
FIVE: dict[str, Any] = {"size": 5, "komi": 2.5, "progress": False}


class Clocked:
    """A pool in which A takes 3 s a game, and B a hundredth of a second for each simulation."""

    def __init__(self) -> None:
        self.tasks: list[GameTask] = []

    def result(self, task: GameTask) -> GameRecord:
        self.tasks.append(task)
        seconds = [3.0 if spec == "a" else int(spec.rpartition("=")[2]) / 100 for spec in (task.black, task.white)]
        return GameRecord((), 1.0, "B+1", seconds=(seconds[0], seconds[1]))

    def close(self) -> None:
        pass


def test_simulations_are_found_that_take_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: 200 simulations take 2 s and A 3 s, so the next try is 300, which fits."""
    pool = Clocked()
    monkeypatch.setattr(equal_time, "InProcess", lambda: pool)
    found = find_equal_time("a", "b", find_openings("random:2", 5, 7.5), RULES, 1, progress=False)
    assert found == EqualTime("b,simulations=300", 300, 1.0, 4)
    assert [(task.black, task.white) for task in pool.tasks[:2]] == [
        ("a", f"b,simulations={FIRST}"),
        (f"b,simulations={FIRST}", "a"),
    ]
    assert pool.tasks[0].opening == pool.tasks[1].opening != pool.tasks[2].opening


def test_the_calibration_begins_with_other_openings(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Clocked()
    monkeypatch.setattr(equal_time, "InProcess", lambda: pool)
    find_equal_time("a", "b", find_openings("balanced", 9, 7.5), RULES, 1, progress=False)
    tuning = find_openings("balanced-tuning", 9, 7.5)
    assert pool.tasks[0].opening in tuning.first(6, 2)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("random", "mc_rave,sims=10", "finds the simulations of mc_rave,sims=10: expected a spec without simulations"),
        ("random", "rlgo,strength=3", "expected a spec without simulations"),
        ("random", "gtp:engine", "expected a player with simulations, not an engine"),
        ("random", "greedy", "simulations"),
        ("random", object(), "expected player specs"),
    ],
)
def test_players_without_a_number_to_find(a: Any, b: Any, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        check_equal_time(a, b)


def test_a_match_keeps_the_simulations_that_were_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a continued one takes them from its file, without a new calibration."""
    out, games = tmp_path / "out.json", tmp_path / "games.jsonl"
    argv = ["match", "uct,sims=60", "mc_rave", "--size", "5", "--equal-time", "--results", str(games)]
    assert main([*argv, "--games", "2", "--json", str(out)]) == 0
    first = json.loads(out.read_text())
    assert first["equal_time"]["simulations"] == int(first["b"].rpartition("=")[2])
    assert "equal time: with 200 simulations of mc_rave, uct,sims=60 thinks" in capsys.readouterr().err
    assert main([*argv, "--games", "4", "--json", str(out)]) == 0
    assert json.loads(out.read_text())["b"] == first["b"]
    assert "equal time: with" not in capsys.readouterr().err
    with pytest.raises(RlgoError, match="results of other games: expected some at equal time"):
        play_match("uct,sims=60", "rave", 2, equal_time=True, results=games, **FIVE)


def test_simulations_follow_an_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whichever side the engine is on; a match goes on with the number that it began with."""
    engine = f"gtp:{sys.executable} -m rlgo gtp --player random,seed=1 --size 5"
    monkeypatch.setattr(match, "find_equal_time", lambda _, b, *__, **___: EqualTime(f"{b},simulations=3", 3, 1.0, 2))
    for i, (a, b) in enumerate([("mc_rave", engine), (engine, "mc_rave")]):
        file = tmp_path / f"{i}.jsonl"
        for games in (2, 4):
            result = match.play_match(a, b, games, equal_time=True, results=file, **FIVE)
        assert (result.a, result.b) == tuple("mc_rave,simulations=3" if p == "mc_rave" else p for p in (a, b))
    with pytest.raises(RlgoError, match="expected a player with simulations, not an engine"):
        match.play_match(engine, engine, 2, equal_time=True, **FIVE)


def test_equal_time_needs_one_core() -> None:
    with pytest.raises(RlgoError, match="equal_time cannot be combined with jobs or a cluster"):
        play_match("random", "mc_rave", 2, equal_time=True, jobs=2, **FIVE)


# ---------------------------------------------------------------------------------------------
# What a match says
# ---------------------------------------------------------------------------------------------


def result_with(**changes: Any) -> MatchResult:
    return dataclasses.replace(play_match("random", "random", 2, **FIVE), **changes)


@pytest.mark.parametrize(
    ("seconds", "same_limit", "is_unequal"),
    [((1.05, 1.0), True, False), ((1.2, 1.0), True, True), ((1.0, 1.2), True, True), ((1.2, 1.0), False, False)],
)
def test_unequal_times_are_reported(seconds: tuple[float, float], same_limit: bool, is_unequal: bool) -> None:
    result = result_with(seconds=seconds, same_limit=same_limit)
    assert result.is_unequal is is_unequal
    assert ("WARNING: the sides were to have equal time" in str(result)) is is_unequal
    assert f"ratio {seconds[0] / seconds[1]:.2f}" in str(result)


def test_pairs_are_counted() -> None:
    result = result_with(scores=[[1, 1], [1, 0], [0, 1], [0.5, 0.5], [0, 0], [1, 0.5]])
    assert result.pairs == (2, 3, 1)
    assert "pairs of games: A won both in 2, each side one in 3, B both in 1" in str(result)


def test_the_simulations_made_are_reported() -> None:
    """Fewer than the limit, once nothing can change the move; and none of a player without simulations."""
    result = play_match("mc_rave,sims=100", "random", 2, **FIVE)
    a, b = result.simulations
    assert 20 < a <= 100
    assert b == 0
    assert f"simulations a move: {a:,.0f}" in str(result)


def test_limits_in_seconds_are_meant_to_be_equal() -> None:
    def same(a: str, b: str) -> bool:
        return play_match(a, b, 2, max_moves=6, **FIVE).same_limit

    assert same("mc_rave,seconds=0.01", "uct,seconds=0.01")
    assert not same("mc_rave,seconds=0.01", "uct,seconds=0.02")
    assert not same("mc_rave,sims=8", "uct,sims=8")
