"""Text from outside (names of files and agents, messages of peers, what a bot prints) made safe to show on a terminal.

A terminal obeys control characters: they move the cursor, set colours and titles, and hide what was printed. A reader
must see them instead, so they are printed as Python writes them: `\\x1b`. So are marks that reverse the direction of
text, characters without width, and halves of surrogate pairs, with which Python stands for bytes that are no UTF-8.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import Any, TextIO, cast

_HIDDEN = "\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f"
_OBEYED = re.compile(f"[\x00-\x1f{_HIDDEN}]")
_OBEYED_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f{_HIDDEN}]")


def visible(text: str) -> str:
    r"""A name or a message as one line without anything that a terminal obeys.

    >>> visible("red \x1b[31m agent\n")
    'red \\x1b[31m agent\\n'
    """
    return _OBEYED.sub(_escape, text)


def visible_lines(text: str) -> str:
    """The same of output with line breaks and tabs, which stay."""
    return _OBEYED_IN_LINES.sub(_escape, text)


def shell_word(text: str) -> str:
    r"""A name as it is typed in a shell: quoted if it has to be, on one line.

    >>> print(shell_word("runs/small"), shell_word("my $x"), shell_word("a\nb"))
    runs/small 'my $x' $'a\x0ab'
    """
    if text.isprintable():
        return shlex.quote(text)
    letters = (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in os.fsencode(text))
    return f"$'{''.join({chr(39): chr(92) + chr(39), chr(92): 2 * chr(92)}.get(one, one) for one in letters)}'"


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


class VisibleStream:
    """A text stream that shows what a terminal would obey; all else is the stream's own.

    Displays that draw (colours, a line that is written over) use `drawing_stream`, and `visible` for names.
    """

    def __init__(self, stream: TextIO) -> None:
        self.undisturbed = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return self.undisturbed.write(visible_lines(text))

    def writelines(self, lines: Any) -> None:
        """Write several."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.undisturbed, name)


def visible_stream(stream: TextIO) -> TextIO:
    """A stream for text from anywhere."""
    return stream if isinstance(stream, VisibleStream) else cast("TextIO", VisibleStream(stream))


def drawing_stream(stream: TextIO) -> TextIO:
    """The stream under it, for a display that moves the cursor."""
    return stream.undisturbed if isinstance(stream, VisibleStream) else stream
