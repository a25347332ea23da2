"""Networks as agents: they play, are followed and are measured like the table of the same probabilities."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

from equipoise import InputError, exploitability, load_player, local_best_response, match, measure_agent
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.agent import View, can_fork
from equipoise.agents.network import NetworkAgent, NetworkStrategy
from equipoise.agents.postprocess import PostProcess
from equipoise.agents.table import TableAgent
from equipoise.cards.symmetry import hole_card_table
from equipoise.deep.encoding import Encoding
from equipoise.deep.file import load_networks, save_networks
from equipoise.deep.mixture import Mixture
from equipoise.games.betting_state import BettingState
from equipoise.measure.best_response import Measurement
from equipoise.strategy.abstract_game import AbstractGame, read_abstract_game
from equipoise.tree.boards import deal_boards
from equipoise.tree.infosets import SlotLayout
from naive_deep import random_networks

HIDDEN = 6
POT = {"game": "holdem.nolimit", "betting": "pot"}


@cache
def game_of(name: str) -> AbstractGame:
    return read_abstract_game(POT if name == "holdem.nolimit" else {"game": name}, in_tables=False)


def mixture_of(name: str, count: int = 3, *, is_strategy: bool = False) -> Mixture:
    where = Encoding(game_of(name).tree).on(torch.device("cpu"))
    shape = where.encoding.shape(HIDDEN)
    networks = torch.stack([random_networks(shape, count, seed=seed, size=0.3) for seed in (3, 4)])
    weights = np.arange(1, count + 1, dtype=np.float32)
    return Mixture(where, shape, (networks[0], networks[1]), weights, is_strategy)


def twins(name: str, post: str = "none", **more: bool) -> tuple[NetworkAgent, TableAgent]:
    """A network agent, and the agent of its probabilities as a table."""
    mixture, rules = mixture_of(name, **more), game_of(name).rules
    buckets = BucketMap.lossless(rules)
    layout = SlotLayout(mixture.where.encoding.tree, buckets.buckets)
    made = PostProcess.read(post)
    return NetworkAgent("networks", mixture, post=made), TableAgent(
        "table", layout, mixture.profile(layout), buckets, made
    )


@pytest.mark.parametrize("is_strategy", [False, True])
@pytest.mark.parametrize("post", ["none", "purify", "threshold:0.3"])
def test_tracks_are_those_of_the_table(post: str, is_strategy: bool) -> None:
    networks, table = twins("leduc", post, is_strategy=is_strategy)
    rng = np.random.default_rng(1)
    for hand in range(20):
        one, two = networks.follow(hand % 2), table.follow(hand % 2)
        while not one.state.is_over:
            if networks.rules.board_size(one.state.round) > len(one.board):
                one, two = (track.dealt((hand % 6,)) for track in (one, two))
            if one.state.player == hand % 2:
                actions, chances = one.probabilities()
                assert actions == two.probabilities()[0]
                assert chances == pytest.approx(two.probabilities()[1], abs=1e-5)
            legal = one.state.legal()
            choices = [-1] * legal.fold + [0] + [legal.raise_min] * legal.can_raise
            action = int(rng.choice(choices[-2:]))
            one, two = one.after(action), two.after(action)
            assert one.reach == pytest.approx(two.reach, abs=1e-5)


@pytest.mark.parametrize("game", ["kuhn", "leduc"])
@pytest.mark.parametrize("count", [1, 3])
def test_exact_measure_is_that_of_the_table(game: str, count: int) -> None:
    networks, table = twins(game, count=count)
    expected = exploitability(game, table)
    for by_flop in (None, True) if game == "leduc" else (None,):
        found = exploitability(game, networks, by_flop=by_flop)
        assert found.player_values == pytest.approx(expected.player_values, abs=1e-4)
    if game == "leduc":  # a swapped seat would show
        assert abs(expected.player_values[0] - expected.player_values[1]) > 0.01
    uniform = exploitability(game, "uniform")
    assert abs(uniform.exploitability - expected.exploitability) > 10


def test_rows_of_a_board_after_two_streets() -> None:
    """The reach of several networks passes from board to board, hole by hole, as in `Mixture.rows`."""
    mixture, game = mixture_of("holdem.limit"), game_of("holdem.limit")
    strategy = NetworkStrategy("x", mixture)
    side = Measurement(game.rules, strategy, game.tree, 1).sides[0]
    engine = side.engine.on(deal_boards(game.rules, first_deals=[900]))
    boards, program = engine.cards.arrays, engine.program.arrays
    rows, player, board = strategy.by_board(engine, 1), 1, 2  # its turn
    tables = engine.tables(np.zeros(40_000_000, np.float32))._replace(first=np.zeros_like(engine.table_first))
    for above in (0, 1, board):
        rows.expand(above, tables)
    holes = engine.cards.holes(board, player)
    cards = hole_card_table(game.rules.deck, 2)[holes]
    places = np.flatnonzero((program.table_row >= 0) & (program.player == player))
    turn = [p for p in places.tolist() if game.tree.street[program.node[p]] == boards.street[board]]
    for place in turn[:: len(turn) // 12]:
        start, count = int(program.table_row[place]) * len(holes), int(program.num_children[place])
        found = tables.source[start : start + count * len(holes)].reshape(count, -1)
        expected = mixture.rows(int(program.node[place]), engine.cards.cards[board], cards).T
        assert found == pytest.approx(expected, abs=1e-4)


def test_plays_bets_outside_its_tree() -> None:
    agent = NetworkAgent("networks", mixture_of("holdem.nolimit", 1))
    state = BettingState.start(agent.rules).apply(0).apply(450)  # a limp, and a raise that is not on the menu
    view = View(state, state.player, (0, 51), ())
    chances = agent.probabilities(view)
    assert sum(chances.values()) == pytest.approx(1)
    assert all(state.legal().allows(action) for action in chances)
    assert agent.act(view, np.random.default_rng(2)) in chances


def test_blocked_holes_have_no_probability() -> None:
    networks, _ = twins("leduc", "purify")
    tree = networks.tree
    node = int(tree.entries[1][0])
    rows = networks.rows(node, (4,), hole_card_table(networks.rules.deck, 1))
    assert (rows[:, 4] == 0).all()
    assert rows.sum(axis=0)[[0, 1, 2, 3, 5]] == pytest.approx(1)


def test_match_and_bound_take_networks() -> None:
    networks, table = twins("leduc")
    assert local_best_response(networks, hands=600, threads=1, seed=3).lbr == pytest.approx(
        local_best_response(table, hands=600, threads=1, seed=3).lbr, abs=1e-2
    )
    result = match(networks, "always-call", hands=200, seed=5)
    assert result.hands == 200


def test_bound_in_several_processes() -> None:
    """Processes are forked from one that has used torch's threads."""
    agent = NetworkAgent("networks", mixture_of("leduc"))
    torch.set_num_threads(2)
    torch.randn(400, 400) @ torch.randn(400, 400)
    one, two = (local_best_response(agent, hands=400, threads=threads, seed=3).lbr for threads in (2, 1))
    assert one == pytest.approx(two)


