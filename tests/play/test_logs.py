"""Logs of matches: the dealer's own replay to the chip, ours are read by PokerKit, and what is wrong is refused."""

from __future__ import annotations

import json
from dataclasses import replace as changed
from pathlib import Path
from random import Random

import pokerkit
import pytest

from engines import pokerkit_replay
from equipoise import GameRules, InputError, load_game, replay
from equipoise.agents.card_blind import CardBlindStrategy
from equipoise.agents.named import named_player
from equipoise.cli.render.match import print_replay
from equipoise.games.betting_state import Deal
from equipoise.games.notation.acpc import read_log_state
from equipoise.games.notation.phh import phh_text, read_phh
from equipoise.play.logs import MOST_LINE, LogWriter, log_names
from equipoise.play.match import match
from play import longest_hand, random_deal, random_hand

DATA = Path(__file__).parents[1] / "data"
LIMIT, NO_LIMIT = load_game("holdem.limit"), load_game("holdem.nolimit")
GAMES = {"limit": LIMIT, "nolimit": NO_LIMIT}
NAMES = log_names("runs/small?post=tartanian7:0.2", "always call")


def write_match(path: Path, rules: GameRules, hands: int = 40, seed: int = 1) -> dict[str, list[int]]:
    """Random hands, seats swapped after each; what each name won, hand by hand."""
    rng, won = Random(seed), {name: list[int]() for name in NAMES}
    with LogWriter(path, rules) as log:
        for number in range(hands):
            state, deal = random_hand(rules, rng), random_deal(rules, rng)
            names = NAMES if number % 2 == 0 else NAMES[::-1]
            log.write(number, state, deal, names)
            for name, value in zip(names, state.payoffs(deal), strict=True):
                won[name].append(value)
    return won


# --- the dealer's logs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "chips"), [("limit", 605), ("nolimit", 509_941)])
def test_the_dealers_logs_replay_to_the_chip(game: str, chips: int) -> None:
    told: list[float] = []
    found = replay(DATA / f"match-1000.{game}.log", GAMES[game], progress=told.append)
    assert (found.hands, found.names, found.chips, found.scored) == (1000, ("A", "B"), (chips, -chips), True)
    big_blind = GAMES[game].big_blind
    assert found.mbb_per_hand == pytest.approx((chips / big_blind, -chips / big_blind))
    values = []
    for line in (DATA / f"match-1000.{game}.log").read_text().splitlines():
        if line.startswith("STATE"):
            state = read_log_state(GAMES[game], line)
            values.append(state.values[state.names.index("A")] * 1000 / big_blind)
    mean = sum(values) / 1000
    deviation = (sum((value - mean) ** 2 for value in values) / 999) ** 0.5
    assert found.ci95 == pytest.approx(1.96 * deviation / 1000**0.5, rel=0.002)
    assert told
    assert told == sorted(told)
    assert 0 < told[-1] <= 1


