"""The door to torch: where it runs, and with how many threads.

On a GPU, matrix products use TF32 (10 bits of mantissa, sums in float32) where nothing else is said; on a CPU, float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from equipoise.core.errors import InputError, shown
from equipoise.runs.deep_recipe import DEVICES

WARM_UP = 3  # times that work is done before it is recorded, as torch asks for


def find_device(name: str = "auto") -> torch.device:
    """The device of a name; `auto` is a GPU if there is one."""
    if name not in DEVICES:
        raise InputError(f"no device {shown(name)}", remedy=f"use {', '.join(DEVICES)}")
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise InputError("no CUDA device on this machine", remedy="use --device cpu")
    if name == "cpu" or not there:
        return torch.device("cpu")
    torch.backends.cuda.matmul.allow_tf32 = True
    return torch.device("cuda")


@contextmanager
def full_precision() -> Iterator[None]:
    """Matrix products in float32 on a GPU, too, where differences of large sums count."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def recorded(work: Callable[[], None], kept: Sequence[torch.Tensor] = ()) -> Callable[[], None]:
    """Work on a GPU, recorded as a CUDA graph: starting its operations one by one takes longer than running them.

    What it returns does the same again, reading and writing where the recording did. The work does not wait for the
    GPU, and its shapes are constant. `kept` is what work changes that is to stay as it is while it is recorded.
    """
    before = [tensor.clone() for tensor in kept]
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    for tensor, old in zip(kept, before, strict=True):
        tensor.copy_(old)
    replay: Callable[[], None] = graph.replay
    return replay


def matrix_product(size: int, device: torch.device) -> Callable[[], None]:
    """A product of two square matrices that has ended when it returns, to time the most that a device does."""
    square = torch.rand((size, size), device=device)

    def multiply() -> None:
        (square @ square)[0, 0].item()  # waits for a GPU

    return multiply
