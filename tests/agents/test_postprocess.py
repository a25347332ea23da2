"""Post-processing: the paper's example, a naive twin, whole tables, and what it costs in exploitability."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import InputError, PostProcess, build_tree, exploitability, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.agent import View, track_to
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.postprocess import SAME, process_profile, process_row
from equipoise.agents.table import TableAgent
from equipoise.core.jit import F64
from equipoise.games.bet_menu import load_menu
from equipoise.games.betting_state import CALL, FOLD
from equipoise.solvers.external_sampling import External
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import probabilities
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.infosets import SlotLayout

POT = 100  # the opponent's chips in the example, so that a bet of the pot is to 300
EXAMPLE_ACTIONS = (FOLD, CALL, *(POT + round(size * 2 * POT) for size in (0.5, 0.75, 1, 1.5, 2, 5, 9)))
EXAMPLE = (0.1, 0.25, 0.15, 0.15, 0.2, 0.15, 0, 0, 0)


def processed(
    post: PostProcess | str,
    row: tuple[float, ...] | F64,
    actions: tuple[int, ...],
    opposing: int,
    *,
    first: bool = False,
) -> list[float]:
    chances = np.array(row, np.float64)
    rule = (PostProcess.read(post) if isinstance(post, str) else post).rule
    process_row(rule, np.array(actions, np.int32), opposing, first, chances, np.full(len(row), np.nan))
    return [float(chance) for chance in chances]


def naive(post: PostProcess, row: list[float], actions: list[int], opposing: int, first: bool) -> list[float]:
    """From the definitions alone."""
    if post.method == "none" or (first and post.keep_first):
        return row
    grouped = bool(post.edges) or post.method == "tartanian7"
    classes: dict[object, list[int]] = {}
    for at, action in enumerate(actions):
        key: object = action
        if action > CALL and grouped:
            key = "bet", sum((action - opposing) / (2 * opposing) > edge for edge in post.edges)
        classes.setdefault(key, []).append(at)
    sums = {key: sum(row[at] for at in members) for key, members in classes.items()}
    if post.method == "threshold":
        kept = [key for key in classes if sums[key] >= post.threshold - SAME] or largest(sums)
        total = sum(sums[key] for key in kept)
        return [row[at] / total if any(at in classes[key] for key in kept) else 0.0 for at in range(len(row))]
    if post.method == "tartanian7" and sums.get(FOLD, 0) > post.threshold + SAME:
        return [float(action == FOLD) for action in actions]
    result = [0.0] * len(row)
    chosen = largest(sums)
    for key in chosen:
        inner = largest({at: row[at] for at in classes[key]})
        for at in inner:
            result[at] = 1 / len(chosen) / len(inner)
    return result


def largest(values: dict) -> list:  # type: ignore[type-arg]
    return [key for key, value in values.items() if value >= max(values.values()) - SAME]


# --- rows ------------------------------------------------------------------------------------------------------------


def test_the_example_of_the_paper() -> None:
    assert processed("purify", EXAMPLE, EXAMPLE_ACTIONS, POT) == [0, 1, 0, 0, 0, 0, 0, 0, 0]  # call
    assert processed("tartanian7:0.2", EXAMPLE, EXAMPLE_ACTIONS, POT) == [0, 0, 0, 0, 1, 0, 0, 0, 0]  # a bet of the pot
    assert processed("none", EXAMPLE, EXAMPLE_ACTIONS, POT) == list(EXAMPLE)


def test_classes_of_bets() -> None:
    """0.5 and 0.75 pot together have more than the call, and tie: they split."""
    split = processed("tartanian7:0.2,edges=0.75/1.5", EXAMPLE, EXAMPLE_ACTIONS, POT)
    assert split == [0, 0, 0, 0, 1, 0, 0, 0, 0]  # 1 and 1.5 pot: 0.35
    assert processed("tartanian7:0.2,edges=0.75/1", EXAMPLE, EXAMPLE_ACTIONS, POT) == [0, 0, 0.5, 0.5, 0, 0, 0, 0, 0]
    assert processed("tartanian7:0.2,edges=0.75", EXAMPLE, EXAMPLE_ACTIONS, POT) == [0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert processed("purify,edges=0", EXAMPLE, EXAMPLE_ACTIONS, POT) == processed(
        "tartanian7:1", EXAMPLE, EXAMPLE_ACTIONS, POT
    )


def test_thresholding_of_classes_keeps_their_mixture() -> None:
    plain = processed("threshold:0.2", EXAMPLE, EXAMPLE_ACTIONS, POT)
    assert np.allclose(plain, [0, 0.25 / 0.45, 0, 0, 0.2 / 0.45, 0, 0, 0, 0])
    classes = processed("threshold:0.2,edges=0", EXAMPLE, EXAMPLE_ACTIONS, POT)
    assert np.allclose(classes, np.array([0, 0.25, 0.15, 0.15, 0.2, 0.15, 0, 0, 0]) / 0.9)
    narrow = processed("threshold:0.31,edges=0.75/1.5", EXAMPLE, EXAMPLE_ACTIONS, POT)
    assert np.allclose(narrow, np.array([0, 0, 0, 0, 0.2, 0.15, 0, 0, 0]) / 0.35)


@pytest.mark.parametrize(("fold", "folds"), [(0.2, False), (float(np.float32(0.2)), False), (0.201, True)])
def test_folding_must_exceed_the_threshold(fold: float, folds: bool) -> None:
    row = (fold, 0.5 - fold, 0.5)
    assert processed("tartanian7:0.2", row, (FOLD, CALL, 300), 100) == ([1, 0, 0] if folds else [0, 0, 1])


def test_ties_are_split() -> None:
    three = (FOLD, CALL, 300)
    assert processed("purify", (0.4, 0.4, 0.2), three, 100) == [0.5, 0.5, 0]
    assert processed("tartanian7:0.5", (0.4, 0.4, 0.2), three, 100) == [0.5, 0.5, 0]
    four = (CALL, 200, 300, 400)
    assert processed("tartanian7:0.2", (0.5, 0.2, 0.2, 0.1), four, 100) == [0.5, 0.25, 0.25, 0]
    assert processed("threshold:0.9", (0.4, 0.4, 0.2), three, 100) == [0.5, 0.5, 0]  # all below it
    assert processed("tartanian7:0", (0.0, 0.4, 0.6), three, 100) == [0, 0, 1]  # 0 does not exceed 0


def test_the_first_action_can_be_kept() -> None:
    for post in ("purify,first=keep", "threshold:0.15,first=keep", "tartanian7:0.05,first=keep"):
        assert processed(post, EXAMPLE, EXAMPLE_ACTIONS, POT, first=True) == list(EXAMPLE)
        assert processed(post, EXAMPLE, EXAMPLE_ACTIONS, POT) != list(EXAMPLE)
        without = post.removesuffix(",first=keep")
        assert processed(without, EXAMPLE, EXAMPLE_ACTIONS, POT, first=True) != list(EXAMPLE)


@pytest.mark.parametrize(
    "post", ["purify", "threshold:0.2", "tartanian7:0.2", "tartanian7:0.2,edges=0.75", "threshold:1"]
)
def test_what_lies_beyond_the_actions_does_not_count(post: str) -> None:
    """Kernels pass room for the most actions there can be, with what the last row left in it."""
    count, left = len(EXAMPLE), [0.9, 0.0, 0.3, 1.0]
    chances = np.array([*EXAMPLE, *left])
    rule = PostProcess.read(post).rule
    process_row(rule, np.array(EXAMPLE_ACTIONS, np.int32), POT, False, chances, np.full(len(chances), 7.0))
    assert chances[:count].tolist() == processed(post, EXAMPLE, EXAMPLE_ACTIONS, POT)
    assert chances[count:].tolist() == left


POSTS = st.builds(
    PostProcess,
    st.sampled_from(["threshold", "tartanian7"]),
    st.integers(0, 20).map(lambda n: n / 20),
    st.sets(st.integers(0, 8)).map(lambda found: tuple(n / 4 for n in sorted(found))),
    st.booleans(),
) | st.builds(
    PostProcess,
    st.just("purify"),
    st.just(0.0),
    st.sets(st.integers(0, 8)).map(lambda found: tuple(n / 4 for n in sorted(found))),
    st.booleans(),
)
# whole numbers, so that ties and sums at the threshold are common
ROWS = st.lists(st.integers(0, 6), min_size=1, max_size=9).filter(any)


@given(POSTS, ROWS, st.booleans(), st.booleans(), st.data())
def test_as_the_naive_twin(post: PostProcess, row: list[int], folds: bool, first: bool, data: st.DataObject) -> None:
    opposing = data.draw(st.sampled_from([50, 100, 770]))
    head = [FOLD, CALL] if folds else [CALL]
    raises = data.draw(st.lists(st.integers(1, 12), min_size=len(row), max_size=len(row), unique=True).map(sorted))
    actions = [*head, *(opposing + size * opposing // 2 for size in raises)][: len(row)]
    chances = [chance / sum(row) for chance in row]
    found = processed(post, tuple(chances), tuple(actions), opposing, first=first)
    assert np.allclose(found, naive(post, chances, actions, opposing, first), atol=1e-12)
    assert abs(sum(found) - 1) < 1e-12
    assert all(after == 0 for before, after in zip(row, found, strict=True) if before == 0)


# --- text ------------------------------------------------------------------------------------------------------------


@given(POSTS)
def test_text_round_trip(post: PostProcess) -> None:
    assert PostProcess.read(str(post)) == post
    assert not set(str(post)) & set("?& #")  # what separates options of an agent


def test_text() -> None:
    assert PostProcess.read("none") == PostProcess()
    assert PostProcess.read("threshold:0.15") == PostProcess("threshold", 0.15)
    full = PostProcess("tartanian7", 0.2, (0.75, 1.5), True)
    assert PostProcess.read("tartanian7:0.2,edges=0.75/1.5,first=keep") == full
    assert PostProcess.read("purify,first=keep") == PostProcess("purify", keep_first=True)
    assert str(full) == "tartanian7:0.2,edges=0.75/1.5,first=keep"


@pytest.mark.parametrize(
    "text",
    [
        "", "pure", "purify:0.2", "none:0", "none,first=keep", "threshold", "threshold:", "threshold:x",
        "threshold:nan", "threshold:1.5", "threshold:-0.1", "threshold:1_0", "tartanian7",
        "tartanian7:0.2,", "tartanian7:0.2,edges=",
        "tartanian7:0.2,edges=1/0.5", "tartanian7:0.2,edges=1/1", "tartanian7:0.2,edges=inf", "tartanian7:0.2,edges=-1",
        "tartanian7:0.2,first=drop", "tartanian7:0.2,first=keep,first=keep", "tartanian7:0.2,last=keep", "Purify",
    ],
)  # fmt: skip
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        PostProcess.read(text)


# --- whole tables ----------------------------------------------------------------------------------------------------


def decisions(tree: BettingTree) -> list[int]:
    return [int(node) for node in np.flatnonzero(tree.kind == DECISION)]


def is_first(tree: BettingTree, node: int) -> bool:
    """Whether the player to act has not acted yet, by playing the hand again."""
    state = tree.state(node)
    replay = type(state).start(tree.rules)
    for action in (action for actions in state.rounds for action in actions):
        if replay.player == tree.player[node]:
            return False
        replay = replay.apply(action)
    return True


@pytest.mark.parametrize("text", ["none", "threshold:0.2,edges=0.6,first=keep", "tartanian7:0.2,edges=0.6,first=keep"])
def test_a_table_is_processed_row_by_row(text: str) -> None:
    rules = load_game("holdem.nolimit")
    tree = build_tree(rules, load_menu("pot", rules))
    layout = SlotLayout(tree, (3, 2, 4, 2))
    profile, post = Profile.random(layout, np.random.default_rng(5)), PostProcess.read(text)
    before = profile.chances.copy()
    done = process_profile(profile, post)
    assert np.array_equal(profile.chances, before)
    chosen = [*decisions(tree)[:40], *np.random.default_rng(6).choice(decisions(tree), 200).tolist()]
    assert any(is_first(tree, node) for node in chosen)
    for node in chosen:
        actions = tree.action[list(tree.children(node))].tolist()
        opposing, first = int(tree.chips[node, 1 - tree.player[node]]), is_first(tree, node)
        for row, found in zip(profile.at(node).astype(np.float64), done.at(node), strict=True):
            assert np.allclose(found, naive(post, row.tolist(), actions, opposing, first), atol=1e-6)
    if text == "none":
        assert np.array_equal(done.chances, before)


@cache
def leduc() -> Profile:
    rules = load_game("leduc")
    solver = External(build_tree(rules), BucketMap.lossless(rules), seed=3)
    solver.run(400_000)
    return Profile(solver.layout, probabilities(solver.layout, solver.average))


@cache
def measured(text: str) -> float:
    """The exploitability of the processed equilibrium, in mbb/g."""
    rules = load_game("leduc")
    done = process_profile(leduc(), PostProcess.read(text))
    agent = profile_agent("processed", done, BucketMap.lossless(rules))
    return exploitability(rules, agent, threads=1).exploitability


def test_what_it_costs() -> None:
    """Footnote 5: each can increase exploitability; an equilibrium of Leduc must mix, so all of them do."""
    assert measured("none") < 30
    assert measured("threshold:0") == pytest.approx(measured("none"), abs=0.01)
    assert measured("purify") > 10 * measured("none")
    assert measured("purify") == measured("tartanian7:1") == measured("threshold:1")  # no ties, one raise, no fold rule
    assert measured("none") < measured("threshold:0.05") < measured("purify")
    assert measured("tartanian7:1") < measured("tartanian7:0.2")  # it folds what it should sometimes call
    assert 100 < measured("purify,first=keep") < measured("purify") - 50


@pytest.mark.parametrize("text", ["none", "purify,first=keep", "threshold:0.15", "tartanian7:0.2"])
def test_an_agent_plays_what_is_measured(text: str) -> None:
    """In play rows are processed one by one as they are needed, for the exact measure all at once."""
    rules, post = load_game("leduc"), PostProcess.read(text)
    profile, buckets = leduc(), BucketMap.lossless(rules)
    tree, done = profile.layout.tree, process_profile(profile, post)
    agent = TableAgent("leduc", profile.layout, profile.chances, buckets, post)
    compared = 0
    for node in decisions(tree):
        state, player, street = tree.state(node), int(tree.player[node]), int(tree.street[node])
        for board in [()] if street == 0 else [(card,) for card in range(rules.deck.size)]:
            track = track_to(agent.follow(player), View(state, player, (), board))
            actions, chances = track.probabilities()
            assert list(actions) == tree.action[list(tree.children(node))].tolist()
            cells = buckets.buckets_of_board(street, board)
            for hole in np.flatnonzero(track.reach > 0).tolist():
                assert chances[:, hole] == pytest.approx(done.at(node)[cells[hole]], abs=1e-6)
                compared += 1
    assert compared > 200  # a pure strategy reaches little of the tree
