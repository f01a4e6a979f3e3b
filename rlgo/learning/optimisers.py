"""Learning rules: how a gradient changes the weights. A rule may keep state for each weight, such as a step size.

Start reading at `rule`, then `idbd`. `td.py` computes the gradient of a game (or of a step),

    g = sum over t of e_t phi(s_t) / ||phi(s_t)||^2,

and the learning rule turns it into a change of the weights. The rule of the papers, theta <- theta + alpha g, is linear
in g: `td.py` adds each part of g to the weights at once and needs no optimiser, which is `None`. Any other rule is a
function of one weight, which `take_step` applies to all weights whose gradient is not zero. It is called through a
pointer (20 ns a weight), so that the kernels that learn are compiled once for all rules.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge

from rlgo.base.checks import check
from rlgo.base.errors import RlgoError, nearest, shown
from rlgo.base.user_code import check_kernel, load
from rlgo.compiler.jit import callback, inline, njit

_SIGNATURE = "float64(float64, float64, float32[::1], float64, float64[::1])"  # of a rule, see `rule`


class Optimiser(NamedTuple):
    """A learning rule applied to n weights."""

    step: Any  # the compiled rule, see `rule`
    gradient: np.ndarray  # float32[n + 1]: g of the current game, otherwise 0
    curvature: np.ndarray  # float32[n + 1]: likewise, sum over t of n_i(s_t) / ||phi(s_t)||^2
    state: np.ndarray  # float32[n + 1, k]: the state that the rule keeps for each weight, initially 0
    parameters: np.ndarray  # float64[p]: the rule's own settings


def state_of(optimiser: Optimiser | None) -> np.ndarray:
    """Return the state that a learning rule keeps, float32[n + 1, k]; float32[0, 0] for the papers' rule."""
    return np.zeros((0, 0), np.float32) if optimiser is None else optimiser.state


@dataclass(frozen=True)
class LearningRule:
    """A learning rule and its settings. Make one with `rule` or `find_rule`.

    Attributes
    ----------
    step : the function of one weight, see `rule`
    n_state : numbers kept for each weight
    parameters : its settings by name, in their order in `p`
    """

    step: Callable[..., float]
    n_state: int
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.step.__name__

    def make(self, n_weights: int) -> Optimiser:
        """Make the optimiser for this many weights, with zero state; this compiles the rule."""
        n = n_weights + 1
        return Optimiser(
            callback(_SIGNATURE, self.step),
            np.zeros(n, np.float32),
            np.zeros(n, np.float32),
            np.zeros((n, self.n_state), np.float32),
            np.array([*self.parameters.values()], np.float64),
        )

    def check(self) -> None:
        """Call the rule in plain Python. RlgoError, with the line, if it fails; see `check_kernel`."""
        state, p = np.zeros(self.n_state, np.float32), np.array([*self.parameters.values()], np.float64)
        numbers = itertools.product((1.0, 0.1, 0.01), (0.0, 0.3, -0.3, 0.002, -1.0, 1.0), (0.1, 1e-4))
        calls = ((np.float64(g), np.float64(c), state, np.float64(alpha), p) for c, g, alpha in numbers)
        check_kernel(f"learning rule {self.name}", self.step, calls)


def rule(state: int, **parameters: float) -> Callable[[Callable[..., float]], LearningRule]:
    """Make a `LearningRule` of a function that returns the change of one weight; a decorator.

    The function is ``step(gradient, curvature, state, alpha, p)``:

    * gradient: g_i (float);
    * curvature: the sum of n_i / ||phi||^2 over the same states (float), where n_i counts the windows whose shape has
      this weight; |phi_i| where their signs agree. (After a single step: the size of its eligibility trace.)
    * state: the state of this weight (float32[state]), which the function may change;
    * alpha: the step size of this game (float);
    * p: the parameters (float64[p]), in the order given here.

    It is compiled by numba and called for each weight that has a shape in the game. Compiled code checks no index, so
    the rule is called in plain Python first, with a few gradients.

    Parameters
    ----------
    state : how many numbers to keep for each weight; initially 0
    parameters : settings and their defaults; ``learning.optimiser = "NAME,setting=value"`` changes them

    >>> from rlgo.learning.optimisers import rule
    >>> @rule(state=1, decay=0.9)
    ... def momentum(gradient, curvature, state, alpha, p):
    ...     state[0] = p[0] * state[0] + gradient
    ...     return alpha * state[0]
    >>> momentum.parameters
    {'decay': 0.9}
    """

    def decorate(step: Callable[..., float]) -> LearningRule:
        names = list(inspect.signature(step).parameters)
        if len(names) != 5:
            raise RlgoError(f"{step.__name__}({', '.join(names)}): expected (gradient, curvature, state, alpha, p)")
        check("state", state, Annotated[int, Ge(0)])
        return LearningRule(step, state, parameters)

    return decorate


