"""The tree search family: the formulas, every statistic against a slow oracle, and the search as a player."""

from __future__ import annotations

import math

import numpy as np
import pytest
from naive import NaiveBoard, from_core, to_core

from mcts.handcrafted import judge
from mcts.heuristic import EVEN, GRANDFATHER, HANDCRAFTED, MOGO, RLGO, q_rlgo
from mcts.player import ALGORITHMS, TreeSearch
from mcts.rave import (
    HAND_SELECTED,
    MC,
    MINIMUM_MSE,
    MINIMUM_MSE_EXACT,
    beta_of,
    combine,
    exact_minimum_mse_beta,
    hand_selected_beta,
    minimum_mse_beta,
)
from mcts.tree import edges_of, nodes_in
from mcts.uct import ucb1
from rlgo.board import BLACK, PASS, WHITE
from rlgo.coords import from_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.player import RESIGN
from rlgo.rollout import UNIFORM, DefaultPolicy, mogo_patterns
from rlgo.shapes import make_features
from rlgo.td_search import TdSearch
from rlgo.value import ValueFunction, sigma
from rlgo.weights import Weights

SIZE = 5
TO_THE_END = DefaultPolicy(UNIFORM, mercy=False)


def game_after(*vertices: str, komi: float = 0.5) -> Game:
    game = Game(SIZE, komi)
    for vertex in vertices:
        game.play(from_vertex(vertex, SIZE))
    return game


def path_of(search: TreeSearch) -> np.record:
    """The last simulation."""
    return search._team.workers[0].path


def weights(seed: int = 1) -> Weights:
    features = make_features(SIZE, (1, 2, 3), "LI+LD")
    theta = np.random.default_rng(seed).normal(0, 0.2, features.n_weights + 1).astype(np.float32)
    theta[0] = 0
    return Weights(features, theta)


# ---------------------------------------------------------------------------------------------
# The formulas
# ---------------------------------------------------------------------------------------------


def test_ucb1_by_hand():
    assert ucb1(0.5, 4.0, math.log(100), 1.0) == pytest.approx(0.5 + math.sqrt(math.log(100) / 4))
    assert ucb1(0.5, 4.0, math.log(100), 0.0) == 0.5


def test_the_hand_selected_schedule():
    for k in (10.0, 1000.0):
        assert hand_selected_beta(k, k) == pytest.approx(0.5) and hand_selected_beta(0.0, k) == 1.0
        assert hand_selected_beta(1e9, k) < 0.001


@pytest.mark.parametrize(("q", "q_amaf"), [(0.5, 0.5), (0.3, 0.42), (0.9, 0.85)])
def test_the_minimum_mse_schedule_minimises_the_error(q, q_amaf):
    """(1 - beta)^2 sigma^2 + beta^2 sigma~^2 + beta^2 b^2 (equation 41), minimised by trying every beta."""
    betas = np.linspace(0, 1, 200_001)
    for n, n_amaf, bias in [(1, 5, 0.05), (30, 100, 0.05), (1000, 3000, 0.1), (7, 2, 0.0)]:
        for mu, beta in (
            (0.5, minimum_mse_beta(float(n), float(n_amaf), bias)),
            # mu stands for both means; the function keeps it off 0 and 1 by one win and one loss more.
            ((q_amaf * n_amaf + 1) / (n_amaf + 2), exact_minimum_mse_beta(float(n), float(n_amaf), bias, q_amaf)),
        ):
            v = mu * (1 - mu)
            error = (1 - betas) ** 2 * v / n + betas**2 * v / n_amaf + betas**2 * bias**2
            assert betas[error.argmin()] == pytest.approx(beta, abs=1e-5)


def test_what_is_not_there_has_no_weight():
    for schedule in (HAND_SELECTED, MINIMUM_MSE, MINIMUM_MSE_EXACT):
        beta_s = hand_selected_beta(50.0, 1000.0)
        assert beta_of(schedule, beta_s, 3.0, 0.0, 0.0, 0.05) == 0.0
        assert beta_of(schedule, beta_s, 0.0, 7.0, 0.4, 0.05) == 1.0
        assert 0 < beta_of(schedule, beta_s, 3.0, 7.0, 0.4, 0.05) < 1
    assert combine(0.2, 0.6, 0.25) == pytest.approx(0.3)


# ---------------------------------------------------------------------------------------------
# Every statistic, against what recorded simulations say
# ---------------------------------------------------------------------------------------------


