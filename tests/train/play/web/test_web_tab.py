"""A tab and its game: whole games, undo, records, searches, bad messages."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from network_files import random_network
from stand_ins import Scripted, first_legal, resigner
from starlette.websockets import WebSocketDisconnect
from web_tools import HOME, SESSION, SMALL, Endless, Page, make_client, open_page, stand_in

from rlgo.features.planes import planes
from rlgo.go.board import PASS, WHITE
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.go.sgf import read_sgf
from rlgo.network.architecture import KINDS
from rlgo.play.player import Candidate
from train.play.web.options import Limits
from train.play.web.tab.searches import Searches


def engine(answers: str):
    """A player that plays these vertices, one after another, and then passes."""
    left = answers.split()
    return lambda: Scripted("scripted", lambda game: from_vertex(left.pop(0), game.size) if left else PASS)


def settled(page: Page) -> dict:
    """The game once it is a human's turn, or over."""
    return page.until("game", lambda g: g["is_over"] or g["seats"][g["to_play"]] == "human")


# ---------------------------------------------------------------------------------------------
# Play
# ---------------------------------------------------------------------------------------------


def test_the_greeting(page):
    hello, game = page.news[0], page.news[-1]
    assert (hello["player"], hello["size"], hello["komi"], hello["sizes"]) == ("random", 5, 0.5, [5, 19])
    assert hello["has_runs"] is False
    assert hello["limits"]["tabs"] == Limits().tabs
    assert (game["moves"], game["to_play"], game["seats"]) == ([], "black", {"black": "human", "white": "random"})
    assert len(game["legal"]) == 25


def test_a_game_against_an_engine(page, monkeypatch):
    stand_in(monkeypatch, bot=engine("C4 pass"))
    page.do("new", size=5, komi=0.5, white="bot")
    page.ask("play", move="C3")
    game = settled(page)
    assert game["moves"] == [["black", "C3"], ["white", "C4"]]
    assert game["stones"] == {"black": ["C3"], "white": ["C4"]}
    assert (game["last_move"], game["at"], game["is_over"]) == ("C4", 2, False)
    page.ask("play", move="pass")
    over = settled(page)
    assert over["is_over"]
    assert over["result"] == "?"  # nobody lives yet
    assert page.refused("genmove") == "the game is over"
    assert page.refused("resign") == "the game is over"


def test_captures_ko_and_illegal_moves(page):
    page.do("new", size=5, black="human", white="human", komi=6.5)
    for move in ["B3", "C3", "C4", "D4", "C2", "D2", "E1", "E3", "D3"]:
        game = page.do("play", move=move)
    assert game["captures"] == {"black": 1, "white": 0}
    assert game["ko"] == "C3"
    assert "C3" not in game["legal"]
    before = page.news[-1]
    assert page.refused("play", move="C3") == "illegal move: ko"
    assert page.refused("play", move="D3") == "illegal move: occupied"
    assert page.refused("play", move="T9").startswith("vertex 'T9': not on the 5x5 board")
    assert page.refused("play", move="I5").startswith("vertex 'I5': expected")
    assert before["type"] == "ok"
    assert page.do("pause")["moves"] == game["moves"]


def test_an_engine_resigns(page, monkeypatch):
    stand_in(monkeypatch, bot=resigner)
    page.do("new", size=5, white="bot")
    page.ask("play", move="C3")
    game = settled(page)
    assert (game["result"], game["resigned"]) == ("B+R", "white")
    game = page.do("undo")  # takes the resignation back, and the engine waits
    assert (game["is_over"], game["moves"], game["paused"]) == (False, [["black", "C3"]], True)


class Hopeless(Scripted):
    """Plays the first legal move, and thinks that it has lost."""

    def candidates(self, game):
        return [Candidate(self.choose(game), float(game.to_play == WHITE), 1, [])]


def test_an_engine_resigns_a_lost_game_against_a_human(page, monkeypatch):
    stand_in(monkeypatch, bot=lambda: Hopeless("bot", first_legal().choose))
    page.do("new", size=5, white="bot")
    for move in ("E5", "E4", "E3"):
        page.ask("play", move=move)
        assert not settled(page)["is_over"]
    page.ask("play", move="E2")
    assert settled(page)["result"] == "B+R"
    page.ask("new", size=5, black="bot", white="bot")  # not against each other
    page.until("game", lambda g: len(g["moves"]) > 10 and not g["is_over"])


