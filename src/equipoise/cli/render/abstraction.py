"""What commands about abstractions print for people. Numbers come in, text goes out; nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.cli.render.match import print_tournament, win_rate_text
from equipoise.cli.render.tables import Table, print_table, say
from equipoise.core.wording import counted, size_text

if TYPE_CHECKING:
    from equipoise.abstraction.report.lookup import HandBucket
    from equipoise.abstraction.report.numbers import AbstractionReport
    from equipoise.experiments.lab.comparison import AbstractionComparison, OneOnOne
    from equipoise.experiments.lab.curves import Point
    from equipoise.runs.abstraction import AbstractionFiles


def print_abstraction(found: AbstractionFiles) -> None:
    """Each street of an abstraction, some of its buckets, its public clusters, and the size of a solve."""
    report = found.report
    recall = "perfect recall" if report.map.perfect_recall else "imperfect recall"
    say(f"{report.name}: {report.map.rules.name}, {recall}, {size_text(report.map.bytes)}")
    say(f"fingerprint {report.map.fingerprint}")
    print()
    columns = [
        "street",
        "method",
        "hands",
        "buckets",
        "non-empty",
        "table",
        "smallest",
        "mean",
        "largest",
        "E[HS] lost",
    ]
    table = Table("streets: share of deals by bucket, variance of E[HS] within buckets by all", columns, left=2)
    sampled = False
    for s in report.streets:
        star = "*" if s.counted == "sample" else ""
        sampled |= bool(star)
        shares = ["-" if x is None else f"{100 * x:.3g}%" for x in (s.smallest_share, s.mean_share, s.largest_share)]
        counts = (f"{s.hands:,}", f"{s.buckets:,}", f"{s.non_empty:,}{star}", size_text(s.bytes))
        table.add_row(s.street, s.method, *counts, *shares, f"{s.within_share:.2%}{star}")
    print_table(table)
    if sampled:
        say(f"* from {len(report.deals.cards):,} random deals")
    for number, street in enumerate(report.streets):
        _print_buckets(report, number, f"{street.street}: some buckets, by strength")
    if report.public:
        _print_clusters(report)
    for number, about in report.map.about.get("boards", {}).items():
        _print_boards(report.streets[int(number)].street, about)
    if found.solve:
        menu = f" with menu {found.solve.menu}" if found.solve.menu else ""
        say(f"{counted(found.solve.nodes, 'betting node')}{menu}, {counted(found.solve.infosets, 'information set')}")
        say(f"a solve with these cards needs {size_text(found.solve.memory_bytes)} (regret and average, float32)")
    if found.files:
        say("written: " + ", ".join(found.files))


def _print_buckets(report: AbstractionReport, number: int, title: str, most: int = 6) -> None:
    """A few buckets of a street, evenly by strength."""
    rows = [row for row in report.rows if row["street"] == report.streets[number].street and row["share"] > 0]
    rows.sort(key=lambda row: float(row["mean_ehs"]))
    if not rows:
        return
    table = Table(title, ["bucket", "share", "mean E[HS]", "sd", "hands"], words=True)
    for place in sorted({i * (len(rows) - 1) // max(most - 1, 1) for i in range(most)}):
        row = rows[place]
        spread = "-" if row["sd_ehs"] is None else f"{row['sd_ehs']:.2%}"
        table.add_row(str(row["bucket"]), f"{100 * row['share']:.3g}%", f"{row['mean_ehs']:.2%}", spread, row["hands"])
    print_table(table)


def _print_clusters(report: AbstractionReport) -> None:
    public = report.public
    assert public is not None
    table = Table(
        f"{len(public.clusters)} public clusters of {public.boards:,} {public.street} boards",
        ["cluster", "boards", "deals", "within", "examples, the most central first"],
        words=True,
    )
    for number, cluster in enumerate(public.clusters):
        within = "-" if cluster.within is None else f"{cluster.within:.3f}"
        table.add_row(str(number), f"{cluster.boards:,}", f"{cluster.share:.2%}", within, "  ".join(cluster.examples))
    print_table(table)
    within = "" if public.within is None else f"; mean distance within a cluster {public.within:.3f}"
    balance = f"balance {public.balance:.2f} by boards, {public.balance_by_deals:.2f} by deals"
    say(f"{balance} (largest by mean){within}")
    print()


def _print_boards(street: str, about: dict[str, Any], most: int = 8) -> None:
    """A few public buckets of a street's boards: those that suit a strong range first."""
    buckets = about["buckets"]
    title = f"{len(buckets)} public buckets of {about['boards']:,} {street} boards, the best for a strong range first"
    table = Table(title, ["bucket", "boards", "deals", "the most central boards"], words=True)
    for place in sorted({i * (len(buckets) - 1) // (most - 1) for i in range(most)}):
        row = buckets[place]
        table.add_row(str(place), f"{row['boards']:,}", f"{row['share']:.2%}", "  ".join(row["examples"]))
    print_table(table)
    say(f"{about['within']:.1%} of the variance of the boards' features is within public buckets")
    print()


def print_bucket(found: HandBucket) -> None:
    """A hand's bucket, and similar hands."""
    cluster = "" if found.public_cluster is None else f", public cluster {found.public_cluster}"
    say(f"{found.hand}: {found.street} bucket {found.bucket} of {found.buckets:,} ({found.method}{cluster})")
    own = [
        f"{name} {value:.4f}" for name, value in (("E[HS]", found.ehs), ("E[HS^2]", found.ehs2)) if value is not None
    ]
    say(f"  the hand            {'   '.join(own)}")
    mean = "" if found.mean_ehs is None else f"mean E[HS] {found.mean_ehs:.4f}"
    spread = "" if found.sd_ehs is None else f"   sd {found.sd_ehs:.4f}"
    share = "" if found.share is None else f"   {found.share:.4%} of all deals"
    say(f"  the bucket          {mean}{spread}{share} ({found.counted})")
    most = 12
    if found.on_this_board:
        more = f" and {len(found.on_this_board) - most} more" if len(found.on_this_board) > most else ""
        say(f"  in it, same board   {', '.join(found.on_this_board[:most])}{more}")
    if found.hands:
        say(f"  in it, any board    {'; '.join(found.hands)}")
    if found.nearest:
        near = (f"{other.bucket} ({other.mean_ehs:.4f}, {other.share:.2%})" for other in found.nearest)
        say(f"  nearest by E[HS]    {', '.join(near)}")


def print_comparison(found: AbstractionComparison) -> None:
    """The rankings and the matches."""
    columns = ["abstraction", "buckets", "information sets", "CFR-BR", "half-way", "CFR"]
    one_on_one = ["one-on-one, CFR-BR", "one-on-one, CFR"]
    table = Table(f"{found.game}: {found.measuring.words}, mbb/g", [*columns, *one_on_one])
    smallest = min(row.infosets for row in found.abstractions)
    for rank, row in enumerate(found.abstractions, 1):
        larger = "" if found.equal_size or row.infosets == smallest else "*"
        table.add_row(
            f"{rank}. {row.name}", " ".join(f"{count:,}" for count in row.buckets), f"{row.infosets:,}{larger}",
            _point(row.cfr_br.last), _point(row.cfr_br.half_way), _point(row.cfr.last if row.cfr else None),
            _wins(row.cfr_br_wins), _wins(row.cfr_wins),
        )  # fmt: skip
    print_table(table)
    if not found.equal_size:
        say(f"* not of equal size: up to {found.size_difference:.1%} more information sets than the smallest")
    rankings = found.rankings()
    width = max(len(ranking.by) for ranking in rankings)
    say("best first (~: the 95% intervals overlap)")
    for ranking in rankings:
        say(f"  by {ranking.by:<{width}}  {ranking.text}")
    print()
    print_tournament(found.matches)
    if found.files:
        say("written: " + ", ".join(found.files))


def _point(point: Point | None) -> str:
    if point is None:
        return "-"
    return f"{point.mbb:,.2f}" + ("" if point.ci95 is None else f" ± {point.ci95:,.1f}")


def _wins(wins: OneOnOne | None) -> str:
    return "-" if wins is None else win_rate_text(wins.mbb, wins.ci95)
