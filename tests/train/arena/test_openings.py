"""Openings: their names, files, order and symmetries; and those that are shipped."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import rlgo
from rlgo.base.errors import RlgoError
from rlgo.go.coords import from_vertex, vertices
from rlgo.go.game import Game
from train.arena.match import play_match
from train.arena.openings import (
    BALANCED,
    NO_MOVE,
    TUNING,
    default_openings,
    find_openings,
    moved,
    position_key,
    read_openings,
    shipped_sizes,
    with_openings,
)


def points(text: str, size: int = 9) -> tuple[int, ...]:
    return tuple(from_vertex(word, size) for word in text.split())


def write(folder: Path, text: str) -> str:
    path = folder / "own.txt"
    path.write_text(text)
    return str(path)


# ---------------------------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------------------------


def test_balanced_openings_are_the_default_where_they_are_shipped() -> None:
    assert shipped_sizes() == (9, 13, 19)
    assert [default_openings(n, 7.5) for n in (5, 9, 13, 19)] == ["random:4", BALANCED, BALANCED, BALANCED]
    assert default_openings(9, 6.5) == "random:4"
    assert find_openings("", 9, 7.5).name == BALANCED
    assert find_openings("", 7, 7.5).name == "random:4"


def test_a_match_begins_with_balanced_openings_and_says_so() -> None:
    result = play_match("random", "random", 4, progress=False)
    assert result.openings == BALANCED
    assert "openings: balanced" in str(result)
    assert play_match("random", "random", 4, size=5, progress=False).openings == "random:4"


@pytest.mark.parametrize(
    ("name", "size", "komi", "message"),
    [
        ("random:41", 9, 7.5, "openings = random:41: expected at most 40 moves on 9x9, half its points"),
        ("random", 9, 7.5, "openings = 'random': expected balanced, balanced-tuning, random:N, empty or a file"),
        ("none.txt", 9, 7.5, "openings = 'none.txt': expected balanced"),
        ("balanced", 5, 7.5, "openings = balanced: expected 9x9 and 13x13 and 19x19 with komi 7.5, or random:N"),
        ("balanced", 9, 0.5, "openings = balanced: expected 9x9"),
    ],
)
def test_bad_names(name: str, size: int, komi: float, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        find_openings(name, size, komi)


def test_older_results_had_random_openings() -> None:
    assert with_openings({"opening_plies": 4, "a": 1})["openings"] == "random:4"
    assert with_openings({"opening_plies": 4, "openings": "balanced"})["openings"] == "balanced"
    assert "openings" not in with_openings({})


# ---------------------------------------------------------------------------------------------
# Order
# ---------------------------------------------------------------------------------------------


def test_random_openings_are_uniform_and_sensible() -> None:
    seen = {moves[0] for moves in find_openings("random:1", 5, 7.5).first(400, 1)}
    assert seen == set(Game(5).sensible_moves())
    assert find_openings("empty", 5, 7.5).first(2, 1) == [(), ()]


@pytest.mark.parametrize("name", ["random:4", BALANCED])
def test_openings_depend_on_the_seed_alone(name: str) -> None:
    found = find_openings(name, 9, 7.5)
    assert found.first(4, 1) == found.first(4, 1) == found.first(8, 1)[:4] != found.first(4, 2)


def test_all_openings_of_a_file_come_before_any_comes_again(tmp_path: Path) -> None:
    found = find_openings(write(tmp_path, "A1 B2\nC3 C4\nE5 E6 D4\n"), 9, 7.5)
    keys = [position_key(moves, 9) for moves in islice(found.sequence(3), 9)]
    assert [len(set(keys[i : i + 3])) for i in (0, 3, 6)] == [3, 3, 3]
    positions = set(islice(found.sequence(3), 300))
    assert len(positions) > 3 * 4  # the symmetric ones come, too


def test_the_array_has_the_same_openings(tmp_path: Path) -> None:
    found = find_openings(write(tmp_path, "A1 B2\nE5 E6 D4\n"), 9, 7.5)
    array = found.array(5, 7)
    assert isinstance(array, np.ndarray)
    assert [tuple(p for p in row if p != NO_MOVE) for row in array.tolist()] == found.first(5, 7)
    assert find_openings("random:3", 9, 7.5).array(5, 7) == 3


def test_compiled_games_begin_with_given_openings() -> None:
    """Games that end with the longer openings: their digests tell which ones were played."""
    weights = rlgo.load_weights(rlgo.shipped_weights(9))
    rows = np.array([[*points("E5 C3"), NO_MOVE], points("E5 C3 G7"), points("E5 C3 G7")])
    games = rlgo.play_fast(weights.features, weights.theta, weights.theta, 6, 1, openings=rows, max_moves=3)
    assert games.lengths.tolist() == [[-3, -3]] * 3
    assert games.digests[0, 0] != games.digests[1, 0] == games.digests[2, 0]
    with pytest.raises(RlgoError, match=r"openings = an array of shape \(3, 3\): expected \(2, plies\)"):
        rlgo.play_fast(weights.features, weights.theta, weights.theta, 4, 1, openings=rows)


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def test_a_plain_text_of_openings(tmp_path: Path) -> None:
    first, second = read_openings(Path(write(tmp_path, "# a comment\nE5 pass C3\n\nD4 E5\t0.25\tmore\n")), 9)
    assert first.moves == points("E5 pass C3")
    assert second.moves == points("D4 E5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "own.txt: expected openings, one a line"),
        ("E5 E5\n", "own.txt, line 1: "),
        ("E5\nZ9\n", "own.txt, line 2: "),
        ("pass pass\n", "own.txt, line 1: expected an opening"),
        ('{"format": "other"}\n', "own.txt: damaged, or not a file of openings"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        read_openings(Path(write(tmp_path, text)), 9)


# ---------------------------------------------------------------------------------------------
# Symmetries
# ---------------------------------------------------------------------------------------------


def test_symmetric_openings_have_one_key() -> None:
    moves = points("B4 B3 E4 F3")
    images = {moved(g, moves, 9) for g in range(8)}
    assert len(images) == 8
    assert len({position_key(image, 9) for image in images}) == 1
    assert position_key(points("E4 B3 B4 F3"), 9) == position_key(moves, 9)  # another order
    assert position_key(points("B3 B4 F3 E4"), 9) != position_key(moves, 9)  # other colours
    assert points("D2 C2", 9) in {moved(g, points("B4 B3"), 9) for g in range(8)}  # by hand: reflected in the diagonal


# ---------------------------------------------------------------------------------------------
# The shipped ones
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [9, 13, 19])
def test_shipped_openings_are_different_and_in_their_band(size: int) -> None:
    keys = []
    for name in (BALANCED, TUNING):
        path = find_openings(name, size, 7.5).path
        assert path is not None
        found = read_openings(path, size)
        assert len(found) == 500
        assert all(0.45 <= opening.chance <= 0.6 for opening in found)
        assert len({vertices(opening.moves, size) for opening in found}) == 500
        keys += [position_key(opening.moves, size) for opening in found]
    assert len(set(keys)) == 1000
