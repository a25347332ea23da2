"""Whatever others put into the temporary folder under names like ours: it neither stops us nor is it deleted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random

from dose import Tally
from equipoise.cluster import private_folder as private
from equipoise.cluster.private_folder import INNER, MARK, PREFIX, private_folder
from equipoise.core.errors import InputError

STRANGER = 65534
DEAD = "{dead}"  # the number of a process that has ended
OWNERS = (*[DEAD] * 9, "{alive}", "0", "-1", "1", "", "9" * 20, "¹²³", "٤٢", f"{DEAD}a", f"0{DEAD}", f" {DEAD}")
ENDS = (
    *["-abcdefgh", "-12345678"] * 4,
    "",
    "-",
    "-mybackup",
    "-abcdefgh-keep",
    "-ABCDEFGH",
    "-\n",
    "-\udcff",
    "-x" * 60,
)
KINDS = (
    "folder", "private folder", "ours", "ours", "ours with more", "marked by a link", "file", "link", "link to ours",
    "pipe", "locked",
)  # fmt: skip


def try_names(root: Path, tries: int, random: Random, tally: Tally) -> None:
    """Some names and kinds at once, then a folder of ours among them."""
    private._LONGEST = 1000
    child = subprocess.Popen(["true"])
    child.wait()
    done = 0
    while done < tries:
        place = root / str(done)
        place.mkdir()
        place.chmod(0o1777)
        drawn = {}
        for _ in range(min(10, tries - done)):
            owner = random.choice(OWNERS).format(dead=child.pid, alive=os.getpid())
            name = f"{PREFIX}{owner}{random.choice(ENDS)}"
            if name not in drawn:
                drawn[name] = make(place / name, random.choice(KINDS), random)
        before = listed(place)
        fault = ""
        try:
            with _temporary(place), private_folder() as folder:
                folder.check()
        except Exception as error:  # whatever it is, it stops a training
            one_line = isinstance(error, InputError)
            fault = f"{type(error).__name__}: {error}" if not one_line else f"refused: {error}"
        gone = before - listed(place)
        for name, is_abandoned in drawn.items():
            lost = sorted(each for each in gone if each.split("/")[0] == name)
            expected = is_abandoned and private._OURS.fullmatch(name) is not None and f"{child.pid}-" in name
            wrong = fault or (f"{name!r} lost {lost}" if lost and not expected else "")
            tally.add("removed" if lost else "kept", fault=wrong)
        if extra := listed(place) - before:
            tally.add("left", fault=f"left {sorted(extra)}")
        done += len(drawn)


def make(path: Path, kind: str, random: Random) -> bool:
    """Put something there; whether it is what a killed process of ours leaves."""
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "precious").write_text("x")
    if kind == "file":
        path.write_text("precious")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(random.choice((elsewhere, Path("/"), path.parent / "nothing")))
    else:
        target = path.parent / f"target{len(path.name)}{random.getrandbits(30)}" if kind == "link to ours" else path
        target.mkdir(0o755 if kind == "folder" else 0o700)
        if kind.startswith(("ours", "link")):
            (target / MARK).write_bytes(private._MARKED)
            (target / INNER).mkdir()
            (target / INNER / "session").write_text("x")
        if kind == "marked by a link":
            (elsewhere / "mark").write_bytes(private._MARKED)
            (target / MARK).symlink_to(elsewhere / "mark")
        if kind in ("folder", "private folder", "ours with more"):
            (target / "precious").write_text("x")
        if kind == "locked":
            target.chmod(0)
        if kind == "link to ours":
            path.symlink_to(target)
        if os.geteuid() == 0 and random.random() < 0.3:
            os.chown(target, STRANGER, STRANGER)
            return False
    return kind == "ours"


def listed(place: Path) -> set[str]:
    """All that is below a folder."""
    return {str(path.relative_to(place)) for path in place.rglob("*")}


class _temporary:
    """A temporary folder for this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        import tempfile

        self.before, tempfile.tempdir = tempfile.tempdir, str(self.folder)

    def __exit__(self, *_: object) -> None:
        import tempfile

        tempfile.tempdir = self.before