def test_a_game_in_which_an_engine_moved_for_a_human_counts_for_no_level(page, monkeypatch):
    stand_in(monkeypatch, bot=first_legal)
    assert not page.do("new", size=5, white="bot")["is_helped"]
    page.ask("play", move="C3")
    assert not settled(page)["is_helped"]
    page.ask("genmove")
    assert page.until("game", lambda g: len(g["moves"]) == 4)["is_helped"]
    assert page.do("undo")["is_helped"]
    assert not page.do("new", size=5, white="bot")["is_helped"]


def test_the_strongest_player_analyses(page, monkeypatch):
    """A level plays as it is, and says what it thinks where its searches are watched."""
    started = []
    monkeypatch.setattr(Searches, "start", lambda _, key, spec, *__, **___: started.append((key, spec)))
    page.do("new", size=9, white="rlgo,strength=2", black="rlgo,strength=1", paused=True)
    for role in ("analysis", "a"):
        page.ask("search", role=role, player="rlgo,strength=2", seconds=5)
    page.ask("review", player="rlgo,strength=2", seconds=1)
    page.ask("genmove")
    page.do("pause")
    assert started == [
        ("analysis", "rlgo,seconds=5"),
        ("a", "rlgo,strength=2"),
        ("review", "rlgo,seconds=1"),
        ("black", "rlgo,strength=1"),
    ]


def test_a_human_resigns(page):
    assert page.do("resign")["result"] == "W+R"
    assert page.do("new", size=5)["is_over"] is False


def test_undo(page, monkeypatch):
    stand_in(monkeypatch, bot=engine("C4 D4 D5"))
    page.do("new", size=5, white="bot")
    assert page.refused("undo") == "cannot undo"
    for move in ("C3", "D3"):
        page.ask("play", move=move)
        settled(page)
    game = page.do("undo")
    assert game["moves"] == [["black", "C3"], ["white", "C4"]]  # the human is to play
    assert not game["paused"]
    game = page.do("undo", moves=1)
    assert (game["moves"], game["paused"]) == ([["black", "C3"]], True)
    assert page.refused("undo", moves=2) == "cannot undo"
    page.ask("resume")
    assert settled(page)["moves"][1] == ["white", "D5"]


def test_engine_against_engine_and_pause(page, monkeypatch):
    stand_in(monkeypatch, bot=first_legal)
    page.ask("new", size=5, komi=0.5, black="bot", white="bot")
    page.until("game", lambda g: len(g["moves"]) == 3)
    game = page.do("pause")
    n = len(game["moves"])
    assert game["paused"]
    assert page.do("goto", at=1)["moves"] == game["moves"]  # nobody has moved meanwhile
    page.do("goto", at=n)
    page.ask("resume")
    page.until("game", lambda g: len(g["moves"]) == n + 2)
    assert page.do("undo")["paused"]


def test_engines_do_not_play_for_ever(monkeypatch):
    monkeypatch.setattr("train.play.web.tab.tab._PACE_SECONDS", 0.0)

    def any_legal(game: Game) -> int:  # never passes
        return next((p for p in game.legal_moves() if p != PASS), PASS)

    stand_in(monkeypatch, bot=lambda: Scripted("bot", any_legal))
    with make_client(SMALL._replace(limits=Limits(moves_factor=2))) as client, open_page(client) as page:
        page.ask("new", size=5, komi=0.5, black="bot", white="bot")
        page.until("game", lambda g: len(g["moves"]) == 50)
        game = page.do("pause")
        assert len(game["moves"]) == 50
        assert not game["is_over"]


def test_the_engine_may_play_for_a_human(page):
    page.do("new", size=5, black="human", white="human")
    page.ask("genmove")
    game = page.until("game", lambda g: g["moves"])
    assert game["moves"][0][0] == "black"
    assert game["to_play"] == "white"


