"""Clocks, pondering and candidates: the same tests for every family of searches.

They use 5x5 boards because other tests compile the same kernels.
"""

from __future__ import annotations

import numpy as np
import pytest

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS, Resources
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction
from rlgo.play.player import RESIGN, GreedyPlayer, Player, position_of
from rlgo.search.alphabeta_player import AlphaBeta
from rlgo.search.dyna2 import Dyna2
from rlgo.search.td_search import TdSearch
from rlgo.search.two_phase import TwoPhase

LARGE = 10**8  # more simulations than there is ever time for


def weights(scale: float = 0.05) -> Weights:
    features = make_features(5, (1, 2))
    theta = np.random.default_rng(1).normal(0, scale, features.n_weights + 1).astype(np.float32)
    theta[0] = 0
    return Weights(features, theta)


def tree_search(**options) -> TreeSearch:
    return TreeSearch(5, ALGORITHMS["mc_rave"], simulations=options.pop("simulations", LARGE), seed=1, **options)


SEARCHES = {
    "mc_rave": tree_search,
    "two threads": lambda: tree_search(resources=Resources(workers=2)),
    "td_search": lambda: TdSearch(5, simulations=LARGE, seed=1),
    "dyna2": lambda: Dyna2(5, weights(), simulations=LARGE, seed=1),
    "alphabeta": lambda: AlphaBeta(weights(), depth=39, seed=1),
    "two_phase": lambda: TwoPhase(TdSearch(5, simulations=LARGE, seed=1), depth=39, seed=1),
    "prior_search": lambda: TreeSearch(
        5, ALGORITHMS["heuristic_mc_rave"], LARGE, prior_search=TdSearch(5, simulations=LARGE, seed=1), seed=1
    ),
}
PONDERING = [name for name in SEARCHES if name != "alphabeta"]


@pytest.fixture(params=list(SEARCHES))
def player(request: pytest.FixtureRequest) -> Player:
    made = SEARCHES[request.param]()
    made.warm_up()
    return made


def game_after(moves: str) -> Game:
    game = Game(5, 2.5)
    for name in moves.split():
        game.play(from_vertex(name, 5))
    return game


def test_a_clock_ends_every_search(player: Player) -> None:
    """The limit is the clock's; without it, none of them would end at all."""
    player.limit = 0.2
    game = game_after("C3")
    assert game.is_legal(player.genmove(game))
    player.limit = 0.0  # at once
    assert game.is_legal(player.genmove(game_after("C3 D3 D2")))


def test_what_a_search_thinks_is_reported(player: Player) -> None:
    game = game_after("C3 D3")
    player.limit = 0.1
    chosen = player.genmove(game)
    found = player.candidates(game)
    assert found[0].move == chosen
    assert found[0].line[0] == chosen
    assert found[0].visits >= 1
    assert {c.move for c in found} <= {*game.legal_moves(), PASS}
    assert len(found) == len({c.move for c in found})
    assert all(0 <= c.value <= 1 for c in found)


@pytest.mark.parametrize("name", PONDERING)
def test_pondering_goes_on_until_it_is_stopped(name: str) -> None:
    player = SEARCHES[name]()
    player.warm_up()
    asked = []
    game = game_after("C3")

    def stop() -> bool:
        asked.append(len(player.candidates(game)))  # it may be asked in the middle of it
        return len(asked) == 20

    player.limit = 0.001  # of the last move: no limit for thinking ahead
    if name == "prior_search":
        player.prior_search.simulations = 10
    player.ponder(game, stop)
    assert len(asked) >= 20
    assert asked[-1] > 1
    assert game.moves == game_after("C3").moves


def test_a_tree_keeps_what_was_thought_of_the_answer_that_comes() -> None:
    player = tree_search(simulations=400)
    player.warm_up()
    game = game_after("C3")
    steps = []
    player.ponder(game, lambda: bool(steps.append(1)) or len(steps) > 40)
    best = player.candidates(game)[0]
    assert best.visits > 1000
    game.play(best.move)
    player.genmove(game)
    assert player.result is not None
    assert player.result.simulations <= 400 < player.result.visits.sum()
    # The same position again, as when an analysis is taken up: nothing is lost either.
    before = int(player.result.visits.sum())
    player.genmove(game)
    assert player.result.visits.sum() >= before


def test_trees_end_early_where_the_clock_cannot_change_the_move() -> None:
    """Asked is whether as many simulations as the time will allow could change it."""
    asked = []

    class Decided(TreeSearch):
        def is_decided(self, left: int) -> bool:
            asked.append(left)
            return left < LARGE // 2

    player = Decided(5, ALGORITHMS["mc_rave"], LARGE, seed=1)
    player.warm_up()
    player.limit = 100.0
    player.genmove(game_after("C3"))
    assert player.result is not None
    assert player.result.simulations < LARGE // 100
    assert 1000 < asked[-1] < LARGE // 2


def test_candidates_are_of_the_position_that_is_asked_about(player: Player) -> None:
    here, elsewhere = game_after("C3"), game_after("C3 B2 D4")
    player.limit = 0.05
    player.genmove(here)
    first = player.candidates(here)[0]
    for candidate in player.candidates(elsewhere):
        assert elsewhere.is_legal(candidate.move)
    assert position_of(here) != position_of(elsewhere)
    assert here.is_legal(first.move)


def test_a_pass_that_wins_is_not_resigned() -> None:
    """White has passed, and Black has won as the board stands, whatever simulations believe."""
    game = game_after("C3 pass")
    game.komi = 0.5
    for player in (
        TdSearch(5, simulations=20, resign=0.99, seed=1),
        TwoPhase(TdSearch(5, simulations=20, resign=0.99, seed=1), depth=1, seed=1),
        tree_search(simulations=50, resign=0.99),
    ):
        assert player.genmove(game) == PASS
    game = game_after("C3 D3")
    game.komi = 100.0  # lost
    for player in (
        TdSearch(5, simulations=200, resign=0.3, seed=1),
        TwoPhase(TdSearch(5, simulations=200, resign=0.3, seed=1), depth=1, seed=1),
        tree_search(simulations=200, resign=0.3),
    ):
        assert player.genmove(game) == RESIGN
        game.to_play = WHITE
        assert player.genmove(game) != RESIGN
        game.to_play = BLACK


def test_players_that_learn_from_nothing_do_not_ponder() -> None:
    def never() -> bool:
        pytest.fail("pondered")

    for player in (
        GreedyPlayer(ValueFunction(weights()), 1),
        AlphaBeta(weights(), depth=1),
        TdSearch(5, simulations=5, reset=True),
        Dyna2(5, weights(), sizes=(), simulations=5),
    ):
        player.ponder(game_after("C3"), never)


def test_weights_of_players_value_as_they_do() -> None:
    """`value_weights` and the values of the moves tell the same."""
    game = game_after("C3 D3 B2")
    for player in (
        GreedyPlayer(ValueFunction(weights()), 1),
        AlphaBeta(weights(), depth=1, seed=1),
        TdSearch(5, simulations=50, seed=1),
        Dyna2(5, weights(), simulations=50, seed=1),
    ):
        player.genmove(game)
        found = player.value_weights()
        assert found is not None
        values = ValueFunction(found).afterstates(game.board)[:-1].reshape(5, 5)
        assert np.nanmax(np.abs(values - player.analyses()["value"])) < 1e-5
