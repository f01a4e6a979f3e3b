"""Targets of default policies: positions from games, each with the value that a deep search gives it.

Start reading at `Targets`, then `search_targets`. A file of targets is an archive (see `rlgo.base.archive`). Positions
are the first moves of games, one position after another, and are held out with their game (see `knowledge.shards`).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.archive import intact, read_archive, write_archive
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS
from rlgo.go.game import Game
from rlgo.learning.collection import Collection, is_held_out, learned_moves
from train import console
from train.arena.prepare import try_players
from train.knowledge.collect import origin_of
from train.locks import only_writer
from train.players import make_player

FORMAT, VERSION = "rlgo-targets", 1
_SAVE_EVERY = 100  # positions
_TYPES = {  # of the arrays in a file
    "n_setup": np.uint16, "n_moves": np.uint16, "color": np.uint8, "move": np.uint16, "value": np.float32,
    "held_out": np.bool_,
}  # fmt: skip


@dataclass(frozen=True)
class Targets:
    """Positions with their values.

    Attributes
    ----------
    recipe, provenance : what determined the positions and their values; command, versions and commit
    n_setup, n_moves : int64[n], numbers of stones set up and of moves of each position
    color, move : int64[m], the stones and then the moves, one position after another
    value : float64[n], P(Black wins)
    held_out : bool[n]
    """

    recipe: dict[str, Any]
    provenance: dict[str, Any]
    n_setup: np.ndarray
    n_moves: np.ndarray
    color: np.ndarray
    move: np.ndarray
    value: np.ndarray
    held_out: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    @property
    def size(self) -> int:
        """The board size."""
        return int(self.recipe["size"])

    @property
    def komi(self) -> float:
        """The komi that the values are for."""
        return float(self.recipe["komi"])

    def games(self) -> list[Game]:
        """Return the positions."""
        stones, games = zip(self.color.tolist(), self.move.tolist(), strict=True), []
        for n_setup, n_moves in zip(self.n_setup.tolist(), self.n_moves.tolist(), strict=True):
            game = Game(self.size, self.komi)
            if n_setup:
                game.set_up([next(stones) for _ in range(n_setup)])
            for _ in range(n_moves):
                color, p = next(stones)
                game.play(p, color, may_repeat=True)
            games.append(game)
        return games


def search_targets(
    games: Collection, player: str, n: int, out: Path, *, komi: float, seed: int, progress: bool = True
) -> Targets:
    """Choose positions of games at random, let a player search them, and keep their values in a file.

    Values that are already in the file, from the same call, are not searched again. Each position has its own random
    numbers, so that an interruption changes nothing.

    Parameters
    ----------
    games : where positions come from: those in which a search chose a move, or all in games without a search
    player : spec of a player with an opinion about a position
    n : number of positions
    out : the file, new or begun
    komi : of the positions
    seed : of the choice of positions, and of the player

    Raises
    ------
    RlgoError : for a file of other targets, one that another process writes to, or a player without opinions.
    KeyboardInterrupt : after Ctrl-C; the values found so far are kept.
    """
    _, programs = try_players([player], games.size, komi)
    recipe = {"size": games.size, "komi": komi, "player": player, "seed": seed, "positions": n, **programs}
    chosen = _choose(games, n, seed)
    targets = _unsearched(games, chosen, recipe)
    with only_writer(out):
        done = _read_begun(out, targets)
        try:
            with console.Progress(n, "positions", initial=done, enabled=progress) as bar:
                for i, game in enumerate(bar.track(targets.games()[done:]), done):
                    if i and i % _SAVE_EVERY == 0:
                        save_targets(out, targets)
                    targets.value[i] = _value_of(game, player, seed, i)
        finally:
            if not np.isnan(targets.value[:1]).any():
                save_targets(out, targets)
    return targets


def _value_of(game: Game, player: str, seed: int, number: int) -> float:
    """Return the value that a player's search gives a position: P(Black wins). RlgoError if it has no opinion."""
    with contextlib.closing(make_player(player, game.size, seed, (number,))) as searcher:
        searcher.genmove(game)
        candidates = searcher.candidates(game)
        if not candidates:
            raise RlgoError(f"player {searcher.name}: expected a player with an opinion, such as a tree search")
        return candidates[0].value


