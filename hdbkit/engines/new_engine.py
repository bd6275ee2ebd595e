"""The skeleton of a new engine: a package of its own that works as it is, on ``sqlite3``."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from hdbkit.databases import kinds, unusable
from hdbkit.errors import InputError

_NAME: Final = re.compile(r"[a-z][a-z0-9]{1,30}")
_FILES: Final = {
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
    "module.py.txt": "hdbkit_$name/__init__.py",
    "fragments.sql.txt": "hdbkit_$name/schemas/$name/fragments.sql",
    "server.sql.txt": "hdbkit_$name/schemas/$name/server/server.sql",
    "test.py.txt": "tests/test_$name.py",
}
"""The templates, and the file that each becomes."""


def write_engine(name: str, folder: Path) -> list[Path]:
    """Write the package of an engine into a new or empty folder; return its files.

    Raises:
        InputError: the name cannot be one of a kind of database, or is taken, or the folder has files.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"'{name}' cannot be a kind of database; use 2 to 31 lower-case letters and digits")
    if name in kinds() or name in unusable():
        raise InputError(f"there is a kind of database '{name}' already; choose another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty; name a new folder")
    words = {"name": name, "title": name.capitalize(), "class_name": name.capitalize(), "upper": name.upper()}
    written = []
    for template, place in _FILES.items():
        text = resources.files("hdbkit.engines").joinpath("skeleton", template).read_text(encoding="utf-8")
        path = folder / Template(place).substitute(words)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(text).safe_substitute(words), encoding="utf-8")
        written.append(path)
    return written
