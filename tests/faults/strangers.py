"""Every kind of file of ours, small, with what reads it; tried with what `crafted.py` makes of it.

A try ends well in two ways: the file is refused in one line, or it gives plain numbers (an exploitability that is not
negative, say). A traceback, a crash, a number that is none, and no end are faults.
"""

from __future__ import annotations

import json
import shutil
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import equipoise
from attempts import GIGABYTE, isolated
from commands import invoke
from containers import read_container
from crafted import NUMBERS, craft
from dose import Tally
from equipoise import InputError
from equipoise.abstraction.maps import build
from equipoise.cluster.engine import cut_info
from equipoise.cluster.part_actor import PartActor
from equipoise.core.files import cache
from equipoise.core.files.array_file import save_arrays
from equipoise.core.files.cache import mapped_arrays
from equipoise.experiments.curves import remembered
from equipoise.experiments.lab.curves import Point, Until
from equipoise.experiments.lab.curves import _Kept as KeptCurve
from equipoise.runs.folder import CUT, FORMAT, Checkpoint, load_checkpoint
from equipoise.solvers.blades.build import blades_of
from equipoise.solvers.disk_tasks.cards import Sampling
from equipoise.solvers.disk_tasks.cut import GameCut, deal_tasks
from equipoise.solvers.disk_tasks.head import DiskHead
from equipoise.solvers.disk_tasks.part import DiskPart, PartSpec
from flips import DECK, SPOT
from hierarchies import hierarchy
from waiting import GUARD

MEMORY = 16 * GIGABYTE  # of addresses, of which torch takes some
BATCH = 500  # tries of a child
PLAIN = "plain numbers"
LEAST = -1e-3  # of an exploitability: rounding
Use = Callable[[Path], object]
Craft = Callable[[bytes, Random], tuple[bytes, str]]
ONE = ("--threads", "1", "--json")
TINY = "deep={hidden=8,memory=300,traversals=40,steps=3,batch=30"
SOLVERS = {
    "external": "solver={method='external',seed=3}",
    "pcs": "solver={method='pcs',boards=2,seed=3}",
    "full cfr-br": "solver={method='cfr-br',seed=3}",
    "hybrid": "solver={method='cfr-br',trunk=1,seed=3}",
}
NETWORKS = {
    "sd-cfr": TINY + ",sums=0}",
    "deep-cfr": TINY + ",algorithm='deep-cfr',average_steps=3,table=4,strength=true}",
}
CARDS = """game = "{game}"
[cards]
flop = {{ method = "emd", buckets = 4, bins = 5, sample = 100, iterations = 2 }}
"""
BASE = """game = "leduc"
[cards]
public = {{ clusters = 2, base = "{base}" }}
flop = {{ method = "emd", buckets = 2, bins = 3, iterations = 2 }}
"""


@dataclass(frozen=True)
class Kind:
    """A kind of file: where one lies, what reads it (a folder in, values out), and how it is crafted."""

    name: str
    folder: Path
    file: str
    uses: dict[str, Use]
    craft: Craft | None = None

    def crafted(self, rng: Random) -> tuple[bytes, str]:
        """A crafted file, and what was done."""
        path = self.folder / self.file
        return self.craft(path.read_bytes(), rng) if self.craft else craft(*read_container(path), rng)


