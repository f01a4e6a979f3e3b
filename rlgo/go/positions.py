"""Positions in batches: boards with what went before, for networks and other evaluators.

Start reading at `Positions`, then `PositionArrays`, which compiled code fills. A position is a board record, the stones
and the moves of the last few plies, komi, and the hashes that positional superko compares with. Nothing is derived from
it before somebody asks: legal moves by `Positions.legal`, planes by `rlgo.planes`.

Positions are made from games by `replay.py`, and from nodes of a search tree by `copy_position` and `follow`.
`play_all` plays a move in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, CountOr0, Komi, board_size
from rlgo.compiler.jit import compile_together, compiling, copy_record, inline, njit
from rlgo.go.board import (
    PASS,
    board_dtype,
    board_of,
    in_atari,
    is_legal,
    new_boards,
    outcome,
    play,
)
from rlgo.go.coords import to_vertex
from rlgo.go.game import COLOR_NAMES, Game
from rlgo.go.replay import NO_MOVE, IllegalMove, MoveLists, Wanted, move_lists, new_replay_scratch, replay
from rlgo.go.rules import n_points, zobrist

HISTORY = 8  # positions kept by default, the current one included, as in AlphaGo Zero

_History = Annotated[int, Ge(1), Le(64)]
_FILTER_WORDS = 256  # of the filter in `list_legal`


class PositionArrays(NamedTuple):
    """The arrays of n positions, as compiled code takes them; P = `n_points(size)`, H is the history.

    Attributes
    ----------
    boards : records of `board_dtype(size)`, [n]: stones, colour to play, ko, and what makes liberties quick
    stones : uint8[n, H, P], colours of all points: [i, 0] now, [i, k] k plies earlier; all EMPTY before the start
    moves : int16[n, H], [i, 0] the last move, [i, k] the one k plies before it: a point, PASS, or NO_MOVE
    komi : float32[n]
    hashes : uint64[any], Zobrist hashes of earlier positions, shared by all positions of a game; may be empty
    first_hash, n_hashes : int32[n], position i may not repeat ``hashes[first_hash[i] : first_hash[i] + n_hashes[i]]``
    """

    boards: np.ndarray
    stones: np.ndarray
    moves: np.ndarray
    komi: np.ndarray
    hashes: np.ndarray
    first_hash: np.ndarray
    n_hashes: np.ndarray


def new_positions(n: int, size: int, history: int = HISTORY, hashes: int = 0) -> PositionArrays:
    """Make the arrays of n empty boards with Black to play, komi 0.

    n : number of positions; history : H, at least 1; hashes : room for the hashes of earlier positions, of all together
    """
    history = check("history", history, _History)
    return PositionArrays(
        boards=new_boards(max(n, 1), size)[:n],
        stones=np.zeros((n, history, n_points(size)), np.uint8),
        moves=np.full((n, history), NO_MOVE, np.int16),
        komi=np.zeros(n, np.float32),
        hashes=np.zeros(hashes, np.uint64),
        first_hash=np.zeros(n, np.int32),
        n_hashes=np.zeros(n, np.int32),
    )


# ---------------------------------------------------------------------------------------------
# Nodes of a search tree
# ---------------------------------------------------------------------------------------------


@njit
def copy_position(source, j, target, i):
    """Copy position j of `source` to i of `target`; both have one history.

    The hashes stay where they are: `target.hashes` must be the array of `source`, or empty.
    """
    copy_record(source.boards[j], target.boards[i])
    for k in range(target.stones.shape[1]):
        for p in range(target.stones.shape[2]):
            target.stones[i, k, p] = source.stones[j, k, p]
        target.moves[i, k] = source.moves[j, k]
    target.komi[i] = source.komi[j]
    target.first_hash[i] = source.first_hash[j]
    target.n_hashes[i] = source.n_hashes[j] if len(target.hashes) else 0


@njit
def follow(arrays, i, path, n, zobrist):
    """Play the first n moves of `path`, points or PASS, at position i; all must be legal (not checked here).

    The hashes are left alone: below the root of a tree, superko looks at the positions of the game only.
    """
    history = arrays.stones.shape[1]
    b = arrays.boards[i]
    for k in range(history - 1, n - 1, -1):
        for p in range(arrays.stones.shape[2]):
            arrays.stones[i, k, p] = arrays.stones[i, k - n, p]
        arrays.moves[i, k] = arrays.moves[i, k - n]
    for ply in range(n):
        play(b, np.int64(path[ply]), zobrist)
        k = n - 1 - ply
        if k < history:
            for p in range(arrays.stones.shape[2]):
                arrays.stones[i, k, p] = b.color[p]
            arrays.moves[i, k] = path[ply]


def joined(parts: Sequence[Positions]) -> Positions:
    """Return the positions of several `Positions` of one size and history, one after another."""
    first = parts[0]
    lengths, hashes = [len(part) for part in parts], [len(part.arrays.hashes) for part in parts]
    boards = np.recarray(sum(lengths), board_dtype(first.size))  # np.concatenate takes long to compare types of records
    for part, end in zip(parts, np.cumsum(lengths).tolist(), strict=True):
        boards[end - len(part) : end] = part.arrays.boards
    others = zip(*(part.arrays[1:] for part in parts), strict=True)
    arrays = PositionArrays(boards, *(np.concatenate(column) for column in others))
    arrays.first_hash[:] += np.repeat(np.cumsum(hashes) - hashes, lengths).astype(np.int32)
    return Positions(first.size, arrays)


# ---------------------------------------------------------------------------------------------
# Legal moves
# ---------------------------------------------------------------------------------------------


@inline
def hash_after(b, p, zobrist):
    """Return the hash of the stones after a legal stone of the colour to play at p."""
    after = b.hash ^ zobrist[b.to_play, np.uint64(p)]
    enemy = 3 - b.to_play
    stride = b.stride
    seen_0, seen_1, seen_2 = 0, 0, 0
    for q in (p - stride, p - 1, p + 1, p + stride):
        if b.color[np.uint64(q)] == enemy and in_atari(b, q):
            chain = np.int64(b.chain[np.uint64(q)])
            if (chain != seen_0) & (chain != seen_1) & (chain != seen_2):
                seen_0, seen_1, seen_2 = seen_1, seen_2, chain
                stone = np.int64(q)
                while True:
                    after ^= zobrist[enemy, np.uint64(stone)]
                    stone = np.int64(b.next[np.uint64(stone)])
                    if stone == q:
                        break
    return after


@njit
def may_play(arrays, i, p, zobrist):
    """Return whether the colour to play may play a stone at p, a point of the board, in position i; also by superko."""
    b = arrays.boards[i]
    if not is_legal(b, p):
        return False
    n = np.int64(arrays.n_hashes[i])
    if n > 0:
        first = np.int64(arrays.first_hash[i])
        after = hash_after(b, p, zobrist)
        for k in range(first, first + n):
            if arrays.hashes[np.uint64(k)] == after:
                return False
    return True


@njit
def list_legal(arrays, zobrist, seen, legal):
    """Set legal[i, row * size + col], uint8[n, size * size + 1], to 1 for legal points; the last column is the pass.

    seen : uint64[_FILTER_WORDS], scratch: a bit for each hash that superko forbids. Few legal moves hit one, and only
        these are compared with all hashes (1 us for a 9x9 position after 50 moves, against 2 us).
    """
    for i in range(len(arrays.boards)):
        b = arrays.boards[i]
        size = np.int64(b.board_size)
        n = np.int64(arrays.n_hashes[i])
        first = np.int64(arrays.first_hash[i])
        if n > 0:
            seen[:] = 0
        for k in range(first, first + n):
            h = arrays.hashes[np.uint64(k)]
            seen[_word(h)] |= _bit(h)
        for row in range(size):
            for col in range(size):
                p = (row + 1) * (size + 1) + col + 1
                may = is_legal(b, p)
                if may and n > 0:
                    h = hash_after(b, p, zobrist)
                    may = seen[_word(h)] & _bit(h) == 0 or may_play(arrays, i, p, zobrist)
                legal[i, row * size + col] = may
        legal[i, size * size] = 1


@inline
def _word(h):
    return (h >> np.uint64(6)) % np.uint64(_FILTER_WORDS)


@inline
def _bit(h):
    return np.uint64(1) << (h & np.uint64(63))


# ---------------------------------------------------------------------------------------------
# Steps
# ---------------------------------------------------------------------------------------------


@njit
def play_all(arrays, points, zobrist):
    """Play a move in each position; return -1, or the first position whose move is illegal, with nothing changed.

    points : int64[n, 1], points of the board, or PASS. Behind the hashes of each position there is room for two more.
    """
    n = len(arrays.boards)
    for i in range(n):
        p = points[i, 0]
        if p != PASS and not may_play(arrays, i, p, zobrist):
            return i
    for i in range(n):
        if arrays.n_hashes[i] == 0:  # of a board record: superko begins here
            _add_hash(arrays, i)
        follow(arrays, i, points[i], 1, zobrist)
        if points[i, 0] != PASS:
            _add_hash(arrays, i)
    return -1


@inline
def _add_hash(arrays, i):
    """Add the position as it stands to the hashes that its followers may not repeat."""
    arrays.hashes[np.uint64(arrays.first_hash[i] + arrays.n_hashes[i])] = arrays.boards[i].hash
    arrays.n_hashes[i] += 1


@njit
def copy_hashes(arrays, rows, room, hashes):
    """Copy the hashes of position j to where row rows[j] of `hashes` begins, of rows of length `room`."""
    for j in range(len(arrays.boards)):
        first, to = np.int64(arrays.first_hash[j]), rows[j] * room
        for k in range(arrays.n_hashes[j]):
            hashes[np.uint64(to + k)] = arrays.hashes[np.uint64(first + k)]


@njit
def find_outcomes(arrays, z):
    """Set z, float64[n], to the outcomes of the positions as they stand."""
    for i in range(len(arrays.boards)):
        z[i] = outcome(arrays.boards[i], arrays.komi[i])


@cache
def _compile_steps(size: int) -> None:
    """Compile what `Positions` calls from move to move."""
    with compiling(f"moves in positions, {size}x{size}"):
        arrays, keys = new_positions(1, size, hashes=2), zobrist(size)
        legal = np.zeros((1, size * size + 1), np.uint8)
        compile_together(
            later=[
                (play_all, arrays, np.zeros((1, 1), np.int64), keys),
                (list_legal, arrays, keys, np.zeros(_FILTER_WORDS, np.uint64), legal),
                (copy_hashes, arrays, np.zeros(1, np.int64), 2, np.zeros(2, np.uint64)),
                (find_outcomes, arrays, np.zeros(1)),
            ]
        )


# ---------------------------------------------------------------------------------------------
# Games
# ---------------------------------------------------------------------------------------------


@cache
def _compile(size: int) -> None:
    """Compile what makes positions."""
    with compiling(f"positions, {size}x{size}"):
        arrays = new_positions(1, size, hashes=1)
        none = np.zeros(0, np.int64)
        replay(move_lists([]), Wanted(none, none, none), new_replay_scratch(size, HISTORY), zobrist(size), arrays)


def replayed(games: MoveLists, game: np.ndarray, ply: np.ndarray, size: int, history: int, superko: bool) -> Positions:
    """Return positions of games, in the order asked for.

    Parameters
    ----------
    games : the games, of one board size
    game, ply : int64[n], which positions: the index of a game, and the number of moves before
    size : board size
    history : number of positions whose stones are kept, the current one included
    superko : keep the hashes of all earlier positions, so that legal moves respect positional superko

    Raises
    ------
    IllegalMove : an RlgoError, for a game with an illegal move
    """
    order = np.lexsort((ply, game))
    wanted = Wanted(game[order], ply[order], order)
    last = np.flatnonzero(np.append(wanted.game[1:] != wanted.game[:-1], True)) if len(game) else order
    room = int((wanted.ply[last] + 1).sum()) if superko else 0
    arrays = new_positions(len(game), size, history, room)
    _compile(size)
    wrong = replay(games, wanted, new_replay_scratch(size, history), zobrist(size), arrays)
    if wrong >= 0:
        raise IllegalMove(wrong)
    return Positions(size, arrays)


# ---------------------------------------------------------------------------------------------
# For Python
# ---------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Positions:
    """A batch of n positions of one board size, each with its history.

    ``len(positions)`` is n; ``positions[i]``, a slice, an array of indices or of booleans copies some of them to
    another batch, and ``positions[i] = others`` puts others in their place. Arrays over the board have row 0 at the
    bottom (A1 is [0, 0]). The attributes `to_play`, `komi`, `ko`, `n_moves` and `last_moves` are arrays that `play`
    changes.

    Attributes
    ----------
    size : board size
    arrays : what compiled code takes, `rlgo.go.positions.PositionArrays`

    >>> import rlgo
    >>> game = rlgo.Game(9, komi=7.5)
    >>> game.play("E5")
    >>> positions = rlgo.Positions.of([game, rlgo.Game(9, komi=5.5)])
    >>> positions, positions.komi.tolist(), positions.to_play.tolist()
    (<Positions: 2 of 9x9>, [7.5, 5.5], [2, 1])
    >>> int(positions.stones()[0, 4, 4]) == rlgo.BLACK
    True
    >>> positions.legal().sum(axis=1).tolist()
    [81, 82]
    >>> positions.play([0, 81])  # A1, and a pass
    >>> positions.n_moves.tolist(), positions.over().tolist(), positions.outcome().tolist()
    ([2, 1], [False, False], [0.0, 0.0])
    """

    size: int
    arrays: PositionArrays
    # 0: other batches may have the same `hashes`, which nobody changes. Otherwise, they are the batch's own, and each
    # position has room for so many.
    _room: int = field(default=0, init=False)

    @classmethod
    def new(cls, n: int, size: int = DEFAULT_SIZE, komi: float = DEFAULT_KOMI, history: int = HISTORY) -> Positions:
        """Make n empty boards, Black to play. RlgoError for values that are not allowed.

        >>> import numpy as np, rlgo
        >>> positions = rlgo.Positions.new(3, 5, komi=0.5)
        >>> positions.play([12, 12, 25])
        >>> positions.outcome().tolist()
        [1.0, 1.0, 0.0]
        >>> positions[[0]] = rlgo.Positions.new(1, 5, komi=0.5)
        >>> positions.n_moves.tolist()
        [0, 1, 1]
        """
        size = board_size(size)
        arrays = new_positions(check("n", n, CountOr0), size, history, 1)  # the empty board's hash is 0
        arrays.komi[:] = check("komi", komi, Komi)
        arrays.n_hashes[:] = 1
        return cls(size, arrays)

    @classmethod
    def of(cls, games: Any, history: int = HISTORY) -> Positions:
        """Make the positions of games as they stand, superko included.

        Parameters
        ----------
        games : a `Game` or a board record, or a list of them, of one size; a record brings no history, and komi 0
        history : number of positions whose stones are kept, the current one included

        Raises
        ------
        RlgoError : for anything else
        """
        given = list(games) if isinstance(games, list | tuple) else [games]
        if not given:
            raise RlgoError("positions: expected at least one Game")
        boards = [board_of(g) for g in given]
        size = _one_size([int(b.board_size) for b in boards])
        begun = [g if isinstance(g, Game) else Game(size, 0.0) for g in given]
        n_moves = np.array([len(g.moves) for g in begun], np.int64)
        positions = replayed(move_lists(begun), np.arange(len(begun)), n_moves, size, history, True)
        arrays = positions.arrays
        for i, (g, b) in enumerate(zip(given, boards, strict=True)):
            arrays.boards[i] = b
            if not isinstance(g, Game):
                arrays.stones[i, 0] = b.color
                arrays.n_hashes[i] = 0
        return positions

    @classmethod
    def along(cls, game: Game, history: int = HISTORY) -> Positions:
        """Make all positions of a game: before its first move, and after each move.

        >>> import rlgo
        >>> game = rlgo.Game(9)
        >>> game.play("E5")
        >>> rlgo.Positions.along(game)
        <Positions: 2 of 9x9>
        """
        if not isinstance(game, Game):
            raise RlgoError(f"game = {shown(game)}: expected a Game")
        plies = np.arange(len(game.moves) + 1)
        return replayed(move_lists([game]), np.zeros_like(plies), plies, game.size, history, True)

    def __len__(self) -> int:
        return len(self.arrays.boards)

    def __repr__(self) -> str:
        return f"<Positions: {len(self):,} of {self.size}x{self.size}>"

    def __getitem__(self, which: Any) -> Positions:
        rows = np.atleast_1d(np.arange(len(self))[which])
        a = self.arrays
        chosen = {name: getattr(a, name)[rows] for name in a._fields if name != "hashes"}
        chosen_ones = Positions(self.size, PositionArrays(**chosen, hashes=a.hashes))
        if self._room:
            chosen_ones._own_hashes(self._room)
        return chosen_ones

    def __setitem__(self, which: Any, others: Positions) -> None:
        if not isinstance(others, Positions) or (others.size, others.history) != (self.size, self.history):
            expected = f"expected positions of {self.size}x{self.size} with a history of {self.history}"
            raise RlgoError(f"positions = {shown(others)}: {expected}")
        rows = np.atleast_1d(np.arange(len(self))[which])
        if len(rows) != len(others):
            raise RlgoError(f"positions = {shown(others)}: expected {len(rows):,}, as many as they replace")
        given = others.arrays
        self._make_room(int(max(a.n_hashes.max(initial=0) for a in (given, self.arrays))) + 2)
        for name in given._fields:
            if name not in ("hashes", "first_hash"):
                getattr(self.arrays, name)[rows] = getattr(given, name)
        copy_hashes(given, rows, self._room, self.arrays.hashes)

    def copy(self) -> Positions:
        """Return an independent copy."""
        return self[:]

    __copy__ = copy

    @property
    def history(self) -> int:
        """H, the number of positions whose stones are kept, the current one included."""
        return int(self.arrays.stones.shape[1])

    @property
    def to_play(self) -> np.ndarray:
        """The colour to play, int32[n]."""
        return self.arrays.boards["to_play"]

    @property
    def komi(self) -> np.ndarray:
        """The points added to White's score, float32[n]."""
        return self.arrays.komi

    @property
    def ko(self) -> np.ndarray:
        """The point that simple ko forbids, or 0, int32[n]."""
        return self.arrays.boards["ko"]

    @property
    def n_moves(self) -> np.ndarray:
        """The number of moves played since the start, passes included, int32[n]."""
        return self.arrays.boards["n_moves"]

    @property
    def last_moves(self) -> np.ndarray:
        """The last H moves, the latest first, int16[n, H]: points, PASS, or -1 before the first move."""
        return self.arrays.moves

    def stones(self, ago: int = 0) -> np.ndarray:
        """Return the stones so many plies ago, uint8[n, size, size]: 0 empty, 1 Black, 2 White."""
        ago = check("ago", ago, Annotated[int, Ge(0), Le(self.history - 1)])
        return self.arrays.stones[:, ago, board_points(self.size)]

    def legal(self) -> np.ndarray:
        """Return the legal moves, bool[n, size * size + 1], by row * size + col; the last is the pass, always legal."""
        return self._legal(self.arrays).view(bool)

    def _legal(self, arrays: PositionArrays) -> np.ndarray:
        _compile_steps(self.size)
        legal = np.empty((len(arrays.boards), self.size * self.size + 1), np.uint8)
        list_legal(arrays, zobrist(self.size), np.empty(_FILTER_WORDS, np.uint64), legal)
        return legal

    def play(self, moves: Any) -> None:
        """Play a move in each position, by the rules of `Game`, positional superko included.

        As in a `Game`, moves are possible after the end. A pass, which is always legal, leaves the outcome as it is.

        Parameters
        ----------
        moves : int[n], row * size + col, or size * size for a pass: a column of `legal` for each position

        Raises
        ------
        RlgoError : with nothing changed, naming the first position whose move is illegal, and why it is
        """
        _compile_steps(self.size)
        given = check_moves(moves, len(self), self.size)
        points = points_of_moves(self.size)[given]
        self._make_room(int(self.arrays.n_hashes.max(initial=0)) + 2)
        illegal = play_all(self.arrays, points[:, None], zobrist(self.size))
        if illegal >= 0:
            raise RlgoError(self._why_illegal(illegal, int(given[illegal])))

    def _make_room(self, n: int) -> None:
        """Give each position room for n hashes, and for more if it has to be made."""
        if n > self._room:
            self._own_hashes(max(64, 2 * n))

    def _own_hashes(self, room: int) -> None:
        """Copy the hashes to an array of the batch's own, with room for so many of each position."""
        rows, hashes = np.arange(len(self)), np.empty(len(self) * room, np.uint64)
        copy_hashes(self.arrays, rows, room, hashes)
        self.arrays = self.arrays._replace(hashes=hashes, first_hash=(rows * room).astype(np.int32))
        self._room = room

    def _why_illegal(self, i: int, move: int) -> str:
        alone, p = self[i].arrays, int(points_of_moves(self.size)[move])
        board = alone.boards[0]
        by_board = self._legal(alone._replace(n_hashes=np.zeros_like(alone.n_hashes)))[0, move]
        why = "superko" if by_board else "ko" if p == board.ko else "occupied" if board.color[p] else "suicide"
        return f"position {i}: illegal move {COLOR_NAMES[int(board.to_play)]} {to_vertex(p, self.size)}: {why}"

    def over(self) -> np.ndarray:
        """Return whether the last two moves were passes, bool[n]."""
        return self.arrays.boards["n_passes"] >= 2

    def outcome(self) -> np.ndarray:
        """Return the outcomes z of the games as they stand, float64[n]: 1 Black wins, 0 White wins, 0.5 a draw."""
        _compile_steps(self.size)
        z = np.empty(len(self))
        find_outcomes(self.arrays, z)
        return z


