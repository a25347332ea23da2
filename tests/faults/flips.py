"""Files of every kind that the project writes, damaged one bit or one page at a time, and opened again.

A changed file is never accepted: it is refused in one line, or, where it can be made again (a cache, a checkpoint with
one before it, a match that was kept), it is set aside and the result is that of the undamaged file, to the bit.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import equipoise
from attempts import REFUSED, Ended, isolated
from attempts import run as run_command
from dose import Tally
from waiting import GUARD

PAGE = 4096
REBUILT = "rebuilt"

DECK = """GAMEDEF
limit
numPlayers = 2
numRounds = 2
blind = 10 5
raiseSize = 10 10
firstPlayer = 2 1
maxRaises = 1 1
numSuits = 3
numRanks = 4
numHoleCards = 2
numBoardCards = 0 2
END GAMEDEF
"""
SPOT = """board = "Qs Jh 2h 8d 5c"
pot = 100
stack = 200
ranges = { oop = "QQ,JJ,T9s,76s", ip = "AQ,KQ,AJs,T9s" }
betting = { bet = [0.5, "all-in"] }
"""


@dataclass(frozen=True)
class Damage:
    """One change of a file: what kind, and where."""

    kind: str
    at: int
    extra: bytes = b""

    def apply(self, data: bytes) -> bytes:
        """The changed bytes."""
        if self.kind == "flip":
            return data[: self.at // 8] + bytes([data[self.at // 8] ^ 1 << self.at % 8]) + data[self.at // 8 + 1 :]
        if self.kind == "cut":
            return data[: self.at]
        if self.kind == "grown":
            return data + self.extra
        end = min(self.at + PAGE, len(data))
        return data[: self.at] + bytes(end - self.at) + data[end:]

    def __str__(self) -> str:
        where = f"bit {self.at % 8} of byte {self.at // 8}" if self.kind == "flip" else f"at {self.at}"
        return f"{self.kind} {where}" + (f" by {len(self.extra)} bytes" if self.extra else "")


def draw_damage(data: bytes, rng: Random) -> Damage:
    """Seven in ten a flipped bit, half of those in the file's first page; else a cut, growth or a zeroed page."""
    kind = rng.choices(("flip", "cut", "grown", "zeroed"), (7, 1, 1, 1))[0]
    if kind == "flip":
        return Damage(kind, rng.randrange(8 * (min(len(data), PAGE) if rng.random() < 0.5 else len(data))))
    if kind == "cut":
        return Damage(kind, rng.choice((0, len(data) - 1, rng.randrange(len(data)))))
    if kind == "grown":
        more = rng.choice((1, 8, 100, PAGE))
        return Damage(kind, len(data), rng.choice((bytes(more), b"\n" * more, rng.randbytes(more))))
    pages = [at for at in range(0, len(data), PAGE) if any(data[at : at + PAGE])]
    return Damage(kind, rng.choice(pages))


@dataclass(frozen=True)
class Artefact:
    """A kind of file: the folder with it, its name there, and what opens it (a folder in, plain values out).

    `rebuilds`: a result may come from a damaged file, if it is that of the whole one; `replaced`: and if the damaged
    bytes are gone then. `must`: it must come.
    """

    name: str
    folder: Path
    file: str
    open: Callable[[Path], Any]
    rebuilds: bool = False
    replaced: bool = False
    must: bool = False


def make_artefacts(folder: Path) -> dict[str, Artefact]:
    """One of each kind, small."""
    run_folder, overrides = folder / "run", ["solver={method='cfr-br',trunk=1,seed=3}", "measure.method=none"]
    for until in (40, 60):
        equipoise.train("leduc", run_folder, iterations=until, threads=1, resume=until > 40, overrides=overrides)
    newest = sorted((run_folder / "checkpoints").glob("*.ckpt"))[-1]

    def resume(at: Path) -> Any:
        equipoise.train("leduc", at, iterations=70, threads=1, resume=True, overrides=overrides)
        return [equipoise.load_strategy(at / f"strategy.{kind}").stored.tobytes() for kind in ("float32", "u8")]

    def strategy(name: str) -> Callable[[Path], Any]:
        def opened(at: Path) -> Any:
            player = equipoise.load_player(str(at / name))
            return [
                player.name.rpartition("/")[2],
                equipoise.load_strategy(at / name).stored.tobytes(),
                _show(at / name),
            ]

        return opened

    (folder / "small.game").write_text(DECK)
    found = [
        Artefact("checkpoint", run_folder, f"checkpoints/{newest.name}", resume, rebuilds=True, must=True),
        Artefact("metrics", run_folder, "metrics.jsonl", resume, rebuilds=True, must=True),
        Artefact("list of files", run_folder, "checkpoints/written", resume, rebuilds=True, must=True),
        Artefact("strategy.float32", run_folder, "strategy.float32", strategy("strategy.float32")),
        Artefact("strategy.u8", run_folder, "strategy.u8", strategy("strategy.u8")),
        _solution(folder / "solution"),
        _pair(folder / "cup"),
        _flops(folder / "flops", folder / "small.game"),
        _map_file(folder / "map"),
    ]
    return {artefact.name: artefact for artefact in found}


