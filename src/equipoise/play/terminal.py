"""A person against an agent, at the terminal: words in, text out.

It reads lines from one text stream and writes to another, so a script can play too. The end of the input, `quit` and
Ctrl-C end the game; an unfinished hand does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath
from typing import TextIO

import numpy as np

from equipoise.agents.agent import Agent
from equipoise.agents.named import Playing, as_agent
from equipoise.cards.hand_names import hand_strength, names_beside
from equipoise.core.errors import InputError, shown
from equipoise.core.visible_text import visible
from equipoise.core.wording import counted
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.rules import UNLIMITED_STACK, GameRules
from equipoise.play.action_text import action_told, action_words, listed, offers
from equipoise.play.amounts import Amounts
from equipoise.play.dealing import DEALS, PLAYERS_OWN, button, deal_hand, stream, view_of
from equipoise.play.logs import LogWriter, log_names
from equipoise.play.screen import WIDTH, Keyboard, Screen, cut
from equipoise.play.typed_action import help_text, read_action
from equipoise.play.winnings import Winnings
from equipoise.strategy.packed import SUFFIX

SEATS = ("button", "big-blind", "both")
PERSON = "person"  # in logs
PROMPT = "> "
MOST_NAME = 20  # columns of the agent's name


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
    big_blinds: bool = False,
    log: str | Path | None = None,
) -> Winnings:
    """Play a number of hands (0: no limit) or until the person leaves; returns what the person won.

    `hint` is an agent whose probabilities for the person's cards are shown before every action. With seat `both`, the
    seats alternate and the person has the button first. With `big_blinds`, amounts are shown and read in big blinds.
    `log` is a file for the finished hands (`logs.py`).
    """
    agent = as_agent(opponent, game)
    rules = agent.rules
    if seat not in SEATS:
        raise InputError(f"there is no seat {shown(seat)}", remedy=f"use {listed(SEATS)}")
    if hint and hint.rules != rules:
        raise InputError("the hint is for another game", remedy=f"use an agent of {rules.name or 'this game'}")
    table = _Table(agent, Keyboard(source), Screen(screen, rules.deck), Amounts.of(rules, in_big_blinds=big_blinds))
    names = log_names(PERSON, agent.name)
    values: list[int] = []
    with LogWriter(log, rules) if log is not None else nullcontext() as writer:
        table.open()
        try:
            while not hands or len(values) < hands:
                number = len(values)
                person = (button(rules) + number) % 2 if seat == "both" else button(rules) ^ (seat == "big-blind")
                hand = _Hand(table, hint, seed, number, person)
                value = hand.play()
                if writer:
                    writer.write(number, hand.state, hand.deal, names if person == 0 else names[::-1])
                    writer.flush()
                values.append(value)
                table.told(value, values)
        except (_LeaveError, KeyboardInterrupt):
            table.screen.say(f"\nHand {len(values) + 1:,} ends unfinished and does not count.")
    won = Winnings.of(values, rules.big_blind)
    table.screen.say(f"You played {won.text(table.amounts.signed(won.chips) if big_blinds else '')}.")
    return won


class _Table:
    """The agent, the person's screen and keyboard, and the unit of amounts."""

    def __init__(self, agent: Agent, keyboard: Keyboard, screen: Screen, amounts: Amounts) -> None:
        self.agent, self.keyboard, self.screen, self.amounts = agent, keyboard, screen, amounts
        self.rules, self.name = agent.rules, table_name(agent.name)

    def open(self) -> None:
        """What is played, and against whom."""
        rules = self.rules
        exactly = f" ({visible(self.agent.name)})" if self.agent.name != self.name else ""
        self.screen.say(f"You play {rules.name or 'a game'} against {self.name}{exactly}.")
        amount, (small, large) = self.amounts.text, sorted(rules.blinds)
        parts = [f"Both post {amount(small)}" if small == large else f"Blinds {amount(small)} and {amount(large)}"]
        if rules.limit:
            parts.append(f"bets of {listed([amount(size) for size in dict.fromkeys(rules.raise_sizes)], 'and')}")
        if max(rules.stacks) < UNLIMITED_STACK:
            parts.append("full stacks every hand")
        self.screen.say(f"{', '.join(parts)}. Type ? for help, quit to leave.")

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """While the agent thinks, this is shown, and what is typed is not."""
        with self.keyboard.silent(), self.screen.thinking():
            yield

    def stacks(self, person: int, spent: tuple[int, int]) -> str:
        """What both have left, once if it is the same."""
        left = [stack - chips for stack, chips in zip(self.rules.stacks, spent, strict=True)]
        mine, theirs = (self.amounts.text(left[player]) for player in (person, 1 - person))
        return f"stacks {mine}" if mine == theirs else f"stacks: you {mine}, {self.name} {theirs}"

    def told(self, value: int, values: list[int]) -> None:
        """What a hand won, and all hands."""
        won = (
            f"You {'win' if value > 0 else 'lose'} {self.amounts.text(abs(value))}." if value else "You split the pot."
        )
        self.screen.say(f"{won} In all: {self.amounts.signed(sum(values))} after {counted(len(values), 'hand')}.")


