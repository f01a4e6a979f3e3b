"""Where the time of a ply and of a simulation goes, in nanoseconds of CPU time: ``python tools/ply_speed.py``."""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rlgo.base.settings import LOGISTIC, Learning, Policy
from rlgo.compiler.jit import copy_record, njit
from rlgo.features.incremental import reset, reweigh, update, update_value
from rlgo.features.rewriting import fuse
from rlgo.features.shapes import make_features
from rlgo.features.weights import load_weights, shipped_weights
from rlgo.go.board import play
from rlgo.go.rules import make_rules
from rlgo.learning.scratch import make_scratch
from rlgo.learning.selfplay import play_episode, tally_dtype
from rlgo.learning.td import learn_game, make_memory
from rlgo.learning.value import best_afterstate
from rlgo.moves.rollout import MOGO, UNIFORM, DefaultPolicy, begin_rollout, is_decided, step_rollout

RUNS, GAMES, MOST = 9, 300, 243
RULES_ONLY, VALUES, GAINS, BEST = range(4)


@njit
def replay(games, lengths, scratch, table, rules, parts):
    """Play games again, with more or less of what self-play does in each ply."""
    b, sh = scratch.boards[1], scratch.shapes[1]
    for i in range(len(lengths)):
        copy_record(scratch.boards[0], b)
        copy_record(scratch.shapes[0], sh)
        for t in range(lengths[i]):
            play(b, np.int64(games[i, t]), rules.zobrist)
            if parts == VALUES:
                update_value(b, sh, table)
            elif parts != RULES_ONLY:
                update(b, sh, table)
            if parts == BEST:
                best_afterstate(b, sh, table, scratch.rng)


@njit
def learn(n, episode, memory, learning):
    """Learn from one game n times."""
    for _ in range(n):
        learn_game(episode, 1.0, 1e-6, learning, memory)


@njit
def weigh(n, sh, table):
    """Begin n simulations, each of which evaluates its root with changed weights."""
    for _ in range(n):
        reweigh(sh, table)


@njit
def roll_out(n, scratch, default, rules):
    """Play n games by a default policy; return the number of plies."""
    b, plies = scratch.boards[1], 0
    for _ in range(n):
        copy_record(scratch.boards[0], b)
        begin_rollout(b, default, scratch.rollout)
        for _ in range(MOST):  # repetitions might go on for ever
            if is_decided(b, default, rules):
                break
            step_rollout(b, default, scratch.rollout, rules, scratch.rng)
            plies += 1
    return plies


def measure(what: str, run: Callable[[], object], n: int, unit: str = "ply") -> None:
    """Print the median time of a run, divided by the n units in it."""
    run()
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    print(f"{what:45s} {statistics.median(seconds) / n * 1e9:6,.0f} ns a {unit}", flush=True)


def main() -> None:
    """Print the table."""
    weights, rules = load_weights(shipped_weights(9)), make_rules(9, 7.5)
    table, scratch = weights.table(), make_scratch(9, tally_dtype(), 1)
    reset(scratch.boards[0], scratch.shapes[0], table)
    episode = scratch.episode
    games, lengths = np.zeros((GAMES, len(episode.moves)), np.uint16), np.zeros(GAMES, np.int64)
    for i in range(GAMES):
        copy_record(scratch.boards[0], scratch.boards[1])
        copy_record(scratch.shapes[0], scratch.shapes[1])
        play_episode(scratch, table, Policy(epsilon=0.1), LOGISTIC, rules, MOST, True)
        lengths[i] = episode.n
        games[i] = episode.moves
    plies = int(lengths.sum())
    names = "rules", "rules, V(s)", "rules, V(s), all gains", "rules, V(s), all gains, best afterstate"
    for weighed, own in (("", table), (" (fused)", weights.table(is_fused=True))):
        reset(scratch.boards[0], scratch.shapes[0], own)
        for parts, name in enumerate(names):
            measure(name + weighed, functools.partial(replay, games, lengths, scratch, own, rules, parts), plies)
    memory = make_memory(weights.features, Learning(), weights.theta)
    measure("learning from a game", lambda: learn(GAMES, episode, memory, Learning()), GAMES * int(episode.n))
    for name, kind in (("uniform", UNIFORM), ("MoGo", MOGO)):
        default = DefaultPolicy(kind)
        n = roll_out(GAMES, scratch, default, rules)
        measure(f"{name} default policy", lambda default=default: roll_out(GAMES, scratch, default, rules), n)
    measure("fusing the weights", lambda: fuse(weights.features, table.black), 1, "table")
    for sizes in ((1, 2), (1, 2, 3)):
        features = make_features(9, sizes, "none")
        own = features.table_of(np.zeros(len(features.class_of), np.float32))
        reset(scratch.boards[0], scratch.shapes[1], own)
        name = f"beginning a simulation, windows 1 to {sizes[-1]}"
        measure(name, lambda own=own: weigh(GAMES, scratch.shapes[1], own), GAMES, "simulation")


if __name__ == "__main__":
    main()
