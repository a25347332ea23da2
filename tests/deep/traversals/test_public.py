"""Public chance sampling is unbiased: against exact recursions over all deals, and pots against means over boards."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import small_games
from equipoise import build_tree, load_game

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

import equipoise.deep.traversals.public as public
from equipoise.deep.encoding import Encoding, Evaluator
from equipoise.deep.hands import HandKeys
from equipoise.deep.network import Network
from equipoise.deep.traversals.board_deals import BLOCKED
from equipoise.deep.traversals.external import Sampled, Sampling, Traversals
from equipoise.deep.traversals.public import PublicTraversals
from equipoise.deep.traversals.public_plan import level_bounds
from equipoise.deep.traversals.public_walk import DealTensors
from naive_deep import Found, all_deals, cards_of_key, random_networks, regrets, visits
from sampling_laws import HIDDEN, encoded, errors, kept_share, networks, strategies, wrong_regrets

COUNT, RUNS = 600, 50
ALL_HOLES = 99  # more than a board leaves
SAMPLINGS = [Sampling(holes=2), Sampling(holes=ALL_HOLES), Sampling(holes=ALL_HOLES, thin=0.7, share=0.6)]
ALL = Sampling(holes=2000)
CASES = [(game, sampling) for game in ("kuhn", "leduc") for sampling in SAMPLINGS]
IDS = [f"{game}-{sampling.holes}-{sampling.thin}" for game, sampling in CASES]


def both_networks(encoding: Encoding, game: str) -> tuple[Evaluator, Evaluator]:
    where, shape = encoding.on(torch.device("cpu")), encoding.shape(HIDDEN)
    one, two = (Evaluator(where, Network(shape, network[None])) for network in networks(game))
    return one, two


def walks(game: str, sampling: Sampling, threads: int = 1) -> PublicTraversals:
    torch.set_num_threads(1)
    return PublicTraversals(encoded(game).on(torch.device("cpu")), threads, sampling)


@cache
def sampled(game: str, walker: int, sampling: Sampling) -> list[Sampled]:
    """Independent runs."""
    both = both_networks(encoded(game), game)
    seeds = np.random.SeedSequence(11).spawn(RUNS)
    return [walks(game, sampling).run(walker, COUNT, both, 3, seed) for seed in seeds]


def holes_of(game: str, sampling: Sampling) -> int:
    return min(sampling.holes, walks(game, sampling).boards.holes)


@pytest.mark.parametrize("walker", [0, 1])
@pytest.mark.parametrize(("game", "sampling"), CASES, ids=IDS)
def test_advantages_are_unbiased(game: str, sampling: Sampling, walker: int) -> None:
    tree, deals = encoded(game).tree, all_deals(encoded(game))
    found = [run.advantages for run in sampled(game, walker, sampling)]

    def distance(wrong: Found) -> float:
        holes = holes_of(game, sampling)
        share = sampling.share * (1 - 1 / holes)  # of the holes of a board, a hole of one card meets all but itself
        kept = {infoset: share * kept_share(tree, infoset[0], sampling.thin) * row for infoset, row in wrong.items()}
        return errors(found, kept, COUNT, holes)

    exact, _ = regrets(tree, walker, deals, strategies(game))
    assert distance(exact) < 5
    assert all((run.iteration == 3).all() for run in found)
    for wrong in wrong_regrets(game, walker):
        assert distance(wrong) > 8


@pytest.mark.parametrize("walker", [0, 1])
@pytest.mark.parametrize("game", ["kuhn", "leduc"])
def test_strategies_are_sampled_in_proportion_to_the_players_own_reach(game: str, walker: int) -> None:
    tree, player, sampling = encoded(game).tree, 1 - walker, SAMPLINGS[0]
    found = [run.strategies for run in sampled(game, walker, sampling)]
    strategy = strategies(game)[player]
    ones = [run._replace(target=np.ones((len(run.key), 1), np.float32)) for run in found]

    def distance(chances: dict[tuple[int, int], float]) -> float:
        return errors(ones, {infoset: np.array([chance]) for infoset, chance in chances.items()}, COUNT, sampling.holes)

    assert distance(visits(tree, player, all_deals(encoded(game)), strategy)) < 5
    uniform = visits(
        tree, player, all_deals(encoded(game)), lambda node, _: np.full(n := tree.num_children[node], 1 / n)
    )
    if game == "leduc" or player == 0:  # in Kuhn, player 1 acts once
        assert distance(uniform) > 8
    first = found[0]
    for node, key, target in zip(first.node.tolist(), first.key.tolist(), first.target, strict=True):
        expected = strategy(node, key)
        assert target[: len(expected)] == pytest.approx(expected, abs=1e-5)
        assert not target[len(expected) :].any()


@pytest.mark.parametrize("walker", [0, 1])
@pytest.mark.parametrize("holes", [2, 99])
def test_cells_are_the_sums_that_samples_have_on_average(holes: int, walker: int) -> None:
    """By decision and percentile bucket; sums of other buckets are far off."""
    encoding, table = Encoding(build_tree("leduc"), strength=True), 4
    where, shape = encoding.on(torch.device("cpu")), encoding.shape(HIDDEN)
    one, two = random_networks(shape, 2, seed=9, size=0.3)
    both = (Evaluator(where, Network(shape, one[None])), Evaluator(where, Network(shape, two[None])))
    traversals = PublicTraversals(where, 1, Sampling(holes=holes, thin=0.5, public=True, table=table))
    runs = [traversals.run(walker, COUNT, both, 1, seed) for seed in np.random.SeedSequence(3).spawn(RUNS)]
    for samples_of, cells_of in (("advantages", "advantage_cells"), ("strategies", "strategy_cells")):
        drawn, summed = [], []
        for run in runs:
            samples, cells = getattr(run, samples_of), getattr(run, cells_of)
            found = np.zeros((len(encoding.nodes), table, 1 + encoding.actions))
            bucket = ((samples.key >> np.uint64(56)).astype(np.int64) - 1) * table // 255
            counted = np.concatenate([np.ones((len(bucket), 1)), samples.target], axis=1)
            np.add.at(found, (encoding.decision[samples.node], bucket), counted)
            drawn.append(found)
            summed.append(np.concatenate([cells.weight[..., np.newaxis], cells.target], axis=2))
        gaps = np.array(drawn) - np.array(summed)
        error = np.sqrt(gaps.var(axis=0, ddof=1) / RUNS + 0.05 / RUNS)
        assert (np.abs(gaps.mean(axis=0)) / error).max() < 5
        wrong = (np.array(drawn) - np.roll(summed, 1, axis=2)).mean(axis=0)
        assert (np.abs(wrong) / error).max() > 20
        spread = np.array(drawn).var(axis=0).sum(), np.array(summed).var(axis=0).sum()
        assert spread[1] < 0.9 * spread[0]


def test_a_share_of_the_samples_leaves_cells_as_they_are() -> None:
    encoding = Encoding(build_tree("leduc"), strength=True)
    where, shape = encoding.on(torch.device("cpu")), encoding.shape(HIDDEN)
    one, two = random_networks(shape, 2, seed=9, size=0.3)
    both = (Evaluator(where, Network(shape, one[None])), Evaluator(where, Network(shape, two[None])))

    def found(share: float) -> Sampled:
        sampling = Sampling(holes=2, thin=0.5, public=True, table=4, share=share)
        return PublicTraversals(where, 1, sampling).run(0, COUNT, both, 1, np.random.SeedSequence(3))

    whole, part = found(1.0), found(0.1)
    assert len(part.advantages.key) < 0.15 * len(whole.advantages.key)
    for name in ("advantage_cells", "strategy_cells"):
        for some, other in zip(getattr(whole, name), getattr(part, name), strict=True):
            assert other.numpy() == pytest.approx(some.numpy(), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("walker", [0, 1])
def test_heads_are_solved_from_every_hole_and_street(walker: int) -> None:
    """In the iterations after `solve`: features of the walker's decisions, street by street, with the table's sums."""
    encoding, table = Encoding(build_tree("leduc"), strength=True), 2
    where, shape = encoding.on(torch.device("cpu")), encoding.shape(HIDDEN)
    one, two = random_networks(shape, 2, seed=9, size=0.3)
    both = (Evaluator(where, Network(shape, one[None])), Evaluator(where, Network(shape, two[None])))
    traversals = PublicTraversals(where, 1, Sampling(holes=ALL_HOLES, public=True, table=table, solve=5))
    assert traversals.run(walker, 40, both, 5, np.random.SeedSequence(3)).head_sums is None
    found = traversals.run(walker, 40, both, 6, np.random.SeedSequence(3))
    sums, cells = found.head_sums, found.advantage_cells
    assert sums is not None and cells is not None
    own = np.flatnonzero(encoding.tree.player[encoding.nodes] == walker)
    assert sums.weight.numpy() == pytest.approx(cells.weight[own].numpy(), rel=1e-4)
    assert sums.target.numpy() == pytest.approx(cells.target[own].numpy(), rel=1e-3, abs=1e-4)
    square = sums.square.diagonal(dim1=1, dim2=2).mean(dim=1).numpy()  # normalised features have a mean square of one
    assert square == pytest.approx(sums.weight.sum(dim=1).numpy(), rel=1e-2)
    network, first = both[walker], int(own[0])  # preflop, where the weighted mean of features needs no board
    keys = encoding.hands.of_board([])
    feature = network.features(network.hands(keys), torch.tensor([first]))[0]
    bucket = where.buckets_of(torch.from_numpy(keys.view(np.int64)), table)
    for number in range(table):
        mean = sums.feature[0, number] / sums.weight[0, number]
        low, high = feature[bucket == number].amin(dim=0), feature[bucket == number].amax(dim=0)
        assert ((mean >= low - 1e-3) & (mean <= high + 1e-3)).all()


def test_the_last_street_has_no_noise_and_the_first_less_than_external_sampling() -> None:
    """Flop hold'em, a new network: samples of one board do not depend on what is drawn, those of a hand little."""
    encoding = Encoding(build_tree("holdem.flop"))
    where, shape = encoding.on(torch.device("cpu")), encoding.shape(HIDDEN)
    uniform = Evaluator(where, Network(shape, shape.start(torch.Generator().manual_seed(1))[None]))
    spread = {}
    samplers = ((Traversals(where, 1, Sampling(32)), 1000), (PublicTraversals(where, 1, ALL), 40))
    for sampler, boards in samplers:
        found = sampler.run(1, boards, (uniform, uniform), 1, np.random.SeedSequence(4)).advantages
        first = found.take(found.node == 0)
        keys, place = np.unique(first.key, return_inverse=True)
        assert len(keys) == 169
        means = np.array([first.target[place == at].mean(axis=0) for at in range(169)])
        spread[sampler] = float(np.square(first.target - means[place]).mean())
    external, whole_ranges = spread.values()
    assert whole_ranges < 0.5 * external
    again = PublicTraversals(where, 1, ALL).run(1, 40, (uniform, uniform), 1, np.random.SeedSequence(4))
    late = again.advantages.take(encoding.tree.street[again.advantages.node] == 1)
    _, place = np.unique(np.stack([late.key, late.node.astype(np.uint64)]), axis=1, return_inverse=True)
    order = np.argsort(place, kind="stable")
    same = place[order][1:] == place[order][:-1]
    assert same.sum() > 100  # suits that are renamed: one hand, several holes of a board
    gaps = np.abs(late.target[order][1:] - late.target[order][:-1])[same]
    assert gaps.max() < 1e-4 < np.abs(late.target).mean()


