"""Code in a process of its own: whatever becomes of it is one line, and nothing of it reaches ours."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from equipoise.core import isolated as isolated_code
from equipoise.core.errors import InputError
from equipoise.core.isolated import Isolated, TimeUpError, can_isolate
from equipoise.core.workers import workers

pytestmark = pytest.mark.skipif(not can_isolate(), reason="processes are not forked here")


def isolated(answer: Callable[[Any], Any], about: Any = None) -> Isolated:
    return Isolated("the bot", lambda: (about, answer))


def ask(code: Isolated, question: Any = None) -> Any:
    return code.ask(question, lambda: "asked about aces")


def said(answer: Callable[[Any], Any]) -> str:
    """The one line for code that does not answer; and again, since it does not come back."""
    code = isolated(answer)
    lines = []
    for _ in range(2):
        with pytest.raises(InputError) as refused:
            ask(code)
        lines.append(str(refused.value))
    assert lines[0] == lines[1]
    assert "\n" not in lines[0]
    return lines[0]


def is_running(process: int) -> bool:
    """Whether there is such a process; one that has ended and is not yet fetched is not."""
    try:
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def is_gone(process: int) -> bool:
    """Whether it ends."""
    until = time.monotonic() + 60
    while time.monotonic() < until and is_running(process):
        time.sleep(0.01)
    return not is_running(process)


def children() -> set[str]:
    gc.collect()  # ends those of earlier tests
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_it_answers_from_another_process_and_remembers() -> None:
    seen: list[int] = []

    def answer(question: int) -> tuple[int, int]:
        seen.append(question)
        return os.getpid(), sum(seen)

    code = isolated(answer, about={"name": "it"})
    assert code.about == {"name": "it"}
    (one, first), (two, second) = ask(code, 3), ask(code, 4)
    assert (first, second) == (3, 7)
    assert one == two != os.getpid()
    assert not seen


class Own(BaseException):
    """None of Python's."""


def raises(error: BaseException) -> Callable[[Any], Any]:
    def answer(question: Any) -> Any:
        del question
        raise error

    return answer


def closes(question: Any) -> None:
    del question
    os.closerange(3, 256)


