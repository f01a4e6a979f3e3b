"""A training run: self-play, learning, measuring, logging, saving and resuming.

Start reading at `run`, then `Run.go`. `folder.RunFolder` lists the files of a run.

A run pauses at numbers of games that follow from its config alone (`Run.next_stop`), and saves its state only at a
pause between two slices. With one worker, results do not depend on how the games are divided into slices; with several,
each slice ends with a merge. So a run that was interrupted ends with the same weights and logs as one that was not.
"""

from __future__ import annotations

import datetime
import importlib.util
import math
import platform
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np

from rlgo.base.budget import BATCH_SECONDS
from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.files import ELSEWHERE, check_folder
from rlgo.base.settings import GAME
from rlgo.features.shapes import FeatureSet
from rlgo.features.weights import Weights, load_weights, save_weights
from rlgo.go.rules import check_max_moves
from rlgo.learning.fast_games import compile_matches
from rlgo.learning.learner import Learner, mean_of
from rlgo.learning.optimisers import RULES
from rlgo.learning.td import step_size
from train.arena.elo import Rating
from train.arena.rating_scale import SCALE
from train.config import Config, config_from_dict, flat, overrides, to_toml
from train.console import Progress, command, message
from train.process import StopRequest
from train.provenance import command_line, commit, versions
from train.runs.callbacks import Callback
from train.runs.folder import RunFolder, next_checkpoint
from train.runs.learners import features_of, learner_of
from train.runs.monitor import Monitor
from train.runs.strength import Strength, against_gnugo, elo, has_gnugo, win_rates
from train.settings import spec_value

SAVE_SECONDS = 10.0  # between two saved states
LONG_SECONDS = 0.5  # Ctrl-C does not wait for the end of a round that takes longer
SAVED = "; saved up to "  # in errors, between the problem and how much is saved
_MAX_WEIGHT = 1e12  # beyond this, learning has diverged, and logged numbers would be meaningless
_MAY_CHANGE = {
    f"run.{key}" for key in ("name", "out", "tags", "note", "games", "cluster", "cluster_timeout")
}  # on resume
_RESULTS = ("seconds", "sessions", "lost", "strength", "elo")  # added to run.json at the end


@dataclass(frozen=True)
class Result:
    """The outcome of a run: its folder, its weights, and their strength as last measured."""

    folder: Path
    weights: Weights
    strength: dict[str, Strength]  # by opponent, see `strength.win_rates`; "gnugo": see `strength.against_gnugo`
    elo: float  # see `strength.elo`


# ---------------------------------------------------------------------------------------------
# Start, resume, inspect
# ---------------------------------------------------------------------------------------------


def run(config: Config, progress: bool = True, callbacks: Sequence[Callback] = ()) -> Result:
    """Start a training run in a new folder and run it to its end.

    Parameters
    ----------
    config : see `config.Config`
    progress : show progress on standard error
    callbacks : called between games, see `Callback`

    Raises
    ------
    RlgoError : if the run folder exists or cannot be written, the weights diverge, or `run.cluster` cannot be used
    KeyboardInterrupt : after Ctrl-C or SIGTERM, once the run is saved

    >>> import tempfile
    >>> from train import load_config, run
    >>> with tempfile.TemporaryDirectory() as out:
    ...     config = load_config("quick", ["board.size=5", "run.games=10", "run.eval_games=2", f"run.out={out}"])
    ...     run(config, progress=False).weights.games
    10
    """
    check("config", config, Config)
    for callback in callbacks:
        check("callbacks", callback, Callback)
    folder = RunFolder(Path(config.run.out) / config.run.name)
    check_folder(folder.path, hint=f"; {ELSEWHERE}")  # before minutes of compiling
    with learner_of(config, _initial_weights(config)) as learner:
        with folder.build() as new:
            new.write_config(config)
            new.write_about(_provenance(config))
            new.save(learner.state(), asdict(_Progress(config=to_toml(config))), {})
        return _go(folder, config, learner, progress, callbacks)


