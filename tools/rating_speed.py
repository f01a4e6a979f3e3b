"""Time the rating of many games of 50 players: ``python tools/rating_speed.py --games 10000``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from train.arena.elo import rate
from train.arena.referee import GameRecord
from train.arena.results import PlayedGame
from train.arena.tournament import pair_results


def main() -> None:
    """Rate tournaments, and print how long it takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    played = []
    for n in range(1, args.games + 1):
        i, j = rng.choice(50, 2, replace=False)
        played.append(PlayedGame(n, n, f"p{i}", f"p{j}", GameRecord((), float(rng.random() < 0.5), "B+R")))
    rate(pair_results(played))  # imports scipy
    start = time.perf_counter()
    rate(pair_results(played))
    print(f"{args.games:,} games of 50 players: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
