"""A training run: self-play, learn, measure, log, save; and resume.

Start reading at `train`, then `_Run.go`. What a run folder holds: `checkpoint.RunFolder`.

A run stops for a moment at games that its config alone decides (`_Run.next_stop`), and saves its state only
between them. With one worker nothing depends on where else the games are divided; with several, every division
is at a merge. So a run that was interrupted ends with the same weights and the same logs as one that was not.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np

from rlgo.errors import RlgoError
from rlgo.jit import compiling
from rlgo.learner import Learner
from rlgo.policy import POLICIES, Policy
from rlgo.resources import version
from rlgo.sealed import write_atomically
from rlgo.selfplay import meet
from rlgo.shapes import FeatureSet, make_features
from rlgo.td import NORMALISATIONS, SCHEDULES, UPDATES, Learning, step_size
from rlgo.value import VALUES
from rlgo.weights import Weights, load_weights, save_weights, shipped_weights
from train.checkpoint import RunFolder, next_checkpoint
from train.config import Config, load_config, to_toml
from train.match import clustered_interval
from train.monitor import Monitor

_SLICE_SECONDS = 0.2  # between two looks at Ctrl-C
_SAVE_SECONDS = 10.0  # between two saved states


@dataclass(frozen=True)
class Strength:
    """The measured strength of the greedy player: its win rate against one opponent."""

    opponent: str  # for people
    games: int
    win_rate: float
    ci95: tuple[float, float]  # see `match.clustered_interval`


@dataclass(frozen=True)
class Result:
    """What a run leaves: its folder, its weights, and their last measured strength ("random", "earlier_self")."""

    folder: Path
    weights: Weights
    strength: dict[str, Strength]


def make_learner(config: Config, seed: int | np.random.SeedSequence) -> Learner:
    """The learner that a config describes."""
    f, le, p = config.features, config.learning, config.policy
    value = VALUES[le.value]
    learning = Learning(
        alpha=le.alpha,
        schedule=SCHEDULES[le.alpha_schedule],
        alpha_final=le.alpha_final,
        alpha_half=le.alpha_half,
        games=config.run.games,
        lambda_=le.lambda_,
        plies=le.plies,
        value=value,
        update=UPDATES[le.update],
        normalise=NORMALISATIONS[le.normalise],
        averaging=le.averaging,
    )
    policy = Policy(POLICIES[p.kind], p.epsilon if p.kind == "epsilon_greedy" else 0.0, p.temperature, value)
    features = make_features(config.board.size, f.sizes, f.sharing)
    run = config.run
    return Learner(
        features,
        learning,
        policy,
        config.board.komi,
        p.max_moves,
        seed,
        workers=run.workers,
        merge_every=run.merge_every,
    )


def train(config: Config, progress: bool | None = None) -> Result:
    """Run a config to its end.

    Parameters
    ----------
    config : see `config.Config`
    progress : show a progress bar on stderr; None: where stderr is a terminal

    Raises
    ------
    RlgoError : if the run folder exists or cannot be written, or the weights diverge.
    KeyboardInterrupt : after Ctrl-C, when the run is saved.
    """
    folder = RunFolder(Path(config.run.out) / config.run.name)
    with compiling(f"board and value function, {config.board.size}x{config.board.size}"):
        learner = make_learner(config, _seeds(config)[0])
    with folder.build() as new:
        write_atomically(new.config, to_toml(config).encode())
        write_json(new.run_json, _provenance(config))
        new.save(learner.state(), asdict(_Progress()), {})
    return _go(folder, config, learner, progress)


def resume(path: str | Path, games: int | None = None, progress: bool | None = None) -> Result:
    """Go on with an interrupted run, exactly where its last saved state stands.

    Parameters
    ----------
    path : the run folder
    games : go on to this many games instead; None: as configured
    progress : see `train`

    Raises
    ------
    RlgoError : if there is no such run, it is finished or in use, or its state is damaged.
    KeyboardInterrupt : see `train`
    """
    folder = RunFolder(path)
    if not folder.exists():
        raise RlgoError(f"{path}: expected the folder of a training run")
    config = load_config(folder.config)
    if games is not None:
        if config.learning.alpha_schedule in ("linear", "exponential") and games != config.run.games:
            raise RlgoError(
                f"{path}: alpha_schedule = {config.learning.alpha_schedule!r} ends at run.games: cannot go on"
            )
        config = replace(config, run=replace(config.run, games=games))
    with compiling(f"board and value function, {config.board.size}x{config.board.size}"):
        learner = make_learner(config, _seeds(config)[0])
    return _go(folder, config, learner, progress)


def _go(folder: RunFolder, config: Config, learner: Learner, progress: bool | None) -> Result:
    with folder.lock(), _Stop() as stop:
        state, saved = folder.load()
        done = _Progress(**saved)
        if done.finished and learner.games >= config.run.games:
            raise RlgoError(f"{folder.path}: finished at {done.games:,} games; to go on, --set run.games=N")
        learner.restore(state)
        folder.rewind()
        write_atomically(folder.config, to_toml(config).encode())
        done.sessions += 1
        with Monitor(folder.path, done.sessions) as monitor, folder.log.open("a", encoding="utf-8") as log:
            run = _Run(config, folder, learner, monitor, stop, log, done)
            try:
                return run.go(os.isatty(2) if progress is None else progress)
            except (OSError, RlgoError) as error:
                told = f"{folder.path}: cannot be written: {error.strerror}" if isinstance(error, OSError) else error
                raise RlgoError(f"{told}; {run.way_back()}") from None


@dataclass
class _Progress:
    """What a run knows besides its learner; a part of its state."""

    games: int = 0
    lost: int = 0  # of workers that died, see `Learner`
    sessions: int = 0  # times that it was started
    seconds: float = 0.0  # of all sessions
    window: dict[str, float] = field(default_factory=dict)  # tallies since the last point of the logs ...
    spent: float = 0.0  # ... and the seconds of self-play behind them
    strength: dict[str, Any] = field(default_factory=dict)  # last measured, see `Strength`
    finished: bool = False


class _Stop:
    """Ctrl-C, or a polite kill, asks for an end; a second one makes it."""

    def __init__(self) -> None:
        self.asked = 0  # the signal's number
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Stop:
        if threading.current_thread() is threading.main_thread():
            self._before = {n: signal.signal(n, self._ask) for n in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: Any) -> None:
        for n, handler in self._before.items():
            signal.signal(n, handler)

    def _ask(self, number: int, _: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = number


@dataclass
class _Run:
    """A run at work."""

    config: Config
    folder: RunFolder
    learner: Learner
    monitor: Monitor
    stop: _Stop
    log: TextIO
    done: _Progress

    def go(self, progress: bool) -> Result:
        from tqdm import tqdm

        learner, games, done = self.learner, self.config.run.games, self.done
        if learner.games == 0:
            self.say(f"{learner.features.name}: {learner.features.n_weights:,} weights; run folder {self.folder.path}")
            self.monitor.text("config", "```toml\n" + to_toml(self.config) + "```")
        else:
            self.say(f"resumed {self.folder.path} after {learner.games:,} games")
        begun, saved = time.perf_counter() - done.seconds, time.perf_counter()
        slice_games = 1
        with tqdm(total=games, initial=done.games, unit=" games", smoothing=0.1, disable=not progress) as bar:
            while learner.games < games:
                n = min(slice_games, self.next_stop() - learner.games)
                start = time.perf_counter()
                if slice_games == 1:
                    with compiling(f"self-play and learning, {learner.features.size}x{learner.features.size}"):
                        tally = learner.learn(n)
                else:
                    tally = learner.learn(n)
                took = time.perf_counter() - start
                slice_games = max(2, int(n * min(4.0, _SLICE_SECONDS / max(took, 1e-9))))
                self.count(n, tally, took)
                bar.update(learner.games - bar.n)
                self.look_around(bar)
                done.seconds = time.perf_counter() - begun
                if self.stop.asked or time.perf_counter() - saved > _SAVE_SECONDS:
                    self.save()
                    saved = time.perf_counter()
                if self.stop.asked:
                    self.interrupt()
        self.finish()
        return Result(self.folder.path, self.weights(), self.strength())

    def next_stop(self) -> int:
        """The number of games at which the run next logs, measures, saves a checkpoint, merges its workers, or ends."""
        run, now = self.config.run, self.learner.games
        every = [run.log_every, run.eval_every, self.learner.round if run.workers > 1 else 0]
        return min(run.games, next_checkpoint(now), *(now + n - now % n for n in every if n))

    def count(self, wanted: int, tally: np.record, seconds: float) -> None:
        """Add the tally of `wanted` games to those since the last point of the logs."""
        done = self.done
        done.games = self.learner.games
        done.lost += wanted - int(tally.games + tally.discarded)
        done.spent += seconds
        for name in tally.dtype.names or ():
            done.window[name] = done.window.get(name, 0.0) + float(tally[name])
        if not np.isfinite(self.learner.theta).all():
            raise RlgoError(
                f"diverged: weights are not finite after {done.games:,} games; "
                f"expected a smaller learning.alpha than {self.config.learning.alpha:g}"
            )

    def look_around(self, bar: Any) -> None:
        """Whatever is due at this number of games."""
        run, games = self.config.run, self.learner.games
        end = games >= run.games
        if games % run.log_every == 0 or end:
            self.monitor.log(games, _scalars(self.done.window, self.done.spent, self.learner))
            self.done.window, self.done.spent = {}, 0.0
        if (run.eval_every and games % run.eval_every == 0) or end:
            strength = _measure(self.config, self.folder, self.weights())
            self.done.strength = {k: asdict(s) for k, s in strength.items()}
            self.monitor.log(games, {f"strength/win_rate_{k}": s.win_rate for k, s in strength.items()})
            self.say(f"{games:12,d} games: won " + ", ".join(_told(s) for s in strength.values()))
            bar.set_postfix_str(", ".join(f"{k} {s.win_rate:.0%}" for k, s in strength.items()))
        if next_checkpoint(games - 1) == games:
            save_weights(self.folder.checkpoint(games), self.weights())

    def weights(self) -> Weights:
        """What the run has learned so far."""
        learner, learning = self.learner, self.config.learning
        theta = learner.mean() if learning.output == "mean" else learner.theta.copy()
        provenance = json.loads(self.folder.run_json.read_text("utf-8"))
        return Weights(learner.features, theta, self.config.board.komi, learning.value, learner.games, provenance)

    def strength(self) -> dict[str, Strength]:
        """As last measured."""
        return {k: Strength(**{**s, "ci95": tuple(s["ci95"])}) for k, s in self.done.strength.items()}

    def save(self) -> None:
        self.folder.save(self.learner.state(), asdict(self.done), self.monitor.lengths())

    def interrupt(self) -> NoReturn:
        save_weights(self.folder.weights, self.weights())
        self.say(
            f"interrupted after {self.learner.games:,} games; weights so far: {self.folder.weights}\n"
            f"go on with: {_called()}rlgo train --resume {self.folder.path}"
        )
        raise KeyboardInterrupt

    def finish(self) -> None:
        save_weights(self.folder.weights, self.weights())
        provenance = json.loads(self.folder.run_json.read_text("utf-8"))
        provenance |= {"seconds": round(self.done.seconds, 1), "sessions": self.done.sessions}
        write_json(self.folder.run_json, {**provenance, "strength": self.done.strength})
        self.done.finished = True
        self.save()
        self.say(
            f"{self.learner.games:,} games in {self.done.seconds:.0f} s. Above: what the greedy player won of "
            f"{self.config.run.eval_games:,} games each, with 95 % intervals"
        )
        _say_what_next(self.folder, self.config.board.size, self.say)

    def say(self, line: str) -> None:
        from tqdm import tqdm

        tqdm.write(line, file=sys.stderr)
        print(line, file=self.log, flush=True)

    def way_back(self) -> str:
        """How to go on after an error."""
        _, saved = self.folder.load()
        return f"the run's state of {saved['games']:,} games is kept: {_called()}rlgo train --resume {self.folder.path}"


def _scalars(window: dict[str, float], seconds: float, learner: Learner) -> dict[str, float]:
    finished = max(1.0, window["games"])
    scalars = {
        "speed/games_per_s": (window["games"] + window["discarded"]) / seconds,
        "speed/evaluations_per_s": window["evaluations"] / seconds,
        "selfplay/game_length": window["moves"] / finished,
        "selfplay/black_win_rate": window["black_wins"] / finished,
        "selfplay/discarded": window["discarded"],
        "learning/mean_abs_delta": window["error"] / max(1.0, window["errors"]),
        "learning/alpha": float(step_size(learner.learning, learner.games - 1)),
    }
    for block in learner.features.blocks:
        w = learner.theta[block.start : block.stop]
        scalars[f"weights/norm_{block.name}"] = float(np.linalg.norm(w))
    return scalars


def _measure(config: Config, folder: RunFolder, weights: Weights) -> dict[str, Strength]:
    """Win rates against a random player, the checkpoint of half the games ago, and the shipped weights."""
    games = config.run.eval_games // 2 * 2
    # Depends on nothing that happened before, so that a resumed run measures the same.
    seeds = _seeds(config)[1].generate_state(1)[0], weights.games
    opponents = {"random": ("random play", np.zeros_like(weights.theta))}
    earlier = [path for path in folder.checkpoints.glob("*.npz") if int(path.stem) <= weights.games // 2]
    if earlier:
        half = load_weights(max(earlier))
        opponents["earlier_self"] = (f"itself of {half.games:,} games", half.theta)
    shipped = _shipped(weights.features)
    if shipped is not None:
        opponents["shipped"] = shipped
    out = {}
    for i, (key, (name, theta)) in enumerate(opponents.items()):
        seed = np.random.SeedSequence([*seeds, i])
        scores = meet(weights.features, weights.theta, theta, games, seed, config.board.komi)
        out[key] = Strength(name, games, float(scores.mean()), clustered_interval(scores.tolist()))
    return out


def _told(s: Strength) -> str:
    low, high = s.ci95
    return f"{s.win_rate:.1%} ({low:.1%}-{high:.1%}) against {s.opponent}"


def _shipped(features: FeatureSet) -> tuple[str, np.ndarray] | None:
    """The best shipped weights of the board size, as a yardstick, where they have the same features."""
    try:
        path = shipped_weights(features.size)
    except RlgoError:
        return None
    weights = load_weights(path)
    return (f"the shipped {path.stem}", weights.theta) if weights.features is features else None


def _seeds(config: Config) -> list[np.random.SeedSequence]:
    """Of self-play, and of the measurements."""
    return np.random.SeedSequence(config.run.seed).spawn(2)


# ---------------------------------------------------------------------------------------------
# The run folder
# ---------------------------------------------------------------------------------------------


def _provenance(config: Config) -> dict[str, Any]:
    import numba

    return {
        "command": "rlgo " + shlex.join(sys.argv[1:]) if Path(sys.argv[0]).name in ("rlgo", "__main__.py") else "",
        "seed": config.run.seed,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "rlgo": version(),
        "commit": _commit(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "config": to_toml(config),
    }


def _commit() -> str:
    """The git commit of the sources, with + where they differ from it; empty outside of a checkout."""
    here = Path(__file__).resolve().parent.parent
    if not (here / ".git").exists():
        return ""
    try:
        run = {"cwd": here, "capture_output": True, "text": True, "timeout": 10}
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], **run).stdout.strip()  # type: ignore[call-overload]
        dirty = subprocess.run(["git", "status", "--porcelain", "-uno"], **run).stdout.strip()  # type: ignore[call-overload]
    except (OSError, subprocess.SubprocessError):
        return ""
    return commit + ("+" if dirty else "")


def write_json(path: Path, data: Any) -> None:
    """Write JSON for people to read, atomically."""
    write_atomically(path, (json.dumps(data, indent=2) + "\n").encode())


def _called() -> str:
    """The folder of the command, where the PATH does not have it (`make train`): what to put before its name."""
    called = Path(sys.argv[0])
    return f"{os.path.relpath(called.parent)}/" if called.name == "rlgo" and shutil.which("rlgo") is None else ""


def _say_what_next(folder: RunFolder, size: int, say: Callable[[str], None]) -> None:
    weights, here = folder.weights, _called()
    say(
        f"next:\n"
        f"  {here}rlgo weights show {weights}\n"
        f"  {here}rlgo match greedy,weights={weights} random --size {size} --games 100\n"
        f"  {here}rlgo gtp --player greedy,weights={weights} --size {size}\n"
        f"  {here}tensorboard --logdir {folder.path.parent}"
    )
