"""AIVAT by its laws: unbiased where all hands can be played out, silent where values are perfect, quieter elsewhere."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np
import pytest

from equipoise.agents.agent import Agent, FunctionAgent, View
from equipoise.agents.card_blind import CardBlindStrategy
from equipoise.agents.named import named_player
from equipoise.cards.deck import Deck, hole_cards
from equipoise.core.errors import InputError
from equipoise.core.jit import F64
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.measure.aivat import Aivat, AllInValues, Meeting, compare_values

Agents: TypeAlias = tuple[Agent, Agent]

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")
SHORT_LEDUC = replace(LEDUC, max_raises=(1, 1), name="short leduc")
SMALL_HOLDEM = replace(load_game("holdem.limit"), deck=Deck(6, 4), name="small hold'em")
TINY = GameRules(  # two boards, all-ins on every street, blinds of different size
    limit=False,
    blinds=(2, 1),
    stacks=(3, 3),
    first=(1, 0, 0),
    max_raises=(1, 1, 1),
    deck=Deck(5, 1),
    hole_cards=1,
    board_cards=(0, 1, 1),
    name="tiny",
)
PAIRS = GameRules(
    limit=False,
    blinds=(2, 1),
    stacks=(4, 4),
    first=(1, 0),
    max_raises=(1, 1),
    deck=Deck(3, 2),
    hole_cards=2,
    board_cards=(0, 1),
    name="pairs",
)


def random_agent(rules: GameRules, seed: int, *, hesitant: bool = False) -> FunctionAgent:
    """Plays the smallest and the largest raise; some actions never, where it is not hesitant."""
    known: dict[tuple[object, ...], dict[int, float]] = {}

    def answer(view: View) -> dict[int, float]:
        key = (view.state.rounds, view.player, view.hole, tuple(sorted(view.board)))
        if key not in known:
            rng = np.random.default_rng([seed, hash(key) % 2**32])
            legal = view.state.legal()
            actions = [*([FOLD] if legal.fold else []), CALL]
            actions += sorted({legal.raise_min, legal.raise_max} - {0})
            chances = rng.exponential(size=len(actions)) ** 2
            if not hesitant and len(actions) > 1 and rng.random() < 0.3:
                chances[rng.integers(len(actions))] = 0
            known[key] = dict(zip(actions, (chances / chances.sum()).tolist(), strict=True))
        return known[key]

    return FunctionAgent(f"random {seed}", rules, answer)


def deals(rules: GameRules) -> Iterator[Deal]:
    """All of them; the cards of one hole or one round in one order only."""

    def rest(sizes: tuple[int, ...], used: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if not sizes:
            yield ()
            return
        for cards in itertools.combinations([c for c in range(rules.deck.size) if c not in used], sizes[0]):
            for more in rest(sizes[1:], (*used, *cards)):
                yield (cards, *more)

    for first, second, *board in rest((rules.hole_cards, rules.hole_cards, *rules.board_cards), ()):
        yield Deal((first, second), tuple(itertools.chain(*board)))


Hand = tuple[float, BettingState, Deal]


def hands(rules: GameRules, agents: Agents) -> Iterator[Hand]:
    """Every hand that can be played, and how likely it is."""
    everything = list(deals(rules))
    chance_of = cache(
        lambda state, hole, board: agents[state.player].probabilities(View(state, state.player, hole, board))
    )
    for deal in everything:
        waiting = [(1 / len(everything), BettingState.start(rules))]
        while waiting:
            chance, state = waiting.pop()
            if state.is_over:
                yield chance, state, deal
                continue
            board = deal.board[: rules.board_size(state.round)]
            for action, share in chance_of(state, deal.holes[state.player], board).items():
                waiting.append((chance * share, state.apply(action)))


@dataclass
class Moments:
    """Mean and variance of chips and of estimates."""

    chips: tuple[float, float]
    corrected: tuple[float, float]


def moments(rules: GameRules, agents: Agents, estimate: Callable[[BettingState, Deal], float]) -> Moments:
    rows = np.array([(c, s.payoffs(d)[0], estimate(s, d)) for c, s, d in hands(rules, agents)])
    chances = rows[:, 0]
    assert chances.sum() == pytest.approx(1)
    means = chances @ rows[:, 1:]
    spread = chances @ (rows[:, 1:] - means) ** 2
    return Moments((means[0], spread[0]), (means[1], spread[1]))


def pick(agents: Agents, known: str, letter: str = "k") -> tuple[Agent | None, Agent | None]:
    """Those of the agents whose letter it is: known, strangers, modelled strangers."""
    return agents[0] if known[0] == letter else None, agents[1] if known[1] == letter else None


KNOWN = ("kk", "ks", "sk", "ss", "km", "mk")
CASES = [
    *itertools.product((KUHN, SHORT_LEDUC), KNOWN),
    *((TINY, known) for known in ("kk", "ks", "mk")),
    *((PAIRS, known) for known in ("kk", "sk", "km")),
]


@pytest.mark.parametrize(("rules", "known"), CASES, ids=[f"{rules.name}-{known}" for rules, known in CASES])
def test_unbiased(rules: GameRules, known: str) -> None:
    agents = random_agent(rules, 1), random_agent(rules, 2)
    models = pick((random_agent(rules, 3), random_agent(rules, 4)), known, "m")
    aivat = Aivat(rules, pick(agents, known), AllInValues((0.7, 1.9, 1.3)), models)
    found = moments(rules, agents, aivat.value)
    assert found.corrected[0] == pytest.approx(found.chips[0], abs=1e-9)
    assert abs(found.chips[0]) > 0.01
    assert found.corrected[1] < found.chips[1]
    if known == "kk":
        assert found.corrected[1] < found.chips[1] / 4  # half the standard deviation


def test_leduc_is_three_times_as_quiet_between_known_players() -> None:
    agents = random_agent(LEDUC, 1), random_agent(LEDUC, 2)
    aivat = Aivat(LEDUC, agents)
    kept: dict[tuple[object, ...], float] = {}  # holes do not matter: the test of laws below

    def estimate(state: BettingState, deal: Deal) -> float:
        key = state.rounds, deal.board
        if key not in kept:
            kept[key] = aivat.value(state, deal)
        return kept[key]

    found = moments(LEDUC, agents, estimate)
    assert found.corrected[0] == pytest.approx(found.chips[0], abs=1e-9)
    assert found.corrected[1] < found.chips[1] / 9


@dataclass(frozen=True, eq=False)
class Perfect:
    """What two agents win of each other, on average."""

    rules: GameRules
    agents: Agents

    @property
    def start(self) -> float:
        return sum(chance * state.payoffs(deal)[0] for chance, state, deal in hands(self.rules, self.agents))

    def of(self, state: BettingState, meeting: Meeting) -> F64:
        count = self.rules.hole_cards
        values = np.zeros(len(meeting.weights))
        for own, other in itertools.product(range(len(values)), repeat=2):
            cards = hole_cards(own, count), hole_cards(other, count)
            if meeting.weights[other] > 0 and not {*cards[0]} & {*cards[1], *meeting.table.board}:
                holes = cards if meeting.player == 0 else cards[::-1]
                values[own] += meeting.weights[other] * self.play_on(state, Deal(holes, meeting.table.board))
        return values

    def play_on(self, state: BettingState, deal: Deal) -> float:
        missing = self.rules.board_size(state.round) - len(deal.board)
        if missing and state.folded < 0:
            left = set(range(self.rules.deck.size)) - {*deal.holes[0], *deal.holes[1], *deal.board}
            rests = list(itertools.combinations(sorted(left), missing))
            return sum(self.play_on(state, Deal(deal.holes, (*deal.board, *rest))) for rest in rests) / len(rests)
        if state.is_over:
            return state.payoffs(deal)[0]
        chances = self.agents[state.player].probabilities(
            View(state, state.player, deal.holes[state.player], deal.board)
        )
        return sum(chance * self.play_on(state.apply(action), deal) for action, chance in chances.items())


def test_perfect_values_leave_no_luck() -> None:
    agents = random_agent(SHORT_LEDUC, 5), random_agent(SHORT_LEDUC, 6)
    perfect = Perfect(SHORT_LEDUC, agents)
    aivat = Aivat(SHORT_LEDUC, agents, perfect)
    some = list(itertools.islice(hands(SHORT_LEDUC, agents), 0, None, 97))
    assert len(some) > 5
    for _, state, deal in some:
        assert aivat.value(state, deal) == pytest.approx(perfect.start, abs=1e-9)


def mirrored(rules: GameRules) -> GameRules:
    """The other player sits in each player's place."""
    return replace(rules, blinds=rules.blinds[::-1], stacks=rules.stacks[::-1], first=tuple(1 - p for p in rules.first))


