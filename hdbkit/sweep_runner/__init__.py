"""Executes a sweep: applies each configuration, executes each run, keeps a journal, restores the server.

It depends neither on how a run is executed (a callable given by the caller) nor on the kind of server (a
``ServerControl``). The rules that must not break: nothing is changed before the original settings are on disk; at the
end each planned run exists exactly once; the settings are restored at the end, after an error, after Ctrl-C, and,
after a kill, by the next sweep.
"""

from hdbkit.sweep_runner.events import EventKind, Follower, SweepEvent, Watcher
from hdbkit.sweep_runner.executing import RunOne, prepare, resume, start, take_over
from hdbkit.sweep_runner.progress import SweepProgress, SweepStatus, sweep_progress
from hdbkit.sweep_runner.settling import settle_earlier

__all__ = [
    "EventKind",
    "Follower",
    "RunOne",
    "SweepEvent",
    "SweepProgress",
    "SweepStatus",
    "Watcher",
    "prepare",
    "resume",
    "settle_earlier",
    "start",
    "sweep_progress",
    "take_over",
]
