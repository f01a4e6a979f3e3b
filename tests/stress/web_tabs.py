"""Twenty tabs that search at once, with the server in a separate process.

    python tests/stress/web_tabs.py --count 200 --seed 1 --json results/stress/web_tabs.json

One trial is one search of one tab. In each round, all tabs search for the same time, and the tab with the fewest
simulations must have at least half of the mean.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import ROOT, Outcome, StressTest, main  # first: it makes the others importable
from websockets.sync.client import ClientConnection, connect

_TABS = 20
_SECONDS = 10.0  # of a round
_FAIR = 0.5  # of the mean number of simulations
_MOST_MB = 2_000.0  # of the server's memory
_SPECS = ["mc_rave,seconds=60", "heuristic_mc_rave,seconds=60", "uct,seconds=60"]


@contextlib.contextmanager
def server() -> Iterator[tuple[str, int]]:
    """Start a server; yields the address of its WebSocket, token included, and its process number."""
    command = [sys.executable, "-m", "rlgo", "web", "--no-browser", "--port", "0", "--player", "random"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd="/") as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                found = re.search(r"http://(\S+)/\?token=(\S+)", line)
                if found:
                    break
            else:
                raise RuntimeError("the server did not start")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield f"ws://{found[1]}/api/session?token={found[2]}", process.pid
        finally:
            process.terminate()


def _final(socket: ClientConnection) -> dict[str, Any]:
    """Wait for the end of a search; returns its last message, and how many came before as `updates`."""
    updates = 0
    while True:
        message = json.loads(socket.recv(timeout=300))
        assert message["type"] != "error", message
        updates += message["type"] == "search"
        if message["type"] == "search" and message["final"]:
            return {**message, "updates": updates - 1}


def _memory_mb(pid: int) -> float:
    """The resident memory of a process; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]
    return 0.0


def trials(draw: random.Random) -> Iterator[Outcome]:
    """Let all tabs search, round after round."""
    with server() as (url, pid), contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(connect(url, max_size=None)) for _ in range(_TABS)]
        for spec in _SPECS:  # compile before anything is compared
            sockets[0].send(json.dumps({"type": "search", "player": spec, "seconds": 0.1}))
            _final(sockets[0])
        peak, least, updates = 0.0, 1.0, float("inf")
        while True:
            spec = draw.choice(_SPECS)
            for socket in sockets:
                socket.send(json.dumps({"type": "search", "player": spec, "seconds": _SECONDS}))
            ends = [_final(socket) for socket in sockets]
            peak = max(peak, _memory_mb(pid))
            counts = [end["count"] for end in ends]
            mean = sum(counts) / len(counts)
            least = min(least, min(counts) / mean)
            updates = min(updates, *(end["updates"] / _SECONDS for end in ends))
            figures = {
                "least share of the mean": round(least, 3),
                "least updates per second": round(updates, 2),
                "peak memory of the server, MB": round(peak),
            }
            for count in counts:
                failure = ""
                if count < _FAIR * mean:
                    failure = f"{spec}: {count:,} simulations, where the mean was {mean:,.0f}"
                elif peak > _MOST_MB:
                    failure = f"the server took {peak:,.0f} MB"
                yield Outcome(f"search of {spec.partition(',')[0]}", failure, figures=figures)


STRESS_TEST = StressTest(
    "web_tabs",
    "20 tabs of the page searching at once",
    "a fair share for each, and bounded memory",
    unit="searches",
    count=200,
    trials=trials,
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
