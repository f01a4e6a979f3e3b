"""KataGo's GTP commands."""

from __future__ import annotations

import json
import pickle

import pytest
from analysis_queries import QUESTION, SIZE, answers, game_of
from gtp_controller import Controller, Thinker

from rlgo.go.coords import point_of
from rlgo.go.game import Game
from rlgo.play.ownership import Ownership
from train import make_player


def engine(**options: bool) -> Controller:
    return Controller(Thinker(), **options)


def infos(line: str) -> list[dict[str, str]]:
    """The moves of a line of ``kata-analyze``: what stands before pv, and pv."""
    found = []
    for part in line.split("info ")[1:]:
        head, _, pv = part.partition(" pv ")
        words = head.split()
        found.append({**dict(zip(words[::2], words[1::2], strict=True)), "pv": pv.split(" ownership")[0].strip()})
    return found


# Names of KataGo's documentation and sources, with White's compensation for a handicap of N, and what is told
NAMES = [
    ("tromp-taylor", "0", ""), ("Tromp_Taylor", "0", ""), ("trompTaylor", "0", ""), ("cgos", "0", ""),
    ("chinese", "N", ""), ("chinese-ogs", "N", ""), ("chinesekgs", "N", ""), ("chinese_kgs", "N", ""),
    ("aga", "N-1", "SITUATIONAL"), ("bga", "N-1", "SITUATIONAL"), ("french", "N-1", "SITUATIONAL"),
    ("aga-button", "N-1", "hasButton"), ("agabutton", "N-1", "hasButton"), ("aga button", "N-1", "hasButton"),
    ("new-zealand", "0", "suicide"), ("new zealand", "0", "suicide"), ("NZ", "0", "suicide"),
    ("stone-scoring", "0", "tax NONE in place of ALL"), ("stonescoring", "0", "tax"), ("ancient-area", "0", "tax"),
    ("goe", "0", ""), ("ing", "0", ""),
    ('{"hasButton":false,"ko":"SIMPLE","scoring":"AREA","suicide":true,"whiteHandicapBonus":"N"}', "N", ""),
    ('{"ko": "SITUATIONAL", "suicide": true, "friendlyPassOk": true}', "0", "ko POSITIONAL in place of SITUATIONAL"),
    ('{"tax": "SEKI", "whiteHandicapBonus": "N-1"}', "N-1", "tax NONE in place of SEKI"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "bonus", "told"), NAMES)
