"""A sweep of options of the load needs no settings of a server: it runs on an engine that has none."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import hdbkit
from hdbkit.api import connect
from hdbkit.config import Commands, ControlSpec, Load, SweepSpec, Target
from hdbkit.contracts import BUILT
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, InputError, ServerFailed
from hdbkit.results.experiment_folder import find_experiment
from hdbkit.results.journal import Step
from hdbkit.servers import control
from hdbkit.workloads import specification, workload

YAML = """\
schema_name: things
tables:
  things: {rows: 20, columns: {id: row, content: 1}}
operations:
  look: {weight: 1, reads_only: true}
  look_twice: {weight: 1, reads_only: true}
variables:
  id: {uniform: {max: 20}}
"""
SQL = """\
-- name: create_things
CREATE TABLE things (id INTEGER PRIMARY KEY, content INTEGER);
-- name: look
SELECT content FROM things WHERE id = :id;
-- name: look_twice
SELECT a.content FROM things AS a JOIN things AS b ON a.id = b.id WHERE a.id = :id;
"""
FILE = "sqlite"
"""An engine without settings, whose database is a file."""


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(kind=FILE, database=str(tmp_path / "file.db"))


def test_a_sweep_of_factors_of_the_load_runs_on_an_engine_without_settings(
    target: Target, tmp_path: Path, results: Path
) -> None:
    folder = tmp_path / "things"
    folder.mkdir()
    (folder / "workload.yaml").write_text(YAML)
    (folder / "statements.sql").write_text(SQL)
    work = specification(folder)
    assert connect(target).build(work, loaders=1).passed
    spec = SweepSpec(
        workload=work,
        factors={"weights": ["look=1", "look_twice=1"]},
        virtual_users=(1,),
        blocks=2,
        load=Load(rampup_s=0, duration_s=0.3),
        cooldown_s=0,
    )
    done = hdbkit.sweep(target.with_(may_change_settings=True), spec)
    assert list(done.runs["status"]) == ["done"] * 4
    assert set(done.runs["weights"]) == {"look=1", "look_twice=1"}
    assert Step.FINISHED in {line.step for line in find_experiment(results, done.experiment_id).journal.lines}


PARAMETERS = """\
schema_name: things
parameters: {rows: 20}
tables:
  things: {rows: rows, columns: {id: row, content: 1}}
operations:
  add: {weight: 1}
variables:
  id: {uniform: {max: rows}}
