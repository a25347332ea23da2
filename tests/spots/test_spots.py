"""Spots: agreement with another solver, the laws of locks and lines, files that are whole or refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise import Deck, InputError, Solution, load_game, read_spot
from equipoise.cards.ranges import hole_text
from equipoise.spots.problem import Problem
from equipoise.spots.spot import Spot, load_spot
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.lines import find_line, line_of

DATA = Path(__file__).parents[1] / "data"

RIVER = """
board = "Qs Jh 2h 8d 5c"
pot = {pot}
stack = 200
ranges = {{ oop = "{oop}", ip = "{ip}" }}
[betting]
bet = [0.5, "all-in"]
{more}
"""


def river(oop: str = "QQ,JJ,T9s,76s", ip: str = "AQ,KQ,AJs,T9s", pot: int = 100, more: str = "") -> Spot:
    return read_spot(RIVER.format(oop=oop, ip=ip, pot=pot, more=more))


@pytest.fixture(scope="module")
def reference() -> dict[str, object]:
    """A turn solved by another program to 0.01% of the pot: its rules, tree, EVs and strategies."""
    found: dict[str, object] = json.loads((DATA / "turn.json").read_text())
    return found


@pytest.fixture(scope="module")
def turn() -> Solution:
    return equipoise.solve(load_spot("turn"), target=0.02, threads=1)


def by_hand(view, values):  # type: ignore[no-untyped-def]
    return {hole_text(int(hole)): values[..., i] for i, hole in enumerate(view.holes)}


def test_the_tree_is_the_reference_tree(reference) -> None:  # type: ignore[no-untyped-def]
    tree = load_spot("turn").tree()
    ours = {}
    for node in np.flatnonzero(tree.kind == DECISION):
        names = [name.replace("all-in", "allin") for name in _names(tree, int(node))]
        ours[line_of(tree, int(node)).replace("all-in", "allin")] = (int(tree.player[node]), names)
    theirs = {}
    for node in reference["betting_tree"]:
        line = [_plain(part) for part in node["history"].replace("|", "").split() if part]
        theirs[", ".join(line)] = (node["player"], [_plain(action) for action in node["actions"]])
    assert ours == theirs


def _names(tree, node: int) -> list[str]:  # type: ignore[no-untyped-def]
    from equipoise.tree.lines import action_names

    return action_names(tree, node)


def _plain(action: str) -> str:
    return action.lower().replace("(", " ").replace(")", "").strip()


def test_turn_agrees_with_another_solver(turn: Solution, reference) -> None:  # type: ignore[no-untyped-def]
    values = [turn.value(player) + 100 for player in (0, 1)]
    assert sum(values) == pytest.approx(200, abs=1e-3)
    assert values == pytest.approx(reference["result"]["root_ev"], abs=0.001 * 200)
    assert 100 * turn.exploitability() / 200 <= 0.02
    root = turn.strategy()
    assert by_hand(root, root.holes).keys() == reference["player0"]["hands"].keys()
    for player, name in ((0, "player0"), (1, "player1")):
        hands = reference[name]["hands"]
        holes = turn.engine.cards.holes(0, player)
        evs = dict(zip((hole_text(int(h)) for h in holes), turn.values(player) + 100, strict=True))
        assert np.mean([abs(evs[hand] - hands[hand]["ev"]) for hand in hands]) < 0.4  # chips of a pot of 200
        assert max(abs(evs[hand] - hands[hand]["ev"]) for hand in hands) < 2.5
    equities = by_hand(root, root.equity)
    for hand, told in reference["player0"]["hands"].items():
        assert equities[hand] == pytest.approx(told["equity"], abs=1e-5)


def test_turn_strategies_agree_where_equilibria_leave_no_choice(turn: Solution, reference) -> None:  # type: ignore[no-untyped-def]
    root, after_check = turn.strategy(), turn.strategy("check")
    nodes = {node["line"]: node for node in reference["nodes"]}
    assert root.frequency == pytest.approx(nodes[""]["range_frequency"], abs=0.02)
    assert after_check.frequency == pytest.approx(nodes["Check"]["range_frequency"], abs=0.03)
    played = by_hand(after_check, after_check.strategy)
    told = nodes["Check"]["hands"]
    clear = [
        h for h in told if max(told[h]["freq"]) > 0.999 and np.ptp(np.partition(told[h]["action_ev"], -2)[-2:]) > 3
    ]
    assert len(clear) > 30
    for hand in clear:
        assert played[hand].argmax() == np.argmax(told[hand]["freq"]), hand
    worth = by_hand(after_check, after_check.ev)
    close = [abs(worth[hand][a] - told[hand]["action_ev"][a]) for hand in told for a in (0, 1)]
    assert np.mean(close) < 0.5


def test_a_locked_opponent_who_always_folds_is_bluffed_with_everything() -> None:
    lock = (
        '[[lock]]\nline = "bet 50"\nstrategy = { fold = 1.0 }\n[[lock]]\nline = "all-in"\nstrategy = { fold = 1.0 }\n'
    )
    free = equipoise.solve(river(oop="QQ,76s,64s,43s"), target=0.05, threads=1)
    locked = equipoise.solve(river(oop="QQ,76s,64s,43s", more=lock), target=0.05, threads=1)
    bets = 1 - locked.strategy().strategy[0]
    air = [i for i, hole in enumerate(locked.strategy().holes) if hole_text(int(hole))[0] == "7"]
    assert bets[air].min() > 0.99
    assert free.strategy().strategy[0][air].min() > 0.1  # some of it gives up against one who calls
    assert locked.strategy("bet 50").strategy[0].min() == pytest.approx(1)
    assert locked.value(0) > free.value(0) + 1


def test_a_lock_on_the_river_changes_the_turn() -> None:
    text = load_spot("turn").text.replace("target = 0.1", "target = 1.0")
    free = equipoise.solve(read_spot(text), threads=1)
    lock = '\n[[lock]]\nline = "check, check, bet 100"\nstrategy = { fold = 1.0 }\n'
    locked = equipoise.solve(read_spot(text + lock), threads=1)
    assert locked.value(0) > free.value(0) + 2
    assert locked.strategy("check, check", "3d").frequency[0] < free.strategy("check, check", "3d").frequency[0]
    one = equipoise.solve(read_spot(text + lock + 'board = "3d"\n'), target=100, iterations=100, threads=1)
    folds = one.strategy("check, check, bet 100", "3d").strategy[0].min()
    assert folds == pytest.approx(1)
    assert one.strategy("check, check, bet 100", "3c").strategy[0].min() < 0.5


def test_lock_frequencies_by_range() -> None:
    lock = '[[lock]]\nline = "check"\nstrategy = { "bet 50" = "AQ:0.25,T9s" }\n'
    solution = equipoise.solve(river(more=lock), target=100, iterations=50, threads=1)
    view = solution.strategy("check")
    mix = by_hand(view, view.strategy)
    assert mix["AcQc"] == pytest.approx([0.375, 0.25, 0.375], abs=1e-6)
    assert mix["Th9h"] == pytest.approx([0, 1, 0], abs=1e-6)


def test_rake_comes_out_of_the_pot() -> None:
    for pot in (100, 101):
        free = equipoise.solve(river(pot=pot), target=0.05, threads=1)
        assert free.value(0) + free.value(1) == pytest.approx(0, abs=1e-4)
        raked = equipoise.solve(river(pot=pot, more="[rake]\nrate = 0.05\ncap = 3"), target=0.05, threads=1)
        assert raked.value(0) + raked.value(1) == pytest.approx(-3, abs=1e-4)  # every pot is above 60
        assert 0 <= raked.exploitability() < 0.06


def test_mirror_boards_show_mirror_hands() -> None:
    spot = read_spot(
        'board = "Qs Jh 2d 8c"\npot = 50\nstack = 50\nranges = { oop = "any", ip = "any" }\nbetting = { bet = [1.0] }'
    )
    assert len(Problem.of_spot(spot).cards.cards) == 49
    spot = read_spot(
        'board = "Qs Js 2s 8s"\npot = 50\nstack = 50\nranges = { oop = "99,A7s", ip = "KT" }\nbetting = { bet = [1.0] }'
    )
    solution = equipoise.solve(spot, target=0.5, threads=1)
    assert len(solution.engine.cards.cards) < 49
    one, two = solution.strategy("check, check", "5c"), solution.strategy("check, check", "5h")
    swapped = {hand.translate(str.maketrans("ch", "hc")): mix for hand, mix in by_hand(two, two.strategy).items()}
    for hand, mix in by_hand(one, one.strategy).items():
        first, second = hand[:2], hand[2:]
        assert mix == pytest.approx(swapped.get(first + second, swapped.get(second + first)), abs=1e-6)


def test_lines_name_every_node_and_find_it_again() -> None:
    tree = load_spot("turn").tree()
    for node in np.flatnonzero(tree.kind == DECISION):
        assert find_line(tree, line_of(tree, int(node))) == node
    assert find_line(tree, " Check ,ALL-IN") == find_line(tree, "check, all-in 800")
    for line in ("bet 99", "check, fold", "jump", "bet", "check, check, check, check, check"):
        with pytest.raises(InputError, match=r"line|action"):
            find_line(tree, line)


def locked(line: str, strategy: str, **more: str) -> dict[str, list[float]]:
    """How each hand plays at a locked line, in a solution; every hand's frequencies add up to one."""
    spot = river(more=f'[[lock]]\nline = "{line}"\nstrategy = {strategy}', **more)
    view = equipoise.solve(spot, iterations=3, threads=1).strategy(line)
    assert view.strategy.sum(axis=0) == pytest.approx(1, abs=1e-6)
    return {hand: pytest.approx(mix.tolist(), abs=1e-6) for hand, mix in by_hand(view, view.strategy).items()}