class Recorder:
    """All simulations of a search, one after the other, and what they should have left in the tree."""

    def __init__(self, search: TreeSearch, game: Game, n: int):
        self.search, self.game = search, game
        self.games: list[tuple[list[int], float]] = []
        search._stand_on(game, np.array(game.sensible_moves()))
        for _ in range(n):
            wins = search.wins
            search._run(1, game.komi)
            path = path_of(search)
            self.games.append((path.moves[: path.n_moves].tolist(), search.wins - wins))

    def statistics(self, expand_after: int = 1) -> dict[tuple, dict[int, list[float]]]:
        """By the moves that lead to a node: of each action w, n, w_amaf, n_amaf; simulations added in their order.

        The tree is grown again by the rule alone: a simulation adds the first position beyond the tree.
        """
        known: dict[tuple, dict[int, list[float]]] = {(): self._actions(())}
        for moves, z in self.games:
            path: list[tuple] = []
            for t in range(len(moves)):
                prefix = tuple(moves[:t])
                if prefix not in known:
                    over = len(prefix) >= 2 and prefix[-1] == prefix[-2] == PASS
                    if over or known[prefix[:-1]][prefix[-1]][1] + 1 < expand_after:
                        break
                    known[prefix] = self._actions(prefix)
                    if moves[t] in known[prefix]:
                        path.append(prefix)
                    break
                path.append(prefix)
            for t, prefix in enumerate(path):
                known[prefix][moves[t]][0] += z
                known[prefix][moves[t]][1] += 1
                for p, action in known[prefix].items():
                    plays = [u for u in range(t, len(moves)) if moves[u] == p]
                    if p != PASS and plays and (plays[0] - t) % 2 == 0:
                        action[2] += z
                        action[3] += 1
        return known

    def _actions(self, prefix: tuple) -> dict[int, list[float]]:
        board = NaiveBoard(SIZE)
        for _, p in self.game.moves:
            board.play(from_core(SIZE, p))
        for p in prefix:
            board.play(from_core(SIZE, p))
        sensible = [p for p in board.legal_points() if not board.is_eye(p, board.to_play)]
        moves = [to_core(SIZE, p) for p in sensible]
        return {p: [0.0, 0, 0.0, 0] for p in (moves if len(moves) > SIZE else [*moves, PASS])}

    def compare(self, node: int, prefix: tuple, expected: dict, seen: set) -> None:
        edges = edges_of(self.search.trees[0], node)
        assert {int(e.move) for e in edges} == set(expected[prefix])
        assert self.search.trees[0].n[node] == sum(int(e.n) for e in edges)
        seen.add(prefix)
        for e in edges:
            w, visits, w_amaf, n_amaf = expected[prefix][int(e.move)]
            assert (e.n, e.n_amaf) == (visits, n_amaf), (prefix, int(e.move))
            assert (float(e.w), float(e.w_amaf)) == pytest.approx((w, w_amaf))
            if e.child >= 0:
                self.compare(int(e.child), (*prefix, int(e.move)), expected, seen)


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore:invalid value encountered")  # beta of no visits at all is 0 / 0, and not used
@pytest.mark.parametrize(("name", "expand_after"), [("mc_rave", 1), ("uct_rave", 3), ("rave", 1)])
def test_every_statistic_equals_what_the_simulations_say(name, expand_after):
    settings = ALGORITHMS[name]._replace(expand_after=expand_after)
    search = TreeSearch(SIZE, settings, 1, default=TO_THE_END, seed=3)
    recorder = Recorder(search, game_after("C3", "B2", "D2"), 120)
    expected, seen = recorder.statistics(expand_after), set()
    recorder.compare(0, (), expected, seen)
    assert seen == set(expected) and len(seen) == nodes_in(search.trees[0]) > 15
    assert any(stats[3] > stats[1] for stats in expected[()].values())


