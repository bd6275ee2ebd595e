"""hdbkit: a database benchmark for Jupyter, Python and the command line.

Example:
    >>> import hdbkit
    >>> result = hdbkit.run("postgresql://bench@db1/lab", load=hdbkit.Load(virtual_users=8))  # doctest: +SKIP
    >>> result.metric_value  # doctest: +SKIP
    88412.0

Names are imported when they are first used, so that a client process imports only what it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hdbkit.api import attach as attach
    from hdbkit.api import attach_sweep as attach_sweep
    from hdbkit.api import compare as compare
    from hdbkit.api import connect as connect
    from hdbkit.api import doctor as doctor
    from hdbkit.api import find_max as find_max
    from hdbkit.api import history as history
    from hdbkit.api import open_target as open_target
    from hdbkit.api import overlay as overlay
    from hdbkit.api import profile as profile
    from hdbkit.api import quickstart as quickstart
    from hdbkit.api import ready as ready
    from hdbkit.api import result as result
    from hdbkit.api import run as run
    from hdbkit.api import running_sweeps as running_sweeps
    from hdbkit.api import runs as runs
    from hdbkit.api import site as site
    from hdbkit.api import start as start
    from hdbkit.api import start_sweep as start_sweep
    from hdbkit.api import sweep as sweep
    from hdbkit.api import sweep_result as sweep_result
    from hdbkit.config import Load as Load
    from hdbkit.config import SweepSpec as SweepSpec
    from hdbkit.config import Target as Target
    from hdbkit.config import WorkloadSpec as WorkloadSpec
    from hdbkit.servers import private_server as private_server
    from hdbkit.widgets.panels.ui import ui as ui
    from hdbkit.workspace import Workspace as Workspace

_PLACES = {
    **dict.fromkeys(("Load", "SweepSpec", "Target", "WorkloadSpec"), "hdbkit.config"),
    **dict.fromkeys(
        (
            *(
                "attach",
                "attach_sweep",
                "compare",
                "connect",
                "doctor",
                "find_max",
                "history",
                "open_target",
                "overlay",
                "profile",
                "quickstart",
                "ready",
                "result",
                "run",
            ),
            *("running_sweeps", "runs", "site", "start", "start_sweep", "sweep", "sweep_result"),
        ),
        "hdbkit.api",
    ),
    "Workspace": "hdbkit.workspace",
    "private_server": "hdbkit.servers",
    "ui": "hdbkit.widgets.panels.ui",
    **dict.fromkeys(("api", "widgets"), ""),
}

__all__ = sorted(_PLACES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'hdbkit' has no attribute {name!r}")
    if not _PLACES[name]:
        return importlib.import_module(f"hdbkit.{name}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
