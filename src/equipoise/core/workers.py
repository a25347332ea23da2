"""Runs work that is mostly Python on several cores, in processes forked from this one, which share its memory.

Kernels run in threads; a function that holds the interpreter lock between small kernels gains nothing from threads.
Only Linux can fork safely; elsewhere the work runs sequentially in one thread.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from equipoise.core.errors import InputError

_target: list[Callable[..., Any]] = []  # in a worker: the function it runs


def _begin(target: Callable[..., Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # and does so with SIGTERM
    _target[:] = [target]


def _work(*arguments: Any) -> Any:
    return _target[0](*arguments)


@contextmanager
def workers(target: Callable[..., Any], count: int) -> Iterator[Callable[..., Future[Any]]]:
    """A function that takes arguments of `target` and returns the future of its result.

    Workers are forked at the first call: compile and build whatever they share before that. Only arguments and results
    are sent between processes; `target` and all it refers to are copies from the time of the fork.
    """
    forks = count > 1 and sys.platform == "linux"
    pool: Executor
    if forks:
        context = multiprocessing.get_context("fork")
        pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(target,))
    else:
        pool = ThreadPoolExecutor(1)
    try:
        yield lambda *arguments: pool.submit(_work if forks else target, *arguments)
    except BrokenProcessPool:
        raise InputError("a worker process has ended", remedy="check the memory, or try fewer threads") from None
    finally:
        pool.shutdown(cancel_futures=True)
