"""The record of a tab's game: variations, comments, reviews."""

from __future__ import annotations

from web_tools import Endless, Page, stand_in

from rlgo.go.board import BLACK
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.player import Candidate, Player

RICH = """(;GM[1]FF[4]SZ[5]KM[0.5]PB[Ann]BR[3d]PW[Bob]RE[W+2]TM[600]OT[3x30 byo-yomi]XY[odd]C[start]
;B[cc]C[centre](;W[bb];B[dd])(;W[dd]N[other]TR[cc];B[bb]C[deep]))"""


def parents(page: Page) -> list[int]:
    """The tree that was told last."""
    return next(message for message in reversed(page.news) if message["type"] == "tree")["parents"]


def test_a_record_comes_back_with_all_it_had(page):
    game = page.do("load", sgf=RICH)
    assert game["info"] == {
        "PB": "Ann",
        "BR": "3d",
        "PW": "Bob",
        "RE": "W+2",
        "KM": "0.5",
        "TM": "600",
        "OT": "3x30 byo-yomi",
    }
    assert (game["at"], game["is_main"], game["comment"]) == (3, True, "")
    game = page.do("goto", at=1)
    assert game["comment"] == "centre"
    assert [(v["move"], v["name"], v["moves"], v["is_current"]) for v in game["variations"]] == [
        (["white", "B4"], "", 2, True),
        (["white", "D2"], "other", 2, False),
    ]
    game = page.do("branch", index=1)
    assert (game["at"], game["moves"][1:], game["is_main"]) == (2, [["white", "D2"], ["black", "B4"]], False)
    assert page.do("goto", at=3)["comment"] == "deep"
    saved = page.ask("save")["sgf"]
    for text in (
        "PB[Ann]",
        "BR[3d]",
        "RE[W+2]",
        "OT[3x30 byo-yomi]",
        "XY[odd]",
        "C[centre]",
        "N[other]",
        "TR[cc]",
        "C[deep]",
    ):
        assert text in saved
    game = page.do("branch", index=None)
    assert (game["at"], game["is_main"]) == (1, True)


def test_a_variation_that_sets_stones_is_shown_and_restored_with_the_moves_before_it(page):
    sgf = "(;SZ[5]KM[0.5];B[cc]C[one];W[bb](;B[dd])(;AW[aa]AE[cc];B[bd]))"
    page.do("load", sgf=sgf)
    game = page.do("show", index=5)
    assert (game["moves"], game["at"], game["setup"]["white"]) == ([["black", "B2"]], 1, ["B4", "A5"])
    fields = {name: game[name] for name in ("size", "komi", "setup", "moves")}
    again = page.do("new", **fields, to_play=game["first"], sgf=sgf, node=5, black="human", white="human")
    assert (again["moves"], parents(page)) == (game["moves"], [-1, 0, 1, 2, 2, 4])
    game = page.do("show", index=1)
    assert (game["moves"][0], game["at"], game["comment"]) == (["black", "C3"], 1, "one")
    assert page.refused("show", index=6) == "index = 6: expected less than 6, the number of nodes"


def test_marks_are_replaced(page):
    game = page.do("load", sgf="(;SZ[5]TR[aa]LB[bb:x];B[cc])")
    assert not any(game["marks"].values())
    marks = page.do("goto", at=0)["marks"]
    assert (marks["TR"], marks["LB"]) == (["aa"], ["bb:x"])
    marks = page.do("marks", marks={"TR": [], "AR": ["aa:ee"]})["marks"]
    assert (marks["TR"], marks["AR"], marks["LB"]) == ([], ["aa:ee"], ["bb:x"])
    assert "String should match pattern" in page.refused("marks", marks={"TR": ["a"]})


def test_variations_are_played_named_and_removed(page):
    page.do("new", size=5, black="human", white="human")
    for move in ("C3", "B4", "D2"):
        page.do("play", move=move)
    page.do("goto", at=1)
    game = page.do("play", move="D4")
    assert game["moves"] == [["black", "C3"], ["white", "D4"]]
    page.do("goto", at=1)
    game = page.do("name", index=1, name="kick")
    assert [(v["move"][1], v["name"]) for v in game["variations"]] == [("B4", ""), ("D4", "kick")]
    page.do("comment", text="a ] and a \\")
    assert page.news[-1]["type"] == "ok"
    assert page.do("pause")["comment"] == "a ] and a \\"
    assert "N[kick]" in page.ask("save")["sgf"]
    assert page.refused("branch", index=2) == "index = 2: expected less than 2, the number of moves that follow"
    game = page.do("remove", index=1)
    assert (parents(page), game["moves"]) == ([-1, 0, 1, 2], [["black", "C3"], ["white", "B4"], ["black", "D2"]])


