"""A solver in parts for tests of the cluster: quick, and every number depends on the order of all steps before it.

Files in a folder order faults: `die-0` ends the process of part 0 in the middle of its next step, `hang-0` lets it
sleep, `full-0` limits the size of its files. Whoever obeys removes the order first.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cluster.part_actor import MakePart

SIZE = 64


class ToyHead:
    """The top: a vector that goes to all parts, mixed with their replies. A step sends that of `most_begun` steps ago.

    Steps have two iterations, except the first.
    """

    def __init__(self, parts: int, most_begun: int = 1) -> None:
        self.parts, self.most_begun = parts, most_begun
        self.iteration = self.nodes = self.begun = 0
        self.table = np.linspace(0, 1, SIZE).astype(np.float32)
        self.sent = [self.table] * most_begun

    def begin(self) -> list[Any]:
        message = {"reach": self.sent.pop(0).copy()}
        self.begun = self._after(self.begun)
        return [message] * self.parts

    @staticmethod
    def _after(iteration: int) -> int:
        return iteration + (2 if iteration else 1)

    def finish(self, replies: list[Any]) -> None:
        for values, nodes in replies:
            values += 1  # replies can be written to
            self.table = np.sin(self.table * np.float32(3) + values)
            self.nodes += nodes
        self.sent.append(self.table)
        self.iteration = self._after(self.iteration)

    def arrays(self) -> dict[str, Any]:
        assert self.begun == self.iteration, "a cut with steps under way"
        return {"table": self.table, "sent": np.stack(self.sent)}

    def restore(self, iteration: int, nodes: int, arrays: dict[str, Any]) -> None:
        self.iteration, self.begun, self.nodes, self.table = iteration, iteration, nodes, np.array(arrays["table"])
        self.sent = [np.array(table) for table in arrays["sent"]]


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
        return {f"table {self.number}": self.table}

    def restore(self, arrays: dict[str, Any]) -> None:
        self.table = np.array(arrays[f"table {self.number}"])


def table_of(part: ToyPart) -> Any:
    """A question to a part."""
    return part.table


def toy_makers(parts: int, orders: Path) -> list[MakePart]:
    """The parts."""
    return [partial(ToyPart, number, str(orders)) for number in range(parts)]


def run_here(parts: int, iterations: int, most_begun: int = 1) -> tuple[Any, list[Any]]:
    """The tables after some iterations in this process, one step after the other: the twin of the cluster."""
    head, made = ToyHead(parts, most_begun), [ToyPart(number, "/nowhere") for number in range(parts)]
    while head.iteration < iterations:
        messages = [{"reach": message["reach"].copy()} for message in head.begin()]
        head.finish([part.work(message) for part, message in zip(made, messages, strict=True)])
    return head.table, [part.table for part in made]


class ToyWorker:
    """A worker of a pool: a job's result depends on the message of the step. `die-worker` ends the next to work."""

    def __init__(self, orders: str) -> None:
        self.order, self.factor = Path(orders) / "die-worker", 0

    def prepare(self, message: int) -> None:
        self.factor = message

    def work(self, job: int) -> int:
        with suppress(FileNotFoundError):  # workers share the order: the one that takes it dies
            self.order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if job < 0:
            raise ValueError("a negative job")
        return self.factor * job
