"""Files from strangers: contents that make no sense, under checksums that are right.

A change is drawn by a seeded generator: a key of the header or a number of an array that is missing, of another type,
too large, negative, not a number; an array of another shape or type, exchanged, cut or overlapping; a header that is
hardly JSON. Then all checksums are made right again, so that only the reader's own checks stand between the file and a
kernel.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

from containers import container_of_line, listed_arrays

NOT_A_NUMBER = float("nan")
VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 7, 128, 255, 256, 65_536, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64,
    10**30, -(2**31), -(2**63), 0.5, -0.5, 1.5, 1e-300, 1e30, 1e300, NOT_A_NUMBER, float("inf"), float("-inf"), "", "0",
    "1", "x", "a\nb", "\x1b[31m", "\0", "../../etc/passwd", "é" * 500, "9" * 400, [], {}, [[]], [None], [-1], [0] * 40,
    {"a": 1}, {"": None},
)  # fmt: skip
TYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
STRANGE_TYPES = (">f4", "|O", "O", "<U4", "|S9", "|V8", "<c8", "<M8[s]", "f", "i4,i4", "", "x" * 99, None, ["<f4"])
NUMBERS = (
    -1, 0, 1, 2, 3, 64, 127, 128, 200, 255, 256, 1000, 32_767, 65_535, 2**20, 2**31 - 1, -(2**31), 2**32 - 1, 2**40,
    2**63 - 1, 0.5, -0.5, 1.001, 1e9, 1e30, -1e30, 3e38, 1e300, NOT_A_NUMBER, float("inf"), float("-inf"),
)  # fmt: skip
LINES: tuple[tuple[bytes, bytes], ...] = (
    (b":", b":" + b"[" * 400), (b"}", b"}}"), (b"{", b'{"format":"x",'), (b"[", b"[" + b"9" * 5000 + b","),
    (b'"', b'"\xff\xfe'), (b'"', b'"\\ud800'), (b"0", b"1e999"), (b"1", b"NaN"), (b",", b",,"), (b"}", b""),
    (b"null", b"NaN"), (b":", b":-"), (b'"arrays"', b'"arrays":{},"arrays"'), (b'"format"', b'"format":1,"format"'),
)  # fmt: skip

Header, Arrays = dict[str, Any], dict[str, Any]


def craft(header: Header, arrays: Arrays, rng: Random) -> tuple[bytes, str]:
    """A changed file, all its checksums right, and what was changed."""
    header, arrays = json.loads(json.dumps(header)), {name: array.copy() for name, array in arrays.items()}
    inner: tuple[tuple[Callable[..., str], int], ...] = ((_header, 8), (_numbers, 7), (_array, 5), (_listing, 3))
    ways = [(way, weight) for way, weight in inner if arrays or way is _header]
    chosen = rng.choices([way for way, _ in ways], [weight for _, weight in ways], k=rng.choice((1, 1, 1, 2, 3)))
    done = [way(header, arrays, rng) for way in chosen if way is not _listing]
    listed = listed_arrays(arrays)
    done += [_listing(listed, arrays, rng) for way in chosen if way is _listing]
    line = json.dumps({**header, "arrays": listed}).encode()
    if rng.random() < 0.05:
        old, new = rng.choice(LINES)
        if places := [at for at in range(len(line)) if line.startswith(old, at)]:
            at = rng.choice(places)
            line = line[:at] + new + line[at + len(old) :]
            done.append(f"{old!r} = {new[:20]!r}")
    return container_of_line(line, arrays), "; ".join(done)


def _header(header: Header, _arrays: Arrays, rng: Random) -> str:
    """Change a value of the header at any depth."""
    return _change_value(header, rng)


def _change_value(table: Any, rng: Random) -> str:
    path = rng.choice(list(_paths(table)) or [()])
    if not path or rng.random() < 0.05:
        key = rng.choice(("more", "", "a b", "format "))
        table[key] = rng.choice(VALUES)
        return f"another key {key!r}"
    here = table
    for key in path[:-1]:
        here = here[key]
    old = here[path[-1]]
    where = ".".join(map(str, path))
    if rng.random() < 0.2:
        del here[path[-1]]
        return f"no {where}"
    here[path[-1]] = new = rng.choice(_near(old, rng) if rng.random() < 0.4 else VALUES)
    return f"{where} = {str(new)[:40]!r}"


def _near(old: Any, rng: Random) -> tuple[Any, ...]:
    """Values that are nearly right."""
    if isinstance(old, bool) or old is None:
        return (not old, 0, "")
    if isinstance(old, int | float):
        return (old + 1, old - 1, -old, 2 * old, old + 0.5, str(old), [old], old * 10**6)
    if isinstance(old, str):
        at = rng.randrange(len(old) + 1)
        other = old[:at] + rng.choice("09-x ") + old[at + 1 :]
        return (old + "x", old[:-1], old.upper(), old[:at] + "\n" + old[at:], other, [old])
    if isinstance(old, list):
        return (old[:-1], old + old[-1:], old[::-1], {}, dict(enumerate(map(str, old))))
    return ({}, [old], list(old), {**old, "more": 1}, dict(list(old.items())[:-1]))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _numbers(_header: Header, arrays: Arrays, rng: Random) -> str:
    """Change some numbers of an array, or all."""
    full = [name for name, array in arrays.items() if array.size]
    if not full:
        return "nothing"
    name, number = rng.choice(full), rng.choice(NUMBERS)
    array = arrays[name]
    flat = array.reshape(-1)
    if rng.random() < 0.15:
        flat[:] = np.frombuffer(rng.randbytes(array.nbytes), array.dtype)
        return f"random bytes in {name}"
    count = rng.choice((1, 1, 3, flat.size))
    places = rng.sample(range(flat.size), min(count, flat.size))
    if array.dtype.kind in "iu":
        about = np.iinfo(array.dtype)
        number = min(max(int(number) if np.isfinite(number) else 2**62, int(about.min)), int(about.max))
    with np.errstate(over="ignore"):
        flat[places] = np.array(number).astype(array.dtype)
    return f"{len(places)} of {name} = {number}"


def _array(_header: Header, arrays: Arrays, rng: Random) -> str:
    """Change an array as a whole."""
    full = [name for name, array in arrays.items() if array.size] or list(arrays)
    if not full:
        return "nothing"
    name, other = rng.choice(full), rng.choice(full)
    array = arrays[name]
    changes: dict[str, Callable[[], Any]] = {
        "cut": lambda: array[:-1],
        "empty": lambda: array[:0],
        "grown": lambda: np.concatenate([array, array[-1:]]) if array.ndim else array,
        "an axis more": lambda: array[np.newaxis],
        "flat": lambda: array.reshape(-1),
        "turned": lambda: array.T.copy(),
        "backwards": lambda: array[::-1].copy(),
        "another type": lambda: array.astype(rng.choice(TYPES)),
        "the same bytes": lambda: array.reshape(-1).view(np.uint8),
        "another's": lambda: arrays[other].copy(),
        "negative": lambda: -array if array.dtype.kind in "if" else array[::-1].copy(),
    }
    change = rng.choice((*changes, "missing", "renamed", "one more"))
    if change in changes:
        with np.errstate(all="ignore"):
            arrays[name] = changes[change]() if array.ndim else np.zeros(3, array.dtype)
    elif change == "one more":
        arrays["more"] = array.copy()
    else:
        del arrays[name]
        if change == "renamed":
            arrays[f"{name} "] = array
    return f"{name} {change}"


def _listing(listed: Any, _arrays: Arrays, rng: Random) -> str:
    """Change what the header says of an array, and not the array."""
    if not listed:
        return "nothing"
    name = rng.choice(list(listed))
    about = listed[name]
    change = rng.choice(("type", "strange type", "shape", "start", "sums", "any", "twice"))
    if change == "twice":
        listed[f"{name} again"] = dict(about)
    elif change == "any" or not {"type", "shape", "start", "checksums"} <= set(about):
        return f"list: {_change_value(listed, rng)}"
    elif change == "type":
        about["type"] = rng.choice(TYPES)
    elif change == "strange type":
        about["type"] = rng.choice(STRANGE_TYPES)
    elif change == "shape":
        shape = about["shape"]
        nearly = (shape[::-1], *([each(n) for n in shape] for each in (lambda n: n + 1, lambda n: n // 2, float)))
        wild = ([], [-1], [-n for n in shape], [2**40], [2**62, 4], [0, 2**62, 2**62], [1] * 70, None, 5, [[3]])
        about["shape"] = rng.choice((*nearly, *wild, [*shape, 1], [*shape, 0], [1, *shape]))
    elif change == "start":
        others = (-4096, 0, 1, 4096, 8192, 2**40, 2**63, 2**70, about["start"] + 4096, None, 0.0, "0")
        about["start"] = rng.choice(others)
    else:
        about["checksums"] = rng.choice(([], about["checksums"] * 2, ["0"], [None], None, "", 5, [0], ["x" * 9999]))
    return f"{change} of {name} in the list"
