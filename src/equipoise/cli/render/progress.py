"""Progress on standard error: a bar with the time left at a terminal, elsewhere plain lines.

A thread keeps the time, so that work which reports nothing for long is not silent: at a terminal the bar appears after
two seconds in any case, elsewhere there is a line after ten seconds and then one every thirty.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from equipoise.cli.render.compiling import notice
from equipoise.cli.render.tables import duration, rate_text
from equipoise.core.progress import TimeLeft
from equipoise.core.visible_text import drawing_stream, visible
from equipoise.core.wording import counted

if TYPE_CHECKING:
    from equipoise.cli.render.training_panel import TrainingPanel
    from equipoise.core.progress import Fraction, Progress
    from equipoise.runs.progress import TrainingProgress

PATIENCE = 2.0  # seconds before a progress bar appears
FIRST, PAUSE = 10.0, 30.0  # seconds before the first line, and between two
TICK = 0.5  # seconds between two looks at the clock
WIDTH = 78  # of a line that is drawn again


def tell(line: str) -> None:
    """Print a line on standard error."""
    print(visible(line), file=sys.stderr, flush=True)


@contextmanager
def ticking(beat: Callable[[], None]) -> Iterator[None]:
    """Call `beat` from time to time in a thread of its own."""
    over = threading.Event()

    def tick() -> None:
        while not over.wait(TICK):
            with suppress(OSError, ValueError):  # the stream was closed: that is for the command to find
                beat()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def progress_bar(what: str) -> Iterator[Fraction]:
    """A progress callback for work of one stage."""
    with stage_bar(what) as progress:
        yield lambda fraction: progress(what, fraction)


@contextmanager
def stage_bar(what: str = "working") -> Iterator[Progress]:
    """A progress callback for work in stages; `what` is said until the first of them reports."""
    show = _Bar(what) if sys.stderr.isatty() else Lines(what)
    try:
        with ticking(show.beat):
            yield show.stage
    finally:
        show.close()


@contextmanager
def status_line(what: str) -> Iterator[Lines]:
    """Lines of text; at a terminal one that is drawn again and again."""
    lines = _DrawnLine(what) if sys.stderr.isatty() else Lines(what)
    try:
        with ticking(lines.beat):
            yield lines
    finally:
        lines.close()


class _Bar:
    """A bar at the terminal, once the work takes longer than a moment."""

    def __init__(self, what: str) -> None:
        from rich import progress as bars
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, Task, TaskProgressColumn
        from rich.text import Text

        def left() -> float | None:  # `self.left` changes with the stage
            return self.left.seconds

        class Stage(ProgressColumn):
            """What is going on."""

            def render(self, task: Task) -> Text:
                return Text(visible(notice.text() or task.description))

        class Left(ProgressColumn):
            """The time left, or where it is not known how long it took so far."""

            def render(self, task: Task) -> Text:
                seconds = left()
                return Text(f"{duration(task.elapsed or 0)} so far" if seconds is None else f"{duration(seconds)} left")

        columns = (Stage(), BarColumn(), TaskProgressColumn(), Left())
        self.left = TimeLeft(lambda: time.monotonic())
        self.bar = bars.Progress(*columns, console=Console(file=drawing_stream(sys.stderr)), transient=True)
        self.task = self.bar.add_task(what, total=1.0)
        self.began, self.name = time.monotonic(), what
        self.shown, self.closed, self.display = False, False, notice.shown_elsewhere()
        self.lock = threading.Lock()

    def stage(self, name: str, done: float) -> None:
        """Report the fraction of a stage that is done."""
        if name != self.name:
            self.bar.reset(self.task, description=name)
            self.name, self.left = name, TimeLeft(lambda: time.monotonic())
        self.left.update(done)
        self.bar.update(self.task, completed=done)
        self.beat()

    def beat(self) -> None:
        """Show the bar if it is time."""
        with self.lock:
            if not self.shown and not self.closed and time.monotonic() - self.began > PATIENCE:
                self.display.__enter__()
                self.bar.start()
                self.shown = True

    def close(self) -> None:
        """Take the bar away."""
        with self.lock:
            self.closed = True
            if self.shown:
                self.bar.stop()
                self.display.__exit__(None, None, None)


class Lines:
    """Progress without a terminal."""

    def __init__(self, what: str = "working") -> None:
        self.began = self.last = time.monotonic()
        self.pause, self.name = FIRST, what
        self.left = TimeLeft(lambda: time.monotonic())
        self.text: Callable[[], str] = lambda: f"{self.name}: {self._so_far()}"
        self.lock = threading.RLock()

    def stage(self, name: str, done: float) -> None:
        """Report the fraction of a stage that is done."""
        if name != self.name:
            self.name, self.left, self.began = name, TimeLeft(lambda: time.monotonic()), time.monotonic()
        self.left.update(done)
        self.show(lambda: f"{name}: {done:.0%}, {self._left_text()}")

    def show(self, text: Callable[[], str]) -> None:
        """What the next line is to say; it is printed if it is time."""
        with self.lock:
            self.text = text
        self.beat()

    def beat(self) -> None:
        """Print a line if there was none for some time."""
        with self.lock:
            if time.monotonic() - self.last >= self.pause:
                self.pause = PAUSE
                self.last = time.monotonic()
                self.draw(self.text())

    def draw(self, text: str) -> None:
        """Print a line."""
        tell(text)

    def close(self) -> None:
        """The work is over."""

    def _left_text(self) -> str:
        seconds = self.left.seconds
        return self._so_far() if seconds is None else f"{duration(seconds)} left"

    def _so_far(self) -> str:
        return f"{duration(time.monotonic() - self.began)} so far"


class _DrawnLine(Lines):
    """A line at a terminal, drawn twice a second."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.pause, self.drawn = PATIENCE, False

    def draw(self, text: str) -> None:
        """Draw the line over the one before."""
        if notice.text():  # it has the line
            return
        self.pause, self.drawn = TICK, True
        print(f"\r{text[:WIDTH]:<{WIDTH}}", end="", file=drawing_stream(sys.stderr), flush=True)

    def close(self) -> None:
        """Leave the line as it is, and go on below it."""
        if self.drawn:
            print(file=sys.stderr)