class _Hand:
    """One hand; `state` and `deal` are what a log needs."""

    def __init__(self, table: _Table, hint: Agent | None, seed: int | None, number: int, person: int) -> None:
        self.table, self.screen, self.rules, self.amounts = table, table.screen, table.rules, table.amounts
        self.hint, self.number, self.person = hint, number, person
        self.deal: Deal = deal_hand(self.rules, stream(seed, DEALS, number))
        self.rng: np.random.Generator = stream(seed, PLAYERS_OWN, number)
        self.state = BettingState.start(self.rules)

    def play(self) -> int:
        """What the person wins."""
        self.begin()
        self.street(0)
        while not self.state.is_over:
            before = self.state
            action = self.ask() if before.player == self.person else self.reply()
            name = "" if before.player == self.person else self.table.name
            self.screen.say(action_told(before, action, self.amounts, name))
            self.state = before.apply(action)
            if self.state.is_showdown:
                self.run_out(before.round)
            elif self.state.round > before.round:
                self.street(self.state.round)
        if self.state.is_showdown:
            self.show_down()
        return self.state.payoffs(self.deal)[self.person]

    def begin(self) -> None:
        """Positions, blinds and cards."""
        rules, name, blinds, person = self.rules, self.table.name, self.rules.blinds, self.person
        amount = self.amounts.text
        if blinds[0] == blinds[1]:
            place = f"you act {'first' if person == rules.first[0] else 'second'}"
            posted = f"Both post {amount(blinds[0])}."
        else:
            place = "you have the button" if person == button(rules) else f"{name} has the button"
            posted = f"You post {amount(blinds[person])}, {name} posts {amount(blinds[1 - person])}."
        stacks = f", {self.table.stacks(person, (0, 0))}" if max(rules.stacks) < UNLIMITED_STACK else ""
        self.screen.say(f"\nHand {self.number + 1:,}: {place}{stacks}.")
        self.screen.say(f"{posted} Your cards: ", self.screen.cards(self.deal.holes[person]))

    def street(self, round_: int) -> None:
        """A round begins: its board, the pot, and what is left behind."""
        state, rules = self.state, self.rules
        board = self.deal.board[: rules.board_size(round_)]
        name = rules.street_name(round_)
        cards = (": ", self.screen.cards(board)) if board else ("",)
        stacks = (
            "" if rules.limit or not round_ or state.is_over else f", {self.table.stacks(self.person, state.spent)}"
        )
        self.screen.say(name[0].upper() + name[1:], *cards, f"  (pot {self.amounts.text(state.pot)}{stacks})")

    def run_out(self, round_: int) -> None:
        """Nobody can bet any more: both hands are shown, then the streets that are left."""
        left = [street for street in range(round_ + 1, self.rules.rounds) if self.rules.board_cards[street]]
        if left:
            mine, theirs = (self.screen.cards(self.deal.holes[player]) for player in (self.person, 1 - self.person))
            self.screen.say("You show ", mine, f", {self.table.name} shows ", theirs, ".")
        with self.table.keyboard.silent():
            for street in left:
                self.screen.pause()
                self.street(street)

    def reply(self) -> int:
        """The agent's action."""
        with self.table.thinking():
            return self.table.agent.act(view_of(self.state, self.deal, self.state.player), self.rng)

    def ask(self) -> int:
        """The person's action: asks until it is one."""
        if self.hint:
            self.screen.say(f"Hint: {self.mix(self.hint)}")
        self.table.keyboard.forget()
        while True:
            choices = ", ".join(offers(self.state, self.amounts))
            self.screen.say(f"Pot {self.amounts.text(self.state.pot)}. You may {choices}.")
            self.screen.say(PROMPT, end="")
            words = self.table.keyboard.line()
            if words is None:
                raise _LeaveError
            if not self.table.keyboard.is_live:  # a script's words are not on the screen yet
                self.screen.say(cut(words, WIDTH - len(PROMPT)))
            if words.lower() in ("quit", "q", "exit"):
                raise _LeaveError
            if words.lower() in ("?", "help", "h"):
                self.screen.say(help_text(self.amounts, limit=self.rules.limit))
            elif words:
                try:
                    return read_action(self.state, words, self.amounts)
                except InputError as error:
                    self.screen.say(f"No: {error}.")

    def mix(self, hint: Agent) -> str:
        """How likely an agent would take each action with the person's cards."""
        try:
            with self.table.thinking():
                chances = hint.probabilities(view_of(self.state, self.deal, self.person))
        except InputError as error:
            return f"none here ({error.what})"
        actions = [
            f"{action_words(self.state, action, self.amounts)} ({chance:.0%})" for action, chance in chances.items()
        ]
        return ", ".join(actions) or f"none here ({self.table.name} never gets here)"

    def show_down(self) -> None:
        """Both hands, with their names where hands have more than a card, and the board."""
        rules, board = self.rules, self.deal.board
        players = (self.person, 1 - self.person)
        labels = ("you", self.table.name)
        names: tuple[str, ...] = ("", "")
        if rules.hand_cards > 1:
            one, two = (
                hand_strength(rules.deck, (*self.deal.holes[player], *board), three_card=rules.three_card)
                for player in players
            )
            names = names_beside(one, two, three_card=rules.three_card)
        on_board = (" on ", self.screen.cards(board)) if board else ()
        self.screen.say("Showdown", *on_board, ":")
        for player, label, name in zip(players, labels, names, strict=True):
            hand = f"  {name}" if name else ""
            self.screen.say(f"  {label}  ".ljust(2 + MOST_NAME), self.screen.cards(self.deal.holes[player]), hand)


def table_name(what: str) -> str:
    """A short name of an agent: its run's folder or its file, without options, in a few columns.

    >>> table_name("runs/a/demo?post=purify"), table_name("mine/strategy.average"), table_name("bots/my_bot.py:agent")
    ('demo', 'mine', 'my_bot')
    """
    parts = PurePath(what.partition("?")[0]).parts
    named = parts[-2] if len(parts) > 1 and parts[-1].startswith("strategy.") else "".join(parts[-1:])
    named = named.partition(":")[0].removesuffix(".py").removesuffix(SUFFIX)
    return cut(visible(named), MOST_NAME) or "agent"
