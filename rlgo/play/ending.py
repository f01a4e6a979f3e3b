"""The end of a game: which chains are alive, dead or in seki, and the score.

Start reading at `decide`. A strong player plays on for both sides, once with either of them first, until both pass.
What stands then is alive; points on which the two games differ are unfinished. Where a game is far from over, playouts
say which points are. What is decided whatever anybody plays (`life.unconditional`) is filled with stones before each
move, so that no search spends time there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.go.board import BLACK, EMPTY, PASS, WHITE, area_score
from rlgo.go.coords import from_row_col, to_vertex
from rlgo.go.game import Game
from rlgo.go.life import owners, regions, unconditional
from rlgo.play.ownership import Ownership
from rlgo.play.player import RESIGN, Player, moves_to_try, won_by

MakeJudge = Callable[[int], Player | None]

_DAME = 2  # points by which the games may differ: one neutral point, which whoever is first can take
_LONG = 12  # moves by the board's size, in which a finished game is played on to its end
_SETTLED = 0.9  # ownership by playouts, where a game is far from over
_EFFORT, _FEW = 2, 4  # times as many simulations where the games differ, with so few moves left by the board's size
_EYE = 1  # point of its own that a chain in seki may have beside it


@dataclass(frozen=True)
class Ending:
    """The end of a game.

    Attributes
    ----------
    game : the game that ends
    dead, seki : the chains that are dead, and those that live without two eyes, each by its points
    unfinished : the points that belong to whoever moves there first; empty if the game is finished

    >>> import rlgo
    >>> ending = rlgo.Ending(rlgo.Game(5, komi=0.5), [], [], [])
    >>> ending.result, ending.territory(rlgo.BLACK)
    ('W+0.5', [])
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

    >>> import rlgo
    >>> game = rlgo.Game(5, komi=0.5)
    >>> for vertex in ("C3", "B2"):
    ...     game.play(vertex)
    >>> rlgo.count(game).result, rlgo.count(game, [rlgo.from_vertex("B2", 5)]).result
    ('W+0.5', 'B+24.5')
    """
    points = set(dead)
    for p in points:
        if game.board.color[p] not in (BLACK, WHITE):
            raise RlgoError(f"{to_vertex(p, game.size)}: expected a stone")
    return Ending(game, [chain for chain in chains_of(game) if points & set(chain)], [], [])


class Arbiter(Player):
    """A player for `decide` that sees at once if a game is far from over, and can search longer."""

    effort = 1  # times as many simulations, from `new_game` on

    def is_far_from_over(self, game: Game) -> bool:
        """Return whether moves of a position are worth so much that nobody would pass."""
        raise NotImplementedError


def decide(game: Game, player: Player | None = None) -> Ending:
    """Decide the end of a game by playing on for both sides.

    Parameters
    ----------
    game : the position; two passes before it do not matter
    player : plays on, and passes once nothing is left to gain, such as `mcts.Judge`; None: only stones that are dead
        whatever anybody plays are dead

    >>> import rlgo
    >>> game = rlgo.Game(5, komi=0.5)
    >>> game.set_up([("black", v) for v in "A2 B2 C2 D2 E2 B1".split()] + [("white", "D1")])
    >>> ending = rlgo.decide(game)
    >>> [[rlgo.to_vertex(p, 5) for p in chain] for chain in ending.dead], ending.result
    ([['D1']], 'B+24.5')
    """
    chains, color = chains_of(game), game.board.color.tolist()
    if player is None:
        owned = {p: side for side, region in unconditional(game.board)[1] for p in region.points}
        return Ending(game, [c for c in chains if owned.get(c[0], color[c[0]]) != color[c[0]]], [], [])
    if not isinstance(player, Arbiter):
        return _by_playing_on(game, chains, player)
    filled = _filled(game, BLACK)
    if player.is_far_from_over(filled):
        return _by_playouts(game)
    ending = _by_playing_on(game, chains, player)
    if not ending.unfinished or len(filled.sensible_moves()) > _FEW * game.size:
        return ending
    player.effort = _EFFORT
    try:
        return _by_playing_on(game, chains, player)
    finally:
        player.effort = 1


def _by_playing_on(game: Game, chains: list[list[int]], player: Player) -> Ending:
    """Return the end of a game that is played on, once with either side first."""
    ends = []
    for first in (BLACK, WHITE):
        end = _play_on(game, first, player)
        if not end.is_over():
            return _by_playouts(game)
        ends.append(end)
        if first == BLACK and end.board.hash == _filled(game, WHITE).board.hash:  # both passed at once
            ends.append(end)
            break
    return _compare(game, chains, ends)


def _compare(game: Game, chains: list[list[int]], ends: list[Game]) -> Ending:
    """Return the end of a game that was played on with Black first, and with White."""
    color = game.board.color.tolist()
    one, other = (owners(end.board) for end in ends)

    def lives(chain: list[int], owned: list[int]) -> bool:
        return 2 * sum(owned[p] == color[p] for p in chain) > len(chain)

    dead = [chain for chain in chains if not (lives(chain, one) or lives(chain, other))]
    alive = [chain for chain in chains if lives(chain, one) and lives(chain, other)]
    unfinished = {p for chain in chains if chain not in dead and chain not in alive for p in chain}
    now = Ending(game, dead, [], []).owners
    unfinished |= {p for p, owner in enumerate(now) if owner in (BLACK, WHITE) and not owner == one[p] == other[p]}
    if int(area_score(ends[0].board)) - int(area_score(ends[1].board)) > _DAME:
        unfinished |= {p for p, owner in enumerate(one) if owner != other[p]}
    seki = [chain for chain in alive if all(_is_in_seki(chain, end) for end in ends)]
    return Ending(game, dead, seki, sorted(unfinished))


def _by_playouts(game: Game) -> Ending:
    """Return the end of a game that is far from over: what playouts leave open is unfinished."""
    filled = _filled(game, game.to_play)
    share = Ownership.of(filled).map
    owned = {from_row_col(row, col, game.size): float(share[row, col]) for row, col in np.ndindex(share.shape)}
    sign, color = {BLACK: 1.0, WHITE: -1.0}, game.board.color.tolist()
    dead = [c for c in chains_of(game) if all(sign[color[c[0]]] * owned[p] < -_SETTLED for p in c)]
    unfinished = [p for p, by in owned.items() if abs(by) < _SETTLED]
    return Ending(game, dead, [], sorted(unfinished or set(owned) - unconditional(filled.board)[0]))


def _is_in_seki(chain: list[int], end: Game) -> bool:
    """Return whether a chain has liberties that nobody wants to fill at the end, and no two eyes."""
    board, owned = end.board, owners(end.board)
    if board.color[chain[0]] == EMPTY or chain[0] in unconditional(board)[0]:
        return False
    around = next(one.around for one in regions(board, {int(board.color[chain[0]])}) if chain[0] in one.points)
    own = sum(owned[q] == board.color[chain[0]] for q in around)
    return own <= _EYE and any(owned[q] == EMPTY for q in around)


def _play_on(game: Game, first: int, player: Player) -> Game:
    """Let a player play on for both sides, `first` first, until both pass or it gets long; return the last position."""
    player.new_game()
    position = _filled(game, first)
    for _ in range(_LONG * game.size):
        if position.is_over():
            break
        p = player.genmove(position)
        position.play(PASS if p == RESIGN else p)
        if p != PASS and (filled := _filled(position, position.to_play)).board.hash != position.board.hash:
            position = filled
    return position


def _filled(game: Game, to_play: int) -> Game:
    """Return a position in which what is decided anyway is filled with its owner's stones, but for one eye a region."""
    color, stride = game.board.color.copy(), int(game.board.stride)
    for side, region in unconditional(game.board)[1]:
        empty = [p for p in region.points if color[p] == EMPTY]
        color[region.points] = side
        # Playouts fill eyes with enemies on the diagonals.
        corners = np.array([-stride - 1, -stride + 1, stride - 1, stride + 1])
        color[min(empty, key=lambda p: np.count_nonzero(color[p + corners] != side))] = EMPTY
    filled = Game(game.size, game.komi)
    filled.set_up([(int(c), p) for p, c in enumerate(color) if c in (BLACK, WHITE)], to_play)
    return filled


