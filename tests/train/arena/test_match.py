"""Matches: openings, results, records, sequential tests, Ctrl-C, and external engines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stand_ins import ENGINE, Scripted, first_legal, games_of, is_running, passer, write_engine

from rlgo.base.errors import RlgoError
from rlgo.go.board import PASS
from rlgo.go.clock import TimeSettings
from rlgo.go.game import Game
from rlgo.go.sgf import read_sgf
from rlgo.learning.fast_games import joined
from train.arena.fast import play_weights
from train.arena.match import play_match
from train.arena.sprt import Sprt

FIVE: dict[str, Any] = {"size": 5, "komi": 2.5, "progress": False}

KEYS = """games distinct wins win_rate ci95 seed size komi a b black_wins capped forfeits draws mean_length
openings versions interrupted""".split()  # noqa: SIM905 - a list of strings would not fit


def test_the_result_has_all_its_keys() -> None:
    result = play_match("random,seed=1", "random", 10, size=5, komi=2.5, seed=3)
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(KEYS) <= set(data)
    assert (data["games"], data["seed"], data["size"], data["komi"]) == (10, 3, 5, 2.5)
    assert (data["a"], data["b"], data["openings"]) == ("random,seed=1", "random", "random:4")
    assert data["win_rate"] == data["wins"] / 10
    assert 0 <= data["ci95"][0] <= data["win_rate"] <= data["ci95"][1] <= 1
    assert {"rlgo", "python", "numpy", "numba"} <= set(data["versions"])
    assert data["interrupted"] is False
    assert f"{100 * result.win_rate:.1f} % (95 % interval " in str(result)


def test_progress_is_shown_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    result = play_match("random", "random", 10, size=5)
    out, err = capsys.readouterr()
    assert out == ""
    assert "10/10" in err
    assert f"won {100 * result.win_rate:.1f} % (" in err
    play_match("random", "random", 2, size=5, progress=False)
    assert capsys.readouterr() == ("", "")


def test_a_seed_fixes_a_match() -> None:
    first, again, other = (play_match("random", "random", 12, size=5, seed=seed).to_json() for seed in (1, 1, 2))
    assert len(first["seconds"]) == 2
    assert {**first, "seconds": None} == {**again, "seconds": None}  # all but the time it took
    assert first["mean_length"] != other["mean_length"]


def test_every_opening_is_played_with_both_colours() -> None:
    a, b = passer("a"), passer("b")
    result = play_match(a, b, 20, size=9, seed=5)
    assert len(a.games) == len(b.games) == 20
    openings = [seen[:4] for seen in a.games]
    assert openings[::2] == openings[1::2]
    assert len({tuple(opening) for opening in openings}) == 10
    # A is Black, and first to move, in the even games: B then saw A's pass.
    assert {len(seen) for seen in a.games[::2] + b.games[1::2]} == {4}
    assert {len(seen) for seen in a.games[1::2] + b.games[::2]} == {5}
    assert (result.mean_length, result.distinct) == (6, 10)
    # The same position, won once by each.
    assert result.wins == 10
    assert result.black_wins in range(0, 21, 2)
    longer = passer("a")
    play_match(longer, b, 30, size=9, seed=5)
    assert [seen[:4] for seen in longer.games[:20]] == openings


def test_a_match_without_its_first_openings_is_the_end_of_the_whole_one(tmp_path: Path) -> None:
    """Alone, and with games of the whole match in its file, which stay there and are not counted."""
    arguments = {"games": 8, "size": 5, "openings": "random:3", "progress": False}
    whole = play_match("random", "random,seed=3", **arguments)
    end = play_match("random", "random,seed=3", **arguments, skip=2)
    assert end.scores == whole.scores[2:]
    assert end.games == 4
    path = tmp_path / "games.jsonl"
    play_match("random", "random,seed=3", **{**arguments, "games": 2}, results=path)
    assert play_match("random", "random,seed=3", **arguments, skip=2, results=path) == end
    assert len(path.read_text("utf-8").splitlines()) == 1 + 2 + 4
    assert play_match("random", "random,seed=3", **arguments, results=path) == whole


def test_a_test_begins_with_the_first_opening_that_is_played() -> None:
    arguments = {"size": 5, "sprt": Sprt(0, 400), "seed": 2, "progress": False}
    won = play_match("mc_rave,sims=60", "random", 60, skip=10, **arguments)
    assert won.verdict is not None
    assert won.verdict.accepted
    assert won.verdict.openings == won.games // 2 < 20


def test_games_after_the_end_of_a_test_do_not_count(tmp_path: Path) -> None:
    """Those of other processes, for instance, which finish games of later openings."""
    arguments: dict[str, Any] = {"size": 5, "seed": 2, "progress": False}
    test = play_match("mc_rave,sims=60", "random", 60, sprt=Sprt(0, 400), **arguments)
    play_match("mc_rave,sims=60", "random", 60, results=tmp_path / "all.jsonl", **arguments)
    late = play_match("mc_rave,sims=60", "random", 60, sprt=Sprt(0, 400), results=tmp_path / "all.jsonl", **arguments)
    assert test.verdict is not None
    assert late.games == test.games == 2 * test.verdict.openings < 60
    assert (late.verdict, late.scores) == (test.verdict, test.scores)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"games": 3}, "games = 3: expected an even number"),
        ({"games": 0}, "games = 0"),
        ({"games": -2}, "games = -2"),
        ({"games": 2, "size": 4}, "size = 4: expected an integer from 5 to 19"),
        ({"games": 2, "openings": "random:-1"}, "openings = 'random:-1'"),
        ({"games": 2, "max_moves": 0}, "max_moves = 0"),
        ({"games": 8, "skip": 4}, "skip = 4: expected fewer than the 4 openings of the match"),
        ({"games": 2, "skip": -1}, "skip = -1"),
    ],
)
def test_bad_matches(kwargs: dict, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        play_match("random", "random", **kwargs)


def interrupter(after: int) -> Scripted:
    """Presses Ctrl-C in the middle of the game that comes after this many."""

    def choose(game: Game) -> int:
        if len(player.games) > after and len(game.moves) > 6:
            raise KeyboardInterrupt
        return (game.sensible_moves() or [PASS])[0]

    player = Scripted("interrupter", choose)
    return player


@pytest.mark.parametrize("after", [1, 2, 5])
def test_ctrl_c_keeps_the_games_completed(after: int) -> None:
    whole = play_match(first_legal(), "random", 10, size=5, seed=2)
    result = play_match(interrupter(after), "random", 10, size=5, seed=2)
    assert result.interrupted
    assert not whole.interrupted
    assert result.games == after
    assert "interrupted" in str(result)
    assert 0 <= result.ci95[0] < result.ci95[1] <= 1


@pytest.mark.timeout(100)
def test_a_very_long_match_begins_at_once() -> None:
    """Openings are drawn as they are needed: a billion would take days."""
    assert play_match(interrupter(3), "random", 1_000_000_000, size=5, seed=2).games == 3


def test_ctrl_c_before_the_first_result() -> None:
    with pytest.raises(KeyboardInterrupt):
        play_match(interrupter(0), "random", 10, size=5)


@pytest.mark.process
@pytest.mark.slow
def test_a_match_stops_when_the_test_is_decided(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    arguments: dict[str, Any] = {"a": "open_spiel,sims=64", "b": "random", "games": 400, "sprt": Sprt(0, 100), **FIVE}
    result = play_match(**arguments, results=path)
    assert result.verdict is not None
    assert result.verdict.accepted == "H1"
    assert result.games < 100
    assert result.verdict.openings <= (result.games + 1) // 2
    assert "SPRT elo0=0, elo1=100: more than 0 Elo stronger after" in str(result)
    # Decided already: no further game. And by several processes, the same verdict.
    assert play_match(**arguments, results=path).games == result.games
    assert play_match(**arguments, jobs=3).verdict == result.verdict
    undecided = play_match("random", "random", 2, sprt=Sprt(), **FIVE)
    assert undecided.verdict is not None
    assert "undecided" in str(undecided)


def test_a_fast_match_has_nothing_of_this(tmp_path: Path) -> None:
    for more, named in (
        ({"jobs": 2}, "jobs"),
        ({"results": tmp_path / "x"}, "results"),
        ({"sprt": Sprt(), "skip": 1, "games": 4, "time": TimeSettings(1)}, "time or sprt or skip"),
    ):
        with pytest.raises(RlgoError, match=f"^fast cannot be combined with {named}$"):
            play_match("random", "random", fast=True, **{"games": 2, **FIVE, **more})
    assert not (tmp_path / "x").exists()


# ---------------------------------------------------------------------------------------------
# Records
# ---------------------------------------------------------------------------------------------


def test_a_record_of_every_game(tmp_path: Path) -> None:
    play_match("random", "greedy", 4, sgf=tmp_path / "games", results=tmp_path / "r.jsonl", progress=False)
    paths = sorted((tmp_path / "games").iterdir())
    assert [path.name for path in paths] == [f"game-{n:05}.sgf" for n in (1, 2, 3, 4)]
    for path, recorded in zip(paths, games_of(tmp_path / "r.jsonl"), strict=True):
        game = read_sgf(path.read_bytes())
        assert (game.size, game.komi) == (9, 7.5)
        text = path.read_text("utf-8")
        assert f"RE[{recorded['result']}]" in text
        assert "seed 1" in text
        assert f"PB[{recorded['black']}]" in text
        assert len(game.moves) == len(recorded["moves"].split())
        assert text.count("C[V(s) = 0.") > 20  # what the player thought, before each of its moves


def test_a_match_killed_before_its_first_result_goes_on_with_its_record(tmp_path: Path) -> None:
    folder, results = tmp_path / "games", tmp_path / "r.jsonl"
    play_match("random", "random", 2, sgf=folder, results=results, **FIVE)
    before = results.read_bytes()
    results.write_bytes(before.splitlines(keepends=True)[0])  # the header is all there was
    play_match("random", "random", 2, sgf=folder, results=results, **FIVE)
    assert [game["moves"] for game in games_of(results)] == [
        json.loads(line)["moves"] for line in before.splitlines()[1:]
    ]


def test_records_of_another_match_are_refused_again_and_again(tmp_path: Path) -> None:
    folder, results = tmp_path / "games", tmp_path / "r.jsonl"
    play_match("random", "random", 2, sgf=folder, **FIVE)
    for _ in range(2):
        with pytest.raises(RlgoError, match="games: contains records of other games"):
            play_match("random", "random", 2, seed=2, sgf=folder, results=results, **FIVE)
    assert not results.exists()
    with pytest.raises(RlgoError, match="games: contains records of other games"):  # before games are calibrated
        play_match("nosuch", "nosuch", 2, seed=2, sgf=folder, **FIVE)


# ---------------------------------------------------------------------------------------------
# External engines
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def engine(tmp_path: Path) -> str:
    """A spec without its vertices."""
    return write_engine(tmp_path)


@pytest.mark.process
def test_a_match_with_an_engine(engine: str, log: Path) -> None:
    result = play_match("random", engine, 2, size=5, openings="random:2", seed=1)
    assert (result.games, result.forfeits, result.b) == (2, 0, engine)
    assert result.versions["Fake"] == "0.1"
    lines = log.read_text().splitlines()
    # Tried out first, then started for the match.
    assert lines[:7] == ["name", "version", "boardsize 5", "quit", "name", "version", "boardsize 5"]
    assert lines[7:10] == ["boardsize 5", "clear_board", "komi 7.5"]
    # As White it is sent the opening and Black's move, as Black the opening alone, which is the same.
    games = " ".join(lines).split("clear_board komi 7.5 ")[1:]
    opening = games[1].partition(" genmove black")[0]
    assert opening.count("play") == 2
    assert games[0].startswith(opening + " play black ")
    assert lines[-1] == "quit"


@pytest.mark.process
def test_engines_that_fail_forfeit_and_come_back(engine: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Whenever it starts, it plays one stone and dies.
    result = play_match(engine + "C3 DIE", passer(), 4, size=5, openings="empty", komi=0.5)
    assert (result.games, result.wins, result.forfeits) == (4, 0, 4)
    assert log.read_text().count("genmove") == 8
    assert all("it ended with status 1" in why for why in result.forfeit_reasons)
    assert "killed by a test" in capsys.readouterr().err


@pytest.mark.process
def test_an_engine_that_does_not_come_back_ends_the_match(engine: str, tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text("import os; os.remove(__file__)\n" + ENGINE)
    with pytest.raises(RlgoError, match="it ended with status 2"):
        play_match(engine + "DIE", "random", 4, size=5)


@pytest.mark.process
def test_engines_are_closed_after_a_match(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = []
    popen = subprocess.Popen

    def note(*args, **kwargs) -> subprocess.Popen:
        process = popen(*args, **kwargs)
        pids.append(process.pid)
        return process

    monkeypatch.setattr(subprocess, "Popen", note)
    play_match(engine, engine, 2, size=5)
    with pytest.raises(KeyboardInterrupt):
        play_match(interrupter(0), engine, 2, size=5)
    with pytest.raises(RlgoError):
        play_match(engine, "gtp:true", 2, size=5)
    assert len(pids) == 4 + 2 + 2
    assert not any(is_running(pid) for pid in pids)


def test_the_numbers_of_a_fast_match() -> None:
    """Against the games themselves."""
    match = play_match("random", "random", 40, size=5, komi=0.5, fast=True, max_moves=30, progress=False)
    games = joined(play_weights(None, None, 5, 40, seed=1, komi=0.5, max_moves=30))
    lengths = games.lengths.ravel()
    assert 0 < match.capped == sum(n < 0 for n in lengths) < 40
    assert match.mean_length == pytest.approx(sum(abs(n) for n in lengths) / 40)
    assert match.black_wins == sum(a for a, _ in match.scores) + sum(1 - b for _, b in match.scores)
