"""Memory of CFR-BR's unabstracted player, estimated before allocation: a trunk of some rounds, and one subgame.

(Johanson and others 2012, table 1.) The trunk has two four-byte numbers for each hand and action of the player. A
subgame follows one betting sequence and one board and has one byte for each hole and decision: a pure best response.
The paper counts slightly more hands than full suit isomorphism: it merges each deal only by renaming suits that no
earlier deal has shown, so that e.g. the two suits of a pocket pair stay distinct (`hands_as_published`). Its KB, MB, GB
and TB are powers of 1,024. (It gives 6.54 KB for a river subgame, where these rules give 6.47.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from math import comb, prod

import numpy as np

from equipoise.cards.deck import Deck
from equipoise.core.errors import InputError
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.infosets import REGRET_AND_AVERAGE, SlotLayout, lossless_hands

MOST_BOARDS = 100_000  # of a subgame


@dataclass(frozen=True)
class TrunkMemory:
    """Memory of the unabstracted player, in addition to the abstracted one's tables; for the seat that needs more."""

    rounds: int  # of the trunk
    trunk_bytes: int  # hands counted as published
    trunk_bytes_merged: int  # hands counted with all suit isomorphisms
    subgame_bytes: int  # for each thread; 0 if the trunk is the whole game

    def total_bytes(self, threads: int) -> int:
        """One trunk, and a subgame for each thread."""
        return self.trunk_bytes + threads * self.subgame_bytes


def binary_size(size: int) -> str:
    """A size in the paper's units, powers of 1,024: e.g. 936.33 MB."""
    power = min(max(size.bit_length() - 1, 0) // 10, 4)
    return f"{size / 1024**power:.2f} {('bytes', 'KB', 'MB', 'GB', 'TB')[power]}"


def trunk_memory(tree: BettingTree, rounds: int) -> TrunkMemory:
    """Memory for a trunk of `rounds` rounds."""
    rules = tree.rules
    if not 1 <= rounds <= rules.rounds:
        raise InputError(f"a trunk of {rounds} rounds", remedy=f"{rules.name} has {rules.rounds}: use 1 to that")
    slots = np.zeros((rules.rounds, PLAYERS), np.int64)
    nodes = np.flatnonzero(tree.kind == DECISION)
    np.add.at(slots, (tree.street[nodes], tree.player[nodes]), tree.num_children[nodes])

    def most(hands: tuple[int, ...]) -> int:
        return max(sum(int(slots[s, p]) * hands[s] for s in range(rounds)) for p in range(PLAYERS)) * REGRET_AND_AVERAGE

    return TrunkMemory(
        rounds=rounds,
        trunk_bytes=most(hands_as_published(rules)),
        trunk_bytes_merged=most(lossless_hands(rules)),
        subgame_bytes=_subgame(tree, rounds),
    )


def trunk_slots(whole: SlotLayout, trunk: int) -> int:
    """Number of slots of the unabstracted players of both seats: streets are stored in order."""
    return whole.slots if trunk == whole.tree.rules.rounds else int(whole.first[trunk, 0])


def subgame_boards(rules: GameRules, trunk: int) -> int:
    """Number of last boards that may follow a board sampled at the end of a trunk, without suit isomorphism."""
    return _runouts(rules, min(trunk, rules.rounds - 1), rules.rounds - 1)


def check_trunk(rules: GameRules, trunk: int) -> None:
    """Refuse a trunk longer than the game, and subgames too large to walk."""
    if not 0 <= trunk <= rules.rounds or rules.rounds == 1:
        what = f"{rules.name} has {rules.rounds} round{'s' if rules.rounds > 1 else ''}"
        raise InputError(f"a trunk of {trunk} rounds", remedy=f"{what}: use 1 to that, or leave it out")
    below = subgame_boards(rules, trunk)
    if below > MOST_BOARDS:
        raise InputError(f"{below:,} boards in a subgame", remedy="use a longer trunk")


def _subgame(tree: BettingTree, street: int) -> int:
    """One byte for each hole and decision below an entry of a street, on all boards that may follow."""
    rules = tree.rules
    if street == rules.rounds:
        return 0
    below = np.zeros((len(tree), PLAYERS), np.int64)
    for node in range(len(tree) - 1, 0, -1):
        if tree.kind[node] == DECISION:
            below[node, tree.player[node]] += _runouts(rules, street, int(tree.street[node]))
        below[tree.parent[node]] += below[node]
    return int(below[tree.entries[street]].max(initial=0)) * rules.deck.holes(rules.hole_cards)


def _runouts(rules: GameRules, first: int, last: int) -> int:
    """Number of boards of street `last` that follow one board of street `first`."""
    return prod(
        comb(rules.deck.size - rules.board_size(street - 1), rules.board_cards[street])
        for street in range(first + 1, last + 1)
    )


def hands_as_published(rules: GameRules) -> tuple[int, ...]:
    """Hands by street, where deals are merged only by renaming suits that no earlier deal has shown."""
    counts = []
    states: Counter[tuple[int, ...]] = Counter({(): 1})  # cards dealt of each suit seen -> hands
    for cards in rules.deals(rules.rounds - 1):
        coming: Counter[tuple[int, ...]] = Counter()
        for seen, hands in states.items():
            for after, ways in _deals(rules.deck, seen, cards):
                coming[after] += hands * ways
        states = coming
        counts.append(sum(states.values()))
    return tuple(counts)


def _deals(deck: Deck, seen: tuple[int, ...], cards: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Cards dealt of each suit after a deal, and the number of ways; suits not seen before are interchangeable."""
    unseen = deck.suits - len(seen)
    for from_seen in _splits(cards, [deck.ranks - used for used in seen]):
        ways = prod(comb(deck.ranks - used, more) for used, more in zip(seen, from_seen, strict=True))
        for new in _partitions(cards - sum(from_seen), unseen, deck.ranks):
            classes = prod(_multisets(comb(deck.ranks, size), len(list(equal))) for size, equal in groupby(new))
            dealt = tuple(sorted([*(a + b for a, b in zip(seen, from_seen, strict=True)), *new]))
            yield dealt, ways * classes


def _multisets(kinds: int, size: int) -> int:
    return comb(kinds + size - 1, size)


def _splits(most: int, rooms: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to distribute at most `most` cards over suits with limited room."""
    if not rooms:
        yield ()
        return
    for first in range(min(most, rooms[0]) + 1):
        for rest in _splits(most - first, rooms[1:]):
            yield (first, *rest)


def _partitions(total: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Partitions of a total into at most `parts` sizes, in descending order."""
    if total == 0:
        yield ()
    elif parts:
        for first in range(min(total, largest), 0, -1):
            for rest in _partitions(total - first, parts - 1, first):
                yield (first, *rest)
