"""GTP over streams: reading ahead, interrupts, pondering, arbitrary bytes."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from gtp_controller import ANSWER, Scripted, Thinker, random_line

from rlgo.base.errors import RlgoError
from rlgo.go.board import WHITE
from rlgo.play.gtp import GtpEngine, run
from rlgo.play.player import RandomPlayer

ROOT = Path(__file__).resolve().parents[4]


def test_run_stops_at_quit(capsys: pytest.CaptureFixture[str]) -> None:
    source = io.BytesIO(b"1 name\n\n# x\n2 genmove b\n3 quit\n4 name\n")
    sink = io.BytesIO()
    run(GtpEngine(Scripted("print")), source, sink)
    assert sink.getvalue() == b"=1 rlgo scripted\n\n=2 PASS\n\n=3\n\n"
    assert source.read() == b"4 name\n"
    assert capsys.readouterr() == ("", "chatter\n")


def test_run_stops_at_the_end() -> None:
    sink = io.BytesIO()
    run(GtpEngine(Scripted()), io.BytesIO(b"name"), sink)
    assert sink.getvalue() == b"= rlgo scripted\n\n"


def test_a_byte_order_mark_is_no_part_of_the_first_command() -> None:
    sink = io.BytesIO()
    run(GtpEngine(Scripted(), 5), io.BytesIO(b"\xef\xbb\xbf1 protocol_version\nquit\n"), sink)
    assert sink.getvalue() == b"=1 2\n\n=\n\n"


def test_the_name_of_a_file_may_be_any_bytes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xb6\xd4\xbe\xd6.sgf")).write_text("(;SZ[5];B[cc])")
    engine, sink = GtpEngine(Scripted(), 5), io.BytesIO()
    lines = b"loadsgf %b/\xb6\xd4\xbe\xd6.sgf\nloadsgf \xb6\xd4\n" % os.fsencode(tmp_path)
    run(engine, io.BytesIO(lines), sink)
    assert len(engine.session.game.moves) == 1
    good, bad, _ = sink.getvalue().split(b"\n\n")
    assert good == b"="
    assert bad.startswith(b"? cannot load file: '")
    assert bad.isascii()
    assert bad.endswith(b": no such file")


def test_any_bytes_get_a_well_formed_answer(capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(1)
    engine = GtpEngine(RandomPlayer(1))
    answered = failed = 0
    for i in range(6_000):
        line = random_line(draw)
        sink = io.BytesIO()
        engine.done = False
        run(engine, io.BytesIO(line + b"\n"), sink)
        answer = sink.getvalue()
        where = f"line {i}: {line!r}: {answer!r}"
        visible = re.sub(rb"[\x00-\x20\x7f]|#.*", b"", line).decode("utf-8", "replace")
        visible = "".join(c for c in visible if not "\x7f" <= c < "\xa0" and not c.isspace())
        assert bool(answer) == bool(visible), where
        if answer:
            assert ANSWER.fullmatch(answer), where
            assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", answer), where
            id_ = re.match(r"[0-9]+(?![^ \t])", line.decode("utf-8", "replace").lstrip(" \t"))
            if id_ and line.isascii() and line.decode().isprintable():
                assert answer[1:].startswith(id_[0].encode()), where
            answered += 1
            failed += answer.startswith(b"?")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert not re.sub("compiling .*\n", "", printed.err)
    assert answered > 3_000
    assert 1000 < failed < answered - 1000


@pytest.mark.slow
def test_the_command_speaks_gtp() -> None:
    """`rlgo gtp`, over real pipes: an answer comes before the next command is sent, and nothing else does."""
    with subprocess.Popen(
        [sys.executable, "-m", "rlgo", "gtp", "--player", "random,seed=1", "--size", "7"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for line, expected in (
            (b"1 name\n", b"=1 rlgo random,seed=1\n"),
            (b"2 genmove b\n", None),
            (b"3 quit\n", b"=3\n"),
        ):
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer == expected or (expected is None and re.fullmatch(rb"=2 [A-G][1-7]\n", answer))
            assert process.stdout.readline() == b"\n"
        assert process.stdout.read() == b""
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 0


def test_lines_that_are_too_long() -> None:
    sink = io.BytesIO()
    source = io.BytesIO(b"play b D4 " + b"x" * 5_000_000 + b"\n1 list_stones b\n" + b"y" * 3_000_000)
    run(GtpEngine(RandomPlayer(1)), source, sink)
    assert sink.getvalue().decode().split("\n\n") == [
        "? line too long: expected at most 1,048,576 bytes",
        "=1",
        "? line too long: expected at most 1,048,576 bytes",
        "",
    ]


def test_interrupts_belong_to_the_command_before_them() -> None:
    """Whether it is under way, or still waits."""
    player = Thinker()
    sink = io.BytesIO()
    run(GtpEngine(player), io.BytesIO(b"genmove b\n# interrupt\ngenmove w\nquit\n"), sink)
    assert sink.getvalue() == b"= A1\n\n= B1\n\n=\n\n"
    assert player.steps < 20_000
    player = Thinker()
    run(GtpEngine(player), io.BytesIO(b"# interrupt\ngenmove b\nquit\n"), io.BytesIO())
    assert player.steps == 10_000


class Pipe(io.RawIOBase):
    """Standard input to which more is written when the engine asks for it in vain."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines

    def readline(self, _size: int | None = -1) -> bytes:
        return self.lines.pop(0) if self.lines else b""


