"""Shards: files of training games, with the result of a search for each position.

Start reading at `TrainingGame`, then `ShardFolder`. `rlgo.learning.collection` describes the files, and reads them.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.archive import write_archive
from rlgo.base.errors import RlgoError
from rlgo.base.files import make_folder
from rlgo.learning.collection import (
    ARRAYS,
    FORMAT,
    OF_GAMES,
    OF_MOVES,
    OF_SETUP,
    OF_VISITED,
    VERSION,
    read_shard,
    shard_paths,
)
from train.arena.referee import Opinion
from train.locks import only_writer

_GAMES_PER_SHARD = 500
_SAVE_SECONDS = 10.0
_SAVE_SHARE = 0.02  # share of the time that saving may always take, so that games of slow players are saved at once
_NO_OPINION = Opinion(math.nan, (), ())


@dataclass(frozen=True)
class TrainingGame:
    """A training game.

    Attributes
    ----------
    number : its number in the collection, from 1
    z : 1 Black won, 0 White won, 0.5 a draw, NaN not known
    moves : (colour, point or PASS) each
    setup : stones set up at the start, (colour, point) each
    opinions : results of searches, by the number of moves before
    komi : points added to White's score; NaN: not known
    """

    number: int
    z: float
    moves: Sequence[tuple[int, int]]
    setup: Sequence[tuple[int, int]] = ()
    opinions: Mapping[int, Opinion] = field(default_factory=dict)
    komi: float = math.nan

    @property
    def id(self) -> int:
        """A digest of the stones set up and the moves, 64 bits."""
        text = json.dumps([[list(map(int, stone)) for stone in self.setup], [list(map(int, m)) for m in self.moves]])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def pack(games: Sequence[TrainingGame]) -> dict[str, np.ndarray]:
    """Return the arrays of a shard."""
    columns: dict[str, list[Any]] = {name: [] for name in ARRAYS}

    def add(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        for row in rows:
            for name, number in zip(names, row, strict=True):
                columns[name].append(number)

    for game in games:
        add(OF_GAMES, [(game.number, game.id, game.z, game.komi, len(game.setup), len(game.moves))])
        add(OF_SETUP, list(game.setup))
        for i, (color, p) in enumerate(game.moves):
            opinion = game.opinions.get(i, _NO_OPINION)
            add(OF_MOVES, [(color, p, opinion.value, len(opinion.moves))])
            add(OF_VISITED, list(zip(opinion.moves, opinion.visits, strict=True)))
    return {name: _compact(name, numbers) for name, numbers in columns.items()}


def _compact(name: str, numbers: list[Any]) -> np.ndarray:
    if name in ("z", "komi"):
        return np.array(numbers, np.float32)
    if name == "value":
        return np.array(numbers, np.float16)
    if name == "id":
        return np.array(numbers, np.uint64)
    return np.array(numbers, np.min_scalar_type(max(numbers, default=0)))


def unpack(arrays: Mapping[str, np.ndarray]) -> list[TrainingGame]:
    """Return the games of a shard; the inverse of `pack` but for the precision of values."""
    a = {name: arrays[name].tolist() for name in ARRAYS}
    setup, moves = zip(a["setup_color"], a["setup_point"], strict=True), zip(*(a[n] for n in OF_MOVES), strict=True)
    visited = zip(a["visited_move"], a["visits"], strict=True)
    games = []
    for number, z, komi, n_setup, n_moves in zip(*(a[n] for n in OF_GAMES if n != "id"), strict=True):
        stones, played, opinions = [next(setup) for _ in range(n_setup)], [], {}
        for i in range(n_moves):
            color, p, value, n_visited = next(moves)
            played.append((color, p))
            pairs = [next(visited) for _ in range(n_visited)]
            if pairs or not math.isnan(value):
                opinions[i] = Opinion(value, tuple(m for m, _ in pairs), tuple(n for _, n in pairs))
        games.append(TrainingGame(number, z, played, stones, opinions, komi))
    return games


# ---------------------------------------------------------------------------------------------
# Folders
# ---------------------------------------------------------------------------------------------


class ShardFolder:
    """A folder of shards that grows; open it with `open_folder`.

    Attributes
    ----------
    numbers, ids : of all games in it
    """

    def __init__(self, path: Path, recipe: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        self.path = path
        self._recipe = dict(recipe)
        self._meta = {"format": FORMAT, "version": VERSION, "recipe": self._recipe, "provenance": dict(provenance)}
        self.numbers: set[int] = set()
        self.ids: set[int] = set()
        self._games: list[TrainingGame] = []  # of the last shard
        self._n_shards = 1
        self._begun = self._saved = time.monotonic()
        self._saving = 0.0  # seconds spent saving so far
        self._is_saved = True
        self._read()

    def _read(self) -> None:
        """Read the existing shards. RlgoError for a damaged shard, or games of another recipe."""
        for path in shard_paths(self.path):
            meta, arrays = read_shard(path)
            check_recipe(path, meta["recipe"], self._recipe)
            self.numbers |= set(arrays["number"].tolist())
            self.ids |= set(arrays["id"].tolist())
            self._n_shards = int(path.stem)
            self._games = unpack(arrays)
            if meta["provenance"] != self._meta["provenance"]:  # all games of a shard share one provenance
                self._games, self._n_shards = [], self._n_shards + 1
        self._start_next()

    def add(self, game: TrainingGame) -> None:
        """Add a game. It is on disk when this returns, or together with a later one, or after `save`.

        Only games that come too fast to be saved one by one have to wait for a later one.
        """
        self._games.append(game)
        self.numbers.add(game.number)
        self.ids.add(game.id)
        self._is_saved = False
        if len(self._games) >= _GAMES_PER_SHARD or self._is_time_to_save():
            self.save()
            self._start_next()

    def _is_time_to_save(self) -> bool:
        now = time.monotonic()
        return now - self._saved > _SAVE_SECONDS or self._saving <= _SAVE_SHARE * (now - self._begun)

    def save(self) -> None:
        """Write the last shard, atomically. RlgoError if it cannot be written; the old one is left as it was."""
        if not self._is_saved:
            begun = time.monotonic()
            write_archive(self.path / f"{self._n_shards:06}.npz", self._meta, pack(self._games))
            self._saved, self._is_saved = time.monotonic(), True
            self._saving += self._saved - begun

    def _start_next(self) -> None:
        if len(self._games) >= _GAMES_PER_SHARD:
            self._games = []
            self._n_shards += 1


@contextmanager
def open_folder(path: Path, recipe: Mapping[str, Any], provenance: Mapping[str, Any]) -> Iterator[ShardFolder]:
    """Open a folder of shards, new or begun, for this process alone; it is saved at the end, even after an error.

    Parameters
    ----------
    path : the folder
    recipe : what determines its games; an existing folder must have the same
    provenance : versions and so on, written into new shards

    Raises
    ------
    RlgoError : for games of another recipe, a damaged shard, or a folder that another process is writing to.
    """
    make_folder(path)
    with only_writer(path):
        folder = ShardFolder(path, recipe, provenance)
        try:
            yield folder
        finally:
            folder.save()


def check_recipe(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise an RlgoError that names the first difference between two recipes."""
    for key, value in json.loads(json.dumps(wanted)).items():
        if found.get(key) != value:
            was, now = json.dumps(found.get(key)), json.dumps(value)
            raise RlgoError(f"{path.parent}: games of another run: {key} is {was}, not {now}; choose another folder")
