"""Results of games in a JSONL file that grows with every game, and with which an interrupted match goes on.

Start reading at `open_results`. The first line says what is played, the others are games; one that was being written
when the machine went down is dropped, and its game played again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlgo.archive import write_atomically
from rlgo.coords import from_vertex, to_vertex
from rlgo.errors import RlgoError
from train.arena.pool import Farm, GameTask
from train.arena.referee import GameRecord

FORMAT = 1


@dataclass(frozen=True)
class Played:
    """A game of a match or a tournament that is over."""

    number: int  # from 1
    opening: int  # the games of one opening belong together
    black: str  # players, as the match calls them
    white: str
    record: GameRecord

    def to_json(self, size: int) -> dict[str, Any]:
        """All but the SGF record."""
        r = self.record
        return {
            "game": self.number,
            "opening": self.opening,
            "black": self.black,
            "white": self.white,
            "result": r.result,
            "z": r.z,
            "moves": " ".join(to_vertex(p, size) for p in r.moves),
            "capped": r.capped,
            "forfeit": r.forfeit,
            "seconds": [round(s, 3) for s in r.seconds],
            "longest": [round(s, 3) for s in r.longest],
            "scores": r.scores,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], size: int) -> Played:
        """The same again. Raises whatever a line of another kind makes it raise."""
        record = GameRecord(
            tuple(from_vertex(text, size) for text in data["moves"].split()),
            float(data["z"]),
            data["result"],
            data["capped"],
            data["forfeit"],
            tuple(data["seconds"]),
            tuple(data["longest"]),
            data["scores"],
        )
        return cls(data["game"], data["opening"], data["black"], data["white"], record)


class Results:
    """The games that are over, in memory and, where there is one, in a file; see `open_results`."""

    def __init__(self, size: int, path: Path | None = None, games: list[Played] | None = None):
        self._size, self._path = size, path
        self.games = games or []

    @property
    def numbers(self) -> set[int]:
        """Of the games that are over."""
        return {game.number for game in self.games}

    def add(self, game: Played) -> None:
        """Keep a game. It is on the disk when this returns."""
        self.games.append(game)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(game.to_json(self._size)) + "\n")
                file.flush()
                os.fsync(file.fileno())


def play_into(
    results: Results, farm: Farm, tasks: Iterable[GameTask], folder: Path | None, file: str, bar: Any
) -> Iterator[Played]:
    """Play games, keep each, and hand it out.

    folder, file : where the SGF record of each goes first, and its name with {} for the number; None: nowhere
    bar : a progress bar, which is moved on, and tells of forfeits
    """
    for task, record in farm.run(tasks):
        if folder is not None:
            write_atomically(folder / file.format(task.number), record.sgf)
        black, white = task.names or (task.black, task.white)
        game = Played(task.number, task.opening_number, black, white, record)
        results.add(game)
        if record.forfeit:
            bar.write(f"game {task.number}: {record.forfeit}", file=sys.stderr)
        bar.update()
        yield game


@contextlib.contextmanager
def open_results(path: Path | None, about: dict[str, Any], size: int) -> Iterator[Results]:
    """The results file of a match, new or begun, for one process alone.

    Parameters
    ----------
    path : None: keep results in memory only
    about : what is played: of a file that is there already all of it must be the same

    Raises
    ------
    RlgoError : for a file of another match, or that is none, and where another process writes to it. It stays as it is.
    """
    if path is None:
        yield Results(size)
        return
    from filelock import FileLock, Timeout

    try:
        with FileLock(f"{path}.lock", timeout=0):
            yield Results(size, path, read_results(path, about, size, repair=True))
    except Timeout:
        raise RlgoError(f"{path}: another process writes to it") from None


def read_results(path: Path, about: dict[str, Any], size: int, repair: bool = False) -> list[Played]:
    """The games of a results file; see `open_results`.

    repair : begin a file that is not there, and cut a line off that was being written
    """
    header = {"format": FORMAT, **about}
    if repair and (not path.exists() or path.stat().st_size == 0):
        write_atomically(path, (json.dumps(header) + "\n").encode())
        return []
    data = path.read_bytes()
    # A line without its end was being written when the machine, or the process, went down.
    whole = data[: data.rfind(b"\n") + 1]
    try:
        first, *lines = whole.decode("utf-8").split("\n")[:-1]
        known = json.loads(first)
        if not isinstance(known, dict) or "format" not in known:
            raise ValueError
    except ValueError:
        raise RlgoError(f"{path}: expected a results file, this is none") from None
    for key, value in json.loads(json.dumps(header)).items():
        if known.get(key) != value:
            was, now = _short(known.get(key)), _short(value)
            raise RlgoError(f"{path}: results of another match: {key} is {was}, not {now}; remove it to begin anew")
    games = []
    for number, line in enumerate(lines, 2):
        try:
            games.append(Played.from_json(json.loads(line), size))
        except (ValueError, KeyError, TypeError, AttributeError, RlgoError):
            raise RlgoError(f"{path}, line {number}: expected the result of a game") from None
    twice = len(games) - len({game.number for game in games})
    if twice:
        raise RlgoError(f"{path}: {twice} games stand there twice")
    if len(whole) < len(data) and repair:
        os.truncate(path, len(whole))
    return games


def read_versions(path: Path) -> dict[str, str]:
    """The versions of outside engines that a results file names. RlgoError for a file that is none."""
    try:
        with path.open(encoding="utf-8") as file:
            versions: dict[str, str] = json.loads(file.readline())["versions"]
    except (ValueError, KeyError, TypeError):
        raise RlgoError(f"{path}: expected a results file, this is none") from None
    return versions


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
