"""The digest of the sources that a module depends on: the key of cached kernels and tables.

A kernel can use only names that its module defines or imports. So the digest covers the module and, recursively, all
modules of the package imported at the top level, without comments and docstrings: editing a help text recompiles
nothing. Parsed files are remembered by their own digest, so only edited files are parsed again.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from equipoise.core.errors import InputError
from equipoise.core.files.array_file import FileHeader, load_header, save_arrays
from equipoise.core.files.cache import cache_folder, is_trusted

PACKAGE = __name__.split(".")[0]
FORMAT = "equipoise sources 1"
_ROOT = Path(__file__).parents[1]
_DIGITS = 8  # bytes of a digest


class _Source(NamedTuple):
    """A digest of a file's code, and the names it imports at the top level."""

    code: str
    imports: list[str]


class _SourcesHeader(FileHeader):
    files: dict[str, _Source]


@functools.cache
def source_digest(module: str) -> str:
    """The digest of a module's code and of all it imports from the package, in 16 hexadecimal digits.

    A module outside the package (a test, a user's program) depends on its own file and on the whole package.
    """
    digest = hashlib.blake2b(digest_size=_DIGITS)
    names = [module]
    if module not in _files():
        names = list(_files())
        with contextlib.suppress(AttributeError, TypeError, OSError):  # an interactive session has no file
            digest.update(Path(sys.modules[module].__file__ or "").read_bytes())
    for name, source in sorted(_closure(names).items()):
        digest.update(f"{name} {source.code}\n".encode())
    return digest.hexdigest()


def _closure(modules: list[str]) -> dict[str, _Source]:
    """The sources of modules and of all that they import from the package."""
    found, waiting, unread = dict[str, _Source](), list(modules), len(_parsed())
    while waiting:
        name = waiting.pop()
        if name in _files() and name not in found:
            found[name] = _source(name)
            waiting.extend(found[name].imports)
    if len(_parsed()) != unread:
        with contextlib.suppress(InputError):
            save_arrays(_memory(), FORMAT, {"files": _parsed()}, {}, durable=False, private=True)
    return found


@functools.cache
def _files() -> dict[str, Path]:
    """The files of all modules of the package."""
    return {_module_name(file): file for file in sorted(_ROOT.rglob("*.py"))}


@functools.cache
def _source(module: str) -> _Source:
    text = _files()[module].read_bytes()
    raw = hashlib.blake2b(text, digest_size=_DIGITS).hexdigest()
    if raw not in _parsed():
        _parsed()[raw] = _read(text)
    return _Source(*_parsed()[raw])


def _memory() -> Path:
    return cache_folder("compiled") / "sources"


@functools.cache
def _parsed() -> dict[str, _Source]:
    """Files parsed so far, in this process and earlier ones, by the digest of their text."""
    if not is_trusted(_memory()):
        return {}
    with contextlib.suppress(InputError):
        return dict(load_header(_memory(), FORMAT, _SourcesHeader, remedy="").files)
    return {}


def _module_name(file: Path) -> str:
    parts = (PACKAGE, *file.relative_to(_ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read(text: bytes) -> _Source:
    tree = ast.parse(text)
    imports = sorted(set(_imports(tree.body)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_text(part)]
    return _Source(hashlib.blake2b(ast.dump(tree).encode(), digest_size=_DIGITS).hexdigest(), imports)


def _is_text(node: ast.stmt) -> bool:
    """Is it a docstring or another bare string?"""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The modules that statements import when they are executed; of `from a import b`, both a and a.b."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _imports(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _imports(child for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom))
