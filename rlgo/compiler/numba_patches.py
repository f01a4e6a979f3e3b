"""Patches of numba's compiler, which give machine code as good with less work.

`install` replaces functions of numba; `decorators.py` calls it once. Loops left alone save two fifths of the first move
of `dyna2`, and the others together 14 % of that of the default player.

* numba asks up to thirty typing rules in turn, each time, what `int64 + int64` or `array[uint64]` is. 94 % of the
  questions have been answered before.
* To inline a function (`inline_once`), numba analyses it and then copies the result twice, with all variables once for
  each of its blocks, though nobody else has seen it.
* LLVM unrolls loops by their length. Before calls are inlined, a loop over sixteen calls looks short, and each call
  then becomes hundreds of instructions: 12,315 in `incremental.reweigh`, which are 484 if the loop is left alone until
  then. In the end, TD search has 13,000 instructions instead of 29,000.
* After each pass, numba finds out which variables live at the entry of each block. Only generators and its
  object mode ask for that. What others need, it finds out when they do.
* It measures how long it compiles with listeners, one more for each function within another, and colours errors, with
  which its type inference rules out one candidate after the other.
* To list the variables of a statement, it makes and joins a list for each of its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from numba.core import config, errors, event, ir, transforms
from numba.core.codegen import CPUCodegen
from numba.core.inline_closurecall import InlineWorker
from numba.core.postproc import PostProcessor, VariableLifetime
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


def _function_pass_manager(codegen: Any) -> tuple[Any, Any]:
    """Return LLVM's passes over single functions, which numba runs before anything is inlined, and their builder."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=int(config.OPT))
    tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(codegen._tm, tuning)
    return builder.getFunctionPassManager(), builder


_finish_whole = PostProcessor.run


def _finish_pass(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Bring a function's blocks into order after a pass, without listing the variables that live at their entries."""
    function = processor.func_ir
    if function.is_generator:
        _finish_whole(processor, emit_dels, extend_lifetimes)
        return
    function.blocks = transforms.canonicalize_cfg(function.blocks)
    function.variable_lifetime = VariableLifetime(function.blocks)
    function.generator_info = None
    if emit_dels:
        processor._insert_var_dels(extend_lifetimes=extend_lifetimes)


@contextmanager
def _untimed(kind: str, callback: Any) -> Iterator[None]:  # noqa: ARG001  # numba's signature
    """Do not measure how long numba compiles."""
    yield


def _list_vars(_: Any, value: Any) -> list[ir.Var]:
    """Return the variables in a part of a statement."""
    found: list[ir.Var] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[ir.Var]) -> None:
    if isinstance(value, ir.Var):
        found.append(value)
    elif isinstance(value, ir.Inst):
        found += value.list_vars()
    elif isinstance(value, dict):
        for part in value.values():
            _collect(part, found)
    elif isinstance(value, list | tuple):
        for part in value:
            _collect(part, found)


def install() -> None:
    """Replace what these functions shorten."""
    Function.get_call_type = _get_call_type  # type: ignore[method-assign,assignment]
    InlineWorker.inline_function = _inline_function
    if hasattr(CPUCodegen, "_pass_builder"):  # since numba 0.62; before, these passes unrolled nothing
        CPUCodegen._function_pass_manager = _function_pass_manager
    PostProcessor.run = _finish_pass
    ir.Inst._rec_list_vars = _list_vars
    event.install_timer = _untimed
    if hasattr(errors, "HighlightColorScheme"):  # where colorama is installed
        errors.HighlightColorScheme._markup = lambda _, text, *_colors: text
