"""What it takes other processes to see: the time to start, the memory of training, what a watching page costs.

Each of these processes is a new interpreter that runs the program above the function that measures it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from rlgo.base.errors import RlgoError
from train.bench import timing
from train.bench.timing import Numbers, median


def _python(program: str, *arguments: str) -> list[str]:
    """Return the command that runs a program in a new interpreter, with the modules of this one."""
    return [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}", *arguments]


# Play one compiled episode.
_FIRST_EPISODE = """
from train.config import load_config
from train.runs.learners import make_learner
make_learner(load_config("paper"), 1).play(1)
"""


def warm_start() -> Numbers:
    """Measure the seconds from a new interpreter to the end of the first episode, with warm caches."""

    def seconds() -> float:
        start = time.perf_counter()
        subprocess.run(_python(_FIRST_EPISODE), check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start

    yield "warm_start_s", median(seconds)


# Make a player's first move.
_FIRST_MOVE = """
import sys
from rlgo.go.game import Game
from train.players.spec import make_player
player = make_player(sys.argv[1], 9, 1)
player.warm_up()
player.genmove(Game(9))
"""


def cold_start(spec: str) -> Numbers:
    """Measure once, as it is slow, the seconds from a new interpreter to a player's first move, with an empty cache."""
    command = _python(_FIRST_MOVE, spec)
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env={**os.environ, "RLGO_CACHE_DIR": cache})
        yield "cold_first_move_s", time.perf_counter() - start


# Print the peak memory of a process that trains, in MB. On Linux, a child inherits `ru_maxrss` but not VmHWM.
_PEAK_MEMORY = """
import resource, sys
from train.config import load_config
from train.runs.learners import make_learner
make_learner(load_config("paper"), 1).learn(1000)
try:
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024)
except (OSError, StopIteration):
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024))
"""


def memory() -> Numbers:
    """Measure the peak memory of training."""
    run = _python(_PEAK_MEMORY)
    for _ in range(2):  # the first process may have to compile
        peak = float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    yield "train_memory_mb", peak


# Act as a page of `rlgo web`: start searches, watched and unwatched in turn, and print the simulations of each.
_PAGE = """
import json, sys
from websockets.sync.client import connect
url, spec, searches = sys.argv[1], sys.argv[2], int(sys.argv[3])
with connect(url, max_size=None) as page:
    for number in range(searches):
        page.send(json.dumps({"type": "watch", "on": number % 2 == 0}))
        page.send(json.dumps({"type": "search", "player": spec}))
        while True:
            message = json.loads(page.recv())
            if message["type"] == "search" and message["final"]:
                break
        print(message["count"], flush=True)
"""


def web(n: int, cpus: set[int]) -> Numbers:
    """Measure what share of its simulations a search keeps while a page watches it.

    The page is another process, on any core. Only the CPU time of this process, which searches and serves, counts.
    """
    try:
        from train.play.web.server.serve import in_background
    except RlgoError:  # rlgo[web] is not installed
        return
    from train.play.web.options import Options

    spec = f"heuristic_mc_rave,sims={n},reuse=off"
    with in_background(Options(player="random")) as url:
        page = _python(_PAGE, url, spec, str(2 * (timing.RUNS + 1)))
        with subprocess.Popen(page, stdout=subprocess.PIPE, text=True) as process:
            if cpus:
                os.sched_setaffinity(process.pid, cpus)
            assert process.stdout is not None
            rates = []
            before = time.process_time()
            for line in process.stdout:
                now = time.process_time()
                rates.append(int(line) / (now - before))
                before = now
    watched, unwatched = rates[2::2], rates[3::2]
    yield "web_search_share", statistics.median(watched) / statistics.median(unwatched)
