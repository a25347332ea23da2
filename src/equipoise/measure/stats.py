"""Statistics that several measures share."""

from __future__ import annotations

from statistics import NormalDist


def t975(degrees: int) -> float:
    """The 97.5% point of Student's t (four terms of its expansion in 1 / degrees: to 0.3% from four degrees on)."""
    z = NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(sum(term / degrees**power for power, term in enumerate(terms)))
