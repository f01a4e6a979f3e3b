"""Learning rules: against the papers' rule, against a slow IDBD on dense gradients, and by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numba
import numpy as np
import pytest
from oracles import naive
from test_td import ONE_WEIGHT, SHORT_GAME, V, last_game, learning_of, record_game

from rlgo.base.errors import RlgoError
from rlgo.base.settings import Policy
from rlgo.features.shapes import make_features
from rlgo.go.rules import max_plies
from rlgo.learning.learner import Learner
from rlgo.learning.optimisers import LearningRule, find_rule, idbd, rule
from rlgo.learning.td import learn_game, make_memory

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "own_rule.py"
FEATURES = make_features(5, (1, 2), "LI+LD")


@rule(state=0)
def plain(gradient, curvature, state, alpha, p):  # noqa: ARG001  # a rule's signature
    """The rule of the papers, as one of a user."""
    return alpha * gradient


def learner_of(optimiser: str | LearningRule, workers: int = 1, **settings) -> Learner:
    learning = learning_of(**settings)
    return Learner(
        FEATURES,
        learning,
        Policy(epsilon=0.2),
        max_moves=max_plies(5),
        seed=1,
        optimiser=optimiser,
        workers=workers,
        merge_every=5,
    )


class SlowIdbd:
    """IDBD as Sutton 1992 prints it (Figure 2), with g in place of delta x and c in place of x^2."""

    def __init__(self, alpha: float, meta: float):
        self.alpha, self.meta = alpha, meta
        self.beta: dict[naive.Weight, float] = {}
        self.h: dict[naive.Weight, float] = {}

    def __call__(self, name: naive.Weight, gradient: float, curvature: float) -> float:
        h = self.h.get(name, 0.0)
        self.beta[name] = self.beta.get(name, 0.0) + self.meta * gradient * h
        step = self.alpha * math.exp(self.beta[name])
        self.h[name] = h * max(0.0, 1.0 - step * curvature) + step * gradient
        return step * gradient


@pytest.mark.parametrize(("update", "lambda_"), [("game", 0.0), ("game", 0.7), ("step", 0.0), ("step", 0.7)])
@pytest.mark.parametrize("normalise", ["active", "slots", "norm2"])
def test_idbd_equals_a_slow_one_on_dense_gradients(update: str, lambda_: float, normalise: str) -> None:
    learner = learner_of("idbd,meta=5", update=update, lambda_=lambda_, normalise=normalise)
    slow, theta = SlowIdbd(0.2, 5.0), {}
    for _ in range(10):
        learner.learn(1)
        states, z = last_game(learner)
        naive.learn(
            theta, states, z, alpha=0.2, lambda_=lambda_, plies=2, value_kind="logistic", update=update,
            normalise=normalise, rule=slow,
        )  # fmt: skip
    for values, actual in ((theta, learner.theta), (slow.beta, learner.pool.optimiser[:, 0])):
        expected = naive.by_index(values, FEATURES)
        assert np.abs(expected).max() > 0.001
        np.testing.assert_allclose(actual, expected, atol=2e-5, rtol=1e-3)
    table = learner.pool.workers[0].memory.table.black
    np.testing.assert_array_equal(table, FEATURES.expand(learner.theta))


@pytest.mark.interpreted
@pytest.mark.boundscheck
@pytest.mark.parametrize("update", ["game", "step"])
def test_the_papers_rule_written_as_ones_own_learns_the_same(update: str) -> None:
    own, papers = (learner_of(r, update=update, lambda_=0.5) for r in (plain, "normalised"))
    for learner in (own, papers):
        learner.learn(2)
    assert np.abs(papers.theta).max() > 0.01
    np.testing.assert_allclose(own.theta, papers.theta, atol=1e-6, rtol=0)
    assert not own.pool.workers[0].memory.optimiser.gradient.any()
    assert not own.pool.workers[0].memory.optimiser.curvature.any()


def test_idbd_by_hand() -> None:
    """The game of `test_td.SHORT_GAME` twice, from the same values: theta -> theta + a g, with the first step alpha.

    g = 2 (1 - v) / 3, as worked out there. The weight has a shape in s_1 (1 of 1 active window), s_2 (2 of 2), s_3 and
    s_4 (3 of 3 each), so c = 4.
    """
    learning = learning_of(alpha=0.1)
    episode, memory = record_game(SHORT_GAME, 0.1, learning)
    memory = make_memory(ONE_WEIGHT, learning, memory.theta, find_rule("idbd,meta=3"))
    g = 2 * (1 - V) / 3
    learn_game(episode, 1.0, 0.1, learning, memory)
    assert memory.theta[1] == pytest.approx(0.1 + 0.1 * g, abs=1e-7)
    h = 0.1 * g
    assert memory.optimiser.state[1].tolist() == pytest.approx([0.0, h], abs=1e-7)
    learn_game(episode, 1.0, 0.1, learning, memory)
    beta = 3 * g * h
    step = 0.1 * math.exp(beta)
    assert memory.theta[1] == pytest.approx(0.1 + 0.1 * g + step * g, abs=1e-7)
    assert memory.optimiser.state[1].tolist() == pytest.approx([beta, h * (1 - step * 4) + step * g], abs=1e-6)


def test_steps_of_idbd_stay_within_bounds() -> None:
    state, p = np.zeros(2, np.float32), np.array([1e9])
    for gradient in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        before = float(state[0])
        idbd.step(gradient, 0.0, state, 0.1, p)
        assert abs(state[0] - before) <= 2
    assert state[0] == 10


def test_state_survives_a_resume_and_merging() -> None:
    for workers in (1, 2):
        whole, first = learner_of("idbd,meta=50", workers), learner_of("idbd,meta=50", workers)
        first.learn(10 * workers)
        second = learner_of("idbd,meta=50", workers)
        second.restore(first.state())
        whole.learn(10 * workers)
        for learner in (whole, second):
            learner.learn(10 * workers)
        assert whole.pool.optimiser[:, 0].any()
        np.testing.assert_array_equal(second.theta, whole.theta)
        np.testing.assert_array_equal(second.pool.optimiser, whole.pool.optimiser)
        for worker in whole.pool.workers:
            np.testing.assert_array_equal(worker.state, whole.pool.optimiser)
        for learner in (whole, first, second):
            learner.close()


def test_what_workers_learned_of_their_steps_is_merged_like_their_weights() -> None:
    learner = learner_of("idbd,meta=50", 2)
    single = [learner_of("idbd,meta=50") for _ in range(2)]
    for worker, own in zip(learner.pool.workers, single, strict=True):
        own.pool.workers[0].rng[:] = worker.rng
        own.learn(5)
    learner.learn(10)
    columns = [
        naive.merged([0.0] * (FEATURES.n_weights + 1), [own.pool.optimiser[:, k].tolist() for own in single])
        for k in range(2)
    ]
    np.testing.assert_allclose(learner.pool.optimiser, np.transpose(columns), atol=1e-7)
    learner.close()


def test_arrays_that_settings_do_not_need_are_empty() -> None:
    scratch = make_memory(FEATURES, learning_of()).scratch
    assert scratch.trace.size == scratch.traced.size == scratch.is_traced.size == scratch.counts.size == 0
    assert scratch.recent is None
    scratch = make_memory(FEATURES, learning_of(update="step", normalise="norm2")).scratch
    assert scratch.trace.shape == (2, FEATURES.n_weights + 1)
    assert scratch.counts.shape == (FEATURES.n_weights + 1,)


def test_the_example_is_short_and_learns() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) <= 60
    learner = learner_of(f"{EXAMPLE}:rmsprop,decay=0.9", alpha=0.01)
    assert learner.pool.workers[0].memory.optimiser.parameters.tolist() == [0.9, 1e-4]
    learner.learn(5)
    assert learner.pool.optimiser.any()
    assert 0 < np.abs(learner.theta).max() < 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("idbt", "learning.optimiser: no learning rule 'idbt'; did you mean idbd?"),
        ("idbd,mata=1", "learning.optimiser: unknown parameter mata; expected meta"),
        ("idbd,meta=x", "learning.optimiser: meta = x: expected a number"),
        ("idbd,meta=nan", "learning.optimiser: meta = nan: expected a number"),
        ("idbd,meta=1e999", "learning.optimiser: meta = 1e999: expected a number"),
        (None, "learning.optimiser = None: expected a learning rule, or its name"),
        ("~nobody-of-that-name/rule.py:mine", "~nobody-of-that-name/rule.py: "),
        ("normalised,alpha=1", "learning.optimiser: unknown parameter alpha; expected none"),
        ("nowhere.py:mine", "learning.optimiser: nowhere.py: expected a Python file"),
        ("bad.py:mine", "learning.optimiser: ZeroDivisionError: division by zero (bad.py, line 1)"),
        ("few.py:mine", "mine(g): expected (gradient, curvature"),
        ("none.py:mine", "learning.optimiser: mine = 3: expected a learning rule"),
        ("none.py:yours", "learning.optimiser: none.py has no yours; expected a learning rule"),
    ],
)
def test_a_bad_rule_is_refused_in_one_line(text: str | None, message: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.py").write_text("1 / 0")
    Path("few.py").write_text("from rlgo.learning.optimisers import rule\n@rule(state=0)\ndef mine(g):\n    return g\n")
    Path("none.py").write_text("mine = 3")
    with pytest.raises(RlgoError) as caught:
        find_rule(text)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("state[1] += gradient\n    return 0.0", "IndexError: index 1 is out of bounds for axis 0 with size 1"),
        ("return p[0] * gradient", "IndexError: index 0 is out of bounds for axis 0 with size 0"),
        ("return gradient / abs(gradient)", "returns nan: expected a finite number"),
        ("state[0] = 1e39 * curvature; return 0.0", "state = [inf]: expected a finite number"),
        ("state[0] = gradient", "returns None: expected a finite number"),
        ("return 'a'", "returns 'a': expected a finite number"),
        ("return nowhere", "NameError: name 'nowhere' is not defined"),
        ("return alpha if gradient < 0.9 else state[2]", "IndexError: index 2 is out of bounds for axis 0 with size 1"),
    ],
)
def test_a_rule_is_tried_before_it_is_compiled(body: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    head = (
        "from rlgo.learning.optimisers import rule\n@rule(state=1)\ndef mine(gradient, curvature, state, alpha, p):\n"
    )
    file.write_text(f"{head}    {body}\n")
    with pytest.raises(RlgoError) as caught:
        find_rule(f"{file}:mine")
    assert str(caught.value) == f"learning rule mine: {message} (own.py, line 4)"


def test_rules_of_one_file_are_tried_apart(tmp_path: Path) -> None:
    """One may be unfinished, or call a function that comes later."""
    head = "from rlgo.learning.optimisers import rule\n"
    one = "@rule(state=0)\ndef {}(gradient, curvature, state, alpha, p):\n    return {}(alpha)\n"
    later = "def later(alpha):\n    return alpha\n"
    (tmp_path / "own.py").write_text(head + one.format("good", "later") + one.format("bad", "never") + later)
    assert find_rule(f"{tmp_path / 'own.py'}:good") is not None
    with pytest.raises(RlgoError, match="never"):
        find_rule(f"{tmp_path / 'own.py'}:bad")
    with pytest.raises(RlgoError, match="state = -1: expected"):
        rule(state=-1)(lambda gradient, curvature, state, alpha, p: 0.0)  # noqa: ARG005


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_rule_that_numba_cannot_compile_is_refused_in_one_line() -> None:
    @rule(state=0)
    def mine(gradient, curvature, state, alpha, p):  # noqa: ARG001
        return float.fromhex(gradient.hex())

    with pytest.raises(
        RlgoError, match=r"mine: cannot be compiled: .*hex.* \(test_optimisers.py, line \d+\)$"
    ) as caught:
        mine.make(3)
    assert "\n" not in str(caught.value)
