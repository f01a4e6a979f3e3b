"""Games as minibatches for a network: planes, policies, results, ownership and values of searches.

Start reading at `read_games`, then `GameData.take`, which makes a batch of any positions, and `Batches`, which goes
through all of them in random order. Games are played through in compiled code each time: no plane is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.checks import check, validated
from rlgo.base.errors import RlgoError
from rlgo.base.settings import Count, Probability, SeedNumber
from rlgo.compiler.jit import compiling, njit
from rlgo.features.planes import (
    N_SYMMETRIES,
    Kinds,
    apply_symmetry,
    kinds_of,
    plane_dtype,
    plane_names,
    planes,
    see_superko,
)
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, WHITE, new_board
from rlgo.go.positions import HISTORY, Positions, places_of, replayed
from rlgo.go.replay import IllegalMove, begin_game, place
from rlgo.go.rules import zobrist
from rlgo.learning.collection import (
    Collection,
    has_search,
    is_held_out,
    learned_moves,
    learned_positions,
    move_lists_of,
    read_collection,
    take_games,
)
from rlgo.learning.returns import lambda_returns

_CHUNK = 512  # positions that are encoded at once
_REGION = 2  # marks the empty points of a region while its owner is not known
_NOBODY = 3  # those of regions that are nobody's, until all are known: 0 would be looked at again

# ---------------------------------------------------------------------------------------------
# The ends of games
# ---------------------------------------------------------------------------------------------


@njit
def area_ownership(b, ownership, stack):
    """Write the owner of each point, int8[size * size]: 1 Black, -1 White, 0 nobody; return Black's area minus White's.

    A side owns its stones, and the empty regions that touch only its colour, as in `board.area_score`.
    stack : int64[size * size], scratch
    """
    size = np.int64(b.board_size)
    stride = size + 1
    for i in range(size * size):
        c = b.color[(i // size + 1) * stride + i % size + 1]
        ownership[i] = np.int64(c == BLACK) - np.int64(c == WHITE)
    score = np.int64(0)
    for i in range(size * size):
        start = (i // size + 1) * stride + i % size + 1
        if b.color[start] != EMPTY:
            score += ownership[i]
        elif ownership[i] == 0:
            stack[0], n, done, touches = start, 1, 0, 0
            ownership[i] = _REGION
            while done < n:
                p = stack[done]
                done += 1
                for q in (p - stride, p - 1, p + 1, p + stride):
                    c = np.int64(b.color[q])
                    j = (q // stride - 1) * size + q % stride - 1
                    if c == EMPTY and ownership[j] == 0:
                        ownership[j] = _REGION
                        stack[n] = q
                        n += 1
                    elif c != EMPTY and c != BORDER:
                        touches |= c
            owner = np.int64(touches == BLACK) - np.int64(touches == WHITE)
            for k in range(n):
                p = stack[k]
                ownership[(p // stride - 1) * size + p % stride - 1] = owner if owner else _NOBODY
            score += n * owner
    for i in range(size * size):
        if ownership[i] == _NOBODY:
            ownership[i] = 0
    return score


@njit
def play_to_the_end(games, which, b, zobrist, stack, ownership, score):
    """Play games through; write `ownership`, int8[n, size * size], and `score`, int64[n], of the last positions.

    games : `MoveLists`; which : int64[n], indices of games. Returns -1, or the index of a game with an illegal move.
    """
    for i in range(len(which)):
        g = which[i]
        if begin_game(games, g, b, zobrist):
            return g
        for move in range(games.first_move[g], games.first_move[g + 1]):
            if place(b, np.int64(games.color[move]), np.int64(games.move[move]), zobrist):
                return g
        score[i] = area_ownership(b, ownership[i], stack)
    return -1


class Ends(NamedTuple):
    """How games ended, by area; G games.

    Attributes
    ----------
    is_scored : bool[G], whether a game was played to its end: its last two moves are passes, and the area of all stones
        on the board, with komi, gives the result on record
    score : float32[G], Black's area minus White's minus komi; NaN if the game is not scored
    ownership : int8[G, size * size], 1 Black's, -1 White's, 0 nobody's; all 0 if the game is not scored
    """

    is_scored: np.ndarray
    score: np.ndarray
    ownership: np.ndarray


# ---------------------------------------------------------------------------------------------
# Batches
# ---------------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Positions with their targets, as numpy arrays; n positions of size x size, N = size * size.

    Attributes
    ----------
    planes : float32 or uint8[n, planes, size, size], from the view of the side to play; row 0 is at the bottom
    policy : float32[n, N + 1], the share of visits of each move by row * size + col, the pass last; without a search, 1
        for the move played. Players that only rank moves by value, such as greedy ones, do not search.
    z : float32[n], the outcome: 1 won, 0 lost, 0.5 a draw; NaN: not known
    value : float32[n], the player's probability of winning in the position, by its search or not; NaN: not known
    lambda_return : float32[n], what TD(lambda) learns, from z and later values (`returns.py`); NaN: not known
    score : float32[n], points ahead at the end of the game, komi included; NaN: not scored, see `Ends`
    ownership : int8[n, size, size], at the end of the game: 1, -1 or 0; all 0 where `score` is NaN
    has_search : bool[n]
    to_play : int8[n], the colour to play
    game, ply : int64[n], index of the game in the data, and number of moves before the position
    symmetry : int8[n], the symmetry that was applied to planes, policy and ownership

    z, value, lambda_return, score and ownership are those of the side to play.
    """

    planes: np.ndarray
    policy: np.ndarray
    z: np.ndarray
    value: np.ndarray
    lambda_return: np.ndarray
    score: np.ndarray
    ownership: np.ndarray
    has_search: np.ndarray
    to_play: np.ndarray
    game: np.ndarray
    ply: np.ndarray
    symmetry: np.ndarray


