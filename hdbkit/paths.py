"""Where things are: SQL and parameter files (inside the wheel first, then the checkout) and results."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """The folder ``schemas`` or ``params``: the wheel's copy if there is one, else the checkout's."""
    packed = _PACKAGE / "data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name


def results_folder() -> Path:
    """Where runs land: ``$HDBKIT_RESULTS``, else ``results`` of the checkout, else ``./results``."""
    named = os.environ.get("HDBKIT_RESULTS")
    if named:
        return Path(named).expanduser().resolve()
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file():
        return checkout / "results"
    return Path.cwd() / "results"


def targets_file() -> Path:
    """Where named targets stand: ``$HDBKIT_TARGETS``, else ``params/targets.yaml`` here, else ours."""
    named = os.environ.get("HDBKIT_TARGETS")
    if named:
        return Path(named).expanduser().resolve()
    here = Path.cwd() / "params" / "targets.yaml"
    return here if here.is_file() else data_folder("params") / "targets.yaml"
