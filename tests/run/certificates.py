"""Certificates for the tests on TLS: two authorities, and what the first one signed."""

from __future__ import annotations

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hdbkit.servers.place import SERVER_UID

HERE = "127.0.0.1"


def write_certificates(folder: Path) -> None:
    """Write ``ca.pem``, ``other-ca.pem``, and with their keys ``server``, ``expired``, ``elsewhere``, ``named``."""
    own = _signed(folder, "ca", None, 1)
    _signed(folder, "other-ca", None, 1)
    _signed(folder, "server", own, 1)
    _signed(folder, "expired", own, -1)
    _signed(folder, "elsewhere", own, 1, "192.0.2.1")
    _signed(folder, "named", own, 1, "localhost")


def _named(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


Authority = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def _signed(folder: Path, name: str, by: Authority | None, days: int, address: str = HERE) -> Authority:
    """A certificate that ends in so many days; without an authority it is one."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"hdbkit {name}")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by[0].subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=3))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_named(address)]), critical=False)
        .sign(by[1] if by else key, hashes.SHA256())
    )
    (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / f"{name}.key"
    path.write_bytes(key.private_bytes(*private))
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, SERVER_UID, SERVER_UID)
    return made, key
