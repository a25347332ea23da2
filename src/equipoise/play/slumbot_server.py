"""Agents behind Slumbot's web API: POST `/api/new_hand` {token?}, `/api/act` {token, incr}, `/api/login`.

The JSON fields and action strings are Slumbot's, so that a client written for it plays unchanged, also when it asks
under `/slumbot/api/`. Errors are answered as `error_msg` with status 200 and leave the hand as it was. A session is a
random token; positions alternate, the first hand in the big blind (client_pos 0). A client that asks for a new hand in
the middle of one folds it: it loses what it has put in. Logging in gives a token and checks nothing.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from equipoise._errors import InputError, shown
from equipoise.agents.agent import Agent
from equipoise.games.rules import GameRules
from equipoise.games.slumbot import betting_text, read_betting
from equipoise.games.state import BettingState, Deal
from equipoise.play.dealing import DEALS, PLAYERS_OWN, deal_hand, stream, view_of

MOST_BODY = 4096  # bytes of a request
MOST_CONNECTIONS = 64
_MOST_DISCARDED = 1 << 20  # bytes of a request that is too large
_IDLE = 30.0  # seconds a connection may say nothing
_INCREMENT = re.compile(r"[kcf]|b\d{1,9}")
Answer = dict[str, Any]


@dataclass(frozen=True)
class _Hand:
    """A hand being played; a value, so that a request that fails changes nothing."""

    state: BettingState
    deal: Deal
    client: int  # the client's player, and its client_pos


@dataclass
class _Session:
    """One client."""

    deals: np.random.Generator
    actions: np.random.Generator
    used: float
    hand: _Hand | None = None
    begun: int = 0
    finished: int = 0
    total: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def check_rules(rules: GameRules) -> None:
    """Refuse a game that Slumbot's texts cannot say."""
    if rules.limit or rules.blinds[0] <= rules.blinds[1]:
        raise InputError(
            f"{rules.name or 'this game'} is not played over Slumbot's API",
            remedy="use holdem.nolimit (reverse blinds)",
        )


class SlumbotTable:
    """All sessions of a server, without the web: what each request is answered."""

    def __init__(
        self, agent: Agent, *, seed: int | None = None, most_sessions: int = 1000, most_idle: float = 3600.0
    ) -> None:
        check_rules(agent.rules)
        self.agent, self.seed = agent, seed
        self.most_sessions, self.most_idle = most_sessions, most_idle
        self._sessions: dict[str, _Session] = {}
        self._begun = 0
        self._lock = threading.Lock()
        self._agent_lock = threading.Lock()  # nothing says that an agent may be asked by two threads at once

    def login(self, _request: Answer) -> Answer:
        """A token."""
        return {"token": self._open()}

    def new_hand(self, request: Answer) -> Answer:
        """The next hand of a session, of a new one without a token."""
        token = request.get("token")
        if token is None or token == "":
            token = self._open()
        session = self._session(token)
        with session.lock:
            rules, client = self.agent.rules, session.begun % 2
            hand = _Hand(BettingState.start(rules), deal_hand(rules, session.deals), client)
            after = self._reply(hand, session)
            if session.hand:  # folded: the chips in the middle are the agent's
                self._book(session, -session.hand.state.spent[session.hand.client])
            session.begun += 1
            return self._answer(token, session, after, "")

    def act(self, request: Answer) -> Answer:
        """One action of the client, and what follows."""
        token, said = request.get("token"), request.get("incr")
        session = self._session(token)
        with session.lock:
            if session.hand is None:
                raise InputError("no hand is being played", remedy="ask for a new hand")
            if not isinstance(said, str) or not _INCREMENT.fullmatch(said):
                raise InputError(f"incr {shown(str(said))}", remedy="send one of k, c, f and bN")
            hand, before = session.hand, betting_text(session.hand.state)
            moved = _Hand(read_betting(self.agent.rules, before + said), hand.deal, hand.client)
            return self._answer(str(token), session, self._reply(moved, session), before)

    def _open(self) -> str:
        now = time.monotonic()
        with self._lock:
            for token in [token for token, session in self._sessions.items() if now - session.used > self.most_idle]:
                del self._sessions[token]
            if len(self._sessions) >= self.most_sessions:
                raise InputError("too many sessions", remedy="try again later")
            token, number = str(uuid.uuid4()), self._begun
            self._begun += 1
            deals, actions = (stream(self.seed, purpose, number) for purpose in (DEALS, PLAYERS_OWN))
            self._sessions[token] = _Session(deals, actions, used=now)
        return token

    def _session(self, token: object) -> _Session:
        now = time.monotonic()
        with self._lock:
            session = self._sessions.get(token) if isinstance(token, str) else None
            if session is None or now - session.used > self.most_idle:
                raise InputError("unknown token", remedy="ask for a new hand without one")
            session.used = now
        return session

    def _reply(self, hand: _Hand, session: _Session) -> _Hand:
        """The hand after all that the agent does before the client is to act."""
        state = hand.state
        while not state.is_over and state.player != hand.client:
            with self._agent_lock:
                action = self.agent.act(view_of(state, hand.deal, state.player), session.actions)
            state = state.apply(action)
        return _Hand(state, hand.deal, hand.client)

    def _book(self, session: _Session, chips: int) -> None:
        session.finished += 1
        session.total += chips
        session.hand = None

    def _answer(self, token: str, session: _Session, hand: _Hand, before: str) -> Answer:
        deck, state, deal = self.agent.rules.deck, hand.state, hand.deal
        board = deal.board[: self.agent.rules.board_size(state.round)]
        answer: Answer = {
            "old_action": before,
            "action": betting_text(state),
            "client_pos": hand.client,
            "hole_cards": [deck.text([card]) for card in deal.holes[hand.client]],
            "board": [deck.text([card]) for card in board],
            "token": token,
        }
        session.hand = hand
        if state.is_over:
            winnings = state.payoffs(deal)[hand.client]
            self._book(session, winnings)
            answer["bot_hole_cards"] = [deck.text([card]) for card in deal.holes[1 - hand.client]]
            answer["winnings"] = winnings
            answer["session_num_hands"] = session.finished
            answer["session_total"] = session.total
        return answer