def test_files(tmp_path: Path) -> None:
    mixture, game = mixture_of("leduc"), game_of("leduc")
    path = tmp_path / "leduc.networks"
    save_networks(path, game, mixture, {"iterations": 3})
    again = load_networks(path)
    assert again.about == {"iterations": 3}
    for one, two in zip(again.mixture.parameters, mixture.parameters, strict=True):
        assert torch.equal(one, two)
    agent = load_player(str(path))
    assert isinstance(agent, NetworkAgent)
    found = measure_agent(str(path), method="exact", device="cpu")
    assert found.exploitability == pytest.approx(exploitability("leduc", replace(agent)).exploitability)  # type: ignore[union-attr]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        load_networks(path)


@pytest.mark.parametrize(
    ("what", "complaint"),
    [("?device=cuda", "CUDA"), ("?device=tpu", "no device"), ("?strategy=current", "strategy"), ("?menu=pot", "bets")],
)
def test_refused(tmp_path: Path, what: str, complaint: str) -> None:
    if complaint == "CUDA" and torch.cuda.is_available():
        pytest.skip("this machine has one")
    path = tmp_path / "leduc.networks"
    save_networks(path, game_of("leduc"), mixture_of("leduc"), {})
    with pytest.raises(InputError, match=complaint):
        load_player(f"{path}{what}")


def test_exact_measure_refuses_post_processing(tmp_path: Path) -> None:
    path = tmp_path / "leduc.networks"
    save_networks(path, game_of("leduc"), mixture_of("leduc"), {})
    with pytest.raises(InputError, match="post-processor"):
        measure_agent(f"{path}?post=purify", method="exact")
    with pytest.raises(InputError, match="no run"):
        measure_agent("always-call?device=cpu", game="leduc")


def test_networks_on_a_gpu_are_asked_in_one_process() -> None:
    mixture = mixture_of("leduc")
    here, there = NetworkAgent("here", mixture), NetworkAgent("there", mixture.on("meta"))
    assert can_fork(here)
    assert not can_fork(here, there)
