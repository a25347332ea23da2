"""What commands about matches print for people. Numbers come in, text goes out; nothing is computed here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.play.logs import Replay


def win_rate_text(mbb: float, ci95: float) -> str:
    """A win rate with its 95% interval: +39.2 ± 26.1."""
    return f"{mbb:+,.1f}" + (f" ± {ci95:,.1f}" if math.isfinite(ci95) else "")


def print_replay(found: Replay) -> None:
    """What a log says, every hand of it checked."""
    score = "and the score agrees" if found.scored else "no score to compare with"
    print(f"{found.log}: {found.hands:,} hands of {found.game} played again, every value agrees, {score}")
    width = max(len(name) for name in found.names)
    for name, chips, mbb in zip(found.names, found.chips, found.mbb_per_hand, strict=True):
        print(f"{name:<{width}}  {chips:>+12,} chips  {win_rate_text(mbb, found.ci95)} mbb/hand")
