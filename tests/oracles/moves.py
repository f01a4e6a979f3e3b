"""Slow oracles of move features and shapes, from their definitions, on `naive.NaiveBoard`. A point is (row, col)."""

from __future__ import annotations

import copy

from oracles.naive import NaiveBoard, Point, on_board
from rlgo.go.board import EMPTY


class Unread(Exception):
    """A ladder has more positions than are surely read in full."""


def after(board: NaiveBoard, p: Point, color: int | None = None) -> NaiveBoard:
    """The board after a move."""
    then = copy.copy(board)
    then.stones, then.captures = dict(board.stones), dict(board.captures)
    if color not in (None, board.to_play):
        then.to_play, then.ko = color, None
    then.play(p)
    return then


def may_play(board: NaiveBoard, p: Point, color: int) -> bool:
    """Whether a colour may play at p, whoever's turn it is."""
    then = copy.copy(board)
    if color != board.to_play:
        then.to_play, then.ko = color, None
    return then.is_legal(p)


def touching(board: NaiveBoard, p: Point, color: int) -> list[set[Point]]:
    """The chains of a colour that touch the chain at p, or empty point p."""
    stones = board.chain(p)[0] if p in board.stones else {p}
    chains: list[set[Point]] = []
    for q in {q for s in stones for q in on_board(board.size, s)}:
        if board.stones.get(q, EMPTY) == color and not any(q in chain for chain in chains):
            chains.append(board.chain(q)[0])
    return chains


def liberties(board: NaiveBoard, chain: set[Point]) -> set[Point]:
    return board.chain(next(iter(chain)))[1]


def escapes(board: NaiveBoard, p: Point, only: Point | None = None, left: list[int] | None = None) -> bool:
    """Whether the chain at p, in atari, gets out of the ladder if its owner plays."""
    left = [25] if left is None else left
    owner = board.stones[p]
    replies = {only} if only else set(board.chain(p)[1])
    if not only:
        for chain in touching(board, p, 3 - owner):
            if len(liberties(board, chain)) == 1:
                replies |= liberties(board, chain)
    for m in sorted(r for r in replies if r is not None):
        if not may_play(board, m, owner):
            continue
        then = after(board, m, owner)
        free = then.chain(p)[1]
        if len(free) >= 3:
            return True
        if len(free) == 2 and not any(caught(then, p, q, left) for q in sorted(free)):
            return True
    return False


def caught(board: NaiveBoard, p: Point, q: Point, left: list[int] | None = None) -> bool:
    """Whether an enemy move at q, one of two liberties, catches the chain at p in a ladder."""
    left = [25] if left is None else left
    left[0] -= 1
    if left[0] < 0:
        raise Unread
    enemy = 3 - board.stones[p]
    return may_play(board, q, enemy) and not escapes(after(board, q, enemy), p, None, left)


def distance(p: Point, q: Point) -> int:
    dy, dx = abs(p[0] - q[0]), abs(p[1] - q[1])
    return max(2, dx + dy + max(dx, dy))


def how_many(stones: int) -> str:
    return "1 stone" if stones == 1 else "2 or 3 stones" if stones <= 3 else "4 stones or more"


def features(board: NaiveBoard, p: Point, last: Point | None, last_but_one: Point | None) -> set[str]:
    """The names of the features of a stone at p; `last` is None at the start and after a pass."""
    found = _dangers(board, p, last)
    line = 1 + min(p[0], p[1], board.size - 1 - p[0], board.size - 1 - p[1])
    found.add(f"line {line}" if line < 5 else "line 5 or higher")
    for q, name in ((last, "the last move"), (last_but_one, "the last move but one")):
        if q is not None:
            d = distance(p, q)
            found.add(f"distance {d} to {name}" if d < 17 else f"distance 17 or more to {name}")
    return found


