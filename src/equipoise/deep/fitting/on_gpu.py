"""Training on a GPU: a copy of the memory is there, and a step of constant shape is recorded once as a CUDA graph.

A step (`gradient.py`) starts some hundred small operations; each would cost more to start than to run. Replaying a
recorded step costs one start. Shapes are constant because nothing is merged: hands repeat rarely in the games that are
worth a GPU. Samples are drawn with torch's generator, so the numbers differ from those of a CPU.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from equipoise.deep.encoding import DeviceEncoding
from equipoise.deep.fitting.adam import Adam
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.fitting.gradient import backward
from equipoise.deep.fitting.memory import Memory
from equipoise.deep.fitting.on_cpu import FitSettings, rate_share, set_constants
from equipoise.deep.fitting.reservoir import HELD
from equipoise.deep.fitting.trust import HELD_BATCHES, judge
from equipoise.deep.network import Network, NetworkShape, Tensor
from equipoise.deep.torch_door import WARM_UP, recorded


class GraphTrainer:
    """Trains networks of one shape on one memory. Also runs on a CPU, without a graph, for the tests."""

    def __init__(
        self, shape: NetworkShape, adam: Adam, memory: Memory, where: DeviceEncoding, settings: FitSettings
    ) -> None:  # fmt: skip
        self.shape, self.adam, self.memory, self.where, self.settings = shape, adam, memory, where, settings
        device, actions, capacity = where.device, where.encoding.actions, memory.rest.capacity
        whole, slope = (torch.zeros(shape.length, device=device) for _ in range(2))
        self.network, self.slopes = Network(shape, whole[None]), Network(shape, slope[None])
        self.parameters, self.gradient = whole[: shape.parameters], slope[: shape.parameters]
        self.key = torch.zeros(capacity, dtype=torch.int64, device=device)
        self.decision = torch.zeros(capacity, dtype=torch.int64, device=device)
        self.iteration = torch.zeros(capacity, device=device)
        self.target = torch.zeros((capacity, actions), device=device)
        self.unit, self.rate, self.step_number, self.losses = (torch.zeros((), device=device) for _ in range(4))
        self.scales = torch.ones((shape.decisions, shape.actions), device=device)
        self.size, self.held = (torch.zeros((), dtype=torch.float64, device=device) for _ in range(2))
        self.skips = torch.zeros((), dtype=torch.int64, device=device)  # 1 if places are held out
        shares = [rate_share(step, settings.steps) for step in range(settings.steps + WARM_UP + 1)]
        self.rates = torch.tensor(shares, device=device)
        self.rows = torch.arange(settings.batch, device=device)
        decisions = len(where.encoding.nodes)
        self.every = torch.arange(decisions, device=device) if decisions <= settings.batch else None
        ones = np.ones((shape.decisions, shape.actions), np.float32)
        self.summed = BatchTensors.of(memory.summed(ones), where, shape.table)
        self._replay_step: Callable[[], None] | None = None
        self._replay_judgement: Callable[[], None] | None = None

    @torch.inference_mode()
    def fit(self, start: Tensor, seed: np.random.SeedSequence, rate: float | None = None) -> tuple[Tensor, float]:
        """Train a network from `start`. Returns its parameters and the mean loss of the second half.

        The learning rate is that of the settings, if it is not given.
        """
        self._load()
        self.rate.fill_(self.settings.learning_rate if rate is None else rate)
        start = self._with_constants(start)
        torch.manual_seed(int(seed.generate_state(1)[0]))
        if self._replay_step is None and self.where.device.type == "cuda":
            self._restart(start)
            self._replay_step = recorded(self._step, self.adam.state)
        self._restart(start)
        do_step = self._replay_step or self._step
        for step in range(self.settings.steps):
            if step == self.settings.steps // 2:
                self.losses.zero_()
            do_step()
        if self.shape.table and not self.settings.is_strategy:
            self._judge()
        half = self.settings.steps - self.settings.steps // 2
        return self.network.parameters[0].clone(), float(self.losses) / half

    def _judge(self) -> None:
        """Set the trust in the network."""
        if not self.memory.rest.held:
            self._judge_with()
            return
        if self._replay_judgement is None and self.where.device.type == "cuda":
            self._replay_judgement = recorded(self._judge_with_held, self.memory.trust)
        (self._replay_judgement or self._judge_with_held)()

    def _judge_with_held(self) -> None:
        self._judge_with(*(self._drawn(self._places(self.held) * HELD) for _ in range(HELD_BATCHES)))

    def _judge_with(self, *held: BatchTensors) -> None:
        memory = self.memory
        judge(memory.trust, self.network, (self.summed, *held), self.where, self.settings.batch, memory.has_rest)

    def _load(self) -> None:
        """Copy what is new in the memory to the device."""
        memory, samples = self.memory.rest, self.memory.rest.samples
        places = memory.take_written()
        at = places if isinstance(places, slice) else self.where.index(places)
        device, decisions = self.where.device, self.where.encoding.decision[samples.node[places]]
        self.key[at] = torch.from_numpy(samples.key[places].view(np.int64)).to(device)
        self.decision[at] = torch.from_numpy(decisions).to(device).long()
        self.iteration[at] = torch.from_numpy(samples.iteration[places].astype(np.float32)).to(device)
        self.target[at] = torch.from_numpy(samples.target[places]).to(device)
        self.unit.fill_(self.memory.unit / self.settings.batch)
        held = memory.held if self.shape.table else 0
        self.size.fill_(len(memory) - held)
        self.held.fill_(held)
        self.skips.fill_(held > 0)

    def _with_constants(self, start: Tensor) -> Tensor:
        """A network with the scales and the table of the memory; the sums' targets follow its scales."""
        start = start.clone()
        scale = set_constants(Network(self.shape, start[None]), self.memory, self.settings)
        self.scales.copy_(torch.from_numpy(scale))
        new = self.memory.summed(scale)
        self.summed.weight.copy_(torch.from_numpy(new.weight))
        self.summed.target.copy_(torch.from_numpy(new.target))
        return start

    def _restart(self, start: Tensor) -> None:
        self.network.parameters[0].copy_(start)
        self.step_number.zero_()
        self.losses.zero_()

    def _places(self, count: Tensor | int) -> Tensor:
        """A random number below `count` for each sample of a batch."""
        return (torch.rand(self.settings.batch, dtype=torch.float64, device=self.where.device) * count).long()

    def _draw(self) -> BatchTensors:
        place = self._places(self.size)
        return self.summed.joined(self._drawn(place + self.skips * (place // (HELD - 1) + 1)))

    def _drawn(self, chosen: Tensor) -> BatchTensors:
        """The samples in some places of the memory."""
        decision = self.decision[chosen]
        if self.every is None:
            spots, decisions = self.rows, decision
        else:
            spots, decisions = decision, self.every
        keys = self.key[chosen]
        return BatchTensors(
            self.where.multi_hot_of(keys), self.where.buckets_of(keys, self.shape.table),
            decisions, self.rows, spots,
            self.unit * self.iteration[chosen] ** self.memory.weight_power, self.target[chosen] / self.scales[decision],
        )  # fmt: skip

    def _step(self) -> None:
        """Draw a batch, and take one step of Adam."""
        loss = backward(self.network, self.slopes, self._draw(), self.where, self.settings.is_strategy)
        rate = self.rate * self.rates.index_select(0, self.step_number.long().reshape(1))
        self.adam.step(self.parameters, self.gradient, rate)
        self.step_number += 1
        self.losses += loss
