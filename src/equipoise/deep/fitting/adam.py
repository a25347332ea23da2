"""Adam with clipped gradients (Kingma and Ba 2015; Brown and others 2019, section 5.1), for a flat vector.

It is kept between iterations if networks are: its first steps are as large as the rate allows, whatever the gradient,
and would shake a network in each iteration that begins with a new one.
"""

from __future__ import annotations

import torch

from equipoise.deep.network import Tensor

CLIP = 1.0
FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # decay rates and epsilon of the paper


class Adam:
    """The moving averages of a network's gradients, on its device."""

    def __init__(self, size: int, device: torch.device) -> None:
        self.mean, self.square = torch.zeros(size, device=device), torch.zeros(size, device=device)
        self.taken = torch.zeros((), device=device)  # number of steps

    @property
    def state(self) -> tuple[Tensor, Tensor, Tensor]:
        """Everything that it keeps."""
        return self.mean, self.square, self.taken

    def reset(self) -> None:
        """Forget everything."""
        for part in self.state:
            part.zero_()

    def restore(self, state: tuple[Tensor, ...]) -> None:
        """Go back to a state."""
        for part, old in zip(self.state, state, strict=True):
            part.copy_(old)

    def step(self, parameters: Tensor, gradient: Tensor, rate: Tensor | float) -> None:
        """Take a step. IN OUT: [parameter] twice; the gradient is clipped."""
        self.taken += 1
        gradient *= (CLIP / (gradient.norm() + 1e-6)).clamp_max(1)
        self.mean.lerp_(gradient, 1 - FIRST)
        self.square.mul_(SECOND).addcmul_(gradient, gradient, value=1 - SECOND)
        usual = (self.square / (1 - SECOND**self.taken)).sqrt_().add_(SMALL)
        parameters -= (rate / (1 - FIRST**self.taken)) * self.mean / usual
