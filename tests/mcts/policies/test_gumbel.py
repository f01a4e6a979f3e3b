"""Gumbel AlphaZero against mctx: the same logits, values and noise give the same visits, move and improved policy."""

from __future__ import annotations

import functools
import zlib
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from mctx._src import seq_halving

import mcts
from mcts.policies import gumbel
from mcts.policies.gumbel import TARGET_UNITS, Gumbel, considered_visits, phases
from mcts.tree import MOST_VISITS
from rlgo import Game, Positions
from rlgo.base.errors import RlgoError
from rlgo.base.softmax import softmax
from rlgo.compiler.jit import interpreted
from rlgo.go.board import BLACK, PASS
from rlgo.go.positions import place_of
from rlgo.play.player import moves_to_try

SIZE, ACTIONS, MOST = 5, 26, 60  # moves at most of a line in the oracle
UNITS = 65_535


def network(positions: Positions) -> dict[str, np.ndarray]:
    """Logits and values that depend on the stones and the player alone; a pass is never likely."""
    boards = positions.stones()
    logits, values = np.zeros((len(boards), ACTIONS)), np.zeros(len(boards))
    for i, (board, player) in enumerate(zip(boards, positions.to_play, strict=True)):
        rng = np.random.default_rng(zlib.crc32(board.tobytes() + bytes([int(player)])))
        logits[i] = rng.normal(size=ACTIONS) * 1.5
        values[i] = np.round(rng.uniform(0.1, 0.9) * 256) / 256  # in the units of the tree
    logits[:, -1] = -20.0
    return {"logits": logits, "value": values}


