"""A sweep of settings through a real PgBouncer."""

from __future__ import annotations

import pytest

import hdbkit
from hdbkit.config import Load, SweepSpec
from hdbkit.loading import build
from hdbkit.servers import private_server
from hdbkit.workloads import specification
from tests.run.conftest import password_of
from tests.run.poolers import pgbouncer


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_sweep_of_settings_through_a_pooler(mode: str) -> None:
    with private_server("postgresql") as server, pgbouncer(server, mode) as target:
        build(target, specification())
        admin = target.with_(user="postgres", password=password_of(server.admin), may_change_settings=True)
        load = Load(rampup_s=0, duration_s=2)
        spec = SweepSpec(name="pooled", settings={"work_mem": ["4MB", "5MB"]}, virtual_users=[2], blocks=2, load=load)
        done = hdbkit.sweep(admin, spec)
        assert done.failed == 0, done.runs
