"""The panel of runs: the list, from which two are ticked and compared; runs are tagged, annotated and deleted."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import anywidget
import ipywidgets
import traitlets

from hdbkit import api
from hdbkit.analysis.run.courses import outline
from hdbkit.api.run_list import RunList
from hdbkit.charts.style import palette_css
from hdbkit.errors import DamagedResult, InputError
from hdbkit.in_notebook import alone, background
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.report.run_list import BASELINE
from hdbkit.results.differences import short_names
from hdbkit.results.folder import RunFolder, manifest_times
from hdbkit.results.manifest import Status
from hdbkit.text import many
from hdbkit.widgets.parts.base import STATIC, Panel, Shared, State, call_code, first_lines
from hdbkit.widgets.parts.layout import FileLink, Question, button, html_table, row

_FIRST = ("name", "metric_value", "p95_ms", "checks", "course", "started")
_LAST = ("tags", "note")
"""The columns that are shown first, and those that are last where a run has some; between them those that differ."""
_TITLES = {
    **{"name": "run", "metric_value": "result", "p95_ms": "p95 (ms)", "virtual_users": "users", "version": "server"},
    **{"checks": "checks", "course": "course", "started": "started", "experiment_id": "experiment"},
}
_BESIDE = ("version", "virtual_users")
_GROUPINGS = ("name", "experiment_id", "configuration", "profile", "label", "workload", "database", "virtual_users")
_BARS = ("metric_value",)
_REFRESH_S = 4.0
_EMPTY = "There are no runs yet. Start one in the panel Run, or with <code>hdbkit run TARGET</code>."
_NAMED = 10
"""Runs whose ids a question lists."""


class RunsPanel(Panel):
    """All runs of the results folder; refreshed when a run of these panels ends."""

    title: ClassVar[str] = "Runs"

    def __init__(self, shared: Shared | None = None) -> None:
        super().__init__(shared)
        self.runs = RunList()
        self._names: dict[str, str] = {}
        self.table = RunTable(lambda run_id: outline(RunFolder(self.workspace.results / run_id)))
        self.empty = ipywidgets.HTML(_EMPTY).add_class("hdbkit-empty")
        self.text = ipywidgets.Text(placeholder="tags, or a note", layout=ipywidgets.Layout(width="220px"))
        self.report, self.csv = FileLink(), FileLink()
        self.about = ipywidgets.HTML().add_class("hdbkit-outcome")
        self.question = Question("Delete", self.guarded(self._delete), hint="delete nothing")
        self._lay_out()
        self.table.observe(self.guarded(self._show_picked), "picked")
        self.shared.observe(self.guarded(self.refresh), "finished")
        self._seen = 0
        self.guarded(self.refresh)()
        self.every(_REFRESH_S, self._look)

    def _lay_out(self) -> None:
        self.sides = ipywidgets.HTML().add_class("hdbkit-sides")
        self.swap = button("Swap", self.guarded(self._swap), hint="make B the baseline")
        self.compare = button("Compare", self.guarded(self._compare), style="primary", hint="compare the ticked runs")
        marked = row(
            self.text,
            button("Tag", self.guarded(self._tag), hint="add these tags to the selected runs"),
            button("Untag", self.guarded(lambda: self._tag(remove=True)), hint="remove these tags"),
            button("Note", self.guarded(self._note), hint="replace the note of the selected runs"),
            button("Delete ...", self.guarded(self._ask), hint="asks for confirmation"),
        )
        self.more = ipywidgets.Accordion([marked], titles=["Tags, notes and deletion"], selected_index=None)
        self.body.children = [
            row(self.sides, self.swap, self.compare).add_class("hdbkit-compare-bar"),
            self.empty,
            self.table,
            row(
                button("Report", self.guarded(self._report), hint="writes the report of the run and links it"),
                self.report,
                button("Pin as baseline", self.guarded(self._pin), hint="compare others with it; none: unpin"),
                button("CSV", self.guarded(self._csv), hint="make a link to all rows and columns as a file"),
                self.csv,
            ),
            self.more,
            self.question.box,
            self.about,
        ]  # fmt: skip
        self._show_sides()

    # -- what is shown ------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read the list again, the newest runs first."""
        times = frozenset(manifest_times(self.workspace.results))
        self.show_call(first_lines(self.workspace) + call_code(self.workspace, "runs", "wide=True"))

        def read(within_s: float | None) -> RunList:
            return self.workspace.runs(wide=True, within_s=within_s)

        def show(runs: RunList) -> None:
            self.runs = runs
            self._seen = self._stamp(times)
            self._show()

        self.show_runs(read, show)

    @property
    def picked(self) -> list[str]:
        """The ids of the selected runs."""
        return list(self.table.picked)

    def _look(self) -> None:
        """Read the list again if a run began, ended or was changed."""
        if self._stamp(frozenset(manifest_times(self.workspace.results))) != self._seen:
            self.guarded(self.refresh)()

    def _stamp(self, times: frozenset[tuple[str, int]]) -> int:
        """What a change of the list shows in: the manifests, and which of the listed runs are still in progress.

        It asks for listed runs only, as a folder with thousands of new runs is not read before its first rows.
        """
        listed = self.runs[["run_id", "status"]].itertuples(index=False) if len(self.runs) else ()
        begun = [str(run_id) for run_id, status in listed if not Status(status).ended]
        return hash((times, frozenset(one for one in begun if self._is_running(one))))

    def _is_running(self, run_id: str) -> bool:
        try:
            return not self.workspace.attach(run_id).status.ended
        except (InputError, DamagedResult):  # removed since it was listed
            return False

    def _show(self) -> None:
        runs, differ = self.runs, list(self.runs.attrs["differing"])
        tags = {one: ", ".join(json.loads(one)) for one in runs["tags"].unique()}  # most runs have the same
        frame = pd.DataFrame(runs).assign(
            tags=runs["tags"].map(tags),
            p95_ms=runs["p95_us"] / 1000,
            name=short_names(runs, runs[differ]),
            checks=_checks(runs),
            course="",
        )
        beside = [name for name in _BESIDE if frame[name].nunique() > 1]
        last = [name for name in _LAST if frame[name].fillna("").ne("").any()]
        shown = [*_FIRST, *beside, *(name for name in differ if name not in _FIRST), *last]
        self.table.show(frame.drop(columns="p95_us"), shown, _GROUPINGS, _BARS, _TITLES)
        self.table.baseline = runs.baseline
        self._names = dict(zip(frame["run_id"], frame["name"], strict=True))
        self._show_sides()
        damaged, unread = self.runs.attrs["damaged"], self.runs.attrs["unread"]
        passed = f"; {many(len(damaged), 'folder')} cannot be read: {damaged[0]}" if damaged else ""
        left = f"; reading {many(unread, 'older run')} ..." if unread else ""
        self.empty.layout.display = "none" if len(frame) or unread else ""
        found = many(len(frame), "run") if len(frame) else "no runs yet"
        self.say(f"{found}{left}{passed}", State.BUSY if unread else State.IDLE)

    def _show_picked(self) -> None:
        self.question.hide()
        self._show_sides()
        self.about.value = "".join(_errors(self._result(run_id)) for run_id in self.picked[:5])

    def _show_sides(self) -> None:
        """The bar of the comparison: what A and B are, or what to do; its height is the same in each case."""
        picked = self.picked
        words = "Tick two runs to compare them." if len(picked) < 2 else f"{len(picked)} runs, compared in groups"
        if len(picked) == 2:
            words = " ".join(
                f'<span><i class="hdbkit-dot hdbkit-dot-{side}"></i><b>{side}</b> '
                f"{html.escape(self._names.get(one, one))}</span>"
                for side, one in zip("AB", picked, strict=True)
            )
        self.sides.value = words
        self.swap.disabled, self.compare.disabled = len(picked) != 2, len(picked) < 2

    # -- what the buttons do ------------------------------------------------------------------------------

    def _tag(self, remove: bool = False) -> None:
        self._each(lambda result: result.tag(*self.text.value.split(), remove=remove))

    def _note(self) -> None:
        self._each(lambda result: result.note(self.text.value.strip()))

    def _each(self, change: Callable[[api.Result], None]) -> None:
        for run_id in self._need():
            change(self._result(run_id))
        self.refresh()

    def _ask(self) -> None:
        picked = self._need()
        more = f" and {len(picked) - _NAMED} more" if len(picked) > _NAMED else ""
        named = html.escape(", ".join(picked[:_NAMED]))
        self.question.ask(f"Delete {many(len(picked), 'run')} permanently? {named}{more}")

    def _delete(self) -> None:
        self._each(api.Result.remove)

    def _report(self) -> None:
        run_id = self._need()[-1]

        def work() -> None:
            path = self._result(run_id).report()
            self.report.offer_report(f"open the report of {run_id}", path)
            self.say(f"the report is {path}")

        self.busy_with(f"writing the report of {run_id} ...", work)

    def _compare(self) -> None:
        self.shared.compared = self._need()

    def _swap(self) -> None:
        self.table.picked = self.picked[::-1]

    def _pin(self) -> None:
        """Compare all lists of this folder with the last of the selected runs; none: unpin."""
        pinned, before = self.picked[-1:], self.runs.baseline
        for run_id in filter(None, {*pinned, before}):
            self._result(run_id).tag(BASELINE, remove=run_id not in pinned)
        self.refresh()

    def _csv(self) -> None:
        self.csv.offer("runs.csv", self.runs.to_csv(index=False).encode(), "text/csv")

    def _result(self, run_id: str) -> api.Result:
        return self.workspace.result(run_id)

    def _need(self) -> list[str]:
        if not self.picked:
            raise InputError("select a run in the table first; Ctrl or Shift adds runs")
        return self.picked