def _initial_weights(config: Config) -> np.ndarray | None:
    """Return the weights that a new run starts from: those of `run.start`, or None."""
    if not config.run.start:
        return None
    weights, expected = load_weights(config.run.start, config.board.size), features_of(config)
    if weights.features is not expected:
        raise RlgoError(
            f"run.start = {config.run.start}: expected weights for {expected.name}, "
            f"found weights for {weights.features.name}"
        )
    value = config.learning.values()["value"]
    if weights.value != value:
        raise RlgoError(
            f"run.start = {config.run.start}: expected weights of a {value} value function, as "
            f"learning.value says, found a {weights.value} one"
        )
    return weights.theta


def resume(path: str | Path, games: int | None = None, progress: bool = True, cluster: str | None = None) -> Result:
    """Resume an interrupted run from exactly its last saved state.

    Parameters
    ----------
    path : the run folder
    games : a new total number of games; None: as configured
    progress : see `run`
    cluster : another place for the workers, see `config.RunConfig`; None: as configured

    Raises
    ------
    RlgoError : if there is no such run, it is finished or in use, its config was changed, or its state is damaged
    KeyboardInterrupt : see `run`
    """
    folder = RunFolder(path)
    config = _config_of(folder, games, cluster)
    with learner_of(config) as learner:
        return _go(folder, config, learner, progress)


def current_weights(path: str | Path) -> Weights:
    """Return what a run has learned as of its last saved state, whether it is finished, interrupted or running.

    Raises RlgoError if there is no such run, or its state is damaged.
    """
    folder = RunFolder(path)
    state, _ = folder.load()
    config = _config_of(folder)
    theta, games = state["theta"], int(state["games"])
    mean = mean_of(theta, state["theta_mean"], games, config.run.workers * config.run.merge_every)
    return _learned(config, folder, games, theta, mean)


def _config_of(folder: RunFolder, games: int | None = None, cluster: str | None = None) -> Config:
    """Return the config of a run, with another `run.games` or `run.cluster` if given.

    Name, place, length and cluster of a run may change after its start, unless a step-size schedule depends on its
    length. Raises RlgoError if anything else was changed.
    """
    _, saved = folder.load()
    config = folder.read_config()
    if games is not None:
        config = replace(config, run=replace(config.run, games=games))
    if cluster is not None:
        config = replace(config, run=replace(config.run, cluster=cluster))
    if not saved.get("config"):
        return config
    original = config_from_dict(tomllib.loads(saved["config"]), str(folder.state))
    for setting in overrides(config, original):
        key = setting.partition("=")[0]
        if key not in _MAY_CHANGE:
            raise RlgoError(f"{folder.config}: expected {setting} as at the start of the run, to resume it")
        schedule = config.learning.values()["alpha_schedule"]
        if key == "run.games" and schedule in ("linear", "exponential"):
            schedule = f'learning.alpha_schedule = "{schedule}"'
            raise RlgoError(
                f"{folder.path}: cannot be extended, because {schedule} ends at run.games = {original.run.games}"
            )
    return config


def _go(
    folder: RunFolder, config: Config, learner: Learner, progress: bool, callbacks: Sequence[Callback] = ()
) -> Result:
    """Run from the saved state to the end; if the run ends early, the error says how to resume it."""
    with folder.lock(), StopRequest() as stop:
        state, saved = folder.load()
        done = _Progress.of(saved)
        if done.finished and done.games == config.run.games:
            raise RlgoError(f"{folder.path}: finished at {done.games:,} games; to continue, --set run.games=N")
        if done.games > config.run.games:
            raise RlgoError(f"{folder.path}: expected run.games of at least the {done.games:,} already played")
        provenance = _read_provenance(folder)
        learner.restore(state)
        folder.rewind()
        done.sessions += 1
        done.finished = False
        try:
            folder.write_config(config)
            folder.write_about({**provenance, "config": to_toml(config)})
            with Monitor(folder.path, done.sessions) as monitor, folder.log.open("a", encoding="utf-8") as log_file:
                return Run(config, folder, learner, monitor, stop, log_file, done, callbacks).go(progress)
        except _Diverged as error:  # and would again if resumed
            raise RlgoError(f"{error}{_saved(folder)}") from None
        except (OSError, RlgoError) as error:
            what = f"{folder.path}: cannot be written: {error.strerror}" if isinstance(error, OSError) else error
            raise RlgoError(f"{what}{_saved(folder)}; {_how_to_resume(folder)}") from None
        except _Interrupted:
            pass
        except KeyboardInterrupt:
            message(f"stopped at once{_saved(folder)}; {_how_to_resume(folder)}")
        raise KeyboardInterrupt(stop.signal)


