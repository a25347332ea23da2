"""The vector walk against OpenSpiel, against a twin that walks every deal, and against itself in other arrangements."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel
import pytest

import naive
from engines import information_states
from equipoise import BetMenu, Deck, GameRules, build_tree, equity, load_game
from equipoise.cards.deck import FULL_DECK, hole_cards, hole_index
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.spots.spot import Spot, read_spot
from equipoise.tree.betting_tree import DECISION, FOLDED, SHOWDOWN
from equipoise.tree.boards import deal_boards
from equipoise.walk.betting_program import Stakes
from equipoise.walk.engine import Engine
from equipoise.walk.plan import BEST, EVALUATE, UPDATE, HoleRule, Tables
from textures import FLOPS, RANGES

Weights = npt.NDArray[np.float64]

LIMIT = dataclasses.replace(
    load_game("holdem.limit"), deck=Deck(4, 2), board_cards=(0, 2, 0, 1), max_raises=(1, 1, 1, 1), stacks=(45, 45),
    name="limit",
)  # fmt: skip
NO_LIMIT = dataclasses.replace(
    load_game("holdem.nolimit"), deck=Deck(4, 2), board_cards=(0, 1, 1, 1), stacks=(700, 700), name="no-limit"
)
RHODE = dataclasses.replace(load_game("rhode-island"), deck=Deck(3, 3), max_raises=(1, 1, 1), name="small rhode island")
MENU = BetMenu.from_table({"bet": [1.0], "raise": ["all-in"], "cap": 2, "flop": {"cap": 1}, "turn": {"cap": 0}}, 4)
SMALL = {"limit": LIMIT, "no-limit": NO_LIMIT, "rhode": RHODE}


def spot(
    board: str, ranges: str = "asymmetric", betting: str = 'bet = [1.0, "all-in"]\ncap = 1', more: str = ""
) -> Spot:
    first, second = RANGES[ranges]
    return read_spot(
        f'board = "{board}"\npot = 101\nstack = 150\n[ranges]\noop = "{first}"\nip = "{second}"\n'
        f"[betting]\n{betting}\n{more}"
    )


def spot_engine(spot_: Spot, *, isomorphism: bool = True, threads: int = 1) -> Engine:
    cards = spot_.boards(isomorphism=isomorphism)
    return Engine(spot_.tree(), cards, spot_.stakes, precision=np.float64, threads=threads)


def game_engine(rules: GameRules, *, isomorphism: bool = True, ranges: tuple[Weights, Weights] | None = None) -> Engine:
    tree = build_tree(rules, None if rules.limit else MENU)
    return Engine(tree, deal_boards(rules, ranges, isomorphism=isomorphism), precision=np.float64)


def mixed(engine: Engine, seed: int = 1) -> naive.MixedStrategy:
    """A random strategy that the renamings of an engine's root keep."""
    rules, cards = engine.tree.rules, engine.cards
    renamings = naive.kept_renamings(rules.deck, rules.hole_cards, cards.weights, cards.cards[0])
    return naive.MixedStrategy(engine.tree, renamings, seed)


def written(engine: Engine, strategy: naive.MixedStrategy) -> Tables:
    """A strategy as an engine's table."""
    table, tree = engine.zeros(), engine.tree
    for player, street in itertools.product(range(2), range(tree.rules.rounds)):
        nodes = np.flatnonzero((tree.kind == DECISION) & (tree.player == player) & (tree.street == street)).tolist()
        starts = engine.program.arrays.table_row[engine.program.place_of[nodes]].tolist()
        assert starts == list(itertools.accumulate([0, *map(int, tree.num_children[nodes])]))[: len(nodes)]
        for board in np.flatnonzero(engine.cards.arrays.street == street) if nodes else ():
            classes = strategy.classes(engine.cards.holes(board, player), engine.cards.cards[board])
            rows = strategy.rows(nodes, classes)
            start = engine.table_first[board, player]
            table[start : start + rows.size] = rows.ravel()
    return engine.tables(table)


