"""An agent at a server with Slumbot's web API: plays hands, counts its winnings.

Every answer is replayed by our own rules; at the end of a hand, the server's winnings must match the payoff. A request
is never sent twice, since the server may have acted on it. The log is in the format of the ACPC dealer.

The server is not trusted: answers are limited in time and size, redirects are not followed, and every answer must
continue the hand, so no hand is endless.
"""

from __future__ import annotations

import io
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, TextIO, cast

from equipoise.agents.agent import Agent, View
from equipoise.agents.named import Playing, as_agent
from equipoise.core.addresses import network_reason, read_url
from equipoise.core.disk import disk_remedy
from equipoise.core.errors import InputError, check_count, shown
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.notation.acpc import LogState, log_state_text
from equipoise.games.notation.slumbot import read_slumbot_betting, slumbot_betting
from equipoise.games.rules import GameRules
from equipoise.play.dealing import PLAYERS_OWN, stream
from equipoise.play.limits import PeerStream, read_object
from equipoise.play.logs import log_names
from equipoise.play.slumbot.server import check_rules
from equipoise.play.winnings import Winnings

_MOST_ANSWER = 65536  # bytes, with all its headers


def play_slumbot(
    agent: Playing,
    url: str,
    *,
    game: str | GameRules = "",
    hands: int,
    seed: int | None = None,
    timeout: float = 60.0,
    log: str | Path | None = None,
    on_hand: Callable[[int], None] | None = None,
) -> Winnings:
    """Play hands at the server with `/api/new_hand` under a URL; `on_hand` gets the chips of each hand."""
    player = as_agent(agent, game)
    check_rules(player.rules)
    check_count(hands, "hands")
    session = _Session(player, _base(url), timeout)
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
            so_far = f" (after {Winnings.of(values, player.rules.big_blind)})" if values else ""
            raise InputError(error.what + so_far, where=url, remedy=error.remedy) from None
        except OSError as error:  # of the log: connection errors are handled above
            raise InputError(f"no log: {error.strerror}", where=str(log), remedy=disk_remedy(error)) from None
    return Winnings.of(values, player.rules.big_blind)


def _base(url: str) -> str:
    return read_url(url).removesuffix("/api")


def _open_log(path: str | Path) -> TextIO:
    try:
        return Path(path).open("x", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"no log: {error.strerror}", where=str(path), remedy="name a new file") from None


class _Reply(HTTPResponse):
    """An answer that must arrive completely within the connection's timeout."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        seconds = sock.gettimeout()
        assert seconds is not None
        stream = PeerStream(sock, seconds, _MOST_ANSWER)
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        self.fp = cast("io.BufferedReader", io.BufferedReader(stream))


class _Http(urllib.request.AbstractHTTPHandler):
    """Opens URLs with such answers."""

    class _Connection(HTTPConnection):
        response_class = _Reply

    class _SecureConnection(HTTPSConnection):
        response_class = _Reply

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_

    def http_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._Connection, request)

    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._SecureConnection, request)


def _opener() -> urllib.request.OpenerDirector:
    """An opener without redirects that treats error statuses like other answers."""
    opener = urllib.request.OpenerDirector()
    opener.add_handler(urllib.request.ProxyHandler())
    opener.add_handler(_Http())
    return opener


class _Session:
    """A session: its token and its requests."""

    def __init__(self, agent: Agent, base: str, timeout: float) -> None:
        self.agent, self.base, self.timeout = agent, base, timeout
        self.opener = _opener()
        self.token = ""

    def play_hand(self, number: int, seed: int | None) -> tuple[LogState, int]:
        """One hand to its end, and which player the agent was."""
        rng = stream(seed, PLAYERS_OWN, number)
        answer = self.post("new_hand", {"token": self.token} if self.token else {})
        seen = self.read(answer)
        if len(_actions(seen.state)) > 1:
            raise InputError(f"a new hand with the betting {shown(str(answer['action']))}", remedy=_ODD)
        while "winnings" not in answer:
            if seen.state.player != seen.player:
                raise InputError(
                    f"after {shown(str(answer['action']))} player {seen.player} is not to act", remedy=_ODD
                )
            after = seen.state.apply(self.agent.act(seen, rng))
            said = slumbot_betting(after).rstrip("/").removeprefix(slumbot_betting(seen.state))
            answer = self.post("act", {"token": self.token, "incr": said})
            seen = self.carried_on(seen, after, answer)
        return self.ended(number, answer, seen)

    def carried_on(self, before: View, after: BettingState, answer: dict[str, Any]) -> View:
        """The view of an answer, which must be the same hand with our action in it."""
        seen, expected = self.read(answer), _actions(after)
        if _actions(seen.state)[: len(expected)] != expected:
            raise InputError(
                f"betting {shown(str(answer['action']))} in answer to {shown(slumbot_betting(after))}", remedy=_ODD
            )
        if (seen.player, seen.hole) != (before.player, before.hole) or seen.board[: len(before.board)] != before.board:
            raise InputError(f"other cards or seats after {shown(str(answer['action']))}", remedy=_ODD)
        return seen

    def ended(self, number: int, answer: dict[str, Any], seen: View) -> tuple[LogState, int]:
        """A finished hand, whose winnings must match its payoff."""
        winnings = answer["winnings"]
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
        state: BettingState = read_slumbot_betting(rules, text)
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
        """One request; any error becomes one line."""
        request = urllib.request.Request(
            f"{self.base}/api/{name}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        begun, elsewhere = time.monotonic(), "is this the right address?"
        try:
            with self.opener.open(request, timeout=self.timeout) as reply:
                status, text = reply.status, reply.read(_MOST_ANSWER)
            answer = read_object(text)
        except InputError as error:
            what = f"HTTP status {status}" if status != _FINE else f"the answer: {error.what}"
            raise InputError(f"{name}: {what}", remedy=elsewhere) from None
        except (HTTPException, ValueError) as error:  # ValueError: the length of a chunk
            raise InputError(f"{name}: no HTTP: {shown(str(error), 80)}", remedy=elsewhere) from None
        except OSError as error:
            cause = getattr(error, "reason", error)
            late = f"there was no answer in {time.monotonic() - begun:.0f} s"
            why = late if isinstance(cause, TimeoutError) else network_reason(cause)
            raise InputError(f"{name}: {why}", remedy="is the server there?") from None
        if "error_msg" in answer:
            raise InputError(f"{name}: the server says {shown(str(answer['error_msg']), 200)}", remedy=_ODD)
        if status != _FINE:
            raise InputError(f"{name}: HTTP status {status}", remedy=elsewhere)
        if isinstance(answer.get("token"), str) and answer["token"]:
            self.token = answer["token"]  # it may change in the middle of a session
        return answer


def _actions(state: BettingState) -> list[int]:
    return [action for actions in state.rounds for action in actions]


_FINE = 200
_ODD = "the two sides do not play the same game"
