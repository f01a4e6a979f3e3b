"""Game sessions: what GTP, the terminal and the page have in common, without their protocols."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from board_data import SETTLED, from_diagram
from gtp_controller import Scripted, Taker, Thinker

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.clock import Clock, TimeSettings
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.sgf import load_sgf, read_sgf
from rlgo.play.player import RESIGN, Candidate, Player, RandomPlayer
from rlgo.play.session import GameSession


def at(vertex: str, size: int = 9) -> int:
    return from_vertex(vertex, size)


def moves(session: GameSession) -> str:
    return " ".join(f"{'?BW'[color]}:{to_vertex(p, session.game.size)}" for color, p in session.game.moves)


def test_moves_of_both_sides() -> None:
    session = GameSession(Scripted("C3 E5 resign"))
    session.play(at("D4"))
    assert session.genmove() == at("C3")
    session.play(at("D5"), WHITE)  # out of turn
    assert session.genmove(BLACK) == at("E5")
    assert moves(session) == "B:D4 W:C3 W:D5 B:E5"
    assert session.genmove() == RESIGN
    assert not session.game.is_over()  # that is for the caller to say
    session.undo(2)
    assert moves(session) == "B:D4 W:C3"


class Late(Scripted):
    """Gets ready when it may."""

    def __init__(self, answers: str, error: Exception | None = None) -> None:
        super().__init__(answers)
        self.may, self.error = threading.Event(), error

    def warm_up(self) -> None:
        assert self.may.wait(60)
        if self.error is not None:
            raise self.error


def test_a_player_may_get_ready_during_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves and other uses of it wait, and its clock does not run before."""
    player, told = Late("E5"), list[BaseException | None]()
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    session = GameSession(player, 9, time_settings=TimeSettings(60), ready=told.append)
    assert not session.is_ready
    session.play(at("D4"))
    session.new_game(9, 5.5)
    session.play(at("C4"))
    session.wait(0)
    assert not session.is_ready
    assert session.name == "scripted"
    assert (told, player.asked, player.games) == ([], [], 0)

    wait = session._players.wait

    def get_ready(seconds: float | None = None) -> None:
        now[0] += 0.0 if player.may.is_set() else 1_000.0
        player.may.set()
        wait(seconds)

    monkeypatch.setattr(session._players, "wait", get_ready)
    assert session.genmove() == at("E5")
    assert session.is_ready
    assert (told, player.asked, player.games) == ([None], [WHITE], 1)
    assert session.player is player
    assert session.clock.left(WHITE) == (60.0, 0)
    session.new_game()
    assert player.games == 2


def test_a_player_that_does_not_get_ready() -> None:
    player, told = Late("E5", RlgoError("broken")), list[BaseException | None]()
    session = GameSession(player, 9, ready=told.append)
    session.play(at("D4"))
    player.may.set()
    for _ in range(2):
        with pytest.raises(RlgoError, match="broken"):
            session.genmove()
    assert told == [player.error]
    assert moves(session) == "B:D4"


def test_no_position_is_set_up_after_moves_even_if_an_edit_came_last() -> None:
    session = GameSession(Scripted("D4"))
    session.play(at("D4"))
    session.game.edit({at("E5"): BLACK})
    with pytest.raises(RlgoError, match="stones are set up before the first move"):
        session.set_up([], WHITE)
    session.undo(1)
    assert session.game.n_played == 0


def test_a_suggestion_is_not_played_and_costs_no_time() -> None:
    session = GameSession(Scripted("C3 G7"), time_settings=TimeSettings(60))
    assert session.suggest() == at("C3")
    assert session.suggest(WHITE) == at("G7")
    assert session.game.moves == []
    assert session.clock.left(BLACK) == session.clock.left(WHITE) == (60, 0)


def test_the_last_search_is_kept() -> None:
    session = GameSession(Thinker())
    assert session.last_search is None
    p = session.genmove()
    assert session.last_search is not None
    assert session.last_search.game.moves == []
    assert session.last_search.candidates[0].move == p
    session.new_game()
    assert session.last_search is None


