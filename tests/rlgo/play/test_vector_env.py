"""The vector environment: the contract of Gymnasium, its rules by `Game`, its observations by PettingZoo's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from nonsense import NONSENSE

import rlgo
from rlgo.base.errors import RlgoError
from rlgo.go.game import Game
from rlgo.go.positions import points_of_moves

gymnasium = pytest.importorskip("gymnasium")
vector_wrappers = pytest.importorskip("gymnasium.wrappers.vector")
SIZE, PASS = 5, 25


def drawn(infos: dict, rng: np.random.Generator) -> np.ndarray:
    """A random legal action for each game."""
    mask = infos["action_mask"]
    return np.where(mask, rng.random(mask.shape), -1).argmax(axis=1)


# ---------------------------------------------------------------------------------------------
# The contract
# ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_spaces_and_metadata() -> None:
    env = rlgo.vector_env(3, 9)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.unwrapped is env
    assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    assert env.num_envs == 3
    assert env.single_action_space == gymnasium.spaces.Discrete(82)
    assert env.single_observation_space == gymnasium.spaces.Box(0, 1, (9, 9, 3), np.int8)
    assert env.action_space == gymnasium.vector.utils.batch_space(env.single_action_space, 3)
    assert env.observation_space == gymnasium.vector.utils.batch_space(env.single_observation_space, 3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("legal_only", [True, False])
def test_what_steps_return(legal_only: bool) -> None:
    """Shapes, types and spaces, with legal actions and with any; the arrays of a step stay as they were."""
    env, rng = rlgo.vector_env(6, SIZE, max_moves=40), np.random.default_rng(1)
    env.action_space.seed(1)
    observations, infos = env.reset(seed=3)
    assert observations in env.observation_space
    kept = []
    for _ in range(120):
        actions = drawn(infos, rng) if legal_only else env.action_space.sample()
        observations, rewards, terminations, truncations, infos = env.step(actions)
        assert observations in env.observation_space
        assert (rewards.shape, rewards.dtype) == ((6,), np.float64)
        assert all((flags.shape, flags.dtype) == ((6,), bool) for flags in (terminations, truncations))
        assert not (terminations & truncations).any()
        assert (rewards[~(terminations | truncations)] == 0).all()
        assert set(infos) == {"action_mask", "_action_mask"}
        assert infos["_action_mask"].all()
        assert infos["action_mask"].shape == (6, 26)
        returned = (observations, rewards, terminations, truncations, infos["action_mask"])
        kept.append((returned, [array.copy() for array in returned]))
    assert all(np.array_equal(a, b) for arrays, copies in kept for a, b in zip(arrays, copies, strict=True))
    env.close()


@pytest.mark.filterwarnings("error")
def test_seeds() -> None:
    """Nothing is random; a seed seeds the generator for those who draw from it."""
    one, two = rlgo.vector_env(2, SIZE), rlgo.vector_env(2, SIZE)
    first, _ = one.reset(seed=7)
    second, _ = two.reset(seed=7)
    assert np.array_equal(first, second)
    assert one.np_random_seed == two.np_random_seed == 7
    assert one.np_random.random() == two.np_random.random()
    one.reset()
    assert one.np_random_seed == 7
    assert one.np_random.random() == two.np_random.random()


@pytest.mark.filterwarnings("error")
def test_gymnasiums_wrappers_take_it() -> None:
    env = vector_wrappers.NormalizeObservation(
        vector_wrappers.RecordEpisodeStatistics(rlgo.vector_env(4, SIZE, max_moves=30))
    )
    env = vector_wrappers.DictInfoToList(env)
    _, infos = env.reset(seed=1)
    rng, lengths = np.random.default_rng(1), []
    for _ in range(100):
        mask = np.array([info["action_mask"] for info in infos])
        *_, infos = env.step(np.where(mask, rng.random(mask.shape), -1).argmax(axis=1))
        lengths += [info["episode"]["l"] for info in infos if "episode" in info]
    assert lengths
    assert max(lengths) == 30


def test_gymnasium_measures_it() -> None:
    performance = pytest.importorskip("gymnasium.utils.performance")
    assert performance.benchmark_vector_step(rlgo.vector_env(8, SIZE), target_duration=1, seed=1) > 0


# ---------------------------------------------------------------------------------------------
# Games
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_moves", [None, 20])
def test_games_are_those_of_game(max_moves: int | None) -> None:
    """Masks, rewards and ends along random games, one after another."""
    env, rng = rlgo.vector_env(5, SIZE, 3.5, max_moves), np.random.default_rng(2)
    games: list[Game | None] = [Game(SIZE, 3.5) for _ in range(5)]
    _, infos = env.reset()
    ended = 0
    for _ in range(150):
        actions = np.where(rng.random(5) < 0.2, PASS, drawn(infos, rng))
        _, rewards, terminations, truncations, infos = env.step(actions)
        for i, game in enumerate(games):
            if game is None:  # it begins anew, whatever the action
                games[i] = Game(SIZE, 3.5)
                assert (rewards[i], terminations[i], truncations[i]) == (0, False, False)
                assert infos["action_mask"][i].all()
                continue
            game.play(int(points_of_moves(SIZE)[actions[i]]))
            cut = not game.is_over() and len(game.moves) == (max_moves or 75)
            assert (terminations[i], truncations[i]) == (game.is_over(), cut)
            assert infos["action_mask"][i].sum() == len(game.legal_moves()) + 1
            if game.is_over() or cut:
                black_moved = len(game.moves) % 2 == 1
                assert rewards[i] == (2 * game.outcome - 1) * (1 if black_moved else -1)
                games[i], ended = None, ended + 1
    assert ended > 20


def test_observations_are_those_of_pettingzoo() -> None:
    pytest.importorskip("pettingzoo")
    from train.play.pettingzoo import raw_env

    env, other, rng = rlgo.vector_env(1, SIZE, 0.5), raw_env(SIZE, 0.5), np.random.default_rng(3)
    observations, infos = env.reset()
    other.reset()
    assert env.single_observation_space == other.observation_space("black_0")["observation"]
    for _ in range(60):
        expected = other.observe(other.agent_selection)
        assert np.array_equal(observations[0], expected["observation"])
        assert np.array_equal(infos["action_mask"][0], expected["action_mask"])
        action = drawn(infos, rng)
        agent = other.agent_selection
        observations, rewards, terminations, _, infos = env.step(action)
        other.step(int(action[0]))
        assert rewards[0] == other.rewards[agent]
        if terminations[0]:
            break


def test_who_takes_an_illegal_action_loses() -> None:
    """The other games go on."""
    env = rlgo.vector_env(3, SIZE, 0.5)
    env.reset()
    env.step([12, PASS, 0])
    observations, rewards, terminations, truncations, _ = env.step([12, 3, 1])
    assert rewards.tolist() == [-1, 0, 0]
    assert terminations.tolist() == [True, False, False]
    assert not truncations.any()
    assert observations[0, ..., 1].sum() == 1  # White still sees Black's stone, and nothing else
    assert observations[0, ..., 0].sum() == 0
    _, rewards, terminations, _, infos = env.step([12, 4, 2])
    assert rewards.tolist() == [0, 0, 0]
    assert not terminations.any()
    assert infos["action_mask"][0].all()


def test_what_is_no_action_changes_nothing() -> None:
    env = rlgo.vector_env(2, SIZE)
    env.reset()
    for wrong in ([0], [0, 26], [-1, 0], [0.0, 1.0], "ab", None):
        with pytest.raises(RlgoError, match="expected"):
            env.step(wrong)
    assert env.positions.n_moves.tolist() == [0, 0]


@pytest.mark.parametrize("name", ["num_envs", "size", "komi", "max_moves"])
def test_nonsense_is_taken_or_refused_in_one_line(name: str) -> None:
    messages = []
    for value in NONSENSE:
        try:
            rlgo.vector_env(**({"num_envs": 1, "size": SIZE} | {name: value}))
        except RlgoError as error:
            messages.append(str(error))
    assert len(messages) > 10
    assert max(len(message.splitlines()) for message in messages) == 1


@pytest.mark.process
def test_it_is_imported_when_it_is_used() -> None:
    code = "import rlgo, sys; assert 'gymnasium' not in sys.modules; sys.modules['gymnasium'] = None; rlgo.vector_env"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("RlgoError: needs Gymnasium, which is not installed: pip install 'rlgo[gymnasium]'")
