"""Figures whose texts are shown letter by letter: names of runs and agents may have `$`, `^` or any other sign.

By default matplotlib reads what is between two dollars as a formula, and fails if it is none. Only the labels of
logarithmic axes are formulas of its own; here they are written with raised digits.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.ticker import LogFormatterMathtext, LogFormatterSciNotation

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_FORMULA = re.compile(r"\$\\mathdefault\{(.*)\}\$")
_POWER = re.compile(r"\^\{([0-9-]+)\}")


class _RaisedPowers(LogFormatterSciNotation):
    """Powers of ten as 10² and 2×10², not as formulas."""

    def __call__(self, value: float, place: Any = None) -> str:
        text = _FORMULA.sub(r"\1", str(super().__call__(value, place)))
        return _POWER.sub(lambda power: power[1].translate(_RAISED), text.replace(r"\times", "\u00d7"))


@contextmanager
def plain_texts(style: Any = None) -> Iterator[None]:
    """Draw and save figures in here. Letters that the font lacks are boxes in the picture, and no warnings."""
    with warnings.catch_warnings(), mpl.rc_context({**(style or {}), "text.parse_math": False}):
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", message="(?s).*[Tt]ight layout not applied")
        yield


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as PNG, and let go of it."""
    import matplotlib.pyplot as plt

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            for which in ("major", "minor"):
                before: Any = getattr(axis, f"get_{which}_formatter")()
                if isinstance(before, LogFormatterMathtext):
                    after = _RaisedPowers()
                    vars(after).update(vars(before))  # which labels are shown
                    getattr(axis, f"set_{which}_formatter")(after)
    figure.savefig(path, format="png")
    plt.close(figure)
