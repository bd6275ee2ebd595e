"""Where an HTTP server listens: address, certificate and log, all checked before it listens.

A certificate is given, or self-signed and kept; clients pin its fingerprint.
"""

from __future__ import annotations

import hashlib
import ipaddress
import platform
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from hdbkit.config.hosts import is_loopback
from hdbkit.config.model import ConfigModel
from hdbkit.errors import InputError, MissingDriver
from hdbkit.files import replace_file
from hdbkit.paths import state_folder
from hdbkit.web.gate import MAX_UNVERIFIED, RequestGate
from hdbkit.web.guard import AuditLog, Guard

if TYPE_CHECKING:
    import uvicorn


_BACKLOG = 1024
_GRACE_S = 10
MAX_HEAD_BYTES = 64 * 1024
"""The largest first line and headers of a request, and the largest trailers of a chunked one."""
_MAX_MESSAGE_BYTES = 1024 * 1024
"""The largest message of a websocket that a client may send."""


class EndpointOptions(ConfigModel):
    """Options of a server, which its command has as well."""

    noun = "the options"

    listen: str = Field(description="address and port; port 0: any free port")
    certificate: Path | None = Field(default=None, description="certificate (PEM); none: a self-signed one, kept")
    key: Path | None = Field(default=None, description="the certificate's key (PEM)")
    client_ca: Path | None = Field(
        default=None, description="authorities (PEM) whose certificates clients must show, beside the token"
    )
    tls: bool = Field(default=True, description="use TLS; a server without it listens on its own host only")
    state: Path | None = Field(default=None, description="folder for the certificate, the log and what else is kept")
    audit_log: Path | None = Field(default=None, description="log of requests; none: in the state folder")


@dataclass(frozen=True)
class Endpoint:
    """A listening socket with its certificate (None without TLS), log and folder of state."""

    host: str
    gate: RequestGate
    certificate: _Certificate | None
    audit: AuditLog
    state: Path
    client_ca: Path | None = None

    @property
    def url(self) -> str:
        """The address for clients."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{name}:{self.gate.getsockname()[1]}"

    @property
    def fingerprint(self) -> str | None:
        """SHA-256 of the certificate in hexadecimal; None without TLS."""
        return self.certificate.fingerprint if self.certificate else None

    def serve(self, application: Guard, reserved: int, *, channels: bool = False) -> None:
        """Serve until SIGINT or SIGTERM; ``reserved`` connections beyond those without a valid token yet.

        ``channels``: websockets, too.
        """
        self.server(application, reserved, channels=channels).run(sockets=[self.gate])

    def server(self, application: Guard, reserved: int, *, channels: bool = False) -> uvicorn.Server:
        """The server, which runs until ``should_exit`` is set."""
        import uvicorn

        tls: dict[str, Any] = {}
        if self.certificate:
            tls = {"ssl_certfile": str(self.certificate.file), "ssl_keyfile": str(self.certificate.key)}
        if self.client_ca:
            tls |= {"ssl_ca_certs": str(self.client_ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
        config = uvicorn.Config(
            application,
            loop="asyncio",  # its connections pass the gate
            http="h11",  # it limits headers, chunk headers and trailers
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,  # what a request states about its client would be believed
            ws="websockets-sansio" if channels else "none",
            ws_max_size=_MAX_MESSAGE_BYTES,
            limit_concurrency=MAX_UNVERIFIED + reserved,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_GRACE_S,
            **tls,
        )
        return uvicorn.Server(config)


def require_web(noun: str, extra: str) -> None:
    """Check that the packages of the extra are installed. Raises ``MissingDriver``."""
    try:
        import cryptography  # noqa: F401  needed to create a certificate
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingDriver(noun, error.name or "uvicorn", extra) from None


@contextmanager
def listening(options: EndpointOptions, noun: str) -> Iterator[Endpoint]:
    """Listen for a block; ``noun`` is the server's own name, such as "agent".

    Raises:
        InputError: the options are invalid or the address is not available.
    """
    host, port = _address(options.listen)
    if not (options.tls or is_loopback(host)):
        raise InputError(f"the {noun} needs TLS to listen beyond this host ({host}); omit --no-tls")
    if options.client_ca:
        _check_authorities(options.client_ca, options.tls)
    state = make_state_folder(options.state, noun)
    certificate = _certificate(options, state, host, noun)
    audit = AuditLog(options.audit_log or state / "audit.ndjson")
    try:
        gate = _gate(host, port, noun)
        try:
            yield Endpoint(host, gate, certificate, audit, state, options.client_ca)
        finally:
            gate.close()
    finally:
        audit.close()


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--listen must be an address and a port such as 127.0.0.1:8443, not '{listen}'")
    return host, int(port)


def _certificate(options: EndpointOptions, state: Path, host: str, noun: str) -> _Certificate | None:
    if not options.tls:
        return None
    if (options.certificate is None) != (options.key is None):
        raise InputError("give --certificate and --key both, or neither")
    if options.certificate and options.key:
        return _given_certificate(options.certificate, options.key)
    return own_certificate(state, host, f"hdbkit {noun}")


def _gate(host: str, port: int, noun: str) -> RequestGate:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return RequestGate(socket.create_server((address[0], port), family=family, backlog=_BACKLOG))
    except OSError as error:
        raise InputError(f"the {noun} cannot listen on {host}:{port}: {error.strerror or error}") from None


_LIFE = timedelta(days=3650)


@dataclass(frozen=True)
class _Certificate:
    """The files of a certificate and its key (PEM), and the certificate's SHA-256 in hexadecimal."""

    file: Path
    key: Path
    fingerprint: str


