"""Call a kernel from another one through its address, so that two processes compile them at the same time.

Start reading at `calls`. LLVM neither inlines such a call nor optimises what is called again for each caller. The
call costs as much as storing its arguments, which are hundreds of numbers for a search tree: a quarter of a
microsecond.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

from rlgo.compiler.decorators import njit


class Arguments(types.Type):
    """The type of a pointer to arguments: a tuple in the caller's memory."""

    def __init__(self, tuple_type: Any):
        self.tuple_type = tuple_type
        super().__init__(name=f"Arguments({tuple_type})")


@register_model(Arguments)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, of: Any):
        super().__init__(manager, of, cgutils.voidptr_t)


def apart(function: Any) -> Any:
    """Compile a kernel that others call through its address."""
    return njit(function, no_cpython_wrapper=True)


def address_of(kernel: Any, *arguments: Any) -> int:
    """Return the address of a kernel that is called apart, compiled for these arguments; 0 if nothing is compiled."""
    if numba.config.DISABLE_JIT:
        return 0
    signature = (Arguments(numba.typeof(arguments)),)
    kernel.compile(signature)
    result = kernel.overloads[signature]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


@intrinsic
def _call(typing_context, address, arguments):  # noqa: ARG001  # numba's signature
    def codegen(context, builder, signature, values):
        pointer = builder.bitcast(cgutils.alloca_once_value(builder, values[1]), cgutils.voidptr_t)
        kinds = (Arguments(signature.args[1]),)
        function = context.call_conv.get_function_type(types.none, kinds).as_pointer()
        context.call_conv.call_function(builder, builder.inttoptr(values[0], function), types.none, kinds, [pointer])
        return context.get_dummy_value()

    return types.void(types.int64, arguments), codegen


@intrinsic
def _unpacked(typing_context, arguments):  # noqa: ARG001  # numba's signature
    def codegen(context, builder, signature, values):
        tuple_type = context.get_value_type(signature.return_type)
        return builder.load(builder.bitcast(values[0], tuple_type.as_pointer()))

    return arguments.tuple_type(arguments), codegen


def calls(kernel: Any) -> Any:
    """Return what calls a kernel of one argument, `arguments`, from another kernel: `call(address, arguments)`.

    address : that of `address_of`, for arguments of the same types
    """
    return _caller(kernel) if numba.config.DISABLE_JIT else _call


def _caller(kernel):
    def call(address, arguments):  # noqa: ARG001  # nothing is compiled, so there is none
        kernel(arguments)

    return call


def _same(arguments):
    return arguments


unpacked = _same if numba.config.DISABLE_JIT else _unpacked  # the tuple that a kernel called apart has as its argument
