"""Workers on a cluster that do jobs of a kind: each holds an object that stays, a step sends a message to all of them.

A job depends on the message and on itself alone, so results do not depend on the number of workers, on who did what, or
on who died: a job of a worker that is lost is done again by another.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from equipoise.cluster.load import Load, LoadMeter
from equipoise.cluster.part_actor import Answer, packed
from equipoise.cluster.ray_door import Cluster, end_actors, find_ray
from equipoise.core.errors import InputError
from equipoise.core.progress import Say

PATIENCE = 3600.0  # seconds for a job
MOST_FAULTS = 10  # in one call of `map`


class Worker(Protocol):
    """What a worker holds."""

    def prepare(self, message: Any) -> None:
        """Take the message of a step."""

    def work(self, job: Any) -> Any:
        """Do a job of the step."""


class WorkerActor:
    """A worker where it runs. It knows nothing of Ray."""

    def __init__(self, make: Callable[[], Worker]) -> None:
        self.worker, self.step = make(), -1

    def work(self, step: int, message: bytes, job: bytes) -> Answer:
        """Do a job; the message of a step is unpacked once."""
        started = time.perf_counter()
        unpacked = pickle.loads(job)
        if step != self.step:
            self.worker.prepare(pickle.loads(message))
            self.step = step
        begun = time.perf_counter()
        result = self.worker.work(unpacked)
        ended = time.perf_counter()
        reply = packed(result)
        return Answer(reply, ended - begun, begun - started + time.perf_counter() - ended)


class WorkerPool:
    """Some workers of one core each. Close it to end them."""

    def __init__(
        self, cluster: Cluster, make: Callable[[], Worker], workers: int, *, patience: float = PATIENCE,
        say: Say | None = None,
    ) -> None:  # fmt: skip
        self._ray, self.cluster, self.make = find_ray(), cluster, make
        self.patience, self.say = patience, say
        self.meter = LoadMeter(workers)
        self._share = min(1.0, max(0.01, int(100 * cluster.cores / workers) / 100))
        self._step = 0
        self._actors = [self._new() for _ in range(workers)]

    def _new(self) -> Any:
        actor = self._ray.remote(WorkerActor).options(num_cpus=self._share, scheduling_strategy="SPREAD")
        return actor.remote(self.make)

    def map(self, message: Any, jobs: Sequence[Any]) -> list[Any]:
        """The results of jobs, in order. At most one job is with a worker."""
        self.cluster.check()
        self.meter.start()
        self._step += 1
        started = time.perf_counter()
        wire = packed(message)
        shared, faults = self._ray.put(wire), 0
        self.meter.packed += time.perf_counter() - started
        self.meter.bytes_out += len(wire) * len(self._actors)
        results: dict[int, Any] = {}
        waiting, idle = deque(range(len(jobs))), deque(range(len(self._actors)))
        given: dict[Any, tuple[int, int]] = {}  # reference: worker, job
        try:
            while len(results) < len(jobs):
                while waiting and idle:
                    worker, number = idle.popleft(), waiting.popleft()
                    call = self._actors[worker].work.remote(self._step, shared, packed(jobs[number]))
                    given[call] = worker, number
                started = time.perf_counter()
                done, _ = self._ray.wait(list(given), timeout=self.patience)
                self.meter.waited += time.perf_counter() - started
                for call in done or list(given):  # nobody answers in time: all are lost
                    worker, number = given.pop(call)
                    idle.append(worker)
                    if answer := self._answer(call, worker, late=not done):
                        results[number] = pickle.loads(answer.reply)
                    else:
                        waiting.append(number)
                        faults += 1
                if faults > MOST_FAULTS:
                    raise InputError(f"{faults} workers were lost in one step", remedy="look at the machines")
        finally:
            self.meter.stop()
        return [results[number] for number in range(len(jobs))]

    def _answer(self, call: Any, worker: int, *, late: bool) -> Answer | None:
        """The answer to a job; None if its worker is lost, and has been made again."""
        errors = self._ray.exceptions
        try:
            if late:
                raise errors.GetTimeoutError
            answer: Answer = self._ray.get(call)
        except errors.RayTaskError:
            raise  # an error in the code of a job: to repeat it would not help
        except errors.RayError as error:
            if self.say:
                self.say(f"lost worker {worker} ({type(error).__name__}); its job is done again")
            end_actors([self._actors[worker]])
            self._actors[worker] = self._new()
            return None
        self.meter.add(worker, answer.busy, answer.packing, len(answer.reply))
        return answer

    def load(self) -> Load:
        """The load since the last call."""
        return self.meter.take()

    def close(self) -> None:
        """End the workers."""
        end_actors(self._actors)
        self._actors = []
