"""Experiments: many runs with one plan, one journal, one process, one resume and one restoration of the servers.

An experiment is cells x blocks. A *cell* is what one run measures: a target, a workload, a load, and settings of the
server. A *source* states the cells, at once or one by one, and is a kind of plan (``plan.ExperimentPlan``):

    sweep.SweepPlan        a grid of settings and factors, or those that a search selects for each block
    sides.ComparisonPlan   two targets in turn, or at the same time
    sides.ProfilePlan      one target at several numbers of virtual users
    sides.ReleasesPlan     commits of a server, each built and started by the process that executes the experiment
    sides.SlowCommitPlan   two commits: its steps are experiments of their own, each with a commit between
    sides.EnginesPlan      engines on the same data, on servers or in files of that process
    max_rate.MaxRatePlan   rates of an open loop: the next follows from the results so far

A plan states in which order its runs are executed, how servers are prepared before each (data, cache, maintenance,
cool-down), and whether a failed run is a result or ends the experiment; ``sources.following`` gives the plan after
what the results decide: looks, proposals of a search, the next rate. Replication is by blocks of one session, as in a
sweep and a comparison, or by sessions, as in a profile; the analysis decides that by the data.

The runner depends neither on how a run is executed (a callable given by the caller) nor on the kind of server (a
``ServerControl`` for each target):

    executing    start, prepare, resume, take over; turn after turn until the plan ends
    turns        prepares the servers and executes the runs of one turn
    course       the plan as decided so far, the journal, and who watches
    settling     restores the servers, after a killed experiment as well
    servers      a control for each target, of an experiment that is continued those that it changed; what is saved
                 of each server before the first change

The rules that must not break:

* Nothing is changed before the original settings of its server are on disk. With several targets there is a control
  for each target, and a lock, a snapshot and a restoration for each server.
* Every step is in the journal, synced, before the next one starts. A kill at any point leaves an experiment that
  ``resume`` continues with the run that was missing; at the end each planned run exists exactly once.
* A longer plan is on disk before its first new run, so every decision derives from plan, journal and results alone.
* Settings and data are restored at the end, after an error, after Ctrl-C, and after a kill by the next experiment on
  the server. A server of the experiment's own has ended with its process; another process starts it anew.
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
