"""A cluster of two Ray nodes on this machine, the second of which is killed in mid-run. Run as a program.

    python node_loss.py FOLDER ROUNDS

Each round trains toys in two parts, one on each node, kills the second node's raylet with -9 while steps go on, and
compares the tables with those of one process. Prints a line a round.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cluster.engine import Engine, Patience
from equipoise.cluster.private_folder import private_folder
from equipoise.cluster.ray_door import LOOPBACK, QUIET, TOKEN, _environment, _loopback, open_cluster
from toy_split import ToyHead, run_here, table_of, toy_makers

NODE = {"node_ip_address": LOOPBACK, "num_cpus": 2, "object_store_memory": 80 << 20, "include_dashboard": False}
PATIENCE = Patience(start=60.0, least=5.0, times=20.0)
QUICK = {"health_check_period_ms": 500, "health_check_failure_threshold": 4, "health_check_initial_delay_ms": 0}


def main(folder: Path, rounds: int) -> None:
    """Some rounds on one cluster."""
    token = {"RAY_AUTH_TOKEN": os.urandom(32).hex()}
    with ExitStack() as stack:
        files = stack.enter_context(private_folder()).inner
        stack.enter_context(_environment({**QUIET, **TOKEN, **token, "RAY_TMPDIR": str(files)}))
        stack.enter_context(_loopback())
        (files / "ray").mkdir()
        from ray.cluster_utils import Cluster as Nodes

        nodes = Nodes(
            initialize_head=True, head_node_args={**NODE, "temp_dir": str(files), "_system_config": QUICK}
        )  # fmt: skip
        try:
            with open_cluster(nodes.address) as cluster:
                for number in range(rounds):
                    second = nodes.add_node(**NODE)
                    one_round(cluster, nodes, second, folder / str(number))
        finally:
            nodes.shutdown()


def one_round(cluster: Any, nodes: Any, second: Any, folder: Path) -> None:
    """Train, lose a node, compare."""
    folder.mkdir()
    lines: list[str] = []
    engine = Engine(
        cluster, ToyHead(2, 2), toy_makers(2, folder), folder=folder / "parts", fingerprint="toy", patience=PATIENCE,
        say=lines.append,
    )  # fmt: skip
    raylet = second.all_processes["raylet"][0].process.pid
    here = {about.process for about in engine.abouts()}
    engine.run(5)
    engine.save()
    engine.confirm([engine.head.iteration])
    killer = threading.Timer(0.3, os.kill, (raylet, signal.SIGKILL))
    killer.start()
    started = time.monotonic()
    while len(lines) == 0 and time.monotonic() - started < 60:
        engine.run(50)
    engine.run(51)
    killer.join()
    head, parts = run_here(2, engine.head.iteration, 2)
    assert np.array_equal(engine.head.arrays()["table"], head)
    for found, wanted in zip((engine.ask(part, table_of) for part in range(2)), parts, strict=True):
        assert np.array_equal(found, wanted)
    assert lines and "lost part" in lines[0], lines
    assert here != {about.process for about in engine.abouts()}
    engine.close()
    nodes.remove_node(second, allow_graceful=False)
    print(f"{engine.head.iteration} iterations; {lines[0]}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
