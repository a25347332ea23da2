"""Tables and figures of the works this project implements, run again: one module each, published values beside ours.

A module has ABOUT (one line) and `run(out, full, tell)`, which writes out/NAME.json, .csv and .png and returns what
the summary says.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from equipoise._errors import InputError, shown

_NAMES = (
    "cfr-br-figure-3",
    "cfr-br-figure-4",
    "cfr-br-figure-5",
    "cfr-br-figure-6",
    "cfr-br-figure-8",
    "cfr-br-figure-11",
    "leduc-pathology",
    "pcs-variance",
    "tartanian7-flops",
    "tartanian7-table-2",
    "time-to-20-mbb",
)


def experiment_names() -> dict[str, str]:
    """Name and one line about each."""
    return {name: str(_module(name).ABOUT) for name in _NAMES}


def reproduce(
    name: str, out: str | Path = "results", *, full: bool = False, tell: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run one experiment; its files are written to `out`, and what they say is returned."""
    if name not in _NAMES:
        raise InputError(f"no experiment {shown(name)}", remedy=f"there are {', '.join(_NAMES)}")
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write to {shown(str(out))}: {error.strerror}", remedy="choose another place"
        ) from None
    result: dict[str, Any] = _module(name).run(folder, full, tell)
    return result


def _module(name: str) -> Any:
    return import_module(f"equipoise.experiments.{name.replace('-', '_')}")
