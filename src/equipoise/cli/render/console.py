"""What commands print for people: tables, sizes, progress. Numbers come in, text goes out; nothing is computed here."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from equipoise.bench.measure import Benchmark
    from equipoise.cards.equity import Equity
    from equipoise.cards.ranges import Range
    from equipoise.cli.render.training_panel import TrainingPanel
    from equipoise.core.progress import Fraction, Progress
    from equipoise.measure.best_response import Exploitability
    from equipoise.measure.lbr import LocalBestResponse
    from equipoise.measure.reference import Referenced
    from equipoise.runs.progress import TrainingProgress
    from equipoise.strategy.show import StrategyView
    from equipoise.training.loop import Run
    from equipoise.tree.game_report import GameReport
    from equipoise.tree.trunk import TrunkMemory

PATIENCE = 2.0  # seconds before a progress bar appears
MOST_ROWS = 200  # of a table of buckets


def size_text(count: float) -> str:
    """Bytes in the largest unit that leaves at least one: 1.18 GB. Units of 1,000."""
    units = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
    unit = 0
    while count >= 1000 and unit < len(units) - 1:
        count /= 1000
        unit += 1
    return f"{count:,.0f} {units[unit]}" if unit == 0 else f"{count:,.3g} {units[unit]}"


def rate_text(value: float) -> str:
    """A rate or count to three digits: 310 M."""
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {sign}"
    return f"{value:.3g}"


def print_table(table: Table) -> None:
    """To standard output, as wide as it needs when that is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=160)
    console.print(table)


def plain_table(title: str, columns: list[str], *, left: int = 1) -> Table:
    """An empty table; the first columns are aligned to the left, numbers to the right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right")
    return table


def print_games(games: list[tuple[str, str]]) -> None:
    """The built-in games, a line each."""
    width = max(len(name) for name, _ in games)
    for name, about in games:
        print(f"{name:<{width}}  {about}")


def print_game(report: GameReport) -> None:
    """Rules, tree size by street, and the memory of a solve."""
    print(report.gamedef, end="")
    print(f"fingerprint {report.fingerprint}\n")
    menu = f", menu {report.menu}" if report.menu else ""
    hands = "buckets" if report.cards == "bucketed" else "hands*"
    table = plain_table(
        f"{report.game}{menu}: betting nodes and information sets",
        ["street", "opens", "decisions", "folds", "showdowns", "deals", hands, "information sets", "slots"],
    )
    for s in report.streets:
        numbers = (s.entries, s.decisions, s.folds, s.showdowns, s.deals, s.hands, s.infosets, s.slots)
        table.add_row(s.street, *(f"{number:,}" for number in numbers))
    table.add_section()
    totals = (
        sum(s.decisions for s in report.streets),
        sum(s.folds for s in report.streets),
        sum(s.showdowns for s in report.streets),
        sum(s.deals for s in report.streets),
    )
    table.add_row("all", "", *(f"{t:,}" for t in totals), "", f"{report.infosets:,}", f"{report.slots:,}")
    print_table(table)
    if report.cards == "lossless":
        print("* hands up to isomorphism of suits, deals in order")
    print(f"{report.nodes:,} betting nodes; {report.raw_infosets:,} information sets without suit isomorphism")
    print(f"a solve with these cards needs {size_text(report.memory_bytes)} (regret and average, float32)")
    if report.trunk:
        print_trunk(report.trunk)


def print_trunk(trunk: TrunkMemory) -> None:
    """What CFR-BR's unabstracted player needs, in the units of its paper."""
    from equipoise.tree.trunk import binary_size

    print(f"CFR-BR with a trunk of {trunk.rounds} rounds: the unabstracted player needs")
    print(
        f"  trunk     {binary_size(trunk.trunk_bytes):>10} ({binary_size(trunk.trunk_bytes_merged)} if all isomorphic"
    )
    print("                       hands are merged; the first is how the paper counts)")
    print(f"  subgame   {binary_size(trunk.subgame_bytes):>10} for each thread")


