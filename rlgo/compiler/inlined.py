"""Compile functions called by kernels into their callers, not separately.

numba generates machine code for every function that it compiles, and links an optimised copy of it into each caller,
where LLVM optimises and translates it once more: a function called through four others is processed five times. Here a
function called by compiled code is only typed and translated to LLVM IR; the rest is left to the top-level kernel,
which Python calls. Without it, the default player's first move takes 92 s of CPU time instead of 36; the kernels' speed
is the same within 3 % either way.

Start reading at `InlinedCompiler`. `decorators.njit` is the only user.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes


class InlinedCompiler(CompilerBase):
    """numba's compiler with a `InlinedLibrary` as output; for the option `pipeline_class`."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, with one more."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_MakeInlinedLibrary, AnnotateTypes)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _MakeInlinedLibrary(LoweringPass):
    """A pass just before lowering, to replace the library that numba would make."""

    _name = "make_inlined_library"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = InlinedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


class InlinedLibrary(JITCodeLibrary):
    """Code to link into callers. It has no machine code, so Python cannot call it."""

    def _optimize_final_module(self) -> None:
        """Leave it to the caller."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002  # numba's signature
        """Return 0, numba's answer for a function that does not exist."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """A stub that ignores the address of the function's environment: without machine code it is not needed."""
        return _NoEnvironments()


class _NoEnvironments:
    def set_env(self, name: str, environment: Any) -> None:
        pass


def reduce_inlined(result: CompileResult) -> tuple[Any, ...]:
    """Return what `rebuild_inlined` needs, as data that can be pickled."""
    descriptor = result.fndesc
    descriptor.typemap = descriptor.calltypes = None
    code = result.library._get_module_for_linking().as_bitcode()
    return result.library.name, code, descriptor, result.environment, result.signature, result.reload_init


def rebuild_inlined(context: Any, data: tuple[Any, ...]) -> CompileResult:
    """Return a compile result from what `reduce_inlined` returned; `context` is numba's target context."""
    name, code, descriptor, environment, signature, reload_init = data
    for run in reload_init:
        run()
    library = InlinedLibrary(context.codegen(), name)
    library._final_module = library._shared_module = llvm.parse_bitcode(code)
    library._finalized = True
    return CompileResult(
        typing_context=context.typing_context,
        target_context=context,
        entry_point=context.get_executable(library, descriptor, environment),
        typing_error=None,
        type_annotation="",
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=descriptor,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=(),
    )
