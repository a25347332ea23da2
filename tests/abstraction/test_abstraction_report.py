"""Looking into abstractions: shares, strengths, variances against enumerated deals; pictures, files, the commands."""

from __future__ import annotations

import csv
import functools
import itertools
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
import naive_features as naive
from commands import invoke, refusal
from equipoise import BucketMap, Deck, GameRules, InputError, load_game
from equipoise.abstraction.clustering.public_boards import public_distances
from equipoise.abstraction.maps.hierarchy import board_distances
from equipoise.abstraction.report import pictures, summary
from equipoise.abstraction.report.numbers import AbstractionReport, describe
from equipoise.abstraction.report.public_clusters import in_the_plane
from equipoise.games.gamedef import write_gamedef
from equipoise.runs import abstraction as reporting
from equipoise.runs.recipe import RECIPES, load_recipe
from equipoise.strategy.abstract_game import read_abstract_game
from naive import canonical

SMALL = replace(
    load_game("holdem.limit"),
    deck=Deck(4, 3),
    board_cards=(0, 2, 1),
    first=(1, 0, 0),
    max_raises=(2, 2, 2),
    raise_sizes=(1, 1, 2),
    blinds=(1, 2),
    name="small",
)
CARDS: dict[str, dict[str, Any]] = {
    "emd": {
        "preflop": {"method": "percentile", "buckets": 3},
        "flop": {"method": "emd", "buckets": 5},
        "turn": {"method": "ochs", "buckets": 6, "clusters": 3},
    },
    "nested": {street: {"method": "percentile", "buckets": 3} for street in ("preflop", "flop", "turn")},
    "public": {
        "flop": {"method": "emd", "buckets": 3},
        "turn": {"method": "l2", "buckets": 4, "cells": 12},
        "public": {"clusters": 4, "base": 20},
    },
    "lossless": {},
}


pytestmark = pytest.mark.usefixtures("own_cache")


def recipe(name: str) -> dict[str, Any]:
    return {"cards": CARDS[name]}


def describe_now(name: str, **more: int) -> AbstractionReport:
    game = read_abstract_game(recipe(name), game=SMALL)
    return describe(name, game.buckets(), game.cards, **more)


@functools.cache
def described(name: str) -> AbstractionReport:
    return describe_now(name)


@functools.cache
def strengths_of(rules: GameRules, hand: Any) -> tuple[float, float]:
    cards = tuple(hand)
    found = np.array(naive.strengths(rules, cards[: rules.hole_cards], cards[rules.hole_cards :]), float)
    unseen = rules.deck.size - rules.hand_cards
    found /= unseen * (unseen - 1)
    return float(found.mean()), float((found**2).mean())


def naive_deals(rules: GameRules, street: int) -> list[tuple[int, ...]]:
    """Every deal up to a street, the board's rounds in order."""
    deals: list[tuple[int, ...]] = [()]
    for count in rules.deals(street):
        deals = [
            (*seen, *dealt) for seen in deals for dealt in itertools.combinations(naive.unseen(rules, seen), count)
        ]
    return deals


@functools.cache
def naive_values(street: int) -> list[tuple[tuple[int, ...], float, float]]:
    """Every deal up to a street with its E[HS] and E[HS^2]."""
    known: dict[Any, tuple[float, float]] = {}
    found = []
    for deal in naive_deals(SMALL, street):
        form = canonical((SMALL.hole_cards, len(deal) - SMALL.hole_cards), deal, SMALL.deck)
        if form not in known:
            known[form] = strengths_of(SMALL, deal)
        found.append((deal, *known[form]))
    return found


@pytest.mark.parametrize("name", list(CARDS))
@pytest.mark.parametrize("street", [0, 1, 2])
def test_every_bucket_against_enumerated_deals(name: str, street: int) -> None:
    report = described(name)
    values = naive_values(street)
    inside: Any = defaultdict(list)
    for deal, mean, square in values:
        inside[report.map.bucket(deal[:2], deal[2:])].append((mean, square))
    found = report.summaries[street]
    assert found is not None and found.exact
    assert {int(bucket) for bucket in np.flatnonzero(found.filled)} == set(inside)
    within = 0.0
    for bucket, rows in inside.items():
        mean, square = np.array(rows).T
        assert found.share[bucket] == pytest.approx(len(rows) / len(values))
        assert found.mean[bucket] == pytest.approx(mean.mean())
        assert found.sd[bucket] == pytest.approx(mean.std(), abs=1e-7)
        assert found.spread[bucket] == pytest.approx(np.sqrt((square - mean**2).mean()), abs=1e-7)
        within += len(rows) * mean.var()
    everything = np.array([mean for _, mean, _ in values])
    street_report = report.streets[street]
    assert street_report.within == pytest.approx(within / len(values), abs=1e-9)
    assert street_report.variance == pytest.approx(everything.var())
    assert street_report.within_share == pytest.approx(within / len(values) / everything.var(), abs=1e-7)
    assert street_report.non_empty == len(inside)
    assert street_report.largest_share == pytest.approx(max(map(len, inside.values())) / len(values))
    assert street_report.smallest_share == pytest.approx(min(map(len, inside.values())) / len(values))
    assert street_report.mean_share == pytest.approx(1 / len(inside))


