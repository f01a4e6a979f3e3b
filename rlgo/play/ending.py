"""How a session ends a game: without dead stones, by an early pass, after cleaning up, or by resigning."""

from __future__ import annotations

from rlgo.go.board import PASS
from rlgo.go.game import Game
from rlgo.play.ownership import CERTAIN, Ownership
from rlgo.play.player import RESIGN, Player, moves_to_try, won_by


def settled(game: Game, all_alive: bool) -> Game:
    """Return a game without its dead stones, unless all count as alive or a side has resigned."""
    return game if all_alive or game.resigned else Ownership.of(game).without_dead()


def is_won_by_pass(game: Game) -> bool:
    """Return whether the opponent has passed, and the game is certainly won without the opponent's dead stones."""
    if not game.moves or game.moves[-1] != (3 - game.to_play, PASS) or not moves_to_try(game):
        return False
    ownership = Ownership.of(game)
    rest = ownership.without_dead()
    return won_by(game.to_play, rest.outcome) == 1 and won_by(game.to_play, ownership.wins) >= CERTAIN


def clean_up(player: Player, game: Game) -> int:
    """Choose a move, but do not end the game by a pass while the opponent has dead stones on the board."""
    if all(game.board.color[chain[0]] == game.to_play for chain in Ownership.of(game).dead()):
        return player.genmove(game)
    while game.moves and game.moves[-1][1] == PASS:
        game = game.copy()  # hide the pass, which might be answered with a pass
        game.moves.pop()
    p = player.genmove(game)
    if p in (PASS, RESIGN):
        others = [c.move for c in player.candidates(game) if c.move != PASS and game.is_legal(c.move)]
        p = next(iter([*others, *game.sensible_moves()]), PASS)
    return p


class Resignation:
    """When a player gives up against a person: after some own moves in a row without hope, on a board with stones."""

    HOPE, MOVES, FILLED = 0.03, 4, 1 / 6  # the chance that is hope; the share of the points that are filled

    def __init__(self) -> None:
        self._row, self._at = 0, 0  # moves in a row, which one that is taken back ends; the number of the last

    def is_due(self, game: Game, chance: float) -> bool:
        """Take the chance of the side to play, once for each of its moves; return whether it resigns."""
        is_next = len(game.moves) == self._at + 2
        self._row, self._at = ((self._row if is_next else 0) + 1 if chance < self.HOPE else 0), len(game.moves)
        return self._row >= self.MOVES and game.board.n_empty <= (1 - self.FILLED) * game.size**2