def _errors(result: api.Result) -> str:
    """The errors of a run by class, each with a sample text."""
    try:
        found = result.table("errors")
    except InputError:
        found = pd.DataFrame()
    if found.empty:
        return f"<p>{html.escape(result.run_id)}: no errors.</p>"
    heads = ["error_class", "operation", "count", "retried", "code", "text"]
    rows = found.sort_values("count", ascending=False)[heads].itertuples(index=False)
    return html_table(heads, rows, f"errors in {result.run_id}")


def _checks(runs: pd.DataFrame) -> pd.Series[str]:
    """How the checks of each run ended, or its state if it is not done."""
    failed = runs["checks_failed"].fillna(0).astype(int)
    words = failed.map({one: f"{one} failed" if one else "passed" for one in failed.unique()})
    return words.where(runs["status"] == Status.DONE.value, runs["status"])


_SAMPLED = 300
"""Rows from which the width of a column is taken."""
_MIN_WIDTH, _MAX_WIDTH = 6, 30


class RunTable(anywidget.AnyWidget):
    """Shows a frame with the column ``run_id``; ``picked`` has the ids of the chosen rows.

    ``view`` has what the user arranged: ``columns`` (None: the automatic ones), ``sorted_by``, ``descending``,
    ``group_by``, and ``filters`` such as ``virtual_users = 8``; only the browser writes it. ``baseline`` is the id of
    the pinned run, which only Python writes.

    The browser sorts, groups and filters, and builds only the rows in sight. They go there as bytes when it asks for
    them; they are no trait, so the notebook does not keep them.
    """

    _esm: ClassVar[Any] = STATIC / "run_table.js"
    _css: ClassVar[Any] = palette_css(".hdbkit-panel") + (STATIC / "run_table.css").read_text(encoding="utf-8")
    view = traitlets.Dict({}).tag(sync=True)
    baseline = traitlets.Unicode("").tag(sync=True)
    picked = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, outline: Callable[[str], Sequence[float]] = lambda _: ()) -> None:
        """``outline`` reads the course of a run by its id, for the column ``course`` of the rows in sight."""
        super().__init__()
        self._outline, self._outlines = outline, dict[str, Sequence[float]]()
        self._content = b"{}"
        self.frame = pd.DataFrame({"run_id": []})
        self.on_msg(self._asked)

    def show(
        self,
        frame: pd.DataFrame,
        columns: Sequence[str],
        groupings: Sequence[str],
        bars: Sequence[str] = (),
        titles: Mapping[str, str] | None = None,
    ) -> None:
        """Show a frame; ``columns`` are shown unless the user chose others, ``bars`` have a bar in each cell.

        ``titles`` are the words of columns that are not shown by their own name.
        """
        self.frame = frame
        known = set(frame["run_id"])
        self.picked = [one for one in self.picked if one in known]
        content = {
            "keys": frame["run_id"].tolist(),
            "automatic": list(columns),
            "groupings": list(groupings),
            "columns": [
                {**_column(str(name), values, name in bars), "title": (titles or {}).get(str(name), "")}
                for name, values in frame.items()
            ],
        }
        self._content = json.dumps(content, allow_nan=False).encode()
        self._send_rows()

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        if content == {"kind": "hello"}:
            alone(self._send_rows)
        elif isinstance(content, dict) and content.get("kind") == "outlines":
            background(lambda: self._send_outlines([str(one) for one in content.get("keys", ())]), "hdbkit-outlines")

    def _send_outlines(self, run_ids: Sequence[str]) -> None:
        """Send the courses of these runs; those of runs that have ended are read once."""
        found = {}
        for run_id in set(run_ids) & set(self.frame["run_id"]):
            found[run_id] = self._outlines.get(run_id) or self._outline(run_id)
        self._outlines |= {run_id: points for run_id, points in found.items() if points}
        self.send({"kind": "outlines"}, [json.dumps(found).encode()])

    def _send_rows(self) -> None:
        self.send({"kind": "runs"}, [self._content])


def _column(name: str, values: pd.Series[Any], bar: bool) -> dict[str, Any]:
    """A column with its distinct values, and for each row the place of its value among them."""
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    places, distinct = pd.factorize(values)
    texts = [_value(one) for one in distinct.tolist()]
    if -1 in places:
        texts.append(None)
        places = np.where(places < 0, len(distinct), places)
    longest = max((len(_sample(texts[one])) for one in np.unique(places[:_SAMPLED]).tolist()), default=0)
    width = min(max(_MIN_WIDTH, len(name), longest), _MAX_WIDTH)
    one_each = np.array_equal(places, np.arange(len(places)))
    return {
        "name": name, "numeric": numeric, "bar": bar, "width": width,
        "distinct": texts, "places": None if one_each or len(texts) == 1 else places.tolist(),
    }  # fmt: skip


def _value(value: Any) -> Any:
    """A value for JSON; None for an unknown one."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, int | float | str) else str(value)


def _sample(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
