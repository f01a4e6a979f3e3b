"""Play an experiment within a limit of time: only between the players of its claims, until each claim is decided.

Start reading at `run`. A tournament spreads its games over all pairs, and most of them say little about a claim; at a
small scale it decides nothing. Here a claim "a is better than b" is tested by games between a and b alone. After 20,
40, 80 ... of them it is looked at, and play goes on where the next claim can be decided soonest. Looking often does not
make the verdicts wrong more often: see `analysis.level_of_look`.

Interrupted or out of time, it continues when it is run again, and gets as much time again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from rlgo.base.errors import RlgoError
from rlgo.base.files import make_folder, write_atomically
from train.console import message
from train.experiments.declaration.experiment import Claim, Contestant, Experiment
from train.experiments.declaration.matches import PlannedMatch
from train.experiments.results.analysis import OPEN, Analysis, Measured
from train.experiments.results.files import RawResults, games_of
from train.experiments.running.games import games_folder, line_of, play_match_up_to
from train.experiments.running.training import labelled_runs, train_runs

FIRST_LOOK = 20  # games before the first look at a claim; each further look comes after twice as many
_MOST_GAMES = 100_000  # of a pair
_START_SECONDS = 10.0  # in which processes start that play several games at a time
_WORTH = 0.2  # a look needs at least this share of additional games


@dataclass
class Duel:
    """The games between two players, and the claims that they can decide.

    Attributes
    ----------
    match : the two players; its number of games is only an upper limit
    claims : those about these two
    line : their games so far, as raw results; None before the first
    looks : number of looks so far
    """

    match: PlannedMatch
    claims: list[Claim]
    line: dict[str, Any] | None = None
    looks: int = 0

    @property
    def seconds(self) -> float:
        """Thinking time of both players in a game so far; 0 before the first one."""
        return self.line["seconds"] / self.games if self.line is not None else 0.0

    @property
    def games(self) -> int:
        """Number of games so far."""
        return 0 if self.line is None else games_of(self.line)

    def measured(self, claim: Claim) -> Measured | None:
        """Return what the games say about one of its claims; None before the first look."""
        if self.line is None or not self.looks:
            return None
        return Analysis(RawResults({"experiment": "", "opening_plies": 0}, [self.result()])).measure(claim)

    def result(self) -> dict[str, Any]:
        """Return the line of raw results, with the number of looks."""
        assert self.line is not None
        return {**self.line, "looks": self.looks}

    def open_claims(self) -> list[Claim]:
        """Return the claims that are not decided yet."""
        found = [(claim, self.measured(claim)) for claim in self.claims]
        return [claim for claim, m in found if m is None or m.verdict(claim.low, claim.high) == OPEN]

    def games_to_decide(self) -> float:
        """Return how many games the first of its open claims probably needs; infinite if no number would do."""
        first, least = FIRST_LOOK if not self.looks else 2 * self.games, math.inf
        for claim in self.open_claims():
            m = self.measured(claim)
            least = min(
                least, first if m is None else max(first, self.games * m.times_to_decide(claim.low, claim.high))
            )
        return least


def duels(e: Experiment) -> list[Duel]:
    """Return all pairs of players that claims compare, and those claims, in the order of the file."""
    by_name, found = {c.name: c for c in e.contestants}, dict[frozenset[str], Duel]()
    for claim in e.claims:
        if can_duel(e, claim):
            pair = frozenset((claim.a, claim.b))
            found.setdefault(pair, Duel(_match(e, by_name[claim.a], by_name[claim.b]), [])).claims.append(claim)
    return list(found.values())


def looks_before(games: int) -> int:
    """Return the number of looks after this many games: at 20, 40, 80 ..."""
    return int(math.log2(games / FIRST_LOOK)) + 1 if games >= FIRST_LOOK else 0


def can_duel(e: Experiment, claim: Claim) -> bool:
    """Return whether games between the two players of a claim can decide it."""
    there = [c for c in e.contestants if c.name in (claim.a, claim.b)]
    return len(there) == 2 and there[0].size == there[1].size and claim.of in ("elo", "won")


def check(e: Experiment) -> None:
    """Raise an RlgoError if no claim can be decided by games between its two players."""
    if not duels(e):
        raise RlgoError(
            f"{e.name}: no claim compares two players by their games: expected --scale instead of --minutes"
        )


def _match(e: Experiment, a: Contestant, b: Contestant) -> PlannedMatch:
    if e.contestants.index(a) > e.contestants.index(b):
        a, b = b, a
    return PlannedMatch(a, b, _MOST_GAMES, a.size or e.settings.size, e.settings.seed)


def run(
    e: Experiment, jobs: int, progress: bool, before: RawResults | None = None, now: Callable[[], float] = monotonic
) -> list[dict[str, Any]]:
    """Play until all claims are decided or the experiment's minutes are over, and return its raw results.

    Parameters
    ----------
    jobs : training runs, or games, at a time
    before : its earlier raw results, whose looks count
    now : returns the time in seconds
    """
    lines = train_runs(e, labelled_runs(e), jobs, progress)[1] if e.runs else []
    end = now() + 60 * e.minutes
    make_folder(games_folder(e))
    found = duels(e)
    looked = {frozenset(line["pair"]): line["looks"] for line in before.of("looks")} if before is not None else {}
    path = games_folder(e) / "looks.json"
    for d in found:
        d.line = line_of(e, d.match)
        d.looks = _looks(d, looked.get(frozenset(d.match.names), 0), path)
    while (duel := _next(found, left := end - now(), jobs)) is not None:
        target, is_trial = _target(duel, left, jobs), duel.line is None
        play_match_up_to(e, duel.match, target, _jobs(duel, target - duel.games, jobs), progress=False)
        duel.line = line_of(e, duel.match)
        if not is_trial:
            duel.looks += 1
            _keep_look(duel, path)
            _report(duel, progress)
    return lines + [duel.result() for duel in found if duel.looks]


def _looks(duel: Duel, recorded: int, path: Path) -> int:
    """Return how many looks there were at the games so far, this one included.

    recorded : in raw results, which an interrupted session has not written
    path : see `_keep_look`
    """
    looks, games = _kept_looks(path).get(_key(duel), (looks_before(duel.games), duel.games))
    # What was played on the way to a look that never came is looked at now.
    return max(recorded, looks + (duel.games > games))


def _keep_look(duel: Duel, path: Path) -> None:
    """Keep the number of looks at a pair, and that of the games at the last one, where an interruption leaves them."""
    kept = {**_kept_looks(path), _key(duel): (duel.looks, duel.games)}
    write_atomically(path, json.dumps(kept).encode())


def _kept_looks(path: Path) -> dict[str, tuple[int, int]]:
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def _key(duel: Duel) -> str:
    return " ".join(duel.match.names)


def _next(found: list[Duel], left: float, jobs: int) -> Duel | None:
    """Return the pair that should play next: where a claim will be decided soonest; None if nothing is left to do."""
    waiting = [duel for duel in found if duel.open_claims() and _target(duel, left, jobs) > duel.games]

    def time(duel: Duel) -> tuple[float, float]:
        """Return the time in which it will probably decide a claim, and for ties that of its next look."""
        further = duel.games_to_decide() - duel.games
        return _time(duel, further, jobs), _time(duel, duel.games or FIRST_LOOK, jobs)

    return min(waiting, key=time, default=None)


def _jobs(duel: Duel, games: float, jobs: int) -> int:
    """Return how many games should be played at a time: one, in this process, if others would take longer to start."""
    return jobs if games * duel.seconds * (1 - 1 / jobs) > _START_SECONDS else 1


def _time(duel: Duel, games: float, jobs: int) -> float:
    """Return how many seconds so many games take; before the first one is played, 0."""
    at_a_time = _jobs(duel, games, jobs)
    return games * duel.seconds / at_a_time + (_START_SECONDS if at_a_time > 1 else 0.0) if duel.seconds else 0.0


def _target(duel: Duel, left: float, jobs: int) -> int:
    """Return up to which game a pair should play next, with `left` seconds to go; its number so far if no further.

    The first two games show how long a game takes.
    """
    if left <= 0:
        return duel.games
    if duel.line is None:
        return 2
    further = max(FIRST_LOOK - duel.games, 0) or duel.games
    while _time(duel, further, jobs) > left:
        further = further * 3 // 4
    target = min(duel.games + further, _MOST_GAMES) // 2 * 2
    return target if target >= duel.games * (1 + _WORTH) else duel.games


def _report(duel: Duel, progress: bool) -> None:
    """Say what a look found."""
    for text in _findings(duel) if progress else ():
        message(f"{duel.games:,} games, {text}")


def _findings(duel: Duel) -> Iterator[str]:
    from train.experiments.results.claims import found_in_words  # only for messages

    for claim in duel.claims:
        m = duel.measured(claim)
        if m is not None:
            yield f"{claim.text}: {found_in_words(claim, m)}: {m.verdict(claim.low, claim.high)}"
