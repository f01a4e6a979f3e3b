"""Files of raw results: a header, then one line for each training run, pair of players, or number; and where they are.

Start reading at `RawResults`. Reports are computed from these files alone; see `analysis`. Those that ship with rlgo
are in `shipped_folder`. Below the working folder (``experiments``), whole experiments have their results in
``results``, those at a scale in ``scale-X/results``; see `own_results`.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.files import make_folder, read_file, write_atomically
from rlgo.base.resources import checkpoints_dir
from train.checksums import add_checksum, verify

FORMAT = "rlgo-experiment-1"


@dataclass(frozen=True)
class RawResults:
    """A file of raw results.

    Attributes
    ----------
    header : name, kind, scale, date, machine and versions; for a user's own experiment, its file, relative to the
        folder of results
    lines : the results; the first key of each is its type: "run", "pair", "number" or "histogram"
    """

    header: dict[str, Any]
    lines: list[dict[str, Any]]

    def of(self, key: str) -> list[dict[str, Any]]:
        """Return the lines that have this key: "run", "pair", "number" or "histogram"."""
        return [line for line in self.lines if key in line]


def write_raw(path: Path, raw: RawResults) -> None:
    """Write raw results, atomically: one JSON object a line.

    Raises RlgoError if the file cannot be written.
    """
    make_folder(path.parent)
    lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in raw.lines).encode()
    header = add_checksum({"format": FORMAT, **raw.header}, lines)
    write_atomically(path, f"{json.dumps(header)}\n".encode() + lines)


def read_raw(path: Path) -> RawResults | None:
    """Read raw results; return None if there is no such file.

    Raises RlgoError for any other file, and for one that was changed: the checksum in its header covers all lines.
    """
    if not path.exists():
        return None
    first, _, rest = read_file(path).partition(b"\n")
    try:
        header = verify(json.loads(first), rest)
        if header.pop("format") != FORMAT:
            raise ValueError
        return RawResults(header, [json.loads(line) for line in rest.decode().split("\n")[:-1]])
    except (ValueError, KeyError):
        raise RlgoError(f"{path}: not the raw results of an experiment, or damaged") from None


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of raw results; nothing for any other file."""
    try:
        raw = read_raw(path)
    except RlgoError:
        return {}
    return {} if raw is None else raw.header


# ---------------------------------------------------------------------------------------------
# Lines of pairs of players
# ---------------------------------------------------------------------------------------------


def pair_line(a: str, b: str, scores: Iterable[Sequence[float]], **more: Any) -> dict[str, Any]:
    """Return a line of raw results: the scores of `a` against `b`, with a count for each result of an opening.

    ``WL`` is an opening whose first game `a` won, and whose second it lost. In the first it is Black, except in Swiss
    tournaments, which draw the colours.

    Parameters
    ----------
    a, b : names of the players
    scores : for each opening, the scores of `a` in its games: 0, 0.5 or 1
    more : further keys of the line
    """
    letters = {0.0: "L", 0.5: "D", 1.0: "W"}
    counts = Counter("".join(letters[float(y)] for y in opening) for opening in scores)
    return {"pair": [a, b], "openings": dict(sorted(counts.items())), **more}


def turned(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line made by `pair_line` with its players in the other order."""
    swapped = str.maketrans("WL", "LW")
    openings = {scores[::-1].translate(swapped): n for scores, n in line["openings"].items()}
    of_both = ("pair", "specs", "seconds_of")
    line = {key: value[::-1] if key in of_both else value for key, value in line.items()}
    return {**line, "openings": dict(sorted(openings.items()))}


def sum_of_lines(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge lines that `pair_line` made of different games of the same players."""
    games = [games_of(line) for line in lines]
    openings = sum((Counter(line["openings"]) for line in lines), Counter[str]())
    moves = sum(n * line["moves"] for n, line in zip(games, lines, strict=True)) / sum(games)
    sums = {key: sum(line[key] for line in lines) for key in ("distinct", "forfeits")}
    engines: dict[str, str] = {}
    for line in lines:
        for name, version in line.get("engines", {}).items():
            known = engines.setdefault(name, version)
            engines[name] = known if version in known.split(" and ") else f"{known} and {version}"
    seconds_of = [math.fsum(line["seconds_of"][i] for line in lines) for i in (0, 1)]
    return {
        **lines[-1],
        "openings": dict(sorted(openings.items())),
        **sums,
        "engines": engines,
        "moves": round(moves, 1),
        "seconds_of": [round(spent, 3) for spent in seconds_of],
        "seconds": round(math.fsum(line["seconds"] for line in lines), 3),
    }


def scores_of(line: dict[str, Any]) -> list[tuple[float, ...]]:
    """Return the scores that `pair_line` counted: those of the first player, for each opening."""
    points = {"L": 0.0, "D": 0.5, "W": 1.0}
    return [tuple(points[y] for y in text) for text, n in line["openings"].items() for _ in range(n)]


def games_of(line: dict[str, Any]) -> int:
    """Return the number of games in a line made by `pair_line`."""
    return sum(n * len(text) for text, n in line["openings"].items())


def run_point(label: str, seed: int, games: int) -> str:
    """Return the name of a checkpoint among the players: ``LABEL #SEED @GAMES``."""
    return f"{label} #{seed} @{games}"


# ---------------------------------------------------------------------------------------------
# Folders of results
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ResultsFile:
    """The raw results of one experiment.

    Attributes
    ----------
    name : of the experiment
    folder : the folder that contains them
    header : the first line of their file
    """

    name: str
    folder: Path
    header: dict[str, Any]

    @property
    def path(self) -> Path:
        """Their file."""
        return self.folder / f"{self.name}.jsonl"

    @property
    def source(self) -> Path | None:
        """The file of the experiment if it is a user's own."""
        file = self.header.get("file")
        return None if file is None else Path(os.path.normpath(self.folder / file))

    def __str__(self) -> str:
        scale = self.header["scale"]
        return f"{self.header['finished']}, " + ("full" if scale == 1 else f"scale {scale:g}")


def shipped_folder() -> Path | None:
    """Return the folder of the results that ship with rlgo; None where they do not, as in an installed wheel."""
    folder = checkpoints_dir().parent / "results" / "experiments"
    return folder if folder.is_dir() else None


def is_shipped(folder: Path) -> bool:
    """Return whether a folder is that of the results that ship with rlgo."""
    shipped = shipped_folder()
    return shipped is not None and folder.resolve() == shipped.resolve()


def result_folders(out: str | Path) -> list[Path]:
    """Return the folders with raw results below a working folder: that of whole experiments first."""
    parts = [Path(out), *sorted(Path(out).glob("scale-*"))]
    return [folder / "results" for folder in parts if any((folder / "results").glob("*.jsonl"))]


def own_results(out: str | Path) -> list[ResultsFile]:
    """Return the raw results below a working folder, at all scales, the latest first."""
    found = [file for folder in result_folders(out) for file in results_in(folder)]
    return sorted(found, key=lambda file: file.path.stat().st_mtime, reverse=True)


def results_in(folder: Path) -> list[ResultsFile]:
    """Return the raw results in one folder, by name."""
    found = [ResultsFile(path.stem, path.parent, read_header(path)) for path in sorted(folder.glob("*.jsonl"))]
    return [file for file in found if file.header]


def latest_results(out: str | Path, name: str) -> ResultsFile:
    """Return the latest raw results of an experiment. RlgoError if it has not run."""
    found = [file for file in own_results(out) if file.name == name]
    if not found:
        raise RlgoError(f"{name}: has not run: no results of it below {out} (rlgo experiment run {name})")
    return found[0]
