"""Files of every kind that the project writes, damaged one bit or one page at a time, and opened again.

A changed file is never accepted: it is refused in one line, or, where it can be made again (a cache, a checkpoint with
one before it, a match that was kept), it is set aside and the result is that of the undamaged file, to the bit.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from attempts import REFUSED, Ended, isolated, run
from dose import Tally

import equipoise

GUARD = 60.0
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
        Artefact("strategy.float32", run_folder, "strategy.float32", strategy("strategy.float32")),
        Artefact("strategy.u8", run_folder, "strategy.u8", strategy("strategy.u8")),
        _solution(folder / "solution"),
        _pair(folder / "cup"),
        _flops(folder / "flops", folder / "small.game"),
        _map_file(folder / "map"),
        *_cache_files(folder / "cache"),
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


# Large enough for its features to be kept in the cache, and quick to cluster.
CACHED = """game = "holdem.two-four"
[cards]
preflop = { method = "percentile", buckets = 3 }
flop = { method = "emd", buckets = 4, bins = 5, sample = 500, iterations = 2 }
"""
BOARDS = [(0, 1, 2), (5, 20, 51), (9, 13, 40)]


def _bucket_bytes(found: Any) -> list[bytes]:
    return [np.asarray(found.buckets_of_board(1, board)).tobytes() for board in BOARDS]


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


def _cache_files(folder: Path) -> Iterator[Artefact]:
    """A map, and features of hands, as the cache keeps them."""
    folder.mkdir(mode=0o700)

    def opened(at: Path) -> Any:
        with _cache(at):
            return _bucket_bytes(equipoise.build_abstraction(tomllib.loads(CACHED)))

    # In a child: what this process holds in memory already would not be read again.
    for _, _, fault in isolated([folder], lambda at: (str(len(opened(at))), ""), guard=10 * GUARD):
        assert not fault, fault
    outside = [path for path in sorted(folder.rglob("*")) if path.is_file() and "kernels" not in str(path)]
    (kept,) = [path for path in outside if path.suffix == ".buckets"]
    yield Artefact("cached map", folder, str(kept.relative_to(folder)), opened, rebuilds=True, replaced=True, must=True)

    def without_map(at: Path) -> Any:
        (at / kept.relative_to(folder)).unlink()
        return opened(at)

    for number, path in enumerate(path for path in outside if "arrays" in path.parts):
        name = f"cached array {number}"
        yield Artefact(
            name, folder, str(path.relative_to(folder)), without_map, rebuilds=True, replaced=True, must=True
        )


@contextlib.contextmanager
def _cache(folder: Path) -> Iterator[None]:
    before = os.environ.get("EQUIPOISE_CACHE")
    os.environ["EQUIPOISE_CACHE"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["EQUIPOISE_CACHE"]
        else:
            os.environ["EQUIPOISE_CACHE"] = before


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

    ((_, outcome, found),) = isolated([None], attempt, guard=10 * GUARD)
    assert outcome == "opened", found
    return found


EQUITY = ("equity", "AhKh,7c7d", "QQ,JTs", "--board", "2c 7d Jh", "--threads", "1", "--json")
LISTING = """
import runpy, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
try:
    runpy.run_module("equipoise", run_name="__main__", alter_sys=True)
finally:
    print(*opened, sep="\\n", file=sys.stderr)
"""


class Kernels:
    """A cache with the compiled kernels and tables of one small command, and the files of it that are really read."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.scratch = folder / "cache", folder / "damaged"
        self.cache.mkdir(mode=0o700)
        run(*EQUITY, cache=self.cache)
        listed = run(*EQUITY, cache=self.cache, prefix=("-c", LISTING))
        assert not listed.code, listed.err
        self.expected = listed.out
        opened = {Path(line) for line in listed.err.splitlines() if line.startswith(str(self.cache))}
        self.files = sorted(path.relative_to(self.cache) for path in opened if path.is_file() and path.stat().st_size)
        assert any("nbc" in path.name for path in self.files), "no compiled kernel was read"

    def flip_many(self, tries: int, rng: Random, tally: Tally) -> None:
        """Damage one file, run the command, and see."""
        for _ in range(tries):
            file = rng.choice(self.files)
            data = (self.cache / file).read_bytes()
            damage = draw_damage(data, rng)
            if damage.apply(data) == data:
                continue
            shutil.rmtree(self.scratch, ignore_errors=True)
            shutil.copytree(self.cache, self.scratch)
            (self.scratch / file).write_bytes(damage.apply(data))
            ended = run(*EQUITY, cache=self.scratch, guard=GUARD)
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
