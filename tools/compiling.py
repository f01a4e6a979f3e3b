"""Measure what compiling a player takes, by the passes of numba and LLVM.

    python tools/compiling.py [PLAYER]

It makes the first move of a player (default: `rlgo`) on 9x9 with an empty cache, in one process, and prints the CPU
seconds of each pass, without those of the passes within it. To measure another version, set PYTHONPATH to its checkout.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

_MOST = 16  # passes shown


class Times:
    """CPU seconds by name; those of what is measured within something else are not counted twice."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inner: list[float] = []

    def timed(self, function: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        """Return a function that does the same and is measured; `name` names each call by its arguments."""

        def run(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            self._inner.append(0.0)
            try:
                return function(*arguments, **options)
            finally:
                taken = time.process_time() - start
                self.seconds[name(*arguments)] += taken - self._inner.pop()
                if self._inner:
                    self._inner[-1] += taken

        return run


def measure(spec: str) -> Counter[str]:
    """Return the CPU seconds of a player's first move, by pass."""
    from numba.core.codegen import CPUCodeLibrary
    from numba.core.compiler_machinery import PassManager

    from rlgo.go.game import Game
    from train.players.spec import make_player

    times = Times()
    PassManager._runPass = times.timed(PassManager._runPass, lambda *arguments: arguments[2].name())
    for step in (
        "add_ir_module",
        "_optimize_functions",
        "finalize",
        "_optimize_final_module",
        "_finalize_final_module",
    ):
        whole = times.timed(getattr(CPUCodeLibrary, step), lambda *_, step=step: f"LLVM: {step.strip('_')}")
        setattr(CPUCodeLibrary, step, whole)
    move = times.timed(lambda: make_player(spec, 9, 1).genmove(Game(9)), lambda: "everything else")
    move()
    return times.seconds


def main() -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"RLGO_CACHE_DIR": cache, "RLGO_COMPILE_AHEAD": "0"}
        seconds = measure(sys.argv[1] if len(sys.argv) > 1 else "rlgo")
    total = sum(seconds.values())
    print("| pass | CPU seconds | share |\n|---|---:|---:|")
    for name, taken in seconds.most_common(_MOST):
        print(f"| {name} | {taken:.2f} | {taken / total:.0%} |")
    print(f"| all | {total:.2f} | |")


if __name__ == "__main__":
    main()
