"""The other end of TD search's spectrum: table look-up instead of shapes. TD paper, Section 4.3.

Start reading at `simulate_by_table`. One feature I^{S,A} for each state S and action A that has been represented;
each simulation represents one more state, the first that was not yet. With lambda = 1 and the step size
alpha(s, a) = 1 / N(s, a), theta(S, A) is the mean outcome of the simulations that took A in S: greedy Monte-Carlo tree
search. With lambda < 1 it bootstraps, which Monte-Carlo tree search cannot.

It is here to be compared with, and to be read beside `td_search.py`; the fast tree searches are in mcts/.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rlgo.board import BLACK, PASS, is_sensible, new_boards, outcome, play, position_key, random_move, zobrist
from rlgo.coords import from_row_col
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import compiling, copy_record, inline, make_rng, njit, random_below, random_unit
from rlgo.player import Player, Seed, check_size, greedy_move
from rlgo.rollout import MOGO, DefaultPolicy, begin_rollout, default_move, mogo_patterns, new_rollout, watch_atari
from rlgo.settings import EPSILON_GREEDY, LINEAR, Learning, Policy
from rlgo.shapes import padded_points
from rlgo.td import check_max_moves, episode_dtype, errors
from rlgo.td_search import count

VISITS = 0.0  # alpha: 1 / N(s, a)
GREEDY = Policy(EPSILON_GREEDY, epsilon=0.0)
MONTE_CARLO = Learning(alpha=VISITS, lambda_=1.0, plies=1, value=LINEAR)


@cache
def tally_dtype() -> np.dtype:
    """As `td_search.tally_dtype`, and how many states are represented."""
    fields = [("simulations", "i8"), ("abandoned", "i8"), ("states", "i8"), ("wins", "f8")]
    return np.dtype((np.record, np.dtype(fields)))


@cache
def state_dtype(size: int) -> np.dtype:
    """A state that is represented (P padded points).

    key : of the position (`board.position_key`)
    N[P], Q[P] : by action, PASS included: how often it was taken, and its value
    """
    points = padded_points(size)
    fields = [("key", np.uint64), ("Q", np.float64, (points,)), ("N", np.int32, (points,))]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@njit
def simulate_by_table(
    n, boards, states, table, policy, learning, default, max_moves, komi, episode, visited, r, patterns, zobrist, rng,
    tally,
):  # fmt: skip
    """n simulations from boards[0]; boards[1] and r are scratch. What they teach goes into `states`.

    states : `state_dtype` records, which are represented from 0 on; table : int64[2^k], their places by key, -1 free
    learning.alpha : VISITS, or a step size; learning.plies, learning.lambda_ : as in `td.py`
    episode, visited : of the last simulation: all its moves, and of each the state that it was taken in, as long as
        those are represented; episode.n of them
    """
    b = boards[1]
    n_states = np.int64(tally.states)
    for _ in range(n):
        copy_record(boards[0], b)
        n_known = 0
        in_table = True
        t = 0
        while t < max_moves and b.n_passes < 2:
            if in_table:
                place = _find(b, states, table)
                state = table[place]
                p = PASS
                if state >= 0:
                    p = _best_action(b, states[state], policy, rng)
                elif n_states < len(states):  # the one that this simulation adds; from here on, the default policy
                    state = n_states
                    n_states += 1
                    table[place] = state
                    states[state].key = position_key(b)
                    states[state].Q[:] = 0.5
                    states[state].N[:] = 0
                    in_table = False
                else:
                    in_table = False
                if not in_table:
                    if default.kind == MOGO:
                        begin_rollout(b, r)
                    p = default_move(b, default, r, patterns, rng)
                if state >= 0:
                    visited[n_known] = state
                    episode.v[n_known] = states[state].Q[p]
                    n_known += 1
            else:
                p = default_move(b, default, r, patterns, rng)
            episode.moves[t] = p
            play(b, p, zobrist)
            if default.kind == MOGO and not in_table:
                watch_atari(b, r)
            t += 1
        finished = b.n_passes >= 2
        z = outcome(b, komi)
        if finished:
            episode.n = n_known
            errors(episode, z, learning)
            for k in range(n_known):
                state, p = visited[k], np.int64(episode.moves[k])
                states[state].N[p] += 1
                alpha = 1.0 / states[state].N[p] if learning.alpha == VISITS else learning.alpha
                states[state].Q[p] += alpha * episode.e[k]
        episode.n = t
        count(tally, finished, z)
    tally.states = n_states


@inline
def _best_action(b, state, policy, rng):
    """Epsilon-greedy: the sensible move with the best Q(s, a); exact ties are broken uniformly."""
    if policy.epsilon > 0.0 and random_unit(rng) < policy.epsilon:
        return random_move(b, rng)
    sign = 1.0 if b.to_play == BLACK else -1.0
    best, ties, choice = -np.inf, 0, PASS
    for i in range(b.n_empty):
        p = np.int64(b.empties[i])
        if is_sensible(b, p):
            q = sign * state.Q[p]
            if ties == 0 or q > best:
                best, ties, choice = q, 1, p
            elif q == best:
                ties += 1
                if random_below(rng, ties) == 0:
                    choice = p
    return choice


@inline
def _find(b, states, table):
    """The place of this position in `table`: where it is, or where it would go."""
    key = position_key(b)
    mask = len(table) - 1
    place = np.int64(key & np.uint64(mask))
    while table[place] >= 0 and states[table[place]].key != key:
        place = (place + 1) & mask
    return place


class TableSearch(Player):
    """TD search with table look-up, as a player. What it learned is forgotten before the next move.

    Parameters
    ----------
    simulations : of each move; each represents one more state
    policy, learning, default : as for `TdSearch`; V is linear, and learning.alpha 0 (VISITS) is 1 / N(s, a)
    max_moves : a longer simulation is abandoned; 0: 3 * size * size
    seed : of all random numbers; None: different every time

    Attributes
    ----------
    states : `state_dtype` records, tally.states of them in use; the root is the first
    tally : of the last search
    episode, visited : of the last simulation, see `simulate_by_table`
    """

    def __init__(
        self,
        size: int = 9,
        simulations: int = 1_000,
        policy: Policy = GREEDY,
        learning: Learning = MONTE_CARLO,
        default: DefaultPolicy = DefaultPolicy(),
        max_moves: int = 0,
        seed: Seed = None,
        name: str = "table_search",
    ):
        if simulations < 1:
            raise RlgoError(f"simulations = {simulations}: expected an integer of at least 1")
        self.name, self.sizes, self.simulations = name, (size,), simulations
        self.policy, self.learning, self.default = policy, learning._replace(value=LINEAR), default
        self.max_moves = check_max_moves(max_moves, size)
        self._boards, self._rollout = new_boards(2, size), new_rollout(size)
        self.states = np.zeros(simulations, state_dtype(size))
        self._table = np.zeros(1 << (2 * simulations).bit_length(), np.int64)
        self.episode = np.zeros(1, episode_dtype(size))[0]
        self.visited = np.zeros(self.max_moves, np.int64)
        self.tally = np.zeros(1, tally_dtype())[0]
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self._rng, self._choice = make_rng(sequence), np.random.default_rng(sequence)
        self._points = np.array([from_row_col(row, col, size) for row in range(size) for col in range(size)] + [PASS])
        self._values = np.full(size * size + 1, np.nan)

    def genmove(self, game: Game) -> int:
        self.begin(game)
        self.simulate(game, self.simulations)
        root = self.states[0]
        self._values[:] = root.Q[self._points]
        # An action that no simulation took has no mean, and none is as good as the best that has.
        self._values[root.N[self._points] == 0] = -np.inf if game.to_play == BLACK else np.inf
        move = greedy_move(game, self._values, self._choice)
        self._values[np.isinf(self._values)] = np.nan
        return move

    def begin(self, game: Game) -> None:
        """Forget everything, and stand on the position of `game`."""
        check_size(self, game)
        self._boards[0] = game.board
        self._boards[0].n_passes = 0  # at the root the game goes on, whatever was passed
        self._table[:] = -1
        self.tally = np.zeros(1, tally_dtype())[0]

    def simulate(self, game: Game, n: int) -> None:
        """n simulations more."""
        with compiling(f"table search, {game.size}x{game.size}"):
            simulate_by_table(
                n, self._boards, self.states, self._table, self.policy, self.learning, self.default, self.max_moves,
                game.komi, self.episode, self.visited, self._rollout, mogo_patterns(), zobrist(game.size), self._rng,
                self.tally,
            )  # fmt: skip

    def new_game(self) -> None:
        self._values[:] = np.nan

    def report(self) -> list[str]:
        n = int(self.tally.simulations)
        if self.tally.abandoned and not n:
            return [f"all of {int(self.tally.abandoned):,} simulations were too long (max_moves)"]
        return (
            [f"Black won {self.tally.wins / n:.1%} of {n:,} simulations; {int(self.tally.states):,} states"]
            if n
            else []
        )

    def analyses(self) -> dict[str, np.ndarray]:
        """``value``: Q of each action that was tried, P(Black wins)."""
        assert self.sizes is not None
        return {"value": self._values[:-1].reshape(self.sizes[0], -1)}
