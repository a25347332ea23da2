"""The message that kernels are being compiled, shown only while it is true.

At a terminal it is a line with a moving indicator, or part of a display that is already there (a progress bar, the
training panel); elsewhere it is one plain line.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from equipoise.core.compiling import on_compile
from equipoise.core.visible_text import drawing_stream

PATIENCE = 1.0  # seconds of compiling before anything is said
TICK = 0.2  # seconds between two drawings
SPINNER = "|/-\\"

# Seconds that the first use of a command compiles, with an empty cache: CPU seconds of `equity AA KK`, `match uniform
# always-call --game leduc --hands 8`, `measure uniform --game leduc` and `spot solve river --target 5`, less those of a
# second run, on an AMD EPYC. Commands that were not measured give no number.
FIRST_USE = {"equity": 2, "match": 9, "measure": 21, "spot solve": 28}


class CompilingNotice:
    """The message of one process. Times are those since the first compilation."""

    def __init__(self) -> None:
        self.command = ""
        self.now = ""  # the kernel that is being compiled
        self.began = 0.0
        self.displays = 0  # displays at the terminal, which show the message themselves
        self._drawn = 0  # letters on the terminal's last line
        self._said = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def follow(self, words: Sequence[str]) -> None:
        """Follow the compilations of this process, which runs the command that begins with these words."""
        self.command = next((name for name in (" ".join(words[:2]), *words[:1]) if name in FIRST_USE), "")
        on_compile(self._begin, self._end)

    def text(self) -> str:
        """The message, or nothing where nothing is compiled."""
        seconds = time.monotonic() - self.began
        if not self.now or seconds < PATIENCE:
            return ""
        about = FIRST_USE.get(self.command)
        return "compiling, once" + (f", about {about} seconds" if about and seconds < about else "")

    @contextmanager
    def shown_elsewhere(self) -> Iterator[None]:
        """While a display is at the terminal, it shows the message."""
        with self._lock:
            self.displays += 1
            self._clear()
        try:
            yield
        finally:
            self.displays -= 1

    def _begin(self, kernel: str) -> None:
        self.now = kernel
        if self._thread is None:
            self.began = time.monotonic()
            self._thread = threading.Thread(target=self._draw, daemon=True)
            self._thread.start()

    def _end(self) -> None:
        """Clear the line at once: the next thing on it may be a result."""
        with self._lock:
            self.now = ""
            self._clear()

    def _draw(self) -> None:
        while not self._said:
            time.sleep(TICK)
            with self._lock:
                text = self.text()
                if text and not self.displays:
                    self._show(text)

    def _show(self, text: str) -> None:
        if not sys.stderr.isatty():
            print(text, file=sys.stderr, flush=True)
            self._said = True
            return
        seconds = time.monotonic() - self.began
        line = f"{SPINNER[int(seconds / TICK) % len(SPINNER)]} {text}: {seconds:.0f} s"
        print(f"\r{line}", end="", file=drawing_stream(sys.stderr), flush=True)
        self._drawn = len(line)

    def _clear(self) -> None:
        if self._drawn:
            print(f"\r{' ' * self._drawn}\r", end="", file=drawing_stream(sys.stderr), flush=True)
            self._drawn = 0


notice = CompilingNotice()
