"""An agent at a server that speaks Slumbot's web API: plays hands, counts what it wins.

Every answer is replayed by our own rules; at the end of a hand the server's winnings must be what the hand pays. A
request is never sent twice, since the server may have acted on it. The log has the ACPC dealer's lines.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from typing import Any, TextIO

from equipoise._errors import InputError, check_count, shown
from equipoise.agents.agent import Agent, View
from equipoise.games.acpc import LogState, log_state_text
from equipoise.games.slumbot import betting_text, read_betting
from equipoise.games.state import BettingState, Deal
from equipoise.play.dealing import PLAYERS_OWN, stream
from equipoise.play.logs import log_names
from equipoise.play.slumbot_server import check_rules
from equipoise.play.winnings import Winnings

_MOST_ANSWER = 65536  # bytes


def play_slumbot(
    agent: Agent,
    url: str,
    *,
    hands: int,
    seed: int | None = None,
    timeout: float = 60.0,
    log: str | Path | None = None,
    on_hand: Callable[[int], None] | None = None,
) -> Winnings:
    """Play hands at the server whose `/api/new_hand` lies under a URL; `on_hand` is told the chips of each."""
    check_rules(agent.rules)
    check_count(hands, "hands")
    session = _Session(agent, _base(url), timeout)
    with ExitStack() as stack:
        book = stack.enter_context(_open_log(log)) if log is not None else None
        values: list[int] = []
        try:
            for number in range(hands):
                ended, client = session.play_hand(number, seed)
                values.append(int(ended.values[client]))
                if book:
                    book.write(log_state_text(ended) + "\n")
                    book.flush()
                if on_hand:
                    on_hand(values[-1])
        except InputError as error:
            so_far = f" (after {Winnings.of(values, agent.rules.big_blind)})" if values else ""
            raise InputError(error.what + so_far, where=url, remedy=error.remedy) from None
        except OSError as error:  # of the log: those of the connection have been read already
            raise InputError(f"no log: {error.strerror}", where=str(log), remedy="make room") from None
    return Winnings.of(values, agent.rules.big_blind)


def _base(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise InputError(f"address {shown(url)}", remedy="give one like http://127.0.0.1:8080")
    return url.rstrip("/").removesuffix("/api")


def _open_log(path: str | Path) -> TextIO:
    try:
        return Path(path).open("x", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"no log: {error.strerror}", where=str(path), remedy="name a new file") from None


class _Session:
    """A token, and what is said with it."""

    def __init__(self, agent: Agent, base: str, timeout: float) -> None:
        self.agent, self.base, self.timeout = agent, base, timeout
        self.token = ""

    def play_hand(self, number: int, seed: int | None) -> tuple[LogState, int]:
        """One hand to its end, and which player the agent was."""
        rng = stream(seed, PLAYERS_OWN, number)
        answer = self.post("new_hand", {"token": self.token} if self.token else {})
        while "winnings" not in answer:
            seen = self.read(answer)
            if seen.state.player != seen.player:
                raise InputError(
                    f"after {shown(str(answer['action']))} player {seen.player} is not to act", remedy=_ODD
                )
            after = seen.state.apply(self.agent.act(seen, rng))
            said = betting_text(after).rstrip("/").removeprefix(betting_text(seen.state))
            answer = self.post("act", {"token": self.token, "incr": said})
        return self.ended(number, answer)

    def ended(self, number: int, answer: dict[str, Any]) -> tuple[LogState, int]:
        """A finished hand, whose winnings must be what it pays."""
        seen, winnings = self.read(answer), answer["winnings"]
        if not seen.state.is_over:
            raise InputError(f"winnings after {shown(str(answer['action']))}", remedy=_ODD)
        other = self.cards(answer, "bot_hole_cards") if answer.get("bot_hole_cards") else ()
        if seen.state.is_showdown and len(other) != len(seen.hole):
            raise InputError("a showdown without the other hand", remedy=_ODD)
        self.agent.rules.deck.check_distinct((*seen.hole, *other, *seen.board))
        holes = (seen.hole, other) if seen.player == 0 else (other, seen.hole)
        deal = Deal(holes, seen.board)
        values = seen.state.payoffs(deal)
        if values[seen.player] != winnings:
            raise InputError(f"winnings {shown(str(winnings))} where the hand pays {values[seen.player]}", remedy=_ODD)
        mine, others = log_names(self.agent.name, "server")
        names = (mine, others) if seen.player == 0 else (others, mine)
        return LogState(number, seen.state, deal, values, names), seen.player

    def read(self, answer: dict[str, Any]) -> View:
        """What an answer shows."""
        rules, text, position = self.agent.rules, answer.get("action"), answer.get("client_pos")
        if not isinstance(text, str) or position not in (0, 1):
            raise InputError(f"action {shown(str(text))}, client_pos {shown(str(position))}", remedy=_ODD)
        state: BettingState = read_betting(rules, text)
        hole, board = self.cards(answer, "hole_cards"), self.cards(answer, "board")
        if len(hole) != rules.hole_cards or len(board) != rules.board_size(state.round):
            raise InputError(f"{len(hole)} hole and {len(board)} board cards after {shown(text)}", remedy=_ODD)
        rules.deck.check_distinct((*hole, *board))
        return View(state, int(position), hole, board)

    def cards(self, answer: dict[str, Any], key: str) -> tuple[int, ...]:
        """A list of cards."""
        cards = answer.get(key)
        if not isinstance(cards, list) or not all(isinstance(card, str) for card in cards):
            raise InputError(f"{key} {shown(str(cards))}", remedy=_ODD)
        return tuple(self.agent.rules.deck.read_card(card) for card in cards)

    def post(self, name: str, body: dict[str, str]) -> dict[str, Any]:
        """One request; what is wrong with its answer in one line."""
        request = urllib.request.Request(
            f"{self.base}/api/{name}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        begun = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as reply:
                text = reply.read(_MOST_ANSWER)
            answer = json.loads(text)
        except urllib.error.HTTPError as error:
            error.close()
            raise InputError(f"{name}: HTTP status {error.code}", remedy="is this the right address?") from None
        except (ValueError, RecursionError):
            raise InputError(f"{name}: the answer is no JSON", remedy="is this the right address?") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            took = f"no answer in {time.monotonic() - begun:.0f} s" if isinstance(reason, TimeoutError) else str(reason)
            raise InputError(f"{name}: {took}", remedy="is the server there?") from None
        if not isinstance(answer, dict):
            raise InputError(f"{name}: the answer is no JSON object", remedy="is this the right address?")
        if "error_msg" in answer:
            raise InputError(f"{name}: the server says {shown(str(answer['error_msg']), 200)}", remedy=_ODD)
        if isinstance(answer.get("token"), str) and answer["token"]:
            self.token = answer["token"]  # it may change in the middle of a session
        return answer


_ODD = "the two sides do not play the same game"
