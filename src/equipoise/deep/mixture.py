"""The strategy of trained networks: probabilities of a player at decisions, for all hands of a street at once.

An average-strategy network (deep-cfr) answers by itself. The networks of all iterations (sd-cfr) play as if one of them
were drawn for the hand, network m with weight w_m. For an observer, that is the trajectory-weighted average

    p(a | I) = sum_m w_m reach_m(I) p_m(a | I) / sum_m w_m reach_m(I)

where reach_m(I) is the probability of the player's own earlier actions under network m (Steinberger 2019, equation 6).
It is computed exactly: reaches go down the tree, street by street.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.jit import F32, I64, U8, U64
from equipoise.deep.encoding import DeviceEncoding, Evaluator, Hands
from equipoise.deep.fused import BLOCK, FusedPlay, can_fuse
from equipoise.deep.network import Network, NetworkShape, Tensor, matched, soft
from equipoise.games.rules import PLAYERS
from equipoise.tree.betting_tree import DEAL, DECISION, BettingTree
from equipoise.tree.infosets import SlotLayout

CPU_ROWS, CUDA_ROWS = 1 << 15, 1 << 22  # pairs of a hand and a decision per call
MOST_KEPT = 1 << 24  # numbers of hands that are kept, for play
START = -1  # a decision without an earlier one of the same player on its street


class StreetPlan(NamedTuple):
    """The decisions of one player on one street, and how reach gets from one to the next."""

    nodes: I64  # [own decision]
    before: I64  # [own decision] the player's last decision before it on this street, or START
    action: I64  # [own decision] the action taken there
    entry: I64  # [own decision] the street's entry above it
    exit_before: I64  # [entry of the next street] the player's last decision on this street, or START
    exit_action: I64
    exit_entry: I64


def street_plan(tree: BettingTree, player: int, street: int) -> StreetPlan:
    """The plan of a player's decisions on a street."""
    entries = {int(node): at for at, node in enumerate(tree.entries[street])}
    own: list[int] = []
    link: dict[int, tuple[int, int, int]] = {}  # by node: last own decision, its action, entry
    exits: list[tuple[int, int, int]] = []
    number: dict[int, int] = {}
    for node in range(int(tree.street_first[street]), int(tree.street_first[street + 1])):
        above = int(tree.parent[node])
        if node in entries:
            link[node] = (START, 0, entries[node])
        elif above in number:
            link[node] = (number[above], node - int(tree.first_child[above]), link[above][2])
        else:
            link[node] = link[above]
        if tree.kind[node] == DECISION and tree.player[node] == player:
            number[node] = len(own)
            own.append(node)
        elif tree.kind[node] == DEAL:
            exits.append(link[node])
    columns = np.array([link[node] for node in own], np.int64).reshape(-1, 3).T
    after = np.array(exits, np.int64).reshape(-1, 3).T
    return StreetPlan(np.array(own, np.int64), *columns, *after)


