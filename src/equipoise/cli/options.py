"""Options that several commands take: each has one name and one meaning everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON object; everything else goes to standard error.")
]
Threads = Annotated[int, typer.Option(metavar="N", min=0, help="Number of threads; 0: all cores.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
What = Annotated[
    str, typer.Argument(metavar="WHAT", help="A run folder, a strategy file or a named agent, options after '?'.")
]
Game = Annotated[str, typer.Option(metavar="GAME", help="Game of a named agent: built-in, or an ACPC gamedef file.")]
FreshSeed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of all randomness (default: a random one).")
]
Log = Annotated[str | None, typer.Option(metavar="FILE", help="Log the hands in the format of the ACPC dealer.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the recipe.")]
