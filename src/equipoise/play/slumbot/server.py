"""Agents behind Slumbot's web API: POST `/api/new_hand` {token?}, `/api/act` {token, incr}, `/api/login`.

The JSON fields and action strings are Slumbot's, so clients written for it work unchanged, also under `/slumbot/api/`.
Errors are returned as `error_msg` with status 200 and do not change the hand. A session is a random token; positions
alternate, starting in the big blind (client_pos 0). A client that asks for a new hand in the middle of one folds and
loses its chips in the pot. Logging in returns a token and checks nothing.

Peers are not trusted: each request has a deadline, connections and sessions are limited (`play.limits`), and requests
of ambiguous length or for another host are refused (a web page can point its own name at this machine).
"""

from __future__ import annotations

import io
import ipaddress
import json
import re
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from equipoise.agents.named import Playing, as_agent
from equipoise.core.addresses import Address, network_reason, read_host, read_port
from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.notation.slumbot import read_slumbot_betting, slumbot_betting
from equipoise.games.rules import GameRules
from equipoise.play.dealing import DEALS, PLAYERS_OWN, deal_hand, stream, view_of
from equipoise.play.limits import Connections, Limits, PeerStream, Place, read_object

MOST_BODY = 4096  # bytes of a request
_MOST_HEAD = 16384  # bytes of its first line and headers
_MOST_DISCARDED = 1 << 20  # bytes of a request that is refused
CONNECTIONS = Limits(in_all=256, by_peer=64)
_IDLE = 30.0  # seconds a connection may say nothing
_REQUEST = 10.0  # seconds for a whole request, from its first byte
_ANSWER = 10.0  # seconds for the client to take an answer
_INCREMENT = re.compile(r"[kcf]|b[0-9]{1,9}")
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^:\[\]\s]+))(?::[0-9]{0,5})?")
Answer = dict[str, Any]


@dataclass(frozen=True)
class _Hand:
    """A hand in progress; immutable, so a failed request changes nothing."""

    state: BettingState
    deal: Deal
    client: int  # the client's player, and its client_pos


@dataclass(eq=False, kw_only=True)
class _Session(Place):
    """One client."""

    deals: np.random.Generator
    actions: np.random.Generator
    hand: _Hand | None = None
    begun: int = 0
    finished: int = 0
    total: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def check_rules(rules: GameRules) -> None:
    """Refuse a game that Slumbot's notation cannot express."""
    if rules.limit or rules.blinds[0] <= rules.blinds[1]:
        raise InputError(
            f"{rules.name or 'this game'} is not played over Slumbot's API",
            remedy="use holdem.nolimit (reverse blinds)",
        )


