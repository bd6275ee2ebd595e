"""What is done when the database refuses a transaction: counted by class, tried again, or given up.

A deadlock or a serialization failure is tried again with the same inputs, at once, at most ``max_retries`` times;
each refusal is counted and kept with its text, also when a later try succeeds. Nothing is ever dropped.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdbkit.config import Load
from hdbkit.contracts import Prepared
from hdbkit.errors import RETRIED, ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.results.columns import ERROR_CLASSES, Outcome
from hdbkit.results.folder import replace_file

_CODES = {name: code for code, name in enumerate(ERROR_CLASSES)}
_SAVE_EVERY_NS = 1_000_000_000
_MOST_TEXTS = 200


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
        self, path: Path, load: Load, transactions: tuple[str, ...], words: memoryview, stop_word: int
    ) -> None:
        self._path, self._load, self._transactions = path, load, transactions
        self._words, self._stop_word = words, stop_word
        self._seen: dict[tuple[str, str, str, str], dict[str, int]] = {}
        self._saved_ns = 0
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

    def _note(self, prepared: Prepared, error: TransactionError, retried: bool) -> None:
        now = time.monotonic_ns()
        key = (error.error_class.value, error.code, error.text, self._transactions[prepared.transaction])
        if key not in self._seen and len(self._seen) >= _MOST_TEXTS:
            key = (key[0], key[1], "(more texts)", key[3])
        known = self._seen.setdefault(key, {"count": 0, "retried": 0, "first_ns": now, "last_ns": now})
        known["count"] += 1
        known["retried"] += retried
        known["last_ns"] = now
        if known["count"] == 1 or now - self._saved_ns > _SAVE_EVERY_NS:
            self.save()

    def save(self) -> None:
        """Write what is counted; a killed client loses at most a second's counts of texts, never of classes."""
        if self._seen:
            self._saved_ns = time.monotonic_ns()
            names = ("error_class", "code", "text", "transaction")
            rows = [dict(zip(names, key, strict=True)) | numbers for key, numbers in self._seen.items()]
            replace_file(self._path, json.dumps(rows).encode())
