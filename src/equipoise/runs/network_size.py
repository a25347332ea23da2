"""The sizes of Deep CFR's networks and memories, known before torch is imported.

`deep/network.py` and `deep/betting_features.py` build what is counted here; the tests compare.
"""

from __future__ import annotations

import numpy as np

from equipoise.cards.isomorphism import HandIndexer
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.infosets import lossless_hands

FLOAT = 4  # bytes
STRENGTH_INPUTS = 16  # of a network for the strength of a hand
STRENGTHS = 255  # number of different strengths


def bytes_per_sample(actions: int) -> int:
    """Memory of one sample: hand key, node, iteration, and a number for each action."""
    return 8 + 4 + 4 + FLOAT * actions


def needs_reservoir(tree: BettingTree, most: int, table: int = 0) -> bool:
    """Whether some street has more than `most` information sets of a player, too many for sums, and no exact table."""
    many = tree.rules.rounds - len(exact_streets(tree.rules, table))
    return any(len(streets_with_sums(tree, player, most, table)) < many for player in range(PLAYERS))


def most_actions(tree: BettingTree) -> int:
    """The largest number of actions of a decision."""
    return int(tree.num_children[tree.kind == DECISION].max())


def feature_count(tree: BettingTree) -> int:
    """Numbers that describe the betting: two for each position of each street's longest betting, and three more."""
    above = np.maximum(tree.parent, 0)
    step = (tree.kind[above] == DECISION) & (tree.street[above] == tree.street) & (tree.parent >= 0)
    depth = np.zeros(len(tree), np.int64)  # actions before a node on its street
    while not np.array_equal(deeper := np.where(step, depth[above] + 1, 0), depth):
        depth = deeper
    return 3 + 2 * sum(int(depth[tree.street == street].max(initial=0)) for street in range(tree.rules.rounds))


def bytes_of_sums(tree: BettingTree, most: int, table: int = 0) -> int:
    """Memory of the sums of both players: a weight and a number for each action, of information sets, of decisions, and
    of the cells of their tables, and the sums behind the trust in networks beside a table.
    """
    counts = [infosets_by_street(tree, player) for player in range(PLAYERS)]
    rows = sum(counts[p][street] for p in range(PLAYERS) for street in streets_with_sums(tree, p, most, table))
    decisions, actions = int(np.count_nonzero(tree.kind == DECISION)), most_actions(tree)
    rows += PLAYERS * (1 + table) * decisions
    trust = 2 * PLAYERS * decisions * actions if table else 0  # two sums
    return 8 * (rows * (1 + actions) + trust)


def bytes_of_heads(tree: BettingTree, hidden: int, table: int) -> int:
    """Memory of the sums that heads of both players are solved from (`deep/fitting/heads.py`)."""
    learnt = (tree.kind == DECISION) & ~np.isin(tree.street, exact_streets(tree.rules, table))
    row = (hidden + table) * (hidden + most_actions(tree)) + table
    return 8 * int(np.count_nonzero(learnt)) * row


def streets_with_sums(tree: BettingTree, player: int, most: int, table: int = 0) -> list[int]:
    """The streets on which a player has at most `most` information sets, and no exact table."""
    exact = exact_streets(tree.rules, table)
    counts = enumerate(infosets_by_street(tree, player))
    return [street for street, count in counts if count <= most and street not in exact]


def exact_streets(rules: GameRules, table: int) -> list[int]:
    """The streets on which a table has a bucket for every hand (`strength_map` in `deep/hands.py`)."""
    apart = [HandIndexer(rules.unordered_deals(street), rules.deck).size for street in range(rules.rounds)]
    hands = enumerate(lossless_hands(rules))
    return [street for street, count in hands if count == apart[street] <= table]


def infosets_by_street(tree: BettingTree, player: int) -> list[int]:
    """The number of a player's information sets on each street."""
    own = tree.street[(tree.kind == DECISION) & (tree.player == player)]
    hands = lossless_hands(tree.rules)
    return [hands[street] * int(np.count_nonzero(own == street)) for street in range(tree.rules.rounds)]


def vector_length(tree: BettingTree, hidden: int, strength: bool, heads: bool, table: int = 0) -> int:
    """The numbers of a network: what it learns, and constants of each decision and action: scale, trust and table."""
    actions, decisions = most_actions(tree), int(np.count_nonzero(tree.kind == DECISION))
    own = decisions * (hidden + 1) * actions if heads else 0  # output layers
    learnt = parameter_count(tree.rules, feature_count(tree), actions, hidden, strength) + own
    return learnt + decisions * actions * (1 + (1 + table if table else 0))


def parameter_count(rules: GameRules, features: int, actions: int, hidden: int, strength: bool) -> int:
    """What a network learns without heads: embeddings, then layers from inputs to outputs, with biases."""
    boards, wide = len(rules.deals(rules.rounds - 1)) - 1, 3 * hidden
    card_inputs = hidden * (2 if boards else 1) + (STRENGTH_INPUTS if strength else 0)
    marks = rules.deck.size + rules.deck.ranks + rules.deck.suits
    layers = [
        (card_inputs, wide), (wide, wide), (wide, wide), (features, hidden), (hidden, hidden),
        (wide + hidden, hidden), (hidden, hidden), (hidden, hidden), (hidden, actions),
    ]  # fmt: skip
    return (1 + boards) * marks * hidden + sum((inputs + 1) * outputs for inputs, outputs in layers)
