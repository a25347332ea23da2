"""Spots exported by desktop-postflop ("Import / Export") and WASM Postflop: JSON with two ranges and a `config`.

All its options have an equivalent here except edited trees (`addedLines`, `removedLines`), which are refused; so is
every key that we do not know. The ranges follow that program's reading: the first part that names a hand counts, and a
plus after two neighbouring ranks (`T9s+`) raises both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.cards.deck import FULL_DECK
from equipoise.cards.ranges import Range
from equipoise.core.errors import InputError, shown
from equipoise.core.files.text import MOST_TEXT, not_a
from equipoise.spots.postflop_bets import PostflopBets, Size, read_sizes

_TOP = ("oopRange", "ipRange", "config")
_STREETS = {"Flop": 1, "Turn": 2, "River": 3}
_NUMBERS = ("startingPot", "effectiveStack")
_OPTIONS = ("rakePercent", "rakeCap", "addAllInThreshold", "forceAllInThreshold", "mergingThreshold")
_IGNORED = ("expectedBoardLength",)  # it only repeats the length of the board for an edited tree
_EDITS = ("addedLines", "removedLines")
_SIZES = tuple(f"{who}{street}{what}" for who in ("oop", "ip") for street in _STREETS for what in ("Bet", "Raise"))
_DONKS = ("oopTurnDonk", "oopRiverDonk")
_KNOWN = ("board", *_NUMBERS, *_OPTIONS, *_IGNORED, *_EDITS, *_SIZES, *_DONKS, "donkOption")
_NEIGHBOURS = re.compile(r"(?:AK|KQ|QJ|JT|T9|98|87|76|65|54|43|32)[so]?(?=\+)", re.IGNORECASE)


def read_postflop_json(text: str, where: str = "") -> dict[str, Any]:
    """The arguments of a `Spot` that a JSON text describes."""
    try:
        return _from_document(_object(text))
    except InputError as error:
        raise error.at(where) from None


def _object(text: str) -> Mapping[str, Any]:
    if len(text) > MOST_TEXT:
        raise InputError(f"a JSON text of {len(text):,} characters", remedy=f"use at most {MOST_TEXT:,}")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", remedy="copy the whole text of Import / Export") from None
    if not isinstance(document, Mapping) or not any(key in document for key in _TOP):
        raise not_a("spot", "", f"JSON without {' and '.join(_TOP)}", "copy the whole text of Import / Export")
    return document


def _from_document(document: Mapping[str, Any]) -> dict[str, Any]:
    for key in document:
        if key not in _TOP:
            raise InputError(f"unknown key {shown(key)}", remedy=f"known are {', '.join(_TOP)}")
    config = document.get("config")
    if not isinstance(config, Mapping):
        raise InputError("config is missing", remedy="copy the whole text of Import / Export")
    for key in config:
        if key not in _KNOWN:
            raise InputError(f"unknown option {shown(key)}", remedy="remove it if it does not matter")
    for key in _EDITS:
        if config.get(key):
            raise InputError(f"an edited tree ({key})", remedy="clear the edit there and export again")
    rate = _number(config, "rakePercent", most=50) / 100
    return {
        "board": _board(config.get("board")),
        "pot": _chips(config, "startingPot"),
        "stack": _chips(config, "effectiveStack"),
        "ranges": (_range(document, "oopRange"), _range(document, "ipRange")),
        "menu": _bets(config),
        "rake": rate,
        "rake_cap": _number(config, "rakeCap") if rate else np.inf,
    }


def _board(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(isinstance(card, str) for card in value):
        raise InputError(f"board {shown(value)}", remedy='write e.g. ["Qs", "Jh", "2h"]')
    return FULL_DECK.read_cards("".join(value))


def _number(config: Mapping[str, Any], key: str, most: float = 1e9) -> float:
    value = config.get(key, 0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
        raise InputError(f"{key} is {shown(value)}", remedy=f"give a number from 0 to {most:g}")
    return float(value)


def _chips(config: Mapping[str, Any], key: str) -> int:
    value = _number(config, key)
    if value != int(value) or not value:
        raise InputError(f"{key} is {shown(config.get(key))}", remedy="give a whole number of chips")
    return int(value)


def _range(document: Mapping[str, Any], key: str) -> Range:
    value = document.get(key)
    if not isinstance(value, str):
        raise InputError(f"{key} is {shown(value)}", remedy='give a text like "QQ+,AKs"')
    parts = [_spelled_out(part) for part in value.split(",") if part.strip()]
    try:
        return Range.read(",".join(reversed(parts)))  # ours: the last part that names a hand counts
    except InputError as error:
        raise InputError(f"{key}: {error.what}", remedy=error.remedy) from None


def _spelled_out(part: str) -> str:
    """`T9s+` as `AKs-T9s`: there, a plus raises both ranks if they are neighbours."""
    found = _NEIGHBOURS.match(part.strip())
    if not found:
        return part
    kind = found[0][2:]
    return f"AK{kind}-{found[0]}{part.strip()[len(found[0]) + 1 :]}"


def _bets(config: Mapping[str, Any]) -> PostflopBets:
    def sizes(key: str) -> tuple[Size, ...]:
        value = config.get(key, "")
        if not isinstance(value, str):
            raise InputError(f"{key} is {shown(value)}", remedy='give a text like "60%, a"')
        try:
            return read_sizes(value, raising=key.endswith("Raise"))
        except InputError as error:
            raise InputError(f"{key}: {error.what}", remedy=error.remedy) from None

    players = {"oop": 0, "ip": 1}
    places = [
        (f"{who}{name}", (street, player)) for who, player in players.items() for name, street in _STREETS.items()
    ]
    return PostflopBets(
        bet={place: sizes(f"{key}Bet") for key, place in places},
        raises={place: sizes(f"{key}Raise") for key, place in places},
        donk={_STREETS[key[3:-4]]: sizes(key) for key in _DONKS} if config.get("donkOption") else None,
        add_all_in=_number(config, "addAllInThreshold") / 100,
        force_all_in=_number(config, "forceAllInThreshold") / 100,
        merge=_number(config, "mergingThreshold") / 100,
    )
