"""Weight exchange: the original's files against a slow reader and writer of its format, conversions, differences.

The oracle comes first. It knows the format from its description alone, and counts in Python's integers.
"""

from __future__ import annotations

import functools
import math
import re
import struct
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import weight_files
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import naive
from oracles.naive import NaiveBoard, Point, Stones, from_core

from rlgo.base.errors import RlgoError
from rlgo.base.settings import SHARINGS
from rlgo.compiler.jit import make_rng
from rlgo.features.diff import diff
from rlgo.features.formats import convert, export_w, import_w, load_any, without_sharing
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights, save_weights
from rlgo.go.board import new_board, play, random_move
from rlgo.go.rules import zobrist
from rlgo.learning.value import ValueFunction
from train.cli import main as cli

# ---------------------------------------------------------------------------------------------
# The oracle. A file is (what stands between the parentheses, its numbers).
# ---------------------------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------------------------
# What several tests need
# ---------------------------------------------------------------------------------------------

PROVENANCE = {"seed": 1, "config": '[run]\nname = "a"\ngames = 3\n'}


some_weights = partial(weight_files.some_weights, seed=7, scale=0.2, provenance=PROVENANCE)


def random_positions(size: int, games: int, every: int) -> list[tuple[Any, Stones]]:
    """Board records and their stones, every few moves of games of random play."""
    out, rng = [], make_rng(size)
    for _ in range(games):
        b, board = new_board(size), NaiveBoard(size)
        while board.n_passes < 2 and board.n_moves < 2 * size * size:
            p = random_move(b, rng)
            play(b, p, zobrist(size))
            board.play(from_core(size, p))
            if board.n_moves % every == 1:
                out.append((b.copy(), dict(board.stones)))
    return out


def lookup(weights: Weights, stones: Stones) -> float:
    """phi . theta, window by window in Python: for board sizes that need not be compiled here."""
    features, g = weights.features, weights.features.geometry
    total = 0.0
    for w, (name, row, col) in enumerate(features.windows):
        k = int(name[0])
        cells = tuple(stones.get((row + j, col + i), 0) for j in range(k) for i in range(k))
        place = naive.to_place(features, w, cells)
        total += float(weights.table().black[g.ld_base[w] + place]) + float(weights.table().black[g.li_base[w] + place])
    return total


refused = functools.partial(weight_files.refused, read=import_w)


# ---------------------------------------------------------------------------------------------
# Import and export
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sharing", "counts"),
    [
        ("LI+LD", [1, 15, 8, 344, 1_418, 61_517]),
        ("LI", [1, 8, 1_418]),
        ("inversion", [81, 2_560, 482_209]),
        ("none", [243, 5_184, 964_467]),
    ],
)
def test_files_of_the_original_on_9x9(tmp_path, sharing, counts):
    path = tmp_path / "a.w"
    path.write_bytes(write_w(named((1, 2, 3), sharing), [0.0] * sum(counts)))
    weights = import_w(path, 9)
    assert weights.features.name == f"9x9 1x1+2x2+3x3 {sharing}"
    export_w(tmp_path / "b.w", weights)
    assert (tmp_path / "b.w").read_bytes() == path.read_bytes()
    assert path.read_bytes().startswith(b"Version = 2\nFeatureSet = (LocalShape-1x1")


SPECIAL = [-0.0, 1e-45, -1e-45, 3.4028235e38, -3.4028235e38, 1.0]
SETS = st.tuples(st.sampled_from([5, 9]), st.sampled_from(SUBSETS), st.sampled_from(list(SHARINGS)))


