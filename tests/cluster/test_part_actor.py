"""The files of cuts, which all parts of a machine clear at the same time."""

import threading
from pathlib import Path
from typing import cast

import pytest

from equipoise.cluster.part_actor import MakePart, PartActor


@pytest.mark.parametrize("in_pieces", [True, False], ids=["one folder a cut", "one folder a part"])
def test_parts_clear_the_same_folder_at_once(tmp_path: Path, in_pieces: bool) -> None:
    actors = [PartActor(cast(MakePart, None), str(tmp_path), part, "same", 1) for part in range(6)]
    for number in range(20):
        for cut in range(12):
            for piece in range(6):
                names = (f"{cut:012d}", f"{piece:02d}.npy") if in_pieces else (f"{piece:02d}", f"{cut:012d}.ckpt")
                path = tmp_path / names[0] / names[1]
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(b"x")
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
        cuts = {path.name if in_pieces else path.stem for path in tmp_path.glob("*" if in_pieces else "*/*")}
        assert cuts == {"000000000010", "000000000011"}
    assert len([path for path in tmp_path.glob("*/*") if path.is_file()]) == 12
