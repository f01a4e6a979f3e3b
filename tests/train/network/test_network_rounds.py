"""Rounds of games, training and matches: what is played with which network, and interruptions."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rlgo.base.errors import RlgoError
from rlgo.learning.collection import learned_positions, read_collection
from rlgo.network.architecture import Shape
from rlgo.network.conv_network import ConvNetwork, load_network
from train.cli.main import main
from train.games.collect import GamesPlan, play_games
from train.network import rounds, training
from train.network.rounds import RoundsPlan, _from_anywhere, is_enough, run_rounds, without_simulations
from train.network.settings import OF_ROUNDS
from train.network.training import TrainingPlan, learn

pytest.importorskip("jax")
PLAN = RoundsPlan(
    "mc_rave,sims=20,memory_mb=1", 6, rounds=2, matched="mc_rave,sims=10,memory_mb=1", match_games=2, size=5,
    opening_plies=2, shape=Shape(1, 8, 8, 8), settings=OF_ROUNDS._replace(steps=2, batch=8, warm_up=0),
)  # fmt: skip


def recipes(folder: Path) -> list[str]:
    return [read_collection([folder / f"round-{k}" / "games"]).recipes[0]["player"] for k in (1, 2)]


@pytest.fixture
def matches(monkeypatch):
    """The matches that were played, and their win rates, the last of which goes on; None: interrupted."""
    played, rates = [], [0.6]

    def play_match(*arguments, **options):  # noqa: ARG001  # as the real one
        played.append(arguments[:2])
        rate = rates.pop(0) if len(rates) > 1 else rates[0]
        return SimpleNamespace(interrupted=rate is None, win_rate=rate, ci95=(0.4, 0.8))

    monkeypatch.setattr(rounds, "play_match", play_match)
    return SimpleNamespace(played=played, rates=rates)


def test_each_round_plays_with_the_network_of_the_one_before(tmp_path, monkeypatch, capsys, matches):
    """The first is interrupted while it plays its match; nothing is played or learned twice, although it moves."""
    matches.rates[:] = [None, 0.6]
    with pytest.raises(KeyboardInterrupt):
        run_rounds(PLAN, tmp_path / "out", progress=False)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/round-1").rglob("*.npz")}
    assert len(written) == 2  # games and the network
    (tmp_path / "out").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    found = run_rounds(PLAN, Path("moved"), progress=False)
    assert Path.cwd() == tmp_path
    moved = {tmp_path / "moved" / path.relative_to(tmp_path / "out"): when for path, when in written.items()}
    assert {path: path.stat().st_mtime_ns for path in moved} == moved
    first, second = (f"round-{k}/network.npz" for k in (1, 2))
    assert recipes(tmp_path / "moved") == [f"{PLAN.player},network={of}" for of in ("none", first)]
    new = f"{PLAN.matched},network={second}"
    assert matches.played[-2:] == [(new, f"{PLAN.matched},network={first}"), (new, "mc_rave,memory_mb=1,network=none")]
    assert [(r.number, r.learned.games, r.learned.step) for r in found] == [(1, 6, 2), (2, 6, 4)]
    assert not capsys.readouterr().out
    for changed, message in [
        (PLAN._replace(games=5), "games was 6, not 5: expected the same, or more, or a new --out"),
        (PLAN._replace(komi_spread=2), "komi_spread was 0.0, not 2.0: expected the same, or a new --out"),
        (PLAN._replace(settings=PLAN.settings._replace(alpha=0.01)), "alpha was 0.003, not 0.01"),
    ]:
        with pytest.raises(RlgoError, match=f"plan.json: {message}"):
            run_rounds(changed, tmp_path / "moved", progress=False)
    (tmp_path / "moved/round-1/learned.json").write_text("{}")
    with pytest.raises(RlgoError, match=r"round-1/learned.json: damaged, or of another version"):
        run_rounds(PLAN, tmp_path / "moved", progress=False)


def test_learning_goes_on_from_round_to_round(tmp_path):
    """The moments, the average and the number of the step: as a single run with the same games does."""
    plan = PLAN._replace(match_games=0, settings=PLAN.settings._replace(steps=3))
    run_rounds(plan, tmp_path / "out", progress=False)
    games = [tmp_path / "out" / f"round-{k}/games" for k in (1, 2)]
    for k in (1, 2):
        settings = plan.settings._replace(steps=3 * k)
        single = learn(TrainingPlan(games[:k], PLAN.shape, settings), tmp_path / "single", progress=False)
        found = load_network(tmp_path / "out" / f"round-{k}/network.npz")
        for a, b in zip(found.parameters, single.parameters, strict=True):
            np.testing.assert_array_equal(a, b)
    lines = [json.loads(line) for line in (tmp_path / "out/learning/metrics.jsonl").read_text().splitlines()]
    assert sorted({line["step"] for line in lines}) == [3, 6]


def test_interrupted_rounds_end_the_same(tmp_path, monkeypatch):
    """Interrupted before each step, and before and after each file of their own, and then with more rounds."""
    plan = PLAN._replace(match_games=0, rounds=3)
    run_rounds(plan, tmp_path / "whole", progress=False)
    advance, write, stops = training.Learning.advance, rounds.write_atomically, set()

    def once(name: object) -> None:
        if name not in stops:
            stops.add(name)
            raise KeyboardInterrupt

    def interrupted(self) -> None:
        once(self.step)
        advance(self)

    def written(path, data) -> None:
        once(("before", str(path)))
        write(path, data)
        once(("after", str(path)))

    monkeypatch.setattr(training.Learning, "advance", interrupted)
    monkeypatch.setattr(rounds, "write_atomically", written)
    for most in (1, 3):
        for _ in range(30):
            with contextlib.suppress(KeyboardInterrupt):
                found = run_rounds(plan._replace(rounds=most), tmp_path / "parts", progress=False)
                break
    assert len(stops) == 2 * (1 + 3) + 6
    assert [r.number for r in found] == [1, 2, 3]
    for k in (1, 2, 3):
        one, two = (load_network(tmp_path / name / f"round-{k}/network.npz") for name in ("whole", "parts"))
        for a, b in zip(one.parameters, two.parameters, strict=True):
            np.testing.assert_array_equal(a, b)
    a, b = ((tmp_path / name / "round-3/learned.json").read_text() for name in ("whole", "parts"))
    assert a == b


def test_steps_follow_from_new_positions_and_the_window_from_all(tmp_path):
    """With c = 20, alpha = 1 and beta = 0.5, the window is 20 (1 + (seen / 20 - 1) / 2)."""
    settings = PLAN.settings._replace(reuse=0.5, window=20, window_alpha=1.0, window_beta=0.5)
    found = [r.learned for r in run_rounds(PLAN._replace(match_games=0, settings=settings), tmp_path, progress=False)]
    games = [read_collection([tmp_path / f"round-{k}/games"]) for k in (1, 2)]
    new = [int(learned_positions(g.arrays).sum()) for g in games]
    assert [r.new for r in found] == new
    assert [r.seen for r in found] == [new[0], sum(new)]
    assert [r.window for r in found] == [round(20 + (seen - 20) / 2) for seen in (new[0], sum(new))]
    steps = [max(1, round(n / 2 / 8)) for n in new]
    assert [r.step for r in found] == [steps[0], sum(steps)]
    lines = [json.loads(line) for line in (tmp_path / "learning/metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if "positions/window" in line][-1]
    assert last["positions/seen"] == sum(new)
    assert found[-1].window <= last["positions/window"] < found[-1].window + 75  # whole games


def test_more_games_continue(tmp_path):
    plan = PLAN._replace(match_games=0, rounds=1)
    run_rounds(plan, tmp_path, progress=False)
    found = run_rounds(plan._replace(games=7, rounds=2), tmp_path, progress=False)
    assert [r.learned.games for r in found] == [6, 7]


def test_a_network_that_loses_plays_no_games(tmp_path, matches):
    """The second of three; the third meets the first again."""
    matches.rates[:] = [0.6, 0.6, 0.4, 0.6, 0.5]
    run_rounds(PLAN._replace(gate=True, rounds=3), tmp_path, progress=False)
    played = [read_collection([tmp_path / f"round-{k}/games"]).recipes[0]["player"] for k in (1, 2, 3)]
    networks = ["none", "round-1/network.npz", "round-1/network.npz"]
    assert played == [f"{PLAN.player},network={of}" for of in networks]
    assert [b for _, b in matches.played[::2]] == [f"{PLAN.matched},network={of}" for of in networks]


def test_komi_differs_between_games(tmp_path):
    run_rounds(PLAN._replace(match_games=0, rounds=1, komi_spread=3.0), tmp_path, progress=False)
    games = read_collection([tmp_path / "round-1/games"])
    assert games.recipes[0]["komi_spread"] == 3
    assert len(set(games.arrays["komi"].tolist())) > 1


def test_the_first_round_plays_with_a_network_that_is_there(tmp_path, monkeypatch, matches):
    given = tmp_path / "gi,ven.npz"
    ConvNetwork.new(PLAN.shape, 3).save(given)
    player = "puct,sims=20,memory_mb=1,network_value=1"  # whose last key needs a network
    monkeypatch.chdir(tmp_path)
    plan = PLAN._replace(player=player, rounds=1, begin=given.name, opponent="uct,memory_mb=1")
    run_rounds(plan, Path("out"), progress=False)
    learned = tmp_path / "out/round-1/network.npz"
    (recipe,) = read_collection([tmp_path / "out/round-1/games"]).recipes
    assert recipe["player"] == f"{player},network=round-0/network.npz"
    new = f"{PLAN.matched},network=round-1/network.npz"
    assert matches.played == [(new, f"{PLAN.matched},network=round-0/network.npz"), (new, "uct,memory_mb=1")]
    before, after = load_network(given).parameters.stem, load_network(learned).parameters.stem
    assert 0 < np.abs(before - after).max() < 0.05  # training continued from it
    run_rounds(plan._replace(begin=str(given)), tmp_path / "out", progress=False)
    ConvNetwork.new(PLAN.shape, 4).save(given)
    with pytest.raises(RlgoError, match=r'plan.json: begin was "[0-9a-f]{16}", not "'):
        run_rounds(plan, tmp_path / "out", progress=False)


def test_rounds_begin_with_games_that_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    play_games(GamesPlan(PLAN.player, 5, size=5), Path("first"), progress=False)
    plan = PLAN._replace(match_games=0, rounds=2)
    found = run_rounds(plan, Path("out"), [Path("first")], progress=False)
    assert [r.learned.games for r in found] == [5, 6]
    assert not Path("out/round-1/games").exists()


def test_files_of_players_are_found_from_the_folder_of_the_rounds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.npz").touch()
    assert _from_anywhere("uct,calibration=a.npz,c=1") == f"uct,calibration={tmp_path / 'a.npz'},c=1"
    Path("b.py").touch()
    assert _from_anywhere("b.py:C,network=b.py:f") == f"{tmp_path}/b.py:C,network={tmp_path}/b.py:f"
    assert _from_anywhere("gtp:gnugo --level 1") == "gtp:gnugo --level 1"
    assert _from_anywhere("uct,calibration=9x9,c=1") == "uct,calibration=9x9,c=1"


def test_the_command(tmp_path, capsys):
    out = tmp_path / "rounds"
    arguments = (
        f"network rounds {PLAN.player} --games 6 --rounds 1 --matched {PLAN.matched} --match-games 2 --size 5 "
        f"--blocks 1 --channels 8 --steps 1 --opening-plies 2 "
        f"--parallel 2 --out {out} --json {tmp_path / 'rounds.json'}"
    ).split()
    assert main(arguments) == 0
    assert "won at equal time" in capsys.readouterr().out
    (only,) = json.loads((tmp_path / "rounds.json").read_text())
    assert only["games"] == 6
    for given, message in [
        (["--begin", str(tmp_path)], "expected a network; folders of games to begin with are --first-games DIR"),
        (["--network", "9x9"], "--network: no such option; here it is --begin FILE"),
        (["--newest", "3"], "--newest: no such option; here it is --set window=POSITIONS, which grows"),
        (["--lr", "1"], "--lr: no such option; here it is --set alpha=VALUE"),
        (["--steps", "9", "--set", "reuse=4"], "--steps cannot be combined with reuse = 4, from which"),
        (["--set", "schedule=cosine"], 'schedule = "cosine" in rounds: expected schedule_steps'),
        (["--gate", "--match-games", "0"], "gate cannot be combined with match_games = 0"),
    ]:
        assert main([*arguments[:3], "--games", "6", "--out", str(tmp_path / "x"), *given]) == 2
        assert message in capsys.readouterr().err
    assert main([*arguments[:3], "--games", "6", "--matched", "rlgo,seconds=1", "--out", str(tmp_path / "x")]) == 2
    assert "matched rlgo,seconds=1: expected a player with simulations" in capsys.readouterr().err


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
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


ASYNCHRONOUS = PLAN._replace(asynchronous=True, match_games=0, rounds=3)


def weights_in(folder: Path) -> list[bytes]:
    return [
        b"".join(a.tobytes() for a in load_network(folder / f"round-{k}/network.npz").parameters) for k in (1, 2, 3)
    ]


def test_games_are_played_while_the_round_before_learns(tmp_path, monkeypatch):
    """They begin before it has learned, with the newest network there is; interrupted anywhere, they end the same."""
    begun, learning = threading.Event(), training.learn

    def play(plan, out, **others):
        if out.parent.name == "round-2":
            begun.set()
        return play_games(plan, out, **others)

    def learn_late(*arguments):
        assert begun.wait(60.0)
        return learning(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(rounds, "play_games", play)
        patch.setattr(rounds, "learn", learn_late)
        found = run_rounds(ASYNCHRONOUS, tmp_path / "whole", progress=False)
    assert [(r.learned.games, r.learned.step) for r in found] == [(6, 2), (6, 4), (6, 6)]
    networks = [read_collection([tmp_path / f"whole/round-{k}/games"]).recipes[0]["player"] for k in (1, 2, 3)]
    assert networks == [f"{PLAN.player},network={of}" for of in ("none", "none", "round-1/network.npz")]
    assert not (tmp_path / "whole/round-4").exists()
    with pytest.raises(RlgoError, match="asynchronous was true, not false"):
        run_rounds(ASYNCHRONOUS._replace(asynchronous=False), tmp_path / "whole", progress=False)

    stopped = ["round-1", "round-2", "round-3"]

    def interrupted(learn_plan, *arguments):
        if stopped:
            stopped.pop()
            raise KeyboardInterrupt
        return learning(learn_plan, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(rounds, "learn", interrupted)
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                run_rounds(ASYNCHRONOUS, tmp_path / "stopped", progress=False)
    run_rounds(ASYNCHRONOUS, tmp_path / "stopped", progress=False)
    assert weights_in(tmp_path / "stopped") == weights_in(tmp_path / "whole")


@pytest.mark.process
def test_asynchronous_rounds_survive_kill_9(tmp_path):
    """Five times, at different moments, in the games or while learning."""
    run_rounds(ASYNCHRONOUS, tmp_path / "whole", progress=False)
    program = (
        "from pathlib import Path; import sys; sys.path.append(sys.argv[1])\n"
        "from test_network_rounds import ASYNCHRONOUS; from train.network.rounds import run_rounds\n"
        "print(flush=True); run_rounds(ASYNCHRONOUS, Path(sys.argv[2]), progress=False)"
    )
    command = [sys.executable, "-c", program, str(Path(__file__).parent), str(tmp_path / "killed")]
    for seconds in (0.5, 1.0, 2.0, 3.0, 5.0):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            process.kill()
    run_rounds(ASYNCHRONOUS, tmp_path / "killed", progress=False)
    assert weights_in(tmp_path / "killed") == weights_in(tmp_path / "whole")
