"""The schema panel: choose a workload and its scale; build, check and drop its schema."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from threading import Event
from typing import ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.api.connection import checks_frame
from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.workload_spec import identifies_schema, is_filled_in
from hdbkit.control_groups import limits
from hdbkit.databases import database
from hdbkit.errors import BuildFailed, InputError, SchemaProblem
from hdbkit.later import pandas as pd
from hdbkit.text import duration_text, size_text
from hdbkit.widgets.parts.base import Panel, Shared, State, call_code, first_lines, target_code
from hdbkit.widgets.parts.layout import Question, button, grid, html_table, row
from hdbkit.widgets.parts.model_form import MIN_WIDTH_PX, WIDE_LABELS, ModelForm
from hdbkit.widgets.parts.workload_choice import WorkloadChoice, schema_text, workload_code
from hdbkit.workloads import workload
from hdbkit.workloads.present import described_schema

_PASS_MARKS = {True: "pass", False: "FAIL", None: "unknown"}


class BuildWatch:
    """The progress of a build (contract: ``BuildProgress``), and its text."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun_s = clock()
        self._first_rows: int | None = None
        self.step = "connecting"
        self.rows = self.total_rows = self.size_bytes = 0

    def stage(self, stage: str) -> None:
        """A step begins."""
        self.step = str(stage)

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        """Rows are loaded; those of an earlier build do not count for the speed."""
        if self._first_rows is None:
            self._first_rows, self._begun_s = rows, self._clock()
        self.rows, self.total_rows, self.size_bytes = rows, total_rows, size_bytes

    def checking(self, what: str) -> None:
        """A statement of a check is sent."""
        self.step = f"checks: {what}"

    @property
    def share(self) -> float:
        """The share of the rows that is loaded, 0 to 1."""
        return min(1.0, self.rows / self.total_rows) if self.total_rows else 0.0

    def sentence(self) -> str:
        """The step; during the load, the number of rows, the speed and the time left."""
        if self.step != "load" or not self.total_rows:
            return self.step
        spent_s = max(self._clock() - self._begun_s, 1e-3)
        rate = (self.rows - (self._first_rows or 0)) / spent_s
        left = (
            f", about {duration_text((self.total_rows - self.rows) / rate)} left" if rate > 0 and spent_s > 1 else ""
        )
        return (
            f"{self.rows:,} of {self.total_rows:,} rows, {self.size_bytes / 1e6 / spent_s:,.0f} MB/s{left}"
            if rate > 0
            else f"{self.rows:,} of {self.total_rows:,} rows"
        )


