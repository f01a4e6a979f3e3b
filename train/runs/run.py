"""A training run: self-play, learn, measure, log, save; and resume.

Start reading at `train`, then `_Run.go`. What a run folder holds: `checkpoint.RunFolder`.

A run stops for a moment at games that its config alone decides (`_Run.next_stop`), and saves its state only
between them. With one worker nothing depends on where else the games are divided; with several, every division
is at a merge. So a run that was interrupted ends with the same weights and the same logs as one that was not.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import os
import platform
import shlex
import signal
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np

from rlgo.archive import write_atomically
from rlgo.errors import RlgoError
from rlgo.jit import compiling
from rlgo.learner import Learner
from rlgo.settings import NORMALISATIONS, POLICIES, STEP_SCHEDULES, UPDATES, VALUES, Learning, Policy
from rlgo.shapes import FeatureSet, make_features
from rlgo.td import step_size
from rlgo.weights import Weights, load_weights, save_weights
from train.config import Config, config_from_dict, flat, load_config, overrides, to_toml
from train.provenance import commit, versions
from train.runs.folder import RunFolder, called, next_checkpoint
from train.runs.monitor import Monitor
from train.runs.strength import Strength, against_gnugo, elo, has_gnugo, seeds, win_rates

_SLICE_SECONDS = 0.2  # between two looks at Ctrl-C
_SAVE_SECONDS = 10.0  # between two saved states
_BOUND = 1e12  # of weights: beyond, learning has diverged, and what is logged would make no sense any more
_MAY_CHANGE = ("run.name", "run.out", "run.games", "run.cluster", "run.cluster_timeout")  # when a run is resumed
_AT_THE_END = ("seconds", "sessions", "lost", "strength", "elo")  # of run.json


@dataclass(frozen=True)
class Result:
    """What a run leaves: its folder, its weights, and their last measured strength, by opponent and in Elo."""

    folder: Path
    weights: Weights
    strength: dict[str, Strength]  # see `strength.win_rates`; "gnugo", see `strength.against_gnugo`
    elo: float  # see `strength.elo`


def make_learner(
    config: Config,
    seed: int | np.random.SeedSequence,
    theta: np.ndarray | None = None,
    kind: Callable[..., Learner] = Learner,
) -> Learner:
    """The learner that a config describes.

    Parameters
    ----------
    config : see `config.Config`; `run.cluster` is left to `kind`
    seed : of self-play
    theta : weights to start from, float32[n_weights + 1]; None: zeros
    kind : its class, or what makes it of the same arguments; by default, workers are threads
    """
    f, le, p = config.features, config.learning, config.policy
    value = VALUES[le.value]
    learning = Learning(
        alpha=le.alpha,
        schedule=STEP_SCHEDULES[le.alpha_schedule],
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
    return kind(
        features,
        learning,
        policy,
        config.board.komi,
        p.max_moves,
        seed,
        theta=theta,
        workers=run.workers,
        merge_every=run.merge_every,
    )


@contextlib.contextmanager
def _hired(config: Config, theta: np.ndarray | None = None) -> Iterator[Learner]:
    """The learner of a run; its workers, be they on threads or on a cluster, are let go at the end."""
    size, seed = config.board.size, seeds(config)[0]
    if config.run.cluster:
        from train.runs.workers import RayLearner

        kind = functools.partial(RayLearner, cluster=config.run.cluster, timeout=config.run.cluster_timeout)
        learner = make_learner(config, seed, theta, kind)
    else:
        with compiling(f"board and value function, {size}x{size}"):
            learner = make_learner(config, seed, theta)
    with contextlib.closing(learner):
        yield learner


def train(config: Config, progress: bool | None = None) -> Result:
    """Run a config to its end.

    Parameters
    ----------
    config : see `config.Config`
    progress : show a progress bar on stderr; None: where stderr is a terminal

    Raises
    ------
    RlgoError : if the run folder exists or cannot be written, the weights diverge, or `run.cluster` cannot be used.
    KeyboardInterrupt, SystemExit : after Ctrl-C or SIGTERM, when the run is saved.
    """
    folder = RunFolder(Path(config.run.out) / config.run.name)
    with _hired(config, _start(config)) as learner:
        with folder.build() as new:
            write_atomically(new.config, to_toml(config).encode())
            write_json(new.run_json, _provenance(config))
            new.save(learner.state(), asdict(_Progress(config=to_toml(config))), {})
        return _go(folder, config, learner, progress)


def _start(config: Config) -> np.ndarray | None:
    """The weights that a new run starts from: those of `run.start`, or None."""
    if not config.run.start:
        return None
    weights, f = load_weights(config.run.start, config.board.size), config.features
    if weights.features is not make_features(config.board.size, f.sizes, f.sharing):
        wanted = make_features(config.board.size, f.sizes, f.sharing).name
        raise RlgoError(f"run.start = {config.run.start}: weights for {weights.features.name}, expected {wanted}")
    return weights.theta


def resume(
    path: str | Path, games: int | None = None, progress: bool | None = None, cluster: str | None = None
) -> Result:
    """Go on with an interrupted run, exactly where its last saved state stands.

    Parameters
    ----------
    path : the run folder
    games : go on to this many games instead; None: as configured
    progress : see `train`
    cluster : go on with workers on this cluster instead, see `config.Run`; None: as configured

    Raises
    ------
    RlgoError : if there is no such run, it is finished or in use, its config was changed, or its state is damaged.
    KeyboardInterrupt, SystemExit : see `train`
    """
    folder = RunFolder(path)
    config = _config_of(folder, games, cluster)
    with _hired(config) as learner:
        return _go(folder, config, learner, progress)


def current_weights(path: str | Path) -> Weights:
    """What a run has learned as of its last saved state, be it finished, interrupted or at work.

    Raises RlgoError if there is no such run or its state is damaged.
    """
    folder = RunFolder(path)
    state, _ = folder.load()
    config = _config_of(folder)
    learner = make_learner(config, 0)
    learner.restore(state)
    return _learned(config, folder, learner)


def _config_of(folder: RunFolder, games: int | None = None, cluster: str | None = None) -> Config:
    """The config of a run, with another `run.games` or `run.cluster` if given.

    Raises RlgoError where it is not the one that the run began with.
    Where a run and its workers stand and how long it is may change, but for schedules that end with the run.
    """
    _, saved = folder.load()
    config = load_config(folder.config)
    if games is not None:
        config = replace(config, run=replace(config.run, games=games))
    if cluster is not None:
        config = replace(config, run=replace(config.run, cluster=cluster))
    if saved.get("config"):
        began = config_from_dict(tomllib.loads(saved["config"]), str(folder.state))
        for was in overrides(config, began):
            key = was.partition("=")[0]
            if key not in _MAY_CHANGE:
                raise RlgoError(f"{folder.config}: expected {was} as when the run began, to go on with it")
            if key == "run.games" and config.learning.alpha_schedule in ("linear", "exponential"):
                schedule = f'learning.alpha_schedule = "{config.learning.alpha_schedule}"'
                raise RlgoError(f"{folder.path}: {schedule} ends at run.games = {began.run.games}: cannot go on")
    return config


def _go(folder: RunFolder, config: Config, learner: Learner, progress: bool | None) -> Result:
    with folder.lock(), _Stop() as stop:
        state, saved = folder.load()
        done = _Progress(**saved)
        if done.finished and done.games == config.run.games:
            raise RlgoError(f"{folder.path}: finished at {done.games:,} games; to go on, --set run.games=N")
        if done.games > config.run.games:
            raise RlgoError(f"{folder.path}: expected run.games of at least the {done.games:,} played already")
        provenance = _provenance_of(folder)
        learner.restore(state)
        folder.rewind()
        done.sessions += 1
        done.finished = False
        try:
            write_atomically(folder.config, to_toml(config).encode())
            write_json(folder.run_json, {**provenance, "config": to_toml(config)})
            with Monitor(folder.path, done.sessions) as monitor, folder.log.open("a", encoding="utf-8") as log:
                run = _Run(config, folder, learner, monitor, stop, log, done)
                return run.go(os.isatty(2) if progress is None else progress)
        except (OSError, RlgoError) as error:
            told = f"{folder.path}: cannot be written: {error.strerror}" if isinstance(error, OSError) else error
            raise RlgoError(f"{told}; {_what_is_kept(folder)}") from None
        except KeyboardInterrupt:
            if not stop.told:
                print(f"stopped at once; {_what_is_kept(folder)}", file=sys.stderr)
            if stop.asked == signal.SIGTERM:  # the exit status that whoever sent it expects
                raise SystemExit(128 + signal.SIGTERM) from None
            raise


@dataclass
class _Progress:
    """What a run knows besides its learner; a part of its state."""

    config: str = ""  # as TOML, when it began
    games: int = 0
    lost: int = 0  # games, see `Learner`
    sessions: int = 0  # times that it was started
    seconds: float = 0.0  # of all sessions
    window: dict[str, float] = field(default_factory=dict)  # tallies since the last point of the logs ...
    spent: float = 0.0  # ... and the seconds of self-play behind them
    strength: dict[str, Any] = field(default_factory=dict)  # last measured, see `Strength`
    elo: float = 0.0  # last measured
    ratings: dict[str, float] = field(default_factory=dict)  # of the checkpoints, see `strength.elo`
    gnugo_due: bool = False  # whether a match against GNU Go comes next
    finished: bool = False


class _Stop:
    """Ctrl-C, or a polite kill, asks for an end; a second one makes it, and the first where `at_once` is set."""

    def __init__(self) -> None:
        self.asked = 0  # the signal's number
        self.at_once = False
        self.told = False  # how to go on
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Stop:
        if threading.current_thread() is threading.main_thread():
            self._before = {n: signal.signal(n, self._ask) for n in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: Any) -> None:
        for n, handler in self._before.items():
            signal.signal(n, handler)

    def _ask(self, number: int, _: Any) -> None:
        insisted, self.asked = self.asked, number
        if insisted or self.at_once:
            raise KeyboardInterrupt


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
        if self.config.run.gnugo_games and not has_gnugo():
            self.say("GNU Go is not installed: no games against it")
        self.monitor.hparams(flat(self.config), is_finished=False)
        learner.pool.log = self.say
        begun, saved = time.perf_counter() - done.seconds, time.perf_counter()
        slice_games = 1
        with tqdm(total=games, initial=done.games, unit=" games", smoothing=0.1, disable=not progress) as bar:
            while True:
                if done.gnugo_due:
                    self.meet_gnugo(progress)
                    done.seconds = time.perf_counter() - begun
                if self.stop.asked:
                    self.interrupt()
                if learner.games >= games:
                    break
                n = self.next_stop() - learner.games
                if self.config.run.workers == 1:  # several merge after every slice: not where the clock says
                    n = min(n, slice_games)
                start = time.perf_counter()
                if slice_games == 1 and not self.config.run.cluster:
                    with compiling(f"self-play and learning, {learner.features.size}x{learner.features.size}"):
                        tally = learner.learn(n)
                else:
                    tally = learner.learn(n)
                took = time.perf_counter() - start
                slice_games = max(2, int(n * min(4.0, _SLICE_SECONDS / max(took, 1e-9))))
                self.count(tally, took)
                bar.update(learner.games - bar.n)
                self.look_around(bar)
                done.seconds = time.perf_counter() - begun
                if self.stop.asked or done.gnugo_due or time.perf_counter() - saved > _SAVE_SECONDS:
                    self.save()
                    saved = time.perf_counter()
        self.finish()
        return Result(self.folder.path, self.weights(), self.strength(), done.elo)

    def next_stop(self) -> int:
        """The number of games at which the run next logs, measures, saves a checkpoint, merges its workers, or ends."""
        run, now = self.config.run, self.learner.games
        every = [run.log_every, run.eval_every, run.gnugo_every, self.learner.round if run.workers > 1 else 0]
        return min(run.games, next_checkpoint(now), *(now + n - now % n for n in every if n))

    def count(self, tally: np.record, seconds: float) -> None:
        """Add a tally to those since the last point of the logs."""
        done = self.done
        done.games, done.lost = self.learner.games, self.learner.lost
        done.spent += seconds
        for name in tally.dtype.names or ():
            done.window[name] = done.window.get(name, 0.0) + float(tally[name])
        if not (np.abs(self.learner.theta) < _BOUND).all():
            # Told by the point of the logs that would come next, which does not depend on how fast the machine is.
            log_every = self.config.run.log_every
            games = min(self.config.run.games, -(-done.games // log_every) * log_every)
            raise RlgoError(
                f"diverged: weights grow without bound after {games:,} games; "
                f"expected a smaller learning.alpha than {self.config.learning.alpha:g}"
            )

    def look_around(self, bar: Any) -> None:
        """Whatever is due at this number of games, but for a match against GNU Go, see `meet_gnugo`."""
        run, games = self.config.run, self.learner.games
        end = games >= run.games

        def due(every: int) -> bool:
            return end or (every > 0 and games % every == 0)

        if due(run.log_every):
            scalars = _scalars(self.done.window, self.done.spent, self.learner)
            if run.cluster:
                scalars["cluster/lost_games"] = self.done.lost
            self.monitor.log(games, scalars)
            self.done.window, self.done.spent = {}, 0.0
        is_checkpoint = next_checkpoint(games - 1) == games
        if is_checkpoint or due(run.eval_every):
            weights, occurrences = self.weights(), self.learner.pool.occurrences()
            self.monitor.learned(games, weights, occurrences)
            self.measure(weights, _never_seen(weights.features, occurrences), bar if due(run.eval_every) else None)
            if is_checkpoint:
                save_weights(self.folder.checkpoint(games), weights)
                self.done.ratings[str(games)] = self.done.elo
            if is_checkpoint or end:  # bounded in number, since checkpoints lie ever further apart
                self.monitor.pictures(games, weights)
        self.done.gnugo_due = run.gnugo_games > 0 and due(run.gnugo_every) and has_gnugo()

    def measure(self, weights: Weights, scalars: dict[str, float], bar: Any | None) -> None:
        """Log `scalars` and Elo; with a `bar`, log and tell win rates too."""
        done, games = self.done, weights.games
        rating = elo(self.config, self.folder, weights, done.ratings)
        done.elo = rating.elo
        found = win_rates(self.config, self.folder, weights) if bar is not None else {}
        done.strength |= {k: asdict(s) for k, s in found.items()}
        rates = {f"strength/win_rate_{k}": s.win_rate for k, s in found.items()}
        self.monitor.log(games, {**scalars, "strength/elo": rating.elo, **rates})
        if bar is not None:
            low, high = rating.ci95
            told = f"Elo {rating.elo:,.0f} ({low:,.0f}-{high:,.0f})"
            self.say(f"{games:12,d} games: {told}; won " + ", ".join(map(str, found.values())))
            bar.set_postfix_str(
                ", ".join([f"Elo {rating.elo:.0f}", *(f"{k} {s.win_rate:.0%}" for k, s in found.items())])
            )

    def meet_gnugo(self, progress: bool) -> None:
        """The match against GNU Go that is due. It may take minutes: Ctrl-C ends it at once, and it stays due."""
        weights, strength = self.weights(), None
        self.stop.at_once = True
        try:
            if not self.stop.asked:
                strength = against_gnugo(self.config, weights, progress)
        except KeyboardInterrupt:
            pass
        except RlgoError as error:
            self.say(f"{weights.games:12,d} games: no games against GNU Go: {error}")
        finally:
            self.stop.at_once = False
        if self.stop.asked:
            return
        self.done.gnugo_due = False
        if strength is not None:
            self.done.strength["gnugo"] = asdict(strength)
            self.monitor.log(weights.games, {"strength/win_rate_gnugo": strength.win_rate})
            self.say(f"{weights.games:12,d} games: won {strength} in {strength.games} games")
        self.save()

    def weights(self) -> Weights:
        """What the run has learned so far."""
        return _learned(self.config, self.folder, self.learner)

    def strength(self) -> dict[str, Strength]:
        """As last measured."""
        return {k: Strength(**{**s, "ci95": tuple(s["ci95"])}) for k, s in self.done.strength.items()}

    def save(self) -> None:
        self.folder.save(self.learner.state(), asdict(self.done), self.monitor.lengths())

    def interrupt(self) -> NoReturn:
        save_weights(self.folder.weights, self.weights())
        self.say(
            f"interrupted after {self.learner.games:,} games; weights so far: {self.folder.weights}\n"
            f"go on with: {self.folder.way_back()}"
        )
        self.stop.told = True
        raise KeyboardInterrupt

    def finish(self) -> None:
        save_weights(self.folder.weights, self.weights())
        done = self.done
        end: dict[str, Any] = {"seconds": round(done.seconds, 1), "sessions": done.sessions, "lost": done.lost}
        end |= {"strength": done.strength, "elo": done.elo}
        write_json(self.folder.run_json, {**_provenance_of(self.folder), **end})
        self.monitor.hparams(flat(self.config), is_finished=True)
        lost = f", and {done.lost:,} lost with workers that died" if done.lost else ""
        self.say(
            f"{self.learner.games:,} games in {self.done.seconds:.0f} s{lost}. Above: what the greedy player won of "
            f"{self.config.run.eval_games:,} games each, and its Elo (random play has 0), with 95 % intervals"
        )
        _say_what_next(self.folder, self.config.board.size, self.say)
        done.finished = True
        self.save()

    def say(self, line: str) -> None:
        from tqdm import tqdm

        tqdm.write(line, file=sys.stderr)
        print(line, file=self.log, flush=True)


def _learned(config: Config, folder: RunFolder, learner: Learner) -> Weights:
    theta = learner.mean() if config.learning.output == "mean" else learner.theta.copy()
    provenance = _provenance_of(folder)
    return Weights(learner.features, theta, config.board.komi, config.learning.value, learner.games, provenance)


def _what_is_kept(folder: RunFolder) -> str:
    """How to go on after an end that was not planned."""
    _, saved = folder.load()
    return f"the run's state of {saved['games']:,} games is kept: {folder.way_back()}"


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


def _never_seen(features: FeatureSet, occurrences: np.ndarray) -> dict[str, float]:
    """The share of each block's weights whose shapes never occurred; see `td.UpdateScratch`."""
    return {
        f"occurrences/never_seen_{b.name}": float((occurrences[b.start : b.stop] == 0).mean()) for b in features.blocks
    }


