"""The detached process that executes an experiment, as the supervisor executes a run.

It continues an experiment whose plan is on disk and reports only through the journal.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from pydantic import SecretStr

from hdbkit.api.workspace import Workspace
from hdbkit.config import Target
from hdbkit.errors import HdbkitError
from hdbkit.experiment.kinds import read_plan
from hdbkit.files import results_umask
from hdbkit.programs import STOPS
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.journal import Step


def main() -> None:
    """Entry point of the experiment's process: ``python ... FOLDER [BLOCKS]``."""
    os.umask(results_umask())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in STOPS:
        signal.signal(number, _interrupted)
    folder = ExperimentFolder(Path(sys.argv[1]))
    blocks = int(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        secrets = json.loads(sys.stdin.buffer.read() or b"{}")  # until the journal names this process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        targets = [_with_secret(one, secrets.get(one.url)) for one in read_plan(folder).targets]
        done = Workspace(results=folder.root).resume_experiment(folder.experiment_id, targets, blocks=blocks)
        done.report()
    except KeyboardInterrupt as stop:
        _note(folder, Step.STOPPED, str(stop))
        sys.exit(130)
    except HdbkitError as error:
        _note(folder, Step.FAILED, str(error))
        sys.stderr.write(f"{error}\n")  # the journal does not record a failed report
        sys.exit(3)
    except Exception as error:
        _note(folder, Step.FAILED, f"hdbkit itself failed ({type(error).__name__}: {error})")
        raise


def _with_secret(target: Target, secret: str | None) -> Target:
    return target if secret is None else target.model_copy(update={"password": SecretStr(secret)})


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _note(folder: ExperimentFolder, step: Step, note: str) -> None:
    """Record in the journal how the experiment ended, unless it is recorded already."""
    state = folder.journal.state
    if state.executed_by == os.getpid():
        with suppress(OSError):
            folder.append(step, note=note)
