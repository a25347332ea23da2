"""The betting state of one hand: legal actions, their cost, and the payoffs.

An action is one number, here and in the betting tree: FOLD, CALL (check or call), or the total number of chips that
the player has put into the pot in the whole hand after raising (the ACPC dealer's `rN`; in limit games the one legal
total). The rules are the dealer's: a raise is at least as large as the last one, an all-in below the minimum is legal,
a fold is legal only facing a bet, and nobody bets against an opponent who is all-in.
States are values: `apply` returns a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, shown
from equipoise.games.gamedef import as_game
from equipoise.games.notation.typed import CALL_OR_CHECK, read_typed, split_line
from equipoise.games.rules import GameRules

MOST_DIGITS = 10  # of an amount in a line
FOLD = -1
CALL = 0


class Legal(NamedTuple):
    """The legal actions: call (always), and raises to `raise_min` up to `raise_max`; no raises if both are 0."""

    fold: bool
    raise_min: int
    raise_max: int

    @property
    def can_raise(self) -> bool:
        """Is there a legal raise?"""
        return self.raise_max > 0

    def allows(self, action: int) -> bool:
        """Is the action legal?"""
        if action == FOLD:
            return self.fold
        return action == CALL or (self.can_raise and self.raise_min <= action <= self.raise_max)


class Deal(NamedTuple):
    """The cards of a hand: each player's hole cards, and the board (or its known part)."""

    holes: tuple[tuple[int, ...], tuple[int, ...]]
    board: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BettingState:
    """A place in the betting of one hand; `BettingState.start(rules)` is the first."""

    rules: GameRules
    rounds: tuple[tuple[int, ...], ...]  # the actions of each round begun so far
    spent: tuple[int, int]
    player: int  # who acts; -1 when the hand is over
    folded: int  # who folded; -1 if nobody
    waiting: int  # how many players must still act before the round ends
    raises: int  # in this round
    min_raise_to: int  # no-limit only
    street_start: int  # the chips each player had in when the round began; 0 in the first round, blinds are bets

    @classmethod
    def start(cls, game: GameRules | str) -> BettingState:
        """The state after the blinds, before any action."""
        rules = as_game(game)
        return cls(
            rules=rules,
            rounds=((),),
            spent=rules.blinds,
            player=rules.first[0],
            folded=-1,
            waiting=2,
            raises=0,
            min_raise_to=2 * rules.big_blind,
            street_start=0,
        )

    @property
    def round(self) -> int:
        """The round that is being played, from 0; the last one after an all-in."""
        return len(self.rounds) - 1

    @property
    def is_over(self) -> bool:
        """Is the betting over?"""
        return self.player < 0

    @property
    def is_showdown(self) -> bool:
        """Is the betting over without a fold?"""
        return self.player < 0 and self.folded < 0

    @property
    def pot(self) -> int:
        """All chips in the middle."""
        return sum(self.spent)

    @property
    def to_call(self) -> int:
        """What a call costs the player to act."""
        if self.is_over:
            return 0
        return min(max(self.spent), self.rules.stacks[self.player]) - self.spent[self.player]

    def legal(self) -> Legal:
        """The legal actions of the player to act."""
        if self.is_over:
            return Legal(False, 0, 0)
        rules, stack, most = self.rules, self.rules.stacks[self.player], max(self.spent)
        fold = self.spent[self.player] < min(most, stack)
        opponent = 1 - self.player
        if (
            self.raises >= rules.max_raises[self.round]
            or most >= stack
            or self.spent[opponent] >= rules.stacks[opponent]
        ):
            return Legal(fold, 0, 0)
        if rules.limit:
            total = min(most + rules.raise_sizes[self.round], stack)
            return Legal(fold, total, total)
        return Legal(fold, min(self.min_raise_to, stack), stack)

    def apply(self, action: int) -> BettingState:
        """The state after an action of the player to act; an illegal one is refused."""
        legal = self.legal()
        if self.is_over or not legal.allows(action):
            raise InputError(f"illegal action {action_text(action)}", remedy=self.legal_text())
        history = (*self.rounds[:-1], (*self.rounds[-1], action))
        if action == FOLD:
            return replace(self, rounds=history, player=-1, folded=self.player, waiting=0)
        if action == CALL:
            spent = self._with_spent(self.spent[self.player] + self.to_call)
            if self.waiting > 1:
                return replace(self, rounds=history, spent=spent, player=1 - self.player, waiting=self.waiting - 1)
            return self._end_round(history, spent)
        return replace(
            self,
            rounds=history,
            spent=self._with_spent(action),
            player=1 - self.player,
            waiting=1,
            raises=self.raises + 1,
            min_raise_to=max(self.min_raise_to, 2 * action - max(self.spent)),
        )

    def after(self, line: str) -> BettingState:
        """The state after a line of betting as players write it; a size is the player's chips on the street.

        >>> state = BettingState.start("holdem.nolimit").after("raise 300, call, check, bet 200")
        >>> state.spent, state.pot, state.to_call
        ((300, 500), 800, 200)
        """
        state = self
        for step in split_line(line):
            state = state.apply(state._typed(step))
        return state

    def _typed(self, step: str) -> int:
        """The action that a step of a line means here."""
        typed, legal = read_typed(step), self.legal()
        verb, size = typed or ("", "")
        amount = whole_number(size, MOST_DIGITS)
        antes = self.round == 0 and self.rules.blinds[0] == self.rules.blinds[1]  # which are no bets, as blinds are
        total = None if amount is None else amount + (self.rules.blinds[0] if antes else self.street_start)
        if verb == "fold" and not size:
            return FOLD
        if verb in (CALL_OR_CHECK, "call" if self.to_call else "check") and not size:
            return CALL
        if verb == "all-in" and (not size or total == legal.raise_max):
            return legal.raise_max if legal.can_raise else CALL
        if verb in ("bet", "raise") and total is not None:
            return total
        what = f"no action {shown(step)} here"
        raise InputError(what, remedy=f"{self.legal_text()}; in a line, numbers are chips of the street: bet 100")

    def _with_spent(self, chips: int) -> tuple[int, int]:
        return (chips, self.spent[1]) if self.player == 0 else (self.spent[0], chips)

    def _end_round(self, history: tuple[tuple[int, ...], ...], spent: tuple[int, int]) -> BettingState:
        rules = self.rules
        all_in = spent[0] >= rules.stacks[0] or spent[1] >= rules.stacks[1]
        left = rules.rounds - len(history)
        if all_in or left == 0:
            return replace(self, rounds=(*history, *((),) * left), spent=spent, player=-1, waiting=0)
        return replace(
            self,
            rounds=(*history, ()),
            spent=spent,
            player=rules.first[len(history)],
            waiting=2,
            raises=0,
            min_raise_to=max(spent) + rules.big_blind,
            street_start=max(spent),
        )

    def payoffs(self, deal: Deal) -> tuple[int, int]:
        """What each player wins, in chips, when the hand is over (uncalled chips are returned)."""
        if not self.is_over:
            raise InputError("the hand is not over", remedy="play it to the end")
        stake = min(self.spent)
        if self.folded >= 0:
            winner = 1 - self.folded
        else:
            ranker = self.rules.ranker
            first, second = (ranker.rank((*hole, *deal.board)) for hole in deal.holes)
            if first == second:
                return (0, 0)
            winner = 0 if first > second else 1
        return (stake, -stake) if winner == 0 else (-stake, stake)

    def legal_text(self) -> str:
        """The legal actions in words."""
        if self.is_over:
            return "the hand is over"
        legal = self.legal()
        choices = (["fold"] if legal.fold else []) + ["call" if self.to_call else "check"]
        if legal.can_raise:
            totals = {legal.raise_min, legal.raise_max}
            choices.append(f"raise to {' to '.join(map(str, sorted(totals)))}")
        return f"legal: {', '.join(choices)}"


def action_text(action: int) -> str:
    """An action in words."""
    return {FOLD: "fold", CALL: "call"}.get(action, f"raise to {action}")
