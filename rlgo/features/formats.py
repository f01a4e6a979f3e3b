"""Weight exchange: files of the original RLGO, other board sizes, and other kinds of weight sharing.

Start reading at `import_w` and `export_w`, then `convert`.

The original's `.w` file is three lines of ASCII, each ending in a newline, then N little-endian float32::

    Version = 2
    FeatureSet = (LocalShape-1x1-LI+LocalShape-1x1-LD+LocalShape-2x2-LI+...)
    NumSaved = N

Its blocks come in the order of `shapes.py`, and their weights have the same numbers, so that a file with weight sharing
is theta itself. A block without sharing also numbers the all-empty shapes, which are never active and have weight 0.
The board size follows from N. The file does not record komi, games and the kind of value. Apart from these, export and
import lose nothing, not a byte.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.files import read_file, write_atomically
from rlgo.base.resources import version
from rlgo.base.settings import DEFAULT_KOMI, MAX_SIZE, MIN_SIZE, SHARINGS, SIZES, board_size
from rlgo.features.rewriting import unshare
from rlgo.features.shapes import FeatureSet, count_weights, make_features
from rlgo.features.weights import Weights, find_weights, load_weights

_SUFFIXES = {"LI": "-LI", "LD": "-LD", "inversion": "-CI", "none": ""}  # of the original's names, by kind of block
_LINES = (
    ("Version = 2", rb"Version = (2)"),
    ("FeatureSet = (...)", rb"FeatureSet = \(([!-~]*)\)"),
    ("NumSaved = N", rb"NumSaved = (0|[1-9][0-9]{0,8})"),
)


def feature_set_name(sizes: tuple[int, ...], sharing: str) -> str:
    """Return the original's name of a feature set, for instance ``LocalShape-1x1-LI+LocalShape-1x1-LD``."""
    return "+".join(f"LocalShape-{k}x{k}{_SUFFIXES[kind]}" for k in sizes for kind in SHARINGS[sharing])


_SETS = {
    feature_set_name(sizes, sharing): (sizes, sharing)
    for n in SIZES
    for sizes in combinations(SIZES, n)
    for sharing in SHARINGS
}

# ---------------------------------------------------------------------------------------------
# The original's files
# ---------------------------------------------------------------------------------------------


def import_w(
    path: str | Path, size: int | None = None, komi: float = DEFAULT_KOMI, games: int = 0, value: str = "logistic"
) -> Weights:
    """Read a weight file of the original RLGO.

    Parameters
    ----------
    path : the file
    size : the expected board size; required only for LI weights, whose number does not depend on the board
    komi, games, value : what the file does not record; see `Weights`

    Raises
    ------
    RlgoError : if the file is missing or damaged, or has an unknown version or feature set, or another board size
    """
    data = read_file(path)
    name, n, body = _split(path, data)
    if name not in _SETS:
        raise RlgoError(
            f"{path}: FeatureSet = ({_shorten(name)}): expected LocalShape-1x1, -2x2, -3x3 or some of them, in this "
            "order, and each of them with -LI and -LD, -LI, -LD, -CI, or no suffix"
        )
    sizes, sharing = _SETS[name]
    features = make_features(_board_size(path, n, sizes, sharing, size), sizes, sharing)
    if len(body) != 4 * n:
        raise RlgoError(f"{path}: {len(body):,} bytes of weights, expected {4 * n:,} (NumSaved = {n}, 4 bytes each)")
    theta = np.frombuffer(body, "<f4").astype(np.float32)
    _check_finite(path, theta)
    if sharing == "none":
        empty = _is_empty(features)
        if theta[empty].view(np.uint32).any():  # Only a plain 0 can be left out without loss.
            raise RlgoError(f"{path}: all-empty shapes have weights, expected 0: they are never active")
        theta = theta[~empty]
    provenance = {
        "source": Path(path).name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "rlgo": version(),
        "note": "komi, games and value are not recorded in .w files; they were set at import",
    }
    return Weights(features, np.append(np.float32(0), theta), komi, value, games, provenance)


def export_w(path: str | Path, weights: Weights) -> None:
    """Write a weight file of the original RLGO, atomically. The format does not record komi, games and value.

    Raises RlgoError for weights that are not finite, or if the file cannot be written.
    """
    features, theta = weights.features, weights.theta[1:]
    if features.others:
        raise RlgoError(f"{path}: a .w file cannot hold windows other than squares ({', '.join(features.others)})")
    _check_finite(path, theta)
    if features.sharing == "none":
        empty = _is_empty(features)
        theta = np.zeros(empty.size, np.float32)
        theta[~empty] = weights.theta[1:]
    name = feature_set_name(features.sizes, features.sharing)
    header = f"Version = 2\nFeatureSet = ({name})\nNumSaved = {theta.size}\n"
    write_atomically(path, header.encode() + theta.astype("<f4").tobytes())


def load_any(name: str | Path, size: int | None = None) -> Weights:
    """Read the weights that a user names: a file of either format, or shipped weights (`weights.find_weights`).

    A name that ends in ``.w`` is a file of the original.

    Parameters
    ----------
    name : see `weights.find_weights`
    size : the required board size; None accepts any

    Raises
    ------
    RlgoError : as the loaders do, and for weights that are not finite
    """
    path = find_weights(name, size)
    if path.suffix == ".w":
        return import_w(path, size)
    return load_weights(path, size)


def _split(path: str | Path, data: bytes) -> tuple[str, int, bytes]:
    """Split a file into the name of its feature set, NumSaved, and what follows the three lines."""
    lines = [*data.split(b"\n", 3), b"", b"", b""]
    values = []
    for number, (expected, pattern) in enumerate(_LINES):
        match = re.fullmatch(pattern, lines[number])
        if match is None:
            line = _shorten(lines[number].decode("ascii", "replace"))
            raise RlgoError(f"{path}: line {number + 1} is {line!r}, expected {expected}: not a .w file, or damaged")
        values.append(match[1].decode())
    return values[1], int(values[2]), lines[3]


