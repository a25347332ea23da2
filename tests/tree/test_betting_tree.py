"""The betting tree against the betting state, and the counts that are published."""

import dataclasses
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from equipoise import BetMenu, BettingState, GameRules, InputError, SlotLayout, build_tree, load_game, load_menu
from equipoise.games.bet_menu import round_half_away
from equipoise.games.betting_state import CALL, FOLD
from equipoise.tree import betting_tree as public_tree
from equipoise.tree.betting_tree import (
    DEAL,
    DECISION,
    FOLDED,
    SHOWDOWN,
    BettingTree,
    Root,
    betting_plan,
    count_nodes,
)
from equipoise.tree.infosets import board_blocks, boards, lossless_hands, perfect_recall, raw_hands, table_rows

PUBLISHED = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())
SMALL = dataclasses.replace(load_game("holdem.nolimit"), stacks=(1300, 1300), name="small")


def menu(table: dict[str, object], rules: GameRules = SMALL) -> BetMenu:
    return BetMenu.from_table(table, rules.rounds)


MENUS = {
    "pot": {"bet": [1.0, "all-in"]},
    "many": {"bet": [0.25, 0.5, 1, "all-in", "min"], "raise": [0.6, "min"], "three_bet": [2.5], "four_bet": ["all-in"]},
    "positions": {"bet": [0.5], "ip": {"bet": [1.0, "all-in"]}, "flop": {"raise": [0.7], "oop": {"bet": ["min"]}}},
    "capped": {"bet": [0.5, 1.0], "cap": 2, "river": {"bet": ["all-in"], "cap": 1}, "flop": {"cap": 0}},
}


def offered(state: BettingState, bets: BetMenu | None) -> list[int]:
    """The naive twin: the actions that the rules of `bet_menu.py` offer in a state."""
    legal = state.legal()
    raises: set[int] = set()
    if legal.can_raise and bets is None:
        raises = {legal.raise_max}
    elif legal.can_raise and bets and state.raises < bets.caps[state.round]:
        most = max(state.spent)
        for size in bets.sizes[state.round][state.player][min(state.raises, 3)]:
            if isinstance(size, str):
                raises.add({"all-in": legal.raise_max, "min": legal.raise_min}[size])
            else:
                total = most + round_half_away(size * 2 * most)
                raises.update([min(total, legal.raise_max)] if total >= legal.raise_min else [])
    return ([FOLD] if legal.fold else []) + [CALL] + sorted(raises)


def check_against_states(tree: BettingTree, node: int, state: BettingState, seen: set[int]) -> None:
    """The node and all below it say what the betting state says."""
    seen.add(node)
    assert tuple(tree.chips[node]) == state.spent
    if tree.kind[node] != DECISION:
        assert state.is_over
        assert tree.kind[node] == (FOLDED if state.folded >= 0 else SHOWDOWN)
        assert tree.player[node] == state.folded
        return
    assert not state.is_over
    assert tree.player[node] == state.player
    assert tree.street[node] == state.round
    assert [int(tree.action[child]) for child in tree.children(node)] == offered(state, tree.menu)
    for child in tree.children(node):
        assert tree.parent[child] == node
        after = state.apply(int(tree.action[child]))
        if tree.kind[child] == DEAL:
            seen.add(child)
            assert after.round == state.round + 1
            (child,) = tree.children(child)
        check_against_states(tree, child, after, seen)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "rhode-island", "holdem.two-four", "holdem.limit"])
def test_limit_trees_equal_the_betting_states(name: str) -> None:
    rules = load_game(name)
    tree, seen = build_tree(rules), set[int]()
    check_against_states(tree, 0, BettingState.start(rules), seen)
    assert seen == set(range(len(tree)))


@pytest.mark.parametrize("name", MENUS)
def test_nolimit_trees_equal_the_betting_states(name: str) -> None:
    bets = menu(MENUS[name])
    tree, seen = build_tree(SMALL, bets), set[int]()
    check_against_states(tree, 0, BettingState.start(SMALL), seen)
    assert seen == set(range(len(tree)))


def test_short_stacks_and_limit_stacks_equal_the_betting_states() -> None:
    for rules in (
        dataclasses.replace(SMALL, stacks=(130, 130)),
        dataclasses.replace(load_game("holdem.two-four"), stacks=(47, 47)),
        dataclasses.replace(load_game("leduc"), stacks=(8, 8)),
    ):
        tree = build_tree(rules, None if rules.limit else menu(MENUS["many"], rules))
        check_against_states(tree, 0, BettingState.start(rules), set())


def counted(rules: GameRules, bets: BetMenu | None = None, root: Root | None = None) -> int:
    return count_nodes(rules, betting_plan(rules, bets, root), root)


def grown(rules: GameRules, bets: BetMenu | None, root: Root | None, nodes: int) -> int:
    """The number of nodes that growing a tree makes, whatever was counted."""
    growth, plan = public_tree._Growth(rules, root, nodes), betting_plan(rules, bets, root)
    assert growth.finish(plan)
    return growth.nodes


