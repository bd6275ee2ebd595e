"""What is derived from all the code of hdbkit, kept in the cache folder until hdbkit or an installed package changes.

The help of a command and the words that a shell completes need the module of the command, with all that it imports.
They are derived once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.errors import HdbkitError
from hdbkit.files import read_text, replace_file
from hdbkit.paths import cache_folder

_PACKAGE = Path(__file__).resolve().parents[1]


def kept(file: str, key: str, derive: Callable[[], Any]) -> Any:
    """The value of ``key`` in a file of the cache folder, or else derived, as JSON can write it, and kept there."""
    path, state = cache_folder() / f"{file}.json", _state()
    content: dict[str, Any] = {"state": state}
    with suppress(ValueError, OSError, HdbkitError):
        found = json.loads(read_text(path))
        if isinstance(found, dict) and found.get("state") == state:
            content = found
    if key not in content:
        content[key] = derive()
        with suppress(OSError):  # a full or protected disk is no reason to answer nothing
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, json.dumps(content).encode(), mode=0o600)
    return content[key]


def _state() -> list[Any]:
    """What the commands depend on: hdbkit's modules, the interpreter and the installed packages."""
    newest, count = 0, 0
    for folder, _, names in os.walk(_PACKAGE):
        modules = [name for name in names if name.endswith(".py")]
        count += len(modules)
        newest = max([newest, *(os.stat(f"{folder}/{name}").st_mtime_ns for name in modules)])  # noqa: PTH116
    folders = [place for place in sys.path if place.endswith("-packages") and os.path.isdir(place)]  # noqa: PTH112
    packages = [os.stat(place).st_mtime_ns for place in folders]  # noqa: PTH116
    return [str(_PACKAGE), newest, count, sys.version, *packages]
