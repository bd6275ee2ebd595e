"""The detached process that executes a sweep, as the supervisor executes a run.

It resumes a sweep whose plan is on disk and reports only through the journal. The starter writes the process id
to the journal before it does anything, so that a running sweep always has a known process. The password is passed in
the environment, as for the supervisor.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from hdbkit.api.sweeping import SweepVerbs
from hdbkit.config import Target
from hdbkit.config.passwords import PASSWORD_VARIABLE
from hdbkit.errors import HdbkitError
from hdbkit.programs import DEVNULL, PIPE, Process, start_program
from hdbkit.results.journal import Step
from hdbkit.results.sweep_folder import SweepFolder
from hdbkit.servers.place import in_use

_started: list[Process] = []
"""The processes that this process has started and not yet waited for; prevents zombies and resource warnings."""
ERRORS = "process.err"


def launch(folder: SweepFolder, target: Target, blocks: int | None = None) -> Process:
    """Start the process that executes the missing runs of a sweep."""
    environment = dict(os.environ)
    secret = target.secret()
    if secret is not None:
        environment[PASSWORD_VARIABLE] = secret
    held = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)  # inherited: no signal arrives before its handlers exist
    try:
        with (folder.path / ERRORS).open("wb") as errors, in_use(target.server_folder) as used:
            process = start_program(
                "hdbkit.api.sweep_process",
                str(folder.path),
                *([str(blocks)] if blocks else []),
                environment=environment,
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=errors.fileno(),
                pass_fds=used,
                starts_programs=True,
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
    assert process.stdin is not None
    try:
        folder.note_started(process.pid)
    except BaseException:  # a process that the journal does not name must not start
        process.kill()
        process.wait()
        raise
    finally:
        process.stdin.close()  # the signal to start
    _started[:] = [one for one in _started if one.poll() is None] + [process]
    return process


_STOPS = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Entry point of the sweep's process: ``python ... FOLDER [BLOCKS]``."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in _STOPS:
        signal.signal(number, _interrupted)
    folder = SweepFolder(Path(sys.argv[1]))
    blocks = int(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        sys.stdin.buffer.read()  # until the journal names this process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        SweepVerbs(results=folder.root).sweep(resume_id=folder.sweep_id, blocks=blocks).report()
    except KeyboardInterrupt:
        _note(folder, Step.STOPPED, "")
        sys.exit(130)
    except HdbkitError as error:
        _note(folder, Step.FAILED, str(error))
        sys.stderr.write(f"{error}\n")  # the journal does not record a failed report
        sys.exit(3)
    except Exception as error:
        _note(folder, Step.FAILED, f"hdbkit itself failed ({type(error).__name__}: {error})")
        raise


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _note(folder: SweepFolder, step: Step, note: str) -> None:
    """Record in the journal how the sweep ended, unless it is recorded already."""
    state = folder.journal.state
    if state.executed_by == os.getpid():
        with suppress(OSError):
            folder.append(step, note=note)
