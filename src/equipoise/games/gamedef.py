"""Reads and writes ACPC gamedef text, and finds the built-in games.

The format is the ACPC dealer's: `GAMEDEF`, one `key = values` a line, `END GAMEDEF`; `#` starts a comment. One key is
ours: `handRanking = three-card`, for Rhode Island hold'em (the default, `standard`, is the dealer's ranking).
An unknown key is refused, since a misspelt one would silently change the game.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NoReturn

from equipoise.cards.deck import RANKS, SUITS, Deck
from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, shown
from equipoise.core.files.shipped import Shelf
from equipoise.core.files.text import not_a, read_text
from equipoise.core.wording import did_you_mean
from equipoise.games.rules import MOST_CARDS, MOST_ROUNDS, PLAYERS, UNLIMITED_RAISES, UNLIMITED_STACK, GameRules

GAMES = Shelf("game", ("games/presets",), (".game",), "give a gamedef file")
_BY_PLAYER = ("stack", "blind")
_SINGLE = ("numplayers", "numrounds", "numsuits", "numranks", "numholecards")
_SPELLING = {
    name.lower(): name
    for name in (
        "numPlayers", "numRounds", "stack", "blind", "raiseSize", "firstPlayer", "maxRaises",
        "numSuits", "numRanks", "numHoleCards", "numBoardCards", "handRanking",
    )
}  # fmt: skip
_RANKINGS = {"standard": False, "three-card": True}
_MOST_DIGITS = 10


def read_gamedef(text: str, name: str = "", source: str = "gamedef") -> GameRules:
    """The rules of a gamedef's text; `source` names the text in messages."""
    return _Reader(source).read(text, name)


