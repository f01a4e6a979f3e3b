"""GTP lines: random bytes, words in any order, and lines of real sessions with damage, with clocks and interrupts.

Most go through `rlgo.play.gtp.run` in this process, every eighth session through the command. Each line that is not
blank or a comment gets one well-formed answer, in order; no traceback; memory does not grow.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import ROOT, Outcome, StressTest, main
from gtp_controller import ANSWER
from gtp_process import GtpProcess

from rlgo.play.gtp import GtpEngine, run
from rlgo.play.gtp.protocol import COMMANDS, split_line
from train.players import make_player

LINES = 250  # in a session
SEARCH = "mc_rave,sims=12,seed=1"
# Players, the board sizes that a session with them may change to, and how often they are taken. Each size of a search
# compiles for minutes. The first player ponders between lines, which costs ten times as long as to answer them.
PLAYERS = (
    (SEARCH, ("9",), 1),
    (SEARCH, ("9",), 7),
    ("random,seed=1", ("9", "13"), 4),
    ("greedy,seed=1", ("9", "13"), 4),
)
WARM = 60_000  # lines after which memory should not grow any more
GROWTH_MB = 30.0

_COLORS = ["b", "w", "black", "white", "B", "WHITE"]
_VERTICES = [f"{letter}{n}" for letter in "ABCDEFGHJ" for n in range(1, 10)] + [
    "pass",
    "PASS",
    "K10",
    "T19",
    "I5",
    "a1",
]
_NUMBERS = ["0", "1", "2", "5", "9", "60", "300", "-1", "6.5", "7.5", "0.05", "1e9", "nan", "9" * 400, "\u0663" * 9]
_WORDS = ["alive", "dead", "dame", "absolute", "byoyomi", "canadian", "none", "chinese", "value", "interval", "%s%n"]
_PATHS = ["/dev/null", "/dev/zero", ".", "docs/figure_12b.sgf", "no such file", "a" * 5000]
_OWN = ["protocol_version", "name", "version", "known_command", "list_commands", "help"]


def real_session(draw: random.Random, sizes: Sequence[str]) -> list[str]:
    """What a controller sends in a game, with a clock more often than not."""
    lines = [f"boardsize {draw.choice(sizes)}", "clear_board", f"komi {draw.choice(['6.5', '7.5', '0'])}"]
    clock = draw.choice(["", "time_settings 60 0 0", "time_settings 0 10 5", "kgs-time_settings byoyomi 5 1 3",
                         "kgs-time_settings canadian 60 30 10", "time_settings 1 0 0"])  # fmt: skip
    lines += [clock] if clock else []
    for i in range(draw.randrange(4, 40)):
        color = "bw"[i % 2]
        if clock and draw.random() < 0.7:
            lines.append(f"time_left {color} {draw.randrange(61)} {draw.choice([0, 0, 0, 3])}")
        lines.append(f"genmove {color}" if draw.random() < 0.5 else f"play {color} {draw.choice(_VERTICES)}")
        if draw.random() < 0.1:
            lines.append(
                draw.choice(["undo", "showboard", "final_score", "lz-analyze b 1", "list_stones w", "# interrupt"])
            )
    return lines


def random_words(draw: random.Random) -> str:
    name = draw.choice([*COMMANDS, *_OWN, draw.choice(_WORDS)])
    pools = (_COLORS, _COLORS, _VERTICES, _VERTICES, _NUMBERS, _WORDS, _PATHS)
    return " ".join([name, *(draw.choice(draw.choice(pools)) for _ in range(draw.randrange(5)))])


def damaged(line: bytes, draw: random.Random) -> bytes:
    data = bytearray(line)
    for _ in range(draw.randrange(1, 4)):
        i = draw.randrange(len(data) + 1)
        what = draw.randrange(4)
        if what == 0 and i < len(data):
            data[i] = draw.randrange(256)
        elif what == 1:
            data[i:i] = draw.choice([b" ", b"\t", b"#", b"\x00", b"\r", b"9", b"\xff\xfe", "é".encode()])
        elif what == 2:
            del data[i : i + draw.randrange(4)]
        else:
            data[i:i] = data[:i]
    return bytes(data)


def line_of(draw: random.Random, session: list[str], sizes: Sequence[str]) -> bytes:
    """The next line of a session, or one that does not belong there."""
    what = draw.random()
    if what < 0.2:
        line = draw.randbytes(draw.randrange(40))
    elif what < 0.5:
        line = random_words(draw).encode("utf-8", "replace")
    else:
        if not session:
            session += real_session(draw, sizes)
        line = session.pop(0).encode()
        if what < 0.7:
            line = damaged(line, draw)
    line = line.replace(b"\n", b"")
    if draw.random() < 0.2:
        line = b"%d %s" % (draw.randrange(10**6), line)
    return b"" if is_left_out(line, sizes) else line


def is_left_out(line: bytes, sizes: Sequence[str]) -> bool:
    """Whether to leave a line out: ``quit``, and board sizes that would compile."""
    _, words = split_line(line.decode("utf-8", "replace"))
    name, *args = words or [""]
    if name == "boardsize" and args and re.fullmatch("[0-9]{1,2}", args[0]):
        return 5 <= int(args[0]) <= 19 and str(int(args[0])) not in sizes
    return name == "quit" or (name == "loadsgf" and any(arg.endswith(".sgf") for arg in args))


def expected(lines: list[bytes]) -> list[str]:
    """The ids of the answers, "" for none: one for each line that is not blank or a comment."""
    ids = []
    for line in lines:
        id_, words = split_line(line.decode("utf-8", "replace"))
        if id_ or words:
            ids.append(id_)
    return ids


def broken(lines: list[bytes], answers: bytes) -> str:
    """How the answers break the promise; "" if they keep it."""
    parts = [part + b"\n\n" for part in answers.split(b"\n\n")[:-1]]
    ids = expected(lines)
    if len(parts) != len(ids):
        return f"{len(ids)} lines, {len(parts)} answers"
    for id_, part in zip(ids, parts, strict=True):
        if not ANSWER.fullmatch(part):
            return f"malformed: {part!r}"
        match = re.match(rb"[=?]([0-9]*)", part)
        assert match is not None
        if match[1].decode() != id_:
            return f"id {id_!r}: answered {part[:60]!r}"
    return ""


def feed(lines: list[bytes], write: int, draw: random.Random) -> None:
    """Write lines into a pipe, with interrupts in between."""
    with open(write, "wb") as pipe, contextlib.suppress(BrokenPipeError):
        for line in lines:
            pipe.write(line + b"\n")
            if draw.random() < 0.05:
                pipe.write(b"# interrupt\n")
            if draw.random() < 0.3:
                pipe.flush()


def in_process(engine: GtpEngine, lines: list[bytes], draw: random.Random) -> tuple[bytes, str]:
    """The answers of an engine in this process, and what it wrote on standard error."""
    read, write = os.pipe()
    feeder = threading.Thread(target=feed, args=(lines, write, random.Random(draw.random())))
    answers, errors = io.BytesIO(), io.StringIO()
    with open(read, "rb") as source, contextlib.redirect_stderr(errors):
        feeder.start()
        run(engine, source, answers)
        feeder.join()
    return answers.getvalue(), errors.getvalue()


def through_pipes(engine: GtpProcess, lines: list[bytes], draw: random.Random) -> tuple[bytes, str]:
    """The same of the command, with interrupts at other moments."""
    for line in lines:
        engine.write(line + b"\n")
        if draw.random() < 0.05:
            engine.write(b"# interrupt\n")
    return b"".join(engine.read() for _ in expected(lines)), engine.errors()


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def trials(draw: random.Random) -> Iterator[Outcome]:
    os.chdir(ROOT)
    engines = [
        (GtpEngine(make_player(spec, 9), make=functools.partial(make_player, spec), ponders=i == 0), sizes)
        for i, (spec, sizes, _) in enumerate(PLAYERS)
    ]
    process = GtpProcess([sys.executable, "-m", "rlgo", "gtp", "--player", SEARCH, "--ponder"])
    process.ask("name")
    n, base, session = 0, 0.0, list[str]()
    try:
        while True:
            by_command = draw.random() < 1 / 8
            engine, sizes = draw.choices(engines, [often for *_, often in PLAYERS])[0]
            sizes = ("9",) if by_command else sizes
            # An analysis goes on until another command arrives: there is always one more.
            lines = [*(line_of(draw, session, sizes) for _ in range(LINES - 1)), b"name"]
            if by_command:
                answers, errors = through_pipes(process, lines, draw)
            else:
                answers, errors = in_process(engine, lines, draw)
            n += len(lines)
            failure = broken(lines, answers)
            if "Traceback" in errors:
                failure = failure or errors[-300:]
            memory = memory_mb() + process.memory_mb()
            base = memory if n <= WARM else base
            if memory > base + GROWTH_MB:
                failure = failure or f"memory grew from {base:.0f} to {memory:.0f} MB"
                base = memory
            if failure:
                failure += f"; lines {b'|'.join(lines)[:2000]!r}"
            yield Outcome(
                "through the command" if by_command else "in this process",
                failure,
                len(lines),
                {"MB after 60,000 lines": round(base), "MB": round(memory)},
            )
    finally:
        process.close()


STRESS_TEST = StressTest(
    "gtp_lines", "GTP lines: random, mutated from sessions, with clocks and with interrupts",
    "one well-formed answer each, in order; no traceback; no memory growth",
    unit="lines", count=1_000_000, trials=trials,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
