"""Links, pipes, folders and files of the user where our own files should be, and cache folders of other users.

Whatever a command finds in the place of a file that it wants to write: it goes on or ends in one line, and what the
user has elsewhere, behind a link or under a name that is not ours, is the same afterwards.
"""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import equipoise
from attempts import DONE, REFUSED, TARGET_MISSED, isolated
from commands import invoke
from dose import Tally
from equipoise.core import kernel_cache
from equipoise.core.files.array_file import load_header, save_arrays
from equipoise.core.files.cache import CacheHeader
from flips import DECK, Cache, copy_cache
from waiting import GUARD

OTHER = 12345  # a user
HARMS = ("link", "link to nothing", "link to a folder", "hard link", "content", "folder", "pipe")
OVERRIDES = ("solver={method='cfr-br',seed=3,currents=2}", "measure.method=none", "checkpoint.minutes=0.0003")
RUN_NAMES = (
    "lock", "log.txt", "metrics.jsonl", "recipe.toml", "strategy.u8", "strategy.float32", "strategy.current-1.u8",
    "progress.json", "parts", "checkpoints", "checkpoints/written", "checkpoints/NEWEST",
)  # fmt: skip
USERS = (
    "mine.u8", "7.ckpt", "2024.ckpt", "9999999999.ckpt", "000000000001.ckpt", "000000000003.u8", "202411201200.ckpt",
    "000000000040.damaged", ".equipoise-tmp-notes", "NEWEST.bak",
)  # fmt: skip


def harm(path: Path, what: str, elsewhere: Path) -> None:
    """Put something in the place of a file, whose content is kept elsewhere."""
    target = elsewhere / path.name
    is_there = path.exists()
    if what in ("link", "hard link") and is_there and not (path.is_dir() and what == "hard link"):
        path.rename(target)
    elif is_there:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if what in ("link", "hard link") and not target.exists():
        target.write_text("precious")
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "link":
        path.symlink_to(target)
    elif what == "link to nothing":
        path.symlink_to(elsewhere / "nothing")
    elif what == "link to a folder":
        path.symlink_to(elsewhere)
    elif what == "hard link":
        path.hardlink_to(target)
    elif what == "content":
        path.write_text("precious")
    elif what == "folder":
        path.mkdir()
        (path / "precious").write_text("precious")
    else:
        os.mkfifo(path)


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Runs:
    """A finished run; copies of it, harmed, are resumed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.whole = folder, folder / "whole"
        for until in (40, 60):
            self._train(self.whole, until, resume=until > 40)

    def _train(self, out: Path, iterations: int, *, resume: bool) -> None:
        equipoise.train("leduc", out, iterations=iterations, threads=1, resume=resume, overrides=OVERRIDES)

    def harm_many(self, tries: int, rng: Random, tally: Tally) -> None:
        """Harm one to three of its files, add files of the user, resume, and see."""
        drawn = [([(rng.choice(RUN_NAMES), rng.choice(HARMS)) for _ in range(rng.choice((1, 1, 2, 3)))],
                  rng.sample(USERS, 3)) for _ in range(tries)]  # fmt: skip
        for one, outcome, fault in isolated(drawn, self._attempt, guard=GUARD):
            tally.add(outcome, fault=f"{one}: {fault}" if fault else "")

    def _attempt(self, one: tuple[list[tuple[str, str]], list[str]]) -> tuple[str, str]:
        harms, mine = one
        out, elsewhere = self.folder / "harmed", self.folder / "elsewhere"
        for folder in (out, elsewhere):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.whole, out)
        elsewhere.mkdir()
        newest = max((out / "checkpoints").glob("*.ckpt")).name
        for name in mine:
            (out / "checkpoints" / name.replace("NEWEST", newest)).write_text("mine")
        for name, what in dict(harms).items():
            if (out / "checkpoints").is_dir():
                harm(out / name.replace("NEWEST", newest), what, elsewhere)
        keep = [out / "checkpoints" / name.replace("NEWEST", newest) for name in mine]
        keep += [out / "lock"] if dict(harms).get("lock") == "content" else []
        before = {path: path.read_bytes() for path in keep if path.is_file()} | contents(elsewhere)
        outcome, fault = DONE, ""
        try:
            self._train(out, 80, resume=True)
        except equipoise.InputError as error:
            outcome, fault = REFUSED, "" if len(str(error).splitlines()) == 1 else f"not one line: {error}"
        after = {path: path.read_bytes() for path in keep if path.is_file()} | contents(elsewhere)
        changed = [str(path) for path in {**before, **after} if before.get(path) != after.get(path)]
        return outcome, f"changed: {', '.join(changed)}" if changed else fault


WRITINGS: dict[tuple[str, ...], tuple[str, ...]] = {  # commands, and the names that they are given
    ("measure", "uniform", "--game", "small.game", "--flops", "5", "--out", "a.flops"): ("a.flops",),
    ("match", "always-call", "uniform", "--game", "kuhn", "--hands", "20", "--log", "a.log"): ("a.log",),
    ("match", "always-call", "uniform", "always-raise", "--game", "kuhn", "--hands", "20", "--out", "cup"): (
        "cup.json", "cup.csv", "cup.png", "cup.pairs",
    ),
    ("spot", "solve", "leduc", "--iterations", "5", "--target", "50", "--out", "a.solution"): ("a.solution",),
    ("train", "leduc", "--out", "run", "--iterations", "5", "--threads", "1", "--set", "measure.method=none"): (
        "run", "run/lock", "run/checkpoints", "run/log.txt", "run/recipe.toml", "run/notes.txt",
    ),
}  # fmt: skip


def harm_outputs(folder: Path, tries: int, rng: Random, tally: Tally) -> None:
    """Commands that find something else where they should write, with and without --force."""

    def attempt(one: tuple[tuple[str, ...], bool, dict[str, str]]) -> tuple[str, str]:
        command, force, harms = one
        here, elsewhere = folder / "here", folder / "elsewhere"
        for each in (here, elsewhere):
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir()
        (here / "small.game").write_text(DECK)
        for name, what in harms.items():
            harm(here / name, what, elsewhere)
        mine = [path for path in here.rglob("*") if path.is_file() and not (force and path.read_text() == "precious")]
        before = {str(path): path.read_bytes() for path in mine} | contents(elsewhere)
        os.chdir(here)
        done = invoke(*command, *(["--force"] if force else []))
        after = {str(path): path.read_bytes() for path in mine if path.is_file()} | contents(elsewhere)
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        if changed:
            return "changed", f"changed: {', '.join(changed)}"
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return DONE, "" if done.exit_code in (0, TARGET_MISSED) else f"exit code {done.exit_code}"

    drawn: list[tuple[tuple[str, ...], bool, dict[str, str]]] = [(command, False, {}) for command in WRITINGS]
    for _ in range(tries - len(drawn)):
        command = rng.choice(list(WRITINGS))
        force = command[0] not in ("train", "measure") and rng.random() < 0.5
        name, what = rng.choice(WRITINGS[command]), rng.choice(HARMS)
        if (name, what) != ("run", "link to a folder"):  # the user may name one: the run is in that folder then
            drawn.append((command, force, {name: what}))
    for one, outcome, fault in isolated(drawn, attempt, guard=GUARD):
        if outcome != DONE and not one[2]:
            fault = fault or "refused, where nothing was in the way"
        tally.add(outcome, fault=f"{one}: {fault}" if fault else "")


class Planted:
    """Code in a kernel's file: it makes a folder where it is loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.marker,)


