"""Misbehaving engines, each in matches of 50 games: the match reports it, continues, and leaves no process behind."""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from harness import Outcome, StressTest, main
from kills import Broken, children, wait_for_the_end

from rlgo.go.clock import TimeSettings
from train.arena.match import play_match
from train.players import engines

GAMES = 50

# It plays as `stand_ins.SMALL_ENGINE` does, and now and then does something else instead of a move.
ENGINE = """
import os, random, signal, subprocess, sys, time
draw, free, out, err = random.Random(int(sys.argv[1]) + time.time_ns()), [], sys.stdout, sys.stderr
for line in sys.stdin:
    command, *args = line.split() or [""]
    answer = {"name": "Rude", "version": "1", "known_command": "false"}.get(command, "")
    if command == "clear_board":
        free = [a + str(b) for b in range(1, 6) for a in "ABCDE"]
    elif command == "play" and args[1].upper() in free:
        free.remove(args[1].upper())
    elif command == "genmove":
        if draw.random() < 0.2:
            MANNERS
        answer = free.pop(0) if len(free) > 12 else "pass"
    elif command == "quit" and IGNORES_QUIT:
        continue
    print("= " + answer, end="\\n\\n", flush=True)
    if command == "quit":
        break
"""

_ENDLESS = ("without the end of an answer", "no answer within")  # a slow machine sees the clock run out first

# What it does, and parts of what must be told, one of them at least; none: the game goes on.
MANNERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "late": ("time.sleep(0.5)", ("out of time",)),
    "never answers": ("time.sleep(3600)", ("no answer within",)),
    "garbage": ("out.buffer.write(b'\\xff\\x00garbage \\x1b[2J\\n'); out.flush()", ("expected a GTP answer",)),
    "an answer to something else": ("out.write('= \\n\\n')", ("expected a vertex, found",)),
    "illegal moves": ("print('= Z99\\n'); out.flush(); continue", ("expected a vertex",)),
    "occupied points": ("print('= ' + draw.choice('ABCDE') + '3\\n'); out.flush(); continue", ()),
    "refuses": ("print('? ' + 'no ' * 10_000 + '\\n'); out.flush(); continue", ("failed: no no",)),
    "exits": ("sys.exit('tired')", ("ended with status 1; last output: tired",)),
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", ("ended with status -11",)),
    "closes its output": ("os.close(1); time.sleep(3600)", ("ended with status -9",)),
    "10 MB of errors": ("err.write('trouble ' * 1_250_000); err.flush()", ()),
    "10 MB of errors, then exits": ("err.write('trouble ' * 1_250_000); sys.exit(1)", ("ended with status 1",)),
    "an endless line": ("while out.write('x' * 65_536): pass", _ENDLESS),
    "endless lines": ("while out.write('= x\\n' * 10_000): pass", _ENDLESS),
    "endless empty lines": ("while out.write('\\n' * 10_000): pass", _ENDLESS),
    "has children": ("subprocess.Popen(['sleep', '3600']); time.sleep(3600)", ("no answer within",)),
    "ignores signals": ("signal.signal(15, signal.SIG_IGN); signal.signal(2, signal.SIG_IGN)", ()),
    "ignores quit": ("pass", ()),
}


def trials(draw: random.Random) -> Iterator[Outcome]:
    """Play one match after another, in turn with each kind of engine."""
    while True:
        for name, (does, told) in draw.sample(list(MANNERS.items()), len(MANNERS)):
            with tempfile.TemporaryDirectory() as place, patch.object(engines, "GRACE_SECONDS", 0.2):
                try:
                    figures = _match(Path(place), name, does, told, draw.randrange(10**6))
                    yield Outcome(name, n=GAMES, figures=figures)
                except Broken as broken:
                    yield Outcome(name, f"{name}: {broken}", GAMES)


def _match(place: Path, name: str, does: str, told: tuple[str, ...], seed: int) -> dict[str, float]:
    """Play a match; return how long its longest game took. Broken if it does not tell, or leaves a process."""
    (place / "rude.py").write_text(
        ENGINE.replace("MANNERS", does).replace("IGNORES_QUIT", str(name == "ignores quit")), "utf-8"
    )
    engine = f"gtp:'{sys.executable}' -S -E '{place / 'rude.py'}' {seed}"
    begun = time.monotonic()
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        result = play_match(
            "random", engine, GAMES, size=5, seed=seed, openings="random:2", time=TimeSettings(0.4),
            results=place / "games.jsonl", progress=False,
        )  # fmt: skip
    seconds = time.monotonic() - begun
    lines = [json.loads(line) for line in (place / "games.jsonl").read_text("utf-8").splitlines()[1:]]
    if sorted(line["game"] for line in lines) != list(range(1, GAMES + 1)):
        raise Broken(f"{len(lines)} games")
    reasons = [line["forfeit"] for line in lines if line["forfeit"]]
    for reason in reasons:
        if len(reason) > 500 or not reason.isprintable() or reason not in printed.getvalue():
            raise Broken(f"told badly: {reason[:600]!r}")
    if told and not any(words in reason for reason in reasons for words in told):
        raise Broken(f"not told: expected {' or '.join(told)}: {reasons[0] if reasons else 'no forfeit'}")
    wait_for_the_end(str(place))
    if left := children():
        raise Broken(f"children {left} are left")
    return {"forfeits": float(result.forfeits), "longest match, s": round(seconds, 1)}


STRESS_TEST = StressTest(
    "bad_manners",
    f"matches of {GAMES} games against engines that are late, silent, endless, garbled, dying or deaf",
    "forfeits with a reason, no hang, no process left over, not even a zombie",
    unit="games",
    count=len(MANNERS) * GAMES,
    trials=trials,
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
