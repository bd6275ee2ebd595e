"""Experiments: many runs with one plan, one journal, one process, one resume and one restoration of the servers.

An experiment is cells x blocks: a plan (``plan.ExperimentPlan``) states the cells and the order of its runs, and its
kind (``kinds``) gives the plan after what the results decide. The runner depends neither on how a run is executed (a
callable given by the caller) nor on the kind of server (a ``ServerControl`` for each target). ``ARCHITECTURE.md``,
"An experiment", names the kinds and the steps.

The rules that must not break:

* Nothing is changed before the original settings of its server are on disk. With several targets there is a control
  for each target, and a lock, a snapshot and a restoration for each server.
* Every step is in the journal, synced, before the next one starts. A kill at any point leaves an experiment that
  ``resume`` continues with the run that was missing; at the end each planned run exists exactly once.
* A longer plan is on disk before its first new run, so every decision derives from plan, journal and results alone.
* Settings and data are restored at the end, after an error, after Ctrl-C, and after a kill by the next experiment on
  the server. A server of the experiment's own ends with its process, or where the plan continues on others; another
  process starts it anew.
* Runs that are executed at the same time count together or not at all.
"""

from hdbkit.experiment.events import (
    EventKind,
    ExperimentEvent,
    ExperimentProgress,
    ExperimentStatus,
    Follower,
    Watcher,
    experiment_progress,
)
from hdbkit.experiment.executing import prepare, resume, start, take_over
from hdbkit.experiment.turns import RunOne

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
    "start",
    "take_over",
]
