"""The door to Ray: a cluster of this machine that starts and ends with a training, or one that is already there.

A local cluster listens on 127.0.0.1 only, asks for a token, keeps its files in a folder that only this user can enter
(`private_folder.py`), and ends with the `with` block; if this process is killed, Ray's own reaper ends it. A cluster
that was joined stays as it is. Ray reads its settings from the environment, changes signal handlers and warns in many
places: all of that stays in here.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import socket
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from equipoise.cluster.private_folder import PREFIX, PrivateFolder, private_folder
from equipoise.core.addresses import network_reason, read_address
from equipoise.core.errors import InputError, shown
from equipoise.core.machine import all_cores

LOCAL, AUTO = "local", "auto"
LOOPBACK = "127.0.0.1"
OBJECT_STORE = 256 << 20  # bytes for messages under way
ANSWER = 5.0  # seconds in which an address must answer
WORKERS = {"OMP_WAIT_POLICY": "passive"}  # threads of torch that wait must not spin
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_worker_niceness": "0",  # of a local cluster: its workers do the work
}
TOKEN = {"RAY_AUTH_MODE": "token"}
# Ray itself waits for minutes. A server of gRPC answers this, the start of HTTP/2 and empty settings, at once.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_TOKENS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


@dataclass(frozen=True)
class Cluster:
    """A connection to Ray."""

    address: str
    is_local: bool  # on this machine only, and ours
    folder: PrivateFolder | None = None  # of a cluster that we started

    def check(self) -> None:
        """Refuse to go on if other users have got access to a cluster of ours."""
        if self.folder is not None:
            self.folder.check()

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The machines that are alive, as Ray describes them."""
        return [node for node in find_ray().nodes() if node["Alive"] and node["Resources"].get("CPU")]

    @property
    def cores(self) -> int:
        """Cores of all machines."""
        return int(sum(node["Resources"]["CPU"] for node in self.nodes))


def find_ray() -> Any:
    """Ray's module; one line if it is not installed."""
    try:
        import ray
    except ImportError:
        raise InputError("a cluster needs Ray", remedy="install it: pip install 'equipoise[cluster]'") from None
    return ray


def end_actors(actors: Iterable[Any]) -> None:
    """End some actors; those that are gone already are no error."""
    ray = find_ray()
    for actor in actors:
        with contextlib.suppress(ValueError):
            ray.kill(actor)


@contextmanager
def open_cluster(where: str, *, cores: int = 0, object_store: int = OBJECT_STORE) -> Iterator[Cluster]:
    """A cluster on this machine (`local`), or the one at an address (`HOST:PORT`, `auto`). Ends only what it started.

    `cores` are those of a local cluster: all if zero.
    """
    ray = find_ray()
    if ray.is_initialized():
        if where == LOCAL:
            raise InputError("Ray is already connected in this process", remedy="use ray.shutdown() before")
        yield Cluster(ray.get_runtime_context().gcs_address, False)
        return
    opened = _started(ray, cores or all_cores(), object_store) if where == LOCAL else _joined(ray, where)
    with _speechless(), opened as cluster:
        yield cluster


@contextmanager
def _started(ray: Any, cores: int, object_store: int) -> Iterator[Cluster]:
    token = {} if any(os.environ.get(name) for name in _TOKENS) else {_TOKENS[0]: secrets.token_hex(32)}
    with ExitStack() as stack:
        folder = stack.enter_context(private_folder())
        stack.enter_context(_environment({**QUIET, **TOKEN, **WORKERS, **token, "PYTHONPATH": _module_path()}))
        stack.enter_context(_loopback())
        with _contained():
            context = ray.init(
                address=LOCAL, num_cpus=cores, num_gpus=0, include_dashboard=False, object_store_memory=object_store,
                _temp_dir=str(folder.inner), _node_ip_address=LOOPBACK, log_to_driver=False, configure_logging=False,
                namespace=PREFIX + secrets.token_hex(4),
            )  # fmt: skip
        stack.callback(_shut_down, ray)
        if context.address_info["node_ip_address"] != LOOPBACK:
            raise InputError("Ray does not keep to this machine", remedy="install the version of 'equipoise[cluster]'")
        folder.check()
        yield Cluster(context.address_info["address"], True, folder)


