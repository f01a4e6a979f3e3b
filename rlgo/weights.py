"""Weights: a learned value function, its file, and pictures of its shapes.

Start reading at `Weights`, then `save_weights`. A weight file is an archive (see `archive.py`) of two arrays:

* ``theta``: float32[n], the weights, block after block (see `shapes.py` for the numbering);
* ``meta``: uint8, JSON in UTF-8: format, version, board size, komi, sizes, sharing, value, games, provenance; since
  version 2, for windows that see liberties, also liberties and liberty_sharing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.archive import read_archive, write_archive
from rlgo.board import BLACK, BORDER, EMPTY, WHITE
from rlgo.coords import from_row_col, to_vertex
from rlgo.draw import shapes_image, shapes_text
from rlgo.errors import RlgoError
from rlgo.resources import checkpoints_dir
from rlgo.settings import MAX_SIZE, MIN_SIZE, VALUES
from rlgo.shapes import KINDS, Block, FeatureSet, Table, colors_of, fuse, make_features, unshare
from rlgo.value import new_shapes, reset

FORMAT, VERSION = "rlgo-weights", 2


@dataclass(frozen=True)
class Weights:
    """A learned value function.

    Attributes
    ----------
    features : the `FeatureSet` (board size, window sizes, sharing)
    theta : float32[n_weights + 1]; theta[0] is unused and 0
    komi : points for White in the training games
    value : "logistic" or "linear"
    games : number of self-play games it was trained on
    provenance : how it was made: seed, command, versions and so on (JSON)
    """

    features: FeatureSet
    theta: np.ndarray
    komi: float = 7.5
    value: str = "logistic"
    games: int = 0
    provenance: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Weights {self.features.name}: {self.features.n_weights:,} weights, {self.value}, "
            f"komi {self.komi:g}, {self.games:,} games>"
        )

    def table(
        self,
        unshared: tuple[int, ...] | None = None,
        liberties: tuple[str, ...] | None = None,
        *,
        is_fused: bool = False,
    ) -> Table:
        """Return the look-up table that compiled code values positions by.

        Parameters
        ----------
        unshared : write the weights out without sharing, over windows of these sizes, which must include those of the
            features; None: over the features as they are
        liberties : where they are written out, the windows that see liberties; None: those of the features
        is_fused : fuse all window sizes into 3x3 windows, for searches with constant weights (`shapes.fuse`)
        """
        if unshared is None and not is_fused:
            return self._table
        f = self.features
        shares_orbits = is_fused and f.liberty_sharing in ("LI+LD", "LI", "LD")
        whole, theta = unshare(f, self.theta, unshared or f.sizes, liberties, "LD" if shares_orbits else "none")
        weights = whole.expand(theta)
        return fuse(whole, weights) if is_fused else whole.table_of(weights)

    @cached_property
    def _table(self) -> Table:
        return self.features.table(self.theta)

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
            "version": VERSION if f.liberties else 1,
            "size": f.size,
            "komi": self.komi,
            "sizes": list(f.sizes),
            "sharing": f.sharing,
            **({"liberties": list(f.liberties), "liberty_sharing": f.liberty_sharing} if f.liberties else {}),
            "value": self.value,
            "games": self.games,
            "blocks": {b.name: b.stop - b.start for b in f.blocks},
            "provenance": self.provenance,
        }


def save_weights(path: str | Path, weights: Weights) -> None:
    """Write a weight file, atomically. Raises RlgoError if the folder cannot be written."""
    write_archive(path, weights.meta(), {"theta": weights.theta[1:]})


def load_weights(path: str | Path, size: int | None = None) -> Weights:
    """Read a weight file.

    Parameters
    ----------
    path : the file
    size : the required board size; None accepts any

    Raises
    ------
    RlgoError : if the file is missing, damaged, not a weight file, of a newer version, or of another board size
    """
    meta, arrays = read_archive(path, "weight file", FORMAT, VERSION)
    try:
        return _weights(meta, np.concatenate([np.zeros(1, np.float32), arrays["theta"]]), size)
    except KeyError as error:
        raise RlgoError(f"{path}: damaged: expected {error.args[0]!r} in its metadata") from None
    except (RlgoError, TypeError, ValueError) as error:
        raise RlgoError(f"{path}: {error}") from None


def _weights(meta: dict[str, Any], theta: np.ndarray, size: int | None) -> Weights:
    """Make weights from a file's content. Raises RlgoError, or KeyError for missing metadata."""
    if size is not None and meta["size"] != size:
        raise RlgoError(f"weights for board size {meta['size']}, expected board size {size}")
    if not MIN_SIZE <= meta["size"] <= MAX_SIZE or meta["value"] not in VALUES:
        raise RlgoError(f"board size {meta['size']}, value {meta['value']}: not supported by this version of rlgo")
    liberties, liberty_sharing = tuple(meta.get("liberties", ())), meta.get("liberty_sharing", "LI")
    features = make_features(meta["size"], tuple(meta["sizes"]), meta["sharing"], liberties, liberty_sharing)
    if theta.shape != (features.n_weights + 1,) or theta.dtype != np.float32:
        raise RlgoError(f"{theta.size - 1} weights, expected {features.n_weights} of the feature set {features.name}")
    return Weights(features, theta, meta["komi"], meta["value"], meta["games"], meta["provenance"])


