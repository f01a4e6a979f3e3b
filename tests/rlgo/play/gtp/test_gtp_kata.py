"""KataGo's GTP commands, and its analysis protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from gtp_controller import Controller, Thinker

from rlgo.go.game import Game
from rlgo.play.gtp.queries import AnalysisEngine, game_of
from rlgo.play.ownership import Ownership
from rlgo.play.player import Candidate

SIZE = 5


def engine() -> Controller:
    return Controller(Thinker())


def infos(line: str) -> list[dict[str, str]]:
    """The moves of a line of ``kata-analyze``: what stands before pv, and pv."""
    found = []
    for part in line.split("info ")[1:]:
        head, _, pv = part.partition(" pv ")
        words = head.split()
        found.append({**dict(zip(words[::2], words[1::2], strict=True)), "pv": pv.split(" ownership")[0].strip()})
    return found


def test_rules() -> None:
    gtp = engine()
    assert json.loads(gtp.ok("kata-get-rules"))["scoring"] == "AREA"
    assert gtp.ok("kata-set-rules chinese") == ""
    assert gtp.ok('kata-set-rules {"scoring": "AREA", "ko": "SIMPLE", "tax": "NONE"}') == ""
    assert gtp.fail("kata-set-rules japanese").startswith("rules 'japanese': expected area scoring")
    assert gtp.fail('kata-set-rules {"scoring": "TERRITORY"}') == "rules: scoring = 'TERRITORY': expected 'AREA'"
    assert gtp.fail("kata-set-rules {x").startswith("syntax error")


def test_analysis_is_for_the_side_to_play() -> None:
    gtp = engine()
    black = infos(gtp.ok("kata-analyze b 10"))
    white = infos(gtp.ok("kata-analyze w 10"))
    assert [move["move"] for move in black] == ["A1", "B1", "pass"]
    assert (black[0]["winrate"], white[0]["winrate"]) == ("0.625000", "0.375000")
    assert (black[0]["order"], black[0]["visits"], black[0]["pv"]) == ("0", "40", "A1 B1")
    assert float(black[0]["lcb"]) == pytest.approx(0.475, abs=1e-3)


def test_ownership_root_and_number_of_moves() -> None:
    gtp = engine()
    size = gtp.game.size
    answer = gtp.ok("kata-analyze b interval 10 ownership true rootInfo true maxmoves 1 minmoves 1")
    assert len(infos(answer)) == 1
    owners = [float(x) for x in answer.partition("ownership ")[2].split()]
    assert len(owners) == size * size
    root = answer.partition("rootInfo ")[2].split()
    lead = float(root[root.index("scoreLead") + 1])
    assert sum(owners) - gtp.game.komi == pytest.approx(lead, abs=0.1)
    lines = [(c.line, float(c.visits)) for c in gtp.engine.player.candidates(gtp.game)]
    map_of_black = Ownership.after(gtp.game, lines).map[::-1].ravel()
    assert owners == pytest.approx(map_of_black, abs=0.001)
    white = gtp.game.copy()
    white.to_play = 2
    told = [float(x) for x in gtp.ok("kata-analyze w 10 ownership true").partition("ownership ")[2].split()]
    first = infos(gtp.ok("kata-analyze w 10"))[0]
    assert float(first["scoreLead"]) == pytest.approx(-Ownership.after(white, lines[:1], 200).score, abs=0.001)
    assert told == pytest.approx(-Ownership.after(white, lines).map[::-1].ravel(), abs=0.001)  # White's view


@pytest.mark.parametrize("args", ["x", "b x", "b ownership maybe", "interval", "b maxmoves"])
def test_refused(args: str) -> None:
    assert engine().fail(f"kata-analyze {args}") == "syntax error: expected [COLOR] [CENTISECONDS] [KEY VALUE]..."


def test_genmove_plays() -> None:
    gtp = engine()
    answer = str(gtp.engine.handle("kata-genmove_analyze b 10 ownership true"))
    assert answer.endswith("play A1\n\n")
    assert "ownership" in answer
    assert len(gtp.game.moves) == 1


def test_a_search_chooses_and_does_not_play() -> None:
    gtp = engine()
    answer = str(gtp.engine.handle("kata-search_analyze b 10 ownership true"))
    assert answer.endswith("play A1\n\n")
    assert "ownership" in answer
    assert gtp.game.moves == []


# --- the analysis protocol ---


class Counter(Thinker):
    """Ponders until it is stopped, ten visits a step."""

    def ponder(self, game: Game, stop) -> None:  # noqa: ARG002
        self.steps = 0
        while not stop():
            self.steps += 1

    def candidates(self, game: Game) -> list[Candidate]:
        p, q = game.legal_moves()[:2]
        return [Candidate(p, 0.7, 10 * self.steps, [p, q]), Candidate(q, 0.4, 1, [q])] if self.steps else []


def answers(*questions: dict | str) -> list[dict]:
    said: list[str] = []
    lines = [question if isinstance(question, str) else json.dumps(question) for question in questions]
    AnalysisEngine(lambda _: Counter(), said.append).run(lines)
    return [json.loads(line) for line in said]


QUESTION = {
    "id": "a", "rules": "chinese", "komi": 0.5, "boardXSize": SIZE, "boardYSize": SIZE, "maxVisits": 50,
    "moves": [["B", "C3"], ["W", "D4"]], "includeOwnership": True, "includePolicy": True,
}  # fmt: skip


def test_a_question_is_answered() -> None:
    (answer,) = answers(QUESTION)
    assert (answer["id"], answer["isDuringSearch"], answer["turnNumber"]) == ("a", False, 2)
    assert [info["move"] for info in answer["moveInfos"]] == ["A1", "B1"]
    assert answer["moveInfos"][0]["pv"] == ["A1", "B1"]
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
    assert bad == {"id": "x", "error": "priority: expected an integer"}
    assert good["id"] == "a"


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


def test_a_question_that_is_stopped_is_answered_with_what_there_is() -> None:
    (stop, answer) = sorted(
        answers({"id": "t", "action": "terminate", "terminateId": "a"}, {**QUESTION, "maxVisits": 10**9}),
        key=lambda answer: answer["id"],
        reverse=True,
    )
    assert (stop["action"], answer["id"]) == ("terminate", "a")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rules": "japanese"}, "expected area scoring"),
        ({"boardYSize": 7}, "expected a square board"),
        ({"moves": [["B", "C3"], ["W", "C3"]]}, "Illegal move 2: occupied"),
        ({"moves": [["B", "pass"], ["W", "pass"]]}, "the game is over"),
        ({"komi": "x"}, "komi"),
    ],
)
def test_impossible_questions(change: dict, why: str) -> None:
    (answer,) = answers({**QUESTION, **change})
    assert why in answer["error"]


def test_stones_and_the_first_player_of_a_question() -> None:
    game = game_of({**QUESTION, "moves": [], "initialStones": [["B", "A1"]], "initialPlayer": "W"})
    assert (game.to_play, len(game.setup)) == (2, 1)


# --- ownership after lines ---


def test_ownership_after_lines_is_the_mean_of_their_positions() -> None:
    game = Game(SIZE, 0.5)
    p, q = game.legal_moves()[:2]
    both = Ownership.after(game, [([p], 3.0), ([q, q], 1.0), ([p], 0.0)], 40, seed=1)
    one, other = game.copy(), game.copy()
    one.play(p)
    other.play(q)  # the second q is illegal, and ends the line
    expected = (30 * Ownership.of(one, 30, 1).map + 10 * Ownership.of(other, 10, 1).map) / 40
    assert abs(both.map - expected).max() < 1e-12
    assert both.score == pytest.approx(both.map.sum() - 0.5)
    assert (Ownership.after(game, [], 40, 1).map == Ownership.of(game, 40, 1).map).all()
