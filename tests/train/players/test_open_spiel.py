"""OpenSpiel's tree search as a player, and with networks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from network_files import random_network
from stand_ins import TWO_STONES_SENT

import mcts
from rlgo.base.errors import RlgoError
from rlgo.go.board import PASS
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.go.positions import Positions
from train.arena.match import play_match

if sys.platform == "win32":  # where the test extra leaves it out
    pytest.skip("OpenSpiel is not installed", allow_module_level=True)

import pyspiel
from open_spiel.python.algorithms.mcts import MCTSBot, SearchNode

from train.players.open_spiel import OpenSpielSearch, SpielEvaluator, _action, _point


@pytest.mark.parametrize("size", [5, 9])
def test_points_are_those_of_open_spiel(size: int):
    """By OpenSpiel's own names of its actions."""
    state = pyspiel.load_game("go", {"board_size": size}).new_initial_state()
    for action in state.legal_actions():
        name = state.action_to_string(0, action).split()[1]
        p = from_vertex(name, size)
        assert (_point(action, size), _action(p, size)) == (p, action)


def test_without_open_spiel_it_says_what_to_install():
    code = "import sys; sys.modules['pyspiel'] = None; import train.players.open_spiel"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("RlgoError: needs OpenSpiel, which is not installed: pip install 'rlgo[open-spiel]'")


def test_it_plays_matches_which_a_seed_fixes():
    results = [play_match("random", "open_spiel,sims=10", 4, size=5, seed=seed, progress=False) for seed in (3, 3, 4)]
    assert results[0] == results[1] != results[2]
    assert results[0].forfeits == 0
    assert results[0].distinct == 4


def test_the_search_takes_what_superko_allows():
    """Its favourite repeats a position, which ends the game as a draw for it: better than to lose."""
    game = Game(5, 24.5)
    for name in TWO_STONES_SENT.split():
        game.play(from_vertex(name, 5))
    chosen = OpenSpielSearch(5, 300, seed=1).genmove(game)
    assert game.is_legal(chosen)
    assert not game.is_legal(from_vertex("B1", 5))


def test_games_that_open_spiel_cannot_have():
    game = Game(9)
    game.fixed_handicap(2)
    game.play(from_vertex("E5", 9))
    with pytest.raises(RlgoError, match="without setup stones, and moves in turn"):
        OpenSpielSearch(9, 5).genmove(game)
    game = Game(9)
    game.play(from_vertex("E5", 9), 2)
    with pytest.raises(RlgoError, match="moves in turn"):
        OpenSpielSearch(9, 5).genmove(game)
    with pytest.raises(RlgoError, match="plays on 9x9"):
        OpenSpielSearch(9, 5).genmove(Game(5))
    with pytest.raises(RlgoError, match="simulations = 0"):
        OpenSpielSearch(9, 0)


def test_it_passes_where_the_game_is_over_for_it():
    game = Game(5)
    for _ in range(2):
        game.play(PASS)
    assert OpenSpielSearch(5, 5, seed=1).genmove(game) == PASS


# ---------------------------------------------------------------------------------------------
# Networks for OpenSpiel's search
# ---------------------------------------------------------------------------------------------


def load(size: int = 5, komi: float = 7.5, **parameters: int) -> pyspiel.Game:
    return pyspiel.load_game("go", {"board_size": size, "komi": komi, **parameters})


def state_after(game: pyspiel.Game, moves: str) -> pyspiel.State:
    """By OpenSpiel's own names."""
    state = game.new_initial_state()
    for name in moves.split():
        mover = state.current_player()
        written = "PASS" if name == "pass" else name.lower()
        state.apply_action(state.string_to_action(mover, f"{'BW'[mover]} {written}"))
    return state


def counting(evaluator):
    """An evaluator that counts its positions."""

    def evaluate(positions: Positions):
        evaluate.asked += len(positions)
        return evaluator(positions)

    evaluate.asked = 0
    return evaluate


def by_hand(positions: Positions) -> dict[str, np.ndarray]:
    """A value that tells komi, and probabilities that tell moves apart, illegal ones among them."""
    p = np.arange(1.0, positions.size**2 + 2)
    return {"policy": np.tile(p / p.sum(), (len(positions), 1)), "value": positions.komi / 10}


