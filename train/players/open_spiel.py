"""OpenSpiel: rlgo's players as its bots, and its tree search as a player.

Start reading at `PlayerBot`, then `OpenSpielSearch`. OpenSpiel's game "go" (Lanctot et al. 2019, arXiv:1908.09453)
has the rules of `rlgo.go.board`: simple ko, no suicide, two passes, area score, all stones alive. There are two
differences:

* A stone that recreates an earlier whole-board position is legal there, and ends the game as a draw. In `Game` it is
  illegal (positional superko): rlgo's own players never play it, but the other side may.
* There is no resignation, and a game ends after `max_game_length` moves, scored as it stands.

Importing this module raises an RlgoError if OpenSpiel is missing; install it with `pip install 'rlgo[open-spiel]'`.
"""

from __future__ import annotations

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_SIZE
from rlgo.compiler.jit import seed_sequence
from rlgo.go.board import PASS
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.player import RESIGN, Player, RandomPlayer, Seed, check_player, check_size

try:
    import pyspiel
except ImportError:
    raise RlgoError("needs OpenSpiel, which is not installed: pip install 'rlgo[open-spiel]'") from None

RESIGNED = "resigned"  # the value of `PlayerBot.gave_up` after a resignation

# As in OpenSpiel's own example (open_spiel/python/examples/mcts.py).
_UCT_C = 2.0
_ROLLOUTS = 1
_MEMORY_MB = 1000


class PlayerBot(pyspiel.Bot):
    """A `Player` as a bot for OpenSpiel's game "go", for either colour.

    The bot keeps its own `Game`, which `step` brings up to date with the state's history, so it need not be
    informed of the other side's moves. It provides no policy, cannot be forced to an action, and cannot be cloned;
    this is the default of pyspiel.Bot.

    OpenSpiel has no resignation. If the player resigns, or its move is not legal in the state, the bot gives up: it
    passes for the rest of the game, and `gave_up` says why.

    Attributes
    ----------
    player : the player that chooses its moves
    game : its copy of the game
    gave_up : `RESIGNED`, or which move was illegal; empty until then
    """

    def __init__(self, game: pyspiel.Game, player: Player) -> None:
        """Make a bot for games of `game`, from pyspiel.load_game.

        RlgoError if that is not go, has a handicap, or a board size that rlgo or the player does not support.
        """
        super().__init__()
        check("game", game, pyspiel.Game)
        check_player("player", player)
        self.player = player
        self._prepare(game)

    def _prepare(self, game: pyspiel.Game) -> None:
        """Begin a game on the board and with the komi of `game`. RlgoError as in `__init__`; then nothing changes."""
        if game.get_type().short_name != "go":
            raise RlgoError(f"OpenSpiel's {game}: expected its game go")
        parameters = game.get_parameters()
        if parameters["handicap"]:
            raise RlgoError(f"OpenSpiel's {game}: expected no handicap")
        size = parameters["board_size"]
        empty = Game(size, parameters["komi"])
        check_size(self.player, empty)
        self.game, self.gave_up, self._of = empty, "", str(game)
        # OpenSpiel names its actions as GTP does, "B d4".
        root = game.new_initial_state()
        names = {action: root.action_to_string(0, action).split()[1] for action in range(game.num_distinct_actions())}
        self._points = {action: from_vertex(name, size) for action, name in names.items()}
        self._actions = {p: action for action, p in self._points.items()}

    def action(self, point: int) -> int:
        """Return OpenSpiel's action for a point, row * size + col, or for PASS, size * size."""
        return self._actions[point]

    def point(self, action: int) -> int:
        """Return the point of OpenSpiel's action, or PASS."""
        return self._points[action]

    def step(self, state: pyspiel.State) -> int:
        """Return the player's action in a state that is not terminal. See the class for how it gives up."""
        if state.is_terminal():
            raise RlgoError(f"{self.player.name}: asked for a move when the game is over")
        self.follow(state)
        if self.gave_up:
            return self._actions[PASS]
        p = int(self.player.genmove(self.game))
        legal = {self._points[action]: action for action in state.legal_actions()}
        if p not in legal:
            self.gave_up = RESIGNED if p == RESIGN else self._why_illegal(p)
            p = PASS
        return legal[p]

    def restart(self) -> None:
        """Begin a new game."""
        self.game = Game(self.game.size, self.game.komi)
        self.gave_up = ""
        self.player.new_game()

    def restart_at(self, state: pyspiel.State) -> None:
        """Begin a new game with the moves of a state. RlgoError if one of them repeated a position."""
        self.restart()
        self.follow(state)

    def follow(self, state: pyspiel.State) -> None:
        """Bring `game` up to the history of a state. RlgoError if its last move repeated a position.

        The state may be of another game than the last one, with another board size: the same rules hold for it as when
        the bot was made.
        """
        spiel = state.get_game()
        if str(spiel) != self._of:
            self._prepare(spiel)
        points = [self._points[action] for action in state.history()]
        known = [p for _, p in self.game.moves]
        if points[: len(known)] != known:
            self.game = Game(self.game.size, self.game.komi)
            self.gave_up = ""
        for p in points[len(self.game.moves) :]:
            self.game.play(p)

    def _why_illegal(self, p: int) -> str:
        try:
            self.game.copy().play(p)
        except RlgoError as error:
            return str(error)
        return f"OpenSpiel calls point {p} illegal"


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
            state.apply_action(self._table.action(p))
        if state.is_terminal() or state.current_player() != game.to_play - 1:
            return PASS  # the game is over for it
        children = sorted(self._mcts.mcts_search(state).children, key=lambda child: -child.explore_count)
        moves = [self._table.point(child.action) for child in children]
        return next(p for p in [*moves, PASS] if p == PASS or game.is_legal(p))

    def _begin(self, game: Game) -> None:
        self._komi = game.komi
        self._spiel = pyspiel.load_game("go", {"board_size": game.size, "komi": float(game.komi)})
        self._table = PlayerBot(self._spiel, RandomPlayer())
        evaluator = pyspiel.RandomRolloutEvaluator(_ROLLOUTS, self._seeds[0])
        self._mcts = pyspiel.MCTSBot(
            self._spiel, evaluator, _UCT_C, self.simulations, _MEMORY_MB, True, self._seeds[1], False
        )
