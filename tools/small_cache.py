"""Measure how fast moves are described on machines with small caches: python tools/small_cache.py [PATTERNS].

Before each position, another buffer is read, which takes that much of the cache away; its own time is subtracted. On a
machine with 2 MiB of second-level cache a core, 1,536 KiB leave 512. The positions are those of a tree: a few moves
after the empty 9x9 board, and after the middle game of `rlgo bench patterns`, chosen by the patterns.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rlgo.compiler.jit import njit
from rlgo.go.board import PASS, new_boards, play
from rlgo.go.rules import zobrist
from rlgo.moves.move_features import new_study
from rlgo.moves.patterns import load_patterns, score_moves
from train.bench.measures import middle_game

SIZE, POSITIONS, RUNS = 9, 250, 9
TAKEN = (0, 1024, 1536, 3072)  # KiB


@njit
def describe(boards, strengths, scratch, moves, x, buffer):
    """Describe the moves of all positions, reading the buffer before each, or only read it; return their number."""
    n, total = 0, 0
    for i in range(len(boards)):
        for j in range(0, len(buffer), 8):
            total += buffer[j]
        if strengths is not None:
            n += score_moves(boards[i], PASS, strengths, scratch, moves, x)
    return n + np.int64(total < 0)


def positions(opening, strengths, scratch, moves, x):
    """Return positions up to a dozen moves after an opening, each move drawn by its probability."""
    rng, boards = np.random.default_rng(1), new_boards(POSITIONS, SIZE)
    for board in boards:
        for p in opening:
            play(board, p, zobrist(SIZE))
        for _ in range(min(12, int(rng.geometric(0.2)) - 1)):
            n = score_moves(board, PASS, strengths, scratch, moves, x)
            e = np.exp(x[:n] - x[:n].max())
            play(board, int(rng.choice(moves[:n], p=e / e.sum())), zobrist(SIZE))
    return boards


def seconds(run):
    """Return the least CPU time of some runs."""
    run()
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    """Print nanoseconds a move, by kind of position and by how much of the cache is taken."""
    strengths = load_patterns(sys.argv[1] if sys.argv[1:] else "9x9").strengths()
    scratch, moves, x = new_study(SIZE), np.zeros(SIZE * SIZE + 1, np.int64), np.zeros(SIZE * SIZE + 1)
    for name, opening in (("empty", []), ("middle", [p for _, p in middle_game().moves])):
        boards, line = positions(opening, strengths, scratch, moves, x), f"{name:6}"
        for kib in TAKEN:
            buffer = np.ones(max(1, kib * 128), np.int64)
            n = describe(boards, strengths, scratch, moves, x, buffer)
            both = seconds(partial(describe, boards, strengths, scratch, moves, x, buffer))
            alone = seconds(partial(describe, boards, None, scratch, moves, x, buffer))
            line += f"  {kib:5,} KiB {1e9 * (both - alone) / n:4.0f} ns"
        print(line, flush=True)


if __name__ == "__main__":
    main()
