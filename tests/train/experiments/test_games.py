"""Games of experiments: who plays whom, what is kept, and that they continue where they stopped."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
from experiment_files import GAMES, RIVALS, write

from rlgo.base.errors import RlgoError
from rlgo.features.weights import Weights, save_weights
from train.arena.match import play_match
from train.cli import main as cli
from train.config import load_config
from train.experiments.declaration.experiment import Experiment
from train.experiments.declaration.matches import matches, swiss_games
from train.experiments.declaration.reading import read_experiment
from train.experiments.report.report import games_behind, games_to_decide, plot, section, show
from train.experiments.results.analysis import Analysis, analyze
from train.experiments.results.files import read_raw, scores_of, turned, write_raw
from train.experiments.running.games import collect, games_file, games_left
from train.experiments.running.run import run_experiment
from train.runs.learners import make_learner

pytestmark = pytest.mark.usefixtures("sources")


def total_games(e: Experiment) -> int:
    """The number of games that an experiment calls for."""
    return swiss_games(e) + sum(planned.games for planned in matches(e))


def test_who_meets_whom(tmp_path):
    """In a round robin everybody; in a gauntlet those of the series meet those without."""
    path = write(tmp_path, GAMES + '[[series]]\nlabel = "z"\nplayer = "random,seed={x}"\nx = [3]\n')
    e = read_experiment(path)
    names = ["chance", "greedy 0", "greedy 0.5", "z 3"]
    assert [planned.names for planned in matches(e)] == list(combinations(names, 2))
    e = read_experiment(write(tmp_path, path.read_text("utf-8").replace('pairing = "round_robin"', "")))
    assert [planned.names for planned in matches(e)] == [(name, "chance") for name in names[1:]]


@pytest.fixture
def match(tmp_path) -> Experiment:
    """Weights with and without exploration, and random play."""
    text = GAMES.replace("nosuch.npz", str(tmp_path / "weights.npz"))
    path = write(tmp_path, text, "match")
    learner = make_learner(load_config(tmp_path / "base.toml"), 1)
    learner.learn(250)
    save_weights(tmp_path / "weights.npz", Weights(learner.features, learner.theta))
    return read_experiment(path, out=tmp_path / "out")


def test_a_round_robin_records_who_won_and_how_long_it_took(match, tmp_path):
    raw = run_experiment(match, tmp_path / "results", jobs=1, progress=False)
    assert [line["pair"] for line in raw.lines] == [
        ["chance", "greedy 0"], ["chance", "greedy 0.5"], ["greedy 0", "greedy 0.5"]
    ]  # fmt: skip
    specs = {c.name: c.written for c in match.contestants}
    for line in raw.lines:
        assert sum(line["openings"].values()) == 2
        assert line["specs"] == [specs[name] for name in line["pair"]]
        assert len(line["seconds_of"]) == 2
        assert min(line["seconds_of"]) >= 0
        assert line["seconds"] == pytest.approx(sum(line["seconds_of"]), abs=0.15)
        assert 1 <= line["distinct"] <= 4
        assert 4 < line["moves"] <= 75
        assert line["forfeits"] == 0
        assert line["engines"] == {}
    assert analyze(tmp_path / "results", "match").won("chance", "greedy 0").value < 0.5

    # Games that were played are kept: nothing is played again, and more games go on from them.
    files = {path: path.read_bytes() for path in (tmp_path / "out" / "games" / "match").glob("*.jsonl")}
    assert len(files) == 3
    assert run_experiment(match, tmp_path / "results", jobs=1, progress=False) == raw
    assert run_experiment(match, tmp_path / "others", jobs=1, progress=False).lines == raw.lines
    assert {path: path.read_bytes() for path in files} == files
    more = replace(match, settings=replace(match.settings, games=6))
    for line, longer in zip(raw.lines, run_experiment(more, tmp_path / "results", 1, False).lines, strict=True):
        assert sum(longer["openings"].values()) == 3
        assert (Counter(longer["openings"]) - Counter(line["openings"])).total() == 1
    for path, data in files.items():
        assert path.read_bytes().startswith(data)


def without_times(raw) -> list[dict]:
    return [{k: v for k, v in line.items() if k not in ("seconds", "seconds_of")} for line in raw.lines]


def test_interrupted_matches_go_on(match, tmp_path):
    """A file cut off in the middle of a line, and one that is missing: what they recorded is played again, the same."""
    raw = run_experiment(match, tmp_path / "results", jobs=1, progress=False)
    first, second, third = sorted((tmp_path / "out" / "games" / "match").glob("*.jsonl"))
    lines = first.read_bytes().splitlines(keepends=True)
    first.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    second.unlink()
    kept = third.stat().st_mtime_ns
    again = run_experiment(match, tmp_path / "others", jobs=1, progress=False)
    assert without_times(again) == without_times(raw)
    assert third.stat().st_mtime_ns == kept


def test_ctrl_c_tells_what_is_left_and_how_to_go_on(match, tmp_path, monkeypatch, capsys):
    """And writes the results of the games so far: whole openings, in order."""
    games = iter((4, 3))  # of each pair, of four

    def part(*arguments, **settings):
        """Play a pair, as far as it gets until Ctrl-C; the games of a pair come in whole openings here."""
        n = next(games, 4)
        whole = play_match(*arguments, **settings)
        if n < 4:
            lines = settings["results"].read_bytes().splitlines(keepends=True)
            settings["results"].write_bytes(b"".join(lines[: 1 + n]))
        return replace(whole, interrupted=n < 4)

    monkeypatch.setattr("train.experiments.running.games.play_match", part)
    other, results = write(tmp_path, GAMES, "other"), tmp_path / "r"
    argv = [str(match.path), str(other), "--out", str(tmp_path / "out"), "--results", str(results), "--jobs", "1"]
    assert cli.main(["experiment", "run", *argv]) == 130
    err = capsys.readouterr().err
    assert err.startswith("match, 1 of 2: 12 of 12 games left\n")
    assert "\nchance against greedy 0.5: up to game 4 of 4\n" in err
    again = " ".join([*argv[:2], "--jobs 1", *argv[2:6]])
    assert re.search(rf"^interrupted: 5 of 12 games left; continue with: \S*rlgo experiment run {again}$", err, re.M)
    assert games_left(match) == games_left(match, read_raw(results / "match.jsonl")) == (5, 12)
    so_far = read_raw(results / "match.jsonl")
    assert [(line["pair"], sum(map(len, scores_of(line)))) for line in so_far.lines] == [
        (["chance", "greedy 0"], 4), (["chance", "greedy 0.5"], 2)
    ]  # fmt: skip
    assert "4 games per pair (6 of 12 played so far)." in section(match, analyze(results, "match"), tmp_path, tmp_path)
    whole = run_experiment(match, results, jobs=1, progress=False)
    assert [sum(map(len, scores_of(line))) for line in whole.lines] == [4, 4, 4]


def test_without_a_game_there_are_no_results(match, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "train.experiments.running.games.play_match", lambda *_, **__: type("Found", (), {"interrupted": True})
    )
    with pytest.raises(KeyboardInterrupt):
        run_experiment(match, tmp_path / "results", jobs=1, progress=False)
    assert not (tmp_path / "results").exists()


def test_games_are_added_to_those_that_the_results_count(match, tmp_path):
    """Where the games themselves are gone, the next ones are played, and the sum is that of all games."""
    more = replace(match, settings=replace(match.settings, games=8), folder=tmp_path / "other")
    results = tmp_path / "results"
    before = run_experiment(match, results, jobs=1, progress=False)
    added = run_experiment(more, results, jobs=1, progress=False)
    whole = run_experiment(replace(more, folder=tmp_path / "all"), tmp_path / "whole", jobs=1, progress=False)
    assert without_times(added) == without_times(whole)
    for planned in matches(more):
        games = games_file(more, planned).read_text("utf-8").splitlines()[1:]
        assert sorted(json.loads(game)["game"] for game in games) == [5, 6, 7, 8]
    for first, second in zip(before.lines, added.lines, strict=True):
        assert second["seconds"] > first["seconds"]
        assert second["seconds"] == pytest.approx(sum(second["seconds_of"]), abs=0.005)
    # Nothing is played or counted twice, and fewer games than are counted leave them as they are.
    for same in (more, match):
        assert run_experiment(same, results, jobs=1, progress=False) == added
    # Of other players, openings or pairs there are none.
    other = replace(more, contestants=tuple(replace(c, written="random,seed=5") for c in more.contestants))
    with pytest.raises(
        RlgoError, match="match: the results of chance against greedy 0 are those of other players; use"
    ):
        run_experiment(other, results, jobs=1, progress=False)
    for key, value, message in (
        ("seed", 2, "seed is 2, but 1"),
        ("size", 6, "size is 6, but 5"),
        ("komi", 1.5, "komi is 1.5, but "),
    ):
        other = replace(more, settings=replace(more.settings, **{key: value}))
        with pytest.raises(RlgoError, match=f"match: {message}.* in its results; use another --results folder"):
            run_experiment(other, results, jobs=1, progress=False)


def test_results_say_where_their_earlier_games_were_played(match, tmp_path):
    before = run_experiment(match, tmp_path, jobs=1, progress=False)
    elsewhere = replace(before, header={**before.header, "machine": "1 x Abacus"})
    write_raw(tmp_path / "match.jsonl", elsewhere)
    assert run_experiment(match, tmp_path, jobs=1, progress=False) == elsewhere  # nothing is new
    for games in (6, 8):
        more = replace(match, settings=replace(match.settings, games=games))
        added = run_experiment(more, tmp_path, jobs=1, progress=False)
        assert added.header["machine"] == before.header["machine"]
        assert added.header["earlier"] == [{key: elsewhere.header[key] for key in ("machine", "versions")}]


def test_too_few_games_to_rate_the_players(match, tmp_path, capsys):
    """As in a tournament at a small scale, or just begun: those who met are rated, and there is a picture."""
    raw = run_experiment(match, tmp_path, jobs=1, progress=False)
    apart = {**raw.lines[2], "pair": ["greedy 0.5", "another"]}
    write_raw(tmp_path / "match.jsonl", replace(raw, lines=[raw.lines[0], apart]))
    capsys.readouterr()
    text = show(match, tmp_path)
    assert "No games connect these players to the others, so they have no rating: another, greedy 0.5." in text
    assert capsys.readouterr().err == ""
    assert (tmp_path / "match.png").is_file()


def test_openings_count_in_order_and_whole(match, tmp_path):
    """Games of several processes end in any order. Counted are the first openings, so that others can follow."""
    run_experiment(match, tmp_path / "results", jobs=1, progress=False)
    first, second, _ = (games_file(match, planned) for planned in matches(match))
    lines = first.read_bytes().splitlines(keepends=True)
    first.write_bytes(b"".join([lines[0], *lines[2:]]))  # the first game is missing
    lines = second.read_bytes().splitlines(keepends=True)
    second.write_bytes(b"".join([lines[0], lines[2], lines[1], lines[4]]))  # the third is
    assert [(line["pair"], sum(map(len, scores_of(line)))) for line in collect(match, {})] == [
        (["chance", "greedy 0.5"], 2), (["greedy 0", "greedy 0.5"], 4)
    ]  # fmt: skip


def test_a_swiss_tournament(match, tmp_path):
    """Everybody plays this many games, and the results of each pair are those of its games."""
    text = match.path.read_text("utf-8").replace("round_robin", "swiss")
    text = text.replace('chance = "random"', 'chance = "random"\nother = "random,seed=3"')
    swiss = read_experiment(write(tmp_path, text, "swiss"), out=tmp_path / "out")
    raw = run_experiment(swiss, tmp_path / "results", jobs=1, progress=False)
    assert total_games(swiss) == 8
    played = Counter[str]()
    scores: dict[tuple[str, str], list[float]] = {}
    thought: dict[tuple[str, str], list[float]] = {}
    file = tmp_path / "out" / "games" / "swiss" / "results.jsonl"
    for line in map(json.loads, file.read_text("utf-8").splitlines()[1:]):
        a, b = sorted((line["black"], line["white"]), key=[c.name for c in swiss.contestants].index)
        scores.setdefault((a, b), []).append(line["z"] if line["black"] == a else 1 - line["z"])
        played.update((a, b))
        seconds = dict(zip((line["black"], line["white"]), line["seconds"], strict=True))
        thought.setdefault((a, b), []).append(seconds[a] - seconds[b])
    assert dict(played) == {c.name: 4 for c in swiss.contestants}
    assert {tuple(line["pair"]): sum(map(sum, scores_of(line))) for line in raw.lines} == {
        pair: sum(of_pair) for pair, of_pair in scores.items()
    }
    for line in raw.lines:
        a, b = line["seconds_of"]
        assert a - b == pytest.approx(sum(thought[tuple(line["pair"])]), abs=1e-6)
    specs = {c.name: c.written for c in swiss.contestants}
    assert all(line["specs"] == [specs[name] for name in line["pair"]] for line in raw.lines)
    # Cut off in the second round, it continues; nobody plays against another than before.
    data = file.read_bytes()
    lines = data.splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:7]))
    assert sum(sum(map(len, scores_of(line))) for line in collect(swiss, {})) == 6
    assert games_left(swiss) == (2, 8)
    run_experiment(swiss, tmp_path / "others", jobs=1, progress=False)
    games = [[json.loads(line)[key] for key in ("game", "black", "white", "moves")] for line in lines[1:]]
    again = [json.loads(line) for line in file.read_text("utf-8").splitlines()[1:]]
    assert sorted([game[key] for key in ("game", "black", "white", "moves")] for game in again) == sorted(games)


CLAIM = """
[[claims]]
text = "weights are better than none"
a = "greedy 0"
b = "chance"
low = 0
games = {games}
"""


def test_a_claim_has_games_of_its_own(match, tmp_path):
    """After a tournament, and after one whose games are gone; its openings are others than the tournament's."""
    text = match.path.read_text("utf-8").replace("round_robin", "swiss") + CLAIM.format(games=6)
    text = text.replace('chance = "random"', 'chance = "random"\nother = "random,seed=3"')
    swiss = read_experiment(write(tmp_path, text, "swiss"), out=tmp_path / "out")
    (of_claim,) = matches(swiss)
    assert (of_claim.names, of_claim.games, of_claim.seed) == (("chance", "greedy 0"), 6, 2)
    assert total_games(swiss) == 8 + 6
    assert [planned.games for planned in matches(read_experiment(swiss.path, scale=2))] == [12]
    raw = run_experiment(swiss, tmp_path / "results", jobs=1, progress=False)
    *tournament, last = raw.lines
    assert (last["pair"], last["seed"], sum(map(len, scores_of(last)))) == (["chance", "greedy 0"], 2, 6)
    assert sum(len(opening) for line in tournament for opening in scores_of(line)) == 8
    assert all("seed" not in line for line in tournament)
    assert games_left(swiss) == (0, 14)
    found = analyze(tmp_path / "results", "swiss")
    (claim,) = swiss.claims

    # Its own games alone decide the claim; the others decide everything else.
    others = [tuple(line["pair"]) for line in tournament]
    assert [(pair.a, pair.b) for pair in found.pairs] == others
    alone = found.of_claim(claim)
    assert [(pair.a, pair.b, pair.games) for pair in alone.pairs] == [("chance", "greedy 0", 6)]
    assert found.measure(claim) == alone.elo("greedy 0", "chance") != found.elo("greedy 0", "chance")
    won = sum(1 - y for opening in scores_of(last) for y in opening) / 6
    assert found.measure(replace(claim, of="won")).value == pytest.approx(won)
    assert found.measure(replace(claim, games=0)) == found.elo("greedy 0", "chance")
    assert games_to_decide(found, claim, 2.0) == "12 games"
    text = section(swiss, found, tmp_path, tmp_path)
    assert "A Swiss tournament with 4 games per player. In addition, 6 games between the two players of a " in text
    assert games_behind(found) == "8 for ratings, 6 for claims"

    # The tournament's games are gone: it stays as it is counted, and games of the claim follow those that are counted.
    more = replace(swiss, claims=(replace(claim, games=10),), folder=tmp_path / "other")
    assert games_left(more, raw) == (4, 10)
    after = run_experiment(more, tmp_path / "results", jobs=1, progress=False)
    assert after.lines[:-1] == tournament
    assert sum(map(len, scores_of(after.lines[-1]))) == 10
    assert Counter(after.lines[-1]["openings"]) >= Counter(last["openings"])
    assert "10 games between the two players of a claim." in section(more, Analysis(after), tmp_path, tmp_path)
    assert "(6 of 10 played so far)." in section(more, found, tmp_path, tmp_path)


