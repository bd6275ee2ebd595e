"""Where a password is looked for, when it was not given in memory: the environment, then the keyring.

The keyring is that of the desktop or the system, where the package ``keyring`` is installed: the entry is of the
service ``hdbkit``, and its name is the target's address, as in ``keyring set hdbkit postgresql://bench@db1/tpcc``.
What is found in neither is left to the driver's own ways (such as ``PGPASSWORD`` or a password file).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from pydantic import SecretStr

PASSWORD_VARIABLE = "HDBKIT_PASSWORD"  # noqa: S105  the name of a variable, not a password
KEYRING_SERVICE = "hdbkit"


@dataclass(frozen=True)
class FoundPassword:
    """A password, and in words where it was found."""

    password: SecretStr
    place: str


def find_password(address: str | None) -> FoundPassword | None:
    """The password in the environment, else that of an address (a URL without options) in the keyring; else None."""
    named = os.environ.get(PASSWORD_VARIABLE)
    if named is not None:
        return FoundPassword(SecretStr(named), PASSWORD_VARIABLE)
    kept = _in_keyring(address) if address else None
    return FoundPassword(SecretStr(kept), "the keyring") if kept else None


def _in_keyring(address: str) -> str | None:
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password(KEYRING_SERVICE, address)
    except keyring.errors.KeyringError:  # locked, or there is none on this host
        return None
    return found
