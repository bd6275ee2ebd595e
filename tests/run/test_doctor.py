"""``doctor`` of a target, on a real server that is made worse on purpose."""

from __future__ import annotations

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
from hdbkit.servers import PrivateServer, find_binaries, private_server
from tests.run.faults import ask, until


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
    ask(server, "ALTER ROLE hdbkit SET statement_timeout = '7s'")
    ask(server, "SELECT pg_reload_conf()")
    until(lambda: len(found(server, "settings")) == 3, "three settings are named")
    assert set(found(server, "settings")["detail"].str.split(" = ").str[0]) == changes.keys()
    (timeout,) = found(server, "timeouts")["detail"]
    assert timeout == "statements end after 7 s, which the account (ALTER ROLE) sets"
    for name in changes:
        ask(server, f"ALTER SYSTEM RESET {name}")
    ask(server, "ALTER ROLE hdbkit RESET statement_timeout")
    ask(server, "SELECT pg_reload_conf()")


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
