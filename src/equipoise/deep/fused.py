"""The strategy of a network for all hands at many decisions, in one kernel for a GPU (Triton comes with PyTorch).

It computes what `Evaluator.grid` computes, and then `matched`, or `soft` for a network of strategies. Layer by layer,
each pair of a hand and a decision would pass through the GPU's memory some twenty times; here it stays in registers
from the first combined layer to the probabilities. Weights and layers have 11 bits of mantissa,
sums are float32, as there. The output layer is padded to 16 actions, the least that the GPU's matrix units take.
"""

from __future__ import annotations

from typing import Any

import torch

from equipoise.deep.encoding import Evaluator, Hands
from equipoise.deep.network import LEAST_SPREAD, Tensor

try:
    import triton  # type: ignore[import-not-found,unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # a PyTorch for CPUs has none
    triton = None

WIDTHS = (16, 32, 64, 128)  # of networks that it can take
ACTIONS = 16  # of the padded output layer
BLOCK, GROUP = 128, 8  # hands and decisions of one program
WARPS = 4


def can_fuse(evaluator: Evaluator) -> bool:
    """Whether there is a kernel for a network, and a GPU to run it."""
    network = evaluator.network
    fits = network.shape.hidden in WIDTHS and network.shape.actions <= ACTIONS
    return triton is not None and fits and evaluator.where.device.type == "cuda"


class FusedPlay:
    """The weights of one network of a stack, as the kernel reads them."""

    def __init__(self, evaluator: Evaluator, is_strategy: bool = False, number: int = 0) -> None:
        self.is_strategy, self.number = is_strategy, number
        part, shape = {name: part[number] for name, part in evaluator.network.part.items()}, evaluator.network.shape
        legal = evaluator.where.legal
        one = torch.eye(shape.hidden, device=legal.device)
        self.shape = shape
        self.betting = evaluator.betting[number].contiguous()
        self.layers = [(part[name] + one).half().contiguous() for name in ("joint2", "joint3")]
        self.biases = [part[f"{name}_bias"].contiguous() for name in ("joint2", "joint3")]
        weight, bias = part["out"], part["out_bias"].expand(shape.decisions, -1)
        if shape.heads:
            weight, bias = weight + part["head"], bias + part["head_bias"]
        weight = (weight - weight.mean(dim=-2, keepdim=True)).expand(shape.decisions, -1, -1)
        if shape.table:
            weight, bias = weight * part["trust"].unsqueeze(1), bias * part["trust"]
        self.out = _padded(weight).half()  # [decision, hidden, action]
        self.out_bias, self.scale = _padded(bias), _padded(part["scale"])  # [decision, action]
        self.legal = _padded(legal.float())
        self.table = part["table"].contiguous() if shape.table else self.scale

    def answers(self, hands: Hands, decision: Tensor) -> Tensor:
        """[decision, hand, action] the probabilities of all hands at some decisions."""
        found = torch.empty((len(decision), self.shape.actions, hands.cards.shape[1]), device=decision.device)
        self.fill(hands, decision, found, torch.arange(len(decision), device=decision.device))
        return found.transpose(1, 2)

    @torch.inference_mode()
    def fill(self, hands: Hands, decision: Tensor, found: Tensor, row: Tensor | None = None) -> None:
        """The probabilities of all hands at some decisions. OUT: float[row, action, hand], in a row for each of them;
        without rows, that of its number.
        """
        cards, shape = hands.cards[self.number].half().contiguous(), self.shape
        grid = (-(-len(cards) // BLOCK), -(-len(decision) // GROUP))
        kernel: Any = play_kernel
        kernel[grid](
            cards, hands.bucket if shape.table else decision, self.betting, *self.layers, *self.biases, self.out,
            self.out_bias, self.scale, self.legal, self.table, decision, decision if row is None else row, found,
            len(cards), len(decision),
            SOFT=self.is_strategy, BUCKETS=shape.table, ACTIONS=shape.actions, HIDDEN=shape.hidden, PADDED=ACTIONS,
            LEAST=LEAST_SPREAD, BLOCK=BLOCK, GROUP=GROUP, num_warps=WARPS,
        )  # fmt: skip


def _padded(numbers: Tensor) -> Tensor:
    """Space for as many actions as the kernel has."""
    return torch.nn.functional.pad(numbers, (0, ACTIONS - numbers.shape[-1])).contiguous()


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator,unused-ignore]
    def play_kernel(  # type: ignore[no-untyped-def]
        cards, bucket, betting, layer2, layer3, bias2, bias3, out, out_bias, scale, legal, table, decision, row, found,
        hands, decisions, SOFT: tl.constexpr, BUCKETS: tl.constexpr, ACTIONS: tl.constexpr, HIDDEN: tl.constexpr,
        PADDED: tl.constexpr, LEAST: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr,
    ):  # fmt: skip
        """IN: half[hand, hidden], int64[hand], float[decision, hidden], weights; OUT: float[row, action, hand]."""
        hand = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = hand < hands
        k, a = tl.arange(0, HIDDEN), tl.arange(0, PADDED)
        square = k[:, None] * HIDDEN + k[None, :]
        weight2, weight3 = tl.load(layer2 + square), tl.load(layer3 + square)
        add2, add3 = tl.load(bias2 + k), tl.load(bias3 + k)
        dealt = tl.load(cards + hand[:, None] * HIDDEN + k[None, :], mask=inside[:, None], other=0.0).to(tl.float32)
        if BUCKETS > 0:
            percentile = tl.load(bucket + hand, mask=inside, other=0)
        for step in range(GROUP):
            at = tl.program_id(1) * GROUP + step
            if at < decisions:
                here = tl.load(decision + at)
                x = tl.maximum(dealt + tl.load(betting + here * HIDDEN + k)[None, :], 0.0)
                x = tl.maximum(tl.dot(x.to(tl.float16), weight2) + add2[None, :], 0.0)
                x = tl.maximum(tl.dot(x.to(tl.float16), weight3) + add3[None, :], 0.0)
                mean = tl.sum(x, axis=1) / HIDDEN
                spread = tl.sqrt(tl.maximum(tl.sum(x * x, axis=1) / HIDDEN - mean * mean, 0.0) + LEAST)
                last = tl.load(out + here * HIDDEN * PADDED + k[:, None] * PADDED + a[None, :])
                value = (
                    tl.dot(x.to(tl.float16), last) / spread[:, None] + tl.load(out_bias + here * PADDED + a)[None, :]
                )
                may = (tl.load(legal + here * PADDED + a) > 0)[None, :]
                if BUCKETS > 0:
                    cell = (here * BUCKETS + percentile) * ACTIONS
                    value += tl.load(table + cell[:, None] + a[None, :], mask=inside[:, None] & may, other=0.0)
                value *= tl.load(scale + here * PADDED + a)[None, :]
                shown = tl.where(may, value, float("-inf"))
                highest = tl.max(shown, axis=1)[:, None]
                if SOFT:
                    chance = tl.exp(shown - highest)
                    chance = chance / tl.sum(chance, axis=1)[:, None]
                else:
                    positive = tl.where(may, tl.maximum(value, 0.0), 0.0)
                    total = tl.sum(positive, axis=1)
                    best = (shown >= highest).to(tl.float32)
                    best = best / tl.sum(best, axis=1)[:, None]
                    chance = tl.where((total > 0)[:, None], positive / tl.maximum(total, 1e-30)[:, None], best)
                place = (tl.load(row + at) * ACTIONS + a[None, :]) * hands + hand[:, None]
                tl.store(found + place, chance, mask=inside[:, None] & (a < ACTIONS)[None, :])
