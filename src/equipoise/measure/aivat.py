"""What a finished hand was worth, with less luck in it than the chips won: AIVAT (Burch, Schmid, Moravcik, Morrill and
Bowling 2018, "AIVAT: A New Variance Reduction Technique for Agent Evaluation in Imperfect Information Games").

Any guess u of what a situation is worth gives an unbiased estimate: to the chips, add E[u] - u for every event whose
probabilities are known. u is averaged over the holes that a known player could have, weighed by its reach; a stranger
has the hole it had. Where both are known, only the betting and the board remain, and no hole matters. Guesses here are
fair under dealing: u before cards are dealt is the mean of u after. So the sum telescopes, deals drop out, and what is
left is the mean of u over all deals, plus, for each action,
  E[u after] - u before, if the player's strategy is known,  u after - u before, if it is a stranger's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from equipoise._errors import InputError
from equipoise._jit import F64
from equipoise.agents.agent import Agent, Track
from equipoise.cards.deck import hole_index
from equipoise.cards.matchups import equities_against
from equipoise.cards.runouts import Runouts, first_edges, meeting_weights
from equipoise.games.rules import GameRules
from equipoise.games.state import BettingState, Deal, action_text

MOST_KEPT = 4096  # decisions of the first round


@dataclass(frozen=True, eq=False)
class Meeting:
    """A player's holes, any of them, against the other's, weighed, on a board."""

    player: int
    board: tuple[int, ...]
    weights: F64  # [other's hole]
    edges: F64  # [hole] sum over the other's holes: weight x (chance that player 0 wins - loses, if nobody folds)
    mass: F64  # [hole] sum over the other's holes that share no card with it: weight


class Values(Protocol):
    """A guess of what player 0 wins. Any will do, the better the less is left of luck, if it is fair under dealing:

    where a round begins, the value of two holes before its cards are dealt is the mean of the values after.
    """

    @property
    def start(self) -> float:
        """Its mean over all deals before anybody acts."""

    def of(self, state: BettingState, meeting: Meeting) -> F64:
        """[hole of the meeting's player] sum over the other's holes that it can meet: weight x value."""


@dataclass(frozen=True)
class AllInValues:
    """The chips that are or must be matched, times the edge, times a factor by round."""

    factors: tuple[float, ...] = (1.0,)
    start: float = 0.0

    def of(self, state: BettingState, meeting: Meeting) -> F64:
        factor = self.factors[min(state.round, len(self.factors) - 1)]
        return factor * min(*state.rules.stacks, max(state.spent)) * meeting.edges


def final_values(state: BettingState, meeting: Meeting) -> F64:
    """As `Values.of` where the betting is over: exact; after an all-in the rest of the board is dealt at random."""
    stake = min(state.spent)
    if state.folded >= 0:
        return (stake if state.folded == 1 else -stake) * meeting.mass
    return stake * meeting.edges


@dataclass(frozen=True, eq=False)
class _Range:
    """What one player may hold: a known player's reach, or a stranger's one hole."""

    weights: F64  # [hole] 0 where the board blocks it
    hole: tuple[int, ...] | None  # of a stranger


@dataclass(frozen=True, eq=False)
class _Board:
    """A board and what is worked out on it."""

    rules: GameRules
    cards: tuple[int, ...]
    seed: int

    @cached_property
    def runouts(self) -> Runouts:
        return Runouts.of(self.rules, self.cards, (self.seed, *sorted(self.cards)))

    def row(self, hole: tuple[int, ...]) -> tuple[F64, F64]:
        """[other's hole] the edge of one hole, and 1 where the two can meet."""
        count, index = self.rules.hole_cards, hole_index(hole)
        alone = np.zeros(self.rules.deck.holes(count))
        alone[index] = 1
        free = meeting_weights(self.rules.deck, count, alone)
        return (2 * equities_against(self.rules, index, self.cards) - 1) * free, free

    def meet(self, player: int, own: _Range, other: _Range) -> Meeting:
        """The holes of a player that are in its range against the other's range."""
        if other.hole is not None:
            edges, mass = self.row(other.hole)
            edges = -edges
        elif own.hole is not None:
            edges, mass = np.zeros((2, len(own.weights)))
            row, free = self.row(own.hole)
            at = hole_index(own.hole)
            edges[at], mass[at] = row @ other.weights, free @ other.weights
        else:
            mass = meeting_weights(self.rules.deck, self.rules.hole_cards, other.weights)
            edges = self.runouts.edges(other.weights) if self.cards else first_edges(self.rules, other.weights)
        return Meeting(player, self.cards, other.weights, edges if player == 0 else -edges, mass)


@dataclass(frozen=True, eq=False)
class Aivat:
    """Corrects the results of hands between two agents, by player; None is a stranger.

    `seed` draws the completions of a board where it has too many (`Runouts`): a hand has one value, whatever was
    worked out before.
    """

    rules: GameRules
    agents: tuple[Agent | None, Agent | None]
    values: Values = AllInValues()
    seed: int = 1
    _kept: dict[tuple[int, ...], float] = field(default_factory=dict)  # by betting before any board

    def __post_init__(self) -> None:
        for agent in self.agents:
            if agent is not None and agent.rules != self.rules:
                raise InputError(f"{agent.name} plays another game", remedy="use agents of one game")

    def value(self, state: BettingState, deal: Deal) -> float:
        """What the hand was worth to player 0, in chips: as a mean the same as the chips it won."""
        self._check(state, deal)
        tracks = [agent and agent.follow(player) for player, agent in enumerate(self.agents)]
        now, total = BettingState.start(self.rules), self.values.start
        for round_, actions in enumerate(state.rounds):
            if not actions:  # all in: the rest is dealt
                break
            board = _Board(self.rules, deal.board[: self.rules.board_size(round_)], self.seed)
            tracks = [track.dealt(board.cards) if track and board.cards else track for track in tracks]
            for action in actions:
                self._check_played(now, tracks[now.player], action, deal)
                total += self._correction(now, action, board, tracks, deal)
                tracks = [track and track.after(action) for track in tracks]
                now = now.apply(action)
        return total

    def _correction(
        self, now: BettingState, action: int, board: _Board, tracks: list[Track | None], deal: Deal
    ) -> float:
        """What an action adds."""
        keeps = not board.cards and all(tracks)
        if keeps and now.rounds[0] in self._kept:
            return self._kept[now.rounds[0]]
        own, other = (self._range(tracks[p], deal.holes[p]) for p in (now.player, 1 - now.player))
        meeting = board.meet(now.player, own, other)
        track = tracks[now.player]
        plays = zip(*track.probabilities(), strict=True) if track else [(action, np.ones(1))]
        after = sum(float((own.weights * row) @ self._values(now.apply(each), meeting)) for each, row in plays)
        before = float(own.weights @ self._values(now, meeting))
        correction = (after - before) / float(own.weights @ meeting.mass)
        if keeps and len(self._kept) < MOST_KEPT:
            self._kept[now.rounds[0]] = correction
        return correction

    def _values(self, state: BettingState, meeting: Meeting) -> F64:
        return final_values(state, meeting) if state.is_over else self.values.of(state, meeting)

    def _range(self, track: Track | None, hole: tuple[int, ...]) -> _Range:
        if track:
            return _Range(track.reach, None)
        alone = np.zeros(self.rules.deck.holes(self.rules.hole_cards))
        alone[hole_index(hole)] = 1
        return _Range(alone, hole)

    def _check_played(self, state: BettingState, track: Track | None, action: int, deal: Deal) -> None:
        """Refuse a hand that a known player cannot have played."""
        if track is None:
            return
        hole = deal.holes[state.player]
        actions, chances = track.probabilities()
        if action not in actions or not chances[actions.index(action), hole_index(hole)] > 0:
            agent = self.agents[state.player]
            raise InputError(
                f"{agent.name if agent else ''} does not {action_text(action)} here with {self.rules.deck.text(hole)}",
                remedy="give the agent that played the hand, or None",
            )

    def _check(self, state: BettingState, deal: Deal) -> None:
        rules = self.rules
        if state.rules != rules or not state.is_over:
            raise InputError("a hand that is not over, or of another game", remedy="give finished hands of the game")
        if len(deal.board) < rules.board_size(state.round) or any(len(hole) != rules.hole_cards for hole in deal.holes):
            raise InputError("cards of a hand are missing", remedy="give both holes and the board")
        rules.deck.check_cards([*deal.holes[0], *deal.holes[1], *deal.board])
