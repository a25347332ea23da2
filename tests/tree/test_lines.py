"""Lines of betting as players type them lead to the same nodes as the same lines in words."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.core.errors import InputError
from equipoise.games.bet_menu import load_menu
from equipoise.games.betting_state import BettingState
from equipoise.games.gamedef import load_game
from equipoise.games.notation.typed import read_typed, split_line
from equipoise.play.typed_action import read_action
from equipoise.tree.betting_tree import DEAL, BettingTree, build_tree
from equipoise.tree.lines import find_line, line_of

SHORT = {"fold": "f", "check": "x", "call": "c", "bet": "b", "raise": "r", "all-in": "a"}


@pytest.fixture(scope="module")
def tree() -> BettingTree:
    rules = load_game("holdem.nolimit")
    return build_tree(rules, load_menu("pot", rules))


def typed(line: str, between: str) -> str:
    """A line in letters: `check, bet 100` as `x b100`."""
    steps = (step.split() for step in line.split(", ") if step)
    return between.join(SHORT[verb] + "".join(size) for verb, *size in steps)


@pytest.mark.parametrize("between", [" ", ", ", ",", "  "])
def test_letters_lead_where_words_lead(tree: BettingTree, between: str) -> None:
    nodes = np.flatnonzero(tree.kind != DEAL)[1:]
    for node in np.random.default_rng(1).choice(nodes, 200, replace=False).tolist():
        line = line_of(tree, node)
        assert find_line(tree, typed(line, between)) == find_line(tree, line), line
        assert find_line(tree, line.replace(",", "").upper()) == find_line(tree, line), line


def test_c_is_a_check_where_there_is_nothing_to_call(tree: BettingTree) -> None:
    assert find_line(tree, "c c c c") == find_line(tree, "call, check, check, check")
    assert find_line(tree, "call, k") == find_line(tree, "call, check")


@pytest.mark.parametrize("line", ["x", "c b", "cc", "c x b41x", "r300 f c", "b300", "call 100", "c\u0661"])
def test_other_lines_are_refused_in_one_line(tree: BettingTree, line: str) -> None:
    with pytest.raises(InputError) as refused:
        find_line(tree, line)
    assert refused.value.remedy


def test_tokens() -> None:
    assert split_line(" x,b41  c, Raise to 300 ALL IN 500 ") == ["x", "b41", "c", "raise to 300", "all in 500"]
    assert split_line("check bet call") == ["check", "bet", "call"]
    assert split_line("") == split_line(" , ,") == []
    assert [read_typed(text) for text in ("", "bluff", "41")] == [None, None, None]
    assert split_line("x shove 800 jam") == ["x", "shove 800", "jam"]


def test_a_table_reads_the_same_letters() -> None:
    state = BettingState.start(load_game("holdem.nolimit"))
    assert read_action(state, "r300") == read_action(state, "raise 300") == read_action(state, "R 300") == 300
    after = state.apply(300).apply(0)
    assert read_action(after, "x") == read_action(after, "check") == read_action(after, "c") == 0
    assert read_action(after, "b41%") == read_action(after, "bet 41%")
    assert read_action(after, "b600") == read_action(after, "bet 600")
