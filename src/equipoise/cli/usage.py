"""Bad usage (an unknown option, a missing argument) as bad input: one line that says what would be right."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer

from equipoise.core.errors import InputError

Abort = typer.Abort
UsageError: Any = typer.BadParameter.__base__  # click's own; newer versions of typer have their copy of click


def asks_for_help(error: Any) -> bool:
    """Is it a noun without a verb? The parser then shows all verbs."""
    return type(error).__name__ == "NoArgsIsHelpError"  # older versions of click show them without an error


def usage_error(error: Any) -> InputError:
    """The line for an error of the parser."""
    context = error.ctx
    path = context.command_path if context else "equipoise"
    command, help_ = path.removeprefix("equipoise").strip(), f"see {path} --help"
    if hasattr(error, "possibilities") and hasattr(error, "option_name"):
        option = error.option_name
        near = get_close_matches(option, _options(context), 1) or list(error.possibilities or ())[:1]
        return InputError(f"no option {option}", where=command, remedy=f"did you mean {near[0]}?" if near else help_)
    text = " ".join(error.format_message().split())
    what = text[:1].lower() + text[1:].rstrip(".").replace(". Did you mean", "; did you mean")
    return InputError(what, where=command, remedy="" if "did you mean" in what else help_)


def _options(context: Any) -> list[str]:
    """The options of a command, as they are typed."""
    return [word for each in context.command.params for word in (*each.opts, *each.secondary_opts)] if context else []
