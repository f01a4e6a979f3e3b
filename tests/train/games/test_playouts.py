"""Learned default policies: what they learn from, what they learn, and the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracles.softmax import N_WEIGHTS, POLICY, SHAPE_OF
from random_play import SIZE, random_game

from rlgo.base.errors import RlgoError
from rlgo.base.resources import SHIPPED_POLICIES
from rlgo.compiler.jit import make_rng
from rlgo.go.board import EMPTY, new_boards
from rlgo.go.game import Game
from rlgo.go.rules import make_rules
from rlgo.learning.collection import Collection, read_collection
from rlgo.moves.rollout import SOFTMAX_POLICY, DefaultPolicy, new_rollout, playouts
from rlgo.moves.softmax_policy import LEAST_SELF_ATARI, SoftmaxPolicy, load_softmax_policy, make_tables
from train.arena.referee import Opinion
from train.cli.main import main
from train.games import playouts as learning
from train.games.methods import REINFORCE, PlayoutSettings
from train.games.playouts import kinds_of_shapes, learn_policy, searched_positions, shared
from train.games.shards import TrainingGame, open_folder
from train.players import make_player

FEW = PlayoutSettings(epochs=2, simulations=20, batch=4, positions=40)
KOMI = 0.5
ZERO = SoftmaxPolicy(POLICY.codes, np.zeros(N_WEIGHTS, np.float32))
# A policy that answers each move nearby, and recaptures.
TEACHER = np.append(np.zeros(N_WEIGHTS - 5), [1.0, 1.0, 2.0, 2.0, -3.0])


def outcomes(boards: np.ndarray, theta: np.ndarray) -> list[float]:
    """The mean outcomes of simulations from some positions."""
    policy = DefaultPolicy(SOFTMAX_POLICY, softmax=make_tables(theta, SHAPE_OF))
    scratch, r, rng, found = new_boards(2, SIZE), new_rollout(SIZE), make_rng(1), []
    for board in boards:
        scratch[0] = board
        found.append(playouts(scratch, policy, r, make_rules(SIZE, KOMI), 500, rng)[0] / 500)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games whose values, after 10 and after 20 moves, are the mean outcomes of the teacher."""
    path = tmp_path_factory.mktemp("games")
    with open_folder(path, {"kind": "imported", "size": SIZE}, {"versions": {"rlgo": "0"}, "commit": ""}) as shards:
        for seed in range(30):
            game = random_game(25, seed)
            plies = [ply for ply in (10, 20) if ply < len(game.moves)]
            values = outcomes(np.array([game.after(ply).board for ply in plies]), TEACHER)
            opinions = {ply: Opinion(v, (game.moves[ply][1],), (9,)) for ply, v in zip(plies, values, strict=True)}
            shards.add(TrainingGame(seed + 1, 1.0, game.moves, opinions=opinions, komi=KOMI))
    return path


@pytest.fixture(scope="module")
def games(folder: Path) -> Collection:
    return read_collection([folder])


def test_positions_have_the_value_of_a_search(games: Collection):
    positions, values = searched_positions(games, 40, 1)
    played = [random_game(25, seed) for seed in range(30)]
    expected = {game.after(ply).board.hash for game in played for ply in (10, 20) if ply < len(game.moves)}
    assert {board.hash for board in positions.arrays.boards} <= expected
    assert len(positions) == len(values) == 40
    assert set(positions.komi.tolist()) == {KOMI}
    assert ((values >= 0) & (values <= 1)).all()
    assert len(np.unique(values)) > 10


def test_games_without_a_search_teach_nothing(tmp_path: Path):
    with open_folder(tmp_path, {"kind": "imported", "size": SIZE}, {"versions": {}, "commit": ""}) as shards:
        for seed in range(9):
            shards.add(TrainingGame(seed + 1, 1.0, random_game(9, seed).moves))
    with pytest.raises(RlgoError, match="games = 9: expected more, with the values of a search"):
        searched_positions(read_collection([tmp_path]), 5, 1)


def test_it_is_the_turn_of_who_moved_next_in_handicap_games(tmp_path: Path):
    """White plays first there, which an empty record of moves does not tell."""
    with open_folder(tmp_path, {"kind": "imported", "size": SIZE}, {"versions": {}, "commit": ""}) as shards:
        for seed in range(12):
            moves = [(3 - color, p) for color, p in random_game(5, seed).moves]
            opinions = {0: Opinion(0.5, (moves[0][1],), (9,))}
            shards.add(TrainingGame(seed + 1, 1.0, moves, opinions=opinions, komi=KOMI))
    positions, _ = searched_positions(read_collection([tmp_path]), 99, 1)
    assert (positions.to_play == 2).all()
    assert not positions.stones().any()
    assert EMPTY == 0


