"""Tables, lines and JSON on the screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from hdbkit.analysis.run.bottleneck import bottleneck
from hdbkit.analysis.run.faults import effect_text
from hdbkit.analysis.wording import about
from hdbkit.cli.exits import Exit
from hdbkit.config import SweepSpec, spec_from
from hdbkit.config.metric import Measure
from hdbkit.config.sweep_spec import CompareBy, Strategy
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Finding, Of
from hdbkit.text import duration_text, many, number, plural, share, without_controls
from hdbkit.workloads import workload

if TYPE_CHECKING:
    from hdbkit.analysis.comparison.gate import Gate
    from hdbkit.analysis.comparison.plans import PlanPair
    from hdbkit.api import ExperimentResult, PlannedHosts, PlannedPower, Result, Shown
    from hdbkit.experiment.kinds.sweep.plan import SweepPlan
    from hdbkit.report.tables import Table as PageTable

_LATENCIES = ("operation", "count", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us")
_OF_STEP = {"step", "offered_per_s", "users", "completed_per_s", "failed"}
_MAX_EXECUTIONS = 200
_CONDITION = "schema: "
_UNKNOWN_HOSTS = (
    "the number of load hosts that these users need is unknown: no run of this target, workload and load is stored"
)
_PERHAPS_SLICES = (
    "if the account can set all settings in a session and a run holds ten cycles, each run has all configurations "
    "in turn (compare_by)"
)


class _Screen(Console):
    """A screen to which no text of a file sends commands, as to rename its window or to hide a line."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As Rich renders it, with a mark in place of each control character."""
        for one in super().render(renderable, options):
            yield one if one.control else one._replace(text=without_controls(one.text))