def test_boards_leave_the_holes_that_they_do_not_block() -> None:
    rules = load_game("holdem.nolimit")
    encoding = Encoding(build_tree(rules, "pot"))
    deals = PublicTraversals(encoding.on(torch.device("cpu")), 1, ALL).boards.deal(np.random.SeedSequence(3), 5)
    assert deals.holes.shape == (5, 1081, 2)
    for board, holes, keys in zip(deals.board, deals.holes, deals.keys, strict=True):
        assert len(set(board.tolist())) == 5
        assert len({tuple(hole) for hole in holes.tolist()}) == 1081
        assert not np.isin(holes, board).any()
        for street, seen in enumerate((0, 3, 4, 5)):
            assert (keys[:, street] == HandKeys(rules).of_board(board[:seen].tolist(), holes)).all()
            assert all(len(cards_of_key(key)) == 2 + seen for key in keys[:20, street].tolist())
    hands = np.concatenate([deals.holes[0], np.broadcast_to(deals.board[0], (1081, 5))], axis=1)
    assert (deals.ranks[0, 0] == rules.ranker.ranks(np.ascontiguousarray(hands))).all()
    blocked = (deals.ranks == BLOCKED).mean(axis=(0, 2))
    assert blocked[0] == 0
    assert (np.diff(blocked[1:].reshape(3, -1).mean(axis=1)) > 0).all()  # turn, flop, preflop: more cards drawn again


