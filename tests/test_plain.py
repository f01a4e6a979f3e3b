"""The algorithms of docs/plain against the compiled ones: the same updates, the same statistics, the same choices."""

from __future__ import annotations

import importlib.util
import re
from functools import partialmethod
from pathlib import Path

import numpy as np
import pytest
from oracles.naive import entry
from tree_tools import (
    SIZE,
    TO_THE_END,
    PatientSearch,
    at,
    by_hash,
    composed,
    game_after,
    path_of,
    set_root,
    value_index,
)

from mcts import Outside, OutsideValue, Value
from mcts.player import TreeSearch
from mcts.settings import Resources
from mcts.tree import PRIOR_UNITS, edges_of
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights
from rlgo.go.board import BLACK, PASS
from rlgo.go.game import Game
from rlgo.go.positions import Positions
from rlgo.learning.value import ValueFunction
from rlgo.network.conv_network import load_network
from rlgo.search.dyna2 import Dyna2
from rlgo.search.network_player import NetworkPlayer
from rlgo.search.td_search import LEARNING, TdSearch

FOLDER = Path(__file__).parents[1] / "docs" / "plain"
NAMES = ("td_learning", "td_search", "dyna2", "uct", "mc_rave", "puct")
GAME = game_after("C3", "B2", "D2", "C4", "B3")


