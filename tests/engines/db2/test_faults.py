"""Db2's engine on Apache Derby: answers of TPROC-H, interrupted builds, and connections that a fault resets.

With ``HDBKIT_SOAK`` the conformance suite runs on the same kind of server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load, Target
from hdbkit.config.specs.tproc_h import QUERIES, TprocHSpec
from hdbkit.databases import sql_session
from hdbkit.errors import BuildFailed, HalfBuilt
from hdbkit.loading import build
from hdbkit.results.columns import ERROR_CLASSES
from tests.engines.db2.server import derby
from tests.engines.db2.test_on_derby import OWN, SQL
from tests.run.faults import passed, rows
from tests.run.test_build import Watcher, loaders

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
pytest.importorskip("ibm_db", exc_type=ImportError, reason="ibm_db is not installed")


@pytest.fixture
def server() -> Iterator[Target]:
    with derby() as target:
        yield target


def test_queries_have_the_answers_of_the_reference(server: Target) -> None:
    spec = TprocHSpec(scale_factor=0.01)
    assert build(server, spec, loaders=2).passed
    found = hdbkit.connect(server).check(spec, answers=True)
    assert {f"answer of {query}" for query in QUERIES} <= {*found["name"]}
    assert found["passed"].all(), found[~found["passed"]].to_string()


def counts(server: Target, folder: Path, rows: int) -> Target:
    """A schema for a workload of its own, which is written to a folder."""
    folder.mkdir()
    (folder / "workload.yaml").write_text(OWN.replace("rows: 200", f"rows: {rows}"), encoding="utf-8")
    (folder / "statements.sql").write_text(SQL, encoding="utf-8")
    with closing(sql_session(server)) as session:
        session.execute("CREATE SCHEMA counts")
    return server.with_(options={**server.options, "schema": "COUNTS"})


class Killer(Watcher):
    """Kills the loaders once, when rows were sent."""

    killed = 0

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        if rows and not self.killed:
            found = loaders()
            self.killed = len(found)
            for one in found:
                one.kill()


def test_an_interrupted_build_passes_no_check_and_continues(server: Target, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    own = counts(server, folder, 60_000)
    killer, engine = Killer(), hdbkit.connect(own)
    with pytest.raises(BuildFailed):
        engine.build(folder, loaders=1, progress=killer)
    assert killer.killed
    with pytest.raises(HalfBuilt):
        engine.check(folder)
    assert engine.build(folder, loaders=1).passed
    assert engine.check(folder)["passed"].all()


def test_a_connection_that_a_fault_resets_is_counted_as_lost(server: Target, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    own = counts(server, folder, 200)
    hdbkit.connect(own).build(folder)
    load = Load(virtual_users=2, rampup_s=0, duration_s=9, fault="reset network at 3 s; reset network at 6 s")
    result = hdbkit.run(own, folder, load)
    lost = rows(result, "select error_class, count(*) from {t} where outcome = 2 group by all")
    assert [(ERROR_CLASSES[number], count) for number, count in lost] == [("connection_lost", 4)]
    assert passed(result, "faults caused"), result.checks.to_string()
