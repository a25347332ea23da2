"""ACPC matches over the loopback: totals to the chip, the dealer's tolerance rule by rule, hostile input."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from clocks import Clock
from equipoise.core.errors import InputError
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.gamedef import load_game
from equipoise.games.notation.acpc import LogState, MatchState, match_state_text, read_log_state
from equipoise.play.acpc.client import ClientResult, play_at
from equipoise.play.acpc.dealer import DealerResult, Timeouts, deal_match, made_legal
from equipoise.play.acpc.lines import Lines
from equipoise.play.logs import replay
from players import player
from servers import HOST, WAIT
from waiting import wait_until

NOLIMIT, LIMIT = "holdem.nolimit", "holdem.limit"
TIMED = tuple(f"equipoise.play.acpc.{module}" for module in ("dealer", "lines", "seating"))


@contextmanager
def dealing(game: str, hands: int, **options: Any) -> Iterator[tuple[tuple[int, int], Future[DealerResult]]]:
    """A dealer in a thread, and its ports."""
    ports: Future[tuple[int, int]] = Future()
    with ThreadPoolExecutor(1) as pool:
        options = {"seed": 7, "timeouts": Timeouts(WAIT, WAIT, WAIT, WAIT), "on_ports": ports.set_result, **options}
        result = pool.submit(deal_match, load_game(game), hands, **options)
        with suppress(TimeoutError):
            yield ports.result(WAIT), result
        result.result(WAIT)


def match(
    game: str, hands: int, players: tuple[str, str], *, seed: int | None = 7, **options: Any
) -> tuple[DealerResult, list[ClientResult]]:
    """Two clients at a dealer, in threads."""
    with dealing(game, hands, seed=seed, **options) as (ports, result), ThreadPoolExecutor(2) as pool:
        seats = [
            pool.submit(play_at, player(name, game), HOST, port, seed=3, timeout=WAIT)
            for name, port in zip(players, ports, strict=True)
        ]
        return result.result(WAIT), [seat.result(WAIT) for seat in seats]


def read_log(game: str, path: Path) -> tuple[list[LogState], tuple[int, int] | None]:
    """Hands and the SCORE of a log."""
    hands, score = [], None
    for line in path.read_text().splitlines():
        if line.startswith("STATE"):
            hands.append(read_log_state(load_game(game), line))
        elif line.startswith("SCORE"):
            first, second = line.split(":")[1].split("|")
            score = (int(first), int(second))
        else:
            assert line.startswith("#")
    return hands, score


@pytest.mark.parametrize("game", [LIMIT, NOLIMIT])
def test_a_thousand_hands_add_up_to_the_chip(game: str, tmp_path: Path) -> None:
    path = tmp_path / "match.log"
    result, seats = match(game, 1000, ("mixed", "mixed"), log=path, names=("one", "two"))
    assert (result.stopped, result.hands, result.corrected) == ("", 1000, (0, 0))
    hands, score = read_log(game, path)
    assert score == result.score
    assert [seat.winnings.chips for seat in seats] == list(result.score)
    assert all(seat.finished and seat.winnings.hands == 1000 for seat in seats)
    assert seats[0].winnings.mbb_per_hand == pytest.approx(result.score[0] / load_game(game).big_blind)
    by_name = {"one": 0, "two": 0}
    for number, hand in enumerate(hands):
        assert (hand.hand, hand.names) == (number, ("one", "two") if number % 2 == 0 else ("two", "one"))
        assert hand.state.payoffs(hand.deal) == hand.values
        for name, value in zip(hand.names, hand.values, strict=True):
            by_name[name] += int(value)
    assert tuple(by_name.values()) == result.score
    again = replay(path, load_game(game))
    assert (again.hands, again.names, again.chips, again.scored) == (1000, ("one", "two"), result.score, True)
    assert again.ci95 == pytest.approx(seats[0].winnings.ci95)
    assert len({len(hand.state.rounds) for hand in hands}) == 4
    assert any(hand.state.is_showdown for hand in hands)


def test_the_log_begins_as_the_original_does(tmp_path: Path) -> None:
    match(NOLIMIT, 2, ("call", "call"), log=tmp_path / "m1.log", timeouts=Timeouts())
    ours = (tmp_path / "m1.log").read_text().splitlines()
    theirs = (Path(__file__).parents[1] / "data" / "match-1000.nolimit.log").read_text().splitlines()
    assert ours[0] == "# name/game/hands/seed m1 holdem.nolimit 2 7"
    assert ours[1:4] == theirs[1:4]
    shape = re.compile(r"-?\d+|[2-9TJQKA][cdhs]|[fcr/]+")
    assert shape.sub("", ours[-1]) == shape.sub("", theirs[-1])


def test_seats_change_positions_every_hand() -> None:
    """Who folds everything loses its blind: the small one when it acts first, the big one to a raise."""
    result, seats = match(NOLIMIT, 7, ("fold", "raise"))
    assert result.score == (-100 * 4 - 50 * 3, 100 * 4 + 50 * 3)  # seat 0 is the big blind in hands 0, 2, 4, 6
    assert [seat.winnings.chips for seat in seats] == list(result.score)


def test_cards_depend_on_the_seed_alone(tmp_path: Path) -> None:
    def cards(name: str, seed: int, *names: str) -> list[object]:
        match(NOLIMIT, 20, (names[0], names[1]), seed=seed, log=tmp_path / name)
        return [hand.deal.holes for hand in read_log(NOLIMIT, tmp_path / name)[0]]

    first = cards("a", 1, "call", "call")
    assert first == cards("b", 1, "raise", "mixed")
    assert first != cards("c", 2, "call", "call")
    assert len(set(map(str, first))) == 20


def test_a_client_repeats_itself_with_a_seed() -> None:
    first, again = (match(LIMIT, 50, ("mixed", "mixed"))[0] for _ in range(2))
    assert first.score == again.score


class Raw:
    """A player that says exactly what a test wants."""

    def __init__(self, port: int, version: bytes = b"VERSION:2.0.0\r\n") -> None:
        self.socket = socket.create_connection((HOST, port), WAIT)
        self.socket.sendall(version)
        self.file = self.socket.makefile("rb")

    def read(self) -> str:
        line = self.file.readline()
        assert not line or line.endswith(b"\r\n")
        return line.decode().rstrip()

    def say(self, text: str, end: str = "\r\n") -> None:
        self.socket.sendall((text + end).encode())

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@contextmanager
def raw_table(game: str, hands: int = 1, **options: Any) -> Iterator[tuple[Raw, Raw, Future[DealerResult]]]:
    """A dealer with two raw players; in hand 0 the second is player 1 and acts first in hold'em."""
    with dealing(game, hands, **options) as (ports, result):
        one, two = Raw(ports[0]), Raw(ports[1])
        try:
            yield one, two, result
        finally:
            one.close()
            two.close()