def shipped_weights(size: int) -> Path:
    """Find the shipped weight file for a board size; if there are several, the one trained on the most games.

    Raises RlgoError if there is none.
    """
    shipped = [(load_weights(p).games, p) for p in checkpoints_dir().glob(f"{size}x{size}-*.npz")]
    if not shipped:
        raise RlgoError(f"no shipped weights for board size {size}: expected a weight file")
    return max(shipped)[1]


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


def strongest(weights: Weights, block: Block, top: int) -> list[tuple[float, np.ndarray, int, int]]:
    """Find the `top` shapes of a block with the largest |theta|, leaving out weights of 0.

    Returns (weight, cells, row, col) for each: its weight for Black, its cells uint8[k, k] with rows from the bottom,
    and the anchor of its canonical window. Colours are exchanged where that makes the weight positive, except without
    weight sharing, where the other colour is another shape.
    """
    w = weights.block(block)
    out = []
    for i in np.argsort(-np.abs(w), kind="stable")[: min(top, np.count_nonzero(w))]:
        _, row, col, states = weights.features.shape_of(block.start + int(i))
        cells = colors_of(states, KINDS[block.size])
        weight = float(w[i])
        if weight < 0 and block.kind != "none":
            weight, cells = -weight, np.array([EMPTY, WHITE, BLACK, BORDER], np.uint8)[cells]
        out.append((weight, cells, row, col))
    return out


def on_board(weights: Weights, board: np.record, top: int) -> list[tuple[float, np.ndarray, int, int]]:
    """Find the `top` shapes of a position with the largest |weight|, leaving out weights of 0.

    Returns (weight, cells, row, col) for each, as `strongest` does, colours as on the board. The weight is what the
    window adds to the logit: theta_LI + theta_LD, with their signs.
    """
    f = weights.features
    g, table = f.geometry, weights.table().black
    shapes = []
    sh = new_shapes(1, f.size, f.sees_liberties)[0]
    reset(board, sh, weights.table())
    for w, ((_, row, col), form) in enumerate(zip(f.windows, f.forms, strict=True)):
        configuration = int(sh.configuration[w])
        weight = float(table[g.ld_base[w] + configuration] + table[g.li_base[w] + configuration])
        if weight:
            cells = np.full((form.height, form.width), BORDER, np.uint8)
            for j, i in form.cells:
                cells[j, i] = board.color[from_row_col(row + j, col + i, f.size)]
            shapes.append((weight, cells, row, col))
    return sorted(shapes, key=lambda shape: -abs(shape[0]))[:top]


def show(weights: Weights, top: int = 10, unicode: bool = True) -> str:
    """Draw the strongest shapes of each block as text, from Black's side; LD shapes with their lowest vertex."""
    size = weights.features.size
    parts = []
    for block in weights.features.blocks:
        shapes, captions = [], []
        for weight, cells, row, col in strongest(weights, block, top):
            shapes.append(cells)
            place = "" if block.kind == "LI" else " " + to_vertex(from_row_col(row, col, size), size)
            captions.append(f"{weight:+.3f}{place}")
        parts.append(f"{block.name}\n\n{shapes_text(shapes, captions, unicode) or 'all 0'}")
    return "\n\n\n".join(parts)


def show_image(weights: Weights, top: int = 10) -> np.ndarray:
    """Draw the strongest shapes of each block as a row of a picture, uint8[height, width, 3], redder if stronger."""
    rows = []
    for block in weights.features.blocks:
        shapes = strongest(weights, block, top)
        largest = max((abs(w) for w, *_ in shapes), default=1.0)
        rows.append(shapes_image([s for _, s, *_ in shapes], [w / largest for w, *_ in shapes], columns=top))
    width = max(row.shape[1] for row in rows)
    return np.concatenate([np.pad(r, ((0, 0), (0, width - r.shape[1]), (0, 0)), constant_values=255) for r in rows])
