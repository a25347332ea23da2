"""A part of a solver where it runs: a process of its own, on this machine or another. It knows nothing of Ray.

A step has a number. A part that has done step k answers it again from memory; one that is behind or ahead refuses, so
that a message that is sent twice or too late changes nothing. The tables never leave the part: at a cut it writes them
to a file, `NN/ITERATION.ckpt`; or, if it writes files itself, to `ITERATION/`. The files that part NN writes are listed
in `NN.written`; of older cuts, every part removes what any such list names, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from equipoise import __version__
from equipoise.core.checked_model import Count
from equipoise.core.disk import disk_remedy
from equipoise.core.errors import InputError
from equipoise.core.files.array_file import FileHeader, load_arrays, save_arrays
from equipoise.core.files.own_files import OwnFiles
from equipoise.core.files.writing import check_folder, make_folder, remove_remains
from equipoise.solvers.split import Part

FORMAT = "equipoise part 1"
REMEDY = "use the cut before it"
_LIST = ".written"
_FILE = r"[0-9]{2,}/[0-9]{12,}\.ckpt|[0-9]{12,}/[0-9]+-[0-9]+\.tables"  # what parts write

MakePart = Callable[[], Part]


class PartHeader(FileHeader):
    """The header of a part's file."""

    fingerprint: str
    iteration: Count


@runtime_checkable
class PartInPieces(Protocol):
    """A part that writes its tables in pieces, under a name in a folder that it shares with other parts."""

    def file_names(self) -> list[str]:
        """The names of the pieces that `save` writes."""

    def save(self, folder: str, name: str) -> None:
        """Write all pieces, or none."""

    def load(self, folder: str, name: str) -> None:
        """Continue from the pieces that are this part's now."""


class About(NamedTuple):
    """Where a part runs."""

    version: str
    process: int
    machine: str


class Answer(NamedTuple):
    """The reply of a part to a step, and the seconds that it worked on it and that it packed and unpacked."""

    reply: bytes
    busy: float
    packing: float


class Refused(NamedTuple):
    """An error of a part, as a value: Ray would wrap it."""

    what: str
    where: str = ""
    remedy: str = ""
    is_lost: bool = False  # the part is not where the head believes it to be: its process is another one

    def error(self, part: int) -> InputError:
        """The error that ends the run."""
        return InputError(f"part {part}: {self.what}", where=self.where, remedy=self.remedy)


def packed(value: Any) -> bytes:
    """A message or a reply as bytes. What is unpacked can be written to, unlike arrays in Ray's object store."""
    return pickle.dumps(value, protocol=5)


