"""Recipes as text: overrides such as `solver.seed=7`, and tables as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.core.errors import InputError, shown
from equipoise.core.files.text import read_toml

_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.+/-]*")  # a text that needs no quotes


def apply_overrides(table: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of a table with some keys set; a value is TOML, or a bare word."""
    result: dict[str, Any] = _copy(table)
    for text in overrides:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not _KEY.fullmatch(key):
            raise InputError(f"override {shown(text)}", remedy="write e.g. --set solver.seed=7")
        *path, last = key.split(".")
        inner = result
        for i, part in enumerate(path):
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise InputError(
                    f"override {shown(text)}: {'.'.join(path[: i + 1])} is not a table", remedy="set it as a whole"
                )
        inner[last] = _value(value, text)
    return result


def _value(value: str, text: str) -> Any:
    if _WORD.fullmatch(value) and value not in ("true", "false", "inf", "nan"):
        return value
    where, remedy = f"override {shown(text)}", "write e.g. --set stop.minutes=10"
    document = read_toml(f"value = {value}", where, remedy)
    if set(document) != {"value"}:
        raise InputError("not a TOML value", where=where, remedy=remedy)
    return document["value"]


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(inner) for key, inner in value.items()}
    return value


def write_toml(table: Mapping[str, Any]) -> str:
    """A table as TOML: values first, then a section for each inner table, whose own tables are inline."""
    lines = [f"{_key(key)} = {_inline(value)}" for key, value in table.items() if not isinstance(value, Mapping)]
    for key, inner in table.items():
        if isinstance(inner, Mapping):
            lines += ["", f"[{_key(key)}]", *(f"{_key(name)} = {_inline(value)}" for name, value in inner.items())]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if _KEY.fullmatch(key) and "." not in key else json.dumps(key)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_inline(inner) for inner in value) + "]"
    if isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
