"""Sampled advantages are unbiased, and so are the visits of the opponent: against exact recursions over all deals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from equipoise import build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

import equipoise.deep.traversal as traversal
from equipoise.deep.encoding import Encoding, Evaluator
from equipoise.deep.network import Network
from equipoise.deep.reservoir import Samples
from equipoise.deep.traversal import Sampled, Traversals
from naive_deep import Found, NetworkStrategy, all_deals, random_networks, regrets, visits

HIDDEN, COUNT = 6, 100_000
GAMES = ("kuhn", "leduc")


@cache
def encoded(game: str) -> Encoding:
    return Encoding(build_tree(game))


@cache
def networks(game: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Of both players: far from uniform, but every action has a chance."""
    shape = encoded(game).shape(HIDDEN)
    one, two = random_networks(shape, 2, seed=8, size=0.3)
    for network in (one, two):
        network[-shape.actions :] = torch.tensor([0.4, 1.2, 0.8])[
            : shape.actions
        ]  # the last part: biases of the output
    return one, two


@cache
def strategies(game: str) -> tuple[NetworkStrategy, NetworkStrategy]:
    one, two = (NetworkStrategy(encoded(game), network, HIDDEN) for network in networks(game))
    return one, two


def traversals(game: str, threads: int = 1) -> tuple[Traversals, tuple[Evaluator, Evaluator]]:
    torch.set_num_threads(1)
    where, shape = encoded(game).on(torch.device("cpu")), encoded(game).shape(HIDDEN)
    one, two = (Evaluator(where, Network(shape, network[None])) for network in networks(game))
    return Traversals(where, threads), (one, two)


@cache
def sampled(game: str, walker: int) -> Sampled:
    walks, both = traversals(game)
    return walks.run(walker, COUNT, both, 3, np.random.SeedSequence(11))


def errors(samples: Samples, exact: Found, count: int = COUNT) -> float:
    """The largest distance of a mean per traversal from its exact value, in standard errors.

    The variance is that of the samples, but at least what one more visit would give: few visits show too little of it.
    """
    infosets = {infoset: at for at, infoset in enumerate(exact)}
    visited = zip(samples.node.tolist(), samples.key.tolist(), strict=True)
    place = np.array([infosets.get(infoset, -1) for infoset in visited])
    if (place < 0).any():
        return np.inf
    actions = samples.target.shape[1]
    sums, squares = np.zeros((2, len(exact), actions))
    targets = samples.target.astype(np.float64)
    np.add.at(sums, place, targets)
    np.add.at(squares, place, targets**2)
    largest = np.abs(targets).max()
    expected = np.array([np.pad(row, (0, actions - len(row))) for row in exact.values()])
    deviation = np.sqrt((squares + largest**2) / count - (sums / count) ** 2) / np.sqrt(count)
    return float((np.abs(sums / count - expected) / deviation).max())


@pytest.mark.parametrize("walker", [0, 1])
@pytest.mark.parametrize("game", GAMES)
def test_advantages_are_unbiased(game: str, walker: int) -> None:
    tree, deals, found = encoded(game).tree, all_deals(encoded(game)), sampled(game, walker).advantages
    exact, _ = regrets(tree, walker, deals, strategies(game))
    assert all(np.ptp(strategies(game)[walker](*infoset)) > 0.001 for infoset in exact)
    assert errors(found, exact) < 5
    assert (found.iteration == 3).all()
    swapped, _ = regrets(tree, walker, deals, strategies(game)[::-1])
    unreached, _ = regrets(tree, walker, deals, strategies(game), opponent_reach=False)
    unblocked, _ = regrets(tree, walker, all_deals(encoded(game), blockers=False), strategies(game))
    other_seat, _ = regrets(tree, 1 - walker, deals, strategies(game))
    negative = {infoset: -row for infoset, row in exact.items()}
    for wrong in (swapped, unreached, unblocked, other_seat, negative):
        assert errors(found, wrong) > 8


@pytest.mark.parametrize("walker", [0, 1])
@pytest.mark.parametrize("game", GAMES)
def test_strategies_are_sampled_in_proportion_to_the_players_own_reach(game: str, walker: int) -> None:
    tree, found, player = encoded(game).tree, sampled(game, walker).strategies, 1 - walker
    strategy = strategies(game)[player]
    seen = visits(tree, player, all_deals(encoded(game)), strategy)
    ones = found._replace(target=np.ones((len(found.key), 1), np.float32))
    assert errors(ones, {infoset: np.array([chance]) for infoset, chance in seen.items()}) < 5
    everywhere = visits(tree, player, all_deals(encoded(game)), lambda node, _: np.ones(tree.num_children[node]))
    uniform = visits(
        tree, player, all_deals(encoded(game)), lambda node, _: np.full(n := tree.num_children[node], 1 / n)
    )
    for wrong in (everywhere, uniform) if game == "leduc" or player == 0 else ():  # in Kuhn, player 1 acts once
        assert errors(ones, {infoset: np.array([chance]) for infoset, chance in wrong.items()}) > 8
    for node, key, target in list(zip(found.node.tolist(), found.key.tolist(), found.target, strict=True))[:3000]:
        expected = strategy(node, key)
        assert target[: len(expected)] == pytest.approx(expected, abs=1e-5)
        assert not target[len(expected) :].any()


def test_a_seed_gives_the_same_bits_with_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traversal, "ROWS", 2000)
    found = []
    for threads, seed in ((1, 1), (1, 1), (3, 1), (1, 2)):
        walks, both = traversals("leduc", threads)
        assert walks.chunk < 300
        found.append(walks.run(1, 1000, both, 1, np.random.SeedSequence(seed)))
    first, *same, other = found
    for again in same:
        assert first.rows == again.rows
        assert all((a == b).all() for a, b in zip(first.advantages, again.advantages, strict=True))
        assert all((a == b).all() for a, b in zip(first.strategies, again.strategies, strict=True))
    assert not np.array_equal(first.advantages.key, other.advantages.key)


def test_rows_per_deal_is_the_mean_number_of_rows_against_a_uniform_opponent() -> None:
    encoding, count = encoded("kuhn"), 20_000
    where, shape = encoding.on(torch.device("cpu")), encoding.shape(HIDDEN)
    uniform = Evaluator(where, Network(shape, shape.start(torch.Generator().manual_seed(1))[None]))
    for walker in range(2):
        found = Traversals(where).run(walker, count, (uniform, uniform), 1, np.random.SeedSequence(1))
        assert found.rows / count == pytest.approx(traversal.rows_per_deal(encoding.tree, walker), rel=0.02)
