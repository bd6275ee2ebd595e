"""What the shell completes: names of targets, URLs of engines, ids and labels of runs, ids of experiments.

A completion never fails, connects to no server and imports little: the shell waits for it at each press of the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from hdbkit.errors import HdbkitError
from hdbkit.files import read_text
from hdbkit.paths import results_folder, targets_file

_SHOWN = 50
"""Runs that are offered, the newest first."""
_MAX_MANIFEST = 1 << 20


def targets(incomplete: str) -> list[str]:
    """Names of the targets file, and the beginnings of URLs."""
    return fitting([*_target_names(), *(f"{kind}://" for kind in _known("kinds"))], incomplete)


def engines(incomplete: str) -> list[str]:
    """Kinds of databases."""
    return fitting(_known("kinds"), incomplete)


def startable_engines(incomplete: str) -> list[str]:
    """Kinds of databases that hdbkit can start."""
    return fitting(_known("startable"), incomplete)


def run_names(incomplete: str) -> list[str]:
    """Ids of the newest runs, ``last``, and their labels."""
    newest = list(islice(_folders(results_folder(), "manifest.json"), _SHOWN))
    labels = dict.fromkeys(filter(None, map(_label, newest))) if incomplete else ()
    return fitting(["last", *(folder.name for folder in newest), *labels], incomplete)


def experiment_names(incomplete: str) -> list[str]:
    """Ids of experiments, and ``last``."""
    return fitting(
        ["last", *(one.name for one in _folders(results_folder() / "experiments", "plan.json"))], incomplete
    )


def any_names(incomplete: str) -> list[str]:
    """Ids and labels of runs, and ids of experiments."""
    return list(dict.fromkeys([*run_names(incomplete), *experiment_names(incomplete)]))


def fitting(words: list[str], incomplete: str) -> list[str]:
    """The words that begin like an incomplete one."""
    return [word for word in words if word.startswith(incomplete)]


def _known(what: str) -> list[str]:
    from hdbkit.cli.described import known

    return list(known()[what])


def _target_names() -> list[str]:
    import yaml

    from hdbkit.yaml_nodes import compose

    with suppress(HdbkitError, OSError, ValueError, yaml.YAMLError):
        top = compose(read_text(targets_file()))
        if isinstance(top, yaml.MappingNode):
            return [str(name.value) for name, _ in top.value]
    return []


def _folders(root: Path, inside: str) -> Iterator[Path]:
    """Folders with this file, the newest first."""
    with suppress(OSError):
        yield from (path for path in sorted(root.iterdir(), reverse=True) if (path / inside).is_file())


def _label(run: Path) -> str:
    with suppress(OSError, ValueError, RecursionError, LookupError, TypeError):
        with (run / "manifest.json").open(encoding="utf-8") as file:
            content = json.loads(file.read(_MAX_MANIFEST))
        return str(content["plan"]["label"] or "")
    return ""
