"""Training a network on a memory: weighted squared errors, Adam (`adam.py`), a rate that rises and falls.

(Brown and others 2019, section 5.1.) On a GPU, steps are recorded (`on_gpu.py`). The gradient is in `gradient.py`.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from equipoise.core.jit import F32
from equipoise.deep.encoding import DeviceEncoding
from equipoise.deep.fitting.adam import Adam
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.fitting.batches import Batches, Which
from equipoise.deep.fitting.gradient import backward
from equipoise.deep.fitting.memory import Memory
from equipoise.deep.fitting.trust import HELD_BATCHES, judge
from equipoise.deep.network import Network, NetworkShape, Tensor

RISE = 0.2  # of the steps


class FitSettings(NamedTuple):
    """How a network is trained."""

    steps: int
    batch: int
    learning_rate: float  # the largest: see `rate_share`
    scales: bool = True  # a scale for each decision and action
    is_strategy: bool = False  # targets are probabilities, and outputs pass a softmax


@torch.inference_mode()
def train_network(
    shape: NetworkShape, start: Tensor, adam: Adam, memory: Memory, where: DeviceEncoding, settings: FitSettings,
    seed: np.random.SeedSequence,
) -> tuple[Tensor, float]:  # fmt: skip
    """Train a network from `start`, [parameter]. Returns its parameters and the mean loss of the second half."""
    whole = start.to(where.device).clone()
    network, slopes = Network(shape, whole[None]), Network(shape, torch.empty_like(whole[None]))
    scale = set_constants(network, memory, settings)
    learnt = shape.parameters
    parameters, gradient = whole[:learnt], slopes.parameters[0, :learnt]
    batches = Batches(settings.batch, where.encoding.decision, where.encoding.actions)
    weights, summed = memory.iteration_weights, BatchTensors.of(memory.summed(scale), where, shape.table)
    random = seed.generate_state(1, np.uint64) | np.uint64(1)
    losses = torch.zeros((), device=where.device)
    which = (Which.learnt if shape.table else Which.all_of)(memory.rest)
    for step in range(settings.steps):
        batch = summed
        if len(memory.rest):
            one = batches.draw(memory.rest, weights, scale, random, which)
            batch = summed.joined(BatchTensors.of(one, where, shape.table))
        loss = backward(network, slopes, batch, where, settings.is_strategy)
        adam.step(parameters, gradient, settings.learning_rate * rate_share(step, settings.steps))
        if 2 * step >= settings.steps:
            losses += loss
    if shape.table and not settings.is_strategy:
        drawn = (
            batches.draw(memory.rest, weights, scale, random, Which.held_out(memory.rest)) for _ in range(HELD_BATCHES)
        )
        held = (BatchTensors.of(batch, where, shape.table) for batch in drawn) if memory.rest.held else ()
        judge(memory.trust, network, chain([summed], held), where, settings.batch, memory.has_rest)
    return whole, float(losses) / max(settings.steps // 2, 1)


def set_constants(network: Network, memory: Memory, settings: FitSettings) -> F32:
    """Put the scales and the table of a memory into a network. Returns the scales, [decision, action]."""
    if not settings.is_strategy:
        network.part["scale"][0].copy_(torch.from_numpy(memory.scales(by_decision=settings.scales)))
    scale = network.part["scale"][0]
    if network.shape.table and settings.is_strategy:
        network.part["table"][0].copy_(memory.log_table(alone=not settings.steps))
        network.part["trust"][0].copy_(memory.has_rest.expand(scale.shape))
    elif network.shape.table:
        network.part["table"][0].copy_(memory.table().div_(scale.unsqueeze(1)))
    found: F32 = scale.cpu().numpy()
    return found


def rate_share(step: int, steps: int) -> float:
    """The learning rate of a step as a share of the largest: it rises over the first steps, and falls to zero.

    The first steps of Adam are as large as the rate allows, whatever the gradient: without the rise, they now and then
    ruin a network that continues the last iteration's.
    """
    return min((step + 1) / (RISE * steps), 1 - step / steps)