def play_script(game: str, answers: list[str], path: Path, make: Callable[[str, str], str]) -> DealerResult:
    """One hand in which whoever is to act gives the next answer; `make` turns state and answer into a line."""
    rules = load_game(game)
    with raw_table(game, log=path) as (one, two, result):
        state, left = BettingState.start(rules), list(answers)
        while not state.is_over:
            lines = [one.read(), two.read()]
            answer = left.pop(0)
            (one, two)[state.player].say(make(lines[state.player], answer))
            state = state.apply(made_legal(state, answer)[0])
        assert [one.read(), two.read()] != ["", ""]
        assert [one.read(), two.read()] == ["", ""], "the dealer closes without another word"
        assert not left
        one.close()
        two.close()
        return result.result(WAIT)


@pytest.mark.parametrize(
    ("game", "answers", "betting", "corrected"),
    [
        (NOLIMIT, ["r5", "f"], "r200f", (0, 1)),  # below the minimum
        (NOLIMIT, ["r-7", "f"], "r200f", (0, 1)),
        (NOLIMIT, ["r199", "r299", "f"], "r200r300f", (1, 1)),
        (NOLIMIT, ["r999999", "f"], "r20000f", (0, 1)),  # more than the stack
        (NOLIMIT, ["r" + "9" * 300, "f"], "r20000f", (0, 1)),
        (NOLIMIT, ["c", "f", "r300", "f"], "cc/r300f", (1, 0)),  # a fold with nothing to call
        (NOLIMIT, ["r20000", "r20000"], "r20000c///", (1, 0)),  # a raise against an all-in
        (NOLIMIT, ["x", "r300", "f"], "cr300f", (0, 1)),  # unknown
        (NOLIMIT, ["", "r300", "f"], "cr300f", (0, 1)),  # missing
        (NOLIMIT, ["r", "r300", "f"], "cr300f", (0, 1)),  # a raise without its size
        (NOLIMIT, ["F", "r300", "f"], "cr300f", (0, 1)),
        (NOLIMIT, ["c:f", "r300:c", "f"], "cr300f", (0, 0)),  # what follows the action
        (LIMIT, ["r5000", "f"], "rf", (0, 0)),  # a size on a limit raise
        (LIMIT, ["r", "r", "r", "r", "r", "f"], "rrrc/rf", (1, 0)),  # one raise too many
    ],
)  # fmt: skip
def test_what_becomes_of_a_bad_answer(
    game: str, answers: list[str], betting: str, corrected: tuple[int, int], tmp_path: Path
) -> None:
    result = play_script(game, answers, tmp_path / "log", lambda state, answer: f"{state}:{answer}")
    assert result.stopped == ""
    assert result.corrected == corrected
    line = (tmp_path / "log").read_text().splitlines()[-2]
    assert line.split(":")[2] == betting


