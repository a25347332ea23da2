"""An agent at an ACPC dealer: reads match states, answers where it is to act, counts its winnings.

The protocol has no end message: the match is over when the dealer closes the connection. A repeated state gets the same
answer again and counts once. A state of another game, a state that does not continue the match, or an invalid one is an
`InputError`, and so is a timeout for the next state, whatever else the dealer sends. Random numbers depend only on the
seed, the hand and the position, so the same states get the same answers.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.agents.agent import Agent, View
from equipoise.agents.named import Playing, as_agent
from equipoise.core.addresses import Address, network_reason, read_host, read_port
from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import CALL, FOLD
from equipoise.games.notation.acpc import MatchState, read_match_state
from equipoise.games.rules import GameRules
from equipoise.play.acpc.lines import Lines, is_comment
from equipoise.play.dealing import PLAYERS_OWN, stream
from equipoise.play.winnings import Winnings

VERSION = "VERSION:2.0.0"
PATIENCE = (
    1300.0  # seconds without a state from the dealer: it gives the other player up to 600 for an action or a hand
)
_MOST_REPEATS = 100  # of one state
_ODD = "is this the right game, and a dealer?"

OnHand = Callable[[MatchState, int], None]


@dataclass(frozen=True)
class ClientResult:
    """The winnings of this seat in finished hands, and whether the dealer closed between hands."""

    winnings: Winnings
    finished: bool

    def as_json(self) -> dict[str, Any]:
        """Numbers of the match."""
        return {**self.winnings.as_json(), "finished": self.finished}


def play_at(
    agent: Playing,
    host: str,
    port: int,
    *,
    game: str | GameRules = "",
    seed: int | None = None,
    on_hand: OnHand | None = None,
    timeout: float = PATIENCE,
) -> ClientResult:
    """Play at a dealer until it closes; `on_hand` gets the last state of each hand and the chips won."""
    player = as_agent(agent, game)
    address = Address(read_host(host), read_port(port))
    where = str(address)
    try:
        connection = socket.create_connection(address, timeout)
    except OSError as error:
        what = f"cannot connect: {network_reason(error)}"
        raise InputError(what, where=where, remedy="is the dealer waiting there?") from None
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        seat = _Seat(player, seed, on_hand)
        try:
            _play(seat, Lines(connection), timeout)
        except InputError as error:
            so_far = f" (after {seat.winnings})" if seat.values else ""
            raise InputError(error.what + so_far, where=where, remedy=error.remedy) from None
    return ClientResult(seat.winnings, seat.finished)


def _play(seat: _Seat, lines: Lines, timeout: float) -> None:
    try:
        if not lines.send(VERSION, time.monotonic() + timeout):
            return
        while (line := _next_state(lines, time.monotonic() + timeout)) is not None:
            answer = seat.answer(line)
            if answer and not lines.send(answer, time.monotonic() + timeout):
                return
    except TimeoutError:
        remedy = "give it more time, or see what it waits for"
        raise InputError(f"the dealer is silent for {timeout:g} s", remedy=remedy) from None


def _next_state(lines: Lines, deadline: float) -> str | None:
    """The next line that is neither empty nor a comment; those do not extend the deadline."""
    while True:
        line = lines.read(deadline)
        if line is None or (line and not is_comment(line)):
            return line


class _Seat:
    """The player's side of a match, line by line."""

    def __init__(self, agent: Agent, seed: int | None, on_hand: OnHand | None) -> None:
        self.agent, self.seed, self.on_hand = agent, seed, on_hand
        self.values: list[int] = []
        self.finished = False
        self.rng = np.random.default_rng(0)
        self.seen: MatchState | None = None
        self.last = ("", "")  # the last line, and the answer to it
        self.repeats = 0

    @property
    def winnings(self) -> Winnings:
        """So far."""
        return Winnings.of(self.values, self.agent.rules.big_blind)

    def answer(self, line: str) -> str:
        """The reply to a state, empty where none is due."""
        if line == self.last[0]:
            self.repeats += 1
            if self.repeats > _MOST_REPEATS:
                raise InputError(f"{shown(line, 80)} sent {self.repeats + 1} times", remedy="the dealer is stuck")
            return self.last[1]
        seen = read_match_state(self.agent.rules, line)
        if self.seen is None or seen.hand != self.seen.hand:
            self.rng = stream(self.seed, PLAYERS_OWN, seen.hand, seen.position)
        if self.seen is not None and not _carries_on(self.seen, seen):
            raise InputError(f"{shown(line, 80)} after {shown(self.last[0], 80)}", remedy=_ODD)
        self.seen, self.finished = seen, seen.state.is_over
        said = ""
        if seen.state.is_over:
            self.count(seen, line)
        elif seen.state.player == seen.position:
            said = f"{line}:{self.choose(seen)}"
        self.last, self.repeats = (line, said), 0
        return said

    def choose(self, seen: MatchState) -> str:
        """The agent's action, in the protocol's letters."""
        view = View(seen.state, seen.position, seen.deal.holes[seen.position], seen.deal.board)
        action = self.agent.act(view, self.rng)
        seen.state.apply(action)  # raises on an illegal answer, which the dealer would silently correct
        return {FOLD: "f", CALL: "c"}.get(action, "r" if seen.state.rules.limit else f"r{action}")

    def count(self, seen: MatchState, line: str) -> None:
        """Book a finished hand."""
        if seen.state.is_showdown and not all(seen.deal.holes):
            raise InputError(f"a showdown without both hands: {shown(line, 80)}", remedy="a dealer shows both")
        value = seen.state.payoffs(seen.deal)[seen.position]
        self.values.append(value)
        if self.on_hand:
            self.on_hand(seen, value)


def _carries_on(before: MatchState, after: MatchState) -> bool:
    """Whether a state continues the match: a later hand, or more betting in the same hand with the same cards."""
    if after.hand != before.hand:
        return after.hand > before.hand
    earlier, later = ([action for actions in seen.state.rounds for action in actions] for seen in (before, after))
    mine, board = before.position, before.deal.board
    return (
        len(later) > len(earlier)
        and later[: len(earlier)] == earlier
        and (after.position, after.deal.holes[mine]) == (mine, before.deal.holes[mine])
        and after.deal.board[: len(board)] == board
    )