def _saved(folder: RunFolder) -> str:
    """Return the part of an error message about what is saved."""
    _, saved = folder.load()
    return f"{SAVED}{saved['games']:,} games"


def _how_to_resume(folder: RunFolder) -> str:
    """Return the end of a message about a run that can be resumed."""
    return f"resume with: {folder.resume_command()}"


# ---------------------------------------------------------------------------------------------
# The loop of a run
# ---------------------------------------------------------------------------------------------


class _Diverged(RlgoError):
    """Raised when the weights have grown without bound."""


class _Interrupted(Exception):
    """Raised after a run was asked to stop, has saved its state and has printed how to resume."""


@dataclass
class _Progress:
    """The state of a run outside its learner; saved with the learner's state."""

    config: str = ""  # as TOML, at the start of the run
    games: int = 0
    sessions: int = 0  # how often it was started
    seconds: float = 0.0  # of all sessions
    window: dict[str, float] = field(default_factory=dict)  # tallies since the last point of the logs ...
    spent: float = 0.0  # ... and the seconds of self-play they took
    strength: dict[str, Any] = field(default_factory=dict)  # last measured, see `Strength`
    elo: float = 0.0  # measured along with it
    measured: int = -1  # after this number of games
    measures_due: bool = False  # whether the logs, measurements and checkpoint of this number of games come next ...
    gnugo_due: bool = False  # ... or a match against GNU Go
    finished: bool = False

    @classmethod
    def of(cls, saved: dict[str, Any]) -> _Progress:
        """Return a saved state. Those of earlier versions have further keys."""
        return cls(**{key: value for key, value in saved.items() if key in cls.__dataclass_fields__})


