"""All names of hdbkit: what verbs return, the verbs of the default workspace, and functions.

``connect`` returns a connection (build, check, drop, settings). ``run`` waits and returns a result; ``start`` and
``attach`` return a handle. ``sweep`` waits and returns verdicts; ``start_sweep`` and ``attach_experiment`` return a
handle. ``compare`` and ``runs`` read stored results. Tables are DataFrames with units in their column names.

A name is imported when it is first used, and a verb with those of its topic alone. Type checkers read
``__init__.pyi``, which a test compares with these lists.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_NAMES = {
    "analysis.comparison.gate": "Gate",
    "api.batch": "BatchResult",
    "api.certify": "Certificate verify_certificate",
    "api.compare": "Comparison",
    "api.connection": "Connection DropResult Maintenance datagen",
    "api.diagnosis": "list_databases",
    "api.engines": "list_engines new_engine new_workload operations",
    "api.experiment_result": "ExperimentResult",
    "api.experiments": "RunningExperiment",
    "api.importing": "Imported ImportedRuns import_settings",
    "api.max_rate": "MaxRate MaxRateRun",
    "api.planning": "PlannedHosts PlannedPower",
    "api.profiles": "Profile",
    "api.releases": "Release Releases Search",
    "api.result": "Result",
    "api.running": "Running default_load",
    "api.servers": "list_servers remove_server start_server stop_server",
    "api.site": "Site",
    "api.sweeping": "SweepResult",
    "api.workspace": "DEFAULT Workspace",
    "config": "CustomLoad CustomSpec Load Preparation SweepSpec Target TprocCLoad TprocCSpec TprocHLoad "
    "TprocHSpec WorkloadSpec",
    "execution.live": "LiveView Tick",
    "execution.showing": "Shown",
    "experiment": "ExperimentProgress ExperimentStatus",
    "loading": "Estimate estimate",
    "servers": "private_server",
}
"""By module, its names."""
_VERBS = {
    "api.batch.BatchVerbs": "batch",
    "api.certify.CertifyVerbs": "certify",
    "api.compare.ComparisonVerbs": "compare measure_in_turn overlay plan_comparison",
    "api.connection.ConnectionVerbs": "connect",
    "api.diagnosis.DiagnosisVerbs": "doctor password_source",
    "api.engines.EngineVerbs": "check_engine check_workload",
    "api.experiments.ExperimentVerbs": "attach_experiment experiment_result experiments resume_experiment "
    "run_experiment running_experiments start_experiment start_sweep",
    "api.first_steps.FirstStepVerbs": "demo demo_engines open_target plan_demo plan_demo_engines ready",
    "api.importing.ImportVerbs": "import_results",
    "api.max_rate.MaxRateVerbs": "find_max plan_max_rate",
    "api.planning.PlanningVerbs": "planned_hosts planned_power",
    "api.profiles.ProfileVerbs": "history plan_profile profile profiles",
    "api.releases.ReleaseVerbs": "find_slow_commit plan_releases plan_slow_commit releases",
    "api.stored_runs.ResultVerbs": "latencies result runs",
    "api.running.RunVerbs": "attach run running_runs show_operations start watch",
    "api.site.SiteVerbs": "site",
    "api.sweeping.SweepVerbs": "plan_sweep sweep",
    "api.workspace.Workspace": "serve_agent",
    "workspace.BareWorkspace": "end_private private private_targets",
}
"""By class of a topic, its verbs."""
_PLACES = {name: place for table in (_NAMES, _VERBS) for place, names in table.items() for name in names.split()}


class _Names(ModuleType):
    """This package, in which ``compare`` stays the verb when the module of that name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _PLACES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Names


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'hdbkit.api' has no attribute {name!r}")
    place = f"hdbkit.{_PLACES[name]}"
    if _PLACES[name] in _VERBS:
        module, _, topic = place.rpartition(".")
        workspace = import_module("hdbkit.workspace").default_workspace(getattr(import_module(module), topic))
        value = getattr(workspace, name)
    else:
        value = getattr(import_module(place), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_PLACES)