def _module_path() -> str:
    """Where workers find this package: where it is, whether installed or not."""
    before = os.environ.get("PYTHONPATH")
    here = str(Path(__file__).parents[2])
    return f"{here}{os.pathsep}{before}" if before else here


@contextmanager
def _joined(ray: Any, where: str) -> Iterator[Cluster]:
    host = _check_answers(where) if where != AUTO else ""
    with ExitStack() as stack:
        # A cluster without a token is refused unless the user asks for it: who reaches its port runs code on it.
        stack.enter_context(_environment({**QUIET, **({} if "RAY_AUTH_MODE" in os.environ else TOKEN)}))
        if host == LOOPBACK:
            stack.enter_context(_loopback())
        try:
            with _contained(), _silenced():
                context = ray.init(
                    address=where, log_to_driver=False, configure_logging=False, runtime_env={"env_vars": WORKERS},
                    namespace=PREFIX + secrets.token_hex(4),
                )  # fmt: skip
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise _refused(where, error) from None
        stack.callback(_shut_down, ray)
        yield Cluster(context.address_info["address"], False)


def _refused(where: str, error: Exception) -> InputError:
    """Why Ray would not join."""
    reason = str(error).split(". ")[0]
    if "token" in reason:
        remedy = "put the cluster's token in ~/.ray/auth_token, or set RAY_AUTH_MODE=disabled in a network you trust"
    else:
        remedy = "train on one of its machines, where ray start has joined it, with the token of the cluster"
    return InputError(f"the cluster at {shown(where)} cannot be joined ({reason})", remedy=remedy)


def _check_answers(where: str) -> str:
    """Refuse an address at which nobody listens; returns its host."""
    try:
        host, port = read_address(where)
    except InputError as error:
        raise InputError(error.what, remedy="use local, auto or HOST:PORT, e.g. 10.0.0.1:6379") from None
    try:
        with socket.create_connection((host, port), timeout=ANSWER) as connection:
            connection.sendall(_GREETING)
            if not connection.recv(1):
                raise ConnectionError("it does not answer as Ray does")
    except OSError as error:
        raise InputError(
            f"no cluster answers at {shown(where)}: {network_reason(error)}",
            remedy="start Ray there, or use --cluster local",
        ) from None
    with contextlib.suppress(ValueError):
        return LOOPBACK if ip_address(host).is_loopback else host
    return LOOPBACK if host == "localhost" else host


def _shut_down(ray: Any) -> None:
    with _contained():
        ray.shutdown()


@contextmanager
def _contained() -> Iterator[None]:
    """Ray without its warnings; signal handlers are put back."""
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def _speechless() -> Iterator[None]:
    """Keep Ray from printing what happens to its machines on standard output; the log of the run says it."""
    from ray._private import worker

    before = worker.print_to_stdstream
    worker.print_to_stdstream = lambda *_, **__: None
    try:
        yield
    finally:
        worker.print_to_stdstream = before


@contextmanager
def _silenced() -> Iterator[None]:
    """Without a standard error: a wrong token is a line for each of Ray's attempts, from below Python."""
    kept = os.dup(2)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for Ray and its workers, and for this process as long as it is connected."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    _read_again()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _read_again()


def _read_again() -> None:
    """Let Ray forget the settings and the token that it has read from the environment."""
    from ray._raylet import AuthenticationTokenLoader, Config

    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


@contextmanager
def _loopback() -> Iterator[None]:
    """Ray's mode for one machine (its default on macOS), without which it replaces 127.0.0.1 by a public address."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
