"""The command line: arguments in, one library call, print. No logic; heavy imports wait until they are needed.

Bad input ends in one line on standard error and exit code 2; `--json` prints one JSON object on standard output.
Only `main` sets exit codes. It imports the commands itself, so Ctrl-C is handled from the start.
"""

from __future__ import annotations

import os
import signal
import sys

from equipoise.cli.output import close_output, open_output
from equipoise.core.errors import InputError
from equipoise.core.signals import exit_code, interrupt_on_signals, interrupted

__all__ = ["main"]

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


def main() -> None:
    """The `equipoise` command."""
    try:
        interrupt_on_signals()
        open_output()
        code = _run()
        close_output()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except InputError as error:
        code = _say(str(error), BAD_INPUT)
    except BrokenPipeError:  # the reader of our output has gone
        code = FAILED
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        what = error.strerror or str(error)
        code = _say(str(InputError(what if where else f"cannot write the output: {what}", where=where)), FAILED)
    except MemoryError:
        code = _say("not enough memory", FAILED)
    except Exception:
        if not interrupted():  # a compiler that was interrupted reports an error of its own
            raise
        code = INTERRUPTED
    _end(code)


def _run() -> int:
    """The exit code of the command itself."""
    from equipoise.cli.commands.registry import app
    from equipoise.cli.render.compiling import notice
    from equipoise.cli.usage import Abort, UsageError, asks_for_help, usage_error

    notice.follow(sys.argv[1:])
    try:
        code = app(standalone_mode=False, prog_name="equipoise")
    except UsageError as error:
        if asks_for_help(error):
            error.show()
            return BAD_INPUT
        raise usage_error(error, app, sys.argv[1:]) from None
    except Abort:  # the end of the input where an answer is needed
        return FAILED
    except SystemExit as done:
        code = done.code
    return code if isinstance(code, int) else 0


def _say(line: str, code: int) -> int:
    print(f"equipoise: {line}", file=sys.stderr)
    return code


def _end(code: int) -> None:
    """Exit; from here on, another Ctrl-C ends the process at once and silently."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if code == INTERRUPTED:
        code = _say("interrupted", exit_code())
    try:
        close_output()
    except OSError:
        sys.stdout = None  # nothing more can be written; Python must not try it at the end
    sys.exit(code)
