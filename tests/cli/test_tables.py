"""Tables keep every digit and fit the terminal; agents have short names; plain letters where there are no others."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from equipoise.cli.commands.registry import app
from equipoise.cli.render.names import short_names
from equipoise.cli.render.tables import Table, duration, rate_text
from equipoise.core.wording import size_text
from waiting import GUARD

WORDS = st.text("abc -", min_size=1, max_size=40).map(str.strip)
NUMBERS = st.integers(-(10**12), 10**12).map(lambda n: f"{n:,}")


@given(st.data(), st.sampled_from([60, 80, 120]))
def test_no_table_is_wider_than_the_screen_or_loses_a_digit(data: st.DataObject, width: int) -> None:
    columns = data.draw(st.integers(2, 14))
    table = Table("a title of several words " * 3, [f"column number {at}" for at in range(columns)], words=True)
    for _ in range(data.draw(st.integers(1, 4))):
        numbers = data.draw(st.lists(NUMBERS, min_size=columns - 2, max_size=columns - 2))
        table.add_row(data.draw(WORDS), *numbers, data.draw(WORDS))
    lines = list(table.lines(width))
    assert max(map(len, lines)) <= width
    shown = re.findall(r"-?\d[\d,]*", "\n".join(lines))
    for row in filter(None, table.rows):
        for number in row[1:-1]:
            assert number in shown
    whole = list(table.lines())
    assert len(whole) == 3 + len(table.rows)
    assert all(row[1] in line for row, line in zip(table.rows, whole[3:], strict=True) if row and columns > 2)


def test_a_wide_table_goes_on_below_with_its_first_column() -> None:
    table = Table("", ["street", *(f"n{at}" for at in range(7))])
    table.add_row("flop", *(f"{10**at * 11:,}" for at in range(7)))
    assert list(table.lines(40)) == [
        "street  n0   n1     n2      n3       n4",
        "───────────────────────────────────────",
        "flop    11  110  1,100  11,000  110,000",
        "",
        "street         n5          n6",
        "─────────────────────────────",
        "flop    1,100,000  11,000,000",
    ]


def test_words_are_folded_before_numbers_go_below() -> None:
    table = Table("", ["name of it", "n"])
    table.add_row("several words " * 4, "1,234,567")
    assert list(table.lines(40)) == [
        "name of it                             n",
        "────────────────────────────────────────",
        "several words several words    1,234,567",
        "several words several words",
    ]


COMMANDS = [
    "games", "games holdem.nolimit --trunk 2", "recipes", "equity AhKh QQ+,AKs,AQs,AJs,ATs,KQs,JJ,TT --board 2c7dJh",
    "measure uniform --game leduc --threads 1", "measure uniform --game leduc --flops 9 --threads 1",
    "match uniform always-call --game leduc --hands 1000 --threads 1",
    "match uniform always-call always-raise always-fold --game leduc --hands 400 --threads 1",
]  # fmt: skip


@pytest.mark.parametrize("width", ["80", "60"])
def test_what_commands_print_fits(width: str) -> None:
    for command in COMMANDS:
        narrow = printed(command, width)
        assert max(map(len, narrow.splitlines())) <= int(width), command
        steady = "\n".join(line for line in printed(command, "").splitlines() if not re.search(r"\d s\b|/s\b", line))
        assert set(re.findall(r"[-+]?\d[\d,.]*%?", steady)) <= set(re.findall(r"[-+]?\d[\d,.]*%?", narrow)), command


def printed(command: str, width: str) -> str:
    done = CliRunner().invoke(app, command.split(), env={"COLUMNS": width})
    assert done.exit_code == 0, command
    return str(done.stdout)


def at_a_terminal(*arguments: str, **environment: str) -> str:
    """What a command writes to a terminal of 80 columns that has colours."""
    master, slave = pty.openpty()
    given_ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "equipoise", *arguments], stdin=slave, stdout=slave, stderr=slave, env=given_
    )
    os.close(slave)
    parts: list[bytes] = []
    while True:
        try:
            parts.append(os.read(master, 4096))
        except OSError:
            break
        if not parts[-1]:
            break
    assert process.wait(timeout=GUARD) == 0
    os.close(master)
    return b"".join(parts).decode()


def test_colours_only_where_they_are_wanted(tmp_path: Any) -> None:
    line = ("train", "leduc", "--iterations", "50", "--threads", "1", "--out")
    coloured = r"\x1b\[[0-9;]*m"
    assert not re.search(coloured, at_a_terminal(*line, str(tmp_path / "plain"), NO_COLOR="1"))
    ascii_only = at_a_terminal(*line, str(tmp_path / "ascii"), PYTHONIOENCODING="ascii")
    assert ascii_only.isascii()


def test_names_are_the_ends_of_paths() -> None:
    assert short_names(["/x/runs/demo", "uniform", "runs/b?post=purify"]) == ["demo", "uniform", "b?post=purify"]
    assert short_names(["runs/a/demo", "runs/b/demo", "c"]) == ["a/demo", "b/demo", "c"]
    assert short_names(["runs/demo", "runs/demo?post=purify"]) == ["demo", "demo?post=purify"]
    assert short_names(["runs/demo/strategy.u8"]) == ["demo/strategy.u8"]
    assert short_names(["runs/demo", "demo"]) == ["runs/demo", "demo"]
    assert short_names(["uniform", "uniform"]) == ["uniform", "uniform"]


def test_sizes_rates_and_durations() -> None:
    assert [size_text(n) for n in (0, 999, 1000, 1_180_000_000)] == ["0 bytes", "999 bytes", "1 kB", "1.18 GB"]
    assert [rate_text(n) for n in (3.14159, 1500, 310e6)] == ["3.14", "1.5 k", "310 M"]
    assert [duration(n) for n in (0, 59.6, 3599, 3600)] == ["0:00", "1:00", "59:59", "1:00:00"]
