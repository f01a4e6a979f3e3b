"""Weights: a learned value function, its file, and pictures of its shapes.

Start reading at `Weights`, then `save_weights`. A weight file is an archive (see `archive.py`) of two arrays:

* ``theta``: float32[n], the weights, block after block (see `shapes.py` for the numbering);
* ``meta``: uint8, JSON in UTF-8: format, version, board size, komi, sizes, sharing, value, games, blocks, provenance;
  since version 3, for irregular windows, also others and liberty_sharing (version 2 had those that see
  liberties alone, under the name liberties).

docs/weights.md has all of it, and an example that reads the file with numpy alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge

from rlgo.base.archive import read_archive, write_archive
from rlgo.base.checks import Choice, check, expected
from rlgo.base.errors import RlgoError, shown
from rlgo.base.resources import SHIPPED_WEIGHTS
from rlgo.base.settings import DEFAULT_KOMI, MAX_SIZE, MIN_SIZE, VALUES, Komi, board_size
from rlgo.features.kinds import kind_of
from rlgo.features.original import read_w, write_w
from rlgo.features.rewriting import fuse, unshare
from rlgo.features.shapes import Block, FeatureSet, Table, make_features
from rlgo.features.windows import colors_of
from rlgo.go.board import BLACK, BORDER, EMPTY, WHITE
from rlgo.go.coords import from_row_col, to_vertex
from rlgo.go.draw import shapes_text

FORMAT, VERSION = "rlgo-weights", 3


@dataclass(frozen=True, eq=False)  # by identity: arrays are not equal or unequal as wholes
class Weights:
    """The weights of a value function, with their features and how they were trained.

    Attributes
    ----------
    features : the `FeatureSet` (board size, window sizes, sharing)
    theta : float32[n_weights + 1]; theta[0] is unused and 0
    komi : points for White in the training games
    value : "logistic" or "linear"
    games : number of self-play games it was trained on
    provenance : how it was made: seed, command, versions and so on (JSON)

    >>> import numpy as np, rlgo
    >>> features = rlgo.make_features(5, sizes=(1, 2))
    >>> rlgo.Weights(features, np.zeros(features.n_weights + 1, np.float32))
    <Weights 5x5 1x1+2x2 LI+LD: 107 weights, logistic, komi 7.5, 0 games>
    """

    features: FeatureSet
    theta: np.ndarray
    komi: float = DEFAULT_KOMI
    value: str = "logistic"
    games: int = 0
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `RlgoError` for weights that do not fit the features, and for metadata out of range."""
        check("features", self.features, FeatureSet).check(self.theta)
        if self.theta.dtype != np.float32:
            raise RlgoError(f"theta: {self.theta.dtype} weights, expected float32")
        if not np.isfinite(self.theta).all():
            raise RlgoError("theta: expected finite weights, found NaN or infinity")
        if not isinstance(self.value, str) or self.value not in VALUES:
            raise RlgoError(f"value = {shown(self.value)}: expected {expected(Annotated[int, Choice(VALUES)])}")
        for name, kind in (("komi", Komi), ("games", Annotated[int, Ge(0)])):
            object.__setattr__(self, name, check(name, getattr(self, name), kind))
        check("provenance", self.provenance, dict)

    def __repr__(self) -> str:
        return (
            f"<Weights {self.features.name}: {self.features.n_weights:,} weights, {self.value}, "
            f"komi {self.komi:g}, {self.games:,} games>"
        )

    def show(self, top: int = 10, unicode: bool = True) -> str:
        """Draw the strongest shapes of each block as text, from Black's side; LD shapes with their lowest vertex."""
        size, parts = self.features.size, []
        for block in self.features.blocks:
            shapes, captions = [], []
            for weight, cells, row, col in strongest(self, block, top):
                shapes.append(cells)
                place = "" if block.kind == "LI" else " " + to_vertex(from_row_col(row, col, size), size)
                captions.append(f"{weight:+.3f}{place}")
            parts.append(f"{block.name}\n\n{shapes_text(shapes, captions, unicode) or 'all 0'}")
        return "\n\n\n".join(parts)

    def table(self, unshared: tuple[str, ...] | None = None, *, is_fused: bool = False) -> Table:
        """Return the look-up table that compiled code values positions by.

        Parameters
        ----------
        unshared : write the weights out without sharing, over windows of these names, which must include those of the
            features; None: over the features as they are
        is_fused : fuse squares of all sizes into 3x3 windows, for searches with constant weights (`rewriting.fuse`)
        """
        if is_fused:
            return self._fused_table
        if unshared is None:
            return self._table
        whole, theta = unshare(self.features, self.theta, unshared)
        return whole.table_of(whole.expand(theta))

    @cached_property
    def _table(self) -> Table:
        return self.features.table(self.theta)

    @cached_property
    def _fused_table(self) -> Table:
        return fuse(self.features, self.table().black)

    def for_board(self, size: int, name: str) -> Weights:
        """Return these weights if they are for boards of this size; otherwise raise `RlgoError` about `name`."""
        own = self.features.size
        if own != size:
            raise RlgoError(f"{name}: expected weights for {size}x{size}, found weights for {own}x{own}")
        return self

    def block(self, block: Block) -> np.ndarray:
        """Return the weights of one block, float32, a view."""
        return self.theta[block.start : block.stop]

    def meta(self) -> dict[str, Any]:
        """Return the metadata of the file: everything but the weights, as JSON."""
        f = self.features
        return {
            "format": FORMAT,
            "version": VERSION if f.others else 1,
            "size": f.size,
            "komi": self.komi,
            "sizes": list(f.sizes),
            "sharing": f.sharing,
            **({"others": list(f.others), "liberty_sharing": f.liberty_sharing} if f.others else {}),
            "value": self.value,
            "games": self.games,
            "blocks": {b.name: b.stop - b.start for b in f.blocks},
            "provenance": self.provenance,
        }


