"""Exit codes, and how an error becomes one: one clear sentence on standard error, never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import typer

from hdbkit.errors import HdbkitError, InputError


class Exit(IntEnum):
    """What the process tells the script that called it."""

    DONE = 0
    CHECK_FAILED = 1
    WRONG_INPUT = 2
    RUN_FAILED = 3
    STOPPED = 130


USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""A command line that does not fit its command. Some versions of typer bring their own click, others import it."""


def guarded(command: Callable[[], object]) -> int:
    """Run a command line; its exit code."""
    try:
        code = command()
    except USAGE as error:
        error.show()
        code = Exit.WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        code = _say("stopped; what was finished is kept", Exit.STOPPED)
    except HdbkitError as error:
        code = _say(str(error), Exit.WRONG_INPUT if isinstance(error, InputError) else Exit.RUN_FAILED)
    except BrokenPipeError:  # the reader of our output has gone, as in `hdbkit runs list | head`
        code = Exit.DONE
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code if isinstance(code, int) else Exit.DONE


def _say(text: str, code: Exit) -> Exit:
    sys.stderr.write(f"hdbkit: {text}\n")
    return code
