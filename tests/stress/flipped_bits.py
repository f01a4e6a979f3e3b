"""A flipped bit at a random place of every kind of file that rlgo writes and reads again."""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import Outcome, StressTest, main
from tiny_runs import tiny
from weight_files import some_weights

from rlgo.base.archive import write_archive
from rlgo.base.errors import RlgoError
from rlgo.features.weights import load_weights, save_weights
from train.arena.match import play_match
from train.arena.results import read_results
from train.experiments.results.files import RawResults, pair_line, read_raw, write_raw
from train.games import shards
from train.runs.folder import RunFolder


class Kind(NamedTuple):
    """A kind of file."""

    make: Callable[[Path], Path]  # makes a file in a folder, and returns its path
    read: Callable[[Path], Any]  # reads it as the program does; equal for equal content


def _run_folder(place: Path) -> RunFolder:
    folder = RunFolder(place / "run")
    folder.checkpoints.mkdir(parents=True)
    folder.write_config(tiny(place))
    folder.write_about({"command": "rlgo train quick", "seed": 1, "started": "2026-11-22T10:00:00+00:00", "elo": 512.5})
    rng = np.random.default_rng(1)
    arrays = {"theta": rng.normal(size=300).astype(np.float32), "rng": rng.integers(0, 2**63, 2).astype(np.uint64)}
    folder.save(arrays, {"games": 300, "config": "", "ratings": {"100": 80.5}}, {"metrics.jsonl": 1000})
    return folder


def _match(place: Path) -> Path:
    path = place / "games.jsonl"
    play_match("random", "random", 6, size=5, komi=2.5, results=path, progress=False)
    return path


def _games(path: Path) -> Any:
    games = read_results(path, {"a": "random", "b": "random", "size": 5, "komi": 2.5, "seed": 1}, 5)
    # A last line without its end counts as one that was being written: its game is played again.
    return [game.to_json(5) for game in games if game.number < 6]


def _raw(place: Path) -> Path:
    lines = [pair_line("a", "b", [(1.0, 0.0), (0.5, 0.5)]), {"number": "größe", "value": 3.5}]
    write_raw(place / "raw.jsonl", RawResults({"experiment": "x", "scale": 1.0, "seed": 1}, lines))
    return place / "raw.jsonl"


def _shard(place: Path) -> Path:
    games = [shards.TrainingGame(n, n % 2, [(1 + i % 2, 8 + i) for i in range(20)]) for n in range(1, 20)]
    meta = {"format": shards.FORMAT, "version": shards.VERSION, "recipe": {"size": 9}, "provenance": {}}
    write_archive(place / "000001.npz", meta, shards.pack(games))
    return place / "000001.npz"


def _arrays(read: Callable[[Path], tuple[Any, Any]]) -> Callable[[Path], Any]:
    """Return a function that reads an archive into something that can be compared."""

    def content(path: Path) -> Any:
        meta, arrays = read(path)
        return meta, {name: array.tobytes() for name, array in arrays.items()}

    return content


def _weights(path: Path) -> Any:
    weights = load_weights(path)
    return weights.meta(), weights.theta.tobytes()


def _state(path: Path) -> Any:
    arrays, progress = RunFolder(path.parent).load()
    return progress, {name: array.tobytes() for name, array in arrays.items()}


def _save_some_weights(place: Path) -> Path:
    save_weights(place / "weights.npz", some_weights())
    return place / "weights.npz"


KINDS = {
    "weights": Kind(_save_some_weights, _weights),
    "state of a run": Kind(lambda place: _run_folder(place).state, _state),
    "config of a run": Kind(lambda place: _run_folder(place).config, lambda path: RunFolder(path.parent).read_config()),
    "provenance of a run": Kind(
        lambda place: _run_folder(place).run_json, lambda path: RunFolder(path.parent).read_about()
    ),
    "games of a match": Kind(_match, _games),
    "raw results": Kind(_raw, read_raw),
    "shard of games": Kind(_shard, _arrays(shards.read_shard)),
}


def trials(draw: random.Random) -> Iterator[Outcome]:
    """Flip a bit in each kind of file in turn, and read the file."""
    with tempfile.TemporaryDirectory() as place:
        files = {}
        for name, kind in KINDS.items():
            folder = Path(place, name)
            folder.mkdir()
            path = kind.make(folder)
            files[name] = path, path.read_bytes(), kind.read(path)
        for name in itertools.cycle(KINDS):
            path, whole, expected = files[name]
            bit = draw.randrange(8 * len(whole))
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            yield _outcome(name, path, expected, bit)


def _outcome(name: str, path: Path, expected: Any, bit: int) -> Outcome:
    try:
        found = KINDS[name].read(path)
    except RlgoError as error:
        is_clear = str(path.name) in str(error) and "\n" not in str(error)
        return Outcome(f"{name}: noticed", "" if is_clear else f"{name}, bit {bit}: not a clear line: {error}")
    except Exception as error:
        return Outcome(f"{name}: a bug", f"{name}, bit {bit}: {type(error).__name__}: {error}")
    same = found == expected
    return Outcome(f"{name}: harmless", "" if same else f"{name}, bit {bit}: read as something else")


STRESS_TEST = StressTest(
    "flipped_bits",
    "a flipped bit in weights, run states, configs of runs, provenance, games, raw results and shards",
    "a one-line error that names the file, or the data is unchanged",
    unit="bits",
    count=1_000 * len(KINDS),
    trials=trials,
)

if __name__ == "__main__":
    sys.exit(main(STRESS_TEST))
