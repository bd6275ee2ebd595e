"""The execution of an experiment: check, save the settings, execute turn by turn, restore the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.errors import CannotConnect, ConfigErrors, DamagedResult, InputError, Problem, ServerFailed
from hdbkit.experiment.course import Course
from hdbkit.experiment.events import EventKind, ExperimentEvent, Watcher, ignore_event
from hdbkit.experiment.kinds import kind_of, read_plan
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.experiment.preparing import too_few_connections, unprepared
from hdbkit.experiment.servers import Controls, Servers, save
from hdbkit.experiment.settling import resumed_by, settle, settle_earlier, undo_faults
from hdbkit.experiment.turns import RunOne, RunTogether, Turns
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import CAUSE, ENDED_WITH_PROCESS, GIVES_UP, Step
from hdbkit.results.unrestored import drop_restored, unrestored_experiments, unverified
from hdbkit.servers.permitted import unpermitted_here


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
        ServerFailed: settings could not be restored; the next experiment on the server restores them. Or a server of
            its own could not be built or started; ``resume`` tries again.
        ExperimentFailed: all runs of the first block failed for the same reason, or a run failed of which the others
            depend, and ``resume`` repeats them; or the slices of the first finished run cannot be compared, and
            ``resume`` executes the other runs; or the disk of the results is full.
        ServerDown: a server does not answer, and could not be repaired; ``resume`` continues once it runs.
        KeyboardInterrupt: stopped; the settings are restored, ``resume`` continues.
    """
    folder, servers = _new_folder(plan, root), _given(plan, control)
    with resumed_by(plan.experiment_id), _held(plan, root, servers, watch):
        folder.write_plan(plan)
        with folder.executing():
            _Execution(Course(plan, folder, watch), servers, control, run_one, run_together).execute()
    return folder


def prepare(plan: ExperimentPlan, root: Path, control: Controls) -> ExperimentFolder:
    """Write the plan of a new experiment to disk, for :func:`resume` to execute; servers are checked, not changed.

    Raises:
        ConfigErrors, InputError: as :func:`start`; nothing was written.
    """
    folder, servers = _new_folder(plan, root), _given(plan, control)
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
    with folder.executing(), resumed_by(folder.experiment_id):
        planned, state = read_plan(folder), folder.journal.state
        if state.next_number > len(planned.runs) + 1:
            raise DamagedResult(f"the journal of {folder.experiment_id} has runs that its plan does not have")
        plan = planned.at(targets) if targets else planned
        servers = _given(plan, control)
        servers.say_to(say := _waiting(watch, len(plan.runs)))
        if plan.own_servers:
            forget_servers(folder)
        else:
            undo_faults(folder, lambda number: plan.cell(plan.runs[number - 1]).target, say)
            start_same(folder, planned.targets, servers)
        plan, asked = _with_blocks(plan, folder, blocks)
        with _held(plan, folder.root, servers, watch):
            if asked:
                folder.append(Step.MORE_BLOCKS, blocks=asked)
                folder.write_plan(plan)
            _Execution(Course(plan, folder, watch), servers, control, run_one, run_together).execute()
    return folder


def take_over(folder: ExperimentFolder, targets: Sequence[Target], control: Controls) -> None:
    """Give an experiment these targets, and make it this account's own.

    The commands and files of the targets are used instead of those in its plan, and its snapshots are those that are
    restored. Raises ``InputError`` if it changed another server, or is being executed. A server that does not answer
    is compared when the experiment is resumed.
    """
    with folder.executing():
        _require_same_servers(folder, Servers(targets, control))
        plan = read_plan(folder)
        command = plan.command if folder.is_own else ""
        folder.accept(plan.at(targets).model_copy(update={"command": command}))