@cache
def board_points(size: int) -> np.ndarray:
    """Return the points of a board, int64[size, size], row 0 at the bottom."""
    rows, columns = np.indices((size, size))
    points = (rows + 1) * (size + 1) + columns + 1
    points.flags.writeable = False
    return points


def check_moves(moves: Any, n: int, size: int) -> np.ndarray:
    """Return moves as an array. RlgoError unless they are n integers from 0 to size * size."""
    given = np.asarray(moves)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise RlgoError(f"moves = {shown(moves)}: expected {n:,} integers, one for each position")
    wrong = (given < 0) | (given > size * size)
    if wrong.any():
        i = int(wrong.argmax())
        raise RlgoError(f"position {i}: move {given[i]}: expected 0 to {size * size}")
    return given


@cache
def points_of_moves(size: int) -> np.ndarray:
    """Return the points of the moves of a policy, int64[size * size + 1]: row by row from A1, then PASS."""
    points = np.append(board_points(size), PASS)
    points.flags.writeable = False
    return points


def places_of(moves: np.ndarray, size: int) -> np.ndarray:
    """Return the indices of moves in a policy, int64[n]: row * size + col, size * size for PASS; -1 off the board."""
    rows, columns = moves // (size + 1) - 1, moves % (size + 1) - 1
    is_point = (rows >= 0) & (rows < size) & (columns >= 0)
    return np.where(is_point, rows * size + columns, np.where(moves == PASS, size * size, -1))


@inline
def place_of(p, size):
    """Return the index of one legal move in a policy; see `places_of`."""
    return size * size if p == PASS else (p // (size + 1) - 1) * size + p % (size + 1) - 1


def _one_size(sizes: Sequence[int]) -> int:
    if len(set(sizes)) > 1:
        raise RlgoError(f"positions on boards of size {' and '.join(map(str, sorted(set(sizes))))}: expected one size")
    return sizes[0]
