"""Default policies: how a simulation is played out where nothing has been learned.

Start reading at `playout`.
"""

from __future__ import annotations

from rlgo.board import outcome, play, random_move
from rlgo.jit import copy_record, njit


@njit
def playout(b, komi, max_moves, zobrist, rng):
    """Play uniformly random sensible moves on `b` until two passes, or `max_moves` further moves.

    Returns z (see `board.outcome`) of the position reached.
    """
    for _ in range(max_moves):
        if b.n_passes >= 2:
            break
        play(b, random_move(b, rng), zobrist)
    return outcome(b, komi)


@njit
def playouts(boards, komi, n, zobrist, rng):
    """Run n uniform random playouts from the position boards[0]; boards[1] is scratch.

    Returns (sum of z, moves played).
    """
    b = boards[1]
    max_moves = 3 * boards[0].board_size * boards[0].board_size
    wins = 0.0
    moves = 0
    for _ in range(n):
        copy_record(boards[0], b)
        wins += playout(b, komi, max_moves, zobrist, rng)
        moves += b.n_moves - boards[0].n_moves
    return wins, moves
