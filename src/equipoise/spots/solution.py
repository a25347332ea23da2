"""A solved spot or game: the strategy and the value of each hand at every node; saved in one file.

The file (`core/files/array_file.py`) holds the problem, the progress and the average strategy, in the smallest codes
that leave its values as they are (`small_strategy.py`). A resumable file has the solver's tables instead, so that a
later solve can continue. The tree and the boards are rebuilt when it is opened.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cards.deck import FULL_DECK, Deck, hole_cards
from equipoise.cards.grid_html import decision_html, decision_text
from equipoise.cards.range_grid import GridCell, range_grid
from equipoise.cards.runouts import meeting_weights
from equipoise.cards.symmetry import Renaming, renamed_cards, renamed_holes, renamings_that_keep
from equipoise.core.display import caption_html
from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import load_arrays, save_arrays
from equipoise.core.jit import F64, U16
from equipoise.solvers.vector_cfr import fill_unreached
from equipoise.spots.problem import Problem
from equipoise.spots.small_strategy import small_strategy
from equipoise.spots.solution_header import SolutionHeader, check_solution
from equipoise.tree.betting_tree import DEAL, DECISION
from equipoise.tree.boards import all_in_matrix, runouts_of_a_pair
from equipoise.tree.lines import action_names, find_line, line_of, path_to
from equipoise.walk.engine import Engine
from equipoise.walk.plan import EVALUATE, HoleRule, padded
from equipoise.walk.regret_matching import strategy_rows
from equipoise.walk.strategy_codes import code_weights
from equipoise.walk.table_storage import table_type
from equipoise.walk.walk import WHOLE, walk_boards

FORMAT = "equipoise solution 4"
SUFFIX = ".solution"
REMEDY = "write one with equipoise spot solve"
LEAST_REACH = 1e-6  # below, a node counts as never reached: what is left are the first iterations of the solve
_ONE_GROUP = 10**12


@dataclass(frozen=True)
class NodeView:
    """A decision of a solution. Arrays are [hole] or [action, hole], for the holes that are possible there."""

    line: str
    board: tuple[int, ...]
    player: int
    actions: list[str]
    holes: U16
    weight: F64  # the acting player's range here
    strategy: F64
    ev: F64  # of each action, from here on: chips won from the pot less chips put in after this point
    equity: F64  # share of the pot if nobody folded from here on
    meets: F64  # the opponent's range here, without the hands that a hole blocks; EV and equity are NaN where it is 0
    pot: int  # chips in the middle
    reach: float  # how often play gets here, given the board
    opponent_ev: float  # of the opponent's whole range, from here on
    deck: Deck = FULL_DECK
    hole_cards: int = 2

    def __repr__(self) -> str:
        return decision_text(self)

    _repr_html_ = decision_html

    def hole_text(self, place: int) -> str:
        """The hole at a place of the arrays, high card first."""
        cards = sorted(hole_cards(int(self.holes[place]), self.hole_cards), reverse=True)
        return self.deck.text(cards)

    @property
    def reached(self) -> bool:
        """Does play get here at all? If not, no number of this node means anything."""
        return self.reach > LEAST_REACH

    @property
    def pairs(self) -> F64:
        """[hole] how often it is held here: its weight times that of the opponent's hands that fit."""
        return self.weight * self.meets

    @property
    def frequency(self) -> F64:
        """[action] how often it is taken; NaN where nobody gets here."""
        return _ratio(self.strategy @ self.pairs, self.pairs.sum())

    @property
    def action_ev(self) -> F64:
        """[action] the EV of the hands that take it; NaN where none does."""
        taken = self.strategy * self.pairs
        return _ratio((taken * np.nan_to_num(self.ev)).sum(axis=1), taken.sum(axis=1))

    @property
    def action_equity(self) -> F64:
        """[action] the equity of the hands that take it; NaN where none does."""
        taken = self.strategy * self.pairs
        return _ratio(taken @ np.nan_to_num(self.equity), taken.sum(axis=1))

    @property
    def hand_ev(self) -> F64:
        """[hole] the EV of a hand that plays its strategy."""
        return np.asarray((self.strategy * self.ev).sum(axis=0))

    @property
    def range_ev(self) -> float:
        """The EV of the whole range: the mean of the actions' EVs, by frequency."""
        return float(_ratio(self.pairs @ np.nan_to_num(self.hand_ev), self.pairs.sum()))

    @property
    def range_equity(self) -> float:
        """The equity of the whole range; the opponent has the rest."""
        return float(_ratio(self.pairs @ np.nan_to_num(self.equity), self.pairs.sum()))

    @property
    def has_grid(self) -> bool:
        """Are these hold'em hands, which the 13 x 13 grid can show?"""
        return self.hole_cards == 2 and self.deck.size == FULL_DECK.size

    def grid(self) -> list[list[GridCell]]:
        """The 13 x 13 grid of hands."""
        return range_grid(self.holes, self.weight, self.strategy)

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each hand: weight, frequency and EV of each action, EV and equity; ready for a data frame."""
        rows = []
        for i in range(len(self.holes)):
            often = {action: float(self.strategy[a, i]) for a, action in enumerate(self.actions)}
            worth = {f"EV {action}": float(self.ev[a, i]) for a, action in enumerate(self.actions)}
            mean = {"EV": float(self.hand_ev[i]), "equity": float(self.equity[i])}
            rows.append({"hand": self.hole_text(i), "weight": float(self.weight[i]), **often, **worth, **mean})
        return rows

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        hands = {
            self.hole_text(i): {
                "weight": float(self.weight[i]),
                "strategy": self.strategy[:, i].tolist(),
                "ev": self.ev[:, i].tolist(),
                "equity": float(self.equity[i]),
            }
            for i in range(len(self.holes))
        }
        return {
            "line": self.line,
            "board": self.deck.text(self.board),
            "player": self.player,
            "pot": self.pot,
            "reach": self.reach,
            "reached": self.reached,
            "actions": self.actions,
            "frequency": self.frequency.tolist(),
            "action_ev": self.action_ev.tolist(),
            "action_equity": self.action_equity.tolist(),
            "ev": self.range_ev,
            "equity": self.range_equity,
            "opponent_ev": self.opponent_ev,
            "hands": hands,
        }


def _ratio(above: Any, below: Any) -> F64:
    """A quotient; NaN where the divisor is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(below > 0, np.divide(above, below), np.nan))


