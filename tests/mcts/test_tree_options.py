"""What tree search can do beside the papers' algorithms: flat Monte-Carlo, truncation, handcrafted priors, threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from naive import neighbourhood
from test_mcts import SIZE, TO_THE_END, game_after, path_of, weights

from mcts.flat import choose_flat
from mcts.handcrafted import judge
from mcts.heuristic import BOTH, HANDCRAFTED, confidence
from mcts.player import ALGORITHMS, TreeSearch
from mcts.rave import KINDS, kind_of, learned_bias, observe_bias
from mcts.search import LEARNED, select, widened
from mcts.tree import (
    MOST_VISITS,
    add_root,
    count,
    edges_of,
    mean,
    memory_of,
    new_tree,
    nodes_in,
    statistic,
)
from rlgo.board import BLACK, PASS, WHITE
from rlgo.coords import from_vertex
from rlgo.errors import RlgoError
from rlgo.game import Game
from rlgo.jit import atomic_add, compare_and_swap, make_rng, njit
from rlgo.rollout import DefaultPolicy, mogo_patterns
from rlgo.rollout import neighbourhood as code_of
from rlgo.value import ValueFunction
from train.arena.prepare import programs_of
from train.players.spec import make_player


def at(vertex: str) -> int:
    return from_vertex(vertex, SIZE)


# ---------------------------------------------------------------------------------------------
# The words of the tree
# ---------------------------------------------------------------------------------------------


def test_a_statistic_is_a_count_and_a_sum():
    word = sum(int(statistic(1, z)) for z in (1.0, 0.0, 1.0, 0.5))
    assert count(word) == 4 and mean(word) == 2.5 / 4
    most = int(statistic(1, 1.0)) * MOST_VISITS
    assert 0 < most < 2**63 and count(most) == MOST_VISITS and mean(most) == 1.0
    taken_back = word + int(statistic(3, 3.0)) - int(statistic(3, 3.0))
    assert taken_back == word


def test_atomic_operations():
    array = np.array([5, 7], np.int32)

    @njit
    def run(array):
        before = atomic_add(array, 1, 3)
        return before, compare_and_swap(array, 0, 4, 9), compare_and_swap(array, 0, 5, 11)

    for function in (run, run.py_func):
        array[:] = 5, 7
        assert function(array) == (7, False, True) and array.tolist() == [11, 10]


def test_a_search_ends_where_the_counts_do():
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 100, seed=1)
    game = game_after("C3")
    search.search(game)
    search.trees[0].n[0] = MOST_VISITS - 5
    assert search._run(100, 0.5) == 5 and search._run(100, 0.5) == 0


def test_memory_is_what_the_tree_holds():
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 500, seed=1, memory_mb=1)
    search.search(game_after("C3"))
    tree = search.trees[0]
    edges = sum(len(edges_of(tree, node)) for node in range(nodes_in(tree)))
    assert memory_of(tree) == 12 * nodes_in(tree) + 23 * edges
    assert sum(array.nbytes for array in tree) <= 1.05e6


def test_a_pass_is_an_action_towards_the_end():
    """The opponent has passed, and leads as things stand, but has a dead stone to be taken: to pass would lose."""
    rows = [". X X O O", "X X X O .", ". X X O .", "X X X O O", ". O X O ."]
    game = Game(SIZE, 3.5)
    stones = [
        (BLACK if c == "X" else WHITE, from_vertex(f"{'ABCDE'[col]}{SIZE - row}", SIZE))
        for row, text in enumerate(rows)
        for col, c in enumerate(text.split())
        if c in "XO"
    ]
    game.set_up(stones, WHITE)
    game.play(PASS)
    for name in ("mc", "uct", "mc_rave"):
        search = TreeSearch(SIZE, ALGORITHMS[name], 500, seed=1, name=name)
        found = search.search(game)
        assert PASS in found.moves and found.moves[0] == at("A1"), name
        q, visits = float(found.q[found.moves == PASS][0]), int(found.visits[found.moves == PASS][0])
        assert q == 0.0 or (visits == 0 and name != "mc")  # it ends the game
    early = TreeSearch(SIZE, ALGORITHMS["uct"], 50, seed=1).search(game_after("C3"))
    assert PASS not in early.moves


# ---------------------------------------------------------------------------------------------
# Flat Monte-Carlo, truncation, the learned default policy
# ---------------------------------------------------------------------------------------------


def flat_tree(*visited: tuple[int, float]):
    """A root with these visits and sums."""
    tree = new_tree(1, len(visited))
    add_root(np.arange(10, 10 + len(visited)), tree)
    for i, (n, w) in enumerate(visited):
        tree.mc[i] = statistic(n, w)
    tree.n[0] = sum(n for n, _ in visited)
    return tree


def test_pruning_drops_what_is_surely_worse():
    rng = make_rng(1)
    tree = flat_tree((400, 300.0), (60, 15.0), (45, 2.0), (70, 50.0))
    # Black's worst action is the third, but too young to be dropped; the second is 0.25 +- 0.06, the best 0.75 +- 0.03.
    assert choose_flat(BLACK, 0.0, 2.0, tree, rng) == 2
    tree.mc[2] = statistic(65, 2.0)
    assert choose_flat(BLACK, 0.0, 2.0, tree, rng) == 3
    assert choose_flat(BLACK, 0.0, 0.0, tree, rng) == 1
    # A value below the bar, by less than its own error.
    assert choose_flat(BLACK, 0.0, 2.0, flat_tree((400, 300.0), (60, 41.0), (70, 65.0)), rng) == 1
    # For White the third is best, by so much that all others are dropped.
    assert choose_flat(WHITE, 0.0, 1.0, tree, rng) == 2


def test_a_temperature_favours_the_successful():
    rng = make_rng(1)
    tree = flat_tree((10, 8.0), (10, 6.0), (10, 1.0))
    for color, values in ((BLACK, [0.8, 0.6, 0.1]), (WHITE, [0.2, 0.4, 0.9])):
        drawn = np.bincount([choose_flat(color, 0.3, 0.0, tree, rng) for _ in range(4000)], minlength=3) / 4000
        expected = np.exp(np.array(values) / 0.3)
        assert drawn == pytest.approx(expected / expected.sum(), abs=0.03)
    tree.mc[1] = 0
    assert choose_flat(BLACK, 0.3, 0.0, tree, rng) == 1  # each is tried once first


def test_pruning_spends_simulations_on_what_is_left():
    game = Game(SIZE, 0.5)
    found = make_player("mc,sims=4000,pruning=2", SIZE, 1).search(game)
    even = make_player("mc,sims=4000", SIZE, 1).search(game)
    assert np.ptp(even.visits) <= 1 < 20 < np.ptp(found.visits) and found.visits[0] > found.visits[-1]


def replayed(game: Game, moves: list[int]) -> Game:
    again = game.copy()
    for p in moves:
        again.play(p)
    return again


@pytest.mark.parametrize("truncate", [0, 3])
def test_truncated_simulations_end_in_v(truncate):
    w, game = weights(), game_after("C3")
    settings = ALGORITHMS["uct"]._replace(truncate=truncate)
    search = TreeSearch(SIZE, settings, 1, default=TO_THE_END, weights=w, seed=1)
    search._stand_on(game, np.array(game.sensible_moves()))
    value = ValueFunction(w)
    for _ in range(60):
        before = search.wins
        search._run(1, game.komi)
        path = path_of(search)
        # In the tree, in its new node by the default policy, and `truncate` plies beyond.
        assert path.n_moves == path.n_nodes + truncate
        end = replayed(game, path.moves[: path.n_moves].tolist())
        assert search.wins - before == pytest.approx(value.value(end.board), abs=1e-5)
    edges = edges_of(search.trees[0], 0)
    assert edges.n.sum() == 60 and edges.w.sum() == pytest.approx(search.wins, abs=60 / 512)


def test_the_learned_default_policy_is_greedy_by_v():
    w, game = weights(), game_after("C3")
    search = TreeSearch(
        SIZE, ALGORITHMS["uct"], 1, default=DefaultPolicy(LEARNED, mercy=False), weights=w, epsilon=0.0, seed=1
    )
    search._stand_on(game, np.array(game.sensible_moves()))
    value, checked = ValueFunction(w), 0
    for _ in range(12):
        search._run(1, game.komi)
        path = path_of(search)
        moves = path.moves[: path.n_moves].tolist()
        for t in range(int(path.n_nodes), len(moves)):
            now = replayed(game, moves[:t])
            sensible = now.sensible_moves()
            if moves[t] == PASS or moves[t] not in sensible:
                continue
            v = value.afterstates(now.board)
            here = [v[(p // 6 - 1) * SIZE + p % 6 - 1] for p in sensible]
            best = max(here) if now.to_play == BLACK else min(here)
            assert v[(moves[t] // 6 - 1) * SIZE + moves[t] % 6 - 1] == pytest.approx(best, abs=1e-4)
            checked += 1
    assert checked > 50


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("truncate=-2", "truncate = -2"),
        ("truncate=soon", "truncate = "),
        ("widening=0.5", "widening = 0.5: expected 0, or a number above 1"),
        ("default=rlgo,weights=none.npz", "none.npz"),
        ("workers=0", "workers = 0"),
        ("first=uct.toml,heuristic=rlgo", "first = uct.toml: expected a td_search or dyna2 player"),
        ("first=td_search.toml", "first: expected the heuristic rlgo, or both"),
        ("widening=1.4", "widening = 1.4: expected a heuristic"),
    ],
)
def test_bad_keys(keys, message):
    with pytest.raises(RlgoError) as error:
        make_player(f"mc_rave,{keys}", SIZE, 1)
    assert message in str(error.value)


# ---------------------------------------------------------------------------------------------
# Heuristics
# ---------------------------------------------------------------------------------------------


def judged(game: Game, vertex: str) -> float:
    return float(judge(game.board, at(vertex), mogo_patterns()))


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_the_handcrafted_heuristic_by_hand():
    # White's stone at C2 has put Black's D2 into atari; D3 saves it (two liberties), and is next to no other atari.
    game = game_after("D2", "D1", "A5", "E2", "B5", "C2")
    stones = {(p // 6 - 1, p % 6 - 1): int(game.board.color[p]) for p in range(6, 36) if game.board.color[p] in (1, 2)}
    for vertex in ("D3", "A1", "B3", "E5"):
        row, column = int(vertex[1]) - 1, "ABCDE".index(vertex[0])
        seen = neighbourhood(SIZE, stones, (row, column))
        assert sum((code_of(game.board, at(vertex)) >> 2 * i & 3) != 0 for i in range(8)) == sum(c != "." for c in seen)
    # D3: saves, at distance 1 of C2; a pattern of MoGo's or not.
    pattern = 0.7 if mogo_patterns()[code_of(game.board, at("D3"))] & BLACK else 0.0
    assert judged(game, "D3") == pytest.approx(-0.4 + 1.2 + 0.5 + pattern)
    # A1: on the first line, far away from C2 (distance 2), nothing around.
    assert judged(game, "A1") == pytest.approx(-0.4 + 0.4 - 0.9)
    # White captures D2 from D3.
    game.play(at("B3"))
    assert judged(game, "D3") > 0.4 > 0 > judged(game, "A1")
    # Black at A2 would have one liberty: self-atari, next to the last move.
    game = game_after("E5", "B2", "E4", "A3")
    pattern = 0.7 if mogo_patterns()[code_of(game.board, at("A2"))] & BLACK else 0.0
    assert judged(game, "A2") == pytest.approx(-0.4 - 1.6 + 0.5 + pattern)
    # With a Black stone at A4, B3 puts White's A3 into atari (A2 is left to it).
    game = game_after("A4", "A3", "E4", "E1")
    pattern = 0.7 if mogo_patterns()[code_of(game.board, at("B3"))] & BLACK else 0.0
    assert judged(game, "B3") == pytest.approx(-0.4 + 0.4 + 0.2 + pattern)
    search = TreeSearch(SIZE, ALGORITHMS["mc_rave"]._replace(heuristic=HANDCRAFTED, prior_n_amaf=100), 1, seed=1)
    for other in (game, game_after("D2", "D1", "A5")):  # Black to play; White
        search._stand_on(other, np.array(other.sensible_moves()))
        sign = 1 if other.to_play == BLACK else -1
        for e in edges_of(search.trees[0], 0):
            x = sign * float(judge(other.board, int(e.move), mogo_patterns()))
            assert e.w_amaf / e.n_amaf == pytest.approx(sigma(x), abs=1e-3)
    # Both: added to phi . theta.
    w = weights()
    settings = ALGORITHMS["mc_rave"]._replace(heuristic=BOTH, prior_n_amaf=100)
    search = TreeSearch(SIZE, settings, 1, weights=w, seed=1)
    search._stand_on(game, np.array(game.sensible_moves()))
    values = ValueFunction(w).afterstates(game.board)
    for e in edges_of(search.trees[0], 0):
        v = values[(e.move // 6 - 1) * SIZE + e.move % 6 - 1]
        x = math.log(v / (1 - v)) + float(judge(game.board, int(e.move), mogo_patterns()))  # Black plays
        assert e.w_amaf / e.n_amaf == pytest.approx(sigma(x), abs=1e-3)


def test_confidence_adapts_to_how_sure_the_heuristic_is():
    fixed = ALGORITHMS["heuristic_mc_rave"]._replace(prior_n_amaf=50)
    adapted = fixed._replace(adapt_m=True)
    for h in (0.0, 0.1, 0.5, 0.9, 1.0):
        assert confidence(h, fixed) == 50
        assert confidence(h, adapted) == round(min(500, 50 / max(1e-9, 4 * h * (1 - h))))


def test_kinds_of_moves():
    stride = SIZE + 1
    for move, last, kind in (("C3", "C4", 1), ("C3", "B2", 1), ("C3", "E3", 2), ("C3", "A1", 2), ("E5", "B5", 3)):
        assert kind_of(at(move), at(last), stride) == kind == kind_of(at(last), at(move), stride)
    assert kind_of(at("C3"), PASS, stride) == kind_of(PASS, at("C3"), stride) == 0


def test_the_rave_bias_is_learned_from_the_tree():
    """Many actions with a known bias: what is observed comes near it."""
    rng, bias = np.random.default_rng(1), 0.15
    squares, counts = np.zeros(KINDS), np.zeros(KINDS)
    for _ in range(400):
        tree = new_tree(1, 2)
        add_root(np.array([at("C3"), at("E5")]), tree)
        for i in range(2):
            q = rng.uniform(0.3, 0.7)
            b = bias * rng.choice([-1, 1]) if i == 0 else 0.0
            tree.mc[i] = statistic(200, rng.binomial(200, q))
            tree.amaf[i] = statistic(300, rng.binomial(300, min(1, max(0, q + b))))
        observe_bias(tree, at("C2"), SIZE + 1, ALGORITHMS["mc_rave"]._replace(prior_n_amaf=0), squares, counts)
    assert counts.tolist() == [0, 400, 0, 400]
    b = learned_bias(squares, counts, 0.15)
    assert b[1] == pytest.approx(0.15, abs=0.01) and b[3] < 0.09 and b[0] == b[2] == pytest.approx(0.15)
    search = make_player("mc_rave,schedule=minimum_mse,learn_bias=on,bias=0.05,M=0,sims=3000", SIZE, 1)
    search.search(game_after("C3"))
    learned = search._knowledge.bias.copy()
    assert learned[0] == pytest.approx(0.05) and (learned[1:] != 0.05).any()
    search.new_game()
    assert (search._knowledge.bias == 0.05).all()


def test_progressive_bias_and_widening():
    w, game = weights(), game_after("C3")
    settings = ALGORITHMS["heuristic_mc_rave"]._replace(prior_n_amaf=0, widening=2.0)
    search = TreeSearch(SIZE, settings, 200, weights=w, seed=1)
    found = search.search(game)
    tree = search.trees[0]
    for node in range(0, nodes_in(tree), 7):
        assert (
            np.diff(tree.prior[tree.first[node] : tree.first[node] + tree.n_edges[node]].astype(int)) >= 0
        ).all() or (
            np.diff(tree.prior[tree.first[node] : tree.first[node] + tree.n_edges[node]].astype(int)) <= 0
        ).all()
    # White plays at the root: its best first, and only as many as N(s) allows.
    assert (np.diff(edges_of(tree, 0).prior) >= 0).all()
    tried = np.flatnonzero(edges_of(tree, 0).n)
    assert len(tried) <= widened(found.simulations, 2.0) == 2 + int(math.log2(200 / 40)) == 4
    assert widened(39.0, 2.0) == 1
    # Progressive bias alone decides between actions that are otherwise equal, and fades with visits.
    tree = flat_tree((100, 50.0), (1, 0.5), (1, 0.5))
    tree.prior[:] = 255, 51, 204
    worker = search._team.workers[0]
    plain = ALGORITHMS["mcts_greedy"]
    for color, best in ((BLACK, 2), (WHITE, 1)):
        biased = plain._replace(progressive_bias=0.1)
        assert select(0, color, biased, search._knowledge, worker.path, tree, worker.rng) == best
    assert select(0, BLACK, plain, search._knowledge, worker.path, tree, worker.rng) == 0


@pytest.mark.parametrize(("first", "simulations"), [("td_search.toml", 1000), ("td_search;sims=30;sizes=1+2", 30)])
def test_td_search_before_tree_search_by_file_or_spec(first, simulations):
    search = make_player(f"heuristic_mc_rave,first={first},sims=20", SIZE, 3)
    found = search.search(game_after("C3"))
    assert found.visits.sum() == found.simulations <= 20 and search._first.tally.simulations == simulations
    assert (found.prior != found.prior[0]).any()


def test_the_weights_of_the_first_search_are_among_the_files_of_a_match():
    (name, digest), *more = programs_of(["heuristic_mc_rave,first=dyna2;long=9x9-1M", "random"])["files"].items()
    assert name == "9x9-1M" and programs_of(["greedy,weights=9x9-1M"])["files"] == {name: digest} and not more


# ---------------------------------------------------------------------------------------------
# Threads
# ---------------------------------------------------------------------------------------------


def assert_whole(tree) -> None:
    """N(s) = sum N(s, a); nodes and edges stand in one order; every node but the root is one action's child."""
    end, children = 0, set()
    for node in range(nodes_in(tree)):
        edges = edges_of(tree, node)
        assert tree.n[node] == edges.n.sum() and (edges.w <= edges.n).all() and (edges.child >= -1).all()
        assert tree.first[node] == end
        end += len(edges)
        below = edges.child[edges.child >= 0]
        assert (below > node).all() and not children & set(below.tolist())
        children |= set(below.tolist())
        for e in edges[edges.child >= 0]:
            assert 0 < tree.n[e.child] <= e.n
    assert children == set(range(1, nodes_in(tree)))


