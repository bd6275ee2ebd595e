"""Faults that a run causes itself, on each engine that hdbkit can start."""

from __future__ import annotations

import pytest

from hdbkit.config import TprocCSpec
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.loading import build
from hdbkit.servers import find_binaries, private_server
from tests.run.faults import check_short_faults, passed, run_with

KINDS = sorted({one.kind for one in find_binaries() if Capability.SQL in database(one.kind).capabilities})


@pytest.mark.parametrize("kind", KINDS)
def test_faults_are_caused_and_undone_and_no_acknowledged_commit_is_lost(kind: str) -> None:
    with private_server(kind) as server:
        build(server.target, TprocCSpec(warehouses=1))
        check_short_faults(server)
        result = run_with(server, "restart server at 0.5 s; stop server at 6 s for 0.5 s; kill server at 14 s", 24)
        assert passed(result, "faults caused"), result.checks.to_string()
        assert passed(result, "acknowledged commits kept"), result.checks.to_string()
        assert all(one.errors for one in result.summary.faults)
