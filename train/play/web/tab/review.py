"""A review: every position of a line is searched, one after another, and the result goes into the record.

Start reading at `Review.take`. The tab starts the searches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rlgo.go.coords import from_vertex, to_vertex
from rlgo.go.game import Game
from rlgo.play.player import RESIGN
from train.play.curve import LINE_MOVES, NO_MOVE, Curve, Opinion, annotate, curve_from, curve_in
from train.play.record import Record
from train.play.web.messages.positions import NAMES


class Review:
    """The review of a record's line.

    Parameters
    ----------
    record : the record, which must keep its line until the review ends
    player : the player's spec
    search : called with each position in turn; its result is given to `take`
    first : the position to begin with; what the record knows of earlier ones stays
    """

    def __init__(self, record: Record, player: str, search: Callable[[Game], None], first: int = 0) -> None:
        self.player, self._record, self._search = player, record, search
        self.moves = list(record.game.moves)
        self.of = len(self.moves) + (0 if record.game.is_over() and not record.game.resigned else 1)
        self.opinions = [known or Opinion(math.nan, NO_MOVE) for known in curve_in(record)[:first]]
        self.is_running = True

    def go_on(self) -> None:
        """Search the next position, or end."""
        if len(self.opinions) < self.of:
            self._search(self._record.game.after(len(self.opinions)))
        else:
            self.end()

    def take(self, search: dict[str, Any]) -> None:
        """Take the result of a search, a `search` message, and go on."""
        if not self.is_running:
            return
        size = self._record.game.size
        line = [from_vertex(vertex, size) for vertex in search["lines"].get(search["chosen"], [])]
        best = RESIGN if search["chosen"] == "resign" else from_vertex(search["chosen"], size)
        value = float("nan") if search["chance"] is None else search["chance"]
        self.opinions.append(Opinion(value, best, tuple(line[:LINE_MOVES]) if line else (best,) if best >= 0 else ()))
        self.go_on()

    def end(self) -> None:
        """End the review, and write what it has found into the record."""
        if self.is_running:
            self.is_running = False
            if self.opinions:
                annotate(self._record, self.curve())

    def curve(self) -> Curve:
        """Return the curve of the positions searched so far."""
        return curve_from(self._record.game, self.player, self.opinions)


def describe_review(record: Record, review: Review | None) -> dict[str, Any]:
    """Return what is known of the positions of a record's line as a ``review`` message."""
    game = record.game
    known: list[Opinion | None]
    if review is not None and review.moves == game.moves:
        known = [*review.opinions]
    else:
        review, known = None, curve_in(record)
    first = next((i for i, opinion in enumerate(known) if opinion is None), len(known))
    curve = curve_from(game, "", [opinion for opinion in known[:first] if opinion is not None])
    return {
        "type": "review",
        "moves": [[NAMES[color], to_vertex(p, game.size)] for color, p in game.moves],
        "player": None if review is None else review.player,
        "is_running": review is not None and review.is_running,
        "done": len([opinion for opinion in known if opinion is not None]),
        "of": len(known) if review is None else review.of,
        "values": [None if opinion is None or opinion.value != opinion.value else opinion.value for opinion in known],
        "lines": [[to_vertex(p, game.size) for p in opinion.line] if opinion else [] for opinion in known],
        "phases": [{**row._asdict(), "color": NAMES[row.color]} for row in curve.by_phase()],
        "variation": None,
    }
