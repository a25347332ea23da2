"""The files of cuts, which all parts of a machine clear at the same time; files of the user among them stay."""

import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from equipoise.cluster.part_actor import MakePart, PartActor, Refused
from equipoise.core.files.array_file import save_arrays


class Whole:
    """A part whose tables are one array."""

    def arrays(self) -> dict[str, Any]:
        return {"table": np.zeros(3)}


class InPieces:
    """A part that writes two files itself."""

    def __init__(self, number: int) -> None:
        self.number = number

    def file_names(self) -> list[str]:
        return [f"{self.number}-{piece}.tables" for piece in range(2)]

    def save(self, folder: str, name: str) -> None:
        (Path(folder) / name).mkdir(exist_ok=True)
        for file in self.file_names():
            save_arrays(Path(folder) / name / file, "piece", {}, {})

    def load(self, folder: str, name: str) -> None:
        """Not called."""


def part_actors(folder: Path, parts: int, *, in_pieces: bool) -> list[PartActor]:
    actors = []
    for number in range(parts):
        actor = PartActor(cast(MakePart, None), str(folder), number, "same", 1)
        actor.part = cast(Any, InPieces(number) if in_pieces else Whole())
        actors.append(actor)
    return actors


def cut(actors: list[PartActor], iteration: int) -> list[Refused | None]:
    """A cut of all parts, as the engine does it; two are kept."""
    found = [actor.save(iteration) for actor in actors]
    for actor in actors:
        actor.keep([iteration - 1, iteration])
    return found


@pytest.mark.parametrize("in_pieces", [True, False], ids=["one folder a cut", "one folder a part"])
def test_files_of_the_user_among_the_cuts_stay(tmp_path: Path, in_pieces: bool) -> None:
    for iteration in range(1, 3):
        assert cut(part_actors(tmp_path, 3, in_pieces=in_pieces), iteration) == [None] * 3
    mine = (
        "202411201200/notes.txt", "00/000000000009.ckpt", "mine/000000000001.ckpt", "000000000001.ckpt",
        "000000000002/mine.tables", "000000000002/9-9.tables", "02/notes.txt", "notes.written", "07.written",
    )  # fmt: skip
    for name in mine:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "202411201201").mkdir()
    for iteration in range(3, 6):  # now in two parts: they remove what the third one wrote
        assert cut(part_actors(tmp_path, 2, in_pieces=in_pieces), iteration) == [None] * 2
    assert all((tmp_path / name).read_text() == name for name in mine)
    assert (tmp_path / "202411201201").is_dir()
    ours = [path for path in tmp_path.glob("*/*.*") if str(path.relative_to(tmp_path)) not in mine]
    assert len(ours) == (8 if in_pieces else 4)
    assert {path.parent.name if in_pieces else path.stem for path in ours} == {"000000000004", "000000000005"}


@pytest.mark.parametrize("in_pieces", [True, False], ids=["one folder a cut", "one folder a part"])
def test_nothing_of_the_user_is_replaced_or_written_through_a_link(tmp_path: Path, in_pieces: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    name = "000000000001/0-1.tables" if in_pieces else "00/000000000001.ckpt"
    (tmp_path / "parts" / name).parent.mkdir(parents=True)
    (tmp_path / "parts" / name).write_text("mine")
    (tmp_path / "parts" / ("000000000002" if in_pieces else "01")).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere")
    actors = part_actors(tmp_path / "parts", 2, in_pieces=in_pieces)
    refused = [
        actors[0].save(1),
        actors[1].save(2),
        part_actors(tmp_path / "linked", 1, in_pieces=in_pieces)[0].save(1),
    ]
    whats = [each.what if each else "" for each in refused]
    assert "did not write the file" in whats[0]
    assert "is a link" in whats[1] and "linked is a link" in whats[2]
    assert (tmp_path / "parts" / name).read_text() == "mine" and not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("in_pieces", [True, False], ids=["one folder a cut", "one folder a part"])
def test_parts_clear_the_same_folder_at_once(tmp_path: Path, in_pieces: bool) -> None:
    actors = part_actors(tmp_path, 6, in_pieces=in_pieces)
    for number in range(20):
        for cut in range(12):
            for piece in range(6):
                names = (f"{cut:012d}", f"{piece}-0.tables") if in_pieces else (f"{piece:02d}", f"{cut:012d}.ckpt")
                path = tmp_path / names[0] / names[1]
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(b"x")
        for piece, actor in enumerate(actors):
            own = [f"{cut:012d}/{piece}-0.tables" if in_pieces else f"{piece:02d}/{cut:012d}.ckpt" for cut in range(12)]
            actor.own.claim(own, lambda _: True)
        failures: list[Exception] = []
        start = threading.Barrier(len(actors))

        def clear(actor: PartActor, start: threading.Barrier = start, failures: list[Exception] = failures) -> None:
            start.wait()
            try:
                actor.keep([10, 11])
            except Exception as error:  # what ended a training
                failures.append(error)

        threads = [threading.Thread(target=clear, args=(actor,)) for actor in actors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, f"round {number}: {failures[0]!r}"
        cuts = {path.parent.name if in_pieces else path.stem for path in tmp_path.glob("*/*")}
        assert cuts == {"000000000010", "000000000011"}
    assert len([path for path in tmp_path.glob("*/*") if path.is_file()]) == 12