def test_each_algorithm_takes_the_best_action_by_its_own_value():
    """At the root, after some simulations: EVAL by hand, for both colours."""
    for game in (game_after("C3"), game_after("C3", "B2")):
        for name, settings in ALGORITHMS.items():
            if name in ("mc", "heuristic_mc_rave"):
                continue
            search = TreeSearch(SIZE, settings, 1, seed=4)
            recorder = Recorder(search, game, 80)
            root = edges_of(search.trees[0], 0)
            n_s = float(search.trees[0].n[0])
            values = []
            for e in root:
                n, n_amaf = int(e.n), int(e.n_amaf)
                q = e.w / n if n else math.nan
                q_amaf = e.w_amaf / n_amaf if n_amaf else math.nan
                if settings.value == MC:
                    v = q
                elif name == "rave":
                    v = q_amaf if n_amaf else q
                else:
                    if settings.schedule == HAND_SELECTED:
                        beta = math.sqrt(settings.rave_k / (3 * n_s + settings.rave_k))
                    else:
                        beta = n_amaf / max(1, n + n_amaf + 4 * n * n_amaf * settings.rave_bias**2)
                    beta = 1.0 if not n else beta if n_amaf else 0.0
                    v = q_amaf if beta == 1 else q if beta == 0 else (1 - beta) * q + beta * q_amaf
                v = v if game.to_play == BLACK else 1 - v
                if math.isnan(v):
                    v = settings.first_play_urgency
                elif settings.c:
                    v += settings.c * math.sqrt(math.log(n_s) / max(1, n))
                values.append(v)
            search._run(1, game.komi)
            assert values[int(path_of(search).edge[0])] == pytest.approx(max(values)), name
            assert len(recorder.games) == 80


# ---------------------------------------------------------------------------------------------
# Prior knowledge
# ---------------------------------------------------------------------------------------------


