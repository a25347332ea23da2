"""Inner code: lowered once, emitted only inside the kernel that Python calls; and what happens while compiling."""

from __future__ import annotations

import gc
from typing import Any

import numba
import numpy as np
import pytest

from equipoise.core.compiling import on_compile
from equipoise.core.inner_code import InnerCode, rebuild_inner_code
from equipoise.core.jit import F64, inlined, inner, kernel
from equipoise.core.kernel_cache import KernelCache

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="about compiled kernels")


@inlined
def square(value: float) -> float:
    return value * value


@inner
def add_squares(values: F64, total: F64) -> None:
    for value in values:
        total[0] += square(value)


@kernel
def sum_squares(values: F64, total: F64) -> None:
    total[0] = 0
    add_squares(values, total)


@kernel
def sum_rows(rows: F64, totals: F64) -> None:
    for i in range(rows.shape[0]):
        sum_squares(rows[i], totals[i : i + 1])


@kernel
def broken(values: F64) -> None:
    values[0] = values.no_such_thing  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded: what a test needs is compiled in it."""
    monkeypatch.setattr(KernelCache, "load_overload", lambda *_: None)
    monkeypatch.setattr(KernelCache, "save_overload", lambda *_: None)


def libraries(function: Any) -> list[Any]:
    return [found.library for found in function.overloads.values()]


def test_a_kernel_called_by_kernels_has_inner_code_and_its_own_entry() -> None:
    rows, totals = np.arange(12.0).reshape(3, 4), np.zeros(3)
    sum_rows(rows, totals)
    assert totals.tolist() == (rows**2).sum(axis=1).tolist()
    assert not libraries(sum_squares)  # the kernel that calls it has all of its code
    assert all(isinstance(code, InnerCode) for code in libraries(add_squares) + libraries(square))
    total = np.zeros(1)
    sum_squares(rows[2], total)
    assert total[0] == totals[2]
    assert not any(isinstance(code, InnerCode) for code in libraries(sum_squares) + libraries(sum_rows))


def test_inner_code_comes_back_from_the_cache() -> None:
    total = np.zeros(1)
    sum_squares(np.arange(3.0), total)
    (found,) = add_squares.overloads.values()  # type: ignore[attr-defined]
    again = rebuild_inner_code(found.target_context, *found._reduce())
    assert again.signature == found.signature
    assert again.library._get_module_for_linking().as_bitcode() == found.library._get_module_for_linking().as_bitcode()
    assert again.library.get_pointer_to_function("anything") == 0


def test_the_garbage_collector_rests_only_while_compiling() -> None:
    told: list[tuple[str, bool]] = []
    on_compile(lambda name: told.append((name, gc.isenabled())))
    assert gc.isenabled()
    with pytest.raises(numba.TypingError):
        broken(np.zeros(2))
    assert gc.isenabled()
    assert told == [("broken", False)]
