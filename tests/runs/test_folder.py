"""What users keep in or link from a run's folder stays as it is: nothing is emptied, removed, renamed or replaced."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise import InputError
from equipoise.core.files.array_file import save_arrays
from equipoise.core.files.own_files import OwnFiles
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import Recipe, load_recipe
from standin import RECIPE, run

AT_THE_END = load_recipe(RECIPE, ["checkpoint.minutes=5"])  # one checkpoint
OFTEN = load_recipe(RECIPE, ["checkpoint.minutes=1e-9"])  # a checkpoint after each slice


def resume(out: Path, until: int, recipe: Recipe = AT_THE_END, **more: Any) -> None:
    run(out, until, resume=True, recipe=recipe, **more)


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A run with checkpoints at 300 and 400."""
    for until in (300, 400):
        run(tmp_path / "run", until, resume=RunFolder(tmp_path / "run").is_run, recipe=AT_THE_END)
    assert names(tmp_path / "run") == ["000000000300", "000000000400"]
    return tmp_path / "run"


def names(out: Path) -> list[str]:
    return [path.stem for path in RunFolder(out).listed()]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: (folder / "lock").write_text("npm"),
        lambda folder: (folder / "lock").symlink_to("thesis.txt"),
        lambda folder: (folder / "lock").mkdir(),
        lambda folder: (folder / "checkpoints").write_text("a list"),
        lambda folder: (folder / "checkpoints").symlink_to(folder.parent / "elsewhere"),
        lambda folder: (folder / f".equipoise-tmp-{'a' * 16}.toml").symlink_to("thesis.txt"),
        lambda folder: (folder / f".equipoise-tmp-{'a' * 16}").mkdir(),
    ],
    ids=["lock", "lock link", "lock folder", "checkpoints file", "checkpoints link", "temporary link", "folder"],
)
def test_a_folder_with_anything_that_is_not_ours_is_not_empty(tmp_path: Path, make: Callable[[Path], object]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    make(tmp_path / "run")
    before = sorted(tmp_path.rglob("*")), contents(tmp_path)
    with pytest.raises(InputError, match="is not empty"):
        run(tmp_path / "run", 10)
    assert (sorted(tmp_path.rglob("*")), contents(tmp_path)) == before


@pytest.mark.parametrize("name", ["lock", "log.txt", "metrics.jsonl", "checkpoints", "parts"])
def test_a_run_with_links_for_its_own_files_is_refused(stopped: Path, name: str) -> None:
    elsewhere = stopped.parent / "elsewhere"
    if (stopped / name).exists():
        (stopped / name).rename(elsewhere)
    else:
        elsewhere.mkdir()
    (stopped / name).symlink_to(elsewhere)
    before = contents(stopped.parent)
    with pytest.raises(InputError, match=f"{name} is a link; move it elsewhere, or name another folder"):
        resume(stopped, 500)
    assert contents(stopped.parent) == before


def test_a_lock_with_content_is_not_emptied(stopped: Path) -> None:
    (stopped / "lock").write_text("npm")
    with pytest.raises(InputError, match="lock is not a lock, it has content"):
        resume(stopped, 500)
    assert (stopped / "lock").read_text() == "npm"


def test_other_files_behind_links_stay_and_the_run_goes_on(stopped: Path) -> None:
    """Files that are replaced as a whole: the link is replaced, its target stays."""
    for name in ("recipe.toml", "strategy.u8", "strategy.float32", "checkpoints/000000000400.ckpt"):
        (stopped.parent / Path(name).name).write_bytes((stopped / name).read_bytes())
        (stopped / name).unlink()
        (stopped / name).symlink_to(stopped.parent / Path(name).name)
    before = {path: path.read_bytes() for path in stopped.parent.iterdir() if path.is_file()}
    resume(stopped, 500)
    assert {path: path.read_bytes() for path in stopped.parent.iterdir() if path.is_file()} == before
    assert names(stopped) == ["000000000400", "000000000500"]


def test_a_copy_by_hard_links_leaves_the_run_as_it_was(stopped: Path) -> None:
    copy = stopped.parent / "copy"
    shutil.copytree(stopped, copy, copy_function=lambda one, two: Path(two).hardlink_to(one))
    before = contents(stopped)
    resume(copy, 500)
    assert contents(stopped) == before
    log = (copy / "log.txt").read_bytes()
    assert log.startswith(before[str(stopped / "log.txt")]) and len(log) > len(before[str(stopped / "log.txt")])


def test_users_files_named_like_checkpoints_stay(stopped: Path) -> None:
    folder = stopped / "checkpoints"
    mine = (
        "mine.u8", "7.ckpt", "2024.ckpt", "9999999999.ckpt", "000000009999.ckpt", "000000000100.ckpt",
        "000000000100.u8", "mine.damaged", "²²²²²²²²²²²².ckpt", "notes.txt", "000000009999.damaged",
    )  # fmt: skip
    for name in mine:
        (folder / name).write_text(name)
    (folder / "000000000200.ckpt").write_bytes(b"a copy " + (folder / "000000000300.ckpt").read_bytes())
    (folder / "000000009998.ckpt").mkdir()
    (folder / "000000000400.ckpt").write_bytes(b"damaged")
    (folder / "000000000400.damaged").write_text("mine too")
    said: list[str] = []
    resume(stopped, 500, OFTEN, say=said.append)
    assert any("continues from iteration 300" in line for line in said)
    assert all((folder / name).read_text() == name for name in mine)
    assert (folder / "000000000400.damaged").read_text() == "mine too"
    assert (folder / "000000000200.ckpt").exists() and (folder / "000000009998.ckpt").is_dir()
    assert len(names(stopped)) == OFTEN.checkpoint.keep


def test_a_file_of_the_user_is_not_replaced_by_a_checkpoint(stopped: Path) -> None:
    mine = stopped / "checkpoints" / "000000000500.ckpt"
    mine.write_text("mine")
    with pytest.raises(InputError, match=r"not write the file .* 400 is intact; move that file elsewhere, then"):
        resume(stopped, 500)
    assert mine.read_text() == "mine"
    mine.unlink()
    resume(stopped, 500)


def test_a_checkpoint_brought_back_is_used_and_stays(stopped: Path) -> None:
    """Also a whole run whose list is lost."""
    folder = stopped / "checkpoints"
    kept = (folder / "000000000300.ckpt").read_bytes()
    resume(stopped, 600, OFTEN)
    for path in folder.iterdir():
        path.unlink()
    (folder / "000000000300.ckpt").write_bytes(kept)
    said: list[str] = []
    resume(stopped, 600, OFTEN, say=said.append)
    assert any("continues from iteration 300" in line for line in said)
    assert (folder / "000000000300.ckpt").read_bytes() == kept
    assert RunFolder(stopped).own.names() == {f"{name}.ckpt" for name in names(stopped)} - {"000000000300.ckpt"}
    (folder / "written").unlink()
    resume(stopped, 700, OFTEN)
    assert names(stopped)[-1] == "000000000700"


def test_with_a_lost_list_a_damaged_checkpoint_starts_nothing_from_zero(stopped: Path) -> None:
    (stopped / "checkpoints" / "written").unlink()
    for path in (stopped / "checkpoints").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    before = contents(stopped / "checkpoints")
    with pytest.raises(InputError, match="every checkpoint is damaged"):
        resume(stopped, 500)
    assert contents(stopped / "checkpoints") == before


def test_metrics_that_are_not_ours_are_set_aside(stopped: Path) -> None:
    (stopped / "metrics.jsonl").write_text('{"loss": 1}\n')
    resume(stopped, 500)
    assert (stopped / "metrics.damaged").read_text() == '{"loss": 1}\n'
    (stopped / "metrics.jsonl").write_text("mine")
    resume(stopped, 600)
    assert (stopped / "metrics.jsonl").read_text().startswith("mine")


class Killed(BaseException):
    """A kill at a step of `RunFolder.save`."""


@pytest.mark.parametrize("step", range(1, 6))
def test_killed_at_any_step_of_a_checkpoint_a_run_knows_its_files(
    stopped: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps: the list, the file, the removal of the oldest, the list again."""
    steps: list[str] = []

    def stepped(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*given: Any, **named: Any) -> object:
            steps.append(call.__name__)
            if len(steps) == step:
                raise Killed
            return call(*given, **named)

        return wrapped

    with monkeypatch.context() as patch:
        patch.setattr("equipoise.core.files.own_files.save_arrays", stepped(save_arrays))
        patch.setattr("equipoise.runs.folder.save_arrays", stepped(save_arrays))
        patch.setattr(OwnFiles, "unlink", stepped(OwnFiles.unlink))
        patch.setattr(RunFolder, "add_metrics", stepped(RunFolder.add_metrics))
        with pytest.raises(Killed):
            resume(stopped, 500)
    assert len(steps) == step
    there = {path.name for path in (stopped / "checkpoints").glob("*.ckpt")}
    assert there <= RunFolder(stopped).own.names()
    resume(stopped, 600)
    left = {path.name for path in (stopped / "checkpoints").glob("*.ckpt")}
    assert left == RunFolder(stopped).own.names() == {f"{name}.ckpt" for name in names(stopped)}
    assert len(left) == OFTEN.checkpoint.keep
