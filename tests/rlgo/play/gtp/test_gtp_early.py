"""GTP before there is an engine."""

from __future__ import annotations

import io
import random
import threading

import pytest
from gtp_controller import Scripted, random_line

from rlgo.base.errors import RlgoError
from rlgo.play.gtp import GtpEngine
from rlgo.play.gtp.early import NAMES, EarlyAnswers
from rlgo.play.gtp.streams import Ready, run_early
from rlgo.play.player import Player, RandomPlayer


class Sink(io.BytesIO):
    """Counts the answers, and sets an event at one of them."""

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self.at, self.reached = at, threading.Event()

    def flush(self) -> None:
        if len(self.answers) == self.at:
            self.reached.set()

    @property
    def answers(self) -> list[str]:
        return self.getvalue().decode().split("\n\n")[:-1]


def talk(lines: str, sink: Sink, player: Player | None = None, **options: object) -> GtpEngine | None:
    """Have lines answered; the player is made after as many answers as the sink waits for."""
    engines = []

    def make() -> Player:
        assert sink.reached.wait(60), f"only {sink.answers} came early"
        return Scripted("C3") if player is None else player

    def engine(player: Player, ready: Ready) -> GtpEngine:
        engines.append(GtpEngine(player, 5, title="level 3", ready=ready, **options))  # type: ignore[arg-type]
        return engines[-1]

    run_early(make, engine, EarlyAnswers("level 3", 5), io.BytesIO(lines.encode()), sink)
    return engines[0] if engines else None


def test_the_first_answers_need_no_engine() -> None:
    sink = Sink(at=6)
    log: list[str] = []
    lines = "1 name\nprotocol_version\n\n# x\nkomi 3.5\nboardsize 5\nclear_board\nknown_command genmove\n"
    engine = talk(f"{lines}2 get_komi\ngenmove b\nquit\n", sink, log=log.append)
    assert sink.answers == ["=1 rlgo level 3", "= 2", "=", "=", "=", "= true", "=2 3.5", "= C3", "="]
    assert engine is not None
    assert [line for line in log if line.startswith(">")][:3] == ["> 1 name", "> protocol_version", "> komi 3.5"]
    assert len(engine.game.moves) == 1


def test_all_commands_are_listed() -> None:
    engine = GtpEngine(RandomPlayer(1), 5)
    assert engine.handle("list_commands") == f"= {chr(10).join(NAMES)}\n\n"


def test_early_answers_are_those_of_the_engine() -> None:
    draw = random.Random(1)
    lines = [random_line(draw).decode("utf-8", "surrogateescape").strip("\n") for _ in range(5_000)]
    lines += ["boardsize 5", "boardsize 5 9", "3 boardsize", "komi", "komi x 3", "komi 1e9", "known_command", "4", " "]
    n_early = 0
    for line in lines:
        early = EarlyAnswers("level 3", 5).answer(line)
        if early is not None:
            n_early += 1
            assert (GtpEngine(RandomPlayer(1), 5, title="level 3").handle(line) or "") == early, line
    assert 200 < n_early < len(lines)


def test_a_player_that_cannot_be_made_ends_the_run() -> None:
    """Whether a command needs it, none comes, or the input ends before."""

    def make() -> Player:
        raise RlgoError("no such weights")

    def engine(_player: Player, _ready: Ready) -> GtpEngine:
        raise AssertionError

    class Endless(io.BytesIO):
        def readline(self, _size: int | None = -1) -> bytes:
            threading.Event().wait()
            raise AssertionError

    for source in (io.BytesIO(b"genmove b\n"), io.BytesIO(b"name\nquit\n"), io.BytesIO(), Endless()):
        with pytest.raises(RlgoError, match="no such weights"):
            run_early(make, engine, EarlyAnswers("", 5), source, Sink())


class Slow(Scripted):
    """Gets ready when the sink has as many answers as it waits for."""

    def __init__(self, sink: Sink, answers: str, error: str = "") -> None:
        super().__init__(answers)
        self.sink, self.error = sink, error

    def warm_up(self) -> None:
        assert self.sink.reached.wait(60), f"only {self.sink.answers} came before the player was ready"
        if self.error:
            raise RlgoError(self.error)


def test_only_what_needs_the_player_waits_for_it() -> None:
    sink = Sink(at=5)
    player = Slow(sink, "C4")
    lines = "play b C3\nlist_stones b\nclear_board\nplay b C2\nlist_stones b\ngenmove w\nquit\n"

    def engine(player: Player, ready: Ready) -> GtpEngine:
        return GtpEngine(player, 5, ready=ready)

    run_early(lambda: player, engine, EarlyAnswers("", 5), io.BytesIO(lines.encode()), sink)
    assert sink.answers == ["=", "= C3", "=", "=", "= C2", "= C4", "="]
    assert player.games == 1


@pytest.mark.parametrize("line", ["time_settings 60 0 0", "time_left b 60 0", "kgs-time_settings absolute 60"])
def test_no_clock_starts_before_the_player_is_ready(line: str) -> None:
    is_ready = threading.Event()

    class Late(Scripted):
        def warm_up(self) -> None:
            assert sink.reached.wait(60)
            is_ready.set()

    class Clock(Sink):
        def write(self, text: bytes) -> int:  # type: ignore[override]
            assert is_ready.is_set() or len(self.answers) < 2, "answered too early"
            return super().write(text)

    sink = Clock(at=2)

    def engine(player: Player, ready: Ready) -> GtpEngine:
        return GtpEngine(player, 5, ready=ready)

    source = io.BytesIO(f"play b C3\nlist_stones b\n{line}\nquit\n".encode())
    run_early(Late, engine, EarlyAnswers("", 5), source, sink)
    assert sink.answers == ["=", "= C3", "=", "="]


def test_a_player_that_does_not_get_ready_ends_the_run() -> None:
    sink = Sink(at=2)

    def engine(player: Player, ready: Ready) -> GtpEngine:
        return GtpEngine(player, 5, ready=ready)

    source = io.BytesIO(b"play b C3\nlist_stones b\ngenmove w\nlist_stones b\n")
    with pytest.raises(RlgoError, match="broken"):
        run_early(lambda: Slow(sink, "C4", "broken"), engine, EarlyAnswers("", 5), source, sink)
    assert sink.answers[:2] == ["=", "= C3"]
    assert set(sink.answers[2:]) <= {"? broken"}
