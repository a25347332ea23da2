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
from equipoise.core.files.array_file import load_header, save_arrays
from equipoise.core.files.cache import cache_folder

PACKAGE = __name__.split(".")[0]
FORMAT = "equipoise sources 1"
_ROOT = Path(__file__).parents[1]
_DIGITS = 8  # bytes of a digest


class _Source(NamedTuple):
    """A digest of a file's code, and the names it imports at the top level."""

    code: str
    imports: list[str]


@functools.cache
def source_digest(module: str) -> str:
    """The digest of a module's code and of all it imports from the package, in 16 hexadecimal digits.

    A module outside the package (a test, a user's program) depends on its own file and on the whole package.
    """
    sources = _sources()
    digest = hashlib.blake2b(digest_size=_DIGITS)
    if module in sources:
        names = _closure(module, sources)
    else:
        names = set(sources)
        with contextlib.suppress(AttributeError, TypeError, OSError):  # an interactive session has no file
            digest.update(Path(sys.modules[module].__file__ or "").read_bytes())
    for name in sorted(names):
        digest.update(f"{name} {sources[name].code}\n".encode())
    return digest.hexdigest()


def _closure(module: str, sources: dict[str, _Source]) -> set[str]:
    found, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name in sources and name not in found:
            found.add(name)
            waiting.extend(sources[name].imports)
    return found


@functools.cache
def _sources() -> dict[str, _Source]:
    """The sources of all modules of the package."""
    path = cache_folder("compiled") / "sources"
    known: dict[str, list[object]] = {}
    with contextlib.suppress(InputError):
        known = load_header(path, FORMAT, remedy="")["files"]
    found, kept = dict[str, _Source](), dict[str, _Source]()
    for file in sorted(_ROOT.rglob("*.py")):
        text = file.read_bytes()
        raw = hashlib.blake2b(text, digest_size=_DIGITS).hexdigest()
        kept[raw] = _Source(*known[raw]) if raw in known else _read(text)  # type: ignore[arg-type]
        found[_module_name(file)] = kept[raw]
    if kept.keys() != known.keys():
        with contextlib.suppress(InputError):
            save_arrays(path, FORMAT, {"files": kept}, {}, durable=False)
    return found


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
