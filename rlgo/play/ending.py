"""The end of a game: which chains are alive, dead or in seki, and the score.

Start reading at `decide`. A strong player plays on for both sides, once with either of them first, until both pass.
What stands then is alive; points on which the two games differ are unfinished. What is decided whatever anybody plays
(`life.unconditional`) is filled with stones before each move, so that no search spends time there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from rlgo.base.budget import never
from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, BORDER, EMPTY, PASS, WHITE, area_score
from rlgo.go.coords import to_vertex
from rlgo.go.game import Game
from rlgo.go.life import owners, regions, unconditional
from rlgo.play.player import RESIGN, Player, moves_to_try, won_by

MakeJudge = Callable[[int], Player | None]

_DAME = 2  # points by which the games may differ: one neutral point, which whoever is first can take
_EYE = 1  # point of its own that a chain in seki may have beside it


@dataclass(frozen=True)
class Ending:
    """The end of a game.

    Attributes
    ----------
    game : the game that ends
    dead, seki : the chains that are dead, and those that live without two eyes, each by its points
    unfinished : the points that belong to whoever moves there first; empty if the game is finished
    """

    game: Game
    dead: list[list[int]]
    seki: list[list[int]]
    unfinished: list[int]

    @cached_property
    def rest(self) -> Game:
        """The position without its dead stones. Its score is that of the end."""
        if not self.dead:
            return self.game
        game, dead = self.game, {p for chain in self.dead for p in chain}
        rest = Game(game.size, game.komi)
        rest.set_up([(c, p) for c in (BLACK, WHITE) for p in game.stones(c) if p not in dead], game.to_play)
        rest.resigned = game.resigned
        return rest

    @property
    def result(self) -> str:
        """The result: ``B+3.5``, ``W+R``, ``0`` for a draw, or ``?`` if the game is unfinished."""
        return "?" if self.unfinished and not self.game.resigned else self.rest.result

    @cached_property
    def owners(self) -> list[int]:
        """The owner of each point of the board array: a colour, EMPTY for neutral points, or BORDER."""
        return owners(self.rest.board)

    def territory(self, color: int) -> list[int]:
        """List the points without a stone of the position that a colour owns; for EMPTY, the neutral ones."""
        return [p for p, owner in enumerate(self.owners) if owner == color and self.game.board.color[p] == EMPTY]

    @property
    def alive(self) -> list[list[int]]:
        """The chains that are alive with two eyes, or in dispute where the game is unfinished."""
        return [chain for chain in chains_of(self.game) if chain not in self.dead and chain not in self.seki]

    def check(self) -> None:
        """Raise an RlgoError that names points that are unfinished, if there are any."""
        if self.unfinished:
            size = self.game.size
            some = " ".join(to_vertex(p, size) for p in self.unfinished[:8]) + " ..." * (len(self.unfinished) > 8)
            raise RlgoError(f"cannot score: unfinished at {some}")


def chains_of(game: Game) -> list[list[int]]:
    """Return the points of each chain, Black's first."""
    return [chain.points for color in (BLACK, WHITE) for chain in regions(game.board, {color})]


def count(game: Game, dead: Iterable[int] = ()) -> Ending:
    """End a game by agreement: the chains with stones at the given points are dead, and all others alive.

    RlgoError for a point without a stone.
    """
    points = set(dead)
    for p in points:
        if game.board.color[p] not in (BLACK, WHITE):
            raise RlgoError(f"{to_vertex(p, game.size)}: expected a stone")
    return Ending(game, [chain for chain in chains_of(game) if points & set(chain)], [], [])


def decide(game: Game, player: Player | None = None, stop: Callable[[], bool] = never) -> Ending:
    """Decide the end of a game by playing on for both sides.

    Parameters
    ----------
    game : the position; two passes before it do not matter
    player : plays on, and passes once nothing is left to gain, such as `mcts.Judge`; None: only stones that are dead
        whatever anybody plays are dead
    stop : polled between moves; returning True leaves the rest of the board as it stands

    >>> import rlgo
    >>> game = rlgo.Game(5, komi=0.5)
    >>> game.set_up([("black", v) for v in "A2 B2 C2 D2 E2 B1 D1".split()] + [("white", "C1")])
    >>> ending = decide(game)
    >>> [[rlgo.to_vertex(p, 5) for p in chain] for chain in ending.dead], ending.result
    ([['C1']], 'B+24.5')
    """
    chains, color = chains_of(game), game.board.color.tolist()
    if player is None:
        owned = {p: side for side, region in unconditional(game.board)[1] for p in region.points}
        return Ending(game, [c for c in chains if owned.get(c[0], color[c[0]]) != color[c[0]]], [], [])
    ends = [_play_on(game, first, player, stop) for first in (BLACK, WHITE)]
    owned_then = [owners(end.board) for end in ends]
    dead, disputed = [], []
    for chain in chains:
        lives = [2 * sum(then[p] == color[p] for p in chain) > len(chain) for then in owned_then]
        if not any(lives):
            dead.append(chain)
        elif not all(lives):
            disputed.append(chain)
    unfinished = [p for chain in disputed for p in chain]
    now = Ending(game, dead, [], []).owners
    unfinished += [
        p for p, owner in enumerate(now) if owner in (BLACK, WHITE) and any(then[p] != owner for then in owned_then)
    ]
    if int(area_score(ends[0].board)) - int(area_score(ends[1].board)) > _DAME:
        unfinished += [p for p, (a, b) in enumerate(zip(*owned_then, strict=True)) if a != b]
    seki = [c for c in chains if c not in dead and c not in disputed and all(_is_in_seki(c, end) for end in ends)]
    return Ending(game, dead, seki, sorted(set(unfinished)))


