"""Evaluators: what gives a tree search its policies and values, in batches of positions.

Start reading at `Evaluator`, then `read_answers`, which checks what a user's function returns. `onnx.py` has networks
from files.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from mcts.outside.answers import ACTION_VALUES, LOGITS, NO_POLICY, PROBABILITIES, Answers
from rlgo.base.errors import RlgoError, nearest, shown
from rlgo.base.softmax import softmax
from rlgo.base.user_code import guarded
from rlgo.go.positions import HISTORY, Positions

_POLICIES = {"policy": PROBABILITIES, "logits": LOGITS, "q": ACTION_VALUES}
_OTHERS = ("ownership", "score")  # shown, but not searched with
_TOLERANCE = 1e-2  # in the sum of probabilities, for networks that compute with 16 bits
ROUNDING = 1e-3  # by which a value may miss 0 or 1
_FIRST = 1_000  # positions whose policies are compared with legal moves
_MOST_ILLEGAL = 0.5  # share of these that is not warned of
_seen: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # how many positions each evaluator has been asked about


class Evaluator(Protocol):
    """Anything that evaluates positions: a function, or an object that can be called like one.

    It takes `rlgo.Positions`, n of one board size with N points, and returns a dictionary of arrays, all with n rows.
    Every entry is optional:

    ========== ======== =====================================================================================
    ``policy`` [n, N+1] probabilities of moves, row by row from A1, the pass last; each row adds up to 1
    ``logits`` [n, N+1] the same before a softmax, in place of ``policy``
    ``q``      [n, N+1] P(Black wins) after each move, in place of ``policy``
    ``value``  [n]      P(Black wins), whoever is to play
    others     [n, ...] ``ownership`` and ``score``: kept in `TreeSearch.evaluation` for the root
    ========== ======== =====================================================================================

    Only the actions of a node count, and probabilities are scaled to add up to 1 over them.
    A function may set `history` as an attribute. `warm_up(size)`, if there is one, is called before the first search.

    Attributes
    ----------
    history : how many positions the stones of `rlgo.Positions` go back, the current one included

    >>> import mcts, numpy as np, rlgo
    >>> def evaluate(positions):
    ...     legal = positions.legal()
    ...     return {"policy": legal / legal.sum(axis=1, keepdims=True), "value": np.full(len(positions), 0.5)}
    >>> player = mcts.TreeSearch(5, mcts.ALGORITHMS["puct"], simulations=100, evaluator=evaluate, seed=1)
    >>> player.search(rlgo.Game(5)).simulations
    100
    """

    history: int = HISTORY

    def __call__(self, positions: Positions) -> Mapping[str, Any]:
        """Evaluate positions; see above."""
        ...


class Evaluation(NamedTuple):
    """The checked answer to a batch.

    Attributes
    ----------
    answers : what compiled code takes
    others : the other entries by name, each with a row for each position
    """

    answers: Answers
    others: Mapping[str, np.ndarray]

    def rows(self, first: int, end: int) -> Evaluation:
        """Return the answer to positions `first` to `end` - 1 of the batch."""
        a = self.answers
        answers = a._replace(policy=a.policy[first:end], value=a.value[first:end])
        return Evaluation(answers, {name: array[first:end] for name, array in self.others.items()})


def evaluate(evaluator: Any, positions: Positions) -> Evaluation:
    """Call an evaluator and check its answer. RlgoError in one line if it fails, whatever is wrong.

    Once, a line on stderr warns of an evaluator most of whose first policies is on illegal moves.
    """
    found = read_answers(guarded("evaluator", evaluator, positions), len(positions), positions.size**2)
    with contextlib.suppress(TypeError):  # of an object that cannot be a key
        if (seen := _seen.get(evaluator, 0)) < _FIRST:
            _seen[evaluator] = seen + len(positions)
            if (mass := illegal_mass(found.answers, positions.legal()).mean()) > _MOST_ILLEGAL:
                _seen[evaluator] = _FIRST
                told = f"{mass:.0%} of its policy is on illegal moves; rlgo network check tells more"
                print(f"rlgo: evaluator: {told}", file=sys.stderr, flush=True)
    return found


def illegal_mass(answers: Answers, legal: np.ndarray) -> np.ndarray:
    """Return the probability of all illegal moves together, float64[n]; 0 without a policy.

    legal : bool[n, N + 1]
    """
    if answers.kind not in (PROBABILITIES, LOGITS):
        return np.zeros(len(legal))
    policy = answers.policy.astype(np.float64)
    return np.asarray(((softmax(policy) if answers.kind == LOGITS else policy) * ~legal).sum(axis=1))


def read_answers(answer: Any, n: int, points: int) -> Evaluation:
    """Check the answer of an evaluator.

    Parameters
    ----------
    answer : see `Evaluator`
    n : number of positions
    points : N

    Raises
    ------
    RlgoError : if it is no dictionary, or for an entry that is unknown or has the wrong shape, NaN, a number out of
        range, or probabilities that do not add up to 1
    """
    if not isinstance(answer, Mapping):
        raise RlgoError(f"evaluator: returned {shown(answer)}: expected a dict with policy, value or both")
    given = [name for name in _POLICIES if answer.get(name) is not None]
    if len(given) > 1:
        raise RlgoError(f"evaluator: {' and '.join(given)}: expected one of them")
    kind, policy = NO_POLICY, np.zeros((0, points + 1), np.float32)
    if given:
        kind, policy = _POLICIES[given[0]], _policy(given[0], answer[given[0]], n, points)
    value = np.zeros(0)
    has_value = answer.get("value") is not None
    if has_value:
        value = _value(answer["value"], n)
    others = {}
    for name, entry in answer.items():
        if name not in (known := (*_POLICIES, "value", *_OTHERS)):
            raise RlgoError(f"evaluator: unknown entry {shown(name)}; {nearest(str(name), known)}")
        if name in _OTHERS and entry is not None:
            array = np.asarray(entry)
            if array.ndim == 0 or len(array) != n:
                raise RlgoError(f"evaluator: {name} has shape {array.shape}: expected {n} rows, one for each position")
            others[name] = array
    return Evaluation(Answers(kind, policy, has_value, value), others)


def numbers_of(name: str, entry: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an entry as an array of this shape and type."""
    try:
        array = np.asarray(entry, dtype)
    except (TypeError, ValueError, RuntimeError):  # the last from a tensor that needs gradients
        raise RlgoError(f"evaluator: {name} = {shown(entry)}: expected numbers") from None
    if array.shape != shape:
        raise RlgoError(f"evaluator: {name} has shape {array.shape}: expected {shape}")
    return np.ascontiguousarray(array)


