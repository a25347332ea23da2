"""A solver that solves nothing, but obeys the protocol: every table is a function of all random numbers before.

Run as a program it trains: `standin.py OUT ITERATIONS [pause]`; test_run.py kills it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import Recipe
from equipoise.training.loop import Run, run_training
from equipoise.tree.betting_tree import BettingTree
from equipoise.tree.infosets import SlotLayout

RECIPE = Path(__file__).parents[1] / "data" / "standin.toml"


class StandIn:
    def __init__(self, tree: BettingTree, buckets: BucketMap, seed: int, pause: float = 0.0) -> None:
        self.layout = SlotLayout(tree, buckets.buckets)
        self.regret = np.zeros(self.layout.slots, np.float32)
        self.average = np.zeros(self.layout.slots, np.float32)
        self.iteration = self.nodes = 0
        self.pause = pause
        self.rng = np.random.Generator(np.random.PCG64(seed))

    def run(self, iterations: int) -> None:
        for _ in range(iterations):
            self.iteration += 1
            self.nodes += 10
            self.regret *= np.float32(0.99)
            self.regret += self.rng.standard_normal(len(self.regret), np.float32)
            self.average += np.maximum(self.regret, 0) * np.float32(self.iteration)
            time.sleep(self.pause)

    def state(self) -> dict[str, Any]:
        inner: Any = self.rng.bit_generator.state["state"]
        words = [inner[key] >> shift & (2**64 - 1) for key in ("state", "inc") for shift in (0, 64)]
        buffered: Any = self.rng.bit_generator.state
        return {"pcg": np.array([*words, buffered["has_uint32"], buffered["uinteger"]], np.uint64)}

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        self.iteration, self.nodes = iteration, nodes
        words = [int(word) for word in state["pcg"]]
        self.rng.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": words[0] | words[1] << 64, "inc": words[2] | words[3] << 64},
            "has_uint32": words[4],
            "uinteger": words[5],
        }


def make(recipe: Recipe, tree: BettingTree, buckets: BucketMap, threads: int, pause: float = 0.0) -> StandIn:
    del threads
    return StandIn(tree, buckets, recipe.solver.seed, pause)


def run(out: str | Path, iterations: int | None = None, *, pause: float = 0.0, **more: Any) -> Run:
    recipe = more.pop("recipe", RECIPE)
    return run_training(
        recipe, out, iterations=iterations, make=lambda *given: make(*given, pause=pause), **{"threads": 1, **more}
    )


if __name__ == "__main__":
    run(
        sys.argv[1],
        int(sys.argv[2]),
        pause=float(sys.argv[3]) if len(sys.argv) > 3 else 0.0,
        resume=RunFolder(Path(sys.argv[1])).is_run,
        say=lambda line: print(line, flush=True),
    )
