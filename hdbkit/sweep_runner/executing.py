"""The execution of a sweep: check, save the settings, prepare and execute each run, restore the settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.config.served import served_clusters, setting_problem
from hdbkit.contracts import ApplyBy, ServerControl
from hdbkit.errors import (
    AgentLost,
    ConfigErrors,
    DamagedResult,
    HdbkitError,
    InputError,
    NoneFree,
    Problem,
    ServerDown,
    ServerFailed,
    SweepFailed,
    innermost_reason,
    is_caused_by,
)
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import CAUSE, GIVES_UP, SERVER_DOWN, Step
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.sweep_folder import SweepFolder, only_sweep, sweep_folder
from hdbkit.results.unrestored import unrestored, unverified
from hdbkit.sweep_plan import PlannedRun, SweepPlan, extended, run_plan
from hdbkit.sweep_runner.data import keeps_data
from hdbkit.sweep_runner.deciding import decide
from hdbkit.sweep_runner.events import KINDS, EventKind, SweepEvent, Watcher, ignore_event
from hdbkit.sweep_runner.outcomes import given_up, outcome
from hdbkit.sweep_runner.preparing import prepare_run, too_few_connections, unprepared
from hdbkit.sweep_runner.searching import required_rate_for
from hdbkit.sweep_runner.settling import resumed_by, settings_now, settle, settle_earlier, undo_faults
from hdbkit.sweep_runner.slicing import switching

RunOne = Callable[[RunPlan], Manifest]
"""Executes one run to its end. Raises ``HdbkitError`` if it cannot, and ``KeyboardInterrupt`` on Ctrl-C."""


def start(
    plan: SweepPlan, root: Path, control: ServerControl, run_one: RunOne, watch: Watcher = ignore_event
) -> SweepFolder:
    """Execute a new sweep in the results folder ``root``.

    Failed runs are recorded as failed and the sweep continues.

    Raises:
        ConfigErrors: the server would reject values of the settings, all reported together; nothing was started.
        InputError: the sweep exists, another sweep is running on the server, data cannot be restored as requested,
            or a run with the baseline's settings cannot be started.
        ServerFailed: the settings could not be restored; the next sweep restores them.
        SweepFailed: all runs of the first block failed for the same reason, and ``resume`` repeats them; or the
            slices of the first finished run cannot be compared, and ``resume`` executes the other runs.
        ServerDown: the server does not answer, and could not be repaired; ``resume`` continues once it runs.
        KeyboardInterrupt: stopped; the settings are restored, ``resume`` continues.
    """
    folder = _new_folder(plan, root)
    with resumed_by(plan.sweep_id), _held(plan, root, control, watch):
        folder.write_plan(plan)
        _Execution(plan, folder, control, run_one, watch).execute()
    return folder


def prepare(plan: SweepPlan, root: Path, control: ServerControl) -> SweepFolder:
    """Write the plan of a new sweep to disk, for :func:`resume` to execute; the server is checked and not changed.

    Raises:
        ConfigErrors, InputError: as :func:`start`; nothing was written.
    """
    folder = _new_folder(plan, root)
    if not unrestored(root, control.identity):
        _check(plan, control)
    with only_sweep(root, control.identity):
        folder.write_plan(plan)
    return folder


def resume(
    folder: SweepFolder,
    control: ServerControl,
    run_one: RunOne,
    watch: Watcher = ignore_event,
    blocks: int | None = None,
    target: Target | None = None,
) -> SweepFolder:
    """Continue a sweep with its missing runs; arguments and errors are those of :func:`start`.

    Args:
        blocks: extend the sweep to this number of blocks; the planned runs stay unchanged.
        target: the same target, if its password is only in memory.
    """
    plan, state = folder.read_plan(SweepPlan), folder.journal.state
    if state.next_number > len(plan.runs) + 1:
        raise DamagedResult(f"the journal of {folder.sweep_id} has runs that its plan does not have")
    control.say = _waiting(watch, len(plan.runs))
    with resumed_by(folder.sweep_id):
        undo_faults(folder, target or plan.target, control.say)
        _start_same(folder, plan.target, target or plan.target, control)
    if target is not None:
        plan = plan.model_copy(update={"target": target})
    if blocks is not None and state.next_number > len(plan.runs):
        plan = decide(plan, folder)  # the look at its present end counts
    done = plan.runs[state.next_number - 2].block if state.next_number > 1 else 0
    longer = plan if blocks is None else extended(plan, blocks, done)
    with resumed_by(folder.sweep_id), _held(longer, folder.root, control, watch):
        if len(longer.runs) > len(plan.runs):
            folder.write_plan(longer)
            folder.append(Step.EXTENDED, blocks=longer.spec.blocks)
        _Execution(longer, folder, control, run_one, watch).execute()
    return folder


def take_over(folder: SweepFolder, target: Target, control: ServerControl) -> None:
    """Give a sweep this target, and make it this account's own.

    The commands and files of the target are used instead of those in its plan, and its snapshot is the one that is
    restored. Raises ``InputError`` if the sweep changed another server, or is being executed.
    """
    _check_same(folder, control)
    with only_sweep(folder.root, control.identity):
        command = folder.read_plan(SweepPlan).command if folder.is_own else ""
        folder.accept(folder.read_plan(SweepPlan).model_copy(update={"target": target, "command": command}))


def _start_same(folder: SweepFolder, planned: Target, given: Target, control: ServerControl) -> None:
    """Start or repair the server of a sweep. With another address, agent or file its identity is compared before."""
    if _place(planned) != _place(given):
        _check_same(folder, control)
    control.start((folder.read_before() or None) if folder.journal.state.changed else None)
    _check_same(folder, control)


def _check_same(folder: SweepFolder, control: ServerControl) -> None:
    known = folder.journal.state.identity
    if known not in (None, control.identity):
        raise InputError(f"{folder.sweep_id} was run on {known}, not on {control.identity}; resume it there")


def _place(target: Target) -> tuple[object, ...]:
    """Where the target finds its server and the server's settings."""
    control = target.control
    server = (target.kind, target.host, target.port, target.server_folder)
    return (*server, control.agent, control.config_file, control.drop_in)


