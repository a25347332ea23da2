"""Benchmarks, in groups: one module each, whose `run()` measures ours and a peer in the same run."""

from __future__ import annotations

from importlib import import_module

from equipoise.bench.measure import Benchmark
from equipoise.core.errors import InputError, shown

_GROUPS = ("cards", "tree", "engine", "abstraction", "solvers", "cfr-br", "play")


def group_names() -> tuple[str, ...]:
    """The groups there are."""
    return _GROUPS


def run_group(name: str) -> list[Benchmark]:
    """Measure one group."""
    if name not in _GROUPS:
        raise InputError(f"no benchmarks {shown(name)}", remedy=f"there are {', '.join(_GROUPS)}")
    results: list[Benchmark] = import_module(f"equipoise.bench.{name.replace('-', '_')}").run()
    return results
