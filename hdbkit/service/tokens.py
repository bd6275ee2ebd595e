"""The tokens of a service: a file with the name, role, expiry and hash of each. The token itself is not kept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hdbkit.errors import InputError
from hdbkit.files import held, replace_file
from hdbkit.web.guard import hash_of, new_token

DEFAULT_DAYS = 90
MAX_DAYS = 3650
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")


class Role(StrEnum):
    """What a token permits; a role includes those before it."""

    READ = "read"  # lists, results, comparisons
    RUN = "run"  # loads on a server: runs, builds
    SETTINGS = "settings"  # changes of a server beyond its load: sweeps, faults, dropped schemas

    def permits(self, wanted: Role) -> bool:
        """Whether this role includes another."""
        order = list(Role)
        return order.index(self) >= order.index(wanted)


class Holder(BaseModel):
    """Who holds a token: its name, role, and when it expires; ``hash`` is the SHA-256 of the token."""

    model_config = ConfigDict(frozen=True)

    name: str
    role: Role
    expires: datetime
    hash: str

    @property
    def is_valid(self) -> bool:
        """Whether the token has not expired."""
        return datetime.now(UTC) < self.expires


_HOLDERS = TypeAdapter(list[Holder])


class Tokens:
    """The tokens in a file, which is read again when it changes, so that a removed token ends at once."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "tokens.json"
        self._read_at: tuple[int, int] | None = None
        self._by_hash: dict[str, Holder] = {}

    def holder(self, token: str) -> Holder | None:
        """Who holds this token; None if nobody does, or it has expired."""
        return self.of_hash(hash_of(token).hex())  # found by the hash, which tells no time about the token

    def of_hash(self, token_hash: str) -> Holder | None:
        """Who holds the token with this hash; None if it is not valid any more."""
        self._refresh()
        found = self._by_hash.get(token_hash)
        return found if found and found.is_valid else None

    def listed(self) -> list[Holder]:
        """All tokens, expired ones included."""
        self._refresh()
        return list(self._by_hash.values())

    def add(self, name: str, role: Role, days: float = DEFAULT_DAYS) -> str:
        """Make a token; it is returned here and never again. Raises ``InputError``."""
        if not _NAME.fullmatch(name):
            raise InputError(f"a token's name has up to 40 letters, digits, '.', '_' and '-', not '{name}'")
        if not 0 < days <= MAX_DAYS:
            raise InputError(f"a token is valid for more than 0 and up to {MAX_DAYS} days, not {days:g}")
        token = new_token()
        with self._changing():
            kept = [one for one in self.listed() if one.is_valid]
            if any(one.name == name for one in kept):
                raise InputError(f"there is a token '{name}' already; remove it first, or give another name")
            expires = datetime.now(UTC) + timedelta(days=days)
            self._write([*kept, Holder(name=name, role=role, expires=expires, hash=hash_of(token).hex())])
        return token

    def remove(self, name: str) -> None:
        """Remove a token, which is invalid from now on. Raises ``InputError`` if there is none."""
        with self._changing():
            kept = [one for one in self.listed() if one.name != name]
            if len(kept) == len(self.listed()):
                raise InputError(f"there is no token '{name}'; list them with: hdbkit token list")
            self._write(kept)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with held(self._file.with_suffix(".lock"), create=True):
            yield

    def _write(self, holders: list[Holder]) -> None:
        replace_file(self._file, json.dumps(_HOLDERS.dump_python(holders, mode="json")).encode(), mode=0o600)

    def _refresh(self) -> None:
        try:
            found = os.stat(self._file)  # noqa: PTH116  for each request
        except FileNotFoundError:
            self._by_hash, self._read_at = {}, None
            return
        at = (found.st_mtime_ns, found.st_ino)
        if at == self._read_at:
            return
        try:
            self._by_hash = {one.hash: one for one in _HOLDERS.validate_json(self._file.read_bytes())}
        except ValidationError:
            raise InputError(f"{self._file} is damaged; remove it, then add new tokens") from None
        self._read_at = at