class _Reader:
    """The state of reading a gamedef: the values so far, and the line of each."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.values: dict[str, tuple[int, ...]] = {}
        self.lines: dict[str, int] = {}
        self.limit: bool | None = None
        self.three_card = False

    def read(self, text: str, name: str) -> GameRules:
        self.check_kind([line.split("#")[0].strip().lower() for line in text.splitlines()])
        opened = closed = False
        for number, raw in enumerate(text.splitlines(), 1):
            line = raw.split("#")[0].strip()
            if not line:
                continue
            if closed:
                self.refuse("text after END GAMEDEF", number, "end the file there")
            elif not opened:
                if line.lower() != "gamedef":
                    self.refuse(f"{shown(line)} where GAMEDEF was expected", number, "start with a line GAMEDEF")
                opened = True
            elif line.lower() == "end gamedef":
                closed = True
            else:
                self.read_line(line, number)
        return self.rules(name)

    def check_kind(self, lines: list[str]) -> None:
        """Refuse a text that is no gamedef before any of its lines is shown: any text can name any file as a game."""
        if "gamedef" not in lines:
            raise not_a("gamedef", self.source, "it has no line GAMEDEF", "start it with GAMEDEF, end with END GAMEDEF")
        if "end gamedef" not in lines:
            self.refuse("no END GAMEDEF", len(lines), "close it with a line END GAMEDEF")

    def read_line(self, line: str, number: int) -> None:
        key, equals, rest = (part.strip() for part in line.partition("="))
        key = key.lower()
        if not equals and key in ("limit", "nolimit"):
            if self.limit is not None:
                self.refuse("the betting is given twice", number, "give limit or nolimit once")
            self.limit = key == "limit"
            return
        if not equals:
            self.refuse(f"no '=' in {shown(line)}", number, "write a field as name = value")
        if key not in _SPELLING:
            self.refuse(f"unknown field {shown(key)}", number, did_you_mean(key, _SPELLING.values()))
        if key in self.lines:
            self.refuse(f"{_SPELLING[key]} is given twice", number, f"it is already on line {self.lines[key]}")
        self.lines[key] = number
        if key == "handranking":
            if rest not in _RANKINGS:
                self.refuse(f"unknown ranking {shown(rest)}", number, f"use {' or '.join(_RANKINGS)}")
            self.three_card = _RANKINGS[rest]
            return
        words = rest.split()
        for word in words:
            if whole_number(word, _MOST_DIGITS) is None:
                self.refuse(f"{shown(word)} is not a number of chips or cards", number, "use whole numbers")
        if not words or (key in _SINGLE and len(words) > 1):
            self.refuse(f"{_SPELLING[key]} has {len(words)} values", number, "give one value" if words else "give it")
        self.values[key] = tuple(int(word) for word in words)

    def rules(self, name: str) -> GameRules:
        if self.limit is None:
            raise self.missing("the betting", "add a line limit or nolimit")
        self.one("numplayers", PLAYERS, PLAYERS)
        rounds = self.one("numrounds", 1, MOST_ROUNDS)
        stacks = self.several("stack", PLAYERS, (UNLIMITED_STACK,) * PLAYERS if self.limit else None)
        blinds = self.several("blind", PLAYERS)
        raise_sizes = self.several("raisesize", rounds, None if self.limit else ())
        first = self.several("firstplayer", rounds, (1,) * rounds)
        max_raises = self.several("maxraises", rounds, (UNLIMITED_RAISES,) * rounds)
        deck = Deck(self.one("numranks", 1, len(RANKS)), self.one("numsuits", 1, len(SUITS)))
        hole_cards = self.one("numholecards", 1, MOST_CARDS)
        board_cards = self.several("numboardcards", rounds)
        try:
            return GameRules(
                limit=self.limit,
                blinds=(blinds[0], blinds[1]),
                stacks=(stacks[0], stacks[1]),
                first=tuple(player - 1 for player in first),
                max_raises=max_raises,
                deck=deck,
                hole_cards=hole_cards,
                board_cards=board_cards,
                raise_sizes=raise_sizes,
                three_card=self.three_card,
                name=name,
            )
        except InputError as error:
            raise error.at(self.place_of(error)) from None

    def place_of(self, error: InputError) -> str:
        """The line of the field that an error of `GameRules` names, else the file."""
        for key, spelling in _SPELLING.items():
            if spelling in error.what and key in self.lines:
                return f"{self.source}:{self.lines[key]}"
        return self.source

    def one(self, key: str, least: int, most: int) -> int:
        if key not in self.values:
            raise self.missing(_SPELLING[key], f"add a line {_SPELLING[key]} = ...")
        value = self.values[key][0]
        if not least <= value <= most:
            allowed = f"{least} to {most}" if least < most else f"{most}"
            self.refuse(f"{_SPELLING[key]} is {value}", self.lines[key], f"use {allowed}")
        return value

    def several(self, key: str, count: int, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        values = self.values.get(key, default)
        if values is None:
            raise self.missing(_SPELLING[key], f"add a line {_SPELLING[key]} = ... with {count} values")
        if key in self.values and len(values) != count:
            what = "player" if key in _BY_PLAYER else "round"
            self.refuse(f"{_SPELLING[key]} has {len(values)} values", self.lines[key], f"give {count}, one a {what}")
        return values

    def missing(self, what: str, remedy: str) -> InputError:
        return InputError(f"{what} is missing", where=self.source, remedy=remedy)

    def refuse(self, what: str, line: int, remedy: str) -> NoReturn:
        raise InputError(what, where=f"{self.source}:{line}", remedy=remedy)


def write_gamedef(rules: GameRules) -> str:
    """The gamedef of rules: reads back as the same rules."""
    fields: list[tuple[str, tuple[int, ...] | str]] = [
        ("numPlayers", (PLAYERS,)),
        ("numRounds", (rules.rounds,)),
        ("stack", () if rules.limit and rules.stacks == (UNLIMITED_STACK,) * PLAYERS else rules.stacks),
        ("blind", rules.blinds),
        ("raiseSize", rules.raise_sizes),
        ("firstPlayer", tuple(player + 1 for player in rules.first)),
        ("maxRaises", () if rules.max_raises == (UNLIMITED_RAISES,) * rules.rounds else rules.max_raises),
        ("numSuits", (rules.deck.suits,)),
        ("numRanks", (rules.deck.ranks,)),
        ("numHoleCards", (rules.hole_cards,)),
        ("numBoardCards", rules.board_cards),
        ("handRanking", "three-card" if rules.three_card else ""),
    ]
    lines = ["GAMEDEF", "limit" if rules.limit else "nolimit"]
    for name, value in fields:
        if value:
            lines.append(f"{name} = {value if isinstance(value, str) else ' '.join(map(str, value))}")
    return "\n".join([*lines, "END GAMEDEF", ""])


def preset_names() -> list[str]:
    """The built-in games, smallest first."""
    order = ["kuhn", "leduc", "rhode-island", "holdem.two-four", "holdem.flop", "holdem.limit", "holdem.nolimit"]
    return [*order, *(name for name in GAMES.names() if name not in order)]


def preset_about(name: str) -> str:
    """What a built-in game is: the comment at the head of its gamedef."""
    return GAMES.find(name).read_text().splitlines()[0].lstrip("# ")


@cache
def _read_preset(path: Path) -> GameRules:
    return read_gamedef(path.read_text(), name=path.stem, source=path.name)


def as_game(game: str | Path | GameRules) -> GameRules:
    """Rules as given, or those of a name or file: what every function does that takes a game."""
    return game if isinstance(game, GameRules) else load_game(game)


def load_game(name_or_file: str | Path) -> GameRules:
    """The rules of a built-in game, or of a gamedef file."""
    shipped = GAMES.shipped(str(name_or_file))
    if shipped is not None:
        return _read_preset(shipped)
    path = GAMES.find(name_or_file)
    try:
        return read_gamedef(read_text(path), name=path.stem, source=str(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path), remedy="give a gamedef file") from None
