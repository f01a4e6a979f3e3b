"""Files of experiments, shipped and others: what they may contain, and the errors for the rest."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiment_files import CLAIM, CURVES, GAMES, RIVALS, ages, write
from hypothesis import given
from hypothesis import strategies as st

from rlgo.base.errors import RlgoError
from rlgo.base.resources import list_configs
from rlgo.features.shapes import make_features
from train.cli import main as cli
from train.config import flat, load_config
from train.experiments.declaration.experiment import Experiment
from train.experiments.declaration.matches import matches
from train.experiments.declaration.reading import list_experiments, read_experiment
from train.experiments.declaration.settings import Claim
from train.experiments.results.analysis import shipped_analysis
from train.experiments.running.counts import frequency
from train.experiments.running.run import left_to_do
from train.runs.folder import RunFolder

ROOT = Path(__file__).resolve().parents[3]


# ---------------------------------------------------------------------------------------------
# The shipped files
# ---------------------------------------------------------------------------------------------


def test_every_shipped_experiment_says_what_it_is_about_and_what_it_costs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert {"learning_runs", "gnugo", "shape_counts"} <= set(list_experiments())
    for name in list_experiments():
        e = read_experiment(name)
        head, _, _ = e.path.read_text("utf-8").partition("\n[")
        assert re.match(r"# .{19}", head), name
        assert f"\n#   rlgo experiment run {name}\n" in head
        assert re.search(r"^# Budget on 9x9: .", head, re.MULTILINE), name
        assert e.command == f"rlgo experiment run {name}"
        assert e.settings.title, name
        assert e.settings.source, name
        assert len(e.settings.paper) > 50, name
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
                assert label in e.runs, claim
                assert not (at and claim.of in ("spread", "diverged")), claim
                assert not at or all(int(games) in ages(m.config.run.games) for m in e.runs[label]), claim
            else:
                assert point in {c.name for c in e.contestants}, claim
        if claim.of == "won":
            assert {claim.a, claim.b} in [set(planned.names) for planned in matches(e)]


def frequencies(e: Experiment, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the numbers that the kind "frequency" finds, of a run in which every weight occurred once."""
    f = e.reference.config.features
    seen = np.ones(make_features(e.reference.config.board.size, f.sizes, f.sharing).n_weights + 1, np.int64)
    monkeypatch.setattr("train.experiments.running.training.train_all", lambda *_: None)
    monkeypatch.setattr("train.experiments.running.training.check_folders", lambda *_: None)
    monkeypatch.setattr(RunFolder, "load", lambda _: ({"occurrences": seen}, {"seconds": 0.0}))
    return {line["number"] for line in frequency(e, 1, False) if "number" in line}


def test_shipped_experiments_share_their_runs():
    """One folder is one run: of the same settings to the last, and trained once."""
    configs: dict[str, list] = {}
    for name in list_experiments():
        e = read_experiment(name)
        for spec in [*(m for specs in e.runs.values() for m in specs), *filter(None, [e.reference])]:
            configs.setdefault(str(spec.folder.path), []).append(flat(spec.config))
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
        assert read_experiment(name).runs[label][0].folder.path == reference, name
    assert len(configs[str(reference)]) >= 14


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def test_runs_are_named_by_what_they_change(tmp_path):
    text = CURVES.replace("[runs.a]", '[runs.a]\nseeds = [7]\nbase = "default"\nfeatures.sizes = [1, 3]')
    e = read_experiment(write(tmp_path, text), out=tmp_path / "out")
    runs = tmp_path / "out" / "runs"
    assert {label: [str(m.folder.path.relative_to(runs)) for m in specs] for label, specs in e.runs.items()} == {
        "b": ["base_alpha-0.02_seed-1", "base_alpha-0.02_seed-2"],
        "a": ["default_sizes-1-3_seed-7"],
        "wild": ["base_alpha-1000.0_value-linear_seed-3"],
    }
    assert e.reference.folder.path == runs / "base_seed-1"
    b, (a,) = e.runs["b"], e.runs["a"]
    # What a run measures by itself is not used here.
    own = {"run.eval_games": 200, "run.eval_every": 0, "run.gnugo_games": 0, "run.out": str(runs)}
    for seed, spec in enumerate(b, 1):
        alone = {"learning.alpha": 0.02, "run.seed": seed, "run.name": spec.name}
        assert flat(spec.config) == flat(load_config(tmp_path / "base.toml")) | own | alone
        assert spec.values == {"learning.alpha": 0.02}
        assert spec.base == str(tmp_path / "base.toml")
    alone = {"features.sizes": (1, 3), "run.seed": 7, "run.name": a.name}
    assert flat(a.config) == flat(load_config("default")) | own | alone
    assert a.base == "default"


