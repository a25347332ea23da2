"""The strategy of several networks, one of which is drawn for the hand, as an observer sees it."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from equipoise import build_tree
from equipoise.cards.isomorphism import HandIndexer
from equipoise.tree.infosets import SlotLayout, lossless_hands

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

import equipoise.deep.mixture as mixture_module
from equipoise.deep.encoding import Encoding
from equipoise.deep.mixture import Mixture
from naive_deep import Found, NetworkStrategy, all_deals, average_strategy, random_networks, regrets

HIDDEN = 6
WEIGHTS = np.array([1, 2, 5], np.float32)
GAMES = ("kuhn", "leduc")


@cache
def encoded(game: str) -> Encoding:
    return Encoding(build_tree(game))


@cache
def mixed(game: str, count: int = 3, is_strategy: bool = False) -> Mixture:
    encoding, shape = encoded(game), encoded(game).shape(HIDDEN)
    one, two = random_networks(shape, 2 * count, seed=6, size=0.6).reshape(2, count, -1)
    return Mixture(encoding.on(torch.device("cpu")), shape, (one, two), WEIGHTS[:count], is_strategy)


@cache
def single(game: str, player: int, is_strategy: bool = False) -> tuple[NetworkStrategy, ...]:
    networks = mixed(game, is_strategy=is_strategy).parameters[player]
    return tuple(NetworkStrategy(encoded(game), network, HIDDEN, is_strategy) for network in networks)


@cache
def averages(game: str, by_reach: bool = True, is_strategy: bool = False) -> tuple[Found, Found]:
    deals, tree = all_deals(encoded(game)), encoded(game).tree
    one, two = (
        average_strategy(tree, player, deals, single(game, player, is_strategy), WEIGHTS.tolist(), by_reach)
        for player in range(2)
    )
    return one, two


def table_of(mixture: Mixture) -> Found:
    """By node and key, the entries of its profile."""
    encoding = mixture.where.encoding
    tree, rules = encoding.tree, encoding.tree.rules
    layout = SlotLayout(tree, lossless_hands(rules))
    table = mixture.profile(layout)
    found = {}
    for node in encoding.nodes.tolist():
        indexer = HandIndexer(rules.deals(int(tree.street[node])), rules.deck)
        keys = encoding.hands.of_hands(indexer.hands(np.arange(indexer.size)), int(tree.street[node]))
        for key, row in zip(keys.tolist(), layout.at(table, node), strict=True):
            found[node, key] = row
    return found


def largest_difference(one: Found, two: Found) -> float:
    assert one.keys() == two.keys()
    return float(max(np.abs(one[infoset] - two[infoset]).max() for infoset in one))


@pytest.mark.parametrize("is_strategy", [False, True])
@pytest.mark.parametrize("rows", [1, 40, 1 << 15])
@pytest.mark.parametrize("game", GAMES)
def test_the_profile_is_the_average_weighed_by_reach(
    game: str, rows: int, is_strategy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture_module, "CPU_ROWS", rows)  # chunks of any size
    found = table_of(mixed(game, is_strategy=is_strategy))
    one, two = averages(game, is_strategy=is_strategy)
    assert largest_difference(found, {**one, **two}) < 2e-5
    one, two = averages(game, by_reach=False, is_strategy=is_strategy)
    assert largest_difference(found, {**one, **two}) > 0.01


@pytest.mark.parametrize("game", GAMES)
def test_one_network_is_its_own_strategy(game: str) -> None:
    found = table_of(mixed(game, 1))
    shape, encoding = encoded(game).shape(HIDDEN), encoded(game)
    alone = [NetworkStrategy(encoding, mixed(game, 1).parameters[player][0], HIDDEN) for player in range(2)]
    assert shape.length == mixed(game, 1).parameters[0].shape[1]
    expected = {(node, key): alone[int(encoding.tree.player[node])](node, key) for node, key in found}
    assert largest_difference(found, expected) < 2e-5


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("game", GAMES)
def test_rows_at_the_table_are_those_of_the_profile(game: str, count: int) -> None:
    mixture, encoding = mixed(game, count), encoded(game)
    table, rules = table_of(mixture), encoding.tree.rules
    for node, card in product(encoding.nodes.tolist(), range(rules.deck.size)):
        board = [card] if sum(rules.board_cards) else []
        seen = board[: rules.board_size(int(encoding.tree.street[node]))]
        holes = np.array([[hole] for hole in range(rules.deck.size) if hole not in board], np.uint8)
        keys = encoding.hands.of_board(seen, holes)
        found = mixture.rows(node, board, holes)
        assert found == pytest.approx(np.array([table[node, key] for key in keys.tolist()]), abs=2e-5)


@pytest.mark.parametrize("game", GAMES)
def test_drawing_one_network_for_the_hand_wins_as_much_as_the_average(game: str) -> None:
    tree, deals = encoded(game).tree, all_deals(encoded(game))
    shares, table = WEIGHTS / WEIGHTS.sum(), table_of(mixed(game))
    drawn = sum(
        shares[i] * shares[j] * regrets(tree, 0, deals, (single(game, 0)[i], single(game, 1)[j]))[1]
        for i, j in product(range(3), repeat=2)
    )

    def value(found: Found) -> float:
        return regrets(tree, 0, deals, [lambda node, key: found[node, key]] * 2)[1]

    assert value(table) == pytest.approx(drawn, abs=1e-5)
    one, two = averages(game, by_reach=False)
    assert abs(value({**one, **two}) - drawn) > 1e-3


def test_networks_go_to_another_device_whole() -> None:
    here = mixed("leduc")
    assert here.on("cpu") is here
    there = here.on("meta")  # a device without numbers, which every machine has
    assert there.where.device.type == there.parameters[0].device.type == "meta"
    assert there.parameters[1].shape == here.parameters[1].shape
    assert there.weights is here.weights
