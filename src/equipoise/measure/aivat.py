"""AIVAT: the value of a finished hand with less variance than the chips won (Burch, Schmid, Moravcik, Morrill and
Bowling 2018, "AIVAT: A New Variance Reduction Technique for Agent Evaluation in Imperfect Information Games").

Any value estimate u gives an unbiased result: to the chips, add E[u] - u for every event whose probabilities are known.
u is averaged over the holes of a known player, weighted by reach; an unknown player has its actual hole. We deviate in
two ways. Estimates are made at the start of a round and are fair under dealing (u before a deal is the mean of u
after), so deals need no correction. Within a round, u is the expectation of the estimates at its end, with known
strategies or, for an unknown player, a model. So a round adds E[u at its end] - u at its start, and an unknown player's
action adds the change that it causes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from equipoise.agents.agent import Agent, Track
from equipoise.cards.deck import check_hole_cards, hole_index
from equipoise.cards.matchups import equities_against, needs_table
from equipoise.cards.runouts import MOST, Runouts, first_edges, meeting_weights
from equipoise.core.errors import InputError
from equipoise.core.jit import F64
from equipoise.games.betting_state import BettingState, Deal, action_text
from equipoise.games.rules import GameRules
from equipoise.measure.stats import ROUNDING, Moments

Tracks: TypeAlias = tuple[Track | None, Track | None]
Betting: TypeAlias = tuple[tuple[int, ...], ...]
Pair: TypeAlias = "tuple[Agent | None, Agent | None]"


@dataclass(frozen=True, eq=False)
class Table:
    """A board."""

    rules: GameRules
    board: tuple[int, ...]
    seed: int
    most: int = MOST  # completions of the board: of more, a sample

    @cached_property
    def runouts(self) -> Runouts:
        """All completions of the board, or a sample of them."""
        return Runouts.of(self.rules, self.board, (self.seed, *sorted(self.board)), self.most)

    def edges(self, weights: F64, hole: int | None) -> F64:
        """[hole] sum over a range: weight x (P(win) - P(lose) if nobody folds); `hole`: the only one in the range."""
        if hole is not None:
            free = meeting_weights(self.rules, weights)
            return np.asarray((1 - 2 * equities_against(self.rules, hole, self.board)) * free)
        tabled = not self.board and needs_table(self.rules)
        return first_edges(self.rules, weights) if tabled else self.runouts.edges(weights)


@dataclass(frozen=True, eq=False)
class Meeting:
    """A player's holes against the weighted holes of the opponent on a board."""

    table: Table
    player: int
    weights: F64  # [other's hole] 0 where the board blocks it
    hole: int | None = None  # the only one of the other's that has weight

    @cached_property
    def edges(self) -> F64:
        """[hole] sum over the opponent's holes: weight x (P(player 0 wins) - P(it loses) if nobody folds)."""
        return (1 if self.player == 0 else -1) * self.table.edges(self.weights, self.hole)

    @cached_property
    def mass(self) -> F64:
        """[hole] total weight of the opponent's holes that share no card with it."""
        return meeting_weights(self.table.rules, self.weights)


class Values(Protocol):
    """An estimate of what player 0 wins; better estimates leave less variance. It must be fair under dealing:

    at the start of a round, the value of two holes before the deal is the mean of the values after it.
    """

    @property
    def start(self) -> float:
        """Its mean over all deals before anybody acts."""

    def of(self, state: BettingState, meeting: Meeting) -> F64:
        """[hole of the meeting's player] sum over the opponent's possible holes: weight x value."""


@dataclass(frozen=True)
class AllInValues:
    """The chips in play, times the edge, times a factor by round to account for later bets.

    The edge is P(win) - P(lose) if nobody folds, which is fair under dealing. A factor of 1.5 did as well as any that
    we tried, in limit and no-limit hold'em.
    """

    factors: tuple[float, ...] = (1.5,)  # the last one for all later rounds
    start: float = 0.0

    def of(self, state: BettingState, meeting: Meeting) -> F64:
        factor = self.factors[min(state.round, len(self.factors) - 1)]
        return factor * min(*state.rules.stacks, max(state.spent)) * meeting.edges


def final_values(state: BettingState, meeting: Meeting) -> F64:
    """As `Values.of`, exact, where the betting is over; after an all-in the rest of the board is random."""
    stake = min(state.spent)
    if state.folded >= 0:
        return (stake if state.folded == 1 else -stake) * meeting.mass
    return stake * meeting.edges