def test_the_reference_of_ones_own_experiment_is_no_longer_than_its_runs(tmp_path):
    """Nor from another base: a million games were not announced."""
    text = '[experiment]\n[runs.a]\nbase = "default"\nrun.games = 5000\n[runs.b]\nbase = "default"\nrun.games = 7000'
    e = read_experiment(write(tmp_path, text), out=tmp_path)
    assert (e.reference.base, e.reference.config.run.games, e.reference.name) == (
        "default", 7000, e.runs["b"][0].name,
    )  # fmt: skip
    assert left_to_do(e, tmp_path) == "2 of 2 runs with 12,000 games of self-play"


def test_settings_make_an_experiment_ones_own(tmp_path):
    e = read_experiment("plies", out=tmp_path, overrides=["experiment.games=20", "run.games=4_000"])
    assert e.settings.games == 20
    assert {spec.config.run.games for specs in e.runs.values() for spec in specs} == {4_000}
    assert e.reference.config.run.games == 4_000
    assert e.folder == tmp_path / "experiment.games=20_run.games=4_000"
    assert e.command.endswith("plies.toml --set experiment.games=20 run.games=4_000")
    assert shipped_analysis(e) is None
    assert shipped_analysis(read_experiment("plies")) is not None
    with pytest.raises(RlgoError, match=r"unknown key learning\.alhpa"):
        read_experiment("plies", overrides=["learning.alhpa=1"])


def test_two_experiments_that_need_a_run_mean_the_same_folder(tmp_path):
    one = read_experiment(write(tmp_path, CURVES, "one"))
    text = '[experiment]\nbase = "BASE"\nseeds = [2, 5]\n[runs.other]\n[runs.same]\nlearning.alpha = 0.02'
    two = read_experiment(write(tmp_path, text, "two"))
    assert [m.config for m in two.runs["same"]][:1] == [m.config for m in one.runs["b"]][1:]
    assert two.runs["other"][0].config == one.runs["a"][1].config
    assert one.reference == two.reference


