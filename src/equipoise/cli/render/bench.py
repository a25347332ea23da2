"""What `bench` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.render.tables import Table, print_table, rate_text

if TYPE_CHECKING:
    from equipoise.bench.measure import Benchmark


def print_benchmarks(group: str, benchmarks: list[Benchmark]) -> None:
    """Ours, the peer's and the ratio, a line each."""
    table = Table(f"bench {group}", ["benchmark", "unit", "peer", "ours", "peer's", "ratio"], left=3)
    for b in benchmarks:
        peers = (rate_text(b.peer), f"{b.ratio:,.3g}") if b.peer else ("-", "-")
        table.add_row(b.name, b.unit, b.peer_name, rate_text(b.ours), *peers)
    print_table(table)
