"""An agent that solves the rest of a hand while it plays it.

Up to a street it plays another agent, its *blueprint*. When that street is dealt, it solves the rest of the hand
(`subgame.py`): both ranges follow from the blueprint by Bayes' rule. A bet that the solved tree does not have is added
to the tree, and the street is solved again from its start with the same ranges. A later street is solved again with the
ranges that follow from the search (`later=solve`), or the solution is kept while it has the line (`later=keep`).

Unsafe search (`safety=none`) takes both ranges as given: one solve serves both players. Safe search (`safety.py`) does
not trust the opponent's range, and solves for one player.

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
from equipoise.agents.search.safety import Continuation, Gadget, gadget_of
from equipoise.agents.search.subgame import (
    OutOfTimeError,
    Position,
    Subgame,
    SubgameRoot,
    free_holes,
    solve_subgame,
    subgame_tree,
)
from equipoise.agents.search.warm_start import first_regrets
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64
from equipoise.games.betting_state import BettingState
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.betting_tree import Root
from equipoise.tree.boards import PublicCards
from equipoise.walk.engine import Engine

MOST_BYTES = 256_000_000  # of solutions that an agent remembers
KEY_BYTES = 2_000
Rounds: TypeAlias = tuple[tuple[int, ...], ...]
Key: TypeAlias = tuple[tuple[int, ...], Rounds, int]  # a board, the actions of each round, and who searches


@dataclass(eq=False)
class SearchAgent(Tracked):
    """An agent that plays a blueprint up to a street, and searches from there on."""

    name: str
    blueprint: Agent
    options: SearchOptions
    most_bytes: int = MOST_BYTES
    _solved: OrderedDict[Key, Subgame | None] = field(default_factory=OrderedDict, repr=False)
    _held: int = field(default=0, repr=False)  # bytes of `_solved`
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

    def position(self, rounds: Rounds, board: tuple[int, ...], player: int) -> Position | None:
        """Where a hand is in the solution of a player; None where the blueprint decides.

        IN: the actions of each round so far, of which the last is on a street that is searched; the board.
        """
        before, actions = rounds[:-1], rounds[-1]
        board = board[: self.rules.board_size(len(before))]
        start = self._earlier(before, board, player) if self.options.later == "keep" else None
        found = start and start.along(actions)
        if found is None:
            try:
                line = self._line(before, actions)
            except InputError as error:  # a tree that is too large
                self._give_up(error)
                return None
            root = self._root(before, board, line, player)
            found = root and root.along(actions)
        return found

    def _line(self, before: Rounds, actions: tuple[int, ...]) -> tuple[int, ...]:
        """The part of a street's actions that its tree needs as a line: up to the last one that is not on the menu."""
        if self.options.bets is None:
            return ()
        menu, root = self.options.menu(len(before)), Root(len(before), max(_state(self.rules, before).spent))
        line: tuple[int, ...] = ()
        while True:
            tree, node = subgame_tree(self.rules, menu, root, line), 0
            for at, action in enumerate(actions):
                child = tree.child(node, action)
                if child is None:
                    line = actions[: at + 1]
                    break
                node = child
            else:
                return line

    def _earlier(self, before: Rounds, board: tuple[int, ...], player: int) -> Position | None:
        """The start of a street in the solution of the street before it."""
        if len(before) <= self.options.street:
            return None
        ended = self.position(before, board, player)
        return ended and ended.dealt(board)

    def _root(self, before: Rounds, board: tuple[int, ...], line: tuple[int, ...], player: int) -> Position | None:
        """The root of the subgame that starts on a street and has a line of actions."""
        key = board, (*before, line), player if self.options.safety != "none" else -1
        if key in self._solved:
            self._solved.move_to_end(key)
        else:
            self._remember(key, self._solve(before, board, line, player))
        subgame = self._solved[key]
        return None if subgame is None else Position.at_root(subgame)

    def _ranges(self, before: Rounds, board: tuple[int, ...], earlier: Position | None) -> F64:
        """[player, hole] both ranges at the start of a street: from the search before it, or from the blueprint."""
        if earlier is not None:
            return earlier.ranges
        state = _state(self.rules, before)
        return np.stack([self.blueprint.range(View(state, player, (), board)) for player in range(PLAYERS)])

    def _solve(self, before: Rounds, board: tuple[int, ...], line: tuple[int, ...], player: int) -> Subgame | None:
        options, street, state = self.options, len(before), _state(self.rules, before)
        earlier = self._earlier(before, board, player)

        def replaced() -> Continuation | None:
            if earlier is None:
                return Continuation.of_blueprint(self.blueprint, state, board)
            return Continuation(earlier.subgame.tree, earlier.node, earlier.subgame.rows)

        def root_rule(cards: PublicCards) -> Gadget | None:
            play = replaced() if options.safety != "none" else None
            return gadget_of(play, cards, max(state.spent), player, options.safety) if play else None

        def warm_start(engine: Engine) -> F32 | None:
            play = replaced() if street < self.rules.rounds - 1 else None  # on the last street it gains nothing
            return first_regrets(engine, play) if play else None

        try:
            return solve_subgame(
                SubgameRoot(self.rules, street, board, max(state.spent), self._ranges(before, board, earlier)),
                options.menu(street),
                line,
                iterations=options.iterations_on(street),
                seconds=options.seconds,
                root_rule=root_rule,
                first_regrets=warm_start,
            )
        except Exception as error:  # at the table, any answer is better than none
            self._give_up(error)
            return None

    def _give_up(self, error: Exception) -> None:
        """Say, once, that a search failed."""
        if not self._failed:
            why = "too little time" if isinstance(error, OutOfTimeError) else error
            print(f"{self.name}: a search failed ({why}); the blueprint decides there", file=sys.stderr)
        self._failed = True

    def _remember(self, key: Key, subgame: Subgame | None) -> None:
        self._solved[key] = subgame
        self._held += _bytes_of(subgame)
        while self._held > self.most_bytes and len(self._solved) > 1:
            _, oldest = self._solved.popitem(last=False)
            self._held -= _bytes_of(oldest)


def _bytes_of(solved: Subgame | None) -> int:
    """Bytes that the agent counts for a solution; a failed one leaves a key."""
    return KEY_BYTES + (solved.nbytes if solved else 0)


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
        position = agent.position(self.state.rounds, self.board, self.player)
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