class StateValues(NamedTuple):
    """The values of a betting state."""

    values: F64  # [hole of the averaged player] sum over the opponent's holes: weight x value
    meeting: Meeting
    tracks: Tracks


Visited: TypeAlias = dict[Betting, StateValues]


@dataclass(frozen=True, eq=False)
class Aivat:
    """Corrects the results of hands between two agents, by player; None is an unknown player.

    `models` are agents that unknown players may resemble (default: the known one). Any model is unbiased; a good one
    leaves less variance. `seed` draws the completions of a board that has many (`Runouts`): the value of a hand does
    not depend on earlier hands.
    """

    rules: GameRules
    agents: Pair
    values: Values = AllInValues()
    models: Pair = (None, None)
    seed: int = 1
    _first: list[tuple[Visited, float]] = field(
        default_factory=list
    )  # the first round, where it is the same in every hand

    def __post_init__(self) -> None:
        check_hole_cards(self.rules.hole_cards, "AIVAT")
        for agent in (*self.agents, *self.models):
            if agent is not None and agent.rules != self.rules:
                raise InputError(f"{agent.name} plays another game", remedy="use agents of one game")

    @property
    def averaged(self) -> int:
        """The player whose holes are averaged over: a known one, if there is one."""
        return 0 if self.agents[0] or not self.agents[1] else 1

    def value(self, state: BettingState, deal: Deal) -> float:
        """The corrected result of player 0 in chips; its expectation is that of the chips won."""
        self._check(state, deal)
        tracks = self._follow(0), self._follow(1)
        now, total = BettingState.start(self.rules), self.values.start
        for round_, actions in enumerate(state.rounds):
            if not actions:  # all in: the rest is dealt
                break
            board = deal.board[: self.rules.board_size(round_)]
            visited, correction = self._open(now, self._dealt(tracks, board), Table(self.rules, board, self.seed), deal)
            total += correction
            for action in actions:
                before, after = visited[now.rounds], now.apply(action)
                self._check_played(now, before.tracks, action, deal)
                if after.rounds not in visited:  # an action that the model never takes
                    self._visit(after, round_, _after(before.tracks, action), before.meeting, deal, visited)
                if self.agents[now.player] is None:
                    total += self._mean(visited[after.rounds], deal) - self._mean(before, deal)
                now, tracks = after, visited[after.rounds].tracks
        return total

    def _follow(self, player: int) -> Track | None:
        agent = self.agents[player] or self.models[player] or self.agents[1 - player]
        return agent.follow(player) if agent else None

    def _open(self, now: BettingState, tracks: Tracks, table: Table, deal: Deal) -> tuple[Visited, float]:
        """Start a round: the values of all its states, and its correction."""
        same = all(self.agents) and not table.board
        if same and self._first:
            return self._first[0]
        visited: Visited = {}
        meeting = self._meeting(table, tracks, deal)
        self._visit(now, now.round, tracks, meeting, deal, visited)
        guess = StateValues(self.values.of(now, meeting), meeting, tracks)
        opened = visited, self._mean(visited[now.rounds], deal) - self._mean(guess, deal)
        if same:
            self._first.append(opened)
        return opened

    def _visit(
        self, state: BettingState, round_: int, tracks: Tracks, meeting: Meeting, deal: Deal, visited: Visited
    ) -> F64:
        """Compute the values of a state and of all later states in the round."""
        player = state.player
        if state.is_over:
            values = final_values(state, meeting)
        elif state.round != round_ or not (plays := self._plays(state, tracks[player], deal)):
            values = self.values.of(state, meeting)
        else:
            values = np.zeros(len(meeting.weights))
            for action, row, chance in plays:
                after, against, track = _after(tracks, action), meeting, tracks[player]
                if player != self.averaged and self.agents[player] and track:
                    against = Meeting(meeting.table, meeting.player, track.reach * row)
                found = self._visit(state.apply(action), round_, after, against, deal, visited)
                values += found * (row if player == self.averaged else chance)
        visited[state.rounds] = StateValues(values, meeting, tracks)
        return values

    def _plays(self, state: BettingState, track: Track | None, deal: Deal) -> list[tuple[int, F64, float]]:
        """A player's actions here, their probabilities by hole, and the factor that the opponent's weights lack."""
        if track is None:
            return []
        player = state.player
        plays = list(zip(*track.probabilities(), strict=True))
        if self.agents[player]:
            return [(action, row, 1.0) for action, row in plays if (row * track.reach).any()]
        hole = hole_index(deal.holes[player])
        chances = [float(row[hole]) for _, row in plays]
        if not abs(sum(chances) - 1) < 1e-6:  # the model would not be here
            return []
        return [(action, row, chance) for (action, row), chance in zip(plays, chances, strict=True) if chance > 0]

    def _mean(self, here: StateValues, deal: Deal) -> float:
        """The mean over the holes of the averaged player."""
        track = here.tracks[self.averaged]
        if self.agents[self.averaged] and track:
            return float(track.reach @ here.values) / float(track.reach @ here.meeting.mass)
        hole = hole_index(deal.holes[self.averaged])
        return float(here.values[hole]) / float(here.meeting.mass[hole])

    def _meeting(self, table: Table, tracks: Tracks, deal: Deal) -> Meeting:
        other = 1 - self.averaged
        track = tracks[other]
        if self.agents[other] and track:
            return Meeting(table, self.averaged, track.reach)
        hole = hole_index(deal.holes[other])
        alone = np.zeros(self.rules.deck.holes(self.rules.hole_cards))
        alone[hole] = 1
        return Meeting(table, self.averaged, alone, hole)

    def _dealt(self, tracks: Tracks, board: tuple[int, ...]) -> Tracks:
        first, second = tracks
        return (first and first.dealt(board), second and second.dealt(board)) if board else tracks

    def _check_played(self, state: BettingState, tracks: Tracks, action: int, deal: Deal) -> None:
        """Refuse a hand that a known player cannot have played."""
        agent, track, hole = self.agents[state.player], tracks[state.player], deal.holes[state.player]
        if agent and track:
            actions, chances = track.probabilities()
            if action not in actions or not chances[actions.index(action), hole_index(hole)] > 0:
                raise InputError(
                    f"{agent.name} does not {action_text(action)} here with {self.rules.deck.text(hole)}",
                    remedy="give the agent that played the hand, or None",
                )

    def _check(self, state: BettingState, deal: Deal) -> None:
        rules = self.rules
        if state.rules != rules or not state.is_over:
            raise InputError("a hand that is not over, or of another game", remedy="give finished hands of the game")
        if len(deal.board) < rules.board_size(state.round) or any(len(hole) != rules.hole_cards for hole in deal.holes):
            raise InputError("cards of a hand are missing", remedy="give both holes and the board")
        rules.deck.check_cards([*deal.holes[0], *deal.holes[1], *deal.board])