@pytest.mark.parametrize(
    ("strategy", "queens", "kings", "nines"),  # fold, call, raise 150, all-in 200 of AhQh, KhQh, Th9h
    [
        ("{ fold = 1.0 }", [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]),
        ('{ "all-in" = "AQ,AKs", call = "KQ:0.5" }', [0, 0, 0, 1], [0.25, 0.5, 0.25, 0], [0.5, 0, 0.5, 0]),
        ('{ "raise 150" = "AQ", fold = "T9s", call = "KQ" }', [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]),
        ('{ fold = 0.25, "all-in" = "AQ:0.5" }', [0.25, 0.125, 0.125, 0.5], *[[0.25, 0.375, 0.375, 0]] * 2),
        ('{ fold = 0.1, call = 0.2, "raise 150" = 0.3, "all-in" = 0.4 }', *[[0.1, 0.2, 0.3, 0.4]] * 3),
        ('{ fold = "T9s", call = "KQ,22", "raise 150" = "AJs", "all-in" = "AQ" }',
         [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0]),
    ],
)  # fmt: skip
def test_a_lock_is_played_as_it_is_written(
    strategy: str, queens: list[float], kings: list[float], nines: list[float]
) -> None:
    found = locked("bet 50", strategy)
    assert (found["AhQh"], found["KhQh"], found["Th9h"]) == (queens, kings, nines)


