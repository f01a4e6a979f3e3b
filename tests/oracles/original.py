"""Weight files of the original RLGO, from the description of the format alone, and their values in Python's integers.

A file is (what stands between the parentheses, its numbers).
"""

from __future__ import annotations

import re
import struct
from functools import cache

import numpy as np

from oracles import naive
from oracles.naive import Stones

SUFFIXES = {"LI": ["-LI"], "LD": ["-LD"], "LI+LD": ["-LI", "-LD"], "inversion": ["-CI"], "none": [""]}
SUBSETS = [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]


def named(sizes: tuple[int, ...], sharing: str) -> str:
    return "+".join(f"LocalShape-{k}x{k}{suffix}" for k in sizes for suffix in SUFFIXES[sharing])


def write_w(name: str, numbers: list[float], version: int = 2, n_saved: int | None = None) -> bytes:
    n = len(numbers) if n_saved is None else n_saved
    header = f"Version = {version}\nFeatureSet = ({name})\nNumSaved = {n}\n"
    return header.encode("ascii") + b"".join(struct.pack("<f", x) for x in numbers)


def read_w(data: bytes) -> tuple[str, list[float]]:
    version, features, saved, body = data.split(b"\n", 3)
    assert version == b"Version = 2"
    assert features.startswith(b"FeatureSet = (")
    assert features.endswith(b")")
    assert saved == b"NumSaved = %d" % (len(body) // 4)
    return features[14:-1].decode("ascii"), [x for (x,) in struct.iter_unpack("<f", body)]


@cache
def move_shapes(k: int, places: tuple[int, ...]) -> list[int]:
    """Every shape, moved: cell d goes to places[d]."""
    return [sum(3 ** places[d] * (shape // 3**d % 3) for d in range(k * k)) for shape in range(3 ** (k * k))]


@cache
def invert_shapes(k: int) -> list[int]:
    return [sum(3**d * (0, 2, 1)[shape // 3**d % 3] for d in range(k * k)) for shape in range(3 ** (k * k))]


@cache
def number_features(size: int, k: int, suffix: str) -> dict[int, tuple[int, int]]:
    """For each raw index of a block its sign and its weight's number; shapes that are no features are left out.

    For LI the windows all count as the one in the corner: call it with size k.
    """
    span, width, canonical = 3 ** (k * k), size - k + 1, {}
    for anchor in range(width * width):
        row, col = divmod(anchor, width)
        cells = [(row + d // k, col + d % k) for d in range(k * k)]
        moves = []
        for g in range(8 if suffix in ("-LI", "-LD") else 1):
            moved = [naive.images(size, p)[g] for p in cells]
            r, c = min(moved)
            places = tuple((p[0] - r) * k + p[1] - c for p in moved)
            moves.append(((r * width + c) * span, move_shapes(k, places)))
        for shape in range(1, span):
            same = min(start + table[shape] for start, table in moves)
            other = min(start + table[invert_shapes(k)[shape]] for start, table in moves)
            if same != other:
                canonical[anchor * span + shape] = (1, same) if same < other else (-1, other)
    numbers = {raw: n for n, raw in enumerate(sorted({raw for _, raw in canonical.values()}))}
    return {raw: (sign, numbers[c]) for raw, (sign, c) in canonical.items()}


def blocks_of(name: str, size: int) -> list[tuple[int, str, int]]:
    """(k, suffix, how many weights) of the blocks of a file."""
    out = []
    for k, suffix in re.findall(r"LocalShape-(\d)x\d(-LI|-LD|-CI|)", name):
        k = int(k)
        if suffix:
            numbers = number_features(k if suffix == "-LI" else size, k, suffix)
            out.append((k, suffix, 1 + max(number for _, number in numbers.values())))
        else:
            out.append((k, suffix, (size - k + 1) ** 2 * 3 ** (k * k)))
    return out


def phi_theta(name: str, numbers: list[float], size: int, stones: Stones) -> float:
    """phi . theta of a position, by a file."""
    total, offset = 0.0, 0
    for k, suffix, n in blocks_of(name, size):
        for y in range(size - k + 1):
            for x in range(size - k + 1):
                shape = sum(3 ** (j * k + i) * stones.get((y + j, x + i), 0) for j in range(k) for i in range(k))
                raw = (y * (size - k + 1) + x) * 3 ** (k * k) + shape
                if suffix == "-LI":
                    sign, number = number_features(k, k, suffix).get(shape, (0, 0))
                elif suffix:
                    sign, number = number_features(size, k, suffix).get(raw, (0, 0))
                else:
                    sign, number = 1, raw
                total += sign * numbers[offset + number]
        offset += n
    assert offset == len(numbers)
    return total


def some_file(size: int, sizes: tuple[int, ...], sharing: str, seed: int = 1) -> tuple[str, list[float]]:
    """A file of random numbers; the all-empty shapes have 0."""
    name, numbers = named(sizes, sharing), []
    rng = np.random.default_rng(seed)
    for k, suffix, n in blocks_of(name, size):
        theta = rng.normal(scale=0.2, size=n).astype(np.float32)
        if not suffix:
            theta[:: 3 ** (k * k)] = 0
        numbers += theta.tolist()
    return name, numbers
