"""Regions of a position, and unconditional life (Benson 1976, "Life in the game of Go").

Start reading at `unconditional`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rlgo.go.board import BLACK, BORDER, EMPTY, WHITE


class Region(NamedTuple):
    """A connected set of points.

    >>> import rlgo
    >>> game = rlgo.Game(5)
    >>> game.play("C3")
    >>> [(len(region.points), len(region.around)) for region in regions(game.board, {0})]
    [(24, 1)]
    """

    points: list[int]
    around: set[int]  # the points next to them, without the border


def regions(board: Any, inside: set[int]) -> list[Region]:
    """Divide the points whose colour is one of `inside` into connected regions."""
    colors, stride = board.color.tolist(), int(board.stride)
    found, seen = [], set[int]()
    for start, color in enumerate(colors):
        if color not in inside or start in seen:
            continue
        region = Region([start], set())
        seen.add(start)
        for p in region.points:
            for q in (p + 1, p - 1, p + stride, p - stride):
                if colors[q] in inside and q not in seen:
                    seen.add(q)
                    region.points.append(q)
                elif colors[q] != BORDER and colors[q] not in inside:
                    region.around.add(q)
        found.append(region)
    return found


def owners(board: Any) -> list[int]:
    """Return the owner of each point by area, with all stones alive: a colour, EMPTY, or BORDER.

    An empty point belongs to the only colour around its region, if there is only one.
    """
    colors = board.color.tolist()
    owned = colors.copy()
    for region in regions(board, {EMPTY}):
        borders = {colors[q] for q in region.around}
        if len(borders) == 1:
            owner = borders.pop()
            for p in region.points:
                owned[p] = owner
    return owned


def unconditional(board: Any) -> tuple[set[int], list[tuple[int, Region]]]:
    """Return what is decided, even if its owner never answers.

    Returns
    -------
    the points of the chains that live, and the regions in which nobody else can live, each with the owner's colour.
    Each of these chains has two such regions whose empty points are all liberties of its own.
    """
    colors, alive, owned = board.color.tolist(), set[int](), []
    for side in (BLACK, WHITE):
        chains = regions(board, {side})
        chain_at = {p: i for i, chain in enumerate(chains) for p in chain.points}
        enclosed = []  # regions, the chains around them, and those to which they are vital
        for region in regions(board, {EMPTY, 3 - side}):
            empty = {p for p in region.points if colors[p] == EMPTY}
            near = {chain_at[q] for q in region.around}
            enclosed.append((region, near, {i for i in near if empty <= chains[i].around}))
        living, before = set(range(len(chains))), -1
        while before != len(living) + len(enclosed):
            before = len(living) + len(enclosed)
            living = {i for i in living if sum(i in vital for _, _, vital in enclosed) >= 2}
            enclosed = [one for one in enclosed if one[1] <= living]
        alive |= {p for i in living for p in chains[i].points}
        owned += [(side, region) for region, _, vital in enclosed if vital]
    return alive, owned
