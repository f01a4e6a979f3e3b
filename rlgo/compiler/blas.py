"""Matrix products in compiled code, by the BLAS that scipy brings.

`numpy.dot` in compiled code needs reference counting, which kernels do without (`jit.njit`), and overwrites its result.
`add_product` calls the same routine, and adds to it.
"""

from __future__ import annotations

import os

import numba
import numpy as np

from rlgo.compiler.jit import njit

# Products of one position are too small to share among threads: a search has its own. OpenBLAS reads this when scipy
# is loaded, which numba does at the first product.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_INT, _POINTER = numba.types.intp, numba.types.voidptr
# numba's own wrapper of xGEMM: kind, two transpositions, m, n, k, alpha, a, its stride, b, its stride, beta, c, its
# stride; matrices are stored by columns.
_GEMM = numba.types.ExternalFunction(
    "numba_xxgemm",
    numba.types.intc(
        *[numba.types.char] * 3, *[_INT] * 3, _POINTER, _POINTER, _INT, _POINTER, _INT, _POINTER, _POINTER, _INT
    ),
)
_FLOAT32, _AS_IT_IS = ord("s"), ord("n")
_ONE = np.ones(1, np.float32)


def _add_product(a, b, c):
    """Add the product of two matrices to a third one: c += a b.

    Parameters
    ----------
    a, b, c : float32[m, k], [k, n] and [m, n], C-contiguous
    """
    # Stored by rows is stored by columns and transposed, and (a b)' = b' a'.
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    one = _ONE.ctypes
    kind, plain = np.int8(_FLOAT32), np.int8(_AS_IT_IS)
    _GEMM(kind, plain, plain, n, m, k, one, b.ctypes, n, a.ctypes, k, one, c.ctypes, n)


def _add_product_interpreted(a, b, c):
    c += a @ b


add_product = _add_product_interpreted if numba.config.DISABLE_JIT else njit(_add_product)