def save_weights(path: str | Path, weights: Weights) -> None:
    """Write weights to a file, atomically.

    Raises `RlgoError` if the folder cannot be written.

    >>> import pathlib, rlgo, tempfile
    >>> weights = rlgo.load_weights(rlgo.shipped_weights(9))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rlgo.save_weights(pathlib.Path(folder, "copy.npz"), weights)
    ...     rlgo.load_weights(pathlib.Path(folder, "copy.npz")).games
    100000000
    """
    check("weights", weights, Weights)
    check("path", path, Path)
    write_archive(path, weights.meta(), {"theta": weights.theta[1:]})


def load_weights(path: str | Path, size: int | None = None) -> Weights:
    """Read weights: a file of rlgo, one of the original, which ends in ``.w``, or shipped weights by name.

    Parameters
    ----------
    path : a path, or the name of shipped weights: ``9x9-1M``, ``9x9-1M.npz`` or ``checkpoints/9x9-1M.npz``. A file of
        that name comes first. Empty: the shipped weights of the most games for boards of this `size`
    size : the required board size; None accepts any

    Raises
    ------
    RlgoError : if the file is missing, damaged, not a weight file, of a newer version, or of another board size

    >>> import rlgo
    >>> rlgo.load_weights("9x9-100M", size=9)
    <Weights 9x9 1x1+2x2+3x3 LI+LD: 63,303 weights, logistic, komi 7.5, 100,000,000 games>
    """
    check("path", path, Path)
    path = find_weights(path, size)
    if path.suffix == ".w":
        return import_w(path, size)
    meta, arrays = read_archive(path, "weight file", FORMAT, VERSION)
    try:
        return _weights(meta, np.concatenate([np.zeros(1, np.float32), arrays["theta"]]), size)
    except KeyError as error:
        raise RlgoError(f"{path}: damaged: expected {error.args[0]!r} in its metadata") from None
    except (RlgoError, TypeError, ValueError) as error:
        raise RlgoError(f"{path}: {error}") from None


def find_weights(path: str | Path, size: int | None = None) -> Path:
    """Find the file that `load_weights` reads. RlgoError if there is no such file."""
    return shipped_weights(size) if size is not None and not str(path) else SHIPPED_WEIGHTS.find(path)


def _weights(meta: dict[str, Any], theta: np.ndarray, size: int | None) -> Weights:
    """Make weights from a file's content. Raises RlgoError, or KeyError for missing metadata."""
    if size is not None and meta["size"] != size:
        raise RlgoError(f"expected weights for {size}x{size}, found weights for {meta['size']}x{meta['size']}")
    if not MIN_SIZE <= meta["size"] <= MAX_SIZE or meta["value"] not in VALUES:
        raise RlgoError(f"board size {meta['size']}, value {meta['value']}: not supported by this version of rlgo")
    others = tuple(meta.get("others", meta.get("liberties", ())))
    windows = tuple(meta["sizes"]), meta["sharing"], others, meta.get("liberty_sharing", "LI")
    return Weights(
        make_features(meta["size"], *windows), theta, meta["komi"], meta["value"], meta["games"], meta["provenance"]
    )


