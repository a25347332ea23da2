"""Slow twins of Deep CFR: networks asked for one hand at a time, and recursions over all deals of a small game."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

import naive
from equipoise import GameRules
from equipoise.deep.encoding import DeviceEncoding, Encoding
from equipoise.deep.fitting.reservoir import Samples
from equipoise.deep.hands import strength_map
from equipoise.deep.network import NetworkShape
from equipoise.deep.traversals.deals import Dealer
from equipoise.tree.betting_tree import DEAL, DECISION, FOLDED, BettingTree

F64: TypeAlias = npt.NDArray[np.float64]
InfoSet: TypeAlias = tuple[int, int]  # node, key of the hand
Found: TypeAlias = dict[InfoSet, F64]


# --- networks ------------------------------------------------------------------------------------------------------


def on_cpu(encoding: Encoding) -> DeviceEncoding:
    """An encoding where tests run."""
    return encoding.on(torch.device("cpu"))


def random_networks(shape: NetworkShape, count: int, seed: int, size: float = 1.0) -> torch.Tensor:
    """[network, parameter] networks that prefer some actions: those of `start` have an output of zero."""
    generator = torch.Generator().manual_seed(seed)
    networks = [shape.start(generator) for _ in range(count)]
    found = torch.stack([n + size / shape.hidden**0.5 * torch.randn(len(n), generator=generator) for n in networks])
    scale = found[:, shape.parameters :]
    scale.copy_(torch.exp(0.5 * torch.randn(scale.shape, generator=generator)))
    return found


def random_samples(encoding: Encoding, count: int, player: int) -> Samples:
    """Random information sets, each with targets that depend on its hand and node, and noise; three iterations."""
    rng = np.random.default_rng(4)
    dealt = Dealer(encoding.hands).deal(np.random.SeedSequence(4), 40).keys[:, player, 0]
    nodes = rng.choice(encoding.nodes[encoding.tree.player[encoding.nodes] == player], count)
    deal = rng.integers(40, size=count)
    means = np.random.default_rng(5).normal(size=(40, len(encoding.tree), encoding.actions))[deal, nodes]
    targets = (means + 0.1 * rng.normal(size=means.shape)) * encoding.legal[encoding.decision[nodes]]
    iterations = rng.integers(1, 4, count).astype(np.uint32)
    keys = dealt[deal, encoding.tree.street[nodes]]
    return Samples(keys, nodes.astype(np.int32), iterations, targets.astype(np.float32))


def cards_of_key(key: int) -> list[int]:
    """The cards of a key, hole first."""
    return [byte - 1 for byte in int(key).to_bytes(8, "little")[:7] if byte]


def strength_of(rules: GameRules, cards: Sequence[int]) -> int:
    """The strength of a hand, from 1 to 255: its percentile bucket."""
    return 1 + strength_map(rules).bucket(cards[: rules.hole_cards], cards[rules.hole_cards :])


def network_output(
    encoding: Encoding, shape: NetworkShape, network: torch.Tensor, cards: Sequence[int], decision: int, cut: str = "",
    with_trust: bool = False,
) -> torch.Tensor:  # fmt: skip
    """[action] the output for one hand at one decision; networks are trained without trust.

    IN: [parameter], cards hole first. The gradient does not pass a `cut`: what a wrong one would forget.
    """
    features = torch.from_numpy(encoding.features[decision]).double()
    names, deck = list(shape.parts), shape.rules.deck
    flat = torch.split(network, shape.sizes)
    w = {name: part.reshape(shape.parts[name]) for name, part in zip(names, flat, strict=True)}
    marks = deck.size + deck.ranks + deck.suits

    def kept(name: str, x: torch.Tensor) -> torch.Tensor:
        return x.detach() if name == cut else x

    def embedded(table: torch.Tensor, dealt: Sequence[int]) -> torch.Tensor:
        rows = [(card, deck.size + deck.rank(card), deck.size + deck.ranks + deck.suit(card)) for card in dealt]
        return sum((table[row] for row in itertools.chain(*rows)), torch.zeros_like(table[0]))

    def layer(name: str, x: torch.Tensor) -> torch.Tensor:
        return x @ w[name] + w[f"{name}_bias"]

    ends = [0, *itertools.accumulate(shape.rules.deals(shape.rules.rounds - 1))]
    deals = [cards[first:end] for first, end in itertools.pairwise(ends)]
    x = embedded(w["hole"], deals[0])
    if len(deals) > 1:
        tables = w["board"].reshape(len(deals) - 1, marks, shape.hidden)
        board = [embedded(table, dealt) for table, dealt in zip(tables, deals[1:], strict=True)]
        x = torch.cat([x, torch.stack(board).sum(dim=0)])
    if shape.strengths:
        knot = np.float32(strength_of(shape.rules, cards) - 1) * np.float32(15 / 254)
        hats = np.maximum(0, np.float32(1) - np.abs(knot - np.arange(16, dtype=np.float32)))
        x = torch.cat([x, torch.from_numpy(hats).to(x)])
    x = torch.relu(layer("card1", x))
    for name in ("card2", "card3"):
        x = torch.relu(layer(name, x) + kept(f"{name} skip", x))
    b = torch.relu(layer("bet1", features))
    b = torch.relu(layer("bet2", b) + kept("bet2 skip", b))
    j = torch.relu(layer("joint1_card", kept("cards", x)) + kept("betting", b) @ w["joint1_bet"])
    for name in ("joint2", "joint3"):
        j = torch.relu(layer(name, j) + kept(f"{name} skip", j))
    j = j - kept("mean", j.mean())
    j = j / kept("spread", (j.square().mean() + 1e-5).sqrt())
    out = layer("out", j)
    if shape.heads:
        out = out + kept("head", j) @ w["head"][decision] + w["head_bias"][decision]
    if shape.table:
        percentile = strength_of(shape.rules, cards) - 1  # of 255
        trust = w["trust"][decision] if with_trust else 1
        out = trust * out + w["table"][decision, percentile * shape.table // 255]
    return out


def scaled_output(
    encoding: Encoding, shape: NetworkShape, network: torch.Tensor, cards: Sequence[int], decision: int
) -> torch.Tensor:
    """[action] the output for one hand at one decision, in its units."""
    first = shape.parameters
    scale = network[first : first + shape.decisions * shape.actions].reshape(-1, shape.actions)[decision]
    return scale * network_output(encoding, shape, network, cards, decision, with_trust=True)


def legal_softmax(outputs: torch.Tensor, actions: int) -> torch.Tensor:
    """[action] a softmax over the first actions, zero for the others."""
    weights = torch.exp(outputs[:actions] - outputs[:actions].max().detach())
    return torch.cat([weights / weights.sum(), torch.zeros_like(outputs[actions:])])


def regret_matched(outputs: Sequence[float]) -> F64:
    """Regret matching on outputs for legal actions; the highest if none is positive."""
    positive = np.maximum(outputs, 0.0)
    best = (np.asarray(outputs) == np.max(outputs)).astype(np.float64)
    return positive / positive.sum() if positive.any() else best / best.sum()


class NetworkStrategy:
    """The strategy of one network, asked for one information set at a time."""

    def __init__(self, encoding: Encoding, network: torch.Tensor, hidden: int, is_strategy: bool = False) -> None:
        self.encoding, self.network, self.is_strategy = encoding, network.double(), is_strategy
        self.shape = encoding.shape(hidden)
        self.known: Found = {}

    def __call__(self, node: int, key: int) -> F64:
        if (node, key) not in self.known:
            decision = int(self.encoding.decision[node])
            output = scaled_output(self.encoding, self.shape, self.network, cards_of_key(key), decision)
            actions = int(self.encoding.tree.num_children[node])
            answer = legal_softmax(output, actions) if self.is_strategy else output
            numbers = answer[:actions].numpy()
            self.known[node, key] = numbers if self.is_strategy else regret_matched(numbers)
        return self.known[node, key]


Strategy: TypeAlias = Callable[[int, int], Any]  # node, key -> [action]


# --- deals ---------------------------------------------------------------------------------------------------------


class Deal(NamedTuple):
    """All cards of a hand as keys by player and street, who wins, and its chance."""

    keys: tuple[tuple[int, ...], tuple[int, ...]]
    outcome: int  # 1 if player 0 wins at a showdown
    chance: float


def all_deals(encoding: Encoding, blockers: bool = True) -> list[Deal]:
    """Every deal of a game of few cards; without blockers, as if both players could hold the same card."""
    rules = encoding.tree.rules
    dealt = list(_dealt(rules, blockers))
    by_player = []
    for player in range(2):
        cards = np.array([(*deal[player], *deal[2]) for deal in dealt], np.uint8)
        keys = [encoding.hands.of_hands(cards, street).tolist() for street in range(rules.rounds)]
        by_player.append((list(zip(*keys, strict=True)), [_strength(rules, hand) for hand in cards.tolist()]))
    (keys_0, strength_0), (keys_1, strength_1) = by_player
    outcomes = [(a > b) - (a < b) for a, b in zip(strength_0, strength_1, strict=True)]
    keys = zip(keys_0, keys_1, strict=True)
    return [Deal(both, outcome, 1 / len(dealt)) for both, outcome in zip(keys, outcomes, strict=True)]


def _dealt(rules: GameRules, blockers: bool) -> Iterator[tuple[naive.Cards, naive.Cards, naive.Cards]]:
    hole, *board = rules.deals(rules.rounds - 1)
    for cards in naive.all_deals((hole, *board), rules.deck):
        left = [card for card in range(rules.deck.size) if card not in (cards if blockers else cards[hole:])]
        for theirs in itertools.combinations(left, hole):
            yield cards[:hole], theirs, cards[hole:]


def _strength(rules: GameRules, cards: Sequence[int]) -> Any:
    return naive.rank_seven(cards, rules.deck) if len(cards) > 5 else naive.rank_five(cards, rules.deck)


def _payoff(tree: BettingTree, node: int, walker: int, outcome: int) -> float:
    """What the walker wins at a terminal node, in big blinds."""
    if tree.kind[node] == FOLDED:
        folder = int(tree.player[node])
        chips = int(tree.chips[node, folder]) * (-1 if folder == walker else 1)
    else:
        chips = int(tree.chips[node].min()) * outcome * (1 - 2 * walker)
    return chips / tree.rules.big_blind


# --- recursions ----------------------------------------------------------------------------------------------------


def regrets(
    tree: BettingTree, walker: int, deals: Sequence[Deal], strategies: Sequence[Strategy], opponent_reach: bool = True
) -> tuple[Found, float]:
    """The counterfactual regrets of the walker (weighed by the reach of its opponent and the deal), and its value."""
    found: Found = defaultdict(lambda: np.zeros(0))

    def visit(node: int, deal: Deal, reach: float) -> Any:
        children = tree.children(node)
        if tree.kind[node] == DEAL:
            return visit(children[0], deal, reach)
        if tree.kind[node] != DECISION:
            return _payoff(tree, node, walker, deal.outcome)
        player = int(tree.player[node])
        key = deal.keys[player][tree.street[node]]
        chances = strategies[player](node, key)
        if player != walker:
            passed = chances if opponent_reach else np.ones(len(chances))
            return sum(p * visit(child, deal, reach * q) for p, q, child in zip(chances, passed, children, strict=True))
        values = np.array([visit(child, deal, reach) for child in children])
        mean = chances @ values
        gains = deal.chance * reach * (values - mean)
        found[node, key] = found[node, key] + gains if (node, key) in found else gains
        return mean

    value = sum(deal.chance * visit(0, deal, 1.0) for deal in deals)
    return found, float(value)


def visits(tree: BettingTree, player: int, deals: Sequence[Deal], strategy: Strategy) -> dict[InfoSet, float]:
    """The chance that a player comes to each of its information sets if its opponent takes every action."""
    found: dict[InfoSet, float] = defaultdict(float)

    def visit(node: int, deal: Deal, reach: float) -> None:
        if tree.kind[node] not in (DEAL, DECISION):
            return
        children = tree.children(node)
        chances: Any = np.ones(len(children))
        if tree.kind[node] == DECISION and tree.player[node] == player:
            key = deal.keys[player][tree.street[node]]
            found[node, key] += deal.chance * reach
            chances = strategy(node, key)
        for chance, child in zip(chances, children, strict=True):
            visit(child, deal, reach * chance)

    for deal in deals:
        visit(0, deal, 1.0)
    return found


def average_strategy(
    tree: BettingTree,
    player: int,
    deals: Sequence[Deal],
    strategies: Sequence[Strategy],
    weights: Sequence[float],
    by_reach: bool = True,
) -> Found:
    """The average of strategies, each weighed by its weight and its own reach (Steinberger 2019, equation 6)."""
    found: Found = {}

    def visit(node: int, deal: Deal, reach: F64) -> None:
        if tree.kind[node] not in (DEAL, DECISION):
            return
        children = tree.children(node)
        chances = np.ones((len(strategies), len(children)))
        if tree.kind[node] == DECISION and tree.player[node] == player:
            key = deal.keys[player][tree.street[node]]
            chances = np.array([strategy(node, key) for strategy in strategies])
            share = np.asarray(weights) * (reach if by_reach else 1.0)
            share = share if share.any() else np.asarray(weights)
            found[node, key] = share @ chances / share.sum()
        for action, child in enumerate(children):
            visit(child, deal, reach * chances[:, action])

    for deal in deals:
        visit(0, deal, np.ones(len(strategies)))
    return found


# --- random numbers ------------------------------------------------------------------------------------------------


def random_words(state: int) -> Iterator[int]:
    """The words of xorshift64* (Vigna 2016)."""
    while True:
        state ^= state >> 12
        state ^= (state << 25) % 2**64
        state ^= state >> 27
        yield state * 0x2545F4914F6CDD1D % 2**64