def test_going_back_and_playing_on_from_there(page):
    page.do("new", size=5, black="human", white="human")
    for move in ("C3", "C4", "D4"):
        page.do("play", move=move)
    game = page.do("goto", at=1)
    assert (game["at"], len(game["moves"]), game["to_play"]) == (1, 3, "white")
    assert game["stones"] == {"black": ["C3"], "white": []}
    assert page.refused("goto", at=4) == "at = 4: expected at most 3, the number of moves"
    game = page.do("play", move="B2")
    assert game["moves"] == [["black", "C3"], ["white", "B2"]]


def test_an_engine_asked_for_a_move_in_the_past(page, monkeypatch):
    """Its move replaces what came later; if it fails, the game stays as it was."""
    stand_in(monkeypatch, bot=engine("B2"), broken=lambda: Scripted("broken", lambda _: 0x7FFF))
    page.do("new", size=5, black="human", white="human")
    for move in ("C3", "C4", "D4"):
        page.do("play", move=move)
    page.do("goto", at=1)
    page.do("seats", white="broken")
    page.ask("genmove")
    page.until("error")
    assert len(page.do("goto", at=2)["moves"]) == 3
    page.do("seats", white="bot")
    page.do("goto", at=1)
    page.ask("genmove")
    game = page.until("game", lambda g: g["at"] == 2)
    assert game["moves"] == [["black", "C3"], ["white", "B2"]]


def test_the_next_move_of_the_line_goes_along_it_unless_an_engine_answers(page, monkeypatch):
    stand_in(monkeypatch, bot=engine("B2"))
    page.do("new", size=5, black="human", white="human")
    for move in ("C3", "C4", "D4"):
        page.do("play", move=move)
    page.do("goto", at=0)
    game = page.do("play", move="C3")
    assert (game["at"], len(game["moves"])) == (1, 3)
    page.do("seats", white="bot")
    page.do("goto", at=0)
    page.do("play", move="C3")
    game = page.until("game", lambda g: g["at"] == 2)
    assert game["moves"] == [["black", "C3"], ["white", "B2"]]


def test_new_games(page, monkeypatch):
    stand_in(monkeypatch, bot=engine("E5"))
    game = page.do("new", size=9, handicap=2, black="human", white="human")
    assert (len(game["setup"]["black"]), game["to_play"], game["first"]) == (2, "white", "white")
    game = page.do(
        "new", size=5, setup={"black": ["A1", "A2"], "white": ["B1"]}, to_play="white",
        moves=[["white", "B2"], ["black", "pass"]], black="human", white="bot", paused=True,
    )  # fmt: skip
    assert game["at"] == 2
    assert game["stones"] == {"black": ["A1", "A2"], "white": ["B1", "B2"]}
    assert page.do("new", size=5, setup={"black": ["A1"]}, black="human", white="human")["to_play"] == "white"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": 4}, "new.size: Input should be greater than or equal to 5"),
        ({"size": "9"}, "new.size: Input should be a valid integer"),
        ({"komi": 1e9}, "new.komi: Input should be less than or equal to 1000"),
        ({"white": "nobody"}, "player 'nobody': expected one of random"),
        ({"white": "mc_rave,k=-1"}, "player mc_rave: k = -1: expected a positive number"),
        ({"time": "soon"}, "time 'soon': expected seconds"),
        ({"setup": {"black": ["A1"], "white": ["A1"]}}, "setup White A1: occupied"),
        ({"setup": {"black": ["Z1"]}}, "vertex 'Z1': expected"),
        ({"moves": [["black", "A1"], ["white", "A1"]]}, "move 2, A1: illegal: occupied"),
        ({"handicap": 5}, "handicap of 5 stones: expected at most 4 on 5x5"),
        ({"handicap": 2, "setup": {"black": ["A1"]}}, "handicap cannot be combined with setup"),
        ({"colour": "black"}, "new.colour: Extra inputs are not permitted"),
    ],
)
def test_bad_new_games_change_nothing(page, fields, message):
    game = page.do("play", move="C3")
    assert page.refused("new", **{"size": 5, **fields}).startswith(message)
    assert page.do("pause")["moves"][:1] == game["moves"][:1]