def test_what_reports_say_of_their_maps() -> None:
    recall = {"emd": False, "nested": True, "public": False, "lossless": True}
    assert {name: described(name).map.perfect_recall for name in CARDS} == recall
    by_hand = [summary.by_hand(described("nested").map, street) for street in range(3)]
    assert by_hand == [True, True, False]  # the order of the deals counts on the last street
    assert described("lossless").streets[2].within == 0
    assert described("emd").streets[2].within_share > 0.01


def test_a_sample_estimates_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few deals a bucket, dividing by their number alone would be off by a third."""
    monkeypatch.setattr(summary, "ALL_DEALS", 0)
    exact = described("nested")
    runs = [describe_now("nested", samples=80, seed=seed) for seed in range(150)]
    street = [run.streets[2] for run in runs]
    assert {one.counted for one in street} == {"sample"}
    assert {run.streets[1].counted for run in runs} == {"exact"}
    for what in ("within", "variance"):
        estimates = np.array([getattr(one, what) for one in street])
        error = estimates.std() / np.sqrt(len(estimates))
        assert abs(estimates.mean() - getattr(exact.streets[2], what)) < 5 * error
    shares = np.array([run.summaries[2].share for run in runs if run.summaries[2]])
    known = exact.summaries[2]
    assert known is not None
    assert np.abs(shares.mean(axis=0) - known.share).max() < 5 * np.sqrt(known.share.max() / (80 * 150))


def test_random_deals_are_uniform_and_repeatable() -> None:
    rules = load_game("holdem.limit")
    deals = summary.random_deals(rules, 7, 52_000, np.random.default_rng(3))
    assert (np.diff(np.sort(deals, axis=1), axis=1) > 0).all()
    counts = np.stack([np.bincount(deals[:, place], minlength=52) for place in range(7)])
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    assert np.array_equal(deals, summary.random_deals(rules, 7, 52_000, np.random.default_rng(3)))


def test_all_deals_of_a_small_game_come_once() -> None:
    deals = summary.some_deals(described("emd").map, 10, 1)
    assert deals.every
    listed = {(frozenset(d[:2]), frozenset(d[2:4]), d[4]) for d in deals.cards.tolist()}
    assert len(listed) == len(deals.cards) == 66 * 45 * 8


@pytest.mark.parametrize("name", ["emd", "nested", "public"])
def test_sample_hands_are_of_their_bucket(name: str) -> None:
    report = described(name)
    deck = SMALL.deck
    numbers = {street.street: number for number, street in enumerate(report.streets)}
    assert len(report.rows) == sum(report.map.buckets)
    for row in report.rows:
        hands = row["hands"].split("; ") if row["hands"] else []
        assert bool(hands) == (row["share"] > 0)
        forms = set()
        for hand in hands:
            hole, _, board = hand.partition(" on ")
            cards = deck.read_cards(hole), deck.read_cards(board)
            assert SMALL.board_size(numbers[row["street"]]) == len(cards[1])
            assert report.map.bucket(*cards) == row["bucket"]
            forms.add(canonical((2, len(cards[1])), (*cards[0], *cards[1]), deck))
        assert len(forms) == len(hands) <= 3


def test_a_hand_is_shown_of_a_bucket_that_no_deal_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "ALL_DEALS", 0)
    report = describe_now("emd", samples=1)
    assert all(row["hands"] for row in report.rows if row["share"] > 0)


def test_public_clusters_are_described() -> None:
    report = described("public")
    public, about = report.public, report.map.about["public"]
    assert public is not None and report.map.public is not None
    assert [cluster.boards for cluster in public.clusters] == about["sizes"]
    assert public.balance == pytest.approx(about["balance"])
    assert public.balance_by_deals == pytest.approx(about["balance_by_deals"])
    assert sum(cluster.share for cluster in public.clusters) == pytest.approx(1)
    distances = board_distances(SMALL, read_abstract_game(recipe("public"), game=SMALL).cards, 1, None)
    label = np.asarray(report.map.public.label)
    means = []
    for number, cluster in enumerate(public.clusters):
        members = np.flatnonzero(label == number)
        inside = distances[np.ix_(members, members)].astype(float)
        means += [row.sum() / max(len(members) - 1, 1) for row in inside]
        assert inside[members.tolist().index(public.central[number])].sum() == pytest.approx(inside.sum(axis=1).min())
        if len(members) > 1:
            assert cluster.within == pytest.approx(inside[~np.eye(len(members), dtype=bool)].mean())
        for text in cluster.examples:
            board = SMALL.deck.read_cards(text)
            hole = naive.unseen(SMALL, board)[:2]
            assert report.map.bucket(hole, board) // 3 == number
    assert np.mean(means) == pytest.approx(about["within"], rel=1e-5)


def test_classical_scaling_finds_points_of_a_plane_again() -> None:
    points = np.random.default_rng(5).normal(size=(40, 2)) * [3, 1]
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    place = in_the_plane(apart.astype(np.float32))
    assert np.abs(np.linalg.norm(place[:, None] - place, axis=2) - apart).max() < 1e-4
    assert place[:, 0].var() > place[:, 1].var()
    two = in_the_plane(public_distances(np.array([[4, 0], [0, 4]]), 4))
    assert np.linalg.norm(two[0] - two[1]) == pytest.approx(1)


def test_summaries_on_disk_are_of_these_very_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "SMALL", 0)
    found = described("emd").map

    def nothing() -> Any:
        raise AssertionError("counted on a sample")

    first = summary.summarize(found, 1, nothing)
    with monkeypatch.context() as patched:
        patched.setattr(summary, "HandStrengths", nothing)
        again = summary.summarize(found, 1, nothing)  # from disk
    assert np.array_equal(first.moments, again.moments) and again.exact
    turned = replace(found.streets[1], cell=4 - found.streets[1].cell)
    other = BucketMap(found.rules, (found.streets[0], turned, found.streets[2]), recipe=found.recipe)
    assert other.fingerprint == found.fingerprint
    assert np.allclose(summary.summarize(other, 1, nothing).share, first.share[::-1])


@pytest.mark.parametrize("name", ["emd", "public"])
def test_files_of_a_report(name: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    found = equipoise.abstraction_report(recipe(name), out, game=SMALL)
    written = json.loads((out / "abstraction.json").read_text())
    assert {key: value for key, value in written.items() if key != "rows"} == json.loads(json.dumps(found.as_json()))
    assert sorted(str(path) for path in out.iterdir()) == sorted(found.files)
    pngs = [path for path in out.iterdir() if path.suffix == ".png"]
    assert {path.name for path in pngs} == {
        f"abstraction-{what}.png" for what in ("preflop", "streets", "boards", "transitions")
    }
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pngs)
    with (out / "abstraction.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(written["rows"]) == sum(found.report.map.buckets)
    for number in range(3):
        name_of = found.report.streets[number].street
        assert sum(float(row["share"]) for row in rows if row["street"] == name_of) == pytest.approx(1)
    assert found.solve is not None  # a limit game needs no menu
    assert found.solve.infosets == equipoise.game_report(SMALL, None, found.report.map.buckets).infosets


def test_no_limit_games_cost_what_their_bets_cost() -> None:
    game = replace(SMALL, limit=False, raise_sizes=(), stacks=(20, 20))
    assert equipoise.abstraction_report(recipe("emd"), game=game).solve is None
    betting: dict[str, Any] = {"bet": ["all-in"]}
    found = equipoise.abstraction_report({**recipe("emd"), "betting": betting}, game=game)
    small = found.solve
    assert small is not None
    betting = {"bet": [1.0, "all-in"]}
    large = equipoise.abstraction_report({**recipe("emd"), "betting": betting}, game=game).solve
    assert large is not None and large.infosets > small.infosets
    assert sum(s.decisions * b for s, b in zip(small.streets, (3, 5, 6), strict=True)) == small.infosets


def test_transitions_are_chances_of_the_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    report = described("emd")
    first, second = report.summaries[0], report.summaries[1]
    assert first and second
    chances = pictures._chances(report, 0, first, second)
    order = [np.argsort(found.mean) for found in (first, second)]
    counts = np.zeros((3, 5))
    for deal in naive_deals(SMALL, 1):
        counts[report.map.bucket(deal[:2], ()), report.map.bucket(deal[:2], deal[2:])] += 1
    expected = (counts / counts.sum(axis=1, keepdims=True))[order[0]][:, order[1]]
    assert chances == pytest.approx(expected)
    monkeypatch.setattr(pictures, "MOST_CELLS", 2)
    assert pictures._chances(report, 0, first, second).shape == (2, 2)


def test_nothing_is_left_of_a_report_that_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pictures, "draw_pictures", full)
    with pytest.raises(InputError, match="No space left"):
        equipoise.abstraction_report(recipe("emd"), tmp_path / "out", game=SMALL)
    assert not (tmp_path / "out").exists()
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "abstraction.json").write_text("old")
    with pytest.raises(InputError, match="No space left"):
        equipoise.abstraction_report(recipe("emd"), kept, game=SMALL)
    assert [(path.name, path.read_text()) for path in kept.iterdir()] == [("abstraction.json", "old")]
    with pytest.raises(InputError, match="cannot write"):
        equipoise.abstraction_report(recipe("emd"), kept / "abstraction.json", game=SMALL)
    monkeypatch.setattr(reporting, "describe", full)
    with pytest.raises(OSError, match="No space left"):
        equipoise.abstraction_report(recipe("emd"), tmp_path / "out", game=SMALL)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", list(CARDS))
def test_the_bucket_of_a_hand(name: str) -> None:
    report, deck = described(name), SMALL.deck
    for hole, board in (("3c2d", ""), ("5c5d", "2c3d"), ("5c4c", "2c3d5h"), ("5c4c", "5h3d2c")):
        found = equipoise.abstraction_bucket(recipe(name), hole, board, game=SMALL)
        cards, dealt = deck.read_cards(hole), deck.read_cards(board)
        street = [0, 2, 3].index(len(dealt))
        known = report.summaries[street]
        assert known is not None
        assert found.bucket == report.map.bucket(cards, dealt)
        assert (found.street, found.buckets) == (report.streets[street].street, report.map.buckets[street])
        assert found.share == pytest.approx(known.share[found.bucket])
        assert found.mean_ehs == pytest.approx(known.mean[found.bucket])
        mean, square = strengths_of(SMALL, (*cards, *dealt))
        assert (found.ehs, found.ehs2) == pytest.approx((mean, square))
        row = report.map.buckets_of_board(street, dealt)
        holes = {frozenset(deck.read_cards(text)) for text in found.on_this_board}
        assert len(holes) == len(found.on_this_board) == int((row == found.bucket).sum()) - 1
        assert frozenset(cards) not in holes
        for text in found.hands:
            one, _, other = text.partition(" on ")
            assert report.map.bucket(deck.read_cards(one), deck.read_cards(other)) == found.bucket
            assert canonical((2, len(dealt)), deck.read_cards(one + other), deck) != canonical(
                (2, len(dealt)), (*cards, *dealt), deck
            )
        away = [abs(other.mean_ehs - known.mean[found.bucket]) for other in found.nearest]
        assert away == sorted(away) and found.bucket not in [other.bucket for other in found.nearest]
        if name == "public" and street:
            private = report.map.buckets[street] // 4
            assert found.public_cluster == found.bucket // private
            assert all(other.bucket // private == found.public_cluster for other in found.nearest)
        else:
            assert found.public_cluster is None


def test_hands_told_apart_need_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many lossless buckets nothing is listed; the share of one is the number of its renamings."""
    known = described("lossless").summaries[2]
    assert known is not None
    from equipoise.abstraction.report.lookup import _share_of_deal

    for deal in naive_deals(SMALL, 2)[::997]:
        bucket = described("lossless").map.bucket(deal[:2], deal[2:])
        assert _share_of_deal(SMALL, 2, deal) == pytest.approx(known.share[bucket])
    monkeypatch.setattr(summary, "MOST_LISTED", 20)
    report = describe_now("lossless")
    assert [found is None for found in report.summaries] == [False, True, True]
    assert {row["street"] for row in report.rows} == {report.streets[0].street}
    assert report.streets[2].non_empty == report.map.buckets[2] and report.streets[2].largest_share is None
    found = equipoise.abstraction_bucket(recipe("lossless"), "5c4c", "2c3d5h", game=SMALL)
    assert found.mean_ehs == found.ehs and found.share is not None and found.nearest == ()
    many = describe_now("nested")  # many buckets, but not one for each hand
    assert many.summaries[2] is not None and many.streets[2].within > 0


