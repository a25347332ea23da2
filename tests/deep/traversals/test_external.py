"""Sampled advantages are unbiased, and so are the visits of the opponent: against exact recursions over all deals.

Samples of one board depend on each other, so errors come from runs of many deals, which do not.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from equipoise import GameRules, build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

import equipoise.deep.traversals.external as traversal
from equipoise.deep.encoding import Encoding, Evaluator
from equipoise.deep.network import Network
from equipoise.deep.traversals.external import Sampled, Sampling, Traversals
from naive_deep import Found, all_deals, regrets, visits
from sampling_laws import HIDDEN, encoded, errors, kept_share, networks, strategies, wrong_regrets

COUNT, RUNS = 2_000, 50
SAMPLINGS = [Sampling(), Sampling(holes=4), Sampling(holes=1, whole=6), Sampling(holes=4, whole=20, thin=0.7)]
CASES = [(game, sampling) for game in ("kuhn", "leduc") for sampling in SAMPLINGS]
IDS = [f"{game}-{sampling.holes}-{sampling.whole}" for game, sampling in CASES]


def traversals(
    game: str, threads: int = 1, sampling: Sampling = SAMPLINGS[0]
) -> tuple[Traversals, tuple[Evaluator, Evaluator]]:
    torch.set_num_threads(1)
    where, shape = encoded(game).on(torch.device("cpu")), encoded(game).shape(HIDDEN)
    one, two = (Evaluator(where, Network(shape, network[None])) for network in networks(game))
    return Traversals(where, threads, sampling), (one, two)


@cache
def sampled(game: str, walker: int, sampling: Sampling) -> list[Sampled]:
    """Independent runs."""
    walks, both = traversals(game, sampling=sampling)
    seeds = np.random.SeedSequence(11).spawn(RUNS)
    return [walks.run(walker, COUNT, both, 3, seed) for seed in seeds]


@pytest.mark.parametrize("walker", [0, 1])
@pytest.mark.parametrize(("game", "sampling"), CASES, ids=IDS)
def test_advantages_are_unbiased(game: str, sampling: Sampling, walker: int) -> None:
    tree, deals = encoded(game).tree, all_deals(encoded(game))
    found = [run.advantages for run in sampled(game, walker, sampling)]

    def distance(wrong: Found) -> float:
        share = share_that_meets(tree.rules, sampling.holes)
        kept = {infoset: share * kept_share(tree, infoset[0], sampling.thin) * row for infoset, row in wrong.items()}
        return errors(found, kept, COUNT, sampling.holes)

    exact, _ = regrets(tree, walker, deals, strategies(game))
    assert all(np.ptp(strategies(game)[walker](*infoset)) > 0.001 for infoset in exact)
    assert distance(exact) < 5
    assert all((run.iteration == 3).all() for run in found)
    for wrong in wrong_regrets(game, walker):
        assert distance(wrong) > 8
    if sampling.thin and (game == "leduc" or walker == 0):  # in Kuhn, player 1 acts once
        assert distance({infoset: row / kept_share(tree, infoset[0], 0.2) for infoset, row in exact.items()}) > 8


def share_that_meets(rules: GameRules, holes: int) -> float:
    """The mean share of a new range that does not block a hole of one card: one hole was drawn with it, others not."""
    left = rules.deck.size - sum(rules.board_cards)
    return (1 + (holes - 1) * (1 - 1 / left)) / holes


@pytest.mark.parametrize("walker", [0, 1])
@pytest.mark.parametrize(("game", "sampling"), CASES, ids=IDS)
def test_strategies_are_sampled_in_proportion_to_the_players_own_reach(
    game: str, sampling: Sampling, walker: int
) -> None:
    tree, player = encoded(game).tree, 1 - walker
    found = [run.strategies for run in sampled(game, walker, sampling)]
    strategy = strategies(game)[player]
    ones = [run._replace(target=np.ones((len(run.key), 1), np.float32)) for run in found]

    def distance(chances: dict[tuple[int, int], float]) -> float:
        return errors(ones, {infoset: np.array([chance]) for infoset, chance in chances.items()}, COUNT, sampling.holes)

    assert distance(visits(tree, player, all_deals(encoded(game)), strategy)) < 5
    everywhere = visits(tree, player, all_deals(encoded(game)), lambda node, _: np.ones(tree.num_children[node]))
    uniform = visits(
        tree, player, all_deals(encoded(game)), lambda node, _: np.full(n := tree.num_children[node], 1 / n)
    )
    for wrong in (everywhere, uniform) if game == "leduc" or player == 0 else ():  # in Kuhn, player 1 acts once
        assert distance(wrong) > 8
    first = found[0]
    for node, key, target in list(zip(first.node.tolist(), first.key.tolist(), first.target, strict=True))[:3000]:
        expected = strategy(node, key)
        assert target[: len(expected)] == pytest.approx(expected, abs=1e-5)
        assert not target[len(expected) :].any()


def test_many_holes_on_a_board_have_less_noise() -> None:
    """At the first decision of flop hold'em: the variance of the target of one hand, at equal numbers of holes."""
    encoding = Encoding(build_tree("holdem.flop"))
    where, shape = encoding.on(torch.device("cpu")), encoding.shape(HIDDEN)
    uniform = Evaluator(where, Network(shape, shape.start(torch.Generator().manual_seed(1))[None]))
    spread = {}
    for sampling in (Sampling(), Sampling(32), Sampling(32, 100)):
        walks = Traversals(where, 1, sampling)
        found = walks.run(1, 32_000 // sampling.holes, (uniform, uniform), 1, np.random.SeedSequence(4)).advantages
        first = found.take(found.node == 0)
        keys, place = np.unique(first.key, return_inverse=True)
        assert len(keys) == 169
        means = np.array([first.target[place == at].mean(axis=0) for at in range(169)])
        spread[sampling] = float(np.square(first.target - means[place]).mean())
    one, many, whole = spread.values()
    assert many < 0.6 * one
    assert whole < 0.15 * one


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_seed_gives_the_same_bits_with_any_number_of_threads(
    sampling: Sampling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traversal, "ROWS", 2000)
    found = []
    for threads, seed in ((1, 1), (1, 1), (3, 1), (1, 2)):
        walks, both = traversals("leduc", threads, sampling)
        assert walks.chunk < 300
        found.append(walks.run(1, 1000, both, 1, np.random.SeedSequence(seed)))
    first, *same, other = found
    walks, both = traversals("leduc", 1, sampling._replace(strategies=False))
    alone = walks.run(1, 1000, both, 1, np.random.SeedSequence(1))
    assert not len(alone.strategies.key)
    assert all((a == b).all() for a, b in zip(first.advantages, alone.advantages, strict=True))
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
        for sampling in SAMPLINGS:
            walks = Traversals(where, 1, sampling)
            found = walks.run(walker, count, (uniform, uniform), 1, np.random.SeedSequence(1))
            expected = sampling.holes * traversal.rows_per_deal(encoding.tree, walks.tree.whole, walker)
            assert found.rows / count == pytest.approx(expected, rel=0.02)
