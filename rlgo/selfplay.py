"""Self-play: one episode, and many; with learning or without; between one player and itself, or two.

Start reading at `play_episode`. TD paper, Section 3.2.1.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from rlgo.board import new_boards, outcome, play, random_move, zobrist
from rlgo.jit import copy_record, make_rng, njit, random_u64
from rlgo.policy import choose_move
from rlgo.settings import GAME, Policy
from rlgo.shapes import FeatureSet
from rlgo.td import (
    begin_episode,
    begin_steps,
    check_max_moves,
    episode_dtype,
    learn_game,
    learn_step,
    record_move,
    step_size,
)
from rlgo.value import new_shapes, observe, rebuild, revalue, squash


@cache
def tally_dtype() -> np.dtype:
    """What a batch of games adds up to.

    games, discarded : games finished; games over the length cap, which neither learn nor count below
    moves : moves played in finished games
    black_wins : sum of z
    evaluations : candidate afterstates considered
    error, errors : sum of |delta V_t|, of each game to the nearest 2^-20, and its number of terms. Such sums are
        exact, so that they do not depend on how the games are divided into batches
    """
    fields = [("games", "i8"), ("discarded", "i8"), ("moves", "i8"), ("evaluations", "i8"), ("errors", "i8")]
    return np.dtype((np.record, np.dtype([*fields, ("black_wins", "f8"), ("error", "f8")])))


@njit
def play_episode(b, sh, g, black, white, policy, komi, max_moves, episode, keep, zobrist, rng):
    """Play one game from the position on `b`, which `sh` must follow, with constant weights.

    black, white : theta_bar of each player. With `keep`, `episode` records what `td.learn_game` needs.
    Returns (finished, candidate afterstates considered); unfinished means `max_moves` further moves were
    played without two passes.
    """
    evaluations = 0
    if keep:
        begin_episode(episode, sh, g, squash(policy.value, sh.x[0]))
    for _ in range(max_moves):
        p, n = choose_move(b, sh, g, black, white, policy, rng)
        evaluations += n
        play(b, p, zobrist)
        observe(b, sh, g, black, white)
        if keep:
            record_move(episode, sh, p, squash(policy.value, sh.x[0]))
        if b.n_passes >= 2:
            return True, evaluations
    return False, evaluations


@njit
def learn_episodes(
    n, first, boards, shapes, g, classes, theta, theta_bar, policy, learning, komi, max_moves, episode, scratch,
    zobrist, rng, tally,
):  # fmt: skip
    """Play and learn from n games of self-play, the first of which has the number `first` (from 0).

    boards[0], shapes[0] : the position that games start from; [1] is played on. theta and theta_bar are
    updated in place, and `tally` is added to.
    """
    b, sh = boards[1], shapes[1]
    for game in range(first, first + n):
        alpha = step_size(learning, game)
        copy_record(boards[0], b)
        if learning.update == GAME:
            copy_record(shapes[0], sh)
            revalue(sh, g, theta_bar, theta_bar)
            finished, evaluations = play_episode(
                b, sh, g, theta_bar, theta_bar, policy, komi, max_moves, episode, True, zobrist, rng
            )
            plies = np.int64(episode.n)
            z = outcome(b, komi)
            error = 0.0
            if finished:
                error = learn_game(episode, z, alpha, learning, g, classes, theta, theta_bar, scratch)
        else:
            copy_record(shapes[0], sh)
            finished, evaluations, plies, z, error = _learn_while_playing(
                b, sh, g, classes, theta, theta_bar, policy, learning, alpha, komi, max_moves, episode,
                scratch, zobrist, rng,
            )  # fmt: skip
        tally.evaluations += evaluations
        if finished:
            tally.games += 1
            tally.moves += plies
            tally.black_wins += z
            tally.error += np.floor(error * 1048576.0 + 0.5) / 1048576.0
            tally.errors += plies
        else:
            tally.discarded += 1


@njit
def play_episodes(n, boards, shapes, g, theta_bar, policy, komi, max_moves, episode, zobrist, rng, tally):
    """n games of self-play with constant weights, from boards[0], which shapes[0] must follow."""
    b, sh = boards[1], shapes[1]
    for _ in range(n):
        copy_record(boards[0], b)
        copy_record(shapes[0], sh)
        finished, evaluations = play_episode(
            b, sh, g, theta_bar, theta_bar, policy, komi, max_moves, episode, False, zobrist, rng
        )
        tally.evaluations += evaluations
        if finished:
            tally.games += 1
            tally.moves += b.n_moves
            tally.black_wins += outcome(b, komi)
        else:
            tally.discarded += 1


@njit
def _learn_while_playing(
    b, sh, g, classes, theta, theta_bar, policy, learning, alpha, komi, max_moves, episode, scratch, zobrist, rng
):
    """One game with `update = "step"`. A game over the cap has taught already when it is found out.

    Returns (finished, afterstates considered, moves, z, sum of |delta V_t|).
    """
    plies = learning.plies
    evaluations = 0
    error = 0.0
    revalue(sh, g, theta_bar, theta_bar)
    begin_steps(sh, scratch)
    n_windows = scratch.recent.shape[1]
    for t in range(1, max_moves + 1):  # s_t follows the t-th move
        p, n = choose_move(b, sh, g, theta_bar, theta_bar, policy, rng)
        evaluations += n
        episode.moves[t - 1] = p
        episode.n = t
        play(b, p, zobrist)
        observe(b, sh, g, theta_bar, theta_bar)
        if b.n_passes >= 2:
            z = outcome(b, komi)
            for u in range(max(0, t - plies), t):
                error += learn_step(u, z, alpha, learning, g, classes, theta, theta_bar, scratch)
            return True, evaluations, t, z, error
        for w in range(n_windows):
            scratch.recent[t % 3, w] = sh.configuration[w]
        if t >= plies:
            v = squash(learning.value, sh.x[0])
            error += learn_step(t - plies, v, alpha, learning, g, classes, theta, theta_bar, scratch)
            revalue(sh, g, theta_bar, theta_bar)
    return False, evaluations, max_moves, 0.0, error


@njit(allocates=True)
def play_pairs(
    n, boards, shapes, g, bar_a, bar_b, policy, komi, max_moves, opening, episode, zobrist, rng,
    scores, lengths, digests,
):  # fmt: skip
    """n pairs of games between players A and B: a random opening, played twice with colours swapped.

    opening : uniformly random sensible moves before the players take over; max_moves : plies, opening
    included, after which a game is scored as it stands. Fills what `Meeting` describes, each [n, 2].
    """
    b, sh = boards[1], shapes[1]
    # Each pair draws from a state of its own, so that openings do not depend on who plays.
    own = np.empty(1, np.uint64)
    for pair in range(n):
        own[0] = random_u64(rng)
        copy_record(boards[0], boards[2])
        digest = np.uint64(14695981039346656037)  # FNV-1a over the moves
        for _ in range(opening):
            p = random_move(boards[2], own)
            digest = (digest ^ np.uint64(p)) * np.uint64(1099511628211)
            play(boards[2], p, zobrist)
        after_opening = own[0]
        for color in range(2):
            own[0] = after_opening
            black, white = (bar_a, bar_b) if color == 0 else (bar_b, bar_a)
            copy_record(boards[2], b)
            rebuild(b, sh, g, black, white)
            finished, _ = play_episode(
                b, sh, g, black, white, policy, komi, max_moves - opening, episode, True, zobrist, own
            )
            z = outcome(b, komi)
            scores[pair, color] = z if color == 0 else 1.0 - z
            lengths[pair, color] = b.n_moves if finished else -b.n_moves
            d = digest
            for t in range(episode.n):
                d = (d ^ np.uint64(episode.moves[t])) * np.uint64(1099511628211)
            digests[pair, color] = d


# ---------------------------------------------------------------------------------------------
# For people
# ---------------------------------------------------------------------------------------------


class Meeting(NamedTuple):
    """Games between two players, by opening and by the colour of A (0 Black, 1 White); n openings."""

    scores: np.ndarray  # float64[n, 2]: A's results: 1 won, 0 lost, 0.5 a draw
    lengths: np.ndarray  # int64[n, 2]: moves played; negative where the length cap ended the game
    digests: np.ndarray  # uint64[n, 2]: hashes of the moves, to count distinct games


def hold_meeting(
    features: FeatureSet,
    theta_a: np.ndarray,
    theta_b: np.ndarray,
    games: int,
    seed: int | np.random.SeedSequence,
    komi: float = 7.5,
    opening: int = 4,
    max_moves: int = 0,
) -> Meeting:
    """Games between two greedy players inside compiled code: thousands a second.

    Each random opening is played twice with colours swapped. All-zero weights are a uniformly random player.
    Rules as in simulations: simple ko, and after `max_moves` plies (0: 3 * size * size) scored as it stands.
    Players of different feature sets: see `shapes.unshare`.
    """
    size, n = features.size, games // 2
    boards, shapes = new_boards(3, size), new_shapes(2, size)
    meeting = Meeting(np.zeros((n, 2)), np.zeros((n, 2), np.int64), np.zeros((n, 2), np.uint64))
    play_pairs(
        n, boards, shapes, features.geometry, features.expand(theta_a), features.expand(theta_b),
        Policy(epsilon=0.0), float(komi), check_max_moves(max_moves, size), opening,
        np.zeros(1, episode_dtype(size))[0], zobrist(size), make_rng(seed), *meeting,
    )  # fmt: skip
    return meeting


def meet(
    features: FeatureSet,
    theta_a: np.ndarray,
    theta_b: np.ndarray,
    games: int,
    seed: int | np.random.SeedSequence,
    komi: float = 7.5,
    opening: int = 4,
) -> np.ndarray:
    """The scores of `hold_meeting`, float64[games // 2, 2]: A's results as Black and as White."""
    return hold_meeting(features, theta_a, theta_b, games, seed, komi, opening).scores