# ---------------------------------------------------------------------------------------------
# The run folder
# ---------------------------------------------------------------------------------------------


def _provenance(config: Config) -> dict[str, Any]:
    return {
        "command": "rlgo " + shlex.join(sys.argv[1:]) if Path(sys.argv[0]).name in ("rlgo", "__main__.py") else "",
        "seed": config.run.seed,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **versions(),
        "commit": commit(),
        "machine": platform.machine(),
        "config": to_toml(config),
    }


def _provenance_of(folder: RunFolder) -> dict[str, Any]:
    """run.json, without what the end of the run adds to it."""
    try:
        data = json.loads(folder.run_json.read_text("utf-8"))
        return {key: value for key, value in data.items() if key not in _AT_THE_END}
    except (OSError, ValueError, AttributeError):
        raise RlgoError(f"{folder.run_json}: missing or damaged: expected what the run wrote when it began") from None


def write_json(path: Path, data: Any) -> None:
    """Write JSON for people to read, atomically."""
    write_atomically(path, (json.dumps(data, indent=2) + "\n").encode())


def _say_what_next(folder: RunFolder, size: int, say: Callable[[str], None]) -> None:
    weights, here = folder.weights, called()
    say(
        f"next:\n"
        f"  {here}rlgo weights show {weights}\n"
        f"  {here}rlgo match greedy,weights={weights} random --size {size} --games 100\n"
        f"  {here}rlgo gtp --player greedy,weights={weights} --size {size}\n"
        f"  {here}tensorboard --logdir {folder.path.parent}"
    )
