"""The command line: arguments in, one library call, print. No logic, and nothing heavy imported before it is needed.

Bad input ends in one line on standard error and exit code 2; `--json` prints one JSON object on standard output.
"""

from __future__ import annotations

import sys

from equipoise._errors import InputError
from equipoise.cli import cards, match, records, solving, table
from equipoise.cli.app import app

__all__ = ["app", "cards", "main", "match", "records", "solving", "table"]


def main() -> None:
    """The `equipoise` command."""
    try:
        app()
    except InputError as error:
        print(f"equipoise: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has gone: nothing more to say
        sys.stderr.close()
        sys.exit(1)
