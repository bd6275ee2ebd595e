"""Commands about profiles: do one once more, list them, and tell how one went over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.cli import show
from hdbkit.cli.exits import stopped_like_ctrl_c
from hdbkit.cli.options import with_fields
from hdbkit.cli.progress import RunLines
from hdbkit.cli.schema import AsJson, TargetArgument
from hdbkit.config import Load, WorkloadSpec, read_params
from hdbkit.config.quantities import counts_in

Name = Annotated[str, typer.Argument(help="the profile's name, one word")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog="Example: hdbkit profile nightly lab -u 1,2,4,8,16 --blocks 3 --duration-s 60")(profile)
    app.command(epilog="Example: hdbkit profiles")(profiles)
    app.command(epilog="Example: hdbkit history nightly --report")(history)


@with_fields(Load, "virtual_users")
@stopped_like_ctrl_c()
def profile(
    name: Name,
    target: TargetArgument,
    virtual_users: Annotated[str, typer.Option("--virtual-users", "-u", help="counts to run at")] = "1,2,4,8",
    blocks: Annotated[int, typer.Option(min=1, help="how often at each count")] = 1,
    params: Annotated[Path | None, typer.Option(help="a file with any of the options below")] = None,
    warehouses: Annotated[int | None, typer.Option(min=1, help="refuse a schema of another scale")] = None,
    as_json: AsJson = False,
    *,
    given: dict[str, Any],
) -> None:
    """Do the runs of a profile once more: one at each count of virtual users, in random order in each block."""
    values = read_params(params, Load).model_dump(exclude_unset=True) if params else {}
    load = Load(**{**values, **given})
    workload = WorkloadSpec(warehouses=warehouses) if warehouses else None
    with RunLines() as lines:
        watch = None if as_json else lines
        done = api.profile(
            name,
            target,
            workload,
            load,
            virtual_users=counts_in(virtual_users, "--virtual-users"),
            blocks=blocks,
            watch=watch,
        )
    if as_json:
        show.print_json({name: show.frame_json(getattr(done, name)) for name in ("levels", "scaling", "runs")})
        return
    show.console.print(show.table(done.levels, title=f"Profile {name}: {len(done.runs)} runs so far"))
    for sentence in done.scaling["sentence"]:
        show.console.print(sentence, markup=False)


def profiles(as_json: AsJson = False) -> None:
    """List the profiles: how many runs each has, at which counts of virtual users, since when."""
    found = api.profiles()
    if as_json:
        show.print_json(show.frame_json(found))
    else:
        show.console.print(show.table(found))


def history(
    name: Name,
    report: Annotated[bool, typer.Option("--report", help="write the one-page report besides")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell when the throughput of a profile changed: change points, and changes of its environment."""
    found = api.history(name)
    path = {"report": str(found.report())} if report else {}
    if as_json:
        head = {"profile": name, "answer": found.answer, "changes": found.changes}
        show.print_json(head | {"segments": show.frame_json(found.segments)} | path)
        return
    columns = ["virtual_users", "since", "runs", "metric_value", "ratio", "cause"]
    show.console.print(show.table(found.segments, title=f"Profile {name}: stretches that are alike", columns=columns))
    for sentence in [*found.changes, found.answer]:
        show.console.print(sentence, markup=False)
    if report:
        show.console.print(f"report: {path['report']}", markup=False)
