"""The size of a game, known before it is solved: betting tree, information sets, memory of a solve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from equipoise.core.display import table_html
from equipoise.core.errors import InputError
from equipoise.games.bet_menu import BetMenu, load_menu
from equipoise.games.gamedef import as_game, write_gamedef
from equipoise.games.rules import GameRules
from equipoise.tree.betting_tree import DEAL, DECISION, FOLDED, SHOWDOWN, BettingTree, build_tree
from equipoise.tree.infosets import REGRET_AND_AVERAGE, SlotLayout, lossless_hands, raw_hands
from equipoise.tree.trunk import TrunkMemory, trunk_memory

DEFAULT_MENU = "standard"


def menu_of(rules: GameRules, menu: str | BetMenu | None) -> BetMenu | None:
    """The menu of a no-limit game, by default the standard one; a limit game takes none."""
    if rules.limit:
        if menu is not None:
            raise InputError(f"{rules.name} is a limit game: its bets are fixed", remedy="leave out the menu")
        return None
    return menu if isinstance(menu, BetMenu) else load_menu(menu or DEFAULT_MENU, rules)


@dataclass(frozen=True)
class StreetReport:
    """One street of a game: betting nodes, hands, information sets."""

    street: str
    entries: int
    decisions: int
    folds: int
    showdowns: int
    deals: int
    actions: int
    raw_hands: int
    hands: int  # buckets, or hands up to a renaming of suits
    infosets: int
    slots: int


@dataclass(frozen=True)
class GameReport:
    """A game, its tree, and the memory for tables of regret and average strategy (two float32 per slot)."""

    game: str
    gamedef: str
    fingerprint: str
    menu: str | None
    cards: str  # "lossless" or "bucketed"
    streets: tuple[StreetReport, ...]
    nodes: int
    infosets: int
    raw_infosets: int
    slots: int
    memory_bytes: int
    trunk: TrunkMemory | None = None  # memory of CFR-BR with a trunk, if requested

    def __repr__(self) -> str:
        return f"GameReport({self.game}: {self.nodes:,} nodes, {self.infosets:,} information sets, {self.cards} cards)"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each street."""
        return [asdict(street) for street in self.streets]

    _repr_html_ = table_html

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return asdict(self)


def game_report(
    game: str | GameRules,
    menu: str | BetMenu | None = None,
    buckets: Sequence[int] = (),
    trunk: int | None = None,
) -> GameReport:
    """The report of a built-in game or a gamedef file, for a menu and buckets by street (default: lossless).

    `trunk` adds the memory of CFR-BR's unabstracted player for a trunk of that many rounds.
    """
    rules = as_game(game)
    tree = build_tree(rules, menu_of(rules, menu))
    by_street = _buckets(buckets, rules)
    layout = SlotLayout(tree, by_street or lossless_hands(rules))
    return GameReport(
        game=rules.name,
        gamedef=write_gamedef(rules),
        fingerprint=rules.fingerprint,
        menu=tree.menu.name if tree.menu else None,
        cards="bucketed" if by_street else "lossless",
        streets=_streets(tree, layout),
        nodes=len(tree),
        infosets=layout.infosets,
        raw_infosets=SlotLayout(tree, raw_hands(rules)).infosets,
        slots=layout.slots,
        memory_bytes=layout.bytes(REGRET_AND_AVERAGE),
        trunk=None if trunk is None else trunk_memory(tree, trunk),
    )


def _buckets(buckets: Sequence[int], rules: GameRules) -> tuple[int, ...]:
    """One number serves all streets."""
    if any(count < 1 for count in buckets):
        raise InputError(f"buckets {tuple(buckets)}", remedy="give a positive number for each street")
    return tuple(buckets) * rules.rounds if len(buckets) == 1 else tuple(buckets)


def _streets(tree: BettingTree, layout: SlotLayout) -> tuple[StreetReport, ...]:
    by_kind = {kind: tree.count(kind) for kind in (DECISION, FOLDED, SHOWDOWN, DEAL)}
    return tuple(
        StreetReport(
            street=tree.rules.street_name(street),
            entries=len(tree.entries[street]),
            decisions=by_kind[DECISION][street],
            folds=by_kind[FOLDED][street],
            showdowns=by_kind[SHOWDOWN][street],
            deals=by_kind[DEAL][street],
            actions=tree.actions_by_street()[street],
            raw_hands=raw_hands(tree.rules)[street],
            hands=layout.buckets[street],
            infosets=layout.infosets_by_street[street],
            slots=layout.slots_by_street[street],
        )
        for street in range(tree.rules.rounds)
    )
