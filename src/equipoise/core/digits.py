"""Whole numbers in texts from outside: names of files, addresses, fields of protocols."""

from __future__ import annotations


def whole_number(text: str, most_digits: int = 18) -> int | None:
    """The number that a text of ASCII digits writes, or None.

    `str.isdigit` takes more, such as the exponent in `2²`, which `int` then refuses, and `int` takes other alphabets.

    >>> whole_number("007"), whole_number("²"), whole_number("-1"), whole_number("")
    (7, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most_digits else None
