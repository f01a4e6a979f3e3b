"""Go as a PettingZoo environment (AEC API), with rlgo's rules.

Use `env`, and `action_of` to let rlgo's players play in it; start reading at `raw_env`. The API is that of Terry et al.
2021 (arXiv:2009.14471). Importing this module raises an RlgoError if PettingZoo is missing; install
it with `pip install 'rlgo[pettingzoo]'`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, Count
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_row_col, to_row_col
from rlgo.go.draw import board_text, colors_of
from rlgo.go.game import Game
from rlgo.go.rules import most_moves
from rlgo.play.player import RESIGN, Player
from train.board_pictures import board_image
from train.plots import need_matplotlib

try:
    from gymnasium import spaces
    from pettingzoo import AECEnv
    from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

    from rlgo.play.vector_env import observation_space, observed
except ImportError:
    raise RlgoError("needs PettingZoo, which is not installed: pip install 'rlgo[pettingzoo]'") from None

_AGENTS = {"black_0": BLACK, "white_0": WHITE}
_BLACK, _WHITE = _AGENTS
_RENDER_MODES = ("human", "ansi", "rgb_array")


def to_action(point: int, size: int) -> int:
    """Return the action of a point: row * size + col from A1, or size * size for PASS. RlgoError off the board."""
    if point == PASS:
        return size * size
    row, col = to_row_col(point, size)
    return row * size + col


def to_point(action: int, size: int) -> int:
    """Return the point of an action, or PASS. RlgoError outside 0 to size * size."""
    return PASS if action == size * size else from_row_col(*divmod(action, size), size)


def _observation_space(size: int) -> spaces.Dict:
    return spaces.Dict(
        {
            "observation": observation_space(size),
            "action_mask": spaces.Box(0, 1, (size * size + 1,), np.int8),
        }
    )


def env(
    size: int = DEFAULT_SIZE, komi: float = DEFAULT_KOMI, render_mode: str | None = None, max_moves: int | None = None
) -> OrderEnforcingWrapper:
    """Wrap `raw_env` in PettingZoo's usual wrappers; the parameters are the same.

    An illegal action ends the game with -1 for the agent that took it and 0 for the other. An action outside the
    action space raises an AssertionError.
    """
    wrapped = TerminateIllegalWrapper(raw_env(size, komi, render_mode, max_moves), illegal_reward=-1)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(wrapped))


class raw_env(AECEnv):
    """A game of Go between the agents ``black_0`` and ``white_0``, by the rules of `rlgo.go.game.Game`.

    Actions are row * size + col, where row 0 is the board's row 1, the lowest in text and pictures, and col 0 is
    column A. The last action, size * size, is a pass.

    An observation is a dict of

    ``observation`` : int8[size, size, 3], what the agent sees; see `rlgo.play.vector_env.observed`
    ``action_mask`` : int8[size * size + 1], 1 for the legal actions of the agent to play, positional superko
        included; all 0 for the other agent, and after the end of the game

    The game terminates after two passes and is truncated after `max_moves`. Either way it is scored by area as it
    stands, with all stones alive: the winner gets 1 and the loser -1; in a draw both get 0. All earlier rewards are 0.
    Nothing is random: neither the seed nor the options of a reset have an effect.

    Attributes
    ----------
    game : the game in progress; read it, but do not change it
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(_RENDER_MODES),
        "name": "rlgo_go",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        size: int = DEFAULT_SIZE,
        komi: float = DEFAULT_KOMI,
        render_mode: str | None = None,
        max_moves: int | None = None,
    ) -> None:
        """Make an environment. Reset it before its first step.

        Parameters
        ----------
        size, komi : board size, 5 to 19; points added to White's score
        render_mode : ``human`` prints the board at every reset and step; with ``ansi``, `render` returns that text,
            with ``rgb_array`` a picture, which needs matplotlib
        max_moves : moves, passes included, after which a game is truncated; None: 3 * size * size

        Raises
        ------
        RlgoError : for any other value, and for pictures without matplotlib.
        """
        super().__init__()
        if not (render_mode is None or (isinstance(render_mode, str) and render_mode in _RENDER_MODES)):
            raise RlgoError(f"render_mode = {shown(render_mode)}: expected one of {', '.join(_RENDER_MODES)}, or None")
        if render_mode == "rgb_array":
            need_matplotlib()
        max_moves = check("max_moves", max_moves, Count | None)
        self.game = Game(size, komi)
        self.render_mode = render_mode
        self.max_moves = most_moves(size) if max_moves is None else max_moves
        self.possible_agents = list(_AGENTS)
        # Each agent seeds the sampling of its own spaces, so they are not shared.
        self.observation_spaces = {agent: _observation_space(size) for agent in _AGENTS}
        self.action_spaces = {agent: spaces.Discrete(size * size + 1) for agent in _AGENTS}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling and deep copies: a `Game` is stored as its moves."""
        return {**self.__dict__, "game": (self.game.size, self.game.komi, [p for _, p in self.game.moves])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        size, komi, points = state["game"]
        self.__dict__.update(state, game=Game(size, komi))
        for p in points:
            self.game.play(p)

    def observation_space(self, agent: str) -> spaces.Space:
        """Return the space of an agent's observations, the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """Return the space of an agent's actions, the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:  # noqa: ARG002 - of the API
        """Begin a new game, Black to play."""
        self.game = Game(self.game.size, self.game.komi)
        self.agents = list(_AGENTS)
        self.agent_selection = _BLACK
        self.rewards = dict.fromkeys(_AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(_AGENTS, 0.0)
        self.terminations = dict.fromkeys(_AGENTS, False)
        self.truncations = dict.fromkeys(_AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in _AGENTS}
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Return what an agent sees; see the class."""
        size, color = self.game.size, _AGENTS[agent]
        mask = np.zeros(size * size + 1, np.int8)
        if agent == self.agent_selection and not (self.terminations[agent] or self.truncations[agent]):
            mask[[to_action(p, size) for p in (*self.game.legal_moves(), PASS)]] = 1
        return {"observation": observed(colors_of(self.game.board), color), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Play an action for `agent_selection`; it must be None once the game is over.

        RlgoError, with the game unchanged, for an illegal action, or one outside the action space.
        """
        agent = self.agent_selection
        if action is None or self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.game.play(to_point(int(action), self.game.size))
        self.agent_selection = _WHITE if agent == _BLACK else _BLACK
        over = self.game.is_over()
        capped = not over and len(self.game.moves) >= self.max_moves
        if over or capped:
            black = 2 * self.game.outcome - 1
            self.rewards = {_BLACK: black, _WHITE: -black}
            self.terminations = dict.fromkeys(_AGENTS, over)
            self.truncations = dict.fromkeys(_AGENTS, capped)
            self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def render(self) -> str | np.ndarray | None:
        """Return the board as text (``ansi``) or as a picture, uint8[24 * size, 24 * size, 3] (``rgb_array``).

        ``human`` prints the text and returns None. RlgoError without a render mode.
        """
        if self.render_mode is None:
            raise RlgoError(f"render_mode = None: nothing to render; expected one of {', '.join(_RENDER_MODES)}")
        if self.render_mode == "rgb_array":
            return board_image(colors_of(self.game.board), self.game.last_move)
        text = board_text(self.game.board, self.game.last_move)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def action_of(player: Player, env: AECEnv) -> int:
    """Let a player choose an action for the agent to play in `env` or `raw_env`, which must not be over.

    There is no action for resigning: a player that resigns passes. The caller calls `new_game` and `end_game`.
    """
    game: Game = env.unwrapped.game
    p = player.genmove(game)
    return to_action(PASS if p == RESIGN else p, game.size)
