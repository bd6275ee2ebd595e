"""What load hosts must have in common with the coordinator, so that all execute the same."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.control_groups import limits
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.paths import data_folder
from hdbkit.processes import boot_id


def facts(target: str) -> dict[str, Any]:
    """What hosts must have in common, and what describes this one; ``target`` is a target as JSON."""
    return {
        "name": platform.node(),
        "cores": limits().cores,
        "machine": _machine(),
        "versions": {
            "Python": platform.python_version(),
            "hdbkit": version("hdbkit"),
            "code of hdbkit": _code(),
            "driver": database(Target.model_validate_json(target)).driver_version(),
            "distributed": version("distributed"),
        },
    }


def require_same(here: dict[str, Any], there: dict[str, Any], worker: str) -> None:
    """Compare the facts of a worker with those of this host. Raises ``HdbkitError`` for the first difference."""
    for what, ours in here["versions"].items():
        if (theirs := there["versions"].get(what)) != ours:
            raise HdbkitError(
                f"the load host {there['name']} ({worker}) has {what} {theirs}, but this host has {ours}; "
                "install the same on all hosts"
            )


def _machine() -> str:
    try:
        return boot_id()
    except OSError:
        return platform.node()


def _code() -> str:
    """A digest of hdbkit's own files: a checkout may differ without another version."""
    digest = hashlib.sha256()
    for root in (Path(__file__).parents[1], data_folder("schemas")):
        for path in sorted(one for one in root.rglob("*") if one.suffix in (".py", ".sql", ".yaml", ".lua")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
