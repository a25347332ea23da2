"""A Python function measured exactly: called for every hole at every decision on every board of a walk.

The measure walks one board per suit-isomorphism class. So the function is called for all renamings of the suits, and
refused if its answers differ: its exploitability would be that of another strategy.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.agents.agent import Cards, View, ViewAgent, view_text
from equipoise.agents.card_blind import Flags
from equipoise.cards.deck import hole_cards
from equipoise.cards.symmetry import renamed_cards
from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import BettingState, action_text
from equipoise.tree.betting_tree import BettingTree
from equipoise.walk.engine import Engine
from equipoise.walk.plan import Tables

MOST_QUESTIONS = 2_000_000
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class FunctionStrategy:
    """A function agent as a strategy that can be measured."""

    agent: ViewAgent
    by_bucket: None = None
    by_board: None = None
    _known: dict[tuple[Any, ...], dict[int, float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The agent's."""
        return self.agent.name

    def never(self, tree: BettingTree) -> Flags:
        """Nothing is ruled out for all cards."""
        return np.zeros(len(tree), bool)

    def tables(self, engine: Engine) -> Tables:
        """The answers about every hole on every board."""
        program, cards = engine.program.arrays, engine.cards
        self._check_size(engine)
        source = engine.zeros()
        decisions = np.flatnonzero(program.table_row >= 0).tolist()
        states = {place: engine.tree.state(int(program.node[place])) for place in decisions}
        for board, dealt in enumerate(cards.cards):
            street = int(cards.arrays.street[board])
            for place in decisions:
                node, player = int(program.node[place]), int(program.player[place])
                if engine.tree.street[node] != street:
                    continue
                holes = cards.holes(board, player)
                rows = self._rows(engine.tree, node, states[place], holes.tolist(), dealt)
                start = int(engine.table_first[board, player]) + int(program.table_row[place]) * len(holes)
                source[start : start + rows.size] = rows.ravel()
        return engine.tables(source)

    def _rows(self, tree: BettingTree, node: int, state: BettingState, holes: list[int], board: tuple[int, ...]) -> Any:
        """[action, hole] probabilities at a node."""
        actions = [int(tree.action[child]) for child in tree.children(node)]
        rows = np.zeros((len(actions), len(holes)))
        self._learn(state, [tuple(hole_cards(hole, tree.rules.hole_cards)) for hole in holes], board)
        for at, hole in enumerate(holes):
            view = View(state, state.player, tuple(hole_cards(hole, tree.rules.hole_cards)), board)
            for action, chance in self._answer(view).items():
                if chance > 0 and action not in actions:
                    raise InputError(
                        f"agent {shown(self.name)} answers {action_text(action)} {view_text(view)}: not on the menu",
                        remedy=f"offered: {', '.join(action_text(each) for each in actions)}",
                    )
                if chance > 0:
                    rows[actions.index(action), at] = chance
        return rows

    def _answer(self, view: View) -> dict[int, float]:
        """The function's answer, the same for all renamings of the suits."""
        deck = view.state.rules.deck
        answer = self._ask(view)
        for renaming in itertools.permutations(range(deck.suits)):
            become = renamed_cards(deck, renaming)
            hole, board = ([become[card] for card in cards] for cards in (view.hole, view.board))
            other = View(view.state, view.player, tuple(sorted(hole)), tuple(board))
            theirs = self._ask(other)
            if any(abs(answer.get(each, 0) - theirs.get(each, 0)) > _SAME for each in {*answer, *theirs}):
                raise InputError(
                    f"agent {shown(self.name)} tells suits apart: {_mix_text(answer)} {view_text(view)}, but "
                    f"{_mix_text(theirs)} with {deck.text(other.hole)}",
                    remedy="play suits alike, or use the method lbr",
                )
        return answer

    def _ask(self, view: View) -> dict[int, float]:
        return self._known[view.state.rounds, view.hole, view.board]

    def _learn(self, state: BettingState, holes: list[tuple[int, ...]], board: tuple[int, ...]) -> None:
        """Ask about some holes, with all renamings of the suits, as far as the answers are not known."""
        deck = state.rules.deck
        wanted: dict[Cards, None] = {(hole, board): None for hole in holes}
        for renaming in itertools.permutations(range(deck.suits)):
            become = renamed_cards(deck, renaming)
            other = tuple(become[card] for card in board)
            wanted |= {(tuple(sorted(become[card] for card in hole)), other): None for hole in holes}
        asked = [cards for cards in wanted if (state.rounds, *cards) not in self._known]
        if len(self._known) + len(asked) > MOST_QUESTIONS:
            raise _too_many(len(self._known) + len(asked))
        for cards, answer in zip(asked, self.agent.ask_all(state, state.player, asked), strict=True):
            self._known[state.rounds, *cards] = answer

    def _check_size(self, engine: Engine) -> None:
        """Refuse a game that would take hours of Python."""
        rules, boards = engine.tree.rules, engine.cards.arrays
        by_street = [int((engine.program.arrays.table_row[first:end] >= 0).sum()) for first, end in _streets(engine)]
        holes = rules.deck.holes(rules.hole_cards)
        asked = sum(by_street[street] * holes for street in boards.street.tolist())
        if asked > MOST_QUESTIONS:
            raise _too_many(asked)


def _too_many(asked: int) -> InputError:
    return InputError(
        f"a function would be asked {asked:,} questions and more", remedy="use the method lbr, or a smaller game"
    )


def _streets(engine: Engine) -> list[tuple[int, int]]:
    """By street, the places of the betting program."""
    program = engine.program.arrays
    ends = [int(program.group_first[group]) for group in program.street_groups]
    return list(itertools.pairwise(ends))


def _mix_text(chances: dict[int, float]) -> str:
    return ", ".join(f"{action_text(action)} {chance:.3g}" for action, chance in chances.items() if chance > 0)