@pytest.mark.parametrize("game", GAMES)
def test_a_changed_character_is_refused_or_changes_nothing(game: str, tmp_path: Path) -> None:
    """A character of a hand's betting, cards or value, replaced: the hand is illegal or is worth what the log says."""
    rules, rng = GAMES[game], Random(8)
    lines = [line for line in (DATA / f"match-1000.{game}.log").read_text().splitlines() if line.startswith("STATE")]
    refused = {"betting": 0, "cards": 0, "values": 0}
    log = tmp_path / "changed.log"
    for _ in range(600):
        parts = rng.choice(lines).split(":")
        field = rng.choice(list(refused))
        place = {"betting": 2, "cards": 3, "values": 4}[field]
        text = parts[place]
        at = rng.randrange(len(text))
        letter = rng.choice("0123456789" if text[at].isdigit() else "fcr" if place == 2 else "cdhs23456789TJQKA-|")
        parts[place] = text[:at] + letter + text[at + 1 :]
        log.write_text(":".join(parts) + "\n")
        try:
            found = replay(log, rules)
        except InputError as error:
            assert f"{log}, line 1" in str(error)
            refused[field] += 1
        else:
            state = read_log_state(rules, ":".join(parts))
            assert state.state.payoffs(state.deal) == state.values == (found.chips[0], found.chips[1])
            assert field != "values" or text == parts[place] or text.startswith("0")
    assert min(refused.values()) > 50


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("/6c:60|-60", "/6c:50|-50", "line 5: hand 0 gives 'A' 50; it is worth 60"),
        ("/6c:60|-60", "/6c:-60|60", "line 5: hand 0 gives 'A' -60"),
        ("8dJd|Td4d/As9d6s/3d/6c", "8d7d|Td4d/As9d6s/3d/6c", "hand 0 gives 'A' 60; it is worth -60"),
        ("crc/cc/cc/crrc:8dJd", "crrc/cc/cc/crrc:8dJd", "hand 0 gives 'A' 60; it is worth 70"),
        ("Td4d/As9d6s/3d/6c:60|-60:A|B", "Td4d/As9d6s/3d/6c:60|-60:B|A", "the score gives 'A' '605'; .* add up to 485"),
        ("SCORE:605|-605", "SCORE:604|-604", "line 1005: the score gives 'A' '604'; its hands add up to 605"),
        ("SCORE:605|-605:A|B", "SCORE:-605|605:A|B", "its hands add up to 605"),
        ("SCORE:605|-605:A|B", "SCORE:605|-605:A|C", "no score of this match"),
        ("SCORE:605|-605:A|B", "SCORE:605:A", "no score of this match"),
        ("STATE:1:", "SCORE:60|-60:A|B\nSTATE:1:", "a hand after the score"),
        (":60|-60:A|B\n", ":60|-60:A|A\n", "two agents"),
        (":-90|90:B|A", ":-90|90:B|C", "line 6: hand 1 is played by .*two agents"),
        ("8dJd|Td4d/As9d6s", "8dJd|/As9d6s", "hidden cards"),
        ("STATE:3:", "STATUS:3:", "no logged hand"),
        ("#--t_hand", "--t_hand", "line 3 does not begin with STATE:"),
    ],
)  # fmt: skip
def test_what_a_log_may_not_say(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = (DATA / "match-1000.limit.log").read_text()
    assert old in text
    log = tmp_path / "wrong.acpc"
    log.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        replay(log, LIMIT)


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        replay(tmp_path / "nothing.log", LIMIT)
    with pytest.raises(InputError, match="cannot read"):
        replay(_made(tmp_path / "folder.log", None), LIMIT)
    with pytest.raises(InputError, match=r"end its name in \.acpc"):
        replay(_made(tmp_path / "log.txt", b""), LIMIT)
    with pytest.raises(InputError, match="no hand"):
        replay(_made(tmp_path / "empty.log", b"# nothing\n\n"), LIMIT)
    with pytest.raises(InputError, match="no hand"):
        replay(_made(tmp_path / "empty.phh", b""), LIMIT)
    with pytest.raises(InputError, match="not a text"):
        replay(_made(tmp_path / "bytes.log", b"\xff\xfe\x00"), LIMIT)
    for suffix in ("log", "phhs"):
        with pytest.raises(InputError, match="without an end"):
            replay(_made(tmp_path / f"long.{suffix}", b"a" * (MOST_LINE + 5)), LIMIT)
    with pytest.raises(InputError, match="line 1: a hand without an end"):
        replay(_made(tmp_path / "lines.phhs", b"[1]\n" + b"# nothing\n" * MOST_LINE), LIMIT)
    with pytest.raises(InputError, match="line 5"):
        replay(DATA / "match-1000.nolimit.log", LIMIT)


def _made(path: Path, data: bytes | None) -> Path:
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)
    return path