def test_clocks_of_engines(page, monkeypatch):
    def choose(game: Game) -> int:
        time.sleep(0.3)
        return from_vertex("C4", game.size)

    stand_in(monkeypatch, bot=lambda: Scripted("bot", choose))
    game = page.do("new", size=5, white="bot", time="60+30/5")
    assert game["clocks"] == {
        "black": None,
        "white": {"seconds": 60.0, "stones": 0, "period": 30.0, "periods": 0, "period_stones": 5, "runs": False},
    }
    page.ask("play", move="C3")
    left = settled(page)["clocks"]["white"]["seconds"]
    assert 0 < left <= 59.7
    again = page.do("new", size=5, white="bot", time="90")  # the same player, with a clock of this game
    assert (again["clocks"]["white"]["seconds"], again["clocks"]["white"]["stones"]) == (90.0, 0)
    assert page.do("new", size=5, white="bot")["clocks"]["white"] is None


def test_an_opinion_has_no_clock(page, monkeypatch):
    limits = []

    def choose(game):
        limits.append(made[-1].limit)
        return from_vertex("C4", game.size) if len(game.moves) == 1 else PASS

    made = stand_in(monkeypatch, bot=lambda: Scripted("scripted", choose))
    page.do("new", size=5, white="bot", time="10")
    page.ask("play", move="C3")
    settled(page)
    page.ask("search", role="a", player="bot")
    page.until("search", lambda m: m["role"] == "a" and m["final"])
    assert limits[0] is not None
    assert limits[1:] == [None]


def test_nobody_plays_on_after_a_resignation(page):
    page.do("new", size=5, black="human", white="human")
    page.do("resign")
    assert page.refused("play", move="C3") == "the game is over"


def test_seats(page, monkeypatch):
    stand_in(monkeypatch, bot=engine("C4"))
    page.do("new", size=5, black="human", white="human")
    page.do("play", move="C3")
    page.ask("seats", white="bot")
    assert settled(page)["moves"][1] == ["white", "C4"]
    assert page.refused("seats", black="nobody").startswith("player 'nobody'")


# ---------------------------------------------------------------------------------------------
# The end, and records
# ---------------------------------------------------------------------------------------------


def test_score(page):
    page.do("new", size=5, komi=0.5, black="human", white="human", moves=[["black", "C3"], ["white", "pass"]])
    answer = page.ask("score")
    assert (answer["result"], answer["score"], answer["dead"], answer["seki"]) == ("?", 24.5, [], [])
    assert "D4" in answer["unfinished"]


def test_a_person_says_which_chains_are_dead(page):
    moves = ("B1", "pass", "B2", "pass", "B3", "D2", "B4", "pass", "B5", "pass", "D3", "pass")
    played = [[color, move] for color, move in zip(["black", "white"] * 6, moves, strict=True)]
    page.do("new", size=5, komi=0.5, black="human", white="human", moves=played)
    assert page.ask("score")["dead"] == [["D2"]]
    answer = page.ask("score", dead=[])
    # Black has six stones and five points, White one stone; the points between them are nobody's.
    assert (answer["result"], answer["dead"], answer["area"]) == ("B+9.5", [], {"black": 11, "white": 1})
    answer = page.ask("score", dead=["D2", "B3"])
    assert (answer["result"], sorted(answer["dead"])) == ("B+24.5", [["B1", "B2", "B3", "B4", "B5"], ["D2"]])
    assert answer["ownership"] == [[1] * 5] * 5
    assert "expected" in page.refused("score", dead=["Z9"])
    assert page.refused("score", dead=["A1"]) == "A1: expected a stone"


def test_a_record_states_the_result_without_dead_stones(page):
    page.do("new", size=5, komi=0.5, black="human", white="human")
    for move in ("B1", "pass", "B2", "pass", "B3", "D2", "B4", "pass", "B5", "pass", "D3", "pass"):
        assert "RE[" not in page.ask("save")["sgf"]
        page.do("play", move=move)
    page.do("play", move="pass")
    assert page.ask("score")["result"] == "B+24.5"
    assert "RE[B+24.5]" in page.ask("save")["sgf"]


