"""An agent that solves the rest of a hand while it plays it.

Up to a street it plays another agent, its *blueprint*. When that street is dealt, it solves the rest of the hand
(`subgame.py`): both ranges follow from the blueprint by Bayes' rule. A bet that the solved tree does not have is added
to the tree, and the street is solved again from its start with the same ranges. A later street is solved again with the
ranges that follow from the search (`later=solve`), or the solution is kept while it has the line (`later=keep`).

A solution depends on the public history only. The agent remembers some, for speed: asked again after it forgot one, it
solves again and finds the same, as long as iterations stop the solve. With a time limit, answers depend on the machine.
Where a solve fails or has too little time, the blueprint decides; the agent says so on stderr, once.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from equipoise.agents.agent import Agent, Track, Tracked, View, can_fork, track_to
from equipoise.agents.search.options import SearchOptions
from equipoise.agents.search.subgame import OutOfTimeError, Position, Subgame, SubgameRoot, free_holes, solve_subgame
from equipoise.core.jit import F64
from equipoise.games.betting_state import BettingState
from equipoise.games.rules import PLAYERS, GameRules

MOST_BYTES = 256_000_000  # of solutions that an agent remembers
Rounds: TypeAlias = tuple[tuple[int, ...], ...]
Key: TypeAlias = tuple[tuple[int, ...], Rounds]  # a board, and the actions of each round


@dataclass(eq=False)
class SearchAgent(Tracked):
    """An agent that plays a blueprint up to a street, and searches from there on."""

    name: str
    blueprint: Agent
    options: SearchOptions
    most_bytes: int = MOST_BYTES
    _solved: OrderedDict[Key, Subgame | None] = field(default_factory=OrderedDict, repr=False)
    _failed: bool = field(default=False, repr=False)

    @property
    def rules(self) -> GameRules:  # type: ignore[override]
        return self.blueprint.rules

    @property
    def forkable(self) -> bool:
        """Whether forked processes can ask it."""
        return can_fork(self.blueprint)

    def follow(self, player: int, hole: int | None = None) -> SearchTrack:
        """A track of all holes, or of one."""
        base = self.blueprint.follow(player, hole)
        return SearchTrack(self, player, hole, base.state, base.board, base.reach, base)

    def position(self, rounds: Rounds, board: tuple[int, ...]) -> Position | None:
        """Where a hand is in a solution; None where the blueprint decides.

        IN: the actions of each round so far, of which the last is on a street that is searched; the board.
        """
        street = len(rounds) - 1
        board = board[: self.rules.board_size(street)]
        start = self._at_start(rounds[:-1], board)
        position = start
        for at, action in enumerate(rounds[-1]):
            after = position and position.after(action)
            if after is None:
                line = rounds[-1][: at + 1]
                root = self._root(rounds[:-1], board, line, start)
                after = root and root.along(line)
            position = after
        return position

    def _at_start(self, before: Rounds, board: tuple[int, ...]) -> Position | None:
        """The position at the start of a street, before anybody has acted on it."""
        if len(before) > self.options.street and self.options.later == "keep":
            ended = self.position(before, board)
            if ended is not None:
                return ended.dealt(board)
        return self._root(before, board, (), None)

    def _root(
        self, before: Rounds, board: tuple[int, ...], line: tuple[int, ...], start: Position | None
    ) -> Position | None:
        """The root of the subgame that starts on a street and has a line of actions; `start` has its ranges."""
        key = board, (*before, line)
        if key in self._solved:
            self._solved.move_to_end(key)
        else:
            ranges = self._ranges(before, board) if start is None else start.ranges
            self._remember(key, self._solve(before, board, line, ranges))
        subgame = self._solved[key]
        return None if subgame is None else Position.at_root(subgame)

    def _ranges(self, before: Rounds, board: tuple[int, ...]) -> F64:
        """[player, hole] both ranges at the start of a street: from the search before it, or from the blueprint."""
        if len(before) > self.options.street:
            ended = self.position(before, board)
            if ended is not None:
                return ended.dealt(board).ranges
        state = _state(self.rules, before)
        return np.stack([self.blueprint.range(View(state, player, (), board)) for player in range(PLAYERS)])

    def _solve(self, before: Rounds, board: tuple[int, ...], line: tuple[int, ...], ranges: F64) -> Subgame | None:
        street = len(before)
        root = SubgameRoot(self.rules, street, board, max(_state(self.rules, before).spent), ranges)
        options = self.options
        try:
            return solve_subgame(
                root, options.menu(street), line, iterations=options.iterations_on(street), seconds=options.seconds
            )
        except Exception as error:  # at the table, any answer is better than none
            if not self._failed:
                why = "too little time" if isinstance(error, OutOfTimeError) else error
                print(f"{self.name}: a search failed ({why}); the blueprint decides there", file=sys.stderr)
            self._failed = True
            return None

    def _remember(self, key: Key, subgame: Subgame | None) -> None:
        self._solved[key] = subgame
        held = sum(known.nbytes for known in self._solved.values() if known)
        while held > self.most_bytes and len(self._solved) > 1:
            _, oldest = self._solved.popitem(last=False)
            held -= oldest.nbytes if oldest else 0


def _state(rules: GameRules, rounds: Rounds) -> BettingState:
    """The betting state after some rounds."""
    state = BettingState.start(rules)
    for actions in rounds:
        for action in actions:
            state = state.apply(action)
    return state


@dataclass(frozen=True, eq=False)
class SearchTrack:
    """An agent that searches, followed through a hand."""

    agent: SearchAgent
    player: int
    hole: int | None
    state: BettingState
    board: tuple[int, ...]
    reach: F64  # [hole]
    base: Track  # of the blueprint, up to the first street that is searched

    @cached_property
    def _answers(self) -> tuple[tuple[int, ...], F64]:
        agent = self.agent
        if self.state.round < agent.options.street:
            return self.base.probabilities()
        position = agent.position(self.state.rounds, self.board)
        if position is None:
            view = View(self.state, self.player, (), self.board)
            return track_to(agent.blueprint.follow(self.player, self.hole), view).probabilities()
        actions, rows = position.probabilities()
        return actions, rows if self.hole is None else rows[:, self.hole : self.hole + 1]

    def probabilities(self) -> tuple[tuple[int, ...], F64]:
        """Its actions, and float64[action, hole]."""
        return self._answers

    def after(self, action: int) -> SearchTrack:
        """Either player's action."""
        base, reach = self.base, self.reach
        if self.state.round < self.agent.options.street:
            base = base.after(action)
            reach = base.reach
        elif self.state.player == self.player:
            actions, rows = self._answers
            reach = reach * (rows[actions.index(action)] if action in actions else 0.0)
        return replace(self, state=self.state.apply(action), base=base, reach=reach)

    def dealt(self, board: tuple[int, ...]) -> SearchTrack:
        """More of the board."""
        base = self.base.dealt(board) if self.state.round < self.agent.options.street else self.base
        free = free_holes(self.agent.rules, board)
        return replace(
            self, board=tuple(board), base=base, reach=self.reach * (free if self.hole is None else free[self.hole])
        )
