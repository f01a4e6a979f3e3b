"""Tournaments: who plays whom, how results become ratings, and that an interrupted one continues."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from stand_ins import write_gated_engine

from rlgo.base.errors import RlgoError
from rlgo.base.resources import list_configs
from rlgo.go.sgf import read_sgf
from train.arena.elo import PairResult
from train.arena.referee import GameRecord
from train.arena.results import PlayedGame
from train.arena.tournament import (
    TournamentPlan,
    cross_table,
    pair_results,
    read_tournament,
    rounds,
    run_tournament,
    standing_of,
)
from train.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
BASE = """
[tournament]
name = "small"
size = 5
komi = 2.5
games = 4
{more}

[players]
one = "random"
two = "random,seed=2"
search = "open_spiel,sims=16"
"""


def plan_of(tmp_path: Path, more: str = "", text: str = BASE) -> TournamentPlan:
    path = tmp_path / "small.toml"
    path.write_text(text.format(more=more), "utf-8")
    return read_tournament(path, str(tmp_path / "out"))


def game(number: int, opening: int, black: str, white: str, z: float) -> PlayedGame:
    return PlayedGame(number, opening, black, white, GameRecord((), z, "B+R" if z else "W+R"))


# ---------------------------------------------------------------------------------------------
# Who plays whom
# ---------------------------------------------------------------------------------------------


def test_in_a_round_robin_everybody_meets_everybody(tmp_path: Path) -> None:
    played = list(rounds(plan_of(tmp_path), []))
    assert [[(a, b) for _, _, a, b in pairings] for pairings in played] == [
        [("one", "two"), ("one", "search"), ("two", "search")]
    ] * 2
    assert [number for pairings in played for number, *_ in pairings] == [1, 2, 3, 4, 5, 6]
    assert [{opening for _, opening, *_ in pairings} for pairings in played] == [{1}, {2}]


def test_in_a_gauntlet_challengers_meet_the_others(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'kind = "gauntlet"\nchallengers = ["search"]')
    assert [[(a, b) for _, _, a, b in pairings] for pairings in rounds(plan, [])] == [
        [("search", "one"), ("search", "two")]
    ] * 2


def swiss_plan(tmp_path: Path, players: int, games: int, more: str = "") -> TournamentPlan:
    text = f'[tournament]\nkind = "swiss"\nsize = 5\ngames = {games}\n{more}\n[players]\n'
    return plan_of(tmp_path, "", text + "".join(f'p{i} = "random"\n' for i in range(players)))


def play_swiss(plan: TournamentPlan, games: list[PlayedGame] | None = None) -> list[list[tuple[str, str]]]:
    """Every pairing is won by the player of the lower number. `games` gets them."""
    games = [] if games is None else games
    played = []
    for pairings in rounds(plan, games):
        played.append([(a, b) for _, _, a, b in pairings])
        for number, opening, a, b in pairings:
            z = float(int(a[1:]) < int(b[1:]))
            games += [game(2 * number - 1, opening, a, b, z), game(2 * number, opening, b, a, 1 - z)]
    return played


@pytest.mark.parametrize("players", [2, 5, 8])
def test_in_a_swiss_tournament_everybody_plays_in_every_round(tmp_path: Path, players: int) -> None:
    rounds = play_swiss(swiss_plan(tmp_path, players, 20))
    assert len(rounds) == 10
    played = Counter(name for pairs in rounds for pair in pairs for name in pair)
    assert all(len({name for pair in pairs for name in pair}) == players // 2 * 2 for pairs in rounds)
    # Of an odd number nobody is left out twice as long as somebody else has not been.
    assert len(played) == players
    assert max(played.values()) - min(played.values()) <= 1


def test_swiss_pairings_favour_a_similar_number_of_wins(tmp_path: Path) -> None:
    def spread(bias: float) -> float:
        rounds = play_swiss(swiss_plan(tmp_path, 12, 60, f"bias = {bias}"))[5:]
        return float(np.mean([abs(int(a[1:]) - int(b[1:])) for pairs in rounds for a, b in pairs]))

    assert spread(1.0) < 3.2 < 3.8 < spread(1e6)  # at random: 13 / 3


def test_swiss_pairings_depend_on_nothing_but_the_seed_and_the_results(tmp_path: Path) -> None:
    games: list[PlayedGame] = []
    first = play_swiss(swiss_plan(tmp_path, 6, 8), games)
    # Known results of later rounds, as when it continues, change nothing.
    again = [[(a, b) for _, _, a, b in pairings] for pairings in rounds(swiss_plan(tmp_path, 6, 8), games)]
    assert first == again
    assert first == play_swiss(swiss_plan(tmp_path, 6, 8))
    assert first == play_swiss(swiss_plan(tmp_path, 6, 16))[:4]
    assert first != play_swiss(swiss_plan(tmp_path, 6, 8, "seed = 2"))


# ---------------------------------------------------------------------------------------------
# Whole tournaments
# ---------------------------------------------------------------------------------------------


def test_a_tournament_writes_all_it_finds(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "sgf = true", BASE + "[anchors]\none = 1800\n")
    standing = run_tournament(plan, progress=False)
    assert standing.games == 12
    assert standing.finished
    assert not standing.forfeits
    assert standing.ratings is not None
    assert standing.ratings["search"].elo > standing.ratings["one"].elo == 1800
    folder = tmp_path / "out" / "small"
    assert (folder / "ratings.txt").read_text("utf-8") == f"{standing}\n"
    data = json.loads((folder / "ratings.json").read_text("utf-8"))
    assert data["specs"]["search"] == "open_spiel,sims=16"
    assert data["games"] == 12
    assert len(data["pairs"]) == 3
    assert (folder / "tournament.toml").read_text("utf-8") == plan.path.read_text("utf-8")
    paths = sorted((folder / "sgf").iterdir())
    assert len(paths) == 12
    assert "PB[one]" in paths[0].read_text("utf-8")
    assert read_sgf(paths[0].read_bytes()).moves[:4] == read_sgf(paths[1].read_bytes()).moves[:4]  # one opening
    assert str(standing_of(plan)) == str(standing)


@pytest.mark.parametrize("kind", ["round_robin", "swiss"])
@pytest.mark.process
@pytest.mark.slow
def test_processes_do_not_change_the_result(tmp_path: Path, kind: str) -> None:
    one = run_tournament(plan_of(tmp_path, f'kind = "{kind}"'), progress=False)
    (tmp_path / "again").mkdir()
    two = run_tournament(plan_of(tmp_path / "again", f'kind = "{kind}"\njobs = 3'), progress=False)
    assert one.pairs == two.pairs


@pytest.mark.process
@pytest.mark.slow
def test_a_stopped_tournament_goes_on(tmp_path: Path) -> None:
    results, gate = tmp_path / "out" / "small" / "results.jsonl", tmp_path / "gate"
    engine = write_gated_engine(tmp_path, results, gate)
    text = BASE.replace("games = 4", "games = 30").replace("open_spiel,sims=16", engine)
    plan = plan_of(tmp_path, 'kind = "swiss"', text)
    command = [sys.executable, "-m", "rlgo", "tournament", str(plan.path), "--out", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    while process.poll() is None and not (results.exists() and results.read_bytes().count(b"\n") > 4):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    again = f"rlgo tournament {re.escape(str(plan.path))} --out {re.escape(str(tmp_path / 'out'))}"
    assert re.search(rf"unfinished; continue with: \S*{again}\n", out)
    assert " of 30 games\n" in out
    gate.touch()
    kept = results.read_bytes()
    standing = run_tournament(plan, progress=False)
    numbers = [json.loads(line)["game"] for line in results.read_text("utf-8").splitlines()[1:]]
    assert sorted(numbers) == list(range(1, 31))
    assert results.read_bytes().startswith(kept)
    (tmp_path / "whole").mkdir()
    whole = plan_of(tmp_path / "whole", 'kind = "swiss"', plan.path.read_text("utf-8").replace("{", "{{"))
    assert run_tournament(whole, progress=False).pairs == standing.pairs


def test_the_shipped_ones_are_sound() -> None:
    assert list_configs("tournaments") == ["example", "ladder"]
    assert read_tournament("ladder").anchors == {"gnugo10": 1800.0}
    plan = read_tournament("example")
    assert plan.settings.games == 20
    assert plan.anchors == {"random": 0.0}


def test_a_longer_tournament_begins_with_a_shorter_one(tmp_path: Path) -> None:
    short = run_tournament(plan_of(tmp_path), progress=False)
    long = run_tournament(plan_of(tmp_path, "", BASE.replace("games = 4", "games = 6")), progress=False)
    assert (short.games, long.games) == (12, 18)
    assert str(standing_of(plan_of(tmp_path))) == str(short)  # of the first games alone
    assert "games = 6" in (tmp_path / "out" / "small" / "tournament.toml").read_text("utf-8")


def test_players_that_nothing_connects_have_no_ratings_yet(tmp_path: Path) -> None:
    plan = swiss_plan(tmp_path, 4, 2)
    standing = run_tournament(plan, progress=False)
    assert standing.ratings is None
    assert "no ratings yet:" in str(standing)
    assert "p3" in str(standing)
    assert (plan.folder / "ratings.txt").read_text("utf-8") == f"{standing}\n"
    assert not (plan.folder / "ratings.png").exists()


def test_a_table_can_be_read_by_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(tmp_path)
    standing = run_tournament(plan, progress=False)
    monkeypatch.setattr("train.provenance.sources_digest", lambda: "newer")
    assert str(standing_of(plan)) == str(standing)
    with pytest.raises(RlgoError, match=r'sources is \S+, not "newer"; move the file away to start over'):
        run_tournament(plan, progress=False)


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


def test_results_of_pairs_keep_their_openings() -> None:
    games = [
        game(1, 1, "b", "a", 1.0),
        game(3, 2, "b", "a", 0.0),
        game(2, 1, "a", "b", 1.0),
        game(4, 2, "a", "b", 0.5),
        game(5, 1, "a", "c", 1.0),
    ]
    (ab, ac) = pair_results(games)
    assert (ab.a, ab.b, ab.score, ab.games, ab.draws, ab.openings) == ("a", "b", 2.5, 4, 1, ((0.0, 1.0), (1.0, 0.5)))
    assert (ac.score, ac.games) == (1, 1)


def test_the_cross_table_has_every_score_twice() -> None:
    pairs = [PairResult("a", "b", 2.5, 4), PairResult("c", "a", 1, 2)]
    assert [line.split() for line in cross_table(["b", "a", "c"], pairs).splitlines()] == [
        ["Score", "in", "%", "/", "games", "1", "2", "3"],
        ["1", "b", "37.5/4"],
        ["2", "a", "62.5/4", "50.0/2"],
        ["3", "c", "50.0/2"],
    ]


@pytest.mark.parametrize(("kind", "has_picture"), [("round_robin", True), ("swiss", False)])
def test_the_command_draws_the_ratings_if_there_are_any(tmp_path: Path, kind: str, has_picture: bool) -> None:
    """After one Swiss round, nothing connects the pairs."""
    plan = swiss_plan(tmp_path, 4, 2)
    plan.path.write_text(plan.path.read_text().replace("swiss", kind))
    assert main(["tournament", str(plan.path), "--out", str(tmp_path)]) == 0
    (picture,) = [path.with_name("ratings.png") for path in tmp_path.rglob("ratings.txt")]
    assert picture.exists() == has_picture
    assert not has_picture or picture.read_bytes().startswith(b"\x89PNG")


# ---------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("games = 4", "games = 3", "tournament.games = 3: expected an even number"),
        ("games = 4", "games = 0", "tournament.games = 0: expected at least 2"),
        ("games = 4", "gams = 4", "unknown key tournament.gams; did you mean tournament.games"),
        ("games = 4", 'kind = "knockout"', "tournament.kind"),
        ("games = 4", 'kind = "gauntlet"', "tournament.challengers: expected some players"),
        ("games = 4", 'challengers = ["one"]', "tournament.challengers: expected some players"),
        ("games = 4", 'kind = "gauntlet"\nchallengers = ["one", "one"]', "expected different names"),
        ("games = 4", 'kind = "gauntlet"\nchallengers = ["nobody"]', "tournament.challengers: nobody: not among"),
        ("games = 4", 'time = "soon"', "tournament.time: time 'soon': expected seconds"),
        ("[players]", "[people]", "unknown table [people]"),
        ('"random"', '"nobody"', "players.one: unknown player nobody"),
        ('"random"', "5", "players.one: expected a player spec in quotes"),
        ('one = "random"\ntwo = "random,seed=2"\n', "", "[players]: expected at least two"),
        ("[players]", "[anchors]\nzero = 5\n[players]", "anchors.zero: not among the players"),
        ("[players]", f"[anchors]\none = {10**400}\n[players]", "anchors.one = 1000"),
        ("[players]", "[anchors]\none = true\n[players]", "anchors.one = True: expected a rating in Elo"),
        ("size = 5", "size = 4", "tournament.size = 4: expected"),
        ("size = 5", "size =", "not valid TOML"),
    ],
)
def test_bad_files(tmp_path: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(BASE.format(more="").replace(old, new, 1), "utf-8")
    assert main(["tournament", str(path), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"rlgo: error: {path}")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


ORDERED = 'one = "random"\ntwo = "random,seed=2"\n'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("games = 4", "games = 4\nseed = 2"),
        ("komi = 2.5", "komi = 3.5"),
        ("games = 4", 'games = 4\nkind = "swiss"'),
        ('two = "random,seed=2"', 'two = "random,seed=3"'),
        (ORDERED, "".join(sorted(ORDERED.splitlines(keepends=True), reverse=True))),  # the schedule would be another
    ],
)
def test_a_folder_of_another_tournament(tmp_path: Path, old: str, new: str) -> None:
    run_tournament(plan_of(tmp_path), progress=False)
    folder = tmp_path / "out" / "small"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    changed = plan_of(tmp_path, "", BASE.replace(old, new))
    with pytest.raises(RlgoError, match=r"results\.jsonl: results of other games"):
        run_tournament(changed, progress=False)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_table_of_a_tournament_that_has_not_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(tmp_path)
    assert main(["tournament", str(plan.path), "--out", str(tmp_path / "out"), "--table"]) == 2
    assert "no such file: this tournament has not begun" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_engine_that_is_not_there(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "", BASE.replace('"open_spiel,sims=16"', '"gtp:no-such-engine"'))
    with pytest.raises(RlgoError, match="engine 'no-such-engine' not found"):
        run_tournament(plan, progress=False)
    assert not (tmp_path / "out").exists()
