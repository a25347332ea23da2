"""Runs code that is not ours in a process of its own, where it can hang, exit, crash or print without harm to us.

The process is forked. It answers one question at a time, over a pair of sockets. Its standard output and error are a
pipe whose text goes to our standard error; its standard input is empty. It is ended when its time is up, when nobody
refers to it any more, and with this process. Whatever becomes of it is one line that names it. Only Linux can fork
safely (`can_isolate`). A forked worker that inherits an `Isolated` starts a process of its own at its first question.
"""

from __future__ import annotations

import codecs
import ctypes
import faulthandler
import io
import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from typing import Any, NoReturn, TypeAlias

from equipoise.core.errors import InputError, shown
from equipoise.core.visible_text import visible_lines

Begin: TypeAlias = Callable[[], tuple[Any, Callable[[Any], Any]]]  # what is to be known, and how questions are answered
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_LAST_WORDS = 1.0  # seconds in which a process that has closed its connection may end
_AT_ONCE = 1 << 16  # bytes of output
_LONGEST_WAIT = 3600.0  # seconds


class TimeUpError(InputError):
    """The code did not answer within its time, and was ended."""


def can_isolate() -> bool:
    """Whether code can be run in a process of its own here."""
    return sys.platform == "linux"


class Isolated:
    """Code in a process of its own. `begin` runs there, and returns what is to be known of it and how it answers.

    An error of the code is an `InputError` here: its own, or one that says how the process has ended. `name` is the
    code's in messages.
    """

    def __init__(self, name: str, begin: Begin) -> None:
        self.name = name
        self.deadline: float | None = None  # of `time.monotonic`: then the process is ended
        self._begin = begin
        self._processes: dict[int, _Process] = {}  # by the process that asks
        self._lock = threading.Lock()
        self.about = self._process().about

    def ask(self, question: Any, when: Callable[[], str]) -> Any:
        """The answer to a question; `when` ends a message: what was asked."""
        with self._lock:
            return self._process().ask(question, self.deadline, when)

    @property
    def has_ended(self) -> bool:
        """Whether it can no longer answer."""
        return any(process.error is not None for process in self._processes.values())

    def _process(self) -> _Process:
        """The process that answers this one."""
        mine = os.getpid()
        if mine not in self._processes:
            self._processes[mine] = _Process(self.name, self._begin, self.deadline)
            Finalize(self, _end_all, (self._processes,), exitpriority=1)  # also at the end of a worker
        return self._processes[mine]


