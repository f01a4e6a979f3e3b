"""Collect training games: a player against itself, or SGF files.

Start reading at `play_games` and `import_games`. Both fill a folder of shards (`shards.py`), and continue where an
earlier call ended.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.budget import never
from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.base.files import make_folder, write_atomically
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, BoardSize, Count, CountOr0, Komi, NonNegative, SeedNumber
from rlgo.go.rules import most_moves
from rlgo.go.sgf import SgfRecord, read_sgf_file, read_sgf_records
from rlgo.learning.collection import HELD_OUT, Collection, has_search, is_held_out, shard_paths
from train import console, provenance
from train.arena.openings import find_openings
from train.arena.pool import GameTask, make_pool
from train.arena.prepare import try_players
from train.arena.referee import GameRecord, GameRules
from train.arena.results import check_records
from train.games.shards import TrainingGame, open_folder

_NO_SEARCH = "only moves and results can be learned"


class GamesPlan(NamedTuple):
    """Everything that determines the games that a player plays against itself.

    `play_games` checks it.

    >>> from train import GamesPlan
    >>> GamesPlan("mc_rave,sims=200", games=60, size=5).seed
    1
    """

    player: str  # a spec
    games: Count
    size: BoardSize = DEFAULT_SIZE
    komi: Komi = DEFAULT_KOMI
    seed: SeedNumber = 1  # of the openings, and of players whose specs set none
    opening_plies: CountOr0 = 2  # random sensible moves at the start of each game; not learned
    komi_spread: NonNegative = 0.0  # standard deviation of komi from game to game, which is then in half points

    def combine(self) -> None:
        """Reject openings that leave too little of a game."""
        find_openings(f"random:{self.opening_plies}", self.size, self.komi)

    def recipe(self, programs: dict[str, Any]) -> dict[str, Any]:
        """Return everything that determines each game, which excludes the number of games.

        programs : see `prepare.Tried`
        """
        return {
            "kind": "self-play",
            "player": self.player,
            "size": self.size,
            "komi": self.komi,
            "seed": self.seed,
            "opening_plies": self.opening_plies,
            "max_moves": most_moves(self.size),
            **({"komi_spread": self.komi_spread} if self.komi_spread else {}),
            **programs,
        }

    def komi_of(self, number: int) -> float:
        """Return the komi of a game."""
        if not self.komi_spread:
            return self.komi
        rng = np.random.default_rng((self.seed, number))
        return math.floor(rng.normal(self.komi, self.komi_spread)) + 0.5

    def tasks(self, finished: set[int], sgf: bool) -> Iterable[GameTask]:
        """Yield the games that are left to play."""
        openings = find_openings(f"random:{self.opening_plies}", self.size, self.komi)
        for number, opening in enumerate(itertools.islice(openings.sequence(self.seed), self.games), 1):
            if number not in finished:
                komi = self.komi_of(number)
                rules = GameRules(self.size, komi, most_moves(self.size), sgf=sgf, opinions=True)
                yield GameTask(number, self.player, "", opening, self.seed, rules, opening_number=number)


def play_games(
    plan: GamesPlan, out: str | Path, *,
    jobs: int = 1, parallel: int = 1, cluster: str = "", sgf: Path | None = None, progress: bool = True,
    stop: Callable[[], bool] = never,
) -> int:  # fmt: skip
    """Play a player against itself, and keep the games with its opinion of each position.

    A game depends only on the plan and its number, not on which process plays it. Games that the folder holds already
    are not played again. Returns the number of games that were played.

    Parameters
    ----------
    plan : the games
    out : folder of the shards, new or begun with the same plan
    jobs, parallel, cluster : see `arena.pool.make_pool`
    sgf : a folder for a record of every game
    progress : show progress on standard error
    stop : called after each game; True ends the call

    Raises
    ------
    RlgoError : for a bad spec or pool, or a folder with other games; the games played so far are kept.
    KeyboardInterrupt : after Ctrl-C; the games finished so far are kept.

    If the player reports no search in a game, as other engines do not, a message says so once.

    >>> import tempfile, train
    >>> with tempfile.TemporaryDirectory() as out:
    ...     train.play_games(train.GamesPlan("random", games=2, size=5), f"{out}/games", progress=False)
    2
    """
    plan = validated(plan)
    engines, programs, seconds = try_players([plan.player], plan.size, plan.komi)
    if parallel > 1 and any(seconds):
        raise RlgoError(f"player {plan.player}: expected sims in place of seconds, which games at once would share")
    is_warned = False
    origin = {"versions": provenance.versions(engines), "commit": provenance.commit()}
    if sgf is not None:
        check_records(sgf, is_new=not shard_paths(Path(out)))
    with open_folder(Path(out), plan.recipe(programs), origin) as folder:
        begun = sum(number <= plan.games for number in folder.numbers)
        if sgf is not None:
            make_folder(sgf)
        with (
            contextlib.closing(make_pool(jobs, cluster, plan.games - begun, parallel=parallel)) as pool,
            console.Progress(plan.games, "games", initial=begun, enabled=progress) as bar,
        ):
            for task, record in pool.run(plan.tasks(folder.numbers, sgf is not None)):
                if record.forfeit:
                    raise RlgoError(f"game {task.number}: {record.forfeit}")
                if sgf is not None:
                    write_atomically(sgf / f"game-{task.number:06}.sgf", record.sgf)
                folder.add(_training_game(task.number, record, task.rules.komi))
                if not (is_warned or any(opinion.has_search for opinion in record.opinions.values())):
                    console.message(f"rlgo: {plan.player} reports no search: {_NO_SEARCH}")
                    is_warned = True
                bar.update()
                if stop():
                    break
        return sum(number <= plan.games for number in folder.numbers) - begun


def _training_game(number: int, record: GameRecord, komi: float) -> TrainingGame:
    """Return a finished game without a handicap as a training game."""
    moves = [(1 + i % 2, p) for i, p in enumerate(record.moves)]
    return TrainingGame(number, record.z, moves, opinions=record.opinions, komi=komi)


# ---------------------------------------------------------------------------------------------
# SGF files
# ---------------------------------------------------------------------------------------------


@dataclass
class Imported:
    """The result of `import_games`."""

    games: int = 0  # added
    copies: int = 0  # of games that the folder holds already
    bad: dict[str, str] = field(default_factory=dict)  # why games were left out, by file and game


def import_games(source: Path, out: Path, *, size: int = DEFAULT_SIZE, progress: bool = True) -> Imported:
    """Read all games of all SGF files below a folder, and add their main lines to a folder of shards.

    Games that cannot be read, or are of another board size, are listed in the result. A game that the folder holds
    already is not added again, so the call may be repeated.

    Parameters
    ----------
    source : the folder
    out : folder of the shards, new or with imported games of the same size
    size : board size of the games
    progress : show progress on standard error

    Raises
    ------
    RlgoError : for a source without SGF files, or a folder with other games.
    """
    paths = sorted(path for path in source.rglob("*") if path.suffix.lower() == ".sgf")
    if not paths:
        raise RlgoError(f"{source}: expected a folder with SGF files")
    result = Imported()
    origin = {"versions": provenance.versions(), "commit": provenance.commit(), "source": source.name}
    with (
        open_folder(out, {"kind": "imported", "size": size}, origin) as folder,
        console.Progress(len(paths), "files", enabled=progress) as bar,
    ):
        number = max(folder.numbers, default=0) + 1
        for path in bar.track(paths):
            for name, record in _records(path, str(path.relative_to(source)), result.bad):
                try:
                    game = _training_game_of(record, size, number)
                except RlgoError as error:
                    result.bad[name] = str(error)
                    continue
                if game.id in folder.ids:
                    result.copies += 1
                else:
                    folder.add(game)
                    result.games += 1
                    number += 1
    return result


def _records(path: Path, name: str, bad: dict[str, str]) -> Iterator[tuple[str, SgfRecord]]:
    """Yield the games of a file with their names in messages; where it cannot be read any further goes to `bad`."""
    n = 0
    try:
        for record in read_sgf_records(read_sgf_file(path)):
            n += 1
            yield (name if n == 1 else f"{name}, game {n}"), record
    except RlgoError as error:
        bad[name if n == 0 else f"{name}, game {n + 1}"] = str(error).removeprefix(f"{str(path)!r}: ")


def _training_game_of(record: SgfRecord, size: int, number: int) -> TrainingGame:
    """Return a recorded game as a training game. RlgoError if it cannot be used."""
    game = record.game()
    if game.size != size:
        raise RlgoError(f"{game.size}x{game.size}: expected {size}x{size}")
    if not game.moves:
        raise RlgoError("no moves")
    return TrainingGame(number, record.z, game.moves, game.setup, komi=record.komi)


# ---------------------------------------------------------------------------------------------
# Descriptions
# ---------------------------------------------------------------------------------------------


def summary(games: Collection) -> dict[str, Any]:
    """Return the numbers that describe a collection."""
    a = games.arrays
    z, searched = a["z"][~np.isnan(a["z"])], has_search(a)
    return {
        "recipes": games.recipes,
        "provenance": games.provenance,
        "games": len(games),
        "held_out": int(is_held_out(a["id"]).sum()),
        "moves": len(a["move"]),
        "searched": int(searched.sum()),
        "mean_moves": float(a["n_moves"].mean()),
        "known_results": len(z),
        "black_wins": float(z.mean()) if len(z) else None,
    }


def describe(games: Collection) -> str:
    """Describe a collection in a few lines."""
    s = summary(games)
    lines = [origin_text(recipe) for recipe in s["recipes"]]
    lines.append(f"{s['games']:,} games, {s['moves']:,} moves, {s['mean_moves']:.1f} a game")
    lines.append(f"{s['held_out']:,} games held out (one in {HELD_OUT} by the digest of its moves)")
    without = "" if s["searched"] else f": {_NO_SEARCH}"
    lines.append(f"{s['searched']:,} of {s['moves']:,} positions with a search{without}")
    if s["black_wins"] is not None:
        lines.append(f"Black won {s['black_wins']:.1%} of {s['known_results']:,} games with a result")
    made = s["provenance"]
    lines.append(f"rlgo {made['versions']['rlgo']}" + (f", commit {made['commit']}" if made["commit"] else ""))
    return "\n".join(lines)


def origin() -> dict[str, Any]:
    """Return the part of a learned file's origin that describes the command that made it."""
    return {"command": provenance.command_line(), "versions": provenance.versions(), "commit": provenance.commit()}


def origin_of(games: Collection) -> dict[str, Any]:
    """Return the origin that is stored in a file learned from a collection."""
    return {**origin(), "collection": games.recipes, "collected": games.provenance}


def origin_text(recipe: Mapping[str, Any]) -> str:
    """Say in a line where games come from."""
    board = f"{recipe['size']}x{recipe['size']}"
    if recipe["kind"] == "imported":
        return f"{board}, imported"
    spread = f" +- {recipe['komi_spread']:g}" if "komi_spread" in recipe else ""
    return f"{board}, komi {recipe['komi']:g}{spread}: {recipe['player']} against itself, seed {recipe['seed']}"
