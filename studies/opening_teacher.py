"""A teacher of openings for a network: `rlgo games play studies.opening_teacher:OpeningTeacher,player=...`.

Searches with a network that has seen few games open on 19x19 with fights in the centre, and so do the games that they
teach it. This player follows a rule instead, as long as all stones are far apart: an empty corner first, then the
sides. The rule is the policy to learn there, even where the search below plays a move of its own, so that games go on
from all sorts of openings.
"""

from __future__ import annotations

import itertools

import numpy as np

from rlgo.compiler.jit import seed_sequence
from rlgo.go.board import EMPTY
from rlgo.go.game import Game
from rlgo.play.player import Candidate, Player, Seed
from train.players import make_player
from train.settings import nested_spec

FAR = 4  # rows or columns
# How far a point is from the two nearest edges, the nearest first, and how often the rule plays there.
CORNERS = {(4, 4): 2, (3, 4): 1}
LINES = (3, 4)  # of the moves on the sides


class OpeningTeacher(Player):
    """A rule for openings, and a search.

    Parameters
    ----------
    player : the spec of the search, with semicolons in place of commas
    follow : the probability of a move by the rule, where it has any
    """

    def __init__(self, size: int = 19, seed: Seed = 1, player: str = "rlgo;sims=500", follow: float = 0.85):
        own, other = seed_sequence(seed).spawn(2)
        self.name = "opening_teacher"
        self._search = make_player(nested_spec(player), size, other)
        self._follow = follow
        self._rng = np.random.default_rng(own)
        self._moves: dict[int, int] = {}

    def new_game(self) -> None:
        """Start a game."""
        self._search.new_game()

    def genmove(self, game: Game) -> int:
        """Search, and play the move found or, in openings, mostly one by the rule."""
        move = self._search.genmove(game)
        self._moves = opening_moves(game)
        if not self._moves or self._rng.random() >= self._follow:
            return move
        weights = np.array(list(self._moves.values()))
        return int(self._rng.choice(list(self._moves), p=weights / weights.sum()))

    def candidates(self, game: Game) -> list[Candidate]:
        """Return what the search found."""
        return self._search.candidates(game)

    def policy_target(self, game: Game) -> dict[int, int]:
        """Return the moves by the rule with their weights or, without any, what the search teaches."""
        return self._moves or self._search.policy_target(game)


def opening_moves(game: Game) -> dict[int, int]:
    """Return moves far from all stones, with their weights: those in empty corners or else on the sides.

    There are none once two stones are near each other.
    """
    size, stride = game.size, int(game.board.stride)
    points = [(r, c) for r in range(1, size + 1) for c in range(1, size + 1)]
    stones = [(r, c) for r, c in points if game.board.color[r * stride + c] != EMPTY]
    if any(_distance(one, other) < FAR for one, other in itertools.combinations(stones, 2)):
        return {}
    corners, sides = {}, {}
    for r, c in points:
        if any(_distance((r, c), stone) < FAR for stone in stones):
            continue
        edges = sorted((min(r, size + 1 - r), min(c, size + 1 - c)))
        if weight := CORNERS.get((edges[0], edges[1])):
            corners[r * stride + c] = weight
        if edges[0] in LINES:
            sides[r * stride + c] = 1
    return corners or sides


def _distance(one: tuple[int, int], other: tuple[int, int]) -> int:
    return max(abs(one[0] - other[0]), abs(one[1] - other[1]))