def test_games_of_a_claim_are_not_lost(match, tmp_path):
    """Neither where a claim names its players the other way round, nor where no claim asks for them any more."""
    e = read_experiment(
        write(tmp_path, match.path.read_text("utf-8") + CLAIM.format(games=4), "claimed"), out=tmp_path / "out"
    )
    raw = run_experiment(e, tmp_path, jobs=1, progress=False)
    last = raw.lines[-1]
    other_way = turned(last)
    assert other_way["pair"] == ["greedy 0", "chance"]
    assert turned(other_way) == last
    scores = sorted(tuple(1 - y for y in opening[::-1]) for opening in scores_of(last))
    assert sorted(scores_of(other_way)) == scores
    write_raw(tmp_path / "claimed.jsonl", replace(raw, lines=[*raw.lines[:-1], other_way]))
    (claim,) = e.claims
    away = replace(e, folder=tmp_path / "away")
    for claims in ((claim,), (replace(claim, a="chance", b="greedy 0"),), ()):
        again = run_experiment(replace(away, claims=claims), tmp_path, jobs=1, progress=False)
        assert sorted(again.lines, key=str) == sorted(raw.lines, key=str)


@pytest.mark.parametrize(
    ("games", "message"),
    [
        ("5", r"number 1: games = 5: expected an even number"),
        ('"6"', r'number 1: games = "6": expected an even number'),
        ("6\nof = 'speed'", 'games: expected of = "elo" or "won"'),
    ],
)
def test_games_of_a_claim_that_cannot_be_played(match, tmp_path, games, message):
    path = write(tmp_path, match.path.read_text("utf-8") + CLAIM.format(games=games), "bad")
    with pytest.raises(RlgoError, match=message):
        read_experiment(path)


