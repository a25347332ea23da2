"""A person against an agent, at the terminal: words in, text out.

It reads lines from one text stream and writes to another, so a script can play too. On a terminal, cards have suit
symbols and colours; elsewhere, letters. The end of the input, or `quit`, ends the game; an unfinished hand does not
count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.text import Text

from equipoise.agents.agent import Agent
from equipoise.agents.named import Playing, as_agent
from equipoise.cards.deck import RANKS, SUITS
from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.rules import GameRules
from equipoise.play.dealing import DEALS, PLAYERS_OWN, button, deal_hand, stream, view_of
from equipoise.play.winnings import Winnings
from equipoise.play.words import HELP, action_told, action_words, offers, read_action

SEATS = ("button", "big-blind", "both")
_SYMBOLS = "♣♦♥♠"
_COLOURS = ("green", "blue", "red", "default")  # of the suits c, d, h, s
_MOST_TYPED = 200  # characters of a line


class _LeaveError(Exception):
    """The person has left."""


def play_terminal(
    opponent: Playing,
    source: TextIO,
    screen: TextIO,
    *,
    game: str | GameRules = "",
    hands: int = 0,
    hint: Agent | None = None,
    seat: str = "both",
    seed: int | None = None,
) -> Winnings:
    """Play a number of hands (0: no limit) or until the person leaves; returns what the person won.

    `hint` is an agent whose probabilities for the person's cards are shown before every action. With seat `both`, the
    seats alternate and the person has the button first.
    """
    agent = as_agent(opponent, game)
    if seat not in SEATS:
        raise InputError(f"seat {shown(seat)}", remedy=f"use {', '.join(SEATS)}")
    if hint and hint.rules != agent.rules:
        raise InputError("the hint is for another game", remedy=f"use an agent of {agent.rules.name or 'this game'}")
    table = _Game(agent, source, _Screen(screen, agent), hint, seed)
    table.screen.say(f"You play {agent.rules.name or 'a game'} against {agent.name}.")
    has_button = button(agent.rules)
    values: list[int] = []
    try:
        while not hands or len(values) < hands:
            number = len(values)
            person = (has_button + number) % 2 if seat == "both" else has_button ^ (seat == "big-blind")
            values.append(table.hand(number, person, sum(values)))
    except (_LeaveError, KeyboardInterrupt):
        table.screen.say()
    won = Winnings.of(values, agent.rules.big_blind)
    table.screen.say(f"You played {won}.")
    return won


class _Screen:
    """Text for people, with the cards as the screen can show them."""

    def __init__(self, file: TextIO, agent: Agent) -> None:
        self.console = Console(file=file, highlight=False, soft_wrap=True)
        self.deck = agent.rules.deck
        self.symbols = self.console.is_terminal and "utf" in (file.encoding or "").lower()

    def say(self, *parts: str | Text, end: str = "\n") -> None:
        """Write a line."""
        text = Text()
        for part in parts:
            text.append(part)
        self.console.print(text, end=end)

    def cards(self, cards: Iterable[int]) -> Text:
        """Cards, separated by blanks."""
        suits = _SYMBOLS if self.symbols else SUITS
        return Text(" ").join(
            Text(RANKS[self.deck.rank(card)] + suits[self.deck.suit(card)], f"bold {_COLOURS[self.deck.suit(card)]}")
            for card in cards
        )


class _Game:
    """Hands against one agent."""

    def __init__(self, agent: Agent, source: TextIO, screen: _Screen, hint: Agent | None, seed: int | None) -> None:
        self.agent, self.source, self.screen, self.hint, self.seed = agent, source, screen, hint, seed
        self.rules = agent.rules

    def hand(self, number: int, person: int, before: int) -> int:
        """One hand: what the person wins."""
        deal = deal_hand(self.rules, stream(self.seed, DEALS, number))
        rng = stream(self.seed, PLAYERS_OWN, number)
        place = "have the button" if person == button(self.rules) else "are in the big blind"
        if self.rules.blinds[0] == self.rules.blinds[1]:
            place = f"act {'first' if person == self.rules.first[0] else 'second'}"
        self.screen.say(f"\nHand {number + 1}: you {place}. Your cards: ", self.screen.cards(deal.holes[person]))
        state = BettingState.start(self.rules)
        self.street(state, deal, person)
        while not state.is_over:
            action = self.ask(state, deal, person) if state.player == person else self.reply(state, deal, rng)
            after = state.apply(action)
            if after.round > state.round and not after.is_over:
                self.street(after, deal, person)
            state = after
        return self.end(state, deal, person, before)

    def street(self, state: BettingState, deal: Deal, person: int) -> None:
        """A round begins: its board, the pot, and what is left behind."""
        board = deal.board[: self.rules.board_size(state.round)]
        name = self.rules.street_name(state.round)
        shown_board = (": ", self.screen.cards(board)) if board else ("",)
        behind = [stack - spent for stack, spent in zip(self.rules.stacks, state.spent, strict=True)]
        stacks = "" if self.rules.limit else f", you {behind[person]:,}, {self.agent.name} {behind[1 - person]:,}"
        self.screen.say(name[0].upper() + name[1:], *shown_board, f"  (pot {state.pot:,}{stacks})")

    def reply(self, state: BettingState, deal: Deal, rng: np.random.Generator) -> int:
        """The agent's action."""
        action = self.agent.act(view_of(state, deal, state.player), rng)
        self.screen.say(f"{self.agent.name} {action_told(state, action)}.")
        return action

    def ask(self, state: BettingState, deal: Deal, person: int) -> int:
        """The person's action: asks until it is one."""
        if self.hint:
            self.screen.say(f"Hint: {self.mix(self.hint, state, deal, person)}")
        while True:
            self.screen.say(f"Pot {state.pot:,}. You may {offers(state)}.")
            self.screen.say("> ", end="")
            try:
                typed = self.source.readline(_MOST_TYPED)
            except UnicodeDecodeError:
                typed = ""
            words = typed.strip().lower()
            if not self.source.isatty():  # a script's words are not on the screen yet
                self.screen.say(words)
            if not typed or words in ("quit", "q", "exit"):
                raise _LeaveError
            if words in ("?", "help", "h"):
                self.screen.say(HELP)
            elif words:
                try:
                    return read_action(state, words)
                except InputError as error:
                    self.screen.say(f"No: {error.what}.")

    def mix(self, hint: Agent, state: BettingState, deal: Deal, person: int) -> str:
        """How likely an agent would take each action with the person's cards."""
        try:
            chances = hint.probabilities(view_of(state, deal, person))
        except InputError as error:
            return f"none here ({error.what})"
        mix = ", ".join(f"{action_words(state, action)} {chance:.0%}" for action, chance in chances.items())
        return mix or f"none here ({hint.name} never gets here)"

    def end(self, state: BettingState, deal: Deal, person: int, before: int) -> int:
        """How the hand ended."""
        if state.is_showdown:
            board = [Text(" on "), self.screen.cards(deal.board)] if deal.board else []
            other = self.screen.cards(deal.holes[1 - person])
            self.screen.say(
                f"{self.agent.name} shows ", other, *board, "; you have ", self.screen.cards(deal.holes[person])
            )
        value = state.payoffs(deal)[person]
        told = f"You {'win' if value > 0 else 'lose'} {abs(value):,}." if value else "You split the pot."
        self.screen.say(f"{told} In all: {before + value:+,}.")
        return value
