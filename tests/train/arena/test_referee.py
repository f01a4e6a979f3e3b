"""One game: legality, superko, resignation, clocks, and faulty engines."""

from __future__ import annotations

import itertools
import re
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from stand_ins import TWO_STONES_SENT, Scripted, first_legal, passer, resigner

from rlgo.go.board import BLACK, PASS
from rlgo.go.clock import Clock, TimeSettings
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.player import Player
from train.arena.match import play_match
from train.arena.referee import GameRules, play_game
from train.players.engines import GtpClient
from train.process import StopRequest

ROOT = Path(__file__).resolve().parents[3]
FIVE: dict[str, Any] = {"size": 5, "komi": 2.5, "progress": False}


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_resigning_loses() -> None:
    result = play_match(resigner(), passer(), 6, size=5)
    assert (result.wins, result.black_wins, result.forfeits) == (0, 3, 0)
    assert play_match(passer(), resigner(), 6, size=5).wins == 6


def test_draws_count_half() -> None:
    result = play_match(passer("a"), passer("b"), 4, size=5, komi=0, openings="empty")
    assert (result.draws, result.wins, result.black_wins, result.win_rate) == (4, 2, 2, 0.5)
    assert (result.distinct, result.mean_length) == (1, 2)


def test_long_games_are_scored_as_they_stand() -> None:
    result = play_match(first_legal(), first_legal(), 4, size=5, max_moves=9, komi=-30)
    assert (result.capped, result.mean_length, result.black_wins, result.max_moves) == (4, 9, 4, 9)
    assert play_match("random", "random", 2, size=5, openings="random:1", max_moves=2).mean_length == 2
    assert play_match(passer(), passer(), 2, size=5).max_moves == 75


def test_illegal_moves_and_crashes_forfeit(capsys: pytest.CaptureFixture[str]) -> None:
    def occupied(game: Game) -> int:
        return game.moves[0][1]

    result = play_match(Scripted("a", occupied), passer(), 4, size=5)
    assert (result.wins, result.forfeits, result.black_wins) == (0, 4, 2)
    assert "game 1: Black forfeits at move 5: a: illegal move Black" in result.forfeit_reasons[0]
    assert result.forfeit_reasons[0].endswith(": occupied")
    assert "game 2: White forfeits at move 6: a" in capsys.readouterr().err

    def crash(_: Game) -> int:
        raise ZeroDivisionError("oh")

    result = play_match(passer(), Scripted("b", crash), 2, size=5)
    assert (result.wins, result.forfeits) == (2, 2)
    assert "b: ZeroDivisionError: oh" in result.forfeit_reasons[0]
    assert "Traceback" in capsys.readouterr().err


def test_the_referee_knows_superko() -> None:
    script = TWO_STONES_SENT.split()

    def sends_two(game: Game) -> int:
        i = len(game.moves)
        return from_vertex(script[i] if i < len(script) else "B1", 5)

    result = play_match(Scripted("a", sends_two), Scripted("b", sends_two), 2, size=5, openings="empty")
    assert (result.wins, result.forfeits, result.black_wins, result.mean_length) == (1, 2, 0, 8)
    assert result.forfeit_reasons[0].endswith("a: illegal move Black B1: superko")


# ---------------------------------------------------------------------------------------------
# Clocks
# ---------------------------------------------------------------------------------------------


def test_ctrl_c_is_not_a_crash_even_if_another_error_takes_its_place() -> None:
    def convert(_: Game) -> int:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise AttributeError("'record' object has no attribute 'data'") from None
        return PASS

    with StopRequest(at_once=True), pytest.raises(KeyboardInterrupt):
        play_game(Scripted("a", convert), passer(), (), GameRules(5, 2.5, 75))


class HandClock:
    """A clock that only moves by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Slow(Player):
    """Plays seven plies and passes. Its moves take these seconds in turn by a `HandClock`."""

    name = "slow"

    def __init__(self, clock: HandClock, *seconds: float) -> None:
        self.clock, self.seconds = clock, itertools.cycle(seconds)
        self.limits: list[float | None] = []

    def genmove(self, game: Game) -> int:
        self.limits.append(self.limit)
        self.clock.now += next(self.seconds)
        return PASS if len(game.moves) > 6 else game.legal_moves()[0]


def test_who_oversteps_the_time_has_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HandClock()
    monkeypatch.setattr("train.arena.referee.time", clock)
    slow, quick = Slow(clock, 0.3), Slow(clock, 0.01)
    rules = GameRules(5, 2.5, 75, TimeSettings(0.7))
    record = play_game(slow, quick, (), rules)
    assert (record.z, record.result) == (0.0, "W+T")
    assert "slow: out of time (0.7)" in record.forfeit
    assert len(slow.limits) == 3
    assert all(limit is not None for limit in slow.limits)
    assert record.seconds == pytest.approx((0.9, 0.02))
    assert play_game(quick, slow, (), rules).result == "B+T"
    record = play_game(slow, quick, (), GameRules(5, 2.5, 75))
    assert record.forfeit == ""
    assert slow.limits[-1] is None


@pytest.mark.process
def test_clocks_are_sent_in_whole_seconds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    engine = f"'{sys.executable}' -m rlgo gtp --size 5 --player random --log '{log}'"
    with GtpClient(engine, 5) as client:
        rules = GameRules(5, 2.5, 75, TimeSettings(0.5))
        assert play_game(client, passer(), (), rules).result
        assert "> time_settings 1 0 0\n" in log.read_text()
        assert "> time_left black 0 0\n" in log.read_text()
        assert client.patience is not None
        assert client.limit is None
        log.write_text("")
        play_game(client, passer(), (), GameRules(5, 2.5, 75))
        assert "> time_settings 0 1 0\n" in log.read_text()
        assert "time_left" not in log.read_text()
        assert client.patience is None
        # Somebody else's clock: so long for one move.
        log.write_text("")
        client.limit = 0.0
        client.genmove(Game(5))
        assert "> time_settings 0 1 1\n" in log.read_text()  # 0 seconds would mean: without limit
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


# ---------------------------------------------------------------------------------------------
# Engines with something wrong
# ---------------------------------------------------------------------------------------------

# An engine that is our own, but with something wrong that its arguments name.
WRONG = textwrap.dedent("""
    import sys, time
    from rlgo.go.coords import to_vertex
    from rlgo.play.gtp import GtpEngine, run
    from rlgo.play.gtp.protocol import COMMANDS
    from rlgo.play.player import RandomPlayer
    wrong = sys.argv[1]
    engine = GtpEngine(RandomPlayer(1), 5)
    genmove = COMMANDS["genmove"].run
    if wrong == "other-board":
        engine.register("list_stones", lambda session, args: "A1 B1 C1")
    if wrong == "slow":
        engine.register("genmove", lambda session, args: time.sleep(1.5) or genmove(session, args))
    if wrong == "garbled":
        engine.register("genmove", lambda session, args: "Z99")
    if wrong == "illegal":
        engine.register("genmove", lambda session, args: to_vertex(session.game.moves[0][1], 5))
    if wrong == "deaf":
        engine.register("genmove", lambda session, args: time.sleep(600))
    run(engine)
