"""OpenSpiel's tree search as a player.

OpenSpiel's game "go" (Lanctot et al. 2019, arXiv:1908.09453) has the rules of `rlgo.go.board`: simple ko, no suicide,
two passes, area score, all stones alive. A stone that recreates an earlier whole-board position is legal there, and
ends the game as a draw; in `Game` it is illegal (positional superko).

Importing this module raises an RlgoError if OpenSpiel is missing; install it with `pip install 'rlgo[open-spiel]'`.
"""

from __future__ import annotations

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_SIZE
from rlgo.compiler.jit import seed_sequence
from rlgo.go.board import PASS
from rlgo.go.coords import from_row_col, to_row_col
from rlgo.go.game import Game
from rlgo.play.player import Player, Seed, check_size

try:
    import pyspiel
except ImportError:
    raise RlgoError("needs OpenSpiel, which is not installed: pip install 'rlgo[open-spiel]'") from None

# As in OpenSpiel's own example (open_spiel/python/examples/mcts.py).
_UCT_C = 2.0
_ROLLOUTS = 1
_MEMORY_MB = 1000


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