def test_rules_that_score_by_area(rules: str, bonus: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    gtp = engine()
    capsys.readouterr()
    assert gtp.ok(f"kata-set-rules {rules}") == ""
    said = capsys.readouterr().err
    assert told in said
    assert bool(told) == ("played with" in said)
    found = json.loads(gtp.ok("kata-get-rules"))
    assert (found.pop("whiteHandicapBonus"), found["scoring"], found["ko"]) == (bonus, "AREA", "POSITIONAL")
    stated = json.loads(rules) if rules.startswith("{") else rules
    *warnings, answer = answers({**QUESTION, "rules": stated})
    assert [told in w["warning"] and (w["id"], w["field"]) for w in warnings] == [("a", "rules")] * bool(told)
    assert answer["turnNumber"] == 2


@pytest.mark.parametrize("rules", ["japanese", "korean", "ancient-territory", '{"scoring": "TERRITORY"}'])
def test_territory_is_refused_by_commands_and_told_by_queries(rules: str) -> None:
    gtp = engine()
    for command in ("kata-set-rules", "kgs-rules"):
        assert gtp.fail(f"{command} {rules}") == f"rules {rules}: expected others, since games are scored by area"
    assert json.loads(gtp.ok("kata-get-rules"))["whiteHandicapBonus"] == "0"
    warning, answer = answers({**QUESTION, "rules": json.loads(rules) if "{" in rules else rules})
    assert "scoring AREA in place of TERRITORY" in warning["warning"]
    assert answer["turnNumber"] == 2


def test_rules_that_are_none() -> None:
    gtp = engine()
    for bad in ("{x", "bogus", "[1]", ""):
        assert "expected JSON or one of tromp-taylor, cgos" in gtp.fail(f"kata-set-rules {bad}")
    assert gtp.fail('kata-set-rules {"komi": 7}').startswith("rules, 'komi': expected one of friendlyPassOk, hasButton")
    assert gtp.fail('kata-set-rules {"whiteHandicapBonus": "2"}').startswith(
        "whiteHandicapBonus = '2': expected 0, N-1"
    )
    for change in ({"rules": 5}, {"rules": [1]}, {"rules": None}, {"whiteHandicapBonus": "x"}):
        (answer,) = answers({**QUESTION, **change})
        assert answer["field"] in change
        assert answer["error"]


def test_one_rule_at_a_time() -> None:
    gtp = engine()
    gtp.ok("kata-set-rule whiteHandicapBonus N-1")
    gtp.ok("kata-set-rule suicide false")
    assert json.loads(gtp.ok("kata-get-rules"))["whiteHandicapBonus"] == "N-1"  # the others stay
    for name in ("scoring", "score"):
        assert "scored by area" in gtp.fail(f"kata-set-rule {name} TERRITORY")
    assert gtp.fail("kata-set-rule superko POSITIONAL").startswith("rules, 'superko': expected one of")
    assert gtp.fail("kata-set-rule ko") == "syntax error: expected RULE VALUE"


# --- the compensation for handicap stones ---

# Black has three stones and all 25 points; komi 0.5.
HANDICAP = "set_free_handicap C3 B2 D4"
SCORES = {"chinese": "B+21.5", "aga": "B+22.5", "new_zealand": "B+24.5", "tromp-taylor": "B+24.5"}


@pytest.mark.parametrize("rules", SCORES)
def test_compensation_in_final_scores(rules: str) -> None:
    gtp = engine(all_alive=True)
    gtp.ok("boardsize 5")
    gtp.ok("komi 0.5")
    assert gtp.ok(HANDICAP) == ""
    assert gtp.ok("final_score") == "B+24.5"  # without a word about rules
    gtp.ok(f"{'kata-set-rules' if '-' in rules else 'kgs-rules'} {rules}")
    assert gtp.ok("final_score") == SCORES[rules]
    gtp.ok("play w C4")
    gtp.ok("undo")
    assert gtp.ok("final_score") == SCORES[rules]
    assert "KM[0.5]" in gtp.ok("printsgf")  # the komi that was agreed on
    gtp.ok("clear_board")
    for vertex in ("C3", "B2", "D4"):  # three moves before White's first are a handicap, too
        gtp.ok(f"play b {vertex}")
    assert gtp.ok("final_score") == SCORES[rules]
    gtp.ok("clear_board")
    gtp.ok("play b C3")
    assert gtp.ok("final_score") == "B+24.5"


def test_compensation_in_queries() -> None:
    stones = [["B", vertex] for vertex in ("C3", "B2", "D4")]
    base = {**QUESTION, "initialStones": stones, "moves": [], "initialPlayer": "W"}
    cases = [("chinese", None, 3), ("aga", None, 2), ("nz", None, 0), ({"whiteHandicapBonus": "N"}, None, 3)]
    for rules, bonus, expected in [*cases, ("chinese", "0", 0), ("chinese", 0, 0), ("nz", "N-1", 2)]:
        query = {**base, "rules": rules} | ({} if bonus is None else {"whiteHandicapBonus": bonus})
        assert game_of(query).komi == 0.5 + expected
        *_, answer = answers(query)
        assert sum(answer["ownership"]) - 0.5 - expected == pytest.approx(answer["rootInfo"]["scoreLead"], abs=0.1)
    assert game_of({**base, "initialStones": [*stones, ["W", "A1"]]}).komi == 0.5  # no handicap game


def test_compensation_stays_with_a_game() -> None:
    game = Game(SIZE, 0.5)
    game.white_bonus = "N"
    game.set_free_handicap(["C3", "B2"])
    assert (game.komi, game.stated_komi, game.handicap) == (2.5, 0.5, 2)
    for other in (game.copy(), pickle.loads(pickle.dumps(game)), game.after(0)):
        assert (other.komi, other.white_bonus) == (2.5, "N")
    game.play("A1")
    game.edit({point_of("D4", SIZE): 1})
    assert game.komi == 2.5  # stones put down in the middle are no handicap
    game.undo()
    assert (game.komi, game.stated_komi) == (2.5, 0.5)
    game.komi = 1.5
    assert game.komi == 3.5


def test_a_search_plays_for_the_compensated_result() -> None:
    """White has half the board less one point, and needs the compensation: the search sees a win at its leaves."""
    for bonus, wins in (("0", False), ("N", True)):
        game = Game(SIZE, 0.5)
        game.white_bonus = bonus
        game.set_free_handicap(["C1", "C2", "C3", "C4", "C5"])
        for vertex in ("D1", "B1", "D2", "B2", "D3", "B3", "D4", "B4", "D5", "B5"):
            game.play(vertex)  # White has columns D and E: 10 points against 15
        game.play("pass")
        assert game.score() == 5 - 0.5 - (5 if bonus == "N" else 0)
        assert (game.outcome == 0) == wins
        player = make_player("mc_rave,sims=100", SIZE, seed=1)
        player.genmove(game)
        (best, *_) = player.candidates(game)
        assert best.value == pytest.approx(0.0 if wins else 1.0, abs=0.2)


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
    lines = [(c.line, float(c.visits)) for c in gtp.engine.session.player.candidates(gtp.game)]
    map_of_black = Ownership.after(gtp.game, lines).map[::-1].ravel()
    assert owners == pytest.approx(map_of_black, abs=0.001)
    white = gtp.game.copy()
    white.to_play = 2
    told = [float(x) for x in gtp.ok("kata-analyze w 10 ownership true").partition("ownership ")[2].split()]
    first = infos(gtp.ok("kata-analyze w 10"))[0]
    assert float(first["scoreLead"]) == pytest.approx(-Ownership.after(white, lines).score, abs=0.001)
    assert told == pytest.approx(-Ownership.after(white, lines).map[::-1].ravel(), abs=0.001)  # White's view


class Scorer(Thinker):
    """Knows the score of its first two moves."""

    def scores(self, game: Game) -> tuple[float | None, dict[int, float]]:
        first, second = game.legal_moves()[:2]
        return 1.5, {first: 2.5, second: -1.25}


def test_scores_are_those_of_the_search() -> None:
    """A move without a score has that of the position."""
    gtp = Controller(Scorer())
    for color, sign in (("b", 1), ("w", -1)):
        answer = gtp.ok(f"kata-analyze {color} 10 rootInfo true")
        moves, _, root = answer.partition(" rootInfo ")
        assert [float(info["scoreLead"]) for info in infos(moves)] == [sign * 2.5, sign * -1.25, sign * 1.5]
        assert [float(info["scoreMean"]) for info in infos(moves)] == [sign * 2.5, sign * -1.25, sign * 1.5]
        assert f"scoreLead {sign * 1.5:.3f}" in root


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