@pytest.mark.parametrize("name", ["uct", "mc_rave"])
@pytest.mark.parametrize("expand_after", [1, 3])
def test_counts_are_exact_whatever_the_threads_do(name, expand_after):
    settings = ALGORITHMS[name]._replace(expand_after=expand_after, virtual_loss=3)
    search = TreeSearch(SIZE, settings, 30_000, default=TO_THE_END, workers=4, seed=1)
    search._is_decided = lambda left: False
    found = search.search(game_after("C3"))
    tree = search.trees[0]
    assert found.simulations == found.visits.sum() == tree.n[0] == 30_000
    root = edges_of(tree, 0)
    assert root.w.sum() == search.wins  # outcomes are 0 or 1: no rounding
    assert (root.n_amaf >= root.n).all() if name == "mc_rave" else (root.n_amaf == 0).all()
    assert_whole(tree)
    game = game_after("C3")
    game.play(int(found.moves[0]))
    assert search.search(game).simulations == 30_000


def test_a_full_tree_is_shared_as_well():
    search = TreeSearch(SIZE, ALGORITHMS["uct"], 5_000, memory_mb=0.02, workers=3, seed=1)
    search._is_decided = lambda left: False
    found = search.search(game_after("C3"))
    tree = search.trees[0]
    assert found.simulations == found.visits.sum() == 5_000 and nodes_in(tree) <= len(tree.first)
    assert_whole(tree)


