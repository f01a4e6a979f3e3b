"""Make balanced openings: random plausible ones, of which a judge keeps those that both sides can win.

Start reading at `make_openings`, then `_examine`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import validated
from rlgo.base.errors import RlgoError
from rlgo.base.files import append, read_file, write_atomically
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, MAX_SIZE, BoardSize, Count, Komi, Probability, SeedNumber
from rlgo.go.coords import to_row_col, vertices
from rlgo.go.game import Game
from train import console, provenance
from train.arena.openings import FORMAT, VERSION, Opening, position_key, read_made, read_openings
from train.arena.prepare import try_players
from train.checksums import add_checksum
from train.locks import only_writer
from train.players import make_player

_MOST_REJECTED = 2_000  # candidates in a row, before giving up


class OpeningsPlan(NamedTuple):
    """Everything that determines the openings of a file. `make_openings` checks it."""

    judge: str  # a spec
    total: Count  # openings of the file
    size: BoardSize = DEFAULT_SIZE
    komi: Komi = DEFAULT_KOMI
    plies: Annotated[int, Ge(1), Le(40)] = 4
    low: Probability = 0.3  # of the band: the least chance of Black
    high: Probability = 0.7  # the greatest one
    line: Annotated[int, Ge(1), Le(MAX_SIZE // 2)] = 2  # the lowest line of a move, counted from the edge
    seed: SeedNumber = 1  # of the candidates, and of a judge whose spec sets none

    def combine(self) -> None:
        """Reject an empty band, and openings that leave too little of a game."""
        if self.low >= self.high:
            raise RlgoError(f"band = {self.low:g}-{self.high:g}: expected a lower and a higher chance")
        if self.plies > (most := self.size * self.size // 4):
            raise RlgoError(f"plies = {self.plies}: expected at most {most} on {self.size}x{self.size}")
        if 2 * self.line > self.size:
            raise RlgoError(f"line = {self.line}: expected at most {self.size // 2} on {self.size}x{self.size}")

    def recipe(self, programs: dict[str, Any], excluded: dict[str, str]) -> dict[str, Any]:
        """Return the header of the file, which has everything except the number of openings."""
        own = {name: value for name, value in self._asdict().items() if name != "total"}
        return {"format": FORMAT, "version": VERSION, **own, "excluded": excluded, **programs}


def make_openings(plan: OpeningsPlan, out: Path, exclude: Sequence[Path] = (), *, progress: bool = True) -> int:
    """Add balanced openings to a file until it has as many as planned.

    A candidate is a sequence of random legal moves, none of them near the edge and none a capture. It is kept if the
    judge gives Black a chance within the band, and if no other opening leads to the same position, up to symmetry. A
    candidate depends only on the seed and its number, so an interrupted call can be repeated.

    Parameters
    ----------
    plan : which openings
    out : the file, new or begun with the same plan
    exclude : files of openings that must not come again
    progress : show progress on standard error

    Returns
    -------
    the number of openings added.

    Raises
    ------
    RlgoError : for a judge that cannot play or has no opinion, a file of other openings, and a band that hardly any
        candidate falls into.
    KeyboardInterrupt : after Ctrl-C; the openings found so far are kept.
    """
    plan = validated(plan)
    keys = {position_key(opening.moves, plan.size) for path in exclude for opening in read_openings(path, plan.size)}
    excluded = {path.name: provenance.file_digest(path) for path in exclude}
    programs = try_players([plan.judge], plan.size, plan.komi).programs
    with only_writer(out):
        found = _begin(out, plan.recipe(programs, excluded), plan.size)
        before = len(found)
        keys.update(position_key(opening.moves, plan.size) for opening in found)
        number = max((opening.number for opening in found), default=0)
        with console.Progress(plan.total, "openings", initial=before, enabled=progress) as bar:
            while len(found) < plan.total:
                number += 1
                if number - (found[-1].number if found else 0) > _MOST_REJECTED:
                    raise RlgoError(f"none of {_MOST_REJECTED:,} candidates in a row was kept: expected a wider band")
                opening = _examine(plan, number, keys)
                if opening is not None:
                    append(out, _line(opening, plan.size))
                    found.append(opening)
                    bar.update()
                    bar.set_postfix(f"of {number} candidates")
    return len(found) - before


def _begin(out: Path, header: dict[str, Any], size: int) -> list[Opening]:
    """Create the file, or read the openings of one with the same header; cut off an unfinished last line."""
    if not out.exists() or out.stat().st_size == 0:
        write_atomically(out, f"{json.dumps(add_checksum(header))}\n".encode())
        return []
    data = read_file(out)
    complete = data[: data.rfind(b"\n") + 1]
    lines = complete.decode("utf-8", "replace").splitlines()
    there, found = read_made(out, lines, size)
    for key, value in json.loads(json.dumps(header)).items():
        if there.get(key) != value:
            raise RlgoError(f"{out}: other openings: {key} is {there.get(key)}, not {value}; move the file away")
    if len(complete) < len(data):
        os.truncate(out, len(complete))
    return found


def _line(opening: Opening, size: int) -> bytes:
    """Return the line of an opening in its file."""
    data = {
        "number": opening.number,
        "moves": vertices(opening.moves, size),
        "value": round(opening.value, 4),
        "chance": round(opening.chance, 4),
    }
    return f"{json.dumps(add_checksum(data))}\n".encode()


def _examine(plan: OpeningsPlan, number: int, keys: set[Any]) -> Opening | None:
    """Return a candidate if it is kept, and add its key."""
    game = _candidate(plan, number)
    if game is None:
        return None
    moves = tuple(p for _, p in game.moves)
    key = position_key(moves, plan.size)
    if key in keys:
        return None
    # Afresh for each candidate, which must not depend on those before.
    with contextlib.closing(make_player(plan.judge, plan.size, plan.seed, (number, 0))) as judge:
        judge.genmove(game)
        candidates = judge.candidates(game)
        if not candidates:
            raise RlgoError(f"player {judge.name}: has no values: expected one that can judge")
        value = candidates[0].value
        chance = judge.chance(value, game)
    if not plan.low <= chance <= plan.high:
        return None
    keys.add(key)
    return Opening(moves, value, chance, number)


def _candidate(plan: OpeningsPlan, number: int) -> Game | None:
    """Return a candidate as a game; None if one of its moves captures."""
    rng = np.random.default_rng(np.random.SeedSequence([plan.seed, number]))
    game = Game(plan.size, plan.komi)
    for ply in range(plan.plies):
        moves = [p for p in game.sensible_moves() if _line_of(p, plan.size) >= plan.line]
        game.play(moves[rng.integers(len(moves))])
        if np.count_nonzero(np.isin(game.board.color, (1, 2))) <= ply:
            return None
    return game


def _line_of(point: int, size: int) -> int:
    """Return the line of a point: 1 on the edge."""
    return 1 + min(min(i, size - 1 - i) for i in to_row_col(point, size))
