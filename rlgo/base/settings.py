"""The settings of a learner, with their defaults, their bounds and the names of their values.

`Learning` describes how weights change (`td.py`, `learner.py`), `Policy` how moves are chosen (`policy.py`). Each
setting is declared only here; configs, player specs and documentation are derived from these classes. Nothing heavy
is imported, so that reading a config does not load numba.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, MultipleOf

from rlgo.base.checks import HUGE, Choice, Key, convert, needs
from rlgo.base.errors import RlgoError, shown

MIN_SIZE, MAX_SIZE, DEFAULT_SIZE = 5, 19, 9  # board sizes
DEFAULT_KOMI = 7.5  # TD paper, Section 3.2.1
DEFAULT_OPENING_PLIES = 4  # random moves at the start of each game of a match

MOST_RINGS = 9  # around a move, in the largest shapes of patterns (nested_shapes.py)
SIZES = (1, 2, 3)  # sides of the windows of local shape features
Sharing = Literal["LI+LD", "LI", "LD", "inversion", "none"]
SHARINGS: dict[str, tuple[str, ...]] = {
    "LI+LD": ("LI", "LD"),
    "LI": ("LI",),
    "LD": ("LD",),
    "inversion": ("inversion",),
    "none": ("none",),
}

LOGISTIC, LINEAR = 0, 1
VALUES = {"logistic": LOGISTIC, "linear": LINEAR}
CONSTANT, LINEAR_DECAY, HARMONIC, EXPONENTIAL = 0, 1, 2, 3
STEP_SCHEDULES = {"constant": CONSTANT, "linear": LINEAR_DECAY, "harmonic": HARMONIC, "exponential": EXPONENTIAL}
GAME, STEP = 0, 1
UPDATES = {"game": GAME, "step": STEP}
ACTIVE, SLOTS, NORM2, NONE = 0, 1, 2, 3
NORMALISATIONS = {"active": ACTIVE, "slots": SLOTS, "norm2": NORM2, "none": NONE}
EPSILON_GREEDY, SOFTMAX, GREEDY = 0, 1, 2
POLICIES = {"epsilon_greedy": EPSILON_GREEDY, "greedy": GREEDY, "softmax": SOFTMAX}


# Types shared by several settings.
MOST = 10**9  # games, simulations, plies and other counts
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Probability = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Ge(1), Le(MOST)]
CountOr0 = Annotated[int, Ge(0), Le(MOST)]
TrainingGames = Annotated[int, Ge(1), Le(HUGE)]
TrainingGamesOr0 = Annotated[int, Ge(0), Le(HUGE)]
EvenCount = Annotated[int, Ge(0), Le(10**7), MultipleOf(2)]
PairedGames = Annotated[int, Ge(2), Le(MOST), MultipleOf(2)]  # each opening is played with both colours
FastGames = Annotated[int, Ge(2), Le(10**7), MultipleOf(2)]  # in compiled code, which keeps all results in memory
MaxMoves = Annotated[int, Ge(0), Le(4 * MAX_SIZE * MAX_SIZE)]  # what a record can hold (`rules.max_plies`) on 19x19
SeedNumber = Annotated[int, Ge(0), Le(2**63 - 1)]  # the range of integers in TOML
BoardSize = Annotated[int, Ge(MIN_SIZE), Le(MAX_SIZE)]
Komi = Annotated[float, Ge(-10_000), Le(10_000)]  # beyond any score: some programs write handicaps as komi
Threads = Annotated[int, Ge(1), Le(64)]
Workers = Annotated[int, Ge(1), Le(1_000)]  # training workers, which may be processes on a cluster


def board_size(size: object) -> int:
    """Return a board size as a plain integer. `RlgoError` outside 5 to 19, and for anything but an integer."""
    try:
        number: int = convert(size, BoardSize)
    except ValueError:
        raise RlgoError(f"board size {shown(size)}: expected {MIN_SIZE} to {MAX_SIZE}") from None
    return number


GAMES = Key("Games of self-play (TD: a million), or simulations of a search; the schedule of alpha spans them.")
_HAS_AN_END = needs("schedule", "linear", "exponential")


class Learning(NamedTuple):
    """The settings of learning: step size, its schedule, targets and updates.

    Values that have names may be given by name: ``Learning(schedule="harmonic")``.

    Learners and searches check them, see `checks.validated`.

    >>> import rlgo
    >>> rlgo.TdSearch(5, learning=rlgo.Learning(alpha=0.1)).learning.alpha
    0.1
    """

    alpha: Annotated[
        Positive,
        Key(
            "Step size before normalisation (TD: 0.1).",
            "tdsearch_alpha step_lambda",
            implies={"schedule": "constant"},
        ),
    ] = 0.3
    schedule: Annotated[
        int,
        Choice(STEP_SCHEDULES),
        Key(
            "How alpha falls from game to game, or with the simulations of a search: harmonic, alpha * half / (half + "
            "game); linear and exponential, to `alpha_final` at the last one.",
            "tdsearch_alpha step_lambda",
        ),
    ] = CONSTANT
    alpha_final: Annotated[
        NonNegative,
        Key(
            "alpha at the last game or simulation of the schedules linear and exponential.",
            needs=_HAS_AN_END,
            implies={"schedule": "linear"},
        ),
    ] = 0.01
    alpha_half: Annotated[
        Positive,
        Key(
            "The game or simulation by which the schedule harmonic has halved alpha.",
            needs=needs("schedule", "harmonic"),
            implies={"schedule": "harmonic"},
        ),
    ] = 100_000.0
    games: Annotated[TrainingGames, replace(GAMES, name="schedule_games", aliases="span", needs=_HAS_AN_END)] = (
        1_000_000
    )
    lambda_: Annotated[
        Probability, Key("Trace decay: 0 is TD(0), as in TD; 1 is Monte-Carlo.", "tdsearch_lambda step_lambda")
    ] = 0.0
    plies: Annotated[
        int,
        Ge(1),
        Le(2),
        Key("Plies between the two positions of an update (TD, equation 10: 2; the same colour is to play)."),
    ] = 2
    value: Annotated[
        int, Choice(VALUES), Key("The value function: sigma(phi . theta) (TD, equation 9), or 1/2 + phi . theta.")
    ] = LOGISTIC
    update: Annotated[
        int,
        Choice(UPDATES),
        Key("When the weights change: at the end of the game, or after every move, as written in TD."),
    ] = GAME
    normalise: Annotated[
        int,
        Choice(NORMALISATIONS),
        Key(
            "What alpha is divided by: active, the non-neutral windows (as in TD); slots, their weights (as the "
            "original program does; the best of the three, see docs/lab/defaults.md); norm2, ||phi||^2; or nothing."
        ),
    ] = SLOTS
    averaging: Annotated[
        NonNegative,
        Key("The j-th weights count in the mean in proportion to j^averaging (rlgo/learning/learner.py)."),
    ] = 3.0

    def combine(self) -> None:
        """Refuse a step size that would drop to 0 at once."""
        if self.schedule == EXPONENTIAL and self.alpha_final == 0:
            raise RlgoError('alpha_final = 0 cannot be combined with schedule = "exponential"')


class Policy(NamedTuple):
    """How a learner or a search chooses moves by afterstate value: epsilon-greedy or softmax.

    Greedy is epsilon-greedy with epsilon = 0. Learners and searches check them.

    >>> import rlgo
    >>> rlgo.TdSearch(5, policy=rlgo.Policy(epsilon=0.1)).policy.epsilon
    0.1
    """

    kind: Annotated[
        int,
        Choice(POLICIES),
        Key("epsilon_greedy, as in TD; greedy, without exploration; or softmax over the values of all moves."),
    ] = EPSILON_GREEDY
    epsilon: Annotated[
        Probability,
        Key("Probability of a uniformly random move of an epsilon-greedy policy (TD: 0.1).", "tdsearch_policy"),
    ] = 0.2
    temperature: Annotated[
        Positive,
        Key("For softmax, in units of V: a move's probability is proportional to exp(V / temperature)."),
    ] = 0.1
