"""The schema panel: how large, built with a bar and a way to stop, checked, and dropped after a question."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable
from threading import Event
from typing import Any, ClassVar

import ipywidgets
import pandas as pd

from hdbkit import api
from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.quantities import duration_text, size_text
from hdbkit.errors import BuildFailed, InputError
from hdbkit.widgets.parts.base import Panel, Shared
from hdbkit.widgets.parts.layout import LABELS, button, grid, html_table, row, target_code, warehouses

MARKS = {True: "pass", False: "FAIL", None: "unknown"}


class BuildWatch:
    """What a build last told (contract: ``BuildProgress``), and how that reads."""

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
        """So many rows are there; those that were there before this build do not count for its speed."""
        if self._first_rows is None:
            self._first_rows, self._begun_s = rows, self._clock()
        self.rows, self.total_rows, self.size_bytes = rows, total_rows, size_bytes

    @property
    def share(self) -> float:
        """How much of the rows is loaded, 0 to 1."""
        return min(1.0, self.rows / self.total_rows) if self.total_rows else 0.0

    def sentence(self) -> str:
        """The step; while rows are loaded, how many, how fast and how long still."""
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
    """Build, check and drop the schema of the workload in the shared target's database."""

    title: ClassVar[str] = "Schema"

    def __init__(self, shared: Shared | None = None) -> None:
        super().__init__(shared)
        self._stop = Event()
        self._make_fields()
        self._make_buttons()
        self.body.children = [
            self.there,
            grid(self.warehouses, self.loaders, self.seed, self.partitions, self.tablespace),
            self.estimate,
            row(self.build, self.cancel, self.check, self.drop),
            self.question,
            self.progress,
        ]
        self.show_below(self.checks)
        for field in (self.warehouses, self.loaders, self.seed, self.partitions, self.tablespace):
            field.observe(self.guarded(self._show_plan), "value")
        self.shared.observe(self.guarded(self._show_there), ["target", "schema"])
        self._show_there()

    def _make_fields(self) -> None:
        def number(name: str, value: int, least: int, most: int) -> ipywidgets.BoundedIntText:
            return ipywidgets.BoundedIntText(value, description=name, min=least, max=most, style=LABELS)

        self.there = ipywidgets.HTML().add_class("hdbkit-note")
        self.warehouses = number("Warehouses", 1, 1, 100_000)
        self.loaders = number("Loaders", os.cpu_count() or 1, 1, 1000)
        self.seed = number("Seed", 1, 0, 2**31 - 1)
        self.partitions = number("Partitions", 0, 0, 1000)
        self.tablespace = ipywidgets.Text(
            description="Tablespace", placeholder="the usual one", continuous_update=False, style=LABELS
        )
        self.loaders.tooltip = "processes that load at the same time"
        self.partitions.tooltip = "of the largest tables; 0 for none"
        self.estimate = ipywidgets.HTML().add_class("hdbkit-note")
        self.progress = ipywidgets.HTML().add_class("hdbkit-progress")
        self.checks = ipywidgets.HTML()

    def _make_buttons(self) -> None:
        self.build = button("Build", self.guarded(self._build), style="primary", hint="build it, or go on with it")
        self.cancel = button("Cancel", self.guarded(self._cancel), hint="what is loaded stays")
        self.check = button("Check", self.guarded(self._check), hint="row counts, indexes, routines, consistency")
        self.drop = button("Drop ...", self.guarded(self._ask), hint="asks first")
        self.cancel.disabled = True
        self.asked = ipywidgets.HTML()
        self.drop_it = button("Drop it", self.guarded(self._drop), style="danger")
        self.keep_it = button("Keep it", self.guarded(self._keep))
        self.question = ipywidgets.VBox([self.asked, row(self.drop_it, self.keep_it)]).add_class("hdbkit-ask")
        self.question.layout.display = "none"

    # -- what is shown ------------------------------------------------------------------------------------

    def spec(self) -> WorkloadSpec:
        """What the fields ask for. Raises ``ConfigErrors``."""
        return WorkloadSpec(
            warehouses=self.warehouses.value,
            seed=self.seed.value,
            partitions=self.partitions.value,
            tablespace=self.tablespace.value.strip() or None,
        )

    def _show_there(self) -> None:
        target, schema = self.shared.target, self.shared.schema
        if target is None:
            told = "No target is chosen yet."
        elif schema is None:
            told = f"In {target.url}: no schema that is known of yet."
        else:
            told = f"In {target.url}: a schema of {warehouses(schema)}."
        self.there.value = html.escape(told)
        self._show_plan()

    def _show_plan(self) -> None:
        """The estimate, and the call that builds."""
        spec, loaders = self.spec(), self.loaders.value
        expected = api.estimate(spec, loaders)
        self.estimate.value = (
            f"{expected.rows:,} rows, {size_text(expected.size_bytes)} as text, "
            f"about {duration_text(expected.duration_s)} with {loaders} loaders on a small server."
        )
        given = {name: value for name, value in spec.model_dump().items() if value != _DEFAULT[name]}
        asked = f"workload=hdbkit.WorkloadSpec({_arguments(given)})" if given.keys() - {"warehouses"} else ""
        self.show_call(
            f"import hdbkit\n\nconnection = hdbkit.connect({target_code(self.shared.target)})\n"
            f"connection.build({asked or f'warehouses={spec.warehouses}'}, loaders={loaders})"
        )

    def _show_progress(self, watch: BuildWatch) -> None:
        self.progress.value = (
            f'<progress max="1" value="{watch.share:.4f}"></progress> <span>{html.escape(watch.sentence())}</span>'
        )

    def _show_checks(self, found: pd.DataFrame) -> None:
        rows = [(MARKS[one["passed"]], one["name"], one["detail"]) for one in found.to_dict("records")]
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
                connection = api.connect(target)
                done = connection.build(workload=spec, loaders=loaders, progress=watch, stop=stop)
                self.shared.tell_schema(target, spec)
                self._show_checks(pd.DataFrame([vars(check) for check in done.checks]))
                self.say(f"built: {done.rows:,} rows in {duration_text(done.duration_s)}")
            except BuildFailed:
                if not stop.is_set():
                    raise
                self.say("stopped; what was loaded is kept, and Build goes on from there")
            finally:
                ticker.cancel()
                self.progress.value = ""

        self.cancel.disabled = False
        self._busy(f"building {warehouses(spec)} in {target.url} ...", work)

    def _cancel(self) -> None:
        self.say("stopping the loaders ...")
        self.cancel.disabled = True
        self._stop.set()

    def _check(self) -> None:
        target = self._target()

        def work() -> None:
            connection = api.connect(target)
            self.shared.tell_schema(target, connection.schema())
            self._show_checks(connection.check())
            self.say("")

        self._busy(f"checking the schema in {target.url} ...", work)

    def _ask(self) -> None:
        url = html.escape(self._target().url)
        self.asked.value = f"Drop the schema and all its data in <b>{url}</b>?"
        self.question.layout.display = ""

    def _keep(self) -> None:
        self.question.layout.display = "none"

    def _drop(self) -> None:
        self._keep()
        target = self._target()

        def work() -> None:
            dropped = api.connect(target).drop()
            self.shared.tell_schema(target, None)
            self.say(str(dropped))

        self._busy(f"dropping the schema in {target.url} ...", work)

    def _busy(self, sentence: str, work: Callable[[], None]) -> None:
        """Do it in the background, with the buttons off and the last result taken away meanwhile."""
        self.say(sentence)
        self.checks.value = ""
        self._keep()
        self._buttons_off(True)

        def done() -> None:
            try:
                work()
            except Exception:
                self.say("")
                raise
            finally:
                self._buttons_off(False)
                self.cancel.disabled = True

        self.in_background(done)

    def _buttons_off(self, off: bool) -> None:
        for one in (self.build, self.check, self.drop):
            one.disabled = off

    def _target(self) -> Target:
        target: Target | None = self.shared.target
        if target is None:
            raise InputError("no target is chosen; choose one in the panel Target, or set shared.target")
        return target


_DEFAULT: dict[str, Any] = WorkloadSpec().model_dump()


def _arguments(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items())
