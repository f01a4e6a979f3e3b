"""Experiments: what their files may hold, what they train and play, and that they go on where they were stopped."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiment_files import BASE, CLAIM, CURVES, GAMES, RIVALS, write
from hypothesis import given
from hypothesis import strategies as st

from rlgo.errors import RlgoError
from rlgo.fast_games import play_fast
from rlgo.resources import config_path, list_configs
from rlgo.settings import SHARINGS
from rlgo.shapes import make_features
from rlgo.weights import Weights, load_weights
from train.cli import main as cli
from train.config import flat, load_config
from train.experiments import counts, curves
from train.experiments import games as rounds
from train.experiments.curves import Point, meetings
from train.experiments.findings import Raw, read_raw, scores_of
from train.experiments.running import Claim, Experiment, list_experiments, read_experiment, run_experiment
from train.runs.folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("sources")


# ---------------------------------------------------------------------------------------------
# The shipped files
# ---------------------------------------------------------------------------------------------


def ages(games: int) -> list[int]:
    """The numbers of games after which weights are saved."""
    return [f * 10**k for k in range(2, 10) for f in (1, 2, 5) if f * 10**k <= games]


def test_every_shipped_experiment_says_what_it_is_about_and_what_it_costs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert {"learning_runs", "gnugo", "shape_counts"} <= set(list_experiments())
    for name in list_experiments():
        e = read_experiment(name)
        head, _, _ = e.path.read_text("utf-8").partition("\n[")
        assert head.startswith("# ") and len(head.splitlines()[0]) > 20, name
        assert f"\n#   rlgo experiment run {name}\n" in head
        assert re.search(r"^# Budget on 9x9: .", head, re.MULTILINE), name
        assert e.command == f"rlgo experiment run {name}"
        assert e.settings.title and e.settings.source and len(e.settings.paper) > 50, name
        assert e.claims or name == "gnugo"
        assert len({claim.text for claim in e.claims}) == len(e.claims), name
        assert read_experiment(f"configs/experiments/{name}.toml") == e
        # Training takes them for what they are not.
        assert name not in list_configs()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", list_experiments())
def test_whatever_a_shipped_claim_is_about_can_be_found(name, monkeypatch):
    e = read_experiment(name)
    numbers = frequencies(e, monkeypatch) if e.settings.kind == "frequency" else set(e.expected)
    for claim in e.claims:
        assert claim.low > -np.inf or claim.high < np.inf, claim
        for point in filter(None, (claim.a, claim.b)):
            if claim.of == "number":
                assert point in numbers, f"{point}: expected one of {sorted(numbers)}"
            elif e.settings.kind == "curves":
                label, at, games = point.partition("@")
                assert label in e.members and not (at and claim.of in ("spread", "diverged")), claim
                assert not at or all(int(games) in ages(m.config.run.games) for m in e.members[label]), claim
            else:
                assert point in {c.name for c in e.contestants}, claim
        if claim.of == "won":
            assert {claim.a, claim.b} in [{a.name, b.name} for a, b in rounds.pairs(e)]


def frequencies(e: Experiment, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the numbers that the kind "frequency" finds, of a run in which every weight occurred once."""
    f = e.reference.config.features
    seen = np.ones(make_features(e.reference.config.board.size, f.sizes, f.sharing).n_weights + 1, np.int64)
    monkeypatch.setattr("train.experiments.counts.train_all", lambda *_: None)
    monkeypatch.setattr("train.experiments.counts.check_folders", lambda *_: None)
    monkeypatch.setattr(RunFolder, "load", lambda _: ({"occurrences": seen}, {"seconds": 0.0}))
    return {line["number"] for line in counts.frequency(e, 1, False) if "number" in line}


def test_shipped_experiments_share_their_runs():
    """One folder is one run: of the same settings to the last, and trained once."""
    configs: dict[str, list] = {}
    for name in list_experiments():
        e = read_experiment(name)
        for member in [*(m for members in e.members.values() for m in members), *filter(None, [e.reference])]:
            configs.setdefault(str(member.folder.path), []).append(flat(member.config))
    for folder, found in configs.items():
        apart = {key for config in found for key in config if config[key] != found[0][key]}
        assert not apart, f"{folder}: experiments differ in {apart}"
    reference = read_experiment("plies").reference.folder.path
    for name, label in (
        ("learning_runs", "paper's settings"),
        ("plies", "two-ply"),
        ("lambda", "0"),
        ("step_size", "logistic 0.1"),
        ("updates", "game, slots"),
        ("shape_sets", "1x1 + 2x2 + 3x3"),
        ("shape_frequency", "reference"),
    ):
        assert read_experiment(name).members[label][0].folder.path == reference, name
    assert len(configs[str(reference)]) >= 14


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def test_runs_are_named_by_what_they_change(tmp_path):
    text = CURVES.replace("[runs.a]", '[runs.a]\nseeds = [7]\nbase = "default"\nfeatures.sizes = [1, 3]')
    e = read_experiment(write(tmp_path, text + "[run]\neval_games = 6\n"), out=tmp_path / "out")
    runs = tmp_path / "out" / "runs"
    assert {label: [str(m.folder.path.relative_to(runs)) for m in members] for label, members in e.members.items()} == {
        "b": ["base_alpha-0.02_seed-1", "base_alpha-0.02_seed-2"],
        "a": ["default_sizes-1-3_seed-7"],
        "wild": ["base_alpha-1000.0_value-linear_seed-3"],
    }
    assert e.reference.folder.path == runs / "base_seed-1"
    b, (a,) = e.members["b"], e.members["a"]
    # What a run measures by itself is not used here.
    own = {"run.eval_games": 6, "run.eval_every": 0, "run.gnugo_games": 0, "run.out": str(runs)}
    for seed, member in enumerate(b, 1):
        alone = {"learning.alpha": 0.02, "run.seed": seed, "run.name": member.name}
        assert flat(member.config) == flat(load_config(tmp_path / "base.toml")) | own | alone
        assert member.values == {"learning.alpha": 0.02} and member.base == str(tmp_path / "base.toml")
    alone = {"features.sizes": (1, 3), "run.seed": 7, "run.name": a.name}
    assert flat(a.config) == flat(load_config("default")) | own | alone
    assert a.base == "default"


