"""The commands of the command line as data, what their help texts say, and commands run in this process."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from equipoise.cli import main
from equipoise.cli.commands.registry import app
from equipoise.cli.render.compiling import notice
from equipoise.core.errors import InputError

Path = tuple[str, ...]


def all_commands() -> dict[Path, Any]:
    """Every command that does something, by its words: ("train",), ("strategy", "show"), ..."""
    return dict(_leaves(get_command(app), ()))


def _leaves(command: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, each in inner.items():
        yield from _leaves(each, (*path, name))


def options(command: Any) -> set[str]:
    """The options of a command, as they are typed."""
    spelled = {word for each in command.params for word in (*each.opts, *each.secondary_opts) if word.startswith("--")}
    return spelled | {"--help"}


def examples(command: Any) -> list[str]:
    """The shell lines at the end of a help text."""
    lines = re.split(r"\n|; ", re.sub(r"^[\s\x08]*Examples?:", "", command.epilog or ""))
    return [line.strip() for line in lines if line.strip()]


def invoke(*arguments: str) -> Any:
    """What a command prints, and how it ends (`exit_code`, `exception`)."""
    return CliRunner().invoke(app, arguments)


def refusal(*arguments: str) -> str:
    """The one line with which a command refuses bad input; `cli.main` prints it and exits with code 2."""
    done = invoke(*arguments)
    assert isinstance(done.exception, InputError), done.output
    line = str(done.exception)
    assert done.stdout == "" and "\n" not in line and done.exception.remedy
    return line


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`equipoise ARGUMENTS` by its own `main` in this process, which saves the second that a child takes to start."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with (
        pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err, pytest.raises(SystemExit) as done,
    ):  # fmt: skip
        patch.setattr(sys, "argv", ["equipoise", *arguments])
        patch.setattr(sys, "stdin", io.StringIO())
        patch.setattr(notice, "follow", lambda _: None)  # it would go on after this command
        main()
    for number, handler in handlers.items():
        signal.signal(number, handler)
    assert isinstance(done.value.code, int)
    return subprocess.CompletedProcess(arguments, done.value.code, out.getvalue(), err.getvalue())
