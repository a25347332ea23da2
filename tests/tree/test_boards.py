"""Boards and their lists of live holes, with and without renaming of suits, against plain enumeration."""

from __future__ import annotations

import dataclasses
import itertools
from math import comb

import numpy as np
import numpy.typing as npt
import pytest

import naive
from equipoise import Deck, GameRules, InputError, load_game
from equipoise.cards.deck import FULL_DECK, hole_cards, hole_index
from equipoise.cards.ranges import Range
from equipoise.tree.boards import NO_CARD, PublicCards, all_in_matrix, deal_boards
from textures import FLOPS, RANGES

HOLDEM = load_game("holdem.nolimit")
SMALL = dataclasses.replace(
    load_game("holdem.limit"), deck=Deck(4, 3), board_cards=(0, 2, 1, 0), max_raises=(1, 1, 1, 1), name="small"
)  # its last street deals nothing
GAMES = {"kuhn": load_game("kuhn"), "leduc": load_game("leduc"), "small": SMALL}


def weights(text: str) -> npt.NDArray[np.float64]:
    return Range.read(text).weights


def spot(flop: str, ranges: str, *, isomorphism: bool) -> PublicCards:
    board = FULL_DECK.read_cards(flop)
    first, second = RANGES[ranges]
    return deal_boards(HOLDEM, (weights(first), weights(second)), board, isomorphism=isomorphism)