def test_two_experiments_that_need_a_run_mean_the_same_folder(tmp_path):
    one = read_experiment(write(tmp_path, CURVES, "one"))
    text = '[experiment]\nbase = "BASE"\nseeds = [2, 5]\n[runs.other]\n[runs.same]\nlearning.alpha = 0.02'
    two = read_experiment(write(tmp_path, text, "two"))
    assert [m.config for m in two.members["same"]][:1] == [m.config for m in one.members["b"]][1:]
    assert two.members["other"][0].config == one.members["a"][1].config
    assert one.reference == two.reference


def test_a_scale_is_of_all_games_and_has_runs_of_its_own(tmp_path):
    path = write(tmp_path, CURVES)
    whole, half = read_experiment(path), read_experiment(path, scale=0.5)
    assert (whole.folder, half.folder) == (Path("experiments"), Path("experiments/scale-0.5"))
    assert whole.command == f"rlgo experiment run {path}" and half.command == f"{whole.command} --scale 0.5"
    assert read_experiment("plies").command == "rlgo experiment run plies"
    for label, members in half.members.items():
        for big, small in zip(whole.members[label], members, strict=True):
            changed = {"run.games": 124, "run.out": "experiments/scale-0.5/runs"}  # of 250: an even number
            assert flat(small.config) == flat(big.config) | changed
    assert read_experiment("plies", 0.001).reference.config.run.games == 1000
    assert read_experiment(path, scale=2, out=tmp_path).folder == tmp_path / "scale-2"


@given(st.integers(0, 10**6), st.floats(0.001, 1000))
def test_scaled_games_are_even(games, scale):
    e = replace(read_experiment("shape_counts"), scale=scale)
    n = e.scaled(games)
    assert n % 2 == 0 and (n == 0) == (games == 0)
    assert n == 2 or abs(n - games * scale) <= 1


