"""Seals: whether this account wrote a file in a results folder, or the file came from elsewhere.

What a results folder contains is shown to anybody. What would be executed because of it, such as the settings that a
killed sweep restores and the command that starts a killed server, needs the seal of this account: an HMAC-SHA256
(RFC 2104) with a key in the account's state folder that only the account can read. A seal can be revoked: its nonce
is listed there until then, so that a copy of the file has no effect later.
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
from hdbkit.files import opened_file, replace_file, sync_folder
from hdbkit.paths import state_folder

_KEY_BYTES = 32
_MAX_BYTES = 64 << 20
_NONCE = "nonce"


def require_key() -> bytes:
    """The account's key, which is made on first use. Raises ``InputError`` if it cannot be read or made."""
    key = _found_key() or _new_key()
    if not key:
        raise _no_key("it is a dangling link")
    return key


def write_sealed(path: Path, kind: str, content: dict[str, Any], revocable: bool = False) -> None:
    """Replace a file by the content and its seal; only the account can read it.

    Args:
        path: the file.
        kind: what it is for; a file of another kind is not taken for it.
        content: what is sealed.
        revocable: whether it is valid only until ``drop_sealed``.

    Raises:
        InputError: the account has no key and cannot make one.
    """
    key, sealed = require_key(), {**content, "kind": kind}
    if revocable:
        sealed[_NONCE] = secrets.token_hex(16)
        folder = _pending(sealed[_NONCE]).parent
        folder.mkdir(exist_ok=True, mode=0o700)
        replace_file(_pending(sealed[_NONCE]), str(path).encode(errors="replace"), mode=0o600)
        sync_folder(folder)
    sealed = json.loads(json.dumps(sealed))  # as it will be read: keys that are numbers are sorted as text
    replace_file(path, json.dumps({"seal": _seal(key, sealed), "content": sealed}).encode(), mode=0o600)


def seal_of(content: dict[str, Any]) -> str:
    """The account's seal of a content that is kept elsewhere. Raises ``InputError`` if the account has no key."""
    return _seal(require_key(), content)


def is_sealed(content: dict[str, Any], seal: object) -> bool:
    """Whether this is the account's seal of a content. Raises ``InputError`` if its key cannot be read."""
    return _fits(_found_key(), content, seal)


def is_revoked(path: Path) -> bool:
    """Whether this account has sealed a file and revoked the seal."""
    with suppress(FileNotFoundError, DamagedResult, InputError):
        content, own = _read(path)
        return own and _NONCE in content and not _pending(content[_NONCE]).is_file()
    return False


def read_sealed(path: Path, kind: str) -> tuple[dict[str, Any], bool]:
    """The content of any sealed file, and whether the seal is this account's, of this kind and not revoked.

    Raises ``FileNotFoundError``, ``DamagedResult``, and ``InputError`` if this account's key cannot be read.
    """
    content, own = _read(path)
    valid = _NONCE not in content or (own and _pending(content[_NONCE]).is_file())
    return content, own and valid and content.get("kind") == kind


def drop_sealed(path: Path) -> None:
    """Remove a sealed file and revoke its seal, also that of its copies; does nothing without it."""
    listed: Path | None = None
    with suppress(FileNotFoundError, DamagedResult, InputError):
        content, own = _read(path)
        listed = _pending(content[_NONCE]) if own and _NONCE in content else None
    path.unlink(missing_ok=True)
    if listed:
        listed.unlink(missing_ok=True)


def _read(path: Path) -> tuple[dict[str, Any], bool]:
    """The content of a sealed file, and whether the seal is this account's."""
    try:
        with os.fdopen(opened_file(path), "rb") as file:
            found = json.loads(file.read(_MAX_BYTES))
        content, seal = found["content"], found["seal"]
        if not isinstance(content, dict):
            raise TypeError("its content is no object")
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedResult(f"{path} cannot be read: {error}") from None
    return content, _fits(_found_key(), content, seal)


def _fits(key: bytes, content: dict[str, Any], seal: object) -> bool:
    return bool(key) and hmac.compare_digest(_seal(key, content).encode(), str(seal).encode(errors="replace"))


def _seal(key: bytes, content: dict[str, Any]) -> str:
    return hmac.new(key, json.dumps(content, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def _path() -> Path:
    return state_folder() / "key"


def _pending(name: str) -> Path:
    """The file that lists the nonce of a seal which is not revoked."""
    return state_folder() / "pending" / name


def _found_key() -> bytes:
    """The account's key; empty if it has none yet."""
    path = _path()
    try:
        key = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise _no_key(error.strerror) from None
    if len(key) != _KEY_BYTES:
        raise InputError(
            f"{path} is no key of hdbkit, which has {_KEY_BYTES} bytes; remove it to have one made. Sweeps that were "
            "killed before that are then continued with: hdbkit resume ID --target TARGET --accept"
        )
    return key


def _new_key() -> bytes:
    """A key that is made now; of several processes that make one at the same time, all get the same."""
    path = _path()
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            replace_file(draft, secrets.token_bytes(_KEY_BYTES), mode=0o600)
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise _no_key(error.strerror) from None
    return _found_key()


def _no_key(reason: str | None) -> InputError:
    return InputError(
        f"hdbkit recognizes what this account has saved by a key in {_path()}, which cannot be read or made "
        f"({reason}); set XDG_STATE_HOME to a folder that the account can write"
    )
