"""Betting trees with the line of a hand: what the menu lacks is added there, and nowhere else."""

from random import Random

import numpy as np
import pytest

from equipoise import InputError, build_tree
from equipoise.games.betting_state import CALL, BettingState
from equipoise.tree.betting_tree import DECISION, BettingTree, Root
from play import random_action
from small_games import MENU, NO_LIMIT

START = BettingState.start(NO_LIMIT).apply(CALL).apply(CALL)  # the flop of an unraised pot


def histories(tree: BettingTree) -> dict[tuple[int, ...], int]:
    """Every node by the actions since the root."""
    found = [()] * len(tree)
    for node in range(1, len(tree)):
        found[node] = (*found[tree.parent[node]], int(tree.action[node]))  # type: ignore[assignment]
    return {history: node for node, history in enumerate(found)}


@pytest.mark.parametrize("seed", range(12))
def test_a_line_is_added_where_the_menu_lacks_it_and_nowhere_else(seed: int) -> None:
    rng, state = Random(seed), START
    while state.round == 1 and len(state.rounds[1]) < 4:
        after = state.apply(random_action(state, rng))
        if after.round > 1 or after.is_over:
            break
        state = after
    line = state.rounds[1] if state.round == 1 else ()
    plain, tree = (build_tree(NO_LIMIT, MENU, Root(1, 100), line=added) for added in ((), line))
    known, found = histories(plain), histories(tree)
    assert known.keys() <= found.keys()
    for history in found.keys() - known.keys():  # below an action of the line that is not on the menu
        first = next(i for i in range(len(history)) if history[: i + 1] not in known)
        assert history[: first + 1] == line[: first + 1]
    for history, node in found.items():
        if tree.street[node] == 1 and tree.kind[node] == DECISION:
            at = START
            for action in history:
                at = at.apply(action)  # refuses what is illegal
            assert at.player == tree.player[node]
            assert list(at.spent) == tree.chips[node].tolist()
    assert line in found
    children = [list(tree.children(node)) for node in range(len(tree)) if tree.num_children[node]]
    assert sorted(child for siblings in children for child in siblings) == list(range(1, len(tree)))
    for siblings in children:
        assert (np.diff(tree.action[siblings]) > 0).all()


def test_an_illegal_line_is_refused() -> None:
    with pytest.raises(InputError, match="illegal"):
        build_tree(NO_LIMIT, MENU, Root(1, 100), line=(150,))
