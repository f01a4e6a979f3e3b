"""Weights for another board size, or with another kind of weight sharing.

Start reading at `convert`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rlgo.base.errors import RlgoError
from rlgo.base.settings import SHARINGS, board_size
from rlgo.features.rewriting import unshare
from rlgo.features.shapes import FeatureSet, make_features
from rlgo.features.weights import Weights


def convert(weights: Weights, size: int | None = None, sharing: str | None = None) -> Weights:
    """Convert weights to another board size, to another sharing, or to both, in this order.

    Parameters
    ----------
    weights : komi, value and games stay as they are; the provenance records the conversion
    size : another board size. LI weights carry over; LD weights do not, and become 0
    sharing : a key of `settings.SHARINGS`. All positions keep their values exactly

    Raises
    ------
    RlgoError : for an unknown size or sharing; for another board size if the weights have no LI blocks, the only ones
        that are not tied to board positions; and for a sharing that cannot express the weights
    """
    old = weights.features
    if size is not None and size != old.size:
        weights = _resize(weights, size)
    if sharing is not None and sharing != weights.features.sharing:
        weights = _reshare(weights, sharing)
    new = weights.features
    if new is old:
        return weights
    history = f"{weights.provenance.get('converted', old.name)} -> {new.name}"
    return replace(weights, provenance={**weights.provenance, "converted": history})


def without_sharing(weights: Weights, windows: tuple[str, ...] | None = None) -> Weights:
    """Write weights out without sharing, for windows of their own names or of others, whose new weights are 0.

    Weights of 0 are +0, as in the original's own files.
    """
    features, theta = unshare(weights.features, weights.theta, windows or weights.features.names)
    return replace(weights, features=features, theta=theta + 0.0)


def _resize(weights: Weights, size: int) -> Weights:
    old = weights.features
    board_size(size)
    if "LI" not in SHARINGS[old.sharing]:
        raise RlgoError(f"{old.name}: these weights are tied to positions of their board; only LI weights carry over")
    return _copy_blocks(weights, make_features(size, *old.arguments[1:]), "LI")


def _reshare(weights: Weights, sharing: str) -> Weights:
    old = weights.features
    if sharing == "none":
        return without_sharing(weights)
    if old.others:
        raise RlgoError(f"{old.name}: irregular windows can only be converted to sharing none")
    new = make_features(old.size, old.sizes, sharing)
    if sharing == "LI+LD":
        # LD can express LI, so the solution is not unique. Here LI weights stay unchanged, and the rest becomes LD.
        kind = "LI" if old.sharing == "LI" else "LD"
        return _copy_blocks(weights if old.sharing == kind else _reshare(weights, kind), new, kind)
    # For each shape, the signed index of its weight, which gets the shape's value.
    _, index = unshare(new, np.arange(new.n_weights + 1, dtype=np.float32))
    _, theta_none = unshare(old, weights.theta)
    theta = np.zeros(new.n_weights + 1, np.float32)
    theta[index[index > 0].astype(int)] = theta_none[index > 0]
    n_lost = np.count_nonzero(unshare(new, theta)[1] != theta_none)
    if n_lost:
        raise RlgoError(
            f"{old.name}: {sharing} cannot express these weights: the values of {n_lost:,} shapes would change"
        )
    return replace(weights, features=new, theta=theta)


def _copy_blocks(weights: Weights, features: FeatureSet, kind: str) -> Weights:
    """Copy the blocks of one kind, which both feature sets have; the others become 0."""
    theta = np.zeros(features.n_weights + 1, np.float32)
    blocks = {block.name: block for block in weights.features.blocks}
    for block in features.blocks:
        if block.kind == kind:
            theta[block.start : block.stop] = weights.block(blocks[block.name])
    return replace(weights, features=features, theta=theta)
