"""The settings of a learner, with their defaults, their bounds and the names of their values.

`Learning` describes how weights change (`td.py`, `learner.py`), `Policy` how moves are chosen (`policy.py`). Each
default and each bound is defined here and nowhere else: configs read theirs from these classes. Nothing heavy is
imported, so that reading a config does not load numba.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from rlgo.base.bounds import HUGE, Choice, Number, OrNone, Whole, checked
from rlgo.base.errors import RlgoError, shown

MIN_SIZE, MAX_SIZE, DEFAULT_SIZE = 5, 19, 9  # board sizes
DEFAULT_KOMI = 7.5  # TD paper, Section 3.2.1
DEFAULT_OPENING_PLIES = 4  # random moves at the start of each game of a match

MOST_RINGS = 9  # around a move, in the largest shapes of patterns (nested_shapes.py)
SIZES = (1, 2, 3)  # sides of the windows of local shape features
SHARINGS = {"LI+LD": ("LI", "LD"), "LI": ("LI",), "LD": ("LD",), "inversion": ("inversion",), "none": ("none",)}

LOGISTIC, LINEAR = 0, 1
VALUES = {"logistic": LOGISTIC, "linear": LINEAR}
CONSTANT, LINEAR_DECAY, HARMONIC, EXPONENTIAL = 0, 1, 2, 3
STEP_SCHEDULES = {"constant": CONSTANT, "linear": LINEAR_DECAY, "harmonic": HARMONIC, "exponential": EXPONENTIAL}
GAME, STEP = 0, 1
UPDATES = {"game": GAME, "step": STEP}
ACTIVE, SLOTS, NORM2, NONE = 0, 1, 2, 3
NORMALISATIONS = {"active": ACTIVE, "slots": SLOTS, "norm2": NORM2, "none": NONE}
EPSILON_GREEDY, SOFTMAX = 0, 1
POLICIES = {"epsilon_greedy": EPSILON_GREEDY, "greedy": EPSILON_GREEDY, "softmax": SOFTMAX}


# What several settings may be.
MOST = 10**9  # games, simulations, plies and other counts
COUNT = Whole(ge=1, le=MOST)
COUNT_OR_0 = Whole(ge=0, le=MOST)
EVEN_COUNT = Whole(ge=0, le=10**7, even=True)
PAIRED_GAMES = Whole(ge=2, le=MOST, even=True)  # where each opening is played with both colours
FAST_GAMES = Whole(ge=2, le=10**7, even=True)  # the same within compiled code, which keeps all results in memory
MOST_PLIES = Whole(ge=0, le=4 * MAX_SIZE * MAX_SIZE)  # what a record can hold (`td.max_plies`) on the largest board
SEED = Whole(ge=0)
POSITIVE = Number(gt=0)
AT_LEAST_0 = Number(ge=0)
PROBABILITY = Number(ge=0, le=1)
BOARD_SIZE = Whole(ge=MIN_SIZE, le=MAX_SIZE)
KOMI = Number(ge=-361, le=361)  # of training and matches
ANY_KOMI = Number(ge=-10_000, le=10_000)  # of a single game, where some programs write handicaps as komi
THREADS = Whole(ge=1, le=64)
WORKERS = Whole(ge=1, le=1_000)  # of training, which may be processes on a cluster
SIMULATIONS, SECONDS = OrNone(COUNT), OrNone(POSITIVE)


def board_size(size: object) -> int:
    """Return a board size as a plain integer. `RlgoError` outside 5 to 19, and for anything but an integer."""
    number = BOARD_SIZE.read(size)
    if number is None or not BOARD_SIZE.admits(number):
        raise RlgoError(f"board size {shown(size)}: expected {MIN_SIZE} to {MAX_SIZE}")
    return number


@checked
class Learning(NamedTuple):
    """How to learn. Values that have names may be given by name: ``Learning(schedule="harmonic")``.

    Raises `RlgoError` for a value out of range.
    """

    alpha: Annotated[float, POSITIVE] = 0.3
    schedule: Annotated[int, Choice(STEP_SCHEDULES)] = CONSTANT
    alpha_final: Annotated[float, AT_LEAST_0] = 0.01
    alpha_half: Annotated[float, POSITIVE] = 100_000.0
    games: Annotated[int, Whole(ge=1, le=HUGE)] = 1_000_000  # that the schedule spans
    lambda_: Annotated[float, PROBABILITY] = 0.0
    plies: Annotated[int, Whole(ge=1, le=2)] = 2
    value: Annotated[int, Choice(VALUES)] = LOGISTIC
    update: Annotated[int, Choice(UPDATES)] = GAME
    normalise: Annotated[int, Choice(NORMALISATIONS)] = SLOTS
    averaging: Annotated[float, AT_LEAST_0] = 3.0  # see `learner.averaging_rate`

    def combine(self) -> None:
        """Refuse a step size that would fall to 0 at once."""
        if self.schedule == EXPONENTIAL and self.alpha_final == 0:
            raise RlgoError('alpha_final = 0 cannot be combined with schedule = "exponential"')


@checked
class Policy(NamedTuple):
    """A policy over afterstate values; greedy is epsilon-greedy with epsilon = 0.

    Raises `RlgoError` for a value out of range.
    """

    kind: Annotated[int, Choice(POLICIES)] = EPSILON_GREEDY
    epsilon: Annotated[float, PROBABILITY] = 0.2  # probability of a uniformly random move
    temperature: Annotated[float, POSITIVE] = 0.1  # of the softmax, in units of V
    value: Annotated[int, Choice(VALUES)] = LOGISTIC  # which V the softmax weighs
