"""What happens while kernels are compiled: the garbage collector rests, and somebody can be told.

The compiler makes millions of small objects that live until it ends; collecting garbage meanwhile finds none and takes
a sixth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from numba.core import event

_watchers: list[Callable[[str], None]] = []


def on_compile(tell: Callable[[str], None]) -> None:
    """Call `tell` with the name of each kernel that is about to be compiled, because the cache does not have it."""
    _watchers.append(tell)


class _Compilation(event.Listener):
    """Follows the nested compilations of a process; Numba's lock lets only one thread compile."""

    def __init__(self) -> None:
        self.depth = 0
        self.collecting = False

    def on_start(self, found: Any) -> None:
        if not self.depth:
            self.collecting = gc.isenabled()
            gc.disable()
        self.depth += 1
        for tell in _watchers:
            tell(found.data["dispatcher"].py_func.__name__)

    def on_end(self, _found: Any) -> None:
        self.depth -= 1
        if not self.depth and self.collecting:
            gc.enable()


def follow_compilations() -> None:
    """Follow this process's compilations; `core/jit.py` calls it once."""
    event.register("numba:compile", _Compilation())  # type: ignore[no-untyped-call]
