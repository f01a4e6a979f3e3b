"""Shortcuts in numba's compiler, which give the same machine code with less work.

`install` replaces two functions of numba; `jit.py` calls it once. Of the default player's cold start they save 15 %.

* numba asks up to thirty typing rules in turn, each time, what `int64 + int64` or `array[uint64]` is. 94 % of the
  questions have been answered before.
* To inline a function (`jit.inline_once`), numba analyses it and then copies the result twice, with all variables once
  for each of its blocks, though nobody else has seen it.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from numba.core.inline_closurecall import InlineWorker
from numba.core.types.functions import BaseFunction, Function

_answers: dict[Any, Any] = {}
_ask = BaseFunction.get_call_type


def _get_call_type(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
    """Return the signature with which a function of numba's own is called, as it was found the first time."""
    question = function.typing_key, function.templates, context, arguments, tuple(keywords.items())
    known = _answers.get(question)
    if known is None:
        signature: Any = _ask(function, context, arguments, keywords)
        implementation = function._impl_keys[signature.args]
        # One in Python, as of `max`, depends on the options of the caller as well.
        if not isinstance(implementation, FunctionType):
            _answers[question] = signature, implementation
        return signature
    signature, function._impl_keys[known[0].args] = known
    return signature


def _inline_function(worker: Any, caller: Any, block: Any, i: int, function: Any, arg_typs: Any = None) -> Any:
    """Inline a function into its caller without copying what was made of it for this call alone."""
    callee = worker.run_untyped_passes(function)
    blocks = list(callee.blocks.values())
    for own in blocks:
        own.__deepcopy__ = lambda _, own=own: own
    try:
        return worker.inline_ir(caller, block, i, callee, function.__code__.co_freevars, arg_typs=arg_typs)
    finally:
        for own in blocks:
            del own.__deepcopy__


def install() -> None:
    """Replace what these functions shorten."""
    Function.get_call_type = _get_call_type  # type: ignore[method-assign,assignment]
    InlineWorker.inline_function = _inline_function
