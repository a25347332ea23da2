"""What `cluster` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.render.tables import Table, print_table, say
from equipoise.core.wording import size_text

if TYPE_CHECKING:
    from equipoise.cluster.plan import ClusterPlan

LIMITS = {
    "work": "the machines work without a pause",
    "head": "the head is the bottleneck: use larger parts, or fewer machines",
    "messages": "messages are the bottleneck: use a larger batch, or a faster network",
    "disk": "the disk is the bottleneck: use more machines, or more boards an iteration",
}


def print_plan(plan: ClusterPlan) -> None:
    """A prediction as a table."""
    machines = plan.machines
    table = Table(f"{plan.recipe} on {machines.count} x {machines.cores} cores", ["", "predicted"])
    iteration = "an iteration (one deal)" if plan.method == "external" else "an iteration (all boards)"
    rows = [
        ("information sets", f"{plan.infosets:,}"),
        ("information sets a machine", f"{plan.infosets_per_machine:,}"),
        ("tables a machine", size_text(plan.bytes_per_machine)),
        (iteration, _time(plan.seconds_per_iteration)),
        ("nodes a second", f"{plan.nodes_per_second:,.0f}"),
        ("efficiency", f"{plan.efficiency:.0%}"),
        ("idle share of the machines", f"{plan.idle_share:.0%}"),
        ("share of messages", f"{plan.message_share:.1%}"),
    ]
    for name, value in rows:
        table.add_row(name, value)
    print_table(table)
    say(LIMITS[plan.limit])
    if not plan.fits:
        how = "the run reads and writes its disk" if plan.method == "pcs" else "use more machines, or a smaller game"
        say(f"the tables do not fit {size_text(int(machines.ram))} of memory: {how}")


def _time(seconds: float) -> str:
    scale, unit = next(((1 / size, unit) for size, unit in ((1, "s"), (1e-3, "ms")) if seconds >= size), (1e6, "µs"))
    return f"{seconds * scale:,.3g} {unit}"
