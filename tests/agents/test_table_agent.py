"""Agents that play tables: translation, places, matches in a kernel; against enumeration and the slow path."""

from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise import InputError, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.agent import Agent, FunctionAgent, View, track_to
from equipoise.agents.card_blind import CardBlindStrategy
from equipoise.agents.named import What, load_player, named_player
from equipoise.agents.postprocess import PostProcess
from equipoise.agents.table import TableAgent, fill_rows
from equipoise.agents.translate import PlayTree, pseudo_harmonic, translation_number
from equipoise.agents.tree_agent import read_one
from equipoise.games.bet_menu import BetMenu
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.rules import GameRules
from equipoise.measure.stats import interval
from equipoise.play.dealing import dealt
from equipoise.play.match import CHUNK, Match, match
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import MOST_ACTIONS, build_tree
from equipoise.tree.infosets import SlotLayout

NOLIMIT = replace(
    load_game("leduc"), limit=False, raise_sizes=(), stacks=(24, 24), max_raises=(255, 255), name="small no-limit"
)
HALF = BetMenu.from_table({"bet": [0.5, "all-in"], "raise": [1.0]}, 2)
POT = BetMenu.from_table({"bet": [1.0, 2.0], "raise": [0.75, "all-in"], "cap": 2}, 2)


def random_agent(rules: GameRules, menu: BetMenu | None, seed: int, **more: object) -> TableAgent:
    layout = SlotLayout(build_tree(rules, menu), BucketMap.lossless(rules).buckets)
    profile = Profile.random(layout, np.random.default_rng(seed))
    return TableAgent(f"random {seed}", layout, profile.chances, BucketMap.lossless(rules), **more)  # type: ignore[arg-type]


def exact_value(agents: tuple[Agent, Agent]) -> float:
    """Player 0's chips over all deals and all that both may do."""
    rules = agents[0].rules

    @cache
    def chances(state: BettingState, hole: tuple[int, ...], board: tuple[int, ...]) -> dict[int, float]:
        found = agents[state.player].probabilities(View(state, state.player, hole, board))
        assert abs(sum(found.values()) - 1) < 1e-6
        return found

    def chips(state: BettingState, deal: Deal) -> float:
        if state.is_over:
            return float(state.payoffs(deal)[0])
        mixture = chances(state, deal.holes[state.player], deal.board[: rules.board_size(state.round)])
        return sum(p * chips(state.apply(action), deal) for action, p in mixture.items())

    deals = permutations(range(rules.deck.size), rules.deal_size)
    return float(np.mean([chips(BettingState.start(rules), dealt(rules, list(cards))) for cards in deals]))


# translation


@given(st.floats(0, 5), st.floats(0.01, 5), st.floats(0, 1))
def test_the_pseudo_harmonic_mapping_is_that_of_the_paper(low: float, gap: float, share: float) -> None:
    high = low + gap
    assert pseudo_harmonic(low, high, low) == pytest.approx(1)
    assert pseudo_harmonic(low, high, high) == pytest.approx(0)
    bet = low + share * gap
    assert 0 <= pseudo_harmonic(low, high, bet) <= 1 + 1e-12
    even = (low + high + 2 * low * high) / (low + high + 2)  # the paper's bet that is read either way
    assert pseudo_harmonic(low, high, even) == pytest.approx(0.5)


def test_a_bet_is_read_as_its_neighbours() -> None:
    rules = load_game("holdem.nolimit")
    tree = build_tree(rules, BetMenu.from_table({"bet": [0.5, 1.0, "all-in"], "raise": [1.0]}, 4))
    play = PlayTree.of(tree)
    found = np.zeros(2, np.int64)

    def read(total: int, rule: str) -> tuple[float, list[int]]:
        chance = read_one(play, 0, total, 100, translation_number(rule), found)
        return chance, [int(tree.action[node]) for node in found]

    assert read(200, "pseudo-harmonic") == (1.0, [200, 200])
    chance, nodes = read(250, "pseudo-harmonic")  # 0.75 of the pot, between 0.5 and 1
    assert nodes == [200, 300] and chance == pytest.approx(0.25 * 1.5 / (0.5 * 1.75))
    assert read(250, "nearest")[0] == 1 and read(255, "nearest")[0] == 0
    assert read(245, "deterministic")[0] == 0 and read(235, "deterministic")[0] == 1
    assert read(20_000, "nearest") == (1.0, [20_000, 20_000])
    chance, _ = read(150, "pseudo-harmonic")  # a quarter of the pot: nothing, or half the pot
    assert chance == pytest.approx(0.25 / (0.5 * 1.25))
    assert tree.street[found[0]] == 0 and tree.chips[found[0]].tolist() == [100, 100]


