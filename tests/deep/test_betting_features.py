"""Betting histories as network input: nothing that a player knows is lost."""

from __future__ import annotations

import numpy as np
import pytest

import small_games
from equipoise import build_tree, load_game
from equipoise.games.bet_menu import load_menu
from equipoise.tree.betting_tree import DEAL, DECISION, BettingTree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

from equipoise.deep.betting_features import SUMMARY, betting_features


def no_limit() -> BettingTree:
    rules = load_game("holdem.nolimit")
    return build_tree(rules, load_menu("pot", rules))


TREES = {
    "kuhn": lambda: build_tree("kuhn"),
    "leduc": lambda: build_tree("leduc"),
    "limit": lambda: build_tree("holdem.limit"),
    "small no-limit": lambda: small_games.tree_of(small_games.NO_LIMIT),
    "no-limit": no_limit,
}


@pytest.fixture(params=TREES, scope="module")
def tree(request: pytest.FixtureRequest) -> BettingTree:
    return TREES[request.param]()


def test_different_decisions_of_a_player_have_different_rows(tree: BettingTree) -> None:
    rows = betting_features(tree)
    assert np.isfinite(rows).all()
    for player in range(2):
        nodes = np.flatnonzero((tree.kind == DECISION) & (tree.player == player))
        assert len(np.unique(rows[nodes], axis=0)) == len(nodes)
        if len(nodes) > 10:  # a row that only counts chips and actions says less
            assert len(np.unique(rows[nodes, -SUMMARY:], axis=0)) < len(nodes)


def test_a_decision_extends_the_history_of_the_one_before(tree: BettingTree) -> None:
    rows = betting_features(tree)[:, :-SUMMARY]
    nodes = np.flatnonzero(tree.kind == DECISION)[1:]
    before = tree.parent[nodes]
    through = tree.kind[before] == DEAL
    below = np.where(through, before, nodes)  # the node that the action led to
    before = tree.parent[below]
    taken, history = rows[nodes][:, ::2], rows[before][:, ::2]
    assert ((taken == history).sum(axis=1) == taken.shape[1] - 1).all()
    place = (taken - history).argmax(axis=1)
    assert (taken[np.arange(len(nodes)), place] == 1).all()
    actor = tree.player[before]
    put_in = tree.chips[below, actor] - tree.chips[before, actor]
    sizes = rows[nodes][:, 1::2]
    assert sizes[np.arange(len(nodes)), place] == pytest.approx(np.log1p(put_in / tree.chips[before].sum(axis=1)))
    sizes[np.arange(len(nodes)), place] = 0
    assert (sizes == rows[before][:, 1::2]).all()
