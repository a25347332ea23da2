"""Nodes and reports: EVs add up, over actions, players and cards; what is never reached is marked."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import InputError, Solution, read_spot
from equipoise.cards.range_grid import range_grid
from equipoise.cards.ranges import GRID, Range, hole_text
from equipoise.spots.report import SpotReport, flop_report, read_flops, runout_report, save_csv
from equipoise.spots.solution import NodeView

TURN = """
board = "Qs Js 2s 8d"
pot = 100
stack = 200
ranges = { oop = "QQ,JJ:0.5,T9s,76s,KQ", ip = "AQ,KQ,AJs,T9s:0.5" }
betting = { bet = [0.5, "all-in"] }
"""
RAKE = "[rake]\nrate = 0.05\ncap = 3\n"


@pytest.fixture(scope="module")
def turn() -> Solution:
    return equipoise.solve(read_spot(TURN), target=0.5, threads=1)


def nodes(solution: Solution) -> list[NodeView]:
    lines = (
        ("", ""),
        ("check", ""),
        ("check, bet 50", ""),
        ("check, check", "5c"),
        ("check, bet 50, call, check", "Kh"),
    )
    return [solution.strategy(line, board) for line, board in lines]


@pytest.mark.parametrize("more", ["", RAKE])
def test_evs_of_actions_make_the_evs_of_the_range_and_of_the_pot(more: str) -> None:
    solution = equipoise.solve(read_spot(TURN + more), target=1, threads=1)
    for view in nodes(solution):
        assert view.reached
        assert view.frequency.sum() == pytest.approx(1)
        assert view.range_ev == pytest.approx(np.nansum(view.frequency * view.action_ev), rel=1e-6)
        assert view.range_equity == pytest.approx(np.nansum(view.frequency * view.action_equity), rel=1e-6)
        whole = view.range_ev + view.opponent_ev
        assert whole == pytest.approx(view.pot - (3 if more else 0), abs=1e-3)  # every pot is above 60
    values = [solution.value(player) + 50 for player in (0, 1)]
    assert [solution.strategy().range_ev, solution.strategy().opponent_ev] == pytest.approx(values, abs=1e-3)


def test_evs_count_the_hands_that_can_meet(turn: Solution) -> None:
    """KQ of oop blocks ip's queens and kings: a mean by weight alone is another number."""
    view = turn.strategy("check")
    plain = float(np.nan_to_num(view.hand_ev) @ view.weight / view.weight.sum())
    assert abs(view.range_ev - plain) > 0.1
    hands = {view.hole_text(i): i for i in range(len(view.holes))}
    against = turn.strategy()
    fits = [not set(hole_text(int(h))[::2]) & {"A"} for h in against.holes]
    assert all(fits)  # no hand of oop has an ace: AJs meets every one without its jack
    jack = [bool({"Jh"} & {hole_text(int(h))[:2], hole_text(int(h))[2:]}) for h in against.holes]
    check = against.strategy[0] * against.weight
    assert view.meets[hands["AhJh"]] == pytest.approx(check[~np.array(jack)].sum(), rel=1e-5)


def test_rows_of_a_report_average_to_the_node_above(turn: Solution) -> None:
    """The EV of a check that ends the street is that of all rivers, by their chances."""
    report = runout_report(turn)
    assert (report.what, report.line, len(report.rows)) == ("river", "check, check", 48)
    assert sum(row.chance for row in report.rows) == pytest.approx(1)
    above = turn.strategy("check")
    assert report.mean().ev[1] == pytest.approx(above.action_ev[above.actions.index("check")], abs=1e-3)
    assert report.mean().equity[1] == pytest.approx(above.action_equity[0], abs=1e-4)
    uneven = np.array([row.chance for row in report.rows])
    assert np.ptp(uneven) > 0.005  # ranges hold some cards more often: a plain mean would be another number
    plain = np.mean([row.ev[1] for row in report.rows])
    assert abs(plain - report.mean().ev[1]) > 0.05
    called = runout_report(turn, "check, bet 50, call")
    facing = turn.strategy("check, bet 50")
    assert called.mean().ev[0] - 50 == pytest.approx(facing.action_ev[facing.actions.index("call")], abs=1e-3)


def test_a_report_of_ip_is_not_that_of_oop(turn: Solution) -> None:
    report = runout_report(turn, "check, check, check")
    node = turn.strategy("check, check, check", "5d")
    row = next(row for row in report.rows if row.cards == "5d")
    assert report.player == node.player == 1
    assert row.ev == pytest.approx((node.opponent_ev, node.range_ev))
    assert row.equity == pytest.approx((1 - node.range_equity, node.range_equity))
    assert abs(row.ev[0] - row.ev[1]) > 1
    assert report.values("ev") == report.values("ev_ip") != report.values("ev_oop")


