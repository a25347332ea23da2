"""Files that come with the package (games, bet menus, recipes, spots), found by name or by path for every command.

A name is that of a shipped file; anything else is a path. So `leduc` is the shipped recipe, and `./leduc` a file of the
user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from equipoise.core.errors import InputError, shown
from equipoise.core.files.text import is_file

PACKAGE = Path(__file__).parents[2]
MOST_NEAR = 4


@dataclass(frozen=True)
class Shelf:
    """The shipped files of one kind: what they are called in messages, their folders in the package, their suffixes."""

    what: str
    folders: tuple[str, ...]
    suffixes: tuple[str, ...] = (".toml",)
    otherwise: str = "give a TOML file"

    def names(self) -> list[str]:
        """The names of all shipped files."""
        return [path.stem for folder in self.folders for path in self._listed(folder)]

    def _listed(self, folder: str) -> list[Path]:
        return sorted(path for path in (PACKAGE / folder).iterdir() if path.suffix in self.suffixes)

    def shipped(self, name: str) -> Path | None:
        """The shipped file of a name."""
        return next((path for f in self.folders for path in self._listed(f) if path.stem == name), None)

    def find(self, name_or_path: str | Path) -> Path:
        """The shipped file of a name, or the user's file at a path."""
        name = str(name_or_path)
        path = self.shipped(name)
        if path is not None:
            return path
        if not is_file(name):
            raise no_such(self.what, name, self.names(), self.otherwise)
        return Path(name)

    def beside(self, name: str, folder: Path) -> str:
        """A name that a file in `folder` uses: paths in a file are relative to its folder."""
        return name if self.shipped(name) else str(folder / name)


def no_such(what: str, name: str, names: Sequence[str], otherwise: str) -> InputError:
    """The error for an unknown name: it lists the names that are near, or else all."""
    near = get_close_matches(name, names, MOST_NEAR)
    near += [other for other in names if name in other and other not in near] if name else []
    known = f"near: {', '.join(near[:MOST_NEAR])}" if near else f"shipped: {', '.join(names)}"
    return InputError(f"no {what} {shown(name, 80)}", remedy=f"{known}; or {otherwise}")