def test_players_of_a_series(tmp_path):
    e = read_experiment(write(tmp_path, GAMES.replace("[0, 0.5]", "[0, 0.50, 1.0]")))
    assert [(c.name, c.series, c.x) for c in e.contestants] == [
        ("chance", "", None),
        ("greedy 0", "greedy", 0),
        ("greedy 0.5", "greedy", 0.5),
        ("greedy 1.0", "greedy", 1),
    ]
    assert [c.spec.rpartition("=")[2] for c in e.contestants[1:]] == ["0", "0.5", "1.0"]
    assert e.has_picture
    assert not read_experiment("gnugo").has_picture and not read_experiment("shape_counts").has_picture
    assert read_experiment("shape_sets").has_picture and read_experiment("shape_frequency").has_picture


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[experiment", r"not valid TOML"),
        ("[experimnt]", r"expected a table \[experiment\]: what it holds is explained in train/experiments/running.py"),
        ("experiment = 3", r"expected a table \[experiment\]"),
        ('[experiment]\nsede = 3"', r"not valid TOML"),
        ("[experiment]\ntitel = 3", r"unknown key experiment.titel; the nearest valid key is experiment.title$"),
        ('[experiment]\nkind = "curve"', r'experiment.kind = "curve": expected one of "curves", "games", "counts"'),
        ("[experiment]\ngames = 5", r"experiment.games = 5: expected an even number"),
        ("[experiment]\nseeds = [1, 1]", r"experiment.seeds = \[1, 1\]: expected a number of seeds, or a list"),
        (CURVES + "[rnus]", r'unknown table \[rnus\] for kind = "curves": expected runs, run, panels$'),
        (CURVES + "[players]", r'unknown table \[players\] for kind = "curves": expected runs, run, panels$'),
        (GAMES + "[panels]", r'unknown table \[panels\] for kind = "games": expected series, players, runs, run$'),
        ('[experiment]\nkind = "frequency"\n[runs]', r'\[runs\] for kind = "frequency": expected run$'),
        ('[experiment]\nkind = "counts"\n[run]', r'\[run\] for kind = "counts": expected expected$'),
        ('panels = 3\n[experiment]\nbase = "BASE"', r"panels: expected a table \[panels\]"),
        (CURVES + '[panels]\nleft = "a"', r"panels.left: expected a list of labels"),
        (CURVES + "[panels]\nleft = []", r"panels.left: expected a list of labels"),
        (CURVES + '[panels]\nleft = ["a", "c"]', r"panels.left: c: expected one of b, a, wild$"),
        (CURVES + '[runs."c@100"]', r"runs.c@100: expected a table of settings, and a label without @"),
        (CURVES.replace("[runs.a]", "[runs]\na = 3"), r"runs.a: expected a table of settings"),
        (CURVES + "[runs.c]\nlearning.alhpa = 1", r"runs.c: unknown key learning.alhpa; the nearest valid key is lear"),
        (CURVES + "[runs.c]\nlearning.alpha = 0", r"runs.c: learning.alpha = 0: expected a number above 0"),
        (CURVES + "[runs.c]\nseeds = 0", r"runs.c: experiment.seeds = 0: expected a number of seeds"),
        (CURVES + "[runs.c]\nrun.seed = 3", r"runs.c: run.seed: an experiment names its runs itself"),
        (CURVES + '[runs.c]\nrun.name = "x"', r"runs.c: run.name: an experiment names its runs itself"),
        (CURVES + '[runs.c]\nrun.out = "x"', r"runs.c: run.out: an experiment names its runs itself"),
        (CURVES + "[run]\ngmaes = 3", r"run.gmaes: expected what makes no run another one: run.log_every, run.ev"),
        (CURVES + "[run]\ngames = 3", r"run.games: expected what makes no run another one: run.log_every, run.ev"),
        (CURVES + "[run]\nseed = 3", r"run.seed: expected what makes no run another one"),
        (CURVES + "[run]\neval_games = 0", r"run: run.eval_games = 0: expected an integer of at least 2"),
        (
            CURVES + "[[claims]]\ntext = 'so'",
            r"claims, number 1: expected tables \[\[claims\]\] with text, a",
        ),
        (CURVES + CLAIM + CLAIM + "hgih = 3", r"claims, number 2: expected tables .* some of b, of, low, high$"),
        (CURVES + CLAIM + 'high = "3"', r"claims, number 1: high = '3': expected a number"),
        (CURVES + CLAIM + "high = true", r"claims, number 1: high = True: expected a number"),
        (CURVES + CLAIM + "b = 3", r"claims, number 1: b = 3: expected a text"),
        (
            CURVES + CLAIM + 'of = "Elo"',
            r'claims, number 1: of = "Elo": expected elo, won, speed, spread, diverged, number',
        ),
        (CURVES + CLAIM + "high = 0", r"claims, number 1: low = 0, high = 0: expected low < high"),
        (CURVES + CLAIM + "high = -1", r"claims, number 1: low = 0, high = -1: expected low < high"),
        (CURVES + CLAIM + "high = nan", r"claims, number 1: low = 0, high = nan: expected low < high"),
        (CURVES + CLAIM + 'b = "c"', r'claim "so": c: expected one of b, a, wild$'),
        (CURVES + CLAIM + 'b = "a@1k"', r'claim "so": a@1k: expected games of a checkpoint: 100, 200, 500, 1000 ...$'),
        (CURVES + CLAIM + 'b = "random"', r'claim "so": random: expected one of b, a, wild'),
        (GAMES + CLAIM, r'claim "so": b: expected one of chance, greedy 0, greedy 0.5$'),
        (GAMES + "y = 3", r"series, number 1: unknown key y; the nearest valid key is player$"),
        (
            GAMES.replace("[0, 0.5]", "3"),
            r"series, number 1: x = 3: expected a list of different numbers, found an",
        ),
        (GAMES.replace("[0, 0.5]", "[0, '1']"), r"series, number 1: x = .*: expected a list of different numbers$"),
        (GAMES.replace("[0, 0.5]", "[true]"), r"series, number 1: x = .*: expected a list of different numbers$"),
        (GAMES.replace("[0, 0.5]", "[1, 1]"), r"series, number 1: x = .*: expected a list of different numbers$"),
        (GAMES.replace("[0, 0.5]", "[]"), r"series, number 1: x = .*: expected a list of different numbers$"),
        (GAMES.replace('label = "greedy"', ""), r'series, number 1: label = "": expected a name$'),
        (GAMES.replace("chance", '"greedy 0.5"'), r"expected at least two players .*, all of different names$"),
        (GAMES + 'against = "greedy"', r"series, number 1: against = greedy: expected another series that has all x"),
        (RIVALS + 'against = "third"', r"series, number 2: against = third: expected another series"),
        (
            RIVALS.replace("[5, 7]", "[5, 9]"),
            r"series, number 1: against = right: expected another series",
        ),
        (RIVALS.replace("[5, 7]", "[5, 4]"), r"series, number 1: x = 4: expected a board size from 5 to 19$"),
        (RIVALS.replace("gauntlet", "swiss"), r"against and size are for a gauntlet: expected none of them$"),
        (GAMES.replace("nosuch.npz", "{weights a}"), r"greedy 0: {weights a}: expected one of \[runs\]: none$"),
        (GAMES + "[runs.b]\nlearning.alpha = 0", r"runs.b: learning.alpha = 0: expected a number above 0"),
        (
            GAMES + CLAIM.replace('"b"', '"greedy 0"') + 'of = "speed"',
            r"claims, number 1: expected b, with whom",
        ),
        (GAMES.replace('"random"', '"rnadom"'), r"chance: .*rnadom"),
        (GAMES.replace("epsilon=", "epsilno="), r"greedy 0: .*epsilno"),
        (GAMES.replace("0.5]", "1.5]"), r"greedy 1.5: player greedy: epsilon = 1.5: expected a number from 0 to 1"),
    ],
)
def test_a_bad_file_is_one_line_and_runs_nothing(tmp_path, capsys, text, message):
    path = write(tmp_path, text)
    before = sorted(tmp_path.rglob("*"))
    assert cli.main(["experiment", "run", str(path), "--out", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"rlgo: error: {path}: ")
    assert re.search(message, err.rstrip("\n")), err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "text",
    [
        '[experiment]\nkind = "counts"\n[expected]\n"all weights" = "many"',  # ValueError
        CURVES + '[panels]\nleft = [["a"]]',  # TypeError
        '[experiment]\nbase = "BASE"\n[runs]',  # no runs
        '[experiment]\nbase = "BASE"\ngames = 0',  # no games: the raw results cannot be read
        '[experiment]\nbase = "BASE"\n[runs.reference]\nlearning.alpha = 0.5',  # a point of two runs
        CURVES + '[[claims]]\ntext = "so"\na = "b"',  # no bound: always holds
        CURVES + CLAIM + 'of = "won"',  # b is missing: never found
        GAMES + CLAIM.replace('"b"', '"greedy 0@100"'),  # no learner: never found
        CURVES + CLAIM.replace('"b"', '"b@100"') + 'of = "diverged"',  # never found
        CURVES + CLAIM.replace('"b"', '"b@101"'),  # no checkpoint there: never found
        '[experiment]\nkind = "counts"\n[expected]\nx = 3\n' + CLAIM + 'of = "number"',  # no such number
        '[experiment]\nkind = "games"\n[players]\none = "random"\ntwo = "random,seed=2"',  # nobody meets anybody
    ],
)
def test_what_cannot_be_right_is_refused(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(RlgoError, match=rf"^{re.escape(str(path))}: "):
        read_experiment(path)


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "1001"])
def test_a_bad_scale(scale, capsys):
    assert cli.main(["experiment", "run", "shape_counts", "--scale", scale]) == 2
    assert capsys.readouterr().err == (
        f"rlgo: error: scale = {float(scale):g}: expected a number above 0, at most 1000\n"
    )