@pytest.mark.parametrize(
    "make",
    [
        lambda state, answer: f"# a comment\r\n; another\n{state}:{answer}",
        lambda state, answer: f"MATCHSTATE:0:99::AsAd|:r20000\r\n{state}:{answer}",  # another hand
        lambda state, answer: f"{state.replace(':0:', ':1:', 1)}x:f\r\n{state}:{answer}",
        lambda state, answer: f"nonsense\r\n\r\n\x00\xff\r\n{state}:{answer}",
        lambda state, answer: f"{state}:{answer}\r\n{state}:f",  # an answer too many: stale for the next question
    ],
)
def test_what_was_not_asked_for_is_passed_over(make: Callable[[str, str], str], tmp_path: Path) -> None:
    result = play_script(NOLIMIT, ["r300", "c", "r600", "f"], tmp_path / "log", make)
    assert (result.stopped, result.corrected) == ("", (0, 0))
    assert (tmp_path / "log").read_text().splitlines()[-2].split(":")[2] == "r300c/r600f"


def test_a_state_without_an_action_is_a_call(tmp_path: Path) -> None:
    result = play_script(NOLIMIT, ["", "r300", "f"], tmp_path / "log", lambda s, a: f"{s}:{a}" if a else s)
    assert result.corrected == (0, 1)


def test_players_see_their_own_cards_and_all_at_a_showdown() -> None:
    with raw_table(LIMIT, seed=1) as (one, two, result):
        seen = [one.read(), two.read()]
        assert re.fullmatch(r"MATCHSTATE:0:0::[^|]{4}\|", seen[0])
        assert re.fullmatch(r"MATCHSTATE:1:0::\|[^|]{4}", seen[1])
        for first in (1, 0, 0, 0):
            for who in (first, 1 - first):
                (one, two)[who].say(f"{seen[who]}:c")
                seen = [one.read(), two.read()]
        assert re.fullmatch(r"MATCHSTATE:0:0:cc/cc/cc/cc:\w{4}\|\w{4}/\w{6}/\w\w/\w\w", seen[0])
        assert seen[1] == seen[0].replace("MATCHSTATE:0", "MATCHSTATE:1")
        result.result(WAIT)


