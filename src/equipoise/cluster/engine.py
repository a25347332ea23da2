"""Runs a solver in parts on a cluster: the head here, each part in a long-lived actor.

steps       the head begins a step, the parts work on it, the head finishes it; several steps may be under way, and
            the pipeline is emptied every `ROUND` steps. Results depend on none of the times that this takes.
cuts        a checkpoint of all. No step is under way; every part writes a file where it runs; then the head's own
            file makes the cut valid.
faults      a part that dies, or does not answer in time, is killed and made again, elsewhere if its machine is
            gone. Head and parts go back to the last cut and repeat the steps since. A part that is made for the
            same iteration has the same bits, so a fault changes nothing but the time.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, ValidationError

from equipoise import __version__
from equipoise.cluster.load import Load, LoadMeter
from equipoise.cluster.part_actor import About, Answer, MakePart, PartActor, Refused, packed
from equipoise.cluster.ray_door import Cluster, end_actors, find_ray
from equipoise.core.array_checks import REMEDY
from equipoise.core.checked_model import CheckedModel, Count
from equipoise.core.errors import MOST_COUNT, InputError
from equipoise.core.machine import MOST_THREADS
from equipoise.core.progress import Say
from equipoise.runs.folder import CUT, Checkpoint, LostPartError
from equipoise.solvers.split import Head, Part

INLINE = 100 << 10  # bytes: Ray sends smaller messages with the call
ROOM = 60.0  # seconds to wait for room on the cluster, and for a process there
MOST_FAULTS = 10  # between two cuts


class Patience(NamedTuple):
    """Seconds to wait for a part before it is taken for dead."""

    start: float = 3600.0  # to be made, to save, to restore, and for the first step, which compiles kernels
    least: float = 60.0  # for any other step
    times: float = 20.0  # the usual time of a step


class _Lost(Exception):  # noqa: N818
    """Some parts do not answer, and why."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__(str(reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class _Cut:
    """The head at the last cut; its parts have files, unless it is the beginning."""

    iteration: int
    nodes: int
    step: int
    arrays: dict[str, Any]
    parts: int  # that wrote files; 0 at the beginning


class _Begun(NamedTuple):
    number: int
    answers: list[Any]  # references


