"""The messages that docs/commands.md shows, provoked on purpose."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.helpers.commands import refusal

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
SECTION = PAGE.read_text().split("## When something is wrong\n")[1].split("\n## ")[0]
SHOWN = re.findall(r"^\| `equipoise ([^`]+)` \| (.*) \|$", SECTION, re.MULTILINE)


def test_the_page_shows_ten_messages() -> None:
    assert len(SHOWN) >= 10


@pytest.mark.parametrize(("command", "message"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_message_is_as_shown(command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(*shlex.split(command)) == message
    assert not list(tmp_path.iterdir())
