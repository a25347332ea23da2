"""Code of kernels that only other kernels call: kept as LLVM bitcode and linked into its callers, never emitted.

By default Numba optimises every function together with all functions that it calls, and emits machine code for it. Down
a chain of calls the innermost function is optimised and emitted once for each of its direct and indirect callers,
although only the outermost code ever runs. With `InnerCompiler` a function is lowered to bitcode once; the kernel that
Python calls is optimised and emitted as a whole.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.untyped_passes import TranslateByteCode

_result: Any = CompileResult


class _NoEngine:
    """The code generator of code that is not loaded: there is no global variable to set."""

    @staticmethod
    def set_env(_name: str, _environment: Any) -> None:
        """Nothing to do."""


class InnerCode(JITCodeLibrary):
    """The bitcode of a function, with that of the functions it calls."""

    codegen = _NoEngine()

    def finalize(self) -> None:
        """Link in what the function calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        """No address: there is no machine code."""
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """The bitcode alone."""
        self._ensure_finalized()
        return self.name, "inner", self._final_module.as_bitcode()


@register_pass(mutates_CFG=False, analysis_only=True)
class _AsInnerCode(FunctionPass):
    """Let the function be lowered into a library of inner code."""

    _name = "equipoise_inner_code"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = InnerCode(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class InnerCompiler(CompilerBase):
    """Numba's compiler down to bitcode."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes, with a library of our own."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_AsInnerCode, TranslateByteCode)
        passes.finalize()
        return [passes]


def rebuild_inner_code(target: Any, library: tuple[str, str, bytes], *rest: Any) -> Any:
    """The compile result of inner code from a cache: what `CompileResult._rebuild` does for machine code."""
    name, _, bitcode = library
    description, environment, signature, objectmode, lifted, annotation, reload_init, environments = rest
    code = InnerCode(target.codegen(), name)
    code._final_module = llvm.parse_bitcode(bitcode)
    code._finalized = True
    return _result(
        target_context=target, typing_context=target.typing_context, library=code, environment=environment,
        entry_point=target.get_executable(code, description, environment), fndesc=description,
        type_annotation=annotation, signature=signature, objectmode=objectmode, lifted=lifted, typing_error=None,
        call_helper=None, metadata=None, reload_init=reload_init, referenced_envs=environments,
    )  # fmt: skip