console = _Screen(highlight=False, soft_wrap=True, emoji=False)
notes = _Screen(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def print_json(content: Any) -> None:
    """One JSON document on standard output; NaN becomes null."""
    from hdbkit.api import documents

    console.file.write(documents.as_text(content))


def answer(as_json: bool, content: Any, *lines: str) -> None:
    """One JSON document, or these lines in its place."""
    if as_json:
        print_json(content)
    for line in () if as_json else lines:
        console.print(line, markup=False, soft_wrap=True)


def frame(found: pd.DataFrame, as_json: bool, **about: Any) -> None:
    """A frame as JSON, or as a :func:`table`."""
    from hdbkit.api import documents

    print_json(documents.of_frame(found)) if as_json else console.print(table(found, **about))


def table(
    frame: pd.DataFrame, title: str | None = None, columns: Sequence[str] | None = None, omit: Sequence[str] = ()
) -> Table:
    """A frame as a table for this screen: numbers to the right, units in the heads.

    Where it is too wide, heads and texts are broken between words; numbers and run ids stay whole. Where words do not
    fit either, columns of ``omit`` are left out, the first first; only then are words broken.
    """
    shown = frame[list(columns)] if columns else frame
    return _laid_out([_column(str(name), values) for name, values in shown.items()], title, omit)


def page_table(one: PageTable, without: Sequence[str] = ("in words",)) -> Table:
    """A table of a page for this screen, without these columns."""
    texts = list(zip(*one.rows, strict=True)) if one.rows else [() for _ in one.head]
    columns = [
        _Column(head, [text.replace("\n", "; ") for text in column], not numeric)
        for head, column, numeric in zip(one.head, texts, one.numeric, strict=True)
        if head not in without
    ]
    return _laid_out(columns, one.title)


def _laid_out(found: list[_Column], title: str | None, omit: Sequence[str] = ()) -> Table:
    omitted = []
    for name in omit:
        if sum(one.narrowest + _GAP for one in found) > console.width:
            found = [one for one in found if one.name != name]
            omitted.append(name)
    named = escape(title) if title else None  # a label of a run may be in it, and in a head
    made = Table(title=named, title_justify="left", header_style="bold", title_style="bold", box=box.SIMPLE_HEAD)
    made.pad_edge, made.padding = False, (0, 1, 0, 0)
    if omitted:
        made.caption, made.caption_justify = f"not shown here: {escape(', '.join(omitted))}; see --json", "left"
    for one in found:
        made.add_column(escape(one.head), justify="left" if one.is_text else "right", overflow="fold")
    for row in zip(*(one.texts for one in found), strict=True):
        made.add_row(*map(escape, row))
    if made.__rich_measure__(console, console.options).maximum > console.width:
        made.padding, made.show_edge = 0, False
        for column, width in zip(made.columns, _widths(found, console.width), strict=True):
            column.width = width
    return made


def markdown(frame: pd.DataFrame) -> str:
    """A frame as a table of a document."""
    rows = [[*map(str, frame.columns)], ["---"] * len(frame.columns), *frame.astype(str).to_numpy().tolist()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("<", "&lt;")


_GAP = 1
"""The space between two columns of a table that is as narrow as possible."""


@dataclass(frozen=True)
class _Column:
    """A column of a table as texts."""

    name: str
    texts: list[str]
    is_text: bool

    @property
    def head(self) -> str:
        return self.name.replace("_", " ")

    @property
    def narrowest(self) -> int:
        """The width in which no word is broken, and no number and no run id."""
        breaks = self.is_text and self.name != "run_id"
        return max(map(len, [*self.head.split(), *(word for text in self.texts for word in _parts(text, breaks))]))

    @property
    def widest(self) -> int:
        """The width in which nothing is broken."""
        return max(map(len, [self.head, *self.texts]))


def _column(name: str, values: pd.Series[Any]) -> _Column:
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return _Column(name, [cell(value) for value in values], not numeric)


def _parts(text: str, breaks: bool) -> list[str]:
    return text.split() if breaks else [text]


def _widths(columns: Sequence[_Column], width: int) -> list[int | None]:
    """The widths of columns in a table of this width; None: what is left."""
    spare = width - sum(one.narrowest + _GAP for one in columns)
    if spare < 0:
        return [None if one.is_text and one.name != "run_id" else one.narrowest for one in columns]
    widths = {one.name: one.narrowest for one in columns}
    for one in sorted(columns, key=lambda one: one.widest - one.narrowest):
        more = min(spare, one.widest - one.narrowest)
        widths[one.name] += more
        spare -= more
    return [widths[one.name] for one in columns]


def cell(value: object) -> str:
    """A value as text."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def checks(frame: pd.DataFrame) -> None:
    """One line per check: passed, failed or unknown, and why."""
    marks = {True: "[green]pass[/]", False: "[bold red]FAIL[/]"}
    for name, passed, detail in frame[["name", "passed", "detail"]].itertuples(index=False):
        mark = "[yellow]unknown[/]" if passed is None or pd.isna(passed) else marks[bool(passed)]
        console.print(f"  {mark}  {escape(str(name))}: {escape(str(detail))}")


def findings(frame: pd.DataFrame) -> None:
    """What ``doctor`` found of a target, the command to type under each."""
    styles = {"ok": "green", "warning": "yellow", "problem": "red"}
    for one in frame.to_dict("records"):
        console.print(
            f"  [{styles[one['state']]}]{one['state']:7}[/]  {escape(one['subject'])}: {escape(one['detail'])}"
        )
        if one["advice"]:
            console.print(f"           -> {one['advice']}", markup=False)
    counts = frame["state"].value_counts()
    words = [many(int(counts.get(state, 0)), state) for state in ("problem", "warning")]
    console.print(f"{' and '.join(words)}; {counts.get('ok', 0)} in order", markup=False)


def run(result: Result) -> None:
    """A run on the screen: its figures, latencies, errors and checks."""
    manifest = result.manifest
    by = f", measured by {manifest.measured_by}" if manifest.measured_by else ""
    failed = [check.name for check in manifest.checks if check.passed is False]
    unsound = f"  [bold red]not reliable, {many(len(failed), 'check')} failed: {escape(', '.join(failed))}[/]"
    console.print(f"[bold]{escape(result.run_id)}[/]  {manifest.status.value}{escape(by)}{unsound if failed else ''}")
    for event in manifest.history[-1:]:
        console.print(f"  {escape(event.note)}") if event.note else None
    if manifest.result:
        _summary(result)
    checks(_without_passed_conditions(result.checks, result.run_id))
    for warning in result.warnings:
        console.print(f"  [yellow]warning[/]: {escape(warning)}")
    console.print(f"  {escape(manifest.notice)}", style="dim")
    if manifest.command:
        console.print(f"  to repeat it: {manifest.command}", style="dim", markup=False, soft_wrap=True)


def _summary(result: Result) -> None:
    """The figures of a run, its latencies or executions, and its faults."""
    summary, manifest = result.summary, result.manifest
    value, metric = summary.metric_value, manifest.metric
    headline = cell(None) if value is None else metric.text(value)
    console.print(f"  {escape(about(metric))}: [bold]{escape(headline)}[/]")
    figures = {
        f"{plural(manifest.noun)}/s (all types)": summary.operations_per_s,
        "engine TPM": summary.engine_tpm,
        "window s": summary.window_s,
        "failed": summary.failed,
        "retries": summary.retries,
        f"client CPU us/{manifest.noun}": summary.client_cpu_us_per_operation,
        "with hdbkit's supervisor": summary.client_and_supervisor_cpu_us_per_operation,
        f"server CPU us/{manifest.noun}": summary.server_cpu_us_per_operation,
    }
    console.print("  " + "   ".join(f"{escape(name)} {cell(value)}" for name, value in figures.items()))
    if limit := bottleneck(manifest):
        console.print(f"  {limit}", markup=False)
    reasons = {metric.name: summary.metric_unknown, "server CPU": summary.server_cpu_unknown}
    for name, reason in filter(lambda item: item[1], reasons.items()):
        console.print(f"  {name} unknown: {reason}", markup=False)
    per = {name: value for name, value in summary.per_operation if value is not None}
    if per:
        listed = "   ".join(f"{name.replace('_', ' ')} {cell(value)}" for name, value in per.items())
        console.print(f"  per {manifest.noun}: {listed}")
    if manifest.one_by_one:
        _executions(result)
    else:
        steps(result)
        _latencies(result)
    for effect in summary.faults:
        console.print(f"  fault: {effect_text(effect, metric)}", markup=False)


def operation(number: int, one: Shown) -> None:
    """An operation that was performed by itself: what was sent, with its values, rows and times."""
    ended = f"{one.outcome.replace('_', ' ')}, {one.elapsed_ms:.2f} ms{': ' if one.error else ''}{one.error}"
    console.print(f"[bold]{number} {escape(one.operation)}[/]  {escape(ended)}")
    for sent in one.sent:
        values = ", ".join(f"{name} = {value}" for name, value in sent.arguments.items())
        took = f"  {sent.elapsed_ms:.2f} ms" if sent.elapsed_ms else ""
        console.print(f"  {sent.name}{took}  {values}".rstrip(), markup=False)
        for line in sent.text.splitlines():
            console.print(f"    {line}", markup=False, style="dim")
        for row in sent.rows:
            console.print(f"    -> {', '.join(map(str, row))}", markup=False)
        if sent.row_count > len(sent.rows):
            console.print(f"    -> the first {len(sent.rows)} of {sent.row_count:,} rows", markup=False)


def steps(result: Result) -> None:
    """What each step of the load offered and reached, with the times of the headline's operation."""
    manifest = result.manifest
    if not manifest.result or not (found := manifest.result.steps):
        return
    time = "response" if manifest.paced else "service"
    frame = pd.DataFrame([one.model_dump(include=_OF_STEP) | one.times(time).model_dump() for one in found])
    console.print(
        table(frame.dropna(axis="columns", how="all"), f"steps, with the {time} time of {manifest.headline}")
    )


def _latencies(result: Result) -> None:
    """The quantiles of each operation, and of response times where they differ from service times."""
    response, service = result.response_times.reset_index(), result.latencies.reset_index()
    if len(response):
        console.print(table(response, "response time (from the scheduled start)", columns=_LATENCIES))
    if len(service):
        console.print(table(service, "service time" if len(response) else None, columns=_LATENCIES))


def _executions(result: Result) -> None:
    """Every execution of a run's operations, the first ones where they are many."""
    found = result.executions()
    shown = found.head(_MAX_EXECUTIONS).dropna(axis="columns", how="all")
    console.print(table(shown, omit=[*reversed(result.manifest.details)]))
    if len(found) > _MAX_EXECUTIONS:
        counted = many(len(found), result.manifest.noun)
        console.print(f"  the first {_MAX_EXECUTIONS} of {counted}; all: hdbkit runs show {result.run_id} --json")


def plans(result: Result) -> None:
    """The plan of each query of a run, with its parameters."""
    slow = result.slow_plans
    if not result.plans and slow.empty:
        console.print(f"{result.run_id} has no plans of queries", markup=False)
    for row in slow.to_dict("records"):
        console.print(f"[bold]{row['operation']}[/]  {number(row['ms'])} ms at {row['t_us'] / 1e6:.1f} s of the run")
        console.print(f"{row['statement']}\n{row['plan']}", markup=False)
    for name, one in result.plans.items():
        given = ", ".join(f"{key} = {value}" for key, value in one.arguments.items())
        console.print(f"[bold]{escape(name)}[/]  {escape(given)}")
        console.print(one.text.rstrip(), markup=False)


def different_plans(pairs: Sequence[PlanPair], names: Sequence[str]) -> None:
    """The plans of both sides that differ, next to each other; ``>`` is between lines that differ."""
    for one in pairs:
        if one.alike:
            continue
        made = Table(title=escape(one.operation), title_justify="left", title_style="bold", box=None)
        for head in (names[0], "", names[1]):
            made.add_column(escape(head), overflow="fold")
        for (left, right), differs in zip(one.lines, one.differs, strict=True):
            made.add_row(escape(left), ">" if differs else "", escape(right))
        console.print(made)


def _without_passed_conditions(found: pd.DataFrame, run_id: str) -> pd.DataFrame:
    """The checks, with all conditions of the schema that hold as one line."""
    held = found["name"].str.startswith(_CONDITION) & (found["passed"] == True)  # noqa: E712
    if not held.any():
        return found
    detail = f"{held.sum()} conditions hold; see: hdbkit runs show {run_id} --json"
    one = {"name": "schema", "passed": True, "detail": detail}
    return pd.concat([found[~held], pd.DataFrame([one])])


def plan(planned: SweepPlan, power: PlannedPower | None, hosts: PlannedHosts | None) -> None:
    """Every run of a sweep in its order, the totals, what it can find, and the load hosts that it needs."""
    rebuilds = planned.rebuilds
    for one in planned.runs:
        rebuilt = "  (schema rebuilt)" if one.number in rebuilds else ""
        line = f"{one.number:4}  block {one.block}  {one.virtual_users} users  {planned.described(one)}{rebuilt}"
        console.print(line, markup=False)
    spec = planned.spec
    title = workload(spec.workload or spec_from({})).title
    each = planned.slices.described + "," if planned.slices else f"{planned.made_of} x"
    made_of = f"{each} {len(spec.virtual_users)} user counts"
    console.print(f"{len(planned.runs)} runs, {planned.time_text}, {title}: {made_of} x {spec.blocks} blocks")
    if spec.strategy is not Strategy.GRID:
        console.print(f"this is the first block; the search proposes {spec.asked} configurations per further block")
        if spec.end_early and planned.metric.measure is Measure.RATE:
            console.print("a run ends early once its 99.9 % interval is far below the three best so far")
    if note := _slices_note(planned):
        console.print(f"[dim]{note}[/]")
    for line in _ends(spec):
        console.print(line)
    for constraint, count in planned.dropped.items():
        console.print(f"{count} combinations are excluded by: {constraint}", markup=False)
    if rebuilds:
        console.print(
            f"the schema is rebuilt {len(rebuilds)} times; within a block, runs that share a schema "
            "follow each other, and the schemas are in random order"
        )
    for line in _known(planned, power, hosts):
        console.print(line, markup=False)


def _slices_note(planned: SweepPlan) -> str:
    """What is not known of the slices of a sweep before its server is asked."""
    from hdbkit.experiment.kinds.sweep.slicing import on_server_note, unsuitable

    spec = planned.spec
    if planned.slices:
        return escape(on_server_note(planned))
    by_runs = spec.compare_by is CompareBy.RUNS or unsuitable(spec, len(planned.configurations))
    return _PERHAPS_SLICES if spec.tried and not by_runs else ""


def _known(planned: SweepPlan, power: PlannedPower | None, hosts: PlannedHosts | None) -> Iterator[str]:
    """What recent results say of a planned sweep."""
    if power is not None:
        yield power.sentence
    if hosts is not None:
        yield hosts.sentence
    elif planned.spec.load.cluster:
        yield _UNKNOWN_HOSTS


def _ends(spec: SweepSpec) -> Iterator[str]:
    """When a sweep ends, if not after its blocks."""
    if spec.looks:
        looks = " or ".join(map(str, spec.looks[:-1]))
        dropped = "; a configuration that is decided is not run in later blocks" if spec.drop_decided else ""
        yield f"it ends after {looks} blocks if every verdict is decided by then{dropped}"
    if spec.until_decided:
        in_time = f", or before a block beyond {duration_text(spec.time_budget_s)}" if spec.time_budget_s else ""
        yield f"it ends after the block that decides every verdict{in_time}, and after {spec.blocks} blocks at most"
    if spec.winner_blocks:
        blocks = "further blocks of the three best configurations and the baseline"
        yield f"{spec.winner_blocks} {blocks} follow; they are not included in the totals above"


def finding(result: ExperimentResult, gate: Gate | None = None, *, everything: bool = False) -> None:
    """What an experiment found, on the screen: its ratios, the answer, the reasons to doubt it, and what to do."""
    from hdbkit.report.ratio_tables import detail_tables, effect_table, ratio_tables

    found, metric = result.finding, result.finding.metric
    named = f"{found.experiment_id}: " if found.experiment_id else ""
    console.print(f"{named}{found.question}", markup=False)
    for one in (*ratio_tables(found, in_rows=True), *effect_table(found), *detail_tables(found)):
        console.print(page_table(one)) if one.rows else None
    if not found.of(Of.METRIC):
        cells = result.cells.rename(columns={"metric_value": metric.heading})
        console.print(table(cells, title=f"{about(metric)}; 95 % intervals of each by itself"))
    listed, note = result.listing(everything=everything)
    if len(listed):
        console.print(table(listed, title=note or None))
    _scaling(found)
    if found.ratios:
        known = any(ratio.is_known for ratio in found.ratios)
        level = f"; intervals of {share(found.confidence)}, simultaneous" if known else ""
        console.print(f"{about(metric)}{level}", markup=False)
    console.print(found.answer, markup=False, style="bold")
    if gate:
        console.print(gate.sentence, markup=False, style="bold")
    prices, warnings = (f"{price.sentence}." for price in found.prices), (f"warning: {one}" for one in found.warnings)
    for line in (*prices, found.explanation, *warnings, *found.notes, found.advice):
        console.print(line, markup=False) if line else None
    for name, runs in found.checks_failed.items():
        if not any(name in warning for warning in found.warnings):
            console.print(f"check failed in {many(runs, 'run')}: {name}", markup=False)


def _scaling(found: Finding) -> None:
    """The Universal Scalability Law of each cell that has one."""
    if found.scaling:
        laws = pd.DataFrame([law.model_dump(exclude={"lack_of_fit", "sentence"}) for law in found.scaling])
        console.print(table(laws, title="Universal Scalability Law"))
        for law in found.scaling:
            console.print(f"{law.label}: {law.sentence}", markup=False)


def left_running(name: str, code: Exit, cancelled: str = "") -> Exit:
    """Say that what was watched continues; ``name`` is empty if a run has hardly started.

    A run whose checks were waiting for the server, which was ``cancelled`` there, has not.
    """
    if not name and cancelled:
        notes.print(f"hdbkit: stopped; {cancelled}; no run was started", markup=False, soft_wrap=True)
    elif not name:
        notes.print("detached; a run that has started continues, see: hdbkit runs list")
    else:
        ways = f"Watch it with: hdbkit attach {name}; stop it with: hdbkit stop {name}"
        notes.print(f"detached; {name} continues. {ways}", markup=False, soft_wrap=True)
    return code


def left_alone(experiment_id: str, as_json: bool) -> Exit:
    """Print the id of an experiment that was started in a process of its own."""
    answer(as_json, {"experiment_id": experiment_id}, experiment_id)
    return Exit.DONE
