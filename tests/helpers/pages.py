"""Somebody who follows a page: saves its files, types its commands, runs its Python; and compares what comes.

In a `console` block, `$ ...` is a command and `> ...` is typed at its prompt; the rest is what it prints. There, a line
`...` stands for any lines, and `...` within a line for any text. A block is a file if the line before it says "Save
this as `NAME`", or if its first line is `# NAME.toml`. Of a number that a clock decides, only the unit is compared.

All else is the same with any number of cores, and with kernels and NumPy for AVX2 as for AVX-512. Networks are the
exception: PyTorch's library for matrices rounds by the processor, and twenty iterations make much of that. On a page
that trains them, `BY_NETWORKS` are not compared either.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from equipoise.cli.commands.registry import app
from waiting import GUARD

QUICK, LONG = ("console", "python"), ("console", "python", "sh")  # `sh` blocks take minutes
SAVED = re.compile(r"Save this as `([^`]+)`")
BLOCK = re.compile(r"(?P<before>[^\n]*)\n*^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = re.compile(r"\b18\d{3}\b")
BY_THE_CLOCK = re.compile(r"\d[\d,.]*(?= (?:s|CPU s|hands/s|nodes/s)\b)")
BY_NETWORKS = re.compile(r"[+-]?\d[\d,.]*(?= (?:nodes|mbb/g|mbb/hand|±))|(?<=± )\d[\d.]*")


class Block(NamedTuple):
    """A block of a page; `saved` is the name of the file that it is."""

    kind: str
    text: str
    saved: str


def blocks(page: str) -> Iterator[Block]:
    for found in BLOCK.finditer(page):
        saved = SAVED.search(found["before"]) or (
            found["kind"] == "toml" and re.match(r"# (\w+\.toml)\b", found["text"])
        )
        yield Block(found["kind"], found["text"], saved[1] if saved else "")


class Typed(NamedTuple):
    """A command, what is typed at its prompts, and the output that the page shows."""

    line: str
    answers: str
    shown: str


def typed(block: Block) -> Iterator[Typed]:
    """The commands of a block."""
    if block.kind == "sh":
        yield from (Typed(re.split(r"\s+# ", line)[0], "", "") for line in block.text.splitlines())
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        answers = "".join(f"{answer}\n" for answer in re.findall(r"^> (.*)$", shown, re.MULTILINE))
        yield Typed(re.split(r"\s+# ", line)[0], answers, re.sub(r"^> .*\n?", "", shown, flags=re.MULTILINE))


def lines(text: str, *vary: re.Pattern[str]) -> list[str]:
    """The lines that are not empty, without prompts and what varies; how wide the gaps are does not matter."""
    for pattern in (BY_THE_CLOCK, *vary):
        text = pattern.sub("#", text)
    cleaned = (re.sub(r"^(> )+", "", line).rstrip("> ") for line in text.splitlines())
    return [" ".join(line.split()) for line in cleaned if line.strip()]


def same_line(shown: str, printed: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, shown.split("..."))), printed) is not None


def missing_line(shown: list[str], printed: list[str]) -> str | None:
    """The first line that a page shows and a command did not print there; None if all of them came, in order."""
    at, anywhere = 0, False
    for line in shown:
        if line == "...":
            anywhere = True
            continue
        ends = range(at, len(printed) if anywhere else min(at + 1, len(printed)))
        found = next((k for k in ends if same_line(line, printed[k])), None)
        if found is None:
            return line
        at, anywhere = found + 1, False
    return None if anywhere or at == len(printed) else f"(the page stops before {printed[at]!r})"


class Reader:
    """Somebody who follows a page in a folder, in one process: a command costs no start."""

    def __init__(self, folder: Path, *vary: re.Pattern[str]) -> None:
        self.folder = folder
        self.vary = vary  # numbers that are not compared
        self.jobs: list[subprocess.Popen[str]] = []
        self.names: dict[str, Any] = {"__name__": "tutorial"}

    def follow(self, block: Block) -> None:
        if block.saved:
            (self.folder / block.saved).write_text(block.text)
        elif block.kind == "python":
            self.compare(block.text, *self.python(block.text))
        else:
            for command in typed(block):
                self.compare(command.line, self.command(command), command.shown)

    def python(self, text: str) -> tuple[str, str]:
        """What a program prints, and what its comments after `print` say."""
        output = StringIO()
        with redirect_stdout(output):
            exec(compile(text, "tutorial", "exec"), self.names)
        return output.getvalue(), "\n".join(re.findall(r"^ *print\(.*\)  # (.*)$", text, re.MULTILINE))

    def command(self, command: Typed) -> str:
        """What a command prints. One with `&` runs beside the others; a `sleep` ends when that one has begun."""
        line = command.line
        words = shlex.split(line.removesuffix("&"))
        if line.endswith("&"):
            child = [sys.executable, "-m", *words]
            self.jobs.append(subprocess.Popen(child, stdout=subprocess.PIPE, text=True))
        elif words[0] == "sleep":
            assert self.jobs[-1].stdout
            return self.jobs[-1].stdout.readline()
        elif words[0] == "wait":
            assert [job.wait(timeout=GUARD) for job in self.jobs] == [0] * len(self.jobs)
        elif words[0] != "equipoise":
            return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
        else:
            done = CliRunner().invoke(app, words[1:], input=command.answers, env={"COLUMNS": "80"})
            assert done.exit_code == 0, (line, done.stderr, done.exception)
            return done.stdout
        return ""

    def compare(self, line: str, output: str, shown: str) -> None:
        """Does it print what the page shows?"""
        if shown.strip():
            missing = missing_line(lines(shown, *self.vary), lines(output, *self.vary))
            assert missing is None, f"{line}\nnot printed: {missing}\n{output}"

    def leave(self) -> None:
        for job in self.jobs:
            job.terminate()
            job.communicate(timeout=GUARD)


@contextmanager
def reader(folder: Path, *vary: re.Pattern[str]) -> Iterator[Reader]:
    found, here = Reader(folder, *vary), Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))  # as in a Python that is started there
    try:
        yield found
    finally:
        found.leave()
        sys.path.remove(str(folder))
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
        os.chdir(here)


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def with_free_ports(page: str) -> str:
    """The page with ports that nobody else uses now."""
    ports = {port: free_port() for port in sorted(set(PORT.findall(page)))}
    return PORT.sub(lambda found: ports[found[0]], page)


def follow(
    page: str, folder: Path, *vary: re.Pattern[str], kinds: tuple[str, ...] = QUICK, without: str = "nothing at all"
) -> int:
    """Follow a page from top to bottom, `without` the blocks that have some words; how many commands it shows."""
    commands = 0
    with reader(folder, *vary) as person:
        for block in blocks(with_free_ports(page)):
            doctest = block.text.startswith(">>>")  # which pytest runs itself
            if block.saved or (block.kind in kinds and not doctest and without not in block.text):
                person.follow(block)
            commands += block.kind == "console" and len(list(typed(block)))
    return commands
