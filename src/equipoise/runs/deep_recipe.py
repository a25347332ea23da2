"""The settings of Deep CFR in a recipe: the section [deep] of a recipe with `solver.method = "deep"`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from equipoise.core.checked_model import CheckedModel
from equipoise.core.errors import MOST_COUNT
from equipoise.runs.network_size import STRENGTHS

MOST_TRAVERSALS = 10_000_000
MOST_GROWTH = 33  # traversals grow to this many times the first, if a recipe does not say where growth ends
DEVICES = ("auto", "cpu", "cuda")


class DeepRecipe(CheckedModel):
    """Deep CFR (an average-strategy network) or SD-CFR (the networks of all iterations), and how they are trained."""

    algorithm: Literal["deep-cfr", "sd-cfr"] = "sd-cfr"
    hidden: int = Field(default=64, ge=4, le=1024)  # width of the layers; the card layers are three times as wide
    heads: bool = False  # each decision has an output layer of its own, added to the shared one
    table: int = Field(default=0, ge=0, le=STRENGTHS)  # percentile buckets of a table of means that a network adds to
    sampling: Literal["external", "public"] = "external"  # one line of the opponent, or whole ranges on sampled boards
    strength: bool = False  # networks are told the percentile of a hand among all hands of its street
    holes: int = Field(default=1, ge=1, le=2048)  # of each player, dealt to one board of a traversal
    whole: int = Field(default=0, ge=0, le=MOST_COUNT)  # opponents take every action if at most as many nodes follow
    thin: float = Field(default=0.0, ge=0, le=1)  # late samples are kept as if own actions were drawn, to this power
    share: float = Field(default=1.0, gt=0, le=1)  # of all samples that memories are given; a table counts all
    traversals: int = Field(default=300, ge=1, le=MOST_TRAVERSALS)  # per player, in the first iteration
    # Each iteration has this many times the traversals of the one before; 1 is constant. The defaults won at equal CPU
    # time on Leduc (`equipoise reproduce deep-cfr-adaptive`).
    growth: float = Field(default=1.02, ge=1, le=10)
    most_traversals: int | None = Field(default=None, ge=1, le=MOST_TRAVERSALS)  # where growth ends
    sums: int = Field(default=8192, ge=0, le=MOST_COUNT)  # exact sums on streets with at most as many information sets
    memory: int = Field(default=1_000_000, ge=100, le=MOST_COUNT)  # samples per player (and per strategy memory)
    steps: int = Field(default=200, ge=1, le=1_000_000)  # training steps per network and iteration
    scales: bool = True  # errors count by how much the samples of a decision vary
    batch: int = Field(default=1024, ge=1, le=1_000_000)
    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    rate_half: int = Field(default=0, ge=0, le=MOST_COUNT)  # it is half as large after as many iterations; 0: constant
    # After this iteration the layers of networks stay as they are, and their heads are solved exactly; 0: never.
    solve_heads: int = Field(default=0, ge=0, le=MOST_COUNT)
    warm_start: bool = False  # continue the last iteration's network instead of starting from a random one
    weight_power: float = Field(default=1.0, ge=0, le=10)  # iteration t counts t to this power; 1 is linear
    # Of the average-strategy network (deep-cfr); 0: there is none, and the table of mean strategies plays.
    average_steps: int = Field(default=2000, ge=0, le=10_000_000)
    keep: int = Field(default=0, ge=0, le=100_000)  # networks of sd-cfr to keep, evenly spaced; 0: all
    device: Literal["auto", "cpu", "cuda"] = "auto"  # not part of the fingerprint

    @model_validator(mode="after")
    def _whole(self) -> DeepRecipe:
        if self.most_traversals is not None and self.growth == 1:
            raise ValueError("most_traversals without growth: set growth above 1, or leave it out")
        if self.most_traversals is not None and self.most_traversals < self.traversals:
            raise ValueError("most_traversals is below traversals: swap them")
        if self.whole and self.sampling == "public":
            raise ValueError("whole is for external sampling: public walks every action, leave it out")
        if self.table and not self.strength:
            raise ValueError("a table has a row for each percentile bucket: set strength to true")
        if self.solve_heads and not (self.heads and self.table and self.sampling == "public" and self.warm_start):
            raise ValueError("solve_heads needs heads, a table, public sampling and warm_start: set all of them")
        if not (self.average_steps or self.table):
            raise ValueError(
                "without steps of the average network its table plays: set table, or average_steps above 0"
            )
        if self.holes < 2 and self.sampling == "public":
            raise ValueError("public sampling deals holes that both players may have: set holes to 2 or more")
        if self.keep and self.algorithm != "sd-cfr":
            raise ValueError("keep is not for deep-cfr: leave it out")
        return self

    def rate_of(self, iteration: int) -> float:
        """The learning rate of an iteration, from 1: constant, or falling as 1/t in the end."""
        return self.learning_rate / (1 + (iteration - 1) / self.rate_half) if self.rate_half else self.learning_rate

    def traversals_of(self, iteration: int) -> int:
        """Traversals per player of an iteration, from 1: few at first, then more, if `growth` is above one."""
        most = self.most_traversals or min(MOST_GROWTH * self.traversals, MOST_TRAVERSALS)
        try:
            grown = self.traversals * self.growth ** (iteration - 1)
        except OverflowError:
            return most
        return int(min(grown, most))

    def settings(self) -> dict[str, Any]:
        """What determines the result."""
        return self.model_dump(exclude={"device"})