def print_equity(result: Equity, names: tuple[str, str]) -> None:
    """Equity of both sides."""
    width = max(len(name) for name in names)
    shares = ((result.win, result.lose), (result.lose, result.win))
    for name, equity, (win, lose) in zip(names, result.equity, shares, strict=True):
        print(f"{name:<{width}}  equity {equity:9.4%}   win {win:9.4%}   tie {result.tie:9.4%}   lose {lose:9.4%}")
    print(f"exact: {result.boards:,} boards for each pair of hands")


def print_hole_equities(result: Equity, ranges: tuple[Range, Range]) -> None:
    """Each hand of the first range, best first."""
    import numpy as np

    from equipoise.cards.ranges import hole_text

    shares = result.hole_equity[0]
    held = [hole for hole in np.argsort(-shares, kind="stable") if shares[hole] == shares[hole]]
    for hole in held:
        print(f"{hole_text(int(hole))}  weight {ranges[0].weights[hole]:.3g}  equity {shares[hole]:9.4%}")


def print_benchmarks(group: str, benchmarks: list[Benchmark]) -> None:
    """Ours, the peer's and the ratio, a line each."""
    table = plain_table(f"bench {group}", ["benchmark", "unit", "peer", "ours", "peer's", "ratio"], left=3)
    for b in benchmarks:
        peers = (rate_text(b.peer), f"{b.ratio:,.3g}") if b.peer else ("-", "-")
        table.add_row(b.name, b.unit, b.peer_name, rate_text(b.ours), *peers)
    print_table(table)


def print_measured(result: Exploitability | Referenced | LocalBestResponse) -> None:
    """The result of any measure of an agent."""
    from equipoise.measure.lbr import LocalBestResponse
    from equipoise.measure.reference import Referenced

    if isinstance(result, LocalBestResponse):
        print_lower_bound(result)
    elif isinstance(result, Referenced):
        print_exploitability(result.found)
        print_reference(result)
    else:
        print_exploitability(result)


def print_reference(result: Referenced) -> None:
    """The difference to a reference on the same flops."""
    less, width = result.difference
    print(f"less {result.reference} on the same flops: {less:+.2f} ± {width:.2f} (95%) mbb/g")
    if result.level:
        print(f"exploitability of the reference over all flops: {result.exact:.2f} mbb/g")
        print(f"so this agent has {result.level[0]:.2f} ± {result.level[1]:.2f} (95%) mbb/g")


def print_lower_bound(result: LocalBestResponse) -> None:
    """The lower bound by local best response."""
    print(f"LBR lower bound on exploitability {result.lbr:.2f} ± {result.ci95:.2f} (95%) mbb/g")
    values = result.as_json()["player_values_mbb"]
    for player, value in enumerate(values):
        print(f"  as player {player}  {value:,.2f} mbb/g")
    bets = f", bets {', '.join(str(bet) for bet in result.bets)}" if result.bets else ""
    print(
        f"local best response from the {result.from_street}{bets}: {result.hands:,} hands, {result.seconds:.1f} s,"
        f" {rate_text(result.hands_per_second)} hands/s"
    )


def print_exploitability(result: Exploitability) -> None:
    """What best responses win, by player and by the street where hands end."""
    exact = result.as_json()
    interval = "" if result.ci95_mbb is None else f" ± {result.ci95_mbb:.2f} (95%)"
    print(f"exploitability {result.exploitability:.2f}{interval} mbb/g")
    table = plain_table("what the best response wins, mbb/g", ["hands that end on", "player 0", "player 1"])
    for street, values in exact["by_street_mbb"].items():
        table.add_row(street, *(f"{value:,.2f}" for value in values))
    table.add_section()
    table.add_row("all", *(f"{value:,.2f}" for value in exact["player_values_mbb"]))
    print_table(table)
    print(f"{_how_measured(result)}, {result.seconds:.1f} s")


def _how_measured(result: Exploitability) -> str:
    """Whether the number is exact or an estimate, and from how many flops."""
    if result.sample is None:
        return f"exact, {result.flops:,} flops" if result.flops else "exact"
    drawn = f"{len(result.sample.flops):,} draws of {result.all_flops:,} flops"
    return f"estimated from {drawn} ({result.flops:,} different ones), 95% interval"


