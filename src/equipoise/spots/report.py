"""Reports: one decision of a spot on many boards, a row each: over the next card, or over a list of flops.

A row has the frequency of each action, and both players' EV and equity. The rows of a runout report, weighted by the
chance of their cards, average to the values at the deal: nothing is lost but the detail. Cards that differ only by a
renaming of suits share one evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cards.deck import FULL_DECK
from equipoise.core.display import table_html
from equipoise.core.errors import InputError, shown
from equipoise.core.files.csv_file import write_csv
from equipoise.core.files.text import is_file, not_a, read_text
from equipoise.core.files.writing import write_whole
from equipoise.core.machine import thread_count
from equipoise.spots.problem import Problem
from equipoise.spots.solution import NodeView, Solution
from equipoise.spots.solve import problem_of, solve
from equipoise.spots.spot import Spot
from equipoise.tree.betting_tree import DEAL, DECISION
from equipoise.tree.lines import line_of

PLAYER_NAMES = ("oop", "ip")
MOST_FLOPS = 2000
_FLOP = 3


@dataclass(frozen=True)
class ReportRow:
    """A board of a report. Numbers are NaN where the node is never reached."""

    cards: str
    chance: float  # of the card, given that play gets there; of a flop, its share of the list
    reached: bool
    frequency: tuple[float, ...]  # by action
    action_ev: tuple[float, ...]
    ev: tuple[float, float]  # oop, ip
    equity: tuple[float, float]

    @classmethod
    def of(cls, view: NodeView, cards: str, chance: float) -> ReportRow:
        """The row of a decision."""
        ev, equity = (view.range_ev, view.opponent_ev), (view.range_equity, 1 - view.range_equity)
        swap = -1 if view.player else 1
        often, worth = (tuple(float(x) for x in values) for values in (view.frequency, view.action_ev))
        return cls(cards, chance, view.reached, often, worth, ev[::swap], equity[::swap])  # type: ignore[arg-type]


@dataclass(frozen=True)
class SpotReport:
    """A decision on many boards. `what` is what the rows differ in: turn, river or flop (card, in small games)."""

    what: str
    line: str
    board: str
    player: int
    actions: list[str]
    rows: list[ReportRow]

    def __repr__(self) -> str:
        return f"SpotReport({self.line or 'first decision'}: {len(self.rows)} boards)"

    _repr_html_ = table_html

    def columns(self) -> list[str]:
        """The columns that a report can be sorted by."""
        return ["card", "chance", *self.actions, "ev", "ev_oop", "ev_ip", "equity", "equity_oop", "equity_ip"]

    def values(self, column: str) -> list[float]:
        """[row] a column; `ev` and `equity` are those of the player to act."""
        if column in self.actions:
            return [row.frequency[self.actions.index(column)] for row in self.rows]
        if column == "chance":
            return [row.chance for row in self.rows]
        name, _, side = column.partition("_")
        if column not in self.columns() or name == "card":
            raise InputError(f"no column {shown(column)}", remedy=f"there are {', '.join(self.columns())}")
        player = PLAYER_NAMES.index(side) if side else self.player
        return [getattr(row, name)[player] for row in self.rows]

    def sorted_by(self, column: str) -> SpotReport:
        """The report with its rows in the order of a column, the largest first; `card` keeps the order of the deck."""
        if column == "card":
            return self
        keys = np.nan_to_num(np.array(self.values(column)), nan=-np.inf)
        return replace(self, rows=[self.rows[i] for i in np.argsort(-keys, kind="stable")])

    def mean(self) -> ReportRow:
        """The average of all rows, by chance; rows that are never reached have none."""
        weights = np.array([row.chance if row.reached else 0.0 for row in self.rows])
        total = weights.sum()

        def average(name: str) -> Any:
            table = np.nan_to_num(np.array([getattr(row, name) for row in self.rows]))
            return tuple((weights @ table / total).tolist()) if total > 0 else (np.nan,) * table.shape[1]

        often, taken = average("frequency"), np.array([row.frequency for row in self.rows])
        worth = np.nan_to_num(np.array([row.action_ev for row in self.rows]))
        shares = weights[:, None] * np.nan_to_num(taken)
        with np.errstate(invalid="ignore"):
            action_ev = tuple(((shares * worth).sum(axis=0) / shares.sum(axis=0)).tolist())
        return ReportRow("all", 1.0, bool(total > 0), often, action_ev, average("ev"), average("equity"))

    def to_rows(self) -> list[dict[str, Any]]:
        """A plain row for each board, ready for a data frame."""
        found = []
        for row in self.rows:
            often = dict(zip(self.actions, row.frequency, strict=True))
            worth = {f"EV {action}": ev for action, ev in zip(self.actions, row.action_ev, strict=True)}
            sides = {f"{name}_{side}": getattr(row, name)[i] for name in ("ev", "equity") for i, side in _SIDES}
            reached = {"chance": row.chance, "reached": row.reached}
            found.append({"card": row.cards, **reached, **often, **worth, **sides})
        return found

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        head = {name: getattr(self, name) for name in ("what", "line", "board", "player", "actions")}
        mean = replace(self, rows=[self.mean()]).to_rows()[0]
        return {**head, "mean": mean, "rows": self.to_rows()}


_SIDES = tuple(enumerate(PLAYER_NAMES))


def save_csv(path: str | Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as CSV, with a header; a number that means nothing stays empty."""
    write_whole(Path(path), lambda unfinished: write_csv(unfinished, rows))