def test_cards_that_differ_by_a_renaming_of_suits_have_equal_rows(turn: Solution) -> None:
    rows = {row.cards: row for row in runout_report(turn).rows}
    assert len(turn.engine.cards.cards) < 49
    for rank in "AKT953":
        clubs, hearts = rows[f"{rank}c"], rows[f"{rank}h"]
        assert (clubs.chance, clubs.frequency, clubs.ev) == (hearts.chance, hearts.frequency, hearts.ev)
    assert rows["Ac"].ev != rows["As"].ev
    node = turn.strategy("check, check", "5h")
    assert rows["5h"].frequency == pytest.approx(node.frequency)
    assert rows["5h"].ev == pytest.approx((node.range_ev, node.opponent_ev))


def test_what_is_never_reached_is_marked() -> None:
    lock = '[[lock]]\nline = "check"\nstrategy = { check = 1.0 }\n'
    solution = equipoise.solve(read_spot(TURN + lock), target=100, iterations=20, threads=1)
    never = solution.strategy("check, bet 50")
    assert (never.reached, never.reach) == (False, 0)
    assert np.isnan(never.range_ev)
    assert np.isnan(never.frequency).all()
    assert never.as_json()["reached"] is False
    report = runout_report(solution, "check, bet 50, call")
    assert not any(row.reached for row in report.rows)
    assert not report.mean().reached
    assert solution.strategy("check, check", "5c").reached
    nines = [cell for row in solution.strategy().grid() for cell in row if cell.name == "99"]
    assert (nines[0].holes, nines[0].weight, nines[0].mix) == (0, 0.0, ())


def test_hands_that_never_get_here_have_no_weight() -> None:
    lock = '[[lock]]\nline = ""\nstrategy = { check = "QQ,JJ", "bet 50" = "KQ,T9s,76s" }\n'
    solution = equipoise.solve(read_spot(TURN + lock), target=100, iterations=20, threads=1)
    facing = solution.strategy("bet 50")
    queens = [i for i in range(len(facing.holes)) if facing.hole_text(i)[0] == "A"]
    assert (facing.meets[queens] > 0).all()
    later = solution.strategy("bet 50, call, check", "5c")
    assert later.player == 1
    mine = solution.strategy("bet 50, call", "5c")
    grid = {cell.name: cell for row in mine.grid() for cell in row}
    assert grid["QQ"].weight == grid["JJ"].weight == 0
    assert grid["T9s"].weight > 0.9


