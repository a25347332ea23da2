"""Optional parts: a command that needs one says which to install."""

from __future__ import annotations

from importlib.util import find_spec

from equipoise.core.errors import InputError

PACKAGES = {"deep": "torch"}  # by extra


def require_extra(extra: str, what: str) -> None:
    """Refuse to go on without the package of an extra; `what` needs it."""
    package = PACKAGES[extra]
    try:
        found = find_spec(package)
    except ValueError:  # it is marked as missing
        found = None
    if found is None:
        raise InputError(f"{what} needs {package}", remedy=f"pip install 'equipoise[{extra}]'")