def test_q_rlgo_is_the_value_after_each_move():
    w = weights()
    settings = ALGORITHMS["heuristic_mc_rave"]._replace(prior_n=3, prior_n_amaf=40)
    for game in (game_after("C3"), game_after("C3", "B2", "C2", "B3", "B4", "A2")):
        search = TreeSearch(SIZE, settings, 1, weights=w, seed=1)
        search._stand_on(game, np.array(game.sensible_moves()))
        values = ValueFunction(w).afterstates(game.board)
        root = edges_of(search.trees[0], 0)
        for e in root:
            v = values[(e.move // 6 - 1) * SIZE + e.move % 6 - 1]
            assert (e.n, e.n_amaf) == (3, 40)
            assert (e.w / 3, e.w_amaf / 40) == pytest.approx((v, v), abs=7e-4)  # 1 / 512 of three visits
        assert search.trees[0].n[0] == 3 * len(root)
        found = search.search(game)
        assert found.visits.sum() == found.simulations == 1  # the prior's C is no visit


def test_q_rlgo_of_a_batch():
    w, games = weights(), [game_after("C3"), game_after("C3", "B2"), game_after()]
    values = q_rlgo(w, [game.board for game in games])
    assert values.shape == (3, 26)
    for row, game in zip(values, games, strict=True):
        np.testing.assert_array_equal(row, ValueFunction(w).afterstates(game.board))
    assert q_rlgo(w, []).shape == (0, 26)
    with pytest.raises(RlgoError, match="board size 5"):
        q_rlgo(w, [Game(9).board])


def test_the_other_heuristics():
    game = game_after("C3", "B2", "D2")
    even = TreeSearch(SIZE, ALGORITHMS["mc_rave"]._replace(heuristic=EVEN, prior_n=2), 40, seed=1)
    even.search(game)
    last = edges_of(even.trees[0], nodes_in(even.trees[0]) - 1)
    assert (last.n >= 2).all() and (last.n_amaf >= 50).all() and (last.w[last.n == 2] == 1.0).all()

    # MoGo's: White's stone at C2 puts D2 into atari; saving it is worth 1 to Black, all else 1/2.
    game = game_after("D2", "D1", "A5", "E2", "B5", "C2")
    mogo = TreeSearch(SIZE, ALGORITHMS["mc_rave"]._replace(heuristic=MOGO, prior_n_amaf=10), 1, seed=1)
    mogo._stand_on(game, np.array(game.sensible_moves()))
    h = {int(e.move): e.w_amaf / 10 for e in edges_of(mogo.trees[0], 0)}
    assert {p for p, v in h.items() if v != 0.5} == {from_vertex("D3", SIZE)} and h[from_vertex("D3", SIZE)] == 1.0

    # The grandfather's: a new node of depth 2 begins with the root's values.
    settings = ALGORITHMS["mcts_greedy"]._replace(heuristic=GRANDFATHER, prior_n=1, prior_n_amaf=0)
    grand = TreeSearch(SIZE, settings, 1, default=TO_THE_END, seed=5)
    recorder = Recorder(grand, game_after("C3"), 60)
    checked = 0
    for _ in range(200):
        tree = grand.trees[0]
        before = {int(e.move): (e.w, e.n) for e in edges_of(tree, 0)}
        nodes = nodes_in(tree)
        grand._run(1, 0.5)
        path = path_of(grand)
        if nodes_in(tree) > nodes and path.n_nodes == 3 and path.node[2] == nodes:
            for i, e in enumerate(edges_of(tree, nodes)):
                w, visits = before.get(int(e.move), (0.5, 1))
                if tree.first[nodes] + i != path.edge[2]:
                    assert e.n == 1 and e.w == pytest.approx(w / visits if visits else 0.5, abs=1 / 512)
            checked += 1
    assert checked > 3 and recorder.games


def test_a_users_prior():
    """Asked for every new node, the root first; what it says is in the tree."""
    w = weights()
    value = ValueFunction(w)
    asked = []

    def prior(board, moves):
        asked.append((int(board.hash), len(moves)))
        v = value.afterstates(board)
        at = [-1 if p == PASS else (p // 6 - 1) * SIZE + p % 6 - 1 for p in moves]
        return v[at], 2, np.full(len(moves), 30)

    game = game_after("C3")
    mine = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, prior=prior, batch=4, seed=2)
    found = mine.search(game)
    n = found.simulations
    tree = mine.trees[0]
    assert len(asked) == nodes_in(tree) == n + 1 > 20
    assert asked[0] == (int(game.board.hash), len(game.sensible_moves()))
    for node in range(n + 1):
        edges = edges_of(tree, node)
        assert (edges.n >= 2).all() and (edges.n_amaf >= 30).all() and tree.n[node] == edges.n.sum()
    # Asked for one node at a time it is the built-in prior, to the last visit.
    settings = ALGORITHMS["mc_rave"]._replace(heuristic=HANDCRAFTED, prior_n=2, prior_n_amaf=30)

    def handcrafted(board, moves):
        sign = 1 if board.to_play == BLACK else -1
        return [sigma(sign * judge(board, int(p), mogo_patterns())) for p in moves], 2, 30

    built_in = TreeSearch(SIZE, settings, 60, seed=7)
    plugged = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 60, prior=handcrafted, batch=1, seed=7)
    assert shape_of_search(built_in, game) == shape_of_search(plugged, game)


def shape_of_search(search: TreeSearch, game: Game) -> tuple:
    search._is_decided = lambda left: False
    search.search(game)
    return shape_of_tree(search, 0)


def test_priors_of_a_batch():
    """All nodes that wait are asked for at once."""
    asked = []

    def priors(boards, moves):
        asked.append([int(board.hash) for board in boards])
        return [(np.full(len(here), 0.6), 3, 20) for here in moves]

    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, priors=priors, batch=6, seed=2)
    search._is_decided = lambda left: False
    found = search.search(game_after("C3"))
    assert [len(hashes) for hashes in asked] == [1, *[6] * 8, 2] and found.nodes == 51
    tree = search.trees[0]
    assert all((edges_of(tree, node).n >= 3).all() for node in range(51)) and (found.prior == 0.6).all()
    for bad in (lambda boards, moves: [], lambda boards, moves: 5):
        with pytest.raises(RlgoError, match="expected a list of 1 triples"):
            TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, priors=bad, seed=2).search(game_after("C3"))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_after_an_error_is_whole(workers):
    """A prior that fails in the middle, or whoever stops the search by an exception, leaves nothing behind."""
    calls = []

    def prior(board, moves):
        calls.append(1)
        if len(calls) == 30:
            raise ZeroDivisionError
        return 0.5, 1, 10

    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 300, prior=prior, batch=4, workers=workers, seed=1)
    search._is_decided = lambda left: False
    game = game_after("C3")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            search.search(game)
        assert search._root_for(game, search.trees[0]) == -1
        calls[:] = [1] * 40
        for _ in range(2):
            game.play(int(search.search(game).moves[0]))
            tree = search.trees[0]
            for node in range(nodes_in(tree)):
                assert (edges_of(tree, node).n >= 1).all() and tree.n[node] == edges_of(tree, node).n.sum()
        calls.clear()

    def interrupt():
        raise KeyboardInterrupt

    timed = TreeSearch(SIZE, ALGORITHMS["uct"], None, seconds=100.0, workers=workers, seed=1)
    with pytest.raises(KeyboardInterrupt):
        timed.search(game, stop=interrupt)
    n = int(timed.trees[0].n[0])
    timed.simulations, timed.seconds = 50, None
    assert timed.search(game).visits.sum() == 50 != n == int(timed._team.trees[0].n[0]) + n - 50


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (lambda n: (np.full(n, np.nan), 0, 1), "prior: H of "),
        (lambda n: (np.full(n, 1.5), 0, 1), "= 1.5: expected 0 to 1"),
        (lambda n: (np.zeros(n), -1, 1), "prior: C of "),
        (lambda n: (np.zeros(n), 0, np.inf), "prior: C~ of "),
        (lambda n: (np.zeros(n + 1), 0, 1), "prior: H has shape (25,): expected (24,)"),
        (lambda n: np.zeros(n), "prior: expected three things"),
    ],
)
def test_bad_priors(told, message):
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 10, prior=lambda board, moves: told(len(moves)), seed=1)
    with pytest.raises(RlgoError) as error:
        search.search(game_after("C3"))
    assert message in str(error.value)