def test_a_scale_is_of_all_games_and_has_runs_of_its_own(tmp_path):
    path = write(tmp_path, CURVES)
    whole, half = read_experiment(path), read_experiment(path, scale=0.5)
    assert (whole.folder, half.folder) == (Path("experiments"), Path("experiments/scale-0.5"))
    assert whole.command == f"rlgo experiment run {path}"
    assert half.command == f"{whole.command} --scale 0.5"
    assert read_experiment("plies").command == "rlgo experiment run plies"
    for label, specs in half.runs.items():
        for big, small in zip(whole.runs[label], specs, strict=True):
            changed = {"run.games": 124, "run.out": "experiments/scale-0.5/runs"}  # of 250: an even number
            assert flat(small.config) == flat(big.config) | changed
    assert read_experiment("plies", 0.001).reference.config.run.games == 1000
    assert read_experiment(path, scale=2, out=tmp_path).folder == tmp_path / "scale-2"


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
    assert not read_experiment("gnugo").has_picture
    assert not read_experiment("shape_counts").has_picture
    assert read_experiment("shape_sets").has_picture
    assert read_experiment("shape_frequency").has_picture


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[experiment", r"not valid TOML"),
        ("[experimnt]", r"expected a table \[experiment\]; see train/experiments/declaration/reading.py"),
        ("experiment = 3", r"expected a table \[experiment\]"),
        ('[experiment]\nsede = 3"', r"not valid TOML"),
        ("[experiment]\ntitel = 3", r"unknown key experiment.titel; did you mean experiment.title\?$"),
        ('[experiment]\nkind = "curve"', r'experiment.kind = "curve": expected one of "curves", "games", "counts"'),
        ("[experiment]\ngames = 5", r"experiment.games = 5: expected an even number"),
        (
            "[experiment]\nseeds = [1, 1]",
            r"experiment.seeds = \[1, 1\]: expected a number of seeds up to 10,000, or",
        ),
        (CURVES + "[rnus]", r'unknown table \[rnus\] for kind = "curves": expected runs, panels, claims, stated$'),
        (
            CURVES + "[players]",
            r'unknown table \[players\] for kind = "curves": expected runs, panels, claims, stated$',
        ),
        (GAMES + "[panels]", r'\[panels\] for kind = "games": expected series, players, runs, claims, stated$'),
        ('[experiment]\nkind = "frequency"\n[runs]', r'\[runs\] for kind = "frequency": expected claims$'),
        ('[experiment]\nkind = "counts"\n[run]', r'\[run\] for kind = "counts": expected expected, claims$'),
        ('panels = 3\n[experiment]\nbase = "BASE"', r"panels: expected a table \[panels\]"),
        (CURVES + '[panels]\nleft = "a"', r"panels.left: expected a list of labels"),
        (CURVES + '[panels]\nleft = ["a", "c"]', r"panels.left: c: expected one of b, a, wild$"),
        (CURVES + '[runs."c@100"]', r"runs.c@100: expected a table of settings, and a label without @"),
        (CURVES.replace("[runs.a]", "[runs]\na = 3"), r"runs.a: expected a table of settings"),
        (CURVES + "[runs.c]\nlearning.alhpa = 1", r"runs.c: unknown key learning.alhpa; did you mean lear"),
        (CURVES + "[runs.c]\nlearning.alpha = 0", r"runs.c: learning.alpha = 0: expected a positive number"),
        (CURVES + "[runs.c]\nseeds = 0", r"runs.c: experiment.seeds = 0: expected a number of seeds"),
        (CURVES + "[runs.c]\nrun.seed = 3", r"runs.c: run.seed: expected none; experiments name their own runs"),
        (CURVES + "[claims]", r"claims: expected tables \[\[claims\]\]$"),
        (CURVES + "[[claims]]\ntext = 'so'\nlow = 0", r'claims, number 1: a = "": expected a label or a player$'),
        (CURVES + CLAIM + CLAIM + "hgih = 3", r"claims, number 2: unknown key hgih; did you mean high\?$"),
        (CURVES + CLAIM + 'high = "3"', r'claims, number 1: high = "3": expected a number'),
        (CURVES + CLAIM + 'of = "Elo"', r'claims, number 1: of = "Elo": expected one of "elo", "won", "speed"'),
        (CURVES + CLAIM + 'of = "won"', r'claims, number 1: of = "won": expected elo or spread or diverged$'),
        (CURVES + CLAIM + "high = 0", r"claims, number 1: low = 0, high = 0: expected low < high"),
        (CURVES + CLAIM + "high = nan", r"claims, number 1: low = 0, high = nan: expected low < high"),
        (CURVES + CLAIM + 'b = "c"', r"claims, number 1: c: expected one of b, a, wild$"),
        (
            CURVES + CLAIM + 'b = "a@1k"',
            r"claims, number 1: a@1k: expected games of a checkpoint: 100, 200, 500, 1000 ...$",
        ),
        (CURVES + CLAIM + 'b = "random"', r"claims, number 1: random: expected one of b, a, wild"),
        (GAMES + CLAIM, r"claims, number 1: b: expected one of chance, greedy 0, greedy 0.5$"),
        (GAMES + "y = 3", r"series, number 1: unknown key y; expected one of label, player"),
        (
            GAMES.replace("[0, 0.5]", "3"),
            r"series, number 1: x = 3: expected a list of different numbers",
        ),
        (GAMES.replace("[0, 0.5]", "[1, 1]"), r"series, number 1: x = .*: expected a list of different numbers$"),
        (GAMES.replace('label = "greedy"', ""), r'series, number 1: label = "": expected a name$'),
        (GAMES.replace("chance", '"greedy 0.5"'), r"expected at least two players .*, with different names$"),
        (GAMES + 'against = "greedy"', r"series, number 1: against = greedy: expected another series with all x"),
        (RIVALS + 'against = "third"', r"series, number 2: against = third: expected another series"),
        (
            RIVALS.replace("[5, 7]", "[5, 9]"),
            r"series, number 1: against = right: expected another series",
        ),
        (RIVALS.replace("[5, 7]", "[5, 4]"), r"series, number 1: x = 4: expected a board size from 5 to 19$"),
        (RIVALS.replace("gauntlet", "swiss"), r'against, size and games cannot be combined with pairing = "swiss"$'),
        (GAMES.replace("nosuch.npz", "{weights a}"), r"greedy 0: {weights a}: expected one of \[runs\]: none$"),
        (GAMES + "[runs.b]\nlearning.alpha = 0", r"runs.b: learning.alpha = 0: expected a positive number"),
        (
            GAMES + CLAIM.replace('"b"', '"greedy 0"') + 'of = "speed"',
            r"claims, number 1: expected b, to compare a with",
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
    assert out == ""
    assert err.count("\n") == 1
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
        '[experiment]\nkind = "games"\n[players]\none = "random"\ntwo = "random,seed=2"',  # nobody plays anybody
    ],
)
def test_what_cannot_be_right_is_refused(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(RlgoError, match=rf"^{re.escape(str(path))}: "):
        read_experiment(path)


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "1001"])
def test_a_bad_scale(scale, capsys):
    for command in (["run", "shape_counts"], ["list"]):
        assert cli.main(["experiment", *command, "--scale", scale]) == 2
        words = "expected a positive number up to 1,000"
        assert capsys.readouterr().err == f"rlgo: error: --scale {float(scale)}: {words}\n"


