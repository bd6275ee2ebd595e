"""The execution of an experiment: check, save the settings, prepare and execute each run, restore the settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from hdbkit.config import Target
from hdbkit.config.served import served_clusters, setting_problem
from hdbkit.contracts import ApplyBy, ServerControl
from hdbkit.errors import (
    AgentLost,
    CannotConnect,
    ConfigErrors,
    DamagedResult,
    ExperimentFailed,
    HdbkitError,
    InputError,
    NoneFree,
    Problem,
    ServerDown,
    ServerFailed,
    innermost_reason,
    is_caused_by,
)
from hdbkit.experiment.data import keeps_data
from hdbkit.experiment.events import KINDS, EventKind, ExperimentEvent, Watcher, ignore_event
from hdbkit.experiment.outcomes import given_up, outcome
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun, run_plan
from hdbkit.experiment.preparing import prepare_run, too_few_connections, unprepared
from hdbkit.experiment.servers import Controls, Servers
from hdbkit.experiment.settling import resumed_by, settings_now, settle, settle_earlier, undo_faults
from hdbkit.experiment.slicing import switching
from hdbkit.experiment.sources import following, read_plan, required_rate
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import CAUSE, ENDED_WITH_PROCESS, GIVES_UP, SERVER_DOWN, Step
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.unrestored import unrestored, unverified

RunOne = Callable[[RunPlan], Manifest]
"""Executes one run to its end. Raises ``HdbkitError`` if it cannot, and ``KeyboardInterrupt`` on Ctrl-C."""
RunTogether = Callable[[Sequence[RunPlan]], list[Manifest]]
"""Executes several runs at the same time, all to their end; errors as those of ``RunOne``."""


def start(
    plan: ExperimentPlan,
    root: Path,
    control: Controls,
    run_one: RunOne,
    watch: Watcher = ignore_event,
    *,
    run_together: RunTogether | None = None,
) -> ExperimentFolder:
    """Execute a new experiment in the results folder ``root``.

    Args:
        plan: the experiment.
        root: the folder of all results.
        control: gives the control of a target's server.
        run_one: executes a run.
        watch: called at each step.
        run_together: executes runs at the same time, for a plan that has such turns.

    Raises:
        ConfigErrors: the server would reject values of the settings, all reported together; nothing was started.
        InputError: the experiment exists, another one is running on a server, data cannot be restored as requested,
            or a run with the baseline's settings cannot be started.
        ServerFailed: settings could not be restored; the next experiment on the server restores them.
        ExperimentFailed: all runs of the first block failed for the same reason, or a run failed of which the others
            depend, and ``resume`` repeats them; or the slices of the first finished run cannot be compared, and
            ``resume`` executes the other runs.
        ServerDown: a server does not answer, and could not be repaired; ``resume`` continues once it runs.
        KeyboardInterrupt: stopped; the settings are restored, ``resume`` continues.
    """
    folder, servers = _new_folder(plan, root), Servers(plan.targets, control)
    with resumed_by(plan.experiment_id), _held(plan, root, servers, watch):
        folder.write_plan(plan)
        _Execution(plan, folder, servers, run_one, watch, run_together).execute()
    return folder


def prepare(plan: ExperimentPlan, root: Path, control: Controls) -> ExperimentFolder:
    """Write the plan of a new experiment to disk, for :func:`resume` to execute; servers are checked, not changed.

    Raises:
        ConfigErrors, InputError: as :func:`start`; nothing was written.
    """
    folder = _new_folder(plan, root)
    if plan.own_servers:
        folder.write_plan(plan)
        return folder
    servers = Servers(plan.targets, control)
    if not _unrestored(root, servers):
        _check(plan, servers)
    with servers.alone(root):
        folder.write_plan(plan)
    return folder


def resume(
    folder: ExperimentFolder,
    control: Controls,
    run_one: RunOne,
    watch: Watcher = ignore_event,
    blocks: int | None = None,
    targets: Sequence[Target] = (),
    *,
    run_together: RunTogether | None = None,
) -> ExperimentFolder:
    """Continue an experiment with its missing runs; arguments and errors are those of :func:`start`.

    Args:
        blocks: extend the experiment to this number of blocks; the planned runs stay unchanged.
        targets: the same targets in the order of the plan, such as with passwords that are only in memory.
    """
    plan, state = read_plan(folder), folder.journal.state
    if state.next_number > len(plan.runs) + 1:
        raise DamagedResult(f"the journal of {folder.experiment_id} has runs that its plan does not have")
    if state.executed_by not in (None, os.getpid()):
        raise InputError(
            f"{folder.experiment_id} is being executed; watch it with: hdbkit attach {folder.experiment_id}"
        )
    planned_at = plan.targets
    if targets:
        plan = plan.at(targets)
    if plan.own_servers:
        _forget_servers(folder)
    servers = Servers(plan.targets, control)
    servers.say_to(_waiting(watch, len(plan.runs)))
    with resumed_by(folder.experiment_id):
        for at, (target, one) in zip(planned_at, servers.each, strict=True) if not plan.own_servers else ():
            undo_faults(folder, lambda number: plan.cell(plan.runs[number - 1]).target, one.say)
            _start_same(folder, at, target, one, servers)
    if blocks is not None and state.next_number > len(plan.runs):
        plan = following(plan, folder)  # the look at its present end counts
    done = plan.runs[state.next_number - 2].block if state.next_number > 1 else 0
    longer = plan if blocks is None else plan.extended(blocks, done)
    with resumed_by(folder.experiment_id), _held(longer, folder.root, servers, watch):
        if len(longer.runs) > len(plan.runs):
            folder.write_plan(longer)
            folder.append(Step.EXTENDED, blocks=blocks)
        _Execution(longer, folder, servers, run_one, watch, run_together).execute()
    return folder


def take_over(folder: ExperimentFolder, targets: Sequence[Target], control: Controls) -> None:
    """Give an experiment these targets, and make it this account's own.

    The commands and files of the targets are used instead of those in its plan, and its snapshots are those that are
    restored. Raises ``InputError`` if it changed another server, or is being executed.
    """
    servers = Servers(targets, control)
    for identity in servers.by_identity:
        _check_same(folder, identity, servers)
    with servers.alone(folder.root):
        plan = read_plan(folder)
        command = plan.command if folder.is_own else ""
        folder.accept(plan.at(targets).model_copy(update={"command": command}))


def _start_same(
    folder: ExperimentFolder, planned: Target, given: Target, control: ServerControl, servers: Servers
) -> None:
    """Start or repair a server. With another address, agent or file its identity is compared before."""
    if _place(planned) != _place(given):
        _check_same(folder, control.identity, servers)
    identity = _noted_identity(folder, control, servers)
    changed = identity is not None and folder.journal.state.server(identity).changed
    control.start((folder.read_before(identity) or None) if identity and changed else None)
    _check_same(folder, control.identity, servers)


def _noted_identity(folder: ExperimentFolder, control: ServerControl, servers: Servers) -> str | None:
    """The identity of a server that may be down: that of the journal for the only server, else None if it is down."""
    known = list(folder.journal.state.servers)
    if len(servers.each) == len(known) == 1:
        return known[0]
    with suppress(ServerFailed, CannotConnect):
        return control.identity
    return None


def _forget_servers(folder: ExperimentFolder) -> None:
    """Note that the servers of the process that executed an experiment have ended with it, and their settings."""
    for identity, server in folder.journal.state.servers.items():
        if server.changed:
            folder.append(Step.SETTINGS_RESTORED, note=ENDED_WITH_PROCESS, identity=identity)
    folder.drop_before()


def _check_same(folder: ExperimentFolder, identity: str, servers: Servers) -> None:
    """Raise ``InputError`` for a server on which the experiment was not run."""
    known = folder.journal.state.servers
    if known and identity not in known and len(known) >= len(servers.by_identity):
        raise InputError(
            f"{folder.experiment_id} was run on {' and '.join(known)}, not on {identity}; resume it there"
        )


def _place(target: Target) -> tuple[object, ...]:
    """Where the target finds its server and the server's settings."""
    control = target.control
    server = (target.kind, target.host, target.port, target.server_folder)
    return (*server, control.agent, control.config_file, control.drop_in)


