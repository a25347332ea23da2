"""Local best response: a lower bound on exploitability, for agents and games too large for an exact best response.

(Lisy and Bowling 2017.) A player that knows the agent's strategy tracks the agent's range, and at each decision takes
the action that would be best if both players checked and called from then on, counting the holes that fold to a raise.
A best response wins at least as much. The bound is estimated from hands, with less variance than real play and the same
mean: the agent's cards are never dealt. Its actions are drawn from its range, a fold counts by its probability, and a
showdown (or an earlier all-in) by the mean over the range and all boards to come. Control variates of mean zero (the
change of the check-down value at each draw) reduce the variance further.

Before its first street the responder only checks and calls, so the public history up to there does not depend on its
hole. With `holes` > 1 it gets no hole until then: the history is drawn from its own distribution, and K holes are drawn
from their distribution given the history, P(h | s), which is proportional to the weight of the agent's holes that share
no card with h. The rest of the hand is played once with each. Since E[V] is the sum over s of P(s) times the mean over
h of E[V | h, s], the average of the K results is unbiased, and an agent that searches solves once for all of them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any, TypeAlias

import numpy as np

from equipoise.agents.agent import Agent, Track, can_fork, draw_index
from equipoise.agents.named import Playing, as_agent
from equipoise.agents.search.agent import SearchAgent
from equipoise.agents.user_agent import set_deadline
from equipoise.cards.deck import check_hole_cards, hole_cards
from equipoise.cards.matchups import MOST_RUNOUTS, equities_against, equity_table, needs_table
from equipoise.cards.runouts import meeting_weights
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.errors import InputError, check_count, check_minutes, shown
from equipoise.core.isolated import TimeUpError
from equipoise.core.jit import F64, U8
from equipoise.core.machine import thread_count
from equipoise.core.progress import Progress, stage
from equipoise.core.workers import workers
from equipoise.games.bet_menu import ALL_IN, MIN, MOST_FRACTION, Size, round_half_away
from equipoise.games.betting_state import CALL, FOLD, BettingState
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.measure.aivat import Table
from equipoise.measure.stats import Moments, apply_control_variates, t975

HANDS = 10_000
LEAST_HANDS = 4
STAGE, LOOK = "local best response", 1.0  # what progress is called; seconds between two reports
CHUNK = 20  # hands that share a stream of random numbers
GRACE, LEAST_GRACE = 0.1, 1.0  # of the time, and seconds: in which a user's agent may finish its last hands
CONTROLS = 4  # control variates of a hand
SEARCH_HOLES = 16  # of the responder, against an agent that solves once for all of them
LEAST_MASS = 1e-12  # of the agent's range: a hole that meets less of it meets none, up to rounding
TURNS = 2 * PLAYERS  # the even and the odd hands of each seat; chunks are whole turns


Bets: TypeAlias = Sequence[Size] | Sequence[Sequence[Size]] | str
NO_BETS = "none"  # in a text: only fold and call on this street
Played: TypeAlias = tuple[float, ...]  # chips won, and the control variates: see Responder.play


@dataclass(frozen=True)
class LocalBestResponse:
    """What local best response wins, in chips per hand by player: a lower bound on exploitability.

    The player is the responder, the agent its opponent; `lbr` is the average of both seats, as in exploitability.
    """

    player_values: tuple[float, float]
    player_errors: tuple[float, float]  # standard errors
    big_blind: int
    hands: int
    holes: int  # of the responder, for each hand
    seconds: float
    from_street: str
    bets: tuple[tuple[Size, ...], ...]  # by street, from that one on; the last are those of all later streets
    ended: str | None = None  # why the last hands were left out: the agent did not answer within the time

    def __repr__(self) -> str:
        return f"LocalBestResponse(at least {self.lbr:.1f} ± {self.ci95:.1f} mbb/hand, {self.hands:,} hands)"

    @property
    def lbr(self) -> float:
        """The average of both players' values, in mbb/hand."""
        return self._mbb(sum(self.player_values) / PLAYERS)

    @property
    def ci95(self) -> float:
        """Half the width of its 95% interval, in mbb/hand."""
        return self._mbb(t975(max(self.hands - PLAYERS, 1)) * sqrt(sum(e * e for e in self.player_errors)) / PLAYERS)

    @property
    def hands_per_second(self) -> float:
        """All threads together."""
        return self.hands / self.seconds

    def _mbb(self, chips: float) -> float:
        return 1000 * chips / self.big_blind

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return {
            "lbr_mbb": self.lbr,
            "ci95_mbb": self.ci95,
            "method": "lbr",
            "player_values_mbb": [self._mbb(value) for value in self.player_values],
            "hands": self.hands,
            "holes": self.holes,
            "hands_per_second": self.hands_per_second,
            "seconds": self.seconds,
            "from_street": self.from_street,
            "bets": [list(sizes) for sizes in self.bets] if len(self.bets) > 1 else list(*self.bets),
            "ended": self.ended,
        }


