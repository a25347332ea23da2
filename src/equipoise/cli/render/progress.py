"""Progress on standard error: a bar with the time left at a terminal, elsewhere a plain line every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equipoise.cli.render.compiling import notice
from equipoise.cli.render.tables import duration, rate_text
from equipoise.core.visible_text import drawing_stream, visible

if TYPE_CHECKING:
    from equipoise.cli.render.training_panel import TrainingPanel
    from equipoise.core.progress import Fraction, Progress
    from equipoise.runs.progress import TrainingProgress

PATIENCE = 2.0  # seconds before a progress bar appears
PAUSE = 10.0  # seconds between two lines
LEAST_DONE = 0.01  # the fraction that says something of the time left; before, kernels may be compiled


def tell(line: str) -> None:
    """Print a line on standard error."""
    print(visible(line), file=sys.stderr, flush=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Fraction]:
    """A progress callback for work of one stage."""
    with stage_bar() as progress:
        yield lambda fraction: progress(what, fraction)


@contextmanager
def stage_bar() -> Iterator[Progress]:
    """A progress callback for work in stages."""
    if not sys.stderr.isatty():
        yield _Lines().stage
        return
    from rich import progress as bars
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, Task, TaskProgressColumn, TimeRemainingColumn
    from rich.text import Text

    class Stage(ProgressColumn):
        """What is going on."""

        def render(self, task: Task) -> Text:
            return Text(visible(notice.text() or task.description))

    columns = (Stage(), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = bars.Progress(*columns, console=Console(file=drawing_stream(sys.stderr)), transient=True)
    task = bar.add_task("", total=1.0)
    started = time.monotonic()
    now, shown, display = "", False, notice.shown_elsewhere()

    def show(stage: str, fraction: float) -> None:
        nonlocal now, shown
        if stage != now:
            bar.reset(task, description=stage)
            now = stage
        bar.update(task, completed=fraction)
        if not shown and time.monotonic() - started > PATIENCE:
            display.__enter__()
            bar.start()
            shown = True

    try:
        yield show
    finally:
        if shown:
            bar.stop()
            display.__exit__(None, None, None)


class _Lines:
    """Progress without a terminal."""

    def __init__(self) -> None:
        self.last = self.seen = self.began = time.monotonic()
        self.name = ""

    def stage(self, name: str, done: float) -> None:
        """Report the fraction of a stage that is done."""
        if name != self.name:
            self.name, self.began = name, self.seen
        self.seen = time.monotonic()
        left = f", {duration((self.seen - self.began) * (1 - done) / done)} left" if done >= LEAST_DONE else ""
        self.show(f"{name}: {done:.0%}{left}")

    def show(self, text: str) -> None:
        """Print a line if ten seconds have passed since the last one."""
        if time.monotonic() - self.last >= PAUSE:
            tell(text)
            self.last = time.monotonic()


class TrainingLines(_Lines):
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
        self.show(text)


def _learning(now: TrainingProgress) -> str:
    found = [] if now.loss is None else [f"loss {now.loss:.3g}"]
    if now.part_loads is not None:
        idle = 1 - sum(now.part_loads) / len(now.part_loads)
        found += [f"{len(now.part_loads)} parts idle {idle:.0%}", f"messages {now.message_share or 0:.1%}"]
    return "  ".join(found or [f"regret {now.regret or 0:.3g}"])


@contextmanager
def training() -> Iterator[TrainingLines | TrainingPanel]:
    """The display of a training: a panel at a terminal, else lines."""
    if not sys.stderr.isatty():
        yield TrainingLines()
        return
    from rich.console import Console

    from equipoise.cli.render.training_panel import TrainingPanel

    with notice.shown_elsewhere(), TrainingPanel(Console(file=drawing_stream(sys.stderr))) as panel:
        yield panel