def _new_folder(plan: ExperimentPlan, root: Path) -> ExperimentFolder:
    folder = experiment_folder(root, plan.experiment_id)
    if folder.planned:
        raise InputError(f"experiment {plan.experiment_id} already exists; run: hdbkit resume {plan.experiment_id}")
    return folder


def _unrestored(root: Path, servers: Servers) -> bool:
    return any(unrestored(root, identity) for identity in servers.by_identity)


def _check(plan: ExperimentPlan, servers: Servers) -> None:
    """Report all errors before anything is changed."""
    settings = plan.tried if plan.changes_server else {}
    problems: list[Problem] = []
    if served_clusters() is not None:
        refused = [setting_problem(*one) for one in settings.items()]
        problems += [Problem("settings", one) for one in refused if one]
    for target, control in servers.each:
        found = [Problem("settings", one) for one in control.problems(settings)] if settings else []
        found += unprepared(plan, target, control)
        if settings and not found:
            rejected = control.refused([plan.settings_in(one) for one in range(len(plan.configurations))])
            short = too_few_connections(plan, target, control)
            found = [Problem("settings", one) for one in [*rejected, *short]]
        problems += found
    if problems:
        raise ConfigErrors(plan.title, list(dict.fromkeys(problems)))


def _waiting(watch: Watcher, total: int) -> Callable[[str], None]:
    return lambda note: watch(ExperimentEvent(EventKind.WAITING, total, note=note))


