"""The PettingZoo environment: its API by PettingZoo's own tests, its rules by the naive board and by `Game`."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from oracles import naive
from pettingzoo.test import api_test, render_test, seed_test
from stand_ins import TWO_STONES_SENT

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_vertex, to_row_col
from rlgo.go.draw import board_text, colors_of
from rlgo.go.game import Game
from rlgo.play.player import RESIGN, Player, RandomPlayer
from train.board_pictures import board_image
from train.play.pettingzoo import action_of, env, raw_env, to_action, to_point
from train.players.spec import make_player


def play(environment, moves: str) -> None:
    """Step through GTP vertices."""
    for name in moves.split():
        size = environment.unwrapped.game.size
        environment.step(to_action(from_vertex(name, size), size))


def started(size: int = 5, moves: str = "", **options):
    environment = env(size, **options)
    environment.reset()
    play(environment, moves)
    return environment


def mask_of(environment, agent: str) -> set[str]:
    """The legal actions by their GTP names."""
    size = environment.unwrapped.game.size
    mask = environment.observe(agent)["action_mask"]
    return {naive.vertex(None if a == size * size else divmod(a, size)) for a in np.flatnonzero(mask).tolist()}


# ---------------------------------------------------------------------------------------------
# The API
# ---------------------------------------------------------------------------------------------

# PettingZoo warns of every observation that is a dict, but for those of its own games; and of what White sees where
# Black has passed at once.
_WARNINGS = [
    "ignore:Observation numpy array is all zeros:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
    "ignore:Observation space for each agent probably should be:UserWarning",
]


@pytest.mark.filterwarnings("error", *_WARNINGS)
@pytest.mark.parametrize("options", [{}, {"size": 5, "komi": 6.0}, {"size": 5, "max_moves": 7}])
@pytest.mark.parametrize("make", [env, raw_env])
def test_the_api_is_pettingzoos(make, options: dict):
    environment = make(**options)
    for i, agent in enumerate(environment.possible_agents):
        environment.action_space(agent).seed(i)
    api_test(environment, num_cycles=1000)
    assert environment.unwrapped.game.moves


@pytest.mark.filterwarnings("error")
def test_pettingzoo_finds_it_deterministic():
    seed_test(lambda: env(size=5), num_cycles=200)


@pytest.mark.filterwarnings("error")
def test_pettingzoo_renders_it(capsys: pytest.CaptureFixture[str]):
    render_test(lambda render_mode: env(size=5, render_mode=render_mode))
    assert board_text(Game(5).board) in capsys.readouterr().out


def test_spaces():
    environment = env(9)
    spaces = [environment.observation_space(agent) for agent in environment.possible_agents]
    assert spaces[0] is environment.observation_space("black_0")
    assert environment.possible_agents == ["black_0", "white_0"]
    assert environment.action_space("black_0") is not environment.action_space("white_0")
    for space in spaces:
        assert (space["observation"].shape, space["observation"].dtype) == ((9, 9, 3), np.int8)
        assert (space["action_mask"].shape, space["action_mask"].dtype) == ((82,), np.int8)
    assert environment.action_space("white_0").n == 82


# ---------------------------------------------------------------------------------------------
# What agents see
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 9])
def test_actions_are_row_major_from_the_lowest_row(size: int):
    for action in range(size * size):
        assert to_row_col(to_point(action, size), size) == divmod(action, size)
        assert to_action(to_point(action, size), size) == action
    assert (to_action(PASS, size), to_point(size * size, size)) == (size * size, PASS)
    for wrong in (-1, size * size + 1):
        with pytest.raises(RlgoError, match="not on the"):
            to_point(wrong, size)


def test_observations_of_both_sides():
    """A position like none of its reflections: Black B1, D2; White A3."""
    environment = started(5)
    for action in (1, 10, 8):
        environment.step(action)
    assert colors_of(environment.unwrapped.game.board)[[0, 2, 1], [1, 0, 3]].tolist() == [BLACK, WHITE, BLACK]
    black, white = (environment.observe(agent)["observation"] for agent in ("black_0", "white_0"))
    assert {tuple(p) for p in np.argwhere(black[..., 0])} == {(0, 1), (1, 3)}
    assert {tuple(p) for p in np.argwhere(black[..., 1])} == {(2, 0)}
    assert (white[..., 0] == black[..., 1]).all()
    assert (white[..., 1] == black[..., 0]).all()
    assert black[..., 2].all()
    assert not white[..., 2].any()
    assert mask_of(environment, "black_0") == set()
    assert len(mask_of(environment, "white_0")) == 23
    assert "pass" in mask_of(environment, "white_0")


@pytest.mark.parametrize(("size", "games"), [(5, 10), (9, 2)])
def test_masks_along_random_games(size: int, games: int):
    """By the naive board and its history, and by `Game`, neither of which the environment has made."""
    rng = np.random.default_rng(1)
    superko = 0
    for i in range(games):
        moves = TWO_STONES_SENT.split() if size == 5 and i % 3 == 0 else []
        environment, board, game = started(size, max_moves=150), naive.NaiveBoard(size), Game(size)
        seen = {frozenset()}
        while not any((*environment.terminations.values(), *environment.truncations.values())):
            simple = board.legal_points()
            legal = {p for p in simple if frozenset(board.result_of(p)[0].items()) not in seen}
            superko += len(simple) - len(legal)
            agent = environment.agent_selection
            mask = mask_of(environment, agent)
            assert mask == {naive.vertex(p) for p in (*legal, None)}
            assert mask == {naive.vertex(naive.from_core(size, p)) for p in (*game.legal_moves(), PASS)}
            name = moves.pop(0) if moves else sorted(mask)[rng.integers(len(mask))]
            play(environment, name)
            board.play(naive.from_vertex(name))
            game.play(from_vertex(name, size))
            seen.add(frozenset(board.stones.items()))
    assert superko or size > 5


# ---------------------------------------------------------------------------------------------
# How games end
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("komi", "moves", "rewards"),
    [
        (0.5, "C3 pass pass", (1, -1)),
        (30.0, "C3 pass pass", (-1, 1)),
        (25.0, "C3 pass pass", (0, 0)),
        (0.5, "pass pass", (-1, 1)),
    ],
)
def test_two_passes_end_the_game(komi: float, moves: str, rewards: tuple[int, int]):
    environment = started(5, komi=komi)
    *before, last = moves.split()
    for name in before:
        play(environment, name)
        assert set(environment.rewards.values()) == {0}
    play(environment, last)
    assert tuple(environment.rewards.values()) == rewards
    assert environment.terminations == {"black_0": True, "white_0": True}
    assert environment.truncations == {"black_0": False, "white_0": False}
    assert mask_of(environment, environment.agent_selection) == set()
    totals = {}
    for agent in environment.agent_iter():
        totals[agent] = environment.last()[1]
        environment.step(None)
    assert totals == dict(zip(("black_0", "white_0"), rewards, strict=True))
    assert environment.agents == []


def test_long_games_are_truncated_and_scored():
    environment = started(5, komi=0.5, max_moves=3, moves="C3 pass")
    assert not any(environment.truncations.values())
    play(environment, "D3")
    assert environment.truncations == {"black_0": True, "white_0": True}
    assert environment.terminations == {"black_0": False, "white_0": False}
    assert environment.rewards == {"black_0": 1, "white_0": -1}
    assert env(5).unwrapped.max_moves == 75

    environment = started(5, max_moves=2, moves="pass pass")  # an end at the limit is an end
    assert all(environment.terminations.values())
    assert not any(environment.truncations.values())


@pytest.mark.parametrize(
    ("moves", "loser"), [("C3 C3", "white_0"), ("A2 E5 B1 A1", "white_0"), ("A1 C3 A1", "black_0")]
)
def test_an_illegal_action_loses(moves: str, loser: str):
    environment = started(5, moves=moves)
    winner = "white_0" if loser == "black_0" else "black_0"
    assert environment.rewards == {loser: -1, winner: 0}
    assert all(environment.terminations.values())
    environment.reset()
    assert environment.rewards == {loser: 0, winner: 0}
    assert len(mask_of(environment, "black_0")) == 26


def test_the_raw_environment_refuses_illegal_actions():
    environment = raw_env(5)
    environment.reset()
    environment.step(12)
    with pytest.raises(RlgoError, match="illegal move White C3: occupied"):
        environment.step(12)
    assert len(environment.game.moves) == 1
    assert environment.agent_selection == "white_0"
    with pytest.raises(RlgoError, match="not on the 5x5 board"):
        environment.step(26)


@pytest.mark.parametrize("action", [-1, 26])
def test_actions_outside_the_space(action: int):
    with pytest.raises(AssertionError, match="not in action space"):
        started().step(action)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 4}, "board size 4"),
        ({"max_moves": 0}, "max_moves = 0: expected an integer from 1"),
        ({"render_mode": "svg"}, "render_mode = 'svg': expected one of human, ansi, rgb_array"),
    ],
)
def test_bad_arguments(options: dict, message: str):
    with pytest.raises(RlgoError, match=message):
        env(**options)


def test_without_pettingzoo_it_says_what_to_install():
    code = "import sys; sys.modules['pettingzoo'] = None; import train.play.pettingzoo"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("RlgoError: needs PettingZoo, which is not installed: pip install 'rlgo[pettingzoo]'")


# ---------------------------------------------------------------------------------------------
# Pictures, copies, players
# ---------------------------------------------------------------------------------------------


def test_rendering(capsys: pytest.CaptureFixture[str]):
    game = Game(5)
    for name in ("B1", "A3"):
        game.play(from_vertex(name, 5))
    text = board_text(game.board, game.last_move)
    assert started(5, "B1 A3", render_mode="ansi").render() == text
    pytest.importorskip("matplotlib")
    picture = started(5, "B1 A3", render_mode="rgb_array").render()
    assert picture.shape == (120, 120, 3)
    assert (picture == board_image(colors_of(game.board), game.last_move)).all()
    assert capsys.readouterr().out == ""
    started(5, "B1 A3", render_mode="human")  # prints of itself
    assert capsys.readouterr().out.endswith(text + "\n")
    with pytest.raises(RlgoError, match="render_mode = None"):
        started(5).render()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_go_on_from_the_same_position(duplicate):
    """Superko too, which the stones alone do not tell; and neither of the two disturbs the other."""
    environment = started(5, moves=TWO_STONES_SENT, komi=3.5)
    twin = duplicate(environment)
    assert twin.unwrapped.game.komi == 3.5
    assert mask_of(twin, "black_0") == mask_of(environment, "black_0")
    play(twin, "E1 E2")
    assert len(environment.unwrapped.game.moves) == 8
    assert environment.agent_selection == "black_0"
    play(environment, "pass pass")
    assert all(environment.terminations.values())
    assert not any(twin.terminations.values())


def test_players_play_a_whole_game():
    environment = started(9)
    players: dict[str, Player] = {"black_0": make_player("greedy", 9, 1), "white_0": RandomPlayer(2)}
    totals = {}
    for agent in environment.agent_iter():
        _, totals[agent], terminated, truncated, _ = environment.last()
        environment.step(None if terminated or truncated else action_of(players[agent], environment))
    assert totals == {"black_0": 1, "white_0": -1}
    game = environment.unwrapped.game
    assert game.is_over()
    assert game.outcome == 1
    assert len(game.moves) > 20


def test_a_player_that_resigns_passes():
    class Resigning(Player):
        name = "resigning"

        def genmove(self, _game: Game) -> int:
            return RESIGN

    assert action_of(Resigning(), started(5)) == 25