def _dangers(board: NaiveBoard, p: Point, last: Point | None) -> set[str]:
    color = board.to_play
    own, enemies = touching(board, p, color), touching(board, p, 3 - color)
    taken = [chain for chain in enemies if liberties(board, chain) == {p}]
    alive = [chain for chain in enemies if chain not in taken]
    then = after(board, p)
    found = set()
    if taken:
        n = sum(map(len, taken))
        neighbours = [mine for chain in taken for mine in touching(board, next(iter(chain)), color)]
        saves = any(len(liberties(board, mine)) == 1 for mine in neighbours)
        found.add(f"captures {how_many(n)}" + (" and saves own stones in atari" if saves else ""))
        if any(last in chain for chain in taken):
            found.add("captures the last stone played")
        elif any(escapes(board, next(iter(chain))) for chain in taken):
            found.add("captures stones that would have escaped")
        else:
            found.add("captures stones that could not have escaped")
        if n == 1 and all(board.stones.get(q) == 3 - color for q in on_board(board.size, p)):
            found.add("takes a ko")
    else:
        found |= _defence(board, then, p, own)
    found |= _ataris(board, p, alive)
    if board.ko is not None and "takes a ko" not in found and any(n.startswith(("atari", "other")) for n in found):
        found.add("atari while a ko may not be retaken")
    if len(own) > 1 or len(alive) > 1:
        words = ["connects own chains"] * (len(own) > 1) + ["cuts enemy chains"] * (len(alive) > 1)
        found.add(" and ".join(words))
    return found


def _defence(board: NaiveBoard, then: NaiveBoard, p: Point, own: list[set[Point]]) -> set[str]:
    found = set()
    stones, free = then.chain(p)
    in_atari = [chain for chain in own if len(liberties(board, chain)) == 1]
    two = [chain for chain in own if len(liberties(board, chain)) == 2]
    threatened = [c for c in two if any(caught(board, next(iter(c)), q) for q in sorted(liberties(board, c)))]
    if in_atari:
        if len(free) >= 3:
            found.add("extends out of atari to 3 liberties")
        elif len(free) == 2 and escapes(board, next(iter(in_atari[0])), p):
            found.add("extends out of atari to 2 liberties, no ladder")
        else:
            found.add("extends in vain: a ladder, or 1 liberty")
    elif threatened:
        got = "own stones that a ladder threatens get 3 liberties"
        found.add(got if len(free) >= 3 else "touches own stones that a ladder threatens")
    elif two and len(free) >= 3:
        found.add("own stones with 2 liberties get 3")
    if len(free) == 1:
        found.add(f"self-atari of {how_many(len(stones))}")
    return found


def _ataris(board: NaiveBoard, p: Point, enemies: list[set[Point]]) -> set[str]:
    given = [next(iter(chain)) for chain in enemies if len(liberties(board, chain)) == 2]
    if not given:
        return set()
    if any(caught(board, q, p) for q in given):
        return {"atari: catches stones in a ladder"}
    rivals = [mine for q in given for mine in touching(board, q, board.to_play)]
    if any(len(liberties(board, mine)) <= 2 for mine in rivals):
        return {"atari in a race with own stones of 2 liberties or fewer"}
    return {"other atari"}


def surroundings(board: NaiveBoard, p: Point, reach: int) -> list[dict[tuple[int, int], str]]:
    """What lies up to a distance around p, in eight images: own, enemy, empty or off, by (dx, dy)."""
    names = {board.to_play: "own", 3 - board.to_play: "enemy"}
    seen = {}
    for dy in range(-6, 7):
        for dx in range(-6, 7):
            if abs(dx) + abs(dy) > 0 and abs(dx) + abs(dy) + max(abs(dx), abs(dy)) <= reach:
                q = p[0] + dy, p[1] + dx
                is_on = 0 <= q[0] < board.size and 0 <= q[1] < board.size
                seen[dx, dy] = names.get(board.stones.get(q, EMPTY), "empty") if is_on else "off"
                if abs(dx) + abs(dy) == 1 and q in board.stones:
                    seen[dx, dy] += str(min(3, len(board.chain(q)[1])))
    turns = [lambda x, y: (x, y), lambda x, y: (-y, x), lambda x, y: (-x, -y), lambda x, y: (y, -x)]
    return [
        {turn(*((-x, y) if mirror else (x, y))): what for (x, y), what in seen.items()}
        for turn in turns
        for mirror in (False, True)
    ]
