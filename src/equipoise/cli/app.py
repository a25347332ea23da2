"""What all commands share: the application, options with one meaning everywhere, examples, printing JSON, refusals."""

from __future__ import annotations

import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from equipoise.core.errors import InputError
from equipoise.core.files.strict_json import json_text

ORDER = (  # of `equipoise --help`: the way from the rules to the table
    "games", "equity", "abstraction", "recipes", "train", "measure", "strategy", "spot", "match", "log", "play", "acpc",
    "slumbot", "reproduce", "bench", "warm-up",
)  # fmt: skip


class _InOrder(TyperGroup):
    """Commands in the order in which people need them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands."""
        place = {name: number for number, name in enumerate(ORDER)}
        return sorted(super().list_commands(ctx), key=lambda name: place.get(name, len(ORDER)))


app = typer.Typer(
    name="equipoise",
    cls=_InOrder,
    help="Build heads-up hold'em agents, prove how exploitable they are, and play them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

TARGET_MISSED = 3  # exit code of a solve or training that ended before it reached its target

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON object; everything else goes to standard error.")
]
Threads = Annotated[int, typer.Option(metavar="N", min=0, help="Number of threads; 0: all cores.")]
What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        help="A shipped agent (nolimit-strong), a run folder, a strategy file or a named agent (always-call, "
        "always-fold, always-raise, uniform); options after '?'.",
    ),
]
Game = Annotated[str, typer.Option(metavar="GAME", help="Game of a named agent: built-in, or an ACPC gamedef file.")]
FreshSeed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of all randomness (default: a random one).")
]
Log = Annotated[str | None, typer.Option(metavar="FILE", help="Log the hands in the format of the ACPC dealer.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the recipe.")]


def noun(name: str, about: str) -> typer.Typer:
    """A command with verbs of its own."""
    verbs = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=about)
    app.add_typer(verbs, name=name)
    return verbs


def examples(*lines: str) -> str:
    """The end of a help text: commands that run as printed, one after another, in an empty folder."""
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])


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
    for parameter in context.command.params:
        if parameter.name in names and given(context, parameter.name):
            turned_off = parameter.secondary_opts and context.params[parameter.name] is False
            spelled = parameter.secondary_opts if turned_off else parameter.opts
            raise InputError(f"{spelled[0]} {why}", remedy="leave it out")


def refuse_all_but(context: typer.Context, why: str, *names: str) -> None:
    """Refuse all options but some."""
    others = [parameter.name for parameter in context.command.params if parameter.name not in (*names, "as_json")]
    refuse_options(context, why, *(name for name in others if name))
