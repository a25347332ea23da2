"""The pages that a new user reads first: every command runs, in order, and prints what the page shows.

In a `console` block, `$ equipoise ...` is a command and `> ...` is typed at its prompt; the rest is what it prints.
A line `...` stands for any lines. A `toml` block whose first line is `# NAME.toml` is the file of that name.
Numbers with one or two decimals may differ a little: a solve with several threads ends a little differently each time.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli.commands.registry import app

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/student.md")
NUMBER = re.compile(r"([+-]?[\d,]+\.\d{1,2})(%?)")
BAR = re.compile(r"[fxcA1-9]{5}")  # a cell of the grid


def alike(shown: str, printed: str) -> bool:
    """Are two words the same, or two numbers of a solve, or two mixed strategies, that differ by rounding?"""
    first, second = NUMBER.fullmatch(shown), NUMBER.fullmatch(printed)
    if first and second and first[2] == second[2]:
        a, b = (float(number[1].replace(",", "")) for number in (first, second))
        return abs(a - b) <= 1 + 0.01 * abs(a)
    if BAR.fullmatch(shown) and BAR.fullmatch(printed):
        return sum(a != b for a, b in zip(shown, printed, strict=True)) <= 1
    return shown == printed


def same_line(shown: str, printed: str) -> bool:
    one, other = shown.split(), printed.split()
    return len(one) == len(other) and all(map(alike, one, other))


def missing_line(shown: list[str], printed: list[str]) -> str | None:
    """The first line that a page shows and a command did not print there; None if all of them came, in order."""
    at, anywhere = 0, False
    for line in shown:
        if line.strip() == "...":
            anywhere = True
            continue
        ends = range(at, len(printed) if anywhere else min(at + 1, len(printed)))
        found = next((k for k in ends if same_line(line, printed[k])), None)
        if found is None:
            return line
        at, anywhere = found + 1, False
    return None if anywhere or at == len(printed) else f"(the page stops before {printed[at]!r})"


def filled(text: str) -> list[str]:
    """The lines that are not empty, without prompts."""
    lines = (line.removeprefix("> ").rstrip("> ") for line in text.splitlines())
    return [line for line in lines if line.strip()]


def run_block(block: str, page: str) -> int:
    """Runs the commands of a block and compares what they print; the number of commands."""
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    for command in commands:
        line, _, shown = command.partition("\n")
        program, *words = shlex.split(line, comments=True)
        assert program == "equipoise", (page, line)
        typed = re.findall(r"^> (.*)$", shown, re.MULTILINE)
        done = CliRunner().invoke(app, words, input="\n".join(typed) + "\n")
        assert done.exit_code == 0, (page, line, done.output, done.exception)
        expected = filled(re.sub(r"^> .*$", "", shown, flags=re.MULTILINE))
        if expected:
            missing = missing_line(expected, filled(re.sub(r"^> ", "", done.stdout, flags=re.MULTILINE)))
            assert missing is None, (page, line, missing, done.stdout)
    return len(commands)


@pytest.mark.parametrize("page", PAGES)
def test_pages_print_what_they_show(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE):
        if kind == "toml":
            name = re.match(r"# (\w+\.toml)\b", block)
            assert name, (page, block)
            Path(name[1]).write_text(block)
        if kind == "console":
            ran += run_block(block, page)
    assert ran


def test_pictures_are_there_and_small() -> None:
    """Every picture of a page is a file that a slow connection can load, and every file is shown somewhere."""
    shown = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text()):
            shown.add(picture := (page.parent / name).resolve())
            assert 0 < picture.stat().st_size < 150_000, (page.name, name)
    assert shown == set((ROOT / "docs" / "pictures").resolve().iterdir())


def test_every_make_target_that_a_page_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    readme = (ROOT / "README.md").read_text()
    named = re.compile(r"(?:`|^)make ([a-z-]+)", re.MULTILINE)
    first_screen = set(named.findall(readme.partition("## In Python")[0]))
    assert {"play", "test"} <= first_screen
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        assert set(named.findall(page.read_text())) <= targets, page.name


@pytest.mark.parametrize("change", ["another word", "one more line", "another number", "another order"])
def test_the_comparison_notices(change: str) -> None:
    """A page that does not show what a command prints is found out."""
    printed = ["check 44.90% xxx11", "bet 55.10% 11111", "saved as spot.solution"]
    assert missing_line(["check 45.20% xxxx1", "...", "saved as spot.solution"], printed) is None
    wrong = {
        "another word": ["call 44.90% xxx11", "..."],
        "one more line": [*printed, "done"],
        "another number": ["check 54.90% xxx11", "..."],
        "another order": ["bet 55.10% 11111", "...", "check 44.90% xxx11", "..."],
    }
    assert missing_line(wrong[change], printed) is not None
