"""Exit codes, and the conversion of errors: one sentence on standard error, never a traceback."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from hdbkit.errors import HdbkitError, InputError, ServerDown, is_disk_full
from hdbkit.paths import results_folder, state_folder
from hdbkit.text import without_controls


class Exit(IntEnum):
    """Exit codes of the program."""

    DONE = 0
    CHECK_FAILED = 1
    WRONG_INPUT = 2
    RUN_FAILED = 3
    SERVER_DOWN = 4
    STOPPED = 130
    TERMINATED = 143


_AGAIN_S = 0.05
USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""A wrong command line. Some versions of typer bring their own click, others import it."""


class Interruptible(TyperGroup):
    """The program's commands. typer would end with a code alone when a command is interrupted."""

    def invoke(self, ctx: Any) -> Any:
        """Execute the command; an interrupt is reported by ``guarded``."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise typer.Abort(*stop.args) from None


def guarded(command: Callable[[], object]) -> int:
    """Run a command line; its exit code."""
    came: list[int] = []
    try:
        with _ended_in_order(came):
            code = command()
    except USAGE as error:
        error.show()
        code = Exit.WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort) as stop:
        stopped = Exit.TERMINATED if signal.SIGTERM in came else Exit.STOPPED
        code = _say(f"stopped; {str(stop) or 'finished work is kept'}", stopped)
    except HdbkitError as error:
        code = _say(str(error), _exit_of(error))
    except BrokenPipeError:  # the reader has closed our output, as in `hdbkit runs list | head`
        code = Exit.DONE
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # a full or protected disk under a report, a catalog, a CSV
        place, advice = error.filename or "a file", ""
        if is_disk_full(error):
            place, advice = error.filename or _full_place(), "; free space there, then repeat the command"
        code = _say(f"{place} cannot be read or written: {error.strerror or error}{advice}", Exit.RUN_FAILED)
    return code if isinstance(code, int) else Exit.DONE


@contextmanager
def _ended_in_order(came: list[int]) -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does: what it waits for in a server is cancelled. They are noted.

    A signal that is ignored stays ignored, as with ``nohup``; a fork is ended as by default.
    """
    own = os.getpid()

    def stop(number: int, _: object) -> None:
        if os.getpid() != own:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        came.append(number)
        raise KeyboardInterrupt

    in_main = threading.current_thread() is threading.main_thread()
    numbers = [one for one in (signal.SIGTERM, signal.SIGHUP) if in_main and signal.getsignal(one) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, stop)
    report = sys.unraisablehook
    sys.unraisablehook = lambda lost: _again(came, own) if _is_stop(lost) else report(lost)
    try:
        yield
    finally:
        sys.unraisablehook = report
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _is_stop(lost: Any) -> bool:
    return issubclass(lost.exc_type, KeyboardInterrupt)


def _again(came: list[int], own: int) -> None:
    """Repeat a signal a moment later: Python drops what a handler raises inside a callback, as of the collector."""
    number = signal.SIGTERM if signal.SIGTERM in came else signal.SIGINT
    if os.getpid() == own:
        later = threading.Timer(_AGAIN_S, os.kill, (own, number))
        later.daemon = True
        later.start()


def _full_place() -> str:
    """A file in the first folder of ours whose file system is full: a failed write does not name its file."""
    for place in (results_folder(), Path(tempfile.gettempdir()), state_folder(), Path.cwd()):
        with suppress(OSError):
            if os.statvfs(next(one for one in (place, *place.parents) if one.exists())).f_bavail == 0:
                return f"a file in {place}"
    return "a file"


def _exit_of(error: HdbkitError) -> Exit:
    if isinstance(error, ServerDown):
        return Exit.SERVER_DOWN
    return Exit.WRONG_INPUT if isinstance(error, InputError) else Exit.RUN_FAILED


@contextmanager
def stopped_like_ctrl_c() -> Iterator[None]:
    """SIGHUP and SIGTERM end the block as Ctrl-C does, so that it can restore what it changed."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    numbers = (signal.SIGHUP, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


class Terminated(BaseException):
    """SIGTERM or SIGHUP came while this process only watched."""


@contextmanager
def leaving_on_sigterm() -> Iterator[None]:
    """SIGTERM, or SIGHUP of a closed terminal, ends the block with ``Terminated``; what it watches continues in
    processes of its own."""

    def leave(*_: object) -> NoReturn:
        raise Terminated

    numbers = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is not signal.SIG_IGN]
    before = [signal.signal(number, leave) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _say(text: str, code: Exit) -> Exit:
    with suppress(OSError):  # the terminal may be closed
        sys.stderr.write(f"hdbkit: {without_controls(text)}\n")
    return code