""")


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    return f"gtp:'{sys.executable}' '{path}' "


@pytest.mark.process
def test_an_engine_with_another_board_has_lost(wrong: str) -> None:
    result = play_match("random", wrong + "other-board", 2, **FIVE)
    assert (result.wins, result.forfeits) == (2, 2)
    assert "its board differs from the referee's, for example at" in result.forfeit_reasons[0]
    both = play_match(wrong + "other-board", wrong + "other-board  again", 2, **FIVE)
    first, second = both.forfeit_reasons
    assert re.search(r"Black forfeits at move \d+: engine .* board .* \(White, too: engine .* again': its board", first)
    assert second.startswith("game 2: Black")


@pytest.mark.process
def test_peers_that_fail_in_the_same_way_are_told_apart(wrong: str) -> None:
    """By their colours, and by what distinguishes their commands."""
    for fault, said in (("garbled", "genmove: expected a vertex, found 'z99'"), ("illegal", "illegal move")):
        result = play_match(wrong + f"{fault} one", wrong + f"{fault} two", 2, **FIVE)
        found = zip(result.forfeit_reasons, ("Black", "Black"), ("one", "two"), strict=True)
        for number, (reason, color, name) in enumerate(found, 1):
            assert reason.startswith(f"game {number}: {color} forfeits at move 5: engine '")
            assert f" {name}': {said}" in reason
    assert re.search(r"illegal move Black \w\d: occupied$", result.forfeit_reasons[0])


@pytest.mark.parametrize("kind", ["slow", "deaf"])
@pytest.mark.process
def test_engines_that_overstep_it_or_never_answer_lose_on_time(
    kind: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("train.players.engines.GRACE_SECONDS", 0.2)
    rules = GameRules(5, 2.5, 75, TimeSettings(1))
    with GtpClient(wrong.removeprefix("gtp:") + kind, 5) as client:
        record = play_game(client, passer(), (), rules)
        # On a busy machine, an answer that is too late may be there before anybody notices.
        ways = ("no answer within 1.2 s", "out of time") if kind == "slow" else ("no answer within 1.2 s",)
        assert record.result == "W+T"
        assert any(way in record.forfeit for way in ways)
        # The late answer is not taken for one to a command of the next game.
        assert play_game(passer(), client, (Game(5).legal_moves()[0],), rules).result == "B+T"


def test_the_time_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds are those of a player, whichever colour it has."""
    clock = HandClock()
    monkeypatch.setattr("train.arena.referee.time", clock)
    match = play_match(Slow(clock, 0.3), Slow(clock, 0.01), 2, openings="empty", **FIVE)
    assert match.seconds == pytest.approx([0.3 * 9, 0.01 * 9])


@pytest.mark.process
@pytest.mark.slow
def test_a_period_of_byo_yomi_is_a_stone_to_other_engines(tmp_path: Path) -> None:
    log, time = tmp_path / "log", TimeSettings(0, 3, 1, 3)
    with GtpClient(f"'{sys.executable}' -m rlgo gtp --size 5 --player random --log '{log}'", 5) as engine:
        engine._known_commands["kgs-time_settings"] = False
        game, clock = Game(5), Clock(time)
        engine.start_clock(time)
        engine.new_game()
        for seconds in (0.0, 4.0):  # the second move has lost a period
            clock.spend(BLACK, seconds)
            engine.read_clock(clock, BLACK, 5)
            game.play(engine.genmove(game))
            game.play(PASS)
    text = log.read_text()
    assert "> time_settings 0 3 1\n" in text
    assert text.count("> time_left black 3 1\n") == 2
    log.unlink()
    other = f"gtp:'{sys.executable}' -m rlgo gtp --size 5 --player random --log '{log}'"
    play_match(other, "random", 2, time=time, **FIVE)
    text = log.read_text()
    assert "> kgs-time_settings byoyomi 0 3 3" in text
    assert "> time_left black 3 3\n" in text
    assert "> time_left white 3 3\n" in text
