"""The process of a job. It takes the request from the job's folder and reports only there.

It begins when its standard input ends, and only if the job names this process: a job that no file names does not run.
SIGINT and SIGTERM stop it as Ctrl-C stops the verb on the command line.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from hdbkit.api import DEFAULT, documents
from hdbkit.awaiting import report_to
from hdbkit.errors import DamagedResult, HdbkitError
from hdbkit.files import replace_file, results_umask
from hdbkit.programs import STOPS
from hdbkit.results.manifest import Status
from hdbkit.service.job_folder import JobCourse, JobFolder, State
from hdbkit.service.verbs import VERBS


class _Stop:
    """Whether the job was asked to stop."""

    asked = False

    def __call__(self, *_: object) -> NoReturn:
        """Handle a signal."""
        self.asked = True
        raise KeyboardInterrupt


def main() -> None:
    """Entry point: ``python ... FOLDER``."""
    os.umask(results_umask())
    stop = _Stop()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in STOPS:
        signal.signal(number, stop)
    folder = JobFolder(Path(sys.argv[1]))
    sys.stdin.buffer.read()  # until the job names this process
    try:
        if folder.asked.pid != os.getpid():
            sys.exit(2)
    except DamagedResult:  # the service ended before it wrote the job
        sys.exit(2)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        document = _performed(folder)
    except KeyboardInterrupt as interrupt:
        folder.end(State.STOPPED, str(interrupt))
    except HdbkitError as error:
        folder.end(State.FAILED, str(error))
    except OSError as error:
        folder.end(State.FAILED, f"{error.filename or 'a file'} cannot be read or written: {error.strerror or error}")
    except Exception as error:
        folder.end(State.FAILED, f"hdbkit itself failed ({type(error).__name__}: {error})")
        raise
    else:
        replace_file(folder.result_file, documents.as_text(document).encode(), mode=0o600)
        stopped = stop.asked or document.get("status") == Status.STOPPED.value
        folder.end(State.STOPPED if stopped else State.DONE)


def _performed(folder: JobFolder) -> documents.Document:
    """Perform the verb; its document."""
    asked = folder.asked
    verb, course = VERBS[asked.verb], JobCourse(folder)
    report_to(course.say)
    return verb.perform(verb.request.of(asked.request, DEFAULT), course)
