"""Collections of training games: the shards of folders, as `rlgo games` writes them, and how they are read.

Start reading at `read_collection`. A shard is an archive (see `rlgo.base.archive`) with a few hundred games of one
board size; docs/shards.md describes the file. Its arrays hold one number after another: for each game, for each stone
set up, for each move, and for each move that a search visited. Whole numbers are stored in the smallest unsigned type
that holds them.

========== ==================================================================================================
game       `number`, `id`, `z` (NaN: not known), `komi` (NaN: not known), `n_setup`, `n_moves`
setup      `setup_color`, `setup_point`
move       `color`, `move` (points of the padded board, or PASS), `value` (P(Black wins) before the move by the
           search's best move; NaN: no search), `n_visited`
visited    `visited_move`, `visits`, the most visited first
========== ==================================================================================================

Version 1 has no `komi`: it is that of the recipe, which imported games lack.

A tenth of all games is *held out*: never learned from, only used to measure. A game's id is a digest of its moves, so
copies of a game in several collections are held out everywhere or nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.archive import intact, read_archive
from rlgo.base.errors import RlgoError
from rlgo.go.replay import MoveLists

FORMAT, VERSION = "rlgo-games", 2
HELD_OUT = 10  # one game in this many is held out

# The arrays by the unit that each number belongs to, as in the table above.
OF_GAMES = ("number", "id", "z", "komi", "n_setup", "n_moves")
OF_SETUP = ("setup_color", "setup_point")
OF_MOVES = ("color", "move", "value", "n_visited")
OF_VISITED = ("visited_move", "visits")
ARRAYS = (*OF_GAMES, *OF_SETUP, *OF_MOVES, *OF_VISITED)


def is_held_out(ids: np.ndarray) -> np.ndarray:
    """Return which games are held out, bool[n], by their ids, uint64[n]."""
    return ids % np.uint64(HELD_OUT) == 0


def shard_paths(folder: Path) -> list[Path]:
    """List the shards of a folder, in order."""
    return sorted(path for path in folder.glob("*.npz") if path.stem.isdecimal())


def read_shard(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a shard: its metadata and its arrays. RlgoError if it is missing, damaged, or not a shard."""
    meta, arrays = read_archive(path, "shard of games", FORMAT, VERSION)
    with intact(path, "a shard of games"):
        if "komi" not in arrays:  # version 1
            arrays["komi"] = np.full(len(arrays["number"]), meta["recipe"].get("komi", math.nan), np.float32)
        lengths = {len(arrays[name]) for name in OF_GAMES}, {len(arrays[name]) for name in OF_MOVES}
        sums = [(arrays["n_moves"].sum(), arrays["move"]), (arrays["n_setup"].sum(), arrays["setup_point"])]
        sums.append((arrays["n_visited"].sum(), arrays["visits"]))
        is_valid = all(len(kind) == 1 for kind in lengths) and all(n == len(column) for n, column in sums)
        if not is_valid or not isinstance(meta["recipe"]["size"], int):
            raise ValueError
    return meta, arrays


@dataclass(frozen=True)
class Collection:
    """All games of one or more folders.

    Attributes
    ----------
    recipes : what determined the games, one for each kind
    provenance : of the last shard
    arrays : as in a shard, of all games by their numbers; whole numbers are int64, or uint64 for ids
    folder : int64[games], which of the folders each game comes from
    """

    recipes: list[dict[str, Any]]
    provenance: dict[str, Any]
    arrays: dict[str, np.ndarray]
    folder: np.ndarray

    @property
    def size(self) -> int:
        """The board size."""
        return int(self.recipes[0]["size"])

    def __len__(self) -> int:
        return len(self.arrays["number"])


