"""Train a network on games.

Start reading at `learn`, then `Learning`, whose folder holds

    state.npz       from which training continues: weights, their average, the optimiser's moments, and the step
    network.npz     the averaged weights, for players; written with each state
    metrics.jsonl   all logged numbers; the TensorBoard event files contain the same

Which positions a step learns from depends on nothing but the seed and the number of the step. So training that was
interrupted, even by ``kill -9``, ends with the same weights as training that was not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
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
from train.console import Progress
from train.games.collect import origin, origin_of
from train.locks import only_writer
from train.network.measure import measure
from train.network.settings import NetworkSettings
from train.runs.monitor import Monitor

FORMAT, VERSION = "rlgo-network-state", 1
_LOG_EVERY = 20  # steps whose losses are logged as their mean
_FIRST_SEED = 0  # of new weights, behind the seed; those of steps are 1 and more


class TrainingPlan(NamedTuple):
    """What is learned, from what, and how.

    Attributes
    ----------
    folders : folders of games, of any board sizes
    shape : how large a new network is
    settings : how it learns
    save_every : steps between two saved states
    most_tested : positions of held-out games by which it is measured then, of each board size
    begin : the network to continue training; None: a new one
    """

    folders: Sequence[Path]
    shape: Shape = Shape()
    settings: NetworkSettings = NetworkSettings()
    save_every: int = 500
    most_tested: int = 2_000
    begin: ConvNetwork | None = None


class Pool:
    """The positions to learn from, or those held out, of one or more board sizes.

    sizes : the data by board size; sizes without games that are held out are left out
    folders : those with the games, by board size
    """

    def __init__(self, folders: Sequence[Path], held_out: bool = False, lam: float = 1.0):
        self.folders: dict[int, list[Path]] = {}
        for folder in folders:
            games = read_collection([folder])
            if not held_out or is_held_out(games.arrays["id"]).any():
                self.folders.setdefault(games.size, []).append(folder)
        self.sizes: dict[int, GameData] = {
            size: read_games(self.folders[size], KINDS, held_out=held_out, lam=lam) for size in sorted(self.folders)
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
    recent : the parts of the loss in the latest steps, to be logged
    saved : the step of the saved state, 0: none

    Raises `RlgoError` if JAX is missing, for a bad state, or one of another network or other settings.
    """

    def __init__(self, plan: TrainingPlan, folder: Path, pool: Pool):
        self._jax = _jax_network()
        self.plan, self.folder, self.pool = plan, folder, pool
        self._step = self._jax.make_step(plan.settings)
        self.session, self.saved, self.recent = 0, 0, list[dict[str, float]]()
        first = new_parameters(plan.shape, _seed_of(plan.settings)) if plan.begin is None else plan.begin.parameters
        self._at = 0, self._jax.first_state(first, plan.settings)  # one object: Ctrl-C comes at any time
        self._plan_record = {
            "shape": shape_of(first)._asdict(), "settings": plan.settings._asdict(), "positions": len(pool),
            **({} if plan.begin is None else {"begin": _digest(first)}),
        }  # fmt: skip
        self._file = folder / "state.npz"
        if self._file.is_file():
            self._load()
        self.session += 1

    def _load(self) -> None:
        meta, arrays = read_archive(self._file, "state of learning", FORMAT, VERSION)
        with intact(self._file, "a state of learning"):
            if meta["plan"] != self._plan_record:
                raise RlgoError(
                    f"{self._file}: of other games, another network or other settings: expected a new --out"
                )
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
        """Make a step, and add the parts of its loss to `recent`."""
        batch = self.pool.batch(self.plan.settings, self.step + 1)
        state, parts = self._step(self.state, batch.planes, self._jax.targets_of(batch))
        self.recent = [*self.recent[-_LOG_EVERY + 1 :], {name: float(value) for name, value in parts.items()}]
        self._at = self.step + 1, state

    def network(self) -> ConvNetwork:
        """Return the network with the averaged weights."""
        weights = Parameters(*(np.array(a, np.float32) for a in self.state.averaged))
        made = {"step": self.step, "positions": len(self.pool), "settings": self.plan.settings._asdict()}
        return ConvNetwork(weights, made | origin() | {"games": self.pool.origins})

    def save(self, monitor: Monitor) -> None:
        """Write the network, and then the state from which training continues."""
        self.network().save(self.folder / "network.npz")
        meta = {
            "format": FORMAT, "version": VERSION, "plan": self._plan_record, "step": self.step,
            "session": self.session, "recent": self.recent, "lengths": monitor.lengths(),
        }  # fmt: skip
        write_archive(self._file, meta, self._jax.arrays_of(self.state))
        self.saved = self.step


def learn(plan: TrainingPlan, folder: Path, progress: bool = True) -> ConvNetwork:
    """Train a network, or continue; its state is saved regularly, and when Ctrl-C ends it.

    Raises
    ------
    RlgoError : if JAX is missing, the games cannot be read, or the folder cannot be written or is in use
    """
    plan = plan._replace(settings=validated(plan.settings))
    _jax_network()
    check_folder(folder, "--out")
    pool, tested = Pool(plan.folders, lam=plan.settings.lam), Pool(plan.folders, held_out=True)
    make_folder(folder)
    with only_writer(folder):
        learning = Learning(plan, folder, pool)
        if learning.step >= plan.settings.steps:
            return learning.network()
        with (
            Monitor(folder, learning.session, unit="step") as monitor,
            Progress(plan.settings.steps, "steps", initial=learning.step, enabled=progress) as bar,
        ):
            try:
                _steps(learning, tested, monitor, bar.update)
            finally:
                if learning.step > learning.saved:
                    learning.save(monitor)
        return learning.network()


def _steps(learning: Learning, tested: Pool, monitor: Monitor, report: Callable[[], None]) -> None:
    """Make all steps that are left; log losses, and measure and save now and then."""
    plan = learning.plan
    while learning.step < plan.settings.steps:
        learning.advance()
        report()
        step, recent = learning.step, learning.recent
        if step % _LOG_EVERY == 0:
            monitor.log(step, {f"loss/{name}": float(np.mean([r[name] for r in recent])) for name in recent[0]})
        if step % plan.save_every == 0 or step == plan.settings.steps:
            network = learning.network()
            for size, data in tested.sizes.items():
                found = measure(network, data, plan.most_tested)
                monitor.log(step, {f"held_out_{size}x{size}/{k}": v for k, v in found.numbers().items()})
            learning.save(monitor)


def _digest(parameters: Parameters) -> str:
    return hashlib.sha256(b"".join(a.tobytes() for a in parameters)).hexdigest()


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
