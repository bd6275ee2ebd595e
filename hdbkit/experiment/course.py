"""The course of an experiment: its plan as decided so far, what its journal records, and who watches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from hdbkit.errors import ExperimentFailed, HdbkitError, InputError, ServerDown, disk_full, is_disk_full
from hdbkit.experiment.events import KINDS, EventKind, ExperimentEvent, Watcher
from hdbkit.experiment.outcomes import Outcome
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.experiment.sources import following
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.journal import SERVER_DOWN, Step
from hdbkit.results.manifest import Manifest


@dataclass
class Course:
    """The course of one experiment in the process that executes it: each step is recorded, then reported."""

    plan: ExperimentPlan
    folder: ExperimentFolder
    watch: Watcher

    def turn(self) -> Sequence[PlannedRun]:
        """The next runs, after what the results so far decide; several if at the same time, none at the end."""
        before = len(self.folder.journal.state.decisions)
        self.plan = following(self.plan, self.folder)
        for line in self.folder.journal.state.decisions[before:]:
            if line.step in KINDS:
                self.report(KINDS[line.step], note=line.note)
        number = self.folder.journal.state.next_number
        return self.plan.turn(self.plan.runs[number - 1]) if number <= len(self.plan.runs) else ()

    def report(
        self, kind: EventKind, planned: PlannedRun | None = None, manifest: Manifest | None = None, note: str = ""
    ) -> None:
        """Report a step to who watches."""
        described = self.plan.described(planned) if planned else ""
        self.watch(ExperimentEvent(kind, len(self.plan.runs), planned, manifest, note, described))

    def waits(self, note: str) -> None:
        """Record what it waits for; a full disk does not end it."""
        with suppress(OSError):
            self.folder.append(Step.NOTED, note=note)
        self.report(EventKind.WAITING, note=note)

    def ended(self, planned: PlannedRun, manifest: Manifest, end: Outcome) -> None:
        """Record the end of a run by its own rules."""
        self.folder.append(end.step, planned.number, manifest.run_id, end.note, **end.details)
        self.report(KINDS[end.step], planned, manifest, end.note)

    def failed(
        self, planned: PlannedRun, run_id: str, note: str, manifest: Manifest | None = None, **details: Any
    ) -> None:
        """Record that a run failed, which is a result."""
        self.folder.append(Step.RUN_FAILED, planned.number, run_id, note, **details)
        self.report(EventKind.FAILED, planned, manifest, note)

    def repeated(self, begun: Mapping[int, str], note: str) -> None:
        """Record that these runs, by their numbers, have no result and are repeated on resume."""
        for number, run_id in begun.items():
            self.folder.append(Step.RUN_DISCARDED, number, run_id, f"{note}; it is repeated on resume")

    def failure(self, reason: str) -> ExperimentFailed:
        """The error that ends it; ``resume`` continues it."""
        return ExperimentFailed(self.folder.experiment_id, f"{reason}: hdbkit resume {self.folder.experiment_id}")

    @contextmanager
    def resumed_after_full_disk(self) -> Iterator[None]:
        """Have the error of a full disk name the folder, and the experiment to resume."""
        try:
            yield
        except (OSError, InputError) as error:
            if not is_disk_full(error):
                raise
            raise self.disk_full() from error

    def disk_full(self) -> ExperimentFailed:
        """The error of a full disk of the results, or of a load host."""
        full = disk_full(self.folder.path)
        return self.failure(f"{full}; finished runs are kept; free space on it, then run")

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Record which process executes the experiment, and why it ended early.

        If the disk is full and the note cannot be written, the original error is still raised.
        """
        self.folder.note_started(os.getpid())
        try:
            with self.resumed_after_full_disk():
                yield
        except KeyboardInterrupt as stopped:
            with suppress(OSError):
                self.folder.append(Step.STOPPED, note=str(stopped))
            raise
        except Exception as error:
            known = isinstance(error, HdbkitError)
            note = _reason(error) if known else f"hdbkit itself failed ({type(error).__name__}: {error})"
            details: dict[str, Any] = {SERVER_DOWN: True} if isinstance(error, ServerDown) else {}
            with suppress(OSError):
                self.folder.append(Step.FAILED, note=note, **details)
            raise


def _reason(error: Exception) -> str:
    return error.reason if isinstance(error, ExperimentFailed | ServerDown) else str(error)