def looked_at(engine: Engine, tables: Tables) -> list[float]:
    """Both players' values and best-response values."""
    return [engine.evaluate(player, tables, mode) for player in range(2) for mode in (EVALUATE, BEST)]


# --- OpenSpiel -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "nash_conv", "profiles"), [("kuhn", 11 / 12, 100), ("leduc", 4.747222222222222, 25)])
def test_exploitability_equals_open_spiels(name: str, nash_conv: float, profiles: int) -> None:
    game, engine = pyspiel.load_game(f"{name}_poker"), game_engine(load_game(name), isomorphism=False)
    boards = {cards: board for board, cards in enumerate(engine.cards.cards)}
    place_of, rng = engine.program.place_of, np.random.default_rng(1)
    infosets = information_states(engine.tree, name)
    assert len(infosets) == engine.infosets == {"kuhn": 12, "leduc": 936}[name]
    for folded in (True, False):
        uniform = game_engine(load_game(name), isomorphism=folded)
        assert sum(uniform.best_responses(uniform.tables(uniform.zeros()))) == pytest.approx(nash_conv, abs=1e-9)
    slots = {}
    for text, (node, hole, board, _) in infosets.items():
        player, holes = int(engine.tree.player[node]), engine.cards.holes(boards[board], int(engine.tree.player[node]))
        row = int(engine.program.arrays.table_row[place_of[node]])
        start = engine.table_first[boards[board], player] + row * len(holes) + holes.tolist().index(hole)
        slots[text] = start + np.arange(engine.tree.num_children[node]) * len(holes)
    for _ in range(profiles):
        table, policy = engine.zeros(), {}
        for text, (_, _, _, legal) in infosets.items():
            chances = rng.dirichlet(np.full(len(legal), 0.5))
            table[slots[text]] = chances
            policy[text] = list(zip(legal, chances.tolist(), strict=True))
        ours = sum(engine.best_responses(engine.tables(table)))
        assert ours == pytest.approx(pyspiel.nash_conv(game, pyspiel.TabularPolicy(policy)), abs=1e-9)


# --- every deal walked ---------------------------------------------------------------------------------------------


def payoffs(engine: Engine, walker: int, *, house: bool = False) -> naive.Payoff:
    """What the walker is paid at a terminal node, from half of the dead chips; or what the house is paid."""
    tree, stakes = engine.tree, engine.stakes

    @functools.cache
    def payoff(node: int, outcome: int) -> float:
        called = float(tree.chips[node].min()) + stakes.dead / 2
        taken = min(stakes.rake * 2 * called, stakes.rake_cap)
        if house:
            return taken
        if tree.kind[node] == FOLDED:
            return -called if tree.player[node] == walker else called - taken
        assert tree.kind[node] == SHOWDOWN
        return {1: called - taken, 0: -taken / 2, -1: -called}[outcome]

    return payoff


def every_deal(engine: Engine, walker: int) -> dict[naive.Cards, list[naive.Deal]]:
    """All deals of a game or spot, by the walker's hole."""
    rules, root = engine.tree.rules, engine.cards.cards[0]
    ranges = [
        {hole_cards(hole, rules.hole_cards): float(w) for hole, w in enumerate(weights) if w}
        for weights in engine.cards.weights
    ]
    remaining = rules.board_cards[engine.cards.root_street + 1 :]
    runouts = [(*root, *rest) for rest in naive.all_deals(remaining, rules.deck, root)]
    return naive.deals_of(walker, ranges, runouts, rules.ranker.rank)


def twin(engine: Engine, strategy: naive.Strategy) -> list[float]:
    """What `looked_at` must say, by walking every deal."""
    values = []
    for walker in range(2):
        deals, payoff = every_deal(engine, walker), payoffs(engine, walker)
        values += [naive.walker_value(engine.tree, walker, deals, strategy, payoff, best) for best in (False, True)]
    return values


