"""Which server programs there are on this host, and which of them is meant."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from hdbkit.errors import InputError
from hdbkit.servers.place import Binaries

Version = Callable[[Path], str]
"""The version of the server in a folder of programs; empty where it is none, or one of another kind."""


def told_version(program: Path, pattern: str) -> str:
    """What a program says to ``--version``: the first group of ``pattern`` in it, or nothing."""
    try:
        told = subprocess.run([str(program), "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(pattern, told.stdout)
    return found[1] if found else ""


def installed(kind: str, candidates: Iterable[tuple[Path, str]], version: Version) -> list[Binaries]:
    """The usable ones of ``candidates`` (folder, source), each folder once, in their order."""
    found: dict[Path, str] = {}
    for folder, source in candidates:
        if os.access(folder, os.X_OK):
            found.setdefault(folder.resolve(), source)
    pairs = [(folder, version(folder), source) for folder, source in found.items()]
    return [Binaries(kind, number, folder, source) for folder, number, source in pairs if number]


def program_folder(program: str) -> list[Path]:
    """The folder of a program on PATH, if it is there."""
    found = shutil.which(program)
    return [Path(found).resolve().parent] if found else []


def chosen(
    kind: str,
    title: str,
    there: list[Binaries],
    wanted: str | None,
    source: str | None,
    version: Version,
    advice: str,
) -> Binaries:
    """The first of ``there`` with the version (such as "18" or "15.18") and source, or the one of a folder.

    Raises:
        InputError: there is none; the text lists those that there are, and ends with ``advice``.
    """
    found = there
    if source is not None and source not in {"wheel", "installed", *(one.source for one in there)}:
        given = Path(source).expanduser().resolve()
        folders = ((folder, version(folder)) for folder in (given, given / "bin"))
        found = [Binaries(kind, number, folder, "folder") for folder, number in folders if number]
    elif source is not None:
        found = [one for one in there if one.source == source]
    prefix = str(wanted) if wanted else ""
    for one in found:
        if not prefix or one.version == prefix or one.version.startswith(prefix + "."):
            return one
    listed = ", ".join(f"{one.version} ({one.source}: {one.folder})" for one in there) or "none"
    asked = " ".join(part for part in (prefix, f"from {source}" if source else "") if part) or "of any version"
    raise InputError(f"there are no {title} server binaries {asked} (found: {listed}); {advice}")
