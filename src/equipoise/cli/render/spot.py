"""What the commands about spots print for people. Numbers come in, text goes out; nothing is computed here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING

from equipoise.cards.action_style import SELDOM, action_symbols
from equipoise.cli.render.progress import status_line, tell
from equipoise.cli.render.spot_grid import print_grid, print_legend
from equipoise.cli.render.tables import duration, layout_width
from equipoise.core.visible_text import shell_word, visible
from equipoise.core.wording import counted, size_text

if TYPE_CHECKING:
    from equipoise.spots.cost import SolveCost
    from equipoise.spots.problem import Problem
    from equipoise.spots.progress import SolveProgress
    from equipoise.spots.report import SpotReport
    from equipoise.spots.solution import NodeView, Solution

NEVER_REACHED = "never reached: play does not come here, so there are no numbers to show"


def print_solution(solution: Solution, saved: str, *, by_hand: bool) -> None:
    """The result of a solve and the strategy at the root."""
    spot = solution.problem.spot
    print(
        f"{counted(solution.iterations, 'iteration')} in {solution.seconds:.1f} s ({solution.cpu_seconds:.1f} s of CPU)"
    )
    if spot:
        half = spot.pot / 2
        print(f"exploitability {solution.percent:.3f}% of the pot")
        print(f"EV  oop {solution.value(0) + half:.2f}   ip {solution.value(1) + half:.2f}   of a pot of {spot.pot}")
    else:
        print(f"exploitability {10 * solution.percent:.3f} mbb/g")
        print(f"value of player 0: {solution.value(0):.7g} chips a hand")
    print()
    print_node(solution.strategy(), by_hand=by_hand)
    print(f"\nsaved as {visible(saved)}; look at it with: equipoise spot show {shell_word(saved)}")


def say_it_is_there(name: str) -> None:
    """That nothing is solved, since a file has the solution."""
    print(f"{visible(name)} is there already, with this spot; --force solves it again", file=sys.stderr)


def say_how_it_starts(name: str, earlier: Solution, *, continues: bool) -> None:
    """Whether a solve of a saved solution continues it."""
    if continues:
        how = f"continuing after {counted(earlier.iterations, 'iteration')}, from {earlier.percent:.3f}%"
    elif earlier.state:
        how = "its regrets are those of another variant or storage; solving its spot from the start"
    else:
        how = "it holds no regrets to continue from (--resumable keeps them); solving its spot from the start"
    print(f"{visible(name)}: {how}", file=sys.stderr)


def node_title(view: NodeView) -> str:
    """Where a decision is, and whose."""
    where = f"after {view.line}" if view.line else "at the root"
    board = f"{view.deck.text(view.board, ' ')}  " if view.board else ""
    return f"{board}{where}: {player_name(view, view.player)} to act, pot {view.pot:,}"


def _say(sentence: str) -> None:
    """Print a sentence, wrapped at words."""
    print(fill(sentence, layout_width(), subsequent_indent="  "))


def player_name(view: NodeView, player: int) -> str:
    """A player of a spot, or of a small game."""
    return ("oop", "ip")[player] if view.has_grid else f"player {player}"


def print_node(view: NodeView, *, by_hand: bool = False) -> None:
    """A decision: what each action is worth to the hands that take it, the whole range, the grid, and each hand."""
    _say(node_title(view))
    if not view.reached:
        print(NEVER_REACHED)
        return
    symbols = action_symbols(view.actions)
    print(f"{'':<20}how often {'EV':>11} {'equity':>8}")
    rows = zip(symbols, view.actions, view.frequency, view.action_ev, view.action_equity, strict=True)
    for symbol, action, often, worth, equity in rows:
        if often < SELDOM:
            worth = equity = float("nan")
        print(f"  {symbol} {action:<16}{often:9.2%} {number(worth, 11)} {share(equity, 8)}")
    mine, theirs = (player_name(view, player) for player in (view.player, 1 - view.player))
    print(f"  {mine + ', whole range':<27} {number(view.range_ev, 11)} {share(view.range_equity, 8)}")
    print(f"  {theirs + ', whole range':<27} {number(view.opponent_ev, 11)} {share(1 - view.range_equity, 8)}")
    if view.reach < 0.9995:
        print(f"reached in {view.reach:.3%} of hands on this board")
    if view.has_grid:
        print()
        print_grid(view.grid(), view.actions, key=False)
    if by_hand or not view.has_grid:
        print()
        print_hands(view)


def number(value: float, width: int) -> str:
    """Chips, or a dash where nothing is known."""
    return f"{value:z{width},.2f}" if value == value else f"{'-':>{width}}"


def share(value: float, width: int) -> str:
    """A percentage, or a dash where nothing is known."""
    return f"{value:{width}.2%}" if value == value else f"{'-':>{width}}"


def print_hands(view: NodeView) -> None:
    """Each hand that gets here, the most frequent first."""
    head = "hand  weight       EV   equity"
    width, digits = _mix_format(len(view.actions), len(head))
    print(f"{head} {_mix_head(view.actions, width)}")
    for i in sorted(range(len(view.holes)), key=lambda place: -view.weight[place]):
        if view.pairs[i] > 0:
            worth = f"{number(view.hand_ev[i], 8)} {share(view.equity[i], 8)}"
            mix = _mix_text(view.strategy[:, i], width, digits)
            print(f"{view.hole_text(i):<5} {view.weight[i]:6.3f} {worth} {mix}")


def _mix_format(actions: int, others: int) -> tuple[int, int]:
    """Width and decimals of percentages, a column an action, beside `others` columns of text."""
    return (6, 1) if others + 7 * actions <= layout_width() else (4, 0)


def _mix_head(actions: Sequence[str], width: int) -> str:
    return " ".join(f"{symbol:>{width}}" for symbol in action_symbols(actions))


def _mix_text(mix: Iterable[float], width: int, digits: int) -> str:
    return " ".join(f"{100 * often:{width}.{digits}f}" for often in mix)


def print_report(report: SpotReport, column: str) -> None:
    """A row for each board: frequencies, and both players' EV and equity."""
    where = f"after {report.line}" if report.line else "at the root"
    board = f" on {_spaced(report.board)}" if report.board else ""
    player = ("oop", "ip")[report.player]
    _say(f"each {report.what} {where}{board}: {player} to act, by {column}")
    print_legend(report.actions)
    width, digits = _mix_format(len(report.actions), 40)
    both = 40 + (width + 1) * len(report.actions) <= layout_width()  # a narrow terminal has no room for ip's EV
    other = f" {'EV ip':>9}" if both else ""
    print(f"{report.what:<6} {'chance':>6} {_mix_head(report.actions, width)} {'EV oop':>9}{other} {'eq oop':>6}")
    for row in (*report.rows, report.mean()):
        if row.reached:
            other = f" {number(row.ev[1], 9)}" if both else ""
            mix = _mix_text(row.frequency, width, digits)
            print(f"{row.cards:<6} {row.chance:6.1%} {mix} {number(row.ev[0], 9)}{other} {row.equity[0]:6.1%}")
        else:
            print(f"{row.cards:<6}  never reached")