def suit_blind_ranges(rules: GameRules) -> tuple[Weights, Weights]:
    """Pairs and suited holes for player 0; offsuit ones, and the highest pair, for player 1."""
    deck, holes = rules.deck, naive.colexicographic(rules.deck.size, 2)
    pair, suited, high = (np.array(found) for found in zip(*[
        (deck.rank(a) == deck.rank(b), deck.suit(a) == deck.suit(b), deck.rank(a) == deck.ranks - 1) for a, b in holes
    ], strict=True))  # fmt: skip
    return np.where(pair, 0.5, suited), np.where(pair, high * 0.75, ~suited * 1.0)


@pytest.mark.parametrize("name", SMALL)
def test_small_games_equal_every_deal_walked(name: str) -> None:
    ranges = suit_blind_ranges(SMALL[name]) if name != "rhode" else None
    engine = game_engine(SMALL[name], ranges=ranges)
    plain = game_engine(SMALL[name], isomorphism=False, ranges=ranges)
    assert len(engine.cards.cards) < len(plain.cards.cards)
    if name != "rhode":
        early = engine.tree.street[engine.tree.kind == SHOWDOWN] < 3
        assert early.any()  # all-ins before the last street
        assert not early.all()
    strategy = mixed(engine)
    expected = twin(engine, strategy)
    assert min(expected[1] - expected[0], expected[3] - expected[2]) > 0.1
    assert looked_at(engine, written(engine, strategy)) == pytest.approx(expected, abs=1e-9)
    assert looked_at(plain, written(plain, strategy)) == pytest.approx(expected, abs=1e-9)


def test_ranges_with_weights_equal_every_deal_walked() -> None:
    """Different ranges for both players, with weights, from the start of the game."""
    rng = np.random.default_rng(2)
    holes = LIMIT.deck.holes(2)
    first, second = np.where(rng.random((2, holes)) < 0.5, rng.random((2, holes)), 0.0)
    engine = game_engine(LIMIT, ranges=(first, second))
    strategy = mixed(engine)
    assert looked_at(engine, written(engine, strategy)) == pytest.approx(twin(engine, strategy), abs=1e-9)


RAKED = "[rake]\nrate = 0.07\ncap = 15.5"


@pytest.mark.parametrize("more", ["", RAKED], ids=["no rake", "rake"])
@pytest.mark.parametrize("board", ["Ah 9h 4c 9d", "Ah 9h 4c 9d Js"])
def test_spots_equal_every_deal_walked(board: str, more: str) -> None:
    engine = spot_engine(spot(board, "one pair of suits", more=more))
    strategy = mixed(engine)
    expected, found = twin(engine, strategy), looked_at(engine, written(engine, strategy))
    assert found == pytest.approx(expected, abs=1e-9)
    gained = (expected[1] - expected[0] + expected[3] - expected[2]) / 2
    assert engine.exploitability(written(engine, strategy)) == pytest.approx(gained, abs=1e-9)
    if more:
        deals = every_deal(engine, 0)
        rake = naive.walker_value(engine.tree, 0, deals, strategy, payoffs(engine, 0, house=True))
        assert 1 < rake < 15.5
        assert found[0] + found[2] == pytest.approx(-rake, abs=1e-9)
    else:
        assert found[0] + found[2] == pytest.approx(0, abs=1e-9)


# --- arrangements that must not matter -----------------------------------------------------------------------------


# Flops and ranges that some renaming keeps; and one pair that none does.
TEXTURES = [
    *((flop, "symmetric") for flop in FLOPS if flop != "rainbow"),
    ("rainbow", "asymmetric"), ("monotone", "one pair of suits"), ("trips", "one pair of suits"),
]  # fmt: skip


@pytest.mark.parametrize(("flop", "ranges"), TEXTURES)
def test_renaming_suits_changes_nothing(flop: str, ranges: str) -> None:
    for board in (FLOPS[flop], FLOPS[flop] + " 2h", FLOPS[flop] + " 2h 9s"):
        spot_ = spot(board, ranges, "bet = [1.0]\ncap = 1\n[betting.turn]\ncap = 0")
        plain, folded = spot_engine(spot_, isomorphism=False), spot_engine(spot_)
        strategy = mixed(folded)
        values = looked_at(plain, written(plain, strategy))
        assert values[0] + values[2] == pytest.approx(0, abs=1e-9)
        assert looked_at(folded, written(folded, strategy)) == pytest.approx(values, abs=1e-9)
    flop_spot = spot(FLOPS[flop], ranges)
    smaller = len(flop_spot.boards().cards) < len(flop_spot.boards(isomorphism=False).cards)
    assert smaller == (ranges != "asymmetric")


