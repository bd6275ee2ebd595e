"""Commands about profiles: repeat one, list them, and show the history of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.analysis.wording import about
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.options import Sectioned, load_options
from hdbkit.cli.preparing import CooldownS, Reset, preparation
from hdbkit.cli.progress import ExperimentLines, RunLines
from hdbkit.cli.schema import AsJson, TargetArgument, WorkloadOption, with_schema
from hdbkit.config.quantities import counts_in
from hdbkit.config.specs import load_from, read_load
from hdbkit.workloads import specification

Name = Annotated[str, typer.Argument(help="the profile's name, one word")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(cls=Sectioned, epilog="Example: hdbkit profile nightly lab -u 1,2,4,8,16 --blocks 3 --duration-s 60")(
        profile
    )
    app.command(epilog="Example: hdbkit profiles")(profiles)
    app.command(epilog="Example: hdbkit history nightly --report")(history)


@load_options("virtual_users")
@with_schema
@stopped_like_ctrl_c()
def profile(
    name: Name,
    target: TargetArgument,
    workload: WorkloadOption = None,
    virtual_users: Annotated[str, typer.Option("--virtual-users", "-u", help="user counts to run at")] = "1,2,4,8",
    blocks: Annotated[int, typer.Option(min=1, help="runs at each user count")] = 1,
    params: Annotated[Path | None, typer.Option(help="YAML file with load options")] = None,
    reset: Reset = None,
    cooldown_s: CooldownS = None,
    detach: Annotated[bool, typer.Option("--detach", help="start the runs and return; see: hdbkit attach")] = False,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> int:
    """Repeat the runs of a profile: one per block at each user count, in random order."""
    values = read_load(params).given if params else {}
    load = load_from({**values, **given})
    spec = specification(workload, **fields)
    asked: dict[str, Any] = {
        "virtual_users": counts_in(virtual_users, "--virtual-users"),
        "blocks": blocks,
        "preparation": preparation(reset, cooldown_s),
    }
    if detach:
        planned = api.plan_profile(name, target, spec, load, **asked)
        return show.left_alone(api.start_experiment(planned).experiment_id, as_json)
    with RunLines() as lines:
        watch_run = None if as_json else lines
        done = api.profile(name, target, spec, load, watch=ExperimentLines(), watch_run=watch_run, **asked)
    show_profile(done, as_json)
    return Exit.DONE


def show_profile(done: api.Profile, as_json: bool) -> None:
    """Show a profile with all its runs."""
    if as_json:
        show.print_json(documents.of_profile(done))
        return
    figures = done.by_users.rename(columns={"metric_value": done.metric.heading})
    show.console.print(show.table(figures, title=f"Profile {done.name}: {len(done.runs)} runs, {about(done.metric)}"))
    for sentence in done.scaling["sentence"]:
        show.console.print(sentence, markup=False)


def profiles(as_json: AsJson = False) -> None:
    """List the profiles with their runs, user counts and first run."""
    found = api.profiles()
    if as_json:
        show.print_json(documents.of_frame(found))
    else:
        show.console.print(show.table(found))


def history(
    name: Name,
    report: Annotated[bool, typer.Option("--report", help="also write the one-page report")] = False,
    as_json: AsJson = False,
) -> None:
    """Show when the results of a profile changed: change points and changes of the environment."""
    found = api.history(name)
    path = found.report() if report else None
    if as_json:
        show.print_json(documents.of_history(found, path))
        return
    metric = found.metric
    columns = ["virtual_users", "since", "runs", metric.heading, "operations_per_s", "ratio", "cause"]
    title = f"Profile {name}: periods without a change, {about(metric)}; a ratio above 1 is better"
    named = found.segments.rename(columns={"metric_value": metric.heading})
    show.console.print(show.table(named, title=title, columns=columns))
    for sentence in [*found.changes, found.answer]:
        show.console.print(sentence, markup=False)
    if path:
        show.console.print(f"report: {path}", markup=False)