class SchemaPanel(Panel):
    """Build, check and drop the schema of the chosen workload in the shared target's database."""

    title: ClassVar[str] = "Schema"

    def __init__(self, shared: Shared | None = None) -> None:
        super().__init__(shared)
        self._stop = Event()
        self.choice = WorkloadChoice(self.shared, self.guarded)
        self.form = ModelForm({})
        self.there, self.estimate = (ipywidgets.HTML().add_class("hdbkit-note") for _ in range(2))
        self.loaders = ipywidgets.BoundedIntText(
            limits().cores, description="Loaders", min=1, max=1000, style=WIDE_LABELS
        )
        self.loaders.tooltip = "number of loader processes"
        self.progress = ipywidgets.HTML().add_class("hdbkit-progress")
        self.checks = ipywidgets.HTML()
        self.fields = ipywidgets.VBox()
        self._make_buttons()
        self.body.children = [
            _no_target(self.shared, "SchemaPanel(Shared(target=...))"),
            self.there,
            self.choice.box,
            self.fields,
            self.estimate,
            row(self.build, self.cancel, self.check, self.drop, self.answers),
            self.question.box,
            self.progress,
        ]
        self.show_below(self.checks)
        self.loaders.observe(self.guarded(self._show_plan), "value")
        self.shared.observe(self.guarded(self._show_fields), ["target", "workload"])
        self.shared.observe(self.guarded(self._show_there), ["target", "schema"])
        self._show_fields()
        self._show_there()

    def _show_fields(self) -> None:
        """The fields of the workload's specification, and the storage options of the target's engine."""
        spec, target = self.choice.spec, self.shared.target
        own = {
            name: field
            for name, field in type(spec).model_fields.items()
            if name not in ("kind", "storage", "seed") and not identifies_schema(field) and not is_filled_in(field)
        }
        storage = database(target).schema_options.model_fields if target is not None else {}
        wanted = {**own, **storage, "seed": type(spec).model_fields["seed"]}
        if wanted.keys() != self.form.inputs.keys():
            self.form = ModelForm(wanted)
            self.form.observe(self.guarded(self._show_plan))
            self.fields.children = [grid(*self.form.inputs.values(), self.loaders, min_width_px=MIN_WIDTH_PX)]
        self.answers.layout.display = None if _has_reference(spec) else "none"
        self._show_plan()

    def _make_buttons(self) -> None:
        self.build = button("Build", self.guarded(self._build), style="primary", hint="build, or continue a build")
        self.cancel = button("Stop", self.guarded(self._cancel), hint="stop the build; loaded rows stay")
        self.check = button("Check", self.guarded(self._check), hint="row counts, indexes, routines, consistency")
        self.drop = button("Drop ...", self.guarded(self._ask), hint="asks for confirmation")
        self.cancel.disabled = True
        self.answers = ipywidgets.Checkbox(
            description="Check answers, too", indent=False, layout=ipywidgets.Layout(width="auto")
        )
        self.answers.tooltip = "compare the result of each operation with that of a reference"
        self.question = Question("Drop", self.guarded(self._drop), hint="drop nothing")

    # -- what is shown ------------------------------------------------------------------------------------

    def spec(self) -> WorkloadSpec:
        """The schema that the fields describe. Raises ``ConfigErrors``."""
        return self.choice.spec.identity.with_(**self.form.values)

    def _show_there(self) -> None:
        target, schema = self.shared.target, self.shared.schema
        if target is None:
            found = ""
        elif schema is None:
            found = f"{target.url}: no schema known yet."
        else:
            found = f"{target.url}: {schema_text(schema)}."
        self.there.value = html.escape(found)
        self._show_plan()

    def _show_plan(self) -> None:
        """The estimate, and the call that builds."""
        spec, loaders = self.spec(), self.loaders.value
        expected = api.estimate(spec, loaders)
        self.estimate.value = (
            f"{expected.rows:,} rows, {size_text(expected.size_bytes)} as text, "
            f"about {duration_text(expected.duration_s)} with {loaders} loaders on a small server."
        )
        named = workload_code(self.choice.spec)
        own = {name: value for name, value in spec.fields.items() if name in self.form.values}
        if spec.scale_field:
            own = {spec.scale_field: getattr(spec, spec.scale_field), **own}
        given = [*([named] if named else []), *(f"{name}={value!r}" for name, value in own.items())]
        target = target_code(self.shared.target, self.workspace)
        self.show_call(
            f"{first_lines(self.workspace)}connection = "
            f"{call_code(self.workspace, 'connect', target)}\n"
            f"connection.build({', '.join([*given, f'loaders={loaders}'])})"
        )

    def _show_progress(self, watch: BuildWatch) -> None:
        self.progress.value = (
            f'<progress max="1" value="{watch.share:.4f}"></progress> <span>{html.escape(watch.sentence())}</span>'
        )

    def _say_checking(self, what: str) -> None:
        self.say(f"checking: {what} ...", State.BUSY)

    def _show_checks(self, found: pd.DataFrame) -> None:
        rows = [(_PASS_MARKS[one["passed"]], one["name"], one["detail"]) for one in found.to_dict("records")]
        failed = sum(mark == "FAIL" for mark, *_ in rows)
        caption = f"{failed} of {len(rows)} checks failed" if failed else f"none of {len(rows)} checks failed"
        self.checks.value = html_table(["", "check", "found"], rows, caption) if rows else ""

    # -- what the buttons do ------------------------------------------------------------------------------

    def _build(self) -> None:
        target, spec, loaders = self._target(), self.spec(), self.loaders.value
        self._stop = stop = Event()
        watch = BuildWatch()
        ticker = self.every(0.5, lambda: self._show_progress(watch))

        def work() -> None:
            try:
                connection = self._connect(target)
                done = connection.build(workload=spec, loaders=loaders, progress=watch, stop=stop)
                self.shared.schema_found(target, spec)
                self._show_checks(checks_frame(done.checks))
                self.say(f"built: {done.rows:,} rows in {duration_text(done.duration_s)}", State.DONE)
            except BuildFailed:
                if not stop.is_set():
                    raise
                self.say("stopped; loaded rows are kept, and Build continues from there", State.STOPPED)
            finally:
                ticker.cancel()
                self.progress.value = ""

        self.cancel.disabled = False
        self._busy(f"building {schema_text(spec)} in {target.url} ...", work)

    def _cancel(self) -> None:
        self.say("stopping the loaders ...", State.BUSY)
        self.cancel.disabled = True
        self._stop.set()

    def _check(self) -> None:
        target, wanted = self._target(), self.choice.spec
        answers = self.answers.value and _has_reference(wanted)

        def work() -> None:
            connection = self._connect(target)
            self.shared.schema_found(target, connection.schema(wanted))
            found = connection.check(wanted, answers=answers, progress=self._say_checking)
            self.say("")
            self._show_checks(found)

        self._busy(f"checking the schema in {target.url} ...", work)

    def _ask(self) -> None:
        named = html.escape(described_schema(self._target(), self.choice.spec))
        self.question.ask(f"Drop {named} and all its data?")

    def _drop(self) -> None:
        target, wanted = self._target(), self.choice.spec

        def work() -> None:
            dropped = self._connect(target).drop(wanted)
            self.shared.schema_found(target, None)
            self.say(str(dropped))

        self._busy(f"dropping the schema in {target.url} ...", work)

    def _busy(self, sentence: str, work: Callable[[], None]) -> None:
        """Do the work in the background, with the buttons disabled and the last result cleared."""
        self.checks.value = ""
        self.question.hide()
        self._buttons_off(True)

        def done() -> None:
            try:
                work()
            finally:
                self._buttons_off(False)
                self.cancel.disabled = True

        self.busy_with(sentence, done)

    def _buttons_off(self, off: bool) -> None:
        for one in (self.build, self.check, self.drop):
            one.disabled = off

    def fail(self, error: BaseException, *, focus: bool = True) -> None:
        """Show an error; where its advice is a command that builds or drops, the button is meant here."""
        trace = error.__traceback__
        if isinstance(error, SchemaProblem):
            error = type(error)(error.reason, _with_buttons(error.advice)).with_traceback(trace)
        elif isinstance(error, BuildFailed):
            error = BuildFailed(error.step, error.reason, _with_buttons(error.advice)).with_traceback(trace)
        super().fail(error, focus=focus)

    def _connect(self, target: Target) -> api.Connection:
        return self.workspace.connect(target)

    def _target(self) -> Target:
        target: Target | None = self.shared.target
        if target is None:
            raise InputError("no target is chosen; choose one in the Target panel, or set shared.target")
        return target


def _with_buttons(advice: str) -> str:
    """Advice with the names of this panel's buttons in place of commands."""
    for command, label in (("build", "Build"), ("drop", "Drop")):
        whole = rf"hdbkit {command} .*?(?=, then|; |$)"
        advice = re.sub(rf"then: {whole}", f"then press {label}", re.sub(rf"run: {whole}", f"press {label}", advice))
    return advice


def _has_reference(spec: WorkloadSpec) -> bool:
    """Whether the answers of the workload's operations can be checked, at this scale or another."""
    try:
        return bool(workload(spec).answers(spec.seed))
    except InputError:
        return True


def _no_target(shared: Shared, argument: str) -> ipywidgets.Widget:
    """A note that hides itself once a target is chosen; ``argument`` is how the panel takes one in Python."""
    words = f"No target is chosen yet: choose one or start a private server in the panel Target, or pass {argument}."
    note = ipywidgets.HTML(html.escape(words)).add_class("hdbkit-empty")

    def show(_: object = None) -> None:
        note.layout.display = "none" if shared.target is not None else ""

    shared.observe(show, "target")
    show()
    return note
