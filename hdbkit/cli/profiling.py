"""Commands about profiles: repeat one, list them, and show the history of one."""

from __future__ import annotations

from typing import Annotated

import typer

from hdbkit import api
from hdbkit.analysis.wording import about
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.asked import Asked, experiment_options
from hdbkit.cli.options import Sectioned
from hdbkit.cli.schema import AsJson, TargetArgument
from hdbkit.config.quantities import counts_in

Name = Annotated[str, typer.Argument(help="the profile's name, one word")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(cls=Sectioned, epilog="Example: hdbkit profile nightly lab -u 1,2,4,8,16 --blocks 3 --duration-s 60")(
        profile
    )
    app.command(epilog="Example: hdbkit profiles")(profiles)
    app.command(epilog="Example: hdbkit history nightly --report")(history)


@experiment_options("virtual_users")
def profile(
    name: Name,
    target: TargetArgument,
    virtual_users: Annotated[str, typer.Option("--virtual-users", "-u", help="user counts to run at")] = "1,2,4,8",
    blocks: Annotated[int, typer.Option(min=1, help="runs at each user count")] = 1,
    *,
    asked: Asked,
) -> int:
    """Repeat the runs of a profile: one per block at each user count, in random order."""
    planned = api.plan_profile(
        name, target, asked.workload, asked.load, virtual_users=counts_in(virtual_users, "--virtual-users"),
        blocks=blocks, preparation=asked.preparation,
    )  # fmt: skip
    return asked.shown(planned)


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
