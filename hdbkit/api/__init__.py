"""The verbs, once: command line, notebooks and service are thin faces of what stands here.

``connect`` gives a connection (build, check, drop, settings); ``run`` blocks and gives a result, ``start`` and
``attach`` give a handle; ``sweep`` gives verdicts; ``compare`` and ``runs`` look at what was kept. Results are
DataFrames with units in the names of their columns.
"""

from hdbkit.api.compare import Comparison, compare
from hdbkit.api.connection import Connection, connect
from hdbkit.api.demo import demo
from hdbkit.api.doctor import doctor
from hdbkit.api.result import Result, result, runs
from hdbkit.api.running import Running, attach, run, start
from hdbkit.api.sweeping import SweepResult, plan, sweep, sweep_result

__all__ = [
    "Comparison",
    "Connection",
    "Result",
    "Running",
    "SweepResult",
    "attach",
    "compare",
    "connect",
    "demo",
    "doctor",
    "plan",
    "result",
    "run",
    "runs",
    "start",
    "sweep",
    "sweep_result",
]