@pytest.fixture(scope="module")
def turn() -> Iterator[Engine]:
    yield spot_engine(spot("Ah 9h 4c 9d", "one pair of suits", 'bet = [0.5, 1.0, "all-in"]\nraise = ["all-in"]'))


def test_spots_of_renamed_suits_have_renamed_values() -> None:
    suits = str.maketrans("cdhs", "hscd")
    first, second = RANGES["asymmetric"]
    text = 'pot = 60\nstack = 100\n[betting]\nbet = [0.5, "all-in"]\n'
    boards = ["Ah 9h 4c 9d", "Ah 9h 4c 9d Js"]
    permutation = ["cdhs".index("hscd"["cdhs".index(s)]) for s in "cdhs"]
    renamed = [
        hole_index(FULL_DECK.card(FULL_DECK.rank(c), permutation[FULL_DECK.suit(c)]) for c in hole_cards(hole))
        for hole in range(1326)
    ]
    for board in boards:
        values = []
        for change in (lambda t: t, lambda t: t.translate(suits)):
            one, two = (", ".join(_renamed_part(part, change) for part in r.split(", ")) for r in (first, second))
            cards = " ".join(card[0] + change(card[1]) for card in board.split())
            spot_ = read_spot(f'board = "{cards}"\n{text}[ranges]\noop = "{one}"\nip = "{two}"\n')
            engine = spot_engine(spot_)
            solver = VectorCFR(engine, "cfr+")
            solver.run(30)
            for player, mode in itertools.product(range(2), (BEST, EVALUATE)):
                by_hole = np.full(1326, np.nan)
                found = engine.walk(player, HoleRule(engine.tables(solver.average), mode))
                by_hole[engine.cards.holes(0, player)] = found
                values.append(by_hole)
        for before, after in zip(values[:4], values[4:], strict=True):
            assert np.isfinite(before).sum() > 5
            np.testing.assert_allclose(after[renamed], before, rtol=1e-9, atol=1e-9)


def _renamed_part(part: str, change: Any) -> str:
    """Single holes with their suits changed: `AhKh:0.5`; classes are left alone."""
    hole, colon, weight = part.partition(":")
    if len(hole) == 4 and hole[1] in "cdhs":
        hole = hole[0] + change(hole[1]) + hole[2] + change(hole[3])
    return hole + colon + weight


def test_cutting_the_last_street_into_groups_changes_nothing(turn: Engine) -> None:
    strategy = mixed(turn)
    expected = looked_at(turn, written(turn, strategy))
    solver = VectorCFR(turn, "discounted")
    solver.run(5)
    for rows, groups in ((1, 5), (75, 2)):
        cut = dataclasses.replace(turn, cache_bytes=rows * 8 * int(turn.cards.arrays.counts[1:].max()))
        assert np.diff(cut.program.arrays.street_groups).tolist() == [0, 0, 1, groups]
        assert cut.program.value_rows[3] < turn.program.value_rows[3]
        assert looked_at(cut, written(cut, strategy)) == expected
        again = VectorCFR(cut, "discounted")
        again.run(5)
        np.testing.assert_array_equal(again.regret, solver.regret)
        np.testing.assert_array_equal(again.average, solver.average)


