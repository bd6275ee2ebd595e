"""What the shell completes: names of targets, URLs of engines, ids and labels of runs, ids of sweeps.

A completion never fails and connects to no server.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from hdbkit.api import DEFAULT
from hdbkit.config.target import target_names
from hdbkit.databases import kinds
from hdbkit.errors import HdbkitError
from hdbkit.results.catalog import list_runs
from hdbkit.results.folder import run_folders
from hdbkit.results.sweep_folder import sweep_folders
from hdbkit.servers import startable_kinds

_SHOWN = 50
"""Runs that are offered, the newest first."""


def targets(incomplete: str) -> list[str]:
    """Names of the targets file, and the beginnings of URLs."""
    names: list[str] = []
    with suppress(HdbkitError, OSError):
        names = target_names(DEFAULT.targets)
    return _fitting([*names, *(f"{kind}://" for kind in kinds())], incomplete)


def engines(incomplete: str) -> list[str]:
    """Kinds of databases."""
    return _fitting(list(kinds()), incomplete)


def startable_engines(incomplete: str) -> list[str]:
    """Kinds of databases that hdbkit can start."""
    return _fitting(list(startable_kinds()), incomplete)


def run_names(incomplete: str) -> list[str]:
    """Ids of the newest runs, ``last``, and labels."""
    ids = [one.run_id for one in islice(run_folders(DEFAULT.results), _SHOWN)]
    labels: list[str] = []
    if incomplete:
        with suppress(HdbkitError, OSError):
            labels = [str(one) for one in list_runs(DEFAULT.results).runs["label"].dropna().unique()]
    return _fitting(["last", *ids, *labels], incomplete)


def sweep_names(incomplete: str) -> list[str]:
    """Ids of sweeps, and ``last``."""
    with suppress(HdbkitError, OSError):
        return _fitting(["last", *(one.sweep_id for one in sweep_folders(DEFAULT.results))], incomplete)
    return []


def any_names(incomplete: str) -> list[str]:
    """Ids and labels of runs, and ids of sweeps."""
    return list(dict.fromkeys([*run_names(incomplete), *sweep_names(incomplete)]))


def _fitting(words: list[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