def test_two_phases_with_tree_search():
    """The short-term value of a TD search is the prior."""
    first = TdSearch(SIZE, (1, 2), 50, seed=1)
    settings = ALGORITHMS["heuristic_mc_rave"]._replace(prior_n=1, prior_n_amaf=20)
    both = TreeSearch(SIZE, settings, 1, first=first, seed=1)
    game = game_after("C3", "B3")
    both.search(game)
    assert first.tally.simulations == 50
    values = first.evaluate(game)
    taken = set(path_of(both).edge[: path_of(both).n_nodes].tolist())
    for i, e in enumerate(edges_of(both.trees[0], 0)):
        if i not in taken and e.n_amaf == 20:
            assert e.w_amaf / 20 == pytest.approx(values[(e.move // 6 - 1) * SIZE + e.move % 6 - 1], abs=1e-3)


# ---------------------------------------------------------------------------------------------
# The tree
# ---------------------------------------------------------------------------------------------


def shape_of_tree(search: TreeSearch, node: int) -> tuple:
    """A node with all below it, as nested tuples."""
    return int(search.trees[0].n[node]), tuple(
        (int(e.move), int(e.n), float(e.w), int(e.n_amaf), float(e.w_amaf),
         shape_of_tree(search, int(e.child)) if e.child >= 0 else None)
        for e in edges_of(search.trees[0], node)
    )  # fmt: skip


def test_the_subtree_is_kept_from_move_to_move():
    game = game_after("C3")
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 400, seed=6)
    found = search.search(game)
    game.play(int(found.line[0]))
    game.play(int(found.line[1]))
    node = search._root_for(game, search.trees[0])
    assert node > 0
    before = shape_of_tree(search, node)
    search._stand_on(game, np.array(game.sensible_moves()))
    assert shape_of_tree(search, 0) == before and nodes_in(search.trees[0]) < 400
    assert before[0] > 10
    # Not kept: after undo, in another game, where a side moved twice, by another komi.
    found = search.search(game_after("C3"))
    one, two = int(found.line[0]), int(found.line[1])

    def after(*moves: tuple[int, int]) -> Game:
        other = game_after("C3")
        for color, p in moves:
            other.play(p, color)
        return other

    usual = after((WHITE, one), (BLACK, two))
    assert search._root_for(usual, search.trees[0]) > 0
    other_komi = usual.copy()
    other_komi.komi = 3.5
    twice, swapped = after((WHITE, one), (WHITE, two)), after((BLACK, one), (BLACK, two))
    assert search._root_for(game_after("C3"), search.trees[0]) == 0  # thought about again
    for other in (game_after("D3", "C3"), game_after(), twice, swapped, other_komi):
        assert search._root_for(other, search.trees[0]) == -1
    search.new_game()
    assert search._root_for(usual, search.trees[0]) == -1


def test_a_full_tree_goes_on_without_growing():
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 3000, memory_mb=0.02, seed=1)
    game = game_after("C3")
    found = search.search(game)
    tree = search.trees[0]
    assert found.nodes <= len(tree.first) < 100 and found.simulations > 500
    assert found.visits.sum() == found.simulations
    for node in range(found.nodes):
        assert tree.n[node] == edges_of(tree, node).n.sum()


def test_flat_monte_carlo_visits_all_moves_alike_and_plays_the_best():
    search = TreeSearch(SIZE, ALGORITHMS["mc"], 240, seed=1, name="mc")
    for game in (game_after("C3"), game_after()):
        found = search.search(game)
        assert np.ptp(found.visits) <= 1 and found.nodes == 1
        q = found.q if game.to_play == BLACK else 1 - found.q
        assert q[0] == q.max()


def test_reproducible_from_the_seed():
    game = game_after("C3", "D4")
    a, b, c = (TreeSearch(SIZE, ALGORITHMS["uct_rave"], 300, seed=seed).search(game) for seed in (1, 1, 2))
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)
    assert a.line.tolist() != c.line.tolist() or (a.visits != c.visits).any()


