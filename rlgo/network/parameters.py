"""The parameters of a network: their shapes, their first values, and their file.

Start reading at `Parameters`; what is computed with them is in `layers.py`. A network file is an archive (see
`archive.py`): the arrays of `Parameters` by name; in the header, the planes that it takes and how it was learned.
Nothing in it depends on the board size.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.archive import intact, read_archive, write_archive
from rlgo.base.errors import RlgoError
from rlgo.features.planes import plane_names

FORMAT, VERSION = "rlgo-network", 1
KINDS = ("stones", "ones", "liberties", "ko", "recent_moves", "ladders", "komi")  # the planes that it takes
N_PLANES = len(plane_names(KINDS))
N_POOLED = 3  # numbers for each channel, see `layers.pool`

_Width = Annotated[int, Ge(8), Le(128)]  # computed in groups of 16, see `winograd.padded`


class Shape(NamedTuple):
    """How large a network is.

    >>> from rlgo.network.parameters import Shape
    >>> Shape(channels=16).blocks
    3
    """

    blocks: Annotated[int, Ge(1), Le(16)] = 3  # of two convolutions each
    channels: _Width = 32  # of these
    head_channels: _Width = 16
    value_hidden: _Width = 32  # hidden units of the value


class Parameters(NamedTuple):
    """What a network has learned, as float32 arrays: K planes, B blocks, C channels, H channels of heads, V units.

    A kernel [3, 3 C, C'] of a convolution holds a matrix for each of three rows, from the one below to the one above;
    it multiplies the channels of the points on the left, in the middle, and on the right, in this order.

    Attributes
    ----------
    stem, stem_bias : [3, 3 K, C], [C]: the first convolution
    conv, conv_bias : [2 B, 3, 3 C, C], [2 B, C]: the two convolutions of each block
    pool : [B, 3 C, C], from what is pooled after the first convolution of a block to a bias for each channel
    head, head_bias : [C, 3 H], [3 H]: the channels P, G and V of the heads
    policy_pool, policy : [3 H, H], [H]: from G, pooled, to a bias for P, and from P to the logit of each point
    pass_move, pass_bias : [3 H], [1]: from G, pooled, to the logit of the pass
    hidden, hidden_bias : [3 H, V], [V]: from V, pooled, to the hidden units
    result, result_bias : [V, 2], [2]: from these to the logit of a win, and to the score in units of `SCORE_UNIT`
    ownership : [H], from V to the owner of each point, before a tanh
    """

    stem: np.ndarray
    stem_bias: np.ndarray
    conv: np.ndarray
    conv_bias: np.ndarray
    pool: np.ndarray
    head: np.ndarray
    head_bias: np.ndarray
    policy_pool: np.ndarray
    policy: np.ndarray
    pass_move: np.ndarray
    pass_bias: np.ndarray
    hidden: np.ndarray
    hidden_bias: np.ndarray
    result: np.ndarray
    result_bias: np.ndarray
    ownership: np.ndarray


def shapes_of(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of `Parameters`."""
    blocks, c, h, v = shape
    shapes: list[tuple[int, ...]] = [
        (3, 3 * N_PLANES, c), (c,), (2 * blocks, 3, 3 * c, c), (2 * blocks, c), (blocks, N_POOLED * c, c),
        (c, 3 * h), (3 * h,), (N_POOLED * h, h), (h,), (N_POOLED * h,), (1,),
        (N_POOLED * h, v), (v,), (v, 2), (2,), (h,),
    ]  # fmt: skip
    return dict(zip(Parameters._fields, shapes, strict=True))


def shape_of(parameters: Parameters) -> Shape:
    """Return how large a network is."""
    p = parameters
    return Shape(len(p.pool), p.stem.shape[2], len(p.policy), len(p.hidden_bias))


def new_parameters(shape: Shape, seed: int) -> Parameters:
    """Return the parameters before learning.

    Weights are normal, with variance 2 / inputs (He et al. 2015, "Delving deep into rectifiers"). What a block adds
    begins with zeros, and so do the outputs: without normalisation, a deep network then learns as well as with it
    (Zhang et al. 2019, "Fixup initialization").
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, dims in shapes_of(shape).items():
        n_in = 3 * dims[-2] if name in ("stem", "conv") else dims[0]
        arrays[name] = rng.normal(0.0, np.sqrt(2.0 / n_in), dims).astype(np.float32)
        if name.endswith("_bias") or name in ("pool", "policy_pool", "policy", "pass_move", "result", "ownership"):
            arrays[name][:] = 0.0
    arrays["conv"][1::2] = 0.0
    return Parameters(**arrays)


def check_growth(before: Shape, shape: Shape) -> None:
    """Raise `RlgoError` if a network would become smaller, or its heads would be others."""
    if shape.blocks < before.blocks or shape.channels < before.channels or shape[2:] != before[2:]:
        raise RlgoError(
            f"a network of {before.blocks} blocks of {before.channels} channels does not grow to {shape.blocks} blocks "
            f"of {shape.channels}: expected at least as many, and the same heads"
        )


def grown(parameters: Parameters, shape: Shape, seed: int) -> Parameters:
    """Return a network with more blocks and channels that computes the same.

    The idea is that of Chen et al. 2016, "Net2Net". Here, what is new begins as in `new_parameters`, but nothing of it
    reaches the channels that there were before; learning changes that.

    Raises `RlgoError` if it would be smaller, or its heads would be others.
    """
    old, new, before = parameters, new_parameters(shape, seed), shape_of(parameters)
    check_growth(before, shape)
    b, c = before.blocks, before.channels
    new.stem[:, :, :c], new.stem_bias[:c] = old.stem, old.stem_bias
    conv = new.conv.reshape(2 * shape.blocks, 9, shape.channels, shape.channels)  # views of both
    pool = new.pool.reshape(shape.blocks, N_POOLED, shape.channels, shape.channels)
    conv[: 2 * b, :, c:, :c] = 0.0
    conv[: 2 * b, :, :c, :c] = old.conv.reshape(2 * b, 9, c, c)
    new.conv_bias[: 2 * b, :c] = old.conv_bias
    pool[:b, :, :c, :c] = old.pool.reshape(b, N_POOLED, c, c)
    new.head[:c], new.head[c:] = old.head, 0.0
    heads = Parameters._fields[Parameters._fields.index("head_bias") :]
    return new._replace(**{name: getattr(old, name).copy() for name in heads})


def save_parameters(path: str | Path, parameters: Parameters, provenance: dict[str, Any]) -> None:
    """Write a network file, atomically. RlgoError if it cannot be written, or a weight is not a finite number."""
    if not are_whole(parameters):
        raise RlgoError(f"{path}: weights that are not finite numbers: not written; expected a smaller step size")
    meta = {"format": FORMAT, "version": VERSION, "planes": "+".join(KINDS), "provenance": provenance}
    write_archive(path, meta, {name: np.asarray(a, np.float32) for name, a in parameters._asdict().items()})


def load_parameters(path: str | Path) -> tuple[Parameters, dict[str, Any]]:
    """Read a network file: the parameters, and how they were learned.

    RlgoError if it is missing, damaged, no network file, or takes other planes.
    """
    meta, arrays = read_archive(path, "network file", FORMAT, VERSION)
    if meta.get("planes") != "+".join(KINDS):
        raise RlgoError(f"{path}: planes = {meta.get('planes')}: expected {'+'.join(KINDS)}; train it anew")
    with intact(path, "a network"):
        parameters = Parameters(**{name: np.ascontiguousarray(a, np.float32) for name, a in arrays.items()})
        if not are_whole(parameters):
            raise ValueError
        provenance = dict(meta["provenance"])
    return parameters, provenance


def are_whole(parameters: Parameters) -> bool:
    """Return whether the arrays are those of one network, and finite."""
    dims = [a.ndim for a in parameters]
    try:
        expected = shapes_of(shape_of(parameters)).values() if min(dims) else []
    except (RlgoError, IndexError):  # of a size that there is not
        return False
    return [a.shape for a in parameters] == list(expected) and all(np.isfinite(a).all() for a in parameters)