def test_a_report_is_sorted_saved_and_refused(turn: Solution, tmp_path: Path) -> None:
    report = runout_report(turn, "check, bet 50, call")
    by_ev = report.sorted_by("ev")
    assert [row.ev[0] for row in by_ev.rows] == sorted((row.ev[0] for row in report.rows), reverse=True)
    checks = report.sorted_by("check").values("check")
    assert checks == sorted(checks, reverse=True)
    save_csv(tmp_path / "x.csv", report.to_rows())
    with (tmp_path / "x.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["card"] for row in rows] == [row.cards for row in report.rows]
    assert float(rows[3]["ev_oop"]) == report.rows[3].ev[0]
    for line, board, said in (
        ("check, bet 50", "", "next card"),
        ("check, check", "5c", "0 cards before"),
        ("check, all-in, call", "", "nothing to decide"),
    ):
        with pytest.raises(InputError, match=said):
            runout_report(turn, line, board)
    with pytest.raises(InputError, match="no column 'jam'"):
        report.sorted_by("jam")
    river = read_spot(TURN.replace("8d", "8d 3c"))
    with pytest.raises(InputError, match="no card is dealt"):
        runout_report(equipoise.solve(river, iterations=2, threads=1))


def test_a_report_over_flops_solves_each(tmp_path: Path) -> None:
    spot = read_spot(TURN.replace("Qs Js 2s 8d", "Qs Js 2s").replace('bet = [0.5, "all-in"]', "bet = [1.0], cap = 1"))
    listed = tmp_path / "flops.txt"
    listed.write_text("# two flops\nQhJh2h\n3c 4d 5h  # a low one\n")
    flops = read_flops(str(listed))
    assert flops == read_flops("QhJh2h, 3c4d5h") == ["QhJh2h", "3c4d5h"]
    report = flop_report(spot, flops, target=5, threads=1)
    own = equipoise.solve(spot, target=5, threads=1).strategy()
    assert report.rows[0].ev == pytest.approx((own.range_ev, own.opponent_ev), abs=0.2)  # the same flop in hearts
    assert abs(report.rows[1].ev[0] - report.rows[0].ev[0]) > 1
    assert isinstance(report, SpotReport)
    for wrong in ("QhJh", "Qh Jh 2h 3c", "", "QhJhQh", "x"):
        with pytest.raises(InputError):
            read_flops(wrong)
    with pytest.raises(InputError, match="4 cards on its board"):
        flop_report(read_spot(TURN), flops)


def test_the_grid_holds_every_hand_once() -> None:
    weights = Range.read("AA:0.5,AKs,KQo:0.25").weights
    strategy = np.stack([np.arange(1326) % 2, 1 - np.arange(1326) % 2]).astype(float)
    grid = range_grid(np.arange(1326), weights, strategy)
    assert [len(row) for row in grid] == [13] * 13
    cells = {cell.name: cell for row in grid for cell in row}
    assert cells.keys() == {cell.name for cell in GRID}
    assert sum(cell.holes for cell in cells.values()) == 1326
    assert (grid[0][1].name, grid[1][0].name, grid[12][12].name) == ("AKs", "AKo", "22")
    assert (cells["AA"].weight, cells["AKs"].weight, cells["KQo"].weight, cells["KQs"].weight) == (0.5, 1, 0.25, 0)
    aces = [hole for cell in GRID if cell.name == "AA" for hole in cell.holes]
    assert cells["AA"].mix == pytest.approx((np.mean(np.array(aces) % 2), 1 - np.mean(np.array(aces) % 2)))
    assert cells["KQs"].mix == ()


def test_a_solution_is_solved_again_from_its_spot(turn: Solution, tmp_path: Path) -> None:
    turn.save(tmp_path / "turn.solution")
    again = equipoise.solve(tmp_path / "turn.solution", target=0.1, threads=1)
    assert again.percent <= 0.1 < turn.percent
    assert again.problem.spot == turn.problem.spot
    assert again.problem.name == "turn"
    with pytest.raises(InputError, match="own bets"):
        equipoise.solve(tmp_path / "turn.solution", menu="pot")


@pytest.mark.parametrize(
    ("variant", "storage"), [("practical", "float32"), ("predictive", "float32"), ("cfr+", "int16")]
)
def test_a_solve_that_kept_its_regrets_continues_to_the_same_bits(variant: str, storage: str, tmp_path: Path) -> None:
    lock = '[[lock]]\nline = "check"\nstrategy = { check = 0.75 }\n'
    options: dict[str, Any] = {"target": 0, "threads": 1, "variant": variant, "storage": storage}
    whole = equipoise.solve(read_spot(TURN + lock), iterations=60, **options)
    part = equipoise.solve(read_spot(TURN + lock), iterations=25, resumable=True, **options)
    part.save(tmp_path / "part.solution")
    loaded = Solution.load(tmp_path / "part.solution")
    np.testing.assert_array_equal(loaded.average, part.average)  # gaps are filled when it is opened
    rest = equipoise.solve(tmp_path / "part.solution", iterations=60, **options)
    np.testing.assert_array_equal(rest.average, whole.average)
    assert (rest.iterations, rest.stopped, rest.state) == (60, "target", None)
    assert rest.history[: len(part.history)] == part.history
    assert rest.seconds > part.seconds
    again = equipoise.solve(loaded, iterations=60, **{**options, "variant": "linear"})
    assert again.history[0][0] == 10  # another variant starts from the start
    done = equipoise.solve(loaded, **{**options, "target": loaded.percent * 1.01})
    assert (done.iterations, done.stopped) == (25, "target")


def test_pictures_are_drawn(turn: Solution, tmp_path: Path) -> None:
    from equipoise.spots.pictures import draw_node, draw_report

    draw_node(turn.strategy(), tmp_path / "node.png")
    draw_report(runout_report(turn), tmp_path / "report.png")
    flops = replace(runout_report(turn), what="flop", rows=[replace(runout_report(turn).rows[0], cards="QhJh2h")])
    draw_report(flops, tmp_path / "flops.png")
    for name in ("node", "report", "flops"):
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(InputError, match="hold'em"):
        draw_node(equipoise.solve("kuhn", iterations=2, threads=1).strategy(), tmp_path / "kuhn.png")


def test_equity_of_one_card_hands() -> None:
    """Leduc's pair wins against every card but its own kind, of which none is left."""
    solution = equipoise.solve("leduc", target=5, threads=1)
    view = solution.strategy("check, check", "2c")
    equity = {view.hole_text(i): view.equity[i] for i in range(len(view.holes))}
    assert equity["2d"] == pytest.approx(1)
    assert 0 < equity["3c"] < equity["4c"] < 1
    report = runout_report(solution)
    assert [row.cards for row in report.rows] == ["2c", "2d", "3c", "3d", "4c", "4d"]
