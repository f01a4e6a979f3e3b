"""A learning rule of your own: RMSprop (Hinton 2012), on the weights that a game touches.

    rlgo train quick --set learning.optimiser=docs/examples/own_rule.py:rmsprop learning.alpha=0.0003

See docs/learning_rules.md.
"""

import math

from rlgo.learning.optimisers import rule


@rule(state=1, decay=0.999, floor=1e-4)
def rmsprop(gradient, curvature, state, alpha, p):  # noqa: ARG001
    """Divide each step by the root of a running mean of the squared gradients of its weight."""
    decay, floor = p[0], p[1]
    state[0] = decay * state[0] + (1.0 - decay) * gradient * gradient
    return alpha * gradient / (math.sqrt(state[0]) + floor)