def import_w(
    path: str | Path, size: int | None = None, komi: float = DEFAULT_KOMI, games: int = 0, value: str = "logistic"
) -> Weights:
    """Read a weight file of the original RLGO; see `original.read_w`.

    komi, games, value : what the file does not record; see `Weights`
    """
    features, theta, provenance = read_w(path, size)
    return Weights(features, theta, komi, value, games, provenance)


def export_w(path: str | Path, weights: Weights) -> None:
    """Write a weight file of the original RLGO; see `original.write_w`. It does not record komi, games and value."""
    write_w(path, weights.features, weights.theta)


def shipped_weight_sizes() -> list[int]:
    """List the board sizes that there are shipped weights for."""
    names = (re.fullmatch(r"([0-9]+)x\1-.+", name) for name in SHIPPED_WEIGHTS.files())
    return sorted({int(name[1]) for name in names if name})


def shipped_weights(size: int) -> Path:
    """Return the path of the shipped weights for a board size.

    If there are several, it is that of the weights trained on the most games. Raises `RlgoError` if there are none.

    >>> import rlgo
    >>> rlgo.shipped_weights(9).name
    '9x9-100M.npz'
    """
    size = board_size(size)
    shipped = [path for name, path in SHIPPED_WEIGHTS.files().items() if name.startswith(f"{size}x{size}-")]
    if not shipped:
        others = " or ".join(f"{n}x{n}" for n in shipped_weight_sizes())
        raise RlgoError(f"no shipped weights for board size {size}: expected {others}, or a weight file")
    return max(shipped, key=lambda path: (_games_in_name(path), path))


def _games_in_name(path: Path) -> int:
    """Return 200,000 for ``19x19-200k``: a file need not be read to know how many games it is from."""
    found = re.search(r"-(\d+)([kM])$", path.stem)
    return int(found[1]) * {"k": 1_000, "M": 1_000_000}[found[2]] if found else 0


def describe(weights: Weights) -> str:
    """Describe what a weight file holds, in lines of text."""
    f = weights.features
    lines = [
        f"board      {f.size}x{f.size}, komi {weights.komi:g}",
        f"features   {f.name}: {f.n_weights:,} weights of {f.n_features:,} shapes",
        f"value      {weights.value}",
        f"games      {weights.games:,}",
        "",
        f"{'block':14s}{'weights':>9s}{'in use':>9s}{'|theta|':>10s}{'largest':>10s}",
    ]
    for block in f.blocks:
        w = weights.block(block)
        norm, largest = float(np.linalg.norm(w)), float(np.abs(w).max(initial=0))
        lines.append(f"{block.name:14s}{w.size:9,d}{np.count_nonzero(w):9,d}{norm:10.3f}{largest:10.4f}")
    if weights.provenance:
        lines.append("")
        rest = {key: value for key, value in weights.provenance.items() if key != "config"}
        lines += [f"{key:10s} {value}" for key, value in sorted(rest.items())]
        lines += ["", weights.provenance.get("config", "")]
    return "\n".join(lines).rstrip()


class Shape(NamedTuple):
    """A learned shape as people see it: colours are exchanged where that makes the weight positive.

    Without weight sharing they are not, because there the other colour is another shape.
    """

    weight: float  # for Black
    cells: np.ndarray  # uint8[k, k], rows from the bottom; BORDER where a window has no cell, or one over the edge
    row: int  # the anchor of its canonical window
    col: int


def shape_of(weights: Weights, i: int) -> Shape:
    """Return the shape of theta[i], 1 <= i <= n_weights."""
    block, row, col, states = weights.features.shape_of(i)
    cells = colors_of(states, kind_of(block.window))
    weight = float(weights.theta[i])
    if weight < 0 and block.kind != "none":
        weight, cells = -weight, np.array([EMPTY, WHITE, BLACK, BORDER], np.uint8)[cells]
    return Shape(weight, cells, row, col)


def strongest(weights: Weights, block: Block, top: int) -> list[Shape]:
    """Find the `top` shapes of a block with the largest |theta|, leaving out weights of 0."""
    w = weights.block(block)
    order = np.argsort(-np.abs(w), kind="stable")[: min(top, np.count_nonzero(w))]
    return [shape_of(weights, block.start + int(i)) for i in order]