def runout_report(solution: Solution | str | Path, line: str = "", board: str = "") -> SpotReport:
    """A row for each card that may come next at a line of a solution (a value, or its file).

    The line goes on to the next street, such as `check, check`; without one, both players check. If it goes on for two
    streets, `board` gives the first card.
    """
    if not isinstance(solution, Solution):
        solution = Solution.load(solution)
    tree, rules = solution.engine.tree, solution.engine.tree.rules
    node = solution.find_decision(line) if line.strip() else _checked_down(solution)
    street, root = int(tree.street[node]), solution.engine.cards.root_street
    if street == root or rules.board_cards[street] != 1:
        raise InputError(
            f"no next card at line {shown(line, 80)}",
            remedy='give a line that goes on to the next street, like "check, check"',
        )
    known = rules.deck.read_cards(board)
    start = solution.engine.cards.cards[0]
    known = known if known[: len(start)] == start else (*start, *known)
    if len(known) != rules.board_size(street - 1):
        missing = rules.board_size(street - 1) - len(start)
        raise InputError(f"board {shown(board)}", remedy=f"this line needs {missing} cards before the next one")
    rules.deck.check_distinct(known, board)
    cards = [card for card in range(rules.deck.size) if card not in known]
    places = [solution.find_board(rules.deck.text((*known, card)), street)[0] for card in cards]
    views = _views(solution, node, sorted(set(places)))
    total = sum(float(views[at].pairs.sum()) for at in places)
    rows = [
        ReportRow.of(views[at], rules.deck.text([card]), views[at].pairs.sum() / total if total else np.nan)
        for card, at in zip(cards, places, strict=True)
    ]
    first = views[places[0]]
    what = {2: "turn", 3: "river"}.get(street, "card")
    return SpotReport(what, line_of(tree, node), rules.deck.text(known), first.player, first.actions, rows)


def _views(solution: Solution, node: int, boards: Sequence[int]) -> dict[int, NodeView]:
    """A decision on some boards. The first builds what all share; the others follow in threads."""
    first = solution.view(node, boards[0])
    with ThreadPoolExecutor(thread_count(0)) as pool:
        others = pool.map(lambda board: solution.view(node, board), boards[1:])
        return {boards[0]: first, **dict(zip(boards[1:], others, strict=True))}


def _checked_down(solution: Solution) -> int:
    """The first decision of the next street after both players check or call."""
    tree = solution.engine.tree
    node, root = 0, solution.engine.cards.root_street
    while tree.kind[node] == DECISION and tree.street[node] == root:
        passive = next(child for child in tree.children(node) if tree.action[child] == 0)
        node = int(tree.first_child[passive]) if tree.kind[passive] == DEAL else passive
    if tree.kind[node] != DECISION:
        raise InputError("no card is dealt after this spot", remedy="solve a spot on the flop or the turn")
    return node


OnFlop = Callable[[int, int, str], None]  # flops done, of how many, the next one


def flop_report(
    spot: Spot | str | Path, flops: Sequence[str], line: str = "", *, on_flop: OnFlop | None = None, **options: Any
) -> SpotReport:
    """Solve a spot on each flop of a list, with `options` of `solve`, and report a decision on the flop.

    The spot is a value, a built-in name, or a file: TOML, JSON, or a solution.
    """
    if not isinstance(spot, Spot):
        spot = spot_of(spot)
    if len(spot.board) != _FLOP:
        raise InputError(f"a spot with {len(spot.board)} cards on its board", remedy="flops need a spot on the flop")
    if any(lock.board for lock in spot.locks):
        raise InputError("a spot with a lock on one board", remedy="leave out the lock's board")
    spots = [replace(spot, board=FULL_DECK.read_cards(flop), text="") for flop in flops]
    rows: list[ReportRow] = []
    for number, each in enumerate(spots):
        name = FULL_DECK.text(each.board)
        if on_flop:
            on_flop(number, len(spots), name)
        solution = solve(Problem.of_spot(each), **options)
        view = solution.strategy(line)
        rows.append(ReportRow.of(view, name, 1 / len(spots)))
        if solution.stopped == "interrupted":
            raise KeyboardInterrupt
    return SpotReport("flop", view.line, "", view.player, view.actions, rows)


def spot_of(name: str | Path) -> Spot:
    """The spot of a file: TOML, JSON, or a solution."""
    spot = problem_of(name).spot
    if spot is None:
        raise InputError(f"{shown(str(name))} is no spot", remedy="give a spot's file or its solution")
    return spot


def read_flops(text: str) -> list[str]:
    """Flops of a text or a file: `QsJh2h, AsKd2c`, or one a line; `#` starts a comment."""
    where = text if is_file(text) else ""
    lines = (read_text(text) if where else text).splitlines()
    parts = [part.strip() for line in lines for part in re.split("[,;]", line.split("#")[0])]
    parts = [part for part in parts if part]
    if where and parts:
        _check_are_flops(parts[0], where)
    flops = list(_flops(parts, where))
    if not 1 <= len(flops) <= MOST_FLOPS:
        raise InputError(f"{len(flops)} flops", where=where, remedy=f"give 1 to {MOST_FLOPS:,}, like QsJh2h, AsKd2c")
    return flops


def _check_are_flops(first: str, where: str) -> None:
    """Refuse a file that is no list of flops before anything in it is shown."""
    try:
        list(_flops([first], where))
    except InputError:
        raise not_a("list of flops", where, "it does not begin with one", "write flops like QsJh2h, AsKd2c") from None


def _flops(parts: Sequence[str], where: str) -> Iterator[str]:
    for part in parts:
        try:
            cards = FULL_DECK.read_cards(part)
        except InputError as error:
            raise error.at(where) from None
        if len(cards) != _FLOP:
            raise InputError(f"{shown(part)} is no flop", where=where, remedy="write three cards, like QsJh2h")
        yield FULL_DECK.text(cards)