class Endings:
    """Decides the end of games, of each position once; `make` makes the player of `decide` for a board size."""

    def __init__(self, make: MakeJudge | None) -> None:
        self.judge: MakeJudge = cache(make or (lambda _size: None))
        self._last: tuple[object, Ending] | None = None  # with the position that it is of

    def __call__(self, game: Game) -> Ending:
        """Return the end of a game."""
        position = game.size, game.komi, int(game.board.hash), game.resigned
        if self._last is None or self._last[0] != position:
            self._last = position, decide(game.copy(), None if game.resigned else self.judge(game.size))
        return self._last[1]


def is_won_by_pass(game: Game, end: Endings) -> bool:
    """Return whether the opponent has passed, and the game is won without the opponent's dead stones."""
    if not game.moves or game.moves[-1] != (3 - game.to_play, PASS) or not moves_to_try(game):
        return False
    ending = end(game)
    return not ending.unfinished and won_by(game.to_play, ending.rest.outcome) == 1


def clean_up(player: Player, end: Endings, game: Game) -> int:
    """Choose a move, but let the judge move while the opponent has dead stones on the board."""
    judge = end.judge(game.size)
    has_dead = any(game.board.color[chain[0]] != game.to_play for chain in end(game).dead)
    return (judge if judge and has_dead else player).genmove(game)


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