def _spaced(cards: str) -> str:
    return " ".join(cards[i : i + 2] for i in range(0, len(cards), 2))


@contextmanager
def solve_progress(problem: Problem, *, quiet: bool) -> Iterator[Callable[[SolveProgress], None]]:
    """Print the size of a solve, then its progress with the time left, on standard error."""
    menu = f"menu {problem.tree.menu.name}, " if problem.tree.menu and problem.tree.menu.name else ""
    begun = False
    with status_line("solving") as lines:

        def show(now: SolveProgress) -> None:
            nonlocal begun
            if not begun:
                begun = True
                if not quiet:
                    tell(menu + size_line(now.cost))
                if now.cost.heavy:
                    tell(heavy_line(now.cost))
            lines.show(lambda: progress_text(now, problem))

        yield show


def size_line(cost: SolveCost) -> str:
    """What a solve takes, in a line."""
    tree = f"{counted(cost.nodes, 'betting node')}, {counted(cost.boards, 'board')}"
    return f"{tree}: {size_text(cost.memory_bytes)} of memory, a file of {size_text(cost.file_bytes)}{cost.time_text}"


def heavy_line(cost: SolveCost) -> str:
    """Said before a heavy solve."""
    return f"this is a heavy solve: {lighter(cost)}"


def lighter(cost: SolveCost) -> str:
    """What would make a solve lighter."""
    halved = f"--storage int16 needs {size_text(cost.int16_memory_bytes)}, " if cost.storage != "int16" else ""
    return f"{halved}fewer bet sizes, a cap on raises or narrower ranges need less; --dry-run tells without solving"


def print_cost(name: str, cost: SolveCost, target: float, unit: str) -> None:
    """What a solve would take, of `--dry-run`."""
    print(
        f"{name}: {cost.nodes:,} betting nodes on {counted(cost.boards, 'board')}, {cost.infosets:,} information sets"
    )
    other = "" if cost.storage == "int16" else f" ({size_text(cost.int16_memory_bytes)} with --storage int16)"
    print(f"memory   {size_text(cost.memory_bytes)}{other}")
    print(f"file     {size_text(cost.file_bytes)}")
    rounds = counted(cost.iterations, "iteration")
    goal = f"to {target:g}{unit}, with {rounds}" if target else rounds
    print(f"time     {cost.time_text.removeprefix(', ')}: {goal}; an estimate, which the solve refines")
    if cost.heavy:
        print(f"lighter  {lighter(cost)}")


def progress_text(now: SolveProgress, problem: Problem) -> str:
    """A solve at one moment."""
    text = f"iteration {now.iteration:,}  {duration(now.seconds)}"
    if now.percent is not None:
        text += f"  exploitability {now.percent:.3f}{percent_unit(problem)}"
    return text if now.seconds_left is None else f"{text}  about {duration(now.seconds_left)} left"


def percent_unit(problem: Problem) -> str:
    """What percentages are of."""
    return "% of the pot" if problem.spot else "% of the big blind"
