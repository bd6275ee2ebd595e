"""The course of an experiment: its plan as decided so far, what its journal records, and who watches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from hdbkit.config.sweep_spec import AbortRules
from hdbkit.errors import ExperimentFailed, HdbkitError, InputError, ServerDown, disk_full, is_disk_full
from hdbkit.experiment.events import KINDS, EventKind, ExperimentEvent, Watcher
from hdbkit.experiment.kinds import kind_of
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.experiment.time_spent import time_spent_s, time_spent_text
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.experiment_runs import run_facts
from hdbkit.results.journal import GIVES_UP, SERVER_DOWN, Step
from hdbkit.results.manifest import Manifest, Status
from hdbkit.text import plural


@dataclass(frozen=True)
class Outcome:
    """The final step of a run, its reason, and the details of the journal's line."""

    step: Step
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def outcome(manifest: Manifest) -> Outcome | None:
    """The outcome of a run that finished or ended early by its own rules; None for any other end.

    The rules are those of the run's own plan, so that the outcome is the same if the run outlives its experiment.
    """
    early = manifest.ended_early if manifest.status is Status.STOPPED else ""
    if manifest.status is not Status.DONE and not early:
        return None
    if reason := rule_broken(manifest.plan.limits.abort, manifest):
        return Outcome(Step.RUN_FAILED, reason, {GIVES_UP: True})
    return Outcome(Step.RUN_ENDED_EARLY if early else Step.RUN_FINISHED, early, run_facts(manifest))


def rule_broken(rules: AbortRules, manifest: Manifest) -> str:
    """The abort rule that a finished run broke, as a sentence; empty if it broke none."""
    result = manifest.result
    if result is None:
        return ""
    failed, done = result.failed or 0, result.completed or 0
    if rules.failed_share is not None and failed > rules.failed_share * (failed + done):
        share = failed / (failed + done)
        return f"abort rule: {share:.2%} of its {plural(manifest.noun)} failed, more than {rules.failed_share:.2%}"
    line = result.operations.get(manifest.headline)
    times = line.response if line and manifest.is_open else line
    p95_us = None if times is None else times.p95_us
    if rules.latency_p95_ms is not None and p95_us is not None and p95_us > 1000 * rules.latency_p95_ms:
        limit = f"more than {rules.latency_p95_ms:g} ms"
        return f"abort rule: the 95 % quantile of {manifest.headline} was {p95_us / 1000:.1f} ms, {limit}"
    return ""


def given_up(plan: ExperimentPlan, folder: ExperimentFolder, planned: PlannedRun) -> str:
    """Why a run is skipped; empty if it is not.

    An earlier run of its configuration took the server down, or one with its user count too broke a rule.
    """
    for line in folder.journal.state.given_up:
        earlier, down = plan.runs[(line.number or 0) - 1], line.details.get(SERVER_DOWN)
        if earlier.configuration == planned.configuration and (
            down or earlier.virtual_users == planned.virtual_users
        ):
            what = "took the server down" if down else f"broke an {line.note}"
            return f"not run, since run {line.number} of the same configuration {what}"
    return ""


@dataclass
class Course:
    """The course of one experiment in the process that executes it: each step is recorded, then reported."""

    plan: ExperimentPlan
    folder: ExperimentFolder
    watch: Watcher

    def turn(self) -> Sequence[PlannedRun]:
        """The next runs, after what the results so far decide; several if at the same time, none at the end."""
        before = len(self.folder.journal.state.decisions)
        self.plan = kind_of(self.plan).following(self.plan, self.folder)
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

    def finished(self) -> None:
        """Record the end of the experiment, and how its time was spent."""
        spent_s = time_spent_s(self.folder)
        note = time_spent_text(spent_s)
        self.folder.append(Step.FINISHED, note=note, spent_s={what: round(time, 3) for what, time in spent_s.items()})
        self.report(EventKind.SPENT, note=note)

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
