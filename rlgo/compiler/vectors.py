"""Vector instructions for kernels, where LLVM does not find them.

Each function has three forms: one for numpy arrays, which defines what it does and is used when code is interpreted;
one that writes LLVM's instructions; and one that tells numba to use it. LLVM translates vectors to what the processor
has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload


def least_of_eight(table, rows, dead):
    """Combine six rows of eight numbers bit by bit, and return the smallest result and where it is.

    Parameters
    ----------
    table : uint32[R, 8], numbers below 2^31
    rows : six of its rows, uint64
    dead : uint32, columns to leave out (bits), not all

    Returns
    -------
    least : uint32, the smallest of ``table[a] | table[b] | ...`` over the other columns
    where : uint32, the columns that have it (bits)
    """
    columns = np.arange(8, dtype=np.uint32)
    numbers = np.bitwise_or.reduce(table[np.array(rows, np.int64)]) | (np.uint32(dead) >> columns & np.uint32(1)) << 31
    least = numbers.min()
    return least, np.uint32(((numbers == least) << columns).sum())


@intrinsic
def _least_of_eight(typing_context, table, rows, dead):  # noqa: ARG001  # numba's signature
    def codegen(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        word = ir.IntType(32)
        vector = ir.VectorType(word, 8)

        def row(number):
            first = [number, ir.Constant(number.type, 0)]
            at = cgutils.get_item_pointer(context, builder, signature.args[0], array, first, wraparound=False)
            return builder.load(builder.bitcast(at, vector.as_pointer()), align=4)

        lanes = ir.Constant(vector, list(range(8)))
        alone = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[2], ir.Constant(word, 0))
        numbers = builder.shuffle_vector(alone, alone, ir.Constant(vector, [0] * 8))
        numbers = builder.shl(builder.lshr(numbers, lanes), ir.Constant(vector, [31] * 8))
        for number in cgutils.unpack_tuple(builder, arguments[1]):
            numbers = builder.or_(numbers, row(number))
        smallest = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [vector]), "llvm.vector.reduce.umin.v8i32"
        )
        least = builder.call(smallest, [numbers])
        alone = builder.insert_element(ir.Constant(vector, ir.Undefined), least, ir.Constant(word, 0))
        equal = builder.icmp_unsigned("==", numbers, builder.shuffle_vector(alone, alone, ir.Constant(vector, [0] * 8)))
        where = builder.zext(builder.bitcast(equal, ir.IntType(8)), word)
        return context.make_tuple(builder, signature.return_type, (least, where))

    return types.UniTuple(types.uint32, 2)(table, rows, types.uint32), codegen


@overload(least_of_eight)
def _overload_least_of_eight(table, rows, dead):  # noqa: ARG001  # numba matches names
    return lambda table, rows, dead: _least_of_eight(table, rows, dead)


# ---------------------------------------------------------------------------------------------
# Rows of 16 numbers, float32, in arrays of any shape: (array, at, step) stands for the rows that begin at the places
# at, at + step, at + 2 step and so on in its memory, counted in numbers.
# ---------------------------------------------------------------------------------------------

LANES = 16
PRODUCT_ROWS = 5  # rows of a product at a time: as many sums as fit into the registers of processors with AVX2
_ROW = ir.VectorType(ir.FloatType(), LANES)


def _row(rows, i, n=LANES):
    array, at, step = rows
    return array.reshape(-1)[at + i * step :][:n]


def linear_map(matrix: Sequence[Sequence[float]]) -> Any:
    """Return a function (x, y) that sets row i of y to the sum over j of ``matrix[i][j]`` times row j of x.

    The matrix becomes part of the machine code.
    """

    def combine(x, y):
        found = np.array(matrix, np.float32) @ [_row(x, j) for j in range(len(matrix[0]))]
        for i in range(len(matrix)):
            _row(y, i)[:] = found[i]

    @intrinsic
    def _combine(typing_context, x, y):  # noqa: ARG001
        def codegen(context, builder, signature, arguments):
            from_, to = (_Rows(context, builder, *pair) for pair in zip(signature.args, arguments, strict=True))
            rows = [from_.load(j) for j in range(len(matrix[0]))]
            for i, total in enumerate([_combined(builder, weights, rows) for weights in matrix]):
                to.store(total, i)
            return context.get_dummy_value()

        return types.void(_rows_type(x), _rows_type(y)), codegen

    @overload(combine)
    def _overload_combine(x, y):  # noqa: ARG001
        return lambda x, y: _combine(x, y)

    return combine


def multiply_rows(a, b, n, c):
    """Set five rows of c to those of a matrix product a b. Rows of a have n > 0 numbers, and b has n rows."""
    right = np.array([_row(b, k) for k in range(n)])
    for r in range(PRODUCT_ROWS):
        _row(c, r)[:] = _row(a, r, n) @ right


@intrinsic
def _multiply_rows(typing_context, a, b, n, c):  # noqa: ARG001
    def codegen(context, builder, signature, arguments):
        a, b, c = (_Rows(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 3))
        left, right = [a.place(r) for r in range(PRODUCT_ROWS)], b.place(0)
        before, loop, after = builder.block, builder.append_basic_block("loop"), builder.append_basic_block("after")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(a.int)
        k.add_incoming(a.int(0), before)
        totals, sums = [builder.phi(_ROW) for _ in left], []
        row = b.load_from(builder.gep(right, [builder.mul(k, b.step)]))
        for place, total in zip(left, totals, strict=True):
            total.add_incoming(ir.Constant(_ROW, [0.0] * LANES), before)
            sums.append(_multiply_add(builder, _spread(builder, builder.load(builder.gep(place, [k]))), row, total))
            total.add_incoming(sums[-1], loop)
        following = builder.add(k, a.int(1))
        k.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, arguments[2]), loop, after)
        builder.position_at_end(after)
        for r, total in enumerate(sums):
            c.store(total, r)
        return context.get_dummy_value()

    return types.void(_rows_type(a), _rows_type(b), types.intp, _rows_type(c)), codegen


@overload(multiply_rows)
def _overload_multiply_rows(a, b, n, c):  # noqa: ARG001
    return lambda a, b, n, c: _multiply_rows(a, b, n, c)


def _rows_type(rows: Any) -> Any:
    return types.Tuple((rows[0], types.intp, types.intp))  # type: ignore[attr-defined]  # which numba does export


class _Rows:
    """Writes instructions that read and write rows of an argument (array, at, step)."""

    def __init__(self, context: Any, builder: Any, kind: Any, rows: Any):
        array, at, self.step = (builder.extract_value(rows, i) for i in range(3))
        data = context.make_array(kind[0])(context, builder, value=array).data
        self.builder, self.int, self.first = builder, at.type, builder.gep(data, [at])

    def place(self, i: int) -> Any:
        """Return the address of row i."""
        return self.builder.gep(self.first, [self.builder.mul(self.step, self.int(i))])

    def load_from(self, place: Any) -> Any:
        """Read the row at an address."""
        return self.builder.load(self.builder.bitcast(place, _ROW.as_pointer()), align=4)

    def load(self, i: int) -> Any:
        """Read row i."""
        return self.load_from(self.place(i))

    def store(self, row: Any, i: int) -> None:
        """Write row i."""
        self.builder.store(row, self.builder.bitcast(self.place(i), _ROW.as_pointer()), align=4)


def _combined(builder: Any, weights: Sequence[float], rows: Sequence[Any]) -> Any:
    """Return the sum of rows with constant weights, not all of them 0."""
    total = None
    for weight, row in sorted(zip(weights, rows, strict=True), key=lambda pair: -pair[0]):
        if abs(weight) == 1.0 and total is not None:
            total = (builder.fadd if weight > 0.0 else builder.fsub)(total, row)
        elif weight == 1.0:
            total = row
        elif weight != 0.0:
            total = _multiply_add(builder, ir.Constant(_ROW, [weight] * LANES), row, total)
    return total


def _spread(builder: Any, number: Any) -> Any:
    """Return a row of one number."""
    word = ir.IntType(32)
    alone = builder.insert_element(ir.Constant(_ROW, ir.Undefined), number, word(0))
    return builder.shuffle_vector(alone, alone, ir.Constant(ir.VectorType(word, LANES), [0] * LANES))


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c, in one instruction where there is one; a b without c."""
    if c is None:
        return builder.fmul(a, b)
    kind = ir.FunctionType(_ROW, [_ROW] * 3)
    fused = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32")
    return builder.call(fused, [a, b, c])