class PartActor:
    """One part, the number of steps it has done, and its last `kept` replies."""

    def __init__(self, make: MakePart, root: str, number: int, fingerprint: str, kept: int) -> None:
        self.make, self.fingerprint, self.kept = make, fingerprint, kept
        self.root, self.folder = Path(root), Path(root) / _number(number)
        self.own = OwnFiles(self.root, _FILE, f"{_number(number)}{_LIST}")
        self.part: Part | None = None
        self.done = -1  # steps; it must begin or restore first
        self.answers: dict[int, Answer] = {}

    def about(self) -> About:
        """Where it runs. Asking makes sure that it does."""
        return About(__version__, os.getpid(), socket.gethostname())

    def begin(self) -> Refused | None:
        """Start from nothing, at step 0."""
        self.answers = {}
        self.done = -1
        try:
            self.part = self.make()
        except InputError as error:
            return Refused(error.what, error.where, error.remedy)
        self.done = 0
        return None

    def step(self, number: int, message: bytes) -> Answer | Refused:
        """Do step `number`, or answer it again."""
        if number in self.answers:
            return self.answers[number]
        if self.part is None or number != self.done + 1:
            return Refused(f"step {number} after step {self.done}", is_lost=True)
        started = time.perf_counter()
        unpacked = pickle.loads(message)
        begun = time.perf_counter()
        try:
            reply = self.part.work(unpacked)
        except InputError as error:
            return Refused(error.what, error.where, error.remedy)
        ended = time.perf_counter()
        packed_reply = packed(reply)
        packing = begun - started + time.perf_counter() - ended
        self.answers[number] = Answer(packed_reply, ended - begun, packing)
        self.answers.pop(number - self.kept, None)
        self.done = number
        return self.answers[number]

    def ask(self, question: Callable[[Part], Any]) -> Any:
        """What a function finds in the part, between steps."""
        assert self.part is not None
        return question(self.part)

    def save(self, iteration: int) -> Refused | None:
        """Write the tables of a cut."""
        assert self.part is not None
        try:
            make_folder(self.root)
            if isinstance(self.part, PartInPieces):
                make_folder(self.root / _name(iteration))
                self._claim([f"{_name(iteration)}/{name}" for name in self.part.file_names()])
                self.part.save(str(self.root), _name(iteration))
            else:
                make_folder(self.folder)
                path = self.folder / f"{_name(iteration)}.ckpt"
                self._claim([f"{self.folder.name}/{path.name}"])
                save_arrays(path, FORMAT, self._header(iteration), self.part.arrays())
        except InputError as error:
            return Refused(error.what, error.where, error.remedy)
        except OSError as error:
            return Refused(f"cannot write: {error.strerror}", str(self.root), disk_remedy(error))
        return None

    def _claim(self, names: list[str]) -> None:
        """Put files on the list. Where a run was cut otherwise before, they may be on the list of another part."""
        listed = {name for own in self._lists() for name in own.names()}
        self.own.claim(names, lambda path: path.relative_to(self.root).as_posix() in listed)

    def _lists(self) -> list[OwnFiles]:
        """The lists of all parts, also of those that the run had before."""
        names = (path.name for path in _entries(self.root) if re.fullmatch(rf"\d{{2,}}{re.escape(_LIST)}", path.name))
        return [OwnFiles(self.root, _FILE, name) for name in names]

    def keep(self, iterations: list[int]) -> None:
        """Remove the files of all cuts but these, and what killed processes left. Other parts do the same."""
        kept = {_name(iteration) for iteration in iterations}
        remove_remains(self.root, older_than=0)
        remove_remains(self.folder, older_than=0)
        old = {name for own in self._lists() for name in own.names() if _cut(name) not in kept}
        for own in self._lists():
            own.unlink(old)
        self.own.remove(old)
        for folder in {self.root / _cut(name) for name in old if name.startswith(_cut(name))}:
            with contextlib.suppress(OSError):  # the user's files may be in it
                check_folder(folder)
                remove_remains(folder, older_than=0)
                folder.rmdir()

    def restore(self, iteration: int, step: int, others: int) -> Refused | None:
        """Continue from a cut after some steps; from the files of all parts, if it was of `others`, another number."""
        self.answers, self.done = {}, -1
        try:
            if self.part is None:
                self.part = self.make()
            if isinstance(self.part, PartInPieces):
                self.part.load(str(self.root), _name(iteration))
            else:
                folders = [self.root / _number(part) for part in range(others)] or [self.folder]
                loaded = [self._load(folder, iteration) for folder in folders]
                self.part.restore({name: array for arrays in loaded for name, array in arrays.items()})
        except InputError as error:
            return Refused(error.what, error.where, error.remedy)
        self.done = step
        return None

    def _load(self, folder: Path, iteration: int) -> dict[str, Any]:
        path = folder / f"{_name(iteration)}.ckpt"
        header, arrays = load_arrays(path, FORMAT, PartHeader, remedy=REMEDY)
        if any(getattr(header, key) != value for key, value in self._header(iteration).items()):
            raise InputError("a cut of another run", where=str(path), remedy=REMEDY)
        return arrays

    def _header(self, iteration: int) -> dict[str, Any]:
        return {"fingerprint": self.fingerprint, "iteration": iteration}


def _number(part: int) -> str:
    return f"{part:02d}"


def _name(iteration: int) -> str:
    return f"{iteration:012d}"


def _cut(name: str) -> str:
    """The cut of a file on a list: its own name, or that of its folder."""
    folder, _, file = name.partition("/")
    return file.removesuffix(".ckpt") if file.endswith(".ckpt") else folder


def _entries(folder: Path) -> list[Path]:
    """What lies in a folder, which another part may remove at any time."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []
