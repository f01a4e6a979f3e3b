"""Shards: writing and reading, and detecting damage."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlgo.base.archive import write_archive
from rlgo.base.errors import RlgoError
from rlgo.learning.collection import FORMAT, VERSION, is_held_out, read_collection, read_shard, shard_paths, take_games
from train.arena.referee import Opinion
from train.games import shards
from train.games.shards import TrainingGame, open_folder, pack, unpack

RECIPE = {"kind": "imported", "size": 5}
GAMES = [
    TrainingGame(1, 1.0, [(1, 7), (2, 8), (1, 0)], opinions={1: Opinion(0.25, (8, 9, 0), (300, 7, 1))}),
    TrainingGame(2, math.nan, [(2, 40)], setup=[(1, 7), (1, 35)]),
    TrainingGame(3, 0.5, [(1, 8), (1, 9)], opinions={0: Opinion(0.5, (8,), (1,)), 1: Opinion(0.0, (9, 8), (2, 1))}),
]


def fill(path: Path, games: list[TrainingGame]) -> None:
    with open_folder(path, RECIPE, {}) as folder:
        for game in games:
            folder.add(game)


def test_games_of_slow_players_are_saved_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even those that end together: saving takes little of the time that they took. Games that come fast wait."""
    now = 0.0

    def write_slowly(*written: Any) -> None:
        nonlocal now
        now += 0.1
        write_archive(*written)

    monkeypatch.setattr(shards.time, "monotonic", lambda: now)
    monkeypatch.setattr(shards, "write_archive", write_slowly)
    with open_folder(tmp_path, RECIPE, {}) as folder:
        now = 300.0
        for n, game in enumerate(GAMES, 1):
            folder.add(game)
            assert len(read_collection([tmp_path])) == n
        for number in range(4, 200):
            folder.add(TrainingGame(number, 1.0, [(1, 7), (2, 8 + number)]))
        assert len(read_collection([tmp_path])) < 70
        now += 11
        folder.add(TrainingGame(200, 1.0, [(1, 9)]))
        assert len(read_collection([tmp_path])) == 200


def test_games_come_back() -> None:
    for given, found in zip(GAMES, unpack(pack(GAMES)), strict=True):
        assert (found.number, found.moves, list(found.setup)) == (given.number, given.moves, list(given.setup))
        assert found.opinions == given.opinions
        assert found.id == given.id
        np.testing.assert_equal(found.z, given.z)


def test_numbers_are_stored_in_few_bytes() -> None:
    arrays = pack(GAMES)
    assert {name: arrays[name].itemsize for name in ("move", "visits", "value", "id")} == {
        "move": 1, "visits": 2, "value": 2, "id": 8,
    }  # fmt: skip


def test_a_tenth_is_held_out_and_copies_stay_together() -> None:
    ids = np.array([TrainingGame(i, 1.0, [(1, i % 1000), (2, i // 1000)]).id for i in range(5000)], np.uint64)
    assert 400 < is_held_out(ids).sum() < 600
    assert TrainingGame(1, 1.0, [(1, 7)]).id == TrainingGame(9, 0.0, [(1, 7)]).id != TrainingGame(1, 1.0, [(1, 8)]).id


def test_a_folder_grows_over_several_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.games.shards._GAMES_PER_SHARD", 2)
    fill(tmp_path, GAMES[:1])
    fill(tmp_path, GAMES[1:])
    fill(tmp_path, [TrainingGame(4, 1.0, [(1, 40)])])
    assert [path.name for path in shard_paths(tmp_path)] == ["000001.npz", "000002.npz"]
    games = read_collection([tmp_path])
    assert games.arrays["number"].tolist() == [1, 2, 3, 4]
    assert [game.opinions for game in unpack(games.arrays)][:3] == [game.opinions for game in GAMES]


def test_every_shard_says_where_its_games_come_from(tmp_path: Path) -> None:
    for game, source in zip(GAMES, ["a", "a", "b"], strict=True):
        with open_folder(tmp_path, {"kind": "imported", "size": 5}, {"source": source}) as folder:
            folder.add(game)
    found = [read_shard(path) for path in shard_paths(tmp_path)]
    assert [meta["provenance"]["source"] for meta, _ in found] == ["a", "b"]
    assert [arrays["number"].tolist() for _, arrays in found] == [[1, 2], [3]]


def test_games_are_selected_with_all_that_belongs_to_them(tmp_path: Path) -> None:
    fill(tmp_path, GAMES)
    chosen = unpack(take_games(read_collection([tmp_path]).arrays, np.array([2, 0])))
    assert [(game.number, game.moves, game.opinions) for game in chosen] == [
        (game.number, game.moves, game.opinions) for game in (GAMES[2], GAMES[0])
    ]


def test_a_game_in_two_folders_counts_once(tmp_path: Path) -> None:
    fill(tmp_path / "a", GAMES)
    fill(tmp_path / "b", [*GAMES[1:], TrainingGame(7, 0.0, [(1, 40)])])
    assert len(read_collection([tmp_path / "a", tmp_path / "b"])) == 4


def test_another_recipe_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, GAMES)
    with (
        pytest.raises(RlgoError, match="games of another run: size is 5, not 9; choose another folder"),
        open_folder(tmp_path, {"kind": "imported", "size": 9}, {}),
    ):
        pass


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    with (
        open_folder(tmp_path, RECIPE, {}),
        pytest.raises(RlgoError, match="another process is writing to it"),
        open_folder(tmp_path, RECIPE, {}),
    ):
        pass


def test_damage_is_noticed(tmp_path: Path) -> None:
    fill(tmp_path, GAMES)
    path = shard_paths(tmp_path)[0]
    whole = path.read_bytes()
    for data in (whole[:-1], whole[:99], bytes([whole[0] ^ 1]) + whole[1:], b""):
        path.write_bytes(data)
        with pytest.raises(RlgoError, match=r"000001\.npz"):
            read_shard(path)


@pytest.mark.parametrize("name", ["visits", "move", "number"])
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, name: str) -> None:
    arrays = pack(GAMES)
    arrays[name] = arrays[name][:-1]
    write_archive(tmp_path / "000001.npz", {"format": FORMAT, "version": VERSION, "recipe": RECIPE}, arrays)
    with pytest.raises(RlgoError, match="not the arrays of a shard of games"):
        read_collection([tmp_path])


def test_folders_without_games_and_mixed_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RlgoError, match="expected a folder of games"):
        read_collection([tmp_path])
    fill(tmp_path / "a", GAMES)
    with open_folder(tmp_path / "b", {"kind": "imported", "size": 9}, {}) as folder:
        folder.add(GAMES[0])
    with pytest.raises(RlgoError, match="games on boards of size 5 and 9: expected one size"):
        read_collection([tmp_path / "a", tmp_path / "b"])