@contextmanager
def _held(plan: ExperimentPlan, root: Path, servers: Servers, watch: Watcher) -> Iterator[None]:
    """Reserve the servers for this experiment, with the settings from before any killed one restored.

    Errors are reported before anything is changed, unless a killed experiment must be settled first.
    """
    say = _waiting(watch, len(plan.runs))
    servers.say_to(say)
    for identity in servers.by_identity:
        for earlier, reason in unverified(root, identity):
            say(f"{reason}; if {earlier.experiment_id} left settings on this server, they are not restored")
    if not _unrestored(root, servers):
        _check(plan, servers)
    with servers.alone(root):
        settled = [note for each in servers.by_identity.values() for note in settle_earlier(root, *each)]
        for note in settled:
            watch(ExperimentEvent(EventKind.SETTLED, len(plan.runs), note=note))
        if settled:
            _check(plan, servers)
        yield


@contextmanager
def _noted(folder: ExperimentFolder) -> Iterator[None]:
    """Record in the journal which process executes the experiment, and why it ended early.

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
    return error.reason if isinstance(error, ExperimentFailed | ServerDown) else str(error)


def _why(manifest: Manifest) -> str:
    """Why a run has no result."""
    reason = next((event.note for event in reversed(manifest.history) if event.note), "")
    return reason or f"it ended as {manifest.status.value}"


@dataclass
class _Execution:
    """The execution of one experiment."""

    plan: ExperimentPlan
    folder: ExperimentFolder
    servers: Servers
    run_one: RunOne
    watch: Watcher
    run_together: RunTogether | None = None

    def execute(self) -> None:
        self.servers.say_to(self._waits)
        if self._next() is not None:
            with _noted(self.folder):
                self._execute()
        if not self.folder.journal.state.finished:
            self.folder.append(Step.FINISHED)

    def _execute(self) -> None:
        try:
            self._save()
            while (planned := self._next()) is not None:
                turn = self.plan.turn(planned)
                if len(turn) > 1:
                    self._together(turn)
                else:
                    self._one(planned)
                self._stop_if_all_failed(planned)
                self._stop_without_slices(planned)
        except KeyboardInterrupt:
            if self.folder.journal.state.changed:
                self._waits(
                    "the experiment stops; the server is restored to its state before it; to continue: hdbkit resume "
                    f"{self.folder.experiment_id}"
                )
            raise
        finally:
            if note := settle(self.folder, self.servers.by_identity):
                self._report(EventKind.RESTORED, note=note)

    def _waits(self, note: str) -> None:
        with suppress(OSError):
            self.folder.append(Step.NOTED, note=note)
        self._report(EventKind.WAITING, note=note)

    def _next(self) -> PlannedRun | None:
        """The next planned run, after what the results so far decide."""
        before = len(self.folder.journal.state.decisions)
        self.plan = following(self.plan, self.folder)
        for line in self.folder.journal.state.decisions[before:]:
            if line.step in KINDS:
                self._report(KINDS[line.step], note=line.note)
        number = self.folder.journal.state.next_number
        return self.plan.runs[number - 1] if number <= len(self.plan.runs) else None

    def _save(self) -> None:
        """Save each server's settings, and its data if needed, before the first change."""
        controls = self.servers.by_identity
        for target, control in self.servers.each:
            if control is not controls[control.identity][0]:
                continue
            found = settings_now(control, self.plan.tried)
            before = self._snapshot(control) if self.plan.changes(target) else {}
            self.folder.save_before(control.identity, before, found)
        for identity, each in controls.items():
            if keeps_data(self.plan, each[0]):
                took_s = sum(control.keep_data() for control in each)
                self.folder.append(Step.DATA_KEPT, took_s=took_s, identity=identity)
        self._report(EventKind.SAVED)

    def _snapshot(self, control: ServerControl) -> dict[str, Any]:
        """A server's settings; empty if the account may not read them and the experiment changes none of them."""
        try:
            return control.snapshot(list(self.plan.tried))
        except ServerFailed as error:
            if self.plan.changes_server or isinstance(error, ServerDown):
                raise
            control.say(f"{error}; this experiment only sets what each session can set for itself")
            return {}

    def _control(self, planned: PlannedRun) -> ServerControl:
        return self.servers.of(self.plan.cell(planned).target)

    def _one(self, planned: PlannedRun) -> None:
        """Execute one planned run."""
        if reason := given_up(self.plan, self.folder, planned):
            self._failed(planned, "", reason)
            return
        control = self._control(planned)
        before = self.folder.read_before(control.identity) or None
        with self._left_by_the_run_before(planned):
            control.start(before)
        if before is None or not control.can_restart:
            self._tried(planned)
        elif not self._tried(planned, repeats=True):
            with self._left_by_the_run_before(planned):
                control.restore(before)
            self._tried(planned)

    def _together(self, turn: Sequence[PlannedRun]) -> None:
        """Execute runs at the same time; where one of them has no result, all are repeated on resume."""
        assert self.run_together is not None
        begun: dict[int, RunPlan] = {}
        try:
            for planned in turn:
                control = self._control(planned)
                control.start(self.folder.read_before(control.identity) or None)
                self._report(EventKind.PREPARING, planned)
                prepared = prepare_run(self.plan, planned, control)
                begun[planned.number] = run_plan(self.plan, planned, datetime.now(UTC), prepared)
            for planned in turn:
                self.folder.append(Step.RUN_STARTED, planned.number, begun[planned.number].run_id)
                self._report(EventKind.STARTED, planned)
            manifests = self.run_together(list(begun.values()))
        except HdbkitError as error:
            self._repeated(turn[0], begun, str(error))
            raise
        ends = [outcome(manifest) for manifest in manifests]
        if missing := next((one for one, end in zip(manifests, ends, strict=True) if end is None), None):
            self._repeated(turn[0], begun, f"{missing.run_id} ended as {missing.status.value}")
            self._raise_ended(missing)
        for planned, manifest, end in zip(turn, manifests, ends, strict=True):
            assert end is not None
            self.folder.append(end.step, planned.number, manifest.run_id, end.note, **end.details)
            self._report(KINDS[end.step], planned, manifest, end.note)

    def _repeated(self, planned: PlannedRun, begun: Mapping[int, RunPlan], note: str) -> None:
        """Note that runs have no result and are repeated when the experiment is resumed."""
        for number, plan in begun.items():
            self.folder.append(Step.RUN_DISCARDED, number, plan.run_id, f"{note}; it is repeated on resume")
        self._report(EventKind.FAILED, planned, note=note)

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
        run_id, control = "", self._control(planned)
        try:
            self._report(EventKind.PREPARING, planned)
            prepared = prepare_run(self.plan, planned, control)
            required = required_rate(self.plan, self.folder, planned)
            plan = run_plan(self.plan, planned, datetime.now(UTC), prepared, required)
            run_id = plan.run_id
            self.folder.append(Step.RUN_STARTED, planned.number, run_id, **prepared)
            self._report(EventKind.STARTED, planned)
            with switching(plan, RunFolder(self.folder.root / run_id), control):
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
            if not self.plan.keeps_failures:
                self._discarded(planned, run_id, cause)
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
        elif manifest.status is Status.STOPPED or not self.plan.keeps_failures:
            if manifest.status is not Status.STOPPED:
                self._discarded(planned, manifest.run_id, _why(manifest), manifest)
            self._raise_ended(manifest)
        else:
            self._failed(planned, manifest.run_id, _why(manifest), manifest)

    def _raise_ended(self, manifest: Manifest) -> NoReturn:
        """Raise the error of a run that ended without a result."""
        if manifest.status is Status.STOPPED:
            raise KeyboardInterrupt(f"{manifest.run_id} was stopped, which also stops the experiment")
        raise ExperimentFailed(
            self.folder.experiment_id,
            f"run {manifest.run_id} failed: {_why(manifest)}; finished runs are kept; correct the cause, then run: "
            f"hdbkit resume {self.folder.experiment_id}",
        )

    def _discarded(self, planned: PlannedRun, run_id: str, note: str, manifest: Manifest | None = None) -> None:
        """Note that a run failed, ends the experiment, and is repeated when it is resumed."""
        if run_id:
            self.folder.append(Step.RUN_DISCARDED, planned.number, run_id, f"{note}; it is repeated on resume")
        self._report(EventKind.FAILED, planned, manifest, note)

    def _failed(
        self, planned: PlannedRun, run_id: str, note: str, manifest: Manifest | None = None, **details: Any
    ) -> None:
        self.folder.append(Step.RUN_FAILED, planned.number, run_id, note, **details)
        self._report(EventKind.FAILED, planned, manifest, note)

    def _stop_if_all_failed(self, planned: PlannedRun) -> None:
        """End the experiment if all runs of its first block failed for one reason; they are repeated on resume."""
        first = [one for one in self.plan.runs if one.block == self.plan.runs[0].block]
        if not self.plan.keeps_failures or planned != first[-1] or len(first) < 2:
            return
        lines = [self.folder.journal.state.runs[one.number] for one in first]
        causes = {str(line.details.get(CAUSE, line.note)) for line in lines}
        if len(causes) > 1 or any(line.step is not Step.RUN_FAILED or line.details.get(GIVES_UP) for line in lines):
            return
        for line in lines:
            self.folder.append(
                Step.RUN_DISCARDED, line.number, line.run_id, "it is repeated when the experiment is resumed"
            )
        raise ExperimentFailed(
            self.folder.experiment_id,
            f"all {len(first)} runs of the first block failed for the same reason: {causes.pop()}; correct it, then "
            f"run: hdbkit resume {self.folder.experiment_id}",
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
            raise ExperimentFailed(
                self.folder.experiment_id,
                f"the slices of run {planned.number} cannot be compared: {reason}; the run is kept, and the other "
                f"runs are executed all the same by: hdbkit resume {self.folder.experiment_id}",
            )

    def _report(
        self, kind: EventKind, planned: PlannedRun | None = None, manifest: Manifest | None = None, note: str = ""
    ) -> None:
        described = self.plan.described(planned) if planned else ""
        self.watch(ExperimentEvent(kind, len(self.plan.runs), planned, manifest, note, described))