def local_best_response(
    agent: Playing,
    *,
    game: str | GameRules = "",
    hands: int | None = None,
    from_street: int | str = 0,
    bets: Bets = (1.0, ALL_IN),
    holes: int | None = None,
    seed: int = 1,
    threads: int = 0,
    progress: Progress | None = None,
    minutes: float | None = None,
) -> LocalBestResponse:
    """What local best response wins against an agent: a lower bound on its exploitability.

    The agent may be a function of a view or a name (`agents/named.py`); `game` is for those that play any game. Seats
    alternate over `hands` (10,000, or as many as `minutes` allow). Before `from_street`, a number or a name such as
    `turn`, it checks and calls. It considers `bets`: fractions of the pot after calling, `min` and `all-in`, as in bet
    menus, for all streets or a list for each street from the first on (`read_bets`); in limit games, the one raise.
    From that street on, each hand is played with `holes` holes and counts by their mean (default: 16 if the agent
    searches by then, else 1). The result for a seed and a number of hands does not depend on `threads` (0: all cores).
    """
    player = as_agent(agent, game)
    rules = player.rules
    check_hole_cards(rules.hole_cards, "local best response")
    street = rules.find_street(from_street)
    if holes is None:
        holes = SEARCH_HOLES if isinstance(player, SearchAgent) and player.options.street <= street else 1
    check_count(holes, "holes", 1)
    by_street = read_bets(bets)
    if len(by_street) > rules.rounds - street:
        raise InputError(f"bets on {len(by_street)} streets", remedy=f"{rules.rounds - street} are left to bet on")
    responder = Responder(player, street, by_street, holes)
    if hands is not None:
        check_count(hands, "hands", LEAST_HANDS)
    check_minutes(minutes)
    threads = thread_count(threads) if can_fork(player) else 1
    if needs_table(rules):
        equity_table(rules, threads=threads, progress=stage(progress, "equities before the flop, once"))
    started = time.monotonic()
    most = HANDS if hands is None and minutes is None else hands
    end = None if minutes is None else started + 60 * minutes
    if end is not None:
        set_deadline(player, end + LEAST_GRACE + GRACE * (end - started))
    responder.prepare()
    turns = [Moments(1 + CONTROLS) for _ in range(TURNS)]
    ended = None
    try:
        for played in _on_cores(responder, most, seed, threads, started, end, progress):
            for turn, moments in enumerate(turns):
                moments.add(np.array(played[turn::TURNS]))
    except TimeUpError as error:
        if turns[0].count < 1:
            raise
        ended = str(error)
    first, second = (
        apply_control_variates((turns[seat], turns[seat + PLAYERS]), rules.most_chips) for seat in range(PLAYERS)
    )
    return LocalBestResponse(
        player_values=(float(first.mean[0]), float(second.mean[0])),
        player_errors=(first.standard_error, second.standard_error),
        big_blind=rules.big_blind,
        hands=first.count + second.count,
        holes=holes,
        seconds=time.monotonic() - started,
        from_street=rules.street_name(responder.from_street),
        bets=((),) if rules.limit else responder.bets,
        ended=ended,
    )


def read_bets(bets: Bets) -> tuple[tuple[Size, ...], ...]:
    """Check bet sizes by street, from the responder's first on; the last ones are those of all later streets.

    A text separates sizes by commas and streets by slashes; `none` is a street without bets.
    """
    if isinstance(bets, str):
        return tuple(_sizes(() if text.strip() == NO_BETS else text.split(",")) for text in bets.split("/"))
    by_street = [sizes for sizes in bets if isinstance(sizes, tuple | list)]
    if len(by_street) < max(len(bets), 1):
        return (_sizes(bets),)
    return tuple(_sizes(sizes) for sizes in by_street)


