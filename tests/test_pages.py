"""The pages that a new user reads first: every command runs and prints what the page shows, digit for digit."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from pages import BY_NETWORKS, LONG, blocks, follow, lines, missing_line, same_line, typed

ROOT = Path(__file__).parents[1]
TUTORIALS = ("docs/student.md", "docs/builder.md", "docs/researcher.md")
PAGES = ("README.md", *TUTORIALS, "docs/own-agent.md")
SPOTS = ROOT / "docs" / "spots.md"
FILES = ("--out", "--log", "--csv", "--png")  # options that name a file or a folder for results


@pytest.mark.parametrize("page", PAGES)
def test_pages_print_what_they_show(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text()
    assert follow(text, tmp_path) > 1


def test_the_page_about_networks_prints_what_it_shows(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="networks need PyTorch: pip install 'equipoise[deep]'")
    assert follow((ROOT / "docs" / "deep.md").read_text(), tmp_path, BY_NETWORKS)


@pytest.mark.parametrize("page", PAGES[:2])
def test_a_page_can_be_followed_again(page: str, tmp_path: Path) -> None:
    """In the folder where it was followed before it prints the same: no command refuses."""
    text = (ROOT / page).read_text()
    follow(text, tmp_path)
    follow(text, tmp_path)


def test_the_page_about_spots_prints_what_it_shows(tmp_path: Path) -> None:
    assert follow(SPOTS.read_text(), tmp_path, without="flop") > 5


@pytest.mark.slow
def test_the_page_about_spots_prints_what_it_shows_of_flops(tmp_path: Path) -> None:
    follow(SPOTS.read_text(), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, -1])
def test_all_pages_can_be_followed_in_one_folder(order: int, tmp_path: Path) -> None:
    for page in (*PAGES[::order], *PAGES):
        follow((ROOT / page).read_text(), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_runs_with_its_long_parts(page: str, tmp_path: Path) -> None:
    follow((ROOT / page).read_text(), tmp_path, kinds=LONG)


def results(page: str) -> Iterator[tuple[str, str]]:
    """The files and folders that the commands of a page write, each with its command."""
    for block in blocks((ROOT / page).read_text()):
        for command in typed(block) if block.kind in LONG else ():
            words = shlex.split(command.line.removesuffix("&"), comments=True)
            if words[:3] == ["equipoise", "spot", "solve"] and not {"--out", "--dry-run"} & set(words):
                yield f"{Path(words[3]).stem}.solution", command.line
            for option, name in pairwise(words):
                if option in FILES and words[1] != "reproduce":  # whose files have the experiment's name
                    yield name, command.line


def test_a_file_has_one_meaning_on_all_pages() -> None:
    """So pages can be followed in any order: whoever finds a result there already finds the one that was meant."""
    makers: dict[str, set[str]] = defaultdict(set)
    for page in (*PAGES, "docs/spots.md"):
        for name, line in results(page):
            makers[name].add(line)
    assert len(makers) > 10
    assert {name: found for name, found in makers.items() if len(found) > 1} == {}


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


PRINTED = ["check  44.90%  xxx11", "bet    55.10%  11111", "in 3.2 s, 1,204 hands/s", "saved as spot.solution"]


@pytest.mark.parametrize(
    "shown",
    [
        ["check 44.90% xxx11", "...", "saved as spot.solution"],
        ["check 44.90% ...", "bet 55.10% 11111", "..."],
        ["...", "in 2.9 s, 998 hands/s", "..."],  # a clock decides
    ],
)
def test_a_page_may_leave_out_lines_and_ends(shown: list[str]) -> None:
    assert missing_line(lines("\n".join(shown)), lines("\n".join(PRINTED))) is None


@pytest.mark.parametrize(
    "shown",
    [
        ["call 44.90% xxx11", "..."],
        ["check 44.91% xxx11", "..."],
        ["check 44.9% xxx11", "..."],
        ["check 44.90% xxxx1", "..."],
        [*PRINTED, "done"],
        [*PRINTED[:2], PRINTED[3]],
        PRINTED[:2],
        ["...", "bet 55.10% 11111", "...", "check 44.90% xxx11", "..."],
        ["...", "in 3.2 ms, 1,204 hands/s", "..."],
    ],
)
def test_the_comparison_notices_every_digit_word_and_line(shown: list[str]) -> None:
    assert missing_line(lines("\n".join(shown)), lines("\n".join(PRINTED))) is not None


def test_numbers_of_networks_keep_their_words() -> None:
    shown, printed, other = "exploitability 13.26 mbb/g", "exploitability 9.1 mbb/g", "exploitability of 9.1 mbb/g"
    assert lines(shown, BY_NETWORKS) == lines(printed, BY_NETWORKS) != lines(other, BY_NETWORKS)
    assert lines(shown) != lines(printed)
    assert lines("wins +1,165.0 ± 21.3 mbb/hand (95%)", BY_NETWORKS) == ["wins # ± # mbb/hand (95%)"]


def test_a_shortened_line_is_no_pattern() -> None:
    assert same_line("a.c ... e", "a.c d e")
    assert not same_line("a.c ... e", "abc d e")


@pytest.mark.parametrize(
    "wrong",
    [
        "```console\n$ equipoise games no-such-game\n```\n",
        "```console\n$ equipoise measure always-fold --game leduc\nexploitability 999.00 mbb/g\n...\n```\n",
        "```console\n$ equipoise measure always-fold --game leduc\nexploitability 1000.01 mbb/g\n...\n```\n",
        "```console\n$ test -e nothing\n```\n",
        "```python\nprint(1 + 1)  # 3\n```\n",
        "```python\nimport equipoise.nothing\n```\n",
    ],
)
def test_a_wrong_page_is_noticed(wrong: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, ImportError, subprocess.CalledProcessError)):
        follow(wrong, tmp_path)
