"""Every experiment puts published values beside ours: rows of name, published and ours, from its summary alone."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.experiments import _HOMES, _module
from equipoise.experiments.cfr_br.figure_6 import CFR_CURVE, trunk_curve

AVERAGE_2 = trunk_curve(2, "average")


def ends(**last: float) -> dict[str, Any]:
    return {
        curve: {"last": {"exploitability_mbb": mbb}, "lowest": {"exploitability_mbb": mbb - 1}}
        for curve, mbb in last.items()
    }


MBB = {"ours_mbb": {"CFR A-vs-A": 150.0, "other": 7.0}, "published_mbb": {"CFR A-vs-A": 144.0}}
TABLE = {"average": {"New-0.2": 5.0}, "minimum": {"New-0.2": 4.0}}
THEIRS = {"published average": {"New-0.2": 71.0}, "published minimum": {"New-0.2": 39.0}}
POINTS = [{"iteration": at, "mean_mbb": mbb} for at, mbb in ((0, 1000.0), (40, 400.0), (100, 200.0))]
FALL = ("share of the fall in the first 40", "most", 0.75)
HEAT = {"more_trained_wins": {"1000": 0.9}, "ten_more_iterations_mbb": {"early": 50.0, "late": 5.0}}
LATE = ("ten more iterations, late, mbb/hand", "less than early", 5.0)
SUMMARIES: dict[str, tuple[dict[str, Any], tuple[str, Any, Any]]] = {  # and one row: name, published, ours
    "blueprint-choices": (
        {
            "found": [
                {"game": "limit", "choice": "base", "wins": None},
                {"game": "limit", "choice": "pruning", "wins": 4.0},
            ]
        },
        ("limit, pruning", None, 4.0),
    ),
    "cfr-br-figure-3": ({"seconds_to_5_mbb": {"cfr+": 9.0}}, ("cfr+, s to 5 mbb/g", None, 9.0)),
    "cfr-br-figure-4": (MBB, ("CFR A-vs-A", 144.0, 150.0)),
    "cfr-br-figure-5": (MBB, ("other", None, 7.0)),
    "cfr-br-figure-6": ({"ours": ends(**{CFR_CURVE: 400.0, AVERAGE_2: 190.0})}, (AVERAGE_2, 93.539, 190.0)),
    "cfr-br-figure-8": ({"last": {"a": {"mbb_per_hand": -3.0}}}, ("a", "below zero", -3.0)),
    "cfr-br-figure-11": ({"ours": ends(**{"2 buckets, average": 230.0})}, ("2 buckets, average", 218.487, 230.0)),
    "deep-cfr-adaptive": (
        {"means": {"constant": [{"mean_mbb": 300.0}]}, "adaptive_less_constant_mbb": 4.0},
        ("best adaptive less best constant", "below zero", 4.0),
    ),
    **{f"deep-cfr-figure-{number}": ({"means": POINTS}, FALL) for number in (2, 3, 4)},
    **{f"deep-cfr-figure-{number}": (HEAT, LATE) for number in (5, 6, 7)},
    "deep-cfr-figure-8": (
        {end: {"iteration": at, "lbr_mbb": mbb} for end, at, mbb in (("first", 1, 900.0), ("last", 8, 500.0))},
        ("LBR at iteration 8, at least", "lower", 500.0),
    ),
    "deep-cfr-flop": (
        {"last": {"SD-CFR": {"exploitability_mbb": 20.0}, "Deep CFR": {"exploitability_mbb": 15.0}}},
        ("Deep CFR, total of both seats", 37, 30.0),
    ),
    "deep-cfr-leduc": (
        {"means": {"SD-CFR": [{"iteration": 500, "mean_mbb": 70.0}], "Deep CFR": []}},
        ("SD-CFR, iteration 500", 96, 70.0),
    ),
    "deep-cfr-variants": (
        {
            "found": [
                {"variant": "Leduc, external sampling", "less_base_mbb": 0.0},
                {"variant": "Leduc, 4 holes, whole", "less_base_mbb": -20.0},
            ]
        },
        ("Leduc, 4 holes, whole, less the base", None, -20.0),
    ),
    "lbr-table": (
        {
            "table": [
                {"setting": "fc", "blueprint": 900.0, "± blueprint": 40.0, "Slumbot 2016": 522, "± Slumbot 2016": 50}
                | {"search=river": None, "search=turn": None}
            ]
        },
        ("fc: blueprint, Slumbot 2016", "522 ± 50", "900 ± 40"),
    ),
    "leduc-pathology": (
        {"ours": {"J.Q.K vs real": 55.0}, "ours_by_cfr_br": {"J.Q.K vs real": 56.0}},
        ("J.Q.K vs real, CFR-BR", 55.2, 56.0),
    ),
    "pcs-variance": ({"single_boards_over_one_iteration": {"start 0": {"2": 1.5}}}, ("start 0, 2 boards", None, 1.5)),
    "search-safety": (
        {"exploitability_mbb": {"flop hold'em": {"blueprint": 300.0, "flop, combined": 50.0}}},
        ("flop hold'em, flop, combined", None, 50.0),
    ),
    "tartanian7-blades": (
        {"exploitability_mbb": {"in parts": {"1e+08": 50.0}}},
        ("in parts, 1e+08 nodes, mbb/g", None, 50.0),
    ),
    "tartanian7-figure-1": (
        {"last": {"hierarchical, blades": {"half-pot": 3.0, "coarse": 5.0}}},
        ("hierarchical, blades, against coarse", None, 5.0),
    ),
    "tartanian7-flops": (
        {"balance": {"sum": [1.2, 1.4]}, "share_of_pairs_closer_than_the_example": 0.01},
        ("balance, sum", None, 1.2),
    ),
    "tartanian7-table-2": ({**TABLE, **THEIRS}, ("New-0.2, minimum", 39.0, 4.0)),
    "time-to-20-mbb": ({"reached": {"leduc": {"pcs": {"seconds": 2.0}, "slow": None}}}, ("leduc, pcs, s", None, 2.0)),
}


@pytest.mark.parametrize("name", _HOMES)
def test_published_values_are_beside_ours(name: str) -> None:
    summary, (row, published, ours) = SUMMARIES[name]
    rows = _module(name).compared(summary)
    assert all(set(each) == {"name", "published", "ours"} for each in rows)
    assert {"name": row, "published": published, "ours": ours} in rows


def test_the_lowest_point_of_cfr_is_beside_the_lowest_published() -> None:
    rows = _module("cfr-br-figure-6").compared(SUMMARIES["cfr-br-figure-6"][0])
    assert rows[0] == {"name": "CFR, lowest", "published": 277, "ours": 399.0}
    assert rows[1] == {"name": "CFR", "published": 305, "ours": 400.0}