def test_only_players_of_one_board_meet_for_a_claim(tmp_path):
    claim = CLAIM.format(games=2)
    for a, b, fails in (("left 5", "right 5", False), ("left 5", "right 7", True), ("left 5", "", True)):
        text = claim.replace('"greedy 0"', f'"{a}"').replace('"chance"', f'"{b}"')
        path = write(tmp_path, RIVALS + text, "boards")
        if fails:
            with pytest.raises(RlgoError, match="games = 2: expected two players of one board size"):
                read_experiment(path)
        else:
            assert [planned.size for planned in matches(read_experiment(path))] == [5, 7, 5]


def test_results_name_the_weights_of_a_run_wherever_they_are(tmp_path):
    """A run in another folder may add to them, and makes the same weights."""
    text = GAMES.replace("nosuch.npz", "{weights small}").replace("games = 4", 'games = 2\nbase = "BASE"')
    path = write(tmp_path, text + "[runs.small]\nrun.games = 100\n")
    raw = run_experiment(read_experiment(path, out=tmp_path / "out"), tmp_path / "results", jobs=1, progress=False)
    assert "weights={weights small}" in raw.lines[-1]["specs"][0]
    path.write_text(path.read_text("utf-8").replace("games = 2", "games = 4"), "utf-8")
    elsewhere = read_experiment(path, out=tmp_path / "elsewhere")
    added = run_experiment(elsewhere, tmp_path / "results", jobs=1, progress=False)
    assert [sum(map(len, scores_of(line))) for line in added.lines[1:]] == [4, 4, 4]
    assert [line["specs"] for line in added.lines[1:]] == [line["specs"] for line in raw.lines[1:]]


