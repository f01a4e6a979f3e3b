"""Weight files: saving and loading, and detecting damage."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from weight_files import refused, some_weights

from rlgo.base.archive import write_archive
from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from rlgo.features.incremental import new_shapes, reset
from rlgo.features.shapes import make_features
from rlgo.features.weights import (
    VERSION,
    Weights,
    describe,
    load_weights,
    save_weights,
    shipped_weight_sizes,
    shipped_weights,
    strongest,
)
from rlgo.go.board import new_board, play
from rlgo.go.rules import zobrist
from rlgo.learning.value import ValueFunction, sigma


@pytest.fixture
def saved(tmp_path) -> Path:
    path = tmp_path / "w.npz"
    save_weights(path, some_weights())
    return path


# ---------------------------------------------------------------------------------------------
# Saving and loading
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights",
    [
        some_weights(),
        some_weights(9, (1, 2, 3), value="linear", komi=-0.5),
        some_weights(7, (3,), "none", games=10**12),
        some_weights(19, (1,), "inversion", provenance={}),
    ],
    ids=lambda weights: weights.features.name,
)
def test_what_is_saved_is_loaded(tmp_path, weights):
    save_weights(tmp_path / "w.npz", weights)
    loaded = load_weights(tmp_path / "w.npz", weights.features.size)
    assert loaded.features is weights.features
    assert loaded.theta.dtype == np.float32
    assert loaded.theta.tobytes() == weights.theta.tobytes()
    assert loaded.meta() == weights.meta()
    for name in ("komi", "value", "games", "provenance"):
        assert getattr(loaded, name) == getattr(weights, name), name
    assert loaded.table().black.tobytes() == weights.features.expand(weights.theta).tobytes()
    save_weights(tmp_path / "again.npz", loaded)
    assert load_weights(tmp_path / "again.npz").theta.tobytes() == weights.theta.tobytes()


# ---------------------------------------------------------------------------------------------
# Contents that do not fit
# ---------------------------------------------------------------------------------------------


def archived(path: Path, theta: np.ndarray, change: dict) -> Path:
    """A file with a right checksum and other content: a key of its metadata changed, or left out (None)."""
    meta = {**some_weights().meta(), **change}
    meta = {key: value for key, value in meta.items() if value is not None}
    archive = io.BytesIO()
    np.savez(archive, theta=theta, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8))
    with zipfile.ZipFile(archive, "a") as z:
        z.comment = b"sha256:" + b"0" * 64
    body = archive.getvalue()[:-64]
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    return path


def test_an_archive_is_taken(tmp_path):
    theta = some_weights().theta[1:]
    assert (load_weights(archived(tmp_path / "w.npz", theta, {})).theta[1:] == theta).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": VERSION + 1}, [f"version {VERSION + 1}", f"up to {VERSION}"]),
        ({"format": "other"}, ["weight file of rlgo"]),
        ({"sizes": [1, 2, 3]}, ["107 weights, expected 13135", "5x5 1x1+2x2+3x3 LI+LD"]),
        ({"sharing": "none"}, ["107 weights, expected 1330", "5x5 1x1+2x2 none"]),
        ({"size": 9}, ["107 weights, expected 368", "9x9"]),
        ({"size": 4}, ["board size 4"]),
        ({"size": 20}, ["board size 20"]),
        ({"value": "cubic"}, ["value cubic"]),
        ({"sizes": [4]}, []),
        ({"sharing": "every"}, []),
        ({"sizes": None}, []),
        ({"games": None}, []),
    ],
    ids=str,
)
def test_metadata_that_does_not_fit(tmp_path, change, words):
    refused(archived(tmp_path / "w.npz", some_weights().theta[1:], change), *words)


@pytest.mark.parametrize(
    "theta", [np.zeros(106, np.float32), np.zeros(108, np.float32), np.zeros((107, 1), np.float32)]
)
def test_weights_that_do_not_fit(tmp_path, theta):
    refused(archived(tmp_path / "w.npz", theta, {}))


def test_doubles_are_no_weights(tmp_path):
    refused(archived(tmp_path / "w.npz", np.zeros(107, np.float64), {}))


def test_another_board_size(saved):
    assert load_weights(saved, 5).features.size == 5
    refused(saved, "expected weights for 9x9, found weights for 5x5", size=9)


# ---------------------------------------------------------------------------------------------
# Descriptions
# ---------------------------------------------------------------------------------------------


def test_describe():
    weights = some_weights(9, (1, 2, 3), games=1_000_000)
    text = describe(weights)
    assert "9x9, komi 6.5" in text
    assert "63,303 weights of 969,894 shapes" in text
    assert "1,000,000" in text
    for name, n in {"1x1-LI": "1", "1x1-LD": "15", "2x2-LI": "8", "2x2-LD": "344", "3x3-LD": "61,517"}.items():
        assert re.search(rf"^{name} +{n} +{n} ", text, re.M), name
    assert re.search(r"^seed +12345678901234$", text, re.M)
    block = weights.features.blocks[-2]
    norm, largest = np.linalg.norm(weights.block(block)), np.abs(weights.block(block)).max()
    assert re.search(rf"^3x3-LI +1,418 +1,418 +{norm:.3f} +{largest:.4f}$", text, re.M)
    weights.theta[1:] = 0
    assert re.search(r"^3x3-LI +1,418 +0 +0.000 +0.0000$", describe(weights), re.M)


def test_strongest_shapes_come_first_and_count_for_black():
    weights = some_weights()
    for block in weights.features.blocks:
        found = strongest(weights, block, 5)
        values = [weight for weight, *_ in found]
        assert values == sorted(np.abs(weights.block(block)).tolist(), reverse=True)[:5]
        for weight, cells, row, col in found:
            # As it is drawn, the shape adds `weight` to phi . theta.
            k, features = int(block.window[0]), weights.features
            window = features.windows.index((block.window, row, col))
            points = features.geometry.cell_point[window, : k * k]
            places = {(row + j + 1) * 6 + col + i + 1: int(cells[j, i]) for j in range(k) for i in range(k)}
            configuration = sum(3**d * places[int(p)] for d, p in enumerate(points))
            g = features.geometry
            base = (g.li_base if block.kind == "LI" else g.ld_base)[window]
            assert weights.table().black[base + configuration] == np.float32(weight) > 0


# ---------------------------------------------------------------------------------------------
# Shipped weights
# ---------------------------------------------------------------------------------------------


def test_shipped_weights_load():
    files = sorted(checkpoints_dir().glob("*x*-*.npz"))
    assert files
    for path in files:
        weights = load_weights(path)
        size = weights.features.size
        assert path.name.startswith(f"{size}x{size}-")
        assert np.isfinite(weights.theta).all()
        assert np.abs(weights.theta).max() > 0.01
        assert weights.games > 0
        assert weights.provenance


def test_the_shipped_weights_of_a_size_are_those_with_most_games():
    """The names tell how many they are."""
    for size in shipped_weight_sizes():
        games = [load_weights(path).games for path in checkpoints_dir().glob(f"{size}x{size}-*.npz")]
        assert load_weights(shipped_weights(size), size).games == max(games)
    with pytest.raises(RlgoError, match="no shipped weights for board size 18"):
        shipped_weights(18)


def test_other_files_beside_shipped_weights(tmp_path, monkeypatch):
    for name in ("9x9-1M.npz", "exp-1.npz", "9x7-1M.npz", "13x13-a.npz", "19x19.npz"):
        (tmp_path / name).touch()
    monkeypatch.setattr("rlgo.base.resources._folder", lambda _: tmp_path)
    assert shipped_weight_sizes() == [9, 13]


def test_a_set_of_weights_says_what_it_is():
    weights = some_weights(komi=6.5, games=12_000)
    assert repr(weights) == f"<Weights {weights.features.name}: 107 weights, logistic, komi 6.5, 12,000 games>"
    assert repr(ValueFunction(weights)) == f"<ValueFunction {weights.features.name}, logistic, 12,000 games>"
    n = weights.features.n_features
    assert repr(weights.features) == f"<FeatureSet {weights.features.name}: 107 weights of {n:,} shapes>"


def test_all_forms_of_the_table_value_positions_alike():
    weights, board = some_weights(), new_board(5)
    for p in (8, 15, 22, 9):
        play(board, p, zobrist(5))
    expected = ValueFunction(weights).value(board)
    for table in (weights.table(("1x1", "2x2")), weights.table(("1x1", "2x2", "3x3")), weights.table(is_fused=True)):
        sh = new_shapes(1, 5)[0]
        reset(board, sh, table)
        assert sigma(sh.x[0]) == pytest.approx(expected, abs=1e-5)
    assert weights.table() is weights.table()


def test_weights_know_their_board():
    weights = some_weights()
    assert weights.for_board(5, "x.npz") is weights
    with pytest.raises(RlgoError, match=r"^x\.npz: expected weights for 9x9, found weights for 5x5$"):
        weights.for_board(9, "x.npz")


def test_weights_of_other_windows_survive_their_file(tmp_path):
    features = make_features(5, (1, 2), "LI+LD", ("liberties 2x3", "atari plus", "stones x./.x"), "LI+LD")
    theta = np.arange(features.n_weights + 1, dtype=np.float32)
    save_weights(tmp_path / "others.npz", Weights(features, theta))
    read = load_weights(tmp_path / "others.npz")
    assert read.features is features
    assert read.theta.tobytes() == theta.tobytes()
    assert read.meta()["version"] == 3
    assert features.name == "5x5 1x1+2x2+.x/x. LI+LD, atari plus + liberties 2x3 LI+LD"
    # Files without such windows stay readable by earlier versions.
    assert Weights(make_features(5), np.zeros(make_features(5).n_weights + 1, np.float32)).meta()["version"] == 1


def test_other_windows_are_drawn():
    features = make_features(5, (), "LI", (".x/xx",))
    text = Weights(features, np.arange(features.n_weights + 1, dtype=np.float32)).show(2, unicode=False)
    assert text.startswith(".x/xx-LI")
    assert "+" + f"{features.n_weights:.3f}" in text


def test_files_of_version_2_stay_readable(tmp_path):
    weights = some_weights(5, (1,), "LI", ("atari 2x2",))
    meta = weights.meta()
    meta["liberties"] = meta.pop("others")
    write_archive(tmp_path / "old.npz", meta | {"version": 2}, {"theta": weights.theta[1:]})
    assert load_weights(tmp_path / "old.npz").features is weights.features


def test_weights_are_compared_by_identity():
    """Arrays are neither equal nor unequal as wholes; weights can be members of sets and lists all the same."""
    a, b = some_weights(5), some_weights(5)
    assert a in [b, a]
    assert a not in [b]
    assert len({a, b, a}) == 2
