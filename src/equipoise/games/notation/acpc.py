"""The ACPC text of a hand, both ways: betting, cards, `MATCHSTATE` lines of the dealer, `STATE` lines of its logs.

Betting: `f`, `c`, `r` (limit) or `rN` (no-limit, N the player's total in the hand), rounds joined by `/`; a round that
has begun leaves a trailing `/`. Cards: hole cards by player joined by `|`, unseen ones empty, then `/flop/turn/river`;
board cards of the first round follow the last hole without a `/`, as the dealer writes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.notation.betting_text import MOST_DIGITS, bad_betting, replay_betting
from equipoise.games.rules import PLAYERS, GameRules

MOST_BYTES = 4096  # the longest line the dealer sends


@dataclass(frozen=True)
class MatchState:
    """What one player sees: its index in this hand, the hand's number, the betting, the cards it knows."""

    position: int
    hand: int
    state: BettingState
    deal: Deal


@dataclass(frozen=True)
class LogState:
    """A finished hand of a dealer's log: betting, all cards, value and name by player."""

    hand: int
    state: BettingState
    deal: Deal
    values: tuple[float, float]
    names: tuple[str, str]


def acpc_betting(state: BettingState) -> str:
    """The betting so far."""
    limit = state.rules.limit
    letters = {FOLD: "f", CALL: "c"}
    return "/".join(
        "".join(letters.get(action, "r" if limit else f"r{action}") for action in actions) for actions in state.rounds
    )


def read_acpc_betting(rules: GameRules, text: str) -> BettingState:
    """The state after a betting text; every action must be legal and every `/` where the round ends."""
    state, slashes = replay_betting(rules, text, "betting", _read_action)
    if slashes != state.round:
        what = "the text stops before the new round"
        raise bad_betting(text, len(text), "betting", what, "add a '/' for each round begun")
    return state


def _read_action(state: BettingState, letter: str, digits: str) -> int:
    if letter not in "fcr":
        raise InputError(f"unknown action {shown(letter)}", remedy="use f, c and r")
    if letter != "r":
        if digits:
            raise InputError(f"a size after {shown(letter)}", remedy="only r takes a size")
        return FOLD if letter == "f" else CALL
    if not state.rules.limit and not digits:
        raise InputError("a raise without its total", remedy="write r and the total, like r300")
    action = state.legal().raise_min if state.rules.limit else int(digits)
    if action <= 0:
        raise InputError("a raise that is not possible", remedy="call or fold")
    return action


def cards_text(rules: GameRules, deal: Deal, round_: int) -> str:
    """The cards up to a round; an unknown hole is an empty tuple."""
    text = "|".join(rules.deck.text(hole) for hole in deal.holes)
    for i in range(round_ + 1):
        end = rules.board_size(i)
        text += ("/" if i else "") + rules.deck.text(deal.board[end - rules.board_cards[i] : end])
    return text


def read_cards(rules: GameRules, text: str) -> Deal:
    """The cards of a text; rounds must be complete, holes complete or empty, and cards distinct."""
    holes_text, *boards = text.split("/")
    *others, last = (rules.deck.read_cards(part) for part in holes_text.split("|"))
    cut = len(last) - rules.board_cards[0]
    holes, board = [*others, last[:cut]], list(last[cut:])
    if cut < 0 or len(holes) != PLAYERS or any(len(hole) not in (0, rules.hole_cards) for hole in holes):
        raise InputError(
            f"hole cards {shown(holes_text)}", remedy=f"give {rules.hole_cards} a player or none, separated by '|'"
        )
    for i, part in enumerate(boards, 1):
        cards = rules.deck.read_cards(part)
        if i >= rules.rounds or len(cards) != rules.board_cards[i]:
            raise InputError(f"board cards {shown(part)}", remedy="give each round's cards after a '/'")
        board.extend(cards)
    rules.deck.check_distinct([*holes[0], *holes[1], *board], text)
    return Deal((holes[0], holes[1]), tuple(board))


def _check_board(rules: GameRules, state: BettingState, deal: Deal, text: str) -> None:
    if len(deal.board) != rules.board_size(state.round):
        raise InputError(
            f"{len(deal.board)} board cards in {shown(text, 80)}",
            remedy=f"round {state.round + 1} has {rules.board_size(state.round)}",
        )


def match_state_text(match_state: MatchState) -> str:
    """The dealer's line, without its end."""
    state = match_state.state
    cards = cards_text(state.rules, match_state.deal, state.round)
    return f"MATCHSTATE:{match_state.position}:{match_state.hand}:{acpc_betting(state)}:{cards}"


def read_match_state(rules: GameRules, line: str) -> MatchState:
    """Read a dealer's line, with or without LF or CR LF at its end."""
    if len(line) > MOST_BYTES:
        raise InputError(f"a line of {len(line)} characters", remedy=f"lines have at most {MOST_BYTES}")
    parts = line.rstrip("\r\n").split(":")
    if parts[0] != "MATCHSTATE" or len(parts) != 5:
        raise InputError(f"no match state: {shown(line)}", remedy="write MATCHSTATE:position:hand:betting:cards")
    position, hand = (_number(part, line) for part in parts[1:3])
    if position >= PLAYERS:
        raise InputError(f"position {position} in {shown(line)}", remedy="positions are 0 and 1")
    state = read_acpc_betting(rules, parts[3])
    deal = read_cards(rules, parts[4])
    _check_board(rules, state, deal, line)
    if not deal.holes[position]:
        raise InputError(f"no hole cards of position {position} in {shown(line)}", remedy="a player sees its own cards")
    return MatchState(position, hand, state, deal)


def log_state_text(log_state: LogState) -> str:
    """A log's line, without its end."""
    state = log_state.state
    values = "|".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in log_state.values)
    cards = cards_text(state.rules, log_state.deal, state.round)
    return f"STATE:{log_state.hand}:{acpc_betting(state)}:{cards}:{values}:{'|'.join(log_state.names)}"


def read_log_state(rules: GameRules, line: str) -> LogState:
    """Read a line of a dealer's log."""
    parts = line.rstrip("\r\n").split(":")
    if parts[0] != "STATE" or len(parts) != 6:
        raise InputError(f"no logged hand: {shown(line)}", remedy="write STATE:hand:betting:cards:values:names")
    state = read_acpc_betting(rules, parts[2])
    deal = read_cards(rules, parts[3])
    _check_board(rules, state, deal, line)
    names = parts[5].split("|")
    values = [_value(value, line) for value in parts[4].split("|")]
    if len(values) != PLAYERS or len(names) != PLAYERS or not state.is_over:
        raise InputError(f"an incomplete hand: {shown(line)}", remedy="log finished hands of two players")
    return LogState(_number(parts[1], line), state, deal, (values[0], values[1]), (names[0], names[1]))


def _number(text: str, line: str) -> int:
    number = whole_number(text, MOST_DIGITS)
    if number is None:
        raise InputError(f"{shown(text)} is not a number in {shown(line)}", remedy="use whole numbers")
    return number


def _value(text: str, line: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{shown(text)} is not a value in {shown(line)}", remedy="give one number a player")
    return value
