"""The sampled subgames of a run of the hybrid agent, dealt before they are needed.

The seats ask for the subgames of each iteration at their own pace. Iterations come in blocks whose boards are sampled
together: long blocks where subgames are small, so that the seats rarely wait for each other, and blocks of one where
they are large. With threads, the next block is dealt while a block is walked. Subgames are kept if all of them fit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from equipoise.games.rules import GameRules
from equipoise.solvers.board_samples import BoardSource
from equipoise.solvers.cfr_br.board_curriculum import BoardCurriculum
from equipoise.solvers.cfr_br.subgame_engine import PreparedSubgame
from equipoise.tree.trunk import subgame_boards

KEPT_BYTES = 400_000_000  # most memory of subgames that are kept
BLOCK = 256  # last boards in a block of iterations, unless one iteration has more

Pending = PreparedSubgame | Future[PreparedSubgame]


def iterations_per_block(rules: GameRules, trunk: int, boards: int) -> int:
    """Number of iterations in a block; each has `boards` subgames."""
    return max(1, BLOCK // (boards * subgame_boards(rules, trunk)))


class SubgamePrefetch:
    """Subgames by iteration. Any number of threads may ask for those of the current block or the next."""

    def __init__(
        self,
        source: BoardSource | BoardCurriculum,
        deal: Callable[[tuple[int, ...], float], PreparedSubgame],
        boards: int,
        block: int,
        *,
        ahead: bool,
    ) -> None:
        self._source, self._deal, self._boards, self.block = source, deal, boards, block
        self._pool = ThreadPoolExecutor(1) if ahead else None
        self._blocks: dict[int, list[Pending]] = {}
        self._kept: dict[tuple[int, ...], PreparedSubgame] = {}
        self._lock = Lock()

    def of(self, iteration: int) -> list[PreparedSubgame]:
        """The subgames of an iteration."""
        number, at = divmod(iteration, self.block)
        wanted = (number, number + 1) if self._pool else (number,)
        with self._lock:
            if any(each not in self._blocks for each in wanted):
                self._blocks = {each: self._blocks.get(each) or self._sample_block(each) for each in wanted}
            dealt = self._blocks[number][at * self._boards : (at + 1) * self._boards]
        return [each.result() if isinstance(each, Future) else each for each in dealt]

    def _sample_block(self, number: int) -> list[Pending]:
        """Sample the boards of a block, and deal its subgames, or start dealing them in another thread."""
        count = self.block * self._boards
        boards, weights = self._source.boards(number * count, count)
        samples = list(zip(map(tuple, boards.tolist()), weights.tolist(), strict=True))
        return [self._kept.get(board) or self._start_dealing(board, weight) for board, weight in samples]

    def _start_dealing(self, board: tuple[int, ...], weight: float) -> Pending:
        if self._pool:
            return self._pool.submit(self._deal_and_keep, board, weight)
        return self._deal_and_keep(board, weight)

    def _deal_and_keep(self, board: tuple[int, ...], weight: float) -> PreparedSubgame:
        prepared = self._deal(board, weight)
        if prepared.subgame.bytes * self._source.comes_again <= KEPT_BYTES:
            self._kept[board] = prepared
        return prepared
