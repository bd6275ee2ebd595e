"""What a file is that was given for results and has none: settings, which other commands take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hdbkit.config import SweepSpec
from hdbkit.config.files import read_yaml
from hdbkit.config.sweep_spec import FILES, is_hammerpost
from hdbkit.errors import HdbkitError

_OF_SERVERS: Final = (".cnf", ".conf", ".ini")
_GROUP: Final = re.compile(r"^\[[\w.-]+\][ \t]*$", re.MULTILINE)
_SETTING: Final = re.compile(r"[A-Za-z_][\w.-]*\s*=\s*\S.*")
_COMMENTS: Final = ("#", ";")
_YAML: Final = (".yaml", ".yml", ".json")


def settings_in(path: Path, text: str) -> str | None:
    """A sentence that names the settings in a file, and the command that takes them; None if it has none."""
    content = _content(path) if path.suffix.lower() in _YAML else None
    if isinstance(content, dict) and is_hammerpost(content):
        return f"{path} has values of server settings and no result; to measure them: hdbkit sweep TARGET {path}"
    if isinstance(content, dict) and content.keys() & SweepSpec.model_fields.keys() & {"settings", "factors", FILES}:
        return f"{path} is a sweep and has no result; to measure it: hdbkit sweep TARGET {path}"
    if content is None and _is_of_server(path, text):
        return (
            f"{path} has settings of a server and no result; to measure them, write 'settings_file: [{path.name}]' "
            "into a sweep file beside it, then: hdbkit sweep TARGET SWEEP.yaml"
        )
    return None


def _content(path: Path) -> Any:
    try:
        return read_yaml(path)[0]
    except HdbkitError:
        return None


def _is_of_server(path: Path, text: str) -> bool:
    lines = [line for one in text.splitlines() if (line := one.strip()) and not line.startswith(_COMMENTS)]
    if path.suffix.lower() in _OF_SERVERS or _GROUP.search(text):
        return bool(lines)
    return len(lines) > 1 and all(map(_SETTING.fullmatch, lines))
