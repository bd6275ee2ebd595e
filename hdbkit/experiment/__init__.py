"""Executes a sweep: applies each configuration, executes each run, keeps a journal, restores the server.

It depends neither on how a run is executed (a callable given by the caller) nor on the kind of server (a
``ServerControl``). The rules that must not break: nothing is changed before the original settings are on disk; at the
end each planned run exists exactly once; the settings are restored at the end, after an error, after Ctrl-C, and,
after a kill, by the next sweep.
"""

from hdbkit.experiment.events import EventKind, ExperimentEvent, Follower, Watcher
from hdbkit.experiment.executing import RunOne, prepare, resume, start, take_over
from hdbkit.experiment.progress import ExperimentProgress, ExperimentStatus, experiment_progress
from hdbkit.experiment.settling import settle_earlier

__all__ = [
    "EventKind",
    "ExperimentEvent",
    "ExperimentProgress",
    "ExperimentStatus",
    "Follower",
    "RunOne",
    "Watcher",
    "experiment_progress",
    "prepare",
    "resume",
    "settle_earlier",
    "start",
    "take_over",
]
