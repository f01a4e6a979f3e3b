"""Numbers that papers state about their figures: reading them, and placing them on our scales."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from experiment_files import GAMES, games_of, write

from rlgo.base.errors import RlgoError
from train.experiments.declaration.experiment import GNUGO_0, GNUGO_10
from train.experiments.declaration.reading import list_experiments, read_experiment
from train.experiments.declaration.settings import StatedConfig
from train.experiments.report.published import stated_ratings, stated_rows, stated_shares
from train.experiments.results.analysis import Analysis

STATED = """
[[stated]]
series = "greedy"
where = "Section 1"
x = [0, 0.5]
y = [100, 200]
"""


@pytest.mark.parametrize("name", list_experiments())
def test_what_shipped_files_state_names_its_place(name):
    for s in read_experiment(name).stated:
        assert re.match(r"(Sections? \d|Table \d|not in the paper: )", s.where), s
        # MC-RAVE has page numbers in print, the TD paper's copy has none.
        is_mc_rave = read_experiment(name).settings.source.startswith("MC-RAVE")
        assert not is_mc_rave or "p. 18" in s.where or "not in the paper" in s.where, s


def test_a_table_is_read(tmp_path):
    e = read_experiment(write(tmp_path, GAMES + STATED))
    assert e.stated == (StatedConfig(series="greedy", where="Section 1", x=(0, 0.5), y=(100, 200)),)
    assert stated_rows(e)[1:] == [
        ("the paper", "greedy", "0", "100 Elo", "Section 1"),
        ("the paper", "greedy", "0.5", "200 Elo", "Section 1"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"greedy"', '"nobody"', r"series = nobody: expected one of chance, greedy$"),
        ("x = [0, 0.5]", "x = [0]", r"y has 2 numbers: expected one for each x, or a single one without x$"),
        ("y = [100, 200]", "y = [100, 200]\nup_to = [150]", r"up_to: expected a number above each y$"),
        ("y = [100, 200]", "y = [100, 200]\nup_to = [150, 200]", r"up_to: expected a number above each y$"),
        ("y = [100, 200]", 'y = [0.1, 1]\nof = "won"\nb = "chance"', r"y, up_to: expected shares between 0 and 1$"),
        ("y = [100, 200]", 'y = [0.1, 0.2]\nof = "won"', r"b = : expected a player, a series or a level of GNU Go$"),
        ("y = [100, 200]", 'y = [1, 2]\nb = "no"', r"b = no: expected a player, a series or a level of GNU Go$"),
        ('where = "Section 1"\n', "", r"where = \"\": expected the place in the paper$"),
    ],
)
def test_other_tables_are_refused(tmp_path, old, new, message):
    assert old in STATED
    with pytest.raises(RlgoError, match=r"tiny.toml: stated, number 1: " + message):
        read_experiment(write(tmp_path, GAMES + STATED.replace(old, new)))


def test_numbers_are_placed_on_the_scale_of_the_results():
    e = read_experiment("alphabeta_depth")
    found = Analysis(games_of(e), anchors={GNUGO_0: 1700.0})
    depth_2 = found.elo("depth 2").value
    plain = StatedConfig(series="depth", where="Table 2", x=(1, 2), y=(1000, 1100))
    assert stated_ratings(found, plain) == [(1000, 1000), (1100, 1100)]
    gain = replace(plain, b="depth 2", y=(50, 60), up_to=(80, 90))
    assert stated_ratings(found, gain) == [(depth_2 + 50, depth_2 + 80), (depth_2 + 60, depth_2 + 90)]
    won = StatedConfig(series="depth", where="Table 2", y=(0.25,), of="won", b=GNUGO_0)
    ((low, high),) = stated_ratings(found, won)
    assert low == high == pytest.approx(1700 - 190.85, abs=0.01)
    assert stated_ratings(found, replace(won, b=GNUGO_10)) == []  # who has not played
    free = Analysis(games_of(e))
    assert stated_ratings(free, plain) == stated_ratings(free, gain) == []  # no common scale


def test_shares_are_those_against_one_opponent():
    won = StatedConfig(series="depth", where="Table 2", y=(0.25,), of="won", b=GNUGO_0)
    assert stated_shares(won, (GNUGO_0,)) == [(0.25, 0.25)]
    assert stated_shares(won, (GNUGO_10,)) == []
    ahead = replace(won, of="elo", y=(400,), b="UCT")
    assert stated_shares(ahead, ("UCT", "UCT, 10,000")) == [pytest.approx((10 / 11, 10 / 11))]