def test_a_pot_before_the_last_street_is_worth_its_mean_over_boards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value of a pair of holes before any board, over many deals; a swapped pair has the opposite."""
    monkeypatch.setattr(public, "RUNOUTS", 4)
    encoding = Encoding(build_tree(small_games.NO_LIMIT, "pot"))
    traversals = PublicTraversals(encoding.on(torch.device("cpu")), 1, ALL)
    assert 0 in traversals.boards.early
    deals = traversals.boards.deal(np.random.SeedSequence(2), 4000)
    walk = traversals.walk(0, DealTensors.of(deals, torch.device("cpu")))
    walk._read_deals()
    won, last, meet = walk._won(0).numpy(), walk._won(encoding.tree.rules.rounds - 1).numpy(), walk.meet.numpy()
    expected: dict[tuple[int, ...], list[float]] = {}
    for deal in all_deals(encoding):
        sum_of = expected.setdefault(tuple(of_player[0] for of_player in deal.keys), [0.0, 0.0])
        sum_of[0] += deal.chance
        sum_of[1] += deal.chance * deal.outcome
    exact = {pair: total / chance for pair, (chance, total) in expected.items()}
    sums = {pair: np.zeros(4) for pair in exact}
    for board in range(len(won)):
        keys = deals.keys[board, :, 0].tolist()
        for theirs, mine in zip(*np.nonzero(meet[board]), strict=True):
            pair = keys[mine], keys[theirs]
            gaps = won[board, theirs, mine] - exact[pair], last[board, theirs, mine] - exact[pair]
            sums[pair] += (1, gaps[0], gaps[0] ** 2, gaps[1] ** 2)
    errors, opposite = [], []
    for pair, (count, gap, square, _) in sums.items():
        error = np.sqrt(max(square / count, 1e-6) / count * len(keys))  # pairs of a board are not independent
        errors.append(abs(gap / count) / error)
        opposite.append(abs(gap / count + 2 * exact[pair]) / error)
    assert max(errors) < 5 < max(opposite)
    spread, of_one_board = (sum(found[at] for found in sums.values()) for at in (2, 3))
    assert spread < 0.85 * of_one_board  # in so small a deck, most runouts are blocked


def test_a_seed_gives_the_same_bits_with_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "CPU_VALUES", 10_000)
    both, found = both_networks(encoded("leduc"), "leduc"), []
    for threads, seed in ((1, 1), (1, 1), (3, 1), (1, 2)):
        walk = walks("leduc", SAMPLINGS[0], threads)
        assert walk.chunk < 100
        found.append(walk.run(1, 200, both, 1, np.random.SeedSequence(seed)))
    first, *same, other = found
    for again in same:
        assert first.rows == again.rows
        assert all((a == b).all() for a, b in zip(first.advantages, again.advantages, strict=True))
        assert all((a == b).all() for a, b in zip(first.strategies, again.strategies, strict=True))
    assert not np.array_equal(first.advantages.key, other.advantages.key)


@pytest.mark.parametrize("game", ["kuhn", "leduc", "holdem.limit"])
def test_levels_are_slices_whose_parents_come_before(game: str) -> None:
    tree = build_tree(game)
    bounds = level_bounds(tree)
    assert [first for first, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
    assert bounds[-1][1] == len(tree)
    assert all((tree.parent[first:end] < first).all() for first, end in bounds)
    assert len(bounds) < 40
