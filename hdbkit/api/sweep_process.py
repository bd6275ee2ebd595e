"""The process of its own session in which a sweep goes on while nobody waits for it, as a run has its supervisor.

It resumes a sweep whose plan is on disk, and all that anybody hears from it is the journal. Who starts it puts its
id there before it does anything: a sweep is never without a process that can be asked for. The password comes in
the environment, as the supervisor's does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from hdbkit.api.sweeping import sweep
from hdbkit.config import Target
from hdbkit.config.passwords import PASSWORD_VARIABLE
from hdbkit.errors import HdbkitError
from hdbkit.results.journal import Step
from hdbkit.results.sweep_folder import SweepFolder
from hdbkit.workspace import Workspace

_started: list[subprocess.Popen[bytes]] = []
"""Those that this process started and has not seen ending: a dropped handle leaves neither warning nor zombie."""
ERRORS = "process.err"


def launch(folder: SweepFolder, target: Target, blocks: int | None = None) -> subprocess.Popen[bytes]:
    """Start the process that does the runs of the sweep that are missing."""
    environment = dict(os.environ)
    secret = target.secret()
    if secret is not None:
        environment[PASSWORD_VARIABLE] = secret
    words = [*_COMMAND, str(folder.path), *([str(blocks)] if blocks else [])]
    held = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)  # inherited: no word to stop comes before it can listen
    try:
        with (folder.path / ERRORS).open("wb") as errors:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
    assert process.stdin is not None
    try:
        folder.note_started(process.pid)
    except BaseException:  # it has done nothing yet, and must not begin unseen
        process.kill()
        process.wait()
        raise
    finally:
        process.stdin.close()  # it waits for this
    _started[:] = [one for one in _started if one.poll() is None] + [process]
    return process


_STOPS = (signal.SIGINT, signal.SIGTERM)
_COMMAND = [sys.executable, "-c", "from hdbkit.api.sweep_process import main; main()"]


def main() -> None:
    """Entry of the sweep's process: ``python -c ... FOLDER [BLOCKS]``."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in _STOPS:
        signal.signal(number, _interrupted)
    folder = SweepFolder(Path(sys.argv[1]))
    blocks = int(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        sys.stdin.buffer.read()  # until the journal names this process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        sweep(resume_id=folder.sweep_id, blocks=blocks, workspace=Workspace(results=folder.root)).report()
    except KeyboardInterrupt:
        _note(folder, Step.STOPPED, "")
        sys.exit(130)
    except HdbkitError as error:
        _note(folder, Step.FAILED, str(error))
        sys.stderr.write(f"{error}\n")  # of a report that could not be written the journal knows nothing
        sys.exit(3)
    except Exception as error:
        _note(folder, Step.FAILED, f"hdbkit itself failed ({type(error).__name__}: {error})")
        raise


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _note(folder: SweepFolder, step: Step, note: str) -> None:
    """Say in the journal how it ended, unless that is there already."""
    state = folder.journal.state
    if state.executed_by == os.getpid():
        with suppress(OSError):
            folder.append(step, note=note)
