"""The slow twin of local best response: its exact value, by enumeration of all deals and all actions of the agent."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

from equipoise import BettingState, GameRules
from equipoise.agents.agent import View
from equipoise.games.betting_state import CALL, FOLD, Deal

Cards = tuple[int, ...]


class NaiveLbr:
    """As the paper's Algorithm 1 has it, in words of the rules; `raises` says which totals it considers."""

    def __init__(
        self,
        rules: GameRules,
        function: Callable[[View], dict[int, float]],
        raises: Callable[[BettingState], list[int]],
        from_street: int = 0,
    ) -> None:
        self.rules, self.function, self.raises, self.from_street = rules, function, raises, from_street
        self.chances, self.choice, self.share = cache(self._chances), cache(self._choice), cache(self._share)

    def value(self, player: int) -> float:
        """What it wins a hand as a player: every deal, every action of the agent by its chance."""
        size, deck = self.rules.hole_cards, range(self.rules.deck.size)
        start = BettingState.start(self.rules)
        values: list[float] = []
        for hole in itertools.combinations(deck, size):
            left = [card for card in deck if card not in hole]
            for other in itertools.combinations(left, size):
                boards = self.boards([card for card in left if card not in other], self.rules.rounds)
                values.extend(self.follow(start, player, hole, other, board) for board in boards)
        return sum(values) / len(values)

    def boards(self, left: list[int], streets: int) -> list[Cards]:
        """Every board; the cards of a street in every set, streets in order."""
        found: list[Cards] = [()]
        for street in range(streets):
            count = self.rules.board_cards[street]
            found = [
                board + more
                for board in found
                for more in itertools.combinations([card for card in left if card not in board], count)
            ]
        return found

    def follow(self, state: BettingState, player: int, hole: Cards, other: Cards, board: Cards) -> float:
        if state.is_over:
            holes = (hole, other) if player == 0 else (other, hole)
            return state.payoffs(Deal(holes, board))[player]
        seen = board[: self.rules.board_size(state.round)]
        if state.player == player:
            return self.follow(state.apply(self.choice(state, hole, seen)), player, hole, other, board)
        chances = self.chances(state, other, seen)
        return sum(p * self.follow(state.apply(a), player, hole, other, board) for a, p in chances.items() if p)

    def _chances(self, state: BettingState, hole: Cards, board: Cards) -> dict[int, float]:
        return self.function(View(state, state.player, hole, board))

    def _choice(self, state: BettingState, hole: Cards, board: Cards) -> int:
        if state.round < self.from_street:
            return CALL
        me, pot = state.player, sum(state.spent)
        asked = state.spent[1 - me] - state.spent[me]
        holes = itertools.combinations(range(self.rules.deck.size), self.rules.hole_cards)
        reach = {other: self.reach(state, 1 - me, other, board) for other in holes if not {*other} & {*hole, *board}}
        win = self.against(hole, board, reach)
        utility = {FOLD: 0.0, CALL: win * pot - (1 - win) * asked}
        for total in self.raises(state):
            size, after = total - state.spent[1 - me], state.apply(total)
            stays = {other: r * (1 - self.chances(after, other, board).get(FOLD, 0)) for other, r in reach.items() if r}
            fold = 1 - sum(stays.values()) / sum(reach.values())
            win = self.against(hole, board, stays) if sum(stays.values()) else 0
            utility[total] = fold * pot + (1 - fold) * (win * (pot + size) - (1 - win) * (asked + size))
        best = max(utility, key=lambda action: (utility[action], -action))
        return CALL if best == FOLD and asked == 0 else best

    def reach(self, state: BettingState, player: int, hole: Cards, board: Cards) -> float:
        """How likely a player's own actions so far were with a hole."""
        reach, at = 1.0, BettingState.start(self.rules)
        for action in (action for actions in state.rounds for action in actions):
            if at.player == player:
                reach *= self.chances(at, hole, board[: self.rules.board_size(at.round)]).get(action, 0.0)
            if not reach:
                return 0.0
            at = at.apply(action)
        return reach

    def against(self, hole: Cards, board: Cards, reach: dict[Cards, float]) -> float:
        return sum(r * self.share(hole, other, board) for other, r in reach.items() if r) / sum(reach.values())

    def _share(self, hole: Cards, other: Cards, board: Cards) -> float:
        left = [card for card in range(self.rules.deck.size) if card not in {*hole, *other, *board}]
        won = []
        for more in itertools.combinations(left, sum(self.rules.board_cards) - len(board)):
            mine, theirs = (self.rules.ranker.rank(cards + board + more) for cards in (hole, other))
            won.append((mine > theirs) + (mine == theirs) / 2)
        return sum(won) / len(won)
