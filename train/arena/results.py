"""Results of games in a JSONL file, from which an interrupted match continues.

Start reading at `open_results`. The first line describes what is being played; every other line is a game. Each has a
checksum (`checksums.add_checksum`). A line that was being written when the process or the machine went down is dropped,
and its game is played again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.files import append, is_stream, read_file, write_atomically
from rlgo.go.coords import from_vertex, vertices
from train import console
from train.arena.openings import with_openings
from train.arena.pool import GamePool, GameTask
from train.arena.referee import GameRecord
from train.checksums import add_checksum, verify
from train.locks import only_writer

FORMAT = 2
_LONG = 60  # characters of a value in an error


@dataclass(frozen=True)
class PlayedGame:
    """A finished game of a match or tournament."""

    number: int  # from 1
    opening: int  # number of the opening, from 1: games of one opening belong together
    black: str  # the players, by their names in the match
    white: str
    record: GameRecord

    def to_json(self, size: int) -> dict[str, Any]:
        """Return everything except the SGF record as plain data for JSON."""
        r = self.record
        return {
            "game": self.number,
            "opening": self.opening,
            "black": self.black,
            "white": self.white,
            "result": r.result,
            "z": r.z,
            "moves": vertices(r.moves, size),
            "capped": r.capped,
            "forfeit": r.forfeit,
            "seconds": [round(s, 3) for s in r.seconds],
            "simulations": list(r.simulations),
            "searches": list(r.searches),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], size: int) -> PlayedGame:
        """Read what `to_json` returned. Other data may raise any exception."""
        record = GameRecord(
            tuple(from_vertex(text, size) for text in data["moves"].split()),
            float(data["z"]),
            data["result"],
            data["capped"],
            data["forfeit"],
            tuple(data["seconds"]),
            tuple(data.get("simulations", (0, 0))),  # older files lack them
            tuple(data.get("searches", (0, 0))),
        )
        return cls(data["game"], data["opening"], data["black"], data["white"], record)


class Results:
    """The finished games of a match, in memory and possibly in a file; see `open_results`.

    Attributes
    ----------
    games : the games, in the order in which they ended
    """

    def __init__(self, size: int, path: Path | None = None, games: list[PlayedGame] | None = None) -> None:
        """Start with some games of one board size; `path` is their file, or None."""
        self._size, self._path = size, path
        self.games = games or []

    @property
    def numbers(self) -> set[int]:
        """The numbers of the finished games."""
        return {game.number for game in self.games}

    def first(self, n: int) -> list[PlayedGame]:
        """Return the finished games with numbers up to n, in order. The file of a longer match contains others, too."""
        return sorted((game for game in self.games if game.number <= n), key=lambda game: game.number)

    def add(self, game: PlayedGame) -> None:
        """Keep a game. It is on disk when this returns."""
        self.games.append(game)
        if self._path is not None:
            append(self._path, _line(game.to_json(self._size)))


def play_into(
    results: Results, pool: GamePool, tasks: Iterable[GameTask], progress: console.Progress, sgf: Path | None = None
) -> Iterator[PlayedGame]:
    """Play games, keep each one in `results`, and yield it.

    Parameters
    ----------
    results : where the games are kept
    pool : the pool that plays them
    tasks : the games to be played
    progress : advanced by each game
    sgf : path of the SGF records, with ``{}`` in its name for the number of the game; None writes none. A record is
        written before its game is kept.
    """
    for task, record in pool.run(tasks):
        if sgf is not None:
            write_atomically(sgf.with_name(sgf.name.format(task.number)), record.sgf)
        black, white = task.names or (task.black, task.white)
        game = PlayedGame(task.number, task.opening_number, black, white, record)
        results.add(game)
        if record.forfeit:
            console.message(f"game {task.number}: {record.forfeit}")
        yield game
        progress.update()  # after the caller has taken note of the game, so that what it shows is not one behind


@contextlib.contextmanager
def open_results(path: Path | None, header: dict[str, Any], size: int) -> Iterator[Results]:
    """Open the results file of a match, new or begun, for this process alone.

    Parameters
    ----------
    path : None: keep results in memory only
    header : what is being played. An existing file must have the same header.
    size : board size

    Raises
    ------
    RlgoError : if the file belongs to another match, is not a results file, or is being written by another process.
        The file is left unchanged.
    """
    if path is None:
        yield Results(size)
        return
    if is_stream(path):  # results are read again
        raise RlgoError(f"{path}: expected a file, found a device or a pipe")
    with only_writer(path):
        yield Results(size, path, read_results(path, header, size, repair=True))


def read_results(path: Path, header: dict[str, Any], size: int, *, repair: bool = False) -> list[PlayedGame]:
    """Read the games of a results file.

    Parameters
    ----------
    path : the file
    header : what is being played, see `open_results`
    size : of the board
    repair : create a missing file, and cut off an unfinished last line

    Raises
    ------
    RlgoError : as in `open_results`, and for lines that are not games.
    """
    header = {"format": FORMAT, **header}
    if repair and (not path.exists() or path.stat().st_size == 0):
        write_atomically(path, _line(header))
        return []
    data = read_file(path)
    # A last line without its end was being written when the process or the machine went down.
    complete = data[: data.rfind(b"\n") + 1]
    lines = _check_header(path, complete, header)
    games = []
    for number, line in enumerate(lines, 2):
        try:
            games.append(PlayedGame.from_json(verify(json.loads(line)), size))
        except (ValueError, KeyError, TypeError, AttributeError, RlgoError):
            raise RlgoError(f"{path}, line {number}: damaged, or not the result of a game") from None
    repeated = len(games) - len({game.number for game in games})
    if repeated:
        raise RlgoError(f"{path}: {repeated} games appear twice")
    if len(complete) < len(data) and repair:
        os.truncate(path, len(complete))
    return games


def _line(data: dict[str, Any]) -> bytes:
    return f"{json.dumps(add_checksum(data))}\n".encode()


def _check_header(path: Path, data: bytes, header: dict[str, Any]) -> list[str]:
    """Compare the header of a results file; returns its other lines. RlgoError as in `open_results`."""
    try:
        first, *lines = data.decode("utf-8").split("\n")[:-1]
        found = verify(json.loads(first))
    except ValueError:
        raise RlgoError(f"{path}: damaged, or not a results file of this version of rlgo") from None
    found = with_openings(found)
    for key, value in json.loads(json.dumps(header)).items():
        if found.get(key) != value:
            parts = _first_difference(found.get(key), value)
            was, now = _short(*parts), _short(*reversed(parts))
            raise RlgoError(
                f"{path}: results of other games: {key} is {was}, not {now}; move the file away to start over"
            )
    return lines


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a results file. RlgoError if it is not a results file."""
    try:
        with path.open(encoding="utf-8") as file:
            header = with_openings(verify(json.loads(file.readline())))
        _ = header["versions"]
    except (ValueError, KeyError, TypeError):
        raise RlgoError(f"{path}: damaged, or not a results file of this version of rlgo") from None
    return header


def check_records(folder: Path, is_new: bool) -> None:
    """Raise an RlgoError if new games would overwrite the records of other games in a folder."""
    if is_new and any(folder.glob("game-*.sgf")):
        raise RlgoError(f"{folder}: contains records of other games: expected a new or empty folder")


def _first_difference(was: Any, now: Any) -> tuple[Any, Any]:
    """Return two different values; for tables, and for lists of equal length, the first parts that differ."""
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        return next((a, b) for a, b in zip(was, now, strict=True) if a != b)
    if isinstance(was, dict) and isinstance(now, dict):
        key = next(key for key in [*was, *now] if was.get(key) != now.get(key))
        return {key: was[key]} if key in was else {}, {key: now[key]} if key in now else {}
    return was, now


def _short(value: Any, other: Any) -> str:
    """Return a value as text, cut to the place where it differs from another if it is long."""
    text, texts = json.dumps(value, ensure_ascii=False), [json.dumps(v, ensure_ascii=False) for v in (value, other)]
    if len(text) <= _LONG:
        return text
    same = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, same - 20)
    end = start + _LONG
    return "..." * (start > 0) + text[start:end] + "..." * (end < len(text))