class Training:
    """Training progress without a terminal: a line now and then, on standard error."""

    def __init__(self) -> None:
        self.last = 0.0
        self.pause = 1.0

    def say(self, line: str) -> None:
        """Print a line of the log."""
        print(line, file=sys.stderr, flush=True)
        self.pause = 1.0

    def progress(self, now: TrainingProgress) -> None:
        """Report the progress of the run."""
        from equipoise.cli.render.training_panel import duration

        text = f"iteration {now.iteration:,}  {rate_text(now.iterations_per_second)}/s"
        text += f"  {rate_text(now.nodes_per_second)} nodes/s  regret {now.regret:.3g}"
        if now.measured_text:
            text += f"  {now.measured_text}"
        if now.seconds_left is not None:
            text += f"  {duration(now.seconds_left)} left"
        self._show(text)

    def stage(self, name: str, done: float) -> None:
        """Report the progress of a stage of bucket building."""
        self._show(f"buckets: {name} {done:.0%}")

    def _show(self, text: str) -> None:
        if time.monotonic() - self.last >= self.pause:
            print(text, file=sys.stderr, flush=True)
            self.last, self.pause = time.monotonic(), min(2 * self.pause, 60.0)


@contextmanager
def training() -> Iterator[Training | TrainingPanel]:
    """The display of a training: a panel on a terminal, else lines."""
    if not sys.stderr.isatty():
        yield Training()
        return
    from rich.console import Console

    from equipoise.cli.render.training_panel import TrainingPanel

    with TrainingPanel(Console(stderr=True)) as panel:
        yield panel


def print_run(run: Run) -> None:
    """How a training ended, and what to do next."""
    now = run.progress
    print(f"{now.iteration:,} iterations, {now.nodes:,} nodes in {now.seconds:.1f} s of training: {run.stopped}")
    if now.measured_text:
        print(now.measured_text)
    print(f"saved in {run.folder}; continue with: equipoise train {run.folder} --out {run.folder} --resume")
    print(f"show it with: equipoise strategy show {run.folder}")


def print_strategy(view: StrategyView) -> None:
    """A decision of a strategy: the grid, each hand, or each bucket."""
    where = f"after {view.line}" if view.line else "at the root"
    board = f"{view.deck.text(view.board, ' ')}  " if view.board else ""
    print(f"{board}{view.street}, {where}: player {view.player} to act")
    if view.by_hole:
        for action, often in zip(view.actions, view.frequency, strict=True):
            print(f"  {action:<12} {often:8.2%}")
    if view.has_grid:
        from equipoise.cards.range_grid import range_grid
        from equipoise.cli.render.spot_grid import print_grid

        print_grid(range_grid(view.holes, view.weight, view.strategy), view.actions)
    elif view.by_hole:
        for i in range(len(view.holes)):
            mix = "  ".join(f"{name} {p:6.1%}" for name, p in zip(view.actions, view.strategy[:, i], strict=True))
            print(f"{view.hole_text(i)}  bucket {view.bucket[i]:,}  weight {view.weight[i]:5.3f}  {mix}")
    else:
        table = plain_table("action frequencies by bucket, percent", ["bucket", *view.actions])
        for bucket, row in enumerate(view.table[:MOST_ROWS]):
            table.add_row(f"{bucket:,}", *(f"{100 * p:.1f}" for p in row))
        print_table(table)
        if len(view.table) > MOST_ROWS:
            print(f"and {len(view.table) - MOST_ROWS:,} more buckets; --json has all, --board shows hands")


@contextmanager
def progress_bar(what: str) -> Iterator[Fraction]:
    """A progress callback. On a terminal, it shows a bar with the time left after two seconds."""
    with stage_bar() as progress:
        yield lambda fraction: progress(what, fraction)


@contextmanager
def stage_bar() -> Iterator[Progress]:
    """The same for work in stages."""
    if not sys.stderr.isatty():
        yield lambda _stage, _fraction: None
        return
    from rich import progress as bars
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = bars.Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=1.0)
    started = time.monotonic()
    now, shown = "", False

    def show(stage: str, fraction: float) -> None:
        nonlocal now, shown
        if stage != now:
            bar.reset(task, description=stage)
            now = stage
        bar.update(task, completed=fraction)
        if not shown and time.monotonic() - started > PATIENCE:
            bar.start()
            shown = True

    try:
        yield show
    finally:
        if shown:
            bar.stop()
