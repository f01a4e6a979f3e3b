"""Games of a search against itself, many at once, with one batch for all of them.

Start reading at `play_games`. `rlgo games` does the same for players by their names, and keeps the games in files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mcts.leaves import OutsideValue, Value
from mcts.outside.evaluator import Evaluator
from mcts.outside.side_by_side import SideBySide
from mcts.player import TreeSearch
from mcts.policies import Gumbel
from mcts.priors import Outside
from mcts.priors.stages import Stage
from mcts.settings import Resources, Search
from rlgo.base.checks import check
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, Count, Komi, board_size
from rlgo.go.game import Game
from rlgo.go.rules import most_moves

_RESOURCES = Resources(batch=1, memory_mb=8)  # of a game: no simulation waits beside another one


class PlayedGame(NamedTuple):
    """A game of `play_games`, with what its searches found.

    Attributes
    ----------
    number : from 1
    moves : points, or PASS
    z : 1 Black won, 0 White won, 0.5 a draw, by area
    values : P(Black wins) before each move, by its search
    policies : before each move, what a policy should learn (`rlgo.Player.policy_target`): weights by move, best first

    >>> import mcts
    >>> mcts.PlayedGame(1, (), 0.5, (), ()).z
    0.5
    """

    number: int
    moves: tuple[int, ...]
    z: float
    values: tuple[float, ...]
    policies: tuple[dict[int, int], ...]


def play_games(
    evaluator: Evaluator | Callable[..., Any],
    games: int,
    *,
    parallel: int = 64,
    settings: Search = Search(Gumbel(), (Stage(Outside()),), Value(OutsideValue())),
    simulations: int = 32,
    size: int = DEFAULT_SIZE,
    komi: float = DEFAULT_KOMI,
    seed: int = 1,
) -> Iterator[PlayedGame]:
    """Play games of an evaluator's search against itself, and yield each as soon as it is over.

    A game is the same however many are played at once, as far as the evaluator's numbers do not depend on the batch.

    Parameters
    ----------
    evaluator : policies and values of positions, see `Evaluator`
    games : how many
    parallel : games at a time, whose positions are evaluated in one batch
    settings, simulations : the search of each move
    size, komi : of the board
    seed : of all games

    Raises
    ------
    RlgoError : for settings out of range; if the evaluator fails, or its answer is wrong

    >>> import mcts, numpy as np
    >>> def uniform(positions):
    ...     legal = positions.legal()
    ...     return {"policy": legal / legal.sum(axis=1, keepdims=True), "value": np.full(len(positions), 0.5)}
    >>> sorted((game.number, len(game.values)) for game in mcts.play_games(uniform, 2, size=5, simulations=4, seed=2))
    [(1, 3), (2, 6)]
    """
    games, parallel, size = check("games", games, Count), check("parallel", parallel, Count), board_size(size)
    komi = check("komi", komi, Komi)
    numbers, n_playing = iter(range(1, games + 1)), 0
    with SideBySide() as jobs:
        while True:
            while n_playing < parallel and (number := next(numbers, None)) is not None:
                sequence = np.random.SeedSequence(seed, spawn_key=(number,))
                player = TreeSearch(
                    size, settings, simulations, resources=_RESOURCES, evaluator=evaluator, seed=sequence, name="search"
                )
                jobs.start(partial(_play, number, player, Game(size, komi)))
                n_playing += 1
            over = jobs.step()
            if not over:
                return
            n_playing -= len(over)
            yield from (job.result for job in over)


def _play(number: int, player: TreeSearch, game: Game) -> PlayedGame:
    """Play a game to its end."""
    values, policies = list[float](), list[dict[int, int]]()
    while not game.is_over() and len(game.moves) < most_moves(game.size):
        move = player.genmove(game)
        candidates = player.candidates(game)
        values.append(candidates[0].value if candidates else game.outcome)
        policies.append(player.policy_target(game))
        game.play(move)
    return PlayedGame(number, tuple(p for _, p in game.moves), game.outcome, tuple(values), tuple(policies))
