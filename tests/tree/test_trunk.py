"""The memory of CFR-BR's unabstracted player: the published table, and slow twins of what it counts."""

from __future__ import annotations

import itertools
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise import Deck, InputError, build_tree, game_report, load_game
from equipoise.cli.commands.registry import app
from equipoise.tree.trunk import binary_size, hands_as_published, trunk_memory

TABLE = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())["hulhe"]["trunk_memory"]
OFF = {("3_round", "subgame"): "6.47 KB"}  # the paper says 6.54; its other two subgames are 441 and 441 x 433 of ours


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_the_published_table(rounds: int) -> None:
    found = trunk_memory(build_tree(load_game("holdem.limit")), rounds)
    key = f"{rounds}_round"
    assert binary_size(found.trunk_bytes) == TABLE[key]["trunk"]
    if rounds < 4:
        assert binary_size(found.subgame_bytes) == OFF.get((key, "subgame"), TABLE[key]["subgame"])
    else:
        assert found.subgame_bytes == 0
    assert found.trunk_bytes_merged <= found.trunk_bytes < 1.1 * found.trunk_bytes_merged
    assert found.total_bytes(48) == found.trunk_bytes + 48 * found.subgame_bytes


@pytest.mark.parametrize("deck", [Deck(3, 3), Deck(2, 4)])
def test_hands_against_a_slow_twin(deck: Deck) -> None:
    rules = replace(load_game("holdem.limit"), deck=deck, board_cards=(0, 2, 1, 1), name="small")
    deals = rules.deals(3)
    images: list[set[object]] = [set() for _ in deals]
    for order in itertools.product(*(itertools.combinations(range(deck.size), count) for count in deals)):
        cards = [card for deal in order for card in deal]
        if len(set(cards)) == len(cards):
            image: list[tuple[int, ...]] = []
            for street, deal in enumerate(order):
                image.append(_least(deal, deck.suits, _renaming(order[:street], image, deck)))
                images[street].add(tuple(image))
    assert hands_as_published(rules) == tuple(len(found) for found in images)


def _renaming(before: tuple[tuple[int, ...], ...], image: list[tuple[int, ...]], deck: Deck) -> dict[int, int]:
    """What the suits seen before are called; found by trying all."""
    for names in itertools.permutations(range(deck.suits)):
        renamed = [tuple(sorted(c // deck.suits * deck.suits + names[c % deck.suits] for c in deal)) for deal in before]
        if renamed == list(image):
            return {c % deck.suits: names[c % deck.suits] for deal in before for c in deal}
    raise AssertionError


def _least(deal: tuple[int, ...], suits: int, fixed: dict[int, int]) -> tuple[int, ...]:
    left = [suit for suit in range(suits) if suit not in fixed]
    free = [suit for suit in range(suits) if suit not in fixed.values()]
    found = []
    for names in itertools.permutations(free):
        name = {**fixed, **dict(zip(left, names, strict=True))}
        found.append(tuple(sorted(card // suits * suits + name[card % suits] for card in deal)))
    return min(found)


def test_command() -> None:
    result = CliRunner().invoke(app, ["games", "holdem.limit", "--trunk", "2", "--json"])
    found = json.loads(result.stdout)["trunk"]
    assert found["trunk_bytes"] == 981_810_232
    assert found["subgame_bytes"] == 433 * 5 * 1326
    text = CliRunner().invoke(app, ["games", "holdem.limit", "--trunk", "2"]).stdout
    assert "936.33 MB" in text
    assert "2.74 MB" in text


@pytest.mark.parametrize("rounds", [0, 5, -1])
def test_bad_trunks(rounds: int) -> None:
    with pytest.raises(InputError, match="trunk"):
        game_report("holdem.limit", trunk=rounds)