def test_records_go_there_and_back(page):
    game = page.do("new", size=5, komi=1.5, black="human", white="human", setup={"black": ["A1"]}, to_play="black")
    for move in ("C3", "C4", "pass"):
        game = page.do("play", move=move)
    record = page.ask("save")["sgf"]
    assert [p for _, p in read_sgf(record.encode()).moves][-1] == PASS
    page.do("new", size=9)
    loaded = page.do("load", sgf=record)
    for name in ("size", "komi", "setup", "moves", "first", "stones", "at"):
        assert loaded[name] == game[name]
    assert loaded["paused"]
    page.do("new", size=9, black="greedy,weights=9x9-1M", white="random", paused=True)
    assert page.do("load", sgf=record)["seats"] == {"black": "human", "white": "random"}  # those weights are for 9x9
    assert page.refused("load", sgf="(;GM[2])") == "GM[2]: expected 1, the game of Go"
    assert page.refused("load", sgf=record, file="x.sgf") == "load: expected either sgf or file"
    assert "expected a server with a folder" in page.refused("save", file="x.sgf")


def test_records_in_folders(tmp_path):
    first, second = tmp_path / "mine", tmp_path / "others"
    first.mkdir()
    (second / "old").mkdir(parents=True)
    (second / "old" / "game.sgf").write_text("(;SZ[5];B[cc])")
    (tmp_path / "secret.sgf").write_text("(;SZ[5];B[aa])")
    with make_client(SMALL._replace(sgf=(first, second))) as client, open_page(client) as page:
        assert page.news[0]["has_sgf"]
        assert page.do("load", file="old/game.sgf")["moves"] == [["black", "C3"]]
        page.do("play", move="D4")
        assert page.ask("save", file="new.sgf")["file"] == "new.sgf"
        assert b"B[cc];W[db]" in (first / "new.sgf").read_bytes()
        assert "exists already" in page.refused("save", file="new.sgf")
        page.do("undo", moves=1)
        page.ask("save", file="newer.sgf")
        assert b"W[db]" not in (first / "newer.sgf").read_bytes()
        assert client.get("/api/sgf").json() == {"files": ["new.sgf", "newer.sgf", "old/game.sgf"]}
        for name in ("../secret.sgf", str(tmp_path / "secret.sgf"), "old/../../secret.sgf", "", "\0", "old", "x.txt"):
            assert page.ask("load", file=name)["type"] == "error"
            assert page.ask("save", file=name)["type"] == "error"
    assert sorted(path.name for path in tmp_path.rglob("*.sgf")) == ["game.sgf", "new.sgf", "newer.sgf", "secret.sgf"]
    assert "B[aa]" in (tmp_path / "secret.sgf").read_text()


def test_ownership_follows_the_game_and_the_search(page, monkeypatch):
    monkeypatch.setattr("train.play.web.searching.watch.SO_FAR_SECONDS", 0.0)
    stand_in(monkeypatch, endless=Endless)
    page.do("new", size=5, komi=0.5, black="human", white="human")
    page.ask("ownership")
    first = next(m for m in reversed(page.news) if m["type"] == "ownership")
    assert first["at"] == 0
    assert (first["source"], first["score"]) == ("playouts", None)  # theirs would contradict a search
    page.do("play", move="C3")
    assert next(m for m in reversed(page.news) if m["type"] == "ownership")["at"] == 1
    page.ask("search", player="endless")
    page.until("ownership")
    page.ask("stop")
    page.until("search", lambda m: m["final"])
    page.ask("ownership", on=False)
    n = len([m for m in page.news if m["type"] == "ownership"])
    page.do("play", move="C4")
    assert len([m for m in page.news if m["type"] == "ownership"]) == n


@pytest.mark.parametrize("player", ["network", "mc_rave,sims=20"])
def test_a_network_says_who_owns_the_points(player, tmp_path):
    network, game = random_network(), Game(5, 0.5)
    network.save(tmp_path / "n.npz")
    game.play("C3")
    spec = f"{player},network={tmp_path / 'n.npz'}"
    with make_client(SMALL._replace(player=spec)) as client, open_page(client) as page:
        page.do("new", size=5, komi=0.5, black="human", white="human")
        page.do("play", move="C3")
        page.ask("ownership")
        assert next(m for m in reversed(page.news) if m["type"] == "ownership")["source"] == "playouts"
        assert page.ask("search", player=spec)["type"] == "ok"
        found = page.until("ownership", lambda m: m["source"] == "network")
    out = network.outputs(planes(game, KINDS))  # White is to play
    np.testing.assert_allclose(found["ownership"], -out.ownership[0], atol=0.006)
    if player == "network":
        assert found["score"] == pytest.approx(-out.score[0], abs=0.06)
    else:
        assert isinstance(found["score"], float)  # the mean over the leaves of the search
    assert found["at"] == 1