class GameData:
    """Positions of many games, from which batches are made; `read_games` makes it.

    ``len(data)`` is the number of positions: those in which a search chose a move and, in games without any search, all
    in which somebody moved.

    Attributes
    ----------
    size : board size
    kinds : kinds of planes
    n_games : the number of games that the positions come from
    n_searched : how many of the positions have a search
    """

    def __init__(self, games: Collection, chosen: np.ndarray, kinds: Kinds, dtype: Any, lam: float) -> None:
        """Take some games of a collection, int64[n]; see `read_games` for the others."""
        a = take_games(games.arrays, chosen)
        self.size, self.kinds, self.n_games = games.size, kinds_of(kinds), len(chosen)
        self._dtype = plane_dtype(dtype, self.kinds)
        self._numbers, self._z = a["number"], a["z"].astype(np.float32)
        self._moves = move_lists_of(a)
        self._value = a["value"].astype(np.float32)
        self._return = lambda_returns(self._value, self._z, a["n_moves"], lam).astype(np.float32)
        self._visited = np.where(has_search(a), a["n_visited"], 0)
        self._first_visited = np.cumsum(a["n_visited"]) - a["n_visited"]
        # Most of the memory goes here, so that small types are worth it.
        self._visits = a["visits"].astype(np.min_scalar_type(int(a["visits"].max(initial=0))))
        self._visited_place = places_of(a["visited_move"], self.size).astype(np.int16)
        self._place = places_of(a["move"], self.size)
        if min(self._place.min(initial=0), self._visited_place.min(initial=0)) < 0:
            raise RlgoError(f"games on {self.size}x{self.size}: damaged: a move is not on the board")
        if "komi" in self.kinds and np.isnan(self._moves.komi).any():
            unknown = int(np.isnan(self._moves.komi).sum())
            raise RlgoError(f"kinds = komi: expected games whose komi is known, found {unknown:,} others")
        self._positions = np.flatnonzero(learned_moves(a))
        self.n_searched = int((self._visited[self._positions] > 0).sum())

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return (
            f"<GameData {self.size}x{self.size}: {len(self):,} positions of {self.n_games:,} games, "
            f"{self.n_searched:,} with a search>"
        )

    @cached_property
    def ends(self) -> Ends:
        """How the games ended: all are played through, once. RlgoError for a game with an illegal move."""
        size, n = self.size, self.n_games
        ownership, score = np.zeros((n, size * size), np.int8), np.zeros(n, np.int64)
        b, stack = new_board(size), np.zeros(size * size, np.int64)
        with compiling(f"ends of games, {size}x{size}"):
            wrong = play_to_the_end(self._moves, np.arange(n), b, zobrist(size), stack, ownership, score)
        self._check(wrong)
        last, n_moves = self._moves.first_move[1:] - 1, np.diff(self._moves.first_move)
        is_over = n_moves >= 2
        is_over[is_over] = (self._moves.move[last[is_over]] == PASS) & (self._moves.move[last[is_over] - 1] == PASS)
        points = score - self._moves.komi
        is_scored = is_over & (np.where(points == 0, 0.5, points > 0) == self._z)  # not if z or komi is unknown
        ownership[~is_scored] = 0
        return Ends(is_scored, np.where(is_scored, points, np.nan).astype(np.float32), ownership)

    def take(self, positions: Any, symmetry: Any = 0) -> Batch:
        """Make a batch of some positions.

        Parameters
        ----------
        positions : integers from 0 to len(data) - 1, [n], in any order; numpy's slices and masks are understood
        symmetry : 0 to 7, or one for each position; see `rlgo.apply_symmetry`

        Raises
        ------
        RlgoError : for a game with an illegal move
        IndexError : for a position that there is not
        """
        move = np.atleast_1d(self._positions[positions])
        game = np.searchsorted(self._moves.first_move, move, side="right") - 1
        ply = move - self._moves.first_move[game]
        x = self._planes(game, ply)
        to_play = self._moves.color[move]
        sign = np.where(to_play == BLACK, 1, -1).astype(np.int8)
        policy = self._policy(move)
        ownership = self.ends.ownership[game].reshape(-1, self.size, self.size) * sign[:, None, None]
        g = np.broadcast_to(np.asarray(symmetry), (len(move),))
        if g.any():
            x, policy, ownership = (apply_symmetry(values, g) for values in (x, policy, ownership))
        chances = (np.where(sign > 0, p, 1 - p) for p in (self._z[game], self._value[move], self._return[move]))
        z, value, lambda_return = (p.astype(np.float32) for p in chances)
        return Batch(
            planes=x, policy=policy, z=z, value=value, lambda_return=lambda_return,
            score=self.ends.score[game].astype(np.float32) * sign, ownership=ownership,
            has_search=self._visited[move] > 0, to_play=to_play.astype(np.int8), game=game, ply=ply,
            symmetry=g.astype(np.int8),
        )  # fmt: skip

    def positions(self, which: Any, history: int = HISTORY) -> Positions:
        """Return the positions themselves, as evaluators take them; see `take`."""
        move = np.atleast_1d(self._positions[which])
        game = np.searchsorted(self._moves.first_move, move, side="right") - 1
        return self._replayed(game, move - self._moves.first_move[game], history, superko=True)

    def _replayed(self, game: np.ndarray, ply: np.ndarray, history: int, superko: bool) -> Positions:
        try:
            return replayed(self._moves, game, ply, self.size, history, superko)
        except IllegalMove as error:
            self._check(error.game)
            raise

    def _planes(self, game: np.ndarray, ply: np.ndarray) -> np.ndarray:
        """Play games through, and encode positions in chunks that fit into the cache of a processor."""
        out = np.empty((len(game), len(plane_names(self.kinds)), self.size, self.size), self._dtype)
        for first in range(0, len(game), _CHUNK):
            here = slice(first, first + _CHUNK)
            found = self._replayed(game[here], ply[here], HISTORY, see_superko(self.kinds))
            planes(found, self.kinds, dtype=self._dtype, out=out[here])
        return out

    def _policy(self, move: np.ndarray) -> np.ndarray:
        """Return the shares of visits in positions, float32[n, size * size + 1]; 1 for the move played without any."""
        policy = np.zeros((len(move), self.size * self.size + 1), np.float32)
        n = self._visited[move]
        row = np.repeat(np.arange(len(move)), n)
        which = np.arange(n.sum()) + np.repeat(self._first_visited[move] - (np.cumsum(n) - n), n)
        policy[row, self._visited_place[which]] = self._visits[which]
        total = policy.sum(axis=1)
        unsearched = np.flatnonzero(total == 0)
        policy[unsearched, self._place[move[unsearched]]] = total[unsearched] = 1
        policy /= total[:, None]
        return policy

    def _check(self, wrong: int) -> None:
        """Raise an RlgoError about the game with this index; -1 is none."""
        if wrong >= 0:
            raise RlgoError(f"game {self._numbers[wrong]}: damaged: illegal move")

    def batches(self, size: int, *, epoch: int = 0, seed: int = 1, symmetries: bool = True) -> Batches:
        """Go through all positions once, in random order.

        Parameters
        ----------
        size : positions in a batch; the last one may have fewer
        epoch : each epoch has its own order and symmetries, which depend on nothing but `seed` and `epoch`
        seed : seed of both
        symmetries : turn and reflect each position at random

        Returns
        -------
        an object with a length, the number of batches, that can be iterated over any number of times
        """
        return Batches(self, validated(BatchOrder(size, epoch, seed, symmetries)))


