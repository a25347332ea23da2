"""Exact exploitability: the best response to a strategy in the whole game, by the vector walk.

(Johanson and others 2011.) The walk is cut at the flop. Each flop, one per suit-isomorphism class, is walked on its own
(small games: many at once) and adds to the value of every call that ends the first street; then the first street is
finished. A sample of flops, drawn with replacement in proportion to class size, gives an estimate. If the responder's
play on the first street is chosen on the same flops that value it, the estimate is too high; if it is chosen on all
flops but the one that values it, too low. We report the middle; the interval covers both and the sampling error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.agents.card_blind import Strategy
from equipoise.agents.function import FunctionStrategy
from equipoise.agents.named import Measurable, as_strategy
from equipoise.cards.deck import check_hole_cards
from equipoise.cards.symmetry import deal_classes, renamings_that_keep
from equipoise.core.display import table_html
from equipoise.core.errors import InputError, check_count, shown
from equipoise.core.jit import F64, I32, I64
from equipoise.core.machine import thread_count
from equipoise.core.progress import Fraction
from equipoise.games.bet_menu import BetMenu
from equipoise.games.gamedef import as_game
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.measure.flop_file import FlopFile
from equipoise.measure.flop_sample import FlopSample
from equipoise.measure.streets import TIE, StreetWalk
from equipoise.tree.betting_tree import DECISION, SHOWDOWN, BettingTree, build_tree, prune
from equipoise.tree.boards import PublicCards, deal_boards
from equipoise.tree.game_report import menu_of
from equipoise.walk.engine import Engine
from equipoise.walk.last_street.best_response import LastStreet, compile_last_street
from equipoise.walk.plan import BEST

METHODS = ("auto", "exact")
LEAST_SAMPLE = 5
MOST_SAMPLE = 100_000  # hold'em has 22,100 flops, 1,755 up to suits: beyond this, walking all is less work
MOST_PLACES = 60_000_000  # holes on all boards walked at once; beyond this, flop by flop
MOST_PAIRS = 2e11  # runouts x pairs of holes of an all-in on the first street


@dataclass(frozen=True)
class Exploitability:
    """What best responses win, in chips per hand by player: the player responds, the strategy is the opponent."""

    player_values: tuple[float, float]
    by_street: dict[str, tuple[float, float]]  # the part from hands whose betting ended there
    big_blind: int
    method: str  # "exact", or "sampled": an estimate from some flops, with an interval
    flops: int  # distinct flops walked; 0 in a game without flops
    seconds: float
    sample: FlopSample | None = None  # where flops were sampled
    all_flops: int = 0  # of the game, one per suit-isomorphism class

    def __repr__(self) -> str:
        width = "" if self.ci95_mbb is None else f" ± {self.ci95_mbb:.2f}"
        return f"Exploitability({self.exploitability:.2f}{width} mbb/g, {self.method})"

    def to_rows(self) -> list[dict[str, Any]]:
        """What best responses win, in mbb/g: a row for each street where hands end, and one for all."""
        parts = {**self.by_street, "all": self.player_values}
        return [
            {"ends": street, **{f"player {p}": self._mbb(v) for p, v in enumerate(of)}} for street, of in parts.items()
        ]

    _repr_html_ = table_html

    @property
    def ci95_mbb(self) -> float | None:
        """Half the width of the interval, where flops were sampled."""
        return None if self.sample is None else self.sample.estimate[1]

    @property
    def exploitability(self) -> float:
        """The average of both players' values, in mbb/g."""
        return self._mbb(sum(self.player_values) / PLAYERS)

    def _mbb(self, chips: float) -> float:
        return 1000 * chips / self.big_blind

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return {
            "exploitability_mbb": self.exploitability,
            **({} if self.ci95_mbb is None else {"ci95_mbb": self.ci95_mbb}),
            "method": self.method,
            "player_values_mbb": [self._mbb(value) for value in self.player_values],
            "by_street_mbb": {street: [self._mbb(v) for v in values] for street, values in self.by_street.items()},
            "flops": self.flops,
            **({} if self.sample is None else {"draws": len(self.sample.flops), "all_flops": self.all_flops}),
            "seconds": self.seconds,
        }


