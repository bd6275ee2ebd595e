"""Where a password is looked for, when it was not given in memory: the environment, then the keyring.

The keyring is that of the desktop or the system, where the package ``keyring`` is installed: the entry is of the
service ``hdbkit``, and its name is the target's address, as in ``keyring set hdbkit postgresql://bench@db1/tpcc``.
What is found in neither is left to the driver's own ways (such as ``PGPASSWORD`` or a password file).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from hdbkit.errors import InputError

PASSWORD_VARIABLE = "HDBKIT_PASSWORD"  # noqa: S105  the name of a variable, not a password
TOKEN_VARIABLE = "HDBKIT_AGENT_TOKEN"  # noqa: S105  the name of a variable, too
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
    kept = _ask_keyring(address)[0] if address else None
    return FoundPassword(SecretStr(kept), "the keyring") if kept else None


def find_token(address: str, file: Path | None) -> str | None:
    """The token of an agent: from ``HDBKIT_AGENT_TOKEN``, its address in the keyring, or a file. None: nowhere.

    Raises:
        InputError: the file cannot be read.
    """
    named = os.environ.get(TOKEN_VARIABLE)
    kept = named or (None if file else _ask_keyring(address)[0])
    return kept or (read_secret(file) if file else None)


def read_secret(file: Path) -> str:
    """The secret that is all of a file, without the end of its line. Raises ``InputError``."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise InputError(f"the file {file} with the token cannot be read: {error}") from None


def keyring_trouble(address: str) -> str:
    """Why the keyring cannot be asked for the password of an address, in words; empty where it can."""
    return _ask_keyring(address)[1]


def _ask_keyring(address: str) -> tuple[str | None, str]:
    """The entry of an address, and why there can be none."""
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None, "the package keyring is not installed"
    try:
        return keyring.get_password(KEYRING_SERVICE, address), ""
    except keyring.errors.KeyringError as error:  # locked, or there is none on this host
        return None, str(error).partition(". ")[0]
