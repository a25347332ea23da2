"""Agents that users write: `FILE.py:NAME` or `package.module:NAME`, loaded from Python, and where their errors are."""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from equipoise.core.errors import InputError, shown
from equipoise.core.files.shipped import PACKAGE
from equipoise.core.files.text import is_file

_REFERENCE = re.compile(r"(?P<home>.+\.py|[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
_NOT_USERS = (str(PACKAGE), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "<frozen")
MOST_NAMES = 8
MOST_ERROR = 160  # characters of an error's text


def is_reference(name: str) -> bool:
    """Is it `FILE.py:NAME` or `package.module:NAME`?"""
    return _REFERENCE.fullmatch(name) is not None


def load_object(reference: str) -> object:
    """The object that a reference names."""
    parts = _REFERENCE.fullmatch(reference)
    assert parts is not None
    home, name = parts["home"], parts["name"]
    if not home.endswith(".py"):
        module = _imported(home)
    elif is_file(home):
        module = _run_file(Path(home), Path(home).stat().st_mtime_ns)
    else:
        raise InputError(f"no file {shown(home, 80)}", remedy="name an agent as FILE.py:NAME")
    try:
        return getattr(module, name)
    except AttributeError:
        here = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        defined = [key for key in here if not key.startswith("_")]
        remedy = f"it has {', '.join(defined[-MOST_NAMES:])}" if defined else "define a function of a view there"
        raise InputError(f"no {name} in {home}", remedy=remedy) from None


def version_of(reference: str) -> tuple[str, int]:
    """What decides which code a reference names: the file and its time, or the folder that modules are found from."""
    parts = _REFERENCE.fullmatch(reference)
    home = parts["home"] if parts else ""
    return (str(Path(home).resolve()), Path(home).stat().st_mtime_ns) if is_file(home) else (str(Path.cwd()), 0)


@lru_cache(maxsize=32)
def _run_file(path: Path, _changed: int) -> ModuleType:
    """The module of a file. Like a script, it can import its neighbours. An edited file is run again."""
    spec = spec_from_file_location(f"agent {path.resolve()}", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with _importing(str(path)):
            spec.loader.exec_module(module)
    except InputError:
        del sys.modules[spec.name]
        raise
    finally:
        with suppress(ValueError):
            sys.path.remove(str(path.resolve().parent))
    return module


def _imported(name: str) -> ModuleType:
    """A module, from the current folder or installed."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        with _importing(name):
            return import_module(name)
    finally:
        with suppress(ValueError):
            sys.path.remove(str(Path.cwd()))


@contextmanager
def _importing(home: str) -> Iterator[None]:
    """An error of the user's code, sys.exit included, is an `InputError`."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(
            f"{home} does not import: {error_text(error)}",
            where=error_place(error),
            remedy="correct it, then try again",
        ) from error


def error_text(error: BaseException) -> str:
    """The kind of an error, and what it says."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    kind = type(error).__name__
    return f"{kind}: {text if len(text) <= MOST_ERROR else f'{text[: MOST_ERROR - 3]}...'}" if text else kind


def error_place(error: BaseException) -> str:
    """FILE:LINE of the last line of the user's own code that led to an error, else an empty text."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_near(error.filename)}:{error.lineno}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(_NOT_USERS):
            return f"{_near(frame.filename)}:{frame.lineno}"
    return ""


def _near(file: str) -> str:
    """A file as seen from here, if it is below the current folder."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
