"""Import of settings from another tool's files."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from hdbkit.errors import InputError
from hdbkit.files import replace_file
from hdbkit.hammerdb import Translation, read_settings, translate

_NAME = "hammerdb"
_DEFAULT_FOLDER = Path("imported")


@dataclass(frozen=True)
class Imported:
    """What an import wrote, and what it left out."""

    files: tuple[Path, ...]
    """``run.yaml`` (the load), and ``targets.yaml`` if hdbkit has an engine for the database."""
    build_command: str
    run_command: str
    left_out: pd.DataFrame
    """A row per setting without a counterpart: line (0: the whole file), setting, reason."""


def import_hammerdb(
    file: Path | str, folder: Path | str = _DEFAULT_FOLDER, *, benchmark: str | None = None
) -> Imported:
    """Translate the settings of a HammerDB script (.tcl, .py) or XML configuration into files of hdbkit.

    Nothing of the script is executed, and no password is written.

    Args:
        file: the script or the configuration.
        folder: where ``targets.yaml`` and ``run.yaml`` are written; created if needed.
        benchmark: TPC-C or TPC-H; by default the one that the file chooses, else TPC-C.

    Raises:
        InputError: the file cannot be read, or one of the files to write exists.
        ConfigErrors: with all errors of the file; nothing was written.

    Example:
        >>> hdbkit.api.import_hammerdb("pg.tcl", "imported").left_out  # doctest: +SKIP
    """
    made = translate(read_settings(Path(file)), str(file), benchmark)
    place = Path(folder)
    contents = _contents(made)
    for name in contents:
        if (place / name).exists():
            raise InputError(f"{place / name} exists; give another folder, or remove the file; nothing was written")
    place.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        replace_file(place / name, yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode())
    target = _NAME if made.target else "TARGET"
    loaders = ["--loaders", str(made.loaders)] if made.loaders else []
    build = ["hdbkit", "build", target, *made.workload.build_words, *loaders]
    run = ["hdbkit", "run", target, *made.workload.words, "--params", str(place / "run.yaml")]
    where = f"HDBKIT_TARGETS={shlex.quote(str(place / 'targets.yaml'))} " if made.target else ""
    left_out = pd.DataFrame(list(made.left_out), columns=["line", "setting", "reason"])
    return Imported(
        tuple(place / name for name in contents), where + shlex.join(build), where + shlex.join(run), left_out
    )


def _contents(made: Translation) -> dict[str, object]:
    """The content of each file, by its name."""
    found: dict[str, object] = {}
    if made.target:
        found["targets.yaml"] = {_NAME: made.target.model_dump(mode="json", exclude_unset=True)}
    found["run.yaml"] = made.load.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return found
