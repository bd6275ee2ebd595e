"""The folder of a batch, ``batches/<id>``: executed notebooks, and ``batch.json`` with the state of each job.

A job has a name (the stem of its parameter file) and a key (a digest of notebook and values), so that repeating a
batch skips jobs that are done with the same notebook and values.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from hdbkit.errors import DamagedResult, InputError
from hdbkit.files import held, read_bytes, replace_file
from hdbkit.paths import Inside
from hdbkit.results.folder import make_folder

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


class JobStatus(StrEnum):
    """How a notebook ended."""

    DONE = "done"
    FAILED = "failed"


class JobRecord(BaseModel):
    """The record of a job; ``key`` is the digest of notebook and values, ``error`` is one line."""

    key: str
    params: str
    status: JobStatus
    started: datetime
    seconds: float
    error: str = ""


class _Records(BaseModel):
    notebook: str
    jobs: dict[str, JobRecord] = {}


@dataclass(frozen=True)
class BatchFolder:
    """The folder of a batch."""

    path: Path
    _record = Inside("batch.json")

    @property
    def batch_id(self) -> str:
        """The batch's id."""
        return self.path.name

    def executed(self, job: str) -> Path:
        """The executed notebook of a job."""
        return self.path / f"{job}.ipynb"

    def records(self) -> dict[str, JobRecord]:
        """The recorded jobs, by name. Raises ``DamagedResult`` if the record cannot be read."""
        return self._read().jobs if self._record.is_file() else {}

    def note(self, notebook: Path, job: str, record: JobRecord) -> None:
        """Record the outcome of a job."""
        kept = _Records(notebook=str(notebook), jobs={**self.records(), job: record})
        replace_file(self._record, kept.model_dump_json(indent=1).encode())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Create and lock the folder. Raises ``InputError`` if the same batch is running."""
        make_folder(self.path, exist_ok=True)
        with held(
            self.path / "batch.lock", f"batch {self.batch_id} is already running in another process", create=True
        ):
            yield

    def _read(self) -> _Records:
        try:
            return _Records.model_validate_json(read_bytes(self._record))
        except (OSError, ValidationError) as error:
            raise DamagedResult(f"{self._record} cannot be read: {error}") from None


def batch_folder(root: Path, batch_id: str) -> BatchFolder:
    """The folder of a batch below the results folder ``root``. Raises ``InputError`` for an invalid id."""
    if not _ID.fullmatch(batch_id):
        raise InputError(f"the id of a batch may only contain letters, digits, '.', '_' and '-', not '{batch_id}'")
    return BatchFolder(root / "batches" / batch_id)


def usual_id(notebook: Path, params: list[Path]) -> str:
    """The default id of a batch: the same for the same notebook and parameter files."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", notebook.stem).lstrip("._-")[:60] or "notebook"
    return f"{name}-{_digest([str(path.resolve()) for path in (notebook, *sorted(params))])[:8]}"


def job_key(notebook: bytes, values: Mapping[str, Any]) -> str:
    """The digest of a notebook's content and its parameter values."""
    return _digest([notebook.decode("utf-8", "replace"), json.dumps(values, sort_keys=True)])


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