@pytest.mark.parametrize("name", ["all-in", "allin", "all in", "ALL-IN", "All  in 200", "all-in to 200", "raise 200"])
def test_every_spelling_of_an_all_in_is_that_action(name: str) -> None:
    assert locked("bet 50", f'{{ "{name}" = 0.1 }}')["AhQh"] == [0.3, 0.3, 0.3, 0.1]
    tree = river().tree()
    assert find_line(tree, f"bet 50, {name}") == find_line(tree, "bet 50, all-in 200")


@pytest.mark.parametrize(
    ("line", "strategy", "mix"),
    [
        ("", '{ "all-in" = 0.1 }', [0.45, 0.45, 0.1]),
        ("", '{ "bet to 50" = 0.25, "bet 200" = 0.5 }', [0.25, 0.25, 0.5]),
        ("", "{ check = 0.5 }", [0.5, 0.25, 0.25]),
        ("check, all in", "{ fold = 0.1 }", [0.1, 0.9]),
        ("check, bet 50, raise to 150", '{ "raise 200" = 0.1 }', [0.45, 0.45, 0.1]),
    ],
)
def test_what_a_lock_leaves_goes_to_the_other_actions(line: str, strategy: str, mix: list[float]) -> None:
    assert all(found == mix for found in locked(line, strategy).values())


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ('{ "all-in" = 0.1, allin = 0.2 }', "one action"),
        ('{ "raise 150" = 0.1, "raise to 150" = 0.2 }', "one action"),
        ('{ fold = 0.3, call = 0.3, "raise 150" = 0.2, "all-in" = 0.1 }', "0.9, less than 1"),
        ('{ fold = "AQ", call = "KQ", "raise 150" = "AJs", "all-in" = "AA" }', "Tc9c gets 0, less than 1"),
        ('{ fold = "AQ", call = "AQ,KQ" }', "2, more than 1"),
        ('{ "raise 151" = 1.0 }', "raise 151"),
        ("{ raise = 1.0 }", "raise 150"),
        ("{ check = 1.0 }", "check"),
    ],
)
def test_a_lock_that_cannot_be_played_is_refused(strategy: str, said: str) -> None:
    spot = river(more=f'[[lock]]\nline = "bet 50"\nstrategy = {strategy}')
    with pytest.raises(InputError, match="the lock after 'bet 50'") as error:
        Problem.of_spot(spot)
    assert said in str(error.value)


