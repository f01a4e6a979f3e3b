"""Self-play: single episodes and batches of them, with and without learning. TD paper, Section 3.2.1.

Start reading at `play_episode`, then `learn_episodes`. Games between two value functions are in `fast_games.py`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rlgo.base.settings import GAME
from rlgo.compiler.jit import copy_record, njit
from rlgo.features.incremental import reweigh, update
from rlgo.go.board import outcome, play
from rlgo.learning.policy import choose_move
from rlgo.learning.td import begin_episode, begin_steps, learn_game, learn_step, record_move, step_size
from rlgo.learning.value import squash


class Tally(np.record):  # type: ignore[misc]  # final in numpy's type stubs alone
    """Totals of games or simulations, with a readable repr."""

    def __repr__(self) -> str:
        return f"<Tally {', '.join(f'{name} {self[name]:,}' for name in self.dtype.names or ())}>"


@cache
def tally_dtype() -> np.dtype:
    """Return the record type of the totals of a batch of games.

    Fields
    ------
    games, discarded : games finished; games over the length cap. Discarded games count in no other field but
        evaluations, and are learned from only with updates after every step (`settings.UPDATES`)
    moves : moves played in finished games
    black_wins : sum of z
    evaluations : candidate afterstates considered
    error, errors : sum of |delta V_t|, rounded to 2^-20 in each game, and its number of terms. Such sums
        are exact, so they do not depend on how the games are divided into batches
    """
    fields = [("games", "i8"), ("discarded", "i8"), ("moves", "i8"), ("evaluations", "i8"), ("errors", "i8")]
    return np.dtype((np.record, np.dtype([*fields, ("black_wins", "f8"), ("error", "f8")])))


@njit
def play_episode(scratch, table, policy, value, rules, max_moves, keep):
    """Play one game with constant weights on scratch.boards[1], which scratch.shapes[1] must match.

    value : the kind of V to record and to use in a softmax policy: LOGISTIC or LINEAR
    max_moves : further moves after which the game is abandoned
    keep : whether to record the game in scratch.episode for `td.learn_game`
    Returns (finished, candidate afterstates considered).
    """
    b, sh, episode = scratch.boards[1], scratch.shapes[1], scratch.episode
    evaluations = 0
    if keep:
        begin_episode(episode, sh, table.g, squash(value, sh.x[0]))
    for _ in range(max_moves):
        p, n = choose_move(b, sh, table, policy, value, scratch.rng)
        evaluations += n
        play(b, p, rules.zobrist)
        update(b, sh, table)
        if keep:
            record_move(episode, sh, p, squash(value, sh.x[0]))
        if b.n_passes >= 2:
            return True, evaluations
    return False, evaluations


@njit
def play_episodes(n, scratch, table, policy, value, rules, max_moves):
    """Play n games of self-play with constant weights, from boards[0], which shapes[0] must match."""
    b, tally = scratch.boards[1], scratch.tally
    for _ in range(n):
        copy_record(scratch.boards[0], b)
        copy_record(scratch.shapes[0], scratch.shapes[1])
        finished, evaluations = play_episode(scratch, table, policy, value, rules, max_moves, False)
        tally.evaluations += evaluations
        if finished:
            tally.games += 1
            tally.moves += b.n_moves
            tally.black_wins += outcome(b, rules.komi)
        else:
            tally.discarded += 1


@njit
def learn_episodes(n, first, scratch, memory, policy, learning, rules, max_moves):
    """Play and learn from n games of self-play, the first of which has the number `first` (from 0).

    Games start from boards[0], which shapes[0] must match, except for the weights. `memory` (`td.Memory`) and
    scratch.tally are updated in place.
    """
    tally = scratch.tally
    for game in range(first, first + n):
        alpha = step_size(learning, game)
        copy_record(scratch.boards[0], scratch.boards[1])
        copy_record(scratch.shapes[0], scratch.shapes[1])
        reweigh(scratch.shapes[1], memory.table)
        if learning.update == GAME:
            finished, evaluations = play_episode(scratch, memory.table, policy, learning.value, rules, max_moves, True)
            plies = np.int64(scratch.episode.n)
            z = outcome(scratch.boards[1], rules.komi)
            error = 0.0
            if finished:
                error = learn_game(scratch.episode, z, alpha, learning, memory)
        else:
            finished, evaluations, plies, z, error = _learn_while_playing(
                memory.scratch.recent, scratch, memory, policy, learning, alpha, rules, max_moves
            )
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
def _learn_while_playing(recent, scratch, memory, policy, learning, alpha, rules, max_moves):
    """Play one game with `update = "step"`. A game that exceeds the length cap has changed the weights, too.

    recent : that of memory.scratch; compiles to nothing if it is None
    Returns (finished, afterstates considered, moves, z, sum of |delta V_t|).
    """
    if recent is None:
        return False, 0, 0, 0.0, 0.0
    b, sh, episode = scratch.boards[1], scratch.shapes[1], scratch.episode
    plies = learning.plies
    evaluations = 0
    error = 0.0
    begin_steps(sh, memory.scratch)
    n_windows = recent.shape[1]
    for t in range(1, max_moves + 1):  # s_t comes after the t-th move
        p, n = choose_move(b, sh, memory.table, policy, learning.value, scratch.rng)
        evaluations += n
        episode.moves[t - 1] = p
        episode.n = t
        play(b, p, rules.zobrist)
        update(b, sh, memory.table)
        if b.n_passes >= 2:
            z = outcome(b, rules.komi)
            for u in range(max(0, t - plies), t):
                error += learn_step(u, z, alpha, learning, memory)
            return True, evaluations, t, z, error
        for w in range(n_windows):
            recent[t % 3, w] = sh.configuration[w]
        if t >= plies:
            v = squash(learning.value, sh.x[0])
            error += learn_step(t - plies, v, alpha, learning, memory)
            reweigh(sh, memory.table)
    return False, evaluations, max_moves, 0.0, error
