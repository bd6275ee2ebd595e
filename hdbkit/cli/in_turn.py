"""Commands that judge runs, and measure them in turn: compare, find-max, profile, releases; the options of all."""

from __future__ import annotations

import functools
import inspect
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.analysis.comparison.advice import DEFAULT_BLOCKS
from hdbkit.analysis.wording import about
from hdbkit.api import documents, max_rate
from hdbkit.api.compare import SLICED_BLOCKS
from hdbkit.cli import show
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.found import show_found
from hdbkit.cli.options import (
    AsJson,
    LoadFile,
    Sectioned,
    TargetArgument,
    UntilDecidedOption,
    UserCounts,
    WithinOption,
    WorkloadOption,
    load_options,
    with_schema,
)
from hdbkit.cli.progress import ExperimentLines, RunLines
from hdbkit.config import Load, Preparation, Reset, WorkloadSpec
from hdbkit.config.quantities import counts_in, seconds_in
from hdbkit.config.specs import load_from, read_load
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.comparison import MIN_SLICE_S, SLICE_S
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.workloads import specification

_COMPARE = (
    "Example: hdbkit compare BEFORE AFTER --fail-below -2%; "
    "hdbkit compare server-17 server-18 --run --blocks 8 -u 1,4,16 --rampup-s 30 --duration-s 60"
)
_FIND_MAX = "Example: hdbkit find-max lab --limit p95=20ms -u 50 --rampup-s 10 --duration-s 60"
_PROFILE = "Example: hdbkit profile nightly lab -u 1,2,4,8,16 --blocks 3 --duration-s 60"
_RELEASES = "Example: hdbkit releases source v17 v18 -u 8 --blocks 8 --duration-s 60"
_SIDE = "runs, separated by commas, or a label or profile; with --run also a target"
Name = Annotated[str, typer.Argument(help="the profile's name, one word")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(cls=Sectioned, epilog=_COMPARE)(compare)
    app.command("find-max", cls=Sectioned, epilog=_FIND_MAX)(find_max)
    app.command(cls=Sectioned, epilog=_PROFILE)(profile)
    app.command(epilog="Example: hdbkit profiles")(profiles)
    app.command(epilog="Example: hdbkit history nightly --report")(history)
    app.command(cls=Sectioned, epilog=_RELEASES)(releases)


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
    params: LoadFile = None,
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


@experiment_options("virtual_users")
def compare(
    base: Annotated[str, typer.Argument(help=_SIDE)],
    new: Annotated[str, typer.Argument(help=_SIDE)],
    run: Annotated[bool, typer.Option("--run", help="measure both sides in turn now, in one session")] = False,
    together: Annotated[
        bool, typer.Option("--together", help="with --run: both at the same time, on two servers; for a busy host")
    ] = False,
    slices: Annotated[
        bool,
        typer.Option("--slices", help="measure now: the load alternates between both servers, the quickest answer"),
    ] = False,
    slice_s: Annotated[
        float | None,
        typer.Option(min=MIN_SLICE_S, help=f"with --slices: length of a slice, in seconds [{SLICE_S:g}]"),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"with --run or --slices: runs of each side at each user count [{DEFAULT_BLOCKS}; {SLICED_BLOCKS}]",
        ),
    ] = None,
    until_decided: UntilDecidedOption = False,
    within: WithinOption = None,
    virtual_users: Annotated[
        str | None, typer.Option("--virtual-users", "-u", help="with --run: user counts to run at, such as 1,4,16")
    ] = None,
    label: Annotated[str | None, typer.Option(help="with --run: label of the runs")] = None,
    fail_below: Annotated[
        str | None,
        typer.Option(
            help="exit with 1 if the metric is certainly worse than this limit; "
            "-2%: 2 % less of a rate, 2 % more of a time"
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="also exit with 1 if that is undecided")] = False,
    report: Annotated[bool, typer.Option("--report", help="also write the one-page report")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="also list settings that only one side has, as two engines do")
    ] = False,
    plans: Annotated[
        bool, typer.Option("--plans", help="also show the plans of queries that differ, side by side")
    ] = False,
    *,
    asked: Asked,
) -> int:
    """Compare runs: the ratio of their results with its 95 % confidence interval, latencies, and what differs.

    With --run both sides are measured in turn first: those of the same session differ only by what is compared. With
    --slices clients are connected to both servers, and the load alternates between them second by second, which
    needs the least time. The options of load, schema and preparation need one of both.
    """
    limit = None if fail_below is None else _fraction(fail_below)
    counts = counts_in(virtual_users, "--virtual-users") if virtual_users else ()
    if slice_s is not None and not slices:
        raise InputError("--slice-s needs --slices")
    within_s = None if within is None else seconds_in(within, "--within")
    measured = {
        "together": together, "blocks": blocks, "until_decided": until_decided, "within_s": within_s,
        "virtual_users": counts, "label": label,
    }  # fmt: skip
    if not (run or slices) and (asked.measures or any(measured.values())):
        raise InputError(
            "--together, --blocks, --until-decided, --label, --detach and the options of load and schema need --run "
            "or --slices"
        )
    alternating = {"slices": True, "slice_s": slice_s or SLICE_S} if slices else {}
    found = _measured(base, new, asked, measured | alternating) if run or slices else api.compare(base, new)
    if found is None:  # it has started in a process of its own
        return Exit.DONE
    gate = None if limit is None else found.gate(limit)
    show_found(found, asked.as_json, report=report, gate=gate, everything=everything)
    if plans and not asked.as_json:
        show.different_plans(found.plans, found.names)
    elif any(not pair.alike for pair in found.plans) and not asked.as_json:
        show.console.print("see them with --plans", markup=False)
    return Exit.CHECK_FAILED if gate and gate.fails(strict) else Exit.DONE