@pytest.mark.slow
@settings(max_examples=15)
@given(SETS, st.integers(0, 2**32), st.lists(st.sampled_from(SPECIAL), max_size=6))
def test_any_weights_are_exported_and_imported_bit_for_bit(tmp_path_factory, features, seed, special):
    size, sizes, sharing = features
    path, again = tmp_path_factory.mktemp("w") / "a.w", tmp_path_factory.mktemp("w") / "b.w"
    features = make_features(size, sizes, sharing)
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=features.n_weights + 1).astype(np.float32)
    theta[rng.integers(1, theta.size, len(special))] = special
    theta[0] = 0
    export_w(path, Weights(features, theta, 6.5, "linear", 3))

    name, numbers = read_w(path.read_bytes())
    assert name == named(sizes, sharing)
    shapes = np.array(numbers, np.float32)
    if sharing == "none":
        windows = [(k, (size - k + 1) ** 2) for k in sizes]
        empty = [
            i * 3 ** (k * k) + sum(3 ** (m * m) * n for m, n in windows if m < k) for k, n in windows for i in range(n)
        ]
        assert not shapes[empty].view(np.uint32).any()
        shapes = np.delete(shapes, empty)
    assert shapes.tobytes() == theta[1:].tobytes()

    back = import_w(path, size)
    assert back.features.name == features.name
    assert back.theta.dtype == np.float32
    assert back.theta.tobytes() == theta.tobytes()
    export_w(again, back)
    assert again.read_bytes() == path.read_bytes()


def test_what_the_file_does_not_tell(tmp_path):
    path = tmp_path / "a.w"
    path.write_bytes(write_w(*some_file(5, (1, 2), "LI+LD")))
    weights = import_w(path)
    assert (weights.komi, weights.games, weights.value) == (7.5, 0, "logistic")
    assert weights.provenance["source"] == "a.w"
    assert len(weights.provenance["sha256"]) == 64
    weights = import_w(path, komi=6.5, games=10, value="linear")
    assert (weights.komi, weights.games, weights.value) == (6.5, 10, "linear")
    save_weights(tmp_path / "a.npz", weights)
    assert load_weights(tmp_path / "a.npz").meta() == weights.meta()


