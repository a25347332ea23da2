"""Inputs of every kind that a person or a program may write, mutated, and read by the library or the command line.

Whatever comes in, a reader gives a value or refuses it in one line; it raises nothing else, and it ends. The mutations
are what editors, scripts and attackers do: words left out, doubled or swapped, numbers of a thousand digits or none at
all, other alphabets, NUL, nesting without end, lines of spaces.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path
from random import Random

import equipoise
from attempts import Ended, isolated
from dose import Tally
from waiting import GUARD

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "equipoise"

_TOKEN = re.compile(r"[A-Za-z_]+|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
NUMBERS = (
    *[
        "-1",
        "0",
        "1",
        "-0.0",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "1e-999",
        "0x7fffffffffffffff",
        "0b101",
        "0o777",
        "1_000",
        "00",
        "1.",
        ".5",
        "٣",
        "½",
    ],
    *(str(number) for number in (2**31, 2**32, 2**63, 2**64, 10**20)),
    "0x" + "f" * 6000,
    "9" * 5000,
)
WORDS = (
    *("", " ", "\0", "\n", "\r\n", "\x85", "\u2028", "\ufeff", "\u202e", "\U0001d7d9", "\ud800", "\\", "\\u0000"),
    *(
        [
            "é",
            "ß",
            "İ",
            "''",
            "'''",
            "[",
            "]",
            "[[",
            "{",
            "}",
            "(",
            ",",
            ",,",
            ";",
            ":",
            "=",
            "==",
            "#",
            "&",
            "?",
            "%",
            "/",
            "//",
            "..",
            "../..",
            "null",
            "true",
            "false",
            "none",
            "-",
            "--help",
        ]
    ),
    *(
        [
            '"',
            '"""',
            "all-in",
            "fold",
            "any",
            "random",
            "AA",
            "As",
            "AsAs",
            "23456789TJQKA",
            "*",
            "$HOME",
            "~",
            "2020-01-01T00:00:00Z",
            "[lock]",
            "a.b.c",
        ]
    ),
)


def mutate(text: str, rng: Random, others: tuple[str, ...]) -> str:
    """One to four mutations of a text."""
    for _ in range(rng.choices((1, 2, 3, 4), (8, 4, 2, 1))[0]):
        text = _mutated(_TOKEN.findall(text), rng, others)
    return text


def _mutated(tokens: list[str], rng: Random, others: tuple[str, ...]) -> str:
    at = rng.randrange(len(tokens)) if tokens else 0
    numbers = [i for i, token in enumerate(tokens) if token[:1].isdigit()]
    kind = rng.choices(KINDS, WEIGHTS)[0]
    if kind == "delete":
        del tokens[at : at + rng.randint(1, 6)]
    elif kind == "double":
        part = tokens[at : at + rng.randint(1, 20)]
        tokens[at:at] = part
    elif kind == "swap" and len(tokens) > 1:
        other = rng.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == "number":
        place = rng.choice(numbers) if numbers else at
        tokens[place : place + 1] = [rng.choice(NUMBERS)]
    elif kind == "sign":
        place = rng.choice(numbers) if numbers else at
        tokens[place:place] = ["-"]
    elif kind == "word":
        tokens[at : at + rng.randint(0, 1)] = [rng.choice(WORDS)]
    elif kind == "character":
        tokens[at:at] = [chr(rng.choice((rng.randrange(128), rng.randrange(0x3000))))]
    elif kind == "splice":
        taken = _TOKEN.findall(rng.choice(others))
        start = rng.randrange(max(1, len(taken)))
        tokens[at:at] = taken[start : start + rng.randint(1, 30)]
    elif kind == "cut":
        del tokens[at:]
    elif kind == "huge":
        tokens[at:at] = [_huge(rng)]
    elif kind == "deep":
        depth = rng.choice((10, 200, 1000, 20_000))
        opening, closing = rng.choice((("[", "]"), ("{a=", "}"), ('{"a":', "}"), ("(", ")")))
        tokens[at:at] = [opening * depth + "1" + closing * rng.choice((0, depth))]
    return "".join(tokens)


KINDS = ("delete", "double", "swap", "number", "sign", "word", "character", "splice", "cut", "huge", "deep")
WEIGHTS = (10, 8, 8, 12, 4, 12, 8, 8, 3, 1, 1)


