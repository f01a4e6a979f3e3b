"""The settings of a learner, with their defaults and the names of their values.

`Learning` describes how weights change (`td.py`, `learner.py`), `Policy` how moves are chosen (`policy.py`). Each
default is defined here and nowhere else: configs read theirs from these classes. Nothing heavy is imported, so that
reading a config does not load numba.
"""

from __future__ import annotations

from typing import NamedTuple

from rlgo.errors import RlgoError

MIN_SIZE, MAX_SIZE = 5, 19  # board sizes

SIZES = (1, 2, 3)  # sides of the windows of local shape features
SHARINGS = {"LI+LD": ("LI", "LD"), "LI": ("LI",), "LD": ("LD",), "inversion": ("inversion",), "none": ("none",)}

# Windows that see liberties (shapes.py), by what they tell apart: atari; or one, two, or more liberties. (2x3 with more
# than atari has too many configurations for 16 bits.)
LIBERTY_CLASSES = {"atari": 2, "liberties": 3}
LIBERTY_WINDOWS = {
    "atari": ("atari 2x2", "atari 2x3", "atari plus"),
    "liberties": ("liberties 2x2", "liberties plus"),
}

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


def check_liberties(liberties: tuple[str, ...]) -> None:
    """Raise `RlgoError` unless these windows can be in one feature set: some of either row of `LIBERTY_WINDOWS`."""
    if not any(liberties == tuple(w for w in windows if w in liberties) for windows in LIBERTY_WINDOWS.values()):
        rows = ", or of ".join(", ".join(windows) for windows in LIBERTY_WINDOWS.values())
        raise RlgoError(f"features.liberties = {list(liberties)}: expected some of {rows}, in this order")


class Learning(NamedTuple):
    """How to learn."""

    alpha: float = 0.3
    schedule: int = CONSTANT  # or LINEAR_DECAY, HARMONIC, EXPONENTIAL
    alpha_final: float = 0.01
    alpha_half: float = 100_000.0
    games: int = 1_000_000  # that the schedule spans
    lambda_: float = 0.0
    plies: int = 2  # or 1
    value: int = LOGISTIC  # or LINEAR
    update: int = GAME  # or STEP
    normalise: int = SLOTS  # or ACTIVE, NORM2, NONE
    averaging: float = 3.0  # see `learner.averaging_rate`


class Policy(NamedTuple):
    """A policy over afterstate values; greedy is epsilon-greedy with epsilon = 0."""

    kind: int = EPSILON_GREEDY  # or SOFTMAX
    epsilon: float = 0.2  # probability of a uniformly random move
    temperature: float = 0.1  # of the softmax, in units of V
    value: int = LOGISTIC  # or LINEAR: which V the softmax weighs