@pytest.mark.parametrize("version", [b"VERSION:2.0.0\n", b"VERSION:1.9.3\r\n"])
def test_versions_that_are_accepted(version: bytes) -> None:
    said: list[str] = []
    with dealing(NOLIMIT, 1, say=said.append) as (ports, result):
        one, two = Raw(ports[0]), Raw(ports[1], version)
        two.say(f"{two.read()}:f")
        assert result.result(WAIT).score == (50, -50)
        one.close()
        two.close()
    assert bool(said) == (b"1.9" in version)


QUICK = Timeouts(response=0.4, hand=WAIT, per_hand=WAIT, start=WAIT)  # for who is meant to run out of time


@pytest.mark.parametrize(
    ("hostile", "stopped"),
    [
        (b"x" * 5000, "more than 4096"),  # a line without end
        (b"MATCHSTATE:1:0::" + b"9" * 4096 + b"\r\n", "more than 4096"),
        (bytes(range(256)) * 8 + b"\r\n", "out of time"),
        (b"#\n" * 100_000, "10,000 lines and no answer"),
        (b"\n" * 100_000, "10,000 lines and no answer"),
        (b"", "out of time"),
    ],
)
def test_hostile_answers_stop_the_match(hostile: bytes, stopped: str, tmp_path: Path) -> None:
    said: list[str] = []
    times = {"timeouts": QUICK} if stopped == "out of time" else {}
    with raw_table(NOLIMIT, log=tmp_path / "log", say=said.append, **times) as (_, two, result):
        two.read()
        with suppress(OSError):
            two.socket.sendall(hostile)
        answer = result.result(WAIT)
    assert stopped in answer.stopped
    assert answer.stopped.startswith("seat 1 (B)")
    assert "SCORE" not in (tmp_path / "log").read_text()
    assert len(said) <= 1


def test_a_flood_that_never_ends_stops_the_match() -> None:
    with raw_table(NOLIMIT) as (_, two, result):
        two.read()
        with suppress(OSError):
            while not result.done():
                two.socket.sendall(b"; nothing to say\r\n" * 50)
        assert "10,000 lines and no answer" in result.result(WAIT).stopped


def test_a_byte_now_and_then_buys_no_time() -> None:
    with raw_table(NOLIMIT, timeouts=QUICK) as (_, two, result):
        two.read()
        with suppress(OSError):
            while not result.done():
                two.socket.sendall(b"M")
                time.sleep(0.05)
        assert "out of time" in result.result(WAIT).stopped


def test_a_connection_that_is_no_player_keeps_nobody_from_a_seat() -> None:
    """Silent ones, one that drips, one that talks of something else, and many: the player that comes last sits down."""
    said: list[str] = []
    with dealing(NOLIMIT, 1, say=said.append) as (ports, result), ExitStack() as stack:
        idle = [socket.create_connection((HOST, port), WAIT) for port in ports for _ in range(40)]
        for connection in idle:
            stack.enter_context(connection)
        for number, connection in enumerate(idle):
            with suppress(OSError):
                connection.sendall([b"", b"VERSION", b"GET / HTTP/1.1\r\n\r\n", b"V" * 9000][number % 4])
        one, two = Raw(ports[0]), Raw(ports[1])
        one.read()
        two.say(f"{two.read()}:f")
        assert result.result(WAIT).score == (50, -50)
        one.close()
        two.close()
    assert len(said) <= 2


def test_a_seat_that_is_taken_is_closed_to_others() -> None:
    with dealing(NOLIMIT, 1) as (ports, result):
        waiting = socket.create_connection((HOST, ports[0]), WAIT)
        one, two = Raw(ports[0]), Raw(ports[1])
        one.read()
        with pytest.raises(OSError):
            late = socket.create_connection((HOST, ports[0]), WAIT)
            late.close()
        with suppress(ConnectionError):
            assert waiting.recv(100) == b""
        two.say(f"{two.read()}:f")
        assert result.result(WAIT).score == (50, -50)
        one.close()
        two.close()
        waiting.close()


