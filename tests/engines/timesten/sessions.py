"""Sessions of TimesTen on a double of its driver."""

from __future__ import annotations

from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.databases.timesten import TimesTenSession
from hdbkit.workloads import workload

TARGET = Target.parse("timesten://bench@/sampledb")
WORK = workload(TprocCSpec(warehouses=2))
ENGINE = database("timesten")


def connected(options: SessionOptions | None = None, target: Target = TARGET) -> TimesTenSession:
    made = ENGINE.connect(target, WORK.scope(ENGINE.dialects), options)
    assert isinstance(made, TimesTenSession)
    return made
