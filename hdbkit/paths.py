"""Locations of SQL and parameter files, results, cache, state and targets file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from hdbkit.later import platformdirs

_PACKAGE = Path(__file__).resolve().parent


class _HasPath(Protocol):
    @property
    def path(self) -> Path: ...


class Inside:
    """The path of a name in a folder, as an attribute of an object whose ``path`` is that folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: _HasPath, _: object = None) -> Path:
        return folder.path / self.name


def data_folder(name: str) -> Path:
    """The folder ``schemas`` or ``params``: inside the wheel, else in the checkout."""
    packed = _PACKAGE / "data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name


def results_folder() -> Path:
    """The folder for results: ``$HDBKIT_RESULTS``, else ``./results``; in a checkout always its own."""
    named = os.environ.get("HDBKIT_RESULTS")
    if named:
        return Path(named).expanduser().resolve()
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and Path.cwd().is_relative_to(checkout):
        return checkout / "results"
    return Path.cwd() / "results"


def home_folder() -> Path:
    """The account's home folder; ``/``, as in most containers, for an account without an entry and ``HOME``."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def cache_folder() -> Path:
    """The cache folder: ``hdbkit`` in the user's cache folder (``~/.cache`` on Linux). It may not exist."""
    os.environ.setdefault("HOME", str(home_folder()))  # without one it would be an error
    return platformdirs.user_cache_path("hdbkit", appauthor=False)


def state_folder() -> Path:
    """The state folder: ``hdbkit`` in the user's state folder (``~/.local/state`` on Linux). It may not exist."""
    os.environ.setdefault("HOME", str(home_folder()))
    return platformdirs.user_state_path("hdbkit", appauthor=False)


def targets_file() -> Path:
    """The file of named targets: ``$HDBKIT_TARGETS``, else ``./params/targets.yaml``, else the packaged file."""
    named = os.environ.get("HDBKIT_TARGETS")
    if named:
        return Path(named).expanduser().resolve()
    here = _targets_here()
    return here if here.is_file() else _packaged_targets()


def places_of_targets(path: Path) -> str:
    """Where names of targets were looked for, as words, if they were read from ``path``."""
    if path != _packaged_targets() or path == _targets_here():
        return str(path)
    return f"the examples of hdbkit, and there is no file {_targets_here()}"


def _targets_here() -> Path:
    return Path.cwd() / "params" / "targets.yaml"


def _packaged_targets() -> Path:
    return data_folder("params") / "targets.yaml"
