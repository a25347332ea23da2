"""Post-processing: the rounding of action probabilities before they are played.

Thresholding and purification (Ganzfried, Sandholm and Waugh, AAMAS 2012), and the family of Tartanian7 (Brown,
Ganzfried and Sandholm, AAMAS 2015, section 4): fold where folding exceeds a threshold, else purify between fold, call
and classes of similar bets, then within the class. Ties are split evenly, as if drawn at random. Numbers closer than
SAME count as equal, because tables hold 32-bit floats. Bets are classified by their fraction of the pot after
calling; chips in the pot that belong to neither player do not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F32, F64, I8, I32, I64, U8, inlined, kernel
from equipoise.games.betting_state import CALL, FOLD
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import DECISION, MOST_ACTIONS, first_decisions

METHODS = ("none", "threshold", "purify", "tartanian7")
NONE, THRESHOLD, PURIFY, TARTANIAN7 = range(4)
SAME = 1e-6

_EXAMPLES = "write none, purify, threshold:0.15 or tartanian7:0.2,edges=0.75/1.5,first=keep"


class PostRule(NamedTuple):
    """A post-processor as numbers, for kernels."""

    method: int  # a place in METHODS
    threshold: float
    edges: F64
    keep_first: bool


@dataclass(frozen=True)
class PostProcess:
    """A post-processor.

    A bet of at most `edges[0]` of the pot is in the first class of bets, and so on; without edges Tartanian7's rule
    has one class of all bets, the others have each bet by itself (`edges=0` makes them one class there too). With
    `keep_first` an agent's first action of a hand is left as it is.
    """

    method: str = "none"
    threshold: float = 0.0
    edges: tuple[float, ...] = ()
    keep_first: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"post-processing {shown(self.method)}", remedy=_EXAMPLES)
        if not 0 <= self.threshold <= 1 or (self.threshold and self.method in ("none", "purify")):
            raise InputError(f"threshold {self.threshold} of {self.method}", remedy=_EXAMPLES)
        ascending = all(low < high for low, high in zip(self.edges, self.edges[1:], strict=False))
        if not ascending or any(not 0 <= edge < math.inf for edge in self.edges):
            raise InputError(f"edges {self.edges}", remedy="give ascending fractions of the pot, e.g. edges=0.75/1.5")
        if self.method == "none" and (self.edges or self.keep_first):
            raise InputError("options of no post-processing", remedy=_EXAMPLES)

    @classmethod
    def read(cls, text: str) -> PostProcess:
        """The text of `str()`: a method, `:` and its threshold, then options after commas."""
        head, *options = text.split(",")
        method, colon, number = head.partition(":")
        needs_number = method in ("threshold", "tartanian7")
        if method not in METHODS or bool(colon) != needs_number:
            raise InputError(f"post-processing {shown(text)}", remedy=_EXAMPLES)
        threshold = _number(number, text) if needs_number else 0.0
        found: dict[str, str] = {}
        for option in options:
            key, _, value = option.partition("=")
            if key not in ("edges", "first") or key in found or (key == "first" and value != "keep"):
                raise InputError(f"option {shown(option)} in {shown(text)}", remedy=_EXAMPLES)
            found[key] = value
        edges = tuple(_number(edge, text) for edge in found["edges"].split("/")) if "edges" in found else ()
        return cls(method, threshold, edges, "first" in found)

    def __str__(self) -> str:
        text = self.method
        if self.method in ("threshold", "tartanian7"):
            text += f":{float(self.threshold)!r}"
        if self.edges:
            text += f",edges={'/'.join(repr(float(edge)) for edge in self.edges)}"
        return text + (",first=keep" if self.keep_first else "")

    @property
    def rule(self) -> PostRule:
        """The same for kernels."""
        return PostRule(METHODS.index(self.method), float(self.threshold), np.array(self.edges), bool(self.keep_first))


def _number(text: str, whole: str) -> float:
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        raise InputError(f"{shown(text)} is not a number in {shown(whole)}", remedy=_EXAMPLES) from None


@kernel
def process_rows(rule: PostRule, actions: I32, opposing: int, first: bool, scratch: F64, rows: F64) -> None:
    """Round the probabilities of many holes at a node (`process_row`). IN OUT: float64[action, hole]."""
    count = actions.size
    for hole in range(rows.shape[1]):
        for action in range(count):
            scratch[0, action] = rows[action, hole]
        process_row(rule, actions, opposing, first, scratch[0], scratch[1])
        for action in range(count):
            rows[action, hole] = scratch[0, action]


@inlined
def process_row(rule: PostRule, actions: I32, opposing: Int, first: bool, chances: F64, scratch: F64) -> None:
    """Round one information set's probabilities, in place.

    IN: the actions of its node (fold, call, raises ascending), the opponent's chips in the pot, whether it is the
    player's first action of the hand; IN and OUT: float64[action] or more; scratch: the same. What lies beyond the
    actions is neither read nor written.
    """
    if rule.method == NONE or (rule.keep_first and first):
        return
    count = actions.size
    if rule.method == TARTANIAN7 and actions[0] == FOLD and chances[0] > rule.threshold + SAME:
        for action in range(count):
            chances[action] = 1.0 if action == 0 else 0.0
        return
    _class_sums(rule, actions, opposing, chances[:count], scratch)
    most = 0.0
    for action in range(count):
        most = max(most, scratch[action])
    if rule.method == THRESHOLD:
        _keep_from(min(rule.threshold, most) - SAME, chances[:count], scratch)
    else:
        _purify(rule, actions, opposing, most - SAME, chances[:count], scratch)


@inlined
def _with_next(rule: PostRule, actions: I32, opposing: Int, action: Int) -> bool:
    """Is an action in the class of the one after it? Bets ascend, so a class is a run of neighbours."""
    if action + 1 >= actions.size or actions[action] <= CALL or (rule.edges.size == 0 and rule.method != TARTANIAN7):
        return False
    pot = 2.0 * np.float64(opposing)  # after calling
    low, high = np.float64(actions[action] - opposing), np.float64(actions[action + 1] - opposing)
    apart = False
    for edge in rule.edges:
        apart = apart or low <= edge * pot < high
    return not apart


@inlined
def _class_sums(rule: PostRule, actions: I32, opposing: Int, chances: F64, sums: F64) -> None:
    """OUT: float64[action], the probability of its class."""
    start, total = 0, 0.0
    for action in range(chances.size):
        total += chances[action]
        if not _with_next(rule, actions, opposing, action):
            for member in range(start, action + 1):
                sums[member] = total
            start, total = action + 1, 0.0


@inlined
def _keep_from(least: Float, chances: F64, sums: F64) -> None:
    """Keep the actions whose class has at least `least`, and normalise."""
    total = 0.0
    for action in range(chances.size):
        if sums[action] >= least:
            total += chances[action]
    for action in range(chances.size):
        chances[action] = chances[action] / total if sums[action] >= least else 0.0


@inlined
def _purify(rule: PostRule, actions: I32, opposing: Int, least: Float, chances: F64, sums: F64) -> None:
    """Split 1 evenly among the classes with at least `least`, then within a class among its largest actions."""
    ties = 0
    for action in range(chances.size):
        if sums[action] >= least and not _with_next(rule, actions, opposing, action):
            ties += 1
    start = 0
    for end in range(chances.size):
        if _with_next(rule, actions, opposing, end):
            continue
        most, inner = 0.0, 0
        for action in range(start, end + 1):
            most = max(most, chances[action])
        for action in range(start, end + 1):
            inner += 1 if chances[action] >= most - SAME else 0
        for action in range(start, end + 1):
            chosen = sums[action] >= least and chances[action] >= most - SAME
            chances[action] = 1.0 / (ties * inner) if chosen else 0.0
        start = end + 1


class _Nodes(NamedTuple):
    """What a table's pass needs of its tree and layout, by node."""

    kind: U8
    player: I8
    first_child: I32
    num_children: U8
    action: I32
    chips: I32  # [node, player]
    offset: I64
    stride: I64
    buckets: I64
    first: U8  # whether it is the first decision of its player


