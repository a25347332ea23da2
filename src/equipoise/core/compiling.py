"""What happens while kernels are compiled: the garbage collector rests, and somebody can be told.

The compiler makes millions of small objects that live until it ends; collecting garbage meanwhile finds none and takes
a sixth of the time. Numba is imported only when there is something to follow, so that listeners are light.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

_on_start: list[Callable[[str], None]] = []
_on_end: list[Callable[[], None]] = []


def on_compile(tell: Callable[[str], None], end: Callable[[], None] | None = None) -> None:
    """Call `tell` with the name of each kernel that is about to be compiled, because the cache does not have it.

    `end` is called when it and all kernels that it calls are compiled.
    """
    _on_start.append(tell)
    if end is not None:
        _on_end.append(end)


def follow_compilations() -> None:
    """Follow this process's compilations; `core/jit.py` calls it once."""
    from numba.core import event

    class Compilation(event.Listener):
        """Follows nested compilations; Numba's lock lets only one thread compile."""

        def __init__(self) -> None:
            self.depth = 0
            self.collecting = False

        def on_start(self, found: Any) -> None:
            if not self.depth:
                self.collecting = gc.isenabled()
                gc.disable()
            self.depth += 1
            for tell in _on_start:
                tell(found.data["dispatcher"].py_func.__name__)

        def on_end(self, _found: Any) -> None:
            self.depth -= 1
            if self.depth:
                return
            if self.collecting:
                gc.enable()
            for tell in _on_end:
                tell()

    event.register("numba:compile", Compilation())  # type: ignore[no-untyped-call]
