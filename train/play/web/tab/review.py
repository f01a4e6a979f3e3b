"""A review: every position of a line is searched, one after another, and the result goes into the record.

Start reading at `Review.take`. The tab starts the searches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rlgo.go.coords import to_vertex
from train.play.curve import NO_MOVE, Curve, Opinion, annotate, curve_in, known
from train.play.record import Record
from train.play.web.messages.positions import NAMES


class Review:
    """The review of a record's line.

    Parameters
    ----------
    record : the record, which must keep its line until the review ends
    player : the player's spec
    search : called with each position in turn, and `played`, the move there, or None; its result is given to `take`
    first : the position to begin with; what the record knows of earlier ones stays
    """

    def __init__(self, record: Record, player: str, search: Callable[..., None], first: int = 0) -> None:
        self.player, self._record, self._search = player, record, search
        self.moves = list(record.game.moves)
        self.of = len(self.moves) + (0 if record.game.is_over() and not record.game.resigned else 1)
        self.opinions = [opinion or Opinion(math.nan, NO_MOVE) for opinion in curve_in(record)[:first]]
        self.is_running = True

    def go_on(self) -> None:
        """Search the next position, or end."""
        if (n := len(self.opinions)) < self.of:
            self._search(self._record.game.after(n), played=self.moves[n][1] if n < len(self.moves) else None)
        else:
            self.end()

    def take(self, opinion: Opinion) -> None:
        """Take the result of a search, and go on."""
        if self.is_running:
            self.opinions.append(opinion)
            self.go_on()

    def end(self) -> None:
        """End the review, and write what it has found into the record."""
        if self.is_running:
            self.is_running = False
            if self.opinions:
                annotate(self._record, self.curve())

    def curve(self) -> Curve:
        """Return the curve of the positions searched so far."""
        return Curve(self._record.game, self.player, self.opinions)


def describe_review(record: Record, review: Review | None) -> dict[str, Any]:
    """Return what is known of the positions of a record's line as a ``review`` message."""
    game = record.game
    found: list[Opinion | None]
    if review is not None and review.moves == game.moves:
        found = [*review.opinions]
    else:
        review, found = None, curve_in(record)
    # A record may know only some positions; nothing is lost by moves whose loss is not known.
    opinions = [opinion or Opinion(math.nan, NO_MOVE) for opinion in found]
    curve = Curve(game, "", opinions)
    return {
        "type": "review",
        "moves": [[NAMES[color], to_vertex(p, game.size)] for color, p in game.moves],
        "player": None if review is None else review.player,
        "is_running": review is not None and review.is_running,
        "done": len([opinion for opinion in found if opinion is not None]),
        "of": len(found) if review is None else review.of,
        "values": [known(opinion.value) for opinion in opinions],
        "scores": [known(opinion.score) for opinion in opinions],
        "losses": [known(opinion.loss) for opinion in opinions],
        "points": [known(opinion.points) for opinion in opinions],
        "lines": [[to_vertex(p, game.size) for p in opinion.line] for opinion in opinions],
        "phases": [
            {**row._asdict(), "color": NAMES[row.color], "points": known(row.points)} for row in curve.by_phase()
        ],
        "variation": None,
    }
