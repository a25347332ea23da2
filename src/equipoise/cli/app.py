"""What all commands share: the application, `--json`, printing, and the refusal of useless options."""

from __future__ import annotations

import sys
from typing import Annotated, Any, NoReturn

import typer

from equipoise.core.errors import InputError
from equipoise.core.files.strict_json import json_text

app = typer.Typer(
    name="equipoise",
    help="Build heads-up hold'em agents, prove how exploitable they are, and play them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

TARGET_MISSED = 3  # exit code of a solve or training that ended before it reached its target

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Threads = Annotated[int, typer.Option(min=0, help="Number of threads; 0: all cores.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"equipoise {version('equipoise')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def console() -> Any:
    """The module that prints for people, imported when it is needed."""
    from equipoise.cli.render import console

    return console


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output; numbers that are not finite are null."""
    print(json_text(value))


def miss_target(line: str) -> NoReturn:
    """Say which target was missed, and exit with the code for it."""
    print(f"equipoise: {line}", file=sys.stderr)
    raise typer.Exit(TARGET_MISSED)


def given(context: typer.Context, name: str) -> bool:
    """Whether the user gave an option, by the name of its parameter."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def refuse_options(context: typer.Context, why: str, *names: str) -> None:
    """Refuse options that would do nothing here; `why` says what they are for."""
    spelled = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in names:
        if given(context, name):
            raise InputError(f"{spelled[name]} {why}", remedy="leave it out")


def refuse_all_but(context: typer.Context, why: str, *names: str) -> None:
    """Refuse all options but some."""
    others = [parameter.name for parameter in context.command.params if parameter.name not in (*names, "as_json")]
    refuse_options(context, why, *(name for name in others if name))
