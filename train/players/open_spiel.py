"""OpenSpiel: its tree search as a player, and networks as the evaluators of its tree search.

Start reading at `OpenSpielSearch` and `SpielEvaluator`. OpenSpiel's game "go" (Lanctot et al. 2019, arXiv:1908.09453)
has the rules of `rlgo.go.board`: simple ko, no suicide, two passes, area score, all stones alive. A stone that
recreates an earlier whole-board position is legal there, and ends the game as a draw; in `Game` it is illegal
(positional superko).

Importing this module raises an RlgoError if OpenSpiel is missing; install it with `pip install 'rlgo[open-spiel]'`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from mcts.outside.answers import ACTION_VALUES, LOGITS, NO_POLICY, Answers
from mcts.outside.evaluator import evaluate
from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, shown
from rlgo.base.settings import DEFAULT_SIZE, board_size
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import seed_sequence
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import from_row_col, to_row_col
from rlgo.go.game import Game
from rlgo.go.positions import HISTORY, Positions, points_of_moves, replayed
from rlgo.go.replay import MoveLists
from rlgo.play.player import Player, Seed, check_size

try:
    import pyspiel
except ImportError:
    raise RlgoError("needs OpenSpiel, which is not installed: pip install 'rlgo[open-spiel]'") from None

# As in OpenSpiel's own example (open_spiel/python/examples/mcts.py).
_UCT_C = 2.0
_ROLLOUTS = 1
_MEMORY_MB = 1000

_STATES = 1 << 14  # that an evaluator remembers: a policy of 19x19 takes 1.4 kB


class OpenSpielSearch(Player):
    """OpenSpiel's tree search as a player: pyspiel.MCTSBot, UCT with random playouts, which backs up proven results.

    It searches by OpenSpiel's rules, and plays the most visited move that is legal in `Game`.

    Parameters
    ----------
    size : board size
    simulations : per move
    seed : seed of all random numbers; None draws a fresh one each time
    """

    def __init__(
        self, size: int = DEFAULT_SIZE, simulations: int = 1000, seed: Seed = None, name: str = "open_spiel"
    ) -> None:
        if simulations < 1:
            raise RlgoError(f"simulations = {simulations}: expected an integer of at least 1")
        self.name, self.sizes, self.simulations = name, (size,), simulations
        sequence = seed_sequence(seed)
        self._seeds = [int(s) >> 1 for s in sequence.generate_state(2)]  # C++ takes 31 bits
        self._komi: float | None = None

    def genmove(self, game: Game) -> int:
        """Choose a move. RlgoError for a game with setup stones or moves out of turn, which OpenSpiel does not have."""
        check_size(self, game)
        if self._komi != game.komi:
            self._begin(game)
        state = self._spiel.new_initial_state()
        for number, (color, p) in enumerate(game.moves):
            if game.setup or color - 1 != number % 2:
                raise RlgoError(f"{self.name}: expected a game without setup stones, and moves in turn")
            if state.is_terminal():
                break
            state.apply_action(_action(p, game.size))
        if state.is_terminal() or state.current_player() != game.to_play - 1:
            return PASS  # the game is over for it
        children = sorted(self._mcts.mcts_search(state).children, key=lambda child: -child.explore_count)
        moves = [_point(child.action, game.size) for child in children]
        return next(p for p in [*moves, PASS] if p == PASS or game.is_legal(p))

    def _begin(self, game: Game) -> None:
        self._komi = game.komi
        self._spiel = pyspiel.load_game("go", {"board_size": game.size, "komi": float(game.komi)})
        evaluator = pyspiel.RandomRolloutEvaluator(_ROLLOUTS, self._seeds[0])
        self._mcts = pyspiel.MCTSBot(
            self._spiel, evaluator, _UCT_C, self.simulations, _MEMORY_MB, True, self._seeds[1], False
        )


def _action(p: int, size: int) -> int:
    """Return OpenSpiel's action for a point, row * size + col, or for PASS, size * size."""
    row, col = (size, 0) if p == PASS else to_row_col(p, size)
    return row * size + col


def _point(action: int, size: int) -> int:
    return PASS if action == size * size else from_row_col(*divmod(action, size), size)


class SpielEvaluator:
    """A network as an evaluator for OpenSpiel's tree search in Python, `open_spiel.python.algorithms.mcts.MCTSBot`.

    It answers for states of its game "go", without handicap, of any size that the network knows, and remembers its
    last answers: the search asks for the value of a state first, and for the prior when it comes back.

    Parameters
    ----------
    evaluator : what evaluates `rlgo.Positions`, see `mcts.Evaluator`: a function, `mcts.OnnxNetwork(file)` or
        `rlgo.load_network(file)`. It must give a value; without a policy, all actions are equally likely
    """

    def __init__(self, evaluator: Callable[[Positions], Any]) -> None:
        if not callable(evaluator):
            raise RlgoError(f"evaluator = {shown(evaluator)}: expected a function of positions")
        self._evaluator = evaluator
        self._remembered = lru_cache(_STATES)(self._evaluated)

    def evaluate(self, state: pyspiel.State) -> np.ndarray:
        """Return what a state is worth to Black and to White, from -1 to 1: float64[2], 2 P(Black wins) - 1 first."""
        answers = self._answers(state)
        if not answers.has_value:
            raise RlgoError("evaluator: returned no value: expected one, for OpenSpiel")
        black = 2.0 * float(answers.value[0]) - 1.0
        return np.array([black, -black])

    def prior(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """Return the legal actions, ascending, with their probabilities, which add up to 1."""
        answers, actions = self._answers(state), state.legal_actions()
        if answers.kind == ACTION_VALUES:
            raise RlgoError("evaluator: returned q: expected policy or logits, for OpenSpiel")
        if answers.kind == NO_POLICY:
            p = np.ones(len(actions))
        else:  # OpenSpiel's actions are numbered as the moves of a policy
            p = answers.policy[0, actions].astype(np.float64)
            p = softmax(p) if answers.kind == LOGITS else p if p.any() else np.ones(len(actions))
        return list(zip(actions, (p / p.sum()).tolist(), strict=True))

    def _answers(self, state: pyspiel.State) -> Answers:
        """Return the answers for a state, alone in a batch."""
        check("state", state, pyspiel.State)
        return self._remembered(*_size_and_komi(state.get_game()), tuple(state.history()))

    def _evaluated(self, size: int, komi: float, actions: tuple[int, ...]) -> Answers:
        """Evaluate the position after moves in turn, which are numbered as in a policy."""
        n, history = len(actions), getattr(self._evaluator, "history", HISTORY)
        played = points_of_moves(size)[np.array(actions, np.int64)].astype(np.int16)
        colors = np.resize(np.array([BLACK, WHITE], np.uint8), n + 1)
        no_setup = np.zeros(2, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int16)
        game = MoveLists(np.array([0, n]), colors[:n], played, *no_setup, colors[n:], np.array([komi], np.float32))
        positions = replayed(game, np.zeros(1, np.int64), np.array([n]), size, history, True)
        return evaluate(self._evaluator, positions).answers


def _size_and_komi(game: pyspiel.Game) -> tuple[int, float]:
    """Return the board size and the komi of a game. RlgoError if it is not go, or has a handicap."""
    if game.get_type().short_name != "go":
        raise RlgoError(f"OpenSpiel's {game}: expected its game go")
    parameters = game.get_parameters()
    if parameters["handicap"]:
        raise RlgoError(f"OpenSpiel's {game}: expected no handicap")
    return board_size(parameters["board_size"]), parameters["komi"]
