"""Batches for networks against the games that they come from, one position at a time."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.naive import NaiveBoard, from_core, row_major

import rlgo
from rlgo.base.archive import read_archive, write_archive
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS
from rlgo.go.game import Game
from rlgo.learning.batches import Batch, GameData, read_games
from rlgo.learning.collection import FORMAT, is_held_out, learned_positions, read_collection, shard_paths
from train.arena.referee import Opinion
from train.games.shards import TrainingGame, open_folder, pack

SIZE, N = 5, 25
RECIPE = {"kind": "self-play", "size": SIZE, "komi": 0.5}


def random_game(number: int, seed: int, *, searched: bool = True, plies: int = 200, komi: float = 0.5) -> TrainingGame:
    """A game of random sensible moves, to the end unless it is too long; made-up searches after two moves."""
    draw, game, opinions = np.random.default_rng(seed), Game(SIZE, komi), {}
    while not game.is_over() and len(game.moves) < plies:
        moves = game.sensible_moves() or [PASS]
        visited = draw.permutation(moves)[:6].tolist()
        if searched and len(game.moves) >= 2:
            visits = np.sort(draw.integers(1, 100, len(visited)))[::-1]
            value = float(np.float16(draw.random()))
            opinions[len(game.moves)] = Opinion(value, tuple(visited), tuple(visits.tolist()))
        game.play(visited[0])
    return TrainingGame(number, game.outcome, game.moves, opinions=opinions, komi=komi)


def held_out_game(number: int) -> TrainingGame:
    games = (random_game(number, seed) for seed in range(100 * number, 100 * number + 99))
    return next(game for game in games if is_held_out(np.uint64(game.id)))


GAMES = [random_game(n, n) for n in range(1, 10)]
GAMES.append(held_out_game(10))
GAMES.append(random_game(41, 41, searched=False))
GAMES.append(random_game(42, 42, plies=9))  # stopped: not scored
GAMES.append(TrainingGame(43, math.nan, [(1, 7), (2, 8), (1, 0), (2, 0)], komi=0.5))  # nobody knows who won
GAMES.append(TrainingGame(44, 1.0, [(2, 14), (1, 8), (2, 0), (1, 0)], setup=[(1, 16), (1, 19)], komi=-7.0))
GAMES.append(TrainingGame(45, 0.0, [(1, 14), (2, 0), (1, 0)], komi=0.5))  # the record says White won; the board Black
# A player that ranks moves without a search gives all of them the same visits.
RANKED = Opinion(0.25, (8, 9, 13), (20, 20, 20))
GAMES.append(
    TrainingGame(46, 0.0, [(1, 8), (2, 0), (1, 0)], opinions={0: RANKED, 2: Opinion(0.5, (0,), (20,))}, komi=0.5)
)
BY_NUMBER = {game.number: game for game in GAMES}


def fill(path: Path, games: list[TrainingGame], recipe: dict[str, Any] = RECIPE) -> Path:
    with open_folder(path, recipe, {}) as folder:
        for game in games:
            folder.add(game)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("games"), GAMES)


@pytest.fixture(scope="module")
def data(folder: Path) -> GameData:
    return read_games(folder, held_out=None)


def planes_of(study: TrainingGame) -> np.ndarray:
    """The planes of all positions of a game."""
    game = Game(SIZE, study.komi)
    if study.setup:
        game.set_up(study.setup, study.moves[0][0])
    for color, p in study.moves:
        game.play(p, color)
    return rlgo.planes(rlgo.Positions.along(game))


def place(p: int) -> int:
    return N if p == PASS else row_major(SIZE, p)


def owners_at_the_end(study: TrainingGame) -> np.ndarray:
    board = NaiveBoard(SIZE)
    board.stones = {from_core(SIZE, p): color for color, p in study.setup}
    for color, p in study.moves:
        board.to_play, board.ko = color, None
        board.play(from_core(SIZE, p))
    owners = np.zeros((SIZE, SIZE))
    for p, color in board.owners().items():
        owners[p] = 1 if color == BLACK else -1
    return owners


def test_every_position_is_that_of_its_game(data: GameData) -> None:
    """From White's view as from Black's: planes, policy, results."""
    batch = data.take(np.arange(len(data)))
    expected = [
        (game.number, ply)
        for game in GAMES
        for ply in range(len(game.moves))
        if ply in game.opinions or not game.opinions
    ]
    numbers = [GAMES[g].number for g in batch.game]
    assert list(zip(numbers, batch.ply.tolist(), strict=True)) == expected
    planes = {game.number: planes_of(game) for game in GAMES}
    for i, (number, ply) in enumerate(expected):
        study = BY_NUMBER[number]
        color, played = study.moves[ply]
        opinion = study.opinions.get(ply)
        searched = opinion if opinion and len(set(opinion.visits)) > 1 else None
        np.testing.assert_array_equal(batch.planes[i], planes[number][ply])
        policy = np.zeros(N + 1)
        for move, visits in zip(*(searched[1:] if searched else ([played], [1])), strict=True):
            policy[place(move)] = visits
        np.testing.assert_allclose(batch.policy[i], policy / policy.sum(), rtol=1e-6)
        assert batch.to_play[i] == color
        assert batch.has_search[i] == (searched is not None)
        mine = 1 if color == BLACK else -1
        np.testing.assert_equal(batch.z[i], np.float32(study.z if mine == 1 else 1 - study.z))
        value = math.nan if opinion is None else opinion.value
        np.testing.assert_allclose(batch.value[i], value if mine == 1 else 1 - value, rtol=1e-6)


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_ends_are_scored_by_area(data: GameData) -> None:
    batch = data.take(np.arange(len(data)))
    scored = set()
    for i, g in enumerate(batch.game):
        study = GAMES[g]
        owners, sign = owners_at_the_end(study), 1 if batch.to_play[i] == BLACK else -1
        points = owners.sum() - study.komi
        is_over = [p for _, p in study.moves[-2:]] == [PASS, PASS]
        if is_over and study.z == (0.5 if points == 0 else float(points > 0)):
            scored.add(study.number)
            assert batch.score[i] == sign * points
            np.testing.assert_array_equal(batch.ownership[i], sign * owners)
        else:
            assert np.isnan(batch.score[i])
            assert not batch.ownership[i].any()
    assert scored == set(BY_NUMBER) - {42, 43, 45, 46}


def test_symmetries_turn_all_that_lies_on_the_board(data: GameData) -> None:
    which = np.arange(8) + 10
    plain, turned = data.take(which), data.take(which, np.arange(8))
    for name in Batch._fields:
        expected = getattr(plain, name)
        if name in ("planes", "policy", "ownership"):
            expected = rlgo.apply_symmetry(expected, np.arange(8))
        np.testing.assert_array_equal(
            getattr(turned, name), np.arange(8) if name == "symmetry" else expected, err_msg=name
        )


def test_an_epoch_has_each_position_once(data: GameData) -> None:
    def order(**options: Any) -> list[tuple[int, int, int]]:
        batches = data.batches(32, **options)
        rows = [zip(b.game.tolist(), b.ply.tolist(), b.symmetry.tolist(), strict=True) for b in batches]
        assert len(rows) == len(batches)
        return [row for batch in rows for row in batch]

    first = order()
    everything = data.take(slice(None))
    assert sorted(row[:2] for row in first) == list(zip(everything.game.tolist(), everything.ply.tolist(), strict=True))
    assert first == order()
    assert {row[2] for row in first} == set(range(8))
    assert len({tuple(order(epoch=e, seed=s)) for e in (0, 1) for s in (1, 2)}) == 4
    assert {row[2] for row in order(symmetries=False)} == {0}


def test_batches_do_not_depend_on_their_size_or_process(data: GameData) -> None:
    one, two = (np.concatenate([b.planes for b in data.batches(n)]) for n in (7, 50))
    np.testing.assert_array_equal(one, two)
    again = pickle.loads(pickle.dumps(data.batches(7)))
    np.testing.assert_array_equal(one, np.concatenate([b.planes for b in again]))


def test_what_is_held_out_is_not_learned(folder: Path) -> None:
    def games(held_out: bool | None) -> set[int]:
        data = read_games(folder, held_out=held_out)
        return {int(data._numbers[g]) for g in data.take(slice(None)).game}

    assert games(False) | games(True) == games(None) == set(BY_NUMBER)
    assert games(True) == {g.number for g in GAMES if is_held_out(np.uint64(g.id))}
    assert games(True)
    assert not games(False) & games(True)


def test_the_later_folder_has_the_newer_games(tmp_path: Path) -> None:
    """Although their numbers begin at 1 again."""
    both = [random_game(n, 90 + n) for n in (1, 4)]
    assert not is_held_out(np.array([g.id for g in [*both, GAMES[3]]], np.uint64)).any()
    old, new = fill(tmp_path / "old", GAMES[:4]), fill(tmp_path / "new", both)
    assert read_games([old, new], held_out=None, window=1).n_games == 1
    games = read_collection([old, new])
    latest = int(learned_positions(games.arrays)[games.folder == 1].sum())
    for window, expected in ((latest, [1, 4]), (latest + 1, [1, 4, 4])):
        assert sorted(read_games([old, new], held_out=None, window=window)._numbers) == expected


def test_positions_to_learn_are_counted(folder: Path) -> None:
    counts = learned_positions(read_collection([folder]).arrays)
    assert counts.sum() == len(read_games(folder))
    assert (counts == 0).sum() == read_games(folder, held_out=True).n_games


def test_shards_of_the_first_version_are_read(tmp_path: Path) -> None:
    """They know the komi of the recipe, if at all."""
    for name, recipe in (("a", RECIPE), ("b", {"kind": "imported", "size": SIZE})):
        (tmp_path / name).mkdir()
        arrays = pack(GAMES[:3])
        del arrays["komi"]
        meta = {"format": FORMAT, "version": 1, "recipe": recipe, "provenance": {}}
        write_archive(tmp_path / name / "000001.npz", meta, arrays)
        known = read_collection([tmp_path / name]).arrays["komi"]
        np.testing.assert_array_equal(known, [recipe.get("komi", np.nan)] * 3)
    assert np.isfinite(read_games(tmp_path / "a", held_out=None).take([0]).score)
    unknown = read_games(tmp_path / "b", held_out=None)
    assert np.isnan(unknown.take([0]).score)
    with pytest.raises(RlgoError, match="kinds = komi: expected games whose komi is known, found 3 others"):
        read_games(tmp_path / "b", "komi", held_out=None)


def test_a_damaged_game_is_named(tmp_path: Path) -> None:
    fill(tmp_path, [GAMES[0], TrainingGame(7, 1.0, [(1, 7), (2, 7)])])
    with pytest.raises(RlgoError, match="game 7: damaged: illegal move"):
        read_games(tmp_path, held_out=None).take(slice(None))
    (path,) = shard_paths(tmp_path)
    meta, arrays = read_archive(path, "shard", FORMAT, 2)
    arrays["visited_move"][0] = 6  # the border
    write_archive(path, meta, arrays)
    with pytest.raises(RlgoError, match="games on 5x5: damaged: a move is not on the board"):
        read_games(tmp_path, held_out=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folders": []}, "expected at least one folder"),
        ({"folders": 3}, "folders = 3: expected a path"),
        ({"folders": "nowhere"}, "nowhere: expected a folder of games"),
        ({"kinds": "pictures"}, "kinds = 'pictures': expected one of alphago_zero"),
        ({"held_out": "no"}, "held_out = 'no': expected True or False"),
        ({"window": 0}, "window = 0: expected an integer from 1"),
        ({"dtype": "float64"}, "dtype = float64: expected float32 or uint8"),
        ({"kinds": "komi", "dtype": "uint8"}, "kinds = komi cannot be combined with dtype = uint8"),
    ],
)
def test_what_cannot_be_read(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = fill(tmp_path / "games", [*GAMES[:4], held_out_game(5)])
    with pytest.raises(RlgoError, match=message):
        read_games(**{"folders": path, **options})
    with pytest.raises(RlgoError, match="1 games: no position for learning: expected more games"):
        read_games(fill(tmp_path / "held_out", [held_out_game(5)]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size = 0: expected an integer from 1"),
        ({"seed": -1}, "seed = -1: expected an integer"),
        ({"symmetries": 3}, "symmetries = 3: expected True or False"),
    ],
)
def test_wrong_batches(options: dict[str, Any], message: str, data: GameData) -> None:
    with pytest.raises(RlgoError, match=message):
        data.batches(**{"size": 8, **options})
