"""Functions of compiled code whose implementation is chosen by the type of their first argument.

Start reading at `by_first`. numba knows all types when it compiles a kernel, so nothing is left of the choice: a kernel
contains only what it uses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from rlgo.compiler.jit import by_type

_Function = Callable[..., Any]


def by_first(kinds: Mapping[type, Any]) -> Callable[[_Function], _Function]:
    """Decorate a function: its body is the default, and `kinds` has other implementations.

    kinds : by the type of the first argument, a NamedTuple, what holds the implementation under the name of the
        function, usually the module that declares the type; read when a kernel is compiled
    """

    def decorate(default: _Function) -> _Function:
        def find(kind: Any) -> _Function:
            found: _Function = getattr(kinds.get(kind), default.__name__, default)
            return found

        @functools.wraps(default)
        def call(first: Any, *others: Any) -> Any:
            return find(type(first))(first, *others)

        @functools.wraps(default)
        def choose(first: Any, *others: Any) -> _Function:  # noqa: ARG001  # numba's signature: all types
            found = find(getattr(first, "instance_class", None))
            plain: _Function = getattr(found, "py_func", found)
            return plain

        by_type(call)(choose)
        return call

    return decorate
