"""Executes a sweep: brings the server to each configuration, has each run done, keeps a journal, restores the server.

It knows neither how a run is done (a callable, given by the caller) nor what the server is (a ``ServerControl``).
The rules that must not break: nothing is changed before the settings as they were are on disk; each planned run
exists exactly once in the end; the settings are brought back at the end, at an error, at Ctrl-C, and at the next
sweep after a kill.
"""

from hdbkit.sweep_runner.events import EventKind, Follower, SweepEvent, Watcher
from hdbkit.sweep_runner.executing import RunOne, prepare, resume, start
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
]
