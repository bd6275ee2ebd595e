"""Commands about runs and experiments in processes of their own: attach, stop, resume, list; and their results."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.cli import completion, show
from hdbkit.cli.exits import Exit, Terminated, leaving_on_sigterm, stopped_like_ctrl_c
from hdbkit.cli.found import show_found, show_run
from hdbkit.cli.options import AnyId, AsJson, run_or_experiment
from hdbkit.cli.progress import ExperimentLines, RunLines
from hdbkit.errors import InputError
from hdbkit.later import pandas as pd
from hdbkit.results.manifest import Status


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog="Example: hdbkit attach last")(attach)
    app.command(epilog="Example: hdbkit stop last")(stop)
    app.command(epilog="Example: hdbkit resume last; hdbkit resume last --blocks 8")(resume)
    app.command(epilog="Example: hdbkit experiments")(experiments)


def attach(run_id: AnyId = "last", as_json: AsJson = False) -> int:
    """Watch a run or an experiment in progress. Ctrl-C detaches; the run or experiment continues."""
    running = _attached(run_id)
    name = running.experiment_id if isinstance(running, api.RunningExperiment) else running.run_id
    try:
        with RunLines() as lines, leaving_on_sigterm():
            if isinstance(running, api.RunningExperiment):
                return _show_end(running, running.wait(ExperimentLines(), None if as_json else lines), as_json)
            return show_run(running.wait(lines), as_json)
    except KeyboardInterrupt:
        return show.left_running(name, Exit.STOPPED)
    except Terminated:
        return show.left_running(name, Exit.TERMINATED)


def stop(
    run_id: AnyId = "last",
    at_once: Annotated[bool, typer.Option("--at-once", help="do not wait for the clients")] = False,
    as_json: AsJson = False,
) -> int:
    """Stop a run now and keep its result, or stop an experiment, which can be resumed."""
    running = _attached(run_id)
    if isinstance(running, api.RunningExperiment):
        if running.status.ended:
            raise InputError(f"experiment {running.experiment_id} has ended already ({running.status.value})")
        waits_for = running.stops_after
        running.stop()
        show.notes.print(
            f"stopping {running.experiment_id}: this waits for {waits_for}", markup=False, soft_wrap=True
        )
        try:
            found = running.wait(ExperimentLines(), only_new=True)
        except InputError as unfinished:  # it has no result yet
            show.notes.print(str(unfinished), markup=False, soft_wrap=True)
            return Exit.DONE
        return _show_end(running, found, as_json, if_stopped=Exit.DONE)
    status = running.status
    if status is Status.ABANDONED:
        raise InputError(f"run {running.run_id} has lost its supervisor; run: hdbkit recover {running.run_id}")
    if status.ended:
        raise InputError(f"run {running.run_id} has ended already ({status.value})")
    running.stop(at_once)
    return show_run(running.wait(), as_json, if_stopped=Exit.DONE)


@stopped_like_ctrl_c()
def resume(
    experiment_id: Annotated[
        str,
        typer.Argument(
            help="the id of an experiment, a unique part of it, or 'last'", autocompletion=completion.experiment_names
        ),
    ] = "last",
    target: Annotated[
        list[str] | None,
        typer.Option(help="its target, if not as planned; once for each target", autocompletion=completion.targets),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="also an experiment of another account; it is used as it is")
    ] = False,
    blocks: Annotated[int | None, typer.Option(min=1, help="number of blocks in total")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="continue it in a process of its own and return")] = False,
    as_json: AsJson = False,
) -> int:
    """Continue an experiment that was stopped, failed or was killed, or give it more blocks."""
    if accept and experiment_id == "last":
        raise InputError("name the experiment that you accept by its id, not by 'last'")
    if detach:
        running = api.start_experiment(experiment_id, target, accept=accept, blocks=blocks)
        return show.left_alone(running.experiment_id, as_json)
    with RunLines() as lines:
        watch_run = None if as_json else lines
        found = api.resume_experiment(
            experiment_id, target, accept=accept, blocks=blocks, watch=ExperimentLines(), watch_run=watch_run
        )
    return show_found(found, as_json)


def experiments(
    experiment_id: Annotated[
        str | None, typer.Argument(help="show this one", autocompletion=completion.experiment_names)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List sweeps, comparisons, profiles, searches and release tests, newest first, with their status."""
    if experiment_id is not None:
        shown = documents.of_experiment(api.attach_experiment(experiment_id)).model_dump(mode="json")
        facts = pd.DataFrame(list(shown.items()), columns=["fact", "value"])
        show.print_json(shown) if as_json else show.frame(facts, as_json)
        return
    show.frame(api.experiments(), as_json)


def _attached(wanted: str) -> api.Running | api.RunningExperiment[Any]:
    """The run or the experiment of this name; ``last`` is the experiment in progress, else the newest run."""
    running = api.running_experiments() if wanted == "last" else []
    return running[0] if running else run_or_experiment(wanted, api.attach, api.attach_experiment)


def _show_end(running: api.RunningExperiment[Any], found: Any, as_json: bool, if_stopped: Exit = Exit.STOPPED) -> int:
    """The result of an experiment in a process of its own; a stopped one is no failure."""
    code = show_found(found, as_json)
    return if_stopped if running.status is api.ExperimentStatus.STOPPED else code
