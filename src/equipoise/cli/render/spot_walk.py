"""The interactive walk through a solution: a decision, its actions by number, cards by name. Works piped as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.render.spot import print_hands, print_node
from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError
from equipoise.core.wording import counted
from equipoise.tree.betting_tree import DECISION, FOLDED
from equipoise.tree.lines import action_names, find_line, line_of

if TYPE_CHECKING:
    from equipoise.spots.solution import NodeView, Solution

_HELP = "a number takes an action; a card like 5c is dealt; b back, r root, h hands, q quit"


class Walk:
    """A place in a solution: the actions so far, and the cards dealt since the root."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.steps: list[str] = []  # actions and cards, in order
        self.visited: list[NodeView] = []  # every decision that was shown

    @property
    def line(self) -> str:
        return ", ".join(step for step in self.steps if not _is_card(step))

    @property
    def board(self) -> str:
        return "".join(step for step in self.steps if _is_card(step))

    @property
    def node(self) -> int:
        return find_line(self.solution.engine.tree, self.line)

    @property
    def cards_missing(self) -> int:
        """Cards to deal before the next decision."""
        rules, tree = self.solution.engine.tree.rules, self.solution.engine.tree
        dealt = len(self.solution.engine.cards.cards[0]) + len(self.board) // 2
        over = tree.kind[self.node] != DECISION
        return 0 if over else int(rules.board_size(int(tree.street[self.node]))) - dealt

    def run(self) -> None:
        """Show the place, read an answer, go there; until `q` or the end of the input."""
        print(_HELP)
        self.show()
        while True:
            try:
                answer = input("> ").strip()
            except EOFError:
                print()
                return
            if answer.lower() in ("q", "quit", "exit"):
                return
            try:
                self.answer(answer)
            except InputError as error:
                print(error)

    def answer(self, text: str) -> None:
        """Follow one answer."""
        lower = text.lower()
        if lower in ("b", "back"):
            self.steps = self.steps[:-1]
        elif lower in ("r", "root"):
            self.steps = []
        elif lower in ("h", "hands"):
            self.show(hands=True)
            return
        elif lower in ("", "?", "help"):
            print(_HELP)
        elif self.cards_missing:
            self._deal(text)
        else:
            self._act(text)
        self.show()

    def show(self, *, hands: bool = False) -> None:
        """Print the place."""
        tree = self.solution.engine.tree
        if tree.kind[self.node] != DECISION:
            print(
                f"\nafter {self.line}: the hand ends with a {'fold' if tree.kind[self.node] == FOLDED else 'showdown'}"
            )
            return
        if self.cards_missing:
            count = "a card" if self.cards_missing == 1 else counted(self.cards_missing, "card")
            print(f"\nafter {self.line}: deal {count}, like 5c")
            return
        view = self.solution.strategy(self.line, self.board)
        print()
        if hands:
            print_hands(view)
            return
        self.visited.append(view)
        print_node(view)
        print("  ".join(f"[{number}] {action}" for number, action in enumerate(view.actions, 1)))

    def _deal(self, text: str) -> None:
        deck = self.solution.engine.tree.rules.deck
        cards = deck.read_cards(text)
        if len(cards) != self.cards_missing:
            raise InputError(counted(len(cards), "card"), remedy=f"deal {self.cards_missing}, like 5c")
        street = int(self.solution.engine.tree.street[self.node])
        self.solution.find_board(self.board + deck.text(cards), street)  # refuses a card that is not there
        self.steps.append(deck.text(cards))

    def _act(self, text: str) -> None:
        tree = self.solution.engine.tree
        if tree.kind[self.node] != DECISION:
            raise InputError("the hand is over", remedy="type b to go back, r for the root")
        names = action_names(tree, self.node)
        number = whole_number(text)
        if number and number <= len(names):
            self.steps.append(names[number - 1])
            return
        find_line(tree, ", ".join([*filter(None, [line_of(tree, self.node)]), text]))  # refuses what is not offered
        self.steps.append(text)


def _is_card(step: str) -> bool:
    """Is a step of the walk a deal? Actions are words of three letters and more."""
    return len(step) % 2 == 0 and step[1:2] in tuple("cdhs") and step[:1] in tuple("23456789TJQKA")
