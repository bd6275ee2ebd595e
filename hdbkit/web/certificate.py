"""The certificate of an HTTP server, given or self-signed and kept, with the fingerprint that clients pin."""

from __future__ import annotations

import hashlib
import ipaddress
import platform
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hdbkit.errors import InputError
from hdbkit.files import replace_file
from hdbkit.paths import state_folder

_LIFE = timedelta(days=3650)


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and its key (PEM), and the certificate's SHA-256 in hexadecimal."""

    file: Path
    key: Path
    fingerprint: str


def given_certificate(file: Path, key: Path) -> Certificate:
    """Load the user's certificate; the first one in the file is the server's. Raises ``InputError``."""
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(file, key, password="")
        return Certificate(file, key, _fingerprint(file))
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise InputError(
            f"{file} and {key} are not a certificate and its key (PEM, without passphrase): {error}"
        ) from None


def check_authorities(file: Path, tls: bool) -> None:
    """Check a file of authorities that clients' certificates must come from. Raises ``InputError``."""
    if not tls:
        raise InputError("client certificates need TLS; omit --no-tls or --client-ca")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_verify_locations(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} has no certificates of authorities (PEM): {error}") from None


def own_certificate(folder: Path, host: str, title: str) -> Certificate:
    """Load the server's self-signed certificate for ``host``; create it, with this title, the first time."""
    file, key = folder / "certificate.pem", folder / "key.pem"
    if not (file.is_file() and key.is_file()):
        certificate, private = new_certificate(host, title)
        replace_file(key, private, mode=0o600)
        replace_file(file, certificate)
    return given_certificate(file, key)


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
