"""Targets of default policies, policies learned from them, and the commands for both."""

from __future__ import annotations

import json
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_play import SIZE, random_game, random_weights

from rlgo.base.errors import RlgoError
from rlgo.base.resources import shipped_softmax_policy
from rlgo.compiler.jit import make_rng
from rlgo.go.board import BLACK, PASS, new_boards
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.learning import balancing
from rlgo.learning.collection import read_collection
from rlgo.moves.rollout import SOFTMAX_POLICY, UNIFORM, DefaultPolicy, new_rollout, playouts
from rlgo.moves.softmax_policy import (
    LEAST_SELF_ATARI,
    SoftmaxPolicy,
    load_softmax_policy,
    make_tables,
    n_weights,
)
from train import console
from train.cli.main import main
from train.knowledge.methods import PlayoutSettings
from train.knowledge.shards import StudyGame, open_folder
from train.locks import only_writer
from train.players import make_player
from train.playouts import learning as playouts_module
from train.playouts import targets as targets_module
from train.playouts.learning import balance_table, kinds_of_shapes, learn_targets, measure_all, shared
from train.playouts.targets import Targets, load_targets, save_targets, search_targets

SEARCH = "mc_rave,sims=20,memory_mb=1"
FEW = PlayoutSettings(epochs=2, simulations=20, batch=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("games")
    with open_folder(path, {"kind": "imported", "size": SIZE}, {"versions": {"rlgo": "0"}, "commit": ""}) as shards:
        for seed in range(60):
            shards.add(StudyGame(seed + 1, 1.0, random_game(25, seed).moves))
    return path


@pytest.fixture(scope="module")
def targets(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Targets:
    out = tmp_path_factory.mktemp("targets") / "t.npz"
    return search_targets(read_collection([folder]), SEARCH, 40, out, komi=0.5, seed=1, progress=False)


def test_the_last_game_may_have_no_moves(tmp_path: Path):
    with open_folder(tmp_path / "g", {"kind": "imported", "size": SIZE}, {"versions": {}, "commit": ""}) as shards:
        shards.add(StudyGame(1, 1.0, random_game(25, 1).moves))
        shards.add(StudyGame(2, 0.0, []))
    found = search_targets(
        read_collection([tmp_path / "g"]), SEARCH, 3, tmp_path / "t.npz", komi=0.5, seed=1, progress=False
    )
    assert len(found.value) == 3


def test_targets_are_positions_of_the_games(folder: Path, targets: Targets):
    games = [random_game(25, seed) for seed in range(60)]
    held_out = 0
    for game, held in zip(targets.games(), targets.held_out, strict=True):
        origins = [g for g in games if g.moves[: len(game.moves)] == game.moves]
        assert origins
        held_out += held
        assert (game.size, game.komi) == (SIZE, 0.5)
    assert 0 < held_out < 20
    assert ((targets.value >= 0) & (targets.value <= 1)).all()
    assert len(np.unique(targets.value)) > 10
    with pytest.raises(RlgoError, match="positions: expected at most"):
        search_targets(read_collection([folder]), SEARCH, 10**6, Path("x"), komi=0.5, seed=1)


def test_targets_do_not_depend_on_interruptions(
    folder: Path, targets: Targets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Each position is searched from scratch, with random numbers of its own."""
    out = tmp_path / "t.npz"
    asked: list[Game] = []
    make = targets_module.make_player

    def counted(*args):
        player = make(*args)
        think = player.genmove

        def genmove(game: Game) -> int:
            asked.append(game)
            if len(asked) == 16:
                signal.raise_signal(signal.SIGINT)
            return think(game)

        player.genmove = genmove
        return player

    monkeypatch.setattr(targets_module, "make_player", counted)
    argv = ["playouts", "targets", str(folder), "--player", SEARCH, "--positions", "40", "--komi", "0.5", "-o"]
    argv.append(str(out))
    assert main(argv) == 130
    assert f"the values found so far are in {out}; run the same command again to continue" in capsys.readouterr().err
    np.testing.assert_allclose(load_targets(out).value, targets.value[:15], atol=1e-6)
    assert main(argv) == 0
    assert len(asked) == 16 + 25
    np.testing.assert_allclose(load_targets(out).value, targets.value, atol=1e-6)
    with pytest.raises(RlgoError, match="other targets; choose another file"):
        search_targets(read_collection([folder]), SEARCH, 40, out, komi=1.5, seed=1)
    with only_writer(out), pytest.raises(RlgoError, match=r"t\.npz: another process is writing to it"):
        search_targets(read_collection([folder]), SEARCH, 40, out, komi=0.5, seed=1)


def test_a_target_is_what_a_new_search_says(targets: Targets):
    player = make_player(SEARCH, SIZE, 1, (3,))
    game = targets.games()[3]
    player.genmove(game)
    assert targets.value[3] == pytest.approx(player.candidates(game)[0].value)


def test_balancing_finds_a_policy_with_the_same_outcomes(targets: Targets):
    """The targets are the mean outcomes of a policy that answers each move nearby, and recaptures."""
    theta = np.zeros(n_weights())
    theta[-5:] = 1.0, 1.0, 2.0, 2.0, -3.0
    teacher = DefaultPolicy(SOFTMAX_POLICY, softmax=make_tables(theta))
    boards, r, rng, values = new_boards(2, SIZE), new_rollout(SIZE), make_rng(1), []
    for game in targets.games():
        boards[0] = game.board
        values.append(playouts(boards, teacher, r, make_rules(SIZE, 0.5), 500, rng)[0] / 500)
    goals = replace(targets, value=np.array(values), held_out=np.zeros(len(targets), bool))
    settings = FEW._replace(alpha=10.0, epochs=20, simulations=50)
    learned = learn_targets(goals, settings, progress=False)
    policies = {"uniform": DefaultPolicy(UNIFORM), "learned": DefaultPolicy(SOFTMAX_POLICY, softmax=learned.tables())}
    found = measure_all(replace(goals, held_out=~goals.held_out), policies, 500, progress=False)
    uniform, balanced = found
    assert uniform.positions == balanced.positions == 40
    assert balanced.squared < 0.5 * uniform.squared


def test_shapes_share_what_their_kind_has_learned():
    kinds, gradient = kinds_of_shapes(), np.random.default_rng(1).normal(size=n_weights())
    n, step = len(kinds), shared(gradient)
    assert 100 < kinds.max() < 150
    for first in (0, n):
        own = gradient[first : first + n]
        expected = own + np.array([own[kinds == kind].sum() for kind in range(kinds.max() + 1)])[kinds]
        np.testing.assert_allclose(step[first : first + n], expected)
    np.testing.assert_array_equal(step[2 * n :], gradient[2 * n :])


def test_the_same_seed_learns_the_same(targets: Targets):
    first, again, other = (learn_targets(targets, FEW._replace(seed=seed), progress=False) for seed in (1, 1, 2))
    assert np.array_equal(first.theta, again.theta)
    assert not np.array_equal(first.theta, other.theta)


@pytest.mark.parametrize("method", ["reinforce", "two_step"])
def test_other_ways_to_learn(targets: Targets, method: str):
    start = SoftmaxPolicy(np.zeros(n_weights(), np.float32))
    weights = random_weights() if method == "two_step" else None
    learned = learn_targets(targets, FEW._replace(method=method), start, weights, progress=False)
    assert learned.provenance["method"] == method
    assert np.isfinite(learned.theta).all()
    assert learned.theta.any()
    assert LEAST_SELF_ATARI <= learned.theta[-1] <= 0
    with pytest.raises(RlgoError, match="two_step: expected weights for 5x5"):
        learn_targets(targets, FEW._replace(method="two_step"), start, None, progress=False)


def test_how_far_outcomes_are_from_targets(targets: Targets):
    """For the uniform policy and a softmax that is uniform too, up to chance."""
    policies = {
        "uniform": DefaultPolicy(UNIFORM),
        "softmax": DefaultPolicy(SOFTMAX_POLICY, softmax=make_tables(np.zeros(n_weights()))),
    }
    a, b = measure_all(targets, policies, 2_000, progress=False)
    for found, other in zip(a[2:7], b[2:7], strict=True):
        assert found == pytest.approx(other, abs=0.05)
    assert a.outcome > a.squared > 0
    assert abs(a.bias) <= a.absolute


def test_a_single_target_has_no_correlation(targets: Targets):
    one = replace(targets, held_out=np.arange(len(targets)) == 0)
    (found,) = measure_all(one, {"uniform": DefaultPolicy(UNIFORM)}, 20, progress=False)
    assert (found.positions, found.correlation) == (1, None)
    assert balance_table([found]).splitlines()[-1].split()[-2] == "-"
    with pytest.raises(RlgoError, match="seed = -1: expected an integer from 0 to"):
        learn_targets(targets, PlayoutSettings(seed=-1), progress=False)


def test_whose_turn_it_is_in_handicap_games(tmp_path: Path):
    """White plays first there, which an empty record of moves does not tell: no target is before that move."""
    with open_folder(tmp_path / "g", {"kind": "imported", "size": SIZE}, {"versions": {}, "commit": ""}) as shards:
        for seed in range(8):
            moves = [(3 - color, p) for color, p in random_game(12, seed).moves]
            setup = [(BLACK, p) for p in random_game(1, seed).legal_moves() if p not in {q for _, q in moves}][:2]
            shards.add(StudyGame(seed + 1, 1.0, moves, setup=setup))
    games = read_collection([tmp_path / "g"])
    assert (games.arrays["n_setup"] == 2).all()
    n = int((games.arrays["move"] != PASS).sum()) - 8
    found = search_targets(games, "mc_rave,sims=1,memory_mb=1", n, tmp_path / "t.npz", komi=0.5, seed=1, progress=False)
    assert found.n_moves.min() == 1


# ---------------------------------------------------------------------------------------------
# Players and commands
# ---------------------------------------------------------------------------------------------


def test_players_with_a_softmax_policy():
    """The shipped one, or a file; a search and TD search."""
    for spec in ("td_search,sims=20", "mc_rave,sims=20,memory_mb=1"):
        for more in ("default=softmax", f"policy_file={shipped_softmax_policy()}"):
            player = make_player(f"{spec},{more}", SIZE, 1)
            policy = player.default if spec.startswith("td") else player.default_policy
            assert policy.kind == SOFTMAX_POLICY
            assert np.array_equal(policy.softmax.shape, load_softmax_policy(shipped_softmax_policy()).tables().shape)
    assert player.genmove(Game(SIZE)) > 0
    for spec, message in (
        ("mc_rave,policy_file=x.npz", "player mc_rave: x.npz: no such file of a softmax policy; shipped policies: 9x9"),
        ("uct,policy_file=x.npz,default=mogo", "policy_file cannot be combined with default_policy = mogo"),
    ):
        with pytest.raises(RlgoError, match=message):
            make_player(spec, SIZE, 1)


def test_the_commands(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    goals, a, b, data = (tmp_path / name for name in ("t.npz", "a.npz", "b.npz", "m.json"))
    find = ["playouts", "targets", str(folder), "--player", SEARCH, "--positions", "40", "-o", str(goals)]
    assert main(find) == 0
    assert capsys.readouterr().out.startswith(f"{goals}: 40 positions, ")
    monkeypatch.setattr(console, "_LINE_SECONDS", 0.0)
    assert main(["playouts", "train", str(folder), "--method", "games", "--iterations", "3", "-o", str(a)]) == 0
    shown = capsys.readouterr()
    assert "method games" in shown.out
    assert re.search(r"^steps: 2 of 3 \(66%\), .*log-likelihood -\d", shown.err, re.MULTILINE)
    train = ["playouts", "train", str(goals), "--start", str(a), "--epochs", "1", "--simulations", "5", "-o", str(b)]
    assert main(train) == 0
    made = load_softmax_policy(b).provenance
    assert (made["method"], made["start"]["method"]) == ("balance", "games")
    assert made["targets"]["positions"] == 40
    assert made["collection"] == [{"kind": "imported", "size": SIZE}]
    assert main(train) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["playouts", "info", str(b)]) == 0
    assert "method balance" in capsys.readouterr().out
    test = ["playouts", "test", str(goals), str(a), str(b), "--simulations", "50", "--json", str(data)]
    assert main(test) == 0
    assert "correlation" in capsys.readouterr().out
    assert [row["name"] for row in json.loads(data.read_text())] == ["uniform", "mogo", "a", "b"]
    others = [tmp_path / "other" / "a.npz", tmp_path / "mogo.npz"]  # names that would hide others
    for other in others:
        other.parent.mkdir(exist_ok=True)
        shutil.copy(a, other)
    test = ["playouts", "test", str(goals), *map(str, (a, *others)), "--simulations", "2", "--json", str(data)]
    assert main(test) == 0
    names = [row["name"] for row in json.loads(data.read_text())]
    assert names == ["uniform", "mogo", *map(str, (a, *others))]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["info", "nofile"], "nofile: no such file of a softmax policy; shipped policies: 9x9"),
        (["train", "."], ".: expected a file of targets, found a folder"),
        (["test", "nofile"], "nofile: cannot be read"),
        (["train", "nofile"], "nofile: cannot be read"),
        (["train", "a", "b"], "--method balance: expected one file of targets"),
        (["train", "a", "--method", "games", "--start", "b"], "--start has no effect with --method games"),
        (["train", "a", "--method", "games", "--alpha", "2"], "--alpha has no effect with --method games"),
        (["train", "a", "--iterations", "1"], "--iterations has no effect with --method balance"),
        (["train", "a", "--weights", "9x9-1M"], "--weights has no effect with --method balance"),
        (["train", "a", "--method", "two_step", "--simulations", "9"], "--simulations has no effect with"),
        (["train", "a", "--method", "x"], "expected one of games, balance, two_step, reinforce"),
        (["targets", "nowhere"], "nowhere: expected a folder of games"),
    ],
)
def test_bad_input_is_one_line(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["playouts", *argv]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_targets_that_are_damaged(targets: Targets, tmp_path: Path):
    path = tmp_path / "t.npz"
    save_targets(path, replace(targets, move=targets.move[:-1]))
    with pytest.raises(RlgoError, match="damaged: not the arrays of a file of targets"):
        load_targets(path)


def test_the_squared_error_is_without_chance(monkeypatch: pytest.MonkeyPatch):
    """V = 1/2 of 11 simulations has the variance 1/40."""
    monkeypatch.setattr(playouts_module, "playouts", lambda *arguments: (arguments[4] / 2, 0))
    bar = console.Progress(1, "positions", enabled=False)
    found = playouts_module._measure("", DefaultPolicy(UNIFORM), [Game(5)], np.array([0.5]), 11, 1, bar)
    assert found.squared == pytest.approx(-1 / 40)


def test_reinforce_teaches_each_side_to_win(targets: Targets, monkeypatch: pytest.MonkeyPatch):
    given = []
    monkeypatch.setattr(balancing, "add_simulations", lambda *arguments: given.append(arguments[5]))
    learn_targets(
        targets, FEW._replace(method="reinforce"), SoftmaxPolicy(np.zeros(n_weights(), np.float32)), progress=False
    )
    assert {tuple(scales[1:]) for scales in given} == {(1.0, -1.0)}


def test_the_mean_of_the_weights_is_learned(targets: Targets, monkeypatch: pytest.MonkeyPatch):
    """After two steps of the same length it is at 1/4 * 1 + 3/4 * 2 of them. The first policy stays as it was."""
    score = balancing.new_score(SIZE)

    def add(_tables: object, _i: int) -> float:
        score.gradient[:] = 1.0
        return 0.0

    monkeypatch.setattr(playouts_module, "_simulations", lambda *_: (score, add))
    n = int((~targets.held_out).sum())
    settings = FEW._replace(epochs=2, batch=n, alpha=float(n))
    start = SoftmaxPolicy(np.zeros(n_weights(), np.float32))
    learned = learn_targets(targets, settings, start, progress=False)
    one = learn_targets(targets, settings._replace(epochs=1), start, progress=False)
    assert not start.theta.any()
    assert learned.theta[1] == pytest.approx(1.75 * one.theta[1])
