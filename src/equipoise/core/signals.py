"""Ctrl-C and SIGTERM: both stop the program in the same way, with the exit code of the signal.

Work that can be saved runs inside `stopping`: the first signal asks it to stop, a second one interrupts it. Everywhere
else both raise KeyboardInterrupt, so that files are closed and temporary files removed.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_received: list[int] = []


def exit_code() -> int:
    """128 plus the number of the signal that stopped the work: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (_received[-1] if _received else int(signal.SIGINT))


def interrupted() -> bool:
    """Has Ctrl-C or SIGTERM come? Libraries can turn the KeyboardInterrupt that it raises into another error."""
    return bool(_received)


def interrupt_on_signals() -> None:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does, and remember both; a signal that is ignored stays so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: object) -> None:
    del frame
    _received.append(number)
    raise KeyboardInterrupt


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; a second signal has its usual effect.

    Only the main thread can handle signals; in any other the event is never set.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: object) -> None:
        del frame
        _received.append(number)
        asked.set()
        signal.signal(number, before[number])

    for number in before:
        signal.signal(number, stop)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
