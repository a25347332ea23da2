"""The network of Deep CFR: cards and betting in, one number for each action out.

(Brown and others 2019, figure 1; the sizes of Chitsazan and others 2020.) With `hidden` = 64: the hole and the board
are embedded in 64 numbers each (a card is the sum of its rank, its suit and itself; each deal of the board has its own
embedding), three card layers of 192, two betting layers of 64, three combined layers of 64, normalised output.

Beyond the paper, each decision may have an output layer of its own, a *head*, that is added to the shared one: one
layer for all decisions of a large tree is where a network runs out of room first. And what a network gives may be added
to a *table* of the mean of all samples by decision and percentile bucket of the hand (`fitting/memory.py`). A table has
no error of its own there, and the network learns what is left. It is multiplied by the *trust* in it: how much of its
answers samples bear out that it was not trained on (`fitting/trust.py`).

What a network gives is multiplied by the *scale* of the decision and the action, a constant that is set before a
training (`fitting/memory.py`): pots of two and of two hundred big blinds are learnt with the same relative precision.

A network is one flat vector, and every function here takes a stack of them, [network, parameter]: a snapshot is a copy,
a checkpoint an array, and the networks of all iterations answer in one call. The first combined layer is a sum of a
part that depends on the cards and one that depends on the betting. So the card layers run once per hand and the betting
layers once per node; only two layers and the output run for every pair of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
import torch

from equipoise.core.jit import F32
from equipoise.deep.hands import KNOTS, HandKeys
from equipoise.games.rules import GameRules

Tensor = torch.Tensor
CARD_WIDTH = 3  # width of the card layers, as a multiple of the others
LEAST_SPREAD = 1e-5
MOST_PARAMETER = 1e9  # in a file: products of such numbers are finite, layer by layer
CONSTANTS = ("scale", "trust", "table")  # parts that are set, not learnt: the last of the flat vector


@dataclass(frozen=True, eq=False)
class NetworkShape:
    """The sizes of a network: what it reads, how wide it is, and how many actions it answers for."""

    hands: HandKeys
    features: int  # of the betting
    actions: int
    decisions: int
    hidden: int = 64
    heads: bool = False  # whether each decision has an output layer of its own, added to the shared one
    table: int = 0  # percentile buckets of the table that outputs are added to; 0: no table

    @cached_property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """The shape of each part of the flat vector. Biases end in `_bias`."""
        wide, narrow = CARD_WIDTH * self.hidden, self.hidden
        marks, boards = self.card_marks.shape[1], self.hands.deals - 1
        shapes: dict[str, tuple[int, ...]] = {"hole": (marks, narrow)}
        if boards:
            shapes["board"] = (boards * marks, narrow)
        layers = {
            "card1": (narrow * (2 if boards else 1) + self.strengths, wide),
            "card2": (wide, wide),
            "card3": (wide, wide),
            "bet1": (self.features, narrow),
            "bet2": (narrow, narrow),
            "joint1_card": (wide, narrow),
            "joint1_bet": (narrow, narrow),
            "joint2": (narrow, narrow),
            "joint3": (narrow, narrow),
            "out": (narrow, self.actions),
        }
        for name, shape in layers.items():
            shapes[name] = shape
            if name != "joint1_bet":  # the bias of that layer is with its other half
                shapes[f"{name}_bias"] = (shape[1],)
        if self.heads:
            shapes["head"] = (self.decisions, narrow, self.actions)
            shapes["head_bias"] = (self.decisions, self.actions)
        shapes["scale"] = (self.decisions, self.actions)
        if self.table:
            shapes["trust"] = (self.decisions, self.actions)
            shapes["table"] = (self.decisions, self.table, self.actions)
        return shapes

    @property
    def rules(self) -> GameRules:
        """Of the game."""
        return self.hands.rules

    @property
    def strengths(self) -> int:
        """Inputs for the strength of a hand."""
        return KNOTS if self.hands.strength else 0

    @property
    def sizes(self) -> list[int]:
        """The number of parameters of each part."""
        return [int(np.prod(shape)) for shape in self.parts.values()]

    @property
    def length(self) -> int:
        """The length of the flat vector: what a network learns, then its scales, the trust in it and its table."""
        return sum(self.sizes)

    @property
    def parameters(self) -> int:
        """How many numbers a network learns: the first ones of the flat vector."""
        return sum(size for name, size in zip(self.parts, self.sizes, strict=True) if name not in CONSTANTS)

    def start(self, generator: torch.Generator) -> Tensor:
        """A new network, [parameter]: uniform in ± 1/sqrt(inputs), and an output of zero for everything."""
        drawn: list[Tensor] = []
        inputs = 1
        for name, shape in self.parts.items():
            if name in CONSTANTS:
                drawn.append(torch.full(shape, float(name != "table")).reshape(-1))
                continue
            if not name.endswith("_bias"):
                inputs = self._inputs(name, shape)
            scale = 0.0 if name.startswith(("out", "head")) else 1 / sqrt(inputs)
            drawn.append(scale * (2 * torch.rand(shape, generator=generator).reshape(-1) - 1))
        return torch.cat(drawn)

    def _inputs(self, name: str, shape: tuple[int, ...]) -> int:
        if name in ("hole", "board"):
            return 3 * self.rules.hole_cards  # a card is three inputs: itself, its rank and its suit
        if name.startswith("joint1"):
            return (CARD_WIDTH + 1) * self.hidden
        return shape[0]

    @cached_property
    def card_marks(self) -> F32:
        """[card, mark] what a card is the sum of: itself, its rank, its suit."""
        deck = self.rules.deck
        cards = np.arange(deck.size)
        parts = [np.eye(deck.size), np.eye(deck.ranks)[cards // deck.suits], np.eye(deck.suits)[cards % deck.suits]]
        return np.concatenate(parts, axis=1).astype(np.float32)


class Network:
    """A stack of networks, [network, parameter], on a device; differentiable in the parameters."""

    def __init__(self, shape: NetworkShape, parameters: Tensor) -> None:
        self.shape, self.parameters = shape, parameters
        pieces = torch.split(parameters, shape.sizes, dim=-1)
        self.part = {
            name: piece.reshape(piece.shape[:-1] + size)
            for (name, size), piece in zip(shape.parts.items(), pieces, strict=True)
        }
        self.marks = torch.from_numpy(shape.card_marks).to(parameters.device)

    def _layer(self, name: str, x: Tensor) -> Tensor:
        """[network, row, out]; the input may be shared by all networks, [row, in]."""
        bias = self.part[f"{name}_bias"].unsqueeze(-2)
        return torch.baddbmm(bias, x, self.part[name]) if x.dim() == 3 else torch.matmul(x, self.part[name]) + bias

    def cards(self, multi_hot: Tensor) -> Tensor:
        """[network, hand, hidden] the part of the hands in the first combined layer. IN: float[hand, input]."""
        deck, boards = self.shape.rules.deck.size, self.shape.hands.deals - 1
        parts = [torch.matmul(multi_hot[:, :deck], torch.matmul(self.marks, self.part["hole"]))]
        if boards:
            by_deal = split_rows(self.part["board"], boards)  # [network, deal, mark, hidden]
            table = torch.matmul(self.marks, by_deal).flatten(-3, -2)
            parts.append(torch.matmul(multi_hot[:, deck : deck + boards * deck], table))
        if self.shape.strengths:
            strength = multi_hot[:, -self.shape.strengths :]
            parts.append(strength.expand(*parts[0].shape[:-2], *strength.shape))
        x = torch.cat(parts, dim=-1)
        x = torch.relu(self._layer("card1", x))
        x = torch.relu(self._layer("card2", x) + x)
        x = torch.relu(self._layer("card3", x) + x)
        return self._layer("joint1_card", x)

    def betting(self, features: Tensor) -> Tensor:
        """[network, node, hidden] the part of the betting in the first combined layer. IN: float[node, feature]."""
        x = torch.relu(self._layer("bet1", features))
        x = torch.relu(self._layer("bet2", x) + x)
        return torch.matmul(x, self.part["joint1_bet"])

    def joint(self, x: Tensor, decision: Tensor) -> Tensor:
        """[network, decision, hand, action] the output for sums of a card part and a betting part.

        IN: [network, decision, hand, hidden], [decision]. There are millions of rows, and memory is what takes the
        time. So this works in place, also on its input; what is added to a layer (its input) or taken from it (the
        mean, before the output) is part of its weights; and the precision is that of the input.
        """
        shape = x.shape
        x = self._residual("joint2", x.flatten(1, 2).relu_())
        x = self._residual("joint3", x)
        mean = x.mean(dim=-1, keepdim=True, dtype=torch.float32)
        square = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32).square_().div_(x.shape[-1])
        spread = square.sub_(mean.square_()).clamp_min_(0).add_(LEAST_SPREAD).sqrt_()
        weight, bias = self.part["out"].unsqueeze(1), self.part["out_bias"][:, None, None]
        if self.shape.heads:
            weight = weight + self.part["head"][:, decision]
            bias = bias + self.part["head_bias"][:, decision].unsqueeze(2)
        else:
            x = x.unsqueeze(1)  # one layer for all
        centred = (weight - weight.mean(dim=-2, keepdim=True)).to(x.dtype)
        out = torch.matmul(x.reshape(*centred.shape[:2], -1, shape[-1]), centred)
        return out.reshape(*shape[:3], -1).div(spread.reshape(*shape[:3], 1)).add_(bias)

    def features(self, x: Tensor) -> Tensor:
        """[network, decision, hand, hidden] what output layers read, normalised. IN: as of `joint`, also changed."""
        z = self._residual("joint3", self._residual("joint2", x.flatten(1, 2).relu_())).reshape(x.shape)
        z = z - z.mean(dim=-1, keepdim=True)
        return z / z.square().mean(dim=-1, keepdim=True).add_(LEAST_SPREAD).sqrt_()

    def _residual(self, name: str, x: Tensor) -> Tensor:
        """A layer with its input added, then the positive part."""
        bias = self.part[f"{name}_bias"].unsqueeze(-2)
        weight = self.part[name] + torch.eye(x.shape[-1], device=x.device)
        return torch.baddbmm(bias.to(x.dtype), x, weight.to(x.dtype)).relu_()


def matched(advantages: Tensor, legal: Tensor) -> Tensor:
    """Regret matching, [..., action]: in proportion to positive advantages; the highest if none is positive.

    (Brown and others 2019, section 5.1.) Ties share, so that a network of zeros is uniform.
    """
    positive = torch.where(legal, advantages, 0.0).clamp_min(0)
    total = positive.sum(dim=-1, keepdim=True)
    shown = torch.where(legal, advantages, -torch.inf)
    best = (shown >= shown.amax(dim=-1, keepdim=True)).to(advantages.dtype)
    best = best / best.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, positive / total.clamp_min(1e-30), best)


def soft(outputs: Tensor, legal: Tensor) -> Tensor:
    """The probabilities of an average-strategy network, [..., action]: softmax over legal actions."""
    return torch.softmax(torch.where(legal, outputs, -torch.inf), dim=-1)


def split_rows(table: Tensor, parts: int) -> Tensor:
    """[..., part * row, column] as [..., part, row, column]."""
    return table.reshape(*table.shape[:-2], parts, table.shape[-2] // parts, table.shape[-1])
