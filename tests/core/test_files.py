"""Writing files: whole or not at all, and nobody else's file is ever removed."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.core.files.writing import (
    append,
    is_temporary,
    make_folder,
    open_lock,
    remove_remains,
    set_aside,
    write_whole,
)

USERS = (".env", ".gitignore", ".equipoise-tmp", ".equipoise-tmp-notes", ".000000000300.ckpt.abc.ckpt", "notes.txt")
WRITER = """
import sys, time
from pathlib import Path
from equipoise.core.files.writing import write_whole
def write(path):
    path.write_bytes(b"half")
    print("writing", flush=True)
    time.sleep(600)
write_whole(Path(sys.argv[1]), write)
"""


def remains(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if is_temporary(path.name)]


def make_old(folder: Path) -> None:
    for path in folder.iterdir():
        os.utime(path, (time.time() - 7200, time.time() - 7200))


def test_remains_of_killed_writers_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in USERS:
        (tmp_path / name).write_text(name)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "a.txt")], stdout=subprocess.PIPE) as writer:
        assert writer.stdout and writer.stdout.readline()
        make_old(tmp_path)
        write_whole(tmp_path / "b.txt", lambda path: path.write_text("b"))
        assert len(remains(tmp_path)) == 1  # old, but its writer lives
        writer.send_signal(signal.SIGKILL)
    write_whole(tmp_path / "b.txt", lambda path: path.write_text("c"))
    assert remains(tmp_path) == []
    assert all((tmp_path / name).read_text() == name for name in USERS)
    assert (tmp_path / "b.txt").read_text() == "c" and not (tmp_path / "a.txt").exists()


def test_new_remains_stay_for_an_hour_unless_told_otherwise(tmp_path: Path) -> None:
    name = f".equipoise-tmp-{'0' * 16}.ckpt"
    (tmp_path / name).touch()
    remove_remains(tmp_path)
    assert remains(tmp_path) == [name]
    with (tmp_path / name).open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        remove_remains(tmp_path, older_than=0)
        assert remains(tmp_path) == [name]
    remove_remains(tmp_path, older_than=0)
    assert remains(tmp_path) == []


def test_a_link_with_our_name_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / f".equipoise-tmp-{'0' * 16}").symlink_to(tmp_path / "precious")
    remove_remains(tmp_path, older_than=0)
    assert (tmp_path / "precious").read_text() == "precious"


def test_remains_of_another_user_and_pipes_stay(tmp_path: Path) -> None:
    names = [f".equipoise-tmp-{digit * 16}" for digit in "01"]
    os.mkfifo(tmp_path / names[0])
    if os.geteuid() == 0:
        (tmp_path / names[1]).touch()
        os.chown(tmp_path / names[1], 12345, -1)
    before = sorted(remains(tmp_path))
    remove_remains(tmp_path, older_than=0)
    assert sorted(remains(tmp_path)) == before and names[0] in before


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    (tmp_path / "a").write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_text() == "before"


def test_files_have_the_permissions_that_users_expect(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", lambda path: path.write_text("a"))
    (tmp_path / "b").write_text("b")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def lock(path: Path) -> None:
    open_lock(path).close()


def add(path: Path) -> None:
    append(path, b" more")


@pytest.mark.parametrize("write", [lock, add])
def test_nothing_is_written_through_a_link(tmp_path: Path, write: Callable[[Path], None]) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "a").symlink_to(tmp_path / "precious")
    (tmp_path / "b").symlink_to(tmp_path / "nothing")
    (tmp_path / "c").mkdir()
    os.mkfifo(tmp_path / "d")
    for name, why in (("a", "a link"), ("b", "a link"), ("c", "no plain file"), ("d", "no plain file")):
        with pytest.raises(OSError, match=f"{name} is {why}"):
            write(tmp_path / name)
    assert (tmp_path / "precious").read_text() == "precious" and not (tmp_path / "nothing").exists()


def test_a_file_with_another_name_is_copied_before_it_is_added_to(tmp_path: Path) -> None:
    append(tmp_path / "log", b"one")
    (tmp_path / "backup").hardlink_to(tmp_path / "log")
    for durable in (True, False):
        append(tmp_path / "log", b", two", durable=durable)
    assert (tmp_path / "backup").read_bytes() == b"one" and (tmp_path / "log").read_bytes() == b"one, two, two"


def test_a_lock_with_content_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("npm")
    with pytest.raises(OSError, match="lock is not a lock, it has content"):
        open_lock(tmp_path / "lock")
    assert (tmp_path / "lock").read_text() == "npm"
    with open_lock(tmp_path / "other") as held, open_lock(tmp_path / "other") as wanted:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            fcntl.flock(wanted, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert (tmp_path / "other").stat().st_size == 0


def test_a_folder_of_ours_is_no_link(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "file").touch()
    for name, why in (("link", "a link"), ("file", "no folder")):
        with pytest.raises(OSError, match=f"{name} is {why}"):
            make_folder(tmp_path / name)


def test_what_is_set_aside_replaces_nothing(tmp_path: Path) -> None:
    for name in ("a.ckpt", "a.damaged"):
        (tmp_path / name).write_text(name)
    assert not set_aside(tmp_path / "a.ckpt") and (tmp_path / "a.damaged").read_text() == "a.damaged"
    (tmp_path / "a.damaged").unlink()
    assert set_aside(tmp_path / "a.ckpt") and (tmp_path / "a.damaged").read_text() == "a.ckpt"


def test_a_private_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_whole(tmp_path / "a", lambda path: path.write_text("a"), private=True)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
