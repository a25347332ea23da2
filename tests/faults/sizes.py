"""Absurd sizes under a limit on memory, and a disk without room: one line, or a long job that can be interrupted.

Every command runs in a process of its own that may have six gigabytes. It is refused in one line; or it finishes; or it
is still busy after a while, and then ends cleanly at Ctrl-C. No traceback, no MemoryError, no crash, no silence.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import equipoise
from attempts import GIGABYTE, Ended, finish, run, start
from dose import Tally
from waiting import GUARD

MEMORY = 6 * GIGABYTE
PATIENCE = 8.0  # seconds of CPU time after which a long job is interrupted

MANY_SIZES = "[betting]\nbet = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0]\n"
DIGITS, HEX = "9" * 20, "0x" + "f" * 6000
LARGE = 10**18
SPOT = """board = "Qs Jh 2h 8d 5c"
pot = {pot}
stack = {stack}
ranges = {{ oop = "{range}", ip = "AQ" }}
betting = {{ bet = [{bet}] }}
{more}
"""
GAME = """GAMEDEF
{limit}
numPlayers = 2
numRounds = {rounds}
{stack}
blind = {blind}
raiseSize = {raise_size}
firstPlayer = 1
maxRaises = {raises}
numSuits = {suits}
numRanks = {ranks}
numHoleCards = {holes}
numBoardCards = {board}
END GAMEDEF
"""


def spot(pot: object = 100, stack: object = 200, range_: str = "QQ", bet: str = "0.5", more: str = "") -> str:
    """A spot with one thing out of proportion."""
    return SPOT.format(pot=pot, stack=stack, range=range_, bet=bet, more=more)


def game(**changes: object) -> str:
    """A small no-limit game with one thing out of proportion."""
    usual: dict[str, object] = {
        "limit": "nolimit", "rounds": 1, "stack": "stack = 20 20", "blind": "1 1", "raise_size": "", "raises": "3",
        "suits": 1, "ranks": 3, "holes": 1, "board": "0",
    }  # fmt: skip
    text = GAME.format(**(usual | changes))
    return "".join(line + "\n" for line in text.splitlines() if line.strip() and line != "raiseSize = ")


@dataclass(frozen=True)
class Case:
    """A command, the files it needs, and whether it must be refused (else it may also be long, or finish)."""

    arguments: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    refused: bool = False
    sparse: dict[str, int] = field(default_factory=dict)  # files of so many zeros, which take no room

    @property
    def name(self) -> str:
        text = " ".join(word if len(word) < 40 else f"{word[:20]}...({len(word)})" for word in self.arguments)
        return text + (f" with {', '.join(self.files)}" if self.files else "")


def refused(*arguments: str, **files: str) -> Case:
    """A command that must be refused; underscores in names of files stand for dots."""
    return Case(arguments, {name.replace("_", "."): text for name, text in files.items()}, refused=True)


def either(*arguments: str, **files: str) -> Case:
    """A command that may be refused, long, or finish."""
    return Case(arguments, {name.replace("_", "."): text for name, text in files.items()})


TRAIN = ("train", "my.toml", "--out", "run", "--threads", "1")
ONE = ("--threads", "1")
LEDUC = ("train", "leduc", "--out", "run", "--iterations")
NAMED = ("match", "uniform", "always-call", "--game", "leduc")
FOUR: dict[str, object] = {
    "limit": "limit", "rounds": 2, "stack": "", "blind": "10 5", "raise_size": "10 10", "raises": "1 1",
    "suits": 4, "ranks": 13, "holes": 4, "board": "0 3",
}  # fmt: skip


def small_cases() -> list[Case]:
    """The first few are the quick dose: one of each sort."""
    return [
        refused("games", "holdem.nolimit", "--menu", "many.toml", many_toml=MANY_SIZES),
        refused("train", "leduc", "--out", "run", "--iterations", "10", "--threads", "100000"),
        either(*NAMED, "--hands", str(LARGE), *ONE),
        refused("spot", "solve", "hex.toml", hex_toml=spot(pot=HEX)),
        refused("spot", "solve", "keys.toml", keys_toml=spot(more="a." * 50_000 + "a = 1")),
        either(
            "spot",
            "solve",
            "spaces.toml",
            *ONE,
            "--iterations",
            "2",
            spaces_toml=spot(range_="QQ" + " " * 100_000 + "JJ"),
        ),
        refused("games", "big.game", big_game=game(stack=f"stack = {2**31} {2**31}")),
        refused("games", "leduc", "--buckets", f"{10**15},{10**15}"),
    ]


def all_cases() -> list[Case]:
    """Numbers by option, then files by kind."""
    recipe = 'game = "leduc"\n[stop]\niterations = 10\n'
    nolimit = 'game = "holdem.nolimit"\n[stop]\niterations = 10\n'
    equity = ("equity", "AhKh", "QQ", "--board", "2c 7d Jh")
    cases = small_cases()
    for threads in ("100000", DIGITS):
        cases += [
            refused(*equity, "--threads", threads),
            refused(*NAMED, "--hands", "100", "--threads", threads),
            refused("measure", "uniform", "--game", "leduc", "--threads", threads),
            refused("measure", "uniform", "--game", "leduc", "--method", "lbr", "--hands", "100", "--threads", threads),
            refused("spot", "solve", "kuhn", "--threads", threads, "--out", "kuhn.solution"),
            refused("train", "leduc", "--out", "run", "--iterations", "10", "--threads", threads),
        ]
    for number in (str(LARGE), DIGITS, "9" * 5000):
        cases += [
            either(*NAMED, "--hands", number, *ONE),
            either(*NAMED, "uniform?post=purify", "--hands", number, "--out", "cup", *ONE),
            either(*NAMED, "--hands", number, "--aivat", *ONE),
            either("measure", "uniform", "--game", "leduc", "--method", "lbr", "--hands", number, *ONE),
            either("measure", "uniform", "--game", "holdem.two-four", "--flops", number, *ONE),
            either("train", "leduc", "--out", "run", "--iterations", number, *ONE, "--set", "measure.method=none"),
            either("spot", "solve", "kuhn", "--iterations", number, "--target", "0", *ONE, "--out", "kuhn.solution"),
            either(*NAMED, "--hands", "100", "--seed", number, *ONE),
            either(
                "measure", "uniform", "--game", "leduc", "--method", "lbr", "--hands", "100", "--seed", number, *ONE
            ),
            either(
                "abstraction", "report", "my.toml", "--samples", number, my_toml=recipe.replace("leduc", "holdem.flop")
            ),
            either("games", "leduc", "--buckets", f"{number},{number}"),
            either("games", "leduc", "--trunk", number),
            either("play", "uniform", "--game", "leduc", "--hands", number),
        ]
        cases += [
            refused("train", "leduc", "--out", "run", "--iterations", "10", "--set", f"{key}={number}")
            for key in ("solver.threads", "checkpoint.keep", "cards.preflop.buckets")
        ]
        cases += [
            either("train", "leduc", "--out", "run", "--iterations", "10", *ONE, "--set", f"{key}={number}")
            for key in ("solver.seed", "solver.period", "stop.iterations")
        ]
        cases += [
            either(*LEDUC, "2", *ONE, "--set", f"solver={{method='{method}',{key}={number}}}")
            for method, key in (("pcs", "boards"), ("cfr-br", "trunk"), ("cfr-br", "currents"), ("cfr-br", "stage"))
        ]  # fmt: skip
    for word in ("nan", "inf", "1e308", "-1", "1e-308"):
        cases += [
            either("train", "leduc", "--out", "run", "--minutes", word, *ONE, "--set", "measure.method=none"),
            either(
                "measure", "uniform", "--game", "leduc", "--method", "lbr", "--minutes", word, "--hands", "100", *ONE
            ),
            either("spot", "solve", "kuhn", "--target", word, "--iterations", "10", *ONE, "--out", "kuhn.solution"),
        ]
    many = nolimit + MANY_SIZES
    cases += [
        refused(*TRAIN, my_toml=many),
        refused("measure", "uniform", "--game", "holdem.nolimit", "--menu", "m.toml", *ONE, m_toml=MANY_SIZES),
        refused("match", "uniform", "always-call", "--game", "holdem.nolimit", "--menu", "m.toml", m_toml=MANY_SIZES),
        refused("spot", "solve", "holdem.nolimit", "--menu", "m.toml", m_toml=MANY_SIZES),
        refused("abstraction", "report", "my.toml", my_toml=many),
        refused("spot", "solve", "s.toml", s_toml=spot(stack=10**7, bet="0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.5,2.0")),
        either("games", "deep.game", deep_game=game(limit="limit", rounds=4, stack="", raise_size="1 1 1 1",
               raises="200 200 200 200", suits=4, ranks=13, holes=2, board="0 3 1 1")),
    ]  # fmt: skip
    for chips in (2**30, 2**31, 2**32, 2**63, 10**20):
        text = game(stack=f"stack = {chips} {chips}")
        cases += [
            either("games", "g.game", g_game=text),
            either("spot", "solve", "g.game", "--iterations", "2", *ONE, g_game=text),
            either("match", "uniform", "always-raise", "--game", "g.game", "--hands", "100", *ONE, g_game=text),
            either("spot", "solve", "s.toml", "--iterations", "2", *ONE, s_toml=spot(stack=chips)),
            either("spot", "solve", "s.toml", "--iterations", "2", *ONE, s_toml=spot(pot=chips)),
        ]
    for nested in ("[" * 100_000, "{a=" * 100_000, "a." * 50_000 + "a=1", f"x = {HEX}", f"x = {'9' * 100_000}"):
        cases += [
            refused("spot", "solve", "s.toml", s_toml=spot(more=f"y = {nested}" if nested[0] in "[{" else nested)),
            refused(*TRAIN, my_toml=f"{recipe}[solver]\n" + (f"y = {nested}" if nested[0] in "[{" else nested)),
            refused("games", "holdem.nolimit", "--menu", "m.toml", m_toml=f"{MANY_SIZES}y = {nested}"),
            refused("train", "leduc", "--out", "run", "--iterations", "1", "--set", f"solver.seed={nested}"),
        ]
    four = game(**FOUR)
    cases += [
        either("games", "four.game", four_game=four),
        either("spot", "solve", "four.game", "--iterations", "1", *ONE, four_game=four),
        either("match", "uniform", "always-call", "--game", "four.game", "--hands", "100", *ONE, four_game=four),
        either("measure", "uniform", "--game", "four.game", *ONE, four_game=four),
        either("measure", "uniform", "--game", "four.game", "--method", "lbr", "--hands", "100", *ONE, four_game=four),
        either(*TRAIN, my_toml='game = "four.game"\n[stop]\niterations = 1\n', four_game=four),
        either("equity", "AhKhQhJh", "QQ"),
        either("equity", "AA" + " " * 100_000, "QQ", "--board", "2c 7d Jh", *ONE),
        either("equity", "AA " * 40_000, "QQ", "--board", "2c 7d Jh", *ONE),
        either("equity", "AA," + " " * 100_000 + "KK", "QQ", "--board", "2c 7d Jh", *ONE),
        either("equity", ",".join(["AA"] * 30_000), "QQ", "--board", "2c 7d Jh", *ONE),
    ]
    for command in (("spot", "solve"), ("games",), ("train",), ("abstraction", "report")):
        more = ("--out", "run") if command == ("train",) else ()
        cases += [
            Case((*command, "/dev/zero", *more), refused=True),
            Case((*command, "zeros.toml", *more), refused=True, sparse={"zeros.toml": 20 * GIGABYTE}),
        ]
    cases += [
        Case(("log", "replay", "zeros.log", "--game", "leduc"), refused=True, sparse={"zeros.log": 20 * GIGABYTE}),
        Case(("match", "zeros.u8", "uniform"), refused=True, sparse={"zeros.u8": 20 * GIGABYTE}),
        Case(("spot", "show", "zeros.solution"), refused=True, sparse={"zeros.solution": 20 * GIGABYTE}),
        Case(("games", "holdem.nolimit", "--menu", "/dev/zero"), refused=True),
    ]
    return cases


def try_case(case: Case, folder: Path, tally: Tally) -> None:
    """Run a case in a folder of its own."""
    folder.mkdir()
    for name, text in case.files.items():
        (folder / name).write_text(text)
    for name, size in case.sparse.items():
        with (folder / name).open("wb") as file:
            file.truncate(size)
    try:
        process = start(case.arguments, memory=MEMORY, cwd=folder)
    except OSError as error:  # an argument that is longer than the system allows never comes to us
        tally.add(f"not started ({error.strerror})")
        return
    ended = finish(process, GUARD, interrupt_after=None if case.refused else PATIENCE)
    fault = ended.fault
    if case.refused and not fault and ended.code != 2:
        fault = f"accepted, with exit code {ended.code}"
    tally.add(ended.word, fault=f"{case.name}: {fault}" if fault else "")


class Disk:
    """A small disk of its own, which can be filled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self) -> None:
        """Leave no byte."""
        with contextlib.suppress(OSError), (self.path / "filler").open("wb", buffering=0) as file:
            for size in (4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def clear(self) -> None:
        """Make room again."""
        (self.path / "filler").unlink()


@contextlib.contextmanager
def small_disk(path: Path, kilobytes: int) -> Iterator[Disk | None]:
    """A disk of so many kilobytes, or nothing where this user may not mount one."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(path)]
    try:
        mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        yield None
        return
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)


SETS = (
    "--threads",
    "1",
    "--set",
    "measure.method=none",
    "--set",
    "solver.seed=3",
    "--set",
    "checkpoint.minutes=0.0003",
)


def _full_fault(ended: Ended) -> str:
    """A full disk is one line, and an error: of what was asked for (2), or of the output (1)."""
    if ended.code in (1, 2) and len(ended.complaints) == 1 and "Traceback" not in ended.err:
        return ""
    return ended.fault or "did not notice the full disk"


def full_train(disk: Disk, beside: Path, tally: Tally) -> None:
    """A run goes on until the disk is full; then there is room, and it ends as if nothing had been."""

    def resume(out: Path, until: int) -> Ended:
        return run("train", "--resume", str(out), "--iterations", str(until), *SETS, guard=GUARD)

    whole, half = beside / "whole", disk.path / "run"
    for out, until in ((whole, 200_000), (half, 100_000)):
        equipoise.train("leduc", out, iterations=until, threads=1, overrides=SETS[3::2])
    before = _stored(half)
    disk.fill()
    ended = resume(half, 200_000)
    tally.add(f"train {ended.word}", fault=_full_fault(ended))
    same = _stored(half) == before
    tally.add("strategy whole" if same else "strategy lost", fault="" if same else "another strategy")
    disk.clear()
    ended = resume(half, 200_000)
    fault = ended.fault or (ended.code and ended.last_line)
    if not fault and _stored(half) != _stored(whole):
        fault = "other bits after a full disk"
    tally.add("resumed", fault=str(fault or ""))


def _stored(folder: Path) -> bytes:
    return bytes(equipoise.load_strategy(folder).stored.tobytes())


def full_solve(disk: Disk, tally: Tally) -> None:
    """A solution that does not fit is not there at all, and one that was there stays."""
    arguments = ("spot", "solve", "leduc", "--iterations", "20", "--target", "0", *ONE, "--out")
    equipoise.solve("leduc", iterations=20, threads=1).save(disk.path / "kept.solution")
    kept = (disk.path / "kept.solution").read_bytes()
    disk.fill()
    ended = run(*arguments, str(disk.path / "new.solution"), guard=GUARD)
    tally.add(f"solve {ended.word}", fault=_full_fault(ended))
    torn = (disk.path / "new.solution").exists() or (disk.path / "kept.solution").read_bytes() != kept
    tally.add("files whole" if not torn else "files torn", fault="a torn solution" if torn else "")
    disk.clear()


def full_log(disk: Disk, tally: Tally) -> None:
    """A log that does not fit ends the match in one line, and what is in it can be played again."""
    log = disk.path / "match.log"
    ended = run(*NAMED, "--hands", "20000", "--log", str(log), *ONE, guard=GUARD)
    tally.add(f"match {ended.word}", fault=_full_fault(ended))
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    (disk.path.parent / "whole.log").write_text("".join(whole))
    if whole:
        replayed = equipoise.replay(disk.path.parent / "whole.log", equipoise.load_game("leduc"))
        tally.add("hands replayed", fault="" if replayed.hands == len(whole) else "hands lost")
    log.unlink(missing_ok=True)


def full_output(tally: Tally) -> None:
    """Standard output that cannot be written to."""
    for arguments in (("games",), ("games", "leduc", "--json")):
        with Path("/dev/full").open("w") as full:
            process = start(arguments, stdout=full)
            ended = finish(process, GUARD)
        tally.add("full output", fault=_full_fault(ended))