@pytest.mark.parametrize("name", [*MENUS, "standard"])
@pytest.mark.parametrize("root", [None, Root(1, 250), Root(3, 77, 1)])
@pytest.mark.parametrize("stack", [150, 1300, 4999])
def test_nodes_are_counted_without_making_them(name: str, root: Root | None, stack: int) -> None:
    rules = dataclasses.replace(SMALL, stacks=(max(stack, root.chips + 1) if root else stack,) * 2)
    bets = menu(MENUS[name]) if name in MENUS else load_menu(name, rules)
    nodes = counted(rules, bets, root)
    assert grown(rules, bets, root, nodes + 1) == nodes > 1


@pytest.mark.parametrize("name", ["kuhn", "leduc", "rhode-island", "holdem.two-four", "holdem.flop", "holdem.limit"])
def test_nodes_of_limit_games_are_counted_without_making_them(name: str) -> None:
    rules = load_game(name)
    nodes = counted(rules)
    assert grown(rules, None, None, nodes + 1) == nodes
    short = dataclasses.replace(rules, stacks=(5 * rules.big_blind - 1,) * 2)
    assert len(build_tree(short)) == counted(short) <= nodes


def test_trees_that_do_not_fit_are_refused_before_they_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven sizes without a cap: 155 billion nodes. Memory is taken for a small tree only."""
    taken: list[int] = []

    class Growth(public_tree._Growth):
        def __init__(self, rules: GameRules, root: Root | None, most: int, line: Sequence[int] = ()) -> None:
            taken.append(most)
            super().__init__(rules, root, most, line)

    monkeypatch.setattr(public_tree, "_Growth", Growth)
    many = menu({"bet": [0.1 * size for size in range(1, 12)]}, load_game("holdem.nolimit"))
    monkeypatch.setattr(public_tree, "available_memory", lambda: 640_000_000)
    with pytest.raises(InputError, match=r"over 10,000,000 nodes does not fit into the [0-9.]+ [kMG]B that is free"):
        build_tree(load_game("holdem.nolimit"), many)
    monkeypatch.setattr(public_tree, "available_memory", lambda: 10**15)
    with pytest.raises(InputError, match="over 50,000,000 nodes; use fewer sizes or a cap"):
        build_tree(load_game("holdem.nolimit"), many, most_nodes=50_000_000)
    with pytest.raises(InputError, match="over 1,000 nodes; use fewer sizes or a cap"):
        build_tree(load_game("holdem.nolimit"), many, most_nodes=1000)
    assert taken == [public_tree.SMALL, public_tree.SMALL, 1000]


def test_trees_built_with_and_without_counting_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    small = build_tree(SMALL, menu(MENUS["many"]))
    monkeypatch.setattr(public_tree, "SMALL", 10)
    counted_first = build_tree(SMALL, menu(MENUS["many"]))
    for field in dataclasses.fields(small):
        one, two = getattr(small, field.name), getattr(counted_first, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == two.dtype and one.base is None and two.base is None
            np.testing.assert_array_equal(one, two)


def test_layout_promises() -> None:
    tree = build_tree(SMALL, menu(MENUS["many"]))
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
    assert (np.diff(tree.street.astype(int)) >= 0).all()
    for street in range(4):
        nodes = np.arange(tree.street_first[street], tree.street_first[street + 1])
        assert (tree.street[nodes] == street).all()
        assert set(tree.entries[street]) <= set(nodes)
    assert len(tree.entries[2]) == tree.count(DEAL)[1]
    children = np.concatenate([list(tree.children(node)) for node in range(len(tree)) if tree.num_children[node]])
    assert sorted(children) == list(range(1, len(tree)))


def test_a_state_finds_its_node_and_back() -> None:
    tree = build_tree(SMALL, menu(MENUS["pot"]))
    for node in np.flatnonzero(tree.kind != DEAL)[::7]:
        assert tree.find(tree.state(int(node))) == node
    with pytest.raises(InputError, match="not in the tree"):
        tree.find(BettingState.start(SMALL).apply(CALL).apply(201))


def test_published_counts_of_limit_holdem() -> None:
    rules, figures = load_game("holdem.limit"), PUBLISHED["hulhe"]["tree"]
    tree = build_tree(rules)
    assert tree.count(DECISION) == figures["decision_nodes"]
    assert [len(opens) for opens in tree.entries] == figures["round_entries"]
    assert SlotLayout(tree, raw_hands(rules)).infosets == 319_365_922_522_608
    for buckets in (2, 3, 10):
        layout = SlotLayout(tree, perfect_recall(buckets, 4))
        assert layout.infosets == figures[f"infosets_{buckets}_bucket_perfect_recall"]
    assert SlotLayout(tree, (169, 9000, 9000, 9000)).infosets == figures["infosets_9000_bucket_imperfect_recall"]


def test_published_counts_of_two_four_holdem() -> None:
    tree, figures = build_tree(load_game("holdem.two-four")), PUBLISHED["two_four_holdem"]
    assert SlotLayout(tree, perfect_recall(5, 2)).infosets == figures["infosets_5_bucket_perfect_recall"]
    assert SlotLayout(tree, (169, 570)).infosets == figures["infosets_570_bucket_imperfect_recall"]


def test_rhode_island_is_the_game_that_was_solved() -> None:
    """Its sequence-form program has 91,224,226 rows and as many columns (Gilpin and Sandholm 2007)."""
    rules = load_game("rhode-island")
    layout = SlotLayout(build_tree(rules), raw_hands(rules))
    sequences = layout.slots + 2  # both players' actions at their information sets, and an empty sequence each
    constraints = layout.infosets + 2
    assert (sequences + constraints) // 2 == 91_224_226


def test_slumbot_menu_gives_the_published_sequences() -> None:
    rules, figures = load_game("holdem.nolimit"), PUBLISHED["slumbot_nl"]
    bets = load_menu("slumbot-nl", rules)
    for level, key in enumerate(("bet_sizes", "raise_sizes", "three_bet_sizes", "four_bet_sizes")):
        assert bets.sizes[0][0][level] == bets.sizes[3][1][level] == (*figures[key], "all-in")
    tree = build_tree(rules, bets)
    assert len(tree) == 5_966_149  # "about six million betting sequences": all nodes
    # Calls that end the first round, those of an all-in included, lead to the flop: the published number exactly.
    assert tree.count(DEAL)[0] + tree.count(SHOWDOWN)[0] == figures["preflop_sequences"]
    layout = SlotLayout(tree, tuple(figures["buckets"]))
    # The paper counts 0.7e9 more of both, as information sets with one action would add; ours has none of those.
    assert figures["infosets"] - layout.infosets == pytest.approx(0.68e9, abs=0.05e9)
    assert figures["infoset_actions"] - layout.slots == pytest.approx(0.68e9, abs=0.05e9)


def test_slots_tile_the_table() -> None:
    tree = build_tree(SMALL, menu(MENUS["many"]))
    layout = SlotLayout(tree, (169, 11, 7, 5))
    decisions = np.flatnonzero(tree.kind == DECISION)
    slots, taken = np.arange(layout.slots), np.zeros(layout.slots, np.int64)
    for node in decisions:
        rows = np.arange(layout.buckets[tree.street[node]])[:, None]
        mine = layout.offset[node] + rows * layout.stride[node] + np.arange(tree.num_children[node])
        assert np.array_equal(layout.at(slots, int(node)), mine)
        np.add.at(taken, mine, 1)
    assert (taken == 1).all()
    assert (layout.offset[tree.kind != DECISION] == -1).all()
    below = [n for n in decisions if tree.kind[tree.parent[n]] == DECISION and tree.parent[tree.parent[n]] >= 0]
    near = [n for n in below if tree.street[tree.parent[tree.parent[n]]] == tree.street[n]]
    apart = [layout.offset[n] - layout.offset[tree.parent[tree.parent[n]]] for n in near]
    assert near and min(apart) > 0  # depth first: a player's next decision lies behind the one before
    assert layout.bytes() == 8 * layout.slots


def test_board_layout_counts_rows() -> None:
    tree = build_tree(load_game("leduc"))
    assert boards(tree.rules) == (1, 3)
    assert lossless_hands(tree.rules) == (3, 15)  # six pairs of ranks in one suit, nine in two
    row, rows = table_rows(tree)
    last = int(np.flatnonzero(tree.kind == DECISION)[-1])
    assert rows[1].sum() == 70
    assert row[-1] == -1
    assert row[last] == rows[1, tree.player[last]] - int(tree.num_children[last])
    counts = np.array([[6, 6], *[[5, 5]] * 3], np.int32)  # live holes on the root and on three boards
    first, length = board_blocks(rows[[0, 1, 1, 1]], counts)
    assert length == 14 * 6 + 3 * 70 * 5
    assert first.ravel().tolist() == sorted(first.ravel().tolist())
    assert first[1, 0] == 14 * 6


@pytest.mark.parametrize(
    "table",
    [{}, {"bet": 1}, {"bet": ["half"]}, {"bet": [0]}, {"bet": [-1.0]}, {"bet": [True]}, {"bet": [float("nan")]},
     {"bet": [1], "cap": -1}, {"bet": [1], "cap": 1.5}, {"bet": [1], "rise": [1]}, {"bet": [1], "flop": 3},
     {"bet": [1], "flop": {"beet": [1]}}, {"bet": [1], "preflop": {"bet": "all-in"}},
     {"bet": [1], "ip": {"cap": 2}}, {"bet": [1], "all_in_threshold": 2}],
)  # fmt: skip
def test_bad_menus_are_refused(table: dict[str, object]) -> None:
    with pytest.raises(InputError) as error:
        BetMenu.from_table(table, 4, where="menu.toml")
    assert str(error.value).startswith("menu.toml: ")
    assert error.value.remedy


def test_huge_fractions_are_all_in() -> None:
    tree = build_tree(load_game("holdem.nolimit"), menu({"bet": [1e6, 999999.5]}))
    assert tree.chips.max() == 20000
    assert len(list(tree.children(0))) == 3


def test_nolimit_needs_a_menu() -> None:
    with pytest.raises(InputError, match="menu"):
        build_tree(load_game("holdem.nolimit"))
