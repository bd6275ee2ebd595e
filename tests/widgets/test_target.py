"""The target panel: fields, names and URLs describe one target; connection test; a private server of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from hdbkit import api
from hdbkit.config import Target, TprocCSpec
from hdbkit.servers import PrivateServer
from hdbkit.widgets import Shared, TargetPanel
from tests.widgets.conftest import code_of, text_of, typed, until

TARGETS = """
lab:
  kind: postgresql
  host: db1
  database: tpcc
  user: bench
  options: {sslmode: verify-full}
  may_change_settings: true
"""


@pytest.fixture
def panel() -> TargetPanel:
    return TargetPanel()


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    path = tmp_path / "targets.yaml"
    path.write_text(TARGETS)
    monkeypatch.setenv("HDBKIT_TARGETS", str(path))
    return Target.parse("lab")


def test_every_kind_of_database_can_be_chosen(panel: TargetPanel) -> None:
    assert [value for _, value in panel.kind.options] == api.list_databases()["kind"].tolist()


def test_the_fields_make_the_target(panel: TargetPanel) -> None:
    panel.kind.value = "postgresql"
    panel.host.value, panel.port.value = "db1", "5433"
    panel.database.value, panel.user.value = "tpcc", "bench"
    assert panel.shared.target == Target.parse("postgresql://bench@db1:5433/tpcc")
    assert panel.given.value == "postgresql://bench@db1:5433/tpcc"


def test_a_url_fills_the_fields(panel: TargetPanel) -> None:
    panel.given.value = "postgresql://bench@db1:5433/tpcc?sslmode=require"
    fields = (panel.kind, panel.host, panel.port, panel.database, panel.user)
    assert [field.value for field in fields] == ["postgresql", "db1", "5433", "tpcc", "bench"]
    assert panel.shared.target.options == {"sslmode": "require"}


def test_a_name_of_the_targets_file_is_offered_and_means_its_entry(lab: Target) -> None:
    panel = TargetPanel()
    assert panel.given.options == ("lab",)
    panel.given.value = "lab"
    assert panel.shared.target == lab
    assert 'hdbkit.connect("lab")' in code_of(panel)


def test_another_database_of_a_server_keeps_its_permissions_and_another_server_does_not(lab: Target) -> None:
    panel = TargetPanel()
    panel.given.value = "lab"
    panel.database.value = "other"
    assert panel.shared.target.may_change_settings
    panel.host.value = "db2"
    assert not panel.shared.target.may_change_settings
    assert panel.shared.target.options == {"sslmode": "verify-full"}


def test_a_target_that_somebody_else_chose_is_shown(panel: TargetPanel, null_target: Target) -> None:
    panel.shared.target = null_target
    assert (panel.kind.value, panel.database.value) == ("nulldb", null_target.database)


def test_the_password_of_a_target_goes_with_it(panel: TargetPanel, null_target: Target) -> None:
    typed(panel.password, "first")
    panel.given.value = "postgresql://bench@db1/tpcc"
    assert panel.shared.target.secret() == "first"
    panel.shared.target = null_target.with_(password=SecretStr("second"))
    kept = panel.password.get()
    assert kept is not None
    assert kept.get_secret_value() == "second"
    panel.shared.target = null_target
    assert panel.password.get() is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("host", "db2"), ("host", ""), ("port", "5433"), ("kind", "mysql"), ("given", "postgresql://bench@db2/tpcc")],
)
def test_a_typed_password_does_not_go_along_to_another_server(panel: TargetPanel, field: str, value: str) -> None:
    panel.given.value = "postgresql://bench@db1/tpcc"
    typed(panel.password, "secret of db1")
    panel.database.value = "other"
    assert panel.shared.target.secret() == "secret of db1"
    getattr(panel, field).value = value
    assert panel.shared.target.password is None
    assert panel.password.get() is None


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("port", "many", "the port must be a number"),
        ("port", "70000", "port"),
        ("given", "postgresql://me:secret@db1/tpcc", "contains a password"),
        ("given", "nowhere", "there is no target &#x27;nowhere&#x27;"),
        ("given", "access://me@db1/x", "there is no kind of database &#x27;access&#x27; (known: "),
    ],
)
def test_a_wrong_input_is_reported_and_the_target_stays(
    panel: TargetPanel, null_target: Target, field: str, value: str, sentence: str
) -> None:
    panel.shared.target = null_target
    getattr(panel, field).value = value
    assert sentence in text_of(panel)
    assert panel.shared.target == null_target


@pytest.mark.parametrize("before", ["", "lab"])
def test_no_connection_is_tested_while_the_name_is_unknown(lab: Target, before: str) -> None:
    panel = TargetPanel()
    panel.given.value = before
    panel.given.value = "nowhere"
    for one in (panel.test, panel.examine):
        one.click()
        assert "there is no target &#x27;nowhere&#x27;" in text_of(panel)
        assert "..." not in text_of(panel)
    panel.given.value = lab.name
    assert "nowhere" not in text_of(panel)


def test_the_source_of_the_password_is_shown(panel: TargetPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", "not-to-be-shown")
    panel.given.value = "postgresql://bench@db1/tpcc"
    until(lambda: "HDBKIT_PASSWORD" in panel.password_source.value)
    assert "not-to-be-shown" not in text_of(panel)


def test_what_was_found_in_another_target_is_not_shown_for_this_one(null_target: Target) -> None:
    shared = Shared(target=null_target)
    shared.schema_found(null_target.with_(database="other"), TprocCSpec())
    assert shared.schema is None
    shared.schema_found(null_target, TprocCSpec())
    assert shared.schema == TprocCSpec()


def test_a_connection_test_reports_the_servers_version_and_what_is_there(server: PrivateServer) -> None:
    panel = TargetPanel(Shared(target=server.target))
    panel.test.click()
    until(lambda: "connected to" in text_of(panel))
    assert "PostgreSQL" in text_of(panel)
    assert "it holds no schema of TPROC-C" in text_of(panel)


def test_what_would_disturb_a_run_is_listed(server: PrivateServer) -> None:
    panel = TargetPanel(Shared(target=server.target))
    panel.examine.click()
    until(lambda: "in order" in text_of(panel))
    assert "GRANT pg_monitor TO hdbkit;" in panel.findings.value
    panel.database.value = "another"
    assert panel.findings.value == ""


def test_a_refused_connection_is_reported_in_a_sentence(server: PrivateServer) -> None:
    target = server.target.with_(user="nobody_here", password=SecretStr("wrong"))
    panel = TargetPanel(Shared(target=target))
    panel.test.click()
    until(lambda: "cannot connect to" in text_of(panel))
    assert "nobody_here" in text_of(panel)
    assert "connecting" not in text_of(panel).partition("<details>")[0]


def test_a_private_server_is_one_click_away_and_gone_after_another(server: PrivateServer) -> None:
    panel = TargetPanel()
    panel.kind.value = "postgresql"
    assert panel.end_private.layout.display == "none"
    try:
        panel.start_private.click()
        until(lambda: "connected to" in text_of(panel))
        target = panel.shared.target
        assert api.connect(target).version.startswith("PostgreSQL")
        assert TargetPanel().shared.target is None
        assert target in api.private_targets()
        shown: dict[str, Any] = {}
        exec(code_of(panel), shown)
        assert shown["connection"].target == target
        panel.end_private.click()
        until(lambda: "is stopped" in text_of(panel))
    finally:
        api.end_private("postgresql")
    assert panel.shared.target is None
    assert not target.server_folder.exists()


def test_another_private_server_is_named_by_its_folder_and_stays_the_target(server: PrivateServer) -> None:
    panel = TargetPanel(Shared(target=server.target))
    shown: dict[str, Any] = {}
    exec(code_of(panel), shown)
    assert shown["connection"].target.server_folder == server.target.server_folder
    panel.end_private.click()
    until(lambda: "is stopped" in text_of(panel))
    assert panel.shared.target == server.target
