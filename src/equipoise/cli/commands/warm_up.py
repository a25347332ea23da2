"""`warm-up`: compile all kernels, once."""

from __future__ import annotations

from equipoise.cli.app import Json, Threads, app, examples, print_json
from equipoise.cli.render.compiling import notice
from equipoise.cli.render.progress import stage_bar
from equipoise.cli.render.tables import say


@app.command("warm-up", epilog=examples("equipoise warm-up"))
def warm_up(threads: Threads = 0, as_json: Json = False) -> None:
    """Compile all kernels once, so that no later command has to.

    Each stage runs a tiny piece of work; what it compiles is kept in the cache.
    """
    from equipoise.cli.warm_up import compile_all

    with notice.shown_elsewhere(), stage_bar("compiling") as progress:
        found = compile_all(threads, progress)
    if as_json:
        print_json(found)
    else:
        say(f"{found['compiled']} kernels compiled in {found['seconds']:.0f} s; later commands start at once")
