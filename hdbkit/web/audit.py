"""The log file of an HTTP server: one JSON line per request, without tokens and without values of settings.

Whoever has no token must not fill the disk: beyond a few lines per address and minute, their requests are counted.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdbkit.errors import InputError

_MAX_LINES = 30
"""Lines per address and minute for requests without a token."""
_MAX_ADDRESSES = 100
"""Addresses that have lines of their own in a minute; an owner of a network has any number."""
_MINUTE_S = 60.0


class AuditLog:
    """A log file to which several processes may append whole lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError(
                f"the log {path} cannot be written ({error.strerror}); give another with --audit-log"
            ) from None
        self._counts = Counter[str]()
        self._since = 0.0

    def add(self, **facts: Any) -> None:
        """Append a line with the present time. Raises ``OSError`` on a full disk."""
        line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **facts})
        os.write(self._file, line.encode() + b"\n")

    def add_without_token(self, client: str, **facts: Any) -> None:
        """Append a line for a request without a token, or count it. Raises ``OSError`` on a full disk."""
        if time.monotonic() - self._since >= _MINUTE_S:
            self._add_counts()
        if client not in self._counts and len(self._counts) >= _MAX_ADDRESSES:
            client = "other addresses"
        self._counts[client] += 1
        if self._counts[client] <= _MAX_LINES:
            self.add(client=client, **facts)

    def _add_counts(self) -> None:
        """Append a line for each address with requests that were only counted; begin another minute."""
        counts, self._counts, self._since = self._counts, Counter(), time.monotonic()
        for client, count in counts.items():
            if count > _MAX_LINES:
                self.add(client=client, more_without_token=count - _MAX_LINES)

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._add_counts()
        os.close(self._file)