def learned_moves(a: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the moves to learn from, bool[moves]: those that a search chose; in a game without any search, all.

    a : the arrays of some games
    """
    searched = a["n_visited"] > 0
    first_move = np.cumsum(a["n_moves"]) - a["n_moves"]
    has_search = np.add.reduceat(np.append(searched, False), first_move) > 0  # the last game may have no moves
    return searched | ~np.repeat(has_search, a["n_moves"])


def learned_positions(a: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return how many positions of each game are for learning, int64[games]; 0 of those held out.

    a : the arrays of some games
    """
    counted = np.concatenate([[0], np.cumsum(learned_moves(a))])
    ends = np.cumsum(a["n_moves"])
    return np.where(is_held_out(a["id"]), 0, counted[ends] - counted[ends - a["n_moves"]])


def has_search(a: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the moves that a search chose among moves with different visits, bool[moves].

    Players that only rank moves by value, such as greedy ones, give all moves the same number of visits: that is no
    search. Nor is there anything to search for if there is a single move.

    a : the arrays of some games
    """
    found = a["n_visited"] > 0
    if found.any():
        first = (np.cumsum(a["n_visited"]) - a["n_visited"])[found]
        found[found] = np.maximum.reduceat(a["visits"], first) != np.minimum.reduceat(a["visits"], first)
    return found


def read_collection(folders: Sequence[Path]) -> Collection:
    """Read all games of some folders, each game once.

    Raises
    ------
    RlgoError : for a damaged shard, a folder without games, or games of different board sizes.
    """
    metas, parts, origins = [], [], []
    for i, folder in enumerate(folders):
        paths = shard_paths(folder)
        if not paths:
            raise RlgoError(f"{folder}: expected a folder of games, as rlgo games writes them")
        for path in paths:
            meta, arrays = read_shard(path)
            metas.append(meta)
            parts.append(arrays)
            origins.append(np.full(len(arrays["number"]), i))
    sizes = sorted({meta["recipe"]["size"] for meta in metas})
    if len(sizes) > 1:
        raise RlgoError(f"games on boards of size {' and '.join(map(str, sizes))}: expected one size")
    recipes = []
    for meta in metas:
        if meta["recipe"] not in recipes:
            recipes.append(meta["recipe"])
    joined = {name: np.concatenate([part[name] for part in parts]) for name in ARRAYS}
    for name, column in joined.items():
        if column.dtype.kind in "iu" and name != "id":
            joined[name] = column.astype(np.int64)
    games = _each_once(joined)
    return Collection(recipes, metas[-1]["provenance"], take_games(joined, games), np.concatenate(origins)[games])


def _each_once(a: dict[str, np.ndarray]) -> np.ndarray:
    """Sort games by number, and keep the first of those with the same id; return their indices."""
    order = np.argsort(a["number"], kind="stable")
    _, first = np.unique(a["id"][order], return_index=True)
    return order[np.sort(first)]


def take_games(a: Mapping[str, np.ndarray], games: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays of some of the games, by their indices, in that order."""
    moves = _rows(a["n_moves"], games)
    rows = {OF_GAMES: games, OF_SETUP: _rows(a["n_setup"], games), OF_MOVES: moves}
    rows[OF_VISITED] = _rows(a["n_visited"], moves)
    return {name: a[name][index] for names, index in rows.items() for name in names}


def _rows(lengths: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the indices of the rows that belong to some owners; owner i has lengths[i] rows, one after another."""
    ends = np.cumsum(lengths)
    n = lengths[wanted]
    shift = np.repeat(ends[wanted] - lengths[wanted] - (np.cumsum(n) - n), n)
    return np.arange(n.sum()) + shift


def move_lists_of(a: Mapping[str, np.ndarray]) -> MoveLists:
    """Return games as compiled code takes them, from the arrays of a collection."""

    def starts(lengths: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    return MoveLists(
        starts(a["n_moves"]), a["color"].astype(np.uint8), a["move"].astype(np.int16),
        starts(a["n_setup"]), a["setup_color"].astype(np.uint8), a["setup_point"].astype(np.int16),
        np.zeros(len(a["number"]), np.uint8), a["komi"].astype(np.float32),
    )  # fmt: skip
