"""Count instructions and cache misses of a simulation on a machine with a small cache.

    python tools/cache_misses.py [--kib 512] [--players rlgo dyna2] CHECKOUT...

valgrind runs searches from the empty 9x9 board on simulated caches: 32 KiB each for instructions and data, and `--kib`
as the second level. A short and a long search are run, and the table shows their differences, divided by the
simulations, so that starting does not count. The last column is an estimate in the manner of KCachegrind: a cycle for
each instruction, 10 more for each miss of the first level, and 100 more for each of the second. The counts hardly
change from run to run, however busy the machine is. It takes some minutes for each checkout and player.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PLAYERS = ("rlgo", "td_search,sizes=1+2+3,T=never,epsilon=0.1", "dyna2,epsilon=0.1")
SHORT, LONG = 500, 4500  # simulations
SEARCH = """
import sys, rlgo
from train.players.spec import make_player
player = make_player(f"{sys.argv[1]},sims={sys.argv[2]}", 9, 1)
print(getattr(player.search(rlgo.Game(9)), "simulations", sys.argv[2]))
"""
PROCESSOR = {  # valgrind knows no vectors of 512 bits
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse4.1,+sse4.2",
    "OPENBLAS_CORETYPE": "Haswell",
    "PYTHONHASHSEED": "0",
}
COUNTS = ("I refs", "I1 misses", "D1 misses", "LL misses")


def counts_of(checkout: Path, cache: str, player: str, simulations: int, kib: int) -> list[int]:
    """Return the simulations of a search, which may end early, and what cachegrind counts, in the order of `COUNTS`."""
    environment = os.environ | PROCESSOR | {"PYTHONPATH": str(checkout), "RLGO_CACHE_DIR": cache}
    command = [sys.executable, "-c", SEARCH, player, str(simulations)]
    compiling = subprocess.run(command, env=environment, cwd=checkout, check=True, capture_output=True, text=True)
    caches = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", f"--LL={kib * 1024},8,64"]
    valgrind = ["valgrind", "--tool=cachegrind", *caches, "--cachegrind-out-file=/dev/null"]
    run = subprocess.run(valgrind + command, env=environment, cwd=checkout, check=True, capture_output=True, text=True)
    lines = [re.split(r": +", line.split("==")[-1].strip()) for line in run.stderr.splitlines()]
    found = {" ".join(line[0].split()): line[1].split()[0] for line in lines if len(line) == 2}
    return [int(compiling.stdout)] + [int(found[name].replace(",", "")) for name in COUNTS]


def main() -> None:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[HERE], help="checkouts to compare")
    parser.add_argument("--players", nargs="+", default=PLAYERS, metavar="SPEC")
    parser.add_argument("--kib", type=int, default=512, help="size of the second level")
    arguments = parser.parse_args()
    print("| player | version | instructions | first level | second level | cycles |\n|---|---|---:|---:|---:|---:|")
    for player in arguments.players:
        for checkout in arguments.checkouts:
            with tempfile.TemporaryDirectory() as cache:
                short, long = (counts_of(checkout.resolve(), cache, player, n, arguments.kib) for n in (SHORT, LONG))
            n, instructions, *first, second = (b - a for a, b in zip(short, long, strict=True))
            cycles = instructions + 10 * sum(first) + 100 * second
            numbers = " | ".join(f"{count / n:,.0f}" for count in (instructions, sum(first), second, cycles))
            print(f"| `{player}` | {checkout.name} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