@pytest.mark.parametrize(
    ("hole", "board", "said"),
    [
        ("5c5c", "", "appears twice"),
        ("5c4c", "5c2d", "5c appears twice"),
        ("5c", "", "1 hole cards"),
        ("5c4c", "2c", "a board of 1 cards; this game's boards have 0, 2, 3"),
        ("5c4c", "2c3c2d3d", "a board of 4"),
        ("Ac4c", "", "no card 'Ac'"),
        ("5c4", "", "half a card"),
    ],
)
def test_hands_that_cannot_be_are_refused_before_anything_is_built(
    hole: str, board: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.strategy.abstract_game.build_map", None)
    with pytest.raises(InputError, match=said):
        equipoise.abstraction_bucket(recipe("emd"), hole, board, game=SMALL)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"cards": {}}, "no game"),
        ({"game": "leduc", "crads": {}}, r"unknown key 'crads'; did you mean cards\? known: game, betting, cards"),
        ({"game": "leduc", "betting": {"bet": [1.0]}}, "leduc is a limit game"),
        ({"game": "holdem.nolimit", "cards": {"flop": 3}}, "flop"),
        ({"game": "holdem.nolimit", "cards": CARDS["emd"], "betting": {"bet": "much"}}, "lossless has|list of sizes"),
        ({"game": "chess"}, "chess"),
        ({"game": "leduc", "betting": 3}, "limit game"),
    ],
)
def test_recipes_that_cannot_be_are_refused(table: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said) as error:
        equipoise.abstraction_report(table, tmp_path / "out")
    assert error.value.remedy
    assert not (tmp_path / "out").exists()


