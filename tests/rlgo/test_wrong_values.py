"""Wrong values for any public function or class raise a one-line error, and change nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from nonsense import NONSENSE

import mcts
import rlgo

NAN, SIZE = math.nan, 5
FEATURES = rlgo.make_features(SIZE, (1, 2))
THETA = np.zeros(FEATURES.n_weights + 1, np.float32)
WEIGHTS = rlgo.Weights(FEATURES, THETA)
SHORT = THETA[:7]


def learner() -> rlgo.Learner:
    return rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy())


def session(time: rlgo.TimeSettings) -> rlgo.GameSession:
    return rlgo.GameSession(rlgo.RandomPlayer(1), SIZE, time_settings=time)


WRONG = {
    "rlgo.Learner": [
        (lambda: rlgo.Learner("9x9", rlgo.Learning(), rlgo.Policy()), "features = '9x9': expected a FeatureSet"),
        (lambda: rlgo.Learner(FEATURES, 0.1, rlgo.Policy()), "learning = 0.1: expected a Learning"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), 0.1), "policy = 0.1: expected a Policy"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy(), NAN), "komi = nan: expected a number from"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy(), max_moves=-1), "max_moves = -1: expected"),
        (lambda: rlgo.Learner(FEATURES, rlgo.Learning(), rlgo.Policy(), merge_every=0), "merge_every = 0: expected"),
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
        (lambda: rlgo.Weights(FEATURES, THETA + np.float32(NAN)), "theta: expected finite weights"),
        (lambda: rlgo.Weights(FEATURES, THETA, value="cubic"), "value = 'cubic': expected one of"),
        (lambda: rlgo.Weights(FEATURES, THETA, komi=NAN), "komi = nan: expected"),
        (lambda: rlgo.Weights(None, THETA), "features = None: expected a FeatureSet"),
        (lambda: rlgo.shipped_weights("9x9"), "board size '9x9': expected 5 to 19"),
        (lambda: rlgo.load_weights("nowhere.npz"), "nowhere.npz: no such weight file; shipped weights: "),
        (lambda: rlgo.load_weights(3), "path = 3: expected a path"),
        (lambda: rlgo.load_weights("a\0b"), "path = 'a\\x00b': expected a path"),
        (lambda: rlgo.save_weights("x.npz", THETA), "expected a Weights"),
    ],
    "rlgo.play_fast": [
        (lambda: rlgo.play_fast(FEATURES, SHORT, THETA, 2, 1), "theta: 6 weights, expected"),
        (lambda: rlgo.play_fast(FEATURES, THETA, None, 2, 1), "theta = None: expected a row of"),
        (lambda: rlgo.play_fast(FEATURES, THETA, THETA, 3, 1), "games = 3: expected an even number"),
        (
            lambda: rlgo.play_fast(FEATURES, THETA, THETA, 2, 1, openings=-1),
            "openings = -1: expected an integer from 0",
        ),
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
        (lambda: rlgo.AlphaBeta(WEIGHTS, options=True), "options = True: expected an AlphaBetaOptions"),
        (lambda: rlgo.AlphaBeta(WEIGHTS, table_bits=60), "table_bits = 60: expected an integer from 4 to 28"),
        (lambda: rlgo.TwoPhase("dyna2"), "first = 'dyna2': expected a TdSearch"),
        (lambda: rlgo.Dyna2(SIZE, "w.npz"), "long_term = 'w.npz': expected a Weights"),
        (lambda: rlgo.Dyna2(SIZE, WEIGHTS, long_epsilon=NAN), "long_epsilon = nan: expected"),
        (lambda: rlgo.Dyna2(SIZE, WEIGHTS, long_learning=0.1), "long_learning = 0.1: expected a Learning"),
        (lambda: mcts.TreeSearch(SIZE, seconds=math.inf), "seconds = inf: expected a positive number, or None"),
        (lambda: mcts.TreeSearch(SIZE, simulations=1.5), "simulations = 1.5: expected an integer from 1 to"),
        (lambda: mcts.TreeSearch(SIZE, evaluator=3), "evaluator = 3: expected a function"),
    ],
    "the rest": [
        (lambda: rlgo.Budget(-1), "simulations = -1: expected an integer from 0 to"),
        (lambda: rlgo.Budget(seconds=NAN), "seconds = nan: expected a number of at least 0, or None"),
        (lambda: session(rlgo.TimeSettings(-1)), "main = -1: expected a number of at least 0"),
        (lambda: session(rlgo.TimeSettings(60, stones=1.5)), "stones = 1.5: expected"),
        (lambda: rlgo.GameSession("random"), "player = 'random': expected a player"),
        (lambda: rlgo.new_board(25), "board size 25: expected 5 to 19"),
        (lambda: rlgo.from_vertex(5, 9), "vertex 5: expected a letter"),
        (lambda: rlgo.to_vertex("E5", 9), "point 'E5': not on the 9x9 board"),
        (lambda: rlgo.from_row_col("a", 2, 9), "(row, col) = ('a', 2): not on the 9x9 board"),
        (lambda: rlgo.load_sgf("nowhere.sgf"), "no such file"),
        (lambda: rlgo.save_sgf(3, b"(;SZ[5])"), "path"),
        (lambda: rlgo.save_sgf("new.sgf", "(;SZ[5])"), "record"),
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


TREE = {"simulations": 1, "resources": mcts.Resources(memory_mb=1)}
CALLS = {
    "Learner": (rlgo.Learner, {"features": FEATURES, "learning": rlgo.Learning(), "policy": rlgo.Policy()}),
    "Learner.learn": (learner().learn, {"games": 0}),
    "Learner.play": (learner().play, {"games": 0}),
    "make_features": (rlgo.make_features, {"size": SIZE, "sizes": (1,), "sharing": "LI"}),
    "Weights": (rlgo.Weights, {"features": FEATURES, "theta": THETA, "komi": 0.5, "value": "linear", "games": 1}),
    "shipped_weights": (rlgo.shipped_weights, {"size": 9}),
    "play_fast": (rlgo.play_fast, {"features": FEATURES, "theta_a": THETA, "theta_b": THETA, "games": 0, "seed": 1}),
    "value": (rlgo.ValueFunction(WEIGHTS).value, {"position": rlgo.Game(SIZE)}),
    "afterstates": (rlgo.ValueFunction(WEIGHTS).afterstates, {"position": rlgo.Game(SIZE)}),
    "Game": (rlgo.Game, {"size": SIZE, "komi": 0.5}),
    "Game.play": (lambda **given: rlgo.Game(SIZE).play(**given), {"p": "C3", "color": 1}),
    "Game.set_up": (lambda **given: rlgo.Game(SIZE).set_up(**given), {"stones": [], "to_play": 1}),
    "Game.after": (rlgo.Game(SIZE).after, {"n": 0}),
    "Game.fixed_handicap": (lambda **given: rlgo.Game(9).fixed_handicap(**given), {"n": 2}),
    "Game.set_free_handicap": (lambda **given: rlgo.Game(9).set_free_handicap(**given), {"points": ["C3", "D4"]}),
    "GameSession": (
        rlgo.GameSession,
        {"player": rlgo.RandomPlayer(1), "size": SIZE, "all_alive": True, "time_settings": None, "ponders": False},
    ),
    "from_vertex": (rlgo.from_vertex, {"text": "C3", "size": SIZE}),
    "to_vertex": (rlgo.to_vertex, {"point": 0, "size": SIZE}),
    "from_row_col": (rlgo.from_row_col, {"row": 0, "col": 0, "size": SIZE}),
    "to_row_col": (rlgo.to_row_col, {"point": 7, "size": SIZE}),
    "point_of": (rlgo.point_of, {"place": "C3", "size": SIZE}),
    "new_board": (rlgo.new_board, {"size": SIZE}),
    "board_svg": (rlgo.board_svg, {"position": rlgo.Game(SIZE), "last": None, "values": None, "cell": 28}),
    "Budget": (rlgo.Budget, {"simulations": 1, "seconds": 1.0}),
    "TimeSettings": (
        lambda **given: session(rlgo.TimeSettings(**given)),
        {"main": 1, "period": 1, "stones": 1, "periods": 1},
    ),
    "RandomPlayer": (rlgo.RandomPlayer, {"seed": 1}),
    "GreedyPlayer": (rlgo.GreedyPlayer, {"value_function": rlgo.ValueFunction(WEIGHTS), "seed": 1, "epsilon": 0}),
    "GreedyPlayer.candidates": (rlgo.GreedyPlayer(rlgo.ValueFunction(WEIGHTS)).candidates, {"game": rlgo.Game(SIZE)}),
    "TdSearch": (
        rlgo.TdSearch,
        dict.fromkeys(("policy", "learning", "simulation", "default", "reset", "delay", "resign"))
        | {"size": SIZE, "sizes": (1,), "simulations": 1, "seconds": 1, "workers": 1, "seed": 1},
    ),
    "Dyna2": (
        rlgo.Dyna2,
        dict.fromkeys(("sizes", "long_learning", "long_epsilon", "long_save", "seed"))
        | {"size": SIZE, "long_term": WEIGHTS, "simulations": 1},
    ),
    "TableSearch": (
        rlgo.TableSearch,
        dict.fromkeys(("policy", "learning", "default", "max_moves", "seed")) | {"size": SIZE, "simulations": 1},
    ),
    "AlphaBeta": (
        rlgo.AlphaBeta,
        dict.fromkeys(("options", "seed", "seconds")) | {"weights": WEIGHTS, "depth": 1, "table_bits": 4},
    ),
    "TwoPhase": (rlgo.TwoPhase, {"first": rlgo.TdSearch(SIZE, simulations=1), "depth": 1, "table_bits": 4}),
    "TreeSearch": (
        mcts.TreeSearch,
        dict.fromkeys(("settings", "default_policy", "weights", "evaluator", "prior_search", "resign"))
        | {"size": SIZE, **TREE},
    ),
    "TreeSearch.search": (mcts.TreeSearch(SIZE, **TREE).search, {"game": rlgo.Game(SIZE), "budget": None}),
    "TreeSearch.genmove": (mcts.TreeSearch(SIZE, **TREE).genmove, {"game": rlgo.Game(SIZE)}),
    "q_rlgo": (mcts.q_rlgo, {"weights": WEIGHTS, "boards": [rlgo.Game(SIZE)]}),
}


@pytest.mark.parametrize(("call", "good"), CALLS.values(), ids=CALLS)
def test_any_nonsense_is_taken_or_refused_in_one_line(call, good, tmp_path, monkeypatch):
    """Every argument in turn; a None above stands for the default."""
    monkeypatch.chdir(tmp_path)  # some of it names a file
    given = {name: value for name, value in good.items() if value is not None}
    messages = []
    for name in good:
        for value in NONSENSE:
            try:
                call(**(given | {name: value}))
            except rlgo.RlgoError as error:
                messages.append(str(error))
    assert messages
    assert max(len(message.splitlines()) for message in messages) == 1
    assert max(map(len, messages)) < 300


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
