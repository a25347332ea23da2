"""Local best response: a lower bound on exploitability, for agents and games too large for an exact best response.

(Lisy and Bowling 2017.) A player that knows the agent's strategy keeps the range of holes the agent can have, and at
each decision takes the action that would be best if both checked and called from then on: a raise also wins the pot
from the holes that fold to it at once. What such a player wins, a best response wins too.
The bound is estimated from hands, with less noise and the same mean as play at a table: the agent's cards are never
dealt, its actions are drawn from its whole range, given all cards dealt; a fold is paid by its probability, and a
showdown, an all-in before the last card too, by the mean over the range and all boards to come.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from equipoise._errors import InputError, shown
from equipoise._jit import F64, U8
from equipoise.abstraction.bet_menu import ALL_IN, MIN, MOST_FRACTION, Size, round_half_away
from equipoise.abstraction.build import Tell
from equipoise.agents.agent import Agent, Track, draw
from equipoise.cards.deck import hole_index
from equipoise.cards.matchups import Progress, equities_against, equity_table, needs_table
from equipoise.cards.symmetry import hole_card_table
from equipoise.games.rules import PLAYERS, STREETS, GameRules
from equipoise.games.state import CALL, FOLD, BettingState
from equipoise.measure.stats import t975
from equipoise.solve.engine import all_cores

HANDS = 10_000
LEAST_HANDS = 4
CHUNK = 20  # hands that share a stream of random numbers


@dataclass(frozen=True)
class LocalBestResponse:
    """What local best response wins, chips a hand by player: a lower bound on exploitability.

    The player is the responder, the agent sits opposite; `lbr` is the average of both seats, as exploitability is.
    """

    player_values: tuple[float, float]
    player_errors: tuple[float, float]  # standard errors
    big_blind: int
    hands: int
    seconds: float
    from_street: str
    bets: tuple[Size, ...]

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
            "hands_per_second": self.hands_per_second,
            "seconds": self.seconds,
            "from_street": self.from_street,
            "bets": list(self.bets),
        }


def local_best_response(
    agent: Agent,
    *,
    hands: int | None = None,
    from_street: int | str = 0,
    bets: Sequence[Size] | str = (1.0, ALL_IN),
    seed: int = 1,
    threads: int = 0,
    progress: Tell | None = None,
    minutes: float | None = None,
) -> LocalBestResponse:
    """What local best response wins against an agent: a lower bound on its exploitability.

    Seats alternate over `hands` (10,000, or as many as `minutes` allow). Before `from_street`, a number or a name such
    as `turn`, it checks and calls. It considers `bets`: fractions of the pot after calling, `min` and `all-in`, as bet
    menus read them (a text has commas between them); in limit games the one raise. The result of a seed and a number
    of hands does not depend on `threads` (0: all cores). `progress` is told a stage and the fraction done of it.
    """
    rules = agent.rules
    responder = Responder(agent, read_street(from_street, rules), read_bets(bets))
    if hands is not None and hands < LEAST_HANDS:
        raise InputError(f"{hands} hands", remedy=f"play at least {LEAST_HANDS}")
    if minutes is not None and not minutes > 0:
        raise InputError(f"{minutes} minutes", remedy="play for some time")
    threads = threads or all_cores()
    if needs_table(rules):
        equity_table(rules, threads=threads, progress=_stage(progress, "equities before the flop, once"))
    started = time.monotonic()
    most = HANDS if hands is None and minutes is None else hands
    end = None if minutes is None else started + 60 * minutes
    tell = _stage(progress, "local best response")
    values = np.array(list(_in_threads(responder, most, seed, threads, started, end, tell)))
    by_seat = [values[seat::PLAYERS] for seat in range(PLAYERS)]
    means, errors = [[float(f(v)) for v in by_seat] for f in (np.mean, _standard_error)]
    return LocalBestResponse(
        player_values=(means[0], means[1]),
        player_errors=(errors[0], errors[1]),
        big_blind=rules.big_blind,
        hands=len(values),
        seconds=time.monotonic() - started,
        from_street=rules.street_name(responder.from_street),
        bets=() if rules.limit else responder.bets,
    )


def _stage(tell: Tell | None, name: str) -> Progress:
    return (lambda fraction: tell(name, fraction)) if tell else (lambda _fraction: None)


def _standard_error(values: F64) -> float:
    return float(values.std(ddof=1) / sqrt(len(values)))


def read_street(street: int | str, rules: GameRules) -> int:
    """A street by its number from 0 or by its name."""
    names = [rules.street_name(i) for i in range(rules.rounds)]
    if isinstance(street, str):
        words = [*names, *STREETS[: rules.rounds]]
        if street not in words:
            raise InputError(f"no street {shown(street)}", remedy=f"streets: {', '.join(names)}")
        return words.index(street) % rules.rounds
    if not 0 <= street < rules.rounds:
        raise InputError(f"no street {street}", remedy=f"use 0 to {rules.rounds - 1}")
    return street


def read_bets(bets: Sequence[Size] | str) -> tuple[Size, ...]:
    """Sizes, checked; from a text, separated by commas."""
    sizes: list[Size] = []
    for bet in bets.split(",") if isinstance(bets, str) else bets:
        word = bet.strip() if isinstance(bet, str) else bet
        if word in (ALL_IN, MIN):
            sizes.append(word)
            continue
        try:
            size = float(word)
        except (TypeError, ValueError):
            size = 0.0
        if not 0 < size <= MOST_FRACTION:
            raise InputError(f"bet {shown(str(bet))}", remedy='write e.g. "0.5,1.0,all-in"')
        sizes.append(size)
    return tuple(sizes)


def considered_raises(state: BettingState, bets: Sequence[Size]) -> list[int]:
    """The totals to raise to where somebody is to act, as a bet menu would have them, ascending."""
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


def _in_threads(
    responder: Responder, hands: int | None, seed: int, threads: int, started: float, end: float | None, tell: Progress
) -> Iterator[float]:
    """What each hand won, in order.

    Chunks that have begun when time is up are finished: long hands must not be left out more often than others.
    """
    waiting: deque[Future[list[float]]] = deque()
    begun = done = 0
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                while len(waiting) < 2 * threads and (hands is None or begun < hands):
                    if begun and end is not None and time.monotonic() >= end:
                        hands = begun
                        break
                    count = CHUNK if hands is None else min(CHUNK, hands - begun)
                    waiting.append(pool.submit(responder.play_chunk, seed, begun // CHUNK, count))
                    begun += count
                if not waiting:
                    return
                values = waiting.popleft().result()
                done += len(values)
                by_time = 0.0 if end is None else (time.monotonic() - started) / (end - started)
                tell(min(max(by_time, 0.0 if hands is None else done / hands), 1.0))
                yield from values
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, eq=False)
class Responder:
    """The player that responds to an agent, playing hands. Both seats; values are its chips."""

    agent: Agent
    from_street: int
    bets: tuple[Size, ...]

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

    def play_chunk(self, seed: int, chunk: int, hands: int) -> list[float]:
        """Hands with random numbers of their own; seats alternate."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(chunk,)))
        return [self.play((chunk * CHUNK + hand) % PLAYERS, rng) for hand in range(hands)]

    def play(self, player: int, rng: np.random.Generator) -> float:
        """One hand, the responder in a seat: what it wins on average over the agent's range."""
        rules = self.rules
        size = rules.hole_cards + rules.board_size(rules.rounds - 1)
        cards = tuple(rng.permutation(rules.deck.size)[:size].tolist())
        return Hand(self, player, cards[: rules.hole_cards], cards[rules.hole_cards :], rng).value()


