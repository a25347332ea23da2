"""Bad usage (an unknown option, a missing argument) as bad input: one line that says what would be right."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer

from equipoise.core.errors import InputError

Abort = typer.Abort
UsageError: Any = typer.BadParameter.__base__  # click's own; newer versions of typer have their copy of click


def usage_error(error: Any) -> InputError:
    """The line for an error of the parser."""
    context = error.ctx
    command = context.command_path if context else "equipoise"
    help_ = f"see {command} --help"
    option = getattr(error, "option_name", "")
    if option:
        near = get_close_matches(option, _options(context), 1) or list(error.possibilities or ())[:1]
        return InputError(f"no option {option}", where=command, remedy=f"did you mean {near[0]}?" if near else help_)
    text = " ".join(error.format_message().split())
    return InputError(text[:1].lower() + text[1:].rstrip("."), where=command, remedy="" if "Did you" in text else help_)


def _options(context: Any) -> list[str]:
    """The options of a command, as they are typed."""
    return [word for each in context.command.params for word in (*each.opts, *each.secondary_opts)] if context else []
