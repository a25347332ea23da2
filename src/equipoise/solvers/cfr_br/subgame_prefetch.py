"""The subgames that a run of the hybrid agent samples, dealt before they are asked for.

Both seats ask for the subgames of one iteration after the other, each in its own time. Iterations come in blocks, whose
boards are sampled at once: many where subgames are small, so that the seats need not wait for each other often, and one
where they are large. With threads, the next block is dealt while a block is walked. Where all subgames of a game fit,
they are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from equipoise.games.rules import GameRules
from equipoise.solvers.board_samples import BoardSource
from equipoise.solvers.cfr_br.board_curriculum import GrowingBoards
from equipoise.solvers.cfr_br.subgame_engine import Prepared
from equipoise.tree.trunk import subgame_boards

KEPT_BYTES = 400_000_000  # of subgames that are kept for the next time
BLOCK = 256  # last boards of a block of iterations, unless one has more

Dealt = Prepared | Future[Prepared]


def block_of(rules: GameRules, trunk: int, boards: int) -> int:
    """How many iterations of so many subgames are a block."""
    return max(1, BLOCK // (boards * subgame_boards(rules, trunk)))


class DealtSubgames:
    """Subgames by iteration. Any number of threads may ask, within a block or the next."""

    def __init__(
        self,
        source: BoardSource | GrowingBoards,
        deal: Callable[[tuple[int, ...], float], Prepared],
        boards: int,
        block: int,
        *,
        ahead: bool,
    ) -> None:
        self._source, self._deal, self._boards, self.block = source, deal, boards, block
        self._pool = ThreadPoolExecutor(1) if ahead else None
        self._blocks: dict[int, list[Dealt]] = {}
        self._kept: dict[tuple[int, ...], Prepared] = {}
        self._lock = Lock()

    def of(self, iteration: int) -> list[Prepared]:
        """The subgames of an iteration."""
        number, at = divmod(iteration, self.block)
        wanted = (number, number + 1) if self._pool else (number,)
        with self._lock:
            if any(each not in self._blocks for each in wanted):
                self._blocks = {each: self._blocks.get(each) or self._begin(each) for each in wanted}
            dealt = self._blocks[number][at * self._boards : (at + 1) * self._boards]
        return [each.result() if isinstance(each, Future) else each for each in dealt]

    def _begin(self, number: int) -> list[Dealt]:
        """Sample the boards of a block, and deal its subgames or have them dealt."""
        count = self.block * self._boards
        boards, weights = self._source.boards(number * count, count)
        samples = list(zip(map(tuple, boards.tolist()), weights.tolist(), strict=True))
        return [self._kept.get(board) or self._have_dealt(board, weight) for board, weight in samples]

    def _have_dealt(self, board: tuple[int, ...], weight: float) -> Dealt:
        if self._pool:
            return self._pool.submit(self._deal_and_keep, board, weight)
        return self._deal_and_keep(board, weight)

    def _deal_and_keep(self, board: tuple[int, ...], weight: float) -> Prepared:
        prepared = self._deal(board, weight)
        if prepared.subgame.bytes * self._source.comes_again <= KEPT_BYTES:
            self._kept[board] = prepared
        return prepared
