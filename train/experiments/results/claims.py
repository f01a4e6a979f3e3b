"""Claims in words: where a paper makes them, what they expect, and what was found."""

from __future__ import annotations

import math
import re

from train.experiments.declaration.experiment import Experiment
from train.experiments.declaration.settings import Claim
from train.experiments.results.analysis import Measured

OURS = "ours"
PAPERS = ("TD", "MC-RAVE", OURS)  # sources of claims, as `place_of` names them


def place_of(e: Experiment, claim: Claim) -> tuple[str, str]:
    """Return the source of a claim, one of `PAPERS`, and the section and figure of the paper that it is about."""
    cited = re.search(r"\b(TD|MC-RAVE) paper, ([^;]*)", e.settings.source)
    paper, place = (cited[1], cited[2]) if cited else (OURS, "")
    return (OURS, ", ".join(filter(None, (paper, place)))) if claim.text.startswith(f"({OURS})") else (paper, place)


def expected_in_words(claim: Claim) -> str:
    """Return the bounds of a claim in words."""
    low, high = (number_in_words(claim, bound) for bound in (claim.low, claim.high))
    if claim.low == claim.high:
        return low
    if math.isinf(claim.high):
        return f"at least {low}" if claim.low else "above 0"
    return f"at most {high}" if math.isinf(claim.low) else f"{low.removesuffix(' %')} to {high}"


def number_in_words(claim: Claim, x: float) -> str:
    """Format a number that a claim is about."""
    if math.isinf(x):
        return "no limit"
    if claim.of == "won":
        return f"{100 * x:.1f} %"
    if claim.of in ("number", "speed") and math.isfinite(x) and not float(x).is_integer():
        return f"{x:,.2f}"
    signed = claim.of == "elo" and claim.b
    return f"{x:+,.0f}" if signed and x else f"{x:,.0f}"


def found_in_words(claim: Claim, m: Measured) -> str:
    """Format a measured number with its interval and unit."""
    unit = {"elo": " Elo", "spread": " Elo", "speed": " times"}.get(claim.of, "")
    low, high = (number_in_words(claim, bound).removesuffix(" %") for bound in (m.low, m.high))
    interval = "" if m.low == m.high else f" ({low} to {high})"
    return f"{m.of and f'{m.of}: '}{number_in_words(claim, m.value)}{interval}{unit}"


def text_of(claim: Claim) -> str:
    """Return the text of a claim without the mark of our own."""
    return claim.text.removeprefix(f"({OURS}) ")
