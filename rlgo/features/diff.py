"""Differences between two sets of weights: block by block, shape by shape, and in their metadata.

Start reading at `diff`.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.features.conversion import convert, without_sharing
from rlgo.features.weights import Weights

_WIDTH = 44  # width of a metadata column; longer text is truncated


class BlockDifference(NamedTuple):
    """The difference between weights a and b in one block; all norms are Euclidean."""

    name: str
    n_weights: int
    n_differ: int
    largest: float  # max |a - b|
    norm: float  # |a - b|
    norm_a: float
    norm_b: float
    cosine: float  # a . b / (|a| |b|); NaN if either is 0


@dataclass(frozen=True)
class Difference:
    """The difference between two sets of weights.

    Attributes
    ----------
    a, b : the two sets as they were compared, over the same features
    is_unshared : whether weight sharing had to be removed for the comparison
    blocks : a `BlockDifference` for each block, and a last one, "all", for all weights
    facts : (name, a's, b's) of metadata that differ; None if one of them has no such entry
    """

    a: Weights
    b: Weights
    is_unshared: bool
    blocks: list[BlockDifference]
    facts: list[tuple[str, Any, Any]]

    @property
    def is_same(self) -> bool:
        """Whether both have equal weights and the same kind of value; other metadata are ignored."""
        return self.blocks[-1].n_differ == 0 and self.a.value == self.b.value


def diff(a: Weights, b: Weights) -> Difference:
    """Compare two sets of weights of one board size.

    Over the same features, weight is compared with weight. Otherwise (other window sizes, another sharing) the weights
    are compared without sharing: the weight of every shape in every window. Equal weights mean the same value function.
    The reverse does not hold, since larger windows contain smaller ones, and LD weights can express LI weights.

    Raises RlgoError for two different board sizes.
    """
    if a.features.size != b.features.size:
        raise RlgoError(
            f"weights for board sizes {a.features.size} and {b.features.size}, expected one size "
            "(convert carries LI weights over)"
        )
    facts = _facts(a, b)
    is_unshared = a.features.name != b.features.name
    if is_unshared:
        windows = (*a.features.names, *b.features.names)
        a, b = without_sharing(a, windows), without_sharing(b, windows)
    blocks = [_compare(block.name, a.block(block), b.block(block)) for block in a.features.blocks]
    return Difference(a, b, is_unshared, [*blocks, _compare("all", a.theta[1:], b.theta[1:])], facts)


def _compare(name: str, a: np.ndarray, b: np.ndarray) -> BlockDifference:
    x, y = a.astype(np.float64), b.astype(np.float64)
    norm_a, norm_b = float(np.linalg.norm(x)), float(np.linalg.norm(y))
    cosine = float(x @ y) / (norm_a * norm_b) if norm_a and norm_b else np.nan
    largest, norm = float(np.abs(x - y).max(initial=0)), float(np.linalg.norm(x - y))
    return BlockDifference(name, a.size, int(np.count_nonzero(a != b)), largest, norm, norm_a, norm_b, cosine)


def _facts(a: Weights, b: Weights) -> list[tuple[str, Any, Any]]:
    """List the metadata that differ: (name, a's, b's)."""
    of_a, of_b = _metadata(a), _metadata(b)
    config_a, config_b = _settings(of_a.pop("config", "")), _settings(of_b.pop("config", ""))
    if config_a and config_b:
        of_a, of_b = of_a | config_a, of_b | config_b
    names = list(dict.fromkeys([*of_a, *of_b]))
    return [(name, of_a.get(name), of_b.get(name)) for name in names if of_a.get(name) != of_b.get(name)]


def _metadata(weights: Weights) -> dict[str, Any]:
    """Return what a weight file records besides its weights."""
    own = {"features": weights.features.name, "komi": weights.komi, "value": weights.value, "games": weights.games}
    return own | weights.provenance | own


def _settings(config: Any) -> dict[str, Any]:
    """Return the settings of a config by section.key; none if the text is not TOML."""
    try:
        tables = tomllib.loads(str(config))
    except tomllib.TOMLDecodeError:
        return {}
    sections = {name: keys for name, keys in tables.items() if isinstance(keys, dict)}
    return {f"{name}.{key}": value for name, keys in sections.items() for key, value in keys.items()}


def describe_difference(difference: Difference, names: tuple[str, str], top: int = 0, unicode: bool = True) -> str:
    """Describe a difference in lines of text.

    Parameters
    ----------
    difference : what `diff` returned
    names : of A and B
    top : how many shapes of each block to draw, those whose weights differ most
    unicode : see `Weights.show`
    """
    rows = [("", "A", "B"), ("file", *names), *((name, _text(a), _text(b)) for name, a, b in difference.facts)]
    wide = [max(len(row[i]) for row in rows) for i in (0, 1)]
    lines = [f"{row[0]:{wide[0]}s}   {row[1]:{wide[1]}s}   {row[2]}".rstrip() for row in rows]
    if difference.is_unshared:
        lines += ["", "Compared without weight sharing: the weight of every shape in every window."]
    lines += ["", "block           weights   differ    largest      |A-B|        |A|        |B|    cosine"]
    for b in difference.blocks:
        norms = "".join(f"{x:11.4g}" for x in (b.largest, b.norm, b.norm_a, b.norm_b))
        cosine = "-" if np.isnan(b.cosine) else f"{b.cosine:.4f}"
        lines.append(f"{b.name:14s}{b.n_weights:9,d}{b.n_differ:9,d}{norms}{cosine:>10s}")
    if difference.blocks[-1].n_differ == 0:
        lines += ["", "The weights are equal" + ("." if difference.is_same else "; the kind of value is not.")]
    elif top:
        change = _fold(replace(difference.a, theta=difference.a.theta - difference.b.theta))
        lines += ["", "A - B where it is largest, from Black's side:", "", change.show(top, unicode)]
    return "\n".join(lines)


def _fold(weights: Weights) -> Weights:
    """Return the weights with sharing, if it can express them, so that symmetric shapes are drawn only once."""
    if weights.features.sharing == "none" and not weights.features.others:
        for sharing in ("LD", "inversion"):
            with suppress(RlgoError):
                return convert(weights, sharing=sharing)
    return weights


def _text(fact: Any) -> str:
    text = "-" if fact is None else f"{fact:,}" if type(fact) is int else " ".join(str(fact).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
