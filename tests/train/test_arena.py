"""Matches in many processes: results that last, killed engines and workers, clocks, sequential tests."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlgo.board import PASS
from rlgo.clock import TimeSettings
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.player import Player, RandomPlayer
from rlgo.sgf import read_sgf
from train.arena.match import is_disputed, play_match
from train.arena.pool import Farm, GameTask, Processes
from train.arena.referee import GameRecord, Rules, play_game
from train.arena.results import open_results
from train.arena.sprt import Sprt, judge, llr, parse_sprt
from train.cli.main import main
from train.players.engines import GtpClient

ROOT = Path(__file__).resolve().parents[2]
FIVE: dict[str, Any] = {"size": 5, "komi": 2.5, "progress": False}

# Our own engine over real pipes.
OURS = f"gtp:'{sys.executable}' -m rlgo gtp --size 5 --all-alive --player random"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def games_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]


# ---------------------------------------------------------------------------------------------
# Processes
# ---------------------------------------------------------------------------------------------


def test_the_result_does_not_depend_on_who_plays_the_games() -> None:
    one = play_match("random", "open_spiel,sims=8", 12, seed=4, **FIVE)
    assert play_match("random", "open_spiel,sims=8", 12, seed=4, jobs=3, **FIVE) == one
    assert play_match("random", "open_spiel,sims=8", 12, seed=5, **FIVE) != one
    # The same for players with a seed of their own, who play a different game each time.
    one = play_match("random,seed=7", "random,seed=7", 8, opening_plies=0, **FIVE)
    assert one.distinct == 8
    assert play_match("random,seed=7", "random,seed=7", 8, opening_plies=0, jobs=2, **FIVE) == one


def test_a_shorter_match_is_the_beginning_of_a_longer_one() -> None:
    long, short = (play_match("random", "open_spiel,sims=8", n, **FIVE).scores for n in (8, 4))
    assert long[:2] == short


def test_players_that_are_objects_play_in_this_process() -> None:
    with pytest.raises(RlgoError, match="expected specs for jobs, or a cluster"):
        play_match(RandomPlayer(1), "random", 2, jobs=2, **FIVE)
    result = play_match(RandomPlayer(1), RandomPlayer(2), 2, **FIVE)
    assert (result.a, result.b) == ("random", "random")


def test_a_player_meets_itself() -> None:
    spec = "".join(["open_spiel", ",sims=4"])
    again = "".join(["open_spiel", ",sims=4"])
    assert spec is not again
    result = play_match(spec, again, 4, **FIVE)
    assert (result.a, result.b, result.forfeits) == (spec, spec, 0)
    assert play_match(spec, again, 4, jobs=2, **FIVE) == result
    mixed = play_match(RandomPlayer(1), "random", 2, **FIVE)
    assert (mixed.a, mixed.b, mixed.forfeits) == ("random", "random", 0)


def task(number: int, black: str = "random", white: str = "random") -> GameTask:
    return GameTask(number, black, white, (), 1, Rules(5, 2.5, 75))


def children() -> list[int]:
    """Processes of this one, by the operating system."""
    pids = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                pids.append(int(entry.name))
    return pids


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_process_that_dies_is_replaced_and_its_game_played_again(capfd: pytest.CaptureFixture[str]) -> None:
    farm = Processes(2)
    try:
        first = dict(pair_numbers(farm, 4))
        os.kill(farm._crew[0][0].pid, signal.SIGKILL)
        again = dict(pair_numbers(farm, 12))
    finally:
        farm.close()
    assert sorted(again) == list(range(1, 13))
    assert {n: again[n] for n in first} == first  # what depends on nothing but the task
    assert "its process died; it is played again" in capfd.readouterr().err


def pair_numbers(farm: Farm, n: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    for done, record in farm.run(task(i) for i in range(1, n + 1)):
        yield done.number, record.moves


class Dying(Farm):
    """Nobody survives game 2."""

    places = 1

    def _begin(self, place: int, task: GameTask) -> GameTask:
        return task

    def _result(self, call: GameTask) -> GameRecord:
        from train.arena.pool import Died

        if call.number == 2:
            raise Died
        return GameRecord((), 1.0, "B+R")

    def _replace(self, place: int) -> None:
        pass


def test_a_game_that_nobody_survives_ends_the_match() -> None:
    done = []
    with pytest.raises(RlgoError, match="game 2: its process died 3 times"):
        for finished, _ in Dying().run(task(i) for i in (1, 2, 3)):
            done.append(finished.number)
    assert done == [1]


def test_errors_of_processes_are_told() -> None:
    with pytest.raises(RlgoError, match="player 'nobody': unknown"):
        farm = Processes(2)
        try:
            list(farm.run(task(i, "nobody") for i in (1, 2)))
        finally:
            farm.close()


# ---------------------------------------------------------------------------------------------
# Results that last
# ---------------------------------------------------------------------------------------------


def test_results_are_appended_and_a_match_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    whole = play_match("random", "open_spiel,sims=8", 8, **FIVE)
    part = play_match("random", "open_spiel,sims=8", 4, results=path, **FIVE)
    before = path.read_bytes()
    assert part.scores == whole.scores[:2]
    assert play_match("random", "open_spiel,sims=8", 8, results=path, jobs=2, **FIVE) == whole
    assert path.read_bytes().startswith(before)
    assert sorted(game["game"] for game in games_of(path)) == list(range(1, 9))
    # Nothing is left to do; of a longer match, a shorter one is asked for.
    after = path.read_bytes()
    assert play_match("random", "open_spiel,sims=8", 8, results=path, **FIVE) == whole
    assert play_match("random", "open_spiel,sims=8", 4, results=path, **FIVE) == part
    assert path.read_bytes() == after
    game, swapped = sorted(games_of(path), key=lambda game: game["game"])[:2]
    assert (game["black"], game["white"], game["opening"]) == ("random", "open_spiel,sims=8", 1)
    assert (swapped["white"], swapped["black"], swapped["opening"]) == ("random", "open_spiel,sims=8", 1)
    assert game["moves"].split()[:4] == swapped["moves"].split()[:4]
    assert game["moves"].endswith("pass pass") and game["result"][:2] in ("B+", "W+")


@pytest.mark.parametrize("torn", [b'{"game": 3, "op', b"{", b'{"game": 3}'])
def test_a_game_that_was_being_written_is_played_again(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "results.jsonl"
    play_match("random", "random", 2, results=path, **FIVE)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    result = play_match("random", "random", 4, results=path, **FIVE)
    assert result == play_match("random", "random", 4, **FIVE)
    assert path.read_bytes().startswith(whole) and [game["game"] for game in games_of(path)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "content, message",
    [
        ("", None),
        ("hello\n", "expected a results file, this is none"),
        ("[]\n", "expected a results file, this is none"),
        ("{}\n", "expected a results file, this is none"),
        ("\x00\xff" * 40 + "\n", "expected a results file, this is none"),
        ('{"format": 1}\n', "results of another match: a is null, not"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, content: str, message: str | None) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(content, "latin-1")
    if message is None:
        play_match("random", "random", 2, results=path, **FIVE)
        return
    before = path.read_bytes()
    with pytest.raises(RlgoError, match=message) as error:
        play_match("random", "random", 2, results=path, **FIVE)
    assert str(path) in str(error.value) and path.read_bytes() == before


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"seed": 2}, "seed is 1, not 2"),
        ({"komi": 7.5}, "komi is 2.5, not 7.5"),
        ({"size": 6}, "size is 5, not 6"),
        ({"opening_plies": 2}, "opening_plies is 4, not 2"),
        ({"time": TimeSettings(60)}, 'time is "", not "60"'),
        ({"b": "open_spiel,sims=8"}, 'b is "random", not "open_spiel,sims=8"'),
    ],
)
def test_results_of_another_match(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "results.jsonl"
    arguments = {"a": "random", "b": "random", "games": 2, **FIVE}
    play_match(**arguments, results=path)
    before = path.read_bytes()
    with pytest.raises(RlgoError, match=f"results of another match: {message}"):
        play_match(**{**arguments, **changes}, results=path)
    assert path.read_bytes() == before


def test_broken_lines_in_the_midst_are_told(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    play_match("random", "random", 4, results=path, **FIVE)
    lines = path.read_text().splitlines()
    for broken in ("{}", "nonsense", lines[2][:-9]):
        path.write_text("\n".join([*lines[:2], broken, *lines[3:]]) + "\n")
        with pytest.raises(RlgoError, match=r"results\.jsonl, line 3: expected the result of a game"):
            play_match("random", "random", 4, results=path, **FIVE)
    path.write_text("\n".join([*lines, lines[2]]) + "\n")
    with pytest.raises(RlgoError, match="1 games stand there twice"):
        play_match("random", "random", 4, results=path, **FIVE)


def test_one_process_at_a_time_writes(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with open_results(path, {}, 5), pytest.raises(RlgoError, match="another process writes to it"):
        play_match("random", "random", 2, results=path, **FIVE)


COMMAND = [sys.executable, "-m", "rlgo", "match", "random", "open_spiel,sims=60", "--size", "5", "--games", "40"]


@pytest.mark.parametrize("number, jobs", [(signal.SIGINT, 1), (signal.SIGTERM, 2), (signal.SIGKILL, 2)])
def test_a_match_that_is_stopped_plays_each_remaining_game_once(tmp_path: Path, number: int, jobs: int) -> None:
    """Also as a shell's background job, which has Ctrl-C ignored."""
    path = tmp_path / "results.jsonl"
    command = [*COMMAND, "--jobs", str(jobs), "--results", str(path)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    while process.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") > 3):
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == 0 and "interrupted before the last game" in out, err
    done = len(games_of(path)) if path.read_bytes().endswith(b"\n") else None
    assert done is None or 3 <= done < 40
    finished = subprocess.run(
        [*command, "--json", str(tmp_path / "x.json")], capture_output=True, text=True, check=True
    )
    assert "won" in finished.stdout
    assert sorted(game["game"] for game in games_of(path)) == list(range(1, 41))
    result = json.loads((tmp_path / "x.json").read_text())
    assert (result["games"], result["interrupted"]) == (40, False)


# ---------------------------------------------------------------------------------------------
# Records, clocks, referees
# ---------------------------------------------------------------------------------------------


def test_a_record_of_every_game(tmp_path: Path) -> None:
    play_match("random", "greedy", 4, sgf=tmp_path / "games", results=tmp_path / "r.jsonl", progress=False)
    paths = sorted((tmp_path / "games").iterdir())
    assert [path.name for path in paths] == [f"game-{n:05}.sgf" for n in (1, 2, 3, 4)]
    for path, told in zip(paths, games_of(tmp_path / "r.jsonl"), strict=True):
        game = read_sgf(path.read_bytes())
        assert (game.size, game.komi) == (9, 7.5)
        text = path.read_text("utf-8")
        assert f"RE[{told['result']}]" in text and "seed 1" in text and f"PB[{told['black']}]" in text
        assert len(game.moves) == len(told["moves"].split())
        assert text.count("C[V(s) = 0.") > 20  # what the player thought, before each of its moves


class Slow(Player):
    """Passes, after a while."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.limits: list[float | None] = []

    def genmove(self, game: Game) -> int:
        self.limits.append(self.limit)
        time.sleep(self.seconds)
        return PASS if len(game.moves) > 6 else game.legal_moves()[0]


def test_who_oversteps_the_time_has_lost() -> None:
    slow = Slow(0.3)
    rules = Rules(5, 2.5, 75, TimeSettings(0.7))
    record = play_game(slow, RandomPlayer(1), (), rules)
    assert (record.z, record.result) == (0.0, "W+T") and "slow: out of time (0.7)" in record.forfeit
    assert len(slow.limits) == 3 and record.seconds[0] > 0.7 > 3 * record.seconds[1] and record.longest[0] < 0.7
    assert play_game(RandomPlayer(1), Slow(0.3), (), rules).result == "B+T"
    assert play_game(Slow(0.3), RandomPlayer(1), (), Rules(5, 2.5, 75)).forfeit == ""


def test_engines_are_told_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    engine = f"gtp:'{sys.executable}' -m rlgo gtp --size 5 --player random --log '{log}'"
    play_match(engine, "random", 2, time=TimeSettings(60), **FIVE)
    text = log.read_text()
    assert (
        "> time_settings 60 0 0" in text and "> time_left black 60 0\n" in text and "> time_left white 60 0\n" in text
    )
    log.unlink()
    play_match(engine, "random", 2, time=TimeSettings(60, 10, 1, 3), **FIVE)
    assert "> kgs-time_settings byoyomi 60 10 3" in log.read_text()


# An engine that is our own, but with something wrong that its arguments name.
WRONG = textwrap.dedent("""
    import sys, time
    from rlgo.gtp import GtpEngine, run
    from rlgo.player import RandomPlayer
    from rlgo.game import Game
    wrong = sys.argv[1]
    engine = GtpEngine(RandomPlayer(1), 5)
    play = engine._commands["play"]
    if wrong == "other-board":
        engine._commands["list_stones"] = lambda args: "A1 B1 C1"
    if wrong == "other-score":
        engine._commands["final_score"] = lambda args: "B+99.5"
    if wrong == "slow":
        genmove = engine._commands["genmove"]
        engine._commands["genmove"] = lambda args: time.sleep(1.5) or genmove(args)
    if wrong == "deaf":
        engine._commands["genmove"] = lambda args: time.sleep(600)
    run(engine)
""")


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    return f"gtp:'{sys.executable}' '{path}' "


def test_an_engine_with_another_board_has_lost(wrong: str) -> None:
    result = play_match("random", wrong + "other-board", 2, **FIVE)
    assert (result.wins, result.forfeits) == (2, 2)
    assert "sees other stones than the referee, at" in result.forfeit_reasons[0]


def test_scores_are_compared(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    result = play_match("random", wrong + "other-score", 2, check_scores=True, results=path, **FIVE)
    assert result.disputed == 2 and "2 of the games scored otherwise by an engine" in str(result)
    assert [game["scores"] for game in games_of(path)] == [{"White": "B+99.5"}, {"Black": "B+99.5"}]
    result = play_match(OURS, "random", 4, check_scores=True, **FIVE)
    assert result.disputed == result.forfeits == 0


def test_engines_that_overstep_it_or_never_answer_lose_on_time(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.players.engines.GRACE_SECONDS", 0.2)
    result = play_match("random", wrong + "slow", 2, time=TimeSettings(1), **FIVE)
    assert result.wins == 2 and all("no answer within 1.2 s" in why for why in result.forfeit_reasons)
    result = play_match(wrong + "deaf", "random", 2, time=TimeSettings(1), **FIVE)
    assert result.wins == 0 and all("no answer within 1.2 s" in why for why in result.forfeit_reasons)


# ---------------------------------------------------------------------------------------------
# Killed engines
# ---------------------------------------------------------------------------------------------


class Killer(threading.Thread):
    """Kills engines, now and then, until stopped."""

    def __init__(self, seed: int, longest: float = 0.1) -> None:
        super().__init__(daemon=True)
        self.killed, self._longest = 0, longest  # seconds between two of them
        self._rng, self._done = random.Random(seed), threading.Event()
        self._processes: list[subprocess.Popen] = []

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        start = GtpClient._start

        def note(client: GtpClient) -> None:
            start(client)
            assert client._process is not None
            self._processes.append(client._process)

        monkeypatch.setattr(GtpClient, "_start", note)

    def run(self) -> None:
        while not self._done.wait(self._rng.uniform(0, self._longest)):
            alive = [process for process in self._processes if process.returncode is None]
            if alive:
                self.killed += 1
                self._rng.choice(alive).kill()

    def stop(self) -> None:
        self._done.set()
        self.join()


# As little as an engine can be: it starts quickly, and plays the first empty point, by a fast look at its own board.
SMALL = textwrap.dedent("""
    import sys
    free = []
    for line in sys.stdin:
        command, *args = line.split() or [""]
        answer = {"name": "Small", "version": "1", "known_command": "false"}.get(command, "")
        if command == "clear_board":
            free = [a + str(b) for b in range(1, 6) for a in "ABCDE"]
        elif command == "play" and args[1].upper() in free:
            free.remove(args[1].upper())
        elif command == "genmove":
            answer = free.pop(0) if len(free) > 12 else "pass"
        print("= " + answer, end="\\n\\n", flush=True)
        if command == "quit":
            break
""")


def test_a_match_with_killed_engines_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.py").write_text(SMALL)
    small = f"gtp:'{sys.executable}' -S -E '{tmp_path / 'small.py'}'"
    killer = Killer(3)
    killer.watch(monkeypatch)
    path = tmp_path / "r.jsonl"
    killer.start()
    try:
        result = play_match(small, small + " second", 60, results=path, opening_plies=0, **FIVE)
    finally:
        killer.stop()
    assert [game["game"] for game in games_of(path)] == list(range(1, 61))
    assert (result.games, result.interrupted) == (60, False)
    assert 0 < result.forfeits <= killer.killed
    assert all("it ended with status -9" in why for why in result.forfeit_reasons)


# ---------------------------------------------------------------------------------------------
# The sequential test
# ---------------------------------------------------------------------------------------------


def test_the_log_likelihood_ratio() -> None:
    """Against normal densities."""
    means = [0.5, 1.0, 0.5, 0.0, 1.0, 1.0, 0.5, 0.75, 0.5, 1.0]
    sprt = Sprt(0, 60)
    x, v = np.mean(means), np.var([*means, 0.0, 1.0])  # with an opening won, and one lost
    s0, s1 = 0.5, 1 / (1 + 10 ** (-60 / 400))

    def log_density(s: float) -> float:
        return sum(-((y - s) ** 2) / (2 * v) for y in means)

    assert llr(means, sprt) == pytest.approx(log_density(s1) - log_density(s0))
    assert math.isclose(x, 0.675) and llr(means, sprt) > 0 > llr([1 - y for y in means], sprt)
    assert sprt.bounds == pytest.approx((-math.log(19), math.log(19)))


@pytest.mark.parametrize("p, accepted", [(0.5, "H0"), (0.65, "H1")])
def test_the_test_errs_as_rarely_as_it_says(p: float, accepted: str) -> None:
    rng = np.random.default_rng(1)
    sprt = Sprt(0, 107)  # 65 %
    right = length = 0
    for _ in range(1000):
        verdict = judge(rng.binomial(2, p, 600) / 2, sprt)
        assert verdict.accepted
        right += verdict.accepted == accepted
        length += verdict.openings
    # 95 % of 1,000, less three standard errors
    assert right >= 930 and length / 1000 < 100


def test_a_match_stops_when_the_test_is_decided(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    arguments: dict[str, Any] = {"a": "open_spiel,sims=64", "b": "random", "games": 400, "sprt": Sprt(0, 100), **FIVE}
    result = play_match(**arguments, results=path)
    assert result.verdict is not None and result.verdict.accepted == "H1"
    assert result.games < 100 and result.verdict.openings <= (result.games + 1) // 2
    assert "SPRT elo0=0, elo1=100: more than 0 Elo stronger after" in str(result)
    # Decided already: no further game. And by several processes, the same verdict.
    assert play_match(**arguments, results=path).games == result.games
    assert play_match(**arguments, jobs=3).verdict == result.verdict
    undecided = play_match("random", "random", 2, sprt=Sprt(), **FIVE)
    assert undecided.verdict is not None and "undecided" in str(undecided)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "expected elo0=NUMBER"),
        ("elo0=0,elo2=3", "expected elo0=NUMBER"),
        ("elo0=0,elo0=1,elo1=3", "expected elo0=NUMBER"),
        ("elo0=x,elo1=3", "expected elo0=NUMBER"),
        ("elo0=20,elo1=20", "expected elo0 < elo1"),
        ("elo0=nan,elo1=20", "expected elo0 < elo1"),
        ("elo0=0,elo1=20,alpha=0.5", "alpha = 0.5: expected a number between 0 and 0.5"),
    ],
)
def test_tests_that_are_none(text: str, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        parse_sprt(text)
    assert parse_sprt("elo0=-5,elo1=15,beta=0.1") == Sprt(-5, 15, 0.05, 0.1)


def test_scores_are_compared_as_numbers() -> None:
    def disputed(result: str, *scores: str) -> bool:
        told = dict(zip(("Black", "White"), scores, strict=False))
        return is_disputed(GameRecord((), 1.0, result, scores=told))

    assert not disputed("W+3", "W+3.0", "w+3.") and not disputed("0", "0", "0.0") and not disputed("B+3.5")
    assert not disputed("B+3.5", "? cannot score") and not disputed("B+3.5", "B+3.5", "? no")
    assert disputed("B+3.5", "W+3.5") and disputed("B+3.5", "B+3.5", "B+4.5") and disputed("0", "B+1")


def test_what_an_engine_says_does_not_break_the_file(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        SMALL.replace('free.pop(0) if len(free) > 12 else "pass"', '"\\u2028\\u0085\\x1c"')
    )
    odd = f"gtp:'{sys.executable}' '{tmp_path / 'odd.py'}'"
    path = tmp_path / "r.jsonl"
    environment = {"PYTHONIOENCODING": "utf-8"}
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environment.items():
            patch.setenv(key, value)
        result = play_match(odd, "random", 2, results=path, **FIVE)
        assert result.forfeits == 2
        assert play_match(odd, "random", 4, results=path, **FIVE).forfeits == 4


def test_records_of_another_match_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "games"
    play_match("random", "random", 2, sgf=folder, **FIVE)
    before = [path.read_bytes() for path in sorted(folder.iterdir())]
    with pytest.raises(RlgoError, match="games: holds the records of another match"):
        play_match("random", "random", 4, seed=2, sgf=folder, **FIVE)
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == before
    same = str(tmp_path / "x.json")
    for options in (["--json", same, "--results", same], ["--sgf", str(folder / "game-00001.sgf")]):
        assert main(["match", "random", "random", "--size", "5", "--games", "2", *options]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not Path(same).exists()


def test_clocks_are_told_in_whole_seconds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    engine = f"'{sys.executable}' -m rlgo gtp --size 5 --player random --log '{log}'"
    with GtpClient(engine, 5) as client:
        rules = Rules(5, 2.5, 75, TimeSettings(0.5))
        assert play_game(client, Slow(0.0), (), rules).result
        assert "> time_settings 1 0 0\n" in log.read_text() and "> time_left black 0 0\n" in log.read_text()
        assert client.patience is not None and client.limit is None
        log.write_text("")
        play_game(client, Slow(0.0), (), Rules(5, 2.5, 75))
        assert "> time_settings 0 1 0\n" in log.read_text() and "time_left" not in log.read_text()
        assert client.patience is None
        # Somebody else's clock: so long for one move.
        log.write_text("")
        client.limit = 2.7
        client.genmove(Game(5))
        assert (
            "> time_settings 0 2 1\n> genmove black\n"
            in "\n".join(
                line[20:] for line in log.read_text().splitlines() if " > " in line and "known_command" not in line
            )
            + "\n"
        )


def test_a_fast_match_has_nothing_of_this(tmp_path: Path) -> None:
    for more in ({"jobs": 2}, {"results": tmp_path / "x"}, {"sprt": Sprt()}, {"time": TimeSettings(1)}):
        with pytest.raises(RlgoError, match="a fast match has no clocks"):
            play_match("random", "random", 2, fast=True, **FIVE, **more)
    assert not (tmp_path / "x").exists()