def test_moves_taken_back_are_forgotten_and_replayed_ones_are_found(page):
    page.do("new", size=5, black="human", white="human")
    for move in ("C3", "B4", "D2"):
        page.do("play", move=move)
    assert page.do("undo", moves=1)["variations"] == []
    page.do("goto", at=1)
    page.do("play", move="B4")  # the same again
    assert parents(page) == [-1, 0, 1]
    assert page.ask("save")["sgf"].count("W[bb]") == 1


def test_undo_of_an_earlier_position_keeps_what_follows_as_a_variation(page):
    page.do("new", size=5, black="human", white="human")
    for move in ("C3", "B4", "D2", "D4"):
        page.do("play", move=move)
    page.do("goto", at=2)
    game = page.do("undo", moves=1)
    assert (game["moves"], game["at"]) == ([["black", "C3"]], 1)
    assert [(v["move"][1], v["moves"]) for v in game["variations"]] == [("B4", 3)]
    assert page.do("undo", moves=1)["variations"] == [
        {"move": ["black", "C3"], "name": "", "moves": 4, "is_current": False}
    ]


def test_a_game_of_our_own_stays_one_after_it_was_saved(page):
    page.do("new", size=5, black="human", white="human")
    game = page.do("play", move="C3")
    assert (game["is_own"], game["info"]) == (True, {})
    saved = page.ask("save")["sgf"]
    again = page.do("new", size=5, moves=game["moves"], sgf=saved, black="human", white="random", is_own=True)
    assert (again["is_own"], again["info"]) == (True, {})
    assert "PW[random]" in page.ask("save")["sgf"]


def test_the_record_survives_a_new_connection(page):
    page.do("load", sgf=RICH)
    page.do("goto", at=1)
    page.do("branch", index=1)
    record = next(m for m in reversed(page.news) if m["type"] == "record")["sgf"]
    moves = [["black", "C3"], ["white", "D2"]]
    game = page.do("new", size=5, komi=0.5, moves=moves, sgf=record, black="human", white="human")
    assert (game["moves"], parents(page), game["info"]["PB"]) == (moves, [-1, 0, 1, 2, 1, 4], "Ann")
    assert [v["move"][1] for v in game["variations"]] == ["B4"]


def test_the_games_of_a_collection_and_what_a_person_wrote_stay(page, monkeypatch):
    stand_in(monkeypatch, judge=Judge)
    monkeypatch.setattr(Judge, "values", (0.5, 0.2, 0.32, 0.1))
    page.do(
        "load", sgf="(;SZ[5]PB[One];B[cc]TE[1]SBKV[3]C[rlgo: mine];W[bb]BM[2]HO[1])(;SZ[5]PB[Two];B[dd]XY[z])", game=0
    )
    page.ask("review", player="judge")
    reviewed(page)
    sgf = page.ask("save")["sgf"].replace("\n", "")
    for text in ("PB[Two]SZ[5];B[dd]XY[z])", "TE[1]", "SBKV[3]", "C[rlgo: minerlgo: Black 20.0%", "BM[2]", "HO[1]"):
        assert text in sgf
    assert sgf.count("BM[") == 1
    assert "DO[" not in sgf


def test_what_cannot_be_kept_is_told_when_it_is_loaded(page):
    page.do("load", sgf="(;SZ[5]LZ2[x];B[cc]C[hello])")
    told = page.until("error")["message"]
    assert told == "only the moves will be saved, since the file has what cannot be read strictly: 2[x];B[cc]C[hello])"
    page.do("load", sgf="(;SZ[5];B[cc];AW[aa];W[bb])")
    assert "edited after move 1" in page.until("error")["message"]


class Judge(Player):
    """Thinks that Black wins in 0.5, 0.6, 0.3 ... of the games by B2, and `losses` less by other moves."""

    name, sizes = "judge", None
    values, losses = (0.5, 0.6, 0.3, 0.35), (0.0, 0.0, 0.0, 0.0)

    def genmove(self, game: Game) -> int:
        return from_vertex("B2", game.size)

    def candidates(self, game: Game) -> list[Candidate]:
        n, p = len(game.moves), from_vertex("B2", game.size)
        loss = self.losses[n] * (1 if game.to_play == BLACK else -1)
        rest = [Candidate(q, self.values[n] - loss, 10, [q]) for q in game.legal_moves() if q != p]
        return [Candidate(p, self.values[n], 10, [p, from_vertex("A1", game.size)]), *rest]


def reviewed(page: Page) -> dict:
    """The last message of a review that runs."""
    return page.until("review", lambda m: not m["is_running"])