def exploitability(
    game: GameRules | str,
    agent: Measurable,
    *,
    menu: BetMenu | str | None = None,
    method: str = "auto",
    sample_flops: int | None = None,
    seed: int = 1,
    threads: int = 0,
    by_flop: bool | None = None,
    out: str | Path | None = None,
    progress: Fraction | None = None,
) -> Exploitability:
    """How much best responses win against a strategy, an agent with a table, a function of a view, or a name
    (`agents/named.py`).

    The game is its rules, the name of a built-in one, or a gamedef file.

    >>> round(exploitability("leduc", "uniform", threads=1).exploitability, 4)
    2373.6111

    A no-limit game takes a bet menu for both players (default: `standard`). Large games are walked flop by flop
    (`by_flop` forces it). With `out`, finished flops are stored in that file, and a later run continues from it.
    `threads`: 0 for all cores.
    """
    if method not in METHODS:
        raise InputError(f"unknown method {shown(method)}", remedy=f"use {' or '.join(METHODS)}")
    started = time.monotonic()
    rules = as_game(game)
    strategy, bets = as_strategy(agent, rules, menu)
    if out is not None and isinstance(strategy, FunctionStrategy):
        raise InputError(f"flops of the function {shown(strategy.name)}", remedy="leave out the file: functions change")
    found = measurement_of(rules, strategy, bets, threads).found(sample_flops, seed, by_flop, out, progress)
    return replace(found, seconds=time.monotonic() - started)


def measurement_of(rules: GameRules, strategy: Strategy, menu: BetMenu | str | None, threads: int) -> Measurement:
    """The measurement behind `exploitability`, for several questions about one strategy."""
    return Measurement(rules, strategy, build_tree(rules, menu_of(rules, menu)), thread_count(threads))


def _check_flops(rules: GameRules, sample_flops: int | None, out: str | Path | None) -> None:
    has_flops = rules.rounds > 1 and rules.board_cards[1] > 0
    if not has_flops and (sample_flops is not None or out is not None):
        raise InputError("a game without flops", remedy="leave out the sample and the file of flops")
    if sample_flops is not None:
        check_count(sample_flops, "flops to sample", LEAST_SAMPLE, MOST_SAMPLE)


