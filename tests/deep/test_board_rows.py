"""Networks asked for a whole board: the same probabilities as node by node."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

from equipoise import match
from equipoise.agents.network import NetworkAgent
from equipoise.agents.postprocess import PostProcess
from equipoise.agents.tree_agent import TreeAgent
from equipoise.deep.encoding import Encoding
from equipoise.deep.mixture import Mixture
from equipoise.games.rules import GameRules
from naive_deep import random_networks
from small_games import LEDUC, NO_LIMIT, tree_of


def agent_of(rules: GameRules, count: int, post: str = "none") -> NetworkAgent:
    """Random networks of unequal weights."""
    where = Encoding(tree_of(rules)).on(torch.device("cpu"))
    shape = where.encoding.shape(6)
    networks = torch.stack([random_networks(shape, count, seed=seed, size=0.5) for seed in (3, 4)])
    mixture = Mixture(where, shape, (networks[0], networks[1]), np.arange(1, count + 1, dtype=np.float32))
    return NetworkAgent(f"{count} networks", mixture, post=PostProcess.read(post))


@pytest.mark.parametrize(("rules", "board"), [(LEDUC, (3,)), (NO_LIMIT, (8, 0, 4))])
@pytest.mark.parametrize(("count", "post"), [(1, "none"), (3, "none"), (3, "threshold:0.3,first=keep")])
def test_a_whole_board_is_what_its_nodes_are(rules: GameRules, board: tuple[int, ...], count: int, post: str) -> None:
    agent = agent_of(rules, count, post)
    found, expected = agent.board_rows(board), TreeAgent.board_rows(agent, board)
    assert found == pytest.approx(expected, abs=1e-5)
    if count > 1 and post == "none":  # an average that forgets reach would show
        mixture, shares = agent.mixture, agent.mixture.weights / agent.mixture.weights.sum()
        forgetful = np.zeros_like(expected)
        for network, share in enumerate(shares):
            one, two = (networks[network : network + 1] for networks in mixture.parameters)
            alone = Mixture(mixture.where, mixture.shape, (one, two), mixture.weights[:1])
            forgetful += share * NetworkAgent("one", alone).board_rows(board)
        assert np.abs(forgetful - expected).max() > 0.02


def test_networks_play_on_boards() -> None:
    one, two = agent_of(NO_LIMIT, 3), agent_of(NO_LIMIT, 2)
    there, back = match(one, two, boards=4), match(two, one, boards=4)
    assert there.mbb_per_hand == pytest.approx(-back.mbb_per_hand, abs=1e-6)
    assert match(one, one, boards=4).mbb_per_hand == pytest.approx(0, abs=1e-6)
    assert abs(there.mbb_per_hand) > 1e-3