class _Process:
    """A forked process, as seen from its parent."""

    def __init__(self, name: str, begin: Begin, deadline: float | None) -> None:
        self.name = name
        self.error: InputError | None = None  # why it has ended
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._has_printed = False
        try:
            self._fork(begin)
        except OSError as error:
            what = f"no process could be started for {name} ({error.strerror})"
            raise InputError(what, remedy="end other programs, then try again") from None
        self._poll = select.poll()
        for descriptor in (self._connection.fileno(), self._output):
            self._poll.register(descriptor, select.POLLIN)
        try:
            self.about = self._answer(deadline, lambda: "while it was loaded")
        except BaseException:
            self.end()
            raise

    def _fork(self, begin: Begin) -> None:
        self._connection, theirs = Pipe()
        self._output, output = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about threads: the child uses none of their locks
            self.pid = os.fork()
        if not self.pid:
            _run(self.name, parent, theirs, output, begin)
        theirs.close()
        os.close(output)

    def ask(self, question: Any, deadline: float | None, when: Callable[[], str]) -> Any:
        """The answer to a question."""
        if self.error is not None:
            raise self.error
        try:
            with suppress(OSError):  # then it has ended, and the answer says how
                self._connection.send_bytes(pickle.dumps(question))
            return self._answer(deadline, when)
        except InputError:
            raise
        except BaseException:  # else its answer would be taken for that to the next question
            self._stop(InputError(f"{self.name} was interrupted", remedy="start again"))
            raise

    def _answer(self, deadline: float | None, when: Callable[[], str]) -> Any:
        """Wait for an answer, and show meanwhile what is printed."""
        connection, answers = self._connection.fileno(), False
        while not answers:
            left = _LONGEST_WAIT if deadline is None else min(max(deadline - time.monotonic(), 0.0), _LONGEST_WAIT)
            ready = [descriptor for descriptor, _ in self._poll.poll(1000 * left)]
            answers = connection in ready
            if self._output in ready:
                self._show()
            if not answers and deadline is not None and time.monotonic() >= deadline:
                what = f"{self.name} had not answered when the time was up, {when()}"
                raise self._stop(TimeUpError(what, remedy="make it faster, or give it more time"))
        try:
            is_answer, found = pickle.loads(self._connection.recv_bytes())
        except (OSError, EOFError):
            raise self._stop(self._how_it_ended(when())) from None
        if not is_answer:
            what, where, remedy = found
            raise InputError(what, where=where, remedy=remedy)
        return found

    def _show(self) -> None:
        """Pass on what was printed."""
        data = os.read(self._output, _AT_ONCE)
        if not data:
            self._poll.unregister(self._output)
        text = self._decoder.decode(data, final=not data)
        with suppress(OSError, ValueError):
            if text and not self._has_printed:
                print(f"{self.name} prints:", file=sys.stderr)
                self._has_printed = True
            sys.stderr.write(visible_lines(text))
            sys.stderr.flush()

    def _how_it_ended(self, when: str) -> InputError:
        """The error of a process that has closed its connection."""
        until = time.monotonic() + _LAST_WORDS
        try:
            while (found := os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None:
                if time.monotonic() > until:
                    return InputError(f"{self.name} closed its connection, {when}", remedy="close only your own files")
                time.sleep(0.001)
        except ChildProcessError:  # somebody else was told
            return InputError(f"the process of {self.name} ended, {when}", remedy="let it answer")
        if found.si_code == os.CLD_EXITED:
            what = f"{self.name} ended its process with exit code {found.si_status}, {when}"
            return InputError(what, remedy="let it answer: os._exit ends it")
        what = f"{self.name} was ended by {_signal_name(found.si_status)}, {when}"
        return InputError(what, remedy="look at the native code that it uses, and at the memory")

    def _stop(self, error: InputError) -> InputError:
        self.error = error
        self.end()
        return error

    def end(self) -> None:
        """End it, and all that it has started."""
        if not self.pid:
            return
        for kill in (os.killpg, os.kill):
            with suppress(OSError):
                kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self.pid = 0
        with suppress(OSError):
            while any(descriptor == self._output for descriptor, _ in self._poll.poll(0)):
                self._show()
        with suppress(OSError):
            self._connection.close()
        with suppress(OSError):
            os.close(self._output)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end_all(processes: dict[int, _Process]) -> None:
    """End the process of this one; those of others are theirs."""
    process = processes.pop(os.getpid(), None)
    if process is not None:
        process.end()


def _run(name: str, parent: int, connection: Connection, output: int, begin: Begin) -> NoReturn:
    """The child: answer until nobody asks any more. It leaves nothing of its parent's behind, buffers included."""
    kept = (sys.stdin, sys.stdout, sys.stderr)  # to drop them would flush them
    try:
        os.setsid()
        if parent:  # else the signal would come when a thread of the parent ends
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if parent in (0, os.getppid()):
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            faulthandler.disable()
            _use_output(output)
            if torch := sys.modules.get("torch"):  # threads of OpenMP are not in the child, which would wait for them
                torch.set_num_threads(1)
            _serve(name, connection, begin)
    except EOFError:  # nobody asks any more
        os.killpg(0, signal.SIGKILL)  # with what it has started
    except OSError:  # it has closed the connection
        pass
    finally:
        del kept
        os._exit(0)


def _serve(name: str, connection: Connection, begin: Begin) -> None:
    """Answer questions."""
    try:
        about, handler = begin()
    except BaseException as error:
        _send(connection, False, _parts(name, error))
        return
    _send(connection, True, about)
    while True:
        question = pickle.loads(connection.recv_bytes())
        try:
            found = handler(question)
        except BaseException as error:
            _send(connection, False, _parts(name, error))
        else:
            _send(connection, True, found)


def _use_output(output: int) -> None:
    """Let everything that is printed go to the parent, and nothing be read."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        raw = io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False))
        stream = io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _send(connection: Connection, is_answer: bool, value: Any) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    connection.send_bytes(pickle.dumps((is_answer, value)))


def _parts(name: str, error: BaseException) -> tuple[str, str, str]:
    if isinstance(error, InputError):
        return error.what, error.where, error.remedy
    return f"{name} fails: {type(error).__name__}: {shown(error, 160)}", "", "correct it there"
