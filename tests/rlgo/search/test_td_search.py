"""TD search: the updates of a simulation, against dense TD; and the search as a player."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import naive
from oracles.naive import to_core

from rlgo.base.budget import Budget
from rlgo.base.errors import RlgoError
from rlgo.base.settings import EPSILON_GREEDY, LINEAR, STEP, Policy
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.learning.change_log import catch_up
from rlgo.learning.value import ValueFunction
from rlgo.moves.rollout import MOGO, UNIFORM, DefaultPolicy
from rlgo.search.td_search import LEARNING, THROUGHOUT, Simulation, TdSearch

QUICK = {"size": 5, "sizes": (1, 2), "simulations": 60, "seed": 1}


def game_after(*vertices: str, size: int = 5, komi: float = 0.5) -> Game:
    game = Game(size, komi)
    for vertex in vertices:
        game.play(from_vertex(vertex, size))
    return game


def places(search: TdSearch, game: Game) -> set[int]:
    """The places in theta_bar of the shapes in a position, all-empty ones left out."""
    f, out = search.features, set()
    for w, (name, row, col) in enumerate(f.windows):
        k = int(name[0])
        points = [to_core(f.size, (row + j, col + i)) for j in range(k) for i in range(k)]
        cells = tuple(int(game.board.color[p]) for p in points)
        if any(cells):
            out.add(int(f.geometry.ld_base[w]) + naive.to_place(f, w, cells))
    return out


# ---------------------------------------------------------------------------------------------
# What a simulation teaches
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plies", "learn_plies", "default", "settings"),
    [
        (THROUGHOUT, THROUGHOUT, UNIFORM, {}),
        (6, THROUGHOUT, MOGO, {}),
        (6, THROUGHOUT, UNIFORM, {"lambda_": 0.5}),
        (6, 6, MOGO, {"lambda_": 1.0}),
        (3, 5, UNIFORM, {"plies": 1}),
        (8, 3, MOGO, {"value": LINEAR, "alpha": 0.05}),
        (0, THROUGHOUT, MOGO, {}),
    ],
)
def test_what_simulations_teach_equals_dense_td(plies, learn_plies, default, settings):
    """One simulation after the other, from a position in mid-game; the naive board replays each, dense TD learns."""
    game = game_after("C3", "B2", "D2", "C4", "B3")
    learning = LEARNING._replace(alpha=0.2)._replace(**settings)
    search = TdSearch(
        5,
        (1, 2),
        1,
        learning=learning,
        simulation=Simulation(plies, learn_plies),
        default=DefaultPolicy(default),
        seed=3,
    )
    theta: dict[naive.Weight, float] = {}
    for _ in range(12):
        search.search(game)
        assert search.tally.simulations == 1
        episode = search.scratch[0].episode
        moves = [p for _, p in game.moves] + episode.moves[: episode.n].tolist()
        states, _ = naive.states_after(5, moves, len(game.moves), (1, 2), "none")
        if learn_plies < THROUGHOUT:
            assert episode.n <= learn_plies
        naive.learn(
            theta, states, float(search.tally.wins), alpha=learning.alpha, lambda_=learning.lambda_,
            plies=learning.plies, value_kind="linear" if learning.value == LINEAR else "logistic", update="game",
            normalise="active",
        )  # fmt: skip
    expected = naive.by_index(theta, search.features)
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(search.memory().theta, expected, atol=2e-6, rtol=0)


def test_the_root_alone_teaches_its_own_shapes():
    game = game_after("C3", "B2", "D2")
    search = TdSearch(5, (1, 2), 1, simulation=Simulation(6, 1), seed=2)
    search.search(game)
    assert set(np.flatnonzero(search.theta_bar)) == places(search, game)


def test_default_policy_takes_over_after_T_plies():
    """With epsilon = 0 and weights that want A1, C1, ... the first T moves are these, and then no longer."""
    game = Game(5, 0.5)
    for plies in (0, 1, 4):
        search = TdSearch(
            5, (1,), 1, policy=Policy(EPSILON_GREEDY, 0.0), simulation=Simulation(plies), seed=plies,
            learning=LEARNING._replace(alpha=1e-9),
        )  # fmt: skip
        order = [from_vertex(v, 5) for v in ("A1", "C1", "E1", "A3", "C3", "E3", "A5", "C5")]
        for rank, p in enumerate(order):
            w = next(i for i, (_, row, col) in enumerate(search.features.windows) if to_core(5, (row, col)) == p)
            search.theta_bar[search.features.geometry.ld_base[w] + BLACK] = 10 - rank
            search.theta_bar[search.features.geometry.ld_base[w] + WHITE] = rank - 10
        followed = []
        for _ in range(20):
            search.search(game)
            episode = search.scratch[0].episode
            moves = episode.moves[: episode.n].tolist()
            assert moves[:plies] == order[:plies]
            followed.append(moves[: plies + 1] == order[: plies + 1])
        assert not all(followed)


def test_long_simulations_are_abandoned_and_teach_nothing():
    search = TdSearch(5, simulations=50, simulation=Simulation(max_moves=10), seed=1)
    search.search(Game(5))
    assert (search.tally.simulations, search.tally.abandoned) == (0, 50)
    assert not search.theta_bar.any()


def test_step_size_falls_over_the_simulations_of_a_move():
    """The third of three simulations learns at alpha_final: a thousandth of what a constant alpha learns."""
    game, changes = game_after("C3", "C4"), []
    for schedule in (0, 1):
        search = TdSearch(
            5, (1, 2), 3, learning=LEARNING._replace(alpha=0.1, schedule=schedule, alpha_final=1e-4, games=2), seed=5
        )
        search.begin(game)
        search.run(0.5, 2, 1)
        changes.append(np.abs(search.theta_bar).max())
    assert changes[0] == pytest.approx(1000 * changes[1], rel=1e-3)


# ---------------------------------------------------------------------------------------------
# The search
# ---------------------------------------------------------------------------------------------


def test_reproducible_from_the_seed_however_it_is_sliced():
    game = game_after("C3")
    a, b, c, d = (TdSearch(**{**QUICK, "seed": seed}) for seed in (1, 1, 2, 1))
    for search in (a, b, c):
        search.search(game)
    d.begin(game)
    for first in range(0, 60, 7):
        d.run(game.komi, first, min(7, 60 - first))
    np.testing.assert_array_equal(a.theta_bar, b.theta_bar)
    np.testing.assert_array_equal(a.theta_bar, d.theta_bar)
    assert (a.theta_bar != c.theta_bar).any()
    assert a.genmove(game) == b.genmove(game)


def test_weights_are_kept_from_move_to_move_or_reset():
    game = game_after("C3")
    keeps, resets = TdSearch(**QUICK), TdSearch(**QUICK, reset=True)
    for search in (keeps, resets):
        search.search(game)
    first = keeps.theta_bar.copy()
    np.testing.assert_array_equal(first, resets.theta_bar)
    for search in (keeps, resets):
        search.search(game_after("C3", "D3"))
    # Shapes of the first root alone: without C3's neighbour. They stay as they were, or go.
    old = list(places(keeps, game) - places(keeps, game_after("C3", "D3")))
    assert (keeps.theta_bar[old] != 0).any()
    fresh = TdSearch(**QUICK)
    assert np.abs(resets.theta_bar).sum() < np.abs(keeps.theta_bar).sum()
    keeps.new_game()
    np.testing.assert_array_equal(keeps.theta_bar, fresh.theta_bar)


def test_it_moves_by_the_values_of_some_moves_ago():
    """With delay k: the greedy move by the memory of k own moves before, by the first one until then."""
    search = TdSearch(**QUICK, delay=2)
    game, memories = Game(5, 0.5), []
    for _ in range(5):
        position = game.copy()
        move = search.genmove(game)
        memories.append(search.memory())
        values = ValueFunction(memories[max(0, len(memories) - 3)]).afterstates(position.board)
        np.testing.assert_allclose(search.analyses()["value"].ravel(), values[:-1])
        game.play(move)
        game.play(game.sensible_moves()[0])


def test_values_are_those_of_the_memory():
    search, game = TdSearch(**QUICK), game_after("C3", "D4")
    move = search.genmove(game)
    values = ValueFunction(search.memory()).afterstates(game.board)[:-1].reshape(5, 5)
    np.testing.assert_array_equal(search.analyses()["value"], values)
    assert values[(move // 6) - 1, move % 6 - 1] == np.nanmax(values)
    assert search.report() == [f"Black won {search.tally.wins / 60:.1%} of 60 simulations"]
    search.new_game()
    assert np.isnan(search.analyses()["value"]).all()
    assert not search.memory().theta.any()
    assert search.report() == []
    assert max(candidate.visits for candidate in search.candidates(game)) == 1


def test_threads_learn_all_that_each_has_learned():
    """Both play all simulations between them, and end up with the same weights, up to rounding."""
    search = TdSearch(5, (1, 2), 600, workers=2, seed=4)
    search.search(game_after("C3", "B3"))
    assert search.tally.simulations == 600
    assert all(change_log.written[0] > 0 for change_log in search._change_logs)
    catch_up(search._change_logs[1], search.memories[1].table.black)
    assert np.abs(search.theta_bar).max() > 0.01
    np.testing.assert_allclose(search.memories[1].table.black, search.theta_bar, atol=1e-5)
    assert search.theta_bar[0] == 0
    assert search.genmove(game_after("C3", "B3")) in Game(5).legal_moves()


def test_the_threads_stop_when_they_are_told_to():
    search = TdSearch(5, (1, 2), simulations=None, seconds=1000.0, workers=2, seed=4)
    seen = []

    def stop() -> bool:  # as an analysis does: it looks at the moves while both simulate
        seen.append(search.candidates(Game(5))[0].visits)
        return seen[-1] > 3

    search.search(Game(5), search.own_budget(stop))
    assert search.tally.simulations >= seen[-1]

    def interrupt() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.search(Game(5), search.own_budget(interrupt))
    search.search(Game(5), Budget(simulations=10))  # no thread goes on with the search before
    assert search.tally.simulations == 10


def test_a_search_ends_when_it_is_told_to():
    polls = []
    search = TdSearch(5, simulations=None, seconds=1000.0, seed=1)
    search.search(Game(5), search.own_budget(lambda: polls.append(1) or len(polls) == 3))
    assert len(polls) == 3
    assert search.tally.simulations > 3
    by_time = TdSearch(5, simulations=10**9, seconds=0.02, seed=1)
    assert by_time.genmove(Game(5)) in Game(5).legal_moves()
    assert 0 < by_time.tally.simulations < 10**9


def test_time_is_saved_where_there_is_nothing_to_decide():
    game = game_after("C3")
    game.allowed = frozenset([from_vertex("B2", 5)])
    timed, counted = TdSearch(5, (1, 2), None, 1000.0, seed=1), TdSearch(**QUICK)
    assert timed.budget_for(game).seconds <= 0.01
    assert timed.budget_for(Game(5)).seconds == 1000
    assert counted.genmove(game) == from_vertex("B2", 5)
    assert counted.tally.simulations == 60  # what they teach is kept for later moves


def test_the_clock_gives_more_time_to_hard_moves():
    search, game = TdSearch(5, (1,), None, 15.0, seed=1), game_after("C3")
    search.limit, search.spare = 10.0, 10.0
    review = search.budget_for(game).review
    assert review() == 15.0  # all moves are worth the same so far: 20 s, if it were not for its own limit
    w = next(i for i, (_, row, col) in enumerate(search.features.windows) if (row, col) == (1, 1))
    search.theta_bar[search.features.geometry.ld_base[w] + WHITE] = -5.0  # one is far better for White
    assert review() == pytest.approx(5.0, abs=0.1)
    search.spare = 0.0
    assert search.budget_for(game).review is None
    search.limit, search.spare = 0.02, 0.02
    search.genmove(game)
    assert 0.01 <= search.limit <= 0.04  # what it has allotted in the end
    assert search.limit != 0.02


def test_finished_and_nearly_finished_games():
    search = TdSearch(**QUICK)
    over = game_after("C3", "pass", "pass")
    search.search(over)  # how it might go on
    assert search.tally.simulations == 60
    assert search.genmove(over) in [PASS, *over.legal_moves()]
    # Black is ahead, and White has passed.
    assert search.genmove(game_after("C3", "pass")) == PASS
    # No sensible move at all.
    full = Game(5, 0.5)
    stones = [(BLACK, from_vertex(f"{c}{r}", 5)) for c in "ABCDE" for r in range(1, 6) if f"{c}{r}" not in ("A1", "E5")]
    full.set_up(stones)
    assert search.genmove(full) == PASS
    # One move from the end: the last point that is not an eye.
    full = Game(5, 0.5)
    full.set_up([stone for stone in stones if stone[1] != from_vertex("E4", 5)])
    assert search.genmove(full) == from_vertex("E4", 5)


def test_superko_binds_the_move_but_not_the_simulations():
    """Black would repeat the position of move 5; the game forbids it, and the board, on which they play, does not."""
    game = game_after("B1", "A2", "C2", "B2", "D1", "E5", "A1", "C1")
    forbidden = from_vertex("B1", 5)
    assert game.why_illegal(forbidden) == "superko"
    search = TdSearch(5, (1,), 50, learning=LEARNING._replace(alpha=1e-9), seed=1)
    w = next(i for i, (_, row, col) in enumerate(search.features.windows) if (row, col) == (0, 1))
    search.theta_bar[search.features.geometry.ld_base[w] + BLACK] = 50.0
    for _ in range(5):
        assert search.genmove(game) in game.sensible_moves()
    # The last simulation, which follows the values, begins there.
    assert forbidden not in game.sensible_moves()
    assert search.scratch[0].episode.moves[0] == forbidden


def test_other_boards_are_refused():
    with pytest.raises(RlgoError, match="td_search: plays on 5x5, found 9x9"):
        TdSearch(5).genmove(Game(9))


def test_updates_after_each_move_are_refused():
    with pytest.raises(RlgoError, match=r'learning\.update = "step": expected "game"'):
        TdSearch(5, learning=LEARNING._replace(update=STEP))


def test_a_new_game_forgets_the_delayed_memory():
    search = TdSearch(5, (1, 2), 60, delay=2, seed=1)
    search.genmove(Game(5))
    search.new_game()
    search.search(Game(5))
    np.testing.assert_array_equal(search.acting_memory(Game(5)).black, search.theta_bar)


def test_a_move_that_is_not_played_delays_nothing():
    """Such as one of GTP's reg_genmove: the memory of two own moves ago acts, however often a move was asked for."""
    game, search, memories = Game(5), TdSearch(**QUICK, delay=2), []
    for n in range(5):
        for _ in range(3):
            search.search(game)
            acting = search.acting_memory(game)
        memories.append(search.theta_bar.copy())
        np.testing.assert_array_equal(acting.black, memories[max(0, n - 2)])
        for _ in range(2):
            game.play(game.sensible_moves()[0])


@pytest.mark.parametrize("settings", [{}, {"delay": 2}, {"reset": True}], ids=str)
def test_questions_change_nothing(settings):
    """Candidates, statistics and maps, of the position and of the one after it: the same moves and weights follow."""
    silent, asked = (TdSearch(**QUICK, **settings) for _ in range(2))
    game = Game(5)
    for _ in range(6):
        move = silent.genmove(game)
        after = game.copy()
        after.play(move)
        for position in (game, after):
            asked.candidates(position)
            asked.statistics(position)
            asked.analyses()
        assert asked.genmove(game) == move
        np.testing.assert_array_equal(asked.theta_bar, silent.theta_bar)
        game = after


def test_values_that_were_asked_for_stay():
    """`evaluate` returns an array of its own, and questions leave the map of the last move alone."""
    search, game = TdSearch(**QUICK), game_after("C3", "D4")
    move = search.genmove(game)
    shown = search.analyses()["value"].copy()
    values = search.evaluate(game)
    kept = values.copy()
    game.play(move)
    search.candidates(game)
    assert (search.evaluate(game) != values).any()
    np.testing.assert_array_equal(values, kept)
    np.testing.assert_array_equal(search.analyses()["value"], shown)