class SlumbotServer(ThreadingHTTPServer):
    """The web server; `serve_forever` in a thread or as a program's last call."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, table: SlumbotTable, host: str = "127.0.0.1", port: int = 8080) -> None:
        self.table = table
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError, UnicodeError) as error:
            where = f"{host}:{port}"
            raise InputError(f"cannot listen: {error}", where=where, remedy="name a free port") from None

    @property
    def url(self) -> str:
        """Where clients find it."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for the connection, if there is a place for it."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """The connection's thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke: one line."""
        del request
        print(f"{client_address[0]}: {sys.exc_info()[1]}", file=sys.stderr)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "equipoise"
    timeout = _IDLE
    disable_nagle_algorithm = True
    server: SlumbotServer

    def do_POST(self) -> None:
        """One request."""
        table = self.server.table
        calls: dict[str, Callable[[Answer], Answer]] = {
            "/api/new_hand": table.new_hand,
            "/api/act": table.act,
            "/api/login": table.login,
        }
        try:
            call = calls.get(self.path.removeprefix("/slumbot"))
            request = self._request()
            if call is None:
                raise InputError(f"no {shown(self.path)}", remedy=f"there are {', '.join(calls)}")
            answer = call(request)
        except InputError as error:
            answer = {"error_msg": str(error)}
        except TimeoutError:
            self.close_connection = True
            return
        except Exception as error:  # the agent's: the session stands where it stood
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            answer = {"error_msg": "the agent has failed"}
        self._send(answer)

    def _request(self) -> Answer:
        text = self.headers.get("Content-Length", "")
        length = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
        if not 0 <= length <= MOST_BODY:
            self.close_connection = True
            for _ in range(0, min(length, _MOST_DISCARDED), MOST_BODY):  # a client reads after it has sent all
                self.rfile.read(min(MOST_BODY, length))
                length -= MOST_BODY
            raise InputError(
                "no body, or a large one", remedy=f"send JSON of at most {MOST_BODY} bytes with its length"
            )
        try:
            request = json.loads(self.rfile.read(length) or b"{}")
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            raise InputError("the body is no JSON object", remedy='send e.g. {"token": "...", "incr": "c"}')
        return request

    def _send(self, answer: Answer) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: hands are the clients' business."""