def test_a_human_loses_on_time(page):
    game = page.do("new", size=5, black="human", white="human", time="0.001+1x0.01", timed="both")
    assert game["clocks"]["black"]["periods"] == 1
    over = page.until("game", lambda g: g["is_over"])
    assert over["result"] == "W+T"
    assert "RE[W+T]" in page.ask("save")["sgf"]
    game = page.do("undo")  # and goes on without a clock
    assert not game["is_over"]
    assert page.do("play", move="C3")["result"] is None
    page.do("undo", moves=1)
    assert page.do("resign")["result"] == "W+R"


# ---------------------------------------------------------------------------------------------
# Searches
# ---------------------------------------------------------------------------------------------


def test_watching_a_search_and_stopping_it(page, monkeypatch):
    made = stand_in(monkeypatch, endless=Endless)
    page.do("new", size=5, black="human", white="human")
    assert page.ask("search", player="endless") == {"type": "ok", "id": page.ids}
    for _ in range(3):
        seen = page.until("search")
        assert not seen["final"]
    assert (seen["role"], seen["kind"], seen["at"], seen["to_play"]) == ("analysis", "values", 0, "black")
    assert seen["moves"] == ["A1", "B1", "C1"]
    assert seen["columns"]["value"] == [0.5, 0.5, 0.5]
    page.ask("stop", role="analysis")
    last = page.until("search", lambda m: m["final"])
    assert last["chosen"] == "A1"
    assert page.until("state")["doing"] == "idle"
    assert made[-1].ended.is_set()
    assert page.do("pause")["moves"] == []  # nothing was played


def test_frames_of_the_last_search(page, monkeypatch):
    stand_in(monkeypatch, endless=Endless)
    page.do("new", size=5, black="human", white="human")
    assert page.refused("frames") == "role game: nothing has been searched"
    page.ask("search", player="endless")
    for _ in range(3):
        page.until("search")
    page.ask("stop")
    page.until("search", lambda m: m["final"])
    curve = page.ask("frames", role="analysis")
    assert [point["count"] for point in curve["frames"]] == sorted(point["count"] for point in curve["frames"])
    assert curve["frames"][0]["best"][0] == ["A1", 0.5]
    frame = page.ask("frame", role="analysis", index=1)
    assert (frame["type"], frame["count"]) == ("search", curve["frames"][1]["count"])
    n = len(curve["frames"])
    assert (
        page.refused("frame", role="analysis", index=n) == f"index = {n}: expected less than {n}, the number of frames"
    )


def test_two_searches_side_by_side(page, monkeypatch):
    stand_in(monkeypatch, endless=Endless)
    for role in ("a", "b"):
        page.ask("search", role=role, player="endless")
    page.until("search", lambda m: m["role"] == "a")
    page.until("search", lambda m: m["role"] == "b")
    page.ask("search", role="a", player="random")  # replaces one, and the other goes on
    page.until("search", lambda m: m["role"] == "a" and m["final"] and m["player"] == "random")
    page.until("search", lambda m: m["role"] == "b" and not m["final"])
    page.ask("stop")
    page.until("search", lambda m: m["role"] == "b" and m["final"])


def test_a_change_of_the_game_ends_the_search_for_its_next_move(page, monkeypatch):
    made = stand_in(monkeypatch, endless=Endless)
    page.ask("new", size=5, black="endless", white="human")
    page.until("state", lambda m: m["doing"] == "searching")
    game = page.do("goto", at=0)
    page.do("pause")
    made[-1].ended.wait()
    game = page.do("new", size=5, black="human", white="human")
    assert game["moves"] == []
    assert not any(m["type"] == "search" and m["final"] for m in page.news)


def test_stop_makes_an_engine_play_the_best_so_far(page, monkeypatch):
    stand_in(monkeypatch, endless=Endless)
    page.ask("new", size=5, black="endless", white="human")
    page.until("state", lambda m: m["doing"] == "searching")
    page.ask("stop", role="game")
    assert page.until("game", lambda g: g["moves"])["moves"] == [["black", "A1"]]


