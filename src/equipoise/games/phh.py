"""Hand histories in the PHH format (Kim 2023), as PokerKit reads them.

Limit and no-limit Texas hold'em only: the format has no name for other games. Players are p1 and p2 in our order;
heads-up, blinds [small, big] mean that p1 posts the big blind. `cbr N` counts the chips of the street.
"""

from __future__ import annotations

from equipoise._errors import InputError
from equipoise.games.rules import PLAYERS, UNLIMITED_STACK, GameRules
from equipoise.games.state import CALL, FOLD, BettingState, Deal


def phh_text(state: BettingState, deal: Deal, *, hand: int = 0, names: tuple[str, str] = ("A", "B")) -> str:
    """One finished hand as a PHH file."""
    rules = state.rules
    _check_is_holdem(rules)
    if not state.is_over:
        raise InputError("the hand is not over", remedy="play it to the end")
    sizes = (
        [f"small_bet = {rules.raise_sizes[0]}", f"big_bet = {rules.raise_sizes[-1]}"]
        if rules.limit
        else [f"min_bet = {rules.big_blind}"]
    )
    lines = [
        f"variant = '{'FT' if rules.limit else 'NT'}'",
        "ante_trimming_status = false",
        "antes = [0, 0]",
        f"blinds_or_straddles = [{min(rules.blinds)}, {max(rules.blinds)}]",
        *sizes,
        f"starting_stacks = [{', '.join(str(stack) for stack in _stacks(rules))}]",
        f"actions = [{', '.join(_quoted(action) for action in _actions(state, deal))}]",
        f"hand = {hand}",
        f"players = [{', '.join(_quoted(name) for name in names)}]",
    ]
    return "\n".join(lines) + "\n"


def _check_is_holdem(rules: GameRules) -> None:
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
