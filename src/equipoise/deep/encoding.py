"""A game as networks see it: the decisions of a betting tree as rows of features, hands as keys, legal actions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from equipoise.core.jit import F32, I32, U64
from equipoise.deep.betting_features import betting_features
from equipoise.deep.hands import KNOTS, STRENGTH_SHIFT, HandKeys
from equipoise.deep.network import Network, NetworkShape, Tensor, split_rows
from equipoise.runs.network_size import STRENGTHS, exact_streets
from equipoise.tree.betting_tree import DECISION, BettingTree


@dataclass(frozen=True, eq=False)
class Encoding:
    """The decisions and hands of a tree, as arrays. A *decision* is the number of a decision node, in their order."""

    tree: BettingTree
    strength: bool = False  # whether networks are told the strength of hands

    @cached_property
    def hands(self) -> HandKeys:
        return HandKeys(self.tree.rules, self.strength)

    @cached_property
    def nodes(self) -> Any:
        """[decision] its node."""
        return np.flatnonzero(self.tree.kind == DECISION)

    @cached_property
    def decision(self) -> I32:
        """[node] its decision, -1 elsewhere."""
        found = np.full(len(self.tree), -1, np.int32)
        found[self.nodes] = np.arange(len(self.nodes))
        return found

    @cached_property
    def features(self) -> F32:
        """[decision, feature]."""
        return np.ascontiguousarray(betting_features(self.tree)[self.nodes])

    @cached_property
    def actions(self) -> int:
        """The largest number of actions of a decision."""
        return int(self.tree.num_children[self.nodes].max())

    @cached_property
    def legal(self) -> Any:
        """bool[decision, action]."""
        return np.arange(self.actions) < self.tree.num_children[self.nodes][:, np.newaxis]

    def shape(self, hidden: int, heads: bool = False, table: int = 0) -> NetworkShape:
        """The network for this game."""
        return NetworkShape(self.hands, self.features.shape[1], self.actions, len(self.nodes), hidden, heads, table)

    def on(self, device: torch.device) -> DeviceEncoding:
        """Its constant arrays on a device."""
        return DeviceEncoding(self, torch.from_numpy(self.features).to(device), torch.from_numpy(self.legal).to(device))


@dataclass(frozen=True, eq=False)
class DeviceEncoding:
    """The features and legal actions of all decisions, on a device."""

    encoding: Encoding
    features: Tensor  # [decision, feature]
    legal: Tensor  # bool[decision, action]

    @property
    def device(self) -> torch.device:
        return self.features.device

    def index(self, numbers: Any) -> Tensor:
        """Numbers as an index on the device."""
        return torch.from_numpy(np.ascontiguousarray(numbers, np.int64)).to(self.device)

    def multi_hot(self, keys: U64) -> Tensor:
        """Hands as network input, [hand, input]."""
        if self.device.type != "cpu":
            return self.multi_hot_of(torch.from_numpy(keys.view(np.int64)).to(self.device))
        return torch.from_numpy(self.encoding.hands.multi_hot(keys))

    def multi_hot_of(self, keys: Tensor) -> Tensor:
        """The same from keys on the device, int64[hand]."""
        cards = (keys[:, None] >> self._shifts) & 255  # 0: not yet dealt
        size, hands = self.encoding.tree.rules.deck.size, self.encoding.hands
        place = torch.where(cards > 0, self._deals * size + cards - 1, hands.inputs)
        found = torch.zeros((len(keys), hands.inputs + 1), device=keys.device).scatter_(1, place, 1.0)
        if hands.strength:
            strength = (keys[:, None] >> STRENGTH_SHIFT) & STRENGTHS
            knot = (strength - 1) * ((KNOTS - 1) / (STRENGTHS - 1))
            found[:, -KNOTS - 1 : -1] = (1 - (knot - self._knots).abs()).clamp_min(0) * (strength > 0)
        return found[:, :-1]

    def buckets_of(self, keys: Tensor, buckets: int) -> Tensor:
        """The percentile buckets of keys on the device, int64[hand]; a key without a strength is in the first.

        Empty if there are no buckets.
        """
        if not buckets:
            return keys[:0]
        strength = (keys >> STRENGTH_SHIFT) & STRENGTHS
        return (strength - 1).clamp_min(0) * buckets // STRENGTHS

    @cached_property
    def street_of_decision(self) -> Tensor:
        """[decision]."""
        return self.index(self.encoding.tree.street[self.encoding.nodes])

    def has_rest(self, table: int) -> Tensor:
        """float[decision, 1] whether a table leaves something to learn: 0 where it has a bucket for every hand.

        IN: the number of its buckets.
        """
        streets = self.encoding.tree.street[self.encoding.nodes]
        exact = np.isin(streets, exact_streets(self.encoding.tree.rules, table))
        return torch.from_numpy((~exact).astype(np.float32)[:, np.newaxis]).to(self.device)

    @cached_property
    def _knots(self) -> Tensor:
        return torch.arange(KNOTS, device=self.device)

    @cached_property
    def _shifts(self) -> Tensor:
        """[card of a hand] where a key has it."""
        return 8 * torch.arange(self.encoding.tree.rules.hand_cards, device=self.device)

    @cached_property
    def _deals(self) -> Tensor:
        """[card of a hand] the deal it belongs to."""
        return torch.from_numpy(self.encoding.hands.plan.deal.astype(np.int64)).to(self.device)


class Hands(NamedTuple):
    """What the layers of cards say of some hands."""

    cards: Tensor  # [network, hand, hidden] their part in the first combined layer
    bucket: Tensor  # [hand] percentile bucket in the table; empty if there is no table


class Evaluator:
    """A stack of networks that answers for hands at decisions; no gradients."""

    def __init__(self, where: DeviceEncoding, network: Network) -> None:
        self.where, self.network = where, network
        with torch.inference_mode():
            self.betting = self.network.betting(where.features)  # [network, decision, hidden]

    def hands(self, keys: U64) -> Hands:
        """Hands for `rows` and `grid`."""
        return self.hands_of(torch.from_numpy(keys.view(np.int64)).to(self.where.device), self.where.multi_hot(keys))

    @torch.inference_mode()
    def hands_of(self, keys: Tensor, multi_hot: Tensor) -> Hands:
        """The same from keys on the device and their input."""
        return Hands(self.network.cards(multi_hot), self.where.buckets_of(keys, self.network.shape.table))

    @torch.inference_mode()
    def rows(self, hands: Hands, hand: Tensor, decision: Tensor) -> Tensor:
        """[network, row, hole, action] outputs for rows of holes at one decision each.

        IN: `hands`, index [row, hole] into them, index [row] of decisions.
        """
        x = split_rows(hands.cards.index_select(1, hand.flatten()), len(hand))
        x += self.betting.index_select(1, decision).unsqueeze(2)
        return self._finished(self.network.joint(x, decision), decision, hands, hand)

    @torch.inference_mode()
    def features(self, hands: Hands, decision: Tensor) -> Tensor:
        """[decision, hand, hidden] what the output layers of one network read, for all hands at some decisions."""
        chosen = self.betting.index_select(1, decision)
        return self.network.features(chosen.unsqueeze(2) + hands.cards.unsqueeze(1))[0]

    @torch.inference_mode()
    def grid(self, hands: Hands, decision: Tensor) -> Tensor:
        """[network, decision, hand, action] outputs of all hands at some decisions, in the precision of `hands`."""
        chosen = self.betting.index_select(1, decision).to(hands.cards.dtype)
        x = chosen.unsqueeze(2) + hands.cards.unsqueeze(1)
        return self._finished(self.network.joint(x, decision), decision, hands, slice(None))

    def _finished(self, out: Tensor, decision: Tensor, hands: Hands, hand: Tensor | slice) -> Tensor:
        """Outputs beside the table, in the units of their decisions, [network, decision, hand, action].

        IN: outputs, decisions, hands, and which of them: at each decision, or at all.
        """
        if self.network.shape.table:
            out *= self._of("trust", decision)
            out += self.network.part["table"][:, decision.unsqueeze(1), hands.bucket[hand]]
        return out.mul_(self._of("scale", decision))

    def _of(self, name: str, decision: Tensor) -> Tensor:
        """A constant of decisions, [network, decision, 1, action]. (On a CPU, index_select would first copy a part.)"""
        return self.network.part[name][:, decision].unsqueeze(2)
