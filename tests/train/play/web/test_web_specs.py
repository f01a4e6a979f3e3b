"""Player specs from a page: what a request may not use, and the menu of what it may."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from web_tools import SMALL

from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir
from train.play.web.access.files import Records, WeightFiles, confined, names_below
from train.play.web.access.menu import SLIDERS, players_menu
from train.play.web.access.specs import Specs
from train.play.web.options import Options
from train.players.keys import PLAYERS


@pytest.fixture(scope="module")
def specs() -> Specs:
    return Specs(SMALL, WeightFiles())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gtp:touch /tmp/x", "player 'gtp:touch /tmp/x': expected one of random"),
        (" gtp:x", "player ' gtp:x': expected one of"),
        ("/etc/passwd", "player '/etc/passwd': expected one of"),
        ("configs/players/random.toml", "player 'configs/players/random.toml': expected one of"),
        ("random.toml", "player 'random.toml': expected one of"),
        ("greedy,weights=/etc/passwd", "weights '/etc/passwd': expected the name"),
        ("greedy,weights=../x.npz", "weights '../x.npz': expected the name"),
        ("dyna2,long=/etc/passwd", "weights '/etc/passwd': expected the name"),
        ("dyna2,long_learn=on,long_save=x.npz", "player dyna2: long_save: not available here"),
        ("puct,network=x.onnx", "network = x.onnx: expected 13x13 or 19x19 or 9x9 or none"),
        ("os:getcwd", "player 'os:getcwd': expected one of"),
        ("mc_rave,memory_mb=65", "player mc_rave: memory_mb = 65: expected at most 64"),
        ("mc_rave,workers=2", "player mc_rave: workers = 2: expected at most 1"),
        ("alphabeta,table_bits=21", "player alphabeta: table_bits = 21: expected at most 20"),
        ("td_search,delay=11", "player td_search: delay = 11: expected at most 10"),
        ("table_search,sims=1e6", "player table_search: simulations = 1e+06: expected at most 20000"),
        ("heuristic_mc_rave,first=gtp:touch /tmp/x", "prior_search = gtp:touch /tmp/x: expected a td_search or dyna2"),
        ("heuristic_mc_rave,first=x.toml", "prior_search = x.toml: expected a td_search or dyna2"),
        ("heuristic_mc_rave,first=dyna2;long=/etc/passwd", "weights '/etc/passwd': expected the name"),
        ("heuristic_mc_rave,first=dyna2;long=9x9-1M", "prior_search = dyna2;long=9x9-1M: expected no weight file"),
        ("heuristic_mc_rave,first=dyna2;long_learn=on;long_save=x", "player dyna2: long_save: not available"),
        ("mc_rave,patterns=x.npz", "patterns = x.npz: expected 9x9"),
        ("mc_rave,k=0", "player mc_rave: k = 0: expected a positive number"),
        ("random,random", "player random: unknown key random"),
    ],
)
def test_what_a_request_may_not_ask_for(specs, spec, message):
    with pytest.raises(RlgoError) as refused:
        specs.check(spec, 9)
    assert str(refused.value).startswith(message)


def test_the_memory_of_trees_is_bounded_by_default(specs):
    assert specs.check("mc_rave", 5).values["memory_mb"] == 64
    assert specs.check("mc_rave,memory_mb=8", 5).values["memory_mb"] == 8
    assert "memory_mb" not in specs.check("mc,sims=5", 5).values


def test_a_page_may_choose_a_strength(specs):
    assert specs.check("rlgo,strength=9", 9).values == {"strength": 9, "memory_mb": 64}
    assert specs.make("rlgo,strength=9", 9).resources.memory_mb == 64
    with pytest.raises(RlgoError, match="strength cannot be combined with seconds"):
        specs.check("rlgo,strength=9,seconds=2", 9)


def test_the_server_s_own_spec_is_trusted():
    spec = "mc_rave,memory_mb=100,workers=2"
    assert Specs(Options(player=spec), WeightFiles()).check(spec, 9).values["memory_mb"] == 100
    assert Specs(Options(player=spec), WeightFiles()).check(f"{spec},seconds=5", 9).values["memory_mb"] == 100
    with pytest.raises(RlgoError, match="at most 64"):
        Specs(Options(player=spec), WeightFiles()).check("mc_rave,memory_mb=101", 9)
    with pytest.raises(RlgoError, match="at most 64"):
        Specs(Options(player="greedy"), WeightFiles()).check(spec, 9)
    assert Specs(Options(player="gtp:x y"), WeightFiles()).check("gtp:x y", 9).name == "gtp"


def test_weight_files_by_name(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "deep").mkdir()
    shipped = checkpoints_dir() / "9x9-1M.npz"
    for name in ("in/mine.npz", "in/deep/other.npz", "outside.npz", "in/.hidden.npz"):
        shutil.copy(shipped, tmp_path / name)
    (tmp_path / "in" / "damaged.npz").write_bytes(b"x")
    (tmp_path / "in" / "link.npz").symlink_to(tmp_path / "outside.npz")
    files = WeightFiles((tmp_path / "in",))
    names = [file.name for file in files.list() if file.weights.features.size == 9]
    assert names == ["9x9-100M", "9x9-10M", "9x9-1M", "9x9-liberties-5M", "deep/other.npz", "mine.npz"]
    assert [file.name for file in files.list() if file.is_default] == ["13x13-1M", "19x19-2M", "9x9-100M"]
    assert files.find("deep/other.npz").path == tmp_path / "in" / "deep" / "other.npz"
    assert files.find("", 9).name == "9x9-100M"
    specs = Specs(SMALL, files)
    assert specs.check("greedy,weights=mine.npz", 9).values["weights"] == str(tmp_path / "in" / "mine.npz")
    for name in ("link.npz", "../outside.npz", str(shipped), "nothing.npz", "", "damaged.npz", "deep"):
        with pytest.raises(RlgoError):
            files.find(name)
    with pytest.raises(RlgoError, match="expected weights for 5x5, found weights for 9x9"):
        specs.check("greedy,weights=mine.npz", 5)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/passwd", "a/../../x", "a\0b", "x/" * 3000, "x" * 400])
def test_names_stay_in_their_folder(tmp_path, name):
    with pytest.raises(RlgoError):
        confined(tmp_path, name)


def test_names_below_a_folder(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("b.sgf", "a/c.sgf", ".d.sgf", "e.txt"):
        (tmp_path / name).touch()
    assert names_below(tmp_path, ".sgf") == ["a/c.sgf", "b.sgf"]
    assert confined(tmp_path, "a/c.sgf") == (tmp_path / "a" / "c.sgf").resolve()


def test_records_that_cannot_be_read_are_not_written(tmp_path):
    records = Records((tmp_path,))
    for name, data in (("x.sgf", b"no record"), ("x.txt", b"(;SZ[5])"), (".x.sgf", b"(;SZ[5])")):
        with pytest.raises(RlgoError):
            records.write(name, data)
    assert list(tmp_path.iterdir()) == []
    records.write("a/x.sgf", b"(;SZ[5])")
    assert Path(tmp_path / "a" / "x.sgf").read_bytes() == b"(;SZ[5])"
    with pytest.raises(RlgoError, match="expected at most 3 bytes"):
        records.read("a/x.sgf", 3)


def test_the_menu_has_every_player_and_what_a_slider_needs():
    menu = players_menu()
    assert [player["name"] for player in menu] == list(PLAYERS)
    keys = {(player["name"], key["name"]): key for player in menu for key in player["keys"]}
    k = keys["mc_rave", "rave_k"]
    assert (k["aliases"], k["kind"], k["default"]) == (["k"], "number", "10000")
    assert (k["range"]["scale"], k["range"]["default"]) == ("log", 10_000)
    assert keys["td_search", "policy_plies"]["choices"] == ["never"]
    assert keys["td_search", "lambda"]["range"]["high"] == 1
    assert "minimum_mse" in keys["mc_rave", "schedule"]["choices"]
    kinds = {
        ("mc_rave", "schedule"): "choice", ("greedy", "weights"): "weights", ("dyna2", "long_term"): "weights",
        ("dyna2", "sizes"): "sizes", ("mc_rave", "save"): "switch", ("rlgo", "strength"): "integer",
    }  # fmt: skip
    assert {key: keys[key]["kind"] for key in kinds} == kinds
    assert [keys["rlgo", "strength"]["range"][end] for end in ("low", "high")] == [1, 10]
    assert {name for kind in PLAYERS.values() for name in kind.all_keys()} >= set(SLIDERS)
    for slider in SLIDERS.values():
        assert slider.low < slider.high
        assert slider.low > 0 or not slider.is_log
