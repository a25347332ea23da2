"""The cost of a run, known before it starts: tree, information sets, memory and disk."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.build import planned_bytes
from equipoise.core.errors import InputError
from equipoise.core.machine import available_memory
from equipoise.core.wording import counted, size_text
from equipoise.games.rules import PLAYERS
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.runs.network_size import (
    FLOAT,
    bytes_of_heads,
    bytes_of_sums,
    bytes_per_sample,
    feature_count,
    most_actions,
    needs_reservoir,
    vector_length,
)
from equipoise.runs.recipe import Recipe
from equipoise.solvers.cfr_br.hybrid import BOARDS
from equipoise.tree.betting_tree import BYTES_A_NODE, DECISION, BettingTree, build_tree
from equipoise.tree.infosets import SlotLayout, lossless_hands
from equipoise.tree.trunk import check_trunk, subgame_boards, trunk_slots
from equipoise.walk.bucketed_engine import check_boards, holes_by_street

REGRET = CHANCES = 4  # bytes a slot
STRATEGIES = 5  # bytes a slot: float32 and bytes
MOST_SLOTS = 5_000_000  # of a table that a run of networks writes as well
PADDING = 1 << 15  # of the arrays of a memory in a checkpoint
UNKNOWN_ITERATIONS = 200  # the guess for a run of networks that stops by minutes


@dataclass(frozen=True)
class Cost:
    """The cost of a recipe. Memory includes the hybrid solver's workspace only; disk, a checkpoint being written."""

    nodes: int
    buckets: tuple[int, ...]
    infosets: int
    slots: int
    table_bytes: int
    trunk_bytes: int  # part of the memory: CFR-BR's opponents in the trunk
    memory_bytes: int
    disk_bytes: int
    samples_bytes: int = 0  # part of the memory: the samples that networks are trained on

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return asdict(self)

    def check(self, out: Path) -> None:
        """Refuse a run that does not fit."""
        self.check_memory()
        self.check_disk(out)

    def check_memory(self) -> None:
        """Refuse a run that needs more memory than is free."""
        free = available_memory()
        if self.memory_bytes > free:
            raise InputError(
                f"{counted(self.nodes, 'betting node')}, {counted(self.infosets, 'information set')}: the run needs "
                f"{size_text(self.memory_bytes)} of memory, and only {size_text(free)} is free",
                remedy=self._remedy(free),
            )

    def check_disk(self, out: Path) -> None:
        """Refuse a run that needs more disk than is free."""
        folder = out.absolute()
        while not folder.exists():
            folder = folder.parent
        room = shutil.disk_usage(folder).free + _held(out)
        if self.disk_bytes > room:
            raise InputError(
                f"the run needs {size_text(self.disk_bytes)} of disk, and only {size_text(room)} is free",
                where=str(out),
                remedy="name a folder on a larger disk, or keep fewer checkpoints",
            )

    def on_disk(self) -> Cost:
        """The same with all tables in files."""
        files = self.disk_bytes + self.table_bytes + CHANCES * self.slots  # and the strategy while it is collected
        return replace(self, memory_bytes=self.memory_bytes - self.table_bytes - self.slots, disk_bytes=files)

    def _remedy(self, free: int) -> str:
        """What would make it fit: less of the largest part."""
        if 2 * self.samples_bytes > free:
            return "use a smaller deep.memory"
        if self.samples_bytes:
            return "use a smaller deep.keep or deep.hidden, or fewer bet sizes"
        return f"use {'a shorter trunk' if 2 * self.trunk_bytes > free else 'fewer buckets or bet sizes'}"


def _held(out: Path) -> int:
    """Bytes that a resumed run already has on disk."""
    return sum(path.stat().st_size for path in out.glob("**/*") if path.is_file())