def test_unknown_experiments_and_bases(tmp_path, capsys):
    assert cli.main(["experiment", "run", "shape_count"]) == 2
    err = capsys.readouterr().err
    assert err.endswith("shape_count: no such config file; did you mean shape_counts?\n")
    assert cli.main(["experiment", "run", "nonsense"]) == 2
    assert "nonsense: no such config file; shipped configs: alphabeta_depth" in capsys.readouterr().err
    path = write(tmp_path, CURVES.replace("[runs.a]", '[runs.a]\nbase = "defualt"'))
    with pytest.raises(RlgoError, match=r"defualt: no such config file; did you mean default\?"):
        read_experiment(path)


def test_a_base_beside_the_file_is_found_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    path = write(tmp_path / "there", CURVES.replace("BASE", "base.toml"))
    monkeypatch.chdir(tmp_path)
    (run, _) = read_experiment(path).runs["a"]
    assert run.config.board.size == 5


def test_a_number_may_be_claimed_exactly():
    assert Claim("so", "x", of="number", low=3, high=3).low == 3
    with pytest.raises(RlgoError, match=r"^low = 3, high = 3: expected low < high"):
        Claim("so", "x", low=3, high=3)


def test_a_file_does_not_pass_for_a_shipped_experiment(tmp_path, capsys):
    """Its results would stand in the place of published ones."""
    path = write(tmp_path, CURVES, "plies")
    assert cli.main(["experiment", "run", str(path), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == (
        f"rlgo: error: {path}: plies is the name of an experiment that ships with rlgo: expected another name\n"
    )
    assert read_experiment(ROOT / "configs" / "experiments" / "plies.toml").command == "rlgo experiment run plies"


def test_a_gauntlet_needs_two_sides(tmp_path):
    text = '[experiment]\nkind = "games"\n[players]\none = "random"\ntwo = "random,seed=2"\n'
    for side in (text, text.partition("[players]")[0] + GAMES.partition("[[series]]")[2].join(["[[series]]", ""])):
        with pytest.raises(
            RlgoError, match=r"tiny.toml: expected players in \[\[series\]\] and their opponents in \[players\]"
        ):
            read_experiment(write(tmp_path, side))


@given(st.integers(0, 10**6), st.floats(0.001, 1000))
def test_scaled_games_are_even(games, scale):
    e = replace(read_experiment("shape_counts"), scale=scale)
    n = e.scaled(games)
    assert n % 2 == 0
    assert (n == 0) == (games == 0)
    assert n == 2 or abs(n - games * scale) <= 1