def _huge(rng: Random) -> str:
    """A long text: spaces, digits, one key of many parts, commas, one word."""
    size = rng.choice((1_000, 20_000, 100_000))
    return rng.choice(
        (
            " " * size,
            "\t" * size,
            "9" * size,
            "a." * (size // 2) + "a = 1\n",
            "," * size,
            "A" * size,
            "[a]\n" * (size // 4),
        )
    )


@dataclass(frozen=True)
class Reader:
    """A kind of input: texts that are right, and what reads one."""

    name: str
    texts: tuple[str, ...]
    read: Callable[[str], object]
    weight: int = 10


def _recipes() -> tuple[str, ...]:
    return tuple(path.read_text() for path in sorted((PACKAGE / "runs").rglob("*.toml")))


LOCKED = """board = "Qs Jh 2h 8d 5c"
pot = 100
stack = 200
target = 0.5
[ranges]
oop = "QQ:0.5,JJ,T9s,76s"
ip = "AQ,KQo:0.25,AJs,T9s"
[betting]
bet = [0.5, "all-in"]
raise = [1.0]
cap = 3
all_in_threshold = 0.9
[betting.river.oop]
bet = [0.33]
[rake]
rate = 0.05
cap = 10
[[lock]]
line = "check, bet 50"
strategy = { fold = 0.5, call = "QQ:0.5" }
"""
MENU = """[betting]
bet = [0.5, "all-in"]
raise = [1.0, "min"]
cap = 4
all_in_threshold = 0.9
[betting.river]
bet = [0.33, 2]
"""
RANGES = ("QQ+,AKs,KQo:0.5", "TT-22,A5s-A2s", "AhKh:0.25,7c7d", "any", "AK")
PIO_RANGE = " ".join(["0", "0.5", "1"] * 442)
OVERRIDES = (
    "solver.seed=7", "solver.method=pcs", "solver={method='cfr-br',trunk=1}", "stop.iterations=100", "betting='pot'",
    "cards={preflop={method='percentile',buckets=2}}", "checkpoint={minutes=1.5,keep=3}", "measure.method=none",
    "game=kuhn", "stop={minutes=2}",
)  # fmt: skip
AGENTS = (
    "always-call", "uniform?post=purify", "always-raise?menu=pot&translate=pseudo-harmonic", "RUN?post=threshold:0.15",
    "RUN?post=tartanian7:0.2,edges=0.75/1.5,first=keep", "RUN?strategy=current", "RUN/strategy.u8?translate=nearest",
)  # fmt: skip
COMMANDS = (
    ("games", "leduc", "--buckets", "3,15"), ("games", "kuhn", "--trunk", "1", "--json"), ("games", "holdem.flop"),
    ("equity", "AhKh", "QQ+,AKs", "--board", "2c 7d Jh 8s", "--threads", "1", "--json"), ("strategy", "show", "RUN"),
    ("strategy", "show", "RUN", "--line", "check, bet 2, call", "--board", "Ks"), ("recipes",), ("reproduce",),
    ("match", "RUN?post=purify", "uniform", "--hands", "20", "--threads", "1", "--json"),
    ("log", "replay", "LOG", "--game", "holdem.nolimit"), ("measure", "RUN", "--method", "exact", "--threads", "1"),
    ("measure", "RUN", "--method", "lbr", "--hands", "100", "--bets", "1.0,all-in", "--from-street", "flop"),
    ("spot", "show", "SOLUTION", "--line", "check, bet 50", "--by-hand"), ("spot", "report", "SOLUTION"),
    ("spot", "report", "SOLUTION", "--flops", "QsJh2h, AsKd2c", "--target", "1", "--sort", "ev"),
    ("train", "leduc", "--out", "new", "--iterations", "2", "--threads", "1", "--set", "measure.method=none"),
)  # fmt: skip


class Readers:
    """All readers, with the small files they need."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run = folder, folder / "run"
        overrides = ["solver={method='cfr-br',trunk=1,seed=3}", "measure.method=none"]
        equipoise.train("leduc", self.run, iterations=20, threads=1, overrides=overrides)
        self.solution = equipoise.solve(equipoise.read_spot(LOCKED), iterations=5, threads=1)
        self.solution.save(folder / "spot.solution")
        self.leduc, self.nolimit = equipoise.load_game("leduc"), equipoise.load_game("holdem.nolimit")
        self.limit = equipoise.load_game("holdem.limit")
        self.command = next(iter(entry_points(group="console_scripts", name="equipoise"))).load()
        logs = [
            "".join((ROOT / "tests" / "data" / f"match-1000.{kind}.log").read_text().splitlines(keepends=True)[:8])
            for kind in ("nolimit", "limit")
        ]
        phh = (ROOT / "tests" / "data" / "sample.phh").read_text()
        (folder / "good.log").write_text(logs[0])
        players = [equipoise.load_player(name, "kuhn") for name in ("always-call", "uniform")]
        equipoise.round_robin(players, hands=40, threads=1, out=folder / "cup")
        self.pair = next((folder / "cup.pairs").iterdir())
        metrics, pair = (self.run / "metrics.jsonl").read_text(), _text(self.pair)
        games = tuple(equipoise_gamedefs())
        lines = ("check, bet 2, call", "bet 2, raise 4, fold", "check, check", "check,bet 2,raise 6,call|Ks", "|Kh")
        spots = tuple(path.read_text() for path in sorted((PACKAGE / "spots" / "examples").iterdir()))
        self.all = {
            reader.name: reader
            for reader in (
                Reader("spot", (LOCKED, *spots), self.read_spot),
                Reader("recipe", _recipes(), self.read_recipe),
                Reader("override", OVERRIDES, lambda text: equipoise.load_recipe("leduc", [text])),
                Reader("menu", (MENU, 'bet = [1.0, "all-in"]\n'), self.read_menu),
                Reader("abstraction", _recipes(), self.read_abstraction, weight=3),
                Reader("gamedef", games, self.read_game),
                Reader(
                    "range",
                    ("QQ+,AKs,KQo:0.5", "TT-22,A5s-A2s", "AhKh:0.25,7c7d", "any", "AK", PIO_RANGE),
                    equipoise.Range.read,
                ),
                Reader("board", ("Qs Jh 2h", "2c7dJh8s", "As, Kd"), self.read_board),
                Reader("line", lines, self.read_line),
                Reader("acpc log", tuple(logs), self.read_log),
                Reader("phh log", (phh, f"[1]\n{phh}\n[2]\n{phh}\n"), self.read_phh),
                Reader("agent", AGENTS, self.read_agent),
                Reader("metrics", (metrics,), self.read_metrics, weight=1),
                Reader("pair", (pair,), self.read_pair, weight=1),
                Reader("command", tuple("\x1f".join(words) for words in COMMANDS), self.read_command, weight=4),
            )
        }

        self._warm()

    def _warm(self) -> None:
        """Read every text as it is, once: kernels are compiled before a guard is set."""
        for reader in self.all.values():
            for text in reader.texts:
                with contextlib.suppress(equipoise.InputError):
                    reader.read(text)

    def file(self, name: str, text: str) -> Path:
        """The text as a file; half of a surrogate pair makes it no UTF-8."""
        path = self.folder / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return path

    def read_spot(self, text: str) -> object:
        spot = equipoise.read_spot(text)
        if len(spot.board) == 5 and len(text) < 2000:  # locks are checked against the tree
            return equipoise.solve(spot, iterations=1, threads=1)
        return spot

    def read_recipe(self, text: str) -> object:
        return equipoise.load_recipe(self.file("mutated.toml", text)).fingerprint

    def read_menu(self, text: str) -> object:
        return equipoise.load_menu(self.file("menu.toml", text), self.nolimit)

    def read_abstraction(self, text: str) -> object:
        """Recipes that are read are built for Leduc only: its six cards take milliseconds."""
        text = re.sub(r'^game = ".*"', 'game = "leduc"', text, flags=re.MULTILINE)
        return equipoise.build_abstraction(self.file("cards.toml", text), game="leduc").fingerprint

    def read_game(self, text: str) -> object:
        rules = equipoise.read_gamedef(text)
        return equipoise.load_game(self.file("mutated.game", text)).fingerprint == rules.fingerprint

    def read_board(self, text: str) -> object:
        deck = equipoise.Deck(13, 4)
        cards = deck.read_cards(text)
        return equipoise.equity(equipoise.Range.read("AhKh"), equipoise.Range.read("QQ"), cards, threads=1)

    def read_line(self, text: str) -> object:
        line, _, board = text.partition("|")
        with contextlib.suppress(equipoise.InputError):
            self.solution.strategy(line, board)
        return equipoise.show_strategy(self.run, line, board).as_json()

    def read_log(self, text: str) -> object:
        rules = self.limit if "limit" in text[:40] and "nolimit" not in text[:40] else self.nolimit
        return equipoise.replay(self.file("mutated.log", text), rules).as_json()

    def read_phh(self, text: str) -> object:
        return equipoise.replay(self.file("mutated.phh", text), self.nolimit).as_json()

    def read_agent(self, text: str) -> object:
        return equipoise.load_player(text.replace("RUN", str(self.run)), "leduc").name

    def read_metrics(self, text: str) -> object:
        """A run goes on whatever its metrics say."""
        self.file("run/metrics.jsonl", text)
        overrides = ["solver={method='cfr-br',trunk=1,seed=3}", "measure.method=none"]
        try:
            return equipoise.train(
                equipoise.load_recipe("leduc", overrides), self.run, iterations=20, threads=1, resume=True
            )
        except equipoise.InputError as error:
            raise AssertionError(f"refused: {error}") from None

    def read_pair(self, text: str) -> object:
        """A pair file that was changed is played again, or refused: the result is the same."""
        self.pair.write_bytes(text.encode("utf-8", "surrogatepass"))
        players = [equipoise.load_player(name, "kuhn") for name in ("always-call", "uniform")]
        return equipoise.round_robin(players, hands=40, threads=1, out=self.folder / "cup").as_json()

    def read_command(self, text: str) -> object:
        """A command line, in this process."""
        places = {"RUN": self.run, "LOG": self.folder / "good.log", "SOLUTION": self.folder / "spot.solution"}
        words = _kept_on_the_desk(text.split("\x1f"))
        for name, path in places.items():
            words = [word.replace(name, str(path)) for word in words]
        ended = self.called([word.replace("\0", "") for word in words])
        if ended.fault:
            raise AssertionError(ended.fault)
        if ended.code == 2:
            raise equipoise.InputError("refused")
        return ended.code

    def called(self, words: list[str]) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        before, sys.argv, code = sys.argv, ["equipoise", *words], 0
        desk = self.folder / "desk"  # mutated names of files are relative to it
        shutil.rmtree(desk, ignore_errors=True)
        desk.mkdir()
        try:
            with contextlib.chdir(desk), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                self.command()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        finally:
            sys.argv = before
        return Ended(code, out.getvalue(), err.getvalue())


def _kept_on_the_desk(words: list[str]) -> list[str]:
    """The same command, but nothing that it writes can lie in another folder, whatever became of its name."""
    kept = words[:1]
    for before, word in pairwise(words):
        kept.append(re.sub(r"[/~]|\.\.", "_", word) if "out" in before or "out" in word else word)
    return kept


def equipoise_gamedefs() -> list[str]:
    """The built-in games, as their authors wrote them."""
    reports = [equipoise.load_game(name) for name in equipoise.preset_names()]
    return [str(equipoise.game_report(rules, None, ()).as_json()["gamedef"]) for rules in reports if rules.limit]


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def mutate_many(readers: Readers, tries: int, rng: Random, tally: Tally) -> None:
    """Draw mutated texts and read each."""
    chosen = list(readers.all.values())
    every = tuple(text for reader in chosen for text in reader.texts if len(text) < 3000)
    drawn: list[tuple[str, str]] = []
    for reader in rng.choices(chosen, [reader.weight for reader in chosen], k=tries):
        text = rng.choice(reader.texts)
        drawn.append((reader.name, _mutate_words(text, rng) if reader.name == "command" else mutate(text, rng, every)))

    def attempt(one: tuple[str, str]) -> tuple[str, str]:
        readers.all[one[0]].read(one[1])
        return "read", ""

    for (name, text), outcome, fault in isolated(drawn, attempt, guard=GUARD):
        shown = text if len(text) < 200 else f"{text[:200]}... ({len(text)} characters)"
        tally.add(outcome, fault=f"{name}: {fault}; input {json.dumps(shown)}" if fault else "")


def _mutate_words(command: str, rng: Random) -> str:
    """A command line with one word mutated, left out or doubled; its numbers grow in sizes.py, not here."""
    words = command.split("\x1f")
    at = rng.randrange(1, len(words)) if len(words) > 1 else 0
    kind = rng.random()
    if kind < 0.1:
        del words[at]
    elif kind < 0.2:
        words.insert(at, rng.choice(words))
    elif not words[at].isdigit():
        words[at] = mutate(words[at], rng, ("2c 7d", "--json", "uniform"))[:2000]
    else:
        words[at] = rng.choice(("-1", "0", "nan", "1e3", "x", "1_0", "٣", "0x10", ""))
    return "\x1f".join(words)
