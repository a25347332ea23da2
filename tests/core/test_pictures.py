"""Texts in pictures are shown as they are; labels of logarithmic axes need no formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.core.visible_text import visible
from equipoise.measure.report import write_report

NAMES = ["$x^2$", "$\\frac{$", "a$b$c_", "100% ^ _ {", "a\nb", "\x1b[31m", "r\udcff", "日本", "\u202e"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_name_is_read_as_a_formula(name: str, tmp_path: Path) -> None:
    texts: list[Any] = []

    def draw(axes: Any, _rows: object) -> None:
        texts.append(axes.set_title(visible(name)))
        axes.plot([1, 2], [1, 2], label=visible(name))
        axes.set_xticks([1, 2], [visible(name)] * 2)
        axes.legend()

    write_report(tmp_path / "report", {"name": name}, [{"agent": name}], draw)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".csv", ".png"}
    assert not texts[0].get_parse_math() and texts[0].get_text() == visible(name)


def test_logarithmic_axes_have_raised_digits(tmp_path: Path) -> None:
    drawn: list[Any] = []

    def draw(axes: Any, _rows: object) -> None:
        axes.loglog([1, 1e4], [1e-3, 2e-3])
        drawn.append(axes)

    write_report(tmp_path / "report", {}, [], draw)
    across, up = ([label.get_text() for label in axis.get_ticklabels()] for axis in (drawn[0].xaxis, drawn[0].yaxis))
    assert "10⁴" in across and "10⁻³" in up and "$" not in "".join(across + up)