def command(*arguments: str) -> Any:
    """What a command prints as JSON; what it raises is judged by the caller."""
    done = invoke(*arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


def check_plain(value: Any, key: str = "") -> None:
    """Refuse what is no plain value: numbers that are none, an exploitability below zero."""
    if isinstance(value, dict):
        for name, inner in value.items():
            check_plain(inner, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            check_plain(inner, key)
    elif isinstance(value, np.ndarray):
        assert np.isfinite(value).all(), f"{key or 'an array'} is not finite"
    elif isinstance(value, int | float):
        assert isfinite(value), f"{key} = {value}"
        assert value >= LEAST or "exploitability" not in key, f"{key} = {value}"


def make_files(folder: Path) -> None:
    """One file of each kind, small."""
    (folder / "small.game").write_text(DECK)
    (folder / "cards.toml").write_text(CARDS.format(game=folder / "small.game"))
    (folder / "base.toml").write_text(BASE.format(base=folder / "map" / "mine.buckets"))
    for name, solver in SOLVERS.items():
        _train(folder / name, solver)
    for name, deep in NETWORKS.items():
        _train(folder / name, "solver={method='deep',seed=3}", deep, until=(1, 2))
    _train(folder / "emd", 'cards={flop={method="emd",buckets=3,bins=3,iterations=2}}')
    for made in ("strategies", "solution", "map", "flops", "cup", "blades", "disk", "curve", "cache"):
        (folder / made).mkdir()
    for kind in ("float32", "u8"):
        shutil.copy(folder / "external" / f"strategy.{kind}", folder / "strategies" / f"mine.{kind}")
    shutil.copy(folder / "sd-cfr" / "strategy.networks", folder / "strategies" / "mine.networks")
    command("strategy", "pack", str(folder / "emd"), "--out", str(folder / "strategies" / "mine.packed"))
    for name, storage in (("mine", "float32"), ("resumable", "float32"), ("int16", "int16")):
        solved = equipoise.solve(
            equipoise.read_spot(SPOT), iterations=20, threads=1, storage=storage, resumable=name != "mine"
        )
        solved.save(folder / "solution" / f"{name}.solution")
    hierarchy("limit")[1].save(folder / "map" / "public.buckets")
    recipe = {"game": "leduc", "cards": {"flop": {"method": "percentile", "buckets": 2}}}
    equipoise.build_abstraction(recipe).save(folder / "map" / "mine.buckets")
    shutil.copy(folder / "small.game", folder / "flops")
    for use, where in ((_flops, "flops"), (_cup, "cup"), (_curve, "curve"), (_result, "curve"), (_arrays, "cache")):
        use(folder / where)
    _bucket(folder / "cards.toml", folder / "cache")
    for make in (BladesRun, DiskRun):
        make(folder / make.name).save()


def _train(out: Path, *overrides: str, until: tuple[int, int] = (20, 40)) -> None:
    for iterations in until:
        equipoise.train(
            "leduc", out, iterations=iterations, threads=1, resume=iterations > until[0],
            overrides=[*overrides, "measure.method=none"],
        )  # fmt: skip


def kinds_in(folder: Path) -> list[Kind]:
    """The files of `make_files`, and their readers."""
    found = []
    for name in (*SOLVERS, *NETWORKS):
        newest = sorted((folder / name / "checkpoints").glob("*.ckpt"))[-1]
        uses: dict[str, Use] = {"resume": partial(_resume, "4" if name in NETWORKS else "50")}
        if name in SOLVERS:
            uses |= {
                "current": lambda at: equipoise.run_strategy(at, "current").profile.chances,
                "measure": _run_command("measure", "{}?strategy=average", *ONE),
                "pack": _run_command("strategy", "pack", "{}", "--out", "{}/x.packed"),
            }
        found.append(Kind(f"checkpoint, {name}", folder / name, f"checkpoints/{newest.name}", uses))
    snapshot = sorted((folder / "full cfr-br" / "checkpoints").glob("*.u8"))[-1]
    finish = {"finish": partial(_resume, "45")}
    found.append(Kind("snapshot", folder / "full cfr-br", f"checkpoints/{snapshot.name}", finish))
    for kind in ("float32", "u8", "packed", "networks"):
        file = f"mine.{kind}"
        uses = {
            "measure": _run_command("measure", f"{{}}/{file}", *ONE),
            "match": _run_command("match", f"{{}}/{file}", "always-call", "--hands", "10", *ONE),
        }
        if kind != "networks":
            uses["show"] = _run_command("strategy", "show", f"{{}}/{file}", "--json")
            uses["lbr"] = _run_command("measure", f"{{}}/{file}", "--method", "lbr", "--hands", "100", *ONE)
            uses["pack"] = _run_command("strategy", "pack", f"{{}}/{file}", "--out", "{}/x.packed")
        found.append(Kind(f"strategy.{kind}", folder / "strategies", file, uses))
    for name in ("mine", "resumable", "int16"):
        file = f"{name}.solution"
        storage = ("--storage", "int16") if name == "int16" else ()
        solve = ("spot", "solve", f"{{}}/{file}", "--iterations", "25", "--out", "{}/x.solution", *storage, *ONE)
        uses = {"show": _run_command("spot", "show", f"{{}}/{file}", "--json"), "solve": _run_command(*solve)}
        found.append(Kind(f"solution, {name}", folder / "solution", file, uses))
    report = {"report": lambda at: command("abstraction", "report", str(_based(at)), "--json")}
    found += [
        Kind("map", folder / "map", "mine.buckets", {"open": partial(_map, "mine", "leduc"), **report}),
        Kind("map with clusters", folder / "map", "public.buckets", {"open": partial(_map, "public", "")}),
        Kind("flops", folder / "flops", "mine.flops", {"measure": _flops}, craft_flops),
        Kind("pair", folder / "cup", _name(folder / "cup" / "cup.pairs", "*.pair"), {"match": _cup}),
        Kind("curve", folder / "curve", "curve.points", {"read": _curve}),
        Kind("result", folder / "curve", "result", {"read": _result}),
        Kind("cached arrays", folder / "cache", _name(folder / "cache", "*.arrays"), {"read": _arrays}),
    ]
    for file in ("*.buckets", "*.centroids"):
        uses = {"bucket": partial(_bucket, folder / "cards.toml")}
        found.append(Kind(f"cached {file[2:]}", folder / "cache", _name(folder / "cache", file), uses))
    for make in (BladesRun, DiskRun):
        for what in make.files:
            file = _name(folder / make.name, what)
            found.append(Kind(f"{make.name} {what}", folder / make.name, file, {"restore": _restore(make)}))
    return found


def _name(folder: Path, pattern: str) -> str:
    """The first file of a pattern, from the kind's folder."""
    path = sorted(folder.rglob(pattern))[0]
    return str(path.relative_to(folder if folder.suffix != ".pairs" else folder.parent))


def _run_command(*arguments: str) -> Use:
    """A command whose arguments have {} for the folder."""
    return lambda at: command(*(argument.replace("{}", str(at)) for argument in arguments))


def _resume(iterations: str, at: Path) -> object:
    found = command("train", "--resume", str(at), "--iterations", iterations, *ONE)
    return [found, *(equipoise.load_strategy(at / f"strategy.{kind}").profile.chances for kind in ("float32", "u8"))]


def _map(name: str, game: str, at: Path) -> object:
    rules = equipoise.load_game(game) if game else hierarchy("limit")[0].rules
    found = equipoise.BucketMap.load(at / f"{name}.buckets", rules)
    deals = np.array([np.random.default_rng(seed).permutation(rules.deck.size) for seed in range(50)], np.uint8)
    boards = [range(rules.board_size(street)) for street in range(rules.rounds)]
    buckets = [found.buckets_of_board(street, board) for street, board in enumerate(boards)]
    buckets.append(found.buckets_of_deals(deals[:, : rules.hole_cards + rules.board_size(rules.rounds - 1)])[:, -1])
    for of_street, count in zip(buckets, (*found.buckets, found.buckets[-1]), strict=True):
        assert -1 <= of_street.min() <= of_street.max() < count
    return buckets


def _based(at: Path) -> Path:
    """A recipe whose clusters of public boards are made by a map."""
    (at / "base.toml").write_text(BASE.format(base=at / "mine.buckets"))
    return at / "base.toml"


def _flops(at: Path) -> object:
    # The values are measurements: a file with others gives other results, which need not be possible ones.
    how: dict[str, Any] = {"method": "exact", "sample_flops": 20, "seed": 2, "threads": 1, "out": at / "mine.flops"}
    found = equipoise.measure_agent("uniform", game=str(at / "small.game"), **how).as_json()
    return {f"of these values: {key[:3]}": value for key, value in found.items()}


def _cup(at: Path) -> object:
    players = [equipoise.load_player(name, "kuhn") for name in ("always-call", "uniform", "always-raise")]
    found = equipoise.round_robin(players, hands=20, threads=1, out=at / "cup").as_json()
    return [found["mbb_per_hand"], found["ci95"]]


def _curve(at: Path) -> object:
    kept, until = KeptCurve(at / "curve.points", {"recipe": "x"}), Until(None, 50)
    points = kept.read(until) or [Point(30, 1.5, 100, 12.5, None), Point(50, 2.5, 200, 7.5, 1.0)]
    kept.write(points, until)
    return [vars(point) for point in points]


def _result(at: Path) -> object:
    return remembered(at / "result", lambda: {"value": 1.5, "rows": [1, 2]})


def _arrays(at: Path) -> object:
    """What is in it is not looked at: the cache is its user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "cache_folder", lambda _: at)
        found = mapped_arrays("some", ("a", "b"), "key", lambda: {"a": np.arange(9), "b": np.ones((3, 4), np.float32)})
    return sorted(found)


def _bucket(recipe: Path, at: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "cache_folder", lambda _: at)
        return command("abstraction", "bucket", str(recipe), "4d3h", "--board", "2c 3c", "--json")


class BladesRun:
    """A head and a part with an actor's files, as the cluster has them; no Ray."""

    name = "blades"
    files = ("000000000120.ckpt", "*/000000000120.ckpt")
    iterations = 120

    def __init__(self, at: Path) -> None:
        self.at = at
        tree, buckets = hierarchy("leduc")
        self.head, plans = blades_of(tree, buckets, 1, batch=40, period=1000, seed=4, growth=1)
        self.actor = PartActor(lambda: plans[0].build(tree, buckets), str(at), 0, "made for it", 1)

    def step(self) -> None:
        """One step of head and part."""
        part: Any = self.actor.part
        self.head.finish([part.work(message) for message in self.head.begin()])

    def save(self) -> None:
        """Some steps, and their files."""
        assert self.actor.begin() is None
        while self.head.iteration < self.iterations:
            self.step()
        assert self.actor.save(self.head.iteration) is None
        header = {
            "fingerprint": "x", "iteration": self.head.iteration, "nodes": self.head.nodes, "seconds": 1.0,
            "threads": 1, "measured": {},
        }  # fmt: skip
        info = {"parts": 1, "step": 3, "plan": {"batch": 40, "growth": 1}, "folder": ""}
        cut = np.frombuffer(json.dumps(info).encode(), np.uint8)
        path = self.at / f"{self.head.iteration:012d}.ckpt"
        save_arrays(path, FORMAT, header, {CUT: cut, **self.head.arrays()})

    def restore(self) -> object:
        """Read them, and go on."""
        header, arrays = load_checkpoint(self.at / f"{self.iterations:012d}.ckpt", "none")
        checkpoint = Checkpoint(header.iteration, header.nodes, header.seconds, header.threads, header.measured, arrays)
        info = cut_info(checkpoint)
        assert self.actor.begin() is None
        if refused := self.actor.restore(header.iteration, info.step, 0):
            raise InputError(refused.what, where=refused.where, remedy=refused.remedy)
        self.head.restore(header.iteration, header.nodes, arrays)
        self.step()
        self.step()
        part: Any = self.actor.part
        return [*self.head.arrays().values(), *part.arrays().values()]


class DiskRun(BladesRun):
    """The same with tables on disk."""

    name = "disk"
    files = ("000000000002.ckpt", "*.tables")
    iterations = 2

    def __init__(self, at: Path) -> None:
        self.at = at
        tree, buckets = hierarchy("leduc")
        cut, sampling = GameCut(tree, buckets, 1), Sampling(seed=3)
        self.head = DiskHead(cut, deal_tasks(cut, 1), sampling)
        spec = PartSpec(cut.tasks, sampling)
        self.actor = PartActor(lambda: DiskPart(tree, buckets, spec), str(at), 0, "made for it", 1)


def _restore(make: type[BladesRun]) -> Use:
    return lambda at: make(at).restore()


def craft_flops(data: bytes, rng: Random) -> tuple[bytes, str]:
    """Records of values by flop with other numbers, or other flops, and right checksums; or another header."""
    line, _, records = data.partition(b"\n")
    header = json.loads(line)
    kind, length = np.dtype(header["dtype"]), header["length"]
    size = 8 + length * kind.itemsize
    record = bytearray(records[:size])
    if rng.random() < 0.3:
        key = rng.choice(list(header))
        header[key] = rng.choice((None, -1, 0, 10**30, "x", [], header[key]))
        return json.dumps(header).encode() + b"\n" + records, f"{key} = {header[key]}"
    at, number = rng.randrange(length + 1), rng.choice(NUMBERS)
    if at == length:
        struct.pack_into("<I", record, 0, rng.choice((0, 1, 19, 2**31, 2**32 - 1)))
    else:
        with np.errstate(over="ignore"):
            place = 4 + at * kind.itemsize
            record[place : place + kind.itemsize] = np.array(number).astype(kind).tobytes()
    struct.pack_into("<I", record, size - 4, zlib.crc32(record[:-4]))
    return line + b"\n" + bytes(record) + records[size:], f"value {at} = {number}"


@dataclass(frozen=True)
class Campaign:
    """Tries by number, in children: the first makes the files, and each draws by its number what it crafts and uses."""

    folder: Path
    seed: str

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def draw(self, number: int) -> tuple[Kind, str, bytes, str]:
        """The kind of a try, what reads it, the file, and what was crafted."""
        rng, kinds = Random(f"{self.seed} {number}"), kinds_in(self.files)
        kind = kinds[number % len(kinds)]
        use = rng.choice(list(kind.uses))
        return kind, use, *kind.crafted(rng)

    def attempt(self, number: int) -> tuple[str, str]:
        """Craft a copy of a file, and use it."""
        if not (self.files / "made").exists():
            self.files.mkdir()
            make_files(self.files)
            (self.files / "made").touch()
        kind, use, data, _ = self.draw(number)
        at = self.folder / "crafted"
        shutil.rmtree(at, ignore_errors=True)
        shutil.copytree(kind.folder, at)
        (at / kind.file).write_bytes(data)
        check_plain(kind.uses[use](at))  # may refuse: judged by the caller
        return PLAIN, ""

    def run(self, tries: int) -> dict[str, Tally]:
        """All tries, counted by kind."""
        found: dict[str, Tally] = {}
        for first in range(0, tries, BATCH):
            numbers = range(first, min(tries, first + BATCH))
            for number, outcome, fault in isolated(numbers, self.attempt, guard=GUARD, memory=MEMORY):
                assert (self.files / "made").exists(), f"the files could not be made: {outcome}, {fault}"
                kind, use, _, what = self.draw(number)
                tally = found.setdefault(kind.name, Tally(f"crafted {kind.name}"))
                tally.add(outcome, fault=f"try {number}, {use}, {what}: {fault}" if fault else "")
        return found
