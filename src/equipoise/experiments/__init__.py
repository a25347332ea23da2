"""Tables and figures of the papers that this project implements, reproduced: one module each, with published values.

A module has ABOUT (one line), `run(out, full, say)`, which writes out/NAME.json, .csv and .png and returns the summary,
and `compared(summary)`: rows of `name`, `published` (None where the paper gives no number) and `ours`. Figures that
differ by a number are objects of one module, with the same three names.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from equipoise.core.errors import InputError, shown
from equipoise.core.progress import Say

_HOMES = {
    "blueprint-choices": "blueprints.choices",
    "cfr-br-figure-3": "cfr_br.figure_3",
    "cfr-br-figure-4": "cfr_br.figure_4",
    "cfr-br-figure-5": "cfr_br.figure_5",
    "cfr-br-figure-6": "cfr_br.figure_6",
    "cfr-br-figure-8": "cfr_br.figure_8",
    "cfr-br-figure-11": "cfr_br.figure_11",
    "deep-cfr-adaptive": "deep_cfr.adaptive",
    "deep-cfr-figure-2": "deep_cfr.exploitability:FIGURE_2",
    "deep-cfr-figure-3": "deep_cfr.exploitability:FIGURE_3",
    "deep-cfr-figure-4": "deep_cfr.exploitability:FIGURE_4",
    "deep-cfr-figure-5": "deep_cfr.heat_maps:FIGURE_5",
    "deep-cfr-figure-6": "deep_cfr.heat_maps:FIGURE_6",
    "deep-cfr-figure-7": "deep_cfr.heat_maps:FIGURE_7",
    "deep-cfr-figure-8": "deep_cfr.figure_8",
    "deep-cfr-flop": "deep_cfr.flop",
    "deep-cfr-leduc": "deep_cfr.leduc",
    "deep-cfr-variants": "deep_cfr.variants",
    "lbr-table": "lisy_bowling.table_3",
    "leduc-pathology": "cfr_br.leduc_pathology",
    "pcs-variance": "slumbot_nl.pcs_variance",
    "search-safety": "search.safety",
    "tartanian7-figure-1": "tartanian7.figure_1",
    "tartanian7-blades": "tartanian7.blades",
    "tartanian7-flops": "tartanian7.flops",
    "tartanian7-table-2": "tartanian7.table_2",
    "time-to-20-mbb": "slumbot_nl.time_to_20_mbb",
}


def experiment_names() -> dict[str, str]:
    """All experiments: name and one line."""
    return {name: str(_module(name).ABOUT) for name in _HOMES}


def reproduce(name: str, out: str | Path = "results", *, full: bool = False, say: Say = print) -> dict[str, Any]:
    """Run one experiment, write its files to `out`, and return its summary with `rows`: published values and ours."""
    if name not in _HOMES:
        raise InputError(f"no experiment {shown(name)}", remedy=f"there are {', '.join(_HOMES)}")
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write to {shown(str(out))}: {error.strerror}", remedy="choose another place"
        ) from None
    module = _module(name)
    summary: dict[str, Any] = module.run(folder, full, say)
    return {**summary, "rows": module.compared(summary)}


def _module(name: str) -> Any:
    home, _, figure = _HOMES[name].partition(":")
    module = import_module(f"equipoise.experiments.{home}")
    return getattr(module, figure) if figure else module
