"""What a finished hand was worth, with less luck in it than the chips won: AIVAT (Burch, Schmid, Moravcik, Morrill and
Bowling 2018, "AIVAT: A New Variance Reduction Technique for Agent Evaluation in Imperfect Information Games").

Any guess u of what a situation is worth gives an unbiased estimate: to the chips, add E[u] - u for every event whose
probabilities are known. u is averaged over the holes that a known player could have, weighed by its reach; a stranger
has the hole it had, so where both are known no hole matters. Two things are done differently.
Guesses are made where a round begins, and are fair under dealing: u before the deal is the mean of u after. Then
deals need no correction. Within a round u is what the guesses for its ends come to when both play on as they are known,
or, a stranger, as a model of it would. So a round adds E[u at its end] - u at its start, and a stranger's action what
it changes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from equipoise.agents.agent import Agent, Track
from equipoise.cards.deck import check_hole_cards, hole_index
from equipoise.cards.matchups import equities_against, needs_table
from equipoise.cards.runouts import Runouts, first_edges, meeting_weights
from equipoise.core.errors import InputError
from equipoise.core.jit import F64
from equipoise.games.betting_state import BettingState, Deal, action_text
from equipoise.games.rules import GameRules
from equipoise.measure.stats import Moments

Tracks: TypeAlias = tuple[Track | None, Track | None]
Betting: TypeAlias = tuple[tuple[int, ...], ...]
Pair: TypeAlias = "tuple[Agent | None, Agent | None]"


@dataclass(frozen=True, eq=False)
class Table:
    """A board."""

    rules: GameRules
    board: tuple[int, ...]
    seed: int

    @cached_property
    def runouts(self) -> Runouts:
        """Its completions, or some of them."""
        return Runouts.of(self.rules, self.board, (self.seed, *sorted(self.board)))

    def edges(self, weights: F64, hole: int | None) -> F64:
        """[hole] sum over a range: weight x (chance to win - to lose, if nobody folds); `hole`: its only one."""
        if hole is not None:
            free = meeting_weights(self.rules, weights)
            return np.asarray((1 - 2 * equities_against(self.rules, hole, self.board)) * free)
        tabled = not self.board and needs_table(self.rules)
        return first_edges(self.rules, weights) if tabled else self.runouts.edges(weights)


@dataclass(frozen=True, eq=False)
class Meeting:
    """A player's holes, any of them, against the other's, weighed, on a board."""

    table: Table
    player: int
    weights: F64  # [other's hole] 0 where the board blocks it
    hole: int | None = None  # the only one of the other's that has weight

    @cached_property
    def edges(self) -> F64:
        """[hole] sum over the other's holes: weight x (chance that player 0 wins - that it loses, if nobody folds)."""
        return (1 if self.player == 0 else -1) * self.table.edges(self.weights, self.hole)

    @cached_property
    def mass(self) -> F64:
        """[hole] sum over the other's holes that share no card with it: weight."""
        return meeting_weights(self.table.rules, self.weights)


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
    """The chips that are or must be matched, times the edge, times a factor by round, as more will be bet.

    The edge is the chance to win less that to lose if nobody folds: fair under dealing. One and a half did as well
    as any factors tried, in limit and in no-limit hold'em.
    """

    factors: tuple[float, ...] = (1.5,)  # the last one for all later rounds
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


class Look(NamedTuple):
    """What was found of a state."""

    values: F64  # [hole of the averaged player] sum over the other's holes: weight x value
    meeting: Meeting
    tracks: Tracks


Looks: TypeAlias = dict[Betting, Look]