def _is_in_seki(chain: list[int], end: Game) -> bool:
    """Return whether a chain has liberties that nobody wants to fill at the end, and no two eyes."""
    board, owned = end.board, owners(end.board)
    if board.color[chain[0]] == EMPTY or chain[0] in unconditional(board)[0]:
        return False
    around = next(one.around for one in regions(board, {int(board.color[chain[0]])}) if chain[0] in one.points)
    own = sum(owned[q] == board.color[chain[0]] for q in around)
    return own <= _EYE and any(owned[q] == EMPTY for q in around)


def _play_on(game: Game, first: int, player: Player, stop: Callable[[], bool]) -> Game:
    """Let a player play on for both sides, `first` first, until both pass; return the last position."""
    player.new_game()
    position = _filled(game, first)
    for _ in range(3 * game.size**2):
        if position.is_over() or stop():
            break
        p = player.genmove(position)
        position.play(PASS if p == RESIGN else p)
        if p != PASS and (filled := _filled(position, position.to_play)).board.hash != position.board.hash:
            position = filled
    return position


def _filled(game: Game, to_play: int) -> Game:
    """Return a position in which what is decided anyway is filled with its owner's stones, but for one eye a region.

    The score stays the same, and so do the liberties that decide anything.
    """
    color, stride = game.board.color.copy(), int(game.board.stride)
    for side, region in unconditional(game.board)[1]:
        inside = set(region.points)

        def flaws(p: int, side: int = side, inside: set[int] = inside) -> int:
            """Count what speaks against an eye: those of the four diagonal points that are not the owner's."""
            diagonal = (p - stride - 1, p - stride + 1, p + stride - 1, p + stride + 1)
            return sum(color[q] != side for q in diagonal if q not in inside)

        eye = min((p for p in region.points if color[p] == EMPTY), key=flaws)
        color[region.points] = side
        color[eye] = EMPTY
    filled = Game(game.size, game.komi)
    points = np.flatnonzero((color != EMPTY) & (color != BORDER)).tolist()
    filled.set_up([(int(color[p]), p) for p in points], to_play)
    return filled


class Endings:
    """Decides the end of games, of each position once.

    Parameters
    ----------
    make : makes the player that plays on, for a board size; see `decide`
    stop : see `decide`
    """

    def __init__(self, make: MakeJudge | None, stop: Callable[[], bool] = never) -> None:
        self._judge = cache(make or (lambda _size: None))
        self._stop = stop
        self._last: tuple[object, Ending] | None = None  # with the position that it is of

    def __call__(self, game: Game) -> Ending:
        """Return the end of a game. RlgoError if the player fails."""
        position = game.size, game.komi, int(game.board.hash), game.resigned
        if self._last is None or self._last[0] != position:
            judge = None if game.resigned else self._judge(game.size)
            self._last = position, decide(game.copy(), judge, self._stop)
        return self._last[1]

    def warm_up(self, size: int) -> None:
        """Compile what deciding needs."""
        judge = self._judge(size)
        if judge is not None:
            judge.warm_up()


def is_won_by_pass(game: Game, end: Callable[[Game], Ending]) -> bool:
    """Return whether the opponent has passed, and the game is won without the opponent's dead stones.

    end : decides the end of a game
    """
    if not game.moves or game.moves[-1] != (3 - game.to_play, PASS) or not moves_to_try(game):
        return False
    ending = end(game)
    return not ending.unfinished and won_by(game.to_play, ending.rest.outcome) == 1


def clean_up(player: Player, end: Callable[[Game], Ending], game: Game) -> int:
    """Choose a move, but do not end the game by a pass while the opponent has dead stones on the board."""
    if all(game.board.color[chain[0]] == game.to_play for chain in end(game).dead):
        return player.genmove(game)
    while game.moves and game.moves[-1][1] == PASS:
        game = game.copy()  # hide the pass, which might be answered with a pass
        game.moves.pop()
    p = player.genmove(game)
    if p in (PASS, RESIGN):
        others = [c.move for c in player.candidates(game) if c.move != PASS and game.is_legal(c.move)]
        p = next(iter([*others, *game.sensible_moves()]), PASS)
    return p