class Engine:
    """A head and its parts. Close it to end the actors.

    `makers` make the parts where they run. `folder` is where they write cuts: shared by all machines, or on the disk of
    each. `plan` says how the game was cut: a resumed run must have the same, but may have another number of parts.
    `about` is what else the checkpoint should say.
    """

    def __init__(
        self, cluster: Cluster, head: Head, makers: Sequence[MakePart], *, folder: Path, fingerprint: str,
        threads: int = 1, plan: Mapping[str, Any] | None = None, about: Mapping[str, Any] | None = None,
        patience: Patience | None = None, say: Say | None = None,
    ) -> None:  # fmt: skip
        self._ray = find_ray()
        self.cluster, self.head, self.makers = cluster, head, list(makers)
        self.folder, self.fingerprint, self.threads = folder.absolute(), fingerprint, threads
        self.plan, self.about, self.patience = dict(plan or {}), dict(about or {}), patience or Patience()
        self.say: Say = say or (lambda _: None)
        self.step = 0  # number of steps finished
        self.meter = LoadMeter(len(makers))
        self._usual = 0.0  # seconds of a step
        self._faults = 0
        self._cut = self._next_cut = _Cut(head.iteration, head.nodes, 0, _copied(head.arrays()), 0)
        self._actors: list[Any] = []
        self._group: Any = None
        try:
            self._place()
        except _Lost as lost:
            self._go_back(lost)

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.makers)

    def run(self, iterations: int) -> None:
        """Do at least some more iterations: whole steps."""
        self._run_to(self.head.iteration + iterations)

    def _run_to(self, iteration: int) -> None:
        while self.head.iteration < iteration:
            try:
                self.meter.start()
                self._steps(iteration)
            except _Lost as lost:
                self._go_back(lost)
            finally:
                self.meter.stop()

    def _steps(self, iteration: int) -> None:
        """Steps up to an iteration, or just beyond it; none is under way at the end."""
        under_way: deque[_Begun] = deque()
        while under_way or self.head.iteration < iteration:
            while len(under_way) < self.head.most_begun and (not under_way or self.head.begun < iteration):
                under_way.append(self._begin(self.step + len(under_way) + 1))
            self._finish(under_way.popleft())

    def _begin(self, number: int) -> _Begun:
        """Begin a step: a message to each part. One that goes to several is packed and stored once."""
        messages = self.head.begin()
        started = time.perf_counter()
        sent: dict[int, Any] = {}
        answers = []
        for actor, message in zip(self._actors, messages, strict=True):
            if id(message) not in sent:
                wire = packed(message)
                receivers = sum(other is message for other in messages)
                self.meter.bytes_out += receivers * len(wire)
                sent[id(message)] = self._ray.put(wire) if receivers > 1 and len(wire) > INLINE else wire
            answers.append(actor.step.remote(number, sent[id(message)]))
        self.meter.packed += time.perf_counter() - started
        return _Begun(number, answers)

    def _finish(self, begun: _Begun) -> None:
        """Finish the oldest step with the replies of all parts."""
        started = time.perf_counter()
        limit = max(self.patience.least, self.patience.times * self._usual) if self._usual else self.patience.start
        answers: list[Answer] = self._checked(self._collect(begun.answers, limit))
        arrived = time.perf_counter()
        replies = []
        for part, answer in enumerate(answers):
            self.meter.add(part, answer.busy, answer.packing, len(answer.reply))
            replies.append(pickle.loads(answer.reply))
        self.meter.waited += arrived - started
        self.meter.packed += time.perf_counter() - arrived
        self._usual = max(0.9 * self._usual, arrived - started)
        self.head.finish(replies)
        self.step = begun.number

    def _collect(self, references: list[Any], limit: float, *, of: Sequence[int] | None = None) -> list[Any]:
        """The results of calls to all parts, or to those of `of`; parts that are late or dead raise `_Lost`."""
        parts = list(of) if of is not None else list(range(len(references)))
        try:
            found = self._ray.get(references, timeout=limit)
        except self._ray.exceptions.RayError as error:
            is_late = isinstance(error, self._ray.exceptions.GetTimeoutError)
            found = self._collect_one_by_one(references, parts, 0.0 if is_late else limit, limit)
        lost = {
            part: answer.what
            for part, answer in zip(parts, found, strict=True)
            if isinstance(answer, Refused) and answer.is_lost
        }
        if lost:
            raise _Lost(lost)
        return list(found)

    def _collect_one_by_one(self, references: list[Any], parts: list[int], left: float, limit: float) -> list[Any]:
        """The same after a fault, with the time that is left: who is it?"""
        errors = self._ray.exceptions
        _, late = self._ray.wait(references, num_returns=len(references), timeout=left, fetch_local=False)
        found, lost = [], {}
        for part, reference in zip(parts, references, strict=True):
            try:
                if reference in late:
                    raise errors.GetTimeoutError
                found.append(self._ray.get(reference, timeout=limit))
            except errors.RayTaskError:
                raise  # an error in the code of a part: to repeat it would not help
            except errors.GetTimeoutError:
                lost[part] = f"no answer for {limit:.3g} seconds"
            except errors.RayError as error:
                lost[part] = type(error).__name__
        if lost:
            raise _Lost(lost)
        return found

    def _checked(self, found: list[Any]) -> list[Any]:
        """The results of all parts; one that refused ends the run."""
        for part, answer in enumerate(found):
            if isinstance(answer, Refused):
                raise answer.error(part)
        return found

    def _place(self) -> None:
        """Reserve room on the machines, as spread out as possible, and make all parts."""
        nodes, cores = self.cluster.nodes, self.cluster.cores
        share = self.threads if self.threads * self.parts <= cores else _floor(cores / self.parts)
        strategy = "STRICT_SPREAD" if len(nodes) >= self.parts > 1 else "SPREAD" if len(nodes) > 1 else "PACK"
        self._share = share
        self._group = self._ray.util.placement_group([{"CPU": share}] * self.parts, strategy=strategy)
        if not self._group.wait(ROOM):
            raise InputError(
                f"the cluster has no room for {self.parts} parts of {share:g} cores ({cores} cores on {len(nodes)} "
                f"machines)", remedy="wait for other work on it, or use fewer parts or threads",
            )  # fmt: skip
        self._actors = [self._make(part) for part in range(self.parts)]
        self._begin_parts(range(self.parts))

    def _make(self, part: int) -> Any:
        """A new actor for a part, in its place."""
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        place = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=part)
        actor = self._ray.remote(PartActor).options(num_cpus=self._share, scheduling_strategy=place, max_restarts=0)
        kept = max(1, self.head.most_begun)
        return actor.remote(self.makers[part], str(self.folder), part, self.fingerprint, kept)

    def _begin_parts(self, parts: Sequence[int]) -> None:
        """Let parts start from nothing."""
        limit = min(ROOM, self.patience.start)
        abouts: list[About] = self._collect([self._actors[part].about.remote() for part in parts], limit, of=parts)
        for part, about in zip(parts, abouts, strict=True):
            if about.version != __version__:
                raise InputError(
                    f"part {part} on {about.machine} has version {about.version} of equipoise, the head {__version__}",
                    remedy="install the same version on all machines",
                )
        begun = [self._actors[part].begin.remote() for part in parts]
        self._checked(self._collect(begun, self.patience.start, of=parts))

    def _go_back(self, lost: _Lost) -> None:
        """Replace lost parts; head and parts go back to the last cut."""
        cut = self._cut
        while True:
            self._faults += 1
            who = ", ".join(f"part {part} ({reason})" for part, reason in lost.reasons.items())
            if self._faults > MOST_FAULTS:
                raise InputError(
                    f"{MOST_FAULTS} faults since iteration {cut.iteration:,}, the last of {who}",
                    remedy="look at the machines, then resume the run",
                )
            self.say(
                f"lost {who}; back to iteration {cut.iteration:,}: "
                f"{self.head.iteration - cut.iteration:,} iterations are done again"
            )
            try:
                self._replace(list(lost.reasons))
                self._restore(cut)
                return
            except _Lost as again:
                lost = again

    def _replace(self, parts: list[int]) -> None:
        """Make lost parts again; all of them in other places, if a machine is gone."""
        for part in parts:
            with contextlib.suppress(IndexError, ValueError):
                self._ray.kill(self._actors[part])
        self._usual = 0.0
        if self._group is None or not self._group.wait(0) or self._machine_is_gone():
            self.close()
            self._place()
        else:
            for part in parts:
                self._actors[part] = self._make(part)
            self._begin_parts(parts)

    def _machine_is_gone(self) -> bool:
        table = self._ray.util.placement_group_table(self._group)
        alive = {node["NodeID"] for node in self.cluster.nodes}
        return table["state"] != "CREATED" or not set(table["bundles_to_node_id"].values()) <= alive

    def _restore(self, cut: _Cut) -> None:
        """Head and parts at a cut."""
        if cut.parts:
            others = cut.parts if cut.parts != self.parts else 0
            references = [actor.restore.remote(cut.iteration, cut.step, others) for actor in self._actors]
        else:
            references = [actor.begin.remote() for actor in self._actors]
        for part, answer in enumerate(self._collect(references, self.patience.start)):
            if isinstance(answer, Refused):
                raise LostPartError(f"part {part}: {answer.what}", where=answer.where, remedy=answer.remedy)
        self.head.restore(cut.iteration, cut.nodes, _copied(cut.arrays))
        self.step = cut.step

    def save(self) -> dict[str, Any]:
        """Let all parts write a cut; returns the arrays of the head, whose file makes it valid (then `confirm`)."""
        iteration = self.head.iteration
        self.cluster.check()
        found = self._at(iteration, partial(self._write, iteration))
        for part, answer in enumerate(found):
            if isinstance(answer, Refused):
                raise InputError(
                    f"the checkpoint of iteration {iteration:,} could not be written (part {part}: {answer.what}); "
                    f"that of iteration {self._cut.iteration:,} is intact",
                    where=answer.where, remedy=f"{answer.remedy}, then resume the run",
                )  # fmt: skip
        arrays = self.head.arrays()
        self._next_cut = _Cut(iteration, self.head.nodes, self.step, _copied(arrays), self.parts)
        info = {"parts": self.parts, "step": self.step, "plan": self.plan, **self.about}
        return {CUT: np.frombuffer(json.dumps(info).encode(), np.uint8), **arrays}

    def _write(self, iteration: int) -> list[Any]:
        return self._collect([actor.save.remote(iteration) for actor in self._actors], self.patience.start)

    def confirm(self, kept: list[int]) -> None:
        """The head's file is written. Parts remove the files of cuts other than these iterations."""
        self._cut, self._faults = self._next_cut, 0
        with contextlib.suppress(_Lost):  # whoever is lost is found at the next step
            self._collect([actor.keep.remote(kept) for actor in self._actors], self.patience.start)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a cut; `LostPartError` if the file of a part is missing or damaged."""
        info = cut_info(checkpoint)
        if info.plan != self.plan:
            raise InputError("a run of a game that was cut otherwise", where=checkpoint.where, remedy="train it again")
        arrays = {name: array for name, array in checkpoint.arrays.items() if name != CUT}
        self._cut = _Cut(checkpoint.iteration, checkpoint.nodes, info.step, _copied(arrays), info.parts)
        try:
            self._restore(self._cut)
        except _Lost as lost:
            self._go_back(lost)

    def ask(self, part: int, question: Callable[[Part], Any]) -> Any:
        """What a function finds in a part."""
        return self._at(self.head.iteration, partial(self._ask, part, question))[0]

    def _ask(self, part: int, question: Callable[[Part], Any]) -> list[Any]:
        return self._collect([self._actors[part].ask.remote(question)], self.patience.start, of=[part])

    def _at(self, iteration: int, call: Callable[[], list[Any]]) -> list[Any]:
        """The results of a call at an iteration, whatever happens meanwhile."""
        while True:
            try:
                return call()
            except _Lost as lost:
                self._go_back(lost)
                self._run_to(iteration)

    def abouts(self) -> list[About]:
        """Where the parts run."""
        return self._at(self.head.iteration, self._abouts)

    def _abouts(self) -> list[About]:
        return self._collect([actor.about.remote() for actor in self._actors], self.patience.start)

    def load(self) -> Load:
        """The load since the last call."""
        return self.meter.take()

    def close(self) -> None:
        """End the actors and free their places."""
        end_actors(self._actors)
        self._actors = []
        if self._group is not None:
            self._ray.util.remove_placement_group(self._group)
            self._group = None


class CutInfo(CheckedModel):
    """What the head's checkpoint says about the parts."""

    parts: Annotated[int, Field(ge=1, le=MOST_THREADS)]
    step: Count
    plan: dict[str, Annotated[int, Field(ge=1, le=MOST_COUNT)]]
    folder: str = ""


def cut_info(checkpoint: Checkpoint) -> CutInfo:
    """What the head's checkpoint says about the parts."""
    if CUT not in checkpoint.arrays:
        raise InputError(
            "a checkpoint of a run on one machine", where=checkpoint.where, remedy="resume it without --cluster"
        )
    try:
        return CutInfo.model_validate_json(checkpoint.arrays[CUT].tobytes())
    except ValidationError:
        raise InputError("damaged: it does not say what its parts are", where=checkpoint.where, remedy=REMEDY) from None


def _copied(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: np.array(array) for name, array in arrays.items()}


def _floor(cores: float) -> float:
    """Cores that Ray can reserve: a whole number, or a share of one."""
    return float(int(cores)) if cores >= 1 else max(0.01, int(100 * cores) / 100)
