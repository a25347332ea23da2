"""Lines of betting, such as `check, bet 100, raise 300, call`: the names of a tree's nodes.

They are read as players type them too: `x b100 r300 c`. The number is the player's chips on this street after the
action. Streets are not separated.
"""

from __future__ import annotations

from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import CALL, FOLD
from equipoise.games.notation.typed import CALL_OR_CHECK, read_typed, split_line
from equipoise.tree.betting_tree import DEAL, BettingTree

MOST_DIGITS = 10  # of an amount
_ALL_IN = "all-in"


def street_start(tree: BettingTree, node: int) -> int:
    """The chips each player had in when the node's street began; blinds count as bets, so 0 in the first round."""
    while node > 0 and tree.kind[tree.parent[node]] != DEAL:
        node = int(tree.parent[node])
    return 0 if node == 0 and tree.chips[0, 0] != tree.chips[0, 1] else int(tree.chips[node].min())


def action_name(tree: BettingTree, child: int) -> str:
    """The action that leads to a node, in words."""
    action, above = int(tree.action[child]), int(tree.parent[child])
    facing = tree.chips[above, 0] != tree.chips[above, 1]
    if action == FOLD:
        return "fold"
    if action == CALL:
        return "call" if facing else "check"
    amount = action - street_start(tree, above)
    if action >= min(tree.rules.stacks):
        return f"{_ALL_IN} {amount}"
    return f"{'raise' if facing else 'bet'} {amount}"


def action_names(tree: BettingTree, node: int) -> list[str]:
    """The actions of a decision node, in words."""
    return [action_name(tree, child) for child in tree.children(node)]


def path_to(tree: BettingTree, node: int) -> list[int]:
    """The nodes from the root's child to a node, DEAL nodes left out."""
    path = []
    while tree.parent[node] >= 0:
        path.append(node)
        node = int(tree.parent[node])
    return [step for step in reversed(path) if tree.kind[tree.parent[step]] != DEAL]


def line_of(tree: BettingTree, node: int) -> str:
    """The line that leads to a node."""
    return ", ".join(action_name(tree, step) for step in path_to(tree, node))


def find_action(tree: BettingTree, node: int, text: str) -> int | None:
    """The number of the action at a node that a text names; None if there is none.

    An all-in needs no amount, and may be called a bet or raise of its amount; `to` before an amount, the dash of
    `all-in`, and case are optional. `c` is a call, or a check where there is nothing to call.
    """
    typed = read_typed(text)
    if typed is None or (typed.size and not _is_amount(typed.size)):
        return None
    verb = typed.verb
    if verb == CALL_OR_CHECK:
        verb = "call" if tree.chips[node, 0] != tree.chips[node, 1] else "check"
    wanted = f"{verb} {int(typed.size)}" if typed.size else verb
    for number, name in enumerate(action_names(tree, node)):
        if wanted == name or (name.startswith(_ALL_IN) and wanted in _all_in_names(tree, node, name)):
            return number
    return None


def _is_amount(size: str) -> bool:
    return whole_number(size, MOST_DIGITS) is not None


def _all_in_names(tree: BettingTree, node: int, name: str) -> tuple[str, str]:
    """Other names of the action `all-in N` at a node."""
    facing = tree.chips[node, 0] != tree.chips[node, 1]
    return _ALL_IN, name.replace(_ALL_IN, "raise" if facing else "bet")


def find_line(tree: BettingTree, line: str) -> int:
    """The node that a line leads to; where it ends a street, the first node of the next."""
    node = 0
    for word in split_line(line):
        action = find_action(tree, node, word)
        if action is None:
            names = action_names(tree, node)
            after = f"after {shown(line_of(tree, node))} there are {', '.join(names)}"
            raise InputError(
                f"no action {shown(word)} in line {shown(line, 80)}",
                remedy=after if names else "the hand is over there",
            )
        child = tree.children(node)[action]
        node = int(tree.first_child[child]) if tree.kind[child] == DEAL else child
    return node