def test_a_review_tells_what_each_move_lost(page, monkeypatch):
    stand_in(monkeypatch, judge=Judge)
    page.do("new", size=5, komi=0.5, black="human", white="human")
    for move in ("C3", "D4", "E5"):
        page.do("play", move=move)
    page.ask("review", player="judge")
    found = reviewed(page)
    assert (found["values"], found["done"], found["of"], found["player"]) == ([0.5, 0.6, 0.3, 0.35], 4, 4, "judge")
    assert found["lines"][1] == ["B2", "A1"]
    assert [(p["color"], p["phase"], p["moves"], round(p["mean"], 3), p["turns"]) for p in found["phases"]] == [
        ("black", "opening", 2, 0.0, 0),
        ("white", "opening", 1, 0.0, 0),
    ]
    assert found["losses"] == [0.0, 0.0, 0.0, None]  # what changes from move to move is no loss
    # Black now loses 30 % and 22 % by its moves, and White 12 %.
    monkeypatch.setattr(Judge, "values", (0.5, 0.2, 0.32, 0.1))
    monkeypatch.setattr(Judge, "losses", (0.3, 0.12, 0.22, 0.0))
    page.ask("review", player="judge")
    found = reviewed(page)
    assert [round(loss, 6) for loss in found["losses"][:3]] == [0.3, 0.12, 0.22]
    sgf = page.ask("save")["sgf"].replace("\n", "")
    assert "lost 30.0%; better B2 A1" in sgf
    assert sgf.count("BM[1]") == 2  # C3 and E5
    assert "DO[]" in sgf  # D4
    assert sgf.count("C[rlgo: Black") == 4  # the first review's lines are replaced
    game = page.do("goto", at=0)
    assert [(v["move"][1], v["name"]) for v in game["variations"]] == [("C3", ""), ("B2", "better")]
    again = page.do("load", sgf=page.ask("save")["sgf"])
    assert len(again["moves"]) == 3
    kept = page.until("review")
    assert kept["values"] == [0.5, 0.2, 0.32, 0.1]
    assert kept["lines"][0] == ["B2", "A1"]
    assert [round(loss, 6) for loss in kept["losses"][:3]] == [0.3, 0.12, 0.22]


def test_a_variation_is_evaluated_beside_the_main_line(page, monkeypatch):
    stand_in(monkeypatch, judge=Judge)
    page.do("new", size=5, komi=0.5, black="human", white="human")
    for move in ("C3", "D4", "E5"):
        page.do("play", move=move)
    page.ask("review", player="judge")
    reviewed(page)
    page.do("goto", at=1)
    page.do("play", move="A1")
    page.ask("review", player="judge", first=1)
    found = page.until(
        "review", lambda m: m["variation"] and not m["variation"]["is_running"] and m["variation"]["player"]
    )
    assert (found["values"], len(found["moves"])) == ([0.5, 0.6, 0.3, 0.35], 3)
    assert (found["variation"]["values"], found["variation"]["done"]) == ([0.5, 0.6, 0.3], 3)
    assert found["variation"]["moves"] == [["black", "C3"], ["white", "A1"]]


def test_a_review_that_fails_ends(page):
    page.do("new", size=7, black="human", white="human")
    page.do("play", move="C3")
    page.ask("review", player="greedy")  # there are no weights for 7x7
    page.until("error", lambda m: "board size 7" in m["message"])
    assert not reviewed(page)["is_running"]


def test_the_text_of_a_record_needs_no_encoding(page):
    game = page.do("load", sgf="(;SZ[5]CA[ISO-8859-1]PB[Andr\u00e9];B[cc])")
    assert (game["info"]["PB"], game["moves"]) == ("Andr\u00e9", [["black", "C3"]])


def test_a_game_taken_back_to_its_beginning_can_be_resigned_and_restored(page):
    page.do("load", sgf=RICH)
    page.do("goto", at=0)
    assert page.do("resign")["is_over"]
    game = page.do("new", size=5, komi=0.5, black="human", white="human", sgf=RICH)
    assert game["moves"] == []
    assert game["info"]["PB"] == "Ann"


def test_a_review_can_be_stopped_and_keeps_what_it_has(page, monkeypatch):
    made = stand_in(monkeypatch, endless=Endless)
    page.do("new", size=5, black="human", white="human")
    page.do("play", move="C3")
    page.ask("review", player="endless")
    page.until("state", lambda m: m["role"] == "review" and m["doing"] == "searching")
    assert page.ask("stop")["type"] == "ok"
    assert reviewed(page)["done"] == 0
    made[0].ended.wait()
    page.ask("review", player="endless")
    page.do("play", move="D4")  # the line is another one
    assert not next(m for m in reversed(page.news) if m["type"] == "review")["is_running"]
