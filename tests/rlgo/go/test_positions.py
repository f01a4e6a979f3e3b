"""Positions: made from games, and from nodes of a tree, always the same."""

from __future__ import annotations

import numpy as np
import pytest
from random_play import random_game
from stand_ins import TWO_STONES_SENT

import rlgo
from rlgo.base.errors import RlgoError
from rlgo.go.board import PASS, new_boards, play_stone
from rlgo.go.game import Game
from rlgo.go.positions import (
    NO_MOVE,
    Positions,
    copy_position,
    follow,
    hash_after,
    new_positions,
    places_of,
    points_of_moves,
    replayed,
)
from rlgo.go.replay import MoveLists, move_lists
from rlgo.go.rules import zobrist

SIZE = 5
GAMES = [random_game(moves, seed) for seed, moves in enumerate((0, 1, 5, 30, 40))]
FIELDS = ("color", "to_play", "ko", "hash", "n_moves", "n_passes")


def legal(game: Game) -> set[int]:
    """By row * size + col; the pass comes last."""
    return {(p // (game.size + 1) - 1) * game.size + p % (game.size + 1) - 1 for p in game.legal_moves()} | {
        game.size**2
    }


def assert_is(positions: Positions, i: int, game: Game) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(positions.arrays.boards[i][field], game.board[field], err_msg=field)
    n_moves = len(game.moves)
    for ago in range(positions.history):
        expected = game.after(n_moves - ago).board.color if ago <= n_moves else np.zeros_like(game.board.color)
        np.testing.assert_array_equal(positions.arrays.stones[i, ago], expected, err_msg=f"{ago} plies ago")
    moves = [p for _, p in game.moves[::-1]][: positions.history]
    assert positions.last_moves[i].tolist() == moves + [NO_MOVE] * (positions.history - len(moves))
    assert positions.komi[i] == game.komi
    assert set(np.flatnonzero(positions.legal()[i]).tolist()) == legal(game)


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_positions_of_games_are_theirs() -> None:
    positions = Positions.of(GAMES)
    assert len(positions) == len(GAMES)
    for i, game in enumerate(GAMES):
        assert_is(positions, i, game)
    for ply in range(len(GAMES[-1].moves) + 1):
        assert_is(Positions.along(GAMES[-1]), ply, GAMES[-1].after(ply))


def test_all_kinds_of_games() -> None:
    handicap = Game(9, 0.5)
    handicap.fixed_handicap(3)
    handicap.play("E5")
    back = random_game(20, 3)
    back.undo(7)
    twice = Game(SIZE)
    twice.play("C3")
    twice.to_play = "black"
    ko = Game(SIZE)
    ko.set_up([("black", "A2"), ("white", "A1"), ("white", "C1"), ("white", "B2")])
    ko.play("B1")
    assert ko.board.ko == rlgo.from_vertex("A1", SIZE)
    ko.play("A1", "black")  # out of turn: the ko is closed
    for game in (handicap, back, twice, ko):
        assert_is(Positions.of(game), 0, game)
    assert Positions.along(handicap).to_play.tolist() == [rlgo.WHITE, rlgo.BLACK]


def test_the_hash_after_a_move_is_found_without_playing_it() -> None:
    captures = 0
    for seed in range(6):
        game = Game(SIZE)
        draw = np.random.default_rng(seed)
        for _ in range(40):
            legal = game.legal_moves()
            for p in legal:
                then = new_boards(1, SIZE)
                then[0] = game.board
                play_stone(then[0], p, zobrist(SIZE))
                assert hash_after(game.board, p, zobrist(SIZE)) == then[0].hash
                captures += bool(then[0].n_changed > 2)
            game.play(int(draw.choice(legal)) if legal else 0)
    assert captures > 50


def test_superko_looks_at_all_earlier_positions() -> None:
    game = Game(SIZE)
    for vertex in TWO_STONES_SENT.split():
        game.play(vertex)
    forbidden = {p for p in range(len(game.board.color)) if game.why_illegal(p) == "superko"}
    assert len(forbidden) == 1
    positions = Positions.of([random_game(9, 1), game])
    assert_is(positions, 1, game)
    assert_is(positions[[1]], 0, game)
    assert Positions.of(game.board).legal().sum() == len(legal(game)) + 1  # a board knows simple ko only


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("history", [1, 3, 8])
@pytest.mark.parametrize("depth", [0, 1, 2, 7, 8, 20])
def test_a_node_of_a_tree_is_a_position(history: int, depth: int) -> None:
    game = random_game(30, 5)
    root = Positions.of(game.after(10), history=history).arrays
    nodes = new_positions(3, SIZE, history)._replace(hashes=root.hashes)
    path = np.array([p for _, p in game.moves[10 : 10 + depth]] + [99], np.int64)
    copy_position(root, 0, nodes, 1)
    follow(nodes, 1, path, depth, zobrist(SIZE))
    expected = Positions.of(game.after(10 + depth), history=history).arrays
    for name in ("stones", "moves", "komi"):
        np.testing.assert_array_equal(getattr(nodes, name)[1], getattr(expected, name)[0], err_msg=name)
    for field in FIELDS:
        np.testing.assert_array_equal(nodes.boards[1][field], expected.boards[0][field], err_msg=field)
    assert (nodes.first_hash[1], nodes.n_hashes[1]) == (0, 11)  # the game's, not the path's


def test_positions_come_in_the_order_asked_for() -> None:
    draw = np.random.default_rng(1)
    which = draw.integers(0, len(GAMES), 50)
    ply = np.array([draw.integers(0, len(GAMES[g].moves) + 1) for g in which])
    positions = replayed(move_lists(GAMES), which, ply, SIZE, 8, True)
    for i, (g, n) in enumerate(zip(which, ply, strict=True)):
        assert_is(positions, i, GAMES[g].after(n))


def test_some_of_a_batch() -> None:
    positions = Positions.along(GAMES[3])
    assert len(positions[2:5]) == 3
    assert positions[-1].to_play.tolist() == [GAMES[3].to_play]
    np.testing.assert_array_equal(positions[2:5].stones(1), positions.stones(1)[2:5])
    with pytest.raises(IndexError):
        positions[len(positions)]
    with pytest.raises(RlgoError, match="ago = 8: expected an integer from 0 to 7"):
        positions.stones(8)


@pytest.mark.parametrize("move", [7, 200, -3, 6 * 6])
def test_an_illegal_move_is_found(move: int) -> None:
    games = move_lists([GAMES[1], GAMES[2]])
    played = games.move.copy()
    played[-1] = played[-2] if move == 7 else move
    with pytest.raises(RlgoError, match="game 1: illegal move"):
        replayed(MoveLists(**{**games._asdict(), "move": played}), np.array([0, 1]), np.array([1, 5]), SIZE, 8, False)


@pytest.mark.parametrize("wrong", [[], "E5", None, [Game(5), "E5"], [Game(5), Game(9)], new_boards(2, 5)])
def test_what_is_no_position(wrong: object) -> None:
    with pytest.raises(RlgoError, match="expected"):
        Positions.of(wrong)
    with pytest.raises(RlgoError, match="expected a Game"):
        Positions.along(wrong)


# ---------------------------------------------------------------------------------------------
# Playing on
# ---------------------------------------------------------------------------------------------


def drawn(positions: Positions, rng: np.random.Generator) -> np.ndarray:
    """A random legal move for each position."""
    legal = positions.legal()
    return np.where(legal, rng.random(legal.shape), -1).argmax(axis=1)


def move_of(vertex: str, size: int = SIZE) -> int:
    return int(places_of(np.array([rlgo.from_vertex(vertex, size)]), size)[0])


def hashes_of(positions: Positions) -> list[list[int]]:
    """What superko forbids to repeat, of each position."""
    a = positions.arrays
    return [a.hashes[first : first + n].tolist() for first, n in zip(a.first_hash, a.n_hashes, strict=True)]


def assert_same(one: Positions, other: Positions) -> None:
    assert len(one) == len(other)
    for name in ("stones", "moves", "komi"):
        np.testing.assert_array_equal(getattr(one.arrays, name), getattr(other.arrays, name), err_msg=name)
    assert hashes_of(one) == hashes_of(other)
    for field in FIELDS:
        np.testing.assert_array_equal(one.arrays.boards[field], other.arrays.boards[field], err_msg=field)
    np.testing.assert_array_equal(one.legal(), other.legal())


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize(("size", "steps", "history"), [(5, 60, 3), (9, 30, 8)])
def test_random_games_are_those_of_game(size: int, steps: int, history: int) -> None:
    positions, games = Positions.new(2, size, 3.5, history), [Game(size, 3.5) for _ in range(2)]
    rng = np.random.default_rng(size)
    for _ in range(steps):
        moves = drawn(positions, rng)
        positions.play(moves)
        for i, game in enumerate(games):
            game.play(int(points_of_moves(size)[moves[i]]))
            board = positions.arrays.boards[i]
            assert all(np.array_equal(board[field], game.board[field]) for field in FIELDS)
            assert set(np.flatnonzero(positions.legal()[i]).tolist()) == legal(game)
            assert (positions.over()[i], positions.outcome()[i]) == (game.is_over(), game.outcome)
            assert positions.n_moves[i] == len(game.moves)
    for i, game in enumerate(games):
        assert_is(positions, i, game)


def kos(size: int) -> tuple[Game, list[int]]:
    """A game that begins with kos at the edges, two on 5x5 and four on 9x9, and both points of each, as moves."""
    game, stones, points = Game(size, 0.5), [], []
    for left in range(0, size - 3, 5):
        for edge, inner in ((0, 1), (size - 1, size - 2)):
            stones += [("black", (edge, left)), ("black", (inner, left + 1)), ("white", (edge, left + 1))]
            stones += [("white", (inner, left + 2)), ("white", (edge, left + 3))]
            points += [edge * size + left + 1, edge * size + left + 2]
    game.set_up(stones)
    return game, points


@pytest.mark.parametrize("size", [5, 9])
def test_superko_is_that_of_game_where_kos_are_taken_all_the_time(size: int) -> None:
    games, points = [kos(size)[0] for _ in range(20)], kos(size)[1]
    other_point = [points[k ^ 1] for k in range(len(points))]
    positions, rng, forbidden = Positions.of(games), np.random.default_rng(2), 0
    for step in range(60):
        found = positions.legal()
        for row, game in zip(found, games, strict=True):
            assert set(np.flatnonzero(row).tolist()) == legal(game)
            forbidden += sum(game.why_illegal(int(points_of_moves(size)[move])) == "superko" for move in points)
        weights = np.full(found.shape, 0.1 if step > 40 else 1e-9)  # at first, kos are taken, or both sides pass
        weights[:, points] = positions.stones().reshape(20, -1)[:, other_point] == 3 - positions.to_play[:, None]
        weights[:, -1] = 0.3
        moves = np.where(found, rng.random(found.shape) * weights, -1).argmax(axis=1)
        positions.play(moves)
        for move, game in zip(moves, games, strict=True):
            game.play(int(points_of_moves(size)[move]))
    assert forbidden > 500
    for i, game in enumerate(games):
        assert_is(positions, i, game)


@pytest.mark.parametrize("size", [5, 9])
def test_random_games_are_those_of_open_spiel(size: int) -> None:
    """Stones, the side to play, legality but for superko, the end and its score."""
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("go", {"board_size": size, "komi": 5.5, "max_game_length": 400})
    positions, states = Positions.new(8, size, 5.5), [game.new_initial_state() for _ in range(8)]
    rng, going = np.random.default_rng(3), np.ones(8, bool)
    for _ in range(350):
        without_superko = positions.copy()
        without_superko.arrays.n_hashes[:] = 0
        found, simple = positions.legal(), without_superko.legal()
        moves = np.where(rng.random(8) < 0.05, size * size, drawn(positions, rng))
        for i in np.flatnonzero(going):
            assert states[i].legal_actions() == np.flatnonzero(simple[i]).tolist()
            assert states[i].current_player() == positions.to_play[i] - 1
            for repeats in np.flatnonzero(simple[i] & ~found[i]):
                assert states[i].child(repeats).is_terminal()
            states[i].apply_action(moves[i])
        positions.play(moves)
        for i in np.flatnonzero(going):
            planes = np.array(states[i].observation_tensor(0)).reshape(-1, size, size)
            colors = planes[0] * 1 + planes[1] * 2
            np.testing.assert_array_equal(colors, positions.stones()[i])
            assert states[i].is_terminal() == positions.over()[i]
            if states[i].is_terminal():
                assert states[i].returns()[0] == 2 * positions.outcome()[i] - 1
                going[i] = False
    assert not going.all()


def test_two_stones_sent_may_not_come_back() -> None:
    positions = Positions.new(2, SIZE)
    for vertex in TWO_STONES_SENT.split():
        positions.play([move_of(vertex), move_of("pass")])
    before = positions.copy()
    with pytest.raises(RlgoError, match=r"^position 0: illegal move Black B1: superko$"):
        positions.play([move_of("B1"), move_of("C3")])
    assert_same(positions, before)
    positions.play([move_of("pass"), move_of("B1")])
    assert positions.to_play.tolist() == [rlgo.WHITE, rlgo.WHITE]


@pytest.mark.parametrize(
    ("moves", "wrong", "why"),
    [
        ("C3", "C3", "White C3: occupied"),
        ("B1 A3 B2 A4 A2", "A1", "White A1: suicide"),
        ("A2 C1 E5 B2 B1 D4 E4 A1", "B1", "Black B1: ko"),
    ],
)
def test_an_illegal_move_names_its_position_and_changes_nothing(moves: str, wrong: str, why: str) -> None:
    positions = Positions.new(3, SIZE)
    for vertex in moves.split():
        positions.play([0, move_of(vertex), 25] if positions.n_moves[0] == 0 else [25, move_of(vertex), 25])
    if "ko" in why:
        assert positions.ko[1] == rlgo.from_vertex("B1", SIZE)
    before = positions.copy()
    with pytest.raises(RlgoError, match=rf"^position 1: illegal move {why}$"):
        positions.play([25, move_of(wrong), 12])
    assert_same(positions, before)


@pytest.mark.parametrize("moves", [5, [1], [1, 2, 3], [0.0, 1.0], ["E5", "A1"], [[1], [2]], None, [1, 26], [-1, 0]])
def test_what_are_no_moves(moves: object) -> None:
    positions = Positions.new(2, SIZE)
    with pytest.raises(RlgoError, match="expected") as caught:
        positions.play(moves)
    assert len(str(caught.value).splitlines()) == 1
    assert_same(positions, Positions.new(2, SIZE))


@pytest.mark.interpreted
@pytest.mark.boundscheck
def test_batches_do_not_see_what_others_play() -> None:
    """Copies, parts and replaced positions, before and after each has hashes of its own."""
    rng = np.random.default_rng(4)
    for begun in (0, 5):
        positions = Positions.along(random_game(20, 6))[5:12]
        for _ in range(begun):
            positions.play(drawn(positions, rng))
        mask = np.arange(7) % 2 == 0
        part, kept, twin = positions[mask], positions.copy(), positions.copy()
        moves = drawn(positions, rng)
        positions.play(moves)
        assert_same(twin, kept)
        others, hashes = drawn(part, rng), hashes_of(positions)
        part.play(others)
        assert hashes_of(positions) == hashes
        twin.play(moves)
        assert_same(twin, positions)
        again = kept[mask]
        again.play(others)
        assert_same(again, part)
        twin[~mask] = kept[~mask]
        assert_same(twin[mask], positions[mask])
        assert_same(twin[~mask], kept[~mask])
        for _ in range(40):  # more hashes than there was room for
            moves = drawn(twin, rng)
            twin.play(moves)
            before = twin[2:4]
            twin[2] = twin[3]
            assert_same(twin[[2]], twin[[3]])
            twin[2:4] = before
            assert_same(twin[2:4], before)


def test_copies_of_copies_take_no_more_memory() -> None:
    positions = Positions.new(3, SIZE)
    positions.play([0, 1, 2])
    room = len(positions.arrays.hashes)
    for move in range(3, 9):
        positions = positions[:]
        positions.play([move] * 3)
    assert len(positions.arrays.hashes) == room


def test_positions_of_games_are_played_on_as_games() -> None:
    games = [random_game(moves, seed) for seed, moves in enumerate((0, 7, 30))]
    positions, rng = Positions.of(games), np.random.default_rng(7)
    for _ in range(30):
        moves = drawn(positions, rng)
        positions.play(moves)
        for game, move in zip(games, moves, strict=True):
            game.play(int(points_of_moves(SIZE)[move]))
    for i, game in enumerate(games):
        assert_is(positions, i, game)


def test_superko_of_a_board_begins_with_it() -> None:
    """A board record does not tell what was before; the position that it shows may not come back."""
    game = Game(SIZE)
    for vertex in TWO_STONES_SENT.split()[:-2]:
        game.play(vertex)
    positions = Positions.of(game.board)
    for vertex in TWO_STONES_SENT.split()[-2:]:
        positions.play([move_of(vertex)])
    with pytest.raises(RlgoError, match="Black B1: superko"):
        positions.play([move_of("B1")])


@pytest.mark.parametrize(
    ("vertices", "komi", "z"), [("C3", 24.5, 1.0), ("C3", 25.0, 0.5), ("C3", 25.5, 0.0), ("C3 C2", 0.5, 0.0)]
)
def test_outcomes_worked_out_by_hand(vertices: str, komi: float, z: float) -> None:
    """One stone owns all 25 points; with a stone each, nobody owns the empty ones, and komi decides."""
    positions = Positions.new(1, SIZE, komi)
    for vertex in [*vertices.split(), "pass", "pass"]:
        assert not positions.over().any()
        positions.play([move_of(vertex)])
    assert positions.over().all()
    assert positions.outcome().tolist() == [z]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Positions.new(-1), "n = -1: expected"),
        (lambda: Positions.new(2, 4), "board size 4: expected 5 to 19"),
        (lambda: Positions.new(2, 9, float("nan")), "komi = nan: expected"),
        (lambda: Positions.new(2, 9, 0.5, 0), "history = 0: expected"),
        (lambda: Positions.new(2, 5).__setitem__(0, Positions.new(1, 9)), "expected positions of 5x5 with a history"),
        (lambda: Positions.new(2, 5).__setitem__(0, Positions.new(2, 5)), "expected 1, as many as they replace"),
    ],
)
def test_wrong_values_are_refused(make, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        make()


def test_positions_that_replace_others_leave_room_for_what_these_may_not_repeat():
    """The first has more hashes than fit into the room of the second."""
    rng, long = np.random.default_rng(3), Game(9)
    while len(long.moves) < 100:
        long.play(int(rng.choice(long.sensible_moves() or [PASS])))
    whole = Positions.of([long, Game(9)])
    before = whole.legal()
    whole[[1]] = Positions.new(1, 9)
    np.testing.assert_array_equal(whole.legal(), before)
    np.testing.assert_array_equal(whole.arrays.n_hashes, [len(before_hashes(long)), whole.arrays.n_hashes[1]])
    alone = Positions.of(long)
    alone[[0]] = Positions.new(1, 9)
    assert alone.legal().all()


def before_hashes(game):
    """The hashes that positional superko compares with."""
    one = Positions.of(game).arrays
    return one.hashes[one.first_hash[0] : one.first_hash[0] + one.n_hashes[0]]
