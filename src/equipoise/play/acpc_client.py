"""An agent at an ACPC dealer: reads match states, answers where it is to act, counts what it wins.

The protocol has no end message: the match is over when the dealer closes the connection. A state that is sent again is
answered again in the same way, and counts once. A state of another game, or none at all, ends in an `InputError`.
Random numbers depend on the seed, the hand and the position only, so that the same states get the same answers.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise._errors import InputError, shown
from equipoise.agents.agent import Agent, View
from equipoise.games.acpc import MatchState, read_match_state
from equipoise.games.state import CALL, FOLD
from equipoise.play.dealing import PLAYERS_OWN, stream
from equipoise.play.lines import Lines, is_comment
from equipoise.play.winnings import Winnings

VERSION = "VERSION:2.0.0"
PATIENCE = 1300.0  # seconds without a word from the dealer: it gives the other player up to 600 for an action or a hand

OnHand = Callable[[MatchState, int], None]


@dataclass(frozen=True)
class ClientResult:
    """What this seat won in the hands seen to the end, and whether the dealer closed between hands."""

    winnings: Winnings
    finished: bool

    def as_json(self) -> dict[str, Any]:
        """Numbers of the match."""
        return {**self.winnings.as_json(), "finished": self.finished}


def play_at(
    agent: Agent,
    host: str,
    port: int,
    *,
    seed: int | None = None,
    on_hand: OnHand | None = None,
    timeout: float = PATIENCE,
) -> ClientResult:
    """Sit down at a dealer and play until it closes; `on_hand` is told the last state of each hand and its chips."""
    where = f"{host}:{port}"
    try:
        connection = socket.create_connection((host, port), timeout)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(f"cannot connect: {error}", where=where, remedy="is the dealer waiting there?") from None
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        seat = _Seat(agent, seed, on_hand)
        try:
            _play(seat, Lines(connection), timeout)
        except TimeoutError:
            remedy = "give it more time, or see what it waits for"
            raise InputError(f"the dealer is silent for {timeout:g} s", where=where, remedy=remedy) from None
        except InputError as error:
            so_far = f" (after {seat.winnings})" if seat.values else ""
            raise InputError(error.what + so_far, where=where, remedy=error.remedy) from None
    return ClientResult(seat.winnings, seat.finished)


def _play(seat: _Seat, lines: Lines, timeout: float) -> None:
    if not lines.send(VERSION, time.monotonic() + timeout):
        return
    while (line := lines.read(time.monotonic() + timeout)) is not None:
        if not line or is_comment(line):
            continue
        answer = seat.answer(line)
        if answer and not lines.send(answer, time.monotonic() + timeout):
            return


class _Seat:
    """The player's side of a match, line by line."""

    def __init__(self, agent: Agent, seed: int | None, on_hand: OnHand | None) -> None:
        self.agent, self.seed, self.on_hand = agent, seed, on_hand
        self.values: list[int] = []
        self.finished = False
        self.hand = -1
        self.counted = -1
        self.rng = np.random.default_rng(0)
        self.last = ("", "")  # the last line that was answered, and the answer

    @property
    def winnings(self) -> Winnings:
        """So far."""
        return Winnings.of(self.values, self.agent.rules.big_blind)

    def answer(self, line: str) -> str:
        """The reply to a state, empty where none is due."""
        if line == self.last[0]:
            return self.last[1]
        seen = read_match_state(self.agent.rules, line)
        if seen.hand != self.hand:
            self.hand, self.rng = seen.hand, stream(self.seed, PLAYERS_OWN, seen.hand, seen.position)
        self.finished = seen.state.is_over
        if seen.state.is_over:
            self.count(seen, line)
        elif seen.state.player == seen.position:
            self.last = (line, f"{line}:{self.choose(seen)}")
            return self.last[1]
        return ""

    def choose(self, seen: MatchState) -> str:
        """The agent's action, in the protocol's letters."""
        view = View(seen.state, seen.position, seen.deal.holes[seen.position], seen.deal.board)
        action = self.agent.act(view, self.rng)
        seen.state.apply(action)  # an agent that answers illegally is stopped here, not silently corrected there
        return {FOLD: "f", CALL: "c"}.get(action, "r" if seen.state.rules.limit else f"r{action}")

    def count(self, seen: MatchState, line: str) -> None:
        """Book a finished hand, once."""
        if seen.hand == self.counted:
            return
        if seen.state.is_showdown and not all(seen.deal.holes):
            raise InputError(f"a showdown without both hands: {shown(line, 80)}", remedy="a dealer shows both")
        self.counted = seen.hand
        value = seen.state.payoffs(seen.deal)[seen.position]
        self.values.append(value)
        if self.on_hand:
            self.on_hand(seen, value)
