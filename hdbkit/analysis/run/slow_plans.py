"""The plans of slow executions, each with the operation that its virtual user executed."""

from __future__ import annotations

import pandas as pd

from hdbkit.analysis.run.records import table
from hdbkit.analysis.run.waits import operations_at
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

_NAMES = ["operation", "ms", "t_us", "virtual_user", "statement", "plan"]


def slow_plans(folder: RunFolder, manifest: Manifest) -> pd.DataFrame:
    """The slowest execution of each statement that was slow, the slowest first, with the plan that ran.

    ``operation``, ``ms``, ``t_us``, ``virtual_user``, ``statement``, ``plan``; empty where they were not asked for.
    """
    rows = table(folder, "slow_plans")
    if rows is None:
        return pd.DataFrame(columns=_NAMES)
    return rows.assign(operation=operations_at(folder, manifest, rows))[_NAMES]