@dataclass(frozen=True, eq=False)
class Aivat:
    """Corrects the results of hands between two agents, by player; None is a stranger.

    `models` are agents that strangers might play like, by default the known one: any are right, good ones leave less
    luck. `seed` draws the completions of a board that has many (`Runouts`): a hand has one value, whatever was worked
    out before.
    """

    rules: GameRules
    agents: Pair
    values: Values = AllInValues()
    models: Pair = (None, None)
    seed: int = 1
    _first: list[tuple[Looks, float]] = field(
        default_factory=list
    )  # the first round, where it is the same in every hand

    def __post_init__(self) -> None:
        check_hole_cards(self.rules.hole_cards, "AIVAT")
        for agent in (*self.agents, *self.models):
            if agent is not None and agent.rules != self.rules:
                raise InputError(f"{agent.name} plays another game", remedy="use agents of one game")

    @property
    def averaged(self) -> int:
        """The player whose holes are looked at all at once: a known one, if there is one."""
        return 0 if self.agents[0] or not self.agents[1] else 1

    def value(self, state: BettingState, deal: Deal) -> float:
        """What the hand was worth to player 0, in chips: as a mean the same as the chips it won."""
        self._check(state, deal)
        tracks = self._follow(0), self._follow(1)
        now, total = BettingState.start(self.rules), self.values.start
        for round_, actions in enumerate(state.rounds):
            if not actions:  # all in: the rest is dealt
                break
            board = deal.board[: self.rules.board_size(round_)]
            looks, correction = self._open(now, self._dealt(tracks, board), Table(self.rules, board, self.seed), deal)
            total += correction
            for action in actions:
                before, after = looks[now.rounds], now.apply(action)
                self._check_played(now, before.tracks, action, deal)
                if after.rounds not in looks:  # a stranger's, and not its model's
                    self._look(after, round_, _after(before.tracks, action), before.meeting, deal, looks)
                if self.agents[now.player] is None:
                    total += self._mean(looks[after.rounds], deal) - self._mean(before, deal)
                now, tracks = after, looks[after.rounds].tracks
        return total

    def _follow(self, player: int) -> Track | None:
        agent = self.agents[player] or self.models[player] or self.agents[1 - player]
        return agent.follow(player) if agent else None

    def _open(self, now: BettingState, tracks: Tracks, table: Table, deal: Deal) -> tuple[Looks, float]:
        """Where a round begins: all that it can come to, and what it adds."""
        same = all(self.agents) and not table.board
        if same and self._first:
            return self._first[0]
        looks: Looks = {}
        meeting = self._meeting(table, tracks, deal)
        self._look(now, now.round, tracks, meeting, deal, looks)
        guess = Look(self.values.of(now, meeting), meeting, tracks)
        opened = looks, self._mean(looks[now.rounds], deal) - self._mean(guess, deal)
        if same:
            self._first.append(opened)
        return opened

    def _look(
        self, state: BettingState, round_: int, tracks: Tracks, meeting: Meeting, deal: Deal, looks: Looks
    ) -> F64:
        """The values of a state that a round comes to, and of all that come after it in the round."""
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
                found = self._look(state.apply(action), round_, after, against, deal, looks)
                values += found * (row if player == self.averaged else chance)
        looks[state.rounds] = Look(values, meeting, tracks)
        return values

    def _plays(self, state: BettingState, track: Track | None, deal: Deal) -> list[tuple[int, F64, float]]:
        """What a player is thought to do: actions, chances by hole, what the other's weights miss of the chance."""
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

    def _mean(self, look: Look, deal: Deal) -> float:
        """Over the holes of the averaged player."""
        track = look.tracks[self.averaged]
        if self.agents[self.averaged] and track:
            return float(track.reach @ look.values) / float(track.reach @ look.meeting.mass)
        hole = hole_index(deal.holes[self.averaged])
        return float(look.values[hole]) / float(look.meeting.mass[hole])

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
    times_smaller: float  # the standard deviation of the corrected values than that of the chips

    def as_json(self) -> dict[str, float]:
        """For other programs."""
        return asdict(self)

    def __str__(self) -> str:
        chips = f"{self.chips_mbb:+.1f} ± {self.chips_ci95:.1f}"
        smaller = f"{self.times_smaller:.1f} times smaller standard deviation"
        return f"{self.mbb_per_hand:+.1f} ± {self.ci95:.1f} mbb/hand, from chips {chips}: {smaller}"


def compare_values(rules: GameRules, chips: F64, corrected: F64) -> Comparison:
    """What the correction brought. IN: one observation each (a hand, or the mean of a duplicate deal), in chips."""
    if chips.shape != corrected.shape or chips.ndim != 1 or len(chips) < 2:
        raise InputError(
            f"{chips.shape} and {corrected.shape} values", remedy="give two values or more, as many of each"
        )
    moments = Moments(), Moments()
    for found, values in zip(moments, (chips, corrected), strict=True):
        found.add(values)
    return compare_moments(rules, *moments)


def compare_moments(rules: GameRules, chips: Moments, corrected: Moments) -> Comparison:
    """The same, of values that came in blocks."""
    unit = 1000 / rules.big_blind
    plain, better = chips.interval(unit), corrected.interval(unit)
    ratio = plain[1] / better[1] if better[1] > 0 else np.inf if plain[1] > 0 else 1.0
    return Comparison(chips.count, *plain, *better, ratio)
