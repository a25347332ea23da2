"""A folder that only its user can enter; of those that are called like it, only abandoned ones of ours are removed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from equipoise.cluster import private_folder as private
from equipoise.cluster.private_folder import INNER, MARK, PREFIX, private_folder
from equipoise.core.errors import InputError

STRANGER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder as /tmp is, which everybody can reach."""
    found = Path(os.path.realpath("/tmp")) / f"eq{os.getpid()}"
    found.mkdir()
    found.chmod(0o1777)
    monkeypatch.setattr(private, "_LONGEST", 100)
    monkeypatch.setattr("tempfile.tempdir", str(found))
    yield found
    subprocess.run(["rm", "-rf", str(found)], check=True)


@pytest.fixture
def dead() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def abandoned(root: Path, owner: int, *, name: str = "abcdefgh") -> Path:
    """What a killed process leaves."""
    with private_folder() as folder:
        kept = root / f"{PREFIX}{owner}-{name}"
        (folder.inner / "session_1").mkdir()
        (folder.inner / "session_1" / "log").write_text("x")
        folder.path.rename(kept)
    return kept


def test_a_folder_is_private_and_goes(root: Path) -> None:
    with private_folder() as folder:
        folder.inner.chmod(0o777)  # as Ray does
        folder.check()
        assert folder.path.stat().st_mode & 0o7777 == 0o700
        assert folder.path.parent == root
    assert not any(root.iterdir())


@as_root
def test_another_user_cannot_enter(root: Path) -> None:
    with private_folder() as folder:
        folder.inner.chmod(0o777)
        for words in (["ls", folder.inner], ["touch", folder.inner / "x"], ["mv", folder.path, root / "mine"]):
            done = subprocess.run(words, user=STRANGER, group=STRANGER, extra_groups=[], capture_output=True)
            assert done.returncode, words
        assert subprocess.run(["ls", root], user=STRANGER, group=STRANGER, extra_groups=[]).returncode == 0
        folder.check()


def test_opening_the_folder_ends_the_work(root: Path) -> None:
    with private_folder() as folder:
        folder.path.chmod(0o701)
        with pytest.raises(InputError, match="open to other users"):
            folder.check()
        folder.path.chmod(0o700)
        folder.path.rename(root / "elsewhere")
        with pytest.raises(InputError, match="has gone"):
            folder.check()
        folder.path.mkdir(0o700)
        with pytest.raises(InputError, match="open to other users"):
            folder.check()


def test_a_temporary_folder_that_others_rearrange_is_refused(root: Path) -> None:
    root.chmod(0o777)
    with pytest.raises(InputError, match="set TMPDIR"), private_folder():
        pass
    assert not any(root.iterdir())


def test_what_a_killed_process_left_is_removed(root: Path, dead: int) -> None:
    left = abandoned(root, dead)
    with private_folder():
        assert not left.exists()


def link(path: Path) -> None:
    target = path.parent / "target"
    target.mkdir()
    (target / "mine").write_text("x")
    path.symlink_to(target)


def folder_of_ours(path: Path) -> None:
    """A private folder with a user's file in it, and no mark."""
    path.mkdir(0o700)
    (path / INNER).mkdir()
    (path / "mine").write_text("x")


def with_more(path: Path) -> None:
    """One of ours in which a user has put something."""
    abandoned(path.parent, 1, name="12345678").rename(path)
    (path / "mine").write_text("x")


def mark_is_a_link(path: Path) -> None:
    path.mkdir(0o700)
    (path.parent / "mark").write_bytes(private._MARKED)
    (path / MARK).symlink_to(path.parent / "mark")


STRANGERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a link": ("{dead}-abcdefgh", link),
    "a file": ("{dead}-abcdefgh", Path.touch),
    "a pipe": ("{dead}-abcdefgh", os.mkfifo),
    "a user's folder": ("{dead}-mybackup", folder_of_ours),
    "an empty folder": ("{dead}-mybackup", Path.mkdir),
    "one of ours with more": ("{dead}-abcdefgh", with_more),
    "a mark that is a link": ("{dead}-abcdefgh", mark_is_a_link),
    "more text": ("{dead}-abcdefgh-keep", folder_of_ours),
    "no text": ("{dead}", folder_of_ours),
    "digits that are not ASCII": ("¹²³-abcdefgh", folder_of_ours),
    "Arabic digits": ("٤٢٤٢-abcdefgh", folder_of_ours),
    "twenty digits": (f"{'9' * 20}-abcdefgh", folder_of_ours),
    "zero": ("0-abcdefgh", folder_of_ours),
    "no number": ("mine", folder_of_ours),
    "nothing": ("", folder_of_ours),
    "a line break": ("{dead}\n-abcdefgh", folder_of_ours),
    "bytes": ("\udcff-abcdefgh", folder_of_ours),
}


@pytest.mark.parametrize("which", sorted(STRANGERS))
def test_what_is_called_like_ours_stays(which: str, root: Path, dead: int) -> None:
    name, make = STRANGERS[which]
    path = root / f"{PREFIX}{name.format(dead=dead)}"
    make(path)
    inside = sorted(str(found) for found in root.rglob("*"))
    with private_folder() as folder:
        folder.check()
    assert sorted(str(found) for found in root.rglob("*")) == inside
    assert os.path.lexists(path)


@as_root
def test_folders_of_another_user_stay(root: Path, dead: int) -> None:
    left = abandoned(root, dead)
    os.chown(left, STRANGER, STRANGER)
    with private_folder() as folder:
        folder.check()
    assert (left / INNER / "session_1" / "log").exists()


def test_a_running_process_keeps_its_folder(root: Path) -> None:
    left = abandoned(root, os.getpid())
    with private_folder():
        assert left.exists()
