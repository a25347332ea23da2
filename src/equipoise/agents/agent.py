"""The interface of agents, and of tracks: an agent followed through a hand by an observer.

An agent answers what it does in a view: the betting so far, its own cards, the board. It keeps no state between
questions, so a match can be resumed, replayed and measured. If it randomises in the middle of a hand (to read a bet
that is not in its tree), its probabilities are those of the mixture, given its own actions so far. A track is the agent
as seen by an observer who does not know its cards: probabilities for all holes at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from numbers import Integral, Real
from typing import Protocol, TypeAlias, TypeGuard

import numpy as np

from equipoise.agents.user_code import error_place, error_text
from equipoise.cards.deck import hole_index
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F64, U8
from equipoise.games.betting_state import CALL, FOLD, BettingState, action_text
from equipoise.games.rules import GameRules

_ROUNDING = 1e-6  # tolerance of the sum of probabilities


@dataclass(frozen=True)
class View:
    """What a player sees: the betting, which player it is, its hole cards, the board so far."""

    state: BettingState
    player: int
    hole: tuple[int, ...]
    board: tuple[int, ...]


class Track(Protocol):
    """An agent followed through a hand. Immutable: each step returns a new track."""

    @property
    def state(self) -> BettingState:
        """The betting so far."""

    @property
    def board(self) -> tuple[int, ...]:
        """The board cards seen; all of a round before the agent acts in it."""

    @property
    def reach(self) -> F64:
        """[hole] probability of its own actions so far with each hole; 0 where the board blocks the hole."""

    def probabilities(self) -> tuple[tuple[int, ...], F64]:
        """Where it is to act: its actions, and float64[action, hole], which sums to one for every possible hole."""

    def after(self, action: int) -> Track:
        """The track after either player's action."""

    def dealt(self, board: tuple[int, ...]) -> Track:
        """The track after a deal; `board` is the whole board so far."""


class Agent(Protocol):
    """A player. `act` draws from `probabilities`; all answers are legal in the real game."""

    @property
    def name(self) -> str:
        """Its name in logs and tables."""

    @property
    def rules(self) -> GameRules:
        """The game it plays."""

    def act(self, view: View, rng: np.random.Generator) -> int:
        """The action it takes where it is to act: FOLD, CALL or the total raised to, as in `games/betting_state.py`."""

    def probabilities(self, view: View) -> dict[int, float]:
        """The probability of each action where it is to act."""

    def range(self, view: View) -> F64:
        """[hole] probability of its own actions so far with each hole; ignores the hole of the view."""

    def follow(self, player: int, hole: int | None = None) -> Track:
        """A track from the start of a hand, for all holes or one (arrays then have one entry)."""


def can_fork(*agents: Agent) -> bool:
    """Whether forked processes can ask these agents; those that use a GPU cannot be asked there."""
    return all(getattr(agent, "forkable", True) for agent in agents)


class Tracked(ABC):
    """Base class: answers all other questions by tracks."""

    rules: GameRules

    @abstractmethod
    def follow(self, player: int, hole: int | None = None) -> Track:
        """A track from the start of a hand."""

    def act(self, view: View, rng: np.random.Generator) -> int:
        """Draw from the probabilities."""
        chances = self.probabilities(view)
        return list(chances)[draw_index(np.fromiter(chances.values(), np.float64, len(chances)), rng)]

    def probabilities(self, view: View) -> dict[int, float]:
        """The probabilities for the view's hole."""
        if view.state.player != view.player:
            raise InputError(f"player {view.player} is not to act", remedy="ask the other one, or nobody")
        hole = hole_index(view.hole)
        actions, chances = track_to(self.follow(view.player, hole), view).probabilities()
        return {action: float(chance) for action, chance in zip(actions, chances[:, 0], strict=True) if chance > 0}

    def range(self, view: View) -> F64:
        """The reach of all holes."""
        return track_to(self.follow(view.player), view).reach


def track_to(track: Track, view: View) -> Track:
    """Follow a track from the start of the hand to a view."""
    rules = view.state.rules
    for round_, actions in enumerate(view.state.rounds):
        size = rules.board_size(round_)
        if size > len(track.board):
            track = track.dealt(view.board[:size])
        for action in actions:
            track = track.after(action)
    return track


def draw_index(chances: F64, rng: np.random.Generator) -> int:
    """An index drawn in proportion to some numbers."""
    ends = np.cumsum(chances)
    return min(int(np.searchsorted(ends, rng.random() * ends[-1], side="right")), len(chances) - 1)


Answer: TypeAlias = int | Mapping[int, float]
Function: TypeAlias = Callable[[View], Answer]


Cards: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # a hole and a board


