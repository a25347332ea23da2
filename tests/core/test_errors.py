"""The one line of an error: what it keeps, what it cuts, and that a terminal obeys nothing in it."""

from __future__ import annotations

import pytest

from equipoise.core.errors import MOST_MESSAGE, InputError, check_count, check_minutes, shown


@pytest.mark.parametrize("lengths", [(5000, 0, 0), (0, 5000, 0), (10, 10, 5000), (5000, 5000, 5000), (990, 10, 300)])
def test_a_message_is_cut_as_a_whole_and_keeps_the_beginning_of_each_part(lengths: tuple[int, int, int]) -> None:
    what, where, remedy = ("what a" + "a" * lengths[0], "b" * lengths[1] + " end", "use it" + "c" * lengths[2])
    error = InputError(what, where=where, remedy=remedy)
    assert len(str(error)) <= MOST_MESSAGE
    assert all(part in str(error) for part in ("what a", " end: ", "; use "))
    assert str(error.at("file.toml")).startswith("file.toml: what")


def test_a_short_message_keeps_every_letter() -> None:
    error = InputError("metric 'foo' is not known", where="a.toml:3", remedy="use l2 " + 600 * "r")
    assert str(error) == "a.toml:3: metric 'foo' is not known; use l2 " + 600 * "r"


@pytest.mark.parametrize("sign", ["\x1b[31m", "\x9b5A", "\x07", "\u202e", "\udcff", "\x7f", "\0", "\b"])
def test_what_a_terminal_would_obey_is_shown(sign: str) -> None:
    for text in (str(InputError(f"a{sign}b")), str(InputError("a", where=f"a{sign}b")), shown(f"a{sign}b")):
        assert text.isprintable() and text.isascii() and "\\" in text
    assert str(InputError("bets", where="two\nlines")) == "two\\nlines: bets"


def test_counts_and_minutes_are_refused_in_sentences() -> None:
    with pytest.raises(InputError, match=r"^the number of boards is 1; use 2 to 9$"):
        check_count(1, "boards", 2, 9)
    with pytest.raises(InputError, match=r"^minutes must be positive, got -1; "):
        check_minutes(-1)
