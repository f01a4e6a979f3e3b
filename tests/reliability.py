"""What takes too long for a test: run by hand, its results are kept in docs/results/reliability.json.

    python tests/reliability.py fuzz --lines 100000        random GTP lines to a real engine: one answer each
    python tests/reliability.py kill --games 200           a match whose engines are killed at random moments
    python tests/reliability.py memory --games 200         memory of one engine over many games
    python tests/reliability.py rate --games 10000         seconds to rate this many games of 50 players

Games against GNU Go on a clock are an ordinary `rlgo match --time 30 --check-scores`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from gtp_controller import ANSWER, random_line  # noqa: E402
from test_arena import Killer  # noqa: E402

from train.arena.elo import rate  # noqa: E402
from train.arena.match import play_match  # noqa: E402
from train.arena.referee import GameRecord  # noqa: E402
from train.arena.results import PlayedGame  # noqa: E402
from train.arena.tournament import pair_results  # noqa: E402

PLAYER = "mc_rave,sims=20"
GNUGO = "gtp:gnugo --mode gtp --level 0 --chinese-rules --positional-superko --capture-all-dead"
USUAL = [
    "b",
    "w",
    "black",
    "white",
    "D4",
    "a1",
    "J9",
    "K10",
    "pass",
    "resign",
    "0",
    "1",
    "5",
    "9",
    "19",
    "-1",
    "6.5",
    "value",
    "alive",
    "dead",
    "absolute",
    "byoyomi",
    "chinese",
    ".",
]
HUGE = [
    *["1e308", "nan", "inf", "0x10", "1_000", "%s%n", "\\", "..", "/"],
    "9" * 400,
    "-" + "9" * 30,
    "\u0663" * 9,
    "a" * 5000,
]


class Engine:
    """An engine that is spoken to line by line; every line is followed by one whose answer is known."""

    def __init__(self, spec: str) -> None:
        command = [sys.executable, "-m", "rlgo", "gtp", "--player", spec]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._in: Any = self._process.stdin
        self._out: Any = self._process.stdout
        self.stderr: list[bytes] = []
        threading.Thread(target=lambda: self.stderr.extend(self._process.stderr or ()), daemon=True).start()
        self._number = 10**12
        self.ask(b"", 600)  # it may have to compile first

    def ask(self, line: bytes, seconds: float = 60) -> list[bytes]:
        """The answers to one line. TimeoutError where the engine hangs, EOFError where it dies."""
        self._number += 1
        end = b"=%d 2\n\n" % self._number
        watch = threading.Timer(seconds, self._process.kill)
        watch.start()
        began = time.monotonic()
        try:
            self._in.write(line + b"\n%d protocol_version\n" % self._number)
            self._in.flush()
            text = b""
            while not text.endswith(end):
                more = self._out.readline()
                if not more:
                    raise TimeoutError(line) if time.monotonic() - began >= seconds else EOFError(line)
                text += more
        finally:
            watch.cancel()
        return [answer + b"\n\n" for answer in text[: -len(end)].split(b"\n\n")[:-1]]

    def memory_mb(self) -> float:
        """Resident memory now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def close(self) -> int:
        self._in.write(b"quit\n")
        self._in.flush()
        return self._process.wait(60)


def fuzz(lines: int, seed: int) -> dict[str, Any]:
    """Random bytes, huge numbers, and all known commands with arguments that are mostly wrong."""
    draw = random.Random(seed)
    engine = Engine(PLAYER)
    commands = engine.ask(b"list_commands")[0].decode()[2:].split()
    commands.remove("quit")
    answered = failed = 0
    for i in range(lines):
        line = (
            random_line(draw)
            if i % 2
            else " ".join(
                [draw.choice(commands), *(draw.choice([*USUAL, *USUAL, *HUGE]) for _ in range(draw.randrange(4)))]
            ).encode()
        )
        if b"quit" in line:
            continue
        visible = re.sub(rb"[\x00-\x20\x7f]|#.*", b"", line).decode("utf-8", "replace")
        visible = "".join(c for c in visible if not "\x7f" <= c < "\xa0" and not c.isspace())
        answers = engine.ask(line)
        assert len(answers) == bool(visible), (line, answers)
        for answer in answers:
            assert ANSWER.fullmatch(answer), (line, answer)
        answered += len(answers)
        failed += any(answer.startswith(b"?") for answer in answers)
        if i % 1000 == 0:
            print(f"\r{i:,} lines", end="", file=sys.stderr, flush=True)
    status = engine.close()
    tracebacks = sum(b"Traceback" in line for line in engine.stderr)
    return {"lines": lines, "seed": seed, "answered": answered, "refused": failed, "status": status,
            "tracebacks": tracebacks}  # fmt: skip


def kill(games: int, seed: int) -> dict[str, Any]:
    """Our engine against GNU Go, either killed every now and then."""

    class Patch:
        @staticmethod
        def setattr(owner: Any, name: str, value: Any) -> None:
            setattr(owner, name, value)

    killer = Killer(seed, longest=6.0)
    killer.watch(Patch)  # type: ignore[arg-type]
    ours = f"gtp:'{sys.executable}' -m rlgo gtp --all-alive --player {PLAYER}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        killer.start()
        result = play_match(ours, GNUGO, games, seed=seed, results=path)
        killer.stop()
        numbers = [json.loads(line)["game"] for line in path.read_text("utf-8").splitlines()[1:]]
    assert sorted(numbers) == list(range(1, games + 1))
    return {"games": games, "seed": seed, "killed": killer.killed, "forfeits": result.forfeits,
            "each_game_once": len(set(numbers)) == len(numbers) == games}  # fmt: skip


def memory(games: int, seed: int) -> dict[str, Any]:
    """Our engine against itself, in one process."""
    engine = Engine(f"heuristic_mc_rave,sims=300,seed={seed}")
    seen: dict[int, float] = {}
    for game in range(1, games + 1):
        engine.ask(b"clear_board")
        passes, color = 0, b"bw"
        for move in range(200):
            answer = engine.ask(b"genmove " + color[move % 2 : move % 2 + 1])[0]
            passes = passes + 1 if b"pass" in answer else 0
            if passes == 2 or b"resign" in answer:
                break
        if game in (20, games):
            seen[game] = round(engine.memory_mb(), 1)
        print(f"\r{game} games, {engine.memory_mb():.1f} MB", end="", file=sys.stderr, flush=True)
    engine.close()
    return {"games": games, "seed": seed, "mb_after": seen, "growth": round(seen[games] / seen[20] - 1, 4)}


def rating(games: int, seed: int) -> dict[str, Any]:
    """50 players, pairs at random."""
    rng = np.random.default_rng(seed)
    played = []
    for n in range(1, games + 1):
        i, j = rng.choice(50, 2, replace=False)
        played.append(PlayedGame(n, n, f"p{i}", f"p{j}", GameRecord((), float(rng.random() < 0.5), "B+R")))
    rate(pair_results(played))  # imports scipy
    start = time.perf_counter()
    rate(pair_results(played))
    return {"games": games, "players": 50, "seed": seed, "seconds": round(time.perf_counter() - start, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Reliability, by hand.")
    parser.add_argument("what", choices=("fuzz", "kill", "memory", "rate"))
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    by_games = {"kill": kill, "memory": memory, "rate": rating}
    found = fuzz(args.lines, args.seed) if args.what == "fuzz" else by_games[args.what](args.games, args.seed)
    print(json.dumps({args.what: found}))


if __name__ == "__main__":
    main()