def test_without_a_seed_the_cards_are_new_and_the_seed_is_told(tmp_path: Path) -> None:
    def deal(name: str, seed: int | None) -> tuple[DealerResult, str]:
        result, _ = match(NOLIMIT, 5, ("call", "call"), log=tmp_path / name, seed=seed)
        return result, (tmp_path / name).read_text()

    first, log = deal("a", None)
    second, _ = deal("b", None)
    assert first.seed != second.seed
    assert first.as_json()["seed"] == first.seed
    assert log.splitlines()[0] == f"# name/game/hands/seed a {NOLIMIT} 5 {first.seed}"
    again, repeated = deal("c", first.seed)
    assert (again.score, repeated.splitlines()[1:]) == (first.score, log.splitlines()[1:])


def is_shut(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), WAIT).close()
    except OSError:
        return True
    return False


@pytest.mark.parametrize(
    "version", [b"HELLO\r\n", b"VERSION:2\r\n", b"\xff\xfe\x00\r\n", b"V" * 9000, b"VERSION:2.0.0"]
)
def test_a_wrong_version_stops_the_match(version: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, *TIMED)
    with dealing(NOLIMIT, 1, timeouts=Timeouts(start=0.1)) as (ports, result):
        one, two = Raw(ports[0]), Raw(ports[1], version)
        wait_until(lambda: is_shut(ports[0]), "the first seat is taken")
        clock.now += 1
        assert result.result(WAIT).stopped.startswith("seat 1 (B)")
        one.close()
        two.close()


def test_nobody_comes() -> None:
    with dealing(NOLIMIT, 1, timeouts=Timeouts(start=0.2)) as (_, result):
        assert "nobody has connected" in result.result(WAIT).stopped


def test_a_player_that_leaves_stops_the_match_and_its_hands_stay_logged(tmp_path: Path) -> None:
    with raw_table(NOLIMIT, 10, log=tmp_path / "log") as (one, two, result):
        one.read()
        two.say(f"{two.read()}:f")
        assert ":f:" in two.read()
        two.close()
        one.read()
        one.say(f"{one.read()}:c")
        stopped = result.result(WAIT)
    assert stopped.stopped == "seat 1 (B) has closed its connection"
    assert (stopped.hands, stopped.as_json()["score"]) == (1, None)
    hands, score = read_log(NOLIMIT, tmp_path / "log")
    assert (len(hands), score) == (1, None)


