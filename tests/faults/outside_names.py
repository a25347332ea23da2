"""Names that people, scripts and attackers give: hosts, URLs, folders of runs, agents, cells of tables, texts.

A host or a URL is read or refused before anything is looked up or sent. A folder or an agent of any name is matched,
logged, drawn and continued: nothing is lost, nothing is read as a formula, and no terminal obeys it.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import socket
from collections.abc import Callable
from contextlib import chdir, suppress
from pathlib import Path
from random import Random
from typing import Any

from tests.helpers.commands import run

import equipoise
from attempts import REFUSED, isolated
from dose import Tally
from equipoise.core.addresses import Address, read_address, read_host, read_url
from equipoise.core.files.csv_file import write_csv
from equipoise.core.visible_text import visible, visible_lines
from equipoise.play.logs import LogWriter, log_names
from mutate import WORDS, mutate
from play import random_deal, random_hand

GUARD = 60.0  # seconds; the slowest try, of a folder, takes one
HOSTS = ("localhost", "127.0.0.1", "::1", "a.example", "fe80::1%eth0", "xn--bcher-kva.example", "my-host")
ADDRESSES = ("127.0.0.1:6379", "[::1]:80", "localhost:1", "a.example:65535")
URLS = ("http://127.0.0.1:8080", "https://[::1]:1/slumbot", "http://a.example/api", "http://localhost:80/a/b/")
NAMES = ("runs/small?post=tartanian7:0.2", "my run", "uniform", "agent-2", "=1+1", "$x^2$ run")
SIGNS = (
    *("$", "$\\frac{$", "^", "_{", "\\", "%", "\n", "\r", "\t", "\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\x7f", "\b"),
    *("=1+1", "+1", "-1", "@sum", "²", "٣", "½", "日本", "e\u0301", "\u202e", "\u200b", "\u2028", "\udcff", "\udc80"),
    *("[red]", "[/]", ":smile:", "'", '"', "|", ":", ";", "&", "*", "#", " ", "..", "-", "--json", "?post=purify"),
)
LABELS = (
    "",
    ".",
    "..",
    "a" * 63,
    "a" * 64,
    "a" * 300,
    "ä",
    "ⅷ",
    "\u0661",
    "[",
    "]",
    "%",
    "@",
    "?",
    "#",
    "/",
    "\\",
    "\0",
    "\udcff",
)
KINDS = {"host": 30, "address": 15, "url": 30, "agent": 20, "cell": 30, "text": 30, "folder": 2}


def try_names(folder: Path, tries: int, rng: Random, tally: Tally) -> None:
    """Draw names of every kind and use each."""
    equipoise.train("leduc", folder / "run", iterations=3, threads=1)
    using = _Using(folder)
    using.folder("warm")  # kernels are compiled before a guard is set
    drawn = [(kind, _drawn(kind, rng)) for kind in rng.choices(list(KINDS), list(KINDS.values()), k=tries)]

    def attempt(one: tuple[str, str]) -> tuple[str, str]:
        use: Callable[[str], str] = getattr(using, one[0])
        return f"{one[0]} {use(one[1])}", ""

    for (kind, name), outcome, fault in isolated(drawn, attempt, guard=GUARD):
        told = f"{kind} {REFUSED}" if outcome == REFUSED else outcome
        tally.add(told, fault=f"{kind}: {fault}; name {name[:200]!a}" if fault else "")


def _drawn(kind: str, rng: Random) -> str:
    texts = {"host": HOSTS, "address": ADDRESSES, "url": URLS}.get(kind, NAMES)
    name = rng.choice(texts)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at = rng.randrange(len(name) + 1)
        if rng.random() < 0.3:
            name = mutate(name, rng, texts)[:5000]
        else:
            signs = (*LABELS, *WORDS) if texts is not NAMES else SIGNS
            name = name[:at] + rng.choice(signs) + name[at + rng.randint(0, 2) :]
    return name


class _Using:
    """One way to use a name for each kind: returns how it went, raises InputError where it is refused."""

    def __init__(self, folder: Path) -> None:
        self.place = folder
        self.rules, self.rng = equipoise.load_game("holdem.limit"), Random(1)

    def host(self, name: str) -> str:
        """A host is looked up only if it may be one."""
        with _no_network():
            try:
                host = read_host(name)
            except equipoise.InputError:
                self._is_refused_everywhere(name)
                raise
        assert host.isascii()
        assert 0 < len(host) <= 253
        assert all(len(label) <= 63 for label in host.split("."))
        assert read_address(str(Address(host, 1))) == (host, 1)
        return "read"

    def _is_refused_everywhere(self, name: str) -> None:
        uses: tuple[Callable[[], Any], ...] = (
            lambda: equipoise.play_at("always-call", name, 1, game="leduc"),
            lambda: equipoise.deal_match("leduc", 1, host=name),
            lambda: equipoise.SlumbotServer(self._table(), name, 0),
            lambda: equipoise.SlumbotServer(self._table(), "127.0.0.1", 0, allow_hosts=[name]).server_close(),
        )
        for use in uses:
            try:
                use()
            except equipoise.InputError as error:
                assert str(error).isprintable()
            else:
                raise AssertionError("taken in one place, refused in another")

    def _table(self) -> Any:
        return equipoise.SlumbotTable(equipoise.load_player("always-call", "holdem.nolimit"))

    def address(self, name: str) -> str:
        """HOST:PORT."""
        found = read_address(name)
        assert 0 < found.port < 65536
        assert read_address(str(found)) == found
        return "read"

    def url(self, name: str) -> str:
        """A URL; one that is refused is refused by the client too, before it sends anything."""
        try:
            found = read_url(name)
        except equipoise.InputError:
            with _no_network(), suppress(equipoise.InputError):
                equipoise.play_slumbot("always-call", name, game="holdem.nolimit", hands=1)
                raise AssertionError("played") from None
            raise
        assert read_url(found) == found
        assert found.isascii()
        assert found.isprintable()
        return "read"

    def agent(self, name: str) -> str:
        """A log keeps every hand of an agent, in both formats, and its lines are lines."""
        names = log_names(name, "other")
        for suffix in ("acpc", "phh"):
            path = self.place / f"log.{suffix}"
            path.unlink(missing_ok=True)
            with LogWriter(path, self.rules) as log:
                for hand in range(3):
                    log.write(hand, random_hand(self.rules, self.rng), random_deal(self.rules, self.rng), names)
            found = equipoise.replay(path, self.rules)
            assert (found.hands, found.names) == (3, names)
        return "logged"

    def cell(self, name: str) -> str:
        """A cell is read back as it was, with a mark where a spreadsheet would run it."""
        path = self.place / "cells.csv"
        write_csv(path, [{name: name, f"{name} ": -1.5}])
        with path.open(newline="", encoding="utf-8") as file:
            header, row = csv.reader(file)
        kept = name.encode("utf-8", "backslashreplace").decode()
        assert header[0].removeprefix("'") == row[0].removeprefix("'") == kept.removeprefix("'")
        assert not re.match(r"[=+@\t\r\n-](?![\d.]+([eE][+-]?\d+)?$)", row[0])
        assert row[1] == "-1.5"
        return "written"

    def text(self, name: str) -> str:
        """A text on a terminal, in an error and in a log of a run."""
        assert visible(name).isprintable() or not name.isprintable()
        assert visible_lines(name).replace("\n", "").replace("\t", "") == visible(
            name.replace("\n", "").replace("\t", "")
        )
        error = str(equipoise.InputError(name or "x", where=name, remedy=name))
        assert "\n" not in error
        assert len(error) <= 1000
        assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e]", error + visible(name))
        return "shown"

    def folder(self, name: str) -> str:
        """A run in a folder of this name: a cup, a log, more training. All of it works, or the name is refused."""
        name = re.sub(r"[/\0?]", "_", name)[:60].lstrip("-.") or "run"
        desk = self.place / "desk"
        shutil.rmtree(desk, ignore_errors=True)
        desk.mkdir()
        shutil.copytree(self.place / "run", desk / name)
        with chdir(desk):
            common = ("--hands", "8", "--threads", "1", "--seed", "1")
            self._works("match", name, "uniform", "always-call", *common, "--out", "cup")
            assert (desk / "cup.png").stat().st_size > 1000
            with (desk / "cup.csv").open(newline="", encoding="utf-8") as file:
                assert [len(row) for row in csv.reader(file)] == [11] * 4
            self._works("match", name, "uniform", *common, "--log", "hands.acpc")
            assert equipoise.replay("hands.acpc", "leduc").hands == 8
            self._works("train", "--resume", name, "--iterations", "4", "--threads", "1")
        return "used"

    def _works(self, *words: str) -> None:
        done = run(*words)
        assert done.returncode == 0, done.stderr[-300:]
        printed = done.stdout + done.stderr
        assert visible_lines(printed) == printed
        assert "Warning" not in printed


class _no_network:
    """Nothing is looked up, and nothing connects, except what listens on this machine."""

    def __enter__(self) -> None:
        self.before = socket.getaddrinfo, socket.create_connection
        socket.getaddrinfo = socket.create_connection = self._refuse  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        socket.getaddrinfo, socket.create_connection = self.before

    def _refuse(self, *arguments: Any, **_: Any) -> Any:
        raise AssertionError(f"looked up {os.fsdecode(str(arguments[:1]))[:100]}")