def _measured(base: str, new: str, asked: Asked, how: Mapping[str, Any]) -> api.Comparison | None:
    """Measure both sides, in slices or as runs; None once that has started in a process of its own."""
    planned = api.plan_comparison(
        base, new, workload=asked.workload, load=asked.load, preparation=asked.preparation, **how
    )
    found = asked.executed(planned)
    assert found is None or isinstance(found, api.Comparison)
    return found


def _fraction(text: str) -> float:
    try:
        limit = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        limit = math.nan
    if not -1 < limit <= 0:
        raise InputError(
            f"--fail-below must be a change above -100% and at most 0%, such as -2% or -0.02, not '{text}'"
        )
    return limit


def _point_to_limit(given: float | None) -> None:
    """Raise ``InputError`` for an option that is easily taken for ``--limit``, before that is found missing."""
    if given is not None:
        raise InputError(
            "find-max measures all operations, so it has no --latency-limit-ms, which skips late ones; give the "
            "limit to search for as --limit, such as --limit p95=20ms"
        )


@experiment_options("latency_limit_ms")
def find_max(
    target: TargetArgument,
    limit: Annotated[str, typer.Option(help="limit on the response time, such as p95=20ms")],
    blocks: Annotated[int, typer.Option(min=2, help="runs at each rate around the limit")] = max_rate.SEARCH_BLOCKS,
    label: Annotated[str | None, typer.Option(help="label of the runs")] = None,
    *,
    _latency_limit_ms: Annotated[
        float | None, typer.Option("--latency-limit-ms", hidden=True, is_eager=True, callback=_point_to_limit)
    ] = None,
    asked: Asked,
) -> int:
    """Find the highest rate of an open loop that keeps a limit on the response time, with its confidence interval.

    Runs bracket and bisect the limit, then each block has a run at each rate around it, in random order.
    """
    planned = api.plan_max_rate(
        target, limit, asked.workload, asked.load, blocks=blocks, label=label, preparation=asked.preparation
    )
    return asked.shown(planned)


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
    show.frame(api.profiles(), as_json)


def history(
    name: Name,
    report: Annotated[bool, typer.Option("--report", help="also write the one-page report")] = False,
    as_json: AsJson = False,
) -> None:
    """Show when the results of a profile changed: change points and changes of the environment."""
    found = api.history(name)
    path = found.report() if report else None
    if as_json:
        show.print_json(documents.of_result(found, path))
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


@experiment_options("virtual_users")
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
    virtual_users: UserCounts = None,
    *,
    asked: Asked,
) -> int:
    """Build commits of a server from a git checkout, and compare them by runs in turn on private servers.

    A commit is built once and kept in the cache. The checkout is not changed.
    """
    planned = api.plan_releases(
        checkout,
        refs,
        database=database,
        configure=shlex.split(configure),
        blocks=blocks,
        workload=asked.workload,
        load=asked.load,
        virtual_users=counts_in(virtual_users, "--virtual-users") if virtual_users else (),
        settings=dict(map(_setting, settings or [])),
        preparation=asked.preparation,
    )
    return asked.shown(api.plan_slow_commit(planned, max_blocks=max_blocks) if bisect else planned)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--setting must be NAME=VALUE, such as shared_buffers=1GB, not '{text}'")
    return name, value