def test_a_player_that_cannot_start_a_game_leaves_the_last_one() -> None:
    player = Scripted()
    session = GameSession(player)
    session.play(at("D4"))
    player.new_game = lambda: 1 // 0  # type: ignore[method-assign, assignment]
    with pytest.raises(RlgoError, match="internal error: ZeroDivisionError"):
        session.new_game()
    assert moves(session) == "B:D4"


class Crashing(RandomPlayer):
    """Its hooks are all bugs."""

    def genmove(self, _game: Game) -> int:
        raise ZeroDivisionError("no reason")

    def end_game(self, _game: Game, _outcome: float) -> None:
        raise ZeroDivisionError("no reason")

    def ponder(self, _game: Game, _stop: Callable[[], bool]) -> None:
        raise ZeroDivisionError("no reason")


def test_a_bug_in_the_player_is_an_error_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    session = GameSession(Crashing(1), ponders=True)
    with pytest.raises(RlgoError, match="internal error: ZeroDivisionError: no reason"):
        session.genmove()
    assert "Traceback" in capsys.readouterr().err
    session.play(PASS)
    session.play(PASS)
    assert session.game.is_over()
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["ponder", "candidates"])
def test_a_bug_in_an_analysis_is_an_error_with_its_traceback(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    player = RandomPlayer(1)

    def fail(*_: object) -> None:
        raise ZeroDivisionError("nought")

    setattr(player, name, fail)
    with pytest.raises(RlgoError, match="internal error: ZeroDivisionError: nought"):
        GameSession(player).analyze(lambda _candidates, _game: None)
    assert "in fail" in capsys.readouterr().err


def test_an_early_pass_needs_dead_stones() -> None:
    with pytest.raises(RlgoError, match="early_pass cannot be combined with all_alive"):
        GameSession(RandomPlayer(1), all_alive=True, early_pass=True)


def test_a_bug_while_pondering_ends_the_pondering(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    session = GameSession(Crashing(1), ponders=True, log=lines.append)
    session.player.genmove = lambda _game: at("D4")  # type: ignore[method-assign]
    session.genmove()
    for _ in range(3):
        session.ponder(lambda: True)
    assert capsys.readouterr().err.count("ZeroDivisionError: no reason") == 1
    assert lines[-1] == "pondering: no reason"


class Patient(Player):
    """Searches until it is stopped, and says when it has begun."""

    name = "patient"

    def __init__(self) -> None:
        self.searching = threading.Event()

    def genmove(self, game: Game) -> int:
        self.searching.set()
        while not self.stop():
            pass
        self.searching.clear()
        return game.legal_moves()[0]


def test_any_thread_may_interrupt_a_search() -> None:
    player = Patient()
    session = GameSession(player)
    for n in (1, 2):  # an interrupt is for one search
        thread = threading.Thread(target=session.genmove)
        thread.start()
        assert player.searching.wait(60)
        assert thread.is_alive()
        session.interrupt()
        thread.join(60)
        assert len(session.game.moves) == n


def test_reports_come_during_a_search_and_at_its_end() -> None:
    """Of the position that is searched, before and after the move is played."""
    reports: list[tuple[list[Candidate], Game]] = []

    def report(candidates: list[Candidate], game: Game) -> None:
        reports.append((candidates, game.copy()))

    player = Thinker()
    session = GameSession(player)
    session.analyze(report, every=0.0)
    assert player.steps == 10_000
    assert len(reports) == 10_001
    assert session.game.moves == []
    reports.clear()
    session.analyze(report, every=1e9, color=WHITE, stop=lambda: True)
    assert [game.to_play for _, game in reports] == [WHITE]
    reports.clear()
    session.genmove(report=report, every=0.0)
    assert len(reports) > 2
    assert all(game.moves == [] for _, game in reports)
    assert len(session.game.moves) == 1


def test_players_without_an_opinion_report_nothing() -> None:
    session = GameSession(RandomPlayer(1))
    session.analyze(lambda *_: pytest.fail("reported"))
    session.genmove(report=lambda *_: pytest.fail("reported"))


def test_the_clock_runs_during_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    player = Scripted("D4 C3")
    play = player.genmove

    def slow(game: Game) -> int:
        now[0] += 20
        return play(game)

    player.genmove = slow  # type: ignore[method-assign]
    session = GameSession(player, time_settings=TimeSettings(60))
    session.genmove()
    assert session.clock.left(BLACK) == (40, 0)
    session.set_left(WHITE, 30)
    assert session.clock.left(WHITE) == (30, 0)
    session.new_game()
    assert session.clock.left(BLACK) == (60, 0)
    session.set_time(None)
    assert session.clock.budget(BLACK, 9) is None


def taker(_size: int) -> Player:
    return Taker("B2")


def test_dead_stones_and_the_result() -> None:
    session = GameSession(Scripted(), komi=0.5, judge=taker)
    session.game = from_diagram(SETTLED, BLACK, 0.5)
    assert session.ending().dead == [[at("B2")]]
    assert session.result() == f"B+{session.game.score() + 13:g}"
    assert session.ownership().map.shape == (9, 9)
    session.all_alive = True
    assert session.ending().dead == []
    assert session.result() == session.game.result


def test_an_early_pass_needs_no_search() -> None:
    player, said = Scripted("C1"), list[str]()
    session = GameSession(player, komi=0.5, early_pass=True, judge=taker, log=said.append)
    session.game = from_diagram(SETTLED, WHITE, 0.5)
    session.play(PASS)
    assert session.genmove() == PASS
    assert player.asked == []
    assert session.last_search is None
    assert said == ["Black passes: the game is won"]


def test_who_would_lose_does_not_pass_early() -> None:
    player = Scripted("pass")
    session = GameSession(player, komi=0.5, early_pass=True, judge=taker)
    session.game = from_diagram(SETTLED, BLACK, 0.5)  # Black is far ahead
    session.play(PASS)
    session.genmove()
    assert len(player.asked) == 1


def test_records(tmp_path: Path) -> None:
    session = GameSession(Scripted("C3"))
    session.play(at("D4"))
    session.genmove()
    data = session.to_sgf("somebody", BLACK, "B+R")
    assert b"PB[somebody]" in data
    assert b"PW[scripted]" in data
    assert b"RE[B+R]" in data
    assert b"PW[somebody]" in session.to_sgf("somebody", WHITE)
    assert read_sgf(data).moves == session.game.moves
    file = tmp_path / "a.sgf"
    file.write_bytes(data)
    session.load(file, 1)
    assert moves(session) == "B:D4"
    assert load_sgf(file).moves[:1] == session.game.moves


def test_the_end_is_announced_once_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    """A player that cannot learn from it, as on a full disk, leaves the game as it is."""

    class Learner(RandomPlayer):
        def __init__(self) -> None:
            super().__init__(1)
            self.ends: list[int] = []
            self.outcomes: list[float] = []

        def end_game(self, game: Game, outcome: float) -> None:
            self.ends.append(len(game.moves))
            self.outcomes.append(outcome)
            raise RlgoError("the disk is full")

    player = Learner()
    session = GameSession(player)
    for _ in range(2):
        session.play(PASS)
    session.undo()
    session.play(PASS)
    assert player.ends == [2]
    assert "the disk is full" in capsys.readouterr().err
    session.new_game()
    session.play_all([(BLACK, PASS), (WHITE, PASS)])
    assert player.ends == [2, 2]
    for names in ("pass pass", "pass", "pass pass", "D4 pass pass", "", "D4 pass pass"):
        game = Game(9)
        for name in names.split():
            game.play(at(name))
        session.follow(game)
    assert player.ends == [2, 2, 3, 3]
    session.new_game()
    session.resign(BLACK)
    assert player.outcomes == [0.0, 0.0, 1.0, 1.0, 0.0]
    session.new_game()
    player.genmove = lambda _game: RESIGN  # type: ignore[method-assign]
    assert session.genmove(WHITE) == RESIGN
    assert player.outcomes[5:] == [1.0]
    assert not session.game.is_over()  # it is not played


def test_the_outcome_is_that_without_dead_stones() -> None:
    """White's stone in Black's corner is in atari. If it counts as alive, Black has 12 points and White 11 + 2.5."""
    outcomes: list[float] = []
    player = RandomPlayer(1)
    player.end_game = lambda _game, outcome: outcomes.append(outcome)  # type: ignore[method-assign]
    for all_alive in (False, True):
        session = GameSession(player, 5, 2.5, all_alive=all_alive, judge=lambda _size: Taker("C1", "A5"))
        black, white = "A3 B3 C3 D3 E3 C4 C5 A4", "A2 B2 C2 D2 E2 C1 A5"
        stones = [(color, at(name, 5)) for color, names in ((BLACK, black), (WHITE, white)) for name in names.split()]
        session.set_up(stones, BLACK)
        session.play(PASS)
        session.play(PASS)
    assert outcomes == [1.0, 0.0]


def test_a_player_takes_its_time_from_the_clock_by_its_own_rule() -> None:
    """As in a match: both hooks are called, with the settings that hold."""

    class Timed(RandomPlayer):
        told: ClassVar[list[object]] = []

        def start_clock(self, settings: TimeSettings | None) -> None:
            super().start_clock(settings)
            self.told.append(settings)

        def read_clock(self, clock: Clock, color: int, size: int) -> float | None:
            self.told.append((color, size, clock.left(color)))
            self.limit = 0.125
            return self.limit

    settings = TimeSettings(60.0)
    session = GameSession(Timed(1), 5)
    session.set_time(settings)
    session.new_game()
    session.genmove()
    assert Timed.told == [None, settings, settings, (BLACK, 5, (60.0, 0))]
    assert session.player.limit == 0.125


def test_a_session_follows_a_game_that_is_kept_elsewhere() -> None:
    session, game = GameSession(Scripted("D5", sizes=(9,))), Game(9, 6.5)
    for name in ("D4", "E5"):
        game.play(at(name))
    session.follow(game)
    assert session.genmove() == at("D5")
    assert moves(session) == "B:D4 W:E5 B:D5"
    assert session.game.komi == 6.5
    assert len(game.moves) == 2  # it went on in a copy
    session.follow(Game(9))
    assert moves(session) == ""
    with pytest.raises(RlgoError, match="unacceptable size: scripted plays on 9x9"):
        session.follow(Game(5))
    assert session.game.size == 9


class Doubtful(RandomPlayer):
    """Plays at random, and says what its chances are; of that, `chances` has one for each move."""

    def __init__(self, chances: str) -> None:
        super().__init__(1)
        self.chances = [float(chance) for chance in chances.split()]

    def candidates(self, game: Game) -> list[Candidate]:
        chance = self.chances.pop(0)
        return [Candidate(PASS, chance if game.to_play == BLACK else 1 - chance, 1, [PASS])]


@pytest.mark.parametrize(
    ("size", "chances", "n"),
    [
        (5, "0.5 0.02 0.02 0.02 0.02", 4),
        (5, "0.02 0.02 0.02 0.03 0.02 0.02 0.02 0.02", 7),
        (9, "0.02 " * 9, 7),  # the first move with 14 of 81 points filled
    ],
)
def test_a_lost_game_is_given_up(size: int, chances: str, n: int) -> None:
    """It is after n moves."""
    session, played = GameSession(Doubtful(chances), size, resigns=True), 0
    while session.genmove() != RESIGN:
        played += 1
        session.play(session.game.sensible_moves()[0])
    assert played == n


def test_a_game_goes_on_that_is_not_lost_in_a_row_or_not_given_up() -> None:
    session = GameSession(Doubtful("0.02 " * 20), 6, resigns=True)
    for _ in range(10):  # a move taken back begins a new row
        for _ in range(2):
            assert session.genmove() != RESIGN
            session.play(session.game.sensible_moves()[0])
        session.undo(1)
    session = GameSession(Doubtful("0.02 " * 20), 6)
    assert RESIGN not in [session.genmove() for _ in range(20)]


def test_another_player_analyses() -> None:
    made = list[int]()

    def make(size: int) -> Thinker:
        made.append(size)
        return Thinker()

    session = GameSession(RandomPlayer(1), make_analyst=make)
    session.play(at("C3"))
    assert session.analyst.player is session.analyst.player
    assert session.analyst is not session
    assert (made, session.analyst.game.moves) == ([9], session.game.moves)
    plain = GameSession(RandomPlayer(1))
    assert plain.analyst is plain
