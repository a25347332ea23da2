"""The load of a cluster: how long each part worked, how long the head waited for messages, and how much travelled."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple


class Load(NamedTuple):
    """Figures of a period."""

    part_loads: list[float]  # the share of the time that each part worked
    message_share: float  # of the time: packing, and waiting for replies beyond the work of the slowest part
    bytes_per_second: float  # both ways


@dataclass
class LoadMeter:
    """Adds up the times and the bytes of steps."""

    parts: int
    busy: list[float] = field(init=False)
    packing: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.busy, self.packing = [0.0] * self.parts, [0.0] * self.parts
        self.waited = self.packed = self.running = 0.0
        self.bytes_out = self.bytes_in = 0
        self._started: float | None = None

    def start(self) -> None:
        """The head begins to run steps."""
        self._started = time.perf_counter()

    def stop(self) -> None:
        """The head stops: other work, such as measurements, does not count."""
        if self._started is not None:
            self.running += time.perf_counter() - self._started
        self._started = None

    def add(self, part: int, busy: float, packing: float, size: int) -> None:
        """Add a part's answer to a step."""
        self.busy[part] += busy
        self.packing[part] += packing
        self.bytes_in += size

    def take(self) -> Load:
        """The figures since the last call."""
        seconds = max(self.running, 1e-9)
        slowest = max(busy + packing for busy, packing in zip(self.busy, self.packing, strict=True))
        messages = self.packed + max(self.packing) + max(0.0, self.waited - slowest)
        found = Load(
            [round(min(busy / seconds, 1.0), 4) for busy in self.busy],
            round(min(messages / seconds, 1.0), 4),
            (self.bytes_out + self.bytes_in) / seconds,
        )
        self._clear()
        return found