def _new_folder(plan: SweepPlan, root: Path) -> SweepFolder:
    folder = sweep_folder(root, plan.sweep_id)
    if folder.planned:
        raise InputError(f"sweep {plan.sweep_id} already exists; run: hdbkit sweep --resume {plan.sweep_id}")
    return folder


def _check(plan: SweepPlan, control: ServerControl) -> None:
    """Report all errors before anything is changed."""
    settings = plan.spec.settings if plan.changes_server else {}
    problems = [Problem("settings", one) for one in control.problems(settings)] if settings else []
    if served_clusters() is not None:
        refused = [setting_problem(*one) for one in settings.items()]
        problems += [Problem("settings", one) for one in refused if one]
    problems += unprepared(plan, control)
    if settings and not problems:
        rejected = control.refused([plan.settings_in(one) for one in range(len(plan.configurations))])
        problems = [Problem("settings", one) for one in [*rejected, *too_few_connections(plan, control)]]
    if problems:
        raise ConfigErrors(f"the sweep '{plan.spec.name}'", problems)


def _changes(plan: SweepPlan) -> bool:
    """Whether the sweep may change the server; a sweep without settings needs no permission and changes nothing."""
    return plan.changes_server or plan.target.may_change_settings


def _waiting(watch: Watcher, total: int) -> Callable[[str], None]:
    return lambda note: watch(SweepEvent(EventKind.WAITING, total, note=note))


@contextmanager
def _held(plan: SweepPlan, root: Path, control: ServerControl, watch: Watcher) -> Iterator[None]:
    """Reserve the server for this sweep, with the settings from before any killed sweep restored.

    Errors are reported before anything is changed, unless a killed sweep must be settled first.
    """
    control.say = _waiting(watch, len(plan.runs))
    for earlier, reason in unverified(root, control.identity):
        control.say(f"{reason}; if {earlier.sweep_id} left settings on this server, they are not restored")
    if not unrestored(root, control.identity):
        _check(plan, control)
    with only_sweep(root, control.identity):
        settled = settle_earlier(root, control)
        for note in settled:
            watch(SweepEvent(EventKind.SETTLED, len(plan.runs), note=note))
        if settled:
            _check(plan, control)
        yield


@contextmanager
def _noted(folder: SweepFolder) -> Iterator[None]:
    """Record in the journal which process executes the sweep, and why it ended early.

    If the disk is full and the note cannot be written, the original error is still raised.
    """
    folder.note_started(os.getpid())
    try:
        yield
    except KeyboardInterrupt as stopped:
        with suppress(OSError):
            folder.append(Step.STOPPED, note=str(stopped))
        raise
    except Exception as error:
        known = isinstance(error, HdbkitError)
        note = _reason(error) if known else f"hdbkit itself failed ({type(error).__name__}: {error})"
        details: dict[str, Any] = {SERVER_DOWN: True} if isinstance(error, ServerDown) else {}
        with suppress(OSError):
            folder.append(Step.FAILED, note=note, **details)
        raise