# --- our logs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["holdem.limit", "holdem.nolimit", "leduc"])
def test_our_logs_replay(game: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = load_game(game)
    for suffix in ("acpc", "log") if game == "leduc" else ("acpc", "phhs", "phh"):
        log = tmp_path / f"match.{suffix}"
        won = write_match(log, rules)
        found = replay(log, rules)
        assert (found.hands, found.names) == (40, NAMES)
        assert found.chips == tuple(sum(won[name]) for name in NAMES)
        assert found.scored == (suffix not in ("phh", "phhs"))
        assert json.loads(json.dumps(found.as_json()))["chips"] == list(found.chips)
        print_replay(found)
        assert f"  {found.chips[0]:+,}  " in capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["acpc", "phhs"])
def test_a_match_and_its_log_say_the_same(suffix: str, tmp_path: Path) -> None:
    agents = [named_player(CardBlindStrategy(name), NO_LIMIT) for name in ("always-raise", "uniform")]
    log = tmp_path / f"match.{suffix}"
    result = match(agents[0], agents[1], hands=200, duplicate=False, seed=4, threads=1, log=log)
    found = replay(log, NO_LIMIT)
    assert found.hands == result.hands == 200
    assert found.mbb_per_hand[found.names.index("always-raise")] == pytest.approx(result.mbb_per_hand)
    assert found.ci95 == pytest.approx(result.ci95)


@pytest.mark.parametrize("game", GAMES)
def test_pokerkit_reads_our_histories_with_the_same_values(game: str, tmp_path: Path) -> None:
    won = write_match(tmp_path / "match.phhs", GAMES[game])
    with (tmp_path / "match.phhs").open("rb") as file:
        histories = list(pokerkit.HandHistory.load_all(file))
    assert len(histories) == 40
    for number, history in enumerate(histories):
        end = pokerkit_replay(history)
        assert not end.status
        assert (history.hand, history.finishing_stacks) == (number, list(end.stacks))
        assert list(end.payoffs) == [won[name][number] for name in history.players or []]


def test_we_read_what_pokerkit_writes(tmp_path: Path) -> None:
    sample = read_phh(NO_LIMIT, (DATA / "sample.phh").read_text())
    assert (sample.values, sample.names, sample.hand) == ((1700, -1700), ("A", "B"), 1)
    won = write_match(tmp_path / "match.phhs", NO_LIMIT)
    with (tmp_path / "match.phhs").open("rb") as file, (tmp_path / "theirs.phhs").open("wb") as theirs:
        pokerkit.HandHistory.dump_all(list(pokerkit.HandHistory.load_all(file)), theirs)
    assert replay(tmp_path / "theirs.phhs", NO_LIMIT).chips == tuple(sum(values) for values in won.values())
    assert replay(DATA / "sample.phh", NO_LIMIT).chips == (1700, -1700)


@pytest.mark.parametrize(
    "rules",
    [LIMIT, NO_LIMIT, changed(NO_LIMIT, stacks=(20_000, 700)), changed(LIMIT, stacks=(37, 100))],
    ids=["limit", "nolimit", "nolimit unequal", "limit short"],
)
def test_histories_are_read_as_written(rules: GameRules) -> None:
    rng = Random(11)
    for number, state in enumerate([longest_hand(rules), *(random_hand(rules, rng) for _ in range(100))]):
        deal = random_deal(rules, rng)
        for finishing in (True, False):
            found = read_phh(rules, phh_text(state, deal, hand=number, names=("a'\"\\", "Ä\n"), finishing=finishing))
            seen = Deal(deal.holes, deal.board[: rules.board_size(state.round)])
            assert (found.hand, found.state, found.deal, found.names) == (number, state, seen, ("a'\"\\", "Ä\n"))
            assert found.values == state.payoffs(deal)