def test_balancing_finds_a_policy_with_the_same_outcomes(games: Collection):
    learned = learn_policy(games, FEW._replace(alpha=10.0, epochs=20, simulations=50), ZERO, progress=False)
    positions, values = searched_positions(games, 40, FEW.seed)
    uniform, balanced = (
        float(np.mean(np.square(np.array(outcomes(positions.arrays.boards, theta)) - values)))
        for theta in (ZERO.theta.astype(np.float64), learned.theta.astype(np.float64))
    )
    assert balanced < 0.5 * uniform


def test_shapes_share_what_their_kind_has_learned():
    kinds, gradient = kinds_of_shapes(POLICY.codes), np.random.default_rng(1).normal(size=N_WEIGHTS)
    n, step = len(kinds), shared(gradient, kinds)
    assert 100 < kinds.max() < 150
    for first in (0, n):
        own = gradient[first : first + n]
        expected = own + np.array([own[kinds == kind].sum() for kind in range(kinds.max() + 1)])[kinds]
        np.testing.assert_allclose(step[first : first + n], expected)
    np.testing.assert_array_equal(step[2 * n :], gradient[2 * n :])


def test_the_same_seed_learns_the_same(games: Collection):
    first, again, other = (learn_policy(games, FEW._replace(seed=seed), ZERO, progress=False) for seed in (1, 1, 2))
    assert np.array_equal(first.theta, again.theta)
    assert not np.array_equal(first.theta, other.theta)


def test_reinforce_teaches_each_side_to_win(games: Collection, monkeypatch: pytest.MonkeyPatch):
    settings = FEW._replace(method=REINFORCE)
    learned = learn_policy(games, settings, ZERO, progress=False)
    assert learned.provenance["method"] == "reinforce"
    assert learned.theta.any()
    assert LEAST_SELF_ATARI <= learned.theta[-1] <= 0
    given = []
    monkeypatch.setattr(learning, "add_simulations", lambda *arguments: given.append(arguments[5]))
    learn_policy(games, settings, ZERO, progress=False)
    assert {scales[1:] for scales in given} == {(1.0, -1.0)}


def test_the_mean_of_the_weights_is_learned(games: Collection, monkeypatch: pytest.MonkeyPatch):
    """After two steps of the same length it is at 1/4 * 1 + 3/4 * 2 of them. The first policy stays as it was."""

    def add(*arguments: object) -> None:
        arguments[6].gradient[:] = 1.0

    monkeypatch.setattr(learning, "add_simulations", add)
    settings = FEW._replace(epochs=2, batch=40, alpha=40.0)
    learned = learn_policy(games, settings, ZERO, progress=False)
    one = learn_policy(games, settings._replace(epochs=1), ZERO, progress=False)
    assert not ZERO.theta.any()
    assert learned.theta[1] == pytest.approx(1.75 * one.theta[1])


# ---------------------------------------------------------------------------------------------
# Players and commands
# ---------------------------------------------------------------------------------------------


def test_players_with_a_softmax_policy():
    """The shipped one, or a file; a search and TD search."""
    for spec in ("td_search,sims=20", "mc_rave,sims=20,memory_mb=1"):
        for more in ("default=softmax", f"policy_file={SHIPPED_POLICIES.find('9x9')}"):
            player = make_player(f"{spec},{more}", SIZE, 1)
            policy = player.default if spec.startswith("td") else player.default_policy
            assert policy.kind == SOFTMAX_POLICY
            assert np.array_equal(policy.softmax.shape, POLICY.tables().shape)
    assert player.genmove(Game(SIZE)) > 0
    for spec, message in (
        ("mc_rave,policy_file=x.npz", "player mc_rave: x.npz: no such file of a softmax policy; shipped policies: 9x9"),
        ("uct,policy_file=x.npz,default=mogo", "policy_file cannot be combined with default_policy = mogo"),
    ):
        with pytest.raises(RlgoError, match=message):
            make_player(spec, SIZE, 1)


def test_the_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "a.npz"
    train = ["playouts", "train", str(folder), "--epochs", "1", "--simulations", "5", "--positions", "20", "-o"]
    train.append(str(out))
    assert main(train) == 0
    assert capsys.readouterr().out.startswith(f"{out}: 7,059 shapes, 7,059 answers, 5 other features\n")
    made = load_softmax_policy(out).provenance
    assert (made["method"], made["start"]["method"], made["positions"]) == ("balance", "reinforce", 20)
    assert made["collection"] == [{"kind": "imported", "size": SIZE}]
    assert main(train) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["playouts", "info", str(out)]) == 0
    assert "method balance" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["info", "nofile"], "nofile: no such file of a softmax policy; shipped policies: 9x9"),
        (["train", "nowhere"], "nowhere: expected a folder of games"),
        (["train", "a", "--method", "games"], '--method games: expected one of "balance", "reinforce"'),
        (["targets", "a"], "no such command 'targets'"),
    ],
)
def test_bad_input_is_one_line(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["playouts", *argv]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
