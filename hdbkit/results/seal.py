"""Seals: which files in a results folder this account wrote itself, as opposed to those in a folder from elsewhere.

What a results folder contains is shown to anybody. What would be executed because of it, such as the settings that a
killed sweep restores and the command that starts a killed server, needs the seal of this account: an HMAC-SHA256
(RFC 2104) with a key in the account's state folder that only the account can read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.errors import DamagedResult, InputError
from hdbkit.files import replace_file, sync_folder
from hdbkit.paths import state_folder

_KEY_BYTES = 32


def require_key() -> bytes:
    """The account's key, which is made on first use. Raises ``InputError`` if it cannot be read or made."""
    return _found_key() or _new_key()


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Replace a file by the content and its seal; only the account can read it.

    Raises ``InputError`` if the account has no key and cannot make one.
    """
    key = require_key()
    replace_file(path, json.dumps({"seal": _seal(key, content), "content": content}).encode(), mode=0o600)


def read_sealed(path: Path) -> tuple[dict[str, Any], bool]:
    """The content of a sealed file of any account, and whether the seal is that of this account.

    Raises ``FileNotFoundError``, ``DamagedResult``, and ``InputError`` if this account's key cannot be read.
    """
    try:
        found = json.loads(path.read_bytes())
        content, seal = dict(found["content"]), str(found["seal"])
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedResult(f"{path} cannot be read: {error}") from None
    key = _found_key()
    return content, bool(key) and hmac.compare_digest(_seal(key, content).encode(), seal.encode(errors="replace"))


def _seal(key: bytes, content: dict[str, Any]) -> str:
    return hmac.new(key, json.dumps(content, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def _path() -> Path:
    return state_folder() / "key"


def _found_key() -> bytes:
    """The account's key; empty if it has none yet."""
    path = _path()
    try:
        key = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise _no_key(error) from None
    if len(key) != _KEY_BYTES:
        raise InputError(f"{path} is no key of hdbkit, which has {_KEY_BYTES} bytes; remove it to have one made")
    return key


def _new_key() -> bytes:
    """A key that is made now; of several processes that make one at the same time, all get the same."""
    path = _path()
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(draft, secrets.token_bytes(_KEY_BYTES), mode=0o600)
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise _no_key(error) from None
    return _found_key()


def _no_key(error: OSError) -> InputError:
    return InputError(
        f"hdbkit recognizes what this account has saved by a key in {_path()}, which cannot be read or made "
        f"({error.strerror}); set XDG_STATE_HOME to a folder that the account can write"
    )
