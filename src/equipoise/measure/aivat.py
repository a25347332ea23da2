"""What a finished hand was worth, with less luck in it than the chips won: AIVAT (Burch, Schmid, Moravcik, Morrill and
Bowling 2018, "AIVAT: A New Variance Reduction Technique for Agent Evaluation in Imperfect Information Games").

Any guess u of what a situation is worth gives an unbiased estimate: to the chips, add E[u] - u for every event whose
probabilities are known. The guesses used here are fair under dealing: u before cards are dealt is the mean of u after.
So the sum telescopes, deals drop out, and what is left is the mean of u over all deals, plus, for each action,
  E[u after] - u before, if the player's strategy is known,  u after - u before, if it is a stranger's.
u is averaged over the holes that a known player could have: weighed by its reach, given the other's hole and the board.
Where both players are known, the estimate is the mean of the two that average over one player each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from equipoise._errors import InputError
from equipoise._jit import F64
from equipoise.agents.agent import Agent, Track
from equipoise.cards.deck import hole_index
from equipoise.cards.matchups import equities_against
from equipoise.cards.symmetry import hole_card_table
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.games.state import BettingState, Deal, action_text
from equipoise.measure.stats import t975


@dataclass(frozen=True, eq=False)
class Sight:
    """The board, and one player's hole; the other player may have any hole."""

    rules: GameRules
    board: tuple[int, ...]
    player: int
    hole: tuple[int, ...]

    @cached_property
    def free(self) -> F64:
        """[other's hole] 1 where it shares no card with the hole or the board, else 0."""
        holes = hole_card_table(self.rules.deck, self.rules.hole_cards)
        taken = np.zeros(self.rules.deck.size, bool)
        taken[[*self.hole, *self.board]] = True
        return 1.0 - taken[holes].any(axis=1)

    @cached_property
    def edges(self) -> F64:
        """[other's hole] the chance that player 0 wins less that it loses if nobody folds; 0 where blocked."""
        sign = 1 if self.player == 0 else -1
        chances = equities_against(self.rules, hole_index(self.hole), self.board)
        return sign * (2 * chances - 1) * self.free


class Values(Protocol):
    """A guess of what player 0 wins. Any will do, the better the less is left of luck, if it is fair under dealing:

    at the beginning of a round, the value of two holes before cards are dealt is the mean of the values after.
    """

    @property
    def start(self) -> float:
        """Its mean over all deals before anybody acts."""

    def of(self, state: BettingState, sight: Sight) -> F64:
        """[other's hole] its values where the betting is not over, finite also where the hole is blocked."""


@dataclass(frozen=True)
class AllInValues:
    """The chips that are or must be matched, times the edge, times a factor by round."""

    factors: tuple[float, ...] = (1.0,)
    start: float = 0.0

    def of(self, state: BettingState, sight: Sight) -> F64:
        factor = self.factors[min(state.round, len(self.factors) - 1)]
        return factor * min(*state.rules.stacks, max(state.spent)) * sight.edges


def final_values(state: BettingState, sight: Sight) -> F64 | float:
    """What player 0 wins when the betting is over: exact; the rest of the board is dealt after an all-in."""
    stake = min(state.spent)
    if state.folded >= 0:
        return float(stake if state.folded == 1 else -stake)
    return stake * sight.edges