def random_ranges(rules: GameRules, seed: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    holes = rules.deck.holes(rules.hole_cards)
    first, second = rng.random((2, holes)) * (rng.random((2, holes)) < 0.7)
    return first, second


@pytest.fixture(scope="module", params=[(name, iso) for name in GAMES for iso in (True, False)], ids=str)
def dealt(request: pytest.FixtureRequest) -> PublicCards:
    """A game from its start: all holes with isomorphism, random different ranges without."""
    name, isomorphism = request.param
    rules = GAMES[name]
    return deal_boards(rules, None if isomorphism else random_ranges(rules, 1), isomorphism=isomorphism)


def test_lists_are_the_live_holes(dealt: PublicCards) -> None:
    boards, rules = dealt.arrays, dealt.rules
    for board, cards in enumerate(dealt.cards):
        assert len(cards) == rules.board_size(int(boards.street[board]))
        for player in range(2):
            live = {
                hole_index(hole)
                for hole in itertools.combinations(range(rules.deck.size), rules.hole_cards)
                if not set(hole) & set(cards) and dealt.weights[player][hole_index(hole)] > 0
            }
            holes = dealt.holes(board, player).tolist()
            assert len(holes) == len(live)
            assert set(holes) == live
            part = dealt.slice(board, player)
            for hole, one, two in zip(holes, boards.card1[part], boards.card2[part], strict=True):
                assert hole_cards(hole, rules.hole_cards) == ((one,) if two == NO_CARD else (one, two))
            if boards.street[board] < rules.rounds - 1:
                assert holes == sorted(holes)


def test_holes_know_where_they_were_and_where_the_opponents_are(dealt: PublicCards) -> None:
    boards = dealt.arrays
    for board, (cards, parent) in enumerate(zip(dealt.cards, boards.parent.tolist(), strict=True)):
        for player in range(2):
            holes, theirs = dealt.holes(board, player), [*dealt.holes(board, 1 - player).tolist(), None]
            if parent >= 0:
                assert cards[: len(dealt.cards[parent])] == dealt.cards[parent]
                before = boards.before[dealt.slice(board, player)]
                np.testing.assert_array_equal(dealt.holes(parent, player)[before], holes)
            for hole, same in zip(holes.tolist(), boards.same[dealt.slice(board, player)], strict=True):
                assert theirs[same] == (hole if hole in theirs else None)
        children = range(boards.first_child[board], boards.first_child[board] + boards.num_children[board])
        assert all(boards.parent[child] == board for child in children)
    assert boards.num_children.sum() == len(dealt.cards) - 1


def test_last_lists_are_sorted_and_cut_at_every_strength(dealt: PublicCards) -> None:
    boards, rules = dealt.arrays, dealt.rules
    for board in range(dealt.street_first[-2], dealt.street_first[-1]):
        ranks = [
            [rules.ranker.rank([*hole_cards(int(h), rules.hole_cards), *dealt.cards[board]]) for h in holes]
            for holes in (dealt.holes(board, 0), dealt.holes(board, 1))
        ]
        strengths = sorted({*ranks[0], *ranks[1]})
        first = boards.group_first[board]
        groups = boards.groups[first : first + boards.num_groups[board] + 1]
        assert len(groups) == len(strengths) + 1
        for player in range(2):
            assert ranks[player] == sorted(ranks[player])
            starts = [sum(rank < strength for rank in ranks[player]) for strength in strengths]
            assert groups[:, player].tolist() == [*starts, len(ranks[player])]


def pair_mass(cards: PublicCards) -> dict[int, float]:
    """By street: the chance of all its boards, summed over all pairs of holes that can meet there."""
    boards, weights = cards.arrays, cards.root_weights
    lists = [[hole_cards(int(hole), cards.rules.hole_cards) for hole in cards.holes(0, player)] for player in range(2)]
    pairs = weights[0][:, None] * naive.can_meet(lists[0], lists[1]) * weights[1]
    chance = np.ones(len(cards.cards))
    mass: dict[int, float] = {}
    for board, parent in enumerate(boards.parent):
        chance[board] = boards.weight[board] * (chance[parent] if parent >= 0 else 1)
        live = [np.isin(cards.holes(0, player), cards.holes(board, player)) for player in range(2)]
        street = int(boards.street[board])
        mass[street] = mass.get(street, 0) + float(chance[board] * (live[0] @ pairs @ live[1]))
    return mass


@pytest.mark.parametrize("name", GAMES)
def test_boards_of_a_game_have_all_the_chance_there_is(name: str) -> None:
    for isomorphism in (True, False):
        cards = deal_boards(GAMES[name], isomorphism=isomorphism)
        mass = pair_mass(cards)
        assert list(mass) == list(range(cards.rules.rounds))
        assert list(mass.values()) == pytest.approx([cards.meetings(0)] * len(mass), rel=1e-12)
        pairs = comb(cards.rules.deck.size, 2 * cards.rules.hole_cards) * comb(
            2 * cards.rules.hole_cards, cards.rules.hole_cards
        )
        assert cards.meetings(0) == pytest.approx(pairs, rel=1e-12)


@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("flop", FLOPS)
def test_boards_of_a_flop_have_all_the_chance_there_is(flop: str, ranges: str) -> None:
    folded, plain = (spot(FLOPS[flop], ranges, isomorphism=isomorphism) for isomorphism in (True, False))
    assert len(plain.cards) == 1 + 49 + 49 * 48
    for cards in (folded, plain):
        assert pair_mass(cards) == pytest.approx(dict.fromkeys((1, 2, 3), cards.meetings(0)), rel=1e-12)
    assert folded.meetings(0) == plain.meetings(0)


def kept(cards: PublicCards, board: tuple[int, ...]) -> list[dict[int, int]]:
    """The renamings, as maps of cards, that keep a root board and both ranges."""
    deck = cards.rules.deck
    maps = []
    for suits in itertools.permutations(range(deck.suits)):
        cards_to = {card: deck.card(deck.rank(card), suits[deck.suit(card)]) for card in range(deck.size)}
        holes = itertools.combinations(range(deck.size), cards.rules.hole_cards)
        pairs = [(hole_index(hole), hole_index(cards_to[card] for card in hole)) for hole in holes]
        if {cards_to[card] for card in board} == set(board) and all(
            weight[a] == weight[b] for weight in cards.weights for a, b in pairs
        ):
            maps.append(cards_to)
    return maps


@pytest.mark.parametrize(("ranges", "turns"), [("symmetric", (23, 36, 49, 37, 36, 25)), ("asymmetric", None)])
def test_deals_are_one_of_each_class(ranges: str, turns: tuple[int, ...] | None) -> None:
    for i, (flop, text) in enumerate(FLOPS.items()):
        cards, root = spot(text, ranges, isomorphism=True), FULL_DECK.read_cards(text)
        maps = kept(cards, root)
        runouts = itertools.permutations(sorted(set(range(52)) - set(root)), 2)
        classes: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
        for turn, river in runouts:
            classes.setdefault(min((m[turn], m[river]) for m in maps), set()).add((turn, river))
        found = {}
        for board in range(cards.street_first[3], cards.street_first[4]):
            turn, river = cards.cards[board][3:]
            times = cards.arrays.weight[board] * 44 * cards.arrays.weight[cards.arrays.parent[board]] * 45
            found[min((m[turn], m[river]) for m in maps)] = times
        assert found.keys() == classes.keys()
        assert len(found) == cards.street_first[4] - cards.street_first[3]
        assert found == pytest.approx({key: len(same) for key, same in classes.items()}), flop
        if turns:
            assert cards.street_first[3] - cards.street_first[2] == turns[i], flop


def test_canonical_flops_are_the_known_number() -> None:
    pocket = weights("AA")
    cards = deal_boards(flop_game(), (pocket, pocket))
    assert cards.street_first[2] - cards.street_first[1] == 1755
    ways = comb(48, 3)
    assert cards.arrays.weight[1:].sum() * ways == pytest.approx(comb(52, 3))


def flop_game() -> GameRules:
    """Hold'em that ends on the flop."""
    return dataclasses.replace(
        HOLDEM, board_cards=(0, 3), first=HOLDEM.first[:2], max_raises=HOLDEM.max_raises[:2], name="flop"
    )


@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("flop", FLOPS)
def test_orbits_are_what_renamings_make(flop: str, ranges: str) -> None:
    cards, root = spot(FLOPS[flop], ranges, isomorphism=True), FULL_DECK.read_cards(FLOPS[flop])
    maps = kept(cards, root)
    for board in range(cards.street_first[3]):
        turn = cards.cards[board][3:]
        fixing = [m for m in maps if tuple(m[card] for card in turn) == turn]
        assert bool(cards.arrays.symmetric[board]) == (len(fixing) > 1)
        for player in range(2):
            holes = cards.holes(board, player).tolist()
            orbit = cards.arrays.orbit[cards.slice(board, player)]
            expected = [
                holes.index(min(hole_index(m[card] for card in hole_cards(hole)) for m in fixing)) for hole in holes
            ]
            assert orbit.tolist() == expected


@pytest.mark.parametrize("board", ["Ah 9h 4c", "Ah 9h 4c 9d"])
@pytest.mark.parametrize("ranges", ["symmetric", "asymmetric"])
def test_all_in_matrix_equals_every_runout(board: str, ranges: str) -> None:
    root = FULL_DECK.read_cards(board)
    few = "AhKh, QQ:0.5, 9s8s, 5h4h", "QsQc, AdKd, 8h7h, 5h4h"
    first, second = few if ranges == "asymmetric" else few[:1] * 2
    cards = deal_boards(HOLDEM, (weights(first), weights(second)), root)
    lists = [[hole_cards(int(hole)) for hole in cards.holes(0, player)] for player in range(2)]
    ranker, expected = HOLDEM.ranker, np.zeros((len(lists[0]), len(lists[1])), np.int64)
    for runout in itertools.combinations(sorted(set(range(52)) - set(root)), 5 - len(root)):
        live = [[hole for hole in holes if not set(hole) & set(runout)] for holes in lists]
        ranks = {hole: ranker.rank([*hole, *root, *runout]) for holes in live for hole in holes}
        table = naive.win_minus_lose(live[0], live[1], ranks.__getitem__)
        rows, columns = ([holes.index(hole) for hole in alive] for holes, alive in zip(lists, live, strict=True))
        expected[np.ix_(rows, columns)] += table
    matrix = all_in_matrix(cards, 0)
    assert np.abs(expected).max() > 20
    np.testing.assert_array_equal(matrix, expected)


def test_a_board_must_fit_a_street() -> None:
    with pytest.raises(InputError, match="a board of 2 cards"):
        deal_boards(HOLDEM, None, (0, 1))
    with pytest.raises(InputError, match="3 hole cards"):
        deal_boards(dataclasses.replace(HOLDEM, hole_cards=3, board_cards=(0, 2, 1, 1)))
