"""The workloads, each a package with its population, transactions and checks; none knows an engine."""

from __future__ import annotations

import importlib
from typing import cast

from hdbkit.contracts import Workload


def workload(kind: str) -> Workload:
    """The workload of a kind, as ``WorkloadSpec.kind`` names it."""
    return cast(Workload, importlib.import_module(f"hdbkit.workloads.{kind}").WORKLOAD)