@dataclass(frozen=True, eq=False)
class Measurement:
    """One strategy in one game. A flop is a number: the index of its class in `deals`."""

    rules: GameRules
    strategy: Strategy
    tree: BettingTree
    threads: int

    def __post_init__(self) -> None:
        rules = self.rules
        check_hole_cards(rules.hole_cards, "the exact best response")
        unseen = rules.deck.size - PLAYERS * rules.hole_cards
        pairs = comb(unseen, sum(rules.board_cards)) * rules.deck.holes(rules.hole_cards) ** 2
        if rules.rounds > 1 and self._early_all_ins and pairs > MOST_PAIRS:
            raise InputError(
                f"an all-in before the first deal has {pairs:.0e} showdowns",
                remedy="use a smaller deck or a limit game",
            )

    @property
    def _early_all_ins(self) -> bool:
        return bool((self.tree.kind[self.tree.street == 0] == SHOWDOWN).any())

    @cached_property
    def deals(self) -> tuple[Any, I64]:
        """The first deals, one per class: cards, and the size of the class."""
        rules = self.rules
        every = np.ones(rules.deck.holes(rules.hole_cards))
        renamings = renamings_that_keep(rules.deck, rules.hole_cards, [every])
        cards, sizes = deal_classes(rules.deck, (), rules.board_cards[1], renamings)
        return cards, sizes.astype(np.int64)

    @cached_property
    def is_large(self) -> bool:
        """Whether all boards together are too many to be walked at once."""
        rules = self.rules
        places = PLAYERS * len(self.deals[0]) * rules.deck.holes(rules.hole_cards)
        for street in range(2, rules.rounds):
            places *= comb(rules.deck.size - rules.board_size(street - 1), rules.board_cards[street])
        return places > MOST_PLACES

    @cached_property
    def sides(self) -> list[_Side]:
        """The two best responses, by player."""
        many = self.rules.rounds > 1
        cards = deal_boards(self.rules, first_deals=[0] if many else None)
        precision = np.float32 if many and self.is_large else np.float64
        never = self.strategy.never(self.tree)
        theirs = [never & (self.tree.player[self.tree.parent] == 1 - player) for player in range(PLAYERS)]
        engines = [Engine(prune(self.tree, gone), cards, precision=precision) for gone in theirs]
        return [_Side(player, engine, self.strategy) for player, engine in enumerate(engines)]

    def found(
        self,
        sample_flops: int | None = None,
        seed: int = 1,
        by_flop: bool | None = None,
        out: str | Path | None = None,
        progress: Fraction | None = None,
    ) -> Exploitability:
        """See `exploitability`."""
        started, rules = time.monotonic(), self.rules
        _check_flops(rules, sample_flops, out)
        flops, sample = 0, None
        if rules.rounds == 1:
            parts = self.one_street()
        elif sample_flops is not None:
            drawn = self.draw(sample_flops, seed)
            by_number = self.flops(sorted(set(drawn.tolist())), out, progress)
            parts, sample = self.estimate(drawn, by_number)
            flops = len(by_number)
        else:
            apart = self.is_large if by_flop is None else by_flop
            parts = self.exact(apart or out is not None, out, progress)
            flops = len(self.deals[0])
        return Exploitability(
            player_values=(float(parts[0].sum()), float(parts[1].sum())),
            by_street={rules.street_name(s): (float(v[0]), float(v[1])) for s, v in enumerate(parts.T)},
            big_blind=rules.big_blind,
            method="exact" if sample is None else "sampled",
            flops=flops,
            seconds=time.monotonic() - started,
            sample=sample,
            all_flops=len(self.deals[0]) if flops else 0,
        )

    def has_all_flops(self, path: str | Path) -> bool:
        """Whether a file has the values of every flop."""
        return len(self.file(path).values) == len(self.deals[0])

    def one_street(self) -> F64:
        """[player, street] where there is one street only."""
        values = [side.engine.evaluate(side.player, self.strategy.tables(side.engine), BEST) for side in self.sides]
        return np.array(values)[:, np.newaxis]

    def exact(self, apart: bool, out: str | Path | None, progress: Fraction | None) -> F64:
        """[player, street] values of a best response, all flops walked."""
        count = len(self.deals[0])
        if apart:
            found = self.flops(range(count), out, progress)
        else:
            pieces = 1 if self._early_all_ins else min(count, self.threads)  # each piece builds the all-in matrix
            numbers = np.array_split(np.arange(count), pieces)
            found = dict(self._walk_all([piece.tolist() for piece in numbers], progress))
        return self._respond(sum(found[i].astype(np.float64) for i in sorted(found)))

    def _respond(self, brought: F64, chosen_by: F64 | None = None) -> F64:
        """[player, street] what best responses win, given the values of deals; actions are the best for `chosen_by`."""
        cut = self.sides[0].size
        guides = (None, None) if chosen_by is None else (chosen_by[:cut], chosen_by[cut:])
        parts = (brought[:cut], brought[cut:])
        return np.array([side.finish(part, guide) for side, part, guide in zip(self.sides, parts, guides, strict=True)])

    def flops(self, numbers: Sequence[int], out: str | Path | None, progress: Fraction | None) -> dict[int, Any]:
        """The values of some flops: from the file if it has them, else walked and added to the file."""
        file = self.file(out) if out is not None else None
        found = dict(file.values) if file else {}
        missing = [number for number in numbers if number not in found]
        for i, values in self._walk_all([[number] for number in missing], progress):
            found[missing[i]] = values
            if file:
                file.add(missing[i], values)
        return {number: found[number] for number in numbers}

    def file(self, path: str | Path) -> FlopFile:
        """The file of flop values for this measurement."""
        tree = self.tree
        made_for = {
            "game": self.rules.fingerprint,
            "tree": blake2b(tree.parent.tobytes() + tree.action.tobytes(), digest_size=8).hexdigest(),
            "strategy": self.strategy.name,
        }
        length = sum(side.size for side in self.sides)
        return FlopFile(path, made_for, length, self.sides[0].engine.precision)

    def _walk_all(self, pieces: list[list[int]], progress: Fraction | None) -> Iterator[tuple[int, Any]]:
        """Walk pieces in threads; yields numbers and values as they finish."""
        for side in self.sides:
            side.prepare()
        pool = ThreadPoolExecutor(self.threads)
        try:
            numbers: dict[Future[Any], int] = {pool.submit(self.walk, piece): i for i, piece in enumerate(pieces)}
            for done, future in enumerate(as_completed(numbers), 1):
                yield numbers[future], future.result()[0]
                if progress:
                    progress(done / len(pieces))
        finally:
            pool.shutdown(cancel_futures=True)

    def walk(self, flops: Sequence[int]) -> tuple[Any, int]:
        """The values of some flops for both players, flat, and their number of last-street boards."""
        cards = deal_boards(self.rules, first_deals=flops)
        brought = np.concatenate([side.walk(cards).ravel() for side in self.sides])
        return brought, cards.street_first[-1] - cards.street_first[-2]

    def draw(self, count: int, seed: int) -> I64:
        """Random flops, in proportion to the size of their class."""
        sizes = self.deals[1]
        return np.random.default_rng(seed).choice(len(sizes), count, p=sizes / sizes.sum())

    def estimate(self, drawn: I64, found: dict[int, Any]) -> tuple[F64, FlopSample]:
        """[player, street] values from a sample of flops, and the estimate of each draw."""
        sizes, count = self.deals[1], len(drawn)
        times = {number: sizes.sum() / sizes[number] for number in found}  # one over its chance
        whole = sum(found[number].astype(np.float64) * times[number] for number in drawn.tolist())
        flattered, modest = {}, {}
        for number, values in found.items():
            alone = values.astype(np.float64) * times[number]
            flattered[number] = self._respond(alone, chosen_by=whole / count)
            modest[number] = self._respond(alone, chosen_by=(whole - alone) / (count - 1))
        both = np.array(
            [(flattered[number], modest[number]) for number in drawn.tolist()]
        )  # [draw, which, player, street]
        by_draw = both.sum(axis=3).mean(axis=(1, 2))
        high, low = both.sum(axis=3).mean(axis=(0, 2))
        unit = 1000 / self.rules.big_blind
        doubt = float(unit * (high - low) / 2)
        return both.mean(axis=(0, 1)), FlopSample(tuple(drawn.tolist()), tuple((unit * by_draw).tolist()), doubt)


