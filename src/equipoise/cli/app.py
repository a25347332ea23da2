"""What all commands share: the application, the `--json` option, what prints."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="equipoise",
    help="Build heads-up hold'em agents, prove how exploitable they are, and play them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


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
    """What prints for people: imported when it is needed."""
    from equipoise import console

    return console


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    print(json.dumps(value))