def _choose(games: Collection, n: int, seed: int) -> np.ndarray:
    """Choose positions; return the number of the move after each, counting the moves of all games in order."""
    a = games.arrays
    starts = np.cumsum(a["n_moves"]) - a["n_moves"]
    # A search takes the turn from the board: before the first move it is Black's, even if White moved first.
    is_first = np.zeros(len(a["move"]), bool)
    is_first[starts[a["n_moves"] > 0]] = True
    has_turn = ~is_first | (a["color"] == BLACK)
    possible = np.flatnonzero(learned_moves(a) & (a["move"] != PASS) & has_turn)
    if n > len(possible):
        raise RlgoError(f"{n:,} positions: expected at most {len(possible):,}, as many as the games have")
    return np.sort(np.random.default_rng(seed).choice(possible, n, replace=False))


def _unsearched(games: Collection, chosen: np.ndarray, recipe: dict[str, Any]) -> Targets:
    """Return the positions before some moves, without values."""
    a = games.arrays
    ends = np.cumsum(a["n_moves"])
    game = np.searchsorted(ends, chosen, side="right")
    n_moves = chosen - (ends - a["n_moves"])[game]
    # The side to move need not be the opponent of the last one that moved; a search takes it from the board.
    first_stone = (np.cumsum(a["n_setup"]) - a["n_setup"])[game]
    color, move = [], []
    for t, k, s, m in zip(chosen, n_moves, first_stone, a["n_setup"][game], strict=True):
        color += [a["setup_color"][s : s + m], a["color"][t - k : t]]
        move += [a["setup_point"][s : s + m], a["move"][t - k : t]]
    return Targets(
        recipe, origin_of(games), a["n_setup"][game], n_moves, np.concatenate(color), np.concatenate(move),
        np.full(len(chosen), np.nan), is_held_out(a["id"][game]),
    )  # fmt: skip


def _read_begun(out: Path, targets: Targets) -> int:
    """Take over the values of a file that was begun, and return their number. RlgoError if it has other targets."""
    if not out.exists():
        return 0
    begun = load_targets(out, complete=False)
    if begun.recipe != targets.recipe or not np.array_equal(begun.move, targets.move):
        raise RlgoError(f"{out}: other targets; choose another file")
    targets.value[:] = begun.value
    return int((~np.isnan(begun.value)).sum())


def save_targets(path: Path, targets: Targets) -> None:
    """Write a file of targets, atomically. Raises RlgoError if it cannot be written."""
    meta = {"format": FORMAT, "version": VERSION, "recipe": targets.recipe, "provenance": targets.provenance}
    write_archive(path, meta, {name: getattr(targets, name).astype(kind) for name, kind in _TYPES.items()})


def load_targets(path: Path, complete: bool = True) -> Targets:
    """Read a file of targets.

    complete : leave out positions without a value, after an interruption

    RlgoError if it is missing, damaged, or no such file.
    """
    meta, arrays = read_archive(path, "file of targets", FORMAT, VERSION)
    with intact(path, "a file of targets"):
        n_setup, n_moves, value = (
            arrays["n_setup"].astype(np.int64),
            arrays["n_moves"].astype(np.int64),
            arrays["value"],
        )
        columns = arrays["color"].astype(np.int64), arrays["move"].astype(np.int64)
        is_whole = len(n_setup) == len(n_moves) == len(value) == len(arrays["held_out"])
        if not is_whole or any(len(column) != (n_setup + n_moves).sum() for column in columns):
            raise ValueError
        recipe, provenance = dict(meta["recipe"]), dict(meta["provenance"])
        int(recipe["size"]), float(recipe["komi"])
    n = int((~np.isnan(value)).sum()) if complete else len(value)
    color, move = (column[: (n_setup + n_moves)[:n].sum()] for column in columns)
    return Targets(
        recipe, provenance, n_setup[:n], n_moves[:n], color, move, value[:n].astype(np.float64), arrays["held_out"][:n]
    )
