"""Matches between two agents: duplicate by default, with a 95% interval.

In a duplicate match every deal is played twice, with seats swapped, and the mean of the two is one observation, so the
luck of the cards mostly cancels. Two table agents play in a kernel (`batch.py`), other agents hand by hand, in several
processes if none of them is somebody's function, which may learn from hand to hand. A match with a seed is the same on
any number of threads: each chunk of deals has its own random stream. Agents of one betting tree can also be compared on
random boards, without dealing hands (`board_match.py`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.agents.agent import Agent, can_fork
from equipoise.agents.named import Playing, load_players
from equipoise.agents.search.agent import SearchAgent
from equipoise.agents.table import TableAgent
from equipoise.agents.tree_agent import TreeAgent
from equipoise.agents.user_agent import set_deadline
from equipoise.cards.deck import check_hole_cards
from equipoise.core.display import table_html
from equipoise.core.errors import InputError, check_count, check_minutes
from equipoise.core.isolated import TimeUpError
from equipoise.core.jit import F64, I32, U8
from equipoise.core.machine import thread_count
from equipoise.core.progress import Fraction
from equipoise.core.wording import counted
from equipoise.core.workers import workers
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.measure.aivat import Aivat, compare_moments
from equipoise.measure.stats import Moments
from equipoise.play.batch import END, MOST_HISTORY, PlayBuffers, deal_cards, play_deals
from equipoise.play.board_match import LEAST_BOARDS, BoardMatch
from equipoise.play.dealing import dealt, view_of
from equipoise.play.logs import LogWriter, log_names
from equipoise.tree.betting_tree import betting_plan

CHUNK = 4096  # deals with a random stream of their own
SLOW_CHUNK = 16
HANDS = 100_000  # unless the caller says how many
LEAST_HANDS = 4  # so that there is an interval
GRACE, LEAST_GRACE = 0.1, 1.0  # of the time, and seconds: in which a user's agent may finish its last deal


@dataclass(frozen=True)
class PlayedHand:
    """A finished hand: the betting, the cards, and which player the match's first agent was."""

    state: BettingState
    deal: Deal
    seat: int


@dataclass(frozen=True)
class MatchResult:
    """The result of the first agent in milli-big-blinds per hand, with half the width of the 95% interval.

    With `boards`, the hands are all pairs of holes on these boards in both seats, and the interval is over boards.
    """

    names: tuple[str, str]
    game: str
    hands: int
    mbb_per_hand: float
    ci95: float
    by_player: tuple[float, float]  # as player 0 and as player 1
    duplicate: bool
    seconds: float
    aivat: dict[str, Any] | None = None
    seed: int = 1
    boards: int | None = None
    ended: str | None = None  # why the last deal was left out: an agent did not answer within the time

    def __repr__(self) -> str:
        won = f"{self.mbb_per_hand:+.1f} ± {self.ci95:.1f} mbb/hand"
        count = counted(self.hands, "hand") if self.boards is None else counted(self.boards, "board")
        return f"MatchResult({self.names[0]} against {self.names[1]}: {won}, {count} of {self.game})"

    def to_rows(self) -> list[dict[str, Any]]:
        """One row: rows of several matches make a table."""
        row: dict[str, Any] = {
            "agent": self.names[0],
            "opponent": self.names[1],
            "game": self.game,
            "hands": self.hands,
        }
        return [row | {"mbb_per_hand": self.mbb_per_hand, "ci95": self.ci95, "duplicate": self.duplicate}]

    _repr_html_ = table_html

    @property
    def hands_per_second(self) -> float:
        return self.hands / max(self.seconds, 1e-9)

    def as_json(self) -> dict[str, Any]:
        """For other programs."""
        return {
            "agents": list(self.names),
            "game": self.game,
            "hands": self.hands,
            "mbb_per_hand": self.mbb_per_hand,
            "ci95": self.ci95,
            "by_player": list(self.by_player),
            "duplicate": self.duplicate,
            "seed": self.seed,
            "seconds": self.seconds,
            "hands_per_second": self.hands_per_second,
            "aivat": self.aivat,
            "boards": self.boards,
            "ended": self.ended,
        }


