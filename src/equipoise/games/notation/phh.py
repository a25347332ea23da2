"""Hand histories in the PHH format (Kim 2023), both ways, as PokerKit reads and writes them.

Limit and no-limit Texas hold'em only: the format has no name for other games. Players are p1 and p2 in our order;
heads-up, blinds [small, big] mean that p1 posts the big blind. `cbr N` counts the chips of the street. Winnings
are optional, as `finishing_stacks`.
"""

from __future__ import annotations

from typing import Any

from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, shown
from equipoise.core.files.text import read_toml
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.notation.acpc import LogState
from equipoise.games.rules import PLAYERS, UNLIMITED_STACK, GameRules

_REMEDY = "write a hand history as in the PHH format"


def phh_text(
    state: BettingState, deal: Deal, *, hand: int = 0, names: tuple[str, str] = ("A", "B"), finishing: bool = False
) -> str:
    """One finished hand as a PHH file; `finishing` adds the stacks after the hand."""
    rules = state.rules
    check_is_holdem(rules)
    if not state.is_over:
        raise InputError("the hand is not over", remedy="play it to the end")
    sizes = (
        [f"small_bet = {rules.raise_sizes[0]}", f"big_bet = {rules.raise_sizes[-1]}"]
        if rules.limit
        else [f"min_bet = {rules.big_blind}"]
    )
    stacks, values = _stacks(rules), state.payoffs(deal) if finishing else (0, 0)
    lines = [
        f"variant = '{'FT' if rules.limit else 'NT'}'",
        "ante_trimming_status = false",
        "antes = [0, 0]",
        f"blinds_or_straddles = [{min(rules.blinds)}, {max(rules.blinds)}]",
        *sizes,
        f"starting_stacks = {stacks}",
        f"actions = [{', '.join(_quoted(action) for action in _actions(state, deal))}]",
        f"hand = {hand}",
        f"players = [{', '.join(_quoted(name) for name in names)}]",
        *([f"finishing_stacks = {[stack + value for stack, value in zip(stacks, values, strict=True)]}"] * finishing),
    ]
    return "\n".join(lines) + "\n"


def check_is_holdem(rules: GameRules) -> None:
    """Refuse a game that the format cannot express."""
    holdem = (rules.hole_cards, rules.board_cards, rules.deck.size) == (2, (0, 3, 1, 1), 52)
    reverse_blinds = rules.blinds[0] > rules.blinds[1] and rules.first == (1, 0, 0, 0)
    sizes = rules.raise_sizes  # a small and a big bet, at most four of them a round
    fixed_limit = len(set(sizes[:2])) == len(set(sizes[2:])) == 1 and max(rules.max_raises) <= 4
    if not (holdem and reverse_blinds and (fixed_limit or not rules.limit)):
        raise InputError(
            f"PHH cannot express {rules.name or 'this game'}", remedy="use holdem.limit or holdem.nolimit, or ACPC logs"
        )


def _stacks(rules: GameRules) -> list[int]:
    """Starting stacks; in a limit game without stacks, the most that can ever be bet."""
    most = rules.big_blind + sum(
        raises * size for raises, size in zip(rules.max_raises, rules.raise_sizes, strict=False)
    )
    return [most if stack == UNLIMITED_STACK else stack for stack in rules.stacks]


def _actions(state: BettingState, deal: Deal) -> list[str]:
    rules = state.rules
    actions = [f"d dh p{player + 1} {rules.deck.text(deal.holes[player])}" for player in range(PLAYERS)]
    replay = BettingState.start(rules)
    for round_, taken in enumerate(state.rounds):
        cards = deal.board[rules.board_size(round_) - rules.board_cards[round_] : rules.board_size(round_)]
        if cards:
            actions.append(f"d db {rules.deck.text(cards)}")
        for action in taken:
            player = f"p{replay.player + 1}"
            word = {FOLD: "f", CALL: "cc"}.get(action, f"cbr {action - replay.street_start}")
            actions.append(f"{player} {word}")
            replay = replay.apply(action)
            if replay.is_showdown:  # after an all-in the hands are shown before the rest of the board is dealt
                actions.extend(f"p{i + 1} sm {rules.deck.text(deal.holes[i])}" for i in range(PLAYERS))
    return actions


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def read_phh(rules: GameRules, text: str) -> LogState:
    """The finished hand of a PHH text; without finishing stacks its values are what its cards and betting say."""
    return phh_hand(rules, read_toml(text, remedy=_REMEDY, what="hand history", keys=("variant", "actions")))


def phh_hand(rules: GameRules, table: dict[str, Any]) -> LogState:
    """The same of a TOML table."""
    check_is_holdem(rules)
    stacks = _check_header(rules, table)
    state, deal = _read_actions(rules, _texts(table, "actions"))
    names = _texts(table, "players") if "players" in table else ["p1", "p2"]
    hand = table.get("hand", 0)
    if len(names) != PLAYERS or not isinstance(hand, int):
        raise InputError(f"players {shown(names)}, hand {shown(hand)}", remedy="name two players and a number")
    values: tuple[float, float] = state.payoffs(deal)
    if "finishing_stacks" in table:
        left = _numbers(table, "finishing_stacks")
        values = (left[0] - stacks[0], left[1] - stacks[1])
    return LogState(hand, state, deal, values, (names[0], names[1]))


