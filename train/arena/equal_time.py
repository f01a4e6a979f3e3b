"""Equal time: find the number of simulations with which one player thinks as long as another.

Start reading at `find_equal_time`. Limits in seconds are equal on paper only: engines are started and polled in
different ways, and a busy machine slows both by chance. Here the time of both is measured in a few games on one core,
and the counted games are played with fixed numbers of simulations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rlgo.base.errors import RlgoError
from train import console
from train.arena.openings import BALANCED, TUNING, Openings, find_openings
from train.arena.pool import GameTask, InProcess
from train.arena.referee import GameRules
from train.players.spec import parse_spec

FIRST = 200  # simulations to start with
_CLOSE = 0.03  # relative difference of the times at which the search for the number ends
_ROUNDS = 6
_LARGEST_STEP = 8.0  # factor by which the number changes at most in a round
_LIMITS = ("simulations", "seconds")  # a level of strength stands for one of them


class EqualTime(NamedTuple):
    """The result of `find_equal_time`.

    Attributes
    ----------
    spec : of the second player, with its simulations
    simulations : those
    ratio : time of the first player divided by that of the second, in the last games of the calibration
    games : played for the calibration
    """

    spec: str
    simulations: int
    ratio: float
    games: int

    def to_json(self) -> dict[str, Any]:
        """Return what a match records."""
        return {"simulations": self.simulations, "ratio": round(self.ratio, 3), "games": self.games}


def check_equal_time(a: Any, b: Any) -> tuple[str, str]:
    """Return both specs. RlgoError unless B is the spec of a player with simulations that sets no limit of its own."""
    if not isinstance(a, str) or not isinstance(b, str):
        raise RlgoError("equal_time: expected player specs")
    spec = parse_spec(b)
    if given := [key for key in _LIMITS if key in spec.values]:
        raise RlgoError(f"equal_time: finds the simulations of {b}: expected a spec without {given[0]}")
    if spec.name == "gtp":
        raise RlgoError(f"equal_time: {b}: expected a player with simulations, not an engine")
    parse_spec(f"{b},simulations={FIRST}")  # an error for a player without simulations
    return a, b


def find_equal_time(
    a: str, b: str, openings: Openings, rules: GameRules, seed: int, *, progress: bool = True
) -> EqualTime:
    """Find the simulations with which B thinks as long as A, by games in this process, one after another.

    Each round is a pair of games. The number of simulations changes by the ratio of the times, and the search ends once
    they differ by less than 3 %, or after six rounds with the number that came closest.

    Parameters
    ----------
    a, b : specs; see `check_equal_time`
    openings : of the match; for `balanced`, the games of the calibration begin with `balanced-tuning`
    rules : of the games
    seed : of the games

    Raises
    ------
    RlgoError : if A does not think at all.
    """
    pool, n, found = InProcess(), FIRST, []
    if openings.name == BALANCED:
        openings = find_openings(TUNING, openings.size, rules.komi)
    firsts = openings.first(_ROUNDS, seed + 1)
    try:
        for number, opening in enumerate(firsts):
            spec = f"{b},simulations={n}"
            spent = {a: 0.0, spec: 0.0}
            for i, (black, white) in enumerate(((a, spec), (spec, a))):
                record = pool.result(GameTask(2 * number + i + 1, black, white, opening, seed, rules))
                if record.forfeit:
                    raise RlgoError(f"equal_time: {record.forfeit}")
                spent[black] += record.seconds[0]
                spent[white] += record.seconds[1]
            ratio = spent[a] / spent[spec] if spent[spec] else 0.0
            if not ratio:
                raise RlgoError(f"equal_time: {a} takes no time that could be measured")
            found.append(EqualTime(spec, n, ratio, 2 * number + 2))
            if progress:
                console.message(f"equal time: with {n:,} simulations of {b}, {a} thinks {ratio:.2f} times as long")
            if abs(ratio - 1) < _CLOSE:
                break
            n = max(1, round(n * min(_LARGEST_STEP, max(1 / _LARGEST_STEP, ratio))))
    finally:
        pool.close()
    best = min(found, key=lambda one: abs(one.ratio - 1))
    return best._replace(games=found[-1].games)