class _Classes(NamedTuple):
    """Classes of holes that are isomorphic before the deal; they have the same values."""

    member: F64  # [hole, class] 1 / size where the hole is of the class
    sizes: F64  # [class]

    @classmethod
    def of(cls, engine: Engine) -> _Classes:
        boards = engine.cards.arrays
        _, index = np.unique(boards.orbit[: boards.counts[0, 0]], return_inverse=True)
        sizes = np.bincount(index).astype(np.float64)
        return cls(np.eye(len(sizes))[index] / sizes, sizes)

    def mean(self, by_hole: Any) -> Any:
        """[..., hole] -> [..., class]."""
        return np.einsum("...h,hc->...c", by_hole.astype(np.float64), self.member)  # small: threads would only wait


@dataclass(frozen=True, eq=False)
class _Side:
    """The best response of one player: walked below flops, and finished on the first street.

    What the strategy never plays is not in this engine's tree.
    """

    player: int
    engine: Engine  # on some flop; its betting program serves all
    strategy: Strategy

    @cached_property
    def classes(self) -> _Classes:
        return _Classes.of(self.engine)

    @cached_property
    def streets(self) -> int:
        return self.engine.tree.rules.rounds

    @cached_property
    def deals(self) -> I32:
        """The rows of the first street whose calls lead to the flop."""
        program = self.engine.program.arrays
        return program.deals[: program.group_deals[1]]

    @property
    def size(self) -> int:
        """Number of values per flop: [total or part, deal, class]."""
        return (self.streets - 1) * len(self.deals) * len(self.classes.sizes)

    @cached_property
    def terminals(self) -> F64:
        """[place, class] values of the first street's terminals, other rows unset."""
        rows = StreetWalk(self.engine, self.strategy, self.player, self.last_street).go_down()
        return np.asarray(self.classes.mean(rows))

    @cached_property
    def last_street(self) -> LastStreet | None:
        """The last street's betting, sixteen entries at a time; None where the general walk is needed."""
        program, precision = self.engine.program, self.engine.precision
        steps = None if self.strategy.by_board else compile_last_street(program, self.player)
        if steps is None:
            return None
        if self.strategy.by_bucket:
            profile = self.strategy.by_bucket.profile
            node = program.arrays.node
            return steps.against_buckets(
                lambda place: profile.at(int(node[place])), profile.layout.buckets[-1], precision
            )
        path = self.strategy.tables(self.engine).path[self.player]
        return steps.against_card_blind(path, precision) if path.size else None

    def prepare(self) -> None:
        """Compute what threads share."""
        _ = self.terminals, self.deals, self.last_street

    def walk(self, cards: PublicCards) -> Any:
        """The values of some flops: [total or part, deal, class], as `StreetWalk.run`."""
        engine = self.engine.on(cards)
        values = StreetWalk(engine, self.strategy, self.player, self.last_street).run()
        return self.classes.mean(values).astype(engine.precision)

    def finish(self, brought: F64, chosen_by: F64 | None) -> F64:
        """[street] what the best response wins in hands that end there; its actions are the best for `chosen_by`."""
        program = self.engine.program.arrays
        rows = self._lay_out(brought)
        guide = rows if chosen_by is None else self._lay_out(chosen_by)
        tables = (rows,) if guide is rows else (rows, guide)
        for place in range(len(self.terminals) - 1, -1, -1):
            if program.kind[place] != DECISION:
                continue
            first = int(program.first_child[place])
            below = slice(first, first + int(program.num_children[place]))
            if program.player[place] != self.player:
                for table in tables:
                    table[:, place] = table[:, below].sum(axis=1)
                continue
            most = guide[0, below].max(axis=0)
            best = (guide[0, below] >= most - TIE * abs(most)).argmax(axis=0)[np.newaxis, np.newaxis]
            for table in tables:
                table[:, place] = np.take_along_axis(table[:, below], best, axis=1)[:, 0]
            guide[0, place] = most
        total, *parts = rows[:, 0] @ self.classes.sizes / self.engine.meetings
        return np.array([*parts, total - sum(parts)])

    def _lay_out(self, brought: F64) -> F64:
        """[total or part, place, class]; parts are those of the first street, the second, ... but the last."""
        by_deal = brought.reshape(self.streets - 1, len(self.deals), len(self.classes.sizes))
        rows = np.zeros((self.streets, *self.terminals.shape))
        rows[:2] = self.terminals
        rows[0, self.deals] = by_deal[0]
        rows[1, self.deals] = 0
        rows[2:, self.deals] = by_deal[1:]
        return rows