def plain(name):
    """Return a file as a module."""
    spec = importlib.util.spec_from_file_location(f"plain_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_each_is_one_short_file_without_numba(name):
    text = (FOLDER / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 80
    assert set(re.findall(r"^(?:from|import) (\w+)", text, re.M)) <= {"math", "numpy", "rlgo"}


# ---------------------------------------------------------------------------------------------
# Temporal-difference learning
# ---------------------------------------------------------------------------------------------


def place_of(features, shape):
    """Return the place in the table of weights of a shape, (window, stones)."""
    windows = [(f"{k}x{k}", row, col) for k in (1, 2) for row in range(6 - k) for col in range(6 - k)]
    return entry(features, "LD", features.windows.index(windows[shape[0]]), shape[1:])


def states_of(module, game, moves):
    """Return the shapes of all states that a simulation of these moves goes through, without the last."""
    game, states = game.copy(), []
    for p in moves:
        states.append(module.phi(game))
        game.play(p, may_repeat=True)
    return states


@pytest.mark.parametrize("name", ["td_learning", "td_search"])
def test_updates_are_those_of_the_compiled_td_search(name):
    module, theta = plain(name), {}
    search = TdSearch(5, (1, 2), 1, learning=LEARNING._replace(alpha=0.2, schedule=0), seed=3)
    for _ in range(12):
        search.search(GAME)
        episode = search.scratch[0].episode
        states = states_of(module, GAME, episode.moves[: episode.n].tolist())
        module.learn(theta, states, float(search.tally.wins), alpha=0.2)
    expected = np.zeros_like(search.memory().theta)
    for shape, weight in theta.items():
        expected[abs(int(search.features.class_of[place_of(search.features, shape)]))] = weight
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(search.memory().theta, expected, atol=2e-6)


def test_two_memories_learn_as_in_the_compiled_dyna2():
    module, theta_bar = plain("dyna2"), {}
    features = make_features(5, (1, 2), "LD")
    theta_long = np.random.default_rng(1).normal(0, 0.1, features.n_weights + 1).astype(np.float32)
    theta_long[0] = 0
    search = Dyna2(
        5,
        Weights(features, theta_long),
        (1, 2),
        simulations=1,
        learning=LEARNING._replace(alpha=0.2, schedule=0),
        seed=3,
    )
    table, long = features.table(theta_long).black, ValueFunction(Weights(features, theta_long))
    for _ in range(12):
        search.search(GAME)
        episode = search.scratch[0].episode
        states = states_of(module, GAME, episode.moves[: episode.n].tolist())
        theta = {shape: float(table[place_of(features, shape)]) for shapes in states for shape in shapes}
        assert module.value((theta,), states[0]) == pytest.approx(long.value(GAME))
        module.learn((theta, theta_bar), states, float(search.tally.wins), alpha=0.2)
    expected = np.zeros_like(search.memory().theta)
    for shape, weight in theta_bar.items():
        expected[abs(int(search.features.class_of[place_of(search.features, shape)]))] = weight
    np.testing.assert_allclose(search.memory().theta, expected, atol=1e-5)


# ---------------------------------------------------------------------------------------------
# Tree search
# ---------------------------------------------------------------------------------------------


class Replay:
    """In place of a plain search's random numbers: the moves of a simulation of the compiled search."""

    def __init__(self, module, name, monkeypatch):
        self.moves, values_of = iter(()), getattr(module, name)

        def values(node, color):
            found = values_of(node, color)
            i = node.moves.index(self.choice(()))
            assert found[i] == pytest.approx(found.max(), abs=1e-6)
            return np.eye(len(found))[i]

        monkeypatch.setattr(module, name, values)

    def permutation(self, moves):
        return np.array(moves)

    def choice(self, _):
        return next(self.moves)


def compare(tree, at, node, statistics):
    """Compare the statistics of a node, and of all below it; return how many nodes there are."""
    edges, n_nodes = edges_of(tree, at), 1
    order = [node.moves.index(int(p)) for p in edges.move]
    for name, array in statistics(node).items():
        np.testing.assert_allclose(getattr(edges, name), array[order], atol=1e-6, err_msg=name)
    for e, i in zip(edges, order, strict=True):
        assert (e.child >= 0) == (i in node.children)
        n_nodes += compare(tree, int(e.child), node.children[i], statistics) if e.child >= 0 else 0
    return n_nodes


@pytest.mark.parametrize(
    ("name", "values", "settings", "rest", "statistics"),
    [
        ("uct", "bounds", {"first_play_urgency": 1000.0}, (), lambda node: {"n": node.n, "w": node.w}),
        (
            "mc_rave",
            "values",
            {},
            (np.zeros((4, GAME.board.color.size)), 0),
            lambda node: dict(zip(("n", "w", "n_amaf", "w_amaf"), (*node.mc, *node.amaf), strict=True)),
        ),
    ],
)
def test_statistics_and_choices_are_those_of_the_compiled_search(name, values, settings, rest, statistics, monkeypatch):
    """The plain search takes the compiled one's actions; each has its highest value, and both count the same."""
    module = plain(name)
    monkeypatch.setattr(Game, "play", partialmethod(Game.play, may_repeat=True))  # as in simulations
    replay = Replay(module, values, monkeypatch)
    search = TreeSearch(SIZE, composed(name, **settings), 1, default_policy=TO_THE_END, seed=3)
    set_root(search, GAME)
    tree = module.Node(GAME, replay, *rest)
    for _ in range(150):
        search.simulate(GAME, 1)
        path = path_of(search)
        replay.moves = iter(path.moves[: path.n_moves].tolist())
        module.simulate(tree, GAME, replay, *rest)
        assert next(replay.moves, None) is None
    assert compare(search.trees[0], 0, tree, statistics) > 15


def test_q_rlgo_is_the_prior():
    """N~ = M and Q~ = V(s o a) at a new node; 1x1 weights."""
    module, game = plain("mc_rave"), game_after("C3", "B2")
    theta = np.random.default_rng(1).normal(0, 1, (4, GAME.board.color.size))
    theta[0] = 0
    node = module.Node(game, np.random.default_rng(1), theta, 50)
    stones = [(BLACK, at("C3")), (3 - BLACK, at("B2"))]
    for p, n, w in zip(node.moves, *node.amaf, strict=True):
        x = sum(theta[color, q] for color, q in [*stones, (BLACK, p)])
        assert (n, w) == (50, pytest.approx(50 / (1 + np.exp(-x))))


def test_puct_visits_what_the_compiled_search_visits(monkeypatch):
    module = plain("puct")
    monkeypatch.setattr(module, "C", 1.3)
    monkeypatch.setattr(module, "URGENCY", 0.4)
    settings = composed("puct", c=1.3, first_play_urgency=0.4, prior=Outside(), leaf=Value(OutsideValue()))
    game = game_after("C3")
    search = PatientSearch(SIZE, settings, 200, evaluator=by_hash, resources=Resources(batch=1), seed=1)
    search.search(game)
    order = {}  # the actions of each node, by the moves that lead to it: their order decides ties

    def note(at, moves):
        order[moves] = edges_of(search.trees[0], at).move.tolist()
        for e in edges_of(search.trees[0], at):
            if e.child >= 0:
                note(int(e.child), (*moves, int(e.move)))

    def evaluate(now):
        answer = by_hash(Positions.along(now)[-1:])
        moves = order[tuple(p for _, p in now.moves[1:])]
        policy = np.float32(answer["policy"][0])[[value_index(p) for p in moves]]
        return module.Node(moves, np.rint(PRIOR_UNITS * np.float64(policy / policy.sum())) / PRIOR_UNITS), answer[
            "value"
        ][0]

    note(0, ())
    monkeypatch.setattr(module, "evaluate", evaluate)
    tree, _ = evaluate(game)
    for _ in range(200):
        module.simulate(tree, game)
    assert compare(search.trees[0], 0, tree, lambda node: {"n": node.n, "w": node.w}) > 50


def test_puct_asks_the_network_about_every_move():
    module, game = plain("puct"), game_after("C3", "B2")
    node, value = module.evaluate(game)
    found = {c.move: c for c in NetworkPlayer(SIZE, load_network("9x9")).candidates(game)}
    assert value == pytest.approx(found[PASS].value)
    np.testing.assert_allclose(node.p, [found[p].prior for p in node.moves], atol=0.02)  # it leaves out eyes
