"""Who plays whom in an experiment of kind "games", and how often. Start reading at `matches`.

The key `pairing` sets the games that all players have: a gauntlet, a round robin, or a Swiss tournament (TD paper,
Section 4.5). A claim with a number of `games` adds a match between the two players that it compares. A tournament
spreads its games over all pairs; such a match decides one claim with far fewer.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from train.experiments.declaration.experiment import Contestant, Experiment


@dataclass(frozen=True)
class PlannedMatch:
    """A number of games between two players.

    Attributes
    ----------
    a, b : the players
    games : the number of games, at the experiment's scale
    size : board size
    seed : seed of its openings and of its games
    is_for_claim : whether a claim asks for it
    """

    a: Contestant
    b: Contestant
    games: int
    size: int
    seed: int
    is_for_claim: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """The names of both players."""
        return self.a.name, self.b.name

    @property
    def key(self) -> tuple[str, str, int]:
        """What distinguishes it from all other matches of the experiment."""
        return self.a.name, self.b.name, self.seed


def matches(e: Experiment) -> list[PlannedMatch]:
    """Return all matches: those of a gauntlet or a round robin, then those of the claims.

    The pairs of a Swiss tournament depend on its results and are not among them.
    """
    return [*_of_pairing(e), *_of_claims(e)]


def swiss_games(e: Experiment) -> int:
    """Return the number of games of an experiment's Swiss tournament; 0 without one."""
    return len(e.contestants) // 2 * e.scaled(e.settings.games) if e.settings.pairing == "swiss" else 0


def _of_pairing(e: Experiment) -> list[PlannedMatch]:
    """Return the matches of a gauntlet or a round robin."""
    s = e.settings
    return [
        PlannedMatch(a, b, e.scaled(max(a.games, b.games) or s.games), a.size or s.size, s.seed) for a, b in _pairs(e)
    ]


def _pairs(e: Experiment) -> list[tuple[Contestant, Contestant]]:
    """Return who plays whom in a round robin or a gauntlet."""
    if e.settings.pairing == "swiss":
        return []
    if e.settings.pairing == "round_robin":
        return list(itertools.combinations(e.contestants, 2))
    fixed = [c for c in e.contestants if c.x is None]
    met = {c.against for c in e.contestants}
    by_place = {(c.series, c.x): c for c in e.contestants}
    found = []
    for c in e.contestants:
        if c.x is not None and c.series not in met:
            found += [(c, other) for other in fixed]
        if c.against:
            found.append((c, by_place[c.against, c.x]))
    return found


def _of_claims(e: Experiment) -> list[PlannedMatch]:
    """Return the matches that claims ask for: one for each pair of players.

    They have a seed of their own, so that they do not repeat the tournament's openings. The players come in the
    order of the file, not of the claim.
    """
    found: dict[frozenset[str], PlannedMatch] = {}
    for claim in e.claims:
        pair, games = frozenset((claim.a, claim.b)), e.scaled(claim.games)
        if games > (found[pair].games if pair in found else 0):
            a, b = (c for c in e.contestants if c.name in pair)
            found[pair] = PlannedMatch(a, b, games, a.size or b.size or e.settings.size, e.settings.seed + 1, True)
    return list(found.values())