def test_it_finds_what_decides_the_game():
    """Two points: one makes two eyes; and White, to play, takes it away."""
    rows = [". O X . .", "O O X X .", "O O . X X", ". O O O O", ". . O O ."]
    stones = [
        ("EXO".index(c), from_vertex(f"{'ABCDE'[col]}{SIZE - row}", SIZE))
        for row, text in enumerate(rows)
        for col, c in enumerate(text.split())
        if c in "XO"
    ]
    for color in (BLACK, WHITE):
        game = Game(SIZE, -12.5)
        game.set_up(stones, color)
        for name in ("uct", "mcts_greedy", "uct_rave"):  # greedy MC-RAVE believes its AMAF values, and errs
            search = TreeSearch(SIZE, ALGORITHMS[name], 20_000, seed=2, name=name)
            assert search.genmove(game) == from_vertex("E5", SIZE), (name, color)


def test_uct_comes_near_the_minimax_value():
    """In a decided position the value of the root tends to the outcome of the best play."""
    game = game_after("C3", komi=0.5)  # on 5x5 the centre wins for Black
    search = TreeSearch(SIZE, ALGORITHMS["uct"], 30_000, seed=1)
    found = search.search(game)
    assert found.q[0] > 0.6


def test_answers_at_the_end():
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 50, seed=1, resign=0.3)
    assert search.genmove(game_after("C3", "pass")) == PASS and search.report() == []  # Black is ahead
    lost = Game(SIZE, 30.5)
    assert search.genmove(lost) == RESIGN
    over = game_after("C3", "pass", "pass")
    assert search.genmove(over) in [PASS, *over.legal_moves()]
    white = Game(SIZE, -30.5)
    white.play(from_vertex("C3", SIZE))
    assert search.genmove(white) == RESIGN
    full = Game(SIZE, 0.5)
    full.set_up([(BLACK, from_vertex(f"{c}{r}", SIZE)) for c in "ABCDE" for r in range(1, 6)
                 if f"{c}{r}" not in ("A1", "E5", "E4")])  # fmt: skip
    assert search.genmove(full) in [PASS, *full.sensible_moves()]


def test_a_search_ends_when_it_is_told_to_or_decided():
    polls = []
    search = TreeSearch(SIZE, simulations=None, seconds=1000.0, seed=1)
    search.search(game_after("C3"), stop=lambda: polls.append(1) or len(polls) == 3)
    assert len(polls) == 3 and search.found.simulations > 3
    game = Game(SIZE, -30.0)  # Black cannot lose: the first move that is found stays ahead
    decided = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 2000, seed=1)
    assert decided.search(game).simulations < 2000
    assert decided.report()[0].startswith("Black won 100.0% of ")
    assert set(decided.analyses()) == {"value", "amaf", "visits", "prior"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"simulations": 0}, "simulations = 0"),
        ({"simulations": None}, "expected a number of simulations"),
        ({"seconds": 0.0}, "seconds = 0.0"),
        ({"settings": ALGORITHMS["uct"]._replace(c=-1.0)}, "c = -1.0"),
        ({"settings": ALGORITHMS["mc_rave"]._replace(rave_k=0.0)}, "rave_k = 0.0"),
        ({"settings": ALGORITHMS["heuristic_mc_rave"]}, "expected weights for 5x5"),
        ({"settings": ALGORITHMS["heuristic_mc_rave"]._replace(heuristic=RLGO, prior_n=-1)}, "prior_n = -1"),
        ({"memory_mb": 0}, "memory_mb = 0"),
        ({"resign": 1.0}, "resign = 1.0"),
        ({"batch": 0}, "batch = 0"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(RlgoError) as error:
        TreeSearch(SIZE, **settings)
    assert message in str(error.value)