@pytest.mark.parametrize("size", [5, pytest.param(9, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("sharing", SHARINGS)
def test_imported_values_equal_the_files(tmp_path, size, sharing):
    sizes = (1, 2, 3) if size == 5 else (1, 2)
    file = some_file(size, sizes, sharing)
    (tmp_path / "a.w").write_bytes(write_w(*file))
    v = ValueFunction(import_w(tmp_path / "a.w", size if sharing == "LI" else None))
    positions = random_positions(size, 2, 7)
    values = [1 / (1 + math.exp(-phi_theta(*file, size, stones))) for _, stones in positions]
    assert [v.value(b) for b, _ in positions] == pytest.approx(values, abs=1e-5)
    assert max(values) - min(values) > 0.2


def test_the_board_size_follows_from_the_number_of_weights(tmp_path):
    path = tmp_path / "a.w"
    for size in (5, 8, 12, 19):
        for sharing in ("LI+LD", "LD", "inversion", "none"):
            export_w(path, some_weights(size, (1, 2), sharing))
            assert import_w(path).features.name == f"{size}x{size} 1x1+2x2 {sharing}"
            assert import_w(path, size).features.size == size
            refused(path, f"expected weights for 7x7, found weights for {size}x{size}", size=7)
            with pytest.raises(RlgoError, match="board size 20: expected 5 to 19"):
                import_w(path, 20)


def test_location_independent_weights_need_a_board_size(tmp_path):
    path = tmp_path / "a.w"
    export_w(path, some_weights(9, (1, 2), "LI"))
    refused(path, "--size")
    assert import_w(path, 13).features.name == "13x13 1x1+2x2 LI"


# ---------------------------------------------------------------------------------------------
# Damage
# ---------------------------------------------------------------------------------------------

NAME, NUMBERS = some_file(5, (1, 2), "LI+LD")
GOOD = write_w(NAME, NUMBERS)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["line 1 is ''", "expected Version = 2"]),
        (b"\n\n\n\n", ["line 1 is ''"]),
        (b"PK\x03\x04" + bytes(1000), ["line 1 is", "expected Version = 2"]),
        (b"\xff" * 5000, ["line 1 is", "..."]),
        (write_w(NAME, NUMBERS, version=1), ["line 1 is 'Version = 1'", "expected Version = 2"]),
        (write_w(NAME, NUMBERS, version=3), ["line 1 is 'Version = 3'"]),
        (GOOD.replace(b"\n", b"\r\n", 3), [r"line 1 is 'Version = 2\r'"]),
        (b" " + GOOD, ["line 1 is ' Version = 2'"]),
        (GOOD.replace(b"FeatureSet = (", b"FeatureSet = "), ["line 2 is", "expected FeatureSet = (...)"]),
        (GOOD.replace(b"FeatureSet", b"Features"), ["line 2 is 'Features = "]),
        (GOOD.replace(b"NumSaved = ", b"NumSaved = 0"), ["line 3 is 'NumSaved = 0107'", "expected NumSaved = N"]),
        (GOOD.replace(b"NumSaved = ", b"NumSaved = -"), ["line 3 is 'NumSaved = -107'"]),
        (GOOD.replace(b"NumSaved = ", b"NumSaved = " + b"9" * 5000), ["line 3 is 'NumSaved = 999"]),
        (GOOD.replace(b"NumSaved = ", b"NumLoaded = "), ["line 3 is 'NumLoaded = 107'"]),
        (write_w(NAME, NUMBERS, n_saved=108), ["NumSaved = 108: no board size from 5 to 19"]),
        (write_w(NAME, NUMBERS, n_saved=0), ["NumSaved = 0: no board size"]),
        (write_w(NAME, []), ["NumSaved = 0: no board size"]),
        # As many as on 9x9, in words.
        (write_w(NAME, NUMBERS, n_saved=368), ["428 bytes of weights, expected 1,472"]),
        (write_w(NAME, [*NUMBERS, 1.0], n_saved=107), ["432 bytes of weights, expected 428"]),
        (GOOD + b"\0", ["429 bytes of weights, expected 428"]),
        (GOOD + b"\n", ["429 bytes"]),
        (write_w(NAME, [math.nan, *NUMBERS[1:]]), ["1 of 107 weights are infinite or not a number"]),
        (write_w(NAME, [*NUMBERS[1:], math.inf]), ["1 of 107 weights"]),
        (write_w(NAME, [-math.inf] * 107), ["107 of 107 weights"]),
    ],
    ids=range(24),
)
def test_damaged_files(tmp_path, data, words):
    path = tmp_path / "a.w"
    path.write_bytes(data)
    refused(path, *words)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "()",
        "LocalShape-1x1-LI",
        "LocalShape-4x4",
        "LocalShape-1x2",
        "LocalShape-1x1-None-IE",
        "LocalShape-1x1-li",
        "LocalShape-1x1-LD+LocalShape-1x1-LI",
        "LocalShape-2x2+LocalShape-1x1",
        "LocalShape-1x1+LocalShape-1x1",
        "LocalShape-1x1-LI+LocalShape-2x2-LD",
        "LocalShape-1x1-LI+LocalShape-1x1-LD+LocalShape-2x2-LI",
        "LocalShape-1x1-LI+LocalShape-1x1-LD+",
        "LocalShape-1x1" * 100,
    ],
)
def test_other_feature_sets(tmp_path, name):
    path = tmp_path / "a.w"
    path.write_bytes(write_w(name, NUMBERS))
    if name == "LocalShape-1x1-LI":  # known, and of one weight
        refused(path, "NumSaved = 107: no board size", "in LocalShape-1x1-LI", size=5)
    else:
        refused(path, f"FeatureSet = ({name[:20]}", "expected LocalShape-1x1")


def test_truncated_files(tmp_path):
    path = tmp_path / "a.w"
    body = len(GOOD) - 4 * len(NUMBERS)
    for length in [*range(body + 9), *range(body, len(GOOD), 37), len(GOOD) - 1]:
        path.write_bytes(GOOD[:length])
        refused(path)
    path.write_bytes(GOOD)
    assert import_w(path).features.n_weights == 107


def test_missing_files_and_folders(tmp_path):
    refused(tmp_path / "none.w", "cannot be read: No such file")
    refused(tmp_path, "cannot be read")


@pytest.mark.parametrize("weight", [1.0, -1e-45, -0.0])
def test_all_empty_shapes_have_no_weight(tmp_path, weight):
    # Else import would lose it: it is never active.
    path = tmp_path / "a.w"
    name, numbers = some_file(5, (1, 2), "none")
    for empty in (0, 72, 75, 75 + 81 * 15):
        path.write_bytes(write_w(name, [*numbers[:empty], weight, *numbers[empty + 1 :]]))
        refused(path, "all-empty shapes have weights, expected 0")
    path.write_bytes(write_w(name, numbers))
    assert import_w(path).features.n_weights == len(numbers) - 25 - 16


