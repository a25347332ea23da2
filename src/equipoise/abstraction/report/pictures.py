"""An abstraction in pictures: the grid of holes, the buckets of each street, boards or buckets in the plane, and where
the buckets of one street lead on the next. Numbers come in, PNG files go out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import patheffects
from matplotlib.colors import PowerNorm

from equipoise.abstraction.report.numbers import AbstractionReport
from equipoise.abstraction.report.summary import BucketSummary, lists_every_bucket, sample_hands
from equipoise.cards.deck import RANKS
from equipoise.core.jit import F64, I64
from equipoise.core.pictures import plain_texts, save_figure
from equipoise.core.visible_text import visible

STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 110,
}
MOST_CELLS = 100  # of a heat map, each way
LABELS = 14  # hands or boards named in the plane
HALO = [patheffects.withStroke(linewidth=2, foreground="white")]


def draw_pictures(report: AbstractionReport, folder: Path, stem: str) -> list[str]:
    """Write the pictures that a report has data for; returns their names."""
    drawings: dict[str, Callable[[AbstractionReport], Any]] = {
        "preflop": _preflop,
        "streets": _streets,
        "boards": _boards if report.public else _plane,
        "transitions": _transitions,
    }
    written = []
    for what, draw in drawings.items():
        with plain_texts(STYLE):
            figure = draw(report)
            if figure is None:
                continue
            written.append(f"{stem}-{what}.png")
            save_figure(figure, folder / written[-1])
    return written


def _drawn(report: AbstractionReport, street: int) -> BucketSummary | None:
    return report.summaries[street] if lists_every_bucket(report.map, street) else None


def _by_strength(summary: BucketSummary) -> I64:
    """The buckets that are not empty, weakest first."""
    order = np.argsort(summary.mean, kind="stable")
    return order[: int(summary.filled.sum())]


def _preflop(report: AbstractionReport) -> Any:
    """The grid of holes, coloured by bucket; by strength if every hole has its own bucket."""
    rules, summary = report.map.rules, _drawn(report, 0)
    if rules.hole_cards != 2 or rules.deck.suits < 2 or rules.board_size(0) or summary is None:
        return None
    ranks, suits = rules.deck.ranks, rules.deck.suits
    buckets = np.zeros((ranks, ranks), np.int64)
    for high in range(ranks):
        for low in range(high + 1):
            for suited in {False, low < high}:
                hole = [high * suits, low * suits + (not suited)]
                row, column = (high, low) if suited else (low, high)
                buckets[ranks - 1 - row, ranks - 1 - column] = report.map.bucket(hole, [])
    lossless = report.streets[0].method == "lossless"
    place = np.zeros(len(summary.mean))
    place[_by_strength(summary)] = np.arange(int(summary.filled.sum()))
    colour = summary.mean[buckets] if lossless else place[buckets]
    figure, axes = plt.subplots(figsize=(8.2, 7.4))
    image = axes.imshow(colour, cmap="RdYlGn" if lossless else "Spectral")
    for row, column in np.ndindex(ranks, ranks):
        high, low = sorted((ranks - 1 - row, ranks - 1 - column), reverse=True)
        kind = "" if row == column else "s" if row < column else "o"
        value = f"{100 * colour[row, column]:.1f}" if lossless else f"{buckets[row, column]}"
        text = f"{RANKS[high]}{RANKS[low]}{kind}\n{value}"
        axes.text(column, row, text, ha="center", va="center", fontsize=7.5, path_effects=HALO)
    axes.set_xticks(range(ranks), list(reversed(RANKS[:ranks])))
    axes.set_yticks(range(ranks), list(reversed(RANKS[:ranks])))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    what = "E[HS] in percent, lossless" if lossless else f"{report.streets[0].buckets} buckets, by number"
    axes.set_title(f"{visible(report.name)}: {what} (suited above the diagonal)")
    if lossless:
        figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03, format=lambda value, _: f"{value:.0%}")
    figure.tight_layout()
    return figure


def _streets(report: AbstractionReport) -> Any:
    """For each street: how often each bucket is dealt, and how strong its hands are."""
    count = len(report.streets)
    figure, grid = plt.subplots(count, 2, figsize=(10.5, 0.7 + 2.5 * count), squeeze=False)
    for number, (street, (left, right)) in enumerate(zip(report.streets, grid, strict=True)):
        summary = _drawn(report, number)
        left.set_ylabel(f"{street.street}\nshare of deals, %")
        right.set_ylabel("E[HS], %")
        if summary is None:
            for axes in (left, right):
                axes.text(0.5, 0.5, f"{street.buckets:,} buckets", ha="center", transform=axes.transAxes)
                axes.set_xticks([])
                axes.set_yticks([])
            continue
        order = _by_strength(summary)
        places, share = np.arange(len(order)), 100 * summary.share[order]
        if len(order) <= 300:
            left.bar(places, share, width=1.0, color="tab:blue")
        else:
            left.plot(places, share, ".", markersize=1.5, color="tab:blue")
        left.axhline(100 * street.mean_share, color="black", linewidth=0.8, linestyle=":")
        left.set_ylim(0)
        left.set_title(f"{street.method}, {street.non_empty:,} buckets ({street.counted})", loc="left")
        mean, sd = 100 * summary.mean[order], 100 * np.nan_to_num(summary.sd[order])
        right.fill_between(places, mean - sd, mean + sd, color="tab:orange", alpha=0.35, linewidth=0, label="± 1 sd")
        right.plot(places, mean, color="tab:red", linewidth=1.2, label="mean of the bucket")
        right.set_ylim(0, 100)
        right.set_title(f"{street.within_share:.2%} of the variance is within buckets", loc="left")
    grid[0][1].legend(loc="upper left", frameon=False)
    for axes in grid[-1]:
        axes.set_xlabel("buckets, weakest first")
    figure.suptitle(visible(report.name))
    figure.tight_layout()
    return figure


def _plane(report: AbstractionReport) -> Any:
    """Buckets of the first street with a board: how strong, and how much may still change."""
    rules = report.map.rules
    street = next((s for s in range(rules.rounds) if rules.board_size(s)), None)
    summary = None if street is None else _drawn(report, street)
    if street is None or summary is None:
        return None
    order = _by_strength(summary)
    mean, spread, share = 100 * summary.mean[order], 100 * summary.spread[order], summary.share[order]
    figure, axes = plt.subplots(figsize=(9.5, 6.6))
    area = 9000 * share / np.sqrt(len(order)) * np.sqrt(50)
    dots = axes.scatter(
        mean, spread, s=np.minimum(area, 900), c=100 * summary.sd[order], cmap="viridis", alpha=0.75, linewidth=0
    )
    figure.colorbar(dots, ax=axes, fraction=0.046, pad=0.02, label="sd of E[HS] within the bucket, %")
    hands = sample_hands(report.map, street, summary, report.deals, 1)
    texts = [hands[bucket][0] if hands[bucket] else "" for bucket in order]
    points = np.column_stack([mean, spread])
    _label(axes, points, texts, _far_apart(points, 3 * LABELS))
    axes.set_xlabel("mean E[HS], %")
    axes.set_ylabel("spread of the final strength about E[HS], %")
    name = report.streets[street]
    axes.set_title(
        f"{visible(report.name)}: {len(order)} {name.street} buckets ({name.method}), area by share of deals"
    )
    axes.margins(0.08)
    figure.tight_layout()
    return figure


def _boards(report: AbstractionReport) -> Any:
    """The boards that public clusters are made of, coloured by cluster."""
    public = report.public
    assert public is not None
    figure, axes = plt.subplots(figsize=(9.5, 7.6))
    colours = mpl.colormaps["tab10" if len(public.clusters) <= 10 else "tab20"]
    for number, cluster in enumerate(public.clusters):
        mine = public.place[public.label == number]
        name = f"{number}: {cluster.boards} boards" if len(public.clusters) <= 20 else None
        axes.scatter(
            mine[:, 0], mine[:, 1], s=14, color=colours(number % colours.N), alpha=0.8, linewidth=0, label=name
        )
    rng = np.random.default_rng(0)
    boards = _board_texts(report)
    wanted = np.array([*public.central, *rng.permutation(len(boards))[: 4 * LABELS]])
    _label(axes, public.place, boards, wanted)
    if len(public.clusters) <= 20:
        axes.legend(title="cluster", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=2)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.set_xlabel("classical scaling of Algorithm 2's distances; bold: the most central board of a cluster")
    axes.set_title(
        f"{visible(report.name)}: {public.boards:,} {public.street} boards in {len(public.clusters)} public clusters"
    )
    for text in axes.texts[:]:
        if text.get_text() in {boards[i] for i in public.central}:
            text.set_fontweight("bold")
    figure.tight_layout()
    return figure


def _board_texts(report: AbstractionReport) -> list[str]:
    from equipoise.abstraction.maps.hierarchy import public_boards

    rules, public = report.map.rules, report.map.public
    assert public is not None
    boards = public_boards(rules, public.street)
    return [rules.deck.text(sorted(board.tolist(), reverse=True)) for board in boards]


def _far_apart(points: F64, count: int) -> I64:
    """Some points: the last, then always the one farthest from those already chosen."""
    scaled = points / (np.ptp(points, axis=0) + 1e-12)
    chosen = [len(points) - 1]
    away = np.full(len(points), np.inf)
    while len(chosen) < min(count, len(points)):
        away = np.minimum(away, np.linalg.norm(scaled - scaled[chosen[-1]], axis=1))
        chosen.append(int(away.argmax()))
    return np.array(chosen)


def _label(axes: Any, points: F64, texts: list[str], wanted: I64) -> None:
    """Label some points in order of priority, without overlaps."""
    least, size = points.min(axis=0), np.ptp(points, axis=0) + 1e-12
    taken: list[tuple[float, float]] = []
    for point in wanted:
        x, y = (points[point] - least) / size
        left = x > 0.8  # of the point, so that the name stays inside
        middle = x - 0.08 if left else x + 0.08
        free = all(abs(middle - other) > 0.16 or abs(y - height) > 0.035 for other, height in taken)
        if texts[point] and free and len(taken) < LABELS:
            axes.annotate(
                texts[point],
                points[point],
                xytext=(-6 if left else 6, 3),
                textcoords="offset points",
                ha="right" if left else "left",
                fontsize=8.5,
                path_effects=HALO,
            )
            taken.append((middle, y))


def _transitions(report: AbstractionReport) -> Any:
    """Transition probabilities from the buckets of a street to those of the next, by strength."""
    pairs = [
        (street, first, second)
        for street in range(len(report.streets) - 1)
        if (first := _drawn(report, street)) and (second := _drawn(report, street + 1))
    ]
    if not pairs:
        return None
    figure, grid = plt.subplots(1, len(pairs), figsize=(0.6 + 4.4 * len(pairs), 4.6), squeeze=False)
    for axes, (street, first, second) in zip(grid[0], pairs, strict=True):
        chance = _chances(report, street, first, second)
        image = axes.imshow(chance, cmap="magma_r", norm=PowerNorm(0.5, 0, float(chance.max())), aspect="auto")
        names = [report.streets[street], report.streets[street + 1]]
        axes.set_ylabel(f"{names[0].street}: {names[0].non_empty:,} buckets, weakest at the top")
        axes.set_xlabel(f"{names[1].street}: {names[1].non_empty:,} buckets, weakest left")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(True)
        axes.set_title(f"{names[0].street} to {names[1].street}")
        figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03, format=lambda value, _: f"{value:.0%}")
    kind = "all deals" if report.deals.every else f"{len(report.deals.cards):,} random deals"
    figure.suptitle(f"{visible(report.name)}: chance of the next street's bucket ({kind})")
    figure.tight_layout()
    return figure


def _chances(report: AbstractionReport, street: int, first: BucketSummary, second: BucketSummary) -> F64:
    """[group, group of the next street] buckets by strength; neighbours are merged if there are too many."""
    groups = []
    for number, summary in ((street, first), (street + 1, second)):
        order = _by_strength(summary)
        group = np.zeros(len(summary.mean), np.int64)
        group[order] = np.arange(len(order)) * min(MOST_CELLS, len(order)) // len(order)
        groups.append(group[report.deals.buckets[:, number]])
    rows, columns = int(groups[0].max()) + 1, int(groups[1].max()) + 1
    counts = np.bincount(groups[0] * columns + groups[1], minlength=rows * columns).reshape(rows, columns)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
