"""The fields of queries in KataGo's analysis protocol, and the one place that checks them.

Start reading at `read_query`. Fields have the names of the protocol.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Len
from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError
from pydantic_core import from_json

from rlgo.base.errors import RlgoError, cut, shown
from rlgo.base.settings import DEFAULT_KOMI, BoardSize, Count, CountOr0, Komi, Positive
from rlgo.go.coords import color_of, from_vertex
from rlgo.go.game import Game
from rlgo.play.gtp.analyze import allowed_moves
from rlgo.play.gtp.kata import read_rules

_Color = Literal["B", "W", "b", "w", "black", "white"]
_Turns = Annotated[list[CountOr0], Len(1)]


class _Object(BaseModel):
    """A strict object; fields that are unknown are told."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    @property
    def warnings(self) -> dict[str, str]:
        """What is not obeyed, by field."""
        return dict.fromkeys(self.model_extra or {}, "unknown field")


class Action(_Object):
    """Something to be done, other than an analysis."""

    id: str
    action: Literal["terminate", "terminate_all", "query_version", "query_models", "clear_cache"]
    turnNumbers: _Turns = []  # by default, all


class Terminate(Action):
    """An action that ends the analyses of a query."""

    terminateId: str


class _Settings(_Object):
    reportAnalysisWinratesAs: Literal["BLACK", "WHITE", "SIDETOMOVE"] = "BLACK"
    maxTime: Positive = math.inf  # seconds for a turn


class _Moves(_Object):
    player: _Color
    moves: list[str]
    untilDepth: Count


class Query(_Object):
    """Positions to be analysed."""

    id: str
    boardXSize: BoardSize
    boardYSize: BoardSize = 0  # by default, that of X
    rules: str | dict[str, Any] = "tromp-taylor"
    whiteHandicapBonus: Literal["0", "N-1", "N", 0] = None  # type: ignore[assignment]  # by default, that of the rules
    komi: Komi = DEFAULT_KOMI
    initialStones: list[tuple[_Color, str]] = []
    initialPlayer: _Color = "B"
    moves: list[tuple[_Color, str]] = []
    analyzeTurns: _Turns = []  # by default, the last
    maxVisits: Count = 500
    includeOwnership: bool = False
    includeMovesOwnership: bool = False
    includePolicy: bool = False
    includePVVisits: bool = False
    allowMoves: list[_Moves] = []
    avoidMoves: list[_Moves] = []
    overrideSettings: _Settings = _Settings()
    reportDuringSearchEvery: Positive = 0.0  # seconds; by default, never
    priority: Annotated[int, Ge(-(10**9)), Le(10**9)] = 0
    _game: Game = PrivateAttr()
    _other_rules: str = PrivateAttr()

    def checks(self) -> Iterator[str]:
        """Check what depends on other fields: yield the name of a field before each check, which raises RlgoError."""
        yield "boardYSize"
        if self.boardYSize not in (0, self.boardXSize):
            raise RlgoError(f"boardYSize = {self.boardYSize}: expected {self.boardXSize}: the board is square")
        yield "rules"
        game = self._game = Game(self.boardXSize, self.komi)
        game.white_bonus, self._other_rules = read_rules(self.rules, self.whiteHandicapBonus)
        yield "initialStones"
        stones = [(color_of(color), from_vertex(vertex, game.size)) for color, vertex in self.initialStones]
        game.set_up(stones, color_of(self.moves[0][0] if self.moves else self.initialPlayer))
        yield "moves"
        for number, (color, vertex) in enumerate(self.moves, 1):
            p = from_vertex(vertex, game.size)
            if why := game.why_illegal(p, color_of(color)):
                raise RlgoError(f"Illegal move {number}: {why}")
            game.play(p, color)
        yield "analyzeTurns"
        self.analyzeTurns = sorted(set(self.analyzeTurns)) or [len(self.moves)]
        if self.analyzeTurns[-1] > len(self.moves):
            raise RlgoError(f"turn {self.analyzeTurns[-1]}: expected at most {len(self.moves)}, the number of moves")
        yield "allowMoves" if self.allowMoves else "avoidMoves"
        if not all(one.moves for one in self.allowMoves):
            raise RlgoError("allowMoves: expected moves")
        for turn in self.analyzeTurns if self.allowMoves or self.avoidMoves else ():
            self.position(turn)

    def position(self, turn: int) -> Game:
        """Return the game after a number of moves, with the moves that may be played. RlgoError if there are none."""
        game = self._game.after(turn)
        allow, avoid = (
            {from_vertex(v, game.size) for one in given if color_of(one.player) == game.to_play for v in one.moves}
            for given in (self.allowMoves, self.avoidMoves)
        )
        game.allowed = allowed_moves(game, allow, avoid)
        return game

    @property
    def warnings(self) -> dict[str, str]:
        """What is not obeyed, by field."""
        found = super().warnings | ({"rules": f"played with {self._other_rules}"} if self._other_rules else {})
        if self.overrideSettings.model_extra:
            found["overrideSettings"] = f"not obeyed: {cut(', '.join(self.overrideSettings.model_extra))}"
        for name in ("allowMoves", "avoidMoves"):
            if any(one.untilDepth > 1 or one.model_extra for one in getattr(self, name)):
                found[name] = "obeyed for the next move only, as with an untilDepth of 1, and without other fields"
        return found


def read_query(line: str) -> Query | Action | dict[str, str]:
    """Read a line. A dict is the answer to one that is wrong."""
    about: dict[str, str] = {}
    try:
        given = from_json(line.removeprefix("\ufeff"))
        if not isinstance(given, dict):
            raise ValueError(f"found {shown(given)}")
        if isinstance(given.get("id"), str):
            about["id"] = given["id"]
        kind = Query if "action" not in given else Terminate if given["action"] == "terminate" else Action
        query = kind.model_validate_json(line.removeprefix("\ufeff"))
        for about["field"] in query.checks() if isinstance(query, Query) else ():
            pass
    except ValidationError as error:
        mistake = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = cut(".".join(map(str, mistake["loc"])))
        return {**about, "field": str(mistake["loc"][0]), "error": f"{where}: {mistake['msg']}"}
    except RlgoError as error:
        return {**about, "error": str(error)}
    except ValueError as error:
        return {"error": f"expected a JSON object: {error}"}
    return query
