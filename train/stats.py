"""Statistics shared by all results: confidence intervals of scores.

Start reading at `clustered_interval`. Each formula appears only here, with its source:

* games of one opening depend on each other: `design_effect` (Cameron & Miller 2015)
* intervals of a proportion: `wilson_interval` (Wilson 1927)
* quantiles: `NORMAL_975`, `student_quantile`

E. B. Wilson: Probable inference, the law of succession, and statistical inference, Journal of the American Statistical
Association 22, 1927. A. C. Cameron, D. L. Miller: A practitioner's guide to cluster-robust inference, Journal of Human
Resources 50, 2015, Section II.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

# The standard normal's 97.5 % quantile, 1.96: a 95 % interval reaches this many standard deviations to either side.
NORMAL_975 = NormalDist().inv_cdf(0.975)


def student_quantile(p: float, degrees: float) -> float:
    """Return the quantile of Student's t distribution at probability `p`, with `degrees` degrees of freedom."""
    from scipy.special import stdtrit  # imported late: scipy is slow to load

    return float(stdtrit(degrees, p))


def normal_half_width(variance: float) -> float:
    """Return half the width of the 95 % interval of a normal estimate: 1.96 standard deviations.

    A variance that rounding left below 0 counts as 0.
    """
    return NORMAL_975 * math.sqrt(max(0.0, variance))


def wilson_interval(p: float, n: float, t: float = NORMAL_975) -> tuple[float, float]:
    """Return Wilson's confidence interval of a proportion (Wilson 1927).

    Parameters
    ----------
    p : the observed proportion, 0 to 1
    n : number of independent observations; need not be whole
    t : the quantile, 1.96 for 95 %

    Returns
    -------
    (low, high) = (p + t^2 / 2n -+ t sqrt(p (1 - p) / n + t^2 / 4n^2)) / (1 + t^2 / n), with 0 <= low <= p <= high <= 1.
    """
    centre = p + t * t / (2 * n)
    half = t * math.sqrt(p * (1 - p) / n + (t / (2 * n)) ** 2)
    scale = 1 + t * t / n
    # At p = 0 and p = 1 the interval ends exactly there, but rounding misses it on either side.
    low = 0.0 if p == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if p == 1 else min(1.0, (centre + half) / scale)
    return float(low), float(high)


def design_effect(clusters: Sequence[Sequence[float]]) -> float:
    """Return the ratio of a mean score's variance to that of as many independent games without draws.

    Parameters
    ----------
    clusters : for each opening, the scores (0 to 1) of its games

    Notes
    -----
    With scores y_ij of m openings i, S_i their sum, n_i their number, n = sum n_i and p = sum S_i / n:

        variance of p, robust to clusters   v = m / (m - 1) * sum_i (S_i - n_i p)^2 / n^2
        design effect                       d = v / (p (1 - p) / n)

    Two more openings are added to the data, one with both games won and one with both lost. So d exists for a single
    opening, and stays positive. If all games were won or lost, the data contain no information about d, and it tends to
    2, the worst case for many pairs. Otherwise d is about 2 if each opening was won or lost twice (3 for a single
    opening), 1 for independent games, and less if colours decide or games are drawn. Source: Cameron & Miller 2015,
    Section II.
    """
    sums = np.array([*map(sum, clusters), 2.0, 0.0], np.float64)
    counts = np.array([*map(len, clusters), 2.0, 2.0], np.float64)
    n, m = counts.sum(), len(counts)
    p = sums.sum() / n
    v = m / (m - 1) * float(((sums - counts * p) ** 2).sum()) / n**2
    return float(v / (p * (1 - p) / n))


def clustered_interval(clusters: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return a 95 % interval of the mean score, where the games of one opening depend on each other.

    It is Wilson's interval with n / `design_effect` games, and Student's quantile with m + 1 degrees of freedom for
    m openings, counting the two that `design_effect` adds. The interval has a width even if all games were won.

    Parameters
    ----------
    clusters : for each opening, the scores (0 to 1) of its games; at least one

    Returns
    -------
    (low, high), 0 <= low <= mean <= high <= 1 and low < high.
    """
    sums = np.array([sum(scores) for scores in clusters], np.float64)
    n = float(sum(map(len, clusters)))
    t = student_quantile(0.975, len(clusters) + 1)
    return wilson_interval(float(sums.sum() / n), n / design_effect(clusters), t)


def in_percent(win_rate: float, ci95: tuple[float, float]) -> str:
    """Format a win rate with its interval: ``57.3 % (54.3 to 60.2)``."""
    return "{:.1f} % ({:.1f} to {:.1f})".format(*(100 * x for x in (win_rate, *ci95)))
