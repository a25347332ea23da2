"""Hostile peers: messages that are nearly right, sent at every server and client of ours.

A message is a valid one, mutated once or a few times by a seeded generator: cut, repeated, flipped, with numbers,
types, headers and lines that it should not have. It is sent whole, in pieces, or broken off. A campaign sends a fixed
number of them and counts what became of each.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from equipoise.core.errors import InputError
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.gamedef import load_game
from equipoise.games.notation.acpc import LogState, MatchState, match_state_text
from equipoise.games.rules import PLAYERS
from equipoise.play.acpc.client import play_at
from equipoise.play.acpc.dealer import DealerResult, Timeouts, deal_match
from equipoise.play.dealing import deal_hand, stream
from equipoise.play.slumbot.client import play_slumbot
from equipoise.play.slumbot.server import SlumbotServer, SlumbotTable
from players import player
from servers import HOST, WAIT, door_of, serving

GAME = "holdem.nolimit"
RULES = load_game(GAME)
SEED = int(os.environ.get("EQUIPOISE_FAULT_SEED", "15"))


@dataclass
class Report:
    """What became of the messages of a campaign."""

    name: str
    seed: int
    outcomes: Counter[str] = field(default_factory=Counter)
    complaints: set[str] = field(default_factory=set)

    @property
    def messages(self) -> int:
        """How many were sent."""
        return self.outcomes.total()

    def __str__(self) -> str:
        outcomes = ", ".join(f"{count:,} {name}" for name, count in sorted(self.outcomes.items()))
        return f"{self.name} (seed {self.seed}): {self.messages:,} messages: {outcomes}"


# Mutations of bytes, whatever the protocol

NUMBERS = (
    b"-1",
    b"0",
    b"00",
    b"9" * 11,
    b"9" * 30,
    b"9" * 4400,
    b"1e999",
    b"0x10",
    b"\xb2",
    b"NaN",
    b"1_0",
    b"+5",
    b"",
)
VALUES = (
    b"null", b"true", b"[]", b"{}", b'""', b"-1", b"1e999", b"NaN", b"9" * 3000, b"[" * 1500 + b"]" * 1500,
    b'"\\ud800"', b'["c"]', b'{"x": {"x": 1, "x": 2}}', b'"' + b"c" * 3000 + b'"', b'"\\u0000"', b'"b99999999999"',
)  # fmt: skip
LINES = (
    b"Content-Length: 5", b"Content-Length: 2", b"Content-Length: 99999999999999999999", b"Content-Length: -1",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding : chunked", b"Host: evil.example", b"Host: localhost", b"X",
    b" folded: yes", b"\tfolded", b"Expect: 100-continue", b"Connection: keep-alive", b"Connection: close",
    b"\x00\xff: \x00",
    b"Content-Type: multipart/mixed", b"X: " + b"y" * 9000, b"HTTP/1.1 200 OK", b"HTTP/1.1 100 Continue", b"0", b"-5",
    b"# a comment", b";", b"VERSION:2.0.0", b"MATCHSTATE:0:0::AsAd|", b"MATCHSTATE:1:0::|AsAd:r99999999999", b"\x1b[2J",
    b'{"error_msg": "\\u001b[2J"}', b"POST /api/new_hand HTTP/1.1", b"GET / HTTP/0.9", b"MATCHSTATE" + b":" * 3000,
)  # fmt: skip
TOKEN = b"01234567-89ab-cdef-0123-456789abcdef"
Mutation = Callable[[random.Random, bytes], bytes]


def _span(rng: random.Random, text: bytes, most: int = 40) -> tuple[int, int]:
    start = rng.randrange(len(text) + 1)
    return start, min(len(text), start + rng.randrange(most))


def _truncate(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def _flip(rng: random.Random, text: bytes) -> bytes:
    found = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        if found:
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _insert(rng: random.Random, text: bytes) -> bytes:
    at, _ = _span(rng, text)
    return text[:at] + rng.randbytes(rng.randint(1, 20)) + text[at:]


def _delete(rng: random.Random, text: bytes) -> bytes:
    start, end = _span(rng, text)
    return text[:start] + text[end:]


def _repeat(rng: random.Random, text: bytes) -> bytes:
    start, end = _span(rng, text)
    return text[:start] + text[start:end] * rng.choice((2, 2, 3, 500)) + text[end:]


def _replace(pattern: bytes, values: tuple[bytes, ...]) -> Mutation:
    def mutation(rng: random.Random, text: bytes) -> bytes:
        places = [match.span(1) for match in re.finditer(pattern, text)]
        if not places:
            return text
        start, end = rng.choice(places)
        return text[:start] + rng.choice(values) + text[end:]

    return mutation


def _mix_lines(rng: random.Random, text: bytes) -> bytes:
    """A line twice, a strange one among them, or two in the wrong order."""
    lines = text.split(b"\r\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        lines.insert(at, lines[other])
    elif kind == 1:
        lines.insert(at, rng.choice(LINES))
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return rng.choice((b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r")).join(lines)


def _then_garbage(rng: random.Random, text: bytes) -> bytes:
    return text + rng.choice(
        (rng.randbytes(50), text, text[:30], b"\r\n" * 100, b"\x00" * 5000, rng.choice(LINES) + b"\r\n")
    )


MUTATIONS: tuple[Mutation, ...] = (
    _truncate, _flip, _insert, _delete, _repeat, _mix_lines, _mix_lines, _then_garbage,
    _replace(rb"(\d+)", NUMBERS),
    _replace(rb':\s*("[^"]*"|-?\d+|\[[^\]]*\])', VALUES),
    _replace(rb'("[^"]*")\s*:', (b'"token"', b'"incr"', b'"action"', b'"winnings"', b'"board"', b"5", b'""')),
)  # fmt: skip


def mutate(rng: random.Random, text: bytes, token: str = "") -> bytes:
    """A message that is nearly the one given; the same for a seed, though servers draw other tokens every time."""
    if token:
        text = text.replace(token.encode(), TOKEN)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(MUTATIONS)(rng, text)
    return text.replace(TOKEN, token.encode()) if token else text


def deliver(rng: random.Random, connection: socket.socket, message: bytes) -> bool:
    """Send a message whole, in pieces, or broken off; False if the connection is gone."""
    way = rng.random()
    try:
        if way < 0.8:
            connection.sendall(message)
            return True
        cuts = sorted(rng.randrange(len(message) + 1) for _ in range(3))
        pieces = [message[start:end] for start, end in zip([0, *cuts], [*cuts, len(message)], strict=True)]
        for piece in pieces if way < 0.9 else pieces[:-1]:
            connection.sendall(piece)
            time.sleep(0.001)
        if way >= 0.9:
            if way >= 0.95:  # a reset instead of an end
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
    except OSError:
        return False
    return way < 0.9


def check_line(text: str) -> str:
    """What is told to people is one short printable line."""
    assert text.isprintable(), repr(text)
    assert 0 < len(text) < 1500, text
    return text


# At our Slumbot server


def http_request(rng: random.Random, token: str) -> bytes:
    """A valid request."""
    call = rng.choice(("new_hand", "act", "act", "login"))
    body = {"new_hand": {"token": token}, "login": {"username": "x"}}.get(
        call, {"token": token, "incr": rng.choice(("k", "c", "f", "b300", "b20000"))}
    )
    text = json.dumps(body).encode()
    head = f"POST /api/{call} HTTP/1.1\r\nHost: localhost:80\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text


def ask(server: SlumbotServer, rng: random.Random, message: bytes) -> str:
    """Send a message; what became of it."""
    received = b""
    with socket.create_connection((HOST, server.server_address[1]), WAIT) as connection:
        if not deliver(rng, connection, message):
            return "broken off"
        try:
            connection.shutdown(socket.SHUT_WR)
            while chunk := connection.recv(65536):
                received += chunk
        except TimeoutError:
            raise
        except OSError:  # reset by the server
            pass
    assert b"Traceback" not in received
    if not received:
        return "closed"
    return "refused" if b"error_msg" in received else "answered"


def attack_slumbot_server(messages: int, seed: int) -> Report:
    """Hostile requests, while an honest client plays at the same server; both books agree at the end."""
    report, rng = Report("Slumbot server", seed), random.Random(seed)
    table, over = SlumbotTable(player("call", GAME), seed=1), threading.Event()
    honest: list[int] = []

    def play(url: str) -> int:
        while not over.is_set() or not honest:
            won = play_slumbot(player("mixed", GAME), url, hands=10, seed=len(honest), on_hand=honest.append)
            assert won.hands == 10
            assert won.chips == sum(honest[-10:])
        return len(honest)

    with serving(table) as server, ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play, server.url)
        try:
            token = table.login({})["token"]
            for _ in range(messages):
                report.outcomes[ask(server, rng, mutate(rng, http_request(rng, token), token))] += 1
                assert not playing.done(), playing.result()
        finally:
            over.set()
        hands = playing.result(WAIT)
        won = play_slumbot(player("raise", GAME), server.url, hands=4, seed=1)
        assert won.hands == 4
    booked = Counter(session.finished for session in table._sessions.values() if session.peer == HOST)
    assert booked[10] >= hands // 10
    return report


# At our ACPC dealer


def attack_acpc_dealer(messages: int, seed: int) -> Report:
    """Matches of an honest client against a player that sends hostile lines before, between and after its answers."""
    report, rng = Report("ACPC dealer", seed), random.Random(seed)
    while report.messages < messages:
        sent, result, told = _hostile_match(rng, messages - report.messages)
        for line in told:
            check_line(line)
        stopped = check_line(result.stopped) if result.stopped else ""
        report.complaints.add(re.sub(r"'.*'", "...", stopped))
        report.outcomes["stopped a match"] += bool(sent and stopped)
        report.outcomes["passed over or put right"] += sent - bool(sent and stopped)
    return report


def _hostile_match(rng: random.Random, most: int) -> tuple[int, DealerResult, list[str]]:
    """How many messages were sent, what the match came to, what was said about it."""
    ports: Future[tuple[int, int]] = Future()
    booked: list[int] = []
    seen: list[int] = []
    told: list[str] = []

    def book(ended: LogState) -> None:
        booked.append(int(ended.values[ended.names.index("A")]))

    with ThreadPoolExecutor(2) as pool:
        times = Timeouts(WAIT, WAIT, WAIT, WAIT)
        dealer = pool.submit(
            deal_match, RULES, 20, seed=rng.randrange(1000), timeouts=times, on_ports=ports.set_result, on_hand=book,
            say=told.append,
        )  # fmt: skip
        seat, other = ports.result(WAIT)
        honest = pool.submit(
            play_at, player("call", GAME), HOST, seat, seed=1, timeout=WAIT, on_hand=lambda _, chips: seen.append(chips)
        )
        sent = _knock(rng, other, min(most, 3))
        sent += _play_hostile(rng, other, dealer, most - sent)
        result = dealer.result(WAIT)
        honest.result(WAIT)
    assert result.stopped or result.hands == 20
    assert (result.hands, result.score) == (len(booked), (sum(booked), -sum(booked)))
    assert abs(len(seen) - len(booked)) <= 1, "the match may stop while the end of a hand is being told"
    assert all(one == other for one, other in zip(seen, booked, strict=False)), "the honest seat saw what was booked"
    return sent, result, told


def _knock(rng: random.Random, port: int, most: int) -> int:
    """Connections that are no players, at a seat that is free."""
    for _ in range(most):
        message = b"x" + mutate(rng, rng.choice(LINES) + b"\r\n")
        with suppress(OSError), socket.create_connection((HOST, port), WAIT) as connection:
            deliver(rng, connection, message)
    return most


def _play_hostile(rng: random.Random, port: int, dealer: Future[DealerResult], most: int) -> int:
    """Answers every state with hostile lines and then, mostly, with a legal answer."""
    sent = 0
    with suppress(OSError), socket.create_connection((HOST, port), WAIT) as connection:
        connection.sendall(b"VERSION:2.0.0\r\n")
        with connection.makefile("rb") as lines:
            for raw in lines:
                state = raw.rstrip()
                for _ in range(rng.choice((0, 1, 1, 2, 5))):
                    if sent >= most or dealer.done():
                        break
                    message = mutate(rng, state + b":" + rng.choice((b"c", b"f", b"r300")) + b"\r\n")
                    sent += 1
                    if not deliver(rng, connection, message):
                        return sent
                    if rng.random() < 0.9:
                        connection.sendall(b"\r\n")
                connection.sendall(b"\r\n" + state + b":c\r\n")
    return sent


# At our clients


def http_answer(answer: dict[str, Any]) -> bytes:
    """A valid answer of a server."""
    body = json.dumps(answer).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class HostileServer:
    """Slumbot's API, where some answers are hostile."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.table = SlumbotTable(player("mixed", GAME), seed=seed)
        self.hostility = 0.0
        self.sent = 0

    def serve(self, door: socket.socket) -> None:
        """Answer connections until the door is closed."""
        while True:
            try:
                connection, _ = door.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(WAIT)
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        received = b""
        while not received.endswith(b"}"):
            chunk = connection.recv(65536)
            if not chunk:
                return
            received += chunk
        request = json.loads(received.partition(b"\r\n\r\n")[2])
        try:
            answer = (self.table.act if b"/api/act" in received else self.table.new_hand)(request)
        except InputError as error:
            answer = {"error_msg": str(error)}
        message = http_answer(answer)
        if self.rng.random() >= self.hostility:
            connection.sendall(message)
            return
        self.sent += 1
        deliver(self.rng, connection, mutate(self.rng, message, answer.get("token", "")))


