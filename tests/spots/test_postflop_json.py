"""Spots from desktop-postflop: the same trees as that program, its reading of ranges, and no option dropped."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import InputError, Solution, read_spot
from equipoise.cards.ranges import Range
from equipoise.spots.spot import load_spot
from equipoise.tree.lines import action_names, find_line

SPOTS = Path(__file__).parents[2] / "src/equipoise/spots/examples"
REFERENCE = Path(__file__).parents[1] / "data" / "turn.json"
ARRAYS = ("kind", "player", "street", "parent", "first_child", "num_children", "action", "chips", "street_first")


def exported(bet: str = "50, a", raises: str = "60, a", **options: Any) -> dict[str, Any]:
    """What the program writes for the turn of spots/turn.toml, with changes."""
    sides = [f"{who}{street}" for who in ("oop", "ip") for street in ("Flop", "Turn", "River")]
    config = {
        "board": ["Qs", "Jh", "2h", "8d"], "startingPot": 200, "effectiveStack": 800, "rakePercent": 0, "rakeCap": 0,
        "donkOption": False, "oopTurnDonk": "", "oopRiverDonk": "", "addAllInThreshold": 0, "forceAllInThreshold": 0,
        "mergingThreshold": 0, "expectedBoardLength": 0, "addedLines": "", "removedLines": "",
        **{f"{side}Bet": bet for side in sides}, **{f"{side}Raise": raises for side in sides}, **options,
    }  # fmt: skip
    reference = json.loads(REFERENCE.read_text())
    return {"oopRange": reference["range_oop"], "ipRange": reference["range_ip"], "config": config}


def actions(config: dict[str, Any], line: str = "") -> list[str]:
    tree = read_spot(json.dumps(config)).tree()
    return action_names(tree, find_line(tree, line))


@pytest.mark.parametrize(("pot", "stack"), [(200, 800), (201, 777), (20, 100), (7, 3)])
def test_a_tree_of_fractions_is_the_tree_of_the_menu(pot: int, stack: int) -> None:
    """Grown in Python, and by the kernel; spots/turn.toml agrees with the other program node by node."""
    ours = replace(load_spot(SPOTS / "turn.toml"), pot=pot, stack=stack)
    theirs = read_spot(json.dumps(exported(startingPot=pot, effectiveStack=stack)))
    assert theirs.ranges == ours.ranges
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(theirs.tree(), name), getattr(ours.tree(), name), name)


def test_the_published_example_of_that_solver() -> None:
    """The first example of its documentation: pot 200, stack 900, sizes `60%, e, a` and `2.5x`."""
    example = exported(
        "60%, e, a", "2.5x", board=["Td", "9d", "6h", "Qc"], effectiveStack=900, addAllInThreshold=150,
        forceAllInThreshold=15, mergingThreshold=10,
    )  # fmt: skip
    assert actions(example) == ["check", "bet 120", "bet 216", "all-in 900"]
    assert actions(example, "bet 120") == ["fold", "call", "raise 300"]
    example["ipRange"] = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"
    spot = read_spot(json.dumps(example))
    assert np.count_nonzero(spot.ranges[1].without(spot.board).weights) == 250  # its number of hands of ip


@pytest.mark.parametrize(
    ("config", "line", "offered"),
    [
        (exported("30c", "100c1r, 2x"), "bet 30", ["fold", "call", "raise 60", "raise 130"]),
        (exported("30c", "100c1r, 2x"), "bet 30, raise 130", ["fold", "call", "raise 260"]),
        (exported("e"), "", ["check", "bet 200"]),  # 200 in a pot of 200, twice: 800
        (exported("1e"), "", ["check", "all-in 800"]),
        (exported("2e50"), "", ["check", "bet 100"]),
        (exported("e", "2e"), "bet 200", ["fold", "call", "raise 420"]),  # 600 behind a pot of 600, over two bets
        (exported("e", "2e"), "bet 200, raise 420", ["fold", "call", "all-in 800"]),  # the second of the two
        (exported("50", addAllInThreshold=400), "", ["check", "bet 100", "all-in 800"]),
        (exported("50", addAllInThreshold=399), "", ["check", "bet 100"]),
        (exported("300", forceAllInThreshold=14), "", ["check", "bet 600"]),  # 200 behind a pot of 1,400
        (exported("300", forceAllInThreshold=15), "", ["check", "all-in 800"]),
        (exported("50, 60, 100", mergingThreshold=7), "", ["check", "bet 120", "bet 200"]),  # 1.6 / 1.5 < 1.07
        (exported("50, 60, 100", mergingThreshold=6), "", ["check", "bet 100", "bet 120", "bet 200"]),
        (exported("50", "1"), "bet 100", ["fold", "call", "raise 200"]),  # below the minimum
        (exported("50", ""), "bet 100", ["fold", "call"]),
        (exported("50", donkOption=True, oopRiverDonk="25"), "check, bet 100, call", ["check", "bet 100"]),
        (exported("50", donkOption=True, oopRiverDonk="25"), "check, check", ["check", "bet 100"]),
        (exported("100", donkOption=True, oopRiverDonk="25"), "bet 200, call", ["check", "all-in 600"]),
        (exported("100", oopRiverDonk="25"), "check, bet 200, call", ["check", "all-in 600"]),
        (exported("100", donkOption=True), "check, bet 200, call", ["check"]),
    ],
)
def test_sizes_and_thresholds(config: dict[str, Any], line: str, offered: list[str]) -> None:
    assert actions(config, line) == offered


def test_ranges_are_read_as_there() -> None:
    def read(text: str) -> Range:
        return read_spot(json.dumps({**exported(), "oopRange": text})).ranges[0]

    assert read("AA:0.5,QQ+") == Range.read("KK,QQ,AA:0.5")  # the first part that names a hand counts
    assert read("JTs+:0.5") == Range.read("AKs:0.5,KQs:0.5,QJs:0.5,JTs:0.5")
    assert read("ATs+,65o+") == Range.read("ATs+,AKo-65o")
    assert read("AKs+") == Range.read("AKs")
    assert read("AhKh:0.25,AKs") == Range.read("AKs,AhKh:0.25")


def test_rake_and_a_solution_file(tmp_path: Path) -> None:
    config = exported("100, a", "a", board=["Qs", "Jh", "2h", "8d", "5c"], rakePercent=5, rakeCap=3)
    path = tmp_path / "my_export.json"
    path.write_text(json.dumps(config))
    solution = equipoise.solve(path, target=0.5, threads=1)
    assert solution.problem.name == "my_export"
    assert solution.value(0) + solution.value(1) == pytest.approx(-3, abs=1e-3)
    solution.save(tmp_path / "x.solution")
    again = Solution.load(tmp_path / "x.solution")
    assert again.strategy("check").actions == ["check", "bet 200", "all-in 800"]
    assert again.strategy().range_ev == pytest.approx(solution.strategy().range_ev, abs=1e-4 * 100)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"addedLines": "X-B100"}, "edited tree (addedLines)"),
        ({"removedLines": "X"}, "edited tree (removedLines)"),
        ({"bunching": 1}, "unknown option 'bunching'"),
        ({"ipTurnBet": "2x"}, "ipTurnBet: bet size '2x', which is for raises"),
        ({"ipTurnRaise": "1x"}, "ipTurnRaise: raise '1x'"),
        ({"oopRiverBet": "half"}, "oopRiverBet: bet size 'half'"),
        ({"oopRiverBet": 50}, "oopRiverBet is '50'"),
        ({"startingPot": 10.5}, "startingPot"),
        ({"startingPot": float("nan")}, "startingPot"),
        ({"effectiveStack": 10**400}, "effectiveStack"),
        ({"oopTurnBet": "1%," * 31}, "31 bet sizes"),
        ({"effectiveStack": 0}, "effectiveStack"),
        ({"mergingThreshold": -1}, "mergingThreshold"),
        ({"board": ["Qs", "Jh"]}, "board of 2 cards"),
        ({"board": [44, 3, 2]}, "board"),
    ],
)
def test_what_has_no_equivalent_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        read_spot(json.dumps(exported(**change)), "my.json")
    assert said in str(error.value)


def test_a_tree_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.spots.postflop_bets.MOST_GROWN", 20_000)
    sizes = ",".join(f"{size}c" for size in range(1, 31))
    spot = read_spot(json.dumps(exported(sizes, sizes, effectiveStack=30000)))
    with pytest.raises(InputError, match="over 20,000 nodes"):
        spot.tree()


@pytest.mark.parametrize("text", ["{", "{}", '{"config": {}}', '{"oopRange": 1, "config": {"board": []}}', "{" * 9999])
def test_other_json_is_one_clear_line(text: str) -> None:
    with pytest.raises(InputError) as error:
        read_spot(text, "my.json")
    assert "\n" not in str(error.value)
    assert "my.json" in str(error.value)