@dataclass(frozen=True, eq=False)
class Hand:
    """One hand: the responder's seat and hole, and the whole board, of which it sees what is dealt."""

    responder: Responder
    player: int
    hole: tuple[int, ...]
    board: tuple[int, ...]
    rng: np.random.Generator

    def value(self) -> float:
        """What the responder wins; the agent's folds are paid by their probability and the hand goes on without."""
        rules = self.responder.rules
        can_have = self.responder.free((*self.hole, *self.board))  # given all cards, which nobody else knows yet
        track = self.responder.agent.follow(1 - self.player)
        won, chance = 0.0, 1.0  # that the agent has not folded
        while not track.state.is_over:
            state, size = track.state, rules.board_size(track.state.round)
            if size > len(track.board):
                track = track.dealt(self.board[:size])
            if state.player == self.player:
                track = self.respond(track)
                continue
            actions, chances = track.probabilities()
            mixture = chances @ (track.reach * can_have)
            mixture /= mixture.sum()
            if FOLD in actions:
                fold = actions.index(FOLD)
                won += chance * mixture[fold] * min(state.spent)
                mixture[fold] = 0.0
                left = mixture.sum()
                if left <= 0:
                    return float(won)
                chance *= left
            track = track.after(actions[draw(mixture, self.rng)])
        stake = min(track.state.spent)
        if track.state.folded >= 0:
            return float(won - chance * stake)
        return float(won + chance * stake * (2 * self.share(track, self.range(track)) - 1))

    def respond(self, track: Track) -> Track:
        """The responder's action: of the best one if both check and call after it (Algorithm 1 of the paper)."""
        state = track.state
        if state.round < self.responder.from_street:
            return track.after(CALL)
        weights = self.range(track)
        best, best_value = FOLD, 0.0
        value = self.worth(state, self.share(track, weights), max(state.spent))
        after: Track | None = None
        if value > 0 or not state.legal().fold:
            best, best_value = CALL, value
        for total in considered_raises(state, self.responder.bets):
            raised = track.after(total)
            actions, chances = raised.probabilities()
            stays = weights * (1 - chances[actions.index(FOLD)]) if FOLD in actions else weights
            stay = stays.sum() / weights.sum()
            value = (1 - stay) * state.pot
            if stay > 0:
                value += stay * self.worth(state, self.share(track, stays), total)
            if value > best_value:
                best, best_value, after = total, value, raised
        return track.after(best) if after is None else after

    def worth(self, state: BettingState, share: float, total: int) -> float:
        """What the pot is worth to the responder, against a fold, if both put in that total and then check."""
        stacks, mine = state.rules.stacks, state.spent[self.player]
        total = min(total, *stacks)
        return share * (mine + total) - (1 - share) * (total - mine)

    def range(self, track: Track) -> F64:
        """[hole] the agent's range as the responder sees it."""
        return track.reach * self.responder.free((*self.hole, *track.board))

    def share(self, track: Track, weights: F64) -> float:
        """The chance to win against a range, ties half, if nobody bets any more."""
        found = self._equities.get(len(track.board))
        if found is None:
            found = equities_against(self.responder.rules, hole_index(self.hole), track.board)
            self._equities[len(track.board)] = found
        return float(weights @ found / weights.sum())

    @cached_property
    def _equities(self) -> dict[int, F64]:
        """By the size of the board: several decisions of a street need the same."""
        return {}
