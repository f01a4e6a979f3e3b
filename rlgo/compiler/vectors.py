"""Vector instructions for kernels, where LLVM does not find them.

Each function has three forms: one for numpy arrays, which defines what it does and is used when code is interpreted;
one that writes LLVM's instructions; and one that tells numba to use it. LLVM translates vectors to what the processor
has.
"""

from __future__ import annotations

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