def _reason(error: Exception) -> str:
    return error.reason if isinstance(error, SweepFailed | ServerDown) else str(error)


@dataclass
class _Execution:
    """The execution of one sweep."""

    plan: SweepPlan
    folder: SweepFolder
    control: ServerControl
    run_one: RunOne
    watch: Watcher

    def execute(self) -> None:
        self.control.say = self._waits
        if self._next() is not None:
            with _noted(self.folder):
                self._execute()
        if not self.folder.journal.state.finished:
            self.folder.append(Step.SWEEP_FINISHED)

    def _execute(self) -> None:
        try:
            self._save()
            while (planned := self._next()) is not None:
                self._one(planned)
                self._stop_if_all_failed(planned)
                self._stop_without_slices(planned)
        except KeyboardInterrupt:
            if self.folder.journal.state.changed:
                self._waits("the sweep stops; the server is restored to its state before the sweep")
            raise
        finally:
            if note := settle(self.folder, self.control):
                self._report(EventKind.RESTORED, note=note)

    def _waits(self, note: str) -> None:
        with suppress(OSError):
            self.folder.append(Step.NOTED, note=note)
        self._report(EventKind.WAITING, note=note)

    def _next(self) -> PlannedRun | None:
        """The next planned run, after the decisions of the finished blocks."""
        before = len(self.folder.journal.state.decisions)
        self.plan = decide(self.plan, self.folder)
        for line in self.folder.journal.state.decisions[before:]:
            if line.step in KINDS:
                self._report(KINDS[line.step], note=line.note)
        number = self.folder.journal.state.next_number
        return self.plan.runs[number - 1] if number <= len(self.plan.runs) else None

    def _save(self) -> None:
        """Save the server's settings, and its data if needed, before the first change."""
        found = settings_now(self.control, self.plan.spec.settings)
        before = self._snapshot() if _changes(self.plan) else {}
        self.folder.save_before(self.control.identity, before, found)
        if keeps_data(self.plan, self.control):
            took_s = self.control.keep_data()
            self.folder.append(Step.DATA_KEPT, took_s=took_s)
        self._report(EventKind.SAVED)

    def _snapshot(self) -> dict[str, Any]:
        """The server's settings; empty if the account may not read them and the sweep changes none of them."""
        try:
            return self.control.snapshot(list(self.plan.spec.settings))
        except ServerFailed as error:
            if self.plan.changes_server or isinstance(error, ServerDown):
                raise
            self.control.say(f"{error}; this sweep only sets what each session can set for itself")
            return {}

    def _one(self, planned: PlannedRun) -> None:
        """Execute one planned run; a failure is recorded and does not end the sweep."""
        if reason := given_up(self.plan, self.folder, planned):
            self._failed(planned, "", reason)
            return
        before = self.folder.read_before() or None
        with self._left_by_the_run_before(planned):
            self.control.start(before)
        if before is None or not self.control.can_restart:
            self._tried(planned)
        elif not self._tried(planned, repeats=True):
            with self._left_by_the_run_before(planned):
                self.control.restore(before)
            self._tried(planned)

    @contextmanager
    def _left_by_the_run_before(self, planned: PlannedRun) -> Iterator[None]:
        """A server that is down before a run has set anything: the settings of the run before do not run again.

        This holds for a run before that failed with settings that took effect by a restart; others prevent no start.
        """
        try:
            yield
        except ServerDown:
            begun = self.folder.journal.state.begun
            line = self.folder.journal.state.runs.get(planned.number - 1)
            if begun is None or line is None or line.step is not Step.RUN_FAILED or begun.number != line.number:
                raise
            restarted = begun.details.get("applied_by") == ApplyBy.RESTART.value
            if restarted and self.plan.runs[planned.number - 2].configuration:
                down = {**line.details, SERVER_DOWN: True, GIVES_UP: True}
                self.folder.append(line.step, line.number, line.run_id, line.note, **down)
            raise

    def _tried(self, planned: PlannedRun, *, repeats: bool = False) -> bool:
        """Execute a planned run and record its end.

        With ``repeats``, a run that failed because all connections of the server are in use, as with the settings of
        the run before, is not recorded; False: it is to be repeated with the original settings restored first.
        """
        run_id = ""
        try:
            self._report(EventKind.PREPARING, planned)
            prepared = prepare_run(self.plan, planned, self.control)
            required = required_rate_for(self.plan, self.folder, planned)
            plan = run_plan(self.plan, planned, datetime.now(UTC), prepared, required)
            run_id = plan.run_id
            self.folder.append(Step.RUN_STARTED, planned.number, run_id, **prepared)
            self._report(EventKind.STARTED, planned)
            with switching(plan, RunFolder(self.folder.root / run_id), self.control):
                manifest = self.run_one(plan)
        except AgentLost:
            raise
        except HdbkitError as error:
            cause = innermost_reason(error)
            if repeats and is_caused_by(error, NoneFree) and not isinstance(error, ServerDown):
                self._waits(
                    f"{cause}; the server's original settings are restored, and run {planned.number} repeated"
                )
                return False
            if isinstance(error, InputError) and planned.configuration == 0:
                raise
            if isinstance(error, ServerDown):
                down = {SERVER_DOWN: True, GIVES_UP: planned.configuration != 0}
                self._failed(planned, run_id, f"the server is down: {cause}", None, **down)
                raise
            self._failed(
                planned, run_id, str(error), None, **({CAUSE: cause} if cause not in ("", str(error)) else {})
            )
        else:
            self._ended(planned, manifest)
        return True

    def _ended(self, planned: PlannedRun, manifest: Manifest) -> None:
        if end := outcome(manifest):
            self.folder.append(end.step, planned.number, manifest.run_id, end.note, **end.details)
            self._report(KINDS[end.step], planned, manifest, end.note)
        elif manifest.status is Status.STOPPED:
            raise KeyboardInterrupt(f"{manifest.run_id} was stopped, which also stops the sweep")
        else:
            reason = next((event.note for event in reversed(manifest.history) if event.note), "")
            self._failed(planned, manifest.run_id, reason or f"it ended as {manifest.status.value}", manifest)

    def _failed(
        self, planned: PlannedRun, run_id: str, note: str, manifest: Manifest | None = None, **details: Any
    ) -> None:
        self.folder.append(Step.RUN_FAILED, planned.number, run_id, note, **details)
        self._report(EventKind.FAILED, planned, manifest, note)

    def _stop_if_all_failed(self, planned: PlannedRun) -> None:
        """End the sweep if all runs of its first block failed for the same reason; they are repeated on resume."""
        first = [one for one in self.plan.runs if one.block == self.plan.runs[0].block]
        if planned != first[-1] or len(first) < 2:
            return
        lines = [self.folder.journal.state.runs[one.number] for one in first]
        causes = {str(line.details.get(CAUSE, line.note)) for line in lines}
        if len(causes) > 1 or any(line.step is not Step.RUN_FAILED or line.details.get(GIVES_UP) for line in lines):
            return
        for line in lines:
            self.folder.append(
                Step.RUN_DISCARDED, line.number, line.run_id, "it is repeated when the sweep is resumed"
            )
        raise SweepFailed(
            self.folder.sweep_id,
            f"all {len(first)} runs of the first block failed for the same reason: {causes.pop()}; correct it, then "
            f"run: hdbkit sweep --resume {self.folder.sweep_id}",
        )

    def _stop_without_slices(self, planned: PlannedRun) -> None:
        """End a sweep by slices if those of its first finished run cannot be compared; ``resume`` continues it."""
        state = self.folder.journal.state
        line = state.runs[planned.number]
        first = line.step is Step.RUN_FINISHED and state.counts[Step.RUN_FINISHED] == 1
        if self.plan.slices is None or not first or planned.number == len(self.plan.runs):
            return
        result = RunFolder(self.folder.root / line.run_id).read().result
        if result and result.slices and (reason := result.slices.unusable):
            raise SweepFailed(
                self.folder.sweep_id,
                f"the slices of run {planned.number} cannot be compared: {reason}; the run is kept, and the other "
                f"runs are executed all the same by: hdbkit sweep --resume {self.folder.sweep_id}",
            )

    def _report(
        self, kind: EventKind, planned: PlannedRun | None = None, manifest: Manifest | None = None, note: str = ""
    ) -> None:
        described = self.plan.described(planned) if planned else ""
        self.watch(SweepEvent(kind, len(self.plan.runs), planned, manifest, note, described))
