"""The folder of a run: the paths of its files, and reading and writing of the manifest."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from hdbkit.errors import DamagedResult, InputError
from hdbkit.files import held, read_bytes, replace_file, results_umask
from hdbkit.paths import Inside
from hdbkit.results.columns import FORMAT_VERSION
from hdbkit.results.manifest import Manifest

END_GRACE_S = 2.0
"""How long to wait for a process that is about to exit."""


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run; self-contained, so it can be shared by copying it."""

    path: Path
    operations = Inside("operations")
    """The folder of Parquet files with one row per operation."""
    spools = Inside("spools")
    """The clients' spools during the run."""
    control = Inside("control.bin")
    """The memory page that supervisor and clients share during the run."""
    settings = Inside("settings.json")
    """The server's settings as read back at the start."""
    plans = Inside("plans.json")
    """The optimizer's plans of its queries, where the workload asks for them."""
    report = Inside("report.html")
    """The one-page report."""
    log = Inside("log.ndjson")
    """The supervisor's log, one JSON object per line."""
    supervisor_errors = Inside("supervisor.err")
    """The error output of the supervisor; removed if empty."""
    changes = Inside("changes.json")
    """The plan whose changes are to be undone, until they are."""
    instruments = Inside("instruments.json")
    """What the server records only for this run, until it is turned off."""

    @property
    def run_id(self) -> str:
        """The run's id, which is the folder's name."""
        return self.path.name

    def table(self, name: str) -> Path:
        """The Parquet file of a table: seconds, counters, host, clients, errors."""
        return self.path / f"{name}.parquet"

    def left_by_fault(self, number: int) -> Path:
        """What the fault of this number leaves behind, until that is undone."""
        return self.path / f"fault-{number}.json"

    def left_by_faults(self) -> list[Path]:
        """What faults have left behind and is not undone yet."""
        return sorted(self.path.glob("fault-*.json"))

    def read(self) -> Manifest:
        """Read the manifest. Raises ``DamagedResult`` if it is missing, truncated, newer or not of hdbkit."""
        path = self.path / "manifest.json"
        try:
            manifest = _manifest(read_bytes(path))
        except FileNotFoundError:
            raise DamagedResult(f"{self.path} is not a run folder: it has no manifest.json") from None
        except ValidationError as error:
            raise DamagedResult(f"{path} is damaged: {_first_problem(error)}") from None
        except ValueError as error:
            raise DamagedResult(f"{path} is damaged: {error}") from None
        except OSError as error:
            raise DamagedResult(f"{path} cannot be read: {error}") from None
        if manifest.format_version != FORMAT_VERSION:
            raise DamagedResult(
                f"{path} has format version {manifest.format_version}, but this hdbkit reads {FORMAT_VERSION}; "
                "run: pip install --upgrade hdbkit"
            )
        return manifest

    def write(self, manifest: Manifest) -> None:
        """Replace the manifest atomically."""
        replace_file(self.path / "manifest.json", manifest.model_dump_json(indent=1).encode())


@lru_cache(maxsize=4)
def _manifest(content: bytes) -> Manifest:
    """The manifest of a file's content, which who watches a run reads ten times a second and seldom finds changed.

    Raises ``ValueError`` for a number that no run has, and nothing that shows it could take.
    """
    with suppress(RecursionError):  # the model reports it
        json.loads(content, parse_int=_within, parse_float=_within)
    return Manifest.model_validate_json(content)


_LARGEST = 2.0**63
_DIGITS = 400


def _within(text: str) -> float:
    """A number of a file. Raises ``ValueError`` if it is beyond those of 64 bits."""
    if len(text) > _DIGITS or not abs(number := float(text)) < _LARGEST:
        raise ValueError(f"the number {text[:30]} is too large")
    return number


def _first_problem(error: ValidationError) -> str:
    """The first error, with its field: ``plan.load.virtual_users: input should be a valid integer``."""
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    text = first["msg"][:1].lower() + first["msg"][1:]
    return f"{field}: {text}" if field else text


def make_folder(path: Path, exist_ok: bool = False, *, to_publish: bool = False) -> Path:
    """Create a folder for results, with those above it, for this account alone unless ``HDBKIT_UMASK`` permits more.

    One ``to_publish`` has the usual permissions. Raises ``InputError`` if that fails.
    """
    mode = 0o777 if to_publish else 0o777 & ~results_umask()
    try:
        for one in (*reversed(path.parents), path):
            is_last = one == path
            if not one.is_dir() or (is_last and not exist_ok):
                one.mkdir(mode, exist_ok=exist_ok or not is_last)
                if not to_publish:
                    one.chmod(mode)
    except OSError as error:
        raise InputError(
            f"the folder {path} cannot be created ({error.strerror}); set HDBKIT_RESULTS to a writable folder"
        ) from None
    return path


@contextmanager
def only_one(root: Path, what: str, otherwise: str) -> Iterator[int]:
    """Lock ``what`` in a results folder, waiting for a process that is about to exit; yield the descriptor.

    Raises:
        InputError: ``otherwise``, while another process holds the lock.
    """
    folder = make_folder(root / "experiments" / ".locks", exist_ok=True)
    with held(
        folder / hashlib.sha256(what.encode()).hexdigest()[:16], otherwise, END_GRACE_S, create=True
    ) as descriptor:
        yield descriptor


def is_run(root: Path, name: str) -> bool:
    """Whether ``root`` has a folder of this name with a manifest; fast enough for thousands of names."""
    return os.path.isfile(f"{root}/{name}/manifest.json")  # noqa: PTH113


def manifest_times(root: Path) -> Iterator[tuple[str, int]]:
    """The names of the run folders under ``root``, and when each manifest was changed (ns); one call a folder."""
    for name in os.listdir(root) if root.is_dir() else ():  # noqa: PTH208
        try:
            found = os.stat(f"{root}/{name}/manifest.json")  # noqa: PTH116
        except OSError:  # no run, or removed since it was listed
            continue
        if stat.S_ISREG(found.st_mode):
            yield name, found.st_mtime_ns


def run_folders(root: Path) -> Iterator[RunFolder]:
    """All folders under ``root`` with a manifest, newest first; other files are ignored."""
    if not root.is_dir():
        return
    for name in sorted(os.listdir(root), reverse=True):  # noqa: PTH208
        if is_run(root, name):
            yield RunFolder(root / name)


def only_match(ids: Iterable[str], word: str, kind: str, where: str) -> str:
    """The id among ``ids`` (newest first) that equals, uniquely starts or ends with ``word``; ``last``: the newest.

    Raises ``InputError`` if there is none, or more than one; ``kind`` and ``where`` complete the message.
    """
    if not word:
        one = f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
        raise InputError(f"give the id of {one}, a unique part of it, or 'last', not an empty text")
    each = iter(ids)
    if word == "last" and (newest := next(each, None)):
        return newest
    fit = [one for one in each if one.startswith(word) or one.endswith(f"-{word}")]
    close = [word] if word in fit else fit
    if len(close) == 1:
        return close[0]
    if close:
        raise InputError(f"'{word}' matches {len(close)} {kind}s: {', '.join(close[:5])}")
    raise InputError(f"there is no {kind} '{word}' in {where}")