@pytest.mark.parametrize("known", ["kk", "ks", "sk", "ss"])
def test_zero_sum(known: str) -> None:
    other = mirrored(PAIRS)
    agents = random_agent(PAIRS, 1), random_agent(PAIRS, 2)

    def mirror(agent: FunctionAgent) -> FunctionAgent:
        def answer(view: View) -> dict[int, float]:
            return agent.function(View(replay(PAIRS, view.state), 1 - view.player, view.hole, view.board))

        return FunctionAgent(agent.name, other, answer)

    there = Aivat(PAIRS, pick(agents, known))
    here = Aivat(other, pick((mirror(agents[1]), mirror(agents[0])), known[::-1]))
    for _, state, deal in itertools.islice(hands(PAIRS, agents), 0, None, 211):
        swapped = here.value(replay(other, state), Deal(deal.holes[::-1], deal.board))
        assert swapped == pytest.approx(-there.value(state, deal), abs=1e-9)


def replay(rules: GameRules, hand: BettingState) -> BettingState:
    state = BettingState.start(rules)
    for action in itertools.chain(*hand.rounds):
        state = state.apply(action)
    return state


def test_holes_do_not_matter_between_known_players() -> None:
    agents = random_agent(PAIRS, 1, hesitant=True), random_agent(PAIRS, 2, hesitant=True)
    aivat, found = Aivat(PAIRS, agents), defaultdict(set)
    for _, state, deal in itertools.islice(hands(PAIRS, agents), 0, None, 17):
        found[state.rounds, deal.board[: PAIRS.board_size(state.round)]].add(round(aivat.value(state, deal), 9))
    assert max(map(len, found.values())) == 1


