"""The newest servers and Python that `.ci/newest` has unpacked here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load
from hdbkit.loading import build
from hdbkit.servers import private_server
from hdbkit.workloads import specification
from tests.architecture.source_tree import ROOT
from tests.newest import needs, needs_python, on_newest_python, unpacked

SERVERS = {
    "postgresql-19": ("postgresql", "usr/lib/postgresql/19/bin"),
    "mysql-server-core": ("mysql", "usr/sbin"),
    "mariadb-server-core": ("mariadb", "usr/sbin"),
    "redis-server": ("redis", "usr/bin"),
    "valkey-server": ("redis", "usr/bin"),
}
"""By package, the kind of server and the folder of its programs."""


EACH = [pytest.param(name, *place, marks=needs(name, place[1]), id=name) for name, place in SERVERS.items()]


@pytest.mark.parametrize(("package", "kind", "part"), EACH)
def test_the_newest_server_keeps_every_rule_and_is_built_checked_and_run(package: str, kind: str, part: str) -> None:
    with private_server(kind, source=str(unpacked(package, part))) as server:
        rules = hdbkit.check_engine(server.admin)
        assert set(rules["state"]) <= {"kept", "answered", "absent", "optional", "not applicable"}, rules.to_string()
        build(server.target, specification())
        checks = hdbkit.connect(server.target).check()
        assert checks["passed"].all(), checks.to_string()
        result = hdbkit.run(server.target, load=Load(virtual_users=2, rampup_s=1, duration_s=5))
    assert result.summary.committed > 20


@pytest.mark.parametrize(("package", "kind", "part"), EACH[:3])  # the suite is for engines with SQL
def test_the_newest_server_passes_the_conformance_suite(package: str, kind: str, part: str) -> None:
    suite = [sys.executable, "-m", "pytest", "-q", "tests/conformance", "-k", f"{kind} and not odbc"]
    named = {**os.environ, f"HDBKIT_TEST_{kind.upper()}_SOURCE": str(unpacked(package, part))}
    done = subprocess.run(suite, cwd=ROOT, env=named, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5_000:]


@needs_python
@pytest.mark.parametrize("words", ["doctor", "engine check sqlite:///check.db", "demo --quick"])
def test_the_newest_python_runs(words: str, tmp_path: Path) -> None:
    said = on_newest_python(*words.split(), folder=tmp_path)
    assert said.returncode == 0, f"{said.stdout}\n{said.stderr}"
