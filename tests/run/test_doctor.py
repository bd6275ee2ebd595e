"""``doctor`` of a target, on a real server that is made worse on purpose."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import hdbkit
from hdbkit.config import Target
from hdbkit.errors import CannotConnect, InputError
from hdbkit.servers import PrivateServer, find_binaries, private_server
from tests.architecture.source_tree import ROOT
from tests.run.faults import ask, until
from tests.run.poolers import pgbouncer


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    if not find_binaries():
        pytest.skip("no server binaries here; see: hdbkit doctor")
    with private_server() as server:
        yield server


def found(server: PrivateServer, subject: str) -> pd.DataFrame:
    frame = hdbkit.doctor(server.target)
    return frame[frame["subject"] == subject]


def certificate(folder: Path, days: int) -> None:
    """A certificate that ends in some days, for the owner of the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=days, hours=1))
        .sign(key, hashes.SHA256())
    )
    files = {
        "server.crt": made.public_bytes(serialization.Encoding.PEM),
        "server.key": key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    }
    for name_of_file, content in files.items():
        path = folder / name_of_file
        path.write_bytes(content)
        path.chmod(0o600)
        owner = folder.stat()
        shutil.chown(path, owner.st_uid, owner.st_gid)


def test_each_missing_privilege_has_the_command_that_grants_it(server: PrivateServer) -> None:
    missing = found(server, "privileges")
    assert set(missing["state"]) == {"warning"}
    for command in missing["advice"]:
        assert command.startswith("GRANT ")
        ask(server, command)
    (left,) = found(server, "privileges").to_dict("records")
    assert (left["state"], left["advice"]) == ("ok", "")


def test_settings_that_disturb_a_run_are_named(server: PrivateServer) -> None:
    before = found(server, "settings")
    assert list(before["state"]) == ["ok"], before.to_string()
    changes = {"log_statement": "'mod'", "max_wal_size": "'1GB'", "synchronous_commit": "off"}
    for name, value in changes.items():
        ask(server, f"ALTER SYSTEM SET {name} = {value}")
    timeouts = {"statement_timeout": "7s", "idle_in_transaction_session_timeout": "9s", "lock_timeout": "3s"}
    for name, value in timeouts.items():
        ask(server, f"ALTER ROLE hdbkit SET {name} = '{value}'")
    ask(server, "SELECT pg_reload_conf()")
    until(lambda: len(found(server, "settings")) == 3, "three settings are named")
    assert set(found(server, "settings")["detail"].str.split(" = ").str[0]) == changes.keys()
    limits = [
        ("statements end after 7 s", "statement_timeout"),
        ("waits for a lock end after 3 s", "lock_timeout"),
        ("idle transactions end after 9 s", "idle_in_transaction_session_timeout"),
    ]
    assert list(found(server, "timeouts")["detail"]) == [
        f"{limit}, which the account (ALTER ROLE hdbkit RESET {name}) sets" for limit, name in limits
    ]
    for name in changes:
        ask(server, f"ALTER SYSTEM RESET {name}")
    ask(server, "ALTER ROLE hdbkit RESET ALL")
    ask(server, "SELECT pg_reload_conf()")


def test_what_the_account_lacks_to_change_settings_is_named_where_it_may(server: PrivateServer) -> None:
    refused = found(server, "sweeps").to_dict("records")
    assert [one["state"] for one in refused] == ["ok"]
    ordinary = server.target.with_(server_folder=None, may_change_settings=True)
    frame = hdbkit.doctor(ordinary).set_index("subject")
    assert frame.loc["sweeps", "state"] == "warning"
    assert "GRANT ALTER SYSTEM ON PARAMETER" in frame.loc["sweeps", "detail"]


def test_the_cores_are_those_that_the_process_may_use(server: PrivateServer) -> None:
    may, whole = os.sched_getaffinity(0), os.cpu_count() or 1
    os.sched_setaffinity(0, {min(may)})
    try:
        detail = found(server, "this host")["detail"].iloc[0]
    finally:
        os.sched_setaffinity(0, may)
    assert detail.startswith("1 core of " if whole > 1 else "1 core, ")


def test_the_schema_is_that_of_the_workload_and_advice_can_be_typed(server: PrivateServer, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "params" / "workloads" / "key-value", tmp_path / "of two words")
    frame = hdbkit.doctor(server.target, workload=folder).set_index("subject")
    assert "there is no schema of" in frame.loc["schema", "detail"]
    words = shlex.split(frame.loc["schema", "advice"])
    assert words[:2] == ["hdbkit", "build"]
    assert str(folder) in words


@pytest.mark.long
def test_a_standby_is_not_advised_to_build(built: PrivateServer, replica: Target) -> None:
    frame = hdbkit.doctor(replica, workload="tproc_c", warehouses=7).set_index("subject")
    assert frame.loc["schema", "advice"] == "this server is a standby: build it on the primary"
    with pytest.raises(InputError, match="is a standby and accepts no changes; name its primary"):
        hdbkit.connect(replica).build(warehouses=7)
    with pytest.raises(InputError, match="is a standby and accepts no changes; name its primary"):
        hdbkit.connect(replica).drop()


def test_behind_a_pooler_the_servers_connections_are_not_those_of_clients(built: PrivateServer) -> None:
    with pgbouncer(built, "session") as pooled:
        detail = hdbkit.doctor(pooled).set_index("subject").loc["free connections", "detail"]
    assert "to the pooler" in detail
    assert "virtual users" not in detail


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("sslmod=require", "the unknown option 'sslmod'; known: "),
        ("sslmode=requird", "the option sslmode is 'requird'; known values: disable, allow, prefer, require, "),
        ("fallbacks=db2:5432", "the unknown option 'fallbacks'; known: "),
        ("pooling=foo", "the option pooling is 'foo'"),
        ("prepared=maybe", "the option prepared is 'maybe'"),
        ("target_session_attrs=master", "the option target_session_attrs is 'master'"),
        ("connect_timeout=\u0661", "the option connect_timeout is"),
    ],
)
def test_options_of_a_target_are_checked_when_it_is_read(options: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        hdbkit.Workspace().target(f"postgresql://nobody@no-such-host.invalid/x?{options}")
    assert reason in str(refused.value)
    assert not isinstance(refused.value, CannotConnect), "nothing was connected"


def test_a_server_without_tls_is_named_with_the_mode_that_asks_for_it(built: PrivateServer) -> None:
    with pytest.raises(InputError, match="does not support TLS, but sslmode is 'require'; set the option sslmode"):
        hdbkit.connect(built.target.with_(options={"sslmode": "require"}))


def test_a_certificate_that_ends_soon_is_a_warning() -> None:
    if not [one for one in find_binaries() if (one.kind, one.source) == ("postgresql", "installed")]:
        pytest.skip("needs an installed PostgreSQL: that of the wheel has no TLS")
    with private_server("postgresql", source="installed") as server:
        assert "not encrypted" in found(server, "encryption")["detail"].item()
        certificate(server.place.data, days=5)
        ask(server, "ALTER SYSTEM SET ssl = on")
        ask(server, "SELECT pg_reload_conf()")
        until(lambda: "TLS" in found(server, "encryption")["detail"].item(), "connections are encrypted")
        (line,) = found(server, "encryption").to_dict("records")
    assert line["state"] == "warning"
    assert "ends in 5 days" in line["detail"]
