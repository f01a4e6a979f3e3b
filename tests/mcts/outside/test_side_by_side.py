"""Searches side by side: the same course as alone, one call of the evaluator for all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mcts
from mcts.outside.side_by_side import SideBySide
from rlgo import Game, Positions
from rlgo.base.errors import RlgoError
from rlgo.go.board import PASS
from rlgo.go.positions import joined
from rlgo.learning.collection import read_collection
from train.games.collect import GamesPlan, play_games
from train.games.shards import unpack


class Counted:
    """Logits and values that depend on the stones; counts its calls and positions."""

    def __init__(self, fails_after: int = 10**9):
        self.calls = self.positions = 0
        self.fails_after = fails_after

    def __call__(self, positions: Positions) -> dict[str, np.ndarray]:
        self.calls += 1
        self.positions += len(positions)
        if self.calls > self.fails_after:
            raise ValueError("out of memory")
        stones = positions.stones().reshape(len(positions), -1).astype(float)
        waves = np.sin(stones @ np.arange(1, stones.shape[1] + 1)[:, None] + np.arange(stones.shape[1] + 1))
        return {"logits": 2 * waves, "value": (1 + waves[:, 3]) / 2, "ownership": waves[:, :1]}


def games_of(evaluator: Counted, parallel: int, games: int = 6) -> list[mcts.PlayedGame]:
    played = mcts.play_games(evaluator, games, parallel=parallel, simulations=6, size=5, seed=3)
    return sorted(played, key=lambda game: game.number)


def test_games_are_the_same_however_many_at_once() -> None:
    one, four = Counted(), Counted()
    alone, together = games_of(one, 1), games_of(four, 4)
    assert alone == together
    assert [game.number for game in alone] == [1, 2, 3, 4, 5, 6]
    assert len({game.moves for game in alone}) == 6
    assert one.calls == one.positions == four.positions
    assert four.calls < 0.5 * one.calls
    for game in alone:
        assert len(game.moves) == len(game.values) == len(game.policies)
        assert all(abs(sum(policy.values()) - 1_000) < 30 for policy in game.policies if policy != {PASS: 1})
        replayed = Game(5)
        for move in game.moves:
            replayed.play(move)
        assert replayed.outcome == game.z


def test_each_search_has_the_answers_to_its_own_positions() -> None:
    evaluators = Counted(), Counted()
    settings = mcts.ALGORITHMS["puct"]

    def search(i: int) -> tuple[list[int], float]:
        game = Game(5)
        for move in game.sensible_moves()[:i]:
            game.play(move)
        player = mcts.TreeSearch(5, settings, 20, evaluator=evaluators[i % 2], seed=i)
        result = player.search(game)
        return result.visits.tolist(), float(player.evaluation["ownership"][0])

    alone = [search(i) for i in range(4)]
    calls = [evaluator.calls for evaluator in evaluators]
    with SideBySide() as jobs:
        started = [jobs.start(lambda i=i: search(i)) for i in range(4)]
        over: list[object] = []
        while len(over) < 4:
            over += jobs.step()
        assert jobs.step() == []
    assert [job.result for job in started] == alone
    assert [evaluator.calls - before for evaluator, before in zip(evaluators, calls, strict=True)] < calls


def test_an_evaluator_that_fails_ends_all_games_with_its_message() -> None:
    with pytest.raises(RlgoError, match=r"evaluator: ValueError: out of memory"):
        games_of(Counted(fails_after=5), 4)


def test_joined_positions_have_their_own_superko() -> None:
    rng, parts = np.random.default_rng(5), []
    for length in (40, 0, 55, 30):
        game = Game(5)
        for _ in range(length):
            if not (moves := game.sensible_moves()):
                break
            game.play(int(rng.choice(moves)))
        parts.append(Positions.of(game, 2))
    whole = joined(parts)
    assert len(whole) == 4
    np.testing.assert_array_equal(whole.legal(), np.concatenate([part.legal() for part in parts]))
    np.testing.assert_array_equal(whole.stones(1), np.concatenate([part.stones(1) for part in parts]))
    np.testing.assert_array_equal(whole.to_play, np.concatenate([part.to_play for part in parts]))


PLAYER = """
import mcts, numpy as np

def evaluate(positions):
    stones = positions.stones().reshape(len(positions), -1).astype(float)
    waves = np.sin(stones @ np.arange(1, 26)[:, None] + np.arange(26))
    return {"logits": waves, "value": (1 + waves[:, 3]) / 2}

class Mine(mcts.TreeSearch):
    def __init__(self, size, seed):
        super().__init__(size, mcts.ALGORITHMS["puct"], 8, evaluator=evaluate, seed=seed)
"""


def test_training_games_of_a_player_in_python(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLAYER)
    plan = GamesPlan(f"{tmp_path / 'mine.py'}:Mine", 5, size=5)
    play_games(plan, tmp_path / "one", progress=False)
    play_games(plan, tmp_path / "three", parallel=3, progress=False)
    one, three = (
        {game.number: game for game in unpack(read_collection([tmp_path / name]).arrays)} for name in ("one", "three")
    )
    assert one == three
    assert len(one) == 5
    with pytest.raises(RlgoError, match="expected sims in place of seconds"):
        play_games(GamesPlan("mc_rave,seconds=1", 5, size=5), tmp_path / "timed", parallel=3, progress=False)
    with pytest.raises(RlgoError, match="parallel cannot be combined with jobs"):
        play_games(plan._replace(games=9), tmp_path / "one", parallel=3, jobs=2, progress=False)
