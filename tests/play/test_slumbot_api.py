"""Slumbot's web API, both sides, over the loopback: positions, chips, errors, sessions that do not touch each other."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import InputError
from equipoise.games.betting_state import Deal
from equipoise.games.gamedef import load_game
from equipoise.games.notation.acpc import read_log_state
from equipoise.games.notation.slumbot import read_slumbot_betting
from equipoise.play.limits import Limits, Place
from equipoise.play.slumbot.client import play_slumbot
from equipoise.play.slumbot.server import MOST_BODY, SlumbotServer, SlumbotTable
from players import Player, player
from servers import WAIT, door_of, serving
from waiting import wait_until

GAME = "holdem.nolimit"
RULES = load_game(GAME)
Answer = dict[str, Any]


def table(name: str, **options: Any) -> SlumbotTable:
    return SlumbotTable(player(name, GAME), **{"seed": 7, **options})


def post(url: str, body: bytes) -> Answer:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WAIT) as reply:
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "application/json"
        answer = json.loads(reply.read())
    assert isinstance(answer, dict)
    return answer


class Sample:
    """A client that reads answers as the public sample client does: token, action, client_pos, winnings, error_msg."""

    def __init__(self, url: str, prefix: str = "/slumbot/api") -> None:
        self.base = url + prefix
        self.token: str | None = None
        self.last: Answer = {}

    def ask(self, name: str, **data: str) -> Answer:
        if self.token:
            data["token"] = self.token
        answer = post(f"{self.base}/{name}", json.dumps(data).encode())
        if "error_msg" in answer:
            raise RuntimeError(answer["error_msg"])
        self.token = answer.get("token") or self.token
        self.last = answer
        return answer

    def play_hand(self, choose: Callable[[Answer], str]) -> Answer:
        answer = self.ask("new_hand")
        while answer.get("winnings") is None:
            answer = self.ask("act", incr=choose(answer))
        return answer


def faces_a_bet(action: str) -> bool:
    """Told from the text alone: is there a bet (or the big blind) that has not been called or checked?"""
    street = action.rpartition("/")[2]
    return ("b" in street and not street.endswith("c")) or action in ("",)


def check_or_call(answer: Answer) -> str:
    return "c" if faces_a_bet(answer["action"]) else "k"


def deal_of(answer: Answer) -> Deal:
    """All cards of a finished hand, by player."""
    mine, bots, board = (
        tuple(RULES.deck.read_card(card) for card in answer[key]) for key in ("hole_cards", "bot_hole_cards", "board")
    )
    return Deal((mine, bots) if answer["client_pos"] == 0 else (bots, mine), board)


@pytest.mark.parametrize("name", ["call", "raise", "mixed"])
def test_the_sample_client_plays_unchanged(name: str) -> None:
    total, positions = 0, []
    with serving(table(name)) as server:
        client = Sample(server.url)

        def choose(answer: Answer) -> str:
            state = read_slumbot_betting(RULES, answer["action"])
            assert state.player == answer["client_pos"], "the client is asked when it is to act, in its own position"
            assert len(answer["board"]) == RULES.board_size(state.round)
            assert answer["action"].startswith(answer["old_action"])
            assert "bot_hole_cards" not in answer
            assert "session_total" not in answer
            return check_or_call(answer)

        for number in range(60):
            answer = client.play_hand(choose)
            state = read_slumbot_betting(RULES, answer["action"])
            assert state.payoffs(deal_of(answer))[answer["client_pos"]] == answer["winnings"]
            total += answer["winnings"]
            assert (answer["session_num_hands"], answer["session_total"]) == (number + 1, total)
            positions.append(answer["client_pos"])
    assert positions == [0, 1] * 30


def test_positions_are_who_posts_what() -> None:
    """The bot folds to everything: the client wins the small blind from the big blind, the big one with a raise."""
    with serving(table("fold")) as server:
        client = Sample(server.url)
        first = client.ask("new_hand")
        assert (first["client_pos"], first["action"], first["winnings"]) == (0, "f", 50)
        second = client.ask("new_hand")
        assert (second["client_pos"], second["action"], second.get("winnings")) == (1, "", None)
        answer = client.ask("act", incr="b300")
        assert (answer["old_action"], answer["action"], answer["winnings"]) == ("", "b300f", 100)


def test_all_in_shows_the_whole_board() -> None:
    with serving(table("call")) as server:
        client = Sample(server.url, "/api")
        client.ask("login", username="somebody", password="something")
        assert client.token
        client.ask("new_hand")
        assert client.last["action"] == "c"
        answer = client.ask("act", incr="b20000")
    assert (answer["old_action"], answer["action"]) == ("c", "cb20000c///")
    assert (len(answer["board"]), len(answer["bot_hole_cards"])) == (5, 2)
    assert answer["winnings"] in (-20000, 0, 20000)
    assert answer["winnings"] == read_slumbot_betting(RULES, answer["action"]).payoffs(deal_of(answer))[0]


def test_bets_count_the_street() -> None:
    with serving(table("call")) as server:
        client = Sample(server.url)
        client.play_hand(check_or_call)
        assert client.ask("new_hand")["client_pos"] == 1
        assert client.ask("act", incr="b200")["action"] == "b200c/k"
        assert client.ask("act", incr="b400")["action"] == "b200c/kb400c/k"
        assert read_slumbot_betting(RULES, client.last["action"]).spent == (600, 600)


def test_a_hand_that_is_left_is_folded() -> None:
    with serving(table("raise")) as server:
        client = Sample(server.url)
        assert client.ask("new_hand")["action"] == "b200"  # big blind
        client.ask("act", incr="c")
        assert client.ask("new_hand")["client_pos"] == 1
        client.ask("act", incr="c")
        answer = client.ask("act", incr="f")
    assert answer["winnings"] == -100
    assert (answer["session_num_hands"], answer["session_total"]) == (2, -300)


ILLEGAL = ["k", "f0", "b50", "b99999", "", "b", "kk", "cc", "c/", "x", "b-5", "b1e3", "b" + "9" * 30, "é"]


def test_illegal_actions_leave_the_hand_as_it_was() -> None:
    with serving(table("raise")) as server:
        client = Sample(server.url)
        before = client.ask("new_hand")  # faces a raise
        for said in ILLEGAL:
            with pytest.raises(RuntimeError):
                client.ask("act", incr=said)
        for body in ({"incr": 5}, {"incr": None}, {}, {"incr": ["c"]}):
            answer = post(f"{server.url}/api/act", json.dumps({"token": client.token, **body}).encode())
            assert list(answer) == ["error_msg"]
        after = client.ask("act", incr="c")
        assert after["old_action"] == before["action"]
        assert after["hole_cards"] == before["hole_cards"]
        client.ask("act", incr="k")
        client.ask("act", incr="f")
        with pytest.raises(RuntimeError, match="no hand is being played"):
            client.ask("act", incr="c")


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"5", b'"x"', b"\xff\xfe", b"[" * 4000, b'{"token": "made up", "incr": "c"}', b'{"token": 7}',
        b'{"token": []}', b"x" * (MOST_BODY + 1), b"x" * 500_000,
    ],
)  # fmt: skip
def test_bad_requests_get_an_error_and_harm_nobody(body: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(table("raise")) as server:
        client = Sample(server.url)
        client.ask("new_hand")
        for path in ("/api/act", "/api/new_hand", "/slumbot/api/act"):
            answer = post(server.url + path, body)
            assert list(answer) == ["error_msg"]
            assert "\n" not in answer["error_msg"]
        assert client.ask("act", incr="c")["action"].startswith("b200c/")
    assert "Traceback" not in capfd.readouterr().err


def test_other_paths_and_bytes_that_are_no_request(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(table("call")) as server:
        assert "error_msg" in post(f"{server.url}/api/other", b"{}")
        for sent in (b"\x00\xff" * 100 + b"\r\n\r\n", b"POST /api/act HTTP/1.1\r\nContent-Length: -4\r\n\r\n", b"POST"):
            with socket.create_connection(server.server_address[:2], 10) as connection:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
        assert Sample(server.url).ask("new_hand")["action"] == "c"
    assert "Traceback" not in capfd.readouterr().err


def test_sessions_grow_old(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("equipoise.play.slumbot.server.time.monotonic", lambda: now)
    sessions = table("call", most_idle=60)
    first, second = sessions.new_hand({})["token"], sessions.login({})["token"]
    now += 50
    sessions.act({"token": first, "incr": "k"})
    now += 50
    with pytest.raises(InputError, match="unknown token"):
        sessions.new_hand({"token": second})
    assert sessions.act({"token": first, "incr": "k"})["action"] == "ck/kk/"


def test_a_new_session_takes_the_place_of_one_that_never_played_then_of_the_longest_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0

    def later() -> float:
        nonlocal now
        now += 1
        return now

    monkeypatch.setattr("equipoise.play.slumbot.server.time.monotonic", later)
    sessions = table("call", most_sessions=3)
    playing = sessions.new_hand({})["token"]
    idle = sessions.new_hand({})["token"]
    logged_in = sessions.login({})["token"]
    sessions.act({"token": playing, "incr": "k"})
    sessions.new_hand({})  # in the place of who only logged in
    sessions.login({})  # in the place of the longest idle
    for token in (logged_in, idle):
        with pytest.raises(InputError, match="unknown token"):
            sessions.new_hand({"token": token})
    assert sessions.act({"token": playing, "incr": "k"})["action"] == "ck/kk/"


def test_a_peer_with_many_sessions_takes_none_from_others() -> None:
    sessions = table("call", most_sessions=10, most_by_peer=8)
    honest = sessions.login({}, "10.0.0.1")["token"]
    for _ in range(50):
        sessions.new_hand({}, "10.0.0.2")
    for _ in range(50):
        sessions.new_hand({}, "10.0.0.3")
    assert sessions.new_hand({"token": honest}, "10.0.0.1")["action"] == "c"
    assert len(sessions._sessions) == 10


def test_places_go_to_the_newcomer() -> None:
    limits = Limits(in_all=4, by_peer=2)
    places = [Place("a", 5.0), Place("b", 1.0), Place("a", 2.0)]
    assert limits.first_to_go(places, "b") is None
    assert limits.first_to_go(places, "a") is places[2], "its own, the longest idle"
    places.append(Place("c", 0.0))
    assert limits.first_to_go(places, "d") is places[2], "of the peer that holds most"
    places[2].engaged = True
    assert limits.first_to_go(places, "d") is places[0]
    places[0].engaged = True
    assert limits.first_to_go(places, "d") is places[3]
    with pytest.raises(InputError, match="every place is taken"):
        limits.first_to_go(places, "a")


def test_an_agent_that_fails_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    def fails(_view: object) -> dict[int, float]:
        raise ZeroDivisionError("oh")

    with serving(SlumbotTable(Player("broken", RULES, fails), seed=1)) as server:
        answer = post(f"{server.url}/api/new_hand", b"{}")
    assert answer == {"error_msg": "the agent has failed"}
    assert capfd.readouterr().err == "ZeroDivisionError: oh\n"


def test_many_clients_at_once_keep_their_own_books() -> None:
    def session(url: str) -> list[Answer]:
        client = Sample(url)
        return [client.play_hand(check_or_call) for _ in range(15)]

    with serving(table("mixed")) as server, ThreadPoolExecutor(8) as pool:
        sessions = list(pool.map(session, [server.url] * 8))
    for answers in sessions:
        assert answers[-1]["session_num_hands"] == 15
        assert answers[-1]["session_total"] == sum(answer["winnings"] for answer in answers)
    assert len({str(answers[0]["hole_cards"] + answers[1]["hole_cards"]) for answers in sessions}) == 8
    assert len({answers[0]["token"] for answers in sessions}) == 8


def test_a_seed_deals_the_same_cards_to_the_first_client() -> None:
    def cards(seed: int) -> list[Answer]:
        sessions = table("call", seed=seed)
        first = sessions.new_hand({})
        return [first["hole_cards"], *(sessions.new_hand({"token": first["token"]})["hole_cards"] for _ in range(5))]

    assert cards(1) == cards(1)
    assert cards(1) != cards(2)


def test_other_games_are_refused() -> None:
    with pytest.raises(InputError, match=r"holdem\.limit is not played"):
        SlumbotTable(player("call", "holdem.limit"))
    with pytest.raises(InputError, match="is not played"):
        play_slumbot(player("call", "kuhn"), "http://127.0.0.1:1", hands=1)
    flipped = replace(RULES, blinds=(50, 100))
    with pytest.raises(InputError, match="is not played"):
        SlumbotTable(Player("flipped", flipped, lambda _: {0: 1.0}))


def test_our_client_and_our_server_agree_to_the_chip(tmp_path: Path) -> None:
    sessions = table("mixed")
    chips: list[int] = []
    agent = replace(player("mixed", GAME), name="runs/mixed?post=threshold:0.2|")  # not a word of a log
    with serving(sessions) as server:
        won = play_slumbot(agent, server.url, hands=200, seed=5, log=tmp_path / "log", on_hand=chips.append)
    (session,) = sessions._sessions.values()
    assert (won.hands, won.chips) == (200, session.total) == (session.finished, sum(chips))
    assert won.mbb_per_hand == pytest.approx(won.chips / 20)
    hands = [read_log_state(RULES, line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [int(hand.values[1 - hand.names.index("server")]) for hand in hands] == chips
    assert [1 - hand.names.index("server") for hand in hands] == [0, 1] * 100
    assert all(hand.state.payoffs(hand.deal) == hand.values for hand in hands)


def test_known_winnings() -> None:
    """Raises against a bot that folds: half a big blind from the big blind, a whole one from the button."""
    with serving(table("fold")) as server:
        assert play_slumbot(player("raise", GAME), server.url, hands=10, seed=1).chips == 5 * 50 + 5 * 100
    with serving(table("raise")) as server:
        assert play_slumbot(player("fold", GAME), server.url, hands=11, seed=1).chips == -6 * 100 - 5 * 50


class Liar(SlumbotTable):
    """A server whose answers a test has tampered with."""

    tamper: Callable[[Answer], Answer]

    def new_hand(self, request: Answer, peer: str = "") -> Answer:
        return self.tamper(super().new_hand(request, peer))

    def act(self, request: Answer, peer: str = "") -> Answer:
        return self.tamper(super().act(request, peer))


@pytest.mark.parametrize(
    ("tamper", "complaint"),
    [
        (lambda a: {**a, "client_pos": 1 - a["client_pos"]}, "not to act|where the hand pays"),
        (lambda a: {**a, "client_pos": 7}, "client_pos"),
        (lambda a: {**a, "winnings": 7} if "winnings" in a else a, "where the hand pays"),
        (lambda a: {**a, "winnings": -a["winnings"]} if a.get("winnings") else a, "where the hand pays"),
        (lambda a: {**a, "winnings": 50}, "winnings after"),
        (lambda a: {**a, "action": a["action"] + "k"}, "0 board cards after 'ck'"),
        (lambda a: {**a, "action": a["action"] + "x"}, "action 'cx', character 2"),
        (lambda a: {**a, "action": 5}, "action '5'"),
        (lambda a: {**a, "hole_cards": ["As", "As"]}, "appears twice"),
        (lambda a: {**a, "hole_cards": ["As"]}, "1 hole"),
        (lambda a: {**a, "hole_cards": "AsAd"}, "hole_cards"),
        (lambda a: {**a, "board": ["2c"]}, "board cards"),
        (lambda a: {k: v for k, v in a.items() if k != "bot_hole_cards"}, "without the other hand"),
        (lambda _: {"error_msg": "no\nmore"}, "the server says"),
    ],
)
def test_a_server_that_makes_no_sense_is_left(tamper: Callable[[Answer], Answer], complaint: str) -> None:
    liar = Liar(player("call", GAME), seed=3)
    liar.tamper = tamper
    with serving(liar) as server, pytest.raises(InputError, match=complaint) as caught:
        play_slumbot(player("call", GAME), server.url, hands=20, seed=1)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(server.url)


def test_what_is_no_server() -> None:
    agent = player("call", GAME)
    for url in ("ftp://127.0.0.1", "file:///etc/passwd", "127.0.0.1:80", ""):
        with pytest.raises(InputError, match="is not a URL"):
            play_slumbot(agent, url, hands=1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match="no answer in"):
            play_slumbot(agent, url, hands=1, timeout=0.2)
    with pytest.raises(InputError, match="is the server there"):
        play_slumbot(agent, url, hands=1, timeout=5)
    with serving(table("call")) as server, pytest.raises(InputError, match="the server says"):
        play_slumbot(agent, f"{server.url}/elsewhere", hands=1)


def test_a_log_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("precious")
    with pytest.raises(InputError, match="name a new file"):
        play_slumbot(player("call", GAME), "http://127.0.0.1:1", hands=1, log=tmp_path / "log")
    assert (tmp_path / "log").read_text() == "precious"


def dial(server: SlumbotServer, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(server.server_address[:2], WAIT, source_address=(source, 0))


def until_closed(connection: socket.socket) -> bytes:
    """All that comes before the other side closes."""
    received = b""
    with suppress(ConnectionError):
        while chunk := connection.recv(65536):
            received += chunk
    return received


def head(*headers: str, host: str = "localhost") -> bytes:
    lines = ["POST /api/new_hand HTTP/1.1", f"Host: {host}", *headers]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


@pytest.mark.parametrize("so_far", [b"", b"POST /api/new_hand HTTP/1.1\r\nHost: ", head("Content-Length: 4000")])
def test_a_byte_now_and_then_buys_no_time(so_far: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.play.slumbot.server._REQUEST", 0.3)
    with serving(table("call")) as server, dial(server) as connection:
        connection.sendall(so_far)
        connection.settimeout(0.02)
        begun = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() < begun + WAIT:
                connection.sendall(b"P")
                with suppress(TimeoutError):
                    if not connection.recv(100):
                        break
        assert time.monotonic() < begun + WAIT, "the connection stays open for ever"


def test_who_does_not_read_holds_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.play.slumbot.server._ANSWER", 0.2)
    liar = Liar(player("call", GAME), seed=1)
    asked = threading.Event()

    def much(answer: Answer) -> Answer:
        asked.set()
        return {**answer, "more": "x" * 20_000_000}

    liar.tamper = much
    with serving(liar) as server, dial(server) as connection:
        connection.sendall(head("Content-Length: 2") + b"{}")
        assert asked.wait(WAIT)
        wait_until(lambda: not server.connections._held, "the connection is given up")


def test_slow_and_idle_connections_and_logins_deny_nobody() -> None:
    """64 connections that send a byte now and then, 500 silent ones, 1,000 log-ins, while somebody plays 20 hands."""
    stop = threading.Event()
    slow: list[socket.socket] = []

    def drip() -> None:
        while not stop.wait(0.1):
            for connection in slow:
                with suppress(OSError):
                    connection.send(b"P")

    sessions = table("call")
    with serving(sessions) as server, ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        stack.callback(stop.set)
        slow += [stack.enter_context(dial(server)) for _ in range(64)]
        dripping = pool.submit(drip)
        client = Sample(server.url)
        answers = [client.play_hand(check_or_call) for _ in range(5)]
        for _ in range(500):
            stack.enter_context(dial(server))
        answers += [client.play_hand(check_or_call) for _ in range(5)]
        for _ in range(1000):
            assert Sample(server.url).ask("login")["token"]
        answers += [client.play_hand(check_or_call) for _ in range(10)]
        stop.set()
        dripping.result(WAIT)
    assert answers[-1]["session_num_hands"] == 20
    assert answers[-1]["session_total"] == sum(answer["winnings"] for answer in answers)
    assert len(sessions._sessions) <= 1000


def test_a_peer_with_many_connections_takes_none_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.play.slumbot.server.CONNECTIONS", Limits(in_all=8, by_peer=4))
    with serving(table("call")) as server, ExitStack() as stack:
        try:
            honest = stack.enter_context(dial(server, "127.0.0.2"))
        except OSError:
            pytest.skip("no second address of the loopback")
        for _ in range(20):
            stack.enter_context(dial(server, "127.0.0.3"))
        assert Sample(server.url).ask("login")["token"]  # 127.0.0.1
        honest.sendall(head("Content-Length: 2", "Connection: close") + b"{}")
        assert until_closed(honest).startswith(b"HTTP/1.1 200")


SMUGGLED = b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 2", f"Content-Length: {2 + len(SMUGGLED)}"],
        ["Content-Length: 2", "Content-Length: 2"],
        ["Content-Length: 2", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 2"],
        ["Content-Length: 2", "Transfer-Encoding: identity"],
        ["Content-Length: 2", "Transfer-Encoding : chunked"],
        ["Content-Length: 2", "broken", "Transfer-Encoding: chunked"],
        ["Content-Length: 2", "X: 1\rTransfer-Encoding: chunked"],
        ["Content-Length: 2", "X: 1\r\n Transfer-Encoding: chunked"],
        [" Content-Length: 2"],
        ["Content-Length: 2", "Host: localhost"],
        ["Content-Length: 2, 2"],
        ["Content-Length: +2"],
        ["Content-Length: 2_0"],
    ],
)
def test_a_request_that_could_be_taken_for_two_is_refused(headers: list[str]) -> None:
    sessions = table("call")
    with serving(sessions) as server, dial(server) as connection:
        connection.sendall(head(*headers) + b"{}" + SMUGGLED)
        answer = until_closed(connection)
    assert answer.count(b"HTTP/1.1") == 1
    assert b"error_msg" in answer
    assert not sessions._sessions


@pytest.mark.parametrize(
    ("listens", "host", "admitted"),
    [
        ("127.0.0.1", "127.0.0.1:{port}", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "LOCALHOST:1", True),
        ("127.0.0.1", "[::1]:8080", True),
        ("127.0.0.1", "poker.example:{port}", True),
        ("127.0.0.1", "evil.example:{port}", False),
        ("127.0.0.1", "127.0.0.1.evil.example", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "10.1.2.3", False),
        ("127.0.0.1", "localhost@evil.example", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "a b", False),
        ("localhost", "localhost:{port}", True),
        ("0.0.0.0", "10.1.2.3:{port}", True),
        ("0.0.0.0", "localhost", True),
        ("0.0.0.0", "evil.example", False),
    ],
)
def test_only_its_own_names_are_admitted(listens: str, host: str, admitted: bool) -> None:
    """A web page may have its own name point at this machine: the browser sends that name as Host."""
    sessions = table("call")
    with serving(sessions, listens, allow_hosts=["poker.example"]) as server:
        port = server.server_address[1]
        with socket.create_connection(("127.0.0.1", port), WAIT) as connection:
            connection.sendall(head("Content-Length: 2", "Connection: close", host=host.format(port=port)) + b"{}")
            answer = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 200" if admitted else b"HTTP/1.1 400")
    assert len(sessions._sessions) == admitted


def test_a_request_without_host_is_refused() -> None:
    with serving(table("call")) as server, dial(server) as connection:
        connection.sendall(b"POST /api/login HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        assert until_closed(connection).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b'{"incr": "f", "incr": "c"}', "'incr' is a duplicate key"),
        (b'{"a": {"b": 1, "b": 1}}', "'b' is a duplicate key"),
        (b'{"incr": NaN}', "NaN"),
        (b'{"incr": -Infinity}', "Infinity"),
        (b'{"incr": ' + b"9" * 4000 + b"}", "incr"),
        (b'{"incr": ' + b"[" * 1900 + b"]" * 1900 + b"}", ""),
        (b'{"incr": {"x": ' * 200 + b"1" + b"}}" * 200, ""),
    ],
)
def test_json_that_means_two_things_or_nothing(body: bytes, complaint: str, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(table("raise")) as server:
        client = Sample(server.url)
        client.ask("new_hand")
        sent = body.replace(b"{", b'{"token": "%s", ' % str(client.token).encode(), 1)
        answer = post(f"{server.url}/api/act", sent)
        assert list(answer) == ["error_msg"]
        assert complaint in answer["error_msg"]
        assert len(answer["error_msg"]) < 300
        assert client.ask("act", incr="c")["action"].startswith("b200c/")
    assert capfd.readouterr().err == ""


@contextmanager
def scripted_server(*answers: bytes, pause: float = 0.0) -> Iterator[str]:
    """A web server that sends chunks of bytes, whatever it is asked, to one connection after the other."""
    over = threading.Event()

    def serve(door: socket.socket) -> None:
        with suppress(OSError):
            while not over.is_set():
                connection, _ = door.accept()
                with connection, suppress(OSError):
                    while not connection.recv(65536).endswith(b"}"):
                        pass
                    for answer in answers:
                        if over.wait(pause):
                            break
                        connection.sendall(answer)

    with door_of(serve) as port:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            over.set()


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("start", [b"", OK, OK + b"Content-Length: 4000\r\n\r\n"])
def test_an_answer_has_one_deadline(start: bytes) -> None:
    """A byte now and then is no answer."""
    with (
        scripted_server(start, *[b"H"] * 400, pause=0.05) as url,
        pytest.raises(InputError, match="no answer in"),
    ):
        play_slumbot(player("call", GAME), url, hands=1, timeout=0.3)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (OK + b"\r\n" + b" " * 200_000, "65,536 bytes"),
        (OK + b"Content-Length: 999999999999\r\n\r\n" + b" " * 200_000, "65,536 bytes"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nxx", "no HTTP"),
        (OK + b"X: " + b"y" * 60_000 + b"\r\nX: " + b"y" * 60_000, "65,536 bytes"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, "65,536 bytes"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "HTTP status 302"),
        (b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}", "HTTP status 500"),
        (b"HTTP/1.1 400 No\r\n\r\n" + b'{"error_msg": "who are you"}', "the server says 'who are you'"),
        (b"\x1b[2J\x07\r\n\r\n", "no HTTP"),
        (OK + b'\r\n{"action": "", "action": "c"}', "'action' is a duplicate key"),
        (OK + b'\r\n{"error_msg": "' + b"\\u001b[2J" * 100 + b'"}', "the server says"),
        (OK + b"\r\n" + b"[" * 60_000, "no JSON object"),
        (OK + b'\r\n{"winnings": ' + b"9" * 6000 + b"}", "no JSON object"),
    ],
)
def test_hostile_answers_are_one_clean_line(answer: bytes, complaint: str) -> None:
    with scripted_server(answer) as url, pytest.raises(InputError, match=complaint) as caught:
        play_slumbot(player("call", GAME), url, hands=1, timeout=WAIT)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


class Stuck(SlumbotTable):
    """A server that answers every action with the first state of the hand, a little changed."""

    changed: Answer
    first: Answer
    acts = 0

    def new_hand(self, request: Answer, peer: str = "") -> Answer:
        self.first = super().new_hand(request, peer)
        return self.first

    def act(self, _request: Answer, _peer: str = "") -> Answer:
        self.acts += 1
        if self.acts > 50:
            raise InputError("the client plays on for ever")
        return {**self.first, **self.changed}


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({}, "betting 'c' in answer to 'ck/'"),
        ({"action": "cb200"}, "betting 'cb200' in answer to 'ck/'"),
        ({"action": "ck/", "board": ["3c", "3d", "3h"], "hole_cards": ["2c", "2d"]}, "other cards"),
    ],
)
def test_a_hand_that_does_not_go_on_is_left(changed: Answer, complaint: str) -> None:
    stuck = Stuck(player("call", GAME), seed=3)
    stuck.changed = changed
    with serving(stuck) as server, pytest.raises(InputError, match=complaint):
        play_slumbot(player("call", GAME), server.url, hands=1, seed=1)
    assert stuck.acts == 1


def test_a_new_hand_that_has_been_played_already_is_left() -> None:
    liar = Liar(player("call", GAME), seed=3)
    liar.tamper = lambda answer: {**answer, "action": "ck/", "board": ["3c", "3d", "3h"]}
    with serving(liar) as server, pytest.raises(InputError, match="a new hand with the betting 'ck/'"):
        play_slumbot(player("call", GAME), server.url, hands=1, seed=1)


def test_the_commands() -> None:
    command = [sys.executable, "-m", "equipoise", "slumbot"]
    server = subprocess.Popen([*command, "serve", "always-fold", "--port", "0", "--json"], stdout=subprocess.PIPE)
    try:
        assert server.stdout
        url = json.loads(server.stdout.readline())["url"]
        arguments = ["play", "always-raise", url, "--hands", "10", "--json"]
        done = subprocess.run([*command, *arguments], capture_output=True, timeout=WAIT, check=True)
        answer = json.loads(done.stdout)
        assert (answer["hands"], answer["chips"], answer["mbb_per_hand"]) == (10, 750, 750)
    finally:
        server.terminate()
        server.communicate(timeout=WAIT)