@pytest.mark.parametrize("kind", ["network", "onnx"])
@pytest.mark.parametrize("moves", ["", "B1", "B1 A3", "B1 A3 D2 pass E4", TWO_STONES_SENT])
def test_values_and_priors_are_the_networks(kind: str, moves: str, tmp_path) -> None:
    """For both colours: the network sees the position of the same game, and says P(Black wins)."""
    if kind == "onnx":
        pytest.importorskip("onnxruntime")
        network = mcts.OnnxNetwork(pytest.importorskip("onnx_files").save_network(tmp_path / "network.onnx"))
    else:
        network = random_network()
    game = Game(5, 6.5)
    for name in moves.split():
        game.play(name)
    answer = network(Positions.of(game))
    state, adapter = state_after(load(5, 6.5), moves), SpielEvaluator(network)
    assert adapter.evaluate(state) == pytest.approx([2 * answer["value"][0] - 1, 1 - 2 * answer["value"][0]])
    weights = np.exp(answer["logits"][0].astype(float))
    actions = state.legal_actions()
    assert [action for action, _ in adapter.prior(state)] == actions
    expected = weights[actions] / weights[actions].sum()
    np.testing.assert_allclose([p for _, p in adapter.prior(state)], expected, rtol=1e-5)


def test_probabilities_are_those_of_legal_actions() -> None:
    state, adapter = state_after(load(5, 3.0), "A1"), SpielEvaluator(by_hand)
    assert adapter.evaluate(state) == pytest.approx([-0.4, 0.4])
    assert dict(adapter.prior(state)) == pytest.approx({k: (k + 1) / (26 * 27 / 2 - 1) for k in range(1, 26)})
    uniform = SpielEvaluator(lambda positions: {"value": np.full(len(positions), 0.5)})
    assert dict(uniform.prior(state)) == pytest.approx(dict.fromkeys(range(1, 26), 1 / 25))


def test_open_spiels_search_plays_with_it() -> None:
    """A whole game against chance. Each state is evaluated once; those of another game are told apart."""
    game, network = load(5, 3.5, max_game_length=60), counting(random_network())
    adapter = SpielEvaluator(network)
    bots = [
        MCTSBot(game, 1.5, 20, adapter, random_state=np.random.RandomState(1), child_selection_fn=select)
        for select in (SearchNode.puct_value, SearchNode.uct_value)
    ]
    state = game.new_initial_state()
    returns = pyspiel.evaluate_bots(state, bots, 1)
    assert state.is_terminal()
    assert returns in ([1, -1], [-1, 1], [0, 0])
    asked = network.asked
    assert 0 < asked <= 20 * len(state.history())
    adapter.evaluate(game.new_initial_state())
    assert network.asked == asked
    for other in (load(5, 4.5), load(7, 3.5)):
        adapter.evaluate(other.new_initial_state())
    assert network.asked == asked + 2


def test_it_finds_the_move_that_captures() -> None:
    """The value counts stones, and White can take one in two corners."""

    def stones(positions: Positions) -> dict[str, np.ndarray]:
        board = positions.stones()
        return {"value": 0.5 + ((board == 1).sum((1, 2)) - (board == 2).sum((1, 2))) / 50.0}

    state = state_after(load(5, 0.5), "A1 B1 E5 E4 C3")
    bot = MCTSBot(load(5, 0.5), 1.0, 400, SpielEvaluator(stones), random_state=np.random.RandomState(1))
    assert state.action_to_string(1, bot.step(state)) in ("W a2", "W d5")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SpielEvaluator("9x9"), "evaluator = '9x9': expected a function of positions"),
        (lambda: SpielEvaluator(by_hand).evaluate("E5"), "state = 'E5': expected"),
        (lambda: SpielEvaluator(by_hand).prior(pyspiel.load_game("chess").new_initial_state()), "expected its game go"),
        (lambda: SpielEvaluator(lambda _: {}).evaluate(state_after(load(), "")), "evaluator: returned no value"),
        (
            lambda: SpielEvaluator(lambda _: {"q": np.full((1, 26), 0.5)}).prior(state_after(load(), "")),
            "evaluator: returned q: expected policy or logits",
        ),
        (lambda: SpielEvaluator(lambda _: {"value": [2.0]}).evaluate(state_after(load(), "")), "evaluator: value of"),
    ],
)
def test_evaluators_and_states_that_do_not_fit(call, message: str) -> None:
    with pytest.raises(RlgoError, match=message):
        call()
