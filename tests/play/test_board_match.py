"""Matches on boards: the value of every pair of holes and every line, against hands one by one and against dealing."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import equipoise.play.board_match as board_match_module
from commands import invoke, refusal, run
from equipoise import InputError, load_player, match
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.table import TableAgent
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.jit import F64
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.rules import GameRules
from equipoise.play.board_match import BoardMatch, Meetings, meetings_on
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.infosets import SlotLayout
from small_games import LEDUC, NO_LIMIT, TWO_STREETS, tree_of


@cache
def random_agent(rules: GameRules, seed: int) -> TableAgent:
    """Plays probabilities drawn at random, different for every hand."""
    tree, buckets = tree_of(rules), BucketMap.lossless(rules)
    layout, rng = SlotLayout(tree, buckets.buckets), np.random.default_rng(seed)
    stored = np.zeros(layout.slots, np.float32)
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        rows = layout.at(stored, node)
        rows[:] = rng.dirichlet(np.full(rows.shape[1], 0.5), len(rows))
    return TableAgent(f"random {seed}", layout, stored, buckets)


def naive_values(one: TableAgent, two: TableAgent, board: tuple[int, ...]) -> F64:
    """[seat] pair of holes by pair of holes, line by line, with the payoffs of the rules."""
    rules, tree = one.rules, one.tree
    holes = [hole for hole in hole_card_table(rules.deck, rules.hole_cards).tolist() if not set(hole) & set(board)]

    @cache
    def row(agent: TableAgent, node: int, hole: int) -> list[float]:
        seen = rules.board_size(int(tree.street[node]))
        return [float(chance) for chance in agent.rows(node, board[:seen], np.array([holes[hole]], np.uint8))[:, 0]]

    @cache
    def payoffs(node: int, first: int, second: int) -> tuple[float, ...]:
        return states[node].payoffs(Deal((tuple(holes[first]), tuple(holes[second])), board))

    states: dict[int, BettingState] = {n: tree.state(n) for n in range(len(tree)) if tree.num_children[n] == 0}

    def value(node: int, dealt: tuple[int, int], agents: tuple[TableAgent, TableAgent]) -> float:
        """Of player 0."""
        if node in states:
            return float(payoffs(node, *dealt)[0])
        if tree.kind[node] != DECISION:
            return value(int(tree.first_child[node]), dealt, agents)
        player = int(tree.player[node])
        chances = row(agents[player], node, dealt[player])
        return sum(
            chance * value(child, dealt, agents)
            for child, chance in zip(tree.children(node), chances, strict=True)
            if chance > 0
        )

    pairs = [(a, b) for a, b in permutations(range(len(holes)), 2) if not set(holes[a]) & set(holes[b])]
    as_first = np.mean([value(0, pair, (one, two)) for pair in pairs])
    as_second = -np.mean([value(0, pair, (two, one)) for pair in pairs])
    return np.array([as_first, as_second])


def without_blockers(rules: GameRules, board: tuple[int, ...]) -> Meetings:
    """A wrong twin: holes that share a card meet as well."""
    ranks = rules.ranker.ranks_on_board(board)[board_match_module.live_holes(rules, board)].astype(np.float64)
    share = float(meetings_on(rules, board).meet.mean())  # so that the number of pairs stays what it was
    ones = np.ones((len(ranks), len(ranks)))
    return Meetings(share * ones, share * np.sign(ranks[:, np.newaxis] - ranks))


@pytest.mark.parametrize(("rules", "board"), [(LEDUC, (3,)), (NO_LIMIT, (8, 0, 4)), (NO_LIMIT, (1, 7, 2))])
def test_a_board_is_valued_exactly(rules: GameRules, board: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = random_agent(rules, 1), random_agent(rules, 2)
    found, expected = BoardMatch.of(one, two).values(board), naive_values(one, two, board)
    assert found == pytest.approx(expected, abs=1e-9)
    assert abs(found[0] - found[1]) > 0.01  # a swapped seat would show
    monkeypatch.setattr(board_match_module, "BLOCK", 3)
    assert BoardMatch.of(one, two).values(board) == pytest.approx(expected, abs=1e-9)
    monkeypatch.setattr(board_match_module, "meetings_on", without_blockers)
    assert np.abs(BoardMatch.of(one, two).values(board) - expected).max() > 0.01


def test_post_processing_counts() -> None:
    one, two = random_agent(LEDUC, 1), random_agent(LEDUC, 2)
    pure = TableAgent("pure", one.layout, one.stored, one.buckets, load_player("uniform?post=purify", "leduc").post)  # type: ignore[attr-defined]
    found = BoardMatch.of(pure, two).values((3,))
    assert found == pytest.approx(naive_values(pure, two, (3,)), abs=1e-9)
    assert np.abs(found - BoardMatch.of(one, two).values((3,))).max() > 0.01


@pytest.mark.parametrize("wrong", [None, without_blockers])
def test_all_boards_together_are_the_win_rate_of_hands(
    wrong: Callable[..., Meetings] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = random_agent(LEDUC, 1), random_agent(LEDUC, 3)  # between whom blockers are worth 123 mbb/hand
    dealt = match(one, two, hands=1_000_000, threads=1, seed=3)
    if wrong:
        monkeypatch.setattr(board_match_module, "meetings_on", wrong)
    every = [BoardMatch.of(one, two).values((card,)) for card in range(LEDUC.deck.size)]
    by_player = 1000 / LEDUC.big_blind * np.mean(every, axis=0)
    error = dealt.ci95 / 1.96
    agrees = abs(by_player.mean() - dealt.mbb_per_hand) < 5 * error
    assert agrees == (wrong is None)
    if wrong is None:  # the luck of a seat does not cancel: its error is larger
        assert by_player == pytest.approx(dealt.by_player, abs=15 * error)
        assert by_player[::-1] != pytest.approx(dealt.by_player, abs=15 * error)
        drawn = match(one, two, boards=400)
        assert abs(drawn.mbb_per_hand - by_player.mean()) < 5 * drawn.ci95 / 1.96
        assert drawn.by_player == pytest.approx(by_player, abs=200)


@pytest.mark.parametrize("rules", [LEDUC, TWO_STREETS, NO_LIMIT])
def test_what_one_wins_the_other_loses(rules: GameRules) -> None:
    one, two = random_agent(rules, 1), random_agent(rules, 2)
    told: list[float] = []
    there, back = match(one, two, boards=5, progress=told.append), match(two, one, boards=5)
    assert told == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert there.mbb_per_hand == pytest.approx(-back.mbb_per_hand, abs=1e-9)
    assert there.by_player == pytest.approx([-value for value in back.by_player[::-1]], abs=1e-9)
    assert there.ci95 == pytest.approx(back.ci95)
    assert there.mbb_per_hand == pytest.approx(np.mean(there.by_player))
    same = match(one, one, boards=5)
    assert same.mbb_per_hand == pytest.approx(0, abs=1e-9)
    assert same.ci95 == pytest.approx(0, abs=1e-9)
    assert abs(same.by_player[0]) > 1


def test_more_boards_extend_the_list() -> None:
    found = BoardMatch.of(random_agent(NO_LIMIT, 1), random_agent(NO_LIMIT, 2), seed=4)
    boards = [found.board(number) for number in range(40)]
    assert boards == [found.board(number) for number in range(40)]
    assert len(set(boards)) > 30
    assert all(len(set(board)) == 3 and max(board) < 9 for board in boards)
    assert boards != [BoardMatch.of(found.one, found.two, seed=5).board(number) for number in range(40)]


def test_the_result_says_what_was_valued() -> None:
    found = match(random_agent(LEDUC, 1), random_agent(LEDUC, 2), boards=6, seed=9)
    assert (found.boards, found.hands, found.seed) == (6, 6 * 5 * 4 * 2, 9)
    assert found.as_json()["boards"] == 6
    assert found.as_json()["aivat"] is None
    assert "6 boards of leduc" in repr(found)
    two_cards = BoardMatch.of(random_agent(NO_LIMIT, 1), random_agent(NO_LIMIT, 2))
    assert two_cards.pairs == meetings_on(NO_LIMIT, (1, 7, 2)).meet.sum() == 90


def test_the_command() -> None:
    line = ("match", "uniform", "always-raise", "--game", "leduc", "--boards", "8")
    done = invoke(*line)
    assert done.exit_code == 0, done.output
    assert "uniform against always-raise: 8 boards of leduc, all pairs of holes, both seats" in done.stdout
    assert "mbb/hand (95%, over boards)" in done.stdout
    found = json.loads(invoke(*line, "--json").stdout)
    assert (found["boards"], found["hands"]) == (8, 320)
    dealt = match("uniform", "always-raise", game="leduc", hands=400_000, threads=1)
    assert found["mbb_per_hand"] < -100
    assert found["mbb_per_hand"] == pytest.approx(dealt.mbb_per_hand, abs=5 * (found["ci95"] + dealt.ci95) / 1.96)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("uniform always-call --game leduc --boards 8 --hands 50", "--hands cannot be combined with --boards"),
        ("uniform always-call --game leduc --boards 8 --minutes 1", "--minutes cannot"),
        ("uniform always-call --game leduc --boards 8 --threads 1", "--threads cannot"),
        ("uniform always-call --game leduc --boards 8 --aivat", "--aivat cannot"),
        ("uniform always-call --game leduc --boards 8 --log x.log", "--log cannot"),
        ("uniform always-call --game leduc --boards 8 --no-duplicate", "--no-duplicate cannot"),
        ("uniform always-call always-fold --game leduc --boards 8", "--boards is for two agents"),
        ("uniform always-call --game kuhn --boards 8", "kuhn has no board; play hands"),
        ("uniform always-call?menu=pot --game holdem.nolimit --boards 8", "play different betting trees"),
        ("uniform uniform?search=flop --game leduc --boards 8", "without search; play hands"),
    ],
)
def test_what_the_command_refuses(line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refusal("match", *line.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("boards", ["3", "0", "-4", "many"])
def test_too_few_boards_are_one_line(boards: str) -> None:
    done = run("match", "uniform", "always-call", "--game", "leduc", "--boards", boards)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "--boards" in done.stderr


def test_what_the_library_refuses() -> None:
    one, two = random_agent(LEDUC, 1), random_agent(LEDUC, 2)
    with pytest.raises(InputError, match="the number of boards is 3"):
        match(one, two, boards=3)
    options: list[dict[str, object]] = [
        {"hands": 100_000}, {"minutes": 1.0}, {"threads": 2}, {"aivat": True}, {"log": "x.log"}, {"duplicate": False},
    ]  # fmt: skip
    for option in options:
        with pytest.raises(InputError, match="boards with an option of hands"):
            match(one, two, boards=8, **option)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="without search"):
        match(one, lambda _view: 0, boards=8)
    with pytest.raises(InputError, match="plays no-limit"):
        match(one, random_agent(NO_LIMIT, 1), boards=8)
