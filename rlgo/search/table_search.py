"""TD search with table look-up instead of shapes: the other end of the spectrum. TD paper, Section 4.3.

Start reading at `simulate_by_table`. There is one feature I^{S,A} for each action A in each represented state S. Each
simulation adds one state: the first on its path not yet represented. With lambda = 1 and the step size
alpha(s, a) = 1 / N(s, a), theta(S, A) is the mean outcome of the simulations that took A in S: this is greedy
Monte-Carlo tree search. With lambda < 1 it bootstraps, which Monte-Carlo tree search cannot do.

This is a baseline, best read alongside `td_search.py`; the fast tree searches are in mcts/.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.checks import Key, check, validated
from rlgo.base.errors import RlgoError
from rlgo.base.ram import announce
from rlgo.base.settings import DEFAULT_SIZE, EPSILON_GREEDY, SOFTMAX, NonNegative, Policy, Probability, board_size
from rlgo.compiler.jit import compiling, copy_record, inline, njit, seed_sequence
from rlgo.go.board import BLACK, PASS, is_sensible, outcome, play, position_key, random_move
from rlgo.go.game import Game
from rlgo.go.positions import points_of_moves
from rlgo.go.rules import check_max_moves, make_rules, padded_points
from rlgo.learning.policy import explores
from rlgo.learning.scratch import clear_tally, make_scratch
from rlgo.learning.td import errors
from rlgo.learning.value import keep_best
from rlgo.moves.rollout import DefaultPolicy, begin_rollout, step_rollout
from rlgo.play.player import Player, Seed, check_size, greedy_move
from rlgo.search.td_search import count

VISITS = 0.0  # alpha: 1 / N(s, a)
GREEDY = Policy(EPSILON_GREEDY, epsilon=0.0)
TableSimulations = Annotated[int, Ge(1), Le(10_000_000)]  # each adds a state to the table


class TableLearning(NamedTuple):
    """The settings of learning in the table of a `TableSearch`.

    The defaults are those of greedy Monte-Carlo tree search. `TableSearch` checks them.

    >>> import rlgo
    >>> learning = rlgo.TableLearning(alpha=0.1, lambda_=0.8)
    >>> rlgo.TableSearch(5, simulations=100, learning=learning)
    <TableSearch 'table_search', 5x5, 100 simulations>
    """

    alpha: Annotated[NonNegative, Key("Step size; 0: 1 / N(s, a), so that values are means.")] = VISITS
    lambda_: Annotated[Probability, Key("Trace decay: 1 is Monte-Carlo.")] = 1.0
    plies: Annotated[int, Ge(1), Le(2)] = 1


MONTE_CARLO = TableLearning()


class TableSettings(NamedTuple):
    """The settings of simulations."""

    policy: Policy = GREEDY
    learning: TableLearning = MONTE_CARLO
    default: DefaultPolicy = DefaultPolicy()

    def combine(self) -> None:
        """Refuse a softmax policy: it needs V of all afterstates, and here only actions have values."""
        if self.policy.kind == SOFTMAX:
            raise RlgoError('policy: expected kind = "epsilon_greedy" or "greedy"')


@cache
def tally_dtype() -> np.dtype:
    """Return the record type of the totals of simulations: like `td_search.tally_dtype`, plus the number of states."""
    fields = [("simulations", "i8"), ("abandoned", "i8"), ("states", "i8"), ("wins", "f8")]
    return np.dtype((np.record, np.dtype(fields)))


@cache
def state_dtype(size: int) -> np.dtype:
    """Return the record type of a represented state (P padded points).

    key : key of the position (`board.position_key`)
    N[P], Q[P] : by action, PASS included: how often it was taken, and its value
    """
    points = padded_points(size)
    fields = [("key", np.uint64), ("Q", np.float64, (points,)), ("N", np.int32, (points,))]
    return np.dtype((np.record, np.dtype(fields, align=True)))


class States(NamedTuple):
    """The represented states, numbered from 0, and their hash table; at most n states, T plies."""

    states: np.ndarray  # `state_dtype`[n]
    places: np.ndarray  # int64[2^k]: hash table from keys to numbers of states; -1 is free
    visited: np.ndarray  # int64[T]: the represented states of the last simulation


@njit
def simulate_by_table(n, scratch, known, settings, max_moves, rules):
    """Run n simulations from scratch.boards[0], and learn from them in `known` (`States`).

    settings : `TableSettings`; learning.alpha is VISITS, or a step size
    scratch.episode keeps the last simulation: all its moves, episode.n of them.
    """
    b, episode, tally = scratch.boards[1], scratch.episode, scratch.tally
    for _ in range(n):
        copy_record(scratch.boards[0], b)
        n_known = 0
        t = 0
        # Greedily through represented states, up to the first that is not, which is added ...
        in_table = True
        while in_table and t < max_moves and b.n_passes < 2:
            place = _find(b, known)
            state = known.places[place]
            in_table = state >= 0
            if in_table:
                p = _best_action(b, known.states[state], settings.policy, scratch.rng)
                play(b, p, rules.zobrist)
            else:
                state = _add_state(place, b, known, tally)
                begin_rollout(b, settings.default, scratch.rollout)
                p = step_rollout(b, settings.default, scratch.rollout, rules, scratch.rng)
            if state >= 0:
                known.visited[n_known] = state
                episode.v[n_known] = known.states[state].Q[p]
                n_known += 1
            episode.moves[t] = p
            t += 1
        # ... then by the default policy to the end.
        while t < max_moves and b.n_passes < 2:
            episode.moves[t] = step_rollout(b, settings.default, scratch.rollout, rules, scratch.rng)
            t += 1
        finished = b.n_passes >= 2
        z = outcome(b, rules.komi)
        if finished:
            _learn(n_known, z, settings.learning, episode, known)
        episode.n = t
        count(tally, finished, z)


@njit
def _add_state(place, b, known, tally):
    """Add a state for the position on `b`; return its number, or -1 if there is no room for it."""
    state = np.int64(tally.states)
    if state >= len(known.states):
        return np.int64(-1)
    tally.states = state + 1
    known.places[place] = state
    known.states[state].key = position_key(b)
    known.states[state].Q[:] = 0.5
    known.states[state].N[:] = 0
    return state


@njit
def _learn(n_known, z, learning, episode, known):
    """Update Q(s, a) along the simulation: theta <- theta + alpha e_t (Section 4.3)."""
    episode.n = n_known
    errors(episode, z, learning)
    for k in range(n_known):
        state, p = known.states[known.visited[k]], np.int64(episode.moves[k])
        state.N[p] += 1
        alpha = 1.0 / state.N[p] if learning.alpha == VISITS else learning.alpha
        state.Q[p] += alpha * episode.e[k]


@inline
def _best_action(b, state, policy, rng):
    """Choose epsilon-greedily: the sensible move with the best Q(s, a); exact ties are broken uniformly."""
    if explores(policy, rng):
        return random_move(b, rng)
    sign = 1.0 if b.to_play == BLACK else -1.0
    best, ties, choice = -np.inf, 0, PASS
    for i in range(b.n_empty):
        p = np.int64(b.empties[i])
        if is_sensible(b, p):
            best, ties, choice = keep_best(p, sign * state.Q[p], best, ties, choice, rng)
    return choice


@inline
def _find(b, known):
    """Find the slot of this position in the hash table, or the slot to insert it."""
    key = position_key(b)
    mask = len(known.places) - 1
    place = np.int64(key & np.uint64(mask))
    while known.places[place] >= 0 and known.states[known.places[place]].key != key:
        place = (place + 1) & mask
    return place


class TableSearch(Player):
    """A player that keeps a value for every state it visits: TD search with table look-up.

    It forgets what it has learned before each move.

    Parameters
    ----------
    simulations : simulations per move; each adds one state
    policy, learning, default : see `TableSettings`; learning.alpha = 0 (VISITS) means 1 / N(s, a). All simulations go
        on until both sides pass: `default.mercy` does not end them
    max_moves : a longer simulation is abandoned; 0: 3 * size * size
    seed : seed of all random numbers; None draws a fresh one each time

    Attributes
    ----------
    states : `state_dtype`[simulations], tally.states of them in use; the root is the first
    tally : totals of the last search
    episode, visited : the last simulation, see `simulate_by_table`

    >>> import rlgo
    >>> player, game = rlgo.TableSearch(5, simulations=300, seed=1), rlgo.Game(5)
    >>> game.play(player.genmove(game))
    >>> int(player.tally.states)
    300
    """

    def __init__(
        self,
        size: int = DEFAULT_SIZE,
        simulations: int = 1_000,
        policy: Policy = GREEDY,
        learning: TableLearning = MONTE_CARLO,
        default: DefaultPolicy = DefaultPolicy(),
        max_moves: int = 0,
        seed: Seed = None,
        name: str = "table_search",
    ):
        size, simulations = board_size(size), check("simulations", simulations, TableSimulations)
        self.name, self.sizes, self.simulations = name, (size,), simulations
        self.settings = validated(TableSettings(policy, learning, default))
        self.max_moves = check_max_moves(max_moves, size)
        sequence = seed_sequence(seed)
        self._scratch, self._choice = make_scratch(size, tally_dtype(), sequence), np.random.default_rng(sequence)
        self.episode, self.tally = self._scratch.episode, self._scratch.tally
        announce(f"simulations = {simulations}", simulations * (state_dtype(size).itemsize + 32))
        places = np.full(1 << (2 * simulations).bit_length(), -1, np.int64)
        self._known = States(np.zeros(simulations, state_dtype(size)), places, np.zeros(self.max_moves, np.int64))
        self.states, self.visited = self._known.states, self._known.visited
        self._points = points_of_moves(size)
        self._values = np.full(size * size + 1, np.nan)

    def genmove(self, game: Game) -> int:
        """Simulate, and choose the move with the best mean; see `Player.genmove`."""
        self.begin(game)
        for n in self.own_budget().slices():
            self.simulate(game, n)
        root = self.states[0]
        self._values[:] = root.Q[self._points]
        # An action that no simulation took has no mean and must not be chosen.
        self._values[root.N[self._points] == 0] = -np.inf if game.to_play == BLACK else np.inf
        move = greedy_move(game, self._values, self._choice)
        self._values[np.isinf(self._values)] = np.nan
        return move

    def begin(self, game: Game) -> None:
        """Forget everything, and start from the position of `game`."""
        check_size(self, game)
        self._scratch.boards[0] = game.board
        self._scratch.boards[0].n_passes = 0  # the search assumes that the game continues, even after two passes
        self._known.places[:] = -1
        clear_tally(self.tally)

    def warm_up(self) -> None:
        """Compile what a search needs, so that compiling costs no clock time."""
        assert self.sizes is not None
        game = Game(self.sizes[0])
        self.begin(game)
        self.simulate(game, 0)

    def simulate(self, game: Game, n: int) -> None:
        """Run n more simulations."""
        rules = make_rules(game.size, game.komi)
        with compiling(f"table search, {game.size}x{game.size}"):
            simulate_by_table(n, self._scratch, self._known, self.settings, self.max_moves, rules)

    def new_game(self) -> None:
        """Forget the last search."""
        self._values[:] = np.nan
        clear_tally(self.tally)

    def searched(self) -> int:
        """Return the simulations of the last search."""
        return int(self.tally.simulations + self.tally.abandoned)

    def report(self) -> list[str]:
        """Describe the last search in one line."""
        n = int(self.tally.simulations)
        if self.tally.abandoned and not n:
            return [f"all {int(self.tally.abandoned):,} simulations exceeded max_moves"]
        return (
            [f"Black won {self.tally.wins / n:.1%} of {n:,} simulations; {int(self.tally.states):,} states"]
            if n
            else []
        )

    def analyses(self) -> dict[str, np.ndarray]:
        """Return one map, ``value``: Q of each action that was tried, P(Black wins)."""
        assert self.sizes is not None
        return {"value": self._values[:-1].reshape(self.sizes[0], -1)}
