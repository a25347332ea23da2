"""Text that users give: files of bounded size, and TOML of bounded shape.

Python's TOML parser takes quadratic time for long dotted keys, recurses into nested values, and reads hexadecimal
integers of any length, which Python then refuses to print. Recipes, menus, spots and hand histories are small and
flat: anything else is refused here, for all of them.

A text can name any file of the machine (`game = "../../etc/passwd"`). So a message quotes a file only after the file
has shown that it is of the kind that was asked for: else it is `not_a` gamedef, menu or whatever, and no more.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.core.errors import InputError, shown

MOST_TEXT = 1 << 20  # bytes of a file, characters of a text
MOST_PARTS = 32  # of a dotted key
MOST_NESTING = 32
MOST_KEYS = 6  # listed in a message
MOST_INTEGER = 2**63 - 1  # TOML's own
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_QUOTED = re.compile(r"""(?:\(|(?<=table key ))['"].*['"],?\)?(?= twice| \(at )""", re.DOTALL)  # a key in an error
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS}}}")


def is_file(path: str | Path) -> bool:
    """Is there a file of this name? A name that no file can have (too long, with a null byte) names none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: str | Path) -> bool:
    """The same of a folder."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def read_text(path: str | Path, most: int = MOST_TEXT) -> str:
    """The text of a file, which must be UTF-8; OSError where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)  # bounded also for a file without an end
    except ValueError:  # a name with a null byte
        raise InputError(f"no file {shown(path)}", remedy="give a file's name") from None
    if len(content) > most:
        raise InputError(f"more than {most:,} bytes", where=str(path), remedy="is this the right file?")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError("not a text file", where=str(path), remedy="write it as UTF-8") from None


def not_a(what: str, where: str, why: str, remedy: str) -> InputError:
    """The error for a file of another kind, of which nothing is shown."""
    return InputError(f"this is not a {what}: {why}", where=where, remedy=remedy)


def read_toml(
    text: str, where: str = "", remedy: str = "", *, what: str = "", keys: Sequence[str] = ()
) -> dict[str, Any]:
    """The table of a TOML text; `remedy` says where its format is described.

    `what` is its kind in messages. A table with none of the `keys` of its kind is refused.
    """
    if len(text) > MOST_TEXT:
        raise InputError(f"a TOML text of {len(text):,} characters", where=where, remedy=f"use at most {MOST_TEXT:,}")
    if _LONG_KEY.search(text):
        raise InputError(f"a TOML key of more than {MOST_PARTS} parts", where=where, remedy=remedy)
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(where, remedy) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {_QUOTED.sub('a name', str(error))}", where=where, remedy=remedy) from None
    except ValueError:  # Python does not read decimal integers of thousands of digits
        raise _too_large("an integer of thousands of digits", where) from None
    if keys and not any(key in table for key in keys):
        named = ", ".join([*keys[:MOST_KEYS], *(["..."] if len(keys) > MOST_KEYS else [])])
        raise not_a(what, where, f"it has none of the keys {named}", remedy)
    _check_values(table, where, remedy)
    return table


def load_toml(path: str | Path, what: str, remedy: str, keys: Sequence[str]) -> dict[str, Any]:
    """The table of a TOML file; `what` is its kind in messages, and `keys` are those of its kind, at least one."""
    try:
        text = read_text(path)
    except OSError as error:
        raise InputError(f"no {what} ({error.strerror})", where=str(path), remedy=remedy) from None
    return read_toml(text, str(path), remedy, what=what, keys=keys)


def _check_values(table: dict[str, Any], where: str, remedy: str) -> None:
    """Refuse deep nesting and integers beyond 64 bits."""
    level: list[Any] = [table]
    for _ in range(MOST_NESTING):
        for value in level:
            if isinstance(value, int) and abs(value) > MOST_INTEGER:
                raise _too_large(f"an integer that is too large: {shown(value)}", where)
        containers = [value for value in level if isinstance(value, (dict, list))]
        level = [inner for value in containers for inner in (value.values() if isinstance(value, dict) else value)]
        if not level:
            return
    raise _too_deep(where, remedy)


def _too_large(what: str, where: str) -> InputError:
    return InputError(what, where=where, remedy=f"use at most {MOST_INTEGER:,}")


def _too_deep(where: str, remedy: str) -> InputError:
    return InputError(f"TOML values nested more than {MOST_NESTING} deep", where=where, remedy=remedy)