@pytest.mark.parametrize(
    ("times", "betting"),
    [
        (Timeouts(hand=350, per_hand=1000), "cr"),
        (Timeouts(hand=1000, per_hand=350), "cr"),
        (Timeouts(response=150, hand=1000, per_hand=1000), ""),
    ],
)
def test_each_kind_of_time_runs_out(times: Timeouts, betting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A player that takes 200 seconds an answer: too long for one, or for two of a hand or match."""
    seen, clock, receive = ["", ""], Clock(monkeypatch, *TIMED), Lines.receive
    thinking: list[float] = []

    def receive_later(lines: Lines) -> bool:
        is_open = receive(lines)
        clock.now += thinking.pop() if thinking else 0.0
        return is_open

    monkeypatch.setattr(Lines, "receive", receive_later)
    with raw_table(LIMIT, timeouts=times) as (one, two, result):
        with suppress(OSError):
            while all(lines := [one.read(), two.read()]):
                seen, so_far = lines, lines[0].split(":")[3]
                slow = so_far in ("", "cr")
                thinking += [200.0] * slow
                (one, two)[slow].say(f"{seen[slow]}:{'r' if so_far == 'c' else 'c'}")
        assert result.result(WAIT).stopped == "seat 1 (B) is out of time"
    assert seen[0].split(":")[3] == betting


@pytest.mark.parametrize("names", [("", "B"), ("a b", "B"), ("a:b", "B"), ("A", "B|C"), ("A", "x" * 99), ("A", "A")])
def test_names_that_would_break_the_log_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="name"):
        deal_match(load_game(NOLIMIT), 1, seed=1, names=names)


def test_a_log_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("precious")
    with pytest.raises(InputError, match="name a new file"):
        deal_match(load_game(NOLIMIT), 1, seed=1, log=tmp_path / "log")
    assert (tmp_path / "log").read_text() == "precious"


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server((HOST, 0)) as taken, pytest.raises(InputError, match="cannot listen"):
        deal_match(load_game(NOLIMIT), 1, seed=1, ports=(taken.getsockname()[1], 0))


@contextmanager
def scripted_dealer(*chunks: bytes, pause: float = 0.0) -> Iterator[tuple[int, list[str]]]:
    """A dealer that sends bytes whatever it hears, with pauses until the test is over; what it heard, line by line."""
    heard: list[str] = []
    over = threading.Event()
    with socket.create_server((HOST, 0)) as door:

        def serve() -> None:
            connection, _ = door.accept()
            with connection, connection.makefile("rb") as file:
                heard.append(file.readline().decode())
                with suppress(OSError):
                    for chunk in chunks:
                        connection.sendall(chunk)
                        over.wait(pause)
                    connection.shutdown(socket.SHUT_WR)
                    heard.extend(line.decode() for line in file)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield door.getsockname()[1], heard
        finally:
            over.set()
            thread.join(WAIT)


def test_a_client_answers_what_it_should() -> None:
    chunks = [
        b"# welcome\r\n;\nMATCHST", b"ATE:0:30::9s8h|", b"\r", b"\nMATCHSTATE:0:30:c:9s8h|\n",
        b"MATCHSTATE:0:30:c:9s8h|\r\n",  # again: the same answer
        b"MATCHSTATE:0:30:cr300:9s8h|\r\nMATCHSTATE:0:30:cr300c/:9s8h|/8c8d5c\r\n",
        b"MATCHSTATE:0:30:cr300c/r600:9s8h|/8c8d5c\r\nMATCHSTATE:0:30:cr300c/r600f:9s8h|/8c8d5c\r\n",
        b"MATCHSTATE:0:30:cr300c/r600f:9s8h|/8c8d5c\r\n",  # again: counts once
        b"MATCHSTATE:1:31::|AsAd\r\nMATCHSTATE:1:31:r200:|AsAd\r\nMATCHSTATE:1:31:r200r20000:|AsAd\r\n",
        b"MATCHSTATE:1:31:r200r20000c///:2c7d|AsAd/2d3c4c/Kd/Ks\r\n",
    ]  # fmt: skip
    with scripted_dealer(*chunks, pause=0.01) as (port, heard):
        result = play_at(player("raise", NOLIMIT), HOST, port, seed=1, timeout=WAIT)
    assert heard == [
        "VERSION:2.0.0\r\n",
        "MATCHSTATE:0:30:c:9s8h|:r200\r\n",
        "MATCHSTATE:0:30:c:9s8h|:r200\r\n",
        "MATCHSTATE:0:30:cr300c/:9s8h|/8c8d5c:r400\r\n",
        "MATCHSTATE:1:31::|AsAd:r200\r\n",
        "MATCHSTATE:1:31:r200r20000:|AsAd:c\r\n",
    ]
    assert (result.winnings.hands, result.winnings.chips, result.finished) == (2, 300 + 20000, True)


@pytest.mark.parametrize("game", [LIMIT, NOLIMIT])
def test_a_client_counts_as_the_original_dealer_does(game: str) -> None:
    """The last states of the original dealer's hands, as its first seat saw them, against its SCORE."""
    hands, score = read_log(game, Path(__file__).parents[1] / "data" / f"match-1000.{game.split('.')[1]}.log")
    lines = []
    for hand in hands:
        mine = hand.names.index("A")
        holes = [hole if i == mine or hand.state.is_showdown else () for i, hole in enumerate(hand.deal.holes)]
        lines.append(
            match_state_text(MatchState(mine, hand.hand, hand.state, Deal((holes[0], holes[1]), hand.deal.board)))
        )
    with scripted_dealer("\r\n".join([*lines, ""]).encode()) as (port, heard):
        result = play_at(player("call", game), HOST, port, seed=1, timeout=WAIT)
    assert score
    assert (result.winnings.hands, result.winnings.chips, len(heard)) == (1000, score[0], 1)


def test_an_error_tells_what_was_won_before() -> None:
    sent = b"MATCHSTATE:1:0:f:|AsAd\r\nMATCHSTATE:0:1:f:AsAd|\r\nMATCHSTATE:9\r\n"
    with scripted_dealer(sent) as (port, _), pytest.raises(InputError, match=r"after 2 hands, \+0 chips"):
        play_at(player("call", NOLIMIT), HOST, port, seed=1, timeout=WAIT)


def test_a_repeated_state_is_answered_alike_by_a_player_that_mixes() -> None:
    state = b"MATCHSTATE:1:4::|AsAd\r\n"
    with scripted_dealer(*[state] * 20) as (port, heard):
        result = play_at(player("mixed", NOLIMIT), HOST, port, seed=None, timeout=WAIT)
    assert len(heard) == 21
    assert len(set(heard[1:])) == 1
    assert (result.winnings.hands, result.finished) == (0, False)
    assert result.as_json() == {"hands": 0, "chips": 0, "mbb_per_hand": None, "ci95": None, "finished": False}


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (b"hello\r\n", "no match state"),
        (b"MATCHSTATE:7:0::|AsAd\r\n", "position 7"),
        (b"MATCHSTATE:1:0:q:|AsAd\r\n", "unknown action"),
        (b"MATCHSTATE:1:0:r5:|AsAd\r\n", "illegal action"),  # another game's
        (b"MATCHSTATE:1:0::|AsAs\r\n", "appears twice"),
        (b"MATCHSTATE:1:0::AsAd|\r\n", "no hole cards of position 1"),
        (b"MATCHSTATE:1:0:cc/cc/cc/cc:|AsAd/2c2d2h/3c/3d\r\n", "showdown without both hands"),
        (b"\x00\x01\xff\xfe\r\n", "no match state"),
        (b"M" * 5000, "more than 4096"),
    ],
)
def test_a_dealer_that_makes_no_sense_is_left(sent: bytes, complaint: str) -> None:
    with scripted_dealer(sent) as (port, _), pytest.raises(InputError, match=complaint) as caught:
        play_at(player("call", NOLIMIT), HOST, port, seed=1, timeout=WAIT)
    assert str(caught.value).startswith(f"{HOST}:{port}: ")
    assert "\n" not in str(caught.value)


