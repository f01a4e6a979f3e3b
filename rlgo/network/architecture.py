"""The architecture of a network: what it sees, its sizes, its parameters, and their file.

Start reading at `Parameters`; what is computed with them is in `inference.py`. The constants here are those of compiled
inference, of training in JAX and of ONNX files. A network file is an archive (see `archive.py`): the arrays of
`Parameters` by name; in the header, the planes that it takes and how it was trained. Nothing in it depends on the board
size.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from rlgo.base.archive import intact, read_archive, write_archive
from rlgo.base.errors import RlgoError
from rlgo.features.planes import history_of, plane_names

FORMAT, VERSION = "rlgo-network", 1
KINDS = ("stones", "ones", "liberties", "ko", "recent_moves", "ladders", "komi")  # of `PLANE_KINDS`: its input
N_PLANES, HISTORY = len(plane_names(KINDS)), history_of(KINDS)
N_POOLED = 3  # numbers for each channel, see `inference.pool`
MEAN_SIZE, SIZE_UNIT = 14.0, 10.0  # of the second of them: the mean times (size - MEAN_SIZE) / SIZE_UNIT
SCORE_UNIT = 20.0  # points of score that are 1

_Width = Annotated[int, Ge(8), Le(128)]  # computed in groups of 16, see `winograd.padded`


class Shape(NamedTuple):
    """How large a network is.

    >>> from rlgo.network.architecture import Shape
    >>> Shape(channels=16).blocks
    3
    """

    blocks: Annotated[int, Ge(1), Le(16)] = 3  # of two convolutions each
    channels: _Width = 32  # of these
    head_channels: _Width = 16
    value_hidden: _Width = 32  # hidden units of the value


class Parameters(NamedTuple):
    """The weights of a network, as float32 arrays: K planes, B blocks, C channels, H channels of heads, V units.

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
    ownership : [H], from V to the ownership of each point, before a tanh
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
    """Return the parameters before training.

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


def save_parameters(path: str | Path, parameters: Parameters, provenance: dict[str, Any]) -> None:
    """Write a network file, atomically. RlgoError if it cannot be written, or a weight is not a finite number."""
    if not are_valid(parameters):
        raise RlgoError(f"{path}: weights that are not finite numbers: not written; expected a smaller step size")
    meta = {"format": FORMAT, "version": VERSION, "planes": "+".join(KINDS), "provenance": provenance}
    write_archive(path, meta, {name: np.asarray(a, np.float32) for name, a in parameters._asdict().items()})


def load_parameters(path: str | Path) -> tuple[Parameters, dict[str, Any]]:
    """Read a network file: the parameters, and how they were trained.

    RlgoError if it is missing, damaged, no network file, or takes other planes.
    """
    meta, arrays = read_archive(path, "network file", FORMAT, VERSION)
    if meta.get("planes") != "+".join(KINDS):
        raise RlgoError(f"{path}: planes = {meta.get('planes')}: expected {'+'.join(KINDS)}; train it anew")
    with intact(path, "a network"):
        parameters = Parameters(**{name: np.ascontiguousarray(a, np.float32) for name, a in arrays.items()})
        if not are_valid(parameters):
            raise ValueError
        provenance = dict(meta["provenance"])
    return parameters, provenance


def are_valid(parameters: Parameters) -> bool:
    """Return whether the arrays have the shapes of one network, and are finite."""
    try:
        expected = shapes_of(shape_of(parameters)).values()
    except (RlgoError, IndexError, TypeError):  # sizes out of range, or too few dimensions
        return False
    return [a.shape for a in parameters] == list(expected) and all(np.isfinite(a).all() for a in parameters)