def test_roots_of_separate_trees_are_added_up():
    game = game_after("C3")

    def search() -> TreeSearch:
        player = TreeSearch(SIZE, ALGORITHMS["mc_rave"], 301, workers=3, root_parallel=True, seed=5)
        player._is_decided = lambda left: False
        player.search(game)
        return player

    one, two = search(), search()
    for x, y in zip(one.found, two.found, strict=True):
        np.testing.assert_array_equal(x, y)
    assert sorted(int(tree.n[0]) for tree in one.trees) == [100, 100, 101] and one.found.visits.sum() == 301
    for p, n, n_amaf in zip(one.found.moves, one.found.visits, one.found.n_amaf, strict=True):
        mine = [edges_of(tree, 0)[edges_of(tree, 0).move == p] for tree in one.trees]
        assert (n, n_amaf) == (sum(int(e.n[0]) for e in mine), sum(int(e.n_amaf[0]) for e in mine))
    assert one.trees[0].move[0] != one.trees[1].move[0] or one.trees[0].move[1] != one.trees[1].move[1]


def test_a_users_prior_with_threads():
    search = TreeSearch(
        SIZE, ALGORITHMS["mc_rave"], 400, prior=lambda board, moves: (0.5, 1, 10), batch=4, workers=2, seed=1
    )
    search._is_decided = lambda left: False
    found = search.search(game_after("C3"))
    tree = search.trees[0]
    assert found.simulations == 400
    for node in range(nodes_in(tree)):
        edges = edges_of(tree, node)
        assert (edges.n >= 1).all() and (edges.n_amaf >= 10).all() and tree.n[node] == edges.n.sum()


def test_a_search_of_several_threads_ends_when_it_is_told_to():
    polls = []
    search = TreeSearch(SIZE, ALGORITHMS["uct"], None, seconds=1000.0, workers=2, seed=1)
    search.search(game_after("C3"), stop=lambda: polls.append(1) or len(polls) >= 3)
    assert len(polls) >= 3 and search.found.simulations > 3
    assert search.trees[0].n[0] == search.found.simulations
    # A user's prior has threads stop all the time: they are told then.
    slow = TreeSearch(
        SIZE, ALGORITHMS["uct"], None, seconds=0.2, prior=lambda board, moves: (0.5, 0, 0), batch=2, workers=2, seed=1
    )
    assert 0 < slow.search(game_after("C3")).simulations < 1_000_000


def test_a_game_is_reproducible_from_the_seed():
    def play(workers: int) -> list[tuple[int, int]]:
        player = TreeSearch(
            SIZE, ALGORITHMS["mc_rave"], 700, workers=workers, root_parallel=workers > 1, memory_mb=8, seed=4
        )
        game = Game(SIZE, 0.5)
        while not game.is_over() and len(game.moves) < 60:
            game.play(player.genmove(game))
        return game.moves

    assert play(1) == play(1) and play(2) == play(2)
