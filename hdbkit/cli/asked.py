"""The options that all commands about experiments have, and how these execute what was planned."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.cli import show
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.found import show_found
from hdbkit.cli.options import load_options
from hdbkit.cli.progress import ExperimentLines, RunLines
from hdbkit.cli.schema import AsJson, WorkloadOption, with_schema
from hdbkit.config import Load, Preparation, Reset, WorkloadSpec
from hdbkit.config.specs import load_from, read_load
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.workloads import specification


@dataclass(frozen=True)
class Asked:
    """What these options ask for; None: by default."""

    workload: WorkloadSpec | None
    load: Load | None
    preparation: Preparation | None
    detach: bool
    as_json: bool

    @property
    def measures(self) -> bool:
        """Whether an option was given that only a measurement has."""
        return self.detach or any((self.workload, self.load, self.preparation))

    def executed(self, planned: ExperimentPlan) -> api.ExperimentResult | None:
        """Print what the experiment can find, and execute it; None once it has started in a process of its own."""
        if (power := api.planned_power(planned)) is not None:
            show.notes.print(power.sentence, markup=False)
        if self.detach:
            show.left_alone(api.start_experiment(planned).experiment_id, self.as_json)
            return None
        with stopped_like_ctrl_c(), RunLines() as lines:
            watch_run = None if self.as_json else lines
            return api.run_experiment(planned, watch=ExperimentLines(), watch_run=watch_run)

    def shown(self, planned: ExperimentPlan) -> int:
        """Execute an experiment and show its result; the exit code."""
        found = self.executed(planned)
        return Exit.DONE if found is None else show_found(found, self.as_json)


def experiment_options(*left_out: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of experiments, which it receives as ``asked``: load, schema, preparation, detach.

    ``left_out`` are options of the load that it does not have.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(**values: Any) -> Any:
            mine = {name: values.pop(name) for name in ours}
            return command(**values, asked=_asked(**mine))

        ours = inspect.signature(_asked, eval_str=True).parameters
        own = inspect.signature(command, eval_str=True)
        kept = [parameter for name, parameter in own.parameters.items() if name != "asked"]
        wrapped.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=sorted([*kept, *ours.values()], key=lambda one: one.kind)
        )
        return load_options(*left_out)(with_schema(wrapped))

    return decorate


def _asked(
    *,
    workload: WorkloadOption = None,
    params: Annotated[Path | None, typer.Option(help="YAML file with load options")] = None,
    reset: Annotated[Reset | None, typer.Option(help="reset of the data before each run [auto]")] = None,
    cooldown_s: Annotated[
        float | None, typer.Option(min=0, help="maximum cooldown before each run, in seconds [10 or the window]")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="start it and return; see: hdbkit attach")] = False,
    as_json: AsJson = False,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> Asked:
    values = {**(read_load(params).given if params else {}), **given}
    prepared = reset is not None or cooldown_s is not None
    return Asked(
        workload=specification(workload, **fields) if workload is not None or fields else None,
        load=load_from(values) if values else None,
        preparation=Preparation(reset=reset or Reset.AUTO, cooldown_s=cooldown_s) if prepared else None,
        detach=detach,
        as_json=as_json,
    )
