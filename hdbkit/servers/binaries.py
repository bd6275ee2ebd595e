"""Finds the server programs on this host and selects one of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from hdbkit.errors import InputError
from hdbkit.servers.place import Binaries

Version = Callable[[Path], str]
"""Returns the version of the server in a folder of programs; empty if it contains none of this kind."""


def reported_version(program: Path, pattern: str) -> str:
    """The first group of ``pattern`` in a program's ``--version`` output; empty if it does not match."""
    try:
        found = re.search(pattern, _said_version(program, program.stat().st_mtime_ns))
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found[1] if found else ""


@cache
def _said_version(program: Path, changed_ns: int) -> str:
    del changed_ns  # another file is another program
    return subprocess.run([str(program), "--version"], capture_output=True, text=True, timeout=20, check=False).stdout


def installed(kind: str, candidates: Iterable[tuple[Path, str]], version: Version) -> list[Binaries]:
    """The usable ``candidates`` (folder, source), in order, without duplicate folders."""
    found: dict[Path, str] = {}
    for folder, source in candidates:
        if os.access(folder, os.X_OK):
            found.setdefault(folder.resolve(), source)
    pairs = [(folder, version(folder), source) for folder, source in found.items()]
    return [Binaries(kind, number, folder, source) for folder, number, source in pairs if number]


def program_folder(program: str) -> list[Path]:
    """The folder of a program on PATH; empty if it is not installed."""
    found = shutil.which(program)
    return [Path(found).resolve().parent] if found else []


def chosen_binaries(
    kind: str,
    title: str,
    available: list[Binaries],
    wanted: str | None,
    source: str | None,
    version: Version,
    advice: str,
) -> Binaries:
    """The first of ``available`` with the version (such as "18" or "15.18") and source, or the one in a folder.

    Raises:
        InputError: there is none; the message lists the available binaries and ends with ``advice``.
    """
    found = available
    if source is not None and source not in {"wheel", "installed", *(one.source for one in available)}:
        given = Path(source).expanduser().resolve()
        folders = ((folder, version(folder)) for folder in (given, given / "bin"))
        found = [Binaries(kind, number, folder, "folder") for folder, number in folders if number]
    elif source is not None:
        found = [one for one in available if one.source == source]
    prefix = str(wanted) if wanted else ""
    for one in found:
        if not prefix or one.version == prefix or one.version.startswith(prefix + "."):
            return one
    listed = ", ".join(f"{one.version} ({one.source}: {one.folder})" for one in available) or "none"
    asked = " ".join(part for part in (prefix, f"from {source}" if source else "") if part) or "of any version"
    raise InputError(f"there are no {title} server binaries {asked} (found: {listed}); {advice}")