def test_a_silent_dealer_and_none_at_all() -> None:
    with scripted_dealer(b"# wait\r\n", pause=WAIT) as (port, _), pytest.raises(InputError, match="silent"):
        play_at(player("call", NOLIMIT), HOST, port, seed=1, timeout=0.2)
    with pytest.raises(InputError, match="cannot connect: nothing listens there"):
        play_at(player("call", NOLIMIT), HOST, port, seed=1, timeout=1)
    with pytest.raises(InputError, match="99999' is not a port"):
        play_at(player("call", NOLIMIT), HOST, 99999, seed=1, timeout=1)


@pytest.mark.parametrize("sent", [b"M", b"#\r\n", b"\r\n"])
def test_bytes_and_comments_that_are_no_state_buy_no_time(sent: bytes) -> None:
    with (
        scripted_dealer(*[sent] * 100, pause=0.05) as (port, _),
        pytest.raises(InputError, match="silent") as caught,
    ):
        play_at(player("call", NOLIMIT), HOST, port, seed=1, timeout=0.3)
    assert str(caught.value).startswith(f"{HOST}:{port}: ")


@pytest.mark.parametrize("state", [b"MATCHSTATE:1:4::|AsAd\r\n", b"MATCHSTATE:0:4::AsAd|\r\n"])
def test_a_dealer_that_is_stuck_is_left(state: bytes) -> None:
    """The same state for ever, where we are to act and where we are not."""
    with scripted_dealer(state * 2000) as (port, heard), pytest.raises(InputError, match="sent 102 times"):
        play_at(player("call", NOLIMIT), HOST, port, seed=1, timeout=WAIT)
    assert len(heard) <= 1 + 101


