"""Decisions: every move to be learned from, among all sensible moves."""

from __future__ import annotations

from pattern_games import games_played, learned_patterns
from random_play import SIZE

from rlgo.go.board import PASS
from rlgo.go.game import Game


def test_decisions_are_the_moves_to_be_learned() -> None:
    games, decisions, _ = learned_patterns()
    assert len(decisions) == games.is_learned.sum()
    d = 0
    for g, game in enumerate(games_played()):
        replayed = Game(SIZE)
        for ply, (color, p) in enumerate(game.moves, -2 if g == 0 else 0):
            if ply >= 0 and games.is_learned[games.lists.first_move[g] + ply]:
                moves = decisions.move[decisions.starts[d] : decisions.starts[d + 1]]
                # Games know superko besides, which is rare.
                assert set(replayed.sensible_moves()) <= set(moves[:-1].tolist())
                assert moves[-1] == PASS
                assert (moves[decisions.chosen[d]], decisions.game[d], decisions.ply[d]) == (p, g, ply)
                d += 1
            replayed.play(p, color)
    assert d == len(decisions)
