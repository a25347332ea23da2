"""The tutorials from top to bottom: files as saved, commands as typed, Python as written, and what they print."""

from __future__ import annotations

import doctest
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

import pytest
from typer.testing import CliRunner

from equipoise.cli.commands.registry import app

DOCS = Path(__file__).parents[2] / "docs"
QUICK, LONG = ("console", "python"), ("console", "python", "sh")  # `sh` blocks take minutes
SAVED = re.compile(r"Save this as `([^`]+)`")
BLOCK = re.compile(r"(?P<before>[^\n]*)\n*^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = re.compile(r"\b18\d{3}\b")
NUMBER = re.compile(r"\d+(,\d{3})*(\.(?!\.)\d+)?")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block of a page; `saved` is the file that the line before it names."""

    kind: str
    text: str
    saved: str


def blocks(page: str) -> Iterator[Block]:
    for found in BLOCK.finditer(page):
        saved = SAVED.search(found["before"])
        yield Block(found["kind"], found["text"], saved[1] if saved else "")


def typed(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with the output that the page shows."""
    if block.kind == "sh":
        yield from ((line, "") for line in block.text.splitlines())
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line.split("  # ")[0], shown


class Reader:
    """Somebody who follows a page in an empty folder, in one process: a command costs no start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: list[subprocess.Popen[str]] = []
        self.names: dict[str, Any] = {"__name__": "tutorial"}

    def follow(self, block: Block) -> None:
        if block.saved:
            (self.folder / block.saved).write_text(block.text)
        elif block.kind == "python":
            self.compare(block.text, *self.python(block.text))
        else:
            for line, shown in typed(block):
                self.compare(line, self.command(line), shown)

    def python(self, text: str) -> tuple[str, str]:
        """What a program prints, and what its comments after `print` say."""
        output = StringIO()
        with redirect_stdout(output):
            exec(compile(text, "tutorial", "exec"), self.names)
        return output.getvalue(), "\n".join(re.findall(r"^ *print\(.*\)  # (.*)$", text, re.MULTILINE))

    def command(self, line: str) -> str:
        """What a command prints. One with `&` runs beside the others; a `sleep` ends when that one has begun."""
        words = shlex.split(line.removesuffix("&"))
        if line.endswith("&"):
            command = [sys.executable, "-m", *words]
            self.jobs.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        elif words[0] == "sleep":
            assert self.jobs[-1].stdout
            return self.jobs[-1].stdout.readline()
        elif words[0] == "wait":
            assert [job.wait(timeout=60) for job in self.jobs] == [0] * len(self.jobs)
        elif words[0] != "equipoise":
            return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
        else:
            done = CliRunner().invoke(app, words[1:], env={"COLUMNS": "80"})
            assert done.exit_code == 0, (line, done.stderr, done.exception)
            return done.stdout
        return ""

    def compare(self, line: str, output: str, shown: str) -> None:
        """Does it print what the page shows? Another processor trains other numbers: of runs, only words count."""
        if "runs/" in line:
            shown, output = NUMBER.sub("#", shown), NUMBER.sub("#", output)
        if shown:
            assert doctest.OutputChecker().check_output(shown, output, FLAGS), f"{line}\n{output}"

    def leave(self) -> None:
        for job in self.jobs:
            job.terminate()
            job.communicate(timeout=60)


@contextmanager
def reader(folder: Path) -> Iterator[Reader]:
    found, here = Reader(folder), Path.cwd()
    os.chdir(folder)
    try:
        yield found
    finally:
        found.leave()
        os.chdir(here)


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def with_free_ports(page: str) -> str:
    """The page with ports that nobody else uses now."""
    ports = {port: free_port() for port in sorted(set(PORT.findall(page)))}
    return PORT.sub(lambda found: ports[found[0]], page)


def follow(page: str, folder: Path, kinds: tuple[str, ...]) -> None:
    with reader(folder) as person:
        for block in blocks(with_free_ports(page)):
            if block.saved or block.kind in kinds:
                person.follow(block)


@pytest.mark.parametrize("name", ["builder", "researcher"])
def test_a_tutorial_runs_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    page = (DOCS / f"{name}.md").read_text()
    assert sum(len(list(typed(block))) for block in blocks(page) if block.kind == "console") > 10
    follow(page, tmp_path, QUICK)


def test_the_page_about_networks_runs(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="networks need PyTorch: pip install 'equipoise[deep]'")
    follow((DOCS / "deep.md").read_text(), tmp_path, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["builder", "researcher"])
def test_a_tutorial_runs_with_its_long_parts(name: str, tmp_path: Path) -> None:
    page = (DOCS / f"{name}.md").read_text()
    assert any(block.kind == "sh" for block in blocks(page))
    follow(page, tmp_path, LONG)


@pytest.mark.parametrize(
    "wrong",
    [
        "```console\n$ equipoise games no-such-game\n```\n",
        "```console\n$ equipoise measure always-fold --game leduc\nexploitability 999.00 mbb/g\n...\n```\n",
        "```console\n$ test -e nothing\n```\n",
        "```python\nprint(1 + 1)  # 3\n```\n",
        "```python\nimport equipoise.nothing\n```\n",
    ],
)
def test_a_wrong_page_is_noticed(wrong: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, ImportError, subprocess.CalledProcessError)):
        follow(wrong, tmp_path, QUICK)


PAGES = sorted(DOCS.glob("*.md"))
NAMED = re.compile(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9-]+\.(?:py|toml|game))?)`")
LINK = re.compile(r"\]\(([a-z-]+\.md)?(?:#([^)]+))?\)")


def anchors(page: Path) -> set[str]:
    """The headings of a page as they are written in links."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_files_and_sections_that_exist(page: Path) -> None:
    text = page.read_text()
    package = DOCS.parent / "src" / "equipoise"
    rooms = {each.name for each in package.iterdir() if each.is_dir()} | {"tests"}
    for name in NAMED.findall(text):
        if name.split("/")[0] in rooms:
            assert (package / name).exists() or (DOCS.parent / name).exists(), name
    for file, anchor in LINK.findall(text):
        target = DOCS / file if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), (file, anchor)
