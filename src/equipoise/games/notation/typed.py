"""Actions as players type them, alone or in a line: `check` or `x`, `bet 41` or `b41`, `raise to 300` or `r300`.

The one reader of words for lines of betting (`tree/lines.py`) and for a person at a table (`play/typed_action.py`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SHORT = {"f": "fold", "k": "check", "x": "check", "b": "bet", "r": "raise", "a": "all-in"}
_VERB = r"(?P<verb>fold|check|call|bet|raise|all[ -]?in|shove|jam|[fkxcbra](?![a-z]))\s*(?:to\s+)?"
_ACTION = re.compile(_VERB + r"(?P<size>.*)")
_ALL_IN = ("all-in", "all in", "allin", "shove", "jam")
_STEP = re.compile(_VERB + r"(?:\d+)?(?=[\s,]|$)|[^\s,]+", re.ASCII)
CALL_OR_CHECK = "c"


class TypedAction(NamedTuple):
    """A verb (fold, check, call, bet, raise, all-in, or `c` for call or check) and what follows: a size, or nothing."""

    verb: str
    size: str


def read_typed(text: str) -> TypedAction | None:
    """One action; None if it does not begin with a verb. Case does not matter.

    >>> read_typed("B41"), read_typed("raise to 300"), read_typed("shove")
    (TypedAction(verb='bet', size='41'), TypedAction(verb='raise', size='300'), TypedAction(verb='all-in', size=''))
    """
    found = _ACTION.fullmatch(" ".join(text.lower().split()))
    if not found:
        return None
    verb = "all-in" if found["verb"] in _ALL_IN else found["verb"]
    return TypedAction(_SHORT.get(verb, verb), found["size"])


def split_line(line: str) -> list[str]:
    """The actions of a line, separated by commas or blanks; what cannot be read is a word of its own.

    >>> split_line("check, bet 41, call"), split_line("x b41 c")
    (['check', 'bet 41', 'call'], ['x', 'b41', 'c'])
    """
    return [found[0].strip() for found in _STEP.finditer(" ".join(line.lower().split()))]