def test_unknown_experiments_and_bases(tmp_path, capsys):
    assert cli.main(["experiment", "run", "shape_count"]) == 2
    err = capsys.readouterr().err
    assert "shape_count: no such config file; shipped configs: alphabeta_depth" in err
    assert err.endswith("(did you mean shape_counts?)\n")
    path = write(tmp_path, CURVES.replace("[runs.a]", '[runs.a]\nbase = "defualt"'))
    with pytest.raises(RlgoError, match=r"defualt: no such config file; .* \(did you mean default"):
        read_experiment(path)


def test_a_number_may_be_claimed_exactly():
    claim = {"text": "so", "a": "x", "of": "number", "low": 3, "high": 3}
    assert Claim.read(claim, "here") == Claim("so", "x", "", "number", 3, 3)
    with pytest.raises(RlgoError, match="here: low = 3, high = 3: expected low < high"):
        Claim.read(claim | {"of": "elo"}, "here")


# ---------------------------------------------------------------------------------------------
# Who meets whom
# ---------------------------------------------------------------------------------------------


def points_of(*runs: list[int]) -> list[Point]:
    """Random play, and runs with checkpoints at these numbers of games."""
    own = [Point(f"run {i} #1 @{games}", i, games, None) for i, run in enumerate(runs) for games in run]
    return [Point("random", -1, 0, None), *own]


def expected_meetings(points: list[Point]) -> set[frozenset[str]]:
    """By asking of every pair of points whether they should meet."""
    runs = sorted({p.run for p in points if p.run >= 0})
    own = {run: sorted((p for p in points if p.run == run), key=lambda p: p.games) for run in runs}

    def should(a: Point, b: Point) -> bool:
        if -1 in (a.run, b.run):
            return a.run == -1 and b is own[b.run][0]
        if a.run == b.run:
            return 1 <= own[a.run].index(b) - own[a.run].index(a) <= 2
        ahead = (runs.index(b.run) - runs.index(a.run)) % len(runs)
        if a.games == b.games and (a.run == runs[0] or ahead <= 3):
            return True
        return a is own[runs[0]][-1] and b is own[b.run][-1]

    return {frozenset((a.name, b.name)) for a in points for b in points if a is not b and should(a, b)}


RUNS = st.lists(st.lists(st.sampled_from(ages(20_000)), unique=True).map(sorted), min_size=1, max_size=9)


@given(RUNS)
def test_checkpoints_meet_those_before_and_beside_them(runs):
    points = points_of(*runs)
    met = meetings(points)
    pairs = [frozenset((a.name, b.name)) for a, b in met]
    assert len(set(pairs)) == len(pairs) and all(len(pair) == 2 for pair in pairs)
    assert set(pairs) == expected_meetings(points)
    # One scale: whoever has checkpoints is connected with all others.
    reached, left = {"random"}, {p.name for p in points[1:]}
    while near := {name for pair in pairs if pair & reached for name in pair} & left:
        reached |= near
        left -= near
    assert not left