class ForeignCache(Cache):
    """Caches of which a folder or a file is another user's, open to others, or a link; kernels there are planted."""

    def harm_many(self, tries: int, rng: Random, tally: Tally) -> None:
        """Harm one path of a copy of the cache, run the command, and see: a kernel's folder and file first."""
        drawn = [(1, "another user's"), (0, "another user's"), (1, "a link")]
        drawn += [(rng.randrange(4), rng.choice(("another user's", "open to others", "a link"))) for _ in range(tries)]
        for level, what in drawn[:tries]:
            if self.scratch.is_symlink():
                self.scratch.unlink()
            shutil.rmtree(self.scratch, ignore_errors=True)
            copy_cache(self.whole, self.scratch)
            file = rng.choice([file for file in self.files if file.suffix == ".kernel"])
            path = self.scratch / [file, *file.parents][level]
            marker, before = self.folder / "planted", self._harm(path, what)
            ended = self.run(self.scratch, guard=GUARD)
            outcome, fault = ended.word, ended.fault
            if marker.exists():
                marker.rmdir()
                fault = "planted code ran"
            elif what == "another user's" and contents(path.parent) != before:
                fault = "something of another user's was changed"
            elif not ended.code and ended.out != self.expected:
                fault = f"another result: {ended.out[:200]}"
            tally.add(outcome, fault=f"{path.relative_to(self.folder)} {what}: {fault}" if fault else "")

    def _harm(self, path: Path, what: str) -> dict[str, bytes]:
        """Plant code in the kernels that are used at or below a path, then give it away."""
        for file in self.files:
            kernel = self.scratch / file
            if kernel.suffix == ".kernel" and path in (kernel, *kernel.parents):
                key = load_header(kernel, kernel_cache.FORMAT, CacheHeader, remedy="").key
                code = np.frombuffer(pickle.dumps(Planted(self.folder / "planted")), np.uint8)
                save_arrays(kernel, kernel_cache.FORMAT, {"key": key}, {"code": code})
        if path.is_file():  # it is a hard link
            content = path.read_bytes()
            path.unlink()
            path.write_bytes(content)
        if what == "another user's":
            os.chown(path, OTHER, -1)
        elif what == "open to others":
            path.chmod(0o777)
        else:
            target = self.folder / "elsewhere"
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
            path.rename(target)
            if path in (self.scratch, self.scratch / "compiled"):  # the user may make links of these
                target.chmod(0o777)
            path.symlink_to(target)
        return contents(path.parent)
