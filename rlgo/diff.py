"""What differs between two sets of weights: block by block, shape by shape, and in what is told of them.

Start reading at `diff`.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rlgo.errors import RlgoError
from rlgo.exchange import convert, without_sharing
from rlgo.weights import Weights, show

_WIDTH = 44  # of a column of facts; what is longer is cut


class BlockDifference(NamedTuple):
    """How the weights a and b of one block differ; all norms are Euclidean."""

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
    """What `diff` finds.

    Attributes
    ----------
    a, b : the two sets as they were compared, over the same features
    is_unshared : whether that took weight sharing away
    blocks : one `BlockDifference` each, the last of which, "all", is of all weights
    facts : (name, a's, b's) of the metadata that differ, None where there is none
    """

    a: Weights
    b: Weights
    is_unshared: bool
    blocks: list[BlockDifference]
    facts: list[tuple[str, Any, Any]]

    @property
    def is_same(self) -> bool:
        """Whether both have equal weights and the same kind of value; the other facts do not count."""
        return self.blocks[-1].n_differ == 0 and self.a.value == self.b.value


def diff(a: Weights, b: Weights) -> Difference:
    """Compare two sets of weights of one board size.

    Under the same features weight is compared with weight. Otherwise (other window sizes, another sharing) they
    meet without sharing: the weight of every shape in every window. Equal weights are the same value function; the
    reverse does not hold, since larger windows contain smaller ones, and LD weights can express LI weights.

    Raises RlgoError for two board sizes.
    """
    if a.features.size != b.features.size:
        raise RlgoError(
            f"weights for board sizes {a.features.size} and {b.features.size}, expected one size "
            "(convert carries LI weights over)"
        )
    facts = _facts(a, b)
    is_unshared = a.features.name != b.features.name
    if is_unshared:
        sizes = tuple(sorted({*a.features.sizes, *b.features.sizes}))
        a, b = without_sharing(a, sizes), without_sharing(b, sizes)
    blocks = [_compare(block.name, a.block(block), b.block(block)) for block in a.features.blocks]
    return Difference(a, b, is_unshared, [*blocks, _compare("all", a.theta[1:], b.theta[1:])], facts)


def _compare(name: str, a: np.ndarray, b: np.ndarray) -> BlockDifference:
    x, y = a.astype(np.float64), b.astype(np.float64)
    norm_a, norm_b = float(np.linalg.norm(x)), float(np.linalg.norm(y))
    cosine = float(x @ y) / (norm_a * norm_b) if norm_a and norm_b else np.nan
    largest, norm = float(np.abs(x - y).max(initial=0)), float(np.linalg.norm(x - y))
    return BlockDifference(name, a.size, int(np.count_nonzero(a != b)), largest, norm, norm_a, norm_b, cosine)


def _facts(a: Weights, b: Weights) -> list[tuple[str, Any, Any]]:
    told_a, told_b = _told(a), _told(b)
    config_a, config_b = settings(told_a.pop("config", "")), settings(told_b.pop("config", ""))
    if config_a and config_b:
        told_a, told_b = told_a | config_a, told_b | config_b
    names = list(dict.fromkeys([*told_a, *told_b]))
    return [(name, told_a.get(name), told_b.get(name)) for name in names if told_a.get(name) != told_b.get(name)]


def _told(weights: Weights) -> dict[str, Any]:
    """What a weight file tells besides its weights."""
    told = {"features": weights.features.name, "komi": weights.komi, "value": weights.value, "games": weights.games}
    return told | weights.provenance | told


def settings(config: Any) -> dict[str, Any]:
    """The settings of a config, flat: section.key. None of what is no TOML."""
    try:
        tables = tomllib.loads(str(config))
    except tomllib.TOMLDecodeError:
        return {}
    sections = {name: keys for name, keys in tables.items() if isinstance(keys, dict)}
    return {f"{name}.{key}": value for name, keys in sections.items() for key, value in keys.items()}


def describe_difference(found: Difference, names: tuple[str, str], top: int = 0, unicode: bool = True) -> str:
    """A difference for people.

    names : what A and B are called
    top : draw so many shapes of each block, those whose weights differ most; `unicode` as in `weights.show`
    """
    rows = [("", "A", "B"), ("file", *names), *((name, _text(a), _text(b)) for name, a, b in found.facts)]
    wide = [max(len(row[i]) for row in rows) for i in (0, 1)]
    lines = [f"{row[0]:{wide[0]}s}   {row[1]:{wide[1]}s}   {row[2]}".rstrip() for row in rows]
    if found.is_unshared:
        lines += ["", "Compared without weight sharing: the weight of every shape in every window."]
    lines += ["", "block           weights   differ    largest      |A-B|        |A|        |B|    cosine"]
    for b in found.blocks:
        norms = "".join(f"{x:11.4g}" for x in (b.largest, b.norm, b.norm_a, b.norm_b))
        cosine = "-" if np.isnan(b.cosine) else f"{b.cosine:.4f}"
        lines.append(f"{b.name:14s}{b.n_weights:9,d}{b.n_differ:9,d}{norms}{cosine:>10s}")
    if found.blocks[-1].n_differ == 0:
        lines += ["", "The weights are equal" + ("." if found.is_same else "; the kind of value is not.")]
    elif top:
        change = _fold(replace(found.a, theta=found.a.theta - found.b.theta))
        lines += ["", "A - B where it is largest, from Black's side:", "", show(change, top, unicode)]
    return "\n".join(lines)


def _fold(weights: Weights) -> Weights:
    """The same with weight sharing, if it can express them: then no shape is drawn once for each symmetry."""
    if weights.features.sharing == "none":
        for sharing in ("LD", "inversion"):
            with suppress(RlgoError):
                return convert(weights, sharing=sharing)
    return weights


def _text(fact: Any) -> str:
    text = "-" if fact is None else f"{fact:,}" if type(fact) is int else " ".join(str(fact).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
