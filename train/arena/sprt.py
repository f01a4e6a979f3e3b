"""Wald's sequential probability ratio test of two Elo differences: when to stop a match.

Start reading at `log_likelihood_ratios`. The test works on the mean scores of openings, because the two games of an
opening depend on each other. Their likelihood is taken as normal, with the observed variance (the generalised test of
Van den Bergh).

A. Wald: Sequential tests of statistical hypotheses, Annals of Mathematical Statistics 16, 1945. M. Van den Bergh: A
practical introduction to the GSPRT, 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from rlgo.base.checks import Expected, check, fields_of
from rlgo.base.errors import RlgoError
from train.arena.elo import expected_score

_Elo = Annotated[float, Ge(-1000), Le(1000)]
_Error = Annotated[float, Gt(0), Lt(0.5), Expected("a number between 0 and 0.5")]


@dataclass(frozen=True)
class Sprt:
    """The test of H0, A is `elo0` Elo stronger than B, against H1, A is `elo1` stronger.

    Raises
    ------
    RlgoError : for invalid hypotheses or error probabilities.
    """

    elo0: _Elo = 0.0
    elo1: _Elo = 20.0
    alpha: _Error = 0.05  # probability of accepting H1 if H0 is true
    beta: _Error = 0.05  # probability of accepting H0 if H1 is true

    def __post_init__(self) -> None:
        for name, field in fields_of(Sprt).items():
            check(f"sprt: {name}", getattr(self, name), field.kind)
        if self.elo0 >= self.elo1:
            raise RlgoError(f"sprt: elo0 = {self.elo0:g}, elo1 = {self.elo1:g}: expected elo0 < elo1")

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios (low, high): H0 is accepted at or below the first, H1 at or above the second."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)


@dataclass(frozen=True)
class Verdict:
    """The state of a test."""

    llr: float  # log-likelihood ratio of H1 to H0
    openings: int  # finished openings, up to the one that decided
    accepted: str  # "H0", "H1", or "" while undecided

    def describe(self, sprt: Sprt) -> str:
        """Return the state in words, one line."""
        # To accept a hypothesis is to exclude the other one: if the truth lies between them, either may be accepted.
        meaning = {
            "H0": f"not {sprt.elo1:g} Elo stronger" if sprt.elo1 > 0 else f"more than {abs(sprt.elo1):g} Elo weaker",
            "H1": f"more than {sprt.elo0:g} Elo stronger" if sprt.elo0 >= 0 else f"not {abs(sprt.elo0):g} Elo weaker",
            "": "undecided",
        }
        bounds = ", ".join(f"{bound:.2f}" for bound in sprt.bounds)
        return (
            f"SPRT elo0={sprt.elo0:g}, elo1={sprt.elo1:g}: {meaning[self.accepted]} after {self.openings} openings "
            f"(log-likelihood ratio {self.llr:.2f}, bounds {bounds})"
        )


def parse_sprt(text: str) -> Sprt:
    """Read a test written as ``elo0=0,elo1=20[,alpha=0.05,beta=0.05]``. RlgoError for anything else."""
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        try:
            if name not in Sprt.__dataclass_fields__ or name in values:
                raise ValueError
            values[name] = float(number)
        except ValueError:
            raise RlgoError(f"sprt {text!r}: expected elo0=NUMBER,elo1=NUMBER[,alpha=P,beta=P]") from None
    return Sprt(**values)


def log_likelihood_ratios(means: Sequence[float], sprt: Sprt) -> np.ndarray:
    """Return the log-likelihood ratio of H1 to H0 after each opening, n (s1 - s0) (2 x - s0 - s1) / (2 v).

    n is the number of openings so far, x and v are the mean and the variance of their scores, and s0 and s1 are the
    `expected_score` of the two hypotheses.

    Parameters
    ----------
    means : A's mean score in each opening, 0 to 1
    sprt : the hypotheses

    Returns
    -------
    float64[openings]
    """
    s0, s1 = float(expected_score(sprt.elo0)), float(expected_score(sprt.elo1))
    scores = np.asarray(means, np.float64)
    n = np.arange(1, len(scores) + 1)
    total, squares = np.cumsum(scores), np.cumsum(scores**2)
    # Two more openings, one won and one lost, are added as in `stats.design_effect`: a few openings that went the same
    # way carry little information about the variance. Without them there are 9 % false alarms at a level of 5 % for
    # elo1 - elo0 = 100.
    v = (squares + 1) / (n + 2) - ((total + 1) / (n + 2)) ** 2
    return (s1 - s0) * (2 * total - n * (s0 + s1)) / (2 * v)


def judge(means: Sequence[float], sprt: Sprt) -> Verdict:
    """Apply the test after each opening in turn, up to the first that decides it.

    means : see `log_likelihood_ratios`; may be empty
    """
    low, high = sprt.bounds
    ratios = log_likelihood_ratios(means, sprt)
    decided = np.flatnonzero((ratios <= low) | (ratios >= high))
    if len(decided):
        n = int(decided[0])
        return Verdict(float(ratios[n]), n + 1, "H1" if ratios[n] >= high else "H0")
    return Verdict(float(ratios[-1]) if len(ratios) else 0.0, len(means), "")
