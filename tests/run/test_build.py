"""Builds on a real private server: complete, interrupted and resumed, rejected, killed, dropped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

import hdbkit
from hdbkit.config import Target, TprocCLoad, TprocCSpec, WorkloadSpec
from hdbkit.contracts import Schema, SqlSession
from hdbkit.databases import database, sql_session
from hdbkit.databases.nulldb.state import State
from hdbkit.errors import BuildFailed, HalfBuilt, InputError, SchemaProblem
from hdbkit.loading import Stage, build, drop, estimate
from hdbkit.processes import is_alive
from hdbkit.servers import PrivateServer, private_server
from hdbkit.workloads import specification, workload
from hdbkit.workloads.present import present_schema
from tests.run.conftest import NullTarget

ONE = TprocCSpec(warehouses=1, seed=3)
WORK = workload(ONE)


@pytest.fixture(scope="module")
def server() -> Iterator[Target]:
    with private_server(settings={"fsync": "off"}) as one:
        yield one.target


@pytest.fixture
def target(server: Target) -> Iterator[Target]:
    yield server
    with suppress(SchemaProblem):  # there is none
        drop(server, ONE)


@contextmanager
def _session(target: Target) -> Iterator[SqlSession]:
    with closing(sql_session(target, WORK.scope(database(target).dialects))) as session:
        yield session


@contextmanager
def _schema(target: Target) -> Iterator[Schema]:
    with closing(database(target).schema(target, WORK)) as schema:
        yield schema


class Watcher:
    """Keeps what a build tells."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.rows: list[tuple[int, int, int]] = []

    def stage(self, stage: Stage) -> None:
        self.stages.append(stage)

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        self.rows.append((rows, total_rows, size_bytes))

    def checking(self, what: str) -> None:
        pass


class Killer(Watcher):
    """Kills the only loader when the items are there and the first warehouse has begun."""

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        super().loaded(rows, total_rows, size_bytes)
        if rows > 100_000:
            for loader in loaders():  # none at a second call, when it is dead already
                loader.kill()


def loaders() -> list[psutil.Process]:
    """The loaders of this process: children of its program that loads."""
    found = []
    for program in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended since
            if "from hdbkit.loading.loaders import main" in " ".join(program.cmdline()):
                found += [one for one in program.children() if one.status() != psutil.STATUS_ZOMBIE]
    return found


def test_a_dead_loader_ends_the_build_which_is_resumed_passes_its_checks_and_is_not_built_twice(
    target: Target,
) -> None:
    partitioned = ONE.model_copy(update={"storage": {"partitions": 2}})
    killer = Killer()
    again = f"hdbkit build {target.url} --warehouses 1 --seed 3 --partitions 2$"
    advice = f"loaded parts are kept; to resume, run: {again}"
    with pytest.raises(BuildFailed, match=f"loading warehouse-1: its process ended unexpectedly; {advice}"):
        build(target, partitioned, loaders=1, progress=killer)
    assert killer.rows[0][0] == 0
    with _schema(target) as schema:
        assert schema.log().parts == {"item": 100_000}
        assert schema.session.ask("count_stock") == [(0,)]
        with pytest.raises(HalfBuilt, match=r"incomplete \(1 of 2 parts"):
            WORK.found(schema)
    with pytest.raises(SchemaProblem, match=r"half built with other options \(seed 3, not 4\)"):
        build(target, partitioned.model_copy(update={"seed": 4}))
    watcher = Watcher()
    result = build(target, partitioned, loaders=2, progress=watcher)
    assert result.parts_kept == 1
    assert [check for check in result.checks if not check.passed] == []
    assert result.passed
    assert watcher.stages == list(Stage)
    assert watcher.rows[0][0] == 100_000
    rows = 100_000 + result.rows
    assert watcher.rows[-1] == (rows, rows, result.size_bytes)
    assert rows == pytest.approx(estimate(ONE).rows, rel=0.01)
    loaded = sum(part.size_bytes for part in WORK.parts() if part.key != "item")
    assert result.size_bytes == pytest.approx(loaded, rel=0.01)
    with _schema(target) as schema:
        assert WORK.found(schema) == partitioned
        assert schema.session.ask("count_new_orders") == [(10 * 3001,)]
    with pytest.raises(SchemaProblem, match=r"already built \(1 warehouse\); run: hdbkit drop"):
        build(target, ONE)
    _grow(target, partitioned)


