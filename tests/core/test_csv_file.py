"""CSV files: what a spreadsheet takes for a formula is text, and numbers stay numbers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.files.csv_file import write_csv

TEXTS = ["=1+1", "+1+1", "-1+1", "@sum", "\tx", "\r=1", "=", "-", "--5", "- 5", "+x", "\n=1"]
NUMBERS = [-5, -0.25, "-5", "+1.5", "-1e-05", 3, "7", 1e300, "-.5"]


def written(path: Path, rows: list[dict[str, Any]]) -> list[list[str]]:
    write_csv(path, rows)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_formula_is_a_text_in_the_header_and_in_the_rows(text: str, tmp_path: Path) -> None:
    assert written(tmp_path / "a.csv", [{text: text, "b": 1}]) == [[f"'{text}", "b"], [f"'{text}", "1"]]


def test_numbers_and_other_texts_stay_as_they_are(tmp_path: Path) -> None:
    rows = [{"a": value, "b": "x=1", "c": None, "d": float("nan")} for value in NUMBERS]
    assert written(tmp_path / "a.csv", rows)[1:] == [[str(value), "x=1", "", ""] for value in NUMBERS]


def test_bytes_that_are_no_utf_8_are_shown(tmp_path: Path) -> None:
    assert written(tmp_path / "a.csv", [{"agent": "r\udcff"}]) == [["agent"], ["r\\udcff"]]
