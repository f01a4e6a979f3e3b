"""Weight files of the original RLGO, against a slow reader and writer of the format; and the commands for weights."""

from __future__ import annotations

import functools
import math
import re
from functools import partial

import numpy as np
import pytest
import weight_files
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.original import SUBSETS, named, phi_theta, read_w, some_file, write_w
from random_play import random_board

from rlgo.base.errors import RlgoError
from rlgo.base.settings import SHARINGS
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, export_w, import_w, load_weights, save_weights
from rlgo.learning.value import ValueFunction
from train.cli import main as cli

some_weights = partial(weight_files.some_weights, seed=7, scale=0.2)
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


@pytest.mark.parametrize("sharing", SHARINGS)
def test_imported_values_equal_the_files(tmp_path, sharing):
    size, sizes = 5, (1, 2, 3)
    file = some_file(size, sizes, sharing)
    (tmp_path / "a.w").write_bytes(write_w(*file))
    v = ValueFunction(import_w(tmp_path / "a.w", size if sharing == "LI" else None))
    positions = [random_board(size, moves, seed) for seed in (1, 2) for moves in range(1, 45, 7)]
    values = [1 / (1 + math.exp(-phi_theta(*file, size, board.stones))) for _, board in positions]
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
        (b"PK\x03\x04" + bytes(1000), ["line 1 is", "expected Version = 2"]),
        (b"\xff" * 5000, ["line 1 is", "..."]),
        (write_w(NAME, NUMBERS, version=1), ["line 1 is 'Version = 1'", "expected Version = 2"]),
        (GOOD.replace(b"\n", b"\r\n", 3), [r"line 1 is 'Version = 2\r'"]),
        (GOOD.replace(b"FeatureSet = (", b"FeatureSet = "), ["line 2 is", "expected FeatureSet = (...)"]),
        (GOOD.replace(b"NumSaved = ", b"NumSaved = 0"), ["line 3 is 'NumSaved = 0107'", "expected NumSaved = N"]),
        (GOOD.replace(b"NumSaved = ", b"NumSaved = " + b"9" * 5000), ["line 3 is 'NumSaved = 999"]),
        (write_w(NAME, NUMBERS, n_saved=108), ["NumSaved = 108: no board size from 5 to 19"]),
        (write_w(NAME, []), ["NumSaved = 0: no board size"]),
        # As many as on 9x9, in words.
        (write_w(NAME, NUMBERS, n_saved=368), ["428 bytes of weights, expected 1,472"]),
        (write_w(NAME, [*NUMBERS, 1.0], n_saved=107), ["432 bytes of weights, expected 428"]),
        (GOOD + b"\0", ["429 bytes of weights, expected 428"]),
        (write_w(NAME, [math.nan, *NUMBERS[1:]]), ["1 of 107 weights are infinite or not a number"]),
        (write_w(NAME, [*NUMBERS[1:], math.inf]), ["1 of 107 weights"]),
    ],
    ids=range(15),
)
def test_damaged_files(tmp_path, data, words):
    path = tmp_path / "a.w"
    path.write_bytes(data)
    refused(path, *words)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "LocalShape-1x1-LI",
        "LocalShape-4x4",
        "LocalShape-1x1-None-IE",
        "LocalShape-1x1-LD+LocalShape-1x1-LI",
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
        load_weights(tmp_path / "a.npz")
    assert path.read_text() == "old"


def test_a_w_file_cannot_hold_windows_other_than_squares(tmp_path):
    features = make_features(5, (1,), "LI", ("atari plus",))
    weights = Weights(features, np.append(np.float32(0), np.ones(features.n_weights, np.float32)))
    with pytest.raises(RlgoError, match=r"x\.w: a \.w file cannot hold irregular windows \(atari plus\)"):
        export_w(tmp_path / "x.w", weights)
    assert not list(tmp_path.iterdir())


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
        (["import", "a.w", "-o", "b.w"], "b.w: expected a name that ends in .npz"),
        (["import", "a.w", "-o", "b.npz", "--size", "9"], "a.w: expected weights for 9x9, found weights for 5x5"),
        (["export", "a.npz"], "a.w: already exists; use --force to overwrite it, or -o to name another file"),
        (["export", "a.npz", "-o", "b.npz"], "b.npz: expected a name that ends in .w"),
        (["export", "none.npz"], "none.npz: no such weight file"),
        (["convert", "a.npz"], "weights convert: expected --size, --sharing, or both"),
        (["convert", "a.npz", "--size", "4"], "--size 4: expected an integer from 5 to 19"),
        (["convert", "a.npz", "--sharing", "LI"], "a.npz: 5x5 1x1+2x2 LI+LD: LI cannot express these weights"),
        (["convert", "a.npz", "--sharing", "x"], "a.npz: sharing = 'x': expected one of LI+LD, LI"),
        (["convert", "a.npz", "--size", "5"], "a.npz: is already 5x5 1x1+2x2 LI+LD"),
        (["convert", "li.w", "--size", "9"], "li.w: the number of LI weights does not depend on the board"),
        (["diff", "a.npz", "none.w"], "none.w: no such weight file"),
        (["diff", "a.npz", "broken.w"], "broken.w: 427 bytes of weights, expected 428"),
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
