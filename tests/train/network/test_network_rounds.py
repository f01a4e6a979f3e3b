"""Rounds of games, training and matches: what is played with which network, and interruptions."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rlgo.base.errors import RlgoError
from rlgo.learning.collection import read_collection
from rlgo.network.architecture import Shape
from rlgo.network.conv_network import ConvNetwork, load_network
from train.cli.main import main
from train.network import rounds
from train.network.rounds import RoundsPlan, is_enough, run_rounds, without_simulations
from train.network.settings import NetworkSettings

pytest.importorskip("jax")
PLAN = RoundsPlan(
    "mc_rave,sims=20,memory_mb=1", 6, rounds=2, matched="mc_rave,sims=10,memory_mb=1", match_games=2, newest=1, size=5,
    opening_plies=2, shape=Shape(1, 8, 8, 8), settings=NetworkSettings(steps=2, batch=8),
)  # fmt: skip


def recipes(folder: Path) -> list[str]:
    return [read_collection([folder / f"round-{k}" / "games"]).recipes[0]["player"] for k in (1, 2)]


def test_each_round_plays_with_the_network_of_the_one_before(tmp_path, monkeypatch, capsys):
    """The first is interrupted while it plays its match; nothing is played or learned twice."""
    calls = []

    def play_match(*arguments, **options):  # noqa: ARG001  # as the real one
        calls.append(arguments[:2])
        return SimpleNamespace(interrupted=len(calls) == 1, win_rate=0.6)

    monkeypatch.setattr(rounds, "play_match", play_match)
    with pytest.raises(KeyboardInterrupt):
        run_rounds(PLAN, tmp_path, progress=False)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "round-1").rglob("*.npz")}
    assert len(written) == 3  # games, the state of learning, and the network
    found = run_rounds(PLAN, tmp_path, progress=False)
    assert {path: path.stat().st_mtime_ns for path in written} == written
    first = tmp_path / "round-1" / "network" / "network.npz"
    assert recipes(tmp_path) == [f"{PLAN.player},network={of}" for of in ("none", first)]
    second = f"{PLAN.matched},network={tmp_path / 'round-2' / 'network' / 'network.npz'}"
    assert calls[-2:] == [(second, f"{PLAN.matched},network={first}"), (second, "mc_rave,memory_mb=1,network=none")]
    assert [(r.number, r.games) for r in found] == [(1, 6), (2, 6)]
    assert not capsys.readouterr().out
    with pytest.raises(RlgoError, match="another plan: expected a new --out"):
        run_rounds(PLAN._replace(games=7), tmp_path, progress=False)


def test_the_first_round_plays_with_a_network_that_is_there(tmp_path, monkeypatch):
    calls = []

    def play_match(*arguments, **options):  # noqa: ARG001  # as the real one
        calls.append(arguments[:2])
        return SimpleNamespace(interrupted=False, win_rate=0.6)

    monkeypatch.setattr(rounds, "play_match", play_match)
    given = tmp_path / "given.npz"
    ConvNetwork.new(PLAN.shape, 3).save(given)
    player = "puct,sims=20,memory_mb=1,network_value=1"  # whose last key needs a network
    plan = PLAN._replace(player=player, rounds=1, network=str(given), opponent="uct,memory_mb=1")
    run_rounds(plan, tmp_path / "out", progress=False)
    learned = tmp_path / "out" / "round-1" / "network" / "network.npz"
    assert read_collection([tmp_path / "out/round-1/games"]).recipes[0]["player"] == f"{player},network={given}"
    new = f"{PLAN.matched},network={learned}"
    assert calls == [(new, f"{PLAN.matched},network={given}"), (new, "uct,memory_mb=1")]
    before, after = load_network(given).parameters.stem, load_network(learned).parameters.stem
    assert 0 < np.abs(before - after).max() < 0.05  # training continued from it


def test_the_command(tmp_path, capsys):
    out = tmp_path / "rounds"
    arguments = (
        f"network rounds {PLAN.player} --games 6 --rounds 1 --matched {PLAN.matched} --match-games 2 --size 5 "
        f"--blocks 1 --channels 8 --steps 1 --opening-plies 2 --out {out} --json {tmp_path / 'rounds.json'}"
    ).split()
    assert main(arguments) == 0
    assert "won at equal time" in capsys.readouterr().out
    (only,) = json.loads((tmp_path / "rounds.json").read_text())
    assert only["games"] == 6
    assert main([*arguments[:3], "--games", "6", "--matched", "rlgo,seconds=1", "--out", str(tmp_path / "x")]) == 2
    assert "matched rlgo,seconds=1: expected a player with simulations" in capsys.readouterr().err


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds, "run_rounds", interrupted)
    assert main(["network", "rounds", "mc_rave,sims=20", "--games", "6", "--out", str(tmp_path)]) == 130
    assert f"the rounds so far are in {tmp_path}; run the same command again to continue" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"player": "puct,network_after=4"}, "network_after has no effect here: it needs a network of rlgo's own"),
        ({"matched": "rlgo,sims=10,network_after=4"}, "network_after has no effect here"),
        ({"opponent": "puct,sims=x"}, "sims = "),
        ({"opponent": "uct,sims=20"}, "expected a spec without simulations"),
        ({"opponent": "random"}, "player random: unknown key simulations"),
        ({"player": "puct,sims=10,network=9x9"}, "player puct,sims=10,network=9x9: expected one without network"),
    ],
)
def test_bad_specs_are_refused_before_games_are_played(tmp_path, changes, message):
    with pytest.raises(RlgoError, match=message):
        run_rounds(PLAN._replace(**changes), tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_specs_without_simulations():
    assert without_simulations("rlgo,sims=400,c=1") == "rlgo,c=1"
    assert without_simulations("rlgo,simulations=4") == "rlgo"


@pytest.mark.parametrize(("rates", "enough"), [([0.5], False), ([0.6, 0.52], False), ([0.9, 0.52, 0.51], True)])
def test_two_rounds_that_add_little_are_the_last(rates, enough):
    assert is_enough([SimpleNamespace(win_rate=rate) for rate in rates]) == enough
