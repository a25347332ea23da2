"""Agents in Python files and modules (`FILE.py:NAME`), asked in a process of their own where that is possible.

Only that process imports the user's code. So a bot that hangs can be ended, and one that exits, crashes or prints does
so by itself. It keeps what it remembers from hand to hand; each worker of a measurement has a bot of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard
from weakref import WeakValueDictionary

from equipoise.agents.agent import Agent, Cards, Function, FunctionAgent, View, ViewAgent, view_text
from equipoise.agents.tree_agent import TreeAgent
from equipoise.agents.user_code import load_object, version_of
from equipoise.core.errors import InputError, shown
from equipoise.core.isolated import Isolated, can_isolate
from equipoise.games.betting_state import BettingState
from equipoise.games.gamedef import read_gamedef, write_gamedef
from equipoise.games.rules import GameRules

MOST_STATES = 4096  # that the process remembers
AT_ONCE = 256  # cards in one message: both ends can always write it
Asked: TypeAlias = tuple[tuple[tuple[int, ...], ...], int, Sequence[Cards]]  # the betting, the player, holes and boards
Key: TypeAlias = tuple[str, object, str]

_running: WeakValueDictionary[Key, Isolated] = WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class UserAgent(ViewAgent):
    """A user's agent that answers in a process of its own."""

    name: str
    rules: GameRules
    process: Isolated

    def ask_all(self, state: BettingState, player: int, cards: Sequence[Cards]) -> list[dict[int, float]]:
        """The answers of the process."""
        found: list[dict[int, float]] = []
        for first in range(0, len(cards), AT_ONCE):
            some = cards[first : first + AT_ONCE]

            def when(some: Sequence[Cards] = some) -> str:
                what = view_text(View(state, player, *some[0])) if len(some) == 1 else "about several hands"
                return f"asked {what}"

            asked: Asked = (state.rounds, player, some)
            found += self.process.ask(asked, when)
        return found


def user_agent(reference: str, rules: GameRules | None) -> Agent:
    """The agent that a reference names. Functions play the game of `rules`."""
    if not can_isolate():
        return _imported(reference, rules)
    key = (reference, version_of(reference), rules.fingerprint if rules else "")
    process = _running.get(key)
    if process is None or process.has_ended:
        process = _running[key] = Isolated(f"agent {shown(reference)}", lambda: _answering(reference, rules))
    if process.about is None:
        with redirect_stdout(sys.stderr):
            return _imported(reference, rules)
    name, gamedef, game = process.about
    own = rules if gamedef is None else read_gamedef(gamedef, game)
    assert own is not None
    return UserAgent(name, own, process)


def set_deadline(agent: Agent, deadline: float | None) -> bool:
    """Let a user's agent be ended at a time of `time.monotonic`. False if it is none, or cannot be ended."""
    agent = getattr(agent, "blueprint", agent)  # of an agent that searches
    if not isinstance(agent, UserAgent):
        return False
    agent.process.deadline = deadline
    return True


def _answering(reference: str, rules: GameRules | None) -> tuple[Any, Callable[[Asked], Any]]:
    """In the process: the agent's name and game, and its answers. No name for an agent that the parent can have."""
    found = _imported(reference, rules)
    states: dict[tuple[tuple[int, ...], ...], BettingState] = {}

    def answer(asked: Asked) -> list[dict[int, float]]:
        rounds, player, cards = asked
        if rounds not in states:
            if len(states) >= MOST_STATES:
                states.clear()
            state = BettingState.start(found.rules)
            for action in (action for actions in rounds for action in actions):
                state = state.apply(action)
            states[rounds] = state
        assert isinstance(found, ViewAgent)
        return found.ask_all(states[rounds], player, cards)

    if isinstance(found, TreeAgent):
        return None, answer
    if found.rules is rules:
        return (found.name, None, None), answer
    return (str(found.name), write_gamedef(found.rules), found.rules.name), answer


def _imported(reference: str, rules: GameRules | None) -> Agent:
    """The agent, imported into this process: a function of a view, or an object with probabilities in a view."""
    found = load_object(reference)
    if isinstance(found, type):
        raise InputError(f"{reference} is a class", remedy="name a function of a view, or an object of this class")
    if isinstance(found, TreeAgent | ViewAgent):
        return found
    if is_agent(found):
        return by_probabilities(found)
    if not is_function(found):
        raise InputError(
            f"{reference} is neither a function of a view nor an agent, but of type {type(found).__name__}",
            remedy="name a function, or an object with name, rules and probabilities(view)",
        )
    if rules is None:
        raise InputError(f"{reference} plays any game", remedy="name one, e.g. --game holdem.limit")
    return FunctionAgent(reference, rules, found)


def is_function(what: object) -> TypeGuard[Function]:
    """Is it a function of a view?"""
    return callable(what) and not hasattr(what, "rules")


def is_agent(what: object) -> TypeGuard[Agent]:
    """Is it an object that gives the probabilities of actions in a view?"""
    return all(hasattr(what, part) for part in ("name", "rules", "probabilities"))


def by_probabilities(agent: Agent) -> FunctionAgent:
    """An agent whose answers are checked: its action is drawn from its probabilities."""
    if not isinstance(agent.rules, GameRules):
        raise InputError(f"the rules of {agent.name} are no game", remedy='make them e.g. by load_game("leduc")')
    return FunctionAgent(str(agent.name), agent.rules, agent.probabilities)