SAMPLE = (DATA / "sample.phh").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("'NT'", "'FT'", "variant is 'FT'"),
        ("[50, 100]", "[100, 50]", "blinds_or_straddles"),
        ("min_bet = 100", "min_bet = 50", "min_bet"),
        ("antes = [0, 0]", "antes = [5, 5]", "antes"),
        ("[20000, 20000]", "[20000, 10000]", "starting_stacks"),
        ("[20000, 20000]", "[20000]", "one number a player"),
        ("[20000, 20000]", "['20000', true]", "one number a player"),
        ("'p2 cbr 300'", "'p2 cbr 150'", "action 3, 'p2 cbr 150': illegal action"),
        ("'p2 cbr 400'", "'p2 cbr 40'", "illegal action raise to 340"),
        ("'p2 cbr 300'", "'p1 cbr 300'", "out of turn; first comes p2"),
        ("'p2 cbr 300'", "'p2 cbr -3'", "unknown action"),
        ("'p2 cbr 300'", "'p3 cbr 300'", "unknown action"),
        ("'p2 cbr 300'", "7", "list of texts"),
        ("'d db 2h5sKd', ", "", "out of turn; first comes the board"),
        ("'d db 2h5sKd', ", "'d db 2h5s', ", "2 board cards; flop has 3"),
        ("'d db 9h'", "'d db 2h'", "appears twice"),
        ("'d dh p1 AcAs', ", "", "hidden|shown|showdown"),
        ("'p1 sm AcAs'", "'p1 sm AcAd'", "p1 has 'AcAd'"),
        (", 'p1 cbr 1000', 'p2 cc', 'p1 sm AcAs', 'p2 sm'", "", "not over"),
        ("hand = 1", "finishing_stacks = [21699, 18301]", "hand 0 gives 'A' 1699; it is worth 1700"),
        ("hand = 1", "finishing_stacks = [18300, 21700]", "it is worth 1700"),
        ("hand = 1", "hand = 'x'", "two players and a number"),
        ("['A', 'B']", "['A', 'B', 'C']", "two players"),
        ("['A', 'B']", "['A', 'A']", "two agents"),
        ("antes = [0, 0]", "antes = [0, 0", "not TOML"),
        ("antes = [0, 0]", "antes = " + "[" * 5000, "nested"),
        ("hand = 1", "hand = " + "9" * 9000, "digits"),
    ],
)
def test_what_a_history_may_not_say(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in SAMPLE
    wrong = SAMPLE.replace(old, new, 1)
    if old.startswith("'d dh p1"):
        wrong = wrong.replace("'p1 sm AcAs'", "'p1 sm'")
    (tmp_path / "two.phhs").write_text(f"[1]\n{SAMPLE}\n[2]\n{wrong}\n")
    with pytest.raises(InputError, match=message) as error:
        replay(tmp_path / "two.phhs", NO_LIMIT)
    assert f"two.phhs, line {2 + len(SAMPLE.splitlines())}" in str(error.value)


def test_writing(tmp_path: Path) -> None:
    assert NAMES == ("runs/small?post=tartanian7=0.2", "always_call")
    assert log_names("uniform", "uniform") == ("uniform", "uniform-2")
    rng = Random(3)
    hand, deal = random_hand(LIMIT, rng), random_deal(LIMIT, rng)
    with LogWriter(tmp_path / "a.acpc", LIMIT) as log:
        for names in (("a:b", "c"), ("a|b", "c"), ("c", "c"), ("", "c"), ("a\n", "c")):
            with pytest.raises(InputError, match="names"):
                log.write(0, hand, deal, names)
    with pytest.raises(InputError, match="there already"):
        LogWriter(tmp_path / "a.acpc", LIMIT)
    with pytest.raises(InputError, match="end its name"):
        LogWriter(tmp_path / "a.csv", LIMIT)
    with pytest.raises(InputError, match="cannot write"):
        LogWriter(tmp_path / "no folder" / "a.log", LIMIT)
    with pytest.raises(ZeroDivisionError), LogWriter(tmp_path / "broken.acpc", LIMIT) as log:
        log.write(0, hand, deal, ("a", "b"))
        raise ZeroDivisionError
    found = replay(tmp_path / "broken.acpc", LIMIT)  # a match that was broken off keeps its hands, and has no score
    assert (found.hands, found.scored, found.as_json()["ci95"]) == (1, False, None)
