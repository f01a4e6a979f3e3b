"""Queries of KataGo's analysis protocol, and a stand-in that answers them. Start reading at `answers`."""

from __future__ import annotations

import json
from typing import Any

from gtp_controller import Thinker

from rlgo.go.board import PASS
from rlgo.go.game import Game
from rlgo.play.gtp.queries import AnalysisEngine
from rlgo.play.gtp.query_fields import Query, read_query
from rlgo.play.player import Candidate

SIZE = 5


class Counter(Thinker):
    """Ponders until it is stopped, ten visits a step."""

    def ponder(self, game: Game, stop) -> None:  # noqa: ARG002
        self.steps = 0
        while not stop():
            self.steps += 1

    def candidates(self, game: Game) -> list[Candidate]:
        p, q = game.legal_moves()[:2]
        n = 10 * self.steps
        first = Candidate(p, 0.7, n, [p, q], line_visits=[n, 3])
        return [first, Candidate(q, 0.4, 1, [q]), Candidate(PASS, 0.3, 1, [PASS, p])] if n else []


def answers(*questions: dict | str) -> list[dict]:
    said: list[str] = []
    lines = [question if isinstance(question, str) else json.dumps(question) for question in questions]
    AnalysisEngine(lambda _: Counter(), said.append).run(lines)
    return [json.loads(line) for line in said]


QUESTION: dict[str, Any] = {
    "id": "a", "rules": "chinese", "komi": 0.5, "boardXSize": SIZE, "boardYSize": SIZE, "maxVisits": 50,
    "moves": [["B", "C3"], ["W", "D4"]], "includeOwnership": True, "includePolicy": True,
}  # fmt: skip


def game_of(query: dict) -> Game:
    """The game that a query is about, after all its moves."""
    read = read_query(json.dumps(query))
    assert isinstance(read, Query)
    return read.position(len(read.moves))