@dataclass(frozen=True, eq=False)
class Aivat:
    """Corrects the results of hands between two agents, by player; None is a stranger."""

    rules: GameRules
    agents: tuple[Agent | None, Agent | None]
    values: Values = AllInValues()

    def __post_init__(self) -> None:
        for agent in self.agents:
            if agent is not None and agent.rules != self.rules:
                raise InputError(f"{agent.name} plays another game", remedy=f"use agents of {self.rules.name}")

    def value(self, state: BettingState, deal: Deal) -> float:
        """What the hand was worth to player 0, in chips: as a mean the same as the chips it won."""
        self._check(state, deal)
        followed = [agent and agent.follow(player) for player, agent in enumerate(self.agents)]
        averaged = [player for player, agent in enumerate(self.agents) if agent] or [0]
        sides = [_Side(self.values, player, deal.holes) for player in averaged]
        now = BettingState.start(self.rules)
        for round_, actions in enumerate(state.rounds):
            if not actions:  # all in: the rest is dealt
                break
            board = deal.board[: self.rules.board_size(round_)]
            followed = [track.dealt(board) if track and board else track for track in followed]
            for side in sides:
                side.deal(self.rules, board, followed[side.player])
            for action in actions:
                actor, after = now.player, now.apply(action)
                track = followed[actor]
                chances = self._chances(now, track, action, deal.holes[actor]) if track else None
                followed = [track and track.after(action) for track in followed]
                for side in sides:
                    side.act(now, after, chances, followed[side.player])
                now = after
        return float(np.mean([side.total for side in sides]))

    def _chances(self, state: BettingState, track: Track, action: int, hole: tuple[int, ...]) -> _Chances:
        """What the player to act may do; a hand that it cannot have played is refused."""
        actions, chances = track.probabilities()
        at = hole_index(hole)
        if action not in actions or not chances[actions.index(action), at] > 0:
            agent = self.agents[state.player]
            raise InputError(
                f"{agent.name if agent else ''} does not {action_text(action)} here with {self.rules.deck.text(hole)}",
                remedy="give the agent that played the hand, or None",
            )
        return [(state.apply(each), row) for each, row in zip(actions, chances, strict=True) if row.any()]

    def _check(self, state: BettingState, deal: Deal) -> None:
        rules = self.rules
        if state.rules != rules or not state.is_over:
            raise InputError("a hand that is not over, or of another game", remedy="give finished hands of the game")
        needed = rules.board_size(state.round)
        if len(deal.board) < needed or any(len(hole) != rules.hole_cards for hole in deal.holes):
            raise InputError("cards of a hand are missing", remedy="give both holes and the board")
        rules.deck.check_cards([*deal.holes[0], *deal.holes[1], *deal.board])


_Chances = list[tuple[BettingState, F64]]  # what an action leads to, its probability by hole


class _Side:
    """The estimate that averages over the holes of one player."""

    def __init__(self, values: Values, player: int, holes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
        self.values = values
        self.player = player
        self.own, self.other = holes[player], holes[1 - player]
        self.total = values.start

    def deal(self, rules: GameRules, board: tuple[int, ...], track: Track | None) -> None:
        """Look at a board."""
        self.sight = Sight(rules, board, 1 - self.player, self.other)
        self.weigh(track)

    def weigh(self, track: Track | None) -> None:
        """[hole] how likely the player has it, as the other one could know; of a stranger, the one it had."""
        if track is None:
            self.weights = np.zeros(len(self.sight.free))
            self.weights[hole_index(self.own)] = 1
        else:
            weights = track.reach * self.sight.free
            self.weights = weights / weights.sum()

    def act(self, now: BettingState, after: BettingState, chances: _Chances | None, track: Track | None) -> None:
        """Add what an action brings."""
        self.total -= self.mean(now, self.weights)
        if chances is None:
            self.total += self.mean(after, self.weights)
        elif now.player == self.player:
            self.total += sum(self.mean(state, row * self.weights) for state, row in chances)
            self.weigh(track)
        else:
            at = hole_index(self.other)
            self.total += sum(float(row[at]) * self.mean(state, self.weights) for state, row in chances if row[at] > 0)

    def mean(self, state: BettingState, weights: F64) -> float:
        """The mean value, times the sum of the weights."""
        if state.is_over and state.folded >= 0:
            return float(final_values(state, self.sight)) * float(weights.sum())
        values = final_values(state, self.sight) if state.is_over else self.values.of(state, self.sight)
        return float(weights @ values)