"""
ADD = """\
-- name: create_things
CREATE TABLE things (id INTEGER PRIMARY KEY, content INTEGER);
-- name: add
UPDATE things SET content = content + 1 WHERE id = :id;
"""


def counted(target: Target) -> tuple[int, int]:
    """The rows of the table, and the sum of their contents."""
    with closing(sqlite3.connect(str(target.database))) as file:
        return file.execute("SELECT count(*), sum(content) FROM things").fetchone()  # type: ignore[no-any-return]


def test_factors_of_the_schema_of_a_file_start_from_copies_of_it(
    target: Target, tmp_path: Path, results: Path
) -> None:
    folder = tmp_path / "things"
    folder.mkdir()
    (folder / "workload.yaml").write_text(PARAMETERS)
    (folder / "statements.sql").write_text(ADD)
    work = specification(folder)
    assert connect(target).build(work, loaders=1).passed
    spec = SweepSpec(
        workload=work,
        factors={"parameters": ["rows=20", "rows=50"]},
        virtual_users=(1,),
        blocks=2,
        load=Load(rampup_s=0, duration_s=0.3),
        cooldown_s=0,
    )
    with pytest.raises(ConfigErrors, match="need the schema to be rebuilt"):
        hdbkit.sweep(target, spec)
    before = counted(target)
    done = hdbkit.sweep(target.with_(may_change_settings=True), spec)
    assert list(done.runs["status"]) == ["done"] * 4
    assert (done.runs["metric_value"] > 0).all()
    assert counted(target) == before == (20, 20)
    assert sorted(path.name for path in tmp_path.glob("file.db*")) == ["file.db"]


@pytest.mark.parametrize("log", [b"log", None])
def test_a_copy_of_a_file_comes_back_with_its_own_log_alone(
    target: Target, tmp_path: Path, log: bytes | None
) -> None:
    file, wal, index = database(FILE).files(target)
    server = control(target.with_(may_change_settings=True))
    with pytest.raises(ServerFailed, match="to copy"):
        server.keep_data()
    file.write_bytes(b"before")
    if log:
        wal.write_bytes(log)
    server.keep_data()
    for one in (file, wal, index):
        one.write_bytes(b"after")
    server.restore_data()
    assert (file.read_bytes(), wal.exists() and wal.read_bytes(), index.exists()) == (b"before", log or False, False)
    with pytest.raises(ServerFailed, match="to copy"):
        server.restore_data(BUILT)
    server.drop_kept_data()
    assert set(tmp_path.glob("file.db*")) == {file, *([wal] if log else [])}


def test_settings_and_copies_of_data_are_refused_there(target: Target) -> None:
    server = control(target)
    assert server.problems({"cache_size": ["1"]}) == [
        f"{database(FILE).title} has no settings that hdbkit can change, such as cache_size"
    ]
    for work in (server.keep_data, server.restore_data, server.restart, lambda: server.apply({"cache_size": "1"})):
        with pytest.raises(ServerFailed):
            work()
    with pytest.raises(InputError, match="has no settings"):
        connect(target).settings()


def test_a_sweep_of_settings_is_refused_before_anything_starts(target: Target, results: Path) -> None:
    work = specification()
    target = target.with_(may_change_settings=True)
    made = workload(work)
    with closing(database(target).schema(target, made)) as schema:
        schema.create(made.record)
        schema.finish()
    load = Load(rampup_s=0, duration_s=0.3)
    with pytest.raises(ConfigErrors, match="has no settings that hdbkit can change, such as cache_size"):
        hdbkit.sweep(target, SweepSpec(settings={"cache_size": ("1", "2")}, blocks=2, load=load))
    assert not list(results.glob("experiments/2*"))


GROWING = """\
schema_name: things
tables:
  things: {rows: 20, columns: {id: row, content: 1}}
operations:
  add: {}
variables:
  value: {uniform: {max: 20}}
metric: {name: things/s, title: things per second, unit: things/s, counter: things_there}
"""
ADDS = """\
-- name: create_things
CREATE TABLE things (id INTEGER PRIMARY KEY, content INTEGER);
-- name: add
INSERT INTO things (content) VALUES (:value);
-- name: things_there
SELECT COUNT(*) FROM things;
"""


def test_a_command_of_the_target_restores_the_data_and_is_not_believed(target: Target, tmp_path: Path) -> None:
    folder = tmp_path / "things"
    folder.mkdir()
    (folder / "workload.yaml").write_text(GROWING)
    (folder / "statements.sql").write_text(ADDS)
    work = specification(folder)
    assert connect(target).build(work, loaders=1).passed
    file, kept = str(target.database), str(tmp_path / "kept.db")
    shutil.copy(file, kept)
    spec = SweepSpec(
        workload=work, factors={"max_retries": [0, 1]}, blocks=2, load=Load(rampup_s=0, duration_s=0.3), cooldown_s=0
    )

    def restored_by(*command: str) -> hdbkit.SweepResult:
        return hdbkit.sweep(target.with_(control=ControlSpec(commands=Commands(restore=command))), spec)

    done = restored_by("cp", kept, file)
    assert list(done.runs["status"]) == ["done"] * 4
    with closing(sqlite3.connect(file)) as there:
        assert there.execute("SELECT COUNT(*) FROM things").fetchone() == (20,)
    done = restored_by("true")
    assert list(done.runs["status"]) == ["done", "failed", "failed", "failed"]
    assert "has not restored the data: the schema counts" in done.runs["note"].iloc[1]