def _with_blocks(
    plan: ExperimentPlan, folder: ExperimentFolder, blocks: int | None
) -> tuple[ExperimentPlan, int | None]:
    """The plan with as many blocks as are asked for, and their number if that is more than it had.

    They are in the journal first: what a killed process was asked for is not forgotten.
    """
    state = folder.journal.state
    asked = blocks or state.asked_blocks
    if asked is None:
        return plan, None
    if state.next_number > len(plan.runs):
        plan = kind_of(plan).following(plan, folder)  # the look at its present end counts
    done = plan.runs[state.next_number - 2].block if state.next_number > 1 else 0
    longer = plan.extended(asked, done)
    return longer, None if longer == plan else asked


def _new_folder(plan: ExperimentPlan, root: Path) -> ExperimentFolder:
    folder = experiment_folder(root, plan.experiment_id)
    if folder.planned:
        raise InputError(f"experiment {plan.experiment_id} already exists; run: hdbkit resume {plan.experiment_id}")
    return folder


def _given(plan: ExperimentPlan, control: Controls) -> Servers:
    """The servers that are there before the experiment: none if it starts its own."""
    return Servers(() if plan.own_servers else plan.targets, control)


def _unrestored(root: Path, servers: Servers) -> bool:
    return any(unrestored_experiments(root, identity) for identity in servers.by_identity)


def check(plan: ExperimentPlan, control: Controls) -> None:
    """Report what :func:`start` would refuse; nothing is changed. Raises ``ConfigErrors``."""
    _check(plan, Servers(plan.targets, control))


def _check(plan: ExperimentPlan, servers: Servers) -> None:
    """Report all errors before anything is changed."""
    settings = plan.tried if plan.changes_server else {}
    problems: list[Problem] = []
    for target, control in servers.each:
        refused = unpermitted_here(target, plan.tried, control.settings)  # before the server's program tries them
        wrong = refused or (control.problems(settings) if settings else [])
        found = [Problem("settings", one) for one in wrong]
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
    drop_restored(root)
    for identity in servers.by_identity:
        for earlier, reason in unverified(root, identity):
            say(f"{reason}; if {earlier.experiment_id} left settings on this server, they are not restored")
    if not _unrestored(root, servers):
        _check(plan, servers)
    with servers.alone(root):
        settled = settle_earlier(root, servers)
        for note in settled:
            watch(ExperimentEvent(EventKind.SETTLED, len(plan.runs), note=note))
        if settled:
            _check(plan, servers)
        yield