@pytest.fixture
def recipe_file(tmp_path: Path) -> str:
    game = tmp_path / "small.game"
    game.write_text(write_gamedef(SMALL))
    lines = [f'game = "{game}"', "[cards]"]
    for street, table in CARDS["emd"].items():
        inside = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
        lines.append(f"{street} = {{ {inside} }}")
    path = tmp_path / "small.toml"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_the_commands(recipe_file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = invoke("abstraction", "report", recipe_file, "--out", str(out), "--json")
    assert done.exit_code == 0 and (out / "abstraction.json").exists()
    answer = json.loads(done.stdout)
    assert answer["fingerprint"] == described("emd").map.fingerprint
    assert [street["buckets"] for street in answer["streets"]] == [3, 5, 6]
    assert answer["streets"] == json.loads(json.dumps(described("emd").as_json()["streets"]))
    text = invoke("abstraction", "report", recipe_file).stdout
    for part in ("imperfect recall", "percentile", "a solve with these cards needs", "some buckets"):
        assert part in text
    found = json.loads(invoke("abstraction", "bucket", recipe_file, "5c4c", "--board", "2c 3d", "--json").stdout)
    assert found["bucket"] == described("emd").map.bucket(*map(SMALL.deck.read_cards, ("5c4c", "2c3d")))
    text = invoke("abstraction", "bucket", recipe_file, "5c4c", "--board", "2c 3d").stdout
    assert f"bucket {found['bucket']} of 5 (emd)" in text and "nearest by E[HS]" in text


def test_command_errors_are_one_line(recipe_file: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('game = "leduc"\n[cards]\nflop = { method = "magic", buckets = 3 }\n')
    out = str(tmp_path / "out")
    for arguments, said in (
        (["report", str(bad), "--out", out], "bad.toml: flop.method"),
        (["report", str(tmp_path / "none.toml"), "--out", out], "no recipe"),
        (["report", recipe_file, "--out", recipe_file], "cannot write"),
        (["bucket", recipe_file, "5c4c", "--board", "5c2d"], "appears twice"),
    ):
        assert said in refusal("abstraction", *arguments)
    assert not Path(out).exists()


@pytest.mark.parametrize("command", ["report", "bucket"])
def test_help_has_an_example(command: str) -> None:
    text = invoke("abstraction", command, "--help").stdout
    assert f"equipoise abstraction {command} " in text[text.index("Example") :]
    assert "--json" in text


@pytest.mark.parametrize("name", RECIPES.names())
def test_shipped_recipes_can_be_read(name: str) -> None:
    read = load_recipe(name).game
    assert read.rules.limit or read.menu is not None
    assert RECIPES.find(name).read_text().startswith("# ")
