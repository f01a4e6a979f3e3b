"""KataGo's analysis protocol, which KaTrain uses: queries and answers are lines of JSON.

Start reading at `AnalysisEngine.run`. A thread reads the queries; the most urgent one is answered first. All
queries share one player, so searches run one after another.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.settings import DEFAULT_KOMI
from rlgo.go.board import BLACK, PASS, WHITE
from rlgo.go.coords import COLORS, from_row_col, from_vertex
from rlgo.go.game import Game
from rlgo.play.gtp.kata import move_infos, owners_of, read_rules
from rlgo.play.notes import print_bug
from rlgo.play.player import Candidate, won_by
from rlgo.play.searching import REPORT_SECONDS
from rlgo.play.session import GameSession
from rlgo.play.sized_players import MakePlayer

# Answers to actions, which repeat the query and add this.
_ACTIONS: dict[str, dict[str, Any]] = {
    "terminate": {}, "terminate_all": {}, "query_version": {"version": "1.16.0", "git_hash": "rlgo"}, "clear_cache": {},
    "query_models": {"models": []},
}  # fmt: skip


class AnalysisEngine:
    """Answers queries about positions.

    Parameters
    ----------
    make : makes the player for a board size
    write : takes each answer, a line
    """

    def __init__(self, make: MakePlayer, write: Callable[[str], None]) -> None:
        self._make, self._write = make, write
        self._sessions: dict[int, GameSession] = {}
        self._queries: queue.PriorityQueue[tuple[int, int, dict[str, Any] | None]] = queue.PriorityQueue()
        self._open: set[str] = set()  # ids of queries without their last answer
        self._stopped: set[str] = set()  # ids of those to be ended
        self._read = 0

    def run(self, lines: Iterable[str]) -> None:
        """Answer all queries, until the lines end."""
        reader = threading.Thread(target=self._read_all, args=(lines,), daemon=True)
        reader.start()
        while True:
            *_, query = self._queries.get()
            if query is None:
                break
            self._answer(query)
        for session in self._sessions.values():
            session.close()

    def _read_all(self, lines: Iterable[str]) -> None:
        try:
            self._read_lines(lines)
        finally:  # after a bug, too: otherwise `run` would wait for ever
            self._put(1 << 62, None)

    def _read_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            if not line.strip():
                continue
            try:
                query = json.loads(line)
                if not isinstance(query, dict) or not isinstance(query.get("id"), str):
                    raise ValueError
            except ValueError:
                self._answer_with({"error": "expected a JSON object with an id"})
                continue
            if "action" in query:
                self._act(query)
                continue
            try:
                urgency = -int(query.get("priority", 0))
            except (TypeError, ValueError, OverflowError):
                self._answer_with({"id": query["id"], "error": "priority: expected an integer"})
                continue
            self._open.add(query["id"])
            self._put(urgency, query)

    def _put(self, urgency: int, query: dict[str, Any] | None) -> None:
        self._read += 1
        self._queries.put((urgency, self._read, query))

    def _act(self, query: dict[str, Any]) -> None:
        action = query["action"]
        if not isinstance(action, str) or action not in _ACTIONS:
            self._answer_with({"id": query["id"], "error": f"action {action!r}: expected one of {', '.join(_ACTIONS)}"})
            return
        if action == "terminate":
            self._stopped.add(str(query.get("terminateId")))
        elif action == "terminate_all":
            self._stopped |= self._open
        elif action == "clear_cache":  # between two searches
            self._put(-(1 << 62), query)
            return
        self._answer_with({**query, **_ACTIONS[action]})

    def _answer(self, query: dict[str, Any]) -> None:
        if "action" in query:  # clear_cache
            for session in self._sessions.values():
                session.player.new_game()
            self._answer_with(query)
            return
        try:
            game = game_of(query)
            if other := read_rules(query.get("rules", "tromp-taylor"))[1]:
                self._answer_with({"id": query["id"], "field": "rules", "warning": f"played with {other}"})
            turns = query.get("analyzeTurns", [len(game.moves)])
            for turn in turns:
                self._search(query, game.after(turn), turn)
        except RlgoError as error:
            self._answer_with({"id": query["id"], "error": str(error)})
        except (TypeError, ValueError, KeyError) as error:
            self._answer_with({"id": query["id"], "error": f"expected another form: {type(error).__name__}: {error}"})
        except Exception as error:
            print_bug()
            self._answer_with({"id": query["id"], "error": f"internal error: {type(error).__name__}"})
        self._open.discard(query["id"])
        self._stopped.discard(query["id"])

    def _search(self, query: Mapping[str, Any], game: Game, turn: int) -> None:
        """Search a position up to the visits of the query, with answers meanwhile, if it wants them, and at the end."""
        if game.is_over():
            raise RlgoError(f"turn {turn}: the game is over")
        session = self._session(game.size)
        most = int(query.get("maxVisits", 500))
        session.follow(game)
        every = query.get("reportDuringSearchEvery")
        found: list[Candidate] = []

        def is_over() -> bool:
            return query["id"] in self._stopped or sum(c.visits for c in session.player.candidates(game)) >= most

        def report(candidates: list[Candidate], _: Game) -> None:
            found[:] = candidates
            if every and not is_over():
                self._answer_with(self._describe(query, candidates, game, turn, during=True))

        session.analyze(report, float(every or REPORT_SECONDS), stop=is_over)
        self._answer_with(self._describe(query, found, game, turn, during=False))

    def _session(self, size: int) -> GameSession:
        if size not in self._sessions:
            self._sessions[size] = GameSession(self._make(size), size)
        return self._sessions[size]

    def _describe(
        self, query: Mapping[str, Any], found: Sequence[Candidate], game: Game, turn: int, *, during: bool
    ) -> dict[str, Any]:
        player = self._session(game.size).player
        view = str(query.get("overrideSettings", {}).get("reportAnalysisWinratesAs", "BLACK")).upper()
        color = {"BLACK": BLACK, "WHITE": WHITE}.get(view, game.to_play)
        sign = 1 if color == BLACK else -1
        owners, described = owners_of(found, game), move_infos(found, game, player, color)
        infos = [
            {
                "move": info.move, "visits": info.visits, "edgeVisits": info.visits, "winrate": info.winrate,
                "utility": 2 * info.winrate - 1, "lcb": info.lcb, "utilityLcb": 2 * info.lcb - 1, "prior": info.prior,
                "scoreLead": info.score, "scoreMean": info.score, "scoreSelfplay": info.score, "scoreStdev": 0.0,
                "weight": info.visits, "order": info.order, "pv": info.pv,
            }
            for info in described
        ]  # fmt: skip
        chance, score = won_by(color, owners.wins), sign * owners.score
        if described:
            chance, score = described[0].winrate, described[0].score
        root = {
            "winrate": chance, "utility": 2 * chance - 1, "scoreLead": score,
            "scoreSelfplay": score, "scoreStdev": 0.0, "visits": sum(c.visits for c in found),
            "currentPlayer": "B" if game.to_play == BLACK else "W",
        }  # fmt: skip
        answer = {
            "id": query["id"],
            "isDuringSearch": during,
            "turnNumber": turn,
            "moveInfos": infos,
            "rootInfo": root,
        }
        if query.get("includeOwnership"):
            answer["ownership"] = [round(sign * float(x), 3) for x in owners.map[::-1].ravel()]
        if query.get("includePolicy"):
            answer["policy"] = _policy(found, game)
        return answer

    def _answer_with(self, answer: dict[str, Any]) -> None:
        self._write(json.dumps(answer) + "\n")


def _policy(found: Sequence[Candidate], game: Game) -> list[float]:
    """Return the share of the visits of each move, from the top left, then of a pass; -1 where a move is illegal.

    It replaces a network's policy.
    """
    size = game.size
    total = max(1, sum(c.visits for c in found))
    shares = {c.move: c.visits / total for c in found}
    legal = set(game.legal_moves())
    points = [from_row_col(row, col, size) for row in reversed(range(size)) for col in range(size)]
    return [*(shares.get(p, 0.0) if p in legal else -1.0 for p in points), shares.get(PASS, 0.0)]


def game_of(query: Mapping[str, Any]) -> Game:
    """Return the game that a query is about. RlgoError for unknown rules, and for an illegal move."""
    size = query["boardXSize"]
    if size != query.get("boardYSize", size):
        raise RlgoError(f"boardXSize = {size}, boardYSize = {query['boardYSize']}: expected a square board")
    game = Game(size, query.get("komi", DEFAULT_KOMI))
    game.white_bonus, _ = read_rules(query.get("rules", "tromp-taylor"), query.get("whiteHandicapBonus"))
    stones = [(COLORS[color.lower()], from_vertex(vertex, size)) for color, vertex in query.get("initialStones", [])]
    moves = [(COLORS[color.lower()], from_vertex(vertex, size)) for color, vertex in query.get("moves", [])]
    first = query.get("initialPlayer")
    to_play = moves[0][0] if moves else COLORS[first.lower()] if first else BLACK
    if stones or to_play != BLACK:
        game.set_up(stones, to_play)
    for number, (color, p) in enumerate(moves, 1):
        why = game.why_illegal(p, color)
        if why is not None:
            raise RlgoError(f"Illegal move {number}: {why}")
        game.play(p, color)
    return game
