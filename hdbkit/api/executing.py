"""Executes experiments of any source: in this process, or in one of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from hdbkit.api.running import OnRun, Running
from hdbkit.config import Target
from hdbkit.errors import HdbkitError, InputError
from hdbkit.execution.handle import OnPoll, execute, execute_together
from hdbkit.experiment import Watcher, resume, start, take_over
from hdbkit.experiment.events import ignore_event
from hdbkit.experiment.kinds import kind_of, read_plan
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.files import read_bytes
from hdbkit.plan import RunPlan
from hdbkit.programs import Process, waiting_program
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.manifest import Manifest
from hdbkit.servers import control
from hdbkit.servers.place import in_use
from hdbkit.text import many
from hdbkit.workspace import BareWorkspace

Verbs = TypeVar("Verbs", bound=BareWorkspace)
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
Planned = TypeVar("Planned", bound=ExperimentPlan)
Given = Target | str
"""A target as users give it."""
_started: list[Process] = []
"""The processes that this process has started and not yet waited for; prevents zombies and resource warnings."""
_ERRORS = "process.err"


def executed(
    workspace: BareWorkspace, planned: ExperimentPlan, watch: Watcher, watch_run: OnRun | None
) -> ExperimentFolder:
    """Execute a planned experiment in this process; errors are those of :func:`hdbkit.experiment.start`."""
    runs = _Runs(workspace, watch_run)
    return start(planned, workspace.results, control, runs.one, watch, run_together=runs.together)


_READERS: dict[type[ExperimentPlan], Callable[[Any, ExperimentFolder], Any]] = {}
"""What reads the result so far, by the class of the plan."""


def executing(
    plan: Callable[Concatenate[Verbs, _Arguments], Planned], of: type[Planned]
) -> Callable[[Callable[[Verbs, ExperimentFolder], _Result]], Callable[Concatenate[Verbs, _Arguments], _Result]]:
    """Make a verb of a method that reads the result so far: with the arguments of ``plan`` it plans, executes, reads.

    ``of`` is the class of its plans; :func:`result_so_far` then reads their results with this method.
    ``run_experiment`` executes the same plan and reports its steps; ``start_experiment`` does it in another process.
    """

    def verb_of(
        read: Callable[[Verbs, ExperimentFolder], _Result],
    ) -> Callable[Concatenate[Verbs, _Arguments], _Result]:
        @wraps(read)
        def verb(workspace: Verbs, /, *given: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
            return read(workspace, executed(workspace, plan(workspace, *given, **named), ignore_event, None))

        found = signature(read).return_annotation
        verb.__signature__ = signature(plan).replace(return_annotation=found)  # type: ignore[attr-defined]
        reading(of)(read)
        return verb

    return verb_of


def reading(of: type[ExperimentPlan]) -> Callable[[Callable[[Any, ExperimentFolder], _Result]], None]:
    """Read the results of these plans with a function of the workspace and the folder."""
    return lambda read: _READERS.update({of: read})


def result_so_far(workspace: BareWorkspace, folder: ExperimentFolder) -> Any:
    """The result of an experiment of any kind, from its finished runs. Raises ``InputError`` if there is none."""
    plan = read_plan(folder)
    return _READERS.get(type(plan), kind_of(plan).result)(workspace, folder)


def resumed(
    workspace: BareWorkspace,
    folder: ExperimentFolder,
    targets: Sequence[Target],
    blocks: int | None,
    watch: Watcher,
    watch_run: OnRun | None,
) -> ExperimentFolder:
    """Continue an experiment in this process; errors are those of :func:`hdbkit.experiment.resume`."""
    runs = _Runs(workspace, watch_run)
    return resume(folder, control, runs.one, watch, blocks, targets, run_together=runs.together)


def resumed_targets(
    folder: ExperimentFolder, given: Given | Sequence[Given] | None, accept: bool, workspace: BareWorkspace
) -> tuple[Target, ...]:
    """The targets with which an experiment is resumed: the named ones, else those of its plan.

    ``accept``: the experiment of another account becomes this account's own; the targets must be named then. Raises
    ``InputError`` if it is not accepted: its plan and its snapshots may run commands and write files of somebody
    else's choice.
    """
    named = [given] if isinstance(given, Target | str) else list(given or ())
    targets = tuple(map(workspace.target, named))
    planned = read_plan(folder).targets if targets or folder.is_own else ()
    if targets and len(set(targets)) != len(planned):
        raise InputError(f"{folder.experiment_id} has {many(len(planned), 'target')}, not {len(set(targets))}")
    if folder.is_own:
        return targets or planned
    if folder.is_stale_copy:
        raise InputError(
            f"{folder.path} is a copy of an experiment whose settings were restored since, so it is not continued; "
            "start a new one"
        )
    if read_plan(folder).builds_programs:
        raise InputError(
            f"this account did not write the files of {folder.experiment_id}, and the plan builds programs from a "
            "checkout and with options that are named in it, so it is not continued; start a new one"
        )
    if not targets or not accept:
        raise InputError(
            f"this account did not write the files of {folder.experiment_id}, so commands, addresses and settings in "
            "them are not used; if you trust them, name the target and accept them: "
            f"hdbkit resume {folder.experiment_id} --target TARGET --accept"
        )
    take_over(folder, targets, control)
    return targets


class _Runs:
    """Executes the runs of an experiment."""

    def __init__(self, workspace: BareWorkspace, watch: OnRun | None) -> None:
        self._root = workspace.results
        self._watch: OnPoll | None = watch and (lambda handle: watch(Running(handle, workspace)))

    def one(self, planned: RunPlan) -> Manifest:
        return execute(planned, self._root, self._watch)

    def together(self, planned: Sequence[RunPlan]) -> list[Manifest]:
        return execute_together(planned, self._root, self._watch)


def launch(folder: ExperimentFolder, targets: Sequence[Target], blocks: int | None = None) -> Process:
    """Start the process that executes the missing runs of an experiment.

    The starter writes the process id to the journal before the process does anything, so that a running experiment
    always has a known process. Passwords are passed through its standard input, which also is the signal to start.
    """
    secrets = {target.url: secret for target in targets if (secret := target.secret())}
    errors = folder.path / _ERRORS
    with ExitStack() as used:
        waiting = waiting_program(
            "hdbkit.api.experiment_process",
            str(folder.path),
            *([str(blocks)] if blocks else []),
            errors=errors,
            pass_fds=[one for target in targets for one in used.enter_context(in_use(target.server_folder))],
        )
        try:
            with waiting as process:  # one that the journal does not name must not start
                assert process.stdin is not None
                folder.note_started(process.pid)
                process.stdin.write(json.dumps(secrets).encode())
                process.stdin.flush()
        except BrokenPipeError:
            said = read_bytes(errors).decode(errors="replace").strip().rpartition("\n")[2]
            raise HdbkitError(
                f"the process of {folder.experiment_id} ended before it began ({said or 'it printed nothing'}); "
                f"correct the cause, then run: hdbkit resume {folder.experiment_id}"
            ) from None
    _started[:] = [one for one in _started if one.poll() is None] + [process]
    return process
