"""Dyna-2: its identities, learning from simulations and from real games, and the paper's Figure 12."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import naive
from oracles.naive import NaiveBoard, from_core
from random_play import SIZE, random_game, random_weights

from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS
from rlgo.base.budget import Budget
from rlgo.base.errors import RlgoError
from rlgo.base.settings import LINEAR, LOGISTIC, SOFTMAX, Learning, Policy
from rlgo.features.shapes import make_features
from rlgo.features.weights import Weights, load_weights, save_weights
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.learning.value import ValueFunction
from rlgo.moves.rollout import DefaultPolicy
from rlgo.play.player import GreedyPlayer
from rlgo.search.dyna2 import LONG_LEARNING, Dyna2, learn_from_game
from rlgo.search.td_search import LEARNING, THROUGHOUT, Simulation, TdSearch
from train.arena.match import play_match
from train.config import load_config
from train.runs.learners import make_learner

# ---------------------------------------------------------------------------------------------
# Identities
# ---------------------------------------------------------------------------------------------


def test_without_a_long_term_memory_it_is_td_search():
    game = random_game(6, 1)
    dyna2 = Dyna2(SIZE, None, (1, 2), simulations=100, seed=7)
    search = TdSearch(SIZE, (1, 2), 100, learning=dyna2.learning, seed=7)
    assert dyna2.genmove(game) == search.genmove(game)
    np.testing.assert_array_equal(dyna2.theta_bar, search.theta_bar)
    np.testing.assert_array_equal(dyna2.memory().theta, search.memory().theta)
    assert np.isnan(dyna2.analyses()["long-term"]).all()


def test_without_a_short_term_memory_it_is_the_greedy_player():
    weights = random_weights()
    dyna2, greedy = Dyna2(SIZE, weights, (), seed=1), GreedyPlayer(ValueFunction(weights), 1)
    for seed in range(20):
        game = random_game(seed, seed)
        assert dyna2.genmove(game) == greedy.genmove(game)
        np.testing.assert_allclose(dyna2.analyses()["value"], greedy.analyses()["value"], atol=1e-6)
        np.testing.assert_array_equal(dyna2.analyses()["long-term"], greedy.analyses()["value"])
    assert dyna2.tally.simulations == 0
    assert not dyna2.memory().theta.any()


@pytest.mark.parametrize(
    ("sizes", "long_sizes", "value", "settings"),
    [
        ((1, 2), (1, 2), "logistic", {}),
        ((1, 2), (2, 3), "logistic", {"policy": Policy(SOFTMAX, temperature=0.2)}),
        ((1, 2), (1, 2), "linear", {"simulation": Simulation(THROUGHOUT)}),
    ],
)
def test_one_table_learns_as_two_memories_do(sizes, long_sizes, value, settings):
    """Dense TD with each memory by itself: V-bar = sigma(phi . theta + phi-bar . theta-bar), and theta stays."""
    weights, game = random_weights(long_sizes, scale=0.03, value=value), random_game(8, 2)
    player = Dyna2(SIZE, weights, sizes, simulations=1, learning=Learning(alpha=0.2), seed=3, **settings)
    theta_bar: dict[naive.Weight, float] = {}
    for _ in range(12):
        player.search(game)
        episode = player.scratch[0].episode
        moves = [p for _, p in game.moves] + episode.moves[: episode.n].tolist()
        long_states, _ = naive.states_after(SIZE, moves, len(game.moves), long_sizes, "LI+LD")
        theta = naive.by_name(weights.theta, weights.features, long_states)
        states, _ = naive.states_after(SIZE, moves, len(game.moves), sizes, "none")
        naive.learn(
            theta_bar, states, float(player.tally.wins), alpha=0.2, lambda_=0.0, plies=2, value_kind=value,
            update="game", normalise="active", long=[naive.logit(theta, shapes) for shapes in long_states],
        )  # fmt: skip
    expected = naive.by_index(theta_bar, player.features)
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(player.memory().theta, expected, atol=1e-5, rtol=0)
    root = naive.value(theta_bar, naive.phi(states[0]), value, naive.logit(theta, long_states[0]))
    assert player.evaluate(game)[-1] == pytest.approx(root, abs=1e-5)  # after a pass


def test_the_short_term_memory_is_cleared_at_a_new_game_and_the_long_term_memory_stays():
    weights, game = random_weights(), random_game(5, 3)
    before = weights.theta.copy()
    player = Dyna2(SIZE, weights, simulations=30, seed=1)
    start = player.evaluate(game).copy()
    np.testing.assert_allclose(start, ValueFunction(weights).afterstates(game.board), atol=1e-6)
    player.search(game)
    assert player.theta_bar.any()
    assert player.memory().theta.any()
    assert (player.evaluate(game) != start).any()
    player.new_game()
    assert not player.theta_bar.any()
    np.testing.assert_array_equal(player.evaluate(game), start)
    np.testing.assert_array_equal(weights.theta, before)


# ---------------------------------------------------------------------------------------------
# Real games
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lambda_", "handicap"), [(0.0, False), (0.8, False), (0.0, True)])
def test_the_long_term_memory_learns_from_a_real_game(lambda_, handicap):
    weights = random_weights((1, 2), "LI+LD", 0.1)
    game = Game(SIZE, 0.5)
    if handicap:
        game.set_up([(BLACK, from_vertex("B2", SIZE)), (BLACK, from_vertex("D4", SIZE))], WHITE)
    board, rng = NaiveBoard(SIZE), np.random.default_rng(4)
    for color, p in game.setup:
        board.stones[from_core(SIZE, p)] = color
    states = [naive.active_shapes(board.stones, SIZE, (1, 2), "LI+LD")]
    while not game.is_over():
        moves = game.sensible_moves()
        game.play(int(rng.choice(moves)) if moves else 0)
        stones = {from_core(SIZE, p): int(game.board.color[p]) for p in range(7, 36) if game.board.color[p] in (1, 2)}
        states.append(naive.active_shapes(stones, SIZE, (1, 2), "LI+LD"))
    f = weights.features
    theta = naive.by_name(weights.theta, f, states)
    naive.learn(
        theta, states, game.outcome, alpha=0.2, lambda_=lambda_, plies=2, value_kind="logistic", update="game",
        normalise="slots",
    )  # fmt: skip
    learned = learn_from_game(weights, game, game.outcome, LONG_LEARNING._replace(alpha=0.2, lambda_=lambda_))
    for name, weight in theta.items():
        assert learned.theta[naive.to_index(f, name)] == pytest.approx(weight, abs=1e-5)
    assert (learned.theta != weights.theta).any()
    assert learned.games == weights.games + 1


def test_the_long_term_memory_learns_from_games_that_repeat_a_position():
    """As records may, which were played by other rules."""
    weights, game = random_weights(), Game(SIZE)
    for vertex in ("B1", "C1", "A2", "D2", "B3", "C3", "C2", "B2"):
        game.play(vertex)
    game.play(PASS, WHITE)  # out of turn, which lifts the ko
    game.play("C2", may_repeat=True)
    assert game.repetitions == [10]
    for _ in range(2):
        game.play(PASS)
    learned = learn_from_game(weights, game, game.outcome, LONG_LEARNING)
    assert learned.games == weights.games + 1
    assert (learned.theta != weights.theta).any()


def test_a_match_teaches_the_long_term_memory(tmp_path):
    file = tmp_path / "long.npz"
    weights = random_weights()
    player = Dyna2(SIZE, weights, simulations=10, long_learning=LONG_LEARNING, long_save=file, seed=1)
    play_match(player, "random", 2, size=SIZE, progress=False)
    assert player.long_term.games == 2
    np.testing.assert_array_equal(load_weights(file).theta, player.long_term.theta)
    assert (player.long_term.theta != weights.theta).any()
    player.new_game()
    game = random_game(3, 3)
    np.testing.assert_allclose(
        player.evaluate(game), ValueFunction(player.long_term).afterstates(game.board), atol=1e-6
    )


def test_a_prior_search_learns_from_games_too(tmp_path):
    """As the first phase of a tree search: from the games it plays, with its epsilon, and as old as its delay."""
    file = tmp_path / "long.npz"
    first = Dyna2(SIZE, random_weights(), simulations=10, long_learning=LONG_LEARNING, long_save=file, seed=1)
    player = TreeSearch(SIZE, ALGORITHMS["heuristic_mc_rave"], 20, prior_search=first, seed=1)
    play_match(player, "random", 2, size=SIZE, progress=False)
    assert first.long_term.games == 2
    np.testing.assert_array_equal(load_weights(file).theta, first.long_term.theta)
    moves = [
        {
            TreeSearch(
                SIZE,
                ALGORITHMS["heuristic_mc_rave"],
                2,
                prior_search=Dyna2(SIZE, random_weights(), simulations=2, long_epsilon=epsilon, seed=seed),
                seed=1,
            ).genmove(random_game(5, 1))
            for seed in range(20)
        }
        for epsilon in (0.0, 1.0)
    ]
    assert len(moves[0]) < 5 < len(moves[1])
    old = TdSearch(SIZE, (1,), 10, delay=3, seed=1)
    player = TreeSearch(SIZE, ALGORITHMS["heuristic_mc_rave"], 5, prior_search=old, seed=1)
    player.genmove(random_game(5, 1))
    player.search(random_game(6, 1), Budget(5))  # an analysis: no move of the game
    assert len(old._older) == 1
    with pytest.raises(RlgoError, match="prior_search: resign has no effect there"):
        TreeSearch(SIZE, ALGORITHMS["heuristic_mc_rave"], 5, prior_search=TdSearch(SIZE, (1,), 5, resign=0.1))


def test_nothing_learns_where_there_is_no_long_term_memory():
    with pytest.raises(RlgoError, match=r"long_learning: expected a long-term memory that learns \(long=FILE\)"):
        Dyna2(SIZE, long_learning=LONG_LEARNING)


def test_a_saved_memory_is_not_replaced_by_one_of_another_size(tmp_path):
    file, features = tmp_path / "long.npz", make_features(SIZE + 1, (1,), "LI+LD")
    save_weights(file, Weights(features, np.zeros(features.n_weights + 1, np.float32)))
    before = file.read_bytes()
    with pytest.raises(RlgoError, match=f"long_save = .*expected weights for {SIZE}x{SIZE}, found weights for"):
        Dyna2(SIZE, random_weights(), simulations=10, long_learning=LONG_LEARNING, long_save=file, seed=1)
    assert file.read_bytes() == before
    file.unlink()
    player = Dyna2(SIZE, random_weights(), simulations=10, long_learning=LONG_LEARNING, long_save=file, seed=1)
    file.write_bytes(before)  # by another process, while the game is played
    game = random_game(5, 1)
    game.play(PASS)
    game.play(PASS)
    with pytest.raises(RlgoError, match="expected weights for"):
        player.end_game(game, 1.0)
    assert file.read_bytes() == before


def test_real_moves_explore_with_the_epsilon_of_the_long_term_memory():
    game = random_game(5, 1)
    greedy, random = (Dyna2(SIZE, random_weights(), (), long_epsilon=e, seed=1) for e in (0.0, 1.0))
    assert len({greedy.genmove(game) for _ in range(30)}) == 1
    assert len({random.genmove(game) for _ in range(30)}) > 5


# ---------------------------------------------------------------------------------------------
# Forgetting, and mercy
# ---------------------------------------------------------------------------------------------


def test_a_reset_forgets_the_short_term_memory_alone():
    game = random_game(5, 3)
    once, twice = (Dyna2(SIZE, random_weights(), (1, 2), simulations=20, reset=True, seed=1) for _ in "ab")
    for player, searches in ((once, 1), (twice, 2)):
        for _ in range(searches):
            player.search(game)
    # As much as one search learns, not as much as two.
    assert np.abs(twice.theta_bar).sum() < 1.5 * np.abs(once.theta_bar).sum()


def test_mercy_is_not_asked_where_the_root_is_hopeless_already():
    game = position(["X X X X X", "X . X . X", "X X X X X", ". . . . .", ". . O . ."], 0.5)
    search = TdSearch(SIZE, (1, 2), 50, seed=1)
    search.search(game)
    assert search.scratch[0].episode.n > 3
    assert search.default.mercy


# ---------------------------------------------------------------------------------------------
# Figure 12: the short-term memory corrects the long-term one.
# ---------------------------------------------------------------------------------------------


def position(rows: list[str], komi: float) -> Game:
    """Black to play; the highest row first."""
    stones = [
        ("EXO".index(c), from_vertex(f"{'ABCDE'[col]}{SIZE - row}", SIZE))
        for row, text in enumerate(rows)
        for col, c in enumerate(text.split())
        if c in "XO"
    ]
    game = Game(SIZE, komi)
    game.set_up(stones, BLACK)
    return game


def values_of(player: Dyna2, name: str) -> dict[str, float]:
    values = player.analyses()[name]
    return {to_vertex((row + 1) * 6 + col + 1, SIZE): float(values[row, col]) for row, col in np.ndindex(values.shape)}


def test_figure_12_b_the_corner_makes_two_eyes():
    """1x1 shapes: in general the centre is worth most and a corner least; here the corner lives, and wins.

    White is alive. Black has a bent three in the corner, and dies if White plays E5.
    """
    config = {"board.size": 5, "board.komi": 0.5, "features.sizes": "[1]", "learning.alpha": 0.1}
    learner = make_learner(load_config("default", [f"{key}={value}" for key, value in config.items()]), 1)
    learner.learn(3_000)
    long_term = Weights(learner.features, learner.theta)
    game = position([". O X . .", "O O X X .", "O O . X X", ". O O O O", ". . O O ."], -12.5)
    for seed in range(3):
        player = Dyna2(SIZE, long_term, default=DefaultPolicy(mercy=False), simulations=2_000, seed=seed)
        move = player.genmove(game)
        before, after = values_of(player, "long-term"), values_of(player, "value")
        assert np.nanargmax(list(before.values())) == list(before).index("C3")
        assert before["E5"] == pytest.approx(min(v for v in before.values() if v == v))
        assert to_vertex(move, SIZE) == "E5"
        assert after["E5"] > after["C3"]


def test_figure_12_d_two_eyes_are_enough():
    """3x3 shapes: two eyes in the corner are worth much in general; here Black has two already, and White must die."""
    game = position([". X O . .", "X X O O .", "X X X O O", ". X X X X", ". . X X ."], 12.5)
    features = make_features(SIZE, (3,), "LD")
    theta = np.zeros(features.n_weights + 1, np.float32)
    w, cells = features.windows.index(("3x3", 0, 0)), (1, 0, 1, 0, 1, 1, 1, 1, 1)  # A1 to C1, A2 to C2, A3 to C3
    c = features.class_of[features.geometry.ld_base[w] + naive.to_place(features, w, cells)]
    theta[abs(c)] = np.sign(c)
    for seed in range(3):
        player = Dyna2(SIZE, Weights(features, theta), default=DefaultPolicy(mercy=False), simulations=5_000, seed=seed)
        move = player.genmove(game)
        before, after = values_of(player, "long-term"), values_of(player, "value")
        assert np.nanargmax(list(before.values())) == list(before).index("A1")
        assert to_vertex(move, SIZE) == "E5"
        assert after["E5"] > after["A1"]


def test_without_a_long_term_memory_the_value_is_that_of_the_learning():
    learning = LEARNING._replace(alpha=0.01, value=LINEAR)
    dyna2 = Dyna2(SIZE, None, (1, 2), simulations=50, learning=learning, seed=7)
    search = TdSearch(SIZE, (1, 2), 50, learning=learning, seed=7)
    for player in (dyna2, search):
        player.search(random_game(6, 1))
    assert dyna2.learning.value == LINEAR
    np.testing.assert_array_equal(dyna2.theta_bar, search.theta_bar)
    with_memory = Dyna2(SIZE, random_weights(), learning=learning)  # which is logistic
    assert with_memory.learning.value == LOGISTIC


@pytest.mark.parametrize("learning", [Learning(schedule="harmonic"), Learning(update="step")])
def test_a_long_term_memory_learns_by_a_constant_step_from_whole_games(learning):
    with pytest.raises(RlgoError, match="long_learning: expected schedule"):
        Dyna2(SIZE, random_weights(), long_learning=learning)
    with pytest.raises(RlgoError, match="long_learning: expected schedule"):
        learn_from_game(random_weights(), random_game(6, 1), 1.0, learning)


def test_what_each_memory_believes():
    search, game = Dyna2(SIZE, random_weights(), simulations=30, seed=1), random_game(6, 2)
    search.genmove(game)
    values = search.evaluate(game).copy()
    told = search.statistics(game)
    assert told.kind == "memory"
    assert (told.done, told.depth) == (30, 6)
    both, long_term, short_term = (told.columns[name] for name in ("value", "long_term", "short_term"))
    assert both[0] == (np.nanmax if game.to_play == BLACK else np.nanmin)(values[:-1])
    places = [(p // 6 - 1) * SIZE + p % 6 - 1 for p in told.moves]
    np.testing.assert_allclose(long_term, ValueFunction(search.long_term).afterstates(game.board)[places])
    np.testing.assert_allclose(short_term, ValueFunction(search.memory()).afterstates(game.board)[places], atol=1e-6)

    def logit(v):
        return np.log(v / (1 - v))

    np.testing.assert_allclose(logit(both), logit(long_term) + logit(short_term), atol=1e-4)
    assert told.size == np.count_nonzero(search.theta_bar)
    np.testing.assert_array_equal(search.evaluate(game), values)


def test_td_search_has_a_short_term_memory_alone():
    search, game = TdSearch(SIZE, simulations=30, seed=1), random_game(6, 2)
    search.genmove(game)
    columns = search.statistics(game).columns
    assert set(columns) == {"value", "short_term"}
    np.testing.assert_array_equal(columns["value"], columns["short_term"])
