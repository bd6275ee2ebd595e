"""Writes the folder of a new workload, which can be built and run as it is."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from string import Template

from hdbkit.config.specs.definition import workload_name
from hdbkit.errors import InputError

_FILES = ("workload.yaml", "statements.sql")


def write_skeleton(folder: Path) -> list[Path]:
    """Write a workload into a new or empty folder; return its files.

    Raises:
        InputError: the folder has files, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty; name a new folder")
    name = workload_name(folder.resolve().name)
    words = {"name": name, "schema": name.replace("-", "_")}
    written = []
    for file in _FILES:
        text = resources.files(__package__).joinpath(f"{file}.txt").read_text(encoding="utf-8")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(Template(text).safe_substitute(words), encoding="utf-8")
        except OSError as error:
            raise InputError(f"{folder / file} cannot be written: {error.strerror}") from None
        written.append(folder / file)
    return written
