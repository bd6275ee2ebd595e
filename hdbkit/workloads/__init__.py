"""The workloads, each a package with its population, transactions and checks; none knows an engine."""

from __future__ import annotations

import importlib
from typing import cast

from hdbkit.contracts import Workload


def workload(group: str) -> Workload:
    """The workload that ``WorkloadSpec.group`` names."""
    return cast(Workload, importlib.import_module(f"hdbkit.workloads.{group}").WORKLOAD)