@rule(state=2, meta=100.0)
def idbd(gradient, curvature, state, alpha, p):
    """Adapt a step size for each weight: IDBD (Sutton 1992), with TD errors as in TIDBD (Kearney et al. 2018).

    With state beta and h, and g for delta x and c for x^2 summed over a game:

        beta <- beta + meta g h;  a = alpha e^beta;  h <- h [1 - a c]+ + a g;  theta <- theta + a g

    beta changes by at most 2 at once and stays within +-10, as Sutton advises.
    """
    beta = state[0] + min(max(p[0] * gradient * state[1], -2.0), 2.0)
    beta = min(max(beta, -10.0), 10.0)
    a = alpha * math.exp(beta)
    state[0] = beta
    state[1] = state[1] * max(0.0, 1.0 - a * curvature) + a * gradient
    return a * gradient


RULES: dict[str, LearningRule | None] = {"normalised": None, "idbd": idbd}
"""The learning rules by name; "normalised" is the papers' rule, which needs no optimiser."""


def find_rule(text: str | LearningRule) -> LearningRule | None:
    """Return a learning rule by name, or ``FILE.py:NAME`` or ``MODULE:NAME``, optionally with ``,parameter=value`` ...

    The file is a Python program, and is run. A `LearningRule` is returned unchanged. Raises RlgoError for an unknown
    rule or parameter.
    """
    if isinstance(text, LearningRule):
        return text
    if not isinstance(text, str):
        raise RlgoError(f"learning.optimiser = {shown(text)}: expected a learning rule, or its name")
    name, *settings = (part.strip() for part in text.split(","))
    if ":" in name:
        found = load("learning.optimiser", name, "a learning rule", lambda value: isinstance(value, LearningRule))
    elif name in RULES:
        found = RULES[name]
    else:
        hint = nearest(name, RULES, f"expected {', '.join(RULES)}, or FILE.py:NAME")
        raise RlgoError(f"learning.optimiser: no learning rule {shown(name)}; {hint}")
    found = _with_settings(found, settings) if settings else found
    if found is not None:
        found.check()  # before a sweep starts its runs
    return found


def _with_settings(found: LearningRule | None, settings: list[str]) -> LearningRule:
    parameters = dict(found.parameters) if found else {}
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in parameters:
            raise RlgoError(f"learning.optimiser: unknown parameter {key}; expected {', '.join(parameters) or 'none'}")
        try:
            parameters[key] = float(value)
        except ValueError:
            parameters[key] = math.nan
        if not math.isfinite(parameters[key]):
            raise RlgoError(f"learning.optimiser: {key} = {value}: expected a number")
    assert found is not None  # the papers' rule has no parameters
    return replace(found, parameters=parameters)


# ---------------------------------------------------------------------------------------------
# Steps
# ---------------------------------------------------------------------------------------------


@inline
def gradient_scale(alpha, optimiser):
    """Return the factor of a gradient: alpha if it changes the weights at once, 1 if an optimiser will use it."""
    return alpha if optimiser is None else 1.0


@inline
def change_of(i, gradient, curvature, optimiser, alpha):
    """Return the change of weight i by the rule, and update the rule's state."""
    return np.float32(
        optimiser.step(np.float64(gradient), np.float64(curvature), optimiser.state[i], alpha, optimiser.parameters)
    )


@njit
def take_step(n, touched, alpha, theta, optimiser):
    """Apply the rule to the weights touched[:n], and reset their gradients to 0.

    optimiser : `Optimiser`; None: the gradient has already been added to theta
    """
    if optimiser is None:
        return
    for k in range(n):
        i = np.uint64(touched[np.uint64(k)])
        if i != 0:
            theta[i] += change_of(i, optimiser.gradient[i], optimiser.curvature[i], optimiser, alpha)
        optimiser.gradient[i] = 0.0
        optimiser.curvature[i] = 0.0