class StreetAnswer(NamedTuple):
    """Some decisions of a street: their positions in its plan, and the probabilities of every hand."""

    decisions: Any  # int64[chunk]
    chances: Tensor  # [chunk, hand, action]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Networks of both players with weights: [player][network, parameter]. `is_strategy`: outputs pass a softmax."""

    where: DeviceEncoding
    shape: NetworkShape
    parameters: tuple[Tensor, Tensor]
    weights: F32  # [network]
    is_strategy: bool = False
    _kept: dict[tuple[Any, ...], tuple[Hands, Tensor]] = field(default_factory=dict)  # hands of the latest boards

    @property
    def count(self) -> int:
        """The number of networks of a player."""
        return len(self.weights)

    def on(self, device: str) -> Mixture:
        """The same networks on another device. Processes that are forked cannot use a GPU of their parent."""
        target = torch.device(device)
        if self.where.device == target:
            return self
        one, two = (parameters.to(target) for parameters in self.parameters)
        return Mixture(self.where.encoding.on(target), self.shape, (one, two), self.weights, self.is_strategy)

    @cached_property
    def evaluators(self) -> tuple[Evaluator, Evaluator]:
        """One for each player."""
        one, two = (Evaluator(self.where, Network(self.shape, parameters)) for parameters in self.parameters)
        return one, two

    @cached_property
    def fused(self) -> tuple[list[FusedPlay], ...]:
        """[player][network] the kernels of networks on a GPU; none where there is no kernel."""
        if not all(can_fuse(evaluator) for evaluator in self.evaluators):
            return ()
        return tuple(
            [FusedPlay(evaluator, self.is_strategy, number) for number in range(self.count)]
            for evaluator in self.evaluators
        )

    @cached_property
    def _shares(self) -> Tensor:
        """[network] weights that sum to one."""
        weights = np.asarray(self.weights, np.float64)
        return torch.from_numpy((weights / weights.sum()).astype(np.float32)).to(self.where.device)

    @cached_property
    def plans(self) -> tuple[tuple[StreetPlan, ...], ...]:
        """[player][street]."""
        tree = self.where.encoding.tree
        return tuple(
            tuple(street_plan(tree, player, street) for street in range(tree.rules.rounds)) for player in range(PLAYERS)
        )

    def _play(self, outputs: Tensor, decision: Tensor) -> Tensor:
        """Probabilities from outputs, [network, decision, hand, action]."""
        legal = self.where.legal[decision].unsqueeze(1)
        return soft(outputs, legal) if self.is_strategy else matched(outputs, legal)

    def _average(self, chances: Tensor, reach: Tensor) -> Tensor:
        """The weighted average over networks, [..., action]. IN: [network, ..., action], [network, ...]."""
        shares = self._shares.reshape(-1, *(1,) * (reach.dim() - 1))
        weight = shares * reach
        total = weight.sum(dim=0)
        weight = torch.where(total > 0, weight, shares)  # where no network comes, as if all did
        return (weight.unsqueeze(-1) * chances).sum(dim=0) / weight.sum(dim=0).unsqueeze(-1)

    @torch.inference_mode()
    def street(self, player: int, street: int, keys: U64, reach: Tensor | None) -> StreetWalk:
        """A player's answers on a street for some hands. `reach`: [network, entry, hand], None with one network."""
        return StreetWalk(self, player, street, keys, reach)

    @torch.inference_mode()
    def profile(self, layout: SlotLayout) -> F32:
        """[slot] the strategy as a table, for a layout with a bucket for every hand."""
        rules = layout.tree.rules
        table = np.zeros(layout.slots, np.float32)
        for player in range(PLAYERS):
            reach: Tensor | None = None
            for street in range(rules.rounds):
                indexer = HandIndexer(rules.deals(street), rules.deck)
                hands = indexer.hands(np.arange(indexer.size))
                if reach is not None:
                    before = HandIndexer(rules.deals(street - 1), rules.deck)
                    place = before.indices(np.ascontiguousarray(hands[:, : sum(rules.deals(street - 1))]))
                    reach = reach.index_select(2, self.where.index(place.astype(np.int64)))
                walk = self.street(player, street, self.where.encoding.hands.of_hands(hands, street), reach)
                for answer in walk:
                    for at, rows in zip(answer.decisions, answer.chances.cpu().numpy(), strict=True):
                        node = int(walk.plan.nodes[at])
                        target = layout.at(table, node)
                        target[:] = rows[:, : target.shape[1]]
                reach = walk.exits
        return table

    @torch.inference_mode()
    def rows(self, node: int, board: Sequence[int], holes: U8) -> F32:
        """[hole, action] the probabilities of some holes at one decision; blocked holes are unset. For play."""
        torch.set_num_threads(1)  # rows are few, and a process forked from one that has used more would wait for ever
        tree, player = self.where.encoding.tree, int(self.where.encoding.tree.player[node])
        reach = torch.ones((self.count, len(holes)), device=self.where.device)
        for above, action in _own_path(tree, node) if self.count > 1 else ():
            reach = reach * self._answer(player, above, board, holes)[..., action]
        found: F32 = self._average(self._answer(player, node, board, holes), reach).cpu().numpy()
        return found[:, : int(tree.num_children[node])]

    def _answer(self, player: int, node: int, board: Sequence[int], holes: U8) -> Tensor:
        """[network, hole, action] at one decision."""
        encoding, decision = self.where.encoding, self.where.index(self.where.encoding.decision[[node]])
        seen = encoding.tree.rules.board_size(int(encoding.tree.street[node]))
        hands, place = self._hands(player, tuple(board[:seen]), holes)
        outputs = self.evaluators[player].grid(hands, decision)
        return self._play(outputs, decision)[:, 0].index_select(1, place)

    def _hands(self, player: int, board: tuple[int, ...], holes: U8) -> tuple[Hands, Tensor]:
        """The card part of holes on a board, and where each hole has its own; the latest are kept."""
        key = (player, board, holes.tobytes())
        if (found := self._kept.get(key)) is None:
            keys, place = np.unique(self.where.encoding.hands.of_board(board, holes), return_inverse=True)
            found = self.evaluators[player].hands(keys), self.where.index(place)
            if (len(self._kept) + 1) * found[0].cards.numel() > MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found


