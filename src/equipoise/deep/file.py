"""Files of networks: the strategy of a deep run, with everything needed to play it (`strategy.networks` in its folder).

The header holds the abstract game (gamedef and bet menu) with its fingerprints, and the sizes of the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import xxhash
from pydantic import Field

from equipoise.core.array_checks import check_array, check_range
from equipoise.core.checked_model import CheckedModel
from equipoise.core.errors import InputError
from equipoise.core.files.array_file import load_arrays, save_arrays
from equipoise.deep.encoding import Encoding
from equipoise.deep.mixture import Mixture
from equipoise.deep.network import MOST_PARAMETER
from equipoise.deep.torch_door import find_device
from equipoise.games.rules import PLAYERS
from equipoise.strategy.about import StrategyHeader, kept_about
from equipoise.strategy.abstract_game import AbstractGame
from equipoise.strategy.file import NETWORKS

FORMAT = "equipoise networks 6"
REMEDY = "train again, or take another copy of the file"
MOST_SIZE = 1 << 16
LEAST_WEIGHT = 1e-9


class NetworkSizes(CheckedModel):
    """The sizes of a network, and what it says."""

    hidden: Annotated[int, Field(ge=1, le=MOST_SIZE)]
    heads: bool
    table: Annotated[int, Field(ge=0, le=MOST_SIZE)]
    strength: bool
    is_strategy: bool


class NetworksHeader(StrategyHeader):
    """The header of a file of networks."""

    network: NetworkSizes


@dataclass(frozen=True, eq=False)
class NetworkFile:
    """The networks of a file."""

    game: AbstractGame
    mixture: Mixture
    path: Path
    about: Mapping[str, Any]  # from the run: iterations, seconds, nodes
    name: str  # with a checksum of its numbers, for files made for it


def save_networks(path: str | Path, game: AbstractGame, mixture: Mixture, about: Mapping[str, Any]) -> None:
    """Write the networks of both players."""
    arrays: dict[str, Any] = {"weights": np.asarray(mixture.weights, np.float32)}
    for player in range(PLAYERS):
        arrays[f"player {player}"] = mixture.parameters[player].cpu().numpy()
    shape = mixture.shape
    sizes = {
        "hidden": shape.hidden, "heads": shape.heads, "table": shape.table, "strength": shape.hands.strength,
        "is_strategy": mixture.is_strategy,
    }  # fmt: skip
    save_arrays(path, FORMAT, {**game.text().model_dump(), "network": sizes, "about": dict(about)}, arrays)


def load_networks(path: str | Path, device: str = "cpu") -> NetworkFile:
    """The networks of a file, or of the run in a folder."""
    path = Path(path)
    if path.is_dir():
        path = path / NETWORKS
    header, arrays = load_arrays(path, FORMAT, NetworksHeader, remedy=REMEDY, copied=True)
    game = AbstractGame.of_text(header, str(path), REMEDY)
    on = find_device(device)
    sizes = header.network
    where = Encoding(game.tree, sizes.strength).on(on)
    shape = where.encoding.shape(sizes.hidden, sizes.heads, sizes.table)
    try:
        weights = arrays.get("weights", np.zeros(0))
        check_array(weights, "weights", (max(1, weights.size),), np.float32)
        check_range(weights, "weights", LEAST_WEIGHT)
        for name in (f"player {player}" for player in range(PLAYERS)):
            check_array(arrays.get(name), name, (len(weights), shape.length), np.float32)
            check_range(arrays[name], name, -MOST_PARAMETER, MOST_PARAMETER)
    except InputError as error:
        raise InputError(f"damaged: {error.what}", where=str(path), remedy=REMEDY) from None
    one, two = (arrays[f"player {player}"] for player in range(PLAYERS))
    digest = xxhash.xxh3_64()
    for array in (one, two, weights):
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    tensors = (torch.from_numpy(one).to(where.device), torch.from_numpy(two).to(where.device))
    mixture = Mixture(where, shape, tensors, weights, sizes.is_strategy)
    return NetworkFile(game, mixture, path, kept_about(header.about), f"{path.name} {digest.hexdigest()}")
