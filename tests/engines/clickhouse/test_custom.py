"""Workloads of users on ClickHouse, through chdb."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import hdbkit
from hdbkit import CustomSpec
from hdbkit.config import Target
from hdbkit.contracts import Table
from hdbkit.databases import database, sql_session
from hdbkit.errors import MissingDriver
from hdbkit.workloads import workload
from tests.architecture.source_tree import ROOT


def test_a_build_that_was_killed_in_its_first_part_begins_again_and_its_tables_can_be_updated(tmp_path: Path) -> None:
    target = Target(kind="clickhouse", database=str(tmp_path / "data"))
    try:
        database(target).driver_version()
    except MissingDriver as missing:
        pytest.skip(str(missing))
    spec = CustomSpec.of_folder(str(ROOT / "params" / "workloads" / "key-value"), {"rows": 10})
    work = workload(spec)
    with closing(database(target).schema(target, work)) as schema:
        schema.create(work.record)
        with closing(sql_session(target, work.scope(database(target).dialects))) as session:
            session.begin()
            session.load(Table("entries", ("id", "content")), [b"1\ta\n2\tb\n"])
    hdbkit.connect(target).build(spec)
    with closing(sql_session(target, work.scope(database(target).dialects))) as session:
        session.query("update", content="", id=1)
        assert session.query("check_content")[0][0] == 1, "there is no second row of this key"