def _own_path(tree: BettingTree, node: int) -> list[tuple[int, int]]:
    """The earlier decisions of the player at a node, and the actions it took."""
    player, found = tree.player[node], []
    while node > 0:
        above = int(tree.parent[node])
        if tree.kind[above] == DECISION and tree.player[above] == player:
            found.append((above, node - int(tree.first_child[above])))
        node = above
    return found


class StreetWalk:
    """Iterates over the answers of one street, top down; then `exits` has the reach at the next street's entries."""

    def __init__(self, mixture: Mixture, player: int, street: int, keys: U64, reach: Tensor | None) -> None:
        self.mixture, self.player, self.keys = mixture, player, keys
        self.plan = mixture.plans[player][street]
        where, tree = mixture.where, mixture.where.encoding.tree
        self.exits: Tensor | None = None
        if mixture.count > 1:
            shape = (mixture.count, len(tree.entries[street]), len(keys))
            self.entry_reach = torch.ones(shape, device=where.device) if reach is None else reach
            self.exits = torch.ones((mixture.count, len(self.plan.exit_entry), len(keys)), device=where.device)
            straight = np.flatnonzero(self.plan.exit_before == START)
            self.exits[:, where.index(straight)] = self.entry_reach[:, where.index(self.plan.exit_entry[straight])]

    @torch.inference_mode()
    def __iter__(self) -> Iterator[StreetAnswer]:
        mixture, plan, where = self.mixture, self.plan, self.mixture.where
        evaluator = mixture.evaluators[self.player]
        hands = evaluator.hands(self.keys)
        if self.exits is not None:
            self.reach = self.entry_reach[:, where.index(plan.entry)]  # [network, own decision, hand]
        rows = CPU_ROWS if where.device.type == "cpu" else CUDA_ROWS
        size = max(1, rows // max(1, mixture.count * len(self.keys)))
        first = 0
        while first < len(plan.nodes):
            chunk = np.arange(first, self._end(first, size))
            decision = where.index(where.encoding.decision[plan.nodes[chunk]])
            if len(self.keys) >= BLOCK and mixture.fused:
                chances = torch.stack([one.answers(hands, decision) for one in mixture.fused[self.player]])
            else:
                chances = mixture._play(evaluator.grid(hands, decision), decision)
            if self.exits is None:
                yield StreetAnswer(chunk, chances[0])
            else:
                self._pass_reach(chunk, chances)
                yield StreetAnswer(chunk, mixture._average(chances, self.reach[:, first : first + len(chunk)]))
            first += len(chunk)

    @torch.inference_mode()
    def write(self, hand: Any, table: Any) -> None:
        """The answers as rows of legal actions, [row, place], decision by decision. IN: int64[place] the hand there;
        OUT: float[...] flat, from its start.
        """
        where, gather, at = self.mixture.where, self.mixture.where.index(hand), 0
        legal = where.encoding.legal[where.encoding.decision[self.plan.nodes]]
        for answer in self:
            chosen = where.index(np.flatnonzero(legal[answer.decisions].ravel()))
            by_action = answer.chances.index_select(1, gather).permute(0, 2, 1).flatten(0, 1)
            rows = by_action.index_select(0, chosen).flatten()
            torch.from_numpy(table[at : at + len(rows)]).copy_(rows)
            at += len(rows)

    def _end(self, first: int, size: int) -> int:
        """The end of a chunk: with reaches, before a decision that follows one of the same chunk."""
        end = min(first + size, len(self.plan.nodes))
        if self.exits is not None:
            late = np.flatnonzero(self.plan.before[first:end] >= first)
            end = first + int(late[0]) if len(late) else end
        return end

    def _pass_reach(self, chunk: Any, chances: Tensor) -> None:
        """Multiply the reach of what follows the decisions of a chunk by the probability of the action taken."""
        where, first, plan = self.mixture.where, int(chunk[0]), self.plan
        assert self.exits is not None
        for before, action, target in (
            (plan.before, plan.action, self.reach), (plan.exit_before, plan.exit_action, self.exits)
        ):  # fmt: skip
            after = np.flatnonzero((before >= first) & (before <= int(chunk[-1])))
            if len(after):
                above, taken = where.index(before[after]), where.index(action[after])
                chosen = chances.index_select(1, above - first)  # [network, after, hand, action]
                pick = taken.reshape(1, -1, 1, 1).expand(*chosen.shape[:3], 1)
                target[:, where.index(after)] = self.reach.index_select(1, above) * chosen.gather(3, pick)[..., 0]
