"""Files of networks: the strategy of a deep run, with everything needed to play it (`strategy.networks` in its folder).

The header holds the abstract game (gamedef and bet menu) with its fingerprints, and the sizes of the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash

from equipoise.core.errors import InputError
from equipoise.core.files.array_file import load_arrays, save_arrays
from equipoise.deep.encoding import Encoding
from equipoise.deep.mixture import Mixture
from equipoise.deep.torch_door import find_device
from equipoise.games.rules import PLAYERS
from equipoise.strategy.abstract_game import AbstractGame
from equipoise.strategy.file import NETWORKS

FORMAT = "equipoise networks 6"
REMEDY = "train again, or take another copy of the file"


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
    save_arrays(path, FORMAT, {**game.header(), "network": sizes, "about": dict(about)}, arrays)


def load_networks(path: str | Path, device: str = "cpu") -> NetworkFile:
    """The networks of a file, or of the run in a folder."""
    path = Path(path)
    if path.is_dir():
        path = path / NETWORKS
    header, arrays = load_arrays(path, FORMAT, remedy=REMEDY, copied=True)
    game = AbstractGame.of_header(header, str(path), REMEDY)
    on = find_device(device)
    try:
        sizes = header["network"]
        where = Encoding(game.tree, bool(sizes["strength"])).on(on)
        shape = where.encoding.shape(int(sizes["hidden"]), bool(sizes["heads"]), int(sizes["table"]))
        is_strategy = bool(sizes["is_strategy"])
        one, two = (arrays[f"player {player}"] for player in range(PLAYERS))
        weights = arrays["weights"]
        fits = one.shape == two.shape == (len(weights), shape.length) and len(weights) > 0
        if not fits or any(array.dtype != np.float32 for array in (one, two, weights)):
            raise InputError("damaged: not networks for its game", where=str(path), remedy=REMEDY)
    except (KeyError, TypeError, ValueError):
        raise InputError("damaged: its header makes no sense", where=str(path), remedy=REMEDY) from None
    digest = xxhash.xxh3_64()
    for array in (one, two, weights):
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    tensors = (torch.from_numpy(one).to(where.device), torch.from_numpy(two).to(where.device))
    mixture = Mixture(where, shape, tensors, weights, is_strategy)
    return NetworkFile(game, mixture, path, header.get("about", {}), f"{path.name} {digest.hexdigest()}")
