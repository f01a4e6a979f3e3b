"""Compiled games between two value functions: thousands a second.

Start reading at `play_fast`, then `play_slices`. Both players are greedy. Each random opening is played twice with
colours swapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.budget import BATCH_SECONDS, Budget
from rlgo.base.checks import allows, check, expected
from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_OPENING_PLIES, LOGISTIC, EvenCount, Komi, Policy
from rlgo.compiler.jit import compiling, copy_record, make_rng, njit, random_u64
from rlgo.features.incremental import reset
from rlgo.features.shapes import FeatureSet, Table
from rlgo.go.board import outcome, play, random_move
from rlgo.go.rules import check_max_moves, make_rules
from rlgo.learning.scratch import make_scratch
from rlgo.learning.selfplay import play_episode, tally_dtype

_FNV_START, _FNV_PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


class FastGames(NamedTuple):
    """Games between players A and B, by opening and by the colour of A (0 Black, 1 White); n openings."""

    scores: np.ndarray  # float64[n, 2]: A's results: 1 won, 0 lost, 0.5 a draw
    lengths: np.ndarray  # int64[n, 2]: moves played; negative if the length cap ended the game
    digests: np.ndarray  # uint64[n, 2]: FNV-1a hashes of the moves, to count distinct games

    def __repr__(self) -> str:
        n = self.scores.size
        return f"<FastGames: A won {self.scores.sum():g} of {n:,}>" if n else "<FastGames: none>"


def play_fast(
    features: FeatureSet,
    theta_a: np.ndarray,
    theta_b: np.ndarray,
    games: int,
    seed: int | np.random.SeedSequence,
    komi: float = DEFAULT_KOMI,
    openings: int | np.ndarray = DEFAULT_OPENING_PLIES,
    max_moves: int = 0,
) -> FastGames:
    """Play games in compiled code between the greedy players of two sets of weights.

    The rules are those of simulations: simple ko, and no early passes. All-zero weights play uniformly at random.

    Parameters
    ----------
    features : features of both players; if their feature sets differ, see `rewriting.unshare`
    theta_a, theta_b : float32[n_weights + 1]
    games : an even number; each opening is played twice
    seed : seed of the openings and of tie-breaks
    komi : points for White
    openings : the number of uniformly random sensible moves before the players take over, at most size * size / 2; or
        the moves themselves, int64[games / 2, plies], legal ones, with -1 after the end of a shorter opening
    max_moves : plies, opening included, after which a game is scored as it stands; 0: 3 * size * size

    >>> import numpy as np, rlgo
    >>> weights = rlgo.load_weights(rlgo.shipped_weights(9))
    >>> untrained = np.zeros_like(weights.theta)
    >>> rlgo.play_fast(weights.features, weights.theta, untrained, games=20, seed=1)
    <FastGames: A won 20 of 20>
    """
    return joined(play_slices(features, theta_a, theta_b, games, seed, komi, openings, max_moves))


def compile_matches(features: FeatureSet) -> None:
    """Compile everything that games with these features need."""
    theta = np.zeros(features.n_weights + 1, np.float32)
    play_slices(features, theta, theta, 2, 0)  # none is played


def joined(parts: Iterable[FastGames]) -> FastGames:
    """Join games that were played in one or more parts."""
    return FastGames(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def play_slices(
    features: FeatureSet,
    theta_a: np.ndarray,
    theta_b: np.ndarray,
    games: int,
    seed: int | np.random.SeedSequence,
    komi: float = DEFAULT_KOMI,
    openings: int | np.ndarray = DEFAULT_OPENING_PLIES,
    max_moves: int = 0,
) -> Iterator[FastGames]:
    """Return the games of `play_fast`, which has the same parameters, in order, in slices that are played on demand.

    A slice takes about a tenth of a second. Between slices, Ctrl-C takes effect, and the caller can show progress or
    stop. Everything is compiled before the first slice.
    """
    check("features", features, FeatureSet)
    size, n, komi = features.size, check("games", games, EvenCount) // 2, check("komi", komi, Komi)
    table = Table(features.geometry, features.expand(theta_a), features.expand(theta_b))
    played = FastGames(np.zeros((n, 2)), np.zeros((n, 2), np.int64), np.zeros((n, 2), np.uint64))
    scratch = make_scratch(size, tally_dtype(), 0, 3, features.capacity)
    max_moves = check_max_moves(max_moves, size)
    openings = _checked_openings(openings, n, Annotated[int, Ge(0), Le(min(max_moves, size * size // 2))])
    policy, rules, rng = Policy(epsilon=0.0), make_rules(size, komi), make_rng(seed)

    def play_from(first: int, pairs: int) -> FastGames:
        part = FastGames(*(array[first : first + pairs] for array in played))
        play_pairs(scratch, table, policy, rules, max_moves, openings[first : first + pairs], rng, part)
        return part

    with compiling(f"matches, {features.kernels}"):
        play_from(0, 0)

    def slices() -> Iterator[FastGames]:
        done = 0
        for pairs in Budget(n).slices(seconds=BATCH_SECONDS):
            yield play_from(done, pairs)
            done += pairs

    return slices()


def _checked_openings(openings: int | np.ndarray, n: int, plies: Any) -> np.ndarray:
    """Return openings as `play_pairs` takes them. RlgoError for a wrong number of plies or of openings."""
    if not isinstance(openings, np.ndarray):
        return np.zeros((0, check("openings", openings, plies)), np.int64)
    if openings.ndim != 2 or len(openings) != n or not allows(plies, openings.shape[1]):
        raise RlgoError(
            f"openings = an array of shape {openings.shape}: expected ({n}, plies), plies {expected(plies)}"
        )
    return np.ascontiguousarray(openings, np.int64)


@njit
def play_pairs(scratch, table, policy, rules, max_moves, openings, rng, played):
    """Fill `played` (`FastGames`) with pairs of games: an opening, played twice with colours swapped.

    openings : int64[pairs, plies], see `play_fast`; or int64[0, plies]: that many random moves

    Player A chooses by table.black, player B by table.white. scratch.boards[0] is the empty board, [2] holds the
    position after the opening. Each pair has its own random state, so openings do not depend on who plays.
    """
    b, after_opening, own = scratch.boards[1], scratch.boards[2], scratch.rng
    for pair in range(played.scores.shape[0]):
        own[0] = random_u64(rng)
        copy_record(scratch.boards[0], after_opening)
        opening_digest = _FNV_START
        for ply in range(openings.shape[1]):
            p = openings[pair, ply] if len(openings) else random_move(after_opening, own)
            if p < 0:
                break
            opening_digest = _hash_move(opening_digest, p)
            play(after_opening, p, rules.zobrist)
        state = own[0]
        for color in range(2):
            own[0] = state
            players = table if color == 0 else Table(table.g, table.white, table.black)
            copy_record(after_opening, b)
            reset(b, scratch.shapes[1], players)
            finished, _ = play_episode(
                scratch, players, policy, LOGISTIC, rules, max_moves - after_opening.n_moves, True
            )
            z = outcome(b, rules.komi)
            played.scores[pair, color] = z if color == 0 else 1.0 - z
            played.lengths[pair, color] = b.n_moves if finished else -b.n_moves
            digest = opening_digest
            for t in range(scratch.episode.n):
                digest = _hash_move(digest, np.int64(scratch.episode.moves[t]))
            played.digests[pair, color] = digest


@njit
def _hash_move(digest, p):
    return (digest ^ np.uint64(p)) * _FNV_PRIME