@dataclass(frozen=True)
class _Execution:
    """The execution of one experiment, turn by turn."""

    course: Course
    given: Servers
    control: Controls
    run_one: RunOne
    run_together: RunTogether | None = None

    def execute(self) -> None:
        course = self.course
        with course.resumed_after_full_disk():
            continues = bool(course.turn())
            while continues:
                with course.noted(), resumed_by(course.folder.experiment_id), self._servers() as servers:
                    continues = self._execute(servers)
            if not course.folder.journal.state.finished:
                course.finished()

    @contextmanager
    def _servers(self) -> Iterator[Servers]:
        """The servers of the next runs. Those of the experiment's own start now, and end with the block."""
        course = self.course
        if not course.plan.own_servers:
            self.given.say_to(course.waits)
            yield self.given
            return
        with kind_of(course.plan).servers(course.plan, course.waits) as plan:
            course.plan, servers = plan, Servers(plan.targets, self.control)
            with _held(plan, course.folder.root, servers, course.watch):
                servers.say_to(course.waits)
                yield servers

    def _execute(self, servers: Servers) -> bool:
        """Execute turns to the end, or until the plan continues on other servers of its own; whether it does."""
        course = self.course
        turns, targets = Turns(course, servers, self.run_one, self.run_together), course.plan.targets
        try:
            save(course.plan, course.folder, servers)
            course.report(EventKind.SAVED)
            while (turn := course.turn()) and course.plan.targets == targets:
                turns.execute(turn)
                self._stop_if_all_failed(turn[-1])
                self._stop_without_slices(turn[-1])
            return bool(turn)
        except KeyboardInterrupt:
            if course.folder.journal.state.changed:
                course.waits(
                    "the experiment stops; the server is restored to its state before it; to continue: hdbkit resume "
                    f"{course.folder.experiment_id}"
                )
            raise
        finally:
            if note := settle(course.folder, servers.by_identity):
                course.report(EventKind.RESTORED, note=note)

    def _stop_if_all_failed(self, planned: PlannedRun) -> None:
        """End the experiment if all runs of its first block failed for one reason; they are repeated on resume."""
        plan, state = self.course.plan, self.course.folder.journal.state
        first = [one for one in plan.runs if one.block == plan.runs[0].block]
        if not plan.keeps_failures or planned != first[-1] or len(first) < 2:
            return
        lines = [state.runs[one.number] for one in first]
        causes = {str(line.details.get(CAUSE, line.note)) for line in lines}
        if len(causes) > 1 or any(line.step is not Step.RUN_FAILED or line.details.get(GIVES_UP) for line in lines):
            return
        self.course.repeated({one.number: state.runs[one.number].run_id for one in first}, "all runs failed")
        reason = f"all {len(first)} runs of the first block failed for the same reason: {causes.pop()}"
        raise self.course.failure(f"{reason}; correct it, then run")

    def _stop_without_slices(self, planned: PlannedRun) -> None:
        """End a sweep by slices if those of its first finished run cannot be compared; ``resume`` continues it."""
        plan, state = self.course.plan, self.course.folder.journal.state
        line = state.runs[planned.number]
        first = line.step is Step.RUN_FINISHED and state.counts[Step.RUN_FINISHED] == 1
        if plan.slices is None or not first or planned.number == len(plan.runs):
            return
        result = RunFolder(self.course.folder.root / line.run_id).read().result
        if result and result.slices and (reason := result.slices.unusable):
            raise self.course.failure(
                f"the slices of run {planned.number} cannot be compared: {reason}; the run is kept, and the other "
                "runs are executed all the same by"
            )


def start_same(folder: ExperimentFolder, planned: Sequence[Target], servers: Servers) -> None:
    """Start or repair the servers, with the settings that were saved of each that has not been restored.

    With another address, agent or file a server's identity is compared before. Raises ``InputError`` for a server on
    which the experiment was not run.
    """
    state = folder.journal.state
    for position, (before, (target, control)) in enumerate(zip(planned, servers.each, strict=True)):
        identity = state.identity_of(position)
        if _address(before) != _address(target):
            _require(folder, identity, control)
        changed = identity is not None and state.server(identity).changed
        control.start((folder.read_before(identity) or None) if identity and changed else None)
        _require(folder, identity, control)


def _require_same_servers(folder: ExperimentFolder, servers: Servers) -> None:
    """Raise ``InputError`` for a server on which the experiment was not run; one that does not answer may be it."""
    for position, (_, control) in enumerate(servers.each):
        with suppress(ServerFailed, CannotConnect):
            _require(folder, folder.journal.state.identity_of(position), control)


def forget_servers(folder: ExperimentFolder) -> None:
    """Note that the servers of the process that executed an experiment have ended with it, and their settings."""
    for identity, server in folder.journal.state.servers.items():
        if server.changed:
            folder.append(Step.SETTINGS_RESTORED, note=ENDED_WITH_PROCESS, identity=identity)
    folder.drop_before()


def _require(folder: ExperimentFolder, identity: str | None, control: ServerControl) -> None:
    if identity is not None and control.identity != identity:
        raise InputError(f"{folder.experiment_id} was run on {identity}, not on {control.identity}; resume it there")


def _address(target: Target) -> tuple[object, ...]:
    """Where the target finds its server and the server's settings."""
    control = target.control
    server = (target.kind, target.host, target.port, target.server_folder)
    return (*server, control.agent, control.config_file, control.drop_in)