@pytest.mark.parametrize(
    "states",
    [
        (b"MATCHSTATE:1:4::|AsAd", b"MATCHSTATE:1:4:c:|AsAd", b"MATCHSTATE:1:4::|AsAd"),  # back
        (b"MATCHSTATE:1:4:f:|AsAd", b"MATCHSTATE:0:3::AsAd|"),  # an earlier hand
        (b"MATCHSTATE:1:4:c:|AsAd", b"MATCHSTATE:1:4:r200:|AsAd"),  # another betting
        (b"MATCHSTATE:1:4::|AsAd", b"MATCHSTATE:1:4:c:|AsAh"),  # other cards
        (b"MATCHSTATE:1:4::|AsAd", b"MATCHSTATE:0:4:c:AsAd|"),  # another position
        (b"MATCHSTATE:1:4:f:|AsAd", b"MATCHSTATE:1:4:f:2c2d|AsAd"),  # a hand that was over already
    ],
)
def test_a_match_that_does_not_go_on_is_left(states: tuple[bytes, ...]) -> None:
    sent = b"".join(state + b"\r\n" for state in states)
    with scripted_dealer(sent) as (port, _), pytest.raises(InputError, match=" after 'MATCHSTATE") as caught:
        play_at(player("call", NOLIMIT), HOST, port, seed=1, timeout=WAIT)
    assert str(caught.value).isprintable()


def test_made_legal_never_gives_an_illegal_action() -> None:
    states = [BettingState.start(load_game(game)) for game in (LIMIT, NOLIMIT, "kuhn", "leduc")]
    answers = ["", "f", "c", "r", "r0", "r1", "r100", "r250", "r99999", "x", "rr", "r+300", "r 5"]
    for _ in range(6):
        for state in states:
            for answer in answers:
                action, as_said = made_legal(state, answer)
                assert state.legal().allows(action)
                assert not as_said or answer[0] == {FOLD: "f", CALL: "c"}.get(action, "r")
        states = [s.apply(s.legal().raise_min or CALL) for s in states if not s.is_over]
        states = [s for s in states if not s.is_over]


def command(*arguments: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "equipoise", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_match_of_processes(tmp_path: Path) -> None:
    path = tmp_path / "a-b.log"
    options = ("--hands", "100", "--seed", "7", "--log", str(path), "--names", "one,two")
    dealer = command("acpc", "deal", "--game", "leduc", *options)
    assert dealer.stdout
    ports = dealer.stdout.readline().split()[1:]
    seats = [
        command("acpc", "play", name, HOST, port, "--game", "leduc", "--seed", "1", "--json")
        for name, port in zip(("uniform", "always-raise"), ports, strict=True)
    ]
    won = [json.loads(seat.communicate(timeout=WAIT)[0]) for seat in seats]
    out, _ = dealer.communicate(timeout=WAIT)
    assert (dealer.returncode, [seat.returncode for seat in seats]) == (0, [0, 0])
    assert out == f"SCORE:{won[0]['chips']}|{won[1]['chips']}:one|two\n"
    assert won[0]["chips"] == -won[1]["chips"]
    hands, score = read_log("leduc", path)
    assert (len(hands), score) == (100, (won[0]["chips"], won[1]["chips"]))


def test_a_dealer_without_players_exits_with_one() -> None:
    dealer = command("acpc", "deal", "--game", "kuhn", "--hands", "1", "--start-timeout", "0.1", "--json")
    out, errors = dealer.communicate(timeout=WAIT)
    assert dealer.returncode == 1
    assert json.loads(out)["score"] is None
    assert f"seed {json.loads(out)['seed']}" in errors.splitlines()
    assert "nobody has connected" in errors.splitlines()[-1]
    assert "Traceback" not in errors