def hangs_without_connection(question: Any) -> None:
    closes(question)
    time.sleep(1000)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (raises(SystemExit(3)), "the bot fails: SystemExit: '3'"),
        (raises(Own("mine")), "the bot fails: Own: 'mine'"),
        (raises(KeyboardInterrupt()), "the bot fails: KeyboardInterrupt"),
        (raises(InputError("no", where="here", remedy="yes")), "here: no; yes"),
        (lambda _: os._exit(4), "the bot ended its process with exit code 4, asked about aces; "),
        (lambda _: ctypes.string_at(0), "the bot was ended by SIGSEGV, asked about aces; "),
        (lambda _: os.kill(os.getpid(), signal.SIGKILL), "the bot was ended by SIGKILL, asked about aces; "),
        (lambda _: os.kill(os.getpid(), signal.SIGRTMIN + 5), f"the bot was ended by signal {signal.SIGRTMIN + 5}"),
        (closes, "the bot ended its process with exit code 0"),
        (hangs_without_connection, "the bot closed its connection, asked about aces; "),
        (lambda _: len(input()), "the bot fails: EOFError"),
    ],
)
def test_what_does_not_answer_is_one_line(
    answer: Callable[[Any], Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_code, "_LAST_WORDS", 0.0 if answer is hangs_without_connection else 60.0)
    assert said(answer).startswith(line)


def test_an_error_while_it_is_loaded_is_one_line() -> None:
    for begin, line in (
        (raises(Own("mine")), "the bot fails: Own: 'mine'"),
        (lambda _: os._exit(1), "the bot ended its process with exit code 1, while it was loaded"),
    ):
        before = children()
        with pytest.raises(InputError, match=line):
            Isolated("the bot", lambda begin=begin: begin(None))  # type: ignore[misc]
        assert children() == before


def test_a_process_that_cannot_be_started_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", full)
    with pytest.raises(InputError, match=r"no process could be started for the bot \(Resource temporarily"):
        isolated(str)


def test_an_error_is_no_end() -> None:
    code = isolated(lambda question: 1 / question)
    with pytest.raises(InputError, match="ZeroDivisionError"):
        ask(code, 0)
    assert ask(code, 2) == 0.5


def spin(question: Any) -> None:
    del question
    while True:
        pass


@pytest.mark.parametrize("answer", [lambda _: time.sleep(1000), spin])
def test_it_is_ended_when_its_time_is_up(answer: Callable[[Any], Any]) -> None:
    before = children()
    code = isolated(answer)
    assert len(children() - before) == 1
    code.deadline = time.monotonic()
    with pytest.raises(TimeUpError, match="the bot had not answered when the time was up, asked about aces; make it"):
        ask(code)
    assert code.has_ended
    assert children() == before


def test_what_it_started_ends_with_it() -> None:
    def answer(question: bool) -> Any:
        return subprocess.Popen(["sleep", "1000"]).pid if question else spin(question)

    code = isolated(answer)
    child = ask(code, True)
    assert is_running(child)
    code.deadline = time.monotonic()
    with pytest.raises(TimeUpError):
        ask(code, False)
    assert is_gone(child)


def test_it_ends_when_nobody_refers_to_it() -> None:
    before = children()
    code = isolated(str)
    assert children() != before
    del code
    gc.collect()
    assert children() == before


def test_what_it_prints_is_shown_elsewhere(capfd: pytest.CaptureFixture[str]) -> None:
    def answer(question: Any) -> Any:
        print("red \x1b[31m", end=" ")
        os.write(1, b"bytes \xff\n")
        print("error", file=sys.stderr)
        subprocess.run(["echo", "child"], check=True)
        return question

    code = isolated(answer)
    assert [ask(code, number) for number in range(2)] == [0, 1]
    del code
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("the bot prints:\n")
    assert err.count("the bot prints") == 1
    assert "\x1b" not in err
    for text in ("red \\x1b[31m", "bytes \\xff\n", "error\n", "child\n"):
        assert err.count(text) == 2, err


def test_output_without_end_can_be_ended(capfd: pytest.CaptureFixture[str]) -> None:
    def answer(question: Any) -> None:
        while True:
            print("x" * 1000, question)

    code = isolated(answer)
    code.deadline = time.monotonic() + 0.05
    with pytest.raises(TimeUpError):
        ask(code)
    assert capfd.readouterr().out == ""


def test_closed_and_replaced_streams_do_no_harm(capfd: pytest.CaptureFixture[str]) -> None:
    def answer(question: Any) -> Any:
        sys.stdout.close()
        sys.stdout = sys.stderr = None  # type: ignore[assignment]
        os.close(1)
        os.close(2)
        return question

    code = isolated(answer)
    assert ask(code, 1) == 1
    with pytest.raises(InputError, match="AttributeError"):  # there is nothing left to close
        ask(code, 2)
    assert capfd.readouterr().out == ""


def test_each_worker_has_a_process_of_its_own() -> None:
    code = isolated(lambda _: os.getpid())

    def work(_: int) -> int:
        time.sleep(0.01)
        return int(ask(code))

    with workers(work, 2) as start:
        found = {future.result() for future in [start(number) for number in range(20)]}
    assert ask(code) not in found
    assert len(found) <= 2
    assert all(map(is_gone, found))


def test_what_a_worker_s_process_started_ends_with_the_worker() -> None:
    code = isolated(lambda _: subprocess.Popen(["sleep", "1000"]).pid)
    with workers(lambda _: ask(code), 2) as start:
        child = start(0).result()
    assert is_gone(child)


def test_threads_ask_one_after_the_other() -> None:
    code = isolated(lambda question: question)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda number: ask(code, number), range(200))) == list(range(200))


def test_it_ends_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os\n"
        "from equipoise.core.isolated import Isolated\n"
        "def spin(question):\n    while True: pass\n"
        "code = Isolated('it', lambda: (os.getpid(), spin))\n"
        "print(code.about, flush=True)\n"
        "code.ask(None, str)\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        bot = int(parent.stdout.readline())
        parent.kill()
    assert is_gone(bot)


def test_networks_in_both_processes_do_not_wait_for_each_other() -> None:
    """Threads of OpenMP that the parent has used are not in the child."""
    torch = pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        wanted = float(torch.ones(512, 512).exp().double().sum())
        code = isolated(lambda size: float(torch.ones(size, size).exp().double().sum()))
        code.deadline = time.monotonic() + 60  # only if they do
        assert ask(code, 512) == pytest.approx(wanted)
    finally:
        torch.set_num_threads(before)
