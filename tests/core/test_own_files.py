"""The list of own files: what is not on it is never removed, and whatever was written is on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import InputError
from equipoise.core.files.array_file import save_arrays
from equipoise.core.files.own_files import FORMAT, OwnFiles


def own_files(folder: Path) -> OwnFiles:
    return OwnFiles(folder, r"[a-z]+|[0-9]+/[a-z]+")


def never(_: Path) -> bool:
    return False


def write(own: OwnFiles, *names: str) -> None:
    own.claim(names, never)
    for name in names:
        (own.folder / name).write_text(name)


def test_only_files_on_the_list_are_removed(tmp_path: Path) -> None:
    own = own_files(tmp_path)
    (tmp_path / "1").mkdir()
    (tmp_path / "mine").write_text("mine")
    write(own, "a", "b", "1/c")
    assert own.names() == {"a", "b", "1/c"}
    own.remove(["a", "mine", "1/c"])
    assert own.names() == {"b"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "b", "mine", "written"]
    own.remove(["b"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "mine"]


def test_a_file_of_the_user_is_not_written_over(tmp_path: Path) -> None:
    own = own_files(tmp_path)
    (tmp_path / "a").write_text("mine")
    with pytest.raises(InputError, match="did not write the file 'a'; move it elsewhere"):
        own.claim(["a"], never)
    assert own.names() == set()
    own.claim(["a"], lambda path: path.read_text() == "mine")  # ours by its content
    assert own.names() == {"a"}


def test_a_name_without_a_file_is_forgotten_at_the_next_change(tmp_path: Path) -> None:
    """As a kill between the list and the file leaves it, or one between a removal and the list."""
    own = own_files(tmp_path)
    write(own, "a", "b")
    own.claim(["c"], never)
    (tmp_path / "a").unlink()
    assert own.names() == {"a", "b", "c"}
    write(own, "d")
    assert own.names() == {"b", "d"}


def test_nothing_is_removed_through_a_link_or_outside(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("outside/a", "b"):
        (tmp_path / name).write_text(name)
    (folder / "1").symlink_to(tmp_path / "outside")
    crafted = ["1/a", "../b", "/b", str(tmp_path / "b"), "../outside/a", ".", "..", "", "a\0", "x/y/z", "A"]
    save_arrays(folder / "written", FORMAT, {"files": crafted}, {})
    own = own_files(folder)
    assert own.names() == {"1/a"}
    own.remove(own.names())
    assert (tmp_path / "outside" / "a").exists() and (tmp_path / "b").exists()
    save_arrays(folder / "written", FORMAT, {"files": ["1/a", 7, None]}, {})
    assert own.names() == set()


@pytest.mark.parametrize("content", [b"", b"my list\n", b'{"format": "equipoise files 1"}\n'])
def test_a_damaged_list_is_set_aside_and_claims_nothing(tmp_path: Path, content: bytes) -> None:
    own = own_files(tmp_path)
    write(own, "a")
    (tmp_path / "written").write_bytes(content)
    assert own.names() == set()
    own.remove(["a"])
    write(own, "b")
    assert own.names() == {"b"} and (tmp_path / "a").exists()
    assert (tmp_path / "written.damaged").read_bytes() == content
    (tmp_path / "written").write_bytes(b"again")
    with pytest.raises(InputError, match="is no list of files; move it elsewhere"):
        own.claim(["c"], never)
    assert (tmp_path / "written").read_bytes() == b"again"