def _check_header(rules: GameRules, table: dict[str, Any]) -> list[float]:
    """Refuse a hand of another game; the starting stacks."""
    wanted: dict[str, object] = {"variant": "FT" if rules.limit else "NT"}
    wanted |= {"antes": [0, 0], "blinds_or_straddles": [min(rules.blinds), max(rules.blinds)]}
    if rules.limit:
        wanted |= {"small_bet": rules.raise_sizes[0], "big_bet": rules.raise_sizes[-1]}
    else:
        wanted["min_bet"] = rules.big_blind
    for key, value in wanted.items():
        if table.get(key) != value:
            game = rules.name or "this game"
            raise InputError(f"{key} is {shown(table.get(key))}", remedy=f"{game} has {value}")
    stacks = _numbers(table, "starting_stacks")
    for stack, named, least in zip(stacks, rules.stacks, _stacks(rules), strict=True):
        if stack < least or (stack > least and named != UNLIMITED_STACK):
            raise InputError(f"starting_stacks {stacks}", remedy=f"{rules.name or 'this game'} has {_stacks(rules)}")
    return stacks


def _numbers(table: dict[str, Any], key: str) -> list[float]:
    found = table.get(key)
    is_number = [isinstance(value, int | float) and not isinstance(value, bool) for value in _listed(found)]
    if len(is_number) != PLAYERS or not all(is_number):
        raise InputError(f"{key} is {shown(found)}", remedy="give one number a player")
    return list(_listed(found))


def _texts(table: dict[str, Any], key: str) -> list[str]:
    found = table.get(key)
    if not isinstance(found, list) or not all(isinstance(value, str) for value in found):
        raise InputError(f"{key} is {shown(found)}", remedy="give a list of texts")
    return found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _read_actions(rules: GameRules, actions: list[str]) -> tuple[BettingState, Deal]:
    """Betting and cards, every action legal and every deal where it is due."""
    state = BettingState.start(rules)
    holes: list[tuple[int, ...]] = [(), ()]
    board: list[int] = []
    for number, action in enumerate(actions, 1):
        try:
            state = _read_action(state, action.partition("#")[0].split(), holes, board)
        except InputError as error:
            raise error.at(f"action {number}, {shown(action)}") from None
    cards = [*holes[0], *holes[1], *board]
    rules.deck.check_distinct(cards)
    if not state.is_over or len(board) != rules.board_size(state.round):
        raise InputError("the hand is not over", remedy="deal every card and play it to the end")
    if state.is_showdown and not all(holes):
        raise InputError("a showdown with hidden cards", remedy="deal or show both hands")
    return state, Deal((holes[0], holes[1]), tuple(board))


def _read_action(state: BettingState, words: list[str], holes: list[tuple[int, ...]], board: list[int]) -> BettingState:
    """One action; cards are added to the holes and the board."""
    rules = state.rules
    match words:
        case ["d", "dh", ("p1" | "p2") as who, cards]:
            _show(rules, holes, who, cards)
        case ["d", "db", cards]:
            board.extend(rules.deck.read_cards(cards))
            size = rules.board_size(state.round)
            runs_out = state.is_showdown and len(board) in map(rules.board_size, range(rules.rounds))
            if len(board) != size and not runs_out:
                raise InputError(f"{len(board)} board cards", remedy=f"{rules.street_name(state.round)} has {size}")
        case [("p1" | "p2") as who, "sm", *cards] if len(cards) <= 1:
            if not state.is_showdown:
                raise InputError("cards shown before the hand is over", remedy="show them at a showdown")
            if cards:
                _show(rules, holes, who, cards[0])
        case [("p1" | "p2") as who, *what]:
            if who != f"p{state.player + 1}" or len(board) != rules.board_size(state.round):
                due = "the board" if state.player >= 0 and who == f"p{state.player + 1}" else f"p{state.player + 1}"
                raise InputError("out of turn", remedy="the hand is over" if state.is_over else f"first comes {due}")
            return state.apply(_betting(state, what))
        case _:
            raise InputError("an unknown action", remedy="use d dh, d db, f, cc, cbr N and sm")
    return state


def _betting(state: BettingState, words: list[str]) -> int:
    match words:
        case ["f"]:
            return FOLD
        case ["cc"]:
            return CALL
        case ["cbr", chips] if whole_number(chips, 10):
            return int(chips) + state.street_start
    raise InputError("an unknown action", remedy="use f, cc or cbr and the chips of the street")


def _show(rules: GameRules, holes: list[tuple[int, ...]], who: str, text: str) -> None:
    player = int(who[1]) - 1
    if set(text) == {"?"}:
        return
    cards = rules.deck.read_cards(text)
    if len(cards) != rules.hole_cards or (holes[player] and set(holes[player]) != set(cards)):
        raise InputError(f"{who} has {shown(text)}", remedy=f"show the {rules.hole_cards} cards that were dealt")
    holes[player] = holes[player] or cards