def test_the_likelier_reading_is_the_rounded_random_one() -> None:
    agent = random_agent(NOLIMIT, HALF, 1)
    found = np.zeros(2, np.int64)
    for total in range(2, 25):
        chance = read_one(agent.table.tree, 0, total, 1, translation_number("pseudo-harmonic"), found)
        assert read_one(agent.table.tree, 0, total, 1, translation_number("deterministic"), found) == (chance >= 0.5)


# legality: any bets, any sizes


@pytest.mark.parametrize("translation", ["pseudo-harmonic", "deterministic", "nearest"])
def test_no_illegal_action_against_any_bets(translation: str) -> None:
    rules = load_game("holdem.nolimit")
    menus = [
        BetMenu.from_table({"bet": [0.5, "all-in"], "raise": [1.0], "cap": 2}, 4),
        BetMenu.from_table({"bet": [1.0]}, 4),
    ]
    rng = np.random.default_rng(5)
    for menu in menus:
        agent = named_player(CardBlindStrategy("uniform"), rules, menu, translate=translation)
        for hand in range(60):
            deal = dealt(rules, rng.permutation(52)[:9].tolist())
            state, seat = BettingState.start(rules), hand % 2
            while not state.is_over:
                if state.player == seat:
                    board = deal.board[: rules.board_size(state.round)]
                    state = state.apply(agent.act(View(state, seat, deal.holes[seat], board), rng))
                else:
                    state = state.apply(random_action(state, rng))
            assert state.is_over and sum(state.payoffs(deal)) == 0


def random_action(state: BettingState, rng: np.random.Generator) -> int:
    legal = state.legal()
    if legal.can_raise and rng.random() < 0.6:
        if rng.random() < 0.3:
            return legal.raise_min
        return int(np.clip(legal.raise_min * rng.uniform(1, 4) ** 2, legal.raise_min, legal.raise_max))
    return FOLD if legal.fold and rng.random() < 0.05 else CALL


def test_kernels_play_legal_hands_with_any_two_menus() -> None:
    rules = load_game("holdem.nolimit")
    menus = ["pot", "standard", BetMenu.from_table({"bet": [0.1, 0.33], "raise": ["min", 3.0], "cap": 3}, 4)]
    for first in menus:
        for second in menus:
            pair = [named_player(CardBlindStrategy("uniform"), rules, menu) for menu in (first, second)]
            game = Match(*pair, keep_hands=True)
            for chunk in game.play(300, threads=1):
                for hand, chips in zip(
                    chunk.hands(rules), chunk.values.ravel(), strict=True
                ):  # hands() applies the rules
                    assert hand.state.is_over
                    assert hand.state.payoffs(hand.deal)[hand.seat] == chips


# one agent, two ways to play it


@cache
def pair_of(kind: str) -> tuple[TableAgent, TableAgent]:
    if kind == "leduc":
        return random_agent(load_game("leduc"), None, 1), random_agent(load_game("leduc"), None, 2)
    if kind == "same menu":
        return random_agent(NOLIMIT, HALF, 3), random_agent(NOLIMIT, HALF, 4)
    if kind == "nearest":
        return random_agent(NOLIMIT, HALF, 3, translation="nearest"), random_agent(
            NOLIMIT, POT, 4, translation="nearest"
        )
    return random_agent(NOLIMIT, HALF, 5), random_agent(NOLIMIT, POT, 6)


@pytest.mark.parametrize("kind", ["leduc", "same menu", "other menus", "nearest"])
def test_the_kernel_plays_what_the_mixture_says(kind: str) -> None:
    one, two = pair_of(kind)
    exact = np.array([exact_value((one, two)), -exact_value((two, one))])  # of agent one, as player 0 and as player 1
    values = np.concatenate([chunk.values for chunk in Match(one, two, seed=3).play(200_000, threads=1)])
    error = values.std(axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - exact) < 5 * error)
    assert abs(exact[0] - exact[1]) > 5 * error.max()  # so a swapped seat would be seen