def _policy(name: str, entry: Any, n: int, points: int) -> np.ndarray:
    """Check ``policy``, ``logits`` or ``q``."""
    array = numbers_of(name, entry, (n, points + 1), np.float32)
    if name == "logits":
        _refuse(name, np.isnan(array) | (array == np.inf), array, "a number")
        return array
    if name == "policy":
        sums = array.sum(axis=1)
        if (np.abs(sums - 1.0) <= _TOLERANCE).all() and (array >= 0).all():  # no NaN either
            return array
        _refuse(name, ~((array >= 0) & (array <= 1 + _TOLERANCE)), array, "0 to 1")
        i = int(np.flatnonzero(~(np.abs(sums - 1.0) <= _TOLERANCE))[0])
        raise RlgoError(f"evaluator: policy of position {i} adds up to {sums[i]:.4g}: expected 1")
    # Moves that are no actions, illegal ones for instance, may be NaN, as in `q_rlgo`; they are never read.
    known = np.where(np.isnan(array), np.float32(0.5), array)
    _refuse(name, ~((known >= 0) & (known <= 1)), known, "0 to 1")
    return known


def _value(entry: Any, n: int) -> np.ndarray:
    """Check ``value``: float64[n]; a column is taken as well."""
    if np.shape(entry) == (n, 1):
        entry = np.reshape(np.asarray(entry), n)
    array = numbers_of("value", entry, (n,), np.float64)
    words = "P(Black wins), 0 to 1"
    if (np.abs(array) <= 1 + ROUNDING).all():  # some are below 0, if any is refused
        words += "; a value v from -1 to 1 is (1 + v) / 2"
    _refuse("value", ~((array >= -ROUNDING) & (array <= 1 + ROUNDING)), array, words)
    return np.clip(array, 0.0, 1.0)


def _refuse(name: str, wrong: np.ndarray, array: np.ndarray, words: str) -> None:
    """Raise an RlgoError that names the first wrong number, if there is any."""
    if wrong.any():
        where = np.argwhere(wrong)[0]
        rest = f", move {where[1]}" if len(where) > 1 else ""
        raise RlgoError(f"evaluator: {name} of position {where[0]}{rest} = {array[tuple(where)]:.4g}: expected {words}")