def test_meetings_by_hand():
    points = points_of([100, 200, 500, 1000], [], [100], [100, 200, 2000])
    found = {frozenset(p.name.replace("run ", "").replace(" #1 ", "") for p in pair) for pair in meetings(points)}
    expected = """
        0@100 random, 2@100 random, 3@100 random,
        0@100 0@200, 0@100 0@500, 0@200 0@500, 0@200 0@1000, 0@500 0@1000, 3@100 3@200, 3@100 3@2000, 3@200 3@2000,
        0@100 2@100, 0@100 3@100, 2@100 3@100, 0@200 3@200,
        0@1000 2@100, 0@1000 3@2000
    """
    assert found == {frozenset(pair.split()) for pair in expected.split(",")}


# ---------------------------------------------------------------------------------------------
# Curves from end to end
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> tuple[Path, Experiment, Raw]:
    """An experiment of two labels with two seeds, and one that diverges."""
    folder = tmp_path_factory.mktemp("experiment")
    e = read_experiment(write(folder, CURVES), out=folder / "out")
    return folder, e, run_experiment(e, folder / "results", jobs=2, progress=False)


def same(ran, tmp_path: Path, text: str, name: str = "tiny") -> Experiment:
    """Another experiment on a copy of the same runs."""
    folder, *_ = ran
    shutil.copytree(folder / "out", tmp_path / "out", dirs_exist_ok=True)
    path = tmp_path / f"{name}.toml"
    path.write_text(text.replace("BASE", str(folder / "base.toml")), "utf-8")
    return read_experiment(path, out=tmp_path / "out")


def test_every_run_is_told_with_its_weights(ran):
    folder, e, raw = ran
    told = [(run["run"], run["seed"], run["state"], run["games"], run["checkpoints"]) for run in raw.of("run")]
    # The base config with seed 1, which all experiments have, comes first.
    assert told == [
        ("a", 1, "finished", 250, [100, 200, 250]),
        ("b", 1, "finished", 250, [100, 200, 250]),
        ("b", 2, "finished", 250, [100, 200, 250]),
        ("a", 2, "finished", 250, [100, 200, 250]),
        ("wild", 3, "diverged", 0, []),
    ]
    for run in raw.of("run")[:4]:
        member = e.members[run["run"]][run["seed"] - 1]
        assert run["changed"] == member.values and run["base"] == str(folder / "base.toml")
        assert list(member.folder.saved()) == [100, 200]
        theta = load_weights(member.folder.weights).theta
        assert run["crc32"] == f"{zlib.crc32(theta.tobytes()):08x}"
        assert run["seconds"] == round(member.folder.load()[1]["seconds"], 1)
    assert len({run["crc32"] for run in raw.of("run")}) == 5  # "" of the one without weights


def test_who_diverges_is_recorded_and_stops_nobody(ran):
    *_, raw = ran
    (wild,) = (run for run in raw.of("run") if run["run"] == "wild")
    assert (wild["state"], wild["crc32"], wild["seconds"]) == ("diverged", "", 0)
    assert wild["reason"] == (
        "diverged: weights grow without bound after 100 games; expected a smaller learning.alpha than 1000"
    )
    assert not any("wild" in name for line in raw.of("pair") for name in line["pair"])


def test_checkpoints_meet_at_equal_conditions(ran):
    """Every game of the raw results is one that `meet` plays again from the checkpoints' files."""
    _, e, raw = ran
    labels = ["a #1", "b #1", "b #2", "a #2"]
    points = [Point(f"{x} @{g}", i, g, None) for i, x in enumerate(labels) for g in (100, 200, 250)]
    lines = {frozenset(line["pair"]): line for line in raw.of("pair")}
    assert set(lines) == expected_meetings([Point("random", -1, 0, None), *points])
    assert len(lines) == len(raw.of("pair")) == len(raw.lines) - 5
    for line in lines.values():
        weights = [load(e, name) for name in line["pair"]]
        features = next(w.features for w in weights if w is not None)
        thetas = [np.zeros(features.n_weights + 1, np.float32) if w is None else w.theta for w in weights]
        seed = np.random.SeedSequence([1, *(zlib.crc32(name.encode()) for name in line["pair"])])
        again = play_fast(features, *thetas, 4, seed, 0.5).scores
        assert Counter(map(tuple, again.tolist())) == Counter(scores_of(line)), line


def load(e: Experiment, name: str) -> Weights | None:
    match = re.fullmatch(r"(\w+) #(\d) @(\d+)", name)
    if match is None:
        return None
    folder = e.members[match[1]][int(match[2]) - 1].folder
    return load_weights(folder.saved().get(int(match[3]), folder.weights))


def test_what_the_results_tell_of_themselves(ran):
    folder, e, raw = ran
    header = raw.header
    assert (header["experiment"], header["kind"], header["scale"], header["seed"]) == ("tiny", "curves", 1, 1)
    assert header["command"] == e.command and header["versions"]["numpy"] == np.__version__
    assert header["seconds"] == pytest.approx(sum(run["seconds"] for run in raw.of("run")), abs=0.05)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", header["finished"]) and re.match(r"\d+ x .", header["machine"])
    assert read_raw(folder / "results" / "tiny.jsonl") == raw
    # Nothing is left beside the results.
    assert [path.name for path in (folder / "results").iterdir()] == ["tiny.jsonl"]


