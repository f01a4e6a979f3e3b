"""Rounds in which a program of the user's own learns: the example of the documents, interruptions, wrong answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rlgo.base.errors import RlgoError
from rlgo.learning.collection import read_collection
from train.cli.main import main
from train.network.rounds import RoundsPlan, run_rounds
from train.network.settings import OF_ROUNDS

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "own_learner.py"
PLAN = RoundsPlan(
    "puct,root=gumbel,sims=8,playouts=off,memory_mb=1", 12, rounds=2, match_games=0, size=5, begin="own.py:evaluate",
    learner="own.py:learn", settings=OF_ROUNDS,
)  # fmt: skip
SIMPLE = """
import shutil

import numpy as np

def evaluate(positions):
    legal = positions.legal()
    return {"policy": legal / legal.sum(axis=1, keepdims=True), "value": np.full(len(positions), 0.5)}

def learn(folders, previous, out):
    (out / "seen").touch()
    if len(list(out.parent.parent.glob("round-*"))) == 2 and not (out / "again").exists():
        (out / "again").touch()
        raise KeyboardInterrupt
    return RETURNED
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Write a learner that returns something, an expression."""
    monkeypatch.chdir(tmp_path)

    def write(returned: str) -> None:
        Path("own.py").write_text(SIMPLE.replace("RETURNED", returned))

    return write


def players(folder: Path, rounds: int = 2) -> list[str]:
    found = (read_collection([folder / f"round-{k}/games"]).recipes[0]["player"] for k in range(1, rounds + 1))
    return [player.partition("network=")[2] for player in found]


def test_the_example(tmp_path, monkeypatch, capsys):
    """A network in JAX learns: later games are played with it, many at once, and its losses fall."""
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, "own.py")
    command = (
        f"network rounds {PLAN.player} --games 24 --rounds 2 --parallel 12 --size 5 --learner own.py:learn --begin "
        "own.py:evaluate --matched puct,sims=4,playouts=off,memory_mb=1 --match-games 2 --opponent mc_rave,memory_mb=1 "
        "--out out --json rounds.json"
    )
    assert main(command.split()) == 0
    first, second = json.loads(Path("rounds.json").read_text())
    begin, learned = players(Path("out"))
    assert (begin, learned) == (f"{tmp_path / 'own.py'}:evaluate", "round-1/learner/network.py:evaluate")
    assert first["network"] == learned
    assert second["network"] == "round-2/learner/network.py:evaluate"
    assert first["at_sims"]["games"] == 2
    weights = [dict(np.load(f"out/round-{k}/learner/weights.npz")) for k in (1, 2)]
    assert 0 < np.abs(weights[0]["c0"] - weights[1]["c0"]).max() < 0.2  # it learned on
    assert second["measures"]["policy_loss"] < 3.3  # log(26) = 3.26 is that of any move
    capsys.readouterr()
    assert main(command.split()) == 0  # nothing is left to do
    assert json.loads(Path("rounds.json").read_text()) == [first, second]
    assert main(["network", "check", "out/round-2/learner/network.py:evaluate", "out/round-1/games"]) in (0, 1)
    assert "policy on illegal moves" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("returned", "network"),
    [
        ("'uniform_network:evaluate'", "uniform_network:evaluate"),
        ("shutil.copy('../net.onnx', out)", "round-{}/learner/net.onnx"),
        ("'../net.onnx'", "{folder}/net.onnx"),
    ],
)
def test_what_a_learner_returns_plays(program, tmp_path, monkeypatch, returned, network):
    """The second round is interrupted while it learns; its games are not played again, and it is called again."""
    pytest.importorskip("onnxruntime")
    from onnx_files import save_network

    monkeypatch.syspath_prepend(tmp_path)
    program(returned)
    shutil.copy("own.py", "uniform_network.py")
    save_network(Path("net.onnx"))
    with pytest.raises(KeyboardInterrupt):
        run_rounds(PLAN, Path("out"), progress=False, parallel=4)
    games = {path: path.stat().st_mtime_ns for path in Path("out").rglob("games/*.npz")}
    found = run_rounds(PLAN, Path("out"), progress=False, parallel=4)
    assert {path: path.stat().st_mtime_ns for path in games} == games
    assert [r.learned.network for r in found] == [network.format(k, folder=tmp_path) for k in (1, 2)]
    assert players(Path("out"))[1] == network.format(1, folder=tmp_path)
    assert found[0].learned.step == 0
    assert found[0].learned.measures["value_loss"] > 0


@pytest.mark.parametrize("window", [1, 250_000])
def test_what_a_learner_is_given(program, tmp_path, monkeypatch, window):
    """The folders of the window, what the last round returned, and a folder for the round."""
    program("f'{shutil.copy(__file__, out)}:evaluate'")
    given, out, settings = [], tmp_path / "out", OF_ROUNDS._replace(window=window, window_beta=0.0)
    monkeypatch.setattr("train.network.rounds.guarded", lambda _, call, *a: (given.append(a), call(*a))[1])
    for k in (1, 2):
        Path(f"out/round-{k}/learner").mkdir(parents=True)
        Path(f"out/round-{k}/learner/again").touch()
    run_rounds(PLAN._replace(settings=settings), Path("out"), progress=False)
    games = [out / "round-1/games", out / "round-2/games"]
    assert given == [
        (games[:1], f"{tmp_path / 'own.py'}:evaluate", out / "round-1/learner"),
        (games[1:] if window == 1 else games, f"{out / 'round-1/learner/own.py'}:evaluate", out / "round-2/learner"),
    ]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("None", "learner: returned None: expected an ONNX file, or MODULE:NAME of an evaluator"),
        ("out / 'missing.onnx'", "network = .*missing.onnx: no such file"),
        ("1 / 0", r"learner: ZeroDivisionError: division by zero \(own.py, line 15\)"),
    ],
)
def test_wrong_answers_of_learners(program, returned, message):
    program(returned)
    with pytest.raises(RlgoError, match=message):
        run_rounds(PLAN._replace(games=2), Path("out"), progress=False)


def test_options_that_have_no_effect(program, capsys):
    program("None")
    command = f"network rounds {PLAN.player} --games 2 --learner own.py:learn".split()
    for option in (["--steps", "5"], ["--blocks", "2"], ["--set", "alpha=1"]):
        assert main([*command, *option]) == 2
        assert f"{' '.join(option[:1])}" in (err := capsys.readouterr().err)
        assert "has no effect here: --learner decides how a network learns" in err
    assert main([*command[:-1], "own.py:learns"]) == 2
    assert "learner: own.py has no learns; did you mean learn?" in capsys.readouterr().err