def _shorten(text: str) -> str:
    return text if len(text) <= 100 else text[:100] + "..."


def _board_size(path: str | Path, n: int, sizes: tuple[int, ...], sharing: str, size: int | None) -> int:
    """Find the board size that has n weights in such a file."""
    if size is not None:
        board_size(size)
    fitting = [m for m in range(MIN_SIZE, MAX_SIZE + 1) if n == _n_saved(m, sizes, sharing)]
    if not fitting:
        raise RlgoError(
            f"{path}: NumSaved = {n}: no board size from {MIN_SIZE} to {MAX_SIZE} has this many weights in "
            f"{feature_set_name(sizes, sharing)}"
        )
    if size is None and len(fitting) > 1:
        raise RlgoError(f"{path}: the number of LI weights does not depend on the board: give the board size (--size)")
    if size is not None and size not in fitting:
        raise RlgoError(f"{path}: expected weights for {size}x{size}, found weights for {fitting[0]}x{fitting[0]}")
    return fitting[0] if size is None else size


def _n_saved(size: int, sizes: tuple[int, ...], sharing: str) -> int:
    n_empty = sum((size - k + 1) ** 2 for k in sizes) if sharing == "none" else 0
    return count_weights(size, sizes, sharing) + n_empty


def _is_empty(features: FeatureSet) -> np.ndarray:
    """Mark the weights of all-empty shapes in a file without sharing, bool[N]: the first of each window."""
    spans = [(features.size - k + 1, 3 ** (k * k)) for k in features.sizes]
    return np.concatenate([np.arange(n * n * span) % span == 0 for n, span in spans])


def _check_finite(path: str | Path, theta: np.ndarray) -> None:
    n = np.count_nonzero(~np.isfinite(theta))
    if n:
        raise RlgoError(f"{path}: {n:,} of {theta.size:,} weights are infinite or not a number")


# ---------------------------------------------------------------------------------------------
# Other board sizes and other sharing
# ---------------------------------------------------------------------------------------------


def convert(weights: Weights, size: int | None = None, sharing: str | None = None) -> Weights:
    """Convert weights to another board size, to another sharing, or to both, in this order.

    Parameters
    ----------
    weights : komi, value and games stay as they are; the provenance records the conversion
    size : another board size. LI weights carry over; LD weights do not, and become 0
    sharing : a key of `settings.SHARINGS`. All positions keep their values exactly

    Raises
    ------
    RlgoError : for an unknown size or sharing; for another board size if the weights have no LI blocks, the only ones
        that are not tied to board positions; and for a sharing that cannot express the weights
    """
    old = weights.features
    if size is not None and size != old.size:
        weights = _resize(weights, size)
    if sharing is not None and sharing != weights.features.sharing:
        weights = _reshare(weights, sharing)
    new = weights.features
    if new is old:
        return weights
    history = f"{weights.provenance.get('converted', old.name)} -> {new.name}"
    return replace(weights, provenance={**weights.provenance, "converted": history})


def without_sharing(weights: Weights, windows: tuple[str, ...] | None = None) -> Weights:
    """Write weights out without sharing, for windows of their own names or of others, whose new weights are 0.

    Weights of 0 are +0, as in the original's own files.
    """
    features, theta = unshare(weights.features, weights.theta, windows or weights.features.names)
    return replace(weights, features=features, theta=theta + 0.0)


def _resize(weights: Weights, size: int) -> Weights:
    old = weights.features
    board_size(size)
    if "LI" not in SHARINGS[old.sharing]:
        raise RlgoError(f"{old.name}: these weights are tied to positions of their board; only LI weights carry over")
    return _copy_blocks(weights, make_features(size, *old.arguments[1:]), "LI")


def _reshare(weights: Weights, sharing: str) -> Weights:
    old = weights.features
    if sharing == "none":
        return without_sharing(weights)
    if old.others:
        raise RlgoError(f"{old.name}: windows other than squares can only be converted to sharing none")
    new = make_features(old.size, old.sizes, sharing)
    if sharing == "LI+LD":
        # LD can express LI, so the solution is not unique. Here LI weights stay unchanged, and the rest becomes LD.
        kind = "LI" if old.sharing == "LI" else "LD"
        return _copy_blocks(weights if old.sharing == kind else _reshare(weights, kind), new, kind)
    # For each shape, the signed index of its weight, which gets the shape's value.
    _, index = unshare(new, np.arange(new.n_weights + 1, dtype=np.float32))
    _, theta_none = unshare(old, weights.theta)
    theta = np.zeros(new.n_weights + 1, np.float32)
    theta[index[index > 0].astype(int)] = theta_none[index > 0]
    n_lost = np.count_nonzero(unshare(new, theta)[1] != theta_none)
    if n_lost:
        raise RlgoError(
            f"{old.name}: {sharing} cannot express these weights: the values of {n_lost:,} shapes would change"
        )
    return replace(weights, features=new, theta=theta)


def _copy_blocks(weights: Weights, features: FeatureSet, kind: str) -> Weights:
    """Copy the blocks of one kind, which both feature sets have; the others become 0."""
    theta = np.zeros(features.n_weights + 1, np.float32)
    blocks = {block.name: block for block in weights.features.blocks}
    for block in features.blocks:
        if block.kind == kind:
            theta[block.start : block.stop] = weights.block(blocks[block.name])
    return replace(weights, features=features, theta=theta)
