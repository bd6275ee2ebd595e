"""The settings of a null database, with the same operations as the settings of a real server.

``speed`` divides every latency (reload), ``commit`` off shortens calls by a fifth (session), ``buffers`` has no
effect and requires a restart, which a null database does not support.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hdbkit.contracts import Row
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.files import draft_of

_KNOWN: dict[str, tuple[Any, ...]] = {  # unit, default, apply by, minimum, maximum, choices, kind, description
    "speed": (None, "1", "reload", 0.01, 100, None, "real", "divides every latency"),
    "commit": (None, "on", "session", None, None, None, "bool", "off shortens calls by a fifth"),
    "buffers": ("8kB", "1024", "restart", 16, 1 << 30, None, "integer", "has no effect"),
}


class NullSettings:
    """A file with the settings that were changed, and the time of the last reload."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._in_session: dict[str, str] = {}

    def value(self, name: str) -> str:
        """The current value in this session."""
        return self._in_session.get(name) or str(self._entries().get(name, _KNOWN[name][1]))

    def set_in_session(self, name: str, value: str) -> None:
        """Set a value for this session. Raises ``TransactionError`` if the setting has one value for all."""
        if _KNOWN[name][2] != "session":
            raise TransactionError(ErrorClass.OTHER, "null", f"{name} cannot be set in a session")
        self._in_session[name] = value

    def answer(self, operation: str, arguments: Mapping[str, Any]) -> list[Row] | None:
        """The result of an operation on settings; None for other operations."""
        match operation:
            case "control_settings":
                return [self._row(name) for name in _KNOWN]
            case "file_entries":
                return list(self._entries().items())
            case "settings_loaded_at":
                return [(self._read().get("loaded_ns", 0), 0)]
            case "set_setting":
                self._write({**self._entries(), str(arguments["name"]): str(arguments["value"])})
            case "reset_setting":
                self._write({name: old for name, old in self._entries().items() if name != arguments["name"]})
            case "reload_settings":
                self._write(self._entries())
            case _:
                return None
        return []

    def all(self) -> dict[str, dict[str, Any]]:
        """Every setting, and whether it was changed."""
        chosen = self._entries()
        return {
            name: {"value": self.value(name), "unit": unit, "default": default, "changed": name in chosen}
            for name, (unit, default, *_) in _KNOWN.items()
        }

    def _row(self, name: str) -> Row:
        unit, default, apply_by, low, high, choices, kind, text = _KNOWN[name]
        value = self.value(name)
        return (name, value, unit, default, apply_by, low, high, choices, kind, text, value, None, False)

    def _read(self) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        return content

    def _entries(self) -> dict[str, str]:
        return dict(self._read().get("entries", {}))

    def _write(self, entries: Mapping[str, str]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with draft_of(self._path) as draft:
            draft.write_text(json.dumps({"entries": entries, "loaded_ns": time.monotonic_ns()}))