def _given_certificate(file: Path, key: Path) -> _Certificate:
    """Load the user's certificate; the first one in the file is the server's. Raises ``InputError``."""
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(file, key, password="")
        return _Certificate(file, key, _fingerprint(file))
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise InputError(
            f"{file} and {key} are not a certificate and its key (PEM, without passphrase): {error}"
        ) from None


def _check_authorities(file: Path, tls: bool) -> None:
    """Check a file of authorities that clients' certificates must come from. Raises ``InputError``."""
    if not tls:
        raise InputError("client certificates need TLS; omit --no-tls or --client-ca")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_verify_locations(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} has no certificates of authorities (PEM): {error}") from None


def own_certificate(folder: Path, host: str, title: str) -> _Certificate:
    """Load the server's self-signed certificate for ``host``; create it, with this title, the first time."""
    file, key = folder / "certificate.pem", folder / "key.pem"
    if not (file.is_file() and key.is_file()):
        certificate, private = new_certificate(host, title)
        replace_file(key, private, mode=0o600)
        replace_file(file, certificate)
    return _given_certificate(file, key)


def _fingerprint(file: Path) -> str:
    text = file.read_text(encoding="ascii")
    end = "-----END CERTIFICATE-----"
    first = text[text.index("-----BEGIN CERTIFICATE-----") : text.index(end) + len(end)]
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(first)).hexdigest()


def new_certificate(host: str, title: str) -> tuple[bytes, bytes]:
    """Create a self-signed certificate and its key, both as PEM. Clients identify it by its fingerprint."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, title)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .add_extension(
            x509.SubjectAlternativeName([_name(one) for one in {host, platform.node(), "localhost"}]), False
        )
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def _name(host: str):  # type: ignore[no-untyped-def]
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def make_state_folder(folder: Path | None, noun: str) -> Path:
    """Create the folder for a server's key, log and state, by default in the user's state folder. Mode 0700."""
    made = Path(folder).expanduser() if folder else state_folder() / noun
    try:
        made.mkdir(parents=True, exist_ok=True)
        made.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"the folder {made} cannot be created or protected ({error.strerror}); give another with --state"
        ) from None
    return made
