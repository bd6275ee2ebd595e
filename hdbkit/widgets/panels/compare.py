"""The compare panel: groups of stored runs, two targets that are measured in turn, or a stored experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ipywidgets

from hdbkit import api
from hdbkit.analysis.comparison.advice import DEFAULT_BLOCKS
from hdbkit.api.compare import SLICED_BLOCKS
from hdbkit.api.run_list import RunList
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.quantities import seconds_in
from hdbkit.config.until_decided import MAX_UNTIL_DECIDED
from hdbkit.errors import InputError
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.sides import SidesPlan
from hdbkit.report.tables import cell
from hdbkit.results.catalog import has_value
from hdbkit.text import many
from hdbkit.widgets.panels.loads import LoadPanel, blocks_field, text_field
from hdbkit.widgets.parts.base import Shared, State, call_code, first_lines
from hdbkit.widgets.parts.experiment_view import ExperimentView
from hdbkit.widgets.parts.layout import LABELS, button, row, until_decided_field
from hdbkit.widgets.parts.run_view import Seen

_RUNS, _TARGETS, _STORED = "Groups of runs", "Two targets in turn", "An experiment"
_OF_SIDES = ("changes", "ratios")
"""The charts of a comparison that charts of groups do not have."""


class ComparePanel(LoadPanel[api.ExperimentResult | None]):
    """Choose stored runs, two targets to measure or a stored experiment, and see which is better and by how much.

    The arguments are those of ``LoadPanel``; the target is the base of what is measured.

    Example:
        >>> hdbkit.widgets.ComparePanel()  # doctest: +SKIP
    """

    title, noun = "Compare", "comparison"
    verb, plans = ("Compare", "compare what is chosen"), (ExperimentPlan,)
    call, planned_by = ("measure_in_turn", "found"), "plan_comparison"
    view: ExperimentView

    def __init__(
        self,
        shared: Shared | None = None,
        *,
        target: Target | str | None = None,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
    ) -> None:
        self.mode = ipywidgets.ToggleButtons(options=[_RUNS, _TARGETS, _STORED])
        self.runs = RunsChoice(self._changed)
        wide = ipywidgets.Layout(width="100%", max_width="560px")
        self.stored = ipywidgets.Dropdown(description="Experiment", layout=wide)
        super().__init__(shared, target=target, workload=workload, load=load)
        again = button("Refresh the list", self.guarded(self.load), hint="read the results folder again")
        *measured, _ = self.body.children
        self._of_modes = {_RUNS: [self.runs.box], _TARGETS: measured, _STORED: [self.stored]}
        self.body.children = [self.mode, self.runs.box, self.stored, *measured, row(self.go, again)]
        self.mode.observe(self.guarded(self._show_mode), "value")
        self.stored.observe(self.guarded(self.refresh), "value")
        self.shared.observe(self.guarded(lambda: self.in_background(self.load)), "finished")
        self.shared.observe(self.guarded(self._take), "compared")
        self._show_mode()
        self.guarded(self.load)()

    def own_fields(self) -> list[ipywidgets.Widget]:
        """The other target, the number of blocks, and how and until when both are measured."""
        self.new = text_field("New", hint="name or URL of the other target")
        self.blocks = blocks_field(DEFAULT_BLOCKS)
        self.slices = ipywidgets.Checkbox(description="Let the load alternate between both, second by second")
        self.slices.indent, self.slices.layout.width = False, "auto"
        self.until_decided = until_decided_field()
        for choice in (self.slices, self.until_decided):
            choice.observe(self.guarded(self._take_blocks), "value")
        self.within = text_field("Within", hint="with until decided, such as 10m")
        return [self.new, self.blocks, self.slices, self.until_decided, self.within]

    def _take_blocks(self) -> None:
        """Replace the default number of blocks by that of the chosen way to measure."""
        if self.blocks.value in (DEFAULT_BLOCKS, SLICED_BLOCKS, MAX_UNTIL_DECIDED):
            usual = SLICED_BLOCKS if self.slices.value else DEFAULT_BLOCKS
            self.blocks.value = MAX_UNTIL_DECIDED if self.until_decided.value else usual

    def load(self) -> None:
        """Read the catalog, the newest runs first."""
        self.show_runs(lambda within_s: self.workspace.runs(within_s=within_s), self._offer)

    def start(self) -> None:
        """Compare what is chosen, as the button does."""
        if self.mode.value == _TARGETS:
            super().start()
            return
        read = self._compared() if self.mode.value == _RUNS else self._experiment()
        self._busy()
        self.say("comparing ...", State.BUSY)

        def work() -> None:
            try:
                result, words = read()
            except Exception as error:
                self._ended(None, error)
            else:
                self._ended(result, None, Seen(words, state=State.DONE))

        self.in_background(work)

    def code(self) -> str:
        """The call that compares what is chosen."""
        first, workspace = first_lines(self.workspace), self.workspace
        if self.mode.value == _TARGETS:
            return super().code()
        if self.mode.value == _STORED:
            return first + call_code(workspace, "experiment_result", repr(self._stored_id))
        groups = self._groups
        lines = [f"    {name!r}: {ids!r}," for name, ids in groups.items()]
        overlaid = f"charts = {call_code(workspace, 'overlay', 'groups')}"
        sides = self.runs.sides or {}
        named = ", ".join(f"{name!r}: groups[{name!r}]" for name in sides)
        compared = [call_code(workspace, "compare", f"**{{{named}}}")] if sides else []
        return "\n".join([f"{first}groups = {{", *lines, "}", overlaid, *compared])

    def arguments(self, at: Any) -> tuple[list[Any], dict[str, Any]]:
        more: dict[str, Any] = {name: True for name in ("slices", "until_decided") if getattr(self, name).value}
        if within := self.within.value.strip():
            more["within_s"] = seconds_in(within, "within")
        return [at, self._new], {"blocks": self.blocks.value, **more, "label": self.label}

    def show_plan(self, plan: ExperimentPlan) -> None:
        """Fill the fields from a comparison of targets."""
        self.mode.value = _TARGETS
        if isinstance(plan, SidesPlan) and not plan.own_servers and len(plan.sides) == 2:
            base, new = plan.sides
            self.form.show(base.load)
            self.slices.value = plan.slice_s is not None
            self.until_decided.value = plan.until_decided is not None
            self.new.value, self.blocks.value = new.target.given, plan.blocks
            within_s = plan.until_decided and plan.until_decided.within_s
            self.within.value = f"{within_s:g}s" if within_s else ""

    # -- stored results -------------------------------------------------------------------------------------

    def _compared(self) -> Callable[[], tuple[api.Comparison | None, str]]:
        groups, sides = self._groups, self.runs.sides

        def read() -> tuple[api.Comparison | None, str]:
            named: dict[str, Any] = sides or {}
            found = self.workspace.compare(**named) if named else None
            drawn = [*self.workspace.overlay(groups).values()]
            if found is not None:
                drawn[1:1] = [chart for key, chart in found.charts().items() if key in _OF_SIDES]
            card = found._repr_html_() if found else "<p>Only one group: nothing to compare it with.</p>"
            self.view.show_card(card, drawn, found)
            return found, f"{many(sum(map(len, groups.values())), 'run')} in {many(len(groups), 'group')}"

        return read

    def _experiment(self) -> Callable[[], tuple[api.ExperimentResult, str]]:
        experiment_id = self._stored_id

        def read() -> tuple[api.ExperimentResult, str]:
            result = self.workspace.experiment_result(experiment_id)
            self.view.show(result)
            return result, f"experiment {experiment_id}"

        return read

    @property
    def _groups(self) -> dict[str, list[str]]:
        if not (groups := self.runs.groups):
            raise InputError("select runs in the list first")
        return groups

    @property
    def _stored_id(self) -> str:
        if self.stored.value is None:
            raise InputError("the catalog has no experiment with a run")
        return str(self.stored.value)

    @property
    def _new(self) -> str:
        if not (new := str(self.new.value).strip()):
            raise InputError("name the target to compare with the one that is chosen")
        return new

    @property
    def needs_target(self) -> bool:
        """Only to measure."""
        return bool(self.mode.value == _TARGETS)

    def _offer(self, runs: RunList) -> None:
        self.runs.load(runs)
        kept, names = self.stored.value, runs["experiment_id"].dropna().unique().tolist()
        self.stored.options = names
        self.stored.value = kept if kept in names else names[0] if names else None

    def _take(self) -> None:
        """Select the runs that another panel has chosen."""
        self.mode.value = _RUNS
        self.runs.take(self.shared.compared)
        self.refresh()
        if not self.busy:
            self.start()

    def _changed(self) -> None:
        self.guarded(self.refresh)()

    def _show_mode(self) -> None:
        for mode, parts in self._of_modes.items():
            for part in parts:
                part.layout.display = "" if mode == self.mode.value else "none"
        self.refresh()


_NAME = "name"
BY = {
    "what differs": _NAME,
    "label": "label",
    "database": "database",
    "server's version": "version",
    "target": "target",
    "sweep": "experiment_id",
    "workload": "workload",
    "scale": "scale",
    "virtual users": "virtual_users",
    "each run by itself": "run_id",
}
"""What runs can be grouped by, and the column of the catalog."""
_SEARCHED = ("run_id", "label", "database", "version", "target", "experiment_id", "tags", "note")
_SHORT = {"description_width": "24px"}
MAX_LISTED = 300
MAX_CHARACTERS = 60


class RunsChoice:
    """Runs of the catalog in groups, two of which are compared; ``changed`` is called at each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._known = RunList(columns=list({*BY.values(), *_SEARCHED} - {_NAME}))
        self._changed, self._quiet = changed, False
        self._taken: list[str] = []
        self.filter = ipywidgets.Text(
            description="Find", placeholder="part of an id, a label, a database, a sweep", style=LABELS,
            layout=ipywidgets.Layout(width="auto", max_width="460px"),
        )  # fmt: skip
        self.runs = ipywidgets.SelectMultiple(description="Runs", rows=9, layout=ipywidgets.Layout(width="auto"))
        self.runs.add_class("hdbkit-unlabelled")
        self.by = ipywidgets.Dropdown(description="Group by", options=list(BY.items()), style=LABELS)
        self.base = ipywidgets.Dropdown(description="A", style=_SHORT).add_class("hdbkit-side-a")
        self.new = ipywidgets.Dropdown(description="B", style=_SHORT).add_class("hdbkit-side-b")
        self.swap = button("Swap", lambda _: self._swap(), hint="make B the baseline")
        self.take_all = button("Select all", lambda _: self._take_all(), hint="select all runs of the list")
        self.count = ipywidgets.HTML().add_class("hdbkit-note")
        chosen = ipywidgets.VBox([row(self.filter, self.by), self.runs, row(self.take_all)])
        self.list = ipywidgets.Accordion([chosen], titles=["Runs and groups"], selected_index=0)
        sides = row(self.base, self.swap, self.new).add_class("hdbkit-two-sides")
        self.box = ipywidgets.VBox([sides, self.count, self.list])
        self.filter.observe(lambda _: self._list(), "value")
        for field in (self.runs, self.by):
            field.observe(lambda _: self._group(), "value")
        for field in (self.base, self.new):
            field.observe(lambda _: self._report_change(), "value")

    def load(self, runs: RunList) -> None:
        """Offer the runs of the catalog that have a result; the selection stays as far as possible."""
        self._known = runs[has_value(runs)].fillna({"label": "", "experiment_id": "", "version": ""})
        self._list()

    def take(self, run_ids: Iterable[str]) -> None:
        """Select these runs, also those that are too old for the list, and close the list; the first is the base."""
        self._taken = list(run_ids)
        self.filter.value, self.by.value, self.list.selected_index = "", _NAME, None
        self._list()
        self.runs.value = [run_id for _, run_id in self.runs.options if run_id in self._taken]
        of_run = {run_id: name for name, ids in self.groups.items() for run_id in ids}
        names = list(dict.fromkeys(of_run[one] for one in self._taken if one in of_run))
        if len(names) > 1:
            with self._silent():
                self.base.value, self.new.value = names[:2]

    @property
    def groups(self) -> dict[str, list[str]]:
        """The ids of the selected runs of each group, oldest first."""
        chosen = self._known[self._known["run_id"].isin(self.runs.value)].iloc[::-1]
        unit = f" {self.by.label}" if self.by.value == "virtual_users" else ""
        if self.by.value != _NAME:
            kinds = chosen[self.by.value].map(lambda one: f"{one}{unit}" if str(one) else f"no {self.by.label}")
        elif chosen.empty:
            return {}
        else:
            kinds = chosen.names
            if len(chosen) == 2 and kinds.nunique() == 1:  # two runs are two sides
                kinds = kinds + " of " + chosen["started"].fillna("").astype(str).str[11:19]
                kinds = kinds.str.cat(["", " (later)"]) if kinds.nunique() == 1 else kinds
        return {str(name): list(rows["run_id"]) for name, rows in chosen.groupby(kinds, sort=False)}

    @property
    def sides(self) -> dict[str, list[str]] | None:
        """The runs of the base and of the new group by their names; None where there are fewer than two groups."""
        groups = self.groups
        if len(groups) < 2 or self.base.value not in groups or self.new.value not in groups:
            return None
        if self.base.value == self.new.value:
            raise InputError(f"'{self.base.value}' cannot be compared with itself; choose another group as new")
        return {str(one): groups[one] for one in (self.base.value, self.new.value)}

    # -- what is shown ------------------------------------------------------------------------------------

    def _list(self) -> None:
        word = self.filter.value.strip().lower()
        hit = (
            self._known[list(_SEARCHED)]
            .apply(lambda rows: rows.astype(str).str.lower().str.contains(word, regex=False))
            .any(axis=1)
        )
        taken = self._known["run_id"].isin(self._taken)
        listed = self._known[hit if word else taken | (~taken).cumsum().le(MAX_LISTED)]
        listed = listed.head(MAX_LISTED + len(self._taken))
        kept = set(self.runs.value)
        with self._silent():
            self.runs.options = [(_line(one), one["run_id"]) for one in listed.to_dict("records")]
            self.runs.value = [one for one in listed["run_id"] if one in kept]
        self._group()

    def _swap(self) -> None:
        with self._silent():
            self.base.value, self.new.value = self.new.value, self.base.value
        self._report_change()

    def _take_all(self) -> None:
        self.runs.value = [run_id for _, run_id in self.runs.options]

    def _group(self) -> None:
        if self._quiet:
            return
        groups = self.groups
        with self._silent():
            base = _fill(self.base, groups, None)
            _fill(self.new, groups, base)
        chosen = f"{len(self.runs.value)} of {many(len(self.runs.options), 'run')} in {many(len(groups), 'group')}"
        self.count.value = chosen if len(self._known) else "there are no runs yet; start one in the panel Run"
        self._report_change()

    def _report_change(self) -> None:
        if not self._quiet:
            self._changed()

    @contextmanager
    def _silent(self) -> Iterator[None]:
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before


def _fill(field: ipywidgets.Dropdown, groups: dict[str, list[str]], other: str | None) -> str | None:
    """Offer the groups; the selection stays if possible, and is not ``other`` if there is another."""
    kept = field.value
    field.options = [(_cut(f"{name} ({len(ids)})"), name) for name, ids in groups.items()]
    names = [name for name in groups if name != other] or list(groups)
    field.value = kept if kept in names else names[0] if names else None
    return None if field.value is None else str(field.value)


def _line(run: dict[Any, Any]) -> str:
    """A run in the list."""
    parts = [
        f"{cell(run['metric_value'])} {run['metric']}",
        many(int(run["virtual_users"]), "user"),
        str(run["label"] or ""),
        str(run["run_id"]),
    ]
    return "   ".join(filter(None, parts))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
