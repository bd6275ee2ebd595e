"""The public functions of hdbkit, which the command line and the notebook panels call without logic of their own.

``connect`` returns a connection (build, check, drop, settings). ``run`` waits and returns a result; ``start`` and
``attach`` return a handle. ``sweep`` waits and returns verdicts; ``start_sweep`` and ``attach_sweep`` return a
handle. ``compare`` and ``runs`` read stored results. Tables are DataFrames with units in their column names.
"""

from hdbkit.analysis.comparison.sides import Gate
from hdbkit.api.agent import serve_agent
from hdbkit.api.batch import BatchResult, batch
from hdbkit.api.compare import Comparison, compare, overlay
from hdbkit.api.connection import Connection, DropResult, connect
from hdbkit.api.data_files import datagen
from hdbkit.api.demo_engines import demo_engines
from hdbkit.api.diagnosis import doctor
from hdbkit.api.discovery import databases, password_place
from hdbkit.api.engines import check_engine, engines, new_engine, operations
from hdbkit.api.first_result import Quickstart, QuickstartResult, QuickStep, StepState, quickstart
from hdbkit.api.first_steps import DemoResult, demo, end_private, open_target, private, private_targets, ready
from hdbkit.api.importing import Imported, ImportedJobs, import_hammerdb, import_hammerdb_jobs
from hdbkit.api.kept import remove_server, servers, start_server, stop_server
from hdbkit.api.max_rate import MaxRate, MaxRateRun, find_max
from hdbkit.api.planned_hosts import PlannedHosts, planned_hosts
from hdbkit.api.planned_power import PlannedPower, planned_power
from hdbkit.api.profiles import Profile, history, profile, profiles
from hdbkit.api.releases import Release, Releases, Search, releases
from hdbkit.api.result import Result, result, runs
from hdbkit.api.running import Running, attach, default_load, run, running_runs, start
from hdbkit.api.running_sweep import RunningSweep, attach_sweep, running_sweeps, start_sweep
from hdbkit.api.site import Site, site
from hdbkit.api.sweeping import SweepResult, plan, sweep, sweep_result
from hdbkit.build import Estimate, estimate
from hdbkit.execution.live import LiveView, Tick
from hdbkit.sweep_runner import SweepProgress, SweepStatus
from hdbkit.workspace import Workspace

__all__ = [
    "BatchResult",
    "Comparison",
    "Connection",
    "DemoResult",
    "DropResult",
    "Estimate",
    "Gate",
    "Imported",
    "ImportedJobs",
    "LiveView",
    "MaxRate",
    "MaxRateRun",
    "PlannedHosts",
    "PlannedPower",
    "Profile",
    "QuickStep",
    "Quickstart",
    "QuickstartResult",
    "Release",
    "Releases",
    "Result",
    "Running",
    "RunningSweep",
    "Search",
    "Site",
    "StepState",
    "SweepProgress",
    "SweepResult",
    "SweepStatus",
    "Tick",
    "Workspace",
    "attach",
    "attach_sweep",
    "batch",
    "check_engine",
    "compare",
    "connect",
    "databases",
    "datagen",
    "default_load",
    "demo",
    "demo_engines",
    "doctor",
    "end_private",
    "engines",
    "estimate",
    "find_max",
    "history",
    "import_hammerdb",
    "import_hammerdb_jobs",
    "new_engine",
    "open_target",
    "operations",
    "overlay",
    "password_place",
    "plan",
    "planned_hosts",
    "planned_power",
    "private",
    "private_targets",
    "profile",
    "profiles",
    "quickstart",
    "ready",
    "releases",
    "remove_server",
    "result",
    "run",
    "running_runs",
    "running_sweeps",
    "runs",
    "serve_agent",
    "servers",
    "site",
    "start",
    "start_server",
    "start_sweep",
    "stop_server",
    "sweep",
    "sweep_result",
]