def test_threads_do_not_matter(turn: Engine) -> None:
    threads = dataclasses.replace(turn, threads=3)
    assert threads.in_threads
    strategy = mixed(turn)
    expected = looked_at(turn, written(turn, strategy))
    assert looked_at(threads, written(threads, strategy)) == pytest.approx(expected, abs=1e-10)
    # Single updates from the same tables: over many, regrets that are zero but for rounding decide what is played.
    solver = VectorCFR(turn, "linear")
    solver.run(20)
    factors = np.float32(1), np.float32(0.5), np.float32(0.75)
    for walker in range(2):
        results = []
        for engine in (turn, threads):
            regret, average = solver.regret.copy(), solver.average.copy()
            rule = HoleRule(engine.tables(regret, regret, average), UPDATE, True, False, *factors)
            values = engine.walk(walker, rule)
            results.append((values, regret, average))
        for alone, together, before in zip(*results, (0.0, solver.regret, solver.average), strict=True):
            np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)
            assert np.abs(together - before).max() > 0.1


def test_float32_agrees_to_its_precision(turn: Engine) -> None:
    single = dataclasses.replace(turn, precision=np.float32)
    strategy = mixed(turn)
    table = written(turn, strategy).source.astype(np.float32)
    expected = looked_at(turn, written(turn, strategy))
    assert looked_at(single, single.tables(table)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("name", ["leduc", "limit", "no-limit"])
def test_fixed_probabilities_equal_the_same_in_a_table(name: str) -> None:
    """At every decision, all holes alike."""
    engine = game_engine(SMALL[name] if name in SMALL else load_game(name))
    program, rng = engine.program.arrays, np.random.default_rng(3)
    fixed, table = np.full(len(program.node), np.nan), engine.zeros()
    for place in np.flatnonzero(program.kind == DECISION):
        first, count = int(program.first_child[place]), int(program.num_children[place])
        chances = rng.dirichlet(np.ones(count))
        fixed[first : first + count] = chances
        street, player = engine.tree.street[program.node[place]], int(program.player[place])
        for board in np.flatnonzero(engine.cards.arrays.street == street):
            size = int(engine.cards.arrays.counts[board, player])
            start = int(engine.table_first[board, player]) + int(program.table_row[place]) * size
            table[start : start + count * size] = np.repeat(chances, size)
    values = looked_at(engine, engine.tables(table))
    assert values[1] > values[0] + 0.01
    assert looked_at(engine, engine.tables(None, fixed=fixed)) == pytest.approx(values, abs=1e-10)


def test_a_spot_can_be_an_odd_pot() -> None:
    """Of a pot that nobody can bet at, each player's share is its equity, measured from half the pot."""
    spot_ = spot("Ah 9h 4c 9d", "asymmetric", "bet = [1.0]\ncap = 0")
    engine = spot_engine(spot_)
    assert engine.stakes == Stakes(dead=1)
    first, second = spot_.ranges
    shares = equity(first, second, FULL_DECK.text(spot_.board)).equity
    for player in range(2):
        value = engine.evaluate(player, engine.tables(engine.zeros()))
        assert value == pytest.approx(101 * shares[player] - 50.5, abs=1e-9)


CHECKED = """
import numpy as np
from equipoise import load_game, build_tree
from equipoise.walk.engine import Engine
from equipoise.spots.spot import read_spot
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.tree.boards import deal_boards

spot = read_spot('''
board = "Ah 9h 4c 9d"
pot = 10
stack = 20
rake.rate = 0.1
ranges = { oop = "AhKh, QQ, 44", ip = "JJ, AcQc" }
betting = { bet = [0.5, 1.0, "all-in"] }
''')
engines = [Engine(build_tree(rules), deal_boards(rules)) for rules in (load_game("kuhn"), load_game("leduc"))]
engines.append(Engine(spot.tree(), spot.boards(), spot.stakes))
for engine in engines:
    for variant in ("practical", "predictive"):
        solver = VectorCFR(engine, variant)
        solver.run(200)
        print(f"{solver.exploitability():.4f}")
"""


@pytest.mark.slow
def test_every_index_is_within_its_array() -> None:
    """The same numbers with every index checked (sixteen-wide loads and stores aside)."""
    printed = []
    for checked in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", CHECKED],
            env=os.environ | {"NUMBA_BOUNDSCHECK": checked},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    assert all(float(line) < 0.05 for line in printed[0].split())
