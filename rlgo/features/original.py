"""Weight files of the original RLGO, which end in `.w`.

Such a file is three lines of ASCII, each ending in a newline, then N little-endian float32::

    Version = 2
    FeatureSet = (LocalShape-1x1-LI+LocalShape-1x1-LD+LocalShape-2x2-LI+...)
    NumSaved = N

Its blocks come in the order of `shapes.py`, and their weights have the same numbers, so that a file with weight sharing
is theta itself. A block without sharing also numbers the all-empty shapes, which are never active and have weight 0.
The board size follows from N. The file does not record komi, games and the kind of value. Apart from these, reading and
writing lose nothing, not a byte.
"""

from __future__ import annotations

import hashlib
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.files import read_file, write_atomically
from rlgo.base.resources import version
from rlgo.base.settings import MAX_SIZE, MIN_SIZE, SHARINGS, SIZES, board_size
from rlgo.features.shapes import FeatureSet, count_weights, make_features

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


def read_w(path: str | Path, size: int | None = None) -> tuple[FeatureSet, np.ndarray, dict[str, Any]]:
    """Read a weight file of the original RLGO.

    size : the expected board size; required only for LI weights, whose number does not depend on the board

    Returns
    -------
    the features, float32[n_weights + 1] and the file's provenance

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
    return features, np.append(np.float32(0), theta), provenance


def write_w(path: str | Path, features: FeatureSet, theta: np.ndarray) -> None:
    """Write a weight file of the original RLGO, atomically.

    theta : float32[n_weights + 1]

    Raises RlgoError for irregular windows, for weights that are not finite, or if it cannot be written.
    """
    if features.others:
        raise RlgoError(f"{path}: a .w file cannot hold irregular windows ({', '.join(features.others)})")
    theta = theta[1:]
    _check_finite(path, theta)
    if features.sharing == "none":
        empty = _is_empty(features)
        shapes, theta = theta, np.zeros(empty.size, np.float32)
        theta[~empty] = shapes
    name = feature_set_name(features.sizes, features.sharing)
    header = f"Version = 2\nFeatureSet = ({name})\nNumSaved = {theta.size}\n"
    write_atomically(path, header.encode() + theta.astype("<f4").tobytes())


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
