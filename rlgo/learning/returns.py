"""The lambda-return of each position of a game: what TD(lambda) learns, with the values of searches (Sutton 1988).

Start reading at `lambda_returns`. A search looks ahead, so its value of a position knows more than V does; z knows how
the game ended, mistakes included. The lambda-return is a mixture of all that came later:

    G_t = (1 - lambda) v_t+1 + lambda G_t+1,    and G_t = z in the last position,

where v_t is what the player's search said about position t. With lambda = 1, G_t is z, and with lambda = 0, v_t+1.
"""

from __future__ import annotations

import numpy as np


def lambda_returns(value: np.ndarray, z: np.ndarray, n_moves: np.ndarray, lam: float) -> np.ndarray:
    """Return the lambda-returns of all positions of some games, float64[moves]: P(Black wins).

    value : float[moves], v of each position, one game after another, NaN where there was no search: the return is then
        that of the next position
    z : float[games], the outcomes. Where it is NaN, not known, the last value known takes its place.
    n_moves : int[games]
    lam : lambda, from 0 to 1
    """
    first = np.cumsum(n_moves) - n_moves
    g = z.astype(np.float64)
    returns = np.full(len(value), np.nan)
    for t in range(int(n_moves.max(initial=0)) - 1, -1, -1):  # of all games at once
        here = np.flatnonzero(n_moves > t)
        position = first[here] + t
        returns[position] = g[here]
        v = value[position].astype(np.float64)
        mixed = np.where(np.isnan(g[here]), v, (1 - lam) * v + lam * g[here])
        g[here] = np.where(np.isnan(v), g[here], mixed)
    return returns