def test_a_blueprint_in_its_own_tree_plays_its_table() -> None:
    agent = random_agent(load_game("leduc"), None, 7)
    tree, buckets = agent.tree, agent.buckets
    for node in (0, *tree.entries[1].tolist()[:3]):
        state = tree.state(node)
        hole, board = (3,), (0,)[: state.rules.board_size(state.round)]
        chances = agent.probabilities(View(state, state.player, hole, board))
        row = agent.layout.at(agent.stored, node)[buckets.bucket(hole, board)]
        assert [chances[int(tree.action[child])] for child in tree.children(node)] == pytest.approx(row.tolist())


def test_a_track_of_all_holes_is_that_of_each() -> None:
    agent, rng = random_agent(NOLIMIT, HALF, 9), np.random.default_rng(1)
    for _ in range(30):
        state = BettingState.start(NOLIMIT)
        board = (int(rng.integers(6)),)
        while not state.is_over:
            view = View(state, state.player, (0,), board[: NOLIMIT.board_size(state.round)])
            actions, chances = track_to(agent.follow(state.player), view).probabilities()
            for hole in set(range(6)) - set(view.board):
                own = agent.probabilities(replace(view, hole=(hole,)))
                assert [own.get(action, 0.0) for action in actions] == pytest.approx(chances[:, hole].tolist())
            reach = agent.range(view)  # all zero after an action that the agent does not have
            assert not reach.any() or set(np.flatnonzero(reach == 0)) == set(view.board)
            state = state.apply(random_action(state, rng))


def test_ranges_are_products_of_what_was_played() -> None:
    one, _ = pair_of("leduc")
    state = BettingState.start(one.rules)
    expected = np.ones(6)
    for action in (3, 5, CALL):  # bet, raise, call
        if state.player == 0:
            chances = [one.probabilities(View(state, 0, (hole,), ())).get(action, 0.0) for hole in range(6)]
            expected *= chances
        state = state.apply(action)
    assert one.range(View(state, 0, (), ())) == pytest.approx(expected)


def test_a_function_answers_wherever_it_is_asked() -> None:
    agent = FunctionAgent("caller", load_game("leduc"), lambda _: {CALL: 1.0})
    state = BettingState.start(agent.rules).apply(3).apply(5)  # player 0 has bet, which the function never does
    assert agent.probabilities(View(state, 0, (1,), ())) == {CALL: 1.0}
    assert agent.act(View(state, 0, (1,), ()), np.random.default_rng(1)) == CALL
    assert not agent.range(View(state, 0, (1,), ())).any()


def test_hints_for_hands_that_the_agent_would_not_hold() -> None:
    """A person's own actions need not be the agent's: it still says what it would do now."""
    agent = named_player(CardBlindStrategy("always-call"), load_game("holdem.nolimit"), "pot")
    state = BettingState.start(agent.rules).apply(777).apply(CALL).apply(CALL)
    assert agent.range(View(state, 1, (), (1, 2, 3))).max() == 0
    assert agent.probabilities(View(state, 1, (50, 51), (1, 2, 3))) == {CALL: 1.0}


# matches


def test_matches_are_the_same_on_any_number_of_threads_and_pay_zero_sums() -> None:
    one, two = (load_player(name, "holdem.limit") for name in ("uniform", "always-raise"))
    results = [match(one, two, hands=20_000, threads=threads, seed=4) for threads in (1, 2)]
    assert results[0].mbb_per_hand == results[1].mbb_per_hand and results[0].ci95 == results[1].ci95
    assert match(one, two, hands=20_000, seed=5).mbb_per_hand != results[0].mbb_per_hand
    swapped = match(two, one, hands=20_000, seed=4)
    assert abs(swapped.mbb_per_hand + results[0].mbb_per_hand) < 3 * (swapped.ci95 + results[0].ci95)
    assert results[0].mbb_per_hand < -results[0].ci95