def cost_of(recipe: Recipe, tree: BettingTree | None = None, threads: int = 1) -> Cost:
    """The cost of a recipe; builds its betting tree unless it is given."""
    tree = build_tree(recipe.game.rules, recipe.game.menu) if tree is None else tree
    buckets = recipe.game.cards.buckets(recipe.game.rules)
    layout = SlotLayout(tree, buckets)
    if recipe.deep:
        return _deep_cost(recipe, recipe.deep, layout)
    tables = layout.bytes(REGRET * recipe.solver.tables)
    opponents = _opponents(recipe, tree)
    currents = (recipe.checkpoint.keep + 2) * recipe.solver.reservoirs.count  # per checkpoint, and the final ones
    while_measuring = 0 if recipe.measure.method == "none" else CHANCES * layout.slots
    at_the_end = layout.slots  # tables become probabilities in place; only the byte copy is new
    maps = planned_bytes(recipe.game.rules, recipe.game.cards) + working_bytes(recipe, threads, tree)
    return Cost(
        nodes=len(tree),
        buckets=buckets,
        infosets=layout.infosets,
        slots=layout.slots,
        table_bytes=tables,
        trunk_bytes=opponents if recipe.solver.trunk else 0,
        memory_bytes=tables + opponents + max(while_measuring, at_the_end) + maps + BYTES_A_NODE * len(tree),
        disk_bytes=(recipe.checkpoint.keep + 1) * (tables + opponents) + (STRATEGIES + currents) * layout.slots,
    )


def _deep_cost(recipe: Recipe, deep: DeepRecipe, layout: SlotLayout) -> Cost:
    """The cost of networks: memories, snapshots, and the betting of all nodes as features."""
    tree, actions, features = layout.tree, most_actions(layout.tree), feature_count(layout.tree)
    network = PLAYERS * FLOAT * vector_length(tree, deep.hidden, deep.strength, deep.heads, deep.table)
    memories = PLAYERS if deep.algorithm == "sd-cfr" else 2 * PLAYERS
    kept_samples = deep.memory if needs_reservoir(tree, deep.sums, deep.table) else 1
    with_samples = memories if deep.average_steps else PLAYERS
    samples = with_samples * kept_samples * bytes_per_sample(actions)
    samples += memories // PLAYERS * bytes_of_sums(tree, deep.sums, deep.table)
    samples += bytes_of_heads(tree, deep.hidden, deep.table) if deep.solve_heads else 0
    kept = 1
    if deep.algorithm == "sd-cfr":
        kept += recipe.stop.iterations or UNKNOWN_ITERATIONS
        kept = min(kept, deep.keep or kept)
    table = STRATEGIES * layout.slots if layout.slots <= MOST_SLOTS else 0
    node = BYTES_A_NODE + FLOAT * (2 * features + PLAYERS * deep.hidden)
    return Cost(
        nodes=len(tree),
        buckets=layout.buckets,
        infosets=layout.infosets,
        slots=layout.slots,
        table_bytes=0,
        trunk_bytes=0,
        memory_bytes=samples + 2 * kept * network + table + node * len(tree),  # a checkpoint copies the snapshots
        disk_bytes=(recipe.checkpoint.keep + 1) * (samples + memories * PADDING + (kept + 3) * network)
        + kept * network
        + table,
        samples_bytes=samples,
    )


def working_bytes(recipe: Recipe, threads: int, tree: BettingTree | None = None) -> int:
    """Upper bound on the workspace of one iteration of the hybrid solver.

    Each subgame has last-street rows for both seats (a strategy, a value, and a reach for each decision); each thread,
    one bit for every action of a best response.
    """
    if not (trunk := recipe.solver.trunk):
        return 0
    rules, tree = recipe.game.rules, build_tree(recipe.game.rules, recipe.game.menu) if tree is None else tree
    river = (tree.kind == DECISION) & (tree.street == rules.rounds - 1)
    actions = [int(tree.num_children[river & (tree.player == player)].sum()) for player in range(PLAYERS)]
    holes, below = rules.deck.holes(rules.hole_cards), subgame_boards(rules, trunk)
    rows = min(recipe.game.cards.buckets(rules)[-1], holes * below)
    tables = rows * REGRET * (2 * sum(actions) + int(river.sum()))
    choices = below * max(actions) * holes // 8 if trunk < rules.rounds else 0
    return (recipe.solver.boards or BOARDS) * tables + threads * choices


def _opponents(recipe: Recipe, tree: BettingTree) -> int:
    """Bytes of CFR-BR's opponents: an action for every hole, decision and board, or their regrets in a trunk."""
    if recipe.solver.method != "cfr-br":
        return 0
    if recipe.solver.trunk:
        check_trunk(recipe.game.rules, recipe.solver.trunk)
        return REGRET * trunk_slots(SlotLayout(tree, lossless_hands(recipe.game.rules)), recipe.solver.trunk)
    check_boards(recipe.game.rules)
    return sum(
        count * holes for count, holes in zip(tree.count(DECISION), holes_by_street(recipe.game.rules), strict=True)
    )