@dataclass
class Run:
    """A run in progress."""

    config: Config
    folder: RunFolder
    learner: Learner
    monitor: Monitor
    stop: StopRequest
    log_file: TextIO
    done: _Progress
    callbacks: Sequence[Callback] = ()
    slice_seconds: float = math.inf  # duration of the last slice

    def go(self, progress: bool) -> Result:
        """Play, learn, measure and save until the last game."""
        learner, games, done = self.learner, self.config.run.games, self.done
        self.introduce()
        if learner.games >= games and done.measured != learner.games:  # it was resumed only to end here
            done.measures_due = True
        self.compile()
        for callback in self.callbacks:
            callback.on_training_start(self)
        start, saved = time.perf_counter() - done.seconds, time.perf_counter()
        slice_games = 1
        with Progress(games, "games", initial=done.games, enabled=progress) as bar:
            while True:
                if self.stop:
                    self.interrupt()
                if done.measures_due:
                    self.measure_what_is_due(bar)
                    if not self.done.measures_due and [c for c in self.callbacks if c.on_step(self) is False]:
                        break
                elif done.gnugo_due:
                    self.play_gnugo(progress)
                elif learner.games >= games:
                    break
                else:
                    n = (pause := self.next_stop()) - learner.games
                    if self.config.run.workers == 1:  # several merge after each slice, so no clock may set it
                        n = min(n, slice_games)
                    seconds = self.play(n)
                    slice_games = max(2, int(n * min(4.0, BATCH_SECONDS / max(seconds, 1e-9))))
                    bar.update(learner.games - bar.n)
                    done.measures_due = learner.games >= pause
                done.seconds = time.perf_counter() - start
                if done.gnugo_due or time.perf_counter() - saved > SAVE_SECONDS:
                    self.save()
                    saved = time.perf_counter()
        if learner.games >= games:
            self.finish()
        else:
            self.stop_early()
        for callback in self.callbacks:
            callback.on_training_end(self)
        return Result(self.folder.path, self.weights(), self.strength(), done.elo)

    @property
    def elo(self) -> float:
        """The rating as last measured; 0 before."""
        return self.done.elo

    def record(self, name: str, value: float) -> None:
        """Add a number to the logs, at the current number of games."""
        self.monitor.log(self.learner.games, {name: float(value)})

    def introduce(self) -> None:
        """Print what is about to run."""
        learner = self.learner
        if learner.games == 0:
            self.log(f"{learner.features.name}: {learner.features.n_weights:,} weights; run folder {self.folder.path}")
        else:
            self.log(f"resumed {self.folder.path} after {learner.games:,} games")
        if self.monitor.is_first:  # a run may have been saved before its first game
            self.monitor.text("config", "```toml\n" + to_toml(self.config) + "```")
        if self.config.run.gnugo_games and not has_gnugo():
            self.log("GNU Go is not installed: no games against it")
        self.monitor.hparams(flat(self.config), is_finished=False)

    def compile(self) -> None:
        """Compile all that self-play and measurements need, before the clock starts; Ctrl-C ends it at once."""
        self.stop.at_once = True
        try:
            self.learner.compile()
            compile_matches(self.learner.features)
        except KeyboardInterrupt:
            pass  # `go` sees the request
        finally:
            self.stop.at_once = False

    def next_stop(self) -> int:
        """Return the number of games at which the run next logs, measures, saves a checkpoint, merges, or ends."""
        run, now = self.config.run, self.learner.games
        every = [run.log_every, run.eval_every, run.gnugo_every, self.learner.round if run.workers > 1 else 0]
        return min(run.games, next_checkpoint(now), *(now + n - now % n for n in every if n))

    def play(self, n: int) -> float:
        """Play and learn from n games, count them, and return how many seconds they took."""
        done, begun = self.done, time.perf_counter()
        # Stopping a round of several workers loses it, and everything since the last saved state.
        is_long = self.slice_seconds > LONG_SECONDS or bool(self.config.run.cluster)
        self.stop.at_once = self.config.run.workers > 1 and is_long
        try:
            tally = self.learner.learn(n)
        except KeyboardInterrupt:
            if not self.stop.at_once:  # the second Ctrl-C does not wait
                raise
            self.interrupt_round()
        finally:
            self.stop.at_once = False
        self.slice_seconds = seconds = time.perf_counter() - begun
        done.games = self.learner.games
        done.spent += seconds
        for name in tally.dtype.names or ():
            done.window[name] = done.window.get(name, 0.0) + float(tally[name])
        if not (np.abs(self.learner.theta) < _MAX_WEIGHT).all():
            # Name the next point of the logs, because the exact slice depends on how fast the machine is.
            log_every = self.config.run.log_every
            games = min(self.config.run.games, -(-done.games // log_every) * log_every)
            own = self.config.learning.optimiser
            raise _Diverged(
                f"diverged: weights grow without bound after {games:,} games; "
                f"expected a smaller learning.alpha than {self.config.learning.rule.alpha:g}"
                + ("" if own in RULES else f", or changes that stay finite from the learning rule {own}")
            )
        return seconds

    def measure_what_is_due(self, bar: Progress) -> None:
        """Log, measure, and save a checkpoint where due; a match against GNU Go is only noted as due.

        Ctrl-C ends the measurements at once; then nothing is logged, and all of it stays due.
        """
        run, games = self.config.run, self.learner.games
        end = games >= run.games

        def due(every: int) -> bool:
            return end or (every > 0 and games % every == 0)

        is_checkpoint, is_reported = next_checkpoint(games - 1) == games, due(run.eval_every)
        weights = self.weights() if is_checkpoint or is_reported else None
        self.stop.at_once = True
        try:
            measured = None if weights is None else self.measure(weights, is_reported)
        except KeyboardInterrupt:
            return
        finally:
            self.stop.at_once = False
        self.done.measures_due = False
        if is_reported:
            self.done.measured = games
        if due(run.log_every) and self.done.window:
            if not self.done.window["games"]:
                result = ", so nothing was learned" if self.config.learning.rule.update == GAME else ""
                self.log(
                    f"{games:12,d} games: none of the last {self.done.window['discarded']:,.0f} ended within "
                    f"{check_max_moves(self.config.policy.max_moves, self.config.board.size):,} plies "
                    f"(policy.max_moves){result}"
                )
            scalars = _scalars(self.done.window, self.done.spent, self.learner)
            self.monitor.log(games, scalars)
            self.done.window, self.done.spent = {}, 0.0
        if weights is not None and measured is not None:
            occurrences = self.learner.pool.occurrences()
            self.monitor.learned(games, weights, occurrences)
            self.report(games, _never_seen(weights.features, occurrences), *measured, bar)
            if is_checkpoint:
                save_weights(self.folder.checkpoint(games), weights)
            if is_checkpoint or end:  # few, because checkpoints lie ever further apart
                self.monitor.pictures(games, weights)
        self.done.gnugo_due = run.gnugo_games > 0 and due(run.gnugo_every) and has_gnugo()

    def measure(self, weights: Weights, is_reported: bool) -> tuple[Rating, dict[str, Strength]]:
        """Return the Elo of weights and, if they will be reported, their win rates."""
        rating = elo(self.config, weights)
        return rating, win_rates(self.config, self.folder, weights) if is_reported else {}

    def report(
        self, games: int, scalars: dict[str, float], rating: Rating, found: dict[str, Strength], bar: Progress
    ) -> None:
        """Log `scalars` and what `measure` returned; if it has win rates, print it, too."""
        done = self.done
        rates = {f"strength/win_rate_{k}": s.win_rate for k, s in found.items()}
        self.monitor.log(games, {**scalars, "strength/elo": rating.elo, **rates})
        if found:
            # Only what is reported counts as last measured, so that `rlgo runs` shows the same.
            done.elo = rating.elo
            done.strength |= {k: asdict(s) for k, s in found.items()}
            low, high = rating.ci95
            text = f"Elo {rating.elo:,.0f} ({low:,.0f}-{high:,.0f})"
            self.log(f"{games:12,d} games: {text}; won " + ", ".join(map(str, found.values())))
            bar.set_postfix(", ".join([f"Elo {rating.elo:.0f}", *(f"{k} {s.win_rate:.0%}" for k, s in found.items())]))

    def play_gnugo(self, progress: bool) -> None:
        """Play the match against GNU Go that is due. It may take minutes: Ctrl-C ends it at once, and it stays due."""
        weights, strength = self.weights(), None
        self.stop.at_once = True
        try:
            if not self.stop:
                strength = against_gnugo(self.config, weights, progress)
        except KeyboardInterrupt:
            pass
        except RlgoError as error:
            self.log(f"{weights.games:12,d} games: no games against GNU Go: {error}")
        finally:
            self.stop.at_once = False
        if self.stop:
            return
        self.done.gnugo_due = False
        if strength is not None:
            self.done.strength["gnugo"] = asdict(strength)
            self.monitor.log(weights.games, {"strength/win_rate_gnugo": strength.win_rate})
            self.log(f"{weights.games:12,d} games: won {strength} in {strength.games} games")
        self.save()

    def weights(self) -> Weights:
        """Return what the run has learned so far."""
        learner = self.learner
        return _learned(self.config, self.folder, learner.games, learner.theta.copy(), learner.mean())

    def strength(self) -> dict[str, Strength]:
        """Return the strength as last measured, by opponent."""
        return {k: Strength(**{**s, "ci95": tuple(s["ci95"])}) for k, s in self.done.strength.items()}

    def save(self) -> None:
        """Save the state."""
        self.folder.save(self.learner.state(), asdict(self.done), self.monitor.lengths())

    def interrupt(self) -> NoReturn:
        """Write the weights so far, and end with `_Interrupted`."""
        self.stop_early("interrupted")
        raise _Interrupted

    def stop_early(self, how: str = "ended by a callback") -> None:
        """Write the weights so far, and print how to resume."""
        self.save()
        save_weights(self.folder.weights, self.weights())
        self.log(
            f"{how} after {self.learner.games:,} games; weights so far: {self.folder.weights}\n"
            + _how_to_resume(self.folder)
        )

    def interrupt_round(self) -> NoReturn:
        """Go back to the saved state, from which the round will be played again, and end with `_Interrupted`."""
        state, saved = self.folder.load()
        self.learner.restore(state)
        self.done = _Progress.of(saved)
        self.interrupt()

    def finish(self) -> None:
        """Write the weights and the results, and print how to use them."""
        save_weights(self.folder.weights, self.weights())
        done = self.done
        end: dict[str, Any] = {"seconds": round(done.seconds, 1), "sessions": done.sessions}
        end |= {"strength": done.strength, "elo": done.elo}
        self.folder.write_about({**_read_provenance(self.folder), **end})
        self.monitor.hparams(flat(self.config), is_finished=True)
        n = self.config.run.eval_games
        self.log(
            f"{self.learner.games:,} games in {self.done.seconds:.0f} s. Above: Elo of the greedy player "
            f"({SCALE}) and its win rates in {n:,} games per opponent, with 95 % intervals"
        )
        self.log(_next_steps(self.folder, self.config.board.size))
        done.finished = True
        self.save()

    def log(self, line: str) -> None:
        """Write a line to standard error and to log.txt."""
        message(line)
        print(line, file=self.log_file, flush=True)


def _learned(config: Config, folder: RunFolder, games: int, theta: np.ndarray, mean: np.ndarray) -> Weights:
    """Return the weights that a run measures and saves, the last ones or their mean, with its provenance."""
    theta, provenance = mean if config.learning.output == "mean" else theta, _read_provenance(folder)
    return Weights(features_of(config), theta, config.board.komi, config.learning.values()["value"], games, provenance)


def _scalars(window: dict[str, float], seconds: float, learner: Learner) -> dict[str, float]:
    """Return one point of the logs, from the tallies of its window."""
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
    """Return the share of each block's weights whose shapes have never occurred; see `td.UpdateScratch`."""
    return {
        f"occurrences/never_seen_{b.name}": float((occurrences[b.start : b.stop] == 0).mean()) for b in features.blocks
    }


# ---------------------------------------------------------------------------------------------
# run.json, and what to do next
# ---------------------------------------------------------------------------------------------


def _provenance(config: Config) -> dict[str, Any]:
    """Return the provenance of a new run, for run.json."""
    return {
        "command": command_line(),
        "seed": config.run.seed,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **versions(),
        "commit": commit(),
        "machine": platform.machine(),
        "config": to_toml(config),
    }


def _read_provenance(folder: RunFolder) -> dict[str, Any]:
    """Return run.json without the results that the end of the run adds."""
    return {key: value for key, value in folder.read_about().items() if key not in _RESULTS}


def _next_steps(folder: RunFolder, size: int) -> str:
    """Return commands to try on a finished run."""
    player = f"greedy,weights={spec_value(folder.weights)}"
    commands = [
        command("rlgo", "weights", "show", folder.weights),
        command("rlgo", "match", player, "random", "--size", size, "--games", 100),
        command("rlgo", "gtp", "--player", player, "--size", size),
        command("tensorboard", "--logdir", folder.path.parent),
    ]
    if importlib.util.find_spec("tensorboard") is None:
        commands.insert(3, "pip install 'rlgo[tensorboard]', then:")
    return "\n  ".join(["next:", *commands])
