"""Go as a vector environment of Gymnasium: n games at once, in compiled code.

Use `vector_env`; start reading at `GoVectorEnv`. The API is that of Towers et al. 2024 (arXiv:2407.17032). Importing
this module raises an RlgoError if Gymnasium is missing; install it with `pip install 'rlgo[gymnasium]'`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI, DEFAULT_SIZE, Count, Komi, board_size
from rlgo.go.board import BLACK
from rlgo.go.positions import Positions, check_moves
from rlgo.go.rules import most_moves

try:
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise RlgoError("needs Gymnasium, which is not installed: pip install 'rlgo[gymnasium]'") from None


def observation_space(size: int) -> spaces.Box:
    """Return the space of what one side sees of one game; see `observed`."""
    return spaces.Box(0, 1, (size, size, 3), np.int8)


def observed(stones: np.ndarray, color: Any) -> np.ndarray:
    """Return what a side sees, int8[..., size, size, 3] of 0 and 1, indexed [row, col] from A1.

    Plane 0: its own stones; plane 1: the other side's; plane 2: all 1 for Black, all 0 for White.

    stones : [..., size, size], colours of the points; color : int[...], the side that looks
    """
    side = np.broadcast_to(np.asarray(color)[..., None, None], stones.shape)
    return np.stack([stones == side, stones == 3 - side, side == BLACK], axis=-1).astype(np.int8)


class GoVectorEnv(VectorEnv):
    """n games of Go, each of which plays both sides in turn, by the rules of `rlgo.Game`.

    An action is row * size + col, where row 0 is the board's row 1, the lowest in text and pictures, and col 0 is
    column A; size * size is a pass. What happens is told from the view of one side, which changes from step to step:

    observations : int8[n, size, size, 3], seen by the side that is to play next; see `observed`. They are those of the
        PettingZoo environment, `train.play.pettingzoo`
    rewards : float64[n], for the side that has just taken its action: 1 if it has won, -1 if it has lost, 0 in a draw
        and before the end. The reward of the other side is the negative
    terminations : bool[n], after two passes, and after an illegal action, which loses: the board stays as it was
    truncations : bool[n], after `max_moves`; the game is scored by area as it stands, as after two passes
    infos : ``action_mask``, int8[n, size * size + 1], 1 for the legal actions of the side to play, superko included

    A game that has ended begins anew at the next step, whose action for it has no effect and whose reward is 0
    (`AutoresetMode.NEXT_STEP`). Nothing is random: a seed seeds `np_random` only, which is for those who draw from it.

    Attributes
    ----------
    positions : the games as they stand, for evaluators and searches; do not change them
    """

    # Which the API has in the class.
    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int, size: int, komi: float, max_moves: int | None) -> None:
        self.num_envs = check("num_envs", num_envs, Count)
        size = board_size(size)
        self.max_moves = check("max_moves", max_moves, Count | None) or most_moves(size)
        self.komi = check("komi", komi, Komi)
        self.single_observation_space = observation_space(size)
        self.single_action_space = spaces.Discrete(size * size + 1)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._new = Positions.new(self.num_envs, size, self.komi)
        self._begin()

    def _begin(self) -> None:
        self.positions = self._new.copy()
        self._ended = np.zeros(self.num_envs, bool)
        self._legal = self.positions.legal()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all games, Black to play; return the observations and infos. There are no options."""
        super().reset(seed=seed, options=options)
        self._begin()
        return self._observations(), self._infos()

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play an action in each game; see the class. RlgoError, with nothing changed, for what is no action."""
        given = check_moves(actions, self.num_envs, self.positions.size)
        lost = ~self._legal[np.arange(self.num_envs), given] & ~self._ended
        black = self.positions.to_play == BLACK
        before = self.positions[lost]
        self.positions.play(np.where(lost | self._ended, self._legal.shape[1] - 1, given))
        self.positions[lost] = before
        self.positions[self._ended] = self._new[self._ended]
        terminations = self.positions.over() | lost
        truncations = ~terminations & (self.positions.n_moves >= self.max_moves)
        ended = terminations | truncations
        rewards = np.zeros(self.num_envs)
        rewards[ended] = (2 * self.positions[ended].outcome() - 1) * np.where(black[ended], 1, -1)
        rewards[lost] = -1
        self._ended, self._legal = ended, self.positions.legal()
        return self._observations(), rewards, terminations, truncations, self._infos()

    def _observations(self) -> np.ndarray:
        return observed(self.positions.stones(), self.positions.to_play)

    def _infos(self) -> dict[str, Any]:
        """Return the infos; by the API, booleans tell which games have an entry."""
        return {"action_mask": self._legal.astype(np.int8), "_action_mask": np.ones(self.num_envs, bool)}


def vector_env(
    num_envs: int, size: int = DEFAULT_SIZE, komi: float = DEFAULT_KOMI, max_moves: int | None = None
) -> GoVectorEnv:
    """Make n games of Go at once, as a vector environment of Gymnasium; see `GoVectorEnv`.

    Parameters
    ----------
    num_envs : number of games
    size, komi : board size, 5 to 19; points added to White's score
    max_moves : moves, passes included, after which a game is truncated; None: 3 * size * size

    Raises
    ------
    RlgoError : for any other value, and if Gymnasium is missing

    >>> import rlgo
    >>> env = rlgo.vector_env(2, 5, komi=0.5)
    >>> observations, infos = env.reset(seed=1)
    >>> observations.shape, infos["action_mask"].sum(axis=1).tolist()
    ((2, 5, 5, 3), [26, 26])
    >>> _ = env.step([12, 25])  # C3, and a pass
    >>> _, rewards, terminations, _, _ = env.step([25, 25])
    >>> rewards.tolist(), terminations.tolist()  # White wins the empty board
    ([0.0, 1.0], [False, True])
    """
    return GoVectorEnv(num_envs, size, komi, max_moves)