def _after(tracks: Tracks, action: int) -> Tracks:
    first, second = tracks
    return first and first.after(action), second and second.after(action)


@dataclass(frozen=True)
class Comparison:
    """Chips won and corrected values of the same hands: means and half the widths of 95% intervals, in mbb/hand."""

    hands: int
    chips_mbb: float
    chips_ci95: float
    mbb_per_hand: float
    ci95: float
    times_smaller: float  # standard deviation of the chips over that of the corrected values

    def as_json(self) -> dict[str, float]:
        """For other programs."""
        return asdict(self)

    def __str__(self) -> str:
        chips = f"{self.chips_mbb:+.1f} ± {self.chips_ci95:.1f}"
        smaller = f"{self.times_smaller:.1f} times smaller standard deviation"
        return f"{self.mbb_per_hand:+.1f} ± {self.ci95:.1f} mbb/hand, from chips {chips}: {smaller}"


def compare_values(rules: GameRules, chips: F64, corrected: F64) -> Comparison:
    """Compare chips and corrected values. IN: one observation per hand, or per duplicate deal (its mean), in chips."""
    if chips.shape != corrected.shape or chips.ndim != 1 or len(chips) < 2:
        raise InputError(
            f"{chips.shape} and {corrected.shape} values", remedy="give two values or more, as many of each"
        )
    moments = Moments(), Moments()
    for found, values in zip(moments, (chips, corrected), strict=True):
        found.add(values)
    return compare_moments(rules, *moments)


def compare_moments(rules: GameRules, chips: Moments, corrected: Moments) -> Comparison:
    """The same for values that came in blocks."""
    unit = 1000 / rules.big_blind
    (won, width), (mean, narrow) = chips.interval(unit), corrected.interval(unit)
    if corrected.standard_error < ROUNDING * rules.most_chips:  # all hands have the same corrected value
        narrow = 0.0
    ratio = width / narrow if narrow > 0 else np.inf if width > 0 else 1.0
    return Comparison(chips.count, won, width, mean, narrow, ratio)
