"""KataGo's analysis protocol: queries and answers as lines of JSON."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from analysis_queries import QUESTION, SIZE, Counter, answers
from pydantic_core import from_json

from rlgo.go.game import Game
from rlgo.play.gtp.queries import AnalysisEngine
from rlgo.play.gtp.query_fields import Query, read_query
from rlgo.play.ownership import Ownership
from rlgo.play.player import Candidate


def test_a_question_is_answered() -> None:
    (answer,) = answers(QUESTION)
    assert (answer["id"], answer["isDuringSearch"], answer["turnNumber"]) == ("a", False, 2)
    assert [info["move"] for info in answer["moveInfos"]] == ["A1", "B1", "pass"]
    assert answer["moveInfos"][0]["pv"] == ["A1", "B1"]
    assert not {"pvVisits", "ownership"} & answer["moveInfos"][0].keys()  # which were not asked for
    assert answer["rootInfo"]["visits"] >= 50
    assert answer["rootInfo"]["winrate"] == pytest.approx(0.7)
    assert (len(answer["ownership"]), len(answer["policy"])) == (25, 26)
    assert answer["policy"][12] == -1  # C3, where a stone is
    assert sum(answer["ownership"]) - 0.5 == pytest.approx(answer["rootInfo"]["scoreLead"], abs=0.1)


def test_several_turns_views_and_actions() -> None:
    side = {
        **QUESTION,
        "id": "b",
        "analyzeTurns": [1, 2],
        "overrideSettings": {"reportAnalysisWinratesAs": "SIDETOMOVE"},
    }
    odd = [{"id": "x", "action": "bogus"}, {"id": "y", "action": []}, "{", {"komi": 1}]
    found = answers(side, {"id": "v", "action": "query_version"}, *odd)
    by_turn = {answer["turnNumber"]: answer for answer in found if "turnNumber" in answer}
    assert by_turn[1]["rootInfo"]["winrate"] == pytest.approx(0.3)  # White's
    assert by_turn[2]["rootInfo"]["winrate"] == pytest.approx(0.7)
    assert any(answer.get("version") for answer in found)
    assert sum("error" in answer for answer in found) == 4


@pytest.mark.parametrize("priority", [None, "high", float("inf")])
def test_a_bad_priority_is_no_end(priority: object) -> None:
    bad, good = answers({**QUESTION, "priority": priority, "id": "x"}, {**QUESTION, "priority": 3})
    assert (bad["id"], bad["field"]) == ("x", "priority")
    assert good["id"] == "a"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_lines_that_cannot_be_read_on_are_an_end() -> None:
    def lines() -> Iterator[str]:
        yield json.dumps(QUESTION)
        raise SystemExit  # which a thread does not print

    said: list[str] = []
    AnalysisEngine(lambda _: Counter(), said.append).run(lines())
    assert len(said) == 1


def test_all_questions_can_be_stopped() -> None:
    endless = [{**QUESTION, "id": name, "maxVisits": 10**9} for name in "ab"]
    found = answers(*endless, {"id": "t", "action": "terminate_all"})
    assert sorted(answer["id"] for answer in found) == ["a", "b", "t"]


def test_the_cache_can_be_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten: list[bool] = []
    monkeypatch.setattr(Counter, "new_game", lambda _: forgotten.append(True))
    said: list[dict] = []
    asked = AnalysisEngine(lambda _: Counter(), lambda line: said.append(json.loads(line)))
    asked.run([json.dumps(QUESTION)])
    before = len(forgotten)
    asked.run([json.dumps({"id": "c", "action": "clear_cache"})])
    assert len(forgotten) == before + 1
    assert said[-1] == {"id": "c", "action": "clear_cache"}
    assert answers({"id": "m", "action": "query_models"})[0]["models"] == []


def when_searching(*, first: list[dict], then: list[dict]) -> list[dict]:
    """What is answered if `then` comes while the first search runs."""
    is_searching, said = threading.Event(), []

    class Waited(Counter):
        def candidates(self, game: Game) -> list[Candidate]:
            is_searching.set()
            return super().candidates(game)

    def lines() -> Iterator[str]:
        yield from map(json.dumps, first)
        assert is_searching.wait(60)
        yield from map(json.dumps, then)

    AnalysisEngine(lambda _: Waited(), lambda line: said.append(json.loads(line))).run(lines())
    return said


ENDLESS = {**QUESTION, "maxVisits": 10**9}


def test_a_search_that_is_terminated_is_answered_with_what_there_is() -> None:
    stop = {"id": "t", "action": "terminate", "terminateId": "a"}
    found = when_searching(first=[ENDLESS], then=[stop])
    assert found[0] == stop
    assert (found[1]["id"], found[1]["isDuringSearch"], len(found[1]["moveInfos"])) == ("a", False, 3)


def test_all_queries_of_an_id_end_and_those_that_have_not_begun_have_no_results() -> None:
    others = [{**ENDLESS, "moves": []}, {**QUESTION, "id": "b"}]
    stop = {"id": "t", "action": "terminate", "terminateId": "a"}
    found = when_searching(first=[ENDLESS, *others], then=[stop])
    assert [(answer["id"], answer.get("turnNumber"), answer.get("noResults")) for answer in found] == [
        ("t", None, None), ("a", 2, None), ("a", 0, True), ("b", 2, None),
    ]  # fmt: skip


def test_turn_numbers_end_only_those_turns() -> None:
    stop = {"id": "t", "action": "terminate", "terminateId": "a", "turnNumbers": [0, 2, 7]}
    found = when_searching(first=[{**ENDLESS, "analyzeTurns": [0, 1, 2]}], then=[stop, {**stop, "turnNumbers": [1]}])
    assert [(answer["id"], answer.get("noResults")) for answer in found] == [
        ("t", None), ("t", None), ("a", None), ("a", True), ("a", True),
    ]  # fmt: skip


def test_a_turn_that_is_not_meant_goes_on() -> None:
    said: list[dict] = []

    def lines() -> Iterator[str]:
        yield json.dumps({**ENDLESS, "reportDuringSearchEvery": 0.001})
        stop = {"id": "t", "action": "terminate", "terminateId": "a"}
        for other in ({"turnNumbers": [1]}, {"terminateId": "b"}):
            yield json.dumps({**stop, **other})
            before, end = len(said), time.monotonic() + 60
            while len(said) < before + 5 and time.monotonic() < end:
                time.sleep(0.001)
            assert said[-1]["isDuringSearch"]
        yield json.dumps({**stop, "turnNumbers": [2]})

    AnalysisEngine(lambda _: Counter(), lambda line: said.append(json.loads(line))).run(lines())
    assert [answer["id"] for answer in said if not answer.get("isDuringSearch")] == ["t", "t", "t", "a"]


@pytest.mark.parametrize("action", [{"action": "terminate", "terminateId": "a"}, {"action": "terminate_all"}])
def test_what_is_not_open_is_forgotten(action: dict) -> None:
    """An id may be used later, and again."""
    found = answers({"id": "t", **action}, QUESTION, QUESTION)
    assert found[0] == {"id": "t", **action}
    assert [answer["rootInfo"]["visits"] >= 50 for answer in found[1:]] == [True, True]


def test_a_search_ends_in_time() -> None:
    began = time.monotonic()
    (answer,) = answers({**ENDLESS, "overrideSettings": {"maxTime": 0.05}})
    assert answer["moveInfos"]
    assert time.monotonic() - began >= 0.05


def test_the_most_urgent_query_comes_first() -> None:
    rest = [{**QUESTION, "id": str(n), "priority": n} for n in (1, 3, 2)]
    stop = {"id": "t", "action": "terminate", "terminateId": "a"}
    assert [answer["id"] for answer in when_searching(first=[ENDLESS], then=[*rest, stop])] == ["t", "a", "3", "2", "1"]


@pytest.mark.parametrize(
    ("turns", "answered"), [([2, 1, 0], [0, 1, 2]), ([1, 1], [1]), ([4, 0, 3], [0, 3, 4]), ([3], [3])]
)
def test_each_turn_is_answered_once_even_after_the_end_of_the_game(turns: list[int], answered: list[int]) -> None:
    moves = [["B", "C3"], ["W", "D4"], ["B", "pass"], ["W", "pass"]]
    found = answers({**QUESTION, "moves": moves, "analyzeTurns": turns})
    assert [answer["turnNumber"] for answer in found] == answered
    assert all(answer["moveInfos"] for answer in found)


def test_what_is_unknown_is_told_and_the_query_answered() -> None:
    *warnings, answer = answers(
        {
            **QUESTION,
            "maxVisit": 3,
            "rootPolicyTemperature": 1.1,
            "allowMoves": [{"player": "B", "moves": ["B1"], "untilDepth": 5}],
            "overrideSettings": {"wideRootNoise": 0.04, "reportAnalysisWinratesAs": "BLACK"},
        }
    )
    assert {warning["field"] for warning in warnings} == {
        "maxVisit", "rootPolicyTemperature", "allowMoves", "overrideSettings",
    }  # fmt: skip
    assert all(warning["id"] == "a" and warning["warning"] for warning in warnings)
    assert [info["move"] for info in answer["moveInfos"]] == ["B1"]
    assert len(answers({"id": "v", "action": "query_version", "komi": 7})) == 2


def test_a_byte_order_mark_and_deep_nesting() -> None:
    deep = '{"id": "d", "rules": ' + "[" * 10_000 + "]" * 10_000 + "}"
    found = answers("\ufeff" + json.dumps(QUESTION), deep, {**QUESTION, "id": "b"})
    assert [(answer.get("id"), "error" in answer) for answer in found] == [(None, True), ("a", False), ("b", False)]
    assert found[0]["error"].startswith("expected a JSON object: recursion limit exceeded")
    odd, _ = answers({**QUESTION, "rules": {"scoring": [[[[[]]]]]}})
    assert (odd["field"], odd["warning"]) == ("rules", "played with scoring AREA in place of [[[[[]]]]]")


@pytest.mark.parametrize("is_reading", [True, False])
def test_a_client_that_is_gone_ends_it(is_reading: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """Whichever thread notices it."""

    def write(_: str) -> None:
        raise BrokenPipeError

    def lines() -> Iterator[str]:
        yield "{" if is_reading else json.dumps({**ENDLESS, "reportDuringSearchEvery": 0.001})
        threading.Event().wait(None if not is_reading else 0.01)

    with pytest.raises(BrokenPipeError):
        AnalysisEngine(lambda _: Counter(), write).run(lines())
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rules": "japanesque"}, "expected JSON or one of"),
        ({"boardYSize": 7}, "the board is square"),
        ({"moves": [["B", "C3"], ["W", "C3"]]}, "Illegal move 2: occupied"),
        ({"moves": [["B", "C3"], ["W", "Z9"]]}, "moves: vertex"),
        ({"initialStones": [["B", "pass"]]}, "initialStones"),
        ({"initialStones": [["B", "A1"], ["W", "A1"]]}, "initialStones"),
        ({"analyzeTurns": []}, "analyzeTurns"),
        ({"analyzeTurns": [0, 3]}, "analyzeTurns: turn 3: expected at most 2, the number of moves"),
        ({"analyzeTurns": [-1]}, "analyzeTurns"),
        ({"allowMoves": [{"player": "B", "moves": ["C3"], "untilDepth": 1}]}, "allowMoves: no sensible move is left"),
        ({"allowMoves": [{"player": "B", "moves": [], "untilDepth": 1}]}, "allowMoves: expected moves"),
        ({"avoidMoves": [{"player": "B", "moves": ["K10"], "untilDepth": 1}]}, "avoidMoves: vertex"),
        ({"avoidMoves": [{"player": "B", "moves": ["A1"]}]}, "avoidMoves.0.untilDepth: Field required"),
        ({"overrideSettings": {"maxTime": -1}}, "overrideSettings.maxTime"),
        ({"komi": "x"}, "komi"),
        ({"boardXSize": 4}, "boardXSize"),
    ],
)
def test_impossible_questions(change: dict, why: str) -> None:
    (answer,) = answers({**QUESTION, **change})
    (field,) = change
    assert (answer["id"], answer["field"]) == ("a", field)
    assert why in f"{field}: {answer['error']}"


WRONG: list[Any] = [None, True, -1, 1.5, "", "x", [], {}, [[]], [{}], [None], {"a": None}, 10**30]
RIGHT: dict[str, list[Any]] = {  # what is right among these
    "rules": [], "komi": [-1, 1.5], "boardYSize": [], "initialStones": [[]], "moves": [[]], "priority": [-1],
    "analyzeTurns": [], "maxVisits": [], "includeOwnership": [True], "includeMovesOwnership": [True],
    "includePolicy": [True], "includePVVisits": [True], "allowMoves": [[]], "avoidMoves": [[]],
    "overrideSettings": [{}, {"a": None}], "reportDuringSearchEvery": [1.5, 10**30],
    "boardXSize": [], "initialPlayer": [], "whiteHandicapBonus": [],
}  # fmt: skip


@pytest.mark.parametrize("field", list(RIGHT))
def test_wrong_types_and_null(field: str) -> None:
    assert RIGHT.keys() | {"id"} == Query.model_fields.keys()
    base = {**QUESTION, "moves": []}
    for value in WRONG:
        if field == "rules" and value == {"a": None}:
            continue  # unknown rules are ignored
        *told, answer = answers({**base, field: value})
        if value in RIGHT[field] and type(value) in {type(right) for right in RIGHT[field]}:
            assert "moveInfos" in answer, value
        elif not (field == "rules" and value == {}):
            assert (answer["id"], answer["field"], "error" in answer) == ("a", field, True), value
            assert not told


@pytest.mark.parametrize("value", [*WRONG[:4], *WRONG[6:]])
def test_an_id_that_is_none(value: object) -> None:
    (answer,) = answers({**QUESTION, "id": value})
    assert (answer["field"], "id" in answer) == ("id", False)


def test_stones_and_the_first_player_of_a_question() -> None:
    query = read_query(json.dumps({**QUESTION, "moves": [], "initialStones": [["B", "A1"]], "initialPlayer": "W"}))
    assert isinstance(query, Query)
    game = query.position(0)
    assert (game.to_play, len(game.setup)) == (2, 1)


def test_a_player_that_does_not_know_the_board() -> None:
    class Small(Counter):
        sizes = (9,)

    said: list[dict] = []
    AnalysisEngine(lambda _: Small(), lambda line: said.append(json.loads(line))).run([json.dumps(QUESTION)])
    assert [(answer["id"], answer["field"]) for answer in said] == [("a", "boardXSize")]


# --- what is told of each move ---


def test_visits_and_ownership_along_lines() -> None:
    (answer,) = answers({**QUESTION, "includePVVisits": True, "includeMovesOwnership": True})
    first, second, passing = answer["moveInfos"]
    assert first["pvVisits"] == [first["visits"], 3]
    assert second["pvVisits"] == [1]
    assert "pvVisits" not in passing  # a line of two moves without known visits
    game = Game(SIZE, 0.5)
    for vertex in ("C3", "D4", "A1", "B1"):
        game.play(vertex)
    assert first["ownership"] == pytest.approx(Ownership.of(game).map[::-1].ravel(), abs=0.001)


@pytest.mark.parametrize(
    ("change", "moves"),
    [
        ({"allowMoves": [{"player": "B", "moves": ["B1", "C3"], "untilDepth": 1}]}, ["B1"]),
        ({"allowMoves": [{"player": "W", "moves": ["B1"], "untilDepth": 1}]}, ["A1", "B1", "pass"]),
        ({"avoidMoves": [{"player": "b", "moves": ["a1", "pass"], "untilDepth": 1}]}, ["B1"]),
        ({"avoidMoves": [{"player": "B", "moves": [v], "untilDepth": 1} for v in ("B1", "pass")]}, ["A1"]),
    ],
)
def test_moves_that_may_be_played(change: dict, moves: list[str]) -> None:
    (answer,) = answers({**QUESTION, **change})
    assert [info["move"] for info in answer["moveInfos"]] == moves


# --- any line at all ---

VALUES: list[Any] = [
    *WRONG, 0, 1, 2, 3, 9, 19, 50, 1e300, -0.0, "B", "W", "white", "C3", "A1", "pass", "chinese", "a",
    "terminate", "é\0\n",
    [0], [1, 0], [["B", "C3"]], [["W", "pass"], ["B", "pass"]], [["B"]], {"id": {}}, [[[[[[[]]]]]]],
    [{"player": "B", "moves": ["A1", "B1"], "untilDepth": 1}], [{"player": "W", "moves": [], "untilDepth": 0}],
    {"maxTime": 1e-9}, {"reportAnalysisWinratesAs": "WHITE"},
]  # fmt: skip
VALID: list[dict[str, Any]] = [
    QUESTION,
    {"id": "b", "boardXSize": 9, "moves": [], "includePVVisits": True, "includeMovesOwnership": True, "maxVisits": 20},
    {"id": "c", "boardXSize": 5, "moves": [["B", "A1"], ["W", "B1"], ["B", "C1"]], "analyzeTurns": [3, 0]},
    {**QUESTION, "avoidMoves": [{"player": "B", "moves": ["A1"], "untilDepth": 1}], "reportDuringSearchEvery": 0.5},
    {"id": "d", "boardXSize": 7, "initialStones": [["B", "A1"]], "initialPlayer": "W", "overrideSettings": {}},
    *({"id": "e", "action": action, "terminateId": "1"} for action in ("terminate", "terminate_all", "clear_cache")),
    {"id": "f", "action": "query_version"},
]


def mutated(draw: random.Random, value: Any) -> Any:
    """The value with one part of it replaced, left out, doubled or given another name."""
    if not value or not isinstance(value, dict | list) or draw.random() < 0.2:
        return draw.choice(VALUES)
    parts = list(value.items() if isinstance(value, dict) else enumerate(value))
    i = draw.randrange(len(parts))
    name, part = parts[i]
    kind = draw.random()
    if kind < 0.6:
        parts[i] = (name, mutated(draw, part))
    elif kind < 0.75:
        del parts[i]
    elif kind < 0.9:
        parts.insert(draw.randrange(len(parts) + 1), (draw.choice([*QUESTION, "x", str(name)]), part))
    else:
        parts[i] = (str(name) + draw.choice("sé "), part)
    return dict(parts) if isinstance(value, dict) else [part for _, part in parts]


def random_query(draw: random.Random, number: int) -> str:
    query: Any = {**draw.choice(VALID), "id": str(number)}
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        query = mutated(draw, query)
    text = json.dumps(query, ensure_ascii=draw.random() < 0.5)
    if draw.random() < 0.1:
        i = draw.randrange(len(text))
        part = draw.choice(['"', "[" * 300, "}", "NaN", "\\ud800", "\t", "9" * 5_000, "\u2028"])
        text = text[:i] + part + text[i + 1 :]
    return draw.choice(["", "", "", "\ufeff", " "]) + text.replace("\n", " ")


def check_answers(line: str, given: Any, said: list[dict]) -> None:
    """Each turn is answered once, or the query by one error that names a field; what is unknown is told."""
    ends = [answer for answer in said if not answer.get("isDuringSearch") and "warning" not in answer]
    assert ends, line
    if "error" in ends[0]:
        assert len(said) == 1, line
        assert ends[0]["field"] in given.keys() | {"boardXSize", "terminateId", "avoidMoves"}, line
    elif "action" in given:
        assert len(ends) == 1, line
    else:
        turns = given.get("analyzeTurns", [len(given.get("moves", []))])
        assert sorted(answer["turnNumber"] for answer in ends) == sorted(set(turns)), line
        told = {answer["field"] for answer in said if "warning" in answer}
        assert told >= given.keys() - Query.model_fields.keys(), line
        assert all("noResults" in answer or answer["rootInfo"]["currentPlayer"] in "BW" for answer in ends), line


@pytest.mark.parametrize("n", [2_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_every_line_is_answered(n: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def unplayed(game: Game, playouts: int = 1, seed: int = 0) -> Ownership:  # noqa: ARG001
        return Ownership(game, np.zeros(len(game.board.color)), 0.5)

    monkeypatch.setattr(Ownership, "of", unplayed)
    draw, said, lines = random.Random(n), list[dict](), dict[str, Any]()
    without_id = 0

    def all_lines() -> Iterator[str]:
        nonlocal without_id
        for number in range(n):
            line = random_query(draw, number)
            try:
                given = from_json(line.removeprefix("\ufeff"))
            except ValueError:
                given = None
            id_ = given.get("id") if isinstance(given, dict) else None
            if isinstance(id_, str) and id_ not in lines:
                lines[id_] = line, given
            elif isinstance(id_, str):
                continue  # another one has it
            else:
                without_id += bool(line.strip())
            yield line
        yield json.dumps({**QUESTION, "id": "last"})

    AnalysisEngine(lambda _: Counter(), lambda line: said.append(json.loads(line))).run(all_lines())
    assert [answer["turnNumber"] for answer in said if answer.get("id") == "last"] == [2]
    assert Tally("id" in answer for answer in said)[False] == without_id > 0
    assert all(set(answer) <= {"error", "field"} for answer in said if "id" not in answer)
    by_id: dict[str | None, list[dict]] = {}
    for answer in said:
        by_id.setdefault(answer.get("id"), []).append(answer)
    for id_, (line, given) in lines.items():
        check_answers(line, given, by_id.get(id_, []))
    kinds = Tally("error" if "error" in answer else "warning" if "warning" in answer else "answer" for answer in said)
    assert min(kinds.values()) > n / 20, kinds
    captured = capfd.readouterr()  # with what it tells of compiling
    assert "Traceback" not in captured.out + captured.err
    assert not any("internal" in answer.get("error", "") for answer in said)
