"""A server's settings are changed and restored, and it becomes idle between runs."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from decimal import Decimal

import pytest

import hdbkit
from hdbkit.config import ControlSpec, Target
from hdbkit.contracts import OPERATIONS, ApplyBy, Capability, Database, ServerControl, Setting, SqlSession, declared
from hdbkit.databases._base import sql_schema
from hdbkit.engines.gaps import provided
from hdbkit.errors import InputError, SchemaProblem
from hdbkit.loading import build, drop
from hdbkit.servers import PrivateServer, control
from hdbkit.servers.values import with_unit
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads.tproc_c.conformance.rules import Small
from tests.conformance.conftest import WORK, Connect, Tables
from tests.conftest import login_options


def test_a_target_can_be_examined(target: Target) -> None:
    found = hdbkit.doctor(target)
    assert not found["detail"].str.startswith("unknown").any(), found.to_string()
    assert "problem" not in set(found["state"]), found.to_string()
    assert {"driver", "connection", "privileges", "settings", "this host"} <= set(found["subject"])


def test_a_schema_is_built_or_dropped_by_one_process_at_a_time(
    target: Target, engine: Database, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "claim_schema" not in {*statements(engine.dialects, SERVER_STATEMENTS)} | engine.answers:
        pytest.skip("this engine has no lock that reserves a schema")
    with closing(tables.schema()) as first, monkeypatch.context() as at_once:
        at_once.setattr(sql_schema, "_CLAIM_PATIENCE_S", 0)
        assert first.claim()
        for verb in (build, drop):
            with pytest.raises(SchemaProblem, match=r"another process builds or drops schema .*; wait"):
                verb(target, WORK.spec)
    monkeypatch.setattr(sql_schema, "_CLAIM_PATIENCE_S", 60)  # a server may notice later that a session has ended
    with closing(tables.schema()) as second:
        assert second.claim()


BRIEF = ({"options": "-c idle_in_transaction_session_timeout=100"}, {"init_command": "SET SESSION wait_timeout = 1"})
"""Options of a target with which the server ends an idle session soon, by engine."""


@pytest.mark.needs(Capability.SERVER, "nobody ends an idle session", tried=False)
def test_a_build_holds_its_schema_however_long_its_own_session_is_idle(
    target: Target, tables: Tables, engine: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_schema, "_CLAIM_PATIENCE_S", 0)
    known = [target.with_(options=one) for one in BRIEF if knows(engine, target.with_(options=one))]
    if not known:
        pytest.skip("no option of a target makes the server end an idle session")
    (brief,) = known
    with closing(engine.schema(brief, WORK)) as first, closing(tables.schema()) as second:
        assert first.claim()
        time.sleep(1.5)
        assert first.claim()
        assert not second.claim()


def knows(engine: Database, target: Target) -> bool:
    """Whether the engine knows the target's options."""
    with suppress(InputError):
        engine.check_options(target)
        return True
    return False


CHANGES_NOTHING = "timeout"
"""In the name of a setting that can be tried without harm."""


@pytest.fixture
def controlled(target: Target, engine: Database) -> ServerControl:
    """Control of a server that is ours."""
    if Capability.SETTINGS not in engine.capabilities or target.server_folder is None:
        pytest.skip("needs a server of our own")
    return control(target)


def tried(settings: dict[str, Setting]) -> Setting:
    """The first timeout, a whole number, that needs no restart."""
    for name in sorted(settings):
        setting = settings[name]
        quick = setting.apply_by in (ApplyBy.SESSION, ApplyBy.RELOAD)
        number = setting.kind in ("integer", "size")
        if CHANGES_NOTHING in name and number and quick and int(setting.value) < 1000:
            return setting
    raise AssertionError("this server has no timeout to try")