def test_interrupts_come_while_a_command_is_carried_out() -> None:
    """`# interrupt` gets no answer of its own; it ends the search that runs."""
    player = Thinker()
    waiting = threading.Event()

    class Late(Pipe):
        def readline(self, size: int | None = -1) -> bytes:
            if self.lines and self.lines[0].startswith(b"# interrupt"):
                waiting.wait(60)
            return super().readline(size)

    def think(stop: Any) -> None:
        waiting.set()
        while not stop():
            pass

    player.think = think  # type: ignore[method-assign]
    sink = io.BytesIO()
    run(GtpEngine(player), Late([b"1 genmove b\n", b"# interrupt\n", b"2 quit\n"]), sink)  # type: ignore[arg-type]
    assert sink.getvalue() == b"=1 A1\n\n=2\n\n"


def ponderings(lines: str, ponders: bool = True) -> list[tuple[int, int]]:
    player = Thinker()
    engine = GtpEngine(player, ponders=ponders)
    for line in lines.split(", "):
        engine.handle(line)
        engine.session.ponder(lambda: True)
    return player.pondered


def test_pondering_is_for_the_opponents_turn() -> None:
    assert ponderings("genmove b") == [(1, WHITE)]
    assert ponderings("genmove b, time_left w 10 0, play w J9, genmove b") == [(1, WHITE), (1, WHITE), (3, WHITE)]
    assert ponderings("play b J9, reg_genmove w, undo, clear_board") == []
    assert ponderings("genmove b, clear_board, genmove b, undo") == [(1, WHITE)] * 2
    assert ponderings("genmove b, gogui-play_sequence w J9") == [(1, WHITE)]
    assert ponderings("genmove b", ponders=False) == []


def test_nobody_ponders_after_the_end() -> None:
    engine = GtpEngine(Scripted("pass"), ponders=True)
    engine.session.player.ponder = lambda _game, _stop: pytest.fail("pondered")  # type: ignore[method-assign]
    engine.handle("play w pass")
    engine.handle("genmove b")
    engine.session.ponder(lambda: True)


# ---------------------------------------------------------------------------------------------
# Before the player is ready
# ---------------------------------------------------------------------------------------------


class Sink(io.BytesIO):
    """Sets an event at its second answer."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()

    def flush(self) -> None:
        if len(self.answers) == 2:
            self.reached.set()

    @property
    def answers(self) -> list[str]:
        return self.getvalue().decode().split("\n\n")[:-1]


class Slow(Scripted):
    """Gets ready at the second answer."""

    def __init__(self, sink: Sink, error: str = "") -> None:
        super().__init__("C4")
        self.sink, self.error, self.is_ready = sink, error, threading.Event()

    def warm_up(self) -> None:
        assert self.sink.reached.wait(60), f"only {self.sink.answers} came before the player was ready"
        if self.error:
            raise RlgoError(self.error)
        self.is_ready.set()


@pytest.mark.parametrize(
    ("line", "answer"),
    [("genmove w", "= C4"), ("time_settings 60 0 0", "="), ("time_left b 60 0", "="), ("kgs-time_settings none", "=")],
)
def test_only_what_needs_the_player_waits_for_it(line: str, answer: str) -> None:
    sink = Sink()
    player = Slow(sink)
    run(GtpEngine(player, 5, ready=lambda _: None), io.BytesIO(f"play b C3\nlist_stones b\n{line}\n".encode()), sink)
    assert player.is_ready.is_set()
    assert sink.answers == ["=", "= C3", answer]


def test_a_player_that_does_not_get_ready_plays_no_move() -> None:
    sink, errors = Sink(), list[BaseException | None]()
    engine = GtpEngine(Slow(sink, "broken"), 5, ready=errors.append)
    run(engine, io.BytesIO(b"play b C3\nlist_stones b\ngenmove w\ngenmove w\n"), sink)
    assert sink.answers == ["=", "= C3", "? broken", "? broken"]
    assert [str(error) for error in errors] == ["broken"]
