"""Sessions of Db2 on a double of its driver."""

from __future__ import annotations

from datetime import datetime

from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.databases.db2 import Db2Session
from hdbkit.workloads import workload

TARGET = Target.parse("db2://bench@db1/BENCH")
WORK = workload(TprocCSpec(warehouses=2))
ENGINE = database("db2")
WHEN = datetime(2026, 3, 4, 5, 6, 7)


def connected(options: SessionOptions | None = None, target: Target = TARGET) -> Db2Session:
    engine = database(target)
    made = engine.connect(target, WORK.scope(engine.dialects), options)
    assert isinstance(made, Db2Session)
    return made