def test_small_deck_holdem() -> None:
    """Sampled completions, four rounds, tables that play."""
    uniform, calls = (named_player(CardBlindStrategy(name), SMALL_HOLDEM) for name in ("uniform", "always-call"))
    rng = np.random.default_rng(3)
    aivat = Aivat(SMALL_HOLDEM, (uniform, calls))
    rows = []
    for _ in range(100):
        cards = rng.permutation(SMALL_HOLDEM.deck.size).tolist()
        deal = Deal((tuple(cards[:2]), tuple(cards[2:4])), tuple(cards[4:9]))
        state = BettingState.start(SMALL_HOLDEM)
        while not state.is_over:
            view = View(
                state, state.player, deal.holes[state.player], deal.board[: SMALL_HOLDEM.board_size(state.round)]
            )
            state = state.apply((uniform, calls)[state.player].act(view, rng))
        rows.append((state.payoffs(deal)[0], aivat.value(state, deal)))
    chips, corrected = np.array(rows).T
    found = compare_values(SMALL_HOLDEM, chips, corrected)
    assert found.times_smaller > 5
    assert abs(found.chips_mbb - found.mbb_per_hand) < 2.5 * found.chips_ci95


def test_comparison() -> None:
    found = compare_values(LEDUC, np.array([1.0, -1.0] * 50), np.array([0.25, 0.75] * 50))
    assert (found.hands, found.chips_mbb, found.mbb_per_hand) == (100, 0, 500)
    assert found.times_smaller == pytest.approx(4)
    assert found.ci95 == pytest.approx(1.984 * 250 / 99**0.5, rel=1e-3)
    assert "4.0 times smaller" in str(found)
    exact = compare_values(LEDUC, np.array([1.0, -1.0] * 50), 0.5 + 1e-16 * np.arange(100))
    assert (exact.mbb_per_hand, exact.ci95, exact.times_smaller) == (pytest.approx(500), 0, np.inf)
    with pytest.raises(InputError, match="values"):
        compare_values(LEDUC, np.zeros(3), np.zeros(4))


def test_bad_hands_are_refused() -> None:
    agents = random_agent(LEDUC, 1), random_agent(LEDUC, 2)
    aivat, start = Aivat(LEDUC, agents), BettingState.start(LEDUC)
    checked = start.apply(CALL).apply(CALL).apply(CALL).apply(CALL)
    good = Deal(((0,), (1,)), (2,))
    for state, deal, message in (
        (start, good, "not over"),
        (BettingState.start(KUHN).apply(CALL).apply(CALL), good, "another game"),
        (checked, Deal(((0,), (1,)), ()), "missing"),
        (checked, Deal(((0,), ()), (2,)), "missing"),
        (checked, Deal(((0,), (1,)), (1,)), "twice"),
        (checked, Deal(((0,), (1,)), (9,)), "no card"),
    ):
        with pytest.raises(InputError, match=message):
            aivat.value(state, deal)
    with pytest.raises(InputError, match="another game"):
        Aivat(LEDUC, (random_agent(KUHN, 1), None))
    folds = FunctionAgent("folds", LEDUC, lambda view: {FOLD if view.state.legal().fold else CALL: 1.0})
    state = start.apply(3).apply(CALL).apply(CALL).apply(CALL)
    with pytest.raises(InputError, match="folds does not raise to 3"):
        Aivat(LEDUC, (folds, None)).value(state, good)
    with pytest.raises(InputError, match="folds does not call"):
        Aivat(LEDUC, (None, folds)).value(state, good)
