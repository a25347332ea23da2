"""A local cluster is reachable from this machine only, and with a token; addresses that nobody answers are one line."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from waiting import GUARD

ray = pytest.importorskip("ray", reason="needs pip install 'equipoise[cluster]'")

from equipoise.cluster import private_folder, ray_door
from equipoise.cluster.ray_door import Cluster
from equipoise.cluster.worker_pool import WorkerPool
from equipoise.core.errors import InputError
from processes import descendants

LISTENING = "0A"


def listening_addresses() -> set[str]:
    """Addresses at which this process or its descendants listen, as /proc writes them."""
    sockets = {link for process in descendants(os.getpid()) for link in links(process)}
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENING and f"socket:[{words[9]}]" in sockets:
                found.add(words[1].rpartition(":")[0])
    return found


def socket_files() -> set[str]:
    """The files at which this process or its descendants listen; abstract names begin with an @."""
    sockets = {link for process in descendants(os.getpid()) for link in links(process)}
    lines = [line.split(maxsplit=7) for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return {words[7] for words in lines if len(words) > 7 and f"socket:[{words[6]}]" in sockets}


def links(process: int) -> list[str]:
    try:
        return [str(path.readlink()) for path in Path(f"/proc/{process}/fd").iterdir()]
    except OSError:
        return []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_local_cluster_listens_on_loopback_only(cluster: Cluster) -> None:
    assert cluster.address.startswith("127.0.0.1:")
    found = listening_addresses()
    assert found
    assert found <= {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_sockets_of_a_local_cluster_are_in_a_folder_that_stays_shut(cluster: Cluster) -> None:
    """Ray opens its own folders to everybody while it runs."""
    folder = cluster.folder
    assert folder is not None
    cluster.check()
    assert folder.path.stat().st_mode & 0o7777 == 0o700
    assert any(path.stat().st_mode & 0o002 for path in folder.inner.iterdir())
    found = socket_files()
    assert {Path(name).name for name in found} == {"plasma_store", "raylet"}
    assert all(name.startswith(f"{folder.path}/") for name in found)


def test_names_of_sockets_are_short_enough() -> None:
    folder = f"{'x' * private_folder._LONGEST}/{private_folder.PREFIX}4194304-abcdefgh/{private_folder.INNER}"
    assert len(f"{folder}/session_2026-11-20_00-05-27_166843_4194304/sockets/plasma_store") <= 107


def test_a_cluster_whose_folder_was_opened_ends(cluster: Cluster) -> None:
    assert cluster.folder is not None
    cluster.folder.path.chmod(0o777)
    try:
        with pytest.raises(InputError, match="open to other users"):
            WorkerPool(cluster, dict, 1).map(None, [])  # type: ignore[arg-type]
    finally:
        cluster.folder.path.chmod(0o700)


def test_a_local_cluster_asks_for_a_token(cluster: Cluster) -> None:
    assert cluster.cores == 2
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert len(os.environ.get("RAY_AUTH_TOKEN", "x" * 32)) >= 32


@pytest.mark.parametrize("where", ["nowhere", "host:port", "127.0.0.1:0", "127.0.0.1:99999", ":6379"])
def test_what_is_no_address_is_refused(where: str) -> None:
    with pytest.raises(InputError, match="is not an address"):
        ray_door._check_answers(where)


def test_an_address_that_nobody_answers_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_door, "ANSWER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(InputError, match=r"no cluster answers at .*: there was no answer in time"):
            ray_door._check_answers(f"127.0.0.1:{port}")
    with pytest.raises(InputError, match=r"no cluster answers at .*: nothing listens there"):
        ray_door._check_answers(f"127.0.0.1:{port}")


def test_a_cluster_answers(cluster: Cluster) -> None:
    assert ray_door._check_answers(cluster.address) == "127.0.0.1"


TRAIN = (
    sys.executable, "-m", "equipoise", "train", "leduc", "--set", "solver={method='pcs',boards=2}",
    "--set", "measure.method=none", "--set", "checkpoint.minutes=0.005", "--cluster", "local", "--minutes", "5",
)  # fmt: skip


def folders(process: int) -> list[Path]:
    return list(Path("/tmp").glob(f"equipoise-ray-{process}-*"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_training_that_is_stopped(how: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C goes to all processes of a terminal, as `killpg` does; kill -9 hits the head alone."""
    run = tmp_path / "run"
    head = subprocess.Popen([*TRAIN, "--out", str(run)], stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while not any(run.glob("checkpoints/*.ckpt")):
            assert head.poll() is None, head.stderr
            time.sleep(0.1)
        children = descendants(head.pid) - {head.pid}
        assert len(children) > 3
        if how is signal.SIGINT:
            os.killpg(head.pid, how)
        else:
            head.send_signal(how)
        _, errors = head.communicate(timeout=GUARD)
    finally:
        head.kill()
    deadline = time.monotonic() + 120  # Ray's agents notice late that their node is gone
    while time.monotonic() < deadline and any(Path(f"/proc/{child}/stat").exists() for child in children):
        time.sleep(0.2)
    assert not [child for child in children if Path(f"/proc/{child}/stat").exists()]
    if how is signal.SIGKILL:
        assert head.returncode == -how
        assert folders(head.pid)  # the next local cluster removes it
    else:
        assert head.returncode == 128 + how, errors
        assert not folders(head.pid)
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", "train", "--resume", str(run), "--cluster", "local", "--iterations", "1"],
        capture_output=True, text=True, timeout=GUARD, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "is already at its end" in done.stderr
    assert not folders(head.pid)
