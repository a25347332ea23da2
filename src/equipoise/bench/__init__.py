"""Benchmarks, in groups: one module each, whose `run()` measures ours and a peer in the same run."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from equipoise.bench.measure import Benchmark
from equipoise.core.errors import InputError, shown

_GROUPS = ("cards", "tree", "engine", "abstraction", "solvers", "cfr-br", "cluster", "deep", "play", "search")


def group_names() -> tuple[str, ...]:
    """The groups that can run here: `deep` needs PyTorch."""
    return tuple(name for name in _GROUPS if name != "deep" or find_spec("torch"))


def run_group(name: str) -> list[Benchmark]:
    """Measure one group."""
    if name not in _GROUPS:
        raise InputError(f"no benchmarks {shown(name)}", remedy=f"there are {', '.join(_GROUPS)}")
    results: list[Benchmark] = import_module(f"equipoise.bench.{name.replace('-', '_')}").run()
    return results