@pytest.fixture(params=["private", "local"])
def in_each_way(request: pytest.FixtureRequest, controlled: ServerControl, target: Target) -> ServerControl:
    """Control of it as a private server, and as one of this host that hdbkit only knows a file of."""
    if request.param == "private":
        return controlled
    assert target.server_folder is not None
    server = PrivateServer.attach(target.server_folder)
    spec = ControlSpec(config_file=server.settings_file)
    options = login_options(server.admin)
    return control(server.admin.with_(server_folder=None, may_restart=False, control=spec, options=options))


def test_a_setting_is_set_seen_by_a_client_and_put_back(
    in_each_way: ServerControl, target: Target, engine: Database, small: Small
) -> None:
    controlled = in_each_way
    settings = controlled.settings()
    setting = tried(settings)
    wanted = str(int(setting.value) + 1)
    before = controlled.snapshot()
    try:
        done = controlled.apply({setting.name: wanted})
        assert done.read_back == {setting.name: with_unit(setting, wanted)}
        session = engine.connect(target)
        assert engine.settings_of(session)[setting.name]["value"] == wanted
        session.close()
    finally:
        controlled.restore(before)
    assert controlled.settings()[setting.name].value == setting.value
    assert small.session.query("count_item") == [(20,)]


def test_what_cannot_be_set_is_reported_before_anything_changes(controlled: ServerControl) -> None:
    setting = tried(controlled.settings())
    problems = controlled.problems({"no_such_setting": ["1"], setting.name: ["a lot"]})
    assert len(problems) == 2
    assert any("no_such_setting" in problem for problem in problems)


def test_maintenance_brings_rest_and_puts_every_setting_back(
    controlled: ServerControl, engine: Database, db: SqlSession
) -> None:
    for _ in range(20):
        db.query("client_update_warehouse_ytd", h_amount=Decimal(1), w_id=1)
    before = {name: about["value"] for name, about in engine.settings_of(db).items()}
    assert controlled.maintain() >= 0
    assert {name: about["value"] for name, about in engine.settings_of(db).items()} == before
    assert db.query("count_warehouse") == [(2,)]


def test_a_restart_leaves_data_and_settings_as_they_are(
    controlled: ServerControl, small: Small, connect: Connect
) -> None:
    setting = tried(controlled.settings())
    wanted = str(int(setting.value) + 1)
    before = controlled.snapshot()
    assert controlled.can_restart
    try:
        controlled.apply({setting.name: wanted})
        assert controlled.restart() > 0
        assert controlled.settings()[setting.name].value == wanted
    finally:
        controlled.restore(before)
    assert connect().query("count_item") == [(20,)]


def test_the_size_of_the_data_and_of_the_cache_is_reported(engine: Database, db: SqlSession) -> None:
    found = engine.footprint(db)
    if found is None:
        footprint = declared(OPERATIONS, "footprint")
        assert footprint is not None
        assert not provided(engine, SERVER_STATEMENTS, footprint)
        return
    assert found.data_bytes > 100_000
    assert found.cache_bytes >= 1 << 20
    assert found.cache in engine.settings_of(db)


def test_every_setting_says_what_it_takes_and_what_it_needs(controlled: ServerControl) -> None:
    """Its value is one that it takes; what is out of bounds, no choice or read only is told by name."""
    settings = controlled.settings()
    assert {one.apply_by for one in settings.values()} >= {ApplyBy.RELOAD, ApplyBy.RESTART}
    wrong = {}
    for name, one in settings.items():
        if one.apply_by is ApplyBy.FIXED:
            wrong[name] = one.value
        elif one.choices and one.kind == "enum":
            wrong[name] = "no such choice"
        elif one.maximum is not None and one.kind in ("integer", "size", "real"):
            wrong[name] = f"{one.maximum * 2 + 2:.0f}"
    reported = controlled.problems({name: [value] for name, value in wrong.items()})
    assert {one.split(" ")[0] for one in reported} == set(wrong)
    assert any(settings[name].kind in ("integer", "size") for name in wrong)  # not every server tells its choices
