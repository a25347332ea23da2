"""Servers in threads, on ports of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from equipoise.play.slumbot.server import SlumbotServer, SlumbotTable
from waiting import GUARD as WAIT

HOST = "127.0.0.1"


@contextmanager
def serving(table: SlumbotTable, host: str = HOST, **options: Any) -> Iterator[SlumbotServer]:
    """A Slumbot server at a free port."""
    with SlumbotServer(table, host, 0, **options) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def door_of(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port, with a thread behind it; `serve` accepts connections until the door is shut, which is an OSError."""
    with socket.create_server((HOST, 0)) as door:
        thread = threading.Thread(target=serve, args=(door,))
        thread.start()
        try:
            yield door.getsockname()[1]
        finally:
            door.shutdown(socket.SHUT_RDWR)
            thread.join(WAIT)
