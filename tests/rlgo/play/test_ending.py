"""The end of a game, with players that play on by a script; `tests/mcts/test_judge.py` has the real one."""

from __future__ import annotations

import numpy as np
import pytest
from board_data import TWO_HALVES, from_diagram
from gtp_controller import Scripted, Taker

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE
from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.go.life import owners, unconditional
from rlgo.play.ending import Arbiter, Endings, _filled, count, decide
from rlgo.play.player import RandomPlayer


def halves() -> Game:
    return from_diagram(TWO_HALVES, komi=7.5)


def names(chains: list[list[int]]) -> list[list[str]]:
    return [[to_vertex(p, 9) for p in chain] for chain in chains]


def test_what_is_taken_is_dead_and_what_stands_is_alive() -> None:
    game = halves()
    game.play(PASS)
    game.play(PASS)
    ending = decide(game, Taker("B4", "G4"))
    assert names(ending.dead) == [["G4"], ["B4"]]
    assert (ending.result, ending.unfinished, ending.seki) == ("W+16.5", [], [])
    assert ending.rest.board.n_stones.sum() == game.board.n_stones.sum() - 2
    assert len(ending.territory(BLACK)) + len(ending.territory(WHITE)) + len(ending.territory(EMPTY)) == sum(
        game.board.color[p] == EMPTY for p in range(len(game.board.color))
    )
    assert game.result == "W+11.5"


def test_what_depends_on_who_is_first_is_unfinished() -> None:
    """Black takes B4 if he is first, and nobody moves if White is."""
    ending = decide(halves(), Scripted("A4 pass B3 pass B5 pass C4 pass pass"))
    assert from_vertex("B4", 9) in ending.unfinished
    assert names(ending.dead) == []
    assert ending.result == "?"
    with pytest.raises(RlgoError, match="cannot score: unfinished at"):
        ending.check()


class Hurried(Arbiter):
    def is_far_from_over(self, game: Game) -> bool:  # noqa: ARG002
        return True


def test_a_game_that_is_far_from_over_is_not_played_on() -> None:
    """`Hurried` cannot move."""
    ending = decide(Game(5), Hurried())
    assert len(ending.unfinished) == 25
    assert ending.result == "?"


class Endless(RandomPlayer):
    def genmove(self, game: Game) -> int:
        moves = game.legal_moves()
        return moves[0] if moves else PASS


def test_a_game_that_goes_on_for_long_is_unfinished() -> None:
    asked: list[int] = []
    player = Endless(1)
    player.new_game = lambda: asked.append(1)  # type: ignore[method-assign]
    assert decide(Game(5), player).unfinished
    assert len(asked) == 1


def test_if_black_passes_first_white_has_begun() -> None:
    asked: list[int] = []
    judge = Scripted("pass pass")
    judge.new_game = lambda: asked.append(1)  # type: ignore[method-assign]
    assert decide(halves(), judge).unfinished == []
    assert len(asked) == 1


def test_without_a_judge_only_what_nobody_can_save_is_dead() -> None:
    assert decide(halves()).dead == []


def test_by_agreement() -> None:
    game = halves()
    ending = count(game, [from_vertex("G4", 9)])
    assert names(ending.dead) == [["G4"]]
    with pytest.raises(RlgoError, match="A1: expected a stone"):
        count(game, [from_vertex("A1", 9)])


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_who_resigned_stays_so(color: int) -> None:
    game = halves()
    game.resign(color)
    assert Endings(lambda _size: Taker("B4"))(game).result == ("W+R" if color == BLACK else "B+R")


def test_each_position_is_decided_once() -> None:
    asked: list[int] = []
    judge = Taker("B4", "G4")
    judge.new_game = lambda: asked.append(1)  # type: ignore[method-assign]
    end, game = Endings(lambda _size: judge), halves()
    first = end(game)
    game.play(PASS)
    assert end(game) is first
    assert len(asked) == 2  # with each of the two first
    game.komi = 0.5
    assert end(game).result == "W+9.5"


def random_ends() -> list[Game]:
    """Positions late in random games."""
    games = []
    for seed in range(12):
        player, game = RandomPlayer(seed), Game(7, 0.5)
        for _ in range(30 + 3 * seed):
            if not game.is_over():
                game.play(player.genmove(game))
        games.append(game)
    return games


def test_nobody_captures_what_lives_unconditionally() -> None:
    """Not even if its owner always passes, against random attacks."""
    found = 0
    for seed, game in enumerate(random_ends()):
        alive = unconditional(game.board)[0]
        for side in (BLACK, WHITE):
            mine = [p for p in alive if game.board.color[p] == side]
            found += len(mine)
            attack, rng = game.copy(), np.random.default_rng(seed)
            for _ in range(100):
                attack.to_play = 3 - side
                moves = attack.sensible_moves()
                if not moves:
                    break
                attack.play(moves[rng.integers(len(moves))])
            assert all(attack.board.color[p] == side for p in mine)
    assert found > 100


def test_points_of_owners_add_up_to_the_score() -> None:
    for game in [Game(7, 0.5), *random_ends()]:
        owned = owners(game.board)
        assert owned.count(BLACK) - owned.count(WHITE) - 0.5 == game.score()


def test_filling_changes_neither_score_nor_what_is_open() -> None:
    filled_any = False
    for game in random_ends():
        filled = _filled(game, BLACK)
        owned = {p: side for side, region in unconditional(game.board)[1] for p in region.points}
        for p, owner in enumerate(owners(game.board)):
            assert owners(filled.board)[p] == owned.get(p, owner)
        filled_any |= filled.board.hash != game.board.hash
        assert unconditional(filled.board)[0] >= unconditional(game.board)[0]
    assert filled_any