def test_other_weights_end_a_run_before_its_games(tmp_path):
    """Earlier games count only for the weights that played them."""
    text = GAMES.replace("nosuch.npz", "{weights small}").replace("games = 4", 'games = 2\nbase = "BASE"')
    e = read_experiment(write(tmp_path, text + "[runs.small]\nrun.games = 100\n"), out=tmp_path / "out")
    raw = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    lines = [{**raw.lines[0], "crc32": "00000000"}, *raw.lines[1:]]
    write_raw(tmp_path / "results" / "tiny.jsonl", replace(raw, lines=lines))
    with pytest.raises(RlgoError, match="tiny: the weights of small are not those of the games before"):
        run_experiment(e, tmp_path / "results", jobs=1, progress=False)


def test_rivals_of_the_same_x_meet_on_their_board(tmp_path):
    e = read_experiment(write(tmp_path, RIVALS), out=tmp_path / "out")
    assert [(*planned.names, planned.size) for planned in matches(e)] == [
        ("left 5", "right 5", 5), ("left 7", "right 7", 7)
    ]  # fmt: skip
    raw = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    assert [(line["pair"], line["size"]) for line in raw.lines] == [
        (["left 5", "right 5"], 5), (["left 7", "right 7"], 7)
    ]  # fmt: skip
    first, second = (games_file(e, planned) for planned in matches(e))
    for file, size in ((first, 5), (second, 7)):
        about, *games = map(json.loads, file.read_text("utf-8").splitlines())
        assert about["size"] == size
        assert all(f"{'ABCDEFGHJ'[size]}1" not in game["moves"].split() for game in games)
        assert any(vertex[1:] == str(size) for game in games for vertex in game["moves"].split())
    assert "won against its opponent" in section(e, analyze(tmp_path / "results", "tiny"), tmp_path, tmp_path)
    assert "won against its opponent" in show(e, tmp_path / "results")  # though nobody links the boards
    plot(e, tmp_path / "results")


def test_a_series_has_games_of_its_own(tmp_path):
    """The others keep the experiment's number, and both are scaled."""
    third = '[[series]]\nlabel = "third"\nplayer = "random"\nx = [5]\nsize = "{x}"\nagainst = "left"\n'
    text = f"{RIVALS}games = 6\n{third}"
    e = read_experiment(write(tmp_path, text), out=tmp_path / "out")
    raw = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    assert [(line["pair"], sum(line["openings"].values())) for line in raw.lines] == [
        (["left 5", "right 5"], 3), (["left 7", "right 7"], 3), (["third 5", "left 5"], 1)
    ]  # fmt: skip
    assert total_games(e) == 14
    assert "2 to 6 games per pair." in section(e, analyze(tmp_path / "results", "tiny"), tmp_path, tmp_path)
    assert total_games(read_experiment(e.path, scale=2)) == 28


def test_the_largest_number_of_games_for_a_pair_counts(tmp_path):
    claim = '[[claims]]\ntext = "so"\nof = "won"\na = "chance"\nb = "greedy 0"\nlow = 0\ngames = {}\n'
    e = read_experiment(write(tmp_path, GAMES + claim.format(6) + claim.format(4)))
    assert [m.games for m in matches(e) if m.is_for_claim] == [6]
