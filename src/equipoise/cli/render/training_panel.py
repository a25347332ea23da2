"""Training progress on a terminal: a panel that is redrawn a few times a second, below the lines of the log.

It shows the stages of bucket building first, then the figures of the last progress report. The time since that report
is added, so the panel moves even during a long slice.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from equipoise.cli.render.compiling import notice
from equipoise.cli.render.tables import duration
from equipoise.core.visible_text import visible
from equipoise.core.wording import counted, size_text

if TYPE_CHECKING:
    from equipoise.runs.progress import TrainingProgress

REFRESH = 4  # a second
MOST_STAGES = 6
BAR = 30  # columns
MOST_PARTS = 8  # whose load is shown


class TrainingPanel:
    """The panel of a training on a console. It disappears when it closes; the lines of the log stay."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.stages: dict[str, float] = {}
        self.last: TrainingProgress | None = None
        self.seen = time.monotonic()
        self._live = Live(
            get_renderable=self.render, console=console, refresh_per_second=REFRESH, transient=True,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip

    def __enter__(self) -> TrainingPanel:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def say(self, line: str) -> None:
        """Print a line of the log."""
        self.console.print(Text(visible(line)), soft_wrap=True)

    def stage(self, name: str, done: float) -> None:
        """Report the progress of a stage of bucket building."""
        for before in self.stages:
            if before != name:
                self.stages[before] = 1.0
        self.stages[name] = done

    def progress(self, now: TrainingProgress) -> None:
        """Report the progress of the run."""
        self.last, self.seen = now, time.monotonic()

    def render(self) -> RenderableType:
        """The panel as it is now."""
        parts: list[RenderableType] = []
        if self.last is None:
            parts.append(self._stages() if self.stages else Text("starting"))
        else:
            parts.append(self._figures(self.last))
        if notice.text():
            parts.append(Text(notice.text()))
        return Panel(Group(*parts), title="equipoise train", title_align="left", expand=False)

    def _stages(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for name, done in list(self.stages.items())[-MOST_STAGES:]:
            table.add_row(Text(f"buckets: {name}"), ProgressBar(total=1.0, completed=done, width=BAR), f"{done:.0%}")
        return table

    def _figures(self, now: TrainingProgress) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_column()
        table.add_column(justify="right")
        since = time.monotonic() - self.seen
        rows = [
            ("iterations", f"{now.iteration:,}"),
            ("iterations/s", _rate(now.iterations_per_second)),
            ("nodes/s", f"{now.nodes_per_second:,.0f}"),
            *_learning(now),
            ("last measured", now.measured_text or "nothing yet"),
            ("time trained", duration(now.seconds)),
            ("time left", "unknown" if now.seconds_left is None else duration(max(0.0, now.seconds_left - since))),
            ("last checkpoint", _age(now.checkpoint_age, since)),
        ]
        for name, value in rows:
            table.add_row(name, Text(value))
        return table


def _rate(value: float) -> str:
    """A rate; networks do few iterations a second."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _learning(now: TrainingProgress) -> list[tuple[str, str]]:
    """The figures of tables, or of networks."""
    parts = [] if now.part_loads is None else _parts(now.part_loads, now)
    if now.loss is not None:
        return [("loss", f"{now.loss:.4g}"), ("samples in memory", f"{now.samples or 0:,}"), *parts]
    return parts or [("average positive regret", f"{now.regret or 0:.4g}")]


def _parts(loads: list[float], now: TrainingProgress) -> list[tuple[str, str]]:
    """The load of each part: the rest of the time it is idle."""
    shown = "  ".join(f"{load:.0%}" for load in loads[:MOST_PARTS])
    rest = f"  ... {counted(len(loads), 'part')}" if len(loads) > MOST_PARTS else ""
    return [
        ("load of parts", shown + rest),
        ("mean idle share", f"{1 - sum(loads) / len(loads):.0%}"),
        ("share of messages", f"{now.message_share or 0:.1%}"),
        ("messages", f"{size_text(int(now.bytes_per_second or 0))}/s"),
    ]


def _age(age: float | None, since: float) -> str:
    return "none yet" if age is None else f"{duration(age + since)} ago"