class SlumbotTable:
    """All sessions of a server, without the network: the answer to each request."""

    def __init__(
        self,
        agent: Playing,
        *,
        game: str | GameRules = "",
        seed: int | None = None,
        most_sessions: int = 4000,
        most_by_peer: int = 1000,
        most_idle: float = 3600.0,
    ) -> None:
        self.agent, self.seed = as_agent(agent, game), seed
        check_rules(self.agent.rules)
        self.limits, self.most_idle = Limits(most_sessions, most_by_peer), most_idle
        self._sessions: dict[str, _Session] = {}
        self._begun = 0
        self._lock = threading.Lock()
        self._agent_lock = threading.Lock()  # agents need not be thread-safe

    def login(self, _request: Answer, peer: str = "") -> Answer:
        """A token."""
        return {"token": self._open(peer)}

    def new_hand(self, request: Answer, peer: str = "") -> Answer:
        """The next hand of a session; without a token, of a new session."""
        token = request.get("token")
        if token is None or token == "":
            token = self._open(peer)
        session = self._session(token)
        with session.lock:
            rules, client = self.agent.rules, session.begun % 2
            hand = _Hand(BettingState.start(rules), deal_hand(rules, session.deals), client)
            after = self._reply(hand, session)
            if session.hand:  # folded: the chips in the middle are the agent's
                self._book(session, -session.hand.state.spent[session.hand.client])
            session.begun += 1
            session.used = True
            return self._answer(token, session, after, "")

    def act(self, request: Answer, _peer: str = "") -> Answer:
        """One action of the client, and what follows."""
        token, said = request.get("token"), request.get("incr")
        session = self._session(token)
        with session.lock:
            if session.hand is None:
                raise InputError("no hand is being played", remedy="ask for a new hand")
            if not isinstance(said, str) or not _INCREMENT.fullmatch(said):
                raise InputError(f"incr {shown(str(said))}", remedy="send one of k, c, f and bN")
            hand, before = session.hand, slumbot_betting(session.hand.state)
            moved = _Hand(read_slumbot_betting(self.agent.rules, before + said), hand.deal, hand.client)
            return self._answer(str(token), session, self._reply(moved, session), before)

    def _open(self, peer: str) -> str:
        """A new session; if there are too many, one without a hand ends, else the longest idle."""
        now = time.monotonic()
        with self._lock:
            self._end(lambda session: now - session.idle_since > self.most_idle)
            goes = self.limits.first_to_go(self._sessions.values(), peer)
            self._end(lambda session: session is goes)
            token, number = str(uuid.uuid4()), self._begun
            self._begun += 1
            deals, actions = (stream(self.seed, purpose, number) for purpose in (DEALS, PLAYERS_OWN))
            self._sessions[token] = _Session(peer=peer, idle_since=now, deals=deals, actions=actions)
        return token

    def _end(self, goes: Callable[[_Session], bool]) -> None:
        for token in [token for token, session in self._sessions.items() if goes(session)]:
            del self._sessions[token]

    def _session(self, token: object) -> _Session:
        now = time.monotonic()
        with self._lock:
            session = self._sessions.get(token) if isinstance(token, str) else None
            if session is None or now - session.idle_since > self.most_idle:
                raise InputError("unknown token", remedy="ask for a new hand without one")
            session.idle_since = now
        return session

    def _reply(self, hand: _Hand, session: _Session) -> _Hand:
        """The hand after the agent's actions, up to the client's turn."""
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
            "action": slumbot_betting(state),
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
    """The web server; `serve_forever` in a thread or as a program's last call.

    Requests must name the host that it listens on, a name of the loopback, or one of `allow_hosts`; a server that
    listens on all addresses takes any address for its own, but no other name.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, table: SlumbotTable, host: str = "127.0.0.1", port: int = 8080, *, allow_hosts: Sequence[str] = ()
    ) -> None:
        self.table = table
        self.connections = Connections(CONNECTIONS)
        address = Address(read_host(host), read_port(port, 0))
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._names = {read_host(name).lower() for name in (host, "localhost", *allow_hosts)}
        try:
            super().__init__(address, _Handler)
        except OSError as error:
            what = f"cannot listen: {network_reason(error)}"
            raise InputError(what, where=str(address), remedy="name a free port, or 0") from None

    @property
    def url(self) -> str:
        """Where clients find it."""
        host, port = self.server_address[:2]
        return f"http://{Address(str(host), port)}"

    def is_for_us(self, host: str) -> bool:
        """Whether a Host header names this server."""
        parts = _HOST.fullmatch(host.strip().lower())
        name = (parts["name"] or parts["address"]) if parts else ""
        if name in self._names:
            return True
        try:
            address, own = ipaddress.ip_address(name), ipaddress.ip_address(str(self.server_address[0]))
        except ValueError:
            return False
        return address.is_loopback or address == own or own.is_unspecified

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for the connection, if there is a place for it."""
        if self.connections.enter(request, client_address[0]):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """The end of a connection, for whatever reason."""
        self.connections.leave(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error in one line; nothing if the client disconnected."""
        del request
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"{client_address[0]}: {type(error).__name__}: {error}", file=sys.stderr)


class _HeadReader(io.BufferedReader):
    """Reads requests. Header lines must end in one way only; else other readers might see other headers."""

    def readline(self, size: int | None = -1, /) -> bytes:
        """One line of a head."""
        line = super().readline(size)
        if b"\r" in line.removesuffix(b"\n").removesuffix(b"\r") or line.startswith((b" ", b"\t")):
            raise InputError("a header that is broken or folded", remedy="write each header on one line")
        return line


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "equipoise"
    disable_nagle_algorithm = True
    command = requestline = ""
    request_version = "HTTP/1.1"
    server: SlumbotServer

    def setup(self) -> None:
        """Read by deadlines."""
        super().setup()
        self.rfile.close()
        self._stream = PeerStream(self.connection, _IDLE, _MOST_HEAD + MOST_BODY)
        self.rfile: _HeadReader = _HeadReader(self._stream)

    def handle_one_request(self) -> None:
        """Wait for a request, then read the whole of it by a deadline and answer it."""
        self._stream.allow(_IDLE, _MOST_HEAD + MOST_BODY)
        try:
            self.rfile.peek(1)
            self._stream.allow(_REQUEST, _MOST_HEAD + MOST_BODY)
            super().handle_one_request()
        except TimeoutError:
            self.close_connection = True
        except InputError as error:
            self._refuse(400, str(error))

    def do_POST(self) -> None:
        """One request."""
        self._check_head()
        try:
            answer = self._answer(self._request())
        except InputError as error:
            answer = {"error_msg": str(error)}
        self._send(answer)

    def _answer(self, request: Answer) -> Answer:
        table = self.server.table
        calls: dict[str, Callable[[Answer, str], Answer]] = {
            "/api/new_hand": table.new_hand,
            "/api/act": table.act,
            "/api/login": table.login,
        }
        call = calls.get(self.path.removeprefix("/slumbot"))
        if call is None:
            raise InputError(f"no {shown(self.path)}", remedy=f"there are {', '.join(calls)}")
        with self.server.connections.answering(self.connection):
            try:
                return call(request, self.client_address[0])
            except InputError:
                raise
            except Exception as error:  # the agent's: the session is unchanged
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
                return {"error_msg": "the agent has failed"}

    def _check_head(self) -> None:
        """Refuse a request that another reader might take for two, or one for another host."""
        headers = self.headers
        if headers.defects or "Transfer-Encoding" in headers or len(headers.get_all("Content-Length", [])) > 1:
            raise InputError("a body whose length is not clear", remedy="send one Content-Length and nothing else")
        hosts = headers.get_all("Host", [])
        if len(hosts) != 1 or not self.server.is_for_us(hosts[0]):
            host = shown(", ".join(hosts))
            raise InputError(f"Host {host} is not this server", remedy="start it with --allow-host NAME")

    def _request(self) -> Answer:
        text = self.headers.get("Content-Length", "")
        length = whole_number(text)
        if length is None or length > MOST_BODY:
            self.close_connection = True
            raise InputError(
                "no body, or a large one", remedy=f"send JSON of at most {MOST_BODY} bytes with its length"
            )
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionError("closed in the middle of a request")
        try:
            return read_object(body or b"{}")
        except InputError as error:
            remedy = error.remedy or 'send e.g. {"token": "...", "incr": "c"}'
            raise InputError(f"the body: {error.what}", remedy=remedy) from None

    def send_error(self, code: int, message: str | None = None, _explain: str | None = None) -> None:
        """Errors of the base class: unsupported methods and versions, endless lines."""
        self._refuse(int(code), str(InputError((message or "bad request")[:200])))

    def _refuse(self, status: int, what: str) -> None:
        self.close_connection = True
        self._send({"error_msg": what}, status)

    def _send(self, answer: Answer, status: int = 200) -> None:
        body = json.dumps(answer).encode()
        self.connection.settimeout(_ANSWER)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        if self.close_connection:
            self._discard()

    def _discard(self) -> None:
        """Read the rest of a refused request: a client may read only after it has sent everything."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self._stream.allow(_REQUEST, _MOST_DISCARDED)
            while self.rfile.read(MOST_BODY):
                pass

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """No log."""
