"""The two simplest players: random and greedy."""

from __future__ import annotations

import numpy as np
import pytest
from stand_ins import TWO_STONES_SENT, FakeValues, game_after

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE, is_eye
from rlgo.go.coords import from_row_col, from_vertex
from rlgo.go.game import Game
from rlgo.play.player import Candidate, GreedyPlayer, Player, RandomPlayer


def moves_of(player: Player, game: Game, n: int = 200) -> set[int]:
    return {player.genmove(game) for _ in range(n)}


def test_random_players_play_all_sensible_moves() -> None:
    game = game_after(TWO_STONES_SENT)
    assert moves_of(RandomPlayer(1), game, 2000) == set(game.sensible_moves())
    assert from_vertex("B1", 5) not in game.sensible_moves()


def test_random_players_pass_where_nothing_is_sensible() -> None:
    game = Game(5)
    game.set_up([(BLACK, from_row_col(row, col, 5)) for row in range(5) for col in range(5) if (row + col) % 4])
    assert all(is_eye(game.board, p, BLACK) for p in game.legal_moves())
    assert game.legal_moves()
    assert game.sensible_moves() == []
    assert RandomPlayer(1).genmove(game) == PASS
    assert GreedyPlayer(FakeValues(5), 1).genmove(game) == PASS


@pytest.mark.parametrize("make", [RandomPlayer, lambda seed: GreedyPlayer(FakeValues(9), seed)])
def test_a_seed_fixes_all_moves(make) -> None:
    game = Game(9)
    first, again, other = ([player.genmove(game) for _ in range(20)] for player in map(make, (1, 1, 2)))
    assert first == again != other


def test_greedy_players_take_the_best_afterstate_of_their_colour() -> None:
    player = GreedyPlayer(FakeValues(5, A1=0.9, E5=0.1, C3=0.8), 1)
    assert moves_of(player, Game(5)) == {from_vertex("A1", 5)}
    assert moves_of(player, game_after("A1")) == {from_vertex("E5", 5)}
    assert moves_of(player, game_after("A1 E5")) == {from_vertex("C3", 5)}


def test_greedy_players_break_exact_ties_evenly() -> None:
    player = GreedyPlayer(FakeValues(5, A1=0.9, E5=0.9, C3=0.9 - 1e-12), 1)
    chosen = [player.genmove(Game(5)) for _ in range(400)]
    assert set(chosen) == {from_vertex("A1", 5), from_vertex("E5", 5)}
    assert 150 < chosen.count(from_vertex("A1", 5)) < 250


def test_greedy_players_know_superko() -> None:
    game = game_after(TWO_STONES_SENT)
    assert moves_of(GreedyPlayer(FakeValues(5, B1=1.0, C4=0.9), 1), game) == {from_vertex("C4", 5)}


def test_greedy_players_explore() -> None:
    player = GreedyPlayer(FakeValues(5, A1=0.9), 1, epsilon=0.5)
    chosen = [player.genmove(Game(5)) for _ in range(1000)]
    assert set(chosen) == set(Game(5).sensible_moves())
    assert 450 < chosen.count(from_vertex("A1", 5)) < 590  # 0.5 + 0.5 / 25


@pytest.mark.parametrize(
    ("moves", "komi", "passes"),
    [
        ("C3 pass", 0.5, True),  # Black owns the board
        ("C3 pass", 30, False),  # ... and loses all the same
        ("C3 pass", 25, False),  # a draw is not won
        ("pass", 0.5, True),  # White wins an empty board
        ("pass", -0.5, False),
        ("C3", -30, False),  # nobody has passed
        ("pass C3 pass B2", 0.5, False),
    ],
)
def test_greedy_players_pass_to_end_a_game_that_they_have_won(moves: str, komi: float, passes: bool) -> None:
    game = game_after(moves, komi=komi)
    assert (GreedyPlayer(FakeValues(5), 1).genmove(game) == PASS) == passes


def test_an_own_pass_is_not_the_opponents() -> None:
    game = game_after("C3 pass", komi=0.5)
    game.to_play = WHITE
    game.komi = 30
    assert GreedyPlayer(FakeValues(5), 1).genmove(game) != PASS


def test_greedy_players_show_their_values() -> None:
    player = GreedyPlayer(FakeValues(5, A1=0.9, E5=0.1), 1)
    assert list(player.analyses()) == ["value"]
    assert np.isnan(player.analyses()["value"]).all()
    player.genmove(game_after("C3"))
    values = player.analyses()["value"]
    assert values.shape == (5, 5)
    assert (values[0, 0], values[4, 4], values[0, 4]) == (0.9, 0.1, 0.5)
    assert np.isnan(values[2, 2])
    with pytest.raises(RlgoError, match="plays on 5x5, found 9x9"):
        player.genmove(Game(9))


def test_the_budget_of_a_move_is_the_players_own_limits_and_its_clocks() -> None:
    player = RandomPlayer(1)
    budget = player.own_budget()
    assert (budget.simulations, budget.seconds, budget.ends()) == (None, None, False)
    player.simulations, player.seconds, player.limit = 10, 3.0, 2.0
    player.stop = lambda: True
    budget = player.own_budget()
    assert (budget.simulations, budget.seconds, budget.ends()) == (10, 2.0, True)
    player.limit = 4.0
    assert player.own_budget().seconds == 3.0
    assert not player.own_budget(lambda: False).ends()


def test_statistics_are_what_the_candidates_tell() -> None:
    class Certain(RandomPlayer):
        def candidates(self, game: Game) -> list[Candidate]:  # noqa: ARG002 - the protocol's
            return [Candidate(8, 0.75, 40, [8, 9]), Candidate(PASS, 0.5, 2, [PASS])]

    game = Game(5)
    assert RandomPlayer().statistics(game) is None
    told = Certain().statistics(game)
    assert told is not None
    assert (told.kind, told.moves, told.lines, told.done) == ("values", [8, PASS], [[8, 9], [PASS]], 40)
    assert {name: column.tolist() for name, column in told.columns.items()} == {
        "value": [0.75, 0.5],
        "visits": [40.0, 2.0],
    }


def test_warming_up_evaluates_an_empty_board(monkeypatch) -> None:
    """That compiles what a move needs, before a clock runs."""
    values, asked = FakeValues(7), []
    monkeypatch.setattr(values, "afterstates", lambda board: asked.append(int(board.n_empty)))
    GreedyPlayer(values).warm_up()
    assert asked == [49]
