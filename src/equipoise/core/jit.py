"""The decorators that compile every kernel of the package: `@kernel` and its variants.

Machine code is cached between processes by its sources and options (`core/kernel_cache.py`). `NUMBA_BOUNDSCHECK=1`
checks every index; `NUMBA_DISABLE_JIT=1` runs plain Python. The array types on kernel signatures (`core/arrays.py`) are
for readers and for mypy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, SupportsInt, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from equipoise.core.arrays import F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from equipoise.core.compiling import follow_compilations
from equipoise.core.inner_code import InnerCompiler
from equipoise.core.kernel_cache import KernelCache

__all__ = [
    "F32",
    "F64",
    "I8",
    "I16",
    "I32",
    "I64",
    "U8",
    "U16",
    "U32",
    "U64",
    "inlined",
    "inner",
    "kernel",
    "popcount",
    "view",
]

follow_compilations()

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {
    "_nrt": False,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "no_cfunc_wrapper": True,  # nobody calls kernels from C
}
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": InnerCompiler}  # only kernels call it
INLINED: Any = {**OPTIONS, **INNER, "forceinline": True}  # the options of an overload
_KEY = "-".join(f"{name}={value}" for name, value in sorted(OPTIONS.items()))
_KEY += "-checked" if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0") else ""


def kernel(function: Function) -> Function:
    """Compile on the first call, to run without the interpreter lock; the machine code is cached between processes.

    Kernels that call it take its inner code (`core/inner_code.py`).
    """
    compiled: Any = _compile(function)
    if compiled is not function:
        called: Any = _compile(function, **INNER)
        compiled.get_call_template, compiled.get_overload = called.get_call_template, called.get_overload
    return cast(Function, compiled)


def inner(function: Function) -> Function:
    """A kernel that only kernels call. It has no entry from Python: the code that unpacks a plan or a workspace of a
    hundred arrays takes longer to compile than the kernel itself. A call from Python runs the plain function.
    """
    return _without_entry(_compile(function, **INNER), function)


def inlined(function: Function) -> Function:
    """A kernel that is always inlined into its caller, without an entry from Python.

    For kernels called per hand or per node: a call passes each array as seven words, so passing a tuple of arrays can
    cost more than the work itself (an isomorphism index takes 76 nanoseconds instead of 30).
    """
    return _without_entry(_compile(function, forceinline=True, **INNER), function)


def view(function: Function) -> Function:
    """A function inlined before compilation, for one that returns part of an array: kernels without Numba's runtime
    cannot return one. It is typed and lowered again at each place that calls it, so everything longer is `inlined`.
    """
    return _compile(function, inline="always")


def _compile(function: Function, **more: Any) -> Function:
    config: Any = numba.config
    if config.DISABLE_JIT:
        return function
    compiled = numba.njit(**OPTIONS, **more)(function)
    if function.__closure__ is None:  # the values in a closure are in no source file
        compiled._cache = KernelCache(function, f"{_KEY} {sorted(more.items())}")
    result: Function = compiled
    return result


def _without_entry(compiled: Function, function: Function) -> Function:
    """Keep Numba's table of entries empty, so that it does not look for the missing entry."""
    if compiled is function:
        return function
    dispatcher: Any = compiled
    dispatcher.add_overload = lambda found: dispatcher.overloads.update({tuple(found.signature.args): found})
    dispatcher._compile_for_args = lambda *_, **__: function
    return compiled


def popcount(bits: SupportsInt) -> int:
    """The number of ones in an unsigned word; one machine instruction inside a kernel."""
    return int(bits).bit_count()


@intrinsic
def _ctpop(_typing_context: Any, _bits: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@overload(popcount)
def _popcount_in_kernel(bits: Any) -> Any:
    def count(bits: Any) -> Any:
        return _ctpop(np.uint64(bits))  # type: ignore[call-arg]

    return count if isinstance(bits, types.Integer) else None
