"""A training run: self-play, learn, measure, log, save.

Start reading at `train`. A run folder holds

    config.toml       the resolved config
    run.json          seed, command, versions, git commit, start and end
    metrics.jsonl     every logged number; the same in TensorBoard's event files beside it
    log.txt           what the run said
    weights.npz       the weights, at the end or when interrupted (Ctrl-C)
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.errors import RlgoError
from rlgo.jit import compiling
from rlgo.policy import POLICIES, Policy
from rlgo.resources import version
from rlgo.selfplay import Learner, meet
from rlgo.shapes import make_features
from rlgo.td import NORMALISATIONS, SCHEDULES, UPDATES, Learning
from rlgo.value import VALUES
from rlgo.weights import Weights, load_weights, save_weights, shipped_weights, write_atomically
from train.config import Config, to_toml
from train.match import clustered_interval
from train.monitor import Monitor

_SLICE_SECONDS = 0.2


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
    )
    policy = Policy(POLICIES[p.kind], p.epsilon if p.kind == "epsilon_greedy" else 0.0, p.temperature, value)
    features = make_features(config.board.size, f.sizes, f.sharing)
    return Learner(features, learning, policy, config.board.komi, p.max_moves, seed)


def train(config: Config, progress: bool | None = None) -> Result:
    """Run a config to its end.

    Parameters
    ----------
    config : see `config.Config`
    progress : show a progress bar on stderr; None: where stderr is a terminal

    Raises
    ------
    RlgoError : if the run folder exists or cannot be written, or the weights diverge.
    KeyboardInterrupt : after Ctrl-C, when the weights so far are saved.
    """
    play_seed, eval_seed = np.random.SeedSequence(config.run.seed).spawn(2)
    size = config.board.size
    folder = _free_folder(config)
    with compiling(f"board and value function, {size}x{size}"):
        learner = make_learner(config, play_seed)
    _make(folder)
    provenance = _provenance(config)
    write_atomically(folder / "config.toml", to_toml(config).encode())
    _write_json(folder / "run.json", provenance)

    def weights() -> Weights:
        return Weights(
            learner.features, learner.theta.copy(), config.board.komi, config.learning.value, learner.games, provenance
        )

    from tqdm import tqdm

    with Monitor(folder) as monitor, (folder / "log.txt").open("a", encoding="utf-8") as log:

        def say(line: str) -> None:
            tqdm.write(line, file=sys.stderr)
            print(line, file=log, flush=True)

        say(f"{learner.features.name}: {learner.features.n_weights:,} weights; run folder {folder}")
        monitor.text("config", "```toml\n" + to_toml(config) + "```")
        started = time.perf_counter()
        try:
            strength = _learn(config, learner, monitor, eval_seed, _wanted(progress), say)
        except KeyboardInterrupt:
            save_weights(folder / "weights.npz", weights())
            say(f"interrupted after {learner.games:,} games; weights so far: {folder / 'weights.npz'}")
            raise
        seconds = time.perf_counter() - started
        save_weights(folder / "weights.npz", weights())
        provenance["seconds"] = round(seconds, 1)
        _write_json(folder / "run.json", {**provenance, "strength": {k: asdict(s) for k, s in strength.items()}})
        say(
            f"{learner.games:,} games in {seconds:.0f} s. Above: what the greedy player won of "
            f"{config.run.eval_games:,} games each, with 95 % intervals"
        )
        _say_what_next(folder, size, say)
    return Result(folder, weights(), strength)


def _learn(
    config: Config,
    learner: Learner,
    monitor: Monitor,
    eval_seed: np.random.SeedSequence,
    progress: bool,
    say: Callable[[str], None],
) -> dict[str, Strength]:
    from tqdm import tqdm

    run, size = config.run, config.board.size
    snapshots = [(0, learner.theta.copy())]
    strength: dict[str, Strength] = {}
    window: dict[str, float] = {}
    slice_games, spent = 1, 0.0
    with tqdm(total=run.games, unit=" games", smoothing=0.1, disable=not progress) as bar:
        while learner.games < run.games:
            n = min(slice_games, _until(learner.games, run.log_every), run.games - learner.games)
            if run.eval_every:
                n = min(n, _until(learner.games, run.eval_every))
            start = time.perf_counter()
            if learner.games == 0:
                with compiling(f"self-play and learning, {size}x{size}"):
                    tally = learner.learn(n)
            else:
                tally = learner.learn(n)
            took = time.perf_counter() - start
            _check_finite(config, learner)
            slice_games = max(1, int(n * min(4.0, _SLICE_SECONDS / max(took, 1e-9))))
            spent += took
            bar.update(n)
            for name in tally.dtype.names or ():
                window[name] = window.get(name, 0.0) + float(tally[name])
            if learner.games % run.log_every == 0 or learner.games == run.games:
                monitor.log(learner.games, _scalars(window, spent, learner))
                window, spent = {}, 0.0
            if (run.eval_every and learner.games % run.eval_every == 0) or learner.games == run.games:
                strength = _measure(config, learner, snapshots, eval_seed)
                monitor.log(learner.games, {f"strength/win_rate_{k}": s.win_rate for k, s in strength.items()})
                snapshots.append((learner.games, learner.theta.copy()))
                say(f"{learner.games:12,d} games: won " + ", ".join(_told(s) for s in strength.values()))
                bar.set_postfix_str(", ".join(f"{k} {s.win_rate:.0%}" for k, s in strength.items()))
    return strength


def _until(games: int, every: int) -> int:
    """Games until the next multiple of `every`."""
    return every - games % every


def _scalars(window: dict[str, float], seconds: float, learner: Learner) -> dict[str, float]:
    from rlgo.td import step_size

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


def _measure(
    config: Config,
    learner: Learner,
    snapshots: list[tuple[int, np.ndarray]],
    seed: np.random.SeedSequence,
) -> dict[str, Strength]:
    """Win rates against a random player, the snapshot of half the games ago, and the shipped weights."""
    games = config.run.eval_games // 2 * 2
    earlier, theta = max((s for s in snapshots if s[0] <= learner.games // 2), key=lambda s: s[0])
    opponents = {"random": ("random play", np.zeros_like(learner.theta))}
    if earlier:
        opponents["earlier_self"] = (f"itself of {earlier:,} games", theta)
    shipped = _shipped(learner)
    if shipped is not None:
        opponents["shipped"] = shipped
    out = {}
    for key, (name, theta) in opponents.items():
        scores = meet(learner.features, learner.theta, theta, games, seed.spawn(1)[0], config.board.komi)
        out[key] = Strength(name, games, float(scores.mean()), clustered_interval(scores.tolist()))
    return out


def _told(s: Strength) -> str:
    low, high = s.ci95
    return f"{s.win_rate:.1%} ({low:.1%}-{high:.1%}) against {s.opponent}"


def _shipped(learner: Learner) -> tuple[str, np.ndarray] | None:
    """The best shipped weights of the board size, as a yardstick, where they have the same features."""
    try:
        path = shipped_weights(learner.features.size)
    except RlgoError:
        return None
    weights = load_weights(path)
    return (f"the shipped {path.stem}", weights.theta) if weights.features is learner.features else None


def _check_finite(config: Config, learner: Learner) -> None:
    if not np.isfinite(learner.theta).all():
        raise RlgoError(
            f"diverged: weights are not finite after {learner.games:,} games; "
            f"expected a smaller learning.alpha than {config.learning.alpha:g}"
        )


# ---------------------------------------------------------------------------------------------
# The run folder
# ---------------------------------------------------------------------------------------------


def _free_folder(config: Config) -> Path:
    folder = Path(config.run.out) / config.run.name
    if folder.exists():
        raise RlgoError(f"{folder}: holds a run already; expected a new name, --set run.name=NAME")
    return folder


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise RlgoError(f"{folder}: cannot be made: {error.strerror}") from None


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


def _write_json(path: Path, data: Any) -> None:
    write_atomically(path, (json.dumps(data, indent=2) + "\n").encode())


def _wanted(progress: bool | None) -> bool:
    return os.isatty(2) if progress is None else progress


def _say_what_next(folder: Path, size: int, say: Callable[[str], None]) -> None:
    weights = folder / "weights.npz"
    # Where the commands are not on the PATH (`make train`), name them as this one was called.
    called = Path(sys.argv[0])
    here = f"{os.path.relpath(called.parent)}/" if called.name == "rlgo" and shutil.which("rlgo") is None else ""
    say(
        f"next:\n"
        f"  {here}rlgo weights show {weights}\n"
        f"  {here}rlgo match greedy,weights={weights} random --size {size} --games 100\n"
        f"  {here}rlgo gtp --player greedy,weights={weights} --size {size}\n"
        f"  {here}tensorboard --logdir {folder.parent}"
    )