def answer(moves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log P as the tree has it, the value for the player to move, and which actions there are."""
    game = Game(SIZE)
    for place in moves[moves >= 0]:
        game.play(PASS if place == ACTIONS - 1 else int(np.argwhere(place == PLACES)[0, 0]))
    found = network(Positions.of(game, 1))
    actions = np.zeros(ACTIONS, bool)
    actions[[place_of_move(p) for p in moves_to_try(game)] + [ACTIONS - 1]] = True
    p = softmax(np.where(actions, found["logits"][0], -np.inf))
    units = np.floor(UNITS * p + 0.5) / UNITS
    value = found["value"][0] if game.to_play == BLACK else 1.0 - found["value"][0]
    return np.where(actions, np.log(np.maximum(units, 1e-9)), -1e9), np.float64(2 * value - 1), actions


def place_of_move(p: int) -> int:
    """The place of a move in a policy."""
    return int(interpreted(place_of)(p, SIZE))


PLACES = np.array([place_of_move(p) if p in set(moves_to_try(Game(SIZE))) else -1 for p in range(100)])


def by_mctx(policy: Gumbel, simulations: int, key: int) -> mctx.PolicyOutput:
    """Search the empty board with mctx."""

    def step(_params: None, _key: jax.Array, action: jax.Array, moves: jax.Array) -> tuple[Any, jax.Array]:
        n = (moves[0] >= 0).sum()
        after = moves.at[0, n].set(action[0])
        shapes = jax.ShapeDtypeStruct((ACTIONS,), jnp.float32), jax.ShapeDtypeStruct((), jnp.float32)
        logits, value = jax.pure_callback(lambda m: _in_single(answer(np.asarray(m))), shapes, after[0])
        output = mctx.RecurrentFnOutput(
            reward=jnp.zeros(1), discount=-jnp.ones(1), prior_logits=logits[None], value=value[None]
        )
        return output, after

    logits, value, actions = answer(np.full(MOST, -1))
    root = mctx.RootFnOutput(
        prior_logits=jnp.asarray(logits, jnp.float32)[None],
        value=jnp.asarray(value, jnp.float32)[None],
        embedding=jnp.full((1, MOST), -1),
    )
    scaled = functools.partial(  # values from -1 to 1 have half the weight of values from 0 to 1
        mctx.qtransform_completed_by_mix_value,
        value_scale=policy.c_scale / 2, maxvisit_init=policy.c_visit, rescale_values=False,
    )  # fmt: skip
    return mctx.gumbel_muzero_policy(
        None, jax.random.key(key), root, step, simulations, invalid_actions=jnp.asarray(~actions)[None],
        qtransform=scaled, max_num_considered_actions=policy.considered, gumbel_scale=policy.gumbel_scale,
    )  # fmt: skip


def _in_single(found: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    return found[0].astype(np.float32), np.float32(found[1])


@pytest.mark.parametrize(("considered", "simulations", "c_scale", "noise"), [
    (4, 16, 1.0, 1.0), (8, 32, 0.1, 1.0), (16, 16, 1.0, 0.0), (16, 64, 0.3, 1.0), (1, 8, 1.0, 1.0),
])  # fmt: skip
def test_search_is_that_of_mctx(considered, simulations, c_scale, noise, monkeypatch):
    policy = Gumbel(considered, c_scale=c_scale, target_scale=c_scale, gumbel_scale=noise)
    theirs = by_mctx(policy, simulations, key=considered)
    drawn = np.asarray(theirs.search_tree.extra_data.root_gumbel[0])
    plan = gumbel.plan_root

    def plan_with_their_noise(policy, halving, n_actions, simulations, rng):
        plan(policy, halving, n_actions, simulations, rng)
        halving.noise[:n_actions] = [drawn[place_of_move(int(p))] for p in player.trees[0].move[:n_actions]]

    monkeypatch.setattr("mcts.player.plan_root", plan_with_their_noise)
    search = mcts.Search(policy, (mcts.Stage(mcts.Outside()),), mcts.Value(mcts.OutsideValue()))
    player = mcts.TreeSearch(SIZE, search, simulations, evaluator=network, resources=mcts.Resources(batch=1), seed=1)
    game = Game(SIZE)
    result = player.search(game)
    visits = np.zeros(ACTIONS, int)
    visits[[place_of_move(int(p)) for p in result.moves]] = result.visits
    np.testing.assert_array_equal(visits, np.asarray(theirs.search_tree.children_visits[0, 0]))
    assert place_of_move(int(result.moves[0])) == int(theirs.action[0])
    target = np.zeros(ACTIONS)
    for move, units in player.policy_target(game).items():
        target[place_of_move(move)] = units / TARGET_UNITS
    np.testing.assert_allclose(target, np.asarray(theirs.action_weights[0]), atol=6e-4)


def test_phases_are_those_of_mctx():
    for m in (1, 2, 3, 5, 8, 16, 21):
        for n in (1, 2, 7, 16, 50, 200):
            rows = np.array(phases(m, n))
            ours = [int(interpreted(considered_visits)(rows, i)) for i in range(n)]
            assert ours == list(seq_halving.get_sequence_of_considered_visits(m, n)), (m, n)


def test_plans_of_many_simulations_fit():
    longest = max(len(phases(m, n)) for m in (1, 2, 3, 7, 100, 362) for n in (1, 100, 361, 1_000, 10**9))
    assert longest <= gumbel._MOST_PHASES


def test_what_it_cannot_be_combined_with():
    rlgo = mcts.ALGORITHMS["rlgo"]
    corrected = rlgo._replace(policy=Gumbel(), leaf=mcts.Value(mcts.CorrectedValue()))
    with pytest.raises(RlgoError, match="Gumbel cannot be combined with CorrectedValue"):
        mcts.TreeSearch(5, corrected, 8)
    with pytest.raises(RlgoError, match="expected a number of simulations"):
        mcts.TreeSearch(5, mcts.Search(Gumbel()), None, 1.0)
    with pytest.raises(RlgoError, match="root_parallel cannot be combined with Gumbel"):
        mcts.TreeSearch(5, mcts.Search(Gumbel()), 8, resources=mcts.Resources(workers=2, root_parallel=True))


def test_a_root_without_a_plan_and_beyond_it():
    rows = np.array([*phases(4, 8), (0, 0, 0)])
    visits = interpreted(considered_visits)
    assert [int(visits(rows, i)) for i in (0, 3, 4, 5, 7)] == [0, 0, 1, 1, 2]
    assert visits(rows, 8) == visits(rows, 1_000) == MOST_VISITS
    assert visits(np.zeros((2, 3), np.int64), 0) == -1


def test_a_pass_without_a_search_teaches_the_pass():
    """Not the policy of the position before, whose tree is still there."""
    search = mcts.Search(Gumbel(4), (mcts.Stage(mcts.Outside()),), mcts.Value(mcts.OutsideValue()))
    player = mcts.TreeSearch(SIZE, search, 8, evaluator=network, resources=mcts.Resources(batch=1), seed=1)
    game = Game(SIZE, komi=0.5)
    for move in ("C3", "A1", "B3", "A5", "D3"):
        game.play(move)
    player.search(game)
    assert len(player.policy_target(game)) > 1
    game.play(PASS)
    assert player.genmove(game) == PASS
    assert player.policy_target(game) == {PASS: 1}


@pytest.mark.parametrize(("batch", "workers"), [(8, 1), (4, 2)])
def test_with_simulations_that_wait_only_drawn_actions_are_visited(batch, workers):
    search = mcts.Search(Gumbel(4), (mcts.Stage(mcts.Outside()),), mcts.Value(mcts.OutsideValue()))
    resources = mcts.Resources(batch=batch, workers=workers)
    for seed in range(20):
        result = mcts.TreeSearch(SIZE, search, 32, evaluator=network, resources=resources, seed=seed).search(Game(SIZE))
        assert (result.visits > 0).sum() <= 4
        assert result.visits.sum() == 32