class BatchOrder(NamedTuple):
    """The order of positions in an epoch; see `GameData.batches`."""

    size: Count
    epoch: SeedNumber = 0
    seed: SeedNumber = 1
    symmetries: bool = True


@dataclass(frozen=True)
class Batches:
    """One epoch of a `GameData`: iterate over it to get each `Batch`. `GameData.batches` makes it."""

    data: GameData
    order: BatchOrder

    def __len__(self) -> int:
        return -(-len(self.data) // self.order.size)

    def __iter__(self) -> Iterator[Batch]:
        size, epoch, seed, symmetries = self.order
        n, rng = len(self.data), np.random.default_rng(np.random.SeedSequence((seed, epoch)))
        positions = rng.permutation(n)
        symmetry = rng.integers(0, N_SYMMETRIES, n) if symmetries else np.zeros(n, np.int64)
        for first in range(0, n, size):
            which = positions[first : first + size]
            yield self.data.take(which, symmetry[which])


def read_games(
    folders: Any,
    kinds: Kinds = "alphago_zero",
    *,
    held_out: bool | None = False,
    window: int | None = None,
    dtype: Any = np.float32,
    lam: float = 1.0,
) -> GameData:
    """Read folders of games, as `rlgo games` writes them, to train a network on.

    Parameters
    ----------
    folders : a folder, or several, the oldest first; a game in several of them counts once
    kinds : kinds of planes, see `rlgo.planes`
    held_out : False: the nine tenths of the games that are for learning; True: the others, to measure by; None: all
    window : only the latest games, with about so many positions for learning in all; None: all
    dtype : of the planes, float32 or uint8
    lam : the lambda of `Batch.lambda_return`

    Raises
    ------
    RlgoError : for a folder without games, damaged files, or boards of different sizes

    >>> import pathlib, rlgo, tempfile
    >>> from train.games.collect import GamesPlan, play_games
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder)
    ...     n = play_games(GamesPlan("mc_rave,sims=30,memory_mb=1", games=8, size=5), path, progress=False)
    ...     data = rlgo.read_games(path)
    >>> batch = next(iter(data.batches(32)))
    >>> batch.planes.shape, batch.policy.shape, batch.z.shape
    ((32, 17, 5, 5), (32, 26), (32,))
    """
    check("held_out", held_out, bool | None)
    window, lam = check("window", window, Count | None), check("lam", lam, Probability)
    games = read_collection(_paths(folders))
    is_chosen = np.ones(len(games), np.bool_)
    if window is not None:
        newest = np.lexsort((games.arrays["number"], games.folder))[::-1]
        n = learned_positions(games.arrays)[newest]
        is_chosen[newest] = np.cumsum(n) - n < window
    if held_out is not None:
        is_chosen &= is_held_out(games.arrays["id"]) == held_out
    chosen = np.flatnonzero(is_chosen)
    data = GameData(games, chosen, kinds, dtype, lam)
    if not len(data):
        what = {False: " for learning", True: " held out", None: ""}[held_out]
        raise RlgoError(f"{len(games):,} games: no position{what}: expected more games")
    return data


def _paths(folders: Any) -> list[Path]:
    given = list(folders) if isinstance(folders, list | tuple) else [folders]
    if not given:
        raise RlgoError("folders = []: expected at least one folder")
    return [check("folders", folder, Path) for folder in given]