def _show(path: Path) -> Any:
    view = equipoise.show_strategy(str(path)).as_json()
    view.pop("run", None)
    return json.loads(json.dumps(view).replace(str(path), "FILE"))


def _solution(folder: Path) -> Artefact:
    folder.mkdir()
    equipoise.solve(equipoise.read_spot(SPOT), iterations=30, threads=1).save(folder / "spot.solution")

    def opened(at: Path) -> Any:
        solution = equipoise.Solution.load(at / "spot.solution")
        return json.loads(json.dumps([solution.as_json(by_hand=True), solution.iterations, solution.history]))

    return Artefact("solution", folder, "spot.solution", opened)


def _pair(folder: Path) -> Artefact:
    folder.mkdir()
    names = ("always-call", "uniform", "always-raise")

    def opened(at: Path) -> Any:
        players = [equipoise.load_player(name, "kuhn") for name in names]
        found = equipoise.round_robin(players, hands=40, threads=1, out=at / "cup").as_json()
        return [found["mbb_per_hand"], found["ci95"]]

    opened(folder)
    pair = sorted((folder / "cup.pairs").iterdir())[0]
    return Artefact("pair", folder, f"cup.pairs/{pair.name}", opened, rebuilds=True, replaced=True)


def _flops(folder: Path, game: Path) -> Artefact:
    folder.mkdir()

    def opened(at: Path) -> Any:
        out = at / "uniform.flops"
        found = equipoise.measure_agent(
            "uniform", game=str(game), method="exact", sample_flops=20, seed=2, threads=1, out=out
        ).as_json()
        found.pop("seconds", None)
        return found

    opened(folder)
    return Artefact("flops", folder, "uniform.flops", opened, rebuilds=True, replaced=True)


def _map_file(folder: Path) -> Artefact:
    """A map that a user saved."""
    folder.mkdir()
    rules = equipoise.load_game("leduc")
    recipe = {"game": "leduc", "cards": {"flop": {"method": "percentile", "buckets": 2}}}
    equipoise.build_abstraction(recipe).save(folder / "mine.buckets")

    def opened(at: Path) -> Any:
        found = equipoise.BucketMap.load(at / "mine.buckets", rules)
        return [np.asarray(found.buckets_of_board(1, (card,))).tobytes() for card in range(6)]

    return Artefact("map", folder, "mine.buckets", opened)


def flip_many(artefact: Artefact, tries: int, rng: Random, scratch: Path, tally: Tally) -> None:
    """Damage copies of a file and open each."""
    data = (artefact.folder / artefact.file).read_bytes()
    expected = _expected(artefact, scratch / "undamaged")

    def attempt(damage: Damage) -> tuple[str, str]:
        at = scratch / "damaged"
        shutil.rmtree(at, ignore_errors=True)
        shutil.copytree(artefact.folder, at)
        damaged = damage.apply(data)
        (at / artefact.file).write_bytes(damaged)
        found = artefact.open(at)  # may refuse: judged by the caller
        if found != expected:
            return "wrong", f"{damage}: accepted, with another result"
        left = (at / artefact.file).exists() and (at / artefact.file).read_bytes() == damaged
        if not artefact.rebuilds or (artefact.replaced and left):
            return "accepted", f"{damage}: accepted, with the same result"
        return REBUILT, ""

    drawn = [draw_damage(data, rng) for _ in range(tries)]
    drawn = [damage for damage in drawn if damage.apply(data) != data]
    for damage, outcome, fault in isolated(drawn, attempt, guard=GUARD):
        if outcome == REFUSED and artefact.must:
            fault = fault or "refused, where it must go on"
        tally.add(outcome, fault=f"{damage}: {fault}" if fault and str(damage) not in fault else fault)


def _expected(artefact: Artefact, at: Path) -> Any:
    """What the undamaged file gives, worked out in a child: nothing of it stays in this process's memory."""

    def attempt(_: None) -> tuple[str, Any]:
        shutil.copytree(artefact.folder, at)
        return "opened", artefact.open(at)

    ((_, outcome, found),) = isolated([None], attempt, guard=GUARD)
    assert outcome == "opened", found
    return found


