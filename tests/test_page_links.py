"""What pages refer to is there: files of the package, other pages, and their sections."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
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
