"""The list of the files that we wrote in a folder: of these alone any is ever removed, renamed or replaced.

A name goes on the list before its file is written, and comes off it after the file was removed. So whenever the
process is killed, every file that it wrote is listed; a name may be listed without a file, until the next change.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import FileHeader, load_header, save_arrays
from equipoise.core.files.writing import check_folder, set_aside

FORMAT = "equipoise files 1"
_NAME = re.compile(r"(?!\.)[^/\0]+(/(?!\.)[^/\0]+)?")  # in the folder or one below it


class NotOursError(InputError):
    """Something of the user is where we want to write."""


class FilesHeader(FileHeader):
    """The list."""

    files: tuple[str, ...]


@dataclass(frozen=True)
class OwnFiles:
    """The files of one writer in a folder; `pattern` is what their names look like, whatever the list says."""

    folder: Path
    pattern: str
    list_name: str = "written"

    @property
    def path(self) -> Path:
        """The file of the list."""
        return self.folder / self.list_name

    def names(self) -> set[str]:
        """The names on the list; none if it is missing or damaged."""
        header = self._header()
        return {
            name
            for name in (header.files if header else ())
            if _NAME.fullmatch(name) and re.fullmatch(self.pattern, name)
        }

    def claim(self, names: Iterable[str], is_ours: Callable[[Path], bool]) -> None:
        """Put files on the list that will be written now. One that is there must be ours by its content."""
        listed, wanted = self.names(), set(names)
        for name in sorted(wanted - listed):
            path = self.folder / name
            if os.path.lexists(path) and not (path.is_file() and is_ours(path)):
                raise NotOursError(
                    f"this training did not write the file {shown(name)}", where=str(self.folder),
                    remedy="move it elsewhere",
                )  # fmt: skip
        if not wanted <= listed:
            self._write(wanted | self._there(listed), durable=True)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that are on the list."""
        self.unlink(names)
        self.tidy()

    def tidy(self) -> None:
        """Take names without a file off the list; an empty list is removed."""
        listed = self.names()
        left = self._there(listed)
        if left == listed:
            return
        with contextlib.suppress(InputError, OSError):  # on a full disk the list has names without files
            if left:
                self._write(left, durable=False)
            else:
                self.path.unlink()

    def unlink(self, names: Iterable[str]) -> None:
        """Remove files that are on the list, and leave the list to its writer."""
        for name in self.names() & set(names):
            path = self.folder / name
            with contextlib.suppress(OSError):
                check_folder(path.parent)
                path.unlink()

    def _there(self, names: set[str]) -> set[str]:
        return {name for name in names if os.path.lexists(self.folder / name)}

    def _write(self, names: set[str], *, durable: bool) -> None:
        if os.path.lexists(self.path) and self._header() is None and not set_aside(self.path):
            raise NotOursError(
                f"the file {shown(self.list_name)} is no list of files",
                where=str(self.folder),
                remedy="move it elsewhere",
            )
        save_arrays(self.path, FORMAT, {"files": sorted(names)}, {}, durable=durable)

    def _header(self) -> FilesHeader | None:
        if self.path.is_file():
            with contextlib.suppress(InputError):
                return load_header(self.path, FORMAT, FilesHeader, remedy="")
        return None
