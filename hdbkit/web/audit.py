"""The log file of an HTTP server: one JSON line per request, without tokens and without values of settings."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdbkit.errors import InputError


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

    def add(self, **facts: Any) -> None:
        """Append a line with the present time. Raises ``OSError`` on a full disk."""
        line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **facts})
        os.write(self._file, line.encode() + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