def test_a_search_ends_at_its_limit(monkeypatch):
    stand_in(monkeypatch, endless=Endless)
    with make_client(SMALL._replace(limits=Limits(seconds=0.05))) as client, open_page(client) as page:
        page.ask("search", player="endless", seconds=100)
        page.until("search", lambda m: m["final"])


def test_a_closed_tab_stops_its_searches(monkeypatch):
    made = stand_in(monkeypatch, endless=Endless)
    before = threading.active_count()
    with make_client() as client:
        with open_page(client) as page:
            page.ask("search", player="endless")
            page.until("search")
        made[-1].ended.wait()
        for thread in threading.enumerate():
            if thread.name.startswith(("search-", "tab")):
                thread.join()
    assert threading.active_count() <= before + 1


def test_a_failing_player_is_one_message(page, monkeypatch, capsys):
    def crash(_):
        raise ZeroDivisionError("two\nlines")

    stand_in(monkeypatch, broken=lambda: Scripted("broken", crash))
    page.do("new", size=5, black="human", white="human")
    page.ask("search", player="broken")
    error = page.until("error")
    assert (error["id"], error["role"]) == (None, "analysis")
    assert error["message"].startswith("internal error: ZeroDivisionError")
    assert page.do("play", move="C3")["moves"] == [["black", "C3"]]
    assert "Traceback" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# Bad messages, many tabs
# ---------------------------------------------------------------------------------------------


def test_a_malformed_request_is_answered_by_its_number(page):
    assert page.refused("goto", at="far").startswith("goto.at: Input should be a valid integer")
    assert page.refused("bogus").startswith("Input tag 'bogus' found using 'type' does not match")


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "5", '"play"', "{}", '{"type": "bogus"}', '{"type": "play"}', '{"type": "play", "move": 5}',
     '{"type": "goto", "at": -1}', '{"type": "goto", "at": 1e99}', '{"type": ["play"]}', "[" * 10_000, "\ud7ff\u0000",
     '{"type": "play", "move": "C3", "id": "one"}', '{"type": "save", "file": "' + "x" * 600 + '"}'],
)  # fmt: skip
def test_a_malformed_message_is_one_error_and_the_tab_goes_on(page, text):
    page.socket.send_text(text)
    error = page.until("error")
    assert error["id"] is None
    assert "\n" not in error["message"]
    assert len(error["message"]) < 400
    assert page.do("pause")["paused"]


def test_bytes_and_long_messages():
    with make_client(SMALL._replace(limits=Limits(message_bytes=1_000))) as client, open_page(client) as page:
        page.socket.send_bytes(b"{}")
        assert page.until("error")["message"] == "expected text"
        page.socket.send_text('{"type": "play", "id": 7, "move": "C3"}' + " " * 1_000)
        error = page.until("error")
        assert (error["id"], error["message"]) == (7, "expected at most 1,000 bytes")
        assert page.do("pause")["paused"]


def test_tabs_have_games_of_their_own_and_there_are_not_too_many():
    with make_client(SMALL._replace(limits=Limits(tabs=2))) as client:
        with open_page(client) as one, open_page(client) as two:
            one.do("new", size=5, black="human", white="human")
            one.do("play", move="C3")
            assert two.do("pause")["moves"] == []
            with client.websocket_connect(SESSION, headers={"origin": HOME}) as third:
                with pytest.raises(WebSocketDisconnect) as refused:
                    third.receive_text()
                assert refused.value.code == 1013
                assert refused.value.reason == "all 2 tabs are in use"
        with open_page(client) as again:
            assert again.do("pause")["moves"] == []


def test_players_are_limited_too(monkeypatch):
    stand_in(monkeypatch, endless=Endless)
    with make_client(SMALL._replace(limits=Limits(players=2))) as client, open_page(client) as page:
        page.ask("seats", white="random")
        page.ask("play", move="C3")
        page.until("game", lambda m: len(m["moves"]) == 2)  # its player is in use from its move on
        page.ask("search", role="a", player="endless")
        page.until("search")
        page.ask("search", role="b", player="endless")
        assert page.until("error")["message"] == "the server has all of its 2 players in use: close another tab"
