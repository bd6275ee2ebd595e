"""Handling of database errors: they are counted by class, and the operation is retried or given up.

After a deadlock or a serialization failure the same operation is retried with the same inputs, at most
``max_retries`` times: first at once, then after random pauses that grow, so that users who hinder each other get
apart. Each error is counted and kept with its text, also when a retry succeeds. Nothing is dropped.
A virtual user whose operations fail in a row pauses between them: no core is wasted on a server in trouble.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdbkit.config import Load
from hdbkit.contracts import Prepared
from hdbkit.errors import RETRIED, ErrorClass, HdbkitError, RolledBackByDesign, TransactionError, login_refusal
from hdbkit.execution.control import Field
from hdbkit.files import replace_file
from hdbkit.results.columns import CONNECTING, ERROR_CLASSES, ERROR_LINES, LOGIN_REFUSED, Outcome

_CODES = {name: code for code, name in enumerate(ERROR_CLASSES)}
_SAVE_EVERY_NS = 1_000_000_000
_MAX_TEXTS = 200
_FAILURES_WITHOUT_PAUSE = 4
_MIN_PAUSE_S, _MAX_PAUSE_S = 0.01, 1.0
_MIN_BACKOFF_S, _MAX_BACKOFF_S = 0.001, 0.1

"""The files that clients write beside their spools."""


@dataclass
class Settled:
    """How an operation with an error ended. ``end`` names the ``user.End`` that it brings, if any."""

    outcome: int
    retries: int
    error_class: int
    raw: Any = None
    end: str | None = None


class ErrorCounts:
    """The errors of one client process by class, code, text and operation, in a small file of its own."""

    def __init__(self, spools: Path, client: int, operations: Sequence[str]) -> None:
        self._path = ERROR_LINES.of(spools, client)
        self._operations = operations
        self._seen: dict[tuple[str, str, str, str], dict[str, int]] = {}
        self._saved_ns = 0

    def add(self, prepared: Prepared, error: TransactionError, retried: bool) -> None:
        """Count an error of an operation."""
        operation = self._operations[prepared.operation]
        self._count((error.error_class.value, error.code, error.text, operation), retried)

    def add_connecting(self, error: HdbkitError) -> None:
        """Count a failed attempt to connect; it belongs to no operation."""
        if words := login_refusal(error):
            self._count((LOGIN_REFUSED, "", words, CONNECTING), retried=True)
        else:
            self._count((ErrorClass.CONNECTION_LOST.value, "", str(error), CONNECTING), retried=True)

    def save(self) -> None:
        """Write the counts; a killed client loses at most a second's counts of texts, never of classes.

        So does one on a full disk: the record of the operation, which has its class, comes first.
        """
        if self._seen:
            self._saved_ns = time.monotonic_ns()
            names = ("error_class", "code", "text", "operation")
            rows = [dict(zip(names, key, strict=True)) | numbers for key, numbers in self._seen.items()]
            with suppress(OSError):
                replace_file(self._path, json.dumps(rows).encode())

    def _count(self, key: tuple[str, str, str, str], retried: bool) -> None:
        now = time.monotonic_ns()
        if key not in self._seen and len(self._seen) >= _MAX_TEXTS:
            key = (key[0], key[1], "(more texts)", key[3])
        known = self._seen.setdefault(key, {"count": 0, "retried": 0, "first_ns": now, "last_ns": now})
        known["count"] += 1
        known["retried"] += retried
        known["last_ns"] = now
        if known["count"] == 1 or now - self._saved_ns > _SAVE_EVERY_NS:
            self.save()


class Failures:
    """Settles the errors of one virtual user. ``last`` is the last error that was not retried."""

    def __init__(self, counts: ErrorCounts, load: Load, fields: memoryview) -> None:
        self._counts, self._load, self._fields = counts, load, fields
        self._in_a_row, self._failed_at = 0, -1
        self._random = random.Random()
        self.last: TransactionError | None = None

    def settle(self, prepared: Prepared, error: TransactionError) -> Settled:
        """Retry the operation if that can help; count every error."""
        retries = 0
        while (settled := self.given_up(prepared, error, retries)) is None:
            if retries:
                time.sleep(self._random.uniform(0.5, 1.5) * min(_MIN_BACKOFF_S * 2 ** (retries - 1), _MAX_BACKOFF_S))
            retries += 1
            try:
                raw = prepared.perform(prepared.bound)
            except RolledBackByDesign:
                return Settled(int(Outcome.ROLLED_BACK_BY_DESIGN), retries, 0)
            except TransactionError as next_error:
                error = next_error
            else:
                return Settled(int(Outcome.COMMITTED), retries, 0, raw)
        return settled

    def given_up(self, prepared: Prepared, error: TransactionError, retries: int) -> Settled | None:
        """Count an error after so many retries; None if the operation is to be retried."""
        again = self._may_retry(error, retries)
        self._counts.add(prepared, error, retried=again)
        return None if again else self._given_up(error, retries)

    def pause_s(self, number: int) -> float:
        """The pause after operation ``number`` failed: none after the first, then longer after each in a row."""
        self._in_a_row = self._in_a_row + 1 if number == self._failed_at + 1 else 1
        self._failed_at = number
        beyond = self._in_a_row - _FAILURES_WITHOUT_PAUSE
        return min(_MIN_PAUSE_S * 2 ** min(beyond, 10), _MAX_PAUSE_S) if beyond > 0 else 0.0

    def _may_retry(self, error: TransactionError, retries: int) -> bool:
        in_time = time.monotonic_ns() < self._fields[Field.STOP_AT_NS]
        return error.error_class in RETRIED and retries < self._load.max_retries and in_time

    def _given_up(self, error: TransactionError, retries: int) -> Settled:
        self.last = error
        end = "LOST" if error.lost else None
        if self._load.raise_error or (end and not self._load.reconnect):
            end = "RAISED"
        return Settled(int(Outcome.FAILED), retries, _CODES[error.error_class.value], end=end)