def test_weights_that_cannot_be_exported(tmp_path):
    path = tmp_path / "a.w"
    path.write_text("old")
    weights = some_weights()
    weights.theta[3:5] = np.inf, np.nan
    with pytest.raises(RlgoError, match=r"a\.w: 2 of 107 weights are infinite or not a number"):
        export_w(path, weights)
    with pytest.raises(RlgoError, match=r"missing/a\.w: cannot be written: No such file"):
        export_w(tmp_path / "missing" / "a.w", some_weights())
    save_weights(tmp_path / "a.npz", weights)
    with pytest.raises(RlgoError, match=r"a\.npz: theta: expected finite weights, found NaN or infinity"):
        load_any(tmp_path / "a.npz")
    assert path.read_text() == "old"


def test_an_export_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.w"
    export_w(path, some_weights())
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(RlgoError, match=r"a\.w: cannot be written: No space left"):
        export_w(path, some_weights(9))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------------------------------------
# Another sharing: the same values
# ---------------------------------------------------------------------------------------------

WEAKER = {
    "LI": ["LI+LD", "LD", "inversion", "none"],
    "LI+LD": ["LD", "inversion", "none"],
    "LD": ["LI+LD", "inversion", "none"],
    "inversion": ["none"],
}


@pytest.mark.parametrize(
    ("size", "old"),
    [*((5, old) for old in WEAKER), *(pytest.param(9, old, marks=pytest.mark.thorough) for old in WEAKER)],
)
def test_another_sharing_has_the_same_value_for_every_position(tmp_path, size, old):
    weights = some_weights(size, (1, 2, 3), old)
    positions = [b for b, _ in random_positions(size, 2, 5)]
    values = [ValueFunction(weights).value(b) for b in positions]
    assert max(values) - min(values) > 0.3
    for sharing in WEAKER[old]:
        new = convert(weights, sharing=sharing)
        assert new.features.name == f"{size}x{size} 1x1+2x2+3x3 {sharing}"
        assert (new.komi, new.games, new.value) == (6.5, 123, "logistic")
        assert new.provenance == {**PROVENANCE, "converted": f"{weights.features.name} -> {new.features.name}"}
        assert [ValueFunction(new).value(b) for b in positions] == pytest.approx(values, abs=1e-5)
        export_w(tmp_path / "a.w", new)
        back = import_w(tmp_path / "a.w", size)
        assert [ValueFunction(back).value(b) for b in positions] == pytest.approx(values, abs=1e-5)
        assert diff(weights, new).is_same


@pytest.mark.parametrize("old", WEAKER)
@pytest.mark.parametrize("sizes", [(2,), (1, 3)])
def test_another_sharing_has_the_same_weight_for_every_shape(old, sizes):
    weights = some_weights(5, sizes, old)
    unshared = without_sharing(weights)
    assert unshared.features.sizes == sizes
    for sharing in WEAKER[old]:
        new = convert(weights, sharing=sharing)
        assert new.theta[0] == 0
        assert without_sharing(new).theta.tobytes() == unshared.theta.tobytes()
        # And all the way back, since nothing was lost.
        assert diff(convert(new, sharing=old), weights).is_same or old == "LI+LD"
        assert without_sharing(convert(new, sharing=old)).theta.tobytes() == unshared.theta.tobytes()


def test_without_sharing_adds_window_sizes_and_drops_them():
    weights = some_weights(5, (1, 2))
    more, less = without_sharing(weights, ("1x1", "2x2", "3x3")), without_sharing(weights, ("2x2",))
    same = without_sharing(weights)
    assert (more.features.sizes, less.features.sizes) == ((1, 2, 3), (2,))
    assert more.theta[1:].tolist() == [*same.theta[1:], *[0] * (9 * 19_682)]
    assert less.theta[1:].tobytes() == same.block(same.features.blocks[1]).tobytes()


def test_unshared_zeros_have_no_sign():
    # As in the original's own unshared files.
    weights = some_weights()
    weights.theta[:] = 0
    assert not without_sharing(weights).theta.view(np.uint32).any()


