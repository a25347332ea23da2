"""A solver in parts for tests of the cluster: quick, and every number depends on the order of all steps before it.

Files in a folder order faults: `die-0` ends the process of part 0 in the middle of its next step, `hang-0` lets it
sleep, `full-0` limits the size of its files. Whoever obeys removes the order first.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cluster.part_actor import MakePart

SIZE = 64


class ToyHead:
    """The top: a vector that goes to all parts, mixed with their replies."""

    def __init__(self, parts: int, most_begun: int = 1) -> None:
        self.parts, self._most_begun = parts, most_begun
        self.iteration = self.nodes = 0
        self.table = np.linspace(0, 1, SIZE).astype(np.float32)

    @property
    def most_begun(self) -> int:
        return self._most_begun

    def begin(self) -> list[Any]:
        message = {"reach": self.table.copy()}
        return [message] * self.parts

    def finish(self, replies: list[Any]) -> None:
        for values, nodes in replies:
            values += 1  # replies can be written to
            self.table = np.sin(self.table * np.float32(3) + values)
            self.nodes += nodes
        self.iteration += 1

    def arrays(self) -> dict[str, Any]:
        return {"table": self.table}

    def restore(self, iteration: int, nodes: int, arrays: dict[str, Any]) -> None:
        self.iteration, self.nodes, self.table = iteration, nodes, np.array(arrays["table"])


class ToyPart:
    """A table below the top."""

    def __init__(self, number: int, orders: str) -> None:
        self.number, self.orders = number, Path(orders)
        self.table = np.full(SIZE, number, np.float32)

    def _is_ordered(self, what: str) -> bool:
        order = self.orders / f"{what}-{self.number}"
        there = order.exists()
        if there:
            order.unlink()
        return there

    def work(self, message: Any) -> Any:
        message["reach"] *= np.float32(2)  # messages can be written to
        self.table = np.cos(self.table + message["reach"])
        if self._is_ordered("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self._is_ordered("hang"):
            time.sleep(1000)
        if self._is_ordered("full"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        return self.table.copy(), 10

    def arrays(self) -> dict[str, Any]:
        return {"table": self.table}

    def restore(self, arrays: dict[str, Any]) -> None:
        self.table = np.array(arrays["table"])


def table_of(part: ToyPart) -> Any:
    """A question to a part."""
    return part.table


def toy_makers(parts: int, orders: Path) -> list[MakePart]:
    """The parts."""
    return [partial(ToyPart, number, str(orders)) for number in range(parts)]


def run_here(parts: int, iterations: int, most_begun: int = 1, round_: int = 1) -> tuple[Any, list[Any]]:
    """The tables after some iterations in this process: the twin of the cluster."""
    head, made = ToyHead(parts, most_begun), [ToyPart(number, "/nowhere") for number in range(parts)]
    done = 0
    while done < iterations:
        steps = min(round_, iterations - done)
        begun: list[Any] = []
        for _ in range(steps):
            begun.append([{"reach": np.array(m["reach"])} for m in head.begin()])
            if len(begun) == most_begun:
                head.finish([part.work(m) for part, m in zip(made, begun.pop(0), strict=True)])
        for messages in begun:
            head.finish([part.work(m) for part, m in zip(made, messages, strict=True)])
        done += steps
    return head.table, [part.table for part in made]