def test_a_solution_file_is_whole_or_refused(tmp_path: Path) -> None:
    solution = equipoise.solve(river(), target=0.2, threads=1)
    path = tmp_path / "river.solution"
    solution.save(path)
    again = Solution.load(path)
    np.testing.assert_array_equal(again.average, solution.compact().average)
    assert again.strategy("check").frequency == pytest.approx(solution.strategy("check").frequency, abs=0.002)
    assert again.percent == solution.percent
    whole = path.read_bytes()
    for damage in (
        whole[:-7],
        whole[:100],
        b"",
        whole[:4200] + bytes([whole[4200] ^ 1]) + whole[4201:],
        b"{}\n" + whole,
    ):
        path.write_bytes(damage)
        with pytest.raises(InputError) as error:
            Solution.load(path)
        assert "river.solution" in str(error.value)
    with pytest.raises(InputError):
        solution.save(tmp_path / "nowhere" / "x.solution")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('board = "Qs Jh 2h 8d Qs"', "twice"),
        ('board = "Qs Jh"', "board"),
        ("pot = 0", "pot"),
        ("pot = 1.5", "pot"),
        ("stack = -1", "stack"),
        ('ranges = { oop = "QsJh", ip = "AA" }', "oop"),
        ('ranges = { oop = "QQ" }', "ip"),
        ('ranges = { oop = "Q?", ip = "AA" }', "Q?"),
        ("target = -1", "target"),
        ("wings = 2", "wings"),
        ("betting = { }", "bet"),
        ('lock = [ { line = "jump", strategy = { fold = 1.0 } } ]', "jump"),
        ('lock = [ { line = "bet 50", strategy = { jump = 1.0 } } ]', "jump"),
        ('lock = [ { line = "bet 50", strategy = { fold = 0.7, call = 0.7 } } ]', "more than 1"),
        ("this is not toml", "TOML"),
    ],
)
def test_bad_spots_are_one_clear_line(change: str, said: str) -> None:
    table = {
        "board": 'board = "Qs Jh 2h 8d 5c"',
        "pot": "pot = 100",
        "stack": "stack = 200000",
        "ranges": 'ranges = { oop = "QQ", ip = "AA" }',
        "betting": "betting = { bet = [0.5] }",
    }
    table[change.split(" = ")[0]] = change
    with pytest.raises(InputError) as error:
        equipoise.solve(read_spot("\n".join(table.values()), "spot.toml"), iterations=1, threads=1)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_tree_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.spots.problem.MOST_NODES", 150)
    with pytest.raises(InputError, match="over 150 nodes"):
        equipoise.solve(load_spot("turn"), threads=1)


def test_memory_is_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.spots.solve.available_memory", lambda: 1000)
    with pytest.raises(InputError, match="only 1 kB is free"):
        equipoise.solve(river(), threads=1)


def test_interrupting_keeps_what_there_is() -> None:
    def stop(now: equipoise.SolveProgress) -> None:
        if now.iteration >= 20:
            raise KeyboardInterrupt

    solution = equipoise.solve(river(), target=0, threads=1, on_progress=stop)
    assert solution.iterations == 20
    assert solution.strategy().strategy.sum(axis=0) == pytest.approx(1)


def test_a_reduced_deck_game_of_four_streets_is_solved_and_measured() -> None:
    """No-limit hold'em with twelve cards, all-ins on every street; measured in double precision by another engine."""
    rules = dataclasses.replace(load_game("holdem.nolimit"), deck=Deck(4, 3), stacks=(400, 400), name="reduced")
    solution = equipoise.solve(rules, menu={"bet": [1.0, "all-in"]}, target=0.2, threads=2)
    assert len(solution.engine.tree.entries[3]) > 5
    exact = solution.problem.engine(1, np.float64)
    table = solution.average.astype(np.float64)
    first, second = exact.best_responses(exact.tables(table))
    assert 0 < (first + second) / 2 <= 0.002 * 100 * 1.05
    assert exact.evaluate(0, exact.tables(table)) == pytest.approx(solution.value(0), abs=1e-3)
    uniform = exact.best_responses(exact.tables(exact.zeros()))
    assert sum(uniform) / 2 > 50  # chips: half a big blind and more