class ViewAgent(Tracked):
    """Base class: an agent that answers about single views, and has been written by somebody else.

    `ask_all` answers about several holes and boards at one place of the betting: the probability of each action. All
    its answers have been checked.
    """

    name: str

    @abstractmethod
    def ask_all(self, state: BettingState, player: int, cards: Sequence[Cards]) -> list[dict[int, float]]:
        """The answer for each hole and board."""

    def ask(self, view: View) -> dict[int, float]:
        """The answer in a view."""
        return self.ask_all(view.state, view.player, [(view.hole, view.board)])[0]

    def follow(self, player: int, hole: int | None = None) -> ViewTrack:
        """Asks about every hole."""
        holes = hole_card_table(self.rules.deck, self.rules.hole_cards)
        chosen = holes if hole is None else holes[hole : hole + 1]
        return ViewTrack(self, player, chosen, BettingState.start(self.rules), (), np.ones(len(chosen)))

    def probabilities(self, view: View) -> dict[int, float]:
        """The answer, whether or not the agent would have played to this view."""
        if view.state.player != view.player:
            raise InputError(f"player {view.player} is not to act", remedy="ask the other one, or nobody")
        return {action: chance for action, chance in self.ask(view).items() if chance > 0}


@dataclass(frozen=True, eq=False)
class FunctionAgent(ViewAgent):
    """An agent from a Python function of a view, which returns an action or the probabilities of actions.

    >>> from equipoise import load_game, match
    >>> caller = FunctionAgent("caller", load_game("leduc"), lambda view: CALL)
    >>> match(caller, "always-call", hands=100).mbb_per_hand
    0.0
    """

    name: str
    rules: GameRules
    function: Function

    def ask_all(self, state: BettingState, player: int, cards: Sequence[Cards]) -> list[dict[int, float]]:
        """The function's answers."""
        return [self._ask(View(state, player, hole, board)) for hole, board in cards]

    def _ask(self, view: View) -> dict[int, float]:
        """The function's answer as probabilities by action; invalid answers are refused."""
        try:
            answer = self.function(view)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit too: it would end everything without a word
            raise InputError(
                f"agent {shown(self.name)} fails {view_text(view)}: {error_text(error)}", where=error_place(error),
                remedy="correct it there",
            ) from error  # fmt: skip
        given: object = {answer: 1.0} if _is_whole(answer) else answer
        if not isinstance(given, Mapping):
            raise self._wrong(view, answer, "neither an action nor probabilities by action")
        chances: dict[int, float] = {}
        for action, chance in given.items():
            if not _is_whole(action):
                raise self._wrong(view, answer, f"{_short(action)} is no action")
            if isinstance(chance, bool) or not isinstance(chance, Real) or not 0 <= float(chance) < inf:
                raise self._wrong(view, answer, f"{_short(chance)} is no probability")
            if float(chance) > 0 and not view.state.legal().allows(int(action)):
                raise self._wrong(view, answer, f"{action_text(int(action))} is illegal")
            chances[int(action)] = float(chance)
        if not abs(sum(chances.values()) - 1) < _ROUNDING:
            raise self._wrong(view, answer, f"probabilities that sum to {sum(chances.values()):g}, not to 1")
        return chances

    def _wrong(self, view: View, answer: object, why: str) -> InputError:
        """The error for an invalid answer."""
        return InputError(
            f"agent {shown(self.name)} answers {_short(answer)} {view_text(view)}: {why}",
            remedy=f"{view.state.legal_text()} ({FOLD} folds, {CALL} checks or calls, else the total raised to)",
        )


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _short(value: object, most: int = 80) -> str:
    """The repr of a value, cut to length."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def view_text(view: View) -> str:
    """A view in words: cards, board, betting by round."""
    deck = view.state.rules.deck
    board = f" on {deck.text(view.board)}" if view.board else ""
    rounds = (", ".join(action_text(action) for action in actions) for actions in view.state.rounds)
    betting = " / ".join(rounds).strip(" /")
    return f"with {deck.text(view.hole)}{board} {f'after {betting}' if betting else 'first to act'}"


@dataclass(frozen=True, eq=False)
class ViewTrack:
    """An agent that answers about views, followed through a hand with every hole."""

    agent: ViewAgent
    player: int
    holes: U8  # [hole, card]
    state: BettingState
    board: tuple[int, ...]
    reach: F64

    @cached_property
    def _answers(self) -> tuple[tuple[int, ...], F64]:
        found: dict[int, F64] = {}
        asked = [at for at in range(len(self.holes)) if self.reach[at] > 0 or len(self.holes) == 1]  # one: always
        holes = self.holes.tolist()
        cards = [(tuple(holes[at]), self.board) for at in asked]
        for at, answer in zip(asked, self.agent.ask_all(self.state, self.player, cards), strict=True):
            for action, chance in answer.items():
                found.setdefault(action, np.zeros(len(self.holes)))[at] = chance
        actions = tuple(sorted(found))  # fold, call, raises ascending
        return actions, np.array([found[action] for action in actions]).reshape(len(actions), len(self.holes))

    def probabilities(self) -> tuple[tuple[int, ...], F64]:
        return self._answers

    def after(self, action: int) -> ViewTrack:
        reach = self.reach
        if self.state.player == self.player:
            actions, chances = self._answers
            reach = reach * (chances[actions.index(action)] if action in actions else 0.0)
        return replace(self, state=self.state.apply(action), reach=reach)

    def dealt(self, board: tuple[int, ...]) -> ViewTrack:
        free = ~np.isin(self.holes, board).any(axis=1)
        return replace(self, board=tuple(board), reach=self.reach * free)
