"""Patterns: probabilities of moves, the pattern file, and drawings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pattern_games import games_played, learned_patterns, x_of
from random_play import SIZE

from rlgo.base.archive import write_archive
from rlgo.base.errors import RlgoError
from rlgo.base.resources import SHIPPED_PATTERNS
from rlgo.go.board import PASS, play
from rlgo.go.game import Game
from rlgo.go.rules import zobrist
from rlgo.moves.move_features import FEATURES
from rlgo.moves.patterns import FORMAT, VERSION, Patterns, describe, load_patterns, save_patterns, show

_MADE = {"method": "softmax", "games": 20, "decisions": 500}


def test_probabilities_are_those_of_the_decisions() -> None:
    _, decisions, patterns = learned_patterns()
    x, game = x_of(patterns, decisions), games_played()[1]
    first = int(np.flatnonzero((decisions.game == 1) & (decisions.ply == 3))[0])
    board = Game(SIZE).board.copy()
    for _, p in game.moves[:3]:
        play(board, p, zobrist(SIZE))
    (found,) = patterns.probabilities([board], game.moves[1][1])
    here = slice(int(decisions.starts[first]), int(decisions.starts[first + 1]))
    e = np.exp(x[here].astype(np.float64))
    assert list(found) == decisions.move[here].tolist()
    assert list(found.values()) == pytest.approx((e / e.sum()).tolist(), rel=1e-5)


def test_probabilities_do_not_depend_on_colours_and_symmetry() -> None:
    patterns = learned_patterns()[2]
    for game in games_played()[:4]:
        plain, turned = Game(SIZE), Game(SIZE)
        turned.play(PASS)  # White begins
        for _, p in game.moves[:13]:
            plain.play(p)
            turned.play(PASS if p == PASS else p // 6 + p % 6 * 6)
        a, b = (patterns.probabilities([g.board], g.moves[-2][1])[0] for g in (plain, turned))
        assert a == pytest.approx({p // 6 + p % 6 * 6: value for p, value in b.items()}, rel=1e-6)


# ---------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------


def test_patterns_come_back_from_their_file(tmp_path: Path) -> None:
    patterns = replace(learned_patterns()[2], provenance={"method": "softmax", "games": 20, "decisions": 500})
    save_patterns(tmp_path / "p.npz", patterns)
    found = load_patterns(tmp_path / "p.npz")
    for name in ("parents", "codes", "seen", "shape_weights", "feature_weights"):
        np.testing.assert_array_equal(getattr(found, name), getattr(patterns, name))
    assert (found.size, found.provenance) == (SIZE, patterns.provenance)
    text = describe(found)
    assert f"{len(FEATURES)} features, {len(patterns.parents):,} shapes" in text
    assert "learned by softmax from 500 moves of 20 games" in text


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    save_patterns(path, learned_patterns()[2])
    whole = path.read_bytes()
    for data in (whole[:-1], whole[:200], whole[:100] + b"x" + whole[101:], b"hello"):
        path.write_bytes(data)
        with pytest.raises(RlgoError, match=r"p\.npz"):
            load_patterns(path)
    save_patterns(path, replace(learned_patterns()[2], parents=np.arange(1, len(learned_patterns()[2].parents) + 1)))
    with pytest.raises(RlgoError, match="not the arrays of a pattern file"):
        load_patterns(path)
    write_archive(path, {"format": FORMAT, "version": VERSION + 1}, {})
    with pytest.raises(RlgoError, match="this rlgo reads up to"):
        load_patterns(path)


def test_shapes_are_drawn() -> None:
    text = show(learned_patterns()[2], 3, unicode=False)
    strongest, weakest, features = text.split("\n\n")[1], text.split("\n\n")[3], text.split("\n\n")[-1]
    assert strongest.count("*") == weakest.count("*") == 3
    assert len(features.splitlines()) == len(FEATURES)
    assert max(learned_patterns()[2].shape_weights[1:]) == pytest.approx(
        float(strongest.split("\n")[-1].split()[0]), abs=0.01
    )


def test_players_are_black_in_drawings() -> None:
    """A shape of one own stone above the move, whose code is 2: one liberty. It is drawn twice: it is all there is."""
    patterns = Patterns(
        np.zeros(1, np.int32), np.array([2], np.uint32), np.ones(1, np.int64), np.ones(2, np.float32),
        np.zeros(len(FEATURES) + 1, np.float32),
    )  # fmt: skip
    drawn = show(patterns, 1, unicode=False)
    assert drawn.count("X") == 2
    assert "O" not in drawn.split("Features")[0]
    assert "[---1]" in drawn


def test_patterns_are_found_by_size_or_by_name(tmp_path: Path) -> None:
    find = SHIPPED_PATTERNS.find
    shipped = find("", 9)
    assert shipped.name == "9x9.npz"
    for name in ("9x9", "9x9.npz", "checkpoints/patterns/9x9.npz", str(shipped)):
        assert find(name).samefile(shipped)
    assert find("", 19) == find("", 5) == shipped
    with pytest.raises(RlgoError, match=r"9x8: no such pattern file; "):
        find("9x8")
    with pytest.raises(RlgoError, match="expected a pattern file, found a folder"):
        find(str(tmp_path))
