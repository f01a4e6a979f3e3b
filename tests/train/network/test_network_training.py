"""Networks trained on games: gradients, resumption, measures, ONNX, and the command line."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from network_files import random_network

import rlgo
from rlgo.base.errors import RlgoError
from rlgo.features.planes import planes
from rlgo.go.positions import Positions
from rlgo.network.architecture import KINDS, SCORE_UNIT, Parameters, Shape, new_parameters
from rlgo.network.conv_network import ConvNetwork, load_network
from train.cli.main import main
from train.games.collect import GamesPlan, play_games
from train.network.measure import measure
from train.network.settings import NetworkSettings
from train.network.training import Learning, Pool, TrainingPlan, learn

jax = pytest.importorskip("jax")
SETTINGS = NetworkSettings(steps=6, batch=8, averaging=0.5)
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


def test_training_continues_from_a_network(games, tmp_path):
    """From its weights; and it is another plan, which the folder of a new network does not take."""
    begin = ConvNetwork(random_network(TINY).parameters)
    at_rest = plan(games, alpha=1e-9, steps=2)
    network = learn(at_rest._replace(begin=begin), tmp_path / "n", progress=False)
    np.testing.assert_allclose(weights_of(network), weights_of(begin), atol=1e-6)
    with pytest.raises(RlgoError, match="another network or other settings: expected a new --out"):
        learn(at_rest, tmp_path / "n", progress=False)


def test_what_was_interrupted_ends_the_same(games, tmp_path, monkeypatch):
    whole = learn(plan(games), tmp_path / "whole", progress=False)
    advance, stop = Learning.advance, [5]

    def interrupted(self) -> None:
        if self.step == stop[0]:
            stop[0] = -1
            raise KeyboardInterrupt
        advance(self)

    monkeypatch.setattr(Learning, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(plan(games), tmp_path / "parts", progress=False)
    assert load_network(tmp_path / "parts/network.npz").provenance["step"] == 5
    with (tmp_path / "parts/metrics.jsonl").open("a") as file:
        file.write('{"step": 6}\n')  # as of a process that was killed later
    resumed = learn(plan(games), tmp_path / "parts", progress=False)
    np.testing.assert_array_equal(weights_of(resumed), weights_of(whole))
    logs = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "parts")]
    assert logs[0] == logs[1]
    assert [json.loads(line)["step"] for line in logs[0].splitlines()] == [4, 6]
    again = learn(plan(games), tmp_path / "parts", progress=False)  # nothing is left to do
    np.testing.assert_array_equal(weights_of(again), weights_of(whole))
    with pytest.raises(RlgoError, match=r"state.npz: of other games, another network or other settings"):
        learn(plan(games, seed=2), tmp_path / "parts", progress=False)


def test_averaged_weights_follow_slowly(games, tmp_path):
    pool, settings = Pool([games]), SETTINGS._replace(averaging=0.9)
    learning = Learning(TrainingPlan([games], TINY, settings), tmp_path, pool)
    averaged = np.asarray(learning.state.averaged.stem, np.float64)
    for _ in range(3):
        learning.advance()
        averaged = 0.9 * averaged + 0.1 * np.asarray(learning.state.parameters.stem, np.float64)
    np.testing.assert_allclose(learning.state.averaged.stem, averaged, atol=1e-6)
    np.testing.assert_array_equal(learning.network().parameters.stem, learning.state.averaged.stem)


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
    read = load_onnx(tmp_path / "n.onnx")
    for a, b in zip(read.parameters, network.parameters, strict=True):
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
    assert {path.name.split(".")[0] for path in out.iterdir()} == {"state", "network", "metrics", "events"}
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
    assert main(["network", "test", file]) == 2
    assert "expected one or more network files, and one or more folders" in capsys.readouterr().err
    assert main(["network", "test", file, str(tmp_path / "gmaes")]) == 2
    assert "gmaes: no such network file" in capsys.readouterr().err


def test_learning_that_diverges_keeps_what_it_had(games, tmp_path):
    learn(plan(games, steps=4), tmp_path / "n", progress=False)
    before = {path: path.read_bytes() for path in (tmp_path / "n").glob("*.npz")}
    learning = Learning(plan(games, steps=4), tmp_path / "n", Pool([games]))
    spoilt = learning.state.averaged._replace(stem_bias=np.full(8, np.nan, np.float32))
    learning._at = 4, learning.state._replace(averaged=spoilt)
    with pytest.raises(RlgoError, match="not finite numbers: not written; expected a smaller step size"):
        learning.save(SimpleNamespace(lengths=dict))
    assert {path: path.read_bytes() for path in before} == before


def test_without_jax_it_says_what_to_install(games, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "train.network.loss", raising=False)
    import train.network

    monkeypatch.delattr(train.network, "loss", raising=False)
    with pytest.raises(RlgoError, match=r"needs JAX and Optax: pip install 'rlgo\[network\]'"):
        learn(plan(games), tmp_path / "n", progress=False)
    assert not (tmp_path / "n").exists()
