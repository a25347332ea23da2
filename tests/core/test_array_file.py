"""Files of arrays: what is written comes back, mapped; whatever is not whole is refused by name."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from containers import container, container_of_line, listed_arrays
from equipoise.core.errors import InputError
from equipoise.core.files import array_file as _array_file
from equipoise.core.files.array_file import ALIGNED, FileHeader, load_arrays, load_header, save_arrays

FORMAT = "things 1"
HEADER = {"purpose": "a test", "numbers": [1, 2.5, None], "deep": {"a": True}}
NAME = "a file with a name that is longer than most names are.things"


class ThingsHeader(FileHeader):
    purpose: str = ""
    numbers: list[float | None] | None = None
    deep: dict[str, bool] | None = None


def some_arrays() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "small": rng.integers(0, 9, 7, np.uint8),
        "wide": rng.integers(0, 1 << 40, (300, 5), np.uint64),
        "none": np.zeros((0, 4), np.float32),
        "across": rng.random((40, 30)).astype(np.float32).T,  # not contiguous
        "one": np.array(2.5),
        "every other": rng.integers(0, 99, 5000, np.uint16)[::2],
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    save_arrays(path, FORMAT, HEADER, some_arrays())
    return path


def load(path: Path, **more: Any) -> tuple[ThingsHeader, dict[str, Any]]:
    return load_arrays(path, FORMAT, ThingsHeader, remedy="make it again", **more)


def keys_of(header: ThingsHeader) -> dict[str, Any]:
    return header.model_dump(exclude={"arrays"})


def refused(path: Path, **more: Any) -> str:
    with pytest.raises(InputError) as caught:
        load(path, **more)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and text.endswith("; make it again") and "\n" not in text
    return caught.value.what


@pytest.mark.parametrize("copied", [True, False])
def test_what_is_written_comes_back(path: Path, copied: bool) -> None:
    header, arrays = load(path, copied=copied)
    assert load_header(path, FORMAT, ThingsHeader, remedy="") == header
    assert keys_of(header) == {"format": FORMAT, **HEADER}
    assert list(arrays) == list(some_arrays())
    for name, array in some_arrays().items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].flags.c_contiguous and type(arrays[name]) is np.ndarray
        np.testing.assert_array_equal(arrays[name], array)


def test_arrays_are_mapped_on_pages_of_their_own_and_writing_changes_no_file(path: Path) -> None:
    before = path.read_bytes()
    _, arrays = load(path)
    for name, array in arrays.items():
        if array.size:
            assert isinstance(array.base, np.memmap) and array.ctypes.data % ALIGNED == 0, name
            array[...] = 1
            assert (array == 1).all()
    assert path.read_bytes() == before
    np.testing.assert_array_equal(load(path)[1]["wide"], some_arrays()["wide"])


def test_a_file_may_be_replaced_by_what_was_read_from_it(path: Path) -> None:
    before = path.read_bytes()
    _, arrays = load(path)
    save_arrays(path, FORMAT, HEADER, arrays)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [NAME]


def test_every_cut_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    ends = [0, 1, 10, whole.index(b"\n"), whole.index(b"\n") + 1, whole.index(b"\n") + 10, ALIGNED - 1, ALIGNED]
    for end in [*ends, *range(ALIGNED + 1, len(whole), 499), len(whole) - 1]:
        path.write_bytes(whole[:end])
        for copied in (True, False):
            said = refused(path, copied=copied)
            assert said == "truncated" or end < ALIGNED
    path.write_bytes(whole)
    load(path)


def test_every_flipped_bit_of_the_header_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    end = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    rng = np.random.default_rng(2)
    for place in range(end):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        said = refused(path, copied=bool(rng.integers(2)))
        assert said.startswith(("damaged: the checksum of its header", "not a file of format", "format "))


@pytest.mark.parametrize("name", [name for name, array in some_arrays().items() if array.size])
def test_flipped_bits_of_every_array_are_noticed(path: Path, name: str) -> None:
    whole = path.read_bytes()
    about = json.loads(whole[: whole.index(b"\n")])["arrays"][name]
    length = some_arrays()[name].nbytes
    for place in {0, length // 2, length - 1}:
        damaged = bytearray(whole)
        damaged[ALIGNED + about["start"] + place] ^= 4
        path.write_bytes(damaged)
        assert refused(path) == refused(path, copied=True) == f"damaged: the checksum of {name} is wrong"


def test_flipped_bits_between_arrays_and_appended_bytes_are_noticed(path: Path) -> None:
    whole = path.read_bytes()
    about = json.loads(whole[: whole.index(b"\n")])["arrays"]["small"]
    damaged = bytearray(whole)
    damaged[ALIGNED + about["start"] + some_arrays()["small"].nbytes] ^= 1
    path.write_bytes(damaged)
    assert refused(path) == "damaged: there are bytes before wide"
    for more in (b"\0", b"x", bytes(2 * ALIGNED)):
        path.write_bytes(whole + more)
        assert refused(path) == "damaged: there are bytes after its end"


def test_a_record_without_arrays_is_checked_whole(tmp_path: Path) -> None:
    path = tmp_path / NAME
    save_arrays(path, FORMAT, HEADER, {})
    assert keys_of(load_header(path, FORMAT, ThingsHeader, remedy="make it again")) == {"format": FORMAT, **HEADER}
    whole = path.read_bytes()
    for place in range(len(whole)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            refused(path)
    path.write_bytes(whole + b"\n")
    refused(path)


def test_every_block_of_a_large_array_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_array_file, "BLOCK", 3000)
    monkeypatch.setattr(_array_file, "_READ", 700)
    array = np.random.default_rng(1).integers(0, 256, 20_000, np.uint8)
    path = tmp_path / NAME
    save_arrays(path, FORMAT, {}, {"large": array})
    whole = path.read_bytes()
    for copied in (True, False):
        np.testing.assert_array_equal(load(path, copied=copied)[1]["large"], array)
        for place in range(ALIGNED, len(whole), 1500):
            damaged = bytearray(whole)
            damaged[place] ^= 16
            path.write_bytes(damaged)
            assert refused(path, copied=copied) == "damaged: the checksum of large is wrong"
        path.write_bytes(whole)


def test_copies_stay_when_their_file_is_truncated(path: Path) -> None:
    """To read a mapped array would end the process."""
    _, arrays = load(path, copied=True)
    path.write_bytes(b"")
    for name, array in some_arrays().items():
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n", b"{}\n", b"[]\n", b'"format"\n', b"5\n", b"null\n", b'{"format"', b"\x00" * 9000, b"\xff\xfe\n",
        b"PK\x03\x04", b"[" * 200_000 + b"\n", b"9" * 100_000 + b"\n", b'{"format": ' + b"[" * 200_000,
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert refused(path) == "not a file of format 'things 1'"


@pytest.mark.parametrize("found", ["equipoise things", "other", 1, None, ["things 1"]])
def test_other_formats_are_refused(path: Path, found: Any) -> None:
    save_arrays(path, found, HEADER, some_arrays())
    ours = found == "equipoise things"
    assert refused(path) == (f"format {found!r}, wanted 'things 1'" if ours else "not a file of format 'things 1'")


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / NAME) == "cannot read (No such file or directory)"
    assert refused(tmp_path) == "cannot read (Is a directory)"
    with pytest.raises(InputError, match="cannot read"):
        load_arrays("a\0b", FORMAT, ThingsHeader, remedy="do not")


def _full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _read_only(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@pytest.mark.parametrize(
    ("where", "failing", "said"),
    [
        ("equipoise.core.files.writing.os.fsync", _full_disk, "No space left on device; free some disk space"),
        ("equipoise.core.files.writing.os.open", _read_only, "Permission denied; name a folder that you may write in"),
    ],
)
def test_a_write_that_fails_leaves_what_was_there(
    path: Path, monkeypatch: pytest.MonkeyPatch, where: str, failing: Callable[..., None], said: str
) -> None:
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(where, failing)
        with pytest.raises(InputError) as caught:
            save_arrays(path, FORMAT, {}, {"other": np.arange(9)})
    assert str(caught.value) == f"{path}: cannot write: {said}"
    assert path.read_bytes() == before and len(list(path.parent.iterdir())) == 1
    with pytest.raises(InputError, match="cannot write: No such file"):
        save_arrays(path.parent / "nowhere" / "x", FORMAT, {}, {})


def listed(name: str, **changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays[name].update(changes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (listed("small", start=-4096), "the 'arrays.small.start' of its header: "),
        (listed("small", start=1), "'small' does not start on the page"),
        (listed("wide", start=0), "'wide' does not start on the page"),  # where small is
        (listed("wide", start=1 << 62), "the 'arrays.wide.start' of its header: "),
        (listed("wide", start=True), "the 'arrays.wide.start' of its header: "),
        (listed("wide", shape=[-300, 5]), "the 'arrays.wide.shape.0' of its header: "),
        (listed("wide", shape=[1 << 80]), "the 'arrays.wide.shape.0' of its header: "),
        (listed("wide", shape=[1 << 40, 1 << 40]), "'wide' is larger than any memory"),
        (listed("wide", shape=[0, 1 << 40, 1 << 40]), "'wide' is larger than any memory"),
        (listed("wide", shape=[1] * 9), "the 'arrays.wide.shape' of its header: "),
        (listed("wide", shape=12000), "the 'arrays.wide.shape' of its header: "),
        (listed("wide", shape=[300.0, 5]), "the 'arrays.wide.shape.0' of its header: "),
        (listed("wide", shape=[301, 5]), "does not start on the page|the checksum of wide is wrong"),
        (listed("small", type="|O"), "the 'arrays.small.type' of its header: "),
        (listed("small", type="O"), "the 'arrays.small.type' of its header: "),
        (listed("small", type="|V7"), "the 'arrays.small.type' of its header: "),
        (listed("small", type=[["a", "|u1"]]), "the 'arrays.small.type' of its header: "),
        (listed("small", type=">f4"), "the 'arrays.small.type' of its header: "),
        (listed("small", type="<c8"), "the 'arrays.small.type' of its header: "),
        (listed("small", checksums=[]), "'small' has 0 checksums"),
        (listed("small", checksums=["0"] * 3), "'small' has 3 checksums"),
        (listed("small", checksums=[None]), "the 'arrays.small.checksums.0' of its header: "),
        (listed("small", checksums=["0"]), "the checksum of small is wrong"),
        (listed("small", other=1), "its header has an unknown key 'arrays.small.other'"),
        (lambda arrays: arrays["small"].pop("start"), "its header has no 'arrays.small.start'"),
        (lambda arrays: arrays.update(small=None), "the 'arrays.small' of its header: "),
        (lambda arrays: arrays.clear(), "there are bytes after its end"),
        (lambda arrays: arrays.pop("every other"), "there are bytes after its end"),
        (lambda arrays: arrays.update(more=dict(arrays["one"])), "'more' does not start on the page"),
    ],
)
def test_lists_of_arrays_that_make_no_sense_are_refused(
    path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    """Their checksums are right."""
    arrays = some_arrays()
    list_ = listed_arrays(arrays)
    path.write_bytes(container({"format": FORMAT, **HEADER}, list_, arrays))
    load(path)
    change(list_)
    path.write_bytes(container({"format": FORMAT, **HEADER}, list_, arrays))
    for copied in (True, False):
        assert re.search(said, refused(path, copied=copied))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"format": "things 1"}', "its header has no 'arrays'"),
        (b'{"format": "things 1", "arrays": []}', "the 'arrays' of its header: "),
        (b'{"format": "things 1", "arrays": {}, "more": 1}', "its header has an unknown key 'more'"),
        (b'{"format": "things 1", "arrays": {}, "purpose": 5}', "the 'purpose' of its header: "),
        (b'{"format": "things 1", "arrays": {}, "numbers": [NaN]}', "the 'numbers.0' of its header: "),
        (b'{"format": "things 1", "arrays": {}, "numbers": [1e999]}', "the 'numbers.0' of its header: "),
        (b'{"format": "things 1", "arrays": {}, "deep": {"a": 1}}', "the 'deep.a' of its header: "),
        (
            b'{"format": "things 1", "arrays": {}, "deep": ' + b"[" * 800 + b"]" * 800 + b"}",
            "no JSON that can be read",
        ),
        (b'{"format": "things 1", "arrays": {}, "purpose": "\\ud800"}', "no JSON that can be read"),
        (b'{"format": "things 1", "arrays": {}, "a\\nb\\u001b[31m": 1}', r"unknown key 'a\\nb\\x1b\[31m'"),
    ],
)
def test_headers_that_make_no_sense_are_refused(path: Path, line: bytes, said: str) -> None:
    path.write_bytes(container_of_line(line, {}))
    assert re.search(said, refused(path))


def test_a_header_that_is_long(tmp_path: Path) -> None:
    header = {"purpose": "é" * 30_000}
    save_arrays(tmp_path / "x", FORMAT, header, {"a": np.arange(5)})
    found, arrays = load(tmp_path / "x")
    assert found.purpose == header["purpose"] and arrays["a"].tolist() == [0, 1, 2, 3, 4]
    assert _array_file.MOST_HEADER > 1 << 20
