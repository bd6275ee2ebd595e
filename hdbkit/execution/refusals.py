"""What is done when the database refuses a transaction: counted by class, tried again, or given up.

A deadlock or a serialization failure is tried again with the same inputs, at once, at most ``max_retries`` times;
each refusal is counted and kept with its text, also when a later try succeeds. Nothing is ever dropped.
A client whose transactions fail one after the other rests between them: no core is burnt on a server in trouble.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdbkit.config import Load
from hdbkit.contracts import Prepared
from hdbkit.errors import RETRIED, ErrorClass, HdbkitError, RolledBackByDesign, TransactionError
from hdbkit.files import replace_file
from hdbkit.results.columns import ERROR_CLASSES, Outcome

_CODES = {name: code for code, name in enumerate(ERROR_CLASSES)}
_SAVE_EVERY_NS = 1_000_000_000
_MOST_TEXTS = 200
_PATIENT_FAILURES = 4
_FIRST_REST_S, _LONGEST_REST_S = 0.01, 1.0

CONNECTING = "(connecting)"
"""What stands for the transaction of a refusal that met a client while it connected anew."""


@dataclass
class Settled:
    """How a refused transaction ended. ``end`` names the :class:`~hdbkit.execution.user.End` it brings, if any."""

    outcome: int
    retries: int
    error_class: int
    raw: Any = None
    end: str | None = None


class Refusals:
    """The refusals of one client, kept in a small file of its own."""

    def __init__(
        self, path: Path, load: Load, operations: tuple[str, ...], words: memoryview, stop_word: int
    ) -> None:
        self._path, self._load, self._operations = path, load, operations
        self._words, self._stop_word = words, stop_word
        self._seen: dict[tuple[str, str, str, str], dict[str, int]] = {}
        self._saved_ns = 0
        self._in_a_row, self._failed_at = 0, -1
        self.last: TransactionError | None = None

    def settle(self, prepared: Prepared, error: TransactionError) -> Settled:
        """Try again where that may help; count every refusal."""
        retries = 0
        while True:
            again = self._may_retry(error, retries)
            self._note(prepared, error, retried=again)
            if not again:
                return self._given_up(error, retries)
            retries += 1
            try:
                raw = prepared.perform(prepared.bound)
            except RolledBackByDesign:
                return Settled(int(Outcome.ROLLED_BACK_BY_DESIGN), retries, 0)
            except TransactionError as next_error:
                error = next_error
            else:
                return Settled(int(Outcome.COMMITTED), retries, 0, raw)

    def _may_retry(self, error: TransactionError, retries: int) -> bool:
        in_time = time.monotonic_ns() < self._words[self._stop_word]
        return error.error_class in RETRIED and retries < self._load.max_retries and in_time

    def _given_up(self, error: TransactionError, retries: int) -> Settled:
        self.last = error
        end = "LOST" if error.error_class is ErrorClass.CONNECTION_LOST else None
        end = "RAISED" if self._load.raise_error else end
        return Settled(int(Outcome.FAILED), retries, _CODES[error.error_class.value], end=end)

    def note_no_connection(self, error: HdbkitError) -> None:
        """Count a connection that was refused after a lost one; it belongs to no transaction."""
        self._count((ErrorClass.CONNECTION_LOST.value, "", str(error), CONNECTING), retried=True)

    def rest(self, number: int) -> None:
        """Pause after transaction ``number`` failed, the longer the more failed in a row; the first few do not."""
        self._in_a_row = self._in_a_row + 1 if number == self._failed_at + 1 else 1
        self._failed_at = number
        beyond = self._in_a_row - _PATIENT_FAILURES
        if beyond > 0:
            left_s = (self._words[self._stop_word] - time.monotonic_ns()) / 1e9
            time.sleep(max(0.0, min(_FIRST_REST_S * 2 ** min(beyond, 10), _LONGEST_REST_S, left_s)))

    def _note(self, prepared: Prepared, error: TransactionError, retried: bool) -> None:
        operation = self._operations[prepared.operation]
        self._count((error.error_class.value, error.code, error.text, operation), retried)

    def _count(self, key: tuple[str, str, str, str], retried: bool) -> None:
        now = time.monotonic_ns()
        if key not in self._seen and len(self._seen) >= _MOST_TEXTS:
            key = (key[0], key[1], "(more texts)", key[3])
        known = self._seen.setdefault(key, {"count": 0, "retried": 0, "first_ns": now, "last_ns": now})
        known["count"] += 1
        known["retried"] += retried
        known["last_ns"] = now
        if known["count"] == 1 or now - self._saved_ns > _SAVE_EVERY_NS:
            self.save()

    def save(self) -> None:
        """Write what is counted; a killed client loses at most a second's counts of texts, never of classes.

        So does one on a full disk: the record of the transaction, which has its class, comes first.
        """
        if self._seen:
            self._saved_ns = time.monotonic_ns()
            names = ("error_class", "code", "text", "operation")
            rows = [dict(zip(names, key, strict=True)) | numbers for key, numbers in self._seen.items()]
            with suppress(OSError):
                replace_file(self._path, json.dumps(rows).encode())
