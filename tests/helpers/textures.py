"""Flops of every kind of suits and ranks, and ranges that some, all or no renamings of suits keep."""

from __future__ import annotations

FLOPS = {
    "monotone": "Ah 9h 4h", "two-tone": "Ah 9h 4c", "rainbow": "Ah 9d 4c", "paired": "9h 9d 4c",
    "paired two-tone": "9h 9d 4h", "trips": "9h 9d 9c",
}  # fmt: skip
RANGES = {
    "symmetric": ("QQ, AK, 98s, 44", "JJ-TT, AQs:0.5, T8o:0.7"),
    "asymmetric": ("AhKh, AdKd, QQ, 9s8s, 44", "JJ, AcQc, Td8h, 5h5s:0.25, QQ:0.5"),
    "one pair of suits": ("AsKs, AhKh, QQ:0.5, 98s", "JJ:0.75, AsQs, AhQh, 87s:0.25"),  # c and d are alike, and h and s
}
