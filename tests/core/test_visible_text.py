"""Text that a terminal would obey, and streams that show it."""

from __future__ import annotations

import io

import pytest

from equipoise.core.visible_text import drawing_stream, visible, visible_lines, visible_stream

OBEYED = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *"\u200b\u2028\u202e\u2066\ufeff\ud800\udcff"]


@pytest.mark.parametrize("sign", OBEYED, ids=ascii)
def test_a_sign_that_is_obeyed_is_shown(sign: str) -> None:
    assert visible(f"a{sign}b").isprintable() and visible(f"a{sign}b").startswith("a\\")
    assert visible_lines(sign) == (sign if sign in "\n\t" else visible(sign))


def test_everything_else_stays() -> None:
    text = "[red]Q♠ ± 3 日本 é \\x1b"
    assert visible(text) == text and visible(visible("\x1b")) == "\\x1b"


def test_a_stream_shows_and_a_drawing_is_obeyed() -> None:
    under = io.StringIO()
    stream = visible_stream(under)
    print("a\x1b[2Jb\n\tc", file=stream)
    stream.writelines(["\r", "d"])
    assert under.getvalue() == "a\\x1b[2Jb\n\tc\n\\rd"
    assert visible_stream(stream) is stream
    drawing_stream(stream).write("\x1b[31m")
    assert under.getvalue().endswith("\x1b[31m") and drawing_stream(under) is under
