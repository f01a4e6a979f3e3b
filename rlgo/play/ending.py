"""How a session ends a game: without dead stones, by an early pass, or after cleaning up."""

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