@pytest.mark.parametrize(
    "lost",
    [
        "DROP FUNCTION payment",
        "UPDATE build_part SET part = 'routines of another version' WHERE part LIKE 'routines %'",
    ],
)
def test_a_build_renews_routines_that_are_missing_or_of_another_version(built: PrivateServer, lost: str) -> None:
    """A dump may leave routines out, and a schema keeps those of the version that built it. The data stay."""
    target = built.target
    with _schema(target) as schema:
        schema.session.execute(lost)  # type: ignore[attr-defined]
        orders = schema.session.ask("count_new_orders")
    with pytest.raises(SchemaProblem, match=r"stored routines.*which keeps the data, run: hdbkit build"):
        hdbkit.run(target, load=TprocCLoad(rampup_s=0, duration_s=1))
    examined = hdbkit.doctor(target).set_index("subject")
    assert examined.loc["routines", "state"] == "problem" and "hdbkit build" in examined.loc["routines", "advice"]
    result = build(target, present_schema(target))
    assert (result.rows, result.passed) == (0, True)
    with _schema(target) as schema:
        assert schema.routine_problem(WORK.routines) == ""
        assert schema.session.ask("count_new_orders") == orders
    with pytest.raises(SchemaProblem, match="already built"):
        build(target, present_schema(target))


def test_a_build_that_enlarges_a_schema_reports_both_scales(null_target: NullTarget) -> None:
    result = build(null_target(), TprocCSpec(warehouses=3))
    assert (result.grown_from, result.scale) == ("2 warehouses", "3 warehouses")


def _grow(target: Target, there: WorkloadSpec) -> None:
    """Add a second warehouse, the first time with a loader that dies, and never other tables."""
    two = TprocCSpec(warehouses=2)
    with pytest.raises(BuildFailed, match="--warehouses 2 --seed 3 --partitions 2"):
        build(target, two, loaders=1, progress=Killer())
    with _schema(target) as schema, pytest.raises(HalfBuilt, match=r"incomplete \(2 of 3 parts"):
        WORK.found(schema)
    with pytest.raises(SchemaProblem, match=r"half built with other options \(warehouses 2, not 1\)"):
        build(target, there)
    result = build(target, two, loaders=2)
    assert (result.parts_kept, result.passed) == (2, True)
    with _schema(target) as schema:
        assert WORK.found(schema) == there.model_copy(update={"warehouses": 2})
    assert (result.grown_from, result.scale) == ("", "2 warehouses"), "the first build that enlarged it did not end"
    with pytest.raises(SchemaProblem, match=r"has 2 warehouses and cannot shrink to 1 warehouse; .*run: hdbkit"):
        build(target, there)
    with pytest.raises(SchemaProblem, match=r"already built \(2 warehouses\); run: hdbkit drop"):
        build(target, TprocCSpec(warehouses=3, seed=4))


@pytest.mark.parametrize(
    ("wrong", "step"),
    [("CREATE TABLE broken (id INT UNIQUE", "create_broken"), ("CREATE TABLE broken (id BOX)", "loading broken-0")],
)
def test_a_wrong_definition_is_to_be_corrected(server: Target, tmp_path: Path, wrong: str, step: str) -> None:
    yaml = (
        "name: broken\nschema_name: broken\noperations: {look: {}}\ntables: {broken: {rows: 3, columns: {id: row}}}\n"
    )
    (tmp_path / "workload.yaml").write_text(yaml)
    (tmp_path / "all.sql").write_text(f"-- name: look\nSELECT 1;\n-- name: create_broken\n{wrong};\n")
    spec = specification(tmp_path)
    advice = (
        f"correct this in {tmp_path}, then run: hdbkit drop {server.url} --workload {tmp_path}, "
        f"then: hdbkit build {server.url} --workload {tmp_path}"
    )
    with pytest.raises(BuildFailed) as caught:
        build(server, spec, loaders=1)
    drop(server, spec)
    assert str(caught.value).startswith(f"the build failed at {step}: ")
    assert str(caught.value).endswith(f"; {advice}")


