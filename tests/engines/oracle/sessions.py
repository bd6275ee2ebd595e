"""Sessions of Oracle Database on a double of its driver."""

from __future__ import annotations

from datetime import datetime

from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.databases._oracledb.session import OracleSession
from hdbkit.workloads import workload

TARGET = Target.parse("oracle://bench@db1/FREEPDB1")
WORK = workload(TprocCSpec(warehouses=2))
ENGINE = database("oracle")
WHEN = datetime(2026, 3, 4, 5, 6, 7)


def connected(options: SessionOptions | None = None, target: Target = TARGET) -> OracleSession:
    made = ENGINE.connect(target, WORK.scope(ENGINE.dialects), options)
    assert isinstance(made, OracleSession)
    return made
