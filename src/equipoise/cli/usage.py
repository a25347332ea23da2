"""Bad usage (an unknown option, a missing argument) as bad input: one line that says what would be right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer
from typer.main import get_command

from equipoise.core.errors import InputError, shown

Abort = typer.Abort
UsageError: Any = typer.BadParameter.__base__  # of the copy of click that typer has
_COULD_NOT = re.compile(r"'(?P<value>.*)' is not a valid (?P<kind>integer|float)( range)?\.?", re.DOTALL)
_TOO_MANY = re.compile(r"Got unexpected extra arguments?(\(s\))? \((?P<words>.*)\)", re.DOTALL)
_KINDS = {"integer": "a whole number", "float": "a number"}


def asks_for_help(error: Any) -> bool:
    """Is it a noun without a verb? The parser then shows all verbs."""
    return type(error).__name__ == "NoArgsIsHelpError"


def usage_error(error: Any, app: typer.Typer, words: Sequence[str] = ()) -> InputError:
    """The line for an error of the parser about the words after `equipoise`."""
    context = error.ctx
    path = context.command_path if context else _command_path(app, words)
    command, help_ = path.removeprefix("equipoise").strip(), f"see {path} --help"
    if hasattr(error, "possibilities") and hasattr(error, "option_name"):
        option = error.option_name
        near = get_close_matches(option, _options(context), 1) or list(error.possibilities or ())[:1]
        return InputError(f"no option {option}", where=command, remedy=f"did you mean {near[0]}?" if near else help_)
    text = " ".join(_value_problem(error).split())
    what = re.sub(r"^[A-Z](?=[a-z])", lambda first: first[0].lower(), text.rstrip("."))
    what = what.replace(". Did you mean", "; did you mean")
    return InputError(what, where=command, remedy="" if "did you mean" in what else help_)


def _value_problem(error: Any) -> str:
    """What is wrong with a value, in our words where the parser's are those of a library."""
    text: str = error.format_message()
    if too_many := _TOO_MANY.fullmatch(text):
        return f"too many arguments: {shown(too_many['words'], 100)}"
    option = getattr(getattr(error, "param", None), "opts", [""])[-1]
    if not option or not text.startswith("Invalid value"):
        return text
    name = option if option.startswith("-") else option.upper()
    details = getattr(error.__cause__, "errors", None)
    if details is not None:  # of pydantic, which newer versions of typer read values with
        from equipoise.core.checked_model import problem

        first = details()[0]
        return f"{name} {problem(first)} (got {shown(first['input'])})"
    number = _COULD_NOT.fullmatch(error.message)
    return f"{name} must be {_KINDS[number['kind']]} (got {shown(number['value'])})" if number else text


def _command_path(app: typer.Typer, words: Sequence[str]) -> str:
    """The command that words begin with: `equipoise spot solve`."""
    path: list[str] = ["equipoise"]
    command: Any = get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        path.append(word)
    return " ".join(path)


def _options(context: Any) -> list[str]:
    """The options of a command, as they are typed."""
    return [word for each in context.command.params for word in (*each.opts, *each.secondary_opts)] if context else []