def test_drop_leaves_what_is_not_its_own(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the table ``history`` were somebody else's."""
    with pytest.raises(BuildFailed):
        build(target, ONE, loaders=1, progress=Killer())
    own = {name: table for name, table in WORK.tables.items() if name != "history"}
    monkeypatch.setattr(type(WORK), "tables", own)
    with pytest.raises(SchemaProblem, match=r"did not create \(history\)"):
        build(target, ONE)
    dropped = drop(target, ONE)
    assert "table stock" in dropped
    assert "schema tproc_c" not in dropped
    with _session(target) as session:
        assert session.query("list_tables") == [("history",)]
        session.query("drop_table", table="history")
    assert drop(target, ONE) == ["schema tproc_c"]
    with pytest.raises(SchemaProblem, match="there is no schema tproc_c"):
        drop(target, ONE)


def test_tables_that_no_build_made_are_left_alone(target: Target) -> None:
    with _session(target) as session:
        session.query("create_schema", schema="tproc_c")
        session.query("create_item")
        with pytest.raises(SchemaProblem, match=r"did not create \(item\)"):
            build(target, ONE)
        with _schema(target) as schema, pytest.raises(SchemaProblem, match=r"did not create \(item\)"):
            WORK.found(schema)
        with pytest.raises(SchemaProblem, match="was not built by hdbkit"):
            drop(target, ONE)
        assert session.query("list_tables") == [("item",)]
        session.query("drop_table", table="item")


_SCRIPT = """
import psutil, pathlib, sys
from hdbkit.loading import build
from hdbkit.config import Target, WorkloadSpec
import json, psutil, pathlib, sys
from hdbkit.config import Target, spec_from

class Tell:
    def stage(self, stage): pass
    def checking(self, what): pass
    def loaded(self, rows, total, size):
        if rows >= 100_000:
            draft = pathlib.Path(sys.argv[1] + ".draft")
            own = psutil.Process()
            loaders = [one.pid for one in own.children(recursive=True) if one.ppid() != own.pid]
            draft.write_text(" ".join(map(str, loaders)))
            draft.rename(sys.argv[1])

build(Target.model_validate_json(sys.argv[2]), spec_from(json.loads(sys.argv[3])), 1, Tell())
"""


def test_no_loader_outlives_a_killed_build_and_no_guard_is_needed(target: Target, tmp_path: Path) -> None:
    """The loader waits for a lock when its builder dies. The script has no guard: loaders must not run it again."""
    script, pids = tmp_path / "builds.py", tmp_path / "pids"
    script.write_text(_SCRIPT)
    with _session(target) as session:
        session.query("create_schema", schema="tproc_c")
        session.query("create_build")
        session.query("insert_build_spec", spec=ONE.model_dump_json())
        session.begin()
        session.query("insert_build_part", part="item", rows=0)
        arguments = [str(pids), target.model_dump_json(), ONE.model_dump_json()]
        builder = subprocess.Popen([sys.executable, str(script), *arguments])
        try:
            _until(pids.exists, builder)
        finally:
            builder.kill()
            builder.wait()
        (loader,) = [int(pid) for pid in pids.read_text().split()]
        _until(lambda: not is_alive(loader))
        session.rollback()


def _until(condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(3600):
        if condition():
            return
        assert process is None or process.poll() is None
        time.sleep(0.05)
    raise AssertionError("it did not happen within three minutes")


def test_what_the_engine_cannot_do_is_refused_before_anything_begins(target: Target) -> None:
    with pytest.raises(InputError, match="loaders must be 1 or more, not 0"):
        build(target, ONE, loaders=0)
    with pytest.raises(InputError, match=r"allows \d+ more connections, but 5000 loaders"):
        build(target, ONE, loaders=5000)
    with pytest.raises(InputError, match="tablespace 'nowhere' cannot be used: "):
        build(target, TprocCSpec(tablespace="nowhere"))
    with pytest.raises(InputError, match=r"lacks privileges to build the schema in .*: GRANT CREATE ON DATABASE"):
        build(target.with_(database="postgres"), ONE)
    with pytest.raises(InputError, match=r"has no schema option 'partitions' \(it has: none\)"):
        build(Target(kind="nulldb", database="refuses"), TprocCSpec(partitions=2))
    with pytest.raises(
        InputError, match=r"'storage_engine' \(it has: partitions, history_key, tablespace, unlogged\)"
    ):
        build(target, TprocCSpec(storage_engine="InnoDB"))
    with _session(target) as session:
        assert session.query("schema_exists") == [(0,)]


@pytest.fixture
def null() -> Iterator[Target]:
    one = Target(kind="nulldb", database=f"build{os.getpid()}")
    yield one
    shutil.rmtree(State(one).folder)


def test_an_engine_without_tables_remembers_what_was_built(null: Target) -> None:
    result = build(null, ONE, loaders=2)
    assert result.checks == ()
    assert result.rows == pytest.approx(estimate(ONE).rows, rel=0.01)
    with _schema(null) as schema:
        assert WORK.found(schema) == ONE
    with pytest.raises(SchemaProblem, match="already built"):
        build(null, ONE)
    assert drop(null, ONE) == ["schema tproc_c"]
    with pytest.raises(SchemaProblem, match="nothing was dropped"):
        drop(null, ONE)


def test_stop_by_the_keyboard_ends_all_loaders(target: Target) -> None:
    class Stop(Watcher):
        def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
            if rows:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        build(target, ONE, loaders=2, progress=Stop())
    assert loaders() == []