def test_location_independent_weights_stay_so_beside_new_ones():
    old = some_weights(sharing="LI")
    new = convert(old, sharing="LI+LD")
    for block in new.features.blocks:
        if block.kind == "LI":
            assert (
                new.block(block).tobytes() == old.theta[1:][[0] if block.window == "1x1" else slice(1, None)].tobytes()
            )
        else:
            assert not new.block(block).any()


def test_weights_that_are_location_independent_after_all():
    weights = some_weights(5, (1, 2), "LI+LD")
    for block in weights.features.blocks:
        if block.kind == "LD":
            weights.block(block)[:] = 0
    assert diff(convert(weights, sharing="LI"), weights).is_same


@pytest.mark.parametrize(
    ("old", "sharing", "words"),
    [
        ("LI+LD", "LI", "5x5 1x1+2x2 LI+LD: LI cannot express these weights: the values of 1,"),
        ("LD", "LI", "LI cannot express"),
        ("inversion", "LD", "LD cannot express"),
        ("inversion", "LI+LD", "LD cannot express"),
        ("none", "inversion", "inversion cannot express these weights: the values of 6"),
        ("none", "LD", "LD cannot express"),
        ("LI+LD", "all", "expected one of LI+LD, LI, LD, inversion, none"),
    ],
)
def test_a_sharing_that_would_lose_something_is_refused(old, sharing, words):
    with pytest.raises(RlgoError) as error:
        convert(some_weights(sharing=old), sharing=sharing)
    assert words in str(error.value)


# ---------------------------------------------------------------------------------------------
# Another board size
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", ["LI", "LI+LD"])
@pytest.mark.parametrize("size", [5, 19])
def test_location_independent_weights_carry_over(sharing, size):
    old = some_weights(9, (1, 2, 3), sharing)
    new = convert(old, size)
    assert new.features.name == f"{size}x{size} 1x1+2x2+3x3 {sharing}"
    assert new.provenance["converted"] == f"{old.features.name} -> {new.features.name}"
    for before, after in zip(old.features.blocks, new.features.blocks, strict=True):
        if after.kind == "LI":
            assert new.block(after).tobytes() == old.block(before).tobytes()
        else:
            assert not new.block(after).any()
    # What a position is worth, by the location-independent weights of the old board.
    rng = np.random.default_rng(size)
    li = [float(x) for b in old.features.blocks if b.kind == "LI" for x in old.block(b)]
    for p in (0.2, 0.6):
        stones: Stones = {}
        for row in range(size):
            for col in range(size):
                if rng.random() < p:
                    point: Point = (row, col)
                    stones[point] = int(rng.integers(1, 3))
        expected = phi_theta(named((1, 2, 3), "LI"), li, size, stones)
        assert abs(expected) > 0.1
        assert lookup(new, stones) == pytest.approx(expected, abs=1e-4)


def test_the_size_comes_before_the_sharing():
    old = some_weights(9, (1, 2))
    new = convert(old, 5, "LI")
    assert new.features.name == "5x5 1x1+2x2 LI"
    assert diff(new, convert(old, 5)).is_same
    assert new.provenance["converted"] == "9x9 1x1+2x2 LI+LD -> 5x5 1x1+2x2 LI"
    again = convert(new, 9)
    assert again.provenance["converted"] == "9x9 1x1+2x2 LI+LD -> 5x5 1x1+2x2 LI -> 9x9 1x1+2x2 LI"


def test_nothing_to_convert():
    weights = some_weights()
    assert convert(weights) is weights
    assert convert(weights, 5, "LI+LD") is weights


@pytest.mark.parametrize("sharing", ["LD", "inversion", "none"])
def test_weights_of_places_do_not_carry_over(sharing):
    with pytest.raises(RlgoError, match="tied to positions of their board; only LI weights carry over"):
        convert(some_weights(sharing=sharing), 9)


@pytest.mark.parametrize("size", [4, 20, -1])
def test_sizes_that_are_none(size):
    with pytest.raises(RlgoError, match=f"board size {size}: expected 5 to 19"):
        convert(some_weights(), size)


# ---------------------------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run `rlgo weights ...` in an empty folder; returns (status, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str) -> tuple[int, str, str]:
        status = cli.main(["weights", *argv])
        return status, *capsys.readouterr()

    return run