@dataclass(frozen=True, eq=False)
class Chunk:
    """Played deals. Chips are the first agent's, [deal, seat]."""

    values: F64
    deals: U8  # [deal, seat, card]
    history: I32  # [deal, seat, action] ended by END; empty if not recorded
    corrected: F64 | None = None  # [deal, seat] the chips by AIVAT, if wanted
    ended: InputError | None = None  # why the deal after these was not finished

    def part(self, deals: int, ended: InputError | None) -> Chunk:
        """The first deals, not yet corrected."""
        return Chunk(self.values[:deals], self.deals[:deals], self.history[:deals], ended=ended)

    def hands(self, rules: GameRules) -> Iterator[PlayedHand]:
        """One by one."""
        for i, seat in np.ndindex(*self.values.shape):
            state = BettingState.start(rules)
            for action in self.history[i, seat].tolist():
                if action == END:
                    break
                state = state.apply(action)
            yield PlayedHand(state, dealt(rules, self.deals[i, seat].tolist()), seat)


@dataclass(frozen=True, eq=False)
class Match:
    """Two agents of one game."""

    one: Agent
    two: Agent
    duplicate: bool = True
    seed: int = 1
    keep_hands: bool = False
    aivat: bool = False

    def __post_init__(self) -> None:
        rules, other = self.one.rules, self.two.rules
        if rules.fingerprint != other.fingerprint:
            raise InputError(
                f"{self.one.name} plays {rules.name or 'one game'}, {self.two.name} {other.name or 'another'}",
                remedy="let two agents of the same game play",
            )
        if rules.stacks[0] != rules.stacks[1]:
            raise InputError(f"stacks {rules.stacks}", remedy="duplicate play needs equal stacks")

    @property
    def rules(self) -> GameRules:
        return self.one.rules

    @property
    def is_fast(self) -> bool:
        """Whether both are table agents."""
        return isinstance(self.one, TableAgent) and isinstance(self.two, TableAgent)

    def play(self, deals: int, threads: int = 0, end: float | None = None) -> Iterator[Chunk]:
        """Play deals, each twice; chunks come in order on any number of threads. `end` is a time after which no chunk
        begins (except the first); those that have begun are finished, so that slow hands are not left out. A user's
        agent, which may never answer, begins no other deal then, and is ended if it does not finish its last one. The
        last chunk has the deals before an error, which comes after it.
        """
        with closing(self._chunks(deals, threads, end)) as chunks:
            for chunk in chunks:
                yield chunk
                if isinstance(chunk.ended, TimeUpError):
                    return
                if chunk.ended:
                    raise chunk.ended

    def _chunks(self, deals: int, threads: int, end: float | None) -> Generator[Chunk, None, None]:
        """Chunks that are played whatever becomes of those before."""
        size = CHUNK if self.is_fast and not self.aivat else SLOW_CHUNK
        tasks = (
            (min(size, deals - start), np.random.SeedSequence(self.seed, spawn_key=(start // size,)))
            for start in range(0, deals, size)
            if end is None or start == 0 or time.monotonic() < end
        )
        count = thread_count(threads)
        if count == 1 or not (can_fork(self.one, self.two) and is_memoryless(self.one) and is_memoryless(self.two)):
            begins_until = end if end is not None and self._limit_time(end) else None
            for task in tasks:
                yield self.play_chunk(*task, begins_until)
            return
        waiting: deque[Future[Chunk]] = deque()
        ahead = 2 * count if end is None else count - 1  # with an end, chunks that wait would outlast it
        with self._players(count) as play:
            for task in tasks:
                waiting.append(play(*task))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def play_chunk(self, deals: int, stream: np.random.SeedSequence, end: float | None = None) -> Chunk:
        """Play some deals with a random stream of their own. After `end` no other one begins."""
        played = self._play_tables(deals, stream) if self.is_fast else self._play_slowly(deals, stream, end)
        return self._corrected(played) if self.aivat else played

    def _limit_time(self, end: float) -> bool:
        """Let users' agents be ended some time after `end`; whether there are any."""
        grace = LEAST_GRACE + GRACE * max(0.0, end - time.monotonic())
        return sum(set_deadline(agent, end + grace) for agent in (self.one, self.two)) > 0

    @contextmanager
    def _players(self, count: int) -> Iterator[Callable[..., Future[Chunk]]]:
        """`play_chunk` on several cores: by threads if a kernel does the work, by processes if Python does."""
        if self.is_fast and not self.aivat:
            with ThreadPoolExecutor(count) as pool:
                yield lambda *task: pool.submit(self.play_chunk, *task)
        else:
            self.play_chunk(1, np.random.SeedSequence(self.seed))  # compiles what all processes share
            with workers(self.play_chunk, count) as play:
                yield play

    def _corrected(self, chunk: Chunk) -> Chunk:
        """With the chips by AIVAT, by the agents that just played: they remember their solves."""
        found = np.empty(chunk.values.shape)
        for at, hand in zip(np.ndindex(*found.shape), chunk.hands(self.rules), strict=True):
            try:
                value = self._aivat[hand.seat].value(hand.state, hand.deal)
            except InputError as error:
                chunk = chunk.part(at[0], chunk.ended or error)
                break
            found[at] = value if hand.seat == 0 else -value
        return replace(chunk, corrected=found[: len(chunk.values)])

    @cached_property
    def _aivat(self) -> tuple[Aivat, Aivat]:
        """By the first agent's seat."""
        return Aivat(self.rules, (self.one, self.two)), Aivat(self.rules, (self.two, self.one))

    def _play_tables(self, deals: int, stream: np.random.SeedSequence) -> Chunk:
        rules, one, two = self.rules, self.one, self.two
        assert isinstance(one, TableAgent) and isinstance(two, TableAgent)
        buffers = PlayBuffers.of(stream)
        cards = np.empty((deals, PLAYERS, rules.deal_size), np.uint8)
        deal_cards(self.duplicate, np.arange(rules.deck.size, dtype=np.uint8), buffers.random, cards)
        hands = hands_of_sides(rules, cards)
        buckets = np.stack([agent.buckets_of(hands[:, :, side]) for side, agent in enumerate((one, two))], axis=2)
        ranks = rules.ranker.ranks(hands.reshape(-1, rules.hand_cards)).reshape(hands.shape[:3])
        values = np.empty((deals, PLAYERS))
        history = np.empty((deals, PLAYERS, MOST_HISTORY if self.keep_hands or self.aivat else 0), np.int32)
        blinds = np.array(rules.blinds)
        play_deals(one.table, two.table, buckets, ranks, betting_plan(rules), blinds, buffers, values, history)
        return Chunk(values, cards, history)

    def _play_slowly(self, deals: int, stream: np.random.SeedSequence, end: float | None) -> Chunk:
        rules, rng = self.rules, np.random.default_rng(stream)
        values = np.empty((deals, PLAYERS))
        cards = np.empty((deals, PLAYERS, rules.deal_size), np.uint8)
        history = np.full((deals, PLAYERS, MOST_HISTORY), END, np.int32)
        chunk = Chunk(values, cards, history)
        for i, seat in np.ndindex(deals, PLAYERS):
            if i and not seat and end is not None and time.monotonic() >= end:
                return chunk.part(i, None)
            if seat and self.duplicate:
                cards[i, 1] = cards[i, 0]
            else:
                cards[i, seat] = rng.permutation(rules.deck.size)[: rules.deal_size]
            agents = (self.one, self.two) if seat == 0 else (self.two, self.one)
            deal = dealt(rules, cards[i, seat].tolist())
            try:
                state = play_hand(agents, deal, rng)
            except InputError as error:
                return chunk.part(i, error)
            actions = [action for taken in state.rounds for action in taken][: MOST_HISTORY - 1]
            history[i, seat, : len(actions)] = actions
            values[i, seat] = state.payoffs(deal)[seat]
        return chunk


def is_memoryless(agent: Agent) -> bool:
    """Whether copies of an agent play as it does. A function may remember earlier hands."""
    return isinstance(agent.blueprint if isinstance(agent, SearchAgent) else agent, TreeAgent)


def hands_of_sides(rules: GameRules, cards: U8) -> U8:
    """[deal, seat, side, card] each side's hole and the board; side one is player `seat`. IN: [deal, seat, card]."""
    holes = rules.hole_cards
    players = [np.s_[:, :, :holes], np.s_[:, :, holes : 2 * holes]]
    hands = np.empty((len(cards), PLAYERS, PLAYERS, rules.hand_cards), np.uint8)
    hands[:, :, :, holes:] = cards[:, :, np.newaxis, 2 * holes :]
    for player, part in enumerate(players):
        for seat in range(PLAYERS):
            hands[:, seat, player if seat == 0 else 1 - player, :holes] = cards[part][:, seat]
    return hands


def play_hand(agents: tuple[Agent, Agent], deal: Deal, rng: np.random.Generator) -> BettingState:
    """Play one hand; agents are by player."""
    state = BettingState.start(agents[0].rules)
    while not state.is_over:
        state = state.apply(agents[state.player].act(view_of(state, deal, state.player), rng))
    return state


def match(
    one: Playing,
    two: Playing,
    *,
    game: str | GameRules = "",
    menu: str | None = None,
    hands: int | None = None,
    duplicate: bool = True,
    seed: int = 1,
    threads: int = 0,
    aivat: bool = False,
    log: str | Path | None = None,
    progress: Fraction | None = None,
    minutes: float | None = None,
    boards: int | None = None,
) -> MatchResult:
    """Play a match between two agents, functions of a view, or names (`agents/named.py`).

    `game` is for functions and named agents, if the opponent has none; `menu` is the bet menu of named agents. `aivat`
    adds an estimate with less variance (`measure/aivat.py`); `log` is a file for all hands (`logs.py`); `progress` gets
    the fraction done. After some `minutes` no more hands begin; the result says how many were played, and why the last
    deal was left out if an agent of a file did not answer (`ended`). There are 100,000
    `hands` by default. `boards` values all pairs of holes on as many random boards instead of dealing hands, for two
    agents that play the same betting tree (`board_match.py`).

    >>> match("always-raise", "always-fold", game="leduc", hands=100).mbb_per_hand
    1000.0
    """
    if boards is not None:
        check_count(boards, "boards", LEAST_BOARDS)
        if hands is not None or minutes is not None or log is not None or threads or aivat or not duplicate:
            raise InputError(
                "boards with an option of hands (hands, minutes, threads, duplicate, aivat or log)",
                remedy="leave one of them out",
            )
    hands = check_count(HANDS if hands is None else hands, "hands", LEAST_HANDS)
    check_minutes(minutes)
    threads = thread_count(threads)
    deals = (hands + 1) // PLAYERS
    one, two = load_players([one, two], game, menu)
    table = Match(one, two, duplicate, seed, log is not None, aivat)
    if boards is not None:
        return _match_on_boards(table, boards, progress)
    if aivat:
        check_hole_cards(table.rules.hole_cards, "AIVAT")
    if table.is_fast:
        table.play_chunk(1, np.random.SeedSequence(seed))  # compiles, on a first run
    start = time.monotonic()
    end = None if minutes is None else start + 60 * minutes
    by_player, chips, corrected, done, ended = Moments(PLAYERS), Moments(), Moments(), 0, None
    with LogWriter(log, table.rules) if log is not None else nullcontext() as writer:
        for chunk in table.play(deals, threads, end):
            ended = chunk.ended
            if not len(chunk.values):
                continue
            by_player.add(chunk.values)
            chips.add(observations(chunk.values, duplicate))
            if chunk.corrected is not None:
                corrected.add(observations(chunk.corrected, duplicate))
            if writer:
                _write(writer, chunk, table, PLAYERS * done)
            done += len(chunk.values)
            if progress:
                spent = 0.0 if minutes is None else (time.monotonic() - start) / (60 * minutes)
                progress(min(1.0, max(done / deals, spent)))
    if ended and not done:
        raise ended
    unit = 1000 / table.rules.big_blind
    mean, half = chips.interval(unit)
    first, second = (unit * by_player.mean).tolist()
    comparison = compare_moments(table.rules, chips, corrected) if aivat else None
    return MatchResult(
        (one.name, two.name), table.rules.name, PLAYERS * done, mean, half, (first, second),
        duplicate, time.monotonic() - start, comparison.as_json() if comparison else None, seed,
        ended=str(ended) if ended else None,
    )  # fmt: skip


def _match_on_boards(table: Match, boards: int, progress: Fraction | None) -> MatchResult:
    """All pairs of holes on random boards; the mean of both seats is one observation per board."""
    found = BoardMatch.of(table.one, table.two, table.seed)
    start, by_player, chips = time.monotonic(), Moments(PLAYERS), Moments()
    for number in range(boards):
        values = found.values(found.board(number))[np.newaxis]
        by_player.add(values)
        chips.add(observations(values, duplicate=True))
        if progress:
            progress((number + 1) / boards)
    unit = 1000 / table.rules.big_blind
    mean, half = chips.interval(unit)
    first, second = (unit * by_player.mean).tolist()
    return MatchResult(
        (table.one.name, table.two.name), table.rules.name, boards * found.pairs * PLAYERS, mean, half, (first, second),
        True, time.monotonic() - start, None, table.seed, boards,
    )  # fmt: skip


def observations(values: F64, duplicate: bool) -> F64:
    """Independent observations: hands, or the means of duplicate deals. IN: float64[deal, seat]."""
    return values.mean(axis=1) if duplicate else values.ravel()


def _write(log: LogWriter, chunk: Chunk, game: Match, number: int) -> None:
    """Every hand of a chunk; names are by player."""
    one, two = log_names(game.one.name, game.two.name)
    for at, hand in enumerate(chunk.hands(game.rules)):
        log.write(number + at, hand.state, hand.deal, (one, two) if hand.seat == 0 else (two, one))
