"""The strategy that a solution file keeps: in the smallest codes that leave all values as they are.

Bytes are tried first, then 16 bits (`walk/strategy_codes.py`). Codes are taken if the players' EVs and the
exploitability of the coded strategy, measured, differ from those of the exact one by at most 0.01% of the pot. Tables
up to a megabyte stay exact: hands that play alike show the same digits there, and no disk is filled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.core.jit import F64
from equipoise.walk.engine import Engine
from equipoise.walk.plan import BEST, EVALUATE
from equipoise.walk.strategy_codes import CODES, code_strategy

MOST_OFF = 1e-4  # of the pot
EXACT = 1 << 20  # bytes: larger tables are coded


def small_strategy(engine: Engine, average: Any, pot: float) -> Any:
    """An average table in the smallest codes whose values are within 0.01% of the pot; itself if it is small."""
    if average.nbytes <= EXACT:
        return average
    exact = _values(engine, average)
    for kind in CODES:
        if np.dtype(kind).itemsize < average.dtype.itemsize:
            coded = code_strategy(engine, average, kind)
            if np.abs(_values(engine, coded) - exact).max() <= MOST_OFF * pot:
                return coded
    return average


def _values(engine: Engine, average: Any) -> F64:
    """Each player's EV, and the exploitability, in chips a hand."""
    tables = engine.tables(average)
    evs = [engine.evaluate(player, tables, EVALUATE) for player in (0, 1)]
    best = [engine.evaluate(player, tables, BEST) for player in (0, 1)]
    return np.array([*evs, (sum(best) - sum(evs)) / 2])
