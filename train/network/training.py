"""Train a network on games.

Start reading at `learn`, then `Learning`, whose folder holds

    state.npz       from which training continues: weights, their average, the optimiser's moments, and the step
    network.npz     the averaged weights, for players; written with each state
    metrics.jsonl   all logged numbers; the TensorBoard event files contain the same

Which positions a step learns from depends on nothing but the seed and the number of the step. So training that was
interrupted, even by ``kill -9``, ends with the same weights as training that was not. More steps and more games
continue it. No path is stored: the folder may be moved.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.archive import intact, read_archive, write_archive
from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.base.files import check_folder, make_folder
from rlgo.features.planes import N_SYMMETRIES
from rlgo.learning.batches import Batch, GameData, read_games
from rlgo.learning.collection import is_held_out, read_collection
from rlgo.network.architecture import KINDS, Parameters, Shape, new_parameters, shape_of
from rlgo.network.conv_network import ConvNetwork
from train.console import Progress, message
from train.games.collect import origin, origin_of
from train.locks import only_writer
from train.network.measure import measure
from train.network.settings import NetworkSettings
from train.runs.monitor import Monitor

FORMAT, VERSION = "rlgo-network-state", 2
_LOG_EVERY = 20  # steps whose losses are logged as their mean
_FIRST_SEED = 0  # of new weights, behind the seed; those of steps are 1 and more
_FEW = 3.0  # times 1 / (1 - averaging): with fewer steps, the average lags behind
_COLUMNS = ("alpha", "schedule", "batch", "steps", "averaging")  # the first ones of TensorBoard's table of runs
_RESULTS = ("loss/total", "loss/policy", "loss/value")  # its last ones


class TrainingPlan(NamedTuple):
    """What is learned, from what, and how.

    Attributes
    ----------
    folders : folders of games, of any board sizes
    shape : how large a new network is
    settings : how it learns
    save_every : steps between two saved states
    most_tested : positions of held-out games by which it is measured then, of each board size
    begin : the network to begin with; None: a new one
    window : learn only about so many of the latest positions, of each board size; None: all
    seen : training positions that there have been so far, to be logged; None: those of the folders
    """

    folders: Sequence[Path]
    shape: Shape = Shape()
    settings: NetworkSettings = NetworkSettings()
    save_every: int = 500
    most_tested: int = 2_000
    begin: ConvNetwork | None = None
    window: int | None = None
    seen: int | None = None


class Pool:
    """The training positions, or those held out, of one or more board sizes.

    sizes : the data by board size; sizes without games that are held out are left out
    folders : those with the games, by board size
    """

    def __init__(self, folders: Sequence[Path], held_out: bool = False, lam: float = 1.0, window: int | None = None):
        self.folders: dict[int, list[Path]] = {}
        for folder in folders:
            games = read_collection([folder])
            if not held_out or is_held_out(games.arrays["id"]).any():
                self.folders.setdefault(games.size, []).append(folder)
        self.sizes: dict[int, GameData] = {
            size: read_games(own, KINDS, held_out=held_out, window=window, lam=lam)
            for size, own in sorted(self.folders.items())
        }

    @cached_property
    def origins(self) -> dict[str, dict[str, Any]]:
        """Where the games come from, by board."""
        return {f"{size}x{size}": origin_of(read_collection(self.folders[size])) for size in self.sizes}

    def __len__(self) -> int:
        return sum(len(data) for data in self.sizes.values())

    def batch(self, settings: NetworkSettings, step: int) -> Batch:
        """Return the positions of a step, from 1, each turned by a random symmetry.

        All are of one board size, which is drawn in proportion to its positions.
        """
        rng = np.random.default_rng((settings.seed, step))
        lengths = np.array([len(data) for data in self.sizes.values()])
        data = list(self.sizes.values())[rng.choice(len(lengths), p=lengths / lengths.sum())]
        which = np.sort(rng.integers(len(data), size=settings.batch))  # games are played through in order
        return data.take(which, rng.integers(N_SYMMETRIES, size=settings.batch))


class Learning:
    """Training in its folder: begun, or continued from its saved state.

    session : the number of this start, from 1
    recent : the numbers of the latest steps, to be logged
    saved : the step of the saved state, -1: none

    Raises `RlgoError` if JAX is missing, for a bad state, or one of another network or other settings.
    """

    def __init__(self, plan: TrainingPlan, folder: Path, pool: Pool):
        self._jax = _jax_network()
        self.plan, self.folder, self.pool = plan, folder, pool
        settings = self._jax.compiled_for(plan.settings)
        self._step, self._losses = self._jax.make_step(settings), self._jax.make_losses(settings)
        self._alpha = self._jax.schedule_of(settings)
        self.session, self.saved, self.recent = 0, -1, list[dict[str, float]]()
        first = new_parameters(plan.shape, _seed_of(plan.settings)) if plan.begin is None else plan.begin.parameters
        self._at = 0, self._jax.first_state(first, plan.settings)  # one object: Ctrl-C comes at any time
        self._plan_record = {
            **shape_of(first)._asdict(), **plan.settings.by_key(),
            "begin": None if plan.begin is None else digest_of(plan.begin),
            **({} if plan.window else {"positions": len(pool)}),
        }  # fmt: skip
        self._file = folder / "state.npz"
        if self._file.is_file():
            self._load()
        self._good = self._at  # the latest state whose loss was finite
        self.session += 1

    def _load(self) -> None:
        meta, arrays = read_archive(self._file, "state of learning", FORMAT, VERSION)
        with intact(self._file, "a state of learning"):
            check_same(self._file, meta["plan"], self._plan_record, ("steps", "positions"))
            self._at = int(meta["step"]), self._jax.state_of(arrays, self.state)
            self.session, self.saved, self.recent = int(meta["session"]), self.step, list(meta["recent"])
            lengths = dict(meta["lengths"])
        for path in [self.folder / "metrics.jsonl", *self.folder.glob("events.out.tfevents.*")]:
            if path.name in lengths:
                os.truncate(path, lengths[path.name])
            else:  # written since
                path.unlink(missing_ok=True)

    @property
    def step(self) -> int:
        """The number of steps made."""
        return self._at[0]

    @property
    def state(self) -> Any:
        """The `loss.State` after them."""
        return self._at[1]

    def advance(self) -> None:
        """Make a step, and add its loss and other numbers to `recent`.

        RlgoError if the loss is not finite; the state is then the latest one with a finite loss.
        """
        batch = self.pool.batch(self.plan.settings, self.step + 1)
        state, found = self._step(self.state, np.int32(self.step), batch.planes, self._jax.targets_of(batch))
        numbers = {name: float(value) for name, value in found.items()}
        if not math.isfinite(numbers["loss/total"]):
            step, self._at = self.step + 1, self._good
            raise RlgoError(
                f"step {step:,}: the loss is no longer finite: expected a smaller alpha than "
                f"{self.plan.settings.alpha:g}, or clip; {self.folder} keeps the weights of step {self.step:,}"
            )
        self._good = self._at
        self.recent = [*self.recent[-_LOG_EVERY + 1 :], numbers]
        self._at = self.step + 1, state

    def network(self) -> ConvNetwork:
        """Return the network with the averaged weights."""
        weights = Parameters(*(np.array(a, np.float32) for a in self.state.averaged))
        made = {"step": self.step, "positions": len(self.pool), "settings": self.plan.settings._asdict()}
        return ConvNetwork(weights, made | origin() | {"games": self.pool.origins})

    def numbers(self) -> dict[str, float]:
        """Return the means of `recent`, and where learning is."""
        means = {name: float(np.mean([r[name] for r in self.recent])) for name in self.recent[0]}
        return means | {
            "learning/alpha": float(self._alpha(self.step - 1)),
            "positions/learned": self.step * self.plan.settings.batch,
            "positions/seen": len(self.pool) if self.plan.seen is None else self.plan.seen,
            "positions/window": len(self.pool),
        }

    def held_out(self, size: int, data: GameData) -> dict[str, float | None]:
        """Return the loss, its parts and other measures of the averaged weights on games that are held out."""
        most, n = self.plan.most_tested, min(self.plan.settings.batch, len(data))
        chosen = np.linspace(0, len(data) - 1, max(n, min(most, len(data)) // n * n)).astype(np.int64)
        rows = []
        for first in range(0, len(chosen), n):  # all batches of one size, for which JAX compiles
            batch = data.take(chosen[first : first + n])
            rows.append(self._losses(self.state.averaged, batch.planes, self._jax.targets_of(batch)))
        losses = {
            f"loss_held_out_{size}x{size}/{name}": float(np.mean([float(row[name]) for row in rows]))
            for name in rows[0]
        }  # fmt: skip
        found = measure(self.network(), data, most).numbers()
        return losses | {f"held_out_{size}x{size}/{name}": x for name, x in found.items()}

    def save(self, monitor: Monitor) -> None:
        """Write the network, and then the state from which training continues."""
        self.network().save(self.folder / "network.npz")
        meta = {
            "format": FORMAT, "version": VERSION, "plan": self._plan_record, "step": self.step,
            "session": self.session, "recent": self.recent, "lengths": monitor.lengths(),
        }  # fmt: skip
        write_archive(self._file, meta, self._jax.arrays_of(self.state))
        self.saved = self.step


def check_same(path: Path, was: Mapping[str, Any], now: Mapping[str, Any], growing: Collection[str]) -> None:
    """Raise an RlgoError that names the first difference between two plans.

    growing : keys whose numbers may be larger than they were
    """
    for key, value in json.loads(json.dumps(now)).items():
        old = was.get(key)
        if old == value or (key in growing and isinstance(old, int) and isinstance(value, int) and old < value):
            continue
        least = ", or more" if key in growing else ""
        raise RlgoError(
            f"{path}: {key} was {json.dumps(old)}, not {json.dumps(value)}: expected the same{least}, or a new --out"
        )


def learn(plan: TrainingPlan, folder: Path, progress: bool = True) -> ConvNetwork:
    """Train a network, or continue; its state is saved regularly, and when Ctrl-C ends it.

    Raises
    ------
    RlgoError : if JAX is missing, the games cannot be read, or the folder cannot be written or is in use; if the loss
        is no longer finite, when the latest good state has been saved
    """
    plan = plan._replace(settings=validated(plan.settings))
    _jax_network()
    check_folder(folder, "--out")
    s = plan.settings
    pool, tested = Pool(plan.folders, lam=s.lam, window=plan.window), Pool(plan.folders, held_out=True, lam=s.lam)
    make_folder(folder)
    with only_writer(folder):
        learning = Learning(plan, folder, pool)
        if learning.step >= s.steps:
            return learning.network()
        if (enough := math.ceil(_FEW / (1 - s.averaging))) > s.steps and plan.window is None:
            message(f"rlgo: {s.steps:,} steps are few for averaging = {s.averaging:g}: expected {enough:,} or more")
        with (
            Monitor(folder, learning.session, unit="step") as monitor,
            Progress(s.steps, "steps", initial=learning.step, enabled=progress) as bar,
        ):
            if learning.saved < 0:  # what is logged before a kill is then cut off
                learning.save(monitor)
            table = {**learning.plan.settings.by_key(), **shape_of(learning.state.averaged)._asdict()}
            monitor.hparams(table, False, _COLUMNS, _RESULTS)
            try:
                _steps(learning, tested, monitor, bar)
            finally:
                if learning.step != learning.saved:
                    learning.save(monitor)
            monitor.hparams(table, True, _COLUMNS, _RESULTS)
        return learning.network()


def _steps(learning: Learning, tested: Pool, monitor: Monitor, bar: Progress) -> None:
    """Make all steps that are left; log losses, and measure and save now and then."""
    plan = learning.plan
    since = learning.step, time.perf_counter()
    while learning.step < plan.settings.steps:
        learning.advance()
        bar.set_postfix(lambda: f"loss {learning.numbers()['loss/total']:.3f}")
        bar.update()
        step = learning.step
        if step % _LOG_EVERY == 0 or step == plan.settings.steps:
            now = time.perf_counter()
            speed = (step - since[0]) * plan.settings.batch / (now - since[1])
            _log(monitor, step, {**learning.numbers(), "positions/per_s": speed})
            since = step, now
        if step % plan.save_every == 0 or step == plan.settings.steps:
            for size, data in tested.sizes.items():
                _log(monitor, step, learning.held_out(size, data))
            learning.save(monitor)
            since = step, time.perf_counter()


def _log(monitor: Monitor, step: int, numbers: Mapping[str, float | None]) -> None:
    """Log the numbers that are known: JSON has no others."""
    monitor.log(step, {name: x for name, x in numbers.items() if x is not None and math.isfinite(x)})


def digest_of(network: ConvNetwork) -> str:
    """Return a digest of the weights, whatever file they are in."""
    return hashlib.sha256(b"".join(a.tobytes() for a in network.parameters)).hexdigest()[:16]


def _seed_of(settings: NetworkSettings) -> int:
    """Return the seed of new weights."""
    return int(np.random.SeedSequence((settings.seed, _FIRST_SEED)).generate_state(1, np.uint64)[0])


def _jax_network() -> Any:
    """Import what needs JAX. RlgoError if it is missing."""
    try:
        from train.network import loss
    except ImportError:
        raise RlgoError("learning a network needs JAX and Optax: pip install 'rlgo[network]'") from None
    return loss