def _sizes(bets: Sequence[object]) -> tuple[Size, ...]:
    sizes: list[Size] = []
    for bet in bets:
        word = bet.strip() if isinstance(bet, str) else bet
        if word in (ALL_IN, MIN):
            sizes.append(str(word))
            continue
        try:
            size = float(word)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            size = 0.0
        if not 0 < size <= MOST_FRACTION:
            raise InputError(f"bet {shown(str(bet))}", remedy='write e.g. "0.5,1.0,all-in", or "0.5/none" by street')
        sizes.append(size)
    return tuple(sizes)


def considered_raises(state: BettingState, bets: Sequence[Size]) -> list[int]:
    """The totals to raise to at a decision, as in a bet menu, ascending."""
    legal, most = state.legal(), max(state.spent)
    if not legal.can_raise:
        return []
    if state.rules.limit:
        return [legal.raise_min]
    totals = set()
    for bet in bets:
        if isinstance(bet, str):
            totals.add(legal.raise_max if bet == ALL_IN else legal.raise_min)
        else:
            total = min(most + round_half_away(bet * 2 * most), legal.raise_max)
            totals |= {total} if total >= legal.raise_min else set()
    return sorted(totals)


def _on_cores(
    responder: Responder,
    hands: int | None,
    seed: int,
    threads: int,
    started: float,
    end: float | None,
    progress: Progress | None,
) -> Iterator[list[Played]]:
    """The result of each hand, in order, in chunks.

    Chunks that are running when time is up are finished: dropping them would drop long hands more often. So with a
    limit of time none is queued behind those that run.
    """
    waiting: deque[Future[list[Played]]] = deque()
    begun = done = 0
    at_once = 2 * threads if end is None else threads
    with workers(responder.play_chunk, threads) as play:
        while True:
            while len(waiting) < at_once and (hands is None or begun < hands):
                if begun and end is not None and time.monotonic() >= end:
                    hands = begun
                    break
                count = CHUNK if hands is None else min(CHUNK, hands - begun)
                waiting.append(play(seed, begun // CHUNK, count))
                begun += count
            if not waiting:
                return
            first = waiting.popleft()
            while not wait([first], LOOK).done:
                _report(progress, done, hands, started, end)
            values = first.result()
            done += len(values)
            _report(progress, done, hands, started, end)
            yield values


def _report(progress: Progress | None, done: int, hands: int | None, started: float, end: float | None) -> None:
    """Report the share of the hands or of the time that is done, the larger one."""
    if progress:
        now = time.monotonic()
        by_time = 0.0 if end is None else (now - started) / max(end - started, 1e-9)
        by_hands = 0.0 if hands is None else done / hands
        late = by_time > 1 and by_hands < 1
        progress("finishing the hands that have begun" if late else STAGE, by_hands if late else max(by_time, by_hands))


@lru_cache(maxsize=1)
def full_table(rules: GameRules, board: tuple[int, ...]) -> Table:
    """A board with all of its completions."""
    return Table(rules, board, seed=0, most=MOST_RUNOUTS)


@dataclass(frozen=True, eq=False)
class Responder:
    """Local best response to an agent, in both seats; values are its chips."""

    agent: Agent
    from_street: int
    bets: tuple[tuple[Size, ...], ...]  # by street, see `read_bets`
    holes: int = 1

    @cached_property
    def rules(self) -> GameRules:
        return self.agent.rules

    @cached_property
    def blocked_by(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """[card, hole] whether the hole has the card."""
        holes: U8 = hole_card_table(self.rules.deck, self.rules.hole_cards)
        return np.array([(holes == card).any(axis=1) for card in range(self.rules.deck.size)])

    def free(self, cards: Sequence[int]) -> F64:
        """[hole] 1 where it has none of the cards, else 0."""
        return np.asarray(~self.blocked_by[list(cards)].any(axis=0), np.float64)

    def mean_equities(self, board: tuple[int, ...]) -> F64:
        """[agent's hole] the mean equity of all holes of the responder against it; 0 where the board blocks it."""
        free = self.free(board)
        mass = meeting_weights(self.rules, free) * free
        edges = full_table(self.rules, board).edges(free, None)
        return np.divide(mass - edges, 2 * mass, out=np.zeros(len(free)), where=mass > 0)

    @cached_property
    def first_equities(self) -> F64:
        """The same before any board."""
        return self.mean_equities(())

    def prepare(self) -> None:
        """Compile and build what every worker needs, by playing a hand in each seat."""
        self.play_chunk(0, 0, PLAYERS)

    def play_chunk(self, seed: int, chunk: int, hands: int) -> list[Played]:
        """Play hands with their own random numbers; seats alternate."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(chunk,)))
        return [self.play((chunk * CHUNK + hand) % PLAYERS, rng) for hand in range(hands)]

    @cached_property
    def strength(self) -> F64:
        """[hole, 2] equity of a hole against a random one, and its part above one half, both centred; times the most
        chips that a hand can win, as control variates are in chips.
        """
        holes = range(self.rules.deck.holes(self.rules.hole_cards))
        everybody = [self.free(hole_cards(hole, self.rules.hole_cards)) for hole in holes]
        share = np.array(
            [equities_against(self.rules, hole) @ free / free.sum() for hole, free in enumerate(everybody)]
        )
        found = np.stack([share, np.maximum(share - 0.5, 0)], axis=1)
        return np.asarray(self.rules.most_chips * (found - found.mean(axis=0)))

    def play(self, player: int, rng: np.random.Generator) -> Played:
        """One hand, the responder in a seat: what it wins, and the control variates.

        These are the luck of its hole (two; none if there are several holes), of the board, and of the agent's actions.
        """
        track, hole_luck = self.agent.follow(1 - player), np.zeros(2)
        if self.holes > 1:
            result = self.play_holes(player, track, rng)
        else:
            hand = Hand(self, player, rng, int(rng.integers(self.rules.deck.holes(self.rules.hole_cards))))
            hand.play(track)
            result, hole_luck = hand.result, self.strength[hand.hole]
        return tuple(np.insert(result, 1, hole_luck).tolist())

    def play_holes(self, player: int, track: Track, rng: np.random.Generator) -> F64:
        """The result of one public history up to the responder's first street, and of the rest with each hole."""
        hand = Hand(self, player, rng)
        track = hand.play(track)
        if hand.chance == 0 or track.state.is_over:
            return hand.result
        holes = spread_draws(*hand.posterior(track), self.holes, rng)
        rests = [Hand(self, player, rng, hole, track.board) for hole in holes]
        for rest in rests:
            rest.play(track)
        return np.asarray(hand.result + hand.chance * np.mean([rest.result for rest in rests], axis=0))


class Hand:
    """A hand of the responder in a seat. Everything drawn is public, except its own hole (None: not dealt yet)."""

    def __init__(
        self,
        responder: Responder,
        player: int,
        rng: np.random.Generator,
        hole: int | None = None,
        board: tuple[int, ...] = (),
    ) -> None:
        self.responder, self.rules, self.player, self.rng = responder, responder.rules, player, rng
        self.hole = hole
        self.cards = () if hole is None else tuple(hole_cards(hole, self.rules.hole_cards))
        self.chance = 1.0  # probability that the agent has not folded
        self.won = self.card_luck = self.action_luck = 0.0
        self.see(board)

    @property
    def result(self) -> F64:
        """What the responder won, and the luck of the cards and of the agent's actions."""
        return np.array([self.won, self.card_luck, self.action_luck])

    def see(self, board: tuple[int, ...]) -> None:
        """Update the agent's possible holes and our equity against each for a board."""
        self.free = self.responder.free((*self.cards, *board))
        if self.hole is None:
            self.equities = self.responder.mean_equities(board) if board else self.responder.first_equities
        else:
            self.equities = equities_against(self.rules, self.hole, board)

    def play(self, track: Track) -> Track:
        """Play from a track to the end of the hand; without a hole, at most to the responder's first street.

        The agent's folds count by their probability, and the hand continues without them.
        """
        while not track.state.is_over and self.chance > 0:
            if self.rules.board_size(track.state.round) > len(track.board):
                track = self.deal(track)
            if self.hole is None and track.state.round >= self.responder.from_street:
                return track
            track = self.respond(track) if track.state.player == self.player else self.draw_action(track)
        if self.chance > 0:
            stake, share = min(track.state.spent), self.share(track.reach * self.free)
            self.won += self.chance * (check_down_value(stake, share) if track.state.is_showdown else -stake)
        return track

    def posterior(self, track: Track) -> tuple[F64, F64]:
        """[hole] the probability of the responder's holes given the public history, and their check-down values."""
        mass = meeting_weights(self.rules, track.reach) * self.free
        mass[mass < LEAST_MASS * track.reach.sum()] = 0.0
        edges = full_table(self.rules, track.board).edges(track.reach, None)
        edges = np.divide(edges, mass, out=np.zeros(len(mass)), where=mass > 0)
        return mass / mass.sum(), max(track.state.spent) * edges

    def deal(self, track: Track) -> Track:
        """Deal the next street, given the agent's range, which may hold some of the cards."""
        rules, stake = self.rules, max(track.state.spent)
        weights = track.reach * self.free
        theirs = hole_card_table(rules.deck, rules.hole_cards)[draw_index(weights, self.rng)]
        gone = {*self.cards, *track.board, *theirs.tolist()}
        left = [card for card in range(rules.deck.size) if card not in gone]
        count = rules.board_size(track.state.round) - len(track.board)
        board = (*track.board, *self.rng.permutation(left)[:count].tolist())
        expected = check_down_value(stake, self.share(weights))
        track = track.dealt(board)
        self.see(board)
        self.card_luck += self.chance * (check_down_value(stake, self.share(track.reach * self.free)) - expected)
        return track

    def draw_action(self, track: Track) -> Track:
        """Draw the agent's action from its range; folds count by their probability."""
        state = track.state
        actions, chances = track.probabilities()
        rows = chances * (track.reach * self.free)
        mixture = rows.sum(axis=1)
        mixture /= mixture.sum()
        if actions[0] == FOLD:
            self.won += self.chance * mixture[0] * min(state.spent)
            self.chance *= 1 - mixture[0]
            mixture[0] = 0.0
        if not mixture.any():
            self.chance = 0.0
            return track
        mixture /= mixture.sum()
        drawn = draw_index(mixture, self.rng)
        taken = np.flatnonzero(mixture)
        worth = {int(i): check_down_value(max(*state.spent, actions[i]), self.share(rows[i])) for i in taken}
        self.action_luck += self.chance * (worth[drawn] - sum(mixture[i] * worth[i] for i in worth))
        return track.after(actions[drawn])

    def respond(self, track: Track) -> Track:
        """The responder's action: the best one if both check and call after it (Algorithm 1 of the paper)."""
        state = track.state
        if state.round < self.responder.from_street:
            return track.after(CALL)
        weights = track.reach * self.free
        best, best_value, after = FOLD, 0.0, None
        value = self.worth(state, self.share(weights), max(state.spent))
        if value > 0 or not state.legal().fold:
            best, best_value = CALL, value
        bets = self.responder.bets[: state.round - self.responder.from_street + 1][-1]
        for total in considered_raises(state, bets):
            raised = track.after(total)
            actions, chances = raised.probabilities()
            stays = weights * (1 - chances[actions.index(FOLD)]) if FOLD in actions else weights
            stay = stays.sum() / weights.sum()
            value = (1 - stay) * state.pot
            if stay > 0:
                value += stay * self.worth(state, self.share(stays), total)
            if value > best_value:
                best_value, after = value, raised
        return track.after(best) if after is None else after

    def worth(self, state: BettingState, share: float, total: int) -> float:
        """The value of not folding to the responder, if both put in that total and then check."""
        mine, total = state.spent[self.player], min(total, *state.rules.stacks)
        return share * (mine + total) - (1 - share) * (total - mine)

    def share(self, weights: F64) -> float:
        """Equity against a range, if nobody bets any more."""
        return float(weights @ self.equities / weights.sum())


def spread_draws(chances: F64, values: F64, count: int, rng: np.random.Generator) -> list[int]:
    """Indices drawn in proportion to some numbers, spread evenly from the lowest to the highest value.

    The mean of anything over them is unbiased (systematic sampling: an index is drawn `count` x chance times, on
    average), and their luck needs no control variate: it is small.
    """
    order = np.flatnonzero(chances)
    order = order[np.argsort(values[order], kind="stable")]
    ends = np.cumsum(chances[order])
    points = (np.arange(count) + rng.random()) * (ends[-1] / count)
    found: list[int] = order[np.minimum(np.searchsorted(ends, points, side="right"), len(order) - 1)].tolist()
    return found


def check_down_value(stake: int, share: float) -> float:
    """The value of a hand if both put in that much and then check to the end."""
    return stake * (2 * share - 1)