@dataclass(frozen=True, eq=False)
class SolverState:
    """What a solve needs to continue: its variant and its tables, the average without filled gaps."""

    variant: str
    average: Any
    regret: Any
    predicted: Any = None  # of the predictive variant
    scale: Any = None  # of 16-bit tables

    def arrays(self) -> dict[str, Any]:
        """The tables by name, without those that the variant does not have."""
        named = {name: getattr(self, name) for name in ("average", "regret", "predicted", "scale")}
        return {name: table for name, table in named.items() if table is not None and table.size}


@dataclass(eq=False)
class Solution:
    """The average strategy of a solve, with the problem it solves.

    `average` is a flat table of the solve's own numbers, or of codes
    (`walk/strategy_codes.py`) if the solution was loaded.
    """

    problem: Problem
    average: Any
    iterations: int
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    history: list[tuple[int, float, float]] = field(default_factory=list)  # iteration, seconds, exploitability
    threads: int = 1
    stopped: str = ""  # what ended the solve: target, iterations or interrupted; empty in a solution that was loaded
    target: float | None = None  # percent, as `percent` is
    state: SolverState | None = None  # kept if asked for: another solve can continue from it
    storage: str = "float32"  # of the solve's tables

    def __repr__(self) -> str:
        reached = f", exploitability {self.percent:.3g}%" if self.history else ""
        return f"Solution({self.problem.name}: {self.iterations:,} iterations{reached})"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each measurement of the solve."""
        return [dict(zip(("iteration", "seconds", "percent"), row, strict=True)) for row in self.history]

    def _repr_html_(self) -> str:
        return caption_html(repr(self)) + self.strategy()._repr_html_()

    @cached_property
    def engine(self) -> Engine:
        """An engine for queries: rows of a whole street stay in memory."""
        return replace(self.problem.engine(self.threads), cache_bytes=_ONE_GROUP)

    @cached_property
    def _tables(self) -> Any:
        return self.engine.tables(self.average)

    def exploitability(self) -> float:
        """The average of both players' best-response values, in chips a hand, measured now.

        `percent` is the same as a share of the pot (of the big blind, in a game), which is what targets are given in.
        """
        return self.engine.exploitability(self._tables)

    def value(self, player: int) -> float:
        """What a player wins, in chips a hand; in a spot, measured from half the pot."""
        return self.engine.evaluate(player, self._tables)

    def values(self, player: int) -> F64:
        """[hole of the root] the same, by hole."""
        values = self.engine.walk(player, HoleRule(self._tables, EVALUATE)).astype(np.float64)
        met = self._met(0, player, np.asarray(self.engine.cards.root_weights[1 - player]))
        return np.asarray(np.divide(values, met, out=np.zeros_like(values), where=met > 0))

    def _met(self, board: int, player: int, reach: F64) -> F64:
        """[hole of the player's list] the opponent's reach that each hole can meet."""
        cards = self.engine.cards
        by_hole = np.zeros(cards.rules.deck.holes(cards.rules.hole_cards))
        by_hole[cards.holes(board, 1 - player)] = reach
        return np.asarray(meeting_weights(cards.rules, by_hole)[cards.holes(board, player)])

    def strategy(self, line: str = "", board: str = "") -> NodeView:
        """The strategy at a node: a betting line, and the board if cards were dealt since the root."""
        node = self.find_decision(line)
        at, renaming = self.find_board(board, int(self.engine.tree.street[node]))
        view = self.view(node, at)
        return view if renaming is None else self._renamed(view, renaming)

    def find_decision(self, line: str) -> int:
        """The decision node that a line leads to."""
        tree = self.engine.tree
        node = find_line(tree, line)
        if tree.kind[node] != DECISION:
            raise InputError(f"nothing to decide after {shown(line, 80)}", remedy="end the line before that")
        return node

    def view(self, node: int, at: int) -> NodeView:
        """A decision node on a board of the engine's list."""
        tree = self.engine.tree
        player = int(tree.player[node])
        reach = [self._reach(node, at, side) for side in (0, 1)]
        meets = [self._met(at, side, reach[1 - side]) for side in (0, 1)]
        sunk = tree.chips[node] + self.problem.stakes.dead / 2
        children = int(tree.first_child[node]), int(tree.num_children[node])
        ev = _ratio(self._node_values(node, at, player, *children), meets[player]) + sunk[player]
        held = float(reach[player] @ meets[player])
        view = NodeView(
            line=line_of(tree, node),
            board=self.engine.cards.cards[at],
            player=player,
            actions=action_names(tree, node),
            holes=self.engine.cards.holes(at, player),
            weight=reach[player],
            strategy=self._rows(node, at),
            ev=ev,
            equity=self._equity(at, player, reach[1 - player], meets[player]),
            meets=meets[player],
            pot=int(tree.chips[node].sum() + self.problem.stakes.dead),
            reach=held / self._meetings(at),
            opponent_ev=np.nan,
            deck=tree.rules.deck,
            hole_cards=tree.rules.hole_cards,
        )
        if not self.problem.stakes.rake:
            return replace(view, opponent_ev=view.pot - view.range_ev)
        theirs = self._node_values(node, at, 1 - player, node, 1)[0]
        return replace(view, opponent_ev=float(_ratio(theirs @ reach[1 - player], held) + sunk[1 - player]))

    def _meetings(self, board: int) -> float:
        """The weight of all pairs of hands on a board, before anybody acts."""
        cards = self.engine.cards
        mine, theirs = (cards.gather(board, side, cards.weights[side]) for side in (0, 1))
        return float(mine @ self._met(board, 0, theirs))

    def _rows(self, node: int, board: int) -> Any:
        """The strategy at a node on a board: [action, hole]."""
        engine = self.engine
        program = engine.program
        place = int(program.place_of[node])
        player, actions = int(program.arrays.player[place]), int(program.arrays.num_children[place])
        if (often := self.problem.lock_at(node, board)) is not None:
            return strategy_rows(often[:, engine.cards.holes(board, player)])
        size = int(engine.cards.arrays.counts[board, player])
        start = int(engine.table_first[board, player]) + int(program.arrays.table_row[place]) * size
        rows = self.average[start : start + actions * size].reshape(actions, size)
        return strategy_rows(code_weights(rows))

    def _ancestors(self, board: int) -> dict[int, int]:
        """{street: board} from the root to a board."""
        boards, found = self.engine.cards.arrays, {}
        while board >= 0:
            found[int(boards.street[board])] = board
            board = int(boards.parent[board])
        return found

    def _reach(self, node: int, board: int, player: int) -> F64:
        """[hole of the board's list] what a player reaches a node with, its range included."""
        tree, cards = self.engine.tree, self.engine.cards
        boards = self._ancestors(board)
        street = cards.root_street
        reach = np.asarray(cards.root_weights[player], np.float64)
        for step in path_to(tree, node):
            above = int(tree.parent[step])
            reach = self._dealt(reach, boards, street, int(tree.street[above]), player)
            street = int(tree.street[above])
            if tree.player[above] == player:
                reach = reach * self._rows(above, boards[street])[step - int(tree.first_child[above])]
        return self._dealt(reach, boards, street, int(cards.arrays.street[board]), player)

    def _dealt(self, reach: F64, boards: dict[int, int], street: int, until: int, player: int) -> F64:
        """Reach passed on to the boards of later streets."""
        cards = self.engine.cards
        for later in range(street + 1, until + 1):
            reach = reach[cards.arrays.before[cards.slice(boards[later], player)]]
        return reach

    def _node_values(self, node: int, board: int, walker: int, first: int, count: int) -> F64:
        """[node, hole] a player's counterfactual values of `count` nodes from `first`, on the street of a decision."""
        engine, tree = self.engine, self.engine.tree
        program, boards = engine.program.arrays, engine.cards.arrays
        work, above = engine.make_buffers(), engine.make_buffers()
        street = int(boards.street[board])
        plan = engine.plan(walker)
        if board == 0:
            plan = plan._replace(weights=np.where(np.arange(len(boards.weight)) > 0, boards.weight, 1.0))
        else:
            opening = node
            while tree.kind[tree.parent[opening]] != DEAL:
                opening = int(tree.parent[opening])
            deal = int(tree.parent[opening])
            parent = int(boards.parent[board])
            reach: Any = self._reach(deal, parent, 1 - walker).astype(engine.precision)
            row = int(program.reach_row[walker, engine.program.place_of[deal]])
            start = int(above.reach_base[street - 1]) + row * padded(len(reach))
            above.reach[start : start + len(reach)] = reach
        walk_boards(board, board + 1, WHOLE, plan, HoleRule(self._tables, EVALUATE), above, work)
        group = int(program.street_groups[street])
        place = int(engine.program.place_of[first]) - int(program.group_first[group])
        size = int(boards.counts[board, walker])
        length = padded(size)
        base = int(work.value_base[street])
        rows = work.value[base + place * length : base + (place + count) * length]
        return rows.reshape(-1, length)[:, :size].astype(np.float64)

    def _equity(self, board: int, player: int, reach: F64, met: F64) -> F64:
        """[hole] share of the pot at a showdown against the opponent's range, on a whole board."""
        cards = self.engine.cards
        boards = cards.arrays
        mine, theirs = cards.slice(board, player), cards.slice(board, 1 - player)
        if len(cards.cards[board]) < sum(cards.rules.board_cards):
            matrix = all_in_matrix(cards, board).astype(np.float64) / runouts_of_a_pair(cards, board)
            won = matrix @ reach if player == 0 else -(matrix.T @ reach)
        else:
            first = int(boards.group_first[board])
            groups = boards.groups[first : first + int(boards.num_groups[board]) + 1]
            strength = [np.repeat(np.arange(len(groups) - 1), np.diff(groups[:, side])) for side in (0, 1)]
            sign = np.sign(strength[player][:, None] - strength[1 - player][None, :])
            my_cards, their_cards = ((boards.card1[s], boards.card2[s]) for s in (mine, theirs))
            shared = np.zeros(sign.shape, bool)
            for one in my_cards[: cards.rules.hole_cards]:
                for other in their_cards[: cards.rules.hole_cards]:
                    shared |= one[:, None] == other[None, :]
            won = np.where(shared, 0, sign) @ reach
        return 0.5 + _ratio(won, met) / 2

    def find_board(self, text: str, street: int) -> tuple[int, Renaming | None]:
        """The board that a text names, or its mirror image that was solved, and the renaming that leads there."""
        cards, rules = self.engine.cards, self.engine.tree.rules
        root = cards.cards[0]
        if street == cards.root_street and not text:
            return 0, None
        wanted = rules.deck.read_cards(text)
        if wanted[: len(root)] != root:
            wanted = (*root, *wanted)
        if len(wanted) != rules.board_size(street):
            need = rules.board_size(street) - len(root)
            raise InputError(f"board {shown(text)}", remedy=f"this line needs {need} cards after the root's board")
        rules.deck.check_distinct(wanted, text)
        by_cards = {tuple(board): i for i, board in enumerate(cards.cards)}
        weights = [*cards.weights, *self.problem.lock_weights]
        for renaming in renamings_that_keep(rules.deck, rules.hole_cards, weights, root):
            become = renamed_cards(rules.deck, renaming)
            found = by_cards.get((*root, *(become[card] for card in wanted[len(root) :])))
            if found is not None:
                return found, renaming
        raise InputError(f"board {shown(text)} was not solved", remedy="give cards that follow the root's board")

    def _renamed(self, view: NodeView, renaming: Renaming) -> NodeView:
        """A view of the board solved, as the mirror image that was asked for."""
        rules = self.engine.tree.rules
        back = np.argsort(renamed_holes(rules.deck, rules.hole_cards, renaming))
        cards = list(np.argsort(renamed_cards(rules.deck, renaming)))
        root = len(self.engine.cards.cards[0])
        board = (*view.board[:root], *(int(cards[card]) for card in view.board[root:]))
        return replace(view, holes=back[view.holes].astype(np.uint16), board=board)

    @property
    def percent(self) -> float:
        """Exploitability in percent of the pot of a spot, of the big blind of a game; as last measured.

        Ten times that of a game is its exploitability in mbb/g.
        """
        return self.history[-1][2] if self.history else 100 * self.exploitability() / self.problem.unit

    def as_json(self, *, by_hand: bool = False) -> dict[str, Any]:
        """Plain values, for `--json`."""
        values = [self.value(0), self.value(1)]
        root = self.strategy()
        answer: dict[str, Any] = {
            "iterations": self.iterations,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "nodes": len(self.problem.tree),
            "boards": len(self.problem.cards.cards),
            "infosets": self.engine.infosets,
            "memory_bytes": self.problem.memory_bytes(self.threads, stored=table_type(self.storage)),
            "root": dict(zip(root.actions, root.frequency.tolist(), strict=True)),
            "stopped": self.stopped or None,
        }
        if self.problem.spot:
            half = self.problem.spot.pot / 2
            answer["exploitability_percent_pot"] = self.percent
            answer["ev"] = {"oop": values[0] + half, "ip": values[1] + half}
        else:
            answer["exploitability_mbb"] = 10 * self.percent
            answer["values_mbb"] = [1000 * value / self.problem.unit for value in values]
        if by_hand:
            answer["hands"] = root.as_json()["hands"]
        return answer

    def compact(self) -> Solution:
        """The solution as its file keeps it: the strategy in codes if its table is large.

        A resumable solution stays as it is.
        """
        if self.state:
            return self
        small = replace(self, average=small_strategy(self.engine, self.average, self.problem.unit))
        vars(small)["engine"] = self.engine
        return small

    def save(self, path: str | Path) -> None:
        """Write the solution file, atomically."""
        header = {
            **self.problem.source,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "history": self.history,
            "variant": self.state.variant if self.state else None,
            "storage": self.storage,
        }
        arrays = self.state.arrays() if self.state else {"average": self.compact().average}
        save_arrays(path, FORMAT, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Solution:
        """Open a solution file; a damaged file or one of another format is refused."""
        header, arrays = load_arrays(path, FORMAT, SolutionHeader, remedy=REMEDY)
        solution = cls(
            header.problem(Path(path)), None, header.iterations, header.seconds, header.cpu_seconds,
            list(header.history), storage=header.storage,
        )  # fmt: skip
        engine = solution.engine
        try:
            arrays = check_solution(header, arrays, engine)
        except InputError as error:
            raise InputError(f"damaged: {error.what}", where=str(path), remedy=REMEDY) from None
        solution.average = arrays["average"]
        if header.variant is not None:
            solution.state = SolverState(header.variant, **arrays)
            solution.average = arrays["average"].copy()
            current = arrays.get("predicted", arrays["regret"])
            program, boards = engine.program.arrays, engine.cards.arrays
            fill_unreached(program, boards, engine.table_first, current, solution.average)
        return solution