class TrainingLines(Lines):
    """Training progress without a terminal."""

    def say(self, line: str) -> None:
        """Print a line of the log."""
        tell(line)

    def stage(self, name: str, done: float) -> None:
        """Report the progress of a stage of bucket building."""
        super().stage(f"buckets: {name}", done)

    def progress(self, now: TrainingProgress) -> None:
        """Report the progress of the run."""
        text = f"iteration {now.iteration:,}  {rate_text(now.iterations_per_second)}/s"
        text += f"  {rate_text(now.nodes_per_second)} nodes/s  {_learning(now)}"
        if now.measured_text:
            text += f"  {now.measured_text}"
        if now.seconds_left is not None:
            text += f"  {duration(now.seconds_left)} left"
        self.show(lambda: text)


def _learning(now: TrainingProgress) -> str:
    found = [] if now.loss is None else [f"loss {now.loss:.3g}"]
    if now.part_loads is not None:
        idle = 1 - sum(now.part_loads) / len(now.part_loads)
        found += [f"{counted(len(now.part_loads), 'part')} idle {idle:.0%}", f"messages {now.message_share or 0:.1%}"]
    return "  ".join(found or [f"regret {now.regret or 0:.3g}"])


@contextmanager
def training() -> Iterator[TrainingLines | TrainingPanel]:
    """The display of a training: a panel at a terminal, else lines."""
    if not sys.stderr.isatty():
        lines = TrainingLines("training")
        with ticking(lines.beat):
            yield lines
        return
    from rich.console import Console

    from equipoise.cli.render.training_panel import TrainingPanel

    with notice.shown_elsewhere(), TrainingPanel(Console(file=drawing_stream(sys.stderr))) as panel:
        yield panel