def attack_slumbot_client(messages: int, seed: int) -> Report:
    """Sessions at a server whose answers are hostile now and then; what is not refused must be booked to the chip."""
    report, hostile = Report("Slumbot client", seed), HostileServer(seed)
    with door_of(hostile.serve) as port:
        url = f"http://{HOST}:{port}"
        while hostile.sent < messages:
            hostile.hostility = hostile.rng.choice((0.2, 0.5, 0.9))
            before, known = hostile.sent, set(hostile.table._sessions)
            try:
                won = play_slumbot(player("call", GAME), url, hands=4, seed=1, timeout=WAIT)
            except InputError as error:
                report.complaints.add(re.sub(r"'.*'|\d+", "...", check_line(str(error)).replace(url, "")))
                report.outcomes["refused"] += 1
                report.outcomes["understood"] += hostile.sent - before - 1
            else:
                report.outcomes["understood"] += hostile.sent - before
                booked = [session for token, session in hostile.table._sessions.items() if token not in known]
                assert (won.hands, won.chips) == (booked[-1].finished, booked[-1].total)
        hostile.hostility = 0.0
        assert play_slumbot(player("call", GAME), url, hands=20, seed=1).hands == 20
    return report


def played_states(rng: random.Random) -> list[bytes]:
    """The lines that one player is sent in a hand played at random."""
    hand, position = rng.randrange(100), rng.randrange(PLAYERS)
    deal, state = deal_hand(RULES, stream(rng.randrange(10**6))), BettingState.start(RULES)
    lines = []
    while True:
        holes = [hole if i == position or state.is_showdown else () for i, hole in enumerate(deal.holes)]
        shown = MatchState(position, hand, state, Deal((holes[0], holes[1]), deal.board))
        lines.append(match_state_text(shown).encode() + b"\r\n")
        if state.is_over:
            return lines
        legal = state.legal()
        choices = [CALL, CALL] + [FOLD] * legal.fold + [legal.raise_min, legal.raise_max] * legal.can_raise
        state = state.apply(rng.choice(choices))


def attack_acpc_client(messages: int, seed: int) -> Report:
    """A dealer that deals hands, one line of which is hostile."""
    report, rng = Report("ACPC client", seed), random.Random(seed)

    def deal(door: socket.socket) -> None:
        while True:
            try:
                connection, _ = door.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(WAIT)
                connection.recv(100)
                lines = played_states(rng)
                at = rng.randrange(len(lines))
                connection.sendall(b"".join(lines[:at]))
                if deliver(rng, connection, mutate(rng, lines[at])):
                    connection.sendall(b"".join(lines[at + 1 :]))
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass

    with door_of(deal) as port:
        for _ in range(messages):
            try:
                result = play_at(player("call", GAME), HOST, port, seed=1, timeout=WAIT)
            except InputError as error:
                report.complaints.add(re.sub(r"'.*'|\d+", "...", check_line(str(error))))
                report.outcomes["refused"] += 1
            else:
                assert abs(result.winnings.chips) <= RULES.stacks[0] * result.winnings.hands
                report.outcomes["understood" if result.finished else "cut off"] += 1
    return report