EQUITY = ("equity", "AhKh,7c7d", "QQ,JTs", "--board", "2c 7d Jh", "--threads", "1", "--json")
BUCKET = ("abstraction", "bucket", "cached.toml", "AhKh", "--board", "2c 7d Jh", "--json")
CACHED = """game = "holdem.two-four"
[cards]
preflop = { method = "percentile", buckets = 3 }
flop = { method = "emd", buckets = 4, bins = 5, sample = 500, iterations = 2 }
"""  # large enough for its features to be kept, and quick to cluster
LISTING = """
import runpy, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
try:
    runpy.run_module("equipoise", run_name="__main__", alter_sys=True)
finally:
    print(*opened, sep="\\n", file=sys.stderr)
"""
MAPS = "*.buckets"


@dataclass(frozen=True)
class CacheUse:
    """A command that reads the cache: which of the files it reads are damaged, and which are removed before it runs."""

    command: tuple[str, ...]
    damaged: str  # a pattern of paths
    removed: str = ""


CACHE_USES = {
    "kernels": CacheUse(EQUITY, "*"),
    "cached map": CacheUse(BUCKET, MAPS),
    "cached arrays": CacheUse(BUCKET, "*arrays/*", removed=MAPS),
}


class Cache:
    """A cache of its own for one command, and the files of it that the command really reads."""

    def __init__(self, folder: Path, use: CacheUse) -> None:
        self.folder, self.use = folder, use
        self.whole, self.scratch = folder / "whole", folder / "damaged"
        (folder / "cached.toml").write_text(CACHED)
        copy_cache(_own_cache(), self.whole, most=MOST_COPIED)
        for pattern in (MAPS, "*arrays/*"):
            self._remove(self.whole, pattern)
        built = self.run(self.whole, guard=GUARD)
        self._remove(self.whole, use.removed)
        listed = self.run(self.whole, prefix=("-c", LISTING), guard=GUARD)
        assert not built.code, built.err
        assert built.out == listed.out, "another result from the cache"
        self.expected = built.out
        self._remove(self.whole, use.removed)
        opened = {Path(line) for line in listed.err.splitlines() if line.startswith(str(self.whole))}
        found = sorted(path for path in opened if path.is_file() and path.match(use.damaged) and path.stat().st_size)
        self.files = [path.relative_to(self.whole) for path in found]
        assert self.files, f"nothing like {use.damaged} was read from the cache"

    def run(self, cache: Path, **how: Any) -> Ended:
        """The command, with a cache."""
        return run_command(*self.use.command, cache=cache, cwd=self.folder, **how)

    def _remove(self, cache: Path, pattern: str) -> None:
        for path in cache.rglob("*") if pattern else ():
            if path.match(pattern) and path.is_file():
                path.unlink()

    def flip_many(self, tries: int, rng: Random, tally: Tally) -> None:
        """Damage one file, run the command, and see."""
        for _ in range(tries):
            file = rng.choice(self.files)
            data = (self.whole / file).read_bytes()
            damage = draw_damage(data, rng)
            if damage.apply(data) == data:
                continue
            shutil.rmtree(self.scratch, ignore_errors=True)
            copy_cache(self.whole, self.scratch)
            (self.scratch / file).unlink()  # it is a link
            (self.scratch / file).write_bytes(damage.apply(data))
            ended = self.run(self.scratch, guard=GUARD)
            outcome, fault = self._judge(ended, self.scratch / file, damage.apply(data))
            tally.add(outcome, fault=f"{file.name}, {damage}: {fault}" if fault else "")

    def _judge(self, ended: Ended, path: Path, damaged: bytes) -> tuple[str, str]:
        if ended.fault or ended.code:
            return "failed", ended.fault or f"exit code {ended.code}: {ended.last_line}"
        if ended.out != self.expected:
            return "wrong", f"another result: {ended.out[:200]}"
        if path.exists() and path.read_bytes() == damaged:
            return "accepted", "accepted, with the same result"
        return REBUILT, ""


MOST_COPIED = 1 << 23  # bytes of a file


def _own_cache() -> Path:
    """The cache of this user: its kernels save the copies minutes."""
    named = os.environ.get("EQUIPOISE_CACHE")
    return Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise")


def copy_cache(cache: Path, copy: Path, most: int | None = None) -> None:
    """A cache by hard links, without large files: files in it are replaced, and never written to."""
    copy.mkdir(mode=0o700)
    for path in sorted(cache.rglob("*")):
        target = copy / path.relative_to(cache)
        with contextlib.suppress(FileNotFoundError):  # another process has just replaced it
            if path.is_dir():
                target.mkdir(mode=0o700)
            elif most is None or path.stat().st_size <= most:
                _link(path, target)


def _link(path: Path, target: Path) -> None:
    try:
        target.hardlink_to(path)
    except OSError:  # on another disk
        shutil.copy2(path, target)
