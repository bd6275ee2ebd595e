"""The reason of a failed TLS handshake, on real servers: expired, unknown authority, another name; the timeout."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, InputError
from hdbkit.servers import PrivateServer, private_server
from tests.run.certificates import write_certificates
from tests.run.conftest import password_of

OPTIONS = {
    "postgresql": ({"sslmode": "verify-full"}, "sslrootcert"),
    "mariadb": ({"ssl_mode": "VERIFY_IDENTITY"}, "ssl_ca"),
}


@pytest.fixture(scope="module")
def certificates() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hdbkit-tls-", dir="/var/tmp"))
    folder.chmod(0o755)
    write_certificates(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=OPTIONS)
def server(request: pytest.FixtureRequest, certificates: Path) -> Iterator[PrivateServer]:
    """A server whose certificate is in ``present.pem``; the wheel's binaries have no TLS."""
    use(certificates, "server")
    names = ("ssl_cert_file", "ssl_key_file") if request.param == "postgresql" else ("ssl_cert", "ssl_key")
    files = [str(certificates / "present.pem"), str(certificates / "present.key")]
    settings = dict(zip(names, files, strict=True))
    if request.param == "postgresql":
        settings["ssl"] = "on"
    else:
        settings["ssl_ca"] = str(certificates / "ca.pem")
    try:
        database(request.param).driver_version()
        started = private_server(request.param, source="installed", settings=settings)
    except InputError as error:
        pytest.skip(f"no server: {error}")
    with started:
        yield started


def use(folder: Path, name: str) -> None:
    """Make a certificate that of the server, when it reads it next."""
    for suffix in ("pem", "key"):
        shutil.copy(folder / f"{name}.{suffix}", folder / f"present.{suffix}")
    key = folder / "present.key"
    key.chmod(0o600)
    source = (folder / f"{name}.key").stat()
    os.chown(key, source.st_uid, source.st_gid)


def connected(server: PrivateServer, certificates: Path, authority: str = "ca") -> None:
    options, named = OPTIONS[server.target.kind]
    target = server.target.with_(options={**options, named: str(certificates / f"{authority}.pem")})
    database(target).connect(target).close()


def test_the_reason_of_a_failed_handshake(server: PrivateServer, certificates: Path) -> None:
    use(certificates, "server")
    server.restart()
    connected(server, certificates)
    with pytest.raises(
        CannotConnect, match="authority that signed the server's certificate is not trusted here; name"
    ):
        connected(server, certificates, "other-ca")
    for name, reason in (("expired", "certificate has expired; renew it"), ("elsewhere", "is not for '127.0.0.1'")):
        use(certificates, name)
        server.restart()
        with pytest.raises(CannotConnect, match=reason):
            connected(server, certificates)


def test_the_name_of_the_server_is_verified_through_the_proxy_of_network_faults(
    server: PrivateServer, certificates: Path
) -> None:
    if server.target.kind != "postgresql":
        pytest.skip("its driver verifies the name of the proxy")
    use(certificates, "named")
    server.restart()
    options = {**OPTIONS["postgresql"][0], "sslrootcert": str(certificates / "ca.pem")}
    password = SecretStr(password_of(server.target))
    named = server.target.with_(host="localhost", port=1, options=options, password=password)
    through = database("postgresql").behind_proxy(named, server.place.port)
    database("postgresql").connect(through).close()
    with pytest.raises(CannotConnect, match=r"is not for '127\.0\.0\.1'"):
        database("postgresql").connect(through.with_(host="127.0.0.1"))


@pytest.mark.parametrize("given", ["abc", "0", "-1", "1.5", ""])
@pytest.mark.parametrize("kind", OPTIONS)
def test_a_timeout_that_is_no_number_is_refused(kind: str, given: str) -> None:
    target = Target(kind=kind, host="127.0.0.1", port=1, options={"connect_timeout": given})
    with pytest.raises(InputError, match=f"connect_timeout is '{given}'; give whole seconds from 1 to 3600"):
        database(kind).connect(target)
