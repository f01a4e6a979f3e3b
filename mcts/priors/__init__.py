"""Prior knowledge of actions: one number x for each, such that sigma(x) is its value for the colour to play.

A prior is a NamedTuple with its parameters and a kernel `add_x`, in one file, and a line in `PRIORS`. A search has
stages of them (`stages.py`), each from so many visits of a node on. MC-RAVE paper, Section 5.1.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from mcts.priors import grandfather, handcrafted, mogo, network, patterns, rlgo
from mcts.priors.grandfather import Grandfather as Grandfather
from mcts.priors.handcrafted import Handcrafted as Handcrafted
from mcts.priors.mogo import Mogo as Mogo
from mcts.priors.network import Network as Network
from mcts.priors.patterns import Patterns as Patterns
from mcts.priors.rlgo import Rlgo as Rlgo
from rlgo.base.settings import NonNegative, Positive
from rlgo.compiler.dispatch import by_first
from rlgo.compiler.jit import njit


class Even(NamedTuple):
    """Q_even: 1/2 everywhere.

    >>> import mcts
    >>> mcts.Stage(mcts.Even()).after
    1
    """


class Outside(NamedTuple):
    """The policy of an evaluator, which answers later; see `mcts/outside`.

    scale, shift : of `log_odds.action_x`

    >>> import mcts
    >>> mcts.Stage(mcts.Outside()).prior.scale
    0.4
    """

    scale: Positive = 0.4
    shift: NonNegative = 0.4


class Sum(NamedTuple):
    """Two priors, added as log-odds.

    >>> import mcts
    >>> mcts.Sum(mcts.Rlgo(), mcts.Handcrafted()).first
    Rlgo()
    """

    first: Any
    second: Any


@njit
def _add_both(prior, node, before, b, tree, context, workspace):
    add_x(prior.first, node, before, b, tree, context, workspace)
    add_x(prior.second, node, before, b, tree, context, workspace)


PRIORS: dict[type, Any] = {
    Even: SimpleNamespace(),
    Grandfather: grandfather,
    Mogo: mogo,
    Handcrafted: handcrafted,
    Rlgo: rlgo,
    Patterns: patterns,
    Network: network,
    Outside: SimpleNamespace(),
    Sum: SimpleNamespace(add_x=_add_both),
}
"""The module of each prior: its kernel, and in ``NEEDS`` the argument of `TreeSearch` that it needs, if any."""


@by_first(PRIORS)
def add_x(prior, node, before, b, tree, context, workspace):
    """Add x of each action of a node to `workspace.path.x`, float64[n_edges].

    before : the node two plies earlier, or NO_CHILD; the move that led to the node, and the one before, or PASS
    b : the position
    context : `workspace.Context`
    """


def sum_of(*priors: Any) -> Any:
    """Return the sum of one or more priors."""
    first, *others = priors
    return Sum(first, sum_of(*others)) if others else first


def parts_of(prior: Any) -> list[Any]:
    """Return the priors that a prior is the sum of."""
    return [*parts_of(prior.first), *parts_of(prior.second)] if isinstance(prior, Sum) else [prior]