@pytest.mark.parametrize("threads", [1, 2])
def test_a_match_ends_in_time_with_the_first_hands_of_a_longer_one(threads: int) -> None:
    one, two = (load_player(name, "holdem.limit") for name in ("uniform", "always-raise"))
    short = match(one, two, hands=10**9, minutes=0.001, threads=threads, seed=4)
    assert 0 < short.hands < 10**9 and short.hands % (2 * CHUNK) == 0
    assert short.mbb_per_hand == match(one, two, hands=short.hands, seed=4).mbb_per_hand
    assert match(one, two, hands=2_000, minutes=60, seed=4).hands == 2_000


def test_known_results_of_named_agents() -> None:
    for game in ("holdem.limit", "holdem.nolimit"):
        agents = {name: load_player(name, game) for name in ("always-fold", "always-raise", "always-call")}
        folded = match(agents["always-fold"], agents["always-raise"], hands=2_000)
        assert folded.mbb_per_hand == -750 and folded.ci95 == 0
        assert folded.by_player == (-1000, -500)
        even = match(agents["always-raise"], agents["always-call"], hands=2_000)
        assert even.mbb_per_hand == 0 and even.ci95 == 0  # duplicate: the same cards both ways


def test_duplicate_play_narrows_the_interval_and_both_cover_the_truth() -> None:
    one, two = pair_of("leduc")
    unit = 1000 / one.rules.big_blind
    truth = unit * (exact_value((one, two)) - exact_value((two, one))) / 2
    plain, twice = (match(one, two, hands=40_000, duplicate=duplicate, seed=8) for duplicate in (False, True))
    for result in (plain, twice):
        assert abs(result.mbb_per_hand - truth) < 2.5 * result.ci95
    assert twice.ci95 < plain.ci95


def test_any_agents_play_by_hand() -> None:
    table = pair_of("leduc")[0]
    function = FunctionAgent("caller", table.rules, lambda _: {CALL: 1.0})
    slow = match(table, function, hands=2_000, seed=2)
    fast = match(table, load_player("always-call", "leduc"), hands=40_000, seed=2)
    assert abs(slow.mbb_per_hand - fast.mbb_per_hand) < 2 * (slow.ci95 + fast.ci95)


@settings(max_examples=20)
@given(st.lists(st.floats(-100, 100), min_size=3, max_size=40))
def test_intervals_are_students(values: list[float]) -> None:
    mean, half = interval(np.array(values))
    assert mean == pytest.approx(np.mean(values), abs=1e-9)
    assert half == pytest.approx(0, abs=1e-6) or half > 1.9 * np.std(values, ddof=1) / np.sqrt(len(values))


# what a command's WHAT may be


@pytest.mark.parametrize(
    ("what", "said"),
    [("always-call?post", "option"), ("always-call?size=2", "option"), ("always-call?translate=best", "translate"),
     ("always-call?post=sharpen", "sharpen"), ("nobody", "no agent"), ("always-call?post=none&post=none", "option")],
)  # fmt: skip
def test_a_what_that_makes_no_sense(what: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_player(what, "leduc")


def test_options_reach_the_agent() -> None:
    agent = load_player("uniform?post=purify&translate=nearest&menu=pot", "holdem.nolimit")
    assert agent.post == PostProcess.read("purify") and agent.translation == "nearest"
    assert agent.tree.menu is not None and agent.tree.menu.name == "pot"
    assert What.read("uniform?post=tartanian7:0.2").post.threshold == 0.2


def test_two_games_do_not_meet() -> None:
    with pytest.raises(InputError, match="plays"):
        match(load_player("uniform", "leduc"), load_player("uniform", "kuhn"), hands=10)
    with pytest.raises(InputError, match="hands"):
        match(load_player("uniform", "leduc"), load_player("uniform", "leduc"), hands=1)
    with pytest.raises(InputError, match="minutes"):
        match(load_player("uniform", "leduc"), load_player("uniform", "leduc"), hands=10, minutes=0)


def test_a_row_is_post_processed_alone() -> None:
    """What the scratch holds beyond the row's actions does not matter."""
    agent = load_player("uniform?post=purify", "leduc")
    rows = np.zeros((MOST_ACTIONS, 1))
    fill_rows(agent.table, 0, np.zeros(1, np.int32), np.full(MOST_ACTIONS, 7.0), np.full(MOST_ACTIONS, 7.0), rows)
    assert rows.sum() == pytest.approx(1)
