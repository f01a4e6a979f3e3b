"""Networks trained on games: gradients, resumption, measures, ONNX, and the command line."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from network_files import random_network

import rlgo
from rlgo.base.errors import RlgoError
from rlgo.base.resources import list_configs
from rlgo.features.planes import planes
from rlgo.go.positions import Positions
from rlgo.network.architecture import KINDS, SCORE_UNIT, Parameters, Shape, new_parameters
from rlgo.network.conv_network import ConvNetwork, load_network
from train.cli.main import main
from train.games.collect import GamesPlan, play_games
from train.network import training
from train.network.measure import measure
from train.network.settings import OF_ROUNDS, NetworkSettings, read_settings
from train.network.training import Learning, Pool, TrainingPlan, learn

jax = pytest.importorskip("jax")
SETTINGS = NetworkSettings(steps=6, batch=8, averaging=0.5, warm_up=0)
TINY = Shape(blocks=1, channels=8, head_channels=8, value_hidden=8)


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """Twelve games on 5x5, with searches, of which some are held out."""
    folder = tmp_path_factory.mktemp("games")
    play_games(GamesPlan("mc_rave,sims=30,memory_mb=1", 12, size=5), folder, progress=False)
    return folder


def plan(games, **others) -> TrainingPlan:
    return TrainingPlan([games], TINY, SETTINGS._replace(**others), save_every=4, most_tested=50)


def weights_of(network: ConvNetwork) -> np.ndarray:
    return np.concatenate([a.ravel() for a in network.parameters])


# ---------------------------------------------------------------------------------------------
# The network in JAX
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 9])
def test_the_compiled_network_is_the_one_that_learns(size):
    from train.network.loss import forward

    network = random_network()
    game = rlgo.Game(size)
    for p in game.sensible_moves()[::3][:8]:
        game.play(p)
    x = planes(Positions.along(game), KINDS)
    logits, win, score, owners = (np.asarray(a) for a in forward(network.parameters, x))
    found = network.outputs(x)
    np.testing.assert_allclose(found.logits, logits, atol=1e-4)
    np.testing.assert_allclose(found.value, 1 / (1 + np.exp(-win)), atol=1e-4)
    np.testing.assert_allclose(found.score, SCORE_UNIT * score, atol=1e-3)
    np.testing.assert_allclose(found.ownership, np.tanh(owners), atol=1e-4)


def test_the_loss_is_its_definition(games):
    from train.network.loss import loss, targets_of

    network, data = random_network(), rlgo.read_games(games, KINDS, held_out=None, lam=0.7)
    batch = data.take(np.arange(0, 40, 3))
    batch = batch._replace(score=np.where(np.arange(len(batch.z)) % 3, batch.score, np.nan).astype(np.float32))
    settings = NetworkSettings(value_weight=2, score_weight=0.5, ownership_weight=0.25)
    total, parts = loss(network.parameters, batch.planes, targets_of(batch), settings)
    out = network.outputs(batch.planes)
    p = np.exp(out.logits.astype(float)) / np.exp(out.logits.astype(float)).sum(axis=1, keepdims=True)
    goal = batch.lambda_return
    ends = ~np.isnan(batch.score)
    off = np.abs(out.score - batch.score)[ends] / SCORE_UNIT
    share, owned = (1 + out.ownership.astype(float)) / 2, (1 + batch.ownership) / 2
    entropy = -(owned * np.log(share) + (1 - owned) * np.log(1 - share)).mean(axis=(1, 2))
    expected = {
        "policy": -(batch.policy * np.log(p)).sum(axis=1).mean(),
        "value": -(goal * np.log(out.value) + (1 - goal) * np.log(1 - out.value)).mean(),
        "score": np.where(off < 1, off**2 / 2, off - 0.5).sum() / len(ends),
        "ownership": entropy[ends].sum() / len(ends),
    }
    for name, value in expected.items():
        assert float(parts[name]) == pytest.approx(value, abs=1e-4), name
    weights = {"policy": 1, "value": 2, "score": 0.5, "ownership": 0.25}
    assert float(total) == pytest.approx(sum(weights[name] * value for name, value in expected.items()), abs=1e-4)


def test_gradients_are_slopes(games):
    """Against differences of the loss, in a random direction."""
    from train.network.loss import loss, targets_of

    batch = rlgo.read_games(games, KINDS, held_out=None).take(np.arange(6))
    targets, w = targets_of(batch), random_network(TINY).parameters
    value_of = jax.jit(lambda w: loss(w, batch.planes, targets, SETTINGS)[0])
    rng = np.random.default_rng(2)
    way = Parameters(*(rng.normal(0, 1, a.shape).astype(np.float32) for a in w))

    def at(t: float) -> float:
        moved = Parameters(*(a + np.float32(t) * b for a, b in zip(w, way, strict=True)))
        return float(value_of(moved))

    gradient = jax.jit(jax.grad(value_of))(w)
    slope = sum(float((np.asarray(g) * b).sum()) for g, b in zip(gradient, way, strict=True))
    assert (at(1e-3) - at(-1e-3)) / 2e-3 == pytest.approx(slope, rel=0.05)


def test_the_gradient_of_a_maximum():
    """It is JAX's own where one point is the highest, and reaches all of those that are."""
    from train.network.loss import maximum

    y = np.random.default_rng(3).normal(size=(4, 5, 5, 2)).astype(np.float32)
    weights = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
    found, expected = (
        jax.grad(lambda x, f=f: (weights * f(x)).sum())(y) for f in (maximum, lambda x: x.max(axis=(1, 2)))
    )
    np.testing.assert_array_equal(maximum(y), y.max(axis=(1, 2)))
    np.testing.assert_array_equal(found, expected)
    assert (jax.grad(lambda x: maximum(x).sum())(np.zeros_like(y)) == 1).all()


