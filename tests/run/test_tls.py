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
from hdbkit.servers import PrivateServer, find_binaries, private_server
from hdbkit.servers.place import SERVER_UID, free_port
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


def test_the_name_that_the_user_gave_is_verified_also_through_the_proxy_of_network_faults(
    server: PrivateServer, certificates: Path
) -> None:
    use(certificates, "named")
    server.restart()
    options, authority = OPTIONS[server.target.kind]
    engine, port = database(server.target), server.place.port
    options = {**options, authority: str(certificates / "ca.pem")}
    named = server.target.with_(
        host="localhost", port=port, options=options, password=SecretStr(password_of(server.target))
    )
    for reached in (named, engine.behind_proxy(named.with_(port=1), port)):
        engine.connect(reached).close()
        with pytest.raises(CannotConnect, match=r"is not for '127\.0\.0\.1'"):
            engine.connect(reached.with_(host="127.0.0.1"))


def test_the_advice_for_a_name_that_cannot_be_verified_through_the_proxy_works(
    server: PrivateServer, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if server.target.kind == "postgresql":
        pytest.skip("its driver verifies the server's own name")
    use(certificates, "named")
    server.restart()
    options = {"ssl_mode": "verify_ca"}
    elsewhere = server.target.with_(
        host="db1", port=1, options=options, password=SecretStr(password_of(server.target))
    )
    engine = database(elsewhere.kind)
    with pytest.raises(
        CannotConnect, match="is not trusted here; name the file of its authority in the option ssl_ca"
    ):
        engine.connect(engine.behind_proxy(elsewhere, server.place.port))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))  # that the system trusts it is enough
    engine.connect(engine.behind_proxy(elsewhere, server.place.port)).close()
    with pytest.raises(CannotConnect, match=r"is not for '127\.0\.0\.1'"):
        engine.connect(
            elsewhere.with_(host="127.0.0.1", port=server.place.port, options={"ssl_mode": "VERIFY_IDENTITY"})
        )


REFUSED = {
    "rediss://127.0.0.1": "authority that signed the server's certificate is not trusted here; name .* tls_ca_file",
    "rediss://localhost?tls_ca_file={}/ca.pem": "is not for 'localhost'",
    "rediss://127.0.0.1?tls_ca_file={}/none.pem": "no such file of authorities; correct the option tls_ca_file",
    "redis://127.0.0.1?requirepeer={account}": r"whether the server requires TLS \(rediss://\)",
}


def test_a_server_of_redis_over_tls(certificates: Path) -> None:
    pytest.importorskip("redis")
    if not any(one.kind == "redis" for one in find_binaries()):
        pytest.skip("no server of Redis here")
    port, files = free_port(), {"cert": "server.pem", "key": "server.key", "ca-cert": "ca.pem"}
    settings = {f"tls-{name}-file": str(certificates / file) for name, file in files.items()}
    with private_server("redis", settings={**settings, "tls-port": str(port), "tls-auth-clients": "no"}) as server:
        account = {"port": port, "user": server.target.user, "password": SecretStr(password_of(server.target))}
        target = Target.parse(f"rediss://127.0.0.1?tls_ca_file={certificates}/ca.pem").with_(**account)
        engine = database(target)
        for reached in (target, engine.behind_proxy(target.with_(port=1), port)):
            engine.connect(reached).close()
        for url, reason in REFUSED.items():
            with pytest.raises(CannotConnect, match=reason):
                text = url.format(certificates, account=os.geteuid() or SERVER_UID)
                engine.connect(Target.parse(text).with_(**account))
        with pytest.raises(InputError, match="verifies the name of the proxy instead of db1"):
            engine.behind_proxy(target.with_(host="db1"), port)


@pytest.mark.parametrize("given", ["abc", "0", "-1", "1.5", ""])
@pytest.mark.parametrize("kind", OPTIONS)
def test_a_timeout_that_is_no_number_is_refused(kind: str, given: str) -> None:
    target = Target(kind=kind, host="127.0.0.1", port=1, options={"connect_timeout": given})
    with pytest.raises(InputError, match=f"connect_timeout is '{given}'; give whole seconds from 1 to 3600"):
        database(kind).connect(target)