def without_date(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    return re.sub(r'"finished": "[^"]*"', '"finished": ""', text).splitlines()


def test_again_trains_nothing_and_finds_the_same(ran, capsys):
    folder, e, _ = ran
    results = folder / "results" / "tiny.jsonl"
    before = without_date(results)
    finished = [m.folder.state for label in "ab" for m in e.members[label]]
    states = [path.stat().st_mtime_ns for path in finished]
    results.unlink()
    run_experiment(e, folder / "results", jobs=2, progress=False)
    assert "5 runs in" in (err := capsys.readouterr().err) and "4 finished" in err
    assert without_date(results) == before
    assert [path.stat().st_mtime_ns for path in finished] == states


def test_what_is_missing_is_trained_and_comes_out_the_same(ran, tmp_path):
    folder, _, raw = ran
    e = same(ran, tmp_path, CURVES.partition("[runs.wild]")[0])
    (gone,) = (tmp_path / "out").rglob("base_alpha-0.02_seed-2")
    shutil.rmtree(gone)
    lines = run_experiment(e, tmp_path / "results", jobs=2, progress=False).lines

    def told(lines: list[dict]) -> list[dict]:
        return [{k: v for k, v in line.items() if k != "seconds"} for line in lines if line.get("run") != "wild"]

    assert told(lines) == told(raw.lines)
    assert (folder / "out" / "runs" / gone.name / "config.toml").is_file()  # the original is left alone


def test_a_run_that_is_no_label_is_the_reference(ran, tmp_path):
    """It is trained, and plays, so that experiments have something in common; so do its games."""
    _, _, raw = ran
    e = same(ran, tmp_path, '[experiment]\nbase = "BASE"\ngames = 4\nseeds = [2]\n[runs.b]\nlearning.alpha = 0.02\n')
    found = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    assert [(run["run"], run["seed"]) for run in found.of("run")] == [("reference", 1), ("b", 2)]
    assert found.of("run")[0]["crc32"] == raw.of("run")[0]["crc32"]
    before = {tuple(line["pair"]): line for line in raw.of("pair")}
    kept = [line for line in found.of("pair") if tuple(line["pair"]) in before]
    assert len(kept) == 4 and all(line == before[tuple(line["pair"])] for line in kept)


def test_two_labels_may_mean_one_run(ran, tmp_path, capsys):
    e = same(ran, tmp_path, '[experiment]\nbase = "BASE"\ngames = 4\n[runs.x]\n[runs.y]\n')
    found = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    assert "1 runs in" in capsys.readouterr().err
    x, y = found.of("run")
    assert (x["run"], y["run"]) == ("x", "y") and x["crc32"] == y["crc32"]
    assert {"x #1 @250", "y #1 @250"} in [set(line["pair"]) for line in found.of("pair")]


def test_runs_of_other_settings_and_damaged_runs_are_refused(ran, tmp_path):
    text = CURVES.partition("[runs.wild]")[0]
    e = same(ran, tmp_path, text + "[run]\neval_games = 4\n")  # measurements make no run another one
    config = e.reference.folder.config
    config.write_text(config.read_text("utf-8").replace("epsilon = 0.2", "epsilon = 0.3"), "utf-8")
    with pytest.raises(RlgoError, match=r"base_seed-1: holds a run with policy.epsilon = 0.3, expected 0.2; name an"):
        run_experiment(e, tmp_path / "results", progress=False)
    config.write_text(config.read_text("utf-8").replace("epsilon = 0.3", "epsilon = 0.2"), "utf-8")
    state = e.members["b"][1].folder.state
    state.write_bytes(state.read_bytes()[:-9])
    with pytest.raises(RlgoError, match=rf"{re.escape(str(e.members['b'][1].folder.path))}: .*state.npz"):
        run_experiment(e, tmp_path / "results", progress=False)
    assert not (tmp_path / "results").exists()


def test_interrupted_training_goes_on(tmp_path):
    """Ctrl-C in the midst of a run; the same command again ends where one without would have."""
    path, results = write(tmp_path, '[experiment]\nbase = "BASE"\ngames = 4\n'), tmp_path / "results"
    (tmp_path / "base.toml").write_text(BASE.replace("games = 250", "games = 10_000"), "utf-8")
    e = read_experiment(path, out=tmp_path / "out")
    folder = e.reference.folder
    command = [sys.executable, "-m", "rlgo", "experiment", "run", str(path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*command, "--results", str(results)], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (folder.metrics.exists() and folder.metrics.read_bytes().count(b"\n") > 1):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGINT, err
    assert "Traceback" not in err and not results.exists() and not folder.in_use()
    saved = folder.load()[1]["games"]
    assert 0 < saved < 10_000

    (run,) = run_experiment(e, results, jobs=1, progress=False).of("run")
    assert (run["state"], run["games"], run["checkpoints"]) == ("finished", 10_000, ages(10_000))
    metrics = [json.loads(line)["games"] for line in folder.metrics.read_text("utf-8").splitlines()]
    assert metrics == sorted(metrics) and metrics[-1] == 10_000 and set(range(100, 10_001, 100)) <= set(metrics)


# ---------------------------------------------------------------------------------------------
# Games between checkpoints
# ---------------------------------------------------------------------------------------------


def crowd(n: int, sharing: str = "LI+LD") -> list[Point]:
    """Random play, and random weights: a run each."""
    features = make_features(5, (1, 2), sharing)
    points = [Point("random", -1, 0, None)]
    for i in range(n):
        theta = np.random.default_rng(i).normal(size=features.n_weights + 1).astype(np.float32)
        theta[0] = 0
        points.append(Point(f"run {i} #1 @100", i, 100, Weights(features, theta)))
    return points


def played(ran, points: list[Point], jobs: int = 1) -> dict[tuple[str, ...], dict[str, int]]:
    _, e, _ = ran
    e = replace(e, settings=replace(e.settings, games=20))
    return {tuple(line["pair"]): line["openings"] for line in curves._meet(e, points, jobs, False)}


def test_a_meeting_is_the_same_whoever_else_takes_part(ran):
    few, many = played(ran, crowd(3)), played(ran, crowd(9), jobs=2)
    assert len(few) == 6 and few.items() <= many.items()
    assert len({json.dumps(openings) for openings in few.values()}) > 3
    # So it is where others have other shapes, and all are rated on shapes without sharing.
    assert "none" in SHARINGS
    other = replace(crowd(4, "LD")[-1], name="other #1 @100")
    assert few.items() <= played(ran, [*crowd(3), other]).items()


def test_a_meeting_is_the_same_in_whatever_order(ran):
    forth = played(ran, crowd(5))
    back = played(ran, [replace(p, run=p.run if p.run < 0 else 4 - p.run) for p in crowd(5)])
    assert {frozenset(pair): openings for pair, openings in forth.items()} == {
        frozenset(pair): openings for pair, openings in back.items()
    }


def test_equal_players_meet_as_equals(ran):
    """The same weights under two names: in every opening, colours alone decide."""
    points = crowd(1)
    twin = replace(points[1], name="twin #1 @100", run=1)
    openings = played(ran, [*points, twin])["run 0 #1 @100", "twin #1 @100"]
    assert sum(openings.values()) == 10
    assert {"".join(sorted(text)) for text in openings} <= {"LW", "DD"}


# ---------------------------------------------------------------------------------------------
# Counts
# ---------------------------------------------------------------------------------------------


def test_the_features_are_as_many_as_in_the_paper(tmp_path, capsys):
    folder = tmp_path / "new"
    argv = ["experiment", "run", "shape_counts", "--results", str(folder), "--out", str(tmp_path / "out")]
    assert cli.main(argv) == 0
    e = read_experiment("shape_counts")
    raw = read_raw(folder / "shape_counts.jsonl")
    assert {line["number"]: line["value"] for line in raw.lines} == e.expected
    assert len(raw.lines) == len(e.expected) == 20
    for k in (1, 2, 3):
        for sharing in ("LI", "LD"):
            assert e.expected[f"{k}x{k} {sharing} active at most"] == (10 - k) ** 2
            assert e.expected[f"{k}x{k} {sharing} features"] == (10 - k) ** 2 * 3 ** (k * k)
    out = capsys.readouterr().out
    assert "All as in the paper." in out and out.count("| holds |") == 2
    # On another board they are others, which is told.
    other = replace(e, settings=replace(e.settings, size=7))
    numbers = {line["number"]: line["value"] for line in run_experiment(other, tmp_path, progress=False).lines}
    assert numbers["all features"] == 49 * 3 + 36 * 81 + 25 * 19683


def test_how_often_shapes_occurred(ran, tmp_path):
    """The numbers and the histogram, from the learner's own counts by other arithmetic."""
    folder, _, _ = ran
    e = same(ran, tmp_path, '[experiment]\nkind = "frequency"\nbase = "BASE"\n', "often")
    raw = run_experiment(e, tmp_path / "results", jobs=1, progress=False)
    numbers = {line["number"]: line["value"] for line in raw.of("number")}
    state, _ = RunFolder(folder / "out" / "runs" / "base_seed-1").load()
    blocks = make_features(5, (1, 2)).blocks
    assert numbers["games"] == 250
    assert len(blocks) == len(raw.of("histogram")) == 4
    for block, line in zip(blocks, raw.of("histogram"), strict=True):
        name, classes = line["histogram"], line["classes"]
        assert re.split("[ -]", name) == block.name.split("-")
        seen = [int(n) for n in state["occurrences"][block.start : block.stop]]
        assert sum(seen) == numbers[f"{name} occurrences"] > 0
        assert max(seen) == numbers[f"{name} most often"]
        assert len(seen) == numbers[f"{name} weights"]
        assert seen.count(0) == numbers[f"{name} never seen"]
        assert sum(1000 <= n < 10_000 for n in seen) == numbers[f"{name} seen 1,000 to 10,000 times"]
        # Bin k holds 10^(k/4) <= n < 10^((k+1)/4), in whole numbers.
        bins = Counter(next(k for k in range(99) if n**4 < 10 ** (k + 1)) for n in seen if n)
        assert classes == [bins[k] for k in range(max(bins) + 1)]
        assert sum(classes) + seen.count(0) == len(seen)
    totals = [numbers[f"{line['histogram']} occurrences"] for line in raw.of("histogram")]
    assert numbers["most occurrences of a block over least"] == round(max(totals) / min(totals), 2)
    assert len(numbers) == 2 + 4 * 5


# ---------------------------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------------------------


def test_list_tells_what_has_run(tmp_path, capsys):
    shutil.copy(ROOT / "docs" / "experiments" / "shape_counts.jsonl", tmp_path)
    assert cli.main(["experiment", "list", "--results", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == set(list_experiments()) and len(lines) == len(list_experiments())
    for line in lines:
        name = line.split()[0]
        expected = "run on 20" if name == "shape_counts" else "has not run"
        assert expected in line and read_experiment(name).settings.title in line


def test_where_results_go(tmp_path, monkeypatch, capsys):
    """In a source tree to its docs, elsewhere below the folder; at another scale, always beside its runs."""
    monkeypatch.chdir(tmp_path)
    name = "shape_counts"
    for argv, path in (
        ([], "experiments/results"),
        (["--scale", "0.5"], "experiments/scale-0.5/results"),
        (["--scale", "0.5", "--out", "x"], "x/scale-0.5/results"),
        (["--results", "y"], "y"),
    ):
        assert cli.main(["experiment", "run", name, *argv]) == 0
        assert Path(path, f"{name}.jsonl").is_file()
        Path(path, f"{name}.jsonl").unlink()
    Path("docs/experiments").mkdir(parents=True)
    assert cli.main(["experiment", "run", name]) == 0
    assert Path("docs/experiments", f"{name}.jsonl").is_file()
    capsys.readouterr()
    assert cli.main(["experiment", "report"]) == 0
    assert capsys.readouterr().out == "docs/results.md\n"
    assert Path("docs/results.md").read_text("utf-8").startswith("# The papers, reproduced\n")


def test_run_shows_what_was_found(ran, tmp_path, capsys):
    """Through the command line, picture included; `plot` draws it again."""
    strong = '[[claims]]\ntext = "b is strong"\na = "b"\nb = "a"\nlow = -9000\n'
    never = '[[claims]]\ntext = "never"\na = "b@500"\nlow = 0\n'
    e = same(ran, tmp_path, CURVES.partition("[runs.wild]")[0] + strong + never)
    argv = ["--results", str(tmp_path / "results")]
    assert cli.main(["experiment", "run", str(e.path), "--out", str(tmp_path / "out"), *argv]) == 0
    out = capsys.readouterr().out
    assert "## tiny" in out
    assert re.search(r"^\| b \| 2 \|", out, re.MULTILINE)
    assert re.search(r"^\| b is strong \| at least -9,000 \| [+-]?\d+ \(.*\) Elo \| holds \|$", out, re.MULTILINE)
    assert "never" not in out  # what was not found is not shown
    picture = tmp_path / "results" / "tiny.png"
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    picture.unlink()
    assert cli.main(["experiment", "plot", str(e.path), *argv]) == 0
    assert capsys.readouterr().out == f"{picture}\n" and picture.is_file()


def test_plot_needs_results_and_something_to_draw(tmp_path, capsys):
    def refused(*names: str) -> str:
        assert cli.main(["experiment", "plot", *names, "--results", str(tmp_path)]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        return err

    assert refused("plies") == (
        f"rlgo: error: {tmp_path}/plies.jsonl: no such file: plies has not run (rlgo experiment run plies)\n"
    )
    shutil.copy(ROOT / "docs" / "experiments" / "shape_counts.jsonl", tmp_path)
    assert refused("shape_counts") == "rlgo: error: shape_counts: has no picture\n"
    (tmp_path / "plies.jsonl").write_text('{"format": "another"}\n')
    assert refused("plies") == (
        f"rlgo: error: {tmp_path}/plies.jsonl: expected raw results of an experiment, this is none\n"
    )
    assert config_path("plies", "experiments").is_file()


def test_results_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    argv = ["experiment", "run", "shape_counts", "--out", str(tmp_path / "out"), "--results", str(tmp_path / "file")]
    assert cli.main(argv) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"rlgo: error: {tmp_path}/file") and err.count("\n") == 1
    assert cli.main(["experiment", "report", "--results", str(tmp_path), "-o", str(tmp_path / "no" / "x.md")]) == 2
    err = capsys.readouterr().err
    assert re.fullmatch(rf"rlgo: error: {tmp_path}/no/x.md: cannot be written: .*No such file or directory.*\n", err)
    mine = tmp_path / "mine.md"
    mine.write_text("# My notes\n")
    assert cli.main(["experiment", "report", "--results", str(tmp_path), "-o", str(mine)]) == 2
    assert "mine.md: expected a report on experiments" in capsys.readouterr().err
    assert mine.read_text() == "# My notes\n"


def test_a_file_does_not_pass_for_a_shipped_experiment(tmp_path, capsys):
    """Its results would stand in the place of published ones."""
    path = write(tmp_path, CURVES, "plies")
    assert cli.main(["experiment", "run", str(path), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == (
        f"rlgo: error: {path}: plies is an experiment that ships with rlgo: expected another name\n"
    )
    assert read_experiment(ROOT / "configs" / "experiments" / "plies.toml").command == "rlgo experiment run plies"


def test_results_of_another_scale_stay(tmp_path):
    run_experiment(read_experiment("shape_counts", out=tmp_path), tmp_path / "results", progress=False)
    before = (tmp_path / "results" / "shape_counts.jsonl").read_bytes()
    quick = read_experiment("shape_counts", scale=0.5, out=tmp_path)
    with pytest.raises(RlgoError, match=r"shape_counts.jsonl: results of scale 1: expected another folder by --res"):
        run_experiment(quick, tmp_path / "results", progress=False)
    assert (tmp_path / "results" / "shape_counts.jsonl").read_bytes() == before
