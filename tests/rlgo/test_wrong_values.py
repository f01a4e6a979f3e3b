"""What a person may pass by mistake to any public function or class is refused in one line, and nothing is changed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mcts
import rlgo

NAN, SIZE = math.nan, 5
FEATURES = rlgo.make_features(SIZE, (1, 2))
THETA = np.zeros(FEATURES.n_weights + 1, np.float32)
WEIGHTS = rlgo.Weights(FEATURES, THETA)
SHORT = THETA[:7]


def learner() -> rlgo.Learner:
    return rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy())


WRONG = {
    "rlgo.Learner": [
        (lambda: rlgo.Learner("9x9", rlgo.Learning(), rlgo.Policy()), "features = '9x9': expected a FeatureSet"),
        (lambda: rlgo.Learner(FEATURES, 0.1, rlgo.Policy()), "learning = 0.1: expected a Learning"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), 0.1), "policy = 0.1: expected a Policy"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy(), NAN), "komi = nan: expected a number from"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy(), max_moves=-1), "max_moves = -1: expected"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy(), seed="x"), "seed = 'x': expected an integer"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy(), theta=SHORT), "theta: 6 weights, expected"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy(), workers=1.5), "workers = 1.5: expected"),
        (lambda: learner().learn(1.5), "games = 1.5: expected an integer from 0 to"),
        (lambda: learner().learn(-1), "games = -1: expected an integer from 0 to"),
        (lambda: learner().learn(NAN), "games = nan: expected"),
        (lambda: learner().play("10"), "games = '10': expected"),
    ],
    "rlgo.make_features": [
        (lambda: rlgo.make_features(3), "board size 3: expected 5 to 19"),
        (lambda: rlgo.make_features(9, (1, 4)), "sizes = (1, 4): expected an ascending subset of [1, 2, 3]"),
        (lambda: rlgo.make_features(9, 3), "sizes = 3: expected an ascending subset"),
        (lambda: rlgo.make_features(9, (2, 1)), "sizes = (2, 1): expected"),
        (lambda: rlgo.make_features(9, sharing=["LI"]), "sharing = ['LI']: expected one of LI+LD"),
    ],
    "rlgo.Weights": [
        (lambda: rlgo.Weights(FEATURES, SHORT), "theta: 6 weights, expected"),
        (lambda: rlgo.Weights(FEATURES, THETA.tolist()), "theta = [0.0, 0.0"),
        (lambda: rlgo.Weights(FEATURES, THETA.astype(float)), "theta: float64 weights, expected float32"),
        (lambda: rlgo.Weights(FEATURES, THETA, value="cubic"), "value = 'cubic': expected one of"),
        (lambda: rlgo.Weights(FEATURES, THETA, komi=NAN), "komi = nan: expected"),
        (lambda: rlgo.Weights(None, THETA), "features = None: expected a FeatureSet"),
        (lambda: rlgo.shipped_weights("9x9"), "board size '9x9': expected 5 to 19"),
        (lambda: rlgo.load_weights("nowhere.npz"), "nowhere.npz: cannot be read"),
        (lambda: rlgo.load_weights(3), "path = 3: expected the path of a file"),
        (lambda: rlgo.save_weights("x.npz", THETA), "expected a Weights"),
    ],
    "rlgo.play_fast": [
        (lambda: rlgo.play_fast(FEATURES, SHORT, THETA, 2, 1), "theta: 6 weights, expected"),
        (lambda: rlgo.play_fast(FEATURES, THETA, None, 2, 1), "theta = None: expected a row of"),
        (lambda: rlgo.play_fast(FEATURES, THETA, THETA, 3, 1), "games = 3: expected an even number"),
        (lambda: rlgo.play_fast(FEATURES, THETA, THETA, 2, 1, opening=-1), "opening = -1: expected an integer from 0"),
        (lambda: rlgo.play_fast(FEATURES, THETA, THETA, 2, 1, max_moves=10**9), "max_moves = 1000000000: expected"),
        (lambda: rlgo.play_fast(FEATURES, THETA, THETA, 2, 1, komi=math.inf), "komi = inf: expected"),
        (lambda: rlgo.play_fast(WEIGHTS, THETA, THETA, 2, 1), "expected a FeatureSet"),
    ],
    "players": [
        (lambda: rlgo.RandomPlayer(-1), "seed = -1: expected an integer of at least 0"),
        (lambda: rlgo.RandomPlayer(1).genmove("E5"), "game = 'E5': expected a Game"),
        (lambda: rlgo.GreedyPlayer(WEIGHTS), "expected a ValueFunction"),
        (lambda: rlgo.GreedyPlayer(rlgo.ValueFunction(WEIGHTS), epsilon=2), "epsilon = 2: expected a number from 0 to"),
        (lambda: rlgo.GreedyPlayer(rlgo.ValueFunction(WEIGHTS)).genmove(3), "game = 3: expected a Game"),
        (lambda: rlgo.TableSearch(SIZE, 1e12), "simulations = 1000000000000.0: expected an integer from 1 to"),
        (lambda: rlgo.TableSearch(SIZE, learning=rlgo.Learning()), "expected a TableLearning"),
        (lambda: rlgo.AlphaBeta(THETA), "expected a Weights"),
        (lambda: rlgo.AlphaBeta(WEIGHTS, depth=40), "depth = 40: expected an integer from 1 to 39, or None"),
        (lambda: rlgo.AlphaBeta(WEIGHTS, options=True), "options = True: expected an Options"),
        (lambda: rlgo.AlphaBeta(WEIGHTS, table_bits=60), "table_bits = 60: expected an integer from 4 to 28"),
        (lambda: rlgo.TwoPhase("dyna2"), "first = 'dyna2': expected a TdSearch"),
        (lambda: rlgo.Dyna2(SIZE, "w.npz"), "long_term = 'w.npz': expected a Weights"),
        (lambda: rlgo.Dyna2(SIZE, WEIGHTS, long_epsilon=NAN), "long_epsilon = nan: expected"),
        (lambda: rlgo.Dyna2(SIZE, WEIGHTS, long_learning=0.1), "long_learning = 0.1: expected a Learning"),
        (lambda: mcts.TreeSearch(SIZE, seconds=math.inf), "seconds = inf: expected a positive number, or None"),
        (lambda: mcts.TreeSearch(SIZE, simulations=1.5), "simulations = 1.5: expected an integer from 1 to"),
        (lambda: mcts.TreeSearch(SIZE, prior=3), "prior = 3: expected a function"),
    ],
    "the rest": [
        (lambda: rlgo.Budget(-1), "simulations = -1: expected an integer from 0 to"),
        (lambda: rlgo.Budget(seconds=NAN), "seconds = nan: expected a number of at least 0, or None"),
        (lambda: rlgo.TimeSettings(-1), "main = -1: expected a number of at least 0"),
        (lambda: rlgo.TimeSettings(60, stones=1.5), "stones = 1.5: expected"),
        (lambda: rlgo.GameSession("random"), "player = 'random': expected a player"),
        (lambda: rlgo.new_board(25), "board size 25: expected 5 to 19"),
        (lambda: rlgo.from_vertex(5, 9), "vertex 5: expected a letter"),
        (lambda: rlgo.to_vertex("E5", 9), "point 'E5': not on the 9x9 board"),
        (lambda: rlgo.from_row_col("a", 2, 9), "(row, col) = ('a', 2): not on the 9x9 board"),
        (lambda: rlgo.load_sgf("nowhere.sgf"), "no such file"),
        (lambda: mcts.q_rlgo(WEIGHTS, [3]), "position = 3: expected a Game, or a board"),
        (lambda: mcts.q_rlgo(WEIGHTS, rlgo.Game(SIZE)), "expected a list of positions"),
    ],
}


@pytest.mark.parametrize(("call", "words"), [case for cases in WRONG.values() for case in cases])
def test_wrong_values_are_refused_in_one_line(call, words):
    with pytest.raises(rlgo.RlgoError) as error:
        call()
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_what_a_notebook_shows():
    one = learner()
    assert repr(one) == f"<Learner {FEATURES.name}, komi 7.5: 0 games>"
    assert repr(one.learn(2)).startswith("<Tally games 2, discarded 0, moves ")
    assert repr(FEATURES) == "<FeatureSet 5x5 1x1+2x2 LI+LD: 107 weights of 1,371 shapes>"
    assert repr(WEIGHTS) == "<Weights 5x5 1x1+2x2 LI+LD: 107 weights, logistic, komi 7.5, 0 games>"
    assert repr(rlgo.RandomPlayer()) == "<RandomPlayer 'random', any board>"
    assert repr(rlgo.TableSearch(SIZE, 1_000)) == "<TableSearch 'table_search', 5x5, 1,000 simulations>"
    game = rlgo.Game(SIZE)
    game.play("C3")
    assert repr(game) == "<Game 5x5, komi 7.5, 1 move, White to play>"
    assert game._repr_svg_().startswith("<svg ")
    assert repr(rlgo.play_fast(FEATURES, THETA, THETA, 0, 1)) == "<FastGames: none>"
    assert repr(rlgo.play_fast(FEATURES, THETA, THETA, 4, 1)).endswith(" of 4>")