# ---------------------------------------------------------------------------------------------
# Learning
# ---------------------------------------------------------------------------------------------


def test_it_learns(games, tmp_path):
    untrained = ConvNetwork(new_parameters(TINY, 1))
    data = rlgo.read_games(games, KINDS)
    network = learn(plan(games, steps=60, batch=32, averaging=0.8, alpha=0.01), tmp_path / "n", progress=False)
    before, after = measure(untrained, data), measure(network, data)
    assert after.policy_loss < before.policy_loss - 0.1
    assert after.value_loss < before.value_loss - 0.02
    assert after.owner_right > before.owner_right + 0.05


def test_training_begins_with_a_network(games, tmp_path):
    """With its weights; and it is another plan, which the folder of a new network does not take."""
    begin = ConvNetwork(random_network(TINY).parameters)
    at_rest = plan(games, alpha=1e-9, steps=2)
    network = learn(at_rest._replace(begin=begin), tmp_path / "n", progress=False)
    np.testing.assert_allclose(weights_of(network), weights_of(begin), atol=1e-6)
    with pytest.raises(RlgoError, match=r'state.npz: begin was "[0-9a-f]{16}", not null: expected the same, or a new'):
        learn(at_rest, tmp_path / "n", progress=False)


def logged(folder) -> list[dict]:
    """The numbers of metrics.jsonl, which has to be strict JSON, without the speed."""

    def refuse(token):
        raise AssertionError(token)

    lines = [json.loads(line, parse_constant=refuse) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert all(line.pop("positions/per_s", 1) > 0 for line in lines)
    return lines


def interrupt_at(monkeypatch, step: int, error: type[BaseException] = KeyboardInterrupt) -> None:
    """End learning once, before a step."""
    advance, stop = Learning.advance, [step]

    def interrupted(self) -> None:
        if self.step == stop[0]:
            stop[0] = -1
            raise error
        advance(self)

    monkeypatch.setattr(Learning, "advance", interrupted)


def test_what_was_interrupted_ends_the_same(games, tmp_path, monkeypatch):
    whole = learn(plan(games), tmp_path / "whole", progress=False)
    interrupt_at(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        learn(plan(games), tmp_path / "parts", progress=False)
    assert load_network(tmp_path / "parts/network.npz").provenance["step"] == 5
    with (tmp_path / "parts/metrics.jsonl").open("a") as file:
        file.write('{"step": 6}\n')  # as of a process that was killed later
    (tmp_path / "parts").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    relative = plan(games)._replace(folders=[Path(os.path.relpath(games))])
    resumed = learn(relative, Path("moved"), progress=False)
    np.testing.assert_array_equal(weights_of(resumed), weights_of(whole))
    logs = [logged(tmp_path / name) for name in ("whole", "moved")]
    assert logs[0] == logs[1]
    assert [line["step"] for line in logs[0]] == [4, 6, 6]
    again = learn(plan(games), tmp_path / "moved", progress=False)  # nothing is left to do
    np.testing.assert_array_equal(weights_of(again), weights_of(whole))
    for changed, message in [
        (plan(games, seed=2), "seed was 1, not 2: expected the same, or a new --out"),
        (plan(games, lam=0.5), r"lambda was 0.9, not 0.5"),
        (plan(games, steps=5), r"steps was 6, not 5: expected the same, or more"),
        (plan(games)._replace(shape=TINY._replace(blocks=2)), "blocks was 1, not 2"),
    ]:
        with pytest.raises(RlgoError, match=f"state.npz: {message}"):
            learn(changed, tmp_path / "moved", progress=False)


def test_a_kill_before_the_first_state_leaves_no_step_twice(games, tmp_path, monkeypatch):
    """Nothing is saved after it, as after kill -9."""
    monkeypatch.setattr(training, "_LOG_EVERY", 1)
    interrupt_at(monkeypatch, 3)
    save = Learning.save
    monkeypatch.setattr(Learning, "save", lambda self, monitor: self.step or save(self, monitor))
    with pytest.raises(KeyboardInterrupt):
        learn(plan(games), tmp_path / "n", progress=False)
    monkeypatch.setattr(Learning, "save", save)
    assert [line["step"] for line in logged(tmp_path / "n")] == [1, 2, 3]
    learn(plan(games), tmp_path / "n", progress=False)
    assert [line["step"] for line in logged(tmp_path / "n")] == [1, 2, 3, 4, 4, 5, 6, 6]


def test_more_steps_and_more_games_continue(games, tmp_path):
    """With a constant step size, as if it had been planned."""

    def constant(steps: int) -> TrainingPlan:
        return plan(games, steps=steps, schedule="constant")

    whole = learn(constant(6), tmp_path / "whole", progress=False)
    learn(constant(3), tmp_path / "parts", progress=False)
    longer = learn(constant(6), tmp_path / "parts", progress=False)
    np.testing.assert_array_equal(weights_of(longer), weights_of(whole))
    play_games(GamesPlan("mc_rave,sims=30,memory_mb=1", 3, size=5, seed=2), tmp_path / "more", progress=False)
    both = constant(7)._replace(folders=[games, tmp_path / "more"])
    assert learn(both, tmp_path / "parts", progress=False).provenance["step"] == 7
    with pytest.raises(RlgoError, match=r"positions was \d+, not \d+: expected the same, or more"):
        learn(constant(8), tmp_path / "parts", progress=False)


def test_the_step_size_follows_its_schedule():
    """Computed by hand: five steps of warm-up, then each schedule."""
    from train.network.loss import schedule_of

    def sizes(**others) -> list[float]:
        schedule = schedule_of(NetworkSettings(steps=13, alpha=0.1, warm_up=5, **others))
        return [round(float(schedule(t)), 6) for t in range(14)]

    rising = [0.02, 0.04, 0.06, 0.08, 0.1]
    assert sizes(schedule="constant") == [*rising, *[0.1] * 9]
    assert sizes(schedule="steps", falls=(7, 10), fall=0.5) == [*rising, 0.1, 0.1, 0.05, 0.05, 0.05, *[0.025] * 4]
    # 0.01 + 0.09 (1 + cos(pi k / 8)) / 2 for k = 0 to 8
    cosine = [0.1, 0.096575, 0.08682, 0.072221, 0.055, 0.037779, 0.02318, 0.013425, 0.01]
    assert sizes(alpha_final=0.01) == [*rising, *cosine]
    assert sizes(alpha_final=0.01, schedule_steps=9)[9:] == [0.01] * 5


def test_averaged_weights_follow_faster_at_first(games, tmp_path):
    """Of them, 1/10, 2/11, 3/12 ... is kept, at most 0.24."""
    pool, settings = Pool([games]), SETTINGS._replace(averaging=0.24)
    learning = Learning(TrainingPlan([games], TINY, settings), tmp_path, pool)
    averaged = np.asarray(learning.state.averaged.stem, np.float64)
    for kept in (1 / 10, 2 / 11, 0.24, 0.24):
        learning.advance()
        averaged = kept * averaged + (1 - kept) * np.asarray(learning.state.parameters.stem, np.float64)
        np.testing.assert_allclose(learning.state.averaged.stem, averaged, atol=1e-7)
    np.testing.assert_array_equal(learning.network().parameters.stem, learning.state.averaged.stem)


def test_few_steps_for_the_average_are_warned_of(games, tmp_path, capsys):
    learn(plan(games, averaging=0.6, steps=7), tmp_path / "few", progress=False)
    assert capsys.readouterr().err == "rlgo: 7 steps are few for averaging = 0.6: expected 8 or more\n"
    learn(plan(games, averaging=0.6, steps=8), tmp_path / "enough", progress=False)
    assert capsys.readouterr().err == ""


def test_the_window_grows_with_the_positions_seen():
    """By hand, as 16 ** 0.75 = 8: c (1 + 0.4 * (8 - 1) / 0.75) = 250,000 * 4.7333."""
    settings = NetworkSettings()
    assert [settings.window_of(n) for n in (0, 1_000, 250_000, 4_000_000)] == [0, 1_000, 250_000, 1_183_333]
    windows = [settings.window_of(n) for n in range(0, 2_000_000, 10_000)]
    assert windows == sorted(windows)
    faster = NetworkSettings(window=100, window_alpha=0.5, window_beta=1.0)
    assert faster.window_of(400) == 300  # 100 (1 + (2 - 1) / 0.5)
    assert faster.window_of(10) == 10  # all, where the formula would be negative


def test_everything_is_logged(games, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    learn(plan(games, steps=4, alpha=0.01)._replace(seen=1_234), tmp_path / "n", progress=False)
    first, last = logged(tmp_path / "n")
    assert {name for name in first if name.startswith("loss/")} == {
        f"loss/{part}" for part in ("policy", "value", "score", "ownership", "total")
    }
    assert first["learning/gradient"] > 0
    assert first["learning/alpha"] == pytest.approx(0.01 * (1 + np.cos(0.75 * np.pi)) / 2, rel=1e-5)  # of step 4 of 4
    window = len(Pool([games]))
    assert [first[f"positions/{name}"] for name in ("learned", "seen", "window")] == [32, 1_234, window]
    network, data = load_network(tmp_path / "n/network.npz"), Pool([games], held_out=True).sizes[5]
    assert last["held_out_5x5/policy_loss"] == pytest.approx(measure(network, data, 50).policy_loss)
    part = {name: last[f"loss_held_out_5x5/{name}"] for name in ("policy", "value", "score", "ownership", "total")}
    assert part["policy"] == pytest.approx(last["held_out_5x5/policy_loss"], rel=0.2)  # of nearly the same positions
    total = part["policy"] + part["value"] + 0.1 * part["score"] + 0.5 * part["ownership"]
    assert part["total"] == pytest.approx(total, rel=1e-5)
    events = EventAccumulator(str(tmp_path / "n")).Reload()
    assert {*first, *last} - {"step"} <= {*events.Tags()["scalars"]}
    assert (tmp_path / "n/config.tfevents").stat().st_size > 0


def test_what_is_not_known_is_not_logged(tmp_path):
    with training.Monitor(tmp_path, 1, unit="step") as monitor:
        training._log(monitor, 7, {"a": float("nan"), "b": None, "c": float("inf"), "d": 1.0})
    assert logged(tmp_path) == [{"step": 7, "d": 1.0}]


def test_progress_shows_the_loss(games, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(training.Progress, "set_postfix", lambda self, text: shown.append(text()))  # noqa: ARG005
    learn(plan(games, steps=2), tmp_path, progress=False)
    assert all(re.fullmatch(r"loss \d\.\d{3}", text) for text in shown)
    assert len(shown) == 2


def test_a_step_learns_from_positions_that_its_number_and_the_seed_decide(games):
    pool = Pool([games])
    one, again, other, seeded = (
        pool.batch(SETTINGS._replace(seed=seed, batch=40), step) for seed, step in ((1, 3), (1, 3), (1, 4), (2, 3))
    )
    np.testing.assert_array_equal(one.planes, again.planes)
    assert set(one.symmetry) == set(range(8))
    for different in (other, seeded):
        assert one.planes.shape == different.planes.shape
        assert not np.array_equal(one.planes, different.planes)


def test_measures_of_a_network_that_knows_nothing(games):
    found = measure(ConvNetwork(new_parameters(TINY, 1)), rlgo.read_games(games, KINDS, held_out=None))
    assert found.policy_loss == pytest.approx(np.log(26), abs=1e-5)
    assert found.value_loss == pytest.approx(np.log(2), abs=1e-6)
    assert 0 < found.policy_entropy < found.policy_loss
    assert found.top == (1.0, 1.0)  # all moves are as probable as the best
    assert found.owner_right == 0


# ---------------------------------------------------------------------------------------------
# ONNX
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 9])
def test_an_exported_network_answers_the_same(size, tmp_path):
    pytest.importorskip("onnxruntime")
    from mcts.outside.onnx import OnnxNetwork as Network
    from train.network.onnx_file import load_onnx, save_onnx

    network = random_network()
    save_onnx(tmp_path / "n.onnx", network)
    game = rlgo.Game(size)
    for p in game.sensible_moves()[::3][:7]:
        game.play(p)
    positions = Positions.along(game)
    found, expected = Network(tmp_path / "n.onnx")(positions), network(positions)
    np.testing.assert_allclose(found["logits"], expected["logits"], atol=1e-4)
    np.testing.assert_allclose(found["value"], expected["value"], atol=1e-4)
    owners = (1 + expected["ownership"]) / 2
    np.testing.assert_allclose(found["ownership"], owners, atol=1e-4)
    onnx = pytest.importorskip("onnx")
    (tmp_path / "apart").mkdir()
    model = onnx.load(str(tmp_path / "n.onnx"))
    onnx.save(model, str(tmp_path / "apart" / "n.onnx"), save_as_external_data=True, location="w", size_threshold=0)
    for file in ("n.onnx", "apart/n.onnx"):
        for a, b in zip(load_onnx(tmp_path / file).parameters, network.parameters, strict=True):
            np.testing.assert_array_equal(a, b)
    network.parameters.hidden[:] = np.nan
    save_onnx(tmp_path / "n.onnx", network)
    with pytest.raises(RlgoError, match=r"n.onnx: not a network that rlgo wrote: .*not finite numbers"):
        load_onnx(tmp_path / "n.onnx")


def test_other_onnx_files_are_refused(tmp_path):
    pytest.importorskip("onnx")
    import onnx_files

    from train.network.onnx_file import load_onnx

    onnx_files.save_network(tmp_path / "other.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    for name in ("other", "bad"):
        with pytest.raises(RlgoError, match=rf"{name}.onnx: not a network that rlgo wrote"):
            load_onnx(tmp_path / f"{name}.onnx")


# ---------------------------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------------------------


def test_the_commands(games, tmp_path, capsys):
    out, file = tmp_path / "run", str(tmp_path / "run/network.npz")
    small = ["--steps", "2", "--set", "batch=8", "clip=0.5", "--blocks", "1", "--channels", "8"]
    assert main(["network", "train", str(games), "--out", str(out), *small]) == 0
    assert "network.npz: <ConvNetwork: 1 block of 8 channels," in capsys.readouterr().out
    assert {path.name.split(".")[0] for path in out.iterdir()} == {"state", "network", "metrics", "events", "config"}
    assert main(["network", "test", file, str(games), "--json", str(tmp_path / "m.json")]) == 0
    assert "network, 5x5" in capsys.readouterr().out
    assert json.loads((tmp_path / "m.json").read_text())[0]["positions"] > 0
    assert main(["network", "info", file]) == 0
    told = capsys.readouterr().out
    assert "learned in 2 steps" in told
    assert "  5x5, komi 7.5: mc_rave,sims=30,memory_mb=1 against itself, seed 1\n" in told
    assert main(["network", "show", file, "--size", "5", "--moves", "C3 D3"]) == 0
    text = capsys.readouterr().out
    assert "Policy of Black" in text
    assert "Black wins with probability 0.50" in text
    assert main(["network", "show", file, "--size", "5", "--moves", "C3 C3"]) == 2
    assert main(["network", "train", str(games), "--begin", file, "--blocks", "2", "--out", str(tmp_path / "x")]) == 2
    assert "--begin cannot be combined with --blocks: a network keeps its size" in capsys.readouterr().err
    assert load_network(file).provenance["settings"]["clip"] == 0.5
    assert main(["network", "train", str(games), "--batch", "8"]) == 2
    assert "no such option: --batch; settings follow --set, as in --set KEY=VALUE" in capsys.readouterr().err
    assert main(["network", "train", str(games), "--set", "clip=0"]) == 2
    assert "--set clip = 0: expected a positive number" in capsys.readouterr().err
    for given, message in [
        (["--lr", "0.1"], "--lr: no such option; here it is --set alpha=VALUE"),
        (["--batch-size=8"], "--batch-size: no such option; here it is --set batch=VALUE"),
        (["--set", "learning_rate=0.1"], "--set learning_rate: unknown; its name here is alpha"),
        (["--set", "window=5"], "--set window=5 has no effect here: it needs rlgo network rounds"),
        (["--set", "alpha_final=1e-4", "schedule=constant"], "has no effect here: it needs schedule = cosine"),
        (["--set", "schedule=steps"], 'schedule = "steps": expected falls, such as falls = [2000, 3000]'),
        (["--set", "schedule=steps", "falls=[50]"], "falls = [50]: expected ascending steps after warm_up = 100"),
        (["--config", "shrot"], "shrot: no such config file; did you mean short?"),
    ]:
        assert main(["network", "train", str(games), *given]) == 2
        assert message in capsys.readouterr().err
    assert main(["network", "test", file]) == 2
    assert "expected one or more networks, and one or more folders" in capsys.readouterr().err
    assert main(["network", "test", file, str(tmp_path / "gmaes")]) == 2
    assert "gmaes: no such network file" in capsys.readouterr().err


def test_settings_come_from_a_config_and_the_command_line(games, tmp_path):
    file = tmp_path / "own.toml"
    file.write_text('[network]\nschedule = "steps"\nfalls = [200, 300]\nlambda = 0.5\nalpha = 0.01\nseed = 7\n')
    found = read_settings(NetworkSettings(), str(file), ["alpha=0.02", "fall = 0.3"])
    assert found == NetworkSettings(schedule="steps", falls=(200, 300), lam=0.5, alpha=0.02, fall=0.3, seed=7)
    run = ["network", "train", str(games), "--config", str(file), "--steps", "1", "--set", "batch=8", "averaging=0.1"]
    assert main([*run, "--blocks", "1", "--channels", "8", "--out", str(tmp_path / "n")]) == 0
    made = load_network(tmp_path / "n/network.npz").provenance["settings"]
    assert (made["lam"], made["alpha"], made["seed"], made["steps"], made["batch"]) == (0.5, 0.01, 7, 1, 8)
    for text, message in [
        ("alpha = 1", "own.toml: expected one table [network]"),
        ("[network]\nlr = 1", "own.toml: lr: unknown; its name here is alpha"),
        ("[network]\nalpha = -1", "own.toml: alpha = -1: expected a positive number"),
        ("[network]\nalhpa = 1", "own.toml: unknown key alhpa; did you mean alpha?"),
        ("[network]\nwarm_up = 300\nfalls = [200]", "own.toml: falls = [200]: expected ascending steps after"),
    ]:
        file.write_text(text)
        with pytest.raises(RlgoError, match=re.escape(message)):
            read_settings(NetworkSettings(), str(file))


@pytest.mark.parametrize("name", list_configs("network"))
def test_shipped_configs_are_read(name):
    assert read_settings(OF_ROUNDS, name) != OF_ROUNDS


def test_a_loss_that_is_not_finite_ends_the_run_with_the_last_good_weights(games, tmp_path, monkeypatch):
    good = learn(plan(games, steps=3, schedule="constant"), tmp_path / "good", progress=False)
    real = Learning.advance

    def spoilt(self) -> None:
        """Spoil the weights of step 4, whose loss step 5 computes."""
        real(self)
        if self.step == 4:
            bad = self.state.parameters._replace(stem_bias=np.full(8, np.nan, np.float32))
            self._at = 4, self.state._replace(parameters=bad, averaged=bad)

    monkeypatch.setattr(Learning, "advance", spoilt)
    endless = plan(games, steps=60, schedule="constant")._replace(save_every=50)
    with pytest.raises(RlgoError, match=r"step 5: the loss is no longer finite: .*alpha.* the weights of step 3$"):
        learn(endless, tmp_path / "n", progress=False)
    network = load_network(tmp_path / "n/network.npz")
    assert network.provenance["step"] == 3
    np.testing.assert_array_equal(weights_of(network), weights_of(good))
    logged(tmp_path / "n")


def test_without_jax_it_says_what_to_install(games, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "train.network.loss", raising=False)
    import train.network

    monkeypatch.delattr(train.network, "loss", raising=False)
    with pytest.raises(RlgoError, match=r"needs JAX and Optax: pip install 'rlgo\[network\]'"):
        learn(plan(games), tmp_path / "n", progress=False)
    assert not (tmp_path / "n").exists()
