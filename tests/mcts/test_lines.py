"""Lines of all candidates, as clients of GTP and of KataGo's analysis protocol get them from a real search."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tree_tools import SIZE, PatientSearch, composed, game_after

from mcts import Mogo
from mcts.player import TreeSearch
from mcts.settings import ALGORITHMS
from mcts.tree import edges_of
from rlgo.go.coords import from_vertex
from rlgo.go.game import Game
from rlgo.play.gtp import GtpEngine
from rlgo.play.gtp.analyze import legal_line
from rlgo.play.gtp.queries import AnalysisEngine
from rlgo.play.player import Candidate

SETTINGS = {
    "mc_rave": ALGORITHMS["mc_rave"],
    "uct": ALGORITHMS["uct"],
    "prior": composed("mc_rave", prior=Mogo(), prior_n=5),
}
QUERY = {
    "id": "a", "boardXSize": SIZE, "komi": 0.5, "moves": [["B", "C3"], ["W", "D3"]], "maxVisits": 400,
    "includePVVisits": True, "includeMovesOwnership": True,
}  # fmt: skip


def asked(player: TreeSearch, **changed: Any) -> dict:
    said: list[str] = []
    AnalysisEngine(lambda _: player, said.append).run([json.dumps({**QUERY, **changed})])
    (answer,) = map(json.loads, said)
    return answer


def line_by_hand(player: TreeSearch, move: int) -> list[tuple[int, int]]:
    """The moves from the root's `move` on with most visits, and their visits, without those of the prior."""
    tree, node, line = player.trees[0], 0, list[tuple[int, int]]()
    c = player.composition.prior_n if player.settings.prior else 0
    while node >= 0:
        edges = edges_of(tree, node)
        visits = dict(zip(edges.move.tolist(), (edges.n - c * (tree.stage[node] == 1)).tolist(), strict=True))
        best = max(visits, key=lambda p: visits[p]) if line else move
        if visits[best] <= 0:
            break
        line.append((best, visits[best]))
        node = int(edges.child[edges.move == best][0])
    return line


@pytest.mark.parametrize("name", SETTINGS)
def test_each_candidate_has_its_own_line(name: str) -> None:
    player, game = PatientSearch(SIZE, SETTINGS[name], 600, seed=1), game_after("C3", "D3")
    player.search(game)
    found = player.candidates(game)
    assert len(found) > 3
    assert sum(len(c.line) > 1 for c in found) > 2
    for c in found:
        assert list(zip(c.line, c.line_visits, strict=True)) == line_by_hand(player, c.move)[: len(c.line)]
        assert (c.line[0], c.line_visits[0]) == (c.move, c.visits)
        assert (sorted(c.line_visits, reverse=True), min(c.line_visits) > 0) == (list(c.line_visits), True)


def check_line(vertices: list[str], move: str, moves: list[str]) -> None:
    """A line is legal, and begins with its candidate."""
    game = game_after(*moves)
    assert vertices[0] == move
    for vertex in vertices:
        assert game.is_legal(from_vertex(vertex, SIZE))
        game.play(vertex)


def test_queries() -> None:
    answer = asked(TreeSearch(SIZE, ALGORITHMS["mc_rave"], None, 1.0, seed=1))
    infos = answer["moveInfos"]
    assert len(infos) > 5
    for info in infos:
        check_line(info["pv"], info["move"], ["C3", "D3"])
        assert len(info["pvVisits"]) == len(info["pv"])
        assert info["pvVisits"][0] == info["visits"]
        assert len(info.get("ownership", [0] * 25)) == 25
    assert sum(len(info["pv"]) > 1 for info in infos) > 3
    assert ["ownership" in info for info in infos[:7]] == [True] * 6 + [False]


@pytest.mark.parametrize("command", ["lz-analyze", "kata-analyze", "kata-search_analyze"])
def test_gtp(command: str) -> None:
    engine = GtpEngine(TreeSearch(SIZE, ALGORITHMS["mc_rave"], 400, seed=1), SIZE)
    for line in ("komi 0.5", "play b C3", "play w D3"):
        engine.handle(line)
    engine.has_input = lambda: engine.session.player.threads.simulations >= 400
    args = "" if command == "lz-analyze" else "pvVisits true movesOwnership true"
    report = str(engine.handle(f"{command} b 10000 avoid b B3,pass 1 maxmoves 8 {args}")).splitlines()[1]
    infos = report.split("info ")[1:]
    assert len(infos) == 8
    for number, info in enumerate(infos):
        words = info.split()
        check_line(words[words.index("pv") + 1 :][: _length(words)], words[1], ["C3", "D3"])
        assert words[1] not in ("B3", "pass")
        if args:
            pv, visits = words.index("pv"), words.index("pvVisits")
            assert words[visits + 1] == words[3]
            assert all(word.isdigit() for word in words[visits + 1 : visits + (visits - pv)])
            assert (len(words) - words.index("movesOwnership") == 26) if number < 6 else "movesOwnership" not in words
    assert engine.session.game.allowed is None


def _length(words: list[str]) -> int:
    rest = words[words.index("pv") + 1 :]
    return next((i for i, word in enumerate(rest) if word in ("pvVisits", "movesOwnership")), len(rest))


def test_all_visits_go_to_the_moves_that_are_allowed() -> None:
    player = TreeSearch(SIZE, ALGORITHMS["mc_rave"], None, 1.0, seed=1)
    only = {"allowMoves": [{"player": "B", "moves": ["A1", "B1"], "untilDepth": 1}]}
    infos = asked(player, **only)["moveInfos"]
    assert {info["move"] for info in infos} == {"A1", "B1"}
    assert len(edges_of(player.trees[0], 0)) == 2  # a pass is none
    assert sum(info["visits"] for info in infos) >= 400
    assert all(len(info["pv"]) > 1 for info in infos)  # replies are free
    others = asked(player)["moveInfos"]  # the next query is not restricted
    assert len(others) > 5
    avoided = [info["move"] for info in others[:3]]
    rest = asked(player, avoidMoves=[{"player": "B", "moves": avoided, "untilDepth": 1}])["moveInfos"]
    assert len(rest) > 3
    assert not {info["move"] for info in rest} & set(avoided)


def test_a_line_ends_before_superko_forbids_a_move() -> None:
    game = Game(SIZE, 0.5)
    for vertex in ("B3", "D2", "C2", "D4", "C4", "E3", "pass", "C3"):
        game.play(vertex)
    line = [from_vertex(vertex, SIZE) for vertex in ("D3", "pass", "pass", "C3", "A1")]  # takes a ko, and retakes it
    assert legal_line(Candidate(line[0], 0.5, 3, line), game) == line[:3]
