"""Standard JSON for everything that we print or write: numbers that are not finite become null.

Python's own writer prints `Infinity` and `NaN`, which other readers of JSON refuse.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, SupportsFloat


def json_text(value: Any, *, indent: int | None = None) -> str:
    """The text of a value.

    >>> json_text({"mbb_per_hand": 1.5, "ci95": float("inf")})
    '{"mbb_per_hand": 1.5, "ci95": null}'
    """
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def finite_or_none(value: SupportsFloat) -> float | None:
    """A number as a float, or None where it is not finite."""
    number = float(value)
    return number if math.isfinite(number) else None


def _finite(value: Any) -> Any:
    """The same value with None in place of infinities and NaN."""
    if isinstance(value, float):
        return finite_or_none(value)
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
