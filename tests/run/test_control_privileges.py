"""Control of a server with an ordinary account: other ways to reload, exact GRANTs, an administrator for control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Commands, ControlSpec, Target
from hdbkit.contracts import ApplyBy, ServerControl
from hdbkit.databases import sql_session
from hdbkit.databases.postgresql import PostgreSQL
from hdbkit.errors import CannotConnect
from hdbkit.servers import PrivateServer, control
from tests.run.agents import commands_of
from tests.run.conftest import password_of


def ordinary(server: PrivateServer, **spec: Any) -> Target:
    """The server as its own host sees it, with the account of the measured clients."""
    control = ControlSpec(**spec)
    return server.target.with_(server_folder=None, may_change_settings=True, may_restart=False, control=control)


def changed_and_restored(it: ServerControl, applied_by: ApplyBy) -> None:
    before = it.snapshot()
    assert it.problems({"work_mem": ["9MB"]}) == []
    assert it.apply({"work_mem": "9MB"}).applied_by is applied_by
    it.restore(before)
    assert it.settings()["work_mem"].value == "4096"


def test_a_file_is_reloaded_by_signal_where_the_account_may_not(built: PrivateServer, drop_in: Path) -> None:
    changed_and_restored(control(ordinary(built, drop_in=drop_in)), ApplyBy.RELOAD)


def test_a_file_is_reloaded_by_a_command(
    built: PrivateServer, drop_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgreSQL, "server_process", lambda *_: None)  # as from another account
    reload = (*commands_of(built).status[:-1], "reload")
    changed_and_restored(control(ordinary(built, drop_in=drop_in, commands=Commands(reload=reload))), ApplyBy.RELOAD)


def test_a_file_is_read_by_a_restart_where_nothing_else_is_permitted(
    built: PrivateServer, drop_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgreSQL, "server_process", lambda *_: None)
    target = ordinary(built, drop_in=drop_in, commands=commands_of(built))
    changed_and_restored(control(target.with_(may_restart=True)), ApplyBy.RESTART)


def test_missing_privileges_are_reported_before_the_first_run_with_grants_that_suffice(
    built: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgreSQL, "server_process", lambda *_: None)
    it = control(ordinary(built))
    (problem,) = it.problems({"work_mem": ["9MB"]})
    head, _, rest = problem.partition("; run as an administrator in database hdbkit: ")
    grants, _, advice = rest.partition("; or name ")
    assert head == "account hdbkit lacks privileges to change the settings"
    assert advice == "an administrator's account in 'control.user' of the target"
    assert grants.split("; ") == [
        "GRANT ALTER SYSTEM ON PARAMETER work_mem TO hdbkit",
        "GRANT SELECT ON pg_file_settings TO hdbkit",
        "GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO hdbkit",
        "GRANT EXECUTE ON FUNCTION pg_reload_conf() TO hdbkit",
    ]
    admin = sql_session(built.admin)
    try:
        for grant in grants.split("; "):
            admin.execute(grant)
        changed_and_restored(it, ApplyBy.RELOAD)
    finally:
        for grant in grants.split("; "):
            admin.execute(grant.replace("GRANT", "REVOKE").replace(" TO ", " FROM "))
        admin.close()


def test_a_wrong_password_without_an_administrators_account_names_that_of_the_target(
    built: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", "wrong")
    it = control(ordinary(built).with_(password_file=None))
    for reads in (it.settings, it.maintain):
        with pytest.raises(CannotConnect, match="set HDBKIT_PASSWORD to the right password"):
            reads()


def test_an_administrators_account_is_for_control_alone(
    built: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = ordinary(built, user=built.admin.user).with_(password_file=None)
    monkeypatch.setenv("HDBKIT_PASSWORD", password_of(built.target))
    monkeypatch.setenv("HDBKIT_ADMIN_PASSWORD", "wrong")
    with pytest.raises(CannotConnect, match="set HDBKIT_ADMIN_PASSWORD to the right password"):
        control(target).settings()
    monkeypatch.setenv("HDBKIT_ADMIN_PASSWORD", password_of(built.admin))
    changed_and_restored(control(target), ApplyBy.RELOAD)
    assert target.user == "hdbkit"
    assert target.control_account.user == "postgres"
    assert password_of(built.admin) not in target.model_dump_json() + target.control_account.model_dump_json()
    monkeypatch.delenv("HDBKIT_ADMIN_PASSWORD")
    with pytest.raises(CannotConnect):  # the password of the measured account is never used for it
        control(target).settings()
    monkeypatch.delenv("HDBKIT_PASSWORD")
    files = ordinary(built, user=built.admin.user)
    changed_and_restored(control(files), ApplyBy.RELOAD)
