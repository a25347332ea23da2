"""Independent engines, for comparison: OpenSpiel's information sets, PokerKit's hands."""

from __future__ import annotations

from typing import Any

import pokerkit
import pyspiel
from pokerkit.notation import parse_action

import naive
from equipoise.tree.betting_tree import DECISION, FOLDED, SHOWDOWN, BettingTree


def information_states(tree: BettingTree, name: str) -> dict[str, tuple[int, int, naive.Cards, list[int]]]:
    """OpenSpiel's name of every information set of Kuhn and Leduc: our node, the hole, the board; and its actions."""
    found = {}

    def visit(state: Any, node: int, dealt: tuple[int, ...]) -> None:
        if state.is_terminal():
            return
        if state.is_chance_node():
            for card in state.legal_actions():
                visit(state.child(card), node, (*dealt, card))
            return
        player = state.current_player()
        assert tree.player[node] == player
        assert tree.num_children[node] == len(state.legal_actions())
        found[state.information_state_string()] = node, dealt[player], dealt[2:], state.legal_actions()
        for action, child in zip(state.legal_actions(), tree.children(node), strict=True):
            below = child if tree.kind[child] in (DECISION, FOLDED, SHOWDOWN) else int(tree.first_child[child])
            visit(state.child(action), below, dealt)

    visit(pyspiel.load_game(f"{name}_poker").new_initial_state(), 0, ())
    return found


def pokerkit_replay(history: pokerkit.HandHistory) -> pokerkit.State:
    """PokerKit's state after every action of a history, none of them repaired."""
    state = history.create_state()
    for action in history.actions:
        while state.can_burn_card():
            state.burn_card("??")
        parse_action(state, action)
    return state
