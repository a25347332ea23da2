"""What came of a try: a command in a process of its own, or a call in a forked child, and whether that may happen.

A child that dies by a signal, or outlasts its guard, is a finding and not the end of the test: the next try has a new
child. Only children that were started here are ever killed.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import equipoise
from equipoise import InputError
from equipoise.core.visible_text import visible, visible_lines
from waiting import GUARD

GIGABYTE = 1 << 30
INTERRUPTED = "interrupted"
REFUSED = "refused"
TARGET_MISSED = 3  # the exit code of a solve that ended before its target
DONE = "done"

Try = TypeVar("Try")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    timed_out: bool = False
    interrupted: bool = False

    @property
    def fault(self) -> str:
        """What must not happen, or nothing: a crash, a traceback, no end, more or less than one line of complaint."""
        if self.timed_out:
            return "did not end"
        if self.code < 0 and not (self.interrupted and self.code == -signal.SIGINT):
            return f"killed by {signal.Signals(-self.code).name}"
        for word in ("Traceback (most recent call last)", "MemoryError", "Segmentation fault", "Exception ignored"):
            if word in self.err or word in self.out:
                return f"{word}: {self.last_line}"
        if visible_lines(self.out + self.err) != self.out + self.err:
            return f"what a terminal obeys: {(self.out + self.err)[-300:]!r}"
        if self.code == 2 and not self.interrupted and len(self.complaints) != 1:
            return f"{len(self.complaints)} lines of complaint: {self.err[-300:]!r}"
        if self.code not in (0, 2, TARGET_MISSED) and not self.interrupted:
            return f"exit code {self.code}: {self.last_line}"
        return ""

    @property
    def complaints(self) -> list[str]:
        """The lines that say what was wrong: ours, or the command line's own of a bad option."""
        return [line for line in self.err.splitlines() if line.startswith(("equipoise: ", "Error: "))]

    @property
    def last_line(self) -> str:
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""

    @property
    def word(self) -> str:
        """The outcome as it is counted."""
        if self.timed_out:
            return "stuck"
        if self.interrupted:
            return INTERRUPTED
        return {0: DONE, 2: REFUSED}.get(self.code, f"exit {self.code}")


def start(
    arguments: Sequence[str],
    *,
    cache: Path | None = None,
    memory: int | None = None,
    cwd: Path | None = None,
    prefix: Sequence[str] = ("-m", "equipoise"),
    environment: Mapping[str, str] | None = None,
    stdout: Any = subprocess.PIPE,
) -> subprocess.Popen[str]:
    """Start a command of this package; `memory` limits the bytes of its address space."""
    env = dict(os.environ) | dict(environment or {})
    env["PYTHONPATH"] = os.pathsep.join([str(Path(equipoise.__file__).parents[1]), env.get("PYTHONPATH", "")])
    if cache is not None:
        env["EQUIPOISE_CACHE"] = str(cache)
    begin = None if memory is None else (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)))
    return subprocess.Popen(
        [sys.executable, *prefix, *arguments],
        stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace",
        env=env, cwd=cwd, preexec_fn=begin,
    )  # fmt: skip


def finish(process: subprocess.Popen[str], guard: float, *, interrupt_after: float | None = None) -> Ended:
    """Wait for a command; interrupt it as Ctrl-C does after so many seconds of CPU time, kill it after the guard."""
    interrupted = False
    if interrupt_after is not None:
        until = time.monotonic() + 10 * interrupt_after  # it may be waiting
        while time.monotonic() < until and _cpu_seconds(process) < interrupt_after:
            with contextlib.suppress(subprocess.TimeoutExpired):
                out, err = process.communicate(timeout=0.2)
                return Ended(process.returncode, out or "", err)
        process.send_signal(signal.SIGINT)
        interrupted = True
    try:
        out, err = process.communicate(timeout=guard)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Ended(process.returncode, out or "", err, timed_out=True)
    return Ended(process.returncode, out or "", err, interrupted=interrupted)


def _cpu_seconds(process: subprocess.Popen[str]) -> float:
    """The CPU time of a command that has not been waited for, by /proc; 0 where there is none."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(*arguments: str, guard: float = GUARD, **how: Any) -> Ended:
    """A command from beginning to end."""
    return finish(start(arguments, **how), guard)


def isolated(
    tries: Sequence[Try], attempt: Callable[[Try], tuple[str, Any]], *, guard: float, memory: int = 4 * GIGABYTE
) -> Iterator[tuple[Try, str, Any]]:
    """Each try with its outcome and its fault, as `attempt` returns them, made in a forked child.

    What `attempt` raises is judged here: InputError is a refusal if it is one line, anything else is a fault. `memory`
    is what the child may take more than it has.
    """
    at = 0
    while at < len(tries):
        pid, pipe = _fork(tries[at:], attempt, memory)
        with open(pipe, "rb", buffering=0) as stream:  # noqa: PTH123 - a descriptor, not a path
            for outcome, fault in _answers(stream, guard):
                yield tries[at], outcome, fault
                at += 1
                if outcome == "stuck":
                    os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL and at < len(tries):
            yield tries[at], "crashed", f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
            at += 1
        elif not os.WIFSIGNALED(status) and at < len(tries):
            raise AssertionError(f"the child ended with status {status} before its tries did")


def _answers(stream: Any, guard: float) -> Iterator[tuple[str, Any]]:
    """What a child reports, a line a try; where nothing comes in time, that is the last answer."""
    pending = b""
    while True:
        deadline = time.monotonic() + guard
        while b"\n" not in pending:
            if not select.select([stream], [], [], max(0.0, deadline - time.monotonic()))[0]:
                yield "stuck", f"no answer within {guard:g} s"
                return
            read = stream.read(1 << 16)
            if not read:
                return
            pending += read
        line, _, pending = pending.partition(b"\n")
        outcome, fault = pickle.loads(bytes.fromhex(line.decode()))
        yield outcome, fault


def _fork(tries: Sequence[Try], attempt: Callable[[Try], tuple[str, Any]], memory: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn where other threads run: ours hold nothing
        pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    status = 1
    try:
        os.close(reading)
        _limit_memory(memory)
        for one in tries:
            answer = pickle.dumps(_judged(one, attempt)).hex().encode() + b"\n"
            while answer:
                answer = answer[os.write(writing, answer) :]
        status = 0
    finally:
        os._exit(status)


def _limit_memory(more: int) -> None:
    """Let this process take only so much more: what asks for all memory then fails here, and not on the machine."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _judged(one: Try, attempt: Callable[[Try], tuple[str, Any]]) -> tuple[str, Any]:
    try:
        return attempt(one)
    except InputError as error:
        text = str(error)
        several = len(text.splitlines()) != 1 or not text.strip() or len(text) > 1000 or visible(text) != text
        return (REFUSED, f"not one line of reasonable length: {text[:300]!r}" if several else "")
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return "raised", f"{type(error).__name__} at {place}: {str(error)[:200]}"
