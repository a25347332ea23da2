"""The one `@kernel` decorator: every compiled function of the package goes through it.

Machine code is kept for the next process by the sources and options it was made of (`core/kernel_cache.py`).
`NUMBA_BOUNDSCHECK=1` checks every index, `NUMBA_DISABLE_JIT=1` runs plain Python.

The array types on kernel signatures (`core/arrays.py`) are for the reader and for mypy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, SupportsInt, TypeVar

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from equipoise.core.arrays import F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
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

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {
    "_nrt": False,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "no_cfunc_wrapper": True,  # nobody calls kernels from C
}
_KEY = "-".join(f"{name}={value}" for name, value in sorted(OPTIONS.items()))
_KEY += "-checked" if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0") else ""


def kernel(function: Function) -> Function:
    """Compile on first call, without the interpreter lock, and keep the machine code for the next process."""
    return _compile(function)


def inner(function: Function) -> Function:
    """A kernel that only kernels call. It has no entry from Python: to unpack a plan or a workspace, a hundred arrays,
    takes longer to compile than the kernel itself. A call from Python runs the plain function.
    """
    return _without_entry(_compile(function, no_cpython_wrapper=True), function)


def inlined(function: Function) -> Function:
    """A kernel that is always part of its caller, and has no entry from Python either.

    For what is called per hand or per node: a call passes every array as seven words, a tuple of arrays as
    hundreds, which can cost more than the work itself (an isomorphism index: 76 against 30 nanoseconds).
    """
    return _without_entry(_compile(function, forceinline=True, no_cpython_wrapper=True), function)


def view(function: Function) -> Function:
    """A function written out in its caller before compilation: one that returns part of an array, which compiled code
    cannot do here, or one that takes so many arrays that passing them would take longer to compile than itself.
    A kernel is optimised again in all that call it, and in all that call those: views are optimised once.
    """
    return _compile(function, inline="always")


def _compile(function: Function, **more: Any) -> Function:
    config: Any = numba.config
    if config.DISABLE_JIT:
        return function
    compiled = numba.njit(**OPTIONS, **more)(function)
    if function.__closure__ is None:  # what a closure holds is in no source file
        compiled._cache = KernelCache(function, f"{_KEY} {sorted(more.items())}")
    result: Function = compiled
    return result


def _without_entry(compiled: Function, function: Function) -> Function:
    """Numba must not look for an entry that is not there: its table of entries stays empty."""
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
