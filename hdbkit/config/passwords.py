"""Look-up of passwords that are not given in memory: in the environment, then in the keyring.

The keyring of the desktop or system is used if the package ``keyring`` is installed. The service is ``hdbkit`` and
the user name is the target's address, as in ``keyring set hdbkit postgresql://bench@db1/bench``. If neither has a
password, the driver looks for one itself (such as ``PGPASSWORD`` or a password file).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from hdbkit.errors import InputError

PASSWORD_VARIABLE = "HDBKIT_PASSWORD"  # noqa: S105  the name of a variable, not a password
ADMIN_PASSWORD_VARIABLE = "HDBKIT_ADMIN_PASSWORD"  # noqa: S105  the name of another variable
TOKEN_VARIABLE = "HDBKIT_AGENT_TOKEN"  # noqa: S105  the name of a variable, too
KEYRING_SERVICE = "hdbkit"
_MAX_SECRET = 4096
_LINE_BREAKS = frozenset("\r\n")


@dataclass(frozen=True)
class FoundPassword:
    """A password, and a description of where it was found."""

    password: SecretStr
    source: str


def find_password(address: str | None, variable: str = PASSWORD_VARIABLE) -> FoundPassword | None:
    """The password from the environment, else from the keyring for an address (a URL without options), else None."""
    named = of_variable(variable)
    if named is not None:
        return FoundPassword(SecretStr(named), variable)
    kept = _ask_keyring(address)[0] if address else None
    return FoundPassword(SecretStr(one_line(kept, "the keyring")), "the keyring") if kept else None


def of_variable(name: str) -> str | None:
    """A secret from a variable of the environment; None if it is not set. Raises ``InputError``, see ``one_line``."""
    secret = os.environ.get(name)
    return None if secret is None else one_line(secret, name)


def one_line(secret: str, source: str) -> str:
    """A secret that is one line; ``source`` is what an error names, never the secret.

    Raises:
        InputError: it has a line break, as from a file that was read whole: no login with it succeeds.
    """
    if not _LINE_BREAKS & {*secret}:
        return secret
    how = "ends with" if secret[-1] in _LINE_BREAKS else "contains"
    raise InputError(
        f"the secret in {source} {how} a line break, which no password or token has; set it again without the line "
        "break (printf and $(cat FILE) add none; echo and here-documents do); nothing was sent"
    )


def find_token(address: str, file: Path | None) -> str | None:
    """The token of an agent: from ``HDBKIT_AGENT_TOKEN``, the keyring, or a file; None if there is none.

    Raises:
        InputError: the file cannot be read, or the variable has a line break.
    """
    named = of_variable(TOKEN_VARIABLE)
    kept = named or (None if file else _ask_keyring(address)[0])
    return kept or (read_secret(file) if file else None)


def read_secret(file: Path) -> str:
    """The content of a file as a secret, without surrounding white space. Raises ``InputError``."""
    try:
        with file.open(encoding="utf-8-sig") as opened:
            secret = opened.read(_MAX_SECRET + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"the token file {file} cannot be read: {error}") from None
    if len(secret) > _MAX_SECRET:
        raise InputError(f"the token file {file} has more than {_MAX_SECRET} characters")
    return secret.strip()


def keyring_trouble(address: str) -> str:
    """Why the keyring cannot be used for an address; empty if it can."""
    return _ask_keyring(address)[1]


def _ask_keyring(address: str) -> tuple[str | None, str]:
    """The entry of an address, and the reason if the keyring cannot be used."""
    keyring = _keyring()
    if keyring is None:
        return None, "the package keyring is not installed"
    try:
        return keyring.get_password(KEYRING_SERVICE, address), ""
    except keyring.errors.KeyringError as error:  # locked, or not available on this host
        return None, str(error).partition(". ")[0]


@cache
def _keyring() -> Any:
    """The package, if it is installed: looked for once, as each look costs a client process memory of its own."""
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    return keyring
