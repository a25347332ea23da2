"""Clusters of the real flops: the worked example of Tartanian7, balance, determinism."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise import load_game
from equipoise.abstraction.clustering.public_boards import cluster_public, public_distances
from equipoise.abstraction.maps.card_recipe import CardRecipe, PublicRecipe, StreetRecipe
from equipoise.abstraction.maps.hierarchy import base_transitions
from equipoise.core.jit import F32
from equipoise.experiments.tartanian7.flops import example_share, flop

BASE = 500  # `equipoise reproduce tartanian7-flops` takes the paper's 5,000


@pytest.fixture(scope="module")
def distances() -> F32:
    rules = load_game("holdem.limit")
    recipe = CardRecipe(streets=(StreetRecipe(),) * 4, public=PublicRecipe(clusters=60, base=BASE))
    table, live = base_transitions(rules, recipe, 1, None)
    assert live == 1176
    assert (table.sum(axis=1) == 1176).all()
    return public_distances(table, live)


def test_the_example_of_the_paper_is_closer_than_most(distances: F32) -> None:
    assert len(distances) == 1755
    assert example_share(distances) < 0.05
    assert distances[flop("AhKs3d"), flop("AhKs2d")] < 0.3
    assert distances[flop("AhKs3d"), flop("7c7d7h")] > 0.9  # two boards that share next to no bucket


def test_sixty_clusters_are_balanced_and_the_same_for_a_seed(distances: F32) -> None:
    one, two = (cluster_public(distances, 60, seed=1) for _ in range(2))
    assert np.array_equal(one.labels, two.labels)
    assert one.converged
    assert len(one.sizes) == 60
    assert one.sizes.min() > 0
    assert one.balance < 2
    assert one.balance < cluster_public(distances, 60, seed=1, objective="mean").balance
    apart = distances[np.triu_indices(len(distances), 1)].mean()
    assert one.within < 0.8 * apart  # random clusters would be at 1