def process_profile(profile: Profile, post: PostProcess) -> Profile:
    """A profile with every information set post-processed, so that it can be measured exactly as played.

    A player's first action is one with no earlier decision of that player in the tree.
    """
    if post.method == "none":
        return profile
    layout, tree = profile.layout, profile.layout.tree
    nodes = _Nodes(
        kind=tree.kind,
        player=tree.player,
        first_child=tree.first_child,
        num_children=tree.num_children,
        action=tree.action,
        chips=tree.chips,
        offset=layout.offset,
        stride=layout.stride,
        buckets=np.array(layout.buckets, np.int64)[tree.street],
        first=first_decisions(tree),
    )
    chances = np.array(profile.chances)
    process_table(post.rule, nodes, np.empty(MOST_ACTIONS), np.empty(MOST_ACTIONS), chances)
    return replace(profile, chances=chances)


@kernel
def process_table(rule: PostRule, nodes: _Nodes, row: F64, scratch: F64, chances: F32) -> None:
    """Scratch: float64[action] twice; IN and OUT: float32[slot]."""
    for node in range(nodes.kind.size):
        if nodes.kind[node] != DECISION:
            continue
        player = nodes.player[node]
        count = np.int64(nodes.num_children[node])
        actions = nodes.action[nodes.first_child[node] : nodes.first_child[node] + count]
        opposing, first = nodes.chips[node, 1 - player], nodes.first[node] != 0
        for bucket in range(nodes.buckets[node]):
            at = nodes.offset[node] + bucket * nodes.stride[node]
            for action in range(count):
                row[action] = np.float64(chances[at + action])
            process_row(rule, actions, opposing, first, row[:count], scratch)
            for action in range(count):
                chances[at + action] = row[action]