def test_import_then_export(run, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/theirs.w").write_bytes(GOOD)
    status, out, err = run("import", "sub/theirs.w", "--komi", "6.5", "--games", "1000", "--value", "linear")
    assert (status, err) == (0, "")
    assert out.startswith(
        "theirs.npz: 5x5 1x1+2x2 LI+LD, 107 weights\nassumed komi 6.5, 1,000 games, linear value (not recorded"
    )
    weights = load_weights(tmp_path / "theirs.npz")
    assert (weights.komi, weights.games, weights.value) == (6.5, 1000, "linear")
    status, out, err = run("export", "theirs.npz")
    assert (status, err) == (0, "")
    assert out.startswith("theirs.w: 5x5 1x1+2x2 LI+LD\nleft out: komi 6.5, 1,000 games, linear value (")
    assert (tmp_path / "theirs.w").read_bytes() == GOOD
    assert run("diff", "theirs.w", "sub/theirs.w")[0] == 0
    assert run("import", "theirs.w", "--size", "5", "-o", "b.npz")[0] == 0
    assert run("info", "b.npz")[1].startswith("board      5x5, komi 7.5\n")


def test_export_without_sharing(run, tmp_path):
    save_weights(tmp_path / "a.npz", some_weights(sharing="inversion"))
    assert run("export", "a.npz", "--unshared", "-o", "b.w")[0] == 0
    name, numbers = read_w((tmp_path / "b.w").read_bytes())
    assert (name, len(numbers)) == ("LocalShape-1x1+LocalShape-2x2", 25 * 3 + 16 * 81)
    assert run("diff", "a.npz", "b.w")[0] == 0  # their komi differs; it does not count
    assert run("export", "b.w", "-o", "c.w")[0] == 0
    assert (tmp_path / "c.w").read_bytes() == (tmp_path / "b.w").read_bytes()


def test_convert_from_the_command_line(run, tmp_path):
    save_weights(tmp_path / "a.npz", some_weights())
    status, out, err = run("convert", "a.npz", "--size", "9")
    assert (status, err) == (0, "")
    assert out == (
        "a-9x9.npz: 9x9 1x1+2x2 LI+LD, 368 weights\nLI weights carried over from 5x5; LD weights start from 0\n"
    )
    assert run("convert", "a.npz", "--sharing", "none")[1] == "a-none.npz: 5x5 1x1+2x2 none, 1,330 weights\n"
    assert run("convert", "a-9x9.npz", "--size", "5", "--sharing", "LI")[0] == 0
    assert load_weights(tmp_path / "a-9x9-5x5-LI.npz").features.name == "5x5 1x1+2x2 LI"
    assert run("convert", "a-9x9-5x5-LI.npz", "--size", "7")[1].endswith("\nLI weights carried over from 5x5\n")
    (tmp_path / "b.w").write_bytes(GOOD)
    assert run("convert", "b.w", "--sharing", "LD", "-o", "c.npz")[0] == 0
    assert run("diff", "b.w", "c.npz")[0] == 0


def test_the_status_of_diff(run, tmp_path):
    save_weights(tmp_path / "a.npz", some_weights())
    other = some_weights(games=5)
    other.theta[3] = 0.5
    save_weights(tmp_path / "b.npz", other)
    save_weights(tmp_path / "c.npz", some_weights(9))
    assert run("diff", "a.npz", "a.npz")[0] == 0
    status, out, err = run("diff", "a.npz", "b.npz", "--top", "2")
    assert (status, err) == (1, "")
    assert re.search(r"^file +a\.npz +b\.npz$", out, re.M)
    assert "A - B where it is largest" in out
    status, out, err = run("diff", "a.npz", "c.npz")
    assert (status, out) == (2, "")
    assert err.startswith("rlgo: error: a.npz and c.npz: weights for board sizes 5 and 9")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["import", "a.npz", "-o", "b.npz"], "a.npz: line 1 is "),
        (["import", "none.w"], "none.w: cannot be read: No such file"),
        (["import", "a.w"], "a.npz: already exists; use --force to overwrite it"),
        (["import", "a.w", "-o", "a.npz"], "a.npz: already exists; use --force to overwrite it"),
        (["import", "a.w", "-o", "b.w"], "b.w: expected a name that ends in .npz"),
        (["import", "a.w", "-o", "b.npz", "--size", "9"], "a.w: expected weights for 9x9, found weights for 5x5"),
        (["import", "a.w", "-o", "b.npz", "--size", "x"], "--size x: expected an integer"),
        (["import", "a.w", "-o", "b.npz", "--komi", "nan"], "--komi nan: expected a number from -10,000 to 10,000"),
        (["import", "a.w", "-o", "b.npz", "--games", "-1"], "--games -1: expected an integer of at least 0"),
        (["import", "a.w", "-o", "b.npz", "--value", "x"], "--value x: expected one of logistic, linear"),
        (["import", "a.w", "-o", "no/b.npz"], "-o no/b.npz: expected a file that can be written"),
        (["export", "a.npz"], "a.w: already exists; use --force to overwrite it, or -o to name another file"),
        (["export", "a.npz", "-o", "b.npz"], "b.npz: expected a name that ends in .w"),
        (["export", "none.npz"], "none.npz: no such weight file"),
        (["convert", "a.npz"], "weights convert: expected --size, --sharing, or both"),
        (["convert", "a.npz", "--size", "4"], "a.npz: board size 4: expected 5 to 19"),
        (["convert", "a.npz", "--sharing", "LI"], "a.npz: 5x5 1x1+2x2 LI+LD: LI cannot express these weights"),
        (["convert", "a.npz", "--sharing", "x"], "a.npz: sharing = 'x': expected one of LI+LD, LI"),
        (["convert", "a.npz", "--size", "5"], "a.npz: is already 5x5 1x1+2x2 LI+LD"),
        (["convert", "li.w", "--size", "9"], "li.w: the number of LI weights does not depend on the board"),
        (["convert", "a.npz", "--size", "9", "-o", "a.npz"], "a.npz: already exists"),
        (["diff", "a.npz", "none.w"], "none.w: no such weight file"),
        (["diff", "a.npz", "broken.w"], "broken.w: 427 bytes of weights, expected 428"),
        (["diff", "a.npz", "a.w", "--top", "-1"], "--top -1: expected an integer of at least 0"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_writes_nothing(run, tmp_path, argv, message):
    save_weights(tmp_path / "a.npz", some_weights())
    (tmp_path / "a.w").write_bytes(GOOD)
    (tmp_path / "broken.w").write_bytes(GOOD[:-1])
    export_w(tmp_path / "li.w", some_weights(sharing="LI"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = run(*argv)
    assert (status, out) == (2, "")
    assert err.startswith("rlgo: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_force_overwrites(run, tmp_path):
    save_weights(tmp_path / "a.npz", some_weights(9))
    (tmp_path / "a.w").write_bytes(GOOD)
    assert run("import", "a.w", "--force")[0] == 0
    assert load_weights(tmp_path / "a.npz").features.size == 5
    assert run("convert", "a.npz", "--size", "9", "-o", "a.npz", "--force")[0] == 0
    assert run("export", "a.npz", "--force")[0] == 0
    assert import_w(tmp_path / "a.w").features.size == 9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "a.w"]


def test_a_w_file_cannot_hold_windows_other_than_squares(tmp_path):
    features = make_features(5, (1,), "LI", ("atari plus",))
    weights = Weights(features, np.append(np.float32(0), np.ones(features.n_weights, np.float32)))
    with pytest.raises(RlgoError, match=r"x\.w: a \.w file cannot hold windows other than squares \(atari plus\)"):
        export_w(tmp_path / "x.w", weights)
    assert not list(tmp_path.iterdir())
    # LI weights carry over to other boards, and writing them out without sharing keeps them.
    larger = convert(weights, size=7)
    assert larger.features.arguments == (7, (1,), "LI", ("atari plus",), "LI")
    np.testing.assert_array_equal(larger.theta, weights.theta)
    assert convert(weights, sharing="none").features.arguments == (5, (1,), "none", ("atari plus",), "none")
    with pytest.raises(RlgoError, match="can only be converted to sharing none"):
        convert(weights, sharing="LI+LD")
