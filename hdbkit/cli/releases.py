"""The command that builds commits of a server, and measures them in turn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.analysis.comparison.sides import DEFAULT_BLOCKS
from hdbkit.analysis.wording import about
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.options import Sectioned, load_options
from hdbkit.cli.preparing import CooldownS, Reset, preparation
from hdbkit.cli.progress import ExperimentLines, RunLines
from hdbkit.cli.schema import AsJson, WorkloadOption, with_schema
from hdbkit.config.quantities import counts_in
from hdbkit.config.specs import load_from, read_load
from hdbkit.errors import InputError
from hdbkit.workloads import specification

_EXAMPLE = "Example: hdbkit releases source v17 v18 -u 8 --blocks 8 --duration-s 60"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(cls=Sectioned, epilog=_EXAMPLE)(releases)


@load_options("virtual_users")
@with_schema
@stopped_like_ctrl_c()
def releases(
    checkout: Annotated[Path, typer.Argument(help="git checkout with the source of the server")],
    refs: Annotated[list[str], typer.Argument(help="tags, branches or commits; the first is the base")],
    bisect: Annotated[
        bool, typer.Option("--bisect", help="find the commit between two with which most of a slowdown came")
    ] = False,
    database: Annotated[str | None, typer.Option(help="kind of the server, as for demo")] = None,
    configure: Annotated[
        str, typer.Option(help="further arguments of the configure script, or of CMake, in one text")
    ] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--setting", help="setting of all servers, NAME=VALUE; repeatable")
    ] = None,
    blocks: Annotated[int, typer.Option(min=2, help="runs of each commit at each user count")] = DEFAULT_BLOCKS,
    max_blocks: Annotated[
        int | None, typer.Option(min=2, help="of a search where fewer do not decide [four times --blocks]")
    ] = None,
    virtual_users: Annotated[
        str | None, typer.Option("--virtual-users", "-u", help="user counts to run at, such as 1,4,16")
    ] = None,
    workload: WorkloadOption = None,
    params: Annotated[Path | None, typer.Option(help="YAML file with load options")] = None,
    reset: Reset = None,
    cooldown_s: CooldownS = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="start the comparison and return; see: hdbkit attach")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="also write the report of each comparison")] = False,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> int:
    """Build commits of a server from a git checkout, and compare them by runs in turn on private servers.

    A commit is built once and kept in the cache. The checkout is not changed.
    """
    values = read_load(params).given if params else {}
    asked: dict[str, Any] = {
        "database": database,
        "configure": shlex.split(configure),
        "blocks": blocks,
        "workload": specification(workload, **fields) if workload is not None or fields else None,
        "load": load_from({**values, **given}) if values or given else None,
        "virtual_users": counts_in(virtual_users, "--virtual-users") if virtual_users else (),
        "settings": dict(map(_setting, settings or [])),
        "preparation": preparation(reset, cooldown_s),
    }
    if detach:
        if bisect:
            raise InputError("--bisect is executed here; omit --detach")
        return show.left_alone(
            api.start_experiment(api.plan_releases(checkout, refs, **asked)).experiment_id, as_json
        )
    with RunLines() as lines:
        found = api.releases(
            checkout, refs, bisect=bisect, max_blocks=max_blocks, watch=ExperimentLines(),
            watch_run=None if as_json else lines, **asked,
        )  # fmt: skip
    show_releases(found, as_json, report=report)
    return Exit.DONE


def show_releases(found: api.Releases, as_json: bool, *, report: bool) -> None:
    """Show the comparisons of commits, and write their reports on request."""
    reports = found.report() if report else []
    if as_json:
        show.print_json(documents.of_releases(found, reports))
        return
    metric = found.comparisons[0].metric
    show.console.print(show.table(found.table.rename(columns={"metric": metric.heading})))
    for one, comparison in zip(found.others, found.comparisons, strict=True):
        show.console.print(f"{one}: {comparison.ratio.sentence}", markup=False)
    show.console.print(f"{about(metric)}; a ratio above 1 is better", markup=False)
    if found.search is not None:
        show.console.print(found.search.sentence, markup=False, style="bold")
    for path in reports:
        show.console.print(f"report: {path}", markup=False)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--setting must be NAME=VALUE, such as shared_buffers=1GB, not '{text}'")
    return name, value
