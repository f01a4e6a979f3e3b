"""Experiments that are played claim by claim: who plays next, when a claim is decided, and what is kept."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from experiment_files import header, write

from rlgo.base.errors import RlgoError
from train.cli import main as cli
from train.experiments.declaration.experiment import Claim
from train.experiments.declaration.reading import read_experiment
from train.experiments.results.analysis import HELD, NOT_HELD, Analysis, level_of_look
from train.experiments.results.files import RawResults, games_of, pair_line, read_raw
from train.experiments.running import by_claim
from train.experiments.running.by_claim import duels, looks_before, run

TEXT = """
[experiment]
kind = "games"
pairing = "swiss"
games = 20
size = 5
komi = 0.5
[players]
a = "random"
b = "random,seed=2"
c = "random,seed=3"
[[claims]]
text = "a is much stronger"
a = "a"
b = "b"
low = 0
[[claims]]
text = "c is as strong as b"
a = "c"
b = "b"
of = "won"
low = 0.4
high = 0.6
[[claims]]
text = "b is better than a by 300"
a = "b"
b = "a"
low = 300
[[claims]]
text = "a is far from the scale's zero"
a = "a"
low = 300
"""


@pytest.fixture
def e(tmp_path):
    return read_experiment(write(tmp_path, TEXT), out=tmp_path / "out", minutes=1)


@pytest.fixture
def table(monkeypatch):
    """Games that take 0.1 seconds on a clock of their own: a wins 9 of 10 against b, the others are equal."""
    state = {"now": 0.0, "played": {}, "order": []}
    rng = np.random.default_rng(1)

    def play(_e, match, games, *_jobs, **_progress):
        scores = state["played"].setdefault(match.names, [])
        state["order"].append((match.names, games))
        p = 0.9 if match.names == ("a", "b") else 0.5
        while 2 * len(scores) < games:
            scores.append(tuple(map(float, rng.random(2) < p)))
            state["now"] += 0.2

    def line(_e, match):
        scores = state["played"].get(match.names)
        seconds = 0.2 * len(scores or ())
        return pair_line(*match.names, scores, seconds=seconds, seconds_of=[seconds / 2] * 2) if scores else None

    monkeypatch.setattr(by_claim, "play_match_up_to", play)
    monkeypatch.setattr(by_claim, "line_of", line)
    return state


def test_all_looks_together_miss_with_five_percent():
    assert level_of_look(1) == pytest.approx(0.975)
    assert sum(1 - level_of_look(k) for k in range(1, 100_000)) == pytest.approx(0.05, abs=1e-5)
    assert [looks_before(n) for n in (0, 18, 20, 39, 40, 80, 160)] == [0, 0, 1, 1, 2, 3, 4]


def test_looking_often_does_not_decide_more_often_wrongly():
    """Equal players, six looks: at most 5 % of such sequences ever exclude the truth."""
    rng, wrong = np.random.default_rng(7), 0
    for _ in range(300):
        scores = rng.integers(0, 2, (320, 2)).astype(float)
        missed = False
        for look, games in enumerate((20, 40, 80, 160, 320, 640), 1):
            line = pair_line("a", "b", scores[: games // 2].tolist(), looks=look)
            m = Analysis(RawResults(header("x", "games"), [line])).measure(Claim("", "a", "b", "won", low=0.5))
            missed |= not m.low <= 0.5 <= m.high
        wrong += missed
    assert wrong <= 15


def test_intervals_are_those_of_the_pair_alone_at_the_level_of_the_look():
    line = pair_line("a", "b", [(1.0, 0.0)] * 6 + [(1.0, 1.0)] * 4, looks=2)
    other = pair_line("b", "c", [(1.0, 1.0)] * 10, looks=1)
    found = Analysis(RawResults(header("x", "games"), [line, other]))
    won = found.measure(Claim("", "a", "b", "won", low=0.5))
    assert won == found.won("a", "b", 1 - 0.05 / 6)
    elo = found.measure(Claim("", "a", "b", low=0))
    assert 1 / (1 + 10 ** (-elo.low / 400)) == pytest.approx(won.low)
    assert 1 / (1 + 10 ** (-elo.high / 400)) == pytest.approx(won.high)
    assert 1 / (1 + 10 ** (-elo.value / 400)) == pytest.approx(15 / 22)  # Laplace's estimate
    turned = found.measure(Claim("", "b", "a", low=0))
    assert (turned.low, turned.high) == pytest.approx((-elo.high, -elo.low))
    assert found.measure(Claim("", "b", "c", low=0)).high == float("inf")


def test_claims_about_two_players_are_decided_by_their_games_alone(e):
    found = duels(e)
    assert [(d.match.names, [c.text for c in d.claims]) for d in found] == [
        (("a", "b"), ["a is much stronger", "b is better than a by 300"]),
        (("b", "c"), ["c is as strong as b"]),
    ]


def test_it_plays_until_all_is_decided(e, table):
    lines = run(replace(e, minutes=60), jobs=1, progress=False, now=lambda: table["now"])
    found = Analysis(RawResults(header("tiny", "games", minutes=60), lines))
    verdicts = {c.text: m and m.verdict(c.low, c.high) for c in e.claims for m in [found.measure(c)]}
    assert verdicts["a is much stronger"] == HELD
    assert verdicts["b is better than a by 300"] == NOT_HELD
    assert verdicts["c is as strong as b"] == HELD
    by_pair = {tuple(line["pair"]): line for line in lines}
    # The easy claims took few games; the rest went where they told more.
    assert games_of(by_pair["a", "b"]) <= 40 < games_of(by_pair["b", "c"])
    for line in lines:
        assert line["looks"] == looks_before(games_of(line))
    # One opening each first, then 20, 40, 80 ... games.
    assert [games for _, games in table["order"][:2]] == [2, 2]
    assert {games for _, games in table["order"][2:]} <= {20 * 2**k for k in range(12)}


def test_it_ends_when_the_time_is_over(e, table):
    """And goes on from there with as much time again; looks are counted on."""
    e = replace(e, minutes=9 / 60)
    lines = run(e, jobs=1, progress=False, now=lambda: table["now"])
    assert table["now"] <= 9 + 0.4
    games = sum(map(games_of, lines))
    before = RawResults(header("tiny", "games"), lines)
    again = run(e, jobs=1, progress=False, before=before, now=lambda: table["now"])
    assert sum(map(games_of, again)) > games
    looks = {tuple(line["pair"]): line["looks"] for line in lines}
    assert all(line["looks"] >= looks.get(tuple(line["pair"]), 0) for line in again)


def test_games_on_the_way_to_a_look_that_never_came_are_a_look_of_their_own(e, table, monkeypatch):
    """Else they would be judged at a level that was used up already."""
    play, e = by_claim.play_match_up_to, replace(e, minutes=60)

    def interrupted(_e, match, games, *options, **more):
        is_third = games == 40
        play(_e, match, 34 if is_third else games, *options, **more)
        if is_third:
            raise KeyboardInterrupt

    monkeypatch.setattr(by_claim, "play_match_up_to", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(e, jobs=1, progress=False, now=lambda: table["now"])
    monkeypatch.setattr(by_claim, "play_match_up_to", play)
    names = table["order"][-1][0]
    lines = run(e, jobs=1, progress=False, now=lambda: table["now"])
    (line,) = [line for line in lines if tuple(line["pair"]) == names]
    assert line["looks"] == sum(found == names for found, _ in table["order"]) - 1  # the first one is a trial


def test_from_the_command_line(tmp_path, capsys, monkeypatch):
    """With games in earnest, and again: the second call adds to them. All of it is found without telling where."""
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, TEXT)
    ends = iter([0.0] * 5 + [1e9] * 99)
    monkeypatch.setattr(by_claim.run, "__defaults__", (None, lambda: next(ends)))
    assert cli.main(["experiment", "run", str(path), "--minutes", "5", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"tiny, 5 minutes: no records say what it can decide of its 4 claims", err)
    assert "**5 minutes**: only games that decide claims." in out
    results = tmp_path / "experiments" / "minutes" / "results"
    raw = read_raw(results / "tiny.jsonl")
    assert (raw.header["minutes"], raw.header["scale"]) == (5, 1)
    assert (results / "tiny-claims.png").is_file()
    assert not (results / "tiny.png").exists()
    assert cli.main(["experiment", "list"]) == 0
    assert re.search(r"^tiny +none +20\S+, 5 min +your own: ", capsys.readouterr().out, re.MULTILINE)
    assert cli.main(["experiment", "plot", str(path)]) == 0
    assert capsys.readouterr().out == "experiments/minutes/results/tiny-claims.png\n"


def test_what_cannot_be_combined(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, TEXT)
    for argv, message in (
        (["--minutes", "1", "--scale", "0.5"], "--minutes cannot be combined with --scale"),
        (["--minutes", "-1"], "--minutes -1.0: expected a positive number"),
        (["--minutes", "1", "--add"], "--add cannot be combined with --minutes"),
        (["--minutes", "1", "--only", "a"], "--only cannot be combined with --minutes"),
        (["--played", "--only", "a"], "--only cannot be combined with --played"),
    ):
        assert cli.main(["experiment", "run", str(path), *argv]) == 2
        assert message in (err := capsys.readouterr().err), err
    path.write_text(path.read_text("utf-8").partition("[[claims]]")[0], "utf-8")
    with pytest.raises(RlgoError, match="no claim compares two players by their games: expected --scale instead"):
        by_claim.check(read_experiment(path, minutes=1))
